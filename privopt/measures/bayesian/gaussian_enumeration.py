"""The factor of Gaussian records by looking at every adversary: in floats, in balls and in rationals."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.errors import InvalidProblem
from privopt.models.gaussian import correlation_of

if TYPE_CHECKING:
    from flint import arb, arb_mat, fmpq

MOST_RECORDS = 20
"""Records of the largest block that is enumerated: a million sets of known records."""

MOST_IN_BALLS = 10
"""Records of the largest block that is enumerated in balls; larger ones are in bounded floats."""

MOST_SEARCHED = 60
"""Records of the largest block of which a bad adversary is searched for, one record after the other."""

_MOST_RATIONAL = 10  # records of the largest block that is enumerated in rationals
_AT_ONCE = 10  # records whose subsets make one batch: 1024 matrices fit the cache
_LEAST_PIVOT = 1e-8  # conditional variances, as a share of the variance, that floating point still resolves
_PRECISION = 192


Kind: TypeAlias = Literal["all", "signed", "sums"]
"""Of all mechanisms, of the sum of unclipped records, or of sums of clipped records."""


@dataclass(frozen=True)
class _Batch:
    """Matrices swept on sets of known records: matrices[b] is swept where known[b] is true."""

    matrices: Floats
    known: NDArray[np.bool_]


def brute_force_factor(covariance: Floats, *, sums: bool = False) -> tuple[float, bool]:
    """Exact factor of Gaussian records: the maximum over all adversaries of 1 + |S_UT S_T^-1 e_i|_1.

    The sets T grow one record at a time by the sweep operator (Goodnight, "A tutorial on the SWEEP operator", 1979),
    a rank-one update that leaves S_UT S_T^-1 in rows U and columns T. Targets that the known records determine are
    left out. Near singular matrices are enumerated in rational arithmetic, up to ten records.

    Parameters
    ----------
    covariance : float array, shape (m, m)
        m <= 20; the time doubles with each record.
    sums : bool
        Whether only sums of the records are asked for, see :mod:`privopt.measures.bayesian.gaussian_sums`.

    Returns
    -------
    tuple of float and bool
        The factor, >= 1, and True; ``(inf, False)`` where floating point does not show which records determine
        others, or the matrix is not positive semidefinite.

    Raises
    ------
    InvalidProblem
        If there are more than 20 records.

    Examples
    --------
    >>> value, exact = brute_force_factor(np.array([[1, 0.3, -0.2], [0.3, 1, 0.1], [-0.2, 0.1, 1]]))
    >>> round(value, 12), exact
    (1.5, True)
    >>> brute_force_factor(np.ones((4, 4)))
    (4.0, True)
    """
    worst = _largest(covariance, "sums" if sums else "all")
    if worst is not None:
        return worst.value, True
    proved = prove_brute_force(covariance, sums=sums)
    return (math.inf, False) if proved is None else (float(proved), True)


def signed_sum_factor(covariance: Floats) -> float:
    """Exact factor of the sum of Gaussian records with Laplace noise: signs of the coefficients matter.

    The maximum over all adversaries of |1 + 1' S_UT S_T^-1 e_i|, attained in the tails of the noise. It is what the
    unclipped sum leaks, at most :func:`brute_force_factor`, and no promise about other queries.

    Parameters
    ----------
    covariance : float array, shape (m, m)
        Positive definite, m <= 20.

    Returns
    -------
    float
        The factor; inf for a covariance too near singular for floating point.

    Raises
    ------
    InvalidProblem
        If there are more than 20 records.

    Examples
    --------
    >>> round(signed_sum_factor(np.array([[1, 0.3, -0.2], [0.3, 1, 0.1], [-0.2, 0.1, 1]])), 12)
    1.4
    """
    worst = _largest(covariance, "signed")
    return math.inf if worst is None else worst.value


def worst_adversary(covariance: Floats, *, sums: bool = False) -> tuple[int, ...] | None:
    """The records that the worst adversary knows, the target among them, as read in floats; None where they do not decide.

    Examples
    --------
    >>> worst_adversary(np.array([[1, 0.3, -0.2], [0.3, 1, 0.1], [-0.2, 0.1, 1]]))
    (0,)
    """
    kind: Kind = "sums" if sums else "all"
    worst = _largest(covariance, kind) if len(covariance) <= MOST_RECORDS else None
    return None if worst is None else worst.known


def likely_adversary(covariance: Floats, *, sums: bool = False) -> tuple[int, ...]:
    """The records that a bad adversary knows, the target among them: one is added or left out as long as it pays.

    Examples
    --------
    >>> likely_adversary(np.array([[1, 0.3, -0.2], [0.3, 1, 0.1], [-0.2, 0.1, 1]]))
    (0,)
    """
    m = len(covariance)
    with np.errstate(all="ignore"):
        known = {int((np.abs(covariance) / np.diag(covariance)).sum(axis=0).argmax())}
        best, better = _known_factor(covariance, known, sums), True
        while better:
            changed = [known ^ {j} for j in range(m) if len(known ^ {j}) in range(1, m)]
            factors = [_known_factor(covariance, others, sums) for others in changed]
            at = int(np.argmax(factors)) if factors else 0
            better = bool(factors) and factors[at] > best * (1 + 1e-9)
            if better:
                best, known = factors[at], changed[at]
    return tuple(sorted(known))


def _known_factor(covariance: Floats, known: set[int], sums: bool) -> float:
    """The largest factor of those who know all but one of some records, in floats; 0 where it is not defined."""
    inside = sorted(known)
    outside = [j for j in range(len(covariance)) if j not in known]
    try:
        slopes = np.linalg.solve(covariance[np.ix_(inside, inside)], covariance[np.ix_(inside, outside)])
    except np.linalg.LinAlgError:
        return 0.0
    sizes = np.abs(slopes).sum(axis=1)
    if sums:
        signed = slopes.sum(axis=1)
        sizes = np.maximum((sizes + signed) / 2, (sizes - signed) / 2 - 2)
    largest = float(1.0 + sizes.max())
    return largest if math.isfinite(largest) else 0.0


@dataclass(frozen=True)
class _Worst:
    """The largest factor, and the set of known records and target that has it."""

    value: float
    known: tuple[int, ...]


def _largest(covariance: Floats, kind: Kind) -> _Worst | None:
    """The maximum over all adversaries; None where a conditional variance is nearly zero."""
    m = len(covariance)
    if m > MOST_RECORDS:
        raise InvalidProblem(f"{m} records have 2**{m} sets of known ones: enumerate at most {MOST_RECORDS}")
    deviations = np.sqrt(np.diag(covariance))
    largest = _Worst(1.0, tuple(range(m)))
    head = max(0, m - _AT_ONCE)
    start = _Batch(np.array(correlation_of(covariance))[None], np.zeros((1, m), dtype=np.bool_))
    for batch in _expanded(start, 0, head):
        whole: _Batch | None = batch
        for k in range(head, m):
            whole = _doubled(whole, k) if whole is not None else None
        if whole is None:
            return None
        weights = np.where(whole.known, 0.0, deviations)[:, None, :]
        sums = (weights @ np.abs(whole.matrices))[:, 0, :] / deviations
        factors = 1.0 + sums
        if kind != "all":
            signed = (weights @ whole.matrices)[:, 0, :] / deviations
            factors = np.abs(1.0 + signed)
            if kind == "sums":
                factors = np.maximum(1.0 + (sums + signed) / 2, (sums - signed) / 2 - 1.0)
        top = float(np.max(factors, where=whole.known, initial=1.0))
        if top > largest.value:
            at = int(np.where(whole.known, factors, 0.0).max(axis=1).argmax())
            largest = _Worst(top, tuple(np.flatnonzero(whole.known[at]).tolist()))
        if not math.isfinite(float(sums.sum())):
            return None
    return largest


def _expanded(batch: _Batch, k: int, stop: int) -> Iterator[_Batch]:
    """One batch of a single matrix for each set of known records among k..stop-1, depth first."""
    if k == stop:
        yield batch
        return
    yield from _expanded(batch, k + 1, stop)
    both = _doubled(batch, k)
    # a singular set must not be skipped in silence: NaN makes the caller give up
    swept = np.full_like(batch.matrices, np.nan) if both is None else both.matrices[1:]
    known = batch.known.copy()
    known[:, k] = True
    yield from _expanded(_Batch(swept, known), k + 1, stop)


def _doubled(batch: _Batch, k: int) -> _Batch | None:
    """Every matrix without and with record k known; None where a pivot is nearly zero."""
    old, count = batch.matrices, len(batch.matrices)
    pivots = old[:, k, k]
    if not bool((pivots > _LEAST_PIVOT).all()):
        return None
    matrices = np.empty((2 * count, *old.shape[1:]))
    matrices[:count] = old
    new = matrices[count:]
    row = old[:, k, :] / pivots[:, None]
    np.multiply(old[:, :, k, None], row[:, None, :], out=new)
    np.subtract(old, new, out=new)
    new[:, k, :] = row
    new[:, :, k] = row
    new[:, k, k] = -1.0 / pivots
    known = np.concatenate([batch.known, batch.known])
    known[count:, k] = True
    return _Batch(matrices, known)


def prove_enumeration(covariance: Floats, *, sums: bool = False) -> Fraction | None:
    """A proved upper bound on the factor, equal to it but for the width of the balls.

    The leading principal minors of S are shown to be positive, so S is positive definite (Sylvester) and every S_T
    has an inverse. For each T the balls of S_UT S_T^-1 enclose the coefficients of all adversaries with K + {i} = T.

    Parameters
    ----------
    covariance : float array, shape (m, m)
        Taken as the rational numbers that it stores.
    sums : bool
        Whether only sums of the records are asked for.

    Returns
    -------
    Fraction or None
        None with more than ten records, or where the balls do not show S to be positive definite.

    Examples
    --------
    >>> proved = prove_enumeration(np.array([[1, 0.3, -0.2], [0.3, 1, 0.1], [-0.2, 0.1, 1]]))
    >>> 1.5 <= proved <= 1.5 + 1e-15
    True
    """
    from flint import arb, ctx

    if len(covariance) > MOST_IN_BALLS:
        return None
    with ctx.workprec(_PRECISION):
        entries = [[arb(entry) for entry in row] for row in covariance.tolist()]
        try:
            return _largest_in_balls(entries, sums) if _positive_definite(entries) else None
        except ZeroDivisionError:  # a matrix not shown to be invertible at this precision
            return None


def _positive_definite(entries: list[list[arb]]) -> bool:
    """Whether all leading principal minors are positive, for certain."""
    from flint import arb_mat

    sizes = range(1, len(entries) + 1)
    return all(bool(arb_mat([row[:size] for row in entries[:size]]).det() > 0) for size in sizes)


def _largest_in_balls(entries: list[list[arb]], sums: bool) -> Fraction:
    """One plus the largest column sum over all sets T, rounded up."""
    from flint import arb, arb_mat

    m = len(entries)
    largest = arb(0)
    for size in range(1, m):
        for known in combinations(range(m), size):
            inside = arb_mat([[entries[i][j] for j in known] for i in known])
            across = arb_mat([[entries[i][j] for j in known] for i in range(m) if i not in known])
            largest = _larger(largest, across * inside.inv(), sums)
    return 1 + upper_end(largest)


def _larger(largest: arb, matrix: arb_mat, sums: bool) -> arb:
    """The larger of a number and what the columns of a matrix add to a factor of 1."""
    for column in zip(*matrix.table(), strict=True):
        size = abs(column[0])
        for entry in column[1:]:
            size = size + abs(entry)
        if sums:
            signed = column[0]
            for entry in column[1:]:
                signed = signed + entry
            up, down = (size + signed) / 2, (size - signed) / 2 - 2
            size = up.max(down)
        largest = largest.max(size)
    return largest


def upper_end(ball: arb) -> Fraction:
    """The upper end of a ball, exactly."""
    mantissa, exponent = ball.upper().mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def prove_brute_force(covariance: Floats, *, sums: bool = False) -> Fraction | None:
    """The exact factor in rationals, by enumerating every adversary; singular covariances too.

    Sets T with det S_T = 0 are left out: either the known records determine the target, which has then no two
    possible values, or one of the known records is determined by the others and can be forgotten.

    Returns
    -------
    Fraction or None
        None with more than ten records, or where the stored floats are not positive semidefinite.

    Examples
    --------
    >>> prove_brute_force(np.array([[1, 0.5, 0.25], [0.5, 1, 0.5], [0.25, 0.5, 1]]))
    Fraction(2, 1)
    """
    m = len(covariance)
    if m > _MOST_RATIONAL:
        return None
    entries, largest = _rationals(covariance), Fraction(1)
    for size in range(1, m + 1):
        for known in combinations(range(m), size):
            factor = _exact_factor(entries, known, sums)
            if factor is None:
                return None
            largest = max(largest, factor)
    return largest


def prove_known(covariance: Floats, known: tuple[int, ...], *, sums: bool = False) -> Fraction:
    """The largest factor of the adversaries who know all but one of some records, exactly; 1 where it is not defined.

    Examples
    --------
    >>> prove_known(np.array([[1, 0.5, 0.25], [0.5, 1, 0.5], [0.25, 0.5, 1]]), (1,))
    Fraction(2, 1)
    """
    return _exact_factor(_rationals(covariance), known, sums) or Fraction(1)


def _rationals(covariance: Floats) -> list[list[fmpq]]:
    """The numbers that the floats store."""
    from flint import fmpq

    return [[fmpq(*entry.as_integer_ratio()) for entry in row] for row in covariance.tolist()]


def _exact_factor(entries: list[list[fmpq]], known: tuple[int, ...], sums: bool) -> Fraction | None:
    """The largest factor of those who know all but one of T; 1 where det S_T = 0 and None where it is negative."""
    from flint import fmpq, fmpq_mat

    inside = fmpq_mat([[entries[i][j] for j in known] for i in known])
    determinant = inside.det()
    unknown = [i for i in range(len(entries)) if i not in known]
    if determinant <= 0 or not unknown:
        return None if determinant < 0 else Fraction(1)
    slopes = fmpq_mat([[entries[i][j] for j in known] for i in unknown]) * inside.inv()
    columns = list(zip(*slopes.table(), strict=True))
    sizes = [sum(map(abs, column), fmpq(0)) for column in columns]
    if sums:
        signed = [sum(column, fmpq(0)) for column in columns]
        sizes = [max((a + b) / 2, (a - b) / 2 - 2) for a, b in zip(sizes, signed, strict=True)]
    largest = max(sizes)
    return max(Fraction(1), 1 + Fraction(int(largest.p), int(largest.q)))

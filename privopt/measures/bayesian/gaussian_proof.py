"""Factors of Gaussian records that are proved in rationals, balls or bounded floats, for the floats as they are stored."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from privopt.arrays import Floats
from privopt.measures.bayesian.condition import prove_condition
from privopt.measures.bayesian.gaussian import (
    FAMILY,
    NEGLIGIBLE,
    nothing_known,
    symmetric_inverse,
    without_negligible,
)
from privopt.measures.bayesian.gaussian_enumeration import (
    MOST_SEARCHED,
    likely_adversary,
    prove_brute_force,
    prove_enumeration,
    prove_known,
    upper_end,
    worst_adversary,
)
from privopt.measures.bayesian.gaussian_subsets import MOST_RECORDS as MOST_PROVED
from privopt.measures.bayesian.gaussian_subsets import prove_subsets
from privopt.measures.bayesian.gaussian_sums import nothing_known_sum, prove_column_sum, prove_halves
from privopt.models import GaussianModel

if TYPE_CHECKING:
    from flint import arb, arb_mat

MOST_IN_DOUBLES = 1000
"""Records up to which products that only bound roundings are computed in double precision."""
MOST_IN_FLOATS = 4096
"""Records of the largest block: memory for a dozen such matrices."""

MOST_IN_BALLS = 100
"""Records of the largest block whose precision matrix is enclosed in balls; larger ones are in floats."""

DOMINATED = FAMILY + "h-matrix"
"""The bound that is proved in balls or bounded floats."""

CONDITIONED = FAMILY + "class"
"""The bound that is proved by Cholesky decompositions; others are proved in rationals."""

_COLUMN = FAMILY + "column"
_ENUMERATED = FAMILY + "brute-force"
_PRECISIONS = (128, 256, 512)
_ROUNDING = Fraction(1, 10**12)
_SURELY_ABOVE = 2.000001  # a column sum in floats errs by far less
_RANGE = 2.0**100  # of variances, either way
_TINY = 2.0**-900
_LEFT_OUT = 2.0**-62


def prove_column(covariance: Floats) -> Fraction | None:
    """The exact column factor 1 + r in rationals; None where r > 1.

    The proof is that of :func:`~privopt.measures.bayesian.gaussian.column_factor`; it uses nothing but the
    column sums and S being positive semidefinite.

    Examples
    --------
    >>> prove_column(np.array([[1, 0.5], [0.5, 2]]))
    Fraction(3, 2)
    """
    if nothing_known(covariance) > _SURELY_ABOVE:
        return None
    largest = max(_column(covariance, i) for i in range(len(covariance)))
    return largest if largest <= 2 else None


def _column(covariance: Floats, i: int) -> Fraction:
    """The factor of record i against an adversary who knows no record, exactly."""
    column = covariance[:, i]
    return _exact_sum(np.abs(column)) / Fraction(float(column[i]))


def _signed(covariance: Floats, i: int) -> tuple[Fraction, Fraction]:
    """Sums over j != i of the positive parts, and of the negative ones, of S_ji / S_ii, exactly."""
    column = covariance[:, i].copy()
    variance, column[i] = Fraction(float(column[i])), 0.0
    return tuple(_exact_sum(np.maximum(part, 0.0)) / variance for part in (column, -column))  # type: ignore[return-value]


def _exact_sum(values: Floats) -> Fraction:
    """The sum of fewer than 2^26 non-negative floats, not rounded: halves of mantissas are added up for each exponent."""
    mantissa, exponent = np.frexp(values)
    whole, least = (mantissa * 2.0**53).astype(np.int64), int(exponent.min())
    high, low = (
        np.bincount(exponent - least, part).astype(np.int64) for part in (whole >> 26, whole % 2**26)
    )
    total = sum(
        ((int(high[k]) << 26) + int(low[k])) << int(k) for k in np.flatnonzero((high != 0) | (low != 0))
    )
    return total * Fraction(2) ** (least - 53)


def prove_h_matrix(covariance: Floats, *, sums: bool = False) -> Fraction | None:
    """A proved upper bound on the factor, from enclosures of the precision matrix.

    Balls enclose P = S^-1. Let V have the lower ends of P_ii on its diagonal and minus the upper ends of |P_ij|
    elsewhere, so V <= W, the comparison matrix of P. A vector v > 0 with V v > 0 (a rounded solution of V v = 1,
    multiplied out in balls) proves that V, and W >= V with W_ij <= 0 off the diagonal, are nonsingular M-matrices
    (Berman and Plemmons, "Nonnegative matrices in the mathematical sciences", Theorem 6.2.3). It also
    proves S positive definite: a symmetric P with positive diagonal and such a W has positive eigenvalues, by
    Gershgorin's discs of P scaled by v.

    For the target i take x = (V^-1)_{.i} / (V^-1)_ii, so x_i = 1, x >= 0 and (V x)_j = 0 for j != i. For U = all but
    i: W_UU x_U >= V_UU x_U = |V_Ui| >= |P_Ui|, and W_UU is an M-matrix, so x_U >= (W_UU)^-1 |P_Ui|, which bounds the
    coefficients of every adversary (see :func:`~privopt.measures.bayesian.gaussian.h_matrix_factor`).
    Hence h <= the sum of x, whose upper end is returned.

    For sums of the records alone see :func:`privopt.measures.bayesian.gaussian_sums.prove_halves`.

    Returns
    -------
    Fraction or None
        None where W is not shown to be an M-matrix. Above 100 records the enclosure is that of
        :func:`prove_h_matrix_in_floats`.

    Examples
    --------
    >>> proved = prove_h_matrix(np.array([[1, 0.3, -0.2], [0.3, 1, 0.1], [-0.2, 0.1, 1]]))
    >>> float(proved).__round__(5)
    1.70755
    """
    from flint import ctx

    if len(covariance) > MOST_IN_BALLS:
        return prove_h_matrix_in_floats(covariance, sums=sums)
    for precision in _PRECISIONS:
        with ctx.workprec(precision):
            totals = _h_matrix_in_balls(covariance)
        if totals is not None:
            return _worst_target(covariance, totals, sums)
    return None


def _worst_target(covariance: Floats, totals: list[Fraction], sums: bool) -> Fraction:
    """The largest factor, from one and the sum of bounds on the coefficients of each target."""
    if not sums:
        return max(totals)
    pairs = (_signed(covariance, i) for i in range(len(totals)))
    return max(prove_halves(total - 1, up - down) for total, (up, down) in zip(totals, pairs, strict=True))


def _h_matrix_in_balls(covariance: Floats) -> list[Fraction] | None:
    """The bounds for each target at the current precision."""
    from flint import arb, arb_mat

    m = len(covariance)
    try:
        inverse = arb_mat([[arb(entry) for entry in row] for row in covariance.tolist()]).inv()
        below = arb_mat(
            [
                [inverse[i, j].lower() if i == j else -inverse[i, j].abs_upper() for j in range(m)]
                for i in range(m)
            ]
        )
        dual = below.inv()
    except ZeroDivisionError:  # not shown to be invertible at this precision
        return None
    sums = [sum((dual[i, j] for j in range(m)), arb(0)) for i in range(m)]
    if not _is_m_matrix(below, [entry.mid() for entry in sums]):
        return None
    totals = [sum((dual[j, i] for j in range(m)), arb(0)) / dual[i, i] for i in range(m)]
    return [upper_end(total) for total in totals]


def _is_m_matrix(matrix: arb_mat, v: list[arb]) -> bool:
    """Whether v > 0 and matrix v > 0, for certain; entries off the diagonal are <= 0 by construction."""
    from flint import arb

    m = len(v)
    products = [sum((matrix[i, j] * v[j] for j in range(m)), arb(0)) for i in range(m)]
    return all(bool(entry > 0) for entry in [*v, *products])


def prove_h_matrix_in_floats(covariance: Floats, *, sums: bool = False) -> Fraction | None:
    """A proved upper bound on the factor, by the argument of ``prove_h_matrix`` with another enclosure.

    The matrix products of BLAS obey |fl(A B) - A B| <= g |A| |B| for any order of summation and fused operations
    (Higham, "Accuracy and Stability of Numerical Algorithms", Section 3.5), with g = n u / (1 - n u); ``_unit`` is more
    than twice that for n + 16 operations. A sum or product of non-negative numbers is therefore at most its computed
    value times 1 + ``_unit``. Variances are kept in a range where an underflow loses less than 2^-900, which is added.

    Let R be a computed inverse of S and E = I - S R. If E' >= |E| entry by entry has column sums of at most
    e < 1, then S is invertible, P = S^-1 = R (I - E)^-1 and |P - R| <= |R| E' (I + E' + E'^2 + ...). An entry of
    |R| E' E'^k is at most the largest of its row of |R| E' times e^k, so |P - R| <= D = |R| E' + max of the row e / (1 - e).
    P is symmetric, so the smaller of D_ij and D_ji serves.

    V has |R| - D on the diagonal and -(|R| + D) elsewhere, rounded down: V <= W, the comparison matrix of P. A vector
    v > 0 with V v >= c > 0 proves that V and W are M-matrices and S is positive definite. For a target i let
    x = y + t v, where y >= 0 is a computed column of V^-1 and t c is at least what (V y)_j lacks of 0 for j != i: then
    x >= 0 and (V x)_j >= 0 for j != i, and the factor is at most the sum of x divided by x_i. What (V y)_j lacks is
    computed with the error g (|V| y)_j = g (2 V_jj y_j - (V y)_j).

    Parameters
    ----------
    covariance : float array, shape (m, m)
        Exactly symmetric; taken as the rational numbers that it stores.

    Returns
    -------
    Fraction or None
        None where nothing is proved, or there are more than 4096 records.

    Examples
    --------
    >>> proved = prove_h_matrix_in_floats(np.array([[1, 0.3, -0.2], [0.3, 1, 0.1], [-0.2, 0.1, 1]]))
    >>> float(proved).__round__(5)
    1.70755
    """
    variances = np.diag(covariance)
    if len(covariance) > MOST_IN_FLOATS or variances.max() > _RANGE or variances.min() < 1 / _RANGE:
        return None
    with np.errstate(all="ignore"):  # a nan or inf fails the comparisons
        below = _comparison(covariance)
        totals = None if below is None else _target_sums(below)
    return None if totals is None else _worst_target(covariance, [Fraction(x) for x in totals.tolist()], sums)


def _comparison(covariance: Floats) -> Floats | None:
    """V: at most the comparison matrix of the inverse; None where the inverse is not enclosed."""
    m, unit = len(covariance), _unit(len(covariance))
    inverse = symmetric_inverse(covariance)
    if inverse is None:
        return None
    size = np.abs(inverse)
    residual = np.abs(np.eye(m) - without_negligible(covariance) @ inverse)
    residual += unit * (_most(np.abs(covariance), size) + residual + 1.0) + _TINY
    residual += size.sum(axis=0) * (NEGLIGIBLE * (1.0 + unit))
    residual *= 1.0 + unit
    total = float(residual.sum(axis=0).max()) * (1.0 + unit)
    if not total < 0.5:
        return None
    apart = _most(size, residual) * (1.0 + unit) + _TINY
    apart += apart.max(axis=1, keepdims=True) * (2.0 * total)
    apart = np.minimum(apart, apart.T) * (1.0 + unit)
    diagonal = (np.diag(inverse) - np.diag(apart)) * (1.0 - unit)
    below = -(size + apart) * (1.0 + unit)
    np.fill_diagonal(below, diagonal)
    return below if bool((diagonal > 0).all()) and bool(np.isfinite(below).all()) else None


def _most(one: Floats, other: Floats) -> Floats:
    """At least the computed product of two matrices without negative entries, and hardly more.

    Of many records it is computed in single precision, of entries up to 1: its roundings are within n 2^-23, less than 1e-3
    for up to 4096 terms. Entries below 2^-62 are left out, of which n terms are less than n 2^-62, and no other product underflows.
    """
    if len(one) <= MOST_IN_DOUBLES:
        return one @ other
    sizes = [float(matrix.max(initial=_TINY)) for matrix in (one, other)]
    shares = [matrix / size for matrix, size in zip((one, other), sizes, strict=True)]
    scaled = [np.where(share < _LEFT_OUT, 0.0, share).astype(np.float32) for share in shares]
    product: Floats = (scaled[0] @ scaled[1]).astype(np.float64) * 1.001 + len(one) * 2.0 * _LEFT_OUT
    return product * (sizes[0] * sizes[1] * (1.0 + 2.0**-40))


def _target_sums(below: Floats) -> Floats | None:
    """For each target the sum of a vector x over its entry there; None where V is not shown to be an M-matrix."""
    unit, diagonal = _unit(len(below)), np.diag(below)
    columns = symmetric_inverse(below)
    if columns is None:
        return None
    np.maximum(columns, 0.0, out=columns)
    vector = columns.sum(axis=1)
    least = float(_least_product(below, vector, diagonal, unit).min())
    if not (least > 0 and vector.min() > 0 and bool(np.isfinite(columns).all())):
        return None
    lacking = -_least_product(below, columns, diagonal[:, None], unit)
    np.fill_diagonal(lacking, 0.0)
    shares = np.maximum(lacking.max(axis=0), 0.0) / least * (1.0 + unit)
    sums = (columns.sum(axis=0) + shares * float(vector.sum())) * (1.0 + unit) ** 2
    totals: Floats = sums / np.diag(columns) * (1.0 + unit)
    return totals if bool(np.isfinite(totals).all()) else None


def _least_product(below: Floats, columns: Floats, diagonal: Floats, unit: float) -> Floats:
    """A lower bound on V y for y >= 0, of a vector or of many: |V| y = 2 V_jj y_j - V y bounds the rounding."""
    product = below @ columns
    least: Floats = product - 2.0 * unit * (2.0 * diagonal * columns + np.abs(product)) - _TINY
    return least


def _unit(m: int) -> float:
    """More than the relative rounding of a product of two matrices with m terms, and of a few operations more."""
    return 2.0 * (m + 16) * 2.0**-53


@lru_cache(maxsize=64)
def prove_least_factor(model: GaussianModel, *, sums: bool = False) -> Fraction:
    """A factor that some adversary of a model reaches, in rationals: a lower bound on the factor against all.

    The better of an adversary who knows nothing, and of one who is bad in floats: the worst of all up to 18 records, what a
    search finds beyond; with up to ten records of a singular covariance all are enumerated. At most the size of a block.

    Examples
    --------
    >>> prove_least_factor(GaussianModel([[1, 0.5, 0.25], [0.5, 1, 0.5], [0.25, 0.5, 1]]))
    Fraction(2, 1)
    """
    return max(
        min(_least_of_block(model.covariance[np.ix_(block, block)], sums), Fraction(len(block)))
        for block in model.blocks
    )


def _least_of_block(covariance: Floats, sums: bool) -> Fraction:
    m = len(covariance)
    least = _nothing_known(covariance, sums)
    if prove_column(covariance) is not None and not (sums and bool((covariance < 0).any())):
        return least
    if m > MOST_PROVED:
        if m > MOST_SEARCHED:
            return least
        return max(least, prove_known(covariance, likely_adversary(covariance, sums=sums), sums=sums))
    known = worst_adversary(covariance, sums=sums)
    if known is None:
        exact = prove_brute_force(covariance, sums=sums)
        return least if exact is None else exact
    return max(least, prove_known(covariance, known, sums=sums))


def _nothing_known(covariance: Floats, sums: bool) -> Fraction:
    """The factor against those who know no record, or all others, for the targets where it is the largest in floats."""
    with np.errstate(over="ignore"):
        shares = covariance / np.diag(covariance)
        if not sums:
            return _column(covariance, int(np.abs(shares).sum(axis=0).argmax()))
        parts = [
            int(np.maximum(side, 0.0).sum(axis=0).argmax())
            for side in (shares - np.eye(len(shares)), -shares)
        ]
    up, down = _signed(covariance, parts[0])[0], _signed(covariance, parts[1])[1]
    return max(1 + up, down - 1)


def prove_factor(
    model: GaussianModel, *, sums: bool = False, enough: Fraction = Fraction(0)
) -> tuple[Fraction, str]:
    """The least factor that can be proved for a model, and how: the largest over its independent blocks.

    Never above the size of the largest block, which bounds whatever the distribution. Targets are inside the clipping
    interval.

    Parameters
    ----------
    model : GaussianModel
    sums : bool
        Whether only sums of the records are asked for, see :mod:`privopt.measures.bayesian.gaussian_sums`.
    enough : Fraction
        A factor that satisfies: nothing more is computed to go below it.

    Returns
    -------
    tuple of Fraction and str
        The factor, and the method of the block that gave it.

    Examples
    --------
    >>> prove_factor(GaussianModel([[1, 0.25, 0], [0.25, 1, 0], [0, 0, 1]]))
    (Fraction(5, 4), 'gaussian-column')
    """
    return max(_prove_block(model, i, sums, enough) for i in range(len(model.blocks)))


def _prove_block(model: GaussianModel, i: int, sums: bool, enough: Fraction) -> tuple[Fraction, str]:
    """The least of what is proved for one block; cheap methods first, enumeration last."""
    block = model.blocks[i]
    covariance = model.covariance[np.ix_(block, block)]
    general: tuple[Fraction, str] = (Fraction(len(block)), "general")
    signs = sums and bool((covariance < 0).any())
    column = _proved(model, i, _COLUMN, False)
    if column is not None and not signs:
        return min((column, _COLUMN), general)
    least = nothing_known_sum(covariance) if sums else nothing_known(covariance)
    enough = max(enough, Fraction(least) * (1 + _ROUNDING * 4))  # a lower bound is met
    proved: list[tuple[Fraction, str]] = [general]
    if column is not None:
        proved.append((column, _COLUMN))
    names = [] if column is None else [_COLUMN]
    for name in (*names, DOMINATED, CONDITIONED, _ENUMERATED):
        if min(proved)[0] <= enough:
            break
        bound = _proved(model, i, name, signs)
        if bound is not None:
            proved.append((bound, name))
    return min(proved)


@lru_cache(maxsize=256)
def _proved(model: GaussianModel, i: int, name: str, sums: bool) -> Fraction | None:
    """What one method proves of a block; None where it proves nothing."""
    block = model.blocks[i]
    covariance = model.covariance[np.ix_(block, block)]
    if name == _COLUMN:
        return prove_column_sum(covariance) if sums else prove_column(covariance)
    if name == DOMINATED:
        return prove_h_matrix(covariance, sums=sums)
    if name == CONDITIONED:
        return prove_condition(covariance)
    for prove in (
        prove_enumeration,
        prove_subsets,
        prove_brute_force,
    ):  # rationals decide singular covariances
        bound = prove(covariance, sums=sums)
        if bound is not None:
            return bound
    return None

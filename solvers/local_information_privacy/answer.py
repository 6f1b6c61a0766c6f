"""From weighted posteriors to the channel that has them, and the answer where nothing binds."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.core.solver import Proposal
from privopt.mechanisms import Channel
from privopt.problems.local_information_privacy.bound import analytic_bound
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy

if TYPE_CHECKING:
    from flint import fmpq

NEGLIGIBLE = 1e-9
"""Probability of a release that is rounding rather than part of the answer."""

EQUAL = 1e-12
"""Posteriors that agree to this in every entry make one release."""


def matrix_from_joint(
    problem: LocalInformationPrivacy, joint: Floats, negligible: float = NEGLIGIBLE
) -> Floats:
    """P(y | w) from q(w, y) on the support; observations of probability 0 are treated like the average one.

    Columns of probability at most ``negligible`` are dropped: rounding decides their posteriors, and one that breaks a
    bound by far costs the whole channel dearly in its repair.
    """
    kept = np.maximum(joint, 0.0) * (np.maximum(joint, 0.0).sum(axis=0) > negligible)
    matrix = np.tile(kept.sum(axis=0) / kept.sum(), (len(problem.observation.p_w), 1))
    shares = kept.sum(axis=1)
    used = shares > 0  # rounding may leave an observation of hardly any probability without a release
    matrix[problem.observation.support[used]] = kept[used] / shares[used, None]
    return matrix


def channel_from_posteriors(problem: LocalInformationPrivacy, weights: Floats, posteriors: Floats) -> Channel:
    """The channel P(y | w) = weight_y v_y(w) / P(w).

    Releases of weight 0 are left out and equal posteriors merged. With a distortion, each posterior goes to
    the column that is best for it. An observation of probability 0 is released like the average one.

    Parameters
    ----------
    problem : LocalInformationPrivacy
    weights : array (m,)
        Non-negative.
    posteriors : array (m, k)
        Distributions on the k observations of positive probability, in their order; on average that of W.

    Returns
    -------
    Channel
        Rows are divided by their sums, which must be 1 within 1e-9.
    """
    observed = problem.observation
    support = observed.support
    used = weights > 0
    masses = weights[used, None] * posteriors[used]
    groups = _columns(problem, posteriors[used])
    joint = np.zeros(
        (int(groups.max()) + 1 if problem.matrix is None else problem.matrix.shape[1], len(support))
    )
    np.add.at(joint, groups, masses)
    return problem.answer(matrix_from_joint(problem, joint.T, negligible=0.0))


def exact_channel(
    problem: LocalInformationPrivacy,
    p: Sequence[Fraction],
    weights: Sequence[Fraction],
    posteriors: Sequence[Sequence[Fraction]],
) -> Channel:
    """As :func:`channel_from_posteriors`, in Fractions: rows sum to 1 exactly.

    Parameters
    ----------
    problem : LocalInformationPrivacy
    p : k Fractions
        The exact distribution of the observations of positive probability.
    weights, posteriors
        Exact; ``sum_y weights[y] posteriors[y][w] == p[w]``.

    Raises
    ------
    ArithmeticError
        If the posteriors do not average to the distribution.
    """
    from flint import fmpq

    kept = [(a, v) for a, v in zip(weights, posteriors, strict=True) if a > 0]
    groups = _columns(problem, np.array([[float(q) for q in v] for _, v in kept])).tolist()
    count = max(groups) + 1 if problem.matrix is None else problem.matrix.shape[1]
    average, none = [Fraction(0)] * count, fmpq(0)
    masses: list[dict[int, fmpq]] = [{} for _ in p]  # as quotients of flint: there are many, of long numbers
    for (a, v), y in zip(kept, groups, strict=True):
        average[y] += a
        share = fmpq(a.numerator, a.denominator)
        for mass, q in zip(masses, v, strict=True):
            if q:
                mass[y] = mass.get(y, none) + share * fmpq(q.numerator, q.denominator)
    whole = [fmpq(q.numerator, q.denominator) for q in p]
    if any(sum(mass.values(), none) != at for mass, at in zip(masses, whole, strict=True)):
        raise ArithmeticError("the exact posteriors do not average to the distribution of the observations")
    observed = problem.observation
    rows = [average] * len(observed.p_w)
    for mass, at, w in zip(masses, whole, observed.support.tolist(), strict=True):
        row = [Fraction(0)] * count
        for y, part in mass.items():
            row[y] = as_fraction(part / at)
        rows[w] = row
    return problem.answer(rows)


def as_fraction(quotient: fmpq) -> Fraction:
    """A quotient of flint as a Fraction."""
    return Fraction(int(quotient.p), int(quotient.q))


def exact_distribution(problem: LocalInformationPrivacy) -> list[Fraction]:
    """The exact distribution of the observations of positive probability."""
    polytope = problem.polytope
    return [Fraction(polytope.symbols[w], polytope.total) for w in polytope.support]


def _columns(problem: LocalInformationPrivacy, posteriors: Floats) -> NDArray[np.intp]:
    """For each posterior the number of its release."""
    if problem.matrix is not None:
        observed = problem.observation
        seen = posteriors @ observed.x_given_w[:, observed.support].T
        return np.asarray((seen @ problem.matrix).argmin(axis=1))
    # Alike posteriors have alike sums under any weights in [0, 1]: only those are compared cell by cell.
    sums = posteriors @ np.random.default_rng(0).random(posteriors.shape[1])
    firsts: list[int] = []
    groups = []
    for i, v in enumerate(posteriors):
        near = np.flatnonzero(np.abs(sums[np.array(firsts, dtype=np.intp)] - sums[i]) <= EQUAL * len(v))
        same = next((int(g) for g in near if np.abs(posteriors[firsts[g]] - v).max() <= EQUAL), len(firsts))
        if same == len(firsts):
            firsts.append(i)
        groups.append(same)
    return np.array(groups, dtype=np.intp)


ANALYTIC = {"kind": "analytic"}
"""The proof of :func:`privopt.problems.local_information_privacy.bound.analytic_bound`."""

NOT_INDEPENDENT = "floats cannot make the release exactly independent of the secret; perfect-privacy does"
"""Why solvers in floats refuse a budget of 0."""


def whole_release(problem: LocalInformationPrivacy) -> Proposal | None:
    """Release the observation, or for a distortion its best column, if no row of the polytope can be broken."""
    if problem.polytope.binds:
        return None
    n = len(problem.observation.p_w)
    matrix = np.eye(n)
    if problem.matrix is not None:
        best = (problem.observation.x_given_w.T @ problem.matrix).argmin(axis=1)
        matrix = np.eye(problem.matrix.shape[1])[best]
    stats: dict[str, float | int | str] = {
        "iterations": 0,
        "vertices": len(problem.observation.support),
        "stop": "no bound can be broken",
    }
    return Proposal(problem.answer(matrix), analytic_bound(problem), ANALYTIC, stats=stats)


MOST_ROWS = 5_000_000
"""Numbers in the posterior rows up to which they are written down: 170 secrets as observations, where ratios are bounded."""


def too_many_rows(problem: LocalInformationPrivacy) -> str | None:
    """Why the posterior rows are not written down, each of all pairs of secrets where ratios are bounded; None where they fit."""
    if (numbers := problem.polytope.numbers) <= MOST_ROWS:
        return None
    return f"its posterior rows would have {numbers:.1e} numbers, at most {MOST_ROWS:.0e} fit"


def independent(problem: LocalInformationPrivacy) -> bool:
    """Whether the bounds force the release to be independent of the secret: one side at 0 forces the other."""
    if problem.per_value is not None and any(max(levels) == 0 for levels in problem.per_value):
        return True  # of a value at least: floats cannot keep that either
    return problem.budget == 0 if problem.notion == "ldp" else min(problem.lower, problem.upper) == 0


def width(problem: LocalInformationPrivacy) -> float:
    """How far apart the least and the greatest lift may be; inf if one side is free, unless the other is 0."""
    if independent(problem):
        return 0.0
    if problem.per_value is not None:
        return min(float(np.expm1(min(high, 700.0)) - np.expm1(-low)) for low, high in problem.per_value)
    if problem.measured:
        return problem.budget if problem.notion == "l1" else float(np.sqrt(problem.budget))
    lower, upper = (problem.budget,) * 2 if problem.notion == "ldp" else (problem.lower, problem.upper)
    return float(np.expm1(min(upper, 700.0)) - np.expm1(-lower)) if max(lower, upper) < np.inf else np.inf

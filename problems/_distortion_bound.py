"""Upper bounds on the objective of a question on distortion and leakage, each proved afresh from its dual.

The kinds of dual:

- ``{"kind": "analytic"}``: leakage is at least 0, distortion at least that of the best reproduction.
- ``{"kind": "posteriors", "laws": [[...], ...], "multiplier": m}``: a law over S for each release, and the price
  m >= 0 of what is bounded; for Sibson's information of any order, so for mutual information and maximal leakage.
- ``{"kind": "linear", "multipliers": [[...], ...]}``: multipliers of the posterior rows, where "lip" or "ldp" is
  bounded, or where no leakage at all is allowed; see :mod:`privopt.problems._lip_bound`.
- ``{"kind": "level", "level": e, "multipliers": [[...], ...]}``: the same at level e proves that no release within
  that level meets the bound on distortion, so that the leakage of those which do is above e ("lip" and "ldp").

Why laws over S prove a bound. Write b = a/(a-1) and h = b (F - 1) with F = sum_y (sum_s P(s) P(y|s)^a)^(1/a), so that
the information is b ln(1 + h/b), which is h at a = 1. Each summand of F is a norm of the column P(y|.), for a < 1 a
concave mean. By Hölder's inequality, reversed for a < 1, any law r over S gives
h >= sum_{s,y} P(s, y) g(s, y) with g = b ((r/P(s))^(1/b) - 1), which is ln(r/P(s)) at a = 1 (Donsker and Varadhan) and
r/P(s) - 1 at a = inf. The right side is linear in the channel: with one price for the other constraint, each
observation takes the release that is cheapest.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from privopt.problems._lip_bound import check_dual as check_ratios
from privopt.problems._observation import Floats

if TYPE_CHECKING:
    from privopt.problems.distortion_privacy import DistortionPrivacy

ALLOWANCE = 1e-13
"""Added to every bound for the rounding of its last sums, relative to max(1, its size)."""

SMALLEST = 1e-300
"""Laws are raised to this, so that no score is infinite."""


def check_dual(problem: DistortionPrivacy, dual: object, seconds: float) -> float | None:
    """The upper bound on the objective that a dual proves, or None."""
    if not isinstance(dual, dict):
        return None
    kind = dual.get("kind")
    if kind == "analytic":
        return (
            0.0 if problem.max_leakage is None else -float(problem.costs.least) + ALLOWANCE * _size(problem)
        )
    if kind == "posteriors":
        return _posteriors(problem, dual.get("laws"), dual.get("multiplier"))
    if kind == "linear" and _is_ratio_bound(problem):
        utility = check_ratios(problem.ratios(problem.budget), dual, seconds)
        return None if utility is None else utility / problem.magnitude
    if kind == "level" and problem.max_leakage is None and problem.order is None:
        return _level(problem, dual, seconds)
    return None


def _is_ratio_bound(problem: DistortionPrivacy) -> bool:
    """Whether the releases allowed are those that some bound on ratios allows; every leakage is 0 together."""
    return problem.max_leakage is not None and (problem.order is None or problem.budget == 0)


def _size(problem: DistortionPrivacy) -> float:
    """Of distortions, for rounding."""
    return max(2.0 / problem.magnitude, abs(float(problem.costs.least)))


def _level(problem: DistortionPrivacy, dual: dict[str, object], seconds: float) -> float | None:
    level = dual.get("level")
    if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0 <= level < math.inf:
        return None
    linear = {"kind": "linear", "multipliers": dual.get("multipliers")}
    utility = check_ratios(problem.ratios(float(level)), linear, seconds)
    limit = problem.floor * Fraction(problem.magnitude)
    return -float(level) if utility is not None and Fraction(-utility) > limit else None


def _posteriors(problem: DistortionPrivacy, laws: object, price: object) -> float | None:
    observed = problem.observation
    seen = observed.p_s > 0
    try:
        given = np.array(laws, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    if given.shape != (problem.matrix.shape[1], int(seen.sum())) or not np.isfinite(given).all():
        return None
    if isinstance(price, bool) or not isinstance(price, (int, float)) or not 0 <= price < math.inf:
        return None
    if (given < 0).any() or not (given.sum(axis=1) > 0).all() or problem.order is None:
        return None
    table = observed.leaking.table[seen]
    return posterior_bound(problem, scored(table, scores(given, observed.p_s[seen], problem.order)), price)


def scores(laws: Floats, prior: Floats, order: float) -> Floats:
    """g[y, s] of laws r[y, s]: b ((r/p)^(1/b) - 1) with b = order / (order - 1); see the module.

    Examples
    --------
    >>> prior = np.array([0.5, 0.5])
    >>> [scores(np.array([[3.0, 1.0]]), prior, a).round(4).tolist() for a in (1.0, 2.0, math.inf)]
    [[[0.4055, -0.6931]], [[0.4495, -0.5858]], [[0.5, -0.5]]]
    """
    logs = np.log(np.maximum(laws / laws.sum(axis=1, keepdims=True), SMALLEST) / prior)
    if order == 1:
        return np.asarray(logs)
    b = 1.0 if math.isinf(order) else order / (order - 1)
    with np.errstate(over="ignore"):
        return np.asarray(b * np.expm1(logs / b))


def scored(table: Floats, score: Floats) -> tuple[Floats, Floats]:
    """Sums of P(s, w) g(y, s) over s, shape (n_w, n_y), and how far rounding can put them off."""
    slack = (8 + len(table)) * 2.0**-52
    return table.T @ score.T, slack * (table.T @ (np.abs(score).T + 1.0))


def posterior_bound(problem: DistortionPrivacy, sums: tuple[Floats, Floats], price: float) -> float | None:
    """The bound on the objective from :func:`scored` and a price, or None if it overflows."""
    order = 1.0 if problem.order is None else problem.order
    value, off = sums
    excess = problem.costs.excess
    if problem.max_leakage is None:
        room = float(problem.floor - problem.costs.least)
        cells = value - off + price * excess * (1 - 2.0**-50)
        paid = price * room * (1 + 2.0**-50 if room > 0 else 1 - 2.0**-50)
        low = math.fsum(cells.min(axis=1).tolist()) - paid
        found = -max(0.0, information(low - ALLOWANCE * max(1.0, abs(low)), order))
    else:
        cells = excess * (1 - 2.0**-50) + price * (value - off)
        low = math.fsum(cells.min(axis=1).tolist()) - price * transformed(problem.budget, order) * (
            1 + 2.0**-50
        )
        found = -(float(problem.costs.least) + low) + ALLOWANCE * (_size(problem) + abs(low))
    return found if math.isfinite(found) else None


def transformed(information: float, order: float) -> float:
    """The h of an information: b (e^(information / b) - 1), the information itself at order 1.

    Examples
    --------
    >>> round(transformed(0.2, 2.0), 6), transformed(0.2, 1.0)
    (0.210342, 0.2)
    """
    if order == 1:
        return information
    b = 1.0 if math.isinf(order) else order / (order - 1)
    return b * math.expm1(min(700.0, information / b))


def information(h: float, order: float) -> float:
    """The information of h, the inverse of :func:`transformed`; 0 where h is below its range.

    Examples
    --------
    >>> round(information(transformed(0.2, 0.5), 0.5), 12)
    0.2
    """
    if order == 1:
        return h
    b = 1.0 if math.isinf(order) else order / (order - 1)
    if h / b <= -1:
        return 0.0 if b > 0 else math.inf
    return b * math.log1p(h / b)

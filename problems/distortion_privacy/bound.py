"""Upper bounds on the objective of a problem on distortion and leakage, each proved afresh from its dual, in rationals or balls.

The kinds of dual:

- ``{"kind": "analytic"}``: leakage is at least 0, distortion at least that of the best reproduction.
- ``{"kind": "posteriors", "laws": [[...], ...], "multiplier": m}``: a distribution over S for each release, and the price
  m >= 0 of what is bounded; for Sibson's information of any order, so for mutual information and maximal leakage.
- ``{"kind": "linear", "multipliers": [[...], ...]}``: multipliers of the posterior rows, where "lip" or "ldp" is
  bounded, or where no leakage at all is allowed; see :mod:`privopt.problems.local_information_privacy.bound`.
- ``{"kind": "level", "level": e, "multipliers": [[...], ...]}``: the same at level e proves that no release within
  that level meets the bound on distortion, so that the leakage of those which do is above e ("lip" and "ldp").

- ``{"kind": "set", "pool": ..., "members": ..., "cuts": ..., "proof": {...}}``: over a set of joints, distributions of it and
  multipliers of the rows that these and the nominal joint demand; where distortion is bounded, at the level of the proof and
  with a mixture of members, ``weighing``, whose distortion is above the bound. See
  :mod:`privopt.problems.local_information_privacy.members`.
- ``{"kind": "averages", "pool": ..., "members": ..., "prices": [[m, member, [[...], ...]], ...]}``: over a set of joints, where
  an information is bounded: prices m >= 0, each of the information at a member, with a distribution over S for each release.
  What is bounded over the set is bounded at each of its members.
- ``{"kind": "bands", "above": [[...], ...], "below": [[...], ...]}``: where "lip" or "ldp" is bounded, multipliers >= 0 of
  P(y | s) <= e^e h(y) and of h(y) <= P(y | s) e^e ("lip"; h(y) <= P(y | s) for "ldp"), a list a release with a number for each
  value of S of positive probability, in the unit of the distortion. For "lip" h(y) is P(y), for "ldp" the least P(y | s).
  See :mod:`privopt.problems.bands`. A dual of the kind ``"level"`` may hold these in place of its multipliers.

Why distributions over S prove a bound. Write b = a/(a-1) and h = b (F - 1) with F = sum_y (sum_s P(s) P(y|s)^a)^(1/a), so that
the information is b ln(1 + h/b), which is h at a = 1. Each summand of F is a norm of the column P(y|.), for a < 1 a
concave mean. By Hölder's inequality, reversed for a < 1, any distribution r over S gives
h >= sum_{s,y} P(s, y) g(s, y) with g = b ((r/P(s))^(1/b) - 1), which is ln(r/P(s)) at a = 1 (Donsker and Varadhan) and
r/P(s) - 1 at a = inf. The right side is linear in the channel: with one price for the other constraint, each
observation takes the release that is cheapest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from privopt.arrays import Floats
from privopt.core.balls import ETA, Balls, U
from privopt.core.exact import ball_ceiling, ball_floor
from privopt.core.problem import Enclosure
from privopt.models.ambiguity.joint import JointAmbiguity
from privopt.problems.bands import band_enclosure
from privopt.problems.costs import costs_under
from privopt.problems.distortion_privacy.data import DistortionData
from privopt.problems.entropy_boxes import log_balls
from privopt.problems.exact_joint import enclose
from privopt.problems.local_information_privacy.bound import linear_value, numbers
from privopt.problems.local_information_privacy.members import MOST, demanded, weighed
from privopt.problems.local_information_privacy.members import tables as members_of

if TYPE_CHECKING:
    from flint import arb

SMALLEST = 1e-300
"""Distributions are raised to this, so that no score is infinite."""

TERMS = 18
"""Terms of the series of e^x - 1 for |x| <= 1/2; the rest is less than 2^-70 of it."""


def prove(problem: DistortionData, dual: object) -> Enclosure | None:
    """What a dual proves about the objective, rounded outward; see :meth:`privopt.Problem.prove_bound`.

    No less than what needs no dual: leakage is at least 0, distortion at least the least of any release.
    """
    proved = _proved(problem, dual)
    return None if proved is None else min(proved, _analytic(problem), key=lambda ends: ends[1])


def _analytic(problem: DistortionData) -> Enclosure:
    return (0.0, 0.0) if problem.max_leakage is None else enclose(-problem.costs.least)


def _proved(problem: DistortionData, dual: object) -> Enclosure | None:
    if not isinstance(dual, dict):
        return None
    kind = dual.get("kind")
    if kind == "analytic":
        return _analytic(problem)
    if kind == "posteriors":
        return _posteriors(problem, dual.get("laws"), dual.get("multiplier"))
    if kind == "linear" and _is_ratio_bound(problem):
        value = _linear(problem, problem.budget, dual)
        return None if value is None else enclose(value)
    if kind == "set" and problem.ambiguity is not None and problem.order is None:
        return _over_set(problem, problem.ambiguity, dual)
    if kind == "averages" and problem.ambiguity is not None and problem.max_leakage is not None:
        return _averages(problem, problem.ambiguity, dual)
    if kind == "bands" and problem.max_leakage is not None and problem.order is None:
        return _bands(problem, problem.budget, dual)
    if kind == "level" and problem.max_leakage is None and problem.order is None:
        level = dual.get("level")
        if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0 <= level < math.inf:
            return None
        return (-float(level), -float(level)) if _too_far(problem, float(level), dual) else None
    return None


def _over_set(
    problem: DistortionData, ambiguity: JointAmbiguity, dual: dict[str, object]
) -> Enclosure | None:
    """What finitely many distributions of the set prove: as "linear", or as "level" with a mixture of them for the distortion."""
    proof, unit = dual.get("proof"), Fraction(problem.magnitude)
    if not isinstance(proof, dict):
        return None
    level = problem.budget if problem.max_leakage is not None else proof.get("level")
    if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0 <= level < math.inf:
        return None
    relaxed = demanded(problem.ratios(float(level)), dual)
    if relaxed is None:
        return None
    if problem.max_leakage is not None:
        value = linear_value(relaxed, problem.costs, unit, proof.get("multipliers"))
        return None if value is None else enclose(value / unit)
    weights = weighed(ambiguity, dual)
    if weights is None:
        return None
    value = linear_value(relaxed, costs_under(weights, problem.distortion), unit, proof.get("multipliers"))
    far = value is not None and -value / unit > problem.floor * sum(weights)
    return (-float(level), -float(level)) if far else None


def _too_far(problem: DistortionData, level: float, dual: dict[str, object]) -> bool:
    """Whether multipliers prove that no release within a level meets the bound on distortion."""
    if "above" in dual:
        ends = _bands(problem, level, dual)
        return ends is not None and -Fraction(ends[1]) > problem.floor
    value = _linear(problem, level, dual)
    return value is not None and -value > problem.floor


def _bands(problem: DistortionData, level: float, dual: dict[str, object]) -> Enclosure | None:
    """Floats around the bound on -E[D] of the releases whose ratios are within a level."""
    shape = problem.matrix.shape[1], int((problem.observation.p_s > 0).sum())
    above, below = numbers(dual.get("above"), shape), numbers(dual.get("below"), shape)
    if above is None or below is None:
        return None
    return band_enclosure(problem.observation, problem.costs, (problem.leakage, level, level), above, below)


def _is_ratio_bound(problem: DistortionData) -> bool:
    """Whether the releases allowed are those that some bound on ratios allows; every leakage is 0 together."""
    return problem.max_leakage is not None and (problem.order is None or problem.budget == 0)


def _linear(problem: DistortionData, level: float, dual: dict[str, object]) -> Fraction | None:
    """An exact upper bound on -E[D] of the releases whose ratios are within a level; multipliers are of D times its unit."""
    unit = Fraction(problem.magnitude)
    value = linear_value(problem.ratios(level), problem.costs, unit, dual.get("multipliers"))
    return None if value is None else value / unit


def _posteriors(problem: DistortionData, rows: object, price: object) -> Enclosure | None:
    table = [row for row in problem.weights if any(row)]
    posteriors = numbers(rows, (problem.matrix.shape[1], len(table)))
    order = problem.order
    if posteriors is None or order is None or isinstance(price, bool) or not isinstance(price, (int, float)):
        return None
    if not 0 <= price < math.inf:
        return None
    if (posteriors < 0).any() or not (posteriors.sum(axis=1) > 0).all():
        return None
    total = problem.observation.leaking.exact.total
    joint = _quotients(table, total)
    prior = _quotients([[sum(row) for row in table]], total)[0]
    value = joint.T @ _scores(posteriors, prior, order).T
    costs, paid, excess = problem.costs, Balls.exact(price), _excess(problem)
    if problem.max_leakage is None:
        room = Balls.fractions([problem.floor - costs.least])[0]
        low, high = ((value + paid * excess).min(axis=1).sum() - paid * room).ends
        most = -_information(low, order)[0] + 0.0
        return (0.0, 0.0) if most == 0 else (-_information(high, order)[1], most)
    return _within(problem, order, paid * value, paid)


def _within(problem: DistortionData, order: float, sums: Balls, paid: Balls) -> Enclosure | None:
    """What prices ``paid`` of informations prove that are at least ``sums / paid`` each, where these are bounded by the budget."""
    limit = Balls.between(*_transformed(problem.cap, order))
    low, high = ((_excess(problem) + sums).min(axis=1).sum() - paid * limit).ends
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    least = problem.costs.least
    return enclose(-(least + Fraction(high)))[0], enclose(-(least + Fraction(low)))[1]


def _excess(problem: DistortionData) -> Balls:
    """E[D] of each release given each observation above the least."""
    costs = problem.costs
    least = map(min, costs.cells)
    return _quotients(
        [[c - low for c in row] for row, low in zip(costs.cells, least, strict=True)], costs.scale
    )


def _averages(
    problem: DistortionData, ambiguity: JointAmbiguity, dual: dict[str, object]
) -> Enclosure | None:
    """What prices of the informations at members of a set prove."""
    tables, prices, order = members_of(ambiguity, dual), dual.get("prices"), problem.order
    if tables is None or order is None or not isinstance(prices, list) or len(prices) > MOST:
        return None
    sums, paid = Balls.exact(np.zeros(problem.matrix.shape)), Balls.exact(0.0)
    for price, number, rows in prices:
        if any(isinstance(v, bool) for v in (price, number)) or not isinstance(price, (int, float)):
            return None
        if not isinstance(number, int) or not 0 <= number < len(tables) or not 0 <= price < math.inf:
            return None
        member = tables[number]
        if member is None:
            return None
        table = [row for row in member[0] if any(row)]
        posteriors = numbers(rows, (problem.matrix.shape[1], len(table)))
        if posteriors is None or (posteriors < 0).any() or not (posteriors.sum(axis=1) > 0).all():
            return None
        prior = _quotients([[sum(row) for row in table]], member[1])[0]
        information = _quotients(table, member[1]).T @ _scores(posteriors, prior, order).T
        sums, paid = sums + information * price, paid + Balls.exact(float(price))
    return _within(problem, order, sums, paid)


def _quotients(rows: Sequence[Sequence[int]], below: int) -> Balls:
    """Integers over another, as floats with radii."""
    mid = np.array([[v / below for v in row] for row in rows])
    zero = np.array([[v == 0 for v in row] for row in rows])
    return Balls(mid, np.where(zero, 0.0, 2 * U * np.abs(mid) + ETA))


def _scores(posteriors: Floats, prior: Balls, order: float) -> Balls:
    """g[y, s] of distributions proportional to ``posteriors``; see the module."""
    raised = Balls.exact(np.maximum(posteriors, SMALLEST * posteriors.max(axis=1, keepdims=True)))
    ratio = raised / raised.sum(axis=1).reshape(-1, 1) / prior
    if math.isinf(order):
        return ratio - 1.0
    if order == 1:
        return _log(ratio)
    logs = ratio.log()  # to the last place: errors of large logarithms grow with the power
    b = Balls.fractions([Fraction(order) / (Fraction(order) - 1)])[0]
    return b * _expm1(logs / b)


def _log(x: Balls) -> Balls:
    """Logarithms of positive balls: that of the middle, off by at most the radius over the lower end."""
    off = (Balls.exact(x.rad) / Balls.exact(np.maximum(x.lower, 0.0))).upper
    return log_balls(x.mid) + Balls(np.zeros(x.shape), off)


def _expm1(x: Balls) -> Balls:
    """e^x - 1, to a few units in its last place also near 0."""
    small = np.abs(x.mid) + x.rad <= 0.5
    near = Balls(np.where(small, x.mid, 0.0), np.where(small, x.rad, 0.0))
    series = Balls.exact(np.ones(x.shape))
    for n in range(TERMS, 1, -1):
        series = near * series / float(n) + 1.0
    rest = Balls(np.zeros(x.shape), 2.0**-70 * (np.abs(near.mid) + near.rad) * (1 + 4 * U))
    far = Balls(np.where(small, 0.0, x.mid), np.where(small, 0.0, x.rad))
    return (near * series + rest).where(small, far.exp() - 1.0)


def _information(h: float, order: float) -> Enclosure:
    """Floats around the information of h, at least 0; see :func:`information`."""
    if order == 1 or not h > 0 or h == math.inf:
        return max(0.0, h), max(0.0, h)
    return _through(h, order, lambda x, b: b * (1 + x / b).log())


def _transformed(information: float, order: float) -> Enclosure:
    """Floats around the h of an information; see :func:`transformed`."""
    if order == 1 or information == 0 or math.isinf(information):
        return information, information
    return _through(information, order, lambda x, b: b * ((x / b).exp() - 1))


def _through(x: float, order: float, function: Callable[[arb, arb], arb]) -> Enclosure:
    """Floats around function(x, b), b = order / (order - 1), where it is positive; (0, inf) where no precision shows it."""
    from flint import arb, ctx, fmpq

    b = Fraction(1) if math.isinf(order) else Fraction(order) / (Fraction(order) - 1)
    for bits in (128 << k for k in range(7)):
        with ctx.workprec(bits):
            ball = function(arb(fmpq(*Fraction(x).as_integer_ratio())), arb(fmpq(b.numerator, b.denominator)))
            if ball.is_finite() and ball.rel_accuracy_bits() >= 60:
                return max(0.0, ball_floor(ball)), ball_ceiling(ball)
    return 0.0, math.inf


# what solvers compare with while they search: floats, which prove nothing


def scores(posteriors: Floats, prior: Floats, order: float) -> Floats:
    """g[y, s] of distributions r[y, s]: b ((r/p)^(1/b) - 1) with b = order / (order - 1); see the module.

    Examples
    --------
    >>> prior = np.array([0.5, 0.5])
    >>> [scores(np.array([[3.0, 1.0]]), prior, a).round(4).tolist() for a in (1.0, 2.0, math.inf)]
    [[[0.4055, -0.6931]], [[0.4495, -0.5858]], [[0.5, -0.5]]]
    """
    shares = posteriors / posteriors.sum(axis=1, keepdims=True)
    logs = np.log(np.maximum(shares, SMALLEST) / prior)
    if order == 1:
        return np.asarray(logs)
    b = 1.0 if math.isinf(order) else order / (order - 1)
    with np.errstate(over="ignore"):
        return np.asarray(b * np.expm1(logs / b))


def posterior_bound(problem: DistortionData, sums: Floats, price: float) -> float | None:
    """The bound on the objective from sums of P(s, w) g(y, s) over s, shape (n_w, n_y), and a price; None if it overflows."""
    order = 1.0 if problem.order is None else problem.order
    excess, least = problem.costs.excess, float(problem.costs.least)
    if problem.max_leakage is None:
        room = float(problem.floor - problem.costs.least)
        low = math.fsum((sums + price * excess).min(axis=1).tolist()) - price * room
        value = -max(0.0, information(low, order))
    else:
        low = math.fsum((excess + price * sums).min(axis=1).tolist())
        value = -(least + low - price * transformed(problem.cap, order))
    return value if math.isfinite(value) else None


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

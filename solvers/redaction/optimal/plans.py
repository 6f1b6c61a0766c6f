"""The extremals of one branch, traced backwards from where everything is released, and the best of them from a state.

A branch on one side redacts every record nearer than some distance, then releases label 0 with probability
``1 - q_d`` and never label 1, then releases everything. What the records so far have told is one number, the
state rho; with ``s = rho / q`` a step with crossing probabilities a (0 -> 1) and b (1 -> 0) maps

    rho' = T(s) = ((1-b) s - a) / ((1-a) - b s),

and everything may be released once rho <= 0, that is once ``s <= kappa = a / (1-b)`` for the next step, or at
the end of the chain for every ``s <= 1``. Minimising ``sum w1 + w0 q`` is a scalar control problem. Let h be the
derivative of the cost to go in rho. Stationarity in q is ``w0 q = h T'(s) s`` unless q = 1, hence going backwards
one value of (rho, h) at the last partial record fixes all earlier ones. With ``n = (1-a) rho' + a`` and
``m = b rho' + 1 - b`` the inverse step is ``s = n / m`` and ``T'(s) = m^2 / det``, free of cancellation.

The mechanisms are of the form of 3R in Massny, Bitar, Ye, El Rouayheb, "Between Close Enough to Reveal and Far
Enough to Protect", Section IV; the distances and probabilities are chosen here against the exact leakage.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.solvers.redaction.optimal.side import Reach, Walk

# Parameter t of a curve: up to 0 the last probability is 10^t; from 0 on it is 1 and log h grows up to COSTATE.
GRID: Floats = np.concatenate(
    (np.linspace(-14, -1, 140, endpoint=False), np.linspace(-1, 0, 560), np.linspace(0, 1, 201)[1:])
)
COSTATE = 1e14
_FLOOR = 1e-14
# In a repeating chain the cost as a function of the last partial record falls, then rises.
_PATIENCE = 6


@dataclass(frozen=True, eq=False)
class Curve:
    """State, costate and cost at the first partial record, as functions of the parameter t."""

    state: Floats
    costate: Floats
    cost: Floats


def scale(walk: Walk) -> float:
    """Largest weight, or 1 when all are zero: the unit of cost."""
    return float(walk.weights.max(initial=0.0)) or 1.0


def effective(walk: Walk) -> Floats:
    """Weights of label 0, a hair above zero: a weightless record is redacted, for stationarity says so."""
    return np.maximum(walk.weights[:, 0], _FLOOR * scale(walk))


def stop_threshold(walk: Walk, last: int) -> float:
    """Largest s after the record at distance ``last`` from which everything beyond may be released."""
    return 1.0 if last == walk.length else inner_threshold(walk, last)


def inner_threshold(walk: Walk, last: int) -> float:
    """The same, were the chain to go on."""
    i = walk.index(last + 1)
    stay = 1 - float(walk.back[i])
    return min(1.0, float(walk.cross[i]) / stay) if stay > 0 else 1.0


def seed(walk: Walk, last: int, threshold: float, t: Floats) -> Curve:
    """The curve of a single partial record."""
    i = walk.index(last)
    w0, w1 = float(effective(walk)[i]), float(walk.weights[i, 1])
    probability = 10.0 ** np.minimum(t, 0)
    unit, begin = scale(walk), _ramp(w0, scale(walk))
    costate = unit * COSTATE ** ((begin + (1 - begin) * np.maximum(t, 0)) ** 3)
    with np.errstate(over="ignore"):
        return Curve(threshold * probability, costate / threshold, w1 + w0 * probability)


def _ramp(w0: float, unit: float) -> float:
    """Where the last costate begins, as a cube root of the exponent of COSTATE: steps are finest near one unit."""
    return float(np.cbrt(np.log(w0 / unit) / np.log(COSTATE)))


def extend(walk: Walk, curve: Curve, first: int) -> Curve:
    """The curve with one more partial record, at distance ``first``, in front."""
    i, j = walk.index(first), walk.index(first + 1)
    a, b, det = float(walk.cross[j]), float(walk.back[j]), float(walk.determinants[j])
    w0, w1 = float(effective(walk)[i]), float(walk.weights[i, 1])
    numerator = (1 - a) * curve.state + a
    denominator = b * curve.state + (1 - b)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # steps too rare for a float
        wanted = curve.costate * numerator * denominator / (det * w0)
        q = np.where(wanted >= 0, np.minimum(wanted, 1.0), 1.0)
        s = numerator / denominator
        costate = np.where(wanted >= 1, curve.costate * denominator**2 / det, w0 / s)
    return Curve(q * s, costate, curve.cost + (w1 + w0 * q))


@dataclass(frozen=True)
class Trace:
    """One extremal: parameter, state and costate at its first record, cost to go, probabilities."""

    state: float
    costate: float
    cost: float
    probabilities: tuple[float, ...]


def trace(walk: Walk, first: int, last: int, t: float) -> Trace:
    """One extremal, from the last partial record back to the first."""
    threshold, weights, unit = stop_threshold(walk, last), effective(walk), scale(walk)
    i = walk.index(last)
    w0 = float(weights[i])
    q = 10.0 ** min(t, 0.0)
    begin = _ramp(w0, unit)
    state, costate = threshold * q, unit * COSTATE ** ((begin + (1 - begin) * max(t, 0.0)) ** 3) / threshold
    cost, probabilities = float(walk.weights[i, 1]) + w0 * q, [q]
    for d in range(last - 1, first - 1, -1):
        j, i = i, walk.index(d)
        a, b, det, w0 = (
            float(walk.cross[j]),
            float(walk.back[j]),
            float(walk.determinants[j]),
            float(weights[i]),
        )
        numerator, denominator = (1 - a) * state + a, b * state + (1 - b)
        q = costate * numerator * denominator / (det * w0)
        s = numerator / denominator
        if q >= 1:
            q, costate = 1.0, costate * denominator**2 / det
        else:
            costate = w0 / s
        state, cost = q * s, cost + (float(walk.weights[i, 1]) + w0 * q)
        probabilities.append(q)
    return Trace(state, costate, cost, tuple(reversed(probabilities)))


def curves_from(walk: Walk, first: int, t: Floats) -> Iterator[tuple[int, Curve]]:
    """The curves that start at a distance, for every last partial record before the end of the chain."""
    if walk.period == walk.length:
        for last in range(first, walk.length):
            if stop_threshold(walk, last) > 0:
                yield last, curve_between(walk, first, last, t)
        return
    sweeps: list[Curve | None] = []
    for last in range(first, walk.length):
        sweeps = longer(walk, sweeps, last - first + 1, t)
        if (curve := sweeps[walk.index(last)]) is not None:
            yield last, curve


def longer(walk: Walk, sweeps: list[Curve | None], count: int, t: Floats) -> list[Curve | None]:
    """The curves of ``count`` partial records, by place of the last one in the period, from those of one less.

    Steps repeat, so these serve every distance.
    """
    if count == 1:
        positive = [inner_threshold(walk, stop + 1) > 0 for stop in range(walk.period)]
        return [
            seed(walk, stop + 1, inner_threshold(walk, stop + 1), t) if positive[stop] else None
            for stop in range(walk.period)
        ]
    shift = 2 - count + walk.period * count  # whole periods keep the distance positive
    return [None if curve is None else extend(walk, curve, stop + shift) for stop, curve in enumerate(sweeps)]


def curve_between(walk: Walk, first: int, last: int, t: Floats) -> Curve:
    """The curve whose partial records are exactly the distances ``first`` to ``last``."""
    curve = seed(walk, last, stop_threshold(walk, last), t)
    for d in range(last - 1, first - 1, -1):
        curve = extend(walk, curve, d)
    return curve


@dataclass(frozen=True)
class Plan:
    """What to do on one side.

    Parameters
    ----------
    cost
        Expected weighted redactions on the side.
    first
        Distance of the first record that is not redacted for sure.
    probabilities
        Redaction probabilities of the early label from ``first`` on; everything is released afterwards.
    """

    cost: float
    first: int
    probabilities: tuple[float, ...] = ()

    @property
    def last(self) -> int:
        """Distance of the last partial record."""
        return self.first + len(self.probabilities) - 1


def redact_all(walk: Walk) -> Plan:
    """Redact every record that depends on the private one."""
    return Plan(walk.total, walk.length + 1)


@dataclass(frozen=True)
class _Bracket:
    floor: float
    last: int
    low: float
    high: float


def best_plan(walk: Walk, known: Reach, first: int, state: float, limit: float = np.inf) -> Plan:
    """The cheapest way on from a state at distance ``first``, everything nearer being redacted."""
    spent = float(known.spent[first - 1])
    if state <= 0:
        return Plan(spent, first)
    state, best = max(state, 1e-13), redact_all(walk)  # a larger state asks for more redaction: safe
    for bracket in sorted(
        _brackets(walk, first, state, min(limit, walk.total) - spent), key=lambda b: b.floor
    ):
        if spent + bracket.floor >= best.cost:
            break
        extremal = pin(walk, first, bracket.last, bracket.low, bracket.high, state)
        if spent + extremal.cost < best.cost:
            best = Plan(spent + extremal.cost, first, extremal.probabilities)
    return best


def _brackets(walk: Walk, first: int, state: float, limit: float) -> Iterator[_Bracket]:
    cheapest, waited, certain = limit, 0, 0.0
    for last, curve in curves_from(walk, first, GRID):
        certain += float(walk.weights[walk.index(last), 1])
        if certain > cheapest:
            return
        at = crossings(curve, state)
        lowest = float(np.minimum(curve.cost[at], curve.cost[at + 1]).min(initial=np.inf))
        highest = float(np.maximum(curve.cost[at], curve.cost[at + 1]).min(initial=np.inf))
        waited = waited + 1 if cheapest < lowest else 0
        cheapest = min(cheapest, highest)
        yield from _pairs(curve, at, last)
        if walk.period < walk.length and np.isfinite(cheapest) and waited > _PATIENCE and cheapest < limit:
            break
    certain = float(known_tail(walk, first))
    if certain <= cheapest:
        curve = curve_between(walk, first, walk.length, GRID)
        yield from _pairs(curve, crossings(curve, state), walk.length)


def known_tail(walk: Walk, first: int) -> float:
    """Weight of label 1 from a distance to the end of the chain."""
    rounds, rest = divmod(walk.length - first + 1, walk.period)
    ones = walk.weights[:, 1]
    places = (walk.index(first) + np.arange(rest)) % walk.period
    return rounds * float(ones.sum()) + float(ones[places].sum())


def _pairs(curve: Curve, at: NDArray[np.intp], last: int) -> Iterator[_Bracket]:
    for i in at.tolist():
        floor = float(min(curve.cost[i], curve.cost[i + 1]))
        yield _Bracket(floor, last, float(GRID[i]), float(GRID[i + 1]))


def crossings(curve: Curve, state: float) -> NDArray[np.intp]:
    """Grid cells in which a curve passes a state."""
    above = curve.state >= state
    return np.flatnonzero(above[:-1] != above[1:])


def pin(walk: Walk, first: int, last: int, low: float, high: float, state: float) -> Trace:
    """The extremal through a state, with its parameter between two others."""
    from scipy.optimize import root_scalar

    def miss(t: float) -> float:
        return trace(walk, first, last, t).state - state

    at_low, at_high = miss(low), miss(high)
    if at_low * at_high >= 0:  # on the edge of a cell, or just past it by rounding
        return trace(walk, first, last, low if abs(at_low) < abs(at_high) else high)
    root = root_scalar(miss, bracket=(low, high), method="brentq", xtol=1e-15, rtol=1e-15).root
    return trace(walk, first, last, float(root))

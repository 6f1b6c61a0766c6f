"""The best continuation of one branch on one side, from a given state.

Source of the setting: Massny, Bitar, Ye, El Rouayheb, "Between Close Enough to Reveal and Far Enough to Protect",
Section IV; see :mod:`privopt.solvers.redaction._sweep` for the control problem that is solved here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privopt.problems.redaction.side import Reach, Walk
from privopt.solvers.redaction._sweep import GRID, Curve, Trace, curve_between, curves_from, trace

# In a repeating chain the cost as a function of the last partial record falls, then rises.
_PATIENCE = 6


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
        found = pin(walk, first, bracket.last, bracket.low, bracket.high, state)
        if spent + found.cost < best.cost:
            best = Plan(spent + found.cost, first, found.probabilities)
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
    """The extremal through a state, with its parameter between two given ones."""
    from scipy.optimize import root_scalar

    def miss(t: float) -> float:
        return trace(walk, first, last, t).state - state

    at_low, at_high = miss(low), miss(high)
    if at_low * at_high >= 0:  # on the edge of a cell, or just past it by rounding
        return trace(walk, first, last, low if abs(at_low) < abs(at_high) else high)
    found = root_scalar(miss, bracket=(low, high), method="brentq", xtol=1e-15, rtol=1e-15)
    return trace(walk, first, last, float(found.root))

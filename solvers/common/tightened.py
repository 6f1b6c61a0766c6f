"""A cap on an average over a set of distributions: the problem at its nominal one, with caps so small that the whole set keeps the first."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from privopt.core.problem import Problem
from privopt.core.solver import Budget, Proposal
from privopt.mechanisms import Mechanism
from privopt.solvers.common.repaired import repaired_in_time

ROUNDS = 12
"""Caps that are tried."""

READINGS = 8
"""Readings of the leakage over the set that a repair takes, about."""

NEAR = 1e-4
"""Relative distance of the leakage from the cap at which no other cap is tried, the leakage being below."""

FIRST = 0.75
"""Share of the time for the first cap, whose bound is that of the answer."""

NEXT = 0.3
"""Share of the time that is left then for each further cap."""

SLOWEST = 0.1
"""The next cap is at least this share of the one before."""


def tightened(
    problem: Problem[Any], nominal: Callable[[float, Budget], Proposal], budget: Budget
) -> Proposal:
    """The best answer of the nominal problem at smaller and smaller caps that keeps the cap over the whole set, and its bound at the cap itself.

    What keeps a cap over the whole set keeps it at the nominal distribution, so that a bound there bounds this problem. The
    next cap is the one at which the leakage over the set would meet the budget by a straight line through what is known. Where
    no answer keeps the budget, the last one is repaired.

    Parameters
    ----------
    problem : Problem
        Over a set, with a cap on an average.
    nominal : function (cap, Budget)
        Solves the problem at the nominal distribution.
    budget : Budget
    """
    first, caps = Proposal(), _Caps(problem.budget)
    best: Mechanism | None = None
    beyond: Mechanism | None = None
    reached, rounds = -math.inf, 0
    while caps.next is not None and rounds < ROUNDS and (budget.remaining > 0 or not rounds):
        rounds += 1
        share = NEXT if rounds > 1 else FIRST
        proposal = nominal(caps.next, budget.earlier(1 - share))
        first = first if rounds > 1 else proposal
        if proposal.mechanism is None:
            break
        reading = problem.evaluate(problem.check(proposal.mechanism))
        caps.take(reading.leakage, keeps=reading.feasible)
        if not reading.feasible:
            beyond = proposal.mechanism
        elif reading.objective > reached:
            best, reached = proposal.mechanism, reading.objective
            budget.report(reached, None if first.bound is None else first.bound, fraction=rounds / ROUNDS)
    if best is None and beyond is not None:
        best = repaired_in_time(problem, problem.check(beyond), budget, READINGS)
    stats = {**first.stats, "caps": rounds}
    return Proposal(best or problem.anchor(), first.bound, first.dual, stats=stats)


@dataclass
class _Caps:
    """Caps at the nominal distribution, and the leakage over the set of the answers to them."""

    budget: float
    next: float | None = None
    """None where the leakage of an answer is near enough to the budget, or no other cap is of use."""
    _below: tuple[float, float] = (0.0, 0.0)
    _above: list[tuple[float, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.next = self.budget

    def take(self, leakage: float, *, keeps: bool) -> None:
        """Remember the leakage of the answer to the last cap, and find the next one.

        Examples
        --------
        >>> caps = _Caps(1.0)
        >>> for leakage in (2.0, 1.5):  # the least leakage over the set is 1, or near
        ...     caps.take(leakage, keeps=False)
        >>> round(caps.next, 2)
        0.05
        """
        cap = self.next
        if cap is None:
            return
        if not 0 < leakage < math.inf:
            self.next = None
        elif not keeps:
            self._above.append((cap, leakage))
            self.next = self._between(self._aim)
        else:
            self._below = (cap, leakage)
            near = leakage >= (1 - NEAR) * self.budget
            self.next = None if near or not self._above else self._between(self._aim)

    @property
    def _aim(self) -> float:
        return (1 - NEAR / 2) * self.budget

    def _between(self, leakage: float) -> float:
        """The cap at a leakage by the line through the points on both sides, or through the last two where all leak more."""
        low, high = self._below, self._above[-1]
        if low == (0.0, 0.0) and len(self._above) > 1:
            low = self._above[-2]
        slope = (high[1] - low[1]) / (high[0] - low[0]) if high[0] != low[0] else 0.0
        found = high[0] + (leakage - high[1]) / slope if slope > 0 else 0.0
        return min(max(found, SLOWEST * high[0], self._below[0]), high[0])

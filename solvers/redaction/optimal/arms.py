"""Both branches of both sides, and as a first answer the best window: everything is released beyond two distances.

Source of the window: Massny, Bitar, Ye, El Rouayheb, "Between Close Enough to Reveal and Far Enough to Protect", Section
III. The two sides' leakages are added by direction, which is exact, where the paper adds their maxima.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.solvers.redaction.optimal.plans import Plan, best_plan, redact_all
from privopt.solvers.redaction.optimal.side import Reach, Walk, reach
from privopt.solvers.redaction.optimal.tables import Table


@dataclass(frozen=True, eq=False)
class Arm:
    """One branch of one side: label 0 of the walk is released early.

    Its first release spends ``leaks[0]`` of one direction; the budget left in the other is what it plans with.
    """

    walk: Walk
    known: Reach

    @cached_property
    def leaks(self) -> Floats:
        """See :attr:`Reach.leaks`."""
        return self.known.leaks

    def flipped(self) -> Arm:
        """The other branch of the side."""
        return Arm(self.walk.flipped(), self.known.flipped())

    def first(self, budget: float | Floats) -> NDArray[np.intp]:
        """Smallest distance at which the early label may be released within each budget."""
        return np.searchsorted(-self.leaks[0], -np.asarray(budget)) + 1

    @property
    def count(self) -> int:
        """Number of distances known."""
        return len(self.known.determinants)

    def plan(self, first: int, budget: float, limit: float = np.inf) -> Plan:
        """The best plan with a first release at a distance and a budget in the other direction."""
        return best_plan(self.walk, self.known, first, float(self.known.start(first, budget)), limit)

    def cost(self, table: Table, first: int, budgets: Floats) -> Floats:
        """The same cost from a table, for several budgets."""
        states = self.known.start(first, budgets)
        return float(self.known.spent[first - 1]) + table.value(table.place(self.walk, first), states)

    def jumps(self, table: Table, first: int) -> Floats:
        """Budgets that just suffice for a state at which the cost may jump."""
        return self.known.budget(first, table.jumps[table.place(self.walk, first)] * (1 - 3e-12))


@dataclass(frozen=True)
class Answer:
    """A plan for each side, with the branch of each."""

    left: Plan
    right: Plan
    branches: tuple[int, int] = (0, 0)

    @property
    def cost(self) -> float:
        """Expected weighted redactions on both sides."""
        return self.left.cost + self.right.cost

    @property
    def form(self) -> str:
        """``"window"``, ``"one side"`` (only one is partly redacted), ``"same label"`` or ``"different labels"``."""
        partial = bool(self.left.probabilities) + bool(self.right.probabilities)
        if partial < 2:
            return ("window", "one side")[partial]
        return "same label" if self.branches[0] == self.branches[1] else "different labels"


def prepare(walks: tuple[Walk, Walk], epsilon: float) -> tuple[tuple[Arm, Arm], Answer]:
    """Arms that reach so far that a first release beyond costs more than the best window, and that window."""
    count = 64
    while True:
        known = (reach(walks[0], count), reach(walks[1], count))
        window = best_window(walks, known, epsilon)
        pairs = zip(walks, known, strict=True)
        if all(len(near.cross) == walk.length or near.spent[-1] >= window.cost for walk, near in pairs):
            return (Arm(walks[0], known[0]), Arm(walks[1], known[1])), window
        count *= 2


def best_window(walks: tuple[Walk, Walk], known: tuple[Reach, Reach], epsilon: float) -> Answer:
    """The cheapest window among the distances known; a distance one past the end redacts the whole side."""
    left, right = known
    whole = len(left.cross) == walks[0].length
    with np.errstate(
        invalid="ignore"
    ):  # of a budget without limit nothing is said where the leakage has none
        rest = epsilon - np.concatenate((left.leaks, np.full((2, 1), 0.0 if whole else np.inf)), axis=1)
    firsts = np.maximum(*(np.searchsorted(-right.leaks[v], -rest[v]) for v in (0, 1)))
    cost = left.spent + right.spent[firsts]
    impossible = ~(rest.min(axis=0) >= 0)
    if len(right.cross) < walks[1].length:
        impossible |= firsts == len(right.cross)
    cost = np.where(impossible, np.inf, cost)
    at = int(np.argmin(cost))
    if not np.isfinite(cost[at]):
        return Answer(redact_all(walks[0]), redact_all(walks[1]))
    first = int(firsts[at])
    return Answer(Plan(float(left.spent[at]), at + 1), Plan(float(right.spent[first]), first + 1))

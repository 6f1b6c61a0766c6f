"""Both branches of both sides, and the best window as a first answer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.problems.redaction.side import Reach, Walk
from privopt.problems.redaction.window import look_far
from privopt.solvers.redaction._one_side import Plan, best_plan, redact_all
from privopt.solvers.redaction._tables import Table


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
    """Arms that reach far enough, and the best window."""
    known, window = look_far(walks, epsilon)
    firsts = (window.left, window.right)
    plans = [Plan(float(near.spent[first - 1]), first) for near, first in zip(known, firsts, strict=True)]
    if max(first - 1 - len(near.cross) for near, first in zip(known, firsts, strict=True)) > 0:
        plans = [redact_all(walk) for walk in walks]
    return (Arm(walks[0], known[0]), Arm(walks[1], known[1])), Answer(plans[0], plans[1])

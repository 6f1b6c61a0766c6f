"""Supports solved, and remembered, by the joint search."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field

import numpy as np

from privopt.arrays import Floats
from privopt.problems.redaction.problem import Redaction
from privopt.solvers.redaction._joint import HIDDEN, Sights, Support
from privopt.solvers.redaction._supports import LEAST, Local


@dataclass(frozen=True, eq=False)
class Point:
    """A support with its redaction table and the expected weight hidden."""

    cost: float
    support: Support
    table: Floats


@dataclass
class Programme:
    """Supports to probabilities; remembers what it has solved."""

    problem: Redaction
    solved: dict[bytes, Point | None] = field(default_factory=dict)
    runs: int = 0

    def __post_init__(self) -> None:
        law = self.problem.chain.marginals(self.problem.length)
        self.weights = law * self.problem.record_weights[:, None]
        self.sights = Sights(self.problem)

    def floor(self, support: Support) -> float:
        """What the support hides for sure."""
        return float(self.weights[support == HIDDEN].sum())

    def solve(self, support: Support, near: Floats, worth: float = math.inf) -> Point | None:
        """A local optimum of a support from a start; None if it is never private or cannot cost less than ``worth``."""
        support = self.sights.tidy(support)
        key = hashlib.blake2b(support.tobytes()).digest()
        if key not in self.solved:
            if self.floor(support) >= worth:
                return None
            self.solved[key] = self._solve(Local(self.sights, self.weights, support), near)
        return self.solved[key]

    def _solve(self, local: Local, near: Floats) -> Point | None:
        # Raising probabilities never leaks more, so the support is private somewhere iff it is next to 1.
        if local.excess(np.ones(local.size)) > 0:
            return None
        values = np.ones(0)
        if local.size:
            self.runs += 1
            values = local.raised(local.descend(np.clip(near[local.where], LEAST, 0.95)))
        table = local.table(values)
        return Point(float((self.weights * table).sum()), local.support, table)

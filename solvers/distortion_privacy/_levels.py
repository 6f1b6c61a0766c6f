"""The least level of a bound on ratios at which the distortion can be met: a search with one programme a level."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from privopt.arrays import Floats
from privopt.core.solver import Budget, Proposal
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.distortion_privacy._exact_release import independent_release
from privopt.solvers.distortion_privacy._linear import Found
from privopt.solvers.distortion_privacy._space import ANALYTIC, Space

Programme: TypeAlias = Callable[[LocalInformationPrivacy], Found]

WIDTH = 1e-8
"""Width of the bracket, relative to the level, at which the search stops."""

FINEST = 1e-13
"""Width at which it stops for any level: programmes in floats do not tell more."""

BELOW = (1e-9, 1e-8, 1e-7, 3e-7, 6e-7, 1e-6, 1e-5)
"""How far below the lower end a level is proved, relative to it, where rounding hides the proof there."""

HIGHEST = 64.0
"""Levels above this are not searched: a lift of e^64 is as good as none."""

MARGIN = 1e-11
"""A programme's value counts as within the room up to this, relative to max(1, room)."""


@dataclass
class _Search:
    """The bracket: a level proved too low with its multipliers, and a channel that is close enough."""

    space: Space
    solve: Programme
    low: float = -1.0
    high: float = math.inf
    below: float = math.inf
    above: float = 0.0
    proved: float = -1.0
    dual: dict[str, object] = field(default_factory=dict)
    claims: list[dict[str, object]] = field(default_factory=list)
    matrix: Floats | None = None
    programmes: int = 0
    iterations: int = 0

    def at(self, level: float) -> bool:
        """Solve at a level and move the bracket; whether the level is enough."""
        found = self.solve(self.space.problem.ratios(level))
        self.programmes, self.iterations = self.programmes + 1, self.iterations + found.iterations
        over = found.cost - self.space.room
        if over <= MARGIN * max(1.0, self.space.room):
            reached = self.space.leakage(found.matrix / found.matrix.sum(axis=1, keepdims=True))
            self.high, self.above, self.matrix = min(level, max(reached, self.low)), over, found.matrix
            return True
        self.low, self.below = max(level, self.low), over
        self.claims.append({"kind": "level", "level": level, "multipliers": found.multipliers.tolist()})
        return False

    def prove(self) -> None:
        """Prove the highest level; where rounding hides the proof at the lower end, one a little below."""
        self._check()
        for width in BELOW:
            level = self.low * (1.0 - width)
            if self.proved < level:
                self.at(level)
                self._check()

    def _check(self) -> None:
        """Keep the highest level that is proved by its multipliers."""
        for dual in sorted(self.claims, key=_level, reverse=True):
            if _level(dual) <= self.proved:
                break
            if self.space.problem.check_bound(-math.inf, dual) is not None:
                self.proved, self.dual = _level(dual), dual
        self.claims.clear()

    def next(self) -> float:
        """Where the chord between the ends meets the room, kept off the ends; every third time the middle."""
        middle = (self.low + self.high) / 2
        if self.programmes % 3 == 0 or self.below == math.inf:
            return middle
        chord = self.low + (self.high - self.low) * self.below / max(self.below - self.above, 1e-300)
        step = 0.02 * (self.high - self.low)
        return min(max(chord, self.low + step), self.high - step)


def least_level(space: Space, solve: Programme, budget: Budget) -> Proposal:
    """Propose the channel at the least level found, with the proof that a level just below is too low."""
    search = _Search(space, solve)
    if search.at(0.0) and search.matrix is not None:
        exact = independent_release(space, search.matrix)
        release = space.release(search.matrix) if exact is None else exact
        return Proposal(release, 0.0, ANALYTIC, stats=_stats(search, "nothing needs to leak"))
    level = 0.5
    while level <= HIGHEST and not search.at(level):
        level *= 2
    if search.matrix is None:
        stats = _stats(search, "no finite level is enough")
        return Proposal(space.problem.reproduction(), stats=stats)
    stop = "the bracket is narrow"
    while search.high - search.low > max(FINEST, WIDTH * search.high):
        if budget.remaining <= 0:
            stop = "out of time"
            break
        search.at(search.next())
    search.prove()
    release = space.release(search.matrix)
    if not search.dual or space.problem.evaluate(release).leakage == math.inf:
        return Proposal(release, stats=_stats(search, stop))
    return Proposal(release, -search.proved, search.dual, stats=_stats(search, stop))


def _level(dual: dict[str, object]) -> float:
    level = dual["level"]
    return level if isinstance(level, float) else math.nan


def _stats(search: _Search, stop: str) -> dict[str, float | int | str]:
    return {"iterations": search.iterations, "programmes": search.programmes, "stop": stop}

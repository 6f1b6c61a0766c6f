"""Linear programming by HiGHS where the leakage is linear: maximal leakage, bounds on ratios, no leakage at all."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import OUT_OF_TIME, Budget, Guarantee, Proposal, Solver
from privopt.problems.distortion_privacy.problem import DistortionPrivacy
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.distortion_privacy._bound import better_bound
from privopt.solvers.distortion_privacy._programs import Optimum, OutOfTime, least_distortion, least_guess
from privopt.solvers.distortion_privacy._silent import independent_release, silent_release
from privopt.solvers.distortion_privacy._space import ANALYTIC, Space, at_once

USUAL, NARROW, WIDE, FALLING = 0.3, 0.03, 2.0, 0.8
"""At a bound of so many nats a program takes what :meth:`DirectLp.cost` says of its size; elsewhere this power of their ratio, between the next two."""

LOOSE, GUESS_LOOSE, PAIRS_LOOSE = 0.45, 0.2, 0.7
"""Within bounds of so many nats few cells of each row take part: on lifts, on maximal leakage, and on ratios between all pairs."""

AT_ONCE, LEAST = 0.55, 0.1
"""The share of a program that its few cells take there; it falls with the square of the bound to the next one."""

HALF = 0.5
"""Share of the time that is left from which on a program may not end in it."""

MOST_ENTRIES = 2e6
"""Programs with more entries are refused: writing them down alone takes seconds and hundreds of megabytes."""

WIDTH = 1e-8
"""Width of the bracket, relative to the level, at which the search for a level stops."""

FINEST = 1e-13
"""Width at which it stops for any level: programs in floats do not tell more."""

BELOW = (1e-9, 1e-8, 1e-7, 3e-7, 6e-7, 1e-6, 1e-5)
"""How far below the lower end a level is proved, relative to it, where rounding hides the proof there."""

HIGHEST = 64.0
"""Levels above this are not searched: a lift of e^64 is as good as none."""

INSIDE = 2.0**-40
"""Share of a bound on maximal leakage that the program leaves free: what rounding to integer weights adds needs no repair."""

MARGIN = 1e-11
"""A program's value counts as within the room up to this, relative to max(1, room)."""


Program: TypeAlias = Callable[[LocalInformationPrivacy], Optimum]
"""The least distortion within bounds on ratios."""


# the least level of a bound on ratios at which the distortion can be met: a search with one program a level


@dataclass
class _Search:
    """The bracket: a level proved too low with its multipliers, and a channel that is close enough."""

    space: Space
    solve: Program
    low: float = -1.0
    high: float = math.inf
    below: float = math.inf
    above: float = 0.0
    proved: float = -1.0
    dual: dict[str, object] = field(default_factory=dict)
    claims: list[tuple[float, dict[str, object]]] = field(default_factory=list)
    matrix: Floats | None = None
    programs: int = 0
    iterations: int = 0

    def at(self, level: float) -> bool:
        """Solve at a level and move the bracket; whether the level is enough."""
        best = self.solve(self.space.problem.ratios(level))
        self.programs, self.iterations = self.programs + 1, self.iterations + best.iterations
        over = best.cost - self.space.room
        if over <= MARGIN * max(1.0, self.space.room):
            reached = self.space.leakage(best.matrix / best.matrix.sum(axis=1, keepdims=True))
            self.high, self.above, self.matrix = min(level, max(reached, self.low)), over, best.matrix
            return True
        self.low, self.below = max(level, self.low), over
        dual = {"kind": "level", "level": level, "multipliers": best.multipliers.tolist()}
        self.claims.append((level, dual))
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
        for level, dual in sorted(self.claims, key=lambda claim: claim[0], reverse=True):
            if level > self.proved and self.space.problem.check_bound(-math.inf, dual) is not None:
                self.proved, self.dual = level, dual
        self.claims.clear()

    def next(self) -> float:
        """Where the chord between the ends meets the room, kept off the ends; every third time the middle."""
        middle = (self.low + self.high) / 2
        if self.programs % 3 == 0 or self.below == math.inf:
            return middle
        chord = self.low + (self.high - self.low) * self.below / max(self.below - self.above, 1e-300)
        step = 0.02 * (self.high - self.low)
        return min(max(chord, self.low + step), self.high - step)

    def stats(self, stop: str) -> dict[str, float | int | str]:
        """What to report of it."""
        return {"iterations": self.iterations, "programs": self.programs, "stop": stop}


def least_level(space: Space, solve: Program, budget: Budget) -> Proposal:
    """Propose the channel at the least level, with the proof that a level just below is too low."""
    if (silent := silent_release(space, budget)) is not None:
        return silent
    search = _Search(space, solve)
    if search.at(0.0) and search.matrix is not None:
        exact = independent_release(space, search.matrix)
        release = space.release(search.matrix) if exact is None else exact
        return Proposal(release, 0.0, ANALYTIC, stats=search.stats("nothing needs to leak"))
    level = 0.5
    while level <= HIGHEST and not search.at(level):
        level *= 2
    if search.matrix is None:
        return Proposal(space.problem.reproduction(), stats=search.stats("no finite level is enough"))
    stop = "the bracket is narrow"
    while search.high - search.low > max(FINEST, WIDTH * search.high):
        if budget.remaining <= 0:
            stop = "out of time"
            break
        search.at(search.next())
    search.prove()
    release = space.release(search.matrix)
    if not search.dual or space.problem.evaluate(release).leakage == math.inf:
        return Proposal(release, stats=search.stats(stop))
    return Proposal(release, -search.proved, search.dual, stats=search.stats(stop))


# the solver


@register
@dataclass(frozen=True)
class DirectLp(Solver[DistortionPrivacy]):
    """One linear program, or for the least level of ratios a search with one a level; proofs are its multipliers.

    Where nothing may leak, whatever the measure, the optimal vertex is solved again in rational numbers.
    """

    solves: ClassVar = DistortionPrivacy
    name: ClassVar[str] = "direct-lp"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.OPTIMAL
    """Optimal, to the tolerance of the program."""

    def cost(self, problem: DistortionPrivacy) -> float:
        """A program with a row for each ratio and release, the quicker the wider the bound; about fifteen for a least level.

        Least maximal leakage is one program that takes several times as long.
        """
        observations, outputs = len(problem.observation.p_w), int(problem.matrix.shape[1])
        rows = self._rows(problem) + observations
        program = 2e-8 * rows * observations * outputs
        if problem.max_leakage is not None:
            bound = min(max(problem.max_leakage, NARROW), WIDE)
            loose = _loose(problem)
            share = max(LEAST, AT_ONCE * (loose / bound) ** 2) if bound >= loose else 1.0
            return float(5e-3 + share * program * (USUAL / bound) ** FALLING)
        return float(5e-3 + 7 * program if problem.order is not None else 15 * (5e-3 + program))

    def refuse(self, problem: DistortionPrivacy) -> str | None:
        """Refuse measures that are not linear, and programs that are too large."""
        if problem.order not in (None, math.inf) and problem.max_leakage != 0:
            return f"{problem.leakage!r} is not linear in the channel; conic-clarabel takes it"
        entries = self._rows(problem) * len(problem.observation.p_w)
        if entries > MOST_ENTRIES:
            return f"its program has about {entries:.2g} entries, at most {MOST_ENTRIES:.2g}; interior-point takes larger ones"
        return None

    def _few(self, problem: DistortionPrivacy, budget: Budget) -> bool:
        """Whether to begin with few cells: within a wide bound they are nearly all, or the whole program may not end in time."""
        if not problem.max_leakage:
            return False
        return problem.max_leakage >= _loose(problem) or self.cost(problem) > HALF * budget.remaining

    @staticmethod
    def _rows(problem: DistortionPrivacy) -> int:
        """Rows of ratios, or of largest probabilities."""
        secrets, outputs = len(problem.observation.p_s), int(problem.matrix.shape[1])
        pairs = secrets * (secrets - 1) if problem.leakage == "ldp" else 2 * secrets
        return int(outputs * (secrets if problem.order is not None else pairs))

    def run(self, problem: DistortionPrivacy, budget: Budget) -> Proposal:
        """Propose the program's channel and the bound from its multipliers."""
        known = at_once(problem)
        if known is not None:
            return known
        space = Space(problem)
        try:
            few = self._few(problem, budget)
            if problem.order is not None and problem.max_leakage != 0:
                return silent_release(space, budget) or _guess(space, budget, few)
            if problem.max_leakage is None:
                return least_level(space, lambda ratios: least_distortion(space, ratios, budget), budget)
            return _ratios(space, budget, few)
        except OutOfTime as cause:
            stats: dict[str, float | int | str] = {"iterations": 0, "stop": f"out of time: {cause}"}
            return Proposal(problem.anchor(), stats=stats)


def _loose(problem: DistortionPrivacy) -> float:
    """From which bound on a program begins with few cells."""
    if problem.order is not None:
        return GUESS_LOOSE
    return PAIRS_LOOSE if problem.leakage == "ldp" else LOOSE


def _ratios(space: Space, budget: Budget, few: bool) -> Proposal:
    """The least distortion within a bound on ratios; exact where the bound is 0."""
    problem = space.problem
    best = least_distortion(space, problem.ratios(problem.budget), budget, few=few)
    exact = independent_release(space, best.matrix) if problem.budget == 0 else None
    release = space.release(best.matrix) if exact is None else exact
    dual = {"kind": "linear", "multipliers": best.multipliers.tolist()}
    bound = problem.check_bound(-math.inf, dual)
    return Proposal(release, bound, dual, stats={"iterations": best.iterations, "stop": _stop(best)})


def _guess(space: Space, budget: Budget, few: bool) -> Proposal:
    """Maximal leakage, either way."""
    most = min(700.0, space.problem.budget * (1.0 - INSIDE))
    limit = None if space.problem.max_leakage is None else math.exp(most)
    best = least_guess(space, limit, budget, few=few)
    posteriors = best.multipliers + 1e-300 * space.prior
    bound, dual = better_bound(space, posteriors, best.matrix)
    stats: dict[str, float | int | str] = {"iterations": best.iterations, "stop": _stop(best)}
    return Proposal(space.release(best.matrix), bound, dual, stats=stats)


def _stop(best: Optimum) -> str:
    return "solved" if best.whole else f"{OUT_OF_TIME}: not all cells were looked at"

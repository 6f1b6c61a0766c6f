"""Choosing a budget: the trade-off over a grid of budgets, and the least one that reaches a wished utility."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from privopt.core.compare import Frontier, better_of
from privopt.core.dispatch import solve_from
from privopt.core.solution import Solution, Status
from privopt.errors import InvalidProblem, NotSolved
from privopt.measures.shannon import entropy
from privopt.mechanisms import Merging
from privopt.models import JointAmbiguity, JointDistribution
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.publication.words import plain, share

Progress: TypeAlias = Callable[[float, str], None]

GRID = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
"""Budgets that are solved to show the trade-off; less than the first of them is rarely wished for."""

LARGEST = 10.0
"""A budget beyond which nothing worth the name is protected."""

TURNS = 8
"""A search for a budget gives this part of the time to each of its steps."""

OTHERS = 0.3
"""Share of the time that is kept for the budgets beside the chosen one."""

SHORTEST = 24
"""Another budget is solved for this part of the time at least."""

SPARE = 2.0**-40
"""Part of a budget that a repaired answer leaves free."""

PRECISION = 0.01
"""The least budget is told to this part of itself."""

REACHED = 1e-9
"""A share that falls short by so much is reached: it is rounding."""


@dataclass(frozen=True)
class Wish:
    """What a release is wished to be: for a budget, or for a part of what the columns say.

    Parameters
    ----------
    epsilon, min_utility : float or None
        One of the two.
    time_limit : float
        Seconds.
    contiguous : bool
        Messages hold neighbouring values of ordered columns, and nodes of hierarchies, only.
    confidence : float or None
        How often the set of distributions that the rows allow, for every one of which the budget is kept, holds the population's; None
        for the very distribution of the rows.
    """

    epsilon: float | None
    min_utility: float | None
    time_limit: float
    contiguous: bool = False
    confidence: float | None = None


@dataclass(frozen=True)
class Choice:
    """The problem with the chosen budget, its solution, and the trade-off around it."""

    problem: LocalInformationPrivacy
    solution: Solution[Any]
    frontier: Frontier[Any]


def told_share(solution: Solution[Any], joint: JointDistribution) -> float:
    """The part of what there is to say about the released columns that a solution says; 0 where there is no answer."""
    return 0.0 if solution.utility is None else max(0.0, solution.utility) / entropy(joint.p_x)


def check(wish: Wish) -> None:
    """Refuse two wishes, none, or one that makes no sense.

    Raises
    ------
    InvalidProblem
        With what to give.
    """
    epsilon, min_utility = wish.epsilon, wish.min_utility
    if (epsilon is None) == (min_utility is None):
        which = "neither" if epsilon is None else "both"
        raise InvalidProblem(
            f"{which} of epsilon and min_utility were given: give epsilon, the most that a release may leak, or min_utility, the part of "
            "what the columns say that it must keep; the other one follows"
        )
    for name, value in (("epsilon", epsilon), ("min_utility", min_utility)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float, np.number))):
            raise InvalidProblem(f"{name} is a {type(value).__name__}: give a number")
    if epsilon is not None and not 0 <= epsilon < math.inf:
        raise InvalidProblem(f"epsilon is {epsilon}: give a finite number of at least 0, such as 0.3")
    if min_utility is not None and not 0 < min_utility <= 1:
        raise InvalidProblem(
            f"min_utility is {min_utility}: give a part of what the columns say, more than 0 and at most 1, such as 0.8 for 80 %"
        )
    if wish.confidence is not None and not 0 < wish.confidence < 1:
        raise InvalidProblem(
            f"confidence is {wish.confidence}: give a number between 0 and 1, such as 0.95; left out, the release is proved for people who "
            "are spread exactly as in this table"
        )
    if wish.confidence is not None and wish.contiguous:
        raise InvalidProblem(
            "messages of neighbouring values only cannot be proved for a set of distributions yet: leave confidence out, or "
            "contiguous (order and hierarchies ask for it unless it is False; on the command line --any)"
        )
    if not 0 < wish.time_limit < math.inf:
        raise InvalidProblem(f"time_limit is {wish.time_limit}: give seconds, more than 0")


def at_budget(joint: JointDistribution, wish: Wish, epsilon: float, progress: Progress) -> Choice:
    """The best release for a budget, within the trade-off around it."""
    search, time_limit = _Search(joint, wish, progress), wish.time_limit
    search.solve(epsilon, time_limit / 3)
    if (
        search.points[epsilon].status is not Status.OPTIMAL and not wish.contiguous
    ):  # goes on from the first answer
        search.solve(epsilon, max(0.0, search.left - OTHERS * time_limit))
    search.fill(epsilon)
    return search.choice(epsilon)


def for_utility(joint: JointDistribution, wish: Wish, part: float, progress: Progress) -> Choice:
    """The release with the least budget that keeps a part of what the columns say.

    Raises
    ------
    NotSolved
        If no budget that protects anything was seen to.
    """
    search, time_limit = _Search(joint, wish, progress), wish.time_limit
    turn = time_limit / TURNS
    grid = [*search.grid] if search.grid[-1] < LARGEST else [*search.grid[:-1], LARGEST]
    low, high = -1, len(grid)
    while high - low > 1:
        middle = (low + high) // 2
        if search.solve(grid[middle], turn) >= part - REACHED:
            high = middle
        else:
            low = middle
    if high == len(grid):
        high -= 1
        most = search.solve(grid[high], max(turn, search.left))
        if most < part - REACHED:
            raise NotSolved(
                f"a release that keeps {share(part)} of what the columns say was not reached: at epsilon {plain(grid[high])} it was "
                f"{share(most)}. Give a smaller min_utility, coarser bins, or more time_limit"
            )
    least, short = grid[high], grid[low] if low >= 0 else grid[high]
    while least - short > PRECISION * least and search.left > 0.25 * time_limit:
        between = _three_digits(0.5 * (least + short))
        if not short < between < least:
            break
        if search.solve(between, turn) >= part - REACHED:
            least = between
        else:
            short = between
    search.fill(least)
    return search.choice(least)


@dataclass
class _Search:
    """Budgets that were solved so far, and the time that is left."""

    joint: JointDistribution
    wish: Wish
    progress: Progress
    points: dict[float, Solution[Any]] = field(default_factory=dict)
    begun: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.seconds = self.wish.time_limit
        sure = self.wish.confidence
        model = self.joint if sure is None else JointAmbiguity.from_joint(self.joint, sure)
        self.problem = LocalInformationPrivacy(model, GRID[0], contiguous=self.wish.contiguous)
        everything = self.problem.evaluate(Merging([[symbol] for symbol in self.joint.useful])).leakage
        ends = [_three_digits(everything)] if everything <= LARGEST else [LARGEST]
        self.grid = [*(b for b in GRID if b < everything), *ends]

    @property
    def left(self) -> float:
        """Seconds."""
        return self.seconds - (time.monotonic() - self.begun)

    def solve(self, budget: float, seconds: float) -> float:
        """Solve for a budget, from the best answer to its neighbours; the part of what there is to say that is proved to be kept."""
        self._tell(f"epsilon {plain(budget)}")
        start = self._start(budget)
        self.points[budget] = solve_from(
            self.problem.with_budget(budget),
            start,
            time_limit=seconds,
            certify=True,
            seed=0,
            progress=lambda fraction, message: self._tell(f"epsilon {plain(budget)}: {message}"),
        )
        return told_share(self.points[budget], self.joint) if self.points[budget].certified else 0.0

    def _start(self, budget: float) -> Solution[Any] | None:
        """The answer to the next smaller budget, or that to the next larger one, repaired, where it says more."""
        smaller, larger = (
            [b for b in self.points if b <= budget],
            [b for b in self.points if b > budget],
        )
        start = self.points[max(smaller)] if smaller else None
        above = self.points[min(larger)] if larger else None
        if above is None or above.answer is None:
            return start
        problem = self.problem.with_budget(budget)
        repaired = problem.repair(above.answer, SPARE)
        if start is None or problem.evaluate(repaired).utility > (start.utility or 0.0):
            return replace(above, answer=repaired)
        return start

    def _tell(self, message: str) -> None:
        self.progress(min(0.95, 1.0 - self.left / self.seconds), message)

    def fill(self, chosen: float) -> None:
        """Solve other budgets of the grid, as many as get a turn in the time left; the chosen one again if a smaller one did better.

        Where some must be left out, those that are solved are spread over the grid; the nearest to the chosen one come first.
        """
        others = sorted(set(self.grid[:-1] if self.grid[-1] == LARGEST else self.grid) - set(self.points))
        turns = max(self.left, 0.0) / (self.seconds / SHORTEST)
        others = spread(others, int(turns))
        others.sort(key=lambda budget: abs(math.log(budget / max(chosen, GRID[0]))))
        for i, budget in enumerate(others):
            if self.left < 0.5 * self.seconds / SHORTEST:
                break
            self.solve(budget, self.left / (len(others) - i))
        best = max(
            (s.utility or 0.0 for b, s in self.points.items() if b <= chosen and s.certified), default=0.0
        )
        if best > (self.points[chosen].utility or 0.0):
            self.solve(chosen, max(self.left, self.seconds / TURNS))

    def choice(self, budget: float) -> Choice:
        """The answer to a budget.

        Raises
        ------
        NotSolved
            If it is not proved.
        """
        grid = tuple(sorted(self.points))
        for less, more in pairwise(grid):
            at = self.problem.with_budget(more)
            self.points[more] = better_of(at, self.points[less], self.points[more], certify=True)
        solution = self.points[budget]
        if not solution.certified:
            raise NotSolved(
                f"no release was proved within the time: {solution.reason or solution.status.value}; give more time_limit, fewer "
                "columns, or coarser bins"
            )
        curve = Frontier(self.problem, grid, tuple(self.points[b] for b in grid))
        return Choice(self.problem.with_budget(budget), solution, curve)


def spread(budgets: Sequence[float], most: int) -> list[float]:
    """At most so many of some budgets, spread evenly from the first to the last.

    Examples
    --------
    >>> spread([0.1, 0.2, 0.3, 0.5, 1.0], 3), spread([0.1, 0.2], 5), spread([0.1, 0.2], 1), spread([0.1], 0)
    ([0.1, 0.3, 1.0], [0.1, 0.2], [0.2], [])
    """
    if most >= len(budgets):
        return list(budgets)
    if most < 2:
        return list(budgets[-1:]) if most == 1 else []
    return [budgets[round(i * (len(budgets) - 1) / (most - 1))] for i in range(most)]


def _three_digits(value: float) -> float:
    """The next number of three digits that is not smaller.

    Examples
    --------
    >>> _three_digits(0.12345), _three_digits(0.5)
    (0.124, 0.5)
    """
    if value <= 0:
        return 0.0
    digits = 2 - math.floor(math.log10(value))
    rounded = round(value, digits)
    return rounded if rounded >= value else round(rounded + 10.0**-digits, digits)

"""The best of all mergings of a small alphabet: every partition is tried, or shown to be no better."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.problem import Enclosure
from privopt.problems.exact_joint import ExactJoint, enclose, information_enclosure
from privopt.problems.set_partitions import OutOfTime, least_weights, lightest_partition, submasks
from privopt.problems.trade_off.data import TradeOffData
from privopt.problems.trade_off.information import entropy_enclosure, exact_table
from privopt.problems.trade_off.partition_costs import BlockCosts, block_costs, goal_of
from privopt.problems.trade_off.partition_search import MAX_SYMBOLS, MOST_NEAR, Search

MAX_WEIGHED = 18
"""Observations of positive probability up to which a weighed objective is minimised."""

MAX_BOUNDED = MAX_SYMBOLS
"""The same under a floor or a cap."""

FINE = 1e-9
"""Errors of floats up to this share of the problem's scale are left in the bound; others are removed, which takes longer."""


@dataclass(frozen=True, eq=False)
class Best:
    """A best partition.

    Parameters
    ----------
    assignment : int array (n_w,)
        Block of each observation; those of probability 0 join the most probable block.
    objective : float
        Of the problem, in nats: the upper end of what is proved of this partition.
    bound : (lo, hi)
        No partition that keeps the floor or the cap is better than hi, and this one reaches lo.
    branches : int
        Partial partitions that were looked at.
    """

    assignment: Ints
    objective: float
    bound: Enclosure
    branches: int = 0


def limit_of(problem: TradeOffData) -> int:
    """How many observations of positive probability :func:`best_partition` takes."""
    return MAX_BOUNDED if problem.is_floor or problem.is_cap else MAX_WEIGHED


def proved_best(problem: TradeOffData, seconds: float) -> Enclosure | None:
    """Floats around the best objective of all partitions; None if time runs out.

    Where the same problem has just been searched for an answer, that is not done again: once, so that who verifies later searches anew.
    """
    best: Best | None = problem.searched.pop() if problem.searched else best_partition(problem, seconds)
    problem.searched.clear()
    return None if best is None else best.bound


def best_partition(problem: TradeOffData, seconds: float) -> Best | None:
    """The best merging of all, or None if there are too many symbols, none is feasible, or time runs out.

    A weighed objective is a sum over blocks, and dynamic programming over subsets finds its optimum (3^n / 6 sums).
    Under a floor or a cap partitions are enumerated block by block, cutting branches by Lagrangian bounds. Both
    use floats whose errors are bounded; partitions that floats cannot tell apart from the best, or from the floor
    or the cap, are compared in balls from integer weights.

    Parameters
    ----------
    problem : TradeOffData
        At most 18 observations of positive probability with ``trade_off``, else at most 16.
    seconds : float
        Time allowed.

    Examples
    --------
    >>> from privopt.models import JointDistribution
    >>> from privopt.problems.privacy_funnel.problem import PrivacyFunnel
    >>> joint = JointDistribution.normalised([[5, 2, 1, 3], [1, 3, 4, 2]])
    >>> best = best_partition(PrivacyFunnel(joint, theta_fraction=0.6), 10.0)
    >>> best.assignment.tolist(), round(best.objective, 6)
    ([0, 2, 0, 1], -0.010622)
    """
    deadline = time.monotonic() + seconds
    if len(problem.observation.support) > limit_of(problem):
        return None
    exact = Exact(problem, block_costs(problem))
    search = _bounded if problem.is_floor or problem.is_cap else _weighed
    try:
        found = search(exact, deadline)
    except OutOfTime:
        return None
    if found is not None:
        problem.searched[:] = [found]
    return found


@dataclass(frozen=True, eq=False)
class Exact:
    """Partitions of a problem's observations in exact arithmetic; numbers are those of the sorted symbols."""

    problem: TradeOffData
    costs: BlockCosts

    def informations(self, numbers: list[int]) -> tuple[Enclosure, Enclosure]:
        """Floats around I(S;Y) and I(X;Y), as near as floats can be."""
        observed = self.problem.observation
        secret = information_enclosure(self._merged(exact_table(observed.leaking), numbers))
        if observed.useful is not None:
            return secret, information_enclosure(self._merged(exact_table(observed.useful), numbers))
        weights, masses = observed.weights, [0] * (max(numbers) + 1)
        for symbol, block in zip(self.costs.symbols.tolist(), numbers, strict=True):
            masses[block] += weights[symbol]
        return secret, entropy_enclosure(masses)

    def _merged(self, table: ExactJoint, numbers: list[int]) -> ExactJoint:
        rows = []
        for row in table.cells:
            merged = [0] * (max(numbers) + 1)
            for symbol, block in zip(self.costs.symbols.tolist(), numbers, strict=True):
                merged[block] += row[symbol]
            rows.append(tuple(merged))
        return ExactJoint(tuple(rows), table.total)

    def keeps(self, numbers: list[int]) -> bool:
        """Whether a partition keeps the floor or the cap, or that cannot be excluded.

        An information of rational probabilities is 0 or, by Baker's theorem, no rational: unless it is a float itself,
        it lies strictly between the floats around it.
        """
        secret, useful = self.informations(numbers)
        (utility, leakage), (most_utility, most_leakage) = (
            self.problem.split(secret[end], useful[end]) for end in (0, 1)
        )
        if self.problem.is_floor:
            return most_utility > self.problem.floor or utility >= self.problem.floor
        return leakage < self.problem.cap or most_leakage <= self.problem.cap

    def objective(self, numbers: list[int]) -> Enclosure:
        """Floats around the objective."""
        secret, useful = self.informations(numbers)
        ends = [self.problem.split(secret[end], useful[end]) for end in (0, 1)]
        (utility, leakage), (most_utility, most_leakage) = ends
        if self.problem.is_floor:
            return 0.0 - most_leakage, 0.0 - leakage
        if self.problem.is_cap:
            return utility, most_utility
        low = exact_objective(self.problem, utility, most_leakage)
        return enclose(low)[0], enclose(exact_objective(self.problem, most_utility, leakage))[1]

    def scale(self, numbers: list[int]) -> float:
        """What errors are compared with."""
        secret, useful = self.informations(numbers)
        return self.problem.magnitude(*self.problem.split(secret[0], useful[0]))

    def best(self, candidates: list[list[int]], missed: float, branches: int) -> Best:
        """The best of some partitions; what is not among them is better than the first by at most ``missed``."""
        values = [self.objective(numbers) for numbers in candidates]
        first = max(range(len(candidates)), key=lambda i: values[i][0])
        hi = max(high for _, high in values)
        if missed > 0:
            hi = enclose(Fraction(hi) + Fraction(missed))[1]
        p_w = self.problem.observation.p_w
        numbers = np.array(candidates[first])
        mass = np.bincount(numbers, weights=p_w[self.costs.symbols])
        assignment = np.full(len(p_w), int(np.argmax(mass)), dtype=np.int64)
        assignment[self.costs.symbols] = numbers
        return Best(assignment, values[first][1], (values[first][0], hi), branches)


def _weighed(exact: Exact, deadline: float) -> Best:
    """Minimise a sum over blocks."""
    goal = goal_of(exact.problem, exact.costs)
    weights, error = goal.cost(*exact.costs.all), goal.cost_error
    least = least_weights(weights[: len(weights) // 2], deadline)
    lightest = numbers_of(lightest_partition(weights, least))
    if 2 * error <= FINE * exact.scale(lightest):
        return exact.best([lightest], 2 * error, 0)
    limit = math.fsum(weights[_blocks(lightest)].tolist()) + 3 * error
    near = list(islice(nearly_lightest(weights, least, limit), MOST_NEAR + 1))
    if len(near) > MOST_NEAR:
        return exact.best([lightest], 2 * error, 0)
    return exact.best([numbers_of(blocks) for blocks in near], 0.0, 0)


def _bounded(exact: Exact, deadline: float) -> Best | None:
    """Minimise I(S;Y) under a floor on I(X;Y), or maximise what is wanted under a cap on the rest."""
    goal, costs = goal_of(exact.problem, exact.costs), exact.costs.all
    search = Search(
        goal.cost(*costs),
        goal.gain(*costs),
        goal.need,
        deadline,
        goal.cost_error,
        goal.gain_error,
        exact.keeps,
    )
    cheapest = search.run()
    if cheapest is None:
        return None
    if search.missed <= FINE * exact.scale(cheapest):
        return exact.best([cheapest], search.missed, search.branches)
    near = search.nearly(search.best + 2 * search.cost_error)
    if near is None:
        return exact.best([cheapest], search.missed, search.branches)
    return exact.best(near, 0.0, search.branches)


def exact_objective(problem: TradeOffData, utility: float, leakage: float) -> Fraction:
    """The weighed objective, exactly."""
    weight = Fraction(problem.budget)
    if problem.is_funnel:
        return weight * Fraction(utility) - Fraction(leakage)
    return Fraction(utility) - weight * Fraction(leakage)


def nearly_lightest(weights: Floats, least: Floats, limit: float) -> Iterator[list[int]]:
    """The partitions of all symbols that weigh at most a limit, from the least weights of the sets of all but the last.

    Examples
    --------
    >>> weights = np.array([0.0, 1.0, 2.0, 3.0])
    >>> list(nearly_lightest(weights, least_weights(weights[:2]), 3.0))
    [[2, 1], [3]]
    """
    waiting: list[tuple[int, float, list[int]]] = [(len(weights) - 1, 0.0, [])]
    while waiting:
        rest, weight, blocks = waiting.pop()
        if not rest:
            yield blocks
            continue
        top = 1 << (rest.bit_length() - 1)
        inner = submasks(rest ^ top)
        bound = weight + weights[top | inner] + least[(rest ^ top) ^ inner]
        for part in inner[bound <= limit].tolist()[::-1]:
            block = top | int(part)
            waiting.append((rest ^ block, weight + float(weights[block]), [*blocks, block]))


def numbers_of(blocks: list[int]) -> list[int]:
    """The number of the block of each symbol, from blocks as bits."""
    return [b for i in range(max(blocks).bit_length()) for b, block in enumerate(blocks) if block >> i & 1]


def _blocks(numbers: list[int]) -> list[int]:
    """Blocks as bits from the number of the block of each symbol."""
    return [sum(1 << i for i, b in enumerate(numbers) if b == block) for block in range(max(numbers) + 1)]

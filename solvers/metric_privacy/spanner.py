"""The linear program over a spanner: few pairs whose chains are at most a factor longer, at a budget lowered by it."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.core.isolate import SolverTimeout
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.models.pairs import Pairs
from privopt.problems.metric_privacy.problem import MetricPrivacy
from privopt.solvers.metric_privacy._parts import Answer, parts
from privopt.solvers.metric_privacy._program import solve_part

MOST_POINTS = 4_000
MOST_CELLS = 100_000
MOST_PAIRS = 200_000
KEPT = 6
"""Pairs of the spanner for each point, about."""
POLLED = 64
"""Pairs between two looks at the clock."""


@register
@dataclass(frozen=True)
class Spanner(Solver[MetricPrivacy]):
    """The program over a greedy spanner, private at a budget divided by its stretch.

    Every promised pair is joined by a chain of spanner pairs at most ``stretch`` times as long, so keeping
    epsilon / stretch along these keeps epsilon for all; the stretch that the spanner really has is used.

    Source: Bordenabe, Chatzikokolakis, Palamidessi, "Optimal geo-indistinguishable mechanisms for location privacy".

    Parameters
    ----------
    stretch : float
        Above 1; the nearer to 1, the more pairs and the less loss.
    """

    solves: ClassVar = MetricPrivacy
    name: ClassVar[str] = "spanner"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE

    stretch: float = 1.05

    def cost(self, problem: MetricPrivacy) -> float:
        """A search for each pair, and programs with a few pairs for each point, of which the largest takes longest."""
        points, outputs, pairs = problem.sizes
        share = float(np.bincount(problem.components).max()) / points
        rows = 2.0 * min(pairs, KEPT * points) * outputs
        return float(0.01 + 2e-5 * pairs + 8e-6 * rows + 4.0 * share * (rows / 2.6e5) ** 1.3)

    def refuse(self, problem: MetricPrivacy) -> str | None:
        """Refuse large programs, and budgets without a program."""
        _, _, pairs = problem.sizes
        if len(problem.metric) > MOST_POINTS:
            return f"it measures all chains: {len(problem.metric)} points, at most {MOST_POINTS}"
        if problem.losses.size > MOST_CELLS or pairs > MOST_PAIRS:
            return f"its program has {problem.losses.size} variables, at most {MOST_CELLS}, over {pairs} pairs, at most {MOST_PAIRS}"
        return "an infinite budget needs no spanner" if problem.epsilon == math.inf else None

    def run(self, problem: MetricPrivacy, budget: Budget) -> Proposal:
        """Propose the channel of the program."""
        chosen = spanner(problem.pairs, len(problem.metric), self.stretch, budget)
        answer = Answer(np.tile(problem.constant().matrix[0], (len(problem.metric), 1)))
        reached = longest(problem.pairs, chosen, len(problem.metric))
        for part in parts(problem, chosen, problem.epsilon / reached):
            solve_part(part, answer, budget)
        return Proposal(
            problem.answer(answer.matrix), stats={"pairs": len(chosen), "iterations": answer.iterations}
        )


def spanner(pairs: Pairs, points: int, stretch: float, budget: Budget | None = None) -> Pairs:
    """Pairs among the given ones that join the ends of every other by a chain at most ``stretch`` times as long.

    Shortest first; a pair is left out where those before it join its ends.

    Raises
    ------
    SolverTimeout
        If the budget is spent.

    Source: Althöfer et al., "On sparse spanners of weighted graphs".

    Examples
    --------
    >>> from privopt.models.metric import Metric
    >>> line = Metric([[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    >>> len(line.pairs()), len(spanner(line.pairs(), 3, 1.1))
    (3, 2)
    """
    near: list[list[tuple[int, float]]] = [[] for _ in range(points)]
    kept = []
    for place, k in enumerate(np.argsort(pairs.distance, kind="stable").tolist()):
        if budget is not None and place % POLLED == 0 and budget.remaining <= 0:
            raise SolverTimeout("out of time while the pairs of the spanner were chosen")
        a, b, length = int(pairs.first[k]), int(pairs.second[k]), float(pairs.distance[k])
        if not _joined(near, a, b, stretch * length):
            near[a].append((b, length))
            near[b].append((a, length))
            kept.append(k)
    order = np.sort(np.array(kept, dtype=np.int64))
    return Pairs(pairs.first[order], pairs.second[order], pairs.distance[order])


def longest(pairs: Pairs, chosen: Pairs, points: int) -> float:
    """How much longer than a pair its chain of chosen pairs is at most, as a factor of at least 1."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import dijkstra

    lengths = np.maximum(chosen.distance, 1e-300)  # the sparse routines take no length of 0
    table = coo_array((lengths, (chosen.first, chosen.second)), shape=(points, points)).tocsr()
    chains = np.asarray(dijkstra(table, directed=False))[pairs.first, pairs.second]
    with np.errstate(invalid="ignore", divide="ignore"):
        stretched = np.where(pairs.distance > 0, chains / pairs.distance, 1.0)
    return float(max(1.0, stretched.max(initial=1.0)) * (1 + 1e-12))


def _joined(near: list[list[tuple[int, float]]], start: int, end: int, most: float) -> bool:
    """Whether a chain of at most a length joins two points."""
    reached = {start: 0.0}
    heap = [(0.0, start)]
    while heap:
        so_far, at = heapq.heappop(heap)
        if at == end:
            return True
        if so_far > reached[at]:
            continue
        for other, length in near[at]:
            total = so_far + length
            if total <= most and total < reached.get(other, math.inf):
                reached[other] = total
                heapq.heappush(heap, (total, other))
    return False

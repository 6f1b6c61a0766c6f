"""Benders' decomposition over a partition of the points: rows at the borders first, then the inside of every part."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.metric_privacy.problem import MetricPrivacy
from privopt.solvers.metric_privacy._cuts import Inside, Master
from privopt.solvers.metric_privacy._parts import Answer, Part, alone, parts

MOST_ROWS = 1_000_000
"""Promised ratios."""

MOST_ROUNDS = 5_000


@register
@dataclass(frozen=True)
class Benders(Solver[MetricPrivacy]):
    """Baseline: the program by Benders' decomposition over a partition of the points.

    A point is at the border if it is promised something beside a point of another subset. The master program chooses the
    rows of the points at the borders; given these, subsets share nothing, and the program of each gives the rows inside it
    and a cut for the master program: its least cost as a function of the border, or, where there are no rows inside, which
    borders allow some. The first borders are uniform rows, for which there always are.

    Source: Qiu, "Enhancing scalability of metric differential privacy via secret dataset partitioning and Benders
    decomposition". The subsets here are the points nearest to centres that are far apart: Gonzalez, "Clustering to minimize
    the maximum intercluster distance".

    Parameters
    ----------
    size : int
        Points a subset, about; with all points in one it is the program itself.
    tolerance : float
        Gap, relative to the cost, at which it ends.
    """

    solves: ClassVar = MetricPrivacy
    name: ClassVar[str] = "benders"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BASELINE

    size: int = 25
    tolerance: float = 1e-7

    def cost(self, problem: MetricPrivacy) -> float:
        """Many programs of the size of a subset, and as many of the size of the borders."""
        points, outputs, pairs = problem.sizes
        return float(0.01 + 1e-4 * (points * outputs) + 1e-6 * (2.0 * pairs * outputs) ** 1.4)

    def refuse(self, problem: MetricPrivacy) -> str | None:
        """Refuse large programs, and budgets without one."""
        _, outputs, pairs = problem.sizes
        if 2 * pairs * outputs > MOST_ROWS:
            return f"its programs have {2 * pairs * outputs:.2g} rows, at most {MOST_ROWS:.2g}"
        return "an infinite budget needs no program" if problem.epsilon == math.inf else None

    def run(self, problem: MetricPrivacy, budget: Budget) -> Proposal:
        """Propose the best channel of all rounds."""
        answer = Answer(np.tile(problem.constant().matrix[0], (len(problem.metric), 1)))
        done, gap = 0, 0.0
        for part in reversed(
            list(parts(problem))
        ):  # small ones first: what they leave of the time is for the largest
            gap = max(gap, self._solve(part, answer, budget))
            done += len(part.points)
            budget.report(fraction=done / len(problem.metric))
        stats: dict[str, float | int | str] = {
            "iterations": answer.iterations,
            "rounds": answer.rounds,
            "gap": gap,
            "stop": answer.stop,
        }
        return Proposal(problem.answer(answer.matrix), stats=stats)

    def _solve(self, part: Part, answer: Answer, budget: Budget) -> float:
        """Enter the rows of a part, and return the gap, relative to what its cost is above that of the best releases."""
        none = np.zeros(0, dtype=np.int64)
        above = part.cost - part.cost.min(axis=1, keepdims=True)
        if not len(part.first) or not above.any():
            answer.take(part, alone(part), none, none, np.zeros(0))
            return 0.0
        part = replace(part, cost=above / float(above.mean()))
        group = subsets(part, max(1, round(len(part.points) / self.size)))
        crossing = group[part.first] != group[part.second]
        border = np.zeros(len(group), dtype=bool)
        border[part.first[crossing]] = True
        insides = [
            Inside(part, np.flatnonzero((group == k) & ~border), border) for k in range(int(group.max()) + 1)
        ]
        insides = [inside for inside in insides if len(inside.points)]
        master = Master(part, np.flatnonzero(border), insides)
        best, least, rows = math.inf, -math.inf, np.full(part.cost.shape, 1.0 / part.cost.shape[1])
        matrix = rows.copy()
        for _ in range(MOST_ROUNDS):
            answer.rounds += 1
            total, whole = master.cost_of(rows), True
            for inside in insides:
                least_inside = inside.solve(rows, budget)
                whole &= least_inside is not None
                total += least_inside or 0.0
            if whole and total < best:
                best, matrix = total, rows.copy()
            if not whole and budget.remaining <= 0:
                answer.stop = "out of time"
                break
            if not len(master.border):
                least = total if whole else least
                break
            if best - least <= self.tolerance * abs(best):
                break
            if insides and not master.cut(insides):  # else the master program is all of it
                answer.stop = "no cut"
                break
            if not master.solve(rows, budget):
                answer.stop = "out of time"
                break
            least = max(least, master.value)
            if answer.rounds % 2:
                rows[master.border] = 0.5 * (rows[master.border] + matrix[master.border])
        answer.iterations += master.iterations + sum(inside.iterations for inside in insides)
        answer.take(part, matrix, none, none, np.zeros(0))
        return (best - least) / max(1e-300, abs(best)) if best < math.inf and least > -math.inf else math.inf


def subsets(part: Part, count: int) -> Ints:
    """The number of the subset of every point: that of the nearest of some centres, along promised pairs.

    Each centre is the point farthest from those before it.

    Source: Gonzalez, "Clustering to minimize the maximum intercluster distance".

    Examples
    --------
    >>> from privopt.models.metric import Metric
    >>> line = next(parts(MetricPrivacy(Metric.line(6), [1 / 6] * 6, "distance", 1.0)))
    >>> subsets(line, 2).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import dijkstra

    n = len(part.points)
    lengths = np.maximum(np.log(part.growth), 1e-300)
    table = coo_array((lengths, (part.first, part.second)), shape=(n, n)).tocsr()
    centre, chosen = 0, np.zeros(n, dtype=np.int64)
    reached: Floats = np.full(n, np.inf)
    for k in range(count):
        from_centre = np.asarray(dijkstra(table, directed=False, indices=[centre]))[0]
        chosen = np.where(from_centre < reached, k, chosen)
        reached = np.minimum(reached, from_centre)
        centre = int(np.argmax(reached))
    return np.unique(chosen, return_inverse=True)[1].astype(np.int64)

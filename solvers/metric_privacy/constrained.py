"""The linear program with exponential tails: only the points nearest to an output are free to release it as they like."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from privopt.arrays import Bools, Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.metric_privacy.problem import MetricPrivacy
from privopt.solvers.metric_privacy._linear import Linear

MOST_ROWS = 2_000_000
"""Promised ratios with a free end."""


@register
@dataclass(frozen=True)
class Constrained(Solver[MetricPrivacy]):
    """Baseline: the linear program whose far probabilities have the shape of the exponential mechanism.

    A point is free to release the outputs nearest to it, and those to which it is among the nearest points; every other
    one with probability c[y] e^(-epsilon d(x, y)), with one number c[y] >= 0 an output. Such tails keep every promise among
    themselves, whatever c is, so that only ratios with a free end are rows. Rows sum to at least 1, at a price for what is
    more, and are divided by their sums at the end; where these differ, the promise is kept by repair.

    Source: Imola, Kasiviswanathan, White, Aggarwal, Teissier, "Balancing utility and scalability in metric differential
    privacy".

    Parameters
    ----------
    nearest : int
        Free points an output, and free outputs a point, at least 1; with all of them it is the program itself.
    """

    solves: ClassVar = MetricPrivacy
    name: ClassVar[str] = "constrained-lp"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BASELINE

    nearest: int = 20

    def cost(self, problem: MetricPrivacy) -> float:
        """A program with a row for each promised ratio of free entries."""
        return float(0.01 + 2e-5 * self._ratios(problem) ** 1.2)

    def _ratios(self, problem: MetricPrivacy) -> float:
        points, outputs, pairs = problem.sizes
        return 2.0 * pairs * outputs * min(1.0, 2.0 * self.nearest / points + 2.0 * self.nearest / outputs)

    def refuse(self, problem: MetricPrivacy) -> str | None:
        """Refuse outputs without a place, and large programs."""
        if problem.apart is None:
            return "its outputs have no place, so no point is at a distance from them"
        if self._ratios(problem) > MOST_ROWS:
            return f"its program has about {self._ratios(problem):.2g} rows, at most {MOST_ROWS:.2g}"
        return "an infinite budget needs no program" if problem.epsilon == math.inf else None

    def run(self, problem: MetricPrivacy, budget: Budget) -> Proposal:
        """Propose the channel of the program; nothing where the time ends first."""
        free = self._free(problem)
        tails = _tails(problem)
        entries = _Entries(free, tails)
        costs = problem.p[:, None] * problem.losses
        costs = costs - costs.min(axis=1, keepdims=True)
        surplus = max(1e-9, float(costs.max()))
        n, count = len(free), entries.table.shape[1]
        sums = entries.summed(np.ones(free.shape))
        ratios = entries.ratios(problem)
        from scipy.sparse import vstack

        program = Linear(
            entries.table.T @ (costs + surplus).ravel(),
            np.zeros(count),
            np.full(count, np.inf),
            vstack([sums, ratios]),
            np.concatenate([np.ones(n), np.full(ratios.shape[0], -np.inf)]),
            np.concatenate([np.full(n, np.inf), np.zeros(ratios.shape[0])]),
        )
        stop = program.run(budget)
        stats: dict[str, float | int | str] = {"rows": ratios.shape[0], "stop": stop}
        if stop != "optimal":
            return Proposal(stats=stats)
        matrix = np.maximum(entries.table @ program.x, 0.0).reshape(free.shape)
        total = matrix.sum(axis=1, keepdims=True)
        stats |= {"iterations": program.iterations, "largest_sum": float(total.max())}
        return Proposal(problem.answer(matrix / total), stats=stats)

    def _free(self, problem: MetricPrivacy) -> Bools:
        """Which points are free at each output."""
        assert problem.apart is not None
        free = np.zeros(problem.apart.shape, dtype=bool)
        points = np.argsort(problem.apart, axis=0, kind="stable")[: self.nearest]
        outputs = np.argsort(problem.apart, axis=1, kind="stable")[:, : self.nearest]
        np.put_along_axis(free, points, values=True, axis=0)
        np.put_along_axis(free, outputs, values=True, axis=1)
        return free


def _tails(problem: MetricPrivacy) -> Floats:
    """e^(-epsilon d(x, y)), largest 1 in every column."""
    assert problem.apart is not None
    near = problem.apart.min(axis=0, keepdims=True)
    with np.errstate(invalid="ignore"):
        nats = problem.epsilon * (problem.apart - np.where(np.isfinite(near), near, 0.0))
    return np.exp(-np.where(np.isnan(nats), 0.0, nats))


class _Entries:
    """The entries of the channel as combinations of the variables: a free one each, and c[y]."""

    def __init__(self, free: Bools, tails: Floats) -> None:
        from scipy.sparse import csr_array

        self.free = free
        n, m = free.shape
        own = np.full((n, m), -1)
        own[free] = m + np.arange(int(free.sum()))
        column = np.where(free, own, np.arange(m)[None])
        weight = np.where(free, 1.0, tails)
        where = np.arange(n * m), column.ravel()
        self.table: Any = csr_array((weight.ravel(), where), shape=(n * m, m + int(free.sum())))

    def summed(self, weights: Floats) -> Any:
        """Weighted sums of the rows of the channel."""
        from scipy.sparse import csr_array

        n, m = weights.shape
        rows = csr_array((weights.ravel(), (np.repeat(np.arange(n), m), np.arange(n * m))), shape=(n, n * m))
        return rows @ self.table

    def ratios(self, problem: MetricPrivacy) -> Any:
        """Rows M[x, y] - e^(epsilon d) M[x', y] <= 0 of length about 1, for promised pairs with a free end at y."""
        from scipy.sparse import csr_array

        pairs, (n, m) = problem.pairs, self.free.shape
        first = np.concatenate([pairs.first, pairs.second])
        second = np.concatenate([pairs.second, pairs.first])
        with np.errstate(invalid="ignore"):
            nats = np.where(pairs.distance == 0, 0.0, problem.epsilon * pairs.distance)
        growth = np.exp(np.minimum(np.concatenate([nats, nats]), 700.0))
        k, y = np.nonzero(self.free[first] | self.free[second])
        scale = 1.0 / np.hypot(1.0, growth[k])
        rows = np.arange(len(k))
        values = np.concatenate([scale, -growth[k] * scale])
        where = np.concatenate([rows, rows]), np.concatenate([first[k] * m + y, second[k] * m + y])
        return csr_array((values, where), shape=(len(k), n * m)) @ self.table

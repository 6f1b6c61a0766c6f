"""The linear program of one release, its prices, and its optimum from few releases.

Write L = e^-epsilon and theta = 1 / (e^epsilon + 1). A kernel keeps the bounds exactly when it is
(1 - L) K(y | x) + L Q(y) with a kernel K of the same output distribution Q and K(y | x) <= Q(y) / theta. In the variables
K and Q / theta every number is of the size of 1.

For nu = (1 - L) lam the cost of release y is L Dbar(y) + mean of (1 - L) D(x, y) - nu(x) over the cheapest mass theta of
inputs, and no private kernel has a distortion below nu . p + the least cost of a release (from the structure of
private kernels: see the bound on the utility of one step of belief release). Most optimal kernels use a fraction of the
releases: the prices of a program with some of them prove its value for all as soon as none of the others is cheaper.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.highs import FINEST, Rows, minimise
from privopt.mechanisms.policy.fixed import Levels


@dataclass(frozen=True, eq=False)
class Solved:
    """Answer of the program: K (k, m), Q (m,) and prices (k,) in the unit of the distortion.

    ``prices`` are those of the rows of K, divided by (1 - L).
    """

    kernel: Floats
    marginal: Floats
    prices: Floats
    iterations: int


def solve_program(p: Floats, cost: Floats, levels: Levels, seconds: float) -> Solved | None:
    """The least (1 - L) sum p D K + theta L sum Dbar z  with K stochastic, sum_x p K / theta = z and K <= z; None in time.

    Parameters
    ----------
    p : array (k,)
        Positive probabilities that sum to about 1.
    cost : array (k, m)
    """
    k, m = cost.shape
    objective = np.concatenate(
        [(levels.room * p[:, None] * cost).ravel(), levels.theta * levels.low * (p @ cost)]
    )
    below, equal = _rows(p, m, levels.theta)
    # with looser tolerances small beliefs and large budgets lose four digits
    solved = minimise(objective, below, equal, tolerance=FINEST, seconds=seconds)
    if solved is None:
        return None
    kernel = np.clip(solved.point[: k * m].reshape(k, m), 0.0, 1.0)
    marginal = np.maximum(solved.point[k * m :], 0.0) * levels.theta
    with np.errstate(all="ignore"):  # prices that are not finite prove nothing, and are refused as a dual
        lam = solved.prices[:k] / (levels.room * p)
    return Solved(kernel, marginal, lam, solved.iterations)


def _rows(p: Floats, m: int, theta: float) -> tuple[Rows, Rows]:
    """K(x, y) - z(y) <= 0, and the two kinds of equations."""
    k = len(p)
    below, columns, ends = _frame(k, m)
    means = np.empty((m, k + 1))
    means[:, :k], means[:, k] = p / theta, -1.0
    values = np.concatenate([np.ones(k * m), means.ravel()])
    return below, Rows(values, columns, ends, np.concatenate([np.ones(k), np.zeros(m)]))


@lru_cache(maxsize=16)
def _frame(k: int, m: int) -> tuple[Rows, Ints, Ints]:
    """K(x, y) - z(y), and where the entries of the equations stand: what is the same for all distributions."""
    cells = np.arange(k * m)
    places = np.stack([cells, k * m + cells % m], axis=1).ravel()
    below = Rows(np.tile([1.0, -1.0], k * m), places, 2 * np.arange(k * m + 1), np.zeros(k * m))
    mixed = np.concatenate([cells.reshape(k, m), k * m + np.arange(m)[None, :]]).T
    ends = np.concatenate([m * np.arange(k), k * m + (k + 1) * np.arange(m + 1)])
    return below, np.concatenate([cells, mixed.ravel()]), ends


CELLS = 2**20
"""Cells of the table of costs that are sorted at a time."""


@dataclass(frozen=True, eq=False)
class Table:
    """Costs with a row a release, so that a group is sorted in memory order.

    Parameters
    ----------
    p : array (n,)
        Positive probabilities of the inputs; they sum to about 1.
    rows : array (m, n)
        Distortions, transposed.
    means : array (m,)
        Dbar(y), the mean distortion of a release.
    """

    p: Floats
    rows: Floats
    means: Floats
    levels: Levels

    @classmethod
    def of(cls, p: Floats, cost: Floats, levels: Levels) -> Table:
        """From distortions D[x, y], shape (n, m)."""
        return cls(p, np.ascontiguousarray(cost.T), p @ cost, levels)

    def costs(self, nu: Floats) -> Floats:
        """Cost of every release at prices nu, shape (m,).

        Examples
        --------
        >>> import math
        >>> table = Table.of(np.array([0.85, 0.15]), 1 - np.eye(2), Levels.of(1.0))
        >>> table.costs(np.zeros(2)).round(4).tolist()
        [0.0552, 0.5923]
        """
        step = max(1, CELLS // len(self.p))
        parts = [
            self.groups(np.arange(begin, min(begin + step, len(self.rows))), nu)[0]
            for begin in range(0, len(self.rows), step)
        ]
        return np.concatenate(parts)

    def groups(self, releases: Ints, nu: Floats) -> tuple[Floats, Ints, Floats]:
        """Costs (k,) of some releases, the inputs (k, width) of their groups, and how much of each: shares (k, width)."""
        values = self.levels.room * self.rows[releases] - nu
        order, sums = _cheapest(values, self.p, self.levels.theta)
        shares = np.diff(np.minimum(sums, self.levels.theta), axis=1, prepend=0.0)
        shares[:, -1] += self.levels.theta - shares.sum(axis=1)  # the last one takes what rounding left
        shares /= self.levels.theta
        costs = (shares * np.take_along_axis(values, order, axis=1)).sum(axis=1)
        return costs + self.levels.low * self.means[releases], order, shares

    def bound(self, nu: Floats) -> float:
        """No private kernel has an expected distortion below this; an allowance for rounding is taken off.

        The groups are cut from sorted values, so that errors of the partial sums telescope: the whole is off by at most
        (n + 16) 2^-51 times the size of prices and distortions.

        Examples
        --------
        >>> table = Table.of(np.array([0.85, 0.15]), 1 - np.eye(2), Levels.of(1.0))
        >>> round(table.bound(np.zeros(2)), 12)
        0.055181916176
        """
        nu = nu - nu[np.argmax(self.p)]
        size = max(float(np.abs(self.rows).max()), float(np.abs(nu).max()))
        least = float(self.costs(nu).min())
        return float(self.p @ nu) + least - (len(self.p) + 16) * 2.0**-51 * size


def _cheapest(values: Floats, p: Floats, theta: float) -> tuple[Ints, Floats]:
    """Inputs in rising order of value until they weigh theta in each row, and their running sums of mass."""
    n = len(p)
    width = n if n <= 128 else n // 8
    while True:
        if width >= n:
            order = np.argsort(values, axis=1)
        else:
            some = np.argpartition(values, width - 1, axis=1)[:, :width]
            inner = np.argsort(np.take_along_axis(values, some, axis=1), axis=1)
            order = np.take_along_axis(some, inner, axis=1)
        sums = np.cumsum(p[order], axis=1)
        if width >= n or (sums[:, -1] >= theta).all():
            return order, sums
        width = min(4 * width, n)


SLACK = 1e-9
NEGLIGIBLE = 1e-11
"""A release this rare, relative to theta, is rounding rather than part of the answer."""
BEGUN, ROUNDS = 24, 3
"""Releases of each kind in the first of a few small programs, those that the next ones take in, and how many there are."""
MANY = 80
"""Releases beyond which only some enter the program at first; the others are priced."""


def order_of_releases(p: Floats, cost: Floats) -> Ints:
    """Releases by how much of the mass they serve best, most first; ties by mean distortion.

    Examples
    --------
    >>> order_of_releases(np.array([0.2, 0.5, 0.3]), 1 - np.eye(3)).tolist()
    [1, 2, 0]
    """
    served = np.bincount(cost.argmin(axis=1), weights=p, minlength=cost.shape[1])
    return np.lexsort((p @ cost, -served))


def first_releases(p: Floats, cost: Floats, levels: Levels) -> Ints:
    """The releases to begin with: a few groups' worth, at least 32, at most a fifth of the inputs beyond 64."""
    start = int(min(max(32.0, 4.0 / levels.theta), max(64.0, min(cost.shape) / 5)))
    return order_of_releases(p, cost)[:start]


def solve_restricted(p: Floats, cost: Floats, levels: Levels, seconds: float) -> Solved | None:
    """The optimum over all releases; the best over some where time is short; None where there is none yet.

    Parameters
    ----------
    p : array (k,)
        Positive probabilities.
    cost : array (k, m)
        Distortions of the size of 1.
    """
    until = time.perf_counter() + seconds
    m, chosen = cost.shape[1], first_releases(p, cost, levels)
    table, best, steps = Table.of(p, cost, levels), None, 0
    while True:
        solved = solve_program(p, cost[:, chosen], levels, until - time.perf_counter())
        if solved is None:
            return best
        steps += solved.iterations
        best = _widen(solved, chosen, m, steps)
        others = _called_for(table, solved, chosen)
        if not len(others):
            return best
        chosen = np.concatenate([chosen, others[: max(16, len(chosen) // 2)]])


def solve_soon(p: Floats, cost: Floats, levels: Levels) -> Solved | None:
    """A good kernel from few small programs: the releases of the most mass, those of the cheapest groups, and what prices call for.

    Examples
    --------
    >>> solved = solve_soon(np.array([0.45, 0.35, 0.2]), 1 - np.eye(3), Levels.of(0.4))
    >>> None if solved is None else solved.kernel.sum(axis=1).round(9).tolist()
    [1.0, 1.0, 1.0]
    """
    table, count, steps = Table.of(p, cost, levels), int(max(BEGUN, 1.0 / levels.theta)), 0
    alone = np.argsort(table.costs(np.zeros(len(p))), kind="stable")
    chosen, best = np.union1d(order_of_releases(p, cost)[:count], alone[:count]), None
    for _ in range(ROUNDS):
        solved = solve_program(p, cost[:, chosen], levels, np.inf)
        if solved is None:
            break
        steps += solved.iterations
        best = _widen(solved, chosen, cost.shape[1], steps)
        others = _called_for(table, solved, chosen)
        if not len(others):
            break
        used = chosen[solved.marginal > NEGLIGIBLE * levels.theta]
        chosen = np.union1d(used, others[:count])
    return best


def _called_for(table: Table, solved: Solved, chosen: Ints) -> Ints:
    """Releases that are cheaper at the prices of a program than all that it has, the cheapest first."""
    levels = table.levels
    costs = table.costs(levels.room * solved.prices)
    limit = costs[chosen].min() - SLACK * levels.theta
    others = np.setdiff1d(np.flatnonzero(costs < limit), chosen)
    return others[np.argsort(costs[others], kind="stable")]


def _widen(solved: Solved, chosen: Ints, m: int, steps: int) -> Solved:
    kernel, marginal = np.zeros((len(solved.kernel), m)), np.zeros(m)
    kernel[:, chosen], marginal[chosen] = solved.kernel, solved.marginal
    return replace(solved, kernel=kernel, marginal=marginal, iterations=steps)


def solve_structure(p: Floats, cost: Floats, levels: Levels, seconds: float) -> Solved | None:
    """The optimum for positive probabilities p (k,) and distortions (k, m) of the size of 1; None if not in time."""
    solve = solve_restricted if cost.shape[1] > MANY else solve_program
    return solve(p, cost, levels, seconds)


def cheapest_row(cost: Floats, tops: Floats) -> tuple[Floats, float]:
    """The cheapest row of K with at most ``tops`` in each column, and the price of its last part.

    Examples
    --------
    >>> row, price = cheapest_row(np.array([0.0, 0.5, 1.0]), np.array([0.6, 0.6, 0.6]))
    >>> row.tolist(), price
    ([0.6, 0.4, 0.0], 0.5)
    """
    order = np.argsort(cost, kind="stable")
    filled = np.minimum(np.cumsum(tops[order]), 1.0)
    row = np.zeros(len(cost))
    row[order] = np.diff(filled, prepend=0.0)
    return row, float(cost[row > 0].max(initial=0.0))

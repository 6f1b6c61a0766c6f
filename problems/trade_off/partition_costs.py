"""What blocks of observations cost, and what a partition into them is to reach."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.balls import ETA, U
from privopt.core.problem import Enclosure
from privopt.problems.entropy_boxes import phi
from privopt.problems.trade_off.data import TradeOffData

LOW = 16
"""Blocks that share all but their lowest 16 symbols are priced together."""


def xlogx(t: Floats) -> Floats:
    """Entry by entry t ln t, 0 at 0, as quickly as can be."""
    return np.asarray(t * np.log(np.where(t > 0, t, 1.0)))


@dataclass(frozen=True, eq=False)
class BlockCosts:
    """Both informations of a partition are sums over its blocks, plus what they are for no block at all.

    A block is a number below 2^n whose bit i says that it holds ``symbols[i]``; the least probable symbol is bit 0.

    Parameters
    ----------
    symbols : int array (n,)
        Observations of positive probability, the least probable first.
    mass : float array (n,)
        Their probabilities.
    secret_rows, useful_rows : float array (n_s, n), (n_x, n)
        Their joint distributions with S and with X; the latter has no rows where W is X.
    secret_offset, useful_offset : (float, float)
        Floats around H(S), and around H(X) or, where W is X, 0.
    secret_error, useful_error : float
        By how much the sums over the blocks of a partition may be off, added in any order.
    """

    symbols: Ints
    mass: Floats
    secret_rows: Floats
    useful_rows: Floats
    secret_offset: Enclosure
    useful_offset: Enclosure
    secret_error: float
    useful_error: float

    def merged(self, groups: list[Ints]) -> BlockCosts:
        """Partitions of groups of symbols, given by their places: the groups are the symbols, numbered as in the list.

        Groups come by ascending probability as symbols do, whatever their order in the list.
        """
        sums = np.stack([self.rows[:, group].sum(axis=1) for group in groups], axis=1)
        order = np.argsort(sums[0], kind="stable")
        secret, useful = np.split(sums[1:, order], [len(self.secret_rows)])
        return replace(self, symbols=order, mass=sums[0, order], secret_rows=secret, useful_rows=useful)

    @cached_property
    def rows(self) -> Floats:
        """Mass, and distributions with S and with X, shape (1 + n_s + n_x, n)."""
        return np.vstack([self.mass, self.secret_rows, self.useful_rows])

    def of(self, masses: Floats) -> tuple[Floats, Floats]:
        """What blocks add to both informations, from sums of the rows, shape (m, 1 + n_s + n_x)."""
        own, *others = (0.0 - phi(sums) for sums in masses.T)
        n_s = len(self.secret_rows)
        return _total(others[:n_s], own), _total(others[n_s:], own)

    @cached_property
    def all(self) -> tuple[Floats, Floats]:
        """Those of every block, shape (2^n,) each, 2^LOW of them at a time; their logarithms are the same on every machine."""
        low, high = subset_sums(self.rows[:, :LOW].T), subset_sums(self.rows[:, LOW:].T)
        parts = [self.of(low + base) for base in high]
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


def block_costs(problem: TradeOffData) -> BlockCosts:
    """What the costs of the blocks of a problem's observations are made from."""
    observed = problem.observation
    support = observed.support
    symbols = support[np.argsort(observed.p_w[support], kind="stable")]
    mass, table = observed.p_w[symbols], observed.leaking.table[:, symbols]
    of_s, of_x = problem.entropies
    error, of_mass = error_of(table), error_of(mass[None])
    if observed.useful is None:
        none = np.zeros((0, len(symbols)))
        return BlockCosts(symbols, mass, table, none, of_s, (0.0, 0.0), error + of_mass, of_mass)
    other = observed.useful.table[:, symbols]
    return BlockCosts(symbols, mass, table, other, of_s, of_x, error + of_mass, error_of(other) + of_mass)


@dataclass(frozen=True)
class Goal:
    """A partition of least cost is sought among those that gain what is needed; both are sums over its blocks.

    Parameters
    ----------
    costs, gains : (float, float)
        Weights of what a block adds to I(S;Y) and to I(X;Y).
    need : float
        The least gain.
    cost_error, gain_error : float
        By how much sums over the blocks of a partition may be off, the latter together with ``need``.
    offset : (float, float)
        Floats around the objective of a partition plus its cost.
    """

    costs: tuple[float, float]
    gains: tuple[float, float]
    need: float
    cost_error: float
    gain_error: float
    offset: Enclosure

    @property
    def weighed(self) -> bool:
        """Whether nothing is needed: the cost is a weighed sum of both informations."""
        return self.gains == (0.0, 0.0)

    def cost(self, secret: Floats, useful: Floats) -> Floats:
        """What blocks cost."""
        return self.costs[0] * secret + self.costs[1] * useful

    def gain(self, secret: Floats, useful: Floats) -> Floats:
        """What blocks gain."""
        return self.gains[0] * secret + self.gains[1] * useful

    def both(self, secret: Floats, useful: Floats) -> tuple[Floats, Floats]:
        """What blocks cost, and what they gain."""
        return self.cost(secret, useful), self.gain(secret, useful)

    def entropies(self, costs: BlockCosts, multiplier: float) -> Floats:
        """Weights of -t ln t of the masses in :attr:`BlockCosts.rows`, whose sum is what blocks cost less the multiplier times what they gain."""
        secret, useful = (c - multiplier * g for c, g in zip(self.costs, self.gains, strict=True))
        parts = [[secret + useful], [-secret] * len(costs.secret_rows), [-useful] * len(costs.useful_rows)]
        return np.concatenate([np.array(p, dtype=np.float64) for p in parts])


def goal_of(problem: TradeOffData, costs: BlockCosts) -> Goal:
    """The least I(S;Y) under a floor on I(X;Y), the most of what is wanted under a cap on the rest, or a weighed sum."""
    (of_s, _), (of_x, _) = costs.secret_offset, costs.useful_offset
    errors = (costs.secret_error, costs.useful_error)
    if problem.mode == "trade_off":
        tau, sign = problem.budget, 1.0 if problem.is_funnel else -1.0
        error = (errors[0] + tau * errors[1]) * (1 + 8 * U)
        ends = [-sign * (costs.secret_offset[i] - tau * costs.useful_offset[1 - i]) for i in (0, 1)]
        slack = 8 * U * (of_s + tau * of_x)
        return Goal((sign, -sign * tau), (0.0, 0.0), 0.0, error, 0.0, (min(ends) - slack, max(ends) + slack))
    budget = min(problem.cap, 1e3)  # more than any information, as the budget may be infinite
    slack = 8 * U * (budget + of_s + of_x)
    if problem.is_floor:
        offset = (-costs.secret_offset[1], -of_s)
        return Goal((1.0, 0.0), (0.0, 1.0), problem.floor - of_x, errors[0], errors[1] + slack, offset)
    if problem.is_funnel:
        return Goal(
            (0.0, -1.0), (-1.0, 0.0), of_s - budget, errors[1], errors[0] + slack, costs.useful_offset
        )
    return Goal((-1.0, 0.0), (0.0, -1.0), of_x - budget, errors[0], errors[1] + slack, costs.secret_offset)


def _total(parts: list[Floats], own: Floats) -> Floats:
    """Their sum, in order, less what the mass alone adds."""
    total = np.zeros(len(own))
    for part in parts:
        total += part
    return total - own


def error_of(table: Floats) -> float:
    """By how much the sum of t ln t over the cells of a merged table may be off, whatever is merged.

    Of r rows and n columns. Every mass is off by at most (n + 1) u of itself, which moves t ln t by
    (n + 1) u (|t ln t| + t); the logarithm and the product add 24 u |t ln t|, and at most n (r + 2) additions u of the
    largest partial sum each, which is at most the sum of all |t ln t|: 2 (r + n + 2) u of that at the depth of the
    additions, r + n. Merging lowers the sum of |t ln t|, but for rounding: the cells are the worst case.
    """
    rows, n = table.shape
    cells = float(phi(table).sum()) + 2.0 * float(table.sum())
    return float((3 * n + 2 * rows + 40) * U * cells + 8 * n * (rows + 2) * ETA)


def subset_sums(values: Floats) -> Floats:
    """The sum of every subset of n values or rows, shape (2^n, ...).

    Examples
    --------
    >>> subset_sums(np.array([1.0, 2.0])).tolist()
    [0.0, 1.0, 2.0, 3.0]
    """
    sums = np.zeros((1, *values.shape[1:]))
    for value in values:
        sums = np.concatenate([sums, sums + value])
    return sums

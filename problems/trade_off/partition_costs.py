"""What every block of observations costs, for all 2^n blocks at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.balls import ETA, U
from privopt.problems.entropy_boxes import phi
from privopt.problems.trade_off.data import TradeOffData

TOGETHER = 1 << 16
"""Masses of blocks whose logarithms are taken at a time."""


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
    secret, useful : float array (2^n,)
        What a block adds to I(S;Y) and to I(X;Y).
    secret_offset, useful_offset : float
        H(S), and H(X) or, where W is X, 0.
    secret_error, useful_error : float
        By how much the sums over the blocks of a partition may be off, added in any order.
    """

    symbols: Ints
    secret: Floats
    useful: Floats
    secret_offset: float
    useful_offset: float
    secret_error: float
    useful_error: float


def block_costs(problem: TradeOffData) -> BlockCosts:
    """The costs of all blocks of a problem's observations; n_s 2^n numbers are visited, the same ones on every machine."""
    observed = problem.observation
    support = observed.support
    symbols = support[np.argsort(observed.p_w[support], kind="stable")]
    mass = 0.0 - phi(subset_sums(observed.p_w[symbols]))
    table = observed.leaking.table[:, symbols]
    of_s, of_x = (ends[0] for ends in problem.entropies)
    secret = _informations(table) - mass
    error = error_of(table) + error_of(observed.p_w[None, symbols])
    if observed.useful is None:
        return BlockCosts(
            symbols, secret, 0.0 - mass, of_s, 0.0, error, error_of(observed.p_w[None, symbols])
        )
    other = observed.useful.table[:, symbols]
    useful = _informations(other) - mass
    more = error_of(other) + error_of(observed.p_w[None, symbols])
    return BlockCosts(symbols, secret, useful, of_s, of_x, error, more)


def _informations(table: Floats) -> Floats:
    """Sum over the rows of t ln t of the mass that each block has in that row."""
    total = np.zeros(1 << table.shape[1])
    step = max(1, TOGETHER // len(total))
    for start in range(0, len(table), step):
        for costs in phi(subset_sums(table[start : start + step].T).T):
            total -= costs
    return total


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

"""What every block of observations costs, for all 2^n blocks at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from privopt.problems._observation import Floats

if TYPE_CHECKING:
    from privopt.problems._trade_off import TradeOff

Ints = NDArray[np.int64]


def xlogx(t: Floats) -> Floats:
    """Entry by entry t ln t, 0 at 0."""
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
    """

    symbols: Ints
    secret: Floats
    useful: Floats
    secret_offset: float
    useful_offset: float


def block_costs(problem: TradeOff) -> BlockCosts:
    """The costs of all blocks of a problem's observations; n_s 2^n numbers are visited."""
    observed = problem.observation
    support = observed.support
    symbols = support[np.argsort(observed.p_w[support], kind="stable")]
    mass = xlogx(subset_sums(observed.p_w[symbols]))
    secret = _informations(observed.leaking.table[:, symbols]) - mass
    offset = -float(xlogx(observed.p_s).sum())
    if observed.useful is None:
        return BlockCosts(symbols, secret, 0.0 - mass, offset, 0.0)
    useful = _informations(observed.useful.table[:, symbols]) - mass
    return BlockCosts(symbols, secret, useful, offset, -float(xlogx(observed.p_x).sum()))


def _informations(table: Floats) -> Floats:
    """Sum over the rows of t ln t of the mass that each block has in that row."""
    total = np.zeros(1 << table.shape[1])
    for row in table:
        total += xlogx(subset_sums(row))
    return total


def subset_sums(values: Floats) -> Floats:
    """The sum of every subset of n values, shape (2^n,).

    Examples
    --------
    >>> subset_sums(np.array([1.0, 2.0])).tolist()
    [0.0, 1.0, 2.0, 3.0]
    """
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums, sums + value])
    return sums

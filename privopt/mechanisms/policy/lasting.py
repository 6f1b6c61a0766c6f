"""Streams without end: computed beliefs forget what was rounded long ago, and rounded ones are finitely many.

A release multiplies the belief by a column w(., y) and then by the transition matrix P. Let R steps of P lead from every
state to the same states, each of these with positive probability, and let the weights of a column differ by a factor of
at most e^(2 epsilon), as the budget asks. Entry (i, k) of the product of R releases is then a sum over paths of w(i, y) and R -
1 weights in between, times transitions. So for two rows the ratios of their entries differ by at most e^Delta, where

    Delta = max ln [(P^R)(i, k) (P^R)(j, l) / ((P^R)(i, l) (P^R)(j, k))] + 4 epsilon (R - 1),

and by Birkhoff's theorem the product brings two beliefs nearer, in Hilbert distance, by the factor tau = tanh(Delta / 4). One
release alone never moves them apart. So if every release adds an error of at most e, the computed belief is always within R e
/ (1 - tau) of the true one, however long the stream is.

With rounding, the belief that everybody keeps is one of finitely many, so that the policy is a machine of finitely many nodes. A
rounded belief is within the Hilbert distance ``radius`` of what it stands for, which counts as an error like any other: the
kernels are checked with a margin for it, and nothing that is promised rests on the rounding.

Source: G. Birkhoff, "Extensions of Jentzsch's Theorem", Transactions of the American Mathematical Society 85.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from privopt.arrays import Floats
from privopt.mechanisms.policy.beliefs import Filter
from privopt.mechanisms.policy.fixed import exp, total
from privopt.mechanisms.policy.setting import forgets, reachable
from privopt.models import MarkovChain

MOST_STEPS = 64
"""Steps after which all states that stay possible must be."""
LEAST = 1e-100
"""The least probability of such a path: beliefs are then far from what floats cannot hold."""
MOST = 100.0
"""The largest Delta."""
PAIRS = 256
"""States up to which all pairs of rows are compared."""
MOST_ROUNDING = 2**16
"""Steps of a doubling."""
FINE = 256
LN2 = 0.6931471805599453


@lru_cache(maxsize=256)
def felt(chain: MarkovChain, nats: float) -> float | None:
    """How many roundings of single releases are felt at once, R / (1 - tau), at most; None where beliefs do not forget.

    Parameters
    ----------
    chain : MarkovChain
    nats : float
        How far a release may move odds, perhaps inf.

    Examples
    --------
    >>> round(felt(MarkovChain([[0.9, 0.1], [0.1, 0.9]]), 1.0), 6), felt(MarkovChain([[0.0, 1.0], [1.0, 0.0]]), 1.0)
    (5.0, None)
    >>> felt(MarkovChain([[0.3, 0.7], [0.3, 0.7]]), 1.0)
    1.0
    """
    if not chain.homogeneous or chain.max_length is not None:
        return None
    if forgets(chain, 0):
        return 1.0
    can = reachable(chain, 0).astype(np.int64)
    ways, power = can, np.array(chain.step(0))
    for steps in range(1, MOST_STEPS + 1):
        if bool((ways == ways[0]).all()):
            inner = 4.0 * nats * (steps - 1) if steps > 1 else 0.0
            return _felt(power[:, ways[0] > 0], steps, inner)
        ways = np.minimum(ways @ can, 1)
        power = power @ chain.step(0)
    return None


def _felt(power: Floats, steps: int, inner: float) -> float | None:
    if float(power.min()) < LEAST:
        return None
    logs = np.log(power)
    if len(logs) <= PAIRS:
        spread = max(float(np.ptp(logs - row, axis=1).max()) for row in logs)
    else:
        spread = 2.0 * float(np.ptp(logs - logs[0], axis=1).max())
    delta = spread + inner + 1e-9  # more than the rounding of powers and logarithms
    return None if delta > MOST else 0.5 * steps * (math.exp(0.5 * delta) + 1.0) * (1 + 1e-9)


@dataclass(frozen=True)
class Lattice:
    """Beliefs whose odds against the likeliest state are powers of 2^(1 / steps).

    The logarithms of the odds are rounded down, and those that lost most are raised by one so that the sum of all is a multiple
    of the number k of states. What is raised lost more than what is not, so errors differ by at most one step: the unit
    ball of the Hilbert distance tiles the space, and there are k times fewer beliefs than with each rounded by itself.

    Parameters
    ----------
    steps : int
        Of a doubling.

    Examples
    --------
    >>> lattice = Lattice(8)
    >>> beliefs = np.array([[0.5, 0.3, 0.2], [0.1, 0.9, 0.0]])
    >>> near = lattice.nearest(beliefs)
    >>> near.round(3).tolist()
    [[0.483, 0.313, 0.203], [0.095, 0.905, 0.0]]
    >>> bool(np.ptp(np.log(near[0] / beliefs[0])) <= lattice.radius)
    True
    """

    steps: int

    @property
    def radius(self) -> float:
        """The largest Hilbert distance between a belief and what it is rounded to."""
        return LN2 / self.steps * (1 + 1e-6) + 1e-13

    @cached_property
    def _powers(self) -> Floats:
        """From 1/2 to 1, the same on every machine."""
        coarse = np.array([0.5 * exp(LN2 * (i * FINE / self.steps)) for i in range(-(-self.steps // FINE))])
        fine = np.array([exp(LN2 * (j / self.steps)) for j in range(FINE)])
        return np.append((coarse[:, None] * fine).ravel()[: self.steps], 1.0)

    def nearest(self, beliefs: Floats) -> Floats:
        """Rounded beliefs (M, k); what is impossible stays so."""
        count, k = beliefs.shape
        top = beliefs.argmax(axis=1)
        odds = beliefs / beliefs[np.arange(count), top][:, None]
        sure = odds > 0
        part, octave = np.frexp(np.where(sure, odds, 1.0))
        below = np.searchsorted(self._powers, part, side="right") - 1  # part is in [1/2, 1)
        lost = (part - self._powers[below]) / (self._powers[below + 1] - self._powers[below])
        lost = np.where(sure, lost, -1.0)
        place = octave.astype(np.int64) * self.steps + below
        own = sure.sum(axis=1)
        up = -np.where(sure, place, 0).sum(axis=1) % own
        order = np.argsort(-lost, axis=1, kind="stable")
        rank = np.empty((count, k), dtype=np.int64)
        np.put_along_axis(rank, order, np.arange(k)[None, :].repeat(count, axis=0), axis=1)
        place = place + (rank < up[:, None])
        octave, level = np.divmod(place, self.steps)
        rounded = np.where(sure, np.ldexp(self._powers[level], octave), 0.0)
        near: Floats = rounded / total(rounded)[:, None]
        return near


@dataclass(frozen=True)
class LastingFilter(Filter):
    """Beliefs of a stream without end, perhaps rounded to a lattice of ``rounding`` steps a doubling; 0 is none.

    Parameters
    ----------
    nats : float
        How far a release may move odds.
    rounding : int

    Examples
    --------
    >>> chain = MarkovChain([[0.9, 0.1], [0.1, 0.9]])
    >>> plain, rounded = LastingFilter(chain, 1, 1.0), LastingFilter(chain, 1, 1.0, 1024)
    >>> plain.distance(math.inf) < 1e-13, 0.003 < rounded.distance(math.inf) < 0.004
    (True, True)
    """

    nats: float = math.inf
    rounding: int = 0

    @cached_property
    def _lattice(self) -> Lattice | None:
        return Lattice(self.rounding) if self.rounding else None

    def distance(self, steps: float) -> float:
        """Hilbert distance between computed and true beliefs; the same for any number of releases, inf where none is proved."""
        count = felt(self.chain, self.nats)
        if count is None:
            return math.inf
        one = Filter.distance(self, 1)  # the first belief, and one release
        return count * (one + (0.0 if self._lattice is None else self._lattice.radius)) * (1 + 1e-12)

    def start(self) -> Floats:
        """Belief over states before anything is released, shape (k,)."""
        first = Filter.start(self)
        return first if self._lattice is None else self._lattice.nearest(first[None])[0]

    def after(self, beliefs: Floats, columns: Floats, record: int) -> Floats:
        """Beliefs over the state that follows, given the column w(., y) of what was released; shape (M, k)."""
        moved = Filter.after(self, beliefs, columns, record)
        if self._lattice is None or forgets(self.chain, 0):
            return moved
        return self._lattice.nearest(moved)

"""A stretch of records around private ones, in floats whose roundings are known: what branch and bound works on.

Walking away from a private record, row x of a table holds what its value x makes of "all nearer records are hidden, and this
one has value v": products of steps and redaction probabilities, all of them increasing in every redaction probability and
linear in each. To the left the steps are taken transposed, from rows divided by Pr(X_p = x): a column is then off by a factor
that is the same for every x, which no ratio sees; the factor at the far end, where all records of the stretch are hidden, is
the distribution of the last one.

Rounding. No term is negative, so relative errors add up: k + 8 roundings a record cover the products, the rounding of the step
and of its scale; redaction probabilities are exact floats. What underflows is less than ``TINY``, as probabilities of
private values below ``LEAST_PRIOR`` and budgets above ``LARGEST`` are left out.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Bools, Floats, Ints
from privopt.problems.redaction.data import RedactionData
from privopt.problems.redaction.track import U, shares
from privopt.problems.redaction.utility import UTILITY_BITS, distributions_between

TINY = 1e-250
COUNTED = 1e-200
"""A probability below this shows no ratio."""
LEAST_PRIOR = 1e-20
LARGEST = 46.0


@dataclass(frozen=True, eq=False)
class Side:
    """The records of a stretch on one side of a private one.

    Parameters
    ----------
    records
        Their places in the stretch, nearest first.
    steps : array (m, k, k)
        Rows are the values nearer to the private record.
    start : array (x, k)
        One row for each value of the private record.
    end : array (k,)
        What the values of the last record weigh where everything is hidden.
    alive : array (k,)
        The row from which the chance that all nearer records are hidden is walked, in the utility's distribution.
    moves : array (m, k, k)
        The steps of that walk.
    worth : array (m, k)
        What hiding costs by record and value, on that walk.
    """

    records: list[int]
    steps: Floats
    start: Floats
    end: Floats
    alive: Floats
    moves: Floats
    worth: Floats

    def tables(self, hidden: Floats) -> tuple[Floats, Floats]:
        """Before hiding at each distance, shape (b, m, x, k), and when all are hidden, (b, x); by redaction tables (b, t, k)."""
        rows = np.broadcast_to(self.start, (len(hidden), *self.start.shape))
        before = np.empty((len(hidden), len(self.records), *self.start.shape))
        for d, t in enumerate(self.records):
            before[:, d] = times(rows, self.steps[d])
            rows = before[:, d] * hidden[:, t, None, :]
        return before, summed(rows * self.end)

    def after(self, events: Ints, hidden: Floats) -> Floats:
        """Derivatives of the probabilities of events (b, q) to come, by what is hidden at each distance: (b, q, m, k).

        An event d k + v is the release of value v at distance d, the last one that all are hidden.
        """
        k = self.start.shape[1]
        weights = np.empty((*events.shape, len(self.records), k))
        now = np.where((events == len(self.records) * k)[..., None], self.end, 0.0)
        for d in range(len(self.records) - 1, -1, -1):
            weights[:, :, d] = now
            here = now * hidden[:, None, self.records[d], :] + (events[..., None] == d * k + np.arange(k))
            now = times(here, self.steps[d].T)
        return weights

    def costs(self, hidden: Floats) -> tuple[Floats, Floats]:
        """What a walk hides in all, (b,), and its derivatives by redaction probability, (b, m, k), of a sequential form."""
        m, k = self.worth.shape
        before, rows = np.empty((len(hidden), m, k)), np.broadcast_to(self.alive, (len(hidden), k))
        total = np.zeros(len(hidden))
        for d, t in enumerate(self.records):
            before[:, d] = times(rows, self.moves[d])
            rows = before[:, d] * hidden[:, t]
            total = total + summed(rows * self.worth[d])
        slopes, now = np.empty((len(hidden), m, k)), np.zeros((len(hidden), k))
        for d in range(m - 1, -1, -1):
            now = now + self.worth[d]
            slopes[:, d] = before[:, d] * now
            now = times(now * hidden[:, self.records[d]], self.moves[d].T)
        return total, slopes


@dataclass(frozen=True, eq=False)
class Secret:
    """A private record: its place, both sides of it, and the ordered pairs of its values, as places among the possible ones."""

    place: int
    sides: tuple[Side, Side]
    mine: NDArray[np.intp]
    theirs: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Stretch:
    """Records ``begin`` to ``end - 1`` of a chain, all others being hidden, at no cost.

    Parameters
    ----------
    begin, end
    free : array (t, k)
        Cells that may be released: possible values of records that are not private.
    weights : array (t, k)
        At most the cost of hiding a cell, in a local mechanism.
    secrets
        The private records.
    factor
        At least e^epsilon.
    sequential
        Whether what lies beyond a first release is free.
    """

    begin: int
    end: int
    free: Bools
    weights: Floats
    secrets: tuple[Secret, ...]
    factor: float
    sequential: bool

    @property
    def error(self) -> float:
        """Relative error of the probability of an output on one side, and more."""
        return 4 * ((len(self.free) + 4) * (int(self.free.shape[1]) + 8) + 64) * U

    def costs(self, hidden: Floats) -> tuple[Floats, Floats]:
        """At most the cost of redaction tables (b, t, k), and slopes (b, t, k) by which it rises at least.

        The cost is linear, or in the sequential form a sum of products of redaction probabilities: it lies above its
        tangents at smaller ones.
        """
        if not self.sequential:
            sums = (self.weights * hidden).sum(axis=(1, 2))
            return sums * (1 - self.free.size * 2 * U), np.broadcast_to(self.weights, hidden.shape)
        total, slopes = np.zeros(len(hidden)), np.zeros(hidden.shape)
        for side in self.secrets[0].sides:
            cost, rises = side.costs(hidden)
            total = total + cost
            slopes[:, side.records] = rises
        slopes[:, ~self.free] = 0.0
        return np.maximum(total * (1 - self.error) - TINY, 0.0), np.maximum(
            slopes * (1 - self.error) - TINY, 0.0
        )

    @classmethod
    def of(cls, data: RedactionData, begin: int, end: int) -> Stretch | None:
        """The stretch, with all private records in it; None where one is constant or outside, or floats do not reach."""
        from flint import arb, ctx

        can = data.supports[begin:end]
        places = [p for p in data.private if len(data.possible_values(p)) > 1]
        if len(places) < len(data.private) or not all(begin <= p < end for p in places):
            return None
        if not 0 < data.epsilon <= LARGEST:
            return None
        free = can.copy()
        free[[p - begin for p in places]] = False
        odds = distributions_between(data.chain, begin, end)
        chances = odds
        if data.utility_chain is not data.chain:
            chances = distributions_between(data.utility_chain, begin, end)
        if any(odds[p - begin, v] < LEAST_PRIOR for p in places for v in data.possible_values(p)):
            return None
        with ctx.workprec(UTILITY_BITS):
            factor = math.nextafter(float(arb(data.epsilon).exp().upper()), math.inf)
        share = shares(data)[begin:end]
        own = chances * share[:, None] * (1 - 8 * U)
        made = _Maker(data, begin, end - begin, odds, chances, share)
        secrets = tuple(made.secret(p - begin, data.possible_values(p)) for p in places)
        weights = np.where(free, own, 0.0)
        return cls(begin, end, free, weights, secrets, factor, data.form == "sequential")


@dataclass(frozen=True, eq=False)
class _Maker:
    """Sides, from the distributions of the records and their weights."""

    data: RedactionData
    begin: int
    size: int
    odds: Floats
    chances: Floats
    share: Floats

    def secret(self, place: int, values: NDArray[np.intp]) -> Secret:
        """The private record at a place."""
        pairs = np.array(list(itertools.permutations(range(len(values)), 2)), dtype=np.intp)
        return Secret(
            place, (self._left(place, values), self._right(place, values)), pairs[:, 0], pairs[:, 1]
        )

    def _left(self, place: int, values: NDArray[np.intp]) -> Side:
        k, records = self.odds.shape[1], list(range(place - 1, -1, -1))
        start = np.eye(k)[values] / self.odds[place][values][:, None]
        worth = self.share[records, None] * self.chances[records]
        steps, moves = (
            _stack([chain.step(self.begin + t).T for t in records], k)
            for chain in (self.data.chain, self.data.utility_chain)
        )
        return Side(records, steps, start, self.odds[0], np.ones(k), moves, worth)

    def _right(self, place: int, values: NDArray[np.intp]) -> Side:
        k, records = self.odds.shape[1], list(range(place + 1, self.size))
        worth = np.repeat(self.share[records, None], k, axis=1)
        steps, moves = (
            _stack([chain.step(self.begin + t - 1) for t in records], k)
            for chain in (self.data.chain, self.data.utility_chain)
        )
        return Side(records, steps, np.eye(k)[values], np.ones(k), self.chances[place], moves, worth)


def _stack(steps: list[Floats], k: int) -> Floats:
    return np.array(steps, dtype=np.float64).reshape(len(steps), k, k)


def times(rows: Floats, step: Floats) -> Floats:
    """``rows @ step`` term by term, so that every processor rounds alike.

    Examples
    --------
    >>> times(np.array([[1.0, 2.0]]), np.array([[1.0, 0.0], [1.0, 1.0]]))
    array([[3., 2.]])
    """
    total: Floats = rows[..., 0, None] * step[0]
    for u in range(1, step.shape[0]):
        total = total + rows[..., u, None] * step[u]
    return total


def summed(rows: Floats) -> Floats:
    """Sums over the last axis, term by term."""
    total: Floats = rows[..., 0]
    for u in range(1, rows.shape[-1]):
        total = total + rows[..., u]
    return total

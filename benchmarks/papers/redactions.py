"""Redaction by brute force: every output written out, leakage by definition, and SLSQP over all probabilities."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.models import MarkovChain
from privopt.problems.redaction.problem import Redaction
from privopt.solvers.common.slsqp import minimise


def binary_chain(rng: np.random.Generator) -> MarkovChain:
    """Stationary, two states, second eigenvalue of either sign."""
    alpha, beta = rng.uniform(0.02, 0.98, 2).tolist()
    return MarkovChain.normalised([[1 - alpha, alpha], [beta, 1 - beta]])


def any_chain(rng: np.random.Generator, k: int, length: int) -> MarkovChain:
    """Stationary, started from another distribution, or with a matrix for each step."""
    kind = int(rng.integers(3))
    if kind == 0:
        return MarkovChain.normalised(rng.dirichlet(np.ones(k), size=k))
    if kind == 1:
        return MarkovChain.normalised(rng.dirichlet(np.ones(k), size=k), initial=rng.dirichlet(np.ones(k)))
    steps = [rng.dirichlet(np.ones(k), size=k) for _ in range(max(1, length - 1))]
    return MarkovChain.normalised(steps, initial=rng.dirichlet(np.ones(k)))


def random_problem(rng: np.random.Generator, longest: int = 8) -> Redaction:
    """A binary chain of 2 to ``longest`` records, any of them private."""
    length = int(rng.integers(2, longest + 1))
    return Redaction(binary_chain(rng), length, int(rng.integers(length)), float(rng.uniform(0.1, 2.5)))


def table(rng: np.random.Generator, length: int, k: int, private: int) -> Floats:
    """Redaction probabilities with zeros and ones among them; the private record is hidden."""
    probabilities: Floats = rng.random((length, k))
    probabilities[rng.random((length, k)) < 0.2] = 0.0
    probabilities[rng.random((length, k)) < 0.2] = 1.0
    probabilities[private] = 1.0
    return probabilities


HIDDEN = -1


def one_by_one(chain: MarkovChain, private: int, table: Floats) -> float:
    """Leakage: for each of the (k+1)^n outputs, its distribution given each private value, by sums over its sequences.

    Massny, Bitar, Ye, El Rouayheb, "Between Close Enough to Reveal and Far Enough to Protect", Definition 1.
    """
    prior, largest = chain.marginal(private), 0.0
    for output in itertools.product(range(HIDDEN, chain.k), repeat=len(table)):
        joint = np.array([_probability(chain, table, output, private, x) for x in range(chain.k)])
        likelihoods = (joint[prior > 0] / prior[prior > 0]).tolist()
        if max(likelihoods) > 0:
            largest = max(
                largest, math.inf if min(likelihoods) <= 0 else math.log(max(likelihoods) / min(likelihoods))
            )
    return largest


def _probability(
    chain: MarkovChain, table: Floats, output: tuple[int, ...], private: int, value: int
) -> float:
    """Pr(output, private record has a value)."""
    distribution = chain.marginal(0)
    for t, shown in enumerate(output):
        if t:
            distribution = distribution @ chain.step(t - 1)
        if shown == HIDDEN:
            distribution = distribution * table[t]
        else:
            distribution = np.where(np.arange(chain.k) == shown, distribution * (1 - table[t]), 0.0)
        if t == private:
            distribution = np.where(np.arange(chain.k) == value, distribution, 0.0)
    return float(distribution.sum())


def all_at_once(chain: MarkovChain, private: int, table: Floats) -> float:
    """The same with arrays over all outputs."""
    return Outputs(chain, len(table), private).leakage(table)


@dataclass(frozen=True, eq=False)
class Outputs:
    """All outputs of n records at once; a hidden record is :data:`HIDDEN`."""

    chain: MarkovChain
    length: int
    private: int

    @cached_property
    def letters(self) -> NDArray[np.int64]:
        """``(outputs, length)``."""
        return np.array(list(itertools.product(range(HIDDEN, self.chain.k), repeat=self.length)))

    def likelihoods(self, tables: Floats) -> Floats:
        """Pr(output | private value) of tables ``(m, length, k)``: ``(m, possible values, outputs)``."""
        k, p = self.chain.k, self.private
        start = self.chain.marginal(p)
        possible = np.flatnonzero(start > 0)
        distribution = np.broadcast_to(self.chain.marginal(0), (1, 1, k))
        for t in range(self.length):
            distribution = distribution if t == 0 else distribution @ self.chain.step(t - 1)
            distribution = distribution * self._factor(tables, t)
            if t == p:
                distribution = (
                    distribution[:, None] * (np.eye(k) / start.clip(1e-300))[possible][None, :, None, :]
                )
        joint: Floats = distribution.sum(axis=-1)
        return joint

    def _factor(self, tables: Floats, t: int) -> Floats:
        """``(m, outputs, k)``, with an axis for private values once the walk has passed that record."""
        shown = self.letters[:, t]
        fits = shown[:, None] == np.arange(self.chain.k)
        kept = tables[:, None, t, :]
        factor = np.where((shown == HIDDEN)[:, None], kept, (1 - kept) * fits)
        return factor[:, None] if t > self.private else factor

    def leakage(self, table: Floats) -> float:
        """Largest log-ratio over pairs of private values."""
        likelihoods = self.likelihoods(table[None])[0]
        likelihoods = likelihoods[:, likelihoods.max(axis=0) > 0]
        with np.errstate(divide="ignore"):
            logs = np.log(likelihoods)
        return float((logs.max(axis=0) - logs.min(axis=0)).max(initial=0.0))


FEASIBLE = 1e-7
"""Nats by which an answer of SLSQP may miss the budget."""


class General:
    """SLSQP over all redaction probabilities, told nothing of the structure: the baseline of peers and timings.

    e^epsilon Pr(y | x') >= Pr(y | x) for every output y and ordered pair of private values, each row divided by what y
    has where all is hidden half of the time. The probability of an output is linear in each redaction probability, so
    that its slope is the difference between hiding a value always and never.
    """

    def __init__(self, problem: Redaction) -> None:
        (private,) = problem.private
        self._problem, self._n, self._k = problem, problem.length, problem.chain.k
        self._outputs = Outputs(problem.chain, self._n, private)
        self._free = np.flatnonzero(np.arange(self._n * self._k) // self._k != private)
        self.gain = problem.chain.marginals(self._n).ravel()[self._free] / self._n
        usual = self._outputs.likelihoods(self.table(np.full(len(self._free), 0.5))[None])[0].sum(axis=0)
        self._possible, self._usual = usual > 0, usual[usual > 0]

    def answers(self, starts: int, seed: int = 0) -> Iterator[Floats]:
        """Where SLSQP ends from each of several starts: free probabilities, which may miss a row a little."""
        size = len(self._free)
        for start in (np.full(size, 0.95), *np.random.default_rng(seed).random((starts - 1, size))):
            yield minimise(self._cost, self.slack, start)

    def best(self, starts: int, seed: int = 0) -> float:
        """The largest utility found, 0 if no start led to a private mechanism."""
        largest = 0.0
        for part in self.answers(starts, seed):
            largest = max(largest, self._utility(self.table(np.where(part > 1 - 1e-6, 1.0, part))))
        return largest

    def _utility(self, table: Floats) -> float:
        """Utility, after moving towards redaction what misses the budget: rare outputs may by far."""
        mechanism = self._problem.answer(table)
        if self._problem.evaluate(mechanism).leakage > self._problem.epsilon + FEASIBLE:
            mechanism = self._problem.repair(mechanism, 0.0)
        reading = self._problem.evaluate(mechanism)
        return reading.utility if reading.leakage <= self._problem.epsilon + FEASIBLE else 0.0

    def table(self, part: Floats) -> Floats:
        """Redaction probabilities (n, k), 1 at the private record."""
        full = np.ones(self._n * self._k)
        full[self._free] = part
        return full.reshape(self._n, self._k)

    def _cost(self, part: Floats) -> tuple[float, Floats]:
        return float(self.gain @ part - self.gain.sum()), self.gain

    def slack(self, part: Floats) -> tuple[Floats, Floats]:
        """The rows, all to be at least 0, and their slopes."""
        tables = [self.table(part)]
        for i in range(len(part)):
            for value in (1.0, 0.0):
                moved = part.copy()
                moved[i] = value
                tables.append(self.table(moved))
        likelihoods = self._outputs.likelihoods(np.array(tables))[:, :, self._possible] / self._usual
        pairs = [(a, b) for a in range(likelihoods.shape[1]) for b in range(likelihoods.shape[1]) if a != b]
        ratio = math.exp(self._problem.epsilon)
        rows = np.concatenate([ratio * likelihoods[:, a] - likelihoods[:, b] for a, b in pairs], axis=1)
        return rows[0], (rows[1::2] - rows[2::2]).T

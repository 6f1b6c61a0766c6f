"""A general non-linear solver over all redaction probabilities, told nothing of the structure."""

from __future__ import annotations

import math

import numpy as np

from privopt.benchmarks.measurements._redaction_outputs import Outputs
from privopt.problems._redaction_side import Floats
from privopt.problems.redaction import Redaction
from privopt.solvers.common.slsqp import minimise

FEASIBLE = 1e-7
"""Nats by which an answer may miss the budget."""


class General:
    """SLSQP from several starts, with one constraint for each output and ordered pair of private values.

    The probability of an output is linear in each redaction probability, so that its slope is the
    difference between hiding a value always and never.
    """

    def __init__(self, problem: Redaction) -> None:
        (self._private,) = problem.private
        self._problem, self._n, self._k = problem, problem.length, problem.chain.k
        self._outputs = Outputs(problem.chain, problem.length, self._private)
        self._free = np.flatnonzero(np.arange(self._n * self._k) // self._k != self._private)
        law = problem.chain.marginals(self._n) / self._n
        self._gain = law.ravel()[self._free]
        half = self._outputs.given(self._table(np.full(len(self._free), 0.5))[None])[0]
        self._kept = half.max(axis=0) > 0
        self._scale = half.sum(axis=0)[self._kept]

    def best(self, starts: int, seed: int = 0) -> float:
        """The largest utility found, 0 if no start led to a private mechanism."""
        rng, found = np.random.default_rng(seed), 0.0
        for start in (np.full(len(self._free), 0.95), *rng.random((starts - 1, len(self._free)))):
            part = minimise(self._cost, self._slack, start)
            table = self._table(np.where(part > 1 - 1e-6, 1.0, part))
            found = max(found, self._private_utility(table))
        return found

    def _private_utility(self, table: Floats) -> float:
        """Utility, after moving towards redaction what misses the budget: rare outputs may by far."""
        mechanism = self._problem.answer(table)
        if self._problem.evaluate(mechanism).leakage > self._problem.epsilon + FEASIBLE:
            mechanism = self._problem.repair(mechanism, 0.0)
        reading = self._problem.evaluate(mechanism)
        return reading.utility if reading.leakage <= self._problem.epsilon + FEASIBLE else 0.0

    def _table(self, part: Floats) -> Floats:
        full = np.ones(self._n * self._k)
        full[self._free] = part
        return full.reshape(self._n, self._k)

    def _cost(self, part: Floats) -> tuple[float, Floats]:
        return float(self._gain @ part - self._gain.sum()), self._gain

    def _slack(self, part: Floats) -> tuple[Floats, Floats]:
        """e^epsilon Pr(y | x') - Pr(y | x) for all y, scaled, and its Jacobian."""
        tables = [self._table(part)]
        for cell in self._free:
            for value in (1.0, 0.0):
                changed = tables[0].ravel().copy()
                changed[cell] = value
                tables.append(changed.reshape(self._n, self._k))
        rows = self._rows(self._outputs.given(np.array(tables)))
        return rows[0], (rows[1::2] - rows[2::2]).T

    def _rows(self, given: Floats) -> Floats:
        ratio = math.exp(self._problem.epsilon)
        scaled = given[:, :, self._kept] / self._scale
        pairs = [(x, y) for x in range(scaled.shape[1]) for y in range(scaled.shape[1]) if x != y]
        return np.concatenate([ratio * scaled[:, y] - scaled[:, x] for x, y in pairs], axis=1)

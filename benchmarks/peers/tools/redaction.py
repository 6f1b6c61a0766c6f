"""Redaction over all probabilities by SciPy's SLSQP: a row for every output and pair of values of the private record."""

from __future__ import annotations

import math
import time

import numpy as np

from privopt.benchmarks.papers.redactions import Outputs
from privopt.benchmarks.peers.peer import PeerAnswer, register_peer
from privopt.problems._redaction_side import Floats
from privopt.problems.redaction import Redaction
from privopt.solvers.common.slsqp import minimise

STARTS, MOST = 10, 5
MISSED = 1e-7
"""By how much a row may be missed, as such solvers do."""


def _unfit(problem: Redaction) -> str | None:
    if problem.form != "local" or len(problem.private) != 1 or problem.weights is not None:
        return "it is written for one private record, no weights and the local form"
    return None if problem.length <= MOST else f"the outputs of more than {MOST} records are too many rows"


@register_peer("redaction", "slsqp", ("scipy",), _unfit)
def slsqp(problem: Redaction, seconds: float) -> PeerAnswer:
    """The best of several starts that keeps its rows to 1e-7, with exact slopes."""
    rows = _Rows(problem)
    begun, rng, best = time.monotonic(), np.random.default_rng(0), np.ones(len(rows.gain))
    for start in (np.full(len(best), 0.95), *rng.random((STARTS - 1, len(best)))):
        part = minimise(rows.cost, rows.slack, start)
        if rows.slack(part)[0].min() >= -MISSED and rows.gain @ part < rows.gain @ best:
            best = part
        if time.monotonic() - begun > seconds / 2:
            break
    return PeerAnswer(problem.answer(rows.table(best)), float(rows.gain.sum() - rows.gain @ best))


class _Rows:
    """e^epsilon Pr(y | x') >= Pr(y | x) for all y, each divided by what y has where all is hidden half of the time."""

    def __init__(self, problem: Redaction) -> None:
        self._n, self._k, self._up = problem.length, problem.chain.k, math.exp(problem.epsilon)
        self._outputs = Outputs(problem.chain, self._n, problem.private[0])
        self._free = np.flatnonzero(np.arange(self._n * self._k) // self._k != problem.private[0])
        self.gain = problem.chain.marginals(self._n).ravel()[self._free] / self._n
        usual = self._outputs.given(self.table(np.full(len(self._free), 0.5))[None])[0].sum(axis=0)
        self._possible, self._usual = usual > 0, usual[usual > 0]

    def table(self, part: Floats) -> Floats:
        """Redaction probabilities (n, k), 1 at the private record."""
        full = np.ones(self._n * self._k)
        full[self._free] = part
        return full.reshape(self._n, self._k)

    def cost(self, part: Floats) -> tuple[float, Floats]:
        """The share that is hidden, and its slope."""
        return float(self.gain @ part), self.gain

    def slack(self, part: Floats) -> tuple[Floats, Floats]:
        """The rows, and their slopes: a probability of an output is linear in each redaction probability."""
        tables = [self.table(part)]
        for i in range(len(part)):
            for value in (1.0, 0.0):
                moved = part.copy()
                moved[i] = value
                tables.append(self.table(moved))
        given = self._outputs.given(np.array(tables))[:, :, self._possible] / self._usual
        pairs = [(a, b) for a in range(given.shape[1]) for b in range(given.shape[1]) if a != b]
        rows = np.concatenate([self._up * given[:, a] - given[:, b] for a, b in pairs], axis=1)
        return rows[0], (rows[1::2] - rows[2::2]).T

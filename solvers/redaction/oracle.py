"""The optimum of small redaction problems by brute force: every support, every output enumerated."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.redaction.problem import Redaction
from privopt.solvers.common.slsqp import minimise
from privopt.solvers.redaction.reach import refusal

MAX_RECORDS = 4
MAX_CELLS = 8
LARGEST = 1e300


@register
@dataclass(frozen=True)
class Oracle(Solver[Redaction]):
    """Over every set of values that may ever be released, a general non-linear solver on all outputs.

    Uses none of the structure of the problem: the probability of each of the (k+1)^n outputs is a sum
    over all sequences, and SLSQP maximises the utility from several starts for each support.
    """

    solves: ClassVar = Redaction
    name: ClassVar[str] = "oracle"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.ORACLE
    """Brute force."""

    starts: int = 3

    def cost(self, problem: Redaction) -> float:
        """Two to the number of cells runs of SLSQP."""
        return 0.05 * self.starts * 2.0 ** ((problem.length - 1) * problem.chain.k)

    def refuse(self, problem: Redaction) -> str | None:
        """Refuse beyond four records or eight free cells."""
        if (reason := refusal(problem, local="it searches local mechanisms")) is not None:
            return reason
        cells = (problem.length - len(problem.private)) * problem.chain.k
        if problem.length > MAX_RECORDS or cells > MAX_CELLS:
            return (
                f"it enumerates: at most {MAX_RECORDS} records and {MAX_CELLS} free probabilities, "
                f"not {problem.length} and {cells}"
            )
        return None

    def run(self, problem: Redaction, budget: Budget) -> Proposal:
        """Propose the best point over all supports."""
        space = _Space(problem)
        rng = np.random.default_rng(budget.seed)
        best, best_value, runs = problem.safe().probabilities, 0.0, 0
        supports = sorted(
            itertools.product((0, 1), repeat=space.size), key=lambda s: -space.value(1.0 - np.array(s))
        )
        for cells in supports:
            shown = np.flatnonzero(cells)
            if not len(shown) or space.value(1.0 - np.array(cells)) <= best_value + 1e-12:
                continue
            support = space.support(shown)
            for start in (
                np.full(len(shown), 0.5),
                np.full(len(shown), 0.95),
                *rng.random((self.starts, len(shown))),
            ):
                if budget.remaining == 0:
                    break
                runs += 1
                free = support.maximise(start)
                if free is not None and space.value(free) > best_value:
                    best, best_value = space.table(free), space.value(free)
        return Proposal(problem.answer(best), stats={"runs": runs})


class _Space:
    """Redaction probabilities of the records that are not private, as one vector of (record, value) cells."""

    def __init__(self, problem: Redaction) -> None:
        self.problem, self.k, n = problem, problem.chain.k, problem.length
        self.open = [t for t in range(n) if t not in problem.private]
        self.size = len(self.open) * self.k
        self.gain = problem.weighted_marginals[self.open].ravel() / problem.record_weights.sum()
        sequences = np.array(list(itertools.product(range(self.k), repeat=n)))
        self.probabilities, self.letters = (
            problem.chain.marginal(0)[sequences[:, 0]],
            sequences[:, self.open].T,
        )
        for t in range(n - 1):
            self.probabilities *= problem.chain.step(t)[sequences[:, t], sequences[:, t + 1]]
        self.outputs = np.array(list(itertools.product(range(-1, self.k), repeat=len(self.open))))
        self.contrasts = np.concatenate([self._contrasts(sequences[:, p]) for p in problem.private])

    def _contrasts(self, value: NDArray[np.int64]) -> Floats:
        """Rows that turn Pr(sequence, y) into e^epsilon Pr(y | x') - Pr(y | x), times Pr(x), one an ordered pair."""
        ratio = math.exp(min(self.problem.epsilon, 700.0))
        prior = np.bincount(value, weights=self.probabilities, minlength=self.k)
        pairs = itertools.permutations([x for x in range(self.k) if prior[x] > 0], 2)
        # A secret so rare that the factor overflows has its rows at the largest float.
        factors = {(a, b): min(ratio * (float(prior[a]) / float(prior[b])), LARGEST) for a, b in pairs}
        rows = [factor * (value == b) - 1.0 * (value == a) for (a, b), factor in factors.items()]
        return np.array(rows).reshape(-1, len(value))

    def value(self, free: Floats) -> float:
        """Utility."""
        return float(self.gain @ (1.0 - free))

    def table(self, free: Floats) -> Floats:
        """The full table of redaction probabilities."""
        full = np.ones((self.problem.length, self.k))
        full[self.open] = free.reshape(len(self.open), -1)
        return np.clip(full, 0.0, 1.0)

    def support(self, shown: NDArray[np.intp]) -> _Support:
        """The outputs that can occur when only some cells are ever shown."""
        cells = np.arange(len(self.open)) * self.k + self.outputs
        return _Support(self, shown, self.outputs[((self.outputs < 0) | np.isin(cells, shown)).all(axis=1)])


class _Support:
    """The constraints of one support: one row for every output, private record and ordered pair."""

    def __init__(self, space: _Space, shown: NDArray[np.intp], outputs: NDArray[np.int64]) -> None:
        self.space, self.shown = space, shown
        self.hidden = (outputs < 0)[:, :, None]
        self.fits = outputs[:, :, None] == space.letters[None]
        # Rare outputs count as much as common ones: rows are divided by what they have at one half.
        self.scale = self._joint(self._factors(self.full(np.full(len(shown), 0.5)))).sum(axis=1)
        self.kept = self.scale > 0

    def full(self, part: Floats) -> Floats:
        """All cells, from the shown ones."""
        free = np.ones(self.space.size)
        free[self.shown] = np.clip(part, 0.0, 1.0)
        return free

    def _factors(self, free: Floats) -> Floats:
        """Chance of each cell of each output, by sequence: (outputs, records, sequences)."""
        places = np.arange(len(self.space.open))[:, None] * self.space.k + self.space.letters
        redacted = free[places][None]
        return np.asarray(np.where(self.hidden, redacted, (1.0 - redacted) * self.fits))

    def _joint(self, factors: Floats) -> Floats:
        return np.asarray(self.space.probabilities * factors.prod(axis=1))

    def _rows(self, joint: Floats) -> Floats:
        with np.errstate(all="ignore"):  # rows of values that never occur are not kept
            return np.asarray(((joint @ self.space.contrasts.T) / self.scale[:, None])[self.kept].ravel())

    def slack(self, part: Floats) -> Floats:
        """e^epsilon Pr(y | x') - Pr(y | x), scaled; private where nothing is negative."""
        return self._rows(self._joint(self._factors(self.full(part))))

    def jacobian(self, part: Floats) -> Floats:
        """Derivatives of the slack in the shown cells."""
        factors, columns = self._factors(self.full(part)), []
        for cell in self.shown.tolist():
            i, state = divmod(cell, self.space.k)
            others = self._joint(np.delete(factors, i, axis=1))
            slope = (self.space.letters[i] == state) * np.where(
                self.hidden[:, i], 1.0, -1.0 * self.fits[:, i]
            )
            columns.append(self._rows(others * slope))
        return np.array(columns).T

    def maximise(self, start: Floats) -> Floats | None:
        """A local maximum over the shown cells, or None where SLSQP finds no feasible point."""
        if self.slack(np.zeros(len(start))).min(initial=0.0) >= -1e-12:
            return self.full(np.zeros(len(start)))  # nothing of this support beats showing it always
        part = minimise(
            lambda x: (-self.space.value(self.full(x)), self.space.gain[self.shown]),
            lambda x: (self.slack(x), self.jacobian(x)),
            start,
        )
        part = np.where(part > 1.0 - 1e-6, 1.0, part)
        if self.slack(part).min(initial=0.0) < -1e-9:
            return None
        return self.full(part)

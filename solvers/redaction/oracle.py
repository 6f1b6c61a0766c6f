"""The slow and obvious optimum of small redaction questions: every support, every output enumerated."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from privopt._registry import register
from privopt._solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.redaction import Redaction

Floats = NDArray[np.float64]
MAX_RECORDS = 4
MAX_CELLS = 8


@register
@dataclass(frozen=True)
class Oracle(Solver[Redaction]):
    """Over every set of values that may ever be released, a general non-linear solver on all outputs.

    Uses none of the structure of the problem: the probability of each of the (k+1)^n outputs is a sum
    over all sequences, and SLSQP maximises the utility from several starts for each support.
    """

    solves: ClassVar = Redaction
    name: ClassVar[str] = "oracle"
    interruptible: ClassVar[bool] = True

    starts: int = 3

    def guarantee(self, problem: Redaction) -> Guarantee:
        """Slow and obvious."""
        return Guarantee.ORACLE

    def cost(self, problem: Redaction) -> float:
        """Two to the number of cells runs of SLSQP."""
        return 0.05 * self.starts * 2.0 ** ((problem.length - 1) * problem.chain.k)

    def refuse(self, problem: Redaction) -> str | None:
        """Refuse beyond four records or eight free cells."""
        if problem.form != "local":
            return f"it searches local mechanisms, this problem asks for form {problem.form!r}"
        cells = (problem.length - len(problem.private)) * problem.chain.k
        if problem.length > MAX_RECORDS or cells > MAX_CELLS:
            return f"it enumerates: at most {MAX_RECORDS} records and {MAX_CELLS} free probabilities, not {cells}"
        return None

    def run(self, problem: Redaction, budget: Budget) -> Proposal:
        """Propose the best point found over all supports."""
        space = _Space(problem)
        rng = np.random.default_rng(budget.seed)
        best, best_value, runs = problem.safe().probabilities, 0.0, 0
        supports = sorted(
            itertools.product((0, 1), repeat=space.size), key=lambda s: -space.value(1.0 - np.array(s))
        )
        for support in supports:
            shown = np.flatnonzero(support)
            if not len(shown) or space.value(1.0 - np.array(support)) <= best_value + 1e-12:
                continue
            for start in (
                np.full(len(shown), 0.5),
                np.full(len(shown), 0.95),
                *rng.random((self.starts, len(shown))),
            ):
                if budget.remaining == 0:
                    break
                runs += 1
                free = space.maximise(shown, start)
                if free is not None and space.value(free) > best_value:
                    best, best_value = space.table(free), space.value(free)
        return Proposal(problem.answer(best), stats={"runs": runs})


class _Space:
    """Redaction probabilities of the records that are not private, as one vector."""

    def __init__(self, problem: Redaction) -> None:
        self.problem, k, n = problem, problem.chain.k, problem.length
        self.open = [t for t in range(n) if t not in problem.private]
        self.size = len(self.open) * k
        marginals = problem.chain.marginals(n) * problem.record_weights[:, None]
        self.gain = marginals[self.open].ravel() / problem.record_weights.sum()
        self.sequences = np.array(list(itertools.product(range(k), repeat=n)))
        law = problem.chain.marginal(0)[self.sequences[:, 0]]
        for t in range(n - 1):
            law = law * problem.chain.step(t)[self.sequences[:, t], self.sequences[:, t + 1]]
        self.law = law
        self.outputs = list(itertools.product(range(-1, k), repeat=len(self.open)))

    def value(self, free: Floats) -> float:
        """Utility."""
        return float(self.gain @ (1.0 - free))

    def table(self, free: Floats) -> Floats:
        """The full table of redaction probabilities."""
        full = np.ones((self.problem.length, self.problem.chain.k))
        full[self.open] = free.reshape(len(self.open), -1)
        return np.clip(full, 0.0, 1.0)

    def slack(self, free: Floats, shown: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """e^epsilon - ratio-like slacks of every private record, pair and output, with their Jacobian.

        e^epsilon Pr(y | x') - Pr(y | x) >= 0 for every output y that the support allows, divided by what the
        output would have with every shown cell at one half, so that rare outputs count as much.
        """
        k, allowed = self.problem.chain.k, set(shown.tolist())
        values, slopes = [np.empty(0)], [np.empty((0, self.size))]
        for output in self.outputs:
            if any(v >= 0 and i * k + v not in allowed for i, v in enumerate(output)):
                continue
            half = np.ones(self.size)
            half[shown] = 0.5
            scale = self._joint(output, half).sum()
            if scale > 0:
                values.append(self._contrast(self._joint(output, free)) / scale)
                slopes.append(self._jacobian(output, free) / scale)
        return np.concatenate(values), np.concatenate(slopes)

    def _factors(self, output: tuple[int, ...], free: Floats) -> list[Floats]:
        """Chance of each released or redacted cell of an output, for every sequence."""
        found = []
        for i, v in enumerate(output):
            letter = self.sequences[:, self.open[i]]
            redacted = free[i * self.problem.chain.k + letter]
            found.append(redacted if v < 0 else (1.0 - redacted) * (letter == v))
        return found

    def _joint(self, output: tuple[int, ...], free: Floats) -> Floats:
        return self.law * np.prod(self._factors(output, free), axis=0)

    def _jacobian(self, output: tuple[int, ...], free: Floats) -> Floats:
        factors, k = self._factors(output, free), self.problem.chain.k
        columns = []
        for i, v in enumerate(output):
            others = self.law * np.prod([f for j, f in enumerate(factors) if j != i], axis=0)
            letter = self.sequences[:, self.open[i]]
            for state in range(k):
                slope = (letter == state) * (1.0 if v < 0 else -1.0 if v == state else 0.0)
                columns.append(self._contrast(others * slope))
        return np.array(columns).T

    def _contrast(self, joint: Floats) -> Floats:
        """e^epsilon Pr(y | x') - Pr(y | x) for every private record and ordered pair; linear in the joint."""
        ratio, rows = math.exp(min(self.problem.epsilon, 700.0)), []
        for p in self.problem.private:
            prior = np.bincount(self.sequences[:, p], weights=self.law)
            given = np.bincount(self.sequences[:, p], weights=joint)[prior > 0] / prior[prior > 0]
            rows += [ratio * b - a for x, a in enumerate(given) for y, b in enumerate(given) if x != y]
        return np.array(rows)

    def maximise(self, shown: NDArray[np.intp], start: Floats) -> Floats | None:
        """A local maximum over the shown cells, or None where SLSQP finds no feasible point."""
        from scipy.optimize import Bounds, NonlinearConstraint, minimize

        def full(part: Floats) -> Floats:
            free = np.ones(self.size)
            free[shown] = np.clip(part, 0.0, 1.0)
            return free

        released = full(np.zeros(len(shown)))
        if self.slack(released, shown)[0].min(initial=0.0) >= -1e-15:
            return released  # nothing of this support beats showing it always
        found = minimize(
            lambda part: -self.value(full(part)),
            start,
            jac=lambda part: self.gain[shown],
            method="SLSQP",
            bounds=Bounds(0.0, 1.0),
            constraints=NonlinearConstraint(
                lambda part: self.slack(full(part), shown)[0],
                0.0,
                np.inf,
                jac=lambda part: self.slack(full(part), shown)[1][:, shown],
            ),
            options={"maxiter": 300, "ftol": 1e-14},
        )
        free = full(found.x)
        return free if self.slack(free, shown)[0].min(initial=0.0) >= -1e-9 else None

"""Proofs about log-lifts that may be broken with a probability: the kind of file that checker_exceptions.py checks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from privopt.arrays import Floats
from privopt.errors import InvalidProblem
from privopt.problems.local_information_privacy.data import LocalInformationPrivacyData
from privopt.proof import checker, checker_exceptions
from privopt.proof.draft import Draft, Line, Solved, release_line, weights_of
from privopt.proof.information import SYSTEMS
from privopt.proof.linear import claim_cost, enclose
from privopt.proof.prices import DIGITS, LARGEST, TOLERANCE, Cells, comparisons
from privopt.proof.rationals import GUARD, floor, rows_written, written

BITS = 192
"""Bits of the logarithms of an information."""

MOST = 6
"""Secrets whose sets are all tried."""

UNPROVED = "how much better any mechanism with this probability of exceptions could be"


def exceptions(data: LocalInformationPrivacyData, solution: Solved) -> Draft:
    """Bounds of log-lifts that hold but for a probability of delta.

    Raises
    ------
    InvalidProblem
        If no bound is asked for, the cost is a function, or the mechanism is nearer to a level than can be written.
    """
    if data.cost is not None:
        raise InvalidProblem("a cost that is a function of yours is not covered by proof files")
    named = {"upper": data.upper, "lower": data.lower}
    finite: dict[str, float | Fraction] = {k: Fraction(v) for k, v in named.items() if v < math.inf}
    secret, useful = weights_of(data.observation)
    problem: Line = {"distribution": secret, "delta": written(data.delta)}
    if useful is not None:
        problem["useful"] = useful
    draft = Draft("exceptions", problem, release_line(data.observation, solution.mechanism), {}, GUARD)
    enclose(draft, finite, _keeps)
    if data.matrix is not None:
        draft.problem["loss"] = rows_written(data.matrix.tolist())
        claim_cost(draft)
    else:
        draft.bits = max(draft.bits, BITS)
        draft.claim["information"] = written(max(Fraction(0), Fraction(solution.certificate.utility[0])))
    _add_bound(draft, solution.dual)
    return draft


def _keeps(draft: Draft) -> None:
    """Let the checker see whether the exceptions are rare enough at these levels."""
    checker_exceptions.check(draft.problem, draft.mechanism, {}, [], draft.bits)


def _add_bound(draft: Draft, dual: object) -> None:
    """Prices of a linear program over releases for each set of exceptions, or those of a solution for an information."""
    line = _priced(draft) if "cost" in draft.claim else _of_information(draft, dual)
    if line is None:
        draft.left_out.append(UNPROVED)
        return
    problem, above = draft.problem, checker.levels(draft.problem["levels"], draft.bits)[1]
    if "cost" in draft.claim:
        bound = floor(checker_exceptions.least_cost(problem, above, line))
    else:
        bound = -floor(-checker_exceptions.most_said(problem, above, line, draft.bits))
    draft.proofs.append({**line, "bound": written(bound)})


def _of_information(draft: Draft, dual: object) -> Line | None:
    """The prices of a solution; None if they are of another kind, or the vertices too many for a checker."""
    if not isinstance(dual, dict) or dual.get("kind") != "spending":
        return None
    line: Line = {"prices": [written(v) for v in dual["pi"]], "price": written(dual["price"])}
    sides, count, n = len(draft.problem["levels"]), _secrets(draft), len(line["prices"])
    systems = 0
    for size in range(count + 1):
        rows = sides * (count - size)
        vertices = sum(math.comb(n, k) * math.comb(rows, k - 1) for k in range(1, min(count, n) + 1))
        systems += math.comb(count, size) * vertices
    return line if systems <= SYSTEMS else None


def _secrets(draft: Draft) -> int:
    return sum(map(any, draft.problem["distribution"]))


def _priced(draft: Draft) -> Line | None:
    """The dual of the least cost over P(y, T | w), y kept to the levels of the secrets outside T; None if it is too large."""
    problem, above = draft.problem, checker.levels(draft.problem["levels"], draft.bits)[1]
    if _secrets(draft) > MOST:
        return None
    plain = {**problem, "notion": "lip"}
    program = _Program(
        np.array([[float(c) for c in row] for row in checker.costs(problem)]),
        checker_exceptions.sets(problem),
        checker.compared(plain)[1],
        comparisons(plain, above),
        np.array(
            [
                [float(p) for p in checker_exceptions.shares(problem, some)]
                for some in checker_exceptions.sets(problem)
            ]
        ),
        float(checker.number(problem["delta"])),
    )
    return program.line()


@dataclass(frozen=True)
class _Program:
    """Least cost over P(y, T | w): for each set T of secrets, the comparisons of the others, and what T spends of delta.

    Parameters
    ----------
    cost : float array, shape (n, m)
    parts : list of tuples
        The sets.
    pairs, rows : list
        The comparisons, and their coefficients of P(y | w).
    spent : float array, shape (sets, n)
        P(T, w).
    delta : float
    """

    cost: Floats
    parts: list[tuple[int, ...]]
    pairs: list[tuple[int, int, str]]
    rows: list[dict[int, float]]
    spent: Floats
    delta: float

    def places(self) -> list[tuple[int, int]]:
        """The comparisons for each set, by number."""
        return [
            (t, place)
            for t, some in enumerate(self.parts)
            for place, (i, j, _) in enumerate(self.pairs)
            if i not in some and j not in some
        ]

    def matrix(self) -> Any:
        """Comparisons by release, then what is spent; None if they are too many."""
        from scipy.sparse import csr_matrix

        (n, m), places, cells = self.cost.shape, self.places(), Cells([], [], [])
        if sum(len(self.rows[place]) for _, place in places) * m > LARGEST:
            return None
        for at, (t, place) in enumerate(places):
            for y in range(m):
                for w, v in self.rows[place].items():
                    cells.add(at * m + y, (t * n + w) * m + y, v / _size(self.rows[place]))
        for column, value in enumerate(np.repeat(self.spent.ravel(), m).tolist()):
            cells.add(len(places) * m, column, value)
        shape = len(places) * m + 1, len(self.parts) * n * m
        return csr_matrix((cells.values, (cells.rows, cells.columns)), shape=shape)

    def line(self) -> Line | None:
        """Prices of delta and of the comparisons for each set."""
        import scipy.optimize
        from scipy.sparse import csr_matrix

        linprog: Any = scipy.optimize.linprog
        (n, m), upper, count = self.cost.shape, self.matrix(), len(self.parts)
        if upper is None:
            return None
        columns = np.arange(count * n * m)
        sums = csr_matrix((np.ones(len(columns)), (np.tile(np.repeat(np.arange(n), m), count), columns)))
        unit = float(np.abs(self.cost).max()) or 1.0
        solved = linprog(
            np.tile(self.cost.ravel() / unit, count),
            A_ub=upper, b_ub=np.append(np.zeros(upper.shape[0] - 1), self.delta), A_eq=sums, b_eq=np.ones(n),
            options={"dual_feasibility_tolerance": TOLERANCE, "primal_feasibility_tolerance": TOLERANCE}, method="highs",
        )  # fmt: skip
        if solved.status != 0:
            return None
        worth = np.maximum(0.0, -np.asarray(solved.ineqlin.marginals)) * unit
        prices: list[list[Any]] = [[] for _ in self.parts]
        for at, (t, place) in enumerate(self.places()):
            values = worth[at * m : (at + 1) * m] / _size(self.rows[place])
            if values.any():
                prices[t].append([place, [written(floor(v, DIGITS)) for v in values.tolist()]])
        return {"price": written(floor(float(worth[-1]), DIGITS)), "prices": prices}


def _size(row: dict[int, float]) -> float:
    """The largest coefficient."""
    return max(map(abs, row.values()))

"""Prices that prove how little a private mechanism can cost: the dual of a linear program, made anew by HiGHS in floats.

Whatever prices come of it, a checker charges them exactly, so that what they prove is proved.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from privopt.arrays import Floats
from privopt.proof import checker
from privopt.proof.rationals import floor, written

LARGEST = 400_000
"""Coefficients of a linear program that is still solved."""

DIGITS = 64
"""Bits of a price."""

TOLERANCE = 1e-10
"""What the linear program may miss its constraints by, the least that HiGHS takes."""


def priced(problem: dict[str, Any], above: dict[str, Fraction]) -> dict[str, Any] | None:
    """A proof line without its bound, for the cost of a linear problem; None if the program is too large or not solved."""
    ends: list[tuple[float, float | None]] | None = None
    if "prescribed" in problem:
        ends = [
            (float(checker.number(a)), float(checker.number(b)))
            for row in problem["prescribed"]
            for a, b in row
        ]
    worst = bool(problem.get("worst"))
    program = Program(
        np.array([[float(c) for c in row] for row in checker.costs(problem)]),
        comparisons(problem, above),
        float(checker.number(problem["slack"])),
        ends,
        worst,
    )
    marginals = program.marginals()
    if marginals is None:
        return None
    line: dict[str, Any] = {"prices": program.prices(marginals)}
    if worst:
        share = [floor(v, DIGITS) for v in marginals[-len(program.cost) :].tolist()]
        if not sum(share):
            return None
        line["weights"] = [written(v / sum(share)) for v in share]
    return line


def comparisons(problem: dict[str, Any], above: dict[str, Fraction]) -> list[dict[int, float]]:
    """Coefficients of the inputs in each comparison."""
    hypotheses, pairs = checker.compared(problem)
    rows = []
    for i, j, name in pairs:
        row, factor = defaultdict[int, float](float), float(above[name])
        for h, sign in ((hypotheses[i], 1.0), (hypotheses[j], -factor)):
            for w, v in h.items():
                row[w] += sign * (v / sum(h.values()))
        rows.append(dict(row))
    return rows


@dataclass(frozen=True)
class Program:
    """Least cost over P(y | w), then over what each comparison uses of the slack, then over the worst cost.

    Parameters
    ----------
    cost : float array, shape (n, m)
    comparisons : list of dict
        Coefficients of P(y | w) by w, the same for every y: what must be at most 0.
    slack : float
        What the positive parts of a comparison may add up to.
    ends : list of pairs, optional
        What each probability may be, row by row.
    worst : bool
        Whether the worst cost counts.
    kept : float array, shape (z, n), optional
        Rows v of which the sum of v(w) P(y | w) over w is v(y).
    """

    cost: Floats
    comparisons: list[dict[int, float]]
    slack: float = 0.0
    ends: list[tuple[float, float | None]] | None = None
    worst: bool = False
    kept: Floats | None = None

    def prices(self, marginals: Floats) -> list[list[Any]]:
        """The comparisons that have a price, by number, with the price for each release."""
        m, prices = self.cost.shape[1], []
        for p, row in enumerate(self.comparisons):
            values = marginals[p * m : (p + 1) * m] / max(map(abs, row.values()))
            if values.any():
                prices.append([p, [written(floor(v, DIGITS)) for v in values.tolist()]])
        return prices

    def marginals(self) -> Floats | None:
        """What each inequality is worth: comparisons by release, sums of slacks, costs of the inputs; None if it is too large."""
        solved = self.solved()
        return None if solved is None else solved[0]

    def solved(self) -> tuple[Floats, Floats] | None:
        """The same, and prices (z, m) of what is kept, of either sign."""
        import scipy.optimize
        from scipy.sparse import csr_matrix

        linprog: Any = scipy.optimize.linprog

        n, m = self.cost.shape
        if m * (sum(map(len, self.comparisons)) + n) > LARGEST:
            return None
        cells, right, unit = Cells([], [], []), list[float](), float(np.abs(self.cost).max()) or 1.0
        extra, worst = len(self.comparisons) * m * bool(self.slack), self.worst
        for row in self.comparisons:
            scale = max(map(abs, row.values()))
            for y in range(m):
                for w, v in row.items():
                    cells.add(len(right), w * m + y, v / scale)
                if extra:
                    cells.add(len(right), n * m + len(right), -1.0 / scale)
                right.append(0.0)
        for p in range(extra // m):
            for y in range(m):
                cells.add(len(right), n * m + p * m + y, 1.0)
            right.append(self.slack)
        for w in range(n * worst):
            for y in range(m):
                cells.add(len(right), w * m + y, self.cost[w, y] / unit)
            cells.add(len(right), n * m + extra, -1.0)
            right.append(0.0)
        size = n * m + extra + worst
        objective = np.zeros(size)
        objective[: n * m] = self.cost.ravel() / unit * (not worst)
        objective[n * m + extra :] = 1.0
        fixed = self._fixed(n, m)
        options = {"dual_feasibility_tolerance": TOLERANCE, "primal_feasibility_tolerance": TOLERANCE}
        bounds = [
            *(self.ends or [(0.0, None)] * self.cost.size),
            *[(0.0, None)] * extra,
            *[(None, None)] * worst,
        ]
        matrix = csr_matrix((cells.values, (cells.rows, cells.columns)), shape=(len(right), size))
        solved = linprog(
            objective, A_ub=matrix, b_ub=right, A_eq=fixed.matrix(size), b_eq=fixed.right, bounds=bounds,
            options=options, method="highs",
        )  # fmt: skip
        if solved.status != 0:
            return None
        scale = 1.0 if worst else unit
        of_kept = -np.asarray(solved.eqlin.marginals)[n:].reshape(-1, m) * scale
        return np.asarray(np.maximum(0.0, -np.asarray(solved.ineqlin.marginals)) * scale), of_kept

    def _fixed(self, n: int, m: int) -> _Equations:
        """Probabilities of an input add to 1, and rows that are kept stay."""
        rows = np.zeros((0, n)) if self.kept is None else self.kept
        cells = Cells([], [], [])
        for w in range(n):
            for y in range(m):
                cells.add(w, w * m + y, 1.0)
        for z, row in enumerate(rows.tolist()):
            for y in range(m):
                for w, v in enumerate(row):
                    cells.add(n + z * m + y, w * m + y, v)
        return _Equations(cells, [1.0] * n + [float(v) for row in rows.tolist() for v in row])


@dataclass(frozen=True)
class Cells:
    """Coefficients of a sparse matrix, one after the other."""

    rows: list[int]
    columns: list[int]
    values: list[float]

    def add(self, row: int, column: int, value: float) -> None:
        """One more coefficient."""
        self.rows.append(row)
        self.columns.append(column)
        self.values.append(value)


@dataclass(frozen=True)
class _Equations:
    """What sums must be."""

    cells: Cells
    right: list[float]

    def matrix(self, size: int) -> Any:
        """The left sides, sparse."""
        from scipy.sparse import csr_matrix

        cells = self.cells
        return csr_matrix((cells.values, (cells.rows, cells.columns)), shape=(len(self.right), size))

"""The reference implementation: the definition of privacy, written out edge by edge as a linear program."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.boundary_colouring.problem import BoundaryColouring

MAX_VERTICES = 200
MAX_EPSILON = 12.0
"""Beyond it, e^epsilon is too large beside 1 for a general solver."""

ROOM = 1e-9
"""How far the boundary stays below the cap, unless that is a half: HiGHS meets it up to 1e-10."""


@register
@dataclass(frozen=True)
class Oracle(Solver[BoundaryColouring]):
    """Every probability a variable, every edge, direction and colour a row; nothing of the structure is used.

    With a balanced boundary a first program finds the best worst case, and a second one caps the boundary by it.
    """

    solves: ClassVar = BoundaryColouring
    name: ClassVar[str] = "oracle"
    interruptible: ClassVar[bool] = False
    guaranteed: ClassVar[Guarantee | None] = Guarantee.ORACLE

    def cost(self, problem: BoundaryColouring) -> float:
        """Cubic in the number of variables, about."""
        return 0.05 + 1e-7 * (problem.graph.size * problem.k) ** 3

    def refuse(self, problem: BoundaryColouring) -> str | None:
        """Refuse large graphs and budgets, and graphs without vertices."""
        if not 0 < problem.graph.size <= MAX_VERTICES:
            return f"it writes out everything: 1 to {MAX_VERTICES} vertices, not {problem.graph.size}"
        if problem.epsilon > MAX_EPSILON:
            return f"its coefficients span e^epsilon: at most {MAX_EPSILON} nats, not {problem.epsilon}"
        return None

    def run(self, problem: BoundaryColouring, budget: Budget) -> Proposal:
        """Propose the optimum, or nothing where the program has none."""
        program = _Program(problem)
        worst = problem.objective == "worst_case"
        if problem.boundary == "balanced" and problem.k > 1:
            best = program.solved(worst_case=True)
            if best is None:
                return Proposal()
            program.cap(max(0.5, float(program.accuracy(best).min()) - ROOM))
        table = program.solved(worst_case=worst)
        if table is None:
            return Proposal(stats={"program": "infeasible or not solved"})
        table = np.clip(table, 0.0, 1.0)
        table /= table.sum(axis=1, keepdims=True)
        return Proposal(problem.of_rows(table), stats={"rows": len(program.rows)})


class _Program:
    """Variables: P[v, c], a slack s[arc, c] for every arc, and the worst accuracy t."""

    def __init__(self, problem: BoundaryColouring) -> None:
        graph = problem.graph
        self.problem, self.n, self.k = problem, graph.size, problem.k
        self.arcs = [arc for u, v in graph.edges().tolist() for arc in ((u, v), (v, u))]
        self.slack = self.n * self.k
        self.worst = self.slack + len(self.arcs) * self.k
        self.rows: list[dict[int, float]] = []
        self.limits: list[float] = []
        decay = math.exp(-problem.epsilon)
        for a, (u, v) in enumerate(self.arcs):
            slacks = [self.slack + a * self.k + c for c in range(self.k)]
            for c in range(self.k):
                row = {u * self.k + c: decay, v * self.k + c: -1.0, slacks[c]: -1.0}
                self._add(row, 0.0)
            self._add(dict.fromkeys(slacks, 1.0), decay * problem.delta)
        for v in range(self.n):
            self._add({self.worst: 1.0, self._own(v): -1.0}, 0.0)
        self.bounds = [(0.0, 1.0)] * (self.worst + 1)
        if problem.prescribed is not None:
            for s, row_ in zip(
                problem.prescribed.sites.tolist(), problem.prescribed.rows.tolist(), strict=True
            ):
                for c, value in enumerate(row_):
                    self.bounds[s * self.k + c] = (value, value)

    def _own(self, v: int) -> int:
        return v * self.k + int(self.problem.graph.codes[v])

    def _add(self, row: dict[int, float], limit: float) -> None:
        self.rows.append(row)
        self.limits.append(limit)

    def cap(self, most: float) -> None:
        """No boundary vertex may be right more often."""
        for v in self.problem.boundary_sites.tolist():
            self.bounds[self._own(v)] = (0.0, min(1.0, most))

    def accuracy(self, table: Floats) -> Floats:
        """Probability of the true colour of every vertex."""
        return table[np.arange(self.n), self.problem.graph.codes]

    def solved(self, *, worst_case: bool) -> Floats | None:
        """The best table of probabilities, or None."""
        from scipy.optimize import linprog
        from scipy.sparse import csr_array

        where = [(i, j) for i, row in enumerate(self.rows) for j in row]
        entries = [x for row in self.rows for x in row.values()]
        size = (len(self.rows), self.worst + 1)
        matrix = csr_array((entries, tuple(np.array(where).T)), shape=size)
        whole = csr_array(
            (np.ones(self.slack), (np.repeat(np.arange(self.n), self.k), np.arange(self.slack))),
            shape=(self.n, self.worst + 1),
        )
        cost = np.zeros(self.worst + 1)
        if worst_case:
            cost[self.worst] = -1.0
        else:
            weights = self.problem.weights
            for v in range(self.n):
                cost[self._own(v)] = -1.0 if weights is None else -float(weights[v] / weights.max())
        options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
        solve: Any = linprog  # its stubs leave out sparse matrices
        result = solve(
            cost, matrix, self.limits, whole, np.ones(self.n), self.bounds, method="highs", options=options
        )
        return np.array(result.x[: self.slack]).reshape(self.n, self.k) if result.status == 0 else None

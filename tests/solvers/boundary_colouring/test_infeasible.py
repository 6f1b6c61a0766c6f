"""Prescribed values that no private colouring meets are infeasible for any number of colours, with a proof that is checked."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import privopt as po

Rows = dict[int, list[float]]


def private_within(graph: po.DatasetGraph, epsilon: float, rows: Rows) -> bool:
    """Whether some colouring meets the rows, by all constraints at once (delta = 0)."""
    from scipy.optimize import linprog

    n, k = graph.size, len(graph.palette)
    table = []
    for u, v in graph.edges().tolist():
        for here, there in ((u, v), (v, u)):
            for c in range(k):
                row = np.zeros(n * k)
                row[here * k + c], row[there * k + c] = 1.0, -math.exp(epsilon)
                table.append(row)
    whole = np.kron(np.eye(n), np.ones(k))
    bounds = [(0.0, 1.0)] * (n * k)
    for v, values in rows.items():
        bounds[v * k : v * k + k] = [(x, x) for x in values]
    status = linprog(np.zeros(n * k), table, np.zeros(len(table)), whole, np.ones(n), bounds).status
    assert status in (0, 2)
    return bool(status == 0)


def drawn(rng: np.random.Generator, k: int) -> tuple[po.DatasetGraph, float, Rows]:
    """A connected graph, and rows for all ends of its edges of two colours."""
    n = int(rng.integers(k, 7))
    colours = [*range(k), *rng.integers(0, k, n - k).tolist()]
    chosen = [pair for pair in combinations(range(n), 2) if rng.random() < 0.3 or pair[1] == pair[0] + 1]
    graph = po.DatasetGraph(chosen, colours, vertices=list(range(n)), palette=list(range(k)))
    base, spread = rng.dirichlet(np.full(k, 3.0)), float(rng.choice([0.05, 0.2, 0.5]))
    sites = sorted({v for pair in chosen if colours[pair[0]] != colours[pair[1]] for v in pair})
    rows: Rows = {}
    for v in sites:
        row = (1 - spread) * base + spread * rng.dirichlet(np.ones(k))
        rows[v] = (row / row.sum()).tolist()
    return graph, float(rng.choice([0.3, 1.0])), rows


@pytest.mark.parametrize("k", [3, 4, 5])
def test_what_cannot_be_met_is_infeasible_and_what_can_is_answered(k: int) -> None:
    rng = np.random.default_rng(k)
    seen = set()
    for _ in range(6):
        graph, epsilon, rows = drawn(rng, k)
        problem: Any = po.BoundaryColouring(graph, epsilon, boundary=rows)
        possible = private_within(graph, epsilon, rows)
        solution = po.solve(problem, "k-colour-lp", time_limit=20.0)
        assert solution.status.ok == possible
        assert (solution.status is po.Status.INFEASIBLE) != possible
        assert possible or "contradict each other" in solution.reason
        seen.add(possible)
    assert seen == {True, False}


def test_solve_says_so_too() -> None:
    four = po.DatasetGraph([(0, 1)], [0, 1], palette=[0, 1, 2, 3])
    rows = {0: [0.45, 0.45, 0.05, 0.05], 1: [0.3, 0.3, 0.2, 0.2]}
    problem = po.BoundaryColouring(four, 0.5, boundary=rows)
    solution = po.solve(problem, time_limit=20.0)
    assert solution.status is po.Status.INFEASIBLE
    assert "the values of 0, 1 contradict each other" in solution.reason


def test_multipliers_that_prove_nothing_are_no_proof() -> None:
    rng = np.random.default_rng(1)
    line = po.DatasetGraph([(0, 1), (1, 2)], [0, 1, 2])
    rows = {0: [0.5, 0.3, 0.2], 1: [0.4, 0.35, 0.25], 2: [0.35, 0.35, 0.3]}
    problem: Any = po.BoundaryColouring(line, 0.5, boundary=rows)
    assert po.solve(problem, "k-colour-lp", time_limit=20.0).status.ok
    arcs = len(line.indices) * 3
    for _ in range(200):
        at = rng.choice(arcs, size=int(rng.integers(1, arcs)), replace=False)
        witness = {"kind": "linear", "at": at.tolist(), "values": rng.exponential(size=len(at)).tolist()}
        assert problem.check_infeasible(witness) is None
    for witness in (
        {"kind": "linear", "at": [-1], "values": [1.0]},
        {"kind": "linear", "at": [0], "values": [-1.0]},
    ):
        assert problem.check_infeasible(witness) is None
    free: Any = po.BoundaryColouring(line, 0.5, boundary=None)
    assert free.check_infeasible({"kind": "linear", "at": [0], "values": [1.0]}) is None

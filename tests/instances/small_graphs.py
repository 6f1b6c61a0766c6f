"""Random small graphs of datasets and problems on them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

import privopt as po

EPSILONS = (0.05, 0.4, 1.0, 2.5)
DELTAS = (0.0, 0.0, 0.03, 0.2)


def graph(rng: np.random.Generator, colours: int = 2, most: int = 12) -> po.DatasetGraph:
    """Any graph, with loops, repeats and several components among them."""
    n = int(rng.integers(2, most))
    edges = rng.integers(0, n, (int(rng.integers(1, 2 * n)), 2))
    return po.DatasetGraph(edges, rng.integers(0, colours, n), palette=range(colours))


def tree(rng: np.random.Generator, most: int = 14) -> po.DatasetGraph:
    """A forest of two colours."""
    n = int(rng.integers(2, most))
    edges = [(v, int(rng.integers(0, v))) for v in range(1, n) if rng.random() < 0.9]
    return po.DatasetGraph(edges, rng.integers(0, 2, n), palette=[0, 1])


def choice(rng: np.random.Generator, graph: po.DatasetGraph, **options: Any) -> po.BoundaryColouring:
    """A free boundary with random weights."""
    weights = rng.random(graph.size) + 0.01
    epsilon, delta = float(rng.choice(EPSILONS)), float(rng.choice(DELTAS))
    return po.BoundaryColouring(graph, epsilon, delta, boundary=None, weights=weights, **options)


def best_of_events(problem: po.BoundaryColouring) -> float:
    """The linear program with one row for every event of every arc, by another algorithm of SciPy.

    An event is a set of answers; bounding Pr(u answers in it) for all of them is privacy by its definition.
    """
    from scipy.optimize import linprog

    of, k, n = problem.graph, problem.k, problem.graph.size
    growth, rows, limits = np.exp(problem.epsilon), [], []
    for u, v in [(a, b) for pair in of.edges().tolist() for a, b in (pair, pair[::-1])]:
        for event in range(1, 2**k - 1):
            row = np.zeros(n * k + 1)
            for c in range(k):
                if event >> c & 1:
                    row[u * k + c] += 1.0
                    row[v * k + c] -= growth
            rows.append(row)
            limits.append(problem.delta)
    right = np.arange(n) * k + of.codes
    cost = np.zeros(n * k + 1)
    if problem.objective == "worst_case":
        cost[-1] = -1.0
        for cell in right.tolist():
            rows.append(np.zeros(n * k + 1))
            rows[-1][[cell, -1]] = -1.0, 1.0
            limits.append(0.0)
    else:
        weights = np.ones(n) if problem.weights is None else problem.weights
        cost[right] = -weights / weights.sum()
    sums = np.hstack([np.kron(np.eye(n), np.ones(k)), np.zeros((n, 1))])
    inequalities = (np.array(rows), limits) if rows else (None, None)
    best: Any = linprog(cost, *inequalities, sums, np.ones(n), bounds=(0, 1), method="highs-ipm")
    return -float(best.fun)


def leaks(problem: po.BoundaryColouring, mechanism: po.Colouring, epsilon: Fraction) -> bool:
    """Whether some event of some arc breaks the bound for a rational lower bound of e^epsilon, in Fractions."""
    rows = [[Fraction(w, row.total) for w in row.weights] for row in mechanism.exact()]
    for pair in problem.graph.edges().tolist():
        for u, v in (pair, pair[::-1]):
            pairs = zip(rows[mechanism.level[u]], rows[mechanism.level[v]], strict=True)
            if sum((max(Fraction(0), a - epsilon * b) for a, b in pairs), Fraction(0)) > Fraction(
                problem.delta
            ):
                return True
    return False

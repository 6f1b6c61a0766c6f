"""Posteriors that lift no value of a secret above a rational factor: all vertices, by brute force, and what is best over them.

It reads a table of integers and knows nothing of the library.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from flint import fmpq, fmpq_mat
from scipy.optimize import linprog

Point = tuple[Fraction, ...]


def vertices(table: Sequence[Sequence[int]], factor: Fraction) -> list[Point]:
    """Every vertex of {v : v >= 0, sum v = 1, P(s | v) <= factor P(s)}: all choices of n - 1 tight rows out of all."""
    total = sum(map(sum, table))
    columns = [sum(column) for column in zip(*table, strict=True)]
    caps = [
        [
            Fraction(cell, below) - factor * Fraction(sum(row), total)
            for cell, below in zip(row, columns, strict=True)
        ]
        for row in table
    ]
    n = len(columns)
    signs = [[Fraction(-int(i == j)) for j in range(n)] for i in range(n)]
    right = fmpq_mat(n, 1, [1] + [0] * (n - 1))
    known: dict[Point, None] = {}
    for tight in itertools.combinations(caps + signs, n - 1):
        rows = [[Fraction(1)] * n, *tight]
        system = fmpq_mat(n, n, [fmpq(v.numerator, v.denominator) for row in rows for v in row])
        if system.det() == 0:
            continue
        point = tuple(Fraction(int(x[0].p), int(x[0].q)) for x in system.solve(right).tolist())
        if min(point) >= 0 and all(sum(a * v for a, v in zip(row, point, strict=True)) <= 0 for row in caps):
            known[point] = None
    return list(known)


def most(table: Sequence[Sequence[int]], factor: Fraction, cost: Callable[[Point], float]) -> float:
    """Minus the least mean cost of a mixture of vertices that is the distribution of X."""
    points = vertices(table, factor)
    total = sum(map(sum, table))
    prior = [float(Fraction(sum(column), total)) for column in zip(*table, strict=True)]
    best = linprog(
        [cost(v) for v in points],
        A_eq=np.array([[float(x) for x in v] for v in points]).T,
        b_eq=prior,
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert best.fun is not None
    return -float(best.fun)


def entropy(point: Sequence[Fraction | float]) -> float:
    """In nats."""
    return -math.fsum(float(p) * math.log(p) for p in point if p > 0)


def information(table: Sequence[Sequence[int]], factor: Fraction) -> float:
    """The most mutual information with X."""
    total = sum(map(sum, table))
    prior = [Fraction(sum(column), total) for column in zip(*table, strict=True)]
    return entropy(prior) + most(table, factor, entropy)


def distortion(table: Sequence[Sequence[int]], factor: Fraction, costs: Sequence[Sequence[float]]) -> float:
    """Minus the least expected distortion."""
    columns = list(zip(*costs, strict=True))
    return most(
        table,
        factor,
        lambda v: min(math.fsum(float(p) * d for p, d in zip(v, column, strict=True)) for column in columns),
    )

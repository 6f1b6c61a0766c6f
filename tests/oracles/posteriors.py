"""Vertices of the allowed posteriors by brute force over all bases, in rationals; the least distortion over them."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
from scipy.optimize import linprog

import privopt as po


def _exact(
    problem: po.LocalInformationPrivacy,
) -> tuple[list[list[Fraction]], list[Fraction], list[Fraction]]:
    """P(s | w) on the symbols seen, P(s), P(w)."""
    joint = problem.observation.leaking
    n, total = len(joint.useful), joint.exact.total
    table = [
        [Fraction(v, total) for v in joint.exact.weights[i : i + n]]
        for i in range(0, n * len(joint.sensitive), n)
    ]
    table = [row for row in table if any(row)]
    p_w = [sum(column, Fraction(0)) for column in zip(*table, strict=True)]
    seen = [w for w, p in enumerate(p_w) if p]
    posteriors = [[row[w] / p_w[w] for w in seen] for row in table]
    return posteriors, [sum(row, Fraction(0)) for row in table], [p_w[w] for w in seen]


def rows_of(problem: po.LocalInformationPrivacy) -> list[list[Fraction]]:
    """Rows of G v <= 0 with float exponentials, moved inward by a part in 1e15: what they allow, the bounds allow."""
    posteriors, prior, _ = _exact(problem)
    shrink = Fraction(0) if problem.budget == 0 else Fraction(1, 10**15)
    up = Fraction(float(np.exp(problem.budget))) * (1 - shrink)
    low = Fraction(float(np.exp(-problem.budget))) * (1 + shrink)
    if problem.notion == "ldp":
        lifts = [[v / p for v in row] for row, p in zip(posteriors, prior, strict=True)]
        pairs = itertools.permutations(range(len(lifts)), 2)
        return [[a - up * b for a, b in zip(lifts[s], lifts[t], strict=True)] for s, t in pairs]
    above = [[v - up * p for v in row] for row, p in zip(posteriors, prior, strict=True)]
    return above + [[low * p - v for v in row] for row, p in zip(posteriors, prior, strict=True)]


def vertices_of(problem: po.LocalInformationPrivacy) -> list[list[Fraction]]:
    """Every vertex of {v >= 0, sum v = 1, G v <= 0}: all choices of n - 1 tight rows out of all."""
    from flint import fmpq, fmpq_mat

    rows = rows_of(problem)
    n = len(rows[0])
    unit = [[Fraction(-int(i == j)) for j in range(n)] for i in range(n)]
    every = rows + unit
    vertices: dict[tuple[Fraction, ...], None] = {}
    right = fmpq_mat(n, 1, [1] + [0] * (n - 1))
    for chosen in itertools.combinations(every, n - 1):
        matrix = [[Fraction(1)] * n, *chosen]
        system = fmpq_mat(n, n, [fmpq(v.numerator, v.denominator) for row in matrix for v in row])
        if system.det() == 0:
            continue
        v = [Fraction(int(x[0].p), int(x[0].q)) for x in system.solve(right).tolist()]
        if min(v) >= 0 and all(sum(a * b for a, b in zip(row, v, strict=True)) <= 0 for row in rows):
            vertices[tuple(v)] = None
    return [list(v) for v in vertices]


def least_distortion(problem: po.LocalInformationPrivacy) -> float:
    """What the best mixture of vertices, or of the distribution itself, reaches in expected distortion."""
    _, _, p = _exact(problem)
    points = np.array([[float(v) for v in point] for point in [*vertices_of(problem), p]])
    costs = (points @ np.array(problem.utility)).min(axis=1)
    solution = linprog(costs, A_eq=points.T, b_eq=[float(v) for v in p])
    assert solution.fun is not None
    return float(solution.fun)

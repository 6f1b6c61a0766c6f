"""Maximal leakage over a set by cuts: the same as the program with a row for every vertex of the set, written out for HiGHS by SciPy."""

from __future__ import annotations

import itertools
import math
import time
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import privopt as po
from privopt.arrays import Floats
from privopt.core.solver import Budget
from privopt.problems.robust_reading import SetReader
from privopt.solvers.distortion_privacy.guess_cuts import GuessCuts

COUNTS = np.array([[60, 20, 30], [20, 50, 45], [30, 30, 5]])
HAMMING = 1.0 - np.eye(3)


def _vertices(low: Floats, high: Floats) -> list[Floats]:
    """Of a box of distributions: all entries but one at an end."""
    found = []
    for free in range(len(low)):
        for ends in itertools.product((0, 1), repeat=len(low) - 1):
            row = np.insert(np.where(ends, np.delete(high, free), np.delete(low, free)), free, 0.0)
            row[free] = 1.0 - row.sum()
            if low[free] - 1e-12 <= row[free] <= high[free] + 1e-12:
                found.append(row)
    return found


def _written_out(rows: list[Floats], p: Floats, cap: float) -> float:
    """The least expected distortion with sum_y max over all rows of sum_x q(x) K(y | x) at most e^cap."""
    n = len(p)
    cost = np.concatenate([(p[:, None] * HAMMING).ravel(), np.zeros(n)])
    lines = []
    for row in rows:
        for y in range(n):
            line = np.zeros(n * n + n)
            line[np.arange(n) * n + y], line[n * n + y] = row, -1.0
            lines.append(line)
    lines.append(np.concatenate([np.zeros(n * n), np.ones(n)]))
    whole = np.concatenate([np.kron(np.eye(n), np.ones(n)), np.zeros((n, n))], axis=1)
    right = np.zeros(len(lines))
    right[-1] = math.exp(cap)
    solved = linprog(cost, A_ub=np.array(lines), b_ub=right, A_eq=whole, b_eq=np.ones(n))
    assert solved.fun is not None
    return float(solved.fun)


@pytest.mark.parametrize("cap", [0.02, 0.1, 0.4])
def test_cuts_are_as_good_as_every_vertex(cap: float) -> None:
    joint = po.JointDistribution.normalised(COUNTS)
    rows = COUNTS / COUNTS.sum(axis=1, keepdims=True)
    low, high = np.maximum(rows - 0.04, 0.0), rows + 0.04
    near = po.JointAmbiguity.interval(low, high, joint.p_s, nominal=joint)
    problem = po.DistortionPrivacy(near, HAMMING, max_leakage=cap, leakage="maximal_leakage")
    assert problem.ambiguity is not None
    cuts = GuessCuts(problem, problem.ambiguity, SetReader.of(problem.ambiguity))
    matrix = cuts.run(Budget(time.monotonic() + 10.0, 0))
    assert matrix is not None
    every = [v for a, b in zip(low, high, strict=True) for v in _vertices(a, b)]
    reading = problem.evaluate(problem.answer(matrix))
    assert reading.feasible
    assert -reading.objective == pytest.approx(_written_out(every, np.array(joint.p_x), cap), abs=1e-6)


@pytest.mark.parametrize("bound", [{"max_leakage": 0.1}, {"max_distortion": 0.3}])
def test_wider_sets_cost_more(bound: dict[str, Any]) -> None:
    joint = po.JointDistribution.normalised(COUNTS)
    reached = []
    for radius in (0, 0.02, 0.1, 0.3):
        near = po.JointAmbiguity.total_variation(joint, radius)
        solution = po.solve(
            po.DistortionPrivacy(near, HAMMING, leakage="maximal_leakage", **bound), time_limit=3
        )
        assert solution.certified
        assert solution.objective is not None
        reached.append(solution.objective)
    assert all(a >= b - 1e-7 for a, b in itertools.pairwise(reached))
    single = po.solve(po.DistortionPrivacy(joint, HAMMING, leakage="maximal_leakage", **bound))
    assert reached[0] == pytest.approx(single.objective, abs=1e-6)

"""Posteriors in fractions: points of determined systems, and what there is when the time is up."""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np

import privopt as po
from privopt.core.registry import find_solver
from privopt.core.solver import Budget
from privopt.solvers.local_information_privacy.vertices.exact import exact_polytope, only_point


def test_the_only_point_is_exact() -> None:
    rng = np.random.default_rng(3)
    rows = rng.integers(-50, 50, size=(4, 5)).tolist()
    weights = [3, 1, 4, 1, 5]
    point = only_point(rows, weights)
    assert point is not None
    assert all(sum(a * z for a, z in zip(row, point, strict=True)) == 0 for row in rows)
    assert sum(c * z for c, z in zip(weights, point, strict=True)) == 1


def test_dependent_rows_need_another_one() -> None:
    rows = [[1, -1, 0], [2, -2, 0]]
    assert only_point(rows, [1, 1, 1]) is None
    assert only_point([*rows, [0, 1, -1]], [1, 1, 1]) == [Fraction(1, 3)] * 3


def _wide() -> po.LocalInformationPrivacy:
    table = np.random.default_rng(1).dirichlet(np.ones(30), size=4)
    return po.LocalInformationPrivacy(po.JointDistribution.normalised(table), epsilon=0.0)


def test_no_point_of_full_support_is_taken_for_a_vertex() -> None:
    problem = _wide()
    assert exact_polytope(problem).snapped(problem.observation.p_w) is None


def test_perfect_privacy_has_an_answer_when_the_search_is_cut() -> None:
    problem = _wide()
    proposal = find_solver(problem, "perfect-privacy").run(problem, Budget(time.monotonic() + 4.0))
    assert proposal.mechanism is not None
    reading = problem.evaluate(problem.check(proposal.mechanism))
    assert reading.feasible
    assert problem.certify(problem.check(proposal.mechanism).quantised()).leakage == (0.0, 0.0)
    assert reading.utility > 0.0

"""Distortion and leakage over sets of joints: both ways round, against each other, and what certificates say."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import privopt as po
from privopt.problems.distortion_privacy.over_set import worst_distortion

TABLE = po.JointDistribution.normalised([[4, 3, 2, 1], [1, 2, 3, 4], [2, 2, 2, 2]])
NEAR = po.JointAmbiguity.total_variation(TABLE, 0.05, 0.02)
APART = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))


def solved(problem: po.DistortionPrivacy) -> po.Solution:
    solution = po.solve(problem, time_limit=20)
    assert solution.status is po.Status.OPTIMAL, solution
    assert po.verify(problem, solution).ok
    return solution


@pytest.mark.parametrize("leakage", ["lip", "ldp"])
def test_bounds_on_ratios_are_those_of_the_problem_of_ratios(leakage: str) -> None:
    distorted = solved(po.DistortionPrivacy(NEAR, APART, max_leakage=0.4, leakage=leakage))
    ratios = po.LocalInformationPrivacy(NEAR, 0.4, notion=leakage, utility=APART)
    assert distorted.objective == pytest.approx(po.solve(ratios).objective, abs=1e-8)


@pytest.mark.parametrize("leakage", ["lip", "ldp"])
def test_the_least_level_at_a_distortion_that_holds_everywhere(leakage: str) -> None:
    problem = po.DistortionPrivacy(NEAR, APART, max_distortion=0.5, leakage=leakage)
    solution = solved(problem)
    assert worst_distortion(problem, NEAR, solution.mechanism) <= Fraction(1, 2)
    assert solution.certificate is not None
    assert "for every distribution in the set" in solution.certificate.claim
    at_one = po.solve(po.DistortionPrivacy(TABLE, APART, max_distortion=0.5, leakage=leakage))
    assert solution.leakage is not None
    assert at_one.leakage is not None
    assert solution.leakage > at_one.leakage
    point = po.DistortionPrivacy(
        po.JointAmbiguity.total_variation(TABLE, 0), APART, max_distortion=0.5, leakage=leakage
    )
    assert solved(point).leakage == pytest.approx(at_one.leakage, abs=1e-6)


def test_the_two_ways_round_meet_where_only_the_leakage_varies() -> None:
    """With rows that vary and utilities at the nominal joint the ways differ; where X itself is known they are one."""
    whole = po.JointDistribution.normalised(np.diag([3, 2, 1]))
    rows = [po.RowSet.total_variation(list(row), 0) for row in np.eye(3, dtype=int).tolist()]
    beliefs = po.JointAmbiguity(rows, po.RowSet.total_variation(whole.p_s.tolist(), 0.05), nominal=whole)
    hamming = 1 - np.eye(3)
    least = solved(po.DistortionPrivacy(beliefs, hamming, max_leakage=0.5, leakage="lip"))
    letter = po.BeliefRelease(
        po.RowSet.total_variation([Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)], 0.05), 0.5
    )
    assert least.objective == pytest.approx(po.solve(letter).objective, abs=1e-8)


def test_maximal_leakage_over_a_set_is_bounded_and_says_so() -> None:
    bounds: list[dict[str, Any]] = [{"max_leakage": 0.1}, {"max_distortion": 0.5}]
    for bound in bounds:
        problem = po.DistortionPrivacy(NEAR, APART, leakage="maximal_leakage", **bound)
        solution = po.solve(problem)
        assert solution.status.ok
        assert po.verify(problem, solution).ok
        assert solution.certificate is not None
        low, high = solution.certificate.leakage
        assert low < high == solution.leakage
        member = po.DistortionPrivacy(TABLE, APART, leakage="maximal_leakage", **bound)
        assert member.evaluate(solution.mechanism).leakage <= high


def test_known_bounds_on_maximal_leakage() -> None:
    square = po.JointDistribution([[0.3, 0.2], [0.1, 0.4]])
    channel = po.Channel([[0.75, 0.25], [0.25, 0.75]])
    hamming = [[0, 1], [1, 0]]
    for radius, level in ((0, 0.182322), (0.05, 0.223144), (0.1, 0.262364)):
        near = po.JointAmbiguity.total_variation(square, radius)
        problem = po.DistortionPrivacy(near, hamming, max_leakage=1.0, leakage="maximal_leakage")
        assert problem.certify(channel).leakage[1] == pytest.approx(level, abs=2e-6)


def test_a_distortion_that_some_distribution_rules_out_is_infeasible() -> None:
    costs = [[0.2, 1.0], [1.0, 0.0]]
    joint = po.JointDistribution([[0.25, 0.25], [0.25, 0.25]])
    near = po.JointAmbiguity.total_variation(joint, 0.25)
    tight = po.DistortionPrivacy(near, costs, max_distortion=0.12, leakage="lip")
    solution = po.solve(tight)
    assert solution.status is po.Status.INFEASIBLE
    assert "at some distribution of the set" in solution.reason
    assert po.solve(po.DistortionPrivacy(joint, costs, max_distortion=0.12, leakage="lip")).status.ok


def test_a_proof_of_a_level_needs_members_of_the_set() -> None:
    problem = po.DistortionPrivacy(NEAR, APART, max_distortion=0.5, leakage="lip")
    dual = solved(problem).dual
    assert isinstance(dual, dict)
    assert dual["weighing"]
    assert problem.check_bound(-math.inf, dual) is not None
    far = {**dual, "pool": [[f"{int(i == 0)}/1" for i in range(len(v))] for v in dual["pool"]]}
    assert problem.check_bound(-math.inf, far) is None
    assert problem.check_bound(-math.inf, {**dual, "weighing": [[-1.0, 0]]}) is None
    higher = {**dual, "proof": {**dual["proof"], "level": dual["proof"]["level"] * 1.01}}
    assert problem.check_bound(-math.inf, higher) is None


@pytest.mark.long
def test_a_cap_on_information_is_bounded_at_members_of_the_set() -> None:
    counts = np.array([[60, 20, 30, 40], [20, 50, 45, 10], [30, 30, 10, 60]])
    hamming = 1 - np.eye(4)
    near = po.JointAmbiguity.from_counts(counts, 0.9)
    problem = po.DistortionPrivacy(near, hamming, max_leakage=0.05, leakage="mutual_information")
    solution = po.solve(problem, "cuts", time_limit=20)
    dual: Any = solution.dual
    assert dual["kind"] == "averages"
    proved = problem.prove_bound(dual)
    at_one = po.solve(po.DistortionPrivacy(near.nominal, hamming, max_leakage=0.05), time_limit=10)
    assert proved is not None
    assert solution.objective is not None
    assert at_one.objective is not None
    assert solution.objective <= proved[1] < at_one.objective - 0.1  # it says more than the nominal joint
    rng = np.random.default_rng(0)
    for share in (0.1, 0.3, 0.4):  # releases that keep the cap over the set are no better
        channel = po.Channel(share * np.eye(4) + (1 - share) * rng.dirichlet(np.ones(4)))
        judged = problem.evaluate(channel)
        assert not judged.feasible or judged.utility <= proved[1]
    point = po.DistortionPrivacy(
        po.JointAmbiguity.total_variation(near.nominal, 0), hamming, max_leakage=0.05
    )
    assert point.prove_bound(dual) is None  # its members are not of this set
    for damage in (-1.0, math.inf, math.nan, True, "x"):
        prices = [[damage, *dual["prices"][0][1:]], *dual["prices"][1:]]
        assert problem.prove_bound({**dual, "prices": prices}) is None
    assert problem.prove_bound({**dual, "prices": [[1.0, 999, dual["prices"][0][2]]]}) is None
    nothing = problem.prove_bound({**dual, "prices": []})
    assert nothing is not None
    assert nothing[1] == pytest.approx(0.0, abs=1e-12)

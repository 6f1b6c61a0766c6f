"""Mixtures of releases under a cap over a set: the cap holds at every joint, one joint alone gives the funnel's optimum, larger caps say more."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest

import privopt as po
from privopt.arrays import Floats
from privopt.core.solver import Budget
from privopt.models.ambiguity.joint import JointAmbiguity
from privopt.problems.robust_information import read
from privopt.problems.robust_reading import SetReader
from privopt.solvers.common.capped_mixture import CappedMixture, Gains

COUNTS = np.array([[60, 20, 30, 40, 25], [20, 50, 45, 10, 35], [30, 30, 10, 60, 5]])
JOINT = po.JointDistribution.normalised(COUNTS)
SETS = {
    "counts": po.JointAmbiguity.from_counts(COUNTS, 0.9),
    "rows": po.JointAmbiguity.total_variation(JOINT, 0.05, 0.05),
    "all rows": po.JointAmbiguity([po.RowSet.all(5)] * 3, po.RowSet.all(3), nominal=JOINT),
}


def _informations(joint: po.JointDistribution) -> Gains:
    """Of a column its divergence of the posterior from the prior, times how often it is released."""
    p = np.array(joint.p_x)

    def gain(column: Floats) -> float:
        released = p * column
        used = released > 0
        return float((released * np.log(np.where(used, column, 1.0) / released.sum())).sum())

    return lambda columns: np.array([gain(column) for column in columns.T])


def _best(near: JointAmbiguity, cap: float, seconds: float = 1.0) -> Floats:
    mixture = CappedMixture(SetReader.of(near), _informations(JOINT), cap, np.array(JOINT.p_x))
    found = mixture.run(Budget(time.monotonic() + seconds, 0))
    assert found is not None
    return found


def _utility(matrix: Floats) -> float:
    return po.measures.mutual_information(np.array(JOINT.p_x)[:, None] * matrix)


@pytest.mark.parametrize("name", SETS)
def test_the_cap_holds_over_the_whole_set(name: str) -> None:
    near = SETS[name]
    matrix = _best(near, 0.02)
    assert np.allclose(matrix.sum(axis=1), 1.0, atol=1e-12)
    assert read(SetReader.of(near), matrix).bound <= 0.02
    problem = po.PrivacyFunnel(near, max_leakage=0.02)
    channel = po.Channel(matrix, JOINT.useful)
    assert po.measures.robust_level(problem, channel, near)[1] <= 0.02 + 1e-12
    assert _utility(matrix) > 0.0


def test_at_one_joint_it_is_the_optimum_of_the_funnel() -> None:
    point = po.JointAmbiguity.total_variation(JOINT, 0)
    solution = po.solve(po.PrivacyFunnel(JOINT, max_leakage=0.02), time_limit=20.0)
    assert solution.bound is not None
    reached = _utility(_best(point, 0.02, 5.0))
    assert solution.bound - 0.02 * solution.bound <= reached <= solution.bound + 1e-9


def test_larger_caps_say_more_and_the_largest_says_all() -> None:
    near = SETS["counts"]
    reached = [_utility(_best(near, cap)) for cap in (0.01, 0.03, 0.09, 1.0)]
    assert all(a <= b * (1 + 1e-3) for a, b in itertools.pairwise(reached))
    assert reached[-1] == pytest.approx(po.measures.entropy(JOINT.p_x), rel=1e-9)


def test_columns_that_are_given_are_not_lost() -> None:
    near, cap = SETS["counts"], 0.03
    problem = po.PrivacyFunnel(near, max_leakage=cap)
    given = problem.repair(
        po.Channel(np.random.default_rng(3).dirichlet(np.full(4, 0.5), 5), JOINT.useful), 0.0
    )
    mixture = CappedMixture(SetReader.of(near), _informations(JOINT), cap, np.array(JOINT.p_x))
    mixture.take([given.matrix])
    found = mixture.run(Budget(time.monotonic() + 2.0, 0))
    assert found is not None
    assert _utility(found) >= problem.evaluate(given).utility * (1 - 1e-4)


@pytest.mark.long
@pytest.mark.parametrize("cap", [0.005, 0.02])
def test_what_is_proposed_for_a_set_is_far_from_nothing(cap: float) -> None:
    """The nominal answers under smaller caps, which keep the cap too, are no better."""
    for near in SETS.values():
        funnel = po.PrivacyFunnel(near, max_leakage=cap)
        solution = po.solve(funnel, time_limit=3.0)
        assert solution.certified
        assert solution.objective is not None
        for share in (0.5, 0.1):
            nominal = po.solve(po.PrivacyFunnel(JOINT, max_leakage=share * cap), time_limit=2.0)
            assert nominal.mechanism is not None
            kept = funnel.repair(funnel.check(nominal.mechanism), 0.0)
            assert solution.objective >= funnel.evaluate(kept).objective * (1 - 1e-3)

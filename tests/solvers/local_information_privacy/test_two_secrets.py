"""Secrets with two values: pairs of observations against vertex enumeration, and what large instances cost in memory."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import privopt as po
from privopt.models import JointDistribution
from privopt.problems.local_information_privacy.data import posterior_rows
from privopt.problems.local_information_privacy.pairs import ends, least_pair_cost, pairs
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.local_information_privacy.vertices.systems import costs, system, vertices


def random_joint(n: int, seed: int, rarest: float = 1.0) -> JointDistribution:
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.ones(n), 2) * np.array([[rarest], [1.0]])
    return JointDistribution.normalised(table)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "bounds", [{"epsilon": 0.4}, {"lower": 0.3}, {"upper": 0.5}, {"lower": 1.0, "upper": 0.2}]
)
def test_the_pairs_are_as_good_as_all_vertices(seed: int, bounds: dict[str, float]) -> None:
    problem = LocalInformationPrivacy(random_joint(14, seed), **bounds)  # type: ignore[arg-type]
    best = po.solve(problem, "two-secrets")
    reference = po.solve(problem, "vertices-systems")
    assert best.status is po.Status.OPTIMAL
    assert best.certified
    assert best.objective == pytest.approx(reference.objective, abs=1e-8)


def test_local_differential_privacy_and_symbols_of_probability_zero() -> None:
    table = np.array([[0.2, 0.0, 0.1, 0.1, 0.05], [0.05, 0.0, 0.1, 0.2, 0.2]])
    problem = LocalInformationPrivacy(JointDistribution.normalised(table), 0.5, notion="ldp")
    best = po.solve(problem, "two-secrets")
    assert best.status is po.Status.OPTIMAL
    assert best.objective == pytest.approx(po.solve(problem, "vertices-systems").objective, abs=1e-8)


@pytest.mark.parametrize("rarest", [1.0, 1e-8])
def test_a_rare_secret_keeps_its_optimum(rarest: float) -> None:
    problem = LocalInformationPrivacy(random_joint(9, 5, rarest), 0.7)
    best = po.solve(problem, "two-secrets")
    assert best.status is po.Status.OPTIMAL
    assert best.objective == pytest.approx(po.solve(problem, "vertices-exact").objective, abs=1e-8)


def test_the_proof_of_the_pairs_holds_for_any_prices() -> None:
    problem = LocalInformationPrivacy(random_joint(10, 1), 0.6)
    every = np.concatenate(list(vertices(system(problem))))
    rng = np.random.default_rng(0)
    for _ in range(5):
        prices = rng.normal(size=10)
        enclosed = least_pair_cost(problem, prices)
        assert enclosed is not None
        least = float((costs(problem, every) - every @ prices).min())
        assert enclosed[0] <= least + 1e-8
        assert least - 1e-8 <= enclosed[1]
        assert enclosed[1] - enclosed[0] < 1e-10


def test_prices_of_another_length_or_of_three_secrets_prove_nothing() -> None:
    problem = LocalInformationPrivacy(random_joint(6, 1), 0.6)
    assert problem.check_bound(9.0, {"kind": "pairs", "pi": [0.0] * 5}) is None
    assert problem.check_bound(9.0, {"kind": "pairs", "pi": [math.inf] * 6}) is None
    rng = np.random.default_rng(0)
    three = LocalInformationPrivacy(JointDistribution.normalised(rng.dirichlet(np.ones(6), 3)), 0.6)
    assert three.check_bound(9.0, {"kind": "pairs", "pi": [0.0] * 6}) is None
    assert po.solve(three, "two-secrets").status is po.Status.REFUSED


def test_the_ends_are_those_of_the_rows() -> None:
    problem = LocalInformationPrivacy(random_joint(8, 2), 0.6)
    low, high = ends(problem.polytope)
    assert isinstance(low, Fraction)
    assert isinstance(high, Fraction)
    first = problem.observation.s_given_w[0]
    rows = posterior_rows(problem)
    known = pairs(problem.polytope)
    assert known is not None
    allowed = (rows <= 0).all(axis=0)
    assert known.alone.tolist() == allowed.tolist()
    assert allowed.tolist() == [float(low) <= a <= float(high) for a in first]


def test_three_hundred_symbols_are_solved_and_verified_from_the_dual() -> None:
    problem = LocalInformationPrivacy(random_joint(300, 3), 0.5)
    best = po.solve(problem, "two-secrets")
    assert best.status is po.Status.OPTIMAL
    assert best.stats["repaired"] == 0.0
    assert problem.check_bound(best.bound or 0.0, best.dual) == best.bound

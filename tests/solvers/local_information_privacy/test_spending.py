"""Spending delta in randomised releases: the optimum against a grid of posteriors, and proofs that cannot be forged."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import privopt as po
from privopt.arrays import Floats

GRID = 100


def grid(n: int) -> Floats:
    """Every distribution on n symbols whose probabilities are multiples of 1 / GRID."""
    cuts = itertools.combinations(range(GRID + n - 1), n - 1)
    ends = np.array([(-1, *cut, GRID + n - 1) for cut in cuts])
    return np.asarray((np.diff(ends, axis=1) - 1) / GRID)


def best_on_grid(problem: po.LocalInformationPrivacy, posteriors: Floats) -> float:
    """The most information of a mixture of these posteriors that violates the bounds with probability delta at most."""
    observed = problem.observation
    secrets = posteriors @ observed.s_given_w.T
    with np.errstate(divide="ignore"):
        lifts = np.log(secrets / observed.p_s)
    broken = (lifts > problem.upper) | (lifts < -problem.lower)
    spent = np.where(broken, secrets, 0.0).sum(axis=1)
    entropies = -(posteriors * np.log(np.where(posteriors > 0, posteriors, 1.0))).sum(axis=1)
    p = observed.p_w
    solved = linprog(
        entropies, A_ub=spent[None, :], b_ub=[problem.delta], A_eq=posteriors.T, b_eq=p, method="highs"
    )
    return float(-(p * np.log(p)).sum() - solved.fun)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sides", [{"epsilon": 0.3}, {"upper": 0.2}, {"lower": 0.4, "upper": 0.15}])
def test_the_optimum_is_that_of_a_grid_and_is_proved(seed: int, sides: dict[str, Any]) -> None:
    """No mixture of the grid is above the bound, and the answer is at least as good as any of them."""
    rng = np.random.default_rng(seed)
    weights = rng.multinomial(GRID - 3, rng.dirichlet(np.ones(3))) + 1  # the distribution of X is on the grid
    table = weights * rng.dirichlet(np.ones(3), size=3).T
    problem = po.LocalInformationPrivacy(po.JointDistribution.normalised(table), delta=0.04, **sides)
    solution = po.solve(problem, "randomised-boosting", time_limit=60)
    best = best_on_grid(problem, grid(3))
    assert solution.status is po.Status.OPTIMAL
    assert solution.certified
    assert solution.bound is not None
    assert best <= solution.bound + 1e-9
    assert solution.utility is not None
    assert best - 2e-6 <= solution.utility <= best + 0.03


def test_more_delta_never_costs_and_bounds_hold_for_every_answer() -> None:
    joint = po.JointDistribution.normalised(np.random.default_rng(5).random((4, 8)))
    before = 0.0
    for delta in (0.001, 0.01, 0.03, 0.1):
        problem = po.LocalInformationPrivacy(joint, 0.5, delta=delta)
        solution = po.solve(problem, "randomised-boosting", time_limit=60)
        assert solution.status is po.Status.OPTIMAL
        assert solution.utility is not None
        assert solution.utility >= before - 1e-6
        before = solution.utility
        for name in ("watchdog-boosting", "column-generation"):
            assert solution.bound is not None
            assert solution.bound is not None
            other = po.solve(problem, name, time_limit=20).utility
            assert other is not None
            assert other <= solution.bound + 1e-12


def test_a_structural_zero_costs_no_delta() -> None:
    """A release that rules a secret out breaks its lower bound with probability 0: any delta > 0 allows it."""
    joint = po.JointDistribution.normalised([[4, 0], [3, 3]])
    utility = []
    for delta in (0.0, 1e-9):
        problem = po.LocalInformationPrivacy(joint, lower=0.1, delta=delta)
        solution = po.solve(problem, time_limit=20)
        assert solution.status is po.Status.OPTIMAL
        utility.append(solution.utility)
    assert utility[1] > 2 * utility[0] > 0


def test_what_is_no_proof_proves_nothing() -> None:
    joint = po.JointDistribution.normalised(np.random.default_rng(1).random((3, 4)))
    problem = po.LocalInformationPrivacy(joint, 0.3, delta=0.02)
    solution = po.solve(problem, "randomised-boosting", time_limit=20)
    dual = solution.dual
    assert isinstance(dual, dict)
    for price in (-1.0, math.inf, math.nan, None, "1"):
        assert problem.prove_bound({**dual, "price": price}) is None
    assert problem.prove_bound({**dual, "pi": [0.0]}) is None
    rng = np.random.default_rng(0)
    for _ in range(20):  # any prices prove something true
        pi, price = rng.normal(size=4), float(rng.exponential())
        proved = problem.prove_bound({"kind": "spending", "pi": pi.tolist(), "price": price})
        assert proved is not None
        assert solution.utility is not None
        assert proved[1] >= solution.utility


def distortions_by_brute_force(problem: po.LocalInformationPrivacy) -> float:
    """The least distortion, with a linear program for every choice of the secrets whose bounds each release may break."""
    observed = problem.observation
    given, p, prior = observed.s_given_w, observed.p_w, observed.p_s
    cost = np.asarray(problem.matrix)
    n, m = cost.shape
    sets = [c for r in range(len(prior) + 1) for c in itertools.combinations(range(len(prior)), r)]
    best = math.inf
    for choice in itertools.product(sets, repeat=m):
        rows, right = (
            [np.concatenate([given[list(broken)].sum(axis=0) for broken in choice])],
            [problem.delta],
        )
        for y, broken in enumerate(choice):
            for s in set(range(len(prior))) - set(broken):
                above = given[s] - math.exp(problem.upper) * prior[s]
                below = math.exp(-problem.lower) * prior[s] - given[s]
                for row in (above, below):
                    rows.append(np.zeros(n * m))
                    rows[-1][y * n : (y + 1) * n] = row
                    right.append(0.0)
        solved: Any = linprog(
            cost.T.ravel(),
            A_ub=np.array(rows),
            b_ub=right,
            A_eq=np.tile(np.eye(n), m),
            b_eq=p,
            method="highs",
        )
        best = min(best, float(solved.fun) if solved.status == 0 else math.inf)
    return best


@pytest.mark.parametrize("seed", range(6))
def test_a_distortion_with_delta_is_that_of_every_choice_of_sets(seed: int) -> None:
    rng = np.random.default_rng(seed)
    joint = po.JointDistribution.normalised(rng.dirichlet(np.full(6, 0.7)).reshape(2, 3) + 1e-3)
    problem = po.LocalInformationPrivacy(joint, 0.2, delta=0.05, utility=1.0 - np.eye(3))
    solution = po.solve(problem, time_limit=20)
    least = distortions_by_brute_force(problem)
    assert solution.certified
    assert solution.bound is not None
    assert solution.utility is not None
    assert solution.utility == pytest.approx(-least, abs=1e-7)
    assert -least <= solution.bound + 1e-12
    assert po.verify(problem, solution).ok
    whole = po.solve(po.LocalInformationPrivacy(joint, 0.2, utility=1.0 - np.eye(3)))
    assert whole.utility is not None
    assert solution.utility >= whole.utility - 1e-7
    assert solution.status is po.Status.OPTIMAL


def test_more_delta_never_costs_distortion_and_a_forged_price_proves_nothing() -> None:
    joint = po.JointDistribution.normalised(np.random.default_rng(3).dirichlet(np.ones(20)).reshape(4, 5))
    before = -math.inf
    for delta in (0.001, 0.01, 0.05, 0.2):
        problem = po.LocalInformationPrivacy(
            joint, lower=0.1, upper=0.3, delta=delta, utility=1.0 - np.eye(5)
        )
        solution = po.solve(problem, "spending-lp", time_limit=20)
        assert solution.certified
        assert solution.utility is not None
        assert solution.bound is not None
        assert before - 1e-6 <= solution.utility <= solution.bound
        before = solution.utility
    assert solution.bound is not None
    dual: Any = solution.dual
    assert problem.check_bound(-1.0, dual) == solution.bound
    leaves = [dual]
    while "release" in leaves[-1]:
        leaves.append(leaves[-1]["within"])
    price, multipliers = leaves[-1]["price"], leaves[-1]["multipliers"]
    for wrong in (
        {**dual, "release": 99, "sets": [0]},
        {**dual, "release": 0, "sets": [-1]},
        {"kind": "spending", "price": -1.0, "multipliers": multipliers},
        {"kind": "spending", "price": "1", "multipliers": multipliers},
        {"kind": "spending", "price": price, "multipliers": multipliers[:-1]},
        {
            "kind": "spending",
            "price": price,
            "multipliers": [[[-1.0] * len(r) for r in t] for t in multipliers],
        },
    ):
        assert problem.prove_bound(wrong) is None
    root = problem.prove_bound({"kind": "spending", "price": price, "multipliers": multipliers})
    assert root is not None
    assert root[1] >= solution.bound  # what proves a case proves less of the whole

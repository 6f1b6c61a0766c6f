"""Mixtures of patterns, against the linear program over every vertex and against the other solvers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from oracles.patterns import corners, itself, staircases
from scipy.optimize import linprog

import privopt as po
from privopt.arrays import Floats
from privopt.solvers.local_information_privacy.patterns import _nearly_even


def best_information(vertices: Floats, p: Floats) -> float:
    """The largest I(S;Y) of a mixture of posteriors that averages to p, in nats."""
    entropies = -(vertices * np.log(np.where(vertices > 0, vertices, 1.0))).sum(axis=1)
    solved = linprog(entropies, A_eq=vertices.T, b_eq=p, method="highs")
    return float(-(p * np.log(p)).sum() - solved.fun)


@pytest.mark.parametrize("n", [2, 5, 8])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 2.5])
def test_the_optimum_over_every_vertex_is_reached_and_proved(n: int, epsilon: float) -> None:
    rng = np.random.default_rng(n)
    counts = rng.integers(1, 9, n)
    for p in (rng.dirichlet(np.ones(n)), counts / counts.sum()):
        proved_over_every_vertex(p, epsilon)


def proved_over_every_vertex(p: Floats, epsilon: float) -> None:
    sides = {"lower": epsilon, "upper": epsilon / 2}
    cases = [
        (itself(p, epsilon=epsilon, notion="ldp"), staircases(p, epsilon)),
        (itself(p, epsilon=epsilon), corners(p, epsilon, epsilon)),
        (itself(p, **sides), corners(p, epsilon, epsilon / 2)),
        (itself(p, upper=epsilon), corners(p, math.inf, epsilon)),
    ]
    for problem, vertices in cases:
        best = best_information(vertices, p)
        solution = po.solve(problem, "patterns", time_limit=30)
        assert solution.status is po.Status.OPTIMAL
        assert solution.certified
        assert solution.utility == pytest.approx(best, abs=2e-6 * min(1.0, best) + 1e-9)
        assert solution.bound is not None
        assert solution.bound >= best - 1e-9


def test_classes_are_solved_as_other_solvers_do() -> None:
    """Nine symbols of three classes: every vertex is within reach of the small systems too."""
    table = np.zeros((3, 9))
    table[np.arange(9) % 3, np.arange(9)] = np.random.default_rng(3).dirichlet(np.ones(9))
    joint = po.JointDistribution.normalised(table)
    for notion in ("lip", "ldp"):
        problem = po.LocalInformationPrivacy(joint, 0.8, notion=notion)
        ours, theirs = (po.solve(problem, name, time_limit=30) for name in ("patterns", "vertices-systems"))
        assert ours.status is po.Status.OPTIMAL
        assert ours.utility == pytest.approx(theirs.utility, rel=2e-6)


@pytest.mark.parametrize("notion", ["lip", "ldp"])
@pytest.mark.parametrize("n", [16, pytest.param(40, marks=pytest.mark.long)])
def test_counts_of_many_symbols_are_proved(n: int, notion: str) -> None:
    p = np.arange(1, n + 1) / (n * (n + 1) / 2)
    solution = po.solve(itself(p, epsilon=1.0, notion=notion), "patterns", time_limit=120)
    assert solution.status is po.Status.OPTIMAL
    assert solution.certified


@pytest.mark.parametrize("notion", ["lip", "ldp"])
def test_equal_secrets_of_any_number_are_proved(notion: str) -> None:
    solution = po.solve(itself(np.full(60, 1 / 60), epsilon=1.0, notion=notion), "closed-form", time_limit=60)
    assert solution.status is po.Status.OPTIMAL


def test_hundreds_of_symbols_are_bounded_in_time() -> None:
    p = np.random.default_rng(0).dirichlet(np.ones(450))
    solution = po.solve(itself(p, epsilon=1.0, notion="ldp"), time_limit=2)
    assert solution.certified
    assert solution.objective is not None
    assert solution.bound is not None
    assert solution.objective >= 0.9999 * solution.bound


def test_others_are_refused() -> None:
    blurred = po.LocalInformationPrivacy(po.JointDistribution.normalised([[5, 2, 1], [1, 3, 4]]), 0.5)
    p = np.array([0.5, 0.3, 0.2])
    hamming = itself(p, epsilon=1.0, utility=(1.0 - np.eye(3)).tolist())
    for problem in (blurred, hamming, itself(p, epsilon=1.0, delta=0.1), itself(p, epsilon=50.0)):
        assert po.solve(problem, "patterns").status is po.Status.REFUSED


@pytest.mark.parametrize("n", [16, 21])
def test_nearly_even_patterns_leave_little_to_the_odd_value(n: int) -> None:
    p = np.random.default_rng(n).dirichlet(np.ones(n))
    low, high = np.exp(-1.0) * p, np.minimum(np.exp(1.0) * p, 1.0)
    points = _nearly_even(low, high, np.random.default_rng(0))
    assert points.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    inside = (points > low * (1 + 1e-9)) & (points < high * (1 - 1e-9))
    assert inside.sum(axis=1).max() <= 1
    assert ((points >= low - 1e-15) & (points <= high + 1e-15)).all()
    odd = np.where(inside, points - low, 0.0).max(axis=1)
    assert odd.min() < 1e-4


@pytest.mark.long
def test_forty_values_of_any_prior_are_proved() -> None:
    p = np.random.default_rng(1).dirichlet(np.ones(40))
    solution = po.solve(itself(p, epsilon=1.0), "patterns", time_limit=60)
    assert solution.status is po.Status.OPTIMAL

"""Secrets that are functions of the observation: the least cost of a posterior, against every vertex."""

from __future__ import annotations

import math

import numpy as np
import pytest
from instances.few import few
from oracles.patterns import corners, itself, staircases

import privopt as po
from privopt.arrays import Floats
from privopt.problems.local_information_privacy.lattice import lattice_of, least_lattice_cost
from privopt.problems.local_information_privacy.patterns import Search, classes, groups, least_pattern_cost


def reduced(vertices: Floats, prices: Floats) -> float:
    logs = np.log(np.where(vertices > 0, vertices, 1.0))
    return float((-(vertices * logs).sum(axis=1) - vertices @ prices).min())


def drawn(seed: int) -> tuple[Floats, float, Floats]:
    """A prior with ties for even seeds, a level, and prices with ties for multiples of 3."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    weights = rng.integers(1, 60 if seed % 2 else 4, size=n)
    prices = rng.normal(size=n) * float(rng.choice([0.0, 0.1, 1.0]))
    return (
        weights / weights.sum(),
        float(rng.choice([0.1, 0.5, 1.0, 3.0])),
        prices.round(12 if seed % 3 else 0),
    )


@pytest.mark.parametrize("seed", few(range(24), 6))
def test_the_least_cost_is_that_of_the_best_vertex(seed: int) -> None:
    p, epsilon, prices = drawn(seed)
    cases = [
        (itself(p, epsilon=epsilon, notion="ldp"), staircases(p, epsilon)),
        (itself(p, epsilon=epsilon), corners(p, epsilon, epsilon)),
        (itself(p, upper=epsilon), corners(p, math.inf, epsilon)),
        (itself(p, lower=epsilon), corners(p, epsilon, 80.0)),
        (itself(p, lower=epsilon, upper=epsilon / 3), corners(p, epsilon, epsilon / 3)),
    ]
    for problem, vertices in cases:
        least = reduced(vertices, prices)
        low, high = least_pattern_cost(problem, prices, least - 1e-9, 60.0) or (math.nan, math.nan)
        assert least - 1.1e-9 <= low <= least + 1e-13
        assert low <= high
        over = least_pattern_cost(problem, prices, least + 0.01, 60.0)
        assert over is not None
        assert over[0] <= least + 1e-13
        if (whole := least_lattice_cost(problem, prices)) is not None:
            assert least - 1e-11 <= whole[0] <= least + 1e-13
            assert whole[0] <= whole[1]
        assert whole is not None or problem.notion == "lip"  # an upper bound may exceed 1
        found = groups(problem, prices)
        assert found is not None
        search = Search(found, least + 1e-6)
        while not search.done:
            search.step()
        assert search.least == pytest.approx(least, abs=1e-9)


@pytest.mark.parametrize("notion", ["lip", "ldp"])
def test_many_equal_secrets_are_counted(notion: str) -> None:
    """Of 100 equal secrets at one price only the number of likely ones matters."""
    n, r = 100, math.e
    problem = itself(np.full(n, 1.0 / n), epsilon=1.0, notion=notion)
    if notion == "ldp":
        made = [np.where(np.arange(n) < k, r, 1.0) for k in range(n + 1)]
    else:
        high = int((n - n / r) / (r - 1 / r))
        middle = n - high * r - (n - 1 - high) / r
        made = [np.concatenate([np.full(high, r), [middle], np.full(n - 1 - high, 1 / r)])]
    least = min(reduced((v / v.sum())[None, :], np.zeros(n)) for v in made)
    proved = least_pattern_cost(problem, np.zeros(n), least - 1e-10, 60.0)
    assert proved is not None
    assert least - 1.1e-10 <= proved[0] <= least + 1e-12


def test_within_a_class_the_dearest_observation_takes_all() -> None:
    table = np.array([[3.0, 2.0, 0.0, 0.0], [0.0, 0.0, 4.0, 1.0]])
    joint = po.JointDistribution.normalised(table)
    prices = np.array([0.3, 0.1, -0.2, 0.4])
    for notion in ("lip", "ldp"):
        problem = po.LocalInformationPrivacy(joint, 0.7, notion=notion)
        found = classes(problem)
        assert found is not None
        assert found.tolist() == [0, 0, 1, 1]
        ends = (
            staircases(np.array([0.5, 0.5]), 0.7)
            if notion == "ldp"
            else corners(np.array([0.5, 0.5]), 0.7, 0.7)
        )
        least = reduced(ends, np.array([0.3, 0.4]))
        proved = least_pattern_cost(problem, prices, least - 1e-9, 60.0)
        assert proved is not None
        assert least - 1.1e-9 <= proved[0] <= least + 1e-13


def test_what_is_no_function_or_no_number_proves_nothing() -> None:
    joint = po.JointDistribution.normalised([[5, 2, 1], [1, 3, 4]])
    blurred = po.LocalInformationPrivacy(joint, 0.5)
    assert blurred.prove_bound({"kind": "patterns", "pi": [0.0, 0.0, 0.0], "least": -1.0}) is None
    clear = itself(np.array([0.5, 0.25, 0.25]), epsilon=0.5)
    for least in (None, math.nan, -math.inf, "0"):
        assert clear.prove_bound({"kind": "patterns", "pi": [0.0, 0.0, 0.0], "least": least}) is None
    assert clear.prove_bound({"kind": "patterns", "pi": [1e9, 0.0, 0.0], "least": -1.0}) is None


def test_a_lattice_needs_few_units_and_upper_bounds_below_one() -> None:
    counts = np.arange(1, 11)
    assert lattice_of(itself(counts / 55, epsilon=1.0)) is not None
    assert lattice_of(itself(counts / 55, epsilon=2.0)) is None
    assert lattice_of(itself(counts / 55, epsilon=2.0, notion="ldp")) is not None
    assert lattice_of(itself(np.random.default_rng(1).dirichlet(np.ones(10)), epsilon=0.1)) is None
    problem = itself(counts / 55, epsilon=1.0)
    solution = po.solve(problem, "patterns")
    loose = problem.check_bound(0.0, {"kind": "lattice", "pi": [0.0] * 10})
    assert loose is not None
    assert solution.bound is not None
    assert loose >= solution.bound
    floats = itself(np.random.default_rng(1).dirichlet(np.ones(10)), epsilon=0.1)
    assert floats.check_bound(0.0, {"kind": "lattice", "pi": [0.0] * 10}) is None

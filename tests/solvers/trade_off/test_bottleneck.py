"""The randomised optimum of the information bottleneck: closed forms, invariants, and its relation to the funnel."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import privopt as po
from privopt.models import JointDistribution, ObservedJoint
from privopt.problems.information_bottleneck.problem import InformationBottleneck
from privopt.problems.local_information_privacy.examples import lecture_joint
from privopt.problems.privacy_funnel.problem import PrivacyFunnel
from privopt.problems.trade_off.partitions import best_partition

BITS = math.log(2)


def table(seed: int, n_s: int, n_x: int) -> JointDistribution:
    return JointDistribution.normalised(
        np.random.default_rng(seed).dirichlet(np.ones(n_s * n_x)).reshape(n_s, n_x)
    )


def answer(problem: Any, solver: Any = "column-generation", seconds: float = 30.0) -> po.Solution[Any]:
    solution = po.solve(problem, solver, time_limit=seconds)
    assert solution.status.ok, solution.reason
    assert solution.certified
    assert "bound_refused" not in solution.stats
    return solution


def h2(p: float) -> float:
    return 0.0 if p in (0, 1) else -p * math.log2(p) - (1 - p) * math.log2(1 - p)


def inverse(entropy: float) -> float:
    from scipy.optimize import brentq

    return float(brentq(lambda a: h2(a) - entropy, 0.0, 0.5, xtol=1e-15))


@pytest.mark.parametrize(("p", "rate"), [(0.05, 0.2), (0.1, 0.5), (0.3, 0.9)])
def test_noisy_bit(p: float, rate: float) -> None:
    joint = JointDistribution([[(1 - p) / 2, p / 2], [p / 2, (1 - p) / 2]])
    a = inverse(1 - rate)
    solution = answer(InformationBottleneck(joint, max_rate=rate * BITS))
    assert solution.objective == pytest.approx(BITS * (1 - h2(p * (1 - a) + a * (1 - p))), abs=1e-6)
    assert solution.status is po.Status.OPTIMAL


@pytest.mark.parametrize(
    ("rows", "options", "optimum"),
    [
        ([[1], [2]], {"max_rate": 0.5}, 0.0),
        ([[1, 2], [2, 4]], {"max_rate": 0.5}, 0.0),
        ([[1, 0, 0], [0, 2, 0], [0, 0, 3]], {"max_rate": 0.5}, 0.5),
        ([[5, 2], [1, 3]], {"max_rate": 0.0}, 0.0),
        ([[5, 2], [1, 3]], {"trade_off": 1.0}, 0.0),
        ([[5, 2], [1, 3]], {"max_rate": math.inf}, None),
        ([[5, 2, 0], [1, 3, 0]], {"trade_off": 0.0}, None),
    ],
)
def test_edges(rows: list[list[int]], options: dict[str, Any], optimum: float | None) -> None:
    problem = InformationBottleneck(JointDistribution.normalised(rows), **options)
    solution = answer(problem)
    if optimum is None:
        optimum = problem.evaluate(problem.everything()).objective
    assert solution.objective == pytest.approx(optimum, abs=1e-6)
    assert solution.status is po.Status.OPTIMAL


@pytest.mark.parametrize("seed", [*range(2), *(pytest.param(n, marks=pytest.mark.long) for n in range(2, 6))])
@pytest.mark.parametrize("options", [{"max_rate": 0.3}, {"trade_off": 0.1}], ids=lambda a: next(iter(a)))
def test_random_tables_against_a_grid(seed: int, options: dict[str, Any]) -> None:
    problem = InformationBottleneck(table(seed, 2 + seed % 3, 2 + seed % 2), **options)
    obvious, solution = answer(problem, "oracle"), answer(problem)
    assert solution.bound is not None
    assert obvious.objective is not None
    assert solution.bound >= obvious.objective - 1e-9
    assert solution.objective == pytest.approx(obvious.objective, abs=1e-6)


@pytest.mark.parametrize(
    "rows",
    [
        [[3, 1], [1, 0], [0, 0], [1, 4]],  # a value of S that never occurs
        [[4, 3], [3, 4], [4, 4], [3, 3]],  # values of S that tell nothing
        [[4, 5, 0], [4, 5, 1], [1, 0, 4], [5, 3, 3]],  # more values of S than symbols
    ],
)
def test_boxes_without_interior_are_shown_to_be_empty(rows: list[list[int]]) -> None:
    joint = JointDistribution.normalised(rows)
    asks: list[dict[str, Any]] = [{"max_rate": 0.17}, {"trade_off": 0.325}]
    for options in asks:
        problem = InformationBottleneck(joint, **options)
        obvious, solution = answer(problem, "oracle"), answer(problem)
        assert solution.status is po.Status.OPTIMAL
        assert solution.objective == pytest.approx(obvious.objective, abs=1e-6)


@pytest.mark.parametrize("seed", range(2))
def test_what_is_observed_may_be_another_symbol(seed: int) -> None:
    cells = np.random.default_rng(seed).dirichlet(np.ones(12)).reshape(2, 2, 3)
    asks: list[dict[str, Any]] = [{"max_rate": 0.03}, {"trade_off": 0.2}]
    for options in asks:
        problem = InformationBottleneck(ObservedJoint(cells), **options)
        obvious, solution = answer(problem, "oracle"), answer(problem)
        assert solution.bound is not None
        assert obvious.objective is not None
        assert solution.bound >= obvious.objective - 1e-9
        assert solution.objective == pytest.approx(obvious.objective, abs=1e-6)


@pytest.mark.long
def test_bottleneck_lies_above_the_funnel_and_below_the_rate() -> None:
    joint = table(5, 3, 5)
    told = PrivacyFunnel(joint, max_leakage=math.inf)
    most = told.evaluate(told.everything()).leakage
    rates = np.linspace(0.1, 0.9, 5) * told.most
    kept = np.array([answer(InformationBottleneck(joint, max_rate=float(r))).objective for r in rates])
    leaked = np.array([answer(PrivacyFunnel(joint, min_utility=float(r))).leakage for r in rates])
    assert (kept >= leaked - 1e-9).all()
    assert (kept <= np.minimum(rates, most) + 1e-9).all()
    assert (np.diff(kept) >= -1e-6).all()
    assert (np.diff(kept, 2) <= 4e-6).all()


@pytest.mark.long
def test_channels_are_at_least_as_good_as_mergings() -> None:
    problem = InformationBottleneck(table(2, 3, 7), max_rate=0.8)
    merged, solution = best_partition(problem, 10.0), answer(problem)
    assert merged is not None
    assert solution.objective is not None
    assert solution.objective >= merged.objective - 1e-6


@pytest.mark.long
def test_self_consistent_equations_reach_the_proved_optimum() -> None:
    asks: list[dict[str, Any]] = [{"max_rate": 0.5}, {"trade_off": 0.05}]
    for options in asks:
        problem = InformationBottleneck(lecture_joint(), **options)
        best, local = answer(problem), answer(problem, "self-consistent")
        assert best.bound is not None
        assert best.objective is not None
        assert local.objective is not None
        assert best.bound - 5e-4 <= best.objective
        assert best.bound - 1e-3 <= local.objective <= best.bound + 1e-12

"""Chains that forget slowly: what cannot be judged in time is refused at once, and readings end at the deadline."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import privopt as po
from privopt.core.solver import Budget
from privopt.measures.bayesian.markov import laplace_tail, markov_recursion
from privopt.solvers.bayesian_privacy._calibrated import hasty_level

SLOW = po.MarkovChain(0.999 * np.roll(np.eye(5), 1, axis=1) + 0.001 / 5)


def test_a_chain_that_takes_long_to_judge_is_refused_with_the_limit_that_would_do() -> None:
    problem = po.BayesianPrivacy(SLOW, "histogram", 1.0)
    assert problem.judging_seconds > 2
    solution = po.solve(problem, time_limit=0.5)
    assert solution.status is po.Status.REFUSED
    assert "time_limit=" in solution.reason


def test_readings_end_when_no_seconds_are_left() -> None:
    with pytest.raises(TimeoutError):
        markov_recursion(SLOW, 0.1, clock=lambda: 0.0)
    with pytest.raises(TimeoutError):
        laplace_tail(SLOW, [0, 1, 2, 3, 4], 0.1, clock=lambda: 0.0)


@pytest.mark.parametrize("least", [0.0, 1e-5])
def test_a_hasty_level_is_the_largest_where_there_is_time(least: float) -> None:
    level = hasty_level(lambda tau: 40 * tau, 1.0, Budget(), least)
    assert level == pytest.approx(1 / 40, rel=1e-6)
    assert 40 * level <= 1.0


def test_a_hasty_level_is_allowed_when_readings_stop() -> None:
    calls = 0

    def leakage(tau: float) -> float:
        nonlocal calls
        calls += 1
        if calls > 4:
            raise TimeoutError
        return 40 * tau

    level = hasty_level(leakage, 1.0, Budget())
    assert 0 < level <= 1 / 40


@pytest.mark.parametrize("epsilon", [0.1, 3.0])
@pytest.mark.parametrize(
    "leakage",
    [
        lambda tau: tau + 30 * tau**2,
        lambda tau: math.expm1(20 * tau),
        lambda tau: tau + math.tanh(50 * tau),
        lambda tau: min(53 * tau, 5 * tau + 100 * tau**3),
    ],
)
def test_a_hasty_level_takes_few_readings(leakage: Callable[[float], float], epsilon: float) -> None:
    read = list[float]()

    def noted(tau: float) -> float:
        read.append(tau)
        return leakage(tau)

    level = hasty_level(noted, epsilon, Budget())
    assert leakage(level) <= epsilon < leakage(level * (1 + 2e-7))
    assert len(read) <= 20  # halving takes 25 to 30

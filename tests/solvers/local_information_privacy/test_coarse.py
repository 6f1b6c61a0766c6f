"""Linear programs over blocks: what they propose keeps the bounds of the whole problem, and is near its optimum."""

from __future__ import annotations

import numpy as np
import pytest

import privopt as po


def line(n: int, notion: str) -> po.LocalInformationPrivacy:
    """Points of a line, each its own secret, released at a price of their distance."""
    points = np.linspace(0.0, 1.0, n)
    weights = 1 + np.arange(n) % 3
    joint = po.JointDistribution.normalised(np.diag(weights).tolist())
    return po.LocalInformationPrivacy(
        joint, 1.0, notion=notion, utility=np.abs(points[:, None] - points[None, :])
    )


def told(number: float | None) -> float:
    assert number is not None
    return number


@pytest.mark.parametrize("notion", ["lip", "ldp"])
def test_blocks_of_a_line_lose_little(notion: str) -> None:
    problem = line(45, notion)
    coarse = po.solve(problem, "coarse", time_limit=20)
    optimum = po.solve(problem, "direct-lp" if notion == "lip" else "interior-point", time_limit=60)
    anchor = problem.evaluate(problem.anchor()).objective
    assert coarse.certified
    assert anchor < told(coarse.objective) <= told(optimum.bound)
    assert told(optimum.objective) - told(coarse.objective) < 0.02 * (told(optimum.objective) - anchor)


def test_secrets_apart_from_the_symbols_keep_their_bounds() -> None:
    rng = np.random.default_rng(5)
    table = rng.dirichlet(np.ones(60), size=3) * np.array([[0.2], [0.3], [0.5]])
    cost = np.abs(np.arange(60)[:, None] - np.arange(60)[None, :]) / 59
    problem = po.LocalInformationPrivacy(po.JointDistribution.normalised(table), 0.3, utility=cost)
    coarse = po.solve(problem, "coarse", time_limit=20)
    optimum = po.solve(problem, "direct-lp", time_limit=60)
    assert coarse.certified
    assert problem.evaluate(problem.anchor()).objective < told(coarse.objective) <= told(optimum.bound)


def test_small_tables_and_other_utilities_are_refused_in_a_sentence() -> None:
    small = po.solve(line(2, "lip"), "coarse")
    assert small.status is po.Status.REFUSED
    assert "it is for 3 to 3000 observations" in small.reason

"""Bottlenecks of few symbols, whose proofs have boxes on which slopes alone run away."""

from __future__ import annotations

import numpy as np
import pytest

import privopt as po


@pytest.mark.parametrize("seed", [2, 9, 15])
def test_boxes_on_which_slopes_run_away_are_closed(seed: int) -> None:
    """They were shut as they were, which left gaps of 2e-4 to 4e-3."""
    table = np.random.default_rng(seed).dirichlet(np.full(28, 0.3)).reshape(4, 7) + 1e-4
    problem = po.InformationBottleneck(po.JointDistribution.normalised(table), trade_off=0.3)
    solution = po.solve(problem, "column-generation", time_limit=30)
    assert solution.status is po.Status.OPTIMAL
    assert solution.certified
    assert po.verify(problem, solution).ok


def test_terms_that_both_vanish_are_proved_to_a_billionth() -> None:
    """Where leakage weighs too much, nothing is released, and no bound is 0 to the last digit."""
    table = np.random.default_rng(5).dirichlet(np.full(12, 5.0)).reshape(3, 4)
    problem = po.InformationBottleneck(po.JointDistribution.normalised(table), trade_off=0.9)
    solution = po.solve(problem, time_limit=10)
    assert solution.status is po.Status.OPTIMAL
    assert solution.objective == 0.0
    assert solution.bound is not None
    assert 0.0 <= solution.bound <= 1e-9

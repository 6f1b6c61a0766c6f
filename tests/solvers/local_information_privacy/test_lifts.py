"""Ratios through levels of lifts: what is mixed keeps the bound on ratios and says no less than any level alone."""

from __future__ import annotations

import time

import numpy as np
import pytest

import privopt as po
from privopt.core.solver import Budget
from privopt.solvers.local_information_privacy.column_generation import ColumnGeneration
from privopt.solvers.local_information_privacy.columns.generation import alone
from privopt.solvers.local_information_privacy.columns.lifts import UPPER, between, through_lifts


@pytest.mark.parametrize("seed", range(3))
def test_levels_are_mixed_within_the_bound_on_ratios(seed: int) -> None:
    table = np.random.default_rng(seed).dirichlet(np.ones(5), 4) / 4
    problem = po.LocalInformationPrivacy(po.JointDistribution.normalised(table), 0.8, notion="ldp")
    mixed = through_lifts(problem, Budget(time.monotonic() + 30.0), ColumnGeneration().run).mechanism
    assert isinstance(mixed, po.Channel)
    given = table / table.sum(axis=1, keepdims=True) @ mixed.matrix
    assert np.log(given.max(axis=0) / given.min(axis=0)).max() <= 0.8 + 1e-9
    utility, best = problem.evaluate(mixed).utility, po.solve(problem, time_limit=20)
    assert best.bound is not None
    assert utility <= best.bound + 1e-8
    for upper in UPPER:
        level = po.solve(between(problem, upper), "column-generation")
        assert level.utility is not None
        assert level.utility <= utility + 1e-8


@pytest.mark.parametrize("seed", range(3))
def test_what_stands_out_alone_is_the_last_that_is_allowed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p, rows = rng.dirichlet(np.ones(5)), rng.normal(size=(7, 5))
    rows -= np.maximum(rows @ p, 0.0)[:, None] + 0.1
    for w, end in enumerate(alone(rows, p)):
        assert (rows @ end).max() <= 1e-12
        further = p + 1.001 * (end - p)
        assert np.allclose(end, np.eye(5)[w]) or (rows @ further).max() > 0

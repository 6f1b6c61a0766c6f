"""Solving over sets of chains: known optima, brute force over mechanisms, fallbacks."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest

import privopt as po

RARE = po.MarkovChain([[F(99, 100), F(1, 100)], [F(4, 5), F(1, 5)]])


@pytest.mark.parametrize(
    ("relative", "utility"), [(F(1, 20), 0.76153), (F(1, 10), 0.72444), (F(1, 5), 0.64271)]
)
def test_optima_over_intervals(relative: F, utility: float) -> None:
    problem = po.Redaction(po.ChainAmbiguity.interval(RARE, relative), 10, 0, 1.0)
    solution = po.solve(problem)
    assert solution.status is po.Status.OPTIMAL
    assert solution.utility == pytest.approx(utility, abs=6e-6)
    assert solution.leakage == pytest.approx(1.0, abs=1e-9)
    assert po.verify(problem, solution).ok
    windows = po.solve(po.Redaction(RARE, 10, 0, 1.0), "windows").mechanism
    assert problem.evaluate(problem.repair(windows, 0.0)).utility <= utility


def test_the_optimum_of_one_chain_for_less_is_nearly_that_of_the_set() -> None:
    nominal = po.Redaction(RARE, 10, 0, 0.66420)
    solution = po.solve(nominal)
    assert solution.utility == pytest.approx(0.761480, abs=6e-7)
    level = po.measures.robust_level(nominal, solution.mechanism, po.ChainAmbiguity.interval(RARE, F(1, 20)))
    assert level[1] == pytest.approx(1.0, abs=1e-5)


def test_no_mechanism_of_a_grid_is_better() -> None:
    near = po.ChainAmbiguity.interval(po.MarkovChain([[0.75, 0.25], [0.5, 0.5]]), F(1, 10))
    problem = po.Redaction(near, 3, 0, 0.8)
    solution = po.solve(problem)
    assert solution.certified
    grid, best = np.linspace(0, 1, 11), 0.0
    for cells in np.stack(np.meshgrid(grid, grid, grid, grid), axis=-1).reshape(-1, 4)[::7]:
        reading = problem.evaluate(problem.answer(np.vstack(([1, 1], cells.reshape(2, 2)))))
        best = max(best, reading.utility if reading.feasible else 0.0)
    assert solution.utility is not None
    assert solution.utility >= best - 1e-9


def test_where_no_chain_of_the_set_is_the_worst_the_rest_is_found_by_less_budget() -> None:
    """Records that stay at one end of the set and alternate at the other."""
    near = po.ChainAmbiguity.interval(po.MarkovChain([[0.25, 0.75], [0.28, 0.72]]), F(3, 10))
    problem = po.Redaction(near, 4, 3, 0.6)
    solution = po.solve(problem)
    assert solution.status is po.Status.GAP
    assert po.verify(problem, solution).ok
    assert solution.utility == pytest.approx(0.558865, abs=1e-3)
    assert solution.bound is not None
    assert solution.bound < 0.61


@pytest.mark.long
def test_other_sets_and_forms() -> None:
    sets = [po.RowSet.total_variation(row, F(1, 50)) for row in ([F(3, 4), F(1, 4)], [F(1, 2), F(1, 2)])]
    chain = po.MarkovChain([[F(3, 4), F(1, 4)], [F(1, 2), F(1, 2)]])
    wide = [po.RowSet.total_variation(row.center, F(1, 10)) for row in sets]
    apart = po.ChainAmbiguity(sets, wide, po.RowSet.all(2), nominal=chain)
    few = po.MarkovChain([[0.9, 0.1], [0.4, 0.6]])
    near = po.ChainAmbiguity.interval(few, 0.1)
    day = po.Redaction(near, 48, 3, 1.5, period=24)
    problems = [
        po.Redaction(apart, 6, 2, 1.0),
        po.Redaction(near, 6, 1, 0.8, form="sequential"),
        po.Redaction(near, 6, 2, 1.0, weights=[1, 0, 1, 2, 1, 3]),
        po.Redaction(near, 5, 0, 0.0),
        day,
    ]
    for problem in problems:
        solution = po.solve(problem, time_limit=3)
        assert solution.certified, problem
        assert po.verify(problem, solution).ok
    assert po.solve(day).status is po.Status.OPTIMAL


def test_who_knows_one_chain_only_refuses() -> None:
    problem = po.Redaction(po.ChainAmbiguity.interval(RARE, 0.1), 10, 0, 1.0)
    assert [c.name for c in po.candidates(problem) if c.refusal is None] == ["slowest-chain"]
    nominal = po.Redaction(RARE, 10, 0, 1.0)
    assert "slowest-chain" not in [c.name for c in po.candidates(nominal) if c.refusal is None]

"""Benders' decomposition, exponential tails and grids of grids against the optimum of the whole program."""

from __future__ import annotations

import itertools
import math
import time

import numpy as np
import pytest
from instances.few import few

import privopt as po
from privopt.core.solver import Budget
from privopt.solvers.metric_privacy.benders import Benders, subsets
from privopt.solvers.metric_privacy.constrained import Constrained
from privopt.solvers.metric_privacy.multi_step import MultiStep, budgets, staying


def town(seed: int) -> po.MetricPrivacy:
    """Places with few promised pairs each, some of them with none."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(0, 3, size=(18, 2))
    return po.MetricPrivacy(
        po.Metric.euclidean(points),
        rng.dirichlet(np.ones(18)),
        "distance",
        float(rng.uniform(0.5, 2.5)),
        outputs=list(range(0, 18, 3)),
        radius=0.9,
    )


def lattice(side: int, epsilon: float) -> po.MetricPrivacy:
    axis = np.arange(float(side))
    places = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    prior = np.random.default_rng(side).dirichlet(np.ones(side * side))
    return po.MetricPrivacy(po.Metric.euclidean(places), prior, "distance", epsilon)


def utility(problem: po.MetricPrivacy, proposal: po.Proposal) -> float:
    assert proposal.mechanism is not None
    return problem.evaluate(problem.check(proposal.mechanism)).utility


@pytest.mark.parametrize("seed", few(range(6), 3))
@pytest.mark.parametrize("size", [3, 6, 100])
def test_benders_converges_to_the_optimum(seed: int, size: int) -> None:
    problem = town(seed)
    best = po.solve(problem, "direct-lp")
    proposal = Benders(size=size).run(problem, Budget())
    assert best.status is po.Status.OPTIMAL
    assert best.objective is not None
    assert utility(problem, proposal) == pytest.approx(best.objective, rel=1e-6, abs=1e-9)
    gap = proposal.stats["gap"]
    assert isinstance(gap, float)
    assert gap <= 1e-6
    judged = po.solve(problem, Benders(size=size))
    assert judged.certified
    assert judged.objective == pytest.approx(best.objective, rel=1e-6, abs=1e-9)


def test_benders_converges_where_every_subset_has_an_inside() -> None:
    rng = np.random.default_rng(4)
    problem = po.MetricPrivacy(po.Metric.line(12), rng.dirichlet(np.ones(12)), "squared", 0.7)
    best = po.solve(problem, "geometric")  # closed form
    proposal = Benders(size=4).run(problem, Budget())
    rounds = proposal.stats["rounds"]
    assert isinstance(rounds, int)
    assert rounds > 2
    assert utility(problem, proposal) == pytest.approx(best.objective, rel=1e-7)


def test_one_subset_is_the_program_itself() -> None:
    problem = po.MetricPrivacy(po.Metric.grid(3, 3), [1 / 9] * 9, "distance", 1.0)
    proposal = Benders(size=9).run(problem, Budget())
    assert proposal.stats["rounds"] == 1
    assert utility(problem, proposal) == pytest.approx(po.solve(problem, "direct-lp").objective, rel=1e-7)


def test_where_all_points_are_at_borders_the_master_program_is_all_of_it() -> None:
    problem = lattice(4, 1.0)  # every pair is promised something
    proposal = Benders(size=8).run(problem, Budget())
    assert proposal.stats["stop"] != "no cut"
    assert utility(problem, proposal) == pytest.approx(po.solve(problem, "direct-lp").objective, rel=1e-6)
    gap = proposal.stats["gap"]
    assert isinstance(gap, float)
    assert gap <= 1e-6


def test_benders_out_of_time_proposes_its_best_so_far() -> None:
    problem = po.MetricPrivacy(po.Metric.grid(5, 5, distance="manhattan"), [1 / 25] * 25, "distance", 1.0)
    none = Benders(size=8).run(problem, Budget(time.monotonic() - 1.0))
    assert none.stats["stop"] == "out of time"
    assert none.mechanism is not None
    assert problem.evaluate(problem.check(none.mechanism)).leakage <= 1e-9  # uniform rows


def test_subsets_are_numbered_and_cover_all_points() -> None:
    from privopt.solvers.metric_privacy._parts import parts

    part = next(iter(parts(lattice(5, 1.0))))
    for count in (1, 2, 4, 25):
        group = subsets(part, count)
        assert len(group) == 25
        assert set(group.tolist()) == set(range(count))


@pytest.mark.parametrize("seed", range(4))
def test_free_everywhere_the_tails_are_the_program_itself(seed: int) -> None:
    problem = town(seed)
    best = po.solve(problem, "direct-lp").objective
    assert best is not None
    assert utility(problem, Constrained(nearest=18).run(problem, Budget())) == pytest.approx(best, rel=1e-7)
    solved = [po.solve(problem, Constrained(nearest=nearest)) for nearest in (2, 5, 18)]
    for solution in solved:
        assert solution.certified
        assert solution.objective is not None
        assert solution.objective <= best + 1e-9


def test_more_free_entries_never_cost_utility_where_rows_sum_to_one() -> None:
    problem = lattice(4, 0.9)
    runs = [Constrained(nearest=nearest).run(problem, Budget()) for nearest in (6, 9, 12, 16)]
    assert all(run.stats["largest_sum"] == pytest.approx(1.0, abs=1e-7) for run in runs)
    values = [utility(problem, run) for run in runs]
    assert all(b >= a - 1e-7 for a, b in itertools.pairwise(values))
    assert values[-1] == pytest.approx(po.solve(problem, "direct-lp").objective, rel=1e-7)


@pytest.mark.parametrize("side", [3, 4])
def test_one_step_over_the_lattice_of_the_points_is_the_optimum(side: int) -> None:
    problem = lattice(side, 0.9)
    proposal = MultiStep(cells=side).run(problem, Budget())
    assert proposal.stats["steps"] == 1
    assert utility(problem, proposal) == pytest.approx(po.solve(problem, "direct-lp").objective, rel=1e-7)


def test_several_steps_break_the_promise_across_their_lines_and_are_repaired() -> None:
    problem = lattice(4, 4.0)
    solver = MultiStep(cells=2, stay=0.6)
    proposal = solver.run(problem, Budget())
    assert proposal.stats["steps"] == 2
    assert proposal.stats["programs"] == 5
    assert proposal.mechanism is not None
    raw = problem.evaluate(problem.check(proposal.mechanism))
    assert raw.leakage > 4.0
    best, solution = po.solve(problem, "direct-lp", time_limit=60.0), po.solve(problem, solver)
    assert best.objective is not None
    assert solution.objective is not None
    assert solution.certified
    assert solution.objective <= best.objective + 1e-9


def test_points_at_one_place_release_what_costs_least() -> None:
    problem = po.MetricPrivacy(po.Metric.euclidean([[1.0, 1.0]] * 3), [0.5, 0.25, 0.25], np.eye(3), 1.0)
    assert po.solve(problem, "multi-step").objective == pytest.approx(-0.25)


def test_budgets_of_steps_add_up_and_grow_with_the_grid() -> None:
    for epsilon in (0.01, 1.0, 7.0, 50.0):
        levels = budgets(epsilon, 10.0, 3, 2, 0.8)
        assert math.fsum(levels) == pytest.approx(epsilon)
        assert all(b > 2.9 * a for a, b in itertools.pairwise(levels))
    axis = np.arange(-200, 201)
    weights = np.exp(-staying(0.7, 1) * np.abs(axis))
    assert weights.max() / weights.sum() == pytest.approx(0.7)


@pytest.mark.parametrize("name", ["benders", "constrained-lp", "multi-step"])
def test_published_decompositions_run_by_name_only_and_are_judged(name: str) -> None:
    problem = po.MetricPrivacy(
        po.Metric.euclidean(np.random.default_rng(3).uniform(0, 2, size=(14, 2))),
        [1 / 14] * 14,
        "distance",
        2.0,
    )
    best, other = po.solve(problem, "direct-lp"), po.solve(problem, name)
    assert other.certified
    assert other.objective is not None
    assert best.objective is not None
    assert other.objective <= best.objective + 1e-9
    assert any(line.startswith(f"{name}: BASELINE") for line in po.solve(problem).alternatives)

"""Solvers of metric privacy against brute force, and invariants of the field."""

from __future__ import annotations

import math
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from instances.few import few
from scipy.optimize import linprog

import privopt as po
from privopt.core.solver import Budget
from privopt.solvers.metric_privacy import _inside, alternating_directions
from privopt.solvers.metric_privacy._parts import parts
from privopt.solvers.metric_privacy._splitting import Splitting
from privopt.solvers.metric_privacy.alternating_directions import AlternatingDirections


def brute_force(problem: po.MetricPrivacy) -> float:
    """The least expected loss by one dense program over all pairs of points, shortest paths included."""
    n, m = problem.losses.shape
    apart = problem.metric.distances
    rows = []
    for x in range(n):
        for other in range(n):
            d = apart[x, other]
            if x != other and d < math.inf and (problem.radius is None or d <= problem.radius):
                for y in range(m):
                    row = np.zeros((n, m))
                    row[x, y], row[other, y] = 1.0, -math.exp(problem.epsilon * d)
                    rows.append(row.ravel() / math.exp(problem.epsilon * d))
    sums = np.kron(np.eye(n), np.ones(m))
    solved = linprog(
        (problem.p[:, None] * problem.losses).ravel(),
        A_ub=np.array(rows) if rows else None,
        b_ub=np.zeros(len(rows)) if rows else None,
        A_eq=sums,
        b_eq=np.ones(n),
        method="highs",
    )
    assert solved.fun is not None
    return -float(solved.fun)


def random_problem(seed: int) -> po.MetricPrivacy:
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(3, 9)), int(rng.integers(2, 6))
    points = rng.uniform(0, 2, size=(n, 2))
    metric = [po.Metric.euclidean, po.Metric.manhattan][seed % 2](points)
    radius = None if seed % 3 else 1.0
    return po.MetricPrivacy(
        metric, rng.dirichlet(np.ones(n)), rng.uniform(size=(n, m)), float(rng.uniform(0.2, 4)), radius=radius
    )


@pytest.mark.parametrize("seed", range(12))
def test_the_program_reaches_brute_force(seed: int) -> None:
    problem = random_problem(seed)
    solution = po.solve(problem, "direct-lp")
    assert solution.status is po.Status.OPTIMAL
    assert solution.certified
    assert solution.objective == pytest.approx(brute_force(problem), abs=1e-7)
    assert po.verify(problem, solution).ok


def test_edges_of_a_graph_stand_for_all_paths() -> None:
    graph = nx.random_labeled_tree(7, seed=2)
    graph.add_edge(0, 5)
    rng = np.random.default_rng(2)
    for a, b in graph.edges:
        graph.edges[a, b]["weight"] = float(rng.integers(1, 4))
    metric = po.Metric.graph(graph)
    edges = po.MetricPrivacy(metric, [1 / 7] * 7, "squared", 0.6)
    table = po.MetricPrivacy(metric.distances, [1 / 7] * 7, "squared", 0.6)
    assert len(edges.pairs) < len(table.pairs)
    one, two = po.solve(edges), po.solve(table)
    assert one.objective == pytest.approx(two.objective, rel=1e-7)
    assert one.objective == pytest.approx(brute_force(table), abs=1e-6)
    assert table.certify(table.answer(one.mechanism.matrix)).leakage[1] <= 0.6 * (1 + 1e-9)


@pytest.mark.parametrize("seed", few(range(8), 4))
@pytest.mark.parametrize("loss", ["distance", "squared", "steps"])
def test_geometric_noise_is_optimal_on_a_line_for_every_prior_and_monotone_loss(seed: int, loss: str) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 10))
    steps = np.sort(rng.uniform(size=n))
    table = steps[np.abs(np.subtract.outer(np.arange(n), np.arange(n)))]
    problem = po.MetricPrivacy(
        po.Metric.line(n),
        rng.dirichlet(np.full(n, 0.5)),
        loss if loss != "steps" else table,
        float(rng.uniform(0.1, 3)),
    )
    noise = po.solve(problem, "geometric")
    best = po.solve(problem, "direct-lp")
    assert noise.certified
    assert noise.objective == pytest.approx(best.objective, rel=1e-7, abs=1e-10)


def test_noise_off_a_line_is_refused() -> None:
    refused = po.solve(
        po.MetricPrivacy(po.Metric.euclidean([0.0, 1.0, 3.0]), [1 / 3] * 3, "distance", 1.0), "geometric"
    )
    assert refused.status is po.Status.REFUSED


@pytest.mark.parametrize("seed", range(4))
def test_labels_and_order_do_not_matter(seed: int) -> None:
    problem = random_problem(seed)
    assert problem.metric.places is not None
    order = np.random.default_rng(seed).permutation(len(problem.metric))
    build = {"euclidean": po.Metric.euclidean, "manhattan": po.Metric.manhattan}[problem.metric.kind]
    moved = po.MetricPrivacy(
        build(problem.metric.places[order], [f"p{i}" for i in order]),
        np.array(problem.prior)[order],
        problem.losses[order],
        problem.epsilon,
        radius=problem.radius,
    )
    assert po.solve(moved).objective == pytest.approx(po.solve(problem).objective, rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_a_larger_budget_never_costs_utility(seed: int) -> None:
    problem = random_problem(seed)
    values = [po.solve(problem.with_budget(e)).objective for e in (0.0, 0.1, 0.5, 1.0, 3.0, 20.0, math.inf)]
    known = [value for value in values if value is not None]
    assert len(known) == len(values)
    assert all(b >= a - 1e-7 for a, b in pairwise(known))
    if problem.component_count == 1:
        assert known[0] == pytest.approx(-float((problem.p @ problem.losses).min()), abs=1e-9)
    assert known[-1] == pytest.approx(-float(problem.p @ problem.losses.min(axis=1)), abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_post_processing_never_leaks_more(seed: int) -> None:
    problem = random_problem(seed)
    channel = po.solve(problem).mechanism
    m = channel.matrix.shape[1]
    after = np.random.default_rng(seed).dirichlet(np.ones(m), size=m)
    processed = problem.evaluate(problem.answer(channel.matrix @ after))
    assert processed.leakage <= problem.evaluate(channel).leakage + 1e-9


@pytest.mark.parametrize("name", ["exponential", "planar-laplace", "planar-geometric", "spanner"])
def test_published_mechanisms_are_private_and_no_better_than_the_optimum(name: str) -> None:
    problem = po.MetricPrivacy(
        po.Metric.grid(3, 4), np.random.default_rng(1).dirichlet(np.ones(12)), "distance", 1.2
    )
    best, other = po.solve(problem, "direct-lp"), po.solve(problem, name)
    assert other.certified
    assert other.objective is not None
    assert best.objective is not None
    assert -1.5 < other.objective <= best.objective + 1e-9


def test_the_first_order_method_closes_in_on_the_program() -> None:
    rng = np.random.default_rng(5)
    points = rng.uniform(0, 1.5, size=(40, 2))
    problem = po.MetricPrivacy(
        po.Metric.euclidean(points), [1 / 40] * 40, "distance", 3.0, outputs=list(range(0, 40, 2)), radius=0.5
    )
    best = po.solve(problem, "direct-lp")
    near = po.solve(problem, AlternatingDirections(tolerance=1e-3), time_limit=30.0)
    assert near.certified
    assert near.bound is not None
    assert best.objective is not None
    assert near.objective == pytest.approx(best.objective, rel=5e-3)
    assert near.bound >= best.objective * (1 + 1e-9)
    part = next(iter(parts(problem)))
    steps = Splitting(part)
    steps.run(Budget(), 1e-4, 4000)
    rest = sum(float(p.cost.min(axis=1).sum()) for p in list(parts(problem))[1:] if not len(p.first))
    assert steps.bound <= -best.objective + 1e-9
    assert rest >= 0
    assert float(np.abs(steps.matrix.sum(axis=1) - 1).max()) < 1e-9


def test_pairs_are_added_until_none_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    from privopt.solvers.metric_privacy import _program

    monkeypatch.setattr(_program, "WHOLE", 0)
    monkeypatch.setattr(_program, "NEAREST", 1)
    problem = random_problem(1)
    solution = po.solve(problem, "direct-lp")
    assert solution.objective == pytest.approx(brute_force(problem), abs=1e-7)


def test_a_program_out_of_time_still_gives_a_private_channel() -> None:
    problem = po.MetricPrivacy(po.Metric.grid(6, 6), [1 / 36] * 36, "distance", 1.0)
    solution = po.solve(problem, "direct-lp", time_limit=0.05)
    assert solution.status.ok or solution.status is po.Status.TIME_OUT


@pytest.mark.parametrize("seed", range(2))
def test_compiled_steps_are_those_of_arrays(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from privopt.solvers.metric_privacy import _splitting

    pytest.importorskip("numba")
    rng = np.random.default_rng(seed)
    metric = po.Metric.euclidean(rng.uniform(0, 2, size=(40, 2)))
    problem = po.MetricPrivacy(metric, rng.dirichlet(np.ones(40)), rng.uniform(size=(40, 7)), 1.5, radius=0.8)
    part = next(iter(parts(problem)))
    read = []
    for fast in (False, True):
        monkeypatch.setattr(_splitting, "compiling_pays", lambda work, fast=fast: fast)
        steps = Splitting(part)
        steps.run(Budget(), 0.0, 100)
        read.append((steps.matrix, steps.bound, steps.multipliers))
    assert np.allclose(read[0][0], read[1][0], atol=1e-4)
    assert read[0][1] == pytest.approx(read[1][1], rel=1e-3)
    assert np.allclose(read[0][2], read[1][2], atol=1e-3 * float(read[0][2].max()))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("nearly", [0.0, 0.5])
def test_the_interior_point_method_reaches_brute_force(
    seed: int, nearly: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba")
    monkeypatch.setattr(_inside, "LEAST_ROWS", 0)
    monkeypatch.setattr(_inside, "SPARSE", 0)
    monkeypatch.setattr(_inside, "NEARLY", nearly)
    problem = random_problem(seed)
    solution = po.solve(problem, "direct-lp", time_limit=60)
    assert solution.status is po.Status.OPTIMAL
    assert solution.certified
    assert solution.objective == pytest.approx(brute_force(problem), abs=1e-7)


def test_what_next_to_nothing_is_promised_is_left_to_the_simplex_method(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_inside, "LEAST_ROWS", 0)
    problem = random_problem(3).with_budget(0.0)
    solution = po.solve(problem, "direct-lp", time_limit=60)
    assert solution.status is po.Status.OPTIMAL
    assert solution.objective == pytest.approx(problem.evaluate(problem.constant()).utility, rel=1e-9)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_first_order_method_begins_at_the_best_answer(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alternating_directions, "SMALL", 0)
    monkeypatch.setattr(alternating_directions, "MOST_STEPS", 1)
    problem = random_problem(seed)
    best = po.solve(problem, "direct-lp").mechanism
    reached = []
    for incumbent in (None, best):
        raw = AlternatingDirections().run(problem, Budget(incumbent=incumbent)).mechanism
        assert raw is not None
        reached.append(problem.evaluate(problem.repair(problem.check(raw), 2.0**-44)).utility)
    assert reached[1] > reached[0]
    assert reached[1] <= problem.evaluate(best).utility + 1e-9


def test_planar_laplace_noise_of_points_far_from_the_origin_or_far_apart() -> None:
    near, far = (po.Metric.euclidean([[x, 0.0], [x + 2.0**20, 0.0]]) for x in (0.0, 2.0**60))
    mechanisms = [
        po.solve(po.MetricPrivacy(m, [0.5, 0.5], "distance", 2.0**-18), "planar-laplace") for m in (near, far)
    ]
    assert mechanisms[0].status.ok
    assert mechanisms[0].mechanism.to_dict() == mechanisms[1].mechanism.to_dict()
    wide = po.MetricPrivacy(
        po.Metric.euclidean([[1e150, 1e150], [0.0, 0.0], [1e150, 0.0]]), [0.5, 0.25, 0.25], "distance", 0.001
    )
    assert "too fine" in po.solve(wide, "planar-laplace").reason

"""Measures of colourings, repairs of boundary values and budgets an edge, against linear programs and fractions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from instances.few import few
from instances.graphs import LN2, e_to, random_graph, worst_excess
from scipy.optimize import linprog

import privopt as po
from privopt import measures
from privopt.measures.colouring.steps import step


def random_private(rng: np.random.Generator) -> tuple[po.BoundaryColouring, po.Colouring]:
    graph = random_graph(rng, most=8)
    epsilon, delta = float(rng.choice([0.2, LN2, 1.5])), float(rng.choice([0, 0, 0.05, 0.3]))
    problem = po.BoundaryColouring(graph, epsilon, delta, boundary=None)
    p = np.round(rng.random(graph.size), 3)
    return problem, problem.repair(problem.two_colours(p, 1 - p), 1e-12)


def can_be_improved(problem: po.BoundaryColouring, p: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    """How much accuracy can be added in all, with none lost anywhere: a linear program."""
    growth, rows, limits = math.exp(problem.epsilon), [], []
    n = problem.graph.size
    for a, b in problem.graph.edges().tolist():
        for u, v in ((a, b), (b, a)):
            row = np.zeros(n)
            row[u], row[v] = 1, -growth
            rows.append(row)
            limits.append(problem.delta)
            rows.append(-row)  # 1 - p_u <= e^epsilon (1 - p_v) + delta
            limits.append(growth - 1 + problem.delta)
    sign = np.where(problem.graph.codes == 0, 1.0, -1.0)
    bounds = [(x, 1) if s > 0 else (0, x) for x, s in zip(p.tolist(), sign.tolist(), strict=True)]
    best = linprog(-sign, np.array(rows).reshape(-1, n), limits, bounds=bounds, method="highs")
    return 0.0 if best.fun is None else float(-best.fun - sign @ p)


@pytest.mark.parametrize("seed", few(range(200), 50))
def test_optimality_is_that_of_a_linear_program(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem, colouring = random_private(rng)
    if seed % 2:  # extended from the boundary: often optimal
        values = dict.fromkeys(np.flatnonzero(problem.graph.boundary()).tolist(), 0.0)
        p = colouring.probabilities[:, 0]
        prescribed = po.BoundaryColouring(
            problem.graph, problem.epsilon, problem.delta, boundary={v: float(p[v]) for v in values}
        )
        colouring = po.solve(prescribed, "propagation").mechanism
    verdict = measures.is_optimal_colouring(problem.graph, colouring, problem.epsilon, problem.delta)
    gain = can_be_improved(problem, colouring.probabilities[:, 0])
    assert verdict == (gain < 1e-7)


def test_constants_are_optimal_only_where_they_must_be() -> None:
    line = po.DatasetGraph.line(2, 2)
    assert measures.is_optimal_colouring(line, [1.0, 1, 1, 1], LN2)
    assert not measures.is_optimal_colouring(line, [1.0, 1, 1, 1], LN2, 0.1)
    assert not measures.is_optimal_colouring(line, [0.5, 0.5, 0.5, 0.5], LN2)
    assert not measures.is_optimal_colouring(line, [1.0, 1, 0, 0], LN2)


@pytest.mark.parametrize("seed", range(40))
def test_smallest_epsilon_and_delta_are_inverse(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 5))
    graph = random_graph(rng, k)
    table = rng.dirichlet(np.ones(k), size=graph.size)
    epsilon = float(rng.uniform(0, 1))
    delta = measures.colouring_delta(graph, table, epsilon)
    colouring = po.Colouring(table)
    problem = po.BoundaryColouring(graph, epsilon, boundary=None)
    exact = float(worst_excess(problem, colouring, e_to(epsilon, up=True)))
    assert delta == pytest.approx(max(exact, 0), rel=1e-11, abs=1e-15)
    if delta > 0:
        assert measures.colouring_epsilon(graph, table, delta) == pytest.approx(epsilon, abs=1e-11)
        leak = measures.colouring_privacy(graph, table, epsilon, delta * 0.99)
        assert not leak.private
        assert leak.delta_edge is not None
    assert measures.is_private_colouring(graph, table, epsilon, delta)


def test_dominance() -> None:
    line = po.DatasetGraph.line(2, 1)
    a, b, c = [0.8, 0.7, 0.4], [0.8, 0.6, 0.4], [0.9, 0.6, 0.5]
    assert measures.dominates(a, b, line) == "dominates"
    assert measures.dominates(b, a, line) == "dominated"
    assert measures.dominates(a, a, line) == "equal"
    assert measures.dominates(a, c, line) == "incomparable"
    far = np.array([1e-60, 1e-60, 1e-60])
    truth = np.array([1.0, 1.0, 0.0])
    small = np.stack([np.where(truth == 1, 1 - far, far), np.where(truth == 1, far, 1 - far)], axis=1)
    assert measures.dominates(po.Colouring(small), truth, line) == "dominated"


@pytest.mark.parametrize("seed", range(30))
def test_balanced_dominates_every_mechanism_with_its_worst_case(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem, colouring = random_private(rng)
    graph = problem.graph
    best = po.solve(po.BoundaryColouring(graph, problem.epsilon, problem.delta), "balanced").mechanism
    if not graph.boundary().any():
        return
    capped = po.BoundaryColouring(graph, problem.epsilon, problem.delta)
    if capped.evaluate(colouring).feasible:
        assert measures.dominates(best, colouring, graph, tolerance=1e-9) in ("dominates", "equal")


def test_published_repairs() -> None:
    edge = po.DatasetGraph([(0, 1)], [1, 2])
    values = {0: 0.9, 1: 0.2}
    assert measures.below(edge, values, LN2) == pytest.approx({0: 0.4, 1: 0.2})
    assert measures.above(edge, values, LN2) == pytest.approx({0: 0.9, 1: 0.8})
    assert measures.minimax_change(edge, values, LN2).change == pytest.approx(0.2)


@pytest.mark.parametrize("seed", few(range(30), 9))
def test_repaired_values_are_feasible_and_nearest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng)
    values = {v: float(rng.random()) for v in np.flatnonzero(graph.boundary()).tolist()}
    epsilon, delta = float(rng.uniform(0, 1)), float(rng.choice([0, 0.05]))
    low, high = (f(graph, values, epsilon, delta) for f in (measures.below, measures.above))
    change, near = measures.minimax_change(graph, values, epsilon, delta)
    for values_near in (low, high, near):
        problem = po.BoundaryColouring(graph, epsilon, delta, boundary=values_near)
        assert po.solve(problem, "propagation").status is po.Status.OPTIMAL
    assert all(low[v] <= x + 1e-15 and high[v] >= x - 1e-15 for v, x in values.items())
    assert max((abs(near[v] - x) for v, x in values.items()), default=0.0) <= change + 1e-12
    if change > 1e-6:
        contradicting = po.BoundaryColouring(graph, epsilon, delta, boundary=values)
        assert po.solve(contradicting, "propagation").status is po.Status.INFEASIBLE
    assert change <= max((x - low[v] for v, x in values.items()), default=0.0) + 1e-12


@pytest.mark.parametrize("seed", range(40))
def test_budgets_an_edge_agree_with_a_linear_program(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, most=8)
    m, n = graph.edge_count, graph.size
    epsilons, deltas = rng.uniform(0, 1.5, m), rng.choice([0, 0.05], m)
    middle = rng.uniform(0.2, 0.8)
    values = dict.fromkeys(np.flatnonzero(graph.boundary()).tolist(), middle)
    made = measures.colouring_with_edge_budgets(graph, values, epsilons, deltas)
    rows, limits = [], []
    for (a, b), e, d in zip(graph.edges().tolist(), np.exp(epsilons), deltas, strict=True):
        for u, v in ((a, b), (b, a)):
            row = np.zeros(n)
            row[u], row[v] = 1, -e
            rows += [row, -row]
            limits += [d, e - 1 + d]
    sign = np.where(graph.codes == 0, 1.0, -1.0)
    bounds = [(values[v], values[v]) if v in values else (0, 1) for v in range(n)]
    best = linprog(-sign, np.array(rows).reshape(-1, n), limits, bounds=bounds, method="highs")
    assert best.fun is not None
    assert sign @ made.probabilities[:, 0] == pytest.approx(-best.fun, abs=1e-8)


def test_budgets_an_edge_refuse_what_contradicts_itself() -> None:
    edge = po.DatasetGraph.line(1, 1)
    with pytest.raises(ValueError, match=r"gap 0\.5"):
        measures.colouring_with_edge_budgets(edge, {0: 0.9, 1: 0.2}, LN2)
    with pytest.raises(ValueError, match="miss 1 two-coloured edges"):
        measures.colouring_with_edge_budgets(edge, {}, LN2)
    with pytest.raises(ValueError, match="epsilons must be one number, or 1"):
        measures.colouring_with_edge_budgets(edge, {0: 0.5}, [1.0, 2.0])


def test_errors_by_distance_are_means_over_what_networkx_finds() -> None:
    import networkx as nx

    rng = np.random.default_rng(3)
    graph = po.DatasetGraph(rng.integers(0, 40, size=(45, 2)), rng.integers(0, 2, size=40))
    colouring = po.Colouring(rng.dirichlet([1, 1], size=40), graph.palette)
    walks = nx.Graph(graph.edges().tolist())
    edge = {int(v) for pair in graph.two_coloured_edges() for v in pair}
    far = {v: d for v, d in nx.multi_source_dijkstra_path_length(walks, edge).items()}
    errors = po.measures.error_by_distance(graph, colouring)
    assert len(errors) == max(far.values()) + 1
    for d in range(len(errors)):
        for c in range(2):
            own = [
                colouring.probabilities[v, 1 - c] for v, at in far.items() if at == d and graph.codes[v] == c
            ]
            assert np.isnan(errors[d, c]) if not own else abs(errors[d, c] - np.mean(own)) < 1e-14
    with pytest.raises(po.errors.InvalidMechanism, match="graph's vertices"):
        po.measures.error_by_distance(graph, po.Colouring([[0.5, 0.5]]))


@pytest.mark.parametrize("seed", range(6))
def test_orbits_without_delta_are_those_of_steps_one_by_one(seed: int) -> None:
    """Products at once or in turn: the same floats, down to where complements stay."""
    rng = np.random.default_rng(seed)
    for _ in range(20):
        one = step(10 ** float(rng.uniform(-2, 2.8)), 0.0, float(rng.choice([0.0, 2.0**-48])))
        r = 10 ** float(rng.uniform(-300, -0.01))
        p, r = (1.0 - r, r) if rng.random() < 0.5 else (r, 1.0 - r)
        count = int(rng.integers(0, 400))
        pairs = [(p, r)]
        for _ in range(count):
            if p <= one.kink:
                p, r = one.growth * p, one.kink + one.growth * (one.kink - p)
            else:
                r = max(one.decay * r, min(r, one.floor))
                p = 1.0 - r
            if (p, r) == pairs[-1]:
                break
            pairs.append((p, r))
        high, low = one.orbit(*pairs[0], count)
        assert [*zip(high.tolist(), low.tolist(), strict=True)] == pairs

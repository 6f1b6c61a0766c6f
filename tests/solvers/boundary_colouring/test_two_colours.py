"""Two colours: balanced, line and propagation against published values, each other, and the program written out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from instances.few import few
from instances.graphs import LN2, first, random_graph

import privopt as po
from privopt.core.judge import judge
from privopt.core.registry import find_solver
from privopt.core.solver import Budget
from privopt.measures.colouring import envelope as _colouring_queue
from privopt.measures.colouring import hops as _colouring_distance
from privopt.measures.colouring.boundary_values import heap
from privopt.measures.colouring.envelope import upper
from privopt.measures.colouring.hops import hops
from privopt.measures.colouring.steps import step
from privopt.problems.boundary_colouring.data import distinct_rows
from privopt.solvers.boundary_colouring.closed_forms import published_switch
from privopt.solvers.boundary_colouring.oracle import Oracle
from privopt.solvers.boundary_colouring.propagation import Propagation

EPSILONS = [0.0, 1e-9, 0.01, 0.5, LN2, 2.0, 50.0, 300.0, 700.0]
DELTAS = [0.0, 0.0, 1e-6, 0.01, 0.3, 1.0]


def test_published_orbits() -> None:
    for epsilon, delta, start, orbit in (
        (LN2, 0.0, 1 / 20, [1 / 20, 1 / 10, 1 / 5, 2 / 5, 7 / 10, 17 / 20, 37 / 40, 77 / 80]),
        (LN2, 0.1, 1 / 20, [1 / 20, 1 / 5, 1 / 2, 4 / 5, 19 / 20, 1, 1]),
        (0.0, 0.2, 3 / 10, [3 / 10, 1 / 2, 7 / 10, 9 / 10, 1]),
    ):
        one, count = step(epsilon, delta), len(orbit)
        p, r = one.power(np.full(count, start), np.full(count, 1 - start), np.arange(count))
        assert p == pytest.approx(orbit, abs=1e-14)
        assert r == pytest.approx(1 - np.array(orbit), abs=1e-14)
        walked = one.orbit(start, 1 - start, count - 1)[0]
        assert walked == pytest.approx(orbit[: len(walked)], abs=1e-14)


@pytest.mark.parametrize("seed", range(20))
def test_many_steps_at_once_are_single_steps(seed: int) -> None:
    import mpmath

    rng = np.random.default_rng(seed)
    epsilon, delta = float(rng.choice([0.003, 0.4, 3.0])), float(rng.choice([0.0, 1e-4, 0.05]))
    p = float(rng.random() ** 12)
    with mpmath.workdps(400):
        e, d, x = mpmath.e ** mpmath.mpf(epsilon), mpmath.mpf(delta), mpmath.mpf(p)
        walk = [x]
        for _ in range(200):
            x = min(e * x + d, 1 - (1 - x - d) / e, mpmath.mpf(1))
            walk.append(x)
        high, low = step(epsilon, delta).power(np.full(201, p), np.full(201, 1 - p), np.arange(201))
        for x, a, b in zip(walk, high.tolist(), low.tolist(), strict=True):
            assert abs(a - x) <= 1e-12 * x
            # Complements near 1 - a step before 0 are differences with delta, which blur their last digits.
            assert abs(b - (1 - x)) <= 1e-11 * (1 - x) + 1e-14 * d


@pytest.mark.parametrize(
    ("graph", "delta", "boundary", "expected"),
    [
        (po.DatasetGraph.line(4, 1), 0.0, (0.9, None), [0.9875, 0.975, 0.95, 0.9, 0.8]),
        (po.DatasetGraph.voters(2, 1), 0.0, "balanced", [2 / 3, 2 / 3, 5 / 6, 1 / 6, 1 / 3, 1 / 3, 2 / 3]),
        (
            po.DatasetGraph([(i, i + 1) for i in range(5)], [1, 1, 1, 2, 2, 2]),
            0.0, {2: 0.25}, [0.75, 0.5, 0.25, 0.125, 0.0625, 0.03125],
        ),
        (
            po.DatasetGraph([(i, i + 1) for i in range(5)], [1, 1, 1, 2, 2, 2]),
            0.1, {2: 0.5, 3: 0.4}, [0.95, 0.8, 0.5, 0.4, 0.15, 0.025],
        ),
        (
            po.DatasetGraph([(0, 1), (1, 2), (2, 3), (1, 4), (4, 5), (5, 6)], [1, 1, 1, 2, 1, 1, 2]),
            0.0, {2: 0.1, 5: 0.6}, [0.4, 0.2, 0.1, 0.05, 0.4, 0.6, 0.3],
        ),
    ],
)  # fmt: skip
def test_published_colourings(
    graph: po.DatasetGraph, delta: float, boundary: object, expected: list[float]
) -> None:
    problem = po.BoundaryColouring(graph, LN2, delta, boundary=boundary)  # type: ignore[arg-type]
    solution = po.solve(problem)
    assert first(solution.mechanism) == pytest.approx(expected, abs=1e-12)
    assert solution.status is po.Status.OPTIMAL
    assert solution.stats["repaired"] == 0


def test_published_errors_and_distances() -> None:
    balanced = po.solve(po.BoundaryColouring(po.DatasetGraph.line(4, 4), LN2, 0.1)).mechanism
    assert balanced.error == pytest.approx([0, 0, 0.1, 0.3, 0.3, 0.1, 0, 0], abs=1e-12)
    for epsilon, delta, zero in ((LN2, 0.1, 2), (0.5, 1e-6, 25), (0.0, 0.07, 7), (0.1, 1e-6, 109)):
        errors = po.solve(po.BoundaryColouring(po.DatasetGraph.line(120, 1), epsilon, delta)).mechanism.error[
            119::-1
        ]
        assert int(np.flatnonzero(errors <= 1e-12)[0]) == zero
    cube = po.solve(po.BoundaryColouring(po.DatasetGraph.votes(3), 0.5)).mechanism
    right = 1 - cube.error
    assert sorted(right.tolist()) == pytest.approx([0.62245933] * 6 + [0.77101001] * 2, abs=1e-8)
    votes = [math.comb(100, c) * 0.4**c * 0.6 ** (100 - c) for c in range(101)]
    counts = po.BoundaryColouring(po.DatasetGraph.counts(100), 0.1, weights=votes)
    assert po.solve(counts).utility == pytest.approx(0.80596985, abs=1e-8)


@pytest.mark.parametrize("seed", few(range(100), 30))
def test_propagation_agrees_with_the_program(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, most=9)
    sites = np.flatnonzero(graph.boundary() & ((graph.codes == 0) | (rng.random(graph.size) < 0.3)))
    epsilon, middle = float(rng.choice([0, 0.01, 0.5, LN2, 2])), rng.random()
    values = {int(v): float(np.clip(middle + 0.2 * epsilon * (rng.random() - 0.5), 0, 1)) for v in sites}
    chosen = [values, "balanced", (float(rng.random()), None), (float(rng.random()), float(rng.random()))]
    problem = po.BoundaryColouring(
        graph, epsilon, float(rng.choice([0, 0, 0.01, 0.3, 1])),
        boundary=chosen[rng.integers(4)],  # type: ignore[arg-type]
        weights=rng.random(graph.size) if rng.random() < 0.5 else None,
        objective=str(rng.choice(["accuracy", "worst_case"])),
    )  # fmt: skip
    solution = po.solve(problem, "propagation")
    written = judge(problem, Oracle().run(problem, po.Budget()), certify=True)
    assert solution.status.ok == written.status.ok
    if solution.status.ok:
        assert solution.status is po.Status.OPTIMAL
        assert solution.objective == pytest.approx(written.objective, abs=1e-8)
        assert solution.stats["repaired"] == 0
    else:
        assert solution.status is po.Status.INFEASIBLE
        assert float(solution.stats["gap"]) > 1e-9


@pytest.mark.parametrize("seed", few(range(100), 30))
def test_line_balanced_and_propagation_give_the_same_errors(seed: int) -> None:
    rng = np.random.default_rng(1000 + seed)
    graph = random_graph(rng, most=30)
    epsilon, delta = float(rng.choice(EPSILONS)), float(rng.choice(DELTAS))
    q = float(rng.random())
    boundary = ["balanced", (q, None), (q, float(rng.random())), (1.0, None), (0.0, None)][rng.integers(5)]
    problem = po.BoundaryColouring(graph, epsilon, delta, boundary=boundary)  # type: ignore[arg-type]
    names = ["propagation", "line", *(["balanced"] if boundary == "balanced" else [])]
    solutions = [po.solve(problem, name) for name in names]
    assert len({s.status for s in solutions}) == 1
    if not solutions[0].status.ok:
        assert solutions[0].status is po.Status.INFEASIBLE
        return
    for s in solutions:
        assert s.status is po.Status.OPTIMAL
        assert s.mechanism.error == pytest.approx(
            solutions[0].mechanism.error, rel=1e-10, abs=1e-11 if delta else 0
        )


@pytest.mark.parametrize("seed", few(range(100), 30))
def test_every_search_finds_the_same_envelope(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, most=40)
    rows = (graph.indptr, graph.indices)
    sites = rng.permutation(graph.size)[: rng.integers(1, graph.size + 1)]
    p = rng.choice([0, 1e-3, 1, 0.5, 0.3], len(sites)) if seed % 3 == 0 else rng.random(len(sites)) ** 20
    epsilon, delta = float(rng.choice([0, 0.01, 0.5, LN2, 3, 40])), float(rng.choice([0, 0, 0.01, 0.3, 1]))
    one, values = step(epsilon, delta), (p, 1 - p)
    swept_p, swept_r = np.ones(graph.size), np.zeros(graph.size)
    swept_p[sites], swept_r[sites] = values
    for _ in range(graph.size):
        high, low = one.up(swept_p, swept_r)
        for u, v in graph.edges().tolist():
            for a, b in ((u, v), (v, u)):
                swept_p[a], swept_r[a] = min(swept_p[a], high[b]), max(swept_r[a], low[b])
    arcs = len(graph.indices)
    for envelope in (
        upper(rows, sites, values, one, "two_queue"),
        upper(rows, sites, values, one, "coordinate"),
        heap(*rows, sites, values, np.full(arcs, epsilon), np.full(arcs, delta)),
    ):
        assert envelope[0] == pytest.approx(swept_p, rel=1e-11, abs=1e-15)
        assert envelope[1] == pytest.approx(swept_r, rel=1e-11, abs=1e-15)


@pytest.mark.long
def test_backends_agree_on_a_larger_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    x = np.linspace(-1, 1, 200)
    graph = po.DatasetGraph.grid((x[:, None] ** 2 + x[None, :] ** 2 > 0.5).astype(int))
    sites = np.flatnonzero(graph.boundary())
    values = {int(v): float(m) for v, m in zip(sites, rng.uniform(0.49, 0.51, len(sites)), strict=True)}
    problem = po.BoundaryColouring(graph, 0.3, boundary=values)
    solved = [po.solve(problem, Propagation(backend=b)) for b in ("auto", "two_queue", "coordinate")]
    monkeypatch.setattr(_colouring_queue, "numba_installed", lambda: False)
    monkeypatch.setattr(_colouring_distance, "compiling_pays", lambda work: False)
    solved.append(po.solve(problem, Propagation(backend="two_queue")))
    assert all(s.status is po.Status.OPTIMAL and s.stats["repaired"] == 0 for s in solved)
    assert np.array_equal(solved[0].mechanism.error, solved[3].mechanism.error)
    assert solved[2].mechanism.error == pytest.approx(solved[0].mechanism.error, rel=1e-9, abs=0)


@pytest.mark.parametrize("backend", ["compiled", "scipy"])
def test_hops_are_those_of_networkx(backend: str) -> None:
    import networkx as nx

    if backend == "compiled":
        pytest.importorskip("numba")
    for seed in range(10):
        rng = np.random.default_rng(seed)
        graph = random_graph(rng, most=80)
        sources = np.unique(rng.integers(0, graph.size, 3))
        plain = nx.Graph(graph.edges().tolist())
        plain.add_nodes_from(range(graph.size))
        lengths = nx.multi_source_dijkstra_path_length(plain, set(sources.tolist()))
        far = hops(graph.indptr, graph.indices, sources, backend)
        assert far.tolist() == [lengths.get(v, -1) for v in range(graph.size)]
    long = po.DatasetGraph.line(30_000, 1)
    assert hops(long.indptr, long.indices, np.array([0]), backend).tolist() == list(range(30_001))


def test_infeasible_values_name_the_pair_and_the_gap() -> None:
    problem = po.BoundaryColouring(po.DatasetGraph([(0, 1)], [1, 2]), LN2, boundary={0: 0.9, 1: 0.2})
    for solution in (po.solve(problem), po.solve(problem, "propagation")):
        assert solution.status is po.Status.INFEASIBLE
        assert "gap 0.5" in solution.reason
        assert "0 should answer 1" in solution.reason
        with pytest.raises(ValueError, match="infeasible"):
            _ = solution.mechanism
    ends = po.BoundaryColouring(po.DatasetGraph.line(2, 2), LN2, boundary=(0.9, 0.8))
    for name in ("propagation", "line"):
        assert po.solve(ends, name).status is po.Status.INFEASIBLE


def test_what_the_published_formulas_lack() -> None:
    line = po.DatasetGraph.line(4, 1)
    assert published_switch(0.1, LN2, 0.0) == -2
    refusals = {
        "tau = -2": po.BoundaryColouring(line, LN2, boundary=(0.9, None)),
        "the probability -0.05 at distance 3": po.BoundaryColouring(line, LN2, 0.1),
        "need 0 < epsilon": po.BoundaryColouring(line, 0.0, 0.1),
        "<= 236": po.BoundaryColouring(line, 300.0, boundary=(0.5, None)),
    }
    for part, problem in refusals.items():
        published = po.solve(problem, "line-published")
        assert published.status is po.Status.REFUSED
        assert part in published.reason
        assert po.solve(problem, "line").status is po.Status.OPTIMAL
    for problem in (
        po.BoundaryColouring(line, 1.0),
        po.BoundaryColouring(line, 0.5, boundary=(0.05, None)),
        po.BoundaryColouring(line, 0.5, 0.001, boundary=(0.1, None)),
    ):
        published = po.solve(problem, "line-published")
        assert published.mechanism.error[:4] == pytest.approx(
            po.solve(problem, "line").mechanism.error[:4], abs=1e-10
        )


@pytest.mark.parametrize("seed", range(20))
def test_a_vertex_without_boundary_is_answered_truthfully(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng)
    lone = po.DatasetGraph(
        [*graph.edges().tolist(), [graph.size, graph.size + 1]], [*graph.codes.tolist(), 1, 1], palette=[0, 1]
    )
    problem = po.BoundaryColouring(lone, float(rng.uniform(0, 1)), float(rng.choice([0, 0.1])))
    for name in ("balanced", "line", "propagation"):
        assert po.solve(problem, name).mechanism.error[-2:].tolist() == [0, 0]


@pytest.mark.parametrize("seed", range(20))
def test_a_pullback_is_private_and_as_accurate(seed: int) -> None:
    """Copies of a vertex with its neighbours map onto it, so the optimum is copied as well."""
    rng = np.random.default_rng(seed)
    graph = random_graph(rng)
    origin = np.concatenate([np.arange(graph.size), rng.integers(0, graph.size, 4)])
    place = [np.flatnonzero(origin == v) for v in range(graph.size)]
    edges = [(a, b) for u, v in graph.edges().tolist() for a in place[u] for b in place[v]]
    copied = po.DatasetGraph(edges, graph.codes[origin].tolist(), palette=[0, 1])
    epsilon, delta = float(rng.uniform(0, 2)), float(rng.choice([0, 0.05]))
    small = po.solve(po.BoundaryColouring(graph, epsilon, delta), "balanced").mechanism
    large = po.solve(po.BoundaryColouring(copied, epsilon, delta), "balanced").mechanism
    assert large.error == pytest.approx(small.error[origin], rel=1e-12)
    pulled = small.probabilities[origin]
    assert po.measures.is_private_colouring(copied, pulled, epsilon, delta)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, LN2, 1.0])
@pytest.mark.parametrize("delta", [0.5, 0.25, 0.01])
def test_the_program_on_forests_closes_its_gap(epsilon: float, delta: float) -> None:
    """At delta = 1/2 the levels of one step from 0 and from 1 meet in one half but for rounding."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, 16))
        parents = (rng.random(n) * np.arange(n)).astype(int)
        edges = np.stack([np.arange(1, n), parents[1:]], axis=1)
        graph = po.DatasetGraph(edges, rng.integers(0, 2, n), palette=[0, 1])
        weights = rng.random(n) + 0.01
        problem = po.BoundaryColouring(graph, epsilon, delta, boundary=None, weights=weights)
        solution = po.solve(problem, "forest")
        assert solution.status is po.Status.OPTIMAL
        assert solution.objective == pytest.approx(_by_highs(problem), abs=1e-7)


def _by_highs(problem: po.BoundaryColouring) -> float:
    """The best weighted accuracy as a linear program in the chances of the first colour."""
    from scipy.optimize import linprog

    graph, growth = problem.graph, math.exp(problem.epsilon)
    assert problem.weights is not None
    weights = problem.weights / problem.weights.sum()
    rows, limits = [], []
    for u, v in graph.edges().tolist():
        for a, b in ((u, v), (v, u)):
            row = np.zeros(graph.size)
            row[a], row[b] = 1.0, -growth
            rows += [row, -row]
            limits += [problem.delta, problem.delta + growth - 1.0]
    gains = np.where(graph.codes == 0, weights, -weights)
    best = linprog(-gains, A_ub=np.array(rows), b_ub=limits, bounds=(0, 1))
    return float(weights[graph.codes == 1].sum() - best.fun)


@pytest.mark.parametrize("solver", ["exponential", "rainbow", "forest"])
def test_a_run_without_time_still_answers(solver: str) -> None:
    """What polls the deadline proposes something private when it has passed already."""
    rng = np.random.default_rng(3)
    edges = np.stack([np.arange(1, 400), (rng.random(399) * np.arange(1, 400)).astype(int)], axis=1)
    k = 2 if solver == "forest" else 3
    problem = po.BoundaryColouring(po.DatasetGraph(edges, rng.integers(0, k, 400)), 0.5, boundary=None)
    proposal = find_solver(problem, solver).run(problem, Budget(deadline=0.0))
    assert judge(problem, proposal, certify=True).status.ok


def test_many_rows_are_told_apart_by_their_words() -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 40, size=(60_000, 3))
    levels, place = distinct_rows(rows)
    assert (levels[place] == rows).all()
    assert len(levels) == len(np.unique(rows, axis=0))

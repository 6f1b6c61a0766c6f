"""Three colours and more: the program against all events, prefixes against published values, and what dominates."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from instances.small_graphs import DELTAS, EPSILONS, best_of_events, graph, leaks

import privopt as po
from privopt.core.highs import minimise
from privopt.solvers.boundary_colouring.linear_programs import Program

LN2 = math.log(2)
TRIANGLE = po.DatasetGraph([(0, 1), (1, 2), (0, 2)], [0, 1, 2])
PATH = po.DatasetGraph([(0, 1), (1, 2), (2, 3), (3, 4)], [0, 0, 1, 2, 2])


@pytest.mark.parametrize(
    ("graph", "delta", "objective", "best"),
    [
        (TRIANGLE, 0.0, "worst_case", 0.5),
        (TRIANGLE, 0.1, "worst_case", 0.55),
        (PATH, 0.0, "worst_case", 0.5),
        (PATH, 0.0, "accuracy", 2 / 3),
        (PATH, 0.1, "accuracy", 0.72),
    ],
)
def test_public_values(graph: po.DatasetGraph, delta: float, objective: str, best: float) -> None:
    problem = po.BoundaryColouring(graph, LN2, delta, boundary=None, objective=objective)
    solution = po.solve(problem, "k-colour-lp")
    assert solution.status is po.Status.OPTIMAL
    assert solution.certified
    assert solution.utility == pytest.approx(best, abs=1e-9)


def test_the_bound_on_the_worst_case_is_not_tight_for_five_colours() -> None:
    path = po.DatasetGraph([(i, i + 1) for i in range(6)], [0, 1, 2, 2, 2, 3, 4])
    problem = po.BoundaryColouring(path, 1.0, boundary=None, objective="worst_case")
    assert po.solve(problem, "k-colour-lp").utility == pytest.approx(0.56513031, abs=5e-9)
    assert problem.check_bound(0.0, {"kind": "minimax"}) == pytest.approx(0.56791965, abs=5e-9)


def test_program_is_that_of_all_events() -> None:
    rng = np.random.default_rng(0)
    for turn in range(30):
        sample = graph(rng, colours=3 + turn % 2, most=7)
        objective = ("accuracy", "worst_case")[turn % 3 == 0]
        weights = None if objective == "worst_case" else rng.random(sample.size) + 0.01
        budget = float(rng.choice(EPSILONS)), float(rng.choice(DELTAS))
        problem = po.BoundaryColouring(sample, *budget, boundary=None, weights=weights, objective=objective)
        solution = po.solve(problem, "k-colour-lp")
        assert solution.status is po.Status.OPTIMAL
        assert solution.utility == pytest.approx(best_of_events(problem), abs=2e-7)


def test_quotients_carry_the_worst_case() -> None:
    ring = po.DatasetGraph([(i, (i + 1) % 12) for i in range(12)], [0, 0, 1, 1, 2, 2] * 2)
    assert ring.refined().graph.size < 12
    for delta in (0.0, 0.05):
        problem = po.BoundaryColouring(ring, 0.7, delta, boundary=None, objective="worst_case")
        solution = po.solve(problem, "k-colour-lp")
        assert solution.status is po.Status.OPTIMAL
        assert solution.utility == pytest.approx(best_of_events(problem), abs=1e-7)


@pytest.mark.parametrize(
    ("delta", "rows"),
    [
        (0.0, [[0.2, 0.3, 0.5], [0.4, 0.35, 0.25], [0.7, 0.175, 0.125]]),
        (0.1, [[0.2, 0.3, 0.5], [0.5, 0.3, 0.2], [0.8, 0.15, 0.05]]),
    ],
)
def test_prefixes_of_one_distribution(delta: float, rows: list[list[float]]) -> None:
    line = po.DatasetGraph([(0, 1), (1, 2)], [0, 0, 0], palette=[0, 1, 2])
    solution = po.solve(po.BoundaryColouring(line, LN2, delta, boundary={0: rows[0]}), "rainbow")
    assert solution.status is po.Status.OPTIMAL
    assert solution.mechanism.probabilities == pytest.approx(np.array(rows), abs=1e-12)


def test_one_law_is_continued_as_well_as_any_program_does() -> None:
    rng = np.random.default_rng(1)
    for _ in range(25):
        tree = [(v, int(rng.integers(0, v))) for v in range(1, 9)]
        sample = po.DatasetGraph(tree, [0] * 9, palette=[0, 1, 2])
        epsilon, delta = float(rng.choice(EPSILONS)), float(rng.choice(DELTAS))
        problem = po.BoundaryColouring(
            sample, epsilon, delta, boundary={0: rng.dirichlet(np.ones(3)).tolist()}
        )
        prefix, program = po.solve(problem, "rainbow"), po.solve(problem, "k-colour-lp")
        assert prefix.status is po.Status.OPTIMAL
        assert prefix.utility == pytest.approx(program.utility, abs=1e-7)


def test_several_laws_need_not_have_an_envelope() -> None:
    # Every vertex between the two may be right as often as the envelope says, but not all together.
    line = po.DatasetGraph([(i, i + 1) for i in range(4)], [0] * 5, palette=[0, 1, 2])
    rng, refused = np.random.default_rng(2), 0
    for _ in range(40):
        ends = {0: rng.dirichlet(np.ones(3)).tolist(), 4: rng.dirichlet(np.ones(3)).tolist()}
        problem = po.BoundaryColouring(line, 1.0, boundary=ends)
        prefix = po.solve(problem, "rainbow")
        if prefix.status.ok:
            assert problem.evaluate(prefix.mechanism).feasible
        else:
            refused += 1
    assert 0 < refused < 40


def test_cliques_of_colours_reach_their_worst_case() -> None:
    for k, epsilon, delta in ((3, 0.5, 0.0), (4, 1.0, 0.05), (6, 2.0, 0.1)):
        edges = [(i, j) for i in range(k) for j in range(i)]
        clique = po.DatasetGraph(edges, range(k))
        best = min(1.0, (math.exp(epsilon) + (k - 1) * delta) / (math.exp(epsilon) + k - 1))
        problem = po.BoundaryColouring(clique, epsilon, delta, boundary=None, objective="worst_case")
        for name in ("rainbow", "k-colour-lp", "randomised-response"):
            assert po.solve(problem, name).utility == pytest.approx(best, abs=1e-9), name


def test_no_event_leaks_in_exact_arithmetic() -> None:
    rng = np.random.default_rng(3)
    below = Fraction(math.exp(1.0)) * (1 + Fraction(1, 10**15))
    for _ in range(20):
        sample = graph(rng, colours=3, most=9)
        problem = po.BoundaryColouring(sample, 1.0, float(rng.choice(DELTAS)), boundary=None)
        for name in ("rainbow", "exponential", "k-colour-lp", "exponential-half", "randomised-response"):
            solution = po.solve(problem, name)
            assert solution.certified, (name, solution.reason)
            assert not leaks(problem, solution.mechanism, below), name


def test_exponential_is_as_sharp_as_privacy_allows() -> None:
    rng = np.random.default_rng(4)
    for colours in (2, 3, 5):
        sample = po.DatasetGraph.grid(rng.integers(0, colours, (5, 5)))
        problem = po.BoundaryColouring(sample, 0.8, boundary=None)
        solution = po.solve(problem, "exponential")
        beta = float(solution.stats["beta"])
        assert problem.evaluate(_exponential(sample, beta)).leakage <= 0.8 + 1e-12
        assert problem.evaluate(_exponential(sample, beta * (1 + 1e-6))).leakage > 0.8
        assert beta == pytest.approx(0.8, abs=1e-9) if colours == 2 else 0.4 <= beta <= 0.8
        half = po.solve(problem, "exponential-half")
        assert half.utility is not None
        assert solution.utility is not None
        assert half.utility <= solution.utility


def _exponential(sample: po.DatasetGraph, beta: float) -> po.Colouring:
    import networkx as nx

    net = nx.Graph(sample.edges().tolist())
    net.add_nodes_from(range(sample.size))
    k = len(sample.palette)
    far = np.full((sample.size, k), np.inf)
    for u, reached in nx.all_pairs_shortest_path_length(net):
        for v, hops in reached.items():
            far[u, sample.codes[v]] = min(far[u, sample.codes[v]], hops)
    chances = np.exp(-beta * far)
    return po.Colouring(chances / chances.sum(axis=1, keepdims=True), sample.palette, answers=sample.codes)


@pytest.mark.parametrize(("colours", "epsilon", "delta"), [(3, 0.5, 0.0), (5, 1.0, 0.0), (4, 1.0, 0.02)])
def test_mixed_colours_are_solved_by_interior_points_to_the_optimum_of_the_simplex_method(
    colours: int, epsilon: float, delta: float
) -> None:
    rng = np.random.default_rng(colours)
    graph = po.DatasetGraph(rng.integers(0, 120, size=(200, 2)), rng.integers(0, colours, 120))
    problem = po.BoundaryColouring(graph, epsilon, delta, boundary=None)
    program = Program(graph, problem.step, np.ones(graph.size) / graph.size, None)
    simplex = minimise(
        program.cost(),
        program.inequalities(),
        program.equations(),
        lower=program.bounds()[:, 0],
        upper=program.bounds()[:, 1],
        tolerance=1e-10,
    )
    assert program.method == "ipm"
    assert simplex is not None
    solution = po.solve(problem, "k-colour-lp")
    assert solution.status is po.Status.OPTIMAL
    assert solution.objective == pytest.approx(-simplex.value / graph.size, rel=1e-8)


@pytest.mark.parametrize(("epsilon", "method"), [(0.1, "ipm"), (1.0, "simplex")])
def test_the_method_goes_by_how_far_the_budget_reaches_from_other_colours(
    epsilon: float, method: str
) -> None:
    problem = po.BoundaryColouring(po.DatasetGraph.grid(np.repeat([0, 1, 2], 7)[None].repeat(9, 0)), epsilon)
    assert Program(problem.graph, problem.step, None, None).method == method

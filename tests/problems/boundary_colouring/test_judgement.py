"""Evaluation, certificate, repair and bounds of colourings against events enumerated in exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from instances.few import few
from instances.graphs import LN2, e_to, exact_rows, random_graph, worst_excess

import privopt as po
from privopt.core.judge import judge
from privopt.problems.boundary_colouring.bound import minimax
from privopt.solvers.boundary_colouring.oracle import Oracle


def random_question(seed: int) -> tuple[po.BoundaryColouring, po.Colouring]:
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 5))
    graph = random_graph(rng, k)
    epsilon, delta = float(rng.choice([0, 0.3, LN2, 2])), float(rng.choice([0, 0, 0.02, 0.3]))
    problem = po.BoundaryColouring(graph, epsilon, delta, boundary=None)
    table = rng.dirichlet(np.full(k, 3.0), size=graph.size)
    share = rng.choice([0.0, 0.3, 1.0])
    return problem, problem.colouring(share * table + (1 - share) / k, np.arange(graph.size))


@pytest.mark.parametrize("seed", few(range(8), 4))
def test_repair_of_several_colours_loses_no_more_than_mixing_with_equal_chances(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k = int(rng.integers(3, 7))
    graph = po.DatasetGraph(
        [(int(rng.integers(v)), v) for v in range(1, 15)], rng.integers(0, k, 15), palette=range(k)
    )
    epsilon, delta = float(rng.choice([0.0, 0.4, 1.0])), float(rng.choice([0.0, 0.03]))
    problem = po.BoundaryColouring(graph, epsilon, delta, boundary=None, weights=rng.random(15))
    table = rng.dirichlet(np.full(k, 0.7), size=15) + 0.02
    colouring = problem.colouring(table / table.sum(axis=1, keepdims=True), np.arange(15))
    repaired = problem.repair(colouring, 2.0**-40)
    assert problem.certify(repaired).ok
    rows, excess = colouring.probabilities, 1.0
    for share in np.linspace(0, 1, 2001).tolist():  # the least share of equal chances, by brute force
        mixed = (1 - share) * rows + share / k
        ends = graph.edges()
        pairs = np.concatenate([mixed[ends], mixed[ends[:, ::-1]]])
        over = np.maximum(pairs[:, 0] - math.exp(epsilon) * pairs[:, 1], 0.0).sum(axis=1)
        if over.max() <= delta:
            excess = share
            break
    equal = problem.colouring((1 - excess) * rows + excess / k, np.arange(15))
    assert problem.accuracy(repaired) >= problem.accuracy(equal) - 1e-9
    if epsilon == delta == 0:
        codes, weights = graph.codes, problem.weights
        assert weights is not None
        best = max(weights[codes == c].sum() for c in range(k)) / weights.sum()
        assert problem.accuracy(repaired) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("seed", range(60))
def test_leakage_is_the_smallest_epsilon_over_all_events(seed: int) -> None:
    problem, colouring = random_question(seed)
    reading = problem.evaluate(colouring)
    delta = Fraction(problem.delta)
    if reading.leakage == 0:
        assert worst_excess(problem, colouring, Fraction(1)) <= delta * (1 + Fraction(1, 10**12))
        return
    above, below = reading.leakage * (1 + 1e-12), reading.leakage * (1 - 1e-12)
    assert worst_excess(problem, colouring, e_to(above, up=True)) <= delta
    assert worst_excess(problem, colouring, e_to(below, up=False)) > delta


@pytest.mark.parametrize("seed", range(60))
def test_a_certificate_is_given_exactly_to_private_colourings(seed: int) -> None:
    problem, colouring = random_question(seed)
    certificate = problem.certify(colouring)
    assert certificate.ok == (
        worst_excess(problem, colouring, e_to(problem.epsilon, up=True)) <= Fraction(problem.delta)
    )
    lo, hi = certificate.leakage
    assert lo <= problem.evaluate(colouring).leakage * (1 + 1e-12)
    assert hi >= problem.evaluate(colouring).leakage * (1 - 1e-12)
    rows, codes = exact_rows(colouring), problem.graph.codes.tolist()
    utility = sum((rows[v][c] for v, c in enumerate(codes)), Fraction(0)) / len(codes)
    assert certificate.utility[0] <= utility <= certificate.utility[1]
    worst = certificate.worst
    assert not worst or any({u, v} == set(worst) for u, v in problem.graph.edges().tolist())


@pytest.mark.parametrize("seed", few(range(60), 18))
def test_repair_is_private_and_near(seed: int) -> None:
    problem, colouring = random_question(seed)
    repaired = problem.repair(colouring, 2.0**-44)
    assert problem.certify(repaired).ok
    if problem.certify(colouring).ok:
        # Without any budget a constant answer may be repaired to a better one.
        least, most = (problem.evaluate(c).utility for c in (colouring, repaired))
        assert least - 1e-10 <= most
        assert problem.epsilon == 0 or most <= least + 1e-10


def test_a_ratio_of_one_unit_too_much_is_not_certified() -> None:
    problem = po.BoundaryColouring(po.DatasetGraph.line(1, 1), LN2, boundary=None)
    weight = 1 / (1 + math.exp(LN2))
    verdicts = []
    for steps in range(-40, 41):
        small = weight + steps * math.ulp(weight)
        made = problem.two_colours(np.array([1 - small, small]), np.array([small, 1 - small]))
        exact = (1 - Fraction(small)) / Fraction(small) <= e_to(LN2, up=False)
        verdicts.append(problem.certify(made).ok)
        assert verdicts[-1] == exact
    assert verdicts == sorted(verdicts)
    assert 0 < sum(verdicts) < len(verdicts)


def test_errors_far_from_the_boundary_keep_their_digits() -> None:
    problem = po.BoundaryColouring(po.DatasetGraph.line(181, 181), 1.0)
    solution = po.solve(problem, "balanced")
    import mpmath

    with mpmath.workdps(50):
        exact = [mpmath.e ** (-i) / (1 + mpmath.e) for i in range(180, -1, -1)]
        worst = max(
            abs(mpmath.mpf(float(e)) / x - 1) for e, x in zip(solution.mechanism.error, exact, strict=False)
        )
    assert solution.mechanism.error[0] < 1e-78
    assert worst < 1e-12
    assert solution.certified
    assert solution.mechanism.release(0) == "blue"


def test_one_leaking_edge_among_many_is_named() -> None:
    graph = po.DatasetGraph.grid([[0] * 20 + [1] * 20] * 30)
    problem = po.BoundaryColouring(graph, 0.5, boundary=None)
    p = np.full(graph.size, 0.5)
    p[613] = 0.7
    reading = problem.evaluate(problem.two_colours(p, 1 - p))
    assert 613 in reading.worst
    assert reading.leakage == pytest.approx(math.log(0.5 / 0.3), rel=1e-14)
    assert not reading.feasible
    assert not problem.certify(problem.two_colours(p, 1 - p)).ok


def test_many_levels_are_read_like_few() -> None:
    rng = np.random.default_rng(5)
    graph = po.DatasetGraph.grid(rng.integers(0, 2, (80, 80)))
    problem = po.BoundaryColouring(graph, 1.0, 0.01, boundary=None)
    p = rng.uniform(0.3, 0.7, graph.size)
    made = problem.two_colours(p, 1 - p)
    assert len(made.levels) > 4096
    edges = graph.edges()
    pairs = np.concatenate([edges, edges[:, ::-1]])
    both = np.stack([p, 1 - p], axis=1)
    plain = np.log(((both[pairs[:, 0]] - 0.01) / both[pairs[:, 1]]).max())
    assert problem.evaluate(made).leakage == pytest.approx(plain, rel=1e-12)


def test_infinite_leakage_is_read_and_refused() -> None:
    problem = po.BoundaryColouring(po.DatasetGraph.line(2, 2), 1.0, boundary=None)
    truth = problem.two_colours(np.array([1.0, 1, 0, 0]), np.array([0.0, 0, 1, 1]))
    assert problem.evaluate(truth).leakage == math.inf
    assert not problem.certify(truth).ok
    assert problem.with_budget(50.0).certify(problem.repair(truth, 2.0**-44)).ok


def test_the_values_prescribed_are_asked_for() -> None:
    problem = po.BoundaryColouring(po.DatasetGraph.line(2, 1), LN2, boundary={1: 0.25})
    half = problem.colouring([[0.5, 0.5]], np.zeros(3, dtype=int))
    assert not problem.evaluate(half).feasible
    assert "missed" in problem.certify(half).reason
    near = po.solve(problem, "propagation").mechanism
    assert problem.evaluate(near).feasible


def test_a_balanced_boundary_may_be_less_accurate_but_not_more() -> None:
    problem = po.BoundaryColouring(po.DatasetGraph.counts(10, 0.3), 0.2)
    constant = problem.colouring([[0.0, 1.0]], np.zeros(11, dtype=int))
    assert not problem.evaluate(constant).feasible
    assert problem.evaluate(problem.anchor()).feasible


@pytest.mark.parametrize("seed", few(range(40), 12))
def test_the_minimax_bound_holds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, int(rng.integers(2, 5)), 8)
    problem = po.BoundaryColouring(
        graph, float(rng.uniform(0, 2)), float(rng.choice([0, 0.1])), boundary=None, objective="worst_case"
    )
    best = judge(problem, Oracle().run(problem, po.Budget()), certify=True).objective
    assert best is not None
    assert best <= minimax(problem)[1] + 1e-9
    if len(graph.palette) <= 3:
        assert best == pytest.approx(minimax(problem)[1], abs=1e-7)


@pytest.mark.long
def test_linear_duals_prove_what_they_say_and_no_more() -> None:
    problem = po.BoundaryColouring(po.DatasetGraph.line(1, 1), LN2, boundary=None, weights=[1, 2])
    # 2/3 on the second vertex would need p_0 <= 2 p_1: weights (1/3, 2/3), multiplier y on P_0(0) <= 2 P_1(0).
    for y, bound in ((0.0, 1.0), (1 / 3, 2 / 3), (0.5, 5 / 6)):
        dual = {"kind": "linear", "at": [0], "values": [y]}
        proved = problem.check_bound(0.0, dual)
        assert proved == pytest.approx(max(1 / 3 - y, 0) + max(2 / 3, 2 * y), abs=5e-14), bound
    best = po.solve(problem, Oracle()).objective
    assert best == pytest.approx(2 / 3, abs=1e-9)
    for bad in (
        {"at": [9], "values": [1.0]},
        {"at": [0], "values": [-1.0]},
        {"at": [0]},
        {"at": "x", "values": [1]},
    ):
        assert problem.check_bound(0.0, {"kind": "linear", **bad}) is None
    assert problem.check_bound(0.0, "trust me") is None


def test_a_false_witness_proves_nothing() -> None:
    problem = po.BoundaryColouring(po.DatasetGraph.line(1, 1), LN2, boundary={0: 0.6, 1: 0.35})
    for witness in (
        {"source": 1, "target": 0, "colour": 0},
        {"source": 5, "target": 0, "colour": 0},
        {},
        3,
        None,
    ):
        assert problem.check_infeasible(witness) is None

"""Proved bounds, enclosures and worst edges of colourings against fractions, 60 digits and hostile duals."""

from __future__ import annotations

import itertools
import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from instances.few import few
from instances.graphs import LN2, random_graph
from oracles import colourings as oracle

import privopt as po
from privopt.benchmarks.timings.settings import settings
from privopt.core.judge import judge
from privopt.core.registry import solvers_of
from privopt.problems.boundary_colouring.bound import prove
from privopt.solvers.boundary_colouring.forest import ForestProgram
from privopt.solvers.boundary_colouring.oracle import Oracle


def random_problem(seed: int, colours: int = 2, **options: Any) -> po.BoundaryColouring:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, colours, 9)
    weights = rng.random(graph.size) if rng.random() < 0.7 else None
    epsilon, delta = float(rng.choice([0, 0.1, LN2, 2, 9])), float(rng.choice([0, 0, 0.02, 0.3]))
    return po.BoundaryColouring(graph, epsilon, delta, weights=weights, **{"boundary": None, **options})


@pytest.mark.parametrize("seed", range(80))
def test_linear_bounds_enclose_the_exact_lagrangian(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(seed, int(rng.integers(2, 5)))
    cells = len(problem.graph.indices) * problem.k
    if not cells:
        return
    at = rng.integers(0, cells, int(rng.integers(1, 2 * cells))).tolist()  # some twice
    values = (rng.random(len(at)) * float(rng.choice([1.0, 1e-3, 1e6, 1e-200]))).tolist()
    proved = prove(problem, {"kind": "linear", "at": at, "values": values})
    assert proved is not None
    least, most = (
        oracle.linear_bound(problem, at, values, oracle.growth(problem.epsilon, up=up))
        for up in (False, True)
    )
    room = 1e-14 * (1 + problem.graph.size + (1 + math.exp(problem.epsilon)) * math.fsum(values))
    if proved == (1.0, 1.0):
        assert most + Fraction(room) >= 1
        return
    assert Fraction(proved[0]) <= most
    assert least <= Fraction(proved[1])
    assert proved[1] - float(least) <= room


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("boundary", [None, (0.3, 0.4)])
def test_vertices_without_multipliers_are_bounded_together_by_certain_answers(
    seed: int, boundary: tuple[float, float] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when each vertex is bounded by itself, and as the Lagrangian in fractions says."""
    rng = np.random.default_rng(seed)
    weights = rng.random(80) if seed % 2 else None
    problem = po.BoundaryColouring(
        po.DatasetGraph.line(30, 50), 0.7, 0.01 * (seed % 3), boundary=boundary, weights=weights
    )
    at, values = rng.integers(0, 4 * 79, 5).tolist(), (0.02 * rng.random(5)).tolist()
    together = prove(problem, {"kind": "linear", "at": at, "values": values})
    monkeypatch.setattr("privopt.problems.boundary_colouring.bound.FEW", 10**6)
    apart = prove(problem, {"kind": "linear", "at": at, "values": values})
    assert together is not None
    assert together == pytest.approx(apart, abs=1e-14)
    if boundary is None:
        exact = oracle.linear_bound(problem, at, values, oracle.growth(problem.epsilon, up=True))
        assert min(1.0, float(exact)) == pytest.approx(together[1], abs=1e-14)


def test_multipliers_that_are_given_twice_count_twice() -> None:
    problem = po.BoundaryColouring(po.DatasetGraph.line(2, 2), 1.0, 0.1, boundary=None)
    once, twice = (
        prove(problem, {"kind": "linear", "at": [0] * n, "values": [0.04 / n] * n}) for n in (1, 4)
    )
    assert once is not None
    assert once == pytest.approx(twice, abs=1e-15)


HOSTILE: list[dict[str, Any]] = [
    {"at": [0], "values": [math.nan]},
    {"at": [0], "values": [math.inf]},
    {"at": [0], "values": [-1.0]},
    {"at": [0], "values": ["many"]},
    {"at": [0], "values": [None]},
    {"at": [0], "values": [[1.0]]},
    {"at": [0, 1], "values": [1.0]},
    {"at": [0], "values": 1.0},
    {"at": [[0]], "values": [[1.0]]},
    {"at": [0.5], "values": [1.0]},
    {"at": ["0"], "values": [1.0]},
    {"at": [True], "values": [1.0]},
    {"at": [10**30], "values": [1.0]},
    {"at": [-1], "values": [1.0]},
    {"at": [2**64 - 1], "values": [1.0]},
    {"at": [10**6], "values": [1.0]},
    {"at": None, "values": None},
    {"at": {"a": 1}, "values": {"a": 1}},
    {"values": [1.0]},
    {"at": [0], "values": [10**400]},
]


@pytest.mark.parametrize("part", HOSTILE, ids=str)
@pytest.mark.parametrize("objective", ["accuracy", "worst_case"])
def test_malformed_duals_prove_nothing(part: dict[str, Any], objective: str) -> None:
    problem = po.BoundaryColouring(po.DatasetGraph.line(2, 2), 0.5, 0.01, boundary=None, objective=objective)
    for weights in ([0.25] * 4, [math.nan] * 4, [1e308] * 4, [0.0] * 4, "x", None, [-1.0, 2, 1, 1], [1.0]):
        assert problem.check_bound(0.0, {"kind": "linear", "weights": weights, **part}) is None
    for kind in ("linear", "nothing", None, [], 3, math.nan):
        assert problem.check_bound(0.0, {"kind": kind}) is None


@pytest.mark.parametrize("seed", few(range(40), 12))
def test_no_multipliers_prove_less_than_what_is_reached(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(seed, int(rng.integers(2, 4)))
    best = judge(problem, Oracle().run(problem, po.Budget()), certify=True).objective
    assert best is not None
    cells = len(problem.graph.indices) * problem.k
    at = list(range(cells))
    for size in (0.0, 1e-300, 0.1, 1e13, 1e17, 1e300):
        for spread in (0.0, 1e-16, 1.0):
            values = (size * (1 + spread * rng.random(cells))).tolist()
            bound = problem.check_bound(0.0, {"kind": "linear", "at": at, "values": values})
            assert bound is None or best <= bound <= 1


def test_infinities_that_cancel_are_no_bound() -> None:
    problem = po.BoundaryColouring(po.DatasetGraph.line(2, 2), 700.0, boundary=None)
    for value in (1e300, 1e308):
        dual = {"kind": "linear", "at": list(range(12)), "values": [value] * 12}
        bound = problem.check_bound(0.0, dual)
        assert bound is None or bound == 1
        assert problem.check_bound(math.nan, dual) is None


def test_a_gain_without_limit_times_zero_is_no_bound() -> None:
    """Version 0.1.0 made NaN of four of these, and called that a bound."""
    problem = po.BoundaryColouring(po.DatasetGraph.line(2, 2), 700.0, boundary={1: 0.0, 2: 0.0})
    reached = po.solve(problem, "propagation").objective
    assert reached is not None
    assert reached == 0.5
    for place in range(12):
        bound = problem.check_bound(0.0, {"kind": "linear", "at": [place], "values": [1e300]})
        assert bound is None or reached <= bound <= 1


def test_a_bound_is_at_most_one() -> None:
    problem = po.BoundaryColouring(po.DatasetGraph.line(3, 3), 0.5, 0.1, boundary=None)
    for dual in (
        {"kind": "trivial"},
        {"kind": "linear", "at": [], "values": []},
        {"kind": "linear", "at": [0], "values": [9.0]},
    ):
        for claimed in (0.0, 1.0, 7.0):
            assert problem.check_bound(claimed, dual) == 1.0
    nearly = po.BoundaryColouring(po.DatasetGraph.line(3, 3), 40.0)
    assert nearly.check_bound(0.0, {"kind": "envelope"}) == 1.0


@pytest.mark.parametrize(
    "leaves", [3, 1000, pytest.param(10**6, marks=pytest.mark.long)], ids=["3", "1000", "a million"]
)
@pytest.mark.parametrize("share", [0.1, 0.5, 3.0])
def test_star(leaves: int, share: float) -> None:
    hub = share * leaves
    problem = po.BoundaryColouring(
        oracle.leaves(leaves), LN2, boundary=None, weights=np.r_[hub, np.ones(leaves)]
    )
    solution = judge(problem, ForestProgram().run(problem, po.Budget()), certify=True)
    solution = replace(solution, problem=problem.fingerprint)
    assert solution.status is po.Status.OPTIMAL
    assert solution.certificate is not None
    assert solution.bound is not None
    best = oracle.star_optimum(LN2, hub, leaves) / (Fraction(hub) + leaves)
    assert solution.certificate.utility[1] <= solution.bound
    assert best <= Fraction(solution.bound) <= best + Fraction(1, 10**13)
    assert po.verify(problem, solution).ok


@pytest.mark.parametrize("seed", few(range(60), 18))
def test_envelopes_bound_everything_that_is_accepted(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, 2, 12)
    sites = np.flatnonzero(graph.boundary())
    epsilon, delta = float(rng.choice([0, 0.4, LN2, 3])), float(rng.choice([0, 0, 0.03]))
    middle = float(rng.choice([0.5, 0.01, 1e-6, 0.0, 1.0]))
    problem = po.BoundaryColouring(graph, epsilon, delta, boundary={int(s): middle for s in sites})
    bound = problem.check_bound(0.0, {"kind": "envelope"})
    assert bound is not None
    # The same graph with values as far off as counts as met: everything that meets those is accepted here.
    for way in (-1, 1):
        moved = min(1.0, max(0.0, middle + way * 0.99e-9 * min(middle, 1 - middle)))
        off = po.BoundaryColouring(graph, epsilon, delta, boundary={int(s): moved for s in sites})
        made = po.solve(off, "propagation").mechanism
        certificate = problem.certify(made)
        assert certificate.ok, certificate.reason
        assert certificate.utility[0] <= bound
    with mpmath.workdps(60):
        total = mpmath.mpf(0)
        for v, c in enumerate(graph.codes.tolist()):
            far = [d for s in sites.tolist() if (d := oracle.hops(graph, v)[s]) >= 0]
            p = mpmath.mpf(middle) if c == 0 else 1 - mpmath.mpf(middle)
            total += min((oracle.furthest(p, d, epsilon, delta) for d in far), default=mpmath.mpf(1))
        exact = total / graph.size
    assert exact <= bound <= float(exact) + 1e-9


@pytest.mark.parametrize("seed", range(30))
def test_values_that_differ_from_site_to_site(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, int(rng.integers(2, 4)), 10)
    k, sites = len(graph.palette), np.flatnonzero(graph.boundary()).tolist()
    rows = rng.dirichlet(np.full(k, 30.0), size=len(sites))
    values = {s: float(row[0]) if k == 2 else row.tolist() for s, row in zip(sites, rows, strict=True)}
    problem = po.BoundaryColouring(graph, 0.8, float(rng.choice([0, 0.02])), boundary=values)
    proved = prove(problem, {"kind": "envelope"})
    assert proved is not None
    with mpmath.workdps(50):
        total = mpmath.mpf(0)
        for v, c in enumerate(graph.codes.tolist()):
            far = oracle.hops(graph, v)
            chances = [
                oracle.furthest(
                    mpmath.mpf(row[c]) if k > 2 or c == 0 else 1 - mpmath.mpf(row[0]),
                    far[s],
                    0.8,
                    problem.delta,
                )
                for s, row in zip(sites, rows.tolist(), strict=True)
                if far[s] >= 0
            ]
            total += min(chances, default=mpmath.mpf(1))
        assert total / graph.size <= proved[1] <= float(total / graph.size) + 3e-9


def test_a_zero_is_met_exactly() -> None:
    problem = po.BoundaryColouring(po.DatasetGraph.line(30, 30), 1.0, boundary={29: 0.0, 30: 0.0})
    solution = po.solve(problem, "propagation")
    assert solution.status is po.Status.OPTIMAL
    assert solution.bound == pytest.approx(0.5, abs=1e-12)
    tiny = po.BoundaryColouring(problem.graph, 1.0, boundary={29: 1e-10, 30: 1e-10})
    missed = problem.certify(po.solve(tiny, "propagation").mechanism)
    assert not missed.ok
    assert "missed" in missed.reason


@pytest.mark.parametrize("seed", few(range(30), 8))
def test_worst_cases_are_bounded_as_in_sixty_digits(seed: int) -> None:
    problem = random_problem(seed, 2 + seed % 4, objective="worst_case")
    proved = prove(problem, {"kind": "minimax"})
    assert proved is not None
    if not len(problem.boundary_sites):
        assert proved == (1.0, 1.0)
        return
    exact = oracle.worst_share(problem)
    assert proved[0] <= exact <= proved[1]
    assert proved[1] - proved[0] <= 1e-13


@pytest.mark.parametrize("seed", few(range(60), 18))
def test_certificates_enclose_and_name_the_worst_exactly(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k = 2 + seed % 3
    problem = random_problem(seed, k)
    rows = rng.dirichlet(np.full(k, 2.0), size=4)
    rows[0] = rng.choice([0.25, 0.5, 1.0]) * rows[1] + 0  # rescaled by the constructor of the colouring below
    rows[0] = np.round(rows[1], 2)
    rows[0, -1] = 1 - rows[0, :-1].sum()
    if rows[0].min() < 0:
        rows[0] = rows[1]
    mechanism = problem.colouring(rows, rng.integers(0, 4, problem.graph.size))
    certificate = problem.certify(mechanism)
    ratios = oracle.arc_ratios(problem, mechanism)
    top = max((oracle.log(r) for r in ratios.values()), default=mpmath.mpf(0))
    lo, hi = certificate.leakage
    assert lo <= top <= hi
    assert hi == lo or hi - lo <= 1e-14 * max(1.0, hi)
    exact = oracle.arc_ratios(problem, mechanism)
    names = problem.graph.vertices
    finite = [ratio for ratio in exact.values() if ratio is not None]
    largest = None if len(finite) < len(exact) else max(finite, default=Fraction(1))
    for (u, v), ratio in exact.items():
        texts = {
            f"answer {c!r} is likelier at {names[u]!r} than at {names[v]!r}" for c in problem.graph.palette
        }
        said = {problem.is_worst(mechanism, (names[u], names[v]), text) for text in texts}
        if largest is not None and largest == 1:
            assert True not in said or ratio == 1
        else:
            assert (True in said) == (ratio == largest)
    if largest == 1:
        assert certificate.worst == ()
        assert problem.is_worst(mechanism, (), "")
    else:
        assert problem.is_worst(mechanism, certificate.worst, certificate.where)
        assert problem.is_worst(mechanism, (), "") is False
    for wrong in ((), (99, 98), ("a",), (names[0], names[0])):
        if wrong != certificate.worst:
            assert not problem.is_worst(mechanism, wrong, certificate.where)
    codes, weights = problem.graph.codes.tolist(), oracle.weights_of(problem)
    integers = mechanism.exact()
    utility = sum(
        (
            w * integers[mechanism.level[v]].fraction(c)
            for v, (w, c) in enumerate(zip(weights, codes, strict=True))
        ),
        Fraction(0),
    )
    assert certificate.utility[0] <= utility <= certificate.utility[1]
    assert certificate.utility[1] - certificate.utility[0] <= 4e-15


def test_the_worst_of_very_many_edges_that_tie() -> None:
    graph = po.DatasetGraph.line(3000, 3000)
    solution = po.solve(po.BoundaryColouring(graph, 1e-3), "balanced")
    problem = po.BoundaryColouring(graph, 1e-3)
    assert solution.certificate is not None
    lo, hi = solution.certificate.leakage
    assert 0 < lo <= hi <= 1e-3
    assert hi - lo < 1e-14
    assert po.verify(problem, solution).ok


def test_what_rules_an_answer_out_leaks_without_limit() -> None:
    graph = po.DatasetGraph.line(2, 2)
    for epsilon in (1.0, 700.0, 1e300):
        problem = po.BoundaryColouring(graph, epsilon, boundary=None)
        truth = problem.two_colours(np.array([1.0, 1, 0, 0]), np.array([0.0, 0, 1, 1]))
        certificate = problem.certify(truth)
        assert not certificate.ok
        assert certificate.leakage == (math.inf, math.inf)
        assert problem.is_worst(truth, certificate.worst, certificate.where)
    free = po.BoundaryColouring(graph, 0.0, 1.0, boundary=None)
    assert free.certify(truth).leakage == (0.0, 0.0)
    constant = problem.colouring([[0.5, 0.5]], [0, 0, 0, 0])
    assert problem.certify(constant).leakage == (0.0, 0.0)


def test_nothing_next_to_zero_is_taken_for_zero() -> None:
    problem = po.BoundaryColouring(po.DatasetGraph.line(1, 1), 0.0, boundary=None)
    near = problem.two_colours(np.array([0.25, np.nextafter(0.25, 1)]), np.array([0.75, 0.75]))
    certificate = problem.certify(near)
    assert not certificate.ok
    assert 0 < certificate.leakage[0] < 1e-15
    tiny = problem.two_colours(np.array([1e-300, 2e-300]), np.array([1.0, 1.0]))
    assert problem.certify(tiny).leakage[0] == pytest.approx(LN2)


def test_terms_say_what_is_protected() -> None:
    problem = po.BoundaryColouring(po.DatasetGraph.line(2, 2), 0.5)
    certificate = po.solve(problem).certificate
    assert certificate is not None
    assert certificate.kind == "privacy"
    assert (
        certificate.statement
        == "no answer is more than 1.649 times as likely from one dataset as from a neighbouring one"
    )
    assert "which of two neighbouring datasets" in certificate.adversary
    assert certificate.unit.startswith("release")
    uncovered = " ".join(certificate.uncovered)
    for part in (
        "more than one release",
        "not in the graph",
        "k times epsilon",
        "met to 1e-09 and not certified",
    ):
        assert part in uncovered
    loose = po.BoundaryColouring(problem.graph, 0.0, 1e-5, boundary=None)
    told = loose.certify(loose.anchor())
    assert told.statement.startswith("no answer is likelier from one dataset")
    assert "a probability of at most 1e-05 (delta)" in told.statement
    assert "met to" not in " ".join(told.uncovered)


@pytest.mark.parametrize("epsilon", [1e-9, 0.1, 0.5, 1, 3.7, 15, 30, 700])
def test_a_factor_is_never_less_than_it_is(epsilon: float) -> None:
    from privopt.problems.boundary_colouring.certificate import factor

    shown = factor(epsilon)
    with mpmath.workdps(400):
        told = mpmath.e ** mpmath.mpf(shown[2:]) if shown.startswith("e^") else mpmath.mpf(shown)
        assert told >= mpmath.e ** mpmath.mpf(epsilon)


def test_small_utilities_are_optimal_by_their_own_scale() -> None:
    # The right answer is given with probability 1e-7: a gap is compared with that, not with 1.
    problem = po.BoundaryColouring(po.DatasetGraph.line(1, 1), LN2, boundary={0: 1e-7, 1: 1 - 1e-7})
    solution = po.solve(problem, "propagation")
    assert solution.status is not po.Status.INFEASIBLE or solution.reason
    small = po.BoundaryColouring(po.DatasetGraph([(0, 1)], [0, 0], palette=[0, 1]), LN2, boundary={0: 1e-7})
    solved = po.solve(small, "propagation")
    assert solved.status is po.Status.OPTIMAL
    assert solved.gap is not None
    assert solved.gap <= 1e-6 * (solved.utility or 0.0)
    assert small.scale(solved) == pytest.approx(1.5e-7)


def test_a_witness_is_proved() -> None:
    for epsilon, delta, most in ((LN2, 0.0, 0.5), (0.0, 0.1, 0.35), (700.0, 0.0, 1.0)):
        problem = po.BoundaryColouring(po.DatasetGraph.line(1, 1), epsilon, delta, boundary={0: 1.0, 1: 0.25})
        assert (problem.check_infeasible({"source": 1, "target": 0, "colour": 0}) is not None) == (most < 1)
    edge = po.BoundaryColouring(po.DatasetGraph.line(1, 1), LN2, boundary={0: 0.5, 1: 0.25})
    assert edge.check_infeasible({"source": 1, "target": 0, "colour": 0}) is None
    assert po.solve(edge, "propagation").status is po.Status.OPTIMAL
    none = po.BoundaryColouring(po.DatasetGraph.line(1, 1), 5.0, boundary={0: 0.5, 1: 0.0})
    assert none.check_infeasible({"source": 1, "target": 0, "colour": 0}) is not None


VERIFIER = """
import sys
from pathlib import Path
import privopt as po
count = 0
for path in sorted(Path(sys.argv[1]).glob("*.solution.json")):
    problem = po.load_problem(path.with_name(path.name.replace("solution", "problem")).with_name(path.name.split(".")[0] + ".problem.json"))
    told = po.verify(problem, po.Solution.load(path))
    assert told.ok, (path, told.reason)
    count += 1
print(count)
"""


def written(folder: Path, problems: list[po.BoundaryColouring]) -> int:
    """How many answers of all solvers were written, with their problems."""
    count = 0
    for i, problem in enumerate(problems):
        (folder / f"{i}.problem.json").write_text(json.dumps(problem.to_dict()))
        for name in solvers_of(po.BoundaryColouring):
            solution = po.solve(problem, name, time_limit=20)
            if solution.status.ok:
                solution.save(folder / f"{i}.{name}.solution.json")
                count += 1
    return count


def mixed(seeds: range) -> list[po.BoundaryColouring]:
    """Random problems of every kind."""
    problems = []
    for seed, objective in zip(seeds, itertools.cycle(("accuracy", "accuracy", "worst_case"))):
        boundary = "balanced" if seed % 3 == 0 else None
        problems.append(random_problem(seed, 2 + (seed % 4 == 0), objective=objective, boundary=boundary))
    return problems


@pytest.mark.long
@pytest.mark.parametrize(
    "count", [4, pytest.param(60, marks=pytest.mark.long)], ids=["a few", "sixty random graphs"]
)
def test_every_machine_gives_the_same_verdict(count: int, tmp_path: Path) -> None:
    problems = [example.problem for example in po.BoundaryColouring.examples()]
    examples = [problem for problem in problems if isinstance(problem, po.BoundaryColouring)]
    chosen = examples if count > 4 else examples[::3]
    answers = written(tmp_path, [*chosen, *mixed(range(count))])
    for setting in settings():
        if setting.skipped:
            continue
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", VERIFIER, str(tmp_path)],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **setting.variables},
        )
        assert done.stdout.strip() == str(answers), (setting.name, done.stderr)

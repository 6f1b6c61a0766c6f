"""Choosing the boundary of two colours: programs, cuts and shifts against each other and against brute force."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
from instances.small_graphs import best_of_events, choice, graph, tree

import privopt as po

LN2 = math.log(2)


def solutions(problem: po.BoundaryColouring, *names: str) -> list[po.Solution[po.Colouring]]:
    answers = [po.solve(problem, name) for name in names]
    for solution in answers:
        assert solution.status.ok, (solution.solver, solution.reason)
        assert solution.certified
    return answers


@pytest.mark.parametrize(("hub", "total"), [(1, 3.0), (2, 10 / 3), (4, 14 / 3)])
@pytest.mark.parametrize("name", ["weighted-lp", "forest", "minimum-cut"])
def test_star(name: str, hub: int, total: float) -> None:
    star = po.DatasetGraph([(0, 1), (0, 2), (0, 3)], [1, 2, 2, 2])
    problem = po.BoundaryColouring(star, LN2, boundary=None, weights=[hub, 1, 1, 1])
    (solution,) = solutions(problem, name)
    assert solution.utility is not None
    assert solution.utility * (hub + 3) == pytest.approx(total, abs=1e-9)


@pytest.mark.parametrize(("delta", "total"), [(0.0, 33.06763944), (0.05, 33.68265144)])
def test_weighted_grid(delta: float, total: float) -> None:
    cells = po.DatasetGraph.grid([[1, 1, 2], [1, 2, 2], [1, 2, 1]])
    problem = po.BoundaryColouring(cells, 1.0, delta, boundary=None, weights=range(1, 10))
    for solution in solutions(problem, "weighted-lp", "minimum-cut"):
        assert solution.utility == pytest.approx(total / 45, abs=2e-10)


@pytest.mark.parametrize(
    ("n", "share", "epsilon", "best"), [(5, 0.5, LN2, 0.734375), (100, 0.4, 0.1, 0.98323831)]
)
@pytest.mark.parametrize("name", ["shift", "forest", "path", "weighted-lp", "equal-boundary"])
def test_counts_of_votes(name: str, n: int, share: float, epsilon: float, best: float) -> None:
    votes = [math.comb(n, c) * share**c * (1 - share) ** (n - c) for c in range(n + 1)]
    problem = po.BoundaryColouring(po.DatasetGraph.counts(n), epsilon, boundary=None, weights=votes)
    (solution,) = solutions(problem, name)
    assert solution.utility == pytest.approx(best, abs=5e-9)


def test_balanced_votes() -> None:
    votes = [math.comb(100, c) * 0.4**c * 0.6 ** (100 - c) for c in range(101)]
    solution = po.solve(po.BoundaryColouring(po.DatasetGraph.counts(100), 0.1, weights=votes))
    assert solution.utility == pytest.approx(0.80596985, abs=5e-9)


@pytest.mark.long
def test_programs_cuts_and_brute_force_agree() -> None:
    rng = np.random.default_rng(1)
    for _ in range(100):
        problem = choice(rng, graph(rng))
        lp, cut = solutions(problem, "weighted-lp", "minimum-cut")
        assert lp.status is po.Status.OPTIMAL
        assert cut.utility == pytest.approx(lp.utility, abs=1e-9)
        assert lp.utility == pytest.approx(best_of_events(problem), abs=1e-7)


def test_forests_paths_and_programs_agree() -> None:
    rng = np.random.default_rng(2)
    for turn in range(60):
        sample = tree(rng)
        if turn % 3 == 0:
            n = int(rng.integers(2, 14))
            sample = po.DatasetGraph(
                [(i, i + 1) for i in range(n - 1)], rng.integers(0, 2, n), palette=[0, 1]
            )
        problem = choice(rng, sample)
        names: Sequence[str] = (
            ("forest", "weighted-lp", "path") if turn % 3 == 0 else ("forest", "weighted-lp")
        )
        forest, *others = solutions(problem, *names)
        assert forest.status is po.Status.OPTIMAL
        assert forest.gap is not None
        assert forest.gap < 1e-10
        for other in others:
            assert other.utility == pytest.approx(forest.utility, abs=1e-9)


def test_forests_are_as_good_in_small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Children of one vertex may be in several parts of a layer, and its multipliers are shared among all of them."""
    rng = np.random.default_rng(8)
    problems = [choice(rng, tree(rng)) for _ in range(30)]
    whole = [po.solve(problem, "forest") for problem in problems]
    monkeypatch.setattr("privopt.solvers.boundary_colouring.forest.PART", 1)
    for problem, one in zip(problems, whole, strict=True):
        parted = po.solve(problem, "forest")
        assert parted.status is one.status is po.Status.OPTIMAL
        assert parted.utility == pytest.approx(one.utility, abs=1e-12)


def test_shifts_are_optimal_on_lines() -> None:
    rng = np.random.default_rng(3)
    for _ in range(40):
        line = po.DatasetGraph.line(int(rng.integers(1, 9)), int(rng.integers(1, 9)))
        problem = choice(rng, line)
        shift, forest = solutions(problem, "shift", "forest")
        assert shift.utility == pytest.approx(forest.utility, abs=1e-10)
        assert shift.status is po.Status.OPTIMAL


@pytest.mark.parametrize("shift", [0, 40, -300])
def test_shifts_leave_out_vertices_that_err_next_to_never(shift: int) -> None:
    """One end outweighs the other, so that what is answered in equal parts is far from where the colours meet."""
    weights = np.exp(0.2 * np.minimum(np.abs(np.arange(3000) - 1500 - shift), 400))
    problem = po.BoundaryColouring(po.DatasetGraph.line(1500, 1500), 0.2, boundary=None, weights=weights)
    shifted, forest = solutions(problem, "shift", "forest")
    assert shifted.status is po.Status.OPTIMAL
    assert shifted.utility == pytest.approx(forest.utility, abs=1e-10)
    assert isinstance(shifted.dual, dict)
    assert len(shifted.dual["at"]) < 2000


@pytest.mark.long
def test_no_other_equal_boundary_is_better() -> None:
    # The best value on a fine grid of boundary values, by the closed form of one step written out here.
    rng = np.random.default_rng(4)
    for _ in range(12):
        problem = choice(rng, graph(rng))
        (solution,) = solutions(problem, "equal-boundary")
        (lp,) = solutions(problem, "weighted-lp")
        best = max(_equal_accuracy(problem, q) for q in np.linspace(0, 1, 2001).tolist())
        assert solution.utility is not None
        assert lp.utility is not None
        assert best - 1e-9 <= solution.utility <= lp.utility + 1e-9


def _equal_accuracy(problem: po.BoundaryColouring, first: float) -> float:
    of, growth, delta = problem.graph, math.exp(problem.epsilon), problem.delta

    def up(p: float) -> float:
        return min(growth * p + delta, 1 - (1 - p - delta) / growth, 1.0)

    right = [first if c == 0 else up(1 - first) for c in of.codes.tolist()]
    edge = of.boundary()
    right = [x if at else 2.0 for x, at in zip(right, edge.tolist(), strict=True)]
    for _ in range(of.size):
        for u, v in of.edges().tolist():
            for a, b in ((u, v), (v, u)):
                if of.codes[a] == of.codes[b] and not edge[a] and right[b] <= 1:
                    right[a] = min(right[a], up(right[b]))
    accuracy = np.minimum(right, 1.0)
    weights = np.ones(of.size) if problem.weights is None else problem.weights
    return float(weights @ accuracy / weights.sum())


def test_constant_answers_where_weights_are_skewed() -> None:
    line = po.DatasetGraph.line(1, 1)
    problem = po.BoundaryColouring(line, 0.1, boundary=None, weights=[100.0, 1.0])
    for solution in solutions(
        problem, "shift", "forest", "weighted-lp", "minimum-cut", "equal-boundary", "path"
    ):
        assert solution.utility == pytest.approx(100 / 101, abs=1e-9)


def test_without_any_budget_every_component_is_constant() -> None:
    rng = np.random.default_rng(5)
    for _ in range(10):
        sample, weights = tree(rng), None
        problem = po.BoundaryColouring(sample, 0.0, boundary=None, weights=weights)
        best = 0
        for colours in itertools.product((0, 1), repeat=sample.size):
            flat = np.array(colours)
            if all(flat[u] == flat[v] for u, v in sample.edges().tolist()):
                best = max(best, int((flat == sample.codes).sum()))
        for solution in solutions(problem, "forest", "weighted-lp", "minimum-cut"):
            assert solution.utility == pytest.approx(best / sample.size, abs=1e-9)


@pytest.mark.long
def test_million_counts_are_solved_and_proved() -> None:
    problem = po.BoundaryColouring(po.DatasetGraph.counts(10**6), 0.1, boundary=None)
    solution = po.solve(problem, "shift", time_limit=60)
    assert solution.status is po.Status.OPTIMAL
    assert solution.gap is not None
    assert solution.gap < 1e-9


@pytest.mark.parametrize(("side", "short"), [(6, True), (150, False)])
def test_short_programs_poll_the_deadline_and_long_ones_need_a_process(side: int, short: bool) -> None:
    rng = np.random.default_rng(side)
    problem = choice(rng, po.DatasetGraph.grid(rng.integers(1, 3, (side, side))))
    (candidate,) = (c for c in po.candidates(problem) if c.name == "weighted-lp")
    assert candidate.polls == short


def test_refusals_name_what_to_call() -> None:
    line, three = po.DatasetGraph.line(2, 2), po.DatasetGraph([(0, 1), (1, 2)], [0, 1, 2])
    ring = po.DatasetGraph([(0, 1), (1, 2), (2, 0)], [0, 0, 1], palette=[0, 1])
    assert "palette" in str(po.solve(po.BoundaryColouring(three, 1.0), "weighted-lp").reason)
    assert "prescribes" in str(po.solve(po.BoundaryColouring(line, 1.0), "forest").reason)
    worst = po.BoundaryColouring(line, 1.0, boundary=None, objective="worst_case")
    assert "balanced" in str(po.solve(worst, "shift").reason)
    weighted = po.BoundaryColouring(ring, 1.0, boundary=None, weights=[1, 2, 3])
    assert "cycles" in str(po.solve(weighted, "forest").reason)

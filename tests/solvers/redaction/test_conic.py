"""Conic back ends against the isotonic solution of the same programs."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from instances.few import few

import privopt as po
from privopt.arrays import Floats
from privopt.core.dispatch import fitness
from privopt.core.solver import missing_requirement
from privopt.solvers.redaction.conic import Backend, Conic, ConicClarabel, ConicECOS, ConicSCS, solve_side
from privopt.solvers.redaction.relaxation import Relaxation, pooled

SOLVERS: tuple[type[Conic], ...] = (ConicClarabel, ConicECOS, ConicSCS)
BACKENDS: tuple[Backend, ...] = ("clarabel", "ecos", "scs")
FIGURE = [(0.25, 0.6144057624), (0.5, 0.7054242397), (1.0, 0.7479180746), (2.0, 0.8448503488)]


def objective(u: Floats, weights: Floats) -> float:
    return math.fsum((weights * np.exp(-u)).tolist())


def program(seed: int) -> tuple[Floats, Floats]:
    """Budgets in any order or rising, some of them zero; equal and unequal weights, some of them zero."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 101))
    bounds = rng.uniform(0, 3, count)
    if seed % 3 == 0:
        bounds.sort()
    if seed % 5 == 0:
        bounds[rng.integers(count)] = 0.0
    if seed % 2 == 0:
        return bounds, np.full(count, 0.01)
    return bounds, rng.uniform(0.01, 1, count) * (rng.random(count) < 0.9) + 1e-6


def problem(epsilon: float, length: int = 10, private: int = 0) -> po.Redaction:
    return po.Redaction(po.MarkovChain([[0.99, 0.01], [0.8, 0.2]]), length, private, epsilon)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("seed", few(range(30), 9))
def test_back_ends_find_the_isotonic_solution(backend: Backend, seed: int) -> None:
    bounds, weights = program(seed)
    u = solve_side(bounds, weights, backend)
    assert np.all(u >= 0)
    assert np.all(np.cumsum(u) <= bounds + 1e-5)
    assert objective(u, weights) == pytest.approx(objective(pooled(bounds, weights), weights), rel=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
def test_edges_of_programs(backend: Backend) -> None:
    one = solve_side(np.array([0.7]), np.array([2.0]), backend)
    np.testing.assert_allclose(one, [0.7], atol=1e-6)
    nothing = solve_side(np.zeros(3), np.ones(3), backend)
    np.testing.assert_allclose(nothing, 0.0, atol=1e-6)
    weightless = solve_side(np.ones(2), np.zeros(2), backend)
    assert np.cumsum(weightless).max() <= 1 + 1e-6


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("epsilon", "expected"), FIGURE)
def test_public_utilities(solver: type[Conic], epsilon: float, expected: float) -> None:
    redaction = problem(epsilon)
    proposal = solver().run(redaction, po.Budget())
    assert proposal.mechanism is not None
    reading = redaction.evaluate(redaction.check(proposal.mechanism))
    assert reading.utility == pytest.approx(expected, abs=1e-7)
    assert proposal.stats["status"] == "optimal"
    assert int(proposal.stats["iterations"]) > 0


@pytest.mark.parametrize("seed", range(6))
def test_the_same_mechanism_as_the_relaxation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    states, length = int(rng.integers(2, 4)), int(rng.integers(3, 12))
    chain = po.MarkovChain.normalised(rng.dirichlet(np.ones(states), size=states))
    places = sorted(rng.choice(length, size=1 + seed % 2, replace=False).tolist())
    redaction = po.Redaction(
        chain, length, places, float(rng.uniform(0.2, 2)), weights=rng.uniform(0, 1, length)
    )
    expected = Relaxation().run(redaction, po.Budget()).mechanism
    assert isinstance(expected, po.RedactionMechanism)
    for solver in SOLVERS:
        mechanism = solver().run(redaction, po.Budget()).mechanism
        assert isinstance(mechanism, po.RedactionMechanism)
        np.testing.assert_allclose(mechanism.probabilities, expected.probabilities, atol=1e-4)
        utilities = [redaction.evaluate(m).utility for m in (mechanism, expected)]
        assert utilities[0] == pytest.approx(utilities[1], abs=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_judged_answers_are_private(solver: type[Conic]) -> None:
    redaction = problem(1.0, 20, 4)
    solution = po.solve(redaction, solver())
    assert (solution.status, solution.certified) == (po.Status.FEASIBLE, True)
    assert solution.utility == pytest.approx(po.solve(redaction, "relaxation").utility, abs=1e-6)


@pytest.mark.parametrize(("epsilon", "expected"), [(0.0, 0.0), (30.0, 0.9), (math.inf, 0.9)])
def test_extreme_budgets(epsilon: float, expected: float) -> None:
    redaction = problem(epsilon)
    proposal = ConicClarabel().run(redaction, po.Budget())
    assert proposal.mechanism is not None
    assert redaction.evaluate(redaction.check(proposal.mechanism)).utility == pytest.approx(expected)
    assert proposal.stats == {"status": "no program", "programs": 0, "iterations": 0}


@pytest.mark.parametrize("length", [10, 3000, 200_000])
def test_they_are_asked_after_the_relaxation(length: int) -> None:
    names = [c.name for c in po.candidates(problem(1.0, length))]
    assert all(names.index("relaxation") < names.index(solver.name) for solver in SOLVERS)


def test_a_missing_back_end_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ConicECOS, "requires", ("cvxpy", "no_such_back_end"))
    refusal = missing_requirement(ConicECOS())
    assert refusal is not None
    assert "no_such_back_end" in refusal
    assert fitness(ConicECOS(), problem(1.0)).refusal == refusal


@pytest.mark.long
def test_the_deadline_ends_a_back_end_that_cannot_be_asked_to_stop() -> None:
    chain = po.MarkovChain([[0.9999, 0.0001], [0.001, 0.999]])
    begun = time.monotonic()
    solution = po.solve(po.Redaction(chain, 20_000, 10_000, 1.0), "conic-scs", time_limit=1.0)
    assert solution.status is po.Status.TIME_OUT
    assert time.monotonic() - begun < 15.0

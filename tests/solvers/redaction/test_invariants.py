"""Invariants of redaction answers, on random problems; thousands more run in the benchmark."""

from __future__ import annotations

import numpy as np
import pytest
from instances.few import few
from oracles.enumeration import leakage, random_table

import privopt as po
from privopt.solvers.redaction._supports import HIDDEN, PARTIAL, Program
from privopt.solvers.redaction.joint_search import JointSearch
from privopt.solvers.redaction.optimal import Optimal

QUICK = Optimal(bound=False)


def parameters(seed: int) -> tuple[float, float, int, int, float]:
    rng = np.random.default_rng(1000 + seed)
    alpha, beta = rng.uniform(0.02, 0.98, 2)
    length = int(rng.integers(1, 10))
    return float(alpha), float(beta), length, int(rng.integers(length)), float(rng.uniform(0.05, 2.5))


def chain(alpha: float, beta: float) -> po.MarkovChain:
    return po.MarkovChain.normalised([[1 - alpha, alpha], [beta, 1 - beta]])


def utility(problem: po.Redaction, solver: str | po.Solver[po.Redaction] = QUICK) -> float:
    solution = po.solve(problem, solver)
    assert solution.certified
    assert solution.utility is not None
    return solution.utility


@pytest.mark.parametrize("seed", few(range(100), 15))
def test_laws(seed: int) -> None:
    alpha, beta, length, p, epsilon = parameters(seed)
    markov = chain(alpha, beta)
    best = utility(po.Redaction(markov, length, p, epsilon))
    assert utility(po.Redaction(markov, length, length - 1 - p, epsilon)) == pytest.approx(best, abs=1e-8)
    assert utility(po.Redaction(chain(beta, alpha), length, p, epsilon)) == pytest.approx(best, abs=1e-8)
    assert utility(po.Redaction(markov, length, p, 1.3 * epsilon)) >= best - 1e-9
    longer = utility(po.Redaction(markov, length + 1, p, epsilon))
    assert (length + 1) * (1 - longer) >= length * (1 - best) - 1e-8
    for solver in ("windows", "relaxation", "constant-search"):
        assert utility(po.Redaction(markov, length, p, epsilon), solver) <= best + 1e-9


@pytest.mark.parametrize("seed", few(range(0, 100, 4), 8))
def test_bounds_hold_and_close(seed: int) -> None:
    alpha, beta, length, p, epsilon = parameters(seed)
    solution = po.solve(po.Redaction(chain(alpha, beta), length, p, epsilon), time_limit=60)
    assert solution.bound is not None
    assert solution.objective is not None
    assert solution.objective <= solution.bound <= solution.objective + 1e-5


@pytest.mark.parametrize("seed", range(0, 100, 5))
def test_redaction_falls_with_distance_on_persistent_chains(seed: int) -> None:
    rng = np.random.default_rng(seed)
    alpha, beta = rng.uniform(0.01, 0.45, 2)
    solution = po.solve(po.Redaction(chain(alpha, beta), 14, 0, float(rng.uniform(0.1, 2))), QUICK)
    partial = solution.mechanism.probabilities[1:].min(axis=1)
    assert (np.diff(partial) <= 1e-9).all()


@pytest.mark.parametrize("seed", range(0, 100, 5))
def test_a_weightless_record_costs_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    alpha, beta, _, _, epsilon = parameters(seed)
    weights = rng.random(6) + 0.1
    weights[4] = 0.0
    problem = po.Redaction(chain(alpha, beta), 6, 2, epsilon, weights=weights)
    solution = po.solve(problem, QUICK)
    hidden = solution.mechanism.probabilities.copy()
    hidden[4] = 1.0
    again = problem.evaluate(problem.answer(hidden))
    assert again.utility == pytest.approx(solution.utility, abs=1e-15)
    assert again.feasible


@pytest.mark.parametrize("seed", few(range(0, 100, 4), 4))
def test_leakage_of_six_records_equals_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    alpha, beta = rng.uniform(0.02, 0.98, 2)
    table, p = random_table(rng, 6, 2), int(rng.integers(6))
    table[p] = 1.0
    markov = chain(float(alpha), float(beta))
    assert po.measures.redaction_leakage(markov, p, table) == pytest.approx(
        leakage(markov, p, table), rel=1e-12
    )


@pytest.mark.long
def test_a_value_that_is_rare_is_hidden_along_a_side() -> None:
    """A support made by hand: no single change of a good one of another kind leads there."""
    moves = [
        [0.72, 0.01, 0.13, 0.14],
        [0.17, 0.53, 0.18, 0.12],
        [0.16, 0.02, 0.41, 0.41],
        [0.24, 0.01, 0.07, 0.68],
    ]
    problem = po.Redaction(po.MarkovChain(moves), 16, 8, 1.0)
    support = np.full((16, 4), HIDDEN, dtype=np.int8)
    support[:6, [0, 3]] = support[11:, [0, 2]] = support[12:, 3] = PARTIAL
    by_hand = Program(problem).solve(support, np.full(support.shape, 0.9))
    assert by_hand is not None
    found = po.solve(problem, JointSearch(120), time_limit=60)
    assert found.utility is not None
    assert found.utility >= 0.97 * problem.evaluate(problem.answer(by_hand.table)).utility

"""Releases of few letters each: against the program of all pairs, the definition written out, and invariants."""

from __future__ import annotations

import math

import numpy as np
import pytest

import privopt as po
from privopt.arrays import Floats
from privopt.core.solver import Budget
from privopt.mechanisms.policy.fixed import Levels
from privopt.mechanisms.policy.formulas.program import solve_program
from privopt.mechanisms.policy.formulas.steps import Step
from privopt.solvers.sequence._near_cells import near_cells, suits
from privopt.solvers.sequence.prices import step_of
from privopt.solvers.sequence.steps import BeliefOracle, BeliefStructureLp


def costs_of(kind: str, n: int, rng: np.random.Generator) -> Floats:
    line = np.abs(np.subtract.outer(range(n), range(n))) * 1.0
    if kind == "random":
        matrix = rng.random((n, n))
        np.fill_diagonal(matrix, 0.0)
        return matrix
    return line if kind == "l1" else line**2


@pytest.mark.parametrize("kind", ["l1", "squared", "random"])
@pytest.mark.parametrize("seed", range(4))
def test_few_pairs_reach_the_program_of_all(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, epsilon = 70, float(rng.choice([3.0, 4.0, 6.0, 9.0]))
    p, cost = rng.dirichlet(np.full(n, 0.5)), costs_of(kind, n, rng)
    step = Step(p, cost, epsilon, p.tolist())
    answer = near_cells(step, math.inf)
    assert answer is not None
    levels, unit = Levels.of(epsilon), float(cost.max())
    whole = solve_program(p, cost / unit, levels, math.inf)
    assert whole is not None
    optimum = levels.room * p @ (whole.kernel * cost).sum(axis=1) + levels.low * p @ cost @ whole.marginal
    kernel = np.asarray(answer.kernel, dtype=np.float64)
    assert p @ (kernel * cost).sum(axis=1) == pytest.approx(optimum, rel=1e-6)
    output = p @ kernel
    assert (kernel <= math.exp(epsilon) * output * (1 + 1e-9)).all()
    assert (kernel >= math.exp(-epsilon) * output * (1 - 1e-9)).all()


def test_the_definition_written_out_says_the_same() -> None:
    rng = np.random.default_rng(5)
    belief, matrix = rng.dirichlet(np.ones(8)), rng.integers(0, 9, (8, 8)).astype(float)
    step = Step(belief, matrix, 2.5, belief.tolist())
    answer = near_cells(step, math.inf)
    assert answer is not None
    problem = po.BeliefRelease(belief.tolist(), 2.5, distortion=matrix)
    known = BeliefOracle().run(problem, Budget()).mechanism
    assert isinstance(known, po.Channel)
    reached = belief @ (np.asarray(answer.kernel, dtype=np.float64) * matrix).sum(axis=1)
    assert reached == pytest.approx(-problem.evaluate(known).utility, rel=1e-7)


@pytest.mark.parametrize("epsilon", [5.0, 8.0, 12.0])
@pytest.mark.parametrize("distortion", ["l1", "squared"])
def test_long_lines_at_large_budgets_are_proved(epsilon: float, distortion: str) -> None:
    belief = np.random.default_rng(3).dirichlet(np.full(250, 0.4)).tolist()
    problem = po.BeliefRelease(belief, epsilon, distortion=distortion)
    proposal = BeliefStructureLp().run(problem, Budget())
    assert isinstance(proposal.mechanism, po.Channel)
    utility = problem.evaluate(proposal.mechanism).utility
    bound = problem.check_bound(-math.inf, proposal.dual)
    assert bound is not None
    assert 0 <= bound - utility <= 1e-6 * abs(utility)


def test_a_larger_budget_never_costs_more() -> None:
    rng = np.random.default_rng(8)
    p = rng.dirichlet(np.ones(90))
    cost = costs_of("squared", 90, rng)
    values = []
    for epsilon in (3.0, 4.0, 5.0, 7.0, 10.0):
        answer = near_cells(Step(p, cost, epsilon, p.tolist()), math.inf)
        assert answer is not None
        values.append(float(p @ (np.asarray(answer.kernel, dtype=np.float64) * cost).sum(axis=1)))
    assert values == sorted(values, reverse=True)


def test_without_time_there_is_none() -> None:
    step = Step(np.full(60, 1 / 60), np.ones((60, 60)) - np.eye(60), 6.0, [1 / 60] * 60)
    assert suits(step)
    assert near_cells(step, 0.0) is None


def test_few_pairs_suit_where_few_letters_are_near_every_release() -> None:
    """On a line the tails of a hump hold many letters within a small mass, for which grids are made."""
    places = np.arange(300)
    hump = np.exp(-((places - 150) ** 2) / 3200) + 1e-6
    even, uneven = (po.BeliefRelease(mass / mass.sum(), 4.0, "squared") for mass in (np.ones(300), hump))
    assert suits(step_of(even))
    assert not suits(step_of(uneven))

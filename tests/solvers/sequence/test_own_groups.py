"""Groups of likely words at large budgets: private, no better than the optimum, bounded, and better than what prices alone find."""

from __future__ import annotations

import numpy as np
import pytest

from privopt.mechanisms.policy.fixed import Levels
from privopt.mechanisms.policy.formulas.program import Table, solve_program
from privopt.models import MarkovChain
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
from privopt.problems.sequence_information_privacy.steps import steps
from privopt.solvers.sequence.aggregate import solve_aggregated
from privopt.solvers.sequence.own_groups import own_groups


def words(length: int, epsilon: float, stay: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
    chain = MarkovChain([[stay, 1 - stay], [1 - stay, stay]], [0.1, 0.9])
    problem = SequenceInformationPrivacy(chain, epsilon, batch=length, horizon=length)
    first = next(steps(problem))
    return first.distribution / first.distribution.sum(), np.array(first.release.setting.cost)


@pytest.mark.parametrize(("length", "epsilon", "near"), [(4, 1.6, 1.2), (5, 1.5, 1.2), (6, 1.2, 3.0)])
def test_groups_are_private_and_near_the_program(length: int, epsilon: float, near: float) -> None:
    p, cost = words(length, epsilon)
    level = length * epsilon
    table = Table.of(p, cost, Levels.of(level))
    groups = own_groups(table)
    assert groups is not None
    sent = groups.kernel
    assert np.abs(sent.sum(axis=1) - 1).max() < 1e-12
    assert (sent <= (p @ sent) / table.levels.theta * (1 + 1e-9)).all()
    kernel = table.levels.room * sent + table.levels.low * (p @ sent)
    out = p @ kernel
    used = out > 0
    ratio = kernel[:, used] / out[used]
    assert np.abs(np.log(ratio)).max() <= level + 1e-9
    assert float(p @ (kernel * cost).sum(axis=1)) == pytest.approx(groups.value, rel=1e-9)
    solved = solve_program(p, cost, table.levels, 60.0)
    assert solved is not None
    optimum = float((table.levels.room * p[:, None] * cost * solved.kernel).sum())
    optimum += table.levels.low * float(solved.marginal @ (p @ cost))
    assert optimum - 1e-9 <= groups.value <= near * optimum


def test_it_refuses_small_budgets() -> None:
    p, cost = words(5, 0.3)
    assert own_groups(Table.of(p, cost, Levels.of(1.5))) is None


@pytest.mark.long
def test_a_thousand_words_at_ten_nats() -> None:
    p, cost = words(10, 1.0)
    answer = solve_aggregated(p, cost, 10.0, 60.0)
    assert answer is not None
    assert answer.value < 2e-4  # programs that begin with 192 releases stop at 1.3e-3
    assert 0 <= answer.value - answer.bound <= 0.1 * answer.value

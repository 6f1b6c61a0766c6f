"""A private record of every day of one stream: everything counts the whole stream, against brute force."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from oracles import enumeration

import privopt as po
from privopt.problems.redaction.least import least_epsilon
from privopt.problems.redaction.shown import largest_influences

CHAIN = po.MarkovChain([[0.75, 0.25], [0.4, 0.6]])
DAY = po.MarkovChain.periodic(
    [[[0.9, 0.1], [0.4, 0.6]], [[0.75, 0.25], [0.5, 0.5]], [[0.5, 0.5], [0.25, 0.75]]], states=["low", "high"]
)


def brute_force(chain: po.MarkovChain, private: int, table: np.ndarray) -> float:
    """The leakage about one record over every output, summed over every sequence."""
    n, k = table.shape
    sequences = np.array(list(itertools.product(range(k), repeat=n)))
    chances = chain.marginal(0)[sequences[:, 0]]
    for t in range(n - 1):
        chances = chances * chain.step(t)[sequences[:, t], sequences[:, t + 1]]
    outputs = chances[:, None]
    for t in range(n):
        shown = np.column_stack([np.diag(1 - table[t]), table[t]])[sequences[:, t]]  # k values, then hidden
        outputs = (outputs[:, :, None] * shown[:, None, :]).reshape(len(sequences), -1)
    rows = [outputs[sequences[:, private] == x].sum(axis=0) for x in range(k)]
    rows = [row / row.sum() for row in rows]
    levels = [0.0]
    for one, other in itertools.permutations(rows, 2):
        if (one[other == 0] > 0).any():
            return math.inf
        both = (one > 0) & (other > 0)
        levels.append(float(np.log(one[both] / other[both]).max()))
    return max(levels)


def stream(chain: po.MarkovChain, length: int, private: int, epsilon: float, **options: Any) -> po.Redaction:
    return po.Redaction(chain, length, private, epsilon, period=3, **options)


@pytest.mark.parametrize("chain", [CHAIN, DAY], ids=["homogeneous", "periodic"])
@pytest.mark.parametrize("private", [0, 1, 2])
def test_leakage_and_certificate_are_those_of_the_whole_stream(chain: po.MarkovChain, private: int) -> None:
    rng = np.random.default_rng(private)
    problem = stream(chain, 8, private, 1.0)
    assert problem.private == tuple(range(private, 8, 3))
    for _ in range(2):
        table = enumeration.random_table(rng, 8, 2)
        mechanism = problem.answer(table)
        exact = max(brute_force(chain, p, mechanism.quantised().probabilities) for p in problem.private)
        assert problem.evaluate(mechanism).leakage == pytest.approx(exact, rel=1e-12)
        low, high = problem.certify(mechanism).leakage
        assert low * (1 - 1e-12) <= exact <= high * (1 + 1e-12)
        assert problem.certify(mechanism).ok is (exact <= 1.0)


@pytest.mark.parametrize("chain", [CHAIN, DAY], ids=["homogeneous", "periodic"])
def test_days_released_one_by_one_leak_more_than_their_own_problem_certifies(chain: po.MarkovChain) -> None:
    day = po.Redaction(chain, 3, 0, 1.0)
    alone = po.solve(day)
    assert alone.certified
    whole = stream(chain, 9, 0, 1.0)
    repeated = po.RedactionMechanism(np.tile(alone.mechanism.probabilities, (3, 1)), chain.states)
    exact = max(brute_force(chain, p, repeated.probabilities) for p in whole.private)
    assert exact > 1.2
    assert whole.evaluate(repeated).leakage == pytest.approx(exact, rel=1e-12)
    assert not whole.certify(repeated).ok
    repaired = whole.repair(repeated, 1e-12)
    assert whole.certify(repaired).ok


@pytest.mark.parametrize("chain", [CHAIN, DAY], ids=["homogeneous", "periodic"])
def test_a_solution_keeps_the_budget_over_all_outputs_of_the_stream(chain: po.MarkovChain) -> None:
    problem = stream(chain, 8, 1, 1.0)
    solution = po.solve(problem, time_limit=1.5)
    assert solution.certified
    assert solution.utility is not None
    assert solution.utility > 0
    rounded = solution.mechanism.quantised().probabilities
    assert max(brute_force(chain, p, rounded) for p in problem.private) <= 1.0 + 1e-12
    assert po.verify(problem, solution).ok
    if solution.bound is not None:
        assert solution.bound >= solution.utility


def test_it_is_the_problem_of_all_its_private_records() -> None:
    problem, listed = stream(CHAIN, 10, 2, 0.7), po.Redaction(CHAIN, 10, (2, 5, 8), 0.7)
    mechanism = po.solve(listed, "windows").mechanism
    assert problem.evaluate(mechanism) == listed.evaluate(mechanism)
    assert problem.fingerprint != listed.fingerprint
    terms = problem.terms(mechanism)
    assert "record 2 of every 3" in terms.statement
    assert any("several private records" in line for line in terms.uncovered)


def test_files_keep_the_period_and_older_ones_are_as_they_were() -> None:
    problem = stream(DAY, 7, 1, 0.5, side_information="any")
    written = problem.to_dict()
    assert (written["version"], written["private"], written["period"]) == (2, [1], 3)
    again = po.Redaction.from_dict(written)
    assert again == problem
    assert again.fingerprint == problem.fingerprint
    assert again.private == (1, 4)
    assert problem.with_budget(0.25).private == (1, 4)
    assert "period" not in po.Redaction(CHAIN, 5, 1, 0.5).to_dict()
    assert repr(problem).endswith("side_information='any', period=3)")


@pytest.mark.parametrize(
    ("private", "period", "message"),
    [
        (4, 3, "beyond the first period"),
        (1, 0, "period must be >= 1"),
        (1, 2.5, "period must be an integer"),
    ],
)
def test_bad_periods(private: int, period: Any, message: str) -> None:
    with pytest.raises(po.errors.InvalidProblem, match=message):
        po.Redaction(CHAIN, 8, private, 1.0, period=period)


def test_a_month_of_hours_is_judged_in_seconds() -> None:
    rng = np.random.default_rng(0)
    steps = rng.integers(20, 200, (24, 3, 3)) + 200 * np.eye(3, dtype=int)
    chain = po.MarkovChain.fit(_walk(rng, steps, 24 * 30), smoothing=0.5, period=24)
    problem = po.Redaction(chain, 720, 7, 1.0, period=24)
    solution = po.solve(problem, "windows")
    assert solution.certified
    assert len(problem.private) == 30


def _walk(rng: np.random.Generator, counts: np.ndarray, length: int) -> list[int]:
    state, states = 0, [0]
    for t in range(length - 1):
        row = counts[t % 24, state]
        state = int(rng.choice(3, p=row / row.sum()))
        states.append(state)
    return states


def test_neighbouring_private_records_are_named_as_one_and_the_least_budget_is_that_of_all() -> None:
    chain = po.MarkovChain([[0.9, 0.1], [0.2, 0.8]])
    nights = po.Redaction(chain, 24, (0, 1, 2, 6, 7), 0.5, period=8)
    assert "records 0 to 2 of every 8, record 6 of every 8 or record 7 of every 8, each by itself, by" in (
        nights.terms(nights.safe()).statement
    )
    least = float(largest_influences(nights).min())
    assert least_epsilon(nights) == least
    assert least_epsilon(nights.with_budget(least / 2)) == least
    assert least_epsilon(nights.with_budget(50 * least)) == least

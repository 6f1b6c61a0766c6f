"""What cannot be judged in time: words too many are refused at once, others leave the answer that is known."""

from __future__ import annotations

import time

import privopt as po
from privopt.core.registry import find_solver
from privopt.core.solver import Budget

CHAIN = po.MarkovChain([[0.8, 0.2], [0.3, 0.7]], [0.5, 0.5])


def test_many_words_are_refused_at_once_with_the_limit_that_would_do() -> None:
    problem = po.SequenceInformationPrivacy(CHAIN, 0.5, batch=20, horizon=40)
    solution = po.solve(problem, time_limit=2.0)
    assert solution.status is po.Status.REFUSED
    assert "time_limit=" in solution.reason


def test_judging_grows_with_words_and_not_with_impossible_ones() -> None:
    stays = po.MarkovChain([[1.0, 0.0], [0.0, 1.0]], [0.5, 0.5])
    few = po.SequenceInformationPrivacy(CHAIN, 0.5, batch=3, horizon=6)
    many = po.SequenceInformationPrivacy(CHAIN, 0.5, batch=11, horizon=22)
    possible = po.SequenceInformationPrivacy(stays, 0.5, batch=11, horizon=22)
    assert few.words == (8.0, 8.0)
    assert possible.words == (2.0, 2.0)
    assert few.judging_seconds < 0.1 < many.judging_seconds
    assert possible.judging_seconds < 0.1


def test_a_policy_that_could_not_be_judged_in_time_is_not_proposed() -> None:
    problem = po.SequenceInformationPrivacy(CHAIN, 0.5, batch=9, horizon=45)
    known = problem.anchor()
    budget = Budget(time.monotonic() + 0.01, incumbent=known)
    assert find_solver(problem, "aggregation").run(problem, budget).mechanism is known

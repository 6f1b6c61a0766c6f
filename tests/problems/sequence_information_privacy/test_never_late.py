"""What cannot be judged in time: words too many are refused at once, others leave the answer that is known."""

from __future__ import annotations

import time

import privopt as po
from privopt.core.registry import find_solver
from privopt.core.solver import Budget
from privopt.problems.sequence_information_privacy.leakage import walk
from privopt.problems.sequence_information_privacy.simulated import asked

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


def test_a_long_horizon_is_judged_in_a_fraction_of_a_limit_of_a_second() -> None:
    chain = po.MarkovChain([[0.8, 0.1, 0.1], [0.3, 0.6, 0.1], [0.2, 0.3, 0.5]], [0.5, 0.25, 0.25])
    problem = po.SequenceInformationPrivacy(chain, 1.0, horizon=1000)
    for policy in (problem.anchor(), problem.answer("closed-form")):
        begun = time.process_time()
        assert problem.evaluate(policy).feasible
        assert problem.certify(policy).ok
        assert (
            time.process_time() - begun < 4.0
        )  # about 0.8 s; several seconds before what is hopeless was given up


def test_what_is_hopeless_to_follow_is_given_up_early() -> None:
    problem = po.SequenceInformationPrivacy(CHAIN, 1.0, horizon=100)
    known = walk(problem, problem.answer("closed-form"))
    assert not known.complete
    assert known.count < 10_000
    few = po.SequenceInformationPrivacy(CHAIN, 1.0, horizon=12)
    assert walk(few, few.answer("closed-form")).complete


def test_a_rule_that_turns_out_slow_is_not_judged_by_simulation() -> None:
    problem = po.SequenceInformationPrivacy(CHAIN, 0.5, batch=3, horizon=60, distortion="squared")
    plain = po.SequencePolicy(CHAIN, 0.5, 3, "squared", "structure-lp")
    first, later = asked(problem, plain)
    assert first > 0
    assert later > 0
    known = problem.anchor()
    budget = Budget(time.monotonic() + 0.01, incumbent=known)
    assert find_solver(problem, "structure-lp").run(problem, budget).mechanism is known

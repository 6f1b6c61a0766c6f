"""What a review of sequence policies found: huge budgets, budgets outside the horizon, two runs on one journal."""

import multiprocessing
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privopt as po
from privopt import SequenceInformationPrivacy as Ask
from privopt.mechanisms.policy.rules import Setting, register_rule

CHAIN = po.MarkovChain([[0.8, 0.2], [0.3, 0.7]])


@dataclass(frozen=True)
class Honest:
    """Releases what it reads."""

    name: str = "review-honest"

    def propose(self, setting: Setting, beliefs: Any) -> Any:
        return np.repeat(np.eye(*setting.cost.shape)[None], len(beliefs), 0)


HONEST = register_rule(Honest())


@pytest.mark.parametrize("epsilon", [599.0, 700.0, 746.0, 800.0, 1e300])
def test_a_finite_budget_forbids_releases_that_rule_an_input_out(epsilon: float) -> None:
    """e^-746 is 0 in floats: a weight of 0 would pass, and its leakage is infinite."""
    problem = Ask(CHAIN, epsilon, horizon=100)
    policy = problem.answer(HONEST.name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weights, total = policy.kernels(np.array([[0.5, 0.5], [1e-200, 1.0], [0.9, 0.1]]))
    assert ((weights > 0) == (weights.max(axis=1, keepdims=True) > 0)).all()
    assert (weights[[0, 2]] > 0).all()
    assert (weights.sum(axis=2) == total).all()
    assert problem.certify(policy).ok


def test_an_infinite_budget_still_allows_the_truth() -> None:
    weights, total = Ask(CHAIN, float("inf")).answer(HONEST.name).kernels(np.array([[0.5, 0.5]]))
    assert (weights == total * np.eye(2, dtype=np.int64)).all()


def test_a_policy_for_more_than_the_budget_is_not_certified_by_a_short_horizon() -> None:
    """The first letter is known, so any kernel leaks nothing of it; the second release would leak 5 nats."""
    chain = po.MarkovChain([[0.5, 0.5], [0.5, 0.5]], [1.0, 0.0])
    problem = Ask(chain, 0.1, horizon=1)
    loose = po.SequencePolicy(chain, 5.0)
    assert problem.evaluate(loose).leakage == 0
    assert Ask(chain, 5.0, horizon=2).evaluate(loose).leakage > 1
    refused = problem.certify(loose)
    assert not refused.ok
    assert "built for 5 nats" in refused.reason
    assert problem.certify(problem.repair(loose, 2**-44)).ok


def test_a_word_cut_short_by_the_end_of_data_keeps_the_budget_of_its_letters() -> None:
    """Words of two are a constant here; the single letter at the end of three is not, and no horizon of two sees it."""
    problem = Ask(CHAIN, 0.2, batch=2, horizon=2)
    loose = po.SequencePolicy(CHAIN, 3.0, 2, rule="constant")
    assert problem.evaluate(loose).leakage == 0
    assert not problem.certify(loose).ok


def _run(path: Path, start: Any, queue: Any) -> None:
    policy = po.SequencePolicy(CHAIN, 1.0)
    start.wait()
    recorded = []
    try:
        journal = policy.state(path)
        for _ in range(20):
            step = journal.step
            next(policy.release(iter([0]), state=journal))
            recorded.append(step)
    except po.errors.FileRefused:
        pass  # the other run was first
    queue.put(recorded)


def test_two_runs_on_one_journal_never_both_release_a_step(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    for trial in range(3):
        start, queue = context.Barrier(2), context.Queue()
        runs = [
            context.Process(target=_run, args=(tmp_path / f"{trial}.json", start, queue)) for _ in range(2)
        ]
        for run in runs:
            run.start()
        first, second = (queue.get(timeout=30) for _ in runs)
        for run in runs:
            run.join()
        assert first or second
        assert not set(first) & set(second)


@pytest.mark.long
def test_the_exact_walk_of_a_large_alphabet_follows_only_what_it_can_afford() -> None:
    """Going through all outputs of one release of 70 letters takes some 350,000 products of long integers."""
    from privopt.problems.sequence_information_privacy.exact import MAX_WORK, walk

    table = np.random.default_rng(0).dirichlet(np.ones(70) * 0.3, size=70) + 1e-4
    chain = po.MarkovChain(table / table.sum(axis=1, keepdims=True))
    assert 70**3 > MAX_WORK
    long = Ask(chain, 1.0, horizon=10)
    walked = walk(long, long.answer("closed-form"))
    assert not walked.complete
    assert 1 <= walked.count < 20
    once = Ask(chain, 1.0, horizon=1)
    assert walk(once, once.answer("closed-form")).complete
    assert once.certify(once.answer("closed-form")).ok
    assert long.certify(long.answer("closed-form")).ok

"""Policies on words: a rule for later beliefs, the kernel of the first release made ready, and the prices of each release."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from privopt.arrays import Floats
from privopt.core.solver import Budget, Guarantee, Proposal
from privopt.errors import InvalidMechanism
from privopt.mechanisms.channel import Channel
from privopt.mechanisms.policy.rules import Setting
from privopt.mechanisms.policy.words import MAX_PATHS
from privopt.problems.sequence_information_privacy.bound import MAX_WORDS
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
from privopt.problems.sequence_information_privacy.steps import Step, steps
from privopt.solvers.common.words.answer import WordAnswer
from privopt.solvers.sequence._prices import _alike as alike
from privopt.solvers.sequence._prices import step_guarantee
from privopt.solvers.sequence.revealed import proved

Method: TypeAlias = Callable[[Setting, Floats, float, float], WordAnswer | None]
"""From a setting, a law of words, a level in nats and seconds."""

KEPT_CELLS = 2**14
"""Kernels of more cells are not kept for the next time that a belief comes up."""
PREPARED_CELLS = 2**16
"""Larger kernels of the first release are left to the rule: as exact channels they are slow to write and read."""
MAX_ROWS = 50
"""Later releases are served by the last row of prices."""


@dataclass(frozen=True)
class BatchRule:
    """The kernel that a method finds for each belief, without a limit of time, so that everybody finds the same."""

    name: str
    method: Method

    def propose(self, setting: Setting, beliefs: Floats) -> Floats:
        """Kernels (M, n, m) for beliefs (M, n).

        Raises
        ------
        InvalidMechanism
            If the method finds none.
        """
        ask = _kept if setting.cost.size <= KEPT_CELLS else _kernel
        return np.array([ask(self, setting, tuple(row)) for row in beliefs.tolist()])


def _kernel(rule: BatchRule, setting: Setting, belief: tuple[float, ...]) -> Floats:
    found = rule.method(setting, np.array(belief), setting.epsilon, math.inf)
    if found is None:
        raise InvalidMechanism(f"the rule {rule.name!r} found no kernel: name another rule")
    return found.kernel


@lru_cache(maxsize=256)
def _kept(rule: BatchRule, setting: Setting, belief: tuple[float, ...]) -> Floats:
    return _kernel(rule, setting, belief)


def words_of(problem: SequenceInformationPrivacy) -> tuple[int, int]:
    """Number of words that the first release reads, and of those it may release."""
    setting = problem.setting(min(problem.batch, problem.horizon))
    n, m = setting.letter_cost.shape
    inputs = len(setting.inputs)
    return inputs, inputs if n == m else m**setting.batch


def refuse_batch(problem: SequenceInformationPrivacy, most: int) -> str | None:
    """The sentence for single letters, or for more than so many words."""
    if min(problem.batch, problem.horizon) == 1:
        return "it releases words of several letters; give batch=2 or more"
    if (paths := _paths(problem)) > MAX_PATHS:
        return f"words of {min(problem.batch, problem.horizon)} letters follow {paths:.0e} paths of states, more than {MAX_PATHS}"
    if (words := max(words_of(problem))) > most:
        return f"it lists {words} words, more than {most}"
    return None


def _paths(problem: SequenceInformationPrivacy) -> float:
    """Paths of states that the chain allows at its first step, as long as a word: a count that lists nothing."""
    ever = problem.chain.step(0) > 0 if problem.chain.max_length != 1 else np.ones((1, 1), dtype=bool)
    counts = np.ones(len(ever))
    for _ in range(min(problem.batch, problem.horizon) - 1):
        counts = np.minimum(ever @ counts, 1e300)
    return float(counts.sum())


def batch_guarantee(problem: SequenceInformationPrivacy, *, gap: bool = False) -> Guarantee:
    """Optimal for a single release or independent letters, unless a gap is left; else with a bound, where it is checked."""
    found = step_guarantee(problem)
    return Guarantee.BOUNDED if gap and found is Guarantee.OPTIMAL else found


def releases_of(problem: SequenceInformationPrivacy) -> float:
    """How many kernels the judge may ask for, about."""
    return 1.0 + min(100.0, problem.horizon / problem.batch - 1)


def batch_proposal(problem: SequenceInformationPrivacy, rule: BatchRule, budget: Budget) -> Proposal:
    """A policy with the kernel of its first release, and the bound that the prices of the releases prove."""
    answers = _answers(problem, rule, budget)
    if not answers:
        return Proposal(problem.anchor(), stats={"iterations": 0, "stop": "out of time"})
    first = answers[0]
    stats: dict[str, float | int | str] = {
        "iterations": first.iterations,
        "stop": first.stop,
        "first_distortion": first.value,
        "first_bound": first.bound,
        "priced_releases": len(answers),
    }
    policy = problem.answer(rule.name, prepared=_prepared(problem, first))
    if len(first.lam) > MAX_WORDS:
        return Proposal(policy, stats=stats)
    bound, dual = proved(problem, [answer.lam for answer in answers], budget)
    return Proposal(policy, bound, dual, stats=stats)


def _prepared(
    problem: SequenceInformationPrivacy, first: WordAnswer
) -> tuple[tuple[list[float], Channel], ...]:
    """The kernel of the first release, at the belief that everybody starts from."""
    step = next(steps(problem))
    setting = step.release.setting
    if setting.batch != problem.batch or first.kernel.size > PREPARED_CELLS:
        return ()
    return ((step.law.tolist(), Channel(first.kernel, setting.inputs, setting.outputs)),)


def _answers(problem: SequenceInformationPrivacy, rule: BatchRule, budget: Budget) -> list[WordAnswer]:
    """An answer for each release, at the level that all up to it may have reached; until they repeat, or time is short."""
    answers: list[WordAnswer] = []
    before: Step | None = None
    until = 0.3 * budget.remaining if budget.remaining < math.inf else 0.0
    for step in steps(problem):
        if answers and (len(answers) >= MAX_ROWS or budget.remaining < until):
            break
        if before is not None and alike(before, step):
            continue
        share = 0.6 if problem.horizon > problem.batch and not answers else 0.8
        law = step.law / step.law.sum()
        found = rule.method(step.release.setting, law, step.level, share * budget.remaining)
        if found is None:
            break
        if before is not None:
            answers += [answers[-1]] * (step.release.begin // problem.batch - len(answers))
        answers.append(found)
        before = step
    return answers

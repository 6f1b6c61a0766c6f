"""Policies on words: a rule for later beliefs, the kernel of the first release made ready, and the prices of each release.

The problem is that of Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information Privacy", batches.
"""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from privopt.core.isolate import is_isolated
from privopt.core.registry import register
from privopt.core.solver import OUT_OF_TIME, Budget, Guarantee, Proposal, Solver
from privopt.mechanisms import Mechanism
from privopt.mechanisms.channel import Channel
from privopt.mechanisms.policy.formulas.types import count_joint_types
from privopt.mechanisms.policy.formulas.word_groups import WORD_GROUPS
from privopt.mechanisms.policy.formulas.words import (
    EXACT_LP,
    IID_CLOSED_FORM,
    ORBIT_LP,
    RESTRICTED_OUTPUTS,
    WordAnswer,
    WordFormula,
)
from privopt.mechanisms.policy.policy import SequencePolicy
from privopt.mechanisms.policy.setting import MAX_PATHS
from privopt.problems.sequence_information_privacy.bound import MAX_WORDS
from privopt.problems.sequence_information_privacy.leakage import read
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
from privopt.problems.sequence_information_privacy.simulated import asked
from privopt.problems.sequence_information_privacy.steps import Step, steps
from privopt.solvers.sequence.aggregate import solve_aggregated
from privopt.solvers.sequence.prices import alike, independent, proved, step_guarantee

PREPARED_CELLS = 2**16
"""Larger kernels of the first release are left to the rule: as exact channels they are slow to write and read."""
JUDGED = 0.85
"""Share of the time that the judgement of a policy may take, as measured or predicted; else it is not proposed."""
OVERTIME = 1.0
"""Seconds that the judgement of a first answer may take beyond that."""
LONGEST_OVERTIME = 1.5
"""The same of the quickest rule: where it does not answer nobody does."""
NO_MATTER = 0.1
"""Of the time: what the judgement is predicted to take without a kernel timed."""
MAX_ROWS = 50
"""Later releases are served by the last row of prices."""
MAX_TYPES = 20_000
DEPENDENT = (
    "letters must be independent and alike: "
    "each row of the transition matrix, and the initial distribution, the same"
)


def _is_blank(budget: Budget) -> bool:
    """Whether nothing but a constant release is known."""
    best = budget.incumbent
    return best is None or (isinstance(best, SequencePolicy) and best.rule == "constant")


class _BatchSolver(Solver[SequenceInformationPrivacy]):
    """The kernels that a formula finds for words of several letters."""

    solves: ClassVar = SequenceInformationPrivacy
    formula: ClassVar[WordFormula]
    max_words: ClassVar[int]

    def guarantee(self, problem: SequenceInformationPrivacy) -> Guarantee:
        """Optimal for a single release or independent letters; else with a bound, where it is checked."""
        return step_guarantee(problem)

    @abstractmethod
    def cost(self, problem: SequenceInformationPrivacy) -> float:
        """For each belief that the judge asks about."""

    def refuse(self, problem: SequenceInformationPrivacy) -> str | None:
        """Refuse single letters, and many words."""
        if (length := min(problem.batch, problem.span)) == 1:
            return "it releases words of several letters; give batch=2 or more"
        if (paths := _paths(problem)) > MAX_PATHS:
            return f"words of {length} letters follow {paths:.0e} paths of states, more than {MAX_PATHS}"
        if (words := max(words_of(problem))) > self.max_words:
            return f"it lists {words} words, more than {self.max_words}"
        return None

    def answer(self, step: Step, seconds: float) -> WordAnswer | None:
        """A kernel for what a release reads: that of the rule."""
        return self._kernel(step, seconds)

    def _kernel(self, step: Step, seconds: float) -> WordAnswer | None:
        p = step.distribution / step.distribution.sum()
        return self.formula.method(step.release.setting, p, step.level, seconds)

    def run(self, problem: SequenceInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the policy, its first kernel made ready, with the bound that prices prove.

        A policy that could not be judged in time is not proposed: what is known already is handed back with the bound.
        """
        if self._no_time(problem, budget):
            return self._nothing(problem, budget, OUT_OF_TIME)
        asking = self._judging(problem, budget)
        judged = asking < math.inf and asking <= self._affordable(budget)
        until = budget.deadline - (max(0.0, asking - self._overtime(budget)) if judged else 0.0)
        answers = self._answers(problem, replace(budget, deadline=until))
        if not answers and judged:
            return Proposal(self._policy(problem, ()), stats={"iterations": 0, "stop": OUT_OF_TIME})
        if not answers:
            return self._nothing(problem, budget, OUT_OF_TIME)
        first = answers[0]
        stats: dict[str, float | int | str] = {
            "iterations": first.iterations,
            "stop": first.stop if judged else self._too_long,
            "first_distortion": first.value,
            "first_bound": first.bound,
            "priced_releases": len(answers),
        }
        policy = self._policy(problem, _prepared(problem, first)) if judged else _known(problem, budget)
        if len(first.lam) > MAX_WORDS:
            return Proposal(policy, stats=stats)
        bound, dual = proved(problem, [answer.lam for answer in answers], budget)
        return Proposal(policy, bound, dual, stats=stats)

    def _nothing(self, problem: SequenceInformationPrivacy, budget: Budget, why: str) -> Proposal:
        return Proposal(_known(problem, budget), stats={"iterations": 0, "stop": why})

    def _policy(
        self, problem: SequenceInformationPrivacy, prepared: tuple[tuple[list[float], Channel], ...]
    ) -> SequencePolicy:
        """The policy of the rule, read here, so that the time of its kernels is that of this run: the judge finds it remembered."""
        policy = problem.answer(self.formula.name, prepared=prepared)
        if self._beliefs(problem) and not is_isolated():
            read(problem, policy)
        return policy

    def _overtime(self, budget: Budget) -> float:
        """Seconds past the deadline that an answer is worth where nothing but a constant release is known."""
        return OVERTIME if _is_blank(budget) else 0.0

    def _affordable(self, budget: Budget) -> float:
        """Seconds that judging may take: in a process of its own few, as whoever judges may have no time before the end."""
        return OVERTIME if is_isolated() else JUDGED * budget.remaining + self._overtime(budget)

    @property
    def _too_long(self) -> str:
        return f"{OUT_OF_TIME}: judging what {self.name} releases takes longer than there is"

    def belief_seconds(self, problem: SequenceInformationPrivacy) -> float:
        """Predicted seconds of the rule at one belief that the judge asks about."""
        n, m = words_of(problem)
        return 5e-3 + 2e-6 * n * m

    def _no_time(self, problem: SequenceInformationPrivacy, budget: Budget) -> bool:
        """Whether not even one of the kernels that the judge asks for is expected in time."""
        left = budget.remaining + self._overtime(budget)
        return self._beliefs(problem) > 0 and left < self.belief_seconds(problem)

    def _judging(self, problem: SequenceInformationPrivacy, budget: Budget) -> float:
        """Seconds of judging the policy, from what the rule takes at the first belief where that matters.

        Infinite where a kernel is not found, or the best answer so far is this policy: its kernels are too large to be made ready.
        """
        best = budget.incumbent
        if _too_large(problem) and isinstance(best, SequencePolicy) and best.rule == self.formula.name:
            return math.inf
        asking = self._asking(problem, self.belief_seconds(problem))
        if asking <= NO_MATTER * budget.remaining:
            return asking
        # Twice what is affordable: a rule that stops there is seen to be too slow.
        most = 2 * self._affordable(budget) / max(self._beliefs(problem), 1.0)
        first, begun = next(steps(problem)), time.perf_counter()
        kernel = self._kernel(first, most)
        return math.inf if kernel is None else self._asking(problem, time.perf_counter() - begun)

    def _beliefs(self, problem: SequenceInformationPrivacy) -> float:
        """How many kernels the judge asks the rule for, besides the first one where that is made ready."""
        large = _too_large(problem)
        if independent(problem):
            releases = min(16, -(-problem.span // problem.batch))
            return 2.0 * releases + 1.0 if large else 0.0
        plain = SequencePolicy(
            problem.chain, problem.epsilon, problem.batch, problem.distortion, self.formula.name
        )
        return sum(asked(problem, plain)) + 2 * large - (not large)

    def _asking(self, problem: SequenceInformationPrivacy, each: float) -> float:
        """Seconds of judging the policy if each kernel takes so many."""
        n, m = words_of(problem)
        last = problem.span <= problem.batch
        table = 2e-7 if last else 1.7e-6  # where nothing follows, no kernel is carried on to the next belief
        return table * n * m * _too_large(problem) + self._beliefs(problem) * each

    def _answers(self, problem: SequenceInformationPrivacy, budget: Budget) -> list[WordAnswer]:
        """An answer for each release at its level, until they repeat, or time is short."""
        answers: list[WordAnswer] = []
        before: Step | None = None
        until = budget.earlier(0.3)
        for step in steps(problem):
            if answers and (len(answers) >= MAX_ROWS or until.remaining == 0):
                break
            if before is not None and alike(before, step):
                continue
            share = 0.6 if problem.span > problem.batch and not answers else 0.8
            answer = self.answer(step, share * budget.remaining)
            if answer is None:
                break
            if before is not None:
                answers += [answers[-1]] * (step.release.begin // problem.batch - len(answers))
            answers.append(answer)
            before = step
        return answers


def _known(problem: SequenceInformationPrivacy, budget: Budget) -> Mechanism:
    """The best answer so far."""
    return problem.anchor() if budget.incumbent is None else budget.incumbent


def _prepared(
    problem: SequenceInformationPrivacy, first: WordAnswer
) -> tuple[tuple[list[float], Channel], ...]:
    """The kernel of the first release, at the belief that everybody starts from."""
    step = next(steps(problem))
    setting = step.release.setting
    if setting.batch != problem.batch or _too_large(problem):
        return ()
    return ((step.distribution.tolist(), Channel(first.kernel, setting.inputs, setting.outputs)),)


def _too_large(problem: SequenceInformationPrivacy) -> bool:
    n, m = words_of(problem)
    return n * m > PREPARED_CELLS


def words_of(problem: SequenceInformationPrivacy) -> tuple[int, int]:
    """Number of words that the first release reads, and of those it may release."""
    setting = problem.setting(min(problem.batch, problem.span))
    n, m = setting.letter_cost.shape
    inputs = len(setting.inputs)
    return inputs, inputs if n == m else m**setting.batch


def _paths(problem: SequenceInformationPrivacy) -> float:
    """Paths of states that the chain allows at its first step, as long as a word: a count that lists nothing."""
    ever = problem.chain.step(0) > 0 if problem.chain.max_length != 1 else np.ones((1, 1), dtype=bool)
    counts = np.ones(len(ever))
    for _ in range(min(problem.batch, problem.span) - 1):
        counts = np.minimum(ever @ counts, 1e300)
    return float(counts.sum())


def releases_of(problem: SequenceInformationPrivacy) -> float:
    """How many kernels are asked for, about: distributions of words settle along equal steps."""
    return 1.0 + min(20.0 if problem.chain.homogeneous else 100.0, problem.span / problem.batch - 1)


def refuse_dependent(problem: SequenceInformationPrivacy) -> str | None:
    """The sentence for letters that are not independent, of one distribution, and all possible.

    Examples
    --------
    >>> from privopt.models import MarkovChain
    >>> refuse_dependent(SequenceInformationPrivacy(MarkovChain([[0.8, 0.2], [0.3, 0.7]]), 1.0, batch=2))
    'letters must be independent and alike: each row of the transition matrix, and the initial distribution, the same'
    """
    chain = problem.chain
    steps = 1 if chain.homogeneous else problem.span - 1
    rows = {(row.weights, row.total) for t in range(steps) for row in chain.exact_step(t)}
    first = (chain.exact_initial.weights, chain.exact_initial.total)
    if chain.order > 1 or not independent(problem) or rows != {first}:
        return DEPENDENT
    if min(first[0]) == 0:
        return "every letter must be possible: leave letters of probability 0 out of the chain"
    return None


@register
@dataclass(frozen=True)
class ExactLp(_BatchSolver):
    """The best kernel on words at every belief, all releases in one linear program.

    The program of one batch, with a release for every word, in variables that are better scaled than those printed.
    """

    name: ClassVar[str] = "exact-lp"
    formula: ClassVar[WordFormula] = EXACT_LP
    max_words: ClassVar[int] = 160

    def cost(self, problem: SequenceInformationPrivacy) -> float:
        """Grows faster than the cells, for each belief that the judge asks about."""
        n, m = words_of(problem)
        return (0.03 + 8e-6 * n * m + 1e-10 * (n * m) ** 2) * releases_of(problem)


@register
@dataclass(frozen=True)
class RestrictedOutputs(_BatchSolver):
    """The best kernel on words at every belief, from few releases that prices prove to be enough.

    The program of one batch with some of the releases; the others are priced, and taken in where they help.

    The optimum is exact: the search ends when no release left out is cheap enough to matter.
    """

    name: ClassVar[str] = "restricted-outputs"
    formula: ClassVar[WordFormula] = RESTRICTED_OUTPUTS
    max_words: ClassVar[int] = 600

    def cost(self, problem: SequenceInformationPrivacy) -> float:
        """About the square of the number of words, for each belief that the judge asks about."""
        n, m = words_of(problem)
        return (0.02 + 2e-5 * n * m) * releases_of(problem)


@register
@dataclass(frozen=True)
class OrbitLp(_BatchSolver):
    """Independent letters: the best kernel depends on how often each letter faces each other one.

    The program of one batch over joint types of words: as many numbers as there are ways to count pairs of letters.

    For letters that are independent and alike; for words too long to list see :func:`privopt.measures.iid_batch_distortion`.
    """

    name: ClassVar[str] = "orbit-lp"
    formula: ClassVar[WordFormula] = ORBIT_LP
    max_words: ClassVar[int] = 1024

    def cost(self, problem: SequenceInformationPrivacy) -> float:
        """A program over joint types, and the table of words."""
        n, m = words_of(problem)
        return 0.02 + 2e-5 * _types(problem) + 2e-7 * n * m * releases_of(problem)

    def refuse(self, problem: SequenceInformationPrivacy) -> str | None:
        """Refuse single letters, letters that depend on one another, and many words."""
        sentence = super().refuse(problem) or refuse_dependent(problem)
        if sentence is None and (types := _types(problem)) > MAX_TYPES:
            return f"its program has {types} joint types, more than {MAX_TYPES}"
        return sentence


def _types(problem: SequenceInformationPrivacy) -> int:
    """Joint types of words of the first release."""
    n, m = np.shape(problem.setting(1).letter_cost)
    return count_joint_types(n, m, min(problem.batch, problem.span))


@register
@dataclass(frozen=True)
class IidClosedForm(_BatchSolver):
    """Independent letters, all alike likely: a release draws on the nearest words.

    The optimum for letters that are independent and uniform, with Hamming distortion: nothing is searched.

    For words too long to list see :func:`privopt.measures.iid_batch_distortion`.
    """

    name: ClassVar[str] = "iid-closed-form"
    formula: ClassVar[WordFormula] = IID_CLOSED_FORM
    max_words: ClassVar[int] = 1024

    def cost(self, problem: SequenceInformationPrivacy) -> float:
        """A table of words."""
        n, m = words_of(problem)
        return 5e-3 + 2e-7 * n * m * releases_of(problem)

    def refuse(self, problem: SequenceInformationPrivacy) -> str | None:
        """Refuse single letters, letters that are not independent and uniform, other distortions, and many words."""
        sentence = super().refuse(problem) or refuse_dependent(problem)
        if sentence is None and problem.distortion != "hamming":
            return 'it needs distortion="hamming"; orbit-lp takes others'
        if sentence is None and len(set(problem.chain.exact_initial.weights)) > 1:
            return "letters must be all alike likely; orbit-lp takes other distributions"
        return sentence


def group_seconds(words: int, outputs: int) -> float:
    """Predicted seconds of a program of few groups, and of tables of all words.

    Examples
    --------
    >>> round(group_seconds(4, 4), 4), round(group_seconds(343, 343), 4)
    (0.0088, 0.1749)
    """
    return 4e-3 + 1.2e-3 * min(words, 64) + 8e-7 * words * outputs


@register
@dataclass(frozen=True)
class WordGroups(_BatchSolver):
    """Words gathered into a few dozen groups: a good kernel soon, whatever the chain.

    One program for groups of words that are alike, then a transport that gives each word a row of its own.

    The prices of groups prove little where their words differ: there is no bound.
    """

    name: ClassVar[str] = "word-groups"
    formula: ClassVar[WordFormula] = WORD_GROUPS
    max_words: ClassVar[int] = 4096

    def guarantee(self, problem: SequenceInformationPrivacy) -> Guarantee:
        """A policy and no bound."""
        return Guarantee.FEASIBLE

    def cost(self, problem: SequenceInformationPrivacy) -> float:
        """A small program for each belief that the judge asks about."""
        return 0.01 + self._asking(problem, self.belief_seconds(problem))

    def belief_seconds(self, problem: SequenceInformationPrivacy) -> float:
        """Predicted seconds of the rule at one belief."""
        n, m = words_of(problem)
        return group_seconds(n, m)

    def run(self, problem: SequenceInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the policy, if it can be judged in time."""
        if self._no_time(problem, budget):
            return self._nothing(problem, budget, OUT_OF_TIME)
        if self._judging(problem, budget) > self._affordable(budget):
            return self._nothing(problem, budget, self._too_long)
        first = None if _too_large(problem) else self.answer(next(steps(problem)), math.inf)
        prepared = () if first is None else _prepared(problem, first)
        stats: dict[str, float | int | str] = {"iterations": 0 if first is None else first.iterations}
        return Proposal(self._policy(problem, prepared), stats=stats)

    def _overtime(self, budget: Budget) -> float:
        return LONGEST_OVERTIME if _is_blank(budget) else OVERTIME


@register
@dataclass(frozen=True)
class Aggregation(_BatchSolver):
    """Thousands of words: first the heaviest, then all on the releases that prices call for, with a proved gap.

    Programs for all words on more and more releases, begun with the heaviest words, until the proved gap is small.

    The first kernel takes what time there is; kernels for later beliefs come from one program, without a bound.
    """

    name: ClassVar[str] = "aggregation"
    formula: ClassVar[WordFormula] = WORD_GROUPS
    max_words: ClassVar[int] = 4096

    def guarantee(self, problem: SequenceInformationPrivacy) -> Guarantee:
        """With a bound, where it is checked."""
        best = step_guarantee(problem)
        return Guarantee.BOUNDED if best is Guarantee.OPTIMAL else best

    def belief_seconds(self, problem: SequenceInformationPrivacy) -> float:
        """Predicted seconds of the rule at one belief."""
        n, m = words_of(problem)
        return group_seconds(n, m)

    def cost(self, problem: SequenceInformationPrivacy) -> float:
        """Seconds for the first release, and a small program for each belief that the judge asks about."""
        n, m = words_of(problem)
        return 0.05 + 2e-5 * n * m + self._asking(problem, self.belief_seconds(problem))

    def answer(self, step: Step, seconds: float) -> WordAnswer | None:
        """A kernel for what a release reads, better than that of the rule; the rule's where time does not count."""
        if seconds == math.inf:
            return super().answer(step, seconds)
        p = step.distribution / step.distribution.sum()
        return solve_aggregated(p, step.release.setting.cost, step.level, seconds)

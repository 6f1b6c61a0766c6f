"""The best kernel on words at every belief, from few releases that prices prove to be enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.mechanisms.policy.rules import Setting, register_rule
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
from privopt.solvers.common.words.answer import WordAnswer
from privopt.solvers.common.words.restricted import solve_words
from privopt.solvers.sequence._batch import (
    BatchRule,
    batch_guarantee,
    batch_proposal,
    refuse_batch,
    releases_of,
    words_of,
)

MAX_WORDS = 600


def _solve(setting: Setting, law: Floats, level: float, seconds: float) -> WordAnswer | None:
    """A kernel for a law of words."""
    return solve_words(law, setting.cost, level, seconds)


RULE = BatchRule("restricted-outputs", _solve)
register_rule(RULE)


@register
@dataclass(frozen=True)
class RestrictedOutputs(Solver[SequenceInformationPrivacy]):
    """The programme of one batch with some of the releases; the others are priced, and taken in where they help.

    The question is that of Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information
    Privacy", batches. The optimum is exact: the
    search ends when no release left out is cheap enough to matter.
    """

    solves: ClassVar = SequenceInformationPrivacy
    name: ClassVar[str] = "restricted-outputs"

    def guarantee(self, problem: SequenceInformationPrivacy) -> Guarantee:
        """Optimal for a single release or independent letters; else with a bound."""
        return batch_guarantee(problem)

    def cost(self, problem: SequenceInformationPrivacy) -> float:
        """About the square of the number of words, for each belief that the judge asks about."""
        n, m = words_of(problem)
        return (0.02 + 2e-5 * n * m) * releases_of(problem)

    def refuse(self, problem: SequenceInformationPrivacy) -> str | None:
        """Refuse single letters, and many words."""
        return refuse_batch(problem, MAX_WORDS)

    def run(self, problem: SequenceInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the policy, its first kernel made ready."""
        return batch_proposal(problem, RULE, budget)

"""The best kernel on words at every belief, all releases in one linear programme."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.mechanisms.policy.rules import Setting, register_rule
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
from privopt.solvers.common.words.answer import WordAnswer
from privopt.solvers.common.words.programme import solve_programme
from privopt.solvers.common.words.restricted import solve_words
from privopt.solvers.sequence._batch import (
    BatchRule,
    batch_guarantee,
    batch_proposal,
    refuse_batch,
    releases_of,
    words_of,
)

MAX_WORDS = 160


def _solve(setting: Setting, law: Floats, level: float, seconds: float) -> WordAnswer | None:
    """A kernel for a law of words."""
    return solve_words(law, setting.cost, level, seconds, solve_programme)


RULE = BatchRule("exact-lp", _solve)
register_rule(RULE)


@register
@dataclass(frozen=True)
class ExactLp(Solver[SequenceInformationPrivacy]):
    """The programme of one batch, with a release for every word.

    The question is that of Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information
    Privacy", batches; the variables are better scaled.
    """

    solves: ClassVar = SequenceInformationPrivacy
    name: ClassVar[str] = "exact-lp"

    def guarantee(self, problem: SequenceInformationPrivacy) -> Guarantee:
        """Optimal for a single release or independent letters; else with a bound."""
        return batch_guarantee(problem)

    def cost(self, problem: SequenceInformationPrivacy) -> float:
        """Grows faster than the cells, for each belief that the judge asks about."""
        n, m = words_of(problem)
        return (0.02 + 4e-5 * n * m + 8e-9 * (n * m) ** 2) * releases_of(problem)

    def refuse(self, problem: SequenceInformationPrivacy) -> str | None:
        """Refuse single letters, and many words."""
        return refuse_batch(problem, MAX_WORDS)

    def run(self, problem: SequenceInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the policy, its first kernel made ready."""
        return batch_proposal(problem, RULE, budget)

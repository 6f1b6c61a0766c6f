"""Independent letters, all alike likely: a release draws on the nearest words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.mechanisms.policy.rules import Setting, register_rule
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
from privopt.solvers.common.words.answer import WordAnswer
from privopt.solvers.common.words.uniform import uniform_words
from privopt.solvers.sequence._batch import (
    BatchRule,
    batch_guarantee,
    batch_proposal,
    refuse_batch,
    releases_of,
    words_of,
)
from privopt.solvers.sequence._independent import refuse_dependent, refuse_uneven

MAX_WORDS = 1024


def _solve(setting: Setting, law: Floats, level: float, seconds: float) -> WordAnswer | None:
    """A kernel for a law of words."""
    return uniform_words(law, setting.cost, len(setting.letters), setting.batch, level)


RULE = BatchRule("iid-closed-form", _solve)
register_rule(RULE)


@register
@dataclass(frozen=True)
class IidClosedForm(Solver[SequenceInformationPrivacy]):
    """The optimum for letters that are independent and uniform, with Hamming distortion: nothing is searched.

    The question is that of Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information
    Privacy", batches. For words too long to list see
    :func:`privopt.measures.iid_batch_distortion`.
    """

    solves: ClassVar = SequenceInformationPrivacy
    name: ClassVar[str] = "iid-closed-form"

    def guarantee(self, problem: SequenceInformationPrivacy) -> Guarantee:
        """Optimal for a single release or independent letters; else with a bound."""
        return batch_guarantee(problem)

    def cost(self, problem: SequenceInformationPrivacy) -> float:
        """A table of words."""
        n, m = words_of(problem)
        return 5e-3 + 2e-7 * n * m * releases_of(problem)

    def refuse(self, problem: SequenceInformationPrivacy) -> str | None:
        """Refuse single letters, letters that are not independent and uniform, other distortions, and many words."""
        return refuse_batch(problem, MAX_WORDS) or refuse_dependent(problem) or refuse_uneven(problem)

    def run(self, problem: SequenceInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the policy, its first kernel made ready."""
        return batch_proposal(problem, RULE, budget)

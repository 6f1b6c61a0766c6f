"""Independent letters: the best kernel depends on how often each letter faces each other one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.mechanisms.policy.rules import Setting, register_rule
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
from privopt.solvers.common.words.answer import WordAnswer
from privopt.solvers.common.words.orbits import orbit_words
from privopt.solvers.sequence._batch import (
    BatchRule,
    batch_guarantee,
    batch_proposal,
    refuse_batch,
    releases_of,
    words_of,
)
from privopt.solvers.sequence._independent import refuse_dependent, types_of

MAX_WORDS = 1024
MAX_TYPES = 20_000


def _solve(setting: Setting, law: Floats, level: float, seconds: float) -> WordAnswer | None:
    """A kernel for a law of words."""
    return orbit_words(law, setting.paths.words, setting.letter_cost, level)


RULE = BatchRule("orbit-lp", _solve)
register_rule(RULE)


@register
@dataclass(frozen=True)
class OrbitLp(Solver[SequenceInformationPrivacy]):
    """The programme of one batch over joint types of words: as many numbers as there are ways to count pairs of letters.

    The question is that of Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information
    Privacy", batches, for letters that are independent
    and alike in law. For words too long to list see :func:`privopt.measures.iid_batch_distortion`.
    """

    solves: ClassVar = SequenceInformationPrivacy
    name: ClassVar[str] = "orbit-lp"

    def guarantee(self, problem: SequenceInformationPrivacy) -> Guarantee:
        """Optimal for a single release or independent letters; else with a bound."""
        return batch_guarantee(problem)

    def cost(self, problem: SequenceInformationPrivacy) -> float:
        """A programme over joint types, and the table of words."""
        n, m = words_of(problem)
        return 0.02 + 2e-5 * types_of(problem) + 2e-7 * n * m * releases_of(problem)

    def refuse(self, problem: SequenceInformationPrivacy) -> str | None:
        """Refuse single letters, letters that depend on one another, and many words."""
        sentence = refuse_batch(problem, MAX_WORDS) or refuse_dependent(problem)
        if sentence is None and (types := types_of(problem)) > MAX_TYPES:
            return f"its programme has {types} joint types, more than {MAX_TYPES}"
        return sentence

    def run(self, problem: SequenceInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the policy, its first kernel made ready."""
        return batch_proposal(problem, RULE, budget)

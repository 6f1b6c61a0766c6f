"""Thousands of words: first the heaviest, then all on the releases that prices call for, with a proved gap."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.mechanisms.policy.rules import Setting, register_rule
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
from privopt.solvers.common.words.aggregate import solve_aggregated, solve_quickly
from privopt.solvers.common.words.answer import WordAnswer
from privopt.solvers.sequence._batch import (
    BatchRule,
    batch_guarantee,
    batch_proposal,
    refuse_batch,
    releases_of,
    words_of,
)

MAX_WORDS = 4096


def _solve(setting: Setting, law: Floats, level: float, seconds: float) -> WordAnswer | None:
    """A kernel for a law of words."""
    if seconds == math.inf:  # as a rule, whose kernels everybody must find again
        return solve_quickly(law, setting.cost, level)
    return solve_aggregated(law, setting.cost, level, seconds)


RULE = BatchRule("aggregation", _solve)
register_rule(RULE)


@register
@dataclass(frozen=True)
class Aggregation(Solver[SequenceInformationPrivacy]):
    """Programmes for all words on more and more releases, begun with the heaviest words, until the proved gap is small.

    The question is that of Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information
    Privacy", batches. The first kernel takes what
    time there is; kernels for later beliefs come from one programme, without a bound.
    """

    solves: ClassVar = SequenceInformationPrivacy
    name: ClassVar[str] = "aggregation"

    def guarantee(self, problem: SequenceInformationPrivacy) -> Guarantee:
        """With a bound."""
        return batch_guarantee(problem, gap=True)

    def cost(self, problem: SequenceInformationPrivacy) -> float:
        """Seconds for the first release, and a programme for each belief that the judge asks about."""
        n, m = words_of(problem)
        return 2.0 + 1e-5 * n * m + (0.5 + 2e-7 * n * m) * releases_of(problem)

    def refuse(self, problem: SequenceInformationPrivacy) -> str | None:
        """Refuse single letters, and more words than a table takes."""
        return refuse_batch(problem, MAX_WORDS)

    def run(self, problem: SequenceInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the policy, its first kernel made ready."""
        return batch_proposal(problem, RULE, budget)

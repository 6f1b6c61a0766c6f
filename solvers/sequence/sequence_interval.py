"""Neighbouring letters share a release at every belief: the best split of a line, by dynamic programming."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.mechanisms.policy.rules import register_rule
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
from privopt.solvers.sequence._prices import proposal
from privopt.solvers.sequence._step_rule import StepRule

MAX_LETTERS = 2000

register_rule(StepRule("interval"))


@register
@dataclass(frozen=True)
class Interval(Solver[SequenceInformationPrivacy]):
    """Groups of neighbours at every belief: milliseconds a letter where the programme takes seconds."""

    solves: ClassVar = SequenceInformationPrivacy
    name: ClassVar[str] = "interval"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BOUNDED
    """Private, with a bound from its own prices."""

    def cost(self, problem: SequenceInformationPrivacy) -> float:
        """A pass over pairs of prefixes and releases for each letter."""
        return (0.01 + 2e-7 * len(problem.chain.letters) ** 3) * (1 + min(100, problem.horizon))

    def refuse(self, problem: SequenceInformationPrivacy) -> str | None:
        """Refuse what is not a line of single letters."""
        if problem.distortion not in ("l1", "squared"):
            return 'it needs letters on a line: distortion "l1" or "squared"'
        if min(problem.batch, problem.horizon) > 1:
            return "it releases single letters; structure-lp takes words"
        if len(problem.chain.letters) > MAX_LETTERS:
            return f"it takes at most {MAX_LETTERS} letters"
        return None

    def run(self, problem: SequenceInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the policy with the prices of its groups."""
        return proposal(problem, problem.answer("interval"), "interval", budget)

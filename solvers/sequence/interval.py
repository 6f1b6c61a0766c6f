"""Neighbouring letters share a release: the best split of a line into intervals, for one step and at every belief."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.mechanisms.policy.formulas.steps import INTERVALS, interval_pairs, intervals
from privopt.problems.belief_release.problem import BeliefRelease
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
from privopt.solvers.sequence.prices import priced, priced_policy, step_of

MAX_LETTERS = 2000


@register
@dataclass(frozen=True)
class BeliefInterval(Solver[BeliefRelease]):
    """Groups of neighbouring letters of mass at least theta, each with the release that is best for it.

    Sending groups of mass theta or more to one release each keeps the bounds. On a line the groups are intervals, and
    the best split is a shortest path over prefixes. A restriction: the prices of the groups bound what it loses.
    """

    solves: ClassVar = BeliefRelease
    name: ClassVar[str] = "interval"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BOUNDED
    """Private, with a bound from its own prices."""

    def cost(self, problem: BeliefRelease) -> float:
        """A pass over pairs of prefixes and releases."""
        return 1e-3 + 3e-9 * interval_pairs(step_of(problem))

    def refuse(self, problem: BeliefRelease) -> str | None:
        """Refuse what is not a line, or is too long a one."""
        return INTERVALS.refuse(step_of(problem))

    def run(self, problem: BeliefRelease, budget: Budget) -> Proposal:
        """Propose the best split."""
        return priced(problem, intervals(step_of(problem), budget.remaining))


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
        return priced_policy(problem, problem.answer("interval"), "interval", budget)

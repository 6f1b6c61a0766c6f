"""Baseline: the randomised response whose sequences leak as much as those of a policy may."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.mechanisms.policy.rules import Setting, register_rule
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
from privopt.solvers.sequence._respond import calibrated, respond, response
from privopt.solvers.sequence._responding import sequence_stats
from privopt.solvers.sequence._unenforced import NOT_SQUARE, releases_letters, unenforced


@dataclass(frozen=True)
class RandomisedResponseCalibratedRule:
    """Randomised response at the level that :func:`._respond.calibrated` finds."""

    name: str = "randomised-response-calibrated"

    def propose(self, setting: Setting, beliefs: Floats) -> Floats:
        """Kernels for beliefs (M, n), shape (M, n, n)."""
        level, _ = calibrated(setting.chain, setting.epsilon / setting.batch)
        return respond(setting, beliefs, level)


RULE = register_rule(RandomisedResponseCalibratedRule())


@register
@dataclass(frozen=True)
class RandomisedResponseCalibrated(Solver[SequenceInformationPrivacy]):
    """Randomised response at the largest level whose sequences of T letters leak at most T epsilon in all.

    Independent responses leak less in all than the sum of what they leak one by one. This is the fair opponent of policies
    that keep T epsilon over a sequence; its single steps may leak more than epsilon, which the judge shows. T is the number
    of letters whose releases can all be listed, 12 for two letters; nothing is claimed of longer sequences.
    """

    solves: ClassVar = SequenceInformationPrivacy
    name: ClassVar[str] = "randomised-response-calibrated"
    repairable: ClassVar[bool] = False
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BASELINE
    """Published, and kept for comparison."""

    def cost(self, problem: SequenceInformationPrivacy) -> float:
        """Some tens of enumerations of all releases."""
        return 1.0

    def refuse(self, problem: SequenceInformationPrivacy) -> str | None:
        """Refuse releases that are not the letters."""
        if not releases_letters(problem):
            return NOT_SQUARE
        return None

    def run(self, problem: SequenceInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the formula, with what its sequences leak."""
        level, steps = calibrated(problem.chain, problem.epsilon)
        true, _ = response(len(problem.chain.letters), level)
        stats = {"level": level, "calibrated_over": steps, "truth": true}
        return unenforced(problem, RULE, {**stats, **sequence_stats(problem, level)})

"""Baseline: randomised response at twice the budget, which the definition does not allow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.mechanisms.policy.rules import Setting, register_rule
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
from privopt.solvers.sequence._respond import respond, response
from privopt.solvers.sequence._responding import sequence_stats
from privopt.solvers.sequence._unenforced import NOT_SQUARE, releases_letters, unenforced


@dataclass(frozen=True)
class RandomisedResponseDoubleRule:
    """Randomised response at 2 epsilon a letter."""

    name: str = "randomised-response-double"

    def propose(self, setting: Setting, beliefs: Floats) -> Floats:
        """Kernels for beliefs (M, n), shape (M, n, n)."""
        return respond(setting, beliefs, 2.0 * setting.epsilon / setting.batch)


RULE = register_rule(RandomisedResponseDoubleRule())


@register
@dataclass(frozen=True)
class RandomisedResponseDouble(Solver[SequenceInformationPrivacy]):
    """Randomised response that is 2 epsilon-LDP a letter.

    A release that leaks at most epsilon is 2 epsilon-LDP among the letters that are possible, so Jiang, Li, Tandon, "Online
    Context-aware Data Release with Sequence Information Privacy", compare with it (Section VI). The converse fails: it may
    leak more than epsilon, and the judge shows how much.
    """

    solves: ClassVar = SequenceInformationPrivacy
    name: ClassVar[str] = "randomised-response-double"
    repairable: ClassVar[bool] = False
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BASELINE
    """Published, and kept for comparison."""

    def cost(self, problem: SequenceInformationPrivacy) -> float:
        """A formula a belief."""
        return 1e-2

    def refuse(self, problem: SequenceInformationPrivacy) -> str | None:
        """Refuse releases that are not the letters."""
        if not releases_letters(problem):
            return NOT_SQUARE
        return None

    def run(self, problem: SequenceInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the formula, with what its sequences leak."""
        true, _ = response(len(problem.chain.letters), 2.0 * problem.epsilon)
        return unenforced(problem, RULE, {"truth": true, **sequence_stats(problem, 2.0 * problem.epsilon)})

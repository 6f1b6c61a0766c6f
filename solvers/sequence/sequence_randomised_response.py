"""Baseline: randomised response on each letter, which knows nothing of the chain."""

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
class RandomisedResponseRule:
    """Randomised response at epsilon a letter."""

    name: str = "randomised-response"

    def propose(self, setting: Setting, beliefs: Floats) -> Floats:
        """Kernels for beliefs (M, n), shape (M, n, n)."""
        return respond(setting, beliefs, setting.epsilon / setting.batch)


RULE = register_rule(RandomisedResponseRule())


@register
@dataclass(frozen=True)
class RandomisedResponse(Solver[SequenceInformationPrivacy]):
    """A letter is itself with probability e^epsilon / (e^epsilon + n - 1), any other alike; each letter on its own.

    It is epsilon-LDP a letter (Warner's randomised response on n letters), and so keeps epsilon for any belief. Of whole
    sequences it leaks less than T epsilon; the statistics say how much.
    """

    solves: ClassVar = SequenceInformationPrivacy
    name: ClassVar[str] = "randomised-response"
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
        true, _ = response(len(problem.chain.letters), problem.epsilon)
        return unenforced(problem, RULE, {"truth": true, **sequence_stats(problem, problem.epsilon)})

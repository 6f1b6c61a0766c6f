"""The closed form of least Hamming error at every belief, letter by letter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
from privopt.solvers.sequence._prices import proposal, step_guarantee


@register
@dataclass(frozen=True)
class ClosedForm(Solver[SequenceInformationPrivacy]):
    """Each letter is released by the optimal kernel for the belief about it: one sort a letter.

    The step is that of Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information Privacy", with the
    formula that holds for every belief. It looks at one letter at a time; the bound says what looking ahead could gain.
    """

    solves: ClassVar = SequenceInformationPrivacy
    name: ClassVar[str] = "closed-form"

    def guarantee(self, problem: SequenceInformationPrivacy) -> Guarantee:
        """Optimal for independent letters or a single one; else with a bound."""
        return step_guarantee(problem)

    def cost(self, problem: SequenceInformationPrivacy) -> float:
        """Prices of each letter are most of it."""
        return 0.01 + 2e-3 * min(problem.horizon, 200) + 1e-7 * len(problem.chain.letters) ** 2

    def refuse(self, problem: SequenceInformationPrivacy) -> str | None:
        """Refuse other distortions, and words."""
        if problem.distortion != "hamming":
            return "it knows the Hamming error only; structure-lp takes any distortion"
        if min(problem.batch, problem.horizon) > 1:
            return "it releases single letters; structure-lp takes words"
        return None

    def run(self, problem: SequenceInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the policy with prices."""
        return proposal(problem, problem.answer("closed-form"), "closed-form", budget)

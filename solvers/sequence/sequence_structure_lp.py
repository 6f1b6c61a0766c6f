"""The best kernel at every belief for any distortion, of letters or short words, by a sparse linear programme."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.mechanisms.policy.rules import register_rule
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
from privopt.solvers.sequence._prices import proposal, step_guarantee
from privopt.solvers.sequence._step_rule import StepRule

MAX_CELLS = 20_000

register_rule(StepRule("structure-lp"))


@register
@dataclass(frozen=True)
class StructureLp(Solver[SequenceInformationPrivacy]):
    """The optimal programme of one release, solved again at every belief that comes up.

    The step is the programme of Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information
    Privacy", in better scaled variables. It looks at one release at a time; the bound says what looking ahead could gain.
    """

    solves: ClassVar = SequenceInformationPrivacy
    name: ClassVar[str] = "structure-lp"

    def guarantee(self, problem: SequenceInformationPrivacy) -> Guarantee:
        """Optimal for a single release or independent letters; else with a bound."""
        return step_guarantee(problem)

    def cost(self, problem: SequenceInformationPrivacy) -> float:
        """A programme for each release, with the beliefs that the judge asks about."""
        cells = problem.setting(min(problem.batch, problem.horizon)).cost.size
        once = 0.01 + 4e-5 * cells + 8e-9 * cells**2
        return float(once * (1 + min(100, problem.horizon / problem.batch)))

    def refuse(self, problem: SequenceInformationPrivacy) -> str | None:
        """Refuse what does not fit."""
        setting = problem.setting(min(problem.batch, problem.horizon))
        n, m = setting.letter_cost.shape
        cells = len(setting.inputs) * (len(setting.inputs) if n == m else m**setting.batch)
        if cells > MAX_CELLS:
            return f"its programme has {cells} cells for each belief, more than {MAX_CELLS}"
        return None

    def run(self, problem: SequenceInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the policy with multipliers as prices."""
        return proposal(problem, problem.answer("structure-lp"), "structure-lp", budget)

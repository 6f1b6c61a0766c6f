"""The best kernel for any distortion, of one step and at every belief, by a sparse linear programme with prices as proof."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.mechanisms.policy.formulas.steps import STRUCTURE, structure
from privopt.problems.belief_release.problem import BeliefRelease
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
from privopt.solvers.sequence.prices import priced, priced_policy, step_guarantee, step_of

MAX_CELLS = 20_000


@register
@dataclass(frozen=True)
class BeliefStructureLp(Solver[BeliefRelease]):
    """One linear programme in K and Q, where a channel is (1 - L) K(y | x) + L Q(y) and K(y | x) <= Q(y) / theta.

    The constraints are those of Jiang, Li, Tandon ("Online Context-aware Data Release with Sequence Information
    Privacy"), in other variables: far better scaled than the programme in P(y | x).
    """

    solves: ClassVar = BeliefRelease
    name: ClassVar[str] = "structure-lp"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.OPTIMAL
    """Optimal to the tolerance of HiGHS."""

    def cost(self, problem: BeliefRelease) -> float:
        """Grows faster than the cells."""
        cells = len(problem.support) * problem.matrix.shape[1]
        return float(0.02 + 4e-5 * cells + 8e-9 * cells**2)

    def refuse(self, problem: BeliefRelease) -> str | None:
        """Refuse what does not fit."""
        return STRUCTURE.refuse(step_of(problem))

    def run(self, problem: BeliefRelease, budget: Budget) -> Proposal:
        """Propose the optimal channel with the multipliers of its rows."""
        answer = structure(step_of(problem), 0.9 * budget.remaining)
        if answer is None:
            return Proposal(problem.constant(), stats={"iterations": 0, "stop": "out of time"})
        return priced(problem, answer)


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
        return priced_policy(problem, problem.answer("structure-lp"), "structure-lp", budget)

"""Reference implementations: the definition of a step written out pair by pair as a linear programme, for tiny problems."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.mechanisms.policy.formulas.steps import DEFINITION, definition
from privopt.problems.belief_release.problem import BeliefRelease
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
from privopt.solvers.sequence.prices import step_of

MAX_HORIZON = 6
MAX_INPUTS = 8


@register
@dataclass(frozen=True)
class BeliefOracle(Solver[BeliefRelease]):
    """min E[D] over P(y | x) with e^-epsilon P(y) <= P(y | x) <= e^epsilon P(y) for every possible x, by HiGHS."""

    solves: ClassVar = BeliefRelease
    name: ClassVar[str] = "oracle"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.ORACLE
    """Brute force."""

    def cost(self, problem: BeliefRelease) -> float:
        """Cubic in the cells, nearly."""
        return 0.02 + 1e-7 * problem.matrix.size**3

    def refuse(self, problem: BeliefRelease) -> str | None:
        """Refuse more than a few letters, and budgets that its numbers do not hold."""
        return DEFINITION.refuse(step_of(problem))

    def run(self, problem: BeliefRelease, budget: Budget) -> Proposal:
        """Propose the optimal channel."""
        answer = definition(step_of(problem), budget.remaining)
        return Proposal(problem.answer(answer.kernel), stats=answer.stats)


@register
@dataclass(frozen=True)
class Oracle(Solver[SequenceInformationPrivacy]):
    """Every release by the programme that the definition gives, written out pair by pair.

    It looks at one release at a time, so it is the optimum of the whole where there is one release or letters
    are independent, and what the other solvers should reach elsewhere.
    """

    solves: ClassVar = SequenceInformationPrivacy
    name: ClassVar[str] = "oracle"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.ORACLE
    """An oracle."""

    def cost(self, problem: SequenceInformationPrivacy) -> float:
        """A dense programme for every belief in reach."""
        return 0.02 * math.exp2(min(problem.horizon / problem.batch, 10.0))

    def refuse(self, problem: SequenceInformationPrivacy) -> str | None:
        """Refuse everything that is not tiny."""
        setting = problem.setting(min(problem.batch, problem.horizon))
        if problem.horizon > MAX_HORIZON:
            return f"it takes at most {MAX_HORIZON} letters, this horizon has {problem.horizon}"
        if (count := len(setting.inputs)) > MAX_INPUTS:
            return f"it takes at most {MAX_INPUTS} inputs of a release, this one has {count}"
        return None

    def run(self, problem: SequenceInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the policy."""
        return Proposal(problem.answer("oracle"), stats={"horizon": problem.horizon})

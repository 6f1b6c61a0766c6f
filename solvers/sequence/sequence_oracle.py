"""The slow and obvious policy: the definition of each step as a linear programme, pair by pair, for tiny horizons."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.mechanisms.policy.rules import register_rule
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
from privopt.solvers.sequence._step_rule import StepRule

MAX_HORIZON = 6
MAX_INPUTS = 8

register_rule(StepRule("oracle"))


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

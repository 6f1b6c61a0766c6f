"""One letter over a set of beliefs: linear programs at some of them, and at those where the answer breaks its bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.belief_release.problem import BeliefRelease
from privopt.problems.robust import never_seen
from privopt.solvers.common.cutting import least_cost
from privopt.solvers.common.separation import rare_refused

MOST_CELLS = 40_000
"""Entries of a channel beyond which the program of all ratios takes minutes."""
LARGEST = 500.0
"""Nats beyond which ratios of probabilities need not be floats."""


@register
@dataclass(frozen=True)
class BeliefCuts(Solver[BeliefRelease]):
    """Over a set of beliefs: one linear program in P(y | x), with beliefs added at which the answer breaks its bounds.

    P(y | x) must lie between e^-epsilon times the largest and e^epsilon times the least P(y) of the set, each linear in the
    belief; the multipliers of the beliefs that were added prove the optimum.
    """

    solves: ClassVar = BeliefRelease
    name: ClassVar[str] = "cuts"
    robust: ClassVar[bool] = True
    guaranteed: ClassVar[Guarantee | None] = Guarantee.OPTIMAL
    """Optimal to the tolerance of HiGHS."""

    def cost(self, problem: BeliefRelease) -> float:
        """Some programs with two rows for each pair of a letter and a release."""
        cells = problem.matrix.size
        return float(0.05 + 1e-4 * cells + 4e-8 * cells**2)

    def refuse(self, problem: BeliefRelease) -> str | None:
        """Refuse single beliefs, letters that are possible in the set only, and what is too large."""
        ratios = problem.ratios
        if ratios is None or ratios.ambiguity is None:
            return "it is for sets of beliefs: give a RowSet"
        outside = set(never_seen(ratios.ambiguity))
        odd = next((x for x in ratios.observation.unseen if x not in outside), None)
        if odd is not None:
            return f"the nominal belief gives {problem.letters[odd]!r} probability 0 and the set does not: give a center with all letters"
        if (reason := rare_refused(ratios.observation)) is not None:
            return reason
        if LARGEST < problem.budget < math.inf:
            return f"e to the epsilon of {problem.budget:g} nats, over a small probability, leaves the floats of its program"
        if problem.matrix.size > MOST_CELLS:
            return f"its program has {problem.matrix.size} cells, more than {MOST_CELLS}"
        return None

    def run(self, problem: BeliefRelease, budget: Budget) -> Proposal:
        """Propose the channel with the multipliers of the beliefs."""
        if problem.ratios is None:
            return Proposal()
        if problem.budget == 0:
            known = -float((problem.p @ problem.matrix).min())
            return Proposal(
                problem.constant(),
                known,
                {"kind": "analytic"},
                stats={"iterations": 0, "stop": "nothing may leak"},
            )
        proposal = least_cost(problem.ratios, budget)
        if proposal.mechanism is None:
            return Proposal(problem.constant(), stats=proposal.stats)
        matrix = problem.ratios.check(proposal.mechanism).matrix
        return Proposal(problem.answer(matrix), proposal.bound, proposal.dual, stats=proposal.stats)

"""Merging of subsets: the set that lowers the weighed objective most becomes one block, again and again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.privacy_funnel.problem import PrivacyFunnel
from privopt.solvers.trade_off._subset_proposal import refusal, subset_proposal
from privopt.solvers.trade_off.subset_search import mod_mod, sub_sup

MAX_SYMBOLS = 3000

STEPS = {"sub-sup": sub_sup, "mod-mod": mod_mod}


@register
@dataclass(frozen=True)
class Submodular(Solver[PrivacyFunnel]):
    """Minimise a difference of submodular functions, merge that set, and repeat on the merged symbols.

    The step "sub-sup" solves its submodular problem exactly, as a prefix of the symbols sorted by weight over
    probability. Taking the largest fall first is often too greedy: single pairs at the same price do better.

    Source: the lectures on privacy-utility trade-offs, submodular privacy funnel; the steps by Iyer, Bilmes.

    Parameters
    ----------
    variant : {"sub-sup", "mod-mod"}
        How the difference is replaced by something that can be minimised.
    steps : int
        Prices tried under a floor or a cap, >= 1.
    """

    solves: ClassVar = PrivacyFunnel
    name: ClassVar[str] = "submodular"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE
    """Feasible: nothing is proved."""

    variant: str = "sub-sup"
    steps: int = 10

    def cost(self, problem: PrivacyFunnel) -> float:
        """Orders from each of up to 40 symbols, for every block that is made at every price."""
        n, width = len(problem.observation.support), len(problem.observation.p_s)
        prices = 1 if problem.mode == "trade_off" else self.steps
        return prices * (0.01 + min(n, 40) * n / 4 * (2e-4 + 5e-8 * n * width))

    def refuse(self, problem: PrivacyFunnel) -> str | None:
        """Refuse more than 3000 symbols, observations that are not X itself, and unknown variants."""
        if self.variant not in STEPS:
            return f'variant must be "sub-sup" or "mod-mod", got {self.variant!r}'
        return refusal(problem, MAX_SYMBOLS, self.steps)

    def run(self, problem: PrivacyFunnel, budget: Budget) -> Proposal:
        """Propose the best merging found at the prices tried."""
        return subset_proposal(problem, STEPS[self.variant], self.steps, budget)

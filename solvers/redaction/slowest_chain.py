"""Redaction over a set of chains: solve at the chain of the set that forgets most slowly, and check at all of them.

With the utility of the nominal chain in the objective, a mechanism that is optimal at one chain of the set and keeps the budget at all
of them is optimal over the set. Where it does not keep it, the same is tried with less budget.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.errors import InvalidModel
from privopt.mechanisms import RedactionMechanism
from privopt.models import ChainAmbiguity, MarkovChain
from privopt.problems.redaction.over_set import KIND, is_member
from privopt.problems.redaction.problem import Redaction
from privopt.problems.redaction.shown import KIND as INFLUENCE
from privopt.solvers.common.repaired import repaired_in_time
from privopt.solvers.redaction.joint_search import JointSearch
from privopt.solvers.redaction.optimal.solver import Optimal
from privopt.solvers.redaction.relaxation import Relaxation
from privopt.solvers.redaction.sequential import Sequential
from privopt.solvers.redaction.windows import Windows

HALVINGS = 16
"""Budgets below epsilon that are tried."""

READINGS = 150
"""Readings of the leakage that a repair takes, about: records are hidden one by one."""


LOOSE = 1e-6
"""Share of the utility by which a bound of one chain may exceed it."""

ENOUGH = 10.0
"""How many times as long as a run took must be left for another one to be of no use."""


@register
@dataclass(frozen=True)
class SlowestChain(Solver[Redaction]):
    """Solve at the chain of the set that forgets most slowly; keep what is private for the whole set.

    Where the optimum at that chain is private over the set, it is the optimum over the set. Else the largest smaller budget
    at which it is private is searched by halving, there and at the fastest chain and the nominal one, and the best is kept.
    """

    solves: ClassVar = Redaction
    name: ClassVar[str] = "slowest-chain"
    robust: ClassVar[bool] = True

    def guarantee(self, problem: Redaction) -> Guarantee:
        """Bounded where the solver of one chain is, for two states and local mechanisms."""
        if problem.form == "sequential":
            return Guarantee.FEASIBLE
        best = next(_solvers(problem.relaxed(problem.chain)))
        return best.guarantee(problem.relaxed(problem.chain))

    def cost(self, problem: Redaction) -> float:
        """What one chain takes, and half as much again for each smaller budget, with a reading over the set each."""
        posed = problem.relaxed(problem.chain)
        reading = 1e-5 * problem.length * len(problem.private) * problem.chain.k**3
        return sum(solver.cost(posed) for solver in _solvers(posed)) + HALVINGS * reading

    def refuse(self, problem: Redaction) -> str | None:
        """Refuse what is not over a set."""
        if problem.ambiguity is None:
            return "it is for sets of chains, this problem has one chain: use optimal, or another of the list"
        return None

    def run(self, problem: Redaction, budget: Budget) -> Proposal:
        """Propose the best mechanism that is private over the set, and a bound from one of its chains."""
        if problem.ambiguity is None:
            return Proposal(problem.safe())
        chain, *others = slowest(problem, problem.ambiguity)
        best, stats = problem.safe(), dict[str, float | int | str]()
        bound: tuple[float, object] | None = None
        for solver in _solvers(problem.relaxed(chain)):
            first = _Run(problem, chain, solver, budget)
            proposal = first.proved(problem.epsilon)
            bound = bound if proposal.bound is None else (proposal.bound, proposal.dual)
            whole = first.mechanism(proposal)
            runs = [] if first.keeps(whole) else [first, *(_Run(problem, c, solver, budget) for c in others)]
            for mechanism, share in ((whole, 1.0), *(run.largest() for run in runs)):
                own = repaired_in_time(problem, mechanism, budget, READINGS) or problem.safe()
                if problem.evaluate(own).utility > problem.evaluate(best).utility:
                    best, stats = own, {"by": solver.name, "share of the budget": share}
            budget.report(problem.evaluate(best).objective)
            if budget.remaining <= 0:
                break
        if bound is None:
            bound = _by_influence(problem, chain)
        if bound is None:
            return Proposal(best, stats=stats)
        return Proposal(
            best, bound[0], {"kind": KIND, "chain": chain.to_dict(), "dual": bound[1]}, stats=stats
        )


@dataclass(frozen=True)
class _Run:
    """A solver at one chain of the set."""

    problem: Redaction
    chain: MarkovChain
    solver: Solver[Redaction]
    budget: Budget

    def proved(self, epsilon: float) -> Proposal:
        """What it proposes; again while its bound is loose for want of time, up to half of it, so that a slice is spent before it ends.

        Refinements that would not fit are not begun: with ten times as long left as it took, the time was not what lacked.
        """
        posed = self.problem.with_budget(epsilon).relaxed(self.chain)
        best, half = None, self.budget.remaining / 2
        while True:
            begun = self.budget.remaining
            proposal = self.at(epsilon)
            if not isinstance(proposal.mechanism, RedactionMechanism) or proposal.bound is None:
                return best or proposal
            better = best is None or best.bound is None or proposal.bound < best.bound
            best = proposal if better or best is None else best
            reached, left = posed.evaluate(proposal.mechanism).utility, self.budget.remaining
            loose = proposal.bound - reached > LOOSE * max(LOOSE, reached)
            if not loose or left <= half or left > ENOUGH * (begun - left):
                return best

    def at(self, epsilon: float, seconds: float = float("inf")) -> Proposal:
        """What it proposes with some budget."""
        deadline = time.monotonic() + min(seconds, 0.7 * self.budget.remaining)
        posed = self.problem.with_budget(epsilon).relaxed(self.chain)
        return self.solver.run(posed, Budget(deadline, self.budget.seed))

    def largest(self) -> tuple[RedactionMechanism, float]:
        """The mechanism of the largest smaller budget that is private over the set, and the share of epsilon that this is."""
        best, low, high = self.problem.safe(), 0.0, 1.0
        for _ in range(HALVINGS):
            if self.budget.remaining <= 0:
                break
            middle = (low + high) / 2
            tried = self.mechanism(self.at(middle * self.problem.epsilon, 0.2 * self.budget.remaining))
            if self.keeps(tried):
                best, low = tried, middle
            else:
                high = middle
        return best, low

    def mechanism(self, proposal: Proposal) -> RedactionMechanism:
        """What is proposed, for the problem over the set."""
        made = proposal.mechanism
        if not isinstance(made, RedactionMechanism):
            return self.problem.safe()
        return self.problem.answer(made.probabilities)

    def keeps(self, mechanism: RedactionMechanism) -> bool:
        """Whether it keeps the budget over the set, as it is read."""
        return self.problem.evaluate(mechanism).feasible


def slowest(problem: Redaction, ambiguity: ChainAmbiguity) -> Iterator[MarkovChain]:
    """Chains of the set, that which forgets most slowly first; the nominal one last.

    Its rows keep a state as likely, or as rarely, as they may.
    """
    corners = []
    for sign in (1, -1):
        rows = [
            [
                Fraction(w, row.denominator)
                for w in row.farthest([sign * (i == j) for j in range(ambiguity.k)])
            ]
            for i, row in enumerate(ambiguity.forward)
        ]
        try:
            chain = MarkovChain(rows, states=ambiguity.states)
        except InvalidModel:  # some state is never left, or never reached
            continue
        if is_member(problem, ambiguity, chain):
            corners.append(chain)
    yield from sorted(corners, key=lambda chain: chain.second_eigenvalue, reverse=True)
    yield ambiguity.nominal


def _solvers(posed: Redaction) -> Iterator[Solver[Any]]:
    """Those that serve the problem with one chain, best first; others only where the best does not."""
    best = next((s for s in (Optimal(), Sequential()) if s.refuse(posed) is None), None)
    if best is not None:
        yield best
        return
    for solver in (Windows(), Relaxation(), JointSearch()):
        if solver.refuse(posed) is None:
            yield solver


def _by_influence(problem: Redaction, chain: MarkovChain) -> tuple[float, object] | None:
    """The bound by what no mechanism that is private at the chain ever shows."""
    dual = {"kind": INFLUENCE}
    proved = problem.relaxed(chain).prove_bound(dual)
    return None if proved is None else (proved[1], dual)

"""The privacy funnel over a set of joints: smaller and smaller caps at the nominal one, until the whole set keeps the cap."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from privopt.core.dispatch import solve
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.mechanisms import Channel, Mechanism, Merging
from privopt.problems.privacy_funnel.problem import PrivacyFunnel
from privopt.problems.trade_off.bound import analytic_bound
from privopt.solvers.common.repaired import repaired_in_time
from privopt.solvers.common.tightened import READINGS, tightened
from privopt.solvers.trade_off.column_generation import ColumnGeneration
from privopt.solvers.trade_off.members import Spread, between, dual_at

ANALYTIC = {"kind": "analytic"}

AT_NOMINAL = 0.5
"""Share of the time for the nominal joint and smaller caps there."""

FIRST_SECONDS, MOST = 1.5, 0.9
"""So many seconds it has at least, but no larger share."""

MEMBERS = 12
"""Other joints at which the problem is solved, at most."""

ROUNDS, ROUND = 0.8, 0.5
"""Shares of the time that is left for all of them, and for the next one; the rest is for smaller caps at the best one."""


@register
@dataclass(frozen=True)
class TightenedCap(Solver[PrivacyFunnel]):
    """Over a set of joints: the optimum at the nominal one under a smaller cap, so that the whole set keeps the cap.

    What keeps the cap over the set keeps it at the nominal joint, so that the optimum there, proved by column generation, is a
    bound, and so is that at any other joint with the same P(x): those are tried at which the answers so far say most. The answer under a smaller cap is mixed with its own output distribution where its bound over the set is still above.
    Sets from samples are those of Grosse, Saeidian, Skoglund, Oechtering, "Privacy Mechanism Design based on Empirical
    Distributions" (2025).
    """

    solves: ClassVar = PrivacyFunnel
    name: ClassVar[str] = "tightened-cap"
    robust: ClassVar[bool] = True
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BOUNDED

    def cost(self, problem: PrivacyFunnel) -> float:
        """The optimum at the nominal joint, and readings over the set; further caps take what is left."""
        return 0.2 + ColumnGeneration().cost(problem.at_nominal(problem.budget))

    def refuse(self, problem: PrivacyFunnel) -> str | None:
        """Refuse single joints."""
        return None if problem.robust else "it is for sets of distributions: give a JointAmbiguity"

    def run(self, problem: PrivacyFunnel, budget: Budget) -> Proposal:
        """Propose the best answer met, and the bound at the nominal joint."""
        if problem.budget in (0, math.inf):
            mechanism = problem.everything() if problem.budget else problem.nothing()
            nominal = problem.at_nominal(problem.budget)
            return Proposal(mechanism, analytic_bound(nominal), dict(ANALYTIC), stats={"iterations": 0})
        spread = None if problem.ambiguity is None else Spread(problem.ambiguity)
        first = _part(
            budget, max(AT_NOMINAL, min(MOST, FIRST_SECONDS / max(budget.remaining, FIRST_SECONDS)))
        )
        proposal = tightened(problem, lambda cap, until: _capped(problem.at_nominal(cap), until), first)
        return proposal if spread is None else _through_members(problem, spread, proposal, budget)


def _through_members(problem: PrivacyFunnel, spread: Spread, proposal: Proposal, budget: Budget) -> Proposal:
    """The bounds at joints at which the answers so far say more, and their answers.

    Each next joint is the average of those that were worst for the answers so far (Brown, "Iterative solution of games by
    fictitious play", 1951): the set holds it, too.
    """
    bound, dual, best, nearest = proposal.bound, proposal.dual, proposal.mechanism, None
    until = _part(budget, ROUNDS)
    matrix, joint, rounds = np.eye(problem.sizes[1]), None, 0
    if isinstance(best, (Channel, Merging)) and problem.evaluate(best).objective > 0:
        matrix = best.matrix
    while rounds < MEMBERS and until.remaining > 0:
        worst = spread.most_telling(matrix, until)
        if worst is None:
            break
        joint = worst if joint is None else between(joint, worst, rounds)
        rounds += 1
        there = _capped(problem.at(joint), _part(until, ROUND))
        if there.bound is not None and (bound is None or there.bound < bound):
            bound, dual, nearest = there.bound, dual_at(joint, there.dual), (problem.at(joint), there)
        if not isinstance(there.mechanism, (Channel, Merging)):
            break
        matrix = there.mechanism.matrix
        kept = repaired_in_time(problem, there.mechanism, until, READINGS)
        if kept is not None and (best is None or _better(problem, kept, best)):
            best = kept
            budget.report(problem.evaluate(problem.check(best)).objective, bound, fraction=0.9)
    if nearest is not None and budget.remaining > 0:
        place, answer = nearest
        last = tightened(
            problem,
            lambda cap, end: answer if cap == problem.budget else _capped(place.with_budget(cap), end),
            budget,
        ).mechanism
        if last is not None and (best is None or _better(problem, last, best)):
            best = last
    stats = {**proposal.stats, "joints": rounds}
    return replace(proposal, mechanism=best, bound=bound, dual=dual, stats=stats)


def _part(budget: Budget, share: float) -> Budget:
    """The budget that ends when a share of what is left is spent."""
    left = budget.remaining
    end = time.monotonic() + share * left if left < math.inf else budget.deadline
    return replace(budget, deadline=min(end, budget.deadline))


def _better(problem: PrivacyFunnel, one: Mechanism, other: Mechanism) -> bool:
    reading = problem.evaluate(problem.check(one))
    return reading.feasible and reading.objective > problem.evaluate(problem.check(other)).objective


def _capped(nominal: PrivacyFunnel, budget: Budget) -> Proposal:
    """A problem at one joint; beyond what column generation takes, whatever answers it."""
    if ColumnGeneration().refuse(nominal) is None:
        return ColumnGeneration().run(nominal, Budget(budget.deadline, budget.seed, budget.progress))
    solution = solve(nominal, time_limit=min(budget.remaining, 1e6), certify=False, seed=budget.seed)
    mechanism = solution.mechanism if solution.status.ok else None
    return Proposal(nominal.check(mechanism) if mechanism else None, analytic_bound(nominal), dict(ANALYTIC))

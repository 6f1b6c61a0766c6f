"""The privacy funnel over a set of joints: smaller and smaller caps at the nominal one, until the whole set keeps the cap."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from privopt.arrays import Floats
from privopt.core.dispatch import solve
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.mechanisms import Channel, Mechanism, Merging
from privopt.models.channel_data import Release
from privopt.problems.privacy_funnel.problem import PrivacyFunnel
from privopt.problems.robust_reading import SetReader
from privopt.problems.trade_off.bound import analytic_bound
from privopt.solvers.common.capped_mixture import CappedMixture
from privopt.solvers.common.tightened import tightened
from privopt.solvers.trade_off.column_generation import ColumnGeneration
from privopt.solvers.trade_off.members import Spread, between, dual_at

ANALYTIC = {"kind": "analytic"}

AT_NOMINAL = 0.6
"""Share of the time for the nominal joint and smaller caps there."""

FIRST_SECONDS, MOST = 1.5, 0.9
"""So many seconds it has at least, but no larger share."""

MEMBERS = 12
"""Other joints at which the problem is solved, at most."""

ROUNDS, ROUND = 0.7, 0.5
"""Shares of the time that is left for all of them, and for the next one; the rest is for mixtures of all answers."""

BEFORE, MIXED = 0.15, 0.4
"""Shares of the time that is left for a mixture of releases before anything else, and of those of the first answers."""

TINY = 1e-300


@register
@dataclass(frozen=True)
class TightenedCap(Solver[PrivacyFunnel]):
    """Over a set of joints: the optimum at the nominal one under a smaller cap, so that the whole set keeps the cap.

    What keeps the cap over the set keeps it at the nominal joint, so that the optimum there, proved by column generation, is a
    bound, and so is that at any other joint with the same P(x): those are tried at which the answers so far say most. A linear program with
    a row for each joint mixes the releases of all answers, and others like them.
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
        answers = None if problem.reader is None else _Answers(problem, problem.reader)
        if answers is not None:
            answers.mix(_part(budget, BEFORE))
            if budget.remaining == 0:
                bound = analytic_bound(problem.at_nominal(problem.budget))
                return Proposal(answers.best or problem.anchor(), bound, dict(ANALYTIC))
        proposal = tightened(
            problem, lambda cap, until: _capped(problem.at_nominal(cap), until), _first(budget)
        )
        if answers is None or problem.ambiguity is None:
            return proposal
        if proposal.mechanism is not None:
            answers.take(problem.check(proposal.mechanism))
        answers.mix(_part(budget, MIXED))
        if budget.remaining > 0:
            proposal = _through_members(problem, Spread(problem.ambiguity), proposal, answers, budget)
        answers.mix(budget)
        return replace(proposal, mechanism=answers.best or problem.anchor())


@dataclass
class _Answers:
    """The best answer so far, and mixtures of the releases of all of them."""

    problem: PrivacyFunnel
    reader: SetReader
    best: Mechanism | None = None
    _reached: float = -math.inf

    def __post_init__(self) -> None:
        observed = self.problem.observation
        useful = observed.x_given_w * observed.p_w

        def gains(columns: Floats) -> Floats:
            of_x = useful @ columns
            apart = of_x / np.maximum(observed.p_x[:, None] * of_x.sum(axis=0), TINY)
            return np.asarray((of_x * np.log(np.where(of_x > 0, apart, 1.0))).sum(axis=0))

        self._mixture = CappedMixture(self.reader, gains, self.problem.budget, observed.p_w)

    def take(self, release: Release) -> None:
        """Keep its columns, and the release itself where it keeps the cap and is the best."""
        self._mixture.take([release.matrix])
        reading = self.problem.evaluate(release)
        if reading.feasible and reading.objective > self._reached:
            self.best, self._reached = release, reading.objective

    def mix(self, budget: Budget) -> None:
        """The best mixture of releases."""
        matrix = self._mixture.run(budget)
        if matrix is None:
            return
        self.take(self.problem.answer(matrix))
        budget.report(self._reached, fraction=0.5)


def _through_members(
    problem: PrivacyFunnel, spread: Spread, bounded: Proposal, answers: _Answers, budget: Budget
) -> Proposal:
    """The bounds at joints at which the answers so far say more, and their answers.

    Each next joint is the average of those that were worst for the answers so far (Brown, "Iterative solution of games by
    fictitious play", 1951): the set holds it, too.
    """
    joint, rounds = None, 0
    until = _part(budget, ROUNDS)
    matrix = np.eye(problem.sizes[1])
    if isinstance(answers.best, (Channel, Merging)) and problem.evaluate(answers.best).objective > 0:
        matrix = answers.best.matrix
    while rounds < MEMBERS and until.remaining > 0:
        worst = spread.most_telling(matrix, until)
        if worst is None:
            break
        joint = worst if joint is None else between(joint, worst, rounds)
        rounds += 1
        there = _capped(problem.at(joint), _part(until, ROUND))
        if there.bound is not None and (bounded.bound is None or there.bound < bounded.bound):
            bounded = replace(bounded, bound=there.bound, dual=dual_at(joint, there.dual))
        if not isinstance(there.mechanism, (Channel, Merging)):
            break
        matrix = there.mechanism.matrix
        answers.take(problem.check(there.mechanism))
    return replace(bounded, stats={**bounded.stats, "joints": rounds})


def _first(budget: Budget) -> Budget:
    """The time of the nominal joint: a share, but so many seconds at least where there are."""
    share = FIRST_SECONDS / max(budget.remaining, FIRST_SECONDS)
    return _part(budget, max(AT_NOMINAL, min(MOST, share)))


def _part(budget: Budget, share: float) -> Budget:
    """The budget that ends when a share of what is left is spent."""
    left = budget.remaining
    end = time.monotonic() + share * left if left < math.inf else budget.deadline
    return replace(budget, deadline=min(end, budget.deadline))


def _capped(nominal: PrivacyFunnel, budget: Budget) -> Proposal:
    """A problem at one joint; beyond what column generation takes, whatever answers it."""
    if ColumnGeneration().refuse(nominal) is None:
        return ColumnGeneration().run(nominal, Budget(budget.deadline, budget.seed, budget.progress))
    solution = solve(nominal, time_limit=min(budget.remaining, 1e6), certify=False, seed=budget.seed)
    mechanism = solution.mechanism if solution.status.ok else None
    return Proposal(nominal.check(mechanism) if mechanism else None, analytic_bound(nominal), dict(ANALYTIC))

"""Noise for records of a Markov chain: bounds for every mechanism of a level, and what a noisy count itself leaks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.measures.bayesian.markov import laplace_tail, markov_recursion, walking_seconds
from privopt.measures.bayesian.rays import MOST_STATES
from privopt.models import MarkovChain
from privopt.problems.bayesian_privacy import levels
from privopt.problems.bayesian_privacy.enumeration import Listed, Worst
from privopt.problems.bayesian_privacy.forgetting import Forgetting
from privopt.problems.bayesian_privacy.problem import BayesianPrivacy
from privopt.solvers.bayesian_privacy import _calibrated as calibrated

JUDGED = 1.3
"""Readings' time that is left for the proof of a proposal; what its judgement takes beyond is not the solver's."""
SLACK = 0.5
"""Seconds of that which may lie past the deadline."""
MANY_RAYS = 5
"""States from which a reading takes so long that a looser bound, which does not, says where to begin."""
ROUGH, BEYOND = 1e-2, 1.2
"""Relative precision of that level, and how far beyond it one is tried: most are allowed, and say where the largest one is."""
SLOW = 1.5
"""Seconds of one reading of the tails of a chain that is not forgotten within what is followed."""
MOST_READINGS = 30
"""Readings of all adversaries; two to four will do where the worst of one level are among those of the next."""
MOST_LEVEL = 2.0**60
"""A count that does not depend on any one record leaks nothing at any level; its error then counts as none."""


@dataclass(frozen=True)
class _Markov(calibrated.Calibrated):
    """A bound for records of a Markov chain."""

    def refuse(self, problem: BayesianPrivacy) -> str | None:
        """Refuse what the bound is not for."""
        return calibrated.not_a_chain(problem) or super().refuse(problem)


@register
@dataclass(frozen=True)
class MarkovRecursion(_Markov):
    """Records of a Markov chain, side by side: a recursion over unknown records, exact for two states.

    The supremum over mechanisms of a level and adversaries, one side of the target at a time; an upper bound for more
    than two states.
    """

    name: ClassVar[str] = "markov-recursion"
    robust: ClassVar[bool] = True

    def cost(self, problem: BayesianPrivacy) -> float:
        """Some thirty readings of the recursion."""
        return 2e-3 + 40 * levels.any_seconds(problem)

    def run(self, problem: BayesianPrivacy, budget: Budget) -> Proposal:
        """Propose noise of the largest level that the recursion allows; a slow one leaves time for its judgement."""
        slow = levels.any_seconds(problem)
        if slow <= calibrated.CHECKED:
            return super().run(problem, budget)
        chain = problem.model
        assert isinstance(chain, MarkovChain)
        until = max(0.0, min(JUDGED * slow - SLACK, 0.6 * budget.remaining))

        least = 0.0 if problem.length is None else problem.epsilon / problem.length * (1 - 2.0**-50)
        answered = least > 0

        def clock() -> float:
            return budget.remaining - until * answered

        def leakage(tau: float, step: Literal["best", "coarse"] = "best") -> float:
            nonlocal answered
            general = math.inf if problem.length is None else problem.length * tau
            nats = min(general, markov_recursion(chain, tau, problem.length, step=step, clock=clock).value)
            answered = answered or nats <= problem.epsilon
            return nats

        if budget.remaining - until > 50 * slow:
            tau = calibrated.largest_level(leakage, problem.epsilon, budget)
        else:
            first = 0.0
            if MANY_RAYS <= chain.k <= MOST_STATES:
                rough = partial(leakage, step="coarse")
                least = calibrated.hasty_level(rough, problem.epsilon, budget, least, precision=ROUGH)
                first = BEYOND * least
            tau = calibrated.hasty_level(leakage, problem.epsilon, budget, least, first)
        return calibrated.proposal(problem, tau, {"method": self.name}, budget=budget)


@register
@dataclass(frozen=True)
class MarkovPublished(_Markov):
    """Baseline: the published bound for Markov chains, epsilon less four times the logarithm of the largest ratio.

    Noise of level epsilon - 4 ln gamma, where gamma is the largest ratio of two transition probabilities of a column.

    Lange, Guerra-Balboa, Parra-Arnau, Strufe, "Balancing Privacy and Utility in Correlated Data: A Study of
    Bayesian Differential Privacy", Theorem 6.2 and Corollary 6.3. Sound, and empty unless epsilon > 4 ln gamma.
    """

    name: ClassVar[str] = "markov-published"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BASELINE
    """Published, and kept for comparison."""


@register
@dataclass(frozen=True)
class LaplaceTail(Solver[BayesianPrivacy]):
    """Counts of two positively dependent states: the tails of Laplace noise by transfer matrices, exact for any length.

    What the count leaks far out is all it leaks where a state makes itself more likely next. There it agrees with the
    recursion, from another side. Elsewhere the tails give only a lower bound.
    """

    solves: ClassVar = BayesianPrivacy
    name: ClassVar[str] = "laplace-tail"

    def guarantee(self, problem: BayesianPrivacy) -> Guarantee:
        """Optimal where the recursion is exact."""
        return calibrated.standing(problem, "markov-recursion")

    def cost(self, problem: BayesianPrivacy) -> float:
        """Two tails, some thirty times."""
        return 0.01 + 40 * _tail_seconds(problem)

    def refuse(self, problem: BayesianPrivacy) -> str | None:
        """Refuse where the tails are not the whole leakage."""
        chain = problem.model
        if not isinstance(chain, MarkovChain):
            return calibrated.not_a_chain(problem)
        counts = problem.query == "count" or isinstance(problem.query, tuple)
        if chain.k != 2 or not counts or problem.mechanism == "randomised_response":
            return "it is for Laplace noise on the count of a chain of two states"
        stays = chain.homogeneous and chain.stationary and chain.transition[0, 0] >= chain.transition[1, 0]
        if not stays:
            return "the tails are the whole leakage only where a state makes itself more likely, at all times alike"
        if problem.length is None and _tail_seconds(problem) >= SLOW:
            return "a chain of any length that forgets so slowly has no tail that can be followed to its end"
        return None

    def run(self, problem: BayesianPrivacy, budget: Budget) -> Proposal:
        """Propose noise of the largest level whose tails keep epsilon."""
        chain = problem.model
        assert isinstance(chain, MarkovChain)

        def leakage(tau: float) -> float:
            return laplace_tail(chain, [0.0, 1.0], tau, problem.length, clock=clock)

        until = max(0.0, min(JUDGED * _tail_seconds(problem) - SLACK, 0.6 * budget.remaining))

        def clock() -> float:
            return budget.remaining - until

        tau = calibrated.largest_level(leakage, problem.epsilon, budget)
        return calibrated.proposal(problem, tau, {"method": self.name}, budget=budget)


def _tail_seconds(problem: BayesianPrivacy) -> float:
    """Seconds of one reading of the tails, which are followed record by record."""
    chain = problem.model
    return walking_seconds(chain, problem.length) if isinstance(chain, MarkovChain) else 0.0


@register
@dataclass(frozen=True)
class ExactSmall(Solver[BayesianPrivacy]):
    """Counts, sums and means of chains that are short or forget: the leakage of the noise itself, to every adversary who matters.

    That is what the noisy answer leaks, not any mechanism of its level. The gain is large where neighbours differ: a
    chain that changes state with probability 0.8, any number of records, level 1: the count leaks 1 nat, some mechanism of that
    level 3.14. Only the nearest known record on each side matters, the sides are independent, and a record far away adds
    no more than the chain remembers.
    """

    solves: ClassVar = BayesianPrivacy
    name: ClassVar[str] = "exact-small"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.OPTIMAL
    """Optimal."""

    def cost(self, problem: BayesianPrivacy) -> float:
        """Every pair of nearest known records, in some readings and the proofs."""
        return 0.01 + (8 if isinstance(levels.own(problem), Forgetting) else 25) * calibrated.reading_seconds(
            problem
        )

    def refuse(self, problem: BayesianPrivacy) -> str | None:
        """Refuse what is not enumerated."""
        if not levels.enumerable(problem):
            return (
                "it is for counts, sums and means, with Laplace noise, of chains of some tens of records or of chains of one "
                "step that forget their first state within some hundred records"
            )
        return None

    def run(self, problem: BayesianPrivacy, budget: Budget) -> Proposal:
        """Propose noise of the largest level at which the noisy count keeps epsilon."""
        noisy = levels.own(problem)
        assert noisy is not None
        tau, readings = (
            _listed(noisy, problem, budget) if isinstance(noisy, Listed) else _near(noisy, problem, budget)
        )
        stats: dict[str, float | int | str] = {"method": self.name, "readings": readings}
        return calibrated.proposal(problem, tau, stats, budget=budget)


def _listed(noisy: Listed, problem: BayesianPrivacy, budget: Budget) -> tuple[float, int]:
    """The largest level by the worst adversaries of a few levels, and how often all were looked at."""
    worst = Worst(noisy.chain, noisy.lattice, noisy.length)
    tau, allowed, readings = problem.epsilon, 0.0, 0
    while readings < MOST_READINGS and budget.remaining > 0:
        readings += 1
        if worst.see(tau) <= problem.epsilon:
            allowed = max(allowed, tau)
        level = calibrated.largest_level(worst.leakage, problem.epsilon, budget, MOST_LEVEL)
        if level <= allowed:  # the largest one to those that count keeps epsilon with all of them
            break
        tau = level
    return allowed, readings


def _near(noisy: Forgetting, problem: BayesianPrivacy, budget: Budget) -> tuple[float, int]:
    """The largest level by readings of which each leaves out who is known not to matter, and how many there were."""
    readings = 0

    def leakage(tau: float) -> float:
        nonlocal readings
        readings += 1
        return levels.searched(problem, tau, lambda: budget.remaining)

    return calibrated.largest_level(leakage, problem.epsilon, budget, MOST_LEVEL, vanishes=True), readings

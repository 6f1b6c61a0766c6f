"""The randomised optimum of the privacy funnel and of the information bottleneck, with a proof."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, TypeVar

import numpy as np

from privopt.arrays import Floats
from privopt.core.dispatch import solve
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.errors import InvalidProblem
from privopt.mechanisms import Channel, Mechanism, Merging
from privopt.models.channel_data import Release
from privopt.problems.information_bottleneck.problem import InformationBottleneck
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.problems.privacy_funnel.problem import PrivacyFunnel
from privopt.problems.trade_off.problem import TradeOff
from privopt.solvers.trade_off.columns.classes import joined, through_classes
from privopt.solvers.trade_off.columns.generation import generate, settled
from privopt.solvers.trade_off.columns.program import kept
from privopt.solvers.trade_off.mergings import best_kept, numbered
from privopt.solvers.trade_off.zero_leakage import (
    ROUNDING,
    independent_release,
    nothing_may_leak,
    posteriors,
    thinned,
)

SEEDS = (0.1, 0.3, 1.0)
"""Budgets of local information privacy whose optimal posteriors are tried first on large alphabets."""

ENDLESS = 600.0
"""Predicted seconds of a proof that will not end: the search does, where nothing more turns up."""

SEEDED = 2.0
"""Seconds left above which those are sought."""

MOST = 5
"""Values of S up to which boxes of P(s | v) are split until the gap is closed."""

ELSEWHERE = 0.9
"""Share of the time that is not for releases that leak nothing, where they are only some of the first posteriors."""

SMALL = 100
"""Symbols times values of S up to which the proof ends in seconds without other releases to begin with."""

OF_MERGINGS = 1e-3
"""Gap at which the best channel is near enough for a bound on mergings, which it may be better than by more."""

ALIKE = 1e-10
"""Posteriors that differ by less in no entry are one."""

LEAST_CAP = 1e-8
"""In nats; less is next to nothing in a linear program, which is then solved for this."""

LARGEST = 300
"""Classes of symbols up to which a linear program over posteriors takes a fraction of a second."""

MOST_OBSERVED = 2000
"""Symbols up to which a channel of as many releases is judged in seconds."""

T = TypeVar("T", bound=TradeOff)


class Priced(Solver[T]):
    """Column generation over posteriors."""

    name: ClassVar[str] = "column-generation"
    tolerance: float

    def refuse(self, problem: T) -> str | None:
        """Refuse contiguous blocks, and alphabets whose linear programs take longer than a look at the clock may wait."""
        size = len(problem.observation.support)
        if size > MOST_OBSERVED:
            return f"its channel would have about {size * size:.1e} entries, more than {MOST_OBSERVED}^2"
        size = len((joined(problem) or problem).observation.support)
        if size > LARGEST:
            return f"its linear programs take at most {LARGEST} symbols, this problem has {size}"
        return "it knows no contiguous blocks" if problem.contiguous else None

    def run(self, problem: T, budget: Budget) -> Proposal:
        """Propose the best mixture of posteriors, and the best bound proved: for form "merging" the symbols in their likeliest releases."""
        if problem.form == "stochastic":
            smaller = joined(problem)
            if smaller is None:
                return self.channels(problem, budget, self.tolerance)
            return through_classes(problem, smaller, budget, partial(self.channels, tolerance=self.tolerance))
        alone = Budget(budget.deadline, budget.seed)  # what is known is a merging
        proposal = self.channels(problem.by_channels(), alone, max(self.tolerance, OF_MERGINGS))
        if proposal.mechanism is None:
            return proposal
        return replace(proposal, mechanism=merged(problem, proposal.mechanism, budget.incumbent))

    @abstractmethod
    def channels(self, problem: T, budget: Budget, tolerance: float) -> Proposal:
        """The best mixture of posteriors, and the best bound proved."""


@register
@dataclass(frozen=True)
class ColumnGeneration(Priced[PrivacyFunnel]):
    """The randomised optimum of the privacy funnel, with a proof.

    Posteriors are made as they are needed, and branch and bound proves that none is missed.

    A linear program shares the distribution of X among the posteriors met so far; its prices, and the smoother ones of a
    stationary release near it, say which others would help. They are sought from many starts, and then
    exactly: over boxes of posteriors the concave part of the cost lies above its secants. At a floor of at most theta0 the answer leaks nothing.

    Parameters
    ----------
    tolerance : float
        Gap at which to stop, relative to the problem's scale.
    symbols : int
        Symbols up to which the proof is expected to end; beyond, more of the time goes to the value.
    """

    solves: ClassVar = PrivacyFunnel

    tolerance: float = 9e-7
    symbols: int = 150

    def guarantee(self, problem: PrivacyFunnel) -> Guarantee:
        """Optimal where the proof is expected to end within seconds, else bounded, as are mergings."""
        small = problem.form == "stochastic" and self._small(problem)
        return Guarantee.OPTIMAL if small else Guarantee.BOUNDED

    def cost(self, problem: PrivacyFunnel) -> float:
        """Seconds until the gap is closed, or nothing helps: grows with the symbols, and with those of a posterior."""
        problem = joined(problem) or problem
        n, rank = len(problem.observation.support), len(problem.observation.p_s)
        proof = 5e-4 * n * math.sqrt(n) * 1.5 ** max(0, min(rank, n) - 3)
        return 0.5 + 0.02 * n + min(proof, ENDLESS)

    def refuse(self, problem: PrivacyFunnel) -> str | None:
        """Refuse perfect privacy, which is another search."""
        if nothing_may_leak(problem):
            return "where nothing may leak posteriors have no price: zero-leakage searches the independent releases"
        return super().refuse(problem)

    def channels(self, problem: PrivacyFunnel, budget: Budget, tolerance: float) -> Proposal:
        """The best mixture of posteriors, and the best bound proved."""
        if (simple := settled(problem)) is not None:
            return simple
        brief = budget if problem.is_floor else budget.earlier(ELSEWHERE)
        channel = independent_release(problem, brief).channel
        if channel is not None and problem.is_floor and problem.budget <= problem.evaluate(channel).utility:
            stats: dict[str, float | int | str] = {"stop": "the floor is met without any leakage"}
            return Proposal(thinned(problem, channel, problem.budget), 0.0, {"kind": "analytic"}, stats=stats)
        scaled = problem.with_budget(LEAST_CAP) if problem.is_cap and problem.budget < LEAST_CAP else problem
        columns = distinct(np.vstack([self._seeds(scaled, channel, budget), of_incumbent(problem, budget)]))
        hopeful = len(problem.observation.support) <= self.symbols
        proposal = generate(scaled, columns, budget, tolerance, hopeful=hopeful)
        return proposal if scaled is problem else _at_less(problem, proposal, channel)

    def _small(self, problem: PrivacyFunnel) -> bool:
        problem = joined(problem) or problem
        if problem.observation.useful is not None:
            return len(problem.observation.p_x) <= 4
        return len(problem.observation.support) * min(len(problem.observation.p_s), 10) <= SMALL

    def _seeds(self, problem: PrivacyFunnel, independent: Channel | None, budget: Budget) -> Floats:
        """Posteriors of the best merging that is quick, and of releases with bounded log-lift."""
        none = np.zeros((0, len(problem.observation.support)))
        columns = [none] if independent is None else [posteriors(problem, independent)]
        if self._small(problem):
            return columns[0]
        merged = solve(problem, "portfolio", time_limit=max(0.1, 0.05 * budget.remaining), certify=False)
        if merged.status.ok:
            columns.append(posteriors(problem, merged.mechanism))
        for epsilon in SEEDS if budget.remaining > SEEDED else ():
            try:
                strict = LocalInformationPrivacy(problem.nominal, epsilon=epsilon)
            except InvalidProblem:  # cells that are too small for it
                break
            some = solve(
                strict, "column-generation", time_limit=max(0.1, 0.03 * budget.remaining), certify=False
            )
            if some.status.ok and isinstance(some.mechanism, Channel):
                columns.append(posteriors(problem, some.mechanism))
        return np.vstack(columns)


def _at_less(problem: PrivacyFunnel, proposal: Proposal, independent: Channel | None) -> Proposal:
    """What is proposed under a larger cap, released with the chance that the cap allows, else what leaks nothing.

    The price of leakage proves a bound at any cap, by weak duality; the smaller the cap, the less of it is paid.
    """
    nothing = problem.nothing() if independent is None else independent
    release, more = nothing, proposal.mechanism
    if isinstance(more, Channel) and (leaks := problem.evaluate(more).leakage) > 0:
        share = (problem.budget - ROUNDING) / leaks
        if share > 0:
            matrix = np.hstack([share * more.matrix, (1.0 - share) * nothing.matrix])
            release = kept(problem, problem.answer(matrix))
    return replace(proposal, mechanism=release)


def distinct(columns: Floats) -> Floats:
    """Columns without those that are nearly another one: they defeat a simplex method.

    Examples
    --------
    >>> distinct(np.array([[0.5, 0.5], [0.5 + 1e-16, 0.5], [1.0, 0.0]])).tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """
    _, first = np.unique(np.round(columns / ALIKE), axis=0, return_index=True)
    return np.asarray(columns[np.sort(first)])


def merged(problem: TradeOff, release: Mechanism, incumbent: Mechanism | None) -> Release | None:
    """The best merging of these that keeps the bound: each symbol with its likeliest release, the best known, all, none; None if none does."""
    support = problem.observation.support
    tried = [np.arange(len(support)), np.zeros(len(support), dtype=np.int64)]
    if isinstance(release, Channel):
        tried.append(numbered(release.matrix[support].argmax(axis=1)))
    if isinstance(incumbent, Merging):
        tried.append(numbered(incumbent.assignment[support]))
    return best_kept(problem, tried)


def of_incumbent(problem: TradeOff, budget: Budget) -> Floats:
    """The posteriors of the best answer so far, none if there is none."""
    if isinstance(budget.incumbent, (Channel, Merging)):
        return posteriors(problem, budget.incumbent)
    return np.zeros((0, len(problem.observation.support)))


@register
@dataclass(frozen=True)
class BottleneckColumnGeneration(Priced[InformationBottleneck]):
    """The randomised optimum of the information bottleneck, with a proof.

    Posteriors are made as they are needed, and branch and bound proves that none is missed.

    The funnel's method with the signs changed: H(S | v) is the concave part of the cost, so boxes are boxes of
    P(s | v), of as many dimensions as S has values, whatever the size of X.

    Parameters
    ----------
    tolerance : float
        Gap at which to stop, relative to the problem's scale.
    """

    solves: ClassVar = InformationBottleneck

    tolerance: float = 9e-7

    def guarantee(self, problem: InformationBottleneck) -> Guarantee:
        """Optimal where the proof is expected to end within seconds, else bounded, as are mergings."""
        small = problem.form == "stochastic" and self.cost(problem) <= 5.0
        return Guarantee.OPTIMAL if small else Guarantee.BOUNDED

    def cost(self, problem: InformationBottleneck) -> float:
        """Seconds until the gap is closed, where it can be; grows with the values of S above all."""
        problem = joined(problem) or problem
        n, n_s = len(problem.observation.support), len(problem.observation.p_s)
        return 0.5 + 0.01 * n * 3.0 ** min(n_s, 20)

    def channels(self, problem: InformationBottleneck, budget: Budget, tolerance: float) -> Proposal:
        """The best mixture of posteriors, and the best bound proved."""
        if (simple := settled(problem)) is not None:
            return simple
        hopeful = len(problem.observation.p_s) <= MOST
        return generate(problem, of_incumbent(problem, budget), budget, tolerance, hopeful=hopeful)

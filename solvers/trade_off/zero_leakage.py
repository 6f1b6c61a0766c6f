"""The most that can be said about X while nothing at all is said about S; how far such releases reach is another problem."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from privopt.arrays import Floats
from privopt.core.registry import find_solver, register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.errors import InvalidProblem
from privopt.mechanisms import Channel
from privopt.models.channel_data import Release
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.problems.privacy_funnel.problem import PrivacyFunnel
from privopt.problems.trade_off.bound import analytic_bound
from privopt.problems.trade_off.data import WITHHELD
from privopt.problems.trade_off.problem import TradeOff
from privopt.problems.trade_off.tree import exact_rank
from privopt.solvers.trade_off.columns.program import kept
from privopt.solvers.trade_off.mergings import impossible

SECONDS, SHARE = 5.0, 0.3
"""Time for the exact search where its answer is only a part of what is sought, at most, and as a share of what is left."""

LARGEST = 200
"""Symbols up to which the exact search is begun: fractions take their time."""

MOST = 1000
"""Symbols whose square matrix is still judged within seconds."""

ROUNDING = 1e-13
"""Nats kept free of a cap: a channel that needs no repair keeps its zeros, without which its judgement takes long."""

CHECKED = 0.8
"""Share of the time left for the exact search where nothing may be leaked: its bound is checked after it."""


@register
@dataclass(frozen=True)
class ZeroLeakage(Solver[PrivacyFunnel]):
    """A release that is exactly independent of S, shown as often as the floor on utility asks.

    With theta0 the largest I(X;Y) at no leakage, every floor up to theta0 is met with leakage exactly 0: the best
    independent release is shown with a rational probability and withheld otherwise, which keeps the independence exact.
    Above theta0, and under a cap on the leakage, X itself is published with some probability, and which of the
    two it was; this keeps the bound but need not be optimal. Where |X| is well above |S|, theta0 is most of H(X).
    Source: the lectures on privacy-utility trade-offs (perfect privacy, null space of P(s | x)).
    """

    solves: ClassVar = PrivacyFunnel
    name: ClassVar[str] = "zero-leakage"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE
    """Feasible, with a bound where that closes the gap; more where nothing may be leaked."""

    def guarantee(self, problem: PrivacyFunnel) -> Guarantee:
        """What the exact search proves where nothing may be leaked; else feasible."""
        strict = independence(problem)
        return Guarantee.FEASIBLE if strict is None else _search(strict).guarantee(strict)

    def cost(self, problem: PrivacyFunnel) -> float:
        """The exact search for independent releases, where there can be any."""
        n = len(problem.observation.support)
        strict = independence(problem)
        if strict is not None:
            return 0.01 + _search(strict).cost(strict)
        return 0.01 + 1e-4 * min(n, LARGEST) ** 2 + 2e-7 * n * len(problem.observation.p_s)

    def refuse(self, problem: PrivacyFunnel) -> str | None:
        """Refuse what has no bound to keep, and mergings."""
        if problem.form != "stochastic":
            return 'it proposes channels, this problem asks for form "merging"'
        if problem.mode == "trade_off":
            return "it answers a floor on the utility or a cap on the leakage, this problem weighs the two"
        size = len(problem.observation.support)
        if size > MOST:
            return f"it takes at most {MOST} symbols, this problem has {size}; matched-merging leaks next to nothing"
        return None

    def run(self, problem: PrivacyFunnel, budget: Budget) -> Proposal:
        """Propose the independent release, thinned out or raised to the bound."""
        if (none := impossible(problem)) is not None:
            return none
        free = independent_release(problem, budget)
        if nothing_may_leak(problem):
            return free.proposal(problem)
        reach = 0.0 if free.channel is None else problem.evaluate(free.channel).utility
        stats: dict[str, float | int | str] = {"theta0": reach}
        release = problem.nothing() if free.channel is None else free.channel
        if problem.is_floor and problem.budget <= reach:
            release = thinned(problem, release, problem.budget)  # type: ignore[arg-type]  # a channel for this form
        elif (share := self._share(problem, reach)) > 0:  # else it stays exactly independent
            release = kept(problem, chord(problem, release, share))  # type: ignore[arg-type]  # a channel for this form
        bound = analytic_bound(problem)
        if bound - problem.evaluate(release).objective <= 1e-9:
            return Proposal(release, bound, {"kind": "analytic"}, stats=stats)
        return Proposal(release, stats=stats)

    def _share(self, problem: PrivacyFunnel, reach: float) -> float:
        """How often X itself may or must be published."""
        if problem.is_floor:
            return float(np.clip((problem.budget - reach) / max(problem.most - reach, 1e-300), 0.0, 1.0))
        whole = problem.evaluate(problem.everything()).leakage
        return 1.0 if whole <= problem.budget else max(0.0, problem.budget - ROUNDING) / whole


@dataclass(frozen=True)
class Independent:
    """The most useful channel that is exactly independent of S, in fractions (None: it says nothing), and a bound."""

    channel: Channel | None
    bound: float | None = None
    dual: object = None

    def proposal(self, problem: PrivacyFunnel) -> Proposal:
        """The answer where nothing may be leaked."""
        release = problem.nothing() if self.channel is None else self.channel
        stats: dict[str, float | int | str] = {"stop": "nothing may be leaked: independent releases only"}
        if self.bound is None:
            return Proposal(release, analytic_bound(problem), {"kind": "analytic"}, stats=stats)
        return Proposal(release, self.bound, {"kind": "independent", "dual": self.dual}, stats=stats)


def nothing_may_leak(problem: PrivacyFunnel) -> bool:
    """Whether only releases that are independent of S are feasible."""
    return problem.is_cap and problem.budget == 0


def refuse_independence(problem: TradeOff) -> str | None:
    """The sentence of solvers that reach next to no leakage but hardly ever none, where the exact search takes the problem."""
    if (
        not isinstance(problem, PrivacyFunnel)
        or problem.form != "stochastic"
        or not nothing_may_leak(problem)
    ):
        return None
    if len(problem.observation.support) > MOST:
        return None
    return "where nothing may leak zero-leakage searches the releases that are independent of the secret"


def independence(problem: PrivacyFunnel) -> LocalInformationPrivacy | None:
    """Local information privacy at epsilon = 0, where that is the same problem and there is something to search."""
    if not nothing_may_leak(problem) or problem.form != "stochastic":
        return None
    try:
        return LocalInformationPrivacy(problem.nominal, epsilon=0.0)
    except InvalidProblem:  # cells that are too small for it
        return None


def _search(strict: LocalInformationPrivacy) -> Solver[Any]:
    return find_solver(strict, "perfect-privacy")


def independent_release(problem: PrivacyFunnel, budget: Budget) -> Independent:
    """What can be said of X and nothing of S: local information privacy at epsilon = 0, which has exact solvers."""
    observed = problem.observation
    support = observed.support
    alone = nothing_may_leak(problem)
    if (len(support) > LARGEST and not alone) or exact_rank(problem) == len(support):
        return Independent(None)
    try:
        strict = LocalInformationPrivacy(problem.nominal, epsilon=0.0)
    except InvalidProblem:  # cells that are too small for it
        return Independent(None)
    search = _search(strict)
    if search.refuse(strict) is not None:
        return Independent(None)
    left = budget.remaining
    seconds = CHECKED * left if alone else min(SECONDS, SHARE * left)
    start = budget.incumbent if alone else None
    proposed = search.run(strict, Budget(time.monotonic() + seconds, budget.seed, budget.progress, start))
    # nothing of it is judged here: the answer made of it is, by the problem that is solved
    channel = proposed.mechanism
    if not isinstance(channel, Channel) or len(channel.outputs) < 2:
        return Independent(None, proposed.bound, proposed.dual)
    weights, total = observed.weights, sum(observed.weights)
    if all(weights):
        return Independent(channel, proposed.bound, proposed.dual)
    rows = fractions_of(channel)
    average = [
        sum((w * p for w, p in zip(weights, column, strict=True)), Fraction(0)) / total
        for column in zip(*rows, strict=True)
    ]
    rows = [row if w else average for w, row in zip(weights, rows, strict=True)]
    return Independent(Channel(rows, channel.inputs, channel.outputs), proposed.bound, proposed.dual)


def fractions_of(channel: Channel) -> list[list[Fraction]]:
    """The exact rows of a channel."""
    return [[Fraction(w, row.total) for w in row.weights] for row in channel.exact()]


def thinned(problem: PrivacyFunnel, channel: Channel, utility: float) -> Channel:
    """The channel shown with just the probability that gives a utility, withheld otherwise.

    The secret stays exactly independent, and I(X;Y) is in proportion to the probability. That is a multiple of
    2^-60, rounded up.
    """
    whole = problem.evaluate(channel).utility
    if utility >= whole:
        return channel
    steps = 2**60
    share = min(Fraction(1), Fraction(math.ceil(Fraction(utility) / Fraction(whole) * steps) + 2**16, steps))
    rows = [[share * v for v in row] + [1 - share] for row in fractions_of(channel)]
    labels = [("shown", label) for label in channel.outputs]
    return Channel(rows, channel.inputs, [*labels, WITHHELD])


def chord(problem: PrivacyFunnel, channel: Channel, share: float) -> Channel:
    """X itself with a probability, else what the channel says, and which of the two it is."""
    return problem.answer(np.hstack([share * problem.everything().matrix, (1.0 - share) * channel.matrix]))


def posteriors(problem: TradeOff, channel: Release) -> Floats:
    """The distributions of the observation after each release, on the support, a row each."""
    observed = problem.observation
    support = observed.support
    joint = observed.p_w[support][:, None] * channel.matrix[support]
    joint = joint[:, joint.sum(axis=0) > 0]
    return np.asarray((joint / joint.sum(axis=0)).T)

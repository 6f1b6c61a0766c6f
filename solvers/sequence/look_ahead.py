"""Chains of two to four letters: releases that are best together with all that follow; for two, a bound of the same kind."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import OUT_OF_TIME, Budget, Guarantee, Proposal, Solver
from privopt.mechanisms.channel import Channel
from privopt.mechanisms.policy.ahead import interpolated
from privopt.mechanisms.policy.beliefs import distinct
from privopt.mechanisms.policy.formulas.look_ahead import (
    MOST_COLUMNS,
    Plan,
    grid,
    planned,
    refuse_look_ahead,
)
from privopt.mechanisms.policy.kernel import TOTAL
from privopt.mechanisms.policy.policy import SequencePolicy
from privopt.problems.sequence_information_privacy.costs_ahead import CostsAhead
from privopt.problems.sequence_information_privacy.data import refuse_words
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
from privopt.problems.sequence_information_privacy.two_letters import (
    MAX_EPSILON,
    ahead_of,
    refuse_beliefs,
)

POINTS = (65, 161)
"""Posteriors of the first grid, and of the second one, which has them where costs bend."""
SHARES = (0.25, 0.35)
"""Of the time that is left, what the steps of a grid may take; its check takes as long again."""
PLANNED = 129
"""Posteriors of the grid for kernels that are prepared."""
FOLLOWED = 400
"""Releases that are followed one by one at most."""
SETTLED = 1e-6
"""How far the cost of one more release, at the belief where it is least, may be from that elsewhere, relatively."""
LEAST = 0.3
"""Share of the predicted seconds of a plan in which it may still be made."""
PREPARED = 10
"""Releases up to which every kernel is the best for the releases that are left."""


@register
@dataclass(frozen=True)
class LookAhead(Solver[SequenceInformationPrivacy]):
    """Chains of two to four letters: each release is the best together with all that follow, by dynamic programming over beliefs.

    A release that costs more now may tell more for later. The step at a belief draws on the two releases whose posteriors
    lie on the lower convex hull of the costs to come; the same program, rounded downward, bounds what any policy can reach.
    With three and four letters posteriors are corners of what the budget allows, and the bound is for others to prove.

    Releases are those of Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information Privacy". Beliefs as states:
    R. D. Smallwood, E. J. Sondik, "The Optimal Control of Partially Observable Markov Processes over a Finite Horizon".
    """

    solves: ClassVar = SequenceInformationPrivacy
    name: ClassVar[str] = "look-ahead"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BOUNDED
    """With a bound that is checked; only feasible for three letters and more."""

    def guarantee(self, problem: SequenceInformationPrivacy) -> Guarantee:
        """Bounded for two letters, else feasible."""
        return Guarantee.BOUNDED if problem.chain.k == 2 else Guarantee.FEASIBLE

    def cost(self, problem: SequenceInformationPrivacy) -> float:
        """Some hundred steps on a grid, and the table of the policy."""
        if problem.chain.k > 2:
            return 0.1 if problem.chain.k == 3 else 0.8
        outputs = problem.setting(1).cost.shape[1]
        return float(0.5 + 0.01 * outputs * min(problem.span, 100))

    def refuse(self, problem: SequenceInformationPrivacy) -> str | None:
        """Refuse other chains, words, and budgets of nothing, of everything, or nearly."""
        if problem.robust:
            return "it takes a chain, not a set of chains"
        if problem.chain.k > 2:
            return refuse_words(problem, MAX_EPSILON, MOST_COLUMNS) or refuse_look_ahead(problem.setting(1))
        return refuse_beliefs(problem)

    def run(self, problem: SequenceInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the policy, for two letters with a grid of posteriors as proof."""
        if problem.chain.k > 2:
            if budget.remaining < LEAST * self.cost(problem):
                return Proposal(problem.anchor(), stats={"stop": OUT_OF_TIME})
            planned(problem.setting(1))
            return Proposal(problem.answer(self.name))
        policy = _prepared(problem) if problem.horizon <= PREPARED else problem.answer(self.name)
        bound, dual, stats = -math.inf, None, dict[str, float | int | str]()
        posteriors = grid(POINTS[0])
        later = _begin(problem, posteriors)
        for points, share in zip(POINTS, SHARES, strict=True):
            begun = time.monotonic()
            if points > len(posteriors):
                before, posteriors = posteriors, placed(posteriors, later, points)
                later = interpolated(before, later, posteriors)
            found, later, steps = _dual(problem, posteriors, later, budget, share)
            proved = problem.prove_bound(found, budget.remaining)
            if proved is not None and -proved[1] > bound:
                bound, dual = -proved[1], found
                stats = {"points": points, "iterations": steps}
                budget.report(None, -bound)
            if points < POINTS[-1] and time.monotonic() - begun > budget.remaining:
                stats = {**stats, "stop": OUT_OF_TIME}
                break
        if dual is None:
            return Proposal(policy, stats={"iterations": 0, "stop": OUT_OF_TIME})
        return Proposal(policy, -bound, dual, stats=stats)


def placed(posteriors: Floats, values: Floats, points: int) -> Floats:
    """More posteriors, denser where the slope of values at these changes faster; a third of them are placed evenly.

    Examples
    --------
    >>> finer = placed(np.linspace(0, 1, 5), np.array([0.0, 0.5, 1.0, 0.5, 0.0]), 9)
    >>> finer.round(2).tolist()
    [0.0, 0.28, 0.35, 0.43, 0.5, 0.57, 0.65, 0.72, 1.0]
    """
    widths = np.diff(posteriors)
    bends = np.abs(np.diff(np.diff(values) / widths)) / (0.5 * (widths[1:] + widths[:-1]))
    bends = np.concatenate([bends[:1], bends, bends[-1:]])
    share = np.sqrt(0.5 * (bends[1:] + bends[:-1])) * widths
    share = share / share.sum() if share.sum() > 0 else 0.0 * share
    heights = np.concatenate([[0.0], np.cumsum(share + 0.5 * widths)])
    found: Floats = np.interp(np.linspace(0.0, heights[-1], points), heights, posteriors)
    found[0], found[-1] = 0.0, 1.0
    return found


def _begin(problem: SequenceInformationPrivacy, posteriors: Floats) -> Floats:
    """What is to come costs nothing at the end of a horizon; in the long run estimates are near what it costs."""
    if not problem.lasting:
        return np.zeros(len(posteriors))
    return ahead_of(problem, posteriors).settled(FOLLOWED, SETTLED)


def _dual(
    problem: SequenceInformationPrivacy, posteriors: Floats, begin: Floats, budget: Budget, share: float
) -> tuple[dict[str, Any], Floats, int]:
    """A grid with as many steps as it takes until one more costs about the same from every belief, what they cost, and their number.

    In the long run what they cost is itself a potential, whatever they began with, and the check is one step.
    """
    costs, steps = CostsAhead(ahead_of(problem, posteriors)), 0
    later = begin if problem.lasting else np.zeros(len(posteriors))
    until = budget.earlier(1 - share)
    while steps < min(FOLLOWED, problem.horizon - 1) and until.remaining > 0:
        after = costs.step(later)
        gain = after - later
        later, steps = after, steps + 1
        if gain.max() - gain.min() <= SETTLED * float(np.abs(gain).max()):
            break
    dual = {"kind": "beliefs", "posteriors": posteriors.tolist(), "steps": steps}
    if problem.lasting:
        dual |= {"steps": 0, "potential": (later - later.min()).tolist()}
    return dual, later, steps


def _prepared(problem: SequenceInformationPrivacy) -> SequencePolicy:
    """The policy whose kernel at each belief within reach is the best for the releases that are left."""
    ahead, tables = ahead_of(problem, grid(PLANNED)), [np.zeros(PLANNED)]
    for _ in range(problem.span - 1):
        tables.append(ahead.estimate(tables[-1]))
    policy = problem.answer("look-ahead")
    setting, beliefs = problem.setting(1), np.array([policy.start().belief])
    kernels: list[tuple[Floats, Channel]] = []
    for step in range(problem.span):
        proposed = Plan.of(ahead, tables[-1 - step]).kernels(beliefs)
        kernels += [
            (belief / belief.sum(), Channel(kernel, setting.inputs, setting.outputs))
            for belief, kernel in zip(beliefs, proposed, strict=True)
        ]
        policy = policy.with_prepared(tuple(kernels))
        weights = policy.kernels(beliefs, step)[0]
        users, outputs = np.nonzero((weights > 0).any(axis=1))
        if step + 1 < problem.span:
            following = policy.predict(beliefs[users], weights[users], outputs, step)
            beliefs = following[distinct(following)[0]]
    whole = policy.kernels(np.array([belief for belief, _ in kernels]))[0] / float(TOTAL)
    return policy.with_prepared(
        [(b, Channel(w, setting.inputs, setting.outputs)) for (b, _), w in zip(kernels, whole, strict=True)]
    )

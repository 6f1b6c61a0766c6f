"""Releases at any size: the constant and the best reproduction mixed, and exponential releases at many temperatures.

An exponential release gives y with a chance in proportion to Q(y) e^(-t D(w, y)). Where distortion is bounded the
temperature is that at which the bound is met; where leakage is bounded each of a few temperatures is mixed with its own
output by the least weight that keeps the bound. Both are passes over the table, so that a thousand symbols take a second.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.distortion_privacy.problem import DistortionPrivacy
from privopt.solvers.distortion_privacy._space import Space, at_once, inner_release

TEMPERATURES = (2.0, 8.0, 1.0, 4.0, 16.0, 0.5, 32.0)
"""Tried in turn, in units of one over the mean excess of a release drawn evenly."""

NARROWER = (0.0, 4.0, 16.0, 64.0)
"""How much a release is held back for what it costs as the only one, in the same units; tried until it no longer helps."""

SHARE = 0.6
"""Of the time, for the search; the rest is for judging."""

ROUNDS = 12
"""Halvings of the weight that keeps a bound on an average."""

CAUTION = 2.0**-36
"""How far inside the bound a release is proposed, relative to it: rounding does not take it out."""

LEAST_CHANCE = 1e-9
"""Of a release, relative to the even one, so that no ratio is infinite."""


@register
@dataclass(frozen=True)
class ExponentialMixing(Solver[DistortionPrivacy]):
    """Exponential releases at a few temperatures, mixed with their own output until the bound holds: a second for a thousand symbols.

    McSherry, Talwar, "Mechanism design via differential privacy" (FOCS 2007), the exponential mechanism, here for any measure.
    """

    solves: ClassVar = DistortionPrivacy
    name: ClassVar[str] = "exponential-mixing"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE
    """Feasible, with no bound."""

    def cost(self, problem: DistortionPrivacy) -> float:
        """A few products of the table with a channel."""
        n, m = len(problem.observation.p_w), int(problem.matrix.shape[1])
        return 0.02 + 2e-6 * n * m + 5e-9 * n * m * len(problem.observation.p_s)

    def refuse(self, problem: DistortionPrivacy) -> str | None:
        """Refuse exact independence: mixtures with a constant leak."""
        if problem.max_leakage == 0:
            return "where nothing may leak a mixture is a constant: direct-lp answers it exactly"
        return None

    def run(self, problem: DistortionPrivacy, budget: Budget) -> Proposal:
        """Propose the best of the mixtures."""
        known = at_once(problem)
        if known is not None:
            return known
        space = Space(problem)
        if space.room == 0:
            return Proposal(problem.reproduction(), stats={"iterations": 0, "stop": "no room for a mixture"})
        until = budget.earlier(1 - SHARE)
        best, value, tried = None, math.inf, 0
        unit = 1.0 / max(float(_distances(space).mean()), 1e-300)
        for narrower in NARROWER:
            before = value
            for temperature in TEMPERATURES:
                if tried and until.remaining <= 0:
                    break
                answer = _answer(space, unit * temperature, unit * narrower, value)
                tried += 1
                best, value = (best, value) if answer is None else answer
            if value >= before < math.inf:
                break
        mechanism = problem.anchor() if best is None else inner_release(space, best)
        return Proposal(mechanism, stats={"iterations": tried, "stop": "all temperatures tried"})


def _distances(space: Space) -> Floats:
    """Excess distortion of a release given the observation."""
    return np.asarray(space.excess / space.weights[:, None])


def exponential(space: Space, temperature: float, narrower: float) -> Floats:
    """The exponential release after one step of its output towards what it uses, rows summing to 1."""
    scores = _distances(space)
    alone = space.excess.sum(axis=0)
    raised = np.exp(-temperature * scores - narrower * (alone - alone.min()))
    first = raised / raised.sum(axis=1, keepdims=True)
    output = space.weights @ first / space.weights.sum()
    raised *= np.maximum(output, LEAST_CHANCE / len(output))
    raised += LEAST_CHANCE * raised.max(axis=1, keepdims=True) * output
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def _answer(space: Space, temperature: float, narrower: float, most: float) -> tuple[Floats, float] | None:
    """A mixture that keeps the bound, and what is minimised of it; None where that is not below ``most``."""
    matrix = exponential(space, temperature, narrower)
    if space.problem.max_leakage is None:
        nearer = _nearer(space, matrix)
        return nearer if nearer[1] < most else None
    output = space.weights @ matrix / space.weights.sum()
    whole, none = float((space.excess * matrix).sum()), float((space.excess * output).sum())
    if whole >= most:
        return None
    kept = largest_mixture(space, matrix, (none - most) / (none - whole) if none > most else 0.0)
    mixed = kept * matrix + (1 - kept) * output
    worth = float((space.excess * mixed).sum())
    return (mixed, worth) if worth < most else None


def _nearer(space: Space, matrix: Floats) -> tuple[Floats, float]:
    """Mixed with the best reproduction where the distortion is too large, with its own output where there is room to spare."""
    room = space.room * (1 - CAUTION)
    spent = float((space.excess * matrix).sum())
    output = np.tile(space.weights @ matrix / space.weights.sum(), (len(matrix), 1))
    if spent > room:
        best = np.zeros(matrix.shape)
        best[np.arange(len(matrix)), space.excess.argmin(axis=1)] = 1.0
        share = room / spent
        matrix = share * matrix + (1 - share) * best
    else:
        loose = float((space.excess * output).sum())
        share = 1.0 if loose <= room else (room - spent) / (loose - spent)
        matrix = (1 - share) * matrix + share * output
    return matrix, space.leakage(matrix)


def largest_mixture(space: Space, matrix: Floats, least: float = 0.0) -> float:
    """The largest share of a channel, mixed with its own output, that keeps the bound on leakage; nearly.

    Shares of ``least`` and below are of no use: where a search finds that none above it keeps the bound, the answer is 0.
    """
    problem = space.problem
    limit = problem.budget * (1 - CAUTION)
    conditional = space.table @ matrix / space.prior[:, None]
    output = space.prior @ conditional
    if problem.order is None:
        high, low = conditional.max(axis=0) / output, conditional.min(axis=0) / output
        top = math.expm1(min(limit, 700.0))
        if problem.leakage == "ldp":
            need = high - (top + 1) * low + top
            over = high > (top + 1) * low
            return min(1.0, float((top / need[over]).min())) if over.any() else 1.0
        above, below = float(high.max()) - 1, 1 - float(low.min())
        shares = [top / above if above > 0 else 1.0, -math.expm1(-limit) / below if below > 0 else 1.0]
        return min(1.0, *shares)

    def reads(share: float) -> float:
        joint = space.prior[:, None] * (share * conditional + (1 - share) * output)
        return problem.leakage_of(joint / joint.sum())

    if reads(1.0) <= limit:
        return 1.0
    if least > 0 and reads(least) > limit:
        return 0.0
    low_end, high_end = least, 1.0
    for _ in range(ROUNDS):
        middle = (low_end + high_end) / 2
        low_end, high_end = (middle, high_end) if reads(middle) <= limit else (low_end, middle)
    return low_end

"""From exact posteriors to a channel of Fractions and a proof of the bound."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from privopt.core.solver import Budget, Proposal
from privopt.mechanisms import Channel
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.local_information_privacy._answer import (
    channel_from_posteriors,
    exact_channel,
    exact_law,
)
from privopt.solvers.local_information_privacy._exact_polytope import ExactPolytope, exact_polytope
from privopt.solvers.local_information_privacy._rational import Point, exact_weights
from privopt.solvers.local_information_privacy._vertex_form import Best, best_mixture, proof

MAX_SYMBOLS = 60
"""Observations up to which the weights of wide slabs are solved in Fractions."""

MAX_WEIGHED = 24
"""Observations up to which the exact weights of a basis have few digits; beyond, one more release makes up for rounding."""

LOST = Fraction(1, 10**8)
"""Weight of posteriors without an exact form that a patch may replace."""

SHARES = tuple(Fraction(1, 10**k) for k in range(14, 1, -1))
"""What a patch may take from the other releases, least first."""


def exact_proposal(problem: LocalInformationPrivacy, points: list[Point], budget: Budget) -> Proposal:
    """The best mixture of the exact vertices, with exact weights where the basis allows it, and its bound."""
    floats = np.array([[float(a) for a in v] for v in points])
    best = best_mixture(problem, floats, budget.remaining)
    law = exact_law(problem)
    points = [*points, law]
    channel = exact_mixture(problem, best, points.__getitem__, law) if len(law) <= MAX_SYMBOLS else None
    stats: dict[str, float | int | str] = {
        "iterations": 1,
        "vertices": len(points) - 1,
        "exact": "no" if channel is None else "yes",
        "stop": "every vertex tried",
    }
    if channel is None:
        channel = channel_from_posteriors(problem, best.solved.weights, best.posteriors)
    bound, dual = proof(problem, best.solved.prices, best.least, budget, complete=True)
    return Proposal(channel, bound, dual, stats=stats)


def exact_mixture(
    problem: LocalInformationPrivacy, best: Best, point: Callable[[int], Point | None], law: Point
) -> Channel | None:
    """The optimal mixture as a channel of Fractions, or None if nothing near it is exactly allowed.

    The weights of the optimal basis are solved exactly. Where rounding chose a basis whose exact weights are
    not all non-negative, the others are kept and one more release, near the law, makes up for what they miss.

    Parameters
    ----------
    problem : LocalInformationPrivacy
    best : Best
    point : callable
        The exact posterior at a position of ``best.posteriors``, or None if there is none.
    law : list of Fraction
        The exact law of the observations of positive probability.
    """
    chosen = best.solved.basis.tolist()
    found = {i: v for i in chosen if (v := point(i)) is not None}
    posteriors = list(found.values())
    weights = exact_weights(posteriors, law) if len(law) <= MAX_WEIGHED else None
    if weights is not None and min(weights) >= 0:
        return exact_channel(problem, law, weights, posteriors)
    if weights is None:
        weights = [_short(float(best.solved.weights[i]), v) for i, v in found.items()]
    if sum(weights, Fraction(0)) < 1 - LOST:
        return None
    rough = [max(a, Fraction(0)) for a in weights]
    patch = _patched(exact_polytope(problem), rough, posteriors, law)
    return None if patch is None else exact_channel(problem, law, *patch)


def _short(weight: float, posterior: Point) -> Fraction:
    """About the weight, such that weight times posterior has a power of two as its denominator: numbers stay short."""
    scale = math.lcm(*(a.denominator for a in posterior))
    bits = scale.bit_length() + 60
    return Fraction(math.floor(Fraction(weight) / scale * 2**bits) * scale, 2**bits)


def _patched(
    polytope: ExactPolytope, weights: Sequence[Fraction], posteriors: list[Point], law: Point
) -> tuple[list[Fraction], list[Point]] | None:
    """Weights a little smaller, and one more posterior that completes the law; by the least share that allows it."""
    average = [
        sum((a * v[w] for a, v in zip(weights, posteriors, strict=True)), Fraction(0))
        for w in range(len(law))
    ]
    for share in SHARES:
        rest = [q - (1 - share) * a for q, a in zip(law, average, strict=True)]
        total = sum(rest, Fraction(0))
        if total > 0 and polytope.allowed(last := [a / total for a in rest]):
            return [*((1 - share) * a for a in weights), total], [*posteriors, last]
    return None

"""Proved enclosures of information and expected distortion, from integer joints."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from privopt.core.exact import ball_ceiling, ball_floor
from privopt.models.channel_data import Release
from privopt.problems.exact_joint import ExactJoint, useful_joint

if TYPE_CHECKING:
    from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy

BITS = 192


def information_enclosure(law: ExactJoint) -> tuple[float, float]:
    """Floats around the mutual information of an exact joint, in nats.

    Examples
    --------
    >>> lo, hi = information_enclosure(ExactJoint(((1, 0), (0, 1)), 2))
    >>> lo <= math.log(2) <= hi and hi - lo < 1e-15
    True
    >>> information_enclosure(ExactJoint(((1, 2), (2, 4)), 9))
    (0.0, 0.0)
    """
    from flint import arb, ctx

    saved = ctx.prec
    try:
        ctx.prec = BITS + law.total.bit_length()
        ball = arb(0)
        for s, y in law.pairs():
            if law.cells[s][y]:
                up, down = law.lift(s, y)
                if up != down:
                    ball += arb(law.cells[s][y]) * (arb(up) / arb(down)).log()
        ball = ball / arb(law.total)
        return max(0.0, ball_floor(ball)), max(0.0, ball_ceiling(ball))
    finally:
        ctx.prec = saved


def distortion_enclosure(law: ExactJoint, matrix: tuple[tuple[float, ...], ...]) -> tuple[float, float]:
    """Floats around the exact expected distortion."""
    total = Fraction(0)
    for row, distances in zip(law.cells, matrix, strict=True):
        for weight, distance in zip(row, distances, strict=True):
            if weight and distance:
                total += weight * Fraction(distance)
    return enclose(total / law.total)


def enclose(value: Fraction) -> tuple[float, float]:
    """The neighbouring floats around a rational; the float itself where it is one."""
    near = float(value)
    if Fraction(near) == value:
        return near, near
    return math.nextafter(near, -math.inf), math.nextafter(near, math.inf)


def utility_enclosure(problem: LocalInformationPrivacy, release: Release) -> tuple[float, float]:
    """Of the utility of a release; unbounded where it rests on the user's own cost."""
    if problem.cost is not None:
        return -math.inf, math.inf
    law = useful_joint(problem.observation, release)
    if isinstance(problem.utility, tuple):
        lo, hi = distortion_enclosure(law, problem.utility)
        return -hi + 0.0, -lo + 0.0
    return information_enclosure(law)

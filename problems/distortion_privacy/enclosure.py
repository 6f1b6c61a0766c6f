"""Sibson's information of an exact joint, enclosed by balls: mutual information and maximal leakage included."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from privopt.core.exact import MAX_BITS, ball_ceiling, ball_floor, exp_at_least, log_enclosure
from privopt.problems.exact_joint import ExactJoint

if TYPE_CHECKING:
    from flint import arb

FIRST_BITS = 192


def independent(law: ExactJoint) -> bool:
    """Whether secret and release are exactly independent."""
    return all(up == down for up, down in (law.lift(s, y) for s, y in law.pairs()))


def at_most(law: ExactJoint, order: float, budget: float) -> bool | None:
    """Whether the information of this order is at most the budget, proved; None where 4096 bits do not decide.

    Examples
    --------
    >>> law = ExactJoint(((3, 1), (1, 3)), 8)
    >>> at_most(law, 1.0, 0.13), at_most(law, 1.0, 0.131), at_most(law, math.inf, 0.405)
    (False, True, False)
    """
    if budget == math.inf or independent(law):
        return True
    if budget == 0:
        return False
    if math.isinf(order):
        return exp_at_least(budget, *best_guess(law).as_integer_ratio())
    from flint import arb, ctx, fmpq

    limit, saved = fmpq(*Fraction(budget).as_integer_ratio()), ctx.prec
    try:
        bits = FIRST_BITS
        while bits <= MAX_BITS:
            ctx.prec = bits
            ball = information_ball(law, order)
            if ball <= arb(limit):
                return True
            if ball > arb(limit):
                return False
            bits *= 2
        return None
    finally:
        ctx.prec = saved


def enclosure(law: ExactJoint, order: float) -> tuple[float, float]:
    """Floats around the information of this order, in nats.

    Examples
    --------
    >>> lo, hi = enclosure(ExactJoint(((1, 0), (0, 1)), 2), 2.0)
    >>> lo <= math.log(2) <= hi and hi - lo < 1e-15
    True
    """
    if independent(law):
        return 0.0, 0.0
    if math.isinf(order):
        return log_enclosure(*best_guess(law).as_integer_ratio())
    from flint import ctx

    saved, bits = ctx.prec, FIRST_BITS
    try:
        while True:
            ctx.prec = bits
            ball = information_ball(law, order)
            if ball.rel_accuracy_bits() >= 64 or bits >= MAX_BITS:
                return max(0.0, ball_floor(ball)), max(0.0, ball_ceiling(ball))
            bits *= 2
    finally:
        ctx.prec = saved


def best_guess(law: ExactJoint) -> Fraction:
    """The sum over releases of the largest P(y | s): e to the maximal leakage."""
    return sum(
        (
            max(Fraction(row[y], total) for row, total in zip(law.cells, law.rows, strict=True) if total)
            for y in range(len(law.columns))
        ),
        Fraction(0),
    )


def information_ball(law: ExactJoint, order: float) -> arb:
    """A ball around the information of a finite order, at the precision in force.

    a/(a-1) ln sum_y (sum_s P(s) P(y|s)^a)^(1/a); at a = 1 the mean log-lift.
    """
    return _mean_log_lift(law) if order == 1 else _power_means(law, order)


def _mean_log_lift(law: ExactJoint) -> arb:
    from flint import arb

    ball = arb(0)
    for s, y in law.pairs():
        if law.cells[s][y]:
            up, down = law.lift(s, y)
            ball += arb(law.cells[s][y]) * (arb(up) / arb(down)).log()
    return ball / arb(law.total)


def _power_means(law: ExactJoint, order: float) -> arb:
    from flint import arb, fmpq

    a = arb(fmpq(*Fraction(order).as_integer_ratio()))
    ball = arb(0)
    for y in range(len(law.columns)):
        inner = arb(0)
        for row, total in zip(law.cells, law.rows, strict=True):
            if row[y]:
                inner += arb(total) / arb(law.total) * (arb(row[y]) / arb(total)) ** a
        if law.columns[y]:
            ball += inner ** (1 / a)
    return a / (a - 1) * ball.log()

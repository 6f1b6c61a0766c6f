"""The exact distribution of secret and release, or of useful symbol and release, in integers, and its information."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

from privopt.core.exact import ball_ceiling, ball_floor, log_enclosure
from privopt.mechanisms import Merging
from privopt.models import JointDistribution
from privopt.models.channel_data import Observation, Release

Pair: TypeAlias = tuple[int, int]
"""Positions of a value of S and of a release."""

BITS = 192
"""Precision of an information, beside the digits of its weights."""


@dataclass(frozen=True)
class ExactJoint:
    """Pr(S=s, Y=y) = cells[s][y] / total, exactly."""

    cells: tuple[tuple[int, ...], ...]
    total: int

    @cached_property
    def rows(self) -> tuple[int, ...]:
        """Weights of the values of S."""
        return tuple(map(sum, self.cells))

    @cached_property
    def columns(self) -> tuple[int, ...]:
        """Weights of the releases."""
        return tuple(map(sum, zip(*self.cells, strict=True)))

    def lift(self, s: int, y: int) -> tuple[int, int]:
        """Numerator and denominator of P(s, y) / (P(s) P(y))."""
        return self.cells[s][y] * self.total, self.rows[s] * self.columns[y]

    def pairs(self) -> list[tuple[int, int]]:
        """The (s, y) that both have positive probability."""
        releases = [y for y, c in enumerate(self.columns) if c]
        return [(s, y) for s, r in enumerate(self.rows) if r for y in releases]


def worst_log_lift(joint: ExactJoint) -> tuple[tuple[float, float], Pair]:
    """Floats around the largest |ln P(s, y) / (P(s) P(y))|, and a pair (s, y) that reaches it.

    A value of S that a release rules out has log-lift -inf. Only pairs of two positive probabilities count; where
    nothing leaks the enclosure is (0, 0).

    Examples
    --------
    >>> (lo, hi), pair = worst_log_lift(ExactJoint(((3, 1), (1, 3)), 8))
    >>> lo <= math.log(2) <= hi, pair
    (True, (0, 1))
    >>> worst_log_lift(ExactJoint(((1, 0), (1, 2)), 4))
    ((inf, inf), (0, 1))
    >>> worst_log_lift(ExactJoint(((1, 2), (2, 4)), 9))
    ((0.0, 0.0), (0, 0))
    """
    best: Pair | None = None
    up, down = 1, 1
    for pair in joint.pairs():
        over, under = joint.lift(*pair)
        if over < under:
            over, under = under, over
        if under == 0:
            return (math.inf, math.inf), pair
        if best is None or over * down > up * under:
            best, up, down = pair, over, under
    if best is None:
        raise ValueError("a joint distribution has a pair of positive probability")
    return log_enclosure(up, down), best


def leaking_joint(observed: Observation, release: Release) -> ExactJoint:
    """The exact distribution of (S, Y)."""
    return _through(observed.leaking, release)


def useful_joint(observed: Observation, release: Release) -> ExactJoint:
    """The exact distribution of (X, Y)."""
    if observed.useful is not None:
        return _through(observed.useful, release)
    weights = observed.weights
    rows, scale = _scaled_rows(release)
    cells = tuple(tuple(w * v for v in row) for w, row in zip(weights, rows, strict=True))
    return ExactJoint(cells, observed.leaking.exact.total * scale)


def _through(joint: JointDistribution, release: Release) -> ExactJoint:
    """The joint distribution pushed through the channel, as a product of integer matrices."""
    n = len(joint.useful)
    table = [joint.exact.weights[i : i + n] for i in range(0, len(joint.exact.weights), n)]
    if isinstance(release, Merging):
        return ExactJoint(tuple(_merge(row, release) for row in table), joint.exact.total)
    from flint import fmpz_mat

    rows, scale = _scaled_rows(release)
    product = fmpz_mat([list(row) for row in table]) * fmpz_mat([list(row) for row in rows])
    cells = tuple(tuple(int(v) for v in row) for row in product.tolist())
    return ExactJoint(cells, joint.exact.total * scale)


def merged_weights(observed: Observation, merging: Merging) -> list[int]:
    """Integer weights of the blocks of a merging."""
    return list(_merge(tuple(observed.weights), merging))


def _merge(row: tuple[int, ...], merging: Merging) -> tuple[int, ...]:
    weights = [0] * len(merging.blocks)
    for block, weight in zip(merging.assignment.tolist(), row, strict=True):
        weights[block] += weight
    return tuple(weights)


def _scaled_rows(release: Release) -> tuple[list[list[int]], int]:
    """The rows of a channel over one common total."""
    rows = release.exact()
    scale = math.lcm(*{row.total for row in rows})
    return [[w * (scale // row.total) for w in row.weights] for row in rows], scale


def information_enclosure(joint: ExactJoint) -> tuple[float, float]:
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

    with ctx.workprec(BITS + joint.total.bit_length()):
        ball = arb(0)
        for s, y in joint.pairs():
            if joint.cells[s][y]:
                up, down = joint.lift(s, y)
                if up != down:
                    ball += arb(joint.cells[s][y]) * (arb(up) / arb(down)).log()
        ball = ball / arb(joint.total)
        return max(0.0, ball_floor(ball)), max(0.0, ball_ceiling(ball))


def enclose(value: Fraction) -> tuple[float, float]:
    """The neighbouring floats around a rational; the float itself where it is one."""
    near = float(value)
    if Fraction(near) == value:
        return near, near
    return math.nextafter(near, -math.inf), math.nextafter(near, math.inf)

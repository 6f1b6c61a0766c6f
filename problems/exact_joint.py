"""The exact distribution of secret and release, or of useful symbol and release, in integers, and its information."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import compress
from typing import TypeAlias

import numpy as np

from privopt.core.exact import IntegerRow, ball_ceiling, ball_floor, log_enclosure
from privopt.mechanisms import Channel, Merging
from privopt.models import JointDistribution
from privopt.models.channel_data import Observation, Release

Pair: TypeAlias = tuple[int, int]
"""Positions of a value of S and of a release."""

NEAR = 1e-6
"""Log-lifts in floats that are nearer than this to the largest are compared exactly."""

TINIEST = 2**900
"""Probabilities below one in so many are not compared in floats."""

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

    def pairs(self) -> list[Pair]:
        """The (s, y) that both have positive probability."""
        releases = [y for y, c in enumerate(self.columns) if c]
        return [(s, y) for s, r in enumerate(self.rows) if r for y in releases]

    @cached_property
    def largest_lift(self) -> Pair:
        """The first value of S and release of the largest lift, exactly.

        Examples
        --------
        >>> ExactJoint(((3, 1), (1, 3)), 8).largest_lift
        (0, 0)
        """
        best: Pair | None = None
        up, down = 1, 1
        for pair in self._near_largest(both=False):
            over, under = self.lift(*pair)
            if best is None or over * down > up * under:
                best, up, down = pair, over, under
        return _one(best)

    @cached_property
    def farthest_lift(self) -> Pair:
        """The first value of S and release of the largest |log-lift|, exactly; one that rules the value out comes first."""
        best: Pair | None = None
        up, down = 1, 1
        for pair in self._near_largest(both=True):
            over, under = self.lift(*pair)
            if over < under:
                over, under = under, over
            if under == 0:
                return pair
            if best is None or over * down > up * under:
                best, up, down = pair, over, under
        return _one(best)

    def _near_largest(self, *, both: bool) -> list[Pair]:
        """In their order, the pairs whose lift may be the largest of all, up alone or up and down, as floats see it."""
        least = min((v for line in self.cells for v in line if v), default=0)
        if least * TINIEST <= self.total:
            return self.pairs()
        cells = np.array([[v / self.total for v in line] for line in self.cells])
        rows, columns = cells.sum(axis=1), cells.sum(axis=0)
        possible = np.outer(rows > 0, columns > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(cells) - np.log(rows)[:, None] - np.log(columns)
        sizes = np.where(possible, np.abs(logs) if both else logs, -np.inf)
        return [(s, y) for s, y in np.argwhere(sizes >= sizes.max(initial=-np.inf) - NEAR).tolist()]


def _one(pair: Pair | None) -> Pair:
    if pair is None:
        raise ValueError("a joint distribution has a pair of positive probability")
    return pair


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
    pair = joint.farthest_lift
    up, down = joint.lift(*pair)
    if not up:
        return (math.inf, math.inf), pair
    return log_enclosure(max(up, down), min(up, down)), pair


_LAST: list[tuple[JointDistribution, Release, ExactJoint]] = []


def leaking_joint(observed: Observation, release: Release) -> ExactJoint:
    """The exact distribution of (S, Y); the last one is remembered, since a certificate reads it several times."""
    for joint, channel, known in _LAST:
        if joint is observed.leaking and channel is release:
            return known
    known = _through(observed.leaking, release)
    _LAST[:] = [(observed.leaking, release, known)]
    return known


def useful_joint(observed: Observation, release: Release) -> ExactJoint:
    """The exact distribution of (X, Y)."""
    if observed.useful is not None:
        return _through(observed.useful, release)
    weights = observed.weights
    rows, scale = _scaled_rows(release)
    cells = tuple(tuple(w * v for v in row) for w, row in zip(weights, rows, strict=True))
    return ExactJoint(cells, observed.leaking.exact.total * scale)


def useful_information(observed: Observation, release: Release) -> tuple[float, float]:
    """Floats around I(X;Y); where X is what is observed, only cells that are not 0 are visited.

    Examples
    --------
    >>> from privopt.models.channel_data import observation
    >>> observed = observation(JointDistribution.normalised([[1, 0], [0, 1]]))
    >>> lo, hi = useful_information(observed, Merging([[0], [1]]))
    >>> lo <= math.log(2) <= hi and hi - lo < 1e-15
    True
    """
    if observed.useful is not None:
        return information_enclosure(useful_joint(observed, release))
    weights, total = observed.weights, observed.leaking.exact.total
    if isinstance(release, Merging):
        merged = _merge(tuple(weights), release)
        return _information(merged, merged, merged, total)
    exact = release.exact()
    shared = [math.gcd(weight, row.total) for weight, row in zip(weights, exact, strict=True)]
    scale = math.lcm(*{row.total // g for row, g in zip(exact, shared, strict=True)})
    columns = [0] * len(release.outputs)
    cells: list[int] = []
    for weight, row, g in zip(weights, exact, shared, strict=True):
        if weight:
            factor = weight // g * (scale // (row.total // g))
            for y in _places(row):
                cell = factor * row.weights[y]
                columns[y] += cell
                cells.append(cell)
    if len({row for weight, row in zip(weights, exact, strict=True) if weight}) == 1:
        return 0.0, 0.0
    return _information(cells, [weight * scale for weight in weights], columns, total * scale)


def _places(row: IntegerRow) -> list[int]:
    """Where a row is not 0."""
    return list(compress(range(len(row.weights)), row.weights))


def _through(joint: JointDistribution, release: Release) -> ExactJoint:
    """The joint distribution pushed through the channel."""
    n = len(joint.useful)
    table = [joint.exact.weights[i : i + n] for i in range(0, len(joint.exact.weights), n)]
    if isinstance(release, Merging):
        return ExactJoint(tuple(_merge(row, release) for row in table), joint.exact.total)
    cells, scale = pushed(table, release)
    return ExactJoint(cells, joint.exact.total * scale)


def pushed(table: Sequence[tuple[int, ...]], channel: Channel) -> tuple[tuple[tuple[int, ...], ...], int]:
    """An integer table times the matrix of a channel, in integers over one scale.

    The scale is the least common multiple of what is left of the totals of rows after the factors that they share with
    their columns: far less than that of the totals where these are multiples of the weights.

    Examples
    --------
    >>> pushed([(1, 3)], Channel([[Fraction(1, 2), Fraction(1, 2)], [Fraction(1, 3), Fraction(2, 3)]]))
    (((3, 5),), 2)
    """
    exact = channel.exact()
    shared = [
        math.gcd(row.total, *column) for row, column in zip(exact, zip(*table, strict=True), strict=True)
    ]
    rest = [tuple(v // g for v, g in zip(line, shared, strict=True)) for line in table]
    totals = [row.total // g for row, g in zip(exact, shared, strict=True)]
    scale = math.lcm(*set(totals))
    factors = [scale // total for total in totals]
    places = [_places(row) for row in exact]
    used = [len(line) - line.count(0) for line in zip(*rest, strict=True)]
    if sum(n * len(line) for n, line in zip(used, places, strict=True)) <= len(exact) * len(channel.outputs):
        return _product(rest, exact, places, factors), scale
    from flint import fmpz_mat

    rows = [[w * f for w in row.weights] for row, f in zip(exact, factors, strict=True)]
    product = fmpz_mat([list(line) for line in rest]) * fmpz_mat(rows)
    return tuple(tuple(int(v) for v in line) for line in product.tolist()), scale


def _product(
    table: list[tuple[int, ...]], exact: Sequence[IntegerRow], places: list[list[int]], factors: list[int]
) -> tuple[tuple[int, ...], ...]:
    """The product of a table and rows that are mostly 0, each times a factor."""
    size = len(exact[0].weights)
    cells = []
    for line in table:
        sums = [0] * size
        for weight, row, used, own in zip(line, exact, places, factors, strict=True):
            if weight:
                factor = weight * own
                for y in used:
                    sums[y] += factor * row.weights[y]
        cells.append(tuple(sums))
    return tuple(cells)


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
    return [
        list(row.weights) if row.total == scale else [w * (scale // row.total) for w in row.weights]
        for row in rows
    ], scale


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
    if _independent(joint):
        return 0.0, 0.0
    return _information((c for line in joint.cells for c in line), joint.rows, joint.columns, joint.total)


def _independent(joint: ExactJoint) -> bool:
    """Whether all lifts are 1."""
    total, columns = joint.total, joint.columns
    return all(
        cell * total == row * column
        for row, line in zip(joint.rows, joint.cells, strict=True)
        for cell, column in zip(line, columns, strict=True)
    )


def _information(
    cells: Iterable[int], rows: Iterable[int], columns: Iterable[int], total: int
) -> tuple[float, float]:
    """Floats around the mutual information of cells / total, from the entropies of all cells and of both sums."""
    from flint import arb, ctx

    with ctx.workprec(BITS + total.bit_length()):
        both, *each = (
            sum((ball * ball.log() for ball in map(arb, filter(None, weights))), arb(0))
            for weights in (cells, rows, columns)
        )
        whole = arb(total)
        ball = (both - each[0] - each[1]) / whole + whole.log()
        return max(0.0, ball_floor(ball)), max(0.0, ball_ceiling(ball))


def enclose(value: Fraction) -> tuple[float, float]:
    """The neighbouring floats around a rational; the float itself where it is one."""
    near = float(value)
    if Fraction(near) == value:
        return near, near
    return math.nextafter(near, -math.inf), math.nextafter(near, math.inf)

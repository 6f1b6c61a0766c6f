"""One side of a private record in a binary chain as proofs need it: exact steps, rounded with known errors.

Labels are exchanged on the way outwards so that every step has a positive determinant; the side ends at the first
record that does not depend on the private one.
The steps come from the exact chain, through Arb balls of 128 bits; floats made of them are off by at most one rounding,
weights and costs are rounded down. Only IEEE operations follow, which every processor does alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from privopt.arrays import Floats
from privopt.models import MarkovChain
from privopt.problems.redaction.data import RedactionData

if TYPE_CHECKING:
    from flint import arb

    Step: TypeAlias = tuple[arb, arb, arb]

U = 2.0**-53
BITS = 128
ACCURATE = 80
"""Relative accuracy in bits that every ball must keep; else nothing is proved."""
LEAST = 2.0**-200
"""A determinant below this counts as none: what lies beyond is then taken for free, which bounds costs from below."""

Clock: TypeAlias = Callable[[], float]


def near(ball: arb) -> float:
    """A float within 1.01 roundings of a number that is not negative; 0 only for 0, and inf where it is too large."""
    if ball == 0:
        return 0.0
    if ball.rel_accuracy_bits() < ACCURATE:
        raise ArithmeticError("a ball lost its accuracy")
    if ball > 1e300:
        return math.inf
    return max(float(ball.mid()), 5e-324)


@dataclass(frozen=True, eq=False)
class Track:
    """Steps and weights of a side by distance, or one period of them; see the module.

    Parameters
    ----------
    cross, back, determinants
        Within 2 roundings of the chances of 0 -> 1 and 1 -> 0 and of what they leave of 1; zero only if exactly so.
    weights
        ``(period, 2)``, at most the true ones.
    length
        Number of records that depend on the private one.
    steps
        The same steps as balls.
    """

    cross: Floats
    back: Floats
    determinants: Floats
    weights: Floats
    length: int
    steps: tuple[Step, ...]

    @property
    def period(self) -> int:
        """After how many records the steps and weights repeat (the length itself if they do not)."""
        return len(self.cross)

    def index(self, distance: int) -> int:
        """Where the arrays hold the record at a distance."""
        return (distance - 1) % self.period

    def flipped(self) -> Self:
        """Both labels exchanged at every record, the private one included."""
        weights = np.ascontiguousarray(self.weights[:, ::-1])
        steps = tuple((b, a, det) for a, b, det in self.steps)
        return type(self)(self.back, self.cross, self.determinants, weights, self.length, steps)

    def spent(self, count: int) -> Floats:
        """``spent[d]`` is at most the cost of redacting every record up to distance d; ``count + 1`` of them."""
        each = (self.weights[:, 0] + self.weights[:, 1]) * (1 - 2 * U)
        if self.period == 0 or (each == each[0]).all():
            one = float(each[0]) if len(each) else 0.0
            return np.arange(count + 1, dtype=np.float64) * (one * (1 - 2 * U)) * (1 - 2 * U)
        sums = np.cumsum(each[np.arange(count) % self.period])
        return np.asarray(np.concatenate(([0.0], sums * (1 - np.arange(3, count + 3) * U))))

    @cached_property
    def total(self) -> float:
        """At most the cost of redacting every record."""
        return float(self.spent(self.length)[-1])


@dataclass(frozen=True, eq=False)
class Far:
    """What the first ``count`` distances can tell of the private record, before anything is released.

    Parameters
    ----------
    cross, back
        Off-diagonal entries of the product of the steps, over its determinant; within 2 roundings, not falling. The
        ratio that a first release of label 0 shows is ``1 + 1 / back``, that of label 1 ``1 + 1 / cross``.
    spent
        See :meth:`Track.spent`.
    """

    cross: Floats
    back: Floats
    spent: Floats

    @property
    def count(self) -> int:
        """Number of distances."""
        return len(self.cross)

    def flipped(self) -> Self:
        """Both labels exchanged."""
        return type(self)(self.back, self.cross, self.spent)


class Walker:
    """Extends what is known of a track outwards."""

    def __init__(self, track: Track, clock: Clock) -> None:
        self.track, self.clock = track, clock
        self._cross, self._back = list[float](), list[float]()
        self._last: tuple[Any, Any] = (0, 0)

    def far(self, count: int) -> Far:
        """The first distances, as many as there are."""
        from flint import ctx

        count = min(count, self.track.length)
        with ctx.workprec(BITS):
            c, b = self._last
            for d in range(len(self._cross) + 1, count + 1):
                step_cross, step_back, det = self.track.steps[self.track.index(d)]
                # Sums of terms that are not negative: 1 minus an off-diagonal entry is the other one plus the determinant.
                c, b = (
                    (c * (det + step_cross) + (b + 1) * step_cross) / det,
                    (b * (det + step_back) + (c + 1) * step_back) / det,
                )
                self._cross.append(near(c))
                self._back.append(near(b))
                if d % 256 == 0 and self.clock() <= 0:
                    raise TimeoutError
            self._last = c, b
        cross, back = (np.array(values, dtype=np.float64) for values in (self._cross, self._back))
        return Far(np.maximum.accumulate(cross), np.maximum.accumulate(back), self.track.spent(count))


def tracks(data: RedactionData, private: int, clock: Clock) -> tuple[Track, Track]:
    """Left and right of a private record that has two values; weights are shares of their sum.

    Raises
    ------
    TimeoutError
        When no seconds are left by ``clock`` before it is done.
    """
    from flint import ctx

    with ctx.workprec(BITS):
        if data.chain.homogeneous and data.chain.stationary and data.utility_chain.stationary:
            return _repeated(data, private)
        return _changing(data, private, clock)


def of_floats(steps: Floats, weights: Floats) -> Track:
    """A side of steps (m, 2, 2) and weights (m, 2) in floats: off-diagonal entries and weights count as exact."""
    from flint import arb, ctx

    with ctx.workprec(BITS):
        pairs = zip(steps[:, 0, 1].tolist(), steps[:, 1, 0].tolist(), strict=True)
        balls = [(arb(a), arb(b), 1 - arb(a) - arb(b)) for a, b in pairs]
        return _relabelled(balls, np.array(weights), len(balls))


def _relabelled(steps: list[Step], weights: Floats, length: int) -> Track:
    """Labels exchanged, and cut where dependence ends; ``steps`` may be one period."""
    kept, swapped = list[Any](), np.zeros(len(steps), dtype=bool)
    swap = False
    for i, (a, b, det) in enumerate(steps):
        size = abs(det)
        if size == 0 or size < LEAST:
            length = i
            break
        before, swap = swap, swap != (det < 0)
        rows = ((1 - a, a), (b, 1 - b))
        if det < 0:
            kept.append((rows[before][1 ^ swap], rows[1 ^ before][int(swap)], size))
        else:
            kept.append((b, a, size) if before else (a, b, size))
        swapped[i] = swap
    count = len(kept)
    floats = [np.array([near(step[j]) for step in kept], dtype=np.float64) for j in range(3)]
    weights = np.where(swapped[:count, None], weights[:count, ::-1], weights[:count])
    weights = np.where(weights < 1e-280, 0.0, weights)  # too small for relative errors
    return Track(floats[0], floats[1], floats[2], weights, length if count else 0, tuple(kept))


def _repeated(data: RedactionData, private: int) -> tuple[Track, Track]:
    """A binary chain with one stationary step is its own reverse."""
    from flint import arb

    chain, n = data.chain, data.length
    row, other = chain.exact_step(0) if n > 1 else (chain.exact_initial, chain.exact_initial)
    a, b = arb(row.weights[1]) / row.total, arb(other.weights[0]) / other.total
    det = arb(row.weights[0] * other.total - other.weights[0] * row.total) / (row.total * other.total)
    start = data.utility_chain.exact_initial
    lengths = (private, n - 1 - private)
    if data.weights is None:
        each = np.array([near(arb(w) / start.total / n) for w in start.weights]) * (1 - 4 * U)
        period = 1 if det > 0 else 2
        left, right = (
            _relabelled([(a, b, det)] * min(period, m), np.tile(each, (min(period, m), 1)), m)
            for m in lengths
        )
        return left, right
    each = np.array([near(arb(w) / start.total) for w in start.weights]) * (1 - 4 * U)
    weights = shares(data)[:, None] * each * (1 - 4 * U)
    sides = (weights[:private][::-1], weights[private + 1 :])
    left, right = (_relabelled([(a, b, det)] * m, side, m) for m, side in zip(lengths, sides, strict=True))
    return left, right


def _changing(data: RedactionData, private: int, clock: Clock) -> tuple[Track, Track]:
    n = data.length
    distributions, moves = _walked(data.chain, n, clock)
    valued = distributions
    if data.utility_chain is not data.chain:
        valued, _ = _walked(data.utility_chain, n, clock)
    back: list[Step] = []
    for t in range(private, 0, -1):
        (p, q), (x, y), (a, b, det) = distributions[t - 1], distributions[t], moves[t - 1]
        if x == 0 or y == 0:  # beyond a record that is constant, which ends the side
            break
        back.append((q * b / x, p * a / y, det * p * q / (x * y)))
    share = shares(data)
    weights = np.array([[near(x) for x in pair] for pair in valued]) * share[:, None] * (1 - 8 * U)
    left, right = weights[:private][::-1][: len(back)], weights[private + 1 :]
    return _relabelled(back, left, len(back)), _relabelled(moves[private:], right, n - 1 - private)


def _walked(chain: MarkovChain, n: int, clock: Clock) -> tuple[list[list[Any]], list[Step]]:
    """The distribution of every record, and every step."""
    from flint import arb

    distributions = [[arb(w) / chain.exact_initial.total for w in chain.exact_initial.weights]]
    moves: list[Step] = []
    for t in range(n - 1):
        row, other = chain.exact_step(t)
        a, b = arb(row.weights[1]) / row.total, arb(other.weights[0]) / other.total
        stay, leave = arb(row.weights[0]) / row.total, arb(other.weights[1]) / other.total
        det = arb(row.weights[0] * other.total - other.weights[0] * row.total) / (row.total * other.total)
        moves.append((a, b, det))
        p, q = distributions[-1]
        distributions.append([p * stay + q * b, p * a + q * leave])
        if t % 256 == 255 and clock() <= 0:
            raise TimeoutError
    return distributions, moves


def shares(data: RedactionData) -> Floats:
    """At most the share of each record in the sum of the weights."""
    if data.weights is None:
        return np.full(data.length, 1 / data.length) * (1 - 2 * U)
    whole = sum(map(Fraction, data.weights), Fraction(0))
    return np.array(data.weights) / math.nextafter(float(whole), math.inf) * (1 - 2 * U)

"""Largest log-ratios of the outputs on one side of a private record, by a transfer recursion.

Given the private record the two sides are independent, and on one side only the first released value
matters: what lies beyond it is independent of the private record given it, so it cancels in every
ratio. Walking away from the private record, A[x, v] is the probability that every nearer record is
redacted and the record at this distance has value v, given that the private record has value x.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats

Numbers = tuple[float, ...]

SMALL = 1e-100
CHECKED = 256
BLOCK = 4096
BLOCK_CELLS = 1 << 19
"""Numbers of a block of ratios in memory."""
RESTING = 4e-16
"""Relative change by a step below which a state counts as a fixed point."""


@dataclass(slots=True)
class Peak:
    """The largest excess ratio - 1 >= 0 seen in one direction, and the output that shows it."""

    excess: float = 0.0
    distance: int = 0
    value: int = -1

    def offer(self, difference: float, other: float, distance: int, value: int) -> float:
        """Take (p - q) / q for an output of probabilities p and q, where it is larger; the peak after that."""
        if other > 0.0:
            excess = difference / other
        else:
            excess = math.inf if difference > 0.0 else -1.0
        if excess > self.excess or self.distance == 0:
            self.excess, self.distance, self.value = max(excess, 0.0), distance, value
        return self.excess


def binary_peaks(steps: Iterable[Floats], redaction: Floats, repeated: bool) -> tuple[Peak, Peak]:
    """Peaks of the directions (0, 1) and (1, 0); see ``directional_leakage``.

    a, b are the rows A[0], A[1] up to a common scale, g = a - b with all its digits, t the sum of g.
    """
    up_peak, down_peak, source = Peak(), Peak(), _numbers(steps, repeated)
    up = down = -1.0
    a0, a1, b0, b1, g0, t = 1.0, 0.0, 0.0, 1.0, 1.0, 0.0
    rows: list[list[float]] = []
    base = d = 0
    while d < len(redaction) and (step := next(source, None)) is not None:
        if not base <= d < base + len(rows):
            base, rows = d, redaction[d : d + BLOCK].tolist()  # in blocks: most sides are read in part
        q00, q01, q10, q11, e0, e1 = step
        before = (a0, a1, b0, b1, g0, t)
        a0, a1, b0, b1 = a0 * q00 + a1 * q10, a0 * q01 + a1 * q11, b0 * q00 + b1 * q10, b0 * q01 + b1 * q11
        g0, g1 = t * q10 + g0 * e0, t * q11 + g0 * e1
        r0, r1 = rows[d - base]
        d += 1
        if r0 < 1.0 or r1 < 1.0:
            # Calls only where a peak can rise: this loop runs once a record.
            if r0 < 1.0 and (a0 > 0.0 or b0 > 0.0) and not (b0 * up >= g0 and a0 * down >= -g0):
                up, down = up_peak.offer(g0, b0, d, 0), down_peak.offer(-g0, a0, d, 0)
            if r1 < 1.0 and (a1 > 0.0 or b1 > 0.0) and not (b1 * up >= g1 and a1 * down >= -g1):
                up, down = up_peak.offer(g1, b1, d, 1), down_peak.offer(-g1, a1, d, 1)
            # Later outputs mix the columns, so their ratios are at most the largest column's.
            known = b0 * up >= g0 and a0 * down >= -g0 and b1 * up >= g1 and a1 * down >= -g1
            if known or (r0 == 0.0 and r1 == 0.0):
                return up_peak, down_peak
            a0, a1, b0, b1, g0, g1 = a0 * r0, a1 * r1, b0 * r0, b1 * r1, g0 * r0, g1 * r1
            t = g0 + g1
        if a0 + a1 + b0 + b1 < SMALL:
            scale = a0 + a1 + b0 + b1
            if scale == 0.0:
                return up_peak, down_peak
            a0, a1, b0, b1, g0, t = a0 / scale, a1 / scale, b0 / scale, b1 / scale, g0 / scale, t / scale
        if repeated and d % CHECKED == 0 and _rests(before, (a0, a1, b0, b1, g0, t)):
            other = (redaction[d:] != redaction[d - 1]).any(axis=1)
            d += int(np.argmax(other)) if other.any() else len(other)
    if d:
        up_peak.offer(t, b0 + b1, d, -1)
        down_peak.offer(-t, a0 + a1, d, -1)
    return up_peak, down_peak


def _numbers(steps: Iterable[Floats], repeated: bool) -> Iterator[Numbers]:
    """Entries of each step, row by row, and the difference of its rows."""
    for step in steps:
        (q00, q01), (q10, q11) = step.tolist()
        entries = (q00, q01, q10, q11, q00 - q10, q01 - q11)
        yield entries
        while repeated:
            yield entries


def _rests(before: Numbers, now: Numbers) -> bool:
    """Whether a step changed nothing but the scale, to the last digits."""
    scale = now[0] + now[1] + now[2] + now[3]
    old = before[0] + before[1] + before[2] + before[3]
    return all(abs(x / old - y / scale) <= RESTING * abs(y / scale) for x, y in zip(before, now, strict=True))


@dataclass(frozen=True)
class Directional:
    """For every ordered pair (x, x'), the largest log Pr(output | x) / Pr(output | x') on one side.

    ``distance[x, x']`` and ``value[x, x']`` name the first release that attains it; value -1 stands
    for "everything redacted", distance 0 for an empty side.
    """

    largest: Floats
    distance: NDArray[np.int64]
    value: NDArray[np.int64]

    @classmethod
    def none(cls, k: int) -> Directional:
        """Nothing seen yet."""
        return cls(np.zeros((k, k)), np.zeros((k, k), np.int64), np.full((k, k), -1, np.int64))


def directional_leakage(steps: Iterable[Floats], redaction: Floats, repeated: bool = False) -> Directional:
    """Directional leakages of one side, O(m k^3), or as many steps as can still tell more.

    Parameters
    ----------
    steps : iterable of (k, k) arrays
        Steps away from the private record, at least one a row of ``redaction`` unless all is released
        before.
    redaction : array (m, k)
        Redaction probabilities by distance (row d-1 for distance d) and value.
    repeated : bool
        Whether all steps are equal; runs in which everything is redacted are then one matrix power.
    """
    k = redaction.shape[1]
    if k == 2:
        return _of_peaks(binary_peaks(steps, redaction, repeated))
    most = Directional.none(k)
    state = _State.start(k)
    plain, alike = _Runs(lambda: _shown(redaction)), _Runs(lambda: _changes(redaction))
    source, distance = iter(steps), 0
    start: _State | None = None
    step = next(source, None)
    while step is not None and distance < len(redaction):
        if repeated and redaction[distance].min() == 1 and (hidden := plain.after(distance)) > 1:
            state, distance = state.plain(step, hidden), distance + hidden
            continue
        state, r = state.plain(step, 1), redaction[distance]
        distance += 1
        shown = np.flatnonzero(r < 1)
        if shown.size:
            ratios = _log_ratios(state.table[:, shown], state.gap[:, :, shown])
            for v, one in zip(shown.tolist(), ratios, strict=True):
                _record(most, one, distance, v)
        if not r.any() or (shown.size and state.reveals_no_more(most)):
            return most
        before, state = start, state.redacted(r)
        start = state
        if not repeated:
            step = next(source, None)
        elif before is not None and state.rests(before):
            # Equal steps and equal redactions from a fixed point show the same ratios again and again.
            distance += alike.after(distance - 1)
    if distance:
        _record(most, _log_ratios(state.table.sum(axis=1)[:, None], state.total[:, :, None])[0], distance, -1)
    return most


@dataclass(frozen=True)
class _State:
    """A up to scale, the differences gap[x, x'] = A[x] - A[x'] with all their digits, and their row sums.

    The sums stay exactly 0 until a partial redaction.
    """

    table: Floats
    gap: Floats
    total: Floats

    @classmethod
    def start(cls, k: int) -> _State:
        """At the private record."""
        return cls(np.eye(k), np.eye(k)[:, None, :] - np.eye(k)[None, :, :], np.zeros((k, k)))

    def plain(self, step: Floats, count: int) -> _State:
        """After some equal steps without any release.

        Rows of differences compose: those of Q^(a+b) are those of Q^a, without the last column, times
        those of Q^b, because each row of differences sums to 0.
        """
        power, apart = step, step[:-1] - step[-1]
        table, gap = self.table, self.gap
        while True:
            if count & 1:
                table, gap = table @ power, self.total[:, :, None] * power[-1] + gap[:, :, :-1] @ apart
            count >>= 1
            if not count:
                return _State(table, gap, self.total)
            power, apart = power @ power, apart[:, :-1] @ apart

    def redacted(self, r: Floats) -> _State:
        """After a redaction of the current record with probabilities r, rescaled."""
        table, gap, total = self.table, self.gap, self.total
        if (r < 1).any():
            table, gap = table * r, gap * r
            total = gap.sum(axis=2)
        scale = table.max() or 1.0
        return _State(table / scale, gap / scale, total / scale)

    def rests(self, before: _State) -> bool:
        """Whether the state is that of one record before, to the last digits."""
        return all(
            np.allclose(now, then, rtol=RESTING, atol=0.0)
            for now, then in ((self.table, before.table), (self.gap, before.gap))
        )

    def reveals_no_more(self, seen: Directional) -> bool:
        """Whether no later output can raise a ratio: each mixes the columns of A, so it is at most their largest."""
        return bool((_log_ratios(self.table, self.gap).max(axis=0) <= seen.largest).all())


def _of_peaks(peaks: tuple[Peak, Peak]) -> Directional:
    """Two directions as the arrays of any number of states."""
    one, two = peaks
    largest = np.array([[0.0, math.log1p(one.excess)], [math.log1p(two.excess), 0.0]])
    distance = np.array([[0, one.distance], [two.distance, 0]])
    return Directional(largest, distance, np.array([[-1, one.value], [two.value, -1]]))


class _Runs:
    """From each place on, how many places lie before the next mark; marks are looked for when first asked."""

    def __init__(self, marks: Callable[[], NDArray[np.bool_]]) -> None:
        self._marks = marks

    @cached_property
    def _places(self) -> NDArray[np.intp]:
        marks = self._marks()
        return np.append(np.flatnonzero(marks), len(marks))

    def after(self, place: int) -> int:
        """How many places lie before the next mark."""
        return int(self._places[np.searchsorted(self._places, place)]) - place


def _shown(redaction: Floats) -> NDArray[np.bool_]:
    """Which records are ever released."""
    return np.asarray((redaction < 1).any(axis=1))


def _changes(redaction: Floats) -> NDArray[np.bool_]:
    """After which records but the last another row comes."""
    return np.asarray((redaction[1:] != redaction[:-1]).any(axis=1))


def first_release_ratios(steps: Iterable[Floats], repeated: bool = False) -> Iterator[Floats]:
    """For each distance, log Pr(X_d = v | x) / Pr(X_d = v | x') as an array [v, x, x'].

    This is what a first release of value v at that distance shows when all nearer records are
    always redacted; -inf where x forbids v, inf where x' alone does.
    """
    return itertools.chain.from_iterable(first_release_blocks(steps, repeated))


def first_release_blocks(steps: Iterable[Floats], repeated: bool = False) -> Iterator[Floats]:
    """The ratios of :func:`first_release_ratios` for several distances at once, as arrays [d, v, x, x'].

    With ``repeated`` all steps are equal, and about twice as many distances at most are computed as are taken; otherwise
    each block is of one distance.
    """
    if repeated:
        yield from _of_equal_steps(iter(steps))
        return
    state: _State | None = None
    for step in steps:
        state = _State.start(len(step)) if state is None else state
        state = state.plain(step, 1)
        yield _log_ratios(state.table, state.gap)[None]


def _of_equal_steps(steps: Iterator[Floats]) -> Iterator[Floats]:
    """The same along equal steps: the state before a block, times powers of the step."""
    step = next(steps, None)
    if step is None:
        return
    k, count = len(step), 8
    most = max(1, min(1024, BLOCK_CELLS // k**3))
    before = _State.start(k)
    power, apart = np.broadcast_to(step, (1, k, k)), (step[:-1] - step[-1])[None]
    first = _log_ratios(step, step[:, None] - step[None])[None]
    before = before.plain(step, 1)
    while True:
        while len(power) < count:  # rows of differences compose, see plain
            power, apart = (
                np.concatenate((power, power @ power[-1])),
                np.concatenate((apart, apart[:, :, :-1] @ apart[-1])),
            )
        tables, gaps = before.table @ power, before.gap[None, :, :, :-1] @ apart[:, None]
        left = sum(1 for _ in itertools.islice(steps, count))
        ratios = _log_ratios(tables[:left], gaps[:left])
        yield np.concatenate((first, ratios))
        if left < count:
            return
        first = ratios[:0]
        scale = tables[-1].max() or 1.0
        before = _State(tables[-1] / scale, gaps[-1] / scale, before.total)
        count = min(2 * count, most)


def _log_ratios(table: Floats, gap: Floats) -> Floats:
    """Log table[x, v] / table[x', v] as [v, x, x'], where gap[x, x', v] is their difference with all its digits.

    Leading axes count several tables. An output that no x allows gives -inf everywhere; one that x' alone forbids gives
    inf.
    """
    mine, other = table[..., :, None, :], table[..., None, :, :]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        part = gap / other
        logs = np.log(table)
        # A rare output's ratio is taken from logarithms.
        ratios = np.where(np.abs(part) < 0.5, np.log1p(part), logs[..., :, None, :] - logs[..., None, :, :])
    ratios = np.where(other == 0, np.inf, ratios)
    ratios = np.where(mine == 0, -np.inf, ratios)
    own = np.arange(table.shape[-2])
    ratios[..., own, own, :] = -np.inf
    return np.moveaxis(ratios, -1, -3)


def _record(most: Directional, ratios: Floats, distance: int, value: int) -> None:
    better = (ratios > most.largest) | ((most.distance == 0) & (ratios > -np.inf))
    most.largest[better] = np.maximum(ratios, 0.0)[better]
    most.distance[better] = distance
    most.value[better] = value

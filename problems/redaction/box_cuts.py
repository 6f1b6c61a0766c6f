"""What the budget demands of redaction probabilities within boxes: proofs that there are none, and lower bounds on cost.

A box holds redaction probabilities between two tables, ``low`` and ``high``. A cell that is *shown* is released with some
probability, so that its output counts, also where ``high`` is 1; one that is not may be hidden always.

- Raising redaction probabilities never raises the leakage. So a box without a private mechanism at its upper corner has none, and a
  cell whose showing would leak too much there is hidden throughout.
- The largest ratio that the other side shows for a pair of values x, x' is at least that at the upper corner. So with N(x) the
  probability of an event of one side, privacy demands F = N(x) - t N(x') <= 0 of every event that is shown, t being e^epsilon over
  that ratio. F is linear in each redaction probability. Its derivative by that of value v of a record is D E: D is ``Pr(all nearer hidden, v | x)``
  less t times the same given x', E what follows. D after a step rises with every entry of D before it, so its least
  and largest values over a box come from one walk that takes the end of each probability by the sign of its D.
- Exchanging one record after another, between a corner and a point of the box, makes F(r) a sum of such derivatives in
  which either D is at the corner and E anywhere in the box, or the other way round. With the lower ones, F >= F(low) + sum g (r - low), and
  with the upper ones F >= F(high) - sum g (high - r). Each makes a linear inequality, of which the least cost is a
  continuous knapsack: for any price of the inequality its Lagrangian is a bound, which is what is taken.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Bools, Floats, Ints
from privopt.problems.redaction.box_model import COUNTED, TINY, Secret, Side, Stretch, times
from privopt.problems.redaction.track import U

DEAREST = 1e200
"""Prices are cut here."""


@dataclass(frozen=True, eq=False)
class Boxes:
    """Boxes, shape (b, t, k) each."""

    low: Floats
    high: Floats
    shown: Bools

    def of(self, kept: Bools) -> Boxes:
        """Some of them."""
        return Boxes(self.low[kept], self.high[kept], self.shown[kept])

    def __len__(self) -> int:
        return len(self.low)


@dataclass(frozen=True, eq=False)
class Outputs:
    """Events of one side at one table, (b, m k + 1, x), which of them count, and the largest ratios of pairs (b, x, x)."""

    chances: Floats
    ratios: Floats
    largest: Floats

    @classmethod
    def at(cls, side: Side, hidden: Floats, counted: Bools, error: float) -> Outputs:
        """Ratios are rounded down, and at least 1 where the largest is taken: outputs of both values have total 1."""
        before, end = side.tables(hidden)
        b, x, k = len(hidden), side.start.shape[0], side.start.shape[1]
        chances = np.concatenate(
            (before.transpose(0, 1, 3, 2).reshape(b, len(side.records) * k, x), end[:, None]), axis=1
        )
        above = np.where(chances >= COUNTED, chances * (1 - error), 0.0)
        ratios = above[:, :, :, None] / (chances * (1 + error) + TINY)[:, :, None, :]
        flags = np.ones((b, chances.shape[1]), dtype=np.bool_)
        flags[:, :-1] = counted[:, side.records].reshape(b, len(side.records) * k)
        largest = np.maximum(np.where(flags[:, :, None, None], ratios, 1.0).max(axis=1), 1.0)
        return cls(chances, ratios, largest)


def both(secret: Secret, hidden: Floats, counted: Bools, error: float) -> tuple[Outputs, Outputs]:
    """The outputs of both sides of a private record."""
    left, right = (Outputs.at(side, hidden, counted, error) for side in secret.sides)
    return left, right


def leaks(stretch: Stretch, hidden: Floats, counted: Bools) -> tuple[Floats, Floats]:
    """The largest ratio of an output, (b,), and of one in which a cell is released, (b, t, k); at most those there are."""
    worst, cells = np.ones(len(hidden)), np.ones(hidden.shape)
    for secret in stretch.secrets:
        sides = both(secret, hidden, counted, stretch.error)
        with np.errstate(over="ignore"):
            worst = np.maximum(worst, (sides[0].largest * sides[1].largest).max(axis=(1, 2)))
        for side, mine, other in zip(secret.sides, sides, sides[::-1], strict=True):
            if not len(at := side.records):
                continue
            with np.errstate(over="ignore"):  # a ratio beyond the largest float is above every factor
                own = (mine.ratios[:, :-1] * other.largest[:, None]).max(axis=(2, 3))
            cells[:, at] = np.maximum(cells[:, at], own.reshape(len(hidden), len(at), hidden.shape[2]))
    return worst, cells


def screened(stretch: Stretch, boxes: Boxes) -> tuple[Boxes, Bools]:
    """Cells hidden that must be, and which boxes may hold private mechanisms."""
    hidden = np.where(boxes.shown, boxes.high, 1.0)
    worst, cells = leaks(stretch, hidden, boxes.shown)
    limit = stretch.factor * (1 + 16 * U)
    must = (cells > limit) & stretch.free & ~boxes.shown
    low = np.where(must, 1.0, boxes.low)
    return Boxes(low, np.maximum(boxes.high, low), boxes.shown), worst <= limit


@dataclass(frozen=True, eq=False)
class Cuts:
    """Linear inequalities ``sum slopes * (r - low) >= need`` over boxes: slopes (b, q, t, k) >= 0, needs (b, q)."""

    slopes: Floats
    need: Floats


@dataclass(frozen=True, eq=False)
class Found:
    """Lower bounds on cost (b,), points at which they are taken, raised lower corners, and boxes that hold nothing private."""

    bound: Floats
    points: Floats
    low: Floats
    empty: Bools


def found(stretch: Stretch, boxes: Boxes, near: Floats) -> Found:
    """The best of all cuts, for every ordered pair of values of every private record its worst output at points near by.

    Cuts of a left and of a right side bound different records, so that both gains count.
    """
    cost, worth = stretch.costs(boxes.low)
    low, empty = boxes.low.copy(), np.zeros(len(boxes), dtype=np.bool_)
    gains: tuple[list[_Gain], list[_Gain]] = [], []
    for secret in stretch.secrets:
        most = both(secret, boxes.high, boxes.shown, stretch.error)
        for i, (side, other) in enumerate(zip(secret.sides, most[::-1], strict=True)):
            gain = _Gain.none(boxes)
            if side.records:
                view = _View.of(secret, side, boxes, near, stretch.error)
                times_theirs = stretch.factor / other.largest[:, secret.mine, secret.theirs] * (1 + 8 * U)
                gain = _gain(stretch, view, boxes, times_theirs, worth)
            low, empty = np.maximum(low, gain.low), empty | gain.empty
            gains[i].append(gain)
    bound, points = cost, boxes.low
    for i, j in itertools.combinations_with_replacement(range(len(stretch.secrets)), 2):
        left, right = gains[0][i], gains[1][j]
        value = (cost + left.value + right.value) * (1 - 4 * U)
        better = value > bound
        bound = np.where(better, value, bound)
        points = np.where(better[:, None, None], boxes.low + left.moves + right.moves, points)
    empty = empty | (low > boxes.high).any(axis=(1, 2))
    low = np.minimum(low, boxes.high)
    return Found(bound, np.maximum(np.minimum(points, boxes.high), low), low, empty)


@dataclass(frozen=True, eq=False)
class _Gain:
    """What the best cut of one side adds to the cost (b,), the move it asks for, raised lower corners, and boxes left empty."""

    value: Floats
    moves: Floats
    low: Floats
    empty: Bools

    @classmethod
    def none(cls, boxes: Boxes) -> _Gain:
        """Of no cut."""
        return cls(np.zeros(len(boxes)), np.zeros_like(boxes.low), boxes.low, np.zeros(len(boxes), np.bool_))


def _gain(stretch: Stretch, view: _View, boxes: Boxes, most: Floats, worth: Floats) -> _Gain:
    """Of one side, with what its events may be in terms of those of the other value, (b, q)."""
    at, rows = view.side.records, np.arange(len(boxes))
    part, free = Boxes(boxes.low[:, at], boxes.high[:, at], boxes.shown[:, at]), stretch.free[at]
    width = part.high - part.low
    cuts, leaky = _cuts(view, most, part, free, stretch.error)
    gain, moves = np.zeros(len(boxes)), np.zeros(part.low.shape)
    lowest, empty = np.where(leaky & free, 1.0, part.low), (leaky & free & part.shown).any(axis=(1, 2))
    for cut in cuts:
        value, place = _knapsacks(cut, worth[:, at], width)
        best = value.argmax(axis=1)
        better = value[rows, best] > gain
        gain = np.where(better, value[rows, best], gain)
        moves = np.where(better[:, None, None], place[rows, best], moves)
        raised, none = _raised(cut, part, width)
        lowest, empty = np.maximum(lowest, raised), empty | none
    low, moved = boxes.low.copy(), np.zeros_like(boxes.low)
    low[:, at], moved[:, at] = lowest, moves
    return _Gain(gain, moved, low, np.asarray(empty))


@dataclass(frozen=True, eq=False)
class _View:
    """One side of a private record over boxes, and for every pair of its values an event, (b, q).

    ``low`` and ``high`` hold what is before hiding, (b, m, x, k), and the end, (b, x), at the corners.
    """

    secret: Secret
    side: Side
    low: tuple[Floats, Floats]
    high: tuple[Floats, Floats]
    events: Ints
    after: tuple[Floats, Floats]

    @classmethod
    def of(cls, secret: Secret, side: Side, boxes: Boxes, near: Floats, error: float) -> _View:
        """The events that leak most at points near by."""
        events = worst_events(secret, Outputs.at(side, near, boxes.shown, error), side, boxes.shown)
        low, high = side.tables(boxes.low), side.tables(boxes.high)
        after = side.after(events, boxes.low), side.after(events, boxes.high)
        return cls(secret, side, low, high, events, after)

    def value(self, corner: tuple[Floats, Floats], which: Ints) -> Floats:
        """Chances of the events given a value of each pair, (b, q)."""
        before, end = corner
        b, m, x, k = before.shape
        flat = np.concatenate((before.transpose(0, 1, 3, 2).reshape(b, m * k, x), end[:, None]), axis=1)
        return np.asarray(flat[np.arange(b)[:, None], self.events, which])

    def rows(self, before: Floats, most: Floats, sign: float) -> Floats:
        """``mine + sign most theirs`` before hiding, (b, q, m, k)."""
        mine, theirs = (
            before[:, :, which].transpose(0, 2, 1, 3) for which in (self.secret.mine, self.secret.theirs)
        )
        return np.asarray(mine + sign * most[:, :, None, None] * theirs)


def _extremes(view: _View, most: Floats, part: Boxes) -> tuple[Floats, Floats]:
    """Least and largest ``mine - most theirs`` before hiding over boxes, (b, q, m, k), as floats have them.

    What follows rises with each of them, so each step takes the end that makes every one least, or largest.
    """
    start, side = view.side.start, view.side
    least = most_of = start[view.secret.mine] - most[:, :, None] * start[view.secret.theirs]
    b, q, k = least.shape
    lows, highs = np.empty((b, q, len(side.records), k)), np.empty((b, q, len(side.records), k))
    for d in range(len(side.records)):
        small, large = part.low[:, None, d], part.high[:, None, d]
        lows[:, :, d], highs[:, :, d] = times(least, side.steps[d]), times(most_of, side.steps[d])
        least = lows[:, :, d] * np.where(lows[:, :, d] < 0, large, small)
        most_of = highs[:, :, d] * np.where(highs[:, :, d] > 0, large, small)
    return lows, highs


def _cuts(view: _View, most: Floats, part: Boxes, free: Bools, error: float) -> tuple[list[Cuts], Bools]:
    """``mine - most theirs <= 0`` of the events, from both corners, exchanging records from near to far and back.

    With D before and E after hiding a cell its slope is D E. From near to far D is that of a point in the box and E that of the
    corner, from far to near the other way round.
    """
    lows, highs = _extremes(view, most, part)
    ample = view.rows(view.high[0], most, 1.0) * error + TINY
    least, largest = lows - ample, highs + ample
    at_low, at_high = (view.rows(corner[0], most, -1.0) for corner in (view.low, view.high))
    small, big = view.after[0] * (1 - error), view.after[1] * (1 + error) + TINY
    exact = (view.after[0] * (1 + error) + TINY, view.after[1] * (1 - error))
    below, above = at_low - ample, at_high + ample
    steep = (
        np.where(least < 0, least * exact[0], least * small),
        np.where(below < 0, below * big, below * small),
    )
    flat = (
        np.where(largest > 0, largest * big, largest * exact[1]),
        np.where(above > 0, above * big, above * small),
    )
    mine, theirs = view.secret.mine, view.secret.theirs
    needs = []
    for corner in (view.low, view.high):
        one, two = view.value(corner, mine), most * view.value(corner, theirs)
        needs.append(one - two - (one + two) * error - TINY)
    width = (part.high - part.low)[:, None]
    cuts = [Cuts(np.where(free, np.maximum(-g, 0.0), 0.0), needs[0]) for g in steep]
    for g in flat:
        rate = np.where(free, -g, 0.0)
        terms = rate * width
        size = np.abs(terms).sum(axis=(2, 3))
        need = needs[1] + terms.sum(axis=(2, 3)) - size * ((free.size + 8) * 4 * U)
        cuts.append(Cuts(np.maximum(rate, 0.0), need - np.abs(need) * 8 * U))
    return cuts, np.asarray((least > 0).any(axis=1))


def worst_events(secret: Secret, outputs: Outputs, side: Side, shown: Bools) -> Ints:
    """The event that counts with the largest ratio, for every pair, (b, q)."""
    flags = np.ones(outputs.chances.shape[:2], dtype=np.bool_)
    flags[:, :-1] = shown[:, side.records].reshape(len(shown), -1)
    ratios = np.where(flags[:, :, None], outputs.ratios[:, :, secret.mine, secret.theirs], -1.0)
    return np.asarray(ratios.argmax(axis=1))


def _knapsacks(cut: Cuts, worth: Floats, width: Floats) -> tuple[Floats, Floats]:
    """What one inequality each adds to the cost at least, (b, q), and by how much the lower corner is exceeded there.

    The items in the order of cost for slope give the price; the bound is the Lagrangian at that price, rounded down.
    """
    b, q = cut.need.shape
    slopes = cut.slopes.reshape(b, q, -1)
    price_of, room = worth.reshape(b, 1, -1), width.reshape(b, 1, -1)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        rates = np.where(slopes > 0, price_of / slopes, np.inf)
    order = np.argsort(rates, axis=-1, kind="stable")
    gains = np.take_along_axis(slopes * room, order, -1)
    sums = np.cumsum(gains, axis=-1)
    need = cut.need[..., None]
    with np.errstate(divide="ignore", invalid="ignore"):
        taken = np.clip(np.where(gains > 0, (need - (sums - gains)) / gains, 0.0), 0.0, 1.0)
    last = np.argmax(sums >= need, axis=-1)
    price = np.take_along_axis(np.take_along_axis(rates, order, -1), last[..., None], -1)
    price = np.where((need > 0) & (price < DEAREST), price, 0.0)
    reduced = np.minimum(price_of - price * slopes, 0.0) * room
    size = ((price_of + price * slopes) * room).sum(axis=-1) + (price * np.abs(need))[..., 0]
    value = (price * need)[..., 0] + reduced.sum(axis=-1)
    value = value - size * ((slopes.shape[-1] + 16) * 4 * U)
    moved = np.zeros_like(slopes)
    np.put_along_axis(
        moved, order, taken * np.take_along_axis(np.broadcast_to(room, slopes.shape), order, -1), -1
    )
    return np.maximum(value, 0.0), moved.reshape(cut.slopes.shape)


def _raised(cut: Cuts, boxes: Boxes, width: Floats) -> tuple[Floats, Bools]:
    """Lower corners that one inequality leaves: what all other cells cannot give, a cell must; and boxes without any."""
    terms = cut.slopes * width[:, None]
    ample = terms.sum(axis=(2, 3)) * (1 + (width[0].size + 8) * 4 * U)
    spare = (ample - cut.need) * (1 + 8 * U) + (ample + np.abs(cut.need)) * 4 * U
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        room = np.where(cut.slopes > 0, np.maximum(spare, 0.0)[..., None, None] / cut.slopes, np.inf)
    raised = boxes.high - room.min(axis=1) * (1 + 8 * U) - 8 * U
    return np.maximum(raised, boxes.low), (spare < 0).any(axis=1)

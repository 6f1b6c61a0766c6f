"""What the budget demands of redaction probabilities within boxes: proofs that there are none, and lower bounds on cost.

A box holds redaction probabilities between two tables, ``low`` and ``high``. A cell that is *shown* is released with some
probability, so that its output counts, also where ``high`` is 1; one that is not may be hidden always.

- Raising redaction probabilities never raises the leakage. So a box without a private mechanism at its upper corner has none, and a
  cell whose showing would leak too much there is hidden throughout.
- For an output of a left and one of a right event let N(x) be its probability given value x of a private record. Privacy
  demands F = N(x) - e^epsilon N(x') <= 0 for every output that is shown. N is linear in each probability and increasing,
  so the partial derivatives of F lie between those that the corners give: with g the lower ones, F >= F(low) + sum g (r - low), and
  with g the upper ones F >= F(high) - sum g (high - r). Each makes a linear inequality, of which the least cost is a
  continuous knapsack: for any price of the inequality its Lagrangian is a bound, which is what is taken.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privopt.arrays import Bools, Floats, Ints
from privopt.problems.redaction.box_model import COUNTED, TINY, Secret, Side, Stretch
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


def found(stretch: Stretch, boxes: Boxes) -> Found:
    """The best of all cuts, for every ordered pair of values of every private record its worst output at the boxes' middle."""
    cost, worth = stretch.costs(boxes.low)
    bound, points, low = cost, boxes.low, boxes.low
    empty = np.zeros(len(boxes), dtype=np.bool_)
    width = boxes.high - boxes.low
    for secret in stretch.secrets:
        for cut in _cuts(stretch, secret, boxes):
            value, place = _knapsacks(cut, cost, worth, width)
            best = value.argmax(axis=1)
            rows = np.arange(len(boxes))
            better = value[rows, best] > bound
            bound = np.where(better, value[rows, best], bound)
            points = np.where(better[:, None, None], boxes.low + place[rows, best], points)
            raised, none = _raised(cut, boxes, width)
            low, empty = np.maximum(low, raised), empty | none
    low = np.minimum(low, boxes.high)
    return Found(bound, np.maximum(np.minimum(points, boxes.high), low), low, empty)


def _cuts(stretch: Stretch, secret: Secret, boxes: Boxes) -> tuple[Cuts, Cuts]:
    """Of the worst output of each pair, the cuts at both corners."""
    error, factor = stretch.error, stretch.factor
    middle = (boxes.low + boxes.high) / 2
    corners = [_Corner.of(secret, boxes, middle, table, error) for table in (boxes.low, boxes.high)]
    small, large = corners
    less, more = 1 - 2 * error, 1 + 2 * error
    width = boxes.high - boxes.low
    at_low = small.mine * less - factor * small.theirs * more - TINY
    at_high = large.mine * less - factor * large.theirs * more - TINY
    shape = (*small.mine.shape, *stretch.free.shape)
    steep, flat = np.zeros(shape), np.zeros(shape)
    for side in (0, 1):
        at = secret.sides[side].records
        least = small.rises[side][0] * less - factor * large.rises[side][1] * more - TINY
        most = large.rises[side][0] * more - factor * small.rises[side][1] * less + TINY
        steep[:, :, at], flat[:, :, at] = -least, -most
    free = stretch.free
    steep, flat = np.where(free, np.maximum(steep, 0.0), 0.0), np.where(free, flat, 0.0)
    terms = flat * width[:, None]
    size = at_high - np.abs(terms).sum(axis=(2, 3)) * ((free.size + 8) * 4 * U)
    need = size + terms.sum(axis=(2, 3))
    return Cuts(steep, at_low), Cuts(np.maximum(flat, 0.0), need - np.abs(need) * 8 * U)


@dataclass(frozen=True, eq=False)
class _Corner:
    """Chances of the chosen outputs given either value of a pair, (b, q), and their derivatives by side, (b, q, m, k)."""

    mine: Floats
    theirs: Floats
    rises: tuple[tuple[Floats, Floats], tuple[Floats, Floats]]

    @classmethod
    def of(cls, secret: Secret, boxes: Boxes, middle: Floats, table: Floats, error: float) -> _Corner:
        """At a table of redaction probabilities, for the worst events at the middle."""
        chances, slopes = list[tuple[Floats, Floats]](), list[tuple[Floats, Floats]]()
        for side in secret.sides:
            events = _worst_events(secret, Outputs.at(side, middle, boxes.shown, error), side, boxes.shown)
            before, end = side.tables(table)
            b, x, k = len(table), side.start.shape[0], side.start.shape[1]
            flat = before.transpose(0, 1, 3, 2).reshape(b, len(side.records) * k, x)
            every = np.concatenate((flat, end[:, None]), axis=1)[np.arange(b)[:, None], events]
            pairs = np.arange(len(secret.mine))
            chances.append((every[:, pairs, secret.mine], every[:, pairs, secret.theirs]))
            after = side.after(events, table)
            mine, theirs = (
                before[:, :, which].transpose(0, 2, 1, 3) for which in (secret.mine, secret.theirs)
            )
            slopes.append((mine * after, theirs * after))
        (a, b_), (c, d) = chances
        return cls(
            a * c,
            b_ * d,
            (
                (slopes[0][0] * c[..., None, None], slopes[0][1] * d[..., None, None]),
                (slopes[1][0] * a[..., None, None], slopes[1][1] * b_[..., None, None]),
            ),
        )


def _worst_events(secret: Secret, outputs: Outputs, side: Side, shown: Bools) -> Ints:
    """The event that counts with the largest ratio, for every pair, (b, q)."""
    flags = np.ones(outputs.chances.shape[:2], dtype=np.bool_)
    flags[:, :-1] = shown[:, side.records].reshape(len(shown), -1)
    ratios = np.where(flags[:, :, None], outputs.ratios[:, :, secret.mine, secret.theirs], -1.0)
    return np.asarray(ratios.argmax(axis=1))


def _knapsacks(cut: Cuts, cost: Floats, worth: Floats, width: Floats) -> tuple[Floats, Floats]:
    """Bounds (b, q) on the cost under one inequality each, and by how much the lower corner is exceeded there.

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
    size = ((price_of + price * slopes) * room).sum(axis=-1) + (price * np.abs(need))[..., 0] + cost[:, None]
    value = cost[:, None] + (price * need)[..., 0] + reduced.sum(axis=-1)
    value = value - size * ((slopes.shape[-1] + 16) * 4 * U)
    moved = np.zeros_like(slopes)
    np.put_along_axis(
        moved, order, taken * np.take_along_axis(np.broadcast_to(room, slopes.shape), order, -1), -1
    )
    return np.maximum(value, cost[:, None]), moved.reshape(cut.slopes.shape)


def _raised(cut: Cuts, boxes: Boxes, width: Floats) -> tuple[Floats, Bools]:
    """Lower corners that one inequality leaves: what all other cells cannot give, a cell must; and boxes without any."""
    terms = cut.slopes * width[:, None]
    ample = terms.sum(axis=(2, 3)) * (1 + (width[0].size + 8) * 4 * U)
    spare = (ample - cut.need) * (1 + 8 * U) + (ample + np.abs(cut.need)) * 4 * U
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        room = np.where(cut.slopes > 0, np.maximum(spare, 0.0)[..., None, None] / cut.slopes, np.inf)
    raised = boxes.high - room.min(axis=1) * (1 + 8 * U) - 8 * U
    return np.maximum(raised, boxes.low), (spare < 0).any(axis=1)

"""Partitions into boxes of most worth, where the worth of a partition is a sum over its blocks: dynamic programming.

With one ordered column the boxes are intervals, and with one hierarchy nodes: every partition into such blocks is tried. With
several columns a partition is tried if it comes from cutting everything in two (or a node into its children) in one
column, each part again, and so on.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Bools, Floats, Ints
from privopt.models.generalisation import Box, Generalisation

MOST_BOXES = 100_000
"""Boxes that are looked at."""

RATE = 20_000
"""Boxes that are looked at in a second, at least."""

FEWEST = 500
"""Boxes that are looked at however little time there is."""

MOST_SPLITS = 1_000_000
"""Ways to split boxes that are looked at."""

MOST_SUMMANDS = 1000
"""The same of each of two parts whose pairs are added."""

MOST_POINTS = 40_000
"""Pairs of costs that are kept of a part of the symbols: with more, some are left out and nothing is proved."""

MOST_UNITED = 1_500_000
"""Pairs of costs that are sorted at once: of very many values fewer are kept."""

POINTS_RATE = 2_000_000
"""Pairs of costs that are sorted in a second, at least."""

HURRIED = 20
"""Pairs of costs that are kept once the time is over."""


@dataclass(frozen=True, eq=False)
class Boxes:
    """The boxes over which a dynamic program runs, the smaller ones first.

    Parameters
    ----------
    shape : Generalisation
    boxes : tuple of Box
        The last one holds everything.
    splits : tuple of tuple of tuple of int
        For each box the ways in which it falls into others, by their positions. Neither boxes nor these are listed where the
        boxes are all intervals of one column: those of the first value, of the first two, and so on, by their last value.
    """

    shape: Generalisation
    boxes: tuple[Box, ...]
    splits: tuple[tuple[tuple[int, ...], ...], ...]

    @property
    def are_intervals(self) -> bool:
        """Whether they are all intervals of one column."""
        return not self.splits

    @property
    def are_all(self) -> bool:
        """Whether every partition into allowed blocks is tried."""
        return self.shape.is_single

    @property
    def are_of_one_column(self) -> bool:
        """Whether each symbol lies in one column, whose neighbours may have been put together."""
        axis = self.shape.single
        return axis is not None and axis.kind != "any" and not len(self.shape.special)

    def members(self) -> Bools:
        """Which symbols are in each, shape (m, n)."""
        if not self.are_intervals:
            return self.shape.members(self.boxes)
        n = len(self.shape.whole[0])
        last = np.repeat(np.arange(n), np.arange(1, n + 1))
        first = np.arange(len(last)) - last * (last + 1) // 2
        codes = self.shape.codes[:, 0]
        return np.asarray((codes[None, :] >= first[:, None]) & (codes[None, :] <= last[:, None]))


def boxes_of(shape: Generalisation, deadline: float = math.inf) -> Boxes | None:
    """The boxes that splitting leads to; None if they are too many, or listing them takes longer than to the deadline."""
    if shape.size > MOST_BOXES:
        return None
    axis = shape.single
    if axis is not None and axis.kind == "interval":
        return Boxes(shape, (), ())
    reached: dict[Box, list[tuple[Box, ...]]] = {}
    waiting, count = [shape.whole], 0
    while waiting:
        box = waiting.pop()
        if box in reached:
            continue
        ways = [
            tuple((*box[:j], part, *box[j + 1 :]) for part in parts)
            for j, axis in enumerate(shape.axes)
            for parts in axis.splits(box[j])
        ]
        count += len(ways)
        late = len(reached) % 512 == 0 and time.monotonic() > deadline
        if len(reached) >= MOST_BOXES or count > MOST_SPLITS or late:
            return None
        reached[box] = ways
        waiting.extend(part for way in ways for part in way if part not in reached)
    ordered = sorted(reached, key=lambda box: sum(map(len, box)))
    place = {box: i for i, box in enumerate(ordered)}
    splits = tuple(tuple(tuple(place[part] for part in way) for way in reached[box]) for box in ordered)
    return Boxes(shape, tuple(ordered), splits)


def boxes_within(shape: Generalisation, seconds: float) -> Boxes | None:
    """The boxes that may be looked at within some seconds; with neighbours put together where these would be too many."""
    deadline = time.monotonic() + seconds
    rate = RATE if len(shape.axes) > 1 else 10 * RATE
    most = min(MOST_BOXES, FEWEST + int(rate * min(seconds, 1e6)))
    coarse: Generalisation | None = shape
    while coarse is not None and coarse.size > most:
        coarse = coarse.halved()
    return None if coarse is None else boxes_of(coarse, deadline)


@dataclass(frozen=True)
class Partition:
    """Boxes by their positions, and which of them holds the special symbols (none: they are a block of their own)."""

    value: float
    blocks: tuple[int, ...]
    joined: int | None = None


def best_partition(boxes: Boxes, value: Floats, joined: Floats | None = None) -> Partition | None:
    """The partition of most worth; None if none is allowed.

    Parameters
    ----------
    boxes : Boxes
    value : float array (m,)
        The worth of each as a block, -inf where it may not be one; 0 of those that hold nothing.
    joined : float array (m,), optional
        The same together with the special symbols, which exactly one block must then hold.
    """
    table = _Table(value, joined)
    (_of_intervals if boxes.are_intervals else _of_splits)(boxes, table)
    last, level = table.end(boxes), 0 if joined is None else 1
    best = table.best[level][last]
    if best == -math.inf:
        return None
    blocks, holder = table.blocks(last, level)
    return Partition(float(best), tuple(blocks), holder)


class _Table:
    """The best values without (0) and with (1) the special symbols, and how they come about."""

    def __init__(self, value: Floats, joined: Floats | None) -> None:
        levels = [value] if joined is None else [value, joined]
        self.own = levels
        self.best = [level.copy() for level in levels]
        self.way: list[dict[int, list[tuple[int, int]]]] = [{} for _ in levels]
        """For each box that is split, the parts and their levels."""

    def end(self, boxes: Boxes) -> int:
        """The position of the best partition of everything."""
        return _prefix(len(boxes.shape.whole[0])) if boxes.are_intervals else len(boxes.boxes) - 1

    def blocks(self, start: int, level: int) -> tuple[list[int], int | None]:
        """The boxes of a partition, and the one with the special symbols."""
        waiting, blocks = [(start, level)], []
        holder: int | None = None
        while waiting:
            box, at = waiting.pop()
            if box in self.way[at]:
                waiting.extend(self.way[at][box])
                continue
            blocks.append(box)
            holder = box if at == 1 else holder
        return blocks, holder

    def offer(self, level: int, box: int, value: float, way: list[tuple[int, int]]) -> None:
        """Take a way to split a box if it is better."""
        if value > self.best[level][box]:
            self.best[level][box] = value
            self.way[level][box] = way


def _prefix(length: int) -> int:
    """The position of the interval of the first so many values."""
    return length * (length - 1) // 2


def _of_intervals(boxes: Boxes, table: _Table) -> None:
    """The best partition of the first values, as far as each of them: a last interval, and the best of what is before."""
    n = len(boxes.shape.whole[0])
    for length in range(2, n + 1):
        start = _prefix(length)
        before = np.array([_prefix(k) for k in range(1, length)])
        last = np.arange(start + 1, start + length)
        for level, best in enumerate(table.best):
            choices = [(table.best[level][before] + table.own[0][last], level, 0)]
            if level == 1:
                choices.append((table.best[0][before] + table.own[1][last], 0, 1))
            for values, rest, own in choices:
                k = int(np.argmax(values))
                if values[k] > best[start]:
                    best[start] = values[k]
                    table.way[level][start] = [(int(before[k]), rest), (int(last[k]), own)]


def _of_splits(boxes: Boxes, table: _Table) -> None:
    """The best partition of each box: itself, or the best of the parts that a split leads to."""
    plain = table.best[0]
    for box, ways in enumerate(boxes.splits):
        for way in ways:
            parts = [float(plain[part]) for part in way]
            table.offer(0, box, sum(parts), [(part, 0) for part in way])
            if len(table.best) == 1:
                continue
            for i, holder in enumerate(way):
                total = sum(parts[:i]) + sum(parts[i + 1 :]) + float(table.best[1][holder])
                table.offer(1, box, total, [(part, int(part == holder)) for part in way])


@dataclass(frozen=True, eq=False)
class Front:
    """The partitions of one column that no other one beats in both of two costs.

    Parameters
    ----------
    low, high : float array (k,)
        Of each: the cost that is to be small, and the gain that is to be large.
    complete : bool
        Whether none was left out.
    """

    low: Floats
    high: Floats
    complete: bool
    _boxes: Boxes
    _points: tuple[_Points, ...]

    def blocks(self, point: int) -> tuple[int, ...]:
        """The boxes of a partition."""
        waiting, blocks = [(len(self._points) - 1, point)], []
        while waiting:
            stage, at = waiting.pop()
            points = self._points[stage]
            if points.block[at] >= 0:
                blocks.append(int(points.block[at]))
            waiting.extend((int(s), int(i)) for s, i in points.parts[at] if s >= 0)
        return tuple(blocks)


@dataclass(frozen=True, eq=False)
class _Points:
    """Costs of partitions of some symbols; a block of its own each (or -1), and the points of other stages that it adds to."""

    low: Floats
    high: Floats
    block: Ints
    parts: Ints
    complete: bool = True

    def kept(self, sought: Threshold, rest: float, most: int) -> _Points:
        """Those that none beats, by falling gain, and that may reach the threshold with the best of the rest; not too many."""
        if sought.least > -math.inf:
            hopeful = np.flatnonzero(sought.weight * self.high - self.low + rest >= sought.least)
        else:
            hopeful = np.arange(len(self.low))
        order = hopeful[np.lexsort((self.low[hopeful], -self.high[hopeful]))]
        least = np.minimum.accumulate(self.low[order])
        better = np.concatenate([np.ones(min(1, len(order)), dtype=bool), self.low[order][1:] < least[:-1]])
        chosen = order[better]
        complete = self.complete and len(chosen) <= most
        if len(chosen) > most:
            chosen = chosen[np.linspace(0, len(chosen) - 1, most).astype(np.int64)]
        return _Points(self.low[chosen], self.high[chosen], self.block[chosen], self.parts[chosen], complete)


@dataclass(frozen=True)
class Threshold:
    """Only partitions whose weight * gain - cost is at least a number are of interest."""

    weight: float
    least: float


def front_of(
    boxes: Boxes, low: Floats, high: Floats, threshold: Threshold | None = None, deadline: float = math.inf
) -> Front:
    """The partitions of one column, an interval or a node a block, that no other one beats.

    Parameters
    ----------
    boxes : Boxes
        Of one column.
    low, high : float array (m,)
        What each box as a block adds to the cost that is to be small, and to the gain that is to be large.
    threshold : Threshold, optional
        Partitions below it may be left out.
    deadline : float
        On the clock of ``time.monotonic``: from then on few are kept.
    """
    sought = Threshold(0.0, -math.inf) if threshold is None else threshold
    stages = (_interval_stages if boxes.are_intervals else _tree_stages)(boxes, low, high, sought, deadline)
    return Front(stages[-1].low, stages[-1].high, all(s.complete for s in stages), boxes, tuple(stages))


def _most(united: int, deadline: float) -> int:
    """How many points are kept where so many stages are united."""
    return HURRIED if time.monotonic() > deadline else min(MOST_POINTS, MOST_UNITED // united)


def _interval_stages(
    boxes: Boxes, low: Floats, high: Floats, sought: Threshold, deadline: float
) -> list[_Points]:
    """A stage for the first values, as far as each of them."""
    n = len(boxes.shape.whole[0])
    rest, before = _best_after(n, sought.weight * high - low), _Before.of([], _most(n, deadline))
    stages: list[_Points] = []
    for length in range(1, n + 1):
        united = before.united(_prefix(length), low, high)
        stages.append(united.kept(sought, rest[length], before.most))
        most = _hastened(before, stages, deadline)
        before = before.followed(stages) if most == before.most else _Before.of(stages, most)
    return stages


def _hastened(before: _Before, stages: list[_Points], deadline: float) -> int:
    """How many points of each stage are looked at from now on: half of them where all would take too much of the time."""
    left = deadline - time.monotonic()
    if left > 0 and len(before.low) <= left * POINTS_RATE / 4:
        return before.most
    if left <= 0:
        return min(before.most, HURRIED)
    return min(before.most, max(HURRIED, max(len(stage.low) for stage in stages) // 2))


@dataclass(frozen=True, eq=False)
class _Before:
    """Points of the stages so far, in one list: their costs, stages and positions there, and the most of a stage."""

    low: Floats
    high: Floats
    stage: Ints
    place: Ints
    most: int
    complete: bool

    @classmethod
    def of(cls, stages: list[_Points], most: int) -> _Before:
        """At most so many points of each stage."""
        costs, places = np.zeros(0), np.zeros(0, dtype=np.int64)
        return cls(costs, costs, places, places, most, True)._with(stages, 0)

    def followed(self, stages: list[_Points]) -> _Before:
        """With the last stage too."""
        return self._with(stages[-1:], len(stages) - 1)

    def _with(self, stages: list[_Points], first: int) -> _Before:
        pairs = [(stage, _some(len(stage.low), self.most)) for stage in stages]
        return _Before(
            np.concatenate([self.low, *(stage.low[place] for stage, place in pairs)]),
            np.concatenate([self.high, *(stage.high[place] for stage, place in pairs)]),
            np.concatenate([self.stage, *(np.full(len(p), k) for k, (_, p) in enumerate(pairs, first))]),
            np.concatenate([self.place, *(place for _, place in pairs)]),
            self.most,
            self.complete and all(len(place) == len(stage.low) for stage, place in pairs),
        )

    def united(self, start: int, low: Floats, high: Floats) -> _Points:
        """The next values as one block, and each point with what is left of them as a block."""
        box = start + self.stage + 1
        parts = np.stack([self.stage, self.place], axis=1)[:, None, :]
        return _Points(
            np.concatenate([low[[start]], self.low + low[box]]),
            np.concatenate([high[[start]], self.high + high[box]]),
            np.concatenate([[start], box]),
            np.concatenate([np.full((1, 1, 2), -1), parts]),
            self.complete,
        )


def _best_after(n: int, value: Floats) -> Floats:
    """The best worth of a partition of the values from each of n on; 0 after the last."""
    best = np.zeros(n + 1)
    for first in range(n - 1, -1, -1):
        ends = np.arange(first + 1, n + 1)
        best[first] = (value[ends * (ends - 1) // 2 + first] + best[ends]).max()
    return best


def _tree_stages(
    boxes: Boxes, low: Floats, high: Floats, sought: Threshold, deadline: float
) -> list[_Points]:
    """Stages for the nodes, the smaller ones first; the sums over the children one after the other are stages too."""
    stages: list[_Points] = []
    of_box: dict[int, int] = {}
    table = _Table(sought.weight * high - low, None)
    _of_splits(boxes, table)
    best, outside = table.best[0], np.zeros(len(boxes.boxes))
    for box in range(len(boxes.boxes) - 1, -1, -1):
        for part in (part for way in boxes.splits[box] for part in way):
            outside[part] = outside[box] + sum(best[other] for other in boxes.splits[box][0]) - best[part]
    for box, ways in enumerate(boxes.splits):
        united = [_block(box, low, high)]
        for way in ways:
            total, at = stages[of_box[way[0]]], of_box[way[0]]
            for i, part in enumerate(way[1:], 2):
                rest = outside[box] + sum(best[other] for other in way[i:])
                most = _most(1, deadline)
                pair = (at, total), (of_box[part], stages[of_box[part]])
                total = _added(*pair, min(most, MOST_SUMMANDS)).kept(sought, rest, most)
                stages.append(total)
                at = len(stages) - 1
            count = len(total.low)
            parts = np.stack([np.full(count, at), np.arange(count)], axis=1)[:, None, :]
            united.append(_Points(total.low, total.high, np.full(count, -1), parts))
        stages.append(_united(united).kept(sought, outside[box], _most(1, deadline)))
        of_box[box] = len(stages) - 1
    return stages


def _block(box: int, low: Floats, high: Floats) -> _Points:
    return _Points(low[[box]], high[[box]], np.array([box]), np.full((1, 1, 2), -1))


def _united(points: list[_Points]) -> _Points:
    width = max(p.parts.shape[1] for p in points)
    parts = [
        np.pad(p.parts, ((0, 0), (0, width - p.parts.shape[1]), (0, 0)), constant_values=-1) for p in points
    ]
    return _Points(
        np.concatenate([p.low for p in points]),
        np.concatenate([p.high for p in points]),
        np.concatenate([p.block for p in points]),
        np.concatenate(parts),
        all(p.complete for p in points),
    )


def _added(first: tuple[int, _Points], second: tuple[int, _Points], most: int) -> _Points:
    """All sums of two stages, of at most so many points each."""
    (i, a), (j, b) = first, second
    rows, columns = _some(len(a.low), most), _some(len(b.low), most)
    left, right = (grid.ravel() for grid in np.meshgrid(rows, columns, indexing="ij"))
    ends = [np.stack([np.full(len(left), i), left], axis=1), np.stack([np.full(len(left), j), right], axis=1)]
    complete = len(rows) == len(a.low) and len(columns) == len(b.low)
    low, high = a.low[left] + b.low[right], a.high[left] + b.high[right]
    return _Points(low, high, np.full(len(left), -1), np.stack(ends, axis=1), complete)


def _some(count: int, most: int) -> Ints:
    """Positions of at most so many points, spread over all."""
    return np.linspace(0, count - 1, min(count, most)).astype(np.int64)

"""A bound for any small redaction problem, by branch and bound over boxes of redaction probabilities.

It serves several private records, any number of states and the sequential form. Hiding all records but a stretch of them is to
erase releases afterwards, so a mechanism that is private stays so there, and what it hides in the stretch is a lower bound on
what it hides: those outside are free. In the stretch boxes of redaction probabilities are split, those with the least
bound first: a value of a record is hidden always or shown sometimes, a probability is at most or at least one in the middle. A
private mechanism that shows every value of a record stays private when it releases the record whole, and everything beyond it that
only lies on that side of private records: first releases there show the same ratios as before, those beyond none. So it is enough to
look for mechanisms that do. Every box that is left out has no such private one, or none that costs less than the cutoff by
more than 1e-12, see :mod:`privopt.problems.redaction.box_cuts`. So every private mechanism costs at least the smaller of the
cutoff and the least bound of the boxes left open, less twice that, which also covers the rounding of costs; whatever the
order of splits, and wherever the cutoff comes from.

``{"kind": "boxes", "begin": 4, "end": 20, "cutoff": 0.25, "boxes": 3000}`` proves what the search finds in so many boxes.
It is run again: its numbers are sums, products and quotients of floats in a fixed order, which all processors round alike.
An adversary who knows other records too only makes the bound looser.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from privopt.arrays import Bools, Floats
from privopt.problems.redaction.box_cuts import Boxes, found, screened
from privopt.problems.redaction.box_model import Stretch
from privopt.problems.redaction.box_worst import worst
from privopt.problems.redaction.data import RedactionData

KIND = "boxes"
MAX_RECORDS = 96
MAX_CELLS = 288
MAX_BOXES = 1 << 22
MAX_PAIRS = 132
"""Ordered pairs of values of a private record: those of 12 states."""
_NUMBERS = 1 << 21
"""Of the largest table of a batch."""
_LEAST = 1e-9
_FLAT = 1e-6
"""Of the worst output, per unit of a redaction probability: what changes it by less is not split for its sake."""
_NEARER = 0.8
"""A record is split sooner by this factor than the next one farther away: what is near decides what all beyond it tell."""
_SAME = 1e-12
"""A box is left out where it cannot save more than this share of all records."""

Clock = Callable[[], float]


def fits(data: RedactionData, begin: int, end: int) -> bool:
    """Whether a stretch is small enough."""
    pairs = max(len(data.possible_values(p)) for p in data.private) ** 2
    return (
        0 <= begin < end <= data.length
        and end - begin <= MAX_RECORDS
        and (end - begin) * data.chain.k <= MAX_CELLS
        and pairs <= MAX_PAIRS + 12
    )


Place = tuple[int, int]
_Open = tuple[float, int, Floats, Floats, Bools]


@dataclass(eq=False)
class Search:
    """Branch and bound over one stretch; :meth:`advance` treats a batch of boxes.

    Parameters
    ----------
    stretch
    cutoff
        A cost beyond which nothing is looked for; lowered by points of the search that seem private. Any is valid.
    point
        The last such point, redaction probabilities (t, k), if there is one; it is proposed, not proved.
    boxes
        Number of boxes treated so far.
    """

    stretch: Stretch
    cutoff: float
    point: Floats | None = None
    boxes: int = 0
    _heap: list[_Open] = field(default_factory=list)
    _count: int = 0
    _places: list[int] = field(init=False)
    _worth: Floats = field(init=False)

    def __post_init__(self) -> None:
        shape = self.stretch.free.shape
        self._places = [secret.place for secret in self.stretch.secrets]
        distance = np.abs(np.arange(shape[0])[:, None] - np.array(self._places)).min(axis=1)
        nearness = np.multiply.accumulate(np.append(1.0, np.full(shape[0], _NEARER)))[distance]
        self._worth = np.maximum(self.stretch.weights, _LEAST) * nearness[:, None]
        low = np.where(self.stretch.free, 0.0, 1.0)
        self._push(0.0, low, np.ones(shape), np.zeros(shape, dtype=np.bool_))

    @property
    def bound(self) -> float:
        """A lower bound on the cost of every private mechanism: less what boxes left out may save, and what costs are rounded by."""
        return max(0.0, min(self.cutoff, self._heap[0][0] if self._heap else math.inf) - 2 * _SAME)

    @property
    def done(self) -> bool:
        """Whether no open box is worth a look."""
        return not self._heap or self._heap[0][0] >= self.cutoff - _SAME

    @property
    def batch(self) -> int:
        """Boxes treated together."""
        t, k = self.stretch.free.shape
        widest = t * k * max(len(secret.mine) + 2 for secret in self.stretch.secrets)
        return int(np.clip(_NUMBERS // (8 * widest), 4, 256))

    def _push(self, bound: float, low: Floats, high: Floats, shown: Bools) -> None:
        heapq.heappush(self._heap, (bound, self._count, low, high, shown))
        self._count += 1

    def advance(self, most: int) -> None:
        """Treat the most promising boxes, a batch or ``most`` of them."""
        taken: list[_Open] = []
        while self._heap and len(taken) < min(self.batch, most) and not self.done:
            taken.append(heapq.heappop(self._heap))
        if not taken:
            return
        self.boxes += len(taken)
        boxes = Boxes(*(np.array([each[i] for each in taken]) for i in (2, 3, 4)))
        before = np.array([each[0] for each in taken])
        treated = self._treated(boxes, before)
        if treated is not None:
            self._split(*treated)

    def _treated(self, boxes: Boxes, before: Floats) -> tuple[Boxes, Floats, Floats] | None:
        """Boxes shrunk twice, with their bounds and the points these are taken at; None if none is left."""
        points = (boxes.low + boxes.high) / 2
        for _ in range(2):
            for shrink in (self._plain, self._cheap, partial(screened, self.stretch)):
                boxes, kept = shrink(boxes)
                boxes, before, points = boxes.of(kept), before[kept], points[kept]
            if not len(boxes):
                return None
            cuts = found(self.stretch, boxes, np.clip(points, boxes.low, boxes.high))
            before = np.maximum(before, cuts.bound)
            boxes = Boxes(cuts.low, boxes.high, boxes.shown)
            kept = ~cuts.empty & (before < self.cutoff - _SAME)
            boxes, before, points = boxes.of(kept), before[kept], cuts.points[kept]
            if not len(boxes):
                return None
        return boxes, before, points

    def _plain(self, boxes: Boxes) -> tuple[Boxes, Bools]:
        """Records of which every value is shown are released whole, and all beyond; and boxes in which that may be."""
        free, places = self.stretch.free, self._places
        whole: Bools = np.asarray((boxes.shown | ~free).all(axis=2) & free.any(axis=1))
        first, last = min(places), max(places)
        beyond = whole.copy()
        beyond[:, :first] = np.logical_or.accumulate(whole[:, :first][:, ::-1], axis=1)[:, ::-1]
        beyond[:, last + 1 :] = np.logical_or.accumulate(whole[:, last + 1 :], axis=1)
        cells = beyond[:, :, None] & free
        kept = ~((boxes.low > 0) & cells).any(axis=(1, 2))
        return Boxes(boxes.low, np.where(cells, 0.0, boxes.high), boxes.shown | cells), np.asarray(kept)

    def _cheap(self, boxes: Boxes) -> tuple[Boxes, Bools]:
        """Upper corners lowered to what costs no more than the cutoff; a cell that must be lower than 1 is shown."""
        cost, slopes = self.stretch.costs(boxes.low)
        spare = np.maximum(self.cutoff - cost, 0.0)[:, None, None] * (1 + 2.0**-50)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            room = np.where(slopes > 0, spare / slopes, np.inf)
        high = np.maximum(np.minimum(boxes.high, boxes.low + room * (1 + 2.0**-50) + 2.0**-50), boxes.low)
        shown = boxes.shown | ((high < 1) & self.stretch.free)
        return Boxes(boxes.low, high, shown), cost < self.cutoff - _SAME

    def _split(self, boxes: Boxes, bounds: Floats, points: Floats) -> None:
        """Split where the worst output of the point at which the bound is taken may change most."""
        counted = self.stretch.free & ((points < 1) | boxes.shown)
        limit = self.stretch.factor * (1 + 2.0**-40)
        output = worst(self.stretch, points, counted)
        self._remember(points, output.ratio <= limit)
        undecided = output.events & self.stretch.free & ~boxes.shown & (boxes.low < 1)
        doubtful = np.where(undecided, np.maximum(self.stretch.weights, _LEAST), 0.0)
        width = boxes.high - boxes.low
        spans = width * np.where(np.abs(output.change) > _FLAT, self._worth, 0.0)
        for i in range(len(boxes)):
            if bounds[i] >= self.cutoff - _SAME:
                continue
            parent = bounds[i], boxes.low[i], boxes.high[i], boxes.shown[i]
            if output.ratio[i] > limit and doubtful[i].max() > 0:
                self._decide(*parent, _largest(doubtful[i]))
            else:
                self._halve(*parent, _largest(spans[i] if spans[i].max() > 1e-9 else width[i]))

    def _remember(self, points: Floats, private: Bools) -> None:
        """Lower the cutoff to the cheapest point that seems private."""
        if not private.any():
            return
        cost = np.where(private, self.stretch.costs(points)[0], np.inf)
        i = int(cost.argmin())
        if cost[i] < self.cutoff:
            self.cutoff, self.point = float(cost[i]), points[i]

    def _decide(self, bound: float, low: Floats, high: Floats, shown: Bools, cell: Place) -> None:
        """Hidden always, or shown sometimes."""
        hidden, seen = low.copy(), shown.copy()
        hidden[cell], seen[cell] = 1.0, True
        self._push(bound, hidden, high, shown)
        self._push(bound, low, high, seen)

    def _halve(self, bound: float, low: Floats, high: Floats, shown: Bools, cell: Place) -> None:
        """At most, or at least the middle."""
        below, above, seen = high.copy(), low.copy(), shown.copy()
        below[cell] = above[cell] = (low[cell] + high[cell]) / 2
        seen[cell] = True
        self._push(bound, low, below, seen)
        self._push(bound, above, high, shown)


def _largest(table: Floats) -> Place:
    row, column = np.unravel_index(int(np.argmax(table)), table.shape)
    return int(row), int(column)


def box_cost(data: RedactionData, dual: dict[object, object], seconds: float) -> float | None:
    """The lower bound on the cost of redaction that a dual proves within some seconds, or None.

    A search that these seconds cut short proves less: the bound of the boxes that it came to.
    """
    stop = time.monotonic() + seconds
    begin, end, boxes, cutoff = (dual.get(name) for name in ("begin", "end", "boxes", "cutoff"))
    if len(dual) != 5 or type(begin) is not int or type(end) is not int or type(boxes) is not int:
        return None
    if type(cutoff) not in (int, float) or not 0 <= boxes <= MAX_BOXES or not fits(data, begin, end):
        return None
    stretch = Stretch.of(data, begin, end) if seconds > 0 else None
    if stretch is None or not 0 <= float(str(cutoff)) <= 2:
        return None
    search = Search(stretch, float(str(cutoff)))
    while search.boxes < boxes and not search.done and time.monotonic() <= stop:
        search.advance(boxes - search.boxes)
    return search.bound

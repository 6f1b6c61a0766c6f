"""Exact pricing: the posterior of least price-reduced cost, by branch and bound on boxes.

Boxes of v itself serve for any number of symbols: once no entry is near 1, which takes a split each, the secants of all
entries are steep, and a posterior of many symbols costs much of its entropy.
"""

from __future__ import annotations

import heapq
import itertools
import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.core.solver import Budget
from privopt.problems.entropy_boxes import phi, secant_slopes, tightened
from privopt.problems.trade_off.tree import Cost
from privopt.solvers.trade_off.columns.descent import reduced_costs
from privopt.solvers.trade_off.columns.relaxation import USUAL, relax
from privopt.solvers.trade_off.columns.slopes import relax_slopes, shifted

NOTED = 16.0
"""Posteriors are noted that cost less than their price by the tolerance divided by this."""

NARROW = 1e-10
"""Boxes are not split across a side shorter than this."""

MARGIN = 0.1
"""A split keeps this share of the side on either part."""

BATCH = 256
"""Boxes split at a time, the worst ones."""

LONGER = 32
"""Newton steps after which multipliers show that a box is empty."""

OUTSIDE = 1e-8
"""A point further than this outside its box suggests that the box is empty."""

ACCURATE = 0.05
"""Relaxations are solved to this share of what is missing to close the boxes around,"""

FAR = 10.0
"""where that is more than this many times the tolerance,"""

MANY = 2000
"""and after so many boxes: points that are met before are columns, and the better the more accurate they are."""

FEW = 6
"""Symbols up to which leaves have tangents also where slopes alone would do: they need fewer boxes."""

LEAST_DECIMALS, DECIMALS, FINE_DECIMALS = 3, 10, 14
"""Decimals that are kept of slopes: of coarse bounds, of others, and for fine tolerances."""

LARGEST = 12_000_000
"""Characters of the proof at which the search ends."""


@dataclass(slots=True, eq=False)
class Node:
    """A part low <= C v <= high of the simplex.

    A leaf has slopes, or a tangent and multipliers that prove more; a split has its entry of the written tree and two parts.
    """

    low: Floats
    high: Floats
    tangent: Floats | None = None
    multipliers: Floats | None = None
    slopes: Floats | None = None
    split: dict[str, object] | None = None
    parts: tuple[Node, ...] = field(default=())

    def on_side(self, k: int, where: float) -> tuple[Node, Node]:
        """Split side k near ``where``."""
        width = self.high[k] - self.low[k]
        t = float(min(max(where, self.low[k] + MARGIN * width), self.high[k] - MARGIN * width))
        return self._cut(k, float(f"{t:.9g}") if width > 1e-6 else t)

    def _cut(self, k: int, t: float) -> tuple[Node, Node]:
        high, low = self.high.copy(), self.low.copy()
        high[k] = low[k] = t
        return self._divide({"k": k, "t": t}, Node(self.low, high), Node(low, self.high))

    def _divide(self, split: dict[str, object], first: Node, second: Node) -> tuple[Node, Node]:
        for part in (first, second):
            part.tangent, part.multipliers, part.slopes = self.tangent, self.multipliers, self.slopes
        self.split, self.parts = split, (first, second)
        self.tangent = self.multipliers = self.slopes = None
        return first, second

    def written(self, width: int) -> list[dict[str, object]]:
        """The tree below, in preorder; a leaf with neither gets the uniform tangent of that length."""
        tree: list[dict[str, object]] = []
        waiting = [self]
        while waiting:
            node = waiting.pop()
            if node.split is not None:
                tree.append(node.split)
                waiting += [node.parts[1], node.parts[0]]
                continue
            if node.slopes is not None and node.tangent is None:
                tree.append({"slopes": node.slopes.tolist()})
                continue
            leaf: dict[str, object] = {"q": [1] * width if node.tangent is None else node.tangent.tolist()}
            if node.multipliers is not None and (rows := np.flatnonzero(node.multipliers)).size:
                leaf |= {"rows": rows.tolist(), "values": node.multipliers[rows].tolist()}
            tree.append(leaf)
        return tree


def _boxes(nodes: list[Node]) -> tuple[Floats, Floats]:
    """The lower and the upper ends of boxes, a row each."""
    return np.array([node.low for node in nodes]), np.array([node.high for node in nodes])


class Search:
    """Best-first branch and bound for one vector of prices; stopped at any time, its tree proves its bound.

    Parameters
    ----------
    cost : Cost
    prices : array (n,)
    tolerance : float
        A box is closed once its bound is within this of the least reduced cost met, or of 0.
    deadline : float
        On the clock of ``time.monotonic()``; relaxations that have begun end near it.

    Attributes
    ----------
    columns : list of arrays
        Posteriors met that cost less than their price.
    least : float
        The least reduced cost met, at most 0.
    bound : float
        No posterior has a reduced cost below this; the tree below ``root`` proves it.
    nodes, size : int
        Boxes, and about the characters of the proof.
    """

    def __init__(self, cost: Cost, prices: Floats, tolerance: float, deadline: float = math.inf) -> None:
        self.cost, self.prices, self.tolerance = cost, prices, tolerance
        self.sloped = cost.sloped and cost.size > FEW
        self._deadline = deadline
        self.columns: list[Floats] = []
        self.least, self.closed = 0.0, math.inf
        self.nodes = self.size = 0
        self._open: list[tuple[float, int, Node, Floats]] = []
        self._shut: list[tuple[float, Node, Floats | None]] = []
        self._number = itertools.count()
        self.root = Node(*cost.first_box())
        self._leaf_size, self._decimals = 10 + 11 * len(cost.tangents), DECIMALS
        self._write(0.0)
        self._examine([self.root])

    @property
    def bound(self) -> float:
        """Lower bound on every reduced cost, proved by the tree."""
        return min(self.closed, self._open[0][0] if self._open else math.inf)

    @property
    def done(self) -> bool:
        """Whether the least reduced cost is known to the tolerance."""
        return not self._open or self._open[0][0] >= self.least - self.tolerance

    def run(self, budget: Budget, enough: float = -math.inf, largest: int = LARGEST) -> None:
        """Split boxes until done, out of time or room, or a reduced cost below ``enough`` is met."""
        while not self.done and budget.remaining > 0 and self.least > enough and self.size < largest:
            self.step()

    def refine(self, tolerance: float, budget: Budget) -> None:
        """Seek a smaller tolerance: boxes that were good enough are open again where they no longer are, as far as the time reaches."""
        self.tolerance = tolerance
        self._write(0.0)
        shut, self._shut, self.closed = self._shut, [], math.inf
        unseen: list[tuple[float, Node]] = []
        for bound, node, point in shut:
            if point is None and bound < self.least - tolerance:
                unseen.append((bound, node))
            elif point is None:
                self._shut_off(bound, node)
            else:
                self._sort_in(node, bound, point)
        while unseen and budget.remaining > 0:
            some, unseen = unseen[: 2 * BATCH], unseen[2 * BATCH :]
            self.nodes -= len(some)
            self.size -= self._leaf_size * len(some)
            self._examine([node for _, node in some])
        for bound, node in unseen:
            self._shut_off(bound, node)

    def _write(self, near: float) -> None:
        """Keep as many decimals of slopes as tell bounds apart that differ by ``near``, all where it is 0."""
        if self.sloped:
            most = DECIMALS if self.tolerance >= USUAL else FINE_DECIMALS
            self._decimals = (
                min(most, max(LEAST_DECIMALS, 2 - math.floor(math.log10(near)))) if near else most
            )
            self._leaf_size = 16 + (self._decimals + 4) * self.cost.dimension

    def step(self) -> None:
        """Split the worst open boxes."""
        taken: list[tuple[float, Node, Floats]] = []
        while self._open and len(taken) < BATCH and self._open[0][0] < self.least - self.tolerance:
            bound, _, node, point = heapq.heappop(self._open)
            taken.append((bound, node, point))
        parts: list[Node] = []
        if taken:
            points = np.array([point for _, _, point in taken])
            seen = points if self.cost.coordinates is None else points @ self.cost.coordinates.T
            sides = self._sides([node for _, node, _ in taken], seen)
            for (bound, node, point), k, at in zip(taken, sides, seen, strict=True):
                if k < 0:
                    self._shut_off(bound, node, point)
                else:
                    self.size += 30 - self._leaf_size
                    parts += node.on_side(k, float(at[k]))
        if parts and (self.cost.tight or self.sloped):
            lows, highs = tightened(*_boxes(parts))
            for part, low, high in zip(parts, lows, highs, strict=True):
                part.low, part.high = low, high
        self._examine(parts)

    def _sides(self, nodes: list[Node], seen: Floats) -> list[int]:
        """The side across which each box is split: where the secant is furthest off; -1 where all are too short."""
        low, high = _boxes(nodes)
        gap = phi(seen) - phi(low) - secant_slopes(low, high) * (seen - low)
        gap[high - low <= NARROW] = -math.inf
        k = np.where(gap.max(axis=1) > 0, gap.argmax(axis=1), (high - low).argmax(axis=1))
        every = np.arange(len(nodes))
        places: list[int] = np.where((high - low)[every, k] <= NARROW, -1, k).tolist()
        return places

    def _examine(self, nodes: list[Node]) -> None:
        """Bound boxes, note the points met, and keep open what is not good enough."""
        if not nodes:
            return
        low, high = _boxes(nodes)
        bounds = np.full(len(nodes), -math.inf)
        if nodes[0].tangent is not None or nodes[0].slopes is not None:
            bounds = self._inherited(nodes, low, high)
        rest = np.flatnonzero(bounds < self.least - self.tolerance)
        self.nodes += len(nodes)
        self.size += self._leaf_size * len(nodes)
        for i in np.flatnonzero(bounds >= self.least - self.tolerance).tolist():
            self._shut_off(float(bounds[i]), nodes[i])
        if not len(rest):
            return
        missing = float(np.median(self.least - self.tolerance - bounds[rest]))
        far = self.nodes > MANY and FAR * self.tolerance < missing < math.inf
        near = ACCURATE * missing if far else 0.0
        self._write(near)
        if self.sloped:
            some = [nodes[i] for i in rest.tolist()]
            self._sort_in_sloped(some, (low[rest], high[rest]), bounds[rest], near)
            return
        points, fresh, tangents, multipliers = self._relaxed(low[rest], high[rest], near)
        self._note(points)
        for j, i in enumerate(rest.tolist()):
            if fresh[j] >= bounds[i]:
                nodes[i].tangent, nodes[i].multipliers, bounds[i] = tangents[j], multipliers[j], fresh[j]
            self.size += 14 * int(np.count_nonzero(multipliers[j]))
            self._sort_in(nodes[i], float(bounds[i]), points[j])

    def _relaxed(self, low: Floats, high: Floats, near: float) -> tuple[Floats, Floats, Floats, Floats]:
        """Points, bounds, tangents and multipliers of boxes; an empty one takes longer to be shown so."""
        points, tangents, multipliers = relax(
            self.cost,
            self.prices,
            low,
            high,
            tolerance=self.tolerance,
            deadline=self._deadline,
            near=near,
        )
        bounds = self._proved(low, high, tangents, multipliers)
        if self.cost.coordinates is None:
            return points, bounds, tangents, multipliers
        seen = points @ self.cost.coordinates.T
        empty = ((seen < low - OUTSIDE) | (seen > high + OUTSIDE)).any(axis=1)
        some = np.flatnonzero(empty & (bounds < self.least - self.tolerance))
        if len(some):
            _, fresh, more = relax(
                self.cost, self.prices, low[some], high[some], LONGER, self.tolerance, self._deadline
            )
            proved = self._proved(low[some], high[some], fresh, more)
            better = proved > bounds[some]
            some = some[better]
            tangents[some], multipliers[some], bounds[some] = fresh[better], more[better], proved[better]
        return points, bounds, tangents, multipliers

    def _sort_in_sloped(
        self, nodes: list[Node], box: tuple[Floats, Floats], bounds: Floats, near: float
    ) -> None:
        """Bound boxes by slopes, note the points met, and keep open what is not good enough."""
        low, high = box
        fine = self.tolerance < USUAL
        points, slopes = relax_slopes(
            self.cost, self.prices, low, high, fine=fine, deadline=self._deadline, near=near
        )
        slopes = np.round(slopes, self._decimals)
        fresh = self.cost.slope_bounds(self.prices, low, high, slopes)
        fresh = np.where(np.isnan(fresh), -math.inf, fresh)
        self._note(points)
        failed = np.flatnonzero((fresh < bounds) & (bounds < self.least - self.tolerance))
        for j, node in enumerate(nodes):
            if fresh[j] >= bounds[j]:
                node.slopes, bounds[j] = slopes[j], fresh[j]
        self._with_tangents(nodes, box, bounds, failed)
        for node, bound, point in zip(nodes, bounds.tolist(), points, strict=True):
            self._sort_in(node, bound, point)

    def _with_tangents(
        self, nodes: list[Node], box: tuple[Floats, Floats], bounds: Floats, some: NDArray[np.int64]
    ) -> None:
        """Close those of some boxes that tangents close: on narrow ones slopes alone may run away."""
        if not len(some):
            return
        _, proved, tangents, multipliers = self._relaxed(box[0][some], box[1][some], 0.0)
        for j in np.flatnonzero(proved >= self.least - self.tolerance).tolist():
            i = int(some[j])
            nodes[i].tangent, nodes[i].multipliers, bounds[i] = tangents[j], multipliers[j], proved[j]

    def _proved(self, low: Floats, high: Floats, tangents: Floats, multipliers: Floats) -> Floats:
        bounds = self.cost.leaf_bounds(self.prices, low, high, tangents, multipliers)
        return np.where(np.isnan(bounds), -math.inf, bounds)

    def _inherited(self, nodes: list[Node], low: Floats, high: Floats) -> Floats:
        """What the tangents and multipliers, or the slopes, of the boxes around prove; slopes are shifted to what is best here."""
        if self.sloped:
            around = np.array([node.slopes for node in nodes])
            slopes = np.round(shifted(self.cost, low, high, around), self._decimals)
            for node, own in zip(nodes, slopes, strict=True):
                node.tangent, node.multipliers, node.slopes = None, None, own
            return self.cost.slope_bounds(self.prices, low, high, slopes)
        tangents = np.array([node.tangent for node in nodes])
        multipliers = np.array([node.multipliers for node in nodes])
        return self.cost.leaf_bounds(self.prices, low, high, tangents, multipliers)

    def _note(self, points: Floats) -> None:
        reduced = reduced_costs(self.cost, self.prices, points)
        for i in np.flatnonzero(reduced < -self.tolerance / NOTED).tolist():
            self.columns.append(points[i])
        self.least = min(self.least, float(reduced.min()))

    def _sort_in(self, node: Node, bound: float, point: Floats) -> None:
        if bound >= self.least - self.tolerance:
            self._shut_off(bound, node, point)
            return
        heapq.heappush(self._open, (bound, next(self._number), node, point))

    def _shut_off(self, bound: float, node: Node, point: Floats | None = None) -> None:
        """Leave a box as a leaf, unless :meth:`refine` opens it again."""
        self.closed = min(self.closed, bound)
        if bound < math.inf:
            self._shut.append((bound, node, point))

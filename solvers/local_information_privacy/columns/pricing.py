"""Exact pricing: the allowed posterior whose entropy is furthest below its price, by branch and bound."""

from __future__ import annotations

import heapq
import itertools
import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.core.solver import Budget
from privopt.problems.entropy_boxes import knapsack_prices
from privopt.problems.local_information_privacy.bound import priced_bound
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.local_information_privacy.columns.program import BoxLP, Pricing, phi, pricing_of


@dataclass(frozen=True)
class Box:
    """low <= B v <= high, with the secants constant + slopes . t of -sum t ln t on it; ``foot`` is the curve at low."""

    low: Floats
    high: Floats
    foot: Floats
    slopes: Floats
    constant: float

    @classmethod
    def first(cls, pricing: Pricing) -> Box:
        """The box that holds every allowed posterior."""
        low, high = pricing.first_box()
        constant, slopes = pricing.secants(low, high)
        return cls(low, high, -low * np.log(np.maximum(low, 1e-300)), slopes, float(constant))

    def split(self, k: int, t: float) -> tuple[Box, Box]:
        """The parts with t_k <= t and t_k >= t; only the secant of that coordinate changes."""
        at, top = _phi(t), _phi(float(self.high[k]))
        low, high = float(self.low[k]), float(self.high[k])
        foot = float(self.foot[k])
        below = (at - foot) / (t - low) if t > low else 0.0
        above = (top - at) / (high - t) if high > t else 0.0
        rest = self.constant - (foot - float(self.slopes[k]) * low)
        return (
            Box(self.low, _with(self.high, k, t), self.foot, _with(self.slopes, k, below), rest + foot - below * low),
            Box(_with(self.low, k, t), self.high, _with(self.foot, k, at), _with(self.slopes, k, above), rest + at - above * t),
        )  # fmt: skip

    def secants_at(self, t: Floats) -> Floats:
        """The secant of each coordinate at a point."""
        return self.foot + self.slopes * (t - self.low)


def _phi(t: float) -> float:
    return -t * math.log(t) if t > 0 else 0.0


def _with(array: Floats, k: int, value: float) -> Floats:
    changed = array.copy()
    changed[k] = value
    return changed


@dataclass
class Node:
    """A box of the tree: a leaf with multipliers of some rows, or split at coordinate ``k`` and ``t``.

    A split that keeps its multipliers is first cut down to what they do not prove to be at least ``enough``.
    """

    rows: NDArray[np.int64]
    values: Floats
    k: int = -1
    t: float = math.nan
    enough: float = math.inf
    parts: tuple[Node, ...] = ()

    @property
    def size(self) -> int:
        """About the characters that the multipliers take in a file."""
        return 28 + 21 * len(self.rows)

    def full(self, count: int) -> Floats:
        """The multipliers of all rows."""
        full = np.zeros(count)
        full[self.rows] = self.values
        return full

    def keep(self, full: Floats) -> None:
        """Take the multipliers from those of all rows."""
        self.rows = np.flatnonzero(full)
        self.values = full[self.rows]

    def preorder(self) -> list[dict[str, object]]:
        """The tree as a proof is written."""
        nodes: list[dict[str, object]] = []
        waiting = [self]
        while waiting:
            node = waiting.pop()
            proof: dict[str, object] = {"rows": node.rows.tolist(), "values": node.values.tolist()}
            if node.parts:
                cut = {} if math.isinf(node.enough) else {"enough": node.enough, **proof}
                nodes.append({"k": node.k, "t": node.t, **cut})
                waiting += [node.parts[1], node.parts[0]]
            else:
                nodes.append(proof)
        return nodes


NOISE = 1e-12
"""Gaps between secant and curve, and reduced costs, below this are not worth a split."""

WORTH = 0.95
"""A box is cut down where its coordinates keep less than this share of their widths, together."""

CHECKING = 7e-7
"""Seconds that a check takes for each box and coordinate."""

SPARE = 1e-10
"""So much more, in nats, than rounding takes from the bound of a box."""

RAYS = (0.0, 1.0, 1e2, 1e4, 1e6)
"""How much of a ray is tried to show that a box is empty."""

UNSEEN = -1
"""In place of the coordinate at which to split a box that another search left behind."""

LARGEST = 4_000_000
"""Characters of the proof at which the search ends."""


@dataclass(order=True)
class _Open:
    bound: float
    number: int
    node: Node = field(compare=False)
    box: Box = field(compare=False)
    k: int = field(compare=False)
    t: float = field(compare=False)


class Search:
    """Branch and bound for one vector of prices.

    Parameters
    ----------
    lp : BoxLP
    prices : array (n,)
    tolerance : float
        A box is closed once its bound is within this of the least reduced cost met.
    before : Node, optional
        The tree of a search at other prices, from whose splits this one begins.

    Attributes
    ----------
    columns : list of (reduced cost, posterior)
        Allowed posteriors met, each cheaper than its price.
    least : float
        The least reduced cost met, at most 0.
    bound : float
        No allowed posterior has a reduced cost below this; the tree below ``root`` proves it.
    nodes, size : int
        Boxes, and about the characters of the proof.
    """

    def __init__(self, lp: BoxLP, prices: Floats, tolerance: float, before: Node | None = None) -> None:
        self.lp, self.prices, self.tolerance = lp, prices, tolerance
        self.pricing: Pricing = lp.pricing
        self.columns: list[tuple[float, Floats]] = []
        self.least, self.closed = 0.0, math.inf
        self.nodes = self.size = 0
        self._open: list[_Open] = []
        self._number = itertools.count()
        self._rows = len(self.pricing.rows) + 2 * self.pricing.coordinates
        self.root = Node(np.zeros(0, dtype=np.int64), np.zeros(0))
        first = Box.first(self.pricing)
        if before is None:
            self._examine([(self.root, first)], -math.inf)
        else:
            self._carry_on(before, first)

    @property
    def bound(self) -> float:
        """Lower bound on the reduced cost of every allowed posterior, proved by the tree."""
        return min(self.closed, self._open[0].bound if self._open else math.inf)

    @property
    def done(self) -> bool:
        """Whether the least reduced cost is known to the tolerance."""
        return not self._open or self._open[0].bound >= self.least - self.tolerance

    def run(self, budget: Budget, enough: float = -math.inf, boxes: float = math.inf) -> None:
        """Split boxes, the worst first, until done, out of room or time to check them, or a reduced cost below ``enough`` is met.

        ``boxes`` is the most to examine now; the search can go on later.
        """
        end = self.nodes + boxes
        while not self.done and self.least > enough and self.nodes < end:
            if self.size >= LARGEST or budget.remaining <= CHECKING * self.nodes * self.pricing.size:
                break
            self.step()

    def _carry_on(self, before: Node, first: Box) -> None:
        """Take over the splits of a tree; of its leaves no more is known than what their multipliers prove at these prices."""
        level = [(before, self.root, first)]
        while level:
            full = np.array([old.full(self._rows) for old, _, _ in level])
            bounds = self._bounds([box for _, _, box in level], full)
            below: list[tuple[Node, Node, Box]] = []
            for (old, node, box), bound in zip(level, bounds.tolist(), strict=True):
                node.rows, node.values = old.rows, old.values
                if old.parts and bound < self.least - self.tolerance:
                    below += self._divided(old, node, box, bound)
                    continue
                self.nodes, self.size = self.nodes + 1, self.size + node.size
                heapq.heappush(self._open, _Open(bound, next(self._number), node, box, UNSEEN, math.nan))
            level = below

    def _divided(self, old: Node, node: Node, box: Box, bound: float) -> list[tuple[Node, Node, Box]]:
        """Split a box where a tree split another one; where all of it is on one side, it is that part of the tree's."""
        k, t = old.k, old.t
        if not box.low[k] < t < box.high[k]:
            return [(old.parts[0 if box.high[k] <= t else 1], node, box)]
        smaller = None if math.isinf(old.enough) else self._cut_down(node, box, bound)
        if smaller is not None and not smaller.low[k] < t < smaller.high[k]:
            node.enough, smaller = math.inf, None
        self.nodes, self.size = self.nodes + 1, self.size + 30 + (0 if smaller is None else node.size)
        node.k, node.t = k, t
        node.parts = Node(node.rows, node.values), Node(node.rows, node.values)
        return list(zip(old.parts, node.parts, (smaller or box).split(k, t), strict=True))

    def step(self) -> None:
        """Split the worst open box, or bound it if it was taken over and not looked at so far."""
        worst = heapq.heappop(self._open)
        node = worst.node
        if worst.k == UNSEEN:
            self.nodes, self.size = self.nodes - 1, self.size - node.size
            self._examine([(node, worst.box)], worst.bound)
            return
        node.k, node.t = worst.k, worst.t
        node.parts = (Node(node.rows, node.values), Node(node.rows, node.values))
        boxes = worst.box.split(worst.k, worst.t)
        self.size += 30 - (node.size if math.isinf(node.enough) else 0)
        self._examine(list(zip(node.parts, boxes, strict=True)), worst.bound)

    def _examine(self, boxes: list[tuple[Node, Box]], above: float) -> None:
        """Bound boxes, of which the one around has the bound ``above``; keep open those that are not good enough."""
        pricing = self.pricing
        points, full = [], np.zeros((len(boxes), self._rows))
        for i, (node, box) in enumerate(boxes):
            across = box.slopes if pricing.matrix is None else box.slopes @ pricing.matrix
            optimum = self.lp.solve(across - self.prices, box.low, box.high)
            points.append(optimum.point)
            full[i] = optimum.multipliers
            if optimum.point is None:
                full[i] = self._emptied(node, box, optimum.multipliers)
        bounds = self._bounds([box for _, box in boxes], full)
        for (node, box), point, row, bound in zip(boxes, points, full, bounds.tolist(), strict=True):
            kept = bound
            if bound >= above - NOISE or not math.isfinite(above):
                node.keep(row)
            else:  # the program went wrong: the multipliers of the box around prove as much as there
                kept = max(bound, float(self._bounds([box], node.full(self._rows)[None])[0]))
                if kept == bound:
                    node.keep(row)
            self.nodes += 1
            self.size += node.size
            self._sort_in(node, box, point, kept)

    def _bounds(self, boxes: list[Box], full: Floats) -> Floats:
        low, high = np.array([box.low for box in boxes]), np.array([box.high for box in boxes])
        secants = np.array([box.constant for box in boxes]), np.array([box.slopes for box in boxes])
        return self.pricing.leaf_bounds(self.prices, (low, high), secants, full)

    def _sort_in(self, node: Node, box: Box, point: Floats | None, bound: float) -> None:
        """Note the point as a column, and close the box or choose where to split it."""
        if point is None:
            self.closed = min(self.closed, bound)
            return
        seen = point if self.pricing.matrix is None else self.pricing.matrix @ point
        curve = phi(seen)
        reduced = float(curve.sum() - self.prices @ point)
        if reduced < -NOISE:
            self.columns.append((reduced, point))
            self.least = min(self.least, reduced)
        gap = curve - box.secants_at(seen)
        k = int(gap.argmax())
        if gap[k] <= NOISE or bound >= self.least - self.tolerance:
            self.closed = min(self.closed, bound)
            return
        if (smaller := self._cut_down(node, box, bound)) is not None:
            box, k = smaller, int((curve - smaller.secants_at(seen)).argmax())
        # Half way from the point to the middle: boxes shrink on both sides, and the point is cut off none the less.
        width = box.high[k] - box.low[k]
        t = float(0.5 * seen[k] + 0.25 * (box.low[k] + box.high[k]))
        t = float(np.clip(t, box.low[k] + 1e-3 * width, box.high[k] - 1e-3 * width))
        heapq.heappush(self._open, _Open(bound, next(self._number), node, box, k, t))

    def _cut_down(self, node: Node, box: Box, bound: float) -> Box | None:
        """The part of a box that its multipliers leave open: where a coordinate is so far off that they prove enough, nothing is sought.

        None where that is next to nothing, or the box is not one of posteriors.
        """
        pricing, enough = self.pricing, self.least - self.tolerance
        if pricing.matrix is not None:
            return None
        full = node.full(self._rows)
        linear = box.slopes - self.prices + full[: len(pricing.rows)] @ pricing.rows
        rates = linear - knapsack_prices(linear[None], box.low[None], box.high[None])
        with np.errstate(divide="ignore"):
            reach = (enough - bound + SPARE) / np.abs(rates)
        width = (box.high - box.low)[rates != 0]
        if not np.minimum(reach[rates != 0], width).sum() < WORTH * width.sum():
            return None
        low = np.where(rates < 0, np.maximum(box.low, box.high - reach), box.low)
        high = np.where(rates > 0, np.minimum(box.high, box.low + reach), box.high)
        node.enough, self.closed = enough, min(self.closed, enough)
        constant, slopes = pricing.secants(low, high)
        return Box(low, high, phi(low), slopes, float(constant))

    def _emptied(self, node: Node, box: Box, ray: Floats) -> Floats:
        """Multipliers that show a box without allowed posteriors to be so: a ray added to those of the box around."""
        tried = node.full(self._rows) + np.array(RAYS)[:, None] * ray
        bounds = self._bounds([box] * len(RAYS), tried)
        enough = np.flatnonzero(bounds >= 0.0)
        return np.asarray(tried[int(enough[0]) if len(enough) else int(bounds.argmax())])


TOLERANCE = 1e-7
"""How far the proof may stay above the best bound that the prices allow, as a share of the utility, or of 1 nat if less."""

FINEST = 1e-11
"""No proof in floats is driven further, in nats."""


def prove(
    problem: LocalInformationPrivacy, prices: Floats, budget: Budget
) -> tuple[float, dict[str, object]] | None:
    """An upper bound on the mutual information, with the dual that ``problem.check_bound`` accepts.

    Parameters
    ----------
    problem : LocalInformationPrivacy
    prices : array (n,)
        One for each observation of positive probability, in nats; best are the duals of the rows
        sum_y weight_y v_y = P(w) in the linear program over posteriors.
    budget : Budget
        Any time gives a bound; more time a better one, until it is within 1e-7 of the best.

    Returns
    -------
    tuple of (bound, dual), or None where no such proof exists: another utility, or delta > 0.
    """
    if problem.matrix is not None or problem.cost is not None or problem.delta > 0:
        return None
    utility = min(1.0, priced_bound(problem, prices, 0.0))
    search = Search(BoxLP(pricing_of(problem)), prices, max(FINEST, TOLERANCE * utility))
    search.run(budget)
    return written(problem, search)


def written(problem: LocalInformationPrivacy, search: Search) -> tuple[float, dict[str, object]]:
    """The bound and the dual of a search, finished or not."""
    bound = priced_bound(problem, search.prices, search.bound)
    dual = {"kind": "pricing", "pi": search.prices.tolist(), "tree": search.root.preorder()}
    return bound, dual

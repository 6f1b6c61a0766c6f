"""Exact pricing: the allowed posterior whose entropy is furthest below its price, by branch and bound.

On a box of B v each term -t ln t is at least its secant, so a linear programme bounds the reduced cost
cost(v) - prices . v from below. The box is split at the coordinate where secant and curve differ most,
at the optimum of the programme, where both parts are then exact. The tree so far is always a proof of the
bound of its worst open box.
"""

from __future__ import annotations

import heapq
import itertools
import math
from dataclasses import dataclass, field

import numpy as np

from privopt.arrays import Floats
from privopt.core.solver import Budget
from privopt.problems.local_information_privacy.tree import Pricing, phi
from privopt.solvers.local_information_privacy._boxes import Box, Node
from privopt.solvers.local_information_privacy._pricing_lp import BoxLP

NOISE = 1e-12
"""Gaps between secant and curve, and reduced costs, below this are not worth a split."""

RAYS = (0.0, 1.0, 1e2, 1e4, 1e6)
"""How much of a ray is tried to show that a box is empty."""

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
        A box is closed once its bound is within this of the least reduced cost found.

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

    def __init__(self, lp: BoxLP, prices: Floats, tolerance: float) -> None:
        self.lp, self.prices, self.tolerance = lp, prices, tolerance
        self.pricing: Pricing = lp.pricing
        self.columns: list[tuple[float, Floats]] = []
        self.least, self.closed = 0.0, math.inf
        self.nodes = self.size = 0
        self._open: list[_Open] = []
        self._number = itertools.count()
        self._rows = len(self.pricing.rows) + 2 * self.pricing.coordinates
        self.root = Node(np.zeros(0, dtype=np.int64), np.zeros(0))
        self._examine([(self.root, Box.first(self.pricing))], -math.inf)

    @property
    def bound(self) -> float:
        """Lower bound on the reduced cost of every allowed posterior, proved by the tree."""
        return min(self.closed, self._open[0].bound if self._open else math.inf)

    @property
    def done(self) -> bool:
        """Whether the least reduced cost is known to the tolerance."""
        return not self._open or self._open[0].bound >= self.least - self.tolerance

    def run(self, budget: Budget, enough: float = -math.inf, boxes: float = math.inf) -> None:
        """Split boxes, the worst first, until done, out of time or room, or a reduced cost below ``enough`` is met.

        ``boxes`` is the most to examine now; the search can go on later.
        """
        end = self.nodes + boxes
        while not self.done and budget.remaining > 0 and self.least > enough and self.nodes < end:
            if self.size >= LARGEST:
                break
            self.step()

    def step(self) -> None:
        """Split the worst open box."""
        worst = heapq.heappop(self._open)
        node = worst.node
        node.k, node.t = worst.k, worst.t
        node.parts = (Node(node.rows, node.values), Node(node.rows, node.values))
        boxes = worst.box.split(worst.k, worst.t)
        self.size += 30 - node.size
        self._examine(list(zip(node.parts, boxes, strict=True)), worst.bound)

    def _examine(self, boxes: list[tuple[Node, Box]], above: float) -> None:
        """Bound boxes, of which the one around has the bound ``above``; keep open those that are not good enough."""
        pricing = self.pricing
        found, full = [], np.zeros((len(boxes), self._rows))
        for i, (node, box) in enumerate(boxes):
            across = box.slopes if pricing.matrix is None else box.slopes @ pricing.matrix
            optimum = self.lp.solve(across - self.prices, box.low, box.high)
            found.append(optimum.point)
            full[i] = optimum.multipliers
            if optimum.point is None:
                full[i] = self._emptied(node, box, optimum.multipliers)
        bounds = self._bounds([box for _, box in boxes], full)
        for (node, box), point, row, bound in zip(boxes, found, full, bounds.tolist(), strict=True):
            kept = bound
            if bound >= above - NOISE or not math.isfinite(above):
                node.keep(row)
            else:  # the programme went wrong: the multipliers of the box around prove as much as there
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
        width = box.high[k] - box.low[k]
        t = float(np.clip(seen[k], box.low[k] + 1e-3 * width, box.high[k] - 1e-3 * width))
        heapq.heappush(self._open, _Open(bound, next(self._number), node, box, k, t))

    def _emptied(self, node: Node, box: Box, ray: Floats) -> Floats:
        """Multipliers that show a box without allowed posteriors to be so: a ray added to those of the box around."""
        tried = node.full(self._rows) + np.array(RAYS)[:, None] * ray
        bounds = self._bounds([box] * len(RAYS), tried)
        enough = np.flatnonzero(bounds >= 0.0)
        return np.asarray(tried[int(enough[0]) if len(enough) else int(bounds.argmax())])

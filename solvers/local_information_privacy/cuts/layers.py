"""Prices and trees for the proof by layers, over rows that vary in intervals; see :mod:`privopt.problems.local_information_privacy.layers`."""

from __future__ import annotations

import heapq
import itertools
import math
from dataclasses import dataclass, field

import numpy as np

from privopt.arrays import Floats
from privopt.core.solver import Budget
from privopt.problems.local_information_privacy.layers import Cells, Layers, parts, stacked
from privopt.solvers.local_information_privacy.columns.program import phi, rounded
from privopt.solvers.local_information_privacy.cuts.programs import Mixed, Programs, Solved

STEPS = 10
"""Parts of the range of d at first."""

UPPER = (1, 2, 4, 7, 12, 20)
"""Where the range of u above the start of d is split at first, in such parts."""

WORTH = 0.97
"""A symbol is cut off at a value that is less than this share of the largest one so far."""

MOST = 120
"""Boxes for which prices are sought together."""

BEYOND = 5e-3
"""A symbol is cut off so far, relatively, beyond the largest value that a box allows."""

RAY = 1000.0
"""Nats by which multipliers of an empty box are made to exceed what a posterior can cost."""

RAYS = (1e1, 1e2, 1e3, 1e4, 1e6, 1e8)
"""Lengths of a ray that are tried to show that a box is empty."""

LARGEST = 3_500_000
"""Characters of the proof at which the search ends."""

GAIN = 5e-3
"""Nats that a split of d or u must gain for such splits to go on."""

SHARE = 3.0
"""How much more than the values of one symbol the weights of layers leave open where symbols are split for these."""

MEDIAN = 0.75
"""Weight of the width of the median beside that of d where one of them is split."""

CHEAPEST, DEAREST = 0.2, 1.0
"""Nats that breaking a bound on ratios by the mean of m is taken to be worth, where no box says more, and at most."""

NARROW = 1e-4
"""Ends of a and b nearer than this are left alone."""

FEW = 6
"""Values of the secret up to which boxes are split by their a and b, instead of by d, c and u."""

NOISE = 1e-7
"""Gaps below this are not worth a split."""


@dataclass
class Node:
    """A box of the tree: a leaf with its multipliers, or a split.

    ``whole`` where no symbol was cut off yet, ``settled`` where splitting d or u has stopped to help.
    """

    cell: Cells
    full: Floats
    nu: float
    split: dict[str, object] | None = None
    parts: tuple[Node, ...] = ()
    whole: bool = False
    settled: bool = False

    def preorder(self) -> list[dict[str, object]]:
        """The tree as a proof is written."""
        nodes: list[dict[str, object]] = []
        waiting = [self]
        while waiting:
            node = waiting.pop()
            if node.split is not None:
                nodes.append(node.split)
                waiting += [node.parts[1], node.parts[0]]
            else:
                used = np.flatnonzero(node.full)
                nodes.append({"rows": used.tolist(), "values": node.full[used].tolist(), "nu": node.nu})
        return nodes


@dataclass(order=True)
class _Open:
    bound: float
    number: int
    node: Node = field(compare=False)
    solved: Solved = field(compare=False)


class LayerTree:
    """A tree of boxes, split where costs are least: by the a and b of few values of the secret, or by d, c and u, first on a grid.

    A box is cut off, symbol by symbol, at what it allows before it is split, and again once d or u is known better.
    """

    def __init__(self, layers: Layers) -> None:
        self.few = len(layers.least.mid) <= FEW
        self.layers, self.programs = layers, Programs(layers)
        self.root = Node(layers.root, np.zeros(layers.count), 0.0)
        self.at = np.zeros(layers.p.shape[0])
        self.size = 0
        self.closed = math.inf
        self._open: list[_Open] = []
        self._leaves: list[Node] = []
        self._stuck: list[_Open] = []
        self._number = itertools.count()
        self._worth = np.full(len(layers.above.mid), CHEAPEST)
        if self.few:
            self.root.whole = True
            self._leaves.append(self.root)
        else:
            self._grid()

    def _split(self, node: Node, split: dict[str, object]) -> tuple[Node, Node]:
        below, above = (Node(part, node.full, node.nu) for part in parts(node.cell, split))
        node.split, node.parts = split, (below, above)
        self.size += 90
        return below, above

    def _grid(self) -> None:
        rest, top = self.root, float(self.root.cell.d[1][0])
        step = top / STEPS
        for place in np.linspace(0.0, top, STEPS + 1)[1:-1].tolist():
            part, rest = self._split(rest, {"d": place})
            self._strip(part, step)
        self._strip(rest, step)

    def _strip(self, node: Node, step: float) -> None:
        """Split a strip of d along u, finely where u is near d."""
        start, top = float(node.cell.d[0][0]), float(node.cell.u[1][0])
        rest = node
        for place in [t for t in [start + k * step for k in UPPER] if t < top]:
            part, rest = self._split(rest, {"u": place})
            self._leaves.append(part)
        self._leaves.append(rest)
        for leaf in self._leaves:
            leaf.whole = True

    def _cut_off(self, node: Node, budget: Budget) -> Node:
        """Cut off, symbol by symbol, what a box does not allow; what is left of it."""
        node.whole = False
        found = self.programs.largest(stacked([node.cell]), budget)
        at = {w: most * (1.0 + BEYOND) for w, (most, _) in enumerate(found)}
        worth = [w for w, t in at.items() if 0.0 < t < WORTH * node.cell.high[0, w]]
        if not worth:
            return node
        far = stacked([parts(node.cell, {"k": w, "t": at[w]})[1] for w in worth])
        tried = np.array([found[w][1] * (2 * RAY / (BEYOND * found[w][0])) for w in worth])
        full, nu = rounded(tried[:, :-1]), tried[:, -1]
        bounds = self.layers.least_costs(self.at, far, full, nu).lower
        for i, w in enumerate(worth):
            if bounds[i] >= RAY:
                node, beyond = self._split(node, {"k": w, "t": at[w]})
                beyond.full, beyond.nu = full[i], float(nu[i])
                self.size += 21 * int((full[i] > 0).sum())
        return node

    def prepare(self, budget: Budget) -> None:
        """Cut off what the boxes with d near u do not allow: most of what costs little is there."""
        for i, leaf in enumerate(self._leaves):
            near = self.few or float(leaf.cell.u[0][0]) <= float(leaf.cell.d[1][0])
            if budget.remaining > 0 and leaf.whole and near:
                self._leaves[i] = self._cut_off(leaf, budget)

    @property
    def tight(self) -> list[Cells]:
        """The boxes whose symbols were cut off, the worst first, up to MOST."""
        nodes = [entry.node for entry in sorted(self._open)] or self._leaves
        return [stacked([node.cell]) for node in nodes if not node.whole][:MOST]

    def prices(self, seconds: float) -> Floats | None:
        """Prices for these boxes; None where there are none."""
        return self.programs.joint_prices(tight, seconds) if (tight := self.tight) else None

    def worst(self, count: int) -> list[Solved]:
        """The optima of the boxes with the least bounds."""
        return [entry.solved for entry in [*self._stuck, *heapq.nsmallest(count, self._open)]]

    def begin(self, prices: Floats, budget: Budget) -> None:
        """Bound all open boxes at prices; what time does not allow keeps its multipliers."""
        nodes = [entry.node for entry in self._open] + self._leaves
        self.at, self._open, self.closed, self._leaves, self._stuck = prices, [], math.inf, [], []
        for node in nodes:
            if budget.remaining > 0:
                self.size -= _characters(node)
                self._examine(node, -math.inf)
            else:
                self.closed = -math.inf
                self._leaves.append(node)

    @property
    def bound(self) -> float:
        """The least of the bounds of all boxes, in floats."""
        return min(self.closed, self._open[0].bound if self._open else math.inf)

    def run(self, budget: Budget, enough: float) -> None:
        """Split the worst box, again and again, until time or room is spent, or the bound is at least ``enough``."""
        while self._open and budget.remaining > 0 and self.size < LARGEST:
            if self._open[0].bound >= min(enough, self.closed):
                return
            self.step(budget)

    def step(self, budget: Budget) -> None:
        """Cut off what the worst box does not allow, or split it."""
        worst = heapq.heappop(self._open)
        if worst.node.whole:
            self._examine(self._cut_off(worst.node, budget), worst.bound)
            return
        split = self._choice(worst.node, worst.solved)
        if split is None:
            self.closed = min(self.closed, worst.bound)
            self._leaves.append(worst.node)
            self._stuck.append(worst)
        else:
            self._grow(worst, split)

    def _grow(self, worst: _Open, split: dict[str, object]) -> None:
        """Split a box and bound its parts."""
        least, both = math.inf, self._split(worst.node, split)
        for part in both:
            part.whole, part.settled = not self.few and "k" not in split, worst.node.settled
            least = min(least, self._examine(part, worst.bound))
        if "k" not in split and least - worst.bound < GAIN:
            for part in both:
                part.settled = True

    def _examine(self, node: Node, above: float) -> float:
        """Bound a box; its bound in floats, infinity where it is empty."""
        narrow = stacked([node.cell])
        if narrow.empty:
            return math.inf
        found = self.programs.solve(narrow, self.at)
        if isinstance(found, Solved):
            node.full, node.nu = found.full, found.nu
            heapq.heappush(self._open, _Open(max(above, found.value), next(self._number), node, found))
        elif found is None:
            self.closed = min(self.closed, above)
            self._leaves.append(node)
        else:
            self._empty(node, narrow, found)
        self.size += _characters(node)
        return found.value if isinstance(found, Solved) else -math.inf if found is None else math.inf

    def _empty(self, node: Node, cell: Cells, ray: Floats) -> None:
        """Multipliers of a box that show that it is empty: the ray, as long as it has to be."""
        full, nu, bound = self._longer(cell, ray)
        before = self.layers.least_costs(self.at, cell, node.full[None], np.array([node.nu])).lower
        if bound > float(before[0]):
            node.full, node.nu = full, nu
        self.closed = min(self.closed, max(bound, float(before[0])))

    def _longer(self, cell: Cells, ray: Floats) -> tuple[Floats, float, float]:
        """A multiple of multipliers that proves that a box costs much, or the best of some, with what it proves."""
        size = max(float(np.abs(ray).max()), 1e-300)
        tried = rounded(np.abs(ray) / size) * np.sign(ray) * np.array(RAYS)[:, None]
        every = stacked([cell] * len(RAYS))
        bounds = self.layers.least_costs(self.at, every, tried[:, :-1], tried[:, -1]).lower
        best = int(np.argmax(bounds >= RAY)) if (bounds >= RAY).any() else int(bounds.argmax())
        return tried[best, :-1], float(tried[best, -1]), float(bounds[best])

    def _choice(self, node: Node, solved: Solved) -> dict[str, object] | None:
        """Where to split a box: where the program mixes values of a symbol most, or numbers of layers if they leave more open."""
        cell, layers = stacked([node.cell]), self.layers
        p, program, mixed = layers.p.mid, solved.program, Mixed.of(solved, layers)
        mean = mixed.mean
        gaps = phi(p * mean) - solved.totals(phi(p[program.symbols] * program.values), len(p))
        w = int(gaps.argmax())
        by_layers = (
            self._side(cell, mixed, float(gaps[w]))
            if self.few
            else self._quantile(node, cell, solved, mixed, float(gaps[w]))
        )
        if by_layers is not None:
            return by_layers
        if gaps[w] < NOISE:
            return None
        return {"k": w, "t": _between(float(mean[w]), float(cell.low[0, w]), float(cell.high[0, w]), 1e-3)}

    def _quantile(
        self, node: Node, cell: Cells, solved: Solved, mixed: Mixed, gap: float
    ) -> dict[str, object] | None:
        """A split of d, c or u, or of a symbol by the layers that it is in, where these leave more open than symbols."""
        theta = self.layers.theta
        shares = {"d": (cell.d, theta, 1.0), "u": (cell.u, 1.0 - theta, 0.5), "c": (cell.c, 0.5, MEDIAN)}
        widths = {k: weight * float(end[1][0] - end[0][0]) for k, (end, _, weight) in shares.items()}
        name = max(widths, key=widths.__getitem__)
        if mixed.left_open > gap and not node.settled and widths[name] > 1e-3:
            end, share, _ = shares[name]
            at = mixed.quantile(solved, self.layers.p.mid, share)
            return {name: _between(at, float(end[0][0]), float(end[1][0]), 0.1)}
        if mixed.left_open <= SHARE * gap:
            return None
        # which layers a symbol is in says what these weigh
        within = [np.clip(end, cell.d[0][0], cell.u[1][0]) for end in (cell.low[0], cell.high[0])]
        open_ = (within[1] - within[0]) * self.layers.width.mid.max(axis=0)
        v = int(open_.argmax())
        if open_[v] <= NOISE:
            return None
        return {"k": v, "t": _between(float(mixed.mean[v]), float(within[0][v]), float(within[1][v]), 0.1)}

    def _side(self, cell: Cells, mixed: Mixed, gap: float) -> dict[str, object] | None:
        """A split of the a or b that hides most of the bound that the mixture breaks most, where that is worth more than a gap."""
        self._worth = np.maximum(self._worth, np.minimum(mixed.multipliers, DEAREST))
        worst = int((self._worth * mixed.broken).argmax())
        if self._worth[worst] * mixed.broken[worst] <= gap:
            return None
        hidden = [
            np.where(ends[1][0] - ends[0][0] > NARROW, part[worst], 0.0)
            for ends, part in ((cell.a, mixed.rise), (cell.b, mixed.fall))
        ]
        if max(part.max() for part in hidden) <= NOISE:
            return None
        rising = hidden[0].max() >= hidden[1].max()
        s = int((hidden[0] if rising else hidden[1]).argmax())
        ends, at = (cell.a, mixed.upper) if rising else (cell.b, mixed.lower)
        place = _between(float(at[s]), float(ends[0][0, s]), float(ends[1][0, s]), 0.1)
        return {"a" if rising else "b": s, "t": place}


def _characters(leaf: Node) -> int:
    """About how many a leaf takes in a file."""
    return 30 + 21 * int((leaf.full > 0).sum())


def _between(value: float, low: float, high: float, margin: float) -> float:
    """Half way from a value to the middle, so that both parts shrink."""
    at = 0.5 * min(max(value, low), high) + 0.25 * (low + high)
    width = high - low
    return float(min(max(at, low + margin * width), high - margin * width))

"""Prices and trees for the proof by layers, over rows that vary in intervals; see :mod:`privopt.problems.local_information_privacy.layers`."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats, Ints
from privopt.core.solver import Budget
from privopt.problems.local_information_privacy.layers import OWN, Cells, Layers, parts, stacked
from privopt.solvers.common.highs import silent_highs
from privopt.solvers.local_information_privacy.columns.program import phi, rounded

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


@dataclass(frozen=True, eq=False)
class Relaxed:
    """The program of a box: how likely each symbol has each of the values of m between which costs are concave.

    ``atoms`` has shape (q, n), ``table`` (rows, q, n) and ``most`` (rows,): the rows are at most that in expectation.
    """

    atoms: Floats
    table: Floats
    most: Floats

    @classmethod
    def of(cls, layers: Layers, cell: Cells) -> Relaxed:
        """Of one box."""
        ends, lines = cell.ends[0], layers.lines(cell)
        distinct = np.append(np.diff(ends) > 0, [True, True])
        atoms = cell.atoms[0][distinct]
        cover = np.minimum(atoms, cell.stop[0][:, None, None]) - np.minimum(atoms, ends[:, None, None])
        values = [layers.least.mid[:, None] * atoms] * 2
        for part in (0, 1):
            sloped = np.tensordot(lines[part][1][0].T, cover, 1)
            values[part] = values[part] + layers.width.mid[:, None] * sloped
        lengths = np.append(np.diff(ends), 0.0)
        fixed = [lengths @ lines[part][0].mid[0] for part in (0, 1)]
        above, below = layers.above.mid, layers.below.mid
        bounds = np.einsum("ik,kqn->iqn", above, values[0]) - np.einsum("ik,kqn->iqn", below, values[1])
        own = np.where(cell.own(atoms[None])[:, 0], layers.p.mid, 0.0)
        table = np.concatenate([bounds, own])
        share = layers.theta
        of_own = [share, share, 1 - share, 1 - share, 0.5, 0.5]
        most = np.concatenate([below @ fixed[1] - above @ fixed[0], of_own])
        return cls(atoms, table, most)

    def costs(self, layers: Layers, prices: Floats) -> Floats:
        """The entropy less its price of every value, shape (q, n)."""
        masses = layers.p.mid * self.atoms
        return np.asarray(phi(masses) - prices * masses)


@dataclass(frozen=True, eq=False)
class Solved:
    """An optimum: its value, the shares of the values (q, n), multipliers of the rows and of the sum."""

    value: float
    shares: Floats
    full: Floats
    nu: float
    program: Relaxed

    @property
    def mean(self) -> Floats:
        """Expected m."""
        return np.asarray((self.shares * self.program.atoms).sum(axis=0))

    def drawn(self, rng: np.random.Generator, p: Floats) -> Floats:
        """A posterior, each symbol with one of its values at random."""
        steps = np.cumsum(self.shares, axis=0)
        chosen = np.minimum((steps < rng.random(steps.shape[1]) * steps[-1]).sum(axis=0), len(steps) - 1)
        mass = p * self.program.atoms[chosen, np.arange(len(p))]
        return np.asarray(mass / mass.sum() if mass.sum() > 0 else p)


class Programs:
    """Linear programs of boxes, one after the other."""

    def __init__(self, layers: Layers) -> None:
        self.layers = layers
        self._highs = silent_highs({"presolve": "off"})
        self.solved = 0

    @property
    def count(self) -> int:
        """Rows that a leaf may give multipliers."""
        return self.layers.above.shape[0] + OWN

    def solve(self, cell: Cells, prices: Floats) -> Solved | Floats | None:
        """The optimum of a box; a ray of multipliers (rows, then the sum) where it is empty; None where neither is known."""
        program = Relaxed.of(self.layers, cell)
        self._highs.passModel(self._model(program, program.costs(self.layers, prices)))
        return self._run(program)

    def _run(self, program: Relaxed) -> Solved | Floats | None:
        import highspy

        highs, n = self._highs, program.atoms.shape[1]
        highs.run()
        self.solved += 1
        status = highs.getModelStatus()
        if status == highspy.HighsModelStatus.kOptimal:
            solution = highs.getSolution()
            duals = np.array(solution.row_dual)
            shares = np.maximum(np.array(solution.col_value).reshape(program.atoms.shape), 0.0)
            full = rounded(np.maximum(-duals[n + 1 :], 0.0))
            return Solved(highs.getInfo().objective_function_value, shares, full, float(duals[n]), program)
        if status == highspy.HighsModelStatus.kInfeasible and (ray := highs.getDualRay())[1]:
            values = -np.asarray(ray[2])
            return np.append(np.maximum(values[n + 1 :], 0.0), -values[n])
        highs.clearSolver()
        return None

    def _model(self, program: Relaxed, costs: Floats) -> Any:
        import highspy

        q, n = costs.shape
        r = len(program.most)
        masses = self.layers.p.mid * program.atoms
        dense = np.concatenate([np.ones((1, q * n)), masses.reshape(1, -1), program.table.reshape(r, -1)])
        own = np.tile(np.arange(n), q)[:, None]
        index = np.concatenate([own, np.tile(np.arange(n, n + 1 + r), (q * n, 1))], axis=1)
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = q * n, n + 1 + r
        lp.col_cost_ = costs.ravel()
        lp.col_lower_, lp.col_upper_ = np.zeros(q * n), np.full(q * n, np.inf)
        lp.row_lower_ = np.concatenate([np.ones(n + 1), np.full(r, -np.inf)])
        lp.row_upper_ = np.concatenate([np.ones(n + 1), program.most])
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_ = np.arange(q * n + 1) * (r + 2)
        lp.a_matrix_.index_, lp.a_matrix_.value_ = index.ravel(), dense.T.ravel()
        return lp

    def largest(self, cell: Cells, budget: Budget) -> list[tuple[float, Floats]]:
        """The largest m of a box, with the multipliers (rows, then the sum) that say so, for the first symbols for which time allows; none if it is empty."""
        program = Relaxed.of(self.layers, cell)
        q, n = program.atoms.shape
        self._highs.passModel(self._model(program, np.zeros((q, n))))
        places = np.arange(q * n, dtype=np.int32)
        found: list[tuple[float, Floats]] = []
        for w in range(n):
            costs = np.zeros((q, n))
            costs[:, w] = -program.atoms[:, w]
            self._highs.changeColsCost(q * n, places, costs.ravel())
            optimum = self._run(program) if budget.remaining > 0 else None
            if not isinstance(optimum, Solved):
                break
            found.append((-optimum.value, np.append(optimum.full, optimum.nu)))
        return found

    def joint_prices(self, cells: Sequence[Cells], seconds: float) -> tuple[Floats, Floats] | None:
        """Prices at which the least cost over all boxes is largest, and how much of each box is used; None if none are found."""
        import highspy

        n = self.layers.p.shape[0]
        lp, ends = self._joint([Relaxed.of(self.layers, cell) for cell in cells])
        highs = silent_highs({"solver": "ipm", "run_crossover": "off", "time_limit": max(0.1, seconds)})
        highs.passModel(lp)
        highs.run()
        if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        solution = highs.getSolution()
        amounts = np.array(solution.col_value)
        return np.array(solution.row_dual)[:n], np.maximum(amounts[ends], 0.0)

    def _joint(self, programs: Sequence[Relaxed]) -> tuple[Any, Ints]:
        """The program of all boxes, each used to an amount, whose place is given; they average to P(w)."""
        import highspy

        n, r = self.layers.p.shape[0], self.count
        starts, index, values, costs = [np.zeros(1, dtype=np.int64)], [], [], []
        first = n
        for program in programs:
            q = len(program.atoms)
            masses, lines = (self.layers.p.mid * program.atoms).ravel(), np.tile(np.arange(n), q)
            dense = np.column_stack([masses, np.ones(q * n), masses, program.table.reshape(r, -1).T])
            rest = np.tile(np.arange(r) + first + n + 1, (q * n, 1))
            where = np.column_stack([lines, first + lines, np.full(q * n, first + n), rest])
            index += [where.ravel(), first + np.arange(n + 1 + r)]
            values += [dense.ravel(), np.concatenate([np.full(n + 1, -1.0), -program.most])]
            starts.append(starts[-1][-1] + np.cumsum(np.append(np.full(q * n, r + 3), n + 1 + r)))
            costs.append(np.append(program.costs(self.layers, np.zeros(n)).ravel(), 0.0))
            first += n + 1 + r
        lp = highspy.HighsLp()
        lp.col_cost_ = np.concatenate(costs)
        lp.num_col_, lp.num_row_ = len(lp.col_cost_), first
        lp.col_lower_, lp.col_upper_ = np.zeros(lp.num_col_), np.full(lp.num_col_, np.inf)
        lower = np.concatenate([np.zeros(n + 1), np.full(r, -np.inf)])
        lp.row_lower_ = np.concatenate([self.layers.p.mid, np.tile(lower, len(programs))])
        lp.row_upper_ = np.concatenate([self.layers.p.mid, np.zeros(first - n)])
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_ = np.concatenate(starts)
        lp.a_matrix_.index_, lp.a_matrix_.value_ = np.concatenate(index), np.concatenate(values)
        return lp, np.cumsum([len(part) for part in costs]) - 1


@dataclass(order=True)
class _Open:
    bound: float
    number: int
    node: Node = field(compare=False)
    solved: Solved = field(compare=False)


class LayerTree:
    """A tree of boxes of (d, u, m), first on a grid, then split where costs are least.

    A box is cut off, symbol by symbol, at what it allows before it is split, and again once d or u is known better.
    """

    def __init__(self, layers: Layers) -> None:
        self.layers, self.programs = layers, Programs(layers)
        self.root = Node(layers.root, np.zeros(self.programs.count), 0.0)
        self.at = np.zeros(layers.p.shape[0])
        self.size = 0
        self.closed = math.inf
        self._open: list[_Open] = []
        self._leaves: list[Node] = []
        self._number = itertools.count()
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
            if budget.remaining > 0 and leaf.whole and float(leaf.cell.u[0][0]) <= float(leaf.cell.d[1][0]):
                self._leaves[i] = self._cut_off(leaf, budget)

    @property
    def tight(self) -> list[Cells]:
        """The boxes whose symbols were cut off, the worst first, up to MOST."""
        nodes = [entry.node for entry in sorted(self._open)] or self._leaves
        return [stacked([node.cell]) for node in nodes if not node.whole][:MOST]

    def prices(self, seconds: float) -> tuple[Floats, Floats] | None:
        """Prices for these boxes, and how much of each is used."""
        return self.programs.joint_prices(self.tight, seconds)

    def begin(self, prices: Floats, budget: Budget) -> None:
        """Bound all open boxes at prices; what time does not allow keeps its multipliers."""
        nodes = [entry.node for entry in self._open] + self._leaves
        self.at, self._open, self.closed, self._leaves = prices, [], math.inf, []
        for node in nodes:
            if budget.remaining > 0:
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
            worst = heapq.heappop(self._open)
            if worst.node.whole:
                self._examine(self._cut_off(worst.node, budget), worst.bound)
                continue
            split = self._choice(worst.node, worst.solved)
            if split is None:
                self.closed = min(self.closed, worst.bound)
                self._leaves.append(worst.node)
                continue
            self._grow(worst, split)

    def _grow(self, worst: _Open, split: dict[str, object]) -> None:
        """Split a box and bound its parts."""
        least, both = math.inf, self._split(worst.node, split)
        for part in both:
            part.whole, part.settled = "k" not in split, worst.node.settled
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
        self.size += 30 + 21 * int((node.full > 0).sum())
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
        """Where to split a box: where the program mixes values of a symbol most, or d or u if they leave more open."""
        cell, layers = stacked([node.cell]), self.layers
        atoms, p, mean = solved.program.atoms, layers.p.mid, solved.mean
        gaps = phi(p * mean) - (solved.shares * phi(p * atoms)).sum(axis=0)
        w = int(gaps.argmax())
        left = self._left_open(cell, solved)
        shares = {
            "d": (cell.d, layers.theta, 1.0),
            "u": (cell.u, 1.0 - layers.theta, 0.5),
            "c": (cell.c, 0.5, MEDIAN),
        }
        widths = {k: weight * float(end[1][0] - end[0][0]) for k, (end, _, weight) in shares.items()}
        name = max(widths, key=widths.__getitem__)
        if left > gaps[w] and not node.settled and widths[name] > 1e-3:
            end, share, _ = shares[name]
            return {name: _between(_quantile(solved, p, share), float(end[0][0]), float(end[1][0]), 0.1)}
        low, high = cell.low[0], cell.high[0]
        if left > SHARE * gaps[w]:  # which layers a symbol is in says what these weigh
            within = [np.clip(end, cell.d[0][0], cell.u[1][0]) for end in (low, high)]
            open_ = (within[1] - within[0]) * layers.width.mid.max(axis=0)
            v = int(open_.argmax())
            if open_[v] > NOISE:
                at = _between(float(mean[v]), float(within[0][v]), float(within[1][v]), 0.1)
                return {"k": v, "t": at}
        if gaps[w] < NOISE:
            return None
        return {"k": w, "t": _between(float(mean[w]), float(low[w]), float(high[w]), 1e-3)}

    def _left_open(self, cell: Cells, solved: Solved) -> float:
        """What the multipliers would gain if the branches of all layers were known."""
        layers, program = self.layers, solved.program
        rows = layers.above.shape[0]
        used = solved.full[:rows]
        left = 1.0 - layers.least.mid.sum(axis=1)
        exact = used @ (_extremes(solved, layers, left, layers.above.mid, layers.below.mid))
        stated = used @ ((program.table[:rows] * solved.shares).sum(axis=(1, 2)) - program.most[:rows])
        return float(exact - stated)


def _between(value: float, low: float, high: float, margin: float) -> float:
    """Half way from a value to the middle, so that both parts shrink."""
    at = 0.5 * min(max(value, low), high) + 0.25 * (low + high)
    width = high - low
    return float(min(max(at, low + margin * width), high - margin * width))


def _quantile(solved: Solved, weights: Floats, share: float) -> float:
    """The quantile of the expected distribution of m under weights."""
    flat = solved.program.atoms.ravel()
    order = np.argsort(flat, kind="stable")
    mass = np.cumsum((solved.shares * weights).ravel()[order])
    return float(flat[order][min(int(np.searchsorted(mass, share - 1e-9)), len(flat) - 1)])


def _extremes(
    solved: Solved, layers: Layers, left: Floats, above: Floats, below: Floats
) -> NDArray[np.float64]:
    """The bounds of ratios, above . hi - below . lo, at the expected distribution of m."""
    atoms, shares = solved.program.atoms, solved.shares
    base = layers.least.mid @ solved.mean
    high, low = base.copy(), base.copy()
    for s, (width, room) in enumerate(zip(layers.width.mid, left, strict=True)):
        total = float(width.sum())
        upper, lower = _quantile(solved, width, total - room), _quantile(solved, width, room)
        high[s] += room * upper + (shares * width * np.maximum(atoms - upper, 0.0)).sum()
        low[s] += room * lower - (shares * width * np.maximum(lower - atoms, 0.0)).sum()
    return np.asarray(above @ high - below @ low)

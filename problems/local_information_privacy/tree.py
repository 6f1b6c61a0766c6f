"""How far the entropy of an allowed posterior can be below its price: a proof by a tree of boxes.

The cost of a posterior v is sum_k phi(t_k), t = B v, phi(t) = -t ln t, with B = P(x | w). On a box
l <= t <= u the concave phi is at least its secant, so cost(v) - pi . v is at least a linear function
of v, whose minimum over {v >= 0, sum v = 1, G v <= 0, l <= B v <= u} is bounded from below by any
multipliers >= 0 of its rows. A tree that splits the first box, with multipliers at its leaves, is thus
a proof that needs no solver to check.

A tree is a list in preorder. A split is ``{"k": coordinate, "t": where}``, followed by the part with
t_k <= where and then that with t_k >= where. A leaf is ``{"rows": [...], "values": [...]}``: multipliers of some
of the rows, numbered: G first, then B v <= u, then -B v <= -l. Where B is the identity a split may have multipliers, too, and a number
``enough``: then only that part of its box is split in which they do not prove so much. With c the linear function that is left, and p the
price of the sum 1, the bound rises by |c_k - p| times the distance of v_k from the end that c_k - p favours.

:func:`least_reduced_cost` checks a tree in balls.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats
from privopt.core.balls import ETA, Balls, U
from privopt.core.problem import Enclosure
from privopt.models import JointDistribution
from privopt.problems.entropy_boxes import knapsack_prices, minorants, proved_knapsacks
from privopt.problems.local_information_privacy.data import LocalInformationPrivacyData

LARGEST = 1e100
"""Multipliers and prices above this prove nothing: sums of them may overflow."""

BATCH = 512
"""Boxes checked at a time."""


@dataclass(frozen=True)
class _Checked:
    """The polytope of posteriors on the support of W, and the matrix B of P(x | w) (None: the identity), in balls."""

    rows: Balls
    matrix: Balls | None

    @property
    def coordinates(self) -> int:
        return self.rows.shape[1] if self.matrix is None else self.matrix.shape[0]

    @property
    def count(self) -> int:
        """Rows that a leaf may give multipliers."""
        return self.rows.shape[0] + 2 * self.coordinates

    def first_box(self) -> tuple[Floats, Floats]:
        """A box that holds B v for every allowed v, rounded outward.

        For B = 1 a row with one positive entry a and all others at least -c bounds it: v <= c / (a + c).
        """
        if self.matrix is not None:
            low, high = self.matrix.lower.min(axis=1), self.matrix.upper.max(axis=1)
            return np.maximum(low, 0.0), np.minimum(high, 1.0)
        size = self.rows.shape[1]
        top = np.ones(size)
        for lower in self.rows.lower:
            c, over = -float(lower.min()), lower > 0
            if c > 0 and over.any():
                share = Balls.exact(c) / (Balls.exact(lower[over]) + c)
                top[over] = np.minimum(top[over], share.upper)
        return np.zeros(size), top

    def _linear(self, prices: Floats, low: Floats, high: Floats, full: Floats) -> tuple[Balls, Balls]:
        """A number (m,) and coefficients (m, n): on boxes cost(v) - prices . v is at least what they make of an allowed v."""
        foot, slopes = minorants(low, high)
        r, k = self.rows.shape[0], self.coordinates
        above, under = Balls.exact(full[:, r : r + k]), Balls.exact(full[:, r + k :])
        tilt = above - under + slopes
        linear = (tilt if self.matrix is None else tilt @ self.matrix) - prices
        if r:
            linear = linear + Balls.exact(full[:, :r]) @ self.rows
        return foot.sum(axis=1) - (above * high).sum(axis=1) + (under * low).sum(axis=1), linear

    def leaves(self, prices: Floats, low: Floats, high: Floats, full: Floats) -> Enclosure:
        """Floats around the least of the bounds on cost(v) - prices . v that multipliers ``full`` prove over boxes."""
        fixed, linear = self._linear(prices, low, high, full)
        if self.matrix is None:
            least, most = proved_knapsacks(linear, low, high)
        else:
            inner = linear.min(axis=1)
            least, most = inner.lower, inner.upper
        filled = np.isfinite(least) & np.isfinite(most)
        if not (filled | (least == math.inf)).all():
            raise _NotAProof
        if not filled.any():
            return math.inf, math.inf
        bounds = fixed[filled] + Balls.between(least[filled], most[filled])
        return float(bounds.lower.min()), float(bounds.upper.min())

    def open_part(
        self, prices: Floats, low: Floats, high: Floats, full: Floats, enough: Floats
    ) -> tuple[Floats, Floats]:
        """The parts of boxes (m, n) in which multipliers do not prove at least ``enough`` (m,), rounded outward."""
        if self.matrix is not None:
            raise _NotAProof
        fixed, linear = self._linear(prices, low, high, full)
        price = knapsack_prices(linear.mid, low, high)
        over = linear - price[:, None]
        bound = fixed + (over * low).minimum(over * high).sum(axis=1) + price
        short = np.maximum((Balls.exact(enough) - bound).upper, 0.0)[:, None] * (1 + 4 * U)
        slow, fast = over.lower, -over.upper
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            up = np.where(slow > 0, np.nextafter(low + short / slow * (1 + 4 * U), np.inf), high)
            down = np.where(fast > 0, np.nextafter(high - short / fast * (1 + 4 * U), -np.inf), low)
        return np.maximum(low, down), np.minimum(high, up)


def least_reduced_cost(
    data: LocalInformationPrivacyData, kept: tuple[int, ...], prices: Floats, tree: object
) -> Enclosure | None:
    """Floats around the lower bound on cost(v) - prices . v that a tree proves, or None if it is not a proof.

    ``kept`` says which rows of the polytope the numbers in its leaves stand for.
    """
    observed = data.observation
    matrix = None if observed.useful is None else seen_balls(observed.useful, data.polytope.support)
    checked = _Checked(data.polytope.balls(kept), matrix)
    if not isinstance(tree, list) or not tree or float(np.abs(prices).max(initial=0.0)) > LARGEST:
        return None
    try:
        return _least(_read(tree), checked, prices)
    except (_NotAProof, KeyError, TypeError, ValueError, IndexError, OverflowError):
        return None


def _least(tree: _Tree, checked: _Checked, prices: Floats) -> Enclosure:
    """Floats around the least that the leaves of a tree prove, and that what its boxes leave out is said to be."""
    least = most = min((cut for cut in tree.enough if cut is not None), default=math.inf)
    waiting = [(0, *checked.first_box())]
    while waiting:
        batch, waiting = waiting[-BATCH:], waiting[:-BATCH]
        low, high = np.array([box[1] for box in batch]), np.array([box[2] for box in batch])
        at = [box[0] for box in batch]
        ends = [j for j, i in enumerate(at) if tree.second[i] is None]
        if ends:
            full = np.array([_multipliers(tree.nodes[at[j]], checked.count) for j in ends])
            found = checked.leaves(prices, low[ends], high[ends], full)
            least, most = min(least, found[0]), min(most, found[1])
            if least == -math.inf:
                raise _NotAProof
        cut = [j for j, i in enumerate(at) if tree.enough[i] is not None]
        if cut:
            full = np.array([_multipliers(tree.nodes[at[j]], checked.count) for j in cut])
            enough = np.array([tree.enough[at[j]] for j in cut])
            low[cut], high[cut] = checked.open_part(prices, low[cut], high[cut], full, enough)
        for j, i in enumerate(at):
            if (second := tree.second[i]) is not None:
                waiting += _split(tree.nodes[i], low[j], high[j], (i + 1, second), tree.enough[i] is not None)
    return least, most


def _split(
    node: dict[str, object], low: Floats, high: Floats, parts: tuple[int, int], cut: bool
) -> list[tuple[int, Floats, Floats]]:
    """Both parts of a box; where it was cut down, all of it may be on one side."""
    k, t = node["k"], node["t"]
    if (
        isinstance(k, bool)
        or not isinstance(k, int)
        or not isinstance(t, (int, float))
        or not 0 <= k < len(low)
    ):
        raise _NotAProof
    t = min(max(t, low[k]), high[k]) if cut else t
    if not low[k] <= t <= high[k]:
        raise _NotAProof
    below, above = high.copy(), low.copy()
    below[k] = above[k] = t
    return [(parts[1], above, high), (parts[0], low, below)]


@dataclass(frozen=True)
class _Tree:
    """The nodes in preorder; where the second part of each split is, and what the multipliers of one prove of the rest."""

    nodes: list[dict[str, object]]
    second: list[int | None]
    enough: list[float | None]


def _read(tree: list[object]) -> _Tree:
    """The tree of a list in preorder, all of which it takes."""
    nodes: list[dict[str, object]] = []
    second, enough = list[int | None](), list[float | None]()
    waiting = [-1]  # whose second part comes, or -1 for a first one
    for i, node in enumerate(tree):
        if not waiting or not isinstance(node, dict):
            raise _NotAProof
        if (parent := waiting.pop()) >= 0:
            second[parent] = i
        split, cut = "k" in node, node.get("enough")
        if "enough" in node and not (split and isinstance(cut, (int, float)) and math.isfinite(cut)):
            raise _NotAProof
        nodes.append(node)
        second.append(None)
        enough.append(float(cut) if isinstance(cut, (int, float)) else None)
        waiting += [i, -1] if split else []
    if waiting:
        raise _NotAProof
    return _Tree(nodes, second, enough)


def seen_balls(useful: JointDistribution, support: tuple[int, ...]) -> Balls:
    """P(x | w) on the support of W as floats with radii, shape (n_x, n)."""
    n = len(useful.useful)
    weights = useful.exact.weights
    totals = [sum(weights[w::n]) for w in support]
    starts = range(0, len(weights), n)
    mid = np.array([[weights[i + w] / c for w, c in zip(support, totals, strict=True)] for i in starts])
    known = [[weights[i + w] in (0, c) for w, c in zip(support, totals, strict=True)] for i in starts]
    return Balls(mid, np.where(known, 0.0, 2 * U * mid + ETA))


class _NotAProof(Exception):
    """The tree does not cover the first box, or a multiplier is negative."""


def _multipliers(leaf: dict[str, object], count: int) -> Floats:
    """The multipliers of a leaf over all rows."""
    rows, values = np.array(leaf["rows"], dtype=np.int64), np.array(leaf["values"], dtype=np.float64)
    full = np.zeros(count)
    good = rows.ndim == 1 and rows.shape == values.shape and len(set(rows.tolist())) == len(rows)
    if not good or ((rows < 0) | (rows >= count)).any() or not ((values >= 0) & (values <= LARGEST)).all():
        raise _NotAProof
    full[rows] = values
    return full

"""How far the entropy of an allowed posterior can be below its price: a proof by a tree of boxes.

The cost of a posterior v is sum_k phi(t_k), t = B v, phi(t) = -t ln t, with B = P(x | w). On a box
l <= t <= u the concave phi is at least its secant, so cost(v) - pi . v is at least a linear function
of v, whose minimum over {v >= 0, sum v = 1, G v <= 0, l <= B v <= u} is bounded from below by any
multipliers >= 0 of its rows. A tree that splits the first box, with multipliers at its leaves, is thus
a proof that needs no solver to check.

A tree is a list in preorder. A split is ``{"k": coordinate, "t": where}``, followed by the part with
t_k <= where and then that with t_k >= where. A leaf is ``{"rows": [...], "values": [...]}``: multipliers of some
of the rows, numbered: G first, then B v <= u, then -B v <= -l.

:func:`least_reduced_cost` checks a tree in balls. :class:`Pricing` has the same in floats, for solvers that build one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from privopt.arrays import Floats
from privopt.core.balls import ETA, Balls, U
from privopt.core.problem import Enclosure
from privopt.models import JointDistribution
from privopt.problems.entropy_boxes import minorants, proved_knapsacks
from privopt.problems.local_information_privacy.rows import posterior_rows

if TYPE_CHECKING:
    from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy

ALLOWANCE = 1e-13
"""What a search in floats takes off every box, relative to max(1, the size of its terms); no proof rests on it."""

SLACK = 1e-12
"""A search in floats takes a box as empty only if it misses the simplex by more than this."""

TINY = 1e-300
"""Keeps the logarithm of 0 finite."""

LARGEST = 1e100
"""Multipliers and prices above this prove nothing: sums of them may overflow."""

BATCH = 512
"""Leaves checked at a time."""


@dataclass(frozen=True)
class Pricing:
    """The polytope of posteriors on the support of W, and the matrix B of P(x | w) (None: the identity), in floats."""

    rows: Floats
    matrix: Floats | None

    @property
    def size(self) -> int:
        """Number of observations."""
        return int(self.rows.shape[1])

    @cached_property
    def coordinates(self) -> int:
        """Number of coordinates of t."""
        return self.size if self.matrix is None else len(self.matrix)

    def first_box(self) -> tuple[Floats, Floats]:
        """A box that holds B v for every allowed v.

        For B = 1 a row with one positive entry a and all others at least -c bounds it: v <= c / (a + c).
        """
        if self.matrix is not None:
            return self.matrix.min(axis=1), self.matrix.max(axis=1)
        top = np.ones(self.size)
        for row in self.rows:
            c = -float(row.min())
            if c > 0:
                over = row > 0
                top[over] = np.minimum(top[over], c / (row[over] + c) * (1 + 1e-15))
        return np.zeros(self.size), top

    def secants(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Constants (m,) and slopes (m, k) such that a + b . t <= sum phi(t) on the boxes (m, k)."""
        foot, width = phi(low), high - low
        slopes = np.where(width > 0, (phi(high) - foot) / np.where(width > 0, width, 1.0), 0.0)
        return (foot - slopes * low).sum(axis=-1), slopes

    def leaf_bounds(
        self, prices: Floats, box: tuple[Floats, Floats], secants: tuple[Floats, Floats], full: Floats
    ) -> Floats:
        """Lower bounds on cost(v) - prices . v over boxes (m, k), inf where a box is empty.

        Parameters
        ----------
        prices : array (n,)
        box : lows and highs (m, k)
        secants : as of the boxes
        full : array (m, rows + 2 k)
            Multipliers >= 0 of the rows of G, of B v <= high and of -B v <= -low.
        """
        low, high = box
        constant, slopes = secants
        r, k = len(self.rows), self.coordinates
        tilt = slopes + full[:, r : r + k] - full[:, r + k :]
        across = tilt if self.matrix is None else tilt @ self.matrix
        linear = across - prices + full[:, :r] @ self.rows
        fixed = constant - (full[:, r : r + k] * high).sum(axis=1) + (full[:, r + k :] * low).sum(axis=1)
        inner = linear.min(axis=1) if self.matrix is not None else knapsacks(linear, low, high)
        size = np.maximum(np.maximum(1.0, np.abs(constant)), np.abs(linear).max(axis=1))
        return np.asarray(fixed + inner - ALLOWANCE * np.maximum(size, full.sum(axis=1)))


def phi(t: Floats) -> Floats:
    """-t ln t, 0 at 0."""
    return np.asarray(-t * np.log(np.maximum(t, TINY)))


def knapsack(cost: Floats, low: Floats, high: Floats) -> float:
    """Minimum of cost . v over low <= v <= high with sum 1; inf if there is no such v."""
    return float(knapsacks(cost[None], low[None], high[None])[0])


def knapsacks(cost: Floats, low: Floats, high: Floats) -> Floats:
    """Minima of cost . v over low <= v <= high with sum 1, a row each: the cheapest first; inf if there is no such v."""
    room, left = high - low, 1.0 - low.sum(axis=1)
    empty = (left < -SLACK) | (room.sum(axis=1) < left - SLACK)
    order = np.argsort(cost, axis=1)
    room, sorted_cost = np.take_along_axis(room, order, axis=1), np.take_along_axis(cost, order, axis=1)
    before = np.cumsum(room, axis=1) - room
    taken = np.minimum(np.maximum(left[:, None] - before, 0.0), room)
    return np.where(empty, math.inf, (cost * low).sum(axis=1) + (sorted_cost * taken).sum(axis=1))


def pricing_of(problem: LocalInformationPrivacy) -> Pricing:
    """The polytope and the cost of a question with mutual information."""
    observed = problem.observation
    support = observed.support
    matrix = None if observed.useful is None else observed.x_given_w[:, support]
    return Pricing(posterior_rows(problem)[:, support], matrix)


@dataclass(frozen=True)
class _Checked:
    """The same polytope and matrix in balls."""

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
        """As :meth:`Pricing.first_box`, rounded outward."""
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

    def leaves(self, prices: Floats, low: Floats, high: Floats, full: Floats) -> Enclosure:
        """Floats around the least of the bounds on cost(v) - prices . v that multipliers ``full`` prove over boxes."""
        foot, slopes = minorants(low, high)
        r, k = self.rows.shape[0], self.coordinates
        above, under = Balls.exact(full[:, r : r + k]), Balls.exact(full[:, r + k :])
        tilt = above - under + slopes
        across = tilt if self.matrix is None else tilt @ self.matrix
        linear = across - prices
        if r:
            linear = linear + Balls.exact(full[:, :r]) @ self.rows
        fixed = foot.sum(axis=1) - (above * high).sum(axis=1) + (under * low).sum(axis=1)
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
        found = fixed[filled] + Balls.between(least[filled], most[filled])
        return float(found.lower.min()), float(found.upper.min())


def least_reduced_cost(
    problem: LocalInformationPrivacy, kept: tuple[int, ...], prices: Floats, tree: object
) -> Enclosure | None:
    """Floats around the lower bound on cost(v) - prices . v that a tree proves, or None if it is not a proof.

    ``kept`` says which rows of the polytope the numbers in its leaves stand for.
    """
    observed = problem.observation
    matrix = None if observed.useful is None else seen_balls(observed.useful, problem.polytope.support)
    checked = _Checked(problem.polytope.balls(kept), matrix)
    if not isinstance(tree, list) or not tree or float(np.abs(prices).max(initial=0.0)) > LARGEST:
        return None
    least = most = math.inf
    leaves = _leaves(tree, checked)
    try:
        while batch := list(islice(leaves, BATCH)):
            low, high = np.array([leaf[0] for leaf in batch]), np.array([leaf[1] for leaf in batch])
            full = np.array([_multipliers(leaf[2], checked.count) for leaf in batch])
            found = checked.leaves(prices, low, high, full)
            least, most = min(least, found[0]), min(most, found[1])
            if least == -math.inf:
                return None
    except (_NotAProof, KeyError, TypeError, ValueError, IndexError, OverflowError):
        return None
    return least, most


def seen_balls(useful: JointDistribution, support: tuple[int, ...]) -> Balls:
    """P(x | w) on the support of W as floats with radii, shape (n_x, n)."""
    n = len(useful.useful)
    weights = useful.exact.weights
    totals = [sum(weights[w::n]) for w in support]
    found = [
        [weights[i + w] / c for w, c in zip(support, totals, strict=True)] for i in range(0, len(weights), n)
    ]
    known = [
        [weights[i + w] in (0, c) for w, c in zip(support, totals, strict=True)]
        for i in range(0, len(weights), n)
    ]
    mid = np.array(found)
    return Balls(mid, np.where(known, 0.0, 2 * U * mid + ETA))


class _NotAProof(Exception):
    """The tree does not cover the first box, or a multiplier is negative."""


def _leaves(tree: list[object], checked: _Checked) -> Iterator[tuple[Floats, Floats, dict[str, object]]]:
    """The boxes of the leaves; their union is the first box."""
    waiting = [checked.first_box()]
    for node in tree:
        if not waiting or not isinstance(node, dict):
            raise _NotAProof
        low, high = waiting.pop()
        if "k" not in node:
            yield low, high, node
            continue
        k, t = node["k"], node["t"]
        if isinstance(k, bool) or not isinstance(k, int) or type(t) not in (int, float):
            raise _NotAProof
        if not (0 <= k < len(low) and low[k] <= t <= high[k]):
            raise _NotAProof
        below, above = high.copy(), low.copy()
        below[k] = above[k] = t
        waiting += [(above, high), (low, below)]
    if waiting:
        raise _NotAProof


def _multipliers(leaf: dict[str, object], count: int) -> Floats:
    """The multipliers of a leaf over all rows."""
    rows, values = np.array(leaf["rows"], dtype=np.int64), np.array(leaf["values"], dtype=np.float64)
    full = np.zeros(count)
    good = rows.ndim == 1 and rows.shape == values.shape and len(set(rows.tolist())) == len(rows)
    if not good or ((rows < 0) | (rows >= count)).any() or not ((values >= 0) & (values <= LARGEST)).all():
        raise _NotAProof
    full[rows] = values
    return full

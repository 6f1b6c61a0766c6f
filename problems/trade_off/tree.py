"""How low the price-reduced cost of a posterior can be, when one entropy counts for it and one against it.

The cost of a posterior v is c H(C v) - d H(D v) - pi . v over the simplex. On a box low <= C v <= high the
concave first part is at least its secants; the convex second part is at least its tangent, -H(q') >=
sum_k q'_k ln q_k for any distribution q > 0 (Gibbs). What is left is linear in v, and its minimum over the simplex and the box is
bounded from below by multipliers >= 0 of the box, or exactly when C is the identity. A tree of boxes
with a tangent distribution at each leaf is thus a proof that needs no solver to check. The search for a tree uses floats
(:meth:`Cost.leaf_bounds`), its proof balls (:func:`least_reduced_cost`).

A tree is a list in preorder. ``{"k": k, "t": t}`` splits coordinate k of C v at t: below comes first. ``{"support": k}``
splits on whether v_k is positive: zero comes first. It is for C = 1 and c > 0 only, where a minimum has at most
rank(D) positive entries: otherwise some direction d with D d = 0 lives on them, along which the cost is strictly
concave. Once that many are positive the others are 0. A leaf is ``{"q": [...]}``, with multipliers
``{"q": [...], "rows": [...], "values": [...]}``, rows numbered as C v <= high first, then -C v <= -low. Where D = 1
it may be ``{"slopes": [...]}`` of lines y_k t, one for each coordinate: c H(C v) - y . C v is at least what it is at the ends
of the sides, as it is concave in each, and y . C v - d H(v) - pi . v is least at v proportional to
exp((pi - C^T y) / d) (Gibbs), so that a leaf takes as many numbers as C v, whatever the size of v. The parts
of a split at t are tightened by what the sum 1 leaves where C = 1 or C v has two entries, as C v is a distribution too (in proofs
of version 0.1.0, which do not say so, only where C = 1; in others that say so everywhere); outside the box t leaves one part empty.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats, Ints
from privopt.core.balls import ETA, Balls, U
from privopt.problems.entropy_boxes import (
    empty,
    knapsacks,
    log_balls,
    minorants,
    phi,
    phi_balls,
    proved_knapsacks,
    secant_slopes,
    tightened,
    total,
)
from privopt.problems.trade_off.data import TradeOffData

BATCH = 512
"""Nodes of a tree that are split, and leaves that are checked, at a time, about."""

TINY = 1e-290
"""Entries of a tangent that follows from slopes are at least this share of the largest one."""


@dataclass(frozen=True)
class Cost:
    """c H(C v) - d H(D v) on the support of W; C is None where it is the identity, ``rank`` is the exact one of D.

    The entries of C and D are conditional probabilities, each rounded correctly; their columns sum to 1 before that.
    """

    concave: float
    coordinates: Floats | None
    convex: float
    tangents: Floats
    size: int
    rank: int

    @cached_property
    def dimension(self) -> int:
        """Number of coordinates of C v."""
        return self.size if self.coordinates is None else len(self.coordinates)

    @cached_property
    def plain(self) -> bool:
        """Whether D is the identity: multiplying by it would take n times as long as all else.

        Examples
        --------
        >>> Cost(1.0, None, 1.0, np.eye(2), 2, 2).plain, Cost(1.0, None, 1.0, np.ones((1, 2)), 2, 1).plain
        (True, False)
        """
        rows, columns = self.tangents.shape
        return (
            rows == columns
            and int(np.count_nonzero(self.tangents)) == rows
            and bool((self.tangents.diagonal() == 1.0).all())
        )

    @property
    def tight(self) -> bool:
        """Whether parts of boxes are tightened: in v itself, and in two coordinates, of which either gives the other."""
        return self.coordinates is None or self.dimension == 2

    @property
    def sloped(self) -> bool:
        """Whether leaves of slopes alone are possible."""
        return self.coordinates is not None and self.plain and self.convex > 0

    def first_box(self) -> tuple[Floats, Floats]:
        """Ends of a box that holds C v for every v of the simplex."""
        if self.coordinates is None:
            return np.zeros(self.size), np.ones(self.size)
        seen = rounded(self.coordinates)
        low, high = seen.lower.min(axis=1), seen.upper.max(axis=1)
        return np.maximum(low, 0.0), np.minimum(high, 1.0)

    def leaf_bounds(
        self, prices: Floats, low: Floats, high: Floats, tangents: Floats, multipliers: Floats
    ) -> Floats:
        """Lower bounds on the cost less the prices over boxes (b, k) in floats, inf where a box is empty.

        Parameters
        ----------
        prices : array (n,)
        low, high : array (b, k)
        tangents : array (b, n_q)
            Positive; a tangent each.
        multipliers : array (b, 2 k)
            Of C v <= high and of -C v <= -low.
        """
        k, slopes = self.dimension, secant_slopes(low, high)
        constant = self.concave * (phi(low) - slopes * low).sum(axis=1)
        tilt = self.concave * slopes + multipliers[:, :k] - multipliers[:, k:]
        across = tilt if self.coordinates is None else tilt @ self.coordinates
        logs = np.log(tangents / tangents.sum(axis=1, keepdims=True))
        linear = across + self.convex * (logs if self.plain else logs @ self.tangents) - prices
        fixed = constant - (multipliers[:, :k] * high).sum(axis=1) + (multipliers[:, k:] * low).sum(axis=1)
        inner = knapsacks(linear, low, high) if self.coordinates is None else linear.min(axis=1)
        return np.where(empty(low, high), math.inf, fixed + inner)

    def proved_leaf_bounds(
        self, prices: Floats, low: Floats, high: Floats, tangents: Floats, multipliers: Floats
    ) -> tuple[Floats, Floats]:
        """Floats around what :meth:`leaf_bounds` stands for; inf where a box is proved empty."""
        k = self.dimension
        constants, slopes = minorants(low, high)
        above, below = Balls.exact(multipliers[:, :k]), Balls.exact(multipliers[:, k:])
        tilt = Balls.exact(slopes) * self.concave + above - below
        across = tilt if self.coordinates is None else tilt @ rounded(self.coordinates)
        linear = across + (log_distributions(tangents) @ rounded(self.tangents)) * self.convex - prices
        fixed = (
            (constants * self.concave).sum(axis=1) - (above * high).sum(axis=1) + (below * low).sum(axis=1)
        )
        if self.coordinates is None:
            least, most = proved_knapsacks(linear, low, high)
        else:
            inner, none = linear.min(axis=1), empty(low, high)
            least, most = np.where(none, math.inf, inner.lower), np.where(none, math.inf, inner.upper)
        finite = np.isfinite(least) & np.isfinite(most)
        ends = [fixed + np.where(finite, end, 0.0) for end in (least, most)]
        return np.where(finite, ends[0].lower, least), np.where(finite, ends[1].upper, most)

    def slope_bounds(self, prices: Floats, low: Floats, high: Floats, slopes: Floats) -> Floats:
        """What :meth:`leaf_bounds` gives, from slopes (b, k) of lines: where D is the identity."""
        through = (prices - slopes @ self._seen) / self.convex
        top = through.max(axis=1)
        spread = top + np.log(np.exp(through - top[:, None]).sum(axis=1))
        ends = [self.concave * phi(end) - slopes * end for end in (low, high)]
        bounds = np.minimum(*ends).sum(axis=1) - self.convex * spread
        return np.where(empty(low, high), math.inf, bounds)

    def proved_slope_bounds(
        self, prices: Floats, low: Floats, high: Floats, slopes: Floats
    ) -> tuple[Floats, Floats]:
        """Floats around what :meth:`slope_bounds` stands for; inf where a box is proved empty.

        The tangent is the best one but for rounding: from below each entry counts, from above their average over it.
        """
        lines = Balls.exact(slopes)
        linear = lines @ rounded(self._seen) - prices
        through = -linear.mid / self.convex
        weights = np.maximum(np.exp(through - through.max(axis=1, keepdims=True)), TINY)
        entries = linear + log_distributions(weights) * self.convex
        average = (entries * weights).sum(axis=1) / Balls.exact(weights).sum(axis=1)
        ends = [phi_balls(end) * self.concave - lines * end for end in (low, high)]
        feet, none = ends[0].minimum(ends[1]).sum(axis=1), empty(low, high)
        least, most = (feet + entries.min(axis=1)).lower, (feet + average).upper
        return np.where(none, math.inf, least), np.where(none, math.inf, most)

    @property
    def _seen(self) -> Floats:
        """C, which is not the identity."""
        if self.coordinates is None:
            raise ValueError("slopes are for boxes of C v")
        return self.coordinates


def rounded(matrix: Floats) -> Balls:
    """Probabilities of which the floats were rounded correctly."""
    return Balls(matrix, U * matrix + ETA)


def log_distributions(weights: Floats) -> Balls:
    """Logarithms of positive numbers divided by their sums, a distribution a row."""
    logs = log_balls(total(weights)[0])
    return log_balls(weights) - Balls(logs.mid, logs.rad + 4 * weights.shape[1] * U)[:, None]


def cost_of(problem: TradeOffData, multiplier: float) -> Cost:
    """What a release costs by its posterior of W, at a price ``multiplier`` of the information that is weighed against.

    For the funnel multiplier * H(X | v) - H(S | v), for the bottleneck H(S | v) - multiplier * H(X | v).
    """
    observed = problem.observation
    support = observed.support
    secret = observed.s_given_w[:, support]
    useful = None if observed.useful is None else observed.x_given_w[:, support]
    size = len(support)
    if problem.is_funnel:
        return Cost(multiplier, useful, 1.0, secret, size, exact_rank(problem))
    return Cost(1.0, secret, multiplier, np.eye(size) if useful is None else useful, size, size)


def exact_rank(problem: TradeOffData) -> int:
    """The rank of P(s | w), from the integer weights of the distribution of (S, W)."""
    from flint import fmpz_mat

    joint = problem.observation.leaking
    n = len(joint.useful)
    return int(
        fmpz_mat([list(joint.exact.weights[i : i + n]) for i in range(0, len(joint.exact.weights), n)]).rank()
    )


def least_reduced_cost(
    cost: Cost,
    prices: Floats,
    tree: object,
    seconds: float = math.inf,
    *,
    tight: bool = True,
    everywhere: bool = False,
) -> tuple[float, float] | None:
    """Floats around the lower bound on the cost less the prices that a tree proves; None if it is not a proof.

    Parts are tightened where C = 1, with ``tight`` also where C v has two entries, with ``everywhere`` in any case.

    Examples
    --------
    >>> cost = Cost(0.0, None, 1.0, np.eye(2), 2, 2)
    >>> low, high = least_reduced_cost(cost, np.zeros(2), [{"q": [1, 1]}])
    >>> low <= -math.log(2) <= high and high - low < 1e-14
    True
    """
    if not isinstance(tree, list) or not tree:
        return None
    deadline = time.monotonic() + seconds
    tight = everywhere or (cost.tight and (tight or cost.coordinates is None))
    least, most = math.inf, math.inf
    try:
        for low, high, leaves in _leaves(tree, cost, deadline, tight=tight):
            for below, above in _bounds(cost, prices, (low, high), leaves):
                if np.isnan(below).any() or np.isnan(above).any():
                    return None
                least, most = min(least, float(below.min())), min(most, float(above.min()))
    except (_NotAProof, KeyError, TypeError, ValueError, IndexError, OverflowError):
        return None
    return (least, most) if math.isfinite(least) and math.isfinite(most) else None


_Node: TypeAlias = dict[str, Any]


class _NotAProof(Exception):
    """The tree does not cover the first box, a leaf is malformed, or time is out."""


def _leaves(
    tree: list[object], cost: Cost, deadline: float, *, tight: bool
) -> Iterator[tuple[Floats, Floats, list[_Node]]]:
    """Leaves with the lower and upper ends of their boxes, some at a time; every minimum is in one of them.

    About ``BATCH`` nodes are split together, those found last first, so that few boxes are held.
    """
    nodes, second = _structure(tree, deadline)
    low, high = (end[None] for end in cost.first_box())
    waiting = [(np.zeros(1, dtype=np.intp), _Boxes(low, high, np.zeros((1, cost.size), dtype=np.bool_)))]
    while waiting:
        if time.monotonic() > deadline:
            raise _NotAProof
        places, boxes = waiting.pop()
        while waiting and len(places) < BATCH // 2:
            more, others = waiting.pop()
            places, boxes = np.concatenate([places, more]), boxes.beside(others)
        if len(places) > BATCH:
            waiting.append((places[BATCH:], boxes.of(np.arange(BATCH, len(places)))))
            places, boxes = places[:BATCH], boxes.of(np.arange(BATCH))
        inner = np.flatnonzero(second[places])
        if len(leaves := np.flatnonzero(second[places] == 0)):
            yield boxes.low[leaves], boxes.high[leaves], [nodes[i] for i in places[leaves].tolist()]
        if len(inner):
            split = places[inner]
            parts = boxes.of(inner).split([nodes[i] for i in split.tolist()], cost, tight=tight)
            waiting.append((np.stack([split + 1, second[split]], axis=1).ravel(), parts))


def _structure(tree: list[object], deadline: float) -> tuple[list[_Node], Ints]:
    """The nodes of a tree in preorder, and where the second part of each begins, 0 for leaves; the first one is next."""
    nodes: list[_Node] = []
    second = np.zeros(len(tree), dtype=np.intp)
    waiting = [-1]
    for i, node in enumerate(tree):
        if not waiting or not isinstance(node, dict) or (i % BATCH == 0 and time.monotonic() > deadline):
            raise _NotAProof
        if (parent := waiting.pop()) >= 0:
            second[parent] = i
        if "support" in node or "k" in node:
            waiting += [i, -1]
        nodes.append(node)
    if waiting:
        raise _NotAProof
    return nodes, second


@dataclass(frozen=True, eq=False)
class _Boxes:
    """Parts of the simplex, a row each: low <= C v <= high (b, k), with some entries of v known to be positive (b, n)."""

    low: Floats
    high: Floats
    positive: NDArray[np.bool_]

    def of(self, rows: Ints) -> _Boxes:
        """Some of them."""
        return _Boxes(self.low[rows], self.high[rows], self.positive[rows])

    def beside(self, others: _Boxes) -> _Boxes:
        """All of both."""
        return _Boxes(
            np.concatenate([self.low, others.low]),
            np.concatenate([self.high, others.high]),
            np.concatenate([self.positive, others.positive]),
        )

    def split(self, nodes: list[_Node], cost: Cost, *, tight: bool) -> _Boxes:
        """Both parts of each, the first one first."""
        parts = self.of(np.repeat(np.arange(len(self.low)), 2))
        supports = np.array(["support" in node for node in nodes])
        parts._cut(2 * np.flatnonzero(~supports), [node for node in nodes if "support" not in node], cost)
        if tight:
            cut = np.repeat(~supports, 2)
            parts.low[cut], parts.high[cut] = tightened(parts.low[cut], parts.high[cut])
        parts._tell(2 * np.flatnonzero(supports), [node for node in nodes if "support" in node], cost)
        return parts

    def _cut(self, first: Ints, nodes: list[_Node], cost: Cost) -> None:
        """(C v)_k is at most t in the parts ``first``, at least t in the ones after them."""
        k = np.array([_whole(node["k"]) for node in nodes], dtype=np.intp)
        t = np.array(_numbers([node["t"] for node in nodes])).clip(0.0, 1.0)
        if ((k < 0) | (k >= cost.dimension)).any():
            raise _NotAProof
        self.high[first, k] = np.minimum(t, self.high[first, k])
        self.low[first + 1, k] = np.maximum(t, self.low[first + 1, k])

    def _tell(self, first: Ints, nodes: list[_Node], cost: Cost) -> None:
        """v_k is 0 in the parts ``first``, positive in the ones after; once as many as the rank are, all others are 0."""
        if not nodes:
            return
        k = np.array([_whole(node["support"]) for node in nodes], dtype=np.intp)
        if cost.coordinates is not None or cost.concave <= 0 or ((k < 0) | (k >= cost.size)).any():
            raise _NotAProof
        if self.positive[first, k].any():
            raise _NotAProof
        self.high[first, k] = 0.0
        self.positive[first + 1, k] = True
        full = first[self.positive[first + 1].sum(axis=1) >= cost.rank] + 1
        self.high[full] = np.where(self.positive[full], self.high[full], 0.0)


def _bounds(
    cost: Cost, prices: Floats, box: tuple[Floats, Floats], leaves: list[_Node]
) -> Iterator[tuple[Floats, Floats]]:
    """Floats around the bounds of some leaves, those of slopes and the others."""
    low, high = box
    sloped = np.array(["slopes" in leaf for leaf in leaves])
    if sloped.any():
        some = [leaf for leaf in leaves if "slopes" in leaf]
        yield cost.proved_slope_bounds(prices, low[sloped], high[sloped], _slopes(some, cost))
    if not sloped.all():
        others = [leaf for leaf in leaves if "slopes" not in leaf]
        yield cost.proved_leaf_bounds(prices, low[~sloped], high[~sloped], *_read(others, cost))


def _slopes(leaves: list[_Node], cost: Cost) -> Floats:
    """The slopes of some leaves."""
    slopes = np.array([_numbers(leaf["slopes"]) for leaf in leaves], dtype=np.float64)
    if not cost.sloped or slopes.shape != (len(leaves), cost.dimension):
        raise _NotAProof
    return slopes


def _read(leaves: list[_Node], cost: Cost) -> tuple[Floats, Floats]:
    """The tangents and the multipliers of some leaves."""
    tangents = np.array([_numbers(leaf["q"]) for leaf in leaves], dtype=np.float64)
    if tangents.shape != (len(leaves), len(cost.tangents)) or not (tangents > 0).all():
        raise _NotAProof
    full = np.zeros((len(leaves), 2 * cost.dimension))
    for i, leaf in enumerate(leaves):
        if "rows" not in leaf:
            continue
        listed, values = leaf["rows"], _numbers(leaf["values"])
        rows = [_whole(row) for row in listed] if isinstance(listed, list) else []
        good = len(rows) == len(values) == len(set(rows)) and min(values, default=0.0) >= 0
        if not good or min(rows, default=0) < 0 or max(rows, default=0) >= full.shape[1]:
            raise _NotAProof
        full[i, rows] = values
    return tangents, full


def _whole(value: object) -> int:
    """A whole number that is written as one."""
    if type(value) is not int:
        raise _NotAProof
    return value


def _numbers(values: object) -> list[float]:
    """Finite numbers, no text and no truth values."""
    if not isinstance(values, list) or not set(map(type, values)) <= {int, float}:
        raise _NotAProof
    numbers = [float(value) for value in values]
    if not all(map(math.isfinite, numbers)):
        raise _NotAProof
    return numbers

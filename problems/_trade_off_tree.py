"""How low the price-reduced cost of a posterior can be, when one entropy counts for it and one against it.

The cost of a posterior v is c H(C v) - d H(D v) - pi . v over the simplex. On a box low <= C v <= high the
concave first part is at least its secants; the convex second part is at least its tangent, -H(q') >=
sum_k q'_k ln q_k for any law q > 0 (Gibbs). What is left is linear in v, and its minimum over the simplex and the box is
bounded from below by multipliers >= 0 of the box, or exactly when C is the identity. A tree of boxes
with a tangent law at each leaf is thus a proof that needs no solver to check.

A tree is a list in preorder. ``{"k": k, "t": t}`` splits coordinate k of C v at t: below comes first. ``{"support": k}``
splits on whether v_k is positive: zero comes first. It is for C = 1 and c > 0 only, where a minimum has at most
rank(D) positive entries: otherwise some direction d with D d = 0 lives on them, along which the cost is strictly
concave. Once that many are positive the others are 0. A leaf is ``{"q": law}``, with multipliers
``{"q": law, "rows": [...], "values": [...]}``, rows numbered as C v <= high first, then -C v <= -low. Where C = 1 the parts
of a split at t are tightened by what the sum 1 leaves.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from privopt.problems._lip_tree import ALLOWANCE, BATCH, LARGEST, SLACK, knapsacks, phi
from privopt.problems._observation import Floats

if TYPE_CHECKING:
    from privopt.problems._trade_off import TradeOff


@dataclass(frozen=True)
class Cost:
    """c H(C v) - d H(D v) on the support of W; C is None where it is the identity, ``rank`` is the exact one of D."""

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

    def first_box(self) -> Box:
        """Holds C v for every v of the simplex."""
        if self.coordinates is None:
            return Box(np.zeros(self.size), np.ones(self.size), frozenset())
        return Box(self.coordinates.min(axis=1), self.coordinates.max(axis=1), frozenset())

    def leaf_bounds(
        self, prices: Floats, low: Floats, high: Floats, laws: Floats, multipliers: Floats
    ) -> Floats:
        """Lower bounds on the cost less the prices over boxes (b, k), inf where a box is empty.

        Parameters
        ----------
        prices : array (n,)
        low, high : array (b, k)
        laws : array (b, n_q)
            Positive; a tangent each.
        multipliers : array (b, 2 k)
            Of C v <= high and of -C v <= -low.
        """
        k, slopes = self.dimension, secant_slopes(low, high)
        logs = np.log(laws / laws.sum(axis=1, keepdims=True) * (1.0 - 1e-15))
        constant = self.concave * (phi(low) - slopes * low).sum(axis=1)
        tilt = self.concave * slopes + multipliers[:, :k] - multipliers[:, k:]
        across = tilt if self.coordinates is None else tilt @ self.coordinates
        linear = across + self.convex * (logs @ self.tangents) - prices
        fixed = constant - (multipliers[:, :k] * high).sum(axis=1) + (multipliers[:, k:] * low).sum(axis=1)
        inner = knapsacks(linear, low, high) if self.coordinates is None else linear.min(axis=1)
        size = np.maximum(np.maximum(1.0, np.abs(constant)), np.abs(linear).max(axis=1))
        return np.asarray(fixed + inner - ALLOWANCE * np.maximum(size, multipliers.sum(axis=1)))


def secant_slopes(low: Floats, high: Floats) -> Floats:
    """Slopes of the secants of -t ln t over intervals; 0 over single points."""
    width = high - low
    return np.asarray(np.where(width > 0, (phi(high) - phi(low)) / np.where(width > 0, width, 1.0), 0.0))


def tightened(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """A box of the simplex without what its sum 1 rules out, to within rounding; an empty box is left as it is.

    Examples
    --------
    >>> low, high = tightened(np.array([0.6, 0.0, 0.0]), np.array([1.0, 1.0, 0.1]))
    >>> low.tolist(), np.round(high, 9).tolist()
    ([0.6, 0.0, 0.0], [1.0, 0.4, 0.1])
    """
    least, most = float(low.sum()), float(high.sum())
    if least > 1.0 or most < 1.0:
        return low, high
    return np.maximum(low, 1.0 - SLACK - most + high), np.minimum(high, 1.0 + SLACK - least + low)


@dataclass(frozen=True)
class Box:
    """A part of the simplex: low <= C v <= high, with some entries of v known to be positive."""

    low: Floats
    high: Floats
    positive: frozenset[int]

    def halves(self, k: int, t: float) -> tuple[Box, Box]:
        """The parts with (C v)_k at most and at least t."""
        high, low = self.high.copy(), self.low.copy()
        high[k] = low[k] = t
        return Box(self.low, high, self.positive), Box(low, self.high, self.positive)

    def tightened(self) -> Box:
        """The same part of the simplex in a smaller box."""
        return Box(*tightened(self.low, self.high), self.positive)

    def without_or_with(self, k: int, rank: int) -> tuple[Box, Box]:
        """The parts with v_k = 0 and with v_k > 0; the latter is closed to all others once ``rank`` are positive."""
        high = self.high.copy()
        high[k] = 0.0
        positive = self.positive | {k}
        other = self.high.copy()
        if len(positive) >= rank:
            other[[i for i in range(len(other)) if i not in positive]] = 0.0
        return Box(self.low, high, self.positive), Box(self.low, other, positive)


def cost_of(problem: TradeOff, multiplier: float) -> Cost:
    """What a release costs by its posterior of W, at a price ``multiplier`` of the information that is weighed against.

    For the funnel multiplier * H(X | v) - H(S | v), for the bottleneck H(S | v) - multiplier * H(X | v).
    """
    observed = problem.observation
    support = observed.support
    secret = observed.s_given_w[:, support]
    useful = None if observed.useful is None else observed.x_given_w[:, support]
    size = len(support)
    if problem.kind == "privacy_funnel":
        return Cost(multiplier, useful, 1.0, secret, size, exact_rank(problem))
    return Cost(1.0, secret, multiplier, np.eye(size) if useful is None else useful, size, size)


def exact_rank(problem: TradeOff) -> int:
    """The rank of P(s | w), from the integer weights of the law of (S, W)."""
    from flint import fmpz_mat

    joint = problem.observation.leaking
    n = len(joint.useful)
    return int(
        fmpz_mat([list(joint.exact.weights[i : i + n]) for i in range(0, len(joint.exact.weights), n)]).rank()
    )


def least_reduced_cost(cost: Cost, prices: Floats, tree: object) -> float | None:
    """The lower bound on the cost less the prices that a tree proves, or None if it is not a proof."""
    if not isinstance(tree, list) or not tree:
        return None
    least, leaves = math.inf, _leaves(tree, cost)
    try:
        while batch := list(islice(leaves, BATCH)):
            low, high = np.array([box.low for box, _ in batch]), np.array([box.high for box, _ in batch])
            laws, multipliers = _read(batch, cost)
            least = min(least, float(cost.leaf_bounds(prices, low, high, laws, multipliers).min()))
    except (_NotAProof, KeyError, TypeError, ValueError, IndexError, OverflowError):
        return None
    return None if math.isnan(least) else least


class _NotAProof(Exception):
    """The tree does not cover the first box, or a leaf is malformed."""


def _leaves(tree: list[object], cost: Cost) -> Iterator[tuple[Box, dict[str, object]]]:
    """The boxes of the leaves; every minimum is in one of them."""
    waiting = [cost.first_box()]
    for node in tree:
        if not waiting or not isinstance(node, dict):
            raise _NotAProof
        box = waiting.pop()
        if "support" in node:
            k = int(node["support"])
            if (
                cost.coordinates is not None
                or cost.concave <= 0
                or not 0 <= k < cost.size
                or k in box.positive
            ):
                raise _NotAProof
            first, second = box.without_or_with(k, cost.rank)
        elif "k" in node:
            k, t = int(node["k"]), float(node["t"])
            if not (0 <= k < cost.dimension and box.low[k] <= t <= box.high[k]):
                raise _NotAProof
            first, second = box.halves(k, t)
            if cost.coordinates is None:
                first, second = first.tightened(), second.tightened()
        else:
            yield box, node
            continue
        waiting += [second, first]
    if waiting:
        raise _NotAProof


def _read(batch: list[tuple[Box, dict[str, object]]], cost: Cost) -> tuple[Floats, Floats]:
    """The tangent laws and the multipliers of some leaves."""
    laws = np.array([leaf["q"] for _, leaf in batch], dtype=np.float64)
    if laws.shape != (len(batch), len(cost.tangents)) or not ((laws > 0) & (laws <= LARGEST)).all():
        raise _NotAProof
    full = np.zeros((len(batch), 2 * cost.dimension))
    for i, (_, leaf) in enumerate(batch):
        if "rows" not in leaf:
            continue
        rows, values = np.array(leaf["rows"], dtype=np.int64), np.array(leaf["values"], dtype=np.float64)
        good = rows.ndim == 1 and rows.shape == values.shape and len(set(rows.tolist())) == len(rows)
        if (
            not good
            or ((rows < 0) | (rows >= full.shape[1])).any()
            or not ((values >= 0) & (values <= LARGEST)).all()
        ):
            raise _NotAProof
        full[i, rows] = values
    return laws, full

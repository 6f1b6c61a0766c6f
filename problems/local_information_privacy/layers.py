"""How far the entropy of a posterior can be below its price, where rows of the table vary in intervals: a proof by layers.

Let a release have the posterior v(w) = P(w | y), m = v / P(w), and A_t = {w: m(w) > t}. Over the rows with
L <= q <= U, width W = U - L and r = 1 - sum L, its largest and smallest probabilities given a value of the secret are,
as m is the integral of its layers A_t,

    hi = L.m + integral of min(W(A_t), r) dt,  lo = L.m + integral of max(0, W(A_t) - (W(all) - r)) dt

(Choquet integrals; Denneberg, *Non-additive Measure and Integral*, Chapter 5). Both are sums over w of functions of m(w)
wherever it is known which branch the layers are on. A number theta is chosen so that every layer of
probability at most theta, and the complement of each of at least 1 - theta, is on the same branch for every value of the
secret. With d and u the quantiles of m at theta and 1 - theta, that settles all t < d and t > u; in between
W(A_t) lies between two numbers, nearer ones where the median c is known, and a chord bounds each from the right side. For a single value
of the secret the branches change at numbers a and b in [d, u]: W(A_t) >= r for t < a and <= r from there on, and so for b with W(all) - r.
So within a cell of (d, c, u) and of the a and b the bounds on ratios imply sums of piecewise linear functions of the m(w), and for multipliers >= 0 the entropy less its price is at least a sum of functions of one m(w)
each, concave between the ends of the cell: least at one of these.

A tree is a list in preorder. A split is ``{"d": t}``, ``{"c": t}``, ``{"u": t}``, ``{"k": w, "t": t}``, ``{"a": i, "t": t}`` or
``{"b": i, "t": t}``, on d, c, u, m(w), or a or b of the i-th possible value of the secret, the part below t first. A leaf is ``{"rows": [...], "values": [...], "nu": number}``: multipliers of some of the rows (those
of :attr:`Layers.above`, then what d, u and c say themselves, then a and b) and the one of sum v = 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Bools, Floats
from privopt.core.balls import ETA, Balls, U
from privopt.core.problem import Enclosure
from privopt.models.ambiguity.joint import JointAmbiguity
from privopt.models.ambiguity.row_set import RowSet
from privopt.problems.entropy_boxes import LOG_ERROR, log_balls, phi_balls
from privopt.problems.local_information_privacy.data import LocalInformationPrivacyData
from privopt.problems.local_information_privacy.polytope import exp_above, exp_below
from privopt.problems.robust import possible_secrets

LARGEST = 1e12
"""Multipliers and prices above this prove nothing: sums of them may overflow."""

BATCH = 64
"""Leaves checked at a time."""

SPAN = 1e-9
"""W(A) counts as known where its ends are nearer than this."""

QUANTILES = ("d", "c", "u")
"""Those of m by which boxes are made, in order."""

SECRETS = ("a", "b")
"""The numbers of each value of the secret by which boxes are made."""

OWN = 6
"""Rows on d, u and c themselves: P(m > u) and P(m < d) are at most theta, P(m < u) and P(m > d) at most 1 - theta, P(m > c) and P(m < c) at most half."""

SIDES = 4
"""Rows on a and b of one value of the secret: W(m > a) <= r, W(m < a) <= W(all) - r, and with the two exchanged for b."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Boxes, one a row: ends of d, c and u, shape (b,), of a and b of each value of the secret, (b, k), and of each m(w), (b, n)."""

    d: tuple[Floats, Floats]
    c: tuple[Floats, Floats]
    u: tuple[Floats, Floats]
    a: tuple[Floats, Floats]
    b: tuple[Floats, Floats]
    low: Floats
    high: Floats

    def __len__(self) -> int:
        return len(self.low)

    @property
    def empty(self) -> bool:
        """Whether the first box holds no d <= c <= u, or no a or b in between."""
        d, c, u = self.d[0][0], self.c, self.u[1][0]
        sides = any((np.maximum(e[0][0], d) > np.minimum(e[1][0], u)).any() for e in (self.a, self.b))
        return bool(max(d, c[0][0]) > min(c[1][0], u) or d > u or sides)

    @cached_property
    def ends(self) -> Floats:
        """0 and the ends of d, c, u, a and b in order, shape (b, e); the last one is repeated where some are equal."""
        zero = np.zeros(len(self))
        quantiles = np.stack([zero, *self.d, *self.c, *self.u], axis=1)
        every = np.sort(np.concatenate([quantiles, *self.a, *self.b], axis=1), axis=1)
        again = np.diff(every, axis=1, prepend=-1.0) == 0
        every = np.sort(np.where(again, every[:, -1:], every), axis=1)
        return every[:, : int((~again).sum(axis=1).max())]

    @property
    def atoms(self) -> Floats:
        """The values of m between which the functions of a leaf are concave, shape (b, e + 1, n)."""
        inner = np.clip(self.ends[:, :, None], self.low[:, None], self.high[:, None])
        return np.concatenate([inner, self.high[:, None]], axis=1)

    @property
    def stop(self) -> Floats:
        """Where the layers that start at each of the ends stop, shape (b, e)."""
        return np.concatenate([self.ends[:, 1:], np.full((len(self), 1), math.inf)], axis=1)

    def own(self, atoms: Floats) -> Bools:
        """Where each of the own rows counts, shape (6, b, e + 1, n)."""
        (d0, d1), (c0, c1), (u0, u1) = (
            [end[:, None, None] for end in pair] for pair in (self.d, self.c, self.u)
        )
        return np.stack([atoms > u1, atoms < d0, atoms < u0, atoms > d1, atoms > c1, atoms < c0])

    def sides(self, atoms: Floats, s: int) -> Bools:
        """Where each of the rows on a and b of one value of the secret counts, shape (4, b, e + 1, n)."""
        (a0, a1), (b0, b1) = ([end[:, s, None, None] for end in pair] for pair in (self.a, self.b))
        return np.stack([atoms > a1, atoms < a0, atoms > b1, atoms < b0])


@dataclass(frozen=True, eq=False)
class Layers:
    """A set of joints with rows in intervals, and what each kind of layers says, in floats with radii.

    Attributes
    ----------
    p : balls (n,)
        P(w), w of positive probability; ``logs`` are their logarithms.
    least, width : balls (k, n)
        L and W of each possible value of the secret.
    theta : float
    above, below : balls (rows, k)
        Each bound on a ratio as ``above . hi <= below . lo``, all coefficients >= 0.
    left, total, most, half : balls (k,)
        r, W of all symbols, and numbers that W of no set of probability 1 - theta, and of half, exceeds.
    """

    p: Balls
    logs: Balls
    least: Balls
    width: Balls
    theta: float
    above: Balls
    below: Balls
    left: Balls
    total: Balls
    most: Balls
    half: Balls

    @classmethod
    def of(cls, data: LocalInformationPrivacyData, ambiguity: JointAmbiguity) -> Layers | None:
        """Of a problem of mutual information; None where rows do not vary in intervals, or more than two bounds on lifts or ratios are asked."""
        observed = data.observation
        if (
            data.beyond
            or data.delta > 0
            or data.utility != "mutual_information"
            or observed.useful is not None
        ):
            return None
        support, secrets = observed.support.tolist(), possible_secrets(ambiguity)
        rows = [_interval(ambiguity.rows[s]) for s in secrets]
        if any(row is None or any(row[1][w] for w in observed.unseen) for row in rows):
            return None
        intervals = [row for row in rows if row is not None]
        total = sum(observed.weights)
        p = [Fraction(observed.weights[w], total) for w in support]
        low = [[row[0][w] for w in support] for row in intervals]
        left = [1 - sum(row, Fraction(0)) for row in low]
        width = [
            [min(row[1][w] - row[0][w], r) for w in support] for row, r in zip(intervals, left, strict=True)
        ]
        bounds = _bounds(data, ambiguity, secrets)
        theta = _theta(p, width, left)
        if not bounds or theta is None:
            return None
        most, half = (
            [_most(row, p, room) for row in width] for room in (1 - Fraction(theta), Fraction(1, 2))
        )
        of_p = Balls.fractions(p)
        return cls(
            of_p, _logs(of_p), _table(low), _table(width), theta,
            _table([row for row, _ in bounds]), _table([row for _, row in bounds]),
            Balls.fractions(left), Balls.fractions(sum(row, Fraction(0)) for row in width), Balls.fractions(most),
            Balls.fractions(half),
        )  # fmt: skip

    @property
    def root(self) -> Cells:
        """All posteriors: P(m >= u) >= theta, P(m >= c) >= 1/2 and P(m >= d) >= 1 - theta, while m averages to 1."""
        n = self.p.shape[0]
        farthest = (1.0 / Balls.exact(np.array([1.0 - self.theta, 0.5, self.theta]))).upper
        ends = [(np.zeros(1), np.full(1, math.nextafter(end, math.inf))) for end in farthest.tolist()]
        side = np.zeros((1, len(self.least.mid))), np.full((1, len(self.least.mid)), ends[2][1][0])
        return Cells(ends[0], ends[1], ends[2], side, side, np.zeros((1, n)), (1.0 / self.p).upper[None])

    @property
    def count(self) -> int:
        """Rows that a leaf may give multipliers."""
        return self.above.shape[0] + OWN + SIDES * self.least.shape[0]

    @property
    def rooms(self) -> list[Balls]:
        """What the rows on a and b allow, shape (k,) each."""
        rest = self.total - self.left
        return [self.left, rest, rest, self.left]

    def lines(self, cells: Cells) -> tuple[tuple[Balls, Floats], tuple[Balls, Floats]]:
        """Constants and slopes, (b, e, k), of lines below min(W(A), r) and above max(0, W(A) - W + r), for the layers from each end on."""
        start, stop = cells.ends[:, :, None], cells.stop[:, :, None]
        low, high = self._weights(cells, start, stop)
        ends = [Balls.exact(low), Balls.exact(high)]
        below = [w.minimum(self.left) for w in ends]
        above = [(w - self.total + self.left).maximum(0.0) for w in ends]
        wide, span = high - low > SPAN, np.maximum(high - low, SPAN)
        rise, climb = ((v[1].mid - v[0].mid) / span for v in (below, above))
        rise = np.where(wide, rise, high <= self.left.mid)  # where W(A) is known tangents do, too, and better
        climb = np.where(wide, climb, low >= (self.total - self.left).mid)
        under = [v - w * rise for v, w in zip(below, ends, strict=True)]
        over = [v - w * climb for v, w in zip(above, ends, strict=True)]
        zero, full = Balls.exact(np.zeros(rise.shape)), self.left + np.zeros(rise.shape)
        first, last = cells.d[0][:, None], cells.u[1][:, None]
        (a0, a1), (b0, b1) = (
            (np.maximum(low, first)[:, None], np.minimum(high, last)[:, None])
            for low, high in (cells.a, cells.b)
        )
        return (
            (
                zero.where(start >= a1, full.where(stop <= a0, under[0].minimum(under[1]))),
                np.where(start >= a1, 1.0, np.where(stop <= a0, 0.0, rise)),
            ),
            (
                zero.where(start >= b1, (full - self.total).where(stop <= b0, over[0].maximum(over[1]))),
                np.where(start >= b1, 0.0, np.where(stop <= b0, 1.0, climb)),
            ),
        )

    def _weights(self, cells: Cells, start: Floats, stop: Floats) -> tuple[Floats, Floats]:
        """Numbers between which W(A) of the layers from each end on lies, (b, e, k).

        It is at least that of the symbols that are above for sure, and at most that of those that may be.
        """
        sure, may = cells.low[:, None] >= stop, cells.high[:, None] > start
        inside = [(Balls.exact(part.astype(float)) @ self.width.T) for part in (sure, may)]
        low, high = np.maximum(inside[0].lower, 0.0), np.minimum(inside[1].upper, self.total.upper)
        (d, c, u), rest = (
            [[end[:, None, None] for end in pair] for pair in (cells.d, cells.c, cells.u)],
            (self.total - self.left),
        )
        (a, b) = ([end[:, None] for end in pair] for pair in (cells.a, cells.b))
        for end, least in (
            (u[0], self.total - self.most), (c[0], self.total - self.half), (a[0], self.left), (b[0], rest),
        ):  # fmt: skip
            low = np.maximum(low, np.where(stop <= end, least.lower, 0.0))
        for end, most in ((d[1], self.most), (c[1], self.half), (a[1], self.left), (b[1], rest)):
            high = np.minimum(high, np.where(start >= end, most.upper, math.inf))
        return low, np.maximum(high, low)

    def least_costs(self, prices: Floats, cells: Cells, full: Floats, nu: Floats) -> Balls:
        """What multipliers prove that the entropy less its price is at least, on each cell.

        Parameters
        ----------
        prices : array (n,)
        cells : b boxes
        full : array (b, count)
            Multipliers >= 0.
        nu : array (b,)
        """
        bounds = self.above.shape[0]
        of_bounds = Balls.exact(full[:, :bounds])
        above, below = of_bounds @ self.above, of_bounds @ self.below
        ends, atoms, lines = cells.ends, cells.atoms, self.lines(cells)
        stop = np.concatenate([ends[:, 1:], ends[:, -1:]], axis=1)
        lengths = Balls.exact(stop) - ends
        fixed = Balls.exact(nu)
        for part, weights, sign in ((0, above, 1.0), (1, below, -1.0)):
            by_layer = (lines[part][0] * weights[:, None]).sum(axis=2)
            fixed = fixed + (by_layer * lengths).sum(axis=1) * sign
        own, sides = full[:, bounds : bounds + OWN], full[:, bounds + OWN :]
        for place, share in enumerate(
            (Balls.exact(self.theta), 1.0 - Balls.exact(self.theta), Balls.exact(0.5))
        ):
            fixed = fixed - Balls.exact(own[:, 2 * place : 2 * place + 2]).sum(axis=1) * share
        for multipliers, room in zip(np.split(sides, SIDES, axis=1), self.rooms, strict=True):
            fixed = fixed - (Balls.exact(multipliers) * room).sum(axis=1)
        tilt = above[:, None] * lines[0][1] - below[:, None] * lines[1][1]
        linear = (above - below) @ self.least
        paid = self.logs + prices + Balls.exact(nu)[:, None]
        costs = (phi_balls(atoms) - Balls.exact(atoms) * paid[:, None]) * self.p + linear[:, None] * atoms
        sloped = tilt @ self.width
        for j in range(ends.shape[1]):
            last = atoms if j + 1 == ends.shape[1] else np.minimum(atoms, stop[:, j, None, None])
            cover = Balls.exact(last) - np.minimum(atoms, ends[:, j, None, None])
            costs = costs + sloped[:, j, None] * cover
        for weight, counts in zip(own.T, cells.own(atoms), strict=True):
            costs = costs + self.p * Balls.exact(weight[:, None, None] * counts)
        secrets = self.least.shape[0]
        for s in np.flatnonzero(sides.reshape(-1, secrets).any(axis=0)).tolist():
            paid = Balls.exact(sides[:, s::secrets].T[:, :, None, None] * cells.sides(atoms, s)).sum(axis=0)
            costs = costs + paid * self.width[s]
        return costs.min(axis=1).sum(axis=1) + fixed


def _interval(row: RowSet) -> tuple[Sequence[Fraction], Sequence[Fraction]] | None:
    """Lower and upper ends of a row, if these are all that it keeps to."""
    if row.kind == "interval":
        return row.lower, row.upper
    if row.kind == "all":
        return (Fraction(0),) * row.size, (Fraction(1),) * row.size
    return (row.center, row.center) if row.kind == "total_variation" and row.radius == 0 else None


def _bounds(
    data: LocalInformationPrivacyData, ambiguity: JointAmbiguity, secrets: Sequence[int]
) -> list[tuple[list[Fraction], list[Fraction]]]:
    """The bounds on ratios as rows of coefficients of hi and lo; of lifts at one prior of the set each."""
    above, below, n = exp_above(data.upper), exp_below(data.lower), range(len(secrets))
    rows: list[tuple[list[Fraction], list[Fraction]]] = []
    if data.notion == "ldp":
        pairs = [] if above is None else [(i, j) for i in n for j in n if i != j]
        return [
            ([Fraction(t == i) for t in n], [Fraction(t == j) * Fraction(above or 1) for t in n])
            for i, j in pairs
        ]
    for i, s in enumerate(secrets):
        whole = _prior(ambiguity, s)
        prior = [whole[t] for t in secrets]
        others = [Fraction(0) if t == i else prior[t] for t in n]
        if above is not None and above * prior[i] < 1:
            rows.append(([Fraction(t == i) * (1 - above * prior[i]) for t in n], [above * v for v in others]))
        if below:
            rows.append(([below * v for v in others], [Fraction(t == i) * (1 - below * prior[i]) for t in n]))
    return rows


def _prior(ambiguity: JointAmbiguity, s: int) -> list[Fraction]:
    """A prior of the set at which s is least likely: the nominal one otherwise, where that is allowed."""
    count = len(ambiguity.rows)
    weights = ambiguity.prior.farthest([-int(t == s) for t in range(count)])
    far = [Fraction(w, sum(weights)) for w in weights]
    exact = ambiguity.nominal.exact
    n = len(ambiguity.useful)
    nominal = [Fraction(sum(exact.weights[t * n : t * n + n]), sum(exact.weights)) for t in range(count)]
    rest = 1 - nominal[s]
    if rest > 0:
        scaled = [far[s] if t == s else v * (1 - far[s]) / rest for t, v in enumerate(nominal)]
        if ambiguity.prior.contains(scaled):
            return scaled
    return far


def _most(weights: Sequence[Fraction], p: Sequence[Fraction], room: Fraction) -> Fraction:
    """The largest weight of a set of probability at most ``room``, or more: fractions of the last symbol count."""
    total = Fraction(0)
    for w in sorted(range(len(p)), key=lambda w: weights[w] / p[w], reverse=True):
        taken = min(p[w], room)
        total, room = total + weights[w] * taken / p[w], room - taken
        if room == 0:
            break
    return total


def _settled(
    p: Sequence[Fraction], width: Sequence[Sequence[Fraction]], left: Sequence[Fraction], theta: Fraction
) -> bool:
    """Whether sets of probability theta weigh at most r and W - r in every row."""
    pairs = [(row, min(r, sum(row) - r)) for row, r in zip(width, left, strict=True) if any(row)]
    return all(_most(row, p, theta) <= room for row, room in pairs)


def _theta(
    p: Sequence[Fraction], width: Sequence[Sequence[Fraction]], left: Sequence[Fraction]
) -> float | None:
    """Nearly the largest theta up to 1/2 that settles the branches; None where it would be too small to be of use."""
    if _settled(p, width, left, Fraction(1, 2)):
        return 0.5
    low, high = Fraction(0), Fraction(1, 2)  # dyadic, so that 1 - theta is a float too
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if _settled(p, width, left, middle) else (low, middle)
    return float(low) if low > Fraction(1, 1000) else None


def _table(rows: Sequence[Sequence[Fraction]]) -> Balls:
    return Balls.fractions(v for row in rows for v in row).reshape(len(rows), -1)


def _logs(values: Balls) -> Balls:
    """Logarithms of probabilities that are known to a relative 2^-52."""
    logs = log_balls(values.mid)
    return Balls(logs.mid, logs.rad + 4 * U + LOG_ERROR * np.abs(logs.mid) + ETA)


class _NotAProof(Exception):
    """The tree does not cover the root, or a multiplier is negative."""


def least_layer_cost(data: LocalInformationPrivacyData, prices: Floats, tree: object) -> Enclosure | None:
    """Floats around the lower bound on cost(v) - prices . v that a tree of layers proves, or None if it is no proof.

    Parameters
    ----------
    data : LocalInformationPrivacyData
        Over a set of joints.
    prices : array (n,)
    tree : list
    """
    ambiguity = data.ambiguity
    layers = None if ambiguity is None else Layers.of(data, ambiguity)
    if layers is None or not isinstance(tree, list) or float(np.abs(prices).max(initial=0.0)) > LARGEST:
        return None
    count = layers.count
    least = most = math.inf
    leaves = _leaves(tree, layers)
    try:
        while batch := list(islice(leaves, BATCH)):
            read = [_multipliers(leaf, count) for _, leaf in batch]
            filled = [i for i, (cell, _) in enumerate(batch) if not cell.empty]
            if not filled:
                continue
            cells = stacked([batch[i][0] for i in filled])
            full, nu = np.array([read[i][0] for i in filled]), np.array([read[i][1] for i in filled])
            bounds = layers.least_costs(prices, cells, full, nu)
            least, most = min(least, float(bounds.lower.min())), min(most, float(bounds.upper.min()))
    except (_NotAProof, KeyError, TypeError, ValueError, IndexError, OverflowError):
        return None
    return None if least == -math.inf else (least, most)


def stacked(cells: Sequence[Cells]) -> Cells:
    """Boxes together; d is at most c, a and b, and these at most u, which narrows them."""
    d, c, u, a, b = (
        [np.concatenate([getattr(cell, name)[end] for cell in cells]) for end in (0, 1)]
        for name in (*QUANTILES, *SECRETS)
    )
    inner = np.minimum(a[1].min(axis=1), b[1].min(axis=1)), np.maximum(a[0].max(axis=1), b[0].max(axis=1))
    c = [np.maximum(c[0], d[0]), np.minimum(c[1], u[1])]
    d1 = np.minimum(np.minimum(d[1], c[1]), inner[0])
    u0 = np.maximum(np.maximum(u[0], c[0]), inner[1])
    a, b = ([np.maximum(e[0], d[0][:, None]), np.minimum(e[1], u[1][:, None])] for e in (a, b))
    low, high = np.concatenate([cell.low for cell in cells]), np.concatenate([cell.high for cell in cells])
    return Cells((d[0], d1), (c[0], c[1]), (u0, u[1]), (a[0], a[1]), (b[0], b[1]), low, high)


def parts(cell: Cells, node: dict[str, object]) -> tuple[Cells, Cells]:
    """The two parts of a box that a split makes, below first.

    Raises
    ------
    ValueError, TypeError
        If the split is outside the box, or malformed.
    """
    name = next((key for key in (*QUANTILES, *SECRETS) if key in node), "k")
    t = node[name if name in QUANTILES else "t"]
    if isinstance(t, bool) or not isinstance(t, int | float):
        raise TypeError(f"{t!r} is no place to split at")
    ends = {"d": cell.d, "c": cell.c, "u": cell.u, "a": cell.a, "b": cell.b, "k": (cell.low, cell.high)}[name]
    at: tuple[int, ...] = (0,)
    if name not in QUANTILES:
        w = node[name]
        if isinstance(w, bool) or not isinstance(w, int) or not 0 <= w < ends[0].shape[1]:
            raise ValueError(f"{w!r} is no symbol, or no value of the secret")
        at = (0, w)
    if not ends[0][at] <= t <= ends[1][at]:
        raise ValueError("a split outside its box")
    high, low = ends[1].copy(), ends[0].copy()
    high[at] = low[at] = t
    return _narrowed(cell, name, (ends[0], high)), _narrowed(cell, name, (low, ends[1]))


def _narrowed(cell: Cells, name: str, ends: tuple[Floats, Floats]) -> Cells:
    match name:
        case "d":
            return replace(cell, d=ends)
        case "c":
            return replace(cell, c=ends)
        case "u":
            return replace(cell, u=ends)
        case "a":
            return replace(cell, a=ends)
        case "b":
            return replace(cell, b=ends)
        case _:
            return replace(cell, low=ends[0], high=ends[1])


def _leaves(tree: list[object], layers: Layers) -> Iterator[tuple[Cells, dict[str, object]]]:
    """The boxes of the leaves; their union is the root."""
    waiting = [layers.root]
    for node in tree:
        if not waiting or not isinstance(node, dict):
            raise _NotAProof
        cell = waiting.pop()
        if "rows" in node:
            yield cell, node
            continue
        below, above = parts(cell, node)
        waiting += [above, below]
    if waiting:
        raise _NotAProof


def _multipliers(leaf: dict[str, object], count: int) -> tuple[Floats, float]:
    """The multipliers of a leaf over all rows, and that of the sum."""
    rows, values = np.array(leaf["rows"], dtype=np.int64), np.array(leaf["values"], dtype=np.float64)
    nu = leaf["nu"]
    if isinstance(nu, bool) or not isinstance(nu, int | float) or not abs(nu) <= LARGEST:
        raise _NotAProof
    full: NDArray[np.float64] = np.zeros(count)
    good = rows.ndim == 1 and rows.shape == values.shape and len(set(rows.tolist())) == len(rows)
    if not good or ((rows < 0) | (rows >= count)).any() or not ((values >= 0) & (values <= LARGEST)).all():
        raise _NotAProof
    full[rows] = values
    return full, float(nu)

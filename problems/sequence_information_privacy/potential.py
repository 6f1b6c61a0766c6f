"""Upper bounds on the utility of all releases of a chain of a few letters, by a potential of posteriors and prices on a triangulation.

Write r for the posterior of a letter given the releases up to it, b = r P for the belief about the next one, Box(b) for the
posteriors within e^+-epsilon of b, and V_t(r) for the least cost of the t releases after r, whatever messages they carry.
With D_y the distortions of release y and f(p) = min over y of D_y . p + V_t-1(p)

    V_t(r) = min of the mean of f over posteriors in Box(b) whose mean is b >= lam . b + min over Box(b) of f(p) - lam . p.

The potential is h(p) = min over k of alpha_k . p + kappa |p|^2. If step(h)(r) >= h(r) + g for all r, and V_1 >= h + c, then
V_t >= h + c + (t - 1) g, because step is monotone and adds constants.

**One column.** For a release y and a piece k let v = D_y + alpha_k - lam. For any s and sigma, with z = v + sigma - s and
kappa p^2 >= sigma p - sigma^2 / (4 kappa),

    v . p + kappa |p|^2 >= s - |sigma|^2 / (4 kappa) + sum over x of b(x) min(e^-epsilon z(x), e^epsilon z(x)) on Box(b).

**A cell.** The posteriors r are cut into simplices by halving edges. In one with vertices r_i, r = sum w_i r_i, let lam, s and sigma
go linearly from vertex to vertex. The right side is then at least a quadratic form in w, as min(., .) is concave, and |sigma|^2
is one exactly; so are kappa |r|^2 and alpha_k . r for one k. A quadratic form in weights that sum to 1 is at least its least
coefficient, over pairs of vertices. With the prices of a single vertex all is linear in b, and vertices are enough. The better of
these ways counts in each cell, the least cell for all.

**Rounding.** s and sigma are whatever floats are found, and midpoints of at most 24 halvings are exact, as is which edge is the longest.
Everything that follows from them is in balls, or rounded downward at every operation, with the chain as the exact rational value of
its floats; sums over releases are exact.

The dual is ``{"kind": "potential", "curvature": kappa, "pieces": [[...], ...], "first": [...], "last": cells, "steps": cells}``
with cells ``{"splits": "10...", "prices": [[...], ...]}``: in preorder 1 where a simplex is halved, and prices at the vertices in the
order in which they come up. ``last`` are for V_1, ``steps`` for h itself, ``first`` for the belief about the first letter. In the long
run a release costs at least g, which ``steps`` alone prove.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.balls import ETA, Balls, U, above, below
from privopt.core.problem import Enclosure
from privopt.problems.belief_release.bound import price_row
from privopt.problems.sequence_information_privacy.data import SequenceData, refuse_words
from privopt.problems.sequence_information_privacy.lines import factors_of

MAX_LETTERS = 4
MAX_OUTPUTS = 8
MAX_EPSILON = 8.0
MAX_PIECES = 256
MAX_CELLS = 2**15
MAX_DEPTH = 24
"""Halvings of a simplex, so that midpoints and distances are exact in floats."""
LARGEST = 2.0**20
"""Of prices and pieces."""
CURVATURES = 2.0**-20, 2.0**10
FLAT = 2.0**-30
"""Curvature of the potential that stands for 0, which it is below by at most that."""
WIDTH = 2**22
"""Numbers of a table that are computed at a time."""


def refuse_potential(problem: SequenceData) -> str | None:
    """Why no potential bounds this problem, or None."""
    chain = problem.chain
    if chain.order != 1 or chain.k != len(chain.letters) or not 2 <= chain.k <= MAX_LETTERS:
        return f"it takes chains of two to {MAX_LETTERS} letters"
    if not chain.homogeneous or chain.max_length == 1 or problem.horizon < 2:
        return "it takes two releases or more, of chains whose steps are alike"
    return refuse_words(problem, MAX_EPSILON, MAX_OUTPUTS)


@dataclass(frozen=True, eq=False)
class Potential:
    """h(p) = min over pieces of alpha . p + curvature |p|^2; pieces (K, n)."""

    pieces: Floats
    curvature: float

    def __call__(self, posteriors: Floats) -> Floats:
        """At posteriors (..., n), rounded.

        Examples
        --------
        >>> Potential(np.array([[0.0, 1.0], [1.0, 0.0]]), 2.0)(np.array([0.25, 0.75])).tolist()
        1.5
        """
        linear = (posteriors[..., None, :] * self.pieces).sum(axis=-1).min(axis=-1)
        value: Floats = linear + self.curvature * (posteriors**2).sum(axis=-1)
        return value

    @classmethod
    def nothing(cls, letters: int) -> Potential:
        """At most 0, and nearly."""
        return cls(np.full((1, letters), -FLAT), FLAT)


@dataclass(frozen=True, eq=False)
class Charges:
    """What proves the cost of each column at some beliefs: the prices (V, n), s (V, J), sigma, and at most min(L z, U z) (V, J, n)."""

    prices: Floats
    level: Floats
    tangent: Floats
    least: Floats
    curvature: float

    def take(self, at: Any) -> Charges:
        """Those of some beliefs, in any shape."""
        return Charges(self.prices[at], self.level[at], self.tangent[at], self.least[at], self.curvature)

    @property
    def square(self) -> Floats:
        """At least |sigma|^2 / (4 kappa), shape (..., J)."""
        return above(product_above(self.tangent, self.tangent) / (4 * self.curvature))


@dataclass(frozen=True, eq=False)
class Releases:
    """Lower bounds on the cost of a release of a chain and of what follows.

    Parameters
    ----------
    moves : array (n, n)
        Transition probabilities.
    cost : array (n, m)
        Distortions.
    epsilon : float
        Nats, positive.

    Examples
    --------
    >>> releases = Releases(np.array([[0.8, 0.2], [0.3, 0.7]]), 1 - np.eye(2), 1.0)
    >>> even = np.array([[0.5, 0.5]])
    >>> found = releases.charges(Potential.nothing(2), even, np.array([[0.2, 0.2]]))
    >>> round(float(releases.charged(found, Balls.exact(even)).min()), 4)  # the optimum of a single release
    0.1839
    """

    moves: Floats
    cost: Floats
    epsilon: float

    @cached_property
    def factors(self) -> tuple[float, float]:
        """Floats not above e^-epsilon and not below e^epsilon."""
        return factors_of(self.epsilon)

    def beliefs(self, posteriors: Floats) -> Balls:
        """What posteriors (..., n) say of the next letter."""
        moves = Balls(self.moves, self.moves * U + ETA * (self.moves > 0))
        total = Balls.exact(posteriors[..., :1]) * moves[0]
        for i in range(1, len(self.moves)):
            total = total + Balls.exact(posteriors[..., i : i + 1]) * moves[i]
        return total

    def charges(self, later: Potential, beliefs: Floats, prices: Floats) -> Charges:
        """The best s and sigma for each column at beliefs (V, n) with prices (V, n).

        They belong to the posterior p in Box(b) of least cost: p(x) = (s - v(x)) / (2 kappa) within its bounds, and s is
        where these sum to 1.
        """
        low, up = self.factors
        n, kappa = len(self.moves), later.curvature
        columns = (self.cost.T[:, None, :] + later.pieces[None]).reshape(-1, n)
        v = columns[None] - prices[:, None, :]
        least, most = low * beliefs[:, None, :], up * beliefs[:, None, :]
        breaks = np.sort(np.concatenate([v + 2 * kappa * least, v + 2 * kappa * most], axis=2), axis=2)
        mass = np.zeros(breaks.shape)
        for x in range(n):
            at = slice(x, x + 1)
            mass += np.minimum(
                np.maximum((breaks - v[:, :, at]) / (2 * kappa), least[:, :, at]), most[:, :, at]
            )
        after = (mass < 1.0).sum(axis=2, keepdims=True).clip(1, 2 * n - 1)
        (s0, m0), (s1, m1) = (
            (np.take_along_axis(breaks, k, axis=2), np.take_along_axis(mass, k, axis=2))
            for k in (after - 1, after)
        )
        rise = m1 - m0
        share = np.where(rise > 0, (1.0 - m0) / np.where(rise > 0, rise, 1.0), 0.0).clip(0.0, 1.0)
        level = s0 + share * (s1 - s0)
        tangent = 2 * kappa * np.minimum(np.maximum((level - v) / (2 * kappa), least), most)
        columns = below(self.cost.T[:, None, :] + later.pieces[None]).reshape(-1, n)
        z = below(below(columns[None] - prices[:, None, :]) + below(tangent - level))
        return Charges(prices, level[:, :, 0], tangent, below(np.minimum(low * z, up * z)), kappa)

    def crossed(self, charges: Charges, beliefs: Balls) -> Floats:
        """At most the sum lam . b + s + sum of b min(L z, U z) at other beliefs of the same shape (..., n); shape (..., J)."""
        low, high = beliefs.lower.clip(0.0), beliefs.upper
        own = (beliefs * charges.prices).lower
        crossed = charges.level
        for x in range(len(self.moves)):
            at, z = np.s_[..., x : x + 1], charges.least[..., x]
            crossed = below(crossed + own[at])
            crossed = below(crossed + below(np.minimum(low[at] * z, high[at] * z)))
        return crossed

    def charged(self, charges: Charges, beliefs: Balls) -> Floats:
        """What the columns cost at least at beliefs, shape (..., J); the bound is the least of them."""
        return below(self.crossed(charges, beliefs) - charges.square)

    def excess(self, later: Potential, aim: Potential, cells: Cells, prices: Floats) -> Floats:
        """How much step(later) is at least above ``aim`` in cells, with prices (V, n) at their vertices, shape (C,)."""
        used, places = np.unique(cells.corners, return_inverse=True)
        corners, n = places.reshape(cells.corners.shape), cells.corners.shape[1]
        beliefs = self.beliefs(cells.vertices[used])
        found = self.charges(later, beliefs.mid, prices[used])
        squares, goals = found.square, goals_of(aim, cells.vertices[cells.corners])
        alone = below(self.crossed(found, beliefs) - squares).min(axis=1)
        own = below(alone[corners] - goals[:, np.arange(n), np.arange(n)])
        mixed, single = np.full(len(corners), np.inf), np.full(corners.shape, np.inf)
        for i in range(n):
            for j in range(i):
                one, other = found.take(corners[:, i]), found.take(corners[:, j])
                at_j = self.crossed(one, beliefs[corners[:, j]])
                at_i = self.crossed(other, beliefs[corners[:, i]])
                both = above(product_above(one.tangent, other.tangent) / (4 * one.curvature))
                found_both = below(0.5 * below(at_j + at_i) - both).min(axis=1)
                mixed = np.minimum(mixed, below(found_both - goals[:, i, j]))
                for k, to, crossed in ((i, j, at_j), (j, i, at_i)):
                    square = squares[corners[:, k]]
                    here = below(below(crossed - square).min(axis=1) - goals[:, to, to])
                    single[:, k] = np.minimum(single[:, k], here)
        ways = np.column_stack([np.minimum(mixed, own.min(axis=1)), np.minimum(single, own)])
        best: Floats = ways.max(axis=1)
        return best


def goals_of(aim: Potential, posteriors: Floats) -> Floats:
    """At least the coefficients of a quadratic form above a potential in cells (C, n, n), shape (C, n, n)."""
    middle = summed(posteriors, 1) / posteriors.shape[1]
    piece = aim.pieces[product_above(middle[:, None], aim.pieces).argmin(axis=1)]
    linear = product_above(posteriors, piece[:, None, :])
    square = above(aim.curvature * product_above(posteriors[:, :, None], posteriors[:, None]))
    return above(square + 0.5 * above(linear[:, :, None] + linear[:, None]))


def product_above(one: Floats, other: Floats) -> Floats:
    """At least the sums of products along the last axis.

    Examples
    --------
    >>> bool(product_above(np.full(3, 0.1), np.ones(3)) >= 0.1 + 0.1 + 0.1)
    True
    """
    total = above(one[..., 0] * other[..., 0])
    for x in range(1, one.shape[-1]):
        total = above(total + above(one[..., x] * other[..., x]))
    return total


def summed(values: Floats, axis: int) -> Floats:
    """A sum along a short axis, in order, the same on all machines."""
    moved = np.moveaxis(values, axis, 0)
    total: Floats = moved[0]
    for part in moved[1:]:
        total = total + part
    return total


def halves(cell: Floats) -> tuple[int, int]:
    """Which vertices are farthest apart, the first such pair."""
    apart = ((cell[:, None, :] - cell[None, :, :]) ** 2).sum(axis=2)
    i, j = np.unravel_index(int(apart.argmax()), apart.shape)
    return int(i), int(j)


@dataclass(frozen=True, eq=False)
class Cells:
    """Simplices that cover all posteriors: vertices (V, n) and which of them each cell has, (C, n)."""

    vertices: Floats
    corners: Ints

    @classmethod
    def of(cls, splits: str, letters: int) -> Cells | None:
        """Cells by halving edges, in preorder; None where the text is not that of a tree.

        Examples
        --------
        >>> cells = Cells.of("10100", 2)
        >>> cells.vertices[:, 0].tolist(), cells.corners.tolist()
        ([1.0, 0.0, 0.5, 0.75], [[2, 1], [3, 2], [0, 3]])
        """
        if not len(splits) <= 2 * MAX_CELLS or set(splits) - {"0", "1"}:
            return None
        whole = np.eye(letters)
        places = {row.tobytes(): at for at, row in enumerate(whole)}
        vertices, leaves = list(whole), []
        waiting = [(whole, 0)]
        for at, split in enumerate(splits):
            if not waiting:
                return None
            cell, depth = waiting.pop()
            if split == "0":
                leaves.append([places[row.tobytes()] for row in cell])
                continue
            if depth >= MAX_DEPTH or at + 1 == len(splits):
                return None
            i, j = halves(cell)
            middle = 0.5 * (cell[i] + cell[j])
            if middle.tobytes() not in places:
                places[middle.tobytes()] = len(vertices)
                vertices.append(middle)
            for k in (j, i):
                half = cell.copy()
                half[k] = middle
                waiting.append((half, depth + 1))
        return None if waiting else cls(np.array(vertices), np.array(leaves))


def least_excess(
    releases: Releases, later: Potential, aim: Potential, cells: Cells, prices: Floats, until: float
) -> float | None:
    """How much step(later) is above ``aim`` for every posterior, at least; None where time runs out."""
    columns = releases.cost.shape[1] * len(later.pieces)
    width = max(1, WIDTH // (columns * cells.corners.shape[1] ** 2))
    least = math.inf
    for begin in range(0, len(cells.corners), width):
        if time.monotonic() > until:
            return None
        some = Cells(cells.vertices, cells.corners[begin : begin + width])
        least = min(least, float(releases.excess(later, aim, some, prices).min()))
    return least


def releases_of(problem: SequenceData) -> Releases:
    """The releases of a problem."""
    return Releases(np.array(problem.chain.step(0)), problem.setting(1).cost, problem.epsilon)


def potential_enclosure(
    problem: SequenceData, dual: dict[str, object], seconds: float = math.inf
) -> Enclosure | None:
    """Floats around the upper bound on utility that a potential proves, or None."""
    if refuse_potential(problem) is not None:
        return None
    n = problem.chain.k
    curvature, pieces = dual.get("curvature"), _table(dual.get("pieces"), n, MAX_PIECES)
    steps = _cells(dual.get("steps"), n)
    if pieces is None or steps is None or not isinstance(curvature, float):
        return None
    if not CURVATURES[0] <= curvature <= CURVATURES[1]:
        return None
    ends = None
    key: tuple[object, ...] = ("potential", curvature, pieces.tobytes())
    key += (steps[0].corners.tobytes(), steps[1].tobytes())
    if not problem.lasting:
        first, last = _table([dual.get("first")], n, 1), _cells(dual.get("last"), n)
        if first is None or last is None:
            return None
        ends = first, last
        key += (first.tobytes(), last[0].corners.tobytes(), last[1].tobytes())
    if key not in problem.enclosures:
        releases = 1 if problem.lasting else problem.span
        least = _least(problem, Potential(pieces, curvature), ends, steps, time.monotonic() + seconds)
        if least is None or not abs(least) < LARGEST * releases:
            return None
        mean = least / releases
        below = math.nextafter(-float(mean), -math.inf)
        problem.keep(key, (below, math.nextafter(-float(mean), math.inf)))
    return problem.enclosures[key]


def _least(
    problem: SequenceData,
    potential: Potential,
    ends: tuple[Floats, tuple[Cells, Floats]] | None,
    steps: tuple[Cells, Floats],
    until: float,
) -> Fraction | None:
    """What all releases cost at least, or one of them in the long run; None where time runs out."""
    releases, nothing = releases_of(problem), Potential.nothing(problem.chain.k)
    gain = least_excess(releases, potential, potential, *steps, until)
    if gain is None or not math.isfinite(gain):
        return None
    if ends is None:
        return Fraction(gain)
    first, last = ends
    final = least_excess(releases, nothing, potential, *last, until)
    if final is None:
        return None
    exact = problem.chain.exact_initial
    belief = Balls.fractions(map(exact.fraction, range(problem.chain.k))).reshape(1, -1)
    begin = float(releases.charged(releases.charges(potential, belief.mid, first), belief).min())
    if not (math.isfinite(begin) and math.isfinite(final)):
        return None
    return Fraction(begin) + Fraction(final) + (problem.span - 2) * Fraction(gain)


def _table(rows: object, width: int, most: int) -> Floats | None:
    """Rows of finite numbers of moderate size."""
    if not isinstance(rows, list) or not 1 <= len(rows) <= most:
        return None
    read = [price_row(row, width) for row in rows]
    if any(row is None or len(row) != width for row in read):
        return None
    table = np.array(read, dtype=np.float64)
    return table if bool((np.abs(table) <= LARGEST).all()) else None


def _cells(written: object, letters: int) -> tuple[Cells, Floats] | None:
    """A triangulation with a row of prices for each vertex."""
    if not isinstance(written, dict) or not isinstance(written.get("splits"), str):
        return None
    cells, prices = (
        Cells.of(written["splits"], letters),
        _table(written.get("prices"), letters, 2 * MAX_CELLS),
    )
    return None if cells is None or prices is None or len(prices) != len(cells.vertices) else (cells, prices)

"""Which rows may be tight together at a vertex of the polytope of allowed posteriors, and a proof by trying them all.

A vertex of {v >= 0, sum v = 1, G v <= 0} with k positive entries has k - 1 independent rows of G tight, and solves
a k x k system for its support. Degenerate vertices are found from some choice whose system is not singular.
Two savings over trying every set of k - 1 rows:

- rows of G whose sum is constant (the two sides of one secret) are never chosen together: with sum v = 1
  their system is singular;
- under LDP every secret is at the top, at the bottom or free: if s is e^epsilon above t and t is e^epsilon
  above u, then s is too far above u unless all lifts are 0, and lifts average to 1. So k secrets that are
  marked as top or bottom determine k - 1 tight rows, whichever of their pairs are written down.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, islice, product

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats, Ints
from privopt.core.balls import ETA, U
from privopt.core.problem import Enclosure
from privopt.problems.entropy_boxes import phi_balls
from privopt.problems.local_information_privacy.data import LocalInformationPrivacyData
from privopt.problems.local_information_privacy.polytope import Polytope
from privopt.problems.local_information_privacy.tree import seen_balls

BATCH = 1 << 14
"""Systems tried at a time; bounds the memory to about BATCH k^2 floats."""

READING = 1e-12
"""How far a cost that is the user's function may be off, relative to its size: nothing about it can be proved."""


@dataclass(frozen=True, eq=False)
class TightSets:
    """Which rows may be tight together.

    Parameters
    ----------
    choices : callable
        For j, the sets of j rows to try, one by one.
    count : callable
        For j, how many these are.
    draw : callable
        For a generator and j, one of them at random.
    """

    choices: Callable[[int], Iterator[tuple[int, ...]]]
    count: Callable[[int], int]
    draw: Callable[[np.random.Generator, int], tuple[int, ...]]


def secret_groups(polytope: Polytope) -> list[tuple[int, ...]]:
    """The two sides of each secret, by their place among the rows kept; one of them where both are one hyperplane."""
    sides: dict[int, list[int]] = {}
    for place, row in enumerate(polytope.kept):
        sides.setdefault(polytope.names[row][0], []).append(place)
    one = polytope.above == polytope.below == 1
    return [tuple(places[:1] if one else places) for places in sides.values()]


def grouped(groups: list[tuple[int, ...]]) -> TightSets:
    """At most one row of each group."""
    pairs = sum(len(group) == 2 for group in groups)

    def choices(j: int) -> Iterator[tuple[int, ...]]:
        return (c for chosen in combinations(groups, j) for c in product(*chosen))

    def count(j: int) -> int:
        singles = len(groups) - pairs
        return sum(math.comb(pairs, i) * 2**i * math.comb(singles, j - i) for i in range(j + 1))

    def draw(rng: np.random.Generator, j: int) -> tuple[int, ...]:
        chosen = rng.choice(len(groups), j, replace=False).tolist()
        return tuple(groups[g][int(rng.integers(len(groups[g])))] for g in chosen)

    return TightSets(choices, count, draw)


def pairs_of_secrets(n: int) -> TightSets:
    """Which rows s n + t of n secrets may be tight together."""

    def choices(j: int) -> Iterator[tuple[int, ...]]:
        if j == 0:
            yield ()
        for marked in combinations(range(n), j + 1) if j else ():
            for sides in product((True, False), repeat=j + 1):
                top = [s for s, up in zip(marked, sides, strict=True) if up]
                low = [s for s, up in zip(marked, sides, strict=True) if not up]
                if top and low:
                    yield _tree(n, top, low)

    def count(j: int) -> int:
        return 1 if j == 0 else math.comb(n, j + 1) * (2 ** (j + 1) - 2)

    def draw(rng: np.random.Generator, j: int) -> tuple[int, ...]:
        marked = rng.choice(n, j + 1, replace=False).tolist()
        split = int(rng.integers(1, j + 1)) if j else 1
        return _tree(n, marked[:split], marked[split:])

    return TightSets(choices, count, draw)


def _tree(n: int, top: list[int], low: list[int]) -> tuple[int, ...]:
    """Rows that put every top secret e^epsilon above every low one: a spanning tree of the pairs."""
    return (*(t * n + low[0] for t in top), *(top[0] * n + b for b in low[1:])) if low else ()


def batches(n: int, k: int) -> Iterator[Ints]:
    """The supports of size k, BATCH at a time."""
    every = combinations(range(n), k)
    while True:
        flat = np.fromiter(
            (i for _, support in zip(range(BATCH), every, strict=False) for i in support), dtype=np.int64
        )
        if not flat.size:
            return
        yield flat.reshape(-1, k)


def balanced(
    sets: Iterator[tuple[int, ...]], supports: Ints, low: Floats, high: Floats
) -> Iterator[tuple[Ints, Ints]]:
    """Each support with each set of tight rows that has a solution there, about BATCH at a time.

    A tight row with entries of one sign only leaves no room for v >= 0 with sum 1.

    Parameters
    ----------
    sets : iterator of tuple
        The rows to make tight, as many in each.
    supports : array (b, k)
    low, high : array (t, n)
        Between which the entries of the rows that may be made tight are.

    Yields
    ------
    supports : array (m, k)
    tight : array (m, k - 1)
    """
    below, above = (np.zeros((len(low), len(supports)), dtype=bool) for _ in range(2))
    for places in supports.T:
        below |= (low <= 0)[:, places]
        above |= (high >= 0)[:, places]
    room = below & above
    while tight := list(islice(sets, max(1, BATCH // len(supports)))):
        rows = np.array(tight, dtype=np.int64).reshape(len(tight), supports.shape[1] - 1)
        which = np.argwhere(room[rows].all(axis=1))
        yield supports[which[:, 1]], rows[which[:, 0]]


# the proof: every basis of the polytope in balls, and in rationals where balls leave open whether it counts


def least_vertex_cost(data: LocalInformationPrivacyData, prices: Floats, seconds: float) -> Enclosure | None:
    """Floats around the least cost(v) - prices . v over the vertices, where a concave cost has its minimum.

    None if out of time. Every choice of a support and of tight rows is solved with a proved error (Rump, "Verification
    methods", Section 10: |I - C A| < 1 for an approximate inverse C bounds the solution of A x = b), or in rationals where
    that fails. Bases that are proved to break a row are left out. Those of which balls do not decide it are solved
    in rationals, the cheapest first, until one counts.
    """
    checked = _Bases(data, prices)
    ends = time.monotonic() + seconds
    for supports, tight in checked.choices():
        checked.take(supports, tight, ends)
        if time.monotonic() > ends:
            return None
    return checked.settled(ends)


@dataclass
class _Bases:
    """The bases tried so far: what the sure vertices cost, and the bases that are left to be decided."""

    data: LocalInformationPrivacyData
    prices: Floats
    least: float = math.inf
    most: float = math.inf
    open: list[tuple[float, tuple[int, ...], tuple[int, ...]]] = field(default_factory=list)
    _known: dict[int, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.polytope = self.data.polytope
        self.support = self.polytope.support
        self.rows = self.polytope.balls(self.polytope.kept)
        useful = self.data.observation.useful
        self.matrix = None if useful is None else seen_balls(useful, self.support)
        self.names, self.sets, self.largest = _structure(self.polytope)
        self.tightened = self.polytope.balls(self.names)
        self.place = {row: i for i, row in enumerate(self.polytope.kept)}

    def choices(self) -> Iterator[tuple[Ints, Ints]]:
        """Supports (m, k) and as many times k - 1 tight rows, positions among the observations seen and in ``tightened``."""
        n = len(self.support)
        alike = self._alike()
        low, high = self.tightened.mid - self.tightened.rad, self.tightened.mid + self.tightened.rad
        for k in range(1, min(n, self.largest) + 1):
            for supports in batches(n, k):
                kinds = np.sort(alike[supports], axis=1)
                distinct = supports[(np.diff(kinds, axis=1) > 0).all(axis=1)]
                if len(distinct):
                    yield from balanced(self.sets.choices(k - 1), distinct, low, high)

    def _alike(self) -> Ints:
        """A number for each observation; two with the same posterior of S have the same, and are never basic together."""
        known: dict[tuple[Fraction, ...], int] = {}
        kinds = []
        for w in self.support:
            column = tuple(Fraction(row[w], self.polytope.symbols[w]) for row in self.polytope.table)
            kinds.append(known.setdefault(column, len(known)))
        return np.array(kinds, dtype=np.int64)

    def take(self, chosen: Ints, rows: Ints, ends: float) -> None:
        """Solve each support with its tight rows."""
        k = chosen.shape[1]
        at = rows[:, :, None], chosen[:, None, :]
        middles, radii = np.ones((len(chosen), k, k)), np.zeros((len(chosen), k, k))
        middles[:, 1:, :], radii[:, 1:, :] = self.tightened.mid[at], self.tightened.rad[at]
        solved, off, proved = _enclosed(middles, radii)
        for i in np.flatnonzero(~proved).tolist():
            if time.monotonic() > ends:
                return
            self._exact(tuple(chosen[i].tolist()), tuple(rows[i].tolist()))
        near = proved & (solved >= -off[:, None]).all(axis=1)
        self._sort_in(solved[near], off[near], chosen[near], rows[near])

    def _sort_in(self, solved: Floats, off: Floats, chosen: Ints, rows: Ints) -> None:
        if not len(solved):
            return
        full = np.zeros((len(solved), len(self.support)))
        np.put_along_axis(full, chosen, solved, axis=1)
        n, size = full.shape[1], np.abs(self.rows.mid) + self.rows.rad
        value = full @ self.rows.mid.T
        wide = ((n + 4) * U * (np.abs(full) @ size.T) + np.abs(full) @ self.rows.rad.T) * (1 + 1e-9) + ETA * n
        wide = wide + off[:, None] * (chosen.shape[1] * size.max(axis=1, initial=0.0))[None, :] * (1 + 1e-9)
        exact_zero = np.zeros(value.shape, dtype=bool)
        for j in range(rows.shape[1]):
            for i, row in enumerate(rows[:, j].tolist()):
                place = self.place.get(self.names[row])
                if place is not None:
                    exact_zero[i, place] = True
        broken = (~exact_zero & (value > wide)).any(axis=1)
        sure = (exact_zero | (value <= -wide)).all(axis=1) & (solved >= off[:, None]).all(axis=1)
        keep = ~broken
        if not keep.any():
            return
        low, high = self._costs(full[keep], off[keep], chosen[keep])
        sure = sure[keep]
        self.least = min(self.least, float(low.min(where=sure, initial=math.inf)))
        self.most = min(self.most, float(high.min(where=sure, initial=math.inf)))
        for i in np.flatnonzero(~sure & (low < self.least)).tolist():
            self.open.append((float(low[i]), tuple(chosen[keep][i].tolist()), tuple(rows[keep][i].tolist())))

    def _costs(self, full: Floats, off: Floats, chosen: Ints) -> tuple[Floats, Floats]:
        """Floats around cost(v) - prices . v for points that may be off by ``off`` in each entry of the support."""
        data, n, k = self.data, full.shape[1], chosen.shape[1]
        if data.cost is not None:
            at = np.maximum(full, 0.0)
            useful = data.observation.x_given_w[:, data.observation.support]
            of_x = (at / at.sum(axis=1, keepdims=True)) @ useful.T
            read = np.array([float(data.cost(v)) for v in of_x])
            low, high = read - READING * np.abs(read), read + READING * np.abs(read)
        else:
            if self.matrix is None:
                seen, wide = np.take_along_axis(full, chosen, axis=1), off[:, None]
            else:
                seen = full @ self.matrix.mid.T
                rounding = (n + 4) * U * (np.abs(full) @ (self.matrix.mid + self.matrix.rad).T)
                wide = off[:, None] * k + rounding + np.abs(full) @ self.matrix.rad.T
            wide = wide * (1 + 1e-9) + ETA
            ends = [phi_balls(np.clip(seen + side * wide, 0.0, 1.0)) for side in (-1.0, 1.0)]
            low = ends[0].minimum(ends[1]).sum(axis=1).lower
            # The curve rises by at most its slope at the lower end, and by phi of the step from 0.
            high = (
                (ends[0].maximum(ends[1]) + phi_balls(np.minimum(2 * wide, 0.3)) * np.ones(seen.shape))
                .sum(axis=1)
                .upper
            )
        at_most = float(np.abs(self.prices).max(initial=0.0))
        paid = full @ self.prices
        wide_paid = ((n + 4) * U * (np.abs(full) @ np.abs(self.prices)) + off * k * at_most) * (
            1 + 1e-9
        ) + ETA
        return np.nextafter(low - paid - wide_paid, -math.inf), np.nextafter(
            high - paid + wide_paid, math.inf
        )

    def _numerators(self, row: int) -> list[int]:
        """A row in integers, worked out once."""
        if row not in self._known:
            self._known[row] = self.polytope.numerators(row)
        return self._known[row]

    def _exact(self, chosen: tuple[int, ...], tight: tuple[int, ...]) -> bool:
        """Solve a basis in rationals, and count its vertex if there is one; whether there is."""
        from flint import fmpq_mat, fmpz_mat

        polytope = self.polytope
        places = [self.support[i] for i in chosen]
        # v(w) = c(w) z(w) for the weights c: rows in z are integers
        rows = [[polytope.symbols[w] for w in places]]
        rows += [[line[w] for w in places] for line in (self._numerators(self.names[t]) for t in tight)]
        system = fmpz_mat(rows)
        if system.det() == 0:
            return False
        right = fmpq_mat(len(rows), 1, [1] + [0] * (len(rows) - 1))
        solution = fmpq_mat(system).solve(right).tolist()
        solved = [Fraction(int(v[0].p), int(v[0].q)) for v in solution]
        if min(solved) < 0:
            return False
        kept = (self._numerators(row) for row in polytope.kept)
        if any(sum(line[w] * z for w, z in zip(places, solved, strict=True)) > 0 for line in kept):
            return False
        full = np.zeros((1, len(self.support)))
        full[0, list(chosen)] = [float(polytope.symbols[w] * z) for w, z in zip(places, solved, strict=True)]
        low, high = self._costs(full, np.array([2 * U]), np.array([chosen], dtype=np.int64))
        self.least, self.most = min(self.least, float(low[0])), min(self.most, float(high[0]))
        return True

    def settled(self, ends: float) -> Enclosure | None:
        """The least over all vertices, once the open bases that could be cheaper are decided."""
        for low, chosen, tight in sorted(self.open):
            if low >= self.least:
                break
            if self._exact(chosen, tight):  # those behind may be as low as this one was thought to be
                self.least = min(self.least, low)
            if time.monotonic() > ends:
                return None
        return self.least, max(self.least, self.most)


def _structure(polytope: Polytope) -> tuple[tuple[int, ...], TightSets, int]:
    """Rows that may be made tight, by their position among the names, which of them together, and the largest support."""
    from flint import fmpz_mat

    names, kept = polytope.names, polytope.kept
    if not kept:
        return kept, grouped([]), 1
    rank = int(fmpz_mat([[row[w] for w in polytope.support] for row in polytope.table]).rank())
    if polytope.sides[0] == "ldp":
        n = len(polytope.table)
        every = tuple(names.index((s, t)) if s != t else 0 for s in range(n) for t in range(n))
        return every, pairs_of_secrets(n), rank
    return kept, grouped(secret_groups(polytope)), rank


def _enclosed(middles: Floats, radii: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Solutions of A x = (1, 0, ..., 0), how far off they may be in each entry, and whether that is proved."""
    k = middles.shape[1]
    right = np.zeros(k)
    right[0] = 1.0
    with np.errstate(all="ignore"):
        try:
            inverse = np.linalg.inv(middles)
        except np.linalg.LinAlgError:  # one of them is exactly singular: those are left unproved
            inverse = np.full(middles.shape, np.nan)
            regular = np.linalg.det(middles) != 0
            try:
                inverse[regular] = np.linalg.inv(middles[regular])
            except np.linalg.LinAlgError:
                pass  # all are solved in rationals
        solved = inverse[:, :, 0]
        missed = right - np.einsum("ijk,ik->ij", middles, solved)
        solved = solved + np.einsum("ijk,ik->ij", inverse, missed)
        size, across = np.abs(middles), np.abs(inverse)
        grow = 1 + 1e-9
        defect = np.abs(np.eye(k) - inverse @ middles) + (k + 4) * U * (across @ size + np.eye(k))
        share = ((defect + across @ radii).sum(axis=2).max(axis=1)) * grow
        at = np.abs(solved)
        rest = np.abs(right - np.einsum("ijk,ik->ij", middles, solved))
        rest = rest + (k + 4) * U * (np.einsum("ijk,ik->ij", size, at) + right)
        rest = rest + np.einsum("ijk,ik->ij", radii, at) + k * ETA
        off = np.einsum("ijk,ik->ij", across, rest).max(axis=1) * grow / (1 - share) + (k + 4) * ETA
        proved = (share < 0.5) & np.isfinite(off)
    return np.where(proved[:, None], solved, 0.0), np.where(proved, off, 0.0), np.asarray(proved)

"""Vertices of the polytope of allowed posteriors, by small linear systems solved many at a time.

A vertex of {v >= 0, sum v = 1, G v <= 0} with k positive entries is found by solving a k x k system for
its support and k - 1 tight rows. Degenerate vertices are found from some choice whose system is not singular.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations, islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats, Ints
from privopt.core.balls import ETA, U
from privopt.core.problem import Enclosure
from privopt.problems.entropy_boxes import phi_balls
from privopt.problems.local_information_privacy.rows import Polytope
from privopt.problems.local_information_privacy.systems import (
    System,
    grouped,
    pairs_of_secrets,
    secret_groups,
)
from privopt.problems.local_information_privacy.tree import seen_balls

if TYPE_CHECKING:
    from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy


BATCH = 1 << 14
"""Systems tried at a time; bounds the memory to about BATCH k^2 floats."""

TOLERANCE = 1e-9
"""How far a solution may miss v >= 0 and G v <= 0, relative to the size of G."""

READING = 1e-12
"""How far a cost that is the user's function may be off, relative to its size: nothing about it can be proved."""

COARSE = 1e-6
"""What a first solution may miss before it is refined."""


def vertices(given: System, tolerance: float = TOLERANCE) -> Iterator[Floats]:
    """Batches of vertices, each a row of shape (n,), some batches empty; a degenerate vertex may come more than once.

    Parameters
    ----------
    given : System
    tolerance : float
        How far a solution may miss its inequalities, relative to max(1, |G|).

    Examples
    --------
    >>> from privopt.problems.local_information_privacy.systems import plain
    >>> found = np.concatenate(list(vertices(plain(np.array([[1.0, -1.0, -1.0]])))))
    >>> sorted(found.tolist())
    [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]]
    """
    slack = tolerance * max(1.0, float(np.abs(given.rows).max(initial=0.0)))
    for k in range(1, given.largest + 1):
        for supports in _batches(given.rows.shape[1], k):
            sets = given.choices(k - 1)
            while tight := list(islice(sets, max(1, BATCH // len(supports)))):
                yield solve_systems(given, np.array(tight, dtype=np.int64), supports, slack)


def _batches(n: int, k: int) -> Iterator[Ints]:
    """The supports of size k, BATCH at a time."""
    every = combinations(range(n), k)
    while True:
        flat = np.fromiter(
            (i for _, support in zip(range(BATCH), every, strict=False) for i in support), dtype=np.int64
        )
        if not flat.size:
            return
        yield flat.reshape(-1, k)


def solve_systems(given: System, tight: Ints, supports: Ints, slack: float) -> Floats:
    """The vertices with one of these sets of tight rows (t, k - 1) and one of these supports (b, k)."""
    k = supports.shape[1]
    parts = given.tightened[tight][:, :, supports].transpose(0, 2, 1, 3)
    # A tight row with entries of one sign only leaves no room for v >= 0 with sum 1.
    possible = ((parts.min(axis=3) <= slack) & (parts.max(axis=3) >= -slack)).all(axis=2)
    supports = np.broadcast_to(supports, (len(tight), *supports.shape))[possible]
    systems = np.ones((len(supports), k, k))
    systems[:, 1:, :] = parts[possible]
    solved, regular = _solutions(systems)
    systems, supports = systems[regular], supports[regular]
    good = (solved >= -COARSE).all(axis=1)
    systems, supports, solved = systems[good], supports[good], solved[good]
    missed = -np.einsum("ijk,ik->ij", systems, solved)
    missed[:, 0] += 1.0
    correction, regular = _solutions(systems, missed[..., None])
    supports, solved = supports[regular], solved[regular] + correction
    good = (solved >= -slack).all(axis=1)
    found = np.zeros((int(good.sum()), given.rows.shape[1]))
    np.put_along_axis(found, supports[good], np.maximum(solved[good], 0.0), axis=1)
    found = found[(found @ given.rows.T <= slack).all(axis=1)]
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _solutions(systems: Floats, right: Floats | None = None) -> tuple[Floats, NDArray[np.bool_]]:
    """Finite solutions, and which systems have them; the right side is (1, 0, ..., 0) by default."""
    if right is None:
        right = np.zeros((len(systems), systems.shape[1], 1))
        right[:, 0] = 1.0
    solved = np.full(systems.shape[:2], np.nan)
    try:
        solved[:] = np.linalg.solve(systems, right)[..., 0]
    except np.linalg.LinAlgError:  # one of them is exactly singular: leave out those
        regular = np.linalg.det(systems) != 0
        solved[regular] = np.linalg.solve(systems[regular], right[regular])[..., 0]
    finite = np.asarray(np.isfinite(solved).all(axis=1))
    return solved[finite], finite


def costs(problem: LocalInformationPrivacy, posteriors: Floats) -> Floats:
    """Cost of each posterior of W, a row each, on the support of W: entropy of X, least distortion, or the user's."""
    observed = problem.observation
    plain = observed.useful is None and problem.utility == "mutual_information"
    of_x = posteriors if plain else posteriors @ observed.x_given_w[:, observed.support].T
    if problem.matrix is not None:
        return np.asarray((of_x @ problem.matrix).min(axis=1))
    if problem.cost is None:
        return np.asarray(-(of_x * np.log(np.where(of_x > 0, of_x, 1.0))).sum(axis=1))
    return np.array([float(problem.cost(v)) for v in of_x])


# the proof: every basis of the polytope in balls, and in rationals where balls leave open whether it counts


def least_vertex_cost(problem: LocalInformationPrivacy, prices: Floats, seconds: float) -> Enclosure | None:
    """Floats around the least cost(v) - prices . v over the vertices, where a concave cost has its minimum.

    None if out of time. Every choice of a support and of tight rows is solved with a proved error (Rump, "Verification
    methods", Section 10: |I - C A| < 1 for an approximate inverse C bounds the solution of A x = b), or in rationals where
    that fails. Bases that are proved to break a row are left out. Those of which balls do not decide it are solved
    in rationals, the cheapest first, until one counts.
    """
    checked = _Bases(problem, prices)
    ends = time.monotonic() + seconds
    for support, tight in checked.choices():
        checked.take(support, tight, ends)
        if time.monotonic() > ends:
            return None
    return checked.settled(ends)


@dataclass
class _Bases:
    """The bases tried so far: what the sure vertices cost, and the bases that are left to be decided."""

    problem: LocalInformationPrivacy
    prices: Floats
    least: float = math.inf
    most: float = math.inf
    open: list[tuple[float, tuple[int, ...], tuple[int, ...]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        problem = self.problem
        self.polytope = problem.polytope
        self.support = self.polytope.support
        self.rows = self.polytope.balls(self.polytope.kept)
        useful = problem.observation.useful
        self.matrix = None if useful is None else seen_balls(useful, self.support)
        self.names, self.system = _structure(self.polytope)
        self.tightened = self.polytope.balls(self.names)
        self.place = {row: i for i, row in enumerate(self.polytope.kept)}

    def choices(self) -> Iterator[tuple[Ints, Ints]]:
        """Supports (b, k) and tight rows (t, k - 1), positions among the observations seen and in ``tightened``."""
        n = len(self.support)
        alike = self._alike()
        for k in range(1, min(n, self.system.largest) + 1):
            for supports in _batches(n, k):
                kinds = np.sort(alike[supports], axis=1)
                distinct = supports[(np.diff(kinds, axis=1) > 0).all(axis=1)]
                sets = self.system.choices(k - 1)
                while len(distinct) and (tight := list(islice(sets, max(1, BATCH // len(distinct))))):
                    yield distinct, np.array(tight, dtype=np.int64).reshape(len(tight), k - 1)

    def _alike(self) -> Ints:
        """A number for each observation; two with the same posterior of S have the same, and are never basic together."""
        known: dict[tuple[Fraction, ...], int] = {}
        found = []
        for w in self.support:
            column = tuple(Fraction(row[w], self.polytope.symbols[w]) for row in self.polytope.table)
            found.append(known.setdefault(column, len(known)))
        return np.array(found, dtype=np.int64)

    def take(self, supports: Ints, tight: Ints, ends: float) -> None:
        """Solve every support with every set of tight rows."""
        k = supports.shape[1]
        mid = self.tightened.mid[tight][:, :, supports].transpose(0, 2, 1, 3)
        rad = self.tightened.rad[tight][:, :, supports].transpose(0, 2, 1, 3)
        # A tight row with entries of one sign only leaves no room for v >= 0 with sum 1.
        possible = (((mid - rad).min(axis=3) <= 0) & ((mid + rad).max(axis=3) >= 0)).all(axis=2)
        which = np.argwhere(possible)
        if not len(which):
            return
        chosen, rows = supports[which[:, 1]], tight[which[:, 0]]
        middles, radii = np.ones((len(which), k, k)), np.zeros((len(which), k, k))
        middles[:, 1:, :], radii[:, 1:, :] = mid[possible], rad[possible]
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
        problem, n, k = self.problem, full.shape[1], chosen.shape[1]
        if problem.cost is not None:
            at = np.maximum(full, 0.0)
            read = costs(problem, at / at.sum(axis=1, keepdims=True))
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

    def _exact(self, chosen: tuple[int, ...], tight: tuple[int, ...]) -> bool:
        """Solve a basis in rationals, and count its vertex if there is one; whether there is."""
        from flint import fmpq_mat, fmpz_mat

        given = self.polytope
        places = [self.support[i] for i in chosen]
        # v(w) = c(w) z(w) for the weights c: rows in z are integers
        rows = [[given.symbols[w] for w in places]]
        rows += [[line[w] for w in places] for line in (given.numerators(self.names[t]) for t in tight)]
        system = fmpz_mat(rows)
        if system.det() == 0:
            return False
        right = fmpq_mat(len(rows), 1, [1] + [0] * (len(rows) - 1))
        found = fmpq_mat(system).solve(right)
        solved = [Fraction(int(v[0].p), int(v[0].q)) for v in found.tolist()]
        if min(solved) < 0:
            return False
        kept = (given.numerators(row) for row in given.kept)
        if any(sum(line[w] * z for w, z in zip(places, solved, strict=True)) > 0 for line in kept):
            return False
        full = np.zeros((1, len(self.support)))
        full[0, list(chosen)] = [float(given.symbols[w] * z) for w, z in zip(places, solved, strict=True)]
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


def _structure(given: Polytope) -> tuple[tuple[int, ...], System]:
    """Rows that may be made tight, by their position among the names, and which of them together."""
    from flint import fmpz_mat

    names, kept = given.names, given.kept
    rank = int(fmpz_mat([[row[w] for w in given.support] for row in given.table]).rank()) if kept else 1
    if given.sides[0] == "ldp" and kept:
        n = len(given.table)
        every = tuple(names.index((s, t)) if s != t else 0 for s in range(n) for t in range(n))
        return every, replace(pairs_of_secrets(n), exact_rank=rank)
    groups = secret_groups(given)
    return kept, replace(grouped(np.zeros((len(kept), 1)), groups), exact_rank=rank)


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

"""Vertices of the polytope of allowed posteriors, by small linear systems solved many at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats, Ints
from privopt.problems.local_information_privacy.data import above, lifts_of, posterior_rows
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.problems.local_information_privacy.vertices import (
    TightSets,
    balanced,
    batches,
    grouped,
    pairs_of_secrets,
    secret_groups,
)

TOLERANCE = 1e-9
"""How far a solution may miss v >= 0 and G v <= 0, relative to the size of G."""

COARSE = 1e-6
"""What a first solution may miss before it is refined."""


SOME = 12
"""Rows whose rank bounds that of all from below."""

TOO_MANY = 10**18
"""Systems beyond which larger supports are not counted."""


@dataclass(frozen=True, eq=False)
class System:
    """G, rows that may be made tight, and which of them together.

    Parameters
    ----------
    rows : array (r, n)
        G of the inequalities.
    tightened : array (t, n)
        Rows for equations; those of G, or more.
    sets : TightSets
    """

    rows: Floats
    tightened: Floats
    sets: TightSets

    @cached_property
    def largest(self) -> int:
        """The largest possible support of a vertex."""
        return int(np.linalg.matrix_rank(np.vstack([np.ones(self.rows.shape[1]), self.rows]), tol=1e-13))

    @cached_property
    def sizes(self) -> tuple[tuple[int, int], ...]:
        """The sizes k of a support, each with the number of systems of that size; the smallest ones only where these have too many."""
        n, total = self.rows.shape[1], 0
        some = np.vstack([np.ones(n), self.rows[:SOME]])
        # The rank of all rows takes long, and is no less than that of some.
        surely = int(np.linalg.matrix_rank(some, tol=1e-13))
        sizes = []
        for k in range(1, n + 1):
            if total > TOO_MANY or (k > surely and k > self.largest):
                break
            sizes.append((k, math.comb(n, k) * self.sets.count(k - 1)))
            total += sizes[-1][1]
        return tuple(sizes)


@lru_cache(maxsize=8)
def system(problem: LocalInformationPrivacy) -> System:
    """The polytope of a problem, on the support of W."""
    observed = problem.observation
    rows = _unit(posterior_rows(problem)[:, observed.support])
    if problem.notion != "ldp" or not len(rows):
        return System(rows, rows, grouped(secret_groups(problem.polytope)))
    seen = observed.p_s > 0
    lifts = lifts_of(observed.s_given_w[seen], observed.p_s[seen][:, None])[:, observed.support]
    n, ratio = len(lifts), math.exp(min(problem.budget, 700.0))
    tightened = above(lifts[:, None, :], lifts[None, :, :], ratio).reshape(n * n, -1)  # row s n + t
    return System(rows, _unit(tightened), pairs_of_secrets(n))


def _unit(rows: Floats) -> Floats:
    """The same inequalities with largest entry 1 each, so that those of a secret of small probability bind no less than others."""
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    return np.asarray(rows / np.where(largest > 0, largest, 1.0))


def work(polytope: System) -> int:
    """Number of systems that the enumeration may solve; at least so many where it is above ``TOO_MANY``."""
    return sum(count for _, count in polytope.sizes)


def vertices(polytope: System, tolerance: float = TOLERANCE) -> Iterator[Floats]:
    """Batches of vertices, each a row of shape (n,), some batches empty; a degenerate vertex may come more than once.

    Parameters
    ----------
    polytope : System
    tolerance : float
        How far a solution may miss its inequalities, relative to max(1, |G|).

    Examples
    --------
    >>> rows = np.array([[1.0, -1.0, -1.0]])
    >>> points = np.concatenate(list(vertices(System(rows, rows, grouped([(0,)])))))
    >>> sorted(points.tolist())
    [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]]
    """
    slack = tolerance * max(1.0, float(np.abs(polytope.rows).max(initial=0.0)))
    for k in range(1, polytope.largest + 1):
        for supports in batches(polytope.rows.shape[1], k):
            yield from _solved(polytope, polytope.sets.choices(k - 1), supports, slack)


def _solved(
    polytope: System, sets: Iterator[tuple[int, ...]], supports: Ints, slack: float
) -> Iterator[Floats]:
    """The vertices with one of these sets of tight rows and one of these supports (b, k), in batches."""
    for chosen, tight in balanced(sets, supports, polytope.tightened - slack, polytope.tightened + slack):
        yield _vertices_of(polytope, chosen, tight, slack)


def _vertices_of(polytope: System, supports: Ints, tight: Ints, slack: float) -> Floats:
    """The vertices among the solutions for supports (m, k), each with its own tight rows (m, k - 1)."""
    k = supports.shape[1]
    systems = np.ones((len(supports), k, k))
    systems[:, 1:, :] = polytope.tightened[tight[:, :, None], supports[:, None, :]]
    solved, regular = _solutions(systems)
    systems, supports = systems[regular], supports[regular]
    good = (solved >= -COARSE).all(axis=1)
    systems, supports, solved = systems[good], supports[good], solved[good]
    missed = -np.einsum("ijk,ik->ij", systems, solved)
    missed[:, 0] += 1.0
    correction, regular = _solutions(systems, missed[..., None])
    supports, solved = supports[regular], solved[regular] + correction
    good = (solved >= -slack).all(axis=1)
    points = np.zeros((int(good.sum()), polytope.rows.shape[1]))
    np.put_along_axis(points, supports[good], np.maximum(solved[good], 0.0), axis=1)
    points = points[(points @ polytope.rows.T <= slack).all(axis=1)]
    return np.asarray(points / points.sum(axis=1, keepdims=True))


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


ROUNDS = 12

SUPPORTS = 150

HOPELESS = 1e12
"""Systems beyond which no sample says how many of them have a vertex."""

FEW = 10_000
"""Systems up to which their number stands for that of the vertices: whatever enumerates them is quick."""

LEAST_HITS = 5
"""Vertices that a sample must meet for their number to be told; with fewer, as many as it may have missed count."""


@lru_cache(maxsize=64)
def expected_vertices(problem: LocalInformationPrivacy) -> float:
    """The number of vertices, estimated from a share of the supports and tight rows; always the same for a problem.

    Degenerate vertices count once for each system that meets them, and few systems are all counted as vertices.
    Of large supports a sample meets none, though there are many: with the share of systems that falls from size to size
    as steadily as it did where some were met there would be too many, without them too few; the geometric mean counts.
    Where vertices are too rare among the systems for a
    sample, the number is the largest that it may well have missed, which is inf where there are too many systems.
    """
    rng = np.random.default_rng(0)
    polytope = system(problem)
    n, total, missed, met = polytope.rows.shape[1], 0.0, 0.0, 0
    share = falls = unseen = 0.0
    sizes = polytope.sizes
    systems = sum(count for _, count in sizes)
    if systems > HOPELESS:
        return math.inf
    if systems <= FEW:
        return float(systems)
    for k, count in sizes:
        if not count:
            continue
        tight = iter([polytope.sets.draw(rng, k - 1) for _ in range(ROUNDS)])
        hits = sum(map(len, _solved(polytope, tight, _supports(rng, n, k), TOLERANCE)))
        total, met = total + count * hits / (ROUNDS * SUPPORTS), met + hits
        before, share = share, hits / (ROUNDS * SUPPORTS) if hits else falls * share
        falls = share / before if hits and before else falls
        unseen += 0.0 if hits else count * share
        missed += count * min(1.0, max(hits, LEAST_HITS) / (ROUNDS * SUPPORTS))
    return math.sqrt(total * (total + unseen)) if met >= LEAST_HITS else missed


def _supports(rng: np.random.Generator, n: int, k: int) -> Ints:
    """Random supports of size k; among many observations one may come twice, which makes a singular system."""
    if 100 * k * k < n:
        return np.sort(rng.integers(n, size=(SUPPORTS, k)), axis=1)
    return np.asarray(np.sort(rng.random((SUPPORTS, n)).argpartition(k - 1, axis=1)[:, :k], axis=1))


def description_seconds(problem: LocalInformationPrivacy) -> float:
    """Predicted seconds of a double description, within a factor of five or so where it was measured."""
    count = expected_vertices(problem)
    return 0.01 + 1e-6 * count * sum(system(problem).rows.shape) * (1.0 + count / 5e3)


def enumeration_seconds(problem: LocalInformationPrivacy) -> float:
    """Predicted seconds to solve all small systems of a problem, measured with most of them regular; rather too many."""
    return sum(count * (3e-7 + 4e-9 * k**3) for k, count in system(problem).sizes)

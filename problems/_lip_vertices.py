"""Vertices of the polytope of allowed posteriors, by small linear systems solved many at a time.

A vertex of {v >= 0, sum v = 1, G v <= 0} with k positive entries is found by solving a k x k system for
its support and k - 1 tight rows. Degenerate vertices are found from some choice whose system is not singular.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from itertools import combinations, islice
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from privopt.problems._lip_systems import System, system
from privopt.problems._observation import Floats

if TYPE_CHECKING:
    from privopt.problems.local_information_privacy import LocalInformationPrivacy

Integers: TypeAlias = NDArray[np.int64]

BATCH = 1 << 14
"""Systems tried at a time; bounds the memory to about BATCH k^2 floats."""

TOLERANCE = 1e-9
"""How far a solution may miss v >= 0 and G v <= 0, relative to the size of G."""

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
    >>> from privopt.problems._lip_systems import plain
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


def _batches(n: int, k: int) -> Iterator[Integers]:
    """The supports of size k, BATCH at a time."""
    every = combinations(range(n), k)
    while True:
        flat = np.fromiter(
            (i for _, support in zip(range(BATCH), every, strict=False) for i in support), dtype=np.int64
        )
        if not flat.size:
            return
        yield flat.reshape(-1, k)


def solve_systems(given: System, tight: Integers, supports: Integers, slack: float) -> Floats:
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


def least_vertex_cost(problem: LocalInformationPrivacy, prices: Floats, seconds: float) -> float | None:
    """The least cost(v) - prices . v over the vertices, where a concave cost has its minimum; None if out of time."""
    begun, least = time.monotonic(), math.inf
    for batch in vertices(system(problem)):
        if len(batch):
            least = min(least, float((costs(problem, batch) - batch @ prices).min()))
        if time.monotonic() - begun > seconds:
            return None
    return least


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

"""Minimising a submodular function: the point of least norm of its base polytope, by Wolfe's method."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from privopt.arrays import Floats

SetFunction: TypeAlias = Callable[[frozenset[int]], float]


@dataclass(frozen=True)
class Minimum:
    """A set with its value.

    Parameters
    ----------
    chosen : frozenset of int
    value : float
        The function at that set.
    gap : float
        How much less any other set can be, 0 or rounding.
    """

    chosen: frozenset[int]
    value: float
    gap: float


def minimum_norm_point(f: SetFunction, n: int, *, tol: float = 1e-10, max_steps: int = 10_000) -> Minimum:
    """Minimise a submodular function of subsets of {0, ..., n - 1}.

    The negative entries of the point x of least norm in the base polytope of f - f(empty) are a minimiser. Any x of
    that polytope bounds f from below by f(empty) + sum min(x, 0), which gives the gap.

    Source: Fujishige, Isotani, "A submodular function minimization algorithm based on the minimum base"; Wolfe,
    "Finding the nearest point in a polytope".

    Parameters
    ----------
    f : callable
        Submodular: f(A) + f(B) >= f(A | B) + f(A & B). Not checked; if it is not, the gap is not a proof.
    n : int
        >= 0.
    tol : float
        The search ends when no set can be lower by more than this times the largest increment, or 1.
    max_steps : int
        Most vertices of the polytope that are visited.

    Returns
    -------
    Minimum

    Examples
    --------
    >>> cut = {(0, 1): 1.0, (1, 2): 3.0}
    >>> def f(chosen):
    ...     edges = sum(w for (i, j), w in cut.items() if (i in chosen) != (j in chosen))
    ...     return edges - 2.0 * (1 in chosen)
    >>> sorted(minimum_norm_point(f, 3).chosen), minimum_norm_point(f, 3).value
    ([0, 1, 2], -2.0)
    """
    empty = float(f(frozenset()))
    if n == 0:
        return Minimum(frozenset(), empty, 0.0)
    point = greedy_vertex(f, np.arange(n))
    vertices, weights = point[None, :], np.ones(1)
    for _ in range(max_steps):
        order = np.argsort(point, kind="stable")
        vertex = greedy_vertex(f, order)
        best = min(0.0, float(np.cumsum(vertex[order]).min()))
        known = (np.abs(vertices - vertex).max(axis=1) == 0).any()
        if known or best - float(np.minimum(point, 0.0).sum()) <= tol * max(1.0, float(np.abs(vertex).max())):
            break
        before = float(point @ point)
        vertices, weights = _nearest(np.vstack([vertices, vertex]), np.append(weights, 0.0), tol)
        if float((weights @ vertices) @ (weights @ vertices)) >= before:
            break  # no nearer in floats
        point = weights @ vertices
    lower = empty + float(np.minimum(point, 0.0).sum())
    return _rounded(f, point, lower)


def greedy_vertex(f: SetFunction, order: Iterable[int]) -> Floats:
    """Increments of f along an order, by element: a vertex of the base polytope (Edmonds)."""
    found: dict[int, float] = {}
    chosen: frozenset[int] = frozenset()
    before = float(f(chosen))
    for i in map(int, order):
        chosen = chosen | {i}
        after = float(f(chosen))
        found[i], before = after - before, after
    return np.array([found[i] for i in range(len(found))])


def _nearest(vertices: Floats, weights: Floats, tol: float) -> tuple[Floats, Floats]:
    """Wolfe's minor cycle: the nearest point of an affine hull, shrinking it until that lies inside the simplex."""
    while True:
        k = len(vertices)
        system = np.ones((k + 1, k + 1))
        system[0, 0], system[1:, 1:] = 0.0, vertices @ vertices.T
        right = np.zeros(k + 1)
        right[0] = 1.0
        target = np.linalg.lstsq(system, right, rcond=None)[0][1:]
        if (target >= -tol).all():
            target = np.maximum(target, 0.0)
            return vertices, target / target.sum()
        falling = target < 0
        share = float((weights[falling] / (weights[falling] - target[falling])).min())
        weights = np.maximum(weights + share * (target - weights), 0.0)
        kept = weights > tol
        if kept.all():
            kept[int(np.argmin(weights))] = False
        vertices, weights = vertices[kept], weights[kept] / weights[kept].sum()


def _rounded(f: SetFunction, point: Floats, lower: float) -> Minimum:
    """The best prefix of the elements in the order of the point; small sets first among equal ones."""
    best, value, chosen = frozenset[int](), float(f(frozenset())), frozenset[int]()
    for i in np.argsort(point, kind="stable").tolist():
        chosen = chosen | {i}
        now = float(f(chosen))
        if now < value:
            best, value = chosen, now
    return Minimum(best, value, max(0.0, value - lower))

"""Upper bounds on accuracy, each proved afresh from its dual.

The kinds of dual:

- ``{"kind": "envelope"}``: with values prescribed, or "balanced": a colour is an event, so no vertex answers with its
  true colour more often than min over sites s of U^dist(P_s(colour)); the envelope is computed again.
- ``{"kind": "minimax"}``: a worst case t leaves every colour c at least L^dist(v, c)(t) at v, and these sum to at most 1.
- ``{"kind": "linear", "at": [...], "values": [...], "weights": [...]}``: weak duality. Position e k + c is the multiplier,
  >= 0, of P_u(c) <= e^epsilon P_v(c) + s_e(c) on arc e from u to v in the order of ``graph.indices``, with
  sum_c s_e(c) <= delta. Whatever it leaves over is absorbed by P_v being a law. ``weights``, a number a vertex, only for
  "worst_case".
- ``{"kind": "trivial"}``: 1.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from privopt.measures._colouring_distance import colour_hops, hops
from privopt.measures._colouring_envelope import upper
from privopt.measures._colouring_steps import LARGEST, Floats, Step
from privopt.problems._graph_boundary import MET

if TYPE_CHECKING:
    from privopt.problems.boundary_colouring import BoundaryColouring

ALLOWANCE = 1e-12
"""Added to every bound for rounding."""
ROUNDING = 1e-13
"""Relative to the sum of the sizes of the terms of a linear bound."""
HALVINGS = 100


def check_dual(problem: BoundaryColouring, dual: object) -> float | None:
    """The upper bound on the objective that a dual proves, or None."""
    kind = dual.get("kind") if isinstance(dual, dict) else None
    if kind == "trivial":
        return 1.0
    if kind == "minimax" and problem.objective == "worst_case":
        return min(1.0, minimax_bound(problem) + ALLOWANCE)
    if kind == "envelope" and (problem.boundary is not None or problem.k == 1):
        return min(1.0, mean(problem, best_accuracy(problem)) + ALLOWANCE)
    if kind == "linear" and isinstance(dual, dict):
        return _linear(problem, dual)
    return None


def mean(problem: BoundaryColouring, right: Floats) -> float:
    """The utility of given accuracies."""
    if right.size == 0:
        return 1.0
    if problem.objective == "worst_case":
        return float(right.min())
    if problem.weights is None:
        return float(right.sum() / right.size)
    return float((problem.weights * right).sum() / problem.weights.sum())


def best_accuracy(problem: BoundaryColouring) -> Floats:
    """Largest accuracy of every vertex, given what the boundary prescribes or caps."""
    graph, one, found = problem.graph, problem.step, np.ones(problem.graph.size)
    rows = (graph.indptr, graph.indices)
    if problem.prescribed is None:
        far = hops(*rows, problem.boundary_sites)
        reached = far >= 0
        top = np.full(int(reached.sum()), 1.0 - one.kink), np.full(int(reached.sum()), one.kink)
        found[reached] = one.power(*top, far[reached])[0]
        return found
    sites, table = problem.prescribed.sites, problem.prescribed.rows
    for c in range(problem.k):
        rest = np.delete(table, c, axis=1).sum(axis=1)
        own = graph.codes == c
        found[own] = upper(rows, sites, (table[:, c].copy(), rest), one)[0][own]
    return found


def minimax_bound(problem: BoundaryColouring) -> float:
    """The largest worst case that the distances to the colours leave open; met by "balanced" for two colours."""
    graph = problem.graph
    if not len(problem.boundary_sites):
        return 1.0
    if problem.k == 2:
        return 1.0 - problem.step.kink
    far = colour_hops(graph.indptr, graph.indices, graph.codes, problem.k)
    return largest_share(np.unique(far, axis=0), problem.step)


def largest_share(far: NDArray[np.int64], one: Step) -> float:
    """The largest t with sum_c L^far[v, c](t) <= 1 for every row of hops; -1 stands for unreachable."""
    reached = far >= 0
    away = np.where(reached, far, 0)

    def fits(t: float) -> bool:
        least = one.power(np.full(far.shape, 1.0 - t), np.full(far.shape, t), away)[1]
        return bool((np.where(reached, least, 0.0).sum(axis=1) <= 1.0).all())

    low, high = 0.0, 1.0
    if fits(1.0):
        return 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return high


def _linear(problem: BoundaryColouring, dual: dict[str, object]) -> float | None:
    """Sum of what each vertex can still gain at these multipliers, plus what delta gives them."""
    arcs, k, n = len(problem.graph.indices), problem.k, problem.graph.size
    weights = _normalised(problem, dual.get("weights"))
    try:
        at = np.array(dual["at"], dtype=np.int64)
        values = np.array(dual["values"], dtype=np.float64)
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    good = at.ndim == 1 and at.shape == values.shape and bool(((values >= 0) & np.isfinite(values)).all())
    if weights is None or not good or (at.size and not 0 <= at.min() <= at.max() < arcs * k):
        return None
    if problem.epsilon > LARGEST:
        return None
    arc, colour = np.divmod(at, k)
    start = np.searchsorted(problem.graph.indptr, arc, side="right") - 1
    end = problem.graph.indices[arc].astype(np.int64)
    growth = math.exp(problem.epsilon) * (1 + 4e-16)
    gain = np.zeros((n, k))
    gain[np.arange(n), problem.graph.codes] = weights
    size = gain.copy()
    np.add.at(gain, (start, colour), -values)
    np.add.at(gain, (end, colour), growth * values)
    np.add.at(size, (start, colour), values)
    np.add.at(size, (end, colour), growth * values)
    most = np.zeros(arcs)
    np.maximum.at(most, arc, values)
    total = math.fsum(_reach(problem, gain).tolist()) + problem.delta * math.fsum(most.tolist())
    return total + ROUNDING * float(size.sum() + problem.delta * most.sum()) + ALLOWANCE


def _normalised(problem: BoundaryColouring, given: object) -> Floats | None:
    """Weights of the accuracies that add to 1: those of the problem, or for a minimum those of the dual."""
    n = problem.graph.size
    if problem.objective == "accuracy":
        table = np.ones(n) if problem.weights is None else problem.weights
    else:
        try:
            table = np.array(given, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            return None
        if table.shape != (n,) or not ((table >= 0) & np.isfinite(table)).all():
            return None
    total = float(table.sum())
    return None if not 0 < total < math.inf else np.asarray(table / total)


def _reach(problem: BoundaryColouring, gain: Floats) -> Floats:
    """The most that each vertex can make of its gains: its best colour, or what is prescribed."""
    best: Floats = gain.max(axis=1)
    if problem.prescribed is not None:
        sites, rows = problem.prescribed.sites, problem.prescribed.rows
        near = (rows * gain[sites]).sum(axis=1) + MET * np.abs(gain[sites]).sum(axis=1)
        best[sites] = np.minimum(best[sites], near)
    return best

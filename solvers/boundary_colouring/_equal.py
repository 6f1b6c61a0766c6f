"""Mechanisms that treat all boundary vertices of a colour alike: one number decides them, and it is found in logarithms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats, Ints
from privopt.measures.colouring.hops import hops
from privopt.measures.colouring.steps import Pair, Step
from privopt.mechanisms import Colouring
from privopt.models import DatasetGraph
from privopt.problems.boundary_colouring.problem import BoundaryColouring
from privopt.solvers.boundary_colouring._levels import level_count, levels
from privopt.solvers.boundary_colouring._reduced import normalised_weights

TRIED = 200
"""Levels that are tried at once where delta > 0; the accuracy is concave in the boundary value."""


@dataclass(frozen=True, eq=False)
class Profile:
    """Weight by distance from the boundary.

    Parameters
    ----------
    far : int array (n,)
        Hops from each vertex to its own colour's boundary; -1 where there is none to reach.
    first, second : arrays (d + 1,)
        Weight of the first and of the second colour at each distance.
    """

    far: Ints
    first: Floats
    second: Floats


def profile(graph: DatasetGraph, weights: Floats) -> Profile:
    """Distances, and the weights added up by colour and distance."""
    far = hops(graph.indptr, graph.indices, np.flatnonzero(graph.boundary()))
    size = int(far.max(initial=0)) + 1
    tallies: list[Floats] = []
    for c in (0, 1):
        kept = (far >= 0) & (graph.codes == c)
        tallies.append(np.bincount(far[kept], weights=weights[kept], minlength=size).astype(np.float64))
    return Profile(far, *tallies)


def best_boundary(given: Profile, one: Step) -> tuple[float, float]:
    """The best probability of the first colour on its boundary, with its complement.

    delta = 0: the best one is g(s) for an integer shift s (or 0 or 1), where g runs through the orbit of the bend.
    """
    if one.delta > 0 or one.epsilon == 0:
        return _among_levels(given, one)
    end = len(given.first) + 2
    low, high = -end, end
    if _rise(given, one.epsilon, low) > 0:
        return 0.0, 1.0
    if _rise(given, one.epsilon, high) < 0:
        return 1.0, 0.0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _rise(given, one.epsilon, middle) > 0 else (middle, high)
    # The error falls up to s = high and rises after it.
    return _shifted(one, high)


def _rise(given: Profile, epsilon: float, s: int) -> float:
    """A number with the sign of the error at shift s + 1 minus that at s."""
    far = np.arange(len(given.first))
    return _log_sum(given.second, epsilon * np.abs(s - 1 - far)) - _log_sum(
        given.first, epsilon * np.abs(s + far)
    )


def _log_sum(weights: Floats, decay: Floats) -> float:
    """The logarithm of sum_i weights_i e^-decay_i; a very small number where there is no weight."""
    kept = weights > 0
    if not kept.any():
        return -1e300
    terms = np.log(weights[kept]) - decay[kept]
    top = float(terms.max())
    return top + float(np.log(np.exp(terms - top).sum()))


def _shifted(one: Step, s: int) -> tuple[float, float]:
    """g(s): U^(s-1)(b) for s >= 1, L^(-s)(a) for s <= 0."""
    p, r = one.orbit(1.0 - one.kink, one.kink, max(s - 1, -s))
    near, rest = float(p[-1]), float(r[-1])
    return (near, rest) if s >= 1 else (rest, near)


def _among_levels(given: Profile, one: Step) -> tuple[float, float]:
    size = len(given.first)
    table = levels(one, size + 1)
    reach = min(size, level_count(one, size) + 2)
    low, high = 0, len(table.p) - 1
    while True:
        tried = np.unique(np.linspace(low, high, TRIED).astype(np.int64))
        errors = [_error(given, one, (float(table.p[i]), float(table.r[i])), reach) for i in tried.tolist()]
        best = int(np.argmin(errors))
        if high - low < TRIED:
            at = int(tried[best])
            return float(table.p[at]), float(table.r[at])
        low, high = int(tried[max(best - 1, 0)]), int(tried[min(best + 1, len(tried) - 1)])


def _error(given: Profile, one: Step, value: tuple[float, float], reach: int) -> float:
    first, second = _errors(one, value, reach - 1)
    tail = given.first[reach:].sum() * first[-1] + given.second[reach:].sum() * second[-1]
    return float(given.first[:reach] @ first + given.second[:reach] @ second + tail)


def _errors(one: Step, value: tuple[float, float], last: int) -> tuple[Floats, Floats]:
    """Errors of both colours at distances 0 .. last."""
    sides = [padded(one_side(one, value, own, last), last) for own in (0, 1)]
    return sides[0][1], sides[1][1]


def one_side(one: Step, value: tuple[float, float], own: int, last: int) -> Pair:
    """Accuracies and errors of a colour by distance, to the last one or to where they stay.

    ``value`` is the probability of the first colour on its boundary, with its complement; the second colour gets as much
    as that leaves.
    """
    if own == 0:
        return one.orbit(*value, last)
    start = one.up(np.array([value[1]]), np.array([value[0]]))
    return one.orbit(float(start[0][0]), float(start[1][0]), last)


def padded(side: Pair, last: int) -> Pair:
    """The same with the last value repeated up to a distance."""
    place = np.minimum(np.arange(last + 1), len(side[0]) - 1)
    return np.asarray(side[0][place]), np.asarray(side[1][place])


def by_distance(
    problem: BoundaryColouring, far: NDArray[np.int64], errors: tuple[Floats, Floats]
) -> Colouring:
    """The mechanism with the given errors at each distance, none where no boundary is reached.

    ``errors[c][i]`` is the error of colour c at distance i; the last one holds for all beyond.
    """
    rows = [_row(errors[0], own=0), _row(errors[1], own=1)]
    level = np.where(far < 0, len(errors[0]), np.minimum(far, len(errors[0]) - 1))
    second = np.where(far < 0, len(errors[1]), np.minimum(far, len(errors[1]) - 1))
    level = np.where(problem.graph.codes == 0, level, len(rows[0]) + second)
    return problem.colouring(np.concatenate(rows), level)


def _row(errors: Floats, own: int) -> Floats:
    """Rows of the errors, and one without any."""
    wrong = np.append(errors, 0.0)
    right = 1.0 - wrong
    return np.stack([right, wrong] if own == 0 else [wrong, right], axis=1)


def equal_boundary(problem: BoundaryColouring) -> tuple[Colouring, tuple[float, float]]:
    """The best mechanism with one value on each colour's boundary, and that value with its complement."""
    given = profile(problem.graph, normalised_weights(problem))
    value = best_boundary(given, problem.guarded)
    last = len(given.first) - 1
    errors = [one_side(problem.guarded, value, own, last)[1] for own in (0, 1)]
    return by_distance(problem, given.far, (errors[0], errors[1])), value

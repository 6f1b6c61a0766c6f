"""Mechanisms that treat all boundary vertices of a colour alike: one number decides them, searched in logarithms.

They are the optimum of a line with one two-coloured edge, which :class:`Shift` proves; elsewhere a heuristic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.measures.colouring.hops import hops
from privopt.measures.colouring.steps import LARGEST, Pair, Step
from privopt.mechanisms import Colouring
from privopt.models import DatasetGraph
from privopt.problems.boundary_colouring.problem import BoundaryColouring
from privopt.solvers.boundary_colouring._levels import LOST, level_count, levels
from privopt.solvers.boundary_colouring._reduced import (
    Reduced,
    edge_table,
    lifted,
    linear_dual,
    normalised_weights,
    reduced,
    refuse_choice,
    signed,
)
from privopt.solvers.boundary_colouring.closed_forms import by_distance
from privopt.solvers.boundary_colouring.forest import proposal, refuse_forest

NOTHING = 45.0
"""Nats by which a part of a sum is smaller than what is not seen in its digits."""

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


def profile(problem: BoundaryColouring) -> Profile:
    """Distances, and the weights added up by colour and distance."""
    far, weights = problem.far, normalised_weights(problem)
    size = int(far.max(initial=0)) + 1
    cell = far + size * problem.graph.codes.astype(np.int64)
    if (far < 0).any():
        cell, weights = cell[far >= 0], weights[far >= 0]
    both = np.bincount(cell, weights=weights, minlength=2 * size).astype(np.float64)
    return Profile(far, both[:size], both[size:])


def best_boundary(tally: Profile, one: Step) -> tuple[float, float]:
    """The best probability of the first colour on its boundary, with its complement.

    delta = 0: the best one is g(s) for an integer shift s (or 0 or 1), where g runs through the orbit of the bend.
    """
    if one.delta > 0 or one.epsilon == 0:
        return _among_levels(tally, one)
    end = len(tally.first) + 2
    low, high = -end, end
    if _rise(tally, one.epsilon, low) > 0:
        return 0.0, 1.0
    if _rise(tally, one.epsilon, high) < 0:
        return 1.0, 0.0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _rise(tally, one.epsilon, middle) > 0 else (middle, high)
    # The error falls up to s = high and rises after it.
    return _shifted(one, high)


def _rise(tally: Profile, epsilon: float, s: int) -> float:
    """A number with the sign of the error at shift s + 1 minus that at s."""
    return _log_sum(tally.second, epsilon, s - 1) - _log_sum(tally.first, epsilon, -s)


def _log_sum(weights: Floats, epsilon: float, peak: int) -> float:
    """The logarithm of sum_i weights_i e^(-epsilon |i - peak|), of the terms that count; a very small number where there is no weight."""
    inside, reach = min(max(peak, 0), len(weights) - 1), 1 << 10
    while True:
        begin = max(0, inside - reach)
        near = weights[begin : inside + reach]
        kept = np.flatnonzero(near > 0)
        whole = len(near) == len(weights)
        if len(kept):
            terms = np.log(near[kept]) - epsilon * np.abs(kept + (begin - inside))
            top = float(terms.max())
            # Weights add to 1: what is left out is at most the first factor beyond the reach.
            if whole or top - NOTHING > -epsilon * reach:
                return top + float(np.log(np.exp(terms - top).sum())) - epsilon * abs(peak - inside)
        elif whole:
            return -1e300
        reach *= 8


def _shifted(one: Step, s: int) -> tuple[float, float]:
    """g(s): U^(s-1)(b) for s >= 1, L^(-s)(a) for s <= 0."""
    p, r = one.orbit(1.0 - one.kink, one.kink, max(s - 1, -s))
    near, rest = float(p[-1]), float(r[-1])
    return (near, rest) if s >= 1 else (rest, near)


def _among_levels(tally: Profile, one: Step) -> tuple[float, float]:
    size = len(tally.first)
    table = levels(one, size + 1)
    reach = min(size, level_count(one, size) + 2)
    low, high = 0, len(table.p) - 1
    while True:
        tried = np.unique(np.linspace(low, high, TRIED).astype(np.int64))
        errors = [_error(tally, one, (float(table.p[i]), float(table.r[i])), reach) for i in tried.tolist()]
        best = int(np.argmin(errors))
        if high - low < TRIED:
            at = int(tried[best])
            return float(table.p[at]), float(table.r[at])
        low, high = int(tried[max(best - 1, 0)]), int(tried[min(best + 1, len(tried) - 1)])


def _error(tally: Profile, one: Step, value: tuple[float, float], reach: int) -> float:
    first, second = _errors(one, value, reach - 1)
    tail = tally.first[reach:].sum() * first[-1] + tally.second[reach:].sum() * second[-1]
    return float(tally.first[:reach] @ first + tally.second[:reach] @ second + tail)


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


def equal_boundary(problem: BoundaryColouring) -> tuple[Colouring, tuple[float, float]]:
    """The best mechanism with one value on each colour's boundary, and that value with its complement."""
    tally = profile(problem)
    value = best_boundary(tally, problem.guarded)
    last = len(tally.first) - 1
    first, second = (one_side(problem.guarded, value, own, last) for own in (0, 1))
    return by_distance(problem, tally.far, (first, second)), value


@register
@dataclass(frozen=True)
class EqualBoundary(Solver[BoundaryColouring]):
    """The best mechanism with one value on each colour's boundary: exact on a line, a heuristic elsewhere.

    Weights are added up by colour and distance, and bisection gives one integer: any size of graph.
    """

    solves: ClassVar = BoundaryColouring
    name: ClassVar[str] = "equal-boundary"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE
    """Feasible: up to some hundredths of the total weight below the optimum on general graphs."""

    def cost(self, problem: BoundaryColouring) -> float:
        """A search over the graph and a sort of the levels."""
        return 0.02 + 4e-7 * (problem.graph.size + problem.graph.edge_count)

    def refuse(self, problem: BoundaryColouring) -> str | None:
        """Refuse other problems."""
        return refuse_choice(problem)

    def run(self, problem: BoundaryColouring, budget: Budget) -> Proposal:
        """Propose the best such mechanism."""
        mechanism, value = equal_boundary(problem)
        return Proposal(mechanism, stats={"boundary_value": value[0], "boundary_rest": value[1]})


BEND = 1e-12
"""Relative rounding at the bend."""


@register
@dataclass(frozen=True)
class Shift(Solver[BoundaryColouring]):
    """Counts: on a line with one two-coloured edge the optimum is the balanced answer, shifted, and its proof is a recursion.

    One integer says how far the balanced answer moves towards the heavier colour.

    Also for graphs whose quotient by colour refinement is such a line, as all outcomes of a vote are. The multipliers
    of the linear program are sums of weights discounted by e^-epsilon along the line, from both ends.
    """

    solves: ClassVar = BoundaryColouring
    name: ClassVar[str] = "shift"

    def guarantee(self, problem: BoundaryColouring) -> Guarantee:
        """Optimal; with delta > 0 on lines too long for the program on forests the bound may leave a gap."""
        return (
            Guarantee.OPTIMAL if problem.delta == 0 or refuse_forest(problem) is None else Guarantee.BOUNDED
        )

    def cost(self, problem: BoundaryColouring) -> float:
        """Some searches over the graph, and the levels of those that may err."""
        return 0.02 + 1.5e-7 * problem.graph.size

    def refuse(self, problem: BoundaryColouring) -> str | None:
        """Refuse other problems, and other graphs than a line with one two-coloured edge."""
        if (sentence := refuse_choice(problem)) is not None:
            return sentence
        if problem.epsilon > LARGEST:
            return f"e to the epsilon of {problem.epsilon:g} nats overflows in its multipliers"
        small = reduced(problem).graph
        degrees = np.diff(small.indptr)
        ends = int((degrees == 1).sum())
        if degrees.max(initial=0) > 2 or ends != 2 or small.edge_count != small.size - 1:
            return "it needs a line of vertices, after colour refinement, and this graph is none; forest takes trees"
        if (crossings := len(small.two_coloured_edges())) != 1:
            return f"it needs one two-coloured edge on the line, this one has {crossings}; forest takes any"
        return None

    def run(self, problem: BoundaryColouring, budget: Budget) -> Proposal:
        """Propose the shifted answer with its multipliers."""
        line = reduced(problem)
        mechanism, value = equal_boundary(problem)
        stats = {"boundary_value": value[0], "vertices": line.graph.size}
        if problem.delta > 0 and refuse_forest(problem) is None:
            # Values reach 0 and 1, where a recursion no longer knows what is tight; the program on forests does.
            proved = proposal(problem, budget)
            return Proposal(mechanism, proved.bound, proved.dual, stats=stats)
        order, chances = _on_line(problem, line, value)
        dual = linear_dual(lifted(line, problem.graph, _table(line, order, chances, problem.guarded)))
        return Proposal(mechanism, problem.accuracy(mechanism), dual, stats=stats)


def _line_order(graph: DatasetGraph) -> Ints:
    """The vertices of a line, from the end of the first colour to that of the second."""
    ends = np.flatnonzero(np.diff(graph.indptr) == 1)
    start = ends[[np.argmin(graph.codes[ends])]]
    order = np.empty(graph.size, dtype=np.int64)
    order[hops(graph.indptr, graph.indices, start)] = np.arange(graph.size)
    return order


def _on_line(problem: BoundaryColouring, line: Reduced, value: tuple[float, float]) -> tuple[Ints, Pair]:
    """The vertices of the line that may err, in order, and the shifted answer there.

    Those beyond, at either end, are bounded by a certain answer, which exceeds theirs by less than a rounding.
    """
    order = _line_order(line.graph)
    crossing = int((line.graph.codes == 0).sum())
    before = _erring(problem.guarded, value, 0, crossing - 1)
    after = _erring(problem.guarded, value, 1, len(order) - crossing - 1)
    chances = np.concatenate([before[0][::-1], after[1]])
    kept = order[crossing - len(before[0]) : crossing + len(after[0])]
    return kept, (chances, np.concatenate([before[1][::-1], after[0]]))


def _erring(one: Step, value: tuple[float, float], own: int, last: int) -> Pair:
    """Accuracies and errors of a colour by distance up to the last one, or up to where they are lost in a rounding.

    Without delta a colour that never errs is a constant answer, and weighs with all its vertices.
    """
    right, wrong = padded(one_side(one, value, own, last), last)
    if one.delta == 0 and wrong[0] == 0:
        return right, wrong
    count = max(2, int(np.count_nonzero(wrong > math.exp(-LOST))) + 1)
    return right[:count], wrong[:count]


def _table(line: Reduced, order: Ints, values: Pair, one: Step) -> Floats:
    """Multipliers by arc of the line.

    Above the bend the complements grow by e^epsilon towards the second colour, below it the probabilities fall; what a
    vertex gains is passed on along its tight edge, discounted, so both are geometric sums.
    """
    p, r = values
    gains = signed(line.graph.codes[order], line.weights[order])
    free = (p > 0) & (r > 0) if one.delta > 0 else np.ones(len(p), dtype=bool)
    after = p[1:]
    left = _discounted(np.where(free, gains, 0.0), one.decay)[:-1]
    right = _discounted(np.where(free, -gains, 0.0)[::-1], one.decay)[::-1][1:]
    above, below = after > one.kink * (1 - BEND), after < one.kink * (1 + BEND)
    # On the edge at the bend both pieces are tight, and its two multipliers share what comes from either side.
    both = above & below
    if one.epsilon > 0:
        shared = (left - one.decay * right, right - one.decay * left)
        scale = -np.expm1(-2 * one.epsilon)
        left, right = (np.where(both, x / scale, y) for x, y in zip(shared, (left, right), strict=True))
    rows = np.zeros((len(after), 4))
    rows[:, 3] = np.where(above & free[:-1], np.maximum(left, 0.0), 0.0)
    rows[:, 0] = np.where(below & free[1:], np.maximum(right, 0.0), 0.0)
    return edge_table(line.graph, np.stack([order[:-1], order[1:]], axis=1), rows)


def _discounted(gains: Floats, decay: float) -> Floats:
    """x_i = decay (gains_i + x_(i-1)): each round adds what lies as far back again, until nothing of it is left."""
    sums, back, share = decay * gains, 1, decay
    while back < len(gains) and share > 0:
        added = np.zeros_like(sums)
        added[back:] = share * sums[:-back]
        sums += added
        back, share = 2 * back, share * share
    return sums

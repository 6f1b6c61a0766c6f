"""One value on the boundary of each colour: closed forms in the distance to it, with and without the clips that the published ones lack."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.arrays import Ints
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.measures.colouring.hops import hops
from privopt.measures.colouring.steps import Pair, Step, step
from privopt.mechanisms import Colouring
from privopt.problems.boundary_colouring.boundary import end_pairs, room_of
from privopt.problems.boundary_colouring.problem import BoundaryColouring

ROOM = 2.0**-40
"""Powers of e^epsilon are exact to 1e-13, so a budget lower by this much, relatively, holds exactly."""


@register
@dataclass(frozen=True)
class Balanced(Solver[BoundaryColouring]):
    """The balanced mechanism: the best worst case on the boundary, and more accurate with every hop from it.

    Closed form in the distance to the boundary, O(V + E).

    The error at distance i is e^(-i eps) (1 - delta) / (1 + e^eps) - delta (1 - e^(-i eps)) / (e^eps - 1), and 0 where
    that is negative: the published formula with the clip that it lacks. It is the one mechanism with the best worst
    case that dominates the others of them.

    Source: the lectures on privacy-utility trade-offs, homogeneous boundary, balanced mechanism.

    Parameters
    ----------
    backend : {"auto", "compiled", "scipy"}
        How distances are computed.
    """

    solves: ClassVar = BoundaryColouring
    name: ClassVar[str] = "balanced"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.OPTIMAL
    """The optimum of a balanced boundary, and of the worst case."""

    backend: str = "auto"

    def cost(self, problem: BoundaryColouring) -> float:
        """Linear in the graph."""
        return 1e-3 + 2e-7 * (problem.graph.size + len(problem.graph.indices))

    def refuse(self, problem: BoundaryColouring) -> str | None:
        """Refuse other boundaries, unless the worst case is the objective, and more than two colours."""
        if problem.k > 2:
            return f"it is a closed form for two colours, this graph has {problem.k}"
        if problem.prescribed is not None:
            return "it chooses the boundary values itself, this problem prescribes them; use propagation"
        if problem.boundary is None and problem.objective != "worst_case" and len(problem.boundary_sites):
            return "the boundary is free and accuracy is the objective: balanced is not the optimum then"
        return None

    def run(self, problem: BoundaryColouring, budget: Budget) -> Proposal:
        """Propose it, with levels that hold exactly."""
        graph = problem.graph
        sites = problem.boundary_sites
        far = (
            problem.far if self.backend == "auto" else hops(graph.indptr, graph.indices, sites, self.backend)
        )
        error = problem.guarded.kink
        side = problem.guarded.orbit(1.0 - error, error, int(far.max(initial=0)))
        mechanism = by_distance(problem, far, (side, side))
        kind = "minimax" if problem.boundary is None else "envelope"
        dual = {"kind": kind if len(problem.boundary_sites) else "trivial"}
        stats = {"farthest": int(far.max(initial=-1)), "levels": len(mechanism.levels)}
        return Proposal(mechanism, problem.accuracy(mechanism), dual, stats=stats)


def by_distance(problem: BoundaryColouring, far: Ints, sides: tuple[Pair, Pair]) -> Colouring:
    """The mechanism with the accuracies and errors of each colour by distance to the boundary.

    The last ones hold for all beyond; vertices that reach no boundary (distance -1) are answered truthfully.
    """
    if problem.k == 1:
        return problem.colouring([[1.0]], np.zeros(len(far), dtype=np.int32))
    first, second = (np.stack(side, axis=1) for side in sides)
    rows = np.concatenate([first, second[:, ::-1], [[1.0, 0.0], [0.0, 1.0]]])
    ends, own = np.array([len(first), len(second)]), problem.graph.codes
    level = np.minimum(far, ends[own] - 1) + np.array([0, len(first)])[own]
    return problem.colouring(rows, np.where(far < 0, ends.sum() + own, level))


@register
@dataclass(frozen=True)
class Line(Solver[BoundaryColouring]):
    """Equal values on each boundary: the optimum of a line, pulled back along the distance to the boundary.

    The line recurrence in closed form, with the clips that the published one lacks.

    From a boundary value the first steps multiply by e^epsilon and the others act on the complement. The published
    switch tau is taken at least as -1, else it points beyond the boundary, errors are at least 0, and epsilon = 0 has a
    form of its own. The distance to the boundary maps the graph onto a line, and accuracy carries over.

    Source: the lectures on privacy-utility trade-offs, optimal mechanism on the (n_B, n_R)-line and its pullback.
    """

    solves: ClassVar = BoundaryColouring
    name: ClassVar[str] = "line"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.OPTIMAL
    """The unique optimum, or a proof that there is none."""

    def cost(self, problem: BoundaryColouring) -> float:
        """Linear in the graph."""
        return 1e-3 + 3e-7 * (problem.graph.size + len(problem.graph.indices))

    def refuse(self, problem: BoundaryColouring) -> str | None:
        """Refuse boundaries that are not one number a colour, and more than two colours."""
        if problem.k != 2:
            return f"it is a recurrence for two colours, this graph has {problem.k}"
        if problem.boundary != "balanced" and not isinstance(problem.boundary, tuple):
            return "it needs one value for the boundary of each colour; use propagation for others"
        return None

    def run(self, problem: BoundaryColouring, budget: Budget) -> Proposal:
        """Propose the optimum, or the edge whose ends contradict each other."""
        one = step(problem.epsilon, problem.delta, ROOM)
        witness = _contradiction(problem)
        if witness is not None:
            return Proposal(infeasible=witness)
        far = problem.far
        i = np.arange(int(far.max(initial=0)) + 1)
        first, second = (
            one.power(np.full(len(i), right), np.full(len(i), wrong), i)
            for right, wrong in _ends(problem, one)
        )
        mechanism = by_distance(problem, far, (first, second))
        return Proposal(mechanism, problem.accuracy(mechanism), {"kind": "envelope"})


def _ends(problem: BoundaryColouring, one: Step) -> tuple[tuple[float, float], tuple[float, float]]:
    """Accuracy and error on both boundaries, the second lowered to what the budget with room allows."""
    if not isinstance(problem.boundary, tuple):
        ends = 1.0 - one.kink, one.kink
        return ends, ends
    first, second = end_pairs(problem.boundary, one)
    most = end_pairs((first[0], None), one)[1]
    return first, second if second[1] >= most[1] else most


def _contradiction(problem: BoundaryColouring) -> dict[str, float | int] | None:
    """The ends of a two-coloured edge whose prescribed values are too far apart."""
    edges = problem.graph.two_coloured_edges()
    if not isinstance(problem.boundary, tuple) or not len(edges):
        return None
    first, second = end_pairs(problem.boundary, problem.step)
    p, low = np.array([first[0], second[1]]), np.array([first[1], second[0]])
    most = problem.step.up(p[::-1].copy(), low[::-1].copy())[0]
    over = p - most - room_of(np.stack([p, low], axis=1), problem.step)[:, 0]
    if over.max() <= 0:
        return None
    u, v = edges[0].tolist()
    ends = (u, v) if problem.graph.codes[u] == 0 else (v, u)
    target = int(np.argmax(over))
    return {"source": ends[1 - target], "target": ends[target], "colour": 0}


ROUNDING = 1e-12
MAX_EPSILON = 236.0
"""Beyond it e^(3 epsilon), which the published switch uses, is no float."""
MOST_DISTANCES = 10_000


@register
@dataclass(frozen=True)
class LinePublished(Solver[BoundaryColouring]):
    """The published formulas for a line, without clips: kept to show where they fail.

    Errors as printed: by R_Ini and R_Ter around tau, and by the balanced form, on the first colour.

    The balanced form is negative as soon as delta (e^(eps (i+1)) + e^(eps i) - 2) > e^eps - 1; tau <= -2 points to a
    vertex of the second colour, which the theorem does not define; epsilon = 0 divides by zero. Each is a refusal that
    says so. The second colour, which the theorem leaves out, has its optimum.

    Source: the lectures on privacy-utility trade-offs, optimal mechanism on the (n_B, n_R)-line.
    """

    solves: ClassVar = BoundaryColouring
    name: ClassVar[str] = "line-published"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BASELINE
    """Kept for comparison."""

    def cost(self, problem: BoundaryColouring) -> float:
        """Linear in the graph."""
        return 1e-3 + 1e-6 * (problem.graph.size + len(problem.graph.indices))

    def refuse(self, problem: BoundaryColouring) -> str | None:
        """Refuse other boundaries, and wherever the formulas are not defined or give no probability."""
        if problem.k != 2 or (problem.boundary != "balanced" and not isinstance(problem.boundary, tuple)):
            return "it is written for two colours with one value for the boundary of each"
        if not 0 < problem.epsilon <= MAX_EPSILON:
            return f"the published formulas need 0 < epsilon <= {MAX_EPSILON:g}, not {problem.epsilon:g}"
        far = problem.far
        for colour in (0, 1):
            depth = int(far[problem.graph.codes == colour].max(initial=-1))
            for i in range(depth + 1):
                if i > MOST_DISTANCES:
                    return f"it writes the formulas out for {MOST_DISTANCES} distances, this graph has {depth}: use balanced or shift"
                try:
                    error = _error(problem, colour, i)
                except ArithmeticError as cause:
                    return f"the published formula breaks down at distance {i}: {cause}"
                if not -ROUNDING <= error <= 1 + ROUNDING:
                    return f"the published formula gives the probability {error:.6g} at distance {i}"
        return None

    def run(self, problem: BoundaryColouring, budget: Budget) -> Proposal:
        """Propose what the formulas say."""
        graph = problem.graph
        far = problem.far
        errors = []
        for colour in (0, 1):
            depth = int(far[graph.codes == colour].max(initial=0))
            table = np.array([_error(problem, colour, i) for i in range(depth + 1)])
            errors.append(np.clip(table, 0.0, 1.0))
        first, second = ((1.0 - wrong, wrong) for wrong in errors)
        return Proposal(by_distance(problem, far, (first, second)))


def _error(problem: BoundaryColouring, colour: int, i: int) -> float:
    """The published error at distance i from the boundary."""
    epsilon, delta = problem.epsilon, problem.delta
    growth = math.exp(epsilon)
    if not isinstance(problem.boundary, tuple):
        fall = math.exp(-i * epsilon)
        return fall * (1 - delta) / (1 + growth) - delta * (1 - fall) / (growth - 1)
    right, start = end_pairs(problem.boundary, problem.step)[colour]
    if colour == 1:
        return float(problem.step.power(np.array([right]), np.array([start]), np.array([i]))[1][0])
    switch = published_switch(start, epsilon, delta)
    if switch < -1:
        raise ArithmeticError(f"tau = {switch} points to a vertex beyond the boundary")
    if i <= switch + 1:
        return _initial(start, i, epsilon, delta)
    j, base = i - switch - 1, _initial(start, switch + 1, epsilon, delta)
    fall = math.exp(-j * epsilon)
    return base * fall - delta * (1 - fall) / (growth - 1)


def published_switch(error: float, epsilon: float, delta: float) -> int:
    """The published tau, from the error on the boundary.

    Examples
    --------
    >>> published_switch(0.1, math.log(2), 0.0)
    -2
    """
    growth = math.exp(epsilon)
    base = (1 - error) * (math.exp(3 * epsilon) - growth) + delta * (math.exp(2 * epsilon) + growth)
    if base == 0:
        raise ArithmeticError("tau is infinite")
    return math.ceil(math.log((growth + 2 * delta - 1) / base) / epsilon)


def _initial(error: float, i: int, epsilon: float, delta: float) -> float:
    rise = math.exp(i * epsilon)
    return 1 - rise * (1 - error) - delta * (rise - 1) / math.expm1(epsilon)

"""The published formulas for a line, without clips: kept to show where they fail."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.measures.colouring.hops import hops
from privopt.problems.boundary_colouring.boundary import end_pairs
from privopt.problems.boundary_colouring.problem import BoundaryColouring

ROUNDING = 1e-12
MAX_EPSILON = 236.0
"""Beyond it e^(3 epsilon), which the published switch uses, is no float."""


@register
@dataclass(frozen=True)
class LinePublished(Solver[BoundaryColouring]):
    """Errors as printed: by R_Ini and R_Ter around tau, and by the balanced form, on the first colour.

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
        far = hops(problem.graph.indptr, problem.graph.indices, problem.boundary_sites)
        for colour in (0, 1):
            depth = int(far[problem.graph.codes == colour].max(initial=-1))
            for i in range(depth + 1):
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
        far = hops(graph.indptr, graph.indices, problem.boundary_sites)
        wrong = np.zeros(graph.size)
        for colour in (0, 1):
            own = (graph.codes == colour) & (far >= 0)
            depth = int(far[own].max(initial=-1))
            table = np.array([_error(problem, colour, i) for i in range(depth + 1)])
            wrong[own] = np.clip(table, 0.0, 1.0)[far[own]]
        first = graph.codes == 0
        return Proposal(
            problem.two_colours(np.where(first, 1 - wrong, wrong), np.where(first, wrong, 1 - wrong))
        )


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

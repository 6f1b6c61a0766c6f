"""The best weighted accuracy of two colours by one minimum cut over levels: a check of the linear program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.measures.colouring.hops import reached
from privopt.problems.boundary_colouring.problem import BoundaryColouring
from privopt.solvers.boundary_colouring._levels import Levels, levels
from privopt.solvers.boundary_colouring._reduced import polished, reduced, refuse_choice, signed
from privopt.solvers.boundary_colouring.forest import table_cells

CAPACITY = 1 << 28
"""Largest sum of capacities in a pass: SciPy's flows are 32-bit integers."""
PASSES = 4
MAX_CELLS = 2_000_000
"""Vertices times levels."""
NEGLIGIBLE = 1e-15
"""Flow left over that is not worth another pass, relative to all weight."""


def best_closure(edges: Ints, gains: Floats, table: Levels) -> Ints:
    """The level of each vertex in a closure of largest weight, sum_v gains_v p_v.

    Capacities are rounded down to integers; what the flow leaves of them is rounded again at the scale of what can still
    flow, so that a few passes find the flow to rounding.
    """
    n, size = len(gains), len(table.p) - 1
    weights = (gains[:, None] * table.gaps[None, :]).ravel()
    arcs = _implications(edges, table, n)
    tails, heads, capacity = _network(weights, arcs)
    nodes, total = len(weights) + 2, float(np.abs(weights).sum())
    left = float(np.maximum(weights, 0.0).sum())
    for _ in range(PASSES):
        if left <= NEGLIGIBLE * total:
            break
        unit = left / CAPACITY
        flow = _flow(tails, heads, np.minimum(capacity, 2 * left), unit, nodes)
        capacity = np.maximum(capacity - flow, 0.0)
        left = min(left, unit * 4 * len(tails))
    free = capacity > NEGLIGIBLE * total / len(weights)
    chosen = reached(nodes, tails[free], heads[free], np.arange(nodes) == nodes - 2)
    return np.asarray(chosen[: len(weights)].reshape(n, size).sum(axis=1))


def _implications(edges: Ints, table: Levels, n: int) -> Ints:
    """Pairs (node, node that it needs); node v (l - 1) + j - 1 says that v is at level j or above."""
    size = len(table.p) - 1
    ends = np.concatenate([edges, edges[:, ::-1]])
    j = np.arange(1, size + 1)
    need = table.down[1:]
    kept = need >= 1
    across = [
        (ends[:, [0]] * size + (j[kept] - 1)[None, :]).ravel(),
        (ends[:, [1]] * size + (need[kept] - 1)[None, :]).ravel(),
    ]
    inside = (np.arange(n)[:, None] * size + np.arange(1, size)[None, :]).ravel()
    return np.stack([np.r_[across[0], inside], np.r_[across[1], inside - 1]], axis=1)


def _network(weights: Floats, arcs: Ints) -> tuple[Ints, Ints, Floats]:
    """Arcs with their reverses, in pairs: source to gains, losses to sink, needs without limit."""
    source, sink = len(weights), len(weights) + 1
    up, down = np.flatnonzero(weights > 0), np.flatnonzero(weights < 0)
    tails = np.concatenate([np.full(len(up), source), down, arcs[:, 0]])
    heads = np.concatenate([up, np.full(len(down), sink), arcs[:, 1]])
    limit = float(np.abs(weights).sum())
    capacity = np.concatenate([weights[up], -weights[down], np.full(len(arcs), limit)])
    both = np.concatenate([tails, heads]), np.concatenate([heads, tails])
    return both[0], both[1], np.concatenate([capacity, np.zeros(len(tails))])


def _flow(tails: Ints, heads: Ints, capacity: Floats, unit: float, nodes: int) -> Floats:
    """A maximum flow at capacities in whole units; what goes one way comes off and is added to the other."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import maximum_flow

    whole = np.floor(capacity / unit).astype(np.int32)
    table = coo_array((whole, (tails, heads)), shape=(nodes, nodes)).tocsr()
    flow: Any = maximum_flow(table, nodes - 2, nodes - 1).flow
    return np.asarray(flow[tails, heads]).ravel() * unit


@register
@dataclass(frozen=True)
class MinimumCut(Solver[BoundaryColouring]):
    """Upper sets of vertices, one a level, nested and closed under privacy; a maximum-weight closure (Picard, 1976).

    It shares nothing with the linear program but the levels, and gives no bound that the problem checks.
    """

    solves: ClassVar = BoundaryColouring
    name: ClassVar[str] = "minimum-cut"
    interruptible: ClassVar[bool] = False
    guaranteed: ClassVar[Guarantee | None] = Guarantee.ORACLE
    """An oracle: exact, and slower than the linear program."""

    def cost(self, problem: BoundaryColouring) -> float:
        """Grows with vertices times levels."""
        return 0.05 + 2e-5 * table_cells(problem)

    def refuse(self, problem: BoundaryColouring) -> str | None:
        """Refuse other problems, and networks that do not fit."""
        if (sentence := refuse_choice(problem)) is not None:
            return sentence
        if (cells := table_cells(problem)) > MAX_CELLS:
            return f"its network would have {cells:.1e} nodes, more than {MAX_CELLS:.0e}"
        return None

    def run(self, problem: BoundaryColouring, budget: Budget) -> Proposal:
        """Propose the levels of the best closure."""
        small = reduced(problem)
        table = levels(problem.guarded, small.graph.size + 2)
        gains = signed(small.graph.codes, small.weights)
        level = best_closure(small.graph.edges(), gains, table)
        mechanism = polished(problem, small, (table.p[level], table.r[level]))
        return Proposal(mechanism, stats={"levels": len(table.p), "vertices": small.graph.size})

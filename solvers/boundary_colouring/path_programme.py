"""The best weighted accuracy on paths: values over levels, with a maximum over the window that a step allows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.boundary_colouring.problem import BoundaryColouring
from privopt.solvers.boundary_colouring._forest import forest
from privopt.solvers.boundary_colouring._forest_answer import refuse_forest, table_cells
from privopt.solvers.boundary_colouring._levels import Levels, levels
from privopt.solvers.boundary_colouring._reduced import polished, reduced
from privopt.solvers.boundary_colouring.programme import signed


@register
@dataclass(frozen=True)
class PathProgramme(Solver[BoundaryColouring]):
    """One pass along each path, a second one back; the textbook programme, which gives no multipliers.

    Every level is tried against all levels within a step, so that it does not rely on concavity as forest does.
    """

    solves: ClassVar = BoundaryColouring
    name: ClassVar[str] = "path"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE
    """Feasible: exact, but without a proof; forest brings one."""

    def cost(self, problem: BoundaryColouring) -> float:
        """Vertices times levels."""
        return 0.02 + 2e-5 * reduced(problem).graph.size + 1e-8 * table_cells(problem)

    def refuse(self, problem: BoundaryColouring) -> str | None:
        """Refuse other questions, branches and cycles, and tables that do not fit."""
        if (sentence := refuse_forest(problem)) is not None:
            return sentence
        if int(np.diff(reduced(problem).graph.indptr).max(initial=0)) > 2:
            return (
                "it needs paths, this graph has a vertex with more than two neighbours; forest takes branches"
            )
        return None

    def run(self, problem: BoundaryColouring, budget: Budget) -> Proposal:
        """Propose the optimum, or equal chances if the time is up."""
        given = reduced(problem)
        table = levels(problem.guarded, given.graph.size + 2)
        gains = signed(given.graph.codes, given.weights)
        found = best_on_paths(forest(given.graph.indptr, given.graph.indices).parent, gains, table, budget)
        if found is None:
            return Proposal(problem.anchor(), stats={"stop": "out of time"})
        mechanism = polished(problem, given, (table.p[found], table.r[found]))
        return Proposal(mechanism, stats={"levels": len(table.p), "vertices": given.graph.size})


def best_on_paths(parent: Ints, gains: Floats, table: Levels, budget: Budget) -> Ints | None:
    """The best level of each vertex; paths hang from their ends or from a vertex between them.

    A vertex with two children has their values added, so paths may be rooted anywhere.
    """
    n, size = len(gains), len(table.p)
    order = _leaves_first(parent)
    value = gains[:, None] * table.p[None, :]
    choice = np.zeros((n, size), dtype=np.int16)
    width = int((table.up - table.down).max(initial=0)) + 1
    for done, v in enumerate(order.tolist()):
        if parent[v] < 0:
            continue
        if done % 1024 == 0 and budget.remaining == 0:
            return None
        best, choice[v] = _window(value[v], table, width)
        value[parent[v]] += best
    level = np.zeros(n, dtype=np.int64)
    for v in order[::-1].tolist():
        above = int(parent[v])
        level[v] = (
            int(np.argmax(value[v])) if above < 0 else table.down[level[above]] + choice[v, level[above]]
        )
    return level


def _window(value: Floats, table: Levels, width: int) -> tuple[Floats, Ints]:
    """The largest value within down .. up of each level, and its place in that window."""
    best, place = value[table.down], np.zeros(len(value), dtype=np.int64)
    for offset in range(1, width):
        at = table.down + offset
        better = (at <= table.up) & (value[np.minimum(at, len(value) - 1)] > best)
        best = np.where(better, value[np.minimum(at, len(value) - 1)], best)
        place = np.where(better, offset, place)
    return best, place


def _leaves_first(parent: Ints) -> Ints:
    """Every vertex before its parent."""
    depth = np.zeros(len(parent), dtype=np.int64)
    jump = parent.copy()
    depth[parent >= 0] = 1
    while (jump >= 0).any():
        held = jump >= 0
        depth[held] += depth[jump[held]]
        jump[held] = jump[jump[held]]
    return np.asarray(np.argsort(-depth, kind="stable"))

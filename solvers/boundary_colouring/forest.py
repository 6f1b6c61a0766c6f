"""Exact programmes on forests: concave values over levels from the leaves up, answers and multipliers down.

Below a vertex v the best value as a function of p_v is concave and piecewise linear with its bends at levels. It is
kept as differences between neighbouring levels. Seen from the parent, max over L(p) <= q <= U(p), the rising part of a
child's function moves down by a step and the falling part moves up, so nothing is ever subtracted and the tails keep
their relative accuracy. The slopes at the levels that are chosen give the multipliers of the linear programme.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats, Ints
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.measures.colouring.hops import components, hops
from privopt.measures.colouring.steps import LARGEST, Step
from privopt.problems.boundary_colouring.problem import BoundaryColouring
from privopt.solvers.boundary_colouring._levels import MAX_LEVELS, Levels, level_count, levels
from privopt.solvers.boundary_colouring._reduced import (
    Reduced,
    edge_table,
    lifted,
    linear_dual,
    polished,
    reduced,
    refuse_choice,
    signed,
)

WHOLE = 1e-6
"""What counts as rounding in the place of a value among levels."""
BEND = 1e-12
"""And at a bend, relatively."""
BACK = 1.3
"""How many times as long as the values of all vertices take, the way back included."""
PART = 4_000_000
"""Cells between two looks at the clock."""


@dataclass(frozen=True, eq=False)
class Forest:
    """Vertices in layers from the roots down.

    Parameters
    ----------
    parent : int array, shape (n,)
        -1 at roots.
    layers : list of int arrays
        Vertices by depth.
    """

    parent: Ints
    layers: list[Ints]


@dataclass(frozen=True, eq=False)
class Answer:
    """The level of each vertex, and the multipliers of each edge (v, parent of v), shape (n, 4), zero at roots.

    The four belong to Pr[M(v)=c] <= e^eps Pr[M(parent)=c] + delta for both colours, then with the two exchanged.
    """

    level: Ints
    multipliers: Floats


def forest(indptr: NDArray[Any], indices: NDArray[Any]) -> Forest:
    """Layers of a graph without cycles; each component is rooted at its first vertex."""
    n = len(indptr) - 1
    roots = np.unique(components(indptr, indices)[1], return_index=True)[1]
    depth = hops(indptr, indices, roots)
    parent = np.full(n, -1, dtype=np.int64)
    ends = np.repeat(np.arange(n), np.diff(indptr))
    above = depth[indices] < depth[ends]
    parent[ends[above]] = indices[above]
    order = np.argsort(depth, kind="stable")
    cuts = np.cumsum(np.bincount(depth)) if n else np.zeros(0, dtype=np.int64)
    return Forest(parent, np.split(order, cuts[:-1]) if n else [])


def best_on_forest(
    rooted: Forest, gains: Floats, table: Levels, one: Step, budget: Budget | None = None
) -> Answer | None:
    """The best level of every vertex for gains . p, with multipliers that prove it; None if the time is up."""
    allowed = Budget() if budget is None else budget
    differences = _values(rooted, gains, table, one, allowed)
    if differences is None:
        return None
    peak = (differences > 0).sum(axis=1)
    return _descend(rooted, gains, table, one, (differences, peak), allowed)


def _values(rooted: Forest, gains: Floats, table: Levels, one: Step, budget: Budget) -> Floats | None:
    """Differences of every vertex's function, (n, l - 1)."""
    differences = gains[:, None] * table.gaps[None, :]
    rise, fall = _moves(table, one)
    begun, done = budget.remaining, 0
    for layer in _parts(reversed(rooted.layers[1:]), len(table.p)):
        left = budget.remaining
        if left == 0 or (left < begun / 2 and BACK * (begun - left) * len(gains) > begun * max(done, 1)):
            return None  # it would not end in time: what is left is for others
        done += len(layer)
        below = differences[layer]
        seen = (rise @ np.maximum(below, 0.0).T + fall @ np.minimum(below, 0.0).T).T
        np.add.at(differences, rooted.parent[layer], seen)
    return differences


def _parts(layers: Iterable[Ints], width: int) -> Iterator[Ints]:
    """Layers, large ones in parts of some cells."""
    size = max(1, PART // width)
    for layer in layers:
        for begin in range(0, len(layer), size):
            yield layer[begin : begin + size]


def _moves(table: Levels, one: Step) -> tuple[Any, Any]:
    """What part of a child's difference j goes to its parent's difference i.

    Between levels i - 1 and i of the parent U runs over what is listed in row i of the first table, and L in the second.
    """
    rise = _positions(table.p, table.r, *one.up(table.p, table.r))
    fall = len(rise) - 1 - rise[::-1]
    return _overlaps(rise), _overlaps(fall)


def _positions(p: Floats, r: Floats, value: Floats, rest: Floats) -> Floats:
    """Where values lie among levels, in units of levels; whole numbers where they are levels but for rounding."""
    low = value <= 0.5
    by_value = np.interp(value, p, np.arange(len(p)))
    by_rest = len(p) - 1 - np.interp(rest, r[::-1], np.arange(len(p)))
    places = np.where(low, by_value, by_rest)
    whole = np.rint(places)
    return np.where(np.abs(places - whole) < WHOLE, whole, places)


def _overlaps(images: Floats) -> Any:
    """Rows of how much of each unit interval lies between neighbouring images."""
    from scipy.sparse import csr_array

    size = len(images) - 1
    rows, columns, parts = [], [], []
    for i, (begin, end) in enumerate(zip(images[:-1].tolist(), images[1:].tolist(), strict=True)):
        for j in range(math.floor(begin), math.ceil(end)):
            rows.append(i)
            columns.append(j)
            parts.append(min(end, j + 1) - max(begin, j))
    return csr_array((parts, (rows, columns)), shape=(size, size))


def _descend(
    rooted: Forest, gains: Floats, table: Levels, one: Step, values: tuple[Floats, Ints], budget: Budget
) -> Answer | None:
    differences, peak = values
    n = len(gains)
    level, need = peak.copy(), np.zeros(n)
    multipliers = np.zeros((n, 4))
    rise, fall = _moves(table, one)
    for layer in rooted.layers[1:]:
        if budget.remaining == 0:
            return None
        parents = rooted.parent[layer]
        at = level[parents]
        level[layer] = np.clip(peak[layer], table.down[at], table.up[at])
        below = differences[layer]
        seen = (rise @ np.maximum(below, 0.0).T + fall @ np.minimum(below, 0.0).T).T
        share = _share(parents, (need - gains)[parents], _slopes(seen, at, table), n)
        share = np.where(at == 0, 0.0, np.where(at == len(table.p) - 1, 1.0, share))
        rows, need[layer] = _edge(share, _slopes(below, level[layer], table), (level[layer], at), table, one)
        multipliers[layer] = rows
    return Answer(level, multipliers)


def _slopes(differences: Floats, at: Ints, table: Levels) -> tuple[Floats, Floats]:
    """Slopes left and right of a level of each row; beyond the ends the last one stands for any."""
    slopes = differences / table.gaps
    rows = np.arange(len(at))
    return slopes[rows, np.maximum(at - 1, 0)], slopes[rows, np.minimum(at, slopes.shape[1] - 1)]


def _share(parents: Ints, target: Floats, slopes: tuple[Floats, Floats], n: int) -> Floats:
    """How far from right to left slope each child's part lies, one number for all children of a parent."""
    left, right = slopes
    low = np.bincount(parents, weights=right, minlength=n)[parents]
    width = np.bincount(parents, weights=left - right, minlength=n)[parents]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(width > 0, (target - low) / width, 0.5)
    return np.clip(share, 0.0, 1.0)


def _edge(
    share: Floats, slopes: tuple[Floats, Floats], ends: tuple[Ints, Ints], table: Levels, one: Step
) -> tuple[Floats, Floats]:
    """Multipliers of the edges, and the slope that each child must answer for.

    ``ends`` are the levels of child and parent. A part ``share`` belongs to the piece of U or L left of the parent's
    value, the rest to the right one; away from the bends both are the same piece.
    """
    child, at = ends
    p, r = table.p[at], table.r[at]
    rows, need = np.zeros((len(at), 4)), np.zeros(len(at))
    for slope, part, side in ((slopes[0], share, -1), (slopes[1], 1.0 - share, 1)):
        held = (child == table.up[at]) & _beyond(r, one.delta, -side)
        freed = (child == table.down[at]) & _beyond(p, one.delta, side)
        gain, loss = held * part * np.maximum(slope, 0.0), freed * part * np.maximum(-slope, 0.0)
        steep, late = ~_beyond(p, one.kink, side), ~_beyond(r, one.kink, -side)
        rows[:, 0] += steep * gain
        rows[:, 3] += ~steep * gain * one.decay
        rows[:, 1] += late * loss
        rows[:, 2] += ~late * loss * one.decay
        need += gain - loss
    return rows, need


def _beyond(x: Floats, bend: float, side: int) -> NDArray[np.bool_]:
    """Whether x, moved a little to a side, lies beyond a bend."""
    return (x > bend * (1 + BEND)) | ((x >= bend * (1 - BEND)) & (side > 0))


MAX_CELLS = 40_000_000
"""Vertices times levels: 320 MB."""


def table_cells(problem: BoundaryColouring) -> int:
    """Vertices times levels of the smaller graph."""
    small = reduced(problem)
    return small.graph.size * 2 * (level_count(problem.guarded, small.graph.size + 2) + 2)


def refuse_forest(problem: BoundaryColouring) -> str | None:
    """Why a problem is not for a programme on forests."""
    if (sentence := refuse_choice(problem)) is not None:
        return sentence
    if problem.epsilon > LARGEST:
        return f"e to the epsilon of {problem.epsilon:g} nats overflows in its multipliers"
    small = reduced(problem)
    cycles = (
        f"it needs a graph without cycles, this one has {small.graph.edge_count} edges on {small.graph.size}"
    )
    if small.graph.edge_count >= max(small.graph.size, 1):
        return cycles
    count = level_count(problem.guarded, small.graph.size + 2)
    if count > MAX_LEVELS or table_cells(problem) > MAX_CELLS:
        return f"its table would have {table_cells(problem):.1e} cells, more than {MAX_CELLS:.0e}"
    return None if small.is_forest else cycles


def proposal(problem: BoundaryColouring, budget: Budget) -> Proposal:
    """The optimum on a forest, with its multipliers; equal chances if the time is up."""
    small = reduced(problem)
    table = levels(problem.guarded, small.graph.size + 2)
    rooted = forest(small.graph.indptr, small.graph.indices)
    gains = signed(small.graph.codes, small.weights)
    answer = best_on_forest(rooted, gains, table, problem.guarded, budget)
    if answer is None:
        return Proposal(problem.anchor(), stats={"stop": "out of time"})
    mechanism = polished(problem, small, (table.p[answer.level], table.r[answer.level]))
    value = float(small.weights[small.graph.codes != 0].sum() + gains @ table.p[answer.level])
    dual = linear_dual(lifted(small, problem.graph, _by_arc(small, rooted, answer)))
    return Proposal(mechanism, value, dual, stats={"levels": len(table.p), "vertices": small.graph.size})


def _by_arc(
    small: Reduced, rooted: Forest, answer: Answer
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    below = np.flatnonzero(rooted.parent >= 0)
    edges = np.stack([below, rooted.parent[below]], axis=1)
    return edge_table(small.graph, edges, answer.multipliers[below])


@register
@dataclass(frozen=True)
class ForestProgramme(Solver[BoundaryColouring]):
    """The best weighted accuracy on graphs without cycles: a programme over levels, exact and with a proof.

    Concave values over the levels, from the leaves to the roots; a layer of vertices at a time.

    Also for graphs whose quotient by colour refinement has no cycle.
    """

    solves: ClassVar = BoundaryColouring
    name: ClassVar[str] = "forest"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.OPTIMAL
    """Optimal."""

    def cost(self, problem: BoundaryColouring) -> float:
        """Vertices times levels."""
        return 0.03 + 1.2e-7 * table_cells(problem) + 2e-6 * reduced(problem).graph.size

    def refuse(self, problem: BoundaryColouring) -> str | None:
        """Refuse other problems, graphs with cycles, and tables that do not fit."""
        return refuse_forest(problem)

    def run(self, problem: BoundaryColouring, budget: Budget) -> Proposal:
        """Propose the optimum with its multipliers."""
        return proposal(problem, budget)


@register
@dataclass(frozen=True)
class PathProgramme(Solver[BoundaryColouring]):
    """The best weighted accuracy on paths: values over levels, with a maximum over the window that a step allows.

    One pass along each path, a second one back; the textbook programme, which gives no multipliers.

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
        """Refuse other problems, branches and cycles, and tables that do not fit."""
        if (sentence := refuse_forest(problem)) is not None:
            return sentence
        if int(np.diff(reduced(problem).graph.indptr).max(initial=0)) > 2:
            return (
                "it needs paths, this graph has a vertex with more than two neighbours; forest takes branches"
            )
        return None

    def run(self, problem: BoundaryColouring, budget: Budget) -> Proposal:
        """Propose the optimum, or equal chances if the time is up."""
        small = reduced(problem)
        table = levels(problem.guarded, small.graph.size + 2)
        gains = signed(small.graph.codes, small.weights)
        level = best_on_paths(forest(small.graph.indptr, small.graph.indices).parent, gains, table, budget)
        if level is None:
            return Proposal(problem.anchor(), stats={"stop": "out of time"})
        mechanism = polished(problem, small, (table.p[level], table.r[level]))
        return Proposal(mechanism, stats={"levels": len(table.p), "vertices": small.graph.size})


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

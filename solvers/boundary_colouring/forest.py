"""Exact programs on forests: concave values over levels from the leaves up, answers and multipliers down.

Below a vertex v the best value as a function of p_v is concave and piecewise linear with its bends at levels. It is
kept as differences between neighbouring levels. Seen from the parent, max over L(p) <= q <= U(p), the rising part of a
child's function moves down by a step and the falling part moves up, so nothing is ever subtracted and the tails keep
their relative accuracy. The slopes at the levels that are chosen give the multipliers of the linear program.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats, Ints
from privopt.core.balls import leading
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
    row_entries,
    signed,
)

BACK = 1.3
"""How many times as long as the values of all vertices take, the way back included."""
PART = 4_000_000
"""Cells between two looks at the clock."""
LARGE = 1e250
"""Slopes from which sums of leading parts could overflow."""


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


def forest(indptr: NDArray[Any], indices: NDArray[Any], first: NDArray[np.bool_] | None = None) -> Forest:
    """Layers of a graph without cycles; each component is rooted at its first vertex, of those marked where there are any."""
    n = len(indptr) - 1
    component = components(indptr, indices)[1]
    order = np.arange(n) if first is None else np.argsort(~first, kind="stable")
    roots = order[np.unique(component[order], return_index=True)[1]]
    depth = hops(indptr, indices, roots)
    parent = np.full(n, -1, dtype=np.int64)
    ends = np.repeat(np.arange(n), np.diff(indptr))
    above = depth[indices] < depth[ends]
    parent[ends[above]] = indices[above]
    order = np.argsort(depth, kind="stable")
    cuts = np.cumsum(np.bincount(depth)) if n else np.zeros(0, dtype=np.int64)
    return Forest(parent, np.split(order, cuts[:-1]) if n else [])


@lru_cache(maxsize=4)
def rooted_forest(small: Reduced) -> Forest:
    """Layers of the graph of a problem, rooted at its boundary where that is met."""
    return forest(small.graph.indptr, small.graph.indices, small.graph.boundary())


@dataclass(frozen=True, eq=False)
class _Moves:
    """What part of a child's difference j goes to its parent's difference i: of those that rise, and of those that fall.

    ``rising`` and ``falling`` are slopes that the parent of a leaf sees where the leaf gains 1, or loses it.
    """

    rise: Any
    fall: Any
    rising: Floats
    falling: Floats

    @classmethod
    def of(cls, table: Levels) -> _Moves:
        """Those of some levels."""
        rise, fall = _moves(table)
        return cls(rise, fall, rise @ table.gaps / table.gaps, fall @ table.gaps / table.gaps)

    def passed(self, whole: Floats, add: Any) -> Floats:
        """What vertices are worth one edge up: what rises follows U, what falls follows L; added up by ``add``."""
        rising, falling = np.maximum(whole, 0.0), np.minimum(whole, 0.0)
        if add is not None:
            rising, falling = add @ rising, add @ falling
        return np.asarray((self.rise @ rising.T + self.fall @ falling.T).T)

    def seen(self, whole: Floats, places: Ints) -> Floats:
        """The same of one difference of each row."""
        rises = _entries(self.rise, places, np.maximum(whole, 0.0))
        return rises + _entries(self.fall, places, np.minimum(whole, 0.0))


def _entries(table: Any, rows: Ints, values: Floats) -> Floats:
    """The scalar product of row ``rows[i]`` of a sparse table with row i of some values."""
    own, entry = row_entries(table.indptr, rows)
    terms = table.data[entry] * values[own, table.indices[entry]]
    return np.asarray(np.bincount(own, weights=terms, minlength=len(rows)), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class _Worth:
    """Differences of what lies below every vertex, as a function of its own value.

    Parameters
    ----------
    slot : int array, shape (n,)
        The row of each vertex, -1 at leaves: nothing is below them.
    rows : array (inner vertices, l - 1)
    """

    slot: Ints
    rows: Floats


def best_on_forest(
    rooted: Forest, gains: Floats, table: Levels, one: Step, budget: Budget | None = None
) -> Answer | None:
    """The best level of every vertex for gains . p, with multipliers that prove it; None if the time is up."""
    allowed = Budget() if budget is None else budget
    moves = _Moves.of(table)
    worth = _values(rooted, gains, table, moves, allowed)
    return None if worth is None else _descend(rooted, gains, (table, moves), one, worth, allowed)


def _values(rooted: Forest, gains: Floats, table: Levels, moves: _Moves, budget: Budget) -> _Worth | None:
    """From the leaves up; None if it would not end in time."""
    begun, done = budget.remaining, 0
    inner = np.zeros(len(gains), dtype=bool)
    inner[rooted.parent[rooted.parent >= 0]] = True
    slot = np.where(inner, np.cumsum(inner) - 1, -1)
    rows, count = _of_leaves(rooted.parent, slot, gains, table, moves), int(inner.sum())
    layers = (layer[inner[layer]] for layer in reversed(rooted.layers[1:]))
    for layer in _parts(layers, len(table.p)):
        left = budget.remaining
        if left == 0 or (left < begun / 2 and BACK * (begun - left) * count > begun * max(done, 1)):
            return None  # it would not end in time: what is left is for others
        done += len(layer)
        parents, add = _siblings(rooted.parent[layer])
        rows[slot[parents]] += moves.passed(rows[slot[layer]] + gains[layer, None] * table.gaps, add)
    return _Worth(slot, rows)


def _of_leaves(parent: Ints, slot: Ints, gains: Floats, table: Levels, moves: _Moves) -> Floats:
    """What the leaves below each inner vertex are worth to it: as many rows as there are inner vertices."""
    leaves = np.flatnonzero((slot < 0) & (parent >= 0))
    count = int(slot.max(initial=-1)) + 1
    rows = np.empty((count, table.top))
    own, above = gains[leaves], slot[parent[leaves]]
    won, lost = (_sums(above, part, count) for part in (np.maximum(own, 0.0), np.minimum(own, 0.0)))
    rising, falling = moves.rising * table.gaps, moves.falling * table.gaps
    for part in _parts([np.arange(count)], len(table.p)):
        rows[part] = won[part, None] * rising + lost[part, None] * falling
    return rows


def _sums(places: Ints, values: Floats, count: int) -> Floats:
    """Sums by place, as exact as one rounding of each: of millions of equal terms one after the other the last digits are lost."""
    part = leading(values, len(values)) if float(np.abs(values).max(initial=0.0)) < LARGE else values
    sums = (np.bincount(places, weights=x, minlength=count) for x in (part, values - part))
    return np.asarray(sum(sums), dtype=np.float64)


def _siblings(parents: Ints) -> tuple[Ints, Any]:
    """The parents of some vertices, each once, and the table that adds up what belongs to the children of each.

    No table where each has a parent of its own.
    """
    from scipy.sparse import csr_array

    distinct, place = np.unique(parents, return_inverse=True)
    count = len(parents)
    if len(distinct) == count:
        return parents, None
    return distinct, csr_array((np.ones(count), (place, np.arange(count))), shape=(len(distinct), count))


def _parts(layers: Iterable[Ints], width: int) -> Iterator[Ints]:
    """Layers that are not empty, large ones in parts of some cells."""
    size = max(1, PART // width)
    for layer in layers:
        for begin in range(0, len(layer), size):
            yield layer[begin : begin + size]


def _moves(table: Levels) -> tuple[Any, Any]:
    """What part of a child's difference j goes to its parent's difference i.

    Between levels i - 1 and i of the parent U runs over what is listed in row i of the first table, and L, which is U on
    complements, in the second.
    """
    from scipy.sparse import csr_array

    begin, end = table.up[:-1], table.up[1:]
    width = end - begin + 1
    rows = np.repeat(np.arange(table.top), width)
    first = np.cumsum(width) - width
    columns = np.arange(len(rows)) - np.repeat(first - begin, width)
    parts = np.ones(len(rows))
    parts[first + width - 1] = table.beyond[1:]
    parts[first] -= table.beyond[:-1]
    kept = (parts > 0) & (columns < table.top)
    rows, columns, parts = rows[kept], columns[kept], parts[kept]
    last, shape = table.top - 1, (table.top, table.top)
    rise = csr_array((parts, (rows, columns)), shape=shape)
    return rise, csr_array((parts, (last - rows, last - columns)), shape=shape)


def _descend(
    rooted: Forest,
    gains: Floats,
    tables: tuple[Levels, _Moves],
    one: Step,
    worth: _Worth,
    budget: Budget,
) -> Answer | None:
    """From the roots down: the level of each vertex, and the multipliers of the edge above it; None if the time is up."""
    n, table = len(gains), tables[0]
    level, target = np.zeros(n, dtype=np.int64), -gains
    multipliers = np.zeros((n, 4))
    for layer in rooted.layers[:1]:
        level[layer] = _read(worth, layer, gains[layer], tables, None)[0]
    for layer in rooted.layers[1:]:
        if budget.remaining == 0:
            return None
        parents, own = rooted.parent[layer], gains[layer]
        at = level[parents]
        level[layer], seen, slopes = _read(worth, layer, own, tables, at)
        parts = _shares(parents, target[parents], seen)
        for side, bound in ((1, at == 0), (0, at == table.top)):
            parts[side][bound], parts[1 - side][bound] = 1.0, 0.0
        multipliers[layer], target[layer] = _edge(parts, slopes, own, (level[layer], at), table, one)
    return Answer(level, multipliers)


Slopes: TypeAlias = tuple[Floats, Floats]
"""Left and right of a level."""


def _read(
    worth: _Worth, layer: Ints, gains: Floats, tables: tuple[Levels, _Moves], above: Ints | None
) -> tuple[Ints, Slopes, Slopes]:
    """The best level of each vertex under that of its parent, and slopes: what the parent sees at its level, and what is below.

    A leaf has nothing below it, and its parent sees its gain.
    """
    table, moves = tables
    level = np.where(gains > 0, table.top, 0)
    at = np.zeros_like(level) if above is None else above
    low, high = np.zeros_like(level), np.full_like(level, table.top)
    if above is not None:
        low, high = table.down[at], table.up[at]
    level = np.clip(level, low, high)
    sides = np.maximum(at - 1, 0), np.minimum(at, table.top - 1)
    first, second = (gains * np.where(gains > 0, moves.rising[x], moves.falling[x]) for x in sides)
    slopes = np.zeros(len(layer)), np.zeros(len(layer))
    slots = worth.slot[layer]
    for part in _parts([np.flatnonzero(slots >= 0)], len(table.p)):
        below = worth.rows[slots[part]]
        whole = below + gains[part, None] * table.gaps
        level[part] = np.clip((whole > 0).sum(axis=1), low[part], high[part])
        for seen, side in ((first, sides[0]), (second, sides[1])):
            seen[part] = moves.seen(whole, side[part]) / table.gaps[side[part]]
        slopes[0][part], slopes[1][part] = _slopes(below, level[part], table)
    return level, (first, second), slopes


def _slopes(differences: Floats, at: Ints, table: Levels) -> Slopes:
    """Slopes left and right of a level of each row; beyond the ends the last one stands for any."""
    rows, left, right = np.arange(len(at)), np.maximum(at - 1, 0), np.minimum(at, table.top - 1)
    return differences[rows, left] / table.gaps[left], differences[rows, right] / table.gaps[right]


def _shares(parents: Ints, target: Floats, slopes: Slopes) -> tuple[Floats, Floats]:
    """The parts of left and right slope that add to the target, the same for all children of a parent.

    They add to 1, but each is kept by itself, since one of them may be next to nothing.
    """
    distinct, place = np.unique(parents, return_inverse=True)
    left, right = (_sums(place, side, len(distinct))[place] for side in slopes)
    width = left - right
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second = (np.where(width > 0, x / width, 0.5) for x in (target - right, left - target))
    return np.clip(first, 0.0, 1.0), np.clip(second, 0.0, 1.0)


def _edge(
    parts: tuple[Floats, Floats],
    slopes: tuple[Floats, Floats],
    gains: Floats,
    ends: tuple[Ints, Ints],
    table: Levels,
    one: Step,
) -> tuple[Floats, Floats]:
    """Multipliers of the edges, and the slope that each child's own children must answer for.

    ``ends`` are the levels of child and parent. The first part belongs to the piece of U or L left of the parent's value,
    the second to the right one; away from the bends both are the same piece. A child that follows its parent leaves its
    gain to the edge; otherwise those below it must balance that.
    """
    child, at = ends
    rows, target = np.zeros((len(at), 4)), np.zeros(len(at))
    for slope, part, right in ((slopes[0], parts[0], 0), (slopes[1], parts[1], 1)):
        begin, end = at + (right - 1), at + right  # the levels between which that piece lies
        whole = gains + slope
        held = (child == table.up[at]) & (end <= table.top - table.clip) & (whole > 0)
        freed = (child == table.down[at]) & (begin >= table.clip) & (whole < 0)
        passed = part * np.where(held | freed, whole, 0.0)
        steep, late = end <= table.bend, begin >= table.top - table.bend
        rows[:, 0] += steep * held * passed
        rows[:, 3] += ~steep * held * passed * one.decay
        rows[:, 1] -= late * freed * passed
        rows[:, 2] -= ~late * freed * passed * one.decay
        target += part * np.where(held | freed, slope, -gains)
    return rows, target


MAX_CELLS = 40_000_000
"""Vertices times levels: 320 MB."""


def table_cells(problem: BoundaryColouring) -> int:
    """Vertices times levels of the smaller graph."""
    size, one = reduced(problem).graph.size, problem.guarded
    count = level_count(one, size + 2)
    return size * (2 * (count + 2) if count > MAX_LEVELS else len(levels(one, size + 2).p))


def refuse_forest(problem: BoundaryColouring) -> str | None:
    """Why a problem is not for a program on forests."""
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
    gains = signed(small.graph.codes, small.weights)
    answer = best_on_forest(rooted_forest(small), gains, table, problem.guarded, budget)
    if answer is None:
        return Proposal(problem.anchor(), stats={"stop": "out of time"})
    mechanism = polished(problem, small, (table.p[answer.level], table.r[answer.level]))
    value = float(small.weights[small.graph.codes != 0].sum() + gains @ table.p[answer.level])
    dual = linear_dual(lifted(small, problem.graph, _by_arc(small, answer)))
    return Proposal(mechanism, value, dual, stats={"levels": len(table.p), "vertices": small.graph.size})


def _by_arc(small: Reduced, answer: Answer) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    parent = rooted_forest(small).parent
    below = np.flatnonzero(parent >= 0)
    edges = np.stack([below, parent[below]], axis=1)
    return edge_table(small.graph, edges, answer.multipliers[below])


@register
@dataclass(frozen=True)
class ForestProgram(Solver[BoundaryColouring]):
    """The best weighted accuracy on graphs without cycles: a program over levels, exact and with a proof.

    Concave values over the levels, from the leaves to the roots; a layer of vertices at a time.

    Also for graphs whose quotient by colour refinement has no cycle.
    """

    solves: ClassVar = BoundaryColouring
    name: ClassVar[str] = "forest"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.OPTIMAL
    """Optimal."""

    def cost(self, problem: BoundaryColouring) -> float:
        """Vertices times levels, and a pass over arrays for each layer: a path has half as many as vertices."""
        small = reduced(problem)
        return 0.005 + 6e-8 * table_cells(problem) + 2.5e-4 * len(rooted_forest(small).layers)

    def refuse(self, problem: BoundaryColouring) -> str | None:
        """Refuse other problems, graphs with cycles, and tables that do not fit."""
        return refuse_forest(problem)

    def run(self, problem: BoundaryColouring, budget: Budget) -> Proposal:
        """Propose the optimum with its multipliers."""
        return proposal(problem, budget)


@register
@dataclass(frozen=True)
class PathProgram(Solver[BoundaryColouring]):
    """The best weighted accuracy on paths: values over levels, with a maximum over the window that a step allows.

    One pass along each path, a second one back; the textbook program, which gives no multipliers.

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
        level = best_on_paths(
            rooted_forest(small).parent,
            gains,
            table,
            budget,
        )
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

"""A problem on colourings as data: the declared fields, what follows from them, and a mechanism read in float64."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privopt.arrays import Floats, Ints
from privopt.errors import InvalidProblem
from privopt.measures.colouring.hops import hops
from privopt.measures.colouring.reading import PairReading, find_edge, level_pairs, smallest_epsilons
from privopt.measures.colouring.steps import GUARD, Step, step
from privopt.mechanisms import Colouring
from privopt.models import DatasetGraph
from privopt.problems.boundary_colouring import boundary as checks
from privopt.problems.boundary_colouring.boundary import MET, Boundary, Prescribed, prescribed

Cell = TypeVar("Cell", np.float64, np.int64)

FEW = 50_000
"""Rows up to which they are sorted themselves."""

OBJECTIVES = ("accuracy", "worst_case")


@dataclass(frozen=True, eq=False)
class Adjacency:
    """The distinct ordered pairs of levels that stand next to each other, and what each leaks."""

    first: Ints
    second: Ints
    reading: PairReading

    @property
    def leakage(self) -> float:
        """The largest smallest epsilon, in nats."""
        return float(self.reading.epsilon.max(initial=0.0))


@dataclass(frozen=True, init=False, eq=False, repr=False)
class ColouringData:
    """The fields of a problem on colourings, which bounds, certificates and repairs are made from."""

    graph: DatasetGraph
    epsilon: float
    delta: float
    boundary: Boundary
    weights: NDArray[np.float64] | None
    objective: str

    def __init__(
        self,
        graph: DatasetGraph,
        epsilon: float,
        delta: float = 0.0,
        *,
        boundary: Boundary = checks.BALANCED,
        weights: ArrayLike | Mapping[Any, float] | None = None,
        objective: str = "accuracy",
    ) -> None:
        if not isinstance(graph, DatasetGraph):
            raise InvalidProblem(
                f"graph must be a DatasetGraph, got {type(graph).__name__}{_of_networkx(graph)}"
            )
        budget = checks.number(epsilon, "epsilon")
        if not 0 <= budget < math.inf:
            raise InvalidProblem(f"epsilon must be a finite number of nats >= 0, got {budget}")
        if objective not in OBJECTIVES:
            raise InvalidProblem(f'objective must be "accuracy" or "worst_case", got {objective!r}')
        values: dict[str, object] = {
            "graph": graph,
            "epsilon": budget,
            "delta": checks.probability(delta, "delta"),
            "boundary": checks.boundary(boundary, len(graph.palette)),
            "weights": _weights(_in_order(weights, graph), graph.size),
            "objective": str(objective),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_prescribed", prescribed(self.boundary, graph, self.step))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Vertices, edges and colours."""
        return self.graph.size, self.graph.edge_count, self.k

    @property
    def k(self) -> int:
        """Number of colours, at least 1."""
        return max(len(self.graph.palette), 1)

    @cached_property
    def step(self) -> Step:
        """What one edge allows between probabilities of one colour."""
        return step(self.epsilon, self.delta)

    @cached_property
    def guarded(self) -> Step:
        """The same a few units of rounding lower, so that what is computed with it holds exactly."""
        return step(self.epsilon, self.delta, GUARD)

    @property
    def prescribed(self) -> Prescribed | None:
        """Sites and distributions prescribed exactly; None for "balanced" and for a free boundary."""
        kept: Prescribed | None = self.__dict__["_prescribed"]
        return kept

    @cached_property
    def boundary_sites(self) -> NDArray[np.int64]:
        """Positions of the vertices with a neighbour of another colour."""
        return np.flatnonzero(self.graph.boundary())

    @cached_property
    def far(self) -> NDArray[np.int64]:
        """Hops from the nearest boundary vertex to every vertex, -1 where none is reached; read-only."""
        found = hops(self.graph.indptr, self.graph.indices, self.boundary_sites)
        found.setflags(write=False)
        return found

    def colouring(self, levels: ArrayLike, level: ArrayLike) -> Colouring:
        """A mechanism of this problem: distinct rows (l, k), and the row of each vertex."""
        names = None if isinstance(self.graph.vertices, range) else self.graph.vertices
        palette = self.graph.palette or (0,)  # a graph without vertices has no colours of its own
        return Colouring.of_levels(levels, level, palette, answers=self.graph.codes, vertices=names)

    def of_rows(self, rows: ArrayLike) -> Colouring:
        """A mechanism of this problem: a row a vertex (n, k), equal ones stored once."""
        levels, level = distinct_rows(np.asarray(rows, dtype=np.float64))
        return self.colouring(levels, level)

    def two_colours(self, p: NDArray[np.float64], r: NDArray[np.float64]) -> Colouring:
        """The mechanism with Pr[first colour] = p and its complement r on each vertex; the smaller one counts."""
        if self.k == 1:
            return self.colouring([[1.0]], np.zeros(self.graph.size, dtype=np.int32))
        # One number stands for the pair: p where it is the smaller one, else -r, and -inf for certainty.
        side = np.where(p <= r, p, np.where(r == 0, -math.inf, -r))
        values, level = np.unique(side, return_inverse=True)
        values = values if values.size else np.array([0.5])
        small = np.where(np.isinf(values), 0.0, np.abs(values))
        rows = np.where(
            (values >= 0)[:, None], np.stack([small, 1 - small], 1), np.stack([1 - small, small], 1)
        )
        return self.colouring(rows, level)

    def adjacent(self, mechanism: Colouring) -> Adjacency:
        """The pairs of levels over all edges, O(V + E) and a reading a pair; those of the last mechanism are remembered."""
        if not self._last or self._last[0][0] is not mechanism:
            graph, levels = self.graph, mechanism.levels
            first, second = level_pairs(graph.indptr, graph.indices, mechanism.level, len(levels))
            reading = smallest_epsilons(levels, first, second, self.delta)
            self._last[:] = [(mechanism, Adjacency(first, second, reading))]
        return self._last[0][1]

    @cached_property
    def _last(self) -> list[tuple[Colouring, Adjacency]]:
        """The last mechanism that was read, with its pairs; at most one."""
        return []

    def worst_edge(self, mechanism: Colouring) -> tuple[tuple[object, ...], str]:
        """Labels of the ends of the edge that leaks most, and direction and colour in words."""
        pairs = self.adjacent(mechanism)
        if pairs.leakage == 0:
            return (), ""
        i = int(np.argmax(pairs.reading.epsilon))
        return self.edge_in_words(mechanism, i, int(pairs.reading.colour[i]))

    def edge_in_words(self, mechanism: Colouring, i: int, colour: int) -> tuple[tuple[object, ...], str]:
        """Labels of the ends of an edge of an adjacent pair of levels, and what a colour says of them."""
        graph, pairs = self.graph, self.adjacent(mechanism)
        ends = find_edge(
            graph.indptr, graph.indices, mechanism.level, int(pairs.first[i]), int(pairs.second[i])
        )
        u, v = (graph.vertices[end] for end in ends)
        return (u, v), likelier_at(mechanism.colours[colour], u, v)

    def accuracy(self, mechanism: Colouring) -> float:
        """The utility: weighted mean accuracy, or the least accuracy; 1 where there is no vertex."""
        if self.graph.size == 0:
            return 1.0
        if self.weights is not None and self.objective == "accuracy":
            right = mechanism.levels[mechanism.level, self.graph.codes]
            return float((self.weights * right).sum() / self.weights.sum())
        cells = mechanism.levels.ravel()
        count = np.bincount(cell_of(mechanism, self.graph.codes), minlength=len(cells))
        if self.objective == "worst_case":
            return float(cells[count > 0].min())
        return float((cells * count).sum() / self.graph.size)

    def miss(self, mechanism: Colouring) -> float:
        """By how much the boundary is missed: 0 where it is met to 1e-9, and where it is free."""
        if self.prescribed is not None:
            return self.prescribed.miss(mechanism, self.step)
        if self.boundary is None or self.k < 2:
            return 0.0
        sites = self.boundary_sites
        wrong = mechanism.levels[mechanism.level[sites], 1 - self.graph.codes[sites]]
        missed = float((self.step.kink - wrong).max(initial=0.0))
        return missed if missed > MET * self.step.kink else 0.0


def cell_of(mechanism: Colouring, codes: NDArray[np.int16]) -> Ints:
    """Where the true colour of each vertex is in the table of levels, read row by row."""
    cell = mechanism.level.astype(np.int64)
    cell *= mechanism.levels.shape[1]
    cell += codes
    return cell


def distinct_rows(rows: NDArray[Cell]) -> tuple[NDArray[Cell], Ints]:
    """The distinct rows of a table of eight-byte numbers, in a fixed order, and which of them each row is.

    Many rows are sorted by a word made of their bits, which is ten times as fast as to sort rows; few rows, and those
    of which two different ones have the same word, are sorted themselves.

    Examples
    --------
    >>> rows, place = distinct_rows(np.array([[1.0, 2.0], [0.0, 3.0], [1.0, 2.0]]))
    >>> rows[place].tolist()
    [[1.0, 2.0], [0.0, 3.0], [1.0, 2.0]]
    """
    if len(rows) <= FEW:
        levels, place = np.unique(rows, axis=0, return_inverse=True)
        return levels, place.reshape(-1)
    words = np.zeros(len(rows), dtype=np.uint64)
    with np.errstate(over="ignore"):
        for column in np.ascontiguousarray(rows).view(np.uint64).T:
            words = (words ^ (words >> np.uint64(29)) ^ column) * np.uint64(0x9E3779B97F4A7C15)
            words ^= words >> np.uint64(32)
    _, first, place = np.unique(words, return_index=True, return_inverse=True)
    levels, place = rows[first], place.reshape(-1)
    if not (levels[place] == rows).all():
        levels, place = np.unique(rows, axis=0, return_inverse=True)
    return levels, place.reshape(-1)


def likelier_at(colour: object, u: object, v: object) -> str:
    """Which answer is likelier at the first of two datasets, in words."""
    return f"answer {colour!r} is likelier at {u!r} than at {v!r}"


def _of_networkx(graph: object) -> str:
    """What to do with a graph of networkx."""
    if type(graph).__module__.partition(".")[0] != "networkx":
        return ""
    return ': give DatasetGraph.from_networkx(graph, colour="colour"), where "colour" is the attribute that holds the answer at each node'


def _in_order(weights: ArrayLike | Mapping[Any, float] | None, graph: DatasetGraph) -> ArrayLike | None:
    """Weights in the order of the vertices; of a mapping from vertices each must be there, and no other."""
    if not isinstance(weights, Mapping):
        return weights
    known = set(graph.vertices)
    odd = next((vertex for vertex in weights if vertex not in known), None)
    lacking = next((vertex for vertex in graph.vertices if vertex not in weights), None)
    if odd is not None or len(weights) > len(known):
        raise InvalidProblem(f"weights names {odd!r}, which is no vertex of the graph")
    if lacking is not None:
        raise InvalidProblem(f"weights lacks the vertex {lacking!r}: give each vertex a weight, perhaps 0")
    return [weights[vertex] for vertex in graph.vertices]


def _weights(values: ArrayLike | None, size: int) -> Floats | None:
    """Finite non-negative weights, one a vertex, not all zero; read-only."""
    if values is None:
        return None
    try:
        table = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as cause:
        raise InvalidProblem(f"weights must be {size} numbers: {cause}") from cause
    if table.shape != (size,):
        raise InvalidProblem(f"weights must be {size} numbers, one a vertex, got shape {table.shape}")
    bad = np.flatnonzero(~((table >= 0) & (table < math.inf)))
    if bad.size:
        raise InvalidProblem(f"weights[{bad[0]}] = {table[bad[0]]} is not a finite number >= 0")
    with np.errstate(over="ignore"):
        total = float(table.sum())
    if size and not 0 < total < math.inf:
        raise InvalidProblem("weights must have a positive finite sum; give at least one vertex a weight")
    table.setflags(write=False)
    return table

"""A colouring read in float64: who leaks most to whom, and how often the answers are right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privopt.arrays import Ints
from privopt.measures.colouring.reading import PairReading, find_edge, level_pairs, smallest_epsilons
from privopt.mechanisms import Colouring

if TYPE_CHECKING:
    from privopt.problems.boundary_colouring.problem import BoundaryColouring


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


def adjacency(problem: BoundaryColouring, mechanism: Colouring) -> Adjacency:
    """All pairs of levels over the edges of the graph, O(V + E) and a reading for each distinct pair."""
    graph = problem.graph
    first, second = level_pairs(graph.indptr, graph.indices, mechanism.level, len(mechanism.levels))
    return Adjacency(first, second, smallest_epsilons(mechanism.levels, first, second, problem.delta))


def worst_edge(
    problem: BoundaryColouring, mechanism: Colouring, found: Adjacency
) -> tuple[tuple[object, ...], str]:
    """Labels of the ends of the edge that leaks most, and direction and colour in words."""
    if found.leakage == 0:
        return (), ""
    graph, i = problem.graph, int(np.argmax(found.reading.epsilon))
    u, v = find_edge(graph.indptr, graph.indices, mechanism.level, int(found.first[i]), int(found.second[i]))
    names = graph.vertices[u], graph.vertices[v]
    colour = mechanism.colours[int(found.reading.colour[i])]
    return names, f"answer {colour!r} is likelier at {names[0]!r} than at {names[1]!r}"


def accuracy(problem: BoundaryColouring, mechanism: Colouring) -> float:
    """The objective's utility: weighted mean accuracy, or the least accuracy; 1 where there is no vertex."""
    right = mechanism.levels[mechanism.level, problem.graph.codes]
    if right.size == 0:
        return 1.0
    if problem.objective == "worst_case":
        return float(right.min())
    if problem.weights is None:
        return float(right.sum() / right.size)
    return float((problem.weights * right).sum() / problem.weights.sum())

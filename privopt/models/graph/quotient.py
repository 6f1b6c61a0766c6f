"""Quotients of graphs of datasets: by colour refinement, and by a given map that is checked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privopt.arrays import Floats, Ints
from privopt.errors import InvalidModel
from privopt.models.graph.refine import equitable, refine

if TYPE_CHECKING:
    from privopt.mechanisms.colouring import Colouring
    from privopt.models.graph.graph import DatasetGraph


@dataclass(frozen=True, eq=False)
class Quotient:
    """A smaller graph, and the map onto it.

    A mechanism that is private on ``graph`` is private when pulled back along the map, because neighbours go to
    neighbours or to one vertex. Where ``equitable``, nothing is lost: averaging a mechanism over the classes keeps
    every constraint (the edges between two classes are biregular), so that the best weighted accuracy is that of the
    quotient with the summed weights.

    Parameters
    ----------
    graph : DatasetGraph
        A vertex a class, joined where members are.
    classes : int array, shape (n,)
        The vertex of ``graph`` that each vertex goes to; read-only.
    weights : array, shape (graph.size,)
        Sum of the members' weights; of ones where none were given.
    equitable : bool
        Whether any two members of a class have equally many neighbours in every class, and equal weights.

    Examples
    --------
    >>> from privopt.models import DatasetGraph
    >>> small = DatasetGraph.votes(5).refined()
    >>> small.graph.size, small.weights.tolist(), small.equitable
    (6, [1.0, 5.0, 10.0, 10.0, 5.0, 1.0], True)
    """

    graph: DatasetGraph
    classes: Ints
    weights: Floats
    equitable: bool

    def pull_back(self, colouring: Colouring, graph: DatasetGraph) -> Colouring:
        """The mechanism on ``graph`` that answers for each vertex what ``colouring`` answers for its class.

        Raises
        ------
        InvalidModel
            If the sizes do not fit.
        """
        from privopt.mechanisms.colouring import Colouring

        if len(colouring.level) != self.graph.size or graph.size != len(self.classes):
            raise InvalidModel(
                f"the quotient takes {len(self.classes)} vertices to {self.graph.size}; the colouring has "
                f"{len(colouring.level)} and the graph {graph.size}"
            )
        return Colouring.of_levels(
            colouring.levels,
            colouring.level[self.classes],
            colouring.colours,
            answers=graph.codes,
            vertices=graph.vertices,
            simulation_only=colouring.simulation_only,
        )


def refined(graph: DatasetGraph, weights: ArrayLike | None, rounds: float = math.inf) -> Quotient:
    """The quotient by the coarsest equitable partition that respects colours and weights.

    Where it takes more rounds than given, every vertex is a class of its own.
    """
    given = _weights(weights, graph.size)
    _, kind = np.unique(given, return_inverse=True)
    start = kind.reshape(-1).astype(np.int64) * max(len(graph.palette), 1) + graph.codes
    found = refine(graph.indptr, graph.indices, start, rounds)
    return _made(graph, np.arange(graph.size) if found is None else found, given, True)


def quotient(graph: DatasetGraph, classes: object, weights: ArrayLike | None) -> Quotient:
    """The quotient by given classes, each of one colour."""
    given = _weights(weights, graph.size)
    labels = np.asarray(classes)
    if labels.shape != (graph.size,) or labels.dtype.kind not in "iub":
        raise InvalidModel(f"classes must be a whole number for each of {graph.size} vertices")
    found = np.unique(labels, return_inverse=True)[1].reshape(-1)
    own = np.zeros(int(found.max(initial=-1)) + 1, dtype=np.int64)
    own[found] = graph.codes
    odd = np.flatnonzero(own[found] != graph.codes)
    if odd.size:
        name = graph.vertices[int(odd[0])]
        raise InvalidModel(f"the class of vertex {name!r} has members of two colours; classes need one each")
    same = equitable(graph.indptr, graph.indices, found) and _constant(given, found)
    return _made(graph, found, given, same)


def _made(graph: DatasetGraph, classes: Ints, weights: Floats, same: bool) -> Quotient:
    k = int(classes.max(initial=-1)) + 1
    codes = np.zeros(k, dtype=np.int16)
    codes[classes] = graph.codes
    indptr, indices = _joined(graph, classes, k)
    small = type(graph)._made(indptr, indices, codes, graph.palette)
    sums: Floats = np.bincount(classes, weights=weights, minlength=k).astype(np.float64)
    classes.setflags(write=False)
    return Quotient(small, classes, sums, same)


def _joined(graph: DatasetGraph, classes: Ints, k: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Compressed rows of the classes; loops go."""
    ends = np.repeat(classes, np.diff(graph.indptr)) * max(k, 1) + classes[graph.indices]
    keys = np.unique(ends)
    rows, columns = keys // max(k, 1), keys % max(k, 1)
    kept = rows != columns
    return np.concatenate([[0], np.cumsum(np.bincount(rows[kept], minlength=k))]), columns[kept]


def _weights(weights: ArrayLike | None, n: int) -> Floats:
    if weights is None:
        return np.ones(n)
    found = np.array(weights, dtype=np.float64)
    if found.shape != (n,) or not np.isfinite(found).all() or (found < 0).any():
        raise InvalidModel(f"weights must be {n} finite numbers >= 0, one a vertex")
    return found


def _constant(values: Floats, classes: Ints) -> bool:
    first = np.zeros(int(classes.max(initial=-1)) + 1)
    first[classes] = values
    return bool((first[classes] == values).all())

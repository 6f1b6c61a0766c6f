"""How often a colouring is wrong, by hops from the boundary between colours."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privopt.errors import InvalidMechanism
from privopt.measures.colouring.hops import hops
from privopt.mechanisms import Colouring
from privopt.models import DatasetGraph


def error_by_distance(graph: DatasetGraph, colouring: Colouring) -> NDArray[np.float64]:
    """Mean error of the vertices of each colour at each distance from the boundary.

    The boundary, at distance 0, is made of the vertices that have a neighbour of another colour. Errors are sums of
    the probabilities of wrong colours, never one minus an accuracy, so that small ones keep their digits.

    Parameters
    ----------
    graph : DatasetGraph
    colouring : Colouring
        Of its vertices and palette.

    Returns
    -------
    array (distances, colours)
        NaN where a colour has no vertex at that distance; vertices that reach no boundary are left out.

    Raises
    ------
    InvalidMechanism
        If the colouring has other vertices or colours than the graph.

    Examples
    --------
    >>> import math
    >>> import privopt as po
    >>> problem = po.BoundaryColouring(po.DatasetGraph.line(3, 2), math.log(2))
    >>> error_by_distance(problem.graph, po.solve(problem).mechanism).round(6)
    array([[0.333333, 0.333333],
           [0.166667, 0.166667],
           [0.083333,      nan]])
    """
    if len(colouring.level) != graph.size or colouring.colours != graph.palette:
        raise InvalidMechanism("the colouring must be of the graph's vertices, with its palette as colours")
    far = hops(graph.indptr, graph.indices, np.flatnonzero(graph.boundary()))
    seen, k = far >= 0, len(graph.palette)
    cell = far[seen] * k + graph.codes[seen]
    levels, level = np.asarray(colouring.levels), colouring.level[seen]
    wrong = np.stack([np.delete(levels, c, axis=1).sum(axis=1) for c in range(k)], axis=1)
    shape = (int(far.max(initial=-1)) + 1, k)
    total = np.bincount(cell, wrong[level, graph.codes[seen]], minlength=shape[0] * k).reshape(shape)
    count = np.bincount(cell, minlength=shape[0] * k).reshape(shape)
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), np.nan))

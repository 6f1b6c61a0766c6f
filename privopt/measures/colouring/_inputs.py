"""What the measures of colourings take, checked once."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privopt.arrays import Floats
from privopt.errors import InvalidMechanism, InvalidProblem
from privopt.measures.colouring.steps import Pair
from privopt.mechanisms import Colouring
from privopt.models import DatasetGraph


def epsilon_of(given: float) -> float:
    """A finite number of nats, >= 0."""
    if isinstance(given, bool) or not isinstance(given, (int, float, np.number)) or not 0 <= given < math.inf:
        raise InvalidProblem(f"epsilon must be a finite number of nats >= 0, got {given!r}")
    return float(given)


def delta_of(given: float) -> float:
    """A number in [0, 1]."""
    if isinstance(given, bool) or not isinstance(given, (int, float, np.number)) or not 0 <= given <= 1:
        raise InvalidProblem(f"delta must be in [0, 1], got {given!r}")
    return float(given)


def level_rows(graph: DatasetGraph, given: Colouring | ArrayLike) -> tuple[Floats, NDArray[np.int32]]:
    """Distinct rows, and the row of each vertex, of a colouring of this graph."""
    if not isinstance(graph, DatasetGraph):
        raise InvalidMechanism(f"graph must be a DatasetGraph, got {type(graph).__name__}")
    if not isinstance(given, Colouring):
        table = np.asarray(given, dtype=np.float64)
        rows = np.stack([table, 1.0 - table], axis=1) if table.ndim == 1 else table
        if rows.ndim != 2:
            raise InvalidMechanism(f"a colouring is a table, a row a vertex, got shape {table.shape}")
        if not len(rows):
            return np.array([[0.5, 0.5]]), np.zeros(graph.size, dtype=np.int32)
        given = Colouring(rows)
    if len(given.level) != graph.size:
        raise InvalidMechanism(f"the colouring is of {len(given.level)} vertices, the graph has {graph.size}")
    return given.levels, given.level


def two_columns(graph: DatasetGraph, given: Colouring | ArrayLike) -> Pair:
    """Probabilities of the first of two colours, and their complements."""
    levels, level = level_rows(graph, given)
    if levels.shape[1] > 2 or len(graph.palette) > 2:
        raise InvalidMechanism(f"this is decided for two colours only, got {levels.shape[1]}")
    if levels.shape[1] == 1:
        return np.ones(graph.size), np.zeros(graph.size)
    return np.asarray(levels[level, 0]), np.asarray(levels[level, 1])

"""Redaction and boundary colouring in the suite ``dispatch``."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from privopt.benchmarks.runner.case import register_cases
from privopt.benchmarks.suites.boundary_colouring import regions, scattered
from privopt.benchmarks.suites.redaction import frost_chain, random_chain
from privopt.core.problem import Problem
from privopt.models import DatasetGraph
from privopt.problems.boundary_colouring.problem import BoundaryColouring
from privopt.problems.redaction.problem import Redaction


def _middle(n: int, k: int = 2) -> Problem[Any]:
    return Redaction(random_chain(n, k), n, n // 2, 1.0)


def _several(n: int, count: int, k: int = 2) -> Problem[Any]:
    """Private records at even distances."""
    places = tuple((2 * i + 1) * n // (2 * count) for i in range(count))
    return Redaction(random_chain(n, k), n, places, 1.0)


def _near(n: int) -> Problem[Any]:
    """Two private records that share the records between them."""
    return Redaction(random_chain(n), n, (n // 2 - 2, n // 2 + 2), 1.0)


def _sequential(n: int, k: int = 2) -> Problem[Any]:
    return Redaction(random_chain(n, k), n, n // 2, 1.0, form="sequential")


def _informed(n: int, k: int = 2) -> Problem[Any]:
    return Redaction(random_chain(n, k), n, n // 2, 3.0, side_information="any")


def _frost(n: int, epsilon: float) -> Problem[Any]:
    return Redaction(frost_chain(), n, n // 2, epsilon)


_LENGTHS = ((12, "q"), (100, ""), (1000, "q"), (10**4, ""), (10**5, "l"), (10**6, "l"))
_STATES = (
    (12, 3, "q"),
    (1000, 3, ""),
    (30, 4, ""),
    (12, 6, "q"),
    (100, 6, "l"),
    (10**4, 6, ""),
    (10**6, 6, ""),
    (12, 50, ""),
    (200, 50, "l"),
)
_PRIVATE = ((30, 2, ""), (40, 2, ""), (48, 4, "q"), (1000, 2, ""), (1000, 4, "l"), (10**5, 4, ""))

register_cases(
    "redaction",
    (
        *((f"records-{n}", marks, partial(_middle, n)) for n, marks in _LENGTHS),
        *((f"states-{k}-records-{n}", marks, partial(_middle, n, k)) for n, k, marks in _STATES),
        *((f"private-{m}-records-{n}", marks, partial(_several, n, m)) for n, m, marks in _PRIVATE),
        ("states-3-private-2-records-60", "", partial(_several, 60, 2, 3)),
        ("private-near-records-40", "", partial(_near, 40)),
        ("sequential-30", "", partial(_sequential, 30)),
        ("sequential-1000", "", partial(_sequential, 1000)),
        *(
            (f"sequential-states-{k}-records-{n}", "", partial(_sequential, n, k))
            for n, k in ((12, 3), (40, 4))
        ),
        ("side-information-12", "q", partial(_informed, 12)),
        ("side-information-1000", "", partial(_informed, 1000)),
        ("side-information-states-3-records-60", "", partial(_informed, 60, 3)),
        ("frost-365-strict", "", partial(_frost, 365, 0.3)),
        ("frost-1461", "", partial(_frost, 1461, 1.0)),
    ),
)


def tree(n: int, colours: int = 2) -> DatasetGraph:
    """A tree in which each vertex hangs on an earlier one at random; colours change on few edges.

    Examples
    --------
    >>> tree(5).edge_count
    4
    """
    rng = np.random.default_rng([n, colours])
    parents = np.array([int(rng.integers(0, i)) for i in range(1, n)])
    palette = np.zeros(n, dtype=np.int64)
    steps = np.where(rng.random(n) < 0.1, rng.integers(1, colours, n), 0)
    for i, parent in enumerate(parents, 1):
        palette[i] = (palette[parent] + steps[i]) % colours
    return DatasetGraph(np.column_stack([np.arange(1, n), parents]), palette)


def _counts(n: int) -> Problem[Any]:
    return BoundaryColouring(DatasetGraph.counts(n), 0.5, boundary=None)


def _grid(n: int, colours: int = 2) -> Problem[Any]:
    return BoundaryColouring(regions(n, colours), 0.5)


def _free(n: int, colours: int = 2, delta: float = 0.0) -> Problem[Any]:
    return BoundaryColouring(regions(n, colours), 0.5, delta, boundary=None)


def _worst(n: int, colours: int = 2) -> Problem[Any]:
    return BoundaryColouring(regions(n, colours), 0.5, boundary=None, objective="worst_case")


def _scattered(n: int, colours: int = 2) -> Problem[Any]:
    return BoundaryColouring(scattered(n, colours), 0.5, boundary=None)


def _tree(n: int, colours: int = 2, delta: float = 0.0) -> Problem[Any]:
    return BoundaryColouring(tree(n, colours), 0.5, delta, boundary=None)


def _cube(n: int) -> Problem[Any]:
    return BoundaryColouring(DatasetGraph.votes(n), 0.5)


_COLOURS = ((6, 3, "q"), (20, 3, ""), (60, 3, "l"), (30, 6, ""), (300, 4, ""))

register_cases(
    "boundary_colouring",
    (
        *((f"counts-{n}", marks, partial(_counts, n)) for n, marks in ((100, "q"), (10**4, ""), (10**6, ""))),
        *((f"grid-{n}x{n}", marks, partial(_grid, n)) for n, marks in ((10, "q"), (100, ""), (1000, "l"))),
        *((f"free-{n}x{n}", marks, partial(_free, n)) for n, marks in ((10, ""), (60, "q"), (300, "l"))),
        *((f"colours-{k}-{n}x{n}", marks, partial(_free, n, k)) for n, k, marks in _COLOURS),
        *((f"delta-{n}x{n}", "", partial(_free, n, 2, 0.01)) for n in (10, 200)),
        *((f"scattered-{n}", "", partial(_scattered, n)) for n in (300, 10**4, 10**5)),
        *((f"scattered-colours-{k}-{n}", "", partial(_scattered, n, k)) for n, k in ((300, 6), (1500, 4))),
        *((f"tree-{n}", marks, partial(_tree, n)) for n, marks in ((100, "q"), (10**4, ""), (10**5, ""))),
        ("tree-half-1000", "", partial(_tree, 1000, 2, 0.5)),
        ("tree-colours-3-300", "", partial(_tree, 300, 3)),
        ("worst-case-60x60", "", partial(_worst, 60)),
        ("worst-case-colours-3-12x12", "", partial(_worst, 12, 3)),
        ("cube-10", "", partial(_cube, 10)),
        ("cube-16", "", partial(_cube, 16)),
    ),
)

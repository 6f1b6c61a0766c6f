"""Randomised colourings in the suites: votes, grids, random graphs, two colours and more."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from privopt.benchmarks.runner.suite import Instance, InstanceSet, register_instances
from privopt.benchmarks.runner.vocabulary import Reference
from privopt.models import DatasetGraph
from privopt.problems.boundary_colouring.problem import BoundaryColouring as Ask

BUDGETS = (0.1, 0.5, 1.0, 2.0)


def quick() -> tuple[Instance, ...]:
    """A vote counted, a map of regions, and three answers on a grid."""
    return (
        Instance("vote-20", 21, _votes(20), budgets=(0.1, 0.5, 1.0), title="A vote of twenty", note="counts"),
        Instance(
            "regions-12x12",
            144,
            Ask(regions(12), 0.5),
            budgets=(0.5,),
            title="Map of regions",
            note="12 × 12 grid",
        ),
        Instance(
            "three-answers-6x6",
            36,
            Ask(regions(6, 3), 0.5, boundary=None),
            budgets=(0.5,),
            title="Map of three answers",
            note="6 × 6 grid",
        ),
    )


def solvers() -> tuple[Instance, ...]:
    """From a vote of 20 to a grid of 250,000 cells; given and free boundaries, delta, three to six answers."""
    counted = [Instance(f"vote-{n}", n + 1, _votes(n), "vote", BUDGETS) for n in (20, 200, 2000)]
    fair = [
        Instance(f"regions-{n}x{n}", n * n, Ask(regions(n), 0.5), "regions", BUDGETS) for n in (12, 60, 500)
    ]
    free = [
        Instance(f"free-{n}x{n}", n * n, Ask(regions(n), 0.5, boundary=None), "free", BUDGETS)
        for n in (6, 20, 60)
    ]
    more = [
        Instance(f"answers-{k}-8x8", 64, Ask(regions(8, k), 0.5, boundary=None), "answers", BUDGETS)
        for k in (3, 4, 6)
    ]
    return (
        *counted,
        *fair,
        *free,
        *more,
        Instance("delta-20x20", 400, Ask(regions(20), 0.5, 0.01, boundary=None), budgets=BUDGETS),
        Instance("scattered-300", 300, Ask(scattered(300), 0.5, boundary=None), budgets=BUDGETS),
        Instance("cube-10", 1024, Ask(DatasetGraph.votes(10), 0.5), budgets=BUDGETS),
    )


def _votes(n: int) -> Ask:
    """Counts of n votes, each "red" with probability 0.45, with the threshold at one half."""
    k = np.arange(n + 1)
    logs = np.array([math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1) for i in k])
    weights = np.exp(logs + k * math.log(0.45) + (n - k) * math.log(0.55))
    return Ask(DatasetGraph.counts(n), 0.5, boundary=None, weights=weights / weights.sum())


def regions(n: int, colours: int = 2) -> DatasetGraph:
    """A square grid whose cells have the colour of the nearest of some random points, the same every time.

    Examples
    --------
    >>> regions(4).size
    16
    """
    rng = np.random.default_rng([n, colours])
    points = rng.random((max(6, 2 * colours), 2)) * n
    rows, columns = np.indices((n, n))
    far = (rows[..., None] - points[:, 0]) ** 2 + (columns[..., None] - points[:, 1]) ** 2
    return DatasetGraph.grid(far.argmin(axis=-1) % colours)


def scattered(n: int, colours: int = 2) -> DatasetGraph:
    """Random edges, about four a vertex, and a threshold on a random value as the answer, or any of some colours."""
    rng = np.random.default_rng(n if colours == 2 else [n, colours])
    edges, answers = rng.integers(0, n, size=(2 * n, 2)), rng.random(n)
    return DatasetGraph(
        edges, (answers < 0.4).astype(int) if colours == 2 else (colours * answers).astype(int)
    )


def scaling() -> tuple[Instance, ...]:
    """Grids, and votes, of growing size."""
    grids = [
        Instance(f"grid-{n}", n * n, Ask(regions(n), 0.5), "colouring-grid", (0.5,))
        for n in (30, 100, 300, 1000)
    ]
    votes = [Instance(f"votes-{n}", n, _votes(n), "colouring-votes", (0.5,)) for n in (100, 1000, 10_000)]
    return (*grids, *votes)


def about(suite: str) -> Sequence[str]:
    """Where the instances come from."""
    problem = (
        "Boundary colouring: with what probability to answer each dataset truly, when neighbouring datasets must be answered "
        "alike up to e^ε."
    )
    graphs = (
        "Its graphs are counts of votes, grids whose cells belong to the nearest of random points, and random graphs, each "
        "from a fixed seed."
    )
    return problem, graphs


register_instances(
    InstanceSet(
        question=Ask.kind,
        quick=quick,
        solvers=solvers,
        scaling=scaling,
        about=about,
        reference=Reference("randomised-response", "randomised response"),
    )
)

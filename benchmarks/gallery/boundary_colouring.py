"""Regions on a grid: each dataset answered with a mixture of the two colours."""

from __future__ import annotations

from functools import partial

from privopt._dispatch import solve
from privopt._graph_plots import colouring_figure
from privopt.benchmarks._pictures import Drawn, register_picture
from privopt.benchmarks.suites.boundary_colouring import regions
from privopt.problems.boundary_colouring import BoundaryColouring


@register_picture(
    "boundary_colouring",
    ("boundary_colouring",),
    "Boundary colouring: answers that change slowly",
    "Each vertex is a dataset, its ring the true answer, its filling the mixture that is given. Neighbours differ by a factor of at most e^0.5, so "
    "answers are mixed at the boundary and become sure a few steps away from it.",
    "boundary_colouring.md",
)
def make() -> Drawn:
    """Probability of each colour at each vertex."""
    import pandas as pd

    graph = regions(8)
    mechanism = solve(BoundaryColouring(graph, 0.5)).mechanism
    frame = pd.DataFrame(mechanism.probabilities, columns=[f"Pr({c})" for c in graph.palette])
    frame.insert(0, "true answer", [graph.palette[c] for c in graph.codes])
    return Drawn(frame, partial(colouring_figure, graph, mechanism))

"""Differential privacy on graphs of datasets: cost by size, agreement of the solvers, and the same work by others."""

from __future__ import annotations

from collections.abc import Sequence

from privopt.benchmarks._measurements import Timing, register_measurement
from privopt.benchmarks.measurements import _graph_agreement, _graph_mechanisms, _graph_peers, _graph_scale


@register_measurement(
    "graph-scale", "Boundary colouring: seconds and peak memory against the size of the graph"
)
def scale(quick: bool) -> Sequence[Timing]:
    """Grids of three sizes, compiled and with SciPy only; counts of votes."""
    return list(_graph_scale.run((10_000, 40_000, 90_000) if quick else (100_000, 1_000_000, 10_000_000)))


@register_measurement(
    "graph-agreement", "Boundary colouring: solvers against each other on random small graphs"
)
def agreement(quick: bool) -> Sequence[Timing]:
    """Linear programme, minimum cut, forests and events; disagreements counted."""
    return list(_graph_agreement.run(8 if quick else 1000))


@register_measurement(
    "graph-peers", "Boundary colouring: against networkx and a linear programme, and published mechanisms"
)
def peers(quick: bool) -> Sequence[Timing]:
    """The same distances and the same optimum by others, then errors by distance of published mechanisms."""
    sizes = (10_000, 40_000) if quick else (10_000, 100_000, 1_000_000)
    programmes = (400,) if quick else (1_000, 10_000, 40_000)
    return [*_graph_peers.distances(sizes), *_graph_peers.programmes(programmes), *_graph_mechanisms.run()]

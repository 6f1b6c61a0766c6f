"""Headlines of belief release and of graphs."""

from __future__ import annotations

import math

from privopt._dispatch import solve
from privopt._text import number
from privopt.benchmarks._headlines import Headline, register_headline
from privopt.benchmarks.measurements._graph_peers import distances
from privopt.problems.belief_release import BeliefRelease


@register_headline("belief-published")
def published() -> Headline:
    """What the published conditional randomised response leaks."""
    problem = BeliefRelease([0.9, 0.1], math.log(2))
    ours, theirs = solve(problem), solve(problem, "published")
    kept, claimed = (
        number(-value, 3) for value in (ours.objective or 0.0, float(theirs.stats["raw_utility"]))
    )
    return Headline(
        "belief-published",
        "error of one release that may leak 0.693 nats, belief (0.9, 0.1)",
        f"{kept}, certified",
        f"{claimed} as printed, which leaks {number(float(theirs.stats['raw_leakage']), 4)}: not private",
    )


@register_headline("colouring")
def colouring() -> Headline:
    """Distances to the boundary of a graph of datasets."""
    (row,) = distances((250_000,))
    return Headline(
        "colouring",
        "distances to the boundary, grid of 250 000 datasets, time of networkx over ours",
        f"{number(row.ratio or 0.0, 2)} times faster",
        "the same distances",
        True,
    )

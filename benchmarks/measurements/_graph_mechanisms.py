"""Errors of published mechanisms by distance from the boundary, against the optimum."""

from __future__ import annotations

import math
from collections.abc import Iterator

from privopt._dispatch import solve
from privopt.benchmarks._clock import clock
from privopt.benchmarks._measurements import Timing
from privopt.models import DatasetGraph
from privopt.problems.boundary_colouring import BoundaryColouring

DISTANCES = (0, 1, 5, 10)
NAMES = ("geometric-threshold", "laplace-threshold", "exponential", "exponential-half", "randomised-response")
VOTES = 101


def run() -> Iterator[Timing]:
    """Error over that of the optimum, epsilon = 1; then majority of votes that are each randomised."""
    problem = BoundaryColouring(DatasetGraph.line(12, 12), 1.0)
    best = solve(problem, "balanced").mechanism.error
    for name in NAMES:
        solution = solve(problem, name)
        found = solution.mechanism.error
        for i in DISTANCES:
            ratio = float(found[11 - i] / best[11 - i])
            note = f"error {float(found[11 - i]):.3g} over that of the optimum"
            yield Timing(
                f"{name}, {i} hops from the boundary",
                problem.graph.size,
                solution.seconds,
                quality=ratio,
                note=note,
            )
    for i in DISTANCES:
        error, seconds = clock(lambda far=i: local_majority(far, 1.0))  # type: ignore[misc]
        least = math.exp(-i) / (1 + math.e)
        note = f"error {error:.3g} over that of the optimum, {VOTES} votes"
        yield Timing(f"randomised votes, {i} hops", VOTES, seconds, quality=error / least, note=note)


def local_majority(distance: int, epsilon: float) -> float:
    """Probability that the majority of votes, each flipped with probability 1 / (1 + e^eps), is wrong.

    ``distance`` votes more than the least majority are cast for the winner.

    Examples
    --------
    >>> [round(local_majority(i, 1.0), 3) for i in (0, 1, 5, 10)]
    [0.479, 0.438, 0.284, 0.138]
    """
    from scipy.stats import binom

    flip, winner = 1 / (1 + math.exp(epsilon)), (VOTES + 1) // 2 + distance
    kept = range(winner + 1)
    return float(
        sum(
            binom.pmf(k, winner, 1 - flip) * binom.cdf((VOTES - 1) // 2 - k, VOTES - winner, flip)
            for k in kept
        )
    )

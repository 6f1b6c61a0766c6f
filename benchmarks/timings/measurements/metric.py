"""Metric privacy: nodes of Rome against a plain run of HiGHS, a small town against qif, and how fast points are released."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from privopt.arrays import Floats
from privopt.benchmarks.data.external import FOLDER
from privopt.benchmarks.data.rome import rome_problem
from privopt.benchmarks.suites.metric_privacy import town
from privopt.benchmarks.timings.measurement import Timing, clock, register_measurement
from privopt.benchmarks.timings.places import plain_channel
from privopt.core.dispatch import solve
from privopt.core.solution import Solution
from privopt.problems.metric_privacy.problem import MetricPrivacy
from privopt.solvers.metric_privacy.alternating_directions import AlternatingDirections

EXACT = ((125, 30.0), (250, 30.0), (500, 30.0), (1000, 120.0))
"""Points that are solved to the end, and seconds that they may take."""

LARGE = ((1250, 600.0), (2500, 600.0), (5000, 600.0))
"""Points for which a gap of one in a hundred is enough, and the seconds."""

TOLERANCE = 0.008
"""The gap at which the steps end: repair and judging add to it."""

DRAWN = 1_000_000


def broken(problem: MetricPrivacy, matrix: Floats) -> int:
    """Ordered pairs that a raw table breaks at some output, in floats.

    Examples
    --------
    >>> problem = town(2)
    >>> broken(problem, problem.anchor().matrix), broken(problem, np.eye(4))
    (0, 12)
    """
    pairs = problem.pairs
    growth = np.exp(problem.epsilon * pairs.distance)[:, None]
    a, b = matrix[pairs.first], matrix[pairs.second]
    return int(
        (a > growth * b * (1 + 1e-12)).any(axis=1).sum() + (b > growth * a * (1 + 1e-12)).any(axis=1).sum()
    )


def plain(problem: MetricPrivacy) -> Floats:
    """What an interior-point run of HiGHS on the whole program gives, as it is."""
    return plain_channel(problem, "highs-ipm", math.inf)[0]


def exact(points: int, limit: float) -> Iterator[Timing]:
    """The optimum, certified, beside a plain run of the same program."""
    problem = rome_problem(points)
    begun = time.perf_counter()
    solution = solve(problem, "direct-lp", time_limit=limit)
    seconds = time.perf_counter() - begun
    raw, theirs = clock(lambda: plain(problem))
    note = (
        f"metres of loss, {solution.status.name}, 0 pairs broken; the plain run breaks {broken(problem, raw)} of "
        f"{2 * len(problem.pairs)} ordered pairs"
    )
    loss = -(solution.objective or np.nan)
    yield Timing.against("Rome, to the optimum", points, seconds, ("plain HiGHS", theirs), loss, note)
    yield Timing(
        "Rome, exponential mechanism",
        points,
        None,
        quality=-(solve(problem, "exponential").objective or np.nan),
        note="metres of loss",
    )


def large(points: int, limit: float) -> Iterator[Timing]:
    """A bound within minutes."""
    problem = rome_problem(points)
    begun = time.perf_counter()
    solution = solve(problem, AlternatingDirections(tolerance=TOLERANCE), time_limit=limit)
    seconds = time.perf_counter() - begun
    yield Timing(
        "Rome, to a gap of one in a hundred",
        points,
        seconds,
        quality=_gap(solution),
        note=f"gap, relative; {solution.status.name}",
    )


def _gap(solution: Solution[Any]) -> float:
    if solution.gap is None or not solution.objective:
        return float("nan")
    return solution.gap / abs(solution.objective)


def small() -> Iterator[Timing]:
    """A town of few cells, by this package and by qif, if it is installed."""
    problem = town(4)
    solution, seconds = clock(lambda: solve(problem, "direct-lp", time_limit=30.0))
    loss = -(solution.objective or np.nan)
    if find_spec("qif") is None:
        yield Timing(
            "a town of 16 cells",
            16,
            seconds,
            quality=loss,
            note="expected distance, km; qif is not installed",
        )
        return
    import qif

    apart, losses = problem.metric.distances, problem.losses

    def theirs() -> Floats:
        return np.asarray(
            qif.mechanism.d_privacy.min_loss_given_d(
                problem.p,
                16,
                lambda i, j: problem.epsilon * float(apart[i, j]),
                lambda i, j: float(losses[i, j]),
            )
        )

    raw, other = clock(theirs)
    note = f"expected distance, km; of qif's {float((problem.p[:, None] * raw * losses).sum()):.9g} with {broken(problem, raw)} of {2 * len(problem.pairs)} ordered pairs broken"
    yield Timing.against("a town of 16 cells", 16, seconds, ("qif", other), loss, note)


def released() -> Timing:
    """How fast points are released by a certified channel, from the generator of the system."""
    problem = town(4)
    channel = solve(problem, "direct-lp", time_limit=30.0).mechanism
    data = np.empty(DRAWN, dtype=object)
    cells = problem.metric.labels
    drawn = np.random.default_rng(0).integers(0, len(cells), DRAWN).tolist()
    data[:] = [cells[x] for x in drawn]
    _, seconds = clock(lambda: channel.release(data))
    return Timing("points released", DRAWN, seconds, quality=60.0 * DRAWN / seconds, note="points a minute")


@register_measurement(
    "metric", "Metric privacy: nodes of Rome against a plain program, a town against qif, releases"
)
def metric(quick: bool) -> Sequence[Timing]:
    """A town and releases; unless quick, and where the data are, Rome."""
    rows = [*small(), released()]
    if quick or not os.environ.get(FOLDER):
        return rows
    for points, limit in EXACT:
        rows += exact(points, limit)
    for points, limit in LARGE:
        rows += large(points, limit)
    return rows

"""Metric privacy in the suites."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privopt.arrays import Floats
from privopt.benchmarks.data.shipped import california_airports
from privopt.benchmarks.runner.suite import Instance, InstanceSet, register_instances
from privopt.benchmarks.runner.vocabulary import Reference
from privopt.models.metric import Metric
from privopt.problems.metric_privacy.problem import MetricPrivacy


def busy(points: int, seed: int) -> list[float]:
    """How likely each place is: a few are busy.

    Examples
    --------
    >>> round(sum(busy(5, 0)), 12)
    1.0
    """
    return [float(p) for p in np.random.default_rng(seed).dirichlet(np.full(points, 0.7))]


def scattered(points: int, seed: int) -> Floats:
    """Places in three towns, in kilometres; shape (points, 2).

    Examples
    --------
    >>> scattered(9, 0).shape
    (9, 2)
    """
    rng = np.random.default_rng(seed)
    middles = np.array([[0.0, 0.0], [1.2, 0.4], [0.4, 1.3]])
    return np.asarray(middles[rng.integers(0, 3, points)] + rng.normal(scale=0.3, size=(points, 2)))


def town(side: int, loss: str = "distance") -> MetricPrivacy:
    """A square of cells of 200 m, some of them busy."""
    return MetricPrivacy(Metric.grid(side, side, step=0.2, unit="km"), busy(side * side, side), loss, 5.0)


def towns(points: int, outputs: int, radius: float | None = None) -> MetricPrivacy:
    """Scattered places, of which some may be reported."""
    metric = Metric.euclidean(scattered(points, points), unit="km")
    return MetricPrivacy(
        metric, busy(points, points), "distance", 5.0, outputs=list(range(outputs)), radius=radius
    )


def street(points: int, loss: str = "distance") -> MetricPrivacy:
    """Places along a street, 100 m apart."""
    return MetricPrivacy(Metric.line(points, step=0.1, unit="km"), busy(points, points), loss, 5.0)


def airports() -> MetricPrivacy:
    """The airports of California: which to name instead of the true one, promised within 80 km.

    Examples
    --------
    >>> airports().component_count
    6
    """
    known = california_airports()
    metric = Metric.great_circle(known.places, known.codes, unit="km")
    return MetricPrivacy(metric, [1 / 205] * 205, "distance", 0.05, outputs=known.codes[::10], radius=80.0)


def metric_quick() -> tuple[Instance, ...]:
    """A small town."""
    return (
        Instance(
            "town",
            16,
            town(4),
            budgets=(2.0, 5.0, 10.0),
            title="Sixteen cells of a town",
            note="200 m each; nats per km",
        ),
    )


def metric_solvers() -> tuple[Instance, ...]:
    """Towns, scattered places and streets, small and larger."""
    return (
        Instance("street-12", 12, street(12), budgets=(2.0, 5.0, 10.0)),
        Instance("street-40-squared", 40, street(40, "squared"), budgets=(2.0, 5.0, 10.0)),
        Instance("town-5", 25, town(5), budgets=(2.0, 5.0, 10.0)),
        Instance("town-7-squared", 49, town(7, "squared"), budgets=(5.0,)),
        Instance("towns-30", 30, towns(30, 10), budgets=(2.0, 5.0, 10.0)),
        Instance("towns-120-near", 120, towns(120, 30, 0.4), budgets=(5.0,)),
        Instance("airports-205", 205, airports(), budgets=(0.05,), note="California; nats per km"),
    )


def metric_certification() -> tuple[Instance, ...]:
    """Large and small budgets, at which probabilities far from each other are of very different size."""
    sparse = (Instance(f"towns-{n}", n, towns(n, 8), budgets=(0.01, 1.0, 20.0)) for n in (10, 20))
    return (*sparse, Instance("street-30", 30, street(30), budgets=(0.01, 1.0, 20.0)))


def metric_scaling() -> tuple[Instance, ...]:
    """More and more places, promised within 400 m."""
    return tuple(Instance(f"places-{n}", n, towns(n, 20, 0.4), "places", (5.0,)) for n in (25, 50, 100, 200))


def metric_about(suite: str) -> Sequence[str]:
    """Where the instances come from."""
    return (
        "Metric privacy: what to report of a place so that near places stay alike, at the least expected distance.",
    )


register_instances(
    InstanceSet(
        question=MetricPrivacy.kind,
        quick=metric_quick,
        solvers=metric_solvers,
        certification=metric_certification,
        scaling=metric_scaling,
        about=metric_about,
        reference=Reference("exponential", "the exponential mechanism"),
    )
)

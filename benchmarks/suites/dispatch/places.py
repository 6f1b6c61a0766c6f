"""Metric privacy in the suite ``dispatch``."""

from __future__ import annotations

from functools import partial
from typing import Any

from privopt.benchmarks.runner.case import register_cases
from privopt.benchmarks.suites.metric_privacy import street, town, towns
from privopt.core.problem import Problem


def _town(side: int) -> Problem[Any]:
    return town(side)


def _street(points: int) -> Problem[Any]:
    return street(points)


def _near(points: int, outputs: int, radius: float) -> Problem[Any]:
    return towns(points, outputs, radius)


register_cases(
    "metric_privacy",
    (
        *(
            (f"town-{side}", marks, partial(_town, side))
            for side, marks in ((3, "q"), (5, ""), (8, ""), (12, "l"))
        ),
        *((f"street-{n}", marks, partial(_street, n)) for n, marks in ((20, "q"), (100, ""))),
        *((f"towns-{n}", "", partial(_near, n, 20, 0.4)) for n in (50, 200)),
        ("towns-1000", "l", partial(_near, 1000, 50, 0.1)),
    ),
)

"""Small problems on metric privacy, with optima that are closed forms."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from privopt.core.problem import Example, Problem
from privopt.mechanisms import Channel
from privopt.models.metric import Metric


def examples(ask: Callable[..., Problem[Channel]]) -> tuple[Example[Channel], ...]:
    """Easiest first."""
    third = [1 / 3] * 3
    return (
        Example("two", ask(Metric.line(2), [0.5, 0.5], "distance", math.log(3)), -0.25),
        Example("one", ask(Metric.line(1), [1.0], "distance", 1.0), 0.0),
        Example("nothing-told", ask(Metric.line(3), third, "squared", 0.0), -2 / 3),
        Example("everything", ask(Metric.line(3), third, "distance", math.inf), 0.0),
        Example("line", ask(Metric.line(5), [0.1, 0.2, 0.4, 0.2, 0.1], "distance", 1.0)),
        Example("apart", ask(_two_pairs(), [0.25] * 4, "distance", math.log(3), radius=1.5), -0.25),
        Example("table", ask([[0, 1, 2], [1, 0, 2], [2, 2, 0]], third, [[0, 1], [1, 0], [2, 2]], 0.5)),
        Example(
            "same-point", ask([[0, 0, 1], [0, 0, 1], [1, 1, 0]], third, np.ones((3, 3)) - np.eye(3), 1.0)
        ),
        Example("grid", ask(Metric.grid(3, 3, unit="km"), [1 / 9] * 9, "distance", 1.0)),
        Example("radius", ask(Metric.grid(3, 3), [1 / 9] * 9, "squared", 2.0, radius=1.0)),
        Example(
            "elsewhere",
            ask(
                Metric.euclidean([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], unit="km"),
                [0.5, 0.25, 0.25],
                "distance",
                1.5,
                outputs=Metric.euclidean([[0.0, 0.0], [0.5, 0.5], [0.0, 2.0], [1.0, 0.0]]),
            ),
        ),
        Example(
            "cities",
            ask(
                Metric.great_circle(
                    [[41.9, 12.5], [45.46, 9.19], [40.85, 14.27], [45.07, 7.69]], list("RMNT")
                ),
                [0.4, 0.2, 0.2, 0.2],
                "distance",
                0.005,
                outputs=["R", "M"],
            ),
        ),
    )


def _two_pairs() -> Metric:
    """Two pairs of neighbours, far from each other."""
    far = 1000.0
    return Metric.euclidean([[0.0], [1.0], [far], [far + 1.0]])

"""Small problems on one step, with optima that are public or exact."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from privopt.core.problem import Example, Problem
from privopt.mechanisms import Channel
from privopt.models.ambiguity.row_set import RowSet


def examples(ask: Callable[..., Problem[Channel]]) -> tuple[Example[Channel], ...]:
    """Easiest first; Hamming error unless said otherwise."""
    return (
        Example("coin", ask([0.6, 0.4], 0.5), -0.29113471666206403),
        Example("constant", ask([0.85, 0.15], 1.0), -0.15),
        Example("dump", ask([0.45, 0.35, 0.2], 0.4), -0.4615127867272829),
        Example("share", ask([0.3, 0.25, 0.2, 0.15, 0.1], 1.0), -0.38448138875788973),
        Example("share-six", ask([0.5, 0.2, 0.12, 0.1, 0.05, 0.03], 1.2), -0.31891779687814914),
        Example("uniform", ask([0.1] * 10, 1.0), -(1 - math.exp(1.0) / 10)),
        Example("impossible", ask([0.6, 0.0, 0.4], 0.5), -0.29113471666206403),
        Example("nothing-leaks", ask([0.5, 0.3, 0.2], 0.0), -0.5),
        Example("everything", ask([0.5, 0.3, 0.2], math.inf), 0.0),
        Example("large-budget", ask([0.5, 0.3, 0.2], 27.0), -0.62 * math.exp(-27.0), 1e-18),
        Example("l1", ask([0.1, 0.3, 0.3, 0.2, 0.1], 1.0, "l1"), -0.5310914970542981),
        Example("squared", ask([1 / 3] * 3, math.log(2), "squared", letters=[0, 1, 10]), -(19 + 1 / 3), 1e-7),
        Example("metric", ask([0.4, 0.35, 0.25], math.log(4), "l1")),
        Example("set", ask(RowSet.total_variation([0.7, 0.3], Fraction(1, 10)), 1.0), -0.18807091884949395),
        Example("any-belief", ask(RowSet.total_variation([0.7, 0.3], 1), 1.0), -1 / (1 + math.e)),
        Example("set-l1", ask(RowSet.interval([0.25, 0.25, 0.125], [0.5, 0.5, 0.375]), 0.5, "l1")),
        Example("rectangular", ask([0.4, 0.35, 0.25], 1.0, [[0, 1], [2, 1], [3, 0]])),
    )

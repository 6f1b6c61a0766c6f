"""Small problems of post-randomisation, with optima that are closed forms."""

from __future__ import annotations

import math
from collections.abc import Callable

from privopt.core.problem import Example, Problem
from privopt.mechanisms import Channel
from privopt.models import JointDistribution
from privopt.models.metric import Metric


def examples(ask: Callable[..., Problem[Channel]]) -> tuple[Example[Channel], ...]:
    """Easiest first."""
    vote = JointDistribution.normalised([[5, 2, 1], [1, 3, 4]])
    party = JointDistribution.normalised([[3, 5, 1, 2], [3, 1, 5, 2]])
    region = JointDistribution.normalised([[4, 1, 1, 3], [2, 5, 5, 1]])
    sex = JointDistribution.normalised([[1, 4, 3, 2], [5, 2, 3, 2]])
    return (
        Example("coin", ask([1, 1], "hamming", math.log(1.5)), -1 / 3),
        Example("unequal", ask([3, 1], "hamming", 0.5), -0.5 * (1 - kept(0.25, 0.5))),
        Example("die", ask([1] * 6, "hamming", math.log(2)), -2 / 3),
        Example("nothing-told", ask([3, 1], "hamming", 0.0), -0.375),
        Example("everything", ask([3, 2, 1], "hamming", math.inf), 0.0),
        Example("ratio", ask([1, 1, 1], "hamming", math.log(2), notion="ldp"), -0.5),
        Example("steps", ask([4, 3, 2, 1], [[abs(x - y) for y in range(4)] for x in range(4)], 0.7)),
        Example("vote", ask(vote, "hamming", 0.2)),
        Example("vote-ratio", ask(vote, "hamming", 0.3, notion="ldp")),
        Example("line", ask([1, 2, 3, 2], "hamming", 0.8, notion=Metric.line(4))),
        Example("cross-table", ask(party, "hamming", 0.3, preserve=region)),
        Example("two-tables", ask(party, "hamming", 1.2, preserve=[region, sex]), 0.0),
    )


def kept(p: float, epsilon: float) -> float:
    """How often the first of two values stays, at most; its probability is p, that of the other q = 1 - p.

    It stays with probability a, and the other becomes it with p (1 - a) / q. The lifts are a / p, (1 - a) / q and
    (1 - p (1 - a) / q) / q, and lie in [e^-epsilon, e^epsilon].

    Examples
    --------
    >>> round(kept(0.5, math.log(1.5)), 12), round(kept(0.25, 0.0), 12)
    (0.666666666667, 0.25)
    """
    q, r = 1 - p, math.exp(epsilon)
    return min(1.0, p * r, 1 - q / r, 1 - q * (1 - q * r) / p)

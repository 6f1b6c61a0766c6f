"""Classes of observations with the same posterior of the secret, a sufficient statistic for it: what a release says of the secret depends on what it says of them only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from privopt.core.problem import Enclosure
from privopt.models import JointDistribution
from privopt.models.channel_data import Observation
from privopt.problems.exact_joint import enclose
from privopt.problems.trade_off.information import entropy_enclosure, exact_table


def classes_of(observed: Observation) -> tuple[int, ...]:
    """For each observation of positive probability the number of its class, in the order of their first members.

    Examples
    --------
    >>> classes_of(Observation(JointDistribution.normalised([[1, 3, 0, 2], [2, 1, 0, 4]]), None))
    (0, 1, 0)
    """
    numbers: dict[tuple[int, ...], int] = {}
    columns = [column for column in zip(*exact_table(observed.leaking).cells, strict=True) if any(column)]
    return tuple(
        numbers.setdefault(tuple(weight // common for weight in column), len(numbers))
        for column in columns
        for common in (math.gcd(*column),)
    )


def joint_of_classes(observed: Observation, classes: Sequence[int]) -> JointDistribution:
    """The distribution of the secret and the class.

    Examples
    --------
    >>> observed = Observation(JointDistribution.normalised([[1, 3, 0, 2], [2, 1, 0, 4]]), None)
    >>> joint_of_classes(observed, classes_of(observed)).exact.weights
    (3, 3, 6, 1)
    """
    cells, support = exact_table(observed.leaking).cells, observed.support.tolist()
    weights = [[0] * (max(classes) + 1) for _ in cells]
    for total, row in zip(weights, cells, strict=True):
        for w, number in zip(support, classes, strict=True):
            total[number] += row[w]
    return JointDistribution.normalised(weights)


def within_classes(observed: Observation, smaller: Observation) -> Enclosure:
    """Floats around H(W | class), which a release can say of W beside what it says of the class.

    Examples
    --------
    >>> observed = Observation(JointDistribution.normalised([[1, 3, 0, 1], [2, 1, 0, 2]]), None)
    >>> smaller = Observation(joint_of_classes(observed, classes_of(observed)), None)
    >>> low, high = within_classes(observed, smaller)
    >>> low <= 0.6 * math.log(2) <= high
    True
    """
    whole, of_class = entropy_enclosure(observed.weights), entropy_enclosure(smaller.weights)
    return (
        enclose(Fraction(whole[0]) - Fraction(of_class[1]))[0],
        enclose(Fraction(whole[1]) - Fraction(of_class[0]))[1],
    )

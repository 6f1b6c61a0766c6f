"""Small problems of local information privacy, with optima that are public or exact."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from privopt.core.problem import Example, Problem
from privopt.models import JointDistribution, ObservedJoint
from privopt.models.ambiguity.joint import JointAmbiguity
from privopt.models.channel_data import Release

LECTURE_TABLE = (
    (394, 306, 463, 463, 204, 317, 328, 317, 134),
    (438, 47, 466, 235, 442, 17, 366, 83, 22),
    (61, 135, 76, 387, 383, 410, 359, 341, 47),
    (441, 264, 469, 69, 464, 451, 190, 15, 398),
)
"""The 4 x 9 joint table of the lectures on privacy-utility trade-offs, in units of 1e-4 (it sums to 10002)."""

BITS = math.log(2)


def lecture_joint() -> JointDistribution:
    """The lectures' table, divided by its exact sum."""
    return JointDistribution.normalised(LECTURE_TABLE)


def examples(make: Callable[..., Problem[Release]]) -> tuple[Example[Release], ...]:
    """Easiest first, each made by the class of the problem."""
    binary = JointDistribution.normalised([[3, 1], [1, 3]])
    small = JointDistribution.normalised([[5, 2, 1], [1, 3, 4]])
    equal = JointDistribution.normalised([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    hamming = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    three = JointDistribution.normalised([[5, 2, 1], [1, 3, 4], [2, 2, 2]])
    lecture = lecture_joint()
    r = math.exp(1.0)
    near = JointAmbiguity.total_variation(JointDistribution.normalised([[4, 1], [1, 4]]), Fraction(1, 10))
    return (
        Example("binary", make(binary, epsilon=0.2), _binary_optimum(0.2)),
        Example(
            "nothing-to-hide",
            make(JointDistribution.normalised([[1, 2], [2, 4]]), epsilon=0.0),
            _entropy(1 / 3),
        ),
        Example("equal-ldp-hamming", make(equal, epsilon=1.0, notion="ldp", utility=hamming), -2 / (r + 2)),
        Example(
            "equal-lip-hamming", make(equal, epsilon=0.5, utility=hamming), -_lip_hamming(3, math.exp(0.5))
        ),
        Example("small", make(small, epsilon=0.3)),
        Example("small-upper", make(small, upper=0.2)),
        Example("intervals", make(small, epsilon=1.0, contiguous=True), _entropy(5 / 16)),
        Example(
            "itself",
            make(JointDistribution.normalised([[3, 0, 0], [0, 2, 0], [0, 0, 1]]), epsilon=1.0, notion="ldp"),
        ),
        Example("small-delta", make(small, epsilon=0.3, delta=0.05)),
        Example("small-delta-hamming", make(small, epsilon=0.3, delta=0.05, utility=hamming)),
        Example("perfect", make(lecture, epsilon=0.0), 1.289061481511739 * BITS),
        Example("lecture", make(lecture, epsilon=1.0), 2.757543035553 * BITS),
        Example("set", make(JointAmbiguity.total_variation(small, Fraction(1, 20)), epsilon=0.3)),
        Example("counted", make(JointAmbiguity.from_counts([[300, 200], [100, 400]]), epsilon=0.3)),
        Example(
            "set-hamming",
            make(near, epsilon=0.5, notion="ldp", utility=[[0, 1], [1, 0]]),
            -_near_hamming(0.1, 0.5),
        ),
        Example("by-value", make(small, upper=(0.1, math.inf), lower=(0.3, 0.5))),
        Example("by-value-hamming", make(small, upper=(0.1, math.inf), utility=hamming)),
        Example("l1", make(small, epsilon=0.25, notion="l1")),
        Example("l1-hamming", make(small, epsilon=0.25, notion="l1", utility=hamming)),
        Example("chi2", make(binary, epsilon=0.09, notion="chi2"), math.log(2) - _entropy(0.2)),
        Example("chi2-hamming", make(three, epsilon=0.1, notion="chi2", utility=hamming)),
        Example(
            "average", make(binary, epsilon=_information(0.65), notion="average"), math.log(2) - _entropy(0.2)
        ),
        Example("full-data", make(ObservedJoint.full_data(small), epsilon=0.3)),
    )


def _entropy(p: float) -> float:
    return -p * math.log(p) - (1 - p) * math.log(1 - p)


def _information(p: float) -> float:
    """What a bit of probability p says less than a fair one: ln 2 - h(p)."""
    return math.log(2) - _entropy(p)


def _binary_optimum(epsilon: float) -> float:
    """S and X uniform bits that agree with probability 3/4: the two extreme posteriors have the lower lift tight.

    P(S=0 | v) = 1/4 + v/2 for v = P(X=0 | y), so e^-epsilon / 2 <= 1/4 + v/2 gives v >= e^-epsilon - 1/2
    and 1 - v by symmetry; the upper bound e^epsilon / 2 is looser as e^epsilon - 1 >= 1 - e^-epsilon.
    """
    return math.log(2) - _entropy(math.exp(-epsilon) - 0.5)


def _near_hamming(d: float, epsilon: float) -> float:
    """Least Hamming error for X uniform on 2 where S flips it with a probability of d or more.

    Randomised response of X with error e is one of S with error e + d - 2 e d, which may be as small as 1 / (1 + e^epsilon).
    """
    return (1 / (1 + math.exp(epsilon)) - d) / (1 - 2 * d)


def _lip_hamming(n: int, r: float) -> float:
    """Least Hamming error for S = X uniform on n and lifts in [1/r, r]."""
    return 1 - min(r, n - (n - 1) / r) / n

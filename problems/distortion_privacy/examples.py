"""Small questions on distortion and leakage, with optima in closed form where there is one."""

from __future__ import annotations

import math

from privopt.core.problem import Example
from privopt.models import JointDistribution, ObservedJoint
from privopt.models.channel_data import Release
from privopt.problems.distortion_privacy.problem import DistortionPrivacy


def examples() -> tuple[Example[Release], ...]:
    """Easiest first."""
    ask = DistortionPrivacy
    equal = JointDistribution.normalised([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    small = JointDistribution.normalised([[5, 2, 1], [1, 3, 4]])
    steps = JointDistribution.normalised([[2, 2, 0], [0, 2, 2]])
    hamming = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    squared = [[0, 1, 4], [1, 0, 1], [4, 1, 0]]
    full = ObservedJoint.full_data(JointDistribution.normalised([[3, 1], [1, 2]]))
    return (
        Example("rate", ask(equal, hamming, max_distortion=0.2), -_rate(3, 0.2)),
        Example("distortion-at-rate", ask(equal, hamming, max_leakage=_rate(3, 0.25)), -0.25),
        Example(
            "maximal", ask(equal, hamming, max_distortion=0.25, leakage="maximal_leakage"), -math.log(2.25)
        ),
        Example(
            "order-two",
            ask(equal, hamming, max_distortion=0.2, leakage="sibson", alpha=2.0),
            -_symmetric(3, 0.2, 2.0),
        ),
        Example("ldp", ask(equal, hamming, max_distortion=0.5, leakage="ldp"), -math.log(2)),
        Example("lip", ask(equal, hamming, max_leakage=0.5, leakage="lip"), -_lip_error(3, math.exp(0.5))),
        Example("nothing-leaks", ask(steps, hamming, max_leakage=0.0), -0.25),
        Example("constant", ask(small, hamming, max_distortion=1.0), 0.0),
        Example("small", ask(small, squared, max_distortion=0.25)),
        Example("full-data", ask(full, [[0, 1], [1, 0]], max_leakage=0.01)),
    )


def _rate(n: int, error: float) -> float:
    """Rate of a uniform source at a Hamming error: ln n - h(error) - error ln(n - 1) (Shannon)."""
    h = -error * math.log(error) - (1 - error) * math.log(1 - error)
    return math.log(n) - h - error * math.log(n - 1)


def _symmetric(n: int, error: float, order: float) -> float:
    """Sibson's information of the symmetric channel with that error at a uniform input."""
    inner = ((1 - error) ** order + (n - 1) * (error / (n - 1)) ** order) / n
    return order / (order - 1) * math.log(n * inner ** (1 / order))


def _lip_error(n: int, r: float) -> float:
    """Least Hamming error for S = X uniform on n and lifts in [1/r, r]."""
    return 1 - min(r, n - (n - 1) / r) / n

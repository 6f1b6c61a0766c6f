"""Small funnels and bottlenecks, with optima that are public or exact."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from privopt.core.problem import Example, Problem
from privopt.models import JointDistribution
from privopt.models.ambiguity.joint import JointAmbiguity
from privopt.models.channel_data import Release
from privopt.problems.local_information_privacy.examples import BITS, lecture_joint

Make = Callable[..., Problem[Release]]
"""The class of the problems: its arguments are a joint distribution and options."""


def funnel_examples(make: Make) -> tuple[Example[Release], ...]:
    """Easiest first; the optima of "lecture" are certified to 3e-6 bits, hence their tolerance."""
    noisy = _noisy_bit(0.1)
    lecture = lecture_joint()
    small = JointDistribution.normalised([[5, 2, 1, 3], [1, 3, 4, 2]])
    theta = 0.5 * math.log(2)
    return (
        Example("noisy-bit", make(noisy, min_utility=theta), -theta * (1 - _bits(0.1))),
        Example(
            "independent",
            make(JointDistribution.normalised([[1, 2], [2, 4]]), max_leakage=0.0),
            _nats(1 / 3),
        ),
        Example("nothing-free", make(noisy, max_leakage=0.0), 0.0),
        Example("nothing-leaked", make(small, max_leakage=0.0)),
        Example(
            "nothing-leaked-merging",
            make(JointDistribution.normalised([[3, 1, 2], [1, 3, 2]]), max_leakage=0.0, form="merging"),
            _nats(1 / 3),
        ),
        Example("everything", make(small, theta_fraction=1.0)),
        Example("nothing-leaks", make(lecture, theta_fraction=0.4), 0.0),
        Example("small-merging", make(small, theta_fraction=0.6, form="merging")),
        Example(
            "lecture-merging",
            make(lecture, theta_fraction=0.7, form="merging"),
            -0.0285650115037696 * BITS,
            1e-8,
        ),
        Example("lecture-weighed", make(lecture, trade_off=0.1, form="merging"), 0.199314338 * BITS, 1e-8),
        Example("lecture", make(lecture, theta_fraction=0.7), -0.0198045 * BITS, 2e-6),
        Example("small-capped", make(small, max_leakage=0.05)),
        Example("set-capped", make(JointAmbiguity.total_variation(small, Fraction(1, 50)), max_leakage=0.05)),
        Example("intervals", make(small, max_leakage=0.05, form="merging", contiguous=True)),
    )


def bottleneck_examples(make: Make) -> tuple[Example[Release], ...]:
    """Easiest first."""
    small = JointDistribution.normalised([[5, 2, 1], [1, 3, 4]])
    rate = 0.4 * math.log(2)
    return (
        Example("noisy-bit", make(_noisy_bit(0.1), max_rate=rate), _noisy_bottleneck(0.1, 0.6)),
        Example("small-weighed", make(small, trade_off=0.1)),
        Example("small-merging", make(small, trade_off=0.1, form="merging")),
        Example("small-rate", make(small, max_rate=0.3)),
    )


def _noisy_bit(p: float) -> JointDistribution:
    """X a fair bit, S the bit flipped with probability p."""
    return JointDistribution([[(1 - p) / 2, p / 2], [p / 2, (1 - p) / 2]])


def _nats(p: float) -> float:
    return -p * math.log(p) - (1 - p) * math.log(1 - p)


def _bits(p: float) -> float:
    return _nats(p) / math.log(2)


def _noisy_bottleneck(p: float, entropy: float) -> float:
    """Largest I(S;Y), ln 2 - h(p * a), for a with h2(a) = ``entropy`` bits (Mrs. Gerber's lemma), nats; a by bisection."""
    low, high = 0.0, 0.5
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if middle == 0 or _bits(middle) < entropy else (low, middle)
    a = (low + high) / 2
    return math.log(2) - _nats(p * (1 - a) + a * (1 - p))

"""Small problems on sequences; optima are public values of a single release, or of independent letters."""

from __future__ import annotations

import math
from collections.abc import Callable

from privopt.core.problem import Example, Problem
from privopt.mechanisms.policy.policy import SequencePolicy
from privopt.models import MarkovChain


def examples(ask: Callable[..., Problem[SequencePolicy]]) -> tuple[Example[SequencePolicy], ...]:
    """Easiest first; Hamming error a letter unless said otherwise.

    The values of batches allow 1e-7: a policy keeps 2^-24 nats back for the rounding of its kernels.
    """
    weather = MarkovChain([[0.8, 0.2], [0.3, 0.7]], [0.5, 0.5])
    coin = MarkovChain([[0.5, 0.5], [0.5, 0.5]])
    biased = MarkovChain([[0.6, 0.4], [0.6, 0.4]])
    letter = MarkovChain([[0.3, 0.25, 0.2, 0.15, 0.1]] * 5)
    line = MarkovChain([[0.1, 0.3, 0.3, 0.2, 0.1]] * 5)
    fresh = MarkovChain([[0.7, 0.1, 0.2], [0.2, 0.6, 0.2], [0.2, 0.1, 0.7]])
    near = MarkovChain([[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.1, 0.2, 0.7]])
    return (
        Example("one-letter", ask(letter, 1.0, horizon=1), -0.38448138875788973, 1e-7),
        Example("fair-coin", ask(coin, 0.5, horizon=6), -0.5 * math.exp(-0.5), 1e-7),
        Example("independent", ask(biased, 0.5, horizon=4), -0.29113471666206403, 1e-7),
        Example("without-end", ask(biased, 0.5, horizon=math.inf), -0.29113471666206403, 1e-7),
        Example("nothing-leaks", ask(biased, 0.0, horizon=3), -0.4),
        Example("everything", ask(weather, math.inf, horizon=3), 0.0),
        Example("line", ask(line, 1.0, distortion="l1", horizon=2), -0.5310914970542981, 1e-6),
        Example("two-words", ask(weather, 0.5, batch=2, horizon=2), -0.24819150640920878, 1e-7),
        Example("three-words", ask(weather, 2 / 3, batch=3, horizon=3), -0.09449394617421311, 1e-7),
        Example("five-words", ask(weather, 0.5, batch=5, horizon=5), -0.09058187033971153, 1e-7),
        Example("five-coins", ask(coin, 0.5, batch=5, horizon=5), -0.1489979435741723, 1e-7),
        Example("weather", ask(weather, 0.5, horizon=5)),
        Example("weather-words", ask(weather, 0.5, batch=2, horizon=5)),
        Example("stays", ask(fresh, 0.8, horizon=2)),
        Example("walk", ask(near, 1.0, distortion="squared", horizon=2)),
        Example("messages", ask(weather, 0.5, horizon=3, messages=2)),
    )

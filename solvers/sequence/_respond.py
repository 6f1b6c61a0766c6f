"""Randomised response on words, and how much a sequence of independent responses leaks."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from privopt.arrays import Floats
from privopt.measures.sequence.leakage import sequence_leakage
from privopt.mechanisms.policy.fixed import exp, total
from privopt.mechanisms.policy.rules import Setting
from privopt.models import MarkovChain

MOST = 2**13
"""Of the enumeration: sequences of releases times states."""


def response(n: int, epsilon: float) -> tuple[float, float]:
    """Probability of the letter itself, and of each other one.

    Examples
    --------
    >>> response(3, math.log(2))
    (0.5, 0.25)
    """
    low = exp(-epsilon)
    true = 1.0 / (1.0 + (n - 1) * low)
    return true, low * true


def respond(setting: Setting, beliefs: Floats, epsilon: float) -> Floats:
    """Randomised response at epsilon a letter, each letter of a word on its own: the same kernel for every belief.

    Words that cannot occur are not released: their probability is shared by the others.
    """
    true, other = response(len(setting.letters), epsilon)
    words = setting.paths.words
    apart = (words[:, None, :] != words[None, :, :]).sum(axis=2)
    same, changed = (np.cumprod([1.0] + [p] * words.shape[1]) for p in (true, other))
    kernel = same[words.shape[1] - apart] * changed[apart]
    kernel /= total(kernel)[:, None]
    return np.broadcast_to(kernel, (len(beliefs), *kernel.shape))


def sequence_level(chain: MarkovChain, steps: int, epsilon: float) -> float:
    """What sequences of independent responses leak, exactly.

    Examples
    --------
    >>> chain = MarkovChain([[0.8, 0.2], [0.3, 0.7]], initial=[0.5, 0.5])
    >>> round(sequence_level(chain, 6, 0.7), 9)
    3.068908687
    """
    n = len(chain.letters)
    true, other = response(n, epsilon)
    return sequence_leakage(chain, other + (true - other) * np.eye(n), steps)


def steps_within(chain: MarkovChain, horizon: int) -> int:
    """How many letters of a horizon can be enumerated."""
    n = max(2, len(chain.letters))
    return max(1, min(horizon, int(math.log(max(MOST / chain.k, n)) / math.log(n))))


@lru_cache(maxsize=256)
def calibrated(chain: MarkovChain, epsilon: float) -> tuple[float, int]:
    """The epsilon of randomised response whose sequences leak ``epsilon`` a letter, and over how many letters.

    Sequences leak less than the sum of what their letters leak, so it is above the epsilon given. It is found by halving, to
    1e-9, and for as many letters as can be enumerated.

    Examples
    --------
    >>> found, steps = calibrated(MarkovChain([[0.5, 0.5], [0.5, 0.5]]), 0.5)
    >>> bool(found > 0.5), steps
    (True, 12)
    """
    steps = steps_within(chain, chain.max_length or 16)
    low, high = epsilon, 2.0 * epsilon + 1e-9
    while sequence_level(chain, steps, high) < steps * epsilon and high < 50.0:
        low, high = high, 2.0 * high
    while high - low > 1e-9 * max(1.0, epsilon):
        middle = 0.5 * (low + high)
        low, high = (
            (low, middle) if sequence_level(chain, steps, middle) > steps * epsilon else (middle, high)
        )
    return low, steps

"""Batches of independent letters, all alike likely, and Hamming distortion: the optimum without listing a word."""

from __future__ import annotations

import math

import numpy as np

from privopt.arrays import Floats
from privopt.mechanisms.policy.hamming_cases import Levels


def taken_shares(letters: int, length: int, epsilon: float) -> Floats:
    """Which share of a group lies at each distance 0, 1, ... from its release, nearest words first; sums to 1.

    A group holds theta = 1 / (e^epsilon + 1) of the mass. Numbers of words are exact integers, their ratios to theta
    are taken by logarithms, so that neither underflows.

    Examples
    --------
    >>> taken_shares(2, 5, 2.5).round(4).tolist()
    [0.412, 0.588]
    """
    whole = length * math.log(letters) - epsilon - math.log1p(math.exp(-epsilon))
    words, around, shares, filled = 1, 0, [], 0.0
    for distance in range(length + 1):
        around += words
        upto = math.exp(min(math.log(around) - whole, 0.0))
        shares.append(upto - filled)
        filled = upto
        if filled >= 1.0:
            break
        words = words * (length - distance) * (letters - 1) // (distance + 1)
    shares[-1] += 1.0 - filled
    return np.array(shares)


def uniform_value(letters: int, length: int, epsilon: float) -> float:
    """The least expected share of wrong letters.

    Every word is a release of the same probability, and its group is the nearest mass theta of words: no kernel may
    put more than that near to it.

    Examples
    --------
    >>> round(uniform_value(2, 5, 2.5), 15), uniform_value(2, 3, 0.0)
    (0.148997943574172, 0.5)
    """
    if letters == 1:
        return 0.0
    levels = Levels.of(epsilon)
    blind = (letters - 1) / letters
    if epsilon == 0:
        return blind
    shares = taken_shares(letters, length, epsilon)
    return levels.low * blind + levels.room * float(shares @ np.arange(len(shares))) / length

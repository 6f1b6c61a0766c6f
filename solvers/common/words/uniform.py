"""Words of independent uniform letters: each release draws on the words that are nearest to it."""

from __future__ import annotations

import numpy as np

from privopt.arrays import Floats
from privopt.measures.sequence.uniform_batch import taken_shares, uniform_value
from privopt.solvers.common.words.answer import WordAnswer, finish, release_everything


def uniform_words(p: Floats, cost: Floats, letters: int, length: int, epsilon: float) -> WordAnswer:
    """The optimal kernel for all words of ``length`` letters, alike likely, and the mean Hamming distortion.

    K puts the share ``taken_shares`` of a word at each distance, evenly. By symmetry equal prices prove the optimum.

    Examples
    --------
    >>> cost = np.array([[0, 0.5, 0.5, 1], [0.5, 0, 1, 0.5], [0.5, 1, 0, 0.5], [1, 0.5, 0.5, 0]])
    >>> found = uniform_words(np.full(4, 0.25), cost, 2, 2, 1.0)
    >>> found.gap < 1e-9
    True
    """
    known = release_everything(p, cost, epsilon)
    if known is not None:
        return known
    shares = taken_shares(letters, length, epsilon)
    apart = np.rint(cost * length).astype(np.int64)
    around = np.bincount(apart[0], minlength=length + 1)
    step = (np.pad(shares, (0, length + 1 - len(shares))) / around)[apart]
    lam = np.full(len(p), uniform_value(letters, length, epsilon))
    return finish(p, cost, epsilon, step, lam, 0, "closed form")

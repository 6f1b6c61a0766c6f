"""Words of independent letters of one law: the programme over joint types, written out word by word."""

from __future__ import annotations

from itertools import product

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.measures.sequence.joint_types import JointTypes, joint_types
from privopt.measures.sequence.orbit_programme import solve_orbits
from privopt.solvers.common.words.answer import WordAnswer, release_everything, settle


def orbit_words(p: Floats, words: Ints, letter_cost: Floats, epsilon: float) -> WordAnswer | None:
    """The optimal kernel for all words of independent letters; None if the programme fails.

    Parameters
    ----------
    p : array (n,)
        A product law of positive letters.
    words : int array (n, w)
        All words, in lexicographic order.
    letter_cost : array (letters, columns)
    epsilon : float
        Budget of the batch in nats, >= 0, perhaps inf.

    Examples
    --------
    >>> words = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> found = orbit_words(np.array([0.49, 0.21, 0.21, 0.09]), words, 1 - np.eye(2), 1.0)
    >>> found.gap < 1e-9
    True
    """
    letters, columns = letter_cost.shape
    length = words.shape[1]
    releases = np.array(list(product(range(columns), repeat=length)))
    pairs = [letter_cost[words[:, i]][:, releases[:, i]] for i in range(length)]
    cost = np.asarray(sum(pairs) / length)
    known = release_everything(p, cost, epsilon)
    if known is not None:
        return known
    types = joint_types(letters, columns, length)
    law = np.array([p[words[:, 0] == a].sum() for a in range(letters)])
    unit = float(np.abs(cost).max()) or 1.0
    found = solve_orbits(types, types.law(law), types.cost(letter_cost / unit), epsilon)
    if found is None:
        return None
    which = _which(types, words, releases)
    here = np.bincount(types.source[which[:, 0]], minlength=len(types.inputs))
    ways = np.bincount(which.ravel(), minlength=len(types.source)) / here[types.source]
    kernel = (found.kernel / np.maximum(ways, 1.0))[which]
    lam = unit * found.lam[types.source[which[:, 0]]]
    return settle(p, cost, epsilon, kernel, lam, found.iterations, "optimal")


def _which(types: JointTypes, words: Ints, releases: Ints) -> Ints:
    """Joint type of every pair of words, by a sum of random weights that tells all types apart."""
    weights = np.random.default_rng(0).integers(2**50, size=types.tables.shape[1:])
    keys = (types.tables * weights).sum(axis=(1, 2))
    order = np.argsort(keys)
    pairs = sum(weights[words[:, i]][:, releases[:, i]] for i in range(words.shape[1]))
    return np.asarray(order[np.searchsorted(keys[order], pairs)])

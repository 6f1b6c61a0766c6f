"""An upper bound on the ratio of two expectations over functions that change by one bounded factor."""

from __future__ import annotations

import numpy as np

from privopt.measures._bayesian_kernels import Floats


def coarse_step(kernel: Floats, change: Floats) -> Floats:
    """Largest B[x].F / B[x'].F over F > 0 whose values differ by at most the largest factor in C.

    Such an F takes two values, the larger one on the states with the largest B[x](u) / B[x'](u) (as in the
    Neyman-Pearson lemma). Every function that C allows is among them.

    Parameters
    ----------
    kernel : array (m, s, s)
        B: row x is the law of the next record given x.
    change : array (m, s, s)
        C; only the largest entry of each table is used.

    Returns
    -------
    array (m, s, s)
        Entry (x, x') of each table, >= 1.

    Examples
    --------
    >>> coarse_step(np.array([[[0.75, 0.25], [0.5, 0.5]]]), np.array([[[1.0, 2.0], [2.0, 1.0]]])).round(4)
    array([[[1.    , 1.1667],
            [1.2   , 1.    ]]])
    """
    first, second = np.triu_indices(kernel.shape[1], 1)
    columns = kernel.transpose(0, 2, 1)  # sums over states are fastest with the pairs last
    one, other = columns[:, :, first], columns[:, :, second]
    with np.errstate(divide="ignore", invalid="ignore"):
        # 0 / 0 changes nothing wherever it stands.
        order = np.argsort(other / one, axis=1)
    excess = change.max(axis=(1, 2))[:, None, None] - 1.0
    above = excess * np.take_along_axis(one, order, axis=1)
    below = excess * np.take_along_axis(other, order, axis=1)
    result = np.ones_like(kernel)
    result[:, first, second] = _best_start(above, below)
    result[:, second, first] = _best_start(below[:, ::-1], above[:, ::-1])
    return result


def _best_start(more: Floats, less: Floats) -> Floats:
    """Largest (1 + sum of more) / (1 + sum of less) over the first few states, or none."""
    ratios: Floats = ((1.0 + more.cumsum(axis=1)) / (1.0 + less.cumsum(axis=1))).max(axis=1)
    return np.maximum(ratios, 1.0)

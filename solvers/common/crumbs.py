"""Posteriors without crumbs: what drawing them inside by rounding's worth put where they are 0."""

from __future__ import annotations

import numpy as np

from privopt.arrays import Floats

CRUMB = 1e-10
"""Probability of a release at an observation, as a share of that on average, that is no part of an answer."""


def without_crumbs(posteriors: Floats, p: Floats) -> Floats:
    """Posteriors, a row each, with 0 where they are next to nothing: a repair on the support keeps the bounds as well.

    Examples
    --------
    >>> without_crumbs(np.array([[0.75, 0.25, 1e-14]]), np.array([0.25, 0.5, 0.25])).tolist()
    [[0.75, 0.25, 0.0]]
    """
    return np.asarray(posteriors * (posteriors > CRUMB * p))

"""Loaders of records of families: heights and test scores that do not ship, and scores that are made up.

Files are found and checked by :func:`privopt.benchmarks.registry.load_external`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from privopt.benchmarks.registry import load_external

if TYPE_CHECKING:
    from pandas import DataFrame


def galton() -> DataFrame:
    """Heights of 898 adult children and of their parents, a row a child.

    Returns
    -------
    pandas.DataFrame
        ``family``; ``father``, ``mother`` and ``child`` in inches. Children of one family share their parents' entries.

    Raises
    ------
    FileRefused
        If the file is missing or is not the one meant.
    """
    import pandas as pd

    frame = pd.read_csv(load_external("galton"), dtype={"family": str})
    return frame.rename(columns={"height": "child"})[["family", "father", "mother", "child"]]


def kidiq() -> DataFrame:
    """Test scores of 434 children and of their mothers, a row a pair.

    Returns
    -------
    pandas.DataFrame
        ``mother`` and ``child``.

    Raises
    ------
    FileRefused
        If the file is missing or is not the one meant.
    """
    import pandas as pd

    frame = pd.read_csv(load_external("kidiq"))
    return frame.rename(columns={"mom_iq": "mother", "kid_score": "child"})[["mother", "child"]]


def gaussian_families(
    groups: int, size: int, rho: float, mean: float = 100.0, sd: float = 15.0, seed: int = 0
) -> NDArray[np.float64]:
    """Made-up families of Gaussian records that are all equally correlated.

    Returns
    -------
    float array, shape (groups, size)

    Examples
    --------
    >>> scores = gaussian_families(10_000, 2, 0.45)
    >>> scores.shape, round(float(np.corrcoef(scores.T)[0, 1]), 2)
    ((10000, 2), 0.45)
    """
    covariance = sd * sd * (np.full((size, size), rho) + (1 - rho) * np.eye(size))
    return np.random.default_rng(seed).multivariate_normal(np.full(size, mean), covariance, size=groups)

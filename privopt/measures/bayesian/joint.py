"""The joint law of a few records as a table."""

from __future__ import annotations

from typing import SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from privopt.arrays import Floats
from privopt.errors import InvalidModel, InvalidProblem
from privopt.measures.bayesian._steps import checked_length
from privopt.models import MarkovChain


def joint_table(law: MarkovChain | ArrayLike, length: SupportsIndex | None, most: int) -> Floats:
    """Pr(X = x) as an array with one axis a record.

    Parameters
    ----------
    law : MarkovChain, or array with one axis a record
        The entries of an array are non-negative and sum to 1 within 1e-9.
    length : int, optional
        Number of records of a chain; of an array only its own.
    most : int
        Number of entries from which it is refused.

    Raises
    ------
    InvalidModel
        If an array is not a law.
    InvalidProblem
        If the length is missing, does not fit, or gives too many entries.

    Examples
    --------
    >>> joint_table(MarkovChain([[0.5, 0.5], [1, 0]]), 2, 100).round(4)
    array([[0.3333, 0.3333],
           [0.3333, 0.    ]])
    """
    if isinstance(law, MarkovChain):
        count = checked_length(law, length)
        if count is None:
            raise InvalidProblem("length is missing: a table needs the number of records")
        _affordable(
            law.k ** min(count, most.bit_length()), most
        )  # k**count of a billion records is no number
        return _of_chain(law, count)
    table = np.asarray(law, dtype=np.float64)
    if table.ndim == 0 or table.size == 0 or not (table >= 0).all() or abs(table.sum() - 1) > 1e-9:
        raise InvalidModel(
            f"a joint law needs non-negative entries that sum to 1, got shape {table.shape}, sum {table.sum()}"
        )
    if length is not None and length != table.ndim:
        raise InvalidProblem(f"length must be the table's {table.ndim} axes, got {length}")
    _affordable(table.size, most)
    scaled: Floats = table / table.sum()
    return scaled


def _affordable(size: int, most: int) -> None:
    if size > most:
        raise InvalidProblem(
            f"the joint law has {size} entries or more, {most} are allowed: take fewer records"
        )


def _of_chain(chain: MarkovChain, count: int) -> Floats:
    table = np.asarray(chain.initial)
    for t in range(count - 1):
        table = table[..., None] * chain.step(t)
    return table

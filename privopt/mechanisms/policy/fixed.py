"""Arithmetic that gives the same digits on every machine, and for a belief alone or among many.

IEEE 754 fixes each sum, product and quotient, but not the order of a matrix product, nor the last digit of an
exponential. Here sums run from first to last whatever the shape, the processor or its libraries, no product is fused with a
sum, and exponentials are rounded from 40 digits. Integer weights that are made of these are the same everywhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats

_PLAIN = Context(prec=40, Emin=-999999, Emax=999999, traps=[])
_FEW = 2**12
_MANY = 2**20
"""Cells of products that are written out before they are added, row by row: where there are few, or rows are long."""


@lru_cache(maxsize=1024)
def exp(x: float) -> float:
    """e^x, rounded from 40 digits.

    Examples
    --------
    >>> exp(0.0), exp(-1.0), exp(-1e9), exp(-math.inf), exp(1e4)
    (1.0, 0.36787944117144233, 0.0, 0.0, inf)
    """
    if x < -746.0:
        return 0.0
    return float(_PLAIN.exp(Decimal(x))) if x < 710.0 else math.inf


@lru_cache(maxsize=1024)
def lacking(epsilon: float) -> float:
    """1 - e^-epsilon for epsilon >= 0, rounded from at least 20 digits.

    Examples
    --------
    >>> lacking(0.0), lacking(1.0), lacking(1e-30), lacking(math.inf)
    (0.0, 0.6321205588285577, 1e-30, 1.0)
    """
    if epsilon > 746.0:
        return 1.0
    x = Decimal(epsilon)
    if epsilon > 1e-6:
        return float(_PLAIN.subtract(1, _PLAIN.exp(-x)))
    term, sum_of_terms = x, Decimal(0)  # x - x^2/2 + x^3/6 - ...: the fifth is below 1e-26 of the first
    for i in range(2, 7):
        sum_of_terms = _PLAIN.add(sum_of_terms, term)
        term = _PLAIN.multiply(term, _PLAIN.divide(-x, i))
    return float(sum_of_terms)


@dataclass(frozen=True)
class Levels:
    """The numbers that a budget fixes: L = e^-epsilon, 1 - L, and theta = L / (1 + L)."""

    low: float
    room: float
    theta: float

    @classmethod
    def of(cls, epsilon: float) -> Levels:
        """For epsilon >= 0 nats, perhaps inf.

        Examples
        --------
        >>> levels = Levels.of(float(np.log(2)))
        >>> round(levels.low, 12), round(levels.room, 12), round(levels.theta, 12)
        (0.5, 0.5, 0.333333333333)
        """
        low = exp(-epsilon)
        return cls(low, lacking(epsilon), low / (1 + low))


def total(values: Floats) -> Floats:
    """Sums along the last axis, from first to last.

    Examples
    --------
    >>> total(np.array([[0.25, 0.75], [1.0, 2.0]])).tolist()
    [1.0, 3.0]
    """
    count = values.shape[-1]
    if values.size < 64 * count:
        return np.asarray(np.add.accumulate(values, axis=-1)[..., -1])
    sums = values[..., 0].copy()
    for x in range(1, count):
        sums += values[..., x]
    return sums


def means(weights: Floats, values: Floats) -> Floats:
    """Sums over x of weights[u, x] values[u, x, y], from first to last; the values may be one table (n, m) for all.

    Examples
    --------
    >>> means(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[2.0, 3.0], [1.0, 2.0]]
    """
    table = values if values.ndim == 3 else values[None]
    (many, n), m = weights.shape, table.shape[2]
    cells = many * n * m
    if m > 1 and (cells <= _FEW or (m >= 32 and cells <= _MANY)):
        return np.asarray(np.add.reduce(weights[:, :, None] * table, axis=1))
    sums = weights[:, 0, None] * table[:, 0]
    for x in range(1, n):
        sums += weights[:, x, None] * table[:, x]
    return sums


def gathered(values: Floats, place: NDArray[np.int64], count: int) -> Floats:
    """Sums of the columns of a table (M, paths) by place, from first to last; shape (M, count).

    Examples
    --------
    >>> gathered(np.array([[1.0, 2.0, 4.0]]), np.array([1, 0, 1]), 3).tolist()
    [[2.0, 5.0, 0.0]]
    """
    many = len(values)
    at = (np.arange(many)[:, None] * count + place).ravel()
    sums = np.bincount(at, weights=values.ravel(), minlength=many * count)
    return np.asarray(sums, dtype=np.float64).reshape(many, count)

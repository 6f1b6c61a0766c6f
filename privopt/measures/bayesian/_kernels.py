"""Laws of the next unknown record of a chain given a target, for several adversaries at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privopt.arrays import Floats

_NOTHING = -(2**40)  # binary exponent of a zero
_FARTHEST = -2000  # a term this many binary orders below the largest is nothing


@dataclass(frozen=True, slots=True)
class Weights:
    """Non-negative numbers mantissa * 2**exponent, one row an adversary, which neither over- nor underflow.

    Entry (m, x) is what adversary m's knowledge beyond the present record weighs when that record is x: the
    probability that a known record takes its value, or the law of the first record. It is only used up to a factor.
    Sums run from the first state to the last, so that every processor gives the same bits.

    Examples
    --------
    >>> kernel, further = Weights.of([[1.0, 1.0]]).step(Weights.of([[0.75, 0.25], [0.5, 0.5]]))
    >>> kernel
    array([[[0.75, 0.25],
            [0.5 , 0.5 ]]])
    >>> further.supported
    array([[ True,  True]])
    """

    mantissa: Floats
    exponent: NDArray[np.int64]

    @classmethod
    def of(cls, values: ArrayLike) -> Self:
        """The same numbers, split, shape (m, s)."""
        mantissa, exponent = np.frexp(np.asarray(values, dtype=np.float64))
        return cls(mantissa, np.where(mantissa > 0, exponent.astype(np.int64), _NOTHING))

    @classmethod
    def nearest(cls, rows: Sequence[Sequence[Fraction]]) -> Self:
        """Rationals, each rounded once, however small.

        Examples
        --------
        >>> Weights.nearest([[Fraction(3, 2**2000)]])
        Weights(mantissa=array([[0.75]]), exponent=array([[-1998]]))
        """
        parts = [[_split(value) for value in row] for row in rows]
        mantissa = np.array([[m for m, _ in row] for row in parts], dtype=np.float64)
        return cls(mantissa, np.array([[e for _, e in row] for row in parts], dtype=np.int64))

    @property
    def T(self) -> Weights:
        """Rows and columns exchanged."""
        return Weights(self.mantissa.T, self.exponent.T)

    @property
    def supported(self) -> NDArray[np.bool_]:
        """Which entries are positive, shape (m, s)."""
        return self.mantissa > 0

    def step(self, weights: Weights) -> tuple[Floats, Weights]:
        """One record further from what is known.

        Parameters
        ----------
        weights : Weights of shape (s, s)
            Entry (x, u): how likely the next record is u when the new present one is x, up to a factor.

        Returns
        -------
        kernel : array (m, s, s)
            Law of the next record u given the present one x; a row of zeros where x is impossible. A term of less
            than 2^-1074 of the largest one of its row is lost.
        further : Weights
            For the new present record.
        """
        possible = weights.supported & self.supported[:, None, :]
        exponent = np.where(possible, weights.exponent + self.exponent[:, None, :], _NOTHING)
        largest = exponent.max(axis=2)
        shift = np.maximum(exponent - largest[:, :, None], _FARTHEST)
        terms = np.ldexp(np.where(possible, weights.mantissa * self.mantissa[:, None, :], 0.0), shift)
        total = added(terms)
        kernel = terms / np.where(total > 0, total, 1.0)[:, :, None]
        mantissa, more = np.frexp(total)
        return kernel, Weights(mantissa, np.where(total > 0, largest + more, _NOTHING))

    def joined(self, other: Weights) -> Weights:
        """The adversaries of both."""
        return Weights(
            np.concatenate([self.mantissa, other.mantissa]), np.concatenate([self.exponent, other.exponent])
        )

    def spread(self) -> float:
        """Largest ratio of two entries of one row; inf where one is zero or they are 1000 binary orders apart."""
        low, high = self.exponent.min(axis=1), self.exponent.max(axis=1)
        if not self.supported.all() or (high - low).max() > 1000:
            return np.inf
        rows = np.ldexp(self.mantissa, self.exponent - high[:, None])
        return float((rows.max(axis=1) / rows.min(axis=1)).max())


def added(terms: Floats) -> Floats:
    """Sums along the last axis, from the first term to the last."""
    total: Floats = terms[..., 0].copy()
    for i in range(1, terms.shape[-1]):
        total += terms[..., i]
    return total


def _split(value: Fraction) -> tuple[float, int]:
    """A rational as mantissa and binary exponent, the mantissa rounded once."""
    if not value:
        return 0.0, _NOTHING
    size = value.numerator.bit_length() - value.denominator.bit_length()
    scaled = Fraction(value.numerator << max(0, -size), value.denominator << max(0, size))
    mantissa, exponent = np.frexp(float(scaled))
    return float(mantissa), int(exponent) + size

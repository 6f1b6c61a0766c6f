"""Sequences of several users as two arrays, which travel to a worker in one go and with few bytes a letter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Packed:
    """Positions of letters, user after user.

    Parameters
    ----------
    codes : array (letters,)
        In the smallest unsigned integers that hold them.
    lengths : array (users,)

    Examples
    --------
    >>> packed = Packed.of([np.array([0, 2]), np.array([], dtype=np.int64), np.array([1])])
    >>> packed.codes.nbytes, [codes.tolist() for codes in packed.sequences()]
    (3, [[0, 2], [], [1]])
    """

    codes: NDArray[Any]
    lengths: NDArray[np.int64]

    @classmethod
    def of(cls, sequences: Sequence[NDArray[np.int64]]) -> Self:
        """Pack one sequence a user; letters are positions, not negative."""
        codes = np.concatenate([np.zeros(0, dtype=np.int64), *sequences])
        lengths = np.array([len(one) for one in sequences], dtype=np.int64)
        return cls(codes.astype(np.min_scalar_type(int(codes.max(initial=0)))), lengths)

    def sequences(self) -> list[NDArray[np.int64]]:
        """One array a user again."""
        return (
            np.split(self.codes.astype(np.int64), np.cumsum(self.lengths)[:-1]) if len(self.lengths) else []
        )

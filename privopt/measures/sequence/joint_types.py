"""Pairs of words of independent letters, counted by type: how often each letter of one faces each letter of the other.

A permutation of the positions of a word changes neither its probability nor a distortion that is a mean over
positions. So an optimal kernel may be taken to depend on the joint type of the two words only: C(w + 3, 3) numbers
for two letters instead of 4^w.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class JointTypes:
    """Joint types of an input word and an output word of w letters.

    Parameters
    ----------
    inputs, outputs : int array (types, letters)
        How often each letter occurs in an input, in an output.
    tables : int array (joint types, letters, output letters)
        How often each pair of letters occurs.
    source, target : int array (joint types,)
        Rows of ``inputs`` and ``outputs``.
    share : array (joint types,)
        For an input word of its type and an output drawn evenly from those of its type: the chance of this joint type.
    """

    inputs: Ints
    outputs: Ints
    tables: Ints
    source: Ints
    target: Ints
    share: Floats

    @property
    def length(self) -> int:
        """Letters in a word."""
        return int(self.inputs[0].sum())

    def law(self, letters: Floats) -> Floats:
        """Probability of each type of input for letters of positive probability; shape (input types,)."""
        logs = _log_multinomial(self.inputs) + self.inputs @ np.log(letters)
        return np.asarray(np.exp(logs))

    def cost(self, letter_cost: Floats) -> Floats:
        """Mean distortion of the letters, shape (joint types,)."""
        return np.asarray((self.tables * letter_cost).sum(axis=(1, 2)) / self.length)


def count_joint_types(letters: int, outputs: int, length: int) -> int:
    """How many joint types there are.

    Examples
    --------
    >>> count_joint_types(2, 2, 30)
    5456
    """
    cells = letters * outputs
    return math.comb(length + cells - 1, cells - 1)


def joint_types(letters: int, outputs: int, length: int) -> JointTypes:
    """List the joint types.

    Examples
    --------
    >>> found = joint_types(2, 2, 2)
    >>> len(found.tables), found.inputs.tolist()
    (10, [[0, 2], [1, 1], [2, 0]])
    >>> np.bincount(found.source, weights=found.share).round(12).tolist()  # one for each of the 3 output types
    [3.0, 3.0, 3.0]
    """
    tables = compositions(length, letters * outputs).reshape(-1, letters, outputs)
    inputs, source = _distinct(tables.sum(axis=2))
    kinds, target = _distinct(tables.sum(axis=1))
    ways = sum(_log_multinomial(tables[:, a]) for a in range(letters))
    share = np.exp(ways - _log_multinomial(kinds)[target])
    return JointTypes(inputs, kinds, tables, source, target, np.asarray(share))


def compositions(total: int, parts: int) -> Ints:
    """All ways to write ``total`` as an ordered sum of ``parts`` numbers >= 0; shape (ways, parts).

    Examples
    --------
    >>> compositions(2, 2).tolist()
    [[0, 2], [1, 1], [2, 0]]
    """
    found, left = np.zeros((1, 0), dtype=np.int64), np.array([total])
    for _ in range(parts - 1):
        counts = left + 1
        begins = np.cumsum(counts) - counts
        here = np.arange(counts.sum()) - np.repeat(begins, counts)
        found = np.column_stack([np.repeat(found, counts, axis=0), here])
        left = np.repeat(left, counts) - here
    return np.column_stack([found, left])


def _distinct(rows: Ints) -> tuple[Ints, Ints]:
    kinds, where = np.unique(rows, axis=0, return_inverse=True)
    return kinds, np.asarray(where, dtype=np.int64).ravel()


def _log_multinomial(counts: Ints) -> Floats:
    """Ln of (sum of a row)! / product of the factorials; exact integers below 2^53."""
    top = int(counts.sum(axis=1).max(initial=0))
    logs = np.array([math.lgamma(k + 1) for k in range(top + 1)])
    return np.asarray(logs[counts.sum(axis=1)] - logs[counts].sum(axis=1))

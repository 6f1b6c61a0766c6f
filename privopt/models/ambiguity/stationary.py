"""What holds of every stationary chain whose rows lie in sets: its distribution, and its rows backward.

Between two visits of a state i, a chain that may choose its rows anew is a Markov decision process: the probability that it comes
back to i from j is P(before = j | now = i) of the stationary chain of fixed rows, and the expected time of return is 1 / P(i). Both
have their extremes at fixed rows. Floats propose a value for each state; one that no row of the sets improves is a bound,
which is checked in integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from privopt.arrays import Floats
from privopt.models.ambiguity.row_set import RowSet

_SCALE = 1 << 60
"""What values of states are written over."""
_SLACK = 1 << 14
"""The first margin, over the scale, by which a value is enlarged to be a bound."""


def irreducible(rows: Sequence[RowSet]) -> bool:
    """Whether each chain with its rows in these sets leads from every state to every other.

    Sufficient: the transitions that no row of the sets excludes do so.

    Examples
    --------
    >>> irreducible([RowSet.interval([0, 0.5], [0.5, 1]), RowSet.interval([0.5, 0], [1, 0.5])])
    True
    """
    k = len(rows)
    sure = [[rows[i].smallest(_unit(k, j))[0] > 0 for j in range(k)] for i in range(k)]
    reach = np.array(sure) | np.eye(k, dtype=np.bool_)
    for _ in range(k.bit_length()):
        reach = reach.astype(np.float64) @ reach > 0
    return bool(reach.all())


def backward_rows(rows: Sequence[RowSet]) -> tuple[RowSet, ...]:
    """Sets that hold the rows P(before | now) of every stationary chain with its rows in some sets.

    Two states: the sets themselves, as a stationary chain of two states is reversible.

    Parameters
    ----------
    rows : sequence of RowSet, length k
        Sets of P(next | now).

    Examples
    --------
    >>> rows = [RowSet.total_variation(row, 0) for row in ([0.5, 0.5, 0], [0.25, 0.5, 0.25], [0, 0.5, 0.5])]
    >>> [round(float(end), 12) for end in backward_rows(rows)[0].upper]
    [0.5, 0.5, 0.0]
    """
    k = len(rows)
    if k <= 2:
        return tuple(rows)
    if not irreducible(rows):
        return (RowSet.all(k),) * k
    return tuple(_backward_row(rows, i) for i in range(k))


def stationary_distributions(rows: Sequence[RowSet]) -> RowSet:
    """A set that holds the stationary distribution of every chain with its rows in some sets.

    Examples
    --------
    >>> stationary_distributions([RowSet.interval([0.5, 0.25], [0.75, 0.5]), RowSet.total_variation([0.5, 0.5], 0)]).upper
    (Fraction(2, 3), Fraction(1, 2))
    """
    k = len(rows)
    if k == 1 or not irreducible(rows):
        return RowSet.all(k)
    if k == 2:
        return _of_two(rows)
    ends = []
    for i in range(k):
        longest = _most(rows, i, [[1] * k] * k)
        shortest = -_most(rows, i, [[-1] * k] * k)
        ends.append((1 / longest, min(Fraction(1), 1 / max(shortest, Fraction(1)))))
    return RowSet.interval([low for low, _ in ends], [high for _, high in ends])


def _of_two(rows: Sequence[RowSet]) -> RowSet:
    """Of two states: a / (a + b) at the corners, with a and b the probabilities of leaving."""
    leave = []
    for row, value in zip(rows, ([0, 1], [1, 0]), strict=True):
        leave.append(
            [Fraction(end, row.denominator) for end in (row.smallest(value)[0], row.largest(value)[1])]
        )
    (a, most_a), (b, most_b) = leave
    low, high = a / (a + most_b), most_a / (most_a + b)
    return RowSet.interval([1 - high, low], [1 - low, high])


def _backward_row(rows: Sequence[RowSet], i: int) -> RowSet:
    """Bounds of P(before = j | now = i) for each j."""
    k = len(rows)
    low, high = [], []
    for j in range(k):
        if rows[j].largest(_unit(k, i))[1] == 0:
            low.append(Fraction(0))
            high.append(Fraction(0))
            continue
        last = [[int(s == j and t == i) for t in range(k)] for s in range(k)]
        other = [[int(s != j and t == i) for t in range(k)] for s in range(k)]
        high.append(min(Fraction(1), _most(rows, i, last)))
        low.append(max(Fraction(0), 1 - _most(rows, i, other)))
    return RowSet.interval(low, high)


def _most(rows: Sequence[RowSet], i: int, reward: Sequence[Sequence[int]]) -> Fraction:
    """A number at least the expected sum of rewards reward[s][t], of the steps from s to t, from i until the return to i.

    Only steps that enter i end the sum; the rows may be chosen anew at every step.
    """
    k = len(rows)
    paid = np.array(reward, dtype=np.float64)
    values = _solved(rows, i, paid)
    times = values if paid.min() >= 1 else _solved(rows, i, np.ones((k, k)))
    slack = _SLACK
    while True:  # a margin of the rounding of floats is enough, as an expected time falls by 1 a step
        proposed = [
            0 if s == i else int(v * _SCALE) + int(slack * t)
            for s, (v, t) in enumerate(zip(values, times, strict=True))
        ]
        if all(_ahead(rows[s], s, proposed, reward) <= proposed[s] for s in range(k) if s != i):
            return _ahead(rows[i], i, proposed, reward) / _SCALE
        slack *= 2


def _ahead(row: RowSet, s: int, values: Sequence[int], reward: Sequence[Sequence[int]]) -> Fraction:
    """The largest expectation, over the rows of state s, of the reward of a step and the value after it."""
    column = [value + own * _SCALE for value, own in zip(values, reward[s], strict=True)]
    return Fraction(row.largest(column)[1], row.denominator)


def _solved(rows: Sequence[RowSet], i: int, reward: Floats) -> Floats:
    """The values of states by policy iteration, in floats; that of i is 0."""
    k = len(rows)
    chosen = np.array([_best_row(row, [0] * k) for row in rows])
    away = [s for s in range(k) if s != i]
    values = np.zeros(k)
    for _ in range(50):
        inner = chosen[np.ix_(away, away)]
        values = np.zeros(k)
        values[away] = np.linalg.solve(np.eye(k - 1) - inner, (chosen * reward).sum(axis=1)[away])
        better = np.array(
            [_best_row(row, [int(v * _SCALE) for v in values + reward[s]]) for s, row in enumerate(rows)]
        )
        gain = ((better - chosen) * (values + reward)).sum(axis=1)[away]
        if not (gain > 1e-13 * (1 + abs(values[away]))).any():
            break
        chosen = better
    return values


def _best_row(row: RowSet, values: Sequence[int]) -> list[float]:
    return [w / row.denominator for w in row.farthest(values)]


def _unit(k: int, j: int) -> list[int]:
    return [int(i == j) for i in range(k)]

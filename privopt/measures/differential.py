"""Differential privacy of a channel: between all inputs (local), between neighbours, and up to a delta."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.errors import InvalidProblem
from privopt.files.labels import Label, Labels
from privopt.measures.inputs import ChannelInput, position, read_channel, settled
from privopt.measures.renyi import log_ratio

Neighbours: TypeAlias = Iterable[Sequence[Label]] | NDArray[Any]


def read_pairs(neighbours: Neighbours, labels: Labels) -> set[tuple[int, int]]:
    """Unordered pairs of different rows.

    Examples
    --------
    >>> read_pairs([("a", "b"), ("b", "a"), ("b", "b")], ("a", "b"))
    {(0, 1)}
    """
    if isinstance(neighbours, np.ndarray) and neighbours.dtype == bool:
        if neighbours.shape != (len(labels), len(labels)):
            raise InvalidProblem(
                f"neighbours has shape {neighbours.shape}: a boolean table needs a row and a column an input, "
                f"({len(labels)}, {len(labels)})"
            )
        pairs = [(int(a), int(b)) for a, b in np.argwhere(neighbours)]
    else:
        pairs = [_pair(pair, labels) for pair in neighbours]
    return {(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]}


def _pair(pair: object, labels: Labels) -> tuple[int, int]:
    ends = tuple(pair) if isinstance(pair, (tuple, list, np.ndarray)) else ()
    if len(ends) != 2:
        raise InvalidProblem(f"neighbours holds {pair!r}: give pairs of inputs, or a boolean table")
    first, second = (end.item() if isinstance(end, np.generic) else end for end in ends)
    return position(first, labels, "the input"), position(second, labels, "the input")


_LARGEST = 709.0  # exp of more is not a float


def local_differential_privacy(channel: ChannelInput, *, normalise: bool = False) -> float:
    """Local differential privacy: the largest ln Pr(y|x) / Pr(y|x') over outputs and ordered pairs of inputs.

    One output is enough: a ratio of sums of probabilities never exceeds the largest ratio of two of them. Sadeghi,
    "Fundamental trade-offs between privacy and utility in data sharing" (CSCIT 2021), local differential privacy.

    Parameters
    ----------
    channel : Channel, JointDistribution or array-like, shape (n_x, n_y)
        Rows Pr(y|x), each summing to 1 within 1e-9. A JointDistribution stands for the distributions of its columns given
        each secret of positive probability.
    normalise : bool
        Divide rows of counts by their sums.

    Returns
    -------
    float
        In nats, at least 0; inf where an output rules an input out.

    Raises
    ------
    InvalidMechanism
        If an entry is negative or not finite, or a row is off 1.

    Examples
    --------
    >>> round(local_differential_privacy([[0.75, 0.25], [0.25, 0.75]]), 6)
    1.098612
    """
    matrix, _, _ = read_channel(channel, normalise)
    used = matrix[:, matrix.any(axis=0)]
    low, high = used.min(axis=0), used.max(axis=0)
    return settled((-log_ratio(low, high)).max(), "the local differential privacy level")


def differential_privacy(channel: ChannelInput, neighbours: Neighbours, *, normalise: bool = False) -> float:
    """Differential privacy: the largest ln Pr(y|x) / Pr(y|x') over outputs and neighbouring inputs, both ways.

    Parameters
    ----------
    channel : Channel, JointDistribution or array-like, shape (n_x, n_y)
        Rows Pr(y|x), as in :func:`local_differential_privacy`.
    neighbours : iterable of pairs, or boolean array, shape (n_x, n_x)
        Pairs of inputs by label (row numbers where the labels are not numbers), or a table that is True for
        neighbours. One direction is enough.
    normalise : bool
        Divide rows of counts by their sums.

    Returns
    -------
    float
        In nats, at least 0; 0 without neighbours.

    Raises
    ------
    InvalidMechanism
        If the table is no channel.
    InvalidProblem
        If an input is unknown or the neighbours are neither pairs nor a boolean table of the right shape.

    Examples
    --------
    >>> path = [[0.6, 0.4], [0.5, 0.5], [0.3, 0.7]]
    >>> round(differential_privacy(path, [(0, 1), (1, 2)]), 6), round(local_differential_privacy(path), 6)
    (0.510826, 0.693147)
    """
    matrix, labels, _ = read_channel(channel, normalise)
    pairs = read_pairs(neighbours, labels)
    return max((local_differential_privacy(matrix[[x, other]]) for x, other in pairs), default=0.0)


def delta_at(
    channel: ChannelInput, epsilon: float, *, neighbours: Neighbours | None = None, normalise: bool = False
) -> float:
    """Smallest delta for which the channel is (epsilon, delta)-differentially private.

    The largest sum_y max(0, Pr(y|x) - e^epsilon Pr(y|x')) over ordered pairs: the worst event holds the outputs
    with a positive term, and no event needs to be searched.

    Parameters
    ----------
    channel : Channel, JointDistribution or array-like, shape (n_x, n_y)
        Rows Pr(y|x), as in :func:`local_differential_privacy`.
    epsilon : float
        In nats, at least 0, perhaps inf.
    neighbours : iterable of pairs, or boolean array, optional
        Compare these inputs only, as in :func:`differential_privacy`; all by default.
    normalise : bool
        Divide rows of counts by their sums.

    Returns
    -------
    float
        In [0, 1]; a probability, not nats.

    Raises
    ------
    InvalidMechanism
        If the table is no channel.
    InvalidProblem
        If epsilon is negative or the neighbours do not fit.

    Examples
    --------
    >>> delta_at([[0.75, 0.25], [0.25, 0.75]], 0.0)
    0.5
    """
    if not epsilon >= 0:
        raise InvalidProblem(f"epsilon must be at least 0 nats, got {epsilon}")
    matrix, labels, _ = read_channel(channel, normalise)
    pairs = None if neighbours is None else read_pairs(neighbours, labels)
    return min(1.0, _worst_excess(matrix, math.exp(min(epsilon, _LARGEST)), pairs))


def _worst_excess(matrix: Floats, factor: float, pairs: set[tuple[int, int]] | None) -> float:
    """Largest sum of positive parts, over both directions of the pairs, or over all."""
    worst = 0.0
    for other, row in enumerate(matrix):
        kept = slice(None) if pairs is None else _partners(pairs, other)
        excess = np.maximum(matrix[kept] - factor * row, 0.0).sum(axis=1)
        worst = max(worst, float(excess.max(initial=0.0)))
    return worst


def _partners(pairs: set[tuple[int, int]], row: int) -> list[int]:
    return [b if a == row else a for a, b in sorted(pairs) if row in (a, b)]

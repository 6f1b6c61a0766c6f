"""Leakage of a private record of a Markov chain through a local redaction mechanism."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privopt.errors import InvalidMechanism
from privopt.measures._directional import Directional, Floats, directional_leakage
from privopt.models import MarkovChain


@dataclass(frozen=True)
class RedactionReading:
    """Where a redaction mechanism leaks most about one private record.

    ``pair`` are the positions of the two states, ``left`` and ``right`` the (distance, value) of the
    first release on each side, value -1 for none; distance 0 is an empty side, or the private record.
    ``shares`` are the contributions of the two sides to the leakage.
    """

    leakage: float
    pair: tuple[int, int] | None
    left: tuple[int, int]
    right: tuple[int, int]
    shares: tuple[float, float] = (0.0, 0.0)


def redaction_leakage(chain: MarkovChain, private: int, probabilities: ArrayLike) -> float:
    """Largest log-ratio of the probabilities of an output under two values of a private record.

    The local differential privacy leakage of X_p into the released sequence, in nats (Massny, Bitar,
    Ye, El Rouayheb, "Between Close Enough to Reveal and Far Enough to Protect", Section II), computed
    exactly in O(n k^3) instead of by their bound.

    Parameters
    ----------
    chain : MarkovChain
    private : int
        0-based position of the private record.
    probabilities : array (length, k)
        Pr(record t is redacted | its value is v).

    Returns
    -------
    float
        At least 0, and inf where an output rules a value out.

    Raises
    ------
    InvalidMechanism
        If the shape does not fit the chain, an entry is outside [0, 1] or ``private`` is outside.

    Examples
    --------
    >>> chain = MarkovChain([[0.8, 0.2], [0.3, 0.7]])
    >>> rows = [(.5, 1), (1, .2), (1, 1), (.3, 1), (0, .6), (0, 0)]
    >>> round(redaction_leakage(chain, 2, rows), 10)
    2.2468024532
    """
    return read_redaction(chain, private, checked_table(chain, private, probabilities)).leakage


def checked_table(chain: MarkovChain, private: int, probabilities: ArrayLike) -> NDArray[np.float64]:
    """Redaction probabilities as an array, if they and the private position fit the chain."""
    table = np.array(probabilities, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != chain.k or not ((table >= 0) & (table <= 1)).all():
        raise InvalidMechanism(
            f"probabilities must be a (length, {chain.k}) table in [0, 1], got shape {table.shape}"
        )
    if not 0 <= private < len(table):
        raise InvalidMechanism(f"private must be in 0 .. {len(table) - 1}, got {private}")
    return table


def read_redaction(chain: MarkovChain, private: int, table: NDArray[np.float64]) -> RedactionReading:
    """The leakage about one private record, with the pair and the output that attain it."""
    possible = np.flatnonzero(chain.marginal(private) > 0)
    shown = table[private][possible] < 1
    if len(possible) > 1 and shown.any():
        v = int(possible[np.flatnonzero(shown)[0]])
        other = int(next(x for x in possible if x != v))
        return RedactionReading(np.inf, (v, other), (0, v), (0, v))
    left = directional_leakage(left_steps(chain, private), table[:private][::-1], chain.stationary)
    right = directional_leakage(
        right_steps(chain, private, len(table)), table[private + 1 :], chain.homogeneous
    )
    return _worst(left, right, possible)


def release_probabilities(
    chain: MarkovChain, table: NDArray[np.float64], sequential: int | None = None
) -> NDArray[np.float64]:
    """Pr(record t is released) for every record, shape (length,).

    Parameters
    ----------
    chain : MarkovChain
    table : array (length, k)
        Redaction probabilities by record and value.
    sequential : int, optional
        Position from which a sequential mechanism walks; by default the mechanism is local.

    Examples
    --------
    >>> chain = MarkovChain([[0.5, 0.5], [0.5, 0.5]])
    >>> table = np.array([[1.0, 1.0], [0.0, 1.0], [1.0, 1.0]])
    >>> release_probabilities(chain, table), release_probabilities(chain, table, 0)
    (array([0. , 0.5, 0. ]), array([0. , 0.5, 0.5]))
    """
    law = chain.marginals(len(table))
    released: NDArray[np.float64] = (law * (1.0 - table)).sum(axis=1)
    if sequential is None:
        return released
    for steps, side in (
        (left_steps(chain, sequential), range(sequential - 1, -1, -1)),
        (right_steps(chain, sequential, len(table)), range(sequential + 1, len(table))),
    ):
        hidden = law[sequential]
        for step, t in zip(steps, side, strict=True):
            hidden = (hidden @ step) * table[t]
            released[t] = 1.0 - hidden.sum()
    return released


def left_steps(chain: MarkovChain, private: int) -> Iterator[Floats]:
    """Time-reversed steps from the private record to the first one."""
    return (chain.reversed(t) for t in range(private, 0, -1))


def right_steps(chain: MarkovChain, private: int, length: int) -> Iterator[Floats]:
    """Steps from the private record to the last one."""
    return (chain.step(t) for t in range(private, length - 1))


def _worst(left: Directional, right: Directional, possible: NDArray[np.int64]) -> RedactionReading:
    total = left.largest + right.largest
    pairs = [(int(x), int(y)) for x in possible for y in possible if x != y]
    if not pairs:
        return RedactionReading(0.0, None, (0, -1), (0, -1))
    pair = max(pairs, key=lambda p: total[p])
    names = [(int(side.distance[pair]), int(side.value[pair])) for side in (left, right)]
    shares = (float(left.largest[pair]), float(right.largest[pair]))
    return RedactionReading(float(total[pair]), pair, names[0], names[1], shares)

"""The largest leakage of a private record through a redaction over a set of chains: read in floats, and as proved ratios.

Given the private record its two sides are independent, and their rows vary independently, so that the largest ratios of the sides
multiply for every ordered pair of private values. Two states: exact, see :mod:`privopt.measures.redaction.binary_sets`. More: an
upper bound, see :mod:`privopt.measures.redaction.state_sets`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privopt.arrays import Bools, Floats, Ints
from privopt.errors import InvalidMechanism
from privopt.measures.redaction.binary_sets import Event, Extremes, Leaving, Odds, Walk
from privopt.measures.redaction.leakage import RedactionReading
from privopt.measures.redaction.state_sets import largest_ratios
from privopt.models.ambiguity.chains import ChainAmbiguity
from privopt.models.ambiguity.row_set import RowSet

Pair = tuple[int, int]


@dataclass(frozen=True)
class SetRatio:
    """The largest ratio of an ordered pair of private values on one side, numerator / denominator, and the output that shows it."""

    numerator: int
    denominator: int
    event: Event


NOTHING = SetRatio(1, 1, (0, -1))


def redaction_leakage_over(ambiguity: ChainAmbiguity, private: int, probabilities: ArrayLike) -> float:
    """Largest leakage of a private record into a redacted sequence over a set of chains, in nats.

    Exact for two states up to rounding, an upper bound for more.

    Parameters
    ----------
    ambiguity : ChainAmbiguity
    private : int
        0-based position of the private record.
    probabilities : array (length, k)
        Pr(record t is redacted | its value is v).

    Returns
    -------
    float
        At least 0, perhaps inf.

    Raises
    ------
    InvalidMechanism
        If the shape does not fit the set, an entry is outside [0, 1] or ``private`` is outside.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from privopt.models import MarkovChain
    >>> near = ChainAmbiguity.interval(MarkovChain([[0.75, 0.25], [0.5, 0.5]]), Fraction(1, 10))
    >>> round(redaction_leakage_over(near, 0, [(1, 1), (0, 0)]), 6)  # 0.693147 at the chain itself
    0.893818
    """
    table = np.array(probabilities, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != ambiguity.k or not ((table >= 0) & (table <= 1)).all():
        raise InvalidMechanism(
            f"probabilities must be a (length, {ambiguity.k}) table in [0, 1], got shape {table.shape}"
        )
    if not 0 <= private < len(table):
        raise InvalidMechanism(f"private must be in 0 .. {len(table) - 1}, got {private}")
    return read_over_set(ambiguity, private, table, np.arange(ambiguity.k)).leakage


def read_over_set(
    ambiguity: ChainAmbiguity, private: int, table: Floats, possible: NDArray[np.intp]
) -> RedactionReading:
    """The largest leakage about one private record over a set, in floats, with the pair and the output that attain it.

    ``possible`` are the values that the private record can have.
    """
    shown = table[private][possible] < 1
    if len(possible) > 1 and shown.any():
        v = int(possible[np.flatnonzero(shown)[0]])
        return RedactionReading(math.inf, (v, int(next(x for x in possible if x != v))), (0, v), (0, v))
    if len(possible) < 2:
        return RedactionReading(0.0, None, (0, -1), (0, -1))
    left = _read_side(ambiguity.backward, table[:private][::-1])
    right = _read_side(ambiguity.forward, table[private + 1 :])
    pairs = [(int(x), int(y)) for x in possible for y in possible if x != y]
    pair = max(pairs, key=lambda p: left.get(p, _QUIET)[0] + right.get(p, _QUIET)[0])
    one, other = left.get(pair, _QUIET), right.get(pair, _QUIET)
    return RedactionReading(one[0] + other[0], pair, one[1], other[1], (one[0], other[0]))


def worst_over_set(
    ambiguity: ChainAmbiguity, records: Sequence[int], table: Floats, can: Bools
) -> tuple[int, RedactionReading]:
    """The private record about which a mechanism leaks most over a set, and its reading; ``can`` says which values it can have."""
    readings = [(p, read_over_set(ambiguity, p, table, np.flatnonzero(can[p]))) for p in records]
    return max(readings, key=lambda item: item[1].leakage)


_QUIET: tuple[float, Event] = (0.0, (0, -1))


def _read_side(rows: Sequence[RowSet], redaction: Floats) -> dict[Pair, tuple[float, Event]]:
    """Logarithms of the largest ratios of a side."""
    cut, closed = _reach(redaction, 1.0)
    if not len(cut):
        return {}
    end = None if closed else (len(redaction), -1)
    if len(rows) > 2:
        bounds = largest_ratios(rows, cut, closed)
        return {
            (x, y): (math.log(bounds.ratios[x, y]), (int(bounds.distance[x, y]), int(bounds.value[x, y])))
            for x, y in np.ndindex(bounds.ratios.shape)
        }
    cross, back = Leaving.of(rows).floats()
    extremes = Walk(cross, back, 1.0).side(cut.tolist(), 1.0, end)
    return {pair: (_log(high, low), event) for pair, (high, low, event) in _by_pair(extremes).items()}


def _log(high: float, low: float) -> float:
    if low == 0:
        return math.inf
    return max(0.0, math.log(high / low)) if high > 0 else 0.0


def side_ratios(
    rows: Sequence[RowSet], weights: Ints, total: int, bits: int = 0, inner: bool = False
) -> dict[Pair, SetRatio]:
    """The largest ratios of a side of a private record over sets of rows, at least 1, for every ordered pair of its values.

    Parameters
    ----------
    rows : sequence of RowSet, length k
        Sets of the distributions of the next record outward, for each value of a record.
    weights : array (m, k)
        Redaction probabilities out of ``total`` by distance.
    bits : int
        Of two states: integers longer than this are rounded outward; 0 for exact ones.
    inner : bool
        Of two states: rounded inward instead, also where a set has irrational ends.
    """
    k = len(rows)
    cut, closed = _reach(weights, total)
    pairs = [(x, y) for x in range(k) for y in range(k) if x != y]
    if not len(cut):
        return dict.fromkeys(pairs, NOTHING)
    if k > 2:
        bounds = largest_ratios(rows, cut / float(total), closed)
        return {
            p: _of_float(float(bounds.ratios[p]), (int(bounds.distance[p]), int(bounds.value[p])))
            for p in pairs
        }
    leaving = Leaving.of(rows, inner=inner)
    walk = Walk(leaving.cross, leaving.back, leaving.whole, bits, not inner)
    extremes = walk.side(cut.tolist(), total, None if closed else (len(weights), -1))
    ratios = {
        pair: SetRatio(high, low, event)
        for pair, (high, low, event) in _by_pair(extremes).items()
        if high >= low
    }
    return {pair: ratios.get(pair, NOTHING) for pair in pairs}


def _by_pair(extremes: Extremes[Any]) -> dict[Pair, tuple[Any, Any, Event]]:
    """Numerator, denominator and output of the largest ratio of (1, 0) and of (0, 1)."""
    high, low = extremes.high, extremes.low
    listed: dict[Pair, tuple[Any, Any, Event]] = {}
    if isinstance(high, Odds):
        listed[1, 0] = high.one, high.zero, high.event
    if isinstance(low, Odds):
        listed[0, 1] = low.zero, low.one, low.event
    return listed


def _of_float(ratio: float, event: Event) -> SetRatio:
    return SetRatio(1, 0, event) if math.isinf(ratio) else SetRatio(*ratio.as_integer_ratio(), event)


def _reach(redaction: NDArray[Any], total: float) -> tuple[NDArray[Any], bool]:
    """The records of a side up to the first one that is always released, or else the last that ever is; and which."""
    whole = np.flatnonzero((redaction == 0).all(axis=1))
    if len(whole):
        return redaction[: int(whole[0]) + 1], True
    shown = np.flatnonzero((redaction < total).any(axis=1))
    return redaction[: int(shown[-1]) + 1 if len(shown) else 0], False

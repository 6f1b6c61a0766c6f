"""Repair of a redaction mechanism: as little more redaction as the budget needs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privopt.measures.redaction.leakage import RedactionReading, worst_reading
from privopt.measures.redaction.over_sets import worst_over_set
from privopt.mechanisms import RedactionMechanism
from privopt.problems.redaction.data import RedactionData

HALVINGS = 60

ONE_BY_ONE = 64
"""Records that are hidden one at a time, then more and more; fewer where many records make a reading slow."""

LONG = 2000
"""Records from which a reading takes more than milliseconds."""

GROWTH = 0.25
"""How many of those hidden so far are hidden at once then; the last ones are shown again as far as the budget allows."""


def repair(data: RedactionData, mechanism: RedactionMechanism, margin: float) -> RedactionMechanism:
    """Hide the private records; raise partial redactions; then hide the nearest released records.

    Leakage falls as the partial redactions rise together, 1 - q <- (1 - q)(1 - s), so the least s is found
    by bisection; when no s < 1 suffices, the nearest released records of the side that reveals more are hidden and s starts
    again. They are hidden one by one, and of a long table more and more at once. Hiding only one value of a record would not do: a redaction
    would then tell the other.
    """
    table = mechanism.probabilities.copy()
    table[list(data.private)] = 1.0
    table[~data.supports] = 1.0
    limit = data.epsilon * (1.0 - margin)
    if limit == 0:
        return data.safe()  # only exact independence is allowed, and a float reading cannot tell it
    hidden, slowly = 0, ONE_BY_ONE if data.length <= LONG else ONE_BY_ONE // 4
    before, last = table, np.zeros(0, dtype=np.intp)
    worst, allowed = _allowed(data, table, limit, margin)
    while allowed is None:
        last = _nearest(table, *worst, 1 + int(GROWTH * max(0, hidden - slowly)))
        if not last.size:
            return data.safe()
        before = table.copy()
        table[last] = 1.0
        hidden += len(last)
        worst, allowed = _allowed(data, table, limit, margin)
    fewest, enough = 1, len(last)
    while fewest < enough:  # of the last ones, the fewest that have to be hidden
        middle = (fewest + enough) // 2
        table = before.copy()
        table[last[:middle]] = 1.0
        _, fewer = _allowed(data, table, limit, margin)
        if fewer is None:
            fewest = middle + 1
        else:
            enough, allowed = middle, fewer
    return data.answer(allowed).validated(mechanism.simulation_only)


def _allowed(
    data: RedactionData, table: NDArray[np.float64], limit: float, margin: float
) -> tuple[tuple[int, RedactionReading], NDArray[np.float64] | None]:
    """What a table leaks; and that table, or one with partial redactions raised, within the limit, None if there is none."""
    worst = _worst(data, table)
    within = worst[1].leakage <= limit
    return worst, table if within else _raise_partial(data, table, limit, margin)


def _worst(data: RedactionData, table: NDArray[np.float64]) -> tuple[int, RedactionReading]:
    if data.ambiguity is not None:
        return worst_over_set(data.ambiguity, data.private, table, data.supports)
    return worst_reading(data.chain, data.private, table, data.supports, data.side_information)


def _raise_partial(
    data: RedactionData, table: NDArray[np.float64], limit: float, margin: float
) -> NDArray[np.float64] | None:
    """The table with the least common raise that reaches the limit, or None if none does."""
    partial = np.nonzero((table > 0) & (table < 1))
    shown, moved = 1.0 - table[partial], table.copy()

    def raised(share: float) -> NDArray[np.float64]:
        moved[partial] = 1.0 - shown * (1.0 - share)
        return moved

    high = 1.0 - 2.0**-30
    if not shown.size or _worst(data, raised(high))[1].leakage > limit:
        return None
    low = 0.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if _worst(data, raised(middle))[1].leakage > limit:
            low = middle
        else:
            high = middle
        if high - low <= margin * high:
            break
    return raised(high)


def _nearest(
    table: NDArray[np.float64], private: int, reading: RedactionReading, count: int
) -> NDArray[np.intp]:
    """The nearest records that are ever released on the side that reveals more, the nearest first; none if there are none."""
    left = np.flatnonzero((table[:private] < 1).any(axis=1))[::-1]
    right = private + 1 + np.flatnonzero((table[private + 1 :] < 1).any(axis=1))
    one, other = (left, right) if reading.shares[0] >= reading.shares[1] else (right, left)
    return (one if one.size else other)[:count]

"""Repair of a redaction mechanism: as little more redaction as the budget needs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privopt.measures.redaction.leakage import RedactionReading, worst_reading
from privopt.measures.redaction.over_sets import worst_over_set
from privopt.mechanisms import RedactionMechanism
from privopt.problems.redaction.data import RedactionData

HALVINGS = 60


def repair(data: RedactionData, mechanism: RedactionMechanism, margin: float) -> RedactionMechanism:
    """Hide the private records; raise partial redactions; then hide the nearest released records one by one.

    Leakage falls as the partial redactions rise together, 1 - q <- (1 - q)(1 - s), so the least s is found
    by bisection; when no s < 1 suffices, the nearest released record of the side that reveals more is hidden and s starts
    again. Hiding only one value of it would not do: a redaction would then tell the other.
    """
    table = mechanism.probabilities.copy()
    table[list(data.private)] = 1.0
    table[~data.supports] = 1.0
    limit = data.epsilon * (1.0 - margin)
    if limit == 0:
        return data.safe()  # only exact independence is allowed, and a float reading cannot tell it
    while True:
        worst = _worst(data, table)
        if worst[1].leakage <= limit:
            break
        raised = _raise_partial(data, table, limit, margin)
        if raised is not None:
            table = raised
            break
        if not _hide(table, *worst):
            return data.safe()
    return data.answer(table).validated(mechanism.simulation_only)


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


def _hide(table: NDArray[np.float64], private: int, reading: RedactionReading) -> bool:
    """Hide the nearest record that is ever released on the side that reveals more; False if there is none."""
    sides = [np.flatnonzero((table[:private] < 1).any(axis=1))[::-1]]
    sides.append(private + 1 + np.flatnonzero((table[private + 1 :] < 1).any(axis=1)))
    for side in sorted((0, 1), key=lambda i: -reading.shares[i]):
        if sides[side].size:
            table[sides[side][0]] = 1.0
            return True
    return False

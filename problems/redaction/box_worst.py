"""The output of a redaction that leaks most, and what would change it: where branch and bound splits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privopt.arrays import Bools, Floats, Ints
from privopt.problems.redaction.box_cuts import Outputs, worst_events
from privopt.problems.redaction.box_model import TINY, Secret, Side, Stretch


@dataclass(frozen=True, eq=False)
class Worst:
    """The outputs of tables (b, t, k) that leak most.

    Parameters
    ----------
    ratio : array (b,)
    events : array (b, t, k)
        The cells that are released first in them.
    change : array (b, t, k)
        The derivative of ``N(x) - e^epsilon N(x')`` by redaction probability, over N(x).
    """

    ratio: Floats
    events: Bools
    change: Floats

    def replaced(self, other: Worst) -> Worst:
        """With those of another where they leak more."""
        better = other.ratio > self.ratio
        cells = better[:, None, None]
        return Worst(
            np.where(better, other.ratio, self.ratio),
            np.where(cells, other.events, self.events),
            np.where(cells, other.change, self.change),
        )


def worst(stretch: Stretch, tables: Floats, counted: Bools) -> Worst:
    """The worst outputs of tables of redaction probabilities, among those of cells that count."""
    best = Worst(np.zeros(len(tables)), np.zeros(tables.shape, np.bool_), np.zeros(tables.shape))
    for secret in stretch.secrets:
        best = best.replaced(_worst_of(stretch, secret, tables, counted))
    return best


def _worst_of(stretch: Stretch, secret: Secret, tables: Floats, counted: Bools) -> Worst:
    left, right = (_Sight.of(secret, side, tables, counted, stretch.error) for side in secret.sides)
    mine, theirs = left.mine * right.mine, left.theirs * right.theirs
    ratios = mine / np.maximum(theirs, TINY)
    rows, pair = np.arange(len(tables)), ratios.argmax(axis=1)
    scale = np.maximum(mine[rows, pair], TINY)[:, None, None]
    change, events = np.zeros(tables.shape), np.zeros(tables.shape, np.bool_)
    for side, one, other in zip(secret.sides, (left, right), (right, left), strict=True):
        after = one.after[rows, pair]
        up = one.before(secret.mine, rows, pair) * after * other.mine[rows, pair][:, None, None]
        down = one.before(secret.theirs, rows, pair) * after * other.theirs[rows, pair][:, None, None]
        change[:, side.records] = (up - stretch.factor * down) / scale
        distance, value = np.divmod(one.events[rows, pair], tables.shape[2])
        inside = np.flatnonzero(distance < len(side.records))
        events[inside, np.array(side.records, dtype=np.intp)[distance[inside]], value[inside]] = True
    return Worst(ratios[rows, pair], events, change)


@dataclass(frozen=True, eq=False)
class _Sight:
    """What one side of a private record shows at tables: for every pair of its values the worst event, (b, q)."""

    tables: Floats
    events: Ints
    mine: Floats
    theirs: Floats
    after: Floats

    @classmethod
    def of(cls, secret: Secret, side: Side, tables: Floats, counted: Bools, error: float) -> _Sight:
        """Of cells that count."""
        events = worst_events(secret, Outputs.at(side, tables, counted, error), side, counted)
        before, end = side.tables(tables)
        b, m, x, k = before.shape
        flat = np.concatenate((before.transpose(0, 1, 3, 2).reshape(b, m * k, x), end[:, None]), axis=1)
        chances = flat[np.arange(b)[:, None], events]
        pairs = np.arange(len(secret.mine))
        mine, theirs = chances[:, pairs, secret.mine], chances[:, pairs, secret.theirs]
        return cls(before, events, mine, theirs, side.after(events, tables))

    def before(self, values: Ints, rows: Ints, pair: Ints) -> Floats:
        """Before hiding, given one value of a pair, (b, m, k)."""
        return np.asarray(self.tables[rows, :, values[pair]])

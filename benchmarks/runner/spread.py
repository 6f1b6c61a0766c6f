"""Repetitions of a run: medians with quartiles for tables and figures, and which differences may be claimed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

import numpy as np

from privopt.benchmarks.runner.rows import Row

ENOUGH = 3
"""Repetitions from which a spread is known."""
ROUNDING = 1e-9
"""Relative difference that no claim rests on."""

Reading: TypeAlias = Callable[[Row], float | None]
"""A number of a row, None where it has none."""


class Verdict(Enum):
    """What repetitions say of two competitors; the value is the word for it."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "not distinguishable"


@dataclass(frozen=True)
class Spread:
    """Repetitions of one quantity.

    Parameters
    ----------
    values : tuple of float
        Of the repetitions that gave one, in increasing order.
    total : int
        How many repetitions there were, those that gave none included.

    Examples
    --------
    >>> spread = Spread((1.0, 2.0, 3.0, 4.0, 9.0), 5)
    >>> spread.median, spread.lower, spread.upper
    (3.0, 2.0, 4.0)
    >>> print(spread)
    3 [2, 4]
    >>> print(Spread((1.0, 2.0, 3.0), 5))
    2 [1.5, 2.5], 3 of 5
    >>> print(Spread((), 5))
    none of 5
    """

    values: tuple[float, ...]
    total: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(sorted(self.values)))

    @property
    def count(self) -> int:
        """How many repetitions gave a value."""
        return len(self.values)

    @property
    def median(self) -> float | None:
        """The middle of the values; None where there is none."""
        return self._quantile(0.5)

    @property
    def lower(self) -> float | None:
        """The lower quartile."""
        return self._quantile(0.25)

    @property
    def upper(self) -> float | None:
        """The upper quartile."""
        return self._quantile(0.75)

    @property
    def mean(self) -> float | None:
        """The arithmetic mean."""
        return float(np.mean(self.values)) if self.values else None

    @property
    def deviation(self) -> float | None:
        """The standard deviation of the sample, from two values on."""
        return float(np.std(self.values, ddof=1)) if self.count > 1 else None

    def _quantile(self, share: float) -> float | None:
        return float(np.quantile(self.values, share)) if self.values else None

    def __str__(self) -> str:
        if not self.values:
            return f"none of {self.total}"
        quartiles = f" [{self.lower:.6g}, {self.upper:.6g}]" if self.count > 1 else ""
        return f"{self.median:.6g}{quartiles}" + (
            f", {self.count} of {self.total}" if self.count < self.total else ""
        )


@dataclass(frozen=True)
class Cell:
    """What is repeated: an instance of a problem with a budget and a time limit, answered by one solver."""

    question: str
    instance: str
    budget: float
    time_limit: float
    solver: str


def cell_of(row: Row) -> Cell:
    """What a row is a repetition of."""
    return Cell(row.question, row.instance, row.budget, row.time_limit, row.solver)


def repetitions(rows: Iterable[Row]) -> dict[Cell, tuple[Row, ...]]:
    """The rows of each cell, one a repetition, cells in the order of their first rows."""
    cells: dict[Cell, list[Row]] = {}
    for row in rows:
        cells.setdefault(cell_of(row), []).append(row)
    return {cell: tuple(group) for cell, group in cells.items()}


def spreads(rows: Iterable[Row], reading: Reading) -> Mapping[Cell, Spread]:
    """Median and quartiles of one quantity in each cell, for tables and figures.

    Only rows that gave a mechanism have a value: a time-out has no seconds, a failure no objective.

    Parameters
    ----------
    rows : iterable of Row
    reading : callable
        The quantity, such as ``lambda row: row.seconds``.
    """
    return {
        cell: Spread(tuple(v for row in group if row.ok and (v := reading(row)) is not None), len(group))
        for cell, group in repetitions(rows).items()
    }


def verdict(one: Spread, other: Spread, *, larger: bool = True, least: int = ENOUGH) -> Verdict:
    """Whether one competitor may be called better than the other: only where their quartile intervals lie apart.

    A claim takes ``least`` repetitions of both, of which every one of the better competitor gave a value. A competitor
    of which no repetition gave a value is worse than one of which all did.

    Parameters
    ----------
    one, other : Spread
    larger : bool
        Whether a larger value is better, as for an objective; False for seconds.
    least : int
        Repetitions of each that a claim takes. With 1 single answers are compared, which is no claim of the solvers.

    Examples
    --------
    >>> fast, slow = Spread((1.0, 1.1, 1.2), 3), Spread((2.0, 2.1, 2.2), 3)
    >>> verdict(fast, slow, larger=False).value, verdict(slow, fast, larger=False).value
    ('better', 'worse')
    >>> verdict(fast, Spread((1.0, 1.15, 3.0), 3), larger=False).value
    'not distinguishable'
    >>> verdict(Spread((1.0,), 1), Spread((2.0,), 1)).value
    'not distinguishable'
    """
    if min(one.total, other.total) < least:
        return Verdict.SAME
    if _above(one, other, larger):
        return Verdict.BETTER
    return Verdict.WORSE if _above(other, one, larger) else Verdict.SAME


def _above(one: Spread, other: Spread, larger: bool) -> bool:
    """Whether all of one's middle half is better than all of the other's."""
    if one.count < one.total or one.lower is None or one.upper is None:
        return False
    if other.lower is None or other.upper is None:
        return True
    high, low = (one.lower, other.upper) if larger else (other.lower, one.upper)
    return high - low > ROUNDING * max(abs(high), abs(low))


def leaders(group: Mapping[str, Spread], *, larger: bool = True, least: int = ENOUGH) -> Sequence[str]:
    """The competitors that none is better than, in the order given: who may stand in bold in a table.

    Examples
    --------
    >>> group = {"a": Spread((1.0, 1.1, 1.2), 3), "b": Spread((1.1, 1.2, 1.3), 3), "c": Spread((0.1, 0.2, 0.3), 3)}
    >>> leaders(group)
    ['a', 'b']
    """
    solved = {name: spread for name, spread in group.items() if spread.count}
    return [
        name
        for name, spread in solved.items()
        if all(
            verdict(other, spread, larger=larger, least=least) is not Verdict.BETTER
            for other in solved.values()
        )
    ]

"""Repetitions of a run: medians with quartiles for tables and figures, and which differences may be claimed."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TypeAlias

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

    @cached_property
    def median(self) -> float | None:
        """The middle of the values; None where there is none."""
        return self._quantile(0.5)

    @cached_property
    def lower(self) -> float | None:
        """The lower quartile."""
        return self._quantile(0.25)

    @cached_property
    def upper(self) -> float | None:
        """The upper quartile."""
        return self._quantile(0.75)

    def _quantile(self, share: float) -> float | None:
        """Linear between the two values beside it, as by default in NumPy."""
        if not self.values:
            return None
        below, part = divmod(share * (self.count - 1), 1.0)
        low, high = self.values[int(below)], self.values[math.ceil(below + part)]
        return low if low == high else low + part * (high - low)

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


def _above(one: Spread, other: Spread, larger: bool, room: float | None = None) -> bool:
    """Whether all of one's middle half is better than all of the other's, by more than ``room``."""
    if one.count < one.total or one.lower is None or one.upper is None:
        return False
    if other.lower is None or other.upper is None:
        return True
    high, low = (one.lower, other.upper) if larger else (other.lower, one.upper)
    return high - low > (ROUNDING * max(abs(high), abs(low)) if room is None else room)


@dataclass(frozen=True)
class Claims:
    """Who may be called the best, and who cannot be told from them; of all others somebody is better."""

    best: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()


def claims(
    group: Mapping[str, Spread],
    *,
    alike: float = ROUNDING,
    bound: float | None = None,
    choosing: Collection[str] = (),
    least: int = ENOUGH,
) -> Claims:
    """Which competitors are claimed to be the best: the one rule of tables, pages and papers. Larger values are better.

    Best are those of which every repetition gave a value and whose middle half lies nowhere below that of another, with
    ``least`` repetitions of both; or all of whose values reach what is proved to be the largest. Undecided are the others
    whose middle half lies nowhere wholly below that of another. Where nothing was repeated, single answers are
    compared: best are those that none exceeds, and nobody is undecided.

    Parameters
    ----------
    group : mapping of str to Spread
        Those without a value count as worse than all that have one.
    alike : float
        Differences up to this, relative to the largest median or to 1 if that is more, are none.
    bound : float or None
        What no value can exceed.
    choosing : collection of str
        Those that take the answers of others: to be the best, another need not be told from them, only not be worse.
    least : int

    Examples
    --------
    >>> low = Spread((0.1, 0.2, 0.3), 3)
    >>> claims({"a": Spread((1.0, 1.1, 1.3), 3), "b": Spread((1.1, 1.2, 1.3), 3), "c": low})
    Claims(best=(), undecided=('a', 'b'))
    >>> claims({"a": Spread((1.0, 1.0, 1.0), 3), "b": Spread((1.0, 1.0, 1.0), 3), "c": low})
    Claims(best=('a', 'b'), undecided=())
    """
    solved = {name: spread for name, spread in group.items() if spread.count}
    top = max((spread.median or 0.0 for spread in solved.values()), default=0.0)
    room = alike * max(1.0, abs(top))
    enough = least if any(spread.total > 1 for spread in group.values()) else 1

    def leads(name: str, other: str) -> bool:
        one, rival = solved[name], solved[other]
        if other in choosing and name not in choosing:
            return not _above(rival, one, True, room)
        whole = one.count == one.total and min(one.total, rival.total) >= enough
        return whole and (one.lower or 0.0) >= (rival.upper or 0.0) - room

    def proved(spread: Spread) -> bool:
        return bound is not None and spread.count == spread.total and spread.values[0] >= bound - room

    best = [
        name
        for name, spread in solved.items()
        if proved(spread) or all(leads(name, other) for other in solved if other != name)
    ]
    behind = {
        name
        for name, spread in solved.items()
        if any(_above(other, spread, True, room) for other in solved.values())
    }
    return Claims(tuple(best), tuple(name for name in solved if name not in behind and name not in best))

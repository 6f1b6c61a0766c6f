"""Several releases of the same record by one channel: what they tell together is how often each output came."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from privopt.core.exact import IntegerRow
from privopt.errors import InvalidProblem
from privopt.mechanisms import Channel, Merging
from privopt.models.channel_data import Release, release_rows

MOST = 200_000
"""Cells of the channel of counts that are computed."""


def check_times(times: float) -> float:
    """A number of releases: a whole number of at least 1, or inf.

    Raises
    ------
    InvalidProblem
        If it is another number.

    Examples
    --------
    >>> check_times(2)
    2
    """
    if not (times == math.inf or (times >= 1 and times == int(times))):
        raise InvalidProblem(f"times is {times!r}: give a whole number of releases, at least 1, or inf")
    return times


def repeated_channel(release: Release, times: float) -> Release:
    """The channel from the symbol to the counts of each output in several independent releases.

    The order in which outputs came says nothing more. In the limit the frequencies identify the row, so that inf gives the
    merging of symbols with equal rows.

    Parameters
    ----------
    release : Channel or Merging
    times : int or inf

    Raises
    ------
    InvalidProblem
        If so many counts are possible that they cannot be computed.

    Examples
    --------
    >>> repeated_channel(Channel([[0.5, 0.5], [0.0, 1.0]]), 2).matrix
    array([[0.25, 0.5 , 0.25],
           [0.  , 0.  , 1.  ]])
    >>> repeated_channel(Channel([[0.5, 0.5], [0.0, 1.0], [0.5, 0.5]]), math.inf).blocks
    ((0, 2), (1,))
    """
    if times == 1 or isinstance(release, Merging):
        return release
    rows = release_rows(release, range(len(release.inputs)))
    if times == math.inf:
        return Merging(_alike(release, rows), release.inputs)
    draws, outputs = int(times), len(release.outputs)
    types = math.comb(draws + outputs - 1, outputs - 1)
    if types * len(rows) > MOST:
        raise InvalidProblem(
            f"{draws} releases of {outputs} outputs have {types} possible counts for each of {len(rows)} symbols: give fewer "
            "times, or inf for the limit"
        )
    counts = list(_counts(draws, outputs))
    table = [[_probability(row, count) for count in counts] for row in rows]
    return Channel(table, release.inputs, [" ".join(map(str, count)) for count in counts])


def _alike(release: Release, rows: list[IntegerRow]) -> list[list[object]]:
    """Symbols whose rows are equal, in the order of their first."""
    blocks: dict[tuple[Fraction, ...], list[object]] = {}
    for symbol, row in zip(release.inputs, rows, strict=True):
        blocks.setdefault(tuple(row.fraction(y) for y in range(len(row.weights))), []).append(symbol)
    return list(blocks.values())


def _counts(draws: int, outputs: int) -> Iterator[tuple[int, ...]]:
    """All ways in which so many draws fall on the outputs."""
    if outputs == 1:
        yield (draws,)
        return
    for first in range(draws, -1, -1):
        for rest in _counts(draws - first, outputs - 1):
            yield (first, *rest)


def _probability(row: IntegerRow, count: tuple[int, ...]) -> Fraction:
    """Multinomial probability of counts."""
    ways, weight, left = 1, 1, sum(count)
    for k, w in zip(count, row.weights, strict=True):
        ways, weight, left = ways * math.comb(left, k), weight * w**k, left - k
    return Fraction(ways * weight, row.total ** sum(count))

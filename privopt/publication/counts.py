"""Whether a column that is kept beside a stream counts its records: it then says nothing that the model does not know."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import pairwise

COUNTS = "as much as the release alone, as what is kept only numbers the records"
"""What a receipt says of such columns."""

ENOUGH = 16
"""Records in which a column that counts them could hardly be anything else."""

RUNS = 4
"""Values of a count, at least, and times that a count that begins anew must have been gone through."""

CLOCK = "%H:%M"

DATES = ("%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%Y/%m/%d")
"""Dates that are not written as ISO 8601 has them."""

_NUMBERED = re.compile(r"([^0-9]*)([0-9]+)")
_EPOCH = datetime(1970, 1, 1)


def counts_records(sequences: Sequence[Sequence[str]]) -> bool:
    """Whether the cells of each user number their records: one step at a time, as hours do, or after equally many, as days do.

    The steps are equal (those of months too), may begin anew after equally many (the hours of a day), and are the same for all users. Such a column follows
    from the place of a record in its sequence, which anybody who sees the release knows. A column whose values are unequally far apart
    may say when something happened, and a constant one that nothing did: they do not count. Of dates, which are little else,
    a few are enough.

    Parameters
    ----------
    sequences : sequence of sequences of str
        The cells of each user, in their order.

    Examples
    --------
    >>> counts_records([["1", "2", "3", "4"]] * 4)
    True
    >>> counts_records([[f"2024-01-{day:02d}" for day in range(1, 31)]])
    True
    >>> counts_records([["2024-01-01", "2024-02-01", "2024-03-01", "2024-04-01"]]), counts_records([["1", "2", "3", "4"]])
    (True, False)
    >>> counts_records([[f"{hour:02d}:00" for hour in range(24)] * 4])
    True
    >>> counts_records([["0", "1", "2"] * 6]), counts_records([["d0"] * 6 + ["d1"] * 6 + ["d2"] * 6 + ["d3"]])
    (True, True)
    >>> counts_records([[str(i * i) for i in range(20)]]), counts_records([["0", "1"] * 20]), counts_records([["a"] * 20])
    (False, False, False)
    """
    longest = max(sequences, key=len, default=())
    alike = all(list(cells) == list(longest[: len(cells)]) for cells in sequences)
    if not alike:
        return False
    values, lengths = _runs(longest)
    if not _equally_long(lengths):
        return False
    if any(_steps(_seconds(dates)) or _steps(_months(dates)) for dates in _dates(values)):
        return True
    return sum(map(len, sequences)) >= ENOUGH and _steps(_numbers(values))


def separates_letters(letters: Sequence[Hashable], cells: Sequence[str]) -> bool:
    """Whether the letter of each record determines its cell, and different letters do not all have one: the cell then separates letters.

    Examples
    --------
    >>> separates_letters(["in", "out", "in"], ["0", "1", "0"]), separates_letters(["in", "out", "in"], ["0", "1", "2"])
    (True, False)
    """
    pairs = {(letter, cell) for letter, cell in zip(letters, cells, strict=True) if letter is not None}
    return len({letter for letter, _ in pairs}) == len(pairs) > 1 < len({cell for _, cell in pairs})


def _runs(cells: Sequence[str]) -> tuple[list[str], list[int]]:
    """The values that follow each other, and how many records each stays."""
    values: list[str] = []
    lengths: list[int] = []
    for cell in cells:
        if values and values[-1] == cell:
            lengths[-1] += 1
        else:
            values.append(cell)
            lengths.append(1)
    return values, lengths


def _equally_long(lengths: Sequence[int]) -> bool:
    """Whether there are several runs and all are as long, but for the ends, which may be cut."""
    inner = lengths[1:-1]
    return len(lengths) >= RUNS and len(set(inner)) == 1 and max(lengths) == inner[0]


def _numbers(values: Sequence[str]) -> list[Fraction] | None:
    """The values as numbers, times of the day, or numbers after one name; None where they are none of these."""
    for read in (_as_numbers, _as_times, _as_numbered):
        numbers = read(values)
        if numbers is not None:
            return numbers
    return None


def _as_numbers(values: Sequence[str]) -> list[Fraction] | None:
    if not all(re.fullmatch(r"\s*[+-]?[0-9]{1,18}(\.[0-9]{1,18})?\s*", value) for value in values):
        return None
    return [Fraction(value.strip()) for value in values]


def _as_times(values: Sequence[str]) -> list[Fraction] | None:
    """Seconds since midnight of times of the day."""
    times = _read_times(values, CLOCK) or _read_times(values, f"{CLOCK}:%S")
    return None if times is None else _seconds(times)


def _dates(values: Sequence[str]) -> list[list[datetime]]:
    """The values as dates, perhaps with times, in every way in which all of them can be read."""
    if _as_numbers(values) is not None:
        return []
    forms = [form + time for form in DATES for time in ("", f" {CLOCK}", f" {CLOCK}:%S")]
    read = [_read_iso(values), *(_read_times(values, form) for form in ("%Y-%m", *forms))]
    return [dates for dates in read if dates is not None]


def _read_iso(values: Sequence[str]) -> list[datetime] | None:
    """Dates in the form of ISO 8601, in the time of the zone that they name."""
    try:
        times = [datetime.fromisoformat(value.strip()) for value in values]
    except ValueError:
        return None
    return [time.replace(tzinfo=None) - (time.utcoffset() or timedelta()) for time in times]


def _read_times(values: Sequence[str], form: str) -> list[datetime] | None:
    try:
        return [datetime.strptime(value.strip(), form) for value in values]
    except ValueError:
        return None


def _seconds(times: Sequence[datetime]) -> list[Fraction]:
    apart = [time - _EPOCH for time in times]
    return [
        Fraction(delta.days * 86400 + delta.seconds) + Fraction(delta.microseconds, 10**6) for delta in apart
    ]


def _months(dates: Sequence[datetime]) -> list[Fraction] | None:
    """Months since year 0, where the day and the time are always the same."""
    if len({date.replace(year=2000, month=1) for date in dates}) > 1:
        return None
    return [Fraction(12 * date.year + date.month) for date in dates]


def _as_numbered(values: Sequence[str]) -> list[Fraction] | None:
    matches = [_NUMBERED.fullmatch(value.strip()) for value in values]
    named = [match for match in matches if match is not None]
    if len(named) < len(values) or len({match[1] for match in named}) > 1:
        return None
    return [Fraction(int(match[2])) for match in named]


def _steps(numbers: Sequence[Fraction] | None) -> bool:
    """Whether numbers go by equal steps, perhaps beginning anew after equally many."""
    if numbers is None:
        return False
    steps = [b - a for a, b in pairwise(numbers)]
    step = steps[0] if len(steps) < 2 or steps[0] == steps[1] else max(set(steps), key=steps.count)
    anew = [place for place, difference in enumerate(steps) if difference != step]
    if step == 0 or not anew:
        return step != 0
    period = 1 - steps[anew[0]] / step
    if period.denominator != 1 or period < 3 or len(numbers) < RUNS * period:
        return False
    return all(steps[place] == (1 - period) * step for place in anew) and anew == list(
        range(anew[0], len(steps), int(period))
    ) and anew[0] < period  # fmt: skip

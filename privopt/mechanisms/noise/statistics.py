"""What a noisy query reads from records: a sum, a mean, a count, a histogram, or a function of the caller."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from privopt.errors import InvalidMechanism
from privopt.files.labels import Label, Labels, plain_label
from privopt.mechanisms.columns import encode


@dataclass(frozen=True)
class Query:
    """A function of the records, with its sensitivity, which nobody can check: it is the caller's word.

    Parameters
    ----------
    function : callable (records) -> float
        Reads all records as ``release`` gets them.
    sensitivity : float
        The most by which the value changes when one record is replaced by another, > 0 and finite.

    Raises
    ------
    InvalidMechanism
        If the function cannot be called or the sensitivity is missing or not a positive number.

    Examples
    --------
    >>> Query(max, sensitivity=10).value([1, 7, 3])
    7.0
    """

    function: Callable[[Any], float]
    sensitivity: float = math.nan  # so that leaving it out is refused with the sentence below

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InvalidMechanism(f"the function of a query must be callable, got {self.function!r}")
        most: object = self.sensitivity
        if isinstance(most, np.generic):
            most = most.item()
        if isinstance(most, bool) or not isinstance(most, (int, float)) or not 0 < most < math.inf:
            raise InvalidMechanism(
                f"the sensitivity of a query must be a finite number > 0, got {most!r}: "
                "give the most that one record can change its value"
            )
        object.__setattr__(self, "sensitivity", float(most))

    def value(self, records: Any) -> float:
        """The value of the function on these records.

        Raises
        ------
        InvalidMechanism
            If it is not a finite number.
        """
        answer = self.function(records)
        try:
            number = float(answer)
        except (TypeError, ValueError) as cause:
            raise InvalidMechanism(
                f"the query gave a {type(answer).__name__} on these records, not a number"
            ) from cause
        if not math.isfinite(number):
            raise InvalidMechanism(f"the query gave {number} on these records, not a finite number")
        return number


AnyQuery: TypeAlias = str | tuple[str, Label] | Query
Clip: TypeAlias = tuple[float, float]

MOST = math.nextafter(math.inf, 0.0)
NAMED = ("sum", "mean", "count", "histogram")
MOST_RECORDS = 2**20
"""Records that a sum of unknown length may have."""


def read_query(value: object) -> AnyQuery:
    """A query as it is stored: a name, ``("count", state)``, or a :class:`Query`."""
    if isinstance(value, Query) or (isinstance(value, str) and value in NAMED):
        return value
    if isinstance(value, (tuple, list)) and len(value) == 2 and value[0] == "count":
        return ("count", plain_label(value[1]))
    raise InvalidMechanism(
        f'query must be one of {", ".join(NAMED)}, ("count", state), or a privopt.Query, got {value!r}'
    )


def read_clip(value: object) -> Clip | None:
    """Two finite numbers, the lower first."""
    if value is None:
        return None
    try:
        low, high = (float(x) for x in value)  # type: ignore[attr-defined]  # refused below
    except (TypeError, ValueError) as cause:
        raise InvalidMechanism(f"clip must be two numbers (lower, upper), got {value!r}") from cause
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InvalidMechanism(
            f"clip must be two finite numbers, the lower first, got ({low}, {high}): swap or correct them"
        )
    return low + 0.0, high + 0.0


def up(value: Fraction) -> float:
    """The smallest float that is at least a rational; inf beyond the floats.

    Examples
    --------
    >>> up(Fraction(1, 3)) >= Fraction(1, 3), up(Fraction(1, 2))
    (True, 0.5)
    """
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf if value > 0 else -MOST
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def sensitivity(query: AnyQuery, clip: Clip | None, length: int | None) -> float:
    """The most by which the float that is read changes when one record is replaced (histogram: in L1).

    Sums and means are rounded to a grid, the unit in the last place of the largest sum that can be: two values at a
    distance of at most D are then at a distance of at most D rounded up to the grid.

    Examples
    --------
    >>> sensitivity("count", None, None), sensitivity("histogram", None, None), sensitivity("mean", (0.0, 8.0), 4)
    (1.0, 2.0, 2.0)
    """
    if isinstance(query, Query):
        return query.sensitivity
    if query == "histogram":
        return 2.0
    if query not in ("sum", "mean"):
        return 1.0
    apart, grid = spacing(query, clip, length)
    most = up(math.ceil(apart / grid) * grid)
    if most == math.inf:
        raise InvalidMechanism(f"clip is {clip}: the {query} of values so far apart is beyond the floats")
    return most


def spacing(query: AnyQuery, clip: Clip | None, length: int | None) -> tuple[Fraction, Fraction]:
    """How far one record moves a sum or mean of clipped records, and the grid to which it is rounded.

    Every multiple of the grid up to the largest value is a float.

    Examples
    --------
    >>> spacing("mean", (0.0, 8.0), 4)
    (Fraction(2, 1), Fraction(1, 562949953421312))
    """
    if clip is None:
        raise InvalidMechanism(f"the {query} needs clip=(lower, upper): without it one record has no limit")
    if query == "mean" and length is None:
        raise InvalidMechanism("the mean needs length=, the number of records")
    most = max(abs(clip[0]), abs(clip[1])) * (1 if query == "mean" else (length or MOST_RECORDS))
    if most == math.inf:
        raise InvalidMechanism(f"clip is {clip}: the {query} of so large values is beyond the floats")
    apart = (Fraction(clip[1]) - Fraction(clip[0])) / (length or 1 if query == "mean" else 1)
    return apart, Fraction(math.ulp(most))


def value(
    query: AnyQuery,
    data: Any,
    clip: Clip | None,
    length: int | None,
    states: Labels | None,
    draw: Callable[[int], int] | None = None,
) -> Any:
    """The true value: a float for sums, means and functions, integers for counts and histograms.

    A sum or mean is rounded to its grid: to the nearest point, or with ``draw``, which gives a uniform integer below
    its argument, to one of the two next ones with the probabilities that keep its mean. The probability of an output
    is then a mixture f of its probabilities at both, ln f lies above the linear interpolation of its logarithms, by
    at most t^2 / 8 where they differ by t (Hoeffding's lemma): it is as smooth in the data as without rounding but
    for (grid / scale)^2 / 8.
    """
    if isinstance(query, Query):
        if length is not None:
            check_length(_count(data), length)
        return query.value(data)
    if query in ("sum", "mean"):
        return _total(query, data, clip, length, states, draw)
    cells = members(query, data, states)
    check_length(cells.shape[-1] if cells.ndim else 0, length)
    if query == "histogram":
        return np.bincount(cells, minlength=len(states or ()))
    return int(cells.sum())


def members(query: AnyQuery, data: Any, states: Labels | None) -> NDArray[np.int64]:
    """For a count, 1 where a record is in the counted state; for a histogram, the position of its state."""
    if states is None:
        if query == "histogram":
            raise InvalidMechanism("a histogram needs the states that it counts")
        target = counted(query, states)
        return np.array([int(_present(x, i) == target) for i, x in enumerate(_list(data))], dtype=np.int64)
    codes = encode(data, states)
    if codes.ndim != 1:
        raise InvalidMechanism("give the records of one sequence: a column, not a table")
    return codes if query == "histogram" else (codes == states.index(counted(query, states))).astype(np.int64)


def _present(record: Any, i: int) -> Label:
    """A record as a label; a missing one is refused, as it would count as another value."""
    if (
        record is None
        or (isinstance(record, (float, np.floating)) and math.isnan(record))
        or type(record).__name__ in ("NAType", "NaTType")
    ):
        raise InvalidMechanism(f"record {i} is missing ({record!r}); drop or replace it")
    return plain_label(record)


def _count(data: Any) -> int:
    """Number of records that a function of the caller reads."""
    try:
        return len(data)
    except TypeError as cause:
        raise InvalidMechanism(
            f"a {type(data).__name__} does not show its number of records, which this mechanism states: give a list"
        ) from cause


def counted(query: AnyQuery, states: Labels | None) -> Label:
    """The state that a count counts: the one named, else the state at position 1 (the value 1 without states)."""
    if isinstance(query, tuple):
        if states is not None and query[1] not in states:
            raise InvalidMechanism(
                f"the count is of {query[1]!r}, which is not among the states {states!r}: name one of them"
            )
        return query[1]
    if states is None:
        return 1
    if len(states) < 2:
        raise InvalidMechanism('there is one state only: give ("count", state)')
    return states[1]


def check_length(count: int, length: int | None) -> None:
    """Refuse data of another number of records."""
    if length is not None and count != length:
        raise InvalidMechanism(f"the data have {count} records, the mechanism is for {length}")


def _total(
    query: AnyQuery,
    data: Any,
    clip: Clip | None,
    length: int | None,
    states: Labels | None,
    draw: Callable[[int], int] | None,
) -> float:
    records = _list(data)
    numbers = _numbers(records)
    check_length(len(numbers), length)
    if length is None and len(numbers) > MOST_RECORDS:
        raise InvalidMechanism(f"the data have more than {MOST_RECORDS} records: give length=")
    if clip is None:
        raise InvalidMechanism(f"the {query} needs clip=(lower, upper): without it one record has no limit")
    for i, x in enumerate(numbers if states is not None else ()):
        if x not in (states or ()):
            raise InvalidMechanism(f"record {i} is none of the states, which are {states!r}")
    total = sum((Fraction(min(max(x, clip[0]), clip[1])) for x in numbers), Fraction(0))
    grid = spacing(query, clip, length)[1]
    exact = (total / len(numbers) if query == "mean" else total) / grid
    # halves always go up: to the even neighbour, two values at an odd distance could end one step further apart
    shift = Fraction(1, 2) if draw is None else Fraction(draw(exact.denominator), exact.denominator)
    return float(math.floor(exact + shift) * grid)


def _list(data: Any) -> list[Any]:
    if isinstance(data, (str, bytes)):
        raise InvalidMechanism("data must be a sequence of records, not one string")
    if isinstance(data, np.ndarray) and data.ndim != 1:
        raise InvalidMechanism(f"data must be one column of records, got {data.ndim} dimensions")
    return list(data.tolist()) if isinstance(data, np.ndarray) else list(data)


def _numbers(records: Sequence[Any]) -> list[float]:
    numbers: list[float] = []
    for i, record in enumerate(records):
        cause = None
        try:
            number = math.nan if record is None or isinstance(record, (str, bytes)) else float(record)
        except (TypeError, ValueError) as error:
            number, cause = math.nan, error
        if math.isnan(number):
            raise InvalidMechanism(f"record {i} is not a number; drop or replace it") from cause
        numbers.append(number)
    if not numbers:
        raise InvalidMechanism("there are no records")
    return numbers

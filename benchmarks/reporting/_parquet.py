"""Tables as Parquet."""

from __future__ import annotations

import io
from collections.abc import Sequence

from privopt.benchmarks.reporting._data import Value
from privopt.errors import MissingExtra

NEEDS = 'Parquet needs polars: pip install "privopt[polars]"'


def parquet(columns: Sequence[str], lines: Sequence[Sequence[Value]]) -> bytes:
    """Columns with the narrowest type that holds all of theirs: bool, int, float or text; missing is null.

    Raises
    ------
    MissingExtra
        If polars is not installed.
    """
    try:
        import polars
    except ImportError as cause:
        raise MissingExtra(NEEDS) from cause
    table = polars.DataFrame({name: _column([line[i] for line in lines]) for i, name in enumerate(columns)})
    stream = io.BytesIO()
    table.write_parquet(stream)
    return stream.getvalue()


def _column(values: Sequence[Value]) -> list[Value]:
    """One type: a column of numbers with an integer among floats is float, one with words is text."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) < 2:
        return list(values)
    if kinds == {int, float}:
        return [None if value is None else float(value) for value in values]
    return [None if value is None else str(value) for value in values]

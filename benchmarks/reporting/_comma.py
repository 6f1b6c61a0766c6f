"""Tables as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from privopt.benchmarks.reporting._data import Value, encode


def csv_text(columns: Sequence[str], lines: Iterable[Sequence[Value]]) -> str:
    r"""CSV as the page writes it: an empty cell is missing, infinity is inf.

    Examples
    --------
    >>> csv_text(["a", "b"], [[1.5, None], [float("inf"), "x,y"]])
    'a,b\n1.5,\ninf,"x,y"\n'
    """
    stream = io.StringIO()
    table = csv.writer(stream, lineterminator="\n")
    table.writerow(columns)
    table.writerows([_plain(value) for value in line] for line in lines)
    return stream.getvalue()


def _plain(value: Value) -> Value:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else encode(value)

"""Tables that several kinds of page have."""

from __future__ import annotations

from collections.abc import Mapping

from privopt.benchmarks._cells import Head, Table


def facts_table(pairs: Mapping[str, str]) -> Table:
    """Names with their values."""
    header = (Head("what"), Head("version"))
    return Table("environment", "Environment", header, tuple(pairs.items()), sortable=False)


def facts(pairs: Mapping[str, str]) -> str:
    """The same as HTML.

    Examples
    --------
    >>> "<td>Python</td><td>3</td>" in facts({"Python": "3"})
    True
    """
    return facts_table(pairs).html()

"""The data of a page: the run's columns once, the figures that read them, and the two themes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from privopt.benchmarks.reporting._content import Content
from privopt.benchmarks.reporting._data import FIELDS, Dataset, Value, encode
from privopt.benchmarks.reporting._figure import Figure
from privopt.benchmarks.reporting._judged import LEAST_GAP, Judged
from privopt.benchmarks.reporting._profiles import TICK
from privopt.benchmarks.reporting._themes import DARK, LIGHT


def embedded(content: Content) -> str:
    """JSON for a script element: nothing in it can end the element or open a comment."""
    used = {
        name
        for figure in content.figures
        for data in figure.data.values()
        if data.rows is not None
        for name in data.columns
    }
    value = {
        "solvers": list(content.look),
        "frame": {name: _column(content.rows, name) for name in sorted(used)},
        "figures": [_figure(figure) for figure in content.figures],
        "themes": {"light": LIGHT, "dark": DARK},
        "least": LEAST_GAP,
        "tick": TICK,
    }
    text = json.dumps(value, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _column(rows: Sequence[Judged], name: str) -> dict[str, list[Any]]:
    """Texts as levels and codes, anything else as it is."""
    values: list[Value] = [FIELDS[name](j) for j in rows]
    if values and all(isinstance(value, str) for value in values):
        levels = {value: i for i, value in enumerate(dict.fromkeys(values))}
        return {"levels": list(levels), "codes": [levels[value] for value in values]}
    return {"values": [encode(value) for value in values]}


def _figure(figure: Figure) -> dict[str, Any]:
    return {
        "name": figure.name,
        "title": figure.title,
        "caption": figure.caption,
        "parts": list(figure.parts),
        "profile": figure.profile,
        "shown": figure.shown,
        "spec": figure.spec,
        "data": {name: _data(data) for name, data in figure.data.items() if not _computed(figure, name)},
    }


def _computed(figure: Figure, name: str) -> bool:
    """Whether the page computes these data itself, from the rows of a profile."""
    return bool(figure.profile) and name == figure.shown


def _data(data: Dataset) -> dict[str, Any]:
    if data.rows is not None:
        return {"columns": list(data.columns), "rows": list(data.rows)}
    return {
        "columns": list(data.columns),
        "records": [[encode(value) for value in record] for record in data.records],
    }

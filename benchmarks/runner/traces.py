"""Objective and bound over time: what solvers say they have reached, and the judged answer at the end, for figures.

A run keeps what solvers told through ``progress`` (:meth:`privopt.Budget.report`) in ``traces.jsonl``, a line for each task that
told something, under the key of its row. What was told on the way is not judged; the last point of a series is.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privopt.benchmarks.runner.rows import Row
from privopt.core.trace import Point
from privopt.errors import FileRefused
from privopt.files.json import parse_json, writing
from privopt.files.numbers import decode_float, encode_float

TRACES = "traces.jsonl"


@dataclass(frozen=True)
class Series:
    """How one run went, ready to be drawn as steps.

    Parameters
    ----------
    row : Row
        The run.
    points : tuple of (seconds, objective, bound)
        In the order of time; None where there is no number yet. The last one is what was judged and proved, at the end
        of the run; those before it are what the solver said.
    """

    row: Row
    points: tuple[Point, ...]

    @property
    def told(self) -> bool:
        """Whether the solver said anything on the way; otherwise there is the end alone."""
        return len(self.points) > 1

    def at(self, seconds: float) -> Point | None:
        """The last point up to a time; None before the first.

        Examples
        --------
        >>> series = Series(None, ((1.0, 0.2, None), (3.0, 0.5, 0.9)))
        >>> series.at(0.5), series.at(2.0), series.at(9.0)
        (None, (1.0, 0.2, None), (3.0, 0.5, 0.9))
        """
        place = bisect_right([point[0] for point in self.points], seconds)
        return self.points[place - 1] if place else None


def series(rows: Iterable[Row], traces: Mapping[str, Sequence[Point]]) -> tuple[Series, ...]:
    """How each run with an answer went, from the rows of a run and its traces; what failed has no points.

    Points that a solver told after the time of its answer, which includes judging, do not count.
    """
    made = []
    for row in rows:
        if row.ok and row.seconds is not None and row.objective is not None:
            told = [point for point in traces.get(row.key, ()) if point[0] < row.seconds]
            made.append(Series(row, (*told, (row.seconds, row.objective, row.bound))))
    return tuple(made)


def read_series(folder: Path, rows: Iterable[Row]) -> tuple[Series, ...]:
    """How the runs in a folder went.

    Raises
    ------
    FileRefused
        If the file of traces is malformed.
    """
    return series(rows, read_traces(folder))


def read_traces(folder: Path) -> dict[str, tuple[Point, ...]]:
    """What solvers said over time, by the keys of rows; empty where a run kept nothing, as older ones did.

    Raises
    ------
    FileRefused
        If the file cannot be read, or a line is malformed, with its number.
    """
    path = folder / TRACES
    if not path.exists():
        return {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as cause:
        raise FileRefused(f"{path}: cannot be read: {cause}") from cause
    traces = {}
    for i, line in enumerate(lines, 1):
        fields = parse_json(line, f"{path}, line {i}")
        try:
            traces[str(fields["key"])] = decode_points(fields["points"])
        except (KeyError, TypeError, ValueError) as cause:
            raise FileRefused(f"{path}, line {i}: is no trace: {cause}; run the suite again") from cause
    return traces


def write_traces(folder: Path, traces: Mapping[str, Sequence[Point]]) -> None:
    """Write one line a task, whole or not at all; no file where no solver said anything."""
    if not traces:
        (folder / TRACES).unlink(missing_ok=True)
        return
    with writing(folder / TRACES) as stream:
        for key, points in traces.items():
            stream.write(json.dumps({"key": key, "points": encode_points(points)}, allow_nan=False) + "\n")


def encode_points(points: Iterable[Point]) -> list[list[Any]]:
    """Points as JSON-safe lists.

    Examples
    --------
    >>> decode_points(encode_points([(0.5, None, float("inf"))]))
    ((0.5, None, inf),)
    """
    return [[None if value is None else encode_float(value) for value in point] for point in points]


def decode_points(values: object) -> tuple[Point, ...]:
    """Points from JSON-safe lists.

    Raises
    ------
    TypeError or ValueError
        If they are none.
    """
    if not isinstance(values, list):
        raise TypeError("expected a list of points")
    return tuple(_point(value) for value in values)


def _point(value: object) -> Point:
    if not isinstance(value, list) or len(value) != 3 or value[0] is None:
        raise ValueError(f"expected seconds, objective and bound, got {value!r}")
    seconds, objective, bound = (None if v is None else decode_float(v) for v in value)
    return (seconds or 0.0, objective, bound)

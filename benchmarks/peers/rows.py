"""Rows of the comparison with peers, and what they add up to."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from privopt.errors import FileRefused
from privopt.files.numbers import decode_float, encode_float


@dataclass(frozen=True)
class PeerRow:
    """One peer at one instance, with privopt beside it.

    Parameters
    ----------
    problem, peer, instance : str
    size : int
    budget : float
    status : str
        "answered", "refused", "failed" or "ended".
    reason : str
        Why there is no answer, or where the worst leak of an answer is.
    seconds, our_seconds : float or None
        Of the peer, and of ``privopt.solve`` with its certificate.
    objective, claimed : float or None
        What the problem reads of the peer's mechanism, and what the peer says it reached.
    our_objective : float or None
    our_status, our_solver : str
    our_certified : bool
    leakage, excess : float or None
        Of the peer's raw mechanism, and by how much it misses the budget.
    proved : bool
        Whether the integer form of that mechanism is proved to keep the budget.
    """

    question: str
    peer: str
    instance: str
    size: int
    budget: float
    status: str
    reason: str = ""
    seconds: float | None = None
    our_seconds: float | None = None
    objective: float | None = None
    claimed: float | None = None
    our_objective: float | None = None
    our_status: str = ""
    our_solver: str = ""
    our_certified: bool = False
    leakage: float | None = None
    excess: float | None = None
    proved: bool = False

    @property
    def ratio(self) -> float | None:
        """Its seconds over ours; None where one of us has no mechanism."""
        if (
            self.status != "answered"
            or self.our_objective is None
            or not self.seconds
            or not self.our_seconds
        ):
            return None
        return self.seconds / self.our_seconds

    @property
    def difference(self) -> float | None:
        """Its objective minus ours, as the problem reads both: positive where it got more, private or not."""
        if self.objective is None or self.our_objective is None:
            return None
        return self.objective - self.our_objective

    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe dictionary, with the ratio and the difference.

        Examples
        --------
        >>> PeerRow("q", "p", "i", 3, float("inf"), "refused").to_dict()["budget"]
        'inf'
        """
        record = {**asdict(self), "ratio": self.ratio, "difference": self.difference}
        return {name: encode_float(v) if isinstance(v, float) else v for name, v in record.items()}


def filled(row: Mapping[str, Any], told: Mapping[str, Any]) -> PeerRow:
    """The row of a task from its labels and what its process told."""
    ours, judged = told.get("ours", {}), told.get("judged", {})
    fault = str(told.get("fault", "") or judged.get("fault", ""))
    return PeerRow(
        **row,
        status="failed" if fault else "answered" if "objective" in judged else "ended",
        reason=fault or str(judged.get("where", "")),
        seconds=_figure(told.get("seconds")),
        our_seconds=_figure(ours.get("seconds")),
        objective=_figure(judged.get("objective")),
        claimed=_figure(told.get("claimed")),
        our_objective=_figure(ours.get("objective")),
        our_status=str(ours.get("status", "")),
        our_solver=str(ours.get("solver", "")),
        our_certified=ours.get("certified") is True,
        leakage=_figure(judged.get("leakage")),
        excess=_figure(judged.get("excess")),
        proved=judged.get("proved") is True,
    )


def _figure(value: Any) -> float | None:
    return None if value is None else decode_float(value)


def read_peers(path: Path) -> tuple[PeerRow, ...]:
    """The rows that ``privopt bench peers`` wrote as CSV.

    Raises
    ------
    FileRefused
        If the file cannot be read or is empty, or a cell is not of its kind, with its line and column.
    """
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            lines = list(csv.DictReader(stream))
    except (OSError, UnicodeDecodeError, csv.Error) as cause:
        raise FileRefused(
            f"{path}: cannot be read: {cause}; it is written by: privopt bench peers"
        ) from cause
    if not lines:
        raise FileRefused(f"{path}: holds no row; it is written by: privopt bench peers")
    return tuple(_read(line, f"{path}, line {i}") for i, line in enumerate(lines, 2))


def _read(line: Mapping[str, str | None], source: str) -> PeerRow:
    values = {}
    for field in fields(PeerRow):
        text = line.get(field.name)
        if text is None:
            raise FileRefused(f"{source}: has no {field.name}; run privopt bench peers again")
        try:
            values[field.name] = _cell(text, str(field.type))
        except ValueError as cause:
            raise FileRefused(f"{source}: {field.name} is {text!r}, not of type {field.type}") from cause
    return PeerRow(**values)


def _cell(text: str, kind: str) -> Any:
    if kind == "str":
        return text
    if text == "" and kind.endswith("None"):
        return None
    if kind == "bool":
        return {"True": True, "False": False}[text] if text in ("True", "False") else int("")
    number = int(text) if kind == "int" else float(text)
    if math.isnan(number):
        raise ValueError(text)
    return number


@dataclass(frozen=True)
class PeerSummary:
    """All rows of one peer at one problem; ``ratio`` is the geometric mean, ``reason`` that of the first without an answer."""

    question: str
    peer: str
    instances: int
    answered: int
    ratio: float | None
    least: float | None
    most: float | None
    proved: int
    excess: float | None
    reason: str


def summaries(rows: Iterable[PeerRow]) -> tuple[PeerSummary, ...]:
    """One line for each problem and peer, in the order of the rows."""
    groups: dict[tuple[str, str], list[PeerRow]] = {}
    for row in rows:
        groups.setdefault((row.question, row.peer), []).append(row)
    return tuple(_summary(*key, group) for key, group in groups.items())


def _summary(kind: str, peer: str, rows: Sequence[PeerRow]) -> PeerSummary:
    differences = [r.difference for r in rows if r.difference is not None]
    return PeerSummary(
        kind,
        peer,
        len(rows),
        sum(r.status == "answered" for r in rows),
        geometric_mean([r.ratio for r in rows if r.ratio is not None]),
        min(differences, default=None),
        max(differences, default=None),
        sum(r.proved for r in rows),
        max((r.excess for r in rows if r.excess is not None), default=None),
        next((f"{r.status}: {r.reason}" for r in rows if r.status != "answered"), ""),
    )


def geometric_mean(values: Sequence[float]) -> float | None:
    """The geometric mean of positive numbers, None of no numbers.

    Examples
    --------
    >>> round(geometric_mean([1.0, 4.0]), 12), geometric_mean([])
    (2.0, None)
    """
    return math.exp(math.fsum(map(math.log, values)) / len(values)) if values else None

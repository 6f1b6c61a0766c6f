"""Rows of the measurement of ``solve``: one run each, appended to a file that survives being stopped."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Self

from privopt.errors import FileRefused
from privopt.files.numbers import decode_float, encode_float

NAME = "runs.jsonl"
SOLVE, ANCHOR = "solve", "anchor"
"""Rows of ``solve`` itself, and of the mechanism that it starts from; all others bear a solver's name."""
CUT = 0.9
"""A run that took this share of its limit may have been stopped by it."""


@dataclass(frozen=True)
class Run:
    """One run on one case.

    Parameters
    ----------
    case : str
        Name of the case.
    solver : str
        ``"solve"``, ``"anchor"``, or the name of a solver.
    limit : float
        Seconds that it had; of the anchor, those that building the case took.
    repetition : int
    status, reason : str
        As in the solution; the reason of the anchor lists the solvers that take the case.
    winner : str
        Which solver gave the answer.
    objective, bound : float or None
        Of the certified mechanism; None where there is none.
    scale : float
        What a gap is compared with.
    certified : bool
    seconds : float
        Wall time of the whole call; of the anchor, of asking all solvers whether they take the case.
    paired : str
        With which solver it took turns, alone on the machine, so that their seconds can be compared; empty for other runs.
    """

    case: str
    solver: str
    limit: float
    repetition: int
    status: str
    reason: str
    winner: str
    objective: float | None
    bound: float | None
    scale: float
    certified: bool
    seconds: float
    paired: str = ""

    @property
    def cut(self) -> bool:
        """Whether it may have been stopped by its limit."""
        return self.seconds >= CUT * self.limit

    @property
    def closed(self) -> bool:
        """Whether the optimum was proved, or that there is none."""
        return self.status in ("OPTIMAL", "INFEASIBLE")

    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe dictionary."""
        return {k: encode_float(v) if isinstance(v, float) else v for k, v in asdict(self).items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The run that :meth:`to_dict` wrote.

        Raises
        ------
        FileRefused
            If a field is missing or unknown.
        """
        kinds = {f.name: str(f.type) for f in fields(cls)}
        if set(values) not in (set(kinds), set(kinds) - {"paired"}):
            raise FileRefused(f"a run has the wrong fields: {sorted(set(values) ^ set(kinds))}")
        decoded: dict[str, Any] = {
            name: decode_float(value) if kinds[name].startswith("float") and value is not None else value
            for name, value in values.items()
        }
        return cls(**decoded)


def append_runs(folder: Path, runs: Iterable[Run]) -> None:
    """Add rows to the file of a folder; they are on the disk when this returns."""
    with (folder / NAME).open("a", encoding="utf-8") as stream:
        for run in runs:
            stream.write(json.dumps(run.to_dict(), allow_nan=False) + "\n")
        stream.flush()
        os.fsync(stream.fileno())


def read_runs(folder: Path) -> list[Run]:
    """The rows of a folder; a last line that was cut off by a crash is left out, no file means no rows.

    Raises
    ------
    FileRefused
        If another line is not a row.
    """
    path = folder / NAME
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    try:
        return [Run.from_dict(json.loads(line)) for line in lines]
    except ValueError as cause:
        raise FileRefused(f"{path}: not the rows of this measurement: {cause}") from cause


def mend(folder: Path) -> None:
    """Cut off the last line of a run that crashed while it wrote it."""
    path = folder / NAME
    if path.exists():
        with path.open("r+b") as stream:
            stream.truncate(stream.read().rfind(b"\n") + 1)

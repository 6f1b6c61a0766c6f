"""Rows: what became of one run, written as JSON lines and as CSV."""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

from privopt.core.problem import FEASIBILITY
from privopt.core.solution import Status
from privopt.errors import FileRefused
from privopt.files.json import parse_json, writing
from privopt.files.numbers import decode_float, encode_float

AUTO = "auto"
"""The name under which what ``privopt.solve()`` does by itself competes with the solvers by name."""


@dataclass(frozen=True)
class Row:
    """One solver on one instance with one budget; a failure or a refusal is a row too.

    Numbers are None where there is none.

    Parameters
    ----------
    key : str
        SHA-256 of what was asked: problem, solver, budget, seed, time limit, version.
    suite, problem, family, instance, size : str or int
        ``problem`` is the kind of problem; instances of a ``family`` differ in ``size`` only.
    fingerprint : str
        That of the problem with its budget.
    solver, budget, seed, time_limit
        What was run; the budget in the problem's own unit, the limit in seconds.
    status, reason : str
        The status by name, and in words why the run ended as it did; never empty.
    utility, leakage, objective, bound, gap : float or None
        As in the solution: those of the quantised mechanism, and the checked bound.
    certified, verified, repaired : bool
        ``certified`` says that the solution carries a certificate, ``verified`` that it was proved again
        from its stored form, ``repaired`` that the proposal had to be changed to be private.
    raw_leakage, raw_violation, violation, utility_lost : float or None
        Leakage of the mechanism as proposed, by how much it missed its budget, by how much the one that came out
        does in float64, and the utility that repair took.
    seconds, cold_seconds : float or None
        Wall time of solving and judging: in a process that has solved this kind of problem before, and
        the first time in a fresh process, imports included.
    peak_memory : float or None
        Largest resident size of the run's own process, in MiB.
    iterations : int or None
        As counted by the solver.
    guarantee : str
        What the checked bound makes of the answer.
    privopt, python, numpy, libraries : str
        Versions; ``libraries`` those of what the solver requires.
    attack_accuracy : float or None
        Share of letters that an adversary guesses right, for sequence policies. Rows may leave out this and what follows.
    role : str
        What the solver declares that it proves, by name: OPTIMAL, BOUNDED, FEASIBLE, BASELINE or ORACLE; empty for
        ``solve()``, and where it is not known.
    chosen : str
        The solver whose answer ``solve()`` took.
    claim_holds : bool or None
        Whether the budget and the bound were proved again from the stored form, whatever else differs; None where
        nothing was proved again.
    differs : str
        Where the stored record differs from what was proved again; empty where it does not.
    raw_objective : float or None
        Objective of the mechanism as proposed.
    cpu : float or None
        Processor seconds of solving and judging, those of child processes included.
    """

    key: str
    suite: str
    question: str
    family: str
    instance: str
    size: int
    fingerprint: str
    solver: str
    budget: float
    seed: int
    time_limit: float
    status: str
    reason: str
    utility: float | None
    leakage: float | None
    objective: float | None
    bound: float | None
    gap: float | None
    certified: bool
    verified: bool
    repaired: bool
    raw_leakage: float | None
    raw_violation: float | None
    violation: float | None
    utility_lost: float | None
    seconds: float | None
    cold_seconds: float | None
    peak_memory: float | None
    iterations: int | None
    guarantee: str
    privopt: str
    python: str
    numpy: str
    libraries: str
    attack_accuracy: float | None = None
    role: str = ""
    chosen: str = ""
    claim_holds: bool | None = None
    differs: str = ""
    raw_objective: float | None = None
    cpu: float | None = None

    @property
    def ok(self) -> bool:
        """Whether there is a mechanism."""
        return Status[self.status].ok

    @property
    def broken(self) -> bool:
        """Whether a certified claim failed when it was proved again; a record that differs is no failed claim."""
        return self.certified and not self.verified and self.claim_holds is not True

    @property
    def differing(self) -> bool:
        """Whether the certified claim holds and the stored record says something else beside it."""
        return self.certified and not self.broken and (self.differs != "" or not self.verified)

    @property
    def over_budget(self) -> bool:
        """Whether the mechanism as proposed missed its budget beyond what rounding explains."""
        return beyond_rounding(self.raw_violation, self.budget)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe dictionary."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: encode_float(v) if isinstance(v, float) else v for name, v in values.items()}


def beyond_rounding(violation: float | None, budget: float) -> bool:
    """Whether a violation is known and more than rounding explains."""
    return violation is not None and violation > FEASIBILITY * max(1.0, min(budget, 1e6))


_TYPES: dict[str, type] = {"str": str, "int": int, "bool": bool, "float": float, "None": type(None)}
_KINDS = {f.name: str(f.type) for f in fields(Row)}
_OPTIONAL = {f.name for f in fields(Row) if f.default is not MISSING}
_REQUIRED = _KINDS.keys() - _OPTIONAL
_PLAIN = {name: tuple(_TYPES[part] for part in kind.split(" | ")) for name, kind in _KINDS.items()}
"""Types of values that stand in a file as they are; NaN aside, which equals nothing."""


def row_from_dict(values: Mapping[str, Any]) -> Row:
    """The row that ``to_dict`` wrote.

    Raises
    ------
    FileRefused
        If a field is missing, unknown or not of its kind.
    """
    if not _REQUIRED <= values.keys() <= _KINDS.keys():
        odd = sorted((set(values) | _OPTIONAL) ^ set(_KINDS))
        raise FileRefused(
            f"a row has the wrong fields: {', '.join(odd)} is missing or unknown; run the suite again"
        )
    row = Row(
        **{
            name: v if type(v) in _PLAIN[name] and v == v else _decode(name, v)  # noqa: PLR0124 (NaN)
            for name, v in values.items()
        }
    )
    if row.status not in Status.__members__:
        raise FileRefused(f"status of a row: {row.status!r} is not one of {', '.join(Status.__members__)}")
    return row


def _decode(name: str, value: Any) -> Any:
    kind = _KINDS[name]
    if kind.startswith("float"):
        try:
            return decode_float(value)
        except ValueError as cause:
            raise FileRefused(f"{name} of a row: {cause}") from cause
    raise FileRefused(f"{name} of a row: expected {kind}, got {value!r}")


def write_rows(path: str | os.PathLike[str], rows: Iterable[Row]) -> None:
    """Write one JSON object a line; the file appears whole or not at all."""
    with writing(path) as stream:
        for row in rows:
            stream.write(json.dumps(row.to_dict(), allow_nan=False) + "\n")


def read_rows(path: str | os.PathLike[str]) -> tuple[Row, ...]:
    """The rows that :func:`write_rows` wrote.

    Raises
    ------
    FileRefused
        If the file cannot be read, or a line is not a row, with its number.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as cause:
        raise FileRefused(f"{path}: cannot be read: {cause}; is it the folder of a run?") from cause
    rows = []
    for i, line in enumerate(lines, 1):
        source = f"{path}, line {i}"
        try:
            rows.append(row_from_dict(parse_json(line, source)))
        except FileRefused as cause:
            raise FileRefused(
                str(cause) if str(cause).startswith(source) else f"{source}: {cause}"
            ) from cause
    return tuple(rows)


def write_csv(path: str | os.PathLike[str], rows: Iterable[Row]) -> None:
    """The same rows for a spreadsheet; a missing number is an empty cell."""
    with writing(path) as stream:
        table = csv.DictWriter(stream, list(_KINDS), lineterminator="\n")
        table.writeheader()
        table.writerows(row.to_dict() for row in rows)


def standing(row: Row) -> tuple[float, float, str]:
    """Sort key: the largest objective to nine digits, then the smallest proved gap, then the solver's name."""
    return (-round(row.objective or 0.0, 9), math.inf if row.gap is None else row.gap, row.solver)

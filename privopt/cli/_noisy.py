"""The command line for noisy queries: a Gaussian model from columns of numbers, and a number from columns of records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import privopt as po
from privopt.cli import show
from privopt.cli._columns import Machine
from privopt.cli._csv import CsvTable, read_table, write_table
from privopt.errors import FileRefused
from privopt.files.json import write_json


def fit_gaussian(
    data: Path, records: Sequence[str], groups: str | None, output: Path | None, as_json: bool
) -> None:
    """Fit a Gaussian model to columns of numbers.

    Raises
    ------
    FileRefused
        If a cell is not a finite number, or ``groups`` comes with other than one column.
    """
    import pandas as pd

    if groups is not None and len(records) != 1:
        raise FileRefused("--groups goes with one --record NAME, the column of the values")
    read = read_table(data, [*records, *([] if groups is None else [groups])])
    columns: dict[str, Any] = {name: numbers(data, name, read) for name in records}
    if groups is not None:
        columns[groups] = read.columns[groups]
    model = po.GaussianModel.fit(pd.DataFrame(columns), groups)
    if output is not None:
        write_json(output, model.to_dict())
    if as_json:
        show.emit(model.to_dict())
        return
    show.facts([("model", model), ("rows", read.rows), ("written", output)])


def numbers(path: Path, column: str, read: CsvTable) -> list[float]:
    """The cells of a column as finite numbers.

    Raises
    ------
    FileRefused
        With the first row that is not one.
    """
    values: list[float] = []
    for row, cell in enumerate(read.columns[column], 1):
        try:
            value = float(cell)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            what = f"holds {cell!r}" if cell else "is empty"
            raise FileRefused(
                f"{path}: row {row}: {column!r} {what}, not a finite number; correct or drop the row"
            )
        values.append(value)
    return values


def answer_query(
    machine: Machine,
    mechanism: po.NoisyQuery,
    data: Path,
    columns: Sequence[str],
    output: Path,
    seed: int | None,
    how: str,
) -> None:
    """Answer a noisy query on all cells of some columns and write the answer as CSV."""
    read = read_table(data, list(dict.fromkeys(columns)))
    records: list[Any] = []
    for name in dict.fromkeys(columns):
        records += _records(mechanism, data, name, read)
    rng = None if seed is None else np.random.default_rng(seed)
    answer = mechanism.release(records, rng)
    if mechanism.query == "histogram":
        states = [str(state) for state in mechanism.states or ()]
        write_table(output, {"state": states, "count": [str(n) for n in answer.tolist()]})
        shown = ", ".join(f"{s}: {n}" for s, n in zip(states, answer.tolist(), strict=True))
    else:
        shown = str(answer)
        write_table(output, {"query": [mechanism.name], "released": [shown]})
    facts = [("records", len(records)), (mechanism.name, shown), ("accuracy", mechanism.accuracy_statement())]
    show.facts([*facts, ("scope", mechanism.scope), ("how", how), *machine.facts(), ("written", output)])


def _records(mechanism: po.NoisyQuery, path: Path, column: str, read: CsvTable) -> list[Any]:
    """The cells of a column as numbers, or as states by their text."""
    if mechanism.query in ("sum", "mean"):
        return list(numbers(path, column, read))
    if mechanism.states is None:
        wanted = mechanism.query[1] if isinstance(mechanism.query, tuple) else 1
        return [wanted if cell == str(wanted) else None for cell in read.columns[column]]
    by_text = {str(state): state for state in mechanism.states}
    for row, cell in enumerate(read.columns[column], 1):
        if cell not in by_text:
            known = ", ".join(map(repr, list(by_text)[:8]))
            raise FileRefused(f"{path}: row {row}: {column!r} holds {cell!r}; the states are {known}")
    return [by_text[cell] for cell in read.columns[column]]

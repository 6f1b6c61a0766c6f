"""What a chain remembers of the column that it was counted from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from privopt.errors import InvalidModel
from privopt.files.labels import Label
from privopt.models.columns import Column, as_number
from privopt.models.intervals import Bins, edges_of, interval_names, whole
from privopt.models.markov.fit import split
from privopt.models.validation import is_missing


@dataclass(frozen=True)
class StreamColumns:
    """The column of a stream: its name, the intervals of its numbers, and who its sequences belong to.

    They say what a mechanism may be run on; certificates do not depend on them, and no fingerprint holds them.

    Parameters
    ----------
    record : Column
        The column of the records.
    users : str
        The column that said whose each record is; "" where all records were one stream.

    Examples
    --------
    >>> stream = StreamColumns(Column("watts", "binned", ("0-99", "100-400"), (0.0, 100.0, 400.0)))
    >>> stream.letters(["99", "", "100"])
    ['0-99', None, '100-400']
    """

    record: Column
    users: str = ""

    def letters(self, cells: list[str]) -> list[Label | None]:
        """The state of each cell of text; None where it is empty, a gap.

        Raises
        ------
        InvalidModel
            With the number of the first row that does not fit, from 1; its cell is private and is not quoted.
        """
        full = [i for i, cell in enumerate(cells) if cell]
        states: list[Label | None] = [None] * len(cells)
        try:
            letters = self.record.symbols([cells[i] for i in full], text=True)
        except InvalidModel:
            for i in full:
                self._one(cells[i], i + 1)
            raise
        for i, letter in zip(full, letters, strict=True):
            states[i] = letter
        return states

    def _one(self, cell: str, row: int) -> None:
        try:
            self.record.symbols([cell], text=True)
        except InvalidModel as cause:
            raise InvalidModel(str(cause).replace("in row 1 ", f"in row {row} ", 1)) from cause

    def check(self, column: str | None, by: str | None) -> None:
        """Refuse another column than that of the records, and groups that were one stream when the chain was counted.

        Raises
        ------
        InvalidModel
            With what to do instead.
        """
        if column is not None and column != self.record.name:
            raise InvalidModel(
                f"the chain was fitted to {self.record.name!r}, not {column!r}: what is proved is about that column. "
                f"Fit a chain to {column!r}; only if it is the same quantity under another name, rename it"
            )
        if by is not None and by != self.users:
            fitted = f"to the groups of {self.users!r}" if self.users else "to one stream"
            raise InvalidModel(
                f"the chain was fitted {fitted}, and --by {by!r} would treat the groups as independent of each other: "
                "records near their ends tell about the neighbouring group, and nothing was proved of that. For a private "
                "record of every day of one stream, solve Redaction(chain, length=RECORDS OF THE WHOLE STREAM, "
                "private=RECORD OF THE DAY, ..., period=RECORDS A DAY) and release without --by; where the "
                f"groups are independent, fit with --by {by}"
            )

    def to_dict(self) -> dict[str, object]:
        """Plain JSON values from which :meth:`from_dict` makes an equal one."""
        written: dict[str, object] = {"record": self.record.to_dict()}
        return {**written, "users": self.users} if self.users else written

    @classmethod
    def from_dict(cls, d: object) -> Self:
        """Read what :meth:`to_dict` wrote.

        Raises
        ------
        InvalidModel
            If it is not of that form.
        """
        if not isinstance(d, Mapping) or not {"record"} <= set(d) <= {"record", "users"}:
            raise InvalidModel('the columns of a chain are {"record": a column, "users": a name}')
        if not isinstance(d.get("users", ""), str):
            raise InvalidModel('"users" is the name of a column')
        return cls(Column.from_dict(d["record"]), d.get("users", ""))


def binned(sequences: object, bins: Bins, name: str) -> tuple[list[list[Label | None]], Column]:
    """Sequences of numbers as sequences of intervals, and the column that says which.

    Raises
    ------
    InvalidModel
        If a record is not a number, or the rule of the bins does not fit.
    """
    lists = split(sequences, None)
    numbers: list[list[float | None]] = []
    for which, sequence in enumerate(lists):
        row: list[float | None] = []
        for place, cell in enumerate(sequence):
            number = None if is_missing(cell) else as_number(cell)
            if number is None and not is_missing(cell):
                raise InvalidModel(
                    f"position {place} of sequence {which} is not a number: leave bins out, or drop it"
                )
            row.append(number)
        numbers.append(row)
    plain = np.array([number for row in numbers for number in row if number is not None], dtype=np.float64)
    if not plain.size:
        raise InvalidModel("the sequences hold no number that bins could divide")
    edges = tuple(edges_of(plain, name, bins).tolist())
    outside = int(((plain < edges[0]) | (plain > edges[-1])).sum())
    if outside:
        raise InvalidModel(
            f"{outside} of {plain.size} records are outside the bins {edges[0]:g} to {edges[-1]:g}: give wider edges"
        )
    column = Column(name, "binned", interval_names(edges, whole(plain)), edges)
    return [_letters(column, row) for row in numbers], column


def _letters(column: Column, row: list[float | None]) -> list[Label | None]:
    known = iter(column.symbols([number for number in row if number is not None]))
    return [None if number is None else next(known) for number in row]

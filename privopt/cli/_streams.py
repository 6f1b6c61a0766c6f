"""Streams on the command line: chains of numeric columns and of periods, and records that are missing."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

import privopt as po
from privopt.cli._columns import Cells, Runnable, read_symbols, symbols_of
from privopt.errors import FileRefused, InvalidModel
from privopt.files.csv import CsvTable
from privopt.measures.sequence.total import stream_total
from privopt.models.columns import as_number
from privopt.models.markov.stream import StreamColumns
from privopt.publication.receipt import column_digest

StartStep = Annotated[
    int,
    typer.Option(
        "--start-step",
        min=0,
        metavar="STEP",
        help="The step of the chain that row 1 of each stream is, from 0: 16 where records are hours, the period begins at midnight and "
        "a stream at 16:00.",
    ),
]


def stream_of(mechanism: Runnable) -> StreamColumns | None:
    """The column that the chain of a mechanism remembers, if it remembers one."""
    if isinstance(mechanism, po.SequencePolicy):
        return mechanism.chain.columns
    return mechanism.stream if isinstance(mechanism, po.RedactionMechanism) else None


def check_stream(mechanism: Runnable, columns: Sequence[str], by: str | None) -> None:
    """Refuse another column than that of the chain, and groups of what was fitted as one stream.

    Raises
    ------
    FileRefused
        With what to do instead.
    """
    stream = stream_of(mechanism)
    if stream is None:
        return
    try:
        stream.check(columns[0] if len(columns) == 1 else ", ".join(columns), by)
    except InvalidModel as cause:
        raise FileRefused(str(cause)) from cause


def stream_letters(
    path: Path, mechanism: Runnable, names: Sequence[str], table: Mapping[str, Sequence[str]], mark: str
) -> list[Hashable | None]:
    """The letter of each row of a stream; None for a gap, a row whose cells are empty.

    A redaction of a chain that remembers no column takes no gap: it may be for a window of records without any.

    Raises
    ------
    FileRefused
        With the first row that holds no letter; its cells are private and are not quoted.
    """
    stream, symbols = stream_of(mechanism), symbols_of(mechanism, len(names), mark)
    if stream is not None and stream.record.kind == "binned":
        try:
            return [*stream.letters(list(table[names[0]]))]
        except InvalidModel as cause:
            raise FileRefused(f"{path}: {cause}") from cause
    rows: list[Cells] = list(zip(*(table[name] for name in names), strict=True))
    some, none = next(iter(symbols)), ("",) * len(names)
    gaps = none not in symbols and (stream is not None or isinstance(mechanism, po.SequencePolicy))
    full = [some if gaps and cells == none else cells for cells in rows]
    letters: list[Hashable | None] = [*read_symbols(path, names, full, symbols)]
    return [None if gaps and cells == none else x for cells, x in zip(rows, letters, strict=True)]


@dataclass(frozen=True)
class ChainOptions:
    """How a chain is fitted, as the command line says it."""

    states: str | None
    order: int
    smoothing: float
    period: int | None
    bins: Mapping[str, str]
    start_step: int = 0


def fit_chain(
    data: Path,
    column: str,
    by: str | None,
    read: CsvTable,
    groups: Sequence[Sequence[int]],
    options: ChainOptions,
) -> po.MarkovChain:
    """A chain of the sequences in a column; an empty cell is a gap that no transition is counted across.

    Raises
    ------
    FileRefused, InvalidModel
        If an option or a cell does not fit.
    """
    unknown = [name for name in options.bins if name != column]
    if unknown:
        raise FileRefused(f"--bins {unknown[0]!r}: the chain is of {column!r}; give --bins {column}=RULE")
    letters = None if options.states is None else options.states.split(",")
    if letters is not None and "" in letters:
        raise InvalidModel(
            f"--states {options.states!r} holds an empty letter; an empty cell is a missing one"
        )
    cells: list[object] = [cell or None for cell in read.columns[column]]
    if column in options.bins:
        cells = [_number(data, column, row, cell) for row, cell in enumerate(cells, 1)]
    return po.MarkovChain.fit(
        [[*[None] * options.start_step, *(cells[i] for i in rows)] for rows in groups],
        letters,
        options.order,
        options.smoothing,
        period=options.period,
        bins=options.bins.get(column),
        column=column,
        users=by or "",
    )


def _number(data: Path, column: str, row: int, cell: object) -> float | None:
    """The number in a cell."""
    number = None if cell is None else as_number(cell)
    if number is None and cell is not None:
        raise FileRefused(f"{data}: row {row}: {column!r} is not a number; leave it out of --bins")
    return number


def check_earlier(
    whose: str,
    rows: Sequence[Cells],
    released: Sequence[object | None],
    digest: str,
    salt: str,
    skipped: int = 0,
) -> None:
    """Refuse the records of a user if those that were released before are not the first of them.

    A gap that was recorded stays one whatever its row holds now. Without a digest, as an earlier version wrote, only the number of
    records is known. The first ``skipped`` of the rows stand for the steps before the stream begins, and are not counted in messages.

    Raises
    ------
    FileRefused
        With what to do.
    """
    done = len(released)
    if len(rows) < done:
        raise FileRefused(
            f"{whose} has {len(rows) - skipped} records here, and of {done - skipped} the release is recorded: give the data from the first record on"
        )
    if digest and digest != earlier_digest(rows, released, salt):
        raise FileRefused(
            f"{whose}: of {done - skipped} records the release is recorded, and the first {done - skipped} rows here are not those that were read for it: "
            "give the data from the first record on, written as they were, new rows after them; or another --state for other data"
        )


def earlier_digest(rows: Sequence[Cells], released: Sequence[object | None], salt: str) -> str:
    """A keyed hash of the rows whose releases are recorded, each with its place; gaps are left out."""
    there = [
        (place, row) for place, (row, y) in enumerate(zip(rows, released, strict=False)) if y is not None
    ]
    return column_digest([text for place, row in there for text in (str(place), *row)], salt)


def total_facts(mechanism: Runnable, records: int, users: int) -> list[tuple[str, object]]:
    """What is printed of all releases of one stream together, that of the user with the most records."""
    if not isinstance(mechanism, po.SequencePolicy) or not records:
        return []
    whose = "" if users == 1 else "of the user with the most records: "
    return [("all together", whose + stream_total(mechanism, records).sentence())]


def period_facts(chain: po.MarkovChain, start_step: int) -> list[tuple[str, object]]:
    """What is printed of where in the period of a chain each stream begins."""
    if chain.period is None:
        said = f"row 1 is step {start_step} of the chain" if start_step else None
        return [("period", said)]
    step = start_step % chain.period
    said = (
        f"row 1 of each stream is step {step} of the period of {chain.period} (steps 0 to {chain.period - 1})"
    )
    return [("period", f"{said}; a stream that begins elsewhere: --start-step STEP")]


def gap_facts(missing: int) -> list[tuple[str, object]]:
    """What is printed of missing records."""
    said = f"{missing} records: nothing is released of them, whatever they would have been"
    return [("missing", said if missing else None)]

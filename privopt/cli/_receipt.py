"""What a release on the command line leaves behind: a record of what was drawn, and a receipt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import privopt as po
from privopt.cli._columns import Cells, Machine, draw
from privopt.cli._kept import Kept, Rows
from privopt.errors import FileRefused
from privopt.measures.sequence.total import stream_total
from privopt.publication.receipt import AGAIN, NOT_RECORDED, RECORDED, crowd, make_receipt
from privopt.publication.released import BY_FILE, Columns, read_released, written_as
from privopt.publication.state import Once, release_once


def draw_once(
    state: Path,
    machine: Machine,
    cells: Sequence[Cells],
    symbols: Sequence[Hashable],
    users: Mapping[str, Sequence[int]],
    seed: int | None,
) -> tuple[list[Hashable | None], Once]:
    """The released symbols of all rows: what a state file records is given out again, the rest is drawn and recorded.

    Raises
    ------
    FileRefused
        If it is a simulation, or the file is of another mechanism or of other records.
    """
    if seed is not None:
        raise FileRefused(
            "--state records real releases; a simulation has none, leave --simulate or --state out"
        )

    def fresh(done: Mapping[str, int]) -> dict[str, list[Hashable | None]]:
        places = {name: list(rows)[done[name] :] for name, rows in users.items()}
        pending = [i for rows in places.values() for i in rows]
        groups: dict[str, Sequence[int]] = {}
        start = 0
        for name, rows in places.items():
            if rows:
                groups[name] = range(start, start + len(rows))
                start += len(rows)
        drawn = draw(machine, [symbols[i] for i in pending], groups, None) if pending else []
        return {name: [drawn[i] for i in groups.get(name, ())] for name in places}

    rows = {name: [cells[i] for i in places] for name, places in users.items()}
    whole = isinstance(machine.mechanism, po.RedactionMechanism)
    once = release_once(state, machine.mechanism.fingerprint, rows, fresh, whole)
    released: list[Hashable | None] = [None] * len(symbols)
    for name, places in users.items():
        for i, symbol in zip(places, once.released[name], strict=True):
            released[i] = symbol
    return released, once


def leave_receipt(
    path: Path,
    machine: Machine,
    read: Mapping[str, Sequence[str]],
    output: Path,
    released: Mapping[str, Sequence[str]],
    *,
    copied: Mapping[str, Sequence[str]],
    beside: Kept,
    by: str | None,
    mark: str,
    how: str,
    once: Once | None,
    raw_cells: bool,
) -> None:
    """Write the receipt of a table that was just released."""
    mechanism = machine.mechanism
    rows = len(next(iter(read.values())))
    hidden = None
    if isinstance(mechanism, po.RedactionMechanism):
        hidden = sum(cell == mark for cell in next(iter(released.values())))
    symbols = written_as(mechanism) if isinstance(mechanism, (po.Channel, po.Merging)) else ()
    make_receipt(
        mechanism,
        machine.certificate,
        read,
        output,
        released,
        kept=[name for name in copied if name != by],
        copied=copied,
        accepted_leakage=beside.accepted,
        kept_leakage=beside.leakage,
        kept_how=beside.how,
        drawn=rows if once is None else once.drawn,
        once=NOT_RECORDED if once is None else RECORDED if once.drawn else AGAIN,
        how=how,
        symbols=symbols,
        mark=mark,
        by=by or "",
        hidden=hidden,
        raw_cells=raw_cells,
        crowds=not isinstance(mechanism, po.Colouring),  # whose rows are datasets, not people
    ).save(path)


def crowd_facts(
    machine: Machine,
    rows: Rows,
    names: Sequence[str],
    kept: Sequence[str],
    released: Mapping[str, Sequence[str]],
) -> list[tuple[str, object]]:
    """The smallest groups of equal rows and the rows that stand alone, before and after; for releases of tables."""
    if not isinstance(machine.mechanism, (po.Channel, po.Merging)):
        return []
    beside = {name: rows.of(name) for name in kept}
    before, after = (
        crowd({**beside, **{name: rows.of(name) for name in names}}),
        crowd({**beside, **released}),
    )
    return [
        ("smallest group", f"{before[0]} before, {after[0]} after"),
        ("rows alone", f"{before[1]} before, {after[1]} after"),
    ]


@dataclass(frozen=True)
class Stream:
    """Where the sequences of users were read, and where their releases stand.

    Parameters
    ----------
    data, output : Path
        Files, or folders with a file for each user.
    columns : sequence of str
        Those that were read.
    by : str or None
        The column of users.
    start_step : int
        The step of the chain that the first row of each user is.
    """

    data: Path
    output: Path
    columns: Sequence[str]
    by: str | None
    start_step: int = 0


def leave_stream_receipt(
    path: Path,
    machine: Machine,
    policy: po.SequencePolicy,
    stream: Stream,
    beside: Kept,
    *,
    drawn: int,
    how: str,
    once: str,
    raw_cells: bool,
) -> None:
    """Write the receipt of streams that were just released, with what all releases of the longest leak together."""
    by = BY_FILE if stream.output.is_dir() else stream.by
    read, table = read_released(stream.data, raw=True), read_released(stream.output, raw_cells)
    copied = {*beside.columns, *(() if by is None else (by,))}
    shown = {name: cells for name, cells in table.items() if name not in copied}
    total = stream_total(policy, max(_lengths(table, shown, by)))
    receipt = make_receipt(
        policy,
        machine.certificate,
        {name: read[name] for name in (*stream.columns, *(() if by is None else (by,)))},
        stream.output,
        shown,
        kept=beside.columns,
        accepted_leakage=beside.accepted,
        kept_leakage=beside.leakage,
        kept_how=beside.how,
        drawn=drawn,
        once=once,
        how=how,
        by=by or "",
        total=total.always,
        total_within=total.usually,
        delta=total.delta,
        raw_cells=raw_cells,
        crowds=False,
    )
    replace(receipt, start_step=stream.start_step).save(path)


def _lengths(table: Columns, shown: Columns, by: str | None) -> list[int]:
    """Records of each user; gaps, whose cells are empty, tell nothing."""
    there = [any(cells) for cells in zip(*shown.values(), strict=True)]
    users = [""] * len(there) if by is None else table[by]
    return list(Counter(user for user, is_there in zip(users, there, strict=True) if is_there).values()) or [
        0
    ]

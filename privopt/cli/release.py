"""The command that releases data."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

import privopt as po
from privopt.cli import _noisy, show
from privopt.cli._columns import (
    Machine,
    check_columns,
    codebook_of,
    columns_of,
    described_rows,
    draw,
    load_machine,
    read_symbols,
    symbols_of,
)
from privopt.cli._kept import Rows, judge_kept
from privopt.cli._policies import NAMES_ROWS, SIMULATED, SYSTEM, Order, copied_columns, release_policy
from privopt.cli._receipt import crowd_facts, draw_once, leave_receipt
from privopt.cli._streams import StartStep, check_stream, gap_facts, stream_letters
from privopt.cli.fit import By, Data, users
from privopt.errors import FileRefused
from privopt.files.csv import CsvTable, read_table, write_table
from privopt.files.private import showing_values
from privopt.mechanisms.codebook import Codebook
from privopt.publication.counts import counts_records
from privopt.publication.identifiers import identifier_notes
from privopt.publication.state import Once

Source = Annotated[
    Path, typer.Argument(metavar="MECHANISM_OR_SOLUTION.json", help="What to run.", show_default=False)
]
Output = Annotated[Path, typer.Option(metavar="OUT.csv", help="Written whole or not at all.")]
Keep = Annotated[
    list[str] | None,
    typer.Option(metavar="COL", help="Copy this column AS IT IS: nothing protects it. Repeat for more."),
]
FIRST = "row 1 of the data was taken for record 0: where a file begins elsewhere, other records than meant are private"
"""What is said of a redaction, which knows records by their places alone."""

Mark = Annotated[str, typer.Option(metavar="TEXT", help="Written into redacted cells.")]
Simulate = Annotated[
    int | None, typer.Option(min=0, metavar="SEED", help="Draw with this seed; PROTECTS NOBODY.")
]

State = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Record releases here; a recorded one is given out again and never drawn again."
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="NAME",
        help="The column to release. Repeat where a symbol has several; left out, those that the mechanism is for.",
    ),
]


CodebookFile = Annotated[
    Path | None,
    typer.Option(
        "--codebook",
        metavar="BOOK.csv",
        help="Write what each release stands for: its symbols, P(x | y), share, a readable name. Needs --problem.",
    ),
]
ProblemFile = Annotated[
    Path | None,
    typer.Option(
        "--problem",
        metavar="PROBLEM.json",
        help="For --codebook, --keep, --ledger, and counts of a chain of intervals: the problem that was solved.",
    ),
]


LedgerFile = Annotated[
    Path | None,
    typer.Option(
        "--ledger",
        metavar="LEDGER.json",
        help="Charge a noisy query here; what would exceed the total is refused.",
    ),
]
Total = Annotated[
    float | None,
    typer.Option("--total", metavar="NATS", help="To begin a ledger: what all answers may leak together."),
]
AcceptLeakage = Annotated[
    float | None,
    typer.Option(
        "--accept-leakage",
        metavar="NATS",
        help="Accept that kept columns leak as much about the secret; the receipt states it.",
    ),
]


Secret = Annotated[
    list[str] | None,
    typer.Option(
        "--secret",
        metavar="NAME",
        help="With --keep: the column of the secret, where the model does not remember it.",
    ),
]


ReceiptFile = Annotated[
    Path | None,
    typer.Option(
        "--receipt", metavar="RECEIPT.json", help="Write what was drawn, from which columns, with hashes."
    ),
]


SafeCells = Annotated[
    bool,
    typer.Option(
        "--safe-cells/--raw-cells",
        help="Put an apostrophe before texts that a spreadsheet would run as formulas; 'verify' knows of it.",
    ),
]
ShowValues = Annotated[
    bool,
    typer.Option(
        "--show-values", help="Messages quote the cells and users that do not fit: for your eyes only."
    ),
]


@dataclass(frozen=True)
class Command:
    """What the command line said of a release of rows or of a query."""

    mechanism: Path
    data: Path
    names: Sequence[str]
    output: Path
    by: str | None
    keep: Sequence[str]
    mark: str
    simulate: int | None
    state: Path | None
    receipt: Path | None
    codebook: Path | None
    problem: Path | None
    accept_leakage: float | None
    secret: Sequence[str]
    ledger: Path | None
    total: float | None
    safe: bool
    start_step: int = 0

    @property
    def how(self) -> str:
        """How releases are drawn, in words."""
        return SYSTEM if self.simulate is None else SIMULATED

    def check(self, mechanism: po.Mechanism) -> None:
        """Refuse options that are of other mechanisms.

        Raises
        ------
        FileRefused
            With the first of them.
        """
        query = isinstance(mechanism, po.NoisyQuery)
        if self.start_step and not isinstance(mechanism, po.SequencePolicy):
            raise FileRefused(
                f"--start-step is for policies of sequences: a {mechanism.kind} mechanism has no other place to begin, leave it out"
            )
        if (self.ledger is not None or self.total is not None) and not query:
            raise FileRefused(
                "a ledger is charged by noisy queries: leave --ledger and --total out, or give --state"
            )
        if self.secret and (query or isinstance(mechanism, po.SequencePolicy)):
            raise FileRefused("--secret is about columns kept beside the release of a table: leave it out")
        if query and self.state is not None:
            raise FileRefused(
                "a noisy query draws anew each time and is charged for it: give --ledger, not --state"
            )
        if query and (self.by is not None or self.keep):
            raise FileRefused("a noisy query answers with a number: --by and --keep do not apply")


def release(
    mechanism: Source,
    data: Data,
    output: Output,
    column: Columns = None,
    by: By = None,
    keep: Keep = None,
    mark: Mark = "",
    simulate: Simulate = None,
    state: State = None,
    receipt: ReceiptFile = None,
    codebook: CodebookFile = None,
    problem: ProblemFile = None,
    accept_leakage: AcceptLeakage = None,
    secret: Secret = None,
    ledger: LedgerFile = None,
    total: Total = None,
    safe_cells: SafeCells = True,
    start_step: StartStep = 0,
    show_values: ShowValues = False,
) -> None:
    """Run a mechanism on columns of data.

    A redaction mechanism reads exactly as many records as it has, or with --by exactly as many for each user;
    a channel releases every row by itself, and where it remembers the columns of its table it bins raw numbers and
    refuses other columns; a sequence policy takes the rows of each user as one sequence, also from a
    folder with a file for each user into a folder, and with --state never draws a recorded release again; --start-step says at which step
    of the period a stream begins. A noisy query reads all cells
    of the columns as records and writes a number. A colouring answers about the dataset of its graph that each row names. Only what is released and the users are written; --keep names what else to copy, and
    is refused where it leaks more about the secret than the certificate allows. A solution must be solved and certified; 'privopt verify' proves its certificate again.
    """
    with showing_values(show_values):
        _release(
            Command(
                mechanism, data, column or [], output, by, keep or [], mark, simulate, state, receipt, codebook, problem,
                accept_leakage, secret or [], ledger, total, safe_cells, start_step,
            )
        )  # fmt: skip


def _release(command: Command) -> None:
    """Check what can be checked before anything is drawn, and run the mechanism as its kind is run."""
    _check_places(command)
    machine = load_machine(command.mechanism, command.simulate is not None)
    runs = machine.mechanism
    command = replace(command, names=check_columns(runs, command.names))
    check_stream(runs, command.names, command.by)
    book = None if command.codebook is None else codebook_of(runs, command.problem)
    command.check(runs)
    if isinstance(runs, po.SequencePolicy):
        order = Order(
            command.data, command.names, command.output, command.by, command.keep, command.state, command.simulate,
            command.accept_leakage, command.safe, command.start_step,
        )  # fmt: skip
        release_policy(machine, runs, order, command.receipt)
    elif isinstance(runs, po.NoisyQuery):
        _release_query(machine, runs, command)
    else:
        _release_rows(machine, command, book)


def _check_places(command: Command) -> None:
    """Every file that is written can be, and is neither read nor written twice.

    Raises
    ------
    FileRefused
        With the first that is not.
    """
    others = [command.mechanism, command.data, *([] if command.problem is None else [command.problem])]
    if not command.data.is_dir():
        show.check_output(command.output, *others)
    others.append(command.output)
    for written in (command.state, command.ledger, command.receipt, command.codebook):
        if written is not None:
            show.check_output(written, *others)
            others.append(written)


def _release_query(machine: Machine, query: po.NoisyQuery, command: Command) -> None:
    account = _noisy.Account(command.ledger, command.total, command.problem, command.receipt)
    _noisy.answer_query(
        machine,
        query,
        command.data,
        command.names,
        command.output,
        command.simulate,
        command.how,
        account,
        command.safe,
    )


def _release_rows(machine: Machine, command: Command, book: Codebook | None) -> None:
    """Of a channel, a redaction or a colouring: a row, or a record of a sequence, is read at a time."""
    copied = copied_columns(command.names, command.by, command.keep)
    read = read_table(command.data, [*copied, *command.names])
    symbols = _symbols(machine, command, read)
    stream = isinstance(machine.mechanism, po.RedactionMechanism)  # whose gaps keep their places
    places = [row for row, symbol in enumerate(symbols) if symbol is not None or stream]
    rows = Rows(command.data, places, read.columns, [symbols[row] for row in places])
    beside = judge_kept(
        machine, command.problem, command.keep, command.by, rows, command.accept_leakage, command.secret
    )
    drawn, once = _drawn(machine, command, rows, users(command.data, command.by, read))
    released = columns_of(command.names, drawn, command.mark, machine.mechanism)
    write_table(command.output, {**{name: rows.of(name) for name in copied}, **released}, command.safe)
    if book is not None and command.codebook is not None:
        write_table(command.codebook, book.columns(), command.safe)
    if command.receipt is not None:
        leave_receipt(
            command.receipt,
            machine,
            {name: rows.of(name) for name in command.names},
            command.output,
            released,
            copied={name: rows.of(name) for name in copied},
            beside=beside,
            by=command.by,
            mark=command.mark,
            how=command.how,
            once=once,
            raw_cells=not command.safe,
        )
    dropped = read.rows - len(places)
    others = [name for name in copied if name != command.by]
    counted = isinstance(machine.mechanism, (po.Channel, po.Merging))
    named = {name: rows.of(name) for name in others if counted or not counts_records([rows.of(name)])}
    show.facts(
        [
            ("records", len(places)),
            ("dropped", f"{dropped} rows with missing values" if dropped else None),
            ("redacted", drawn.count(None) if stream else None),
            ("first row", FIRST if isinstance(machine.mechanism, po.RedactionMechanism) else None),
            *gap_facts(symbols.count(None) if stream else 0),
            ("drawn before", once.recorded or None if once else None),
            ("how", command.how),
            *machine.facts(),
            ("copied", ", ".join(map(repr, copied))),
            *beside.facts(),
            ("warning", identifier_notes(named, NAMES_ROWS)),
            *crowd_facts(machine, rows, command.names, others, released),
            ("codebook", command.codebook),
            ("note", None if book is None else book.note),
            ("written", command.output),
            ("receipt", command.receipt),
        ]
    )


def _drawn(
    machine: Machine, command: Command, rows: Rows, sequences: dict[str, Sequence[int]]
) -> tuple[list[Hashable | None], Once | None]:
    """The released symbols of the rows, and what the state says of them, where there is one."""
    symbols = list(rows.symbols)
    if command.state is None:
        return draw(machine, symbols, sequences, command.simulate), None
    place = {row: i for i, row in enumerate(rows.places)}
    groups = {name: [place[row] for row in own if row in place] for name, own in sequences.items()}
    cells = list(zip(*(rows.of(name) for name in command.names), strict=True))
    return draw_once(command.state, machine, cells, symbols, groups, command.simulate)


def _symbols(machine: Machine, command: Command, read: CsvTable) -> list[Hashable | None]:
    """The symbol of each row, through the remembered columns where there are any; None for rows that are dropped."""
    mechanism, names = machine.mechanism, command.names
    if isinstance(mechanism, (po.Channel, po.Merging)) and mechanism.columns is not None:
        return described_rows(command.data, mechanism, {name: read.columns[name] for name in names})
    if isinstance(mechanism, po.RedactionMechanism):
        return stream_letters(command.data, mechanism, names, read.columns, command.mark)
    rows = list(zip(*(read.columns[name] for name in names), strict=True))
    return [*read_symbols(command.data, names, rows, symbols_of(mechanism, len(names), command.mark))]

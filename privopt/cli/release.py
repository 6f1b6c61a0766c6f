"""The command that releases data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

import privopt as po
from privopt.cli import _noisy as _cli_noisy
from privopt.cli import _policy as _cli_policy
from privopt.cli import show
from privopt.cli._columns import Machine, columns_of, draw, load_machine, read_symbols, symbols_of
from privopt.cli._csv import read_table, write_table
from privopt.cli.fit import By, Data, given, users
from privopt.errors import FileRefused

SYSTEM = "drawn from the operating system generator"
SIMULATED = "SIMULATED, protects nobody"

Source = Annotated[
    Path, typer.Argument(metavar="MECHANISM_OR_SOLUTION.json", help="What to run.", show_default=False)
]
Output = Annotated[Path, typer.Option(metavar="OUT.csv", help="Written whole or not at all.")]
Keep = Annotated[
    list[str] | None,
    typer.Option(metavar="COL", help="Copy this column AS IT IS: nothing protects it. Repeat for more."),
]
Mark = Annotated[str, typer.Option(metavar="TEXT", help="Written into redacted cells.")]
Simulate = Annotated[
    int | None, typer.Option(min=0, metavar="SEED", help="Draw with this seed; PROTECTS NOBODY.")
]

State = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Sequence policies: record releases here; a recorded one is never drawn again."
    ),
]
Columns = Annotated[
    list[str],
    typer.Option(
        "--column", metavar="NAME", help="The column to release. Repeat where a symbol has several columns."
    ),
]


def release(
    mechanism: Source,
    data: Data,
    column: Columns,
    output: Output,
    by: By = None,
    keep: Keep = None,
    mark: Mark = "",
    simulate: Simulate = None,
    state: State = None,
) -> None:
    """Run a mechanism on columns of data.

    A redaction mechanism reads exactly as many records as it has, or with --by exactly as many for each user;
    a channel releases every row by itself; a sequence policy takes the rows of each user as one sequence, also from a
    folder with a file for each user into a folder, and with --state never draws a recorded release again. A noisy query reads all cells
    of the columns as records and writes a number. Only what is released and the users are written; --keep names what else to copy. A solution must be solved and certified; 'privopt verify' proves its certificate again.
    """
    if not data.is_dir():
        show.check_output(output, mechanism, data)
    machine = load_machine(mechanism, simulate is not None)
    if isinstance(machine.mechanism, po.SequencePolicy):
        _policy(
            machine,
            machine.mechanism,
            _cli_policy.Order(data, column, output, by, keep or [], state, simulate),
        )
        return
    if state is not None:
        raise FileRefused("--state is for sequence policies; other mechanisms remember nothing")
    if isinstance(machine.mechanism, po.NoisyQuery):
        if by is not None or keep:
            raise FileRefused("a noisy query answers with a number: --by and --keep do not apply")
        drawing = SYSTEM if simulate is None else SIMULATED
        _cli_noisy.answer_query(machine, machine.mechanism, data, column, output, simulate, drawing)
        return
    symbols = symbols_of(machine.mechanism, len(column), mark)
    copied = _copied(column, by, keep)
    read = read_table(data, [*copied, *column])
    rows = list(zip(*(read.columns[name] for name in column), strict=True))
    drawn = draw(machine, read_symbols(data, column, rows, symbols), users(data, by, read), simulate)
    released = columns_of(column, drawn, mark)
    write_table(output, {**{name: read.columns[name] for name in copied}, **released})
    hidden = drawn.count(None) if isinstance(machine.mechanism, po.RedactionMechanism) else None
    facts = [("records", read.rows), ("redacted", hidden)]
    how = [("how", SYSTEM if simulate is None else SIMULATED), *machine.facts()]
    show.facts([*facts, *how, ("copied", ", ".join(map(repr, copied))), ("written", output)])


def _policy(machine: Machine, policy: po.SequencePolicy, order: _cli_policy.Order) -> None:
    _copied(order.columns, order.by, order.keep)
    show.check_output(order.state, order.data, order.output)
    how = SYSTEM if order.seed is None else SIMULATED
    _cli_policy.report(_cli_policy.run(machine, policy, order), order, how, machine)


def _copied(columns: Sequence[str], by: str | None, keep: Sequence[str] | None) -> list[str]:
    names: dict[str, None] = dict.fromkeys([*given(by), *(keep or [])])
    for column in columns:
        if column in names:
            raise FileRefused(f"the column {column!r} is to be released; it cannot also be copied as it is")
    return list(names)

"""The commands that touch data: fit a model to a column, release a column."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

import privopt as po
from privopt import _cli_show as show
from privopt._cli_csv import CsvTable, groups_of, read_table, write_table
from privopt._cli_release import draw, letters_of, load_machine, read_letters
from privopt._cli_solve import AsJson
from privopt._files import write_json
from privopt._text import number
from privopt.errors import FileRefused, InvalidModel

SYSTEM = "drawn from the operating system generator"
SIMULATED = "SIMULATED, protects nobody"

Data = Annotated[
    Path, typer.Argument(metavar="DATA.csv", help="Comma-separated, with a header.", show_default=False)
]
Column = Annotated[str, typer.Option(metavar="NAME", help="The column of letters, in time order.")]
By = Annotated[str | None, typer.Option(metavar="USER", help="The column that tells users apart.")]


def fit(
    data: Data,
    column: Column,
    by: By = None,
    order: Annotated[int, typer.Option(min=1, help="Letters that the next one depends on.")] = 1,
    smoothing: Annotated[float, typer.Option(help="Added to the count of every transition.")] = 0.0,
    states: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="The letters; by default those that occur.")
    ] = None,
    output: Annotated[Path | None, typer.Option(metavar="MODEL.json", help="Write the model.")] = None,
    as_json: AsJson = False,
) -> None:
    """Fit a Markov chain to a column; no transition is counted across an empty cell or between users."""
    show.check_output(output, data)
    letters = None if states is None else states.split(",")
    if letters is not None and "" in letters:
        raise InvalidModel(f"--states {states!r} holds an empty letter; an empty cell is a missing one")
    read = read_table(data, list(dict.fromkeys([column, *_given(by)])))
    cells = [cell or None for cell in read.columns[column]]
    sequences = [[cells[i] for i in rows] for rows in _users(data, by, read).values()]
    chain = po.MarkovChain.fit(sequences, letters, order, smoothing)
    if output is not None:
        write_json(output, chain.to_dict())
    if as_json:
        show.emit(chain.to_dict())
        return
    facts = [("model", chain), ("records", read.rows), ("sequences", len(sequences))]
    show.facts([*facts, ("empty cells", cells.count(None) or None), ("written", output)])
    show.table(_law(chain), ("from \\ to", *map(str, chain.states)))


def _law(chain: po.MarkovChain) -> list[tuple[object, ...]]:
    """The transition probabilities, a row a state."""
    return [(s, *map(number, law)) for s, law in zip(chain.states, chain.step(0).tolist(), strict=True)]


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


def release(
    mechanism: Source,
    data: Data,
    column: Column,
    output: Output,
    by: By = None,
    keep: Keep = None,
    mark: Mark = "",
    simulate: Simulate = None,
) -> None:
    """Run a mechanism on a column of data.

    The column holds exactly as many records as the mechanism, or with --by exactly as many for each user.
    Only that column and the users are written; --keep names what else to copy. A solution must be solved
    and certified; 'privopt verify' proves its certificate again.
    """
    show.check_output(output, mechanism, data)
    machine = load_machine(mechanism, simulate is not None)
    letters = letters_of(machine.mechanism, mark)
    copied = _copied(column, by, keep)
    read = read_table(data, [*copied, column])
    states = read_letters(data, column, read.columns[column], letters)
    drawn = draw(machine, states, _users(data, by, read), simulate)
    cells = [mark if letter is None else str(letter) for letter in drawn]
    write_table(output, {**read.columns, column: cells})
    facts = [("records", read.rows), ("redacted", drawn.count(None))]
    how = [("how", SYSTEM if simulate is None else SIMULATED), ("proof", machine.proof)]
    show.facts([*facts, *how, ("copied", ", ".join(map(repr, copied))), ("written", output)])


def _copied(column: str, by: str | None, keep: Sequence[str] | None) -> list[str]:
    names: dict[str, None] = dict.fromkeys([*_given(by), *(keep or [])])
    if column in names:
        raise FileRefused(f"the column {column!r} is to be released; it cannot also be copied as it is")
    return list(names)


def _given(by: str | None) -> list[str]:
    return [] if by is None else [by]


def _users(path: Path, by: str | None, read: CsvTable) -> dict[str, Sequence[int]]:
    """Positions of the rows of each user, or of all rows."""
    return {"": range(read.rows)} if by is None else groups_of(path, by, read.columns[by])

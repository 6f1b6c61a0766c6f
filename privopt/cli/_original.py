"""What the table that was read says, where it is at hand: of the counts of the model, and of columns beside a release."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import privopt as po
from privopt.cli._columns import described_rows
from privopt.cli._kept import Rows, secrets_of
from privopt.errors import InvalidMechanism, InvalidModel, InvalidProblem
from privopt.files.csv import read_coded
from privopt.files.text import number
from privopt.publication.holdout import count, nominal_joint, same_counts
from privopt.publication.kept import kept_leakage


@dataclass(frozen=True)
class Compared:
    """What was found of the columns beside a release.

    Parameters
    ----------
    fault : str
        What speaks against them; empty where nothing does.
    said : str
        What was compared, or why it was not.
    """

    fault: str = ""
    said: str = ""


def recount(problem: po.Problem[Any], data: Path) -> Compared:
    """Whether the model is the count of these rows: else everything may be proved, of people who do not exist.

    Parameters
    ----------
    problem : Problem
    data : Path
        What was read, with the secret.
    """
    try:
        joint = nominal_joint(problem)
    except InvalidProblem:
        return Compared()  # no rows are counted
    if joint.columns is None:
        return Compared(said=f"{data}: not compared with the model, which does not remember its columns")
    names = list(dict.fromkeys((*joint.columns.secret_names, *joint.columns.reads_names)))
    cells = {name: column.cells() for name, column in read_coded(data).items()}
    lacking = [name for name in names if name not in cells]
    if lacking:
        return Compared(said=f"{data}: not compared with the model, as it has no column {lacking[0]!r}")
    try:
        counted = count(joint, joint.columns, {name: cells[name] for name in names}, "refuse", text=True)
    except InvalidModel as cause:
        return Compared(f"the model was not counted from {data}: {cause}")
    rows = int(counted.table.sum())
    if not same_counts(joint, counted.table):
        return Compared(
            f"the model was not counted from {data}, whose {rows} rows are spread in another way: what is proved is of other people; "
            "'privopt audit' measures what leaks of these (--others where they were never meant to be the same)"
        )
    return Compared(said=f"the model is the count of the {rows} rows of {data}")


def compare_beside(
    problem: po.Problem[Any],
    solution: po.Solution[Any],
    table: Mapping[str, Sequence[str]],
    beside: Sequence[str],
    data: Path,
) -> Compared:
    """Whether columns beside a release say more about the secret than the certificate allows, counted from the rows that were read.

    Parameters
    ----------
    problem : Problem
    solution : Solution
    table : mapping of names to cells
        The released table, row by row that of the data.
    beside : sequence of str
        Its columns that nothing is known of.
    data : Path
        What was read, with the secret.
    """
    mechanism = solution.mechanism
    named = ", ".join(map(repr, beside))
    if not beside:
        return Compared()
    if not isinstance(mechanism, (po.Channel, po.Merging)) or mechanism.columns is None:
        return Compared(
            said=f"{named}: not compared with the secret, as the model does not remember its column"
        )
    secrets, reads = mechanism.columns.secret_names, mechanism.columns.reads_names
    cells = {name: column.cells() for name, column in read_coded(data).items()}
    lacking = [name for name in (*secrets, *reads) if name not in cells]
    if lacking:
        return Compared(said=f"{named}: not compared with the secret, as {data} has no column {lacking[0]!r}")
    symbols = described_rows(data, mechanism, {name: cells[name] for name in reads})
    places = [row for row, symbol in enumerate(symbols) if symbol is not None]
    if len(places) != len(table[beside[0]]):
        return Compared(
            said=f"{named}: not compared with the secret, as {data} has {len(places)} rows that are released and the table has others"
        )
    rows = Rows(data, places, cells, [symbols[row] for row in places])
    hidden = secrets_of(problem, mechanism.columns, rows)
    return _judged(problem, solution, mechanism, {name: table[name] for name in beside}, rows, hidden)


def _judged(
    problem: po.Problem[Any],
    solution: po.Solution[Any],
    mechanism: po.Channel | po.Merging,
    columns: Mapping[str, Sequence[str]],
    rows: Rows,
    hidden: Sequence[Hashable | None],
) -> Compared:
    """Each column by itself, then all together."""
    secret = " and ".join(map(repr, () if mechanism.columns is None else mechanism.columns.secret_names))
    told = [i for i, value in enumerate(hidden) if value is not None]
    known = [hidden[i] for i in told]
    shown: list[tuple[str, Sequence[Hashable]]] = [(repr(name), cells) for name, cells in columns.items()]
    if len(columns) > 1:
        shown.append((", ".join(map(repr, columns)), list(zip(*columns.values(), strict=True))))
    said = ""
    for name, values in shown:
        kept = [values[i] for i in told]
        if _is_renamed(known, kept):
            return Compared(
                f"the column {name} beside the release has one value for each value of {secret}: it is the secret under another name"
            )
        try:
            beside = kept_leakage(
                problem, mechanism, solution.certificate, known, kept, [rows.symbols[i] for i in told]
            )
        except InvalidMechanism as cause:
            return Compared(said=f"{name}: not compared with the secret: {cause}")
        if beside is None:
            return Compared()
        if not beside.within:
            return Compared(
                f"{name} beside the release leaks {number(beside.leakage, 6)} nats about {secret} together with it, more than "
                f"{number(beside.allowed, 6)} (counted from the {beside.rows} rows of {rows.data})"
            )
        said = (
            f"{name} beside the release leaks {number(beside.leakage, 6)} nats about {secret} together with it, no more than "
            f"{number(beside.allowed, 6)} (counted from the {beside.rows} rows of {rows.data})"
        )
    return Compared(said=said)


def _is_renamed(secrets: Sequence[Hashable], kept: Sequence[Hashable]) -> bool:
    """Whether a column has one value for each value of the secret, and another one for each."""
    pairs = set(zip(secrets, kept, strict=True))
    return len(pairs) == len(set(secrets)) == len(set(kept)) > 1

"""Columns that are kept beside a release on the command line: what they leak together with it, and whether that is allowed."""

from __future__ import annotations

import csv
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import privopt as po
from privopt.cli._columns import Machine
from privopt.cli._csv import read_table
from privopt.errors import FileRefused, InvalidMechanism, InvalidModel
from privopt.files.text import number
from privopt.models.columns import TableColumns
from privopt.publication.kept import Beside, kept_leakage, within
from privopt.publication.table import joint_of

NO_ROLES = "not computed: the model does not remember which columns the secret is"
NO_MODEL = "not computed: the model says nothing of kept columns, only how records follow each other"
NO_SECRET = "not computed: nothing is secret in this problem"
NO_BUDGET = "not computed: a mechanism file states no budget"


@dataclass(frozen=True)
class Kept:
    """What is known of kept columns.

    Parameters
    ----------
    columns : tuple of str
    leakage : float or None
        Together with the release, in nats.
    accepted : float or None
        What was accepted on the command line.
    how : str
        From which rows it was computed, or why it was not.
    """

    columns: tuple[str, ...] = ()
    leakage: float | None = None
    accepted: float | None = None
    how: str = ""

    def facts(self) -> list[tuple[str, object]]:
        """What is printed."""
        said = (
            None
            if self.leakage is None
            else f"{number(self.leakage, 6)} nats together with the release, {self.how}"
        )
        told = said or (self.how if self.columns else None)
        return [
            ("kept columns leak", told),
            ("accepted leakage", None if self.accepted is None else f"{number(self.accepted, 6)} nats"),
        ]


@dataclass(frozen=True)
class Rows:
    """The rows that are released: the kept cells, and the symbol that the mechanism reads of each.

    Parameters
    ----------
    data : Path
    places : sequence of int
        Their positions in the file.
    cells : mapping of names to cells
        Of all rows of the file.
    symbols : sequence
        A symbol for each of the places.
    """

    data: Path
    places: Sequence[int]
    cells: Mapping[str, Sequence[str]]
    symbols: Sequence[Hashable]

    def of(self, name: str) -> list[str]:
        """The cells of a column in these rows."""
        return [self.cells[name][i] for i in self.places]


def judge_kept(
    machine: Machine,
    problem: Path | None,
    keep: Sequence[str],
    by: str | None,
    rows: Rows,
    accepted: float | None,
) -> Kept:
    """Refuse kept columns that leak more about the secret than the certificate allows, unless as much was accepted.

    Beside a channel a column of users counts as kept too, unless each of its values is in one row only.

    Raises
    ------
    FileRefused
        With what they leak, or why that cannot be known.
    """
    _check_accepted(keep, accepted)
    columns: tuple[str, ...] = tuple(dict.fromkeys(keep))
    mechanism = machine.mechanism
    if not isinstance(mechanism, (po.Channel, po.Merging)):
        _refuse_copies(rows, columns)
        return Kept(columns, None, accepted, NO_MODEL) if columns else Kept()
    if by is not None and by not in columns and len(set(rows.of(by))) < len(rows.places):
        columns = (*columns, by)
    secrets = () if mechanism.columns is None else mechanism.columns.secret_names
    if by in secrets:
        raise FileRefused(
            f"the column {by!r} is the secret: it cannot be the column of users, which is copied"
        )
    if not columns:
        return Kept()
    if not secrets:
        return _by_values(problem, columns, rows, accepted)
    if machine.certificate is None and problem is None:
        _refuse_secret(columns, secrets, accepted)
        return Kept(columns, None, accepted, NO_BUDGET)
    return _counted(machine, mechanism, problem, columns, rows, accepted)


def kept_of_stream(keep: Sequence[str], accepted: float | None) -> Kept:
    """What is known of columns that are kept beside a stream: nothing, which is said.

    Raises
    ------
    FileRefused
        If a leakage is accepted that is none, or of no column.
    """
    _check_accepted(keep, accepted)
    return Kept(tuple(dict.fromkeys(keep)), None, accepted, NO_MODEL) if keep else Kept()


def _check_accepted(keep: Sequence[str], accepted: float | None) -> None:
    if accepted is not None and not keep:
        raise FileRefused("--accept-leakage is about kept columns: give it with --keep")
    if accepted is not None and not accepted >= 0:
        raise FileRefused(f"--accept-leakage must be at least 0 nats, got {accepted}")


def _counted(
    machine: Machine,
    mechanism: po.Channel | po.Merging,
    problem: Path | None,
    columns: tuple[str, ...],
    rows: Rows,
    accepted: float | None,
) -> Kept:
    """The leakage, counted from the rows."""
    assert mechanism.columns is not None
    secrets = mechanism.columns.secret_names
    if problem is None:
        _refuse_secret(columns, secrets, accepted)
        raise FileRefused(
            f"what is leaked about {_named(secrets)} by {_named(columns)} beside the release is counted as the problem counts it: give --problem PROBLEM.json"
        )
    loaded = po.load_problem(problem)
    if machine.certificate is not None and machine.certificate.problem != loaded.fingerprint:
        raise FileRefused(
            f"{problem}: is another problem than the one that was solved (its fingerprint differs)"
        )
    absent = [name for name in secrets if name not in _header(rows.data)]
    if absent:
        if accepted == math.inf:
            return Kept(columns, None, accepted, f"not computed: the table has no column {absent[0]!r}")
        raise FileRefused(
            f"{rows.data}: has no column {absent[0]!r}, so it cannot be known what is leaked about it by {_named(columns)} beside the release: "
            "release from the table that has it, leave --keep out, or accept anything with --accept-leakage inf"
        )
    hidden = _secrets(loaded, mechanism.columns, rows)
    values = list(zip(*(rows.of(name) for name in columns), strict=True))
    told = [i for i, secret in enumerate(hidden) if secret is not None]
    try:
        beside = kept_leakage(
            loaded,
            mechanism,
            machine.certificate,
            [hidden[i] for i in told],
            [values[i] for i in told],
            [rows.symbols[i] for i in told],
        )
    except InvalidMechanism as cause:
        raise FileRefused(f"{rows.data}: {cause}") from cause
    if beside is None:
        return Kept(columns, None, accepted, NO_SECRET)
    how = f"counted from the {beside.rows} rows of this table"
    if not beside.within and (accepted is None or not within(beside.leakage, accepted)):
        raise FileRefused(_refusal(columns, secrets, beside, accepted, len(set(values))))
    return Kept(columns, beside.leakage, accepted, how)


def _refusal(
    columns: Sequence[str], secrets: Sequence[str], beside: Beside, accepted: float | None, different: int
) -> str:
    """Why kept columns are refused, and what to do."""
    said = (
        f"{_named(columns)} beside the release would leak {number(beside.leakage, 6)} nats about {_named(secrets)}, and epsilon is "
        f"{number(beside.allowed, 6)} (counted from the {beside.rows} rows, with what is released"
    )
    if beside.mostly < beside.leakage:
        said += f"; but for one case in a hundred {number(beside.mostly, 3)} nats"
    said += ")"
    if accepted is not None:
        said += f"; {number(accepted, 6)} was accepted, which is less"
    if not within(beside.alone, beside.allowed):
        said += f"; on these rows, which are not those that the model counted, the release alone leaks {number(beside.alone, 6)}"
    if set(columns) & set(secrets):
        return f"{said}: {_named([name for name in columns if name in secrets])} is the secret itself, leave it out"
    enough = "inf" if beside.leakage == math.inf else f"{math.ceil(beside.leakage * 1000) / 1000:g}"
    if 2 * different > beside.rows:
        said += (
            "; most values are in one row only, so that they name its secret as counted: numbers or names that tell nobody anything "
            "may be accepted"
        )
    return f"{said}. Leave --keep out, fit with it as a useful column, or accept it with --accept-leakage {enough}, which the receipt then states"


def _refuse_secret(columns: Sequence[str], secrets: Sequence[str], accepted: float | None) -> None:
    """Refuse the secret itself where it cannot be counted what it leaks."""
    itself = [name for name in columns if name in secrets]
    if itself and accepted != math.inf:
        raise FileRefused(
            f"the column {itself[0]!r} is the secret itself: beside the release it leaks all that there is to leak, leave it out"
        )


def _by_values(problem: Path | None, columns: tuple[str, ...], rows: Rows, accepted: float | None) -> Kept:
    """Where the model remembers no columns: only a column that holds the values of the secret can be refused."""
    joint = None if problem is None else joint_of(po.load_problem(problem))
    known = set() if joint is None else {str(label) for label in joint.sensitive}
    for name in columns:
        values = set(rows.of(name))
        if len(values) > 1 and values <= known and accepted != math.inf:
            raise FileRefused(
                f"the column {name!r} holds the values of the secret: is it the secret itself? Leave it out"
            )
    return Kept(columns, None, accepted, NO_ROLES)


def _refuse_copies(rows: Rows, columns: Sequence[str]) -> None:
    """Refuse a kept column that names each record's value under another name."""
    letters = [str(symbol) for symbol in rows.symbols]
    for name in columns:
        pairs = set(zip(letters, rows.of(name), strict=True))
        if len(set(letters)) > 1 and len(pairs) == len(set(letters)) == len({value for _, value in pairs}):
            raise FileRefused(
                f"the column {name!r} has one value for each value of what is released: it is the same under other names, leave it out"
            )


def _secrets(problem: po.Problem[Any], columns: TableColumns, rows: Rows) -> list[Hashable | None]:
    """The secret of each row, as the model reads it; None where it is missing and such rows are dropped."""
    joint = joint_of(problem)
    described = columns.sensitive if joint is None or joint.columns is None else joint.columns.sensitive
    names = [column.name for column in described]
    read = read_table(rows.data, names)
    parts = []
    for column in described:
        cells = [read.columns[column.name][i] for i in rows.places]
        try:
            parts.append(column.symbols(cells, text=True) if column.labels else cells)
        except InvalidModel as cause:
            raise FileRefused(f"{rows.data}: {cause}") from cause
    return [None if None in word else word for word in zip(*parts, strict=True)]


def _header(path: Path) -> list[str]:
    """The names of the columns of a file that was read before."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        return next(csv.reader(stream, strict=True), [])


def _named(columns: Sequence[str]) -> str:
    return " and ".join(map(repr, columns))

"""Columns that are kept beside a release on the command line: what they leak together with it, and whether that is allowed."""

from __future__ import annotations

import csv
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import privopt as po
from privopt.cli._columns import Cells, Machine, text_of
from privopt.errors import FileRefused, InvalidMechanism, InvalidModel
from privopt.files.csv import groups_of, read_table
from privopt.files.text import number
from privopt.models.columns import TableColumns
from privopt.publication.counts import COUNTS, counts_records, separates_letters
from privopt.publication.kept import Beside, kept_leakage, within
from privopt.publication.released import joint_of

NO_ROLES = "not computed: it is not known which column the secret is"
ELSE = "leave --keep out, or accept anything with --accept-leakage inf"
NO_MODEL = "not computed: the model says nothing of kept columns, only how records follow each other"
NO_DATASETS = "not computed: the model says nothing of kept columns, only which datasets are neighbours"
SEPARATES = "as it says of some records for certain what they are not"
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
    secret: Sequence[str] = (),
) -> Kept:
    """Refuse kept columns that leak more about the secret than the certificate allows, unless as much was accepted.

    Beside a channel a column of users counts as kept too, unless each of its values is in one row only.

    Raises
    ------
    FileRefused
        With what they leak, or why that cannot be known.
    """
    check_accepted(keep, accepted)
    columns: tuple[str, ...] = tuple(dict.fromkeys(keep))
    mechanism = machine.mechanism
    _check_secret(mechanism, columns, secret)
    if not isinstance(mechanism, (po.Channel, po.Merging)):
        users = {"": range(len(rows.places))} if by is None else groups_of(rows.data, by, rows.of(by))
        cells = {name: rows.of(name) for name in columns}
        return beside_records(machine, rows.symbols, cells, list(users.values()), accepted)
    if by is not None and by not in columns and len(set(rows.of(by))) < len(rows.places):
        columns = (*columns, by)
    secrets = () if mechanism.columns is None else mechanism.columns.secret_names
    if by in secrets:
        raise FileRefused(
            f"the column {by!r} is the secret: it cannot be the column of users, which is copied"
        )
    if not columns:
        return Kept()
    if machine.certificate is None and problem is None:
        _refuse_secret(columns, secrets, accepted)
        return Kept(columns, None, accepted, NO_BUDGET)
    if not secrets:
        return _by_values(machine, mechanism, problem, columns, rows, accepted, secret)
    return _counted(machine, mechanism, problem, columns, rows, accepted)


def _check_secret(mechanism: po.Mechanism, columns: Sequence[str], secret: Sequence[str]) -> None:
    """Refuse a secret that is named where it is known, or of no use."""
    if not secret:
        return
    if not columns or not isinstance(mechanism, (po.Channel, po.Merging)):
        raise FileRefused("--secret is about columns kept beside the release of a table: give it with --keep")
    known = () if mechanism.columns is None else mechanism.columns.secret_names
    if known and set(secret) != set(known):
        raise FileRefused(f"the model remembers that the secret is {_named(known)}: leave --secret out")


def beside_records(
    machine: Machine,
    letters: Sequence[Hashable | None],
    cells: Mapping[str, Sequence[str]],
    users: Sequence[Sequence[int]],
    accepted: float | None,
) -> Kept:
    """Refuse columns kept beside a stream, or beside answers, unless they only number the records or anything was accepted.

    Parameters
    ----------
    machine : Machine
    letters : sequence
        What the mechanism reads of each row; None for a gap.
    cells : mapping of names to cells
        The kept columns.
    users : sequence of sequences of int
        The rows of each user.
    accepted : float or None

    Raises
    ------
    FileRefused
        With the first column of which the model does not know what it leaks, or knows that it leaks everything.
    """
    check_accepted(list(cells), accepted)
    if not cells:
        return Kept()
    streams = not isinstance(machine.mechanism, po.Colouring)
    others = [name for name in cells if not _numbers_records(letters, cells[name], users)]
    _refuse_copies(letters, {name: cells[name] for name in others})
    columns = tuple(cells)
    if not others:
        alone = None if machine.certificate is None else machine.certificate.leakage[1]
        return Kept(columns, alone, accepted, COUNTS if alone is not None else NO_BUDGET)
    telling = [name for name in others if streams and separates_letters(letters, cells[name])]
    if accepted != math.inf:
        raise FileRefused(_not_known(telling or others, accepted, bool(telling), streams))
    if telling:
        return Kept(columns, math.inf, accepted, SEPARATES)
    return Kept(columns, None, accepted, NO_MODEL if streams else NO_DATASETS)


def _numbers_records(
    letters: Sequence[Hashable | None], cells: Sequence[str], users: Sequence[Sequence[int]]
) -> bool:
    """Whether a column numbers the records, and is not what the mechanism reads."""
    same = all(
        letter is None or ", ".join(text_of(letter)) == cell
        for letter, cell in zip(letters, cells, strict=True)
    )
    return not same and counts_records([[cells[i] for i in rows] for rows in users])


def _not_known(columns: Sequence[str], accepted: float | None, telling: bool, streams: bool) -> str:
    """Why kept columns are refused beside a stream or answers, and what to do."""
    named = _named(columns)
    if telling:
        why = f"{named} beside the release would leak inf nats: it says of some records for certain what they are not"
    else:
        known = "how records follow each other" if streams else "which datasets are neighbours"
        why = (
            f"what {named} beside the release would leak is not known: the model only says {known}, and no column is known to be harmless "
            "but one that numbers the records by equal steps, as times do that have a row each, also where a record is missing"
        )
    if accepted is not None:
        why += f"; {number(accepted, 6)} nats were accepted, which promises less"
    return f"{why}. Leave --keep out, or accept anything with --accept-leakage inf, which the receipt then states"


def check_accepted(keep: Sequence[str], accepted: float | None) -> None:
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
    loaded = _solved(machine, problem)
    absent = [name for name in secrets if name not in _header(rows.data)]
    if absent:
        if accepted == math.inf:
            return Kept(columns, None, accepted, f"not computed: the table has no column {absent[0]!r}")
        raise FileRefused(
            f"{rows.data}: has no column {absent[0]!r}, so it cannot be known what is leaked about it by {_named(columns)} beside the release: "
            "release from the table that has it, leave --keep out, or accept anything with --accept-leakage inf"
        )
    hidden = secrets_of(loaded, mechanism.columns, rows)
    return _judged(loaded, machine, mechanism, (secrets, hidden), columns, rows, accepted)


def _solved(machine: Machine, path: Path) -> po.Problem[Any]:
    """The problem in a file, if it is the one that was solved."""
    problem = po.load_problem(path)
    if machine.certificate is not None and machine.certificate.problem != problem.fingerprint:
        raise FileRefused(
            f"{path}: is another problem than the one that was solved (its fingerprint differs)"
        )
    return problem


def _judged(
    problem: po.Problem[Any],
    machine: Machine,
    mechanism: po.Channel | po.Merging,
    secret: tuple[Sequence[str], Sequence[Hashable | None]],
    columns: tuple[str, ...],
    rows: Rows,
    accepted: float | None,
) -> Kept:
    """Kept columns whose leakage about the secret, its columns and its value in each row, is allowed or accepted."""
    secrets, hidden = secret
    values = list(zip(*(rows.of(name) for name in columns), strict=True))
    told = [i for i, secret in enumerate(hidden) if secret is not None]
    try:
        beside = kept_leakage(
            problem,
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


def _by_values(
    machine: Machine,
    mechanism: po.Channel | po.Merging,
    path: Path | None,
    columns: tuple[str, ...],
    rows: Rows,
    accepted: float | None,
    secret: Sequence[str],
) -> Kept:
    """The leakage where the model remembers no columns: about the one column that is named, or that holds the secret's values."""
    if path is None:
        if accepted == math.inf:
            return Kept(columns, None, accepted, NO_ROLES)
        raise FileRefused(
            f"what is leaked by {_named(columns)} beside the release is counted as the problem counts it, and the model does not "
            f"remember which column the secret is: give --problem PROBLEM.json and --secret NAME, {ELSE}"
        )
    problem = _solved(machine, path)
    joint = joint_of(problem)
    if joint is None:
        return Kept(columns, None, accepted, NO_SECRET)
    words = {text_of(label): label for label in joint.sensitive}
    width = len(next(iter(words)))
    names = list(dict.fromkeys(secret)) or _holding(set(words), rows, columns, _is_own(joint))
    if len(names) != width:
        if accepted == math.inf and not secret:
            return Kept(columns, None, accepted, NO_ROLES)
        raise FileRefused(_unnamed(names, width, rows.data, columns))
    _refuse_secret([name for name in columns if name in names], names, accepted)
    return _judged(problem, machine, mechanism, (names, _values(names, words, rows)), columns, rows, accepted)


def _is_own(joint: po.JointDistribution | po.ObservedJoint) -> bool:
    """Whether the secret is the useful symbol itself."""
    if not isinstance(joint, po.JointDistribution) or joint.sensitive != joint.useful:
        return False
    return not joint.table[~np.eye(len(joint.table), dtype=np.bool_)].any()


def _holding(words: set[Cells], rows: Rows, columns: Sequence[str], own: bool) -> list[str]:
    """The columns that hold several values of the secret and no others; the one that is released only if it may be the secret."""
    names = _header(rows.data)
    released = {name for name in rows.cells if name not in columns}
    cells = read_table(rows.data, names).columns
    values = {name: {(cells[name][i],) for i in rows.places} for name in names}
    return [n for n in names if len(values[n]) > 1 and values[n] <= words and (own or n not in released)]


def _unnamed(names: Sequence[str], width: int, data: Path, columns: Sequence[str]) -> str:
    """That it is not known which columns the secret is."""
    which = (
        f"has {len(names)} columns that hold its values ({_named(names)})" if names else "has no such column"
    )
    if width > 1:
        which = (
            f"names {len(names)} columns where the secret has {width}" if names else f"has {width} of them"
        )
    times = "" if width == 1 else f" {width} times"
    return (
        f"{data}: what is leaked about the secret by {_named(columns)} beside the release cannot be counted: the model does not remember "
        f"which column the secret is, and the table {which}: give --secret NAME{times}, {ELSE}"
    )


def _values(names: Sequence[str], words: Mapping[Cells, Hashable], rows: Rows) -> list[Hashable]:
    """The secret of each row by the texts of its values; its cells are private and are not quoted."""
    table = read_table(rows.data, names).columns
    cells = list(zip(*(table[name] for name in names), strict=True))
    for row in rows.places:
        if cells[row] not in words:
            raise FileRefused(
                f"{rows.data}: row {row + 1}: {', '.join(map(repr, names))} holds no value of the secret that the model knows: name the "
                "column that does by --secret NAME, or drop the row"
            )
    return [words[cells[row]] for row in rows.places]


def _refuse_copies(letters: Sequence[Hashable | None], columns: Mapping[str, Sequence[str]]) -> None:
    """Refuse a kept column that names each record's value under another name."""
    for name, cells in columns.items():
        pairs = {(letter, cell) for letter, cell in zip(letters, cells, strict=True) if letter is not None}
        several = len({letter for letter, _ in pairs})
        if several > 1 and len(pairs) == several == len({value for _, value in pairs}):
            raise FileRefused(
                f"the column {name!r} has one value for each value of what is released: it is the same under other names, leave it out"
            )


def secrets_of(problem: po.Problem[Any], columns: TableColumns, rows: Rows) -> list[Hashable | None]:
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

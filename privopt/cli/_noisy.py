"""The command line for noisy queries: a Gaussian model from columns of numbers, and a number from columns of records."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import privopt as po
from privopt.cli import show
from privopt.cli._columns import Cells, Machine, also, read_symbols
from privopt.core.ledger import BudgetLedger
from privopt.errors import FileRefused, InvalidModel
from privopt.files.csv import CsvTable, read_coded, read_table, write_table
from privopt.files.json import write_json
from privopt.files.private import beside, shown
from privopt.files.text import number
from privopt.mechanisms.policy.journal import alone
from privopt.models.markov.stream import StreamColumns
from privopt.publication.receipt import CHARGED, NOT_RECORDED, make_receipt


def fit_gaussian(
    data: Path,
    records: Sequence[str],
    groups: str | None,
    roles: str | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Fit a Gaussian model to columns of numbers.

    Raises
    ------
    FileRefused
        If a cell is not a finite number, ``groups`` comes with other than one column, or ``roles`` without ``groups``.
    """
    import pandas as pd

    if groups is not None and len(records) != 1:
        raise FileRefused("--groups goes with one --record NAME, the column of the values")
    if roles is not None and groups is None:
        raise FileRefused(
            "--roles says which member of its group a row is: give --groups NAME and one --record NAME with it"
        )
    labels = [name for name in (groups, roles) if name is not None]
    read = read_table(data, [*records, *labels])
    columns: dict[str, Any] = {name: numbers(data, name, read) for name in records}
    for name in labels:
        columns[name] = read.columns[name]
    try:
        model = po.GaussianModel.fit(pd.DataFrame(columns), groups, roles=roles)
    except InvalidModel as cause:
        raise FileRefused(f"{data}: {cause}") from cause
    if output is not None:
        write_json(output, model.to_dict(), private=True)
    if as_json:
        show.emit(model.to_dict())
        return
    alike = "" if groups is None or roles is not None else _taken_as_alike(data, records[0], groups, model)
    show.facts([("model", model), ("rows", read.rows), ("warning", alike), ("written", output)])


def _taken_as_alike(data: Path, record: str, groups: str, model: po.GaussianModel) -> str:
    """That members of a group are taken as alike, and which column may say who is who; nothing where groups have one member."""
    if model.size < 2:
        return ""
    coded = read_coded(data)
    member_of = coded[groups].codes.tolist()
    counts = np.bincount(coded[groups].codes)
    whole = counts.size and counts.min() == counts.max()

    def names_members(name: str) -> bool:
        """Whether every group has each value of a column once."""
        codes = coded[name].codes.tolist()
        pairs = set(zip(member_of, codes, strict=True))
        return len(coded[name].values) == counts.max() and len(pairs) == len(codes)

    found = [name for name in coded if name not in (record, groups) and whole and names_members(name)]
    said = (
        f"the {model.size} members of a group of {groups!r} are taken as alike, with one variance and one correlation; where they have roles "
        "(father, child) that may understate how much they depend on each other, and so the noise"
    )
    if found:
        return f"{said}: {found[0]!r} has each of its values once in every group, so give --roles {found[0]}"
    if not whole:
        return (
            f"{said}; the groups have {counts.min()} to {counts.max()} members, so that --roles is for groups of equal size only: to assume "
            f'nothing of how they depend, solve for {{"type": "group", "size": {counts.max()}}} instead'
        )
    return f"{said}: give --roles NAME, the column that says which member a row is, if there is one"


def numbers(path: Path, column: str, read: CsvTable) -> list[float]:
    """The cells of a column as finite numbers.

    Raises
    ------
    FileRefused
        With the first row that is not one; its cell is private and is not quoted.
    """
    cells = read.columns[column]
    values = list(map(_finite, cells))
    bad = [row for row, value in enumerate(values, 1) if value is None]
    if bad:
        cell = cells[bad[0] - 1]
        what = f"is not a finite number{beside(cell)}" if cell else "is empty, not a finite number"
        others = also(len(bad) - 1)
        raise FileRefused(f"{path}: row {bad[0]}: {column!r} {what}; correct or drop the row{others}")
    return [value for value in values if value is not None]


def _finite(cell: str) -> float | None:
    """The finite number that a cell holds."""
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


@dataclass(frozen=True)
class Account:
    """Where the answers of noisy queries are charged, and where a receipt goes.

    Parameters
    ----------
    ledger : Path or None
        The file of the ledger, which is begun where there is none.
    total : float or None
        What all answers may leak together, in nats; needed to begin one.
    problem : Path or None
        The problem that was solved, whose model a new ledger is about.
    receipt : Path or None
    """

    ledger: Path | None = None
    total: float | None = None
    problem: Path | None = None
    receipt: Path | None = None

    def check(self, seed: int | None) -> None:
        """Refuse options that do not go together."""
        if self.ledger is None and self.total is not None:
            raise FileRefused("--total is what a ledger may spend: give it with --ledger FILE")
        if self.ledger is not None and seed is not None:
            raise FileRefused(
                "--ledger charges real answers; a simulation has none, leave --simulate or --ledger out"
            )


def answer_query(
    machine: Machine,
    mechanism: po.NoisyQuery,
    data: Path,
    columns: Sequence[str],
    output: Path,
    seed: int | None,
    how: str,
    account: Account,
    safe: bool = True,
) -> None:
    """Answer a noisy query on all cells of some columns and write the answer as CSV."""
    account.check(seed)
    names = list(dict.fromkeys(columns))
    read = read_table(data, names)
    cells = {name: read.columns[name] for name in names}
    stream = _stream_of(machine, account.problem)
    records: list[Any] = []
    for name in names:
        records += _records(mechanism, data, name, read, stream)
    answered = records.count(_counted(mechanism)) if mechanism.states is None else len(records)
    rng = None if seed is None else np.random.default_rng(seed)
    ledger = None
    if account.ledger is None:
        answer = mechanism.release(records, rng)
    else:
        answer, ledger = _charged(account.ledger, account, machine, mechanism, records, data, cells)
    if mechanism.query == "histogram":
        states = [str(state) for state in mechanism.states or ()]
        table = {"state": states, "count": [str(n) for n in answer.tolist()]}
        shown = ", ".join(f"{s}: {n}" for s, n in zip(states, answer.tolist(), strict=True))
    else:
        shown = str(answer)
        table = {"query": [mechanism.name], "released": [shown]}
    write_table(output, table, safe)
    if account.receipt is not None:
        make_receipt(
            mechanism,
            machine.certificate,
            cells,
            output,
            table,
            how=how,
            raw_cells=not safe,
            once=NOT_RECORDED if ledger is None else CHARGED,
            total=None if ledger is None else ledger.leakage,
        ).save(account.receipt)
    show.facts(
        [
            ("records", len(records)),
            (mechanism.name, shown),
            ("accuracy", _accuracy(mechanism, records)),
            ("note", _never_seen(mechanism, answered)),
            ("scope", mechanism.scope if machine.certificate is None else None),  # the claim says it in words
            ("how", how),
            *machine.facts(),
            ("written", output),
            ("ledger", None if ledger is None else f"{account.ledger}: {ledger}"),
            ("receipt", account.receipt),
        ]
    )


def _accuracy(mechanism: po.NoisyQuery, records: Sequence[Any]) -> str:
    """The accuracy of the noise, and the share of clipped records, which is for the owner's eyes."""
    if mechanism.query not in ("sum", "mean") or mechanism.clip is None or mechanism.constant:
        return mechanism.accuracy_statement()
    return f"{mechanism.accuracy_statement(0.95, records)}; that share is counted from the data, do not publish it"


def _charged(
    place: Path,
    account: Account,
    machine: Machine,
    mechanism: po.NoisyQuery,
    records: Sequence[Any],
    data: Path,
    cells: Mapping[str, Sequence[str]],
) -> tuple[Any, BudgetLedger]:
    """The answer, and the ledger after it, which is on the disk before the noise is drawn; one run at a time."""
    mechanism.release(
        records, np.random.default_rng(0)
    )  # thrown away: records that do not fit are refused before they are charged
    with alone(place):
        before = BudgetLedger.load(place) if place.exists() else _begun(place, account, machine, data)
        if account.total is not None and account.total != before.epsilon:
            raise FileRefused(
                f"{place}: its total is {number(before.epsilon, 6)} nats, which cannot be changed: leave --total out"
            )
        return before.release(mechanism, records, data.name, place, columns=cells)


def _begun(place: Path, account: Account, machine: Machine, data: Path) -> BudgetLedger:
    """A new ledger for the model of the problem; the data are known to it by the name of their file and the columns that are read."""
    if account.total is None or account.problem is None:
        raise FileRefused(
            f"{place}: there is no ledger yet; to begin one give --total NATS, what all answers may leak together, and --problem PROBLEM.json"
        )
    problem = _solved(machine, account.problem)
    return BudgetLedger(problem.model, account.total, data.name, problem.length, problem.clip, problem.scope)


def _solved(machine: Machine, path: Path) -> po.BayesianPrivacy:
    """The problem that was solved, from its file."""
    problem = po.load_problem(path)
    if not isinstance(problem, po.BayesianPrivacy):
        raise FileRefused(f"{path}: is no problem of noisy queries; a ledger is about the model of one")
    if machine.certificate is not None and machine.certificate.problem != problem.fingerprint:
        raise FileRefused(
            f"{path}: is another problem than the one that was solved (its fingerprint differs)"
        )
    return problem


def _stream_of(machine: Machine, path: Path | None) -> StreamColumns | None:
    """The column that the chain of a problem was fitted to, with its intervals, where the problem is given."""
    if path is None:
        return None
    model = _solved(machine, path).model
    return model.columns if isinstance(model, po.MarkovChain) else None


def _states(path: Path, column: str, read: CsvTable, stream: StreamColumns) -> list[Any]:
    """The state of each cell, by the intervals that a chain was fitted to."""
    try:
        states = stream.letters(read.columns[column])
    except InvalidModel as cause:
        raise FileRefused(f"{path}: {cause}") from cause
    if None in states:
        raise FileRefused(
            f"{path}: row {states.index(None) + 1}: {column!r} is empty; fill it in, or drop the row"
        )
    return states


def _records(
    mechanism: po.NoisyQuery, path: Path, column: str, read: CsvTable, stream: StreamColumns | None
) -> list[Any]:
    """The cells of a column as numbers, or as states by their text or by the intervals of a chain."""
    if mechanism.query in ("sum", "mean"):
        values = numbers(path, column, read)
        for row, value in enumerate(values if mechanism.states is not None else (), 1):
            if value not in (mechanism.states or ()):
                raise FileRefused(
                    f"{path}: row {row}: {column!r} holds {shown(value, 'another value')}; the states are {_few(mechanism.states)}"
                )
        return list(values)
    if mechanism.states is None:
        return _marked(path, column, read, _counted(mechanism))
    if stream is not None:
        return _states(path, column, read, stream)
    by_text: dict[Cells, Any] = {(str(state),): state for state in mechanism.states}
    first = next(iter(read.columns[column]), "")
    if (
        (first,) not in by_text
        and _finite(first) is not None
        and not any(_finite(cells[0]) for cells in by_text)
    ):
        raise FileRefused(
            f"{path}: {column!r} holds numbers, and the states are {_few(mechanism.states)}: give --problem PROBLEM.json, whose chain "
            "says which numbers they stand for, if it was fitted to them"
        )
    return read_symbols(path, [column], [(cell,) for cell in read.columns[column]], by_text)


def _marked(path: Path, column: str, read: CsvTable, wanted: Any) -> list[Any]:
    """The counted value where a cell is its text, something else in every other row."""
    other, text = object(), str(wanted)
    cells = read.columns[column]
    if "" in cells:
        raise FileRefused(
            f"{path}: row {cells.index('') + 1}: {column!r} is empty; fill it in, or drop the row"
        )
    return [wanted if cell == text else other for cell in cells]


def _counted(mechanism: po.NoisyQuery) -> Any:
    """The value that a count without declared states counts."""
    return mechanism.query[1] if isinstance(mechanism.query, tuple) else 1


def _never_seen(mechanism: po.NoisyQuery, answered: int) -> str:
    """That no record has the value that is counted, where nobody said which values there are; for the owner's eyes only."""
    if answered or mechanism.states is not None or mechanism.query in ("sum", "mean"):
        return ""
    return (
        f"no record is {_counted(mechanism)!r}, and the model declares no states: is it written as in the data? Give the group model its "
        '"states", and another one is refused before anything is spent; that there is none is for your eyes only'
    )


def _few(states: Sequence[Any] | None) -> str:
    shown = list(map(repr, states or ()))
    return ", ".join(shown[:8]) + (", ..." if len(shown) > 8 else "")

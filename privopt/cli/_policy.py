"""Running a sequence policy on a table, or on a folder with a file for each user."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from privopt.cli import show
from privopt.cli._columns import Machine, columns_of, read_symbols, symbols_of
from privopt.cli._csv import groups_of, read_table, write_table
from privopt.cli._journals import Account, Journals
from privopt.cli.fit import given
from privopt.errors import FileRefused, InvalidMechanism
from privopt.mechanisms import SequencePolicy
from privopt.mechanisms.columns import encode
from privopt.mechanisms.policy.follow import check_transitions
from privopt.mechanisms.policy.release import outputs_of
from privopt.mechanisms.policy.users import release_from


@dataclass(frozen=True)
class Order:
    """What the command line asked for."""

    data: Path
    columns: Sequence[str]
    output: Path
    by: str | None
    keep: Sequence[str]
    state: Path | None
    seed: int | None


@dataclass(frozen=True)
class Outcome:
    """What was released: letters in all, of them drawn now, and left for a later run because their word is incomplete."""

    records: int
    drawn: int
    waiting: int
    users: int


def run(machine: Machine, policy: SequencePolicy, order: Order) -> Outcome:
    """Release a table, or every CSV file of a folder into a folder; one sequence a user.

    Raises
    ------
    FileRefused, InvalidMechanism
        With the first thing that is wrong; nothing is released then.
    """
    if order.state is not None and order.seed is not None:
        raise FileRefused(
            "--state records real releases; a simulation has none, leave --simulate or --state out"
        )
    policy.check_release(None if order.seed is None else np.random.default_rng(order.seed))
    return _folder(policy, order) if order.data.is_dir() else _table(policy, order)


def _table(policy: SequencePolicy, order: Order) -> Outcome:
    symbols = symbols_of(policy, len(order.columns), "")
    named: list[str] = [*given(order.by), *order.keep]
    copied = list(dict.fromkeys(named))
    read = read_table(order.data, [*copied, *order.columns])
    rows = list(zip(*(read.columns[name] for name in order.columns), strict=True))
    letters = read_symbols(order.data, order.columns, rows, symbols)
    users = (
        {"": range(read.rows)}
        if order.by is None
        else groups_of(order.data, order.by, read.columns[order.by])
    )
    sequences = {name: [letters[i] for i in places] for name, places in users.items()}
    released, outcome = _release(policy, sequences, order)
    found: dict[int, Hashable] = {}
    for name, places in users.items():
        found.update(zip(places, released[name], strict=False))
    kept = sorted(found)
    columns = columns_of(order.columns, [found[i] for i in kept], "")
    write_table(order.output, {**{name: [read.columns[name][i] for i in kept] for name in copied}, **columns})
    return outcome


def _folder(policy: SequencePolicy, order: Order) -> Outcome:
    """One file a user, in the order of names; the output folder gets files of the same names."""
    files = sorted(path for path in order.data.iterdir() if path.suffix in (".csv", ".txt"))
    if not files:
        raise FileRefused(f"{order.data}: has no .csv or .txt file; give a folder with a file for each user")
    if order.output.exists() and (not order.output.is_dir() or order.output.samefile(order.data)):
        raise FileRefused(f"{order.output}: give another folder, new or empty, to write a file for each user")
    if not order.output.parent.is_dir():
        raise FileRefused(f"{order.output}: cannot be written: there is no folder {order.output.parent}")
    if order.by is not None or order.keep:
        raise FileRefused("in a folder each file is a user: leave --by and --keep out")
    symbols = symbols_of(policy, len(order.columns), "")
    sequences: dict[str, list[Hashable]] = {}
    for path in files:
        read = read_table(path, order.columns)
        rows = list(zip(*(read.columns[name] for name in order.columns), strict=True))
        sequences[path.name] = read_symbols(path, order.columns, rows, symbols)
    released, outcome = _release(policy, sequences, order)
    order.output.mkdir(exist_ok=True)
    for name, letters in released.items():
        write_table(order.output / name, columns_of(order.columns, letters, ""))
    return outcome


def _release(
    policy: SequencePolicy, sequences: dict[str, list[Hashable]], order: Order
) -> tuple[dict[str, list[Hashable]], Outcome]:
    """Every release of each user, recorded ones included, and how many are new."""
    codes = {name: encode(letters, policy.letters) for name, letters in sequences.items()}
    for name, places in codes.items():
        try:
            check_transitions(policy.chain, places[None, :], True, True)
        except InvalidMechanism as cause:
            raise FileRefused(f"{name!r}: {cause}" if name else str(cause)) from cause
    journals = None if order.state is None else Journals.open(order.state, policy)
    accounts = {name: Account(policy.start()) if journals is None else journals.of(name) for name in codes}
    pending, waiting = [], 0
    for name, places in codes.items():
        done = len(accounts[name].released)
        if len(places) < done:
            raise FileRefused(
                f"{name!r}: has {len(places)} records, of {done} the release is recorded: "
                "give each user's data from the first record on"
            )
        spare = 0 if journals is None else (len(places) - done) % policy.batch
        pending.append(places[done : len(places) - spare])
        waiting += spare
    rng = None if order.seed is None else np.random.default_rng(order.seed)
    found, states = release_from(policy, pending, [a.state for a in accounts.values()], rng)
    labels = outputs_of(policy)
    for (name, account), new, state in zip(accounts.items(), found, states, strict=True):
        accounts[name] = Account(state, [*account.released, *(labels[i] for i in new.tolist())])
    if journals is not None:
        journals.accounts.update({name: account for name, account in accounts.items() if account.released})
        journals.write()  # before anything is written that anybody reads
    count = sum(len(account.released) for account in accounts.values())
    outcome = Outcome(count, sum(map(len, found)), waiting, len(codes))
    return {name: account.released for name, account in accounts.items()}, outcome


def report(outcome: Outcome, order: Order, how: str, machine: Machine) -> None:
    """Tell what was done."""
    again = outcome.records - outcome.drawn
    facts: list[tuple[str, object]] = [
        ("records", outcome.records),
        ("users", outcome.users),
        ("drawn before", again or None),
        ("waiting for a full word", outcome.waiting or None),
        ("how", how),
        *machine.facts(),
        ("state", order.state),
        ("written", order.output),
    ]
    show.facts(facts)

"""Streams that a policy releases from the command line: what was drawn for each user, recorded and never drawn again."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from privopt.cli import show
from privopt.cli._columns import Cells, Machine, columns_of
from privopt.cli._kept import Kept, beside_records, check_accepted
from privopt.cli._receipt import Stream, leave_stream_receipt
from privopt.cli._streams import (
    check_earlier,
    earlier_digest,
    gap_facts,
    period_facts,
    stream_letters,
    total_facts,
)
from privopt.cli.fit import user_columns
from privopt.errors import FileRefused, InvalidMechanism, InvalidModel
from privopt.files.csv import groups_of, read_table, write_table
from privopt.files.json import read_json, write_json
from privopt.files.labels import Label, decode_labels, encode_labels
from privopt.files.private import user
from privopt.mechanisms import SequencePolicy
from privopt.mechanisms.columns import encode
from privopt.mechanisms.policy.journal import GAP_VERSION, PolicyState, alone, document, read_document
from privopt.mechanisms.policy.release import check_transitions, outputs_of, release_from
from privopt.publication.counts import counts_records
from privopt.publication.identifiers import identifier_notes
from privopt.publication.receipt import AGAIN, NOT_RECORDED, RECORDED, new_salt

SYSTEM = "drawn from the operating system generator"
SIMULATED = "SIMULATED, protects nobody"

NAMES_ROWS = (
    "beside the release it says whose row it is to everybody who has a list of them; leave --keep {name} out, or keep numbers that nobody "
    "else has"
)
"""What to do with a kept column that looks like an identifier."""

VERSION = 3
"""Of files of journals, which hold hashes of the rows since."""


@dataclass
class Account:
    """One user: where the policy stands, and every letter released so far."""

    state: PolicyState
    released: list[Label | None] = field(default_factory=list)
    """None stands for a gap."""
    digest: str = ""
    """A keyed hash of the rows that were read for these releases; "" where an earlier version recorded none."""


@dataclass
class Journals:
    """The accounts of all users with one policy.

    A run records what it drew here before it writes any of it elsewhere, and a letter that is recorded is never drawn
    again: the same command run twice gives the same releases. The file holds no raw letter, but a keyed hash of the rows
    of each user, by which other data are refused; it belongs beside the data.

    Parameters
    ----------
    path : Path
    policy : SequencePolicy
    accounts : dict by user
    salt : str
        Of the hashes.
    start_step : int
        The step of the chain at which each stream begins: as many gaps come before its first row.
    """

    path: Path
    policy: SequencePolicy
    accounts: dict[str, Account]
    salt: str = field(default_factory=new_salt)
    start_step: int = 0

    @classmethod
    def open(cls, path: Path, policy: SequencePolicy, start_step: int = 0) -> Self:
        """The accounts in a file; none if it does not exist.

        Raises
        ------
        FileRefused
            If it is not of this form, of another policy, or of streams that begin at another step.
        """
        journals = cls(path, policy, {}, start_step=start_step)
        if not path.exists():
            return journals
        fields = read_json(path)
        if fields.get("type") != "policy_journals" or fields.get("version") not in (1, GAP_VERSION, VERSION):
            raise FileRefused(f"{path}: is not a file of policy journals; give another --state")
        if fields.get("policy") != policy.fingerprint:
            raise FileRefused(f"{path}: holds the journals of another policy; give another --state")
        users = fields.get("users")
        if not isinstance(users, dict):
            raise FileRefused(f"{path}: has no users")
        begun = fields.get("start_step", 0)
        if begun != start_step:
            raise FileRefused(
                f"{path}: row 1 was released as step {begun}, not {start_step}: give --start-step {begun}, or another --state for other data"
            )
        journals.accounts = {
            name: _account(f"{path}: {user(name, number)}", policy, users[name])
            for number, name in enumerate(users, 1)
        }
        journals.salt = _hexadecimal(f"{path}: the salt", fields.get("salt", journals.salt))
        return journals

    def of(self, user: str) -> Account:
        """The account of a user, begun if there is none."""
        return self.accounts.get(user) or Account(self.policy.start())

    def write(self) -> None:
        """Replace the file whole; on return it is on the disk."""
        key = self.policy.fingerprint
        users = {name: _plain(key, account, self.policy.batch) for name, account in self.accounts.items()}
        fields = {
            "type": "policy_journals",
            "version": VERSION,
            "policy": key,
            "salt": self.salt,
            "users": users,
        }
        if self.start_step:
            fields["start_step"] = self.start_step
        write_json(self.path, fields, private=True, indent=None)


def _plain(policy: str, account: Account, batch: int) -> dict[str, Any]:
    word = tuple(letter for letter in account.released[-batch:] if letter is not None)
    last = None if not word else (word[0] if batch == 1 else word)
    there = [letter for letter in account.released if letter is not None]
    gaps = [place for place, letter in enumerate(account.released) if letter is None]
    written = {**document(policy, account.state, last), "released": encode_labels(there)}
    if account.digest:
        written["digest"] = account.digest
    return {**written, "missing": gaps} if gaps else written


def _account(what: str, policy: SequencePolicy, fields: object) -> Account:
    if not isinstance(fields, Mapping):
        raise FileRefused(f"{what}: is not a journal")
    state, _ = read_document(fields, what, policy.fingerprint, policy.chain.k, policy.ambiguity is not None)
    try:
        there = list(decode_labels(fields.get("released"), "released"))
    except InvalidModel as cause:
        raise FileRefused(f"{what}: {cause}") from cause
    released = _with_gaps(what, there, fields.get("missing", []))
    if len(released) != state.step * policy.batch or state.ended:
        raise FileRefused(f"{what}: {len(released)} releases do not make {state.step} steps")
    return Account(state, released, _hexadecimal(f"{what}: the digest", fields.get("digest", "")))


def _hexadecimal(what: str, value: object) -> str:
    """A salt or a digest as a file holds it; an earlier version wrote no digest."""
    if not isinstance(value, str) or not re.fullmatch("(?:[0-9a-f]{64})?", value):
        raise FileRefused(f"{what} is not of its form")
    return value


def _with_gaps(what: str, there: list[Label], gaps: object) -> list[Label | None]:
    """All records in their order, None where one was missing."""
    count = len(there) + len(gaps) if isinstance(gaps, list) else 0
    if not isinstance(gaps, list) or not all(type(place) is int and 0 <= place < count for place in gaps):
        raise FileRefused(f"{what}: the missing records are not places in the sequence")
    if len(set(gaps)) < len(gaps):
        raise FileRefused(f"{what}: a record is missing twice")
    missing, rest = set(gaps), iter(there)
    return [None if place in missing else next(rest) for place in range(count)]


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
    accepted: float | None = None
    safe: bool = True
    start_step: int = 0


@dataclass(frozen=True)
class Outcome:
    """What was released: letters in all, of them drawn now, and left for a later run because their word is incomplete."""

    records: int
    drawn: int
    waiting: int
    users: int
    missing: int = 0
    longest: int = 0
    beside: Kept = field(default_factory=Kept)
    warnings: tuple[str, ...] = ()


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
    if order.start_step % policy.batch:
        raise FileRefused(
            f"--start-step {order.start_step}: the policy releases words of {policy.batch} letters, give a multiple of {policy.batch}"
        )
    policy.check_release(None if order.seed is None else np.random.default_rng(order.seed))
    return _folder(policy, order) if order.data.is_dir() else _table(machine, policy, order)


def _table(machine: Machine, policy: SequencePolicy, order: Order) -> Outcome:
    named: list[str] = [*user_columns(order.by), *order.keep]
    copied = list(dict.fromkeys(named))
    read = read_table(order.data, [*copied, *order.columns])
    letters = stream_letters(order.data, policy, order.columns, read.columns, "")
    users = (
        {"": range(read.rows)}
        if order.by is None
        else groups_of(order.data, order.by, read.columns[order.by])
    )
    beside = beside_records(
        machine,
        letters,
        {name: read.columns[name] for name in order.keep},
        list(users.values()),
        order.accepted,
    )
    sequences = {name: [letters[i] for i in places] for name, places in users.items()}
    rows: list[Cells] = list(zip(*(read.columns[name] for name in order.columns), strict=True))
    cells = {name: [rows[i] for i in places] for name, places in users.items()}
    released, outcome = _release(policy, sequences, cells, order)
    outputs: dict[int, Hashable | None] = {}
    for name, places in users.items():
        outputs.update(zip(places, released[name], strict=False))
    kept = sorted(outputs)
    columns = columns_of(order.columns, [outputs[i] for i in kept], "")
    beside_them = {name: [read.columns[name][i] for i in kept] for name in copied}
    write_table(order.output, {**beside_them, **columns}, order.safe)
    warned = {name: read.columns[name] for name in order.keep if not _numbers(read.columns[name], users)}
    return replace(outcome, beside=beside, warnings=tuple(identifier_notes(warned, NAMES_ROWS)))


def _numbers(cells: Sequence[str], users: Mapping[str, Sequence[int]]) -> bool:
    return counts_records([[cells[i] for i in places] for places in users.values()])


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
    sequences: dict[str, list[Hashable | None]] = {}
    cells: dict[str, list[Cells]] = {}
    for path in files:
        table = read_table(path, order.columns).columns
        cells[path.name] = list(zip(*(table[name] for name in order.columns), strict=True))
        sequences[path.name] = stream_letters(path, policy, order.columns, table, "")
    released, outcome = _release(policy, sequences, cells, order)
    order.output.mkdir(exist_ok=True)
    for name, letters in released.items():
        write_table(order.output / name, columns_of(order.columns, letters, ""), order.safe)
    return outcome


def _release(
    policy: SequencePolicy,
    sequences: Mapping[str, Sequence[Hashable | None]],
    cells: Mapping[str, Sequence[Cells]],
    order: Order,
) -> tuple[dict[str, list[Label | None]], Outcome]:
    """Every release of each user, recorded ones included, and how many are new.

    A stream that begins at a later step of the chain is one whose first records are missing.
    """
    before, empty = [None] * order.start_step, [("",) * len(order.columns)] * order.start_step
    codes = {
        name: encode([*before, *letters], policy.letters, gaps=True) for name, letters in sequences.items()
    }
    rows = {name: [*empty, *own] for name, own in cells.items()}
    for number, (name, places) in enumerate(codes.items(), 1):
        try:
            check_transitions(policy.chain, places[None, :], True, True)
        except InvalidMechanism as cause:
            said = f"{user(name, number)}: {cause}" if name else str(cause)
            first = f"; row 1 is record {order.start_step}" if before else ""
            raise FileRefused(f"{said}{first}") from cause
    if order.state is None:
        return _drawn(policy, codes, rows, order, None)
    with alone(order.state):  # from reading what is recorded until the rest is
        return _drawn(policy, codes, rows, order, Journals.open(order.state, policy, order.start_step))


def _drawn(
    policy: SequencePolicy,
    codes: Mapping[str, NDArray[np.int64]],
    cells: Mapping[str, Sequence[Cells]],
    order: Order,
    journals: Journals | None,
) -> tuple[dict[str, list[Label | None]], Outcome]:
    """The releases of letters that are checked: what the journals hold, and the rest, which is drawn and recorded."""
    accounts = {name: Account(policy.start()) if journals is None else journals.of(name) for name in codes}
    skipped = order.start_step
    again = sum(max(0, len(account.released) - skipped) for account in accounts.values())
    pending, waiting = [], 0
    for number, (name, places) in enumerate(codes.items(), 1):
        done = len(accounts[name].released)
        if journals is not None:
            check_earlier(
                user(name, number),
                cells[name],
                accounts[name].released,
                accounts[name].digest,
                journals.salt,
                skipped,
            )
        spare = 0 if journals is None else (len(places) - done) % policy.batch
        pending.append(places[done : len(places) - spare])
        waiting += spare
    rng = None if order.seed is None else np.random.default_rng(order.seed)
    drawn, states = release_from(policy, pending, [a.state for a in accounts.values()], rng)
    labels = outputs_of(policy)
    for (name, account), new, state in zip(accounts.items(), drawn, states, strict=True):
        letters = [labels[i] if i >= 0 else None for i in new.tolist()]
        every = [*account.released, *letters]
        digest = "" if journals is None else earlier_digest(cells[name], every, journals.salt)
        accounts[name] = Account(state, every, digest)
    if journals is not None:
        journals.accounts.update({name: account for name, account in accounts.items() if account.released})
        journals.write()  # before anything is written that anybody reads
    released = {name: account.released[skipped:] for name, account in accounts.items()}
    count = sum(map(len, released.values()))
    gaps = [letters.count(None) for letters in released.values()]
    there = [len(letters) - gap for letters, gap in zip(released.values(), gaps, strict=True)]
    outcome = Outcome(count, count - again, waiting, len(codes), sum(gaps), max(there, default=0))
    return released, outcome


def report(outcome: Outcome, order: Order, how: str, machine: Machine, policy: SequencePolicy) -> None:
    """Tell what was done."""
    again = outcome.records - outcome.drawn
    facts: list[tuple[str, object]] = [
        ("records", outcome.records),
        ("users", outcome.users),
        ("drawn before", again or None),
        ("waiting for a full word", outcome.waiting or None),
        *gap_facts(outcome.missing),
        *period_facts(policy.chain, order.start_step),
        ("how", how),
        *machine.facts(),
        *total_facts(machine.mechanism, outcome.longest, outcome.users),
        ("state", order.state),
        ("written", order.output),
    ]
    show.facts(facts)


def release_policy(machine: Machine, policy: SequencePolicy, order: Order, receipt: Path | None) -> None:
    """Release, leave the receipt, and tell what was done.

    Raises
    ------
    FileRefused, InvalidMechanism
        With the first thing that is wrong; nothing is released then.
    """
    copied_columns(order.columns, order.by, order.keep)
    check_accepted(order.keep, order.accepted)
    how = SYSTEM if order.seed is None else SIMULATED
    outcome = run(machine, policy, order)
    if receipt is not None:
        once = NOT_RECORDED if order.state is None else RECORDED if outcome.drawn else AGAIN
        stream = Stream(order.data, order.output, order.columns, order.by, order.start_step)
        leave_stream_receipt(
            receipt,
            machine,
            policy,
            stream,
            outcome.beside,
            drawn=outcome.drawn,
            how=how,
            once=once,
            raw_cells=not order.safe,
        )
    report(outcome, order, how, machine, policy)
    show.facts([*outcome.beside.facts(), ("warning", list(outcome.warnings)), ("receipt", receipt)])


def copied_columns(columns: Sequence[str], by: str | None, keep: Sequence[str] | None) -> list[str]:
    """The columns that are written as they are, beside those that are released.

    Raises
    ------
    FileRefused
        If one of them is to be released.
    """
    names: dict[str, None] = dict.fromkeys([*user_columns(by), *(keep or [])])
    for column in columns:
        if column in names:
            raise FileRefused(f"the column {column!r} is to be released; it cannot also be copied as it is")
    return list(names)

"""The store of a run: rows and solutions in one SQLite file, who is doing which task, and rows that contradict each other."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sqlite3
import time
import uuid
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path
from typing import Any

from privopt.benchmarks.runner.rows import Row, row_from_dict
from privopt.benchmarks.runner.task import Task
from privopt.benchmarks.runner.traces import decode_points, encode_points
from privopt.core.trace import Point
from privopt.errors import FileRefused
from privopt.files.json import parse_json, write_json

NAME = "store.sqlite"
VERSION = 1
BUSY = 60.0
"""Seconds that a transaction waits for another process to end its own."""

_TABLES = """
CREATE TABLE attempts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid TEXT NOT NULL UNIQUE,
    key TEXT NOT NULL,
    forced INTEGER NOT NULL,
    row TEXT NOT NULL,
    solution TEXT REFERENCES solutions (hash),
    host TEXT NOT NULL,
    session TEXT NOT NULL,
    ended REAL NOT NULL
);
CREATE INDEX attempts_by_key ON attempts (key);
CREATE TABLE solutions (hash TEXT PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE sessions (uuid TEXT PRIMARY KEY, begun REAL NOT NULL, how TEXT NOT NULL);
CREATE TABLE claims (
    key TEXT PRIMARY KEY,
    session TEXT NOT NULL,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    started REAL NOT NULL,
    expires REAL NOT NULL
);
"""


def _guards() -> str:
    """Triggers that refuse to change or delete what was recorded."""
    return "".join(
        f"CREATE TRIGGER {table}_keeps_{what} BEFORE {what} ON {table} "
        f"BEGIN SELECT RAISE(ABORT, '{table} are only added to'); END;\n"
        for table in ("attempts", "solutions", "sessions")
        for what in ("UPDATE", "DELETE")
    )


@contextmanager
def connected(folder: Path, *, make: bool = True) -> Iterator[sqlite3.Connection]:
    """The store of a folder, made if need be; closed in the end.

    Raises
    ------
    FileRefused
        If there is none, it cannot be opened, or it is of another version.
    """
    path = folder / NAME
    if not make and not path.is_file():
        raise FileRefused(f"{folder}: holds no {NAME}; is it the folder of a run?")
    try:
        with closing(sqlite3.connect(path, timeout=BUSY, isolation_level=None)) as base:
            base.execute("PRAGMA synchronous = FULL")
            _prepare(base, path)
            yield base
    except sqlite3.Error as cause:
        raise FileRefused(f"{path}: the store cannot be used: {cause}") from cause


def _prepare(base: sqlite3.Connection, path: Path) -> None:
    (version,) = base.execute("PRAGMA user_version").fetchone()
    if version == 0:
        with transaction(base):
            (version,) = base.execute("PRAGMA user_version").fetchone()
            if version == 0:  # no other process was faster
                for statement in _statements():
                    base.execute(statement)
                version = VERSION
    if version != VERSION:
        raise FileRefused(
            f"{path}: is a store of version {version}, this privopt writes {VERSION}; use another folder"
        )


def _statements() -> Iterator[str]:
    """One statement at a time: ``executescript`` would end the transaction."""
    pending = ""
    for line in (_TABLES + _guards() + f"PRAGMA user_version = {VERSION};").splitlines():
        pending += line + "\n"
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""


@contextmanager
def transaction(base: sqlite3.Connection) -> Iterator[None]:
    """All of the block or nothing of it, with no other writer meanwhile."""
    base.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        base.execute("ROLLBACK")
        raise
    base.execute("COMMIT")


LEASE = 60.0
"""Seconds after which a claim that was not renewed is void; renewed well before."""


def _started() -> float:
    """When this process started, which distinguishes it from a later one of the same number."""
    import psutil

    return psutil.Process().create_time()


@dataclass(frozen=True)
class Owner:
    """One runner: an identity of its own, and where its process is."""

    session: str = field(default_factory=lambda: uuid.uuid4().hex)
    host: str = field(default_factory=platform.node)
    pid: int = field(default_factory=os.getpid)
    started: float = field(default_factory=_started)


def claim(base: sqlite3.Connection, owner: Owner, key: str) -> bool:
    """Claim a key, inside a transaction; False if a living runner has it."""
    holder = base.execute(
        "SELECT session, host, pid, started, expires FROM claims WHERE key = ?", (key,)
    ).fetchone()
    if holder is not None and holder[0] != owner.session and not _void(owner, *holder[1:]):
        return False
    base.execute(
        "INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?, ?, ?)",
        (key, owner.session, owner.host, owner.pid, owner.started, time.time() + LEASE),
    )
    return True


def _void(owner: Owner, host: str, pid: int, started: float, expires: float) -> bool:
    """Whether a claim counts no longer: its process is gone from this host, or its lease ran out."""
    import psutil

    if expires < time.time():
        return True
    if host != owner.host:
        return False
    try:
        return abs(psutil.Process(pid).create_time() - started) > 1.0
    except psutil.NoSuchProcess:
        return True


def renew(base: sqlite3.Connection, owner: Owner) -> None:
    """Extend the claims of a runner."""
    base.execute("UPDATE claims SET expires = ? WHERE session = ?", (time.time() + LEASE, owner.session))


def drop(base: sqlite3.Connection, owner: Owner, key: str | None = None) -> None:
    """Give one claim of a runner back, or all of them."""
    if key is None:
        base.execute("DELETE FROM claims WHERE session = ?", (owner.session,))
    else:
        base.execute("DELETE FROM claims WHERE session = ? AND key = ?", (owner.session, key))


TRACES_TABLE = "CREATE TABLE IF NOT EXISTS traces (uuid TEXT PRIMARY KEY, points TEXT NOT NULL)"
"""Made with the first trace: stores that were written before there were any have none."""


def has_traces(base: sqlite3.Connection, schema: str = "main") -> bool:
    """Whether a store, or one that is attached to it, holds traces."""
    cursor = base.execute(f"SELECT 1 FROM {schema}.sqlite_master WHERE type = 'table' AND name = 'traces'")
    return cursor.fetchone() is not None


LARGEST_SOLUTION = 4 * 2**20
"""Bytes of a solution after compression; larger ones are not kept, their rows are."""


@dataclass(frozen=True)
class Attempt:
    """A recorded run of a task: its row, where its solution is, when it ended and where."""

    row: Row
    solution: str | None
    ended: float
    host: str


@dataclass(frozen=True)
class Store:
    """Rows and solutions in the folder of a run, shared by any number of runners.

    ``since`` is the number of the last attempt that does not count as done: 0 to do only what is missing, or the
    last one there is to do everything again.
    """

    base: sqlite3.Connection
    since: int = 0
    owner: Owner = field(default_factory=Owner)

    def begin(self, how: str) -> None:
        """Record that this runner begins, and how it runs tasks."""
        self._write("INSERT INTO sessions VALUES (?, ?, ?)", (self.owner.session, time.time(), how))

    def _write(self, statement: str, values: tuple[object, ...]) -> None:
        with transaction(self.base):
            self.base.execute(statement, values)

    def done(self, key: str) -> bool:
        """Whether an attempt counts for this key."""
        cursor = self.base.execute(
            "SELECT 1 FROM attempts WHERE key = ? AND id > ? LIMIT 1", (key, self.since)
        )
        return cursor.fetchone() is not None

    def claim(self, key: str) -> bool:
        """Take a task; False if it is done, or if another living runner does it."""
        with transaction(self.base):
            return not self.done(key) and claim(self.base, self.owner, key)

    def renew(self) -> None:
        """Keep the claims of this runner; to be called well within a lease."""
        with transaction(self.base):
            renew(self.base, self.owner)

    def release(self) -> None:
        """Give all claims of this runner back."""
        with transaction(self.base):
            drop(self.base, self.owner)

    def record(
        self,
        row: Row,
        stored: Mapping[str, Any] | None = None,
        host: str = "",
        trace: Sequence[Point] = (),
    ) -> bool:
        """Add an attempt, with its solution and trace; False if another runner had recorded this key meanwhile."""
        with transaction(self.base):
            fresh = not self.done(row.key)
            if fresh:
                solution = None if stored is None else self._keep(stored)
                attempt = uuid.uuid4().hex
                self.base.execute(
                    "INSERT INTO attempts (uuid, key, forced, row, solution, host, session, ended)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        attempt,
                        row.key,
                        int(self.since > 0),
                        json.dumps(row.to_dict(), allow_nan=False),
                        solution,
                        host,
                        self.owner.session,
                        time.time(),
                    ),
                )
                if trace:
                    self.base.execute(TRACES_TABLE)
                    points = json.dumps(encode_points(trace), allow_nan=False)
                    self.base.execute("INSERT INTO traces VALUES (?, ?)", (attempt, points))
            drop(self.base, self.owner, row.key)
        return fresh

    def _keep(self, stored: Mapping[str, Any]) -> str | None:
        """The hash under which a solution is kept; None if it is too large."""
        text = json.dumps(stored, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
        body = zlib.compress(text, 6)
        if len(body) > LARGEST_SOLUTION:
            return None
        name = hashlib.sha256(text).hexdigest()
        self.base.execute("INSERT OR IGNORE INTO solutions VALUES (?, ?)", (name, body))
        return name

    def attempts(self) -> dict[str, Attempt]:
        """The last attempt of each key, in the order in which keys were first recorded.

        Raises
        ------
        FileRefused
            If a row is not one.
        """
        latest: dict[str, Attempt] = {}
        for key, row, solution, ended, host in self.base.execute(
            "SELECT key, row, solution, ended, host FROM attempts ORDER BY ended, id"
        ):
            latest[key] = Attempt(row_from_dict(parse_json(row, "a row of the store")), solution, ended, host)
        return latest

    def traces(self) -> dict[str, tuple[Point, ...]]:
        """What the solver said over time in the last attempt of each key, where it said something."""
        if not has_traces(self.base):
            return {}
        latest = {
            key: points
            for key, points in self.base.execute(
                "SELECT key, points FROM attempts LEFT JOIN traces USING (uuid) ORDER BY ended, id"
            )
        }
        return {key: decode_points(json.loads(points)) for key, points in latest.items() if points}

    def solution(self, name: str) -> dict[str, Any]:
        """The stored form of a solution, checked against its hash.

        Raises
        ------
        FileRefused
            If it is not there or was changed.
        """
        stored = self.base.execute("SELECT body FROM solutions WHERE hash = ?", (name,)).fetchone()
        text = b"" if stored is None else zlib.decompress(stored[0])
        if hashlib.sha256(text).hexdigest() != name:
            raise FileRefused(f"the store has no solution {name}, or it was changed")
        return parse_json(text.decode(), f"solution {name}")

    def busy(self) -> float:
        """Seconds during which runners were at work, from the beginning of each to its last row."""
        spans = self.base.execute(
            "SELECT begun, max(ended) FROM sessions JOIN attempts ON session = sessions.uuid"
            " GROUP BY session ORDER BY begun"
        )
        total, reached = 0.0, 0.0
        for begun, ended in spans:
            total += max(0.0, ended - max(begun, reached))
            reached = max(reached, ended)
        return total

    def sessions(self) -> tuple[tuple[float, str], ...]:
        """When each runner began, and how it ran tasks."""
        return tuple(self.base.execute("SELECT begun, how FROM sessions ORDER BY begun"))


@contextmanager
def opened(folder: Path, *, force: bool = False, make: bool = True) -> Iterator[Store]:
    """The store of a folder; with ``force`` nothing in it counts as done.

    Raises
    ------
    FileRefused
        If it cannot be used.
    """
    with connected(folder, make=make) as base:
        (last,) = base.execute("SELECT coalesce(max(id), 0) FROM attempts").fetchone()
        yield Store(base, last if force else 0)


READING = 1e-12
"""Relative error of a stated objective."""

FOLDER = "contradictions"


def contradictions(rows: Sequence[Row]) -> list[tuple[Row, Row]]:
    """Every pair (reached, bounded) of rows of one problem: the first is certified above the bound of the second."""
    by_problem: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_problem[row.fingerprint].append(row)
    return [
        (reached, bounded)
        for group in by_problem.values()
        for reached, bounded in permutations(group, 2)
        if _contradicts(reached, bounded)
    ]


def _contradicts(reached: Row, bounded: Row) -> bool:
    if not reached.certified or reached.objective is None or bounded.bound is None:
        return False
    return bounded.bound < reached.objective - READING * abs(reached.objective)


def alarm(rows: Sequence[Row]) -> str:
    """The contradictions of a run in a sentence; empty if there are none."""
    pairs = contradictions(rows)
    if not pairs:
        return ""
    reached, bounded = pairs[0]
    return (
        f"ALARM: {len(pairs)} certified answers are above a bound that was checked, so that one of two proofs is wrong; "
        f"the first: {reached.instance} at budget {reached.budget!r}, {reached.solver} reaches {reached.objective!r}, the bound of "
        f"{bounded.solver} is {bounded.bound!r}. Both answers are in the folder {FOLDER} of the run."
    )


def write_contradictions(
    folder: Path, results: Iterable[tuple[Task, Attempt]], load: Callable[[str], Mapping[str, Any]]
) -> None:
    """Write both answers of each contradiction with their problem."""
    known = {attempt.row.key: (task, attempt) for task, attempt in results}
    rows = [attempt.row for _, attempt in known.values()]
    for i, pair in enumerate(contradictions(rows)):
        place = folder / FOLDER / str(i)
        place.mkdir(parents=True, exist_ok=True)
        for name, row in zip(("reached", "bounded"), pair, strict=True):
            task, attempt = known[row.key]
            write_json(place / "problem.json", task.instance.problem.with_budget(task.budget).to_dict())
            if attempt.solution is not None:
                write_json(place / f"{name}.json", load(attempt.solution))

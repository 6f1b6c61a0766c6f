"""The file of a store: SQLite, whose rollback journal makes each transaction whole or absent after any crash."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from privopt.errors import FileRefused

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

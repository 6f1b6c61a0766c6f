"""The store of a run: attempts are only ever added, each whole or not at all; the last of a key counts."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
import uuid
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from privopt._files import parse_json
from privopt.benchmarks import _claims
from privopt.benchmarks._claims import Owner
from privopt.benchmarks._database import connected, transaction
from privopt.benchmarks._rows import Row, row_from_dict
from privopt.errors import FileRefused

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
        found = self.base.execute(
            "SELECT 1 FROM attempts WHERE key = ? AND id > ? LIMIT 1", (key, self.since)
        )
        return found.fetchone() is not None

    def claim(self, key: str) -> bool:
        """Take a task; False if it is done, or if another living runner does it."""
        with transaction(self.base):
            return not self.done(key) and _claims.claim(self.base, self.owner, key)

    def renew(self) -> None:
        """Keep the claims of this runner; to be called well within a lease."""
        with transaction(self.base):
            _claims.renew(self.base, self.owner)

    def release(self) -> None:
        """Give all claims of this runner back."""
        with transaction(self.base):
            _claims.drop(self.base, self.owner)

    def record(self, row: Row, stored: Mapping[str, Any] | None = None, host: str = "") -> bool:
        """Add an attempt, with its solution; False if another runner had recorded this key meanwhile."""
        with transaction(self.base):
            fresh = not self.done(row.key)
            if fresh:
                solution = None if stored is None else self._keep(stored)
                self.base.execute(
                    "INSERT INTO attempts (uuid, key, forced, row, solution, host, session, ended)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        uuid.uuid4().hex,
                        row.key,
                        int(self.since > 0),
                        json.dumps(row.to_dict(), allow_nan=False),
                        solution,
                        host,
                        self.owner.session,
                        time.time(),
                    ),
                )
            _claims.drop(self.base, self.owner, row.key)
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
        found: dict[str, Attempt] = {}
        for key, row, solution, ended, host in self.base.execute(
            "SELECT key, row, solution, ended, host FROM attempts ORDER BY ended, id"
        ):
            found[key] = Attempt(row_from_dict(parse_json(row, "a row of the store")), solution, ended, host)
        return found

    def solution(self, name: str) -> dict[str, Any]:
        """The stored form of a solution, checked against its hash.

        Raises
        ------
        FileRefused
            If it is not there or was changed.
        """
        found = self.base.execute("SELECT body FROM solutions WHERE hash = ?", (name,)).fetchone()
        text = b"" if found is None else zlib.decompress(found[0])
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

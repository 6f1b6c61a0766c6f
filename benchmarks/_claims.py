"""Claims: who is doing which task, so that several runners share a store; those of the dead are taken over."""

from __future__ import annotations

import os
import platform
import sqlite3
import time
import uuid
from dataclasses import dataclass, field

LEASE = 60.0
"""Seconds after which a claim that was not renewed is void; renewed well before."""


def _started() -> float:
    """When this process started, which tells it from a later one of the same number."""
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
    found = base.execute(
        "SELECT session, host, pid, started, expires FROM claims WHERE key = ?", (key,)
    ).fetchone()
    if found is not None and found[0] != owner.session and not _void(owner, *found[1:]):
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

"""What a benchmark run leaves behind: attempts in its store, processes of its own."""

from __future__ import annotations

import time
from pathlib import Path

import psutil

from privopt.benchmarks.runner.store import connected

SCRIPT = Path(__file__).with_name("tiny_suite.py")
"""Runs the tiny suite in a process of its own."""


def attempts_of(folder: Path) -> list[str]:
    with connected(folder) as base:
        assert base.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert base.execute("SELECT count(*) FROM claims").fetchone() == (0,)
        return [key for (key,) in base.execute("SELECT key FROM attempts")]


def left_over(mark: Path) -> list[int]:
    """Processes that were started, directly or not, with this path as their mark; none is expected after a second."""
    deadline = time.monotonic() + 2
    while True:
        ids = [p.pid for p in psutil.process_iter() if mark_of(p) == str(mark)]
        if not ids or time.monotonic() > deadline:
            return ids
        time.sleep(0.05)


def mark_of(process: psutil.Process) -> str | None:
    try:
        return process.environ().get("PRIVOPT_TEST_MARK")
    except psutil.Error:
        return None

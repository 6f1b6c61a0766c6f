"""Limited processes, seen from outside: a server that runs one task at a time, each in a fresh process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection, Pipe
from typing import Any

from privopt.benchmarks._limits import Limits, one_thread
from privopt.errors import PrivoptError

CLOSING = 5.0
"""Seconds that a server may take to end before it is killed."""


class Server:
    """A process that forks a limited process for each task; it ends when this object is closed, or this process.

    ``preloaded`` names modules that it imports beside those every task needs, where they are installed.

    Raises
    ------
    PrivoptError
        On a system other than Linux.
    """

    def __init__(self, limits: Limits, preloaded: Sequence[str] = ()) -> None:
        if sys.platform != "linux":
            raise PrivoptError(
                f"benchmarks bound each task by means of Linux, and this is {sys.platform}; run them in a "
                "container or a virtual machine, or use privopt compare"
            )
        self.limits = limits
        self.connection, theirs = Pipe()
        self._process = _start(theirs, preloaded)
        theirs.close()
        self._greeting: dict[str, Any] | None = None

    def submit(self, asked: Mapping[str, Any]) -> None:
        """Send a task; :attr:`connection` becomes readable when its answer is there."""
        self._greet()
        self.connection.send_bytes(json.dumps({**asked, "memory": self.limits.memory}).encode())

    def answer(self) -> dict[str, Any]:
        """What became of the task that was sent; blocks until it is known.

        Raises
        ------
        EOFError
            If the server died, which no task can make it do.
        """
        found: dict[str, Any] = json.loads(self.connection.recv_bytes())
        return found

    def run(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Send a task and wait for what becomes of it."""
        self.submit(asked)
        return self.answer()

    @property
    def start_seconds(self) -> float:
        """How long the server took to import what it shares with every task."""
        return float(self._greet()["start_seconds"])

    def _greet(self) -> dict[str, Any]:
        """What the server said when it was ready; waits for that."""
        if self._greeting is None:
            try:
                self._greeting = self.answer()
            except EOFError as cause:
                raise PrivoptError(
                    "the process that starts tasks could not begin; what it printed above says why"
                ) from cause
        return self._greeting

    def close(self) -> None:
        """End the server, and a task that is still running, with all that it started."""
        self.connection.close()
        try:
            self._process.wait(CLOSING)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _start(theirs: Connection, preloaded: Sequence[str]) -> subprocess.Popen[bytes]:
    """The server's process, in a session of its own so that Ctrl-C is ours to handle."""
    descriptor = theirs.fileno()
    return subprocess.Popen(
        [sys.executable, "-m", "privopt.benchmarks._zygote", str(descriptor), *preloaded],
        pass_fds=(descriptor,),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        env=one_thread(dict(os.environ)),
        start_new_session=True,
    )

"""Limited processes, seen from outside: what a task may use, and a server that runs one at a time."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe
from typing import Any

from privopt.errors import PrivoptError

GIB = 2**30
GRACE = 2.0
"""Seconds after its time limit at which a task is ended: what ``solve`` promises not to overshoot."""
WARMING = 120.0
"""Seconds for starting, imports included, and for the first answer."""
PROVING = 120.0
"""Seconds for proving an answer again; not part of any timing."""
THREADS = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR", "RAYON", "VECLIB_MAXIMUM", "NUMBA")
"""Libraries that read PREFIX_NUM_THREADS."""
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Limits:
    """What one task may use.

    Parameters
    ----------
    memory : float
        Address space in GiB, > 0, of each of its processes.
    """

    memory: float = 4.0

    def apply(self) -> None:
        """Bind this process: its own session, an end with its parent, no core files, bounded memory."""
        parent = os.getppid()
        os.setsid()
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before the line above took effect
            os._exit(1)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        size = int(self.memory * GIB)
        resource.setrlimit(resource.RLIMIT_AS, (size, size))

    def __str__(self) -> str:
        return f"{self.memory:g} GiB"


def one_thread(environment: dict[str, str]) -> dict[str, str]:
    """An environment in which numerical libraries use one thread and hashing is the same every time."""
    single = {f"{name}_NUM_THREADS": "1" for name in THREADS}
    return {**environment, **single, "PYTHONHASHSEED": "0"}


def is_memory(text: str) -> bool:
    """Whether a message is that of an allocation that was refused.

    Examples
    --------
    >>> is_memory("MemoryError: Unable to allocate 74.5 GiB"), is_memory("division by zero")
    (True, False)
    """
    signs = ("memoryerror", "bad_alloc", "bad alloc", "out of memory", "cannot allocate", "memory allocation")
    return any(sign in text.lower() for sign in signs)


def out_of_memory(memory: float, detail: str) -> str:
    """The reason of a task that ran into its memory limit."""
    return f"out of memory: the limit is {Limits(memory)} of address space ({detail})"


def death(code: int, noise: str, memory: float) -> str:
    """Why a process ended that gave no answer, from its exit code (negative: a signal) and its last words."""
    words = " ".join(noise.split())[-300:]
    if is_memory(words):
        return out_of_memory(memory, words)
    said = f"; it said: {words}" if words else ""
    if code == -signal.SIGKILL:
        return f"its process was ended by signal 9, as the kernel does when memory runs out{said}"
    if code < 0:
        return f"its process was ended by signal {-code} ({signal.Signals(-code).name}){said}"
    return f"its process ended with exit code {code} before it answered{said}"


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

    def submit(self, task: Mapping[str, Any]) -> None:
        """Send a task; :attr:`connection` becomes readable when its answer is there."""
        self._greet()
        self.connection.send_bytes(json.dumps({**task, "memory": self.limits.memory}).encode())

    def answer(self) -> dict[str, Any]:
        """What became of the task that was sent; blocks until it is known.

        Raises
        ------
        EOFError
            If the server died, which no task can make it do.
        """
        outcome: dict[str, Any] = json.loads(self.connection.recv_bytes())
        return outcome

    def run(self, task: Mapping[str, Any]) -> dict[str, Any]:
        """Send a task and wait for what becomes of it."""
        self.submit(task)
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
        [sys.executable, "-m", "privopt.benchmarks.runner.zygote", str(descriptor), *preloaded],
        pass_fds=(descriptor,),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        env=one_thread(dict(os.environ)),
        start_new_session=True,
    )

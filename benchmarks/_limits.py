"""What a task may use, and what became of one that used more, in words."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
from dataclasses import dataclass

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

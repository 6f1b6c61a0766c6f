"""Signals that ask a run to stop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupted(Exception):
    """A run was asked to stop, and did: what was finished is kept.

    Parameters
    ----------
    done, total : int
        Tasks that are done, of those that were asked for.
    """

    def __init__(self, done: int, total: int) -> None:
        super().__init__(f"stopped with {done} of {total} tasks done")
        self.done, self.total = done, total


@contextmanager
def terminable() -> Iterator[None]:
    """Within it, SIGTERM does what Ctrl-C does; only the main thread can ask for that."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt

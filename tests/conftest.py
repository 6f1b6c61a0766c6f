"""How many workers run the tests, and that they can be interrupted."""

from __future__ import annotations

import os
import signal
import threading

import pytest


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: many tests wait for processes of their own."""
    return (os.cpu_count() or 1) + 1


def pytest_configure() -> None:
    """Let processes that tests start hear Ctrl+C, also where the tests run in the background of a shell, which ignores it."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)

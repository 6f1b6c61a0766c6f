"""How many workers run the tests, and that they can be interrupted."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from privopt.core import registry


@pytest.fixture(scope="session", autouse=True)
def every_solver() -> None:
    """Solvers of a problem are imported when it is first solved: here before, as tests copy the registry and put the copy back."""
    registry._scan_everything()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: many tests wait for processes of their own."""
    return (os.cpu_count() or 1) + 1


def pytest_configure() -> None:
    """Let processes that tests start hear Ctrl+C, also where the tests run in the background of a shell, which ignores it."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)

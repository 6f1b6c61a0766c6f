"""How many workers run the tests, and that they can be interrupted."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from privopt.core import predictions, registry
from privopt.publication.explain import Explanation
from privopt.publication.publication import Publication

SLOW = Path(__file__).with_name("slow.txt")
"""Single cases of a second and more, one a line: they are long, while other cases of their tests are not."""


@pytest.fixture(scope="session", autouse=True)
def every_solver() -> None:
    """Solvers of a problem are imported when it is first solved: here before, as tests copy the registry and put the copy back."""
    registry._scan_everything()


@pytest.fixture(scope="session", autouse=True)
def machine_of_the_table() -> Iterator[None]:
    """Predictions are those of the machine that was calibrated: which solver runs first must not hang on what else runs here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(predictions, "work_here", lambda: predictions.timings().work)
        yield


@pytest.fixture
def plain_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Releases are written with empty pictures: drawing them takes longer than all that is tested beside."""
    from matplotlib.figure import Figure

    for kind in (Explanation, Publication):
        monkeypatch.setattr(kind, "figure", lambda _: Figure(figsize=(1, 1)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: many tests wait for processes of their own."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the cases that are listed as slow."""
    slow = set(SLOW.read_text(encoding="utf-8").splitlines())
    for item in items:
        if item.nodeid in slow:
            item.add_marker(pytest.mark.long)


def pytest_collection_finish() -> None:
    """Thousands of collected cases are no garbage: a tenth of the time went to looking through them again."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_configure() -> None:
    """Let workers and processes that tests start read compiled modules, and hear Ctrl+C.

    Some environments write no bytecode: each of some hundred processes would compile the package and the tests again.
    In the background of a shell, processes ignore Ctrl+C.
    """
    # Workers inherit it: where each has a thread a core, products of matrices wait for each other, for up to seven times as long.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.disable()  # until all is collected: there is no garbage before
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)

"""Processes that privopt starts do not hear Ctrl+C; the process that started them does, and ends them."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading

import pytest

from privopt.core.isolate import deaf_to_interrupts

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no signal masks")

SAY_MASK = (
    "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()), flush=True); input()"
)


def test_a_process_started_within_lives_through_an_interrupt() -> None:
    with deaf_to_interrupts():
        child = subprocess.Popen(
            [sys.executable, "-c", SAY_MASK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
    assert child.stdout is not None
    assert child.stdout.readline() == "True\n"
    child.send_signal(signal.SIGINT)
    child.communicate("\n")
    assert child.returncode == 0


INTERRUPTED = """
import os, signal
from privopt.core.isolate import deaf_to_interrupts

try:
    with deaf_to_interrupts():
        os.kill(os.getpid(), signal.SIGINT)
        print("reached the end", flush=True)
except KeyboardInterrupt:
    print("interrupted", signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""


def test_an_interrupt_waits_for_the_end_and_is_not_lost() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=True)
    assert done.stdout == "reached the end\ninterrupted True\n"


def test_it_serves_in_any_thread() -> None:
    masked: list[bool] = []

    def start() -> None:
        with deaf_to_interrupts():
            masked.append(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()))

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    assert masked == [True]

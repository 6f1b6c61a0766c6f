"""Processes that privopt starts do not hear Ctrl+C, and one that waits for the next solver stays; the process that started them ends them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import privopt as po
from privopt.core.isolate import deaf_to_interrupts, run_guarded

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


PROBLEM = po.Redaction(po.MarkovChain([[0.75, 0.25], [0.5, 0.5]], states=("a", "b")), 5, 2, 1.0)
LEFT = 1.2
"""Seconds after which the memory of a child is looked at again."""


@dataclass(frozen=True)
class Large(po.Solver[po.Redaction]):
    """Uses some half a gigabyte in arrays of two megabytes between small ones that stay, and says who ran."""

    solves: ClassVar = po.Redaction
    name: ClassVar[str] = "large"
    interruptible: ClassVar[bool] = False

    def guarantee(self, problem: po.Redaction) -> po.Guarantee:
        return po.Guarantee.FEASIBLE

    def cost(self, problem: po.Redaction) -> float:
        return 0.1

    def run(self, problem: po.Redaction, budget: po.Budget) -> po.Proposal:
        kept, large = [], []
        for _ in range(250):
            large.append(np.ones(2**18))
            kept.append(np.ones(2000))
        del large
        np._kept_by_this_test = kept  # type: ignore[attr-defined]
        time.sleep(LEFT)
        return po.Proposal(problem.safe(), stats={"process": os.getpid()})


@pytest.mark.long
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only there large arrays go back at once")
def test_a_child_that_needed_much_memory_for_a_while_is_not_started_anew() -> None:
    ran = [run_guarded(Large(), PROBLEM, po.Budget(time.monotonic() + 30)).stats["process"] for _ in range(3)]
    assert len(set(ran)) == 1

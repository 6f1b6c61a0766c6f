"""Auditors that others wrote, run on our sampler: how often they reject what is promised, and a planted fault."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from privopt.benchmarks.timings.measurement import Timing, register_measurement

TESTS = Path(__file__).resolve().parents[3] / "tests"
"""Where a checkout keeps how each auditor is asked; an installed package has none."""
RUNS = (10, 1000)
"""Seeded runs of each, quickly and in full."""


@register_measurement(
    "auditors",
    "Outside auditors on draws of a certified mechanism: rejections of what is promised, and of a sampler with a fault of 20 %",
)
def auditors(quick: bool) -> Sequence[Timing]:
    """A row for the promise and one for the fault, an auditor; one that is not installed says where it is to be had."""
    if not (TESTS / "oracles" / "auditors.py").is_file():
        return [Timing("auditors", 1, None, note="how they are asked is in the tests of a checkout")]
    if str(TESTS) not in sys.path:
        sys.path.append(str(TESTS))
    asked: Any = importlib.import_module("oracles.auditors")
    asked.response()  # solved before the clock starts
    rows, runs = list[Timing](), RUNS[not quick]
    for name, audit in asked.AUDITORS.items():
        begun = time.perf_counter()
        try:
            found = audit(runs)
        except asked.Missing as reason:
            rows.append(Timing(name, runs, None, note=f"not installed: {reason}"))
            continue
        seconds = time.perf_counter() - begun
        chance = f"rejections; by chance up to {found.allowed:.0f}"
        rows += [
            Timing(f"{name}: the promise", runs, seconds, quality=float(found.true), note=chance, holds=found.true <= found.allowed),
            Timing(f"{name}: the fault", runs, seconds, quality=float(found.faulty), note="rejections; must be all", holds=found.faulty == runs),
        ]  # fmt: skip
    return rows

"""Forgeries: stored answers corrupted from a seed, verified, and judged by a brute force that knows nothing of the library."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from privopt.benchmarks.timings.measurement import Timing, register_measurement

TESTS = Path(__file__).resolve().parents[3] / "tests"
"""Where a checkout keeps the brute force; an installed package has none."""
FIRST = 2 * 10**6
"""Seed of the first corruption: those of the tests are others."""


@register_measurement(
    "verification-corruptions",
    "Corrupted records of every kind of problem, verified; broken claims that are accepted are counted",
)
def corruptions(quick: bool) -> Sequence[Timing]:
    """What verification says of records of which every leaf may be false, with fingerprints signed again."""
    if not (TESTS / "oracles" / "corruptions.py").is_file():
        return [Timing("corrupted records", 1, None, note="the brute force is in the tests of a checkout")]
    tally, seconds = _campaign(300 if quick else 100_000)
    counts = {
        "claims broken, by a brute force of their own": tally.broken,
        "broken claims refused": tally.refused,
        "broken claims accepted": len(tally.forged),
        "intact claims accepted": tally.intact_accepted,
        "intact claims refused: their proof is broken, or how they are written": tally.intact_refused,
        "foreign exceptions, warnings and verifications of over 10 s": len(tally.foreign),
    }
    distribution = ("broken claims accepted", "foreign exceptions, warnings and verifications of over 10 s")
    rows = [
        Timing(
            case,
            tally.tried,
            seconds,
            quality=float(n),
            note="records",
            holds=not (case in distribution and n),
        )
        for case, n in counts.items()
    ]
    named = [*tally.forged, *tally.foreign][:20]
    rows += [Timing("seed", 1, seconds, quality=0.0, note=told, holds=False) for told in named]
    return [*rows, Timing("slowest verification", 1, tally.slowest, quality=tally.slowest, note="seconds")]


def _campaign(count: int) -> tuple[Any, float]:
    """The counts of a campaign, and its seconds."""
    if str(TESTS) not in sys.path:
        sys.path.append(str(TESTS))
    judged = importlib.import_module("oracles.corruptions")
    judged.cases()  # solved before the clock starts
    begun = time.perf_counter()
    return judged.campaign(count, first=FIRST), time.perf_counter() - begun

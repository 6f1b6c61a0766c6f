"""Whether a claim that one machine makes is proved on every other: solved under one processor setting, verified under all."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from privopt.benchmarks.timings.measurement import Timing, register_measurement
from privopt.benchmarks.timings.settings import Setting, run_under, settings, verdicts

MOST, SECONDS = 100, 5.0
MOST_QUICK, SECONDS_QUICK = 2, 2.0


@register_measurement(
    "processor-settings",
    "certified answers of every solver, made under one processor setting and verified under the others; refusals counted",
)
def processor_settings(quick: bool) -> Sequence[Timing]:
    """Every problem and solver, on the examples of the problems."""
    return list(_rows(*((MOST_QUICK, SECONDS_QUICK) if quick else (MOST, SECONDS))))


def _rows(most: int, seconds: float) -> Iterator[Timing]:
    known = settings()
    plain = max((s for s in known if not s.skipped), key=lambda s: len(s.variables))
    for made in (known[0], plain):
        with tempfile.TemporaryDirectory() as place:
            count = int(run_under(made, "solve", place, str(most), str(seconds)))
            for setting in known:
                yield _row(made, setting, count, Path(place))


def _row(made: Setting, setting: Setting, count: int, folder: Path) -> Timing:
    case = f"solved: {made.name}; verified: {setting.name}"
    if setting.skipped:
        return Timing(case, count, None, note=f"skipped: {setting.skipped}")
    begun = time.monotonic()
    checks = verdicts(run_under(setting, "verify", str(folder)))
    refused = [f for f in checks if not f.ok]
    first = f"; the first: {refused[0].file}: {refused[0].reason}" if refused else ""
    remarked = sum(bool(f.remarks) for f in checks)
    return Timing(
        case,
        count,
        time.monotonic() - begun,
        quality=float(len(refused)),
        note=f"solutions that do not verify ({remarked} verify with a remark){first}",
        holds=len(checks) == count and not refused,
    )

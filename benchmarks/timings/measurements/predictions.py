"""Whether predicted seconds are right within a factor of ten on sizes that the recorded table does not hold."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from privopt.benchmarks.timings.calibrate import Reading, checked
from privopt.benchmarks.timings.measurement import Timing, register_measurement

MOST = 10.0
LIMITS = {True: 0.3, False: 2.0}
"""Seconds of each run, by whether the measurement is quick."""


@register_measurement("predictions", "Seconds that solvers take, beside those that are predicted")
def predictions(quick: bool) -> Sequence[Timing]:
    """Every solver on instances between those of the table: how many predictions are far off, then each, the worst first."""
    begun = time.perf_counter()
    rows = [timing(reading, predicted) for reading, predicted in checked(LIMITS[quick], few=quick)]
    seconds = time.perf_counter() - begun
    far = sum(row.quality is not None and row.quality > MOST for row in rows)
    note = f"of these predictions are off by a factor of more than {MOST:g}"
    worst_first = sorted(rows, key=lambda row: -(row.quality or 0.0))
    return (Timing("all predictions", len(rows), seconds, quality=float(far), note=note), *worst_first)


def timing(reading: Reading, predicted: float) -> Timing:
    """A row: the prediction is the reference, the quality is the factor by which it is off.

    Examples
    --------
    >>> row = timing(Reading("any", "redaction", "windows", (10, 2, 1), 1.0, 2.0, False), 0.1)
    >>> row.case, row.size, row.quality
    ('redaction/windows', 20, 20.0)
    """
    sizes = " x ".join(map(str, reading.sizes))
    return Timing(
        case=f"{reading.kind}/{reading.solver}",
        size=math.prod(reading.sizes),
        seconds=max(reading.seconds, 1e-9),
        reference="predicted",
        reference_seconds=predicted,
        ratio=predicted / max(reading.seconds, 1e-9),
        quality=reading.error(predicted),
        note=f"off by this factor, {sizes}{', stopped' if reading.stopped else ''}",
    )

"""Whether predicted seconds are right within a factor of ten on sizes that the recorded table does not hold."""

from __future__ import annotations

import math
from collections.abc import Sequence

from privopt.benchmarks.timings.calibrate import Reading, checked
from privopt.benchmarks.timings.measurement import Timing, register_measurement

MOST = 10.0
LIMITS = {True: 0.3, False: 2.0}
"""Seconds of each run, by whether the measurement is quick."""


@register_measurement("predictions", "Seconds that solvers take, beside those that are predicted")
def predictions(quick: bool) -> Sequence[Timing]:
    """Every solver on instances between those of the table."""
    rows = checked(LIMITS[quick], lambda name, seconds: None)
    return tuple(timing(reading, predicted) for reading, predicted in rows)


def timing(reading: Reading, predicted: float) -> Timing:
    """A row: the prediction is the reference, the quality is the factor by which it is off.

    Examples
    --------
    >>> row = timing(Reading("any", "redaction", "windows", (10, 2, 1), 1.0, 2.0, False), 0.1)
    >>> row.case, row.size, row.quality, row.holds
    ('redaction/windows', 20, 20.0, False)
    """
    off = reading.error(predicted)
    sizes = " x ".join(map(str, reading.sizes))
    return Timing(
        case=f"{reading.kind}/{reading.solver}",
        size=math.prod(reading.sizes),
        seconds=reading.seconds,
        reference="predicted",
        reference_seconds=predicted,
        ratio=predicted / reading.seconds,
        quality=off,
        note=f"off by this factor, {sizes}{', stopped' if reading.stopped else ''}",
        holds=off <= MOST,
    )

"""Sequence release: agreement, speed, programmes, batches and laws."""

from __future__ import annotations

from collections.abc import Sequence

from privopt.benchmarks._measurements import Timing, register_measurement
from privopt.benchmarks.measurements import _sequence_batches, _sequence_laws, _sequence_steps


@register_measurement(
    "sequence-closed-form", "Sequence release: the closed form against a linear programme, and its proof"
)
def closed_form(quick: bool) -> Sequence[Timing]:
    """Random beliefs: largest difference of the errors, largest proved gap."""
    return list(_sequence_steps.closed_form(60 if quick else 5000))


@register_measurement("sequence-speed", "Sequence release: time of a user-step, simulated and certified")
def speed(quick: bool) -> Sequence[Timing]:
    """Many users side by side, then one user with many letters."""
    users, steps, letters = (200, 10, 2000) if quick else (100_000, 50, 100_000)
    return list(_sequence_steps.speed(users, steps, letters))


@register_measurement(
    "sequence-structure", "Sequence release: the linear programme of one step, written in two ways"
)
def structure(quick: bool) -> Sequence[Timing]:
    """Absolute distance, one size a row."""
    return list(_sequence_steps.structure((8, 16) if quick else (64, 96, 128), 96))


@register_measurement("sequence-batches", "Sequence release: batches of up to 4096 words, with proved gaps")
def batches(quick: bool) -> Sequence[Timing]:
    """A sticky binary chain at 2.5 nats a batch."""
    if quick:
        return list(_sequence_batches.run((3, 4), 16, 5.0))
    return list(_sequence_batches.run((7, 8, 9, 10, 12), 128, 90.0))


@register_measurement("sequence-laws", "Sequence release: laws on random instances, violations counted")
def laws(quick: bool) -> Sequence[Timing]:
    """Exact arithmetic, enumeration and the judge against each other."""
    return list(_sequence_laws.run(5 if quick else 300))

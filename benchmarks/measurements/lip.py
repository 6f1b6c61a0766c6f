"""Local information privacy: the watchdog's simulation, and laws that every release must keep."""

from __future__ import annotations

from collections.abc import Sequence

from privopt.benchmarks._measurements import Timing, register_measurement
from privopt.benchmarks.measurements import _lip_laws, _lip_simulation


@register_measurement(
    "lip-watchdog-simulation", "Loss of mutual information by the watchdog, by boosting and by several blocks"
)
def simulation(quick: bool) -> Sequence[Timing]:
    """5000 random tables, as in the figure on utility boosting of the lectures."""
    return list(_lip_simulation.run(100 if quick else 5000))


@register_measurement("lip-laws", "Laws of local information privacy on random instances; violations counted")
def laws(quick: bool) -> Sequence[Timing]:
    """What must hold whatever the joint law."""
    return list(_lip_laws.run(10 if quick else 2000))

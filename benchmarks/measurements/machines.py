"""What a cluster costs: time, bytes and memory of a piece of users and of a solve, and what a scheduler adds."""

from __future__ import annotations

from collections.abc import Sequence

from privopt.benchmarks._measurements import Timing, register_measurement
from privopt.benchmarks.measurements import _machines_cluster, _machines_units


@register_measurement("machines", "Clusters: time, bytes and memory of one piece of work, and of a billion")
def machines(quick: bool) -> Sequence[Timing]:
    """Units of work in this process; then, unless quick, the same by workers in processes of their own."""
    users, records = (200, 10) if quick else (2000, 50)
    rows = [*_machines_units.release(users, records, quick), *_machines_units.solves(quick)]
    return rows if quick else [*rows, *_machines_cluster.run(4, users, records)]

"""Bayesian privacy of noise on dependent records: what bounds and calibration cost, and the laws they must keep.

Source of the setting: Lange, Guerra-Balboa, Parra-Arnau, Strufe, "Balancing Privacy and Utility in Correlated Data".
"""

from __future__ import annotations

from collections.abc import Sequence

from privopt.benchmarks._measurements import Timing, register_measurement
from privopt.benchmarks.measurements import _bayesian_laws, _bayesian_speed


@register_measurement(
    "bayesian-speed",
    "Bayesian privacy: seconds of every bound and of calibration, with the seconds they should stay under",
)
def speed(quick: bool) -> Sequence[Timing]:
    """Chains, Gaussian groups and tables."""
    return list(_bayesian_speed.run(quick))


@register_measurement(
    "bayesian-laws", "Bayesian privacy: laws against all adversaries by linear programmes; violations counted"
)
def laws(quick: bool) -> Sequence[Timing]:
    """Random instances of at most four records."""
    return list(_bayesian_laws.run(2 if quick else 60))

"""Redaction on a Markov chain: what the exact methods cost and gain, and the laws they must keep.

Source of the setting: Massny, Bitar, Ye, El Rouayheb, "Between Close Enough to Reveal and Far Enough to Protect".
"""

from __future__ import annotations

from collections.abc import Sequence

from privopt.benchmarks._measurements import Timing, register_measurement
from privopt.benchmarks.measurements import (
    _redaction_growth,
    _redaction_isotonic,
    _redaction_laws,
    _redaction_leakage,
    _redaction_optimum,
)


@register_measurement(
    "redaction-isotonic", "The convex relaxation by pooling adjacent violators, against three conic solvers"
)
def isotonic(quick: bool) -> Sequence[Timing]:
    """Appendix A of the paper, solved as an isotonic regression."""
    return _redaction_isotonic.run((10, 100, 1000) if quick else (10, 100, 1000, 100_000))


@register_measurement(
    "redaction-leakage",
    "Exact leakage by a recursion, against enumeration of all outputs; alone on long chains",
)
def leakage(quick: bool) -> Sequence[Timing]:
    """Definition 1 of the paper."""
    short = range(4, 7) if quick else range(4, 10)
    return [*_redaction_leakage.against(short), *_redaction_leakage.alone(3 if quick else 6)]


@register_measurement(
    "redaction-optimal",
    "The optimal local mechanism, against SLSQP over all probabilities, and against the relaxation",
)
def optimal(quick: bool) -> Sequence[Timing]:
    """The optimum that the paper leaves for future work."""
    general = _redaction_optimum.against_slsqp((3,) if quick else (3, 4, 5), starts=3 if quick else 10)
    return [*general, *_redaction_optimum.against_relaxation(quick)]


@register_measurement("redaction-growth", "The optimum on long chains: records on one side, and on both")
def growth(quick: bool) -> Sequence[Timing]:
    """Cost against the number of records."""
    one = _redaction_growth.one_side(4 if quick else 6)
    return [*one, *_redaction_growth.two_sides((100, 300) if quick else (100, 300, 1000, 3000), quick)]


@register_measurement(
    "redaction-laws", "Laws of leakage and of the optimum on random instances; violations counted"
)
def laws(quick: bool) -> Sequence[Timing]:
    """What must hold whatever the chain."""
    return list(_redaction_laws.run(50 if quick else 2000))

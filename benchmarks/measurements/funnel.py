"""Deterministic releases under the privacy funnel: what single steps, whole mergings and large alphabets give.

Source of the setting: the lectures on privacy-utility trade-offs, privacy funnel by pairwise and submodular merging.
Leakage is shown in thousandths of a bit, on tables drawn uniformly (Dirichlet).
"""

from __future__ import annotations

from collections.abc import Sequence

from privopt.benchmarks._measurements import Timing, register_measurement
from privopt.benchmarks.measurements import _funnel_mergings, _funnel_scale, _funnel_steps


@register_measurement(
    "funnel-one-step", "Merging subsets or pairs at a price: the share of the best fall over all partitions"
)
def one_step(quick: bool) -> Sequence[Timing]:
    """Twelve symbols, four prices, three and eight secrets."""
    return list(_funnel_steps.run(size=8 if quick else 12, draws=1 if quick else 12))


@register_measurement(
    "funnel-mergings", "Pairwise merging by each rule, and the portfolio, above the best of all mergings"
)
def mergings(quick: bool) -> Sequence[Timing]:
    """Floors that are shares of H(X)."""
    return list(_funnel_mergings.run(draws=2 if quick else 20))


@register_measurement(
    "funnel-scale", "Pairwise merging against its definition, and how much less moves and the portfolio leak"
)
def scale(quick: bool) -> Sequence[Timing]:
    """Ten secrets, up to 5000 symbols."""
    definition = _funnel_scale.against_definition((12,) if quick else (10, 20, 40))
    return [*definition, *_funnel_scale.leakages((30,) if quick else (50, 200, 1000, 5000))]

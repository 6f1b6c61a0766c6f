"""Bounds on a distortion by multipliers of a band around each release, in floats with radii.

Where ratios or lifts are bounded, every release y has a level h(y) with P(y | s) <= e^upper h(y) and h(y) <= P(y | s) e^lower for
every value s of the secret: P(y) for lifts; for ratios the least P(y | s), where the second is without its factor. Multipliers
b >= 0 of the first and a >= 0 of the second, a number for each release and each value of S of positive probability, in the unit
of the distortion, prove that every allowed release has E[D] at least the sum over w of the least over y of
D(w, y) P(w) + sum_s (b(s, y) - a(s, y)) P(w | s) + c(y) h(y), with c = e^-lower sum a - e^upper sum b for lifts, where h(y) is the
mean of P(w) over the same cells; for ratios c = sum a - e^upper sum b is made at least 0 by taking less of b.

They are 2 n_y n_s numbers, however many pairs of secrets are compared.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from privopt.arrays import Floats
from privopt.core.balls import ETA, Balls, U
from privopt.models.channel_data import Observation
from privopt.problems.costs import Costs
from privopt.problems.exact_joint import enclose

if TYPE_CHECKING:
    from privopt.core.problem import Enclosure
    from privopt.problems.local_information_privacy.polytope import Sides


def band_enclosure(
    observed: Observation, costs: Costs, sides: Sides, above: Floats, below: Floats
) -> Enclosure | None:
    """Floats around the bound on -E[D] that multipliers prove; None where they are of another shape or negative.

    Parameters
    ----------
    observed : Observation
    costs : Costs
        Of every observation and release.
    sides : (notion, lower, upper)
        Finite levels in nats.
    above, below : array (n_y, n_s)
        Multipliers of the two sides.
    """
    shape = len(costs.cells[0]), int((observed.p_s > 0).sum())
    if above.shape != shape or below.shape != shape or (above < 0).any() or (below < 0).any():
        return None
    low, high = band_costs(observed, costs, sides, Balls.exact(above), Balls.exact(below)).ends
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    return enclose(-(costs.least + Fraction(high)))[0], enclose(-(costs.least + Fraction(low)))[1]


def band_costs(observed: Observation, costs: Costs, sides: Sides, above: Balls, below: Balls) -> Balls:
    """A lower bound on E[D] above the least of all releases within some levels; see the module."""
    seen = observed.p_s > 0
    prior, table = _rounded(observed.p_s[seen]), _rounded(observed.leaking.table[seen])
    n, weights = len(observed.leaking.useful), observed.leaking.exact.weights
    never = np.array([weight == 0 for weight in weights]).reshape(-1, n)[seen]
    table = table.where(~never, 0.0)  # exactly: radii that are denormal make products twelve times as long
    notion, lower, upper = sides
    top = _exp(upper)
    if notion == "ldp":
        paid, due = below.sum(axis=1), top * above.sum(axis=1)
        short = due.upper > paid.lower
        share = np.where(short, paid.lower / np.where(short, due.upper, 1.0), 1.0)
        share = np.maximum(0.0, share * (1 - 8 * U))
        net = above * share[:, None] - below
        of_output = Balls.exact(np.zeros(len(share)))
    else:
        net = above - below
        of_output = below.sum(axis=1) / _exp(lower) - top * above.sum(axis=1)
    paid_cells = (net / prior) @ table + of_output.reshape(-1, 1) * _rounded(observed.p_w)
    return (paid_cells + _rounded(costs.excess.T)).min(axis=0).sum()


def _exp(level: float) -> Balls:
    return Balls.exact(level).exp() if level > 0 else Balls.exact(1.0)


def _rounded(values: Floats) -> Balls:
    """Numbers of which floats are the nearest."""
    return Balls(values, np.where(values == 0, ETA, 2 * U * np.abs(values) + ETA))

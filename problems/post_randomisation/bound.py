"""Upper bounds on the utility, proved from prices of what stays as it is; the same duals prove that no channel exists.

The dual is ``{"kind": "prices", "prices": [[...], ...], "proof": {...}}``: a number lambda[z][y] for each row z of the tables that
are kept (the distribution of the symbols first) and each release y, and a proof about the problem without tables. For
every channel that keeps the tables,

    E[D] = E[D'] - sum over z, y of lambda[z][y] T[z][y],  D'[x, y] = D[x, y] + sum over z of lambda[z][y] T[z][x] / P(x),

so that a lower bound on E[D'] over all channels that keep the budget bounds E[D]. That bound is proved in
:mod:`privopt.problems.distortion_privacy.bound` ("bands"), or for a metric in :mod:`privopt.problems.metric_privacy.bound`
("multipliers"). D' is rounded to floats there; by how much is counted, exactly.

At D = 0 a bound below 0 says that no channel keeps tables and budget: a witness.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from privopt.arrays import Floats
from privopt.core.problem import Enclosure
from privopt.models.metric import Metric
from privopt.problems.distortion_privacy.problem import DistortionPrivacy
from privopt.problems.exact_joint import enclose
from privopt.problems.local_information_privacy.bound import numbers
from privopt.problems.post_randomisation.data import PostRandomisationData

LARGEST_NATS = 600.0
"""Above it bands of ratios prove nothing, and multipliers of them count as 0."""


def prove(data: PostRandomisationData, dual: object) -> Enclosure | None:
    """Floats around the upper bound on -E[D] that a dual proves, or None."""
    return _priced(data, dual, data.costs)


def infeasible(data: PostRandomisationData, witness: object) -> float | None:
    """By how much, at least, every channel within the budget misses the tables, in the unit of the witness's prices."""
    ends = _priced(data, witness, np.zeros(data.costs.shape))
    return -ends[1] if ends is not None and ends[1] < 0 else None


def _priced(data: PostRandomisationData, dual: object, costs: Floats) -> Enclosure | None:
    if not isinstance(dual, dict) or dual.get("kind") != "prices":
        return None
    rows = data.kept_rows
    prices = numbers(dual.get("prices"), (len(rows), len(data.symbols)))
    if prices is None:
        return None
    exact = [[Fraction(v) for v in line] for line in prices.tolist()]
    given = sum(
        (v * t for line, row in zip(exact, rows, strict=True) for v, t in zip(line, row, strict=True)),
        Fraction(0),
    )
    loss, off = rounded_costs(data, costs, exact)
    ends = _without_tables(data, loss, dual.get("proof"))
    if ends is None or not all(map(math.isfinite, ends)):
        return None
    return enclose(Fraction(ends[0]) + given - off)[0], enclose(Fraction(ends[1]) + given + off)[1]


def rounded_costs(
    data: PostRandomisationData, costs: Floats, prices: list[list[Fraction]]
) -> tuple[Floats, Fraction]:
    """D' in floats, and the largest error of rounding it."""
    rows, n = data.kept_rows, len(data.symbols)
    # The share of the distribution itself is 1: a sum of two floats, whose error is a float.
    if len(rows) == 1:
        asked = np.array([float(v) for v in prices[0]])
        near = costs + asked
        if np.isfinite(near).all():
            return near, Fraction(float(np.abs(_missed(costs, asked, near)).max()))
    loss, off = np.zeros((n, n)), Fraction(0)
    used = [z for z, line in enumerate(prices) if any(line)]
    for x in range(n):
        shares = [row[x] / rows[0][x] for row in rows]
        for y in range(n):
            value = Fraction(float(costs[x, y])) + sum((prices[z][y] * shares[z] for z in used), Fraction(0))
            loss[x, y] = float(value)
            off = max(off, abs(value - Fraction(float(loss[x, y]))))
    return loss, off


def _missed(a: Floats, b: Floats, rounded: Floats) -> Floats:
    """The sum a + b less what it was rounded to, exactly (Knuth, "The Art of Computer Programming" II, Section 4.2.2, Theorem B)."""
    second = rounded - a
    return np.asarray((a - (rounded - second)) + (b - second))


def _without_tables(data: PostRandomisationData, loss: Floats, proof: object) -> Enclosure | None:
    """What is proved of -E[D'] of every channel within the budget."""
    if isinstance(data.notion, Metric):
        return data.metric_problem(loss).prove_bound(proof)
    if not isinstance(proof, dict) or proof.get("kind") != "bands":
        return None
    level = data.epsilon
    if level > LARGEST_NATS:
        n, level = len(data.symbols), 1.0  # multipliers of 0 prove the same at any level
        idle = np.zeros((n, int((data.observation.p_s > 0).sum()))).tolist()
        proof = {"kind": "bands", "above": idle, "below": idle}
    return DistortionPrivacy(data.joint, loss, max_leakage=level, leakage=data.notion).prove_bound(proof)

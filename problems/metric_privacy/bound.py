"""Upper bounds on the utility, proved from multipliers of promised pairs, whatever these are.

The dual is ``{"kind": "multipliers", "first": [...], "second": [...], "outputs": [...], "values": [...]}``: a number
mu >= 0 for P(y | first) <= e^(epsilon d) P(y | second) with a promised pair and an output y, by position. Adding mu times
what each constraint leaves to the expected loss raises the loss of no mechanism above

    sum over x of  sum over y of P(y | x) (p(x) loss(x, y) + sum of mu(x, ., y) - sum of mu(., x, y) e^(epsilon d))

and a row of probabilities costs at least the least entry of its row in brackets. So the expected loss of every
mechanism is at least the sum of these least entries; the multipliers of an optimal program reach the optimum. All of it
is rounded outward.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.balls import Balls, U
from privopt.core.problem import Enclosure
from privopt.problems.metric_privacy.data import MetricData

LARGEST_NATS = 600.0
"""Pairs promised more than this bind nothing that floats can multiply, and prove nothing."""


def dual_of(first: Ints, second: Ints, outputs: Ints, values: Floats) -> dict[str, object]:
    """The dual of multipliers, as it is written.

    Examples
    --------
    >>> dual_of(np.array([0]), np.array([1]), np.array([1]), np.array([0.5]))["values"]
    [0.5]
    """
    return {
        "kind": "multipliers",
        "first": first.tolist(),
        "second": second.tolist(),
        "outputs": outputs.tolist(),
        "values": values.tolist(),
    }


def check_dual(data: MetricData, dual: object) -> Enclosure | None:
    """The enclosure of the upper bound on utility that a dual proves, or None."""
    if not isinstance(dual, dict) or dual.get("kind") != "multipliers":
        return None
    n, m = data.losses.shape
    first, second = _positions(dual.get("first"), n), _positions(dual.get("second"), n)
    outputs, values = _positions(dual.get("outputs"), m), _values(dual.get("values"))
    if first is None or second is None or outputs is None or values is None:
        return None
    if not len(first) == len(second) == len(outputs) == len(values):
        return None
    return multiplier_enclosure(data, first, second, outputs, values)


def _positions(values: object, count: int) -> Ints | None:
    """A list of positions below a count; None if it is anything else."""
    if not isinstance(values, list) or not set(map(type, values)) <= {int}:
        return None
    try:
        row = np.array(values, dtype=np.int64)
    except OverflowError:
        return None
    return row if bool(((row >= 0) & (row < count)).all()) else None


def _values(values: object) -> Floats | None:
    """A list of finite numbers >= 0; None if it is anything else."""
    if not isinstance(values, list) or not set(map(type, values)) <= {int, float}:
        return None
    try:
        row = np.array(values, dtype=np.float64)
    except OverflowError:
        return None
    return row if bool(((row >= 0) & (row <= 1e150)).all()) else None


def promised(data: MetricData, first: Ints, second: Ints) -> Floats:
    """The distance promised for ordered pairs of points; inf for those that no promise names.

    Examples
    --------
    >>> from privopt.models.metric import Metric
    >>> line = MetricData(Metric.line(3), [0.5, 0.25, 0.25], "distance", 1.0)
    >>> promised(line, np.array([0, 1, 0]), np.array([1, 0, 2])).tolist()
    [1.0, 1.0, inf]
    """
    n, pairs = len(data.metric), data.pairs
    keys = pairs.first * n + pairs.second
    wanted = np.minimum(first, second) * n + np.maximum(first, second)
    if not len(keys):
        return np.full(len(first), np.inf)
    order = np.argsort(keys, kind="stable")
    at = np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)
    hit = keys[order[at]] == wanted
    return np.asarray(np.where(hit, pairs.distance[order[at]], np.inf))


def multiplier_enclosure(
    data: MetricData, first: Ints, second: Ints, outputs: Ints, values: Floats
) -> Enclosure | None:
    """Floats around the upper bound on utility that multipliers prove; None where they prove nothing.

    Examples
    --------
    >>> from privopt.models.metric import Metric
    >>> two = MetricData(Metric.line(2), [0.5, 0.5], "distance", 0.0)
    >>> none, one = np.zeros(0, dtype=np.int64), np.array([1])
    >>> round(multiplier_enclosure(two, none, none, none, np.zeros(0))[1], 12)
    0.0
    >>> lo, hi = multiplier_enclosure(two, np.array([0]), one, np.array([0]), np.array([0.5]))
    >>> lo <= -0.5 <= hi + 1e-15
    True
    """
    used = values > 0
    first, second, outputs, values = first[used], second[used], outputs[used], values[used]
    distance = promised(data, first, second)
    nats = np.multiply(data.epsilon, distance, out=np.zeros_like(distance), where=distance > 0)
    if not bool((nats <= LARGEST_NATS).all()):
        return None
    grown = Balls.exact(values) * _growth(data.epsilon, distance)
    own = Balls(data.p, data.p * 2.0**-52 + 2.0**-1074) * data.losses.T
    n, m = data.losses.shape
    cells = outputs * n + first, outputs * n + second
    middle, size = np.zeros(n * m), np.zeros(n * m)
    np.add.at(middle, cells[0], values)
    np.subtract.at(middle, cells[1], grown.mid)
    np.add.at(size, cells[0], values)
    np.add.at(size, cells[1], np.abs(grown.mid))
    spread = np.zeros(n * m)
    np.add.at(spread, cells[1], grown.rad)
    terms = np.bincount(np.concatenate(cells), minlength=n * m)
    spread = (spread + (terms + 2) * U * size) * (1 + (4 * terms + 16) * U)
    priced = own + Balls(middle, spread).reshape(m, n)
    least = Balls.between(priced.lower.min(axis=0), priced.upper.min(axis=0))
    low, high = (-least.sum()).ends
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None


def _growth(epsilon: float, distance: Floats) -> Any:
    """Balls around e^(epsilon distance), each distance raised once."""
    some, places = np.unique(distance, return_inverse=True)
    return (Balls.exact(np.where(some == 0, 0.0, epsilon)) * Balls.exact(some)).exp()[places]

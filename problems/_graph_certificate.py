"""The certificate of a colouring: every distinct pair of rows proved private, in floats first, then exactly."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from privopt._certificate import Certificate
from privopt._exact import ball_floor, exp_at_least, log_enclosure
from privopt._text import number
from privopt.measures._colouring_reading import UNIT, exact_row, largest_ratio
from privopt.measures._colouring_steps import LARGEST, TINY, Floats
from privopt.mechanisms import Colouring
from privopt.problems._graph_boundary import MET
from privopt.problems._graph_judge import Adjacency, accuracy, worst_edge

if TYPE_CHECKING:
    from privopt.problems.boundary_colouring import BoundaryColouring

Ints = NDArray[np.int64]
LOGS = 64
"""Worst pairs whose leakage is enclosed by balls; readings of the others are good to 1e-11."""
BLUR = 1e-11
SUMS = 1e-13
"""Relative error of a sum of non-negative terms, taken pairwise."""


def certify(problem: BoundaryColouring, mechanism: Colouring) -> Certificate:
    """Prove sum_c max(0, P_u(c) - e^epsilon P_v(c)) <= delta on every edge, in both directions."""
    found = problem.adjacent(mechanism)
    doubtful = ambiguous(mechanism.levels, found.first, found.second, problem.epsilon, problem.delta)
    ok, reason = _settle(problem, mechanism, found, doubtful)
    miss = problem.miss(mechanism)
    if ok and miss > MET:
        ok, reason = False, f"a prescribed value is missed by {number(miss)}, more than {MET:g}"
    low, high = _leakage(problem, mechanism, found)
    utility = accuracy(problem, mechanism)
    worst, where = worst_edge(problem, mechanism, found)
    return Certificate(
        ok=ok,
        claim="leakage <= budget",
        reason=reason,
        budget=problem.epsilon,
        leakage=(min(low, problem.epsilon), min(high, problem.epsilon)) if ok else (low, high),
        utility=(utility * (1 - SUMS), min(1.0, utility * (1 + SUMS))),
        worst=worst,
        where=where,
        problem=problem.fingerprint,
        mechanism=mechanism.fingerprint,
        method="directed rounding, and integers against balls where that does not decide",
        assumption=f"neighbouring datasets are the edges of {problem.graph!r}; delta = {problem.delta!r}",
    )


def ambiguous(levels: Floats, first: Ints, second: Ints, epsilon: float, delta: float) -> Ints:
    """The pairs that floats with directed rounding do not prove private.

    The exact law of a row gives to its largest entry what the floats miss of 1, a few units of rounding of that entry,
    so every entry is a float times 1 +- (k + 2) u.
    """
    k = levels.shape[1]
    above, below = 1.0 + (2 * k + 6) * UNIT, 1.0 - (2 * k + 8) * UNIT
    growth = _exp_floor(epsilon)
    block, doubtful = max(1, (1 << 22) // k), []
    for i in range(0, len(first), block):
        u, v = levels[first[i : i + block]], levels[second[i : i + block]]
        over = u * above - growth * v * below
        total = np.maximum(over, 0.0).sum(axis=1) * above
        subnormal = ((u < TINY) & (u > 0)).any(axis=1) | ((v < TINY) & (v > 0)).any(axis=1)
        doubtful.append(i + np.flatnonzero((total > delta) | subnormal))
    return np.concatenate(doubtful) if doubtful else np.zeros(0, dtype=np.int64)


def _exp_floor(epsilon: float) -> float:
    """A float at most e^epsilon, proved; 1 at 0."""
    if epsilon == 0:
        return 1.0
    from flint import arb, fmpq

    exponent = fmpq(*Fraction(min(epsilon, LARGEST)).as_integer_ratio())
    return ball_floor(arb(exponent).exp())


def _settle(
    problem: BoundaryColouring, mechanism: Colouring, found: Adjacency, doubtful: Ints
) -> tuple[bool, str]:
    """Whether the doubtful pairs, the worst reading first, hold exactly, and why."""
    order = doubtful[np.argsort(-found.reading.epsilon[doubtful], kind="stable")]
    delta, rows = Fraction(problem.delta), _Rows(mechanism)
    for i in order.tolist():
        ratio = largest_ratio(rows[int(found.first[i])], rows[int(found.second[i])], delta)
        fine = ratio is not None and (
            ratio <= 1 or exp_at_least(problem.epsilon, ratio.numerator, ratio.denominator)
        )
        if not fine:
            return False, "the edge that leaks most is not proved private"
    count = f"{len(found.first)} ordered pairs of rows stand next to each other"
    return True, f"all hold: {count}, {len(order)} of them settled exactly"


class _Rows:
    """Exact laws of levels, made when they are asked for."""

    def __init__(self, mechanism: Colouring) -> None:
        self._levels = mechanism.levels
        self._made: dict[int, list[Fraction]] = {}

    def __getitem__(self, level: int) -> list[Fraction]:
        if level not in self._made:
            self._made[level] = exact_row(self._levels[level].tolist())
        return self._made[level]


def _leakage(problem: BoundaryColouring, mechanism: Colouring, found: Adjacency) -> tuple[float, float]:
    """An enclosure of the exact leakage: balls for the worst pairs, 1e-11 for the rest."""
    readings = found.reading.epsilon
    if readings.size == 0 or readings.max() == 0:
        return 0.0, 0.0 if readings.size == 0 else _tiny(readings)
    count = min(LOGS, len(readings))
    top = np.argpartition(-readings, count - 1)[:count]
    rest = np.delete(readings, top) if len(readings) > count else np.zeros(0)
    low, high = 0.0, float(rest.max(initial=0.0)) * (1 + BLUR)
    delta, rows = Fraction(problem.delta), _Rows(mechanism)
    for i in top.tolist():
        ratio = largest_ratio(rows[int(found.first[i])], rows[int(found.second[i])], delta)
        if ratio is None:
            return math.inf, math.inf
        if ratio > 1:
            ends = log_enclosure(ratio.numerator, ratio.denominator)
            low, high = max(low, ends[0]), max(high, ends[1])
    return low, high


def _tiny(readings: Floats) -> float:
    """What a reading of zero may hide when delta is positive: nothing is larger than a unit of rounding."""
    return 0.0 if readings.size == 0 else 4 * UNIT

"""What some mechanism of a level leaks on a chain of any number of states: a lower bound, from mechanisms that are products.

An output of probability f(X) = c_0(X_0) c_1(X_1) ... with factors of 1 or e^tau belongs to a tau-private mechanism once it is
scaled down. For a target with values x and x', of which the first has the larger factor, and an adversary who knows nothing of the records
that count, it leaks

    tau + ln R(x) / R(x') + ln L(x) / L(x'),  R = P C_1 P C_2 ... P C_D 1,  C_d = diag(c_d),

and L likewise with the step reversed. In floats the factors are chosen one record after the other, the others held fixed: a
ratio of two linear functions of c_d is largest where c_d is e^tau on the values u with the largest ratios of the two weights
(Neyman and Pearson's lemma). The chosen ones are then multiplied out in balls.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.core.exact import ball_floor
from privopt.models.markov.chain import MarkovChain

if TYPE_CHECKING:
    from flint import arb

    Sets = NDArray[np.bool_]

MOST_COUNTED = 48
"""Records of a side that count."""

MOST_STATES = 20
"""States of the chains that are looked at."""

_SWEEPS = 3
_BITS = 128


@lru_cache(maxsize=256)
def prove_product_leak(chain: MarkovChain, tau: float, length: int | None = None) -> float:
    """A float that is at most the leakage of some tau-private mechanism; 0 for chains of many states or steps.

    Examples
    --------
    >>> chain = MarkovChain([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.2, 0.2, 0.6]])
    >>> 1.2 < prove_product_leak(chain, 0.5) < 1.3921810086  # the recursion bounds all mechanisms
    True
    """
    from flint import arb, ctx

    if (
        not chain.homogeneous
        or not 2 <= chain.k <= MOST_STATES
        or not 0 < tau < 500
        or chain.period is not None
    ):
        return 0.0
    after, before = _counted(chain, length)
    rows = [[row.fraction(i) for i in range(chain.k)] for row in chain.exact_step(0)]
    sides = [_chosen(np.array(rows, dtype=np.float64), tau, after)]
    steps = [rows]
    if before:
        steps.append(_reversed(chain, rows))
        sides.append(_chosen(np.array(steps[1], dtype=np.float64), tau, before))
    possible = np.array([weight > 0 for weight in chain.exact_initial.weights])
    total = sum(side[0] for side in sides) + np.where(possible[:, None] & possible, 0.0, -np.inf)
    np.fill_diagonal(total, -np.inf)
    x, other = np.unravel_index(int(np.argmax(total)), total.shape)
    if not np.isfinite(total[x, other]):
        return 0.0
    with ctx.workprec(_BITS):
        leakage = arb(tau)
        for (_, sets), step in zip(sides, steps, strict=True):
            values = _expected(step, tau, sets[:, x, other])
            leakage += (values[x] / values[other]).log()
    return max(0.0, ball_floor(leakage)) if leakage.is_finite() else 0.0


def _counted(chain: MarkovChain, length: int | None) -> tuple[int, int]:
    """How many records count after the target and before it; none before it where the chain is not stationary."""
    both = 2 * MOST_COUNTED if length is None else min(length - 1, 2 * MOST_COUNTED)
    if not chain.stationary or not all(chain.exact_initial.weights):
        return min(both, MOST_COUNTED), 0
    return both - both // 2, both // 2


def _reversed(chain: MarkovChain, rows: list[list[Fraction]]) -> list[list[Fraction]]:
    weights = [chain.exact_initial.fraction(i) for i in range(chain.k)]
    return [[weights[u] * rows[u][x] / weights[x] for u in range(chain.k)] for x in range(chain.k)]


def _chosen(step: Floats, tau: float, count: int) -> tuple[Floats, Sets]:
    """For each pair the logarithm of the ratio and the values with the factor e^tau, shape (count, k, k, k)."""
    k, growth = len(step), np.exp(tau)
    sets = np.zeros((count, k, k, k), dtype=np.bool_)
    power = np.eye(k)
    for d in range(count):
        power = power @ step
        sets[d] = power[:, None, :] > power[None, :, :]
    ratios = np.zeros((k, k))
    for _ in range(_SWEEPS):
        ends = _ends(step, growth, sets)
        weights = np.broadcast_to(np.eye(k)[:, None, :], (k, k, k)), np.broadcast_to(np.eye(k), (k, k, k))
        for d in range(count):
            one, other = (w @ step for w in weights)
            sets[d], ratios = _best(one, other, ends[d], growth)
            factor = np.where(sets[d], growth, 1.0)
            one, other = one * factor, other * factor
            scale = np.maximum(one.sum(axis=2), other.sum(axis=2))[:, :, None]
            weights = one / scale, other / scale
    return ratios, sets


def _ends(step: Floats, growth: float, sets: Sets) -> list[Floats]:
    """For each record what those farther out make of its values, up to a factor for each pair."""
    end = np.ones(sets.shape[1:])
    ends = [end]
    for d in range(len(sets) - 1, 0, -1):
        end = (end * np.where(sets[d], growth, 1.0)) @ step.T
        end = end / end.max(axis=2, keepdims=True)
        ends.append(end)
    return ends[::-1]


def _best(one: Floats, other: Floats, end: Floats, growth: float) -> tuple[Sets, Floats]:
    """The values with the larger factor for the largest ratio of two sums, and the logarithm of that ratio."""
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.argsort(-np.nan_to_num(one / other, nan=1.0), axis=2, kind="stable")
        over, under = (np.take_along_axis(w * end, order, axis=2) for w in (one, other))
        sums = [
            w.sum(axis=2, keepdims=True)
            + (growth - 1.0) * np.concatenate([0.0 * w[:, :, :1], np.cumsum(w, axis=2)], axis=2)
            for w in (over, under)
        ]
        ratios = np.nan_to_num(np.log(sums[0] / sums[1]), nan=-np.inf)
    at = ratios.argmax(axis=2)
    ranked = np.arange(order.shape[2]) < at[:, :, None]
    sets = np.zeros(order.shape, dtype=np.bool_)
    np.put_along_axis(sets, order, ranked, axis=2)
    return sets, ratios.max(axis=2)


def _expected(step: Sequence[Sequence[Fraction]], tau: float, sets: Sets) -> list[arb]:
    """R for every value of the target."""
    from flint import arb, fmpq

    rows = [[arb(fmpq(p.numerator, p.denominator)) for p in row] for row in step]
    growth, values = arb(tau).exp(), [arb(1)] * len(rows)
    for counted in sets[::-1].tolist():
        grown = [value * growth if more else value for value, more in zip(values, counted, strict=True)]
        values = [sum((p * v for p, v in zip(row, grown, strict=True)), arb(0)) for row in rows]
    return values

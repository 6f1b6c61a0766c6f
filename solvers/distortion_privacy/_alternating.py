"""Multiplicative steps that lower I(S;Y) at a fixed room for distortion, when the secret is seen through W.

With P(s, y) = sum_w P(s, w) Q(y|w) and any reference channel, the log-sum inequality bounds I(S;Y) from above by a
function that touches it at the reference and whose minimum is Q(y|w) ~ Q_ref(y|w) exp(-G(w, y) - m d(w, y)), where
G(w, y) = sum_s P(s|w) ln P(s|y)/P(s) at the reference; with S = W that is the step of Blahut and Arimoto. So steps of
length 1 never raise the information. As relative entropies between laws of S given y contract by at least the largest
total variation between two laws of S given w (Dobrushin), neither do steps of length 1 / that. Longer ones are tried and
taken back if they fail. The price m makes the step end within the room.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from privopt.arrays import Floats
from privopt.core.solver import Budget
from privopt.solvers.distortion_privacy._bound import completed_laws
from privopt.solvers.distortion_privacy._space import Space

Target: TypeAlias = Callable[[float, float], float]

TINY = 1e-290
LONGEST = 1e6


@dataclass(frozen=True, eq=False)
class Run:
    """A channel, what it reads, and the laws of the best bound on the way.

    Distortion is above the least, in the unit of ``space.excess``, as is the price.
    """

    matrix: Floats
    information: float
    distortion: float
    price: float
    laws: Floats
    steps: int
    stop: str

    def stats(self) -> dict[str, float | int | str]:
        """What to report of it."""
        return {"iterations": self.steps, "price": self.price, "stop": self.stop}


def alternate(space: Space, room: float, start: Floats, target: Target, budget: Budget) -> Run:
    """Lower the information within the room until the bound is near.

    Parameters
    ----------
    room : float
        Expected distortion above the least that is allowed.
    start : array (n_w, n_y)
        Positive on every open cell.
    target : function (information, price)
        Gap at which to stop, in nats.
    """
    distances = space.excess / space.weights[:, None]
    given = (space.table / space.weights).T
    shortest = 1.0 / _contraction(given)
    length, price = shortest, 0.0
    matrix, price = _project(np.log(np.maximum(start, TINY)), distances, space, room, 0.0)
    value = _information(space, matrix)
    least, laws, due = -math.inf, np.zeros(0), 16
    steps = 0
    while True:
        steps += 1
        slopes = given @ _scores(space, matrix)
        logs = np.log(np.maximum(matrix, TINY)) - length * slopes
        logs = np.where(space.open, logs, -np.inf)
        tried, multiplier = _project(logs, distances, space, room, price * length)
        found = _information(space, tried)
        if found > value and length > shortest:
            length = max(shortest, length / 4)
            continue
        stalled = found >= value - 1e-16 and length == shortest
        matrix, value, price = tried, min(found, value), multiplier / length
        length = min(LONGEST, 1.3 * length)
        if steps >= due or stalled or budget.remaining <= 0:
            due = steps + max(16, steps // 4)
            low, found_laws = _lower(space, matrix, price, room)
            if low >= least:
                least, laws = low, found_laws
            stop = _stop(value - least, target(value, price), stalled, budget)
            if stop:
                distortion = float((space.excess * matrix).sum())
                return Run(matrix, value, distortion, price, laws, steps, stop)


def _stop(gap: float, target: float, stalled: bool, budget: Budget) -> str:
    if gap <= target:
        return "the gap is small"
    if budget.remaining <= 0:
        return "out of time"
    return "the steps no longer change anything" if stalled else ""


def _contraction(given: Floats) -> float:
    """Largest total variation between two laws of S given w, at least 1e-6."""
    spread = np.abs(given[:, None, :] - given[None, :, :]).sum(axis=2) if len(given) <= 200 else np.array(2.0)
    return max(1e-6, float(spread.max()) / 2)


def _scores(space: Space, matrix: Floats) -> Floats:
    """The log-lift of each pair, shape (n_s, n_y)."""
    law = space.table @ matrix
    marginal = space.weights @ matrix
    return np.log(np.maximum(law, TINY) / np.maximum(space.prior[:, None] * marginal, TINY))


def _information(space: Space, matrix: Floats) -> float:
    law = space.table @ matrix
    return float((law * _scores(space, matrix)).sum())


def _lower(space: Space, matrix: Floats, price: float, room: float) -> tuple[float, Floats]:
    """A lower bound on the least information within the room, and the laws that prove it."""
    laws = completed_laws(space, matrix, price)
    sums = space.table.T @ np.log(laws / space.prior).T
    return float((sums + price * space.excess).min(axis=1).sum()) - price * room, laws


def _project(
    logs: Floats, distances: Floats, space: Space, room: float, guess: float
) -> tuple[Floats, float]:
    """exp(logs - m d), rows normalised, with the least m >= 0 that keeps the room; Newton with a bracket."""
    low, high, m = 0.0, math.inf, guess
    for _ in range(100):
        matrix = _normalised(logs - m * distances)
        means = (matrix * distances).sum(axis=1)
        excess = float(space.weights @ means) - room
        if abs(excess) <= 1e-15 * max(1.0, room) or (m == 0 and excess <= 0) or high - low < 1e-15 * high:
            return matrix, m
        low, high = (m, high) if excess > 0 else (low, m)
        slope = float(space.weights @ ((matrix * distances**2).sum(axis=1) - means**2))
        step = m + excess / slope if slope > 0 else math.inf
        inside = low <= step < high and math.isfinite(step)
        m = step if inside and step != m else (2 * low + 1 if math.isinf(high) else (low + high) / 2)
    return _normalised(logs - m * distances), m


def _normalised(logs: Floats) -> Floats:
    raised = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))

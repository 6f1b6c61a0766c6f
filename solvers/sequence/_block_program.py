"""Linear programs of many dense blocks that share a few variables: a primal-dual interior-point method.

    maximise objective . x   where   A_k w_k + B_k x = c_k,  w_k >= 0   for each block k.

A Newton step eliminates w_k and the prices y_k block by block, which leaves a system in x alone: blocks cost their rows squared times
columns each, where a sparse factorisation that does not know of them fills in. Predictor and corrector steps are those of S. Mehrotra,
"On the Implementation of a Primal-Dual Interior Point Method".
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats, Ints

MOST_STEPS = 100
NEAR = 5e-4
"""How far the objective may be below what the prices allow, relatively."""
SOUND = 1e-3
"""By how much the equations of a block may be missed, in all."""
FAR = 0.05
"""The gap at which it begins elsewhere, relatively."""
WORSE = 4
"""Steps in a row that better nothing, once a point is known, after which rounding has won."""
DAMPED = 1e-10
"""What is added to the system of the shared variables, so that those that do not matter stay where they are."""
SHORT = 0.99
"""Share of the way to the boundary."""
STARTS = (1.0, 0.1), (1.0, 10.0)
"""Where own variables and their reduced prices begin, and where they do if that ends badly."""


@dataclass(frozen=True, eq=False)
class Blocks:
    """Blocks of one shape: ``own`` (K, R, C), ``shared`` (K, R, L) of the variables ``places`` (K, L), and ``sides`` (K, R).

    A place that is the number of variables stands for none.
    """

    own: Floats
    shared: Floats
    places: Ints
    sides: Floats

    @property
    def work(self) -> float:
        """Multiplications of a step."""
        count, rows, columns = self.own.shape
        return float(count * rows * rows * (columns + rows + 2 * self.shared.shape[2]))

    def of_shared(self, x: Floats) -> Floats:
        """B x."""
        return np.asarray((self.shared @ x[self.places][:, :, None])[:, :, 0])


@dataclass(eq=False)
class _Iterate:
    """Own variables w, their reduced prices s, and prices y of some blocks."""

    w: Floats
    s: Floats
    y: Floats


@dataclass(frozen=True, eq=False)
class Found:
    """Shared variables, and for each group of blocks the own variables (K, C) and prices (K, R)."""

    x: Floats
    own: list[Floats]
    prices: list[Floats]
    value: float
    lost: float
    """By how much the equations of a block are missed in all, at most."""
    gap: float
    """What prices allow above the value."""


@dataclass(eq=False)
class _Newton:
    """The system of a step: factors of each group, and of the shared variables."""

    groups: list[Blocks]
    at: list[_Iterate]
    misses: list[tuple[Floats, Floats]]
    owed: Floats

    def __post_init__(self) -> None:
        width = len(self.owed)
        self._shared = DAMPED * np.eye(width)
        self._factors = []
        for group, here in zip(self.groups, self.at, strict=True):
            ratio = here.w / here.s
            system = (group.own * ratio[:, None, :]) @ group.own.transpose(0, 2, 1)
            diagonal = np.einsum("kii->ki", system)
            diagonal += 1e-14 * (1.0 + diagonal.max(axis=1, keepdims=True))
            answer = np.linalg.solve(system, group.shared)
            reduced = group.shared.transpose(0, 2, 1) @ answer
            for places, each in zip(group.places, reduced, strict=True):
                self._shared[np.ix_(places, places)] += each
            self._factors.append((ratio, system, answer))
        self._shared[-1, :] = self._shared[:, -1] = 0.0  # the place that stands for none
        self._shared[-1, -1] = 1.0

    def direction(self, aims: list[Floats]) -> tuple[Floats, list[_Iterate]]:
        """The step towards products w s that differ from now by ``aims``."""
        right, sides = -self.owed, list[Floats]()
        for group, here, (miss, dual), (ratio, _, answer), aim in zip(
            self.groups, self.at, self.misses, self._factors, aims, strict=True
        ):
            moved = aim / here.s - ratio * dual
            side = miss - (group.own @ moved[:, :, None])[:, :, 0]
            sides.append(side)
            np.add.at(right, group.places, (answer.transpose(0, 2, 1) @ side[:, :, None])[:, :, 0])
        right[-1] = 0.0
        dx: Floats = np.asarray(np.linalg.solve(self._shared, right), dtype=np.float64)
        steps = []
        for group, here, (_, dual), (_, system, _), aim, side in zip(
            self.groups, self.at, self.misses, self._factors, aims, sides, strict=True
        ):
            dy = np.linalg.solve(system, (side - group.of_shared(dx))[:, :, None])[:, :, 0]
            ds = dual - (dy[:, None, :] @ group.own)[:, 0, :]
            steps.append(_Iterate((aim - here.w * ds) / here.s, ds, dy))
        return dx, steps


def maximise(groups: list[Blocks], objective: Floats, until: float) -> Found | None:
    """The best point that was met before the clock says ``until``; None where none meets the equations.

    Examples
    --------
    >>> blocks = Blocks(np.array([[[1.0, -1.0]]]), np.array([[[1.0]]]), np.array([[0]]), np.array([[3.0]]))
    >>> maximise([blocks], np.array([0.0]), time.monotonic() + 1).lost < 1e-7
    True
    >>> bounded = Blocks(np.array([[[1.0]]]), np.array([[[1.0]]]), np.array([[0]]), np.array([[3.0]]))
    >>> round(float(maximise([bounded], np.array([1.0]), time.monotonic() + 1).x[0]), 3)  # x + w = 3
    3.0
    """
    best: Found | None = None
    for own, price in STARTS:
        found = _ascended(groups, objective, until, own, price)
        if best is None or (found is not None and found.value - found.lost > best.value - best.lost):
            best = found
        if (best is not None and best.gap < FAR * abs(best.value)) or time.monotonic() > until:
            break
    return best


def _ascended(
    groups: list[Blocks], objective: Floats, until: float, own: float, price: float
) -> Found | None:
    """The same from one start."""
    goal, x = np.append(objective, 0.0), np.zeros(len(objective) + 1)
    at = []
    for group in groups:
        flat = np.ones((len(group.own), group.own.shape[2]))
        at.append(_Iterate(own * flat, price * flat, np.zeros(group.sides.shape)))
    count = sum(here.w.size for here in at)
    best: Found | None = None
    worse = 0
    for _ in range(MOST_STEPS):
        misses, owed = list[tuple[Floats, Floats]](), -goal
        for group, here in zip(groups, at, strict=True):
            miss = group.sides - (group.own @ here.w[:, :, None])[:, :, 0] - group.of_shared(x)
            dual = -((here.y[:, None, :] @ group.own)[:, 0, :] + here.s)
            np.add.at(owed, group.places, -(here.y[:, None, :] @ group.shared)[:, 0, :])
            misses.append((miss, dual))
        lost = max(float(np.abs(miss).sum(axis=1).max()) for miss, _ in misses)
        gap, value = sum(float((here.w * here.s).sum()) for here in at), float(goal @ x)
        worse += 1
        dual_miss = max(float(np.abs(dual).max()) for _, dual in misses)
        near = lost < SOUND and gap < NEAR * max(abs(value), 1e-6) and dual_miss < 1e-6
        if lost < SOUND and (best is None or value - lost > best.value - best.lost):
            own_now, prices = [h.w.copy() for h in at], [h.y.copy() for h in at]
            best, worse = Found(x[:-1].copy(), own_now, prices, value, lost, gap), 0
        if near or not np.isfinite(value) or (best is not None and worse > WORSE) or time.monotonic() > until:
            break
        if not _moved(groups, at, x, misses, owed, gap / count):
            break
    return best


def _moved(
    groups: list[Blocks],
    at: list[_Iterate],
    x: Floats,
    misses: list[tuple[Floats, Floats]],
    owed: Floats,
    mean: float,
) -> bool:
    """Take a step, in place; whether the system could be solved."""
    try:
        newton = _Newton(groups, at, misses, owed)
        _, steps = newton.direction([-here.w * here.s for here in at])
        own, priced = (min(1.0, length) for length in _lengths(at, steps))
        products = [
            ((here.w + own * step.w) * (here.s + priced * step.s)).sum()
            for here, step in zip(at, steps, strict=True)
        ]
        centre = mean * (sum(products) / sum(here.w.size for here in at) / mean) ** 3
        aims = [centre - here.w * here.s - step.w * step.s for here, step in zip(at, steps, strict=True)]
        dx, steps = newton.direction(aims)
    except np.linalg.LinAlgError:
        return False
    own, priced = (min(1.0, SHORT * length) for length in _lengths(at, steps))
    x += own * dx
    for here, step in zip(at, steps, strict=True):
        here.w, here.s, here.y = here.w + own * step.w, here.s + priced * step.s, here.y + priced * step.y
    return True


def _lengths(at: list[_Iterate], steps: list[_Iterate]) -> tuple[float, float]:
    """How far one can go until an own variable, and a reduced price, is 0."""
    own = priced = np.inf
    for here, step in zip(at, steps, strict=True):
        falls, sinks = step.w < 0, step.s < 0
        own = min(own, float((here.w[falls] / -step.w[falls]).min(initial=np.inf)))
        priced = min(priced, float((here.s[sinks] / -step.s[sinks]).min(initial=np.inf)))
    return own, priced

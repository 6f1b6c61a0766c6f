"""One side of a private record in a binary chain: its steps, its weights and how far it reaches.

Source: Massny, Bitar, Ye, El Rouayheb, "Between Close Enough to Reveal and Far Enough to Protect".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.models import MarkovChain
from privopt.problems.redaction.data import RedactionData


@dataclass(frozen=True, eq=False)
class Side:
    """The records on one side of the private one, nearest first.

    Parameters
    ----------
    steps
        ``(m, 2, 2)``: ``steps[d-1, i, j] = Pr(X at distance d = j | X at distance d-1 = i)``. A homogeneous
        side is recognised at once when it is one row broadcast to length m.
    weights
        ``(m, 2)``: weight of the record at distance d times the probability of each of its values.
    """

    steps: Floats
    weights: Floats

    @property
    def length(self) -> int:
        """Number of records."""
        return len(self.steps)


@dataclass(frozen=True, eq=False)
class Walk:
    """A side with labels exchanged so that no step has a negative determinant.

    Walking outwards, the two labels of the next record are swapped whenever its step would have a negative
    determinant. Arrays hold one period: the record at distance d is entry ``(d - 1) % period``.

    Parameters
    ----------
    cross, back
        Probabilities of going 0 -> 1 and 1 -> 0 in each step.
    determinants
        ``1 - cross - back``, positive, computed without cancellation.
    weights
        ``(period, 2)``.
    swapped
        Where the labels are not the original ones.
    length
        Number of records that depend on the private one; what lies beyond is released for free.
    """

    cross: Floats
    back: Floats
    determinants: Floats
    weights: Floats
    swapped: NDArray[np.bool_]
    length: int

    @property
    def period(self) -> int:
        """After how many records the steps and weights repeat (the length itself if they do not)."""
        return len(self.cross)

    def index(self, distance: int) -> int:
        """Where the arrays hold the record at a distance."""
        return (distance - 1) % self.period

    def flipped(self) -> Self:
        """Both labels exchanged at every record, the private one included."""
        weights = np.ascontiguousarray(self.weights[:, ::-1])
        return type(self)(self.back, self.cross, self.determinants, weights, ~self.swapped, self.length)

    @cached_property
    def total(self) -> float:
        """Cost of redacting every record."""
        if self.length == 0:
            return 0.0
        rounds, rest = divmod(self.length, self.period)
        per_record = self.weights.sum(axis=1)
        return float(per_record.sum()) * rounds + float(per_record[:rest].sum())


def sides(data: RedactionData, private: int) -> tuple[Side, Side]:
    """Left and right of a private record, nearest record first, with weights that sum to at most 1.

    Of a stationary chain with one step and equal weights each side is one row repeated without copying it.
    """
    chain, valued, n = data.chain, data.utility_chain, data.length
    lengths = (private, n - 1 - private)
    if chain.homogeneous and chain.stationary and valued.stationary and data.weights is None:
        weights = valued.marginal(0) / n
        steps = (chain.reversed(1) if lengths[0] else np.eye(2), chain.step(0) if lengths[1] else np.eye(2))
        pairs = zip(steps, lengths, strict=True)
        left, right = (
            Side(np.broadcast_to(q, (m, 2, 2)), np.broadcast_to(weights, (m, 2))) for q, m in pairs
        )
        return left, right
    weights = valued.marginals(n) * (data.record_weights / data.record_weights.sum())[:, None]
    before, after = _backward(chain, private), _forward(chain, private, n)
    return Side(before, weights[:private][::-1]), Side(after, weights[private + 1 :])


def _forward(chain: MarkovChain, private: int, length: int) -> Floats:
    """Steps from a record to the last one."""
    if chain.homogeneous:
        return np.broadcast_to(chain.transition, (length - 1 - private, 2, 2))
    if chain.period is not None:
        return chain.transition[np.arange(private, length - 1) % chain.period]
    return chain.transition[private : length - 1]


def _backward(chain: MarkovChain, private: int) -> Floats:
    """Time-reversed steps from a record to the first one; rows of values that it never takes are zero."""
    if chain.period is not None:
        moves = chain.transition[np.arange(private) % chain.period]
    else:
        moves = chain.transition[None] if chain.homogeneous else chain.transition[:private]
    joint = (chain.marginals(private)[:, :, None] * moves).transpose(0, 2, 1)
    total = joint.sum(axis=2, keepdims=True)
    return np.asarray(np.divide(joint, total, out=np.zeros_like(joint), where=total > 0)[::-1])


def _is_constant(array: Floats) -> bool:
    return array.strides[0] == 0 or bool(np.all(array == array[0]))


def relabel(side: Side) -> Walk:
    """Exchange labels so that every determinant is non-negative, and cut where dependence ends."""
    if side.length == 0:
        none = np.empty(0)
        return Walk(none, none, none, np.empty((0, 2)), np.empty(0, dtype=bool), 0)
    constant = _is_constant(side.steps) and _is_constant(side.weights)
    rows = min(2, side.length) if constant else side.length
    steps, weights = side.steps[:rows], side.weights[:rows]
    raw = steps[:, 0, 0] - steps[:, 1, 0]
    if constant and raw[0] >= 0:
        rows, steps, weights, raw = 1, steps[:1], weights[:1], raw[:1]
    swapped = np.logical_xor.accumulate(raw < 0)
    before = np.concatenate(([False], swapped[:-1]))
    steps = np.where(before[:, None, None], steps[:, ::-1, :], steps)
    steps = np.where(swapped[:, None, None], steps[:, :, ::-1], steps)
    weights = np.where(swapped[:, None], weights[:, ::-1], weights)
    independent = np.flatnonzero(raw == 0)
    length = int(independent[0]) if len(independent) else side.length
    kept = rows if constant else length
    cut = (array[:kept] for array in (steps[:, 0, 1], steps[:, 1, 0], np.abs(raw), weights))
    cross, back, determinants, weights = (np.ascontiguousarray(array) for array in cut)
    return Walk(cross, back, determinants, weights, swapped[:kept], length)


@dataclass(frozen=True, eq=False)
class Reach:
    """What the first ``count`` distances can tell of the private record, before anything is released.

    Parameters
    ----------
    determinants
        Product of the steps' determinants up to each distance.
    cross, back
        Off-diagonal entries of the product of the steps.
    spent
        ``spent[d]`` is the cost of redacting every record nearer than distance d + 1; one longer than the rest.
    """

    determinants: Floats
    cross: Floats
    back: Floats
    spent: Floats

    @cached_property
    def leaks(self) -> Floats:
        """``(2, count)``: log Pr(X_d = v | v) / Pr(X_d = v | other v), non-increasing in d for each v."""
        # det > 0 with a zero off-diagonal entry: the other value rules this one out, an infinite ratio. So does one
        # that is too rare for a float.
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            ratios = np.stack((self.determinants / self.back, self.determinants / self.cross))
            return np.log1p(np.where(self.determinants == 0, 0.0, ratios))

    def flipped(self) -> Self:
        """Both labels exchanged."""
        return type(self)(self.determinants, self.back, self.cross, self.spent)

    def start(self, distance: int | NDArray[np.intp], budget: float | Floats) -> Floats:
        """State at a distance when nothing nearer is released.

        With ``f = (-e^c, 1) A`` for the product A of the steps, the state is ``f[1] / -f[0]``: a release of
        label 1 is allowed iff it is not positive. Two forms keep all digits for small and large budgets c.
        """
        at = np.asarray(distance) - 1
        det, cross, back = self.determinants[at], self.cross[at], self.back[at]
        e, x = np.exp(-np.asarray(budget)), -np.expm1(-np.asarray(budget))
        # Where one form ends, the other is taken; where a step next to never happens, both may divide by 0.
        with np.errstate(invalid="ignore", divide="ignore"):
            far = (e * (1 - back) - cross) / ((1 - cross) - e * back)
            near = (det - x * (1 - back)) / (det + x * back)
        state = np.where(x < 0.5, near, far)
        return np.asarray(np.where(cross == 0, np.maximum(state, 1e-300), state), dtype=np.float64)

    def budget(self, distance: int, state: Floats) -> Floats:
        """Budget that leads to a state: the inverse of :meth:`start`; inf where only one without limit does."""
        det, back = float(self.determinants[distance - 1]), float(self.back[distance - 1])
        with np.errstate(divide="ignore"):
            return -np.log1p(-np.minimum(det * (1 - state) / ((1 - back) + state * back), 1.0))

    def start_slope(self, distance: int, budget: float) -> float:
        """Derivative of :meth:`start` in the budget."""
        det, back = float(self.determinants[distance - 1]), float(self.back[distance - 1])
        return float(-np.exp(-budget) * det / (det - np.expm1(-budget) * back) ** 2)


def reach(walk: Walk, count: int) -> Reach:
    """Product of the first ``count`` steps and cost of redacting them."""
    count = min(count, walk.length)
    index = np.arange(count) % max(walk.period, 1)
    spent = np.concatenate(([0.0], np.cumsum(walk.weights.sum(axis=1)[index])))
    if walk.period == 1 and count > 0:
        cross, back, det = (float(array[0]) for array in (walk.cross, walk.back, walk.determinants))
        distances = np.arange(1, count + 1)
        change = cross + back
        log_det = np.log1p(-change) if change < 0.5 else np.log(det)
        mixed = -np.expm1(distances * log_det) / change if change > 0 else np.zeros(count)
        return Reach(np.power(det, distances, dtype=np.float64), cross * mixed, back * mixed, spent)
    crossed, backed = np.empty(count), np.empty(count)
    p, q = 0.0, 0.0
    for d, i in enumerate(index.tolist()):
        a, b = float(walk.cross[i]), float(walk.back[i])
        # Sums of non-negative terms only: no digits are lost however far the walk goes.
        p, q = (1 - p) * a + p * (1 - b), q * (1 - a) + (1 - q) * b
        crossed[d], backed[d] = p, q
    return Reach(np.cumprod(walk.determinants[index], dtype=np.float64), crossed, backed, spent)

"""What one side of a target adds to its leakage, with 0, 1, 2, ... records on that side.

Given the target, the sides of a Markov chain are independent, and what lies beyond the nearest known record of a side
is irrelevant. An adversary of a side therefore either knows nothing of it or the value of one nearest known record.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.measures.bayesian._kernels import Weights

SETTLED = 1e-14
"""Relative change of everything in one step or in two below which later steps are taken to change nothing."""
SWAYS = 1e-10
"""Relative change in one step that may remain where two steps change nothing: a chain that nearly alternates."""


class Rule(Protocol):
    """How the value of an adversary changes when the target moves one record away from what is known."""

    def start(self, count: int, states: int) -> Floats:
        """Values of adversaries with no unknown record between the target and what they know."""
        ...

    def advance(self, kernel: Floats, values: Floats, supported: NDArray[np.bool_], depth: int) -> Floats:
        """Values with one more unknown record; ``supported`` is of the record before."""
        ...

    def ratios(self, values: Floats) -> Floats:
        """Ratio for two values of the target, shape (m, s, s)."""
        ...


@dataclass
class Front:
    """The adversaries of one side: the first knows nothing; ``lasting`` ones stand for those yet to come too."""

    weights: Weights
    values: Floats
    lasting: NDArray[np.bool_]
    tables: list[Floats]
    best: Floats
    settled: bool = False

    def after(self, depth: int) -> Floats:
        """Largest ratios with `depth` records on this side, 0 for a pair that is impossible."""
        return self.tables[min(depth, len(self.tables) - 1)]


def walk(
    steps: Iterator[Weights], first: Weights, rule: Rule, same: bool, tolerance: float = SETTLED
) -> Front:
    """Follow the adversaries of a side until its records end or nothing changes.

    Parameters
    ----------
    steps : iterator of weights (s, s)
        For each record in turn, how likely the one before is u when the new one is x, up to a factor.
    first : weights (1, s)
        Weights of the first record of the side without knowledge: its law on the left, ones on the right.
    rule : Rule
    same : bool
        Whether the steps are all equal.
    tolerance : float
        Relative change below which nothing is taken to change.
    """
    s = first.mantissa.shape[1]
    weights, values = first, rule.start(1, s)
    none = np.zeros((s, s))
    front = Front(weights, values, np.zeros(1, dtype=np.bool_), [], none)
    front.tables.append(_table(front, rule))
    newcomers, past = True, [(np.zeros((0, s, s)), values)] * 2
    for depth, step in enumerate(steps):
        supported = front.weights.supported
        kernel, further = front.weights.step(step)
        values = rule.advance(kernel, front.values, supported, depth)
        front.settled = same and not newcomers and _settled((kernel, values), past, tolerance)
        front.weights, front.values, past = further, values, [past[1], (kernel, values)]
        if newcomers:
            lasting = same and bool((further.supported[0] == supported[0]).all())
            _admit(front, step, supported[0], rule, lasting)
            newcomers = not lasting
        front.tables.append(_table(front, rule))
        if front.settled or not np.isfinite(front.tables[-1]).all():
            break
    return front


def _admit(front: Front, step: Weights, possible: NDArray[np.bool_], rule: Rule, lasting: bool) -> None:
    """Add the adversaries who know the neighbour of the new record."""
    fresh = Weights(step.mantissa[:, possible], step.exponent[:, possible]).T
    front.weights = front.weights.joined(fresh)
    count = len(fresh.mantissa)
    front.values = np.concatenate([front.values, rule.start(count, len(step.mantissa))])
    front.lasting = np.concatenate([front.lasting, np.full(count, lasting)])


def _table(front: Front, rule: Rule) -> Floats:
    supported = front.weights.supported
    pairs = supported[:, :, None] & supported[:, None, :]
    ratios = np.where(pairs, rule.ratios(front.values), 0.0)
    ratios[np.isnan(ratios)] = np.inf
    if front.lasting.any():
        front.best = np.maximum(front.best, ratios[front.lasting].max(axis=0))
    # The nearer known records count wherever the target can be at all.
    allowed = supported[0][:, None] & supported[0][None, :]
    return np.where(allowed, np.maximum(ratios.max(axis=0), front.best), 0.0)


def _settled(now: tuple[Floats, Floats], past: list[tuple[Floats, Floats]], tolerance: float) -> bool:
    """Whether kernel and values are those of the step before, or nearly so and those of two steps before."""
    before, last = past
    return _close(now, last, tolerance) or (_close(now, last, SWAYS) and _close(now, before, tolerance))


def _close(new: tuple[Floats, Floats], old: tuple[Floats, Floats], tolerance: float) -> bool:
    return all(
        one.shape == other.shape and bool((np.abs(one - other) <= tolerance * np.abs(other)).all())
        for one, other in zip(new, old, strict=True)
    )

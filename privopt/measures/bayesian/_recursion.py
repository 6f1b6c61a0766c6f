"""The step of the recursion for Markov chains, as a rule for walking along a side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.errors import InvalidProblem
from privopt.measures.bayesian._coarse import CoarseStep
from privopt.measures.bayesian._rays import MOST_STATES, ray_step

StepName: TypeAlias = Literal["best", "lp", "coarse"]

MOST = 1e250
"""A ratio above this many is given up, and counts as inf."""


@dataclass(frozen=True, slots=True)
class Recursion:
    """Bounds G(x, x') on E[f | x] / E[f | x'] for f whose logarithm changes by at most tau per changed record.

    ``growth`` is e**tau. With ``outward`` 1 each step is enlarged by more than its rounding errors, with -1 it is
    made less by them: everything is a sum, product or quotient of positive floats, so that each operation errs by
    at most a factor 1 + 2^-53. What underflows does not count: F differs by at most a factor 1e250, and a lost
    probability is below 2^-1073.
    """

    growth: float
    step: Callable[[Floats, Floats], Floats]
    outward: int = 0

    def start(self, count: int, states: int) -> Floats:
        """Without unknown records there is nothing to leak."""
        return np.ones((count, states, states))

    def advance(self, kernel: Floats, values: Floats, supported: NDArray[np.bool_], depth: int) -> Floats:
        """G of the next depth from the kernel and G of this one."""
        change = changes(values, supported, self.growth)
        if change.max() > MOST:
            if self.outward >= 0:
                return np.full_like(values, np.inf)
            change = np.minimum(change, MOST)
        possible = kernel.max(axis=2) > 0
        ratios = np.where(possible[:, :, None] & possible[:, None, :], self.step(kernel, change), 1.0)
        if self.outward == 0:
            return ratios
        return np.maximum(ratios * (1.0 + self.outward * rounding(depth, kernel.shape[1])), 1.0)

    def ratios(self, values: Floats) -> Floats:
        """G itself."""
        return values


def changes(values: Floats, supported: NDArray[np.bool_], growth: float) -> Floats:
    """Factors C_uv = e^tau G_uv by which a function of the records from the next one on may change.

    Impossible states get the largest factor, so that they restrict nothing.
    """
    pairs = supported[:, :, None] & supported[:, None, :]
    with np.errstate(over="ignore"):  # an infinite change is given up, or made less
        change = values * growth
    top = np.where(pairs, change, growth).max(axis=(1, 2), keepdims=True)
    change = np.where(pairs, change, top)
    diagonal = np.arange(values.shape[1])
    change[:, diagonal, diagonal] = 1.0
    return change


def rounding(depth: int, s: int) -> float:
    """A bound on the relative rounding error of one step.

    The weights after d steps err by d (s + 1) roundings, a kernel by twice that and s + 8, a ray by 2 s, a mean by
    s + 1 more, a ratio by twice all this; the change and the enlargement add a few.
    """
    return (4.0 * (depth + 1) * (s + 1) + 8.0 * s + 40.0) * 2.0**-53


def chosen_step(name: StepName, s: int) -> Callable[[Floats, Floats], Floats]:
    """The step of that name for s states.

    Raises
    ------
    InvalidProblem
        If the exact step is asked for with too many states, or there is no such step.
    """
    if name not in ("best", "lp", "coarse"):
        raise InvalidProblem(f"step must be 'best', 'lp' or 'coarse', got {name!r}")
    if name == "lp" and s > MOST_STATES:
        raise InvalidProblem(f"step='lp' takes at most {MOST_STATES} states, got {s}: use 'coarse'")
    return CoarseStep() if name == "coarse" or s > MOST_STATES else ray_step

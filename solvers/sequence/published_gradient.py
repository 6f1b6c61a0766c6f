"""Baseline: the descent of the paper on sequence information privacy, which stops short of the optimum."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.mechanisms.policy.rules import Setting, register_rule
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
from privopt.solvers.sequence._unenforced import (
    NOT_SQUARE,
    releases_letters,
    setting_of,
    unenforced,
)

STEP, SWEEPS, ROUNDING = 0.1, 100, 1e-12


def descend(beliefs: Floats, cost: Floats, epsilon: float) -> Floats:
    """Kernels found by coordinate descent from the uniform one, shape (M, n, m).

    Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information Privacy", Algorithm 2, which as printed
    compares a posterior with bounds on ratios, and so stops where it starts. The readings chosen here:

    * the test is on the ratio a(r | o) / Q(r), for every possible word o and every release r;
    * a step goes down: the objective is a cost;
    * a step of ``STEP`` times the derivative is cut at 0, and the row divided by its sum;
    * a step that breaks a bound is taken back, and its coordinate stays as it is from then on;
    * coordinates whose derivative is 0, or that are 0, move no more; after ``SWEEPS`` sweeps it ends in any case.

    Frozen coordinates keep it away from the optimum: the order of the coordinates decides where it ends.

    Parameters
    ----------
    beliefs : array (M, n)
    cost : array (n, m)
    epsilon : float
        Nats.

    Examples
    --------
    >>> found = descend(np.array([[0.5, 0.5]]), 1.0 - np.eye(2), 0.5)[0]
    >>> found.sum(axis=1).round(12).tolist(), bool((found / found.mean(axis=0)).max() <= np.exp(0.5) + 1e-9)
    ([1.0, 1.0], True)
    """
    many, (n, m) = len(beliefs), cost.shape
    kernel = np.full((many, n, m), 1.0 / m)
    law = np.full((many, m), 1.0 / m)
    slope = beliefs[:, :, None] * cost
    active = slope > 0
    for _ in range(SWEEPS):
        if not active.any():
            break
        for o in range(n):
            for r in range(m):
                if active[:, o, r].any():
                    _move(kernel, law, active, beliefs, slope, (o, r), epsilon)
    return kernel


def _move(
    kernel: Floats,
    law: Floats,
    active: NDArray[np.bool_],
    beliefs: Floats,
    slope: Floats,
    at: tuple[int, int],
    epsilon: float,
) -> None:
    """One step of one coordinate in every kernel where it may still move, in place."""
    o, r = at
    row = kernel[:, o].copy()
    row[:, r] = np.maximum(row[:, r] - STEP * slope[:, o, r], 0.0)
    row /= row.sum(axis=1, keepdims=True)
    after = law + beliefs[:, o, None] * (row - kernel[:, o])
    trial = kernel.copy()
    trial[:, o] = row
    low, high = math.exp(-epsilon) * (1.0 - ROUNDING), math.exp(min(epsilon, 700.0)) * (1.0 + ROUNDING)
    within = (trial >= low * after[:, None, :]) & (trial <= high * after[:, None, :])
    taken = (within | (beliefs <= 0)[:, :, None]).all(axis=(1, 2)) & active[:, o, r]
    kernel[taken], law[taken] = trial[taken], after[taken]
    active[:, o, r] = taken & (kernel[:, o, r] > 0)


MOST = 16


@dataclass(frozen=True)
class PublishedGradientRule:
    """Coordinates that descend until a bound stops them."""

    name: str = "published-gradient"

    def propose(self, setting: Setting, beliefs: Floats) -> Floats:
        """Kernels for beliefs (M, n), shape (M, n, n)."""
        return descend(beliefs, setting.cost, setting.epsilon)


RULE = register_rule(PublishedGradientRule())


@register
@dataclass(frozen=True)
class PublishedGradient(Solver[SequenceInformationPrivacy]):
    """Coordinate descent from the uniform kernel at every belief; :mod:`._descent` states each reading of what is printed.

    Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information Privacy", Algorithm 2. It is said to find the
    global optimum; a coordinate that a bound has stopped never moves again, and so it does not.
    """

    solves: ClassVar = SequenceInformationPrivacy
    name: ClassVar[str] = "published-gradient"
    repairable: ClassVar[bool] = False
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BASELINE
    """Published, and kept for comparison."""

    def cost(self, problem: SequenceInformationPrivacy) -> float:
        """Every coordinate, every sweep, many beliefs at once."""
        return 1e-2 + 3e-5 * SWEEPS * len(setting_of(problem).inputs) ** 2

    def refuse(self, problem: SequenceInformationPrivacy) -> str | None:
        """Refuse releases that are not the letters, and more than 16 words."""
        if not releases_letters(problem):
            return NOT_SQUARE
        count = len(setting_of(problem).inputs)
        if count > MOST:
            return f"it moves one coordinate at a time, {MOST} inputs at most; this question has {count}"
        return None

    def run(self, problem: SequenceInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the policy of the descent."""
        return unenforced(problem, RULE, {"sweeps_at_most": SWEEPS})

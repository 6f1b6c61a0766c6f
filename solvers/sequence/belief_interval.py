"""Neighbouring letters share a release: the best split of a line into intervals, by dynamic programming."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.mechanisms.policy.hamming_cases import Levels
from privopt.problems.belief_release.problem import BeliefRelease
from privopt.solvers.sequence._level import LARGEST, level, priced, unbound

PIECES = 8
"""Letters heavier than theta / PIECES are cut into equal parts, at most twice as many."""

ROUNDING = 1e-12
"""How far below theta, relatively, a group may weigh and still count: repair makes up for it."""

MAX_STEPS = 2e9


@register
@dataclass(frozen=True)
class Interval(Solver[BeliefRelease]):
    """Groups of neighbouring letters of mass at least theta, each with the release that is best for it.

    Sending groups of mass theta or more to one release each keeps the bounds. On a line the groups are intervals, and
    the best split is a shortest path over prefixes. A restriction: the prices of the groups bound what it loses.
    """

    solves: ClassVar = BeliefRelease
    name: ClassVar[str] = "interval"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BOUNDED
    """Private, with a bound from its own prices."""

    def cost(self, problem: BeliefRelease) -> float:
        """A pass over pairs of prefixes and releases."""
        return 1e-3 + 3e-9 * _steps(problem)

    def refuse(self, problem: BeliefRelease) -> str | None:
        """Refuse what is not a line, or is too long a one."""
        if problem.distortion not in ("l1", "squared"):
            return 'it needs letters on a line: distortion "l1" or "squared"'
        if (steps := _steps(problem)) > MAX_STEPS:
            return f"it would take {steps:.0e} steps, more than {MAX_STEPS:.0e}"
        return None

    def run(self, problem: BeliefRelease, budget: Budget) -> Proposal:
        """Propose the best split."""
        known = unbound(problem, {"iterations": 0, "groups": 1})
        if known is not None:
            return known
        levels, p = Levels.of(level(problem)), problem.p
        atoms, mass = _atoms(problem, levels.theta)
        means = p @ problem.matrix
        worth = mass[:, None] * (levels.room * problem.matrix[atoms] + levels.low * means)
        ends, outputs = _split(mass, worth, levels.theta * (1 - ROUNDING))
        kernel = np.zeros(problem.matrix.shape)
        begin = 0
        for end, output in zip(ends, outputs, strict=True):
            np.add.at(kernel[:, output], atoms[begin:end], mass[begin:end])
            begin = end
        kernel[p == 0] = kernel.sum(axis=0)
        kernel /= kernel.sum(axis=1, keepdims=True)
        matrix = levels.room * kernel + levels.low * (p @ kernel)
        lam = (kernel * problem.matrix).sum(axis=1) + levels.low / levels.room * (kernel @ means)
        return priced(problem, matrix, lam, {"iterations": len(atoms), "groups": len(ends)})


def _steps(problem: BeliefRelease) -> float:
    """Pairs of prefixes times releases."""
    seen, theta = len(problem.support), Levels.of(min(problem.budget, LARGEST)).theta
    return float(min(2 * PIECES * seen, seen + PIECES / theta) ** 2 * seen)


def _atoms(problem: BeliefRelease, theta: float) -> tuple[NDArray[np.int64], Floats]:
    """Letters in the order of the line, heavy ones repeated, and the mass of each part."""
    places = [float(problem.letters[x]) for x in problem.support]  # pyright: ignore[reportArgumentType] - numbers, as the question checked
    order = problem.support[np.argsort(places, kind="stable")]
    p = problem.p[order]
    parts = np.ceil(np.minimum(p / theta * PIECES, 2 * PIECES)).astype(np.int64).clip(1)
    return np.repeat(order, parts), np.repeat(p / parts, parts)


def _split(mass: Floats, worth: Floats, least: float) -> tuple[list[int], list[int]]:
    """Ends and releases of the cheapest groups of neighbours that weigh at least ``least``."""
    weights = np.concatenate([[0.0], np.cumsum(mass)])
    sums = np.vstack([np.zeros(worth.shape[1]), np.cumsum(worth, axis=0)])
    total = len(mass)
    best, came = np.full(total + 1, np.inf), np.zeros(total + 1, dtype=np.int64)
    best[0] = 0.0
    for end in range(1, total + 1):
        starts = int(np.searchsorted(weights, weights[end] - least, side="right"))
        if starts == 0:
            continue
        costs = best[:starts] + (sums[end] - sums[:starts]).min(axis=1)
        came[end] = int(np.argmin(costs))
        best[end] = costs[came[end]]
    ends: list[int] = []
    outputs: list[int] = []
    end = total
    while end > 0:
        ends.append(end)
        outputs.append(int(np.argmin(sums[end] - sums[came[end]])))
        end = int(came[end])
    return ends[::-1], outputs[::-1]

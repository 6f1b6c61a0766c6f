"""The multi-step mechanism: the optimal channel of a coarse grid, then that of a finer one inside the cell it released."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.metric_privacy.problem import MetricPrivacy
from privopt.solvers.metric_privacy._parts import FARTHEST, Answer, Part
from privopt.solvers.metric_privacy._program import solve_part
from privopt.solvers.metric_privacy.baselines import SMALLEST, remapped

MOST_CELLS = 10_000
"""Cells of the finest grid."""

REACH = 60
"""Cells from the own one as far as the probability of staying in it is summed."""


@register
@dataclass(frozen=True)
class MultiStep(Solver[MetricPrivacy]):
    """Baseline: the multi-step mechanism over a hierarchy of grids, its cells turned into the outputs of least expected loss.

    A square around the points has cells by cells children, and so has each of these. At every step the channel of least
    expected distance between the middles of the children releases one of them at the budget of the step, and the next step
    is inside it; a point outside counts as the child nearest to it. A step has the budget at which noise with weights
    e^(-epsilon distance) stays in its cell with a given probability; the last for which there is enough has the rest.

    Points count as the middles of their cells, so that two points on both sides of a line between cells are set apart by
    more than is promised, until the answer is repaired.

    Source: Ahuja, Ghinita, Shahabi, "A utility-preserving and scalable technique for protecting location data with
    geo-indistinguishability".

    Parameters
    ----------
    cells : int
        Children of a cell along each side, at least 2.
    stay : float
        Probability of staying in the cell, in [0.3, 1).
    """

    solves: ClassVar = MetricPrivacy
    name: ClassVar[str] = "multi-step"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BASELINE

    cells: int = 3
    stay: float = 0.95

    def cost(self, problem: MetricPrivacy) -> float:
        """A small program for each cell, and a table of points by the finest cells."""
        if self.refuse(problem) is not None:
            return 0.0
        places = _places(problem)
        children, steps = self.cells ** places.shape[1], len(self._budgets(problem))
        programs = (children**steps - 1) // (children - 1)
        return float(
            0.01
            + 2e-6 * programs * children**3
            + 3e-9 * len(places) * children**steps * problem.losses.shape[1]
        )

    def refuse(self, problem: MetricPrivacy) -> str | None:
        """Refuse points that are in no plane, and budgets without a grid."""
        places = problem.metric.places
        if problem.metric.kind != "euclidean" or places is None or places.shape[1] > 2:
            return "its grids are on a line or a plane: give Metric.euclidean(points) with one or two coordinates"
        if problem.epsilon < SMALLEST:
            return "at a budget of next to 0 it has no step"
        return "an infinite budget needs no steps" if problem.epsilon == math.inf else None

    def run(self, problem: MetricPrivacy, budget: Budget) -> Proposal:
        """Propose it; cells for which there is no time are not divided."""
        places = _places(problem)
        low, extent = places.min(axis=0), float(np.ptp(places, axis=0).max())
        if extent == 0:
            return Proposal(problem.constant())
        # the outermost points are in the middle of the outermost cells
        side = extent * self.cells / (self.cells - 1)
        low = low - side / (2 * self.cells)
        walk = _Walk(problem, places, self.cells, self._budgets(problem), budget)
        walk.into(low, side, np.ones(len(places)), 0)
        total = walk.matrix.sum(axis=1, keepdims=True)
        stats: dict[str, float | int | str] = {"steps": len(walk.budgets), "programs": walk.programs}
        return Proposal(problem.answer(walk.matrix / total), stats=stats)

    def _budgets(self, problem: MetricPrivacy) -> list[float]:
        """Nats per unit of distance of every step."""
        places = _places(problem)
        dimensions, extent = places.shape[1], float(np.ptp(places, axis=0).max())
        side = extent / (self.cells - 1)
        return budgets(problem.epsilon, side, self.cells, dimensions, self.stay)


def _places(problem: MetricPrivacy) -> Floats:
    assert problem.metric.places is not None
    return problem.metric.places


def budgets(epsilon: float, side: float, cells: int, dimensions: int, stay: float) -> list[float]:
    """The budgets of the steps, coarse ones first: they add up to epsilon.

    Parameters
    ----------
    epsilon : float
    side : float
        Of a cell of the first grid.
    cells, dimensions : int
    stay : float
        Probability of staying in the own cell.

    Examples
    --------
    >>> [round(level, 3) for level in budgets(5.0, 9.0, 3, 2, 0.8)]
    [0.344, 1.031, 3.626]
    >>> budgets(0.1, 9.0, 3, 2, 0.8)
    [0.1]
    """
    needed = staying(stay, dimensions) / max(side, 1e-300)
    steps: list[float] = []
    left = epsilon
    while needed <= left and cells ** (dimensions * (len(steps) + 1)) <= MOST_CELLS:
        steps.append(needed)
        left -= needed
        needed *= cells
    return [*steps[:-1], steps[-1] + left] if steps else [epsilon]


def staying(stay: float, dimensions: int) -> float:
    """Nats from a cell to the next at which noise of weights e^(-nats distance) stays in its cell with a probability.

    Examples
    --------
    >>> round(math.exp(-staying(0.6, 1)), 6)  # (1 - e^-t) / (1 + e^-t) = 0.6
    0.25
    """
    from scipy.optimize import brentq

    axis = np.arange(-REACH, REACH + 1)
    apart = np.abs(axis) if dimensions == 1 else np.hypot(axis[:, None], axis)
    return float(brentq(lambda nats: float(np.exp(-nats * apart).sum()) - 1.0 / stay, 1e-3, 700.0))


class _Walk:
    """From the whole square to the finest cells, with what every point adds to each."""

    def __init__(
        self, problem: MetricPrivacy, places: Floats, cells: int, levels: list[float], budget: Budget
    ) -> None:
        self.problem, self.places, self.cells, self.budgets, self.budget = (
            problem,
            places,
            cells,
            levels,
            budget,
        )
        self.matrix = np.zeros(problem.losses.shape)
        self.programs = 0
        axis = np.arange(cells) + 0.5
        grid = np.meshgrid(*[axis] * places.shape[1], indexing="ij")
        self._middles = np.stack([part.ravel() for part in grid], axis=1)
        self._apart = np.sqrt(((self._middles[:, None] - self._middles[None]) ** 2).sum(axis=2))

    def into(self, low: Floats, side: float, reached: Floats, step: int) -> None:
        """Divide a cell, which each point reached with a probability."""
        width = side / self.cells
        at = np.clip(np.floor((self.places - low) / width), 0, self.cells - 1).astype(np.int64)
        child = np.ravel_multi_index(tuple(at.T), (self.cells,) * at.shape[1])
        likely = np.bincount(child, self.problem.p * reached, minlength=len(self._middles)).astype(np.float64)
        table = self._channel(likely, width, self.budgets[step])
        if table is None:
            self.matrix += remapped(self.problem, reached[:, None])
            return
        kernel = reached[:, None] * table[child]
        if step + 1 == len(self.budgets):
            self.matrix += remapped(self.problem, kernel)
            return
        for k, middle in enumerate(self._middles):
            self.into(low + (middle - 0.5) * width, width, kernel[:, k], step + 1)

    def _channel(self, likely: Floats, width: float, epsilon: float) -> Floats | None:
        """The channel of least expected distance between children; None where the time ends first."""
        count = len(likely)
        if self.budget.remaining <= 0:
            return None
        first, second = np.nonzero(np.triu(epsilon * width * self._apart <= FARTHEST, 1))
        growth = np.exp(epsilon * width * self._apart[first, second])
        part = Part(
            np.arange(count),
            np.concatenate([first, second]),
            np.concatenate([second, first]),
            np.concatenate([growth, growth]),
            likely[:, None] * self._apart / max(1e-300, float(likely.sum())),
        )
        answer = Answer(np.full((count, count), 1.0 / count))
        self.programs += 1
        return answer.matrix if solve_part(part, answer, self.budget) else None

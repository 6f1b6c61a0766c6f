"""Published mechanisms for comparison: exponential, planar Laplace, planar geometric, geometric on a line."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.metric_privacy.problem import MetricPrivacy

MOST_CELLS = 40_000
"""Cells of the plane into which continuous or lattice noise falls."""

BLOCK = 2**22
"""Probabilities of cells that are held at a time."""

FINEST = 0.25
"""Side of a cell of planar Laplace noise, in 1/epsilon."""

TAIL = 40.0
"""Nats from the outermost points to the edge of the lattice: what falls beyond is below rounding."""

NEAR = 1e-9
"""How far points may be off a lattice, in its steps."""

LAPLACE_TAIL = 12.0
"""The same for planar Laplace noise, whose remainder goes to the nearest cells."""

COARSEST = 400.0
"""Width of a cell, in scales of the noise, beyond which no density of a point may be left in the middle of any cell."""

SMALLEST = 1e-150
"""Least budget, per unit of distance, of planar Laplace noise."""


def remapped(problem: MetricPrivacy, kernel: Floats) -> Floats:
    """Every cell of a kernel, shape (n, c), turned into the output of least expected loss given it; shape (n, m).

    Post-processing costs no privacy, and none of a kernel is better than this.

    Examples
    --------
    >>> from privopt.models.metric import Metric
    >>> two = MetricPrivacy(Metric.line(2), [0.9, 0.1], "distance", 1.0)
    >>> remapped(two, np.array([[0.75, 0.25], [0.25, 0.75]])).tolist()
    [[1.0, 0.0], [1.0, 0.0]]
    """
    best = ((problem.p[:, None] * kernel).T @ problem.losses).argmin(axis=1)
    return _gathered(kernel, best, problem.losses.shape[1])


def _gathered(kernel: Floats, best: Ints, outputs: int) -> Floats:
    matrix = np.zeros((len(kernel), outputs))
    order = np.argsort(best, kind="stable")
    used, starts = np.unique(best[order], return_index=True)
    matrix[:, used] = np.add.reduceat(kernel[:, order], starts, axis=1)
    return matrix


def _normalised(matrix: Floats) -> Floats:
    return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))


def lattice_step(places: Floats | None) -> float | None:
    """The step of the square lattice on which points in one or two dimensions lie; None if on none.

    Examples
    --------
    >>> lattice_step(np.array([[0.0], [2.0], [6.0]])), lattice_step(np.array([[0.0], [1.0], [math.sqrt(2)]]))
    (2.0, None)
    """
    if places is None or places.shape[1] > 2:
        return None
    apart = np.abs(np.diff(np.sort(places, axis=0), axis=0))
    size = float(np.abs(places).max(initial=0.0))
    least = apart[apart > NEAR * size].min(initial=math.inf)
    if least == math.inf:
        return None
    counts = (places - places.min(axis=0)) / least
    return float(least) if bool(np.allclose(counts, np.round(counts), rtol=0.0, atol=NEAR)) else None


@register
@dataclass(frozen=True)
class Exponential(Solver[MetricPrivacy]):
    """Baseline: the exponential mechanism, each output with weight e^(-epsilon distance / 2).

    Source: McSherry, Talwar, "Mechanism design via differential privacy".

    Parameters
    ----------
    remap : bool
        Whether each release is then turned into the output of least expected loss.
    """

    solves: ClassVar = MetricPrivacy
    name: ClassVar[str] = "exponential"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE

    remap: bool = False

    def cost(self, problem: MetricPrivacy) -> float:
        """A pass over the table."""
        return 1e-3 + 2e-8 * problem.losses.size

    def refuse(self, problem: MetricPrivacy) -> str | None:
        """Refuse outputs without a place."""
        if problem.apart is None:
            return "its outputs have no place, so no point is at a distance from them"
        return _finite(problem)

    def run(self, problem: MetricPrivacy, budget: Budget) -> Proposal:
        """Propose it."""
        assert problem.apart is not None
        nearest = problem.apart.min(axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):
            weights = np.exp(
                -0.5 * problem.epsilon * (problem.apart - np.where(np.isfinite(nearest), nearest, 0.0))
            )
        weights = np.where(np.isfinite(nearest), weights, 1.0)
        kernel = _normalised(weights)
        return Proposal(problem.answer(remapped(problem, kernel) if self.remap else kernel))


def _finite(problem: MetricPrivacy) -> str | None:
    return "an infinite budget needs no noise" if problem.epsilon == math.inf else None


def _cells(places: Floats, epsilon: float) -> tuple[Floats, Floats, float]:
    """Both corners of what the noise around some places reaches, and the side of the cells that fill it."""
    scale = 1.0 / epsilon
    low, high = places.min(axis=0) - LAPLACE_TAIL * scale, places.max(axis=0) + LAPLACE_TAIL * scale
    return low, high, max(FINEST * scale, float(np.prod(high - low) / MOST_CELLS) ** (1 / places.shape[1]))


@register
@dataclass(frozen=True)
class PlanarLaplace(Solver[MetricPrivacy]):
    """Baseline: planar Laplace noise, its cells turned into the outputs of least expected loss.

    The density around x is proportional to e^(-epsilon |z - x|); in one dimension it is Laplace noise. Cells are squares
    of a side of at most 1/(4 epsilon) where there are not too many, each with the density in its middle.

    Source: Andrés, Bordenabe, Chatzikokolakis, Palamidessi, "Geo-indistinguishability"; Chatzikokolakis, ElSalamouny,
    Palamidessi, "Efficient utility improvement for location privacy" (optimal remapping).
    """

    solves: ClassVar = MetricPrivacy
    name: ClassVar[str] = "planar-laplace"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE

    def cost(self, problem: MetricPrivacy) -> float:
        """A table of points by cells, and its product with the losses."""
        return 0.01 + 3e-8 * len(problem.metric) * MOST_CELLS

    def refuse(self, problem: MetricPrivacy) -> str | None:
        """Refuse points that are in no plane, and budgets of 0."""
        if (
            problem.metric.kind != "euclidean"
            or problem.metric.places is None
            or problem.metric.places.shape[1] > 2
        ):
            return (
                "its noise is on a line or a plane: give Metric.euclidean(points) with one or two coordinates"
            )
        if problem.epsilon == 0:
            return "at a budget of 0 its noise is without end"
        if problem.epsilon < SMALLEST:
            return f"below a budget of {SMALLEST:g} its noise reaches beyond what can be squared in floats"
        if problem.epsilon == math.inf:
            return _finite(problem)
        if _cells(problem.metric.places, problem.epsilon)[2] * problem.epsilon > COARSEST:
            return f"its noise is too fine for {MOST_CELLS} cells over all the points"
        return None

    def run(self, problem: MetricPrivacy, budget: Budget) -> Proposal:
        """Propose it."""
        assert problem.metric.places is not None
        places = problem.metric.places - problem.metric.places.min(axis=0)
        low, high, side = _cells(places, problem.epsilon)
        axes = [np.arange(a + side / 2, b + side / 2, side) for a, b in zip(low, high, strict=True)]
        cells = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
        matrix = np.zeros(problem.losses.shape)
        total = np.zeros(len(places))
        for begin in range(0, len(cells), max(1, BLOCK // len(places))):
            block = cells[begin : begin + max(1, BLOCK // len(places))]
            kernel = np.exp(-problem.epsilon * np.sqrt(((places[:, None] - block[None]) ** 2).sum(axis=2)))
            total += kernel.sum(axis=1)
            matrix += remapped(problem, kernel)
        # the sum over cells is nearly that over the plane, the same for all: dividing by each row's own costs little
        return Proposal(problem.answer(_normalised(matrix / total[:, None])))


@register
@dataclass(frozen=True)
class PlanarGeometric(Solver[MetricPrivacy]):
    """Baseline: geometric noise on the lattice of the points, its cells turned into the outputs of least expected loss.

    A cell z of the whole lattice has weight e^(-epsilon d(x, z)), whose sum is the same for every x.

    Source: Chatzikokolakis, ElSalamouny, Palamidessi, "Efficient utility improvement for location privacy".
    """

    solves: ClassVar = MetricPrivacy
    name: ClassVar[str] = "planar-geometric"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE

    def cost(self, problem: MetricPrivacy) -> float:
        """A table of points by cells."""
        return 0.01 + 3e-8 * len(problem.metric) * MOST_CELLS

    def refuse(self, problem: MetricPrivacy) -> str | None:
        """Refuse points that are on no lattice, and lattices with too many cells."""
        if (
            problem.metric.kind == "great_circle"
            or problem.metric.kind == "matrix"
            or problem.metric.places is None
        ):
            return "its noise is on a lattice: give Metric.line or Metric.grid, or Euclidean points on one"
        if problem.epsilon == 0:
            return "at a budget of 0 its noise is without end"
        step = lattice_step(problem.metric.places)
        if step is None:
            return "the points lie on no lattice of squares in one or two dimensions"
        if TAIL > problem.epsilon * step * MOST_CELLS:
            return f"its noise reaches more than {MOST_CELLS} cells of the lattice at this budget"
        if _finite(problem) is None and len(_lattice(problem, step)) > MOST_CELLS:
            return f"its noise reaches more than {MOST_CELLS} cells of the lattice at this budget"
        return _finite(problem)

    def run(self, problem: MetricPrivacy, budget: Budget) -> Proposal:
        """Propose it."""
        places, step = problem.metric.places, lattice_step(problem.metric.places)
        assert places is not None
        assert step is not None
        cells = _lattice(problem, step)
        matrix = np.zeros(problem.losses.shape)
        for begin in range(0, len(cells), max(1, BLOCK // len(places))):
            apart = np.abs(places[:, None] - cells[None, begin : begin + max(1, BLOCK // len(places))])
            reach = (
                np.sqrt((apart**2).sum(axis=2)) if problem.metric.kind == "euclidean" else apart.sum(axis=2)
            )
            matrix += remapped(problem, np.exp(-problem.epsilon * reach))
        return Proposal(problem.answer(_normalised(matrix)))


def _lattice(problem: MetricPrivacy, step: float) -> Floats:
    """The cells of the lattice around the points, as far as noise reaches."""
    places = problem.metric.places
    assert places is not None
    reach = math.ceil(TAIL / (problem.epsilon * step))
    low = places.min(axis=0)
    sizes = np.round((places.max(axis=0) - low) / step).astype(int) + 2 * reach + 1
    if float(np.prod(sizes.astype(float))) > 4 * MOST_CELLS:
        return np.zeros((4 * MOST_CELLS, 0))
    axes = [a + step * (np.arange(size) - reach) for a, size in zip(low, sizes, strict=True)]
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)


@register
@dataclass(frozen=True)
class Geometric(Solver[MetricPrivacy]):
    """The truncated geometric mechanism on a line, its releases turned into the outputs of least expected loss.

    On an equally spaced line it is the best there is, for every prior and every loss that grows with the distance.

    Source: Ghosh, Roughgarden, Sundararajan, "Universally utility-maximizing privacy mechanisms".
    """

    solves: ClassVar = MetricPrivacy
    name: ClassVar[str] = "geometric"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE

    def cost(self, problem: MetricPrivacy) -> float:
        """A product of two tables."""
        return 1e-3 + 1e-9 * len(problem.metric) * problem.losses.size

    def refuse(self, problem: MetricPrivacy) -> str | None:
        """Refuse points that are no equally spaced line."""
        if _spacing(problem) is None:
            return "the points are no equally spaced line, in their order; direct-lp takes any metric"
        return _finite(problem)

    def run(self, problem: MetricPrivacy, budget: Budget) -> Proposal:
        """Propose it."""
        spacing = _spacing(problem)
        assert spacing is not None
        return Proposal(
            problem.answer(remapped(problem, geometric(len(problem.metric), problem.epsilon * spacing)))
        )


def geometric(n: int, nats: float) -> Floats:
    """Two-sided geometric noise on 0 .. n-1, what falls outside put to the ends; nats from a point to the next.

    Examples
    --------
    >>> geometric(3, math.log(2)).round(6).tolist()
    [[0.666667, 0.166667, 0.166667], [0.333333, 0.333333, 0.333333], [0.166667, 0.166667, 0.666667]]
    """
    if n == 1 or nats == 0:
        table = np.zeros((n, n))
        table[:, 0] = 1.0
        return table
    base = math.exp(-nats)
    away = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    table = base**away / (1.0 + base)
    table[:, 1:-1] *= -math.expm1(-nats)
    return _normalised(table)


def _spacing(problem: MetricPrivacy) -> float | None:
    """The distance between neighbours of an equally spaced line whose points stand in order; None if it is none."""
    places, metric = problem.metric.places, problem.metric
    if places is None or places.shape[1] != 1 or metric.kind == "great_circle":
        return None
    steps = np.diff(places[:, 0])
    pairs = problem.pairs
    joined = set(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True))
    if not len(steps):
        return 1.0
    if not (steps > 0).all() or not np.allclose(steps, steps[0], rtol=1e-12, atol=0.0):
        return None
    if not all((i, i + 1) in joined for i in range(len(places) - 1)):
        return None
    least = pairs.distance[pairs.second - pairs.first == 1]
    return float(least.min()) if bool(np.allclose(least, steps[0], rtol=1e-9, atol=0.0)) else None

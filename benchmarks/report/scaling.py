"""Scaling as figures: seconds and memory against size, with fitted slopes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from privopt.benchmarks.report.judged import Judged

SIZES = 3
"""Sizes below which nothing is fitted."""


@dataclass(frozen=True)
class Growth:
    """The fit cost = a size^slope of one solver on one family, by least squares on logarithms.

    Parameters
    ----------
    problem, family, solver, measure : str
        ``measure`` is the name of the field, "seconds" or "peak_memory".
    points : tuple of (size, cost)
        Of completed runs.
    slope, error, factor : float or None
        The exponent, its standard error, and a; None below three sizes.
    """

    question: str
    family: str
    solver: str
    measure: str
    points: tuple[tuple[int, float], ...]
    slope: float | None
    error: float | None
    factor: float | None

    def ends(self) -> tuple[tuple[int, float], ...]:
        """The fitted line at the least and the largest size; nothing without a fit."""
        if self.slope is None or self.factor is None:
            return ()
        sizes = [size for size, _ in self.points]
        return tuple((size, self.factor * size**self.slope) for size in (min(sizes), max(sizes)))


def completed(one: Judged) -> bool:
    """Whether a run gave a mechanism before its time limit."""
    return one.row.ok and one.row.seconds is not None and one.row.seconds < one.row.time_limit


def families(rows: Sequence[Judged]) -> Iterator[tuple[str, str]]:
    """Pairs of problem and family with at least three sizes."""
    sizes: dict[tuple[str, str], set[int]] = {}
    for j in rows:
        if j.row.family:
            sizes.setdefault((j.row.question, j.row.family), set()).add(j.row.size)
    return (pair for pair, distinct in sizes.items() if len(distinct) >= SIZES)


def growths(rows: Sequence[Judged], measure: str) -> tuple[Growth, ...]:
    """A fit a family and solver, of "seconds" or "peak_memory"; solvers with no completed run are left out."""
    wanted = set(families(rows))
    points: dict[tuple[str, str, str], list[tuple[int, float]]] = {}
    for j in rows:
        cost = j.row.seconds if measure == "seconds" else j.row.peak_memory
        own = (j.row.question, j.row.family)
        if own in wanted and completed(j) and cost is not None and 0 < cost < math.inf and j.row.size > 0:
            points.setdefault((*own, j.row.solver), []).append((j.row.size, cost))
    return tuple(Growth(*key, measure, tuple(sorted(own)), *_fit(own)) for key, own in sorted(points.items()))


def _fit(points: Sequence[tuple[int, float]]) -> tuple[float | None, float | None, float | None]:
    from scipy.stats import linregress

    if len({size for size, _ in points}) < SIZES:
        return None, None, None
    sizes, costs = np.log(np.array(points, dtype=float)).T
    fit = linregress(sizes, costs)
    return float(fit.slope), float(fit.stderr), float(np.exp(fit.intercept))


MEASURES = {"seconds": "seconds", "peak_memory": "peak memory (MiB)"}

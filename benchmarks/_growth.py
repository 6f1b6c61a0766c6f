"""How cost grows with size: lines, fitted slopes, and a log-log figure of both."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from privopt._plots import draw_line, new_figure
from privopt.benchmarks._measurements import Timing
from privopt.benchmarks.report.svg import _style as figure_style
from privopt.benchmarks.report.svg import svg

WIDE = 10
"""Ratio of the largest size to the smallest below which no slope is fitted."""
TAIL = 1000
"""Sizes smaller than the largest by more than this factor are dominated by fixed costs, and are not fitted."""


@dataclass(frozen=True)
class Line:
    """Seconds by size of one case, ours or a reference's."""

    name: str
    points: tuple[tuple[int, float], ...]

    @property
    def slope(self) -> float | None:
        """Exponent b of seconds = a size^b by least squares, where the sizes span enough."""
        top = max(size for size, _ in self.points)
        fitted = [(size, seconds) for size, seconds in self.points if size * TAIL >= top and seconds > 0]
        if len(fitted) < 3 or top < WIDE * fitted[0][0]:
            return None
        sizes, seconds = np.log(np.array(fitted)).T
        return float(np.polyfit(sizes, seconds, 1)[0])


def lines(timings: Sequence[Timing]) -> list[Line]:
    """Our lines, then those of references, of at least two sizes each; equal sizes are averaged by median.

    Examples
    --------
    >>> rows = [Timing("sorting", 10**e, 10.0**e) for e in range(1, 4)]
    >>> [(line.name, round(line.slope, 6)) for line in lines(rows)]
    [('sorting', 1.0)]
    """
    found: dict[str, dict[int, list[float]]] = {}
    for name, size, seconds in (*_ours(timings), *_theirs(timings)):
        found.setdefault(name, {}).setdefault(size, []).append(seconds)
    made = [
        Line(name, tuple((size, statistics.median(taken)) for size, taken in sorted(sizes.items())))
        for name, sizes in found.items()
    ]
    return [line for line in made if len(line.points) > 1]


def _ours(timings: Sequence[Timing]) -> Iterator[tuple[str, int, float]]:
    return ((t.case, t.size, t.seconds) for t in timings if t.seconds is not None)


def _theirs(timings: Sequence[Timing]) -> Iterator[tuple[str, int, float]]:
    """A reference that serves several cases has a line for each."""
    cases: dict[str, set[str]] = {}
    for t in timings:
        cases.setdefault(t.reference, set()).add(t.case)
    for t in timings:
        if t.reference_seconds is not None:
            name = t.reference if len(cases[t.reference]) == 1 else f"{t.reference}: {t.case}"
            yield name, t.size, t.reference_seconds


def growth_caption(drawn: Sequence[Line]) -> str:
    """What the figure shows, with the fitted slopes."""
    slopes = [f"{line.name}: n^{line.slope:.2f}" for line in drawn if line.slope is not None]
    fitted = f" Fitted growth over the largest sizes: {'; '.join(slopes)}." if slopes else ""
    return f"Seconds against size, both on logarithmic scales; every line was timed in this run.{fitted}"


def growth_svg(drawn: Sequence[Line], identifier: str, title: str) -> str:
    """Seconds against size, a line each.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    """
    with figure_style():
        chart, axes = new_figure(5.6, 3.4 + 0.17 * len(drawn))
        for place, line in enumerate(drawn):
            draw_line(axes, line.points, line.name, place)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("size")
        axes.set_ylabel("seconds")
        axes.legend(frameon=False, fontsize=8.5, loc="lower left", bbox_to_anchor=(0.0, 1.0))
        return svg(chart, identifier, title)

"""What all figures start from: an empty figure, colours, one curve. Matplotlib is imported when one is drawn, never its global state."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from privopt.errors import MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NEEDS = 'plots need matplotlib: pip install "privopt[plot]"'
COLOURS = ("#2f7fc1", "#d1601f", "#1b9e77", "#b5539c", "#a6862a", "#6f6fc9", "#c8434f", "#3f9aa3")
"""Of middle lightness, so that they show on white and on black."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


def new_figure(width: float = 5.0, height: float = 3.6) -> tuple[Figure, Axes]:
    """An empty figure in inches with one pair of axes.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as cause:
        raise MissingExtra(NEEDS) from cause
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.set_axisbelow(True)
    return figure, axes


def draw_line(axes: Axes, points: Sequence[tuple[float, float]], label: str, place: int) -> None:
    """One curve through the finite points, with the colour and the marker of its place in the legend."""
    drawn = sorted((x, y) for x, y in points if math.isfinite(x) and math.isfinite(y))
    axes.plot(
        [x for x, _ in drawn],
        [y for _, y in drawn],
        marker=MARKERS[place % len(MARKERS)],
        color=COLOURS[place % len(COLOURS)],
        markersize=5,
        markerfacecolor="none",
        linewidth=1.4,
        label=label,
    )

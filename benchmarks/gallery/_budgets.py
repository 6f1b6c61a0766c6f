"""Errors by budget of the optimum, a published formula and randomised response, drawn alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privopt._plots import COLOURS, draw_line
from privopt.benchmarks._pictures import axes_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

PRINTED, RESPONSE = "as published", "randomised response"
LEAKS = "what the published leaks"


def draw_budgets(frame: pd.DataFrame, across: str, up: str) -> Figure:
    """A curve a column, the published one second and dashed, its points filled where it keeps its budget."""
    figure, axes = axes_of(5.2, 3.4, across, up)
    for place, name in enumerate(frame.columns.drop(["ε", LEAKS])):
        draw_line(axes, list(zip(frame["ε"], frame[name], strict=True)), name, place)
    axes.lines[1].set_linestyle("--")
    kept = frame[frame[LEAKS] <= frame["ε"] + 1e-9]
    axes.plot(kept["ε"], kept[PRINTED], "s", color=COLOURS[1], markersize=5)
    axes.legend(frameon=False)
    return figure

"""Figures of the paper on Bayesian privacy, drawn from their data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from privopt._plots import COLOURS, MARKERS, new_figure
from privopt.benchmarks.report.svg import _style as figure_style
from privopt.benchmarks.report.svg import svg
from privopt.errors import MissingExtra

if TYPE_CHECKING:
    import pandas as pd

EMPIRICAL = "measured"
"""Prefix of columns that are drawn as markers, in the colour of the curve named after it."""


def curves(
    frame: pd.DataFrame, columns: Sequence[str], labels: tuple[str, str], identifier: str, log: bool = True
) -> str:
    """Columns against the first one; "ours" drawn through, the others dashed, measured values as markers.

    Empty where matplotlib is not installed.
    """
    try:
        with figure_style():
            return _drawn(frame, columns, labels, identifier, log)
    except MissingExtra:
        return ""


def _drawn(
    frame: pd.DataFrame, columns: Sequence[str], labels: tuple[str, str], identifier: str, log: bool
) -> str:
    axis = str(frame.columns[0])
    figure, axes = new_figure(6.8, 4.0)
    for name in columns:
        place = _place(name, columns)
        values = frame[name].to_numpy(np.float64)
        kept = np.where(np.isfinite(values), values, np.nan)
        axes.plot(
            frame[axis],
            kept,
            color=COLOURS[place % len(COLOURS)],
            linestyle="-" if name.startswith("ours") else "--",
            linewidth=1.4,
            label=name,
        )
        measured = f"{EMPIRICAL}: {name}"
        if measured in frame:
            shown = np.where(np.isfinite(values), frame[measured].to_numpy(np.float64), np.nan)
            axes.plot(
                frame[axis],
                shown,
                MARKERS[place % len(MARKERS)],
                color=COLOURS[place % len(COLOURS)],
                markersize=4,
            )
    if log:
        axes.set_yscale("log")
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    axes.legend(frameon=False, fontsize=8, ncols=2 if len(columns) > 6 else 1)
    return svg(figure, identifier, f"{labels[1]} against {labels[0]}")


def _place(name: str, columns: Sequence[str]) -> int:
    """Colour and marker of a curve; "ours, x" has those of x where that is drawn.

    Examples
    --------
    >>> _place("ours, m = 3", ["m = 2", "m = 3", "ours, m = 3"]), _place("ours", ["m = 2", "ours"])
    (1, 1)
    """
    same = name.removeprefix("ours, ")
    return columns.index(same if same in columns else name)

"""Figures of the paper on sequences, drawn from their data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from privopt._plots import COLOURS, MARKERS, new_figure
from privopt.benchmarks.report.svg import _style as figure_style
from privopt.benchmarks.report.svg import svg

if TYPE_CHECKING:
    import pandas as pd


def lines(frame: pd.DataFrame, columns: Sequence[str], label: str, identifier: str, title: str) -> str:
    """Columns against the first one; "ours" drawn through, the others dashed.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    """
    axis = str(frame.columns[0])
    with figure_style():
        figure, axes = new_figure(6.8, 4.0)
        for place, name in enumerate(columns):
            axes.plot(
                frame[axis],
                frame[name],
                color=COLOURS[place],
                linestyle="-" if name.startswith("ours") else "--",
                marker=MARKERS[place],
                markersize=4.5,
                markerfacecolor="none",
                linewidth=1.4,
                label=name,
            )
        axes.set_xlabel(f"{axis} (nats)" if axis == "ε" else axis)
        axes.set_ylabel(label)
        axes.set_ylim(bottom=0)
        axes.legend(frameon=False, fontsize=8.5)
        return svg(figure, identifier, title)


def panels(frame: pd.DataFrame, axis: str, columns: Sequence[str], identifier: str, title: str) -> str:
    """A panel a column against the axis; points that are not private are hollow.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    """
    with figure_style():
        figure, first = new_figure(8.4, 2.9)
        figure.delaxes(first)
        for place, name in enumerate(columns):
            axes = figure.add_subplot(1, len(columns), place + 1)
            axes.plot(frame[axis], frame[name], color=COLOURS[0], linewidth=1.2)
            for private in (True, False):
                rows = frame[frame["private"] == private]
                face = COLOURS[0] if private else "none"
                axes.plot(rows[axis], rows[name], "o", color=COLOURS[0], markerfacecolor=face, markersize=3)
            axes.set_xlabel(axis)
            axes.set_title(name, fontsize=8.5)
        return svg(figure, identifier, title)


def pairs(frame: pd.DataFrame, columns: Sequence[str], identifier: str, title: str) -> str:
    """Groups of bars, a group a mechanism and budget.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    """
    names = [f"{m}, ε = {e:.3g}" for m, e in zip(frame["mechanism"], frame["ε"], strict=True)]
    width = 0.8 / len(columns)
    with figure_style():
        figure, axes = new_figure(7.2, 0.34 * len(frame) + 1.0)
        for place, column in enumerate(columns):
            at = [i + (place - (len(columns) - 1) / 2) * width for i in range(len(frame))]
            axes.barh(at, frame[column], 0.9 * width, color=COLOURS[place], label=column)
        axes.set_yticks(range(len(frame)), names)
        axes.invert_yaxis()
        axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, fontsize=8.5)
        return svg(figure, identifier, title)

"""Figures 2 to 4 of the paper, drawn from their data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privopt._plots import COLOURS, MARKERS, draw_line, new_figure
from privopt.benchmarks.papers import _redaction_frames as frames
from privopt.benchmarks.report.svg import _style as figure_style
from privopt.benchmarks.report.svg import svg

if TYPE_CHECKING:
    import pandas as pd

_OURS = (frames.RELAXED, frames.OPTIMUM, frames.SEQUENTIAL)
_SHADES = {"L": 0.30, "M": 0.17, "S": 0.06}


def influences(frame: pd.DataFrame, level: float, identifier: str) -> str:
    """Influence by distance, the level, and the three regions as bands.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    """
    with figure_style():
        figure, axes = new_figure(5.6, 3.4)
        for place, name in enumerate(("value 1", "value 0")):
            draw_line(axes, list(zip(frame["distance"], frame[name], strict=True)), name, place)
        axes.axhline(level, color="#888888", linestyle="--", linewidth=1.0, label=f"ε′ = {level:g}")
        for distance, region in zip(frame["distance"], frame["region"], strict=True):
            axes.axvspan(distance - 0.5, distance + 0.5, color="#888888", alpha=_SHADES[region], linewidth=0)
            axes.annotate(
                region, (distance, 1.0), xycoords=("data", "axes fraction"), ha="center", va="bottom"
            )
        axes.set_xlim(0.5, len(frame) + 0.5)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("distance from the private record")
        axes.set_ylabel("influence (nats)")
        axes.legend(frameon=False)
        return svg(figure, identifier, "Influence of each value against distance, with the three regions")


def utilities(frame: pd.DataFrame, identifier: str) -> str:
    """Utility by budget: the paper's curves dashed, ours drawn through; the bound as steps.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    """
    with figure_style():
        figure, axes = new_figure(7.2, 4.6)
        axes.step(
            frame["ε"], frame[frames.BOUND], where="post", color="#888888", linewidth=1.4, label=frames.BOUND
        )
        for place, name in enumerate((frames.QUILT, frames.CLOSED, frames.CONSTANT, *_OURS)):
            axes.plot(
                frame["ε"],
                frame[name],
                color=COLOURS[place],
                linestyle="-" if name in _OURS else "--",
                drawstyle="steps-post" if name == frames.QUILT else "default",
                marker=MARKERS[place],
                markevery=max(1, len(frame) // 10),
                markersize=4.5,
                markerfacecolor="none",
                linewidth=1.4,
                label=name,
            )
        axes.set_xlim(left=0)
        axes.set_xlabel("ε (nats)")
        axes.set_ylabel("utility")
        axes.legend(frameon=False, loc="lower right", fontsize=8.5)
        return svg(figure, identifier, "Utility against the budget, ten records with the first private")


def bars(frame: pd.DataFrame, label: str, identifier: str) -> str:
    """Redaction probabilities, a group of bars a record; the first column is the axis.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    """
    axis, *names = [str(name) for name in frame.columns]
    width = 0.84 / len(names)
    with figure_style():
        figure, axes = new_figure(7.2, 3.4)
        for place, name in enumerate(names):
            middle = frame[axis] + (place - (len(names) - 1) / 2) * width
            axes.bar(middle, frame[name], 0.9 * width, color=COLOURS[place], label=name)
        axes.set_xticks(np.asarray(frame[axis]))
        axes.set_xlabel(label)
        axes.set_ylabel("Pr(hidden)")
        axes.set_ylim(0, 1.02)
        axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, fontsize=8.5)
        return svg(figure, identifier, f"How often records are hidden, by {label} and by mechanism")

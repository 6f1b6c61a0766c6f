"""A map of a mechanism on places: where each may be reported. Matplotlib, when drawn."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privopt.arrays import Floats
from privopt.errors import InvalidMechanism
from privopt.files.text import number
from privopt.mechanisms import Channel
from privopt.models.metric import Metric
from privopt.plots.axes import COLOURS, new_figure
from privopt.problems.metric_privacy.data import MetricData

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEAST = 0.05
"""Probability from which a report is drawn as a line."""

MOST_LINES = 6000
"""Lines of a map; of more, the likeliest."""

NAMED = 40
"""Places at most that are named."""

GAP, LETTER, LINE = 4.0, 4.6, 10.0
"""How far names are from their places, and about the size of a letter, in points."""


def on_a_map(data: MetricData) -> bool:
    """Whether points and outputs have two coordinates each.

    Examples
    --------
    >>> from privopt.models.metric import Metric
    >>> on_a_map(MetricData(Metric.grid(1, 2), [0.5, 0.5], "distance", 1.0)), on_a_map(
    ...     MetricData(Metric.line(2), [0.5, 0.5], "distance", 1.0)
    ... )
    (True, False)
    """
    places = data.metric.places
    return (
        places is not None
        and places.shape[1] == 2
        and (data.places is not None or data.positions is not None)
    )


def places_figure(data: MetricData, channel: Channel) -> Figure:
    """A map: lines lead from each place to where it may be reported, circles show how often an output is released.

    Parameters
    ----------
    data : MetricPrivacy
        With points of two coordinates; on a great circle, longitude is drawn to the right.
    channel : Channel

    Raises
    ------
    InvalidMechanism
        If the places have no two coordinates.
    MissingExtra
        If matplotlib is not installed.

    Examples
    --------
    >>> import privopt as po
    >>> problem = po.MetricPrivacy(po.Metric.grid(2, 2, unit="km"), [0.25] * 4, "distance", 1.0)
    >>> places_figure(problem, problem.anchor()).axes[0].get_title()
    'where each place may be reported: 1 nat per km'
    """
    if not on_a_map(data):
        raise InvalidMechanism("a map needs points and outputs of two coordinates")
    points, outputs = _drawn(data, data.metric.places), _drawn(data, _of_outputs(data))
    figure, axes = new_figure(7.0, 6.4)
    if data.metric.kind == "graph":
        _edges(axes, data.metric, points)
    _lines(axes, channel.matrix, points, outputs)
    released = data.p @ channel.matrix
    used = released > 1e-6
    axes.scatter(
        outputs[used, 0],
        outputs[used, 1],
        s=(2500.0 * released[used]).tolist(),
        facecolors="none",
        edgecolors=COLOURS[1],
        linewidths=1.2,
        zorder=2,
        label="reported (area: how often)",
    )
    axes.scatter(points[:, 0], points[:, 1], s=10, color="#555555", zorder=3, label="place")
    globe = data.metric.kind == "great_circle"
    middle = float(np.mean(points[:, 1])) if globe else 0.0
    axes.set_aspect(1.0 / max(0.05, math.cos(math.radians(middle))), adjustable="datalim")
    placed = data.metric.unit and data.metric.kind not in ("great_circle", "graph")
    unit = f" ({data.metric.unit})" if placed else ""
    axes.set_xlabel("longitude" if globe else f"first coordinate{unit}")
    axes.set_ylabel("latitude" if globe else f"second coordinate{unit}")
    per = data.metric.unit or "unit of distance"
    nats = f"{number(data.epsilon)} nat{'' if data.epsilon == 1 else 's'}"
    axes.set_title(f"where each place may be reported: {nats} per {per}", fontsize=10)
    figure.legend(loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    figure.draw_without_rendering()  # settles where things are
    weights = data.p.copy()
    if data.positions is not None:
        weights[data.positions] += released  # what is reported is looked for first
    _name(axes, data, points, weights)
    return figure


def _edges(axes: Axes, metric: Metric, points: Floats) -> None:
    """The edges of a graph, faintly, where they are few enough to be seen."""
    from matplotlib.collections import LineCollection

    pairs = metric.pairs()
    if len(pairs) <= MOST_LINES:
        ends = np.stack([points[pairs.first], points[pairs.second]], axis=1)
        axes.add_collection(LineCollection(list(ends), colors="#cccccc", linewidths=3.0, zorder=0))
        axes.plot([], [], color="#cccccc", linewidth=3.0, label="edge")


def _lines(axes: Axes, matrix: Floats, points: Floats, outputs: Floats) -> None:
    """Lines from places to where they are likely to be reported."""
    from matplotlib.collections import LineCollection

    rows, columns = np.nonzero(matrix >= LEAST)
    shares = matrix[rows, columns]
    kept = np.argsort(shares, kind="stable")[-MOST_LINES:]
    lines = np.stack([points[rows[kept]], outputs[columns[kept]]], axis=1)
    axes.add_collection(
        LineCollection(
            list(lines),
            colors=[(*_rgb(COLOURS[0]), min(1.0, 0.3 + 0.7 * share)) for share in shares[kept].tolist()],
            linewidths=(0.4 + 2.0 * shares[kept]).tolist(),
            zorder=1,
        )
    )
    axes.plot([], [], color=COLOURS[0], label=f"may be reported there ({LEAST:.0%} and more)")


def _name(axes: Axes, data: MetricData, points: Floats, weights: Floats) -> None:
    """Name places, those of most weight first, where no other name is in the way."""
    per_point = axes.figure.dpi / 72.0
    edge = axes.get_window_extent().x1 / per_point
    taken: list[tuple[float, float, float, float]] = []
    for x in np.argsort(-weights, kind="stable")[:NAMED].tolist():
        text = str(data.metric.labels[x])
        right, up = (axes.transData.transform(points[x]) / per_point).tolist()
        wide = GAP + LETTER * len(text)
        side = -1 if right + wide > edge else 1
        left, low = (right if side > 0 else right - wide), up
        if any(left < c and a < left + wide and low < d and b < low + LINE for a, b, c, d in taken):
            continue
        taken.append((left, low, left + wide, low + LINE))
        axes.annotate(
            text,
            points[x].tolist(),
            xytext=(side * GAP, GAP),
            textcoords="offset points",
            ha="left" if side > 0 else "right",
            fontsize=8,
            parse_math=False,
        )


def _of_outputs(data: MetricData) -> Floats | None:
    if data.places is not None:
        return data.places
    where, positions = data.metric.places, data.positions
    return None if where is None or positions is None else where[positions]


def _drawn(data: MetricData, places: Floats | None) -> Floats:
    """Right and up: longitude and latitude of a great circle, else the coordinates as they are."""
    assert places is not None
    return places[:, ::-1] if data.metric.kind == "great_circle" else places


def _rgb(colour: str) -> tuple[float, float, float]:
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return red, green, blue

"""A map of a mechanism on places: where each may be reported. Matplotlib, when drawn."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privopt.arrays import Floats
from privopt.errors import InvalidMechanism
from privopt.files.text import number
from privopt.mechanisms import Channel
from privopt.plots.axes import COLOURS, new_figure
from privopt.problems.metric_privacy.data import MetricData

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEAST = 0.05
"""Probability from which a report is drawn as a line."""

MOST_LINES = 6000
"""Lines of a map; of more, the likeliest."""

NAMED = 12
"""Places up to which each is named."""


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
    from matplotlib.collections import LineCollection

    points, outputs = _drawn(data, data.metric.places), _drawn(data, _of_outputs(data))
    figure, axes = new_figure(7.0, 6.4)
    rows, columns = np.nonzero(channel.matrix >= LEAST)
    shares = channel.matrix[rows, columns]
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
    released = data.p @ channel.matrix
    size = 2500.0 * released
    used = released > 1e-6
    axes.scatter(
        outputs[used, 0],
        outputs[used, 1],
        s=size[used].tolist(),
        facecolors="none",
        edgecolors=COLOURS[1],
        linewidths=1.2,
        zorder=2,
        label="reported (area: how often)",
    )
    axes.scatter(points[:, 0], points[:, 1], s=10, color="#555555", zorder=3, label="place")
    if len(points) <= NAMED:
        for label, (x, y) in zip(data.metric.labels, points.tolist(), strict=True):
            axes.annotate(str(label), (x, y), xytext=(4, 4), textcoords="offset points", fontsize=8)
    globe = data.metric.kind == "great_circle"
    middle = float(np.mean(points[:, 1])) if globe else 0.0
    axes.set_aspect(1.0 / max(0.05, math.cos(math.radians(middle))), adjustable="datalim")
    unit = f" ({data.metric.unit})" if data.metric.unit and not globe else ""
    axes.set_xlabel("longitude" if globe else f"first coordinate{unit}")
    axes.set_ylabel("latitude" if globe else f"second coordinate{unit}")
    per = data.metric.unit or "unit of distance"
    nats = f"{number(data.epsilon)} nat{'' if data.epsilon == 1 else 's'}"
    axes.set_title(f"where each place may be reported: {nats} per {per}", fontsize=10)
    handles, names = axes.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    return figure


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

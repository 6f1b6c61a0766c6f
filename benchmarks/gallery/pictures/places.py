"""Pictures of metric privacy: a map of what is reported, and how the cost of solving grows with the number of places."""

from __future__ import annotations

from functools import partial
from importlib.resources import files
from io import StringIO
from typing import TYPE_CHECKING

import numpy as np

from privopt.benchmarks.data.shipped import california_airports
from privopt.benchmarks.gallery.picture import Drawn, axes_of, register_picture
from privopt.core.dispatch import solve
from privopt.models.metric import Metric
from privopt.plots.curves import draw_line
from privopt.plots.places import places_figure
from privopt.problems.metric_privacy.problem import MetricPrivacy

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

RECORDED = "rome-growth.csv"
"""Seconds and gaps that were measured once: minutes of work on data that do not ship."""

TICKS = (125, 250, 500, 1000, 2500, 5000)

SOUTH = 34.9
"""Degrees of latitude below which airports are drawn."""


@register_picture(
    "metric_privacy",
    ("metric_privacy",),
    "Metric privacy: which airport to name instead of the true one",
    "Airports in the south of California. One in four may be named, and pairs within 80 km are promised 0.05 nats per km: within 5 km no release "
    "is more than 1.285 times as likely from one as from the other, which is certified. Of all channels that keep this, the mean distance to "
    "the true place is least.",
    "metric_privacy.md",
)
def metric_privacy() -> Drawn:
    """How far each airport is reported from itself on average, and how often it is named."""
    import pandas as pd

    known = california_airports()
    south = [i for i, (latitude, _) in enumerate(known.places.tolist()) if latitude < SOUTH]
    codes = [known.codes[i] for i in south]
    metric = Metric.great_circle(known.places[south], codes, unit="km")
    problem = MetricPrivacy(
        metric, [1 / len(codes)] * len(codes), "distance", 0.05, outputs=codes[::4], radius=80.0
    )
    channel = solve(problem, "direct-lp", time_limit=60.0).mechanism
    released = dict(zip(problem.released, (problem.p @ channel.matrix).tolist(), strict=True))
    places = problem.metric.places
    assert places is not None
    frame = pd.DataFrame(
        {
            "code": problem.metric.labels,
            "latitude": places[:, 0],
            "longitude": places[:, 1],
            "kilometres": (channel.matrix * problem.losses).sum(axis=1),
            "named": np.array([released.get(code, 0.0) for code in problem.metric.labels]),
        }
    )
    return Drawn(frame, partial(places_figure, problem, channel))


@register_picture(
    "metric_privacy_growth",
    ("metric_privacy",),
    "Metric privacy: how the cost grows with the number of places",
    "Processor seconds on nodes of Rome (© OpenStreetMap contributors): 100 of them may be reported, and pairs within 0.8 km are promised "
    "5 nats per km. direct-lp proves the optimum, alternating-directions a gap of at most 0.8 %; their seconds include the proof that no pair "
    "is broken. HiGHS's interior-point method solves the same program, proves nothing, and breaks promised pairs from 500 places on. "
    "Recorded once on two cores; `privopt bench measure metric` takes the time where you are.",
    "metric_privacy.md",
)
def metric_privacy_growth() -> Drawn:
    """What was measured, a row a method and size."""
    import pandas as pd

    text = files("privopt.benchmarks.data").joinpath(RECORDED).read_text(encoding="utf-8")
    frame = pd.read_csv(StringIO(text))
    return Drawn(frame, partial(draw_growth, frame))


def draw_growth(frame: pd.DataFrame) -> Figure:
    """Seconds against places, a line a method."""
    figure, axes = axes_of(7.2, 3.8, "places", "processor seconds")
    for place, (method, rows) in enumerate(frame.groupby("method", sort=False)):
        points = list(zip(rows["places"].tolist(), rows["seconds"].tolist(), strict=True))
        draw_line(axes, points, str(method), place)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(TICKS, [str(size) for size in TICKS], fontsize=8)
    axes.minorticks_off()
    axes.legend(frameon=False, fontsize=8.5, loc="upper left")
    return figure

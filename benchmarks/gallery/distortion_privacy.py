"""Leakage by permitted distortion, for several measures of leakage."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from privopt._collections import frontier
from privopt._plots import draw_line
from privopt.benchmarks._pictures import Drawn, axes_of, register_picture
from privopt.benchmarks.data import joints
from privopt.problems.distortion_privacy import DistortionPrivacy

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

MEASURES = {
    "mutual_information": "mutual information",
    "maximal_leakage": "maximal leakage",
    "lip": "largest lift",
}
DISTORTIONS = (0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2)


@register_picture(
    "distortion_privacy",
    ("distortion_privacy",),
    "Distortion privacy: how far a release must be off to leak little",
    "The place on a scale of seven is answered with a mean error of at most so many steps. The curves are the least possible leakage about the "
    "vote, each for its own measure and each certified.",
    "distortion_privacy.md",
)
def make() -> Drawn:
    """Least leakage by distortion."""
    import pandas as pd

    joint = joints.leaning()
    places = np.arange(len(joint.useful))
    steps = np.abs(np.subtract.outer(places, places)).astype(np.float64)
    frame = pd.DataFrame({"mean error": DISTORTIONS})
    for measure, name in MEASURES.items():
        problem = DistortionPrivacy(joint, steps, max_distortion=0.2, leakage=measure)
        frame[name] = [s.leakage for s in frontier(problem, DISTORTIONS)]
    return Drawn(frame, partial(draw, frame))


def draw(frame: pd.DataFrame) -> Figure:
    """A curve a measure."""
    figure, axes = axes_of(5.2, 3.4, "mean error (steps of the scale)", "leakage about the vote (nats)")
    for place, name in enumerate(MEASURES.values()):
        draw_line(axes, list(zip(frame["mean error"], frame[name], strict=True)), name, place)
    axes.legend(frameon=False)
    return figure

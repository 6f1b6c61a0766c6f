"""Utility against how wrong the distribution may be: from the table is exact to anything is possible."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from privopt.benchmarks.data import joints
from privopt.benchmarks.gallery.picture import Drawn, axes_of, register_picture
from privopt.core.dispatch import solve
from privopt.models import JointAmbiguity, JointDistribution
from privopt.plots.curves import draw_line
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

EPSILON, SECONDS = 1.0, 30.0
RADII = (0.0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7, 1.0)
PLACES = ("liberal", "moderate", "conservative")
KNOWN, BOTH, LOCAL = (
    "shares of the votes known",
    "shares of the votes as uncertain",
    "local differential privacy on X",
)
COUNTED = "radius that 944 rows allow at 95 %"


def places() -> JointDistribution:
    """The vote as the secret, and the part of the scale from liberal to conservative as what is useful.

    Examples
    --------
    >>> places().useful
    ('liberal', 'moderate', 'conservative')
    """
    whole = joints.leaning()
    part = np.array([[place in str(label) for place in PLACES] for label in whole.useful])
    counts = np.array(whole.exact.weights, dtype=object).reshape(whole.table.shape) @ part.astype(int)
    return JointDistribution.normalised(counts, whole.sensitive, PLACES)


@register_picture(
    "robust",
    ("local_information_privacy",),
    "Sets of distributions: what it costs not to know how people are spread",
    "The vote of 944 Americans is the secret, their part of the political scale is released, and no release may change the odds of a vote by more than "
    "a factor of e, whatever distribution of a set the data follow: each P(x | s) within a total variation of the counted one. At 0 the table is exact. "
    "At 1 any rows are possible. If the shares of the votes may be anything, too, what is left is local differential privacy on the scale itself "
    "(dashed), met exactly; if they are known, more is left. Every point is certified, and its bound meets it.",
    "robust.md",
)
def robust() -> Drawn:
    """Optimal utilities over balls of total variation."""
    import pandas as pd

    joint = places()
    itself = JointDistribution(np.diag(joint.p_x), joint.useful, joint.useful)
    local = solve(LocalInformationPrivacy(itself, EPSILON, notion="ldp"), time_limit=SECONDS).utility
    frame = pd.DataFrame({"radius": RADII})
    for name, share in ((KNOWN, 0.0), (BOTH, 1.0)):
        sets = [JointAmbiguity.total_variation(joint, radius, share * radius) for radius in RADII]
        frame[name] = [
            solve(LocalInformationPrivacy(near, EPSILON), time_limit=SECONDS).utility for near in sets
        ]
    frame[LOCAL] = local
    rows = JointAmbiguity.from_joint(joint, 0.95, "weissman").rows
    frame[COUNTED] = max(float(row.radius) for row in rows)
    return Drawn(frame, partial(draw_robust, frame))


def draw_robust(frame: pd.DataFrame) -> Figure:
    """Two curves that fall to the line below them, and what so many rows allow."""
    figure, axes = axes_of(
        5.6,
        3.8,
        "how far each P(x | s) may be from the counted one (total variation)",
        "what is released (nats)",
    )
    for place, name in enumerate((KNOWN, BOTH)):
        draw_line(axes, list(zip(frame["radius"], frame[name], strict=True)), name, place)
    axes.axhline(frame[LOCAL][0], color="#888888", linestyle="--", linewidth=1.2, label=LOCAL)
    counted = frame[COUNTED][0]
    axes.axvline(counted, color="#888888", linestyle=":", linewidth=1.2)
    axes.annotate(
        COUNTED,
        (counted, 0.97),
        xycoords=("data", "axes fraction"),
        xytext=(5, 0),
        textcoords="offset points",
        va="top",
    )
    axes.set_ylim(bottom=0.0)
    axes.legend(frameon=False, loc="center right")
    return figure

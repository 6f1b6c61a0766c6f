"""The plane of what a release tells and what it leaks: everything possible lies between two curves."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from privopt._dispatch import solve
from privopt._plots import COLOURS, draw_line
from privopt.benchmarks._pictures import Drawn, axes_of, register_picture
from privopt.benchmarks.data import joints
from privopt.measures import entropy
from privopt.problems.information_bottleneck import InformationBottleneck
from privopt.problems.privacy_funnel import PrivacyFunnel

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

SHARES = (0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
FUNNEL, MERGING, BOTTLENECK = "funnel: least leakage", "best merging", "bottleneck: most told"


@register_picture(
    "privacy_funnel",
    ("privacy_funnel", "information_bottleneck"),
    "Privacy funnel and information bottleneck: the plane between them",
    "The vote is the secret S, the place on a scale X. A release that says I(X;Y) about the scale leaks at least the lower curve about the vote "
    "and at most the upper one. Half of H(X) can be said without any leakage. The best partitions (squares) leak more than the optimum.",
    "privacy_funnel.md",
)
def make() -> Drawn:
    """Points of the three curves, at shares of the entropy of X."""
    import pandas as pd

    joint = joints.leaning()
    rows = [(FUNNEL, 0.0, 0.0), (BOTTLENECK, 0.0, 0.0)]
    for share in SHARES:
        for name, form in ((FUNNEL, "stochastic"), (MERGING, "merging")):
            solver = "column-generation" if name == FUNNEL else "exact-merging"
            found = solve(PrivacyFunnel(joint, theta_fraction=share, form=form), solver, time_limit=30.0)
            if found.utility is not None and found.leakage is not None:
                rows.append((name, found.utility, found.leakage))
        rate = share * entropy(joint.table.sum(axis=0))
        told = solve(InformationBottleneck(joint, max_rate=rate), "column-generation", time_limit=30.0)
        if told.utility is not None and told.leakage is not None:
            rows.append((BOTTLENECK, told.leakage, told.utility))
    frame = pd.DataFrame(rows, columns=["curve", "I(X;Y)", "I(S;Y)"])
    return Drawn(frame, partial(draw, frame))


def draw(frame: pd.DataFrame) -> Figure:
    """Two curves with what is possible between them, and partitions as points."""
    figure, axes = axes_of(5.6, 3.8, "I(X;Y): what is told (nats)", "I(S;Y): what is leaked (nats)")
    points = {
        name: list(zip(part["I(X;Y)"], part["I(S;Y)"], strict=True)) for name, part in frame.groupby("curve")
    }
    corners = [*sorted(points[FUNNEL]), *sorted(points[BOTTLENECK], reverse=True)]
    axes.fill([x for x, _ in corners], [y for _, y in corners], color="#888888", alpha=0.15, linewidth=0)
    draw_line(axes, points[BOTTLENECK], BOTTLENECK, 2)
    draw_line(axes, points[FUNNEL], FUNNEL, 0)
    xs, ys = zip(*points[MERGING], strict=True)
    axes.plot(xs, ys, "s", color=COLOURS[1], label=MERGING)
    axes.legend(frameon=False)
    return figure

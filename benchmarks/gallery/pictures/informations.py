"""A vote and a political leaning: utility by budget, with the room that the bound leaves to merging symbols."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from privopt.benchmarks.data import joints
from privopt.benchmarks.gallery.picture import Drawn, axes_of, register_picture
from privopt.core.compare import frontier
from privopt.core.dispatch import solve
from privopt.measures import entropy
from privopt.plots.curves import COLOURS, draw_line, frontier_figure
from privopt.problems.distortion_privacy.problem import DistortionPrivacy
from privopt.problems.information_bottleneck.problem import InformationBottleneck
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.problems.privacy_funnel.problem import PrivacyFunnel

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
def funnel() -> Drawn:
    """Points of the three curves, at shares of the entropy of X."""
    import pandas as pd

    joint = joints.leaning()
    rows = [(FUNNEL, 0.0, 0.0), (BOTTLENECK, 0.0, 0.0)]
    for share in SHARES:
        for name, form in ((FUNNEL, "stochastic"), (MERGING, "merging")):
            solver = "column-generation" if name == FUNNEL else "exact-merging"
            solution = solve(PrivacyFunnel(joint, theta_fraction=share, form=form), solver, time_limit=30.0)
            if solution.utility is not None and solution.leakage is not None:
                rows.append((name, solution.utility, solution.leakage))
        rate = share * entropy(joint.table.sum(axis=0))
        told = solve(InformationBottleneck(joint, max_rate=rate), "column-generation", time_limit=30.0)
        if told.utility is not None and told.leakage is not None:
            rows.append((BOTTLENECK, told.leakage, told.utility))
    frame = pd.DataFrame(rows, columns=["curve", "I(X;Y)", "I(S;Y)"])
    return Drawn(frame, partial(draw_funnel, frame))


def draw_funnel(frame: pd.DataFrame) -> Figure:
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
def distortion() -> Drawn:
    """Least leakage by distortion."""
    import pandas as pd

    joint = joints.leaning()
    places = np.arange(len(joint.useful))
    steps = np.abs(np.subtract.outer(places, places)).astype(np.float64)
    frame = pd.DataFrame({"mean error": DISTORTIONS})
    for measure, name in MEASURES.items():
        problem = DistortionPrivacy(joint, steps, max_distortion=0.2, leakage=measure)
        frame[name] = [s.leakage for s in frontier(problem, DISTORTIONS)]
    return Drawn(frame, partial(draw_distortion, frame))


def draw_distortion(frame: pd.DataFrame) -> Figure:
    """A curve a measure."""
    figure, axes = axes_of(5.2, 3.4, "mean error (steps of the scale)", "leakage about the vote (nats)")
    for place, name in enumerate(MEASURES.values()):
        draw_line(axes, list(zip(frame["mean error"], frame[name], strict=True)), name, place)
    axes.legend(frameon=False)
    return figure


BUDGETS = (0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.25, 1.5)
OPTIMUM, WATCHDOG = "optimum", "watchdog of the lectures"


@register_picture(
    "local_information_privacy",
    ("local_information_privacy",),
    "Local information privacy: what a leaning may tell when the vote is secret",
    "944 Americans in 1996. The place on a scale from liberal to conservative is released such that no release changes the odds of the vote by "
    "more than ε. Merging symbols (blue) is simple and far from the grey bound that is proved for it; the optimal randomised release (green) is "
    "certified, and its own bound meets it. The watchdog merges all risky symbols into one.",
    "local_information_privacy.md",
)
def lifts() -> Drawn:
    """Frontiers of the best merging, the optimum and the watchdog."""
    problem = LocalInformationPrivacy(joints.leaning(), epsilon=1.0)
    merged = frontier(problem, BUDGETS, "subset-merging")
    others = {OPTIMUM: frontier(problem, BUDGETS), WATCHDOG: frontier(problem, BUDGETS, "watchdog-merge")}
    data = merged.to_frame()[["budget", "utility", "bound"]].rename(columns={"utility": "best merging"})
    for name, curve in others.items():
        data[name] = [s.utility for s in curve]

    def draw() -> Figure:
        figure = frontier_figure(merged)
        axes = figure.axes[0]
        axes.lines[0].set_label("best merging")
        for place, name in enumerate((WATCHDOG, OPTIMUM), 1):
            draw_line(axes, list(zip(data["budget"], data[name], strict=True)), name, place)
        axes.set_ylabel("mutual information (nats)")
        axes.legend(frameon=False)
        return figure

    return Drawn(data, draw)

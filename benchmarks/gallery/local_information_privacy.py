"""A vote and a political leaning: utility by budget, with the room that the bound leaves to merging symbols."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privopt._collections import frontier
from privopt._plots import draw_line, frontier_figure
from privopt.benchmarks._pictures import Drawn, register_picture
from privopt.benchmarks.data import joints
from privopt.problems.local_information_privacy import LocalInformationPrivacy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
def make() -> Drawn:
    """Frontiers of the best merging, the optimum and the watchdog."""
    problem = LocalInformationPrivacy(joints.leaning(), epsilon=1.0)
    merged = frontier(problem, BUDGETS, "subset-merging")
    others = {OPTIMUM: frontier(problem, BUDGETS), WATCHDOG: frontier(problem, BUDGETS, "watchdog-merge")}
    data = merged.to_frame()[["budget", "utility", "bound"]].rename(columns={"utility": "best merging"})
    for name, found in others.items():
        data[name] = [s.utility for s in found]

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

"""One release under a belief: the optimum, the published formula, randomised response."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from privopt._dispatch import solve
from privopt._plots import COLOURS, draw_line
from privopt.benchmarks._pictures import Drawn, axes_of, register_picture
from privopt.problems.belief_release import BeliefRelease

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

BELIEF = (0.7, 0.2, 0.1)
BUDGETS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0)
OURS, PRINTED, RESPONSE = "optimum", "as published", "randomised response"
LEAKS = "what the published leaks"


@register_picture(
    "belief_release",
    ("belief_release",),
    "One release under a belief: error by budget",
    "Readers believe a letter to be (0.7, 0.2, 0.1). The published conditional randomised response (Jiang, Li, Tandon) errs less than the optimum "
    "wherever it is hollow, because there it leaks more than ε. It joins the optimum once each belief is at least 1/(e^ε + 1).",
    "belief_release.md",
)
def make() -> Drawn:
    """Errors by budget, and what the published formula leaks."""
    import pandas as pd

    frame = pd.DataFrame({"ε": BUDGETS})
    for name, solver in ((OURS, None), (PRINTED, "published"), (RESPONSE, "randomised-response")):
        found = [solve(BeliefRelease(BELIEF, budget), solver) for budget in BUDGETS]
        frame[name] = [-float(s.stats["raw_utility"]) for s in found]
        if name == PRINTED:
            frame[LEAKS] = [float(s.stats["raw_leakage"]) for s in found]
    return Drawn(frame, partial(draw, frame))


def draw(frame: pd.DataFrame) -> Figure:
    """Three curves; points of the published formula are filled where it keeps its budget."""
    figure, axes = axes_of(5.2, 3.4, "ε (nats)", "probability of a wrong letter")
    for place, name in enumerate((OURS, PRINTED, RESPONSE)):
        draw_line(axes, list(zip(frame["ε"], frame[name], strict=True)), name, place)
    axes.lines[1].set_linestyle("--")
    kept = frame[frame[LEAKS] <= frame["ε"] + 1e-9]
    axes.plot(kept["ε"], kept[PRINTED], "s", color=COLOURS[1], markersize=5)
    axes.legend(frameon=False)
    return figure

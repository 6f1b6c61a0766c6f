"""Sequences: what readers come to believe along a month, and the error by budget."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from privopt.benchmarks.data.shipped import LETTERS
from privopt.benchmarks.gallery.picture import Drawn, axes_of, register_picture
from privopt.benchmarks.papers.sequences import Kernels, optimum_at_once, printed, randomised_response, walk
from privopt.benchmarks.suites import redaction as frost
from privopt.core.dispatch import solve
from privopt.mechanisms.policy.policy import SequencePolicy
from privopt.plots.curves import COLOURS, draw_line
from privopt.problems.belief_release.problem import BeliefRelease

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


PRINTED, RESPONSE = "as published", "randomised response"
LEAKS = "what the published leaks"


def draw_budgets(frame: pd.DataFrame, across: str, up: str) -> Figure:
    """A curve a column, the published one second and dashed, its points filled where it keeps its budget."""
    figure, axes = axes_of(5.2, 3.4, across, up)
    for place, name in enumerate(frame.columns.drop(["ε", LEAKS])):
        draw_line(axes, list(zip(frame["ε"], frame[name], strict=True)), name, place)
    axes.lines[1].set_linestyle("--")
    kept = frame[frame[LEAKS] <= frame["ε"] + 1e-9]
    axes.plot(kept["ε"], kept[PRINTED], "s", color=COLOURS[1], markersize=5)
    axes.legend(frameon=False)
    return figure


BELIEF = (0.7, 0.2, 0.1)
BELIEF_BUDGETS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0)


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

    frame = pd.DataFrame({"ε": BELIEF_BUDGETS})
    for name, solver in (("optimum", None), (PRINTED, "published"), (RESPONSE, "randomised-response")):
        solutions = [solve(BeliefRelease(BELIEF, budget), solver) for budget in BELIEF_BUDGETS]
        frame[name] = [-float(s.stats["raw_utility"]) for s in solutions]
        if name == PRINTED:
            frame[LEAKS] = [float(s.stats["raw_leakage"]) for s in solutions]
    return Drawn(frame, partial(draw_budgets, frame, "ε (nats)", "probability of a wrong letter"))


FROST = LETTERS[1]
STEPS = 12
BUDGETS = (0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0)
OURS = "optimum, a day at a time"


@register_picture(
    "sequence_path",
    ("sequence_information_privacy",),
    "Sequence release: what readers believe, day by day",
    "January 2013, released day by day at 3 nats a day (simulated, seed 0). The line is the chance of frost in the eyes of somebody who has read "
    "all releases before the day; no release changes odds of the day by more than ε. Crosses mark releases that are not true.",
    "sequence_release.md",
)
def path() -> Drawn:
    """Belief, truth and release by day."""
    import pandas as pd

    chain, truth = frost.frost_chain(), frost.records().letters
    policy, rng, rows = SequencePolicy(chain, 3.0), np.random.default_rng(0), []
    state = policy.start()
    for day, letter in enumerate(truth, 1):
        belief = state.belief[LETTERS.index(FROST)]
        release, state = policy.step(state, letter, rng)
        rows.append((day, belief, letter, release))
    frame = pd.DataFrame(rows, columns=["day", "belief in frost", "truth", "release"])
    return Drawn(frame, partial(draw_path, frame))


def draw_path(frame: pd.DataFrame) -> Figure:
    """The belief as steps, true letters as dots on top and bottom, wrong releases as crosses."""
    figure, axes = axes_of(7.2, 3.0, "day of the month", "belief in frost")
    axes.step(
        frame["day"], frame["belief in frost"], where="mid", color=COLOURS[0], label="belief before the day"
    )
    for name, marker, place in (("truth", "o", 1), ("release", "x", 6)):
        rows = frame if name == "truth" else frame[frame["release"] != frame["truth"]]
        label = "true weather" if name == "truth" else "wrong release"
        up = (rows[name] == FROST).astype(float)
        axes.plot(rows["day"], up, marker, color=COLOURS[place], markersize=5, label=label)
    axes.set_ylim(-0.06, 1.06)
    axes.legend(frameon=False, loc="center right", fontsize=8.5)
    return figure


@register_picture(
    "sequence_errors",
    ("sequence_information_privacy",),
    "Sequence release: error by budget",
    f"Share of wrong days over {STEPS} days of the frost chain, exact: every belief that can be reached was followed. Frost is rare: below "
    "2 nats the best release is always mild. The published conditional randomised response leaks more than ε wherever it is hollow.",
    "sequence_release.md",
)
def errors() -> Drawn:
    """Errors by budget, and the largest leakage of a published step."""
    import pandas as pd

    chain, frame = frost.frost_chain(), pd.DataFrame({"ε": BUDGETS})

    def ours(epsilon: float) -> Kernels:
        return lambda beliefs: optimum_at_once(beliefs, epsilon)

    for name, kind in ((OURS, ours), (PRINTED, printed), (RESPONSE, randomised_response)):
        cost = 1.0 - np.eye(2)
        walks = [walk(chain.initial, chain.transition, kind(e), cost, STEPS) for e in BUDGETS]
        frame[name] = [one.cost for one in walks]
        if name == PRINTED:
            frame[LEAKS] = [one.worst for one in walks]
    return Drawn(frame, partial(draw_errors, frame))


def draw_errors(frame: pd.DataFrame) -> Figure:
    """Three curves, from an error of 0."""
    figure = draw_budgets(frame, "ε a day (nats)", "share of wrong days")
    figure.axes[0].set_ylim(bottom=0)
    return figure

"""A month of frosts with one private day: how often each day is hidden."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from privopt._dispatch import solve
from privopt._plots import COLOURS
from privopt.benchmarks._pictures import Drawn, axes_of, register_picture
from privopt.benchmarks.data.shipped import LETTERS
from privopt.benchmarks.suites import redaction as frost

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

BY_VALUE, WINDOW = "ours", "published window"


@register_picture(
    "redaction",
    ("redaction",),
    "Redaction: a month of frosts, one day private",
    "The middle day of a month is private, at 1 nat. The published Markov quilt hides the same window whatever the weather was. The optimum "
    "needs a smaller one, and at its edges looks at the weather: there only one of the two letters is hidden, or hidden only sometimes.",
    "redaction.md",
)
def make() -> Drawn:
    """Probabilities by day and letter, of the optimum and of the published window."""
    import pandas as pd

    problem = frost.month()[0].problem
    frame = pd.DataFrame({"day": np.arange(1, frost.DAYS + 1)})
    for name, solver in ((BY_VALUE, "optimal"), (WINDOW, "markov-quilt")):
        found = solve(problem, solver, time_limit=60.0).mechanism.probabilities
        for letter, column in zip(LETTERS, found.T, strict=True):
            frame[f"{name}, {letter}"] = column
    return Drawn(frame, partial(draw, frame))


def draw(frame: pd.DataFrame) -> Figure:
    """Bars of the optimum in front of the window."""
    figure, axes = axes_of(7.2, 3.2, "day of the month", "Pr(hidden)")
    window = frame[[c for c in frame.columns if str(c).startswith(WINDOW)]].max(axis=1)
    axes.bar(frame["day"], window, 1.0, color="#888888", alpha=0.25, label=WINDOW)
    for place, letter in enumerate(LETTERS):
        middle = frame["day"] + 0.4 * (place - 0.5)
        axes.bar(
            middle, frame[f"{BY_VALUE}, {letter}"], 0.36, color=COLOURS[place], label=f"{BY_VALUE}: {letter}"
        )
    axes.set_ylim(0, 1.02)
    axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    return figure

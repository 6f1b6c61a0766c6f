"""A picture of what a budget means: how sure of a secret anybody can become."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from privopt.benchmarks.gallery.picture import Drawn, axes_of, register_picture
from privopt.plots.curves import COLOURS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

PRIORS = {"one in two": 0.5, "one in ten": 0.1, "one in a hundred": 0.01}
LARGEST = 5.0


@register_picture(
    "budgets",
    (),
    "Choosing ε: how sure anybody can become",
    "The most that a reader of one release can believe of a value that one in two, ten or a hundred people have, if no release makes a "
    "value more than e^ε times as likely or unlikely as before. The rarer the value, the more a budget leaves in doubt; for one in two, "
    "ε = 0.3 is 63 % and ε = 1 is 82 %.",
    "budgets.md",
)
def budgets() -> Drawn:
    """The largest posterior of a value by budget, for each prior."""
    import pandas as pd

    epsilon = np.linspace(0.0, LARGEST, 101)
    frame = pd.DataFrame({"ε": epsilon})
    for name, prior in PRIORS.items():
        frame[name] = np.minimum(np.exp(epsilon) * prior, 1 - np.exp(-epsilon) * (1 - prior))
    return Drawn(frame, partial(draw_budgets, frame))


def draw_budgets(frame: pd.DataFrame) -> Figure:
    """A line a prior, named at its end."""
    figure, axes = axes_of(7.2, 3.4, "ε, in nats", "largest posterior")
    for place, name in enumerate(PRIORS):
        axes.plot(frame["ε"], frame[name], color=COLOURS[place])
        axes.annotate(
            name,
            (LARGEST, frame[name].iloc[-1]),
            xytext=(4, (1 - place) * 11 - 6),
            textcoords="offset points",
            color=COLOURS[place],
            va="center",
            annotation_clip=False,
        )
    axes.set_xlim(0, LARGEST)
    axes.set_ylim(0, 1.02)
    return figure

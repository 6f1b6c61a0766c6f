"""A performance profile: how often each solver of redaction comes how close to the best."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from privopt._dispatch import solve
from privopt._plots import COLOURS
from privopt.benchmarks.gallery.picture import Drawn, axes_of, register_picture
from privopt.benchmarks.report.judged import LEAST_GAP, Case, Task
from privopt.benchmarks.report.profiles import profile
from privopt.benchmarks.suites import redaction as frost

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


SOLVERS = ("optimal", "windows", "constant-closed-form", "markov-quilt")
BUDGETS = (0.1, 0.25, 0.5, 1.0, 2.0, 3.0)
LIMIT = 30.0


@register_picture(
    "profile",
    ("redaction",),
    "A report: which solver is how close to the best",
    "The share of tasks (a month of frosts and four days, at six budgets) on which a solver's certified utility is at most so far "
    "below the best one. Reports of `privopt bench run` draw this for every question, and by time as well.",
    "report.md",
)
def make() -> Drawn:
    """Corners of the staircases by quality, without times, which differ from run to run."""
    import pandas as pd

    costs: dict[str, dict[Task, float]] = {name: {} for name in SOLVERS}
    for instance in frost.month():
        for budget in BUDGETS:
            for name in SOLVERS:
                found = solve(instance.problem.with_budget(budget), name, time_limit=LIMIT)
                if found.certified and found.objective is not None:
                    case = Case("gallery", instance.problem.kind, instance.name, budget)
                    costs[name][Task(case, 0, LIMIT)] = -round(found.objective, 6)
    steps = profile(costs, lambda cost, best: max(cost - best, LEAST_GAP), LEAST_GAP).curves
    rows = [(name, *point) for name, points in steps.items() for point in points]
    frame = pd.DataFrame(rows, columns=["solver", "below the best", "share of tasks"])
    return Drawn(frame, partial(draw, frame))


def draw(frame: pd.DataFrame) -> Figure:
    """A staircase a solver."""
    figure, axes = axes_of(6.0, 3.4, "utility below the best", "share of tasks")
    for place, name in enumerate(SOLVERS):
        own = frame[frame["solver"] == name]
        x, y = own["below the best"], own["share of tasks"]
        axes.step(x, y, where="post", color=COLOURS[place], linewidth=1.6, label=name)
    axes.set_xscale("log")
    axes.set_ylim(0, 1.03)
    axes.legend(frameon=False, fontsize=8.5)
    return figure

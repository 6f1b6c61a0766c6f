"""Pictures of records released: frosts, noise on counts, votes, and how close the solvers come."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from privopt.benchmarks.data.shipped import LETTERS
from privopt.benchmarks.gallery.picture import Drawn, axes_of, register_picture
from privopt.benchmarks.report.judged import LEAST_GAP, Case, Task
from privopt.benchmarks.report.profiles import profile
from privopt.benchmarks.suites import redaction as frost
from privopt.benchmarks.suites.boundary_colouring import regions
from privopt.core.dispatch import solve
from privopt.plots.colourings import colouring_figure
from privopt.plots.curves import COLOURS, draw_line
from privopt.problems.bayesian_privacy.problem import BayesianPrivacy
from privopt.problems.boundary_colouring.problem import BoundaryColouring

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
def redaction() -> Drawn:
    """Probabilities by day and letter, of the optimum and of the published window."""
    import pandas as pd

    problem = frost.month()[0].problem
    frame = pd.DataFrame({"day": np.arange(1, frost.DAYS + 1)})
    for name, solver in ((BY_VALUE, "optimal"), (WINDOW, "markov-quilt")):
        probabilities = solve(problem, solver, time_limit=60.0).mechanism.probabilities
        for letter, column in zip(LETTERS, probabilities.T, strict=True):
            frame[f"{name}, {letter}"] = column
    return Drawn(frame, partial(draw_redaction, frame))


def draw_redaction(frame: pd.DataFrame) -> Figure:
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


BUDGETS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 12.0, 16.0, 20.0)
RECORDS = 365
CURVES = {"recursion": "markov-recursion", "published": "markov-published", "any dependence": "general"}


@register_picture(
    "bayesian_privacy",
    ("bayesian_privacy",),
    "Bayesian privacy: noise on a count of frosts in a year",
    "Mean error of the count of frosts among 365 days that depend on each other. The published bound for chains (Lange, Guerra-Balboa, Parra-Arnau, "
    "Strufe) says no more than the bound for any dependence until ε exceeds 4 ln γ, here 14 nats. Our recursion, exact for two states, needs a fiftieth of that noise at 1 nat.",
    "bayesian_privacy.md",
)
def bayesian() -> Drawn:
    """Errors by budget, nothing where a bound does not reach it."""
    import pandas as pd

    frame = pd.DataFrame({"ε": BUDGETS})
    for name, solver in CURVES.items():
        frame[name] = [_error(budget, solver) for budget in BUDGETS]
    return Drawn(frame, partial(draw_bayesian, frame))


def _error(budget: float, solver: str) -> float:
    query = ("count", LETTERS[1])
    problem = BayesianPrivacy(
        frost.frost_chain(), query, budget, length=RECORDS, mechanism="discrete_laplace"
    )
    utility = solve(problem, solver).utility
    return float("nan") if utility is None else -utility


def draw_bayesian(frame: pd.DataFrame) -> Figure:
    """Curves on logarithmic axes."""
    figure, axes = axes_of(5.2, 3.4, "ε (nats)", "mean error of the count (days)")
    for place, name in enumerate(CURVES):
        draw_line(axes, list(zip(frame["ε"], frame[name], strict=True)), name, place)
    axes.lines[1].set_linestyle("--")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.legend(frameon=False)
    return figure


@register_picture(
    "boundary_colouring",
    ("boundary_colouring",),
    "Boundary colouring: answers that change slowly",
    "Each vertex is a dataset, its ring the true answer, its filling the mixture that is given. Neighbours differ by a factor of at most e^0.5, so "
    "answers are mixed at the boundary and become sure a few steps away from it.",
    "boundary_colouring.md",
)
def colouring() -> Drawn:
    """Probability of each colour at each vertex."""
    import pandas as pd

    graph = regions(8)
    mechanism = solve(BoundaryColouring(graph, 0.5)).mechanism
    frame = pd.DataFrame(mechanism.probabilities, columns=[f"Pr({c})" for c in graph.palette])
    frame.insert(0, "true answer", [graph.palette[c] for c in graph.codes])
    return Drawn(frame, partial(colouring_figure, graph, mechanism))


SOLVERS = ("optimal", "windows", "constant-closed-form", "markov-quilt")
PROFILE_BUDGETS = (0.1, 0.25, 0.5, 1.0, 2.0, 3.0)
LIMIT = 30.0


@register_picture(
    "profile",
    ("redaction",),
    "A report: which solver is how close to the best",
    "The share of tasks (a month of frosts and four days, at six budgets) on which a solver's certified utility is at most so far "
    "below the best one. Reports of `privopt bench run` draw this for every problem, and by time as well.",
    "report.md",
)
def make() -> Drawn:
    """Corners of the staircases by quality, without times, which differ from run to run."""
    import pandas as pd

    costs: dict[str, dict[Task, float]] = {name: {} for name in SOLVERS}
    for instance in frost.month():
        for budget in PROFILE_BUDGETS:
            for name in SOLVERS:
                solution = solve(instance.problem.with_budget(budget), name, time_limit=LIMIT)
                if solution.certified and solution.objective is not None:
                    case = Case("gallery", instance.problem.kind, instance.name, budget)
                    costs[name][Task(case, 0, LIMIT)] = -round(solution.objective, 6)
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

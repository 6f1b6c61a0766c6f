"""Figures of comparisons and frontiers. Matplotlib is imported when one is drawn, never its global state."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from privopt.core.solution import Solution
from privopt.core.words import NATS
from privopt.plots.axes import COLOURS, MARKERS, NEEDS, draw_line, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "COLOURS",
    "MARKERS",
    "NEEDS",
    "comparison_figure",
    "draw_band",
    "draw_line",
    "frontier_figure",
    "measured",
    "new_figure",
]


class Solutions(Protocol):
    """What a comparison and a frontier have."""

    @property
    def solutions(self) -> Sequence[Solution[Any]]:
        """In the order of the figure."""
        ...


class Budgeted(Solutions, Protocol):
    """What a frontier has."""

    @property
    def budgets(self) -> Sequence[float]:
        """One for each solution."""
        ...


def measured(solutions: Sequence[Solution[Any]]) -> str:
    """What the objective is, for an axis: "utility" where the two agree, else "objective"."""
    same = all(s.objective == s.utility for s in solutions if s.objective is not None)
    return "utility" if same else "objective"


def draw_band(axes: Axes, points: Sequence[tuple[float, float, float]], label: str) -> None:
    """The room between what was reached and what is proved to be out of reach: (budget, reached, bound)."""
    drawn = sorted(p for p in points if all(map(math.isfinite, p)))
    if not drawn:
        return
    budgets, reached, proved = (list(column) for column in zip(*drawn, strict=True))
    # what a larger budget cannot reach, a smaller one cannot
    bounds = [min(proved[i:]) for i in range(len(proved))]
    axes.fill_between(budgets, reached, bounds, color="#888888", alpha=0.25, linewidth=0)
    axes.plot(budgets, bounds, color="#888888", linewidth=1.0, linestyle="--", label=label)


def frontier_figure(frontier: Budgeted) -> Figure:
    """The objective against the budget, with the checked bound as a band.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.

    Examples
    --------
    >>> import privopt as po
    >>> problem = po.Redaction(po.MarkovChain([[0.75, 0.25], [0.5, 0.5]]), 5, 2, epsilon=1.0)
    >>> frontier_figure(po.frontier(problem, [0.5, 1.0], "windows")).axes[0].get_xlabel()
    'budget (nats)'
    """
    figure, axes = new_figure()
    pairs = list(zip(frontier.budgets, frontier.solutions, strict=True))
    reached = [(b, s.objective) for b, s in pairs if s.objective is not None]
    name = measured(frontier.solutions)
    draw_line(axes, reached, name, 0)
    bounds = [(b, s.objective, s.bound) for b, s in pairs if s.objective is not None and s.bound is not None]
    draw_band(axes, bounds, "checked bound")
    axes.set_title("the most that each budget allows", fontsize=10)
    unit = next((s.leakage_unit for s in frontier.solutions), NATS)
    axes.set_xlabel(f"budget ({unit})" if unit else "budget")
    axes.set_ylabel(name)
    if bounds:
        axes.legend(frameon=False)
    return figure


def comparison_figure(comparison: Solutions) -> Figure:
    """The objective by solver, best first, with the best checked bound; what has no answer says its status.

    Bars where longer is better; dots where objectives are below 0 (minus a leakage, minus an error).

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    """
    solutions = comparison.solutions
    figure, axes = new_figure(height=0.9 + 0.42 * max(2, len(solutions)))
    reached = [s.objective for s in solutions if s.objective is not None]
    negative = min(reached, default=0.0) < 0
    for place, solution in enumerate(solutions):
        if solution.objective is None:
            status = solution.status.name.lower().replace("_", " ")
            axes.annotate(f" {status}", (min(0.0, *reached) if reached else 0.0, place), va="center")
            continue
        if negative:  # a bar from 0 would be longest for the worst answer
            axes.plot([solution.objective], [place], "o", color=COLOURS[0])
        else:
            axes.barh(place, solution.objective, height=0.6, color=COLOURS[0])
        axes.annotate(f"  {solution.objective:.4g}", (solution.objective, place), va="center")
    bound = min((s.bound for s in solutions if s.bound is not None), default=math.inf)
    if math.isfinite(bound):
        axes.axvline(bound, color="#888888", linestyle="--", label=f"checked bound {bound:.4g}")
        axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    axes.set_yticks(range(len(solutions)), [s.solver for s in solutions])
    axes.invert_yaxis()
    axes.margins(x=0.15)
    axes.set_title("what each solver reaches; further right is better", fontsize=10, pad=24)
    axes.set_xlabel(measured(solutions))
    axes.set_ylabel("solver")
    return figure

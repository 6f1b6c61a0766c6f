"""The figures and tables of the redaction paper, with ours beside them.

Source: Massny, Bitar, Ye, El Rouayheb, "Between Close Enough to Reveal and Far Enough to Protect", Table I, Example 1
and Figures 2 to 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from privopt.benchmarks.report.document import figure_style, svg
from privopt.core.dispatch import solve
from privopt.core.solution import Solution
from privopt.core.solver import Solver
from privopt.errors import NotSolved
from privopt.measures import data_independent_bound, influence, redaction_leakage
from privopt.mechanisms import RedactionMechanism
from privopt.models import MarkovChain
from privopt.plots.curves import COLOURS, MARKERS, draw_line, new_figure
from privopt.problems.redaction.problem import Redaction
from privopt.solvers.redaction.constant import ConstantSearch

if TYPE_CHECKING:
    import pandas as pd


LEVEL = 0.15
"""Level of Figure 2, which the paper does not print."""
PRINTED = {(0, 0): "3/2", (0, 1): "1/2", (1, 0): "2/3", (1, 1): "2"}
"""Table I by (x, x2)."""
CHOICE = 0.125
"""The redaction probability of Example 1."""
BOUND, QUILT = "Theorem 2 as printed", "MQ, Algorithm 1"
CLOSED, CONSTANT = "3R, closed form", "3R, best constant"
WINDOW, RELAXED = "ours: best window", "ours: relaxation"
BRIEF = 2.0
"""Seconds for a sequential mechanism, which is found in a quarter of them: its bound is not drawn."""
OPTIMUM, SEQUENTIAL = "ours: optimum", "ours: sequential"
SOLVERS: dict[str, str | Solver[Any]] = {
    QUILT: "markov-quilt",
    CLOSED: "constant-closed-form",
    CONSTANT: ConstantSearch(all_regions=False),
    WINDOW: "windows",
    RELAXED: "relaxation",
    OPTIMUM: "optimal",
}


def example_chain() -> MarkovChain:
    """The chain of Example 1, Table I and Figure 2."""
    return MarkovChain([[0.75, 0.25], [0.5, 0.5]])


def figure_problem(epsilon: float, form: str = "local") -> Redaction:
    """Ten records of the chain of Figures 3 and 4, the first private."""
    return Redaction(MarkovChain([[0.99, 0.01], [0.8, 0.2]]), 10, 0, epsilon, form=form)


def proved(
    problem: Redaction, solver: str | Solver[Any], time_limit: float = 10.0
) -> tuple[float, Solution[RedactionMechanism]]:
    """Utility and solution of a solver whose mechanism was proved private.

    Raises
    ------
    NotSolved
        If there is no such mechanism.
    """
    solution = solve(problem, solver, time_limit=time_limit)
    if solution.utility is None or not solution.certified:
        raise NotSolved(f"{solver} on {problem!r}: {solution.status.name}, {solution.reason}")
    return solution.utility, solution


def table_one() -> pd.DataFrame:
    """The four likelihood ratios."""
    import pandas as pd

    step = example_chain().transition
    rows = [(x, y, printed, float(step[x, y] / step[1 - x, y])) for (x, y), printed in PRINTED.items()]
    return pd.DataFrame(rows, columns=["x", "x2", "printed", "computed"])


def example_one() -> pd.DataFrame:
    """What can be done with two records."""
    import pandas as pd

    problem = Redaction(example_chain(), 2, 0, 0.5)
    paper = np.array([[1.0, 1.0], [CHOICE, 1.0]])
    chosen = problem.evaluate(RedactionMechanism(paper))
    rows: list[tuple[str, float, float, float]] = [
        ("the paper's choice", CHOICE, chosen.utility, redaction_leakage(problem.chain, 0, paper))
    ]
    for name in (WINDOW, CLOSED, OPTIMUM):
        utility, solution = proved(problem, SOLVERS[name])
        rows.append((name, float(solution.mechanism.probabilities[1, 0]), utility, solution.leakage or 0.0))
    return pd.DataFrame(rows, columns=["mechanism", "q₂", "utility", "leakage"])


def influences() -> pd.DataFrame:
    """Figure 2: both influences and the region by distance."""
    import pandas as pd

    chain, rows = example_chain(), []
    for d in range(1, 7):
        zero, one = influence(chain, 0, d).tolist()
        region = "S" if max(zero, one) <= LEVEL else "M" if min(zero, one) <= LEVEL else "L"
        rows.append((d, zero, one, region))
    return pd.DataFrame(rows, columns=["distance", "value 0", "value 1", "region"])


def middle() -> pd.DataFrame:
    """Redaction probabilities by value around the middle of nine records of the chain of Figure 2."""
    import pandas as pd

    problem = Redaction(example_chain(), 9, 4, 2 * LEVEL)
    columns: dict[str, list[float]] = {"distance": list(range(-4, 5))}
    for name in (CLOSED, OPTIMUM):
        table = proved(problem, SOLVERS[name])[1].mechanism.probabilities
        for value in (0, 1):
            columns[f"{name}, value {value}"] = table[:, value].tolist()
    return pd.DataFrame(columns)


def utilities(quick: bool) -> pd.DataFrame:
    """Figure 3: utility by budget."""
    import pandas as pd

    budgets = np.arange(1, 21) * 0.25 if quick else np.arange(1, 101) * 0.05
    return pd.DataFrame([_utilities(round(float(budget), 10)) for budget in budgets])


def _utilities(budget: float) -> dict[str, float]:
    problem = figure_problem(budget)
    bound = data_independent_bound(problem.chain, problem.length, 0, budget, corrected=False)
    by_solver = {name: proved(problem, solver)[0] for name, solver in SOLVERS.items()}
    ordered = proved(figure_problem(budget, "sequential"), "sequential", BRIEF)[0]
    return {"ε": budget, BOUND: bound, **by_solver, SEQUENTIAL: ordered}


def probabilities() -> pd.DataFrame:
    """Figure 4: probability of hiding a zero, by record."""
    import pandas as pd

    columns: dict[str, list[float]] = {"record": list(range(1, 11))}
    for name in (QUILT, CLOSED, CONSTANT, OPTIMUM):
        columns[name] = proved(figure_problem(1.0), SOLVERS[name])[1].mechanism.probabilities[:, 0].tolist()
    ordered = proved(figure_problem(1.0, "sequential"), "sequential", BRIEF)[1]
    columns[SEQUENTIAL] = ordered.mechanism.probabilities[:, 0].tolist()
    return pd.DataFrame(columns)


_OURS = (RELAXED, OPTIMUM, SEQUENTIAL)
_SHADES = {"L": 0.30, "M": 0.17, "S": 0.06}


def draw_influences(frame: pd.DataFrame, level: float, identifier: str) -> str:
    """Influence by distance, the level, and the three regions as bands.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    """
    with figure_style():
        figure, axes = new_figure(5.6, 3.4)
        for place, name in enumerate(("value 1", "value 0")):
            draw_line(axes, list(zip(frame["distance"], frame[name], strict=True)), name, place)
        axes.axhline(level, color="#888888", linestyle="--", linewidth=1.0, label=f"ε′ = {level:g}")
        for distance, region in zip(frame["distance"], frame["region"], strict=True):
            axes.axvspan(distance - 0.5, distance + 0.5, color="#888888", alpha=_SHADES[region], linewidth=0)
            axes.annotate(
                region, (distance, 1.0), xycoords=("data", "axes fraction"), ha="center", va="bottom"
            )
        axes.set_xlim(0.5, len(frame) + 0.5)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("distance from the private record")
        axes.set_ylabel("influence (nats)")
        axes.legend(frameon=False)
        return svg(figure, identifier, "Influence of each value against distance, with the three regions")


def draw_utilities(frame: pd.DataFrame, identifier: str) -> str:
    """Utility by budget: the paper's curves dashed, ours drawn through; the bound as steps.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    """
    with figure_style():
        figure, axes = new_figure(7.2, 4.6)
        axes.step(frame["ε"], frame[BOUND], where="post", color="#888888", linewidth=1.4, label=BOUND)
        for place, name in enumerate((QUILT, CLOSED, CONSTANT, *_OURS)):
            axes.plot(
                frame["ε"],
                frame[name],
                color=COLOURS[place],
                linestyle="-" if name in _OURS else "--",
                drawstyle="steps-post" if name == QUILT else "default",
                marker=MARKERS[place],
                markevery=max(1, len(frame) // 10),
                markersize=4.5,
                markerfacecolor="none",
                linewidth=1.4,
                label=name,
            )
        axes.set_xlim(left=0)
        axes.set_xlabel("ε (nats)")
        axes.set_ylabel("utility")
        axes.legend(frameon=False, loc="lower right", fontsize=8.5)
        return svg(figure, identifier, "Utility against the budget, ten records with the first private")


def draw_bars(frame: pd.DataFrame, label: str, identifier: str) -> str:
    """Redaction probabilities, a group of bars a record; the first column is the axis.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    """
    axis, *names = [str(name) for name in frame.columns]
    width = 0.84 / len(names)
    with figure_style():
        figure, axes = new_figure(7.2, 3.4)
        for place, name in enumerate(names):
            middle = frame[axis] + (place - (len(names) - 1) / 2) * width
            axes.bar(middle, frame[name], 0.9 * width, color=COLOURS[place], label=name)
        axes.set_xticks(np.asarray(frame[axis]))
        axes.set_xlabel(label)
        axes.set_ylabel("Pr(hidden)")
        axes.set_ylim(0, 1.02)
        axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, fontsize=8.5)
        return svg(figure, identifier, f"How often records are hidden, by {label} and by mechanism")

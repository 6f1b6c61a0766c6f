"""Figures of comparisons and frontiers."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import privopt as po
from privopt.errors import MissingExtra
from privopt.plots.curves import new_figure

CHAIN = po.MarkovChain([[0.75, 0.25], [0.5, 0.5]])
PROBLEM = po.Redaction(CHAIN, 4, 1, epsilon=1.0)


def solution(solver: str, objective: float | None, bound: float | None = None) -> po.Solution[Any]:
    status = po.Status.REFUSED if objective is None else po.Status.GAP
    return po.Solution(status, solver=solver, utility=objective, objective=objective, bound=bound)


def texts(axes: Any) -> list[str]:
    return [text.get_text().strip() for text in axes.texts]


def test_comparison_shows_every_solver_and_why_one_has_no_bar() -> None:
    pytest.importorskip("matplotlib")
    solutions = (solution("good", 0.6, 0.7), solution("plain", 0.5), solution("shy", None))
    axes = po.Comparison(PROBLEM, solutions).plot().axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["good", "plain", "shy"]
    assert texts(axes) == ["0.6", "0.5", "refused"]
    assert len(axes.patches) == 2
    assert axes.get_xlabel() == "utility"
    legend = axes.get_legend()
    assert legend is not None
    assert [t.get_text() for t in legend.get_texts()] == ["checked bound 0.7"]


def test_comparison_of_nothing_solved_is_drawn() -> None:
    pytest.importorskip("matplotlib")
    assert po.Comparison(PROBLEM, (solution("shy", None),)).plot().axes[0].get_legend() is None


def test_frontier_draws_finite_points_and_the_band() -> None:
    pytest.importorskip("matplotlib")
    budgets = (0.5, 1.0, float("inf"))
    solutions = (solution("a", 0.2, 0.4), solution("a", 0.5, 0.5), solution("a", 0.75))
    axes = po.Frontier(PROBLEM, budgets, solutions).plot().axes[0]
    curve = next(line for line in axes.lines if line.get_label() == "utility")
    assert np.asarray(curve.get_xdata()).tolist() == [0.5, 1.0]
    assert np.asarray(curve.get_ydata()).tolist() == [0.2, 0.5]
    assert len(axes.collections) == 1


def test_frontier_of_real_solutions() -> None:
    pytest.importorskip("matplotlib")
    axes = po.frontier(PROBLEM, [0.5, 1.0], "windows").plot().axes[0]
    assert axes.get_xlabel() == "budget (nats)"
    assert axes.get_ylabel() == "utility"


def test_an_objective_that_is_not_the_utility_is_called_so() -> None:
    pytest.importorskip("matplotlib")
    solutions = po.Solution[Any](po.Status.FEASIBLE, solver="a", utility=1.0, objective=-0.3)
    assert po.Frontier(PROBLEM, (1.0,), (solutions,)).plot().axes[0].get_ylabel() == "objective"


def test_without_matplotlib_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra, match=r'plots need matplotlib: pip install "privopt\[plot\]"'):
        new_figure()

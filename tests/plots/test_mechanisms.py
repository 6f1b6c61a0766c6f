"""A picture of the mechanism for every kind of problem, with titles and named axes."""

from __future__ import annotations

import io
from typing import Any

import pytest

import privopt as po
from privopt.core.problem import Problem
from privopt.core.registry import problem_types
from privopt.plots.mechanisms import mechanism_figure

pytest.importorskip("matplotlib")
from matplotlib.patches import Rectangle


@pytest.mark.parametrize("name", problem_types())
def test_every_kind_has_a_picture(name: str) -> None:
    problem: Problem[Any] = problem_types()[name].examples()[-1].problem
    figure = mechanism_figure(problem, problem.anchor())
    figure.savefig(io.BytesIO(), format="png")
    axes = figure.axes[0]
    assert axes.get_title()
    assert not axes.axison or (axes.get_xlabel() and axes.get_ylabel())


def test_a_large_table_names_some_of_its_symbols_only() -> None:
    joint = po.JointDistribution.normalised([[1] * 300, [2] * 300], useful=[f"${i}$" for i in range(300)])
    solution = po.solve(po.LocalInformationPrivacy(joint, 0.5))
    axes = mechanism_figure(po.LocalInformationPrivacy(joint, 0.5), solution.mechanism).axes[0]
    assert len(axes.get_yticks()) <= 30


def test_a_noisy_answer_shows_the_share_of_answers() -> None:
    solution = po.solve(po.BayesianPrivacy(po.GroupModel(2), "count", 1.0, mechanism="discrete_laplace"))
    figure = solution.plot()
    assert figure.axes[0].get_xlabel() == "error of the count (in its own unit)"
    heights = sum(
        patch.get_height()
        for patch in figure.axes[0].patches
        if isinstance(patch, Rectangle) and patch.get_width() < 1
    )
    assert heights == pytest.approx(1.0, abs=0.03)


def test_the_worst_answer_has_no_longest_bar() -> None:
    problem = po.PrivacyFunnel(po.JointDistribution([[0.4, 0.1], [0.1, 0.4]]), min_utility=0.3)
    comparison = po.compare(problem)
    assert min(s.objective for s in comparison if s.objective is not None) < 0
    assert not comparison.plot().axes[0].patches

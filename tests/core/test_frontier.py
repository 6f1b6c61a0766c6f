"""Curves over budgets are monotone and start from their neighbours; no solver by name beats a portfolio that has run it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import privopt as po

JOINT = po.JointDistribution.normalised(np.random.default_rng(3).dirichlet(np.ones(5), 3))
PROBLEM = po.LocalInformationPrivacy(JOINT, 1.0)
BUDGETS = (0.4, 0.8, 1.2)


@dataclass(frozen=True)
class Erratic(po.Solver[po.LocalInformationPrivacy]):
    """Has a good answer at one budget; elsewhere the one that reveals nothing."""

    solves: ClassVar = po.LocalInformationPrivacy
    name: ClassVar[str] = "erratic"
    guaranteed: ClassVar[po.Guarantee | None] = po.Guarantee.FEASIBLE
    at: float = BUDGETS[0]

    def cost(self, problem: po.LocalInformationPrivacy) -> float:
        return 0.01

    def run(self, problem: po.LocalInformationPrivacy, budget: po.Budget) -> po.Proposal:
        if problem.budget != self.at:
            return po.Proposal(problem.safe())
        return po.Proposal(po.solve(problem, "subset-merging").mechanism)


@dataclass(frozen=True)
class Remembering(Erratic):
    """Brings back what it starts from, where its own budget is another."""

    name: ClassVar[str] = "remembering"

    def run(self, problem: po.LocalInformationPrivacy, budget: po.Budget) -> po.Proposal:
        return po.Proposal(budget.incumbent) if problem.budget != self.at else super().run(problem, budget)


@pytest.mark.parametrize("at", BUDGETS)
def test_a_curve_rises_though_its_solver_is_erratic(at: float) -> None:
    frontier = po.frontier(PROBLEM, BUDGETS, Erratic(at), time_limit=5.0)
    values = [s.objective for s in frontier]
    best = po.solve(PROBLEM.with_budget(at), "subset-merging").objective
    assert best is not None
    assert best > 0
    assert values == [best if budget >= at else 0.0 for budget in BUDGETS]
    assert all(s.certified for s in frontier)
    assert [s.certificate.budget for s in frontier if s.certificate is not None] == list(BUDGETS)


def test_a_solver_starts_from_the_answer_at_the_neighbouring_budget() -> None:
    first, *others = po.frontier(PROBLEM, BUDGETS, Remembering(), time_limit=5.0)
    assert first.objective is not None
    assert first.objective > 0
    for solution in others:
        assert solution.solver == "remembering"
        assert solution.reason != "carried over from a neighbouring budget"
        assert solution.answer == first.answer


def test_under_a_floor_the_harder_budget_answers_the_easier_one() -> None:
    problem = po.PrivacyFunnel(JOINT, min_utility=0.1)
    frontier = po.frontier(problem, (0.1, 0.3, 0.6, 0.9), "greedy", time_limit=5.0)
    leaks = [s.leakage for s in frontier if s.leakage is not None]
    assert len(leaks) == 4
    assert leaks == sorted(leaks)


PROBLEMS: tuple[po.Problem[Any], ...] = (
    PROBLEM,
    po.LocalInformationPrivacy(JOINT, 1.0, notion="ldp"),
    po.PointwiseMaximalLeakage(JOINT, 0.5),
    po.PrivacyFunnel(JOINT, theta_fraction=0.6, form="merging"),
    po.PrivacyFunnel(JOINT, max_leakage=0.0),
    po.DistortionPrivacy(JOINT, 1.0 - np.eye(5), max_leakage=0.5, leakage="ldp"),
    po.BeliefRelease([0.2, 0.3, 0.5], 1.0, "l1"),
)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: f"{type(p).__name__}-{p.budget:.3g}")
def test_no_solver_by_name_has_a_better_certified_answer(problem: po.Problem[Any]) -> None:
    solution = po.solve(problem, time_limit=20.0)
    here = [c.name for c in po.candidates(problem) if c.refusal is None and c.polls]
    compared = po.compare(problem, here, time_limit=20.0)
    assert solution.objective is not None
    room = 1e-6 * problem.scale(solution)
    for other in compared:
        if other.certified and other.objective is not None:
            assert other.objective <= solution.objective + room, other.solver
            assert solution.bound is None or other.objective <= solution.bound

"""One letter whose belief is known to lie in a set."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from oracles import attacks

import privopt as po


@pytest.mark.parametrize(("radius", "error"), [(0, 0.154509365), (0.1, 0.188070919), (1, 0.268941421)])
def test_known_errors(radius: float, error: float) -> None:
    problem = po.BeliefRelease(po.RowSet.total_variation([0.7, 0.3], radius), 1.0)
    solution = po.solve(problem)
    assert solution.status is po.Status.OPTIMAL
    assert solution.objective == pytest.approx(-error, abs=1e-8)
    assert po.verify(problem, solution).ok
    assert solution.certificate is not None
    assert "beliefs" in solution.certificate.distributions


def test_a_grid_of_beliefs_never_leaks_more() -> None:
    problem = po.BeliefRelease(po.RowSet.interval([0.2, 0.2, 0.1], [0.5, 0.6, 0.4]), 0.5, "l1")
    solution = po.solve(problem)
    grid = np.linspace(0, 1, 21)
    for a in grid:
        for b in grid:
            belief = np.array([a, b, 1 - a - b])
            if (belief >= [0.2, 0.2, 0.1]).all() and (belief <= [0.5, 0.6, 0.4]).all():
                alone = po.BeliefRelease(belief / belief.sum(), 0.5, "l1")
                assert alone.evaluate(solution.mechanism).leakage <= 0.5 + 1e-9


def test_one_belief_as_a_set_is_that_belief() -> None:
    alone = po.BeliefRelease([0.5, 0.25, 0.25], 0.75)
    over = po.BeliefRelease(po.RowSet.total_variation([0.5, 0.25, 0.25], 0), 0.75)
    channel = po.Channel([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]])
    assert over.certify(channel).leakage == alone.certify(channel).leakage
    assert po.solve(over).objective == pytest.approx(po.solve(alone).objective, abs=1e-9)


def test_files_labels_and_refusals() -> None:
    problem = po.BeliefRelease(po.RowSet.all(2), 0.5, letters=["no", "yes"])
    again = po.problem_from_dict(problem.to_dict())
    assert again == problem
    assert again.fingerprint == problem.fingerprint
    assert problem.evaluate(po.Channel(np.eye(2), ["no", "yes"], ["no", "yes"])).worst[0] in ("no", "yes")
    assert po.solve(po.BeliefRelease(po.RowSet.all(2), 0.0)).status is po.Status.OPTIMAL
    assert po.solve(po.BeliefRelease(po.RowSet.all(2), math.inf)).objective == 0.0
    odd = po.BeliefRelease(po.RowSet.total_variation([1.0, 0.0], 0.25), 0.5)
    assert "probability 0" in str(po.solve(odd, "cuts").reason)
    repaired = problem.repair(po.Channel(np.eye(2), ["no", "yes"], ["no", "yes"]), 2.0**-36)
    assert problem.certify(repaired.quantised()).ok


def test_letters_with_hardly_any_mass_do_not_divide_by_zero() -> None:
    beliefs = po.RowSet.interval([0.0, 0.0, 0.5], [0.5, 1e-12, 1.0])
    problem = po.BeliefRelease(beliefs, 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution = po.solve(problem, "cuts", time_limit=30.0)
    assert solution.status.ok, solution.reason
    assert solution.certified


def test_releases_next_to_the_budget_are_repaired_without_overflow() -> None:
    for seed in (3001736, 4008216):
        assert attacks.judged(25, seed).faults == []

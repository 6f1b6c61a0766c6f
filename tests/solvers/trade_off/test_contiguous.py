"""Privacy funnels over intervals, nodes and boxes: against every partition of few symbols."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from instances.few import few
from oracles.contiguous import NODES, best, is_interval, tree_joint

import privopt as po
from privopt.errors import InvalidMechanism, InvalidProblem
from privopt.problems import box_partitions

BUDGETS = [{"theta_fraction": 0.5}, {"max_leakage": 0.01}, {"max_leakage": 0.0}, {"trade_off": 0.05}]


def funnel(joint: po.JointDistribution, **options: Any) -> po.PrivacyFunnel:
    return po.PrivacyFunnel(joint, form="merging", contiguous=True, **options)


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("seed", few(range(5), 3))
def test_intervals_are_the_best_of_all(budget: dict[str, float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    joint = po.JointDistribution.normalised(rng.integers(1, 30, (int(rng.integers(2, 4)), 6)))
    problem = funnel(joint, **budget)
    solution = po.solve(problem)
    assert solution.objective == pytest.approx(best(problem, is_interval), abs=1e-12)
    assert solution.status is po.Status.OPTIMAL
    assert po.verify(problem, solution).ok


@pytest.mark.parametrize("budget", BUDGETS)
def test_nodes_are_the_best_of_all(budget: dict[str, float]) -> None:
    joint = tree_joint(np.random.default_rng(8))
    problem = funnel(joint, **budget)
    solution = po.solve(problem)
    known = best(problem, lambda block: {joint.useful[i] for i in block} in NODES)
    assert solution.objective == pytest.approx(known, abs=1e-12)
    assert solution.status is po.Status.OPTIMAL


def test_neighbours_that_are_put_together_have_a_front_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """No weight leads to anything between silence and too much here: the front of the coarser column does."""
    share = 1 / (1 + np.exp((20 - np.arange(40)) / 8))
    joint = po.JointDistribution.normalised(np.stack([share, 1 - share]))
    monkeypatch.setattr(box_partitions, "MOST_BOXES", 60)
    solution = po.solve(funnel(joint, max_leakage=0.05), "contiguous-merging")
    assert solution.certified
    assert solution.utility is not None
    assert solution.leakage is not None
    assert solution.utility > 0.3
    assert solution.leakage <= 0.05


@pytest.mark.parametrize("budget", BUDGETS)
def test_boxes_keep_the_budget(budget: dict[str, float]) -> None:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"age": rng.integers(0, 40, 3000), "school": rng.choice(list("abc"), 3000)})
    frame["s"] = (frame.age + 10 * (frame.school == "c") + rng.normal(0, 15, 3000) > 25).astype(int)
    joint = po.JointDistribution.from_frame(
        frame, "s", ["age", "school"], bins={"age": 5}, order={"school": list("abc")}
    )
    problem = funnel(joint, **budget)
    solution = po.solve(problem, "contiguous-merging")
    assert solution.status.ok
    merging: Any = solution.mechanism
    blocks = [np.flatnonzero(merging.assignment == y).tolist() for y in range(len(merging.blocks))]
    assert problem.shape.fault(blocks) is None
    if "theta_fraction" in budget:
        assert solution.leakage is not None
        assert solution.leakage < 0.8 * problem.evaluate(problem.everything()).leakage


def test_a_missing_value_joins_a_block() -> None:
    rows = [(s, x) for s in (0, 1) for x in "abc" for _ in range(10 + 3 * s)] + [(1, None)] * 4
    joint = po.JointDistribution.from_frame(
        pd.DataFrame(rows, columns=["s", "x"]), "s", "x", order={"x": list("abc")}, missing="symbol"
    )
    for budget in BUDGETS:
        problem = funnel(joint, **budget)
        solution = po.solve(problem)
        assert solution.status.ok
        known = best(problem, lambda block: is_interval([i for i in block if i < 3] or [0]))
        assert known is not None
        assert solution.objective is not None
        assert solution.objective <= known + 1e-12


def test_what_does_not_fit_is_refused() -> None:
    joint = po.JointDistribution.normalised([[3, 1, 2], [1, 2, 4]])
    with pytest.raises(InvalidProblem, match='give form="merging"'):
        po.PrivacyFunnel(joint, max_leakage=0.1, contiguous=True)
    problem = funnel(joint, max_leakage=0.1)
    with pytest.raises(InvalidMechanism, match="leaves 1 out"):
        problem.evaluate(po.Merging([[0, 2], [1]], range(3)))
    again = po.problem_from_dict(json.loads(json.dumps(problem.to_dict())))
    assert (again, again.contiguous, again.fingerprint) == (problem, True, problem.fingerprint)
    assert problem.with_budget(0.2).contiguous
    plain = po.PrivacyFunnel(joint, max_leakage=0.1, form="merging")
    assert "contiguous" not in plain.to_dict()
    impossible = po.solve(funnel(joint, min_utility=5.0))
    assert impossible.status is po.Status.INFEASIBLE

"""Argument validation of a redaction problem, its files and its edge cases."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from instances.few import few

import privopt as po

CHAIN = po.MarkovChain([[0.9, 0.1], [0.4, 0.6]])


@pytest.mark.parametrize(
    ("change", "fragment"),
    [
        ({"chain": [[0.9, 0.1], [0.4, 0.6]]}, "chain must be a MarkovChain"),
        ({"length": 0}, "length must be >= 1"),
        ({"length": 2.5}, "length must be an integer"),
        ({"length": True}, "length must be an integer"),
        ({"private": 5}, "private record 5 is outside 0 .. 4"),
        ({"private": -1}, "outside"),
        ({"private": ()}, "at least one record"),
        ({"private": (1, 1)}, "repeat"),
        ({"private": "2"}, "private must be an integer"),
        ({"epsilon": -0.1}, "epsilon must be >= 0"),
        ({"epsilon": math.nan}, "epsilon must be a number"),
        ({"epsilon": "much"}, "epsilon must be a number"),
        ({"weights": [1, 1]}, "weights must be 5 numbers"),
        ({"weights": [1, 1, -1, 1, 1]}, r"weights\[2\] = -1.0"),
        ({"weights": [1, 1, math.inf, 1, 1]}, r"weights\[2\] = inf"),
        ({"weights": [0] * 5}, "positive finite sum"),
        ({"weights": "heavy"}, "weights must be 5 numbers"),
        ({"form": "global"}, "form must be"),
        ({"form": "sequential", "private": (1, 3)}, "one private record"),
        (
            {"length": 9, "chain": po.MarkovChain([[[0.5, 0.5]] * 2] * 3, initial=[0.5, 0.5])},
            "exceeds the 4 records",
        ),
    ],
)
def test_bad_questions(change: dict[str, Any], fragment: str) -> None:
    fields: dict[str, Any] = {"chain": CHAIN, "length": 5, "private": 2, "epsilon": 1.0, **change}
    weights, form = fields.pop("weights", None), fields.pop("form", "local")
    with pytest.raises(po.errors.InvalidProblem, match=fragment):
        po.Redaction(*fields.values(), weights=weights, form=form)


def test_one_record() -> None:
    solution = po.solve(po.Redaction(CHAIN, 1, 0, 1.0))
    assert (solution.utility, solution.leakage) == (0.0, 0.0)


def test_no_budget() -> None:
    assert po.solve(po.Redaction(CHAIN, 6, 2, 0.0)).utility == 0.0
    independent = po.MarkovChain([[0.3, 0.7], [0.3, 0.7]])
    solution = po.solve(po.Redaction(independent, 6, 2, 0.0))
    assert solution.utility == pytest.approx(5 / 6)
    assert solution.certified


def test_budget_for_all_and_without_limit() -> None:
    for epsilon in (10.0, math.inf):
        solution = po.solve(po.Redaction(CHAIN, 6, 2, epsilon))
        assert solution.utility == pytest.approx(5 / 6)
        assert solution.certified


def test_a_constant_private_record_costs_nothing() -> None:
    still = po.MarkovChain([[1.0, 0.0], [0.5, 0.5]], initial=[1.0, 0.0])
    solution = po.solve(po.Redaction(still, 4, 1, 0.0))
    assert solution.leakage == 0.0
    assert solution.utility == 1.0


def test_infinite_influences() -> None:
    cycle = po.MarkovChain([[0.5, 0.5], [1.0, 0.0]])
    solution = po.solve(po.Redaction(cycle, 6, 0, 0.5))
    assert solution.certified
    assert solution.utility is not None
    assert 0 < solution.utility < 5 / 6


@pytest.mark.long
def test_files_round_trip(tmp_path: Any) -> None:
    problem = po.Redaction(CHAIN, 5, (1, 3), math.inf, weights=[1, 2, 3, 4, 0.1])
    fields = problem.to_dict()
    assert fields["epsilon"] == "inf"
    assert po.problem_from_dict(fields) == problem
    solution = po.solve(problem)
    solution.save(tmp_path / "s.json")
    again = po.Solution.load(tmp_path / "s.json")
    assert again == solution
    assert po.verify(problem, again).ok


@pytest.mark.parametrize("seed", few(range(20), 6))
def test_mirroring_and_relabelling_change_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    alpha, beta, n = rng.uniform(0.05, 0.95), rng.uniform(0.05, 0.95), int(rng.integers(2, 9))
    p, epsilon = int(rng.integers(n)), float(rng.uniform(0.1, 2))
    chain = po.MarkovChain.normalised([[1 - alpha, alpha], [beta, 1 - beta]])
    swapped = po.MarkovChain.normalised([[1 - beta, beta], [alpha, 1 - alpha]])
    utility = po.solve(po.Redaction(chain, n, p, epsilon)).utility
    assert po.solve(po.Redaction(chain, n, n - 1 - p, epsilon)).utility == pytest.approx(utility, abs=1e-7)
    assert po.solve(po.Redaction(swapped, n, p, epsilon)).utility == pytest.approx(utility, abs=1e-7)


def test_independence_up_to_rounding_is_not_independence() -> None:
    problem = po.Redaction(po.MarkovChain([[0.7, 0.3], [0.7, 1 - 0.7]]), 4, 1, 0.0)
    for solver in ("windows", "relaxation", None):
        solution = po.solve(problem, solver)
        assert solution.certified
        assert solution.utility == 0.0

"""A private record of every period of a binary stream: parts solved one by one, and a bound of the whole."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import privopt as po
from privopt.problems.redaction.parts import cuts, parts

PLAIN = po.MarkovChain([[0.75, 0.25], [0.4, 0.6]])
DAY = po.MarkovChain.periodic(
    [
        [[0.9, 0.1], [0.4, 0.6]],
        [[0.75, 0.25], [0.5, 0.5]],
        [[0.5, 0.5], [0.25, 0.75]],
        [[0.6, 0.4], [0.5, 0.5]],
    ]
)
STICKY = po.MarkovChain([[0.95, 0.05], [0.1, 0.9]])
STEPS = DAY.unrolled(12)


@pytest.mark.parametrize("chain", [PLAIN, DAY, STEPS], ids=["plain", "day", "steps"])
@pytest.mark.parametrize("epsilon", [0.7, 1.5])
def test_the_parts_together_are_optimal_where_each_ends_with_a_full_release(
    chain: po.MarkovChain, epsilon: float
) -> None:
    problem = po.Redaction(chain, 12, 1, epsilon, period=4)
    solution = po.solve(problem, "optimal", time_limit=5.0)
    assert solution.certified
    assert solution.bound is not None
    assert solution.utility is not None
    assert solution.bound >= solution.utility
    assert po.verify(problem, solution).ok
    other = po.solve(problem, "joint-search", time_limit=1.0)
    assert other.utility is not None
    assert other.utility <= solution.bound + 1e-12
    for name in ("windows", "relaxation"):
        assert (po.solve(problem, name).utility or 0.0) <= solution.bound + 1e-12


@pytest.mark.parametrize("weights", [None, [1, 2, 0, 3, 1, 1, 1, 5, 1, 1, 2, 1]])
def test_no_private_mechanism_exceeds_the_bound(weights: list[float] | None) -> None:
    """Random tables, repaired to the budget: each is private over the whole stream, and below the bound."""
    problem = po.Redaction(DAY, 12, 2, 1.5, period=4, weights=weights)
    solution = po.solve(problem, "optimal", time_limit=5.0)
    assert solution.bound is not None
    rng = np.random.default_rng(1)
    for _ in range(25):
        table = rng.choice([0.0, 0.3, 0.8, 1.0], (12, 2))
        private = problem.repair(problem.answer(table), 1e-12)
        assert problem.evaluate(private).utility <= solution.bound + 1e-12


def test_a_month_of_hours_is_solved_and_proved_optimal() -> None:
    steps = [[[0.9 - 0.4 * (7 <= h < 23), 0.1 + 0.4 * (7 <= h < 23)], [0.3, 0.7]] for h in range(24)]
    problem = po.Redaction(po.MarkovChain.periodic(steps), 720, 3, 1.0, period=24)
    solution = po.solve(problem, "optimal", time_limit=60.0)
    assert solution.status is po.Status.OPTIMAL
    assert solution.stats["parts"] == 30
    assert solution.stats["different parts"] == 3
    assert solution.utility is not None
    assert solution.utility > (po.solve(problem, "windows").utility or 1.0)


def test_where_parts_reach_into_each_other_the_whole_is_repaired_and_judged() -> None:
    problem = po.Redaction(STICKY, 18, 1, 1.0, period=6)
    solution = po.solve(problem, "optimal", time_limit=5.0)
    assert solution.status.ok
    assert solution.certified
    assert solution.bound is not None
    assert solution.utility is not None
    assert solution.utility <= solution.bound


def test_parts_are_refused_where_they_cannot_be_cut() -> None:
    close = po.Redaction(PLAIN, 6, 0, 1.0, period=1)
    assert po.solve(close, "optimal").status is po.Status.REFUSED
    assert "next to each other" in str(po.solve(close, "optimal"))


def test_listed_private_records_are_those_of_the_period_that_lists_the_same() -> None:
    listed, repeated = po.Redaction(PLAIN, 12, (1, 5, 9), 1.0), po.Redaction(PLAIN, 12, 1, 1.0, period=4)
    one, other = (po.solve(each, "optimal", time_limit=5.0) for each in (listed, repeated))
    assert one.utility == other.utility
    assert one.bound == other.bound


def test_cuts_hold_one_private_record_each() -> None:
    problem = po.Redaction(PLAIN, 30, 3, 1.0, period=8)
    assert problem.private == (3, 11, 19, 27)
    assert cuts(problem) == [0, 8, 16, 24, 30]
    pieces = parts(problem, cuts(problem))
    assert pieces is not None
    assert len({piece.key for piece in pieces}) == 2
    assert sum(piece.share for piece in pieces) == 1
    assert parts(problem, [0, 3, 16, 24, 30]) is None
    assert parts(problem, [0, 30]) is None


@pytest.mark.parametrize(
    "change",
    [
        {"cuts": [0, 4, 8, 11]},
        {"cuts": [0, 12]},
        {"cuts": [0, 1, 8, 12]},
        {"cuts": "all"},
        {"cuts": [0, 4.0, 8, 12]},
        {"duals": []},
        {"duals": [{}, {}, 3]},
        {"duals": [{"kind": "parts", "cuts": [0], "duals": []}] * 3},
        {"more": 1},
    ],
)
def test_damaged_duals_prove_nothing(change: dict[str, Any]) -> None:
    problem = po.Redaction(PLAIN, 12, 1, 1.0, period=4)
    solution = po.solve(problem, "optimal", time_limit=5.0)
    fields = solution.to_dict()
    dual = copy.deepcopy(fields["dual"])
    assert problem.prove_bound(dual) is not None
    assert problem.prove_bound({**dual, **change}) is None


def test_windows_of_chains_keep_the_exact_distribution() -> None:
    for chain, begin in ((DAY, 3), (STEPS, 2), (po.MarkovChain(PLAIN.transition, [1, 0]), 4), (PLAIN, 5)):
        window = chain.window(begin, 4)
        assert window.exact_marginal(0) == chain.exact_marginal(begin)
        for t in range(3):
            assert window.exact_step(t) == chain.exact_step(begin + t)
            assert window.exact_marginal(t + 1) == chain.exact_marginal(begin + t + 1)

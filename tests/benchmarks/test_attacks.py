"""Hostile mechanisms and problems: nothing gets through, and the attack would notice what does."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from oracles import attacks, hostile, hostile_sets

import privopt as po
from privopt.benchmarks.timings.measurement import find_measurement
from privopt.benchmarks.timings.measurements import attacks as measured
from privopt.core.exact import IntegerRow
from privopt.core.judge import judge


def test_hostile_mechanisms_are_certified_only_where_exact_arithmetic_agrees() -> None:
    tally = attacks.judged(220, 5 * 10**5)
    assert tally.faults == []
    assert tally.certified > 60
    assert tally.decided > 30


@pytest.mark.long
def test_many_hostile_mechanisms_and_some_hostile_problems() -> None:
    tally = attacks.solved(60, 6 * 10**5, attacks.judged(5000, 7 * 10**5))
    assert tally.faults == []
    assert tally.decided > 1000


def test_hostile_problems_are_solved_or_refused_in_a_sentence() -> None:
    tally = attacks.solved(2, 8 * 10**5)
    assert tally.faults == []


def careless(problem: po.Problem[Any], proposal: Any, *, certify: bool) -> po.Solution[Any]:
    """A judge who believes what is proposed."""
    solution = judge(problem, proposal, certify=False)
    if not solution.status.ok and solution.status is not po.Status.NOT_PRIVATE:
        return solution
    exact = problem.check(proposal.mechanism)
    certificate = po.Certificate(True, "believed", "", problem.budget, mechanism=exact.fingerprint)
    return replace(solution, status=po.Status.FEASIBLE, answer=exact, certificate=certificate)


def test_a_careless_judge_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attacks, "judge", careless)
    tally = attacks.judged(200, 3)
    assert len(tally.above) > 20


def test_nan_foreign_exceptions_warnings_and_contradictions_are_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tally = attacks.Tally()
    problem = po.BeliefRelease([0.5, 0.5], 1.0)
    solution = po.solve(problem, "closed-form")
    assert solution.objective is not None
    members = attacks._members(problem)
    attacks._examined(tally, "nan", members, replace(solution, utility=float("nan")))
    attacks._examined(
        tally, "text", members, po.Solution(po.Status.FAILED, reason="ZeroDivisionError: division by zero")
    )
    attacks._tried(tally, "warning", lambda: warnings.warn("strange", RuntimeWarning, stacklevel=1))
    attacks._tried(tally, "exception", lambda: 1 / 0)
    attacks._compare(tally, "bound", [solution, replace(solution, bound=solution.objective - 0.1)])
    assert [len(x) for x in (tally.nan, tally.foreign, tally.contradictions)] == [1, 3, 1]
    attacks._examined(tally, "fine", members, solution)
    attacks._compare(tally, "fine", [solution, solution])
    assert len(tally.faults) == 5


def test_a_hang_is_counted_in_processor_time() -> None:
    tally = attacks.Tally()

    def turns() -> None:
        while True:
            pass

    attacks._tried(tally, "asleep", lambda: time.sleep(1.1), 1)
    assert tally.hangs == []
    attacks._tried(tally, "turns", turns, 1)
    assert tally.hangs == ["turns: more than 1 s"]


def test_every_kind_of_problem_is_attacked() -> None:
    assert set(hostile.MADE) == set(hostile.kinds())
    rng = np.random.default_rng(0)
    assert any(p == 5e-324 for _ in range(200) for p in hostile.vector(rng, 4))
    for _ in range(100):
        assert abs(sum(hostile.vector(rng, 4)) - 1) < 1e-9


def test_members_lie_in_their_sets_and_show_what_leaks_at_one() -> None:
    rng = np.random.default_rng(1)
    for _ in range(60):
        allowed = hostile_sets.row_set(rng, 3, [0.5, 0.25, 0.25])
        assert all(allowed.contains(row) for row in hostile_sets.ends(allowed, rng))
    near = po.JointAmbiguity.total_variation(po.JointDistribution([[0.25, 0.25], [0.25, 0.25]]), 0.25)
    problem = po.LocalInformationPrivacy(near, 0.25)
    truth = po.Channel([[1.0, 0.0], [0.0, 1.0]])
    at_nominal = po.LocalInformationPrivacy(near.nominal, 0.25)
    assert attacks._is_private(attacks._members(at_nominal), truth) is True
    assert attacks._is_private(attacks._members(problem), truth) is False


def test_the_sampler_is_audited_and_a_planted_bias_is_noticed() -> None:
    rows = measured.sampler(True)
    assert [row.holds for row in rows] == [True] * len(rows)
    row = IntegerRow((1, 1, 2), 4)
    fair = measured._counts(row, 10**5)
    assert measured.p_value(fair, row) > 1e-9
    assert measured.p_value(fair + np.array([2_000, -2_000, 0]), row) < 1e-9
    never = IntegerRow((0, 1), 1)
    assert measured.p_value(np.array([1, 10**5]), never) == 0.0
    assert find_measurement("sampler").run is measured.sampler


@pytest.mark.parametrize(
    ("kind", "seed"),
    [
        ("judged", 3007235),
        ("judged", 3003776),
        pytest.param("solved", 3000218, marks=pytest.mark.long),
        ("solved", 3000060),
        ("solved", 4009404),
        ("solved", 3000945),
        ("solved", 3001905),
        ("solved", 4004045),
        ("solved", 63007019),
        ("solved", 63007027),
        ("solved", 63010675),
        ("judged", 53013616),
        ("solved", 63014570),
        ("solved", 63018732),
        pytest.param("solved", 63006830, marks=pytest.mark.long),
        pytest.param("solved", 63011723, marks=pytest.mark.long),
    ],
)
def test_faults_of_earlier_attacks_do_not_come_back(kind: str, seed: int) -> None:
    tally = attacks.judged(25, seed) if kind == "judged" else attacks.solved(1, seed)
    assert tally.faults == []
    assert tally.statuses

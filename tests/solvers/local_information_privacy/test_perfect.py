"""Perfect privacy: releases exactly independent of the secret, with weights in fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from instances.channels import joint
from instances.few import few
from scipy.optimize import linprog

import privopt as po
from privopt.problems.local_information_privacy.examples import lecture_joint

PUBLIC_BITS = 1.289061481511739


def exact_joint(problem: po.LocalInformationPrivacy, channel: object) -> list[list[Fraction]]:
    """Distribution of secret and release, entry by entry from the integer weights."""
    assert isinstance(channel, po.Channel)
    leaking = problem.observation.leaking
    n = len(leaking.useful)
    rows = [[Fraction(w, row.total) for w in row.weights] for row in channel.exact()]
    return [
        [
            sum(
                (
                    Fraction(leaking.exact.weights[s * n + w], leaking.exact.total) * rows[w][y]
                    for w in range(n)
                ),
                Fraction(0),
            )
            for y in range(len(rows[0]))
        ]
        for s in range(len(leaking.sensitive))
    ]


def assert_independent(problem: po.LocalInformationPrivacy, channel: object) -> None:
    table = exact_joint(problem, channel)
    p_s = [sum(row) for row in table]
    p_y = [sum(column) for column in zip(*table, strict=True)]
    assert all(a == s * y for s, row in zip(p_s, table, strict=True) for y, a in zip(p_y, row, strict=True))


def perfect(seed: int, utility: object = "mutual_information") -> po.LocalInformationPrivacy:
    """The four ways to ask for independence in turn."""
    forms = (
        {"epsilon": 0.0},
        {"epsilon": 0.0, "notion": "ldp"},
        {"lower": 0.0},
        {"lower": 0.3, "upper": 0.0},
    )
    model = joint(seed, 2 + seed % 3, 4 + seed % 4)
    return po.LocalInformationPrivacy(model, **forms[seed % 4], utility=utility)  # type: ignore[arg-type]


def test_lecture_value() -> None:
    problem = po.LocalInformationPrivacy(lecture_joint(), epsilon=0.0)
    solution = po.solve(problem)
    assert solution.status is po.Status.OPTIMAL
    assert solution.solver == "perfect-privacy"
    assert solution.utility == pytest.approx(PUBLIC_BITS * math.log(2), abs=1e-14)
    assert solution.leakage == pytest.approx(0.0, abs=1e-15)
    assert len(solution.mechanism.outputs) == 6
    assert_independent(problem, solution.mechanism)


def test_rational_double_description_agrees() -> None:
    solution = po.solve(po.LocalInformationPrivacy(lecture_joint(), epsilon=0.0), "vertices-exact")
    assert solution.stats["vertices"] == 26
    assert solution.utility == pytest.approx(PUBLIC_BITS * math.log(2), abs=1e-14)


@pytest.mark.parametrize("seed", few(range(40), 12))
def test_random_tables(seed: int) -> None:
    problem = perfect(seed)
    solution = po.solve(problem, "perfect-privacy")
    assert solution.status is po.Status.OPTIMAL, (solution.reason, solution.stats)
    assert_independent(problem, solution.mechanism)
    other = po.solve(problem, "vertices-exact")
    assert other.utility == pytest.approx(solution.utility, abs=1e-11)


@pytest.mark.parametrize("seed", few(range(24), 8))
def test_distortion_against_a_program_over_the_channel(seed: int) -> None:
    n = len(perfect(seed).observation.p_x)
    matrix = np.random.default_rng(seed).uniform(size=(n, 3))
    problem = perfect(seed, matrix)
    solution = po.solve(problem, "perfect-privacy")
    assert solution.status is po.Status.OPTIMAL, (solution.reason, solution.stats)
    assert_independent(problem, solution.mechanism)
    assert solution.utility == pytest.approx(-least_distortion(problem, matrix), abs=1e-9)


def least_distortion(problem: po.LocalInformationPrivacy, matrix: np.ndarray) -> float:
    """Over joint distributions q(w, y) with q(s, y) = P(s) q(y)."""
    seen = problem.observation
    k, m = len(seen.p_w), matrix.shape[1]
    cost = (seen.x_given_w.T @ matrix).ravel()
    marginal = np.kron(np.eye(k), np.ones((1, m)))
    level = np.kron(seen.s_given_w - seen.p_s[:, None] * (seen.p_w > 0), np.eye(m))
    right = np.concatenate([seen.p_w, np.zeros(len(level))])
    value = linprog(cost, A_eq=np.vstack([marginal, level]), b_eq=right).fun
    assert value is not None
    return value


def test_full_column_rank_allows_nothing() -> None:
    problem = po.LocalInformationPrivacy(po.JointDistribution.normalised([[3, 1], [1, 3]]), epsilon=0.0)
    solution = po.solve(problem)
    assert solution.status is po.Status.OPTIMAL
    assert solution.utility == pytest.approx(0.0, abs=1e-15)


def test_an_independent_secret_costs_nothing() -> None:
    table = po.JointDistribution.normalised(np.outer([1, 2, 3], [4, 1, 5, 2]).tolist())
    solution = po.solve(po.LocalInformationPrivacy(table, epsilon=0.0), "perfect-privacy")
    p = np.array([4, 1, 5, 2]) / 12
    assert solution.status is po.Status.OPTIMAL
    assert solution.utility == pytest.approx(-float((p * np.log(p)).sum()), abs=1e-12)


def test_float_tables_are_taken_as_written() -> None:
    table = np.random.default_rng(3).uniform(size=(3, 8))
    problem = po.LocalInformationPrivacy(po.JointDistribution.normalised(table.tolist()), epsilon=0.0)
    solution = po.solve(problem)
    assert solution.status is po.Status.OPTIMAL
    assert solution.utility is not None
    assert solution.utility > 0.1
    assert_independent(problem, solution.mechanism)


def test_more_symbols_than_secrets_always_leave_something() -> None:
    for seed in range(10):
        table = np.random.default_rng(seed).integers(1, 50, size=(3, 5)).tolist()
        problem = po.LocalInformationPrivacy(po.JointDistribution.normalised(table), epsilon=0.0)
        solution = po.solve(problem)
        assert solution.utility is not None
        assert solution.utility > 1e-6


def test_other_budgets_are_refused_and_tiny_ones_taken() -> None:
    wide = po.solve(po.LocalInformationPrivacy(lecture_joint(), epsilon=0.1), "perfect-privacy")
    assert wide.status is po.Status.REFUSED
    tiny = po.LocalInformationPrivacy(lecture_joint(), epsilon=1e-10)
    solution = po.solve(tiny)
    assert solution.status is po.Status.OPTIMAL
    assert_independent(tiny, solution.mechanism)
    for name in ("vertices-systems", "vertices-cdd", "vertices-exact"):
        assert po.solve(tiny, name).status is po.Status.REFUSED


@pytest.mark.parametrize("name", ["vertices-systems", "vertices-cdd", "direct-lp", "oracle"])
def test_floats_refuse_to_be_exactly_independent(name: str) -> None:
    matrix = 1.0 - np.eye(3)
    table = po.JointDistribution.normalised([[5, 2, 1], [1, 3, 4]])
    solution = po.solve(po.LocalInformationPrivacy(table, epsilon=0.0, utility=matrix), name)
    assert solution.status is po.Status.REFUSED
    assert "exactly independent" in solution.reason


@pytest.mark.long
def test_large_tables_are_answered_by_column_generation() -> None:
    table = np.random.default_rng(0).integers(1, 50, size=(10, 40)).tolist()
    problem = po.LocalInformationPrivacy(po.JointDistribution.normalised(table), epsilon=0.0)
    solution = po.solve(problem, time_limit=6)
    assert solution.solver == "perfect-privacy"
    assert solution.bound is not None
    assert solution.utility is not None
    assert 1.0 < solution.utility <= solution.bound
    assert_independent(problem, solution.mechanism)


@pytest.mark.long
def test_column_generation_reaches_what_the_enumeration_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    every = po.solve(po.LocalInformationPrivacy(lecture_joint(), epsilon=0.0), "perfect-privacy")
    monkeypatch.setattr("privopt.solvers.local_information_privacy.perfect_privacy.ENUMERABLE", -1.0)
    some = po.solve(po.LocalInformationPrivacy(lecture_joint(), epsilon=0.0), "perfect-privacy")
    assert some.status is po.Status.OPTIMAL
    assert some.stats["vertices"] != every.stats["vertices"]
    assert some.utility == pytest.approx(every.utility, abs=1e-11)

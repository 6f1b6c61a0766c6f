"""Observations with the same posterior of the secret are one in a smaller problem, which loses nothing."""

from __future__ import annotations

import copy
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import privopt as po
from privopt.arrays import Floats, Ints
from privopt.core.solver import Budget
from privopt.mechanisms import Channel
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.common import classes
from privopt.solvers.common.classes import divided
from privopt.solvers.local_information_privacy.column_generation import ColumnGeneration

NATS = {
    "lip": {"epsilon": 0.4},
    "ldp": {"epsilon": 0.4, "notion": "ldp"},
    "lower": {"lower": 0.5, "upper": 0.2},
}


def counts(secrets: int, symbols: int, different: int, seed: int = 0) -> list[list[int]]:
    """A table of counts with few different posteriors, one symbol that was never seen among its columns."""
    rng = np.random.default_rng(seed)
    few = rng.integers(0, 5, (secrets, different)) + np.eye(secrets, different, dtype=np.int64)
    which = np.concatenate([np.arange(different), rng.integers(0, different, symbols - different)])
    table = few[:, which] * rng.integers(1, 4, symbols)
    table[:, -1] = 0
    return [[int(v) for v in row] for row in table]


def problem_of(table: list[list[int]], **asked: Any) -> LocalInformationPrivacy:
    return LocalInformationPrivacy(po.JointDistribution.normalised(table), **asked)


def entropy(weights: list[int]) -> float:
    total = sum(weights)
    return -sum(w / total * math.log(w / total) for w in weights if w)


@pytest.mark.parametrize("asked", list(NATS))
def test_the_optimum_is_that_of_classes_and_what_is_left_of_the_symbol(asked: str) -> None:
    """The small problem is solved by vertices, which know nothing of classes."""
    table = counts(3, 70, 7)
    problem = problem_of(table, **NATS[asked])
    columns: dict[tuple[Fraction, ...], list[int]] = {}
    for column in zip(*table, strict=True):
        if any(column):
            key = tuple(Fraction(v, sum(column)) for v in column)
            columns[key] = [a + b for a, b in zip(columns.get(key, [0] * 3), column, strict=True)]
    small = [list(row) for row in zip(*columns.values(), strict=True)]
    optimum = po.solve(problem_of(small, **NATS[asked]), "vertices-cdd")
    within = entropy([sum(c) for c in zip(*table, strict=True)]) - entropy([sum(c) for c in columns.values()])
    found = po.solve(problem, "column-generation")
    assert found.status.name == "OPTIMAL"
    assert found.certified
    assert optimum.objective is not None
    assert found.objective == pytest.approx(optimum.objective + within, abs=1e-6)
    assert found.stats["classes"] == len(columns)
    assert isinstance(found.dual, dict)
    assert found.dual["kind"] == "classes"


def test_two_secrets_have_the_optimum_of_all_pairs_of_symbols() -> None:
    problem = problem_of(counts(2, 90, 9, seed=1), epsilon=0.3)
    found, pairs = (po.solve(problem, name) for name in ("column-generation", "two-secrets"))
    assert found.objective == pytest.approx(pairs.objective, abs=1e-6)
    assert found.bound == pytest.approx(pairs.bound, abs=1e-6)


def test_without_joining_no_more_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problem_of(counts(3, 24, 6, seed=2), epsilon=0.6)
    joined = ColumnGeneration().run(problem, Budget())
    monkeypatch.setattr(classes, "SHARE", 0.0)
    alone = ColumnGeneration().run(problem, Budget())
    assert joined.bound == pytest.approx(alone.bound, abs=1e-6)
    for one, other in ((joined, alone), (alone, joined)):
        assert isinstance(one.mechanism, Channel)
        assert problem.evaluate(one.mechanism).utility <= (other.bound or 0.0) + 1e-9


def test_the_order_of_symbols_changes_nothing() -> None:
    table = np.array(counts(4, 66, 8, seed=3))
    order = np.random.default_rng(0).permutation(66)
    found = [
        po.solve(problem_of(t.tolist(), epsilon=0.5), "column-generation") for t in (table, table[:, order])
    ]
    assert found[0].objective == pytest.approx(found[1].objective, abs=1e-6)


def test_an_answer_of_symbols_is_taken_over() -> None:
    problem = problem_of(counts(3, 70, 7), epsilon=0.4)
    whole = po.solve(problem, "column-generation")
    assert whole.utility is not None
    again = ColumnGeneration().run(problem, Budget(deadline=0.0, incumbent=whole.mechanism))
    assert isinstance(again.mechanism, Channel)
    assert problem.evaluate(again.mechanism).utility >= whole.utility - 1e-6


@pytest.fixture(scope="module")
def proof() -> tuple[LocalInformationPrivacy, float, dict[str, Any]]:
    problem = problem_of(counts(3, 70, 7), epsilon=0.4)
    proposal = ColumnGeneration().run(problem, Budget())
    assert isinstance(proposal.dual, dict)
    return problem, float(proposal.bound or 0.0), proposal.dual


def test_a_proof_is_checked_and_a_changed_one_never_proves_too_much(
    proof: tuple[LocalInformationPrivacy, float, dict[str, Any]],
) -> None:
    problem, bound, dual = proof
    assert problem.check_bound(bound, dual) == pytest.approx(bound, abs=1e-9)
    optimum = po.solve(problem, "column-generation").objective
    assert optimum is not None
    rng = np.random.default_rng(0)
    for _ in range(30):
        bad = copy.deepcopy(dual)
        pi = bad["proof"]["pi"]
        pi[int(rng.integers(len(pi)))] += float(rng.normal()) * 0.1
        proved = problem.check_bound(-math.inf, bad)
        assert proved is None or proved >= optimum - 1e-11


@pytest.mark.parametrize(
    "inner", [None, [], {}, {"kind": "none"}, {"kind": "classes", "proof": {"kind": "analytic"}}]
)
def test_a_proof_without_a_proof_is_none(
    proof: tuple[LocalInformationPrivacy, float, dict[str, Any]], inner: object
) -> None:
    assert proof[0].check_bound(-math.inf, {"kind": "classes", "proof": inner}) is None


@pytest.mark.parametrize(
    "asked",
    [
        {"epsilon": 0.4, "utility": np.eye(70)},
        {"epsilon": 0.4, "notion": "l1"},
        {"upper": [0.4, 0.5, 0.6]},
    ],
)
def test_other_problems_have_no_such_proof(asked: dict[str, Any]) -> None:
    problem = problem_of(counts(3, 70, 7), **asked)
    assert problem.of_classes is None
    assert problem.check_bound(-math.inf, {"kind": "classes", "proof": {"kind": "analytic"}}) is None


@pytest.mark.parametrize("seed", range(5))
def test_divided_releases_say_of_classes_what_they_did_and_name_one_member_of_each(seed: int) -> None:
    rng = np.random.default_rng(seed)
    of: Ints = np.concatenate([np.arange(6), rng.integers(0, 6, 20)])
    p: Floats = rng.dirichlet(np.ones(26))
    shares = rng.dirichlet(np.full(4, 0.3), 6) * (rng.random((6, 4)) < 0.8) + np.eye(6, 4) * 1e-3
    joint = np.bincount(of, p)[:, None] * shares / shares.sum(axis=1, keepdims=True)
    fine = divided(joint, p, of)
    assert fine.sum(axis=1) == pytest.approx(p, abs=1e-11)
    by_class = np.array([fine[of == c].sum(axis=0) for c in range(6)])
    posteriors = {tuple((column / column.sum()).round(9)) for column in joint.T if column.sum() > 0}
    assert {tuple((column / column.sum()).round(9)) for column in by_class.T} == posteriors
    assert max(int((fine[of == c] > 0).sum(axis=0).max()) for c in range(6)) == 1
    assert fine.shape[1] <= joint.shape[1] + len(p)

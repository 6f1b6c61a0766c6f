"""Symbols with the same posterior of the secret are one in a smaller funnel or bottleneck, which loses nothing."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import privopt as po
from privopt.core.solver import Budget, Proposal
from privopt.mechanisms import Channel
from privopt.problems.trade_off.problem import TradeOff
from privopt.solvers.common import classes
from privopt.solvers.trade_off.column_generation import BottleneckColumnGeneration, ColumnGeneration

TABLE = [[4, 1, 2, 8, 3, 2, 0, 4, 12, 0], [1, 3, 0, 2, 9, 1, 0, 0, 3, 0], [2, 2, 5, 4, 6, 1, 0, 10, 6, 0]]
"""Symbols 0, 3 and 8, 1 and 4, and 2 and 7 say the same of the secret; 6 and 9 never occur."""

CLASSES = 4

KINDS: dict[str, Callable[[po.JointDistribution], TradeOff]] = {
    "floor": lambda joint: po.PrivacyFunnel(joint, min_utility=1.9),
    "low-floor": lambda joint: po.PrivacyFunnel(joint, min_utility=0.2),
    "cap": lambda joint: po.PrivacyFunnel(joint, max_leakage=0.02),
    "weight": lambda joint: po.PrivacyFunnel(joint, trade_off=0.2),
    "rate": lambda joint: po.InformationBottleneck(joint, max_rate=0.2),
    "price": lambda joint: po.InformationBottleneck(joint, trade_off=0.05),
}


def problem_of(kind: str) -> TradeOff:
    return KINDS[kind](po.JointDistribution.normalised(TABLE))


def solved(problem: TradeOff, **more: Any) -> Proposal:
    if isinstance(problem, po.PrivacyFunnel):
        return ColumnGeneration().run(problem, Budget(**more))
    assert isinstance(problem, po.InformationBottleneck)
    return BottleneckColumnGeneration().run(problem, Budget(**more))


@cache
def best_of(kind: str) -> tuple[TradeOff, Proposal, Channel]:
    """A problem and its best mixture of posteriors, solved once."""
    problem = problem_of(kind)
    proposal = solved(problem)
    assert isinstance(proposal.mechanism, Channel)
    return problem, proposal, proposal.mechanism


@pytest.mark.parametrize("kind", list(KINDS))
def test_without_joining_the_optimum_is_the_same(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem, one, best = best_of(kind)
    monkeypatch.setattr(classes, "SHARE", 0.0)
    other = solved(problem)
    assert (one.stats.get("classes"), other.stats.get("classes")) == (CLASSES, None)
    assert isinstance(other.mechanism, Channel)
    reading, alone = problem.evaluate(best), problem.evaluate(other.mechanism)
    assert reading.feasible
    assert reading.objective == pytest.approx(alone.objective, abs=3e-6)
    assert problem.check_bound(one.bound or 0.0, one.dual) == pytest.approx(one.bound, abs=1e-8)
    for bound in (one.bound, other.bound):
        assert bound is not None
        assert max(reading.objective, alone.objective) - 1e-9 <= bound <= reading.objective + 3e-6


@pytest.mark.parametrize("kind", ["floor", "price"])
def test_what_is_returned_is_certified_and_closed(kind: str) -> None:
    found = po.solve(problem_of(kind), "column-generation")
    assert found.certified
    assert found.status.name == "OPTIMAL"


@pytest.mark.parametrize("kind", list(KINDS))
def test_an_answer_of_symbols_is_taken_over(kind: str) -> None:
    problem, _, best = best_of(kind)
    again = solved(problem, deadline=0.0, incumbent=best)
    assert isinstance(again.mechanism, Channel)
    before, after = (problem.evaluate(m).objective for m in (best, again.mechanism))
    assert after >= before - 1e-5


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_changed_proof_never_proves_too_much(kind: str) -> None:
    problem, proposal, best = best_of(kind)
    optimum = problem.evaluate(best).objective
    rng = np.random.default_rng(0)
    for _ in range(6):
        bad: Any = copy.deepcopy(proposal.dual)
        prices = bad["proof"].get("pi", [0.0])
        prices[int(rng.integers(len(prices)))] += float(rng.normal()) * 0.1
        proved = problem.check_bound(-math.inf, bad)
        assert proved is None or proved >= optimum - 1e-9


@pytest.mark.parametrize(
    "inner", [None, [], {}, {"kind": "none"}, {"kind": "classes", "proof": {"kind": "analytic"}}]
)
def test_a_proof_without_a_proof_is_none(inner: object) -> None:
    for kind in KINDS:
        assert problem_of(kind).check_bound(-math.inf, {"kind": "classes", "proof": inner}) is None


def test_mergings_have_no_such_proof() -> None:
    problem = po.PrivacyFunnel(po.JointDistribution.normalised(TABLE), min_utility=1.0, form="merging")
    assert problem.of_classes is None
    assert problem.check_bound(-math.inf, {"kind": "classes", "proof": {"kind": "analytic"}}) is None

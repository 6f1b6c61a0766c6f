"""Long redactions are judged by floats with their roundings and by balls: the same as by exact rationals."""

from __future__ import annotations

import math

import numpy as np
import pytest

import privopt as po
from privopt.mechanisms.base import Mechanism
from privopt.problems.redaction import certificate, screen, utility


def _problem(rng: np.random.Generator, case: int) -> po.Redaction:
    k, n = int(rng.integers(2, 5)), int(rng.integers(2, 20))
    step = rng.dirichlet(np.ones(k) * 0.7, size=k)
    if case % 4 == 1:
        step = np.where(step < 0.1, 0, step)
    initial = {1: np.full(k, 1 / k), 2: np.eye(k)[0]}.get(case % 4)
    if case % 4 == 3:
        step, initial = rng.dirichlet(np.ones(k), size=(n - 1, k)), np.full(k, 1 / k)
    weights = rng.random(n) + 0.1 if case % 2 else None
    chain = po.MarkovChain.normalised(step, initial=initial)
    form = "sequential" if case % 5 == 0 else "local"
    return po.Redaction(chain, n, int(rng.integers(n)), 1.0, weights=weights, form=form)


def _mechanism(rng: np.random.Generator, problem: po.Redaction) -> po.RedactionMechanism:
    shape = problem.length, problem.chain.k
    table = np.where(rng.random(shape) < 0.5, 1.0, rng.random(shape))
    table[rng.random(problem.length) < 0.2] = 1
    table[rng.random(problem.length) < 0.05] = 0
    return problem.answer(table).quantised()


@pytest.mark.parametrize("case", range(40))
def test_screened_pairs_agree_with_rationals(case: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(case)
    problem = _problem(rng, case)
    weights = _mechanism(rng, problem).exact()
    (place,) = problem.private
    monkeypatch.setattr(certificate, "EXACT_WORK", math.inf)
    exact = certificate.findings_of(problem, weights)[place]
    monkeypatch.setattr(certificate, "EXACT_WORK", -1.0)
    monkeypatch.setattr(screen, "BLOCK", 1 + case % 4)
    screened = certificate.findings_of(problem, weights)[place]
    assert screened.passes == exact.passes
    assert screened.enclosure == pytest.approx(exact.enclosure, rel=1e-13, abs=1e-15)
    assert screened.by_pair.keys() == exact.by_pair.keys()
    for pair, (low, high) in exact.by_pair.items():
        assert screened.by_pair[pair][0] <= high + 1e-15
        assert screened.by_pair[pair][1] >= low - 1e-15


@pytest.mark.parametrize("case", range(20))
def test_utilities_of_many_records_agree_with_those_of_few(
    case: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(case)
    problem = _problem(rng, case)
    mechanism = _mechanism(rng, problem)
    few = problem.certify(mechanism).utility
    monkeypatch.setattr(utility, "MANY", 0)
    monkeypatch.setattr(utility, "BLOCK", 5)
    many = problem.certify(mechanism).utility
    assert many[0] <= few[1]
    assert few[0] <= many[1] <= few[1] + 1e-13
    assert problem.evaluate(mechanism).utility == pytest.approx(few[0], abs=1e-13)


def test_many_records_are_judged() -> None:
    chain = po.MarkovChain([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.3, 0.1, 0.6]], initial=[1, 0, 0])
    problem = po.Redaction(chain, 10**5, (10, 500, 70_000), 1.0)
    table = np.zeros((10**5, 3))
    for p in problem.private:
        table[max(0, p - 10) : p + 11] = 1
    certificate = problem.certify(problem.answer(table))
    assert certificate.ok
    assert certificate.utility[0] == pytest.approx(1 - 63 / 10**5, rel=1e-12)


def test_fingerprints_are_those_of_the_whole_text() -> None:
    rng = np.random.default_rng(0)
    for rows in (1, 2, 7):
        table = rng.choice([0.0, 0.25, 1.0, rng.random()], size=(rows, 2))
        for mechanism in (
            po.RedactionMechanism(table, ("a", "é")),
            po.RedactionMechanism(table, sequential=0, never=[(rows - 1, 1)]),
        ):
            whole = Mechanism.fingerprint.fget
            assert whole is not None
            assert mechanism.fingerprint == whole(mechanism)

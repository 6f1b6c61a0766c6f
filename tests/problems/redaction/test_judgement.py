"""Evaluation, certificate and repair of redaction mechanisms against plain enumeration."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from instances.few import few
from oracles.enumeration import (
    fractions,
    largest_ratio,
    leakage,
    output_distributions,
    random_chain,
    random_table,
    utility,
)

import privopt as po

KINDS = ("stationary", "started", "stepwise")


def instance(seed: int) -> tuple[po.Redaction, po.RedactionMechanism]:
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 4))
    length = int(rng.integers(1, 6 if k == 2 else 5))
    chain = random_chain(rng, k, KINDS[seed % 3], length)
    private = int(rng.integers(length))
    table = random_table(rng, length, k)
    if rng.random() < 0.8:
        table[private] = 1.0
    weights = rng.random(length) + 0.1 if rng.random() < 0.5 else None
    problem = po.Redaction(chain, length, private, float(rng.exponential(1.5)), weights=weights)
    return problem, po.RedactionMechanism(table).quantised()


def hidden(mechanism: po.RedactionMechanism) -> np.ndarray:
    """Positions of records that are never released."""
    return np.flatnonzero((mechanism.probabilities == 1).all(axis=1))


def test_repair_of_many_records_reads_the_leakage_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    from privopt.problems.redaction import repair as module

    read = 0
    plain = module._worst

    def counted(*args: object) -> object:
        nonlocal read
        read += 1
        return plain(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "_worst", counted)
    slow = po.MarkovChain([[0.999, 0.001], [0.003, 0.997]])
    problem = po.Redaction(slow, 3001, 1500, 1.0)
    repaired = problem.repair(problem.answer(np.zeros((3001, 2))), 0.0)
    assert problem.evaluate(repaired).leakage <= 1.0
    near = hidden(repaired)
    assert 100 < len(near) < 3001
    assert read < len(near) / 2
    assert near.tolist() == list(range(near[0], near[-1] + 1))  # a window around the private record
    windows = po.solve(problem, "windows")
    assert windows.objective is not None
    assert problem.evaluate(repaired).utility > 0.8 * windows.objective
    for end in (near[0], near[-1]):  # the last side that was hidden could not be shown again
        table = repaired.probabilities.copy()
        table[end] = 0.0
        if problem.evaluate(problem.answer(table)).leakage > 1.0:
            break
    else:
        pytest.fail("more is hidden than has to be")


@pytest.mark.parametrize("seed", few(range(120), 15))
def test_evaluation_and_certificate_equal_enumeration(seed: int) -> None:
    problem, mechanism = instance(seed)
    p = problem.private[0]
    expected = leakage(problem.chain, p, mechanism.probabilities)
    evaluation, certificate = problem.evaluate(mechanism), problem.certify(mechanism)
    assert evaluation.leakage == pytest.approx(expected, rel=1e-12, abs=1e-15)
    lo, hi = certificate.leakage
    assert lo <= expected * (1 + 1e-15) + 1e-15
    assert expected * (1 - 1e-15) - 1e-15 <= hi
    assert hi - lo <= 1e-14 * max(1, hi) or math.isinf(hi)
    ratio = largest_ratio(output_distributions(problem.chain, p, fractions(mechanism.probabilities)))
    assert certificate.ok == (ratio is not None and (math.log(ratio) <= problem.epsilon))
    exact = utility(problem.chain, mechanism.probabilities, problem.record_weights.tolist())
    assert Fraction(certificate.utility[0]) <= exact <= Fraction(certificate.utility[1])
    assert evaluation.utility == pytest.approx(float(exact), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("seed", range(60))
def test_repair_is_private_and_only_redacts_more(seed: int) -> None:
    problem, mechanism = instance(seed)
    for margin in (2.0**-44, 2.0**-24):
        repaired = problem.repair(mechanism, margin)
        assert problem.evaluate(repaired).leakage <= problem.epsilon
        assert (repaired.probabilities >= mechanism.probabilities - 1e-15).all()


@pytest.mark.parametrize("seed", range(60))
def test_raising_a_redaction_probability_never_leaks_more(seed: int) -> None:
    problem, mechanism = instance(seed)
    rng = np.random.default_rng(seed)
    raised = mechanism.probabilities + (1 - mechanism.probabilities) * rng.random(
        mechanism.probabilities.shape
    )
    after = problem.evaluate(po.RedactionMechanism(np.minimum(raised, 1.0))).leakage
    assert after <= problem.evaluate(mechanism).leakage * (1 + 1e-12) + 1e-14


def test_the_worst_output_is_named() -> None:
    chain = po.MarkovChain([[0.9, 0.1], [0.4, 0.6]], states=("dry", "wet"))
    problem = po.Redaction(chain, 3, 1, 0.1)
    certificate = problem.certify(po.RedactionMechanism([[1, 1], [1, 1], [0, 0]], ("dry", "wet")))
    assert not certificate.ok
    assert certificate.worst == ("wet", "dry")
    assert "'wet' at record 2" in certificate.where
    assert certificate.leakage[0] == pytest.approx(math.log(6))
    assert "nothing released on the left" in certificate.where


def test_a_shown_private_record_leaks_everything() -> None:
    problem = po.Redaction(po.MarkovChain([[0.9, 0.1], [0.4, 0.6]]), 2, 0, 5.0)
    mechanism = po.RedactionMechanism([[1, 1 - 2**-40], [1, 1]])
    assert problem.evaluate(mechanism).leakage == math.inf
    certificate = problem.certify(mechanism)
    assert not certificate.ok
    assert "itself is released as 1" in certificate.where
    assert problem.certify(problem.repair(mechanism, 2.0**-44).quantised()).ok


def test_ratios_exactly_at_the_budget_are_decided_at_zero() -> None:
    chain = po.MarkovChain([[0.5, 0.5], [0.5, 0.5]])
    assert po.Redaction(chain, 3, 1, 0.0).certify(po.RedactionMechanism([[0, 0], [1, 1], [0, 0]])).ok
    nearly = po.MarkovChain([[0.5, 0.5], [0.5 - 2**-40, 0.5 + 2**-40]])
    certificate = po.Redaction(nearly, 2, 0, 0.0).certify(po.RedactionMechanism([[1, 1], [0, 0]]))
    assert not certificate.ok
    assert 0 < certificate.leakage[0] < 1e-11


def test_epsilon_a_hair_below_and_above_the_leakage() -> None:
    chain = po.MarkovChain([[0.9, 0.1], [0.4, 0.6]])
    mechanism = po.RedactionMechanism([[1, 1], [0, 0]])
    leak = po.Redaction(chain, 2, 0, 1.0).certify(mechanism).leakage
    assert not po.Redaction(chain, 2, 0, math.nextafter(leak[0], 0)).certify(mechanism).ok
    assert po.Redaction(chain, 2, 0, math.nextafter(leak[1], 9)).certify(mechanism).ok


def test_long_runs_agree_between_rationals_and_balls(monkeypatch: pytest.MonkeyPatch) -> None:
    from privopt.problems.redaction import certificate as module

    chain = po.MarkovChain([[0.99, 0.01], [0.02, 0.98]])
    problem = po.Redaction(chain, 700, 300, 1.0)
    table = np.ones((700, 2))
    table[:200] = 0
    table[200:290, 0] = 0.999
    table[380:] = 0
    mechanism = po.RedactionMechanism(table).quantised()
    monkeypatch.setattr(module, "EXACT_WORK", math.inf)
    exact = problem.certify(mechanism)
    monkeypatch.setattr(module, "BITS_IN_MEMORY", 0)
    balls = problem.certify(mechanism)
    assert (exact.method, exact.ok) == ("exact rationals", balls.ok)
    assert balls.method.startswith("balls")
    assert balls.leakage == pytest.approx(exact.leakage, rel=1e-14)
    assert exact.where == balls.where
    assert problem.evaluate(mechanism).leakage == pytest.approx(exact.leakage[0], rel=1e-12)


def test_far_records_keep_their_digits() -> None:
    chain = po.MarkovChain([[0.9, 0.1], [0.4, 0.6]])
    table = np.ones((121, 2))
    table[120] = 0
    problem = po.Redaction(chain, 121, 0, 1.0)
    lo, hi = problem.certify(po.RedactionMechanism(table)).leakage
    assert 0 < lo <= hi < 1e-34
    assert problem.evaluate(po.RedactionMechanism(table)).leakage == pytest.approx(lo, rel=1e-11)


@pytest.mark.parametrize(
    ("rows", "chain", "private", "expected", "useful"),
    [
        (
            [(0.5, 1), (1, 0.2), (1, 1), (0.3, 1), (0, 0.6), (0, 0)],
            po.MarkovChain([[0.8, 0.2], [0.3, 0.7]]),
            2,
            2.2468024532,
            0.4666666667,
        ),
        (
            [(0.5, 1, 0), (1, 1, 1), (1, 0.4, 1), (0, 0, 0)],
            po.MarkovChain([[0.5, 0.3, 0.2], [0.1, 0.7, 0.2], [0.3, 0.3, 0.4]], initial=[0.3, 0.4, 0.3]),
            1,
            1.8545603705,
            0.4351,
        ),
    ],
)
def test_public_values(
    rows: list[tuple[float, ...]], chain: po.MarkovChain, private: int, expected: float, useful: float
) -> None:
    evaluation = po.Redaction(chain, len(rows), private, 1.0).evaluate(po.RedactionMechanism(rows))
    assert evaluation.leakage == pytest.approx(expected, abs=1e-10)
    assert evaluation.utility == pytest.approx(useful, abs=1e-10)
    assert po.measures.redaction_leakage(chain, private, rows) == evaluation.leakage


@pytest.mark.parametrize("seed", range(20))
def test_runs_that_are_skipped_change_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    alpha, beta = rng.uniform(0.01, 0.6, 2)
    length = int(rng.integers(50, 300))
    private = int(rng.integers(length))
    table, t = np.ones((length, 2)), 0
    while t < length:
        row, run = rng.random(2), int(rng.integers(1, 120))
        row[rng.random(2) < 0.3] = 1.0
        table[t : t + run] = row
        t += run
    table[private] = 1.0
    chain = po.MarkovChain.normalised([[1 - alpha, alpha], [beta, 1 - beta]])
    problem = po.Redaction(chain, length, private, 1.0)
    mechanism = po.RedactionMechanism(table).quantised()
    lo, hi = problem.certify(mechanism).leakage
    assert lo * (1 - 1e-12) <= problem.evaluate(mechanism).leakage <= hi * (1 + 1e-12)

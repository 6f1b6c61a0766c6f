"""What a privacy engineer, a researcher and an attacker would try first."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privopt as po
from privopt.arrays import Floats
from privopt.errors import InvalidMechanism, InvalidProblem
from privopt.measures import bayesian_leakage
from privopt.measures.bayesian.gaussian_enumeration import prove_brute_force
from privopt.measures.bayesian.gaussian_proof import prove_column, prove_h_matrix, prove_h_matrix_in_floats
from privopt.mechanisms.noise.statistics import sensitivity, value
from privopt.solvers.bayesian_privacy.gaussian import GaussianBruteForce

CHAIN = po.MarkovChain([[0.8, 0.2], [0.3, 0.7]])


def _autoregression(m: int, rho: float) -> Floats:
    steps = np.abs(np.subtract.outer(np.arange(m), np.arange(m)))
    return np.asarray(rho**steps, dtype=np.float64)


def test_the_proof_in_floats_encloses_the_factor_of_an_autoregression() -> None:
    m, rho = 250, 0.9
    exact = max(1 + sum(rho ** abs(i - j) for j in range(m) if j != i) for i in (m // 2, m // 2 - 1))
    proved = prove_h_matrix(_autoregression(m, rho))
    assert proved is not None
    assert exact * (1 - 1e-12) <= proved <= exact * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_the_proof_in_floats_is_above_the_exact_bound_of_comparison_matrices(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 8))
    half = rng.normal(size=(m, 3 * m)) + rng.normal(size=3 * m) * rng.random() * 0.5
    covariance = half @ half.T / (3 * m)
    covariance = covariance / 2 + covariance.T / 2
    proved = prove_h_matrix_in_floats(covariance)
    if proved is None:
        assert prove_h_matrix(covariance) is None
        return
    exact = _exact_h_matrix(covariance)
    factor = prove_brute_force(covariance)
    assert factor is not None
    assert factor <= exact <= proved <= exact * (1 + Fraction(1, 10**8))


@pytest.mark.parametrize("tiny", [2.0**-398, 2.0**-402, 1e-200, 1e-310, 5e-324])
def test_the_proof_in_floats_counts_covariances_that_are_next_to_nothing(tiny: float) -> None:
    covariance = np.eye(5) + tiny * (np.ones((5, 5)) - np.eye(5))
    covariance[0, 1] = covariance[1, 0] = 0.3
    proved = prove_h_matrix_in_floats(covariance)
    assert proved is not None
    assert _exact_h_matrix(covariance) <= proved <= Fraction(1.3) * (1 + Fraction(1, 10**12))


def test_products_in_single_precision_stay_above_those_in_rationals() -> None:
    """Of more than a thousand records, some of whose covariances no single float holds."""
    m = 1100
    covariance = _autoregression(m, 0.5)
    proved = prove_h_matrix_in_floats(covariance)
    assert proved is not None
    assert 3 - Fraction(1, 10**12) <= proved <= 3 * (1 + Fraction(1, 10**8))


def _exact_h_matrix(covariance: Floats) -> Fraction:
    """The bound of the comparison matrix in rationals."""
    from flint import fmpq, fmpq_mat

    m = len(covariance)
    precision = fmpq_mat([[fmpq(*x.as_integer_ratio()) for x in row] for row in covariance.tolist()]).inv()
    comparison = fmpq_mat(
        [[abs(precision[i, j]) if i == j else -abs(precision[i, j]) for j in range(m)] for i in range(m)]
    ).inv()
    largest = max(sum((comparison[j, i] for j in range(m)), fmpq(0)) / comparison[i, i] for i in range(m))
    return Fraction(int(largest.p), int(largest.q))


def test_nothing_is_proved_of_what_is_no_comparison_matrix() -> None:
    three = np.array([[1, 0.9, 0.9], [0.9, 1, 0.7], [0.9, 0.7, 1]])
    assert prove_h_matrix_in_floats(np.ones((3, 3))) is None
    assert prove_h_matrix_in_floats(np.array([[1.0, 2.0], [2.0, 1.0]])) is None
    assert (prove_h_matrix_in_floats(three) is None) == (prove_h_matrix(three) is None)
    assert prove_h_matrix_in_floats(np.eye(2) * 1e-200) is None


def test_column_sums_are_added_without_rounding() -> None:
    rng = np.random.default_rng(3)
    covariance = np.eye(9) + np.ldexp(rng.random((9, 9)), rng.integers(-900, -4, (9, 9)))
    covariance = np.triu(covariance) + np.triu(covariance, 1).T
    sums = [
        sum((Fraction(float(x)) for x in column), Fraction(0)) / Fraction(float(column[i]))
        for i, column in enumerate(covariance)
    ]
    assert prove_column(covariance) == max(sums)


def test_large_blocks_are_certified() -> None:
    model = po.GaussianModel(_autoregression(150, 0.8))
    solution = po.solve(po.BayesianPrivacy(model, "sum", 1.0, clip=(0, 1)), "gaussian-h-matrix")
    assert solution.certified
    assert solution.mechanism.tau == pytest.approx(1 / 9, rel=1e-4)


def test_enumeration_serves_what_can_be_proved() -> None:
    solver = GaussianBruteForce()
    for m, served in ((11, True), (18, True), (19, False)):
        half = np.random.default_rng(m).normal(size=(m, 2 * m))
        problem = po.BayesianPrivacy(po.GaussianModel(half @ half.T), "sum", 1.0, clip=(0, 1))
        assert (solver.refuse(problem) is None) == served


def test_a_step_of_rounding_is_within_the_sensitivity() -> None:
    clip = (0.0, 0.1)  # an odd number of steps of the grid of two records
    other = np.nextafter(0.1, 1.0) - 0.1
    ends = [value("sum", [x, other], clip, 2, None) for x in clip]
    assert Fraction(ends[1]) - Fraction(ends[0]) <= Fraction(sensitivity("sum", clip, 2))


def test_a_function_reads_the_stated_number_of_records() -> None:
    problem = po.BayesianPrivacy(po.GroupModel(10), po.Query(sum, 1), 1.0, length=3)
    mechanism = po.solve(problem).mechanism
    assert mechanism.release([1, 1, 1], np.random.default_rng(0)).simulated
    with pytest.raises(InvalidMechanism, match="50 records, the mechanism is for 3"):
        mechanism.release([1] * 50, np.random.default_rng(0))
    with pytest.raises(InvalidMechanism, match="does not show its number of records"):
        mechanism.release(iter([1] * 50), np.random.default_rng(0))


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_missing_records_are_not_counted_as_another_value(missing: Any) -> None:
    mechanism = po.solve(po.BayesianPrivacy(po.GroupModel(2), ("count", 1), 1.0)).mechanism
    with pytest.raises(InvalidMechanism, match="record 1 is missing"):
        mechanism.release([1, missing, 0], np.random.default_rng(0))


def test_a_query_says_what_it_lacks() -> None:
    with pytest.raises(InvalidMechanism, match="give the most that one record can change"):
        po.Query(sum)
    two: Any = np.int64(2)
    wrong: Any = lambda records: "x"
    assert po.Query(sum, two).sensitivity == 2.0
    with pytest.raises(InvalidMechanism, match="not a number"):
        po.Query(wrong, 1).value([1])
    assert po.GroupModel(np.int64(3)) == po.GroupModel(3)  # type: ignore[arg-type]


def test_a_ledger_is_for_its_number_of_records() -> None:
    count = po.NoisyQuery("count", "laplace", 2.0, 0.5, 1.0)
    with pytest.raises(InvalidMechanism, match="the ledger for 1 records"):
        po.BudgetLedger(po.GroupModel(10), 1.0, "x", length=1).charge(count, "x")
    two = po.MarkovChain([[[0.8, 0.2], [0.3, 0.7]]], initial=[0.5, 0.5])
    with pytest.raises(InvalidMechanism, match="the ledger for 2 records"):
        po.BudgetLedger(two, 2.0, "x").charge(count, "x")


def test_a_ledger_of_gaussian_records_takes_counts_by_their_level() -> None:
    ledger = po.BudgetLedger(po.GaussianModel([[1, 0.1], [0.1, 1]]), 3.0, "x", clip=(0, 1))
    count = po.NoisyQuery("count", "laplace", 1.0, 1.0, 1.1)
    assert ledger.charge(count, "x").leakage == 2.0


def test_a_ledger_does_not_forget_releases_of_its_file(tmp_path: Path) -> None:
    start, path = po.BudgetLedger(CHAIN, 2.0, "stream"), tmp_path / "ledger.json"
    mechanism = po.NoisyQuery("count", "laplace", 20.0, 0.05, 1.0, states=(0, 1))
    rng = np.random.default_rng(0)
    _, first = start.release(mechanism, [0, 1], "stream", path, rng)
    with pytest.raises(InvalidMechanism, match="not an earlier state"):
        start.release(mechanism, [0, 1], "stream", path, rng)
    _, second = first.release(mechanism, [0, 1], "stream", path, rng)
    assert po.BudgetLedger.load(path) == second
    assert len(second.entries) == 2
    other = po.BudgetLedger(CHAIN, 3.0, "stream")
    with pytest.raises(InvalidMechanism, match="not an earlier state"):
        other.release(mechanism, [0, 1], "stream", path, rng)


@pytest.mark.parametrize("length", [10**9, 10**12])
def test_huge_streams(length: int) -> None:
    problem = po.BayesianPrivacy(CHAIN, "count", 1.0, length=length)
    solution = po.solve(problem, "markov-recursion")
    assert solution.certified
    assert solution.mechanism.tau == pytest.approx(0.3306979598, rel=1e-6)
    with pytest.raises(InvalidProblem, match="take fewer records"):
        bayesian_leakage(CHAIN, 1.0, length=length, method="exact-small")
    single = po.BayesianPrivacy(po.MarkovChain([[1.0]], states=["a"]), ("count", "a"), 1.0, length=length)
    assert po.solve(single).status.ok


def test_words_are_named_as_the_records() -> None:
    words = po.MarkovChain.fit([list("aabbabababbbaabab")], order=2, smoothing=1.0)
    solution = po.solve(po.BayesianPrivacy(words, ("count", words.states[1]), 1.0, length=4))
    assert solution.certificate is not None
    assert "a record is a word of 2 letters" in solution.certificate.law


def test_the_levels_of_a_certified_count_are_monotone_in_epsilon() -> None:
    problem = po.BayesianPrivacy(CHAIN, "count", 1.0, length=4)
    taus = [po.solve(problem.with_budget(e)).mechanism.tau for e in (0.2, 1.0, 2.0)]
    assert all(a < b for a, b in pairwise(taus))

"""Factors of Gaussian records for sums, by the condition number and by subsets in bounded floats, against every adversary."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from instances.few import few

import privopt as po
from privopt.arrays import Floats
from privopt.measures.bayesian.condition import condition_factor, prove_condition, spectrum_of
from privopt.measures.bayesian.gaussian import gaussian_factor, h_matrix_sum_factor
from privopt.measures.bayesian.gaussian_enumeration import (
    brute_force_factor,
    likely_adversary,
    prove_brute_force,
    prove_enumeration,
    prove_known,
)
from privopt.measures.bayesian.gaussian_proof import prove_factor, prove_h_matrix, prove_least_factor
from privopt.measures.bayesian.gaussian_subsets import prove_subsets
from privopt.measures.bayesian.gaussian_sums import column_sum_factor, prove_column_sum


def covariance(seed: int, m: int | None = None) -> Floats:
    """Signs of every kind: weak and strong dependence, different variances, autoregressions that alternate."""
    rng = np.random.default_rng(seed)
    m = m or int(rng.integers(2, 7))
    if seed % 4 == 3:
        steps = np.abs(np.subtract.outer(np.arange(m), np.arange(m)))
        return np.asarray(float(-rng.uniform(0.1, 0.95)) ** steps, dtype=np.float64)
    half = rng.normal(size=(m, (2, 6, 30)[seed % 4] * m)) * np.exp(rng.normal(size=m) * 0.4)[:, None]
    return np.asarray(half @ half.T, dtype=np.float64)


def factors(matrix: Floats) -> tuple[float, float]:
    """For all mechanisms, and for sums: the largest over all known records and targets, by the definition."""
    m, every, sums = len(matrix), 1.0, 1.0
    for size in range(1, m):
        for known in combinations(range(m), size):
            rest = [j for j in range(m) if j not in known]
            slopes = matrix[np.ix_(rest, known)] @ np.linalg.inv(matrix[np.ix_(known, known)])
            up, down = np.maximum(slopes, 0).sum(axis=0), np.maximum(-slopes, 0).sum(axis=0)
            every = max(every, float((1 + up + down).max()))
            sums = max(sums, float((1 + up).max()), float((down - 1).max()))
    return every, sums


@pytest.mark.parametrize("seed", few(range(24), 8))
def test_against_every_adversary(seed: int) -> None:
    matrix = covariance(seed)
    model = po.GaussianModel(matrix)
    for sums, truth in zip((False, True), factors(model.covariance), strict=True):
        assert brute_force_factor(matrix, sums=sums)[0] == pytest.approx(truth, rel=1e-9)
        exact = prove_brute_force(matrix, sums=sums)
        assert exact is not None
        assert float(exact) == pytest.approx(truth, rel=1e-9)
        for bound in (prove_enumeration(matrix, sums=sums), prove_subsets(matrix, sums=sums)):
            assert bound is not None
            assert exact <= bound <= exact * (1 + Fraction(1, 10**9))
        dominated, (proved, _) = prove_h_matrix(matrix, sums=sums), prove_factor(model, sums=sums)
        assert dominated is None or exact <= dominated
        capped = min(exact, Fraction(len(matrix)))
        assert capped <= proved <= capped * (1 + Fraction(1, 10**9))
        assert prove_least_factor(model, sums=sums) == capped
        assert prove_known(matrix, likely_adversary(matrix, sums=sums), sums=sums) <= exact
        for method in ("best", "gaussian-column", "gaussian-h-matrix", "gaussian-class"):
            read = gaussian_factor(model, method, sums=sums)
            least = min(truth, float(len(matrix)))
            assert read.value >= least * (1 - 1e-9)
            assert not read.exact or read.value == pytest.approx(least, rel=1e-9)
    condition = prove_condition(matrix)
    assert condition is not None
    assert factors(model.covariance)[0] * (1 - 1e-12) <= condition
    assert float(condition) == pytest.approx(condition_factor(matrix), rel=1e-3)


@pytest.mark.parametrize("seed", range(12))
def test_small_correlations_of_any_sign(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 8))
    off = rng.uniform(-1, 1, (m, m)) if seed % 3 else -rng.uniform(0, 1, (m, m))
    off = np.triu(off, 1) + np.triu(off, 1).T
    matrix = np.eye(m) + off / max(np.abs(off).sum(axis=0).max() * (1.0 if seed % 2 else 1.5), 1e-9) * 0.999
    truth = factors(matrix)[1]
    value, exact = column_sum_factor(matrix)
    proved = prove_column_sum(matrix)
    assert proved is not None
    assert truth * (1 - 1e-12) <= value <= proved * (1 + 1e-12)
    assert not exact or value == pytest.approx(truth, rel=1e-8)
    if not seed % 3:
        assert value == pytest.approx(1.0, abs=1e-9)  # relatives of the other sign only take away


def test_what_wielandts_inequality_allows_is_reached() -> None:
    for condition in (1.5, 10.0, 400.0):
        # eigenvalues 1 and k, and the direction in which the quotient of the entries is largest
        share = condition / (1 + condition)
        turn = np.array([[np.sqrt(share), np.sqrt(1 - share)], [-np.sqrt(1 - share), np.sqrt(share)]])
        matrix = turn.T @ np.diag([1.0, condition]) @ turn
        matrix = matrix / 2 + matrix.T / 2
        known = matrix[1, 0] / matrix[0, 0]
        assert 1 + abs(known) == pytest.approx(1 + (condition - 1) / (2 * np.sqrt(condition)), rel=1e-9)
        assert factors(matrix)[0] <= condition_factor(matrix) * (1 + 1e-9)


def test_the_spectrum_is_enclosed() -> None:
    for m in (1, 2, 40):
        half = np.random.default_rng(m).normal(size=(m, 3 * m))
        matrix = half @ half.T
        matrix = matrix / 2 + matrix.T / 2
        ends = spectrum_of(matrix)
        assert ends is not None
        spectrum = np.linalg.eigvalsh(matrix)
        assert ends[0] < spectrum[0]
        assert spectrum[-1] < ends[1]
    assert spectrum_of(np.ones((3, 3))) is None
    assert spectrum_of(np.array([[1.0, 2.0], [2.0, 1.0]])) is None


def test_negative_dependence_costs_sums_no_noise() -> None:
    for m, rho in ((2, -0.9), (5, -0.2), (9, -0.1)):
        model = po.GaussianModel(np.full((m, m), rho) + (1 - rho) * np.eye(m))
        solution = po.solve(po.BayesianPrivacy(model, "sum", 1.0, clip=(0, 1)))
        assert solution.status is po.Status.OPTIMAL
        assert solution.utility == pytest.approx(-1.0, rel=1e-6)
    value, exact = h_matrix_sum_factor(covariance(3, 8))
    assert exact
    assert value < brute_force_factor(covariance(3, 8))[0]


def test_the_noisy_sum_of_two_clipped_records_keeps_its_bound() -> None:
    for rho in (-0.9, 0.6):
        model = po.GaussianModel([[1.0, rho], [rho, 1.0]])
        problem = po.BayesianPrivacy(model, "sum", 1.0, clip=(-1, 1.5))
        scale = po.solve(problem).mechanism.scale
        nodes, weights = np.polynomial.hermite_e.hermegauss(200)
        outputs, worst = np.linspace(-9, 9, 181), 0.0
        for mean in (-3.0, 0.0, 2.0):
            for targets in ((-1.0, 1.5), (0.0, 1.0), (-1.0, -0.5)):
                rows = []
                for x in targets:
                    relative = np.clip(mean + rho * x + np.sqrt(1 - rho**2) * nodes, -1, 1.5)
                    rows.append(np.exp(-np.abs(outputs[:, None] - x - relative) / scale) @ weights)
                worst = max(worst, float(np.abs(np.log(rows[0] / rows[1])).max()))
        assert 0.2 < worst <= 1.0


def test_groups_of_any_size_have_a_bound() -> None:
    half = np.random.default_rng(1).normal(size=(40, 800))
    problem = po.BayesianPrivacy(po.GaussianModel(half @ half.T), "sum", 1.0, clip=(0, 1))
    solution = po.solve(problem, "gaussian-class")
    assert po.verify(problem, solution).ok
    assert solution.utility is not None
    assert solution.bound is not None
    assert -4 < solution.utility <= solution.bound < -1.5  # with any dependence -40

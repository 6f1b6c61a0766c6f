"""Factors of Gaussian records: published values, brute-force oracles, and invariants."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracles.gaussian import clipped_sum_leakage, factor, signed_factor

from privopt.arrays import Floats
from privopt.errors import InvalidProblem
from privopt.measures import bayesian_leakage
from privopt.measures.bayesian.gaussian import (
    METHODS,
    class_factor,
    column_factor,
    gaussian_factor,
    h_matrix_factor,
    published_factor,
)
from privopt.measures.bayesian.gaussian_enumeration import (
    brute_force_factor,
    prove_brute_force,
    prove_enumeration,
    signed_sum_factor,
)
from privopt.measures.bayesian.gaussian_proof import (
    MOST_IN_FLOATS,
    prove_column,
    prove_factor,
    prove_h_matrix,
)
from privopt.models import GaussianModel, GroupModel

PATH = np.array([[1, 0.5, 0.25], [0.5, 1, 0.5], [0.25, 0.5, 1]])
MIXED = np.array([[1, 0.3, -0.2], [0.3, 1, 0.1], [-0.2, 0.1, 1]])


def autoregression(m: int, rho: float) -> Floats:
    covariance: Floats = np.power(
        rho, np.abs(np.subtract.outer(np.arange(m), np.arange(m))), dtype=np.float64
    )
    return covariance


def equicorrelated(m: int, rho: float) -> Floats:
    return np.full((m, m), rho) + (1 - rho) * np.eye(m)


def random_covariance(seed: int, m: int, weak: float = 0.0) -> Floats:
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(m, m + 2)) * rng.uniform(0.5, 2, size=(m, 1))
    full = factors @ factors.T
    return np.asarray(full + weak * np.diag(np.diag(full)))


covariances = st.builds(
    random_covariance, st.integers(0, 10**6), st.integers(1, 5), st.sampled_from([0.0, 1.0, 10.0])
)


# values of the source and of the closed forms


def test_values_of_small_matrices() -> None:
    assert brute_force_factor(PATH) == (pytest.approx(2.0, abs=1e-12), True)
    assert column_factor(PATH) == (2.0, True)
    assert signed_sum_factor(PATH) == pytest.approx(2.0, abs=1e-12)
    assert brute_force_factor(MIXED) == (pytest.approx(1.5, abs=1e-12), True)
    assert signed_sum_factor(MIXED) == pytest.approx(1.4, abs=1e-12)
    assert h_matrix_factor(MIXED) == (pytest.approx(1.70755, abs=1e-5), False)


@pytest.mark.parametrize(
    ("m", "rho", "published", "best"),
    [
        (3, 0.275, 1.8534, 1.55), (2, 0.4483, 1.4483, 1.4483), (5, 0.1, 1.8929, 1.40),
        (10, 0.05, 3.083, 1.45), (10, 0.1, 13.5, 1.90), (50, 0.02, 313.5, 1.98),
    ],
)  # fmt: skip
def test_classes(m: int, rho: float, published: float, best: float) -> None:
    assert published_factor(m, rho) == pytest.approx(published, rel=2e-4)
    assert class_factor(m, rho) == pytest.approx(best, abs=1e-12)
    # the class contains equal correlations, which attain its factor
    assert gaussian_factor(GaussianModel(equicorrelated(m, rho))).value == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize(("m", "threshold"), [(2, 1.0), (3, 0.470588), (4, 0.3), (5, 0.219178)])
def test_where_the_published_factor_meets_the_general_one(m: int, threshold: float) -> None:
    assert published_factor(m, threshold) == pytest.approx(m, rel=2e-5)
    assert class_factor(m, threshold) <= published_factor(m, threshold)


@pytest.mark.parametrize("rho", [0.9, -0.9, 0.5])
def test_long_autoregressions(rho: float) -> None:
    bound = bayesian_leakage(GaussianModel(autoregression(500, rho)), 1.0)
    assert bound.value == pytest.approx((1 + abs(rho)) / (1 - abs(rho)), abs=1e-6)
    assert bound.exact


@pytest.mark.parametrize(("m", "rho"), [(4, 0.6), (9, 0.95), (30, 0.3)])
def test_equal_correlations(m: int, rho: float) -> None:
    bound = gaussian_factor(GaussianModel(equicorrelated(m, rho)))
    assert (bound.value, bound.exact) == (pytest.approx(1 + (m - 1) * rho, rel=1e-9), True)


def test_a_tree_is_exact_for_any_strength() -> None:
    star = np.eye(6)
    star[0, 1:] = star[1:, 0] = [0.9, -0.8, 0.7, 0.95, -0.6]
    star[1:, 1:] = np.outer(star[0, 1:], star[0, 1:]) + np.diag(1 - star[0, 1:] ** 2)
    value, exact = h_matrix_factor(star)
    assert exact
    assert value == pytest.approx(factor(star), rel=1e-9)


# oracles


@settings(max_examples=25, deadline=None)
@given(covariances)
def test_enumeration_is_the_factor_of_fifty_digits(covariance: Floats) -> None:
    value, exact = brute_force_factor(covariance)
    assert exact
    assert value == pytest.approx(factor(covariance), rel=1e-7)
    assert signed_sum_factor(covariance) == pytest.approx(signed_factor(covariance), rel=1e-7)


@settings(max_examples=20, deadline=None)
@given(covariances)
def test_every_bound_is_above_the_factor_of_fifty_digits(covariance: Floats) -> None:
    true = factor(covariance)
    model = GaussianModel(covariance)
    for value, exact in (column_factor(covariance), h_matrix_factor(covariance)):
        assert value >= true * (1 - 1e-7)
        assert not exact or value == pytest.approx(true, rel=1e-7)
    for method in ("best", *METHODS):
        bound = gaussian_factor(model, method)
        assert bound.value >= min(true, model.size) * (1 - 1e-7)
        assert bound.value <= model.size
        assert not bound.exact or bound.value == pytest.approx(true, rel=1e-7)


@settings(max_examples=20, deadline=None)
@given(covariances)
def test_proofs_are_above_the_factor_of_fifty_digits(covariance: Floats) -> None:
    true = factor(covariance)
    enumerated = prove_brute_force(covariance)
    assert enumerated is not None
    assert float(enumerated) == pytest.approx(true, rel=1e-12)
    for proved, value in (
        (prove_column(covariance), column_factor(covariance)[0]),
        (prove_h_matrix(covariance), h_matrix_factor(covariance)[0]),
    ):
        assert (proved is None) == math.isinf(value)
        assert proved is None or (proved >= enumerated and float(proved) == pytest.approx(value, rel=1e-9))
    balls = prove_enumeration(covariance)
    assert balls is not None
    assert enumerated <= balls <= enumerated * (1 + Fraction(1, 10**20))
    least, _ = prove_factor(GaussianModel(covariance))
    cap = Fraction(len(covariance))
    assert min(enumerated, cap) <= least <= min(enumerated * (1 + Fraction(1, 10**11)), cap)


def test_enumeration_in_batches() -> None:
    covariance = random_covariance(3, 12)
    value, _ = brute_force_factor(covariance)
    small = [k for k in range(12) if k not in (2, 7, 10)]
    # no adversary of fewer records does better, and order does not matter
    assert brute_force_factor(covariance[np.ix_(small, small)])[0] <= value * (1 + 1e-9)
    order = np.random.default_rng(0).permutation(12)
    assert brute_force_factor(covariance[np.ix_(order, order)])[0] == pytest.approx(value, rel=1e-9)
    chain = autoregression(13, 0.7)
    assert brute_force_factor(chain)[0] == pytest.approx(h_matrix_factor(chain)[0], rel=1e-9)


@pytest.mark.parametrize(
    ("x", "other", "expected"), [(160, 40, 1.44948), (161, 39, 1.45692), (200, 0, 1.73511), (400, -200, 2.0)]
)
def test_the_scope_of_a_clipped_sum(x: float, other: float, expected: float) -> None:
    leakage = clipped_sum_leakage(x, other, 0.45, 100, 15, (40, 160))
    assert leakage == pytest.approx(expected, abs=2e-5)
    model = GaussianModel(equicorrelated(2, 0.45) * 225, mean=[100, 100])
    inside, everywhere = (bayesian_leakage(model, 1.0, scope=s) for s in ("targets_in_interval", "all_reals"))
    assert (inside.value <= leakage) == (not 40 <= other <= x <= 160)
    assert leakage <= everywhere.value + 1e-9
    assert everywhere.exact


# invariants


@settings(max_examples=20, deadline=None)
@given(covariances, st.integers(0, 10**6))
@example(random_covariance(10**6, 4, 1.0), 0)
def test_order_signs_and_units_change_nothing(covariance: Floats, seed: int) -> None:
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(covariance))
    signs = rng.choice([-1.0, 1.0], len(covariance))
    for changed in (
        covariance[np.ix_(order, order)], covariance * np.outer(signs, signs), covariance * 17.0
    ):  # fmt: skip
        for method in ("best", *METHODS):
            before, after = (gaussian_factor(GaussianModel(c), method) for c in (covariance, changed))
            assert before.value == pytest.approx(after.value, rel=1e-8)


@settings(max_examples=20, deadline=None)
@given(covariances, covariances)
def test_blocks_are_bounded_on_their_own(one: Floats, two: Floats) -> None:
    size = len(one) + len(two)
    both = np.zeros((size, size))
    both[: len(one), : len(one)], both[len(one) :, len(one) :] = one, two
    for method in ("best", *METHODS):
        parts = [gaussian_factor(GaussianModel(c), method).value for c in (one, two)]
        assert gaussian_factor(GaussianModel(both), method).value == pytest.approx(max(parts), rel=1e-9)


@settings(max_examples=20, deadline=None)
@given(covariances, st.floats(0, 5), st.floats(0, 5))
def test_leakage_grows_with_tau(covariance: Floats, one: float, two: float) -> None:
    model = GaussianModel(covariance)
    values = [bayesian_leakage(model, tau) for tau in sorted((one, two))]
    assert values[0].value <= values[1].value
    assert all(
        tau - 1e-12 <= v.value <= model.size * tau + 1e-12
        for tau, v in zip(sorted((one, two)), values, strict=True)
    )
    assert bayesian_leakage(model, 0.0).value == 0.0
    assert bayesian_leakage(model, 0.0).exact


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 60), st.floats(0, 1))
def test_the_class_bound_is_never_above_the_published_one(m: int, rho: float) -> None:
    assert class_factor(m, rho) <= published_factor(m, rho) * (1 + 1e-12)


# edges


def test_independent_and_identical_records() -> None:
    assert bayesian_leakage(GaussianModel(np.diag([1.0, 2.0, 3.0])), 0.7).value == 0.7
    for m in (2, 3, 6):
        bound = bayesian_leakage(GaussianModel(np.ones((m, m))), 1.0)
        assert (bound.value, bound.exact) == (m, True)
    assert bayesian_leakage(GaussianModel([[1, -1], [-1, 1]]), 1.0).value == 2.0


def test_a_record_that_is_the_sum_of_two_others() -> None:
    singular = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 2.0]])
    assert brute_force_factor(singular) == (2.0, True)
    assert prove_brute_force(singular) == 2
    assert prove_enumeration(singular) is None
    assert prove_factor(GaussianModel(singular))[0] == 2
    # nearly singular: an adversary who knows the sum learns one summand from the other
    nearly = singular + np.diag([0, 0, 1e-12])
    assert brute_force_factor(nearly)[0] == pytest.approx(factor(nearly), rel=1e-9)


def test_what_cannot_be_resolved_falls_back_to_the_general_bound() -> None:
    wide = np.ones((12, 12)) + np.diag(np.full(12, 1e-13))
    assert brute_force_factor(wide) == (math.inf, False)
    bound = gaussian_factor(GaussianModel(wide))
    assert (bound.value, bound.exact, bound.method) == (12.0, False, "general")
    indefinite = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0 - 2e-16], [1.0, 1.0 - 2e-16, 1.0]])
    assert prove_brute_force(indefinite) is None
    assert gaussian_factor(GaussianModel(indefinite)).value == 3.0


def test_unequal_variances_are_not_of_the_published_class() -> None:
    model = GaussianModel([[1.0, 0.9], [0.9, 9.0]])
    assert factor(model.covariance) == pytest.approx(1.9)
    assert gaussian_factor(model, "gaussian-published").method == "general"
    assert gaussian_factor(model, "gaussian-class").value >= 1.9 - 1e-12


def test_all_reals_is_exact_only_where_one_record_depends_on_all() -> None:
    gap = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 1.0]])
    assert gaussian_factor(GaussianModel(gap), scope="all_reals").exact
    ring = np.eye(4) + 0.3 * (np.roll(np.eye(4), 1, axis=0) + np.roll(np.eye(4), -1, axis=0))
    bound = gaussian_factor(GaussianModel(ring), scope="all_reals")
    assert (bound.value, bound.exact) == (4.0, False)
    with pytest.raises(InvalidProblem, match="inside the clipping interval"):
        gaussian_factor(GaussianModel(gap), "gaussian-column", "all_reals")


def test_groups() -> None:
    assert bayesian_leakage(GroupModel(5), 0.2).value == 1.0
    assert bayesian_leakage(GroupModel(5), 0.2, length=3).value == pytest.approx(0.6)
    assert bayesian_leakage(GroupModel(1), 0.2) == bayesian_leakage(GroupModel(1), 0.2, method="general")


@pytest.mark.parametrize("tau", [-1.0, math.inf, math.nan, True, "1"])
def test_levels_are_checked(tau: float) -> None:
    with pytest.raises(InvalidProblem, match="tau"):
        bayesian_leakage(GroupModel(2), tau)


def test_arguments_are_checked() -> None:
    with pytest.raises(InvalidProblem, match="'markov-recursion' does not serve a group"):
        bayesian_leakage(GroupModel(2), 1.0, method="markov-recursion")
    with pytest.raises(InvalidProblem, match="scope"):
        bayesian_leakage(GroupModel(2), 1.0, scope="everywhere")
    for length in (0, True, 1.5):
        with pytest.raises(InvalidProblem, match="length"):
            bayesian_leakage(GroupModel(2), 1.0, length=length)  # type: ignore[arg-type]
    with pytest.raises(InvalidProblem, match="model is a str"):
        bayesian_leakage("model", 1.0)  # type: ignore[arg-type]
    with pytest.raises(InvalidProblem, match="enumerate at most 20"):
        brute_force_factor(np.eye(21))
    assert prove_h_matrix(np.broadcast_to(1.0, (MOST_IN_FLOATS + 1,) * 2)) is None

"""Leakage measures: published numbers, closed forms, and definitions at 80 digits on ordinary and hard tables."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import mpmath
import numpy as np
import pytest
from instances.few import few
from oracles import measures as oracle

import privopt as po
from privopt import measures as m
from privopt.arrays import Floats

# The joint table of Sadeghi, "Fundamental trade-offs between privacy and utility in data sharing", times 10^4.
SLIDES = po.JointDistribution.normalised(
    [
        [394, 306, 463, 463, 204, 317, 328, 317, 134],
        [438, 47, 466, 235, 442, 17, 366, 83, 22],
        [61, 135, 76, 387, 383, 410, 359, 341, 47],
        [441, 264, 469, 69, 464, 451, 190, 15, 398],
    ]
)
COUNTS = po.JointDistribution.normalised([[1, 0], [1, 2]])
ORDERS = (1, 1 + 1e-12, 1.0001, 1.5, 2, 10, 50, 1e3, 1e5, math.inf)


def tables() -> Iterator[tuple[str, Floats]]:
    rng = np.random.default_rng(0)
    yield "random", rng.dirichlet(np.ones(12)).reshape(3, 4)
    yield "skewed", rng.dirichlet(np.ones(12) * 0.05).reshape(3, 4)
    p, q = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(4))
    for size in (1e-2, 1e-4, 1e-6, 1e-8):
        yield f"nearly independent, {size:g}", np.outer(p, q) * (1 + size * rng.normal(size=(3, 4)))
    tiny = rng.dirichlet(np.ones(12)).reshape(3, 4)
    tiny[0] *= 1e-12
    tiny[:, 1] *= 1e-12
    tiny[1, 2] = 0
    yield "cells of 1e-24", tiny
    yield "a lift of 1e-20", np.array([[0.2, 0.2, 1e-21], [0.2, 0.2, 0.2]])
    yield "counts", np.array([[1.0, 0.0], [1.0, 2.0]])
    yield "deterministic", np.eye(3)
    yield "one secret", np.array([[1.0, 3.0]])


TABLES = list(tables())
named = pytest.mark.parametrize("table", [t for _, t in TABLES], ids=[name for name, _ in TABLES])


def close(value: float, truth: mpmath.mpf, absolute: float = 0.0) -> bool:
    """Equal to rounding: informations are squares of deviations, which are known to about 1e-16 each."""
    error = abs(mpmath.mpf(value) - truth)
    return bool(error <= 1e-14 * abs(truth) + 4e-15 * mpmath.sqrt(abs(truth)) + 1e-30 + absolute)


def test_published_numbers() -> None:
    assert m.mutual_information(SLIDES, unit="bits") == pytest.approx(0.223305605, abs=5e-10)
    assert m.mutual_information(SLIDES) == pytest.approx(0.154783651, abs=5e-10)
    assert m.mutual_information(SLIDES, unit="bits") == pytest.approx(0.2233, abs=5e-5)  # as printed
    assert m.entropy(SLIDES.p_x, unit="bits") == pytest.approx(3.109973207, abs=5e-10)
    lifts = m.log_lift(SLIDES)
    assert (lifts.min(), lifts.max()) == pytest.approx((-2.699431, 0.875049), abs=5e-7)
    assert (lifts.min(), lifts.max()) == pytest.approx((-2.68, 0.87), abs=0.03)  # as printed
    assert m.local_information_privacy(SLIDES).symmetric == pytest.approx(2.699431, abs=5e-7)
    assert m.maximal_leakage(SLIDES) == pytest.approx(0.454453337, abs=5e-10)
    assert m.capacity(SLIDES) == pytest.approx((0.194114346, 0.194114346), abs=2e-9)
    for alpha, value in ((1.5, 0.245557945), (2, 0.279832874), (10, 0.397911536)):
        assert m.maximal_alpha_leakage(SLIDES, alpha) == pytest.approx((value, value), abs=2e-9)
    assert m.alpha_loss(0.5, 2) == pytest.approx(0.585786438, abs=5e-10)
    assert m.min_entropy_leakage(COUNTS) == 0
    assert m.mutual_information(COUNTS) == pytest.approx(0.215762, abs=5e-7)


def test_an_information_of_5e_13_is_resolved() -> None:
    d = 1e-6
    table = np.array([[0.25 + d / 4, 0.25 - d / 4], [0.25 - d / 4, 0.25 + d / 4]])
    truth = oracle.mutual_information(oracle.exact(table))
    assert float(truth) == pytest.approx(5e-13, rel=1e-3)
    assert m.mutual_information(table) == pytest.approx(float(truth), rel=1e-9)
    assert m.mutual_information(np.full((4, 4), 1 / 16)) == 0


@named
def test_shannon_quantities_equal_their_definitions(table: Floats) -> None:
    law = oracle.exact(table)
    assert close(m.mutual_information(table, normalise=True), oracle.mutual_information(law))
    cells = [v for row in law for v in row]
    assert close(m.entropy(table, normalise=True), oracle.entropy(cells))
    left = oracle.entropy(cells) - oracle.entropy(oracle.p_y(law))
    assert close(m.conditional_entropy(table, normalise=True), left)


@named
def test_lifts_equal_their_definitions(table: Floats) -> None:
    law = oracle.exact(table)
    truth = [oracle.log(v) for v in oracle.lifts(law)]
    log_lifts = m.log_lift(table, normalise=True)
    log_lifts = log_lifts[~np.isnan(log_lifts)]
    for value, expected in zip(log_lifts.tolist(), truth, strict=True):
        assert value == expected or close(value, expected, 2e-15)
    for value, expected in zip(
        m.lift(table, normalise=True).ravel().tolist(), oracle.lifts(law), strict=True
    ):
        assert abs(value - expected) <= 2e-15 * expected
    upper, lower, symmetric = m.local_information_privacy(table, normalise=True)
    assert close(upper, max(truth), 2e-15)
    assert lower == min(truth) or close(lower, min(truth), 2e-15)
    assert symmetric == max(upper, -lower)
    assert upper >= 0 >= lower
    level = m.local_differential_privacy(po.JointDistribution.normalised(table))
    expected = oracle.levels(oracle.rows_of(law))
    assert level == expected or close(level, expected, 4e-15)


@named
@pytest.mark.parametrize("alpha", [0.5, 0.999, 1 - 1e-12, *ORDERS])
def test_orders_equal_their_definitions(table: Floats, alpha: float) -> None:
    law = oracle.exact(table)
    # From order 50 on single lifts and powers of the prior count, whose rounding is a few 1e-16, not its square.
    absolute = 0.0 if alpha < 50 else 4e-15
    value = m.sibson_mutual_information(table, alpha, normalise=True)
    assert close(value, oracle.sibson(oracle.p_s(law), oracle.rows_of(law), alpha), absolute)
    if alpha < 1:
        return
    assert close(m.alpha_leakage(table, alpha, normalise=True), oracle.arimoto(law, alpha), absolute)
    assert close(m.alpha_lift(table, alpha, normalise=True), oracle.alpha_lift(law, alpha), absolute)
    for loss, truth in zip(
        m.expected_alpha_loss(table, alpha, normalise=True), oracle.expected_loss(law, alpha), strict=True
    ):
        assert close(loss, truth, 1e-15)


@pytest.mark.parametrize("alpha", ORDERS)
def test_alpha_loss_equals_its_definition(alpha: float) -> None:
    p = [1e-300, 1e-9, 0.1, 0.5, 1 - 1e-9, 1.0]
    for value, loss in zip(p, np.asarray(m.alpha_loss(p, alpha)).tolist(), strict=True):
        x, a = mpmath.mpf(value), mpmath.mpf(alpha)
        if alpha == 1:
            truth = -mpmath.log(x)
        else:
            truth = 1 - x if alpha == math.inf else a / (a - 1) * (1 - x ** (1 - 1 / a))
        assert abs(loss - truth) <= 4e-16 * max(truth, mpmath.mpf(10) ** -9)
    at_zero = math.inf if alpha == 1 else 1 if alpha == math.inf else alpha / (alpha - 1)
    assert m.alpha_loss(0.0, alpha) == pytest.approx(at_zero, rel=1e-15)


@pytest.mark.parametrize("alpha", [1, 1.5, 3, math.inf])
def test_the_optimal_belief_attains_the_least_expected_loss(alpha: float) -> None:
    rng = np.random.default_rng(1)
    table = rng.dirichlet(np.ones(12)).reshape(3, 4)
    least = m.expected_alpha_loss(table, alpha)[0]

    def loss(beliefs: Floats) -> float:
        return float((table * np.asarray(m.alpha_loss(beliefs.T, alpha))).sum())

    best = np.array([m.optimal_alpha_belief(table, alpha, y) for y in range(4)])
    assert loss(best) == pytest.approx(least, abs=1e-14)
    for _ in range(200):
        other = 0.9 * best + 0.1 * rng.dirichlet(np.ones(3), size=4)
        assert loss(other) >= least - 1e-14


def test_the_optimal_belief_of_a_labelled_column() -> None:
    joint = po.JointDistribution([[0.3, 0.2, 0], [0.3, 0.2, 0]], useful=["u", "v", "w"])
    assert m.optimal_alpha_belief(joint, math.inf, "v").tolist() == [0.5, 0.5]
    with pytest.raises(po.errors.InvalidProblem, match="probability zero"):
        m.optimal_alpha_belief(joint, 2, "w")


@pytest.mark.parametrize("seed", range(10))
def test_delta_is_the_worst_event(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.ones(6) * 0.4, size=4)
    for epsilon in (0.0, 0.3, 2.0, 50.0, math.inf):
        worst = 0.0
        for x, other in itertools.permutations(range(4), 2):
            for event in itertools.product((False, True), repeat=6):
                bad = rows[other][list(event)].sum()
                bad = bad * math.exp(epsilon) if bad > 0 else 0.0
                worst = max(worst, rows[x][list(event)].sum() - bad)
        assert m.delta_at(rows, epsilon) == pytest.approx(worst, abs=1e-15)
        pairs = np.ones((4, 4), dtype=bool)
        assert m.delta_at(rows, epsilon, neighbours=pairs) == m.delta_at(rows, epsilon)


def test_pure_privacy_is_where_delta_vanishes() -> None:
    rows = np.random.default_rng(3).dirichlet(np.ones(5), size=3)
    level = m.local_differential_privacy(rows)
    assert m.delta_at(rows, level * (1 + 1e-12)) == 0
    assert m.delta_at(rows, level * (1 - 1e-6)) > 0


def test_neighbours_by_pairs_labels_and_table() -> None:
    rows = np.array([[0.7, 0.3], [0.5, 0.5], [0.2, 0.8]])
    truth = max(math.log(0.7 / 0.5), math.log(0.5 / 0.3), math.log(0.5 / 0.2), math.log(0.8 / 0.5))
    table = np.zeros((3, 3), dtype=bool)
    table[0, 1] = table[2, 1] = True
    for neighbours in ([(0, 1), (2, 1)], [[1, 0], [1, 2]], np.array([[0, 1], [1, 2]]), table):
        assert m.differential_privacy(rows, neighbours) == pytest.approx(truth, rel=1e-15)
    assert m.differential_privacy(rows, []) == 0
    everything = list(itertools.combinations(range(3), 2))
    assert m.differential_privacy(rows, everything) == m.local_differential_privacy(rows)


@pytest.mark.parametrize("p", [0.01, 0.3, 0.5 - 1e-7])
@pytest.mark.parametrize("alpha", [1 + 1e-9, 1.5, 2, 20, 100, 1e4])
def test_maximal_alpha_leakage_of_the_symmetric_channel(p: float, alpha: float) -> None:
    a, x = mpmath.mpf(alpha), mpmath.mpf(p)
    truth = mpmath.log(2) + mpmath.log(x**a + (1 - x) ** a) / (a - 1)
    low, high = m.maximal_alpha_leakage([[1 - p, p], [p, 1 - p]], alpha)
    assert low <= truth <= high
    assert high - low < 1e-12


@pytest.mark.parametrize("alpha", [1, 1 + 1e-12, 1.3, 2, 29, 31, 1e3])
def test_rounding_is_allowed_for(alpha: float) -> None:
    """Circulant channels, where the uniform prior closes the interval but for what rounding takes."""
    rng = np.random.default_rng(2)
    for n in (3, 20, 60):
        row = rng.dirichlet(np.ones(n) * 0.3) + 1e-12
        rows = np.array([np.roll(row, k) for k in range(n)])
        first, a = oracle.rows_of([[mpmath.mpf(v) for v in row.tolist()]])[0], mpmath.mpf(alpha)
        spread = mpmath.log(mpmath.fsum(w**a for w in first)) / (a - 1) if a > 1 else -oracle.entropy(first)
        low, high = (
            m.capacity(rows, normalise=True)
            if alpha == 1
            else m.maximal_alpha_leakage(rows, alpha, normalise=True)
        )
        assert low <= mpmath.log(n) + spread <= high
        assert high - low < 1e-12


@pytest.mark.parametrize("seed", few(range(6), 3))
@pytest.mark.parametrize("alpha", [1.0, 1 + 1e-12, 1.0005, 1.2, 3.0, 40.0, 1e3])
def test_intervals_contain_what_they_promise(seed: int, alpha: float) -> None:
    """A fine grid of priors stays below the upper end; the best of it, refined, reaches the lower end."""
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.ones(4) * 0.5, size=2)
    low, high = m.capacity(rows) if alpha == 1 else m.maximal_alpha_leakage(rows, alpha)
    assert 0 <= low <= high <= low + 1.1e-9
    exact = oracle.rows_of([[mpmath.mpf(v) for v in row] for row in rows.tolist()])

    def value(t: mpmath.mpf) -> mpmath.mpf:
        return oracle.sibson([t, 1 - t], exact, alpha)

    left, right = mpmath.mpf("1e-9"), 1 - mpmath.mpf("1e-9")
    for _ in range(60):  # ternary search: the information is concave in the prior up to a growing function
        third = (right - left) / 3
        if value(left + third) < value(right - third):
            left += third
        else:
            right -= third
    best = value((left + right) / 2)
    assert low <= best <= high
    assert max(value(mpmath.mpf(k) / 20) for k in range(1, 20)) <= high


def test_the_support_of_the_prior_counts_and_nothing_else_of_it() -> None:
    rows = [[0.9, 0.1, 0.0], [0.2, 0.8, 0.0], [0.0, 0.0, 1.0]]
    assert m.maximal_leakage(rows, [0.5, 0.5, 0]) == pytest.approx(math.log(1.7), rel=1e-15)
    assert m.maximal_leakage(rows, [0.1, 0.8, 0.1]) == m.maximal_leakage(rows)
    assert m.maximal_alpha_leakage(rows, 2, [0.9, 0.1, 0]) == m.maximal_alpha_leakage(rows[:2], 2)
    prior = np.array([0.25, 0.75, 0.0])
    low, high = m.maximal_alpha_leakage(rows, 1, prior)
    assert low <= m.mutual_information(prior[:, None] * np.array(rows)) <= high
    assert m.maximal_alpha_leakage(rows, math.inf)[1] == pytest.approx(m.maximal_leakage(rows), abs=1e-12)


def test_steps_that_run_out_leave_a_wide_but_true_interval() -> None:
    rows = np.random.default_rng(5).dirichlet(np.ones(30) * 0.1, size=30)
    wide, narrow = m.capacity(rows, max_steps=3), m.capacity(rows)
    assert wide[1] - wide[0] > 1e-6
    assert wide[0] <= narrow[0] <= narrow[1] <= wide[1]


def test_mutual_information_bound_equals_its_definition() -> None:
    for u, low in itertools.product((1e-9, 1e-3, 0.09, 0.11, 1.0, 5.0, 40.0), repeat=2):
        a, b = mpmath.mpf(u), mpmath.mpf(low)
        t = (1 - mpmath.exp(-b)) / (mpmath.exp(a) - mpmath.exp(-b))
        truth = t * mpmath.exp(a) * a - (1 - t) * mpmath.exp(-b) * b
        assert m.mutual_information_bound(u, -low) == pytest.approx(float(truth), rel=1e-14)
    assert m.mutual_information_bound(0.7, 0.7) == pytest.approx(0.7 * math.tanh(0.35), rel=1e-14)
    assert m.mutual_information_bound(0.0, math.inf) == 0
    assert m.mutual_information_bound(math.inf, 1.0) == math.inf


def test_sibson_of_order_zero_is_the_limit() -> None:
    table = np.array([[0.2, 0.1, 0.0], [0.0, 0.3, 0.1], [0.1, 0.0, 0.2]])
    law = oracle.exact(table)
    limit = oracle.sibson(oracle.p_s(law), oracle.rows_of(law), 1e-9)
    assert m.sibson_mutual_information(table, 0) == pytest.approx(float(limit), abs=1e-7)
    assert m.sibson_mutual_information(table, 0) == pytest.approx(-math.log(0.7), rel=1e-15)

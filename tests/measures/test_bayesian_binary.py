"""Chains of two states in closed form: against the recursion in many digits and record by record, and invariants."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from instances.few import few
from mpmath import log
from oracles.bayesian import any_mechanism

import privopt as po
from privopt.measures.bayesian._recursion import Recursion, ray_step
from privopt.measures.bayesian._sides import both_sides, largest_product
from privopt.measures.bayesian.binary import has_powers, sides_product
from privopt.measures.bayesian.markov import markov_recursion
from privopt.measures.bayesian.markov_proof import prove_markov_leak, prove_markov_recursion


def chain(seed: int) -> tuple[po.MarkovChain, float]:
    rng = np.random.default_rng(seed)
    a, b = np.exp(rng.uniform(-6, -0.01, 2))
    rows = [[1 - a, a], [b, 1 - b]]
    first = None if seed % 3 else rng.dirichlet([1, 1]) + 1e-3
    return po.MarkovChain.normalised(rows if seed % 2 else rows[::-1], first), float(
        np.exp(rng.uniform(-8, 3))
    )


@pytest.mark.parametrize("seed", few(range(12), 5))
def test_every_length_against_the_recursion_in_many_digits(seed: int) -> None:
    records, tau = chain(seed)
    for n in (1, 2, 3, 6, 13):
        product = sides_product(records, tau, n)
        truth = any_mechanism(records, n, tau)
        assert tau + log(product.least) <= truth + 1e-30
        assert truth <= tau + log(product.most)
        assert tau + math.log(product.value) == pytest.approx(float(truth), rel=1e-12)


@pytest.mark.parametrize("seed", few(range(20, 32), 5))
def test_long_chains_against_record_by_record(seed: int) -> None:
    records, tau = chain(seed)
    for n in (300, None):
        sides = both_sides(records, n, Recursion(math.exp(tau), ray_step))
        walked = largest_product(*sides, n)
        product = sides_product(records, tau, n)
        if walked < math.inf:
            assert product.value == pytest.approx(walked, rel=1e-10)
        assert product.least <= product.value <= product.most <= product.least * (1 + 1e-10)


@pytest.mark.parametrize("leaving", [1e-2, 1e-4, 1e-7])
def test_who_turns_every_other_record_round_makes_a_sticky_chain_alternate(leaving: float) -> None:
    sticky = po.MarkovChain([[1 - leaving, leaving], [leaving, 1 - leaving]])
    alternating = po.MarkovChain([[leaving, 1 - leaving], [1 - leaving, leaving]])
    for tau in (leaving / 3, 0.1, 2.0):
        for n in (2, 50, 10**4, None):
            values = [sides_product(records, tau, n).value for records in (sticky, alternating)]
            assert values[0] == pytest.approx(values[1], rel=1e-9)


def test_a_longer_chain_leaks_no_less() -> None:
    records = po.MarkovChain([[0.9998, 0.0002], [0.001, 0.999]])
    lengths = (1, 2, 9, 100, 3000, 60_000, 10**6, 10**12, None)
    for tau in (1e-4, 0.2):
        values = [prove_markov_leak(records, tau, n) for n in lengths]
        assert all(a <= b * (1 + 1e-10) for a, b in pairwise(values))
        for n, low in zip(lengths, values, strict=True):
            high = prove_markov_recursion(records, tau, n)
            assert low <= markov_recursion(records, tau, n).value * (1 + 1e-12)
            assert low <= high <= low * (1 + 1e-6) + 1e-11


def test_zeros_and_other_models_are_followed_record_by_record() -> None:
    assert not has_powers(po.MarkovChain([[0.5, 0.5], [1.0, 0.0]]), 1.0)
    assert not has_powers(po.MarkovChain([[[0.8, 0.2], [0.3, 0.7]]], initial=[0.5, 0.5]), 1.0)
    assert not has_powers(po.MarkovChain(np.full((3, 3), 1 / 3)), 1.0)
    assert not has_powers(po.MarkovChain([[0.8, 0.2], [0.3, 0.7]]), 500.0)


@pytest.mark.parametrize(
    "rows",
    [
        [[0.9999, 0.0001], [0.0003, 0.9997]],
        [[0.0001, 0.9999], [0.9999, 0.0001]],
        [[1 - 1e-10, 1e-10], [0.5, 0.5]],
    ],
)
def test_chains_that_forget_slowly_are_solved_for_any_length(rows: list[list[float]]) -> None:
    problem = po.BayesianPrivacy(po.MarkovChain(rows), "count", 1.0)
    solution = po.solve(problem, "markov-recursion", time_limit=60)
    assert solution.status is po.Status.OPTIMAL
    assert po.verify(problem, solution).ok


@pytest.mark.parametrize("rows", [[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]])
def test_where_one_record_decides_all_reports_of_all_add_up(rows: list[list[float]]) -> None:
    chain, tau = po.MarkovChain(rows, initial=[0.4, 0.6]), 0.3
    for n in (1, 2, 5):
        proved = prove_markov_leak(chain, tau, n)
        assert 0 <= n * tau - proved < 1e-12
        assert proved <= prove_markov_recursion(chain, tau, n) * (1 + 1e-12)
    assert prove_markov_leak(chain, tau) > 1e300

"""Lower bounds on what mechanisms of a level leak on chains of several states, against linear programs over all adversaries."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

import privopt as po
from privopt.measures.bayesian.markov import markov_recursion
from privopt.measures.bayesian.markov_proof import prove_markov_leak, prove_markov_recursion
from privopt.measures.bayesian.product_leak import prove_product_leak
from privopt.measures.bayesian.tables import exact_small, joint_table


def chain(seed: int, k: int) -> po.MarkovChain:
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(k, 0.8), size=k) + (np.eye(k) if seed % 2 else 0.0)
    return po.MarkovChain.normalised(rows.tolist(), None if seed % 3 else rng.dirichlet(np.ones(k)))


@pytest.mark.parametrize("seed", range(3))
def test_no_more_than_the_worst_mechanism(seed: int) -> None:
    for k, n in ((2, 4), (3, 3)):
        records = chain(seed, k)
        for tau in (0.1, 2.0):
            least = prove_product_leak(records, tau, n)
            assert tau * (1 - 1e-12) <= least <= exact_small(records, tau, n).value + 1e-6


def products(records: po.MarkovChain, tau: float, n: int) -> float:
    """The largest leakage of a mechanism that is a product to someone who knows nothing, by trying all of them."""
    joint, k = joint_table(records, n, 256), records.k
    factors = [np.exp(tau * np.array(bits)) for bits in product((0, 1), repeat=k)]
    worst = 0.0
    for choice in product(factors, repeat=n):
        weighted = joint
        for axis, factor in enumerate(choice):
            weighted = weighted * factor.reshape([-1 if a == axis else 1 for a in range(n)])
        for target in range(n):
            others = tuple(a for a in range(n) if a != target)
            means = weighted.sum(axis=others) / joint.sum(axis=others)
            worst = max(worst, math.log(means.max() / means.min()))
    return worst


@pytest.mark.parametrize("seed", [1, 4])
def test_nearly_the_best_of_all_products(seed: int) -> None:
    records = chain(seed, 3)
    for tau in (0.7,):
        best = products(records, tau, 3)
        assert best * 0.9 <= prove_product_leak(records, tau, 3) <= best * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_below_the_recursion_for_any_length(seed: int) -> None:
    two, four = chain(6 * seed + 1, 2), chain(6 * seed + 1, 4)  # stationary ones: both sides count
    for tau in (0.05, 0.5):
        assert prove_product_leak(two, tau) <= prove_markov_leak(two, tau) * (1 + 1e-12) + 1e-15
        least = prove_product_leak(four, tau)
        assert least <= prove_markov_recursion(four, tau)
        assert least >= 0.75 * markov_recursion(four, tau).value


def test_zeros_and_what_is_not_looked_at() -> None:
    cycle = po.MarkovChain([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    assert prove_product_leak(cycle, 0.5, 5) == pytest.approx(2.5)  # one record tells all
    absorbing = po.MarkovChain([[0.5, 0.25, 0.25], [0, 0.5, 0.5], [0, 0, 1]], initial=[0.5, 0.5, 0])
    assert 0.5 <= prove_product_leak(absorbing, 0.5, 4) <= exact_small(absorbing, 0.5, 4).value + 1e-6
    steps = po.MarkovChain([np.full((3, 3), 1 / 3)] * 2, initial=np.full(3, 1 / 3))
    assert prove_product_leak(steps, 0.5) == 0.0


def test_histograms_of_several_states_have_a_bound() -> None:
    problem = po.BayesianPrivacy(chain(5, 4), "histogram", 1.0)
    solution = po.solve(problem, "markov-recursion", time_limit=60)
    assert solution.utility is not None
    assert solution.bound is not None
    assert solution.utility <= solution.bound <= 0.75 * solution.utility  # of a level of epsilon itself: -2
    assert po.verify(problem, solution).ok

"""What no private mechanism shows: a bound for any chain, against the best mechanisms and against brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest

import privopt as po

THREE = po.MarkovChain([[0.8, 0.15, 0.05], [0.1, 0.8, 0.1], [0.05, 0.25, 0.7]])
DUAL = {"kind": "influence"}


def drawn(seed: int, k: int) -> po.MarkovChain:
    return po.MarkovChain(np.random.default_rng(seed).dirichlet(np.ones(k), size=k).tolist())


@pytest.mark.parametrize("seed", range(6))
def test_the_bound_is_the_share_of_values_that_one_release_may_show(seed: int) -> None:
    """By Bayes' rule from the joint distribution of the two records, a value at a time."""
    rng = np.random.default_rng(seed)
    k, n, epsilon = 2 + seed % 3, 7, float(rng.uniform(0.05, 1.5))
    chain, private = drawn(seed, k), (1, 5)
    share = 0.0
    for t in range(n):
        for v in range(k):
            worst = 0.0
            for p in private:
                power = np.linalg.matrix_power(chain.transition, abs(t - p))
                together = chain.marginal(min(t, p))[:, None] * power
                given = (together if t > p else together.T) / chain.marginal(p)[:, None]
                if t == p:
                    worst = math.inf
                else:
                    worst = max(worst, float(np.log(given[:, v].max() / given[:, v].min())))
            share += float(chain.marginal(t)[v]) / n if worst <= epsilon else 0.0
    proved = po.Redaction(chain, n, private, epsilon).prove_bound(DUAL)
    assert proved is not None
    assert proved[0] <= share <= proved[1] == pytest.approx(share, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_no_private_mechanism_passes_the_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chain = drawn(seed, 3)
    problem = po.Redaction(chain, 6, 1, float(rng.uniform(0.2, 1.0)), period=3)
    proved = problem.prove_bound(DUAL)
    assert proved is not None
    for _ in range(60):
        hidden = np.where(rng.random((6, 3)) < 0.6, 1.0, rng.random((6, 3)))
        hidden[list(problem.private)] = 1.0
        reading = problem.evaluate(po.RedactionMechanism(hidden, chain.states))
        assert not reading.feasible or reading.utility <= proved[1]
    assert (po.solve(problem, "windows").utility or 0.0) <= proved[1]


def test_it_is_at_least_the_optimum_of_two_states_and_says_all_without_a_budget() -> None:
    chain = po.MarkovChain([[0.75, 0.25], [0.4, 0.6]])
    problem = po.Redaction(chain, 24 * 3, 20, 1.0, period=24)
    proved = problem.prove_bound(DUAL)
    assert proved is not None
    assert (po.solve(problem, "optimal").utility or 0.0) <= proved[1] < 1.0
    assert problem.with_budget(math.inf).prove_bound(DUAL) == (1.0, 1.0)
    assert po.Redaction(THREE, 4, 1, 1e-6).prove_bound(DUAL) == (0.0, 0.0)


def test_other_forms_sizes_and_words_have_no_such_bound() -> None:
    assert po.Redaction(THREE, 9, 4, 1.0, form="sequential").prove_bound(DUAL) is None
    assert po.Redaction(THREE, 200_000, 4, 1.0).prove_bound(DUAL) is None
    assert po.Redaction(THREE, 9, 4, 1.0).prove_bound({**DUAL, "multipliers": []}) is None
    assert po.Redaction(THREE, 9, 4, 1.0).prove_bound(DUAL, 0.0) is None

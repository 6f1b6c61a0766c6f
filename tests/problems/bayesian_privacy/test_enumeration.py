"""Noisy counts, sums and means of chains: every adversary by brute force over all sequences, and invariants."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from instances.few import few
from mpmath import exp, log, mp, mpf
from oracles.bayesian import noisy_count

import privopt as po
from privopt.measures.bayesian.tables import laplace_leakage
from privopt.problems.bayesian_privacy import levels
from privopt.problems.bayesian_privacy.enumeration import Listed, Worst, enclose_enumerated, enumerated, table
from privopt.problems.bayesian_privacy.lattice import Lattice, lattice_of
from privopt.problems.bayesian_privacy.sides import arrangements, count_arrangements

SWING = po.MarkovChain([[0.2, 0.8], [0.8, 0.2]])
COUNT = Lattice((0, 1), Fraction(1), Fraction(0))


def chain(seed: int) -> tuple[po.MarkovChain, int]:
    """Two or three states; stationary, started anywhere or in one state, with zeros, or with a step of its own each time."""
    rng = np.random.default_rng(seed)
    k = 2 + seed % 2
    n = int(rng.integers(1, 6 if k == 2 else 4))
    first = (None, rng.dirichlet(np.ones(k)), np.eye(k)[0])[seed % 3]
    rows = rng.dirichlet(np.ones(k), size=k)
    if seed % 4 == 3:
        rows = np.where((rng.random((k, k)) < 0.4) & ~np.eye(k, dtype=bool)[::-1], 0.0, rows)
        first = np.ones(k) if first is None else first
    if seed % 5 == 4 and n > 1:
        steps = [rng.dirichlet(np.ones(k), size=k) for _ in range(n - 1)]
        return po.MarkovChain.normalised(steps, rng.dirichlet(np.ones(k))), n
    return po.MarkovChain.normalised(rows, first), n


@pytest.mark.parametrize("seed", few(range(30), 8))
def test_counts_against_all_sequences(seed: int) -> None:
    records, n = chain(seed)
    tau = float(np.exp(np.random.default_rng(seed).uniform(-3, 2)))
    lattice = Lattice(tuple(int(i == 1) for i in range(records.k)), Fraction(1), Fraction(0))
    truth = noisy_count(records, records.states[1], n, tau)
    low, high = enclose_enumerated(records, lattice, n, tau)
    assert low <= truth + mpf(10) ** -40
    assert truth <= high + mpf(10) ** -40
    assert high - low < 1e-14
    assert enumerated(records, lattice, n, tau).value == pytest.approx(float(truth), abs=1e-12)
    assert sum(len(rights) for _, rights in arrangements(records, lattice.steps, n)) <= count_arrangements(
        records, n
    )


def noisy_sum(records: po.MarkovChain, g: list[float], n: int, scale: Fraction) -> mpf:
    """The leakage of Laplace noise of a scale on the sum of g, over all adversaries, at many outputs."""
    k = records.k
    joint = {
        word: math.prod(
            [records.exact_initial.fraction(word[0])]
            + [records.exact_step(t)[a].fraction(b) for t, (a, b) in enumerate(pairwise(word))]
        )
        for word in product(range(k), repeat=n)
    }
    totals = {word: sum((Fraction(g[u]) for u in word), Fraction(0)) for word in joint}
    outputs = sorted(set(totals.values()))
    outputs += [(a + b) / 2 for a, b in pairwise(outputs)] + [outputs[0] - 1, outputs[-1] + 1]
    worst = mpf(0)
    for i, pattern in product(range(n), product([None, *range(k)], repeat=n)):
        if pattern[i] is not None:
            continue
        rows = []
        for x in range(k):
            fits = [
                w for w in joint if w[i] == x and all(p in (None, v) for p, v in zip(pattern, w, strict=True))
            ]
            if sum(joint[w] for w in fits):
                rows.append(fits)
        for y in outputs if len(rows) > 1 else ():
            densities = [
                sum(mpf(float(joint[w])) * exp(-mpf(float(abs(y - totals[w]) / scale))) for w in fits)
                / mpf(float(sum(joint[w] for w in fits)))
                for fits in rows
            ]
            worst = max(worst, log(max(densities) / min(densities)))
    return worst


@pytest.mark.parametrize(
    ("states", "query", "clip"),
    [
        ((0, 1), "sum", None),
        ((-1.5, 2.25), "mean", None),
        ((0.1, 0.2, 0.3), "sum", None),
        ((1, 5, 2), "mean", (0, 4)),
        ((0, 3), "sum", (-1, 5)),
    ],
)
def test_sums_and_means_against_all_sequences(states: Any, query: str, clip: Any) -> None:
    rows = np.random.default_rng(len(states)).dirichlet(np.ones(len(states)), size=len(states))
    records, n = po.MarkovChain.normalised(rows, states=states), 6 - len(states)
    problem = po.BayesianPrivacy(records, query, 1.0, length=n, clip=clip)
    assert problem.clip is not None
    g = [min(max(s, problem.clip[0]), problem.clip[1]) / (n if query == "mean" else 1) for s in states]
    with mp.workdps(30):
        for tau in (0.2, 1.3):
            truth = noisy_sum(records, g, n, Fraction(problem.sensitivity) / Fraction(tau))
            low, high, _ = levels.proved_leakage(problem, tau)
            assert low - 1e-12 <= truth <= high + 1e-12
            assert high - low < 1e-13
            assert levels.reading(problem, tau).value == pytest.approx(float(truth), abs=1e-12)
    solution = po.solve(problem)
    assert solution.status is po.Status.OPTIMAL
    assert po.verify(problem, solution).ok


def test_a_sum_over_0_and_1_is_a_count() -> None:
    for n in (1, 6, 9, 20):
        count, total = (
            po.solve(po.BayesianPrivacy(SWING, query, 1.0, length=n)) for query in ("count", "sum")
        )
        assert count.objective == pytest.approx(-1.0, abs=1e-9)
        assert total.objective == pytest.approx(count.objective, rel=1e-12)
        assert count.status is total.status is po.Status.OPTIMAL


@pytest.mark.parametrize("n", [9, 20, 33])
def test_a_noisy_count_leaks_no_more_than_any_mechanism_and_no_less_if_longer(n: int) -> None:
    records = po.MarkovChain([[0.7, 0.3], [0.6, 0.4]])
    for tau in (0.1, 0.9):
        shorter, longer = (enclose_enumerated(records, COUNT, m, tau) for m in (n - 1, n))
        assert shorter[0] <= longer[1]
        assert longer[0] <= po.measures.bayesian_leakage(records, tau, length=n).value * (1 + 1e-12)
        every = enclose_enumerated(records, COUNT, n, tau * 1.01)
        assert longer[1] < every[0]


@pytest.mark.parametrize("seed", range(2))
def test_floats_leave_out_nobody_who_matters(seed: int) -> None:
    a, b = np.random.default_rng(seed).uniform(0.05, 0.95, 2)
    records, n = po.MarkovChain([[1 - a, a], [b, 1 - b]]), 12
    assert len(table(records, COUNT.steps, n).cases) > 400  # beyond, floats choose
    truth = laplace_leakage(records, [0, 1], 0.8, n)  # every set of known records
    low, high = enclose_enumerated(records, COUNT, n, 0.8)
    assert truth == pytest.approx(low, abs=1e-11)
    assert 0 <= high - low < 1e-14


def test_what_has_no_coarse_lattice_or_is_long_is_bounded_as_any_mechanism() -> None:
    odd = po.MarkovChain(np.full((3, 3), 1 / 3), states=(0.0, 1.0, math.pi))
    assert lattice_of(po.BayesianPrivacy(odd, "sum", 1.0, length=4)) is None
    for problem in (
        po.BayesianPrivacy(odd, "sum", 1.0, length=4),
        po.BayesianPrivacy(po.MarkovChain([[0.001, 0.999], [0.9999, 0.0001]]), "count", 1.0, length=10**9),
        po.BayesianPrivacy(SWING, "count", 1.0, length=5, mechanism="randomised_response"),
        po.BayesianPrivacy(SWING, "histogram", 1.0, length=5),
    ):
        assert not levels.enumerable(problem)


def sluggish(k: int, length: int) -> po.BayesianPrivacy:
    rng = np.random.default_rng(k)
    chain = po.MarkovChain(
        [[float(x) for x in row / row.sum()] for row in rng.dirichlet(np.full(k, 0.3), size=k) + 1e-3]
    )
    return po.BayesianPrivacy(chain, "sum", 0.5, length=length)


@pytest.mark.parametrize("tau", [1e-19, 1e-16])
def test_levels_at_which_all_adversaries_are_alike_are_proved_without_them(tau: float) -> None:
    """Not in balls, of which there are too many, nor in floats: what holds for any dependence, a level for each record."""
    problem = sluggish(4, 24)
    chain, lattice = problem.model, lattice_of(problem)
    assert isinstance(chain, po.MarkovChain)
    assert lattice is not None
    assert enclose_enumerated(chain, lattice, 24, tau) == (0.0, math.inf)
    low, high, method = levels.proved_leakage(problem, tau)
    assert 0.0 <= low <= high <= 24 * tau * (1 + 1e-12)
    assert "every adversary" not in method


@pytest.mark.parametrize("k", [2, 3, 4])
def test_the_worst_of_some_levels_find_the_largest_one(k: int) -> None:
    problem = sluggish(k, 12)
    listed = levels.own(problem)
    assert isinstance(listed, Listed)
    chain, lattice, length = listed.chain, listed.lattice, listed.length
    solution = po.solve(problem, "exact-small", time_limit=60)
    assert solution.status is po.Status.OPTIMAL
    assert solution.mechanism is not None
    tau = solution.stats["tau"]
    assert isinstance(tau, float)
    assert (
        enumerated(chain, lattice, length, tau).value
        <= 0.5
        < enumerated(chain, lattice, length, tau * (1 + 1e-6)).value
    )
    worst = Worst(chain, lattice, length)
    assert worst.see(2 * tau) == enumerated(chain, lattice, length, 2 * tau).value
    assert worst.leakage(tau) <= enumerated(chain, lattice, length, tau).value


@pytest.mark.parametrize("seed", range(4))
def test_sums_and_means_of_several_states_agree_with_every_sequence(seed: int) -> None:
    rng = np.random.default_rng(seed)
    records = po.MarkovChain.normalised(rng.dirichlet(np.ones(4), size=4))
    for query in ("sum", "mean"):
        problem = po.BayesianPrivacy(records, query, 2.0, length=3, clip=(0, 3))
        brute, best = (po.solve(problem, name) for name in ("oracle", "exact-small"))
        assert brute.certified
        assert brute.objective == pytest.approx(best.objective, rel=1e-9)

"""Noisy counts, sums and means of chains of any length: against all sequences, single adversaries by brute force, and invariants."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from instances.few import few
from mpmath import exp, log, mpf
from oracles.bayesian import noisy_count

import privopt as po
from privopt.problems.bayesian_privacy import levels
from privopt.problems.bayesian_privacy.enumeration import enclose_enumerated
from privopt.problems.bayesian_privacy.forgetting import Forgetting, blurred, diameters, error_of, forgetting
from privopt.problems.bayesian_privacy.lattice import Lattice
from privopt.problems.bayesian_privacy.pairs import Pairs, Sides

SWING = po.MarkovChain([[0.2, 0.8], [0.8, 0.2]])
COUNT = Lattice((0, 1), Fraction(1), Fraction(0))


def random_chain(seed: int, k: int) -> po.MarkovChain:
    """Some with zeros, some that start anywhere."""
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(k, (0.3, 1.0, 4.0)[seed % 3]), size=k)
    if seed % 4 == 3:
        rows = np.where((rng.random((k, k)) < 0.3) & ~np.eye(k, dtype=bool)[::-1], 0.0, rows)
    return po.MarkovChain.normalised(rows, rng.dirichlet(np.ones(k)) if seed % 2 else None)


def lattice_of(seed: int, k: int) -> Lattice:
    values = np.random.default_rng(seed).integers(0, 4, k) if seed % 2 else np.eye(k, dtype=int)[0]
    steps = tuple(int(v) for v in values - values.min())
    return Lattice(steps if max(steps) else (*steps[:-1], 2), Fraction(1, max(*steps, 1)), Fraction(0))


def distribution(step: Any, values: tuple[int, ...], start: Any, records: int) -> list[list[Any]]:
    """What so many unknown records and what is known beyond them make likely, for each value of the target: plain sums over words."""
    k = len(step)
    found = [[w] for w in start]
    for _ in range(records):
        width = max(map(len, found)) + max(values)
        further = []
        for x in range(k):
            row = [mpf(0)] * width
            for u in range(k):
                for c, weight in enumerate(found[u]):
                    row[c + values[u]] += step[x][u] * weight
            further.append(row)
        found = further
    return found


def leaked(
    chain: po.MarkovChain,
    lattice: Lattice,
    tau: float,
    left: tuple[int, int | None],
    right: tuple[int, int | None],
) -> mpf:
    """What noise leaks to one adversary: unknown records on each side, and the value of the record beyond them, or None."""
    k, values = chain.k, lattice.steps
    step = [[mpf(r.weights[j]) / r.total for j in range(k)] for r in chain.exact_step(0)]
    back = [[step[u][x] for u in range(k)] for x in range(k)]
    first = [mpf(w) / chain.exact_initial.total for w in chain.exact_initial.weights]
    sides = [
        distribution(way, values, ends if z is None else [row[z] for row in way], records)
        for way, ends, (records, z) in ((back, first, left), (step, [mpf(1)] * k, right))
    ]
    rate, rows = mpf(tau) * lattice.share.numerator / lattice.share.denominator, []
    for x in range(k):
        sums: dict[int, mpf] = {}
        for a, p in enumerate(sides[0][x]):
            for b, q in enumerate(sides[1][x]):
                sums[a + b + values[x]] = sums.get(a + b + values[x], mpf(0)) + p * q
        total = sum(sums.values())
        if total:
            rows.append({c: w / total for c, w in sums.items() if w})
    top = max(max(row) for row in rows)
    worst = mpf(0)
    for y in range(-1, 2 * top + 3):  # in halves
        dense = [sum(w * exp(-rate * abs(mpf(y) / 2 - c)) for c, w in row.items()) for row in rows]
        worst = max(worst, log(max(dense) / min(dense)))
    return worst


@pytest.mark.parametrize("seed", few(range(16), 5))
def test_short_chains_against_all_sequences_and_all_adversaries_in_balls(seed: int) -> None:
    k = 2 + seed % 2
    chain, n = random_chain(seed, k), 3 + seed % 3
    count = Lattice(tuple(int(i == 1) for i in range(k)), Fraction(1), Fraction(0))
    tau = float(np.exp(np.random.default_rng(seed).uniform(-3, 2)))
    noisy = Forgetting(chain, count, n, n)
    low, high = noisy.enclose(tau)
    truth = noisy_count(chain, chain.states[1], n, tau)
    assert low <= truth + mpf(10) ** -40
    assert truth <= high + mpf(10) ** -40
    assert high - low < 1e-11
    assert noisy.read(tau).value == pytest.approx(float(truth), abs=1e-11)


@pytest.mark.parametrize("seed", few(range(24), 8))
@pytest.mark.parametrize("n", [9, 14])
def test_middle_chains_against_every_adversary_in_balls(seed: int, n: int) -> None:
    k = 2 + seed % 3
    chain, lattice = random_chain(seed, k), lattice_of(seed, k)
    if not all(chain.exact_initial.weights) or not (chain.transition.sum(axis=0) > 0).all():
        pytest.skip("some value occurs at some times only")
    tau = float(np.exp(np.random.default_rng(seed).uniform(-4, 2)))
    every = enclose_enumerated(chain, lattice, n, tau)
    low, high = Forgetting(chain, lattice, n, n).enclose(tau)
    assert low <= every[1]
    assert every[0] <= high
    assert high - low <= 1e-11 + 1e-8 * high
    endless = forgetting(chain, lattice, None)
    if endless is not None:
        assert every[0] <= endless.enclose(tau)[1]


@pytest.mark.parametrize("seed", few(range(12), 5))
def test_no_adversary_of_a_long_chain_is_told_more(seed: int) -> None:
    """Far, near and in between, with nothing known on a side or a value: mixtures are bounded by the border of the box."""
    k = 2 + seed % 2
    chain, lattice, rng = random_chain(3 * seed + 1, k), lattice_of(seed, k), np.random.default_rng(seed)
    noisy = forgetting(chain, lattice, None)
    if noisy is None:
        pytest.skip("a chain that forgets slowly, or whose noisy count is the worst mechanism of its level")
    tau = float(np.exp(rng.uniform(-3, 1)))
    low, high = noisy.enclose(tau)
    assert noisy.read(tau).exact
    assert high - low <= 1e-8 * high
    for _ in range(12):
        left, right = (
            (int(rng.choice([0, 1, 3, 9, 17])), None if rng.random() < 0.3 else int(rng.integers(k)))
            for _ in range(2)
        )
        assert leaked(chain, lattice, tau, left, right) <= high * (1 + 1e-14)


@pytest.mark.parametrize("k", [2, 3])
def test_floats_err_by_no_more_than_is_said(k: int) -> None:
    chain, lattice = random_chain(5, k), lattice_of(1, k)
    p, first = chain.transition, np.array(chain.exact_initial.floats())
    pairs = Pairs(Sides(p.T, first, lattice.steps, 12), Sides(p, np.ones(k), lattice.steps, 12))
    kinds = k + 1
    for tau in (0.3, 7.0):
        rate = tau * float(lattice.share)
        found = pairs.leakages(rate, np.ones((12 * kinds, 12 * kinds), dtype=np.bool_))
        for i, j in ((0, 5), (kinds * 6 + 1, kinds * 11), (kinds * 11 + 2, kinds * 11 + 1)):
            left, right = (
                (place // kinds, (place % kinds - 1) if place % kinds else None) for place in (i, j)
            )
            truth = leaked(chain, lattice, tau, left, right)
            assert abs(found[i, j] - truth) <= pairs.error(rate, 12)


@pytest.mark.parametrize("rare", [1e-12, 1e-60, 1e-90])
def test_leakages_of_hundreds_of_nats_err_by_no_more_than_is_said(rare: float) -> None:
    chain = po.MarkovChain.normalised([[1.0, rare], [0.3, 0.7]], [0.4, 0.6])
    noisy = Forgetting(chain, COUNT, 9, 9)
    for tau in (0.2, 3.0):
        every, bound = enclose_enumerated(chain, COUNT, 9, tau), noisy.read(tau)
        low, high = noisy.enclose(tau)
        assert low <= every[1]
        assert every[0] <= high
        assert abs(bound.value - every[0]) <= error_of(1e-12, every[1])


@pytest.mark.long
def test_rare_answers_are_read_by_tilts() -> None:
    """Sums of probabilities below the smallest float, at a rate that does not blur them."""
    chain, lattice = po.MarkovChain([[0.999999, 0.000001], [0.9, 0.1]]), COUNT
    first = np.array(chain.exact_initial.floats())
    pairs = Pairs(
        Sides(chain.transition.T, first, (0, 1), 80), Sides(chain.transition, np.ones(2), (0, 1), 80)
    )
    wanted = np.zeros((240, 240), dtype=np.bool_)
    wanted[238, 238] = True  # 79 unknown records on each side, beyond them known ones of the first value
    found = float(pairs.leakages(20.0, wanted)[238, 238])
    truth = leaked(chain, lattice, 20.0, (79, 0), (79, 0))
    assert found == pytest.approx(float(truth), abs=pairs.error(20.0, 80))
    assert found < math.inf


@pytest.mark.parametrize("seed", range(6))
def test_projective_diameters_are_those_of_powers_and_never_less(seed: int) -> None:
    chain = random_chain(3 * seed + 2, 3)
    step = [[row.fraction(j) for j in range(3)] for row in chain.exact_step(0)]
    power = step
    for h in diameters(chain, 6):
        if all(p > 0 for row in power for p in row):
            ratios = [[a / b for a, b in zip(one, other, strict=True)] for one in power for other in power]
            exact = max(log(mpf((max(r) / min(r)).numerator) / (max(r) / min(r)).denominator) for r in ratios)
            assert exact <= h <= exact + 1e-11
        else:
            assert h == math.inf
        power = [
            [sum((row[u] * step[u][j] for u in range(3)), Fraction(0)) for j in range(3)] for row in power
        ]


@pytest.mark.long
def test_many_states_are_read_in_small_boxes() -> None:
    rng = np.random.default_rng(1)
    chain = po.MarkovChain.normalised(rng.dirichlet(np.ones(20), size=20))
    solution = po.solve(po.BayesianPrivacy(chain, "count", 1.0), time_limit=20)
    assert solution.status is po.Status.OPTIMAL
    by_any = po.solve(po.BayesianPrivacy(chain, "count", 1.0), "markov-recursion", time_limit=20)
    assert solution.objective is not None
    assert by_any.objective is not None
    assert solution.objective > by_any.objective / 3
    wide = po.MarkovChain(np.full((60, 60), 1 / 60))
    assert not levels.enumerable(po.BayesianPrivacy(wide, "count", 1.0))


def test_mixtures_differ_by_no_more_than_is_said() -> None:
    """Random weights within a projective distance, and random densities within a factor; two values reach it."""
    rng = np.random.default_rng(0)
    for _ in range(2000):
        size, h, s = int(rng.integers(2, 6)), rng.uniform(0, 6), rng.uniform(0, 6)
        weights, values = rng.dirichlet(np.ones(size)), np.exp(rng.choice([0, 1], size) * s)
        other = weights * np.exp(rng.uniform(0, h, size))
        assert math.log(other @ values / other.sum() / (weights @ values)) <= blurred(h, s) + 1e-12
    odds = math.exp(-(3.0 + 2.0) / 2)
    ends = [(1 + math.exp(2.0) * o) / (1 + o) for o in (odds * math.exp(3.0), odds)]
    assert math.log(ends[0] / ends[1]) == pytest.approx(blurred(3.0, 2.0), rel=1e-9)


@pytest.mark.parametrize("length", [None, 10**6, 60])
def test_a_count_of_a_chain_that_changes_often_needs_the_noise_of_independent_records(
    length: int | None,
) -> None:
    solution = po.solve(po.BayesianPrivacy(SWING, "count", 1.0, length=length))
    assert solution.status is po.Status.OPTIMAL
    assert solution.objective == pytest.approx(-1.0, rel=1e-9)
    assert solution.certificate is not None
    assert solution.certificate.leakage[1] <= 1.0
    by_any = po.solve(po.BayesianPrivacy(SWING, "count", 1.0, length=length), "markov-recursion")
    assert by_any.objective is not None
    assert by_any.objective < -3.0


@pytest.mark.parametrize("noise", ["laplace", "discrete_laplace"])
def test_a_longer_chain_or_a_smaller_budget_needs_no_less_noise(noise: str) -> None:
    chain = random_chain(2, 3)
    scales = [
        po.solve(po.BayesianPrivacy(chain, "count", 0.7, length=n, mechanism=noise)).objective or 0.0
        for n in (20, 60, 10**5, None)
    ]
    assert all(a >= b * (1 + 1e-6) for a, b in pairwise(scales))
    budgets = [
        po.solve(po.BayesianPrivacy(chain, "count", e, mechanism=noise)).objective or 0.0
        for e in (0.1, 0.5, 2.0, 8.0)
    ]
    assert budgets == sorted(budgets)


def test_names_of_states_and_the_direction_of_time_change_nothing() -> None:
    chain = random_chain(4, 4)
    order = [2, 0, 3, 1]
    moved = po.MarkovChain.normalised(
        chain.transition[np.ix_(order, order)], states=[chain.states[i] for i in order]
    )
    back = po.MarkovChain.normalised(chain.reversed(1), states=chain.states)
    found = [
        po.solve(po.BayesianPrivacy(c, ("count", chain.states[1]), 1.0)).objective
        for c in (chain, moved, back)
    ]
    assert found == pytest.approx([found[0]] * 3, rel=1e-8)


def test_two_states_that_stay_are_left_to_the_recursion_which_is_exact_there() -> None:
    chain = po.MarkovChain([[0.8, 0.2], [0.3, 0.7]])
    assert not levels.enumerable(po.BayesianPrivacy(chain, "count", 1.0))
    solution = po.solve(po.BayesianPrivacy(chain, "count", 1.0))
    assert solution.objective == pytest.approx(-1 / 0.3306979598, rel=1e-7)
    noisy = Forgetting(chain, COUNT, None, 45)
    assert noisy.read(0.3306979598).value == pytest.approx(1.0, abs=1e-7)


def test_a_level_of_another_version_that_bounded_any_mechanism_is_still_told_apart() -> None:
    problem = po.BayesianPrivacy(SWING, "count", 1.0)
    too_high = {
        "kind": "level",
        "tau": 0.4,
    }  # some mechanism of that level leaks more than 1 nat, the noisy count does not
    assert problem.prove_bound(too_high) is None
    assert problem.proved_bound_0_1_0(too_high) is not None
    assert problem.prove_bound({"kind": "level", "tau": 1.0}) == pytest.approx((-1.0, -1.0))


def test_a_reading_ends_when_no_seconds_are_left() -> None:
    noisy = forgetting(random_chain(0, 3), lattice_of(0, 3), None)
    assert noisy is not None
    with pytest.raises(TimeoutError):
        noisy.read(0.5, clock=lambda: 0.0)


def test_what_forgets_too_slowly_or_has_no_lattice_is_bounded_as_any_mechanism() -> None:
    slow = po.MarkovChain(0.9999 * np.roll(np.eye(3), 1, axis=1) + 0.0001 / 3)
    assert not levels.enumerable(po.BayesianPrivacy(slow, "count", 1.0))
    assert not levels.enumerable(po.BayesianPrivacy(slow, "count", 1.0, length=10**5))
    assert levels.enumerable(po.BayesianPrivacy(slow, "count", 1.0, length=12))
    assert not levels.enumerable(po.BayesianPrivacy(random_chain(0, 3), "count", 1e-9))


@pytest.mark.parametrize("length", [6, None])
def test_over_a_set_of_one_chain_a_count_leaks_what_its_certificate_says(length: int | None) -> None:
    problem = po.BayesianPrivacy(SWING, "count", 1.0, length=length)
    solution = po.solve(problem)
    assert solution.certificate is not None
    assert solution.mechanism is not None
    levels_of = [
        po.measures.robust_level(problem, solution.mechanism, po.ChainAmbiguity.interval(SWING, radius))
        for radius in (0.0, 0.05, 0.2)
    ]
    assert levels_of[0] == pytest.approx(solution.certificate.leakage, rel=1e-12)
    assert all(low <= high for low, high in levels_of)
    assert levels_of == sorted(levels_of)

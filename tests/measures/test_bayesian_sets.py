"""Bayesian leakage over sets of chains and of covariances: known answers, linear programs over corner chains, members, invariants."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction as F

import numpy as np
import pytest
from scipy.optimize import linprog

import privopt as po
from privopt.errors import InvalidProblem
from privopt.measures import robust_level, robustness_radius
from privopt.measures.bayesian import chain_sets
from privopt.measures.bayesian.chain_sets import (
    chain_set_recursion,
    prove_chain_set,
    prove_chain_set_leak,
    side_ratios,
)
from privopt.measures.bayesian.covariance_sets import prove_least_set_factor, prove_set_factor, set_factor
from privopt.measures.bayesian.gaussian_enumeration import brute_force_factor
from privopt.measures.bayesian.leakage import bayesian_leakage
from privopt.measures.bayesian.markov import markov_recursion

CHAIN = po.MarkovChain([[F(4, 5), F(1, 5)], [F(3, 10), F(7, 10)]])
ROWS = [
    po.RowSet.interval([F(3, 4), F(3, 20)], [F(17, 20), F(1, 4)]),
    po.RowSet.interval([F(1, 4), F(13, 20)], [F(7, 20), F(3, 4)]),
]
NEAR = po.ChainAmbiguity(ROWS, ROWS, po.RowSet.all(2), nominal=CHAIN)
SIGNS = po.GaussianModel([[1, 0.3, -0.2], [0.3, 1, 0.1], [-0.2, 0.1, 1]])


def largest_by_programs(tau: float, records: int) -> float:
    """Over all chains of corners and what may be known: the linear program of the worst mechanism of a level."""
    corners = [(a, b) for a in (0.15, 0.25) for b in (0.25, 0.35)]
    worst = 0.0
    for steps in itertools.product(corners, repeat=records):
        matrices = [np.array([[1 - a, a], [b, 1 - b]]) for a, b in steps]
        for count, known in [(records, None), *((d, v) for d in range(1, records) for v in (0, 1))]:
            above, below = (_conditional(matrices, x, count, known) for x in (1, 0))
            worst = max(worst, _program(above, below, tau), _program(below, above, tau))
    return tau + math.log(worst)


def _conditional(matrices: list[np.ndarray], x: int, count: int, known: int | None) -> np.ndarray:
    """The distribution of the first records given the target, and perhaps the value of the next one."""
    weights = []
    for word in itertools.product((0, 1), repeat=count):
        path = (x, *word, *(() if known is None else (known,)))
        weights.append(math.prod(m[i, j] for m, i, j in zip(matrices, path[:-1], path[1:], strict=False)))
    return np.array(weights) / sum(weights)


def _program(above: np.ndarray, below: np.ndarray, tau: float) -> float:
    size = len(above)
    pairs = [(i, i ^ (1 << bit)) for i in range(size) for bit in range(size.bit_length() - 1)]
    limits = np.zeros((len(pairs), size))
    for row, (i, j) in enumerate(pairs):
        limits[row, i], limits[row, j] = 1.0, -math.exp(tau)
    answer = linprog(-above, A_ub=limits, b_ub=np.zeros(len(pairs)), A_eq=below[None], b_eq=[1.0])
    assert answer.fun is not None
    return -float(answer.fun)


@pytest.mark.parametrize(
    ("tau", "levels"),
    [(0.5, (0.803591832, 0.985239935, 1.090294695)), (1.0, (1.598670671, 1.911232563, 2.048834342))],
)
def test_one_side_is_the_worst_of_all_chains_of_corners(tau: float, levels: tuple[float, ...]) -> None:
    for records, expected in enumerate(levels, start=1):
        # independent of the target on the left, so that it is the right side alone
        assert tau + math.log(side_ratios(ROWS, tau, records).max()) == pytest.approx(expected, abs=1e-9)
        if records < 3:
            assert largest_by_programs(tau, records) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize(("tau", "expected"), [(0.5, 1.942123), (2.0, 5.277656)])
def test_both_sides_of_any_length(tau: float, expected: float) -> None:
    reading = chain_set_recursion(NEAR, tau)
    assert reading.value == pytest.approx(expected, abs=1e-6)
    assert 0 <= prove_chain_set(NEAR, tau) - reading.value < 1e-7
    assert prove_chain_set_leak(NEAR, tau) <= reading.value
    assert prove_chain_set_leak(NEAR, tau) > markov_recursion(CHAIN, tau).value
    assert bayesian_leakage(NEAR, tau).value == reading.value
    assert bayesian_leakage(NEAR, tau, method="general").value == math.inf


@pytest.mark.parametrize("length", [None, 1, 2, 3, 7])
@pytest.mark.parametrize("tau", [0.05, 0.5, 2.0])
def test_a_set_of_one_chain_gives_the_level_of_the_chain(length: int | None, tau: float) -> None:
    for chain in (CHAIN, po.MarkovChain([[0.2, 0.8], [0.9, 0.1]])):
        one = po.ChainAmbiguity.interval(chain, 0)
        assert chain_set_recursion(one, tau, length).value == pytest.approx(
            min(markov_recursion(chain, tau, length).value, math.inf if length is None else length * tau),
            abs=1e-12,
        )


@pytest.mark.parametrize("seed", range(6))
def test_no_member_leaks_more_and_the_level_grows_with_the_set(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = (F(int(v), 100) for v in rng.integers(5, 60, 2))
    chain, tau = po.MarkovChain([[1 - a, a], [b, 1 - b]]), float(rng.choice([0.1, 0.5, 1.5]))
    length = None if seed % 2 else 6
    levels = []
    for relative in (F(0), F(1, 20), F(1, 5), F(1, 2)):
        near = po.ChainAmbiguity.interval(chain, relative)
        levels.append(prove_chain_set(near, tau, length))
        assert prove_chain_set_leak(near, tau, length) <= levels[-1]
        for _ in range(5):
            x, y = (v * (1 + relative * F(int(rng.integers(-100, 101)), 100)) for v in (a, b))
            member = po.MarkovChain([[1 - x, x], [y, 1 - y]])
            assert near.contains(member)
            assert markov_recursion(member, tau, length).value <= levels[-1] + 1e-12
    assert levels == sorted(levels)


def test_all_chains_are_any_dependence() -> None:
    anything = po.ChainAmbiguity(
        [po.RowSet.all(2)] * 2, [po.RowSet.all(2)] * 2, po.RowSet.all(2), nominal=CHAIN
    )
    for n in (1, 3, 8):
        assert bayesian_leakage(anything, 0.5, length=n).value == pytest.approx(0.5 * n, abs=1e-12)
    assert bayesian_leakage(anything, 0.5).value == math.inf
    assert prove_chain_set(anything, 0.5) == math.inf


def within(share: float, model: po.GaussianModel = SIGNS) -> po.CovarianceAmbiguity:
    wide = share * np.abs(model.covariance)
    return po.CovarianceAmbiguity(model.covariance - wide, model.covariance + wide, nominal=model)


def test_covariances_within_ten_percent() -> None:
    near = within(0.1)
    assert set_factor(near).value == pytest.approx(1.6111111111, abs=1e-9)
    assert set_factor(near).exact
    assert float(prove_set_factor(near)[0]) == pytest.approx(1.6111111111, abs=1e-9)
    assert prove_least_set_factor(near) == prove_set_factor(near)[0]
    rng = np.random.default_rng(0)
    worst = 0.0
    for i in range(200):
        share = rng.choice([-0.1, 0.1], (3, 3)) if i % 2 else rng.uniform(-0.1, 0.1, (3, 3))
        share = np.triu(share) + np.triu(share, 1).T
        member = po.GaussianModel(SIGNS.covariance + share * np.abs(SIGNS.covariance) * (1 - 1e-12))
        assert near.contains(member)
        worst = max(worst, brute_force_factor(member.covariance)[0])
    assert worst <= 1.6111111112
    assert worst > 1.6


def test_factors_grow_with_the_set_and_end_at_the_number_of_records() -> None:
    factors = [set_factor(within(share)).value for share in (0.0, 0.05, 0.1, 0.3, 0.6)]
    assert factors == sorted(factors)
    assert factors[0] == set_factor(within(0.0)).value == bayesian_leakage(SIGNS, 1.0).value
    assert factors[-1] == 3.0
    assert set_factor(within(0.1), scope="all_reals").value == 3.0
    apart = po.CovarianceAmbiguity([[1, 0], [0, 1]], [[2, 0], [0, 2]], nominal=[[1, 0], [0, 1]])
    assert set_factor(apart).value == 1.0
    assert bayesian_leakage(within(0.1), 0.5).value == pytest.approx(0.5 * 1.6111111111, abs=1e-9)


def test_problems_over_sets_are_solved_certified_and_stored() -> None:
    problems = [
        po.BayesianPrivacy(NEAR, "count", 1.0),
        po.BayesianPrivacy(NEAR, "count", 1.0, length=5, mechanism="discrete_laplace"),
        po.BayesianPrivacy(within(0.1), "mean", 1.0, clip=(0, 10), length=10),
        po.BayesianPrivacy(within(0.1), "sum", 1.0, clip=(0, 1), scope="all_reals"),
    ]
    utilities = (-4.0829618, None, -1.6111111111, -3.0)
    for problem, utility in zip(problems, utilities, strict=True):
        assert problem.robust
        solution = po.solve(problem)
        assert solution.status is po.Status.OPTIMAL
        if utility is not None:
            assert solution.utility == pytest.approx(utility, abs=1e-6)
        certificate = po.verify(problem, solution)
        assert certificate.ok
        assert certificate.claim == "for every distribution in the set, leakage <= budget"
        assert certificate.distributions
        again = po.problem_from_dict(problem.to_dict())
        assert again == problem
        assert again.fingerprint == problem.fingerprint
        assert po.verify(again, po.Solution.from_dict(solution.to_dict())).ok
        assert "Ambiguity" in repr(problem)


def test_what_is_certified_for_one_chain_leaks_more_near_it() -> None:
    one = po.BayesianPrivacy(CHAIN, "count", 1.0)
    low, high = robust_level(one, one.answer(0.33069795), NEAR)
    assert 1.33 < low <= high < 1.34
    short = po.BayesianPrivacy(CHAIN, "count", 1.0, length=9)
    mechanism = short.answer(0.33)
    low, high = robustness_radius(short, mechanism, 2.0)
    assert 0.1 < low <= high < 0.2
    assert robust_level(short, mechanism, short.neighbourhood(F(low), "total_variation"))[1] <= 2.0
    family = po.BayesianPrivacy(SIGNS, "sum", 1.0, clip=(0, 1))
    assert robust_level(family, family.answer(0.5), within(0.1))[1] == pytest.approx(
        1.6111111111 / 2, abs=1e-6
    )


def test_refusals() -> None:
    three = po.MarkovChain([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.2, 0.2, 0.6]])
    with pytest.raises(InvalidProblem, match="two states only"):
        po.BayesianPrivacy(po.ChainAmbiguity.interval(three), "histogram", 1.0)
    with pytest.raises(InvalidProblem, match="two states only"):
        bayesian_leakage(po.ChainAmbiguity.interval(three), 0.5)
    with pytest.raises(InvalidProblem, match="another nominal model"):
        po.BayesianPrivacy(three, "histogram", 1.0, ambiguity=NEAR)
    with pytest.raises(InvalidProblem, match="does not serve a set of covariances"):
        bayesian_leakage(within(0.1), 0.5, method="gaussian-h-matrix")
    with pytest.raises(InvalidProblem, match="for all_reals use 'general'"):
        set_factor(within(0.1), "gaussian-column", "all_reals")
    family = po.BayesianPrivacy(SIGNS, "sum", 1.0, clip=(0, 1))
    with pytest.raises(InvalidProblem, match="of the kind of the model"):
        robust_level(family, family.safe(), NEAR)
    with pytest.raises(InvalidProblem, match="only the rows of a chain have a radius"):
        robustness_radius(family, family.safe(), 1.0)


@pytest.mark.parametrize("rows", [([0, 0.5], [0.5, 1]), ([0.5, 1], [0, 0.5])])
def test_rows_that_may_keep_or_swap_both_states_are_not_followed(
    rows: tuple[list[float], list[float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = (po.RowSet.interval([low, 1 - high], [high, 1 - low]) for low, high in rows)
    nominal = po.MarkovChain(
        [[0.25, 0.75], [0.75, 0.25]] if rows[0][0] == 0 else [[0.75, 0.25], [0.25, 0.75]]
    )
    away = po.ChainAmbiguity([one, other], [one, other], po.RowSet.all(2), nominal=nominal)
    by_steps = prove_chain_set_leak(away, 0.25, 8)
    assert 0 < by_steps < 8 * 0.25 + 1e-9
    monkeypatch.setattr(chain_sets._Side, "_unknown", None)
    assert chain_set_recursion(away, 1e-3).value == math.inf
    assert prove_chain_set(away, 1e-3) == math.inf


@pytest.mark.long
def test_rows_that_may_swap_both_states_leak_without_end() -> None:
    """Followed for thousands of records, the leakage grows as far as floats go."""
    rows = [po.RowSet.interval([low, 1 - high], [high, 1 - low]) for low, high in ([0, 0.5], [0.5, 1])]
    nominal = po.MarkovChain([[0.25, 0.75], [0.75, 0.25]])
    away = po.ChainAmbiguity(rows, rows, po.RowSet.all(2), nominal=nominal)
    assert prove_chain_set_leak(away, 1e-3) > 600

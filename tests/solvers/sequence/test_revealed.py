"""The bound with the state before revealed: against programs, against policies that look ahead, on long horizons."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import privopt as po
from privopt import SequenceInformationPrivacy as Ask
from privopt.arrays import Floats
from privopt.core.balls import Balls
from privopt.core.solver import Budget
from privopt.mechanisms.policy.fixed import Levels
from privopt.problems.sequence_information_privacy.bound import check_dual, costs_of, sequence_bound
from privopt.solvers.sequence.prices import (
    hamming_prices,
    revealed_prices,
    row_prices,
)

RARE = po.MarkovChain([[0.5, 0.5, 0], [0.2, 0.5, 0.3], [0, 0.5, 0.5]])


def least_costs(rows: Floats, cost: Floats, nats: float, prices: Floats) -> Floats:
    return costs_of(Balls.exact(rows), cost, Balls.exact(nats) if nats < np.inf else None, prices).lower


def least(row: Floats, cost: Floats, epsilon: float) -> float:
    """The least cost of M with e^-epsilon T(y) <= M(y | x) <= e^epsilon T(y) for some distribution T: variables T, then M."""
    n, m = cost.shape
    high, low, equal = [], [], []
    for x, y in itertools.product(range(n), range(m)):
        for rows, sign, factor in ((high, 1.0, math.exp(epsilon)), (low, -1.0, math.exp(-epsilon))):
            line = np.zeros(m + n * m)
            line[y], line[m + x * m + y] = -sign * factor, sign
            rows.append(line)
    for x in range(-1, n):
        line = np.zeros(m + n * m)
        line[m * (x + 1) : m * (x + 2)] = 1.0
        equal.append(line)
    price = np.r_[np.zeros(m), (row[:, None] * cost).ravel()]
    solution: Any = linprog(price, high + low, np.zeros(2 * n * m), equal, np.ones(n + 1))
    return float(solution.fun)


@pytest.mark.parametrize("epsilon", [0.1, 0.7, 2.0, 4.0])
@pytest.mark.parametrize("seed", range(5))
def test_prices_prove_the_optimum_of_the_definition(epsilon: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    row, levels = rng.dirichlet(np.full(n, 0.7)), Levels.of(epsilon)
    for cost, prices in (
        (1.0 - np.eye(n), hamming_prices(row[None], levels)),
        (rng.random((n, n + 1)), None),
    ):
        optimum = least(row, cost, epsilon)
        solved = row_prices(row, cost, levels) if prices is None else prices[0]
        assert solved is not None
        assert least_costs(row[None], cost, epsilon, solved[None])[0] == pytest.approx(optimum, abs=1e-6)
        wild = rng.normal(size=(1, n)) * 0.2
        assert least_costs(row[None], cost, epsilon, wild)[0] <= optimum + 1e-12


@pytest.mark.parametrize("epsilon", [0.5, 3.0, 6.0])
@pytest.mark.parametrize("peaked", [True, False])
def test_prices_of_few_pairs_prove_the_optimum_of_the_definition(epsilon: float, peaked: bool) -> None:
    n, rng = 25, np.random.default_rng(0)
    apart = np.abs(np.subtract.outer(range(n), range(n))) * 1.0
    row = np.exp(-apart[8]) / np.exp(-apart[8]).sum() if peaked else rng.dirichlet(np.full(n, 2.0))
    prices = row_prices(row, apart, Levels.of(epsilon))
    assert prices is not None
    optimum = least(row, apart, epsilon)
    assert least_costs(row[None], apart, epsilon, prices[None])[0] == pytest.approx(
        optimum, rel=1e-6, abs=1e-8
    )


@pytest.mark.parametrize("epsilon", [12.0, 20.0, 30.0])
def test_prices_at_large_budgets_prove_what_groups_of_single_letters_cost(epsilon: float) -> None:
    """Every letter is likelier than 1 / (1 + e^epsilon), so that nothing is cheaper than e^-epsilon of the mean of a release."""
    n, rng = 30, np.random.default_rng(3)
    apart = np.abs(np.subtract.outer(range(n), range(n))) * 1.0
    row = rng.uniform(0.5, 1.0, n)
    row /= row.sum()
    prices = row_prices(row, apart, Levels.of(epsilon))
    assert prices is not None
    proved = least_costs(row[None], apart, epsilon, prices[None])[0]
    each = float((row @ apart).min()) * math.exp(-epsilon)
    assert 0.99 * each <= proved <= float(row @ (row @ apart)) * math.exp(-epsilon) * 1.01


@pytest.mark.parametrize("letters", [100, 200])
def test_many_letters_at_a_large_budget_have_an_answer_and_a_bound(letters: int) -> None:
    rng = np.random.default_rng(0)
    chain = po.MarkovChain(rng.dirichlet(np.ones(letters), size=letters).tolist())
    problem = Ask(chain, 8.0, distortion="l1", horizon=3)
    solution = po.solve(problem, "interval")
    assert solution.certified
    assert solution.objective is not None
    assert solution.bound is not None
    # a release of each letter by itself is private at 8 nats where its belief is 1 / (1 + e^8) or more
    assert solution.objective > 1e-3 * problem.evaluate(problem.anchor()).objective
    assert solution.bound - solution.objective < 0.4 * -solution.objective


def stage(belief: Floats, cost: Floats, epsilon: float) -> float:
    """The optimum of one release, from its definition."""
    n = len(belief)
    rows, equal = [], []
    for x, y in itertools.product(range(n), repeat=2):
        for sign, factor in ((1.0, math.exp(epsilon)), (-1.0, math.exp(-epsilon))):
            line = np.zeros((n, n))
            line[:, y] = -sign * factor * belief
            line[x, y] += sign
            rows.append(line.ravel())
    for x in range(n):
        line = np.zeros((n, n))
        line[x] = 1.0
        equal.append(line.ravel())
    solution: Any = linprog((belief[:, None] * cost).ravel(), rows, np.zeros(len(rows)), equal, np.ones(n))
    return float(solution.fun)


@pytest.mark.parametrize(("stay", "epsilon"), [(0.6, 0.5), (0.9, 1.0), (0.3, 1.5)])
def test_no_first_release_makes_up_for_it_later(stay: float, epsilon: float) -> None:
    """Two letters: all first kernels of a grid, each with the best second release for what it reveals."""
    chain = po.MarkovChain([[stay, 1 - stay], [0.5, 0.5]], initial=[0.4, 0.6])
    cost, distribution, step = 1.0 - np.eye(2), np.array(chain.initial), np.array(chain.step(0))
    best = math.inf
    for first, second in itertools.product(np.linspace(0, 1, 15), repeat=2):
        kernel = np.array([[1 - first, first], [second, 1 - second]])
        out = distribution @ kernel
        if (kernel > out * math.exp(epsilon)).any() or (kernel < out * math.exp(-epsilon)).any():
            continue
        total = float((distribution[:, None] * kernel * cost).sum())
        for y in np.flatnonzero(out > 0):
            after = distribution * kernel[:, y] / out[y] @ step
            total += float(out[y]) * stage(after, cost, epsilon)
        best = min(best, total / 2)
    solution = po.solve(Ask(chain, epsilon, horizon=2), "closed-form")
    assert solution.bound is not None
    assert math.isfinite(best)
    assert -best <= solution.bound + 1e-9


@pytest.mark.long
def test_the_bound_does_not_fade() -> None:
    bounds = []
    for horizon in (5, 50, 1000):
        problem = Ask(RARE, 1.0, horizon=horizon)
        bounds.append(sequence_bound(problem, [np.zeros(3)], revealed_prices(problem, Budget())))
    assert all(bound is not None and bound < -0.15 for bound in bounds), bounds


def test_it_never_hurts_and_often_helps() -> None:
    problem = Ask(RARE, 1.0, horizon=20)
    dual = po.solve(problem, "closed-form").dual
    assert isinstance(dual, dict)
    without = check_dual(problem, {key: value for key, value in dual.items() if key != "revealed"})
    both = check_dual(problem, dual)
    assert both is not None
    assert without is not None
    assert both[1] < 0.5 * without[1] < 0  # utilities are negative


@pytest.mark.parametrize("distortion", ["hamming", "l1", "squared"])
@pytest.mark.parametrize("batch", [1, pytest.param(2, marks=pytest.mark.long)])
def test_no_policy_is_above_it(distortion: str, batch: int) -> None:
    problem = Ask(RARE, 0.8, batch=batch, horizon=6, distortion=distortion)
    prices = revealed_prices(problem, Budget())
    assert prices is not None
    n = prices.shape[1]
    alone = sequence_bound(problem, [np.zeros(n)], prices)
    assert alone is not None
    for solution in po.compare(
        problem, ["structure-lp", "closed-form", "exact-lp", "restricted-outputs", "oracle"]
    ):
        if solution.objective is not None and solution.status.ok:
            assert solution.objective <= alone + 1e-12
            assert solution.bound is None or solution.objective <= solution.bound + 1e-12


def test_words_cut_short_and_one_successor() -> None:
    """A word of two has as many spellings as a letter where states follow each other surely: costs are not mixed up."""
    ring = po.MarkovChain([[0, 1.0], [1.0, 0]], initial=[0.5, 0.5])
    problem = Ask(ring, 0.6, batch=2, horizon=5)
    solution = po.solve(problem)
    assert solution.bound is not None
    assert solution.objective is not None
    assert solution.objective <= solution.bound + 1e-12


@pytest.mark.parametrize(
    "wrong", [[], [[0.0, "a"]], [[0.0, math.nan]], [[0.0], [0.0, 1.0]], "prices", [[math.inf, 0.0]]]
)
def test_prices_that_are_none_prove_nothing_more(wrong: object) -> None:
    problem = Ask(po.MarkovChain([[0.8, 0.2], [0.3, 0.7]]), 1.0, horizon=4)
    dual = po.solve(problem, "closed-form").dual
    assert isinstance(dual, dict)
    plain = check_dual(problem, {"kind": "sequence", "lam": dual["lam"]})
    bound = check_dual(problem, {**dual, "revealed": wrong})
    assert bound is None or bound == plain


def test_tables_of_another_shape_are_not_read() -> None:
    problem = Ask(po.MarkovChain([[0.8, 0.2], [0.3, 0.7]]), 1.0, horizon=4)
    plain = sequence_bound(problem, [np.zeros(2)])
    assert sequence_bound(problem, [np.zeros(2)], np.zeros((3, 2))) == plain
    assert sequence_bound(problem, [np.zeros(2)], np.zeros((2, 3))) == plain


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("distortion", ["hamming", "l1"])
@pytest.mark.parametrize("epsilon", [41.0, 43.0, 709.0, 710.0, 745.0, 746.0, math.inf])
def test_huge_budgets_have_a_bound(epsilon: float, distortion: str) -> None:
    """1 / theta is infinite in floats from 710 nats on, and theta is 0 from 746."""
    solution = po.solve(Ask(RARE, epsilon, horizon=3, distortion=distortion))
    assert solution.status.name == "OPTIMAL"
    assert solution.utility == pytest.approx(0.0, abs=1e-12)

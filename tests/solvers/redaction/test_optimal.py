from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from instances.few import few
from numpy.typing import NDArray

import privopt as po
from privopt.arrays import Floats
from privopt.problems.redaction.bound import Setting
from privopt.problems.redaction.track import of_floats
from privopt.solvers.redaction.optimal.side import Side
from privopt.solvers.redaction.optimal.solver import FINEST, SMALLEST, Step, best_mechanism, lower_cost
from privopt.solvers.redaction.relaxation import best_side, best_split, pooled, with_regions

FIGURE = [
    (0.25, 0.6890602868, (0.96345632, 0.58833068, 0.38112279, 0.15285481), 0.9513805518, 0.6144057624),
    (0.5, 0.7383689491, (0.79502054, 0.52692599, 0.27706786), 0.9725397864, 0.7054242397),
    (1.0, 0.7957304177, (0.54918518, 0.34650939, 0.12253494), 0.7574147472, 0.7479180746),
    (2.0, 0.8618255147, (0.28958916, 0.07192751), 0.5458902181, 0.8448503488),
]
CHAINS = [
    (0.25, 0.5, 2, 1, 0.5, 0.2935891381),
    (0.25, 0.5, 4, 1, 0.5, 0.6269224714),
    (0.25, 0.5, 5, 3, 1.0, 0.6510699824),
    (0.25, 0.5, 8, 4, 0.3, 0.5569618883),
    (0.25, 0.5, 20, 10, 0.25, 0.8088584346),
    (0.01, 0.8, 20, 5, 1.0, 0.8108003358),
    (0.05, 0.3, 30, 12, 0.25, 0.4150547439),
    (0.6, 0.99, 12, 6, 1.2, 0.6022510886),
    (0.9, 0.95, 20, 8, 3.0, 0.7246532041),
]


def hour() -> float:
    return 3600.0


def setting(left: Side, right: Side, epsilon: float) -> Setting:
    return Setting(of_floats(left.steps, left.weights), of_floats(right.steps, right.weights), epsilon)


def stationary(alpha: float, beta: float, length: int) -> Side:
    step = np.array([[1 - alpha, alpha], [beta, 1 - beta]])
    marginal = np.array([beta, alpha]) / (alpha + beta)
    return Side(np.broadcast_to(step, (length, 2, 2)), np.broadcast_to(marginal, (length, 2)))


def utility(alpha: float, beta: float, length: int, private: int, epsilon: float) -> float:
    sides = (stationary(alpha, beta, private - 1), stationary(alpha, beta, length - private))
    left, right, stats = best_mechanism(*sides, epsilon, hour)
    cost = float((sides[0].weights * left).sum() + (sides[1].weights * right).sum())
    assert cost == pytest.approx(stats.cost, abs=1e-9)
    assert cost >= 0
    return 1 - (1 + cost) / length


def random_sides(rng: np.random.Generator, longest: int) -> tuple[Side, Side, float]:
    """Half of them homogeneous; marginals and reversed steps are those of one chain."""
    length = int(rng.integers(2, longest + 1))
    private = int(rng.integers(0, length))
    flips = rng.uniform(0.03, 0.97, (1 if rng.random() < 0.5 else length - 1, 2))
    a, b = np.broadcast_to(flips, (length - 1, 2)).T
    steps = np.stack((np.stack((1 - a, a), -1), np.stack((b, 1 - b), -1)), 1)
    marginal = np.array([b[0], a[0]]) / (a[0] + b[0]) if len(flips) == 1 else rng.dirichlet([1, 1])
    marginals = [marginal]
    for step in steps:
        marginals.append(marginals[-1] @ step)
    weights = np.array(marginals) * (1 if rng.random() < 0.5 else rng.uniform(0, 2, (length, 1)))
    back = [
        (marginals[t - 1][:, None] * steps[t - 1]).T / marginals[t][:, None] for t in range(private, 0, -1)
    ]
    left = Side(np.array(back).reshape(-1, 2, 2), weights[:private][::-1])
    return left, Side(steps[private:], weights[private + 1 :]), float(np.exp(rng.uniform(-2.5, 1.3)))


def outputs(left: Side, right: Side, redaction: Floats) -> Floats:
    """Pr(all outputs | private value), every output of both sides, by plain enumeration."""
    chances = np.ones((2, 1))
    for side, rows in ((left, redaction[: left.length]), (right, redaction[left.length :])):
        state = np.eye(2)[:, None, :]
        for step, row in zip(side.steps, rows, strict=True):
            state = state @ step
            seen = np.array([[1 - row[0], 0, row[0]], [0, 1 - row[1], row[1]]])
            state = (state[:, :, None, :] * seen.T[None, None]).reshape(2, -1, 2)
        chances = (chances[:, :, None] * state.sum(axis=2)[:, None, :]).reshape(2, -1)
    return chances


def leakage(left: Side, right: Side, redaction: Floats) -> float:
    chances = outputs(left, right, redaction)
    chances = chances[:, chances.max(axis=0) > 0]
    with np.errstate(divide="ignore"):
        return float(np.abs(np.diff(np.log(chances), axis=0)).max())


def linear(price: Floats) -> Callable[[Floats], float]:
    def cost(values: Floats) -> float:
        return float(price @ values)

    return cost


def oracle(left: Side, right: Side, epsilon: float) -> float:
    """A general non-linear solver over every set of values that may be released."""
    from scipy.optimize import NonlinearConstraint, minimize

    weights = np.concatenate((left.weights, right.weights))
    best, growth = float(weights.sum()), np.exp(epsilon)
    for pattern in itertools.product((0, 1), repeat=weights.size):
        free = np.array(pattern, dtype=bool).reshape(-1, 2)
        if not free.any() or weights[~free].sum() >= best:
            continue

        def full(values: Floats, free: NDArray[np.bool_] = free) -> Floats:
            redaction = np.ones(free.shape)
            redaction[free] = values
            return redaction

        def slack(values: Floats, full: Callable[[Floats], Floats] = full) -> Floats:
            chances = outputs(left, right, full(values))
            return np.concatenate((growth * chances[0] - chances[1], growth * chances[1] - chances[0]))

        solution = minimize(
            linear(weights[free]),
            np.full(int(free.sum()), 0.97),
            bounds=[(0.0, 1.0)] * int(free.sum()),
            constraints=[NonlinearConstraint(slack, 0, np.inf)],
            method="SLSQP",
            tol=1e-12,
        )
        redaction = full(np.clip(solution.x, 0, 1))
        redaction[redaction > 1 - 1e-7] = 1
        redaction[redaction < 1e-9] = 0
        if leakage(left, right, redaction) <= epsilon + 1e-8:
            best = min(best, float((weights * redaction).sum()))
    return best


@pytest.mark.parametrize(("epsilon", "expected", "early"), [row[:3] for row in FIGURE])
def test_figure_chain(epsilon: float, expected: float, early: tuple[float, ...]) -> None:
    _, right, stats = best_mechanism(stationary(0.01, 0.8, 0), stationary(0.01, 0.8, 9), epsilon, hour)
    assert 1 - (1 + stats.cost) / 10 == pytest.approx(expected, abs=1e-9)
    np.testing.assert_allclose(right[: len(early), 0], early, atol=1e-7)
    np.testing.assert_array_equal(right[: len(early), 1], 1)
    np.testing.assert_array_equal(right[len(early) :], 0)


@pytest.mark.parametrize("case", CHAINS)
def test_public_utilities(case: tuple[float, float, int, int, float, float]) -> None:
    assert utility(*case[:5]) == pytest.approx(case[5], abs=1e-9)


def test_a_single_record_is_partly_released() -> None:
    left, right, stats = best_mechanism(stationary(0.25, 0.5, 2), stationary(0.25, 0.5, 2), 1.0, hour)
    both = np.concatenate((left, right))
    np.testing.assert_allclose(both[(both > 0) & (both < 1)], [0.6169751323], atol=1e-7)
    assert stats.form == "one side"


@pytest.mark.parametrize("seed", few(range(20), 7))
def test_no_other_mechanism_is_better(seed: int) -> None:
    left, right, epsilon = random_sides(np.random.default_rng(seed), 4)
    mine = best_mechanism(left, right, epsilon, hour)
    redaction = np.concatenate(mine[:2])
    assert leakage(left, right, redaction) <= epsilon + 1e-12
    assert mine[2].cost <= oracle(left, right, epsilon) + 1e-6


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 160))
def test_no_other_mechanism_is_better_in_many_chains(seed: int) -> None:
    test_no_other_mechanism_is_better(seed)


@pytest.mark.parametrize("seed", few(range(60), 6))
def test_bound_is_below_and_close(seed: int) -> None:
    left, right, epsilon = random_sides(np.random.default_rng(1000 + seed), 15)
    count = left.length + right.length + 1
    redaction_left, redaction_right, stats = best_mechanism(left, right, epsilon, hour)
    known = setting(left, right, epsilon)
    bound, dual = lower_cost(known, 1e-6 * count, hour)
    assert bound <= stats.cost + 1e-12
    assert stats.cost - bound <= 5e-6 * count
    assert known.bound(dual) == bound
    early, coarse = lower_cost(known, 1e-5 * count, hour, stats.cost)
    assert known.bound(coarse) == early
    assert stats.cost - early <= 5e-5 * count
    assert coarse["nodes"] <= dual["nodes"]
    if count <= 9:
        assert leakage(left, right, np.concatenate((redaction_left, redaction_right))) <= epsilon + 1e-12


@pytest.mark.parametrize("error", [1e-4, 1e-7, 1e-10])
def test_tables_are_as_large_as_their_last_change_asks_for(error: float) -> None:
    def made(size: int) -> Step:
        return Step(size, 0.7 - 300.0 / size**2, 0.1)

    first, second = made(SMALLEST), made(4 * SMALLEST)
    assert first.enough(Step(), error) == 4 * SMALLEST
    size = second.enough(first, error)
    assert 0.7 - made(size).bound <= error * (1 + 1e-6)
    assert size == second.size or 0.7 - made(size // 2).bound > error


def test_a_limit_that_is_none_leaves_no_gap() -> None:
    problem = po.Redaction(po.MarkovChain([[0.8, 0.2], [0.3, 0.7]]), 31, 15, 0.1)
    within, without = (po.solve(problem, "optimal", time_limit=limit) for limit in (60.0, math.inf))
    assert without.status is po.Status.OPTIMAL
    assert without.utility == pytest.approx(within.utility, abs=1e-9)
    assert Step(SMALLEST, 0.5, 0.1).affordable(math.inf) > FINEST


def test_tables_are_no_larger_than_there_is_time_for() -> None:
    quick = Step(SMALLEST, 0.5, 0.1)
    sizes = [quick.affordable(seconds) for seconds in (0.0, 0.05, 0.2, 1.0, 5.0, 100.0)]
    assert sizes == sorted(sizes)
    assert sizes[1] <= SMALLEST < sizes[2] < sizes[-1]


@pytest.mark.parametrize(("alpha", "beta", "private"), [(0.05, 0.3, 4), (0.4, 0.2, 1), (0.7, 0.9, 6)])
def test_laws(alpha: float, beta: float, private: int) -> None:
    budgets = np.linspace(0, 3, 16).tolist()
    values = [utility(alpha, beta, 12, private, epsilon) for epsilon in budgets]
    assert np.all(np.diff(values) >= -1e-9)
    for epsilon, value in zip(budgets[::3], values[::3], strict=True):
        assert utility(alpha, beta, 12, 13 - private, epsilon) == pytest.approx(value, abs=1e-9)
        assert utility(beta, alpha, 12, private, epsilon) == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_probabilities_do_not_rise_with_distance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    alpha, beta = rng.dirichlet([1, 1, 1])[:2].tolist()
    _, right, _ = best_mechanism(
        stationary(alpha, beta, 0), stationary(alpha, beta, 15), rng.uniform(0.1, 2), hour
    )
    assert np.all(np.diff(right, axis=0) <= 1e-9)


@pytest.mark.parametrize(
    ("alpha", "beta", "epsilon", "expected"),
    [
        (0.2, 0.3, 0.0, 0.0),
        (0.2, 0.3, np.inf, 0.9),
        (0.2, 0.3, 30.0, 0.9),
        (0.5, 0.5, 0.0, 0.9),
        (0.25, 0.75, 0.1, 0.9),
        (1.0, 1.0, 2.0, 0.0),
    ],
)
def test_edges(alpha: float, beta: float, epsilon: float, expected: float) -> None:
    assert utility(alpha, beta, 10, 4, epsilon) == pytest.approx(expected, abs=1e-12)


def test_nothing_but_the_private_record() -> None:
    nothing = Side(np.empty((0, 2, 2)), np.empty((0, 2)))
    assert best_mechanism(nothing, nothing, 1.0, hour)[2].cost == 0
    assert lower_cost(setting(nothing, nothing, 1.0), 1e-6, hour)[0] == 0


def influences(alpha: float, beta: float, count: int) -> Floats:
    power = (1 - alpha - beta) ** np.arange(1, count + 1)
    odds = np.array([alpha / beta, beta / alpha])
    return np.asarray(np.abs(np.log1p(odds * power[:, None]) - np.log1p(-power[:, None])), dtype=np.float64)


@pytest.mark.parametrize(("epsilon", "q", "expected"), [(row[0], row[3], row[4]) for row in FIGURE])
def test_relaxation_of_the_figure(epsilon: float, q: float, expected: float) -> None:
    side = stationary(0.01, 0.8, 9)
    redaction = with_regions(influences(0.01, 0.8, 9), side.weights, epsilon, epsilon, pooled)
    assert redaction[0, 0] == pytest.approx(q, abs=1e-9)
    assert 0.9 - float((side.weights * redaction).sum()) / 10 == pytest.approx(expected, abs=1e-9)


def test_relaxation_that_reaches_the_end_of_the_chain() -> None:
    side = stationary(0.001, 0.04, 5)
    redaction = with_regions(influences(0.001, 0.04, 5), side.weights, 3.0, 3.0, pooled)
    np.testing.assert_allclose(redaction[:, 0], (1, 0.645497, 0.645497, 0.645497, 0.185111), atol=1e-6)
    assert 1 - (1 + float((side.weights * redaction).sum())) / 6 == pytest.approx(0.305430, abs=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_pooling_is_optimal(seed: int) -> None:
    from scipy.optimize import Bounds, NonlinearConstraint, minimize

    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 7))
    bounds, weights = rng.uniform(0, 3, count), rng.uniform(0, 1, count) * (rng.random(count) < 0.85)

    def cost(v: Floats) -> float:
        return float((weights * np.exp(-v)).sum())

    u = pooled(bounds, weights)
    assert np.all(np.cumsum(u) <= bounds + 1e-9)
    minimum = minimize(
        cost,
        u / 2,
        bounds=Bounds(0, np.inf),
        constraints=[NonlinearConstraint(np.cumsum, -np.inf, bounds)],
        method="SLSQP",
        tol=1e-13,
    )
    assert (weights * np.exp(-u)).sum() <= minimum.fun + 1e-6


@pytest.mark.parametrize("seed", few(range(12), 6))
def test_no_split_of_the_budget_is_better_among_many(seed: int) -> None:
    """Shares are left out by what the sides cost at other ones; here all of a fine grid are tried."""
    rng = np.random.default_rng(seed)
    near = tuple(
        np.sort(rng.uniform(0, 2, (int(rng.integers(1, 9)), 2)) ** 2, axis=0)[::-1] for _ in range(2)
    )
    weights = tuple(rng.uniform(0.1, 1, side.shape) for side in near)
    one, other, share = best_split((near[0], near[1]), (weights[0], weights[1]), 1.0)
    assert 0 <= share <= 1
    tried = min(
        best_side(near[0], weights[0], s).cost + best_side(near[1], weights[1], 1 - s).cost
        for s in np.linspace(0, 1, 301).tolist()
    )
    assert one.cost + other.cost <= tried + 2e-3


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.0])
def test_relaxation_is_private_and_no_better_than_the_optimum(epsilon: float) -> None:
    left, right = stationary(0.05, 0.3, 2), stationary(0.05, 0.3, 4)
    near = influences(0.05, 0.3, 2), influences(0.05, 0.3, 4)
    one, other, _ = best_split(near, (left.weights, right.weights), epsilon)
    redaction = np.concatenate((one.redaction, other.redaction))
    assert leakage(left, right, redaction) <= epsilon + 1e-12
    weights = np.concatenate((left.weights, right.weights))
    assert best_mechanism(left, right, epsilon, hour)[2].cost <= (weights * redaction).sum() + 1e-12

"""The bound over a whole horizon of two letters: against pairs of posteriors that are searched, policies, and odd duals."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from instances.few import few

import privopt as po
from privopt import SequenceInformationPrivacy as Ask
from privopt.arrays import Floats
from privopt.core.balls import Balls
from privopt.mechanisms.policy.ahead import Ahead, interpolated
from privopt.mechanisms.policy.formulas.look_ahead import grid
from privopt.problems.sequence_information_privacy.costs_ahead import CostsAhead

CHAINS = {
    "weather": [[0.8, 0.2], [0.3, 0.7]],
    "stays": [[0.9, 0.1], [0.1, 0.9]],
    "swing": [[0.2, 0.8], [0.8, 0.2]],
    "zeros": [[0.5, 0.5], [1.0, 0.0]],
    "rare": [[0.9, 0.1], [0.01, 0.99]],
    "absorbing": [[1.0, 0.0], [0.2, 0.8]],
}


def ask(name: str, epsilon: float, horizon: int, **more: Any) -> Ask:
    initial = [0.3, 0.7] if name == "absorbing" else None
    return Ask(po.MarkovChain(CHAINS[name], initial), epsilon, horizon=horizon, **more)


def dual(points: int, steps: int) -> dict[str, object]:
    return {"kind": "beliefs", "posteriors": grid(points).tolist(), "steps": steps}


def least(problem: Ask, points: int = 65, steps: int = 1000) -> float:
    """The least mean cost that a grid proves."""
    proved = problem.prove_bound(dual(points, steps))
    assert proved is not None
    assert proved[0] <= proved[1]
    return -proved[1]


def searched(belief: float, f: list[Any], epsilon: float, count: int) -> float:
    """The least cost of two releases with posteriors on a grid within the bounds, both ways round; an upper bound on the optimum."""
    low = max(belief * math.exp(-epsilon), 1 - math.exp(epsilon) * (1 - belief))
    high = min(belief * math.exp(epsilon), 1 - math.exp(-epsilon) * (1 - belief))
    below, above = np.linspace(low, belief, count)[:-1], np.linspace(belief, high, count)[1:]
    best = min(float(each(np.array([belief]))[0]) for each in f)
    for one, other in itertools.permutations(f, 2):
        share = (belief - below[:, None]) / (above[None, :] - below[:, None])
        best = min(best, float(((1 - share) * one(below)[:, None] + share * other(above)[None, :]).min()))
    return best


def recursed(moves: Floats, cost: Floats, epsilon: float, belief: float, horizon: int, count: int) -> float:
    """An upper bound on the least cost of a horizon, by search at every belief that comes up."""

    def after(column: Floats) -> Any:
        def charge(p: Floats) -> Floats:
            now = (1 - p) * column[0] + p * column[1]
            if horizon == 1:
                return np.asarray(now)
            following = (1 - p) * moves[0, 1] + p * moves[1, 1]
            later = [recursed(moves, cost, epsilon, float(b), horizon - 1, count) for b in following]
            return np.asarray(now + np.array(later))

        return charge

    return searched(belief, [after(column) for column in cost.T], epsilon, count)


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize(
    ("epsilon", "horizon", "count"), [(0.4, 2, 60), (1.0, 2, 60), (2.5, 2, 60), (1.0, 3, 9)]
)
def test_it_is_below_what_a_search_finds_and_near_it(
    name: str, epsilon: float, horizon: int, count: int
) -> None:
    problem = ask(name, epsilon, horizon)
    cost, belief = 1 - np.eye(2), float(problem.chain.initial[1])
    found = recursed(np.array(problem.chain.step(0)), cost, epsilon, belief, horizon, count) / horizon
    proved = least(problem)
    assert proved <= found + 1e-12
    assert found - proved <= 2e-3


@pytest.mark.parametrize("seed", range(6))
def test_a_step_is_below_the_best_pair_at_every_belief(seed: int) -> None:
    """Any function of what follows, also three releases; between images too, where the derivation has its corrections."""
    rng = np.random.default_rng(seed)
    moves, cost = rng.dirichlet([1, 1], 2), rng.random((2, int(rng.integers(2, 4))))
    epsilon = float(rng.uniform(0.1, 3))
    z = grid(17)
    costs = CostsAhead(Ahead(moves, cost, epsilon, z))
    later = np.cumsum(rng.normal(size=17)) * 0.05
    proved = costs.step(later)
    for posterior in rng.random(20):
        belief = float(moves[0, 1] + posterior * (moves[1, 1] - moves[0, 1]))
        f = [lambda p, d=column: (1 - p) * d[0] + p * d[1] + interpolated(z, later, p) for column in cost.T]
        found = searched(belief, f, epsilon, 90)
        assert float(interpolated(z, proved, np.array([posterior]))[0]) <= found + 1e-12
        least = costs.least(later, Balls.exact(belief))
        assert least <= found + 1e-12
        assert found - least < 3e-3


def exactly(costs: CostsAhead, later: Floats, posterior: Fraction) -> Fraction:
    """The least cost of a release after a posterior, in rationals: all pairs of points where costs bend, or ends are."""
    z, low, up = list(map(Fraction, costs.grid.tolist())), *map(Fraction, costs.factors)
    begin, end = map(Fraction, costs.ahead.moves[:, 1].tolist())
    b = begin + posterior * (end - begin)
    ends = max(low * b, 1 - up * (1 - b)), min(up * b, 1 - low * (1 - b))
    points = sorted({*ends, b, *(p for p in z if ends[0] < p < ends[1])})
    columns = [list(map(Fraction, column.tolist())) for column in costs.ahead.cost.T]
    held = {p: line(z, list(map(Fraction, later.tolist())), p) for p in points}
    f = [{p: (1 - p) * d + p * e + held[p] for p in points} for d, e in columns]
    pairs = [(p, q) for p in points for q in points if p <= b <= q and p < q]
    split = (
        ((q - b) * one[p] + (b - p) * other[q]) / (q - p)
        for one, other in itertools.permutations(f, 2)
        for p, q in pairs
    )
    return min(*split, *(each[b] for each in f))


def line(xs: list[Fraction], ys: list[Fraction], at: Fraction) -> Fraction:
    """Between points in increasing order."""
    k = min(max(sum(x <= at for x in xs), 1), len(xs) - 1)
    return ys[k - 1] + (at - xs[k - 1]) / (xs[k] - xs[k - 1]) * (ys[k] - ys[k - 1])


@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_above_what_rationals_say(seed: int) -> None:
    """Without any tolerance, also where an end of an interval is a point of the grid."""
    rng = np.random.default_rng(seed)
    moves = np.array(
        [[[0.75, 0.25], [0.125, 0.875]], [[0.25, 0.75], [0.5, 0.5]], [[1.0, 0.0], [0.5, 0.5]]][seed % 3]
    )
    z = np.unique(np.concatenate([[0.0, 1.0], rng.random(5)]))
    costs = CostsAhead(Ahead(moves, rng.random((2, 2 + seed % 2)), (0.1, 1.0, 3.0, 8.0)[seed], z))
    for size in (0.0, 1e-9, 1.0, 1e5):
        later = rng.normal(size=len(z)) * size
        proved = list(map(Fraction, costs.step(later).tolist()))
        for posterior in (*rng.choice(costs.cuts, 3), *rng.random(1)):
            at = Fraction(float(posterior))
            optimum = exactly(costs, later, at)
            assert line(list(map(Fraction, z.tolist())), proved, at) <= optimum
            assert costs.least(later, costs.beliefs(np.array(posterior))) <= optimum


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("epsilon", few((0.7, 3.0, 0.1, 1.5), 2))
def test_no_policy_is_better(name: str, epsilon: float) -> None:
    problem = ask(name, epsilon, 5)
    proved = least(problem, 33)
    for rule in ("closed-form", "look-ahead"):
        reading = problem.evaluate(problem.answer(rule))
        assert reading.exact
        assert -reading.utility >= proved - 1e-12


def test_the_horizon_may_be_long_and_the_bound_does_not_fade() -> None:
    means = [least(ask("stays", 1.0, horizon), 33, 60) for horizon in (10, 100, 10_000)]
    assert all(0.15 < mean < 0.17 for mean in means), means


def test_relabelling_changes_nothing_and_more_budget_never_costs() -> None:
    moves = np.array([[0.85, 0.15], [0.4, 0.6]])
    turned = moves[::-1, ::-1]
    one, other = (
        least(Ask(po.MarkovChain(rows.tolist(), first), 1.0, horizon=6, distortion=d.tolist()))
        for rows, first, d in (
            (moves, [0.6, 0.4], np.array([[0.0, 1.0], [2.0, 0.0]])),
            (turned, [0.4, 0.6], np.array([[0.0, 2.0], [1.0, 0.0]])),
        )
    )
    assert one == pytest.approx(other, rel=1e-9)
    falling = [least(ask("rare", epsilon, 20)) for epsilon in (0.2, 0.6, 1.0, 2.0, 4.0)]
    assert all(more <= less + 1e-9 for less, more in itertools.pairwise(falling))


@pytest.mark.parametrize("seed", range(8))
def test_whatever_the_grid_and_the_potential_nothing_false_is_proved(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = ask(list(CHAINS)[seed % len(CHAINS)], float(rng.uniform(0.2, 3)), 9)
    reached = min(-problem.evaluate(problem.answer(rule)).utility for rule in ("closed-form", "look-ahead"))
    points = np.unique(np.r_[0.0, rng.random(int(rng.integers(1, 20))), 1.0])
    for potential in (
        None,
        rng.normal(size=len(points)).tolist(),
        (1e6 * rng.normal(size=len(points))).tolist(),
    ):
        for steps in (0, 3, 50):
            odd = {"kind": "beliefs", "posteriors": points.tolist(), "steps": steps, "potential": potential}
            proved = problem.prove_bound(odd)
            assert proved is None or -proved[1] <= reached


@pytest.mark.parametrize(
    "change",
    [
        {"posteriors": [0.0, 0.5]},
        {"posteriors": [0.5, 0.0, 1.0]},
        {"posteriors": [0.0, math.nan, 1.0]},
        {"posteriors": [0.0, 1e-12, 1.0]},
        {"posteriors": "much"},
        {"steps": -1},
        {"steps": 2.0},
        {"steps": True},
        {"potential": [1.0]},
        {"potential": [0.0] * 64 + [math.inf]},
    ],
)
def test_what_is_no_dual_proves_nothing(change: dict[str, object]) -> None:
    problem = ask("weather", 1.0, 5)
    assert problem.prove_bound(dual(65, 4)) is not None
    assert problem.proved_bound({**dual(65, 4), **change}) is None


@pytest.mark.parametrize(
    "problem",
    [
        Ask(po.MarkovChain([[0.5, 0.3, 0.2]] * 2 + [[0.1, 0.2, 0.7]]), 1.0, horizon=4),
        Ask(po.MarkovChain(CHAINS["weather"]), 1.0, batch=2, horizon=4),
        Ask(po.MarkovChain(CHAINS["weather"]), 0.0, horizon=4),
        Ask(po.MarkovChain(CHAINS["weather"]), math.inf, horizon=4),
        Ask(po.MarkovChain([[0.5, 0.5], [0.5, 0.5]]), 1.0, horizon=4),
    ],
)
def test_other_problems_have_no_such_bound(problem: Ask) -> None:
    assert problem.prove_bound(dual(33, 3)) is None


def test_rounding_is_covered() -> None:
    """One step from nothing, against rationals: the optimum of the last release is at least what the grid says."""
    costs = CostsAhead(Ahead(np.array(CHAINS["stays"]), 1 - np.eye(2), math.log(3), grid(33)))
    up = Fraction(costs.factors[1])  # above e^epsilon, so the optimum is no larger
    theta = 1 / (1 + up)
    for belief in (Fraction(1, 3), Fraction(2, 5), Fraction(1, 2), Fraction(4, 7)):
        assert min(belief, 1 - belief) >= theta  # there the closed form is: each letter its own group
        error = sum(p * (1 - p) / up for p in (belief, 1 - belief))
        said = costs.least(np.zeros(33), Balls.fractions([belief]))
        assert Fraction(said) <= error
        assert float(error) - said < 1e-11

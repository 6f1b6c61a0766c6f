"""The randomised optimum of the privacy funnel: public values, closed forms, invariants, and proofs that cannot be bent."""

from __future__ import annotations

import itertools
import json
import math
import time
from typing import Any

import numpy as np
import pytest
from instances.few import few

import privopt as po
from privopt.models import JointDistribution, ObservedJoint
from privopt.problems.local_information_privacy.examples import lecture_joint
from privopt.problems.privacy_funnel.problem import PrivacyFunnel
from privopt.problems.trade_off.partitions import best_partition
from privopt.problems.trade_off.tree import Cost, cost_of, least_reduced_cost
from privopt.solvers.trade_off.column_generation import distinct
from privopt.solvers.trade_off.columns.descent import alternate, descend, marginal_costs, reduced_costs
from privopt.solvers.trade_off.columns.pool import with_more
from privopt.solvers.trade_off.columns.relaxation import relax
from privopt.solvers.trade_off.columns.search import Search

BITS = math.log(2)
UNLIMITED = po.Budget()


def table(seed: int, n_s: int, n_x: int) -> JointDistribution:
    return JointDistribution.normalised(
        np.random.default_rng(seed).dirichlet(np.ones(n_s * n_x)).reshape(n_s, n_x)
    )


def answer(
    problem: PrivacyFunnel, solver: Any = "column-generation", seconds: float = 30.0
) -> po.Solution[Any]:
    solution = po.solve(problem, solver, time_limit=seconds)
    assert solution.status.ok, solution.reason
    assert solution.certified
    assert "bound_refused" not in solution.stats
    return solution


def h2(p: float) -> float:
    return 0.0 if p in (0, 1) else -p * math.log2(p) - (1 - p) * math.log2(1 - p)


# ---------------------------------------------------------------- public values


@pytest.mark.parametrize(
    ("fraction", "low", "high"),
    [
        pytest.param(0.5, 0.001686, 0.001689, marks=pytest.mark.long),
        pytest.param(0.6, 0.006856, 0.006859, marks=pytest.mark.long),
        (0.7, 0.019803, 0.019806),
        pytest.param(0.8, 0.051763, 0.051765, marks=pytest.mark.long),
        (0.9, 0.118340, 0.118341),
    ],
)
def test_lecture_table(fraction: float, low: float, high: float) -> None:
    solution = answer(PrivacyFunnel(lecture_joint(), theta_fraction=fraction))
    assert solution.status is po.Status.OPTIMAL
    assert solution.leakage is not None
    assert solution.bound is not None
    assert low - 5e-7 <= -solution.bound / BITS <= solution.leakage / BITS <= high + 5e-7


def test_zero_leakage_threshold_of_the_lecture_table() -> None:
    joint = lecture_joint()
    solution = answer(PrivacyFunnel(joint, theta_fraction=0.4), "zero-leakage")
    assert solution.stats["theta0"] == pytest.approx(1.289061 * BITS, abs=1e-6)
    assert solution.certificate is not None
    assert solution.certificate.leakage == (0.0, 0.0)
    assert solution.status is po.Status.OPTIMAL
    assert solution.utility == pytest.approx(0.4 * PrivacyFunnel(joint, max_leakage=0.0).most, abs=1e-11)
    capped = answer(PrivacyFunnel(joint, max_leakage=0.0), "zero-leakage")
    assert capped.utility == pytest.approx(1.289061 * BITS, abs=1e-6)
    lip = po.solve(po.LocalInformationPrivacy(joint, epsilon=0.0))
    assert capped.utility == pytest.approx(lip.utility, abs=1e-9)


def test_above_the_threshold_zero_leakage_keeps_the_floor_along_a_chord() -> None:
    problem = PrivacyFunnel(lecture_joint(), theta_fraction=0.7)
    solution = answer(problem, "zero-leakage")
    assert solution.utility == pytest.approx(problem.budget, abs=1e-9)
    assert solution.leakage is not None
    assert solution.leakage > 0.019803 * BITS
    assert solution.bound is None


# ---------------------------------------------------------------- closed forms and edges


@pytest.mark.parametrize(("p", "share"), [(0.1, 0.3), (0.25, 0.8), (0.4, 0.5)])
def test_noisy_bit(p: float, share: float) -> None:
    joint = JointDistribution([[(1 - p) / 2, p / 2], [p / 2, (1 - p) / 2]])
    solution = answer(PrivacyFunnel(joint, theta_fraction=share))
    assert solution.leakage == pytest.approx(share * BITS * (1 - h2(p)), abs=1e-6)
    assert solution.status is po.Status.OPTIMAL


EDGES = {
    "one symbol": ([[1], [2]], {"min_utility": 0.0}, 0.0),
    "no floor": ([[5, 2], [1, 3]], {"min_utility": 0.0}, 0.0),
    "independent": ([[1, 2, 3], [2, 4, 6]], {"theta_fraction": 0.9}, 0.0),
    "secret is the symbol": ([[1, 0, 0], [0, 2, 0], [0, 0, 3]], {"min_utility": 0.5}, -0.5),
    "secret is a function of the symbol": ([[1, 2, 0], [0, 0, 3]], {"min_utility": 0.3}, 0.0),
    "weight above one": ([[5, 2], [1, 3]], {"trade_off": 1.5}, None),
    "everything": ([[5, 2], [1, 3]], {"theta_fraction": 1.0}, None),
}


@pytest.mark.parametrize("name", EDGES)
def test_edges(name: str) -> None:
    rows, options, optimum = EDGES[name]
    problem = PrivacyFunnel(JointDistribution.normalised(rows), **options)
    solution = answer(problem)
    assert solution.status is po.Status.OPTIMAL
    if optimum is None:
        optimum = problem.evaluate(problem.everything()).objective
    assert solution.objective == pytest.approx(optimum, abs=1e-6)


def test_a_floor_above_everything_is_infeasible() -> None:
    problem = PrivacyFunnel(JointDistribution.normalised([[5, 2], [1, 3]]), min_utility=1.0)
    for solver in ("column-generation", "zero-leakage", "difference-of-convex", "oracle"):
        assert po.solve(problem, solver).status is po.Status.INFEASIBLE


def test_symbols_of_probability_zero_change_nothing() -> None:
    plain = PrivacyFunnel(JointDistribution.normalised([[5, 2, 1], [1, 3, 4]]), theta_fraction=0.7)
    padded = PrivacyFunnel(
        JointDistribution.normalised([[5, 0, 2, 1], [0, 0, 0, 0], [1, 0, 3, 4]]), min_utility=plain.budget
    )
    assert answer(padded).objective == pytest.approx(answer(plain).objective, abs=1e-6)


# ---------------------------------------------------------------- against the obvious


@pytest.mark.parametrize("seed", few(range(6), 2))
@pytest.mark.parametrize(
    "options",
    [{"theta_fraction": 0.7}, {"max_leakage": 0.03}, {"trade_off": 0.25}],
    ids=lambda a: next(iter(a)),
)
def test_random_tables_against_a_grid(seed: int, options: dict[str, Any]) -> None:
    problem = PrivacyFunnel(table(seed, 2 + seed % 3, 2 + seed % 2), **options)
    obvious = answer(problem, "oracle")
    solution = answer(problem)
    assert solution.bound is not None
    assert obvious.objective is not None
    assert solution.bound >= obvious.objective - 1e-9
    assert solution.objective == pytest.approx(obvious.objective, abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_what_is_observed_may_be_another_symbol(seed: int) -> None:
    cells = np.random.default_rng(seed).dirichlet(np.ones(12)).reshape(2, 2, 3)
    asks: list[dict[str, Any]] = [{"min_utility": 0.05}, {"max_leakage": 0.02}, {"trade_off": 0.4}]
    for options in asks:
        problem = PrivacyFunnel(ObservedJoint(cells), **options)
        if problem.is_floor and problem.most < problem.budget:
            continue
        obvious, solution = answer(problem, "oracle"), answer(problem)
        assert solution.bound is not None
        assert obvious.objective is not None
        assert solution.bound >= obvious.objective - 1e-9
        assert solution.objective == pytest.approx(obvious.objective, abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_channels_are_at_least_as_good_as_mergings(seed: int) -> None:
    problem = PrivacyFunnel(table(seed, 3, 7), theta_fraction=0.75)
    merged = best_partition(problem, 10.0)
    solution = answer(problem)
    assert merged is not None
    assert solution.objective is not None
    assert solution.bound is not None
    assert solution.bound >= merged.objective
    assert solution.objective >= merged.objective - 1e-6


@pytest.mark.long
def test_the_frontier_is_convex_and_starts_at_the_threshold() -> None:
    joint = table(3, 2, 5)
    reach = answer(PrivacyFunnel(joint, max_leakage=0.0), "zero-leakage").utility
    assert reach is not None
    whole = PrivacyFunnel(joint, max_leakage=0.0).most
    floors = np.linspace(reach, whole, 6)
    leaks = np.array([-(answer(PrivacyFunnel(joint, min_utility=float(t))).objective or 0.0) for t in floors])
    assert leaks[0] == pytest.approx(0.0, abs=1e-9)
    assert (np.diff(leaks, 2) >= -4e-6).all()
    middle = answer(PrivacyFunnel(joint, max_leakage=float(leaks[3])))
    assert middle.utility == pytest.approx(floors[3], abs=1e-4)


@pytest.mark.parametrize("step", ["linearised", "relaxed"])
@pytest.mark.long
def test_local_descent_is_feasible_and_close(step: str) -> None:
    from privopt.solvers.trade_off.local_descent import DifferenceOfConvex

    problem = PrivacyFunnel(table(1, 3, 6), theta_fraction=0.8)
    local, best = answer(problem, DifferenceOfConvex(step=step)), answer(problem)
    assert local.objective is not None
    assert best.bound is not None
    assert local.objective <= best.bound + 1e-12
    assert local.objective >= best.bound - 5e-3
    assert po.solve(problem, DifferenceOfConvex(step="sideways")).status is po.Status.REFUSED


# ---------------------------------------------------------------- the machinery


def priced(
    seed: int, n_s: int = 3, n_x: int = 6, multiplier: float = 0.2
) -> tuple[Cost, np.ndarray[Any, Any]]:
    problem = PrivacyFunnel(table(seed, n_s, n_x), trade_off=multiplier)
    return cost_of(problem, multiplier), np.random.default_rng(seed).normal(-0.7, 0.3, n_x)


@pytest.mark.parametrize("seed", range(3))
def test_walks_never_go_uphill(seed: int) -> None:
    cost, prices = priced(seed)
    p_w = np.random.default_rng(seed).dirichlet(np.ones(6))
    v = np.random.default_rng(seed).dirichlet(np.full(6, 0.5), size=50)
    for _ in range(20):
        after = descend(cost, prices, v, 1)
        assert (reduced_costs(cost, prices, after) <= reduced_costs(cost, prices, v) + 1e-12).all()
        v = after
    for bold, start in itertools.product((False, True), range(3)):
        joint = (np.random.default_rng(start).dirichlet(np.ones(5), size=6) * p_w[:, None]).T
        values = []
        for _ in range(25):
            mass = joint.sum(axis=1)
            values.append(float(mass @ reduced_costs(cost, 0.0 * prices, joint / mass[:, None])))
            joint = alternate(cost, p_w, joint, 1, bold=bold)
            assert joint.sum(axis=0) == pytest.approx(p_w, abs=1e-14)
        assert (np.diff(values) <= 1e-12).all()


@pytest.mark.parametrize("seed", range(3))
def test_relaxations_match_a_general_solver(seed: int) -> None:
    from scipy.optimize import minimize

    cost, prices = priced(seed, 4, 5)
    rng = np.random.default_rng(seed)
    low, high = np.zeros((4, 5)), rng.uniform(0.3, 0.9, (4, 5))
    points, _, _ = relax(cost, prices, low, high)
    for top, point in zip(high, points, strict=True):
        slope = -np.log(top)

        def value(v: np.ndarray[Any, Any], slope: Any = slope) -> float:
            q = np.maximum(cost.tangents @ v, 1e-300)
            return float(cost.concave * slope @ v + q @ np.log(q) - prices @ v)

        result = minimize(
            value,
            np.minimum(top, 1.0 / 5),
            bounds=[(1e-12, t) for t in top],
            constraints=[{"type": "eq", "fun": lambda v: v.sum() - 1}],
            options={"ftol": 1e-14, "maxiter": 500},
        )
        assert value(point) <= result.fun + 1e-7


def _bottleneck_prices(n: int) -> tuple[Cost, np.ndarray[Any, Any]]:
    """A bottleneck of n symbols, and prices near those of its optimum."""
    joint = JointDistribution.normalised(np.random.default_rng(n).dirichlet(np.full(n, 0.5), 3))
    problem = po.InformationBottleneck(joint, trade_off=0.2)
    cost, p_w = cost_of(problem, 0.2), problem.observation.p_w
    release = np.random.default_rng(1).random((6, n))
    release = alternate(cost, p_w, release / release.sum(axis=0) * p_w, 200)
    return cost, marginal_costs(cost, p_w, release)


def test_many_symbols_are_bounded_as_few_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Newton's systems of many symbols are diagonal but for a few rows, and solved as such."""
    cost, prices = _bottleneck_prices(25)
    least, most = cost.first_box()
    low, high = np.vstack([least, (least + most) / 2]), np.vstack([most, most])
    bounds = []
    for dense in (10**6, 0):
        monkeypatch.setattr("privopt.solvers.trade_off.columns.relaxation.DENSE", dense)
        _, tangents, multipliers = relax(cost, prices, low, high)
        bounds.append(cost.leaf_bounds(prices, low, high, tangents, multipliers))
    assert bounds[1] == pytest.approx(bounds[0], abs=1e-5)


def test_nothing_is_multiplied_by_the_identity() -> None:
    cost, prices = _bottleneck_prices(12)
    assert cost.plain
    same = Cost(cost.concave, cost.coordinates, cost.convex, np.vstack([cost.tangents, np.zeros(12)]), 12, 12)
    assert not same.plain
    v = np.random.default_rng(0).dirichlet(np.ones(12), size=9)
    assert reduced_costs(same, prices, v) == pytest.approx(reduced_costs(cost, prices, v), abs=1e-13)
    assert descend(same, prices, v, 20) == pytest.approx(descend(cost, prices, v, 20), abs=1e-10)


def test_relaxations_end_at_the_deadline() -> None:
    cost, prices = _bottleneck_prices(12)
    low, high = cost.first_box()
    points, tangents, _ = relax(cost, prices, low[None], high[None], deadline=time.monotonic() - 1.0)
    assert points.sum() == pytest.approx(1.0)
    assert (tangents > 0).all()


@pytest.mark.parametrize("seed", range(4))
def test_the_search_bounds_every_posterior(seed: int) -> None:
    cost, prices = priced(seed)
    search = Search(cost, prices, 1e-6)
    search.run(UNLIMITED)
    v = np.random.default_rng(seed).dirichlet(np.full(6, 0.3), size=20000)
    ends = descend(cost, prices, v[:300], 300)
    met = min(reduced_costs(cost, prices, v).min(), reduced_costs(cost, prices, ends).min())
    assert search.bound <= met + 1e-12
    assert search.bound >= met - 2e-6 or met > 0
    tree = json.loads(json.dumps(search.root.written(len(cost.tangents))))
    proved = least_reduced_cost(cost, prices, tree)
    assert proved is not None
    assert proved == pytest.approx((search.bound, search.bound), abs=1e-12)
    assert proved[0] <= met


def pairs_least(cost: Cost, prices: np.ndarray) -> float:
    """The least reduced cost of posteriors on two symbols, on a grid of each pair; of two secrets none is better on more."""
    n, t = cost.size, np.linspace(0.0, 1.0, 801)[:, None]
    least = math.inf
    for x, y in itertools.combinations(range(n), 2):
        v = np.zeros((len(t), n))
        v[:, x], v[:, y] = t[:, 0], 1.0 - t[:, 0]
        seen = np.column_stack([v @ cost.tangents.T, v[:, [x, y]]])
        terms = -seen * np.log(np.where(seen > 0, seen, 1.0))
        reduced = cost.concave * terms[:, -2:].sum(axis=1) - cost.convex * terms[:, :-2].sum(axis=1)
        least = min(least, float((reduced - v @ prices).min()))
    return least


@pytest.mark.parametrize("seed", range(3))
def test_many_symbols_are_priced_exactly(seed: int) -> None:
    """Thirty symbols, far more than a posterior uses: the search ends, and the problem proves its tree again."""
    problem = PrivacyFunnel(table(seed, 2, 30), trade_off=0.3)
    cost = cost_of(problem, 0.3)
    alone = reduced_costs(cost, np.zeros(30), np.eye(30))
    prices = alone - np.random.default_rng(seed).random(30) * 0.05
    least = min(0.0, pairs_least(cost, prices))
    search = Search(cost, prices, 1e-4)
    while not search.done:
        search.step()
    assert search.nodes < 50_000
    assert least - 1.2e-4 <= search.bound <= least + 1e-9
    proved = least_reduced_cost(cost, prices, search.root.written(len(cost.tangents)))
    assert proved is not None
    assert proved[0] == pytest.approx(search.bound, abs=1e-9)


def test_few_rows_beside_a_diagonal_are_solved_as_the_whole_system(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = PrivacyFunnel(table(4, 3, 24), trade_off=0.3)
    cost, rng = cost_of(problem, 0.3), np.random.default_rng(0)
    prices = -rng.random(24)
    high = rng.uniform(0.2, 0.6, size=(6, 24))
    low = np.zeros((6, 24))
    bounds = []
    for thinner in (4, 10_000):
        monkeypatch.setattr("privopt.solvers.trade_off.columns.relaxation.THINNER", thinner)
        _, tangents, multipliers = relax(cost, prices, low, high)
        bounds.append(cost.leaf_bounds(prices, low, high, tangents, multipliers))
    assert bounds[0] == pytest.approx(bounds[1], abs=1e-6)


def test_tampered_proofs_are_refused_or_prove_less() -> None:
    problem = PrivacyFunnel(table(0, 3, 5), theta_fraction=0.7)
    solution = answer(problem)
    assert solution.bound is not None
    dual = json.loads(json.dumps(solution.dual))
    assert dual["kind"] == "pricing"
    assert problem.check_bound(solution.bound, dual) == pytest.approx(solution.bound, abs=1e-12)
    obvious = solution.objective
    assert obvious is not None
    rng = np.random.default_rng(0)
    for _ in range(60):
        bent = json.loads(json.dumps(dual))
        place = int(rng.integers(len(bent["tree"])))
        kind = int(rng.integers(5))
        if kind == 0:
            del bent["tree"][place]
        elif kind == 1:
            bent["tree"].insert(place, bent["tree"][place])
        elif kind == 2:
            bent["pi"][place % len(bent["pi"])] += float(rng.normal(0, 0.1))
        elif kind == 3:
            bent["multiplier"] *= float(rng.uniform(0.5, 2))
        elif "t" in bent["tree"][place]:
            bent["tree"][place]["t"] *= float(rng.uniform(0.5, 1.5))
        elif "q" in bent["tree"][place]:
            bent["tree"][place]["q"][0] *= float(rng.uniform(-0.5, 2))
        proved = problem.check_bound(-math.inf, bent)
        assert proved is None or proved >= obvious - 1e-12
    for leaf in ({"q": [-1, 1, 1]}, {"q": [1, 1]}, {"q": [1, 1, 1], "rows": [0], "values": [-1.0]}, {}, 7):
        assert problem.check_bound(-math.inf, {**dual, "tree": [leaf]}) is None


@pytest.mark.long
def test_out_of_time_it_returns_an_honest_gap() -> None:
    problem = PrivacyFunnel(table(0, 10, 40), theta_fraction=0.7)
    begun = time.monotonic()
    solution = answer(problem, seconds=3.0)
    assert time.monotonic() - begun < 5.0 + 15.0
    assert solution.bound is not None
    assert solution.objective is not None
    assert solution.bound >= solution.objective


@pytest.mark.long
def test_tiny_caps_are_monotone_and_nearly_closed() -> None:
    joint = JointDistribution.normalised(np.random.default_rng(3).integers(1, 9, (3, 5)).tolist())
    values, bounds = [], []
    for cap in (0.0, 1e-300, 1e-16, 1e-12, 1e-8, 1e-6):
        solution = po.solve(PrivacyFunnel(joint, max_leakage=cap), time_limit=20.0)
        assert solution.certified
        assert solution.objective is not None
        assert solution.bound is not None
        assert solution.status is po.Status.OPTIMAL or 0 < cap < 1e-8
        values.append(solution.objective)
        bounds.append(solution.bound)
    assert values == sorted(values)
    assert max(bound - value for bound, value in zip(bounds, values, strict=True)) < 2e-3 * values[0]
    assert min(bounds) >= values[0]


@pytest.mark.parametrize("copies", [1e-16, 1e-13])
def test_columns_that_are_nearly_one_are_one(copies: float) -> None:
    rng = np.random.default_rng(4)
    columns = rng.dirichlet(np.ones(4), 6)
    kept = distinct(np.vstack([columns, columns + copies * rng.standard_normal(columns.shape)]))
    assert kept.tolist() == columns.tolist()


def test_without_time_a_finer_tolerance_loses_nothing_that_is_proved() -> None:
    cost, prices = priced(0)
    search = Search(cost, prices, 0.05)
    search.run(UNLIMITED)
    before, nodes = search.bound, search.nodes
    search.refine(1e-6, po.Budget(0.0))
    assert (search.bound, search.nodes) == (before, nodes)
    search.refine(1e-6, UNLIMITED)
    search.run(UNLIMITED)
    fine = Search(cost, prices, 1e-6)
    fine.run(UNLIMITED)
    assert before <= search.bound + 1e-12
    assert search.bound == pytest.approx(fine.bound, abs=2e-6)


@pytest.mark.parametrize("seed", range(3))
def test_a_search_goes_on_to_finer_tolerances(seed: int) -> None:
    """Boxes that were good enough are open again: the bound ends where that of a fine search does, and its tree proves it."""
    for cost, prices in (priced(seed), _bottleneck_prices(9)):
        fine, search = Search(cost, prices, 1e-6), Search(cost, prices, 0.05)
        fine.run(UNLIMITED)
        search.run(UNLIMITED)
        before = search.bound
        for tolerance in (5e-3, 1e-6):
            search.refine(tolerance, UNLIMITED)
            search.run(UNLIMITED)
            assert search.done
            assert search.bound >= before - 1e-12
            before = search.bound
        assert search.bound == pytest.approx(fine.bound, abs=2e-6)
        tree = json.loads(json.dumps(search.root.written(len(cost.tangents))))
        proved = least_reduced_cost(cost, prices, tree, everywhere=search.sloped)
        assert proved is not None
        assert proved == pytest.approx((search.bound, search.bound), abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_more_posteriors_enter_a_release(seed: int) -> None:
    rng = np.random.default_rng(seed)
    joint, columns = rng.dirichlet(np.ones(12)).reshape(3, 4), rng.dirichlet(np.ones(4), size=2)
    columns[0, 1:] = 0.0
    columns[0, 0] = 1.0
    more = with_more(joint, columns)
    assert (more >= 0).all()
    assert more.sum(axis=0) == pytest.approx(joint.sum(axis=0), abs=1e-15)
    entered = more[3:] / more[3:].sum(axis=1, keepdims=True)
    assert entered == pytest.approx(columns, abs=1e-15)


MERGED: list[dict[str, Any]] = [{"theta_fraction": 0.75}, {"max_leakage": 0.05}, {"trade_off": 0.2}]


@pytest.mark.parametrize("options", MERGED, ids=lambda a: next(iter(a)))
@pytest.mark.parametrize("seed", few(range(2), 1))
def test_mergings_are_bounded_by_channels(seed: int, options: dict[str, Any]) -> None:
    """No merging is better than the best channel: its bound is above the best of all partitions, and below that of no search."""
    problem = PrivacyFunnel(table(seed, 3, 6), form="merging", **options)
    every, solution = best_partition(problem, 10.0), answer(problem)
    assert every is not None
    assert solution.bound is not None
    assert solution.objective is not None
    assert solution.bound >= every.bound[0]
    assert solution.objective <= every.bound[1] + 1e-12
    channels = answer(PrivacyFunnel(table(seed, 3, 6), **options))
    assert channels.objective is not None
    assert solution.bound >= channels.objective - 1e-9
    assert solution.bound <= channels.objective + 2e-3


@pytest.mark.parametrize("seed", range(3))
def test_a_proof_says_the_same_however_many_nodes_are_read_together(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cost, prices = _bottleneck_prices(12 + seed)
    search = Search(cost, prices, 1e-5)
    search.run(UNLIMITED)
    tree = json.loads(json.dumps(search.root.written(len(cost.tangents))))
    assert len(tree) > 20
    together = least_reduced_cost(cost, prices, tree)
    monkeypatch.setattr("privopt.problems.trade_off.tree.BATCH", 2)
    assert least_reduced_cost(cost, prices, tree) == pytest.approx(together, abs=1e-15)
    assert least_reduced_cost(cost, prices, tree[:-1]) is None
    assert least_reduced_cost(cost, prices, [*tree, tree[-1]]) is None
    split = next(i for i, node in enumerate(tree) if "k" in node)
    outside = [*tree[:split], {**tree[split], "k": cost.dimension}, *tree[split + 1 :]]
    assert least_reduced_cost(cost, prices, outside) is None

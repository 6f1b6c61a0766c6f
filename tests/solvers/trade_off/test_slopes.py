"""Leaves that are slopes alone: what they bound, how they are found, and trees of them as proofs that cannot be bent."""

from __future__ import annotations

import json
import math
import time

import numpy as np
import pytest

import privopt as po
from privopt.arrays import Bools, Floats
from privopt.models import JointDistribution
from privopt.problems.entropy_boxes import tightened
from privopt.problems.trade_off.tree import Cost, cost_of, least_reduced_cost
from privopt.solvers.trade_off.columns.descent import alternate, marginal_costs, reduced_costs
from privopt.solvers.trade_off.columns.relaxation import relax
from privopt.solvers.trade_off.columns.search import Search
from privopt.solvers.trade_off.columns.slopes import relax_slopes, shifted

UNLIMITED = po.Budget()


def priced(seed: int, n_s: int, n_x: int, weight: float = 0.1) -> tuple[Cost, Floats]:
    """A bottleneck's cost, and prices near those of its optimum."""
    rng = np.random.default_rng(seed)
    joint = JointDistribution.normalised(rng.dirichlet(np.full(n_s * n_x, 0.7)).reshape(n_s, n_x))
    problem = po.InformationBottleneck(joint, trade_off=weight)
    cost, p_w = cost_of(problem, weight), problem.observation.p_w
    release = rng.random((2 * n_s, n_x))
    release = alternate(cost, p_w, release / release.sum(axis=0) * p_w, 200)
    return cost, marginal_costs(cost, p_w, release)


def boxes(cost: Cost, seed: int, count: int = 30) -> tuple[Floats, Floats]:
    """Boxes around points C v, tightened as parts of a split are."""
    rng = np.random.default_rng(seed)
    assert cost.coordinates is not None
    at = rng.dirichlet(np.ones(cost.size), size=count) @ cost.coordinates.T
    (least, most), width = cost.first_box(), rng.uniform(0.02, 0.3, at.shape)
    pairs = [
        tightened(np.maximum(least, q - w), np.minimum(most, q + w)) for q, w in zip(at, width, strict=True)
    ]
    return np.array([low for low, _ in pairs]), np.array([high for _, high in pairs])


@pytest.mark.parametrize("seed", range(3))
def test_slopes_bound_every_posterior_of_a_box(seed: int) -> None:
    cost, prices = priced(seed, 3, 7)
    low, high = boxes(cost, seed)
    _, slopes = relax_slopes(cost, prices, low, high)
    bounds = cost.slope_bounds(prices, low, high, slopes)
    below, above = cost.proved_slope_bounds(prices, low, high, slopes)
    assert (below <= bounds + 1e-13).all()
    assert (bounds <= above + 1e-13).all()
    assert (above - below < 1e-12).all()
    v = np.random.default_rng(seed).dirichlet(np.full(7, 0.6), size=20_000)
    assert cost.coordinates is not None
    seen, met = v @ cost.coordinates.T, reduced_costs(cost, prices, v)
    inside: Bools = np.all((seen[:, None] >= low) & (seen[:, None] <= high), axis=2)
    assert inside.any(axis=0).sum() > 15
    for k in np.flatnonzero(inside.any(axis=0)).tolist():
        assert below[k] <= met[inside[:, k]].min()


@pytest.mark.parametrize("seed", range(3))
def test_the_bounds_are_those_of_the_relaxation_over_posteriors(seed: int) -> None:
    """The same convex program, solved in the n variables of the posterior."""
    cost, prices = priced(seed, 4, 9)
    low, high = boxes(cost, seed)
    _, tangents, multipliers = relax(cost, prices, low, high, 30)
    whole = cost.leaf_bounds(prices, low, high, tangents, multipliers)
    _, slopes = relax_slopes(cost, prices, low, high)
    assert cost.slope_bounds(prices, low, high, slopes) == pytest.approx(whole, abs=1e-6)


def test_any_slopes_are_valid_and_the_shift_never_loses() -> None:
    cost, prices = priced(5, 3, 6)
    low, high = boxes(cost, 5)
    _, best = relax_slopes(cost, prices, low, high, fine=True)
    most = cost.slope_bounds(prices, low, high, best)
    rng = np.random.default_rng(0)
    for size in (1e-3, 0.1, 3.0):
        other = best + size * rng.normal(size=best.shape)
        bounds = cost.slope_bounds(prices, low, high, other)
        assert (bounds <= most + 1e-9).all()
        assert (cost.slope_bounds(prices, low, high, shifted(cost, low, high, other)) >= bounds - 1e-12).all()


def test_an_empty_box_is_shown_so() -> None:
    cost, prices = priced(0, 3, 7)
    low, high = (end[None].copy() for end in cost.first_box())
    low[0, 0] = high[0, 0] + 1e-3
    assert cost.slope_bounds(prices, low, high, np.zeros((1, 3)))[0] == math.inf
    assert cost.proved_slope_bounds(prices, low, high, np.zeros((1, 3)))[0][0] == math.inf


def test_relaxations_end_at_the_deadline() -> None:
    cost, prices = priced(0, 3, 7)
    low, high = boxes(cost, 0, 3)
    points, slopes = relax_slopes(cost, prices, low, high, deadline=time.monotonic() - 1.0)
    assert points.sum(axis=1) == pytest.approx(1.0)
    assert np.isfinite(slopes).all()


@pytest.mark.parametrize("seed", range(2))
def test_the_search_proves_the_least_reduced_cost_and_no_bent_tree_proves_more(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two symbols of posteriors on a fine grid: the least reduced cost is known, and so is what a tree may prove."""
    monkeypatch.setattr("privopt.solvers.trade_off.columns.search.FEW", 0)
    cost, prices = priced(seed, 3, 3, 0.2)
    prices = prices + 0.02 * np.random.default_rng(seed).random(3)
    t = np.linspace(0, 1, 801)
    grid = np.array([(a, b, max(0.0, 1 - a - b)) for a in t for b in t if a + b <= 1 + 1e-12])
    least = min(0.0, float(reduced_costs(cost, prices, grid).min()))
    search = Search(cost, prices, 1e-6)
    search.run(UNLIMITED)
    assert search.done
    assert least - 1e-4 <= search.bound <= least + 1e-9
    tree = json.loads(json.dumps(search.root.written(len(cost.tangents))))
    assert any("slopes" in node for node in tree)
    proved = least_reduced_cost(cost, prices, tree, everywhere=True)
    assert proved is not None
    assert proved == pytest.approx((search.bound, search.bound), abs=1e-12)
    looser = least_reduced_cost(cost, prices, tree)
    assert looser is not None
    assert looser[0] <= proved[1]
    rng = np.random.default_rng(seed)
    for _ in range(80):
        bent = json.loads(json.dumps(tree))
        place = int(rng.integers(len(bent)))
        kind = int(rng.integers(3))
        if kind == 0:
            del bent[place]
        elif "slopes" in bent[place]:
            bent[place]["slopes"][int(rng.integers(3))] += float(rng.normal(0, 1))
        elif "t" in bent[place]:
            bent[place]["t"] *= float(rng.uniform(0.5, 1.5))
        else:
            bent[place] = {"slopes": rng.normal(0, 1, 3).tolist()}
        again = least_reduced_cost(cost, prices, bent, everywhere=True)
        assert again is None or again[0] <= least + 1e-9
    for leaf in ({"slopes": [0, 0]}, {"slopes": [0, 0, math.inf]}, {"slopes": "0"}, {"slopes": [0, 0, True]}):
        assert least_reduced_cost(cost, prices, [leaf], everywhere=True) is None


def test_slopes_are_for_the_identity_only() -> None:
    """A funnel's convex part reads the secret: there slopes alone prove nothing, and are refused."""
    joint = JointDistribution.normalised([[5, 2, 1], [1, 3, 4]])
    cost = cost_of(po.PrivacyFunnel(joint, trade_off=0.3), 0.3)
    assert least_reduced_cost(cost, np.zeros(3), [{"slopes": [0, 0, 0]}], everywhere=True) is None


@pytest.mark.long
def test_a_bottleneck_of_sixty_symbols_has_a_bound_of_its_own() -> None:
    joint = JointDistribution.normalised(
        np.random.default_rng([5, 60, 0]).dirichlet(np.ones(300)).reshape(5, 60)
    )
    problem = po.InformationBottleneck(joint, trade_off=0.1)
    solution = po.solve(problem, "column-generation", time_limit=40)
    assert solution.objective is not None
    assert solution.bound is not None
    assert solution.objective <= solution.bound < 0.5 * (1 - 0.1) * problem.informations[0][1]
    assert isinstance(solution.dual, dict)
    assert solution.dual["kind"] == "pricing"
    tree = solution.dual["tree"]
    assert len(json.dumps(tree)) < 100 * len(tree)  # a leaf for 60 symbols takes 5 numbers

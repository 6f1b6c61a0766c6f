"""Prices of symbols prove the best merging: against every block and every partition, with forged prices, at extreme numbers."""

from __future__ import annotations

import copy
import itertools
import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx
from instances.few import few
from instances.funnels import BUDGETS, VALUES, extreme_tables
from oracles import funnel as oracle

import privopt as po
from privopt.arrays import Floats
from privopt.core.solver import Budget
from privopt.problems.set_partitions import OutOfTime, light_partitions
from privopt.problems.trade_off.block_tree import BlockTree
from privopt.problems.trade_off.problem import TradeOff
from privopt.solvers.trade_off.block_program import BlockProgram, BottleneckBlockProgram


def phi(t: float) -> float:
    return -t * math.log(t) if t > 0 else 0.0


# ---------------------------------------------------------------- the pieces


@pytest.mark.parametrize("seed", few(range(12), 4))
def test_the_tree_finds_every_light_block(seed: int) -> None:
    """Weights of both signs, empty cells, masses over ten powers of ten; every block summed by hand."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(1, 11)), int(rng.integers(1, 5))
    rows = rng.dirichlet(np.ones(n), size=k) * rng.integers(0, 2, (k, n)) ** (seed % 2)
    rows *= 10.0 ** -rng.integers(0, 10, n) if seed % 3 == 0 else 1.0
    weights = rng.normal(size=k) * (rng.random(k) < 0.9)
    prices = rng.normal(size=n) * 0.3
    tree = BlockTree(rows, weights, prices)
    reduced = {}
    for block in range(1, 1 << n):
        held = [i for i in range(n) if block >> i & 1]
        masses = [math.fsum(row[held].tolist()) for row in rows]
        parts = [w * phi(m) for w, m in zip(weights.tolist(), masses, strict=True)]
        reduced[block] = math.fsum([*parts, *(-prices[held]).tolist()])
    for most in (-0.2, 0.0, 0.1, math.inf):
        found = tree.below(most)
        assert found.complete
        met = set(found.blocks.tolist())
        assert len(met) == found.size
        assert {b for b, r in reduced.items() if r <= most} <= met
        assert all(reduced[b] <= most + 1e-6 for b in met)
        for block, paid, masses in zip(found.blocks.tolist(), found.paid, found.masses, strict=True):
            held = [i for i in range(n) if block >> i & 1]
            assert paid == pytest.approx(prices[held].sum(), abs=1e-12)
            assert masses == pytest.approx(rows[:, held].sum(axis=1), rel=1e-12)


def test_a_tree_that_is_stopped_says_so() -> None:
    rng = np.random.default_rng(1)
    tree = BlockTree(rng.dirichlet(np.ones(12), size=2), np.ones(2), np.ones(12))
    assert not tree.below(1.0, count=10).complete
    assert not tree.below(1.0, deadline=0.0).complete
    narrow = tree.below(1.0, width=50)
    assert not narrow.complete
    assert 0 < narrow.size <= 50


@pytest.mark.parametrize("seed", few(range(8), 3))
def test_light_partitions_are_all_of_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    blocks = np.flatnonzero(rng.random(1 << n) < 0.6)
    blocks = np.unique(np.concatenate([blocks[blocks > 0], 1 << np.arange(n)]))
    weights = np.round(rng.random(len(blocks)), 2)
    weight = dict(zip(blocks.tolist(), weights.tolist(), strict=True))
    for most in (0.5, 1.0, 10.0):
        expected = set()
        for assignment in oracle.partitions(n):
            sets = [sum(1 << i for i, b in enumerate(assignment) if b == c) for c in set(assignment)]
            if all(s in weight for s in sets) and math.fsum(weight[s] for s in sets) <= most - 1e-9:
                expected.add(frozenset(sets))
        met = [
            frozenset(blocks[row].tolist())
            for rows in light_partitions(blocks, weights, n, most)
            for row in rows
        ]
        assert len(met) == len(set(met))
        assert expected <= set(met)
        assert all(math.fsum(weight[s] for s in sets) <= most + 1e-9 for sets in met)


def test_partitions_that_are_too_many_are_not_gone_through() -> None:
    blocks = np.arange(1, 1 << 10)
    with pytest.raises(OutOfTime):
        list(light_partitions(blocks, np.zeros(len(blocks)), 10, 1.0, count=1000))
    with pytest.raises(OutOfTime):
        list(light_partitions(blocks, np.zeros(len(blocks)), 10, 1.0, deadline=0.0))


# ---------------------------------------------------------------- the bound


def tables(seed: int) -> list[list[Fraction]]:
    rng = np.random.default_rng(seed)
    n_s, n = int(rng.integers(2, 4)), int(rng.integers(2, 7))
    weights = rng.integers(0, 60, (n_s, n)) ** int(rng.integers(1, 3)) + np.eye(n_s, n, dtype=np.int64)
    weights[0] += weights.sum(axis=0) == 0
    return [[Fraction(int(v)) for v in row] for row in weights]


def posed(table: list[list[Fraction]], mode: str, budget: float, *, funnel: bool) -> TradeOff:
    kind: Any = po.PrivacyFunnel if funnel else po.InformationBottleneck
    problem: TradeOff = kind(po.JointDistribution.normalised(table), form="merging", **{mode: budget})
    return problem


def proposal_of(problem: TradeOff) -> dict[str, Any]:
    """The prices that the solver ends with, whether it hands them on or not."""
    solver: Any = BlockProgram() if problem.is_funnel else BottleneckBlockProgram()
    dual = solver.run(problem, Budget()).dual
    return dual if dual["kind"] == "blocks" else {}


@pytest.mark.parametrize("seed", few(range(10), 3))
@pytest.mark.parametrize(
    "wanted", [("trade_off", 0.15, True), ("min_utility", 0.5, True), ("max_leakage", 0.02, True)], ids=str
)
def test_any_prices_bound_every_partition(seed: int, wanted: tuple[str, float, bool]) -> None:
    """Prices from nowhere, good ones that are bent, a cost that no partition has: the bound is one all the same."""
    table, (mode, budget, funnel) = tables(seed), wanted
    problem = posed(table, mode, budget, funnel=funnel)
    best = oracle.best_merging(table, mode, budget, funnel=funnel)
    if best is None:
        return
    rng = np.random.default_rng(seed + 100)
    n = len(problem.observation.support)
    true = proposal_of(problem)
    for trial in range(30):
        pi = rng.normal(size=n) * 0.3
        if true and trial % 2:
            pi = np.array(true["pi"]) + rng.normal(size=n) * 10.0 ** -rng.integers(1, 14)
        multiplier = (
            0.0 if mode == "trade_off" else float(rng.random() * (0.2 if mode == "min_utility" else 8))
        )
        known = true["cost"] if true and true["cost"] is not None else -1.0
        cost = [None, known, known - 0.1, known + 0.05, -1e3][trial % 5]
        dual = {"kind": "blocks", "multiplier": multiplier, "pi": pi.tolist(), "cost": cost}
        proved = problem.prove_bound(dual)
        assert proved is None or not best > arb(proved[1])


@pytest.mark.parametrize("name", few(extreme_tables(), 9))
@pytest.mark.parametrize("wanted", BUDGETS, ids=str)
def test_prices_prove_the_exact_best(name: str, wanted: tuple[str, float, bool]) -> None:
    table, (mode, budget, funnel) = extreme_tables()[name], wanted
    problem = posed(table, mode, budget, funnel=funnel)
    best = oracle.best_merging(table, mode, budget, funnel=funnel)
    solution = po.solve(problem, "block-program", time_limit=20)
    assert solution.certified, solution.reason
    assert solution.bound is not None
    assert not best > arb(solution.bound)
    assert solution.gap is not None
    if budget < 1e6:
        assert solution.status is po.Status.OPTIMAL
    verdict = po.verify(problem, solution)
    assert verdict.ok, verdict.reason


def test_partitions_that_floats_cannot_tell_apart_are_compared_exactly() -> None:
    """Two partitions differ by 1e-30: the better one is the bound, and the other one is not optimal by more than that."""
    table = extreme_tables()["nearly ties"]
    problem = posed(table, "min_utility", 1.2, funnel=True)
    dual = proposal_of(problem)
    proved = problem.prove_bound(dual)
    best = oracle.best_merging(table, "min_utility", 1.2, funnel=True)
    assert proved is not None
    with ctx.workprec(300):
        assert not best > arb(proved[1])
        assert not best < arb(proved[0])
        assert abs(float(best.mid()) - proved[1]) <= 1e-15


def test_many_equal_partitions_are_not_all_compared() -> None:
    """Equal symbols: 2 520 partitions of nine symbols into blocks of 2, 2, 2, 2 and 1 are equally good."""
    weights: Floats = np.vstack([np.full(9, 1.0), np.full(9, 2.0)])
    problem = po.PrivacyFunnel(po.JointDistribution.normalised(weights), min_utility=1.5, form="merging")
    dual = {"kind": "blocks", "multiplier": 0.0, "pi": [0.0] * 9, "cost": None}
    solution = po.solve(problem, "block-program", time_limit=20)
    assert solution.status is po.Status.OPTIMAL
    proved = problem.prove_bound(dual)
    assert proved is None or proved[1] >= -1e-12


def test_forged_duals_prove_nothing_better() -> None:
    table = tables(5)
    problem = posed(table, "min_utility", 0.6, funnel=True)
    best = oracle.best_merging(table, "min_utility", 0.6, funnel=True)
    dual = proposal_of(problem)
    assert dual["kind"] == "blocks"
    forged: list[Any] = [None, [], "blocks", {"kind": "blocks"}]
    for key in ("multiplier", "pi", "cost"):
        forged += [{**dual, key: value} for value in VALUES]
        forged.append({k: v for k, v in dual.items() if k != key})
    for place, value in itertools.product(range(len(dual["pi"])), VALUES):
        bent = copy.deepcopy(dual)
        bent["pi"][place] = value
        forged.append(bent)
    forged += [
        {**dual, "pi": dual["pi"][:-1]},
        {**dual, "pi": [*dual["pi"], 0.0]},
        {**dual, "multiplier": -0.5},
    ]
    for one in forged:
        bound = problem.check_bound(-1.0, one)
        assert bound is None or not best > arb(bound)


def test_prices_are_for_mergings_alone() -> None:
    table = tables(5)
    merging = posed(table, "min_utility", 0.6, funnel=True)
    dual = proposal_of(merging)
    assert merging.prove_bound(dual) is not None
    assert merging.by_channels().prove_bound(dual) is None


def test_prices_survive_a_file() -> None:
    problem = posed(tables(5), "min_utility", 0.6, funnel=True)
    dual = proposal_of(problem)
    assert problem.prove_bound(json.loads(json.dumps(dual))) == problem.prove_bound(dual)

"""Bounds and certificates of funnels and bottlenecks: against exact truths, with planted forgeries, at extreme numbers."""

from __future__ import annotations

import copy
import json
import math
import os
import subprocess
import sys
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx
from instances.few import few
from instances.funnels import BUDGETS, VALUES, extreme_tables, noisy, solved
from oracles import funnel as oracle
from scipy.optimize import linprog

import privopt as po
from privopt.core.balls import Balls
from privopt.problems.entropy_boxes import log_balls, minorants, proved_knapsacks, tightened
from privopt.problems.information_bottleneck.problem import InformationBottleneck
from privopt.problems.local_information_privacy.examples import lecture_joint
from privopt.problems.privacy_funnel.problem import PrivacyFunnel
from privopt.problems.trade_off import partitions as _partitions
from privopt.problems.trade_off.partitions import best_partition
from privopt.problems.trade_off.problem import TradeOff

LN2 = math.log(2)


# ---------------------------------------------------------------- the pieces


def test_logarithms_are_enclosed() -> None:
    rng = np.random.default_rng(0)
    edges = [5e-324, 2.3e-308, 1.7e308, math.sqrt(0.5), math.nextafter(math.sqrt(0.5), 0), 1.0, math.e]
    near_one = 1 + np.arange(-40, 41) * 2.0**-53
    x = np.concatenate([rng.random(3000), 10.0 ** rng.uniform(-323, 308, 3000), near_one, edges])
    balls = log_balls(x)
    with ctx.workprec(200):
        for value, mid, rad in zip(x.tolist(), balls.mid.tolist(), balls.rad.tolist(), strict=True):
            assert abs(arb(value).log() - arb(mid)) <= arb(rad)
            assert rad <= 2e-15 * abs(mid)
    assert np.isinf(log_balls(np.array([0.0, -1.0, math.nan, math.inf])).rad).all()


def test_lines_below_the_entropy_stay_below() -> None:
    rng = np.random.default_rng(1)
    ends = np.sort(rng.random((2000, 2)) ** 4, axis=1)
    ends[:200, 0], ends[200:400, 1] = 0.0, ends[200:400, 0] + 1e-13
    constants, slopes = minorants(ends[:, 0], ends[:, 1])
    for share in (0.0, 0.01, 0.5, 1.0):
        t = ends[:, 0] + share * (ends[:, 1] - ends[:, 0])
        for a, b, value in zip(constants.lower.tolist(), slopes.tolist(), t.tolist(), strict=True):
            exact = -arb(value) * arb(value).log() if value > 0 else arb(0)
            assert not arb(a) + arb(b) * arb(value) > exact


def test_knapsacks_are_enclosed() -> None:
    rng = np.random.default_rng(2)
    for case in range(300):
        n = int(rng.integers(1, 8))
        low = rng.random(n) * rng.integers(0, 2, n) / n
        high = low + rng.random(n) * rng.integers(0, 2, n)
        cost = np.round(rng.normal(size=n), 1 if case % 5 == 0 else 12)
        below, above = proved_knapsacks(Balls.exact(cost[None]), low[None], high[None])
        result = linprog(cost, A_eq=np.ones((1, n)), b_eq=[1.0], bounds=list(zip(low, high, strict=True)))
        if result.fun is not None:
            assert below[0] <= result.fun + 1e-9
            assert above[0] >= result.fun - 1e-9
            assert above[0] - below[0] <= 1e-13
        else:
            assert below[0] == math.inf


def test_tightened_boxes_lose_no_point() -> None:
    rng = np.random.default_rng(3)
    for _ in range(500):
        v = [Fraction(int(w)) for w in rng.integers(0, 1000, 5)]
        v = [w / sum(v) for w in v]
        low = np.array(
            [max(0.0, math.nextafter(float(w), 0) - r) for w, r in zip(v, rng.random(5) ** 6, strict=True)]
        )
        high = np.array([math.nextafter(float(w), 2) + r for w, r in zip(v, rng.random(5) ** 6, strict=True)])
        lower, upper = tightened(low, high)
        assert all(
            Fraction(float(a)) <= w <= Fraction(float(b)) for a, w, b in zip(lower, v, upper, strict=True)
        )


# ---------------------------------------------------------------- forgeries


def truths() -> list[tuple[TradeOff, float]]:
    """Problems with their optimum in closed form, and a certified pricing dual each."""
    theta, rate = 0.5 * LN2, 0.4 * LN2
    h = lambda p: -p * math.log(p) - (1 - p) * math.log(1 - p)
    low, high = 0.0, 0.5
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if middle == 0 or h(middle) < LN2 - rate else (low, middle)
    return [
        (PrivacyFunnel(noisy(0.1), min_utility=theta), -theta * (1 - h(0.1) / LN2)),
        (PrivacyFunnel(noisy(0.1), max_leakage=0.1), 0.1 / (1 - h(0.1) / LN2)),
        (InformationBottleneck(noisy(0.1), max_rate=rate), LN2 - h(0.1 * (1 - low) + low * 0.9)),
    ]


POSITIONS = (-1, 99, True, "0", 1.0, 10**30, None, [0])


def forgeries(dual: dict[str, Any]) -> list[dict[str, Any]]:
    """A true dual with one thing changed, everything that can be."""
    bent = []

    def change(*path: Any, to: Any) -> None:
        new = copy.deepcopy(dual)
        place = new
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = to
        bent.append(new)

    leaf = next(i for i, node in enumerate(dual["tree"]) if "q" in node)
    width, n = len(dual["tree"][leaf]["q"]), len(dual["pi"])
    for value in VALUES:
        change("multiplier", to=value)
        change("pi", to=value)
        change("tree", to=value)
        change("tree", leaf, to=value)
        change("tree", leaf, "q", to=value)
        change("pi", 0, to=value)
        change("pi", to=[value] * n)
        change("tree", leaf, "q", 0, to=value)
        change("tree", leaf, "q", to=[value] * width)
        for rows in ([0], [0, n], [0, 2]):
            change("tree", leaf, to={"q": [1] * width, "rows": rows, "values": [value] * len(rows)})
        change("tree", to=[{"k": 0, "t": value}, {"q": [1] * width}, {"q": [1] * width}])
        change("tree", to=[{"k": 0, "t": value}, {"q": [1] * width}])
    for k in POSITIONS:
        for key, more in (("k", {"t": 0.5}), ("support", {})):
            change("tree", to=[{key: k, **more}, {"q": [1] * width}, {"q": [1] * width}])
        change("tree", leaf, to={"q": [1] * width, "rows": [k], "values": [1.0]})
    for t in (-5.0, 5.0, 0.0, 1.0):  # one part is empty; the other is the whole box
        change("tree", to=[{"k": 0, "t": t}, {"q": [1] * width}, {"q": [1] * width}])
    change("tree", to=[{"k": 0, "t": 0.5}, {"q": [math.nan] * width}, {"q": [1] * width}])
    change("tree", to=[{"k": 0, "t": 0.5}, {"q": [1] * width}, {"q": [1] * width}, {"q": [1] * width}])
    change("tree", leaf, to={"q": [1] * width, "rows": [0, 0], "values": [1.0, 1.0]})
    change("tree", leaf, to={"q": [1] * width, "rows": [0], "values": [1.0, 1.0]})
    deep: Any = []
    for _ in range(200):
        deep = [deep]
    change("tree", leaf, "q", to=deep)
    bent += [
        {},
        {"kind": "pricing"},
        {"kind": ["pricing"]},
        {"kind": "partitions"},
        {"kind": "independent", "dual": dual},
    ]
    return bent


@pytest.mark.parametrize("case", range(3))
def test_no_forged_dual_proves_a_false_bound(case: int) -> None:
    problem, optimum = truths()[case]
    solution = solved(problem, "column-generation")
    assert solution.objective == pytest.approx(optimum, rel=2e-6)
    dual = json.loads(json.dumps(solution.dual))
    assert dual["kind"] == "pricing"
    proved = problem.check_bound(-math.inf, dual)
    assert proved is not None
    assert optimum <= proved <= optimum + 1e-6 * abs(optimum)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for bent in forgeries(dual):
            claimed = problem.check_bound(-math.inf, bent)
            assert claimed is None or claimed >= optimum * (1 - 1e-15 * math.copysign(1, optimum)), bent
        for nonsense in (None, 7, "x", [], math.nan, [dual]):
            assert problem.check_bound(-math.inf, nonsense) is None


def test_a_hidden_leaf_without_a_number_is_no_proof() -> None:
    """The minimum of a bound and a NaN is not the bound."""
    problem, _ = truths()[0]
    dual = json.loads(json.dumps(solved(problem, "column-generation").dual))
    for node in dual["tree"]:
        if "q" not in node:
            continue
        for bad in ([math.nan, 1.0], [1e308, 1e308], [5e-324, 5e-324], [0.0, 1.0]):
            kept, node["q"] = node["q"], bad
            claimed = problem.check_bound(-math.inf, dual)
            assert claimed is None or claimed >= truths()[0][1]
            assert claimed is None or not (math.isnan(bad[0]) or bad[0] == 0)
            node["q"] = kept


def test_multipliers_that_cancel_prove_nothing_false() -> None:
    problem, optimum = truths()[2]
    dual = json.loads(json.dumps(solved(problem, "column-generation").dual))
    for size in (1e8, 1e13, 1e16, 1e100, 1e300):
        for node in dual["tree"]:
            if "q" in node:
                node |= {"rows": [0, 1, 2, 3], "values": [size] * 4}
        claimed = problem.check_bound(-math.inf, dual)
        assert claimed is None or claimed >= optimum


def test_trees_of_random_prices_bound_every_release() -> None:
    """Prices need not be good: whatever they prove holds for all releases that are tried."""
    rng = np.random.default_rng(4)
    joint = po.JointDistribution.normalised(rng.dirichlet(np.ones(9)).reshape(3, 3))
    for problem, multiplier in (
        (PrivacyFunnel(joint, trade_off=0.3), 0.3),
        (InformationBottleneck(joint, trade_off=0.3), 0.3),
        (PrivacyFunnel(joint, theta_fraction=0.5), 0.4),
    ):
        releases = [po.Channel(rng.dirichlet(np.full(4, 0.4), size=3)) for _ in range(200)]
        read = [
            problem.evaluate(problem.check(r)) for r in (*releases, problem.everything(), problem.nothing())
        ]
        top = max(r.objective for r in read if r.violation == 0)
        for _ in range(10):
            tree = [{"k": 1, "t": 0.3}, {"q": rng.dirichlet(np.ones(3)).tolist()}, {"q": [1, 1, 1]}]
            dual = {
                "kind": "pricing",
                "multiplier": multiplier,
                "pi": rng.normal(size=3).tolist(),
                "tree": tree,
            }
            proved = problem.prove_bound(dual)
            assert proved is not None
            assert proved[1] - proved[0] <= 1e-13
            assert proved[0] >= top


# ---------------------------------------------------------------- partitions


@pytest.mark.parametrize("name", few(extreme_tables(), 9))
@pytest.mark.parametrize("wanted", BUDGETS, ids=str)
def test_the_bound_over_partitions_encloses_the_exact_best(
    name: str, wanted: tuple[str, float, bool]
) -> None:
    table, (mode, budget, funnel) = extreme_tables()[name], wanted
    kind: Any = PrivacyFunnel if funnel else InformationBottleneck
    problem = kind(po.JointDistribution.normalised(table), form="merging", **{mode: budget})
    proved = problem.prove_bound({"kind": "partitions"})
    best = oracle.best_merging(table, mode, budget, funnel=funnel)
    assert proved is not None
    low, high = (arb(end) for end in proved)
    assert not best > high
    assert not best < low
    solution = solved(problem)
    assert solution.bound is not None
    assert not best > arb(solution.bound)
    assert solution.status is po.Status.OPTIMAL


def test_the_float_best_alone_would_be_wrong() -> None:
    """At a weight of 1e12 the errors of floats are far above any fixed allowance: the enclosure is as wide as they are."""
    table = extreme_tables()["plain"]
    problem = PrivacyFunnel(po.JointDistribution.normalised(table), trade_off=1e12, form="merging")
    proved = problem.prove_bound({"kind": "partitions"})
    assert proved is not None
    assert 1e-6 < proved[1] - proved[0] < 1e-9 * proved[1]


def test_partitions_that_floats_cannot_tell_apart_are_compared_exactly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Many near ties: beyond the limit the errors stay in the bound, which still holds."""
    table = [[Fraction(1)] * 6, [Fraction(1)] * 5 + [Fraction(10**30 + 1, 10**30)]]
    problem = PrivacyFunnel(po.JointDistribution.normalised(table), min_utility=1.0, form="merging")
    exact = problem.prove_bound({"kind": "partitions"})
    monkeypatch.setattr(_partitions, "MOST_NEAR", 2)
    weighed = PrivacyFunnel(problem.joint, trade_off=1e-40, form="merging")
    best = oracle.best_merging(table, "trade_off", 1e-40, funnel=True)
    for other, truth in (
        (problem, oracle.best_merging(table, "min_utility", 1.0, funnel=True)),
        (weighed, best),
    ):
        proved = other.prove_bound({"kind": "partitions"})
        assert proved is not None
        assert not truth > arb(proved[1])
    assert exact is not None
    assert exact[1] <= 0


def test_a_budget_that_is_the_reading_of_a_partition_is_decided() -> None:
    """The leakage of a partition is irrational: of the floats below it only the next one is a budget that it keeps, read outward."""
    joint = po.JointDistribution.normalised([[5, 2, 1, 3], [1, 3, 4, 2]])
    whole = PrivacyFunnel(joint, trade_off=1.0, form="merging")
    certificate = whole.certify(whole.merging([0, 1, 0, 1]))
    low, high = certificate.leakage
    assert math.nextafter(low, math.inf) == high
    for budget, kept in ((math.nextafter(low, 0.0), False), (low, True), (high, True)):
        problem = PrivacyFunnel(joint, max_leakage=budget, form="merging")
        assert problem.certify(problem.merging([0, 1, 0, 1])).ok is kept
        best = best_partition(problem, math.inf)
        assert best is not None
        assert problem.certify(problem.merging(best.assignment)).ok
        assert solved(problem).status is po.Status.OPTIMAL


# ---------------------------------------------------------------- a cap of zero


@pytest.mark.parametrize("form", ["stochastic", "merging"])
@pytest.mark.parametrize("seed", few(range(8), 4))
def test_nothing_may_be_leaked(seed: int, form: str) -> None:
    rng = np.random.default_rng(seed)
    shape = ((2, 2), (2, 3), (3, 3), (2, 4), (3, 5), (2, 3), (3, 4), (4, 4))[seed]
    table = rng.integers(1, 9, shape)
    if seed >= 5:  # dependent columns, and a pair whose merging is independent of S
        table[:, -1] = table[:, 0]
    joint = po.JointDistribution.normalised(table)
    problem = PrivacyFunnel(joint, max_leakage=0.0, form=form)
    solution = solved(problem)
    assert solution.status is po.Status.OPTIMAL, (solution.status, solution.gap)
    assert solution.certificate is not None
    assert solution.certificate.leakage == (0.0, 0.0)
    if form == "merging":
        exact = [[Fraction(int(v)) for v in row] for row in table]
        assert abs(
            oracle.best_merging(exact, "max_leakage", 0.0, funnel=True) - arb(solution.objective)
        ) <= arb(1e-14)
    else:
        strict = po.solve(po.LocalInformationPrivacy(joint, epsilon=0.0))
        assert solution.objective == pytest.approx(strict.utility, abs=1e-9)


def test_an_independent_merging_is_found_at_a_cap_of_zero() -> None:
    joint = po.JointDistribution.normalised([[3, 1, 2], [1, 3, 2]])
    solution = solved(PrivacyFunnel(joint, max_leakage=0.0, form="merging"))
    assert solution.objective == pytest.approx(math.log(3) - 2 / 3 * LN2, abs=1e-15)
    assert solution.status is po.Status.OPTIMAL


def test_what_cannot_be_told_from_zero_is_not_zero() -> None:
    """Leakages of 1e-60: neither certified as none nor called optimal without proof."""
    off = Fraction(1, 10**30)
    joint = po.JointDistribution.normalised([[Fraction(1), Fraction(2)], [Fraction(1), Fraction(2) + off]])
    problem = PrivacyFunnel(joint, max_leakage=0.0)
    certificate = problem.certify(problem.everything())
    assert certificate.leakage[1] > 0
    assert not certificate.ok
    solution = solved(problem)
    assert solution.objective == 0.0
    assert solution.bound == pytest.approx(0.0, abs=1e-15)


def test_silence_is_proved_best_where_values_of_the_secret_tell_nothing() -> None:
    joint = po.JointDistribution.normalised([[4, 3], [3, 4], [4, 4], [3, 3]])
    assert InformationBottleneck(joint, trade_off=0.325).prove_bound({"kind": "analytic"}) == (0.0, 0.0)


@pytest.mark.parametrize("seed", [*range(2), *(pytest.param(n, marks=pytest.mark.long) for n in range(2, 6))])
def test_silence_is_proved_best_only_where_it_is(seed: int) -> None:
    """Optima of exactly 0; beside each, no release that is tried is better than nothing."""
    rng = np.random.default_rng(seed)
    table = rng.integers(5, 9, (3, 3)) if seed % 2 else rng.integers(1, 9, (3, 2))
    joint = po.JointDistribution.normalised(table)
    for kind, weights in (
        (InformationBottleneck, (0.001, 0.01, 0.05, 0.2, 0.5, 1.0)),
        (PrivacyFunnel, (0.0, 1e-12, 1e-6, 1e-3, 0.01, 0.1)),
    ):
        silent = []
        for weight in weights:
            problem = kind(joint, trade_off=weight)
            proved = problem.prove_bound({"kind": "analytic"})
            assert proved is not None
            silent.append(proved == (0.0, 0.0))
            rows = [rng.dirichlet(np.full(3, 0.2), size=table.shape[1]) for _ in range(300)]
            tried = max(problem.evaluate(problem.check(po.Channel(r))).objective for r in rows)
            assert tried <= proved[1] + 1e-15
            if silent[-1]:
                solution = solved(problem)
                assert (solution.objective, solution.status) == (0.0, po.Status.OPTIMAL)
                assert solution.bound == pytest.approx(0.0, abs=1e-15)  # of whichever proof came first
        assert silent == sorted(silent, reverse=kind is PrivacyFunnel)
        assert any(silent)


# ---------------------------------------------------------------- scales and machines


@pytest.mark.parametrize("kind", [pytest.param(PrivacyFunnel, marks=pytest.mark.long), InformationBottleneck])
def test_examples_are_optimal_by_their_own_scale(kind: Any) -> None:
    for example in kind.examples():
        solution = solved(example.problem, seconds=30.0)
        assert solution.gap is not None
        if example.problem.ambiguity is not None:  # a relaxation bounds what a set allows
            assert solution.gap <= 0.01 * example.problem.scale(solution)
            continue
        assert solution.status is po.Status.OPTIMAL, (example.name, solution.gap)
        assert solution.gap <= max(1e-15, 1e-6 * example.problem.scale(solution))


@pytest.mark.long
def test_a_small_leakage_is_closed_to_its_own_size() -> None:
    joint = lecture_joint()
    solution = solved(PrivacyFunnel(joint, theta_fraction=0.5), "column-generation", seconds=40.0)
    assert solution.leakage == pytest.approx(0.0016875 * LN2, abs=2e-6 * LN2)
    assert solution.gap is not None
    assert solution.leakage is not None
    assert solution.gap <= 1e-6 * solution.leakage < 1.2e-9


SETTINGS: list[dict[str, str]] = [
    {"NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX2 FMA3 AVX512F"},
    {"OPENBLAS_CORETYPE": "Prescott", "OPENBLAS_NUM_THREADS": "1"},
]


@pytest.mark.long
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: next(iter(s)))
def test_other_processors_verify_the_same_files(setting: dict[str, str], tmp_path: Path) -> None:
    joint = po.JointDistribution.normalised([[5, 2, 1, 3], [1, 3, 4, 2]])
    problems = [
        PrivacyFunnel(joint, theta_fraction=0.6),
        PrivacyFunnel(joint, max_leakage=0.0),
        PrivacyFunnel(joint, trade_off=1e6, form="merging"),
        InformationBottleneck(joint, max_rate=0.3),
    ]
    for i, problem in enumerate(problems):
        (tmp_path / f"{i}.problem.json").write_text(json.dumps(problem.to_dict()))
        solved(problem).save(tmp_path / f"{i}.solution.json")
    code = (
        "import sys, privopt as po\n"
        f"for i in range({len(problems)}):\n"
        "    problem = po.load_problem(f'{sys.argv[1]}/{i}.problem.json')\n"
        "    verdict = po.verify(problem, po.Solution.load(f'{sys.argv[1]}/{i}.solution.json'))\n"
        "    assert verdict.ok and not verdict.remarks, (i, verdict.reason, verdict.remarks)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        env={**os.environ, **setting},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr

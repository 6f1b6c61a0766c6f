"""Deterministic releases under the funnel and the bottleneck, against enumeration, public values and invariants."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from instances.few import few
from numpy.typing import NDArray

from privopt import JointAmbiguity, JointDistribution, ObservedJoint, Status, solve, verify
from privopt.core.solver import Budget
from privopt.problems.information_bottleneck.problem import InformationBottleneck
from privopt.problems.local_information_privacy.examples import lecture_joint
from privopt.problems.privacy_funnel.problem import PrivacyFunnel
from privopt.problems.trade_off import partition_search as _partition_search
from privopt.problems.trade_off.partitions import best_partition
from privopt.problems.trade_off.problem import TradeOff
from privopt.solvers.trade_off.exact_merging import ExactMerging
from privopt.solvers.trade_off.mergings import merging_table
from privopt.solvers.trade_off.pairs import SCORES, PairRule, merge_path
from privopt.solvers.trade_off.pairwise import Greedy, PlainGreedy, plain_path
from privopt.solvers.trade_off.portfolio import Portfolio, floor_worth, moved
from privopt.solvers.trade_off.subsets import Submodular

BITS = math.log(2)
EVERY = ("greedy", "plain-greedy", "exact-merging", "portfolio", "submodular", "submodular-exact")
Joint = JointDistribution | ObservedJoint


def random_joint(rng: np.random.Generator, n_s: int, n: int) -> JointDistribution:
    return JointDistribution(rng.dirichlet(np.ones(n_s * n)).reshape(n_s, n))


def counted_joint(rng: np.random.Generator, n_s: int, n: int) -> JointDistribution:
    """Small counts: ties, zero cells and symbols of probability 0."""
    counts = rng.integers(0, 4, (n_s, n))
    counts[0, 0] += 1
    return JointDistribution.normalised(counts)


def observed_joint(rng: np.random.Generator, n: int) -> ObservedJoint:
    return ObservedJoint(rng.dirichlet(np.ones(6 * n)).reshape(2, 3, n))


def partitions(n: int) -> Iterator[list[int]]:
    def grow(prefix: list[int], blocks: int) -> Iterator[list[int]]:
        if len(prefix) == n:
            yield prefix
            return
        for block in range(blocks + 1):
            yield from grow([*prefix, block], max(blocks, block + 1))

    return grow([], 0)


@cache
def list_of_partitions(n: int) -> list[list[int]]:
    return list(partitions(n))


def definitions(joint: Joint | JointAmbiguity, assignment: list[int]) -> tuple[float, float]:
    """I(S;Y) and I(X;Y) of a merging, written out."""
    assert not isinstance(joint, JointAmbiguity)
    table = (
        joint.table
        if isinstance(joint, ObservedJoint)
        else np.einsum("sx,xw->sxw", joint.table, np.eye(joint.table.shape[1]))
    )
    merged = np.zeros((*table.shape[:2], max(assignment) + 1))
    for w, block in enumerate(assignment):
        merged[:, :, block] += table[:, :, w]
    merged /= merged.sum()

    def information(table: NDArray[np.float64]) -> float:
        rows, columns = table.sum(axis=1), table.sum(axis=0)
        cells = [(p, rows[i] * columns[j]) for (i, j), p in np.ndenumerate(table) if p > 0]
        return math.fsum(p * math.log(p / q) for p, q in cells)

    return information(merged.sum(axis=1)), information(merged.sum(axis=0))


def problems_of(joint: Joint) -> list[TradeOff]:
    """All modes, at both ends and inside."""
    most = PrivacyFunnel(joint, trade_off=0.1).most
    return [
        *(PrivacyFunnel(joint, min_utility=f * most, form="merging") for f in (0.0, 0.4, 0.8, 1.0)),
        *(PrivacyFunnel(joint, max_leakage=c, form="merging") for c in (0.01, 0.1, math.inf)),
        *(PrivacyFunnel(joint, trade_off=t, form="merging") for t in (0.0, 0.2, 1.0, 1.5)),
        *(InformationBottleneck(joint, max_rate=f * most, form="merging") for f in (0.0, 0.4, 2.0)),
        *(InformationBottleneck(joint, trade_off=t, form="merging") for t in (0.0, 0.2, 1.5)),
    ]


def enumerated(problem: TradeOff) -> float:
    joint, best = problem.joint, -math.inf
    for assignment in list_of_partitions(len(problem.observation.observed)):
        utility, leakage = problem.split(*definitions(joint, assignment))
        kept = not problem.is_floor or utility >= problem.budget - 1e-12
        if kept and (not problem.is_cap or leakage <= problem.budget + 1e-12):
            best = max(best, problem.objective_of(utility, leakage))
    return best


# The best of all partitions


@pytest.mark.parametrize("seed", few(range(9), 4))
def test_best_partition_equals_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    joint = (random_joint(rng, 3, n), counted_joint(rng, 3, n), observed_joint(rng, min(n, 4)))[seed % 3]
    for problem in problems_of(joint):
        best = best_partition(problem, math.inf)
        assert best is not None
        assert best.objective == pytest.approx(enumerated(problem), abs=1e-12)
        secret, useful = definitions(joint, best.assignment.tolist())
        assert best.objective == pytest.approx(
            problem.objective_of(*problem.split(secret, useful)), abs=1e-12
        )


def test_cutting_branches_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Secrets that are the symbols themselves: both informations are equal, so no bound helps, and all 4140 are tried."""
    p = np.random.default_rng(3).dirichlet(np.ones(8))
    problem = PrivacyFunnel(JointDistribution(np.diag(p)), theta_fraction=0.53, form="merging")
    monkeypatch.setattr(_partition_search, "CHILDREN", 64)
    best = best_partition(problem, math.inf)
    assert best is not None
    entropies = [-sum(q * math.log(q) for q in np.bincount(a, weights=p)) for a in list_of_partitions(8)]
    assert best.objective == pytest.approx(-min(h for h in entropies if h >= problem.budget), abs=1e-12)


def test_best_partition_at_its_limits() -> None:
    rng = np.random.default_rng(5)
    weighed = PrivacyFunnel(random_joint(rng, 3, 18), trade_off=0.1)
    best = best_partition(weighed, math.inf)
    assert best is not None
    assert best.objective >= -portfolio_cost(weighed)
    assert best_partition(weighed, 0.0) is None
    bounded = PrivacyFunnel(random_joint(rng, 4, 13), theta_fraction=0.7, form="merging")
    solution = solve(bounded, "exact-merging", time_limit=30)
    assert solution.status is Status.OPTIMAL
    assert solution.objective is not None
    assert solution.objective >= (solve(bounded, "portfolio", time_limit=30).objective or 0.0) - 1e-12
    assert best_partition(PrivacyFunnel(random_joint(rng, 2, 17), theta_fraction=0.7), math.inf) is None
    refused = solve(PrivacyFunnel(random_joint(rng, 2, 17), theta_fraction=0.7), "exact-merging")
    assert refused.status is Status.REFUSED


def portfolio_cost(problem: PrivacyFunnel) -> float:
    merging = Portfolio().run(problem, Budget()).mechanism
    assert merging is not None
    return -problem.evaluate(problem.check(merging)).objective


# Public values


def test_sequence_of_the_lectures() -> None:
    """The merges of the lectures' example, with the labels that belong to their values: {4,9} and {3,6}."""
    problem = PrivacyFunnel(lecture_joint(), theta_fraction=0.7, form="merging")
    assert problem.budget / BITS == pytest.approx(2.176981, abs=1e-6)
    path = merge_path(merging_table(problem), PairRule(floor=problem.budget), Budget())
    assert (path.pairs + 1).tolist() == [[1, 8], [4, 9], [3, 6], [2, 5]]
    assert path.secret / BITS == pytest.approx([0.2233, 0.163666, 0.107349, 0.051580, 0.028565], abs=1e-4)
    assert path.secret[1:] / BITS == pytest.approx([0.163666, 0.107349, 0.051580, 0.028565], abs=1e-6)
    assert path.useful[1:] / BITS == pytest.approx([2.912695, 2.750014, 2.485274, 2.278793], abs=1e-6)


@pytest.mark.parametrize(
    ("fraction", "best", "greedy"),
    [
        (0.5, 0.007370, 0.012998),
        (0.6, 0.012366, 0.012998),
        (0.7, 0.028565, 0.028565),
        (0.8, 0.052861, 0.071010),
        (0.9, 0.163666, 0.163666),
    ],
)
def test_public_frontier(fraction: float, best: float, greedy: float) -> None:
    problem = PrivacyFunnel(lecture_joint(), theta_fraction=fraction, form="merging")
    exact = solve(problem, "exact-merging")
    assert exact.status is Status.OPTIMAL
    assert exact.leakage == pytest.approx(best * BITS, abs=1e-6)
    assert solve(problem, "greedy").leakage == pytest.approx(greedy * BITS, abs=1e-6)
    assert solve(problem, "portfolio").leakage == pytest.approx(best * BITS, abs=1e-6)


def test_public_weighed_optima() -> None:
    for weight, value, blocks in (
        (0.1, -0.199314338, [{1, 8}, {2, 5}, {3, 6}, {4, 9}, {7}]),
        (0.3, -0.726450794, [{8, 9}, {1}, {2}, {3}, {4}, {5}, {6}, {7}]),
    ):
        solution = solve(PrivacyFunnel(lecture_joint(), trade_off=weight, form="merging"), "exact-merging")
        assert solution.objective == pytest.approx(-value * BITS, abs=1e-9)
        merged: list[Any] = [{x + 1 for x in block} for block in solution.mechanism.blocks]  # type: ignore[union-attr]
        assert sorted(merged, key=min) == sorted(blocks, key=min)
    alone = solve(PrivacyFunnel(lecture_joint(), trade_off=0.5, form="merging"), "exact-merging")
    assert len(alone.mechanism.blocks) == 9  # type: ignore[union-attr]


# Pairwise merging


@pytest.mark.parametrize("seed", [*range(2), *(pytest.param(n, marks=pytest.mark.long) for n in range(2, 8))])
def test_three_implementations_merge_alike(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 13))
    joint = counted_joint(rng, 3, n) if seed % 2 else random_joint(rng, 3, n)
    problem = PrivacyFunnel(joint, theta_fraction=float(rng.choice([0.0, 0.5, 0.9])))
    table = merging_table(problem)
    for score in SCORES:
        for first in (False, True):
            rule = PairRule(score, 0.2, floor=problem.budget, price=0.1 if seed > 5 else None, first=first)
            plain = plain_path(problem, rule, Budget())
            for compiled in (False, None if compiled_missing() else True):
                path = merge_path(table, rule, Budget(), compiled)
                assert path.pairs.tolist() == plain.pairs.tolist()
                assert path.secret == pytest.approx(plain.secret, abs=1e-13)
                assert path.useful == pytest.approx(plain.useful, abs=1e-13)


def compiled_missing() -> bool:
    from importlib.util import find_spec

    return find_spec("numba") is None


@pytest.mark.skipif(compiled_missing(), reason="numba is not installed")
def test_lists_are_looked_through_again_when_they_run_out() -> None:
    rng = np.random.default_rng(0)
    for joint in (random_joint(rng, 3, 250), counted_joint(rng, 2, 120)):
        problem = PrivacyFunnel(joint, theta_fraction=0.5)
        for score in ("leakage", "ratio"):
            rule = PairRule(score, floor=problem.budget)
            arrays, lists = (merge_path(merging_table(problem), rule, Budget(), c) for c in (False, True))
            assert arrays.pairs.tolist() == lists.pairs.tolist()


def test_ties_go_to_the_lowest_pair() -> None:
    """Symbols in equal pairs: all merges of like columns cost nothing, and are made in order."""
    columns = np.array([[1.0, 3.0], [3.0, 1.0], [1.0, 3.0], [3.0, 1.0], [1.0, 3.0]])
    path = merge_path(
        merging_table(PrivacyFunnel(JointDistribution.normalised(columns.T), trade_off=0.1)),
        PairRule("closeness", stop_useful=0.7),
        Budget(),
    )
    assert path.pairs.tolist() == [[0, 2], [0, 4], [1, 3]]


@pytest.mark.long
@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_relabelling_changes_no_value(seed: int) -> None:
    rng = np.random.default_rng(seed)
    joint = random_joint(rng, 3, 8)
    order = rng.permutation(8)
    other = JointDistribution(joint.table[:, order])
    for name in ("greedy", "exact-merging", "submodular-exact"):
        for ask in ({"theta_fraction": 0.6}, {"max_leakage": 0.05}, {"trade_off": 0.1}):
            first, second = (solve(PrivacyFunnel(j, **ask), name).objective for j in (joint, other))  # type: ignore[arg-type]
            assert first == pytest.approx(second, abs=1e-12)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_a_duplicate_symbol_never_helps_the_adversary(seed: int) -> None:
    """A symbol that is split into two alike: the same leakage, at the old floor, can still be had, or less."""
    rng = np.random.default_rng(seed)
    joint = random_joint(rng, 3, 6)
    table = np.hstack([joint.table, joint.table[:, :1] / 2])
    table[:, 0] /= 2
    floor = 0.6 * PrivacyFunnel(joint, trade_off=0.1).most
    before = best_partition(PrivacyFunnel(joint, min_utility=floor), math.inf)
    after = best_partition(PrivacyFunnel(JointDistribution(table), min_utility=floor), math.inf)
    assert before is not None
    assert after is not None
    assert after.objective >= before.objective - 1e-12


# Every solver


@pytest.mark.parametrize("seed", range(4))
def test_every_solver_keeps_the_bound_and_never_beats_the_best(seed: int) -> None:
    rng = np.random.default_rng(seed)
    joint = (random_joint(rng, 3, 6), counted_joint(rng, 3, 6), observed_joint(rng, 5))[min(seed % 4, 2)]
    for problem in problems_of(joint):
        best = best_partition(problem, math.inf)
        assert best is not None
        names = EVERY if isinstance(problem, PrivacyFunnel) else ("exact-merging", "agglomerative")
        for name in names:
            solution = solve(problem, name, time_limit=30)
            if solution.status is Status.REFUSED:
                continue
            assert solution.status.ok, (problem, name, solution.reason)
            assert verify(problem, solution).ok
            check_reading(problem, solution)
            assert solution.objective is not None
            assert solution.objective <= best.objective + 1e-12
            if name == "exact-merging":
                assert solution.objective == pytest.approx(best.objective, abs=1e-12)
                assert solution.status is Status.OPTIMAL


def check_reading(problem: TradeOff, solution: Any) -> None:
    secret, useful = definitions(problem.joint, solution.mechanism.assignment.tolist())
    utility, leakage = problem.split(secret, useful)
    assert solution.utility == pytest.approx(utility, abs=1e-12)
    assert solution.leakage == pytest.approx(leakage, abs=1e-12)
    assert not problem.is_floor or utility >= problem.budget - 1.1e-12
    assert not problem.is_cap or leakage <= problem.budget + 1e-13


@pytest.mark.parametrize("name", EVERY)
def test_known_answers(name: str) -> None:
    rng = np.random.default_rng(0)
    joint = random_joint(rng, 3, 5)
    most = PrivacyFunnel(joint, trade_off=1.0).most
    told = definitions(joint, list(range(5)))[0]
    assert answer(joint, name, min_utility=most) == pytest.approx((most, told), abs=1e-12)
    assert answer(joint, name, min_utility=0.0) == pytest.approx((0.0, 0.0), abs=1e-12)
    assert answer(joint, name, max_leakage=math.inf) == pytest.approx((most, told), abs=1e-12)
    assert answer(joint, name, max_leakage=0.0) == pytest.approx((0.0, 0.0), abs=1e-12)
    for weight in (1.0, 1.5):
        assert answer(joint, name, trade_off=weight) == pytest.approx((most, told), abs=1e-12)
    assert answer(joint, name, trade_off=0.0)[1] == pytest.approx(0.0, abs=1e-12)
    assert answer(JointDistribution([[0.4], [0.6]]), name, min_utility=0.0) == (0.0, 0.0)
    independent = JointDistribution(np.outer([0.3, 0.7], [0.2, 0.3, 0.5]))
    assert answer(independent, name, max_leakage=0.0)[1] == pytest.approx(0.0, abs=1e-12)
    itself = JointDistribution(np.diag([0.2, 0.3, 0.5]))
    utility, leakage = answer(itself, name, theta_fraction=0.5)
    assert utility == pytest.approx(leakage, abs=1e-12)
    beyond = solve(PrivacyFunnel(joint, min_utility=most + 1e-6, form="merging"), name)
    assert beyond.status is Status.INFEASIBLE


def answer(joint: JointDistribution, name: str, **ask: float) -> tuple[float, float]:
    solution = solve(PrivacyFunnel(joint, form="merging", **ask), name)  # type: ignore[arg-type]
    assert solution.status.ok, (name, ask, solution.reason)
    assert solution.utility is not None
    assert solution.leakage is not None
    return float(solution.utility), float(solution.leakage)


def test_independent_data_are_released_as_they_are_under_a_cap_of_zero() -> None:
    """Counts, so that independence is exact."""
    joint = JointDistribution.normalised(np.outer([3, 5], [2, 3, 4]))
    problem = PrivacyFunnel(joint, max_leakage=0.0, form="merging")
    for name in ("greedy", "exact-merging", "portfolio"):
        solution = solve(problem, name)
        assert solution.utility == pytest.approx(problem.most, abs=1e-12), name
        assert solution.leakage == pytest.approx(0.0, abs=1e-30)


def test_symbols_of_probability_zero_join_the_most_probable_block() -> None:
    joint = JointDistribution.normalised([[5, 0, 1, 3], [1, 0, 4, 2]])
    problem = PrivacyFunnel(joint, theta_fraction=1.0, form="merging")
    for name in ("greedy", "exact-merging", "portfolio"):
        assert sorted(map(sorted, solve(problem, name).mechanism.blocks)) == [[0, 1], [2], [3]]  # type: ignore[union-attr]


# Scale, moves, options, time


def test_portfolio_leaks_less_than_greedy() -> None:
    rng = np.random.default_rng(1)
    problem = PrivacyFunnel(random_joint(rng, 10, 150), theta_fraction=0.7, form="merging")
    greedy, portfolio = solve(problem, "greedy"), solve(problem, "portfolio", time_limit=30)
    assert greedy.leakage is not None
    assert portfolio.leakage is not None
    assert portfolio.leakage <= 0.9 * greedy.leakage
    assert problem.budget - 1e-12 <= (portfolio.utility or 0.0)


def test_portfolio_without_enumeration_is_no_worse_than_its_parts() -> None:
    for seed in range(4):
        problem = PrivacyFunnel(
            random_joint(np.random.default_rng(seed), 4, 9), theta_fraction=0.7, form="merging"
        )
        objective = solve(problem, Portfolio(enumerated=0)).objective
        assert objective is not None
        for part in (Greedy(), Greedy(score="ratio"), Greedy("first")):
            assert objective >= (solve(problem, part).objective or 0.0) - 1e-12
        assert objective <= (solve(problem, "exact-merging").objective or 0.0) + 1e-12


def test_moves_end_where_none_helps() -> None:
    """No single move from the end lowers the leakage above the floor, tried one by one."""
    problem = PrivacyFunnel(random_joint(np.random.default_rng(2), 3, 9), theta_fraction=0.6)
    table = merging_table(problem)
    start = merge_path(table, PairRule(floor=problem.budget), Budget()).assignment()
    end = moved(table, start, floor_worth(problem.budget), Budget())
    reached = definitions(problem.joint, end.tolist())[0]
    assert reached <= definitions(problem.joint, start.tolist())[0] + 1e-15
    for i in range(9):
        for block in range(10):
            other = end.tolist()
            other[i] = block
            secret, useful = definitions(problem.joint, np.unique(other, return_inverse=True)[1].tolist())
            assert useful < problem.budget or secret >= reached - 2e-13


def test_rule_first_ends_earlier() -> None:
    problem = PrivacyFunnel(random_joint(np.random.default_rng(4), 4, 10), theta_fraction=0.5, form="merging")
    first, skip = (solve(problem, Greedy(rule)) for rule in ("first", "skip"))
    assert len(first.mechanism.blocks) > len(skip.mechanism.blocks)  # type: ignore[union-attr]
    assert solve(problem, PlainGreedy("first")).mechanism == first.mechanism


def test_options_that_do_not_fit_are_refused() -> None:
    problem = PrivacyFunnel(lecture_joint(), theta_fraction=0.5)
    refused = [
        Greedy("last"),
        Greedy(score="size"),
        Greedy(score="lagrangian"),
        Submodular("sup-sup"),
        Submodular(steps=0),
        Portfolio(0),
    ]
    for solver in refused:
        assert solve(problem, solver).status is Status.REFUSED
    assert solve(problem, Greedy(score="lagrangian", multiplier=0.2)).status.ok
    seen = PrivacyFunnel(observed_joint(np.random.default_rng(0), 4), min_utility=0.0)
    assert solve(seen, "submodular").status is Status.REFUSED
    assert solve(seen, "greedy").status.ok


def test_the_deadline_is_kept() -> None:
    problem = PrivacyFunnel(
        random_joint(np.random.default_rng(6), 5, 700), theta_fraction=0.5, form="merging"
    )
    for name in ("greedy", "portfolio", "submodular"):
        begun = time.monotonic()
        solution = solve(problem, name, time_limit=0.05)
        assert time.monotonic() - begun < 15.0, name
        assert solution.status.ok, name


def test_the_bottleneck_on_the_way_of_the_agglomerative_merges() -> None:
    """Merging alike symbols first costs nothing, so the rate falls and the utility stays."""
    table = np.repeat(np.array([[5.0, 1.0], [1.0, 4.0]]), 3, axis=1)
    joint = JointDistribution.normalised(table)
    problem = InformationBottleneck(joint, max_rate=BITS, form="merging")
    solution = solve(problem, "agglomerative")
    assert solution.objective == pytest.approx(definitions(joint, list(range(6)))[0], abs=1e-12)
    assert sorted(map(sorted, solution.mechanism.blocks)) == [[0, 1, 2], [3, 4, 5]]  # type: ignore[union-attr]


def test_a_search_serves_one_bound_and_a_later_check_searches_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = PrivacyFunnel(lecture_joint(), theta_fraction=0.7, form="merging")
    calls = []
    search = _partition_search.Search.run

    def counted(self: _partition_search.Search) -> list[int] | None:
        calls.append(1)
        return search(self)

    monkeypatch.setattr(_partition_search.Search, "run", counted)
    proposal = ExactMerging().run(problem, Budget())
    assert len(calls) == 1
    first = problem.prove_bound(proposal.dual)
    assert len(calls) == 1
    assert problem.prove_bound(proposal.dual) == first
    assert len(calls) == 2

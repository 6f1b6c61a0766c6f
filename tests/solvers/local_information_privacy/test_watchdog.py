"""Merging solvers of local information privacy, against all partitions in exact arithmetic and published values."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from instances.few import few
from mpmath import mp

import privopt as po
from privopt.models import JointDistribution, ObservedJoint
from privopt.problems.local_information_privacy.examples import lecture_joint
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy as Lip
from privopt.solvers.local_information_privacy.merging.blocks import Blocks
from privopt.solvers.local_information_privacy.merging.choices import priced_partition
from privopt.solvers.local_information_privacy.merging.partitions import best_values, compiled, members
from privopt.solvers.local_information_privacy.subset_merging import SubsetMerging
from privopt.solvers.local_information_privacy.watchdog import (
    AlphaLiftWatchdog,
    WatchdogMerge,
    WatchdogRandom,
)
from privopt.solvers.local_information_privacy.watchdog_boosting import WatchdogBoosting

BITS = math.log(2)
LECTURE = lecture_joint()
Parts = list[list[int]]


def partitions(items: list[int]) -> Iterator[Parts]:
    if not items:
        yield []
        return
    for rest in partitions(items[1:]):
        yield [[items[0]], *rest]
        for i, block in enumerate(rest):
            yield [*rest[:i], [items[0], *block], *rest[i + 1 :]]


def breaking(problem: Lip, table: np.ndarray, block: list[int]) -> list[Fraction]:
    """The P(s, block) of the pairs that break the bounds; integers against 50 digits."""
    total, mp.dps = int(table.sum()), 50
    column = [int(row[block].sum()) for row in table]
    lifts = [Fraction(c * total, int(row.sum()) * sum(column)) for c, row in zip(column, table, strict=True)]

    def beyond(ratio: Fraction) -> bool:
        value = mp.mpf(ratio.numerator) / ratio.denominator
        return bool(value > mp.exp(problem.upper) or value < mp.exp(-problem.lower))

    if problem.notion == "ldp":
        spread = max(lifts) / min(lifts)
        out = mp.mpf(spread.numerator) / spread.denominator > mp.exp(problem.budget)
        return [Fraction(1)] if out else []
    return [Fraction(c, total) for c, lift in zip(column, lifts, strict=True) if beyond(lift)]


def best_of_all(problem: Lip, table: np.ndarray, utility: np.ndarray) -> float:
    """Largest I(X;Y) over all partitions that keep the bounds but for delta."""
    best = 0.0
    broken = {
        block: breaking(problem, table, list(block))
        for k in range(1, table.shape[1] + 1)
        for block in itertools.combinations(range(table.shape[1]), k)
    }
    for parts in partitions(list(range(table.shape[1]))):
        excess = [broken[tuple(sorted(block))] for block in parts]
        if (any(excess) and problem.delta == 0) or sum(map(sum, excess)) > Fraction(problem.delta):
            continue
        released = np.array([utility[:, block].sum(axis=1) for block in parts]).T
        p = released / released.sum()
        product = p.sum(axis=1, keepdims=True) * p.sum(axis=0, keepdims=True)
        best = max(best, float((p[p > 0] * np.log(p[p > 0] / product[p > 0])).sum()))
    return best


def counts(seed: int, n_s: int, n_x: int, low: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(low, 30, (n_s, n_x))


def merged(table: np.ndarray, parts: Parts) -> np.ndarray:
    return np.array([table[:, block].sum(axis=1) for block in parts]).T


def proposed(problem: Lip, solver: po.Solver[Lip]) -> po.Merging | po.Channel:
    """What a solver proposes, before it is judged."""
    mechanism = solver.run(problem, po.Budget()).mechanism
    assert isinstance(mechanism, (po.Merging, po.Channel))
    return mechanism


def useful(solution: po.Solution[Any]) -> float:
    assert solution.utility is not None
    return solution.utility


def stat(answer: po.Solution[Any] | po.Proposal, name: str) -> float:
    value = answer.stats[name]
    assert not isinstance(value, str)
    return value


def merging(solution: po.Solution[Any]) -> po.Merging:
    assert isinstance(solution.mechanism, po.Merging)
    return solution.mechanism


def integers(solution: po.Solution[Any]) -> Parts:
    return [[int(str(x)) for x in block] for block in merging(solution).blocks]


# published values


def test_watchdog_on_the_lecture_table() -> None:
    solution = po.solve(Lip(LECTURE, epsilon=1.0), "watchdog-merge")
    blocks = set(map(frozenset, merging(solution).blocks))
    assert blocks == {frozenset({4}), frozenset({6}), frozenset({0, 1, 2, 3, 5, 7, 8})}
    assert solution.certified
    assert useful(solution) / BITS == pytest.approx(1.118401536, abs=1e-9)
    column = LECTURE.table[:, [0, 1, 2, 3, 5, 7, 8]].sum(axis=1)
    assert np.round(column, 5).tolist() == [0.23935, 0.13077, 0.14567, 0.21066]
    level = np.abs(np.log(column / column.sum() / LECTURE.p_s)).max()
    assert level == pytest.approx(0.161449122, abs=1e-9)


def test_the_printed_merge_matrix_leaks() -> None:
    printed = po.Merging([[0], [1], [2], [3], [5], [4, 6, 7, 8]], range(9))
    problem = Lip(LECTURE, epsilon=1.0)
    assert problem.evaluate(printed).leakage > 1.9
    assert not problem.certify(printed).ok


BOOSTED = [
    (0.005, {5, 7}, 1.9160),
    (0.008, {1, 5, 7}, 2.2285),
    (0.01, {0, 5, 7}, 2.3479),
    (0.02, {0, 2, 5, 7}, 2.7264),
]


@pytest.mark.parametrize(("delta", "back", "bits"), BOOSTED)
@pytest.mark.parametrize("count_merged", [True, False])
def test_boosting_on_the_lecture_table(delta: float, back: set[int], bits: float, count_merged: bool) -> None:
    problem = Lip(LECTURE, epsilon=1.0, delta=delta)
    solution = po.solve(problem, WatchdogBoosting(several=False, count_merged=count_merged))
    assert solution.certified
    assert stat(solution, "repaired") == 0
    alone = {block[0] for block in merging(solution).blocks if len(block) == 1}
    assert alone == back | {4, 6}
    assert useful(solution) / BITS == pytest.approx(bits, abs=5e-5)
    assert stat(solution, "violating_mass") <= delta
    assert stat(solution, "one_symbol_bound") >= useful(solution)


@pytest.mark.parametrize("delta", [0.005, 0.008, 0.01, 0.02])
def test_several_merged_symbols_gain(delta: float) -> None:
    problem = Lip(LECTURE, epsilon=1.0, delta=delta)
    one, several = (po.solve(problem, WatchdogBoosting(several=s)) for s in (False, True))
    assert several.certified
    assert useful(several) > useful(one) + 0.05 * BITS
    assert useful(several) <= stat(several, "deterministic_bound") + 1e-9


@pytest.mark.parametrize(("delta", "bits"), [(0.001, 2.8142), (0.005, 2.9030), (0.02, 3.0226)])
def test_randomised_boosting_on_the_lecture_table(delta: float, bits: float) -> None:
    problem = Lip(LECTURE, epsilon=1.0, delta=delta)
    solution = po.solve(problem, "randomised-boosting")
    assert solution.certified
    assert stat(solution, "repaired") == 0
    # reference: the same program over vertices in exact arithmetic (pplpy) and single symbols alone
    assert useful(solution) / BITS >= bits - 5e-5
    for other in ("watchdog-boosting", "vertices-systems"):
        assert useful(solution) > useful(po.solve(problem, other)) + 0.02


@pytest.mark.parametrize("seed", few(range(10), 4))
def test_randomised_boosting_is_never_worse(seed: int) -> None:
    table = counts(700 + seed, 3, 6, low=0)
    rng = np.random.default_rng(seed)
    low, high = rng.uniform(0.05, 1.0, 2).tolist()
    problem = Lip(
        JointDistribution.normalised(table), lower=low, upper=high, delta=float(rng.uniform(1e-3, 0.1))
    )
    solution = po.solve(problem, "randomised-boosting")
    assert solution.certified
    assert stat(solution, "repaired") == 0
    assert useful(solution) <= po.measures.entropy(problem.observation.p_x) + 1e-9
    others = [po.solve(problem, name) for name in ("watchdog-boosting", "vertices-systems")]
    assert useful(solution) >= max(map(useful, others)) - 1e-6
    more = po.solve(Lip(problem.joint, lower=low, upper=high, delta=2 * problem.delta), "randomised-boosting")
    assert useful(more) >= useful(solution) - 1e-6


def test_blocks_on_the_lecture_table() -> None:
    solution = po.solve(Lip(LECTURE, epsilon=1.0), "subset-merging")
    blocks = {tuple(sorted(block)) for block in integers(solution)}
    assert blocks == {(0, 7), (1, 2), (3, 5), (4,), (6, 8)}
    assert useful(solution) / BITS == pytest.approx(2.304636040, abs=1e-9)


# every partition, in exact arithmetic


@pytest.mark.parametrize("seed", range(24))
def test_subset_merging_is_the_best_partition(seed: int) -> None:
    table = counts(seed, 2 + seed % 3, 6, low=seed % 2)
    low, high = [(0.5, 0.5), (None, 0.3), (0.4, None), (0.7, 0.2)][seed % 4]
    joint = JointDistribution.normalised(table)
    problem = Lip(joint, lower=low, upper=high)
    solution = po.solve(problem, "subset-merging")
    assert solution.certified
    assert stat(solution, "repaired") == 0
    assert solution.utility == pytest.approx(best_of_all(problem, table, np.diag(joint.p_x)), abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_subset_merging_for_ldp(seed: int) -> None:
    table = counts(100 + seed, 3, 6)
    joint = JointDistribution.normalised(table)
    problem = Lip(joint, epsilon=0.6, notion="ldp")
    solution = po.solve(problem, "subset-merging")
    assert solution.certified
    assert solution.utility == pytest.approx(best_of_all(problem, table, np.diag(joint.p_x)), abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_subset_merging_of_observations(seed: int) -> None:
    cube = np.random.default_rng(seed).integers(0, 20, (2, 3, 6))
    problem = Lip(ObservedJoint.normalised(cube), epsilon=0.4)
    solution = po.solve(problem, "subset-merging")
    assert solution.certified
    expected = best_of_all(problem, cube.sum(axis=1), cube.sum(axis=0).astype(float))
    assert solution.utility == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_boosting_near_the_best_partition_within_delta(seed: int) -> None:
    table = counts(200 + seed, 3, 6, low=seed % 2)
    joint = JointDistribution.normalised(table)
    problem = Lip(joint, epsilon=0.4, delta=[0.01, 0.03, 0.08][seed % 3])
    best = best_of_all(problem, table, np.diag(joint.p_x))
    solution = po.solve(problem, WatchdogBoosting())
    assert solution.certified
    assert stat(solution, "repaired") == 0
    assert 0.97 * best <= useful(solution) <= best + 1e-12
    if not np.isclose(best, float(po.measures.entropy(joint.p_x))):
        assert priced_partition(Blocks(problem))[1] >= best - 1e-9


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("count_merged", [True, False])
def test_one_merged_symbol_is_the_best_choice(seed: int, count_merged: bool) -> None:
    table = counts(300 + seed, 3, 7)
    joint, delta = JointDistribution.normalised(table), 0.06
    problem = Lip(joint, epsilon=0.35, delta=delta)
    alone = [sum(breaking(problem, table, [x])) for x in range(7)]
    high = [x for x in range(7) if alone[x]]
    best = -math.inf
    for k in range(len(high) + 1):
        for free in itertools.combinations(high, k):
            rest = [x for x in high if x not in free]
            mass = sum(alone[x] for x in free)
            mass += sum(breaking(problem, table, rest)) if rest and count_merged else 0
            if mass <= Fraction(delta):
                p = [joint.p_x[x] for x in range(7) if x not in rest] + (
                    [joint.p_x[rest].sum()] if rest else []
                )
                best = max(best, float(-(np.array(p) * np.log(p)).sum()))
    solution = po.solve(problem, WatchdogBoosting(several=False, count_merged=count_merged))
    if best > -math.inf:
        assert stat(solution, "raw_utility") == pytest.approx(best, abs=1e-12)
    else:
        assert "absorbed" in str(solution.stats["stop"])


@pytest.mark.parametrize("n", [1, 3, 5])
def test_dynamic_program_against_all_partitions(n: int) -> None:
    value = np.random.default_rng(n).normal(size=1 << n)
    value[np.random.default_rng(n + 9).random(1 << n) < 0.2] = -math.inf
    best = best_values(value)
    for subset in range(1 << n):
        items = [i for i in range(n) if subset >> i & 1]
        expected = max(sum(value[sum(1 << i for i in b)] for b in parts) for parts in partitions(items))
        assert best[subset] == pytest.approx(expected, abs=1e-12)


def test_the_compiled_form_gives_the_same_numbers() -> None:
    pytest.importorskip("numba")
    value = np.random.default_rng(0).normal(size=1 << 12)
    value[7::50] = -math.inf
    assert np.array_equal(compiled()(value), best_values(value))


# the watchdog and its trap


@pytest.mark.parametrize("seed", range(10))
def test_no_randomisation_of_high_risk_symbols_leaks_less_than_their_merge(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.ones(15)).reshape(3, 5)
    prior, column = table.sum(axis=1), table.sum(axis=1) - table[:, 0]
    level = np.abs(np.log(column / column.sum() / prior)).max()
    for outputs in (1, 2, 4):
        released = table[:, 1:] @ rng.dirichlet(np.ones(outputs), size=4)
        levels = np.abs(np.log(released / released.sum(axis=0) / prior[:, None])).max(axis=0)
        assert levels.max() >= level - 1e-12


@pytest.mark.parametrize("law", ["prior", "uniform"])
@pytest.mark.parametrize("seed", range(5))
def test_randomised_watchdog_leaks_and_says_what_the_merge_does(seed: int, law: str) -> None:
    problem = Lip(JointDistribution.normalised(counts(400 + seed, 3, 8)), epsilon=0.5)
    one = problem.evaluate(proposed(problem, WatchdogMerge()))
    channel = proposed(problem, WatchdogRandom(law=law))
    other = problem.evaluate(channel)
    assert other.utility == pytest.approx(one.utility, abs=1e-12)
    assert other.leakage == pytest.approx(one.leakage, abs=1e-12)
    assert channel.outputs == problem.observation.observed


def test_an_unknown_law_is_refused() -> None:
    with pytest.raises(po.errors.InvalidProblem, match="law must be"):
        WatchdogRandom(law="posterior")


def trap() -> Lip:
    """One high-risk symbol: merging does nothing."""
    return Lip(JointDistribution.normalised([[8, 5, 5, 4], [1, 5, 4, 5]]), epsilon=0.5)


@pytest.mark.parametrize("solver", [WatchdogMerge, WatchdogRandom])
def test_a_single_high_risk_symbol_is_the_trap(solver: type[WatchdogMerge | WatchdogRandom]) -> None:
    problem = trap()
    assert solver().guarantee(problem) is po.Guarantee.BASELINE
    assert problem.evaluate(proposed(problem, solver())).leakage > 0.5
    judged = po.solve(problem, solver())
    assert judged.certified
    assert stat(judged, "repaired") > 0
    fixed = solver(absorb=True)
    assert fixed.guarantee(problem) is po.Guarantee.FEASIBLE
    solution = po.solve(problem, fixed)
    assert solution.certified
    assert stat(solution, "repaired") == 0
    assert useful(solution) <= useful(po.solve(problem, "subset-merging")) + 1e-12


def test_the_watchdog_is_never_better_than_subset_merging() -> None:
    missed = 0
    for seed in range(60):
        table = np.random.default_rng(500 + seed).integers(0, 1000, (4, 9))
        problem = Lip(JointDistribution.normalised(table), epsilon=1.0)
        feasible = WatchdogMerge().guarantee(problem) is po.Guarantee.FEASIBLE
        merge = po.solve(problem, "watchdog-merge")
        assert (stat(merge, "repaired") == 0) == feasible
        best = po.solve(problem, "subset-merging")
        assert useful(best) >= (useful(merge) if feasible else 0.0) - 1e-12
        assert best.certified
        assert merge.certified
        missed += not feasible
    assert 0 < missed < 60


def test_a_secret_ruled_out_is_never_certified_at_delta_zero() -> None:
    # The pair has probability 0, so its mass alone does not show it.
    problem = Lip(JointDistribution([[0.5, 0.0], [0.2, 0.3]]), epsilon=1.0)
    whole = po.Merging([[0], [1]])
    assert problem.evaluate(whole).leakage == math.inf
    assert not problem.certify(whole).ok
    assert po.solve(problem, "watchdog-merge").certified
    assert len(merging(po.solve(problem, "subset-merging")).blocks) == 1


def test_impossible_symbols_join_a_block() -> None:
    problem = Lip(JointDistribution.normalised([[5, 0, 2, 1], [1, 0, 3, 4]]), epsilon=0.3)
    for solver in ("watchdog-merge", "watchdog-random", "subset-merging", "alpha-lift-watchdog"):
        solution = po.solve(problem, solver)
        assert solution.certified
        average = problem.observation.p_w @ solution.mechanism.matrix
        lifts = np.log(solution.mechanism.matrix[1][average > 0] / average[average > 0])
        assert np.abs(lifts).max() <= 0.3, "the symbol that cannot be is released like the average one"


def test_nothing_is_merged_where_nothing_binds() -> None:
    problem = Lip(LECTURE, epsilon=2.7)
    for solver in ("watchdog-merge", "watchdog-random", "subset-merging"):
        solution = po.solve(problem, solver)
        assert solution.status is po.Status.OPTIMAL
        assert useful(solution) / BITS == pytest.approx(3.109973207, abs=1e-9)


def test_perfect_privacy_by_blocks_is_decided_in_integers() -> None:
    table = [[1, 3, 2, 5, 9, 6], [3, 1, 2, 9, 5, 6]]
    solution = po.solve(Lip(JointDistribution.normalised(table), epsilon=0.0), "subset-merging")
    assert {tuple(sorted(b)) for b in integers(solution)} == {(0, 1), (2,), (3, 4), (5,)}
    assert solution.certified
    search = po.solve(Lip(JointDistribution.normalised(table), epsilon=0.0), SubsetMerging(exact_up_to=0))
    assert search.utility == pytest.approx(useful(solution))


@pytest.mark.parametrize("level", [math.log(2), math.log(4)])
def test_lifts_at_the_limit_are_decided_in_integers(level: float) -> None:
    joint = JointDistribution.normalised([[2, 1, 1], [1, 1, 2]])
    for nearby in (math.nextafter(level, 0), level, math.nextafter(level, 9)):
        problem = Lip(joint, epsilon=nearby, notion="ldp")
        solution = po.solve(problem, "subset-merging")
        assert solution.certified
        assert stat(solution, "repaired") == 0


# alpha-lift


@pytest.mark.parametrize("alpha", [1.5, 2.0, 10.0, math.inf])
def test_alpha_lift_watchdog(alpha: float) -> None:
    problem = Lip(LECTURE, upper=0.25)
    solver = AlphaLiftWatchdog(alpha=alpha)
    proposal = solver.run(problem, po.Budget())
    assert isinstance(proposal.mechanism, po.Merging)
    blocks = [[int(str(x)) for x in block] for block in proposal.mechanism.blocks]
    risks = [
        po.measures.alpha_lift(np.stack([LECTURE.table[:, x], LECTURE.p_s - LECTURE.table[:, x]], 1), alpha)
        for x in range(9)
    ]
    mine = po.measures.alpha_lift(merged(LECTURE.table, blocks), alpha)
    assert stat(proposal, "alpha_lift") == pytest.approx(mine, abs=1e-12)
    assert mine <= max(risks) + 1e-12
    absorbed = AlphaLiftWatchdog(alpha=alpha, absorb=True).run(problem, po.Budget())
    assert stat(absorbed, "alpha_lift") <= 0.25 + 1e-12
    assert po.solve(problem, solver).certified


def test_alpha_lift_of_order_inf_is_the_upper_watchdog() -> None:
    problem = Lip(LECTURE, upper=0.6)
    mergings = [proposed(problem, s) for s in (AlphaLiftWatchdog(alpha=math.inf), WatchdogMerge())]
    one, other = ({frozenset(block) for block in m.blocks} for m in mergings if isinstance(m, po.Merging))
    assert one == other


# above the exact sizes


def test_the_search_is_near_the_best_partition() -> None:
    shares = []
    for seed in range(12):
        problem = Lip(JointDistribution.normalised(counts(600 + seed, 4, 12)), epsilon=0.5)
        best = po.solve(problem, "subset-merging")
        solution = po.solve(problem, SubsetMerging(exact_up_to=0, rounds=300))
        assert solution.certified
        shares.append(useful(solution) / useful(best))
    assert max(shares) <= 1 + 1e-12
    assert np.mean(shares) > 0.98


@pytest.mark.parametrize("delta", [0.0, 0.02])
def test_many_symbols(delta: float) -> None:
    problem = Lip(JointDistribution.normalised(counts(7, 4, 120)), epsilon=0.4, delta=delta)
    names = ["subset-merging"] + (["watchdog-boosting"] if delta else [])
    begun = time.monotonic()
    solutions = [po.solve(problem, name, time_limit=10) for name in names]
    assert time.monotonic() - begun < 25 * len(names)
    merge = po.solve(problem, WatchdogMerge(absorb=True))
    for solution in solutions:
        assert solution.certified
        assert stat(solution, "repaired") == 0
        assert useful(solution) > useful(merge)
    utilities = [useful(s) for s in solutions]
    assert utilities == sorted(utilities)


def test_no_time_still_gives_a_private_answer() -> None:
    problem = Lip(JointDistribution.normalised(counts(8, 3, 60)), epsilon=0.3, delta=0.01)
    for name in ("subset-merging", "watchdog-boosting"):
        solution = po.solve(problem, name, time_limit=1e-3)
        assert solution.certified or solution.status is po.Status.TIME_OUT


def test_greedy_boosting_is_within_its_bound() -> None:
    problem = Lip(JointDistribution.normalised(counts(9, 4, 40)), epsilon=0.3, delta=0.05)
    solution = po.solve(problem, WatchdogBoosting(several=False))
    assert solution.stats["stop"] == "greedy choices and exchanges"
    assert stat(solution, "repaired") == 0
    assert useful(solution) <= stat(solution, "one_symbol_bound")


# what is refused, what is left alone


def test_refusals_are_sentences() -> None:
    distortion = Lip(LECTURE, epsilon=1.0, utility=np.ones((9, 2)))
    for name in ("watchdog-merge", "watchdog-random", "subset-merging", "alpha-lift-watchdog"):
        assert (
            po.solve(distortion, name).reason
            == "it maximises mutual information, this problem has a distortion"
        )
    own = Lip(LECTURE, epsilon=1.0, utility=lambda v: 1 - float(np.max(v)))
    assert "a cost of its own" in po.solve(own, "subset-merging").reason
    for name in ("watchdog-boosting", "randomised-boosting"):
        assert "delta = 0" in po.solve(Lip(LECTURE, epsilon=1.0), name).reason
    assert "no room" in po.solve(Lip(LECTURE, epsilon=0.0, delta=0.1), "randomised-boosting").reason
    assert "no upper bound" in po.solve(Lip(LECTURE, lower=1.0), "alpha-lift-watchdog").reason
    assert '"ldp"' in po.solve(Lip(LECTURE, epsilon=1.0, notion="ldp"), "alpha-lift-watchdog").reason


def test_relabelling_changes_nothing() -> None:
    table = counts(10, 3, 9)
    order = np.random.default_rng(1).permutation(9)
    for solver in ("watchdog-merge", "subset-merging", WatchdogBoosting()):
        delta = 0.03 if isinstance(solver, WatchdogBoosting) else 0.0
        one, other = (
            useful(po.solve(Lip(JointDistribution.normalised(t), epsilon=0.6, delta=delta), solver))
            for t in (table, table[:, order])
        )
        assert one == pytest.approx(other, abs=1e-12)


def test_names_that_collide_fall_back_to_a_channel() -> None:
    joint = JointDistribution.normalised([[9, 1, 5], [1, 9, 5]], useful=["a", "b", "a | b"])
    solution = po.solve(Lip(joint, epsilon=0.1), "watchdog-merge")
    assert solution.certified
    assert solution.utility == pytest.approx(-2 / 3 * math.log(2 / 3) - 1 / 3 * math.log(1 / 3))


def test_all_subsets() -> None:
    assert members(3).sum() == 12


@pytest.mark.parametrize("solver", ["alpha-lift-watchdog", "watchdog-merge"])
def test_a_lower_budget_beyond_all_numbers_is_no_overflow(solver: str) -> None:
    table = [[0.3, 0.0, 0.0], [0.0, 1e-100, 0.0], [0.0, 0.0, 0.7]]
    solution = po.solve(Lip(JointDistribution(table), lower=700.0, upper=0.1), solver)
    assert solution.certified

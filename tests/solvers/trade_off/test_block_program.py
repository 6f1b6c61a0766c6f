"""The program over all blocks and exchanges between blocks: against every partition, against HiGHS with every column, and what follows from both."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest
from instances.few import few
from instances.funnels import mergings_of, solved
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

import privopt as po
from privopt.core.highs import Rows, whole
from privopt.core.solver import Budget, Guarantee
from privopt.problems.trade_off.partition_costs import block_costs, goal_of
from privopt.problems.trade_off.problem import TradeOff
from privopt.solvers.trade_off.block_exchange import BlockExchange, BottleneckExchange
from privopt.solvers.trade_off.block_program import BlockProgram, BottleneckBlockProgram
from privopt.solvers.trade_off.blocks.pool import Pool, members_of
from privopt.solvers.trade_off.blocks.program import Restricted, dive
from privopt.solvers.trade_off.blocks.two_blocks import TwoBlocks

Table = NDArray[np.float64]


def random_table(seed: int, n_s: int, n: int, concentration: float = 1.0) -> Table:
    rng = np.random.default_rng(seed)
    return np.asarray(rng.dirichlet(np.full(n_s * n, concentration)).reshape(n_s, n) + 1e-7)


def entropy(masses: Table) -> Table:
    return np.where(masses > 0, -masses * np.log(np.where(masses > 0, masses, 1.0)), 0.0)


def best_by_every_column(table: Table, problem: TradeOff) -> float:
    """The best objective by HiGHS as an integer program with a column for each of the 2^n blocks."""
    p = table / table.sum()
    n = p.shape[1]
    members = (np.arange(1, 1 << n)[:, None] >> np.arange(n) & 1).astype(float)
    of_y = entropy(members @ p.sum(axis=0))
    secret = of_y - entropy(members @ p.T).sum(axis=1)
    h_s = float(entropy(p.sum(axis=1)).sum())
    each = LinearConstraint(members.T, 1.0, 1.0)
    if problem.is_floor:
        cost, rows = secret, [each, LinearConstraint(of_y[None], problem.budget, math.inf)]
    elif problem.is_cap and problem.is_funnel:
        cost, rows = -of_y, [each, LinearConstraint(secret[None], -math.inf, problem.budget - h_s)]
    elif problem.is_cap:
        cost, rows = -secret, [each, LinearConstraint(of_y[None], -math.inf, problem.budget)]
    else:
        sign = 1.0 if problem.is_funnel else -1.0
        cost, rows = sign * (secret - problem.budget * of_y), [each]
    found = milp(
        cost,
        constraints=rows,
        integrality=np.ones(len(cost), dtype=np.int64),
        bounds=Bounds(0, 1),
        options={"mip_rel_gap": 0.0},
    )
    assert found.x is not None
    chosen = found.x > 0.5
    i_s, h_y = h_s + float(secret[chosen].sum()), float(of_y[chosen].sum())
    return problem.objective_of(*problem.split(i_s, h_y))


@pytest.mark.parametrize("seed", few(range(6), 2))
@pytest.mark.parametrize("which", range(5))
def test_the_best_merging_is_that_of_highs_with_every_column(seed: int, which: int) -> None:
    table = random_table(seed, 2 + seed % 3, 9 + seed % 3, [1.0, 0.2][seed % 2])
    problem = mergings_of(table)[which]
    solution = solved(problem, "block-program")
    assert solution.status is po.Status.OPTIMAL
    assert solution.objective == pytest.approx(best_by_every_column(table, problem), abs=2e-7)


@pytest.mark.parametrize("seed", few(range(6), 2))
@pytest.mark.parametrize("which", range(5))
def test_both_exact_solvers_agree(seed: int, which: int) -> None:
    """Branch and bound over partitions shares no step with prices of blocks."""
    problem = mergings_of(random_table(seed + 20, 3, 11, [1.0, 0.3][seed % 2]))[which]
    one, other = solved(problem, "block-program"), solved(problem, "exact-merging")
    assert one.objective == pytest.approx(other.objective, abs=1e-11)
    assert one.bound is not None
    assert other.objective is not None
    assert one.bound >= other.objective - 1e-12


@pytest.mark.parametrize("seed", few(range(4), 2))
def test_an_observed_symbol_apart_from_the_useful_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    joint = po.ObservedJoint(rng.dirichlet(np.ones(2 * 3 * 7)).reshape(2, 3, 7))
    for options in ({"trade_off": 0.3}, {"max_leakage": 0.01}, {"theta_fraction": 0.6}):
        problem: Any = po.PrivacyFunnel(joint, form="merging", **options)  # type: ignore[arg-type]  # one of them
        one, other = solved(problem, "block-program"), solved(problem, "exact-merging")
        assert one.status is po.Status.OPTIMAL
        assert one.objective == pytest.approx(other.objective, abs=1e-11)


def test_twenty_symbols_are_proved() -> None:
    """No other solver of mergings proves as many; what they find is no better, and a relaxation is no worse."""
    for problem in mergings_of(random_table(3, 4, 20))[:4]:
        solution = solved(problem, "block-program", 30.0)
        assert solution.status is po.Status.OPTIMAL
        assert solution.objective is not None
        for name in ("portfolio", "symbol-moves") if problem.is_funnel else ("agglomerative", "symbol-moves"):
            assert (solved(problem, name).objective or 0.0) <= solution.objective + 1e-12


@pytest.mark.long
@pytest.mark.parametrize("which", range(4))
def test_thirty_symbols_are_proved(which: int) -> None:
    problem = mergings_of(random_table(5, 4, 30))[which]
    assert solved(problem, "block-program", 120.0).status is po.Status.OPTIMAL


@pytest.mark.long
def test_a_tighter_bound_never_does_better_and_names_do_not_matter() -> None:
    table = random_table(7, 3, 13)
    order = np.random.default_rng(0).permutation(13)
    values = []
    for share in (0.3, 0.5, 0.7, 0.9):
        problem = po.PrivacyFunnel(
            po.JointDistribution.normalised(table), theta_fraction=share, form="merging"
        )
        other = po.PrivacyFunnel(
            po.JointDistribution.normalised(table[::-1, order]), theta_fraction=share, form="merging"
        )
        values.append(solved(problem, "block-program").objective or 0.0)
        assert solved(other, "block-program").objective == pytest.approx(values[-1], abs=1e-12)
    assert values == sorted(values, reverse=True)


def test_an_incumbent_is_not_lost_in_no_time() -> None:
    problem = po.PrivacyFunnel(
        po.JointDistribution.normalised(random_table(9, 5, 40)), theta_fraction=0.7, form="merging"
    )
    before = solved(problem, "portfolio")
    proposal = BlockProgram().run(problem, Budget(deadline=0.0, incumbent=before.answer))
    assert proposal.mechanism is not None
    after = problem.evaluate(problem.check(proposal.mechanism)).objective
    assert after >= (before.objective or 0.0) - 1e-12


def test_what_it_refuses_and_promises() -> None:
    joint = po.JointDistribution.normalised(random_table(1, 2, 63))
    large = po.PrivacyFunnel(joint, trade_off=0.1, form="merging")
    assert "at most 62 symbols" in (BlockProgram().refuse(large) or "")
    alike = po.InformationBottleneck(
        po.JointDistribution.normalised(random_table(1, 2, 49)), trade_off=0.1, form="merging"
    )
    assert "at most 48 symbols" in (BottleneckBlockProgram().refuse(alike) or "")
    small = po.PrivacyFunnel(po.JointDistribution.normalised(random_table(1, 2, 5)), trade_off=0.1)
    assert "merging" in (BlockProgram().refuse(small) or "")
    assert BlockProgram().guarantee(large) is Guarantee.OPTIMAL


@pytest.mark.parametrize("seed", few(range(6), 3))
def test_exchanges_only_improve(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = mergings_of(random_table(seed, 3, 12))[seed % 5]
    costs = block_costs(problem)
    goal = goal_of(problem, costs)
    numbers = rng.integers(0, 4, 12)
    blocks = [sum(1 << i for i in np.flatnonzero(numbers == b).tolist()) for b in np.unique(numbers)]

    def totals(of: list[int]) -> tuple[float, float]:
        secret, useful = costs.of(members_of(np.array(of), 12) @ costs.rows.T)
        return float(goal.cost(secret, useful).sum()), float(goal.gain(secret, useful).sum())

    cost, gain = totals(blocks)
    after = TwoBlocks(costs, goal, gain, blocks).improved(math.inf).tolist()
    assert sum(after) == (1 << 12) - 1
    assert all(a & b == 0 for i, a in enumerate(after) for b in after[:i])
    assert totals(after)[0] <= cost + 1e-12
    assert totals(after)[1] >= gain - 1e-12
    assert sorted(TwoBlocks(costs, goal, gain, after).improved(math.inf).tolist()) == sorted(after)


def covering(seed: int) -> tuple[Pool, int]:
    rng = np.random.default_rng(seed)
    n = 7
    blocks = np.unique(np.concatenate([rng.integers(1, 1 << n, 40), 1 << np.arange(n)]))
    return Pool(blocks, rng.random(len(blocks)) + 0.1, rng.random(len(blocks)), members_of(blocks, n)), n


def best_cover(pool: Pool, n: int, need: float, *, whole_ones: bool) -> float:
    found = milp(
        pool.cost,
        constraints=[
            LinearConstraint(pool.members.T, 1.0, 1.0),
            LinearConstraint(pool.gain[None], need, math.inf),
        ],
        integrality=np.full(len(pool.cost), int(whole_ones)),
        bounds=Bounds(0, 1),
    )
    assert found.fun is not None
    return float(found.fun)


@pytest.mark.parametrize("seed", range(5))
def test_programs_over_some_blocks(seed: int) -> None:
    pool, n = covering(seed)
    program = Restricted(n, 1.0)
    program.add(pool.take(np.arange(0, len(pool.blocks), 2)))
    singles = np.flatnonzero(pool.members.sum(axis=1) == 1)
    program.add(pool.take(np.setdiff1d(singles, np.arange(0, len(pool.blocks), 2))))
    first = program.solve(10.0)
    rest = np.setdiff1d(np.arange(1, len(pool.blocks), 2), singles)
    program.add(pool.take(rest))
    second = program.solve(10.0)
    assert first is not None
    assert second is not None
    assert second.value <= first.value + 1e-9
    assert second.value == pytest.approx(best_cover(pool, n, 1.0, whole_ones=False), abs=1e-7)
    reduced = pool.reduced(second.prices, second.multiplier)
    assert reduced.min() >= -1e-8
    assert second.prices.sum() + second.multiplier == pytest.approx(second.value, abs=1e-8)
    exact = best_cover(pool, n, 1.0, whole_ones=True)
    rows = Rows.dense(np.ascontiguousarray(pool.members.T), 1.0)
    point = whole(pool.cost, Rows.dense(-pool.gain[None], -1.0), rows)
    assert point is not None
    assert float(point @ pool.cost) == pytest.approx(exact, abs=1e-7)
    rng = np.random.default_rng(seed)

    def priced(blocks: NDArray[np.int64]) -> Pool:
        return Pool(blocks, rng.random(len(blocks)) + 5.0, rng.random(len(blocks)), members_of(blocks, n))

    dived = dive(pool, 1.0, priced, 10.0)
    if dived is not None:
        assert sum(dived.tolist()) == (1 << n) - 1
        assert (members_of(dived, n).sum(axis=0) == 1).all()
        known = dict(zip(pool.blocks.tolist(), pool.cost.tolist(), strict=True))
        assert sum(known.get(b, 5.0) for b in dived.tolist()) >= exact - 1e-9


# ---------------------------------------------------------------- larger alphabets


@pytest.mark.parametrize("which", range(5))
def test_exchanges_of_blocks_improve_what_moves_leave(which: int) -> None:
    """From the same start: the incumbent is where moves of single symbols end, and exchanges are never worse."""
    problem = mergings_of(random_table(11, 4, 40))[which]
    before = solved(problem, "symbol-moves")
    budget = Budget(deadline=time.monotonic() + 1.5, incumbent=before.answer)
    solver: Any = BlockExchange() if problem.is_funnel else BottleneckExchange()
    proposal = solver.run(problem, budget)
    assert proposal.mechanism is not None
    reading = problem.evaluate(problem.check(proposal.mechanism))
    assert reading.feasible
    assert reading.objective >= (before.objective or 0.0) - 1e-12
    if problem.is_floor:
        assert reading.objective > (before.objective or 0.0)


def test_exchanges_of_large_blocks_keep_symbols_together() -> None:
    """Two secrets and a low cap: the best blocks hold more symbols than are divided at a time."""
    problem = po.InformationBottleneck(
        po.JointDistribution.normalised(random_table(4, 2, 60)), max_rate=0.6, form="merging"
    )
    before = solved(problem, "matched-merging")
    assert before.answer is not None
    budget = Budget(deadline=time.monotonic() + 1.0, incumbent=before.answer)
    proposal = BottleneckExchange().run(problem, budget)
    assert proposal.mechanism is not None
    release = problem.check(proposal.mechanism)
    assert problem.certify(release).ok
    assert problem.evaluate(release).objective >= (before.objective or 0.0) - 1e-12


@pytest.mark.parametrize("seed", range(3))
def test_groups_of_symbols_cost_what_their_symbols_do(seed: int) -> None:
    rng = np.random.default_rng(seed)
    costs = block_costs(mergings_of(random_table(seed, 3, 10))[0])
    cuts = np.sort(rng.choice(np.arange(1, 10), 3, replace=False))
    groups = np.split(rng.permutation(10), cuts)
    merged = costs.merged(groups)
    assert (np.diff(merged.mass) >= 0).all()
    for i in range(1, 16):
        held = [g for g in range(4) if i >> g & 1]
        symbols = np.concatenate([groups[int(merged.symbols[g])] for g in held])
        one = costs.of(costs.rows[:, symbols].sum(axis=1)[None])
        other = merged.of(merged.rows[:, held].sum(axis=1)[None])
        assert np.allclose(one, other, atol=1e-14)


def test_exchanges_of_few_symbols_end_with_the_best() -> None:
    """One program takes them all."""
    for problem in mergings_of(random_table(1, 2, 14)):
        one, other = solved(problem, "block-exchange"), solved(problem, "exact-merging")
        assert one.objective == pytest.approx(other.objective, abs=1e-11)


def test_exchanges_are_for_mergings() -> None:
    channels = mergings_of(random_table(1, 2, 14))[0].by_channels()
    assert "merging" in (BlockExchange().refuse(channels) or "")  # type: ignore[arg-type]  # a funnel

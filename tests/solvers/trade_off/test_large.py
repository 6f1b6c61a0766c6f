"""Solvers of the funnel and of the bottleneck for alphabets of any size, and perfect privacy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from instances.few import few
from scipy.optimize import linprog

import privopt as po
from privopt.arrays import Floats
from privopt.core.judge import judge
from privopt.core.registry import find_solver
from privopt.core.solver import Budget
from privopt.problems.trade_off.problem import TradeOff
from privopt.solvers.trade_off.balanced import balanced_parts, channel_matrix, revealed
from privopt.solvers.trade_off.matchings import Aim, losses, merged_in_rounds
from privopt.solvers.trade_off.mergings import merging_table


def joint(n_s: int, n_x: int, seed: int = 0) -> po.JointDistribution:
    rng = np.random.default_rng([n_s, n_x, seed])
    return po.JointDistribution.normalised(rng.dirichlet(np.ones(n_s), n_x).T * rng.dirichlet(np.ones(n_x)))


def information(table: Floats) -> float:
    """Mutual information by its definition."""
    table = table / table.sum()
    outer = table.sum(axis=1, keepdims=True) * table.sum(axis=0)
    return float((table[table > 0] * np.log(table[table > 0] / outer[table > 0])).sum())


LARGE = [
    po.PrivacyFunnel(joint(3, 200), theta_fraction=0.6),
    po.PrivacyFunnel(joint(3, 200), theta_fraction=0.95),
    po.PrivacyFunnel(joint(3, 200), theta_fraction=0.6, form="merging"),
    po.PrivacyFunnel(joint(8, 150), max_leakage=0.05),
    po.PrivacyFunnel(joint(8, 150), max_leakage=0.05, form="merging"),
    po.PrivacyFunnel(joint(3, 200), trade_off=0.2),
    po.InformationBottleneck(joint(5, 200), max_rate=1.0),
    po.InformationBottleneck(joint(5, 200), max_rate=1.0, form="merging"),
    po.InformationBottleneck(joint(5, 200), trade_off=0.1),
]


@pytest.mark.parametrize("problem", LARGE, ids=repr)
@pytest.mark.parametrize("solver", ["matched-merging", "symbol-moves", "soft-clusters"])
def test_large_alphabets_get_certified_answers(problem: TradeOff, solver: str) -> None:
    """Every answer is certified and better than the anchor."""
    if solver == "soft-clusters" and (problem.is_funnel or problem.form == "merging"):
        pytest.skip("it is for channels of the bottleneck")
    solution = po.solve(problem, solver, time_limit=10)
    assert solution.certified
    anchor = problem.evaluate(problem.anchor()).objective
    assert solution.objective is not None
    assert solution.objective > anchor + 1e-3


@pytest.mark.parametrize("seed", few(range(6), 3))
@pytest.mark.parametrize("mode", ["theta_fraction", "max_leakage", "trade_off"])
def test_mergings_are_no_better_than_the_best_of_all(seed: int, mode: str) -> None:
    value = {"theta_fraction": 0.6, "max_leakage": 0.05, "trade_off": 0.3}[mode]
    problem = po.PrivacyFunnel(joint(3, 8, seed), form="merging", **{mode: value})  # type: ignore[arg-type]
    best = po.solve(problem, "exact-merging").objective
    for solver in ("matched-merging", "symbol-moves"):
        reached = po.solve(problem, solver).objective
        assert best is not None
        assert reached is not None
        assert reached <= best + 1e-9


@pytest.mark.parametrize("n_s", [2, 5, 12])
def test_balanced_parts_leak_nothing(n_s: int) -> None:
    """By the definition of mutual information, of the channel that is made of them."""
    problem = po.PrivacyFunnel(joint(n_s, 300), theta_fraction=0.5)
    table = merging_table(problem)
    parts = balanced_parts(table, problem.budget, 200, Budget())
    matrix = channel_matrix(parts, table)
    assert np.allclose(matrix.sum(axis=1), 1.0, atol=1e-12)
    assert information(table.secret.T @ matrix) < 1e-15
    assert revealed(parts, table) == pytest.approx(information(table.mass[:, None] * matrix), abs=1e-9)
    assert revealed(parts, table) >= problem.budget


def test_a_floor_that_needs_no_leakage_is_met_without_any() -> None:
    solution = po.solve(po.PrivacyFunnel(joint(4, 400), theta_fraction=0.5), "balanced-parts", time_limit=20)
    assert solution.status is po.Status.OPTIMAL
    assert solution.leakage is not None
    assert solution.leakage < 1e-15


def test_parts_keep_a_cap() -> None:
    """X itself is published within some parts, until the cap is met."""
    problem = po.PrivacyFunnel(joint(3, 90), max_leakage=0.05)
    solution = po.solve(problem, "balanced-parts")
    assert solution.certified
    assert solution.leakage == pytest.approx(0.05, abs=1e-6)
    assert solution.utility > problem.evaluate(po.solve(problem, "greedy").mechanism).utility - 1.0  # type: ignore[operator]


def test_losses_of_pairs_are_differences_of_informations() -> None:
    table = merging_table(po.PrivacyFunnel(joint(3, 6), theta_fraction=0.5))
    pairs = np.array(list(itertools.combinations(range(6), 2)))
    d_secret, d_useful = losses(table, pairs, Budget())
    for (i, j), ds, dx in zip(pairs.tolist(), d_secret, d_useful, strict=True):
        to = np.arange(6)
        to[j] = i
        to = np.unique(to, return_inverse=True)[1].reshape(-1)
        rows = np.zeros((5, 3))
        np.add.at(rows, to, table.secret)
        mass = rows.sum(axis=1)
        whole = table.mass
        assert ds == pytest.approx(information(table.secret) - information(rows), abs=1e-12)
        assert dx == pytest.approx(float(mass @ np.log(mass) - whole @ np.log(whole)), abs=1e-12)


@pytest.mark.parametrize("together", [True, False])
def test_rounds_keep_a_floor_and_end_at_a_stop(*, together: bool) -> None:
    table = merging_table(po.PrivacyFunnel(joint(4, 300), theta_fraction=0.5))
    for assignment in merged_in_rounds(table, Aim(together=together, floor=3.0), Budget()):
        assert table.merged(assignment).informations[1] >= 3.0 - 1e-9
    *_, last = merged_in_rounds(table, Aim(together=together, stop_useful=2.0), Budget())
    assert table.merged(last).informations[1] <= 2.0


def test_moves_start_from_the_incumbent() -> None:
    """What is proposed is never worse than the answer it starts from."""
    problem = po.PrivacyFunnel(joint(4, 60), theta_fraction=0.7, form="merging")
    start = po.solve(problem, "greedy").mechanism
    proposal = find_solver(problem, "symbol-moves").run(problem, Budget(incumbent=start))
    assert judge(problem, proposal, certify=True).objective >= problem.evaluate(start).objective  # type: ignore[operator]


@pytest.mark.parametrize("problem", LARGE[::3], ids=repr)
@pytest.mark.parametrize("solver", ["matched-merging", "symbol-moves", "soft-clusters"])
def test_a_run_without_time_still_answers(problem: TradeOff, solver: str) -> None:
    if solver == "soft-clusters" and problem.is_funnel:
        pytest.skip("it is for the bottleneck")
    proposal = find_solver(problem, solver).run(problem, Budget(deadline=0.0))
    assert judge(problem, proposal, certify=True).status.ok


@pytest.mark.parametrize(("n_s", "n_x"), [(3, 6), (3, 8), (4, 9), (2, 7)])
@pytest.mark.parametrize("seed", range(3))
def test_perfect_privacy_is_optimal(n_s: int, n_x: int, seed: int) -> None:
    """Against a linear program over all vertices of {v >= 0, P(s | v) = P(s)}, tried one by one."""
    model = joint(n_s, n_x, seed)
    solution = po.solve(po.PrivacyFunnel(model, max_leakage=0.0), time_limit=20)
    assert solution.status is po.Status.OPTIMAL
    assert solution.leakage == 0.0
    assert solution.objective == pytest.approx(_most_at_no_leakage(model), abs=1e-7)


def _most_at_no_leakage(model: po.JointDistribution) -> float:
    matrix, p_s, p_x = model.s_given_x, model.p_s, model.p_x
    columns = []
    for support in itertools.combinations(range(len(p_x)), len(p_s)):
        inner = np.linalg.lstsq(matrix[:, support], p_s, rcond=None)[0]
        if inner.min() >= -1e-12 and np.abs(matrix[:, support] @ inner - p_s).max() < 1e-10:
            column = np.zeros(len(p_x))
            column[list(support)] = np.maximum(inner, 0.0)
            columns.append(column)
    vertices = np.array([*columns, p_x])
    logs = np.log(np.where(vertices > 0, vertices, 1.0))
    entropies = -(vertices * logs).sum(axis=1)
    least = linprog(entropies, A_eq=vertices.T, b_eq=p_x, bounds=(0, None))
    return float(-(p_x * np.log(p_x)).sum() - least.fun)

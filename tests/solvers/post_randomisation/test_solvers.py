"""Solvers of post-randomisation: against linear programs in exact rationals, and invariants."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import privopt as po
from privopt.benchmarks.suites.post_randomisation import grouped, ordered, sectors
from privopt.core.exact import ensure_nearest
from privopt.solvers.post_randomisation.pram import invariant_matrix

RATIO = Fraction(float(math.exp(math.log(1.5))))


def least_change(
    joint: po.JointDistribution, ratio: Fraction, notion: str, tables: list[list[int]]
) -> Fraction:
    """The least expected number of changes in rationals, by the double description method, with e^epsilon a rational."""
    from ppl import C_Polyhedron, Constraint_System, Linear_Expression, Variable

    ensure_nearest()  # some versions of it leave the processor rounding upward
    n = len(joint.useful)
    table = [joint.exact.weights[i : i + n] for i in range(0, n * len(joint.sensitive), n)]
    counts = [sum(column) for column in zip(*table, strict=True)]
    whole = sum(counts)
    system = Constraint_System()

    def released(row: Sequence[int], y: int) -> Linear_Expression:
        return sum((row[x] * Variable(n * x + y) for x in range(n)), Linear_Expression(0))

    for x in range(n):
        system.insert(sum((Variable(n * x + y) for y in range(n)), Linear_Expression(0)) == 1)
        for y in range(n):
            system.insert(Variable(n * x + y) >= 0)
    for y in range(n):
        for row in [counts, *tables]:
            system.insert(released(row, y) == row[y])
        for row in table:
            mass = sum(row)
            others = [(other, sum(other)) for other in table] if notion == "ldp" else [(counts, whole)]
            for other, size in others:
                near, far = size * released(row, y), mass * released(other, y)
                system.insert(ratio.denominator * near <= ratio.numerator * far)
                if notion == "lip":
                    system.insert(ratio.denominator * far <= ratio.numerator * near)
    change = sum(
        (counts[x] * Variable(n * x + y) for x, y in product(range(n), range(n)) if x != y),
        Linear_Expression(0),
    )
    best = C_Polyhedron(system).minimize(change)
    assert best["bounded"]
    return Fraction(int(best["inf_n"]), int(best["inf_d"])) / whole


@pytest.mark.parametrize("notion", ["lip", "ldp"])
@pytest.mark.parametrize("seed", range(5))
def test_the_optimum_is_that_in_rationals(notion: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    joint = po.JointDistribution.normalised(rng.integers(1, 9, size=(2, 3)).tolist())
    solution = po.solve(po.PostRandomisation(joint, "hamming", math.log(1.5), notion=notion))
    assert solution.status is po.Status.OPTIMAL
    assert solution.certified
    assert solution.objective == pytest.approx(-float(least_change(joint, RATIO, notion, [])), abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_with_a_table_is_that_in_rationals(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.integers(1, 9, size=(2, 4))
    counts = table.sum(axis=0)
    other = [
        [int(c) * (1 + x % 2) for x, c in enumerate(counts)],
        [int(c) * (2 - x % 2) for x, c in enumerate(counts)],
    ]
    joint, kept = (po.JointDistribution.normalised(t) for t in (table.tolist(), other))
    solution = po.solve(po.PostRandomisation(joint, "hamming", math.log(1.5), preserve=kept))
    if solution.status is po.Status.INFEASIBLE:
        with pytest.raises(AssertionError):
            least_change(joint, RATIO, "lip", other)
        return
    assert solution.certified
    assert solution.objective == pytest.approx(-float(least_change(joint, RATIO, "lip", other)), abs=1e-7)


@pytest.mark.parametrize("example", po.PostRandomisation.examples(), ids=lambda e: e.name)
def test_the_two_programs_agree(example: po.Example[po.Channel]) -> None:
    slow = po.solve(example.problem, "oracle")
    if slow.status is po.Status.REFUSED:
        assert example.problem.budget == math.inf
        return
    fast = po.solve(example.problem, "direct-lp")
    assert fast.objective == pytest.approx(slow.objective, abs=1e-9)
    assert fast.bound is not None
    assert fast.bound >= slow.objective - 1e-12  # type: ignore[operator]  # it was solved


@pytest.mark.parametrize("problem", [sectors(), sectors(notion="ldp"), ordered(8), grouped(8)], ids=repr)
def test_larger_budgets_cost_nothing_and_bounds_hold(problem: po.PostRandomisation) -> None:
    solutions = [po.solve(problem.with_budget(level)) for level in (0.3, 0.6, 1.2)]
    solved = [s for s in solutions if s.status.ok]
    assert len(solved) >= 2
    utilities = [s.utility for s in solved]
    assert utilities == sorted(utilities, key=lambda u: -math.inf if u is None else u)
    for s in solved:
        assert s.status is po.Status.OPTIMAL
        assert s.certified


def test_names_and_order_change_nothing() -> None:
    counts = {"a": 5, "b": 3, "c": 2}
    turned = {name: counts[name] for name in ("c", "a", "b")}
    first, second = (po.solve(po.PostRandomisation(c, "hamming", 0.4)) for c in (counts, turned))
    assert first.objective == pytest.approx(second.objective, abs=1e-12)


def test_a_release_has_the_distribution_of_the_original() -> None:
    problem = po.PostRandomisation({"a": 5, "b": 3, "c": 2}, "hamming", 0.4)
    column = np.repeat(["a", "b", "c"], [5000, 3000, 2000])
    shown = po.solve(problem).mechanism.release(column, np.random.default_rng(0))
    for name, count in zip("abc", (5000, 3000, 2000), strict=True):
        assert abs(sum(v == name for v in shown) - count) < 5 * math.sqrt(count)


def test_the_published_matrix_keeps_the_distribution_and_changes_more() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(6))
    matrix = invariant_matrix(p, rng.uniform(0.8, 1.0, 6), 0.5)
    assert p @ matrix == pytest.approx(p, abs=1e-15)
    assert matrix.sum(axis=1) == pytest.approx(np.ones(6), abs=1e-15)
    problem = sectors()
    published = problem.preserving(invariant_matrix(problem.observation.p_w, np.full(15, 0.9), 0.5))
    assert published is not None
    reading = problem.evaluate(published)
    best = po.solve(problem.with_budget(reading.leakage))
    assert best.utility >= reading.utility  # type: ignore[operator]  # it was solved
    assert po.solve(problem, "pram").utility <= po.solve(problem).utility  # type: ignore[operator]


@pytest.mark.parametrize("problem", [sectors(), sectors(notion="ldp"), ordered(8)], ids=repr)
def test_couplings_lie_between_a_fresh_draw_and_the_optimum(problem: po.PostRandomisation) -> None:
    coupled, best = (po.solve(problem, name) for name in ("exponential-coupling", "direct-lp"))
    assert coupled.certified
    assert coupled.stats["repaired"] == 0
    utility = problem.evaluate(coupled.mechanism).utility
    assert problem.evaluate(problem.anchor()).utility < utility <= best.utility  # type: ignore[operator]  # it was solved


def test_a_budget_no_table_allows_is_infeasible_with_a_witness() -> None:
    problem = po.PostRandomisation(po.JointDistribution.normalised([[5, 1], [1, 5]]), "hamming", 0.2)
    kept = po.PostRandomisation(problem.joint, "hamming", 0.2, preserve=problem.joint)
    assert po.solve(problem).status is po.Status.OPTIMAL
    refused = po.solve(kept)
    assert refused.status is po.Status.INFEASIBLE
    assert po.solve(kept.with_budget(2.0)).utility == 0

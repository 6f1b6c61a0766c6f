"""Chains whose steps differ though all records have one distribution: bounds, leakages and files."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from instances.few import few
from oracles import enumeration

import privopt as po
from privopt.measures import redaction_leakage

SOLVERS = ("optimal", "windows", "relaxation", "constant-search", "joint-search")


def alternating(rates: tuple[float, ...], length: int, share: float = 0.5) -> po.MarkovChain:
    """Steps of one stationary distribution (share, 1 - share), with flip rates in turn; a negative one swaps a lot."""
    pi = Fraction(share)
    steps = []
    for t in range(length - 1):
        flow = Fraction(rates[t % len(rates)]) * min(pi, 1 - pi)
        a, b = flow / pi, flow / (1 - pi)
        steps.append([[1 - a, a], [b, 1 - b]])
    return po.MarkovChain(steps, initial=[pi, 1 - pi])


def random_problem(seed: int) -> po.Redaction:
    rng = np.random.default_rng(seed)
    length = int(rng.integers(2, 7))
    rates = tuple(np.round(rng.uniform(0.02, 0.98, int(rng.integers(2, 5))), 3).tolist())
    share = float(rng.choice([0.5, 0.25, 0.375, 0.625]))
    chain = alternating(rates, length, share)
    weights = rng.uniform(0.1, 2, length).tolist() if seed % 3 == 0 else None
    return po.Redaction(
        chain, length, int(rng.integers(length)), float(np.exp(rng.uniform(-2, 1))), weights=weights
    )


def test_the_family_of_two_rates_in_turn() -> None:
    chain = alternating((0.1, 0.45), 6)
    assert chain.stationary
    assert not chain.homogeneous
    for p in range(6):
        problem = po.Redaction(chain, 6, p, 1.0)
        solution = po.solve(problem)
        assert solution.status is po.Status.OPTIMAL
        assert po.verify(problem, solution).ok
        assert solution.leakage == pytest.approx(
            enumeration.leakage(chain, p, solution.mechanism.probabilities), abs=1e-12
        )


@pytest.mark.parametrize("seed", few(range(150), 7))
def test_leakages_are_those_of_enumeration_and_files_verify(seed: int) -> None:
    problem = random_problem(seed)
    (p,) = problem.private
    rng = np.random.default_rng(seed)
    table = enumeration.random_table(rng, problem.length, 2)
    table[p] = 1.0
    exact = enumeration.leakage(problem.chain, p, table)
    assert redaction_leakage(problem.chain, p, table) == pytest.approx(exact, rel=1e-12, abs=1e-15)
    solution = po.solve(problem, SOLVERS[seed % len(SOLVERS)] if seed % 2 else None)
    assert solution.certified
    assert po.verify(problem, solution).ok
    shown = solution.mechanism.probabilities
    lo, hi = problem.certify(solution.mechanism).leakage
    assert lo - 1e-15 <= enumeration.leakage(problem.chain, p, shown) <= hi + 1e-15
    exact_utility = enumeration.utility(problem.chain, shown, problem.record_weights.tolist())
    if solution.bound is not None:
        assert exact_utility <= Fraction(solution.bound)


@pytest.mark.parametrize(
    "seed", [*range(0, 25, 5), *(pytest.param(n, marks=pytest.mark.long) for n in range(25, 150, 5))]
)
def test_bounds_are_not_beaten_by_searches_that_share_nothing_with_them(seed: int) -> None:
    problem = random_problem(seed)
    solution = po.solve(problem, "optimal")
    assert solution.bound is not None
    assert solution.objective is not None
    assert solution.bound - solution.objective <= 2e-6
    if problem.length <= 4:
        best = po.solve(problem, "oracle", time_limit=30)
        assert best.utility is not None
        assert best.utility <= solution.bound
        assert best.utility == pytest.approx(solution.objective, abs=1e-6)
    wide = po.solve(problem, "central-lp").bound
    assert wide is not None
    assert solution.objective <= wide
    for name in ("windows", "relaxation", "constant-search"):
        utility = po.solve(problem, name).utility
        assert utility is not None
        assert utility <= solution.bound


def test_examples_hold_the_family() -> None:
    shared = [
        e
        for e in po.Redaction.examples()
        if isinstance(e.problem, po.Redaction)
        and e.problem.chain.stationary
        and not e.problem.chain.homogeneous
    ]
    assert len(shared) >= 3
    for example in shared:
        assert example.optimum is not None
        solution = po.solve(example.problem)
        assert solution.status is po.Status.OPTIMAL
        assert solution.objective == pytest.approx(example.optimum, abs=1e-8)

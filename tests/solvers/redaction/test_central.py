"""The bound from mechanisms that see the whole sequence."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from instances.few import few
from oracles.enumeration import random_chain

import privopt as po
from privopt.arrays import Floats
from privopt.problems.redaction.dual import central_bound, sizes

CHAIN = po.MarkovChain([[0.75, 0.25], [0.5, 0.5]])
PUBLIC = po.Redaction(CHAIN, 5, 2, 1.0)


def bound_of(problem: po.Redaction) -> float:
    bound = po.solve(problem, "central-lp").bound
    assert bound is not None
    return bound


def dual_of(problem: po.Redaction) -> dict[str, Any]:
    dual = po.solve(problem, "central-lp").dual
    assert isinstance(dual, dict)
    return dual


def random_problem(seed: int, longest: int) -> po.Redaction:
    rng = np.random.default_rng(seed)
    length = int(rng.integers(2, longest + 1))
    chain = random_chain(rng, 2, ("stationary", "started", "stepwise")[seed % 3], length)
    weights = rng.uniform(0, 2, length) if seed % 2 else None
    return po.Redaction(
        chain, length, int(rng.integers(length)), float(np.exp(rng.uniform(-2, 1))), weights=weights
    )


def dense_optimum(problem: po.Redaction) -> float:
    """The same program written out by hand, with outputs as tuples, every set of records allowed."""
    from scipy.optimize import linprog

    n, chain, growth = problem.length, problem.chain, math.exp(problem.epsilon)
    probability = {}
    for x in itertools.product(range(chain.k), repeat=n):
        probability[x] = float(chain.marginal(0)[x[0]])
        for t in range(n - 1):
            probability[x] *= float(chain.step(t)[x[t], x[t + 1]])
    sets = list(itertools.product((False, True), repeat=n))
    cells = list(itertools.product(probability, sets))
    share = problem.record_weights / problem.record_weights.sum()
    gain = [probability[x] * float(share[np.array(s)].sum()) for x, s in cells]
    outputs = [tuple(v if shown else -1 for v, shown in zip(x, s, strict=True)) for x, s in cells]
    rows = []
    for p in problem.private:
        prior = chain.marginal(p)
        for a, b in itertools.permutations(range(chain.k), 2):
            for y in set(outputs):
                row = np.zeros(len(cells))
                for i, (x, _) in enumerate(cells):
                    if outputs[i] == y and x[p] in (a, b):
                        row[i] = probability[x] / prior[x[p]] * (1 if x[p] == a else -growth)
                rows.append(row)
    equal = np.array([[x == other for x, _ in cells] for other in probability], dtype=float)
    solution = linprog(
        -np.array(gain),
        A_ub=np.array(rows),
        b_ub=np.zeros(len(rows)),
        A_eq=equal,
        b_eq=np.ones(len(probability)),
    )
    return -float(solution.fun or 0.0)


def test_public_value() -> None:
    solution = po.solve(PUBLIC, "central-lp")
    assert solution.bound == pytest.approx(0.790730, abs=1e-6)
    assert solution.status is po.Status.GAP
    assert po.verify(PUBLIC, solution).ok
    again: po.Solution[Any] = po.Solution.from_dict(json.loads(json.dumps(solution.to_dict())))
    assert po.verify(PUBLIC, again).ok


@pytest.mark.parametrize(
    "problem",
    [
        po.Redaction(CHAIN, 3, 1, 0.7),
        po.Redaction(po.MarkovChain([[0.9, 0.1], [0.4, 0.6]]), 4, (0, 3), 1.5, weights=[1, 2, 1, 1]),
        po.Redaction(po.MarkovChain([[0.5, 0.3, 0.2], [0.1, 0.7, 0.2], [0.3, 0.3, 0.4]]), 3, 0, 1.0),
        po.Redaction(po.MarkovChain([[0.0, 1.0], [0.5, 0.5]]), 3, 1, 0.5),
    ],
)
def test_it_is_the_optimum_of_the_program_written_out(problem: po.Redaction) -> None:
    assert bound_of(problem) == pytest.approx(dense_optimum(problem), abs=1e-7)


@pytest.mark.parametrize("seed", few(range(15), 5))
def test_relaxation_optimum_and_bound_are_in_order(seed: int) -> None:
    problem = random_problem(seed, 6)
    relaxed, optimum = (po.solve(problem, name).utility for name in ("relaxation", "optimal"))
    assert relaxed is not None
    assert optimum is not None
    assert relaxed <= optimum + 1e-9
    assert optimum <= bound_of(problem)


@pytest.mark.parametrize("seed", range(4))
def test_the_oracle_stays_below(seed: int) -> None:
    rng = np.random.default_rng(seed)
    two = po.Redaction(random_chain(rng, 2, "stationary", 4), 4, (0, 2), 1.0)
    three = po.Redaction(random_chain(rng, 3, "started", 2), 2, seed % 2, 0.8)
    for problem in (random_problem(100 + seed, 3), two, three):
        optimum = po.solve(problem, "oracle", time_limit=20).utility
        assert optimum is not None
        assert optimum <= bound_of(problem)


@pytest.mark.parametrize("seed", range(5))
def test_any_multipliers_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    best, size = bound_of(PUBLIC), sizes(PUBLIC)
    assert size is not None
    near = np.array(dual_of(PUBLIC)["multipliers"])
    tried: list[Floats] = [rng.exponential(0.1, size[1]), near * rng.uniform(0.5, 1.5, size[1]), near * 0]
    for multipliers in tried:
        assert central_bound(PUBLIC, multipliers.tolist())[1] >= best - 1e-7
    assert central_bound(PUBLIC, (near * 0).tolist()) == pytest.approx((0.8, 0.8))


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (po.Redaction(CHAIN, 4, 1, math.inf), 1.0),
        (po.Redaction(po.MarkovChain([[1.0, 0.0], [0.5, 0.5]], initial=[1, 0]), 4, 1, 0.1), 1.0),
        (po.Redaction(CHAIN, 1, 0, 1.0), 0.0),
        (po.Redaction(po.MarkovChain([[0.3, 0.7], [0.3, 0.7]]), 4, 1, 0.0), 0.75),
        (po.Redaction(CHAIN, 4, 1, 800.0), 0.75),
    ],
)
def test_edges(problem: po.Redaction, expected: float) -> None:
    assert bound_of(problem) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("rare", [1e-20, 1e-200, 5e-324])
def test_values_too_rare_for_floats(rare: float) -> None:
    chain = po.MarkovChain([[1.0, rare], [rare, 1.0]], initial=[1.0, rare])
    problem = po.Redaction(chain, 4, 2, 1.0)
    assert bound_of(problem) == pytest.approx(0.75)
    solution = po.solve(problem)
    assert solution.utility == pytest.approx(0.20938159607842)
    assert solution.status is po.Status.OPTIMAL
    assert po.verify(problem, solution).ok


def test_sequential_mechanisms_are_bounded_too() -> None:
    problem = po.Redaction(CHAIN, 4, 0, 0.5, form="sequential")
    utility = po.solve(problem).utility
    assert utility is not None
    assert utility <= bound_of(problem)


HOSTILE: list[Any] = [
    {"kind": "central"},
    {"kind": "trust me", "multipliers": [0.0] * 162},
    {"kind": np.zeros(3), "multipliers": [0.0] * 162},
    {"kind": "central", "multipliers": None},
    {"kind": "central", "multipliers": "0" * 162},
    {"kind": "central", "multipliers": (0.0,) * 162},
    {"kind": "central", "multipliers": [0.0] * 161},
    {"kind": "central", "multipliers": [0.0] * 10**6},
    {"kind": "central", "multipliers": [0.0] * 161 + [math.nan]},
    {"kind": "central", "multipliers": [0.0] * 161 + [math.inf]},
    {"kind": "central", "multipliers": [0.0] * 161 + [-1e-9]},
    {"kind": "central", "multipliers": [0.0] * 161 + [10**400]},
    {"kind": "central", "multipliers": [0.0] * 161 + [True]},
    {"kind": "central", "multipliers": [0.0] * 161 + ["0"]},
    {"kind": "central", "multipliers": [0.0] * 161 + [[0.0]]},
    {"kind": "central", "multipliers": [0.0] * 162, "more": 1},
]


@pytest.mark.parametrize("dual", HOSTILE)
def test_hostile_duals_are_refused(dual: dict[str, Any]) -> None:
    assert PUBLIC.check_bound(0.5, dual) is None


def test_the_right_dual_is_not_refused_nor_believed() -> None:
    dual = {"kind": "central", "multipliers": [0] * 162}
    assert PUBLIC.check_bound(0.1, dual) == pytest.approx(0.8)
    assert PUBLIC.check_bound(0.1, dual, seconds=0.0) is None
    large = po.Redaction(CHAIN, 100_000, 2, 1.0)
    assert large.check_bound(0.1, dual) is None
    assert PUBLIC.check_bound(0.1, json.loads(json.dumps(dual_of(PUBLIC)))) == bound_of(PUBLIC)


def test_a_bound_below_what_its_dual_proves_is_found_out() -> None:
    solution = po.solve(PUBLIC, "central-lp")
    assert solution.bound is not None
    assert solution.gap is not None
    lowered = replace(solution, bound=solution.bound - 0.01, gap=solution.gap - 0.01)
    assert "not proved" in po.verify(PUBLIC, lowered).reason


def test_it_runs_by_name_only_and_refuses_what_is_large() -> None:
    note = next(line for line in po.solve(PUBLIC).alternatives if line.startswith("central-lp"))
    assert "by name" in note
    refused = po.solve(po.Redaction(CHAIN, 9, 2, 1.0), "central-lp")
    assert refused.status is po.Status.REFUSED

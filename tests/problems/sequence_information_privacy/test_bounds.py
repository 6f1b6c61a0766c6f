"""Bounds of one step and of sequences: against rationals and sixty digits, and duals made to cheat."""

from __future__ import annotations

import math
import time
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from instances.few import few
from oracles.step_prices import power, priced_cost

import privopt as po
from privopt.core.balls import Balls
from privopt.problems.belief_release.bound import PRECISE, cheapest, structure_enclosure
from privopt.problems.sequence_information_privacy.bound import sequence_enclosure
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy as Ask
from privopt.problems.sequence_information_privacy.steps import relative, steps

HOSTILE_ROWS: list[Any] = [
    [math.nan, 0.0],
    [math.inf, 0.0],
    [-math.inf, math.inf],
    [1e17, -1e17],
    [1e300, -1e300],
    [1.7e308, 1.7e308],
    [10**400, 1],
    ["1.0", "2.0"],
    [True, False],
    [[0.0], [1.0]],
    [0.0],
    [0.0, 1.0, 2.0],
    [],
    None,
    "ab",
    {"0": 1.0},
    [None, 1.0],
    [1e13 + 1, 1e13],
]


@pytest.mark.parametrize("seed", range(40))
def test_prices_of_a_step_prove_their_number(seed: int) -> None:
    """The enclosure holds the number in rationals, and is a few units of the last digit wide."""
    rng = np.random.default_rng(seed)
    n, m = rng.integers(2, 7, 2).tolist()
    eps = float(rng.choice([1e-9, 0.2, 1.0, 5.0, 11.0, 13.0, 25.0, 33.0, 80.0]))
    cost = rng.random((n, m)) if seed % 2 else rng.normal(size=(n, m)) * 1e3
    belief = rng.dirichlet(np.ones(n) * rng.choice([0.3, 3.0]))
    problem = po.BeliefRelease(belief, eps, cost)
    lam = rng.normal(size=n) * rng.choice([0.0, 0.1, 10.0])
    enclosure = structure_enclosure(problem, lam)
    assert enclosure is not None
    distributions = [problem.exact_belief.fraction(x) for x in range(n)]
    free = sum(p * min(map(Fraction, row)) for p, row in zip(distributions, cost.tolist(), strict=True))
    number = max(priced_cost(distributions, cost.tolist(), eps, lam.tolist()), free)
    size = float(np.abs(cost).max() + np.abs(lam).max())
    assert enclosure[1] >= -number - Fraction(1, 10**25)
    assert enclosure[1] <= float(-number) + 2e-14 * size
    assert 0 <= enclosure[1] - enclosure[0] <= 2e-14 * size
    if eps > PRECISE:
        assert enclosure[1] - enclosure[0] <= 1e-14 * max(abs(enclosure[1]), 1e-300)


@pytest.mark.parametrize("seed", range(20))
def test_cheapest_groups_are_bounded_from_below(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m = 12, 5
    p, costs = rng.dirichlet(np.ones(n)), rng.normal(size=(n, m))
    costs[rng.integers(n, size=4)] = costs[0]  # ties
    for eps in (0.1, 2.0, 9.0, 20.0, 40.0):
        low = power(eps)
        theta = low / (1 + low)
        balls = cheapest(Balls.exact(p), Balls(costs, np.full((n, m), 1e-15)), Balls.fractions([theta])[0])
        for y in range(m):
            left, group = theta, Fraction(0)
            for c, q in sorted(zip(costs[:, y].tolist(), p.tolist(), strict=True)):
                taken = min(Fraction(q), left)
                group += taken * Fraction(c)
                left -= taken
            true = group / theta
            assert Fraction(float(balls.lower[y])) <= true
            assert float(balls.lower[y]) >= float(true) - 1e-13


@pytest.fixture(scope="module")
def solved() -> tuple[tuple[po.BeliefRelease, Ask], tuple[float | None, float | None]]:
    """One step and three, and what is best."""
    step = po.BeliefRelease([0.7, 0.3], 0.5)
    sequence = Ask(po.MarkovChain([[0.8, 0.2], [0.3, 0.7]]), 0.5, horizon=3)
    return (step, sequence), (po.solve(step).objective, po.solve(sequence).objective)


@pytest.mark.parametrize("row", HOSTILE_ROWS, ids=lambda row: repr(row)[:20])
def test_hostile_prices_prove_nothing_false(
    row: Any, solved: tuple[tuple[po.BeliefRelease, Ask], tuple[float | None, float | None]]
) -> None:
    (step, sequence), best = solved
    duals = (
        {"kind": "structure", "lam": row},
        {"kind": "sequence", "lam": [row]},
    )
    for problem, objective, dual in zip((step, sequence), best, duals, strict=True):
        proved = problem.check_bound(-10.0, dual)
        assert proved is None or proved >= objective  # type: ignore[operator]
    for lam, revealed in (([[0.0, 0.0]], [row, row]), ([row, [0.0, 0.0]], [[0.0, 0.0]] * 2), (row, row)):
        proved = sequence.check_bound(-10.0, {"kind": "sequence", "lam": lam, "revealed": revealed})
        assert proved is None or proved >= best[1]  # type: ignore[operator]


def test_huge_duals_are_refused_or_read_in_time() -> None:
    problem = Ask(po.MarkovChain([[0.8, 0.2], [0.3, 0.7]]), 0.5, horizon=5)
    start = time.monotonic()
    assert problem.check_bound(-1.0, {"kind": "sequence", "lam": [[0.0] * 10**6] * 5}) is None
    assert problem.check_bound(-1.0, {"kind": "sequence", "lam": [[0.0, 0.0]] * (3 * 10**6)}) is None
    deep: Any = [0.0]
    for _ in range(2000):
        deep = [deep]
    assert problem.check_bound(-1.0, {"kind": "sequence", "lam": deep}) is None
    assert problem.check_bound(-1.0, {"kind": "sequence", "lam": [[0.0, 0.0]], "revealed": deep}) is None
    assert time.monotonic() - start < 60
    long = Ask(problem.chain, 0.5, horizon=2**20)
    assert long.check_bound(-1.0, {"kind": "sequence", "lam": [[0.0, 0.0]]}, seconds=0.2) is None


@pytest.mark.parametrize("seed", range(20))
def test_laws_and_levels_hold_the_exact_ones(seed: int) -> None:
    """The chain in rationals; the level of a step against the extreme beliefs, filled letter by letter in rationals."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    table = rng.dirichlet(np.ones(n) * rng.choice([0.3, 2.0]), n)
    chain = po.MarkovChain(table, rng.dirichlet(np.ones(n)))
    eps = float(rng.choice([0.1, 1.0, 6.0]))
    distribution = [chain.exact_initial.fraction(x) for x in range(n)]
    moves = [[row.fraction(x) for x in range(n)] for row in chain.exact_step(0)]
    told = Fraction(0)
    for step in steps(Ask(chain, eps, horizon=4)):
        ball = relative(step.distribution, step.spread)
        for x in range(n):
            assert Fraction(float(ball.lower[x])) <= distribution[x] <= Fraction(float(ball.upper[x]))
        level = told + Fraction(eps)
        lo, hi = step.reached.ends
        assert lo - 1e-8 <= float(level) <= hi + 1e-15
        low = power(float(step.level))
        room, theta = 1 - low, low / (1 + low)
        after = [
            sum((p * row[x] for p, row in zip(distribution, moves, strict=True)), Fraction(0))
            for x in range(n)
        ]
        most = 0.0
        for x in range(n):
            for largest in (True, False):
                left, group = theta, Fraction(0)
                for move, p in sorted(
                    ((row[x], p) for row, p in zip(moves, distribution, strict=True)), reverse=largest
                ):
                    taken = min(p, left)
                    group += taken * move
                    left -= taken
                ratio = (low * after[x] + room * group / theta) / after[x]
                most = max(most, abs(math.log(ratio)))
        told, distribution = min(Fraction(most), level), after


@pytest.mark.parametrize("seed", few(range(15), 5))
def test_no_policy_beats_a_bound_by_any_prices(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.ones(3) * rng.choice([0.3, 2.0]), 3)
    problem = Ask(
        po.MarkovChain(table, rng.dirichlet(np.ones(3))),
        float(rng.choice([0.1, 0.5, 1.0, 3.0, 14.0])),
        horizon=4,
        distortion=str(rng.choice(["hamming", "l1"])),
    )
    policy = problem.answer("closed-form" if problem.distortion == "hamming" else "structure-lp")
    reached = problem.certify(policy).utility[0]
    for _ in range(6):
        lam = [rng.normal(size=3) * rng.choice([0.01, 1.0]) for _ in range(3)]
        revealed = rng.normal(size=(3, 3)) * 0.05
        enclosure = sequence_enclosure(problem, lam, revealed)
        assert enclosure is not None
        assert enclosure[1] >= reached
        assert enclosure[1] - enclosure[0] < 1e-10


@pytest.mark.parametrize("epsilon", [22.0, 24.0, 27.5, 30.0, 33.99, 34.0, 36.0, 60.0, 800.0])
@pytest.mark.parametrize("distortion", ["hamming", "l1", "squared"])
def test_large_budgets_are_private_optimal_and_verify(epsilon: float, distortion: str) -> None:
    """Channels in floats broke these budgets in their last digits; channels in rationals do not."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        belief = rng.dirichlet(np.ones(int(rng.integers(2, 9))) * rng.choice([0.3, 3.0]))
        problem = po.BeliefRelease(belief, epsilon, distortion)
        solution = po.solve(problem, time_limit=5)
        assert solution.status is po.Status.OPTIMAL
        assert solution.certified
        assert solution.stats["repaired"] == 0.0
        assert po.verify(problem, solution).ok


def test_zero_is_proved_exactly() -> None:
    problems: list[po.Problem[Any]] = [
        po.BeliefRelease([0.5, 0.3, 0.2], math.inf),
        Ask(po.MarkovChain([[0.8, 0.2], [0.3, 0.7]]), math.inf, horizon=4),
    ]
    for problem in problems:
        solution = po.solve(problem)
        assert solution.bound == 0.0
        assert solution.objective == 0.0
        assert solution.status is po.Status.OPTIMAL
        assert solution.leakage == math.inf
        assert solution.certificate is not None
        assert solution.certificate.utility[1] >= 0 >= solution.certificate.utility[0]

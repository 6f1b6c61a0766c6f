"""Tables of many symbols: the interior-point method against HiGHS, what its multipliers prove, and cheap releases."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import privopt as po
from privopt.arrays import Floats
from privopt.core import highs
from privopt.core.solver import Budget
from privopt.problems.bands import band_enclosure
from privopt.problems.distortion_privacy.bound import prove
from privopt.problems.local_information_privacy.data import posterior_rows
from privopt.solvers.distortion_privacy._programs import least_distortion, least_guess
from privopt.solvers.distortion_privacy._silent import silent_matrix, silent_release
from privopt.solvers.distortion_privacy._space import Space
from privopt.solvers.distortion_privacy.exponential_mixing import (
    NARROWER,
    TEMPERATURES,
    ExponentialMixing,
    exponential,
    largest_mixture,
)

RATIOS = ("lip", "ldp")
LINEAR = (*RATIOS, "maximal_leakage")


def line(n: int) -> Floats:
    places = np.arange(n)
    return np.abs(places[:, None] - places[None, :]) / max(1, n - 1)


def table(n: int, seed: int) -> po.JointDistribution:
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.ones(n), size=n) * rng.dirichlet(np.ones(n))[:, None]
    return po.JointDistribution.normalised(rows)


def problem(
    n: int, leakage: str, seed: int = 0, *, name: str = "max_leakage", value: float = 0.5
) -> po.DistortionPrivacy:
    bound = {name: value}
    return po.DistortionPrivacy(table(n, seed), line(n), leakage=leakage, **bound)  # type: ignore[arg-type]  # one of the bounds


@pytest.mark.parametrize("leakage", LINEAR)
@pytest.mark.parametrize(("name", "value"), [("max_leakage", 0.4), ("max_distortion", 0.08)])
def test_the_interior_point_method_agrees_with_highs(leakage: str, name: str, value: float) -> None:
    there = problem(9, leakage, name=name, value=value)
    solution, known = po.solve(there, "interior-point"), po.solve(there, "direct-lp")
    assert solution.status is po.Status.OPTIMAL
    assert solution.certified
    assert solution.objective == pytest.approx(known.objective, rel=2e-6)
    assert solution.stats["repaired"] == 0.0


@pytest.mark.parametrize("leakage", LINEAR)
def test_forty_symbols_are_solved_to_optimality(leakage: str) -> None:
    solution = po.solve(problem(40, leakage), "interior-point")
    assert solution.status is po.Status.OPTIMAL
    assert solution.certified


@pytest.mark.parametrize("leakage", RATIOS)
@pytest.mark.parametrize("seed", range(6))
def test_any_multipliers_of_bands_prove_a_true_bound(leakage: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    there = problem(4, leakage, seed)
    optimum = po.solve(there, "direct-lp").objective
    assert optimum is not None
    for size in (0.0, 0.01, 0.3, 100.0):
        above, below = size * rng.exponential(size=(2, 4, 4)) * (rng.random((2, 4, 4)) < 0.5)
        proved = prove(there, {"kind": "bands", "above": above.tolist(), "below": below.tolist()})
        assert proved is not None
        assert proved[1] >= optimum - 1e-12


@pytest.mark.parametrize("leakage", RATIOS)
def test_what_bands_prove_against_rationals(leakage: str) -> None:
    """The bound written out in fractions, with e^0.5 from mpmath's digits."""
    import mpmath

    rng = np.random.default_rng(3)
    there = problem(3, leakage)
    above, below = rng.exponential(size=(2, 3, 3)) * 0.1
    if leakage == "ldp":
        below *= 10
    proved = band_enclosure(there.observation, there.costs, (leakage, 0.5, 0.5), above, below)
    with mpmath.workdps(60):
        top = Fraction(str(mpmath.exp(mpmath.mpf(0.5))))
    weights, total = there.weights, there.observation.leaking.exact.total
    p_w = [Fraction(sum(column), total) for column in zip(*weights, strict=True)]
    least = Fraction(0)
    for w in range(3):
        costs = []
        for y in range(3):
            a, b = ([Fraction(v) for v in part[y]] for part in (below.tolist(), above.tolist()))
            if leakage == "ldp" and top * sum(b) > sum(a):
                b = [v * sum(a) / (top * sum(b)) for v in b]
            paid = sum((b[s] - a[s]) * Fraction(weights[s][w], sum(weights[s])) for s in range(3))
            if leakage == "lip":
                paid += p_w[w] * (sum(a) / top - top * sum(b))
            costs.append(p_w[w] * Fraction(there.distortion[w][y]) + paid)
        least += min(costs)
    assert proved is not None
    assert proved[0] - 1e-15 <= -float(least) <= proved[1] + 1e-15
    assert proved[1] - proved[0] < 1e-12


@pytest.mark.parametrize("leakage", RATIOS)
def test_no_multipliers_prove_less_than_what_any_release_costs(leakage: str) -> None:
    there = problem(4, leakage)
    large = [[1e6] * 4] * 4
    proved = there.prove_bound({"kind": "bands", "above": large, "below": [[0.0] * 4] * 4})
    assert proved == there.prove_bound({"kind": "analytic"})
    rows = len(posterior_rows(there.ratios(there.budget)))
    assert there.prove_bound({"kind": "linear", "multipliers": [[1e6] * rows] * 4}) == proved


@pytest.mark.parametrize(
    "dual",
    [
        {"kind": "bands", "above": [[1.0]], "below": [[1.0]]},
        {"kind": "bands", "above": [[-1.0] * 3] * 3, "below": [[0.0] * 3] * 3},
        {"kind": "bands", "above": [[math.nan] * 3] * 3, "below": [[0.0] * 3] * 3},
        {"kind": "bands", "above": [[0.0] * 3] * 3},
    ],
)
def test_malformed_bands_prove_nothing(dual: dict[str, object]) -> None:
    assert problem(3, "lip").proved_bound(dual) is None
    assert problem(3, "mutual_information").proved_bound(dual) is None


def test_a_level_is_not_proved_where_a_release_keeps_it() -> None:
    there = problem(5, "lip", name="max_distortion", value=0.1)
    solution = po.solve(there, "interior-point")
    assert isinstance(solution.dual, dict)
    assert solution.leakage is not None
    assert there.proved_bound(solution.dual) is not None
    assert there.proved_bound({**solution.dual, "level": solution.leakage * 1.001}) is None


@pytest.mark.parametrize("leakage", [*LINEAR, "mutual_information"])
@pytest.mark.parametrize(("name", "value"), [("max_leakage", 0.2), ("max_distortion", 0.1)])
def test_cheap_releases_are_private_and_better_than_the_anchor(leakage: str, name: str, value: float) -> None:
    there = problem(30, leakage, name=name, value=value)
    solution = po.solve(there, "exponential-mixing")
    assert solution.status is po.Status.FEASIBLE
    assert solution.certified
    assert solution.stats["repaired"] == 0.0
    assert solution.objective is not None
    assert solution.objective > there.evaluate(there.anchor()).objective


def test_what_cannot_be_judged_in_time_is_said_to() -> None:
    small, large = problem(10, "lip"), problem(120, "lip")
    assert small.judging_seconds < 0.1 < large.judging_seconds


def test_an_interrupted_search_still_proposes_what_it_has() -> None:
    solution = po.solve(problem(40, "ldp"), "interior-point", time_limit=0.2)
    assert solution.status.ok
    assert solution.bound is not None


@pytest.mark.parametrize("leakage", ["mutual_information", "lip", "ldp"])
@pytest.mark.parametrize("seed", range(3))
def test_no_temperature_that_could_win_is_left_out(leakage: str, seed: int) -> None:
    there = problem(8, leakage, seed, value=0.1)
    space = Space(there)
    unit = 1.0 / (space.excess / space.weights[:, None]).mean()
    reached = []
    for narrower in NARROWER:
        for temperature in TEMPERATURES:
            matrix = exponential(space, unit * temperature, unit * narrower)
            kept, output = largest_mixture(space, matrix), space.weights @ matrix / space.weights.sum()
            reached.append(float((space.excess * (kept * matrix + (1 - kept) * output)).sum()))
    proposed = ExponentialMixing().run(there, po.Budget(math.inf)).mechanism
    assert isinstance(proposed, po.Channel)
    cost = -there.evaluate(proposed).objective - float(there.costs.least)
    assert min(reached[: len(TEMPERATURES)]) >= cost - 1e-3 * abs(cost)
    assert cost >= min(reached) - 1e-3 * abs(min(reached))


def dependent(n: int, seed: int) -> po.JointDistribution:
    """Six secrets and more symbols: their posteriors depend on each other linearly."""
    rng = np.random.default_rng(seed)
    return po.JointDistribution.normalised(rng.dirichlet(np.ones(n), size=6) / 6)


def least_of_silence(joint: po.JointDistribution, cost: Floats) -> float:
    """The least distortion of a release that is independent of the secret, by a linear program of all cells."""
    from scipy.optimize import linprog

    p = np.asarray(joint.table, dtype=float)
    n, outputs = cost.shape
    rows = p - np.outer(p.sum(axis=1), p.sum(axis=0))
    found: Any = linprog(
        (p.sum(axis=0)[:, None] * cost).ravel(),
        A_eq=np.vstack([np.kron(rows[:-1], np.eye(outputs)), np.kron(np.eye(n), np.ones(outputs))]),
        b_eq=np.concatenate([np.zeros(5 * outputs), np.ones(n)]),
        method="highs",
    )
    return float(found.fun)


@pytest.mark.parametrize("leakage", ["mutual_information", "maximal_leakage", "lip"])
@pytest.mark.parametrize("seed", range(3))
def test_what_need_not_leak_is_found_by_projections_down_to_the_least_distortion(
    leakage: str, seed: int
) -> None:
    joint, cost = dependent(70, seed), line(70)
    least = least_of_silence(joint, cost)
    for room in (1.05, 1.5):
        there = po.DistortionPrivacy(joint, cost, max_distortion=room * least, leakage=leakage)
        solution = po.solve(there)
        assert solution.status is po.Status.OPTIMAL
        assert solution.certified
        assert solution.leakage is not None
        assert solution.leakage <= 1e-15
        assert solution.stats["stop"] == "nothing needs to leak"
    below = po.DistortionPrivacy(joint, cost, max_distortion=0.98 * least, leakage=leakage)
    assert silent_matrix(Space(below), Budget()) is None


@pytest.mark.parametrize("seed", range(4))
def test_small_tables_leak_nothing_from_the_least_distortion_on_and_something_below(seed: int) -> None:
    joint, cost = dependent(9, seed), 1.0 - np.eye(9)
    least = least_of_silence(joint, cost)
    space = Space(po.DistortionPrivacy(joint, cost, max_distortion=1.001 * least))
    silent = silent_release(space, Budget())
    assert silent is not None
    assert isinstance(silent.mechanism, po.Channel)
    assert space.problem.evaluate(silent.mechanism).leakage <= 1e-15
    below = po.DistortionPrivacy(joint, cost, max_distortion=0.98 * least)
    assert silent_release(Space(below), Budget()) is None
    leaking = po.solve(below)
    assert leaking.status is po.Status.OPTIMAL
    assert leaking.leakage is not None
    assert leaking.leakage > 1e-8


@pytest.mark.parametrize("leakage", LINEAR)
@pytest.mark.parametrize("cap", [0.02, 0.3, 1.5])
def test_a_program_of_few_cells_grows_to_the_optimum_of_the_interior_points(leakage: str, cap: float) -> None:
    problem = po.DistortionPrivacy(table(24, 5), line(24), max_leakage=cap, leakage=leakage)
    space = Space(problem)
    if leakage == "maximal_leakage":
        best = least_guess(space, math.exp(cap), Budget(), few=True)
    else:
        best = least_distortion(space, problem.ratios(cap), Budget(), few=True)
    assert best.whole
    other = po.solve(problem, "interior-point")
    assert other.status is po.Status.OPTIMAL
    reached = problem.evaluate(space.release(best.matrix))
    assert reached.objective == pytest.approx(other.objective, rel=1e-6)
    assert reached.leakage <= cap + 1e-8


def test_a_program_of_few_cells_that_is_stopped_has_a_release_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The time is over after a few of its programs."""
    problem = po.DistortionPrivacy(table(24, 5), line(24), max_leakage=0.02, leakage="lip")
    left = iter([True] * 2 + [False] * 50)
    solved = highs._Growing.solved
    monkeypatch.setattr(
        highs._Growing, "solved", lambda self, seconds: solved(self, 10.0) if next(left) else None
    )
    space = Space(problem)
    best = least_distortion(space, problem.ratios(0.02), Budget(), few=True)
    assert not best.whole
    reached = problem.evaluate(space.release(best.matrix))
    assert reached.leakage <= 0.02 + 1e-8
    constant = problem.evaluate(problem.constant()).objective
    optimum = po.solve(problem, "interior-point").objective
    assert optimum is not None
    assert constant <= reached.objective <= optimum + 1e-6

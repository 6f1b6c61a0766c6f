"""Value tables of the sequential form: below every control in exact arithmetic, and bounds that close in on the optimum."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from instances.few import few

import privopt as po
from privopt.problems.redaction.sequential_tables import sequential_table
from privopt.problems.redaction.track import Track, of_floats


def random_track(rng: np.random.Generator, length: int, repeated: bool) -> Track:
    rates = rng.uniform(0.01, 0.45, (1 if repeated else length, 2))
    rates[:, 0] *= rng.choice([1.0, 1e-6])
    a, b = np.broadcast_to(rates, (length, 2)).T
    steps = np.stack((np.stack((1 - a, a), -1), np.stack((b, 1 - b), -1)), 1)
    weights = rng.uniform(0, 1, (1 if repeated else length, 2))
    return of_floats(steps, np.broadcast_to(weights, (length, 2)))


def step(track: Track, distance: int) -> list[list[Fraction]]:
    i = track.index(distance)
    a, b = Fraction(float(track.cross[i])), Fraction(float(track.back[i]))
    return [[1 - a, a], [b, 1 - b]]


def moved(row: list[Fraction], by: list[list[Fraction]]) -> list[Fraction]:
    return [row[0] * by[0][v] + row[1] * by[1][v] for v in (0, 1)]


def cost_of(
    track: Track, first: int, start: list[Fraction], state: Fraction, controls: list[float]
) -> Fraction:
    """The exact cost of some controls from a state, all being hidden up to a distance: at least the value."""
    alive, cost, rho = start, Fraction(0), state
    for d in range(1, first):
        alive = moved(alive, step(track, d))
    for d in range(first, track.length + 1):
        if rho <= 0:
            break
        alive = moved(alive, step(track, d))
        s = rho + (1 - rho) * Fraction(controls[d - first])
        alive[0] *= rho / s
        cost += sum(Fraction(float(w)) for w in track.weights[track.index(d)]) * sum(alive)
        if d < track.length:
            (_, a), (b, _) = step(track, d + 1)
            rho = ((1 - b) * s - a) / ((1 - a) - b * s)
    return cost


@pytest.mark.parametrize("seed", few(range(40), 8))
def test_tables_are_below_every_control_in_exact_arithmetic(seed: int) -> None:
    rng = np.random.default_rng(seed)
    track = random_track(rng, int(rng.integers(1, 6)), seed % 2 == 0)
    start = tuple(rng.dirichlet([1.0, 1.0]).tolist())
    cap = float(rng.choice([math.inf, 0.5, 0.05]))
    table = sequential_table(track, start, (int(rng.integers(4, 40)), int(rng.integers(2, 7)), 50), cap)
    exact = [Fraction(share) for share in start]
    for distance in range(1, track.length + 1):
        states = np.concatenate((rng.uniform(0, 1, 4), 10.0 ** rng.uniform(-12, 0, 2)))
        bounds = table.at(track, distance, states)
        for state, bound in zip(states.tolist(), bounds.tolist(), strict=True):
            for _ in range(8):
                controls = (rng.random(track.length) ** rng.choice([1, 4, 30])).tolist()
                assert Fraction(bound) <= cost_of(track, distance, exact, Fraction(state), controls)


def test_fine_tables_come_near_the_best_of_a_grid_of_controls() -> None:
    rng = np.random.default_rng(1)
    track = random_track(rng, 2, False)
    state, start = 0.3, (0.6, 0.4)
    (bound,) = sequential_table(track, start, (80, 17, 50), math.inf).at(track, 1, np.array([state])).tolist()
    exact = [Fraction(share) for share in start]
    grid = np.linspace(0, 1, 60) ** 2
    best = min(float(cost_of(track, 1, exact, Fraction(state), [c, 1.0])) for c in grid)
    assert bound <= best <= bound + 2e-2


@pytest.mark.parametrize("rates", [(0.026, 0.029), (0.3, 0.1)])
def test_a_longer_rest_costs_no_less_and_more_rays_prove_no_less(rates: tuple[float, float]) -> None:
    """Jumps of the cost make narrow cells with steep lines, whose least value is at an end."""
    a, b = rates
    steps, weights = np.tile([[1 - a, a], [b, 1 - b]], (40, 1, 1)), np.tile([0.4, 0.6], (40, 1))
    states = np.array([0.05, 0.3, 0.7])
    values = np.array(
        [
            [
                sequential_table(of_floats(steps[:n], weights[:n]), (0.5, 0.5), (32, rays, 50), math.inf).at(
                    of_floats(steps[:n], weights[:n]), 1, states
                )
                for n in (5, 10, 20, 40)
            ]
            for rays in (3, 5, 9)
        ]
    )
    assert np.diff(values, axis=1).min() >= -1e-3 * values.max()
    assert np.diff(values, axis=0).min() >= -1e-3 * values.max()


PROBLEMS = {
    "stationary": po.Redaction(po.MarkovChain([[0.9, 0.1], [0.2, 0.8]]), 9, 4, 1.0, form="sequential"),
    "alternating": po.Redaction(po.MarkovChain([[0.2, 0.8], [0.9, 0.1]]), 7, 2, 0.5, form="sequential"),
    "weighted": po.Redaction(
        po.MarkovChain([[0.95, 0.05], [0.3, 0.7]]), 5, 0, 0.7, form="sequential", weights=[0, 1, 0, 3, 2]
    ),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_no_private_mechanism_beats_the_bound(name: str) -> None:
    problem, rng = PROBLEMS[name], np.random.default_rng(5)
    proved = problem.prove_bound({"nodes": 24, "rows": 20, "share": 1e-3, "rays": 5})
    assert proved is not None
    for _ in range(20):
        table = np.where(rng.random((problem.length, 2)) < 0.5, rng.random((problem.length, 2)), 1.0)
        table[list(problem.private)] = 1.0
        mechanism = problem.repair(problem.answer(table), 1e-12)
        assert problem.evaluate(mechanism).utility <= proved[1]


@pytest.mark.long
@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_long_and_slow_chains_are_proved_nearly_optimal(epsilon: float) -> None:
    chain = po.MarkovChain([[0.97, 0.03], [0.05, 0.95]])
    solution = po.solve(po.Redaction(chain, 100, 50, epsilon, form="sequential"), time_limit=20.0)
    assert solution.bound is not None
    assert solution.utility is not None
    assert solution.bound - solution.utility <= 1e-3 * solution.utility


@pytest.mark.long
@pytest.mark.parametrize("name", PROBLEMS)
def test_bounds_meet_what_the_search_finds(name: str) -> None:
    problem = PROBLEMS[name]
    solution = po.solve(problem, "sequential", time_limit=20.0)
    assert solution.utility is not None
    assert solution.bound is not None
    assert 0 <= solution.bound - solution.utility <= 0.01 * solution.utility
    assert po.verify(problem, solution).ok


@pytest.mark.long
def test_the_search_of_boxes_gives_no_smaller_bound_than_the_optimum_of_the_tables() -> None:
    """Two proofs that share nothing: neither may refute what the other's mechanism reaches."""
    problem = po.Redaction(po.MarkovChain([[0.75, 0.25], [0.5, 0.5]]), 5, 2, 0.5, form="sequential")
    found = po.solve(problem, "sequential", time_limit=20.0)
    boxes = problem.prove_bound({"kind": "boxes", "begin": 0, "end": 5, "cutoff": 1.0, "boxes": 1500})
    assert boxes is not None
    assert found.utility is not None
    assert found.bound is not None
    assert found.utility <= boxes[1]
    assert abs(found.bound - boxes[1]) <= 0.03


@pytest.mark.parametrize(
    "change", [{"rays": 1}, {"rays": 1 << 11}, {"nodes": 1 << 15, "rays": 1000}, {"share": "x"}]
)
def test_damaged_duals_prove_nothing(change: dict[str, object]) -> None:
    problem, dual = PROBLEMS["stationary"], {"nodes": 16, "rows": 20, "share": 1e-6, "rays": 5}
    assert problem.prove_bound(dual) is not None
    assert problem.prove_bound({**dual, **change}) is None
    assert problem.prove_bound({k: v for k, v in dual.items() if k != "rays"}) is None
    assert problem.prove_bound(dual, 0.0) is None

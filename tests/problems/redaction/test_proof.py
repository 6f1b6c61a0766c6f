"""What the bounds of redaction rest on: tables against exact values, rare steps, hostile duals, other settings."""

from __future__ import annotations

import itertools
import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from instances.few import few
from oracles import enumeration

import privopt as po
from privopt.problems.redaction.bound import Budgets, Setting, Whole, start
from privopt.problems.redaction.tables import lower_table
from privopt.problems.redaction.track import Track, Walker, of_floats, tracks
from privopt.solvers.redaction.optimal.side import Side


def random_side(rng: np.random.Generator, length: int, repeated: bool) -> Side:
    rates = rng.uniform(0.01, 0.6, (1 if repeated else length, 2))
    if rng.random() < 0.3:
        rates[:, 0] *= 1e-6
    a, b = np.broadcast_to(rates, (length, 2)).T
    steps = np.stack((np.stack((1 - a, a), -1), np.stack((b, 1 - b), -1)), 1)
    weights = rng.uniform(0, 1, (1 if repeated else length, 2)) / length
    return Side(steps, np.broadcast_to(weights, (length, 2)))


def track_of(side: Side) -> Track:
    return of_floats(side.steps, side.weights)


def exact_step(track: Track, distance: int) -> tuple[Fraction, Fraction]:
    """The step into a distance, of a track made of floats without exchanged labels."""
    i = track.index(distance)
    return Fraction(float(track.cross[i])), Fraction(float(track.back[i]))


def value_from(track: Track, distance: int, state: Fraction, controls: list[float]) -> Fraction:
    """The exact cost of some controls from a state: at least the value."""
    cost, rho = Fraction(0), state
    for d in range(distance, track.length + 1):
        if rho <= 0:
            break
        w0, w1 = (Fraction(float(w)) for w in track.weights[track.index(d)])
        s = rho + (1 - rho) * Fraction(controls[d - distance])
        cost += w1 + w0 * rho / s
        if d < track.length:
            a, b = exact_step(track, d + 1)
            rho = ((1 - b) * s - a) / ((1 - a) - b * s)
    return cost


@pytest.mark.parametrize("seed", few(range(40), 10))
def test_tables_are_below_every_control_in_exact_arithmetic(seed: int) -> None:
    rng = np.random.default_rng(seed)
    track = track_of(random_side(rng, int(rng.integers(1, 7)), seed % 2 == 0))
    if (np.array([float(det) for det in track.determinants]) <= 0).any():
        pytest.skip("labels are exchanged")
    table = lower_table(track, int(rng.integers(4, 60)), 10.0, 50)
    for distance in range(1, track.length + 1):
        row = table.row(track, distance)
        inner = rng.choice(row.nodes[1:-1], 3)
        states = np.concatenate((rng.uniform(0, 1, 5), 10.0 ** rng.uniform(-12, 0, 3), inner))
        bounds = row.at(states)
        for state, bound in zip(states.tolist(), bounds.tolist(), strict=True):
            for _ in range(8):
                controls = (rng.random(track.length) ** rng.choice([1, 4, 30])).tolist()
                assert Fraction(bound) <= value_from(track, distance, Fraction(state), controls)


@pytest.mark.parametrize("seed", few(range(20), 6))
def test_kappa_is_met_exactly(seed: int) -> None:
    """Controls that just reach a full release are where a table that rounds the wrong way is found out."""
    rng = np.random.default_rng(seed)
    a, b = Fraction(float(rng.uniform(0.01, 0.5))), Fraction(float(rng.uniform(0.01, 0.4)))
    w = rng.uniform(0.1, 1, (2, 2))
    step = np.array([[1 - float(a), float(a)], [float(b), 1 - float(b)]])
    track = of_floats(np.array([step, step]), w)
    table = lower_table(track, 40, 10.0, 50)
    kappa = a / (1 - b)
    below = math.nextafter(float(kappa), 0.0)
    below = below if Fraction(float(kappa)) > kappa else float(kappa)
    row = table.row(track, 1)
    for state in (below, below / 2, below * 0.999):
        exact = Fraction(float(w[0, 1])) + Fraction(float(w[0, 0])) * Fraction(state) / kappa
        assert Fraction(float(row.at(np.array([state]))[0])) <= exact
    grid = [[c, last] for c in [0.0, *np.linspace(0, 1, 200).tolist()] for last in (0.0, 0.5, 1.0)]
    best = min(float(value_from(track, 1, Fraction(below), controls)) for controls in grid)
    assert best - 1e-2 <= row.at(np.array([below]))[0] <= best


@pytest.mark.parametrize("seed", range(60))
def test_states_are_lower_ends(seed: int) -> None:
    from flint import arb, ctx

    rng = np.random.default_rng(seed)
    track = track_of(random_side(rng, 12, seed % 2 == 0))
    far = Walker(track, lambda: math.inf).far(12)
    epsilon = float(10.0 ** rng.uniform(-9, 1.3))
    budgets = Whole.of(epsilon).budget
    saved = ctx.prec
    try:
        ctx.prec = 300
        product = [[arb(1), arb(0)], [arb(0), arb(1)]]
        for d in range(1, track.length + 1):
            a, b, det = track.steps[track.index(d)]
            step = [[1 - a, a], [b, det + a]]
            product = [
                [sum((row[i] * step[i][j] for i in range(2)), arb(0)) for j in range(2)] for row in product
            ]
            e = (-arb(epsilon)).exp()
            f = [-product[0][j] * e.rsqrt() ** 2 + product[1][j] for j in range(2)]
            state = f[1] / -f[0]
            lower = arb(float(start(far, d, budgets)[0]))
            if state <= 0:
                assert lower <= 0
            else:
                assert not lower > state
                assert abs(float(lower) - float(state)) <= 1e-13
    finally:
        ctx.prec = saved


def test_budgets_are_split_without_losing_any() -> None:
    whole = Whole.of(1.5)
    low = Budgets.at(np.array([1.0]), np.array([0.0]))
    high = whole.budget
    for _ in range(60):
        middle = low.middle(high)
        assert float(low.gone[0]) <= float(middle.gone[0]) <= float(high.gone[0])
        other = whole.others(middle)
        left, right = -math.log(float(middle.rest[0])), -math.log(float(other.rest[0]))
        assert left + right >= 1.5 - 1e-15
        assert left + right <= 1.5 + 1e-9
        low = middle


RARE = (5e-324, 1e-300, 1e-20)


def rare_chains() -> list[po.MarkovChain]:
    """Chains with steps too rare for most floats, in every place."""
    chains = []
    for rare in RARE:
        tiny = Fraction(rare)
        for a, b in (
            (tiny, Fraction(1, 2)),
            (Fraction(1, 4), tiny),
            (tiny, tiny),
            (1 - tiny, Fraction(1, 4)),
            (tiny, 1 - tiny),
        ):
            chains.append(po.MarkovChain([[1 - a, a], [b, 1 - b]]))
            chains.append(po.MarkovChain([[1 - a, a], [b, 1 - b]], initial=[Fraction(1, 3), Fraction(2, 3)]))
    return chains


@pytest.mark.parametrize("number", few([n for k in range(3) for n in range(k, len(rare_chains()), 3)], 10))
@pytest.mark.parametrize("epsilon", few((1.0, 745.0, 1e-3, 30.0, 700.0), 1))
def test_rare_steps_are_solved_or_refused_in_a_sentence(number: int, epsilon: float) -> None:
    chain = rare_chains()[number]
    problem = po.Redaction(chain, 4, 1, epsilon)
    solutions = [po.solve(problem, name) for name in ("optimal", "windows", "relaxation")]
    bound = solutions[0].bound
    for solution in solutions:
        assert solution.status.ok or solution.reason
        if not solution.status.ok:
            continue
        assert po.verify(problem, solution).ok
        shown = solution.mechanism.probabilities
        exact = enumeration.utility(chain, shown, [1.0] * 4)
        ratio = enumeration.largest_ratio(
            enumeration.output_distributions(chain, 1, enumeration.fractions(shown))
        )
        assert ratio is not None
        assert math.log(ratio.numerator) - math.log(ratio.denominator) <= epsilon * (1 + 1e-9)
        if bound is not None:
            assert exact <= Fraction(bound)
    if bound is not None:
        assert best_of_all_windows(chain, epsilon) <= Fraction(bound)


def best_of_all_windows(chain: po.MarkovChain, epsilon: float) -> Fraction:
    """The most that a mechanism releases which shows each value always or never, by enumeration."""
    best = Fraction(0)
    for cells in itertools.product((0.0, 1.0), repeat=6):
        table = np.ones((4, 2))
        table[[0, 2, 3]] = np.array(cells).reshape(3, 2)
        gain = enumeration.utility(chain, table, [1.0] * 4)
        if gain <= best:
            continue
        ratio = enumeration.largest_ratio(
            enumeration.output_distributions(chain, 1, enumeration.fractions(table))
        )
        if ratio is not None and math.log(ratio.numerator) - math.log(ratio.denominator) <= epsilon:
            best = gain
    return best


PUBLIC = po.Redaction(po.MarkovChain([[0.75, 0.25], [0.5, 0.5]]), 5, 2, 1.0)
GOOD: dict[str, Any] = {"nodes": 128, "rows": 10, "share": 1e-7}
HOSTILE: list[Any] = [
    None,
    [],
    "",
    0,
    {**GOOD, "nodes": math.nan},
    {**GOOD, "nodes": math.inf},
    {**GOOD, "nodes": 1e9},
    {**GOOD, "nodes": -5},
    {**GOOD, "nodes": 1},
    {**GOOD, "nodes": "128"},
    {**GOOD, "nodes": True},
    {**GOOD, "nodes": 10**400},
    {**GOOD, "nodes": [128]},
    {**GOOD, "rows": 0},
    {**GOOD, "rows": math.nan},
    {**GOOD, "rows": None},
    {**GOOD, "share": -1},
    {**GOOD, "share": math.nan},
    {**GOOD, "share": math.inf},
    {**GOOD, "share": 2},
    {**GOOD, "more": 1},
    {"nodes": 128, "rows": 10},
    {"kind": "central", "multipliers": [1e17] * 161 + [math.nan]},
]


@pytest.mark.parametrize("dual", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_duals_are_refused(dual: object) -> None:
    assert PUBLIC.check_bound(0.5, dual) is None


def test_a_dual_may_not_ask_for_hours() -> None:
    long = po.Redaction(
        po.MarkovChain([[0.999, 0.001], [0.002, 0.998]]), 60_000, 30_000, 1.0, weights=[1] * 60_000
    )
    assert long.check_bound(0.5, {"nodes": 65536, "rows": 65536, "share": 0}) is None
    assert PUBLIC.check_bound(0.5, {"nodes": 65536, "rows": 65536, "share": 0}) is not None


@pytest.mark.parametrize("size", [1e13, 1e17, 1e150, 1e300, 1.7e308])
def test_huge_multipliers_that_cancel_prove_nothing_false(size: float) -> None:
    optimum = 0.651069982358
    rng = np.random.default_rng(3)
    for multipliers in (
        [size] * 162,
        (size * rng.random(162)).tolist(),
        np.where(rng.random(162) < 0.5, size, 0.0).tolist(),
    ):
        proved = PUBLIC.check_bound(-math.inf, {"kind": "central", "multipliers": multipliers})
        assert proved is None or proved >= optimum


@pytest.mark.parametrize(
    ("nodes", "rows", "share"), [(2, 1, 0.0), (3.7, 2.2, 1.0), (2, 1 << 16, 1), (64, 3, 0)]
)
def test_poor_duals_prove_poor_bounds(nodes: float, rows: float, share: float) -> None:
    proved = PUBLIC.check_bound(0.0, {"nodes": nodes, "rows": rows, "share": share})
    assert proved is not None
    assert 0.651069982358 <= proved <= 1.0


def test_a_bound_below_its_own_objective_is_refused() -> None:
    solution = po.solve(PUBLIC)
    assert solution.bound is not None
    assert solution.objective is not None
    for bound in (solution.objective - 1e-9, 0.0, -math.inf, math.nan):
        assert not po.verify(PUBLIC, replace(solution, bound=bound)).ok


def test_nothing_allowed_is_proved_exactly() -> None:
    """Optima of 0 need a bound of 0, not one of a few roundings."""
    for chain in (
        po.MarkovChain([[0.9, 0.1], [0.4, 0.6]]),
        po.MarkovChain([[0.9, 0.1], [0.8, 0.2]], initial=[0.3, 0.7]),
    ):
        for n, p, epsilon in ((20, 7, 0.0), (7, 3, 1e-6), (9, 0, 1e-9)):
            solution = po.solve(po.Redaction(chain, n, p, epsilon))
            assert (solution.status, solution.objective, solution.bound) == (po.Status.OPTIMAL, 0.0, 0.0)


@pytest.mark.long
def test_examples_stay_optimal() -> None:
    for example in po.Redaction.examples():
        if example.optimum is None or example.problem.robust:
            continue
        solution = po.solve(example.problem, "optimal")
        assert solution.status is po.Status.OPTIMAL, example.name
        assert solution.objective == pytest.approx(example.optimum, abs=1e-8)
        enclosure = example.problem.prove_bound(solution.dual)
        assert enclosure is not None
        assert enclosure[0] <= enclosure[1] <= enclosure[0] * (1 + 1e-12)


def test_a_setting_from_floats_and_one_from_the_chain_agree() -> None:
    problem = po.Redaction(po.MarkovChain([[0.9, 0.1], [0.4, 0.6]]), 12, 4, 0.7)
    exact = Setting(*tracks(problem, 4, lambda: math.inf), 0.7)
    marginal, step = np.array([0.8, 0.2]) / 12, np.array([[0.9, 0.1], [0.4, 0.6]])
    sides = [Side(np.broadcast_to(step, (m, 2, 2)), np.broadcast_to(marginal, (m, 2))) for m in (4, 7)]
    rough = Setting(track_of(sides[0]), track_of(sides[1]), 0.7)
    assert exact.bound(GOOD) == pytest.approx(rough.bound(GOOD), rel=1e-12)


SETTINGS = (
    {"NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4", "OPENBLAS_CORETYPE": "Prescott"},
    {"OPENBLAS_CORETYPE": "Haswell", "OPENBLAS_NUM_THREADS": "1"},
)


@pytest.mark.long
def test_answers_verify_under_other_settings_of_the_processor(tmp_path: Path) -> None:
    """What one processor solved another one proves: same bounds to the last digit."""
    problems = [example.problem for example in po.Redaction.examples()]
    rng = np.random.default_rng(5)
    for i in range(12):
        length = int(rng.integers(2, 9))
        kind = ("stationary", "started", "stepwise")[i % 3]
        chain = enumeration.random_chain(rng, 2, kind, length)
        problems.append(
            po.Redaction(chain, length, int(rng.integers(length)), float(np.exp(rng.uniform(-2, 1))))
        )
    for i, problem in enumerate(problems):
        assert isinstance(problem, po.Redaction)
        closed = problem.ambiguity is not None or (problem.chain.k == 2 and len(problem.private) == 1)
        po.solve(problem, None if closed else "windows", time_limit=5).save(tmp_path / f"{i}.json")
        (tmp_path / f"{i}.problem.json").write_text(json.dumps(problem.to_dict()))
    code = (
        "import json, sys, pathlib, privopt as po\n"
        "for path in sorted(pathlib.Path(sys.argv[1]).glob('*.problem.json')):\n"
        "    problem = po.load_problem(path)\n"
        "    solution = po.Solution.load(path.with_name(path.name.replace('.problem', '')))\n"
        "    proved = problem.prove_bound(solution.dual) if solution.dual is not None else None\n"
        "    print(json.dumps([path.name, po.verify(problem, solution).ok, proved]))\n"
    )
    said = []
    for setting in ({}, *SETTINGS):
        run = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code, str(tmp_path)],
            env={**os.environ, **setting},
            capture_output=True,
            text=True,
            check=True,
        )
        said.append([json.loads(line) for line in run.stdout.splitlines()])
        assert len(said[-1]) == len(problems)
        assert all(ok for _, ok, _ in said[-1])
    assert said[0] == said[1] == said[2]

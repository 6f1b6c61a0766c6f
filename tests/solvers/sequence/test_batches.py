"""Kernels on words: published values, other programs as oracles, and invariants."""

from __future__ import annotations

import math
from itertools import count, pairwise, product
from types import SimpleNamespace

import mpmath
import networkx as nx
import numpy as np
import pytest
from mpmath import mpf
from scipy.optimize import linprog

import privopt as po
from privopt.arrays import Floats
from privopt.core.balls import Balls
from privopt.mechanisms.policy.fixed import Levels
from privopt.mechanisms.policy.formulas.program import Table, solve_program
from privopt.mechanisms.policy.formulas.types import joint_types
from privopt.mechanisms.policy.formulas.word_groups import (
    gather,
    solve_in_few_groups,
    solve_quickly,
    transported,
)
from privopt.mechanisms.policy.formulas.words import (
    WordAnswer,
    orbit_words,
    repair,
    solve_words,
    uniform_words,
)
from privopt.problems.belief_release.bound import priced
from privopt.solvers.sequence import batches
from privopt.solvers.sequence.aggregate import solve_aggregated
from privopt.solvers.sequence.interior import Matter, interior
from privopt.solvers.sequence.widening import Widened, fill, serve, widen

STEP = np.array([[0.8, 0.2], [0.3, 0.7]])
STICKY = np.array([[0.9, 0.1], [0.1, 0.9]])


def priced_bound(p: Floats, cost: Floats, nats: float, lam: Floats) -> float:
    proved = priced(Balls.exact(p), cost, nats, lam)
    return math.inf if proved is None else proved[1]


def listed(letters: int, length: int) -> np.ndarray:
    return np.array(list(product(range(letters), repeat=length)))


def words(step: Floats, start: Floats, length: int) -> tuple[Floats, Floats]:
    """Distribution and mean Hamming distortion of all words."""
    table = listed(len(start), length)
    p = start[table[:, 0]]
    for i in range(1, length):
        p = p * step[table[:, i - 1], table[:, i]]
    return p, (table[:, None] != table[None]).mean(axis=2)


def plain_optimum(p: Floats, cost: Floats, epsilon: float) -> float:
    """The definition, in the variables a(y | x), by HiGHS."""
    (n, m), low = cost.shape, math.exp(-epsilon)
    below = []
    for x, y in product(range(n), range(m)):
        mine, distribution = np.zeros((n, m)), np.zeros((n, m))
        mine[x, y], distribution[:, y] = 1.0, p
        below += [(low * distribution - mine).ravel(), (low * mine - distribution).ravel()]
    solution = linprog(
        (p[:, None] * cost).ravel(),
        A_ub=np.array(below),
        b_ub=np.zeros(len(below)),
        A_eq=np.kron(np.eye(n), np.ones(m)),
        b_eq=np.ones(n),
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert solution.fun is not None
    return float(solution.fun)


def leakage(p: Floats, kernel: Floats) -> float:
    """The largest |ln a(y | x) / Q(y)|, in 50 digits."""
    mpmath.mp.dps = 50
    worst = mpf(0)
    for y in range(kernel.shape[1]):
        column = [(mpf(float(b)), mpf(float(a))) for b, a in zip(p, kernel[:, y], strict=True) if b > 0]
        distribution = sum(b * a for b, a in column) / sum(b for b, _ in column)
        if distribution > 0:
            worst = max(worst, *(abs(mpmath.log(a / distribution)) for _, a in column))
    return float(worst)


def check(p: Floats, cost: Floats, epsilon: float, answer: WordAnswer | None, gap: float = 1e-8) -> float:
    assert answer is not None
    assert answer.kernel.shape == cost.shape
    np.testing.assert_allclose(answer.kernel.sum(axis=1), 1.0, rtol=1e-12)
    assert leakage(p, answer.kernel) <= epsilon * (1 + 1e-12)
    assert float(p @ (answer.kernel * cost).sum(axis=1)) == pytest.approx(answer.value, rel=1e-12)
    assert answer.bound <= answer.value
    assert answer.value - answer.bound <= gap
    return answer.value


@pytest.mark.parametrize(
    ("length", "epsilon", "value"),
    [(2, 1.0, 0.24819150640920878), (3, 2.0, 0.09449394617421311), (5, 2.5, 0.09058187033971153)],
)
def test_published_values_of_chains(length: int, epsilon: float, value: float) -> None:
    p, cost = words(STEP, np.array([0.5, 0.5]), length)
    for program in (None, solve_program):
        answer = solve_words(p, cost, epsilon, 60.0, *([program] if program else []))
        assert check(p, cost, epsilon, answer) == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize(
    ("letters", "length", "epsilon", "value"),
    [(2, 5, 2.5, 0.1489979435741723), (3, 4, 2.0, 0.29867560845011354), (2, 100, 50.0, 0.05657930350638742)],
)
def test_published_values_of_uniform_letters(letters: int, length: int, epsilon: float, value: float) -> None:
    distortion = po.measures.iid_batch_distortion(letters, length, epsilon)
    assert distortion.value == pytest.approx(value, abs=1e-13)
    assert distortion.bound <= value


def test_published_value_of_biased_letters() -> None:
    distortion = po.measures.iid_batch_distortion([0.7, 0.3], 8, 4.0)
    assert distortion.value == pytest.approx(0.0639264157910421, abs=1e-9)
    assert distortion.bound <= 0.0639264157910421 + 1e-15


def test_uniform_letters_in_fifty_digits() -> None:
    mpmath.mp.dps = 50
    for letters, length, epsilon in [(2, 300, 40.0), (5, 60, 70.0), (3, 7, 0.01), (2, 9, 900.0)]:
        theta, low = 1 / (mpmath.exp(epsilon) + 1), mpmath.exp(-epsilon)
        left, total = theta, mpf(0)
        for d in range(length + 1):
            mass = min(mpmath.binomial(length, d) * mpf(letters - 1) ** d / mpf(letters) ** length, left)
            total, left = total + mass * d / length, left - mass
        value = low * mpf(letters - 1) / letters + (1 - low) * total / theta
        distortion = po.measures.iid_batch_distortion(letters, length, epsilon).value
        assert distortion == pytest.approx(float(value), rel=1e-11, abs=1e-300)


@pytest.mark.parametrize("epsilon", [0.1, 0.7, 2.0, 5.0])
def test_words_agree_with_the_definition(epsilon: float) -> None:
    rng = np.random.default_rng(int(10 * epsilon))
    for n, m in [(6, 6), (7, 4), (4, 9)]:
        p, cost = rng.dirichlet(np.ones(n)), rng.random((n, m))
        value = check(p, cost, epsilon, solve_words(p, cost, epsilon, 60.0))
        assert value == pytest.approx(plain_optimum(p, cost, epsilon), abs=1e-8)


def test_inputs_without_mass_bind_nothing() -> None:
    p, cost = np.array([0.5, 0.0, 0.3, 0.2]), 1.0 - np.eye(4)
    seen = p > 0
    for solve in (solve_words, solve_aggregated):
        value = check(p, cost, 0.8, solve(p, cost, 0.8, 30.0), 1e-3)
        assert value == pytest.approx(plain_optimum(p[seen], cost[seen], 0.8), abs=1e-3)


def test_all_or_nothing() -> None:
    p, cost = words(STEP, np.array([0.5, 0.5]), 3)
    for solve in (solve_words, solve_aggregated):
        nothing, everything = solve(p, cost, 0.0, 5.0), solve(p, cost, math.inf, 5.0)
        assert nothing is not None
        assert everything is not None
        assert nothing.value == pytest.approx(float((p @ cost).min()))
        assert everything.value == 0.0


def test_few_releases_are_as_good_as_all() -> None:
    rng = np.random.default_rng(3)
    p, places = rng.dirichlet(np.ones(100)), rng.random((100, 2))
    cost = np.linalg.norm(places[:, None] - places[None], axis=2)
    few = check(p, cost, 2.0, solve_words(p, cost, 2.0, 60.0))
    assert few == pytest.approx(check(p, cost, 2.0, solve_words(p, cost, 2.0, 60.0, solve_program)), abs=1e-8)


def test_more_releases_never_cost_more() -> None:
    rng = np.random.default_rng(4)
    p, cost = rng.dirichlet(np.ones(12)), rng.random((12, 10))
    values = [check(p, cost[:, :m], 1.0, solve_words(p, cost[:, :m], 1.0, 30.0)) for m in (2, 4, 7, 10)]
    assert all(a >= b - 1e-9 for a, b in pairwise(values))


def test_a_larger_budget_never_costs_more() -> None:
    p, cost = words(STICKY, np.array([0.1, 0.9]), 4)
    values = [check(p, cost, e, solve_words(p, cost, e, 30.0)) for e in (0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 25.0)]
    assert all(a >= b - 1e-9 for a, b in pairwise(values))


def test_prices_prove_what_the_certificate_of_one_step_proves() -> None:
    rng = np.random.default_rng(5)
    for n, m, epsilon in [(5, 5, 0.3), (200, 30, 2.0), (300, 20, 5.0)]:
        p, cost, lam = rng.dirichlet(np.ones(n)), rng.random((n, m)), rng.normal(size=n) * 0.1
        levels = Levels.of(epsilon)
        bound = Table.of(p, cost, levels).bound(levels.room * lam)
        free = float(p @ cost.min(axis=1))  # what every release costs, whatever the prices
        assert max(bound, free) == pytest.approx(-priced_bound(p, cost, epsilon, lam), abs=1e-12)


def test_types_count_all_pairs() -> None:
    for letters, columns, length in [(2, 2, 5), (3, 2, 3), (2, 3, 4)]:
        types = joint_types(letters, columns, length)
        distribution = np.random.default_rng(0).dirichlet(np.ones(letters))
        assert types.distribution(distribution).sum() == pytest.approx(1.0)
        sums = np.bincount(types.source, weights=types.share)
        np.testing.assert_allclose(sums, len(types.outputs), rtol=1e-12)


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 5.0])
def test_orbits_agree_with_words(epsilon: float) -> None:
    for distribution, length in [([0.7, 0.3], 5), ([0.5, 0.3, 0.2], 3), ([0.5, 0.5], 4)]:
        start = np.array(distribution)
        p, cost = words(np.tile(start, (len(start), 1)), start, length)
        orbit = orbit_words(p, listed(len(start), length), 1.0 - np.eye(len(start)), epsilon)
        value = check(p, cost, epsilon, orbit)
        assert value == pytest.approx(check(p, cost, epsilon, solve_words(p, cost, epsilon, 60.0)), abs=1e-8)
        assert po.measures.iid_batch_distortion(distribution, length, epsilon).value == pytest.approx(
            value, abs=1e-8
        )


def test_orbits_with_other_columns() -> None:
    letter_cost = np.array([[0.0, 1.0, 0.3], [1.0, 0.0, 0.4]])
    distribution = np.array([0.6, 0.4])
    table, releases = listed(2, 3), listed(3, 3)
    p = distribution[table].prod(axis=1)
    cost = letter_cost[table[:, None, :], releases[None, :, :]].mean(axis=2)
    value = check(p, cost, 1.5, orbit_words(p, table, letter_cost, 1.5))
    assert value == pytest.approx(check(p, cost, 1.5, solve_words(p, cost, 1.5, 60.0)), abs=1e-8)
    measured = po.measures.iid_batch_distortion([0.6, 0.4], 3, 1.5, letter_cost.tolist())
    assert measured.value == pytest.approx(value, abs=1e-8)


@pytest.mark.parametrize("epsilon", [0.4, 2.0, 6.0, 30.0])
def test_uniform_kernels_reach_their_value(epsilon: float) -> None:
    for letters, length in [(2, 5), (3, 3)]:
        start = np.full(letters, 1 / letters)
        p, cost = words(np.tile(start, (letters, 1)), start, length)
        value = check(p, cost, epsilon, uniform_words(p, cost, letters, length, epsilon))
        assert value == pytest.approx(
            po.measures.iid_batch_distortion(letters, length, epsilon).value, rel=1e-9, abs=1e-15
        )


def test_followers_share_a_row() -> None:
    p, cost = words(STICKY, np.array([0.1, 0.9]), 6)
    groups = gather(p, cost, 20)
    assert groups.p.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(groups.p @ groups.cost, p @ cost)
    answer = solve_quickly(p, cost, 2.0)
    assert answer is not None
    exact = solve_words(p, cost, 2.0, 30.0)
    assert exact is not None
    assert answer.bound <= exact.value <= answer.value + 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_words_are_transported_as_by_a_network(seed: int) -> None:
    """With whole units of mass the cheapest K of a given output distribution is a flow of least cost."""
    rng = np.random.default_rng(seed)
    mass = rng.integers(1, 9, size=7)
    p, cost = mass / mass.sum(), rng.integers(0, 50, size=(7, 4)).astype(float)
    levels = Levels.of(math.log(3))
    rows = rng.dirichlet(np.ones(4), size=2)[rng.integers(2, size=7)]
    rows = np.minimum(rows, 4 * p @ rows)
    own = transported(p, cost, rows, levels)
    given = rows / rows.sum(axis=1, keepdims=True)
    output = p @ given
    np.testing.assert_allclose(own.sum(axis=1), 1.0, atol=1e-9)
    np.testing.assert_allclose(p @ own, output, atol=1e-9)
    unit = 10**6
    flow = nx.DiGraph()
    wanted = np.floor(output * mass.sum() * unit).astype(int)
    wanted[-1] += mass.sum() * unit - wanted.sum()
    for x in range(7):
        flow.add_node(("in", x), demand=-int(mass[x]) * unit)
        for y in range(4):
            most = max(output[y] / levels.theta, given[:, y].max())
            flow.add_edge(
                ("in", x),
                ("out", y),
                weight=int(cost[x, y]),
                capacity=math.ceil(mass[x] * unit * min(1.0, most)),
            )
    for y in range(4):
        flow.add_node(("out", y), demand=int(wanted[y]))
    least = nx.network_simplex(flow)[0] / (mass.sum() * unit)
    assert float(p @ (own * cost).sum(axis=1)) == pytest.approx(least, abs=1e-4)


@pytest.mark.parametrize(("letters", "nats"), [(6, 0.3), (6, 3.0), (7, 6.0)])
def test_few_groups_are_near_the_optimum_of_all_words(letters: int, nats: float) -> None:
    rng = np.random.default_rng(letters)
    step = rng.dirichlet(np.ones(letters), size=letters)
    p, cost = words(step, np.full(letters, 1 / letters), 3)
    kernel = solve_in_few_groups(p, cost, nats)
    best = solve_words(p, cost, nats, 60.0)
    assert best is not None
    value = check(p, cost, nats, kernel, gap=math.inf)
    assert best.bound <= value
    constant = float((p @ cost).min())
    assert constant - value >= 0.85 * (constant - best.value)


def test_words_that_are_likely_enough_have_releases_of_their_own() -> None:
    rng = np.random.default_rng(5)
    step = rng.dirichlet(np.full(5, 0.3), size=5) + 1e-3
    p, cost = words(step / step.sum(axis=1, keepdims=True), np.full(5, 0.2), 3)
    best = solve_words(p, cost, 9.0, 60.0)
    assert best is not None
    answer = solve_in_few_groups(p, cost, 9.0)
    value = check(p, cost, 9.0, answer, gap=math.inf)
    assert answer is not None
    assert answer.iterations == 0
    assert best.bound <= value <= best.value + 0.02 * float((p @ cost).min())


@pytest.mark.parametrize("solver", ["word-groups", "exact-lp", "restricted-outputs", "aggregation"])
def test_a_policy_that_takes_too_long_to_judge_is_not_proposed(
    monkeypatch: pytest.MonkeyPatch, solver: str
) -> None:
    """By a clock that says what one kernel takes: a hundredth of a second for each is fine, and ten are too much."""
    chain = po.MarkovChain([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6]])
    problem = po.SequenceInformationPrivacy(chain, 1.0, batch=3, horizon=60)
    nothing = problem.evaluate(problem.anchor()).utility
    for each, proposed in ((0.01, True), (10.0, False)):
        ticks = count(0.0, each)
        monkeypatch.setattr(batches, "time", SimpleNamespace(perf_counter=lambda ticks=ticks: next(ticks)))
        monkeypatch.setattr(batches, "NO_MATTER", 0.0)
        solution = po.solve(problem, solver, time_limit=100.0)
        assert solution.objective is not None
        assert solution.certified
        if proposed:
            assert solution.objective >= 0.5 * nothing
        else:
            assert solution.objective == pytest.approx(nothing)
            assert "takes longer" in str(solution.stats["stop"])


def test_aggregation_encloses_the_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    from privopt.solvers.sequence import aggregate

    monkeypatch.setattr(aggregate, "KEPT", 16)
    p, cost = words(STICKY, np.array([0.1, 0.9]), 7)
    exact = solve_words(p, cost, 2.5, 60.0)
    assert exact is not None
    answer = solve_aggregated(p, cost, 2.5, 3.0)
    assert answer is not None
    check(p, cost, 2.5, answer, 0.02)
    assert answer.bound <= exact.value <= answer.value + 1e-12


@pytest.mark.parametrize("letters", [60, 120])
def test_rounding_ends_a_search_before_it_spoils_the_point(letters: int) -> None:
    """A line at a budget where theta is the mass of few letters, to a gap that rounding does not allow."""
    levels = Levels.of(3.5)
    p, cost = np.full(letters, 1 / letters), np.abs(np.subtract.outer(range(letters), range(letters))) * 1.0
    matter = Matter.of(p, cost / letters, p @ cost / letters, levels)
    point_and_steps = interior(matter, 1e-12, math.inf)
    assert point_and_steps is not None
    point, steps = point_and_steps
    assert steps < 150
    worth = float((p @ (point.kernel * matter.cost)).sum() + matter.fixed @ point.z)
    assert point.open(p) + point.broken(matter) < 1e-6 * worth
    assert point.kernel.sum(axis=1) == pytest.approx(np.ones(letters), abs=1e-8)
    assert p @ point.top == pytest.approx(matter.fixed + point.mu, abs=1e-7)


@pytest.mark.parametrize("epsilon", [0.4, 2.0, 4.0])
def test_interior_points_agree_with_the_definition(epsilon: float) -> None:
    rng = np.random.default_rng(int(10 * epsilon))
    p, cost = rng.dirichlet(np.ones(7)), rng.random((7, 6))
    levels, best = Levels.of(epsilon), plain_optimum(p, cost, epsilon)
    point_and_steps = interior(Matter.of(p, cost, p @ cost, levels), 1e-8, math.inf)
    assert point_and_steps is not None
    assert float(p @ point_and_steps[0].nu) == pytest.approx(best, abs=1e-6)
    served = serve(Table.of(p, cost, levels), np.arange(6), 0.0, 1e-8, math.inf)
    assert served is not None
    assert served.value == pytest.approx(best, abs=1e-6)


def test_rows_of_rare_words_are_the_cheapest_there_are() -> None:
    rng = np.random.default_rng(8)
    cost, tops = rng.normal(size=(6, 9)), rng.random(9) + 0.05
    rows, prices = fill(cost, tops)
    assert (rows <= tops + 1e-15).all()
    for x in range(6):
        solution = linprog(cost[x], A_eq=np.ones((1, 9)), b_eq=[1.0], bounds=[(0.0, top) for top in tops])
        assert cost[x] @ rows[x] == pytest.approx(solution.fun, abs=1e-9)
        assert prices[x] == pytest.approx(solution.eqlin.marginals[0], abs=1e-9)


def test_widening_from_few_releases_reaches_the_optimum() -> None:
    p, cost = words(STICKY, np.array([0.1, 0.9]), 6)
    table, exact = Table.of(p, cost, Levels.of(2.0)), solve_words(p, cost, 2.0, 30.0)
    assert exact is not None
    nothing = Widened(None, np.zeros(64), -math.inf, 0)
    widened = widen(table, np.array([0, 21, 63]), nothing, 1.0, 1e-4, math.inf)
    assert widened.served is not None
    assert widened.bound <= exact.value + 1e-9
    assert widened.served.value >= exact.value - 1e-9
    assert widened.served.value - widened.bound <= 5e-4 * exact.value


def test_the_problem_proves_the_bound_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    from privopt.problems.belief_release import bound as _belief_bound
    from privopt.problems.sequence_information_privacy.bound import sequence_bound

    problem = po.SequenceInformationPrivacy(CHAINS["weather"], 0.5, batch=4, horizon=4)
    p, cost = words(STEP, np.array([0.5, 0.5]), 4)
    lam = np.random.default_rng(9).normal(size=16) * 0.1
    whole = priced_bound(p, cost, 2.0, lam)
    for cells in (1, 50, 2**18):
        monkeypatch.setattr(_belief_bound, "CELLS", cells)
        proved = sequence_bound(problem, [lam])
        assert proved == pytest.approx(whole, abs=1e-12)


def test_repair_weight() -> None:
    kernel = np.array([[0.9, 0.1], [0.2, 0.8]])
    p = np.array([0.5, 0.5])
    mixed = repair(p, kernel, 0.4)
    kept = (mixed[0, 0] - 0.55) / (0.9 - 0.55)
    assert 1 - kept == pytest.approx(0.5761257734743934, abs=1e-12)
    assert leakage(p, mixed) <= 0.4 * (1 + 1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 3, 1.0), "letters must be"),
        (([0.5, 0.6], 3, 1.0), "sum to 1"),
        ((2, 0, 1.0), "length must be"),
        ((2, 3, -1.0), "epsilon must be"),
        ((2, 3, math.nan), "epsilon must be"),
        (([0.4, 0.3, 0.2, 0.1], 30, 1.0), "joint types"),
        (([0.5, 0.5], 3, 1.0, [[0.0, math.inf], [1.0, 0.0]]), "distortion must have"),
    ],
)
def test_bad_input(arguments: tuple, message: str) -> None:
    with pytest.raises(po.errors.InvalidProblem, match=message):
        po.measures.iid_batch_distortion(*arguments)


CHAINS = {
    "coin": po.MarkovChain([[0.5, 0.5], [0.5, 0.5]]),
    "biased": po.MarkovChain([[0.7, 0.3], [0.7, 0.3]]),
    "weather": po.MarkovChain(STEP.tolist(), [0.5, 0.5]),
}


@pytest.mark.parametrize(
    ("chain", "solver"),
    [
        ("coin", "iid-closed-form"),
        ("coin", "aggregation"),
        ("biased", "orbit-lp"),
        ("weather", "exact-lp"),
        ("weather", "restricted-outputs"),
        ("weather", "aggregation"),
    ],
)
def test_policies_reach_the_optimum_of_one_batch(chain: str, solver: str) -> None:
    problem = po.SequenceInformationPrivacy(CHAINS[chain], 0.5, batch=3, horizon=3)
    solution = po.solve(problem, solver, time_limit=20.0)
    p, cost = words(CHAINS[chain].transition, CHAINS[chain].initial, 3)
    assert solution.status.ok
    assert solution.objective is not None
    assert solution.bound is not None
    assert solution.leakage is not None
    assert solution.objective == pytest.approx(-plain_optimum(p, cost, 1.5), abs=1e-6)
    assert solution.leakage <= 0.5 * (1 + 1e-12)
    assert solution.bound == pytest.approx(solution.objective, abs=1e-6)
    assert solution.bound >= solution.objective


@pytest.mark.parametrize(
    ("chain", "solver", "batch", "sentence"),
    [
        ("weather", "iid-closed-form", 2, "independent"),
        ("weather", "orbit-lp", 2, "independent"),
        ("biased", "iid-closed-form", 2, "alike likely"),
        ("coin", "exact-lp", 1, "several letters"),
        ("coin", "exact-lp", 9, "more than 160"),
        ("coin", "orbit-lp", 40, "paths of states"),
    ],
)
def test_refusals(chain: str, solver: str, batch: int, sentence: str) -> None:
    problem = po.SequenceInformationPrivacy(CHAINS[chain], 0.5, batch=batch, horizon=2 * batch)
    refusal = next(c.refusal for c in po.candidates(problem) if c.name == solver)
    assert refusal is not None
    assert sentence in refusal


def test_batches_follow_one_another() -> None:
    problem = po.SequenceInformationPrivacy(CHAINS["weather"], 0.5, batch=2, horizon=5)
    one = po.solve(problem, "restricted-outputs", time_limit=20.0)
    other = po.solve(problem, "structure-lp", time_limit=20.0)
    assert one.objective is not None
    assert one.bound is not None
    assert one.leakage is not None
    assert one.leakage <= 0.5 * (1 + 1e-12)
    assert one.bound >= one.objective
    assert one.objective == pytest.approx(other.objective, abs=1e-6)

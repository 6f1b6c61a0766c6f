"""Optima over sets of joints against closed forms, brute force and known values; their proofs carry the joints."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest

import privopt as po
from privopt.problems.local_information_privacy.examples import lecture_joint

SQUARE = po.JointDistribution([[0.3, 0.2], [0.1, 0.4]])
TABLE = po.JointDistribution.normalised([[4, 3, 2, 1], [1, 2, 3, 4], [2, 2, 2, 2]])


def solved(problem: po.Problem, solver: str | None = "cuts") -> po.Solution:
    solution = po.solve(problem, solver, time_limit=20)
    assert solution.status is po.Status.OPTIMAL, solution
    assert solution.certified
    assert po.verify(problem, solution).ok
    return solution


def near(joint: po.JointDistribution, radius: float, prior: float = 0.0) -> po.JointAmbiguity:
    return po.JointAmbiguity.total_variation(joint, radius, prior)


@pytest.mark.parametrize(("radius", "optimum"), [(0, 0.222304956), (0.05, 0.136542986)])
def test_two_symbols(radius: float, optimum: float) -> None:
    problem = po.LocalInformationPrivacy(near(SQUARE, radius), 0.3)
    assert solved(problem).objective == pytest.approx(optimum, abs=2e-8)
    assert _by_two_rays(problem) == pytest.approx(optimum, abs=2e-8)


def _by_two_rays(problem: po.LocalInformationPrivacy) -> float:
    """With two symbols a release has columns (1, r) with r between two numbers, found by bisection; the optimum uses both."""
    p = problem.observation.p_x

    def allowed(column: np.ndarray) -> bool:
        rest = 1 - column / column.max() / 4
        channel = po.Channel(np.column_stack([1 - rest, rest]))
        shifts = problem.evaluate(channel)  # the other column is nearly constant: it binds last
        return bool(shifts.leakage <= problem.budget)

    def end(at: int) -> float:
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            column = np.ones(2)
            column[at] = middle
            low, high = (low, middle) if allowed(column) else (middle, high)
        return high

    first, second = (np.where(np.arange(2) == at, end(at), 1.0) * p for at in (0, 1))
    posteriors = np.array([first / first.sum(), second / second.sum()])
    share = (p[0] - posteriors[1, 0]) / (posteriors[0, 0] - posteriors[1, 0])

    def entropy(v: np.ndarray) -> float:
        return float(-(v * np.log(v)).sum())

    return entropy(p) - share * entropy(posteriors[0]) - (1 - share) * entropy(posteriors[1])


@pytest.mark.parametrize(("radius", "optimum"), [(0, 1.911383), (0.001, 1.901539), (0.01, 1.826678)])
def test_the_table_of_the_lectures(radius: float, optimum: float) -> None:
    solution = solved(po.LocalInformationPrivacy(near(lecture_joint(), radius), 1.0))
    assert solution.objective == pytest.approx(optimum, abs=1e-6)
    assert solution.bound == pytest.approx(optimum, abs=1e-6)


@pytest.mark.parametrize(("radius", "error"), [(0, 0.295901115), (0.1, 0.346925836)])
def test_the_symmetric_binary_table(radius: float, error: float) -> None:
    joint = po.JointDistribution([[0.4, 0.1], [0.1, 0.4]])
    hamming = [[0, 1], [1, 0]]
    ratios = po.LocalInformationPrivacy(near(joint, radius), 0.5, notion="ldp", utility=hamming)
    assert solved(ratios).objective == pytest.approx(-error, abs=1e-8)
    f = 0.2
    assert error == pytest.approx((1 / (1 + math.exp(0.5)) - (f - radius)) / (1 - 2 * (f - radius)), abs=1e-8)


@pytest.mark.parametrize(("radius", "error"), [(0, 0.147950557), (0.05, 0.253629527), (1, 0.645338756)])
def test_linear_utilities_reach_randomised_response_where_anything_is_possible(
    radius: float, error: float
) -> None:
    problem = po.LocalInformationPrivacy(near(TABLE, radius), 0.5, notion="ldp", utility=1 - np.eye(4))
    assert solved(problem).objective == pytest.approx(-error, abs=1e-8)
    if radius == 1:
        assert error == pytest.approx(3 / (3 + math.exp(0.5)), abs=1e-8)


@pytest.mark.parametrize("sides", [{"epsilon": 0.4}, {"lower": 0.5, "upper": 0.25}, {"upper": 0.3}])
@pytest.mark.parametrize("utility", ["mutual_information", "distortion"])
def test_against_a_grid_of_distributions(sides: dict[str, Any], utility: str) -> None:
    """The optimum over the vertices of the set, all written down as rows, by the solvers of one joint."""
    joint = po.JointDistribution.normalised([[5, 2, 1], [1, 3, 4]])
    radius, value = 0.05, "mutual_information" if utility == "mutual_information" else 1 - np.eye(3)
    problem = po.LocalInformationPrivacy(near(joint, radius), utility=value, **sides)
    got = solved(problem)
    everything = _with_every_vertex(problem)
    best = po.solve(everything, "column-generation" if value is utility else "direct-lp", time_limit=20)
    assert got.objective == pytest.approx(best.objective, abs=1e-6)


def _with_every_vertex(problem: po.LocalInformationPrivacy) -> po.LocalInformationPrivacy:
    from itertools import permutations

    from privopt.problems.local_information_privacy.members import extreme, row_of

    ambiguity = problem.ambiguity
    assert ambiguity is not None
    n = len(ambiguity.useful)
    cuts = []
    for order in permutations(range(1, n + 1)):
        for s in range(len(ambiguity.rows)):
            for side in (1, -1):
                cut = row_of(problem, extreme(ambiguity, problem.notion, order, s, side))
                cuts += [] if cut is None or cut in cuts else [cut]
    return problem.relaxed(tuple(cuts))


@pytest.mark.long
def test_utility_falls_with_the_radius_and_solve_picks_the_solver_itself() -> None:
    reached = []
    for radius in (0.0, 0.02, 0.2):
        solution = solved(po.LocalInformationPrivacy(near(TABLE, radius), 0.5), None)
        reached.append(solution.objective)
        assert solution.solver == "cuts"
    assert reached == sorted(reached, reverse=True)
    at_one = po.solve(po.LocalInformationPrivacy(TABLE, 0.5))
    assert reached[0] == pytest.approx(at_one.objective, abs=1e-6)


def _told(number: float | None) -> float:
    assert number is not None
    return number


def test_any_rows_and_any_prior_are_local_differential_privacy_of_the_symbol() -> None:
    anything = po.JointAmbiguity([po.RowSet.all(4)] * 3, po.RowSet.all(3), nominal=TABLE)
    whole = po.JointDistribution.normalised(np.diag(TABLE.p_x))
    for utility in ("mutual_information", 1 - np.eye(4)):
        over = solved(po.LocalInformationPrivacy(anything, 0.7, utility=utility))
        of_symbol = po.solve(po.LocalInformationPrivacy(whole, 0.7, notion="ldp", utility=utility))
        assert over.objective == pytest.approx(of_symbol.objective, abs=1e-6)
    fixed = po.JointAmbiguity([po.RowSet.all(4)] * 3, TABLE.p_s, nominal=TABLE)
    less = solved(po.LocalInformationPrivacy(fixed, 0.7, utility=1 - np.eye(4)))
    assert _told(less.objective) >= _told(over.objective) - 1e-9


def test_counts_keep_their_bounds_at_the_distribution_they_come_from() -> None:
    rng = np.random.default_rng(3)
    truth = rng.dirichlet(np.ones(12)).reshape(3, 4)
    counts = rng.multinomial(5000, truth.ravel()).reshape(3, 4)
    solution = solved(po.LocalInformationPrivacy(po.JointAmbiguity.from_counts(counts), 0.5))
    population = po.LocalInformationPrivacy(po.JointDistribution.normalised(truth), 0.5)
    assert population.evaluate(solution.mechanism).leakage <= 0.5
    nominal = po.solve(po.LocalInformationPrivacy(po.JointDistribution.normalised(counts), 0.5))
    assert population.evaluate(nominal.mechanism).leakage > 0.5


def test_proofs_are_refused_when_a_distribution_is_not_of_the_set() -> None:
    problem = po.LocalInformationPrivacy(near(TABLE, 0.05), 0.5, utility=1 - np.eye(4))
    solution = solved(problem)
    dual = solution.dual
    assert isinstance(dual, dict)
    assert dual["kind"] == "set"
    assert problem.check_bound(-math.inf, dual) is not None
    outside = copy.deepcopy(dual)
    outside["pool"] = [["1/1", "0/1", "0/1", "0/1"] if len(v) == 4 else v for v in outside["pool"]]
    assert problem.check_bound(-math.inf, outside) is None
    short = copy.deepcopy(dual)
    short["pool"] = [[str(x) for x in v][:-1] for v in short["pool"]]
    assert problem.check_bound(-math.inf, short) is None
    for broken in ({**dual, "cuts": [[99, 0, 1]]}, {**dual, "members": "none"}, {**dual, "proof": None}):
        assert problem.check_bound(-math.inf, broken) is None
    smaller = po.LocalInformationPrivacy(near(TABLE, 0.01), 0.5, utility=1 - np.eye(4))
    assert smaller.check_bound(-math.inf, dual) is None
    alone = po.LocalInformationPrivacy(TABLE, 0.5, utility=1 - np.eye(4))
    assert alone.check_bound(-math.inf, dual) is None


def test_proofs_of_one_joint_bound_the_set_that_holds_it() -> None:
    alone = po.LocalInformationPrivacy(TABLE, 0.5)
    best = po.solve(alone)
    over = po.LocalInformationPrivacy(near(TABLE, 0.05), 0.5)
    proved = over.check_bound(-math.inf, best.dual)
    assert proved is not None
    assert proved >= _told(solved(over).objective)


def test_other_solvers_say_that_they_know_one_distribution_only() -> None:
    over = po.LocalInformationPrivacy(near(TABLE, 0.05), 0.5)
    taking = [c.name for c in po.candidates(over) if c.refusal is None]
    assert taking == ["cuts"]
    assert all("set of distributions" in str(c.refusal) for c in po.candidates(over) if c.refusal is not None)
    assert any(c.name == "cuts" and c.refusal for c in po.candidates(po.LocalInformationPrivacy(TABLE, 0.5)))
    rare = po.JointDistribution([[0.5, 0.0], [0.5, 0.0]])
    odd = po.LocalInformationPrivacy(near(rare, 0.25), 0.5)
    assert "probability 0" in str(po.solve(odd, "cuts").reason)


def test_a_budget_of_nothing_and_of_everything() -> None:
    assert solved_or_safe(po.LocalInformationPrivacy(near(TABLE, 0.05), 0.0)).objective == 0.0
    free = solved(po.LocalInformationPrivacy(near(TABLE, 0.05), math.inf))
    assert free.objective == pytest.approx(float(-(TABLE.p_x * np.log(TABLE.p_x)).sum()))


def solved_or_safe(problem: po.LocalInformationPrivacy) -> po.Solution:
    solution = po.solve(problem)
    assert solution.status.ok
    assert solution.certified
    return solution

"""Pointwise maximal leakage: closed forms for a secret that is published itself, brute force for others, invariants."""

from __future__ import annotations

import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import posterior_caps as caps

import privopt as po
from privopt.problems.pointwise_maximal_leakage.problem import equally_likely, high_privacy

PML = po.PointwiseMaximalLeakage
TABLES = (
    [[5, 2, 1], [1, 3, 4]],
    [[1, 4, 2, 3], [3, 1, 1, 5]],
    [[3, 1], [1, 1], [2, 4]],
    [[2, 0, 3], [1, 1, 0], [0, 4, 1]],
)


def diagonal(weights: list[int]) -> list[list[int]]:
    return [[weight * (i == j) for j in range(len(weights))] for i, weight in enumerate(weights)]


def itself(*weights: int) -> po.JointDistribution:
    """The secret is what is published."""
    return po.JointDistribution.normalised(diagonal(list(weights)))


def factor(epsilon: float) -> Fraction:
    return Fraction(math.exp(epsilon))


def solved(problem: PML) -> float:
    solution = po.solve(problem)
    assert solution.status is po.Status.OPTIMAL
    assert po.verify(problem, solution).ok
    assert solution.objective is not None
    return solution.objective


# the secret itself


@pytest.mark.parametrize("weights", [[1, 1], [3, 1], [9, 1], [5, 3, 2], [4, 3, 2, 1], [1, 1, 1, 1]])
def test_in_the_high_privacy_regime_each_release_names_a_value_that_it_rules_out(weights: list[int]) -> None:
    total = sum(weights)
    prior = [Fraction(w, total) for w in weights]
    widest = 1 / (1 - min(prior))
    for part in (Fraction(1, 3), Fraction(1)):
        r = 1 + (widest - 1) * part
        corners = [tuple(r * p - (r - 1) * (i == y) for i, p in enumerate(prior)) for y in range(len(prior))]
        if min(map(min, corners)) > 0:
            assert set(caps.vertices(diagonal(weights), r)) == set(corners)  # a simplex, in exact fractions
        mixed = [sum(p * v[i] for p, v in zip(prior, corners, strict=True)) for i in range(len(prior))]
        assert mixed == prior
        epsilon = math.log(r)
        assert high_privacy(tuple(map(float, prior)), epsilon) == pytest.approx(
            caps.information(diagonal(weights), r), abs=1e-9
        )
        assert solved(PML(itself(*weights), epsilon)) == pytest.approx(
            high_privacy(tuple(map(float, prior)), epsilon), abs=1e-8
        )


def test_the_optimal_release_of_the_high_privacy_regime_is_the_closed_form() -> None:
    prior, epsilon = np.array([0.5, 0.3, 0.2]), 0.15
    r = math.exp(epsilon)
    channel = po.Channel(np.diag(1 - r * (1 - prior)) + r * (np.ones((3, 3)) - np.eye(3)) * prior[None, :])
    reading = PML(itself(5, 3, 2), epsilon).evaluate(channel)
    assert reading.leakage == pytest.approx(epsilon, abs=1e-12)
    assert reading.utility == pytest.approx(high_privacy(tuple(prior), epsilon), abs=1e-12)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_equally_likely_values_have_a_closed_form_at_every_budget(n: int) -> None:
    for r in (Fraction(11, 10), Fraction(3, 2), Fraction(2), Fraction(5, 2), Fraction(n)):
        if r <= n:
            epsilon = math.log(r)
            expected = equally_likely(n, epsilon)
            corner = [r / n] * int(n // r)
            corner += [1 - sum(corner, Fraction(0))] * (len(corner) < n) + [Fraction(0)] * (
                n - 1 - len(corner)
            )
            assert set(caps.vertices(diagonal([1] * n), r)) == set(itertools.permutations(corner))
            assert math.log(n) - caps.entropy(corner) == pytest.approx(expected, abs=1e-12)
            assert solved(PML(itself(*[1] * n), epsilon)) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize(("p", "epsilon"), [(p, e) for p in (1, 3, 5) for e in (0.05, 0.3, 0.9, 2.0, 3.0)])
def test_a_binary_secret_has_two_posteriors(p: int, epsilon: float) -> None:
    prior, r = p / 10, math.exp(epsilon)
    low, high = max(0.0, 1 - r * (1 - prior)), min(1.0, r * prior)
    weight = (prior - low) / (high - low)
    spread = (1 - weight) * caps.entropy([low, 1 - low]) + weight * caps.entropy([high, 1 - high])
    expected = caps.entropy([prior, 1 - prior]) - spread
    assert solved(PML(itself(p, 10 - p), epsilon)) == pytest.approx(expected, abs=1e-8)
    assert caps.information(diagonal([p, 10 - p]), factor(epsilon)) == pytest.approx(expected, abs=1e-9)


def test_in_the_low_privacy_regime_only_the_rarest_value_is_mixed() -> None:
    prior = [0.5, 0.3, 0.2]
    for epsilon in (1.25, 1.4, 1.6):
        r = math.exp(epsilon)
        expected = caps.entropy(prior) - caps.entropy([r * 0.2, 1 - r * 0.2]) / r
        assert caps.information(diagonal([5, 3, 2]), factor(epsilon)) == pytest.approx(expected, abs=1e-9)
        assert solved(PML(itself(5, 3, 2), epsilon)) == pytest.approx(expected, abs=1e-8)


def test_the_identity_is_allowed_from_the_logarithm_of_one_over_the_least_probability() -> None:
    joint, whole = itself(5, 3, 2), caps.entropy([0.5, 0.3, 0.2])
    identity = po.Channel(np.eye(3))
    limit = math.log(5)
    assert PML(joint, limit + 1e-9).certify(identity.quantised()).ok
    refused = PML(joint, limit - 1e-9).certify(identity.quantised())
    assert not refused.ok
    assert refused.worst == (2, 2)
    assert solved(PML(joint, limit + 1e-9)) == pytest.approx(whole, abs=1e-9)
    assert solved(PML(joint, limit - 0.1)) < whole - 1e-3
    everything = PML(joint, math.inf)
    assert solved(everything) == pytest.approx(whole, abs=1e-9)
    reading = everything.evaluate(identity)
    assert reading.leakage == pytest.approx(
        limit, abs=1e-12
    )  # of the upper side, though a value may be ruled out
    assert reading.worst == (2, 2)
    assert everything.certify(identity.quantised()).kind == "utility"


# another secret


@pytest.mark.parametrize("table", TABLES, ids=range(len(TABLES)))
@pytest.mark.parametrize("epsilon", [0.05, 0.2, 0.6])
def test_information_against_brute_force(table: list[list[int]], epsilon: float) -> None:
    problem = PML(po.JointDistribution.normalised(table), epsilon)
    best = caps.information(table, factor(epsilon))
    assert solved(problem) == pytest.approx(best, abs=1e-7)
    for solution in po.compare(problem):
        if solution.status.ok:
            assert solution.objective is not None
            assert solution.objective <= best + 1e-8, solution.solver
            assert solution.bound is None or solution.bound >= best - 1e-8, solution.solver


@pytest.mark.parametrize("table", TABLES, ids=range(len(TABLES)))
def test_distortion_against_brute_force(table: list[list[int]]) -> None:
    n = len(table[0])
    costs = (1.0 - np.eye(n)).tolist()
    for epsilon in (0.1, 0.5):
        problem = PML(po.JointDistribution.normalised(table), epsilon, utility=costs)
        assert solved(problem) == pytest.approx(caps.distortion(table, factor(epsilon), costs), abs=1e-7)


# invariants

weights = st.lists(st.lists(st.integers(1, 9), min_size=3, max_size=3), min_size=2, max_size=3)
channels = st.lists(st.lists(st.integers(1, 9), min_size=3, max_size=3), min_size=3, max_size=3)


def rows(cells: list[list[int]]) -> list[list[Fraction]]:
    return [[Fraction(v, sum(row)) for v in row] for row in cells]


@settings(max_examples=40, deadline=None)
@given(weights, channels, channels)
def test_the_leakage_is_the_largest_log_lift_and_post_processing_never_raises_it(
    table: list[list[int]], first: list[list[int]], second: list[list[int]]
) -> None:
    joint = po.JointDistribution.normalised(table)
    problem = PML(joint, 1.0)
    read = problem.evaluate(po.Channel(rows(first)))
    total = sum(map(sum, table))
    released = [
        [sum(Fraction(cell, total) * rows(first)[x][y] for x, cell in enumerate(row)) for y in range(3)]
        for row in table
    ]
    mass = [sum(column) for column in zip(*released, strict=True)]
    lift = max(p / (sum(row) * q) for row in released for p, q in zip(row, mass, strict=True))
    assert read.leakage == pytest.approx(math.log(lift), abs=1e-12)
    mixed = [
        [sum(a * b[y] for a, b in zip(row, rows(second), strict=True)) for y in range(3)]
        for row in rows(first)
    ]
    after = problem.evaluate(po.Channel(mixed))
    assert after.leakage <= read.leakage + 1e-12
    assert after.utility <= read.utility + 1e-12


@settings(max_examples=15, deadline=None)
@given(weights, st.permutations(range(3)), st.floats(0.01, 1.5))
def test_relabelling_changes_nothing_and_more_budget_never_costs(
    table: list[list[int]], order: list[int], epsilon: float
) -> None:
    value = po.solve(PML(po.JointDistribution.normalised(table), epsilon)).objective
    moved = [[row[x] for x in order] for row in reversed(table)]
    assert po.solve(PML(po.JointDistribution.normalised(moved), epsilon)).objective == pytest.approx(
        value, abs=1e-7
    )
    larger = po.solve(PML(po.JointDistribution.normalised(table), 1.5 * epsilon)).objective
    assert value is not None
    assert larger is not None
    assert larger >= value - 1e-9


@settings(max_examples=25, deadline=None)
@given(weights, channels, st.floats(0.0, 1.0))
def test_the_repair_is_certified(table: list[list[int]], cells: list[list[int]], epsilon: float) -> None:
    problem = PML(po.JointDistribution.normalised(table), epsilon)
    repaired = problem.repair(po.Channel(rows(cells)), 2.0**-36)
    assert problem.certify(repaired.quantised()).ok


def test_a_two_sided_bound_is_stricter() -> None:
    joint = po.JointDistribution.normalised(TABLES[0])
    both, above = po.solve(po.LocalInformationPrivacy(joint, 0.2)), po.solve(PML(joint, 0.2))
    assert both.objective is not None
    assert above.objective is not None
    assert above.objective > both.objective
    assert PML(joint, 0.2).evaluate(both.mechanism).feasible


# its own words


def test_the_certificate_speaks_of_likelier_values_only() -> None:
    joint = po.JointDistribution([[0.4, 0.1], [0.1, 0.4]], ["left", "right"], ["city", "country"])
    problem = PML(joint, 0.3)
    certificate = po.solve(problem).certificate
    assert certificate is not None
    assert certificate.claim == "log-lift <= 0.3"
    told = "no release makes a value of the secret ('left', 'right') more than 1.35 times as likely as before"
    assert certificate.statement == told
    assert certificate.problem == problem.fingerprint != problem.target.fingerprint
    assert certificate.budget == 0.3
    assert (
        certificate.where
        == f"the release {certificate.worst[1]!r} raises the probability of {certificate.worst[0]!r} most"
    )
    assert (certificate.kind, certificate.unit) == ("privacy", "release of one record")
    assert "unlikely" not in str(certificate)


def test_symbols_of_probability_0_are_released_like_the_average_one() -> None:
    joint = po.JointDistribution.normalised([[3, 1, 0], [1, 3, 0]], [0, 1], ["a", "b", "never"])
    problem = PML(joint, 0.2)
    shown = po.Channel([[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0, 1]], ["a", "b", "never"], ["u", "v", "w"])
    refused = problem.certify(shown.quantised())
    assert not refused.ok
    assert "'never'" in refused.reason
    assert problem.certify(problem.repair(shown, 0.0).quantised()).ok


def test_dictionaries_pickles_and_equality() -> None:
    joint = po.JointDistribution.normalised(TABLES[0])
    for problem in (PML(joint, 0.2), PML(joint, math.inf), PML(joint, 0.2, utility=[[0, 1], [1, 0], [1, 1]])):
        again = po.problem_from_dict(problem.to_dict())
        assert again == problem
        assert again.fingerprint == problem.fingerprint
        assert pickle.loads(pickle.dumps(problem)) == problem
        assert repr(again) == repr(problem)
    by_hand = {
        "type": "pointwise_maximal_leakage",
        "joint": {"table": TABLES[0], "normalised": True},
        "epsilon": 0.2,
    }
    assert po.problem_from_dict(by_hand) == PML(joint, 0.2)


def test_a_cost_that_is_a_function_solves_and_certifies_but_is_not_written() -> None:
    def spread(posterior: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
        return 1.0 - float((posterior**2).sum())

    problem = PML(itself(5, 3, 2), 0.2, utility=spread)
    solution = po.solve(problem)
    assert solution.certified
    assert po.verify(problem, solution).ok
    with pytest.raises(po.errors.InvalidProblem, match="cannot be written to a file"):
        problem.to_dict()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": -1.0}, "epsilon must be >= 0 nats"),
        ({"epsilon": "much"}, "epsilon must be a number of nats"),
        ({"epsilon": None}, "epsilon must be a number of nats"),
        ({"joint": [[0.5, 0.5]]}, "joint must be a JointDistribution or an ObservedJoint"),
        ({"utility": "bits"}, "utility must be"),
        ({"utility": [[1.0]]}, "must have 3 rows"),
    ],
)
def test_arguments_are_refused_by_name(change: dict[str, object], message: str) -> None:
    arguments = {"joint": po.JointDistribution.normalised(TABLES[0]), "epsilon": 0.2, **change}
    joint, epsilon = arguments.pop("joint"), arguments.pop("epsilon")
    with pytest.raises(po.errors.InvalidProblem, match=message):
        PML(joint, epsilon, **arguments)  # type: ignore[arg-type]


def test_fields_that_are_not_its_own_are_refused() -> None:
    fields = PML(itself(1, 1), 0.2).to_dict()
    for name, value in (("lower", 0.2), ("delta", 0.1), ("notion", "lip"), ("epsilon", -1)):
        with pytest.raises((po.errors.FileRefused, po.errors.InvalidProblem)):
            po.problem_from_dict({**fields, name: value})


def test_another_mechanism_is_refused_in_its_own_name() -> None:
    with pytest.raises(po.errors.InvalidMechanism, match="PointwiseMaximalLeakage is answered by a Channel"):
        PML(itself(1, 1), 0.2).check(po.Redaction.examples()[3].problem.anchor())

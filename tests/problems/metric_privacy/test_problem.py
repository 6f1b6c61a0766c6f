"""Metric privacy judged: against exact arithmetic written out, on random channels and on edges of its definition."""

from __future__ import annotations

import math
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from flint import arb, fmpq

import privopt as po
from privopt.errors import InvalidMechanism, InvalidProblem
from privopt.problems.metric_privacy import repair


def breaks(problem: po.MetricPrivacy, channel: po.Channel) -> int:
    """Ordered pairs and outputs that break the promise, from the definition, in balls of 400 bits."""
    from flint import ctx

    rows = channel.exact()
    count = 0
    apart = problem.metric.distances
    with ctx.workprec(400):
        for x in range(len(rows)):
            for other in range(len(rows)):
                d = apart[x, other]
                if x == other or d == math.inf or (problem.radius is not None and d > problem.radius):
                    continue
                limit = (arb(fmpq(*Fraction(problem.epsilon).as_integer_ratio())) * arb(float(d))).exp()
                for y in range(len(channel.outputs)):
                    up = arb(rows[x].weights[y] * rows[other].total)
                    down = arb(rows[other].weights[y] * rows[x].total)
                    count += not bool(up <= limit * down) and not (d == 0 and up == down)
    return count


def random_problem(seed: int, epsilon: float = 1.0, radius: float | None = None) -> po.MetricPrivacy:
    rng = np.random.default_rng(seed)
    points = rng.uniform(0, 2, size=(7, 2))
    prior = rng.dirichlet(np.ones(7))
    return po.MetricPrivacy(
        po.Metric.euclidean(points), prior, rng.uniform(size=(7, 4)), epsilon, radius=radius
    )


@pytest.mark.parametrize("seed", range(6))
def test_the_certificate_agrees_with_the_definition(seed: int) -> None:
    problem = random_problem(seed, radius=None if seed % 2 else 1.2)
    rng = np.random.default_rng(seed)
    mixed = problem.anchor().matrix * 0.0 + 0.25
    for share in (0.0, 0.02, 0.2, 0.9):
        channel = problem.answer((1 - share) * mixed + share * rng.dirichlet(np.ones(4), size=7))
        certificate = problem.certify(channel)
        assert certificate.ok == (breaks(problem, channel) == 0)
        reading = problem.evaluate(channel)
        assert certificate.leakage[0] <= reading.leakage * (1 + 1e-9) + 1e-12
        assert reading.leakage <= certificate.leakage[1] * (1 + 1e-9) + 1e-12
        assert certificate.utility[0] - 1e-12 <= reading.utility <= certificate.utility[1] + 1e-12


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("epsilon", [0.0, 0.01, 1.0, 8.0])
def test_repair_keeps_every_pair(seed: int, epsilon: float) -> None:
    problem = random_problem(seed, epsilon, None if seed % 2 else 0.8)
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.full(4, 0.2), size=7)
    mended = problem.repair(problem.answer(table), 2.0**-44)
    assert breaks(problem, mended) == 0
    assert problem.certify(mended).ok


def test_repair_of_a_nearly_private_channel_costs_next_to_nothing() -> None:
    problem = random_problem(3)
    best = po.solve(problem).mechanism
    rng = np.random.default_rng(0)
    noisy = best.matrix * (1 + 1e-9 * rng.normal(size=best.matrix.shape))
    mended = problem.repair(problem.answer(noisy / noisy.sum(axis=1, keepdims=True)), 2.0**-44)
    assert problem.certify(mended).ok
    assert problem.evaluate(mended).utility == pytest.approx(problem.evaluate(best).utility, rel=1e-7)


def test_points_at_distance_zero_need_equal_rows_at_any_budget() -> None:
    problem = po.MetricPrivacy([[0, 0], [0, 0]], [0.5, 0.5], np.eye(2), math.inf)
    assert not problem.certify(problem.answer([[1, 0], [0, 1]])).ok
    assert problem.evaluate(problem.answer([[1, 0], [0, 1]])).leakage == math.inf
    assert problem.certify(problem.answer([[0.25, 0.75], [0.25, 0.75]])).ok
    assert problem.certify(problem.repair(problem.answer([[1, 0], [0, 1]]), 2.0**-44)).ok


def test_an_infinite_distance_and_a_radius_promise_nothing() -> None:
    truth = np.eye(3)
    far = po.MetricPrivacy(
        [[0, math.inf, 1], [math.inf, 0, math.inf], [1, math.inf, 0]], [1 / 3] * 3, truth, 1.0
    )
    assert far.component_count == 2
    split = far.answer([[1, 0, 0], [0, 1, 0], [1, 0, 0]])
    certificate = far.certify(split)
    assert certificate.ok
    assert "2 components" in certificate.reason
    assert "nothing is promised across them" in " ".join(certificate.uncovered)
    near = po.MetricPrivacy(po.Metric.line(3), [1 / 3] * 3, truth, 1.0, radius=0.5)
    assert near.certify(near.answer(truth)).ok
    assert near.component_count == 3


def test_a_zero_beside_a_tiny_probability_is_an_infinite_ratio() -> None:
    problem = po.MetricPrivacy(po.Metric.line(2), [0.5, 0.5], np.eye(2), 5.0)
    channel = problem.answer([[1 - 1e-300, 1e-300], [1, 0]])
    certificate = problem.certify(channel)
    assert not certificate.ok
    assert certificate.leakage == (math.inf, math.inf)
    tiny = Fraction(1, 10**2000)
    both = problem.answer([[1 - tiny, tiny], [1 - 2 * tiny, 2 * tiny]])
    assert problem.certify(both).ok
    assert problem.certify(both).leakage[1] == pytest.approx(math.log(2), rel=1e-9)
    assert not problem.certify(problem.answer([[1 - tiny, tiny], [1 - 1000 * tiny, 1000 * tiny]])).ok


@pytest.mark.parametrize("seed", range(4))
def test_any_multipliers_prove_a_bound(seed: int) -> None:
    problem = random_problem(seed)
    best = po.solve(problem, "oracle", time_limit=60.0)
    rng = np.random.default_rng(seed)
    count = 40
    first = rng.integers(0, 7, count)
    second = (first + rng.integers(1, 7, count)) % 7
    for size in (0.0, 1e-3, 1e-2, 1.0):
        dual = {
            "kind": "multipliers",
            "first": first.tolist(),
            "second": second.tolist(),
            "outputs": rng.integers(0, 4, count).tolist(),
            "values": (size * rng.uniform(size=count)).tolist(),
        }
        proved = problem.check_bound(-math.inf, dual)
        assert proved is not None
        assert best.objective is not None
        assert proved >= best.objective


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "other"},
        {"values": [-1.0]},
        {"values": [math.inf]},
        {"first": [99]},
        {"first": [0, 1]},
        {"outputs": [True]},
        {"values": "1"},
        {"first": [0], "second": [0]},
    ],
)
def test_a_malformed_dual_proves_nothing(change: dict[str, object]) -> None:
    problem = random_problem(0)
    dual: dict[str, object] = {
        "kind": "multipliers",
        "first": [0],
        "second": [1],
        "outputs": [0],
        "values": [0.1],
    }
    assert problem.check_bound(-math.inf, dual) is not None
    assert problem.check_bound(-math.inf, {**dual, **change}) is None


def test_a_pair_that_is_not_promised_proves_nothing() -> None:
    problem = po.MetricPrivacy(po.Metric.line(3), [1 / 3] * 3, "distance", 1.0)
    dual = {"kind": "multipliers", "first": [0], "second": [2], "outputs": [0], "values": [0.1]}
    assert problem.check_bound(-math.inf, dual) is None


@pytest.mark.parametrize("example", po.MetricPrivacy.examples(), ids=lambda e: e.name)
def test_examples_are_written_and_read(example: po.Example[po.Channel]) -> None:
    problem = example.problem
    again = po.problem_from_dict(problem.to_dict())
    assert again == problem
    assert again.fingerprint == problem.fingerprint
    assert again.with_budget(0.5).budget == 0.5
    assert problem.certify(problem.anchor()).ok


def test_the_worst_pair_is_checked() -> None:
    problem = random_problem(2)
    channel = po.solve(problem).mechanism
    reading = problem.evaluate(channel)
    assert problem.is_worst(channel, reading.worst, reading.where)
    assert not problem.is_worst(channel, ("no", "pair"), "")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: po.MetricPrivacy(po.Metric.line(2), [0.5, 0.4], "distance", 1.0), "sums to"),
        (lambda: po.MetricPrivacy(po.Metric.line(2), [1.0], "distance", 1.0), "one probability for each"),
        (lambda: po.MetricPrivacy(po.Metric.line(2), [0.5, 0.5], "far", 1.0), "loss"),
        (lambda: po.MetricPrivacy(po.Metric.line(2), [0.5, 0.5], np.eye(3), 1.0), "loss has shape"),
        (lambda: po.MetricPrivacy(po.Metric.line(2), [0.5, 0.5], "distance", -1.0), "epsilon"),
        (lambda: po.MetricPrivacy(po.Metric.line(2), [0.5, 0.5], "distance", 1.0, radius=0), "radius"),
        (
            lambda: po.MetricPrivacy(po.Metric.line(2), [0.5, 0.5], "distance", 1.0, outputs=[7]),
            "none of the points",
        ),
        (
            lambda: po.MetricPrivacy(
                po.Metric.line(2), [0.5, 0.5], "distance", 1.0, outputs=po.Metric.euclidean([[0.0]])
            ),
            "same kind",
        ),
        (lambda: po.MetricPrivacy([[0, 1], [1, 1]], [0.5, 0.5], "distance", 1.0), "distance 0"),
        (
            lambda: po.MetricPrivacy([[0, math.inf], [math.inf, 0]], [0.5, 0.5], "distance", 1.0),
            "infinite between",
        ),
    ],
)
def test_bad_arguments_are_refused_with_a_reason(make: object, said: str) -> None:
    with pytest.raises(InvalidProblem, match=said):
        make()  # type: ignore[operator]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("step", [5e-324, 1e-300])
def test_points_that_hardly_differ_are_judged(step: float) -> None:
    problem = po.MetricPrivacy(po.Metric.line(2, step=step), [0.5, 0.5], [[0, 1], [1, 0]], 1.0)
    channel = po.Channel([[0.75, 0.25], [0.25, 0.75]])
    assert not problem.evaluate(channel).feasible
    assert not problem.certify(channel).ok
    assert problem.certify(problem.repair(channel, 2.0**-40)).ok


def test_other_channels_are_refused() -> None:
    problem = po.MetricPrivacy(po.Metric.line(2), [0.5, 0.5], "distance", 1.0)
    for wrong in (po.Channel(np.eye(3)), po.Channel(np.eye(2), ["a", "b"]), po.Merging([[0], [1]])):
        with pytest.raises(InvalidMechanism):
            problem.check(wrong)


@pytest.mark.parametrize(
    ("epsilon", "unit", "radius", "said"),
    [
        (math.log(1.5) * 5, "km", None, "within 200 m no release is more than 1.5"),
        (0.001, "m", None, "within 200 m no release is more than 1.222"),
        (5.0, "km", 0.03, "within 30 m"),
        (0.0, "km", 2.0, "within 2 km no release is more likely"),
    ],
)
def test_the_promise_is_in_the_unit_of_the_distance(
    epsilon: float, unit: str, radius: float | None, said: str
) -> None:
    points = po.Metric.euclidean([[0.0], [1e-3]], unit=unit)
    problem = po.MetricPrivacy(points, [0.5, 0.5], "distance", epsilon, radius=radius)
    assert said in problem.certify(problem.anchor()).statement


def test_a_prior_by_point_of_a_graph() -> None:
    metric = po.Metric.graph(nx.cycle_graph(["bank", "mill", "dock"]))
    named = po.MetricPrivacy(metric, {"dock": 0.25, "bank": 0.75}, "distance", 1.0)
    assert named.fingerprint == po.MetricPrivacy(metric, [0.75, 0, 0.25], "distance", 1.0).fingerprint
    with pytest.raises(InvalidProblem, match="prior names 'pier', which is no point"):
        po.MetricPrivacy(metric, {"pier": 1.0}, "distance", 1.0)
    with pytest.raises(InvalidProblem, match="prior"):
        po.MetricPrivacy(metric, {"mill": 0.5}, "distance", 1.0)


@pytest.mark.parametrize("seed", range(3))
def test_compiled_repair_is_that_of_arrays(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    problem = random_problem(seed, radius=0.8 if seed else None)
    table = np.random.default_rng(seed).dirichlet(np.full(4, 0.2), size=7)
    mended = []
    for fast in (False, True):
        monkeypatch.setattr(repair, "compiling_pays", lambda work, fast=fast: fast)
        mended.append(problem.repair(problem.answer(table), 2.0**-44).matrix)
    assert (mended[0] == mended[1]).all()


def test_what_is_left_over_stays_within_a_component() -> None:
    pairs = po.Metric.euclidean([[0.0], [1.0], [90.0], [91.0]])
    problem = po.MetricPrivacy(pairs, [0.25] * 4, "distance", 2.0, radius=2.0)
    mended = problem.repair(problem.answer(np.eye(4)), 2.0**-44)
    assert problem.certify(mended).ok
    assert not mended.matrix[:2, 2:].any()
    assert not mended.matrix[2:, :2].any()


@pytest.mark.parametrize("epsilon", [13.0, 15.0, 30.0])
def test_probabilities_below_what_floats_hold_are_repaired(epsilon: float) -> None:
    """Over 54 steps of a line the least ones are e^(-54 epsilon); what is lost at the optimum is about 2 e^-epsilon."""
    n = 55
    apart = np.abs(np.subtract.outer(range(n), range(n))).astype(float)
    problem = po.MetricPrivacy(po.Metric.line(n), [1 / n] * n, apart, epsilon)
    solution = po.solve(problem)
    assert solution.certified
    assert solution.bound is not None
    assert solution.objective is not None
    assert -2.0 * math.exp(-epsilon) * (1 + 1e-3) <= solution.objective <= solution.bound
    repaired = problem.repair(po.Channel(np.eye(n), range(n), range(n)), 1e-9)
    assert problem.certify(repaired).ok

"""Distortion privacy as a problem: readings, certificates, repair, proofs of bounds, files, bad input."""

from __future__ import annotations

import copy
import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from oracles.distortion import (
    MEASURES,
    binary_channels,
    exact_distortion,
    exact_law,
    leakage_in_50_digits,
    random_joint,
)

import privopt as po
from privopt.problems.distortion_privacy.bound import information, transformed
from privopt.problems.distortion_privacy.certificate import at_most, enclosure
from privopt.problems.exact_joint import leaking_joint

HAMMING = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
EQUAL = po.JointDistribution.normalised([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
SMALL = po.JointDistribution.normalised([[5, 2, 1], [1, 3, 4]])


def ask(joint: Any = SMALL, distortion: Any = HAMMING, **options: Any) -> po.DistortionPrivacy:
    return po.DistortionPrivacy(joint, distortion, **options)


@pytest.mark.parametrize(("leakage", "alpha"), [*MEASURES, ("sibson", 1 + 1e-7), ("sibson", 40.0)])
@pytest.mark.parametrize("seed", range(4))
def test_readings_and_enclosures_against_fifty_digits(leakage: str, alpha: float | None, seed: int) -> None:
    rng = np.random.default_rng(seed)
    joint = random_joint(rng, 3, 4)
    problem = ask(joint, rng.normal(size=(4, 3)), max_distortion=9.0, leakage=leakage, alpha=alpha)
    release = problem.answer(rng.dirichlet(np.ones(3), 4))
    expected = leakage_in_50_digits(problem, exact_law(problem, release))
    reading, certificate = problem.evaluate(release), problem.certify(release)
    lo, hi = certificate.leakage
    with mpmath.workdps(50):
        assert lo <= expected <= hi
    assert hi == math.inf or hi - lo <= 1e-14 * max(1.0, hi)
    assert reading.leakage == pytest.approx(float(expected), rel=1e-11)
    distortion = exact_distortion(problem, release)
    assert Fraction(-certificate.utility[1]) <= distortion <= Fraction(-certificate.utility[0])
    assert reading.utility == -float(distortion)


@pytest.mark.parametrize(("leakage", "alpha"), MEASURES)
def test_observed_joints(leakage: str, alpha: float | None) -> None:
    rng = np.random.default_rng(5)
    joint = po.ObservedJoint.normalised(rng.integers(1, 9, (2, 3, 4)))
    problem = ask(joint, rng.integers(0, 5, (3, 2)), max_distortion=3.0, leakage=leakage, alpha=alpha)
    release = problem.answer(rng.dirichlet(np.ones(2), 4))
    expected = leakage_in_50_digits(problem, exact_law(problem, release))
    assert problem.evaluate(release).leakage == pytest.approx(float(expected), rel=1e-11)
    assert problem.costs.expected(release) == exact_distortion(problem, release)


def test_mergings_are_releases_too() -> None:
    problem = ask(max_distortion=1.0)
    merging = po.Merging([[0], [1], [2]])
    same = problem.answer(np.eye(3))
    assert problem.evaluate(merging).leakage == pytest.approx(problem.evaluate(same).leakage, rel=1e-14)
    assert problem.certify(merging).utility == problem.certify(same).utility == (0.0, 0.0)
    with pytest.raises(po.errors.InvalidMechanism, match="3 columns, the mechanism 2 outputs"):
        problem.check(po.Merging([[0], [1, 2]]))


def test_the_bound_on_distortion_is_exact() -> None:
    """A third of the time wrong, with a third that no float is."""
    rows = [
        [Fraction(2, 3), Fraction(1, 3), 0],
        [0, Fraction(2, 3), Fraction(1, 3)],
        [Fraction(1, 3), 0, Fraction(2, 3)],
    ]
    release = po.Channel(rows)
    below, above = 1 / 3, math.nextafter(1 / 3, 1)
    assert Fraction(below) < Fraction(1, 3) < Fraction(above)
    assert not ask(EQUAL, max_distortion=below).certify(release).ok
    assert ask(EQUAL, max_distortion=above).certify(release).ok
    assert ask(EQUAL, max_distortion=below).evaluate(release).feasible


@pytest.mark.parametrize(("leakage", "alpha"), MEASURES)
def test_the_bound_on_leakage_is_decided_next_to_the_truth(leakage: str, alpha: float | None) -> None:
    problem = ask(max_leakage=1.0, leakage=leakage, alpha=alpha)
    release = problem.answer([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]])
    lo, hi = problem.certify(release).leakage
    assert problem.with_budget(math.nextafter(hi, 2)).certify(release).ok
    assert not problem.with_budget(math.nextafter(lo, 0)).certify(release).ok
    nothing = problem.answer(np.tile([0.5, 0.25, 0.25], (3, 1)))
    certificate = problem.with_budget(0.0).certify(nothing)
    assert (certificate.ok, certificate.leakage) == (True, (0.0, 0.0))
    assert not problem.with_budget(0.0).certify(release).ok


def test_a_leak_of_one_part_in_ten_to_the_forty() -> None:
    tiny = Fraction(1, 10**40)
    release = po.Channel([[1 - tiny, tiny, 0], [1, 0, 0], [1, 0, 0]])
    for leakage, alpha in MEASURES:
        problem = ask(max_leakage=0.0, leakage=leakage, alpha=alpha)
        assert not problem.certify(release).ok
        lo, hi = problem.certify(release).leakage
        assert 0 < lo <= hi
    joint = leaking_joint(ask(max_leakage=0.0).observation, release)
    assert at_most(joint, 1.0, 1e-30) is True
    assert enclosure(joint, 1.0)[1] < 1e-39


@pytest.mark.parametrize(("leakage", "alpha"), MEASURES)
@pytest.mark.parametrize("seed", range(3))
def test_repair_meets_the_bound_by_the_least_weight(leakage: str, alpha: float | None, seed: int) -> None:
    rng = np.random.default_rng(seed)
    joint = random_joint(rng, 2, 3)
    problem = ask(joint, max_distortion=0.25, leakage=leakage, alpha=alpha)
    release = problem.answer(rng.dirichlet(np.ones(3), 3))
    mended = problem.repair(release, 0.0)
    assert problem.certify(mended).ok
    assert problem.costs.expected(mended) >= Fraction(0.25) * (1 - Fraction(1, 2**50))
    assert problem.repair(mended, 0.0) == mended
    problem = ask(joint, max_leakage=0.05, leakage=leakage, alpha=alpha)
    quieter = problem.repair(release, 2.0**-44)
    assert problem.certify(quieter).ok
    if problem.evaluate(release).leakage > 0.05:
        assert problem.evaluate(quieter).leakage == pytest.approx(0.05, rel=1e-9)


def test_repair_does_not_use_a_new_release_for_a_rounding_error() -> None:
    """A release used for the first time would have lifts of its own."""
    problem = ask(max_distortion=0.6, leakage="lip")
    release = problem.answer([[0.6, 0.4, 0], [0.4, 0.6, 0], [0.4, 0.6, 0]])
    now = problem.costs.expected(release)
    tight = problem.with_budget(float(now) - 1e-12)
    mended = tight.repair(release, 0.0)
    assert tight.certify(mended).ok
    assert not mended.matrix[:, 2].any()
    assert tight.evaluate(mended).leakage == pytest.approx(tight.evaluate(release).leakage, abs=1e-10)


def test_anchors() -> None:
    assert ask(max_distortion=1.0).evaluate(ask(max_distortion=1.0).anchor()).leakage == 0
    near = ask(max_distortion=0.1)
    assert near.certify(near.anchor()).ok
    assert near.evaluate(near.anchor()).leakage < near.evaluate(near.reproduction()).leakage
    assert ask(max_leakage=0.0).certify(ask(max_leakage=0.0).anchor()).ok


@pytest.mark.parametrize("order", [0.2, 0.5, 1.0, 1.0000001, 2.0, 30.0, math.inf])
def test_information_and_its_transform_are_inverse(order: float) -> None:
    for value in (1e-12, 1e-3, 0.7, 3.0):
        assert information(transformed(value, order), order) == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize(("leakage", "alpha"), [m for m in MEASURES if m[0] not in ("lip", "ldp")])
@pytest.mark.parametrize("kind", ["max_distortion", "max_leakage"])
def test_any_laws_and_price_prove_a_true_bound(leakage: str, alpha: float | None, kind: str) -> None:
    """No channel on a grid is better than what random posteriors prove."""
    joint = po.JointDistribution.normalised([[4, 1], [2, 3]])
    budget = 0.15 if kind == "max_distortion" else 0.02
    problem = ask(joint, [[0, 1], [2, 0]], leakage=leakage, alpha=alpha, **{kind: budget})
    readings = [problem.evaluate(problem.answer(matrix)) for matrix in binary_channels(40)]
    best = max(r.objective for r in readings if r.feasible)
    rng = np.random.default_rng(0)
    for _ in range(200):
        posteriors = rng.dirichlet(np.full(2, 0.7), 2)
        dual = {"kind": "posteriors", "laws": posteriors.tolist(), "multiplier": float(rng.exponential(1.0))}
        proved = problem.check_bound(-math.inf, dual)
        assert proved is not None
        assert proved >= best


@pytest.mark.parametrize(
    "dual",
    [
        None,
        [],
        {"kind": "posteriors"},
        {"kind": "posteriors", "laws": [[1, 0]], "multiplier": 1},
        {"kind": "posteriors", "laws": [[1, 0]] * 3, "multiplier": -1},
        {"kind": "posteriors", "laws": [[1, 0]] * 3, "multiplier": math.inf},
        {"kind": "posteriors", "laws": [[1, -1]] * 3, "multiplier": 1},
        {"kind": "posteriors", "laws": [[0, 0]] * 3, "multiplier": 1},
        {"kind": "posteriors", "laws": [[1, math.nan]] * 3, "multiplier": 1},
        {"kind": "posteriors", "laws": "all", "multiplier": 1},
        {"kind": "linear", "multipliers": [[0.0] * 4] * 3},
        {"kind": "level", "level": 0.1, "multipliers": [[0.0] * 4] * 3},
        {"kind": "vertices"},
    ],
)
def test_what_proves_nothing(dual: object) -> None:
    assert ask(max_distortion=0.2).check_bound(-1.0, dual) is None


def test_a_level_proves_nothing_unless_its_multipliers_do() -> None:
    problem = ask(max_distortion=0.2, leakage="lip")
    empty = {"kind": "level", "level": 0.01, "multipliers": [[0.0] * 4] * 3}
    assert problem.check_bound(-1.0, empty) is None
    for level in (-0.1, True, math.inf, "x", None):
        assert problem.check_bound(-1.0, {**empty, "level": level}) is None
    assert problem.check_bound(-1.0, {"kind": "posteriors", "laws": [[1, 1]] * 3, "multiplier": 1}) is None


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "exactly one of max_distortion and max_leakage"),
        ({"max_distortion": 1, "max_leakage": 1}, "exactly one of max_distortion and max_leakage"),
        ({"max_distortion": math.nan}, "max_distortion must be a number"),
        ({"max_distortion": "x"}, "max_distortion must be a number"),
        ({"max_distortion": -math.inf}, "must not be -inf"),
        ({"max_leakage": -0.1}, "max_leakage must be >= 0 nats, got -0.1"),
        ({"max_leakage": True}, "max_leakage must be a number of nats"),
        ({"max_leakage": 1, "leakage": "guess"}, "leakage must be one of mutual_information, sibson"),
        ({"max_leakage": 1, "leakage": "sibson"}, "needs its order"),
        ({"max_leakage": 1, "leakage": "sibson", "alpha": 0}, "alpha must be > 0, got 0.0"),
        ({"max_leakage": 1, "leakage": "sibson", "alpha": "two"}, "alpha must be a number > 0"),
        ({"max_leakage": 1, "alpha": 2}, "leave it out for 'mutual_information'"),
        ({"max_leakage": 1, "distortion": [[0, 1]]}, "must have 3 rows"),
        ({"max_leakage": 1, "distortion": [[0], [1], [math.inf]]}, r"D\[2, 0\] = inf"),
        ({"max_leakage": 1, "joint": 3}, "must be a JointDistribution or an ObservedJoint, got int"),
    ],
)
def test_bad_questions(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(po.errors.InvalidProblem, match=sentence):
        ask(**options)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"max_leakage": None}, "max_leakage: None does not fit"),
        ({"alpha": -1}, "not valid under any|exclusiveMinimum|less than or equal"),
        ({"leakage": "guess"}, "is not one of"),
        ({"distortion": []}, "non-empty|too short"),
        ({"colour": 1}, "Additional properties"),
    ],
)
def test_files_that_do_not_fit(change: dict[str, Any], sentence: str) -> None:
    fields = {**ask(max_distortion=0.2).to_dict(), **change}
    with pytest.raises(po.errors.FileRefused, match=sentence):
        po.problem_from_dict(fields)


def test_a_file_with_two_bounds() -> None:
    fields = {**ask(max_distortion=0.2).to_dict(), "max_leakage": 0.1}
    with pytest.raises(po.errors.InvalidProblem, match="exactly one of max_distortion and max_leakage"):
        po.problem_from_dict(fields)


def test_files_written_by_hand() -> None:
    fields = {
        "type": "distortion_privacy",
        "joint": {"table": [["1/3", 0.25], [0.25, "1/6"]]},
        "distortion": [[0, 1], [1, 0]],
        "max_distortion": "inf",
        "leakage": "sibson",
        "alpha": "inf",
    }
    problem = po.problem_from_dict(json.loads(json.dumps(fields)))
    assert isinstance(problem, po.DistortionPrivacy)
    assert (problem.budget, problem.alpha, problem.order) == (math.inf, math.inf, math.inf)
    assert repr(problem).endswith("max_distortion=inf, leakage='sibson', alpha=inf)")


def test_solutions_verify_from_files_and_lies_do_not(tmp_path: Path) -> None:
    problem = ask(max_distortion=0.2)
    solution = po.solve(problem)
    solution.save(tmp_path / "solution.json")
    loaded = po.Solution[Any].load(tmp_path / "solution.json")
    assert po.verify(po.problem_from_dict(problem.to_dict()), loaded).ok
    written = solution.to_dict()
    for path, lie in (
        (("objective",), 0.0),
        (("bound",), 1.0),
        (("dual", "multiplier"), 0.0),
        (("leakage",), 0.1),
    ):
        fields = copy.deepcopy(written)
        place = fields
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = lie
        assert not po.verify(problem, po.Solution[Any].from_dict(fields)).ok
    assert not po.verify(ask(max_distortion=0.21), loaded).ok


@pytest.mark.parametrize("leakage", ["mutual_information", "maximal_leakage"])
def test_a_cap_on_an_average_is_read_outward_by_its_last_digit(leakage: str) -> None:
    """What leaks just what is written as the cap is within it, and the claim says how; one digit less is a smaller cap."""
    joint = po.JointDistribution.normalised(np.random.default_rng(5).random((3, 4)))
    loss = 1 - np.eye(4)
    free = po.DistortionPrivacy(joint, loss, max_leakage=9.0, leakage=leakage)
    low, high = free.certify(po.Channel(np.eye(4))).leakage
    claims = []
    for cap in (math.nextafter(low, 0.0), low, high):
        problem = free.with_budget(cap)
        certificate = problem.certify(po.Channel(np.eye(4)))
        claims.append(certificate.claim if certificate.ok else None)
        solution = po.solve(problem, time_limit=5.0)
        assert solution.objective is not None
        assert solution.bound is not None
        assert -1e-12 <= solution.objective <= solution.bound
        assert not certificate.ok or solution.bound <= 1e-12  # the last digits of a program decide the status
    assert claims == [None, "leakage <= budget, read outward by its last digit", "leakage <= budget"]
    assert free.with_budget(0.0).cap == 0.0


@pytest.mark.parametrize("leakage", ["mutual_information", "maximal_leakage"])
def test_no_record_claims_a_cap_exactly_that_holds_outward_only(leakage: str) -> None:
    joint = po.JointDistribution.normalised(np.random.default_rng(5).random((3, 4)))
    loss = 1 - np.eye(4)
    low, _ = (
        po.DistortionPrivacy(joint, loss, max_leakage=9.0, leakage=leakage)
        .certify(po.Channel(np.eye(4)))
        .leakage
    )
    problem = po.DistortionPrivacy(joint, loss, max_leakage=low, leakage=leakage)
    solution = po.solve(problem, time_limit=5.0)
    certificate = problem.certify(po.Channel(np.eye(4)))
    outward = replace(solution, answer=po.Channel(np.eye(4)), certificate=certificate)
    exact = replace(outward, certificate=replace(certificate, claim="leakage <= budget"))
    assert "claims 'leakage <= budget'" not in po.verify(problem, outward).reason
    assert "claims 'leakage <= budget'" in po.verify(problem, exact).reason
    assert not po.verify(problem, exact).ok

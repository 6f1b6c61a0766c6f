"""One step of a sequence as a problem: readings, certificates, repair, proofs of bounds, files, bad input."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import privopt as po
from privopt.problems.belief_release.bound import structure_bound
from privopt.problems.belief_release.judgement import ExactRelease, within


def random_question(seed: int, **options: Any) -> po.BeliefRelease:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    return po.BeliefRelease(rng.dirichlet(np.ones(n)), float(rng.exponential(1.0)), **options)


def printed(problem: po.BeliefRelease) -> po.Channel:
    p, e = np.array(problem.belief, dtype=float), math.exp(problem.epsilon)
    return problem.answer(np.where(np.eye(len(p)) > 0, (1 - (1 - p) / e)[:, None], p / e))


@pytest.mark.parametrize("seed", range(8))
def test_leakage_and_distortion_against_fifty_digits(seed: int) -> None:
    rng = np.random.default_rng(seed + 100)
    problem = random_question(seed, distortion="squared")
    n = len(problem.letters)
    assert isinstance(problem.belief, tuple)
    release = problem.answer(rng.dirichlet(np.ones(n), n))
    total = sum((Fraction(b) for b in problem.belief), Fraction(0))
    p = [Fraction(b) / total for b in problem.belief]
    rows = [[Fraction(w, row.total) for w in row.weights] for row in release.exact()]
    distribution = [sum((p[x] * rows[x][y] for x in range(n)), Fraction(0)) for y in range(n)]
    with mpmath.workdps(50):
        logs = [abs(mpmath.log(mpmath.mpf(r.numerator) / r.denominator)) for x in range(n) for y in range(n)
                if (r := rows[x][y] / distribution[y])]  # fmt: skip
        cost = sum((p[x] * rows[x][y] * (x - y) ** 2 for x in range(n) for y in range(n)), Fraction(0))
        certificate, reading = problem.certify(release), problem.evaluate(release)
        lo, hi = certificate.leakage
        assert lo <= max(logs) <= hi
        assert reading.leakage == pytest.approx(float(max(logs)), rel=1e-12)
    assert Fraction(-certificate.utility[1]) <= cost <= Fraction(-certificate.utility[0])
    assert reading.utility == pytest.approx(-float(cost), rel=1e-13)
    assert certificate.problem == problem.fingerprint


@pytest.mark.parametrize("seed", range(6))
def test_it_is_local_information_privacy_with_the_letter_as_the_secret(seed: int) -> None:
    """The invariant that the design rests on, with a joint written out here and optima found by the other problem."""
    problem = random_question(seed, distortion="l1")
    n = len(problem.letters)
    joint = po.JointDistribution.normalised(np.diag(problem.p))
    cost = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    other = po.LocalInformationPrivacy(joint, problem.epsilon, utility=cost)
    assert po.solve(problem).utility == pytest.approx(po.solve(other, "direct-lp").utility, abs=1e-8)


@pytest.mark.parametrize(("belief", "ratio"), [([0.9, 0.1], 5.5), ([0.25] * 4, 2.5)])
def test_the_printed_formula_leaks_too_much_outside_its_domain(belief: list[float], ratio: float) -> None:
    problem = po.BeliefRelease(belief, math.log(2))
    reading = problem.evaluate(printed(problem))
    assert (reading.feasible, round(math.exp(reading.leakage), 12)) == (False, ratio)
    shown = po.solve(problem, "published")
    assert shown.stats["inside_domain"] == "no"
    assert shown.stats["raw_leakage"] == pytest.approx(math.log(ratio))
    assert not problem.certify(printed(problem)).ok


@pytest.mark.parametrize("seed", range(20))
def test_the_domain_of_the_printed_formula(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = po.BeliefRelease(rng.dirichlet(np.full(3, 5.0)), 1.0)
    heavy = min(problem.p) >= 1 / (math.e + 1)
    assert problem.evaluate(printed(problem)).feasible == heavy
    assert po.solve(problem, "published").stats["inside_domain"] == ("yes" if heavy else "no")


def test_repair_mixes_by_the_published_weight() -> None:
    problem = po.BeliefRelease([0.5, 0.5], 0.4)
    release = po.Channel([[0.9, 0.1], [0.2, 0.8]])
    mended = problem.repair(release, 0.0)
    distribution = np.array([0.55, 0.45])
    weight = 0.5761257734743934
    assert mended.matrix == pytest.approx((1 - weight) * release.matrix + weight * distribution, abs=1e-13)
    assert problem.evaluate(mended).feasible


def test_impossible_letters_bind_nothing() -> None:
    problem = po.BeliefRelease([0.6, 0.4, 0.0], 0.5)
    known = po.solve(po.BeliefRelease([0.6, 0.4], 0.5)).mechanism.matrix
    rows = [*known, np.array([0.6, 0.4]) @ known]
    release = problem.answer([[*row, 0.0] for row in rows])
    wild = problem.answer([[*rows[0], 0.0], [*rows[1], 0.0], [0.0, 0.0, 1.0]])
    assert problem.certify(release).ok
    refused = problem.certify(wild)
    assert not refused.ok
    assert "probability 0" in refused.reason
    repaired = problem.repair(wild, 2.0**-36)
    assert problem.certify(repaired).ok
    assert problem.evaluate(wild).leakage == problem.evaluate(release).leakage


@pytest.mark.parametrize("seed", range(30))
def test_any_prices_prove_a_true_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 6, 2).tolist()
    belief = rng.dirichlet(np.ones(n))
    problem = po.BeliefRelease(
        belief, float(rng.choice([0.0, 1e-6, 0.5, 2.0, 50.0, math.inf])), rng.normal(size=(n, m))
    )
    optimum = po.solve(problem).objective
    assert optimum is not None
    for size in (0.0, 0.3, 5.0, 1e6):
        assert structure_bound(problem, size * rng.normal(size=n)) >= optimum - 1e-12


def test_the_bound_does_not_move_with_a_constant() -> None:
    problem = random_question(3)
    lam = np.random.default_rng(0).normal(size=len(problem.letters))
    assert structure_bound(problem, lam + 7.0) == pytest.approx(structure_bound(problem, lam), abs=1e-12)


@pytest.mark.parametrize(
    "dual",
    [None, {}, {"kind": "other", "lam": [0, 0]}, {"kind": "structure"}, {"kind": "structure", "lam": [0]},
     {"kind": "structure", "lam": [0, math.nan]}, {"kind": "structure", "lam": ["a", 0]}, {"kind": "structure", "lam": [[0, 0]]},
     {"kind": "structure", "lam": [1e308, -1e308]}, [1, 2]],
)  # fmt: skip
def test_bad_duals_prove_nothing_better_than_the_truth(dual: object) -> None:
    problem = po.BeliefRelease([0.6, 0.4], 0.5)
    bound = problem.check_bound(-1.0, dual)
    assert bound is None or bound >= -0.29113471666206403


def test_files_and_fractions() -> None:
    third = Fraction(1, 3)
    problem = po.BeliefRelease([third, third, third], math.log(2), "squared", letters=[0, 1, 10])
    again = po.problem_from_dict(json.loads(json.dumps(problem.to_dict())))
    assert again == problem
    assert hash(again) == hash(problem)
    short = po.problem_from_dict({"type": "belief_release", "belief": [0.5, 0.5], "epsilon": "inf"})
    assert short == po.BeliefRelease([0.5, 0.5], math.inf)
    with pytest.raises(po.errors.FileRefused):
        po.problem_from_dict({"type": "belief_release", "belief": [0.5, 0.5], "epsilon": -1})
    with pytest.raises(po.errors.FileRefused):
        po.problem_from_dict({"type": "belief_release", "belief": [0.5, 0.5], "epsilon": 1, "chain": 2})


@pytest.mark.parametrize(
    ("belief", "epsilon", "options", "said"),
    [
        ([0.5, 0.6], 1.0, {}, "sums to 1.1"),
        ([0.5, -0.5, 1.0], 1.0, {}, "belief"),
        ([0.5, math.nan], 1.0, {}, "finite"),
        ([[0.5, 0.5]], 1.0, {}, "one row"),
        ([], 1.0, {}, "empty"),
        ([0.5, 0.5], -1.0, {}, "epsilon must be >= 0"),
        ([0.5, 0.5], math.nan, {}, "epsilon"),
        ([0.5, 0.5], 1.0, {"distortion": "cosine"}, "distortion must be one of"),
        ([0.5, 0.5], 1.0, {"distortion": [[1, 2]]}, "distortion"),
        ([0.5, 0.5], 1.0, {"distortion": "l1", "letters": ["a", "b"]}, "letters that are finite numbers"),
        ([0.5, 0.5], 1.0, {"distortion": "squared", "letters": [0, 1e200]}, "too far apart"),
        ([0.5, 0.5], 1.0, {"letters": ["a", "a"]}, "repeats"),
        ([0.5, 0.5], 1.0, {"letters": ["a"]}, "letters"),
    ],
)
def test_bad_questions(belief: Any, epsilon: float, options: dict[str, Any], said: str) -> None:
    with pytest.raises(po.errors.InvalidProblem, match=said):
        po.BeliefRelease(belief, epsilon, **options)


def test_bad_mechanisms() -> None:
    problem = po.BeliefRelease([0.5, 0.5], 1.0, letters=["a", "b"])
    with pytest.raises(po.errors.InvalidMechanism, match="answered by a Channel"):
        problem.evaluate(po.Merging([["a"], ["b"]]))  # type: ignore[arg-type]
    with pytest.raises(po.errors.InvalidMechanism, match="inputs"):
        problem.evaluate(po.Channel([[1, 0], [0, 1]]))
    with pytest.raises(po.errors.InvalidMechanism, match="another order"):
        problem.evaluate(po.Channel([[1, 0], [0, 1]], ["a", "b"], ["b", "a"]))
    with pytest.raises(po.errors.InvalidMechanism, match="2 columns"):
        problem.evaluate(po.Channel([[1], [1]], ["a", "b"]))


def test_releases_are_letters() -> None:
    solution = po.solve(po.BeliefRelease([0.7, 0.3], 2.0, letters=["north", "south"]))
    assert set(solution.mechanism.release(["north", "south"] * 20)) <= {"north", "south"}


@pytest.mark.parametrize("seed", range(12))
def test_columns_are_judged_as_the_ratios_of_a_joint_distribution(seed: int) -> None:
    """Reading, certificate and repair, against the other problem with the letter as the secret."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 6)), int(rng.integers(1, 6))
    belief = rng.dirichlet(np.ones(n))
    belief[rng.random(n) < 0.2] = 0.0
    belief[0] += 1.0 - belief.sum()
    cost = rng.normal(size=(n, m))
    problem = po.BeliefRelease(belief, float(rng.choice([0.0, 0.4, 3.0, math.inf])), cost)
    joint = po.JointDistribution.normalised(np.diag(belief))
    other = po.LocalInformationPrivacy(joint, problem.epsilon, utility=cost)
    matrix = rng.dirichlet(np.full(m, 0.7), n) if seed % 3 else np.tile(rng.dirichlet(np.ones(m)), (n, 1))
    matrix = np.where(matrix < 0.05 * (seed % 2), 0.0, matrix)
    release = problem.answer(matrix / matrix.sum(axis=1, keepdims=True))
    same = po.Channel(release.matrix, joint.useful, release.outputs)
    mine, theirs = problem.certify(release), other.certify(same)
    assert (mine.ok, mine.reason, mine.leakage, mine.utility) == (
        theirs.ok,
        theirs.reason,
        theirs.leakage,
        theirs.utility,
    )
    assert other.is_worst(same, mine.worst, mine.where) or theirs.leakage[1] == 0
    assert problem.is_worst(release, theirs.worst, theirs.where) or theirs.leakage[1] == 0
    read, expected = problem.evaluate(release), other.evaluate(same)
    assert (read.leakage, read.utility) == pytest.approx(
        (expected.leakage, expected.utility), rel=1e-12, abs=1e-15
    )
    assert read.feasible == expected.feasible
    repaired = problem.repair(release, 2.0**-36)
    assert repaired.matrix == pytest.approx(other.repair(same, 2.0**-36).matrix, abs=1e-12)
    assert problem.certify(repaired).ok


def test_a_thousand_letters_are_judged_without_a_table_of_pairs() -> None:
    belief = np.random.default_rng(0).dirichlet(np.full(1000, 2.0))
    problem = po.BeliefRelease(belief.tolist(), 1.0)
    solution = po.solve(problem, "closed-form")
    assert solution.status is po.Status.OPTIMAL
    assert solution.certified
    assert "matrix" not in vars(problem.with_budget(2.0))


def test_too_many_letters_are_refused_at_once() -> None:
    problem = po.BeliefRelease([1 / 20_000] * 20_000, 1.0, "l1")
    assert problem.judging_seconds > 10
    assert po.solve(problem, time_limit=5.0).status is po.Status.REFUSED


@pytest.mark.parametrize("seed", range(20))
def test_pairs_that_break_the_bounds_are_counted_as_one_by_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    weights = rng.integers(0, 6, size=(n, n)) + np.eye(n, dtype=np.int64)
    belief = rng.integers(1, 5, size=n).astype(float)
    problem = po.BeliefRelease((belief / belief.sum()).tolist(), float(rng.choice([0.0, 0.1, 0.7, 2.0])))
    rows = [[Fraction(int(w), int(row.sum())) for w in row] for row in weights]
    exact = ExactRelease(problem, problem.answer(rows))
    total = problem.exact_belief.total
    for column in exact.columns:
        verdicts = [
            within(problem.epsilon, v * total, column.mean) for v in exact.by_release[column.position]
        ]
        mass = sum(
            v * w
            for v, w, kept in zip(
                exact.by_release[column.position], problem.exact_belief.weights, verdicts, strict=True
            )
            if kept is not True
        )
        counted = (verdicts.count(False), verdicts.count(None), mass)
        assert exact.broken(column, problem.epsilon) == counted

"""Proofs of channel problems: bounds that cannot be forged, standing by scale, symbols of probability zero, plain words."""

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
from oracles.posteriors import least_distortion, vertices_of

import privopt as po
from privopt.problems.exact_joint import leaking_joint
from privopt.problems.local_information_privacy.data import posterior_rows
from privopt.problems.local_information_privacy.polytope import exp_above, exp_below, polytope

SMALL = po.JointDistribution.normalised([[5, 2, 1], [1, 3, 4]], ["ill", "well"], ["a", "b", "c"])
HAMMING = (1.0 - np.eye(3)).tolist()
FORGED = (1e13, 1e15, 1e17, 1e60, 1e300)
LETTERS = ["a", "b", "c"]


def random_joint(seed: int, secrets: int = 3, symbols: int = 3) -> po.JointDistribution:
    return po.JointDistribution.normalised(np.random.default_rng(seed).random((secrets, symbols)))


def cancelling(rng: np.random.Generator, outputs: int, rows: int, size: float) -> list[np.ndarray]:
    """Multipliers whose rows add up to nothing: both sides of each secret alike, or one side of all secrets alike."""
    sides = np.round(rng.random((outputs, rows // 2)), 2) * size
    equal = np.tile(rng.random((outputs, 1)) * size, (1, rows // 2))
    return [np.hstack([sides, sides]), np.hstack([equal, 0 * equal]), np.hstack([0 * equal, equal])]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("size", FORGED)
def test_cancelling_multipliers_prove_no_false_bound(seed: int, size: float) -> None:
    """At a budget of 0 and full rank only constants are allowed; floats of these rows add up to noise, not to 0."""
    joint, rng = random_joint(seed), np.random.default_rng(seed)
    best = Fraction(max(sum(joint.exact.weights[x::3]) for x in range(3)), joint.exact.total) - 1
    perfect = po.LocalInformationPrivacy(joint, 0.0, utility=HAMMING)
    other = po.DistortionPrivacy(joint, HAMMING, max_leakage=0.0, leakage="lip")
    average = po.DistortionPrivacy(joint, HAMMING, max_leakage=0.0)
    level = po.DistortionPrivacy(
        joint, HAMMING, max_distortion=math.nextafter(float(-best), 1.0), leakage="lip"
    )
    for multipliers in cancelling(rng, 3, len(posterior_rows(perfect)), size):
        dual = {"kind": "linear", "multipliers": multipliers.tolist()}
        for problem in (perfect, other, average):
            proved = problem.check_bound(-math.inf, dual)
            assert proved is None or Fraction(proved) >= best
        assert level.check_bound(-math.inf, {**dual, "kind": "level", "level": 0.0}) is None


@pytest.mark.parametrize("notion", ["lip", "ldp"])
@pytest.mark.parametrize("seed", few(range(5), 3))
def test_no_linear_dual_is_below_the_exact_optimum(notion: str, seed: int) -> None:
    """Against the rational vertices of a polytope that is inside the allowed one."""
    joint, rng = random_joint(seed, 2, 3), np.random.default_rng(seed)
    for budget in (0.0, 1e-3, 0.3):
        problem = po.LocalInformationPrivacy(joint, budget, notion=notion, utility=HAMMING)
        reached = least_distortion(problem)
        rows = len(posterior_rows(problem))
        for size in (0.1, 1.0, 1e8, 1e13, 1e17):
            for _ in range(5):
                multipliers = rng.exponential(size, size=(3, rows)).tolist()
                proved = problem.check_bound(-math.inf, {"kind": "linear", "multipliers": multipliers})
                assert proved is None or proved >= -reached - 1e-9
        solution = po.solve(problem)
        assert solution.status is po.Status.OPTIMAL
        assert solution.bound is not None
        assert solution.bound == pytest.approx(-reached, abs=1e-8)


HOSTILE: tuple[object, ...] = (
    math.nan,
    math.inf,
    -math.inf,
    -1.0,
    "1",
    True,
    None,
    10**400,
    [1.0],
    {},
    1e308,
)


@pytest.mark.parametrize("bad", HOSTILE, ids=repr)
def test_hostile_duals_neither_crash_nor_prove_what_is_false(bad: object) -> None:
    plain = po.LocalInformationPrivacy(SMALL, 0.3)
    cost = po.LocalInformationPrivacy(SMALL, 0.3, utility=HAMMING)
    truth, least = po.solve(plain).utility, po.solve(cost).utility
    assert truth is not None
    assert least is not None
    leaf = {"rows": [], "values": []}
    duals: list[tuple[Any, object]] = [
        (plain, {"kind": "vertices", "pi": [bad, 1.0, 1.0]}),
        (plain, {"kind": "vertices", "pi": bad}),
        (plain, {"kind": "pricing", "pi": [1.0, bad, 1.0], "tree": [leaf]}),
        (plain, {"kind": "pricing", "pi": [1.0, 1.0, 1.0], "tree": [{"rows": [0], "values": [bad]}]}),
        (plain, {"kind": "pricing", "pi": [1.0, 1.0, 1.0], "tree": [{"rows": [bad], "values": [1.0]}]}),
        (plain, {"kind": "pricing", "pi": [1.0, 1.0, 1.0], "tree": [{"k": 0, "t": bad}, leaf, leaf]}),
        (plain, {"kind": "pricing", "pi": [1.0, 1.0, 1.0], "tree": [{"k": bad, "t": 0.1}, leaf, leaf]}),
        (plain, {"kind": "pricing", "pi": [1.0, 1.0, 1.0], "tree": bad}),
        (plain, {"kind": bad}),
        (cost, {"kind": "linear", "multipliers": [[bad] * len(posterior_rows(cost))] * 3}),
        (cost, {"kind": "linear", "multipliers": bad}),
    ]
    for problem, dual in duals:
        proved = problem.check_bound(-math.inf, dual)
        assert proved is None or proved >= (truth if problem is plain else least) - 1e-12
    average = po.DistortionPrivacy(SMALL, HAMMING, max_distortion=0.2)
    best = po.solve(average).objective
    assert best is not None
    for dual in (
        {"kind": "posteriors", "laws": [[bad, 1.0]] * 3, "multiplier": 1.0},
        {"kind": "posteriors", "laws": [[1.0, 1.0]] * 3, "multiplier": bad},
        {"kind": "posteriors", "laws": bad, "multiplier": 1.0},
    ):
        proved = average.check_bound(-math.inf, dual)
        assert proved is None or proved >= best - 1e-12
    ratio = po.DistortionPrivacy(SMALL, HAMMING, max_distortion=0.2, leakage="lip")
    assert ratio.check_bound(-math.inf, {"kind": "level", "level": bad, "multipliers": [[]] * 3}) is None


def test_a_leaf_that_is_not_a_number_does_not_hide_behind_the_least() -> None:
    """min(x, nan) is x: the leaf that overflows must refuse the proof, in whichever order it comes."""
    problem = po.LocalInformationPrivacy(SMALL, 0.3)
    good: dict[str, object] = {"rows": [], "values": []}
    rows = len(problem.polytope.kept)
    for where in (rows, rows + 3, 0):
        bad = {"rows": [where, rows + 4], "values": [1e100, 1e100]}
        for leaves in ([good, bad], [bad, good]):
            tree = [{"k": 1, "t": 0.4}, *leaves]
            proved = problem.check_bound(-9.0, {"kind": "pricing", "pi": [1.0, 1.0, 1.0], "tree": tree})
            solved = po.solve(problem).utility
            assert solved is not None
            assert proved is None or proved >= solved


@pytest.mark.parametrize("notion", ["lip", "ldp"])
@pytest.mark.parametrize("seed", range(6))
def test_vertices_in_balls_find_the_least_cost_of_the_rational_ones(notion: str, seed: int) -> None:
    """Every vertex by brute force over all bases in rationals, its entropy in floats."""
    joint = po.JointDistribution.normalised(
        np.random.default_rng(seed).integers(0, 6, (2 + seed % 2, 4)) + np.eye(2 + seed % 2, 4, dtype=int)
    )
    problem = po.LocalInformationPrivacy(joint, 0.4, notion=notion)
    points = np.array([[float(v) for v in vertex] for vertex in vertices_of(problem)])
    rng = np.random.default_rng(seed)
    p = joint.p_x[joint.p_x > 0]
    whole = -float((p * np.log(p)).sum())
    for _ in range(5):
        prices = rng.normal(1.0, 1.0, size=len(p))
        entropies = -(points * np.log(np.where(points > 0, points, 1.0))).sum(axis=1)
        expected = whole - float(p @ prices) - float((entropies - points @ prices).min())
        ends = problem.prove_bound({"kind": "vertices", "pi": prices.tolist()})
        assert ends is not None
        assert ends[0] - 1e-11 <= expected <= ends[1] + 1e-11
        assert ends[1] - ends[0] <= 1e-12


@pytest.mark.parametrize("budget", [0.0, 0.4])
def test_degenerate_vertices_are_decided_in_rationals(budget: float) -> None:
    """Symmetric tables: many bases meet in one vertex, and none of them is decided by balls."""
    table = [[3, 1, 1, 2], [1, 3, 1, 2], [1, 1, 3, 2]]
    problem = po.LocalInformationPrivacy(po.JointDistribution.normalised(table), budget)
    points = np.array([[float(v) for v in vertex] for vertex in vertices_of(problem)])
    entropies = -(points * np.log(np.where(points > 0, points, 1.0))).sum(axis=1)
    p = problem.observation.p_w
    for seed in range(10):
        prices = np.random.default_rng(seed).normal(1.0, 1.0, size=4)
        expected = (
            -float((p * np.log(p)).sum()) - float(p @ prices) - float((entropies - points @ prices).min())
        )
        ends = problem.prove_bound({"kind": "vertices", "pi": prices.tolist()})
        assert ends is not None
        assert ends[0] - 1e-11 <= expected <= ends[1] + 1e-11


@pytest.mark.parametrize("seed", range(4))
def test_trees_prove_at_most_what_the_vertices_do(seed: int) -> None:
    joint = random_joint(seed, 3, 5)
    problem = po.LocalInformationPrivacy(joint, 0.3)
    solution = po.solve(problem, "column-generation")
    assert solution.status is po.Status.OPTIMAL
    assert isinstance(solution.dual, dict)
    assert solution.dual["kind"] == "pricing"
    tree = problem.prove_bound(solution.dual)
    corners = problem.prove_bound({"kind": "vertices", "pi": solution.dual["pi"]})
    assert tree is not None
    assert corners is not None
    assert corners[0] <= tree[1] <= corners[1] + 1e-6
    assert tree[1] - tree[0] <= 1e-11


def test_rationals_around_exponentials_are_on_the_safe_side() -> None:
    from flint import arb, fmpq

    for level in (1e-300, 1e-17, 1e-9, 0.3, 1.0, 50.0, 3000.0):
        above, below = exp_above(level), exp_below(level)
        assert above is not None
        exact = arb(fmpq(*Fraction(level).as_integer_ratio())).exp()
        assert not arb(fmpq(above.numerator, above.denominator)) < exact
        assert above * below >= 1 - Fraction(1, 2**180)
        assert above * below <= 1 + Fraction(1, 2**180)
        assert above >= 1 + Fraction(level)
        assert below <= 1


def test_rows_are_dropped_by_integers_only() -> None:
    """An independent symbol: floats of its rows are noise at a budget of 0, and no row is kept for it."""
    joint = po.JointDistribution.normalised([[1, 2], [3, 6]])
    assert polytope(po.LocalInformationPrivacy(joint, 0.0).observation, ("lip", 0.0, 0.0)).kept == ()
    for seed in range(20):
        share = np.random.default_rng(seed).integers(1, 999, size=3)
        table = [[int(a) * int(b) for b in share] for a in share]
        assert po.LocalInformationPrivacy(po.JointDistribution.normalised(table), 0.0).polytope.kept == ()


# standing by the problem's scale


@pytest.mark.long
def test_a_tiny_leakage_far_from_its_bound_is_not_called_optimal() -> None:
    """A leakage of 7e-7 with bound 0 counted as optimal when gaps were absolute."""
    problem = po.DistortionPrivacy(random_joint(3), HAMMING, max_distortion=0.4)
    closed = po.solve(problem)
    assert closed.status is po.Status.OPTIMAL
    rough = problem.repair(
        problem.answer(0.999 * np.tile(closed.mechanism.matrix.mean(axis=0), (3, 1)) + 0.001 * np.eye(3)),
        2**-44,
    )
    from privopt.core.judge import judge
    from privopt.core.solver import Proposal

    judged = judge(problem, Proposal(rough, 0.0, {"kind": "analytic"}), certify=True)
    assert judged.objective is not None
    assert judged.objective < 0
    assert judged.status is po.Status.GAP
    near = problem.with_budget(float(problem.costs.of_constant) - 1e-4)
    solution = po.solve(near)
    assert solution.objective is not None
    assert -1e-6 < solution.objective < 0
    assert solution.status is po.Status.GAP or (solution.gap or 0.0) <= max(
        1e-15, 1e-6 * abs(solution.objective)
    )


@pytest.mark.parametrize("leakage", ["mutual_information", "maximal_leakage", "lip"])
def test_where_nothing_needs_to_leak_zero_is_proved_exactly(leakage: str) -> None:
    joint = po.JointDistribution.normalised([[2, 2, 0], [0, 2, 2]])
    problem = po.DistortionPrivacy(joint, HAMMING, max_distortion=0.3, leakage=leakage)
    solution = po.solve(problem)
    assert solution.status is po.Status.OPTIMAL
    assert (solution.leakage, solution.bound) == (0.0, 0.0)


def test_full_rank_at_a_budget_of_zero_is_proved_to_allow_nothing() -> None:
    problem = po.LocalInformationPrivacy(random_joint(1), 0.0)
    assert problem.prove_bound({"kind": "analytic"}) == (0.0, 0.0)
    assert po.solve(problem).status is po.Status.OPTIMAL


def test_a_small_utility_is_closed_relative_to_itself() -> None:
    problem = po.LocalInformationPrivacy(po.JointDistribution.normalised([[501, 499], [499, 501]]), 1e-4)
    solution = po.solve(problem)
    assert solution.status is po.Status.OPTIMAL
    assert solution.gap is not None
    assert solution.utility is not None
    assert solution.gap <= 1e-6 * solution.utility


# symbols of probability zero

WITH_ZERO = po.JointDistribution.normalised([[5, 0, 2, 1], [1, 0, 3, 4]], useful=["a", "never", "b", "c"])


@pytest.mark.parametrize("budget", [0.0, 1e-6, 0.3])
@pytest.mark.parametrize("notion", ["lip", "ldp"])
def test_every_solver_covers_symbols_of_probability_zero(budget: float, notion: str) -> None:
    problem = po.LocalInformationPrivacy(WITH_ZERO, budget, notion=notion)
    for candidate in po.candidates(problem):
        if candidate.refusal is not None or candidate.name == "oracle":
            continue
        solution = po.solve(problem, candidate.solver)
        assert solution.status.ok, (candidate.name, solution.reason)
        assert problem.uncovered_symbols(solution.mechanism) == ()
        covered_by_hand(problem, solution.mechanism, 1)


def covered_by_hand(problem: po.LocalInformationPrivacy, mechanism: Any, unseen: int) -> None:
    joint = leaking_joint(problem.observation, mechanism)
    row = [Fraction(w, mechanism.exact()[unseen].total) for w in mechanism.exact()[unseen].weights]
    rows = [(joint.columns, joint.total)]
    if problem.notion == "ldp":
        rows = list(zip(joint.cells, joint.rows, strict=True))
    for (cells, total), y in itertools.product(rows, range(len(row))):
        p = Fraction(cells[y], total)
        if p == row[y]:
            continue
        assert p > 0
        assert abs(math.log(row[y] / p)) <= problem.budget


def test_an_uncovered_symbol_is_refused_and_repaired() -> None:
    problem = po.LocalInformationPrivacy(WITH_ZERO, 0.3)
    merging = po.Merging([["a", "b", "c"], ["never"]], inputs=WITH_ZERO.useful)
    certificate = problem.certify(merging)
    assert not certificate.ok
    assert "'never' of probability 0" in certificate.reason
    repaired = problem.repair(merging, 2**-44)
    assert problem.certify(repaired).ok
    assert [row.weights for row in repaired.exact()].count(repaired.exact()[0].weights) == 4
    for average in (
        po.DistortionPrivacy(WITH_ZERO, 1 - np.eye(4), max_distortion=0.9),
        po.DistortionPrivacy(WITH_ZERO, 1 - np.eye(4), max_leakage=0.1),
    ):
        odd = average.answer([[1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]])
        assert not average.certify(odd).ok
        assert average.certify(average.repair(odd, 2**-44)).ok


def test_a_record_of_0_1_0_names_the_symbols_that_it_does_not_cover(tmp_path: Path) -> None:
    problem = po.LocalInformationPrivacy(WITH_ZERO, 0.3)
    solution = po.solve(problem, "subset-merging")
    merging = po.Merging([["a", "b", "c"], ["never"]], inputs=WITH_ZERO.useful)
    certificate = problem.certify_record(merging, old=True)
    assert certificate.ok
    assert any("'never'" in text and "do not release" in text for text in certificate.uncovered)
    assert problem.uncovered_symbols(merging) == ("never",)
    reading = problem.evaluate(merging)
    old = replace(certificate, kind="", statement="", adversary="", unit="", uncovered=())
    record = replace(
        solution, answer=merging, certificate=old, utility=reading.utility, leakage=reading.leakage,
        objective=reading.objective, bound=None, gap=None, dual=None, status=po.Status.FEASIBLE,
        guarantee=po.Guarantee.FEASIBLE,
    )  # fmt: skip
    assert po.verify(problem, record).ok
    assert not po.verify(problem, replace(record, certificate=certificate)).ok


# no bound at all, ties, plain words


@pytest.mark.parametrize("seed", range(4))
def test_without_a_bound_the_leakage_is_that_of_both_sides(seed: int) -> None:
    joint = random_joint(seed)
    lifts = np.log(joint.table / np.outer(joint.p_s, joint.p_x))
    free = po.LocalInformationPrivacy(joint, math.inf)
    solution = po.solve(free)
    assert solution.certificate is not None
    assert np.array_equal(solution.mechanism.matrix, np.eye(3))
    assert solution.leakage == pytest.approx(np.abs(lifts).max(), abs=1e-12)
    lo, hi = solution.certificate.leakage
    assert lo <= hi <= lo + 1e-12
    assert lo <= np.abs(lifts).max() + 1e-12
    assert solution.certificate.kind == "utility"
    assert po.verify(free, solution).ok
    for side, value in (("upper", lifts.max()), ("lower", -lifts.min())):
        one = po.LocalInformationPrivacy(joint, **{side: math.log(1e9)})  # type: ignore[arg-type]
        assert one.certify(one.answer(np.eye(3))).leakage[1] == pytest.approx(value, abs=1e-12)
    ruled_out = po.LocalInformationPrivacy(po.JointDistribution.normalised([[1, 1], [0, 2]]), math.inf)
    assert ruled_out.certify(ruled_out.answer(np.eye(2))).leakage == (math.inf, math.inf)
    assert ruled_out.evaluate(ruled_out.answer(np.eye(2))).leakage == math.inf


def test_a_record_of_0_1_0_without_a_bound_still_verifies() -> None:
    """It counted no side, so it states a leakage of 0; its certificate says what both sides leak."""
    free = po.LocalInformationPrivacy(SMALL, math.inf)
    solution = po.solve(free)
    assert solution.certificate is not None
    old = replace(solution.certificate, kind="", leakage=(0.0, 0.0), worst=(), where="", statement="")
    record = replace(solution, certificate=old, leakage=0.0)
    certificate = po.verify(free, record)
    assert certificate.ok
    assert any(repr(solution.certificate.leakage[1]) in text for text in certificate.uncovered)
    assert not po.verify(free, replace(record, certificate=replace(old, kind="privacy"))).ok


def test_a_repair_that_costs_most_of_the_utility_is_shown_as_a_loss() -> None:
    """A single symbol above the bound: merging it with nothing leaves it as it is, and the judge adds noise."""
    rng = np.random.default_rng(0)
    lost = 0.0
    for _ in range(200):
        joint = po.JointDistribution.normalised(rng.random((4, 9)))
        problem = po.LocalInformationPrivacy(joint, 0.9)
        solution = po.solve(problem, "watchdog-merge")
        repaired = solution.stats.get("utility_lost_by_repair", 0.0)
        if not solution.status.ok or not isinstance(repaired, float) or repaired < 0.5:
            continue
        lost = repaired
        assert "REPAIRED at a loss" in str(solution)
        assert "broke the budget" in solution.reason
        break
    assert lost >= 0.5


# probabilities at the edge of floats

EDGE = {
    "cell": [[0.5, 0.2, 1e-250], [0.1, 0.1, 0.1]],
    "symbol": [[0.5, 0.2, 1e-20], [0.1, 0.2, 1e-20]],
    "secret": [[0.5, 0.3, 0.2], [1e-20, 1e-20, 1e-20]],
    "zero": [[0.5, 0.2, 0.0], [0.1, 0.2, 0.0]],
}


@pytest.mark.parametrize("name", EDGE)
@pytest.mark.parametrize(
    "options",
    [{"epsilon": 0.5}, {"epsilon": 0.0}, {"upper": 0.3}, {"epsilon": 0.5, "notion": "ldp"}, {"epsilon": math.inf}, {"epsilon": 0.5, "utility": HAMMING}],
    ids=str,
)  # fmt: skip
def test_extreme_probabilities_are_solved_and_certified(name: str, options: dict[str, Any]) -> None:
    problem = po.LocalInformationPrivacy(po.JointDistribution.normalised(EDGE[name]), **options)
    solution = po.solve(problem, time_limit=4)
    assert solution.certified, solution.reason
    assert solution.objective is not None
    assert math.isfinite(solution.objective)
    assert po.verify(problem, solution).ok


@pytest.mark.parametrize("name", EDGE)
@pytest.mark.parametrize("leakage", ["mutual_information", "maximal_leakage", "lip", "ldp"])
@pytest.mark.parametrize("bound", ["max_distortion", "max_leakage"])
def test_extreme_probabilities_in_distortion_privacy(name: str, leakage: str, bound: str) -> None:
    joint = po.JointDistribution.normalised(EDGE[name])
    problem = po.DistortionPrivacy(joint, HAMMING, leakage=leakage, **{bound: 0.1})  # type: ignore[arg-type]
    solution = po.solve(problem, time_limit=4)
    assert solution.certified, solution.reason
    assert po.verify(problem, solution).ok


def test_a_probability_below_the_range_of_floats_is_refused_in_a_sentence() -> None:
    joint = po.JointDistribution.normalised([[0.5, 0.2, 1e-307], [0.1, 0.1, 0.1]])
    for ask in (
        lambda: po.LocalInformationPrivacy(joint, 0.5),
        lambda: po.DistortionPrivacy(joint, HAMMING, max_distortion=0.1),
    ):
        with pytest.raises(po.errors.InvalidProblem, match=r"P\(0, 2\) is positive and below 1e-290"):
            ask()


def test_bounds_survive_a_file(tmp_path: Path) -> None:
    for number, problem in enumerate(
        (
            po.LocalInformationPrivacy(SMALL, 0.3),
            po.LocalInformationPrivacy(SMALL, 0.3, utility=HAMMING),
            po.DistortionPrivacy(SMALL, HAMMING, max_distortion=0.2),
            po.DistortionPrivacy(SMALL, HAMMING, max_distortion=0.2, leakage="ldp"),
        )
    ):
        solution = po.solve(problem)
        path = tmp_path / f"{number}.json"
        solution.save(path)
        loaded = po.Solution.load(path)
        certificate = po.verify(problem, loaded)
        assert certificate.ok
        assert certificate.remarks == ()
        lie = json.loads(path.read_text())
        lie["bound"] = lie["objective"] = (lie["bound"] + lie["objective"]) / 2 - 1e-4
        assert not po.verify(problem, po.Solution.from_dict(lie)).ok


VERIFIED = """
import sys
from pathlib import Path
import privopt as po

folder = Path(sys.argv[1])
for path in sorted(folder.glob("*.problem.json")):
    solution = po.Solution.load(path.with_name(path.name.replace(".problem", "")))
    certificate = po.verify(po.load_problem(path), solution)
    print(path.name, certificate.ok, certificate.reason if not certificate.ok else "")
"""


@pytest.mark.long
@pytest.mark.parametrize(
    "settings",
    [
        {
            "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4",
            "OPENBLAS_CORETYPE": "Prescott",
            "OPENBLAS_NUM_THREADS": "1",
        },
        {"OPENBLAS_CORETYPE": "Haswell", "OPENBLAS_NUM_THREADS": "2"},
    ],
    ids=["oldest", "two threads"],
)
def test_default_answers_verify_on_other_processors(settings: dict[str, str], tmp_path: Path) -> None:
    count = 0
    for problem_type in (po.LocalInformationPrivacy, po.DistortionPrivacy):
        for example in problem_type.examples():
            solution = po.solve(example.problem, time_limit=4)
            (tmp_path / f"{count}.problem.json").write_text(json.dumps(example.problem.to_dict()))
            solution.save(tmp_path / f"{count}.json")
            count += 1
    command = [sys.executable, "-W", "ignore", "-c", VERIFIED, str(tmp_path)]
    ran = subprocess.run(command, env={**os.environ, **settings}, capture_output=True, text=True, check=True)
    lines = ran.stdout.splitlines()
    assert len(lines) == count
    assert all(" True " in line for line in lines), lines

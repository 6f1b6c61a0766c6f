"""Solvers for distortion and leakage: agreement, closed forms, invariants, edges."""

from __future__ import annotations

import itertools
import math
import time
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from instances.few import few
from oracles.distortion import MEASURES, binary_channels, random_joint

import privopt as po
from privopt.core.judge import judge
from privopt.solvers.distortion_privacy._space import Space
from privopt.solvers.distortion_privacy.blahut_arimoto import BlahutArimoto, alternate
from privopt.solvers.distortion_privacy.conic import Conic, ConicClarabel, ConicECOS, ConicSCS
from privopt.solvers.distortion_privacy.direct_lp import DirectLp
from privopt.solvers.distortion_privacy.oracle import Oracle

SOLVERS: tuple[type[po.Solver[Any]], ...] = (BlahutArimoto, DirectLp, ConicClarabel, ConicECOS, ConicSCS)
CONIC: tuple[type[Conic], ...] = (ConicClarabel, ConicECOS, ConicSCS)
KINDS = ("max_distortion", "max_leakage")


def uniform(n: int) -> po.JointDistribution:
    return po.JointDistribution.normalised(np.eye(n, dtype=np.int64).tolist())


def hamming(n: int) -> list[list[float]]:
    return (1.0 - np.eye(n)).tolist()


def in_process(problem: po.DistortionPrivacy, solver: po.Solver[Any]) -> po.Solution[Any]:
    """Judged as ever, without a process of its own."""
    return judge(problem, solver.run(problem, po.Budget(time.monotonic() + 5)), certify=True)


def objective(problem: po.DistortionPrivacy, name: str | None = None) -> float:
    solution = po.solve(problem, name, time_limit=60.0)
    assert solution.certified, solution.reason
    assert solution.objective is not None
    return solution.objective


def random_problem(seed: int, leakage: str, alpha: float | None, kind: str) -> po.DistortionPrivacy:
    """A bound between what a constant and what the best reproduction reach."""
    rng = np.random.default_rng(seed)
    joint = random_joint(rng, 2, 3)
    matrix = rng.integers(0, 6, (3, 3)) / 4 + np.eye(3)
    free = po.DistortionPrivacy(joint, matrix, max_distortion=math.inf, leakage=leakage, alpha=alpha)
    share = rng.uniform(0.2, 0.8)
    ends = [-free.evaluate(m).utility for m in (free.reproduction(), free.constant())]
    budget = ends[0] + share * (ends[1] - ends[0])
    if kind == "max_leakage":
        budget = share * min(1.0, free.evaluate(free.reproduction()).leakage)
    return po.DistortionPrivacy(joint, matrix, leakage=leakage, alpha=alpha, **{kind: budget})  # type: ignore[arg-type]


@pytest.mark.parametrize(("leakage", "alpha"), MEASURES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", few(range(3), 1))
def test_all_solvers_agree_with_the_oracle(leakage: str, alpha: float | None, kind: str, seed: int) -> None:
    problem = random_problem(seed, leakage, alpha, kind)
    expected = in_process(problem, Oracle()).objective
    assert expected is not None
    takers = [cls() for cls in SOLVERS if cls().refuse(problem) is None]
    assert len(takers) >= 3
    for solver in takers:
        solution = in_process(problem, solver)
        assert solution.certified, (solver.name, solution.reason)
        assert solution.bound is not None
        assert solution.bound >= expected - 1e-9, solver.name
        if solver.name != "conic-scs":
            assert solution.status is po.Status.OPTIMAL, (solver.name, solution.gap)
            assert solution.objective == pytest.approx(expected, abs=2e-6)


@pytest.mark.long
@pytest.mark.parametrize(("leakage", "alpha"), MEASURES)
@pytest.mark.parametrize("kind", KINDS)
def test_no_channel_of_a_grid_is_better(leakage: str, alpha: float | None, kind: str) -> None:
    joint = po.JointDistribution.normalised([[4, 1], [2, 3]])
    budget = 0.15 if kind == "max_distortion" else 0.03
    problem = po.DistortionPrivacy(joint, [[0, 1], [2, 0]], leakage=leakage, alpha=alpha, **{kind: budget})  # type: ignore[arg-type]
    solution = po.solve(problem)
    assert solution.status is po.Status.OPTIMAL
    readings = [problem.evaluate(problem.answer(m)) for m in binary_channels(40)]
    best = max(r.objective for r in readings if r.feasible)
    assert solution.objective is not None
    assert best <= solution.objective + 1e-9 <= best + 0.1


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("error", [0.05, 0.2, 0.45])
def test_the_rate_of_a_uniform_source(n: int, error: float) -> None:
    """Shannon: ln n - h(error) - error ln(n - 1)."""
    h = -error * math.log(error) - (1 - error) * math.log(1 - error)
    rate = math.log(n) - h - error * math.log(n - 1)
    problem = po.DistortionPrivacy(uniform(n), hamming(n), max_distortion=error)
    assert objective(problem, "blahut-arimoto") == pytest.approx(-rate, abs=1e-6)
    back = po.DistortionPrivacy(uniform(n), hamming(n), max_leakage=rate)
    assert objective(back, "blahut-arimoto") == pytest.approx(-error, abs=1e-6)


@pytest.mark.parametrize("n", [2, 4])
def test_the_rate_of_a_binary_source_that_is_not_uniform(n: int) -> None:
    """h(p) - h(error) for p = 1/n."""
    joint = po.JointDistribution.normalised([[1, 0], [0, n - 1]] if n > 2 else [[1, 0], [0, 1]])
    h = [-q * math.log(q) - (1 - q) * math.log(1 - q) for q in (1 / n, 0.1)]
    problem = po.DistortionPrivacy(joint, hamming(2), max_distortion=0.1)
    assert objective(problem) == pytest.approx(h[1] - h[0], abs=1e-6)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_closed_forms_of_the_ratio_measures(n: int) -> None:
    """LDP error (n-1)/(r+n-1); LIP error 1 - min(r, n - (n-1)/r)/n; maximal leakage ln n(1 - error)."""
    r = math.exp(0.7)
    ldp, lip = (n - 1) / (r + n - 1), 1 - min(r, n - (n - 1) / r) / n
    for name, error in (("ldp", ldp), ("lip", lip)):
        there = po.DistortionPrivacy(uniform(n), hamming(n), max_leakage=0.7, leakage=name)
        assert objective(there) == pytest.approx(-error, abs=1e-8)
        back = po.DistortionPrivacy(uniform(n), hamming(n), max_distortion=error, leakage=name)
        assert objective(back) == pytest.approx(-0.7, abs=1e-7)
    most = po.DistortionPrivacy(uniform(n), hamming(n), max_distortion=0.3, leakage="maximal_leakage")
    assert objective(most) == pytest.approx(-math.log(n * 0.7), abs=1e-9)


@pytest.mark.parametrize(("leakage", "alpha"), MEASURES)
def test_the_two_questions_are_inverse(leakage: str, alpha: float | None) -> None:
    rng = np.random.default_rng(7)
    joint, matrix = random_joint(rng, 3, 4), rng.integers(0, 9, (4, 4)) / 8
    free = po.DistortionPrivacy(joint, matrix, max_distortion=math.inf, leakage=leakage, alpha=alpha)
    lo, hi = (-free.evaluate(m).utility for m in (free.reproduction(), free.constant()))
    budget = 0.6 * lo + 0.4 * hi
    leak = -objective(free.with_budget(budget))
    back = po.DistortionPrivacy(joint, matrix, max_leakage=leak, leakage=leakage, alpha=alpha)
    assert leak > 1e-3
    assert objective(back) == pytest.approx(-budget, abs=1e-5)


@pytest.mark.long
@pytest.mark.parametrize(("leakage", "alpha"), MEASURES)
@pytest.mark.parametrize("kind", KINDS)
def test_more_room_never_costs(leakage: str, alpha: float | None, kind: str) -> None:
    problem = random_problem(11, leakage, alpha, kind)
    objectives = [
        s.objective for s in po.frontier(problem, problem.budget * np.array([0.8, 0.9, 1.0, 1.1, 1.2]))
    ]
    values = [v for v in objectives if v is not None]
    assert len(values) >= 3
    assert values == sorted(values)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_measures_are_ordered_at_the_optimum(seed: int) -> None:
    """Sibson's information grows with its order, and no order exceeds LIP, nor LIP LDP."""
    values = []
    for leakage, alpha in (
        ("sibson", 0.5), ("mutual_information", None), ("sibson", 3.0), ("maximal_leakage", None),
        ("lip", None), ("ldp", None),
    ):  # fmt: skip
        base = random_problem(seed, "mutual_information", None, "max_distortion")
        problem = po.DistortionPrivacy(
            base.joint, base.matrix, max_distortion=base.budget, leakage=leakage, alpha=alpha
        )
        values.append(-objective(problem))
    assert all(b >= a - 1e-6 for a, b in itertools.pairwise(values))
    assert seed != 1 or values[-1] > values[0] + 0.1


@pytest.mark.parametrize("seed", range(3))
def test_post_processing_never_helps(seed: int) -> None:
    """A coarser view of the data to work from: the least leakage does not fall."""
    rng = np.random.default_rng(seed)
    table = rng.integers(1, 9, (2, 2, 4))
    fine = po.ObservedJoint.normalised(table)
    coarse = po.ObservedJoint.normalised(
        np.stack([table[..., :2].sum(axis=2), table[..., 2:].sum(axis=2)], axis=2)
    )
    least = float(po.DistortionPrivacy(coarse, hamming(2), max_distortion=1.0).costs.least)
    problems = [
        po.DistortionPrivacy(joint, hamming(2), max_distortion=least + 0.02, leakage="maximal_leakage")
        for joint in (fine, coarse)
    ]
    assert objective(problems[0]) >= objective(problems[1]) - 1e-9


@pytest.mark.parametrize(("order", "measure"), [(1.0, "mutual_information"), (math.inf, "maximal_leakage")])
@pytest.mark.parametrize("kind", KINDS)
def test_orders_with_a_name_of_their_own(order: float, measure: str, kind: str) -> None:
    named = random_problem(3, measure, None, kind)
    budget: dict[str, Any] = {kind: named.budget}
    sibson = po.DistortionPrivacy(named.joint, named.matrix, leakage="sibson", alpha=order, **budget)
    assert objective(sibson) == pytest.approx(objective(named), abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", [0.999, 1 - 1e-6, 1 + 1e-9, 1.00003, 1.001])
def test_orders_near_one(order: float, kind: str) -> None:
    named = random_problem(3, "mutual_information", None, kind)
    budget: dict[str, Any] = {kind: named.budget}
    near = po.DistortionPrivacy(named.joint, named.matrix, leakage="sibson", alpha=order, **budget)
    solution = in_process(near, ConicClarabel())
    assert solution.gap is not None
    assert solution.gap < 1e-5
    assert solution.objective == pytest.approx(objective(named), abs=2e-5 + 2 * abs(order - 1))


@pytest.mark.parametrize("name", ["lip", "ldp"])
@pytest.mark.parametrize("solver", [DirectLp, ConicECOS])
def test_the_same_as_local_information_privacy(name: str, solver: type[po.Solver[Any]]) -> None:
    """The proof that a sister problem accepts, and its own judgement of the release."""
    rng = np.random.default_rng(2)
    joint, matrix = random_joint(rng, 3, 5), rng.integers(0, 9, (5, 4)) / 8
    problem = po.DistortionPrivacy(joint, matrix, max_leakage=0.3, leakage=name)
    sister = po.LocalInformationPrivacy(joint, 0.3, notion=name, utility=matrix)
    solution = in_process(problem, solver())
    assert solution.status is po.Status.OPTIMAL
    assert sister.certify(solution.mechanism).ok
    assert sister.evaluate(solution.mechanism).utility == pytest.approx(solution.objective, abs=1e-12)
    dual = solution.dual
    assert isinstance(dual, dict)
    scaled = {**dual, "multipliers": (np.array(dual["multipliers"]) / problem.magnitude).tolist()}
    proved = sister.check_bound(-math.inf, scaled)
    assert proved == pytest.approx(solution.bound, abs=1e-9)


@pytest.mark.parametrize(("leakage", "alpha"), MEASURES)
def test_nothing_leaks_exactly(leakage: str, alpha: float | None) -> None:
    """Where nothing may leak all measures are one: the release is exactly independent, and exactly optimal."""
    joint = po.JointDistribution.normalised([[2, 2, 0, 3], [0, 2, 2, 1]])
    problem = po.DistortionPrivacy(joint, hamming(4), max_leakage=0.0, leakage=leakage, alpha=alpha)
    solution = po.solve(problem)
    assert (solution.status, solution.solver) == (po.Status.OPTIMAL, "direct-lp")
    assert solution.certificate is not None
    assert solution.certificate.leakage == (0.0, 0.0)
    constant = problem.evaluate(problem.constant()).objective
    assert solution.objective is not None
    assert solution.objective > constant + 0.05


def test_an_exactly_independent_release_has_the_rational_optimum() -> None:
    """S is seen through steps 0, 1/2, 1: the middle symbol is free, the ends must be released alike."""
    joint = po.JointDistribution.normalised([[2, 2, 0], [0, 2, 2]])
    problem = po.DistortionPrivacy(joint, hamming(3), max_leakage=0.0)
    assert problem.costs.expected(po.solve(problem).mechanism) == Fraction(1, 4)


@pytest.mark.parametrize(("leakage", "alpha"), MEASURES)
def test_too_little_distortion_is_infeasible(leakage: str, alpha: float | None) -> None:
    problem = po.DistortionPrivacy(uniform(3), [[1, 2], [1, 2], [1, 2]], max_distortion=0.9, leakage=leakage, alpha=alpha)  # fmt: skip
    for cls in (*SOLVERS, Oracle):
        if cls().refuse(problem) is None:
            solution = in_process(problem, cls())
            assert solution.status is po.Status.INFEASIBLE
            assert (
                "even the best reproduction has expected distortion 1.0, above max_distortion 0.9"
                in solution.reason
            )
    assert po.solve(problem).status is po.Status.INFEASIBLE
    assert problem.with_budget(1.0).check_infeasible({"kind": "reproduction"}) is None


@pytest.mark.parametrize(("leakage", "alpha"), MEASURES)
def test_no_room_at_all(leakage: str, alpha: float | None) -> None:
    """Distortion 0 leaves the reproduction only; a ratio measure is then infinite."""
    joint = po.JointDistribution.normalised([[4, 0, 1], [0, 3, 2]])
    problem = po.DistortionPrivacy(joint, hamming(3), max_distortion=0.0, leakage=leakage, alpha=alpha)
    solution = po.solve(problem)
    assert solution.certified
    assert np.array_equal(solution.mechanism.matrix, np.eye(3))
    if leakage in ("lip", "ldp"):
        assert solution.leakage == math.inf
    else:
        assert solution.status is po.Status.OPTIMAL


@pytest.mark.parametrize(("leakage", "alpha"), MEASURES)
@pytest.mark.parametrize("kind", KINDS)
def test_symbols_of_probability_zero(leakage: str, alpha: float | None, kind: str) -> None:
    base = random_problem(4, leakage, alpha, kind)
    table = np.array(base.joint.to_dict()["table"])
    padded = np.insert(np.insert(table, 1, 0, axis=1), 1, 0, axis=0)
    matrix = np.insert(base.matrix, 1, 7.0, axis=0)
    budget: dict[str, Any] = {kind: base.budget}
    wide = po.DistortionPrivacy(
        po.JointDistribution.normalised(padded.tolist()), matrix, leakage=leakage, alpha=alpha, **budget
    )
    assert objective(wide) == pytest.approx(objective(base), abs=2e-6)


@pytest.mark.parametrize("unit", [1e-9, 1e6])
@pytest.mark.parametrize("leakage", ["mutual_information", "lip", "maximal_leakage"])
def test_the_unit_of_the_distortion_does_not_matter(unit: float, leakage: str) -> None:
    for kind in KINDS:
        base = random_problem(6, leakage, None, kind)
        factor = unit if kind == "max_distortion" else 1.0
        budget: dict[str, Any] = {kind: base.budget * factor}
        scaled = po.DistortionPrivacy(base.joint, base.matrix * unit, leakage=leakage, **budget)
        value = objective(scaled) / (unit if kind == "max_leakage" else 1.0)
        assert value == pytest.approx(objective(base), abs=2e-6)


def test_steps_of_blahut_and_arimoto_never_raise_the_information() -> None:
    for seed in range(5):
        problem = random_problem(seed, "mutual_information", None, "max_distortion")
        space = Space(problem)
        start = np.full(space.excess.shape, 1 / 3)
        values = [
            alternate(space, space.room, start, lambda information, price: math.inf, budget).information
            for budget in [po.Budget()]
        ]
        run = alternate(space, space.room, start, lambda information, price: 1e-9, po.Budget())
        values.append(run.information)
        assert values == sorted(values, reverse=True)
        assert run.information == pytest.approx(space.leakage(run.matrix), rel=1e-9)
        assert objective(problem) == pytest.approx(-run.information, abs=1e-6)


@pytest.mark.parametrize("cls", CONIC)
def test_raw_answers_that_miss_the_budget_are_mended(cls: type[Conic]) -> None:
    """Back ends end a little outside; what is returned is proved inside, at no visible cost."""
    missed = 0
    for kind in KINDS:
        for seed in range(3):
            problem = random_problem(seed, "mutual_information", None, kind)
            proposal = cls().run(problem, po.Budget())
            assert proposal.mechanism is not None
            raw = problem.check(proposal.mechanism)
            missed += not problem.certify(raw).ok
            solution = judge(problem, proposal, certify=True)
            assert solution.certified
            assert float(solution.stats.get("utility_lost_by_repair", 0.0)) <= 1e-6
    assert missed > 0


def test_what_each_solver_refuses() -> None:
    mi = po.DistortionPrivacy(uniform(3), hamming(3), max_distortion=0.1)
    assert "not linear" in str(DirectLp().refuse(mi))
    assert "at most 20" in str(
        Oracle().refuse(po.DistortionPrivacy(uniform(5), hamming(5), max_distortion=0.1))
    )
    low = po.DistortionPrivacy(uniform(3), hamming(3), max_distortion=0.1, leakage="sibson", alpha=0.05)
    assert all("order" in str(cls().refuse(low)) for cls in CONIC)
    assert "steps are for mutual information" in str(BlahutArimoto().refuse(low))
    none = po.DistortionPrivacy(uniform(3), hamming(3), max_leakage=0.0)
    assert all(
        "direct-lp answers it exactly" in str(cls().refuse(none)) for cls in (*CONIC, Oracle, BlahutArimoto)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_running_out_of_time_leaves_a_private_answer(kind: str) -> None:
    rng = np.random.default_rng(0)
    joint = po.JointDistribution.normalised(rng.integers(1, 99, (20, 60)).tolist())
    matrix = np.abs(np.subtract.outer(np.arange(60), np.arange(60))) / 10
    budget = 0.1 if kind == "max_distortion" else 0.01
    for leakage in ("mutual_information", "lip"):
        problem = po.DistortionPrivacy(joint, matrix, leakage=leakage, **{kind: budget})  # type: ignore[arg-type]
        name = "blahut-arimoto" if leakage == "mutual_information" else "direct-lp"
        solution = po.solve(problem, name, time_limit=0.3)
        assert solution.certified
        assert solution.seconds < 15

"""Bounds by value of the secret, and on a divergence of every release, against definitions in fractions and cone programs."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import privopt as po
from privopt.arrays import Floats
from privopt.cli import app
from privopt.core.certificate import Certificate
from privopt.errors import InvalidProblem
from privopt.files.json import write_json
from privopt.problems.local_information_privacy import divergences
from privopt.proof.write import prove
from privopt.publication.audit import Terms, audit_cells

THREE = po.JointDistribution.normalised(
    [[5, 2, 1, 2], [1, 3, 4, 1], [2, 2, 2, 5]], ["a", "b", "c"], list("wxyz")
)
HAMMING = 1.0 - np.eye(4)
BOUNDS = {"l1": 0.3, "chi2": 0.1, "average": 0.05}


def by_definition(notion: str, channel: po.Channel) -> list[Fraction | float]:
    """The divergence of each release, from the definition, in fractions where they do."""
    p = [[Fraction(w, THREE.exact.total) for w in THREE.exact.weights[i : i + 4]] for i in (0, 4, 8)]
    prior = [sum(row) for row in p]
    values: list[Fraction | float] = []
    for y in range(len(channel.outputs)):
        column = [
            sum(c * row.fraction(y) for c, row in zip(line, channel.exact(), strict=True)) for line in p
        ]
        posterior = [c / sum(column) for c in column]
        pairs = list(zip(posterior, prior, strict=True))
        if notion == "l1":
            values.append(sum((abs(q - r) for q, r in pairs), Fraction(0)))
        elif notion == "chi2":
            values.append(sum(((q - r) ** 2 / r for q, r in pairs), Fraction(0)))
        else:
            values.append(math.fsum(float(q) * math.log(q / r) for q, r in pairs if q))
    return values


def random_channel(seed: int) -> po.Channel:
    rows = np.random.default_rng(seed).dirichlet(np.ones(3), 4)
    return po.Channel(rows, THREE.useful).quantised()


@pytest.mark.parametrize("notion", divergences.NOTIONS)
@pytest.mark.parametrize("seed", range(3))
def test_the_reading_and_the_certificate_are_the_definition(notion: str, seed: int) -> None:
    channel = random_channel(seed)
    values = by_definition(notion, channel)
    problem = po.LocalInformationPrivacy(THREE, 10.0, notion=notion)
    reading, certificate = problem.evaluate(channel), problem.certify(channel)
    largest = max(values)
    assert reading.leakage == pytest.approx(float(largest), rel=1e-12)
    assert reading.worst == certificate.worst == (channel.outputs[values.index(largest)],)
    assert certificate.ok
    low, high = certificate.leakage
    assert low <= largest <= high or notion == "average"
    assert high - low <= 1e-14 * high
    for share, kept in ((1 + 1e-9, True), (1 - 1e-9, False)):
        assert problem.with_budget(float(largest) * share).certify(channel).ok is kept


def test_rational_divergences_are_compared_exactly() -> None:
    joint = po.JointDistribution.normalised([[3, 1], [1, 3]])
    identity = po.Channel(np.eye(2))
    for notion, value in (("l1", 0.5), ("chi2", 0.25)):
        problem = po.LocalInformationPrivacy(joint, value, notion=notion)
        assert problem.certify(identity).ok
        assert not problem.with_budget(math.nextafter(value, 0)).certify(identity).ok


@pytest.mark.parametrize("notion", divergences.NOTIONS)
def test_half_spaces_hold_every_allowed_posterior(notion: str) -> None:
    rng = np.random.default_rng(5)
    weights = (5, 3, 2)
    prior = np.array(weights) / 10
    bound, moved = 0.0, np.zeros((3, 1))
    for bound in (0.02, 0.3):
        for _ in range(20):
            along = tuple(int(v) for v in rng.integers(-divergences.SCALE, divergences.SCALE, 3))
            far = float(divergences.reach(notion, along, weights, bound))
            moved = (rng.dirichlet(np.ones(3), 200) - prior).T
            inside = moved * divergences.shares_of(notion, moved, prior, bound) + prior[:, None]
            reached = np.array(along) / divergences.SCALE @ inside
            assert reached.max() <= far + 1e-12
    border = prior[:, None] + divergences.shares_of(notion, moved, prior, bound) * moved
    for q in border.T[:5]:  # and are met where the set ends
        if (
            notion != "l1"
            and abs(divergences.of_moves(notion, (q - prior)[:, None], prior)[0] - bound) < 1e-12
        ):
            along = divergences.direction(notion, q, prior)
            far = float(divergences.reach(notion, along, weights, bound))
            assert np.array(along) / divergences.SCALE @ q == pytest.approx(far, abs=1e-9)


def solved(problem: po.LocalInformationPrivacy, solver: str | None = None) -> tuple[Any, float, float]:
    """A solution, its utility and its bound."""
    solution = po.solve(problem, solver, time_limit=60)
    assert solution.utility is not None
    assert solution.bound is not None
    return solution, solution.utility, solution.bound


def least_hamming(notion: str, bound: float) -> float:
    """The least Hamming error by a cone program of its own: joint probabilities of symbols and releases."""
    cvxpy: Any = pytest.importorskip("cvxpy")
    table: Floats = THREE.table
    prior, p = table.sum(axis=1), table.sum(axis=0)
    q = cvxpy.Variable((4, 4), nonneg=True)
    rules = [cvxpy.sum(q, axis=1) == p]
    for y in range(4):
        mass, of_s = cvxpy.sum(q[:, y]), (table / p) @ q[:, y]
        moved = of_s - prior * mass
        if notion == "l1":
            rules.append(cvxpy.norm1(moved) <= bound * mass)
        elif notion == "chi2":
            rules.append(cvxpy.norm2(cvxpy.multiply(moved, prior**-0.5)) <= math.sqrt(bound) * mass)
        else:
            rules.append(cvxpy.sum(cvxpy.rel_entr(of_s, prior * mass)) <= bound * mass)
    program = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(cvxpy.multiply(q, HAMMING))), rules)
    program.solve(solver="CLARABEL")
    return float(program.value)


@pytest.mark.parametrize(("notion", "bound"), BOUNDS.items())
def test_the_least_distortion_is_that_of_a_cone_program(notion: str, bound: float) -> None:
    problem = po.LocalInformationPrivacy(THREE, bound, notion=notion, utility=HAMMING)
    solution, utility, most = solved(problem)
    assert solution.status.name == "OPTIMAL"
    assert solution.certified
    assert -utility == pytest.approx(least_hamming(notion, bound), abs=1e-6)
    proved = problem.prove_bound(solution.dual)
    assert proved is not None
    assert proved[1] == pytest.approx(most, abs=1e-12)


@pytest.mark.long
@pytest.mark.parametrize(("notion", "bound"), BOUNDS.items())
def test_information_is_that_of_a_fine_net_of_posteriors(notion: str, bound: float) -> None:
    from scipy.optimize import linprog

    _, utility, most = solved(po.LocalInformationPrivacy(THREE, bound, notion=notion))
    table = THREE.table
    prior, p = table.sum(axis=1), table.sum(axis=0)
    rng = np.random.default_rng(0)
    ends = np.concatenate([rng.dirichlet(np.full(4, 0.3), 20_000), np.eye(4)])
    moved = (table / p) @ ends.T - prior[:, None]
    share = divergences.shares_of(notion, moved, prior, bound)[:, None]
    points = np.concatenate([share * ends + (1 - share) * p, p[None]])
    entropies = -(points * np.log(np.where(points > 0, points, 1.0))).sum(axis=1)
    net = linprog(entropies, A_eq=points.T, b_eq=p, method="highs")
    within = float(-(p * np.log(p)).sum() - net.fun)
    assert within <= most + 1e-9
    assert within >= 0.99 * utility


def test_a_dual_that_is_no_proof_proves_nothing() -> None:
    problem = po.LocalInformationPrivacy(THREE, 0.1, notion="chi2", utility=HAMMING)
    solution = po.solve(problem, "cuts", time_limit=60)
    dual: Any = solution.dual
    assert dual["kind"] == "directions"
    assert problem.prove_bound({**dual, "directions": [[0.5, 0, 0]]}) is None
    assert problem.prove_bound({**dual, "directions": [c[:2] for c in dual["directions"]]}) is None
    assert po.LocalInformationPrivacy(THREE, 0.1, utility=HAMMING).prove_bound(dual) is None


@pytest.mark.parametrize("notion", divergences.NOTIONS)
def test_a_divergence_of_0_is_independence(notion: str) -> None:
    problem = po.LocalInformationPrivacy(THREE, 0.0, notion=notion)
    solution = po.solve(problem)
    assert solution.certified
    assert solution.utility == pytest.approx(
        po.solve(po.LocalInformationPrivacy(THREE, 0.0)).utility, abs=1e-9
    )


def test_budgets_imply_each_other_as_the_inequalities_say() -> None:
    for seed in range(20):
        channel = random_channel(seed)
        of = {n: po.LocalInformationPrivacy(THREE, 1.0, notion=n).evaluate(channel).leakage for n in BOUNDS}
        lift = po.LocalInformationPrivacy(THREE, 1.0).evaluate(channel).leakage
        assert of["l1"] ** 2 / 2 <= of["average"] <= math.log1p(of["chi2"]) <= of["chi2"]
        assert of["l1"] ** 2 <= of["chi2"] <= of["l1"] * math.expm1(lift) / 2 * (1 + math.exp(-lift))
        assert of["average"] <= lift
        assert of["l1"] <= 2 * math.tanh(lift / 2) + 1e-12


def test_bounds_of_single_values() -> None:
    free, utility, _ = solved(po.LocalInformationPrivacy(THREE, upper={"a": 0.2}))
    lifts = np.log(
        (THREE.table @ free.mechanism.matrix) / np.outer(THREE.p_s, THREE.p_x @ free.mechanism.matrix)
    )
    assert free.certified
    assert lifts[0].max() == pytest.approx(0.2, abs=1e-9)
    assert lifts[1:].max() > 0.3
    tight = po.LocalInformationPrivacy(THREE, upper=0.2)
    assert utility > solved(tight)[2]
    assert tight.with_budget(0.2) == po.LocalInformationPrivacy(THREE, upper=[0.2, 0.2, 0.2])
    assert not tight.certify(free.mechanism).ok
    assert "'a' more than" in free.certificate.statement
    assert "nothing is promised" in free.certificate.statement


@pytest.mark.parametrize("utility", ["mutual_information", HAMMING])
def test_bounds_by_value_against_brute_force(utility: Any) -> None:
    problem = po.LocalInformationPrivacy(
        THREE, lower=[0.1, 0.5, 1.0], upper={"a": 0.2, "b": 0.5}, utility=utility
    )
    oracle = po.solve(problem, "oracle", time_limit=60).utility
    best, utility_reached, bound = solved(problem)
    assert best.status.name == "OPTIMAL"
    assert oracle is not None
    assert utility_reached == pytest.approx(oracle, abs=1e-7)
    assert bound >= oracle
    assert po.problem_from_dict(problem.to_dict()) == problem
    assert problem.with_budget(2.0).budget == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"upper": {"d": 0.1}}, "no value of the secret"),
        ({"upper": [0.1, 0.2]}, "has 2 bounds"),
        ({"upper": [0.1, -0.2, 0.3]}, "must be >= 0"),
        ({"epsilon": [0.1, 0.2, 0.3], "notion": "ldp"}, "one epsilon"),
        ({"epsilon": [0.1, 0.2, 0.3], "delta": 0.1}, "do not go with delta"),
        ({"epsilon": -0.1, "notion": "chi2"}, r"must be >= 0, got -0\.1"),
        ({"epsilon": -0.1, "notion": "average"}, r"must be >= 0 nats, got -0\.1"),
        ({"upper": 0.1, "notion": "chi2"}, "one budget"),
        ({"epsilon": 0.1, "notion": "l1", "delta": 0.1}, "does not go with delta"),
    ],
)
def test_what_has_no_form_is_refused(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidProblem, match=said):
        po.LocalInformationPrivacy(THREE, **arguments)


@pytest.mark.parametrize("notion", divergences.NOTIONS)
def test_symbols_that_never_occur_are_released_like_the_average(notion: str) -> None:
    joint = po.JointDistribution.normalised([[5, 2, 0], [1, 3, 0]], ["a", "b"], ["x", "y", "z"])
    problem = po.LocalInformationPrivacy(joint, 0.3, notion=notion)
    odd = po.Channel([[0.5, 0.5], [0.5, 0.5], [1.0, 0.0]], joint.useful)
    assert problem.uncovered_symbols(odd) == ("z",)
    assert not problem.certify(odd).ok
    assert problem.certify(problem.repair(odd, 2**-44)).ok
    assert po.solve(problem).certified


@pytest.mark.parametrize(
    "bounds", [{"upper": {"a": 0.2}}, {"epsilon": 0.1, "notion": "chi2"}, {"epsilon": 0.2, "notion": "l1"}]
)
def test_an_explanation_and_an_audit_say_what_is_bounded(bounds: dict[str, Any]) -> None:
    weights = np.array(THREE.exact.weights)
    rows = [
        (s, x)
        for (s, x), n in zip(((s, x) for s in "abc" for x in "wxyz"), weights, strict=True)
        for _ in range(n)
    ]
    columns = {"s": [s for s, _ in rows], "x": [x for _, x in rows]}
    frame = pytest.importorskip("pandas").DataFrame(columns)
    joint = po.JointDistribution.from_frame(frame, sensitive=["s"], useful=["x"])
    assert joint.columns is not None
    problem = po.LocalInformationPrivacy(joint, **bounds)
    solution = po.solve(problem, "subset-merging", time_limit=60)
    told = audit_cells(problem, solution, joint.columns, columns, Terms())
    assert told.leakage == pytest.approx(problem.evaluate(solution.mechanism).leakage, rel=1e-9)
    assert told.leakage > 0
    assert told.interval is None
    assert solution.certificate is not None
    statement = solution.certificate.statement
    assert f"{statement[0].upper()}{statement[1:]}" in str(solution.explain(problem))
    assert prove(problem, solution).check().ok
    assert ("nats" in str(told)) is ("notion" not in bounds)


@pytest.mark.parametrize("bounds", [{"upper": {"a": 0.1}}, {"epsilon": 0.1, "notion": "chi2"}])
def test_a_set_of_distributions_is_refused(bounds: dict[str, Any]) -> None:
    near = po.JointAmbiguity.total_variation(THREE, 0.0625)
    with pytest.raises(InvalidProblem, match="for one distribution: give"):
        po.LocalInformationPrivacy(near, **bounds)


@pytest.mark.parametrize(
    ("notion", "unit"), [("l1", ""), ("chi2", ""), ("average", " nats"), ("lip", " nats")]
)
def test_nats_are_said_of_logarithms_only(notion: str, unit: str, tmp_path: Path) -> None:
    problem = po.LocalInformationPrivacy(THREE, 0.125, notion=notion)
    solution = po.solve(problem, "subset-merging", time_limit=60)
    certificate = solution.certificate
    assert certificate is not None
    reading = problem.evaluate(solution.mechanism)
    low, high = (f"{end:.9g}" for end in certificate.leakage)
    assert f"exact leakage in [{low}, {high}]{unit})" in str(certificate)
    assert re.search(rf"leakage \S+{unit}, gap|leakage \S+{unit}, no bound", str(solution))
    assert re.search(rf"leakage [^ ,]+{unit}, feasible", str(reading))
    assert ("leakage (nats)" in reading._repr_html_()) is bool(unit)
    assert Certificate.from_dict(certificate.to_dict()) == certificate
    assert ("leakage_unit" in certificate.to_dict()) is (not unit)
    write_json(tmp_path / "problem.json", problem.to_dict())
    solution.save(tmp_path / "solution.json")
    for command in ("solve", "explain", "verify"):
        files = [
            str(tmp_path / "problem.json"),
            *([str(tmp_path / "solution.json")] if command != "solve" else []),
        ]
        told = CliRunner().invoke(app, [command, *files])
        assert told.exit_code == 0, told.output
        leakage = re.sub("nats( of the useful|, higher is better)", "", told.output)
        assert unit or " nats" not in leakage


def test_a_unit_that_a_file_states_is_not_believed() -> None:
    problem = po.LocalInformationPrivacy(THREE, 0.125, notion="chi2")
    solution = po.solve(problem, "subset-merging", time_limit=60)
    assert solution.certificate is not None
    forged = replace(solution, certificate=replace(solution.certificate, leakage_unit="nats"))
    told = po.verify(problem, forged)
    assert told.leakage_unit == ""
    assert any("leakage_unit" in text for text in told.remarks)

"""What verification refuses, what it remarks on, and what is done when two proofs contradict each other."""

from __future__ import annotations

import copy
import json
import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

import privopt as po
from privopt.core import dispatch as _dispatch
from privopt.core.certificate import Certificate
from privopt.core.judge import contradicts, judge, with_bound
from privopt.core.problem import Enclosure
from privopt.core.solution import NOT_PROVED, standing
from privopt.errors import ContradictionWarning, FileRefused, InvalidMechanism
from privopt.mechanisms import mechanism_from_dict

Json = dict[str, Any]
LINE = po.DatasetGraph.line(2, 2)
COIN = po.JointDistribution([[0.4, 0.1], [0.1, 0.4]])
THREE = po.JointDistribution.normalised([[5, 2, 1], [1, 3, 4]])
CAPPED = po.PrivacyFunnel(THREE, max_leakage=0.05, form="merging")
FLOORED = po.PrivacyFunnel(THREE, theta_fraction=0.6, form="merging")
CHAIN = po.MarkovChain([[0.75, 0.25], [0.5, 0.5]])


def solved(problem: po.Problem[Any]) -> Json:
    record: Json = json.loads(json.dumps(po.solve(problem).to_dict()))
    return record


@pytest.fixture(scope="module")
def colouring() -> tuple[po.Problem[Any], Json]:
    problem = po.BoundaryColouring(LINE, 0.5, boundary=None)
    return problem, solved(problem)


@pytest.fixture(scope="module")
def mirrored() -> tuple[po.Problem[Any], Json]:
    """A line of datasets of which both ends leak log 3 and the middle less."""
    problem = po.BoundaryColouring(LINE, 1.5, boundary=None)
    rows = [[0.75, 0.25], [0.25, 0.75], [0.25, 0.75], [0.75, 0.25]]
    judged = judge(problem, po.Proposal(problem.colouring(rows, [0, 1, 2, 3])), certify=True)
    document: Json = json.loads(json.dumps(replace(judged, problem=problem.fingerprint).to_dict()))
    return problem, document


@pytest.fixture(scope="module")
def funnel() -> tuple[po.Problem[Any], Json]:
    """Solved and proved in milliseconds: the best of a few partitions."""
    return CAPPED, solved(CAPPED)


@pytest.fixture(scope="module")
def noise() -> tuple[po.Problem[Any], Json]:
    problem = po.BayesianPrivacy(po.GroupModel(2), "sum", 1.0, clip=(0, 1))
    return problem, solved(problem)


def verified(case: tuple[po.Problem[Any], Json], *changes: tuple[tuple[str | int, ...], Any]) -> Certificate:
    """The verdict on a changed record."""
    problem, document = case[0], copy.deepcopy(case[1])
    for path, value in changes:
        place: Any = document
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value
    return po.verify(problem, po.Solution[Any].from_dict(document))


# numbers


@pytest.mark.parametrize("name", ["leakage", "utility"])
@pytest.mark.parametrize("value", ["inf", "-inf", 1e308, 0.123, None])
def test_a_stated_number_that_is_not_the_proved_one_is_refused(
    funnel: tuple[po.Problem[Any], Json], name: str, value: object
) -> None:
    verdict = verified(funnel, ((name,), value))
    assert not verdict.ok
    assert name in verdict.reason


@pytest.mark.parametrize("off", [1e-9, 1e-11])
def test_digits_count_to_what_a_reading_is_good_for(funnel: tuple[po.Problem[Any], Json], off: float) -> None:
    utility = funnel[1]["utility"]
    assert not verified(funnel, (("utility",), utility * (1 + off)), (("objective",), utility * (1 + off))).ok


def test_one_unit_in_the_last_place_is_no_difference(funnel: tuple[po.Problem[Any], Json]) -> None:
    near = math.nextafter(funnel[1]["leakage"], 0.0)
    assert verified(funnel, (("leakage",), near)).ok


@pytest.mark.parametrize("name", ["leakage", "utility"])
@pytest.mark.parametrize("ends", [[0.5, 0.4], [5.0, 6.0], ["inf", "inf"], ["-inf", "-inf"]])
def test_an_enclosure_without_the_proved_number_is_refused(
    funnel: tuple[po.Problem[Any], Json], name: str, ends: list[object]
) -> None:
    assert f"encloses the {name}" in verified(funnel, (("certificate", name), ends)).reason


def test_a_leakage_that_is_only_bounded_is_not_understated(noise: tuple[po.Problem[Any], Json]) -> None:
    problem, document = noise
    fresh = problem.certify(po.Solution[Any].from_dict(document).mechanism)
    assert document["leakage"] == fresh.leakage[1]
    assert "leakage" in verified(noise, (("leakage",), 0.5)).reason
    assert (
        "leakage"
        in verified(noise, (("certificate", "leakage", 1), 0.5), (("certificate", "leakage", 0), 0.0)).reason
    )


def test_another_budget_is_refused(funnel: tuple[po.Problem[Any], Json]) -> None:
    assert "states the budget 0.1" in verified(funnel, (("certificate", "budget"), 0.1)).reason


# the bound and what follows from it


def test_an_optimum_with_a_real_gap_is_refused(funnel: tuple[po.Problem[Any], Json]) -> None:
    wide = funnel[1]["objective"] + 0.01
    changes = ((("bound",), wide), (("gap",), wide - funnel[1]["objective"]))
    assert "do not follow" in verified(funnel, *changes).reason
    assert verified(funnel, *changes, (("status",), "GAP"), (("guarantee",), "BOUNDED")).ok


def test_a_gap_between_the_tolerances_is_no_optimum_of_this_version() -> None:
    """5e-7 on a leakage of less than 0.2 was optimal for version 0.1.0, which compared with 1."""
    case = FLOORED, solved(FLOORED)
    assert 0 < case[1]["leakage"] < 0.2
    bound = case[1]["objective"] + 5e-7
    assert not verified(case, (("bound",), bound), (("gap",), bound - case[1]["objective"])).ok


def test_a_bound_below_the_objective_refutes_the_record(funnel: tuple[po.Problem[Any], Json]) -> None:
    low = funnel[1]["objective"] - 1e-6
    assert "refutes the record" in verified(funnel, (("bound",), low), (("gap",), -1e-6)).reason


@pytest.mark.parametrize("dual", [None, {}, [], {"kind": "pricing"}, {"kind": "linear"}, 1e300, "trust me"])
def test_a_bound_without_a_proof_is_refused(colouring: tuple[po.Problem[Any], Json], dual: object) -> None:
    assert "is not proved by its dual" in verified(colouring, (("dual",), dual)).reason


@pytest.mark.parametrize(
    ("status", "guarantee"), [("FEASIBLE", None), ("FEASIBLE", "FEASIBLE"), ("GAP", "OPTIMAL")]
)
def test_status_and_guarantee_follow_from_the_bound(
    funnel: tuple[po.Problem[Any], Json], status: str, guarantee: str | None
) -> None:
    assert "do not follow" in verified(funnel, (("status",), status), (("guarantee",), guarantee)).reason


@pytest.mark.parametrize("status", ["INFEASIBLE", "FAILED", "NOT_PRIVATE"])
def test_no_answer_is_no_claim(funnel: tuple[po.Problem[Any], Json], status: str) -> None:
    assert "there is no mechanism to verify" in verified(funnel, (("status",), status)).reason


def test_a_gap_is_compared_with_the_scale_of_the_problem() -> None:
    assert standing(-2e-7, 0.0, 2e-7)[1:] == (po.Status.GAP, po.Guarantee.BOUNDED)
    assert standing(-1e6, -1e6 + 0.9, 1e6)[1:] == (po.Status.OPTIMAL, po.Guarantee.OPTIMAL)
    assert standing(0.0, 1e-15, 0.0)[1] is po.Status.OPTIMAL
    assert standing(0.0, 2e-15, 0.0)[1] is po.Status.GAP
    assert standing(0.5, None, 1.0) == (None, po.Status.FEASIBLE, po.Guarantee.FEASIBLE)
    assert standing(0.5, math.inf, math.inf)[1] is po.Status.GAP
    for bound in (0.4, math.nan):
        with pytest.raises(ValueError, match="a mechanism reaches"):
            standing(0.5, bound, 1.0)


@pytest.mark.parametrize(
    ("problem", "utility", "leakage", "scale"),
    [
        (po.PrivacyFunnel(COIN, theta_fraction=0.5), 0.3, 0.01, 0.01),
        (po.PrivacyFunnel(COIN, max_leakage=0.05), 0.3, 0.01, 0.3),
        (po.PrivacyFunnel(COIN, trade_off=2.0), 0.3, 0.01, 0.61),
        (po.InformationBottleneck(COIN, trade_off=2.0), 0.3, 0.01, 0.32),
        (po.LocalInformationPrivacy(COIN, 0.3), 3.0, 0.01, 1.0),
        (po.LocalInformationPrivacy(COIN, 0.3, utility=[[0, 1], [1, 0]]), -3.0, 0.01, 3.0),
        (po.DistortionPrivacy(COIN, [[0, 1], [1, 0]], max_distortion=0.1), -0.1, 1e-4, 1e-4),
        (po.BeliefRelease([0.5, 0.5], 1.0, [[0, 100], [100, 0]]), -50.0, 1.0, 50.0),
        (po.BoundaryColouring(LINE, 0.5), 0.7, 0.5, 0.7),
        (po.BayesianPrivacy(po.GroupModel(2), "sum", 1.0, clip=(0, 1)), -2.0, 1.0, 2.0),
    ],
)
def test_every_problem_has_its_scale(
    problem: po.Problem[Any], utility: float, leakage: float, scale: float
) -> None:
    solution = po.Solution[Any](
        po.Status.FEASIBLE, utility=utility, leakage=leakage, objective=problem.objective_of(utility, leakage)
    )
    assert problem.scale(solution) == pytest.approx(scale, rel=1e-12)


# the worst pair


@pytest.mark.parametrize("pair", [[0, 1], [1, 0], [2, 3], [3, 2]])
def test_every_tied_worst_pair_is_accepted(
    mirrored: tuple[po.Problem[Any], Json], pair: list[object]
) -> None:
    assert mirrored[1]["leakage"] == pytest.approx(math.log(3), rel=1e-12)
    colour = "blue" if pair in ([0, 1], [3, 2]) else "red"
    where = f"answer {colour!r} is likelier at {pair[0]} than at {pair[1]}"
    verdict = verified(mirrored, (("certificate", "worst"), pair), (("certificate", "where"), where))
    assert verdict.ok, verdict.reason


@pytest.mark.parametrize("pair", [[1, 2], [0, 3], [0, 9], [1], ["blue", "red"], [1, 2, 3]])
def test_a_false_worst_pair_is_refused(mirrored: tuple[po.Problem[Any], Json], pair: list[object]) -> None:
    verdict = verified(mirrored, (("certificate", "worst"), pair))
    assert "is not the one that leaks most" in verdict.reason


def test_symmetric_lifts_tie() -> None:
    problem = po.LocalInformationPrivacy(COIN, 0.3)
    channel = po.Channel(
        [[0.5625, 0.4375], [0.4375, 0.5625]]
    )  # exactly symmetric, whatever a solver's last digits are
    solution = judge(problem, po.Proposal(channel), certify=True)
    case = problem, replace(solution, problem=problem.fingerprint).to_dict()
    pairs = [[s, out] for s in (0, 1) for out in channel.outputs]
    accepted = [verified(case, (("certificate", "worst"), pair)).ok for pair in pairs]
    assert sum(accepted) == 2  # the two whose odds fall; the other two rise by less


# words


@pytest.mark.parametrize(
    "name", ["claim", "reason", "method", "where", "assumption", "statement", "adversary", "unit"]
)
def test_other_words_are_a_remark(funnel: tuple[po.Problem[Any], Json], name: str) -> None:
    verdict = verified(funnel, (("certificate", name), "other words"))
    assert verdict.ok
    assert any(name in remark for remark in verdict.remarks)
    assert verdict.sentences()[-1].startswith("Remark: ")


@pytest.mark.parametrize("name", ["reason", "solver", "seconds", "stats", "alternatives"])
def test_what_is_shown_beside_the_claim_is_marked_as_not_proved(
    funnel: tuple[po.Problem[Any], Json], name: str
) -> None:
    assert name in NOT_PROVED
    assert funnel[1]["not_proved"] == list(NOT_PROVED)
    other = {"seconds": 99.0, "stats": {"leakage": 0.0}, "alternatives": ["nobody"]}.get(name, "other words")
    assert verified(funnel, ((name,), other)).ok


def test_an_honest_record_has_no_remarks(funnel: tuple[po.Problem[Any], Json]) -> None:
    assert verified(funnel).remarks == ()


ANSWERS = Path(__file__).resolve().parents[1] / "files_of_0_1_0" / "answers"


def old() -> tuple[po.Problem[Any], Json]:
    folder = ANSWERS / "privacy_funnel-small-capped"
    return po.load_problem(folder / "problem.json"), json.loads((folder / "default.json").read_text())


def test_last_digits_of_old_records_are_a_remark() -> None:
    case = old()
    utility = case[1]["utility"] * (1 - 1e-10)
    gap = case[1]["bound"] - utility
    verdict = verified(case, (("utility",), utility), (("objective",), utility), (("gap",), gap))
    assert verdict.ok, verdict.reason
    assert any("last digits" in remark for remark in verdict.remarks)
    far = case[1]["utility"] * (1 - 1e-7)
    gap = case[1]["bound"] - far
    assert "utility" in verified(case, (("utility",), far), (("objective",), far), (("gap",), gap)).reason


def test_old_records_say_so() -> None:
    assert any("version 0.1.0" in remark for remark in verified(old()).remarks)


# files


@pytest.mark.parametrize("version", [0, 2, "1", None, True, 1.5])
def test_a_mechanism_of_another_version_is_refused(
    funnel: tuple[po.Problem[Any], Json], version: object
) -> None:
    document = {**funnel[1]["mechanism"], "version": version}
    with pytest.raises(FileRefused, match="the mechanism is of version"):
        mechanism_from_dict(document)
    with pytest.raises(FileRefused):
        verified(funnel, (("mechanism", "version"), version))


def test_every_mechanism_of_an_older_file_without_a_version_is_read(
    funnel: tuple[po.Problem[Any], Json],
) -> None:
    document = {key: value for key, value in funnel[1]["mechanism"].items() if key != "version"}
    assert mechanism_from_dict(document).to_dict()["version"] == 1


@pytest.mark.parametrize(
    "path", [("utility",), ("seconds",), ("dual", "kind"), ("mechanism", "blocks", 0, 0)]
)
def test_numbers_beyond_floats_are_refused(
    funnel: tuple[po.Problem[Any], Json], path: tuple[str | int, ...]
) -> None:
    with pytest.raises(FileRefused, match="too large for a float"):
        verified(funnel, (path, 10**400))


def test_a_policy_of_an_unknown_rule_is_a_refused_file() -> None:
    problem = po.SequenceInformationPrivacy(po.MarkovChain([[0.8, 0.2], [0.3, 0.7]]), 0.5, horizon=2)
    with pytest.raises(FileRefused, match="no rule is called 'nobody'"):
        verified((problem, solved(problem)), (("mechanism", "rule"), "nobody"))


# contradictions


@dataclass(frozen=True)
class Planted(po.Solver[po.Redaction]):
    """Hides everything and says, with a false proof, that little more can be shown."""

    solves: ClassVar = po.Redaction
    name: ClassVar[str] = "planted"

    def guarantee(self, problem: po.Redaction) -> po.Guarantee:
        return po.Guarantee.OPTIMAL

    def cost(self, problem: po.Redaction) -> float:
        return 1e-3

    def run(self, problem: po.Redaction, budget: po.Budget) -> po.Proposal:
        return po.Proposal(problem.safe(), bound=FALSE, dual={"false": True})


FALSE = 0.1
PROBLEM = po.Redaction(CHAIN, 5, 2, 1.0)


@pytest.fixture
def believed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A problem that believes the false proof, and where alarms are written."""
    true = po.Redaction.prove_bound

    def prove_bound(self: po.Redaction, dual: object, seconds: float = math.inf) -> Enclosure | None:
        return (FALSE, FALSE) if dual == {"false": True} else true(self, dual, seconds)

    monkeypatch.setattr(po.Redaction, "prove_bound", prove_bound)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def alarmed(solution: po.Solution[Any], folder: Path) -> None:
    """The answer stands without any bound; what contradicts itself is in three files."""
    assert solution.status is po.Status.FEASIBLE
    assert (solution.bound, solution.gap, solution.dual) == (None, None, None)
    assert solution.guarantee is po.Guarantee.FEASIBLE
    assert solution.reason.startswith("CONTRADICTION: ")
    assert solution.certified
    (written,) = folder.glob("privopt-contradiction-*")
    problem = po.load_problem(written / "problem.json")
    reached, bounded = (po.Solution[Any].load(written / f"{name}.json") for name in ("reached", "bounded"))
    assert problem == PROBLEM
    assert reached.objective is not None
    assert bounded.bound is not None
    assert reached.objective > bounded.bound
    assert str(written) in solution.reason


def test_solvers_that_contradict_each_other_raise_an_alarm(
    believed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = [_dispatch.fitness(_dispatch.find_solver(PROBLEM, name), PROBLEM) for name in ("windows",)]
    monkeypatch.setattr(_dispatch, "candidates", lambda _: (_dispatch.fitness(Planted(), PROBLEM), *chosen))
    with pytest.warns(ContradictionWarning, match=r"windows reaches .* above the bound 0\.1"):
        solution = po.solve(PROBLEM)
    alarmed(solution, believed)
    assert solution.solver == "windows"


def test_a_comparison_raises_the_alarm_too(believed: Path) -> None:
    with pytest.warns(ContradictionWarning):
        comparison = po.compare(PROBLEM, ["windows", Planted()])
    alarmed(next(iter(comparison)), believed)


@pytest.mark.parametrize("least", [-math.inf, math.inf])
def test_a_solver_that_contradicts_itself_gets_no_bound(believed: Path, least: float) -> None:
    """Also where it would have been read only: no alarm is raised by a reading."""
    best = po.solve(PROBLEM, "windows").mechanism
    proposal = po.Proposal(best, bound=FALSE, dual={"false": True})
    solution = judge(PROBLEM, proposal, certify=True, least=least)
    assert solution.status is po.Status.FEASIBLE
    assert solution.bound is None
    assert solution.reason.startswith("CONTRADICTION")
    assert "contradiction" in solution.stats
    assert solution.certified


@dataclass(frozen=True)
class Torn(Planted):
    """Shows what a window shows, and says with a false proof that nobody can."""

    name: ClassVar[str] = "torn"

    def run(self, problem: po.Redaction, budget: po.Budget) -> po.Proposal:
        best = po.solve(problem, "windows").mechanism
        return po.Proposal(best, bound=FALSE, dual={"false": True})


def test_a_solver_that_contradicts_itself_raises_the_alarm(believed: Path) -> None:
    with pytest.warns(ContradictionWarning, match="torn reaches"):
        solution = po.solve(PROBLEM, Torn())
    alarmed(solution, believed)


def test_a_contradiction_is_told_from_rounding() -> None:
    solution = po.solve(PROBLEM)
    assert solution.objective is not None
    assert solution.certificate is not None
    near, far = solution.certificate.utility[0], solution.objective * (1 - 1e-9)
    assert not contradicts(PROBLEM, solution, near)
    assert contradicts(PROBLEM, solution, far)
    assert not contradicts(PROBLEM, solution, math.inf)
    raised = with_bound(PROBLEM, solution, near, None)
    assert raised.bound == solution.objective
    assert raised.status is po.Status.OPTIMAL
    with pytest.raises(ValueError, match="above the bound"):
        with_bound(PROBLEM, solution, far, None)


def test_a_bound_within_the_scale_is_an_optimum_and_one_outside_is_not() -> None:
    solution = po.solve(FLOORED)
    assert solution.objective is not None
    assert solution.leakage is not None
    for share, status in ((0.9e-6, po.Status.OPTIMAL), (1.1e-6, po.Status.GAP)):
        bound = solution.objective + share * solution.leakage
        assert with_bound(FLOORED, solution, bound, None).status is status


# repairs


def test_a_repair_that_loses_is_shown() -> None:
    problem = po.LocalInformationPrivacy(COIN, 0.2)
    solution = judge(problem, po.Proposal(po.Channel([[1, 0], [0, 1]])), certify=True)
    assert solution.status.ok
    assert float(solution.stats["utility_lost_by_repair"]) > 0.1
    assert "REPAIRED at a loss of" in str(solution)
    assert solution.reason.startswith("what was proposed broke the budget")


def test_a_repair_that_loses_nothing_is_not() -> None:
    assert "REPAIRED" not in str(po.solve(po.LocalInformationPrivacy(COIN, 0.2)))


# arguments


@pytest.mark.parametrize(
    "change",
    [
        lambda s: replace(s, certificate=None),
        lambda s: replace(s, answer=None),
        lambda s: replace(s, problem=""),
        lambda s: replace(s, utility=None),
        lambda s: replace(s, objective=None),
        lambda s: replace(s, objective=math.nan),
        lambda s: replace(s, bound=math.nan),
        lambda s: replace(s, utility=math.nan),
        lambda s: replace(s, leakage=math.nan),
        lambda s: replace(s, gap=math.nan),
        lambda s: replace(s, answer=po.Channel([[1, 0], [0, 1]])),
    ],
)
def test_a_hollow_solution_is_refused(
    funnel: tuple[po.Problem[Any], Json], change: Callable[[po.Solution[Any]], po.Solution[Any]]
) -> None:
    assert not po.verify(funnel[0], change(po.Solution[Any].from_dict(funnel[1]))).ok


def test_the_ends_of_what_is_no_number_are_infinite() -> None:
    from flint import arb

    from privopt.core.exact import ball_ceiling, ball_floor

    assert (ball_floor(arb("nan")), ball_ceiling(arb("nan"))) == (-math.inf, math.inf)
    assert (ball_floor(arb("inf")), ball_ceiling(arb("-inf"))) == (math.inf, -math.inf)
    assert ball_ceiling(1 / arb(10) ** 400) == 5e-324
    assert ball_floor(1 / arb(10) ** 400) == 0.0
    assert ball_ceiling(arb(10) ** 400) == math.inf


@pytest.mark.parametrize("name", ["level", "answers"])
@pytest.mark.parametrize(
    "value", [[[1], 0, 0, 0], ["0", 0, 0, 0], [2**63, 0, 0, 0], [True, 0, 0, 0], [0.0, 0, 0, 0], "0000", 5]
)
def test_positions_of_a_colouring_are_whole_numbers(
    colouring: tuple[po.Problem[Any], Json], name: str, value: object
) -> None:
    with pytest.raises(InvalidMechanism, match="must be a list of positions"):
        verified(colouring, (("mechanism", name), value))


def test_truth_values_are_no_probabilities() -> None:
    document = po.RedactionMechanism([[1.0, 1.0], [0.5, 0.0]]).to_dict()
    for value in (True, False):
        document["probabilities"][1][1] = value
        with pytest.raises(InvalidMechanism, match="give numbers, not true, false"):
            mechanism_from_dict(document)

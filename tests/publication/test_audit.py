"""Audits by other rows: readings against problems of those rows, ends against members of the set, words, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import privopt as po
from privopt.errors import InvalidModel, InvalidProblem
from privopt.publication._audit_ends import Side, ends, pooled

RNG = np.random.default_rng(11)
TABLE = np.array([[0.20, 0.10, 0.10, 0.08], [0.05, 0.15, 0.12, 0.20]])
SHOWN = np.array(["a", "b", "c", "d"])


def rows(count: int, table: np.ndarray = TABLE, seed: int = 0) -> pd.DataFrame:
    cells = np.random.default_rng(seed).choice(table.size, count, p=table.ravel() / table.sum())
    secret, shown = np.unravel_index(cells, table.shape)
    return pd.DataFrame({"ill": np.array(["no", "yes"])[secret], "place": SHOWN[shown]})


PEOPLE, OTHERS = rows(400), rows(3000, seed=1)
JOINT = po.JointDistribution.from_frame(PEOPLE, "ill", "place")
CHANNEL = po.Channel(np.random.default_rng(3).dirichlet(np.ones(3), 4), JOINT.useful)
OFF = 1 - np.eye(4)[:, :3]


def judged(problem: Any, mechanism: Any = CHANNEL) -> po.Solution[Any]:
    """A solution that holds any mechanism, private or not."""
    return po.Solution(
        po.Status.FEASIBLE, mechanism, certificate=problem.certify(mechanism), instance=problem
    )


KINDS = {
    "lip": lambda joint: po.LocalInformationPrivacy(joint, 0.2),
    "ldp": lambda joint: po.LocalInformationPrivacy(joint, 0.2, notion="ldp"),
    "sides": lambda joint: po.LocalInformationPrivacy(joint, lower=0.4, upper=0.1),
    "delta": lambda joint: po.LocalInformationPrivacy(joint, 0.2, delta=0.3),
    "pointwise": lambda joint: po.PointwiseMaximalLeakage(joint, 0.2),
    "distortion, lip": lambda joint: po.DistortionPrivacy(joint, OFF, max_leakage=0.2, leakage="lip"),
    "distortion, maximal": lambda joint: po.DistortionPrivacy(
        joint, OFF, max_leakage=0.2, leakage="maximal_leakage"
    ),
    "distortion, sibson": lambda joint: po.DistortionPrivacy(
        joint, OFF, max_leakage=0.2, leakage="sibson", alpha=2.0
    ),
    "distortion, information": lambda joint: po.DistortionPrivacy(joint, OFF, max_distortion=2.0),
    "funnel": lambda joint: po.PrivacyFunnel(joint, max_leakage=0.2),
    "bottleneck": lambda joint: po.InformationBottleneck(joint, max_rate=2.0),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_reading_is_that_of_the_problem_of_these_rows(kind: str) -> None:
    make = KINDS[kind]
    told = judged(make(JOINT)).audit(OTHERS)
    here = make(po.JointDistribution.from_frame(OTHERS, "ill", "place"))
    reading = here.evaluate(CHANNEL)
    leakage = reading.objective if kind == "bottleneck" else reading.leakage
    assert told.leakage == pytest.approx(leakage, abs=1e-12)
    assert told.rows == 3000
    assert (told.dropped, told.unseen, told.remarks) == (0, 0, ())
    if told.interval is not None:
        low, high = told.interval
        assert low <= told.leakage <= high


@pytest.mark.parametrize(
    "side", [("lip", True, True), ("lip", False, True), ("lip", True, False), ("ldp", True, True)]
)
@pytest.mark.parametrize("method", ["clopper-pearson", "weissman"])
def test_every_member_of_the_set_lies_between_the_ends(side: tuple[str, bool, bool], method: str) -> None:
    notion, below, above = side
    counts = np.array([[120, 40, 60, 30], [20, 90, 80, 160]])
    low, high = ends(pooled(counts, CHANNEL), Side(notion, below, above, 0.1), 0.9, method)
    near = po.JointAmbiguity.from_counts(counts, 0.9, method, useful=JOINT.useful)
    drawn = np.array([RNG.dirichlet(counts.ravel() + 0.5).reshape(counts.shape) for _ in range(400)])
    levels = []
    for table in drawn:
        if not near.contains(po.JointDistribution.normalised(table, useful=JOINT.useful)):
            continue
        told = table @ CHANNEL.matrix
        given = told / told.sum(axis=1, keepdims=True)
        lift = np.log(given / told.sum(axis=0))
        if notion == "ldp":
            levels.append(np.log(given.max(axis=0) / given.min(axis=0)).max())
        else:
            levels.append(max(lift.max() if above else 0, -lift.min() if below else 0))
    assert len(levels) > 50
    assert low - 1e-12 <= min(levels)
    assert max(levels) <= high + 1e-12
    assert 0 < low < high


def test_symbols_that_are_treated_alike_are_counted_together() -> None:
    merging = po.Merging([["a", "c"], ["b", "d"]], JOINT.useful)
    told = judged(po.LocalInformationPrivacy(JOINT, 0.2), merging).audit(OTHERS)
    pair = OTHERS.assign(place=OTHERS["place"].isin(["b", "d"]).astype(int))
    joint = po.JointDistribution.from_frame(pair, "ill", "place")
    near = po.JointAmbiguity.from_frame(pair, "ill", "place")
    whole = po.measures.robust_level(
        po.LocalInformationPrivacy(joint, 1.0), po.Channel(np.eye(2), [0, 1]), near
    )
    assert told.interval is not None
    assert told.interval[1] == whole[1]
    counts = pd.crosstab(pair["ill"], pair["place"])
    assert told.fewest_of_release[0] == counts.sum().min()
    assert told.fewest_of_pair[0] == counts.min().min()


def test_the_share_beyond_the_budget_is_of_the_rows_whose_release_tells_more() -> None:
    told = judged(po.LocalInformationPrivacy(JOINT, 0.2)).audit(OTHERS)
    table = pd.crosstab(OTHERS["ill"], OTHERS["place"]).to_numpy() @ CHANNEL.matrix
    share = table / table.sum()
    lift = np.abs(np.log(share / np.outer(share.sum(axis=1), share.sum(axis=0))))
    assert told.beyond == pytest.approx(share[lift > 0.2].sum(), abs=1e-12)


def test_verdicts() -> None:
    problem = po.LocalInformationPrivacy(JOINT, 0.3)
    solution = po.solve(problem)
    assert solution.audit(rows(100_000, seed=2), confidence=0.9).verdict in ("open", "broken")
    turned = solution.audit(rows(50_000, TABLE[:, ::-1], seed=3))
    assert turned.verdict == "broken"
    assert not turned.ok
    assert turned.interval is not None
    assert turned.interval[0] > 0.3
    silent = judged(problem, po.Channel(np.ones((4, 1)), JOINT.useful)).audit(OTHERS)
    assert (silent.verdict, silent.leakage, silent.beyond) == ("kept", 0.0, 0.0)
    open_ = solution.audit(rows(60, seed=4))
    assert (open_.verdict, open_.ok) == ("open", True)
    average = judged(po.PrivacyFunnel(JOINT, max_leakage=0.2)).audit(OTHERS)
    assert (average.interval, average.beyond) == (None, None) or average.interval[0] == 0  # type: ignore[index]


def test_the_rows_of_the_model_itself_are_recognised() -> None:
    solution = po.solve(po.LocalInformationPrivacy(JOINT, 0.3))
    told = solution.audit(PEOPLE)
    assert told.leakage == pytest.approx(solution.leakage, abs=1e-9)
    assert "the very counts" in told.remarks[0]


def test_a_wider_confidence_gives_a_wider_interval_and_more_rows_a_narrower_one() -> None:
    solution = judged(po.LocalInformationPrivacy(JOINT, 0.2))
    found = [solution.audit(OTHERS, confidence=c).interval for c in (0.5, 0.9, 0.99)]
    assert [low for low, _ in found] == sorted((low for low, _ in found), reverse=True)  # type: ignore[misc]
    assert [high for _, high in found] == sorted(high for _, high in found)  # type: ignore[misc]
    few, many = (solution.audit(rows(n, seed=5)).interval for n in (300, 30_000))
    assert few is not None
    assert many is not None
    assert few[1] - few[0] > 3 * (many[1] - many[0])


def test_values_that_are_not_read_are_refused_or_left_out() -> None:
    solution = po.solve(po.LocalInformationPrivacy(JOINT, 0.3))
    strange = pd.concat([OTHERS[:50], pd.DataFrame({"ill": ["no"], "place": ["private cell"]})])
    with pytest.raises(InvalidModel, match="'place' in row 50 is none of the 4 values") as caught:
        solution.audit(strange)
    assert "private cell" not in str(caught.value)
    told = solution.audit(strange, unseen="drop")
    assert (told.rows, told.unseen) == (50, 1)
    assert any("1 left out that the mechanism does not read" in text for text in told.sentences())
    unknown = OTHERS[:50].assign(ill="private cell")
    for rule in ("refuse", "drop"):
        with pytest.raises(InvalidModel, match="a secret that the model does not know") as caught:
            solution.audit(unknown, unseen=rule)
        assert "private cell" not in str(caught.value)
    with pytest.raises(InvalidModel, match="no row is left"):
        solution.audit(strange[50:], unseen="drop")


def test_bins_and_missing_values_are_read_as_the_model_read_them() -> None:
    ages = np.random.default_rng(6).integers(18, 80, 500).astype(float)
    people = pd.DataFrame({"ill": np.where(ages + 20 * RNG.random(500) > 60, "yes", "no"), "age": ages})
    people.loc[:9, "age"] = np.nan
    joint = po.JointDistribution.from_frame(people, "ill", "age", {"age": [18, 40, 60, 80]}, missing="drop")
    told = po.solve(po.LocalInformationPrivacy(joint, 0.3)).audit(people)
    assert (told.rows, told.dropped) == (490, 10)
    assert told.remarks


def test_polars_and_models_without_columns() -> None:
    polars = pytest.importorskip("polars")
    bare = po.JointDistribution.normalised([[30, 10, 20], [5, 20, 15]], ["no", "yes"], ["a", "b", "c"])
    solution = judged(po.LocalInformationPrivacy(bare, 0.2), po.Channel(np.eye(3), ["a", "b", "c"]))
    frame = polars.DataFrame({"ill": ["no", "yes", "no"] * 20, "place": ["a", "b", "c"] * 20})
    assert solution.audit(frame, secret="ill", columns="place").rows == 60
    with pytest.raises(InvalidModel, match="does not remember its columns: name its secret"):
        solution.audit(frame)


def test_what_cannot_be_audited_says_why() -> None:
    solution = po.solve(po.LocalInformationPrivacy(JOINT, 0.3))
    with pytest.raises(InvalidModel, match="there is no column 'ill'; there are 'place'"):
        solution.audit(OTHERS[["place"]])
    with pytest.raises(InvalidModel, match="the secret of the model: 'ill'"):
        solution.audit(OTHERS, secret="place")
    with pytest.raises(InvalidProblem, match=r"confidence is 1\.5"):
        solution.audit(OTHERS, confidence=1.5)
    with pytest.raises(InvalidProblem, match="method is 'bayes'"):
        solution.audit(OTHERS, method="bayes")
    with pytest.raises(InvalidProblem, match="another problem"):
        solution.audit(OTHERS, po.LocalInformationPrivacy(JOINT, 0.4))
    from_file = po.Solution[Any].from_dict(solution.to_dict())
    with pytest.raises(InvalidProblem, match="does not hold its problem"):
        from_file.audit(OTHERS)
    assert from_file.audit(OTHERS, solution.instance).leakage == solution.audit(OTHERS).leakage
    redaction = po.solve(po.Redaction(po.MarkovChain([[0.75, 0.25], [0.5, 0.5]]), 5, 2, epsilon=1.0))
    with pytest.raises(InvalidProblem, match="Redaction is not about a table"):
        redaction.audit(OTHERS)


def test_forms_of_an_audit() -> None:
    told = judged(po.LocalInformationPrivacy(JOINT, 0.2)).audit(OTHERS)
    fields = told.to_dict()
    assert fields["verdict"] == told.verdict
    assert math.isfinite(fields["interval"][1])
    assert str(told).startswith("Verdict: ")
    assert told._repr_html_().startswith("<table>")

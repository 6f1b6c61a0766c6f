"""What models remember of the table that they were counted from, and what that refuses."""

from __future__ import annotations

import json
import math
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import privopt as po
from privopt.errors import InvalidMechanism, InvalidModel
from privopt.models.columns import MISSING, RARE, Column, TableColumns
from privopt.models.intervals import edges_of, interval_names, span

RNG = np.random.default_rng(5)
PEOPLE = {
    "vote": RNG.choice(["left", "right"], 400).tolist(),
    "age": RNG.integers(17, 91, 400).tolist(),
    "school": RNG.choice(["low", "middle", "high"], 400).tolist(),
}
LIBRARIES = [pd.DataFrame, pl.DataFrame]


def counted(frame: Any, **options: Any) -> po.JointDistribution:
    return po.JointDistribution.from_frame(
        frame, "vote", ["age", "school"], bins={"age": "quantiles:4"}, order={"school": ["low", "middle", "high"]}, **options
    )  # fmt: skip


@pytest.mark.parametrize("library", LIBRARIES)
def test_columns_are_remembered_in_files_and_pickles_and_in_no_fingerprint(library: Any) -> None:
    joint = counted(library(PEOPLE))
    assert joint.columns is not None
    assert joint.columns.secret_names == ("vote",)
    assert [(c.name, c.kind) for c in joint.columns.useful] == [("age", "binned"), ("school", "ordered")]
    assert joint.columns.useful[1].labels == ("low", "middle", "high")
    bare = po.JointDistribution.normalised(joint._numbers, joint.sensitive, joint.useful)
    assert bare.columns is None
    assert bare == joint
    for again in (
        po.model_from_dict(json.loads(json.dumps(joint.to_dict()))),
        pickle.loads(pickle.dumps(joint)),
        po.ObservedJoint.output_perturbation(joint),
    ):
        assert isinstance(again, (po.JointDistribution, po.ObservedJoint))
        assert again.columns == joint.columns
    problem = po.LocalInformationPrivacy(joint, 0.4)
    assert problem.fingerprint == po.LocalInformationPrivacy(bare, 0.4).fingerprint
    assert problem.columns == joint.columns
    assert po.problem_from_dict(problem.to_dict()).columns == joint.columns


@pytest.mark.parametrize(
    "problem",
    [
        lambda joint: po.LocalInformationPrivacy(joint, 0.4),
        lambda joint: po.PointwiseMaximalLeakage(joint, 0.4),
        lambda joint: po.PrivacyFunnel(joint, max_leakage=0.01, form="merging"),
        lambda joint: po.DistortionPrivacy(joint, 1 - np.eye(len(joint.useful)), max_distortion=0.2),
    ],
)
def test_mechanisms_carry_them_and_certificates_do_not(problem: Any) -> None:
    joint = counted(pd.DataFrame(PEOPLE))
    bare = po.JointDistribution.normalised(joint._numbers, joint.sensitive, joint.useful)
    solution = po.solve(problem(joint), time_limit=2.0)
    mechanism = solution.mechanism
    assert mechanism.columns is not None
    assert mechanism.columns.rows == 0  # a mechanism may be shown to others; the counts may not
    assert mechanism.columns.sensitive[0].labels == ()
    assert po.verify(problem(bare), solution).ok
    again = po.Solution[Any].from_dict(json.loads(json.dumps(solution.to_dict())))
    assert again.mechanism.columns == mechanism.columns
    assert po.verify(problem(joint), again).ok
    changed = json.loads(json.dumps(solution.to_dict()).replace('"name": "age"', '"name": "father"'))
    proved = po.verify(problem(joint), po.Solution[Any].from_dict(changed))
    assert "is for other columns" in proved.reason
    assert not proved.ok
    plain = type(mechanism).from_dict({k: v for k, v in mechanism.to_dict().items() if k != "columns"})
    assert plain.columns is None
    assert plain.fingerprint == mechanism.fingerprint


@pytest.mark.parametrize("library", LIBRARIES)
def test_raw_cells_are_released_through_bins(library: Any) -> None:
    frame = library(PEOPLE)
    joint = counted(frame)
    assert joint.columns is not None
    identity = po.Channel(np.eye(len(joint.useful)), joint.useful, joint.useful, columns=joint.columns)
    released = identity.release(frame)
    age = joint.columns.useful[0]
    assert list(released.columns) == ["age", "school"]
    assert released["age"].to_list() == age.symbols(PEOPLE["age"])
    assert released["school"].to_list() == PEOPLE["school"]
    for raw, name in zip(PEOPLE["age"], released["age"].to_list(), strict=True):
        low, _, high = name.partition("-")
        assert int(low) <= raw <= int(high)
    rows = list(zip(PEOPLE["age"], PEOPLE["school"], strict=True))
    assert identity.release(rows).tolist() == list(zip(released["age"], released["school"], strict=True))


@pytest.mark.parametrize("library", LIBRARIES)
def test_another_column_or_another_unit_is_refused(library: Any) -> None:
    frame = library({"sex": ["m", "f"] * 20, "height": np.linspace(150, 190, 40).tolist()})
    joint = po.JointDistribution.from_frame(frame, "sex", "height", bins={"height": 4})
    mechanism = po.Channel(np.eye(4), joint.useful, joint.useful, columns=joint.columns)
    assert len(mechanism.release(frame["height"])) == 40
    father = frame["height"].rename("father") if library is pd.DataFrame else frame["height"].alias("father")
    with pytest.raises(InvalidMechanism, match=r"reads 'height', not 'father'.*Fit a model to 'father'"):
        mechanism.release(father)
    with pytest.raises(InvalidMechanism, match="reads 'height', not 'father'"):
        mechanism.release(library({"father": PEOPLE["age"]}))
    with pytest.raises(InvalidMechanism, match="'height' is missing"):
        mechanism.release(library({"father": [1.0], "mother": [1.0]}))
    with pytest.raises(
        InvalidMechanism, match="row 0 is outside its bins, 150 to 190: is it in another unit"
    ):
        mechanism.release((frame["height"] / 2.54).to_list())


def test_messages_quote_no_cell() -> None:
    column = Column("age", "binned", ("0-9",), (0.0, 9.0))
    named = Column("town", "categorical", ("Ulm",))
    for cells, text in (
        (["secret"], False),
        ([77.125], False),
        (["77.125"], True),
        ([None], False),
        (["1_0"], True),
    ):
        for one in (column, named):
            with pytest.raises(InvalidModel) as caught:
                one.symbols(cells, text)
            assert f"row {int(text)}" in str(caught.value)
            assert "secret" not in str(caught.value)
            assert "77" not in str(caught.value)


@pytest.mark.parametrize("library", LIBRARIES)
def test_missing_values_are_refused_dropped_or_a_symbol(library: Any) -> None:
    frame = library({"s": ["a", "b", "a", "b"], "x": ["u", None, "v", "u"], "n": [1.0, 2.0, None, 4.0]})
    with pytest.raises(InvalidModel, match="'x' in 1 rows, column 'n' in 1 rows"):
        po.JointDistribution.from_frame(frame, "s", ["x", "n"])
    dropped = po.JointDistribution.from_frame(frame, "s", ["x", "n"], missing="drop")
    assert dropped.columns is not None
    assert (dropped.columns.rows, dropped.columns.dropped) == (2, 2)
    assert dropped.useful == (("u", 1.0), ("u", 4.0))
    mechanism = po.Channel(np.eye(2), dropped.useful, dropped.useful, columns=dropped.columns)
    assert mechanism.release(frame)["n"].to_list() == [1.0, 4.0]
    kept = po.JointDistribution.from_frame(frame, "s", ["x", "n"], bins={"n": [0, 2, 4]}, missing="symbol")
    assert kept.useful == (("u", "0-1"), ("u", "2-4"), ("v", MISSING), (MISSING, "2-4"))
    mechanism = po.Channel(np.eye(4), kept.useful, kept.useful, columns=kept.columns)
    assert mechanism.release(frame)["x"].to_list() == ["u", MISSING, "v", "u"]


def test_rare_combinations_are_one_symbol_also_those_never_seen() -> None:
    frame = pd.DataFrame({"s": ["a", "b"] * 6, "x": ["u"] * 6 + ["v"] * 4 + ["w", "z"], "y": [1] * 12})
    joint = po.JointDistribution.from_frame(frame, "s", ["x", "y"], minimum_count=3)
    assert joint.useful == (("u", 1), ("v", 1), (RARE, RARE))
    assert joint.p_x.tolist() == [0.5, 4 / 12, 2 / 12]
    mechanism = po.Channel(np.eye(3), joint.useful, joint.useful, columns=joint.columns)
    assert mechanism.release([("w", 1), ("u", 1)]).tolist() == [(RARE, RARE), ("u", 1)]
    without = po.JointDistribution.from_frame(frame.assign(y=[1, 2] * 6), "s", ["x", "y"])
    mechanism = po.Channel(np.eye(6), without.useful, without.useful, columns=without.columns)
    with pytest.raises(InvalidMechanism, match="row 0: its combination of 'x', 'y' was in no row"):
        mechanism.release([("w", 2)])


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("width:20", [0, 20, 40, 60, 79]),
        ("equal:2", [17, 43.5, 70]),
        ("3", [17, 34 + 2 / 3, 52 + 1 / 3, 70]),
        ("17,30,70", [17, 30, 70]),
        ("quantiles:2", [17, 30, 70]),
        ("minimum:2", [17, 30, 70]),
    ],
)
def test_rules_make_edges(rule: str, expected: list[float]) -> None:
    assert edges_of(np.array([17.0, 25.0, 30.0, 30.0, 70.0]), "age", rule).tolist() == pytest.approx(expected)


@pytest.mark.parametrize("rule", ["quantiles:8", "minimum:40", "equal:5", "width:7"])
def test_rules_keep_what_they_promise(rule: str) -> None:
    values = np.random.default_rng(3).normal(size=500) * 10
    frame = pd.DataFrame({"s": [0] * 500, "x": values})
    joint = po.JointDistribution.from_frame(frame, "s", "x", bins={"x": rule})
    counts = joint.p_x * 500
    name, _, number = rule.partition(":")
    if name == "minimum":
        assert counts.min() >= 40
        assert counts.max() < 80
    elif name == "quantiles":
        assert abs(counts - 500 / 8).max() <= 1
    elif name == "width":
        edges = np.array(joint.columns.useful[0].edges)  # type: ignore[union-attr]
        assert np.diff(edges) == pytest.approx(7.0)
    else:
        assert len(counts) == int(number)


@pytest.mark.parametrize(
    ("rule", "fragment"),
    [
        ("quantiles:x", 'give "quantiles:8"'),
        ("octiles:8", 'give "quantiles:8"'),
        ("quantiles:2.5", "quantiles takes a whole number"),
        ("width:0", 'give "quantiles:8"'),
        ("width:1e-9", "give a larger width"),
        ("minimum:1000", "5 rows, fewer than the 1000"),
        ("5,4", "increasing edges"),
    ],
)
def test_rules_that_are_none(rule: str, fragment: str) -> None:
    with pytest.raises(InvalidModel, match=fragment):
        edges_of(np.array([17.0, 25.0, 30.0, 30.0, 70.0]), "age", rule)


def test_names_of_intervals() -> None:
    assert interval_names([17, 35.25, 53.5, 90], True) == ("17-35", "36-53", "54-90")
    assert interval_names([-5, 0, 1, 3], True) == ("-5 to -1", "0", "1-3")
    assert interval_names([0, 0.2, 0.4, 1], True) == ("0 to 0.2", "0.2 to 0.4", "0.4 to 1")
    assert interval_names([1.00001, 1.00002, 2], False) == ("1.00001 to 1.00002", "1.00002 to 2")
    edges, names = [17, 25, 35, 90], interval_names([17, 25, 35, 90], True)
    assert [span(edges, names, 0, 1), span(edges, names, 1, 2), span(edges, names, 2, 2)] == [
        "17-34",
        "25-90",
        "35-90",
    ]
    assert span([0, 0.5, 1, 2], interval_names([0, 0.5, 1, 2], False), 0, 1) == "0 to 1"


FRAME = pd.DataFrame({"s": ["a", "b"], "x": ["u", "v"], "n": [1, 2]})


@pytest.mark.parametrize(
    ("options", "fragment"),
    [
        ({"missing": "keep"}, "missing is 'keep': give one of refuse, drop, symbol"),
        ({"minimum_count": -1}, "whole number of at least 0"),
        ({"minimum_count": 2}, "no combination of the useful columns has 2 rows"),
        ({"order": {"y": []}}, "order name the column 'y'"),
        ({"order": {"x": ["u"]}}, "lacks 1 of its 2 values"),
        ({"order": {"x": ["u", "v", "u"]}}, "each once"),
        ({"order": {"n": [1, 2]}, "bins": {"n": 2}}, "leave it out of order"),
    ],
)
def test_bad_options(options: dict[str, Any], fragment: str) -> None:
    with pytest.raises(InvalidModel, match=fragment):
        po.JointDistribution.from_frame(FRAME, "s", ["x", "n"], **options)


@pytest.mark.parametrize(
    ("change", "fragment"),
    [
        (None, "a mapping of roles"),
        ({"more": 1}, "unknown key 'more'"),
        ({"sensitive": "vote"}, "lists of columns"),
        ({"sensitive": []}, "at least one sensitive"),
        ({"rows": -1}, "at least 0"),
        ({"reads": "all"}, "reads is 'all'"),
        ({"useful": [{"name": "x"}]}, 'a column needs "name"'),
        ({"useful": [{"name": "x", "kind": "odd", "labels": []}]}, "kind of column 'x'"),
        ({"useful": [{"name": "x", "kind": "binned", "labels": ["a"], "edges": [1, 0]}]}, "increase"),
        (
            {"useful": [{"name": "x", "kind": "binned", "labels": ["a"], "edges": ["1", "2"]}]},
            "list of numbers",
        ),
        ({"useful": [{"name": "x", "kind": "binned", "labels": ["a"], "edges": [1]}]}, "1 bins and 1 edges"),
        (
            {"useful": [{"name": "x", "kind": "ordered", "labels": [], "missing": "fill"}]},
            "missing is 'fill'",
        ),
        ({"useful": [{"name": "x", "kind": "ordered", "labels": [], "unit": "cm"}]}, "unknown key 'unit'"),
    ],
)
def test_bad_documents(change: dict[str, Any] | None, fragment: str) -> None:
    good = po.JointDistribution.from_frame(FRAME, "s", "x").to_dict()
    columns: Any = good["columns"]
    document = {**good, "columns": 3 if change is None else {**columns, **change}}
    with pytest.raises(InvalidModel, match=fragment):
        po.JointDistribution.from_dict(document)
    with pytest.raises(po.errors.PrivoptError):
        po.problem_from_dict({"type": "local_information_privacy", "joint": document, "epsilon": 1})


def test_full_data_reads_the_secret_columns_too() -> None:
    joint = po.ObservedJoint.full_data(po.JointDistribution.from_frame(FRAME, "s", ["x", "n"]))
    assert joint.columns == TableColumns.from_dict(joint.columns.to_dict())  # type: ignore[union-attr]
    n = len(joint.observed)
    mechanism = po.Channel(np.full((n, 1), 1.0), joint.observed, ["*"]).described(joint.columns, None)
    assert mechanism.columns is not None
    assert mechanism.columns.reads_names == ("s", "x", "n")
    assert mechanism.release(FRAME)["released"].tolist() == ["*", "*"]


def test_a_square_distortion_releases_values_as_promised() -> None:
    ages = np.random.default_rng(0).integers(20, 24, 300)
    frame = pd.DataFrame({"vote": np.where(ages > 21, "left", "right"), "age": ages})
    joint = po.JointDistribution.from_frame(frame, "vote", "age")
    values = np.unique(ages)
    errors = abs(np.subtract.outer(values, values))
    problem = po.DistortionPrivacy(joint, errors, max_leakage=0.2)
    mechanism = po.solve(problem).mechanism
    assert mechanism.outputs == joint.useful
    promised = -problem.evaluate(mechanism).utility
    released = np.array(mechanism.release(np.tile(ages, 100), np.random.default_rng(1)), dtype=float)
    assert abs(released - np.tile(ages, 100)).mean() == pytest.approx(promised, abs=0.02)
    assert math.isclose(promised, float((joint.p_x[:, None] * mechanism.matrix * errors).sum()), rel_tol=1e-9)

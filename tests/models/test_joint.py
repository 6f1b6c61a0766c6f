from __future__ import annotations

import copy
import json
import math
import pickle
from dataclasses import FrozenInstanceError
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privopt.errors import InvalidModel
from privopt.models import JointDistribution, MarkovChain, model_from_dict

POSITIVE = st.one_of(
    st.integers(0, 10**20),
    st.floats(0, 1e6, allow_nan=False),
    st.fractions(0, 100, max_denominator=10**6),
)


@st.composite
def tables(draw: st.DrawFn) -> list[list[Any]]:
    columns = draw(st.integers(1, 4))
    table = draw(st.lists(st.lists(POSITIVE, min_size=columns, max_size=columns), min_size=1, max_size=4))
    table[0][0] += 1
    return table


@settings(max_examples=60, deadline=None)
@given(tables())
def test_everything_is_the_correctly_rounded_exact_distribution(table: list[list[Any]]) -> None:
    joint = JointDistribution.normalised(table)
    exact = [[Fraction(v) for v in row] for row in table]
    total = sum(map(sum, exact))
    by_x = [sum(column) for column in zip(*exact, strict=True)]
    assert joint.table.tolist() == [[float(v / total) for v in row] for row in exact]
    assert joint.p_s.tolist() == [float(sum(row) / total) for row in exact]
    assert joint.p_x.tolist() == [float(v / total) for v in by_x]
    assert joint.s_given_x.tolist() == [
        [float(v / t) if t else 0.0 for v, t in zip(row, by_x, strict=True)] for row in exact
    ]
    flat = [v for row in exact for v in row]
    assert [joint.exact.fraction(i) for i in range(len(flat))] == [v / total for v in flat]


@settings(max_examples=60, deadline=None)
@given(tables())
def test_round_trips(table: list[list[Any]]) -> None:
    joint = JointDistribution.normalised(table, sensitive=[("row", i) for i in range(len(table))])
    text = json.dumps(joint.to_dict(), allow_nan=False)
    for again in (
        JointDistribution.from_dict(json.loads(text)),
        model_from_dict(json.loads(text)),
        pickle.loads(pickle.dumps(joint)),
        copy.deepcopy(joint),
    ):
        assert isinstance(again, JointDistribution)
        assert again == joint
        assert hash(again) == hash(joint)
        assert json.dumps(again.to_dict()) == text
        assert not again.table.flags.writeable


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_frame_counts_agree_with_crosstab(library: Any) -> None:
    rng = np.random.default_rng(1)
    data = {
        "a": rng.integers(0, 3, 500).tolist(),
        "b": rng.choice(["u", "v"], 500).tolist(),
        "c": rng.normal(size=500).tolist(),
    }
    joint = JointDistribution.from_frame(library(data), ["a", "b"], ["b"])
    frame = pd.DataFrame(data)
    oracle = pd.crosstab([frame["a"], frame["b"]], frame["b"])
    assert joint.sensitive == tuple(oracle.index)
    assert joint.useful == tuple(oracle.columns)
    assert joint.table.tolist() == (oracle / 500).to_numpy().tolist()
    assert joint == JointDistribution.normalised(oracle.to_numpy(), oracle.index, oracle.columns)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("bins", [4, [-10, -1, 0, 0.5, 10]])
def test_bins_agree_with_numpy_histogram(library: Any, bins: Any) -> None:
    values = np.random.default_rng(2).normal(size=300)
    frame = library({"s": [0] * 300, "x": values})
    joint = JointDistribution.from_frame(frame, "s", "x", bins={"x": bins})
    counts, edges = np.histogram(values, bins)
    assert joint.p_x.tolist() == (counts / 300).tolist()
    assert joint.columns is not None
    assert joint.columns.useful[0].edges == tuple(edges.tolist())
    assert joint.columns.useful[0].symbols(values.tolist()) == [
        joint.useful[i] for i in np.minimum(np.searchsorted(edges, values, side="right") - 1, 3)
    ]


def test_frame_of_dates_and_booleans_keeps_its_values() -> None:
    frame = pd.DataFrame({"s": [True, False, True], "x": pd.to_datetime(["2020-01-01"] * 3)})
    joint = JointDistribution.from_frame(frame, "s", "x")
    assert joint.sensitive == (False, True)
    with pytest.raises(InvalidModel, match="is a Timestamp: only str"):
        joint.to_dict()


FRAME = pd.DataFrame(
    {
        "s": ["a", "b", "a"],
        "x": [1.0, 2.0, 3.0],
        "gap": [1.0, None, None],
        "same": [1, 1, 1],
        "list": [[1], [2], []],
    }
)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2], "s", "x"), "frame is a list: give a pandas or Polars"),
        ((pl.LazyFrame({"s": [1]}), "s", "s"), "lazy: collect"),
        ((FRAME.iloc[:0], "s", "x"), "no rows"),
        ((FRAME, [], "x"), "sensitive names no column"),
        ((FRAME, "s", "y"), "useful names the column 'y', which the frame lacks"),
        ((FRAME, ["s", "s"], "x"), "'s' twice"),
        ((FRAME, "s", "gap"), "column 'gap' in 2 rows; drop those rows"),
        ((pl.DataFrame({"s": [1.0, math.nan, None]}), "s", "s"), "column 's' in 2 rows"),
        ((FRAME, "s", "list"), "column 'list' holds values that cannot be hashed"),
        ((FRAME, "s", "x", {"same": 2}), "'same', which is neither"),
        ((FRAME, "s", "x", {"s": 2}), "'s' is not numeric"),
        ((FRAME, "s", "x", {"x": 0}), "bins of column 'x' are 0"),
        ((FRAME, "s", "x", {"x": True}), "bins of column 'x' are True"),
        ((FRAME, "s", "x", {"x": "ab"}), "bins of column 'x' are 'ab'"),
        ((FRAME, "s", "x", {"x": [0, 1, 1, 5]}), "increasing edges"),
        ((FRAME, "s", "x", {"x": [0, math.inf]}), "finite increasing edges"),
        ((FRAME, "s", "x", {"x": [2, 5]}), r"'x' in row 1 \(counted from 1\) is outside its bins, 2 to 5"),
        ((FRAME, "s", "same", {"same": 2}), "'same' has no range"),
    ],
)
def test_bad_frames(arguments: Any, message: str) -> None:
    with pytest.raises(InvalidModel, match=message):
        JointDistribution.from_frame(*arguments)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([[0.5, -0.1], [0.3, 0.3]], r"table\[0, 1\] is -0.1: give a number of at least 0"),
        ([[math.nan, 1.0]], r"table\[0, 0\] is nan: give a finite"),
        ([[math.inf, 1.0]], r"table\[0, 0\] is inf"),
        ([[0.5, 0.4]], "table sums to 0.9, not to 1 within 1e-9.*JointDistribution.normalised"),
        ([[0.5, 0.5 + 2e-9]], "not to 1"),
        ([[3, 4]], "sums to 7.0"),
        ([0.5, 0.5], "table has 1 dimensions"),
        (np.full((1, 1, 1), 1.0), "table has 3 dimensions"),
        ([], "table is empty"),
        ([[]], "table is empty"),
        ([[0.5], [0.25, 0.25]], "different lengths"),
        (np.array([[True]]), "is True, a bool: give an int"),
        ([["1"]], "is '1', a str"),
        ([[1 + 0j]], "a complex"),
        ([[None, 1]], "a NoneType"),
        ("table", "'table', a str"),
        ([[0, 0]], "sums to 0, so it has no distribution"),
        (np.ma.masked_array([[1.0]], [[True]]), "masked"),
    ],
)
def test_bad_tables(table: Any, message: str) -> None:
    with pytest.raises(InvalidModel, match=message):
        JointDistribution(table)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([1], "holds 1 labels for 2 symbols"),
        ([1, 1.0], r"sensitive\[1\] repeats the label"),
        ("ab", "sensitive is 'ab': give a list"),
        (3, "sensitive is 3: give a list"),
        ([[1], [2]], "cannot be hashed"),
        ([1, None], "stands for a missing value"),
        ([1, math.nan], "stands for a missing value"),
        ([1, pd.NA], "stands for a missing value"),
    ],
)
def test_bad_labels(labels: Any, message: str) -> None:
    with pytest.raises(InvalidModel, match=message):
        JointDistribution([[0.5], [0.5]], sensitive=labels)


GOOD = JointDistribution([[0.5, 0.5]]).to_dict()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"type": "markov_chain"}, "type 'markov_chain', not 'joint_distribution'"),
        ({"version": 2}, "version 2"),
        ({"version": True}, "version True"),
        ({"table": None}, "table is None: expected a list"),
        ({"table": [[[0.5, 0.5]]]}, r"table holds \[0.5, 0.5\]: expected a number"),
        ({"table": [["1/0", 1]]}, "holds '1/0'"),
        ({"table": [["-1/2", 1]]}, "holds '-1/2'"),
        ({"table": [["inf", 1]]}, "is inf"),
        ({"table": [["9" * 5000 + "/1", 1]]}, "expected a number or a fraction"),
        ({"table": [[True, 0]]}, "holds True"),
        ({"useful": "ab"}, "useful is 'ab': expected a list of labels"),
        ({"useful": [0, {"set": []}]}, "expected a string, number, boolean or tuple"),
        ({"useful": [0]}, "holds 1 labels"),
        ({"normalised": 1}, "normalised is 1: expected true or false"),
        ({"more": 1}, "unknown key 'more'"),
        ({5: 1}, "unknown key 5"),
    ],
)
def test_bad_documents(change: dict[Any, Any], message: str) -> None:
    with pytest.raises(InvalidModel, match=message):
        JointDistribution.from_dict({**GOOD, **change})


def test_a_document_needs_only_its_table() -> None:
    with pytest.raises(InvalidModel, match="no key 'table'"):
        JointDistribution.from_dict({k: v for k, v in GOOD.items() if k != "table"})
    bare = JointDistribution.from_dict({"table": GOOD["table"]})
    table: Any = GOOD["table"]
    assert bare == JointDistribution(table)


@pytest.mark.parametrize("value", [None, [], "x", {}, {"type": 3}, {"type": []}, {"type": "other"}])
def test_documents_of_no_known_type(value: Any) -> None:
    with pytest.raises(InvalidModel, match="model document"):
        model_from_dict(value)


def test_documents_that_are_no_dict() -> None:
    with pytest.raises(InvalidModel, match="expected a joint_distribution document, a dict"):
        JointDistribution.from_dict([])  # type: ignore[arg-type]


def test_fractions_too_long_to_print() -> None:
    tiny = Fraction(1, 2**20000)
    with pytest.raises(InvalidModel, match="more than 13000 bits"):
        JointDistribution([[tiny, 1 - tiny]]).to_dict()


def test_deep_tuples_are_refused() -> None:
    label: Any = 1
    for _ in range(500):
        label = {"tuple": [label]}
    with pytest.raises(InvalidModel, match="expected a string"):
        JointDistribution.from_dict({**GOOD, "useful": [0, label]})


def test_labels_come_back_as_they_were() -> None:
    labels = [("a", (1, True)), math.inf, -math.inf, "inf", 2.5, np.int64(7), np.str_("s")]
    joint = JointDistribution([[1 / 7] * 7], useful=labels)
    again = JointDistribution.from_dict(json.loads(json.dumps(joint.to_dict())))
    assert again == joint
    assert list(map(type, again.useful)) == [tuple, float, float, str, float, int, str]


def test_values_are_frozen_and_copied() -> None:
    table = np.array([[0.25, 0.75]])
    joint = JointDistribution(table)
    table[0, 0] = 1.0
    assert joint.table[0, 0] == 0.25
    for array in (joint.table, joint.p_s, joint.p_x, joint.s_given_x):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(FrozenInstanceError):
        joint.table = table  # type: ignore[misc]


def test_equality_is_of_distribution_and_labels() -> None:
    joint = JointDistribution([[0.25, 0.75]])
    assert joint == JointDistribution.normalised([[1, 3]])
    assert hash(joint) == hash(JointDistribution.normalised([[1, 3]]))
    assert joint == JointDistribution([[Fraction(1, 4), np.float32(0.75)]])
    assert joint != JointDistribution([[0.25, 0.75]], useful=["a", "b"])
    assert joint != JointDistribution([[0.25], [0.75]])
    assert joint != MarkovChain([[1.0]])


def test_html_is_escaped() -> None:
    joint = JointDistribution([[1.0]], useful=["<script>"])
    assert "<script>" not in joint._repr_html_()
    assert repr(joint) == "JointDistribution(1 sensitive x 1 useful symbols)"

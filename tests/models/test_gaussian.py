"""Gaussian and group models: what they check, how they are written, and how they are estimated."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import privopt as po
from privopt.errors import FileRefused, InvalidModel
from privopt.files.json import check_schema, write_json
from privopt.models import GaussianModel, GroupModel, model_from_dict

RHO = [[1.0, 0.5], [0.5, 1.0]]

MODELS: list[GaussianModel | GroupModel] = [
    GaussianModel(RHO),
    GaussianModel([[4, 1, 0], [1, 9, 0], [0, 0, 1]], mean=[1, -2, 0.5], names=["a", ("b", 1), 3]),
    GroupModel(7),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_models_come_back(tmp_path: Path, model: GaussianModel | GroupModel) -> None:
    fields = json.loads(json.dumps(model.to_dict(), allow_nan=False))
    check_schema(fields, "model")
    write_json(tmp_path / "model.json", model.to_dict())
    for again in (
        model_from_dict(fields), po.load_model(tmp_path / "model.json"), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)
    ):  # fmt: skip
        assert again == model
        assert hash(again) == hash(model)


@pytest.mark.parametrize(
    "change",
    [
        {"covariance": None},
        {"covariance": []},
        {"mean": ["1"]},
        {"size": 2},
        {"version": 2},
        {"names": [[1], 2]},
    ],
)
def test_documents_are_checked(change: dict[str, Any]) -> None:
    fields = {**GaussianModel(RHO).to_dict(), **change}
    with pytest.raises(InvalidModel):
        model_from_dict(fields)
    with pytest.raises(FileRefused):
        check_schema(fields, "model")


@pytest.mark.parametrize("size", [0, -1, 2.0, True, "3", None])
def test_group_sizes_are_checked(size: Any) -> None:
    with pytest.raises(InvalidModel, match="size"):
        GroupModel(size)


@pytest.mark.parametrize(
    ("covariance", "message"),
    [
        ([[1, 0.5], [0.4, 1]], "make it symmetric"),
        ([[1, 2], [2, 1]], "not positive semidefinite"),
        ([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]], "not positive semidefinite"),
        ([[0, 0], [0, 1]], "leave constant records out"),
        ([[1, 0], [0, -1]], "variances are positive"),
        ([[1, np.nan], [np.nan, 1]], r"covariance\[0, 1\] is nan"),
        ([[np.inf]], "finite"),
        ([[1, 0]], "square"),
        ([1.0], "square"),
        ([[]], "square"),
        ([[1, 0], [0]], "rectangular|real numbers"),
        ([["1"]], "real numbers"),
        ([[1j]], "real numbers"),
        ([[True]], "real numbers"),
        ([[10**400]], "real numbers"),
    ],
)
def test_covariances_are_checked(covariance: object, message: str) -> None:
    with pytest.raises(InvalidModel, match=message):
        GaussianModel(covariance)


def test_means_and_names_are_checked() -> None:
    for mean in ([0.0], [[0, 0]], [0, np.nan], "ab"):
        with pytest.raises(InvalidModel, match="mean"):
            GaussianModel(RHO, mean=mean)
    for names in (["a"], ["a", "a"], ["a", None], "ab"):
        with pytest.raises(InvalidModel, match="names"):
            GaussianModel(RHO, names=names)
    with pytest.raises(InvalidModel, match="no record is called 'c'"):
        GaussianModel(RHO, names=["a", "b"]).index("c")


def test_rounding_is_accepted_and_evened_out() -> None:
    skewed = np.array([[1.0, 0.3], [0.1 + 0.2, 1.0]])
    assert skewed[0, 1] != skewed[1, 0]
    model = GaussianModel(skewed)
    assert model.covariance[0, 1] == model.covariance[1, 0]
    assert GaussianModel([[1, -0.0], [0.0, 1]]) == GaussianModel(np.eye(2))
    assert hash(GaussianModel([[1, -0.0], [0.0, 1]])) == hash(GaussianModel(np.eye(2)))
    # fewer rows than records: singular, with eigenvalues that are negative by rounding
    table = np.random.default_rng(1).normal(size=(4, 9))
    assert GaussianModel(np.cov(table, rowvar=False)).size == 9


def test_what_is_read_off_a_model() -> None:
    model = GaussianModel(
        [[4, 0, 1, 0], [0, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 9]], names=["w", "x", "y", "z"]
    )
    assert model.blocks == ((0, 2), (1,), (3,))
    assert model.max_correlation == 0.5
    assert model.index("y") == 2
    assert GaussianModel([[3.0]]).max_correlation == 0
    assert "&lt;b&gt;" in GaussianModel([[1.0]], names=["<b>"])._repr_html_()
    with pytest.raises(ValueError, match="read-only"):
        model.covariance[0, 0] = 2
    with pytest.raises(FrozenInstanceError):
        model.mean = model.covariance[0]  # type: ignore[misc]
    assert model != GaussianModel(model.covariance)
    assert model != 3


# estimating

Frame = Callable[[dict[str, list[Any]]], Any]
frames = pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])


def wide_data() -> dict[str, list[Any]]:
    rng = np.random.default_rng(5)
    table = rng.normal(size=(30, 3)) @ rng.normal(size=(3, 3))
    return {name: table[:, i].tolist() for i, name in enumerate(("father", "mother", "child"))}


@frames
def test_wide_and_long_frames_agree(frame: Frame) -> None:
    data = wide_data()
    wide = GaussianModel.fit(frame(data))
    assert wide.names == ("father", "mother", "child")
    np.testing.assert_allclose(wide.covariance, pd.DataFrame(data).cov(), rtol=1e-12)
    np.testing.assert_allclose(wide.mean, pd.DataFrame(data).mean(), rtol=1e-12)
    rows = [(family, role, value) for role, column in data.items() for family, value in enumerate(column)]
    order = np.random.default_rng(0).permutation(len(rows))
    family, role, value = zip(*(rows[i] for i in order), strict=True)
    long = GaussianModel.fit(
        frame({"family": list(family), "role": list(role), "height": list(value)}),
        groups="family",
        roles="role",
    )
    assert long.names == ("child", "father", "mother")
    positions = [wide.index(name) for name in long.names]
    np.testing.assert_allclose(long.covariance, wide.covariance[np.ix_(positions, positions)], rtol=1e-12)


@frames
def test_exchangeable_records(frame: Frame) -> None:
    groups = {"a": [1.0, 2.0, 1.5], "b": [5.0, 4.0], "c": [3.0]}
    rows = [(key, value) for key, values in groups.items() for value in values]
    data = {"family": [key for key, _ in rows], "height": [value for _, value in rows]}
    model = GaussianModel.fit(frame(data), groups="family")
    everyone = [value for _, value in rows]
    mean = sum(everyone) / 6
    pairs = [(x - mean) * (y - mean) for values in groups.values() for x, y in permutations(values, 2)]
    assert model.size == 3
    assert model.mean == pytest.approx([mean] * 3)
    assert model.covariance[0, 0] == pytest.approx(np.var(everyone))
    assert model.covariance[0, 1] == model.covariance[1, 2] == pytest.approx(sum(pairs) / len(pairs))


def test_a_shrunk_estimate() -> None:
    covariance = pytest.importorskip("sklearn.covariance")
    data = pd.DataFrame(wide_data()).iloc[:6]
    model = GaussianModel.fit(data, estimator="ledoit-wolf")
    np.testing.assert_allclose(model.covariance, covariance.ledoit_wolf(data.to_numpy())[0], rtol=1e-12)
    assert model.max_correlation < GaussianModel.fit(data).max_correlation


@frames
def test_missing_values_are_named(frame: Frame) -> None:
    with pytest.raises(InvalidModel, match=r"column 'b' is (nan|missing) in row 1"):
        GaussianModel.fit(frame({"a": [1.0, 2.0, 3.0], "b": [1.0, float("nan"), 2.0]}))
    with pytest.raises(InvalidModel, match="column 'b' is missing in row 2"):
        GaussianModel.fit(frame({"a": [1.0, 2.0, 3.0], "b": [1.0, 3.0, None]}))
    with pytest.raises(InvalidModel, match="column 'g' is missing in row 0"):
        GaussianModel.fit(frame({"g": [None, "b"], "x": [1.0, 2.0]}), groups="g")
    with pytest.raises(InvalidModel, match="inf in row 0"):
        GaussianModel.fit(frame({"a": [float("inf"), 2.0]}))


ROLES = {"g": ["a", "a", "b"], "r": ["x", "y", "x"], "v": [1.0, 2.0, 3.0]}


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ({"a": ["x", "y"]}, {}, "not numbers"),
        ({"a": [1.0]}, {}, "at least two groups"),
        ({"a": []}, {}, "no rows"),
        ({"a": [1.0, 1.0]}, {}, "leave constant records out"),
        ({"a": [1.0, 2.0]}, {"roles": "a"}, "without groups"),
        ({"a": [1.0, 2.0]}, {"estimator": "best"}, "estimator is 'best'"),
        ({"a": [1.0, 2.0]}, {"groups": "g"}, "no column 'g'"),
        ({"g": [1, 2]}, {"groups": "g"}, r"has the columns \[\]"),
        (ROLES, {"groups": "g"}, "keep the one with the values"),
        (ROLES, {"groups": "g", "roles": "r"}, "the group that row 2 begins lacks a role"),
        (
            {**ROLES, "r": ["x", "x", "y"]},
            {"groups": "g", "roles": "r"},
            "row 1 repeats a role, its group has it before",
        ),
        ({"g": ["a", "a"], "v": [1.0, 2.0]}, {"groups": "g", "estimator": "ledoit-wolf"}, "needs roles"),
        (
            {"g": [1, 1, 1, 2, 2], "v": [0.0, 5.0, -5.0, 5.0, -5.0]},
            {"groups": "g"},
            "too negative for groups of 3",
        ),
    ],
)
def test_frames_are_checked(data: dict[str, list[Any]], options: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidModel, match=message):
        GaussianModel.fit(pd.DataFrame(data), **options)


def test_names_of_columns_that_are_no_text() -> None:
    """As pandas numbers columns that got no name: records keep the numbers, and no column of a file is remembered."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(40, 3))
    for names in ([0, 1, 2], ["mother", 7, ("child", 2)]):
        model = GaussianModel.fit(pd.DataFrame(table, columns=pd.Index(names, tupleize_cols=False)))
        assert (model.names, model.columns) == (tuple(names), ())
        assert np.allclose(model.covariance, np.cov(table.T))
        assert GaussianModel.from_dict(model.to_dict()) == model
    long = pd.DataFrame({0: table[:, 0], "family": np.repeat(range(20), 2)})
    assert GaussianModel.fit(long, "family") == GaussianModel.fit(long.rename(columns={0: "age"}), "family")
    with pytest.raises(InvalidModel, match="two columns of one name"):
        GaussianModel.fit(pd.DataFrame(table, columns=[1, 1, 2]))


def test_other_things_are_no_frames() -> None:
    with pytest.raises(InvalidModel, match="give a pandas or Polars"):
        GaussianModel.fit([[1.0, 2.0]])
    with pytest.raises(InvalidModel, match=r"collect\(\) it first"):
        GaussianModel.fit(pl.LazyFrame({"a": [1.0, 2.0]}))

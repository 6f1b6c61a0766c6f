"""Hierarchies of the values of a column: read as ARX writes them, remembered, and refused where they are no tree."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import privopt as po
from privopt.errors import FileRefused, InvalidModel
from privopt.mechanisms.codebook import codebook
from privopt.models.columns import Column
from privopt.models.hierarchies import Ancestors, levels_of, node_named, tree_of

ARX = """\
Bachelors;Undergraduate;Higher education;*
Some-college;Undergraduate;Higher education;*
Masters;Graduate;Higher education;*
HS-grad;High School;Secondary education;*
11th;High School;Secondary education;*
Preschool;Primary School;Primary education;*
"""
VALUES = [line.split(";")[0] for line in ARX.splitlines()]
RNG = np.random.default_rng(7)
PEOPLE = {"income": RNG.choice(["low", "high"], 600).tolist(), "education": RNG.choice(VALUES, 600).tolist()}


@pytest.fixture
def education(tmp_path: Path) -> Path:
    path = tmp_path / "education.csv"
    path.write_text(ARX)
    return path


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_a_hierarchy_is_remembered_in_files_pickles_and_mechanisms(library: Any, education: Path) -> None:
    joint = po.JointDistribution.from_frame(
        library(PEOPLE), "income", "education", hierarchies={"education": education}
    )
    assert joint.columns is not None
    column = joint.columns.useful[0]
    assert column.labels == tuple(sorted(VALUES))
    assert column.levels[column.labels.index("Masters")] == ("Graduate", "Higher education", "*")
    for again in (
        po.model_from_dict(json.loads(json.dumps(joint.to_dict()))),
        pickle.loads(pickle.dumps(joint)),
    ):
        assert isinstance(again, po.JointDistribution)
        assert again.columns == joint.columns
    plain = po.JointDistribution.from_frame(library(PEOPLE), "income", "education")
    problem = po.LocalInformationPrivacy(joint, 0.1)
    assert problem.fingerprint == po.LocalInformationPrivacy(plain, 0.1).fingerprint
    mechanism = problem.named(po.Merging([list(joint.useful)]))
    assert mechanism.columns is not None
    assert mechanism.columns.useful[0].levels == column.levels
    assert type(mechanism).from_dict(json.loads(json.dumps(mechanism.to_dict()))).columns == mechanism.columns


def test_nodes_with_one_child_are_that_child() -> None:
    levels = levels_of(
        VALUES, {v: line.split(";")[1:] for v, line in zip(VALUES, ARX.splitlines(), strict=True)}, "e"
    )
    tree = tree_of(VALUES, levels, "education")
    assert [node.name for node in tree] == [
        "*", "Higher education", "Undergraduate", "Bachelors", "Some-college", "Masters", "High School", "HS-grad",
        "11th", "Preschool",
    ]  # fmt: skip
    assert node_named(tree, frozenset({0, 1, 2})) == "Higher education"
    assert node_named(tree, frozenset({0, 2})) is None
    assert tree_of(["a", "b"], (("A",), ("B",)), "x").name == "*"


def test_names_of_blocks_in_the_codebook_are_those_of_the_tree(education: Path) -> None:
    joint = po.JointDistribution.from_frame(
        pd.DataFrame(PEOPLE), "income", "education", hierarchies={"education": education}
    )
    parts = [["Bachelors", "Some-college", "Masters"], ["HS-grad", "11th"], ["Preschool"]]
    book = codebook(po.Merging(parts, joint.useful), joint.useful, joint.p_x, joint.columns)
    assert [entry.suggestion for entry in book] == [
        "education Higher education", "education High School", "education Preschool",
    ]  # fmt: skip


def test_numbers_bins_and_commas(tmp_path: Path) -> None:
    path = tmp_path / "age.csv"
    path.write_text("\ufeff17,young,any\n18,young,any\n\n30,old,any\n40,old,any\n")
    frame = pd.DataFrame({"ill": ["y", "n", "y"], "age": [17.0, 30.0, 18.0]})
    joint = po.JointDistribution.from_frame(frame, "ill", "age", hierarchies={"age": path})
    assert joint.columns is not None
    assert joint.columns.useful[0].levels == (("young", "any"), ("young", "any"), ("old", "any"))
    named: Ancestors = {"17-29": ["below 50"], "30-49": ["below 50"], "50-90": ["50 and more"]}
    binned = po.JointDistribution.from_frame(
        frame, "ill", "age", bins={"age": [17, 30, 50, 90]}, hierarchies={"age": named}
    )
    assert binned.columns is not None
    assert binned.columns.useful[0].tree is not None
    assert [node.name for node in binned.columns.useful[0].tree][:2] == ["*", "below 50"]


@pytest.mark.parametrize(
    ("text", "error", "match"),
    [
        ("Masters;a\nBachelors\n", InvalidModel, "row 2 has 1 cells"),
        ("Masters\n", InvalidModel, "row 1 has 1 cells"),
        ("Masters;a;*\nMasters;a;*\n", InvalidModel, "row 2 repeats a value"),
        ("Masters;;*\n", InvalidModel, "row 1 has an empty cell"),
        ("", InvalidModel, "no rows"),
        ("Masters;a;*\n", InvalidModel, "no row for 5 of its 6 values"),
        (ARX.replace("11th;High School;Sec", "11th;High School;Third"), InvalidModel, "'High School' stands for two sets"),
        (ARX.replace("11th;High School", "11th;Masters"), InvalidModel, "'Masters' stands for two sets"),
        ('"Masters;a', FileRefused, "no CSV file"),
    ],
)  # fmt: skip
def test_what_is_no_hierarchy_is_refused(
    education: Path, text: str, error: type[Exception], match: str
) -> None:
    education.write_text(text)
    with pytest.raises(error, match=match):
        po.JointDistribution.from_frame(
            pd.DataFrame(PEOPLE), "income", "education", hierarchies={"education": education}
        )


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"hierarchies": {"school": {}}}, "hierarchies name the column 'school'"),
        ({"hierarchies": {"education": 3}}, "is a int: give the path"),
        ({"hierarchies": {"education": {"Masters": "degree"}}}, "list of names"),
        ({"hierarchies": {"education": "nowhere.csv"}}, "cannot be read as a hierarchy"),
        ({"hierarchies": {"education": {}}, "order": {"education": VALUES}}, "leave it out of order"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        po.JointDistribution.from_frame(pd.DataFrame(PEOPLE), "income", "education", **options)


def test_columns_in_files_are_checked() -> None:
    written = Column("a", "categorical", ("x", "y"), levels=(("n", "*"), ("m", "*"))).to_dict()
    assert Column.from_dict(written).to_dict() == written
    for levels, match in (
        ([["n"]], "2 labels"), ([["n"], ["m", "*"]], "2 labels"), ([[], []], "2 labels"), ([[1], [2]], "names, which are text"),
        ("n", "list of names"), ([["y"], ["n"]], "no tree"),
    ):  # fmt: skip
        with pytest.raises(InvalidModel, match=match):
            Column.from_dict({**written, "levels": levels})

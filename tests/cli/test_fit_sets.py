"""Fitting sets of distributions: files that load, words, warnings about few rows, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from instances.tables import run, write
from typer.testing import CliRunner

import privopt as po
from privopt.cli import app

RNG = np.random.default_rng(8)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    cells = [
        (str(RNG.choice(["yes", "no"])), str(RNG.choice(["a", "b", "c"])), str(RNG.integers(18, 80)))
        for _ in range(900)
    ]
    write("people.csv", ("ill", "place", "age"), cells)
    return tmp_path


def fails(*options: str) -> str:
    result = CliRunner().invoke(app, ["fit", "people.csv", *options])
    assert result.exit_code == 2, result.output
    return result.stderr


JOINT = ("--sensitive", "ill", "--useful", "place")


@pytest.mark.parametrize("method", ["clopper-pearson", "weissman"])
def test_the_set_of_a_table_is_the_one_of_its_frame(folder: Path, method: str) -> None:
    import pandas as pd

    said = run("fit", "people.csv", *JOINT, "--confidence", "0.9", "--method", method, "--output", "set.json")
    assert "from counts of 900 rows at 90 % confidence" in said
    loaded = po.load_model("set.json")
    assert isinstance(loaded, po.JointAmbiguity)
    again = po.JointAmbiguity.from_frame(
        pd.read_csv("people.csv", dtype=str), ["ill"], ["place"], confidence=0.9, method=method
    )
    assert (loaded.rows, loaded.prior, loaded.confidence) == (again.rows, again.prior, 0.9)
    assert loaded.columns is not None
    assert loaded.columns.reads_names == ("place",)
    assert (
        json.loads(run("fit", "people.csv", *JOINT, "--confidence", "0.9", "--json"))["type"]
        == "joint_ambiguity"
    )


def test_few_rows_for_many_symbols_are_a_warning_that_proposes_the_set(folder: Path) -> None:
    assert "--confidence" not in run("fit", "people.csv", *JOINT)
    bins = (*JOINT, "--useful", "age", "--bins", "age=18,30,45,80")
    said = run("fit", "people.csv", *bins)
    assert (
        "9 symbols for 2 values of the secret are many for 900 rows: 18 of 18 cells hold fewer than 100"
        in said
    )
    assert "--confidence 0.95 makes the set" in said
    assert "are many for" not in run("fit", "people.csv", *bins, "--confidence", "0.95")


def test_what_the_rows_chose_is_said_beside_a_confidence(folder: Path) -> None:
    bins = (*JOINT, "--useful", "age", "--bins")
    said = run("fit", "people.csv", *bins, "age=quantiles:4", "--minimum-count", "20", "--confidence", "0.95")
    assert (
        "these rows chose the intervals of 'age', rare combinations: the confidence is a little too high"
        in said
    )
    assert "these rows chose" not in run("fit", "people.csv", *bins, "age=18,40,80", "--confidence", "0.95")


def test_the_set_of_a_chain(folder: Path) -> None:
    said = run("fit", "people.csv", "--column", "place", "--confidence", "0.95", "--output", "chain.json")
    assert "ChainAmbiguity(3 states" in said
    assert "from counts of 899 transitions at 95 % confidence" in said
    near = po.load_model("chain.json")
    assert isinstance(near, po.ChainAmbiguity)
    assert near.contains(near.nominal)
    assert near.confidence == 0.95


def test_what_does_not_fit_says_so(folder: Path) -> None:
    assert "confidence is 2.0" in fails(*JOINT, "--confidence", "2")
    assert "method is 'bayes'" in fails(*JOINT, "--confidence", "0.9", "--method", "bayes")
    assert "give both" in fails(*JOINT, "--method", "weissman")
    assert "not for a Gaussian model" in fails("--record", "age", "--confidence", "0.9")
    assert "leave --period" in fails("--column", "place", "--confidence", "0.9", "--period", "3")
    assert not list(Path().glob("*.json"))

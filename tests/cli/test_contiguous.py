"""From a table and a hierarchy to a released CSV whose blocks are intervals and nodes, and to a codebook that names them."""

from __future__ import annotations

import csv
import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from privopt.cli import app

EDUCATION = """\
11th;High School;Secondary education;*
HS-grad;High School;Secondary education;*
Bachelors;Undergraduate;Higher education;*
Some-college;Undergraduate;Higher education;*
Masters;Graduate;Higher education;*
Doctorate;Graduate;Higher education;*
"""
VALUES = [line.split(";")[0] for line in EDUCATION.splitlines()]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(11)
    places = rng.integers(0, 6, 800)
    ages = rng.integers(17, 80, 800)
    rich = rng.random(800) < 0.3 + 0.05 * places + 0.002 * (ages - 40)
    rows = zip(np.where(rich, "high", "low"), (VALUES[i] for i in places), ages, strict=True)
    with Path("people.csv").open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([("income", "education", "age"), *rows])
    Path("education.csv").write_text(EDUCATION, encoding="utf-8")


def run(*args: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, list(args))
    assert result.exit_code == code, (result.output, result.stderr, result.exception)
    return result.stdout if code == 0 else " ".join(result.stderr.split())


def released(epsilon: float, **options: object) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """The released table and the codebook."""
    problem = {
        "type": "local_information_privacy", "joint": {"file": "joint.json"}, "epsilon": epsilon, "contiguous": True, **options
    }  # fmt: skip
    Path("problem.json").write_text(json.dumps(problem), encoding="utf-8")
    assert "contiguous-merging" in run("solve", "problem.json", "--output", "solution.json")
    run("release", "solution.json", "people.csv", "--output", "out.csv", "--codebook", "book.csv", "--problem", "problem.json")  # fmt: skip
    run("verify", "problem.json", "solution.json")
    tables = []
    for name in ("out.csv", "book.csv"):
        with Path(name).open(newline="", encoding="utf-8") as stream:
            tables.append(list(csv.DictReader(stream)))
    return tables[0], tables[1]


def test_a_hierarchy_is_fitted_kept_to_and_named() -> None:
    said = run(
        "fit", "people.csv", "--sensitive", "income", "--useful", "education", "--hierarchy", "education=education.csv",
        "--output", "joint.json",
    )  # fmt: skip
    assert "education: released, 6 values, 3 levels of a hierarchy" in said
    rows, book = released(0.35)
    names = {line["release"]: line["suggested_name"] for line in book}
    assert set(names) == {row["education"] for row in rows}
    nodes = {"High School", "Undergraduate", "Graduate", "Higher education", *VALUES}
    assert {name.removeprefix("education ") for name in names.values()} <= nodes
    assert len(names) > 1
    with Path("people.csv").open(newline="", encoding="utf-8") as stream:
        original = [row["education"] for row in csv.DictReader(stream)]
    members = {(line["release"], line["education"]) for line in book}
    assert {(row["education"], value) for row, value in zip(rows, original, strict=True)} == members


def test_bins_are_merged_to_intervals() -> None:
    run(
        "fit", "people.csv", "--sensitive", "income", "--useful", "age", "--bins", "age=width:5", "--output", "joint.json"
    )  # fmt: skip
    rows, book = released(0.15)
    names = {line["suggested_name"] for line in book}
    assert 1 < len(names) < 13
    ends = sorted(tuple(map(int, name.removeprefix("age ").split("-"))) for name in names)
    assert ends[0][0] == 15
    assert all(b[0] == a[1] + 1 for a, b in pairwise(ends))
    assert len(rows) == 800


def test_what_does_not_fit_is_refused_and_nothing_is_written() -> None:
    fit = ("fit", "people.csv", "--sensitive", "income", "--useful", "education", "--output", "joint.json")
    assert "give NAME=FILE.csv" in run(*fit, "--hierarchy", "education.csv", code=2)
    assert "cannot be read as a hierarchy" in run(*fit, "--hierarchy", "education=nowhere.csv", code=2)
    assert "neither sensitive nor useful" in run(*fit, "--hierarchy", "age=education.csv", code=2)
    Path("education.csv").write_text(EDUCATION.replace("Doctorate;", "PhD;"), encoding="utf-8")
    said = run(*fit, "--hierarchy", "education=education.csv", code=2)
    assert "no row for 1 of its 6 values" in said
    assert "Doctorate" not in said
    assert "are for a joint distribution" in run(
        "fit", "people.csv", "--column", "age", "--hierarchy", "a=b", code=2
    )
    assert not Path("joint.json").exists()
    run(*fit)
    problem = {
        "type": "local_information_privacy",
        "joint": {"file": "joint.json"},
        "epsilon": 1,
        "contiguous": True,
    }
    Path("problem.json").write_text(json.dumps(problem), encoding="utf-8")
    assert "fit with bins, order or hierarchies" in run("solve", "problem.json", code=2)

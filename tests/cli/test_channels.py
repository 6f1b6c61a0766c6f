"""The command line from a table of people to a released column: fit, solve, release, verify."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import privopt as po
from privopt.cli import app

ROWS = [("m", "a", "young"), ("f", "b", "old"), ("m", "a", "old"), ("f", "a", "young"), ("m", "b", "old")]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with Path("people.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([("sex", "vote", "age"), *ROWS * 8])
    return tmp_path


def run(*args: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(args))
    return result.exit_code, result.stdout, result.stderr


def test_a_table_becomes_a_private_column(folder: Path) -> None:
    assert (
        run(
            "fit",
            "people.csv",
            "--sensitive",
            "sex",
            "--useful",
            "vote",
            "--useful",
            "age",
            "--output",
            "joint.json",
        )[0]
        == 0
    )
    assert isinstance(po.load_model("joint.json"), po.JointDistribution)
    fields = {"type": "local_information_privacy", "joint": {"file": "joint.json"}, "epsilon": 0.3}
    Path("problem.json").write_text(json.dumps(fields))
    assert run("solve", "problem.json", "--output", "solution.json")[0] == 0
    command = (
        "release",
        "solution.json",
        "people.csv",
        "--column",
        "vote",
        "--column",
        "age",
        "--output",
        "out.csv",
    )
    code, _, complaint = run(*command, "--keep", "sex")
    assert code == 2
    assert "'sex' is the secret itself" in " ".join(complaint.split())
    assert not Path("out.csv").exists()
    code, said, _ = run(*command, "--problem", "problem.json", "--keep", "sex", "--accept-leakage", "inf")
    assert code == 0
    assert "drawn from the operating system generator" in said
    with Path("out.csv").open(newline="") as stream:
        header, *lines = list(csv.reader(stream))
    assert header == ["sex", "released"]
    assert [line[0] for line in lines] == [row[0] for row in ROWS * 8]
    assert {line[1] for line in lines} <= {
        row[0] for row in po.Solution.load("solution.json").mechanism.cells
    }
    assert run("verify", "problem.json", "solution.json")[0] == 0


def test_releases_of_the_same_shape_keep_their_columns(folder: Path) -> None:
    symbols = [("a", "young"), ("b", "old"), ("a", "old")]
    merged = po.Channel([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]], symbols, symbols[:2])
    Path("channel.json").write_text(json.dumps(merged.to_dict()))
    assert (
        run(
            "release",
            "channel.json",
            "people.csv",
            "--column",
            "vote",
            "--column",
            "age",
            "--output",
            "out.csv",
        )[0]
        == 0
    )
    with Path("out.csv").open(newline="") as stream:
        header, *lines = list(csv.reader(stream))
    assert header == ["vote", "age"]
    assert [tuple(line) for line in lines[:5]] == [symbols[0], symbols[1], symbols[1], symbols[0], symbols[1]]


@pytest.mark.parametrize(
    ("args", "fragment"),
    [
        (("fit", "people.csv"), "give --column NAME for a chain"),
        (("fit", "people.csv", "--sensitive", "sex"), "give --column NAME for a chain"),
        (("fit", "people.csv", "--column", "sex", "--useful", "age"), "give one of the two"),
        (("fit", "people.csv", "--sensitive", "sex", "--useful", "height"), "no column 'height'"),
        (
            ("release", "channel.json", "people.csv", "--column", "vote", "--output", "o.csv"),
            "give --column 2 times",
        ),
        (
            (
                "release",
                "channel.json",
                "people.csv",
                "--column",
                "vote",
                "--column",
                "sex",
                "--output",
                "o.csv",
            ),
            "row 1: 'vote', 'sex' holds another value",
        ),
    ],
)
def test_mistakes_are_one_sentence(folder: Path, args: tuple[str, ...], fragment: str) -> None:
    channel = po.Channel([[1.0], [1.0], [1.0]], [("a", "young"), ("b", "old"), ("a", "old")], ["*"])
    Path("channel.json").write_text(json.dumps(channel.to_dict()))
    code, _, complaint = run(*args)
    assert code == 2
    assert fragment in " ".join(complaint.split())
    assert not Path("o.csv").exists()

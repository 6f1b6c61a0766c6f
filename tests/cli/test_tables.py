"""From a table with numbers, orders and missing values to a released CSV and its codebook."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from instances.tables import read, run, write
from typer.testing import CliRunner

import privopt as po
from privopt.benchmarks.data.external import load_external
from privopt.cli import app

RNG = np.random.default_rng(7)
ROWS = [
    (str(vote), str(age), school, str(age + 30))
    for vote, age, school in zip(
        RNG.choice(["left", "right"], 300).tolist(),
        RNG.integers(17, 91, 300).tolist(),
        RNG.choice(["low", "middle", "high"], 300).tolist(),
        strict=True,
    )
]
HEADER = ("vote", "age", "school", "father")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write("people.csv", HEADER, ROWS)
    return tmp_path


def fit(*options: str) -> str:
    return run("fit", "people.csv", "--sensitive", "vote", "--useful", "age", "--useful", "school", *options)


def solve(epsilon: float = 0.2) -> None:
    fields = {"type": "local_information_privacy", "joint": {"file": "joint.json"}, "epsilon": epsilon}
    Path("problem.json").write_text(json.dumps(fields), encoding="utf-8")
    run("solve", "problem.json", "--output", "solution.json")


def identity(joint: object) -> None:
    """A mechanism file that releases every symbol as it is."""
    assert isinstance(joint, po.JointDistribution)
    n = len(joint.useful)
    channel = po.Channel(np.eye(n), joint.useful, joint.useful).described(joint.columns, None)
    Path("channel.json").write_text(json.dumps(channel.to_dict()), encoding="utf-8")


def test_raw_numbers_are_binned_as_they_were_fitted(folder: Path) -> None:
    said = fit("--bins", "age=17,25,45,90", "--ordered", "school=low,middle,high", "--output", "joint.json")
    assert "age: released, 3 bins from 17-24 to 45-90" in said
    assert "school: released, 3 ordered values" in said
    assert "vote: secret, 2 values" in said
    joint = po.load_model("joint.json")
    identity(joint)
    run("release", "channel.json", "people.csv", "--output", "out.csv")
    released = read("out.csv")
    assert list(released[0]) == ["age", "school"]
    for row, (_, age, school, _) in zip(released, ROWS, strict=True):
        low, high = map(int, row["age"].split("-"))
        assert low <= int(age) <= high
        assert row["school"] == school
    swapped = run(
        "release",
        "channel.json",
        "people.csv",
        "--column",
        "school",
        "--column",
        "age",
        "--output",
        "two.csv",
    )
    assert "records" in swapped  # columns are told by their names, not by their places
    assert read("two.csv") == released


def test_messages_have_short_names_and_a_codebook(folder: Path) -> None:
    fit("--bins", "age=width:20", "--output", "joint.json")
    solve()
    run(
        "release", "solution.json", "people.csv", "--output", "out.csv", "--codebook", "book.csv", "--problem", "problem.json"
    )  # fmt: skip
    solution = po.Solution.load("solution.json")
    released, book = read("out.csv"), read("book.csv")
    assert list(released[0]) == ["released"]
    assert {row["released"] for row in released} <= {row["release"] for row in book}
    assert all(len(row["released"]) <= 4 for row in released)
    assert Path("out.csv").stat().st_size < Path("people.csv").stat().st_size
    joint = po.load_model("joint.json")
    assert isinstance(joint, po.JointDistribution)
    drawn = joint.p_x[:, None] * solution.mechanism.matrix
    for row in book:  # against the joint, cell by cell
        y = [cells[0] for cells in solution.mechanism.cells].index(row["release"])
        x = joint.useful.index((row["age"], row["school"]))
        assert float(row["share"]) == pytest.approx(drawn[:, y].sum())
        assert float(row["probability"]) == pytest.approx(drawn[x, y] / drawn[:, y].sum())
        assert row["suggested_name"]
    assert sum({row["release"]: float(row["share"]) for row in book}.values()) == pytest.approx(1.0)


def test_missing_cells_are_dropped_or_a_symbol_or_refused(folder: Path) -> None:
    write("people.csv", HEADER, [*ROWS, ("left", "", "low", "1"), ("right", "20", "", "2")])
    refused = CliRunner().invoke(
        app, ["fit", "people.csv", "--sensitive", "vote", "--useful", "age", "--bins", "age=3"]
    )
    assert refused.exit_code == 2
    assert "values are missing: column 'age' in 1 rows" in " ".join(refused.stderr.split())
    said = fit("--bins", "age=17,25,45,90", "--missing", "drop", "--output", "joint.json")
    assert "2 rows with missing values" in said
    identity(po.load_model("joint.json"))
    said = run("release", "channel.json", "people.csv", "--keep", "father", "--output", "out.csv")
    assert "dropped 2 rows with missing values" in " ".join(said.split())
    assert [row["father"] for row in read("out.csv")] == [row[3] for row in ROWS]
    fit("--bins", "age=17,25,45,90", "--missing", "symbol", "--output", "joint.json")
    identity(po.load_model("joint.json"))
    run("release", "channel.json", "people.csv", "--output", "out.csv")
    assert [row["age"] for row in read("out.csv")[-2:]] == ["(missing)", "17-24"]


def test_rare_combinations_and_warnings(folder: Path) -> None:
    said = fit("--output", "joint.json")
    assert "column 'age' has 7" in said
    assert "give --bins age=quantiles:8" in said
    assert "cells that occur hold fewer than 5 rows" in said
    fit("--bins", "age=17,25,45,90", "--minimum-count", "40", "--output", "joint.json")
    joint = po.load_model("joint.json")
    assert isinstance(joint, po.JointDistribution)
    assert joint.useful[-1] == ("(rare)", "(rare)")
    assert all(joint.p_x[:-1] * 300 >= 40)
    identity(joint)
    run("release", "channel.json", "people.csv", "--output", "out.csv")
    counts = {(row["age"], row["school"]): 0 for row in read("out.csv")}
    for row in read("out.csv"):
        counts[row["age"], row["school"]] += 1
    assert counts == {
        label: round(p * 300) for label, p in zip(joint.useful, joint.p_x.tolist(), strict=True)
    }


@pytest.mark.parametrize(
    ("column", "data", "fragment"),
    [
        ("father", "people.csv", "the mechanism reads 'age', 'school', not 'father'"),
        (None, "inches.csv", "inches.csv: column 'age' in row 1 is outside its bins, 17 to 90"),
        (None, "words.csv", "words.csv: column 'age' in row 1 is not a number"),
        (None, "empty.csv", "column 'age' in row 2 is missing, which the model refuses"),
        (None, "other.csv", "other.csv: column 'school' in row 1 is none of the 3 values"),
        (None, "renamed.csv", "there is no column 'age'"),
    ],
)
def test_what_the_mechanism_is_not_for_is_refused(
    folder: Path, column: str | None, data: str, fragment: str
) -> None:
    fit("--bins", "age=17,25,45,90", "--output", "joint.json")
    identity(po.load_model("joint.json"))
    write("inches.csv", HEADER, [("left", "190.5", "low", "1")])
    write("words.csv", HEADER, [("left", "forty", "low", "1")])
    write("empty.csv", HEADER, [ROWS[0], ("left", "", "low", "1")])
    write("other.csv", HEADER, [("left", "40", "elsewhere", "1")])
    write("renamed.csv", ("vote", "height", "school", "father"), ROWS)
    named = [] if column is None else ["--column", column, "--column", "school"]
    complaint = run("release", "channel.json", data, *named, "--output", "out.csv", code=2)
    assert fragment in complaint
    assert not any(cell in complaint for cell in ("190.5", "forty", "elsewhere"))
    assert not Path("out.csv").exists()


@pytest.mark.parametrize(
    ("options", "fragment"),
    [
        (("--bins", "age"), "give NAME=RULE"),
        (("--bins", "age=octiles:8"), 'give "quantiles:8"'),
        (("--bins", "school=3"), "row 1: 'school' is not a number"),
        (("--bins", "height=3"), "bins name the column 'height'"),
        (("--ordered", "school=low,high"), "lacks 1 of its 3 values"),
        (("--missing", "guess"), "give one of refuse, drop, symbol"),
        (("--minimum-count", "500"), "no combination of the useful columns has 500 rows"),
    ],
)
def test_bad_options(folder: Path, options: tuple[str, ...], fragment: str) -> None:
    result = CliRunner().invoke(
        app, ["fit", "people.csv", "--sensitive", "vote", "--useful", "age", "--useful", "school", *options, "--output", "j.json"]
    )  # fmt: skip
    assert result.exit_code == 2
    assert fragment in " ".join(result.stderr.split())
    assert not Path("j.json").exists()


def test_bad_releases(folder: Path) -> None:
    assert "the chain is of 'vote'; give --bins vote=RULE" in run(
        "fit", "people.csv", "--column", "vote", "--bins", "age=3", code=2
    )
    fit("--bins", "age=3", "--output", "joint.json")
    identity(po.load_model("joint.json"))
    args = ("release", "channel.json", "people.csv", "--output", "out.csv", "--codebook", "book.csv")
    assert "--codebook needs --problem" in run(*args, code=2)
    Path("bare.json").write_text(json.dumps(po.Channel([[1.0]], ["a"]).to_dict()), encoding="utf-8")
    assert "give --column NAME" in run("release", "bare.json", "people.csv", "--output", "out.csv", code=2)
    assert not Path("out.csv").exists()
    assert not Path("book.csv").exists()


def test_a_chain_of_many_states_is_not_printed(folder: Path) -> None:
    said = run("fit", "people.csv", "--column", "age", "--output", "chain.json")
    assert "states: too many for a table here" in said
    assert len(said) < 1000


def test_a_column_of_numbers_orders_as_numbers(folder: Path) -> None:
    write("people.csv", HEADER, [(v, a, s, str(int(a) // 10)) for v, a, s, _ in ROWS])
    run(
        "fit",
        "people.csv",
        "--sensitive",
        "vote",
        "--useful",
        "father",
        "--ordered",
        "father",
        "--output",
        "joint.json",
    )
    joint = po.load_model("joint.json")
    assert isinstance(joint, po.JointDistribution)
    assert joint.useful == tuple(map(str, range(1, 10)))


def test_the_census_set_gives_a_release_smaller_than_itself(folder: Path) -> None:
    try:
        path = load_external("adult")
    except po.errors.FileRefused as cause:
        pytest.skip(str(cause))
    with gzip.open(path, "rt", encoding="utf-8", newline="") as stream:
        Path("people.csv").write_text(stream.read(), encoding="utf-8")
    run(
        "fit", "people.csv", "--sensitive", "income", "--useful", "education", "--useful", "age",
        "--bins", "age=17,25,35,45,55,65,90", "--output", "joint.json",
    )  # fmt: skip
    solve(0.3)
    run(
        "release",
        "solution.json",
        "people.csv",
        "--column",
        "education",
        "--column",
        "age",
        "--output",
        "out.csv",
    )
    rows = read("people.csv")
    write("columns.csv", ("education", "age"), [(row["education"], row["age"]) for row in rows])
    assert len(read("out.csv")) == len(rows) == 32561
    assert Path("out.csv").stat().st_size < Path("columns.csv").stat().st_size

"""Answers about the datasets that the rows of a table name."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import pytest
from typer.testing import CliRunner

import privopt as po
from privopt.cli import app
from privopt.publication.receipt import Receipt

COLUMNS = ("--column", "east", "--column", "west")


def run(*words: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == code, done.output
    return done.output


def rows(path: str) -> list[list[str]]:
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.reader(stream))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two votes in each of two wards; a proposal passes with two of them."""
    monkeypatch.chdir(tmp_path)
    places = [(i, j) for i in range(3) for j in range(3)]
    edges = [(a, b) for a in places for b in places if a < b and abs(a[0] - b[0]) + abs(a[1] - b[1]) == 1]
    colours = {place: "passed" if sum(place) >= 2 else "failed" for place in places}
    graph = po.DatasetGraph(edges, colours, places)
    problem = po.BoundaryColouring(graph, epsilon=1.0)
    solution = po.solve(problem)
    Path("problem.json").write_text(json.dumps(problem.to_dict()), encoding="utf-8")
    Path("colouring.json").write_text(json.dumps(solution.mechanism.to_dict()), encoding="utf-8")
    solution.save("solution.json")
    Path("votes.csv").write_text("town,east,west\nUlm,1,0\nBonn,2,2\n", encoding="utf-8")
    return tmp_path


def test_each_row_names_a_dataset_and_gets_an_answer(folder: Path) -> None:
    printed = run("release", "solution.json", "votes.csv", *COLUMNS, "--by", "town", "--output", "out.csv")
    table = rows("out.csv")
    assert table[0] == ["town", "released"]
    assert [row[0] for row in table[1:]] == ["Ulm", "Bonn"]
    assert {row[1] for row in table[1:]} <= {"passed", "failed"}
    assert (
        "no answer is more than 2.719 times as likely from one dataset as from a neighbouring one" in printed
    )
    run("release", "colouring.json", "votes.csv", *COLUMNS, "--output", "bare.csv")
    assert rows("bare.csv")[0] == ["released"]


def test_answers_are_as_often_true_as_the_colouring_says(folder: Path) -> None:
    count = 4000
    Path("many.csv").write_text("east,west\n" + "0,2\n" * count + "0,0\n" * count, encoding="utf-8")
    run("release", "solution.json", "many.csv", *COLUMNS, "--simulate", "0", "--output", "out.csv")
    table = [row[0] for row in rows("out.csv")[1:]]
    mechanism = po.Solution[po.Colouring].load("solution.json").mechanism
    for place, answers in (((0, 2), table[:count]), ((0, 0), table[count:])):
        vertex = list(mechanism.vertices).index(place)
        share = mechanism.probabilities[vertex, mechanism.colours.index("passed")]
        spread = math.sqrt(share * (1 - share) / count)
        assert abs(answers.count("passed") / count - share) < 5 * spread


def test_the_same_datasets_are_answered_with_the_same_answers_and_a_receipt(folder: Path) -> None:
    files = ("--state", "state.json", "--receipt", "receipt.json")
    run("release", "solution.json", "votes.csv", *COLUMNS, *files, "--output", "one.csv")
    receipt = Receipt.load("receipt.json")
    assert receipt.fault_of_file("one.csv") is None
    assert (receipt.rows, receipt.columns, receipt.smallest) == (2, ("released",), None)
    assert receipt.fault(po.Solution[po.Colouring].load("solution.json").mechanism) is None
    run("release", "solution.json", "votes.csv", *COLUMNS, *files, "--output", "two.csv")
    assert rows("two.csv") == rows("one.csv")
    Path("votes.csv").write_text("town,east,west\nUlm,1,1\nBonn,2,2\n", encoding="utf-8")
    refused = run("release", "solution.json", "votes.csv", *COLUMNS, *files, "--output", "no.csv", code=2)
    assert "a second draw" in refused
    assert not Path("no.csv").exists()


@pytest.mark.parametrize(
    ("text", "columns", "said"),
    [
        ("east,west\n7,0\n", COLUMNS, "row 1: 'east', 'west' holds another value"),
        ("east,west\n1,\n", COLUMNS, "row 1"),
        ("east,west\n1,0\n", COLUMNS[:2], "symbols of 2 columns"),
        ("east,west\n1,0\n", (), "give --column NAME"),
    ],
)
def test_what_names_no_dataset_is_refused(
    folder: Path, text: str, columns: tuple[str, ...], said: str
) -> None:
    Path("bad.csv").write_text(text, encoding="utf-8")
    assert said in run("release", "solution.json", "bad.csv", *columns, "--output", "out.csv", code=2)
    assert not Path("out.csv").exists()


def test_answers_have_no_codebook(folder: Path) -> None:
    words = ("--codebook", "book.csv", "--problem", "problem.json", "--output", "out.csv")
    assert "has no codebook" in run("release", "solution.json", "votes.csv", *COLUMNS, *words, code=2)

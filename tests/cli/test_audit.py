"""The command that audits: text, JSON, exit codes, where the problem is looked for, and cells that are not quoted."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from instances.tables import run, write
from typer.testing import CliRunner

from privopt.cli import app

RNG = np.random.default_rng(4)


def people(name: str, rows: int, turned: bool = False) -> None:
    places = RNG.choice(["a", "b", "c"], rows)
    often = {"a": 0.2, "b": 0.5, "c": 0.6} if not turned else {"a": 0.7, "b": 0.5, "c": 0.1}
    cells = [("yes" if RNG.random() < often[place] else "no", str(place)) for place in places]
    write(name, ("ill", "place"), cells)


def fails(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2, result.output
    return result.stderr


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    people("people.csv", 600)
    people("others.csv", 2000)
    people("turned.csv", 6000, turned=True)
    run("fit", "people.csv", "--sensitive", "ill", "--useful", "place", "--output", "joint.json")
    fields = {"type": "local_information_privacy", "joint": {"file": "joint.json"}, "epsilon": 0.2}
    Path("problem.json").write_text(json.dumps(fields), encoding="utf-8")
    run("solve", "problem.json", "--output", "solution.json")
    return tmp_path


def test_the_command_says_what_was_found(folder: Path) -> None:
    said = run("audit", "solution.json", "others.csv")
    for words in (
        "verdict ",
        "rows            2000",
        "leakage ",
        "at confidence 0.95 (Clopper-Pearson",
        "rarest pair ",
    ):
        assert words in said
    fields = json.loads(run("audit", "solution.json", "others.csv", "--json", "--confidence", "0.9"))
    assert fields["rows"] == 2000
    assert fields["interval"][0] <= fields["leakage"] <= fields["interval"][1]
    assert fields["confidence"] == 0.9


def test_a_population_beyond_the_budget_is_exit_code_one(folder: Path) -> None:
    result = CliRunner().invoke(app, ["audit", "solution.json", "turned.csv"])
    assert result.exit_code == 1
    assert "the population is beyond the budget (0.2 nats)" in result.stdout


def test_the_problem_is_beside_the_solution_or_named_or_in_the_bundle(folder: Path) -> None:
    beside = run("audit", "solution.json", "others.csv")
    run("bundle", "problem.json", "solution.json", "--output", "all.zip")
    assert run("audit", "all.zip", "others.csv") == beside
    Path("problem.json").rename("posed.json")
    assert "give --problem PROBLEM.json" in fails("audit", "solution.json", "others.csv")
    assert run("audit", "solution.json", "others.csv", "--problem", "posed.json") == beside
    other = json.loads(Path("posed.json").read_text(encoding="utf-8")) | {"epsilon": 0.3}
    Path("problem.json").write_text(json.dumps(other), encoding="utf-8")
    assert "answers another problem" in fails("audit", "solution.json", "others.csv")


def test_what_does_not_fit_is_misuse_and_no_cell_is_quoted(folder: Path) -> None:
    write("short.csv", ("place",), [("a",)])
    assert "there is no column 'ill'" in fails("audit", "solution.json", "short.csv")
    write("odd.csv", ("ill", "place"), [("no", "a"), ("no", "private cell")])
    said = fails("audit", "solution.json", "odd.csv")
    assert "odd.csv: column 'place' in row 2 is none of the 3 values" in said
    assert "private cell" not in said
    assert "1 left out" in run("audit", "solution.json", "odd.csv", "--unseen", "drop")
    assert "cannot be read" in fails("audit", "solution.json", "none.csv")
    assert fails("audit", "solution.json", "others.csv", "--confidence", "2").startswith(
        "privopt: confidence is 2.0"
    )


def test_a_solution_that_is_not_proved_is_not_audited(folder: Path) -> None:
    fields = json.loads(Path("solution.json").read_text(encoding="utf-8"))
    fields["leakage"] = 0.0
    Path("solution.json").write_text(json.dumps(fields), encoding="utf-8")
    result = CliRunner().invoke(app, ["audit", "solution.json", "others.csv"])
    assert result.exit_code == 1
    assert "NOT PROVED, so there is nothing to audit" in result.stderr

"""The command line as an officer sees it: release with a receipt and a state, draw again, bundle, verify from files alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from privopt.cli import app

ROWS = [
    ("red", "young"),
    ("blue", "old"),
    ("red", "young"),
    ("blue", "young"),
    ("red", "old"),
    ("blue", "old"),
] * 20


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "people.csv", ROWS)
    run("fit", "people.csv", "--sensitive", "vote", "--useful", "age", "--output", "joint.json")
    problem = {"type": "local_information_privacy", "joint": {"file": "joint.json"}, "epsilon": 0.2}
    (tmp_path / "problem.json").write_text(json.dumps(problem), encoding="utf-8")
    run("solve", "problem.json", "--output", "solution.json")
    return tmp_path


def write(path: Path, rows: list[tuple[str, str]]) -> None:
    path.write_text("\n".join(["vote,age", *(",".join(row) for row in rows), ""]), encoding="utf-8")


def run(*words: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == code, done.output
    return done.output


def release(output: str, code: int = 0) -> str:
    files = ("--state", "state.json", "--receipt", "receipt.json", "--output", output)
    return run("release", "solution.json", "people.csv", "--column", "age", *files, code=code)


def test_from_a_release_to_a_bundle_that_is_verified(folder: Path) -> None:
    release("one.csv")
    run("bundle", "problem.json", "solution.json", "--receipt", "receipt.json", "--output", "bundle.zip")
    assert "is plausible" in run("verify", "bundle.zip", "one.csv")
    assert "is plausible" in run(
        "verify", "problem.json", "solution.json", "one.csv", "--receipt", "receipt.json"
    )
    assert "young" not in (folder / "receipt.json").read_text(encoding="utf-8")
    text = (folder / "one.csv").read_text(encoding="utf-8").splitlines()
    (folder / "bad.csv").write_text("\n".join([text[0], *(text[1] for _ in text[1:]), ""]), encoding="utf-8")
    assert "is not the file that was released" in run("verify", "bundle.zip", "bad.csv", code=1)


def test_a_second_draw_gives_the_first_and_other_rows_are_refused(folder: Path) -> None:
    release("one.csv")
    assert "drawn before" in release("two.csv")
    assert (folder / "one.csv").read_bytes() == (folder / "two.csv").read_bytes()
    write(folder / "people.csv", [*ROWS, ("red", "old")])
    release("three.csv")
    lines = (folder / "three.csv").read_text(encoding="utf-8").splitlines()
    assert lines[:-1] == (folder / "one.csv").read_text(encoding="utf-8").splitlines()
    write(folder / "people.csv", ROWS[::-1])
    assert "says more than the certificate allows" in release("four.csv", code=2)
    assert not (folder / "four.csv").exists()

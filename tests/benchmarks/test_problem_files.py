"""A suite made of problem files: from files to rows, and each misuse in one sentence with exit code 2."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import privopt as po
from privopt.benchmarks.runner.files import suite_of_files
from privopt.benchmarks.runner.folder import read_run
from privopt.benchmarks.runner.suite import vocabulary
from privopt.benchmarks.runner.task import tasks_of
from privopt.cli import app

CHAIN = po.MarkovChain([[0.75, 0.25], [0.5, 0.5]])


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A redaction and a step of beliefs, in the folder where commands run."""
    monkeypatch.chdir(tmp_path)
    for name, problem in (("a", po.Redaction(CHAIN, 4, 1, 1.0)), ("b", po.BeliefRelease([0.6, 0.4], 0.5))):
        (tmp_path / f"{name}.json").write_text(json.dumps(problem.to_dict()), encoding="utf-8")
    return Path("a.json"), Path("b.json")


def test_budgets_replace_those_of_the_files_only_where_there_are_some(files: tuple[Path, Path]) -> None:
    own, others = suite_of_files(files), suite_of_files(files, (0.1, 2.0))
    assert {(t.instance.name, t.budget) for t in tasks_of(own)} == {("a", 1.0), ("b", 0.5)}
    assert {t.budget for t in tasks_of(others)} == {0.1, 2.0}
    assert {t.solver for t in tasks_of(own) if t.instance.name == "b"} >= {"closed-form", "oracle"}


def test_a_baseline_is_the_reference_of_the_report(files: tuple[Path, Path]) -> None:
    suite = suite_of_files(files, baseline="windows")
    words = vocabulary(suite.instances(), suite.reference)
    assert words.problem("redaction").reference.solver == "windows"
    assert vocabulary(suite.instances()).problem("belief_release").reference.solver != "windows"


@pytest.mark.long
def test_the_command_runs_each_repetition_of_each_problem(files: tuple[Path, Path]) -> None:
    arguments = [
        "bench",
        "run",
        "--problem",
        "a.json",
        "--problem",
        "b.json",
        "--budgets",
        "0.5,1",
        "-s",
        "closed-form",
        "--repeat",
        "3",
    ]
    result = CliRunner().invoke(app, [*arguments, "--baseline", "windows", "--jobs", "1"])
    assert result.exit_code == 0, result.output
    rows = read_run(Path("privopt-runs", "a-b"))[1]
    assert {(r.instance, r.solver, r.budget, r.seed) for r in rows} == {
        (instance, solver, budget, seed)
        for instance, solver in (("a", "windows"), ("b", "closed-form"))
        for budget in (0.5, 1.0)
        for seed in (0, 1, 2)
    }
    assert len(rows) == 12


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("", "name a suite"),
        ("quick --problem a.json", "not both"),
        ("quick --budgets 1", "quick has budgets of its own"),
        ("--problem a.json --problem other/a.json", "a.json and other/a.json have the same name"),
        ("--problem a.json --budgets 1,x", "'1,x' is not a list of numbers >= 0"),
        ("--problem a.json --budgets nan", "'nan' is not a list of numbers >= 0"),
        ("--problem a.json --baseline nobody", "no problem has a solver 'nobody' to be the baseline"),
        ("--problem no.json", "no.json: cannot be read"),
        ("--problem a.json --seeds 0,1 --repeat 2", "not both"),
        ("--problem a.json --repeat 0", "--repeat"),
    ],
)
def test_misuse_is_one_sentence_and_makes_no_folder(
    files: tuple[Path, Path], arguments: str, said: str
) -> None:
    result = CliRunner().invoke(app, ["bench", "run", *arguments.split()])
    assert result.exit_code == 2
    assert said in " ".join(result.output.split())
    assert not Path("privopt-runs").exists()

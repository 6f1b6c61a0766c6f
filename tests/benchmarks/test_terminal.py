"""What a run says at its end: its length, its numbers, its exit codes; an alarm explained from the files of the run."""

from __future__ import annotations

import csv
import json
import os
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from instances.report_rows import MANIFEST, make_row, synthetic, write_folder
from typer.testing import CliRunner

import privopt as po
from privopt.benchmarks.report.board import board
from privopt.benchmarks.report.judged import judged
from privopt.benchmarks.report.terminal import LINES, WIDTH, lines
from privopt.benchmarks.report.why import why
from privopt.benchmarks.runner.folder import alarm_folder, prepare, read_run, write_run
from privopt.benchmarks.runner.job import Job, write_alarms
from privopt.benchmarks.runner.machine import commit, environment
from privopt.benchmarks.runner.rows import AUTO, Row
from privopt.benchmarks.runner.store import Attempt
from privopt.benchmarks.runner.suite import Instance, Suite
from privopt.benchmarks.runner.task import Task
from privopt.benchmarks.runner.vocabulary import InstanceWords, ProblemWords, Vocabulary
from privopt.benchmarks.runner.work import claim_holds, proved_again
from privopt.cli import app
from privopt.core.words import Quantity
from privopt.errors import InvalidProblem

CHAIN = po.MarkovChain([[0.75, 0.25], [0.5, 0.5]])
PROBLEM = po.Redaction(CHAIN, 4, 1, 1.0)


def said(rows: list[Row], warnings: tuple[str, ...] = ()) -> list[str]:
    return lines(board(judged(rows)), MANIFEST, warnings, Path("a folder"), Path("a folder/report.html"))


def many(kinds: int) -> list[Row]:
    return [
        make_row(question=f"problem_{i}_with_a_name", solver=s, budget=b, objective=o)
        for i in range(kinds)
        for b in (1.0, 2.0)
        for s, o in ((AUTO, 0.4 if b == 2.0 else 0.5), ("a-solver-of-a-long-name", 0.5), ("windows", 0.3))
    ]


@pytest.mark.parametrize("kinds", [0, 1, 12, 14, 15, 40])
def test_a_summary_is_at_most_twenty_lines_of_a_hundred_columns(kinds: int) -> None:
    broken = [make_row(solver=f"s{i}", verified=False, claim_holds=False, reason="x" * 300) for i in range(4)]
    for rows in (many(kinds), many(kinds) + broken):
        told = said(rows, ("an answer contradicts another " * 9,))
        assert len(told) <= LINES == 20
        assert max(map(len, told)) <= WIDTH == 100
        assert told[-1] == "Report: a folder/report.html"


def test_a_summary_says_what_solve_loses_and_where_there_are_alarms() -> None:
    amber = make_row(question="other", claim_holds=True, differs="its last digits")
    told = said([*many(1), amber])
    assert told[0].startswith("synthetic <suite>: privopt.solve() best in 1 of 2 cases, 0 proved optimal")
    assert "1/2 ! −20 %" in told[2]
    assert any("record differs, claim holds: optimal on" in line for line in told)
    assert "! 1 in all; to see one: privopt bench why 1 'a folder'" in told
    hidden = said(many(40))
    assert any("more problems, which are in the report" in line for line in hidden)


def test_the_sign_for_undecided_cases_is_explained_where_it_stands() -> None:
    pairs = [(0.50, 0.45), (0.42, 0.47), (0.48, 0.44), (0.43, 0.49), (0.46, 0.46)]
    rows = [
        make_row(solver=solver, seed=seed, objective=objective)
        for seed, both in enumerate(pairs)
        for solver, objective in zip((AUTO, "windows"), both, strict=True)
    ]
    told = said(rows)
    assert "≈1" in told[2]
    assert "  ≈: so many more cases in which repetitions do not tell it from the best" in told
    assert not any("≈" in line for line in said(many(1)))


def test_numbers_of_the_summary_are_those_of_the_rows(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "run", synthetic())
    result = CliRunner().invoke(app, ["bench", "report", str(folder), "--formats", "csv", "--json"])
    told = json.loads(result.output)
    assert told["finding"]["cases"] == len({(r.question, r.instance, r.budget) for r in synthetic()})
    assert told["counts"]["held"] == sum(r.verified for r in synthetic())


@pytest.mark.parametrize(("holds", "code"), [(True, 0), (False, 1)])
def test_a_record_that_differs_exits_0_and_a_claim_that_fails_1(
    tmp_path: Path, holds: bool, code: int
) -> None:
    row = make_row(
        verified=False, claim_holds=holds, differs="the stated utility", reason="the stated utility"
    )
    folder = write_folder(tmp_path / "run", [make_row(solver="fine"), row])
    result = CliRunner().invoke(app, ["bench", "report", str(folder), "--formats", "csv"])
    assert result.exit_code == code, result.output
    again = CliRunner().invoke(app, ["bench", "why", "1", str(folder)])
    assert again.exit_code == code
    assert "optimal on “Redaction”, One, budget = 1" in again.output
    assert "the stated utility" in again.output


def kept(folder: Path, changed: po.Solution[po.RedactionMechanism]) -> Row:
    """A run of one row whose stored answer is not what was solved."""
    task = Task("tiny", Instance("four", 4, PROBLEM), "windows", 1.0, 5.0, 0)
    again = proved_again(PROBLEM, changed.to_dict())
    row = make_row(
        key=task.key,
        verified=again.verified,
        claim_holds=again.holds,
        differs=again.differs,
        reason=again.fault or "The solver ended.",
    )
    prepare(folder)
    write_alarms(folder, [(task, Attempt(row, "it", 0.0, ""))], lambda _: changed.to_dict())
    write_run(folder, MANIFEST, [row])
    return row


def test_an_alarm_is_explained_from_what_the_run_kept(tmp_path: Path) -> None:
    solved = po.solve(PROBLEM, "windows")
    assert solved.utility is not None
    row = kept(tmp_path, replace(solved, utility=solved.utility / 2, objective=solved.utility / 2))
    assert (row.verified, row.claim_holds, row.broken, row.differing) == (False, True, False, True)
    alarm, told = why(tmp_path, 1)
    assert not alarm.red
    assert any(line.startswith("Proved now: it does not hold: the stated utility") for line in told)
    place = alarm_folder(tmp_path, row.key)
    assert told[-1] == f"Prove it yourself: privopt verify {place}/problem.json {place}/solution.json"
    checked = CliRunner().invoke(app, ["verify", str(place / "problem.json"), str(place / "solution.json")])
    assert checked.exit_code == 1
    with pytest.raises(InvalidProblem, match="1 to 1"):
        why(tmp_path, 2)


def test_a_bound_that_its_dual_does_not_prove_is_no_mere_difference() -> None:
    solved = po.solve(PROBLEM, "optimal")
    assert solved.bound is not None
    assert claim_holds(PROBLEM, solved)
    lower = replace(solved, bound=solved.bound * 0.99)
    assert not claim_holds(PROBLEM, lower)
    again = proved_again(PROBLEM, lower.to_dict())
    assert (again.verified, again.holds) == (False, False)


def test_a_run_where_all_holds_has_no_alarm(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "run", [make_row()])
    with pytest.raises(InvalidProblem, match="no alarm"):
        why(folder, 1)


def test_the_environment_names_the_machine_and_leaves_out_what_is_not_known() -> None:
    told = environment()
    assert {"privopt", "processor", "cores", "memory", "system", "BLAS", "NumPy", "Python"} <= set(told)
    assert all(told.values())
    assert told["memory"].endswith(" GiB")
    assert str(os.cpu_count()) in told["cores"]
    assert "Python" not in told["processor"]


def test_no_commit_is_named_outside_a_repository(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "privopt").mkdir()
    (tmp_path / "privopt" / "__init__.py").write_text("")
    monkeypatch.setattr(sys.modules["privopt"], "__file__", str(tmp_path / "privopt" / "__init__.py"))
    assert commit() == ""


def tiny() -> Suite:
    return Suite(
        "tiny", "one problem", lambda: (Instance("four", 4, PROBLEM, title="Four days"),), (1.0,), 5.0
    )


def test_a_run_keeps_its_command_its_words_and_what_solve_chose(tmp_path: Path) -> None:
    job = Job(tiny(), tmp_path, tmp_path / "page.html", solvers=(AUTO, "windows"), jobs=1)
    job.work()
    manifest, rows = read_run(tmp_path)
    command = "privopt bench run tiny --seeds 0 --jobs 1 --solver auto --solver windows"
    assert manifest.environment["command"] == command
    assert manifest.environment["jobs"] == "1"
    assert manifest.words.problem("redaction").title == "Hide records of a stream"
    assert manifest.words.instance("redaction", "four").title == "Four days"
    auto, windows = rows
    assert (auto.solver, auto.role, auto.chosen != "", auto.verified) == (AUTO, "", True, True)
    assert (windows.solver, windows.role, windows.chosen) == ("windows", "FEASIBLE", "")
    for row in rows:
        assert row.claim_holds is True
        assert row.cpu is not None
        assert row.raw_objective is not None
        assert row.raw_objective == pytest.approx(row.objective, abs=1e-9)
    replace(job, jobs=2).work()
    assert read_run(tmp_path)[0].environment["command"] == command


def test_a_manifest_without_words_is_read(tmp_path: Path) -> None:
    write_run(tmp_path, MANIFEST, [make_row()])
    told = json.loads((tmp_path / "run.json").read_text())
    del told["words"]
    (tmp_path / "run.json").write_text(json.dumps(told))
    old = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    for name in ("role", "chosen", "claim_holds", "differs", "raw_objective", "cpu", "attack_accuracy"):
        del old[0][name]
    (tmp_path / "rows.jsonl").write_text(json.dumps(old[0]) + "\n")
    manifest, rows = read_run(tmp_path)
    assert manifest.words == Vocabulary()
    assert rows == (make_row(),)


def test_words_of_a_run_are_read_back(tmp_path: Path) -> None:
    known = Vocabulary(
        {"redaction": ProblemWords("Hide", "Hide", "What?", "Redaction")},
        {"redaction/one": InstanceWords("First", "note", Quantity("records", "share"))},
    )
    write_run(tmp_path, replace(MANIFEST, words=known), [make_row()])
    assert read_run(tmp_path)[0].words == known


def test_the_two_numbers_of_the_headline_are_those_of_the_csv_file(tmp_path: Path) -> None:
    rows = [*synthetic(), *(replace(r, solver=AUTO) for r in synthetic() if r.solver in ("windows", "dca"))]
    write_run(tmp_path, MANIFEST, rows)
    with (tmp_path / "rows.csv").open(encoding="utf-8", newline="") as stream:
        lines_of_csv = list(csv.DictReader(stream))
    best: dict[tuple[str, ...], float] = {}
    for line in lines_of_csv:
        if line["verified"] == "True" and line["objective"]:
            case = (line["question"], line["instance"], line["budget"])
            best[case] = max(float(line["objective"]), best.get(case, float(line["objective"])))
    asked = [line for line in lines_of_csv if line["solver"] == AUTO]
    won = 0
    for line in asked:
        top = best.get((line["question"], line["instance"], line["budget"]))
        if top is not None and line["verified"] == "True":
            won += float(line["objective"]) >= top - 1e-6 * max(1.0, abs(top))
    headline = board(judged(read_run(tmp_path)[1])).finding.headline
    assert [int(n) for n in re.findall(r"\d+", headline)] == [won, len(asked)]
    assert 0 < won < len(asked)

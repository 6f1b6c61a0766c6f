"""Whether solve is beaten: the suite of cases, what counts as beaten and as late, and runs that go on where they stopped."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from privopt.benchmarks.regret import measure
from privopt.benchmarks.regret.measure import Measuring, Worker, alike, enough, limits_of, serves
from privopt.benchmarks.regret.page import page, write_standings
from privopt.benchmarks.regret.regrets import Standing, latest, slowest, standings, summary, worst
from privopt.benchmarks.regret.rows import ANCHOR, NAME, SOLVE, Run, append_runs, mend, read_runs
from privopt.benchmarks.runner.case import Case, cases, find_case, register_cases
from privopt.cli import app
from privopt.core.registry import problem_types
from privopt.errors import FileRefused, InvalidProblem


def run(
    solver: str, objective: float | None, seconds: float = 1.0, limit: float = 5.0, **changes: object
) -> Run:
    fields: dict[str, object] = {
        "case": "redaction/any",
        "solver": solver,
        "limit": limit,
        "repetition": 0,
        "status": "FEASIBLE" if objective is not None else "TIME_OUT",
        "reason": "",
        "winner": solver,
        "objective": objective,
        "bound": None,
        "scale": 1.0,
        "certified": objective is not None,
        "seconds": seconds,
    }
    return Run(**{**fields, **changes})  # type: ignore[arg-type]


ZERO = run(ANCHOR, 0.0, limit=0.0, certified=False)


def only(*runs: Run) -> Standing:
    (stand,) = standings([ZERO, *runs])
    return stand


def test_the_suite_has_cases_of_every_problem_in_every_size() -> None:
    every = cases()
    assert len(every) >= 150
    assert {case.kind for case in every} == set(problem_types())
    assert 35 <= len(cases(quick=True)) <= 50
    assert 30 <= sum(case.long for case in every) <= 40
    assert len({case.name for case in every}) == len(every)


@pytest.mark.parametrize("case", cases(quick=True), ids=lambda case: case.name)
def test_quick_cases_are_built_the_same_every_time(case: Case) -> None:
    problem = case.make()
    assert problem.kind == case.kind
    assert problem.fingerprint == case.make().fingerprint


def test_cases_are_found_by_pattern() -> None:
    assert {case.kind for case in cases("redaction/*")} == {"redaction"}
    assert find_case("redaction/records-12").name == "redaction/records-12"
    with pytest.raises(InvalidProblem, match="no case is called 'nowhere'"):
        cases("nowhere")
    with pytest.raises(ValueError, match="two cases called a"):
        register_cases("another", [("a", "", None), ("a", "", None)])  # type: ignore[list-item]


def test_regret_is_a_share_of_the_span_from_the_anchor() -> None:
    stand = only(run(SOLVE, 3.0), run("better", 4.0), run("worse", 1.0))
    assert (stand.regret, stand.best_by) == (0.25, "better")
    assert only(run(SOLVE, 4.0), run("worse", 1.0)).regret == 0.0
    assert only(run(SOLVE, 4.0)).regret == 0.0
    assert only(run(SOLVE, None), run("any", 1.0)).regret == math.inf
    assert only(run(SOLVE, None, status="INFEASIBLE")).regret == 0.0


def test_an_uncertified_answer_beats_nobody() -> None:
    assert only(run(SOLVE, 3.0), run("claims", 9.0, certified=False)).regret == 0.0


def test_where_the_anchor_has_no_value_the_best_is_the_span() -> None:
    (stand,) = standings([run(ANCHOR, None, limit=0.0), run(SOLVE, -3.0), run("better", -2.0)])
    assert stand.regret == 0.5


def test_equal_answers_in_a_tiny_span_are_equal() -> None:
    stand = only(run(SOLVE, 0.0), run("better", 1e-9))
    assert stand.regret == pytest.approx(1e-3)


def test_the_median_counts_and_the_latest() -> None:
    ours = [run(SOLVE, value, 5.0 + value, repetition=i) for i, value in enumerate((1.0, 3.0, 2.0))]
    stand = only(*ours, run("better", 4.0))
    assert (stand.objective, stand.seconds, stand.late) == (2.0, 7.0, 3.0)
    assert latest([stand]) == [stand]


def test_a_run_counts_at_every_limit_that_it_kept_to() -> None:
    rows = [ZERO, run(SOLVE, 1.0, limit=1.0), run(SOLVE, 1.0), run("quick", 2.0, 0.4), run("slow", 3.0, 4.0)]
    short, long = standings(rows)
    assert (short.limit, short.best_by) == (1.0, "quick")
    assert (long.limit, long.best_by) == (5.0, "slow")


def test_slow_is_what_takes_longer_than_the_fastest_proof() -> None:
    ours = run(SOLVE, 1.0, 1.0, status="OPTIMAL")
    proof = run("proves", 1.0, 0.5, status="OPTIMAL")
    reaches = run("reaches", 1.0, 0.1)
    assert only(ours, proof, reaches).fastest_by == "proves"
    assert only(ours, proof).slow
    assert not only(run(SOLVE, 1.0, 0.69, status="OPTIMAL"), proof).slow
    assert not only(run(SOLVE, 1.0, 1.0), proof).slow
    assert slowest([only(ours, proof)])[0].fastest == 0.5


def test_seconds_are_compared_where_the_two_took_turns() -> None:
    ours = run(SOLVE, 1.0, 4.0, status="OPTIMAL")
    proof = run("proves", 1.0, 0.5, status="OPTIMAL")
    turns = [
        run(solver, None, seconds, status="OPTIMAL", repetition=i, paired=other)
        for i, (mine, his) in enumerate(((0.9, 0.7), (0.6, 0.9), (6.0, 0.8)))
        for solver, other, seconds in ((SOLVE, "proves", mine), ("proves", SOLVE, his))
    ]
    stand = only(ours, proof, *turns)
    assert (stand.seconds, stand.fastest, stand.objective) == (0.9, 0.8, 1.0)
    assert stand.late == 1.0
    assert not stand.slow
    assert only(ours, proof, run("faster", 1.0, 0.1, status="OPTIMAL"), *turns).seconds == 4.0


def test_solve_and_the_fastest_take_turns_where_it_may_have_been_slow(tmp_path: Path) -> None:
    case = find_case("redaction/records-12")
    job = Measuring(tmp_path, (1.0,), 2, ("optimal",))
    job.known = [
        replace(r, case=case.name)
        for r in (
            replace(ZERO, reason="optimal"),
            run(SOLVE, 1.0, 0.9, 1.0, status="OPTIMAL"),
            run(SOLVE, 1.0, 0.9, 1.0, status="OPTIMAL", repetition=1),
            run("optimal", 1.0, 0.5, 1.0, status="OPTIMAL"),
        )
    ]
    job.run([case])
    turns = [r for r in read_runs(tmp_path) if r.paired]
    assert [(r.solver, r.paired, r.repetition) for r in turns] == [
        (SOLVE, "optimal", 0),
        ("optimal", SOLVE, 0),
        (SOLVE, "optimal", 1),
        ("optimal", SOLVE, 1),
    ]
    assert all(r.certified for r in turns)
    before = len(job.known)
    job.run([case])
    assert len(job.known) == before


def test_the_anchor_is_noticed_where_a_solver_does_better() -> None:
    assert only(run(SOLVE, 0.0, winner="anchor"), run("better", 1.0)).stayed
    assert not only(run(SOLVE, 0.0, winner="anchor"), run("same", 0.0)).stayed
    assert worst([only(run(SOLVE, 0.0, winner="anchor"), run("better", 1.0))])[0].regret == 1.0


def test_repetitions_that_agree_need_no_third() -> None:
    assert alike([run(SOLVE, 1.0), run(SOLVE, 1.0 + 1e-6)])
    assert not alike([run(SOLVE, 1.0), run(SOLVE, 1.1)])
    assert not alike([run(SOLVE, 1.0), run(SOLVE, None)])
    assert not alike([run(SOLVE, 1.0), run(SOLVE, 1.0, 2.0)])
    assert alike([run(SOLVE, None), run(SOLVE, None)])


def test_what_is_proved_gives_solvers_by_name_less_time() -> None:
    assert enough([run(SOLVE, 1.0)], 5.0) == 5.0
    assert enough([run(SOLVE, 1.0, 1.0, status="OPTIMAL")], 5.0) == 1.5
    assert enough([run(SOLVE, 1.0, 1e-3, status="OPTIMAL")], 5.0) == 0.2


def test_runs_that_tell_what_would_happen_are_not_repeated() -> None:
    ours = [run(SOLVE, 1.0, limit=1.0)]
    assert serves(run("any", 9.0, 0.5), 1.0, 1.0, ours)  # ended by itself within the limit
    assert serves(run("any", 0.9, 4.0), 1.0, 1.0, ours)  # not above solve with more time
    assert serves(run("any", None, 4.0), 1.0, 1.0, ours)
    assert not serves(run("any", 2.0, 4.0), 1.0, 1.0, ours)  # above it: what had it after 1 s?
    assert not serves(run("any", 2.0, 1.0, limit=1.0), 5.0, 5.0, ours)  # stopped before
    assert serves(run("any", 2.0, 0.2, limit=1.0), 5.0, 5.0, ours)


def test_only_marked_cases_have_the_longest_limits() -> None:
    short, long = (
        Case("redaction/any", find_case("redaction/records-12").make, long=mark) for mark in (False, True)
    )
    assert limits_of(short, (30.0, 1.0, 5.0)) == [1.0, 5.0]
    assert limits_of(long, (30.0, 1.0, 5.0)) == [1.0, 5.0, 30.0]


def test_rows_survive_a_crash(tmp_path: Path) -> None:
    rows = [ZERO, run(SOLVE, math.inf), run("any", None)]
    append_runs(tmp_path, rows)
    with (tmp_path / NAME).open("a") as stream:
        stream.write('{"case": "redact')
    assert read_runs(tmp_path) == rows
    mend(tmp_path)
    append_runs(tmp_path, rows[:1])
    assert read_runs(tmp_path) == [*rows, rows[0]]
    with (tmp_path / NAME).open("a") as stream:
        stream.write("{}\n")
    with pytest.raises(FileRefused, match="not the rows of this measurement"):
        read_runs(tmp_path)


def test_the_page_shows_every_case(tmp_path: Path) -> None:
    stands = [only(run(SOLVE, 3.0), run("better", 4.0)), only(run(SOLVE, None), run("any", 1.0))]
    text = page(stands, "now", 1.0, {"Python": "3"}, "privopt bench dispatch --quick")
    assert "25.000%" in text
    assert "0 of 2 answers of solve() are at most 1 % behind the best solver by name" in text
    assert "2 of 2 answers are more than 5 % behind." in text
    assert ">no answer<" in text
    assert "inf%" not in text
    assert "<code>privopt bench dispatch --quick</code>" in text
    assert "<svg" in text
    assert len(summary(stands)) == 1
    write_standings(tmp_path / "standings.csv", stands)
    assert len((tmp_path / "standings.csv").read_text().splitlines()) == 3


def test_a_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    case = find_case("belief_release/letters-8")
    rows = Measuring(tmp_path, (0.3,), 1, ("closed-form",)).run([case])
    assert {r.solver for r in rows} == {SOLVE, ANCHOR, "closed-form"}
    assert read_runs(tmp_path) == rows
    again = Measuring(tmp_path, (0.3,), 1, ("closed-form",), known=list(rows)).run([case])
    assert again == rows
    (stand,) = standings(again)
    assert (stand.best_by, stand.regret) == ("closed-form", 0.0)


@pytest.mark.long
def test_the_command_measures_and_takes_solvers_by_name_from_another_run(tmp_path: Path) -> None:
    command = ["bench", "dispatch", "--only", "belief_release/letters-8", "--quick", "--json", "--output"]
    done = CliRunner().invoke(app, [*command, str(tmp_path / "before")])
    assert done.exit_code == 0, done.output
    (stand,) = json.loads(done.stdout)["standings"]
    assert stand["regret"] == 0.0
    again = CliRunner().invoke(
        app, [*command, str(tmp_path / "after"), "--against", str(tmp_path / "before")]
    )
    assert again.exit_code == 0, again.output
    assert {r.solver for r in read_runs(tmp_path / "after")} == {SOLVE, ANCHOR}


@pytest.mark.long
def test_what_was_measured_is_shown_again(tmp_path: Path) -> None:
    append_runs(
        tmp_path, [replace(r, case="redaction/records-12") for r in (ZERO, run(SOLVE, 3.0), run("any", 4.0))]
    )
    command = ["bench", "dispatch", "--show", "--json", "--output", str(tmp_path)]
    shown = CliRunner().invoke(app, command)
    assert shown.exit_code == 0, shown.output
    assert json.loads(shown.stdout)["standings"][0]["regret"] == 0.25
    assert (tmp_path / "regrets.svg").is_file()
    nothing = CliRunner().invoke(app, [*command, "--only", "redaction/records-100"])
    assert nothing.exit_code == 2


def test_a_process_that_does_not_come_back_says_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = tmp_path / "late.py"
    late.write_text(
        "import time\n"
        "from privopt.benchmarks.regret import worker\n"
        "def stuck(problem, solver, time_limit):\n"
        "    time.sleep(60 if time_limit == 0.1 else 0)\n"
        "worker.LATE, worker.solve = 0.1, stuck\n"
        "worker.main()\n"
    )
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} {late} $3\n")
    program.chmod(0o755)
    monkeypatch.setattr(measure.sys, "executable", str(program))  # type: ignore[attr-defined]
    worker = Worker(4.0)
    task = {"case": "redaction/records-12", "solver": "windows", "limit": 0.1, "repetition": 0}
    answer = worker.ask(task, 5.0)
    worker.close()
    assert isinstance(answer, str)
    assert answer.startswith(f'did not come back within 5 s: File "{late}", line 4 in stuck')


def test_a_process_that_does_not_come_back_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = Worker(4.0)
    task = {"case": "redaction/records-12", "solver": SOLVE, "limit": 0.2, "repetition": 0}
    assert worker.ask(task, 0.01) == "did not come back within 0.01 s"
    monkeypatch.setattr(measure.sys, "executable", "/bin/false")  # type: ignore[attr-defined]
    assert worker.ask(task, 5.0) in ("its process died", "its process had died")
    worker.close()

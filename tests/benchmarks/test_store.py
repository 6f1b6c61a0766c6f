"""Rows as files, and the store: append-only, crash-safe, shared; merging and comparing runs."""

from __future__ import annotations

import csv
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from instances.runs import SCRIPT, attempts_of, left_over
from instances.tiny_suite import TINY, instances, job
from typer.testing import CliRunner

import privopt as po
from privopt.benchmarks.runner import store as _claims
from privopt.benchmarks.runner.compare import compare_rows
from privopt.benchmarks.runner.folder import ROWS, TABLE, read_run
from privopt.benchmarks.runner.job import Job
from privopt.benchmarks.runner.rows import Row, read_rows, row_from_dict, write_rows
from privopt.benchmarks.runner.store import LEASE, NAME, Owner, Store, connected, opened
from privopt.cli import app
from privopt.errors import FileRefused, InvalidProblem

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a few short problems, one of them refused."""
    folder = tmp_path_factory.mktemp("run")
    few = replace(TINY, instances=lambda: instances(2))
    Job(few, folder, folder / "page.html", solvers=("windows", "optimal", "sequential")).work()
    return folder


@pytest.fixture
def rows(run: Path) -> tuple[Row, ...]:
    return read_run(run)[1]


# rows as files


def test_rows_survive_the_file(rows: tuple[Row, ...], tmp_path: Path) -> None:
    odd = replace(rows[0], raw_leakage=float("inf"), reason='a "quoted", reason\nin two lines')
    write_rows(tmp_path / "rows.jsonl", [odd, *rows])
    assert read_rows(tmp_path / "rows.jsonl") == (odd, *rows)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"status": "GREAT"}, "status of a row"),
        ({"utility": "much"}, "utility of a row"),
        ({"seed": 1.5}, "seed of a row: expected int"),
        ({"extra": 1}, "extra is missing or unknown"),
    ],
)
def test_a_row_of_the_wrong_kind_is_refused(
    rows: tuple[Row, ...], change: dict[str, object], message: str
) -> None:
    with pytest.raises(FileRefused, match=message):
        row_from_dict({**rows[0].to_dict(), **change})


def test_a_broken_line_is_named(rows: tuple[Row, ...], tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(json.dumps(rows[0].to_dict()) + "\n{", encoding="utf-8")
    with pytest.raises(FileRefused, match="line 2"):
        read_rows(tmp_path / "rows.jsonl")


def test_the_csv_holds_the_same_rows(run: Path, rows: tuple[Row, ...]) -> None:
    with (run / TABLE).open(encoding="utf-8", newline="") as stream:
        lines = list(csv.DictReader(stream))
    assert [line["solver"] for line in lines] == [row.solver for row in rows]
    assert [float(line["utility"]) for line in lines if line["utility"]] == [r.utility for r in rows if r.ok]


def test_rows_are_judged_and_proved(rows: tuple[Row, ...]) -> None:
    assert {row.ok for row in rows} == {True, False}
    for row in rows:
        assert row.reason
        assert row.ok == row.certified == row.verified
        assert len(row.fingerprint) == len(row.key) == 64
        assert row.leakage is None or row.leakage <= row.budget * (1 + 1e-12)


# the store


def test_solutions_are_kept_under_their_hash_and_prove_again(run: Path) -> None:
    with opened(run) as store:
        kept = [a for a in store.attempts().values() if a.row.ok]
        assert kept
        for attempt in kept:
            assert attempt.solution is not None
            solution = po.Solution[po.RedactionMechanism].from_dict(store.solution(attempt.solution))
            assert solution.utility == attempt.row.utility
            problem = next(i.problem for i in instances(2) if i.name == attempt.row.instance)
            assert po.verify(problem, solution).ok
        with pytest.raises(FileRefused, match="no solution"):
            store.solution("0" * 64)


@pytest.mark.parametrize("table", ["attempts", "solutions", "sessions"])
@pytest.mark.parametrize("statement", ["DELETE FROM {}", "UPDATE {} SET rowid = rowid + 1000"])
def test_what_is_recorded_cannot_be_changed(run: Path, table: str, statement: str) -> None:
    with connected(run) as base, pytest.raises(sqlite3.IntegrityError, match="only added to"):
        base.execute(statement.format(table))


def test_a_solution_that_is_too_large_is_left_out_and_its_row_kept(
    rows: tuple[Row, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("privopt.benchmarks.runner.store.LARGEST_SOLUTION", 100)
    with opened(tmp_path) as store:
        noise = random.Random(0).randbytes(400).hex()
        assert store.record(rows[0], {"noise": noise})
        (attempt,) = store.attempts().values()
    assert (attempt.row, attempt.solution) == (rows[0], None)


def test_a_key_is_recorded_once_unless_forced(rows: tuple[Row, ...], tmp_path: Path) -> None:
    better = replace(rows[0], reason="another time")
    with opened(tmp_path) as store:
        assert store.record(rows[0])
        assert not store.record(better)
        assert store.attempts()[rows[0].key].row == rows[0]
    with opened(tmp_path, force=True) as store:
        assert not store.done(rows[0].key)
        assert store.record(better)
        assert not store.record(rows[0])
        assert store.attempts()[rows[0].key].row == better


@pytest.mark.parametrize(
    "content", [b"", b"not a database, but long enough to be looked at as one" * 100, None], ids=str
)
def test_what_is_no_store_is_refused_or_made(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / NAME).write_bytes(content)
    if content:
        with pytest.raises(FileRefused, match="cannot be used"), opened(tmp_path):
            pass
    else:
        with opened(tmp_path) as store:
            assert store.attempts() == {}


def test_a_store_of_another_version_is_refused(tmp_path: Path) -> None:
    with connected(tmp_path) as base:
        base.execute("PRAGMA user_version = 99")
    with pytest.raises(FileRefused, match="of version 99"), opened(tmp_path):
        pass
    with pytest.raises(FileRefused, match="holds no"), opened(tmp_path / "x", make=False):
        pass


# claims


def test_a_task_is_claimed_by_one_runner(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        other = Store(store.base, owner=Owner())
        assert store.claim("a")
        assert store.claim("a")
        assert not other.claim("a")
        assert other.claim("b")
        store.release()
        assert other.claim("a")
        assert not store.claim("b")


@pytest.mark.parametrize(
    ("owner", "age", "taken"),
    [
        (Owner(pid=2**22 + 1), 0.0, True),
        (Owner(started=1.0), 0.0, True),
        (Owner(host="elsewhere", pid=2**22 + 1), 0.0, False),
        (Owner(host="elsewhere"), LEASE + 1, True),
        (Owner(), LEASE + 1, True),
    ],
    ids=["dead", "another process of that number", "elsewhere", "elsewhere and silent", "silent"],
)
def test_claims_of_the_dead_are_taken_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: Owner, age: float, taken: bool
) -> None:
    now = time.time()
    with opened(tmp_path) as store:
        with monkeypatch.context() as past:
            past.setattr(_claims.time, "time", lambda: now - age)
            assert Store(store.base, owner=owner).claim("a")
        assert store.claim("a") == taken


def test_renewed_claims_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    with opened(tmp_path) as store:
        other = Store(store.base, owner=Owner(host="elsewhere"))
        assert other.claim("a")
        monkeypatch.setattr(_claims.time, "time", lambda: now + LEASE / 2)
        other.renew()
        monkeypatch.setattr(_claims.time, "time", lambda: now + 1.2 * LEASE)
        assert not store.claim("a")


# runs that are killed, and runs side by side


def command(output: Path, jobs: int = 2) -> list[str]:
    """What does the job of ``tiny_suite`` in another process."""
    return [sys.executable, str(SCRIPT), str(output), str(jobs)]


def attempts_in(folder: Path) -> int:
    """How many tasks were done by now."""
    if not (folder / NAME).is_file():
        return 0
    with connected(folder) as base:
        return int(base.execute("SELECT count(*) FROM attempts").fetchone()[0])


@pytest.mark.parametrize("kills", [2, *(pytest.param(n, marks=pytest.mark.long) for n in (6, 20))])
def test_kills_lose_nothing_and_double_nothing(kills: int, tmp_path: Path) -> None:
    output, moments = tmp_path / "run", random.Random(7)
    marked = {**os.environ, "PRIVOPT_TEST_MARK": str(output)}
    for i in range(kills):
        known = attempts_in(output)
        with subprocess.Popen(
            command(output, 1),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=marked,
            start_new_session=True,
        ) as process:
            if i % 4:
                while process.poll() is None and attempts_in(output) == known:
                    time.sleep(0.05)
                time.sleep(moments.uniform(0.0, 0.2))
            else:  # while it starts
                time.sleep(moments.uniform(0.0, 1.0))
            os.killpg(process.pid, signal.SIGKILL)
    assert left_over(output) == []
    with opened(output) as store:
        before = {key: attempt.row for key, attempt in store.attempts().items()}
    done = subprocess.run(command(output), capture_output=True, text=True, env=marked, check=False)
    assert done.returncode == 0, done.stderr
    expected = {task.key for task in job(output).selected}
    keys = attempts_of(output)
    assert len(expected) == 96
    assert Counter(keys) == Counter(expected)
    rows = {row.key: row for row in read_run(output)[1]}
    assert set(rows) == expected
    assert {key: rows[key] for key in before} == before
    assert all(row.verified for row in rows.values())
    assert 0 < len(before) < 96
    assert left_over(output) == []


def test_two_runners_share_a_store(tmp_path: Path) -> None:
    output = tmp_path / "run"
    both = [
        subprocess.Popen(command(output, 1), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for _ in range(2)
    ]
    for process in both:
        said, _ = process.communicate(timeout=240)
        assert process.returncode == 0, said
    assert len(set(attempts_of(output))) == len(attempts_of(output)) == 96
    with connected(output) as base:
        shares = [n for (n,) in base.execute("SELECT count(*) FROM attempts GROUP BY session")]
    assert len(shares) == 2
    assert len(read_run(output)[1]) == 96


# merging and comparing


def test_merged_runs_hold_every_attempt_once(run: Path, tmp_path: Path) -> None:
    few = replace(TINY, instances=lambda: instances(2))
    other = tmp_path / "other"
    Job(few, other, other / "page.html", solvers=("windows", "markov-quilt"), seeds=(0, 1)).work()
    merged = tmp_path / "merged"
    for _ in range(2):
        result = CliRunner().invoke(app, ["bench", "merge", str(merged), str(run), str(other), "--json"])
        assert result.exit_code == 0, result.output
        assert json.loads(result.stdout) == {"folder": str(merged), "rows": 12, "suites": ["tiny"]}
    manifest, rows = read_run(merged)
    assert len({row.key for row in rows}) == len(rows) == 12
    latest = {row.key: row for folder in (run, other) for row in read_run(folder)[1]}
    assert {row.key: row for row in rows} == latest
    assert len(attempts_of(merged)) == len(attempts_of(run)) + len(attempts_of(other))
    assert manifest.suite == "tiny"
    assert "2 runs" in manifest.environment["merged from"]


def test_a_run_is_not_merged_into_itself(run: Path) -> None:
    from privopt.benchmarks.runner.folder import merge

    with pytest.raises(InvalidProblem, match="both a run and the output"):
        merge(run, [run])


def test_comparing_says_what_changed(rows: tuple[Row, ...], run: Path, tmp_path: Path) -> None:
    solved = [row for row in rows if row.ok]
    changed = replace(
        solved[0], objective=(solved[0].objective or 0.0) - 1e-6, seconds=2 * (solved[0].seconds or 1)
    )
    unproved = replace(solved[1], status="FAILED", certified=False, verified=False, objective=None)
    same = replace(solved[2], objective=(solved[2].objective or 0.0) - 1e-12, privopt="9.9", key="0" * 64)
    comparison = compare_rows(rows, [changed, unproved, same])
    assert comparison.pairs == 3
    assert [c.after for c in comparison.lost] == [c.after for c in comparison.changes] == [changed, unproved]
    assert "objective" in comparison.changes[0].what
    assert "certificate lost" in comparison.changes[1].what
    assert len(comparison.only_before) == len(rows) - 3
    back = compare_rows([changed, unproved, same], rows)
    assert back.lost == ()
    assert len(back.changes) == 2
    assert len(back.only_after) == len(rows) - 3


def test_time_ratios_are_geometric_means(rows: tuple[Row, ...]) -> None:
    first = [replace(row, seconds=1.0) for row in rows if row.solver == "windows"]
    second = [replace(row, seconds=factor) for row, factor in zip(first, (2.0, 8.0), strict=True)]
    (ratio,) = compare_rows(first, second).ratios
    assert ratio.pairs == 2
    assert ratio.ratio == pytest.approx(4.0, rel=1e-12)


def test_a_regression_fails_only_when_asked(run: Path, tmp_path: Path) -> None:
    for name in ("run.json", ROWS):
        (tmp_path / name).write_bytes((run / name).read_bytes())
    worse = [replace(row, certified=False, verified=False) for row in read_rows(run / ROWS)]
    write_rows(tmp_path / ROWS, worse)
    arguments = ["bench", "compare", str(run), str(tmp_path)]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert CliRunner().invoke(app, [*arguments, "--fail-on-regression"]).exit_code == 1
    back = CliRunner().invoke(
        app, ["bench", "compare", str(tmp_path), str(run), "--fail-on-regression", "--json"]
    )
    assert back.exit_code == 0
    assert json.loads(back.stdout)["worse"] == 0
    assert "certificate lost" in CliRunner().invoke(app, arguments).stdout

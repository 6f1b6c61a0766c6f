"""Releases that are run twice at once, killed at each of their steps, or led to other places than files; and what messages say of cells."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import privopt as po
from privopt.cli import app
from privopt.core.ledger import BudgetLedger
from privopt.errors import InvalidMechanism
from privopt.publication.receipt import Receipt

KILLED = Path(__file__).resolve().parents[1] / "instances" / "killed.py"
RACE = """
import sys
from pathlib import Path
from privopt.cli import main
from privopt.publication import state
from privopt.cli import _policies
place = Path(sys.argv.pop(1))

def slowly(path, fields, *more, **named):  # the other run has begun by then, and waits for the lock or has read an empty state
    import time
    (place / f"{sys.argv[-1]}.inside").touch()
    until = time.monotonic() + 1.0
    while time.monotonic() < until and len(list(place.glob("*.inside"))) < 2:
        time.sleep(0.01)
    written(path, fields, *more, **named)

written = state.write_json
state.write_json = _policies.write_json = slowly
main()
"""
LETTERS = ["a", "b", "b", "a", "b", "a", "a", "b"] * 40


def run(*words: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == code, (done.output, done.exception)
    return " ".join(done.output.split())


def column(path: Path, name: str = "x") -> list[str]:
    with path.open(newline="", encoding="utf-8") as stream:
        return [row[name] for row in csv.DictReader(stream)]


def write_problem(place: Path, problem: po.Problem[Any]) -> None:
    place.write_text(json.dumps(problem.to_dict()), encoding="utf-8")


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the data, and a solution each of a channel, a policy, a redaction and a noisy count."""
    place = tmp_path_factory.mktemp("solved")
    joint = po.JointDistribution([[0.4, 0.1], [0.1, 0.4]], ["s", "t"], ["a", "b"])
    chain = po.MarkovChain([[0.7, 0.3], [0.3, 0.7]], states=["a", "b"])
    problems: dict[str, po.Problem[Any]] = {
        "channel": po.LocalInformationPrivacy(joint, 0.3),
        "policy": po.SequenceInformationPrivacy(chain, 1.0),
        "redaction": po.Redaction(chain, 8, 3, 0.5),
        "count": po.BayesianPrivacy(po.GroupModel(2), ("count", "a"), 0.3),
    }
    for name, problem in problems.items():
        write_problem(place / f"{name}.problem.json", problem)
        po.solve(problem, time_limit=2.0).save(place / f"{name}.json")
    users = [str(i // 8) for i in range(len(LETTERS))]
    (place / "data.csv").write_text(
        "user,x\n" + "".join(f"{u},{x}\n" for u, x in zip(users, LETTERS, strict=True))
    )
    return place


@pytest.fixture
def folder(solved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for path in solved.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("kind", [pytest.param("channel", marks=pytest.mark.long), "policy"])
def test_two_processes_at_once_draw_each_letter_once(folder: Path, kind: str) -> None:
    (folder / "inside").mkdir()
    words = ["release", f"{kind}.json", "data.csv", "--column", "x", "--state", "state.json", "--output"]
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", RACE, "inside", *words, f"{name}.csv"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for name in ("one", "two")
    ]
    for each in runs:
        assert each.communicate(timeout=120)[1] == b""
        assert each.returncode == 0
    assert column(folder / "one.csv") == column(folder / "two.csv")
    assert len(column(folder / "one.csv")) == len(LETTERS)
    run(*words, "three.csv")
    assert column(folder / "three.csv") == column(folder / "one.csv")


def test_two_who_loaded_one_ledger_do_not_overspend_it(tmp_path: Path) -> None:
    query = po.NoisyQuery("count", "discrete_laplace", 5.0, 0.2, 0.4)
    ledger = BudgetLedger(po.GroupModel(2), 1.0, "survey")
    ledger.save(tmp_path / "ledger.json")
    start, told = threading.Barrier(8), list[str]()

    def spend() -> None:
        mine = BudgetLedger.load(tmp_path / "ledger.json")
        start.wait()
        for _ in range(2):
            try:
                _, mine = mine.release(query, [0, 1], "survey", tmp_path / "ledger.json")
                told.append("answered")
            except InvalidMechanism as cause:
                told.append(str(cause))

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    after = BudgetLedger.load(tmp_path / "ledger.json")
    assert len(after.entries) == told.count("answered") <= 2
    assert after.leakage <= 1.0
    assert any("is not an earlier state of this ledger: load it" in text for text in told)
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.json"]


def killed(folder: Path, where: str, *words: str) -> list[Path]:
    """The folders that are left by runs of a command which were killed at all of its steps."""
    base = folder / "base"
    base.mkdir()
    for name in ("data.csv", *(word for word in words if (folder / word).is_file())):
        (base / name).write_bytes((folder / name).read_bytes())
    done = subprocess.run(
        [sys.executable, str(KILLED), where, str(base), *words],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    steps = int(done.stdout)
    assert steps > (10 if where == "everywhere" else 3)
    return [folder / f"base-{last}" for last in range(steps + 1)]


STATES: dict[str, Sequence[str]] = {
    "channel": (),
    "policy": ("--by", "user"),
    "redaction": ("--by", "user"),
}


@pytest.mark.parametrize(
    ("kind", "where"),
    [("channel", "replace"), *(pytest.param(kind, "everywhere", marks=pytest.mark.long) for kind in STATES)],
)
def test_killed_at_any_step_a_release_is_whole_or_not_there_and_agrees_with_its_state(
    folder: Path, kind: str, where: str
) -> None:
    words = [
        "release", f"{kind}.json", "data.csv", "--column", "x", *STATES[kind],
        "--state", "state.json", "--output", "out.csv", "--receipt", "receipt.json",
    ]  # fmt: skip
    seen = set()
    for place in killed(folder, where, *words):
        os.chdir(place)
        there = [name for name in ("state.json", "out.csv", "receipt.json") if Path(name).exists()]
        seen.add(tuple(there))
        shown = column(place / "out.csv") if "out.csv" in there else None
        before = Path("state.json").read_bytes() if "state.json" in there else None
        assert shown is None or before is not None, "shown before it was recorded"
        if "receipt.json" in there:
            assert Receipt.load("receipt.json").fault_of_file("out.csv") is None
        run(*words)
        if shown is not None:
            assert column(place / "out.csv") == shown, "drawn again"
        if before is not None:
            assert json.loads(before)["users"] == json.loads(Path("state.json").read_bytes())["users"]
    assert seen == {
        (), ("state.json",), ("state.json", "out.csv"), ("state.json", "out.csv", "receipt.json")
    }  # fmt: skip


@pytest.mark.parametrize("where", ["replace", pytest.param("everywhere", marks=pytest.mark.long)])
def test_killed_at_any_step_no_answer_is_shown_that_was_not_charged(folder: Path, where: str) -> None:
    begin = ("--ledger", "ledger.json", "--total", "1", "--problem", "count.problem.json")
    words = ["release", "count.json", "data.csv", "--column", "x", *begin, "--output", "out.csv"]
    seen = set()
    for place in killed(folder, where, *words):
        os.chdir(place)
        charged = len(BudgetLedger.load("ledger.json").entries) if Path("ledger.json").exists() else 0
        shown = Path("out.csv").exists()
        seen.add((charged, shown))
        assert shown <= bool(charged)
        assert not shown or column(place / "out.csv", "released")
    assert seen == {(0, False), (1, False), (1, True)}


def test_files_of_the_owner_are_for_the_owner_alone_and_the_release_for_everybody(folder: Path) -> None:
    before = os.umask(0o022)
    try:
        run(
            "release", "channel.json", "data.csv", "--column", "x", "--output", "out.csv", "--state", "state.json",
            "--receipt", "receipt.json",
        )  # fmt: skip
        run(
            "release", "count.json", "data.csv", "--column", "x", "--output", "count.csv",
            "--ledger", "ledger.json", "--total", "1", "--problem", "count.problem.json",
        )  # fmt: skip
        run(
            "release",
            "policy.json",
            "data.csv",
            "--column",
            "x",
            "--output",
            "policy.csv",
            "--state",
            "policy.state",
        )
    finally:
        os.umask(before)
    modes = {
        name: Path(name).stat().st_mode & 0o777
        for name in ("state.json", "receipt.json", "ledger.json", "policy.state")
    }
    assert set(modes.values()) == {0o600}
    assert {Path(name).stat().st_mode & 0o777 for name in ("out.csv", "count.csv", "policy.csv")} == {0o644}


@pytest.mark.parametrize("option", ["--output", "--state", "--receipt", "--ledger", "--codebook"])
def test_nothing_is_drawn_for_a_place_that_is_no_file(folder: Path, option: str) -> None:
    os.mkfifo("pipe")
    kind = "count" if option == "--ledger" else "channel"
    words = ["release", f"{kind}.json", "data.csv", "--column", "x", "--problem", f"{kind}.problem.json"]
    words += [] if option == "--output" else ["--output", "out.csv"]
    before = sorted(folder.iterdir())
    assert "is a pipe; only regular files are replaced" in run(*words, option, "pipe", code=2)
    assert "is a device" in run(*words, option, os.devnull, code=2)
    assert "too long" in run(*words, option, "x" * 300, code=2)
    assert "zero byte" in run(*words, option, "a\0b", code=2)
    if option != "--output":
        assert "is also read or written" in run(*words, option, "out.csv", code=2)
    assert sorted(folder.iterdir()) == before


SECRET = "secret-diagnosis"


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("channel", ()),
        ("policy", ()),
        ("policy", ("--by", "user", "--state", "state.json")),
        ("redaction", ("--by", "user")),
    ],
)
def test_no_message_quotes_a_cell_or_names_a_user_but_to_the_owner(
    folder: Path, kind: str, more: Sequence[str]
) -> None:
    lines = Path("data.csv").read_text().splitlines()
    name = "anna@example.org"
    cells = [
        lines[0],
        *(line.replace("3,", f"{name},") if line.startswith("3,") else line for line in lines[1:]),
    ]
    words = ["release", f"{kind}.json", "--column", "x", *more, "--output", "out.csv"]
    Path("cell.csv").write_text("\n".join([*cells[:27], f"{name},{SECRET}", *cells[28:], ""]))
    said = run(*words, "cell.csv", code=2)
    assert "cell.csv: row 27: 'x' holds another value" in said
    assert SECRET not in said
    assert SECRET in run(*words, "cell.csv", "--show-values", code=2)
    if kind == "redaction":
        Path("short.csv").write_text("\n".join([*cells[:27], *cells[28:], ""]))
        said = run(*words, "short.csv", code=2)
        assert "user number 4" in said
        assert name not in said
        assert name in run(*words, "short.csv", "--show-values", code=2)
    if "--state" in more:
        Path("whole.csv").write_text("\n".join([*cells, ""]))
        run(*words, "whole.csv")
        turned = ["a" if cells[27].endswith("b") else "b"]
        Path("other.csv").write_text("\n".join([*cells[:27], f"{name},{turned[0]}", *cells[28:], ""]))
        said = run(*words, "other.csv", code=2)
        assert "user number 4 (--show-values says which): of 8 records the release is recorded" in said
        assert name not in said
        assert name in run(*words, "other.csv", "--show-values", code=2)


def test_a_count_of_one_value_reads_all_others_and_names_none_of_them(folder: Path) -> None:
    words = ["release", "count.json", "--column", "x", "--output", "out.csv"]
    Path("other.csv").write_text(f"x\na\n{SECRET}\na\nb\n")
    said = run(*words, "other.csv")
    assert SECRET not in said
    assert "records 4" in said
    assert abs(float(column(Path("out.csv"), "released")[0]) - 2) < 400
    Path("gap.csv").write_text('x\na\n""\n')
    assert "gap.csv: row 2: 'x' is empty; fill it in" in run(*words, "gap.csv", code=2)


NAMES = ("=1+1", "@b", "-1")


def begins(place: str) -> set[str]:
    """With what the cells of a table begin that are no numbers."""
    with Path(place).open(newline="", encoding="utf-8") as stream:
        return {cell[0] for row in csv.reader(stream) for cell in row if cell and cell != "-1"}


@pytest.mark.parametrize("raw", [False, True])
def test_formulas_are_made_safe_and_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raw: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    chain = po.MarkovChain([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]], states=list(NAMES))
    problem = po.Redaction(chain, 6, 2, 1.0)
    write_problem(Path("problem.json"), problem)
    po.solve(problem, "windows", time_limit=5.0).save("solution.json")
    with Path("data.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([["=user", "x"], *([f"@{i // 6}", NAMES[i * i % 3]] for i in range(60))])
    option = ("--raw-cells",) if raw else ()
    run(
        "release", "solution.json", "data.csv", "--column", "x", "--by", "=user", "--output", "out.csv",
        "--receipt", "receipt.json", *option,
    )  # fmt: skip
    assert (begins("out.csv") & set("=+-@") != set()) == raw
    verified = ("verify", "problem.json", "solution.json", "out.csv")
    assert "PROVED" in run(*verified, "--receipt", "receipt.json")
    assert "PROVED" in run(*verified, "--column", "x", "--by", "=user", *option)
    run("bundle", "problem.json", "solution.json", "--output", "bundle.zip", "--receipt", "receipt.json")
    assert "PROVED" in run("verify", "bundle.zip", "out.csv")
    assert Receipt.load("receipt.json").raw_cells == raw


def test_a_codebook_is_safe_and_still_the_one_of_the_mechanism(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    problem = po.LocalInformationPrivacy(
        po.JointDistribution([[0.3, 0.1, 0.1], [0.1, 0.1, 0.3]], ["s", "t"], list(NAMES)), 0.3
    )
    write_problem(Path("problem.json"), problem)
    po.solve(problem, "column-generation", time_limit=5.0).save("solution.json")
    Path("data.csv").write_text("x\n=1+1\n@b\n-1\n")
    words = (
        "release",
        "solution.json",
        "data.csv",
        "--column",
        "x",
        "--output",
        "out.csv",
        "--problem",
        "problem.json",
    )
    run(*words, "--codebook", "book.csv")
    assert begins("book.csv") & set("=+-@") == set()
    run("bundle", "problem.json", "solution.json", "--output", "bundle.zip", "--codebook", "book.csv")
    assert "PROVED" in run("verify", "bundle.zip")

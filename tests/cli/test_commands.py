"""The command line: what each command prints and writes, and with which exit code."""

from __future__ import annotations

import csv
import json
import os
import pty
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import privopt as po
from privopt.cli import app, show

LETTERS = ["dry", "wet", "dry", "dry", "wet"]
RULES = "│┃━─"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    chain = po.MarkovChain([[0.75, 0.25], [0.5, 0.5]], states=["dry", "wet"])
    (tmp_path / "problem.json").write_text(json.dumps(po.Redaction(chain, 5, 2, 1.0).to_dict()))
    rows = [f"{user},{letter},{user}@example.org\n" for user in "uv" for letter in LETTERS]
    (tmp_path / "data.csv").write_text("user,weather,mail\n" + "".join(rows))
    (tmp_path / "one.csv").write_text("weather\n" + "".join(f"{letter}\n" for letter in LETTERS))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*args: str, code: int = 0) -> Result:
    result = CliRunner().invoke(app, args, prog_name="privopt", catch_exceptions=False)
    assert result.exit_code == code, result.output
    assert result.stderr == ""
    return result


def document(*args: str, code: int = 0) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(run(*args, "--json", code=code).stdout)
    return fields


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def command(*args: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "privopt", *args],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **(environment or {})},
    )


@pytest.mark.long
def test_solve_release_verify_in_processes_of_their_own(folder: Path) -> None:
    solved = command("solve", "problem.json", "--output", "solution.json")
    assert (solved.returncode, solved.stderr) == (0, "")
    assert "PROVED (privacy): leakage <= budget" in solved.stdout
    released = command("release", "solution.json", "one.csv", "--column", "weather", "--output", "out.csv")
    assert (released.returncode, released.stderr) == (0, "")
    assert "drawn from the operating system generator" in released.stdout
    assert rows_of(folder / "out.csv")[2] == {"weather": ""}
    proved = command("verify", "problem.json", "solution.json")
    assert (proved.returncode, proved.stderr) == (0, "")
    assert proved.stdout.startswith("PROVED (privacy): ")
    bad = command("solve", "nowhere.json")
    assert (bad.returncode, bad.stdout, bad.stderr.count("\n")) == (2, "", 1)


def test_solve_prints_plain_aligned_lines(folder: Path) -> None:
    text = run("solve", "problem.json").stdout
    assert text.isascii()
    lines = dict(line.split(None, 1) for line in text.splitlines())
    assert lines["utility"] == f"{po.solve(po.load_problem('problem.json')).utility:.6g}"
    assert lines["leakage"].endswith("nats (budget 1)")
    assert lines["objective"].endswith(" %, higher is better)")
    assert "written" not in lines


def test_solve_json_is_what_is_saved(folder: Path) -> None:
    printed = document("solve", "problem.json", "--solver", "windows", "--output", "solution.json")
    assert printed == json.loads((folder / "solution.json").read_text())
    assert po.Solution[Any].load("solution.json").solver == "windows"


def test_solve_that_fails_exits_1_and_says_why(folder: Path) -> None:
    result = run("solve", "problem.json", "--solver", "oracle", "--output", "solution.json", code=1)
    assert "status   REFUSED" in result.stdout
    assert "reason   it enumerates" in result.stdout
    assert not po.Solution[Any].load("solution.json").status.ok
    assert document("solve", "problem.json", "--solver", "oracle", code=1)["status"] == "REFUSED"


def test_solve_without_a_proof_releases_as_a_simulation_only(folder: Path) -> None:
    assert "NOT CERTIFIED" in run("solve", "problem.json", "--no-certify", "--output", "solution.json").stdout
    args = ["release", "solution.json", "one.csv", "--column", "weather", "--output", "out.csv"]
    refused = CliRunner().invoke(app, args)
    assert (refused.exit_code, "no certificate that holds" in refused.stderr) == (2, True)
    assert not (folder / "out.csv").exists()
    text = run(*args, "--simulate", "1").stdout
    assert "SIMULATED, protects nobody" in text
    assert "not certified" in text


def test_infinity_is_written_as_a_word(folder: Path) -> None:
    problem = po.load_problem("problem.json").with_budget(float("inf"))
    Path("free.json").write_text(json.dumps(problem.to_dict()))
    assert document("solve", "free.json", "--solver", "windows")["certificate"]["budget"] == "inf"
    assert document("frontier", "problem.json", "--budgets", "1,inf")["budgets"] == [1.0, "inf"]


def test_compare(folder: Path) -> None:
    lines = run("compare", "problem.json", "--output", "table.csv").stdout.splitlines()
    assert lines[0].split()[:3] == ["solver", "status", "utility"]
    cells = [
        line[lines[0].index("status") :].split()[0] for line in lines[1:] if not line.startswith("GAP: ")
    ]
    assert set(cells) <= set(po.Status.__members__)
    assert lines[-1].startswith("GAP: ") == ("GAP" in cells)
    written = {row["solver"]: row for row in rows_of(folder / "table.csv")}
    assert written["oracle"]["status"] == "REFUSED"
    assert written["oracle"]["utility"] == ""
    comparison = document("compare", "problem.json", "--solver", "windows", "--solver", "oracle")
    assert [s["solver"] for s in comparison["solutions"]] == ["windows", "oracle"]
    assert comparison["problem"] == po.load_problem("problem.json").fingerprint
    run("compare", "problem.json", "--solver", "oracle", code=1)


def test_a_gap_is_explained_under_a_table_that_names_one(capsys: pytest.CaptureFixture[str]) -> None:
    show.legend([po.Status.OPTIMAL, po.Status.FEASIBLE])
    assert capsys.readouterr().out == ""
    show.legend([po.Status.OPTIMAL, po.Status.GAP])
    assert "GAP: Solved. A better answer may exist, at most by the gap" in capsys.readouterr().out


def test_frontier(folder: Path) -> None:
    args = ["frontier", "problem.json", "--solver", "windows"]
    lines = run(*args, "--budgets", "1,0.5,0", "--output", "table.csv").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["budget", "0", "0.5", "1"]
    assert [float(row["budget"]) for row in rows_of(folder / "table.csv")] == [0, 0.5, 1]
    frontier = document(*args, "--budgets", "0:1:5")
    assert frontier["budgets"] == [0, 0.25, 0.5, 0.75, 1]
    utilities = [s["utility"] for s in frontier["solutions"]]
    assert utilities == sorted(utilities)
    run("frontier", "problem.json", "--budgets", "1", "--solver", "oracle", code=1)


def test_fit(folder: Path) -> None:
    run("fit", "data.csv", "--column", "weather", "--by", "user", "--output", "model.json")
    chain = po.load_model("model.json")
    assert chain == po.MarkovChain.fit([LETTERS, LETTERS])
    together = po.model_from_dict(document("fit", "data.csv", "--column", "weather"))
    assert together == po.MarkovChain.fit([LETTERS + LETTERS])
    text = run("fit", "data.csv", "--column", "weather").stdout
    assert "from \\ to  dry" in text


def test_fit_options(folder: Path) -> None:
    args = ["fit", "one.csv", "--column", "weather", "--states", "wet,dry,hot", "--smoothing", "0.5"]
    assert po.model_from_dict(document(*args)) == po.MarkovChain.fit([LETTERS], ["wet", "dry", "hot"], 1, 0.5)
    words = po.model_from_dict(document(*args, "--order", "2"))
    assert words == po.MarkovChain.fit([LETTERS], ["wet", "dry", "hot"], 2, 0.5)


@pytest.mark.parametrize("ending", ["", "\n", "\r\n\r\n"])
def test_fit_splits_at_empty_cells(folder: Path, ending: str) -> None:
    expected = po.MarkovChain.fit([["a", "b", "a", "a"], ["b", "a"]])
    (folder / "one.csv").write_text("\ufeffx\na\nb\na\na\n\nb\na" + ending, encoding="utf-8")
    assert po.model_from_dict(document("fit", "one.csv", "--column", "x")) == expected
    (folder / "two.csv").write_text('i,x\n1,a\n2,b\n3,a\n4,"a"\n5,\n6,b\n7,a' + ending)
    assert po.model_from_dict(document("fit", "two.csv", "--column", "x")) == expected
    assert "empty cells  1" in run("fit", "two.csv", "--column", "x").stdout


def test_cells_are_text_and_nothing_is_guessed(folder: Path) -> None:
    (folder / "one.csv").write_text('x\nNA\n1\n"01"\n1.0\nNA\n"new\nline"\nNA\n')
    chain = po.model_from_dict(document("fit", "one.csv", "--column", "x", "--smoothing", "1"))
    assert isinstance(chain, po.MarkovChain)
    assert set(chain.states) == {"NA", "1", "01", "1.0", "new\nline"}


def test_release_keeps_no_other_column(folder: Path) -> None:
    run("solve", "problem.json", "--output", "solution.json")
    args = [
        "release",
        "solution.json",
        "data.csv",
        "--column",
        "weather",
        "--by",
        "user",
        "--output",
        "out.csv",
    ]
    assert ["copied", "'user'"] in [line.split() for line in run(*args).stdout.splitlines()]
    rows = rows_of(folder / "out.csv")
    assert list(rows[0]) == ["user", "weather"]
    assert [row["user"] for row in rows] == list("uuuuuvvvvv")
    assert {rows[i]["weather"] for i in (2, 7)} == {""}
    assert all(row["weather"] in ("", LETTERS[i % 5]) for i, row in enumerate(rows))
    run(*args, "--keep", "mail", "--accept-leakage", "inf", "--mark", "*")
    rows = rows_of(folder / "out.csv")
    assert list(rows[0]) == ["user", "mail", "weather"]
    assert rows[7] == {"mail": "v@example.org", "user": "v", "weather": "*"}


def test_release_follows_users_through_the_file(folder: Path) -> None:
    weights = [[0, 2**52], [2**52, 0]]
    mechanism = po.RedactionMechanism([[w / 2**52 for w in row] for row in weights], [1, 2])
    (folder / "mechanism.json").write_text(json.dumps(mechanism.to_dict()))
    (folder / "mixed.csv").write_text("x,user\n1,u\n1,v\n2,w\n1,u\n2,v\n2,w\n")
    text = run(
        "release", "mechanism.json", "mixed.csv", "--column", "x", "--by", "user", "--output", "o.csv"
    ).stdout
    assert [row["x"] for row in rows_of(folder / "o.csv")] == ["1", "1", "", "", "2", "2"]
    assert "redacted     2" in text
    assert "carries no certificate" in text


def test_a_simulation_can_be_repeated(folder: Path) -> None:
    mechanism = po.RedactionMechanism([[0.5, 0.5]] * 5, ["dry", "wet"])
    (folder / "mechanism.json").write_text(json.dumps(mechanism.to_dict()))
    texts = []
    for seed in (1, 1, 2, 3, 4):
        args = [
            "release",
            "mechanism.json",
            "data.csv",
            "--column",
            "weather",
            "--by",
            "user",
            "--output",
            "o.csv",
        ]
        assert "SIMULATED, protects nobody" in run(*args, "--simulate", str(seed)).stdout
        texts.append((folder / "o.csv").read_text())
    assert texts[0] == texts[1]
    assert len(set(texts)) > 1


def test_labels_survive_the_file(folder: Path) -> None:
    states = ['a"b', "c,d", "e\rf", "g\nh", " i "]
    mechanism = po.RedactionMechanism([[0.0] * 5] * 5, states)
    (folder / "mechanism.json").write_text(json.dumps(mechanism.to_dict()))
    with (folder / "in.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([["x"], *([state] for state in states)])
    run("release", "mechanism.json", "in.csv", "--column", "x", "--output", "out.csv")
    assert [row["x"] for row in rows_of(folder / "out.csv")] == states


@pytest.mark.long
def test_a_terminal_that_cannot_show_a_label(folder: Path) -> None:
    (folder / "one.csv").write_text("x\né\n雨\né\n", encoding="utf-8")
    done = command("fit", "one.csv", "--column", "x", environment={"PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\u96e8" in done.stdout


def test_verify(folder: Path) -> None:
    run("solve", "problem.json", "--output", "solution.json")
    assert run("verify", "problem.json", "solution.json").stdout.startswith("PROVED (privacy): leakage <= ")
    certificate = document("verify", "problem.json", "solution.json")
    assert po.Certificate.from_dict(certificate) == po.Solution[Any].load("solution.json").certificate


@pytest.mark.long
def test_verify_imports_no_solver(folder: Path) -> None:
    run("solve", "problem.json", "--output", "solution.json")
    script = """
        import sys
        {action}
        modules = [name for name in sys.modules if name.startswith(("privopt.solvers", "privopt_plugin"))]
        print(modules, [name for name in ("cvxpy", "scipy.optimize", "pandas", "rich") if name in sys.modules])
        sys.exit(code)
    """
    by_hand = 'import privopt as po; s = po.Solution.load("solution.json"); '
    by_hand += 'code = 0 if po.verify(po.load_problem("problem.json"), s).ok else 1'
    by_command = "from privopt.cli import app\n"
    by_command += (
        'try: app(["verify", "problem.json", "solution.json"])\nexcept SystemExit as end: code = end.code'
    )
    for action in (by_hand, by_command):
        text = textwrap.dedent(script).format(action=action)
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.splitlines()[-1] == "[] []"


def test_importing_the_package_stays_light() -> None:
    text = "import sys, privopt; print([n for n in ('pandas', 'rich', 'typer', 'cvxpy', 'jsonschema') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_solvers(folder: Path) -> None:
    lines = run("solvers").stdout.splitlines()
    assert lines[0].split() == ["problem", "solver", "what", "it", "does"]
    assert any(line.split()[:2] == ["redaction", "windows"] for line in lines)
    listed = document("solvers")["solvers"]
    assert {"problem", "name", "summary"} == set(listed[0])
    assert "it enumerates" in run("solvers", "problem.json").stdout
    candidates = {c["name"]: c for c in document("solvers", "problem.json")["candidates"]}
    assert candidates["windows"]["guarantee"] == "FEASIBLE"
    assert candidates["windows"]["seconds"] > 0
    assert candidates["oracle"]["refusal"].startswith("it enumerates")


def test_version_and_help() -> None:
    assert run("--version").stdout == f"privopt {po.__version__}\n"
    for name in ("solve", "compare", "frontier", "fit", "release", "verify", "solvers"):
        text = run(name, "--help").stdout
        assert text.startswith(f"Usage: privopt {name}")
        assert not set(text) & set(RULES)


def test_help_lists_every_command() -> None:
    text = run().stdout
    assert text == run("--help").stdout
    for name in ("solve", "compare", "frontier", "fit", "release", "verify", "solvers", "bench"):
        assert f"  {name} " in text
    assert run("bench", "--help").stdout.startswith("Usage: privopt bench")


def terminal(*args: str, interrupt: bytes | None = None, plugins: Path | None = None) -> tuple[int, str]:
    """Exit code and output of a command that runs on a terminal, perhaps interrupted when it has said something."""
    reader, writer = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120", "PRIVOPT_SOLVERS": str(plugins or "")}
    process = subprocess.Popen(
        [sys.executable, "-m", "privopt", *args],
        stdin=writer,
        stdout=writer,
        stderr=writer,
        env=environment,
        start_new_session=True,
    )
    os.close(writer)
    output = bytearray()
    try:
        while chunk := os.read(reader, 65536):
            output += chunk
            if interrupt is not None and interrupt in output:
                os.killpg(process.pid, signal.SIGINT)
                interrupt = None
    except OSError:
        pass  # how a terminal says that nobody writes any more
    os.close(reader)
    return process.wait(), output.decode()


def test_a_terminal_gets_tables(folder: Path) -> None:
    code, text = terminal("solvers", "problem.json")
    assert code == 0
    assert set(text) & set(RULES)
    assert "windows" in text


SLEEPER = """
import time
from dataclasses import dataclass
from typing import ClassVar
import privopt as po

@po.register
@dataclass(frozen=True)
class Sleeper(po.Solver[po.Redaction]):
    solves: ClassVar = po.Redaction
    name: ClassVar[str] = "sleeper"

    def guarantee(self, problem):
        return po.Guarantee.FEASIBLE

    def cost(self, problem):
        return 1.0

    def run(self, problem, budget):
        time.sleep(60)
"""


@pytest.fixture
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("plugins")
    (place / "sleeper.py").write_text(SLEEPER)
    return place


def test_what_takes_long_shows_a_bar_and_is_interrupted_quietly(folder: Path, plugins: Path) -> None:
    args = ["solve", "problem.json", "--solver", "sleeper", "--time-limit", "50", "--output", "out.json"]
    code, text = terminal(*args, interrupt=b"solving", plugins=plugins)
    assert code == 130
    assert "solving" in text
    assert "Traceback" not in text
    assert "KeyboardInterrupt" not in text
    assert sorted(path.name for path in folder.iterdir()) == ["data.csv", "one.csv", "problem.json"]


@pytest.mark.long
def test_out_of_time_is_a_status(folder: Path, plugins: Path) -> None:
    done = command(
        "solve",
        "problem.json",
        "--solver",
        "sleeper",
        "--time-limit",
        "0.2",
        environment={"PRIVOPT_SOLVERS": str(plugins)},
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert "TIME_OUT" in done.stdout


@pytest.mark.long
def test_a_reader_that_leaves_is_no_error(folder: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "privopt", "compare", "problem.json", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    process.wait()

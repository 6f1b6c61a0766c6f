"""A folder of one's own, from the template to figures, by the commands that its README prints; nothing in the package is touched."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

import privopt as po
from privopt.benchmarks.runner.folder import read_run
from privopt.benchmarks.runner.machine import own_paths
from privopt.benchmarks.runner.rows import AUTO
from privopt.benchmarks.runner.spread import spreads
from privopt.benchmarks.runner.traces import read_series
from privopt.benchmarks.template.new import PARTS, write_template
from privopt.cli import app
from privopt.core.registry import solvers_of

ROOT = Path(__file__).resolve().parents[2]


def shell(place: Path, commands: str) -> subprocess.CompletedProcess[str]:
    """What a terminal in a folder shows after some commands."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
    }
    return subprocess.run(
        ["bash", "-ec", commands], capture_output=True, text=True, cwd=place, env=environment, check=False
    )


def test_the_template_imports_public_names_only(tmp_path: Path) -> None:
    for path in write_template(tmp_path / "mine"):
        for line in path.read_text(encoding="utf-8").splitlines():
            if re.match(r"(from|import) privopt", line):
                assert re.match(
                    r"import privopt as po$|from privopt\.benchmarks\.(registry|data\.survey) import ", line
                )


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    result = CliRunner().invoke(app, ["bench", "new", str(tmp_path / "mine"), "--json"])
    assert result.exit_code == 0
    assert len(json.loads(result.output)["files"]) == len(PARTS)
    before = sorted(tmp_path.rglob("*"))
    result = CliRunner().invoke(app, ["bench", "new", str(tmp_path / "mine")])
    assert result.exit_code == 2
    assert "is not empty; name a new folder" in " ".join(result.output.split())
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.long
def test_a_new_user_follows_the_readme(tmp_path: Path) -> None:
    assert shell(tmp_path, "privopt bench new mine").returncode == 0
    readme = (tmp_path / "mine" / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^    ((?:export|privopt) .*)$", readme, flags=re.MULTILINE)
    assert [command.split()[:3] for command in commands[1:4]] == [
        ["privopt", "check-solver", "mine/solvers/my_solver.py"],
        ["privopt", "bench", "run"],
        ["privopt", "bench", "run"],
    ]
    first = shell(tmp_path, "\n".join(commands[:3]))
    assert first.returncode == 0, first.stdout + first.stderr
    assert "my-solver, for LocalInformationPrivacy: all 9 promises are kept" in first.stdout
    folder = tmp_path / "privopt-runs" / "mysuite"
    rows = read_run(folder)[1]
    assert {row.solver for row in rows} == {AUTO, "my-solver", *solvers_of(po.LocalInformationPrivacy)}
    assert len(rows) == 3 * (2 + len(solvers_of(po.LocalInformationPrivacy)))
    assert all(row.verified for row in rows if row.solver == "my-solver")
    assert any(one.told for one in read_series(folder, rows) if one.row.solver == "my-solver")
    assert "my-solver" in (folder / "report.html").read_text(encoding="utf-8")
    assert (
        read_run(folder)[0]
        .environment["command"]
        .startswith(f"PRIVOPT_PATH={tmp_path / 'mine'} privopt bench run")
    )

    second = shell(tmp_path, "\n".join((commands[0], *commands[3:])))
    assert second.returncode == 0, second.stdout + second.stderr
    repeated = [row for row in read_run(folder)[1] if row.solver == "my-solver"]
    assert {row.seed for row in repeated} == {0, 1, 2, 3, 4}
    assert {spread.count for spread in spreads(repeated, lambda row: row.objective).values()} == {5}
    assert {".md", ".tex", ".csv", ".svg"} <= {path.suffix for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"suites/one.py": "x = 1\n1 / 0\n"}, "one.py, line 2, cannot be imported: ZeroDivisionError"),
        ({"suites/one.py": "x = (\n"}, "one.py, line 1, cannot be imported: SyntaxError"),
        (
            {
                "suites/one.py": "from privopt.benchmarks.registry import *\n"
                "register_suite(Suite('quick', '', tuple, (1.0,), 1.0))\n"
            },
            "a suite 'quick' is registered twice, in .*standard.py, line .*, and in .*one.py, line 2; give",
        ),
    ],
)
@pytest.mark.long
def test_what_is_wrong_with_a_file_is_one_sentence(tmp_path: Path, files: dict[str, str], said: str) -> None:
    for name, text in files.items():
        (tmp_path / "mine" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "mine" / name).write_text(text, encoding="utf-8")
    done = shell(tmp_path, "PRIVOPT_PATH=$PWD/mine privopt bench list")
    assert done.returncode == 2
    assert re.search(said, done.stderr), done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.long
def test_two_folders_work_together_and_may_not_clash(tmp_path: Path) -> None:
    for folder, suite in (("one", "first"), ("two", "second")):
        path = tmp_path / folder / "suites" / f"{suite}.py"
        path.parent.mkdir(parents=True)
        path.write_text(
            "from privopt.benchmarks.registry import Suite, register_suite\n"
            f"register_suite(Suite('{suite}', 'of {folder}', tuple, (1.0,), 1.0))\n",
            encoding="utf-8",
        )
    both = "PRIVOPT_PATH=$PWD/one:$PWD/two privopt bench list"
    listed = shell(tmp_path, both)
    assert re.search(r"first +0 +of one", listed.stdout)
    assert re.search(r"second +0 +of two", listed.stdout)
    for folder in ("one", "two"):
        (tmp_path / folder / "suites" / "_shared.py").write_text("", encoding="utf-8")
    clash = shell(tmp_path, both)
    assert clash.returncode == 2
    assert "two/suites/_shared.py has the name of" in clash.stderr
    assert "one/suites/_shared.py; rename one of them" in clash.stderr


def test_what_runs_a_suite_of_ones_own_again_names_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PRIVOPT_SOLVERS", raising=False)
    monkeypatch.setenv("PRIVOPT_PATH", str(tmp_path / "my folder"))
    assert own_paths() == ""  # nothing of it is loaded
    planted = ModuleType("privopt.benchmarks.suites.planted")
    planted.__file__ = str(tmp_path / "my folder" / "suites" / "planted.py")
    monkeypatch.setitem(sys.modules, planted.__name__, planted)
    assert own_paths() == f"PRIVOPT_PATH='{tmp_path / 'my folder'}' "

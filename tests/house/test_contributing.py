"""CONTRIBUTING.md, followed literally: its files are written, its commands run, in a copy of the tree."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from privopt.measures import __all__ as MEASURES

pytestmark = pytest.mark.long  # it works through a copy of the tree, with processes of its own

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCK = re.compile(r'^( *)```(\w+)(?: title="(.*?)")?\n(.*?)^\1```$', re.MULTILINE | re.DOTALL)
WHOLE = re.compile(r'^( *)```\w+ title="(mine/.*?)"\n(.*?)^\1```$', re.MULTILINE | re.DOTALL)


def blocks(heading: str) -> list[tuple[str, str, str]]:
    """The kind, title and text of each code block under a heading."""
    section = re.split(r"^## ", GUIDE.partition(f"\n## {heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    return [(m[2], m[3] or "", dedent(m[4])) for m in BLOCK.finditer(section)]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy of the tree with everything that the guide puts into ``mine``."""
    copy = tmp_path_factory.mktemp("checkout")
    for folder in (
        "privopt",
        "problems",
        "solvers",
        "benchmarks",
        "tests/house",
        "tests/instances",
        "tests/oracles",
    ):
        shutil.copytree(ROOT / folder, copy / folder, symlinks=True)
    shutil.copy(ROOT / "pyproject.toml", copy)
    shutil.copy(ROOT / "tests" / "slow.txt", copy / "tests")
    for _, title, text in WHOLE.findall(GUIDE):
        path = copy / title
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
    yield copy
    shutil.rmtree(copy)


def follow(checkout: Path, heading: str) -> str:
    """Do what a section says and return what its commands print."""
    printed = ""
    for kind, title, text in blocks(heading):
        if title.startswith("append to "):
            with (checkout / title.removeprefix("append to ")).open("a", encoding="utf-8") as stream:
                stream.write(text)
        elif title:
            (checkout / title).write_text(text, encoding="utf-8")
        elif kind == "sh":
            printed += run(checkout, text)
    return printed


def run(checkout: Path, commands: str) -> str:
    setting = re.findall(r"^export .*$", GUIDE, flags=re.MULTILINE)
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(checkout),
    }
    script = "\n".join(["set -e", *setting, commands])
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, env=environment, cwd=checkout, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_problem(checkout: Path) -> None:
    printed = follow(checkout, "Add a problem")
    assert re.search(r"\d+ passed", printed)
    assert "PROVED" in printed


def test_a_solver(checkout: Path) -> None:
    run(checkout, blocks("Add a problem")[-1][2].partition("\n")[2])
    printed = follow(checkout, "Add a solver")
    assert {"greedy", "oracle"} <= set(re.findall(r"[\w-]+", printed))


def test_a_data_set_and_a_suite(checkout: Path) -> None:
    follow(checkout, "Add a data set")
    printed = follow(checkout, "Add a suite")
    assert "A coin, shown truly as often as allowed" in printed
    assert "greedy" in (checkout / "report.html").read_text(encoding="utf-8")


def test_a_measure(checkout: Path) -> None:
    assert "bayes_risk" not in MEASURES
    assert "1 passed" in follow(checkout, "Add a measure")
    assert (
        run(checkout, "python -c 'from privopt.measures import bayes_risk; print(bayes_risk([[1.0]]))'")
        == "0.0\n"
    )


def test_a_stored_file_of_ones_own_problem_is_verified_without_solvers(checkout: Path) -> None:
    solve = blocks("Add a problem")[-1][2].partition("\n")[2]
    run(checkout, solve)
    shutil.rmtree(checkout / "mine" / "solvers")
    assert "PROVED" in run(checkout, "privopt verify problem.json solution.json")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("solvers/idle.py", "", "idle.py registers no solver"),
        ("solvers/broken.py", "1 / 0", r"broken\.py, line 1, cannot be imported: ZeroDivisionError"),
        ("solvers/common.py", "", r"common\.py has the name of .*common; rename one"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, name: str, text: str, said: str) -> None:
    path = tmp_path / name
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "privopt", "solvers"],
        capture_output=True, text=True, cwd=ROOT, check=False, env={**os.environ, "PRIVOPT_PATH": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode != 0
    assert re.search(said, " ".join(done.stderr.split())), done.stderr


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "privopt", "solvers"],
        capture_output=True, text=True, cwd=ROOT, check=False, env={**os.environ, "PRIVOPT_PATH": str(tmp_path / "no")},
    )  # fmt: skip
    assert "is not a folder; set PRIVOPT_PATH" in " ".join(done.stderr.split())

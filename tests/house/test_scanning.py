"""A solver in a file of its own, in a folder named by the environment, is picked up everywhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import privopt as po
from privopt.core.registry import problem_types, register, solvers_of

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[2]

NEW = '''
"""Release nothing but the farthest record, if that is allowed."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import privopt as po


@po.register
@dataclass(frozen=True)
class Hermit(po.Solver[po.Redaction]):
    """Shows nothing at all."""

    solves: ClassVar = po.Redaction
    name: ClassVar[str] = "hermit"

    def guarantee(self, problem):
        return po.Guarantee.FEASIBLE

    def cost(self, problem):
        return 1e-3

    def run(self, problem, budget):
        return po.Proposal(problem.safe())
'''


@pytest.fixture
def plugins(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "hermit.py").write_text(NEW)
    return {**os.environ, "PRIVOPT_SOLVERS": str(tmp_path)}


def run(args: list[str], env: dict[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, *args], capture_output=True, text=True, env=env, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_listing_and_compare_see_a_new_file(plugins: dict[str, str]) -> None:
    code = (
        "import privopt as po; p = po.Redaction.examples()[3].problem;"
        "print([c.name for c in po.candidates(p)]); s = po.compare(p)['hermit']; print(s.status, s.certified, s.utility)"
    )
    out = run(["-c", code], plugins)
    assert "'hermit'" in out
    assert "FEASIBLE True 0.0" in out


def test_contract_tests_run_a_new_file(plugins: dict[str, str]) -> None:
    out = run(
        ["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/house/test_contract.py", "-k", "hermit"],
        plugins,
    )
    assert "1 passed" in out


def test_benchmarks_run_a_new_file(plugins: dict[str, str], tmp_path: Path) -> None:
    code = (
        "from privopt.benchmarks.runner.task import tasks_of;"
        "from privopt.benchmarks.runner.suite import find_suite;"
        "print(sorted({t.solver for t in tasks_of(find_suite('quick'))}))"
    )
    assert "'hermit'" in run(["-c", code], plugins)


def test_command_line_lists_a_new_file(plugins: dict[str, str]) -> None:
    assert "hermit" in run(["-m", "privopt", "solvers"], plugins)


def test_a_file_that_registers_nothing_is_named(tmp_path: Path) -> None:
    (tmp_path / "empty.py").write_text('"""Nothing here."""\n')
    with pytest.raises(po.errors.UnsuitableSolver, match=r"empty\.py registers no solver"):
        po.scan(tmp_path)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(po.errors.UnsuitableSolver, match="is not a folder"):
        po.scan(tmp_path / "nowhere")


def test_every_solver_file_registers_or_serves_another() -> None:
    registered = {cls.__module__ for kind in problem_types().values() for cls in solvers_of(kind).values()}
    texts = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "solvers").rglob("*.py"))}
    for path in texts:
        module = "privopt." + ".".join(path.relative_to(ROOT).with_suffix("").parts)
        if path.name != "__init__.py" and module not in registered:
            package, _, leaf = module.rpartition(".")
            used = re.compile(
                rf"from {re.escape(module)} import|from {re.escape(package)} import .*\b{leaf}\b"
            )
            assert any(used.search(text) for other, text in texts.items() if other != path), path


def test_a_name_is_taken_once() -> None:
    with pytest.raises(ValueError, match="registered twice"):

        @register
        class Again(po.Solver[po.Redaction]):
            solves = po.Redaction
            name = "windows"

            def guarantee(self, problem: po.Redaction) -> po.Guarantee:
                return po.Guarantee.FEASIBLE

            def cost(self, problem: po.Redaction) -> float:
                return 0.0

            def run(self, problem: po.Redaction, budget: po.Budget) -> po.Proposal:
                return po.Proposal()


def test_wrong_solvers_are_named_with_what_to_call() -> None:
    problem = po.Redaction.examples()[3].problem
    with pytest.raises(
        po.errors.UnsuitableSolver, match=r"no solver 'simplex'; it has .*windows.*candidates"
    ):
        po.solve(problem, "simplex")


def test_a_missing_extra_is_a_refusal() -> None:
    from dataclasses import dataclass
    from typing import ClassVar

    @dataclass(frozen=True)
    class Needy(po.Solver[po.Redaction]):
        solves: ClassVar = po.Redaction
        name: ClassVar[str] = "needy"
        requires: ClassVar[tuple[str, ...]] = ("a_package_that_is_not_there",)

        def guarantee(self, problem: po.Redaction) -> po.Guarantee:
            return po.Guarantee.FEASIBLE

        def cost(self, problem: po.Redaction) -> float:
            return 0.0

        def run(self, problem: po.Redaction, budget: po.Budget) -> po.Proposal:
            raise AssertionError

    solution = po.solve(po.Redaction.examples()[3].problem, Needy())
    assert solution.status is po.Status.REFUSED
    assert "a_package_that_is_not_there is not installed; pip install" in solution.reason

"""The contract of solvers finds each way of breaking it, and nothing else; the command says so in lines."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from typer.testing import CliRunner

import privopt as po
from privopt.cli import app
from privopt.core import registry
from privopt.core.contract import Check, Finding, check_deadline, check_solver, summary

CHAIN = po.MarkovChain([[0.75, 0.25], [0.5, 0.5]])
PROBLEM = po.Redaction(CHAIN, 4, 1, 1.0)


@dataclass(frozen=True)
class Good(po.Solver[po.Redaction]):
    """Shows nothing; the others break one promise each."""

    solves: ClassVar = po.Redaction
    name: ClassVar[str] = "good"
    guaranteed: ClassVar = po.Guarantee.FEASIBLE

    def cost(self, problem: po.Redaction) -> float:
        return 1e-3

    def run(self, problem: po.Redaction, budget: po.Budget) -> Any:
        return po.Proposal(problem.safe())


class RefusesEverything(Good):
    def refuse(self, problem: po.Redaction) -> str | None:
        return "this one is too large for me"


class RefusesInAWord(Good):
    def refuse(self, problem: po.Redaction) -> str | None:
        return None if problem.length == 2 else "no"


class RaisesInsteadOfRefusing(Good):
    def refuse(self, problem: po.Redaction) -> str | None:
        if problem.length > 2:
            raise ZeroDivisionError
        return None


class PredictsNonsense(Good):
    def cost(self, problem: po.Redaction) -> float:
        return -1.0


class ReturnsAMechanism(Good):
    def run(self, problem: po.Redaction, budget: po.Budget) -> Any:
        return problem.safe()


class WritesIntoTheProblem(Good):
    def run(self, problem: po.Redaction, budget: po.Budget) -> Any:
        object.__setattr__(problem, "epsilon", 99.0)
        return po.Proposal(problem.safe())


@dataclass(frozen=True)
class ShowsEverything(Good):
    repairable: ClassVar[bool] = False

    def run(self, problem: po.Redaction, budget: po.Budget) -> Any:
        shape = (problem.length, problem.chain.k)
        return po.Proposal(po.RedactionMechanism(np.zeros(shape), problem.chain.states))


class ClaimsABound(Good):
    def run(self, problem: po.Redaction, budget: po.Budget) -> Any:
        return po.Proposal(problem.safe(), 0.5, {"made": "up"})


class PromisesTheOptimum(Good):
    guaranteed: ClassVar = po.Guarantee.OPTIMAL


class DrawsWithoutTheSeed(Good):
    def run(self, problem: po.Redaction, budget: po.Budget) -> Any:
        matrix = np.ones((problem.length, problem.chain.k)) * (1 - 1e-6 * np.random.default_rng().random())
        return po.Proposal(po.RedactionMechanism(matrix, problem.chain.states))


class IsNoDataclass(po.Solver[po.Redaction]):
    solves: ClassVar = po.Redaction
    name: ClassVar[str] = "no-dataclass"
    guaranteed: ClassVar = po.Guarantee.FEASIBLE

    def cost(self, problem: po.Redaction) -> float:
        return 1e-3

    def run(self, problem: po.Redaction, budget: po.Budget) -> po.Proposal:
        return po.Proposal(problem.safe())


class Sleeps(Good):
    def run(self, problem: po.Redaction, budget: po.Budget) -> Any:
        time.sleep(60)


@dataclass(frozen=True)
class IsEnded(Sleeps):
    interruptible: ClassVar[bool] = False


def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples of two and of four records only."""
    chosen = tuple(po.Example(f"n{n}", po.Redaction(CHAIN, n, 1, 1.0)) for n in (2, 4))
    monkeypatch.setattr(po.Redaction, "examples", classmethod(lambda cls: chosen))


def broken(findings: tuple[Finding, ...]) -> set[Check]:
    return {finding.check for finding in findings if not finding.ok}


def test_a_good_solver_keeps_all_promises() -> None:
    findings = summary(check_solver(Good))
    assert [finding.check for finding in findings] == list(Check)
    assert broken(findings) == set()


@pytest.mark.parametrize(
    ("cls", "check", "said"),
    [
        (RefusesEverything, Check.TAKES, "refuses all 2.*too large for me"),
        (RefusesInAWord, Check.REFUSES, "'no' does not say why"),
        (RaisesInsteadOfRefusing, Check.REFUSES, "raised .*ZeroDivisionError.*return a sentence"),
        (PredictsNonsense, Check.DECLARED, "predicts -1.0"),
        (ReturnsAMechanism, Check.PROPOSES, r"not a Proposal; .*return po\.Proposal"),
        (WritesIntoTheProblem, Check.PROPOSES, "changed the problem"),
        (ShowsEverything, Check.PRIVATE, "NOT_PRIVATE: .*miss the budget"),
        (ClaimsABound, Check.BOUND, "claimed bound 0.5 is refused"),
        (PromisesTheOptimum, Check.BOUND, "guarantee is OPTIMAL, but it gives no bound"),
        (DrawsWithoutTheSeed, Check.SEED, r"default_rng\(budget\.seed\)"),
        (IsNoDataclass, Check.DECLARED, r"@dataclass\(frozen=True\)"),
    ],
)
def test_each_broken_promise_is_told(
    cls: type[po.Solver[Any]], check: Check, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    few(monkeypatch)
    findings = summary(check_solver(cls, time_limit=5.0))
    assert broken(findings) == {check}
    (fault,) = [finding.fault for finding in findings if not finding.ok]
    assert re.search(said, fault), fault


def test_who_says_to_poll_the_deadline_and_does_not_is_told() -> None:
    case = po.Example("four", PROBLEM)
    assert "gave nothing: return the best so far" in check_deadline(Sleeps(), case, 0.2).fault
    ended = check_deadline(IsEnded(), case, 0.2)
    assert ended.ok
    assert ended.note.startswith("was ended after")


FILE = '''
"""Shows nothing, and says that more is impossible."""

from dataclasses import dataclass
from typing import ClassVar

import privopt as po


@po.register
@dataclass(frozen=True)
class Shy(po.Solver[po.BeliefRelease]):
    solves: ClassVar = po.BeliefRelease
    name: ClassVar[str] = "shy"
    guaranteed: ClassVar = po.Guarantee.FEASIBLE

    def cost(self, problem):
        return 1e-3

    def run(self, problem, budget):
        return po.Proposal(problem.anchor(){more})
'''


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a solver file may be written, forgotten after the test."""
    registry.solvers_of(po.BeliefRelease)  # scanned once for all tests
    monkeypatch.setattr(registry, "_solvers", dict(registry._solvers))
    return tmp_path / "shy.py"


def test_the_command_lists_promises_and_exits_with_zero_or_one(file: Path) -> None:
    file.write_text(FILE.format(more=""), encoding="utf-8")
    result = CliRunner().invoke(app, ["check-solver", str(file)])
    assert result.exit_code == 0, result.output
    assert "shy, for BeliefRelease: all 9 promises are kept" in result.output
    assert result.output.count("  ok  ") == 9


def test_the_command_names_what_is_broken_and_what_to_do(file: Path, tmp_path: Path) -> None:
    file.write_text(FILE.format(more=", 0.0, {}"), encoding="utf-8")
    mine = tmp_path / "mine.json"
    mine.write_text(json.dumps(po.BeliefRelease([0.5, 0.5], 1.0).to_dict()), encoding="utf-8")
    result = CliRunner().invoke(app, ["check-solver", str(file), "--problem", str(mine), "--json"])
    assert result.exit_code == 1, result.output
    document = json.loads(result.output)
    (solver,) = document["solvers"]
    assert [check["check"] for check in solver["checks"] if not check["ok"]] == ["bound"]
    text = CliRunner().invoke(app, ["check-solver", str(file)]).output
    assert "1 of 9 promises are broken" in text
    assert "return the dual that the problem's prove_bound takes, or no bound" in text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "is not a file"),
        ("x = (", "shy.py, line 1, cannot be imported: SyntaxError"),
        ("import privopt\n1 / 0\n", "shy.py, line 2, cannot be imported: ZeroDivisionError"),
        ("import privopt\n", "registers no solver"),
        (FILE.replace('"shy"', '"closed-form"'), "is registered twice, in .* and in .*shy.py"),
    ],
)
def test_a_file_that_is_no_solver_is_misuse(file: Path, text: str | None, said: str) -> None:
    if text is not None:
        file.write_text(text.replace("{more}", ""), encoding="utf-8")
    result = CliRunner().invoke(app, ["check-solver", str(file)])
    assert result.exit_code == 2
    assert re.search(said, " ".join(result.output.split())), result.output

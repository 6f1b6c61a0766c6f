"""A file of a mechanism is complete: it is loaded and verified without any solver, and an unknown rule is refused."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from subprocess import run
from typing import Any

import pytest
from oracles.policy import GREEDY, Greedy

import privopt as po
from privopt.core.registry import solvers_of
from privopt.errors import FileRefused
from privopt.mechanisms import mechanism_from_dict
from privopt.mechanisms.policy.rules import Cost, Formula, cost_of, find_rule, register_rule, rule_names

FILES = Path(__file__).resolve().parents[1] / "files_of_0_1_0"
COIN = po.MarkovChain([[0.5, 0.5], [0.5, 0.5]])

VERIFY = """
import json, sys
import privopt as po
for problem, answer in json.load(sys.stdin):
    certificate = po.verify(po.load_problem(problem), po.Solution.load(answer))
    assert certificate.ok, (answer, certificate.reason)
    loaded = sorted(name for name in sys.modules if name.startswith("privopt.solvers"))
    assert not loaded, (answer, loaded)
"""


def one_of_each() -> dict[tuple[str, str, str], Path]:
    """The smallest stored answer of each kind of problem, mechanism and rule."""
    least: dict[tuple[str, str, str], Path] = {}
    for path in sorted(FILES.glob("answers/*/*.json"), key=lambda path: (path.stat().st_size, path)):
        if path.name not in ("problem.json", "joint.json", "state.json"):
            mechanism: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["mechanism"]
            kind = json.loads(path.with_name("problem.json").read_text(encoding="utf-8"))["type"]
            least.setdefault((kind, mechanism["type"], mechanism.get("rule", "")), path)
    return least


@pytest.mark.long
def test_a_stored_solution_is_verified_without_any_solver() -> None:
    answers = one_of_each()
    assert {kind for kind, _, _ in answers} >= {"redaction", "belief_release", "bayesian_privacy"}
    rules = {rule for _, _, rule in answers} - {""}
    assert rules <= set(rule_names())
    assert len(rules) == 16
    pairs = [(str(path.with_name("problem.json")), str(path)) for path in answers.values()]
    done = run(
        [sys.executable, "-c", VERIFY], input=json.dumps(pairs), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_every_rule_of_the_package_is_a_declared_formula_below_the_solvers() -> None:
    names = {rule for _, _, rule in one_of_each()} - {""}
    before = {name: find_rule(name) for name in names}
    assert solvers_of(po.SequenceInformationPrivacy)
    for name in names:
        assert find_rule(name) is before[name]
        assert isinstance(before[name], Formula)
        assert type(before[name]).__module__.startswith("privopt.mechanisms.policy.formulas")
    same = {name for name in names if cost_of(name).same_everywhere}
    assert same == {
        "closed-form", "constant", "published", "randomised-response", "randomised-response-double",
        "temporal-randomised-response",
    }  # fmt: skip
    assert {name for name in names if cost_of(name).quick} - same == {"randomised-response-calibrated"}


def test_a_rule_of_ones_own_works_in_memory_and_counts_as_an_optimisation() -> None:
    problem = po.SequenceInformationPrivacy(COIN, 1.0, horizon=2)
    policy = problem.answer(GREEDY.name)
    assert problem.certify(policy).ok
    assert mechanism_from_dict(json.loads(json.dumps(policy.to_dict()))) == policy
    assert policy.cost is Cost.PROGRAM


def test_a_rule_of_ones_own_may_declare_its_cost() -> None:
    class Quick(Greedy, Formula):
        cost = Cost.QUICK

    rule = register_rule(Quick("test-quick"))
    assert po.SequencePolicy(COIN, 1.0, rule=rule.name).cost.quick
    with pytest.raises(ValueError, match="registered twice"):
        register_rule(Greedy("closed-form"))


def test_a_file_that_names_an_unknown_rule_is_refused_with_what_to_do() -> None:
    fields = po.SequencePolicy(COIN, 1.0).to_dict() | {"rule": "mine"}
    with pytest.raises(FileRefused, match=r"no rule is called 'mine'.*Import the module.*prepared="):
        po.SequencePolicy.from_dict(fields)
    with pytest.raises(FileRefused, match="no rule is called 'mine'"):
        mechanism_from_dict(fields)


OWN = """
from dataclasses import dataclass
from typing import ClassVar
import numpy as np
import privopt as po
from privopt.mechanisms.policy.rules import register_rule

@dataclass(frozen=True)
class Mine:
    name: str = "mine"

    def propose(self, setting, beliefs):
        return np.repeat(np.eye(*setting.cost.shape)[None], len(beliefs), 0)

register_rule(Mine())

@po.register
@dataclass(frozen=True)
class Own(po.Solver[po.SequenceInformationPrivacy]):
    solves: ClassVar = po.SequenceInformationPrivacy
    name: ClassVar[str] = "own"

    def guarantee(self, problem):
        return po.Guarantee.FEASIBLE

    def cost(self, problem):
        return 0.01

    def refuse(self, problem):
        return None

    def run(self, problem, budget):
        return po.Proposal(problem.answer("mine"))
"""

SOLVE = """
import sys
import privopt as po
problem = po.SequenceInformationPrivacy(po.MarkovChain([[0.9, 0.1], [0.1, 0.9]]), 1.0, horizon=3)
solution = po.solve(problem, "own")
assert solution.certified, solution
solution.save(sys.argv[1])
"""

LOAD = """
import sys
import privopt as po
print(po.Solution.load(sys.argv[1]).mechanism.rule, any(name.startswith("privopt.solvers") for name in sys.modules))
"""


@pytest.mark.long
def test_a_rule_in_a_folder_of_ones_own_is_known_in_every_process(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN, encoding="utf-8")
    answer = str(tmp_path / "solution.json")
    beside = {**os.environ, "PRIVOPT_SOLVERS": str(tmp_path)}
    run([sys.executable, "-c", SOLVE, answer], env=beside, check=True)
    shown = run([sys.executable, "-c", LOAD, answer], env=beside, capture_output=True, text=True, check=True)
    assert shown.stdout.split() == ["mine", "False"]
    without = {name: value for name, value in os.environ.items() if name != "PRIVOPT_SOLVERS"}
    refused = run(
        [sys.executable, "-c", LOAD, answer], env=without, capture_output=True, text=True, check=False
    )
    assert "FileRefused" in refused.stderr
    assert "no rule is called 'mine'" in refused.stderr

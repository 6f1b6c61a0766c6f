"""Every registered solver on every example of its problem; a new file is picked up by scanning."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privopt as po
from privopt.core.contract import check_deadline, check_declaration, check_example, check_takes
from privopt.core.dispatch import fitness
from privopt.core.registry import problem_types, solvers_of

SLOW = re.findall(
    r"test_contract\.py::test_slow_contract\[(.+)\]",
    (Path(__file__).parents[1] / "slow.txt").read_text(encoding="utf-8"),
)
SOLVERS = {
    f"{kind.kind}-{name}": (kind, cls)
    for kind in problem_types().values()
    for name, cls in solvers_of(kind).items()
}
CASES = {
    f"{solver}-{example.name}": (cls, example)
    for solver, (kind, cls) in SOLVERS.items()
    for example in kind.examples()
}


@pytest.mark.parametrize("solver", SOLVERS)
def test_contract(solver: str) -> None:
    """On every example that is not listed as slow."""
    kind, cls = SOLVERS[solver]
    findings = list(check_declaration(cls))
    for example in kind.examples():
        if f"{solver}-{example.name}" not in SLOW:
            findings += check_example(cls(), example)
    assert len(findings) > 1
    assert [str(finding) for finding in findings if not finding.ok] == []


@pytest.mark.parametrize("case", SLOW)
def test_slow_contract(case: str) -> None:
    cls, example = CASES[case]
    assert [str(finding) for finding in check_example(cls(), example) if not finding.ok] == []


@pytest.mark.long
@pytest.mark.parametrize("kind", problem_types().values(), ids=lambda k: k.kind)
def test_every_problem_has_certified_answers_and_an_oracle(kind: type[po.Problem[Any]]) -> None:
    solvers = [cls() for cls in solvers_of(kind).values()]
    assert any(
        fitness(s, e.problem).guarantee is po.Guarantee.ORACLE for s in solvers for e in kind.examples()
    ), "no oracle"
    for example in kind.examples():
        solution = po.solve(example.problem)
        assert solution.certified, example.name
        if example.optimum is not None:
            assert solution.objective == pytest.approx(example.optimum, abs=1e-6)


@pytest.mark.parametrize("kind", problem_types().values(), ids=lambda k: k.kind)
def test_every_solver_takes_some_example(kind: type[po.Problem[Any]]) -> None:
    for cls in solvers_of(kind).values():
        if cls.solves is not kind:  # it serves a reformulation, and may want what that never has
            continue
        assert check_takes(cls(), kind.examples()).ok, cls.name


@pytest.mark.long
@pytest.mark.parametrize("kind", problem_types().values(), ids=lambda k: k.kind)
def test_every_solver_ends_at_its_deadline(kind: type[po.Problem[Any]]) -> None:
    for cls in solvers_of(kind).values():
        taken = [e for e in kind.examples() if fitness(cls(), e.problem).refusal is None]
        if taken:
            slowest = max(taken, key=lambda e: fitness(cls(), e.problem).seconds or 0.0)
            finding = check_deadline(cls(), slowest, 0.5)
            assert finding.ok, f"{cls.name}: {finding}"


@pytest.mark.parametrize("kind", problem_types().values(), ids=lambda k: k.kind)
def test_problems_go_through_dictionaries_and_pickles(kind: type[po.Problem[Any]]) -> None:
    for example in kind.examples():
        problem = example.problem
        again = po.problem_from_dict(problem.to_dict())
        assert again == problem
        assert again.fingerprint == problem.fingerprint
        assert pickle.loads(pickle.dumps(problem)) == problem
        assert problem.with_budget(problem.budget) == problem
        mechanism = problem.anchor()
        assert type(mechanism).from_dict(mechanism.to_dict()) == mechanism
        assert problem.certify(mechanism.quantised()).ok
        assert problem._repr_html_().startswith("<table>")


@pytest.mark.long
def test_a_larger_budget_never_costs_utility() -> None:
    problem = po.Redaction(po.MarkovChain([[0.99, 0.01], [0.8, 0.2]]), 10, 0, 1.0)
    for solver in (None, "relaxation", "windows"):
        frontier = po.frontier(problem, np.linspace(0, 3, 13), solver)
        utilities = [s.utility for s in frontier]
        assert utilities == sorted(utilities, key=lambda u: -1.0 if u is None else u)
        assert all(
            po.verify(problem.with_budget(b), s).ok for b, s in zip(frontier.budgets, frontier, strict=True)
        )

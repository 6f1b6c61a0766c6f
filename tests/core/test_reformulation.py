"""Problems that are other problems: served by the solvers of their target, judged in their own words."""

from __future__ import annotations

import gc
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Self

import pytest
from typer.testing import CliRunner

import privopt as po
from privopt.cli import app
from privopt.core.reformulation import kinds_of, seen_by
from privopt.core.registry import problem_types, solvers_of
from privopt.models.channel_data import Release

SMALL = po.JointDistribution.normalised([[5, 2, 1], [1, 3, 4]], ["well", "ill"], ["a", "b", "c"])
PROBLEM = po.PointwiseMaximalLeakage(SMALL, 0.2)
LIP = po.LocalInformationPrivacy


def test_every_solver_of_the_target_serves_it() -> None:
    assert kinds_of(po.PointwiseMaximalLeakage) == (po.PointwiseMaximalLeakage, LIP)
    assert kinds_of(po.Redaction) == (po.Redaction,)
    assert solvers_of(po.PointwiseMaximalLeakage) == solvers_of(LIP)
    mine, theirs = po.candidates(PROBLEM), po.candidates(PROBLEM.target)
    assert [(c.name, c.refusal, c.guarantee, c.seconds) for c in mine] == [
        (c.name, c.refusal, c.guarantee, c.seconds) for c in theirs
    ]
    chosen = po.select(PROBLEM)
    assert chosen is not None
    assert chosen == po.select(PROBLEM.target)
    assert seen_by(chosen, PROBLEM) is PROBLEM.target
    assert seen_by(chosen, PROBLEM.target) is PROBLEM.target


def test_solutions_are_those_of_the_target_and_stated_for_the_problem() -> None:
    for name in (None, "vertices-exact", "column-generation", "subset-merging"):
        mine, theirs = po.solve(PROBLEM, name), po.solve(PROBLEM.target, name)
        assert (mine.objective, mine.bound, mine.status) == (theirs.objective, theirs.bound, theirs.status)
        assert mine.problem == PROBLEM.fingerprint
        assert mine.certificate is not None
        assert mine.certificate.problem == PROBLEM.fingerprint
        assert po.verify(PROBLEM, mine).ok
        assert not po.verify(PROBLEM, mine).remarks
        assert not po.verify(PROBLEM.target, mine).ok
        assert not po.verify(PROBLEM, theirs).ok
        assert not po.verify(PROBLEM.with_budget(0.1), mine).ok


def test_a_solver_in_a_process_of_its_own_serves_it_too() -> None:
    problem = replace(PROBLEM, utility=[[0, 1, 1], [1, 0, 1], [1, 1, 0]])
    solution = po.solve(problem, "conic-clarabel")
    assert solution.certified
    assert solution.objective == pytest.approx(po.solve(problem).objective or 0.0, abs=1e-6)


def test_tampering_is_noticed() -> None:
    solution = po.solve(PROBLEM)
    assert solution.certificate is not None
    assert solution.bound is not None
    assert solution.utility is not None
    wrong = (
        replace(solution, utility=solution.utility + 1e-6, objective=solution.utility + 1e-6),
        replace(solution, bound=solution.bound - 1e-3),
        replace(solution, dual={"kind": "analytic"}),
        replace(solution, certificate=replace(solution.certificate, budget=0.1)),
        replace(solution, certificate=replace(solution.certificate, worst=("well", "nobody"))),
        replace(solution, answer=po.Channel([[1, 0, 0], [0, 1, 0], [0, 0, 1]], ["a", "b", "c"])),
    )
    for record in wrong:
        assert not po.verify(PROBLEM, record).ok


def test_a_frontier_rises_and_a_comparison_has_every_solver() -> None:
    frontier = po.frontier(PROBLEM, [0.0, 0.1, 0.3, 1.0])
    values = [s.objective or 0.0 for s in frontier]
    assert values == sorted(values)
    assert [s.certificate.budget for s in frontier if s.certificate is not None] == [0.0, 0.1, 0.3, 1.0]
    compared = po.compare(PROBLEM, ["vertices-systems", "watchdog-merge", "closed-form"])
    assert {s.solver: s.status.ok for s in compared} == {
        "vertices-systems": True,
        "watchdog-merge": True,
        "closed-form": False,
    }


def test_wrong_solvers_are_named_with_the_problem_itself() -> None:
    with pytest.raises(
        po.errors.UnsuitableSolver,
        match=r"PointwiseMaximalLeakage has no solver 'windows'; it has .*vertices",
    ):
        po.solve(PROBLEM, "windows")
    with pytest.raises(
        po.errors.UnsuitableSolver, match="windows solves Redaction, not PointwiseMaximalLeakage"
    ):
        po.solve(PROBLEM, solvers_of(po.Redaction)["windows"]())


def test_the_command_line_solves_lists_and_verifies(tmp_path: Path) -> None:
    def run(*arguments: str) -> str:
        outcome = CliRunner().invoke(app, list(arguments))
        assert outcome.exit_code == 0, outcome.output
        return outcome.output

    problem, solution = tmp_path / "problem.json", tmp_path / "solution.json"
    problem.write_text(json.dumps(PROBLEM.to_dict()))
    run("solve", str(problem), "--output", str(solution))
    assert json.loads(solution.read_text())["problem"] == PROBLEM.fingerprint
    assert "log-lift <= 0.2" in " ".join(run("verify", str(problem), str(solution)).split())
    listed = json.loads(run("solvers", str(problem), "--json"))
    assert [c["name"] for c in listed["candidates"]] == [c.name for c in po.candidates(PROBLEM)]
    every = json.loads(run("solvers", "--json"))["solvers"]
    assert {row["name"] for row in every if row["problem"] == PROBLEM.kind} == set(solvers_of(LIP))


# a reformulation of a reformulation, whose mechanisms read other words


def translated() -> po.Problem[Release]:
    """The same problem in capitals."""
    names = {"A": "a", "B": "b", "C": "c"}

    def renamed(mechanism: Any, by: Mapping[str, str]) -> po.Channel:
        rows = [[Fraction(w, row.total) for w in row.weights] for row in mechanism.exact()]
        return po.Channel(
            rows,
            [by[x] for x in mechanism.inputs],
            mechanism.outputs,
            simulation_only=mechanism.simulation_only,
        )

    @dataclass(frozen=True)
    class Capitals(po.Reformulation[Release]):
        kind: ClassVar[str] = "capitals"
        mechanism_type: ClassVar[type[po.Mechanism]] = po.Channel
        target_type: ClassVar[type[po.Problem[Any]]] = po.PointwiseMaximalLeakage

        inner: po.PointwiseMaximalLeakage = field(default=PROBLEM)

        @property
        def target(self) -> po.PointwiseMaximalLeakage:
            return self.inner

        @property
        def budget(self) -> float:
            return self.inner.budget

        def with_budget(self, budget: float) -> Self:
            return type(self)(self.inner.with_budget(budget))

        def posed(self, mechanism: Release) -> po.Channel:
            return renamed(mechanism, names)

        def restored(self, mechanism: Any) -> po.Channel:
            return renamed(mechanism, {small: capital for capital, small in names.items()})

        def check(self, mechanism: po.Mechanism) -> Release:
            if not isinstance(mechanism, po.Channel) or mechanism.inputs != tuple(names):
                raise po.errors.InvalidMechanism("it must be a channel that reads A, B and C")
            return mechanism

        def to_dict(self) -> dict[str, Any]:
            return {"type": self.kind, "inner": self.inner.to_dict()}

        @classmethod
        def from_dict(cls, fields: Mapping[str, Any]) -> Self:
            return cls(po.PointwiseMaximalLeakage.from_dict(fields["inner"]))

        @classmethod
        def examples(cls) -> tuple[po.Example[Release], ...]:
            return ()

    return Capitals()


def forgotten(test: Callable[[po.Problem[Release]], None]) -> Callable[[], None]:
    """The test of it; problems are listed as long as their class is alive, and this one is not to be listed elsewhere."""

    def run() -> None:
        test(translated())
        gc.collect()
        assert "capitals" not in problem_types()

    return run


@forgotten
def test_mechanisms_are_mapped_back_through_every_step(problem: po.Problem[Release]) -> None:
    assert [kind.__name__ for kind in kinds_of(type(problem))][1:] == [
        "PointwiseMaximalLeakage",
        "LocalInformationPrivacy",
    ]
    for name in (None, "subset-merging", "vertices-exact"):
        solution = po.solve(problem, name)
        assert solution.certified
        assert solution.mechanism.inputs == ("A", "B", "C")
        assert solution.objective == pytest.approx(po.solve(PROBLEM, name).objective or math.nan, rel=1e-12)
        assert solution.certificate is not None
        assert solution.certificate.mechanism == solution.mechanism.fingerprint
        assert po.verify(problem, solution).ok
        assert not po.verify(PROBLEM, solution).ok
    assert problem.certify(problem.anchor().quantised()).ok


@forgotten
def test_a_mechanism_that_cannot_be_mapped_back_is_a_failure(problem: po.Problem[Release]) -> None:
    @dataclass(frozen=True)
    class Strange(po.Solver[LIP]):
        solves: ClassVar = LIP
        name: ClassVar[str] = "strange"
        guaranteed: ClassVar[po.Guarantee | None] = po.Guarantee.FEASIBLE

        def cost(self, problem: LIP) -> float:
            return 0.0

        def run(self, problem: LIP, budget: po.Budget) -> po.Proposal:
            return po.Proposal(po.Channel([[1.0]], ["nobody"]))

    solution = po.solve(problem, Strange())
    assert solution.status is po.Status.FAILED
    assert "cannot be mapped back: KeyError" in solution.reason


def test_a_solver_of_its_own_comes_before_that_of_the_target() -> None:
    from privopt.core import registry as _registry

    before = dict(_registry._solvers)

    @dataclass(frozen=True)
    class Silent(po.Solver[po.PointwiseMaximalLeakage]):
        """Says nothing."""

        solves: ClassVar = po.PointwiseMaximalLeakage
        name: ClassVar[str] = "closed-form"
        guaranteed: ClassVar[po.Guarantee | None] = po.Guarantee.FEASIBLE

        def cost(self, problem: po.PointwiseMaximalLeakage) -> float:
            return 0.0

        def run(self, problem: po.PointwiseMaximalLeakage, budget: po.Budget) -> po.Proposal:
            return po.Proposal(problem.anchor())

    try:
        po.register(Silent)
        assert solvers_of(po.PointwiseMaximalLeakage)["closed-form"] is Silent
        assert solvers_of(LIP)["closed-form"] is not Silent
        assert po.solve(PROBLEM, "closed-form").utility == 0.0
    finally:
        _registry._solvers.clear()
        _registry._solvers.update(before)

"""The life of a problem: incumbents, guarantees, bounds, statuses, determinism."""

from __future__ import annotations

import inspect
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

import privopt as po
from privopt.core import registry as _registry
from privopt.core.dispatch import _Call, fitness

PROBLEM = po.Redaction(po.MarkovChain([[0.75, 0.25], [0.5, 0.5]]), 5, 2, 1.0)


@dataclass(frozen=True)
class Scripted(po.Solver[po.Redaction]):
    """Promises and costs what the test says."""

    solves: ClassVar = po.Redaction
    name: ClassVar[str] = "scripted"
    promise: po.Guarantee = po.Guarantee.OPTIMAL
    seconds: float = 0.0

    def guarantee(self, problem: po.Redaction) -> po.Guarantee:
        return self.promise

    def cost(self, problem: po.Redaction) -> float:
        return self.seconds

    def run(self, problem: po.Redaction, budget: po.Budget) -> po.Proposal:
        return po.Proposal(problem.safe(), bound=2.0)


@dataclass(frozen=True)
class Sure(Scripted):
    """Promises to close the gap soon and polls; others do so."""

    seconds: float = 1.0

    def polls(self, problem: po.Redaction) -> bool:
        return True


@dataclass(frozen=True)
class Dear(Scripted):
    seconds: float = 1e6


@dataclass(frozen=True)
class Published(Scripted):
    promise: po.Guarantee = po.Guarantee.BASELINE


def enter(monkeypatch: pytest.MonkeyPatch, cls: type[Scripted]) -> None:
    monkeypatch.setitem(_registry._solvers, (po.Redaction, "scripted"), cls)


def names(problem: po.Redaction) -> list[str]:
    return [c.name for c in po.candidates(problem)]


def test_best_guarantee_first_then_cost_then_name(monkeypatch: pytest.MonkeyPatch) -> None:
    enter(monkeypatch, Scripted)
    assert names(PROBLEM)[0] == "scripted"
    assert names(PROBLEM) == names(PROBLEM)


def test_what_does_not_fit_the_time_is_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    enter(monkeypatch, Dear)
    chosen = po.select(PROBLEM)
    assert chosen is not None
    assert chosen.name == "optimal"
    assert po.solve(PROBLEM).solver == "optimal"


def test_baselines_and_oracles_run_by_name_only(monkeypatch: pytest.MonkeyPatch) -> None:
    enter(monkeypatch, Published)
    solution = po.solve(PROBLEM)
    assert solution.solver != "scripted"
    assert any("scripted" in line and "by name" in line for line in solution.alternatives)
    assert po.solve(PROBLEM, "scripted").status is po.Status.FEASIBLE


def test_an_unchecked_bound_does_not_stop_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    enter(monkeypatch, Scripted)
    solution = po.solve(PROBLEM)
    assert solution.utility == pytest.approx(0.6510699824, abs=1e-9)
    assert solution.bound is not None
    assert solution.bound < 1


@dataclass(frozen=True)
class Loose(Scripted):
    """The optimum, with a bound that says nothing beside that of the solver that proves it."""

    promise: po.Guarantee = po.Guarantee.FEASIBLE

    def run(self, problem: po.Redaction, budget: po.Budget) -> po.Proposal:
        return po.Proposal(problem.safe(), bound=2.0, dual={"loose": True})


@pytest.mark.parametrize("known", [1.0, 3.0])
def test_a_bound_as_loose_as_a_proved_one_is_not_checked(
    monkeypatch: pytest.MonkeyPatch, known: float
) -> None:
    enter(monkeypatch, Loose)
    checked: list[object] = []
    monkeypatch.setattr(
        po.Redaction, "check_bound", lambda problem, bound, dual, seconds: checked.append(dual)
    )
    call = _Call(PROBLEM, time.monotonic(), 60.0, True, 0, lambda fraction, message: None)
    told = call.run(fitness(Loose(), PROBLEM), None, None, known=known)
    assert told.status is po.Status.FEASIBLE
    assert checked == ([] if known < 2.0 else [{"loose": True}])


def test_the_anchor_comes_last_where_judging_is_long_and_a_proof_is_near(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[po.Redaction] = []
    anchor = po.Redaction.anchor

    def counted(problem: po.Redaction) -> po.RedactionMechanism:
        asked.append(problem)
        return anchor(problem)

    monkeypatch.setattr(po.Redaction, "anchor", counted)
    monkeypatch.setattr(po.Redaction, "judging_seconds", property(lambda problem: 1.0))
    enter(monkeypatch, Sure)
    assert po.solve(PROBLEM, time_limit=20.0).status is po.Status.OPTIMAL
    first = len(asked)
    monkeypatch.setattr(po.Redaction, "judging_seconds", property(lambda problem: 0.0))
    po.solve(PROBLEM, time_limit=20.0)
    assert len(asked) - first == first + 1


def test_the_choice_and_the_refusals_are_recorded() -> None:
    text = "\n".join(po.solve(PROBLEM).alternatives)
    assert "oracle: no, it enumerates" in text
    assert "optimal" in text


def test_same_answer_twice() -> None:
    first, again = po.solve(PROBLEM), po.solve(PROBLEM)
    assert first.answer == again.answer
    assert (first.objective, first.bound) == (again.objective, again.bound)


@pytest.mark.parametrize("limit", [0, -1, float("nan")])
def test_time_limits_are_positive(limit: float) -> None:
    with pytest.raises(po.errors.InvalidProblem, match="time_limit must be > 0"):
        po.solve(PROBLEM, time_limit=limit)


def test_a_tiny_limit_still_gives_a_private_answer() -> None:
    begun = time.monotonic()
    problem = po.Redaction(po.MarkovChain([[0.999, 0.001], [0.004, 0.996]]), 3000, 1500, 1.0)
    solution = po.solve(problem, time_limit=0.2)
    assert time.monotonic() - begun < 15.0
    assert solution.certified


def test_every_file_of_a_solver_names_its_problem_by_which_it_is_found() -> None:
    """Files that do not name a problem are not imported to solve it."""
    _registry._scan_everything()
    files = {
        (kind.__name__, inspect.getfile(cls))
        for (kind, _), cls in _registry._solvers.items()
        if cls.__module__.startswith("privopt.solvers.")
    }
    assert len(files) > 50
    for kind, file in files:
        text = Path(file).read_text(encoding="utf-8")
        assert kind in text, file
        assert "register" in text, file


def test_solvers_found_for_one_problem_are_all_of_its_solvers() -> None:
    found = (
        "import privopt as po; from privopt.core.registry import solvers_of; print(*solvers_of(po.Redaction))"
    )
    fresh = subprocess.run([sys.executable, "-c", found], capture_output=True, text=True, check=True)
    _registry._scan_everything()
    every = sorted(name for kind, name in _registry._solvers if kind is po.Redaction)
    assert fresh.stdout.split() == every


@dataclass(frozen=True)
class Worse(Scripted):
    """Releases nothing, soon, but after the fastest solvers."""

    promise: po.Guarantee = po.Guarantee.FEASIBLE
    seconds: float = 0.01

    def run(self, problem: po.Redaction, budget: po.Budget) -> po.Proposal:
        return po.Proposal(problem.safe())


def test_only_what_may_be_the_answer_is_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    enter(monkeypatch, Worse)
    judged: list[object] = []
    certify = po.Redaction.certify

    def counting(problem: po.Redaction, mechanism: po.RedactionMechanism) -> po.Certificate:
        judged.append(mechanism)
        return certify(problem, mechanism)

    monkeypatch.setattr(po.Redaction, "certify", counting)
    solution = po.solve(PROBLEM, time_limit=60.0)
    nothing = PROBLEM.safe().quantised()
    assert solution.certified
    assert solution.mechanism in judged
    assert nothing not in judged


def test_the_anchor_is_certified_where_it_is_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_registry, "_solvers", {(po.Redaction, "scripted"): Worse})
    monkeypatch.setattr(_registry, "_scan_for", lambda kinds: None)
    monkeypatch.setattr("privopt.core.isolate.believed", lambda solver, problem: True)
    solution = po.solve(PROBLEM, time_limit=5.0)
    assert solution.solver in ("anchor", "scripted")
    assert solution.status is po.Status.FEASIBLE
    assert solution.certified
    assert solution.reason == ""


def test_not_a_problem() -> None:
    with pytest.raises(po.errors.InvalidProblem, match="expected a problem"):
        po.solve("redaction")  # type: ignore[arg-type]
    with pytest.raises(po.errors.UnsuitableSolver, match="list of names"):
        po.compare(PROBLEM, "windows")


def test_compare_runs_oracles_too() -> None:
    small = po.Redaction(po.MarkovChain([[0.75, 0.25], [0.5, 0.5]]), 4, 0, 0.5)
    comparison = po.compare(small)
    assert {s.solver for s in comparison} == set(names(small))
    assert comparison["oracle"].utility == pytest.approx(0.6269224714, abs=1e-8)
    assert comparison[0].objective == max(s.objective for s in comparison if s.objective is not None)


def test_progress_is_told() -> None:
    told: list[float] = []
    po.frontier(PROBLEM, [0.5, 1.0], "windows", progress=lambda fraction, message: told.append(fraction))
    assert told == [0.0, 0.5]

"""The portfolio of solvers: wrong predictions, broken promises and hanging solvers cost time, never an answer."""

from __future__ import annotations

import subprocess
import sys
import time
import types
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from instances.planted import WIDE, Feasible, Merging, Planted, Quick, Using, planted_only

import privopt as po
from privopt.core import registry as _registry
from privopt.core.compare import spent
from privopt.core.dispatch import solve_from
from privopt.core.isolate import START
from privopt.solvers.local_information_privacy.column_generation import ColumnGeneration


@dataclass(frozen=True)
class Hanging(Planted):
    """Never ends."""

    def run(self, problem: po.LocalInformationPrivacy, budget: po.Budget) -> po.Proposal:
        while True:
            time.sleep(1.0)


@dataclass(frozen=True)
class Breaking(Planted):
    """Promises the optimum and brings the constant mechanism."""

    interruptible: ClassVar[bool] = True

    def run(self, problem: po.LocalInformationPrivacy, budget: po.Budget) -> po.Proposal:
        return po.Proposal(problem.safe())


@pytest.mark.long
@pytest.mark.parametrize("planted", [Planted, Hanging, Breaking])
def test_a_wrong_promise_costs_time_and_no_answer(
    monkeypatch: pytest.MonkeyPatch, planted: type[Planted]
) -> None:
    alone = po.solve(WIDE, time_limit=20.0)
    monkeypatch.setitem(_registry._solvers, (po.LocalInformationPrivacy, "planted"), planted)
    begun = time.monotonic()
    solution = po.solve(WIDE, time_limit=20.0)
    assert time.monotonic() - begun < 40
    assert alone.status is solution.status is po.Status.OPTIMAL
    assert solution.objective == pytest.approx(alone.objective, rel=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("n", [20, 30])
def test_the_anchor_is_no_answer_where_a_solver_has_a_better_one(n: int) -> None:
    rows = np.random.default_rng(3).dirichlet(np.ones(n), n)
    problem = po.LocalInformationPrivacy(po.JointDistribution.normalised(rows), 0.5)
    solution = po.solve(problem, time_limit=2.0)
    by_name = po.solve(problem, "subset-merging", time_limit=2.0)
    assert solution.solver != "anchor"
    assert solution.objective is not None
    assert by_name.objective is not None
    assert solution.objective >= 0.9 * by_name.objective > 0


@dataclass(frozen=True)
class Late(po.Solver[po.LocalInformationPrivacy]):
    """Predicts a hundredth of a second, polls the deadline, and needs three: less is no answer."""

    solves: ClassVar = po.LocalInformationPrivacy
    name: ClassVar[str] = "late"
    guaranteed: ClassVar[po.Guarantee | None] = po.Guarantee.BOUNDED

    def cost(self, problem: po.LocalInformationPrivacy) -> float:
        return 0.01

    def run(self, problem: po.LocalInformationPrivacy, budget: po.Budget) -> po.Proposal:
        if budget.remaining < 3.0:
            time.sleep(budget.remaining)
            return po.Proposal()
        time.sleep(3.0)
        solution = po.solve(problem, "column-generation", time_limit=20.0)
        return po.Proposal(solution.mechanism, bound=solution.bound, dual=solution.dual)


@pytest.mark.long
def test_a_prover_that_was_stopped_too_early_runs_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_registry, "_solvers", {(po.LocalInformationPrivacy, "late"): Late})
    monkeypatch.setattr(_registry, "_scan_for", lambda kinds: None)
    solution = po.solve(WIDE, time_limit=10.0)
    assert solution.solver == "late"
    assert solution.status is po.Status.OPTIMAL


@dataclass(frozen=True)
class Refining(Late):
    """Proves a loose bound at once where the next one would not be ready in what it is given, and says so."""

    name: ClassVar[str] = "refining"

    def run(self, problem: po.LocalInformationPrivacy, budget: po.Budget) -> po.Proposal:
        if budget.remaining < 2.0:
            stats = {"stop": "out of time"}
            return po.Proposal(problem.safe(), bound=0.0, dual={"kind": "analytic"}, stats=stats)
        solution = po.solve(problem, "column-generation", time_limit=20.0)
        return po.Proposal(solution.mechanism, bound=solution.bound, dual=solution.dual)


def test_a_prover_that_wants_more_time_gets_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    small = po.LocalInformationPrivacy(po.JointDistribution([[0.3, 0.1], [0.2, 0.4]]), 0.3)
    monkeypatch.setattr(
        _registry, "_solvers", {(po.LocalInformationPrivacy, cls.name): cls for cls in (Refining, Loose)}
    )
    monkeypatch.setattr(_registry, "_scan_for", lambda kinds: None)
    solution = po.solve(small, time_limit=20.0)
    assert solution.solver == "refining"
    assert solution.status is po.Status.OPTIMAL


@dataclass(frozen=True)
class Loose(Planted):
    """Proves at once, with a dual that holds, how much there is to say at most: nothing closes with it."""

    seconds: ClassVar[float] = 0.0
    guaranteed: ClassVar[po.Guarantee | None] = po.Guarantee.BOUNDED
    interruptible: ClassVar[bool] = True

    def run(self, problem: po.LocalInformationPrivacy, budget: po.Budget) -> po.Proposal:
        return po.Proposal(problem.safe(), bound=0.0, dual={"kind": "analytic"})


def test_a_loose_bound_does_not_end_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(_registry._solvers, (po.LocalInformationPrivacy, "planted"), Loose)
    loose = po.solve(WIDE, "planted")
    solution = po.solve(WIDE, time_limit=20.0)
    assert loose.status is po.Status.GAP
    assert loose.bound is not None
    assert any(line.startswith("GAP by planted") for line in solution.alternatives)
    assert solution.status is po.Status.OPTIMAL
    assert solution.bound is not None
    assert solution.bound < loose.bound


def test_what_cannot_be_judged_in_time_is_refused_at_once_with_the_limit_that_would_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(type(WIDE), "judging_seconds", 40.0)
    for solver in (None, "subset-merging"):
        begun = time.monotonic()
        solution = po.solve(WIDE, solver, time_limit=5.0)
        assert time.monotonic() - begun < 4.0
        assert solution.status is po.Status.REFUSED
        assert solution.objective is None
        assert "about 40 s" in solution.reason
        assert "time_limit=80" in solution.reason


@dataclass(frozen=True)
class Seeing(Feasible):
    """Brings its incumbent back, and nothing else."""

    def run(self, problem: po.LocalInformationPrivacy, budget: po.Budget) -> po.Proposal:
        return po.Proposal(budget.incumbent)


def test_a_solver_sees_the_best_answer_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(_registry._solvers, (po.LocalInformationPrivacy, "planted"), Seeing)
    level = po.PointwiseMaximalLeakage(WIDE.joint, epsilon=1.0)
    for problem in (WIDE, level):
        start = po.solve(problem.with_budget(0.5), "subset-merging")
        alone = po.solve(problem, "planted")
        assert alone.status is po.Status.FAILED
        path = po.frontier(problem, [0.5, 1.0], "planted")
        assert path[1].objective is None
        warm = solve_from(problem, start, "planted", time_limit=5.0, certify=True, seed=0)
        assert warm.objective == start.objective


@dataclass(frozen=True)
class Halting(Feasible):
    """Polls the deadline, spends half of its time, and finds nothing in less than two seconds."""

    def run(self, problem: po.LocalInformationPrivacy, budget: po.Budget) -> po.Proposal:
        enough = budget.remaining > 2.0
        time.sleep(budget.remaining / 2)
        return po.Proposal(po.solve(problem, "subset-merging").mechanism if enough else problem.safe())


@pytest.mark.long
def test_who_keeps_half_of_a_short_time_runs_again_with_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_registry, "_solvers", {(po.LocalInformationPrivacy, "planted"): Halting})
    monkeypatch.setattr(_registry, "_scan_for", lambda kinds: None)
    solution = po.solve(WIDE, time_limit=7.0)
    assert solution.solver == "planted"
    assert solution.objective is not None
    assert solution.objective > 0.1


@dataclass(frozen=True)
class Importing(Feasible):
    """Takes the whole time for imports, and brings the constant mechanism."""

    seconds: ClassVar[float] = 1e-4

    def run(self, problem: po.LocalInformationPrivacy, budget: po.Budget) -> po.Proposal:
        sys.modules.update({f"planted_{i}": types.ModuleType(f"planted_{i}") for i in range(40)})
        time.sleep(budget.remaining + 3.0)
        return po.Proposal(problem.safe())


@dataclass(frozen=True)
class Instant(Feasible):
    """Brings a good answer in no time."""

    name: ClassVar[str] = "instant"
    seconds: ClassVar[float] = 2e-4

    def run(self, problem: po.LocalInformationPrivacy, budget: po.Budget) -> po.Proposal:
        return po.Proposal(problem.repair(po.Channel(np.eye(2), problem.joint.useful), 0.01))


@pytest.mark.long
def test_imports_take_no_time_from_solvers_of_milliseconds(monkeypatch: pytest.MonkeyPatch) -> None:
    small = po.LocalInformationPrivacy(po.JointDistribution([[0.3, 0.2], [0.1, 0.4]]), 0.5)
    planted = {(po.LocalInformationPrivacy, name): kind for name, kind in (("a", Importing), ("b", Instant))}
    monkeypatch.setattr(_registry, "_solvers", planted)
    monkeypatch.setattr(_registry, "_scan_for", lambda kinds: None)
    for module in ("isolate", "portfolio"):  # solvers of the package run in this process
        monkeypatch.setattr(f"privopt.core.{module}.of_the_package", lambda solver: True)
    before = set(sys.modules)
    try:
        solution = po.solve(small, time_limit=1.0)
    finally:
        for name in set(sys.modules) - before:
            if name.startswith("planted_"):
                del sys.modules[name]
    assert solution.solver == "instant"
    assert solution.certified
    assert (solution.utility or 0.0) > 0.01


COLD = """
import privopt as po
deviations = [[64 * 0.9 ** abs(i - j) for j in range(6)] for i in range(6)]
problem = po.BayesianPrivacy(po.GaussianModel(deviations, [170] * 6), "sum", 0.5, clip=(120, 220))
print(po.solve(problem, time_limit=0.5).solver)
"""


@pytest.mark.long
def test_the_first_answer_of_a_process_is_a_good_one() -> None:
    done = subprocess.run([sys.executable, "-c", COLD], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "gaussian-brute-force"


@pytest.mark.long
def test_the_start_of_a_process_is_told_apart_from_the_time_of_the_solver(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small = po.LocalInformationPrivacy(po.JointDistribution([[0.3, 0.2], [0.1, 0.4]]), 0.5)
    monkeypatch.setitem(_registry._solvers, (po.LocalInformationPrivacy, "instant"), Instant)
    solution = po.solve(small, "instant", time_limit=60.0)
    start = solution.stats[START]
    assert isinstance(start, float)
    assert 0 < start < solution.seconds
    assert START not in po.solve(small, "subset-merging").stats
    slow = replace(solution, seconds=2.0, stats={START: 1.5})
    assert spent(slow) == "2, of which start 1.5"
    assert spent(replace(slow, stats={START: 0.01})) == "2"


@dataclass(frozen=True)
class Early(Merging):
    """Quick answers without a proof, as predicted."""

    name: ClassVar[str] = "early"
    seconds: ClassVar[float] = 0.01


@dataclass(frozen=True)
class Empty(Feasible):
    """Is sure to close the gap, soon, and brings nothing."""

    guaranteed: ClassVar[po.Guarantee | None] = po.Guarantee.OPTIMAL
    seconds: ClassVar[float] = 0.5

    def run(self, problem: po.LocalInformationPrivacy, budget: po.Budget) -> po.Proposal:
        return po.Proposal()


@dataclass(frozen=True)
class Closing(Empty):
    """The same, and does."""

    def run(self, problem: po.LocalInformationPrivacy, budget: po.Budget) -> po.Proposal:
        return ColumnGeneration().run(problem, budget)


def test_an_answer_that_waited_for_its_certificate_has_one_where_the_proof_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    planted_only(monkeypatch, Early, Empty)
    solution = po.solve(WIDE, time_limit=20.0)
    assert solution.solver == "early"
    assert solution.certified
    assert po.verify(WIDE, solution).ok


def test_an_answer_that_a_proof_beats_soon_is_never_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.random.default_rng(2).dirichlet(np.ones(6), 3)
    small = po.LocalInformationPrivacy(po.JointDistribution.normalised(table), 0.3)
    merged, best = (po.solve(small, name).objective for name in ("subset-merging", "column-generation"))
    assert merged is not None
    assert best is not None
    assert merged < best - 1e-3
    planted_only(monkeypatch, Early, Closing)
    certified: list[float] = []
    certify = po.LocalInformationPrivacy.certify

    def counted(problem: po.LocalInformationPrivacy, mechanism: po.Channel) -> po.Certificate:
        certified.append(problem.evaluate(mechanism).objective)
        return certify(problem, mechanism)

    monkeypatch.setattr(po.LocalInformationPrivacy, "certify", counted)
    solution = po.solve(small, time_limit=20.0)
    assert solution.solver == "planted"
    assert solution.certified
    assert min(certified) == pytest.approx(solution.objective, abs=1e-9)


@dataclass(frozen=True)
class Open(Using):
    """Spends all it is given, and may leave its bound open."""

    name: ClassVar[str] = "open"
    guaranteed: ClassVar[po.Guarantee | None] = po.Guarantee.BOUNDED
    seconds: ClassVar[float] = 0.3
    times: ClassVar[list[float]] = []


@dataclass(frozen=True)
class Improving(Using):
    """Spends all it is given, and says that it needs longer than the other one."""

    name: ClassVar[str] = "improving"
    seconds: ClassVar[float] = 2.0
    times: ClassVar[list[float]] = []


def test_who_improves_has_a_part_before_a_search_that_may_stay_open_where_nothing_runs_beside(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("privopt.core.portfolio.two_cores", lambda: False)
    planted_only(monkeypatch, Open, Improving, Quick)
    for kind in (Open, Improving):
        kind.times.clear()
    po.solve(WIDE, time_limit=2.0)
    first, *later = Open.times
    assert first <= 0.5
    assert len(Improving.times) == 1
    assert Improving.times[0] >= 0.4
    assert max(later) >= 0.2


def test_who_has_nearly_closed_the_gap_has_most_of_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    times: list[float] = []
    best = po.solve(WIDE, "column-generation", time_limit=20.0)
    answer = best.answer
    assert answer is not None
    assert best.bound is not None

    @dataclass(frozen=True)
    class Nearly(Planted):
        """Stops early the first time, with a bound that is nearly met."""

        interruptible: ClassVar[bool] = True
        guaranteed: ClassVar[po.Guarantee | None] = po.Guarantee.BOUNDED

        def run(self, problem: po.LocalInformationPrivacy, budget: po.Budget) -> po.Proposal:
            times.append(budget.remaining)
            mechanism = problem.repair(answer, 1e-5)
            return po.Proposal(mechanism, best.bound, best.dual, stats={"stop": "out of time"})

    @dataclass(frozen=True)
    class Hoping(Planted):
        """Says that it is sure to close the gap soon, and brings nothing."""

        name: ClassVar[str] = "hoping"
        interruptible: ClassVar[bool] = True
        seconds: ClassVar[float] = 0.5

    planted_only(monkeypatch, Nearly, Hoping)
    monkeypatch.setattr(Hoping, "run", lambda self, problem, budget: po.Proposal(problem.safe()))
    po.solve(WIDE, time_limit=10.0)
    assert len(times) > 1
    assert times[1] >= 0.6 * 10.0


def test_a_solver_that_only_proves_waits_for_an_answer_and_has_most_of_what_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun: list[tuple[str, bool, float]] = []

    @dataclass(frozen=True)
    class Proving(Planted):
        """Would come first by its prediction."""

        name: ClassVar[str] = "proving"
        interruptible: ClassVar[bool] = True
        guaranteed: ClassVar[po.Guarantee | None] = po.Guarantee.BOUNDED
        proves_only: ClassVar[bool] = True
        seconds: ClassVar[float] = 0.3

        def run(self, problem: po.LocalInformationPrivacy, budget: po.Budget) -> po.Proposal:
            known = budget.incumbent
            better = isinstance(known, po.Channel) and problem.evaluate(known).objective > 0.01
            begun.append((self.name, better, budget.remaining))
            return po.Proposal(problem.safe(), stats={"stop": "out of time"})

    @dataclass(frozen=True)
    class Answering(Planted):
        """Brings an answer, and no bound that is near."""

        name: ClassVar[str] = "answering"
        interruptible: ClassVar[bool] = True
        guaranteed: ClassVar[po.Guarantee | None] = po.Guarantee.BOUNDED
        seconds: ClassVar[float] = 0.6

        def run(self, problem: po.LocalInformationPrivacy, budget: po.Budget) -> po.Proposal:
            begun.append((self.name, False, budget.remaining))
            return replace(ColumnGeneration().run(problem, budget.earlier(0.8)), bound=None, dual=None)

    planted_only(monkeypatch, Proving, Answering)
    po.solve(WIDE, time_limit=4.0)
    names = [name for name, _, _ in begun]
    assert names[0] == "answering"
    assert "proving" in names
    assert all(better for name, better, _ in begun if name == "proving")
    begun.clear()
    planted_only(monkeypatch, Proving)
    po.solve(WIDE, time_limit=1.0)
    assert begun
    assert begun[0][0] == "proving"
    assert begun[0][2] >= 0.5

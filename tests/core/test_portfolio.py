"""The portfolio of solvers: wrong predictions, broken promises and hanging solvers cost time, never an answer."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
import time
import types
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest
from instances.few import few

import privopt as po
from privopt.core import predictions
from privopt.core import registry as _registry
from privopt.core.beside import Lane, two_cores
from privopt.core.compare import spent
from privopt.core.dispatch import solve_from
from privopt.core.isolate import START, SolverFailure, SolverTimeout
from privopt.core.portfolio import proving
from privopt.solvers.local_information_privacy.subset_merging import SubsetMerging

RNG = np.random.default_rng(5)
WIDE = po.LocalInformationPrivacy(po.JointDistribution.normalised(RNG.dirichlet(np.ones(12), 8)), 1.0)


@dataclass(frozen=True)
class Planted(po.Solver[po.LocalInformationPrivacy]):
    """Predicts far too little, then spends what it is given without polling the deadline."""

    solves: ClassVar = po.LocalInformationPrivacy
    name: ClassVar[str] = "planted"
    guaranteed: ClassVar[po.Guarantee | None] = po.Guarantee.OPTIMAL
    interruptible: ClassVar[bool] = False
    seconds: ClassVar[float] = 0.05

    def cost(self, problem: po.LocalInformationPrivacy) -> float:
        return self.seconds

    def run(self, problem: po.LocalInformationPrivacy, budget: po.Budget) -> po.Proposal:
        time.sleep(100 * self.seconds)
        return po.Proposal(problem.safe())


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


def _bottleneck(symbols: int) -> po.InformationBottleneck:
    rng = np.random.default_rng(7)
    return po.InformationBottleneck(
        po.JointDistribution.normalised(rng.dirichlet(np.ones(symbols), 8)), max_rate=0.8
    )


def test_the_lane_keeps_what_a_solver_brings_and_ends_one_that_does_not_stop() -> None:
    problem = _bottleneck(12)
    listed = {c.name: c for c in po.candidates(problem)}
    lane = Lane(problem, problem.anchor(), seed=0)
    lane.add([listed["self-consistent"]], time.monotonic() + 30.0)
    assert lane.names == {"self-consistent"}
    (ended,) = lane.wait(time.monotonic() + 60.0)
    lane.end()
    assert ended.candidate.name == "self-consistent"
    assert isinstance(ended.outcome, po.Proposal)
    assert ended.outcome.mechanism is not None
    assert problem.evaluate(problem.check(ended.outcome.mechanism)).feasible
    assert ended.seconds > 0
    again = Lane(_bottleneck(300), None, seed=0)  # in the process that the first one left
    again.add([listed["self-consistent"], listed["self-consistent"]], time.monotonic() + 30.0)
    assert again.give_back() is not None
    (late,) = again.wait(time.monotonic() - 10.0)
    again.end()
    assert isinstance(late.outcome, SolverTimeout)


def test_a_lane_that_begins_later_starts_no_process_before() -> None:
    listed = {c.name: c for c in po.candidates(_bottleneck(60)) if c.refusal is None}
    lane = Lane(_bottleneck(60), None, seed=0)
    lane.add([listed["self-consistent"], listed["agglomerative"]], time.monotonic() + 30.0, 20.0)
    assert lane.names == {"self-consistent", "agglomerative"}
    assert lane.waiting == 2
    assert lane.wait(time.monotonic()) == []
    assert lane.give_back() == listed["self-consistent"]
    lane.end()
    assert lane.waiting == 0


def test_what_cannot_be_sent_to_a_lane_is_said_and_the_rest_given_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unsendable(content: object, *holders: object) -> bytes:
        raise SolverFailure("cannot be sent to a process of its own")

    monkeypatch.setattr("privopt.core.beside.pack", unsendable)
    listed = {c.name: c for c in po.candidates(_bottleneck(12)) if c.refusal is None}
    lane = Lane(_bottleneck(12), None, seed=0)
    lane.add([listed["self-consistent"], listed["agglomerative"]], time.monotonic() + 30.0)
    (ended,) = lane.finished()
    assert isinstance(ended.outcome, SolverFailure)
    assert lane.give_back() == listed["agglomerative"]
    lane.end()


@pytest.mark.long
@pytest.mark.skipif(not two_cores(), reason="one core: nothing runs beside")
def test_improvers_run_beside_a_prover(monkeypatch: pytest.MonkeyPatch) -> None:
    lanes: list[frozenset[str]] = []
    adding = Lane.add

    def add(lane: Lane, entries: list[po.Candidate], deadline: float, delay: float = 0.0) -> None:
        adding(lane, entries, deadline, delay)
        lanes.append(lane.names)

    monkeypatch.setattr(Lane, "add", add)
    monkeypatch.setattr("privopt.core.portfolio.FEASIBLE_SHARE", 0.0)
    solution = po.solve(_bottleneck(60), time_limit=4.0)
    assert len(lanes) == 1
    assert "self-consistent" in lanes[0]
    assert solution.status.ok
    assert any("self-consistent" in line for line in solution.alternatives)


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
class Seeing(Planted):
    """Brings its incumbent back, and nothing else."""

    guaranteed: ClassVar[po.Guarantee | None] = po.Guarantee.FEASIBLE
    interruptible: ClassVar[bool] = True

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


def _solved_by_a_daemon(answers: Any) -> None:
    solution = po.solve(_bottleneck(60), time_limit=2.0)
    answers.put((solution.status.name, solution.objective))


@pytest.mark.long
def test_a_process_that_may_have_no_children_solves_without_them() -> None:
    """As the workers of a Dask cluster do."""
    spawned = multiprocessing.get_context("spawn")
    answers = spawned.Queue()
    process = spawned.Process(target=_solved_by_a_daemon, args=(answers,), daemon=True)
    process.start()
    status, objective = answers.get(timeout=60)
    process.join()
    assert status in ("GAP", "OPTIMAL")
    assert objective > 0


@dataclass(frozen=True)
class Halting(Planted):
    """Polls the deadline, spends half of its time, and finds nothing in less than two seconds."""

    guaranteed: ClassVar[po.Guarantee | None] = po.Guarantee.FEASIBLE
    interruptible: ClassVar[bool] = True

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
class Noting(Planted):
    """Notes how much time it has, and brings the constant mechanism."""

    guaranteed: ClassVar[po.Guarantee | None] = po.Guarantee.BOUNDED
    interruptible: ClassVar[bool] = True
    seconds: ClassVar[float] = 3.0
    times: ClassVar[list[float]] = []

    def run(self, problem: po.LocalInformationPrivacy, budget: po.Budget) -> po.Proposal:
        self.times.append(budget.remaining)
        return po.Proposal(problem.safe())


@dataclass(frozen=True)
class Endless(Noting):
    """Would take far longer."""

    name: ClassVar[str] = "endless"
    seconds: ClassVar[float] = 300.0


@dataclass(frozen=True)
class Apart(Planted):
    """Needs a process of its own, and far longer than any limit here."""

    name: ClassVar[str] = "apart"
    seconds: ClassVar[float] = 200.0


def test_no_time_is_kept_for_who_could_not_end_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    only = {(po.LocalInformationPrivacy, cls.name): cls for cls in (Noting, Endless)}
    monkeypatch.setattr(_registry, "_solvers", only)
    monkeypatch.setattr(_registry, "_scan_for", lambda kinds: None)
    monkeypatch.setattr("privopt.core.isolate.believed", lambda solver, problem: solver.polls(problem))
    Noting.times.clear()
    po.solve(WIDE, time_limit=5.0)
    first, second = Noting.times  # both provers ended by themselves
    assert first > 0.75 * 5.0
    assert 0 < second <= first


@pytest.mark.parametrize(("loose", "first"), [(1.0, "endless"), (0.2, "planted")])
def test_a_bound_takes_no_time_from_a_sure_proof(
    loose: float, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, float] = {}

    @dataclass(frozen=True)
    class Loosening(Noting):
        seconds: ClassVar[float] = loose

        def run(self, problem: po.LocalInformationPrivacy, budget: po.Budget) -> po.Proposal:
            given.setdefault(self.name, budget.remaining)
            return po.Proposal(problem.safe())

    @dataclass(frozen=True)
    class Sure(Loosening):
        name: ClassVar[str] = "endless"
        guaranteed: ClassVar[po.Guarantee | None] = po.Guarantee.OPTIMAL
        seconds: ClassVar[float] = 5.0

    only = {(po.LocalInformationPrivacy, cls.name): cls for cls in (Loosening, Sure)}
    monkeypatch.setattr(_registry, "_solvers", only)
    monkeypatch.setattr(_registry, "_scan_for", lambda kinds: None)
    monkeypatch.setattr("privopt.core.isolate.believed", lambda solver, problem: solver.polls(problem))
    listed = proving([c for c in po.candidates(WIDE) if c.refusal is None], 20.0)
    assert next(c.name for c in listed) == first
    po.solve(WIDE, time_limit=20.0)
    assert next(iter(given)) == first
    if first == "planted":
        assert given["planted"] <= 4 * loose  # far less than a third of the time


def test_no_process_is_started_for_a_fraction_of_what_is_predicted(monkeypatch: pytest.MonkeyPatch) -> None:
    better = po.solve(WIDE, "subset-merging").mechanism

    @dataclass(frozen=True)
    class Quick(Noting):
        name: ClassVar[str] = "quick"
        guaranteed: ClassVar[po.Guarantee | None] = po.Guarantee.FEASIBLE
        seconds: ClassVar[float] = 0.01

        def run(self, problem: po.LocalInformationPrivacy, budget: po.Budget) -> po.Proposal:
            return po.Proposal(better)

    only = {(po.LocalInformationPrivacy, cls.name): cls for cls in (Quick, Apart)}
    monkeypatch.setattr(_registry, "_solvers", only)
    monkeypatch.setattr(_registry, "_scan_for", lambda kinds: None)
    monkeypatch.setattr("privopt.core.isolate.believed", lambda solver, problem: solver.polls(problem))
    solution = po.solve(WIDE, time_limit=10.0)
    assert solution.solver == "quick"
    (line,) = [line for line in solution.alternatives if line.startswith("apart")]
    assert "not run" in line


@dataclass(frozen=True)
class Importing(Planted):
    """Takes the whole time for imports, and brings the constant mechanism."""

    guaranteed: ClassVar[po.Guarantee | None] = po.Guarantee.FEASIBLE
    interruptible: ClassVar[bool] = True
    seconds: ClassVar[float] = 1e-4

    def run(self, problem: po.LocalInformationPrivacy, budget: po.Budget) -> po.Proposal:
        sys.modules.update({f"planted_{i}": types.ModuleType(f"planted_{i}") for i in range(40)})
        time.sleep(budget.remaining + 3.0)
        return po.Proposal(problem.safe())


@dataclass(frozen=True)
class Instant(Planted):
    """Brings a good answer in no time."""

    name: ClassVar[str] = "instant"
    guaranteed: ClassVar[po.Guarantee | None] = po.Guarantee.FEASIBLE
    interruptible: ClassVar[bool] = True
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


@pytest.mark.parametrize("slower", few((16.0, 1 / 16), 1))
def test_wrong_speeds_of_the_machine_change_the_order_and_not_the_answer(
    slower: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = po.solve(WIDE, time_limit=60.0)
    monkeypatch.setattr(predictions, "work_here", lambda: slower * predictions.timings().work)
    solution = po.solve(WIDE, time_limit=60.0)
    assert alone.status is solution.status is po.Status.OPTIMAL
    assert solution.objective == pytest.approx(alone.objective, rel=1e-6)


@dataclass(frozen=True)
class Using(Noting):
    """Spends all it is given."""

    guaranteed: ClassVar[po.Guarantee | None] = po.Guarantee.FEASIBLE
    seconds: ClassVar[float] = 0.05

    def run(self, problem: po.LocalInformationPrivacy, budget: po.Budget) -> po.Proposal:
        self.times.append(budget.remaining)
        time.sleep(budget.remaining)
        return po.Proposal(problem.safe())


@dataclass(frozen=True)
class Proving(Using):
    """A proof that is far away and takes all it is given."""

    name: ClassVar[str] = "proving"
    guaranteed: ClassVar[po.Guarantee | None] = po.Guarantee.BOUNDED
    seconds: ClassVar[float] = 2.0


@dataclass(frozen=True)
class Merging(Planted):
    """Quick answers, of a feasible solver that says it needs far longer than any limit here."""

    name: ClassVar[str] = "merging"
    guaranteed: ClassVar[po.Guarantee | None] = po.Guarantee.FEASIBLE
    interruptible: ClassVar[bool] = True
    seconds: ClassVar[float] = 5.0

    def run(self, problem: po.LocalInformationPrivacy, budget: po.Budget) -> po.Proposal:
        return replace(SubsetMerging().run(problem, budget), bound=None, dual=None)


def test_a_solver_whose_end_is_far_away_has_a_part_before_a_long_proof(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    only = {(po.LocalInformationPrivacy, cls.name): cls for cls in (Proving, Merging)}
    monkeypatch.setattr(_registry, "_solvers", only)
    monkeypatch.setattr(_registry, "_scan_for", lambda kinds: None)
    monkeypatch.setattr("privopt.core.portfolio.STARTING", 1e3)  # nothing runs beside
    monkeypatch.setattr("privopt.core.isolate.believed", lambda solver, problem: solver.polls(problem))
    tried = po.solve(WIDE, time_limit=1.0).alternatives
    assert any("by merging" in line for line in tried)


def _order(
    monkeypatch: pytest.MonkeyPatch,
    quick: float,
    guarantee: po.Guarantee,
    long: float,
    more: tuple[type[Planted], ...] = (),
) -> list[tuple[str, float]]:
    """Who runs at a limit of a second, a feasible solver or one that proves, with the time that it gets."""
    order: list[tuple[str, float]] = []

    @dataclass(frozen=True)
    class Answering(Noting):
        name: ClassVar[str] = "answering"
        guaranteed: ClassVar[po.Guarantee | None] = po.Guarantee.FEASIBLE
        seconds: ClassVar[float] = quick

        def run(self, problem: po.LocalInformationPrivacy, budget: po.Budget) -> po.Proposal:
            order.append((self.name, budget.remaining))
            return po.Proposal(problem.safe())

    @dataclass(frozen=True)
    class Bounding(Answering):
        name: ClassVar[str] = "bounding"
        guaranteed: ClassVar[po.Guarantee | None] = guarantee
        seconds: ClassVar[float] = long

    kinds: tuple[type[Planted], ...] = (Answering, Bounding, *more)
    only = {(po.LocalInformationPrivacy, cls.name): cls for cls in kinds}
    monkeypatch.setattr(_registry, "_solvers", only)
    monkeypatch.setattr(_registry, "_scan_for", lambda kinds: None)
    monkeypatch.setattr(predictions, "work_here", lambda: predictions.timings().work)
    monkeypatch.setattr("privopt.core.portfolio.STARTING", 1e3)  # nothing runs beside
    monkeypatch.setattr("privopt.core.isolate.believed", lambda solver, problem: solver.polls(problem))
    po.solve(WIDE, time_limit=1.0)
    return order


def test_a_first_answer_has_its_time_before_a_bound_but_not_before_a_sure_proof(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (_, before_bound), *_ = _order(monkeypatch, 0.4, po.Guarantee.BOUNDED, 0.5)
    (_, before_proof), *_ = _order(monkeypatch, 0.4, po.Guarantee.OPTIMAL, 0.5)
    assert before_bound > 0.4
    assert before_proof <= 0.15


@pytest.mark.parametrize(("seconds", "first"), [(1.4, "bounding"), (2.6, "answering")])
def test_a_sure_proof_that_may_nearly_fit_goes_before_improvers(
    seconds: float, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    @dataclass(frozen=True)
    class Quick(Merging):
        seconds: ClassVar[float] = 0.01

    assert _order(monkeypatch, 5.0, po.Guarantee.OPTIMAL, seconds, (Quick,))[0][0] == first


def test_who_was_stopped_runs_again_only_for_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_registry, "_solvers", {(po.LocalInformationPrivacy, "planted"): Using})
    monkeypatch.setattr(_registry, "_scan_for", lambda kinds: None)
    monkeypatch.setattr("privopt.core.isolate.believed", lambda solver, problem: solver.polls(problem))
    Noting.times.clear()
    po.solve(WIDE, time_limit=1.0)
    assert Noting.times == sorted(Noting.times)

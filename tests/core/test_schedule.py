"""Who runs first, and for how long."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar

import pytest
from instances.few import few
from instances.planted import WIDE, Merging, Noting, Planted, Using, planted_only

import privopt as po
from privopt.core import predictions
from privopt.core.expected import proving


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
    planted_only(monkeypatch, Noting, Endless)
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

    planted_only(monkeypatch, Loosening, Sure)
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

    planted_only(monkeypatch, Quick, Apart)
    solution = po.solve(WIDE, time_limit=10.0)
    assert solution.solver == "quick"
    (line,) = [line for line in solution.alternatives if line.startswith("apart")]
    assert "not run" in line


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
class Proving(Using):
    """A proof that is far away and takes all it is given."""

    name: ClassVar[str] = "proving"
    guaranteed: ClassVar[po.Guarantee | None] = po.Guarantee.BOUNDED
    seconds: ClassVar[float] = 2.0


def test_a_solver_whose_end_is_far_away_has_a_part_before_a_long_proof(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    planted_only(monkeypatch, Proving, Merging)
    monkeypatch.setattr("privopt.core.portfolio.STARTING", 1e3)  # nothing runs beside
    tried = po.solve(WIDE, time_limit=1.0).alternatives
    assert any("by merging" in line for line in tried)


def _order(
    monkeypatch: pytest.MonkeyPatch,
    quick: float,
    guarantee: po.Guarantee,
    long: float,
    more: tuple[type[Planted], ...] = (),
    limit: float = 1.0,
) -> list[tuple[str, float]]:
    """Who runs at a limit, a feasible solver or one that proves, with the time that it gets."""
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

    planted_only(monkeypatch, Answering, Bounding, *more)
    monkeypatch.setattr(predictions, "work_here", lambda: predictions.timings().work)
    monkeypatch.setattr("privopt.core.portfolio.STARTING", 1e3)  # nothing runs beside
    po.solve(WIDE, time_limit=limit)
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


@pytest.mark.parametrize(("seconds", "first"), [(0.5, "bounding"), (1.6, "answering")])
def test_a_sure_proof_that_is_expected_soon_waits_for_no_answer_that_does_not_fit(
    seconds: float, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both could be stopped; a large graph would still be read and judged twice."""
    assert _order(monkeypatch, 0.7, po.Guarantee.OPTIMAL, seconds, limit=4.0)[0][0] == first


def test_who_was_stopped_runs_again_only_for_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    planted_only(monkeypatch, Using)
    Noting.times.clear()
    po.solve(WIDE, time_limit=1.0)
    assert Noting.times == sorted(Noting.times)


def test_who_took_longer_than_predicted_waits_for_proofs_that_are_soon_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    order: list[tuple[str, float]] = []

    @dataclass(frozen=True)
    class Overrunning(Noting):
        """Polls the deadline, and takes all there is."""

        name: ClassVar[str] = "overrunning"
        seconds: ClassVar[float] = 0.02

        def run(self, problem: po.LocalInformationPrivacy, budget: po.Budget) -> po.Proposal:
            order.append((self.name, budget.remaining))
            time.sleep(budget.remaining)
            return po.Proposal(problem.safe())

    @dataclass(frozen=True)
    class Soon(Planted):
        """Does not poll, and ends as predicted."""

        name: ClassVar[str] = "soon"
        seconds: ClassVar[float] = 0.2

        def run(self, problem: po.LocalInformationPrivacy, budget: po.Budget) -> po.Proposal:
            order.append((self.name, budget.remaining))
            return po.Proposal(problem.safe())

    planted_only(monkeypatch, Overrunning, Soon)
    monkeypatch.setattr("privopt.core.isolate.believed", lambda solver, problem: True)  # all run here
    monkeypatch.setattr("privopt.core.expected.child_is_ready", lambda: True)
    monkeypatch.setattr("privopt.core.portfolio.STARTING", 1e3)  # nothing runs beside
    monkeypatch.setattr(predictions, "work_here", lambda: predictions.timings().work)
    po.solve(WIDE, time_limit=3.0)
    assert [name for name, _ in order[:2]] == ["overrunning", "soon"]
    assert order[1][1] > 0.2

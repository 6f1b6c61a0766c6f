"""The second process: what improvers bring from it, and what becomes of those that do not end."""

from __future__ import annotations

import multiprocessing
import time
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from instances.planted import WIDE, Merging, Noting, planted_only
from threadpoolctl import threadpool_info, threadpool_limits

import privopt as po
from privopt.core.beside import Lane, two_cores
from privopt.core.expected import FITTING
from privopt.core.isolate import SolverFailure, SolverTimeout


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


def blas_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_matrices_have_one_thread_here_until_the_last_of_several_lanes_has_ended() -> None:
    problem = _bottleneck(12)
    listed = {c.name: c for c in po.candidates(problem)}
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        lanes = [Lane(problem, None, seed=0) for _ in range(2)]
        for lane in lanes:
            lane.add([listed["self-consistent"]], time.monotonic() + 30.0)
            assert blas_threads() == {1}
        for lane in lanes:
            assert blas_threads() == {1}
            lane.end()
            lane.end()  # to end it twice is to end it once
        assert blas_threads() == before


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


@pytest.mark.skipif(not two_cores(), reason="one core: nothing runs beside")
@pytest.mark.parametrize(("proof", "alone"), [(5.0, FITTING * 5.0), (10.0, 10.0), (16.0, 0.0)])
def test_a_proof_that_is_sure_to_end_in_time_is_not_slowed_before_its_prediction_is_over(
    proof: float, alone: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    delays: list[float] = []

    @dataclass(frozen=True)
    class Sure(Noting):
        guaranteed: ClassVar[po.Guarantee | None] = po.Guarantee.OPTIMAL
        seconds: ClassVar[float] = proof

    @dataclass(frozen=True)
    class Quick(Merging):
        name: ClassVar[str] = "quick"
        seconds: ClassVar[float] = 0.01

    planted_only(monkeypatch, Sure, Merging, Quick)
    monkeypatch.setattr("privopt.core.portfolio.may_run_beside", lambda c: True)
    monkeypatch.setattr(Lane, "add", lambda lane, entries, deadline, delay: delays.append(delay))
    po.solve(WIDE, time_limit=18.0)
    assert delays == [pytest.approx(alone)]


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

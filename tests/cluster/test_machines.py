"""One cluster of real processes does a benchmark, a frontier and a release; each of them loses a worker on the way."""

from __future__ import annotations

import math
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from instances import clusters
from instances.clusters import Processes, comparable
from instances.runs import attempts_of
from instances.tiny_suite import FAST, TINY

import privopt as po
from privopt.benchmarks.runner.folder import read_run
from privopt.benchmarks.runner.job import Job
from privopt.cluster.scheduler import client

pytest.importorskip("distributed")
pytestmark = pytest.mark.long
cluster = clusters.cluster
PROBLEM = po.Redaction(po.MarkovChain([[0.75, 0.25], [0.5, 0.5]]), 7, 3, 1.0)
CHAIN = po.MarkovChain([[0.8, 0.2], [0.3, 0.7]], [0.5, 0.5])
FAIR = po.MarkovChain([[0.5, 0.5], [0.5, 0.5]], [0.5, 0.5])
USERS, RECORDS, PIECE = 800, 10, 25


def end_a_worker(cluster: Processes) -> None:
    """Kill a worker that keeps results nobody has fetched, and start another one for those that come after."""
    ours = {process.pid for process in cluster.workers if process.poll() is None}
    deadline = time.monotonic() + 20
    with client(cluster.address) as seen:
        while time.monotonic() < deadline:
            pids: dict[str, int] = seen.run(os.getpid)
            held = [pids[worker] for worker, keys in seen.has_what().items() if keys and worker in pids]
            if victims := sorted(ours & set(held)):
                os.kill(victims[0], signal.SIGKILL)
                cluster.add_worker("--no-nanny")
                return
            time.sleep(0.02)
    raise AssertionError("no worker kept a result")


def losing(cluster: Processes, rows: Any, at: int) -> Iterator[Any]:
    """The rows, with a worker killed when one of them is asked for."""
    for i, row in enumerate(rows):
        if i == at:
            end_a_worker(cluster)
        yield row


def letters(chain: po.MarkovChain) -> Any:
    rng = np.random.default_rng(7)
    table = [rng.choice(2, size=USERS, p=chain.initial)]
    for _ in range(RECORDS - 1):
        table.append((rng.random(USERS) > chain.transition[table[-1], 0]).astype(np.int64))
    return np.array(table).T


def test_a_simulated_release_is_the_same_after_a_worker_was_lost(
    cluster: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("privopt.cluster.release.PIECE", PIECE)
    policy, table = po.SequencePolicy(CHAIN, 1.0), letters(CHAIN)
    rows = losing(cluster, table, USERS // 2)
    there = list(po.release_users(policy, rows, scheduler=cluster.address, rng=np.random.default_rng(3)))
    here = po.release_users(policy, table, rng=np.random.default_rng(3))
    assert np.array(there).tolist() == here.tolist()
    assert all(row.simulated for row in there)


def test_a_release_after_a_worker_was_lost_is_whole_and_errs_as_often_as_it_should(
    cluster: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pieces are drawn again, each is handed out once; independent fair letters err with probability e^-epsilon / 2."""
    monkeypatch.setattr("privopt.cluster.release.PIECE", PIECE)
    policy, table = po.SequencePolicy(FAIR, 1.0), letters(FAIR)
    rows = losing(cluster, table, USERS // 2)
    releases = list(po.release_users(policy, rows, scheduler=cluster.address))
    assert [row.shape for row in releases] == [(RECORDS,)] * USERS
    assert not any(row.simulated for row in releases)
    chance, count = math.exp(-1.0) / 2, USERS * RECORDS
    errors = int((np.array(releases) != table).sum())
    assert abs(errors - count * chance) < 6 * math.sqrt(count * chance * (1 - chance))


def test_a_frontier_is_the_same_after_a_worker_was_lost(cluster: Processes) -> None:
    budgets = [0.1 * i for i in range(1, 13)]
    told: list[float] = []

    def listen(fraction: float, sentence: str) -> None:
        told.append(fraction)
        if len(told) == 2:
            end_a_worker(cluster)

    there = po.frontier(PROBLEM, budgets, scheduler=cluster.address, progress=listen)
    here = po.frontier(PROBLEM, budgets)
    assert [(s.status, s.utility, s.bound) for s in there] == [(s.status, s.utility, s.bound) for s in here]
    assert [s.answer for s in there] == [s.answer for s in here]
    assert all(po.verify(PROBLEM.with_budget(b), s).ok for b, s in zip(budgets, there, strict=True))


def test_a_benchmark_has_the_same_rows_after_a_worker_was_lost(cluster: Processes, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    left: list[object] = []

    def listen(outcome: object, count: int) -> None:
        left.append(outcome)
        if len(left) == 3:
            next(worker for worker in cluster.workers if worker.poll() is None).kill()

    page = tmp_path / "page.html"
    Job(TINY, there, page, solvers=FAST[:2], scheduler=cluster.address).work(listen)
    Job(TINY, here, page, solvers=FAST[:2]).work()
    rows = read_run(there)[1]
    assert len(attempts_of(there)) == len(set(attempts_of(there))) == len(rows) == len(left) == 8
    assert comparable(rows) == comparable(read_run(here)[1])
    assert all(row.verified for row in rows)

"""The same tasks, and frontiers, on a Dask cluster of real processes on this machine; one of them is ended."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path

import pytest
from instances import clusters
from instances.clusters import Processes, comparable
from instances.runs import attempts_of
from instances.tiny_suite import FAST, TINY
from typer.testing import CliRunner

import privopt as po
from privopt.benchmarks.runner.folder import read_run
from privopt.benchmarks.runner.job import Job
from privopt.cli import app

pytestmark = pytest.mark.long

pytest.importorskip("distributed")
PROBLEM = po.Redaction(po.MarkovChain([[0.75, 0.25], [0.5, 0.5]]), 5, 2, 1.0)


cluster = clusters.cluster


def test_a_run_outlives_a_worker_and_gives_the_rows_of_a_local_run(
    cluster: Processes, tmp_path: Path
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    few = partial(Job, TINY, seeds=(0, 1, 2), solvers=FAST)
    remote = few(folder=there, page=there / "page.html", scheduler=cluster.address)
    left: list[int] = []

    def listen(outcome: object, count: int) -> None:
        left.append(count)
        if len(left) == 6:
            cluster.workers[0].kill()

    remote.work(listen)
    few(folder=here, page=here / "page.html").work()
    assert cluster.workers[0].wait(10) == -9
    manifest, rows = read_run(there)
    assert len(attempts_of(there)) == len(set(attempts_of(there))) == len(rows) == 36
    assert comparable(rows) == comparable(read_run(here)[1])
    assert all(row.verified for row in rows)
    assert all(row.peak_memory and row.peak_memory > 30 for row in rows)
    assert "by the workers of the Dask scheduler" in manifest.environment["processes"]


def test_a_frontier_is_the_same_from_a_cluster(cluster: Processes) -> None:
    budgets = [0.0, 0.5, 1.0]
    here, there = po.frontier(PROBLEM, budgets), po.frontier(PROBLEM, budgets, scheduler=cluster.address)
    assert [s.answer for s in there] == [s.answer for s in here]
    assert [(s.status, s.utility, s.bound) for s in there] == [(s.status, s.utility, s.bound) for s in here]
    assert all(po.verify(PROBLEM.with_budget(b), s).ok for b, s in zip(budgets, there, strict=True))


def test_a_frontier_can_use_a_solver_that_needs_a_process_of_its_own(cluster: Processes) -> None:
    pytest.importorskip("scs")
    frontier = po.frontier(PROBLEM, [0.5, 1.0, 2.0], "conic-scs", scheduler=cluster.address, time_limit=30)
    assert [s.status.name for s in frontier] == ["FEASIBLE"] * 3


def test_the_command_line_sends_a_frontier(cluster: Processes, tmp_path: Path) -> None:
    path = tmp_path / "problem.json"
    path.write_text(json.dumps(PROBLEM.to_dict()))
    arguments = ["frontier", str(path), "--budgets", "0.5,1", "--json", "--scheduler", cluster.address]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert len(json.loads(result.stdout)["solutions"]) == 2


def test_a_solver_that_does_not_exist_is_misuse_there_too(cluster: Processes) -> None:
    with pytest.raises(po.errors.UnsuitableSolver, match="no solver 'simplex'"):
        po.frontier(PROBLEM, [1.0], "simplex", scheduler=cluster.address)


def test_an_address_where_nothing_answers_is_misuse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("privopt.cluster.scheduler.CONNECTING", 0.5)
    with pytest.raises(po.errors.InvalidProblem, match="no Dask scheduler answers"):
        po.frontier(PROBLEM, [1.0], scheduler="tcp://127.0.0.1:9")
    with pytest.raises(po.errors.InvalidProblem, match="no Dask scheduler answers"):
        po.frontier(PROBLEM, [1.0], scheduler="nonsense://")


def test_without_dask_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(po.errors.MissingExtra, match=r"pip install 'privopt\[cluster\]'"):
        po.frontier(PROBLEM, [1.0], scheduler="tcp://127.0.0.1:8786")

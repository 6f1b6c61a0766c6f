"""Objective and bound over time: told by solvers in any process, kept with the run, ended by what was judged."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from instances.report_rows import make_row

import privopt as po
from privopt.benchmarks.runner.folder import merge, read_run
from privopt.benchmarks.runner.store import opened
from privopt.benchmarks.runner.traces import read_series, read_traces, series, write_traces
from privopt.core.isolate import run_guarded
from privopt.core.trace import Course, Reached
from privopt.errors import FileRefused

REPORTS = st.lists(
    st.tuples(st.none() | st.floats(-10, 10), st.none() | st.floats(-10, 10)), min_size=1, max_size=40
)


@given(REPORTS)
def test_a_course_keeps_the_best_so_far_and_nothing_else(
    told: Sequence[tuple[float | None, float | None]],
) -> None:
    course = Course(begun=0.0)
    for i, (objective, bound) in enumerate(told):
        course(0.0, Reached(objective, bound, at=float(i)))
    points = course.points
    for seconds, objective, bound in points:
        until = told[: int(seconds) + 1]
        assert objective == max((o for o, _ in until if o is not None), default=None)
        assert bound == min((b for _, b in until if b is not None), default=None)
    assert [p[1:] for p in points] == [
        p[1:] for i, p in enumerate(points) if not i or p[1:] != points[i - 1][1:]
    ]


def test_a_long_course_is_thinned_and_keeps_its_last_point() -> None:
    course = Course(begun=0.0)
    for i in range(9000):
        course(0.0, Reached(float(i), at=float(i)))
    assert len(course.points) <= 2000
    assert course.points[-1] == (8999.0, 8999.0, None)


class Told(po.Solver[po.Redaction]):
    """Outside the package: runs in a process of its own."""

    solves = po.Redaction
    name = "told"
    guaranteed = po.Guarantee.FEASIBLE

    def cost(self, problem: po.Redaction) -> float:
        return 0.0

    def run(self, problem: po.Redaction, budget: po.Budget) -> po.Proposal:
        for objective in (0.25, 0.5, 0.125):
            budget.report(objective, 1 - objective)
        return po.Proposal(problem.safe(), stats={"pid": os.getpid()})


def test_what_is_told_in_another_process_arrives() -> None:
    problem = po.Redaction(po.MarkovChain([[0.75, 0.25], [0.5, 0.5]]), 4, 1, 1.0)
    course = Course()
    proposal = run_guarded(Told(), problem, po.Budget(float("inf"), progress=course))
    assert proposal.stats["pid"] != os.getpid()
    assert [point[1:] for point in course.points] == [(0.25, 0.75), (0.5, 0.5)]
    assert 0 <= course.points[0][0] <= course.points[1][0] < 60


def test_a_series_ends_with_what_was_judged_and_failures_have_none() -> None:
    row, failed = (
        make_row(key="a", seconds=2.0, objective=0.5, bound=0.75),
        make_row(key="b", status="TIME_OUT"),
    )
    silent = make_row(key="c", seconds=1.0)
    told = {"a": [(0.5, 0.25, None), (1.0, 0.6, 0.7), (2.5, 0.9, 0.9)], "b": [(0.1, 0.2, None)]}
    first, second = series([row, failed, silent], told)
    assert first.points == ((0.5, 0.25, None), (1.0, 0.6, 0.7), (2.0, 0.5, 0.75))
    assert (first.told, second.told, len(second.points)) == (True, False, 1)


def test_files_go_there_and_back_and_malformed_ones_are_refused(tmp_path: Path) -> None:
    traces = {"a": ((0.5, None, float("inf")), (1.0, 0.25, 0.5)), "b": ((0.0, -1.5, None),)}
    write_traces(tmp_path, traces)
    assert read_traces(tmp_path) == traces
    (tmp_path / "traces.jsonl").write_text('{"key": "a", "points": [[null, 1, 2]]}\n')
    with pytest.raises(FileRefused, match="line 1: is no trace"):
        read_traces(tmp_path)
    write_traces(tmp_path, {})
    assert read_traces(tmp_path) == {}


def test_a_store_keeps_the_trace_of_the_last_attempt(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        assert store.traces() == {}
        store.record(make_row(key="a"), trace=[(0.5, 0.25, None)])
        store.record(make_row(key="b"))
        assert store.traces() == {"a": ((0.5, 0.25, None),)}
    with opened(tmp_path, force=True) as store:
        store.record(make_row(key="a"))
        assert store.traces() == {}


@pytest.mark.long
def test_a_run_keeps_traces_and_a_merge_takes_them_along(tmp_path: Path) -> None:
    joint = po.JointDistribution([[0.1, 0.2, 0.05, 0.15], [0.15, 0.05, 0.2, 0.1]])
    (tmp_path / "joint.json").write_text(json.dumps(po.PrivacyFunnel(joint, max_leakage=0.01).to_dict()))
    subprocess.run(
        [sys.executable, "-m", "privopt", "bench", "run", "--problem", "joint.json", "-s", "column-generation"],
        cwd=tmp_path, check=True, capture_output=True,
    )  # fmt: skip
    folder = tmp_path / "privopt-runs" / "joint"
    rows = read_run(folder)[1]
    (one,) = read_series(folder, rows)
    assert one.told
    assert one.points[-1] == (rows[0].seconds, rows[0].objective, rows[0].bound)
    merge(tmp_path / "all", [folder])
    assert read_traces(tmp_path / "all") == read_traces(folder)

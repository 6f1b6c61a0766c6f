"""Predicted seconds: recorded runs are met, between them predictions are sensible, and machines scale them."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import privopt as po
from privopt.core import predictions
from privopt.core.predictions import (
    LEAST,
    MOST,
    Entry,
    Timings,
    corrected,
    predicted_seconds,
    read_timings,
    slowness,
    timings,
    write_timings,
)
from privopt.core.registry import problem_types
from privopt.errors import FileRefused

SIZES = st.tuples(st.integers(1, 10**6), st.integers(1, 10**4))
SECONDS = st.floats(1e-4, 1e2)
ENTRIES = st.lists(st.builds(Entry, SIZES, SECONDS, SECONDS), min_size=1, max_size=8)
KEY = ("redaction", "windows")


def table(entries: list[Entry], work: float = 1e-3) -> Timings:
    return Timings(work, {KEY: tuple(entries)})


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where a table of one's own is looked for, in an empty folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    timings.cache_clear()
    place = tmp_path / "privopt"
    place.mkdir()
    yield place / "timings.json"
    timings.cache_clear()


@given(ENTRIES)
def test_recorded_runs_are_met(entries: list[Entry]) -> None:
    distinct = list({e.sizes: e for e in entries}.values())
    assume(all(1 / MOST < e.seconds / e.formula < MOST for e in distinct))
    for e in distinct:
        assert math.isclose(table(distinct).seconds(*KEY, e.sizes, e.formula), e.seconds, rel_tol=1e-9)


@given(ENTRIES, SIZES, SECONDS)
def test_predictions_are_between_the_formula_and_the_worst_corrections(
    entries: list[Entry], sizes: tuple[int, int], formula: float
) -> None:
    predicted = table(entries).seconds(*KEY, sizes, formula)
    errors = [0.0, *(e.error for e in entries)]
    low, high = min(errors), max(errors)
    assert formula * math.exp(low) * (1 - 1e-9) <= predicted <= formula * math.exp(high) * (1 + 1e-9)
    assert predicted > 0


@given(ENTRIES, SIZES, SECONDS, st.floats(0.1, 10))
def test_seconds_and_formulas_may_have_any_unit(
    entries: list[Entry], sizes: tuple[int, int], formula: float, unit: float
) -> None:
    scaled = [Entry(e.sizes, e.formula * unit, e.seconds * unit) for e in entries]
    predicted = table(scaled).seconds(*KEY, sizes, formula * unit)
    assert math.isclose(predicted, unit * table(entries).seconds(*KEY, sizes, formula), rel_tol=1e-6)


@given(ENTRIES, SIZES, SECONDS, st.integers(2, 50))
def test_sizes_may_have_any_unit(
    entries: list[Entry], sizes: tuple[int, int], formula: float, unit: int
) -> None:
    finer = [Entry((e.sizes[0] * unit, e.sizes[1]), e.formula, e.seconds) for e in entries]
    predicted = table(finer).seconds(*KEY, (sizes[0] * unit, sizes[1]), formula)
    assert math.isclose(predicted, table(entries).seconds(*KEY, sizes, formula), rel_tol=1e-6)


def test_what_was_never_recorded_keeps_its_formula() -> None:
    known = table([Entry((10, 2), 1.0, 5.0)])
    assert known.seconds("redaction", "optimal", (10, 2), 0.3) == 0.3
    assert known.seconds(*KEY, (10,), 0.3) == 0.3  # of another form
    assert known.seconds(*KEY, (10, 2), math.inf) == math.inf
    assert math.isnan(known.seconds(*KEY, (10, 2), math.nan))
    assert LEAST < known.seconds(*KEY, (10, 2), 0.0) < 5 * LEAST  # as if it said the least


def test_far_from_all_records_the_formula_counts() -> None:
    known = table([Entry((10, 2), 1.0, 8.0)])
    factors = [known.seconds(*KEY, (10**power, 2), 1.0) for power in (1, 2, 3, 5, 9)]
    assert factors == sorted(factors, reverse=True)
    assert factors[0] == pytest.approx(8.0)
    assert factors[-1] < 1.5


def test_a_formula_beyond_all_measure_is_believed_only_far_from_records() -> None:
    known = table([Entry((10, 2), 1e15, 0.5)])
    assert known.seconds(*KEY, (10, 2), 1e15) == pytest.approx(0.5)
    assert known.seconds(*KEY, (12, 2), 1e16) < 1.0
    assert known.seconds(*KEY, (10**9, 2), 1e16) > 1e3


@given(st.floats(1e-5, 1.0), st.floats(1e-5, 1.0), st.floats(1e-5, 1.0))
def test_slower_machines_are_predicted_slower(here: float, slower: float, there: float) -> None:
    here, slower = sorted((here, slower))
    assert slowness(here, there) <= slowness(slower, there)
    assert 0.5 <= slowness(here, there) / (here / there) <= 2.0


def test_the_machine_scales_every_prediction(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_timings(own, table([Entry((10, 2), 1.0, 8.0)]))
    for work, factor in ((1e-3, 1.0), (4e-3, 4.0), (2.5e-4, 0.25)):
        monkeypatch.setattr(predictions, "work_here", lambda work=work: work)
        assert predicted_seconds(*KEY, (10, 2), 1.0) == pytest.approx(8 * factor)
        assert predicted_seconds("redaction", "optimal", (10, 2), 1.0) == pytest.approx(factor)


def test_tables_are_written_and_read(own: Path) -> None:
    known = table([Entry((10, 2), 1.0, 8.0), Entry((1000, 2), 0.125, 0.5)])
    write_timings(own, known)
    assert read_timings(own.read_text(), "here") == known
    assert timings() == known


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"format": "privopt/timings", "version": 2, "work": 1, "entries": {}}',
        '{"format": "privopt/timings", "version": 1, "work": -1, "entries": {}}',
        '{"format": "privopt/timings", "version": 1, "work": 1, "entries": []}',
        '{"format": "privopt/timings", "version": 1, "work": 1, "entries": {"a": {"b": [[1]]}}}',
        '{"format": "privopt/timings", "version": 1, "work": 1, "entries": {"a": {"b": [[1.5, 1, 1]]}}}',
        '{"format": "privopt/timings", "version": 1, "work": 1, "entries": {"a": {"b": [[1, 1, "x"]]}}}',
    ],
)
def test_a_malformed_table_is_refused_and_the_one_that_ships_counts(own: Path, text: str) -> None:
    with pytest.raises(FileRefused):
        read_timings(text, "here")
    own.write_text(text)
    with pytest.warns(UserWarning, match="bench calibrate writes it again"):
        assert timings().work > 0


def test_the_table_that_ships_names_solvers_that_exist(own: Path) -> None:
    from privopt.core.registry import solvers_of

    kinds = problem_types()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shipped = timings()
    assert shipped.entries
    for kind, solver in shipped.entries:
        assert solver in solvers_of(kinds[kind]), (kind, solver)


def test_every_problem_says_how_large_it_is() -> None:
    for cls in problem_types().values():
        for example in cls.examples():
            assert example.problem.sizes
            assert all(type(size) is int and size >= 1 for size in example.problem.sizes), example.name


def test_a_reformulation_is_as_large_as_its_target() -> None:
    problem = po.PointwiseMaximalLeakage.examples()[0].problem
    assert isinstance(problem, po.PointwiseMaximalLeakage)
    assert problem.sizes == problem.target.sizes


def test_refusals_are_not_predicted() -> None:
    problem = po.PointwiseMaximalLeakage.examples()[0].problem
    for candidate in po.candidates(problem):
        again = corrected(candidate, problem)
        assert (again.refusal, again.guarantee) == (candidate.refusal, candidate.guarantee)
        assert (again.seconds is None) == (candidate.seconds is None)


def test_a_process_that_is_ready_need_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.random.default_rng(0).dirichlet(np.ones(200), 4)
    joint = po.JointDistribution.normalised(table)
    problem = po.DistortionPrivacy(joint, 1.0 - np.eye(200), max_leakage=0.5)
    seconds = dict[bool, dict[str, float]]()
    for ready in (False, True):
        monkeypatch.setattr(predictions, "child_is_ready", lambda ready=ready: ready)
        listed = po.candidates(problem)
        seconds[ready] = {c.name: c.seconds for c in listed if c.seconds is not None}
    with_process = {c.name for c in listed if c.refusal is None and not c.polls}
    assert with_process
    for name, before in seconds[False].items():
        if name in with_process:
            assert 0.3 <= seconds[True][name] < before
        else:
            assert seconds[True][name] == before


def test_what_is_not_imported_yet_takes_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    joint = po.JointDistribution.normalised([[2, 1, 1], [1, 2, 3]])
    problem = po.DistortionPrivacy(joint, 1 - np.eye(3), max_leakage=0.1)
    monkeypatch.setitem(sys.modules, "cvxpy", sys)  # whether it is there is all that counts
    monkeypatch.setitem(sys.modules, "clarabel", sys)

    def seconds() -> float:
        listed = {c.name: c for c in po.candidates(problem)}
        assert listed["conic-clarabel"].polls
        return float(listed["conic-clarabel"].seconds or 0.0)

    warm = seconds()
    monkeypatch.delitem(sys.modules, "cvxpy")
    there = timings()
    assert seconds() - warm == pytest.approx(slowness(predictions.work_here(), there.work) * there.start)

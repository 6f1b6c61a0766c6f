"""The recorded table of times: what is measured for it, and by how much predictions are off."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import privopt as po
from privopt.benchmarks.timings import calibrate
from privopt.benchmarks.timings.calibrate import Reading, readings, table_of
from privopt.benchmarks.timings.measurements import predictions
from privopt.benchmarks.timings.sizes import FAMILIES
from privopt.cli import app
from privopt.core.predictions import read_timings, timings
from privopt.core.registry import problem_types
from privopt.core.solver import Guarantee

SMALL = tuple(f for f in FAMILIES if f.name in ("belief, hamming", "redaction, sequential"))


def reading(formula: float, seconds: float, *, stopped: bool = False) -> Reading:
    return Reading("any", "redaction", "windows", (10, 2, 1), formula, seconds, stopped)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two instances of one family."""
    family = next(f for f in FAMILIES if f.name == "belief, hamming")

    def two(*, recorded: bool, few: bool = False) -> list[tuple[str, object]]:
        return [(family.name, lambda n=n: family.make(n)) for n in ((4, 6) if recorded else (5,))]

    monkeypatch.setattr(calibrate, "instances", two)


def test_every_problem_that_is_no_other_has_families() -> None:
    kinds = {family.make(*family.recorded[0]).kind for family in FAMILIES}
    assert kinds == set(problem_types()) - {"pointwise_maximal_leakage"}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_sizes_in_between_are_not_in_the_table(family: calibrate.Any) -> None:
    recorded = {family.make(*sizes).sizes for sizes in family.recorded[:3]}
    between = {family.make(*sizes).sizes for sizes in family.between[:2]}
    assert not recorded & between
    assert {len(sizes) for sizes in recorded} == {len(sizes) for sizes in between}


def test_a_prediction_is_off_by_its_ratio() -> None:
    assert reading(1.0, 2.0).error(0.2) == 10.0
    assert reading(1.0, 2.0).error(20.0) == 10.0
    assert reading(1.0, 1e-6).error(5e-3) == 1.0  # so little that nobody minds
    assert reading(1.0, 2.0, stopped=True).error(1e9) == 1.0  # it may well have taken that long
    assert reading(1.0, 2.0, stopped=True).error(0.1) == 20.0


def test_the_table_keeps_that_a_stopped_run_took_at_least_so_long() -> None:
    assert reading(30.0, 2.0, stopped=True).entry.seconds == 30.0
    assert reading(0.1, 2.0, stopped=True).entry.seconds == 2.0
    assert reading(30.0, 2.0).entry.seconds == 2.0
    assert table_of([reading(float("inf"), 1.0)], 1.0).entries == {}


def test_a_run_that_ends_early_for_want_of_time_counts_as_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    family = next(f for f in FAMILIES if f.name == "ldp of the secret itself")
    monkeypatch.setattr(
        calibrate, "instances", lambda *, recorded, few=False: [(family.name, lambda: family.make(10))]
    )
    solvers = {"vertices-systems": calibrate.solvers_of(po.LocalInformationPrivacy)["vertices-systems"]}
    monkeypatch.setattr(calibrate, "solvers_of", lambda kind: solvers)
    (read,) = readings(recorded=True, limit=0.5, told=lambda name, seconds: None)
    assert read.stopped  # it keeps two fifths of its time for the program over the vertices
    assert read.seconds < 0.5
    assert read.entry.seconds == read.formula
    assert read.error(read.formula) == 1.0


@pytest.mark.long
@pytest.mark.usefixtures("small")
def test_solvers_are_read_but_no_oracles() -> None:
    read = list(readings(recorded=True, limit=0.3, told=lambda name, seconds: None))
    assert {r.kind for r in read} == {"belief_release"}
    assert {r.sizes for r in read} == {(4,), (6,)}
    assert all(r.seconds >= 0 and r.formula > 0 for r in read)
    assert "oracle" not in {r.solver for r in read}
    assert Guarantee.ORACLE.name not in {r.solver for r in read}


@pytest.mark.long
@pytest.mark.usefixtures("small")
def test_the_command_writes_a_table_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    timings.cache_clear()
    done = CliRunner().invoke(app, ["bench", "calibrate", "--limit", "0.5"])
    assert done.exit_code == 0, done.output
    assert "Written" in done.stdout
    own = tmp_path / "privopt" / "timings.json"
    assert timings() == read_timings(own.read_text(), "here")
    assert ("belief_release", "closed-form") in timings().entries
    timings.cache_clear()


@pytest.mark.long
@pytest.mark.usefixtures("small")
def test_predictions_in_between_are_compared_with_runs() -> None:
    total, *rows = predictions.predictions(True)
    assert total.size == len(rows) > 0
    assert total.quality == sum((row.quality or 0) > predictions.MOST for row in rows)
    assert [row.quality for row in rows] == sorted((row.quality for row in rows), reverse=True)  # type: ignore[type-var]

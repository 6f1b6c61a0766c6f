"""Timed measurements: the registry, the rows, the invariants, the page, the command."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from oracles.enumeration import leakage
from typer.testing import CliRunner

import privopt as po
from privopt.benchmarks.catalogue import Catalogue
from privopt.benchmarks.papers.redactions import General, all_at_once, one_by_one
from privopt.benchmarks.timings import measurement as _measurements
from privopt.benchmarks.timings.invariants import redaction as invariants
from privopt.benchmarks.timings.measurement import (
    Measurement,
    Timing,
    clock,
    find_measurement,
    measurements,
    register_measurement,
)
from privopt.benchmarks.timings.measurements import redaction as isotonic
from privopt.benchmarks.timings.page import growth_caption, holds, lines, page, sentences
from privopt.benchmarks.timings.run import CSV, JSONL, Measured, measure, write_measurements
from privopt.cli import app
from privopt.errors import InvalidProblem

FAILED = Measurement("broken", "An invariant that fails", lambda quick: [])


@pytest.fixture(scope="module")
def measured() -> tuple[Measured, ...]:
    """Every measurement, small."""
    return measure(tuple(measurements().values()), quick=True)


def rows(measured: Sequence[Measured], name: str) -> tuple[Timing, ...]:
    return next(one.timings for one in measured if one.measurement.name == name)


# the registry


def test_a_taken_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_measurements, "_CATALOGUE", Catalogue("a measurement", _measurements.__name__))
    enter = register_measurement("one", "first")
    enter(lambda quick: [])
    with pytest.raises(ValueError, match="measurement 'one' is registered twice"):
        enter(lambda quick: [])


def test_an_unknown_name_is_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidProblem, match=r"no measurement 'speed'; there are .*redaction-laws"):
        find_measurement("speed")


# what was measured


@pytest.mark.long
def test_every_measurement_gives_whole_rows(measured: tuple[Measured, ...]) -> None:
    assert len(measured) == len(measurements())
    for one in measured:
        assert one.timings, one.measurement.name
        for timing in one.timings:
            assert timing.size > 0
            assert timing.note
            assert timing.seconds is not None
            assert timing.seconds > 0
            assert (timing.ratio is None) == (timing.reference_seconds is None)


@pytest.mark.long
def test_no_invariant_is_violated(measured: tuple[Measured, ...]) -> None:
    checked = rows(measured, "redaction-laws")
    assert {timing.case for timing in checked} == set(invariants.INVARIANTS)
    assert [timing.case for timing in checked if timing.quality != 0] == []
    assert holds(measured)


@pytest.mark.long
def test_references_agree(measured: tuple[Measured, ...]) -> None:
    for timing in rows(measured, "redaction-isotonic"):
        assert abs(timing.quality or 0.0) < 1e-6
    for timing in rows(measured, "redaction-leakage"):
        assert not timing.reference or (timing.quality or 0.0) < 1e-12
    for timing in rows(measured, "redaction-optimal"):
        assert (timing.quality or 0.0) > -1e-7


@pytest.mark.parametrize("kind", range(6))
def test_enumerations_agree_with_exact_rationals(kind: int) -> None:
    rng = np.random.default_rng(kind)
    k, length = 2 + kind % 2, 3
    chain = po.MarkovChain.normalised(rng.dirichlet(np.ones(k), size=k), initial=rng.dirichlet(np.ones(k)))
    table = np.round(rng.random((length, k)) * 4) / 4
    table[kind % length] = 1.0
    exact = leakage(chain, kind % length, table)
    assert one_by_one(chain, kind % length, table) == pytest.approx(exact, abs=1e-12)
    assert all_at_once(chain, kind % length, table) == pytest.approx(exact, abs=1e-12)


def test_the_general_solver_finds_the_known_optimum() -> None:
    problem = po.Redaction(po.MarkovChain([[0.75, 0.25], [0.5, 0.5]]), 2, 0, 0.5)
    assert General(problem).best(starts=3) == pytest.approx(0.2935891381, abs=1e-7)


def test_a_missing_back_end_is_a_row_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isotonic, "find_spec", lambda name: None)
    timings = isotonic.against_conic((10,))
    assert len(timings) == 3
    assert all("is not installed" in timing.note and timing.ratio is None for timing in timings)


def test_a_back_end_that_fails_is_a_row_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> None:
        raise ArithmeticError("ended with no solution")

    monkeypatch.setattr(isotonic, "_warm_up", lambda: None)
    monkeypatch.setattr(isotonic, "solve_side", fail)
    assert {timing.note for timing in isotonic.against_conic((10,))} == {"ended with no solution"}


# clock, slopes, files, page


def test_the_clock_gives_the_result_and_a_time() -> None:
    calls: list[int] = []
    result, seconds = clock(lambda: calls.append(1) or len(calls))
    assert result == 1
    assert 0 < seconds < 1
    assert len(calls) > 7


def test_slopes_are_fitted_where_sizes_span_enough() -> None:
    wide = [Timing("cubic", n, 1e-6 * n**3, "square", 1e-6 * n**2, n**-1.0) for n in (10, 30, 100)]
    drawn = lines(wide)
    assert [line.name for line in drawn] == ["cubic", "square"]
    assert [line.slope for line in drawn] == pytest.approx([3.0, 2.0])
    assert "cubic: n^3.00; square: n^2.00" in growth_caption(drawn)
    assert [line.slope for line in lines([Timing("narrow", n, 1.0) for n in (3, 4, 5)])] == [None]


@pytest.mark.long
def test_the_files_hold_every_row(measured: tuple[Measured, ...], tmp_path: Path) -> None:
    write_measurements(tmp_path, measured)
    stored = [json.loads(line) for line in (tmp_path / JSONL).read_text(encoding="utf-8").splitlines()]
    with (tmp_path / CSV).open(encoding="utf-8", newline="") as stream:
        table = list(csv.DictReader(stream))
    assert len(stored) == len(table) == sum(len(one.timings) for one in measured)
    assert [row["measurement"] for row in stored] == [row["measurement"] for row in table]
    assert stored[0]["seconds"] == measured[0].timings[0].seconds


@pytest.mark.long
def test_the_page_needs_nothing_but_itself(measured: tuple[Measured, ...]) -> None:
    pytest.importorskip("matplotlib")
    text = page(measured, "now", True, {"Python": "3"})
    assert "default-src 'none'" in text
    assert not re.search(r'(src|href)="(?!#)|@import|url\((?!#)', text)
    assert text.count("<svg") == text.count("<figcaption") >= 4
    assert text.count("<table") == len(measured) + 1
    assert all(f'<details class="fold" id="{one.measurement.name}">' in text for one in measured)
    identifiers = re.findall(r'\bid="([^"]*)"', text)
    assert len(set(identifiers)) == len(identifiers)


def test_a_violated_invariant_is_an_alarm() -> None:
    broken = Measured(
        FAILED, (Timing("an invariant", 5, 0.1, quality=2.0, note="violations", holds=False),), 0.1
    )
    assert not holds([broken])
    assert sentences([broken]) == (
        "1 invariants were checked on 5 random instances in all; violated: an invariant.",
    )
    text = page([broken], "now", False, {})
    assert 'class="alarm red"' in text
    assert '<td class="n badtext">2</td>' in text


def test_infinite_numbers_can_be_written() -> None:
    assert Timing("case", 1, math.inf).to_dict()["seconds"] == "inf"


# the command


@pytest.mark.long
def test_the_command_writes_rows_and_page(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    arguments = ["bench", "measure", "redaction-growth", "--quick", "--output", str(folder)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "one side, α = 0.01, β = 0.8" in result.stdout
    assert {path.name for path in folder.iterdir()} == {CSV, JSONL, "report.html"}


@pytest.mark.long
def test_a_violation_exits_with_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(invariants.INVARIANTS, "never", lambda rng: False)
    arguments = ["bench", "measure", "redaction-laws", "--quick", "--json", "--output", str(tmp_path)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 1
    assert json.loads(result.stdout)["holds"] is False


def test_misuse_exits_with_two(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["bench", "measure", "no-such-thing", "--output", str(tmp_path)])
    assert result.exit_code == 2

"""The job from solving to the release, and the data sets."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
import shutil
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import privopt as po
from privopt.benchmarks.data import external as registry
from privopt.benchmarks.data.external import external_sets, load_external
from privopt.benchmarks.data.shipped import seattle_weather
from privopt.benchmarks.report.findings import counts
from privopt.benchmarks.report.write import Verdict, judge_run, write_report
from privopt.benchmarks.runner.folder import PROBLEM, RELEASED, SOLUTION, Manifest, read_run
from privopt.benchmarks.runner.job import Job, verify_folder
from privopt.benchmarks.runner.rows import Row
from privopt.benchmarks.runner.store import alarm, contradictions
from privopt.benchmarks.runner.suite import find_suite
from privopt.benchmarks.suites.redaction import frost_chain, month, records
from privopt.cli import app
from privopt.errors import FileRefused

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Verdict]:
    """The quick job at its showcase budget, on the showcase instance."""
    few = replace(find_suite("quick"), instances=lambda: month()[:1], budgets=(1.0,))
    folder = tmp_path_factory.mktemp("run")
    return folder, Job(few, folder, folder / "report.html").run()


@pytest.fixture
def rows(run: tuple[Path, Verdict]) -> tuple[Row, ...]:
    return read_run(run[0])[1]


# the release


def test_the_release_verifies_from_its_files(run: tuple[Path, Verdict]) -> None:
    certificate = verify_folder(run[0])
    assert certificate is not None
    assert certificate.ok
    assert run[1].holds
    said = " ".join(run[1].sentences)
    assert certificate.statement in said
    assert all(text in said for text in certificate.uncovered)


def test_the_released_csv_shows_only_true_letters_and_hides_the_private_day(
    run: tuple[Path, Verdict],
) -> None:
    with (run[0] / RELEASED).open(encoding="utf-8", newline="") as stream:
        header, *lines = list(csv.reader(stream))
    truth = records()
    assert header == ["date", "frost"]
    assert [line[0] for line in lines] == list(truth.labels)
    assert all(shown in ("", letter) for (_, shown), letter in zip(lines, truth.letters, strict=True))
    assert lines[15][1] == ""


def test_the_best_certified_solution_is_released(run: tuple[Path, Verdict], rows: tuple[Row, ...]) -> None:
    released = po.Solution.load(run[0] / SOLUTION)
    best = max(row.utility or 0.0 for row in rows if row.instance == "month-middle")
    assert released.utility == pytest.approx(best, abs=1e-9)


def test_a_changed_solution_no_longer_holds(run: tuple[Path, Verdict], tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in run[0].iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    stored = json.loads((copy / SOLUTION).read_text(encoding="utf-8"))
    (copy / SOLUTION).write_text(json.dumps({**stored, "utility": 0.99}), encoding="utf-8")
    assert not write_report(copy, copy / "again.html").holds
    assert "could NOT be proved private" in (copy / "again.html").read_text(encoding="utf-8")
    result = CliRunner().invoke(app, ["bench", "report", str(copy)])
    assert result.exit_code == 1


# data


def test_weather_is_complete_and_as_stated() -> None:
    weather = seattle_weather()
    steps = {(b - a).days for a, b in zip(weather.dates, weather.dates[1:], strict=False)}
    assert len(weather.dates) == 1461
    assert steps == {1}
    assert len(weather.precipitation) == len(weather.temp_min) == 1461
    assert weather.temp_min.min() == -7.1
    content = files("privopt.benchmarks.data").joinpath("seattle-weather.csv").read_bytes()
    licences = files("privopt.benchmarks.data").joinpath("LICENCES.md").read_text(encoding="utf-8")
    assert hashlib.sha256(content).hexdigest() in licences


def test_the_frost_chain_is_positively_correlated_with_a_medium_region() -> None:
    chain = frost_chain()
    (_, alpha), (beta, _) = chain.transition.tolist()
    assert beta > 10 * alpha
    assert 1 - alpha - beta > 0.5
    reach = np.linalg.matrix_power(chain.transition, 5)
    mild, frost = np.abs(np.log(reach[0] / reach[1]))
    assert mild < 0.2
    assert frost > 1.0


def test_external_sets_have_everything_stated() -> None:
    assert len(external_sets()) == 16
    for entry in external_sets().values():
        assert re.fullmatch("[0-9a-f]{64}", entry.sha256)
        assert not Path(entry.file).is_absolute()
        assert entry.origin.endswith(".")
        assert entry.licence.endswith(".")


def test_external_set_errors_are_sentences(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(registry.FOLDER, raising=False)
    with pytest.raises(FileRefused, match=r"set PRIVOPT_DATA to the folder that holds galton/galton\.csv"):
        load_external("galton")
    monkeypatch.setenv(registry.FOLDER, str(tmp_path))
    with pytest.raises(FileRefused, match=r"galton\.csv cannot be read"):
        load_external("galton")
    (tmp_path / "galton").mkdir()
    (tmp_path / "galton" / "galton.csv").write_text("changed", encoding="utf-8")
    with pytest.raises(FileRefused, match="is not the galton that is meant: its sha256 is"):
        load_external("galton")
    with pytest.raises(FileRefused, match="there is no external data set 'nothing'"):
        load_external("nothing")


@pytest.mark.parametrize("name", sorted(external_sets()))
def test_external_sets_that_are_present_are_the_right_ones(name: str) -> None:
    if not os.environ.get(registry.FOLDER):
        pytest.skip(f"{registry.FOLDER} is not set: external data sets do not ship with the package")
    assert load_external(name).is_file()


# a second draw, and answers that contradict each other


@pytest.mark.long
def test_a_finished_run_asked_again_does_not_draw_its_release_again(
    run: tuple[Path, Verdict], tmp_path: Path
) -> None:
    copy = tmp_path / "again"
    shutil.copytree(run[0], copy)
    before = {name: (copy / name).read_bytes() for name in (PROBLEM, SOLUTION, RELEASED)}
    few = replace(find_suite("quick"), instances=lambda: month()[:1], budgets=(1.0,))
    assert Job(few, copy, copy / "report.html").run().holds
    assert {name: (copy / name).read_bytes() for name in before} == before
    (copy / RELEASED).unlink()
    assert Job(few, copy, copy / "report.html").run().holds
    assert (copy / RELEASED).exists()


def test_a_certified_answer_above_a_checked_bound_is_an_alarm(rows: tuple[Row, ...]) -> None:
    bounded = next(row for row in rows if row.bound is not None and row.certified)
    reached = next(row for row in rows if row.certified and row.solver != bounded.solver)
    assert contradictions(rows) == []
    assert alarm(rows) == ""
    wrong = replace(bounded, bound=(reached.objective or 0.0) - 1e-9)
    planted = tuple(wrong if row is bounded else row for row in rows)
    assert (reached, wrong) in contradictions(planted)
    assert wrong.solver in alarm(planted)
    manifest = read_run_manifest(rows)
    verdict = judge_run(manifest, planted, None)
    assert not verdict.holds
    assert verdict.sentences[0].startswith("ALARM")


def read_run_manifest(rows: tuple[Row, ...]) -> Manifest:
    return Manifest("quick", "", (), "", 1.0, {}, rows[0].instance, rows[0].budget)


def test_a_claim_that_fails_names_solver_and_instance(rows: tuple[Row, ...]) -> None:
    good = next(row for row in rows if row.verified)
    bad = replace(
        good, verified=False, claim_holds=False, reason="the stated leakage 0.5 is not in [0.7, 0.7]"
    )
    said = " ".join(counts([bad]))
    assert f"{bad.solver} on {bad.instance}" in said
    assert "0.5 is not in [0.7, 0.7]" in said

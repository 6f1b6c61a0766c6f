"""Suites, rows, the job from solving to the page, and the data sets."""

from __future__ import annotations

import csv
import hashlib
import html
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import privopt as po
from privopt._registry import solvers_of
from privopt.benchmarks import _suites, registry
from privopt.benchmarks._folder import RELEASED, ROWS, RUN, SOLUTION, TABLE
from privopt.benchmarks._job import Job
from privopt.benchmarks._release import verify_folder
from privopt.benchmarks._rows import Row, read_rows, row_from_dict, write_rows
from privopt.benchmarks._suites import Instance, Suite, find_suite, register_suite, suites
from privopt.benchmarks.loaders import seattle_weather
from privopt.benchmarks.registry import external_sets, load_external
from privopt.benchmarks.report import Verdict, write_report
from privopt.benchmarks.runner import Task, run_suite, run_task, tasks_of
from privopt.benchmarks.suites.quick import frost_chain, instances, records
from privopt.cli import app
from privopt.errors import FileRefused, InvalidProblem


def smaller(suite: Suite) -> Suite:
    """The smallest instance of a suite with its largest budget."""
    least = min(suite.instances(), key=lambda instance: instance.size)
    return replace(suite, instances=lambda: (least,), budgets=(max(suite.budgets),), showcase=None)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Verdict]:
    """The quick job at its showcase budget, on the showcase instance and the private day at the start."""
    quick = find_suite("quick")
    few = replace(quick, instances=lambda: instances()[:2], budgets=(1.0,))
    folder = tmp_path_factory.mktemp("run")
    return folder, Job(few, folder, folder / "report.html").run()


@pytest.fixture
def rows(run: tuple[Path, Verdict]) -> tuple[Row, ...]:
    return read_rows(run[0] / ROWS)


@pytest.fixture
def page(run: tuple[Path, Verdict]) -> str:
    return (run[0] / "report.html").read_text(encoding="utf-8")


# suites and runner


@pytest.mark.parametrize("name", sorted(suites()))
def test_every_suite_runs_on_its_smallest_instance(name: str) -> None:
    small = smaller(find_suite(name))
    outcomes = run_suite(small)
    assert len(outcomes) == len(solvers_of(type(small.instances()[0].problem)))
    assert any(outcome.row.verified for outcome in outcomes)
    assert not any(outcome.row.broken for outcome in outcomes)


@pytest.mark.parametrize("name", sorted(suites()))
def test_every_suite_is_well_formed(name: str) -> None:
    suite = find_suite(name)
    names = [instance.name for instance in suite.instances()]
    assert len(set(names)) == len(names)
    assert tuple(sorted(set(suite.budgets))) == suite.budgets
    assert all(sentence.endswith(".") for sentence in suite.about())
    if suite.showcase is not None:
        assert suite.showcase.instance in names
        assert suite.showcase.budget in suite.budgets
        assert len(suite.showcase.records().labels) == len(suite.showcase.records().letters)


def test_a_suite_of_a_taken_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_suites, "_suites", dict(suites()))
    with pytest.raises(ValueError, match="'quick' is registered twice"):
        register_suite(replace(find_suite("quick"), describe="another"))


def test_every_suite_file_registers() -> None:
    folder = Path(str(files("privopt.benchmarks.suites")))
    for path in folder.glob("[!_]*.py"):
        assert "register_suite(" in path.read_text(encoding="utf-8"), path


def test_an_unknown_suite_is_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidProblem, match=r"there is no suite 'slow'; there are .*quick"):
        find_suite("slow")


def test_tasks_are_instances_times_budgets_times_solvers() -> None:
    quick = find_suite("quick")
    count = len(solvers_of(po.Redaction))
    assert len(tasks_of(quick)) == len(quick.instances()) * len(quick.budgets) * count
    assert {task.seed for task in tasks_of(quick, seed=7)} == {7}
    assert {task.time_limit for task in tasks_of(quick, time_limit=0.5)} == {0.5}


@pytest.mark.parametrize(("solver", "budget"), [("no-such-solver", 1.0), ("windows", -1.0)])
def test_misuse_inside_a_task_becomes_a_failed_row(solver: str, budget: float) -> None:
    outcome = run_task(Task("test", instances()[2], solver, budget, 5.0, 0))
    assert outcome.row.status == "FAILED"
    assert outcome.row.reason
    assert outcome.row.utility is None
    assert outcome.solution is None


def test_refusals_are_rows_with_reasons(rows: tuple[Row, ...]) -> None:
    refused = [row for row in rows if row.status == "REFUSED"]
    assert refused
    assert all(row.reason and row.utility is None and not row.certified for row in refused)


def test_rows_are_judged_and_verified(rows: tuple[Row, ...]) -> None:
    solved = [row for row in rows if row.ok]
    assert solved
    for row in solved:
        assert row.certified
        assert row.verified
        assert row.leakage is not None
        assert row.leakage <= row.budget * (1 + 1e-12)
        assert len(row.fingerprint) == 64


# rows as files


def test_rows_survive_the_file(rows: tuple[Row, ...], tmp_path: Path) -> None:
    odd = replace(rows[0], raw_leakage=float("inf"), reason='a "quoted", reason\nin two lines')
    write_rows(tmp_path / "rows.jsonl", [odd, *rows])
    assert read_rows(tmp_path / "rows.jsonl") == (odd, *rows)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"status": "GREAT"}, "status of a row"),
        ({"utility": "much"}, "utility of a row"),
        ({"seed": 1.5}, "seed of a row: expected int"),
        ({"extra": 1}, "extra is missing or unknown"),
    ],
)
def test_a_row_of_the_wrong_kind_is_refused(
    rows: tuple[Row, ...], change: dict[str, object], message: str
) -> None:
    with pytest.raises(FileRefused, match=message):
        row_from_dict({**rows[0].to_dict(), **change})


def test_a_broken_line_is_named(rows: tuple[Row, ...], tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(json.dumps(rows[0].to_dict()) + "\n{", encoding="utf-8")
    with pytest.raises(FileRefused, match="line 2"):
        read_rows(tmp_path / "rows.jsonl")


def test_the_csv_holds_the_same_rows(run: tuple[Path, Verdict], rows: tuple[Row, ...]) -> None:
    with (run[0] / TABLE).open(encoding="utf-8", newline="") as stream:
        lines = list(csv.DictReader(stream))
    assert [line["solver"] for line in lines] == [row.solver for row in rows]
    assert [float(line["utility"] or "nan") for line in lines if line["utility"]] == [
        r.utility for r in rows if r.ok
    ]


# the release


def test_the_release_verifies_from_its_files(run: tuple[Path, Verdict]) -> None:
    certificate = verify_folder(run[0])
    assert certificate is not None
    assert certificate.ok
    assert run[1].holds


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


# the page


class Loads(HTMLParser):
    """Collects what a page would fetch, and its identifiers."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.identifiers: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "xlink:href", "srcset", "data", "action") and not (
                value or ""
            ).startswith("#"):
                self.fetched.append(f"{tag} {name}={value}")
            if name == "id":
                self.identifiers.append(value or "")


def test_the_page_fetches_nothing(page: str) -> None:
    loads = Loads()
    loads.feed(page)
    assert loads.fetched == []
    assert not {"link", "iframe", "img", "object", "embed", "base"} & set(loads.tags)
    assert not re.search(r"@import|url\((?!#)|fetch\(|XMLHttpRequest", page)
    assert "default-src 'none'" in page


def test_the_page_has_figures_with_titles_and_text(page: str) -> None:
    pytest.importorskip("matplotlib")
    loads = Loads()
    loads.feed(page)
    assert page.count("<svg") == page.count("<figcaption>") == 3
    assert page.count('role="img"') == 3
    assert len(set(loads.identifiers)) == len(loads.identifiers)
    assert "ε (nats)</text>" in page


def test_the_page_says_what_was_found(page: str, run: tuple[Path, Verdict], rows: tuple[Row, ...]) -> None:
    assert "Weather stands in for a personal stream" in page
    assert "λ = 0.6693" in page
    assert "the best certified answer to month-middle" in page
    assert "The baseline “windows”" in page
    assert "it is proved again" in page
    for sentence in run[1].sentences:
        assert html.escape(sentence) in page
    for row in rows:
        assert row.solver in page
        if not row.ok:
            assert html.escape(row.reason) in page
    assert page.count("<table") == 5
    assert 'class="hidden"' in page


def test_the_page_is_the_same_again_from_its_files(
    run: tuple[Path, Verdict], page: str, tmp_path: Path
) -> None:
    result = CliRunner().invoke(
        app, ["bench", "report", str(run[0]), "--report", str(tmp_path / "again.html"), "--json"]
    )
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["holds"] is True
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == page


def test_without_matplotlib_the_page_says_so_and_keeps_its_tables(
    run: tuple[Path, Verdict], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert write_report(run[0], tmp_path / "plain.html").holds
    text = (tmp_path / "plain.html").read_text(encoding="utf-8")
    assert "Figures were left out: plots need matplotlib" in text
    assert "<svg" not in text
    assert text.count("<table") == 5


def test_a_name_from_outside_is_escaped(run: tuple[Path, Verdict], tmp_path: Path) -> None:
    for name in (RUN, ROWS):
        (tmp_path / name).write_bytes((run[0] / name).read_bytes())
    hostile = [replace(row, solver="<script>alert(1)</script>") for row in read_rows(tmp_path / ROWS)]
    write_rows(tmp_path / ROWS, hostile)
    write_report(tmp_path, tmp_path / "page.html")
    assert "<script>alert" not in (tmp_path / "page.html").read_text(encoding="utf-8")


# the command line


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> str:
    """A suite of one question of two records, registered for one test."""
    chain = po.MarkovChain([[0.75, 0.25], [0.5, 0.5]])
    suite = Suite(
        "tiny", "one question", lambda: (Instance("two", 2, po.Redaction(chain, 2, 0, 1.0)),), (1.0,), 5.0
    )
    monkeypatch.setattr(_suites, "_suites", {**suites(), "tiny": suite})
    return "tiny"


def test_run_writes_the_folder_and_the_page(
    tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["bench", "run", tiny, "--report", "page.html"])
    assert result.exit_code == 0, result.output
    found = {path.name for path in (tmp_path / "privopt-runs" / tiny).iterdir()}
    assert found == {ROWS, TABLE, RUN}
    assert "No data were released" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_list_names_every_suite() -> None:
    result = CliRunner().invoke(app, ["bench", "list", "--json"])
    assert [suite["name"] for suite in json.loads(result.stdout)["suites"]] == list(suites())
    assert "quick" in CliRunner().invoke(app, ["bench", "list"]).stdout


@pytest.mark.parametrize(
    "arguments",
    [["run", "no-such-suite"], ["report", "no-such-folder"], ["run"], ["run", "quick", "--seed", "x"]],
)
def test_misuse_exits_with_two(arguments: list[str]) -> None:
    assert CliRunner().invoke(app, ["bench", *arguments]).exit_code == 2


def test_imports_are_light() -> None:
    heavy = "scipy matplotlib pandas cvxpy rich.progress privopt.benchmarks.runner"
    code = f"""
import sys, privopt
assert "privopt.benchmarks" not in sys.modules
import privopt.benchmarks.cli
found = [name for name in "{heavy}".split() if name in sys.modules]
assert not found, found
"""
    subprocess.run([sys.executable, "-c", code], check=True)


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
    assert len(external_sets()) == 15
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

"""The report: quantities against brute force, what every format says, hostile names, missing extras."""

from __future__ import annotations

import base64
import gzip
import json
import math
import re
import sys
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from instances.report_rows import HOSTILE, MANIFEST, failed, make_row, synthetic, write_folder
from markupsafe import escape
from typer.testing import CliRunner

import privopt as po
from privopt.benchmarks.report.judged import Dataset, Judged, judged
from privopt.benchmarks.report.mechanism import draw, register_drawing
from privopt.benchmarks.report.page import SCRIPTS, Told
from privopt.benchmarks.report.page import page as html_page
from privopt.benchmarks.report.profiles import Profile, time_profile
from privopt.benchmarks.report.scaling import growths
from privopt.benchmarks.report.style import COLOURS
from privopt.benchmarks.report.write import Verdict, write_report
from privopt.benchmarks.runner.folder import read_released
from privopt.benchmarks.runner.job import Job
from privopt.benchmarks.runner.rows import read_rows
from privopt.benchmarks.runner.suite import Suite, find_suite
from privopt.benchmarks.runner.vocabulary import Vocabulary
from privopt.cli import app

pytestmark = pytest.mark.long

NEEDED = ("altair", "vl_convert", "polars")


def first_instances(suite: Suite) -> Suite:
    """The first two redaction instances of a suite, at its showcase budget."""
    chosen = [i for i in suite.instances() if i.problem.kind == "redaction"][:2]
    return replace(suite, instances=lambda: chosen, budgets=(1.0,))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Verdict]:
    folder = tmp_path_factory.mktemp("run")
    return folder, Job(first_instances(find_suite("quick")), folder, folder / "report.html").run()


@pytest.fixture(scope="module")
def rows() -> tuple[Judged, ...]:
    return judged(synthetic())


# what is known of a case


def test_best_and_bound_are_the_extremes_of_the_case() -> None:
    rows = judged(
        [
            make_row(solver="a", objective=0.5, bound=0.9, gap=0.4),
            make_row(solver="b", objective=0.7, bound=math.inf, gap=math.inf),
            make_row(solver="c", objective=0.8, verified=False),
            make_row(solver="d", objective=0.1, bound=0.75, gap=0.65, seed=3),
            make_row(solver="e", objective=5.0, budget=2.0),
        ]
    )
    assert [j.best for j in rows] == [0.7, 0.7, 0.7, 0.7, 5.0]
    assert [j.bound for j in rows] == [0.75, 0.75, 0.75, 0.75, None]
    # all gaps of a case are to one bound, the least that any of its solvers has
    assert [j.gap for j in rows] == [pytest.approx(gap) for gap in (0.25, 0.05, -0.05, 0.65)] + [None]
    assert [j.reached for j in rows] == [False, True, False, False, True]


@pytest.mark.parametrize(
    ("best", "short", "reached"), [(-3.0, 2.9e-6, True), (-3.0, 3.1e-6, False), (0.0, 9e-7, True)]
)
def test_reaching_is_relative_to_the_larger_of_one_and_the_best(
    best: float, short: float, reached: bool
) -> None:
    rows = judged([make_row(solver="a", objective=best), make_row(solver="b", objective=best - short)])
    assert rows[1].reached is reached


# profiles, against a count by hand in exact fractions


def by_hand(rows: list[Judged], solver: str, tau: float) -> Fraction:
    """The definition, read off the rows afresh for every point."""
    answers: dict[tuple[object, ...], dict[str, Fraction]] = {}
    for j in rows:
        r = j.row
        top = max((o.row.objective or -9e9) for o in rows_of(j) if o.row.verified) if r.verified else 0.0
        near = r.verified and r.objective is not None and r.objective >= top - 1e-6 * max(1.0, abs(top))
        if near:
            key = (r.question, r.instance, r.budget, r.seed, r.time_limit)
            answers.setdefault(key, {})[r.solver] = Fraction(r.seconds or 0.0)
    met = 0
    for costs in answers.values():
        least = min(costs.values())
        if solver in costs:
            met += float(costs[solver] / least) <= tau  # the float nearest to the exact value
    return Fraction(met, len(answers))


ALL: list[Judged] = []


def rows_of(one: Judged) -> list[Judged]:
    """Every run of the same case, whether given to the profile or not."""
    return [j for j in ALL if (j.row.question, j.row.instance, j.row.budget) == (
        one.row.question, one.row.instance, one.row.budget)]  # fmt: skip


@pytest.mark.parametrize("hidden", [set(), {"optimal"}, {"optimal", "windows"}])
def test_profiles_are_the_definition(rows: tuple[Judged, ...], hidden: set[str]) -> None:
    ALL[:] = rows
    own = [j for j in rows if j.row.question == "redaction" and j.row.solver not in hidden]
    profile = time_profile(own)
    assert set(profile.curves) == {j.row.solver for j in own}
    for solver, curve in profile.curves.items():
        assert [y for _, y in curve] == sorted(y for _, y in curve)
        for tau, share in curve:
            assert share == pytest.approx(float(by_hand(own, solver, tau)))
            assert profile.share(solver, tau) == share


def test_a_profile_of_nothing_and_of_failures() -> None:
    assert time_profile([]) == Profile({}, 0)
    answers = [make_row(solver="a"), failed(make_row(solver="b"), "TIME_OUT", "late")]
    profile = time_profile(judged(answers))
    assert profile.tasks == 1
    assert profile.curves == {"a": ((1.0, 1.0),), "b": ((1.0, 0.0),)}
    assert time_profile(judged(answers[1:])).tasks == 0


def test_a_time_of_zero_divides_nothing() -> None:
    profile = time_profile(judged([make_row(solver="a", seconds=0.0), make_row(solver="b", seconds=1e-5)]))
    assert profile.curves["b"][-1] == (pytest.approx(10.0), 1.0)


# scaling and privacy


def test_slopes_of_power_laws_are_found_and_uncompleted_runs_left_out() -> None:
    rows = [
        make_row(
            family="f", instance=f"i{n}", size=n, solver=solver, seconds=1e-4 * n**power, peak_memory=float(n)
        )
        for n in (4, 8, 16, 32)
        for solver, power in (("square", 2.0), ("cube", 3.0))
    ]
    rows[-1] = replace(rows[-1], seconds=11.0)
    rows.append(failed(make_row(family="f", size=64, solver="square"), "TIME_OUT", "late"))
    by_solver = {g.solver: g for g in growths(judged(rows), "seconds")}
    assert by_solver["square"].slope == pytest.approx(2.0)
    assert by_solver["cube"].slope == pytest.approx(3.0)
    assert by_solver["cube"].error == pytest.approx(0.0, abs=1e-12)
    assert (len(by_solver["square"].points), len(by_solver["cube"].points)) == (4, 3)
    assert by_solver["square"].ends() == ((4, pytest.approx(0.0016)), (32, pytest.approx(0.1024)))
    assert [g.slope for g in growths(judged(rows), "peak_memory")] == pytest.approx([1.0, 1.0])
    assert growths(judged([replace(row, family="") for row in rows]), "seconds") == ()


def test_the_error_of_a_slope_is_that_of_the_normal_equations() -> None:
    import numpy as np

    costs = {3: 0.2, 5: 0.3, 9: 0.9, 17: 1.1, 40: 4.0}
    rows = [make_row(family="f", instance=str(n), size=n, seconds=s) for n, s in costs.items()]
    (growth,) = growths(judged(rows), "seconds")
    x, y = np.log(list(costs)), np.log(list(costs.values()))
    design = np.column_stack([np.ones_like(x), x])
    solution = np.linalg.solve(design.T @ design, design.T @ y)
    rest = y - design @ solution
    covariance = np.linalg.inv(design.T @ design) * (rest @ rest) / (len(x) - 2)
    assert (growth.slope, growth.error) == pytest.approx((solution[1], covariance[1, 1] ** 0.5))


# styles


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("ground", ["#ffffff", "#14171a"])
def test_every_colour_shows_on_both_grounds(ground: str) -> None:
    for colour in COLOURS:
        high, low = sorted((luminance(colour), luminance(ground)), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= 3.0


# sentences


# figures


def test_an_unregistered_mechanism_has_no_drawing_and_a_second_drawing_is_refused(
    run: tuple[Path, Verdict],
) -> None:
    pytest.importorskip("altair")
    released = read_released(run[0])
    assert released is not None
    assert isinstance(released.problem, po.Redaction)
    figure = draw(released)
    assert figure is not None
    mechanism = released.solution.mechanism
    for t, state, redacted in figure.data["bars"].records:
        assert isinstance(t, int)
        row = t + released.problem.private[0]
        assert redacted == mechanism.probabilities[row, list(map(str, mechanism.states)).index(str(state))]
    with pytest.raises(ValueError, match="RedactionMechanism is registered twice"):
        register_drawing(po.RedactionMechanism, draw)


# the page


class Loads(HTMLParser):
    """Collects what a page would fetch, its identifiers and tags, and the text of its JSON."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.identifiers: list[str] = []
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "xlink:href", "srcset", "data", "action") and not (
                value or ""
            ).startswith("#"):
                self.fetched.append(f"{tag} {name}={value}")
            if name == "id":
                self.identifiers.append(value or "")


@pytest.fixture(scope="module")
def page(run: tuple[Path, Verdict]) -> str:
    return (run[0] / "report.html").read_text(encoding="utf-8")


def test_the_page_fetches_nothing(page: str) -> None:
    loads = Loads(page)
    assert loads.fetched == []
    assert not {"link", "iframe", "img", "object", "embed", "base"} & set(loads.tags)
    assert "default-src 'none'" in page
    assert "unsafe-eval" not in page
    assert len(set(loads.identifiers)) == len(loads.identifiers)


def stored(text: str) -> dict[str, Any]:
    """What the script of a page reads."""
    (packed,) = re.findall(r'id="data">([^<]*)<', text)
    data: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(packed)))
    return data


def test_the_library_is_inside_and_compressed(page: str) -> None:
    pytest.importorskip("altair")
    (packed,) = re.findall(r'id="library">([^<]*)<', page)
    assert b"vegaEmbed" in gzip.decompress(base64.b64decode(packed))
    assert len(packed) < 500_000


def test_the_page_says_what_was_found(page: str, run: tuple[Path, Verdict]) -> None:
    assert "Weather stands in for a personal stream" in page
    assert "the solver" in page or "of them are shown" in page or "records are shown" in page
    assert "it is proved again" in page
    for sentence in run[1].sentences[-3:]:
        assert str(escape(sentence)) in page
    data = stored(page)["rows"]
    rows = read_rows(run[0] / "rows.jsonl")
    assert [data["solver"]["l"][code] for code in data["solver"]["c"]] == [row.solver for row in rows]
    assert [data["reason"]["l"][code] for code in data["reason"]["c"]] == [row.reason for row in rows]
    assert data["objective"] == [row.objective for row in rows]
    assert 'class="hidden"' in page


@pytest.mark.long
def test_the_page_is_the_same_again_from_its_files(
    run: tuple[Path, Verdict], page: str, tmp_path: Path
) -> None:
    target = tmp_path / "again.html"
    result = CliRunner().invoke(app, ["bench", "report", str(run[0]), "--report", str(target), "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["holds"] is True
    assert target.read_text(encoding="utf-8") == page


@pytest.mark.parametrize("missing", ["altair", "vl_convert"])
def test_without_the_extra_the_page_says_so_and_keeps_its_tables(
    run: tuple[Path, Verdict], page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    assert write_report(run[0], tmp_path / "plain.html").holds
    text = (tmp_path / "plain.html").read_text(encoding="utf-8")
    assert "Figures were left out: figures need altair and vl-convert-python" in stored(text)["missing"]
    assert 'id="library"' not in text
    assert Loads(text).tags.count("table") == Loads(page).tags.count("table")
    assert stored(text)["rows"] == stored(page)["rows"]


def test_names_from_outside_are_escaped(rows: tuple[Judged, ...]) -> None:
    text = html_page(MANIFEST, rows, Vocabulary(), Told())
    assert HOSTILE not in text
    assert str(escape(HOSTILE)) in text
    assert HOSTILE in stored(text)["rows"]["solver"]["l"]


def test_a_row_over_budget_or_a_broken_claim_is_an_alarm(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "run", [make_row(verified=False)])
    assert not write_report(folder, folder / "page.html").holds
    text = (folder / "page.html").read_text(encoding="utf-8")
    assert 'class="alarm red"' in text
    assert "1 certified claim does not hold" in text


def test_a_run_without_rows_is_a_report(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "run", [])
    assert write_report(folder, folder / "page.html").holds


@pytest.mark.long
def test_a_large_run_stays_under_one_megabyte() -> None:
    big = judged(synthetic(sizes=range(2, 33), budgets=[i / 10 for i in range(1, 12)]))
    assert len(big) > 3000
    assert len(html_page(MANIFEST, big, Vocabulary(), Told()).encode()) < 1_000_000


# other formats


@pytest.mark.long
def test_markdown_alone_brings_its_pictures(tmp_path: Path) -> None:
    pytest.importorskip("altair")
    folder = write_folder(tmp_path / "run", [make_row(), make_row(solver="b", budget=2.0)])
    result = CliRunner().invoke(
        app, ["bench", "report", str(folder), "--formats", "md", "--export", str(tmp_path / "e")]
    )
    assert result.exit_code == 0, result.output
    text = (tmp_path / "e" / "report.md").read_text(encoding="utf-8")
    linked = re.findall(r"\]\((figures/[^)]*)\)", text)
    assert linked
    assert all((tmp_path / "e" / name).is_file() for name in linked)
    assert not (folder / "report.html").exists()


def test_misuse_is_refused(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "run", [make_row()])
    assert CliRunner().invoke(app, ["bench", "report", str(folder), "--formats", "docx"]).exit_code == 2
    (tmp_path / "file").write_text("", encoding="utf-8")
    arguments = ["bench", "report", str(folder), "--formats", "csv", "--export", str(tmp_path / "file")]
    assert CliRunner().invoke(app, arguments).exit_code == 2


def test_infinities_are_not_drawn_and_not_lost() -> None:
    data = Dataset(("gap",), ((math.inf,),))
    assert data.records == ((math.inf,),)
    assert data.dictionaries() == [{"gap": None}]


def test_no_two_scripts_of_the_page_define_the_same_name() -> None:
    """They share one scope, in which the later function would silently take the place of the earlier one."""
    defined: dict[str, list[str]] = {}
    web = Path(sys.modules[html_page.__module__].__file__ or "").parent / "web"
    for script in SCRIPTS:
        text = (web / script).read_text(encoding="utf-8")
        for name in re.findall(r"^(?:async )?(?:function|const|let) (\w+)", text, re.MULTILINE):
            defined.setdefault(name, []).append(script)
    assert {name: scripts for name, scripts in defined.items() if len(scripts) > 1} == {}

"""The report: quantities against brute force, what every format says, hostile names, missing extras."""

from __future__ import annotations

import base64
import csv
import gzip
import io
import json
import math
import re
import sys
import xml.etree.ElementTree as ET
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
from privopt.benchmarks.report.content import Content, content
from privopt.benchmarks.report.export import escape_latex
from privopt.benchmarks.report.figure import complete
from privopt.benchmarks.report.findings import findings
from privopt.benchmarks.report.judged import Judged, judged, of_rows, violations
from privopt.benchmarks.report.mechanism import draw, register_drawing
from privopt.benchmarks.report.page import Told
from privopt.benchmarks.report.page import page as html_page
from privopt.benchmarks.report.profiles import Profile, quality_profile, time_profile
from privopt.benchmarks.report.scaling import growths
from privopt.benchmarks.report.style import COLOURS, styles
from privopt.benchmarks.report.write import Verdict, judge_run, write_report, write_reports
from privopt.benchmarks.runner.folder import read_released
from privopt.benchmarks.runner.job import Job
from privopt.benchmarks.runner.rows import Row, read_rows
from privopt.benchmarks.runner.suite import Suite, find_suite
from privopt.benchmarks.runner.vocabulary import Vocabulary
from privopt.cli import app
from privopt.errors import InvalidProblem, MissingExtra

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


@pytest.fixture(scope="module")
def said(rows: tuple[Judged, ...]) -> Content:
    plain = [j.row for j in rows]
    return content(MANIFEST, rows, None, judge_run(MANIFEST, plain, None))


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for name in NEEDED:
        pytest.importorskip(name)
    few = [row for row in synthetic(sizes=(4, 8, 16), budgets=(0.5, 1.0)) if row.question == "redaction"]
    few[5] = failed(few[5], "FAILED", "the back end ended with <no> solution, 100 % lost & gone | _")
    folder = write_folder(tmp_path_factory.mktemp("all") / "run", few)
    write_reports(folder, ["all"], folder / "page.html", None)
    return folder


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
    assert [j.gap for j in rows] == [0.4, math.inf, pytest.approx(-0.05), 0.65, None]
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


def by_hand(rows: list[Judged], kind: str, solver: str, tau: float) -> Fraction:
    """The definition, read off the rows afresh for every point."""
    answers: dict[tuple[object, ...], dict[str, Fraction]] = {}
    for j in rows:
        r = j.row
        top = max((o.row.objective or -9e9) for o in rows_of(j) if o.row.verified) if r.verified else 0.0
        near = r.verified and r.objective is not None and r.objective >= top - 1e-6 * max(1.0, abs(top))
        if r.objective is not None and (near if kind == "time" else r.verified):
            cost = Fraction(r.seconds or 0.0) if kind == "time" else -Fraction(r.objective)
            key = (r.question, r.instance, r.budget, r.seed, r.time_limit)
            answers.setdefault(key, {})[r.solver] = cost
    met = 0
    for costs in answers.values():
        least = min(costs.values())
        if solver in costs:
            apart = costs[solver] / least if kind == "time" else costs[solver] - least
            met += float(apart) <= tau  # the float nearest to the exact value
    return Fraction(met, len(answers))


ALL: list[Judged] = []


def rows_of(one: Judged) -> list[Judged]:
    """Every run of the same case, whether given to the profile or not."""
    return [j for j in ALL if (j.row.question, j.row.instance, j.row.budget) == (
        one.row.question, one.row.instance, one.row.budget)]  # fmt: skip


@pytest.mark.parametrize("hidden", [set(), {"optimal"}, {"optimal", "windows"}])
@pytest.mark.parametrize("kind", ["time", "quality"])
def test_profiles_are_the_definition(rows: tuple[Judged, ...], kind: str, hidden: set[str]) -> None:
    ALL[:] = rows
    own = [j for j in rows if j.row.question == "redaction" and j.row.solver not in hidden]
    profile: Profile = (time_profile if kind == "time" else quality_profile)(own)
    assert set(profile.curves) == {j.row.solver for j in own}
    for solver, curve in profile.curves.items():
        assert [y for _, y in curve] == sorted(y for _, y in curve)
        for tau, share in curve:
            assert share == pytest.approx(float(by_hand(own, kind, solver, tau)))
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


def test_violations_are_counted_before_and_after_repair() -> None:
    lines = violations(
        judged(
            [
                make_row(raw_violation=0.25, repaired=True, utility_lost=0.01),
                make_row(instance="two", raw_violation=math.inf, repaired=True, utility_lost=0.03),
                make_row(instance="three", raw_violation=1e-13),
                replace(failed(make_row(instance="four"), "NOT_PRIVATE", "leaks"), raw_violation=0.5),
                make_row(instance="five", violation=0.1),
                make_row(instance="six", verified=False),
            ]
        )
    )
    (line,) = lines
    assert (line.proposed, line.over, line.worst, line.withheld) == (6, 3, math.inf, 1)
    assert (line.after, line.repaired, line.lost) == (2, 2, 0.03)


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


def test_a_solver_looks_the_same_everywhere_and_unlike_its_rivals(rows: tuple[Judged, ...]) -> None:
    look = styles(rows)
    for question in {j.row.question for j in rows}:
        names = {j.row.solver for j in rows if j.row.question == question}
        assert len({look[name] for name in names}) == len(names)
    many = judged([make_row(solver=f"s{i}") for i in range(40)])
    assert len(set(styles(many).values())) == 40


# sentences


def test_findings_count_what_the_rows_say() -> None:
    rows = [
        make_row(solver=s, instance=f"i{i}", seconds=t * (i + 1))
        for i in range(3)
        for s, t in (("a", 1.0), ("b", 4.0))
    ]
    rows[0] = replace(rows[0], status="OPTIMAL", bound=0.5, gap=0.0)
    rows[1] = replace(rows[1], raw_violation=0.5)
    rows += [failed(make_row(solver="c", instance=f"i{i}"), "REFUSED", "too large.") for i in range(2)]
    rows += [failed(make_row(solver="c", instance="i2"), "TIME_OUT", "late")]
    ((question, said),) = findings(judged(rows))
    assert question == "redaction"
    assert "Certified and best, to 1e-6 relative, of 3 answered cases: a 3, b 3." in said
    assert "Proved optimal by a checked bound: a 1." in said
    assert any(
        "fastest to the best objective: a, on 3 of 3 tasks" in s and "b 4 times (n = 3)" in s for s in said
    )
    assert "Not private as proposed, before repair: b 1 of 3, worst by 0.5." in said
    assert "Out of time, at limits of 10 s: c 1." in said
    assert "Refused by c, 2 times: too large." in said


# figures


def test_every_figure_reads_only_data_it_has(said: Content) -> None:
    pytest.importorskip("altair")
    kinds = {figure.name.rpartition("-")[0] for figure in said.figures}
    assert kinds == {"frontier", "gap", "profile-time", "profile-quality", "scaling", "privacy"}
    for figure in said.figures:
        spec = complete(figure)
        assert all(records is not None for records in spec["datasets"].values())
        text = json.dumps(spec, allow_nan=False)
        for name in re.findall(r'"data": \{"name": "([^"]*)"\}', text):
            assert name in spec["datasets"]


def test_objectives_of_different_problems_share_no_axis(said: Content) -> None:
    for figure in said.figures:
        shown = figure.data[figure.shown]
        if shown.rows is not None:
            assert {said.rows[i].row.question for i in shown.rows} == {figure.question}


def test_the_gap_figure_clamps_and_borrows(rows: tuple[Judged, ...], said: Content) -> None:
    pytest.importorskip("altair")
    figure = next(f for f in said.figures if f.name == "gap-1")
    place = figure.data["points"].columns.index
    for record in figure.data["points"].records:
        gap, drawn, own = (record[place(name)] for name in ("gap", "drawn_gap", "own_bound"))
        assert isinstance(gap, float)
        assert drawn == max(gap, 1e-9)
        assert own or gap >= 0
    hollow = sum(not record[place("own_bound")] for record in figure.data["points"].records)
    assert f"Hollow ({hollow} of {len(figure.data['points'].records)})" in figure.caption


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


def test_every_row_states_why_it_stopped(said: Content) -> None:
    table = next(t for t in said.tables if t.name == "runs")
    place = [head.text for head in table.header].index("stopped because")
    assert len(table.lines) == len(said.rows)
    assert all(line[place] for line in table.lines)


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
    assert write_reports(run[0], ["html", "md"], tmp_path / "plain.html", tmp_path).holds
    text = (tmp_path / "plain.html").read_text(encoding="utf-8")
    assert "Figures were left out: figures need altair and vl-convert-python" in stored(text)["missing"]
    assert 'id="library"' not in text
    assert Loads(text).tags.count("table") == Loads(page).tags.count("table")
    assert stored(text)["rows"] == stored(page)["rows"]
    assert "Figures were left out" in (tmp_path / "report.md").read_text(encoding="utf-8")
    with pytest.raises(MissingExtra, match=r"privopt\[plot\]"):
        write_reports(run[0], ["svg"], tmp_path / "plain.html", tmp_path)


def test_without_polars_parquet_is_refused_in_a_sentence(
    run: tuple[Path, Verdict], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingExtra, match=r'pip install "privopt\[polars\]"'):
        write_reports(run[0], ["parquet"], tmp_path / "page.html", tmp_path)


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
def test_all_formats_are_written(exported: Path) -> None:
    figures = {path.name for path in (exported / "report" / "figures").iterdir()}
    stems = {name.rpartition(".")[0] for name in figures}
    assert figures == {f"{stem}.{kind}" for stem in stems for kind in ("svg", "png", "pdf", "csv", "parquet")}
    assert {"frontier-1", "gap-1", "profile-time-1", "scaling-1", "privacy-1"} <= stems
    assert (exported / "page.html").is_file()


def test_pictures_hold_their_captions_as_text(exported: Path) -> None:
    for path in (exported / "report" / "figures").glob("*.svg"):
        words = " ".join(
            " ".join(t.itertext()) for t in ET.parse(path).iter("{http://www.w3.org/2000/svg}text")
        )
        caption = (exported / "report" / "report.md").read_text(encoding="utf-8")
        assert re.search(r"performance profile|against|missed the budget", words), path
        assert len(words) > 150
        assert caption.count(f"figures/{path.name}") == 1
    for path in (exported / "report" / "figures").glob("*.png"):
        assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    for path in (exported / "report" / "figures").glob("*.pdf"):
        assert path.read_bytes()[:5] == b"%PDF-"


def test_markdown_has_every_sentence_and_every_line(exported: Path) -> None:
    text = (exported / "report" / "report.md").read_text(encoding="utf-8")
    rows = read_rows(exported / "rows.jsonl")
    table = text[text.index("**Every run") :].split("\n\n")[1].splitlines()
    assert len(table) == len(rows) + 2
    unescaped = {len(re.findall(r"(?<!\\)\|", line)) for line in table}
    assert len(unescaped) == 1
    assert "<b" not in text
    for part in ("## Summary", "## Performance profiles", "## Privacy by solver", "## Environment"):
        assert part in text


def test_latex_is_balanced_and_escaped(exported: Path) -> None:
    text = (exported / "report" / "tables.tex").read_text(encoding="utf-8")
    plain = re.sub(r"\\[\\{}]", "", text.replace(r"\\", ""))
    depth = 0
    for character in plain:
        depth += {"{": 1, "}": -1}.get(character, 0)
        assert depth >= 0
    assert depth == 0
    assert text.count(r"\begin{longtable}") == text.count(r"\end{longtable}") >= 6
    body = re.sub(r"\$\\[a-z]+\$|\$-\$", "", "\n".join(text.splitlines()[1:]))
    assert not re.search(r"(?<!\\)[$#%_^~]", body)
    for chunk in text.split(r"\begin{longtable}")[1:]:
        columns = len(re.match(r"\{([lr]+)\}", chunk)[1])  # type: ignore[index]
        for line in chunk.splitlines():
            if line.endswith(r" \\"):
                assert len(re.findall(r"(?<!\\)&", line)) == columns - 1


def test_latex_escapes_every_command() -> None:
    assert escape_latex(r"\input{x}") == r"\textbackslash{}input\{x\}"
    assert escape_latex("a\x00b\nc") == "ab c"


def test_csv_and_parquet_hold_the_same_numbers_as_the_rows(exported: Path) -> None:
    import polars

    rows = read_rows(exported / "rows.jsonl")
    with (exported / "report" / "tables" / "runs.csv").open(encoding="utf-8", newline="") as stream:
        lines = list(csv.DictReader(stream))
    frame = polars.read_parquet(exported / "report" / "tables" / "runs.parquet")
    assert [line["solver"] for line in lines] == frame["solver"].to_list() == [r.solver for r in rows]
    assert [float(x["objective"]) if x["objective"] else None for x in lines] == [r.objective for r in rows]
    assert frame["objective"].to_list() == [r.objective for r in rows]
    assert frame["bound"].to_list() == [r.bound for r in rows]


def test_the_data_of_a_figure_are_its_csv(exported: Path) -> None:
    rows = judged(read_rows(exported / "rows.jsonl"))
    own = [j for j in rows if j.row.question == "redaction"]
    text = (exported / "report" / "figures" / "profile-time-1.csv").read_text(encoding="utf-8")
    lines = list(csv.DictReader(io.StringIO(text)))
    curves = time_profile(own).curves
    points = {s: [(float(x["tau"]), float(x["share"])) for x in lines if x["solver"] == s] for s in curves}
    assert points == {s: list(c) for s, c in curves.items()}


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
    with pytest.raises(InvalidProblem, match="cannot be written as docx; there are html"):
        write_reports(folder, ["docx"], folder / "page.html", None)
    assert CliRunner().invoke(app, ["bench", "report", str(folder), "--formats", "docx"]).exit_code == 2
    (tmp_path / "file").write_text("", encoding="utf-8")
    arguments = ["bench", "report", str(folder), "--formats", "csv", "--export", str(tmp_path / "file")]
    assert CliRunner().invoke(app, arguments).exit_code == 2


def test_data_read_off_rows_keep_their_places(rows: tuple[Judged, ...]) -> None:
    data = of_rows(rows, lambda j: j.row.solver == "dca", ["solver", "objective"])
    assert data.rows is not None
    assert [rows[i].row.objective for i in data.rows] == [record[1] for record in data.records]
    assert {record[0] for record in data.records} == {"dca"}


def test_infinities_are_not_drawn_and_not_lost() -> None:
    row: Row = make_row(bound=math.inf, gap=math.inf)
    data = of_rows(judged([row]), lambda j: True, ["gap"])
    assert data.records == ((math.inf,),)
    assert data.dictionaries() == [{"gap": None}]

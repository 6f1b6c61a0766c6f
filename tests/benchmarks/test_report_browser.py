"""The report in headless Chromium: it draws, hides, recomputes, sorts, filters, saves, prints; offline and small."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from instances.report_rows import HOSTILE, synthetic, write_folder

from privopt.benchmarks.report.judged import judged
from privopt.benchmarks.report.profiles import quality_profile, time_profile
from privopt.benchmarks.report.write import write_report

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Download, Page

pytest.importorskip("altair")
pytest.importorskip("vl_convert")
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: no browser tests")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine"),
]

ROWS = synthetic(sizes=(4, 8, 16), budgets=(0.5, 1.0, 2.0))
READY = "html[data-drawn=yes]"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = write_folder(tmp_path_factory.mktemp("browser") / "run", ROWS)
    write_report(folder, folder / "page.html")
    return (folder / "page.html").as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_api.sync_playwright() as playwright:
        # the sandbox cannot start for the superuser, which tests in containers often are
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


class Watched:
    """A page whose messages, errors and requests are kept; everything but the file itself is refused."""

    def __init__(self, browser: Browser, address: str, **how: Any) -> None:
        self.context = browser.new_context(viewport={"width": 1200, "height": 800}, **how)
        self.page: Page = self.context.new_page()
        self.faults: list[str] = []
        self.page.on("console", lambda m: self.faults.append(m.text) if m.type != "log" else None)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("requestfailed", lambda request: self.faults.append(request.url))
        self.page.route(lambda url: not url.startswith(("file:", "blob:", "data:")), self._refuse)
        self.page.goto(address)
        self.settle()

    def _refuse(self, route: Any) -> None:
        self.faults.append(f"asked for {route.request.url}")
        route.abort()

    def settle(self) -> None:
        self.page.wait_for_selector(READY, timeout=60_000)

    def hide(self, *solvers: str) -> None:
        for solver in solvers:
            self.page.get_by_role("checkbox", name=solver, exact=True).uncheck()
            self.settle()

    def save(self, figure: str, kind: str) -> bytes:
        with self.page.expect_download() as waiting:
            self.page.locator(f'figure[data-figure="{figure}"] button[data-format={kind}]').click()
        download: Download = waiting.value
        assert download.suggested_filename == f"{figure}.{kind}"
        return Path(download.path()).read_bytes()


@pytest.fixture
def watched(browser: Browser, address: str) -> Iterator[Watched]:
    one = Watched(browser, address)
    yield one
    one.context.close()
    assert one.faults == []


def column(page: Page, table: str, place: int) -> list[str]:
    cells = f"table[data-name={table}] tbody tr:not([hidden]) td:nth-child({place + 1})"
    return page.locator(cells).all_text_contents()


def heads(page: Page, table: str) -> list[str]:
    return page.locator(f"table[data-name={table}] th").all_text_contents()


def test_every_figure_draws_marks_and_asks_for_nothing(watched: Watched) -> None:
    counts = watched.page.evaluate(
        """[...document.querySelectorAll('figure')].map(f => [f.dataset.figure,
        f.querySelectorAll('svg .mark-symbol path, svg .mark-line path, svg .mark-rect path').length,
        f.querySelectorAll('svg .role-axis-title text').length])"""
    )
    assert len(counts) == 9 + 3 + 6 + 5 + 2
    for name, marks, titles in counts:
        assert marks >= 2, name
        assert titles >= 1, name


@pytest.mark.parametrize("kind", ["time", "quality"])
def test_hiding_solvers_recomputes_the_profile(watched: Watched, kind: str) -> None:
    own = [j for j in judged(ROWS) if j.row.question == "redaction"]
    compute = time_profile if kind == "time" else quality_profile
    before = saved_curves(watched, kind)
    assert before == {s: list(c) for s, c in compute(own).curves.items()}
    watched.hide("optimal", HOSTILE)
    fewer = compute([j for j in own if j.row.solver not in ("optimal", HOSTILE)])
    after = saved_curves(watched, kind)
    assert after == {s: list(c) for s, c in fewer.curves.items()}
    assert after["windows"] != before["windows"]
    said = watched.page.locator(f'figure[data-figure="profile-{kind}-1"] .said').text_content() or ""
    assert f"Over 2 solvers and {fewer.tasks} tasks" in said
    shown = watched.page.evaluate(
        "n => run.figures.find(f => f.name === n).view.data('curves').map(d => [d.solver, d.tau, d.share])",
        f"profile-{kind}-1",
    )
    assert [tuple(p) for p in shown] == [(s, x, y) for s, c in sorted(fewer.curves.items()) for x, y in c]
    legend = watched.page.locator(f'figure[data-figure="profile-{kind}-1"] .role-legend-label text')
    assert legend.all_text_contents() == sorted(fewer.curves)


def saved_curves(watched: Watched, kind: str) -> dict[str, list[tuple[float, float]]]:
    lines = list(csv.DictReader(io.StringIO(watched.save(f"profile-{kind}-1", "csv").decode())))
    names = dict.fromkeys(line["solver"] for line in lines)
    return {n: [(float(x["tau"]), float(x["share"])) for x in lines if x["solver"] == n] for n in names}


def test_hiding_reaches_every_figure_and_table_and_all_brings_it_back(watched: Watched) -> None:
    page = watched.page
    watched.hide("windows")
    assert "windows" not in page.locator("table[data-name=objectives-1] th:not([hidden])").all_text_contents()
    assert "windows" not in column(page, "runs", heads(page, "runs").index("solver"))
    drawn = page.evaluate(
        "run.figures.flatMap(f => f.view.data('points' in f.data ? 'points' : 'curves')).map(d => d.solver)"
    )
    assert "windows" not in drawn
    assert "optimal" in drawn
    page.get_by_role("button", name="none", exact=True).click()
    watched.settle()
    assert page.locator("figure .plot svg").count() == 0
    assert page.locator("figure").first.text_content() is not None
    assert "every solver of this figure is hidden" in (
        page.locator("figure .plot").first.text_content() or ""
    )
    page.get_by_role("button", name="all", exact=True).click()
    watched.settle()
    assert page.locator("figure .plot svg").count() == page.locator("figure").count()
    assert "windows" in column(page, "runs", heads(page, "runs").index("solver"))


def test_controls_are_reached_by_keyboard(watched: Watched) -> None:
    box = watched.page.get_by_role("checkbox", name="optimal", exact=True)
    box.focus()
    watched.page.keyboard.press("Space")
    watched.settle()
    assert not box.is_checked()
    head = watched.page.locator("table[data-name=runs] th button").first
    head.focus()
    watched.page.keyboard.press("Enter")
    assert watched.page.locator("table[data-name=runs] th").first.get_attribute("aria-sort") == "ascending"


@pytest.mark.parametrize("name", ["gap", "objective", "bound", "iterations", "solver", "stopped because"])
def test_columns_sort_both_ways_with_missing_ones_last(watched: Watched, name: str) -> None:
    page, place = watched.page, heads(watched.page, "runs").index(name)
    button = page.locator("table[data-name=runs] th").nth(place).locator("button")
    for order, sign in (("ascending", 1), ("descending", -1)):
        button.click()
        assert page.locator("table[data-name=runs] th").nth(place).get_attribute("aria-sort") == order
        shown = column(page, "runs", place)
        assert len(shown) == len(ROWS)
        empty = [text in ("", "no bound") for text in shown]
        assert empty == sorted(empty)
        there = [text for text, none in zip(shown, empty, strict=True) if not none]
        if name in ("solver", "stopped because"):
            ranks = page.evaluate("xs => xs.slice(1).map((x, i) => xs[i].localeCompare(x))", there)
            assert all(sign * rank <= 0 for rank in ranks)
        else:
            numbers = [float(text) for text in there]
            assert numbers == sorted(numbers, reverse=sign < 0)
            assert len(set(numbers)) > 1


def test_text_problem_and_instance_filter_the_rows(watched: Watched) -> None:
    page = watched.page
    page.get_by_role("searchbox").fill("TIME_OUT")
    watched.settle()
    assert column(page, "runs", heads(page, "runs").index("status")) == ["TIME_OUT"]
    page.get_by_role("searchbox").fill("")
    page.locator("select[name=question]").select_option("funnel")
    watched.settle()
    assert set(column(page, "runs", 0)) == {"funnel"}
    assert (
        page.locator("figure:not([hidden])").count() == page.locator('figure[data-question="funnel"]').count()
    )
    page.locator("select[name=instance]").select_option("fun-8 é")
    watched.settle()
    expected = sum(row.instance == "fun-8 é" for row in ROWS)
    assert len(column(page, "runs", 0)) == expected


@pytest.mark.long
def test_saved_files_hold_the_caption_and_the_data(watched: Watched) -> None:
    page = watched.page
    for name in ("frontier-1", "gap-2", "profile-time-1", "scaling-1", "privacy-1"):
        picture = watched.save(name, "svg").decode()
        words = re.sub(r"<[^>]*>", " ", picture)
        said = page.locator(f'figure[data-figure="{name}"] .said').text_content() or ""
        assert picture.startswith("<svg")
        squeezed = re.sub(r"&\w+;|\W", "", words)
        for word in re.findall(r"\w{5,}", said):
            assert word in squeezed
        assert watched.save(name, "png")[:8] == b"\x89PNG\r\n\x1a\n"
    lines = list(csv.DictReader(io.StringIO(watched.save("gap-1", "csv").decode())))
    own = [
        j
        for j in judged(ROWS)
        if j.row.question == "redaction" and j.row.ok and j.gap is not None and j.gap < 1e300
    ]
    assert [float(line["gap"]) for line in lines] == [j.gap for j in own]
    assert [line["solver"] for line in lines] == [j.row.solver for j in own]


def test_hostile_names_are_only_text(watched: Watched) -> None:
    assert watched.page.locator("b[onclick]").count() == 0
    assert HOSTILE in column(watched.page, "runs", heads(watched.page, "runs").index("solver"))


def luminance(colour: str) -> float:
    parts = [int(x) / 255 for x in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrasts(page: Page) -> dict[str, float]:
    """Contrast of words of each kind with the ground of the page."""
    colours = page.evaluate(
        """Object.fromEntries(Object.entries({body: 'main p', caption: 'figcaption .said', head: 'th button', cell: 'td',
        axis: 'svg .role-axis-title text', label: 'svg .role-axis-label text', legend: 'svg .role-legend-label text'}).map(
        ([name, where]) => { const style = getComputedStyle(document.querySelector(where));
        return [name, where.startsWith('svg') ? style.fill : style.color]; }))"""
    )
    ground = luminance(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    result = {}
    for name, colour in colours.items():
        high, low = sorted((luminance(colour), ground), reverse=True)
        result[name] = (high + 0.05) / (low + 0.05)
    return result


def test_light_and_dark_are_readable(browser: Browser, address: str) -> None:
    grounds = {}
    for scheme in ("light", "dark"):
        watched = Watched(browser, address, color_scheme=scheme)
        grounds[scheme] = luminance(watched.page.evaluate("getComputedStyle(document.body).backgroundColor"))
        assert min(contrasts(watched.page).values()) >= 4.5, contrasts(watched.page)
        watched.context.close()
        assert watched.faults == []
    assert grounds["light"] > 0.9
    assert grounds["dark"] < 0.05


def test_a_change_of_scheme_draws_again(watched: Watched) -> None:
    watched.page.emulate_media(color_scheme="dark")
    watched.page.wait_for_timeout(100)
    watched.settle()
    assert min(contrasts(watched.page).values()) >= 4.5


@pytest.mark.long
def test_a_phone_scrolls_tables_but_not_the_page(browser: Browser, address: str) -> None:
    watched = Watched(browser, address)
    watched.page.set_viewport_size({"width": 360, "height": 740})
    watched.page.reload()
    watched.settle()
    assert watched.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    widths = watched.page.evaluate(
        "[...document.querySelectorAll('figure svg.marks')].map(s => s.getBoundingClientRect().right)"
    )
    assert max(widths) <= 360
    watched.page.locator("table[data-name=runs] th").first.scroll_into_view_if_needed()
    assert watched.page.evaluate(
        "(t => t.parentNode.scrollWidth > t.parentNode.clientWidth)(document.querySelector('table[data-name=runs]'))"
    )
    watched.context.close()
    assert watched.faults == []


def test_print_is_light_and_without_controls(browser: Browser, address: str) -> None:
    watched = Watched(browser, address, color_scheme="dark")
    watched.page.emulate_media(media="print", color_scheme="dark")
    watched.page.wait_for_timeout(100)
    watched.settle()
    assert luminance(watched.page.evaluate("getComputedStyle(document.body).backgroundColor")) > 0.9
    assert not watched.page.locator("form.controls").is_visible()
    assert not watched.page.locator(".save").first.is_visible()
    assert contrasts(watched.page)["axis"] >= 4.5
    assert watched.page.evaluate("getComputedStyle(document.querySelector('figure')).breakInside") == "avoid"
    assert watched.page.pdf(format="A4")[:5] == b"%PDF-"
    watched.context.close()
    assert watched.faults == []


def test_the_address_brings_the_state_back(watched: Watched, browser: Browser) -> None:
    page = watched.page
    watched.hide("windows", HOSTILE)
    page.locator("select[name=question]").select_option("redaction")
    page.get_by_role("searchbox").fill("16")
    page.locator("table[data-name=runs] th button").nth(heads(page, "runs").index("objective")).click()
    watched.settle()
    again = Watched(browser, page.url)
    for name in ("windows", HOSTILE):
        assert not again.page.get_by_role("checkbox", name=name, exact=True).is_checked()
    assert again.page.get_by_role("checkbox", name="optimal", exact=True).is_checked()
    place = heads(page, "runs").index("objective")
    assert column(again.page, "runs", place) == column(page, "runs", place)
    assert again.page.locator("table[data-name=runs] th").nth(place).get_attribute("aria-sort") == "ascending"
    assert again.page.get_by_role("searchbox").input_value() == "16"
    again.context.close()
    assert again.faults == []


def test_an_odd_address_is_ignored(browser: Browser, address: str) -> None:
    watched = Watched(browser, f"{address}#hide=nobody&question=none&sort=runs:99:up&sort=x&instance=%3Cb%3E")
    assert len(column(watched.page, "runs", 0)) == len(ROWS)
    watched.context.close()
    assert watched.faults == []


def test_without_scripts_the_tables_are_there(browser: Browser, address: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    assert page.locator("table[data-name=runs] tbody tr").count() == len(ROWS)
    assert "the tables hold the same numbers" in (page.locator("noscript").text_content() or "")
    assert not page.locator("form.controls").is_visible()
    context.close()


def test_the_stored_data_are_the_rows(watched: Watched) -> None:
    stored = json.loads(watched.page.locator("#run").text_content() or "")
    assert sorted(stored["solvers"]) == sorted({row.solver for row in ROWS})
    assert stored["frame"]["seconds"]["values"] == [row.seconds for row in ROWS]

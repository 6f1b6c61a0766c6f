"""The report in headless Chromium: what stands on the first screen, what a reader does, sizes, contrast, keys, print, no script."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from instances.axe import violations
from instances.report_rows import HOSTILE, failed, make_row, synthetic, write_folder

from privopt.benchmarks.report.board import board
from privopt.benchmarks.report.judged import judged
from privopt.benchmarks.report.profiles import profile, time_costs
from privopt.benchmarks.report.write import write_report
from privopt.benchmarks.runner.rows import Row, write_csv
from privopt.benchmarks.runner.traces import write_traces

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

READY = "html[data-drawn=yes]"
WIDTHS = (390, 768, 1280, 1920)
KINDS = (
    "redaction", "belief_release", "boundary_colouring", "distortion_privacy", "information_bottleneck", "bayesian_privacy",
    "local_information_privacy", "pointwise_maximal_leakage", "privacy_funnel", "sequence_information_privacy",
)  # fmt: skip


def with_auto(rows: list[Row]) -> list[Row]:
    """The rows, and what ``solve()`` did: the second best of each case of the last problem, the best of the others."""
    cases: dict[tuple[str, str, float], list[Row]] = {}
    for row in rows:
        if row.verified and row.objective is not None:
            cases.setdefault((row.question, row.instance, row.budget), []).append(row)
    last = rows[-1].question
    more = []
    for (kind, _, _), own in cases.items():
        order = sorted(own, key=lambda r: -(r.objective or 0.0))
        taken = order[-1] if kind == last else order[0]
        more.append(replace(taken, solver="auto", chosen=taken.solver, seconds=0.5, key=f"{len(more):08d}"))
    return [*more, *rows]


def named(rows: list[Row]) -> list[Row]:
    """Rows with a key and a fingerprint of their own."""
    return [
        replace(row, key=f"{i:08x}" + 56 * "0", fingerprint=f"{row.question}/{row.instance}/{row.budget}")
        for i, row in enumerate(rows)
    ]


def ten_problems() -> list[Row]:
    """Every kind of problem of the package, with an oracle, a baseline, and what differs when it is proved again."""
    rows = [
        make_row(
            question=kind, instance=instance, budget=budget, solver=solver, role=role, objective=-value * (1 + shift), seconds=s,
            utility=-value * (1 + shift), bound=-value if role == "OPTIMAL" else None, gap=value * shift if role == "OPTIMAL" else None,
            status="OPTIMAL" if role == "OPTIMAL" else "FEASIBLE",
        )
        for kind in KINDS
        for instance in ("one", "two", "three")
        for budget, value in ((0.1, 4.0), (0.5, 2.0), (1.0, 1.5), (2.0, 0.7))
        for solver, role, shift, s in (
            ("exact", "OPTIMAL", 0.0, 0.2), ("near", "FEASIBLE", 0.004, 0.01), ("close", "FEASIBLE", 0.05, 0.02),
            ("simple", "BASELINE", 0.5, 0.001), ("oracle", "ORACLE", 0.0, 2.0), ("sixth", "FEASIBLE", 0.2, 0.004),
            ("seventh", "FEASIBLE", 0.21, 0.005), ("eighth", "FEASIBLE", 0.22, 0.006),
        )
    ]  # fmt: skip
    rows[4] = replace(rows[4], claim_holds=True, differs="utility: 1 in the file, 1.0000000000000002 proved")
    rows += [
        failed(make_row(question=kind, instance=i, budget=b, solver=s), status, reason)
        for kind in KINDS
        for i in ("one", "two", "three")
        for b in (0.1, 0.5, 1.0, 2.0)
        for s, status, reason in (
            ("leaky", "NOT_PRIVATE", "leakage 3.14 against a budget of 2"),
            ("small", "REFUSED", "it enumerates: at most 4 records, not 12"),
            ("late", "TIME_OUT", "the limit of 10 s came first"),
        )
    ]
    return named(with_auto(rows))


ROWS = named(with_auto(synthetic(sizes=(4, 8, 16), budgets=(0.5, 1.0, 2.0))))
TEN = ten_problems()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Addresses of a page of a few problems, of one with ten, and of one with a claim that fails."""
    place = tmp_path_factory.mktemp("browser")
    broken = [
        replace(row, verified=False, claim_holds=False) if i == 3 else row for i, row in enumerate(ROWS)
    ]
    made = {}
    for name, rows in (("few", ROWS), ("ten", TEN), ("broken", broken)):
        folder = write_folder(place / name, rows)
        write_csv(folder / "rows.csv", rows)
        write_report(folder, folder / "page.html")
        made[name] = (folder / "page.html").as_uri()
    return made


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_api.sync_playwright() as playwright:
        # the sandbox cannot start for the superuser, which tests in containers often are
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


class Watched:
    """A page whose messages, errors and requests are kept; everything but the file itself is refused."""

    def __init__(self, browser: Browser, address: str, width: int = 1280, **how: Any) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 800}, **how)
        self.page: Page = self.context.new_page()
        self.faults: list[str] = []
        self.page.on("console", lambda m: self.faults.append(m.text) if m.type != "log" else None)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("requestfailed", lambda request: self.faults.append(request.url))
        self.page.route(lambda url: not url.startswith(("file:", "blob:", "data:")), self._refuse)
        self.page.goto(address)

    def _refuse(self, route: Any) -> None:
        self.faults.append(f"asked for {route.request.url}")
        route.abort()

    def settle(self) -> None:
        self.page.wait_for_selector(READY, timeout=60_000)

    def see(self, kind: str) -> None:
        """Choose a problem by its tab."""
        self.page.locator(f'[role=tab][data-problem="{kind}"]').click()
        self.settle()

    def press(self, where: str) -> None:
        self.page.locator(where).first.click()
        self.settle()

    def save(self, figure: str, kind: str) -> tuple[str, bytes]:
        box = self.page.locator(f'figure[data-name="{figure}"]')
        box.locator(".save summary").click()
        with self.page.expect_download() as waiting:
            box.locator(f"button[data-save={kind}]").click()
        download: Download = waiting.value
        return download.suggested_filename, Path(download.path()).read_bytes()


@pytest.fixture
def opened(browser: Browser) -> Iterator[Any]:
    """Open pages that must end without a message, an error or a request."""
    there: list[Watched] = []

    def go(address: str, **how: Any) -> Watched:
        there.append(Watched(browser, address, **how))
        return there[-1]

    yield go
    for one in there:
        one.context.close()
        assert one.faults == []


# the first screen


def test_the_first_screen_holds_the_finding_four_numbers_and_every_problem(
    opened: Any, pages: dict[str, str]
) -> None:
    page = opened(pages["ten"]).page
    bottoms = page.evaluate(
        "[...document.querySelectorAll('h1, .alarm, .tiles > div, .board tbody tr')].map(e => e.getBoundingClientRect().bottom)"
    )
    assert len(bottoms) == 1 + 1 + 4 + len(KINDS)
    assert max(bottoms) <= 800
    before = page.evaluate(
        "(() => { const r = document.createRange(); r.setStart(document.querySelector('main'), 0);"
        "r.setEndBefore(document.querySelector('.board')); return r.toString(); })()"
    )
    assert len(before.split()) <= 150


def test_the_headline_counts_what_the_rows_say(opened: Any, pages: dict[str, str]) -> None:
    page = opened(pages["few"]).page
    best: dict[tuple[str, str, str], float] = {}
    with (Path(pages["few"].removeprefix("file://")).parent / "rows.csv").open(encoding="utf-8") as stream:
        lines = list(csv.DictReader(stream))
    sure = [line for line in lines if line["verified"] == "True" and line["objective"]]
    for line in sure:
        case = (line["question"], line["instance"], line["budget"])
        best[case] = max(best.get(case, -1e300), float(line["objective"]))
    won = 0
    for line in sure:
        top = best[line["question"], line["instance"], line["budget"]]
        won += line["solver"] == "auto" and float(line["objective"]) >= top - 1e-6 * max(1.0, abs(top))
    said = page.locator("h1").inner_text()
    assert [int(x) for x in re.findall(r"\d+", said)] == [won, len(best)]
    assert 0 < won < len(best)


def test_a_failed_claim_is_red_and_a_differing_record_amber(opened: Any, pages: dict[str, str]) -> None:
    red = opened(pages["broken"]).page
    assert "1 certified claim does not hold" in red.locator("h1").inner_text()
    alarm = red.locator(".alarm.red")
    assert alarm.bounding_box()["y"] < 800
    assert ROWS[3].solver.replace("auto", "solve()") in alarm.inner_text()
    amber = opened(pages["ten"]).page
    assert amber.locator(".alarm").count() == 1
    assert amber.locator(".alarm.red").count() == 0
    assert "the claim holds" in amber.locator(".alarm").inner_text()


def test_no_heading_is_a_name_of_the_code(opened: Any, pages: dict[str, str]) -> None:
    watched = opened(pages["ten"])
    for kind in KINDS[:3]:
        watched.see(kind)
        for heading in watched.page.locator("h1, h2, h3, h4").all_inner_texts():
            assert not re.search(r"[a-z]+_[a-z]+|OPTIMAL|FEASIBLE|REFUSED", heading)


def test_the_mark_of_a_solver_that_refuses_is_no_loss(opened: Any, pages: dict[str, str]) -> None:
    page = opened(pages["ten"]).page
    tips = (
        page.locator(".board tbody tr")
        .first.locator(".strip i")
        .evaluate_all("es => es.map(e => e.dataset.tip)")
    )
    assert "small: takes none of 12 cases" in tips
    assert "exact: best in 12 of 12 cases that it takes" in tips
    assert "leaky: no answer kept its budget, of 12 cases" in tips


# one problem


def weaker(auto: float | None, oracle: float | None = None) -> list[Row]:
    """A weak solver by name with certified answers to two cases, beside ``solve()`` and an oracle; None: no answer."""
    made = [
        make_row(solver=solver, role=role, budget=budget, objective=value)
        if value is not None
        else failed(make_row(solver=solver, role=role, budget=budget), "TIME_OUT", "the limit came first")
        for budget in (1.0, 2.0)
        for solver, role, value in (
            ("auto", "", auto),
            ("weak", "FEASIBLE", 0.5),
            ("reference", "ORACLE", oracle),
        )
    ]
    return named(made)


@pytest.mark.parametrize(
    ("rows", "cell", "said"),
    [
        (weaker(0.9), "none is best 2 by solve() alone",
         "No solver by name is best in any case; none is proved optimal. In 2 cases only solve() is best. solve() finds every best answer by itself."),
        (weaker(0.9, 0.9), "none is best",
         "No solver by name is best in any case, brute force aside; none is proved optimal. solve() finds every best answer by itself."),
        (weaker(0.5), "weak 2", "weak is best in all 2 cases; none is proved optimal. solve() finds every best answer by itself."),
        ([failed(row, "TIME_OUT", "the limit came first") for row in weaker(0.9)], "no certified answer", "No solver has a certified answer."),
    ],
    ids=["solve", "oracle", "named", "nothing"],
)  # fmt: skip
def test_what_no_solver_by_name_reaches_is_said_to_be_so(
    browser: Browser, tmp_path: Path, rows: list[Row], cell: str, said: str
) -> None:
    folder = write_folder(tmp_path / "run", rows)
    write_report(folder, folder / "page.html")
    watched = Watched(browser, (folder / "page.html").as_uri())
    watched.page.locator("#view").scroll_into_view_if_needed()
    watched.settle()
    assert " ".join(watched.page.locator(".board td.names").inner_text().split()) == cell
    assert watched.page.locator("#finding").inner_text() == said
    watched.context.close()
    assert watched.faults == []


def test_every_problem_draws_and_only_one_stands_in_the_page(opened: Any, pages: dict[str, str]) -> None:
    watched = opened(pages["few"])
    for kind in dict.fromkeys(row.question for row in ROWS):
        watched.see(kind)
        instances = {row.instance for row in ROWS if row.question == kind}
        assert watched.page.locator("#frontiers figure svg").count() == len(instances)
        assert watched.page.locator("#speed figure svg").count() == 3  # dots, profile, cost by size
        assert watched.page.locator("figure").count() == len(instances) + 3
        assert watched.page.evaluate("document.querySelectorAll('*').length") < 10_000


def test_no_figure_colours_more_than_five_and_no_two_alike(opened: Any, pages: dict[str, str]) -> None:
    watched = opened(pages["ten"])
    watched.see("redaction")
    lines = watched.page.locator("#legend path").evaluate_all(
        "es => es.map(e => [e.getAttribute('stroke'), e.getAttribute('stroke-dasharray')])"
    )
    coloured = [line for line in lines if line[0].startswith("var(--s")]
    assert 2 <= len(coloured) <= 5
    assert len({c for c, _ in coloured}) == len({d for _, d in coloured}) == len(coloured)
    drawn = watched.page.evaluate(
        """[...document.querySelectorAll('#frontiers figure')].map(f => new Set([...f.querySelectorAll('.mark-line path')]
        .map(p => p.getAttribute('stroke'))).size)"""
    )
    assert max(drawn) <= 5 + 2  # five solvers, the grey ones, the bound


@pytest.mark.parametrize("width", WIDTHS)
def test_labels_stay_apart_and_inside_and_the_page_does_not_scroll_sideways(
    opened: Any, pages: dict[str, str], width: int
) -> None:
    watched = opened(pages["ten"], width=width)
    watched.see("redaction")
    page = watched.page
    boxes = page.evaluate(
        """[...document.querySelectorAll('#frontiers figure')].map(f => { const b = f.getBoundingClientRect();
        return [b.left, b.right, [...f.querySelectorAll('.mark-text.role-mark text')].map(t => { const r = t.getBoundingClientRect();
        return [r.left, r.right, (r.top + r.bottom) / 2]; })]; })"""
    )
    for left, right, labels in boxes:
        assert len(labels) >= 2
        heights = sorted(y for _, _, y in labels)
        assert all(b - a >= 12 for a, b in pairwise(heights))
        assert all(left <= a and b <= right + 1 for a, b, _ in labels)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_320_pixels_do_not_scroll_sideways(opened: Any, pages: dict[str, str]) -> None:
    watched = opened(pages["ten"], width=320)
    watched.see("redaction")
    assert watched.page.evaluate("document.documentElement.scrollWidth") <= 320


def test_one_budget_has_no_axis_of_budgets_and_no_axis_is_negated(browser: Browser, tmp_path: Path) -> None:
    rows = [
        make_row(solver=s, objective=-v, question="bayesian_privacy", seconds=v)
        for s, v in (("a", 1.5), ("b", 2.5), ("c", 9.0))
    ]
    folder = write_folder(tmp_path / "run", named(rows))
    (folder / "run.json").write_text((folder / "run.json").read_text().replace("synthetic <suite>", "quick"))
    write_report(folder, folder / "page.html")
    watched = Watched(browser, (folder / "page.html").as_uri())
    watched.settle()
    titles = watched.page.locator("#frontiers .role-axis-title text").all_text_contents()
    assert titles == ["objective"]
    assert watched.page.locator("#frontiers .role-axis-label text").filter(has_text="budget").count() == 0
    assert watched.page.locator("#few").inner_text().startswith("Only 1 case: too few for a profile")
    watched.context.close()
    assert watched.faults == []


def test_quantities_that_are_losses_are_drawn_as_what_they_are(browser: Browser, tmp_path: Path) -> None:
    from instances.report_rows import MANIFEST

    from privopt.benchmarks.report.page import Told, page
    from privopt.benchmarks.runner.vocabulary import InstanceWords, Vocabulary, instance_key
    from privopt.core.words import Quantity

    rows = judged(
        named(
            [
                make_row(solver=s, budget=b, objective=-v / b)
                for s, v in (("a", 1.5), ("b", 2.5))
                for b in (1.0, 2.0)
            ]
        )
    )
    words = Vocabulary(
        {},
        {instance_key("redaction", "one"): InstanceWords("One", "", Quantity("error", sign=-1, budget="ε"))},
    )
    (tmp_path / "page.html").write_text(page(MANIFEST, rows, words, Told()), encoding="utf-8")
    watched = Watched(browser, (tmp_path / "page.html").as_uri())
    watched.settle()
    labels = watched.page.locator("#frontiers .role-axis-label text").all_text_contents()
    assert labels
    assert not any(re.match(r"[-−]", text) for text in labels)
    name, raw = watched.save("one-frontier", "csv")
    assert name == "redaction-one-frontier.csv"
    assert [line["error"] for line in csv.DictReader(io.StringIO(raw.decode()))] == [
        "1.5",
        "0.75",
        "2.5",
        "1.25",
    ]
    watched.context.close()
    assert watched.faults == []


def test_a_tip_lists_every_solver_in_order_by_pointer_and_by_keys(opened: Any, pages: dict[str, str]) -> None:
    watched = opened(pages["ten"])
    watched.see("redaction")
    page, box = watched.page, watched.page.locator("#frontiers .plot").first
    box.hover(position={"x": 60, "y": 80})
    said = page.locator("#tip tr td:nth-child(2)").all_inner_texts()
    assert said[0] == "proved bound"
    own = [
        r
        for r in TEN
        if (r.question, r.instance, r.budget) == ("redaction", "one", 0.1) and r.objective is not None
    ]
    assert len(said) == 1 + len(own)
    place = {("solve()" if r.solver == "auto" else r.solver): -(r.objective or 0.0) for r in own}
    assert [place[name] for name in said[1:]] == sorted(place.values())
    html = page.locator("#tip").inner_html()
    page.keyboard.press("Escape")
    assert page.locator("#tip").is_hidden()
    box.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#tip").inner_html() == html
    assert page.locator("#tip").get_attribute("role") == "status"
    page.keyboard.press("ArrowRight")
    assert page.locator("#tip").inner_html() != html


def test_arrow_keys_walk_through_cells_and_marks(opened: Any, pages: dict[str, str]) -> None:
    watched = opened(pages["ten"])
    watched.see("redaction")
    page = watched.page
    page.locator("#heat-region").focus()
    page.keyboard.press("ArrowDown")
    assert page.locator("#tip").inner_text().startswith("solve(), One, budget = 0.1: best, proved optimal")
    page.keyboard.press("ArrowDown")
    assert page.locator("#tip").inner_text().startswith("exact, One")
    page.locator(".strip[tabindex]").first.focus()
    page.keyboard.press("ArrowRight")
    assert "best in 12 of 12" in page.locator("#tip").inner_text()


def test_each_cell_has_a_sign_and_its_shade_orders_the_classes(opened: Any, pages: dict[str, str]) -> None:
    for scheme, sign in (("light", 1), ("dark", -1)):
        watched = opened(pages["ten"], color_scheme=scheme)
        watched.see("redaction")
        cells = watched.page.locator("#heat tbody td:not(.gap, .sum)")
        assert all(text.strip() for text in cells.all_inner_texts())
        shades = [
            luminance(
                watched.page.evaluate(
                    f"getComputedStyle(document.querySelector('#heat .{c}')).backgroundColor"
                )
            )
            for c in ("c0", "c1", "c2", "c3")
        ]
        assert shades == sorted(shades, reverse=sign < 0)
        assert len(set(shades)) == 4


# what a reader changes


def curves(raw: bytes) -> dict[str, list[tuple[float, float]]]:
    lines = list(csv.reader(io.StringIO(raw.decode())))[1:]
    names = dict.fromkeys(line[0] for line in lines)
    return {n: [(float(x), float(y)) for name, x, y in lines if name == n] for n in names}


def test_hiding_solvers_recomputes_the_profile(opened: Any, pages: dict[str, str]) -> None:
    watched = opened(pages["few"])
    watched.see("redaction")
    before = curves(watched.save("profile", "csv")[1])
    for name in ("optimal", HOSTILE, "auto"):
        watched.page.locator("#heat .eye").filter(visible=True).evaluate_all(
            "(es, name) => es.find(e => e.dataset.hide === name).click()", name
        )
        watched.settle()
    after = curves(watched.save("profile", "csv")[1])
    own = [j for j in judged(ROWS) if j.row.question == "redaction"]
    fewer = [j for j in own if j.row.solver not in ("optimal", HOSTILE, "auto")]
    expected = profile(time_costs(fewer), lambda cost, best: cost / best, 1.0)
    share = expected.tasks / len({j.task for j in own})
    assert set(after) == set(expected.curves) == set(before) - {"optimal", HOSTILE, "auto"}
    for solver, curve in expected.curves.items():
        assert after[solver] == [
            (pytest.approx(x, rel=1e-12), pytest.approx(share * y, rel=1e-12)) for x, y in curve
        ]
    assert after["windows"] != before["windows"]
    assert (
        "of the 2 solvers shown"
        in watched.page.locator('figure[data-name="profile"] figcaption').inner_text()
    )
    watched.press("[data-everyone]")
    assert curves(watched.save("profile", "csv")[1]) == before


def test_what_solvers_told_is_drawn_as_time_goes(browser: Browser, tmp_path: Path) -> None:
    rows = named(
        [
            make_row(solver=s, objective=v, seconds=4.0, bound=0.9, gap=0.9 - v)
            for s, v in (("a", 0.8), ("b", 0.7))
        ]
    )
    folder = write_folder(tmp_path / "run", rows)
    write_traces(folder, {rows[0].key: ((1.0, 0.2, None), (2.0, 0.6, 0.95), (7.0, 0.99, 0.99))})
    write_report(folder, folder / "page.html")
    watched = Watched(browser, (folder / "page.html").as_uri())
    watched.settle()
    lines = list(csv.reader(io.StringIO(watched.save("as-time-goes", "csv")[1].decode())))
    told = [
        ["a", "1", "0.2", ""],
        ["a", "2", "0.6", "0.95"],
        ["a", "4", "0.8", "0.9"],
    ]  # judged last; what came later is not
    assert lines == [["solver", "seconds", "objective", "bound"], *told, ["b", "4", "0.7", ""]]
    assert "is not judged" in watched.page.locator('figure[data-name="as-time-goes"] figcaption').inner_text()
    watched.context.close()
    assert watched.faults == []


def test_only_leaves_one_and_every_figure_follows(opened: Any, pages: dict[str, str]) -> None:
    watched = opened(pages["ten"])
    watched.see("redaction")
    watched.page.locator("tr[data-solver=near] .only").focus()
    watched.page.keyboard.press("Enter")
    watched.settle()
    lines = list(csv.reader(io.StringIO(watched.save("one-frontier", "csv")[1].decode())))[1:]
    assert {line[0] for line in lines} == {"near"}
    assert watched.page.locator("#heat tr.off").count() == watched.page.locator("#heat tbody tr").count() - 1


def test_the_address_brings_the_state_back_and_back_goes_back(opened: Any, pages: dict[str, str]) -> None:
    watched = opened(pages["ten"])
    watched.see("belief_release")
    watched.see("boundary_colouring")
    for where in ("[data-hide=near]", "[data-measure=short]", "[data-within=one]", "[data-axis=seconds]"):
        watched.press(where)
    again = opened(watched.page.url)
    again.settle()
    for where in ("#problem", "#heat", "#legend", "#frontier-note", 'figure[data-name="profile"] figcaption'):
        assert again.page.locator(where).inner_text() == watched.page.locator(where).inner_text()
    for where in ("[data-hide=near]", "[data-measure=short]", "[data-within=one]", "[data-axis=seconds]"):
        pressed = [w.page.locator(where).get_attribute("aria-pressed") for w in (watched, again)]
        assert pressed == ["false" if "hide" in where else "true"] * 2
    watched.page.go_back()
    watched.settle()
    assert (
        watched.page.locator("[role=tab][aria-selected=true]").get_attribute("data-problem")
        == "belief_release"
    )


@pytest.mark.parametrize("part", ["certificates", "why", "runs", "again", "which", "problem"])
def test_an_address_of_a_part_opens_it_below_the_bar(opened: Any, pages: dict[str, str], part: str) -> None:
    watched = opened(f"{pages['ten']}#{part}")
    watched.settle()
    page = watched.page
    page.wait_for_timeout(100)
    bar = page.locator(".bar").bounding_box()
    box = page.locator(f"#{part}").bounding_box()
    assert box["y"] >= bar["height"] - 1
    assert box["y"] < 800
    if page.locator(f"details#{part}").count():
        assert page.locator(f"#{part} > div").inner_text().strip()


def test_an_odd_address_is_ignored(opened: Any, pages: dict[str, str]) -> None:
    watched = opened(f"{pages['few']}#problem=none&hide=nobody&measure=%3Cb%3E&within=x&run=zz")
    watched.settle()
    assert watched.page.locator("#heat tr.off").count() == 0


def test_search_opens_a_problem_and_shows_the_row(opened: Any, pages: dict[str, str]) -> None:
    watched = opened(pages["ten"])
    page = watched.page
    page.locator("h1").click()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "find"
    page.keyboard.type("simple · ")
    page.keyboard.press("Enter")
    watched.settle()
    assert page.locator("tr[data-solver=simple]").evaluate("e => e.classList.contains('flash')")
    assert 0 < page.locator("tr[data-solver=simple]").bounding_box()["y"] < 800


# folded parts


def test_runs_turn_leaves_sort_search_and_open_a_reason(opened: Any, pages: dict[str, str]) -> None:
    page = opened(f"{pages['ten']}#runs").page
    page.wait_for_selector("#runs-table tbody tr")
    assert page.locator("#runs-table tbody tr.run-row").count() == 50
    assert page.locator("#runs-count").inner_text() == f"1 to 50 of {len(TEN)}"
    page.locator("[data-leaf='1']").click()
    assert page.locator("#runs-count").inner_text() == f"51 to 100 of {len(TEN)}"
    page.locator("#runs-text").fill("at most 4 records")
    expected = [row for row in TEN if "at most 4 records" in row.reason]
    assert page.locator("#runs-count").inner_text() == f"1 to 50 of {len(expected)}"
    page.locator("#runs-text").fill("")
    for order in ("ascending", "descending"):
        page.locator("[data-sort=seconds]").click()
        assert page.locator("#runs-table th[aria-sort]").get_attribute("aria-sort") == order
    first = page.locator("#runs-table tbody tr").first
    assert max(row.seconds or 0 for row in TEN) == pytest.approx(2.0)
    assert "2 s" in first.inner_text()
    page.locator("button[data-run]").first.click()
    assert page.locator(".run-more").inner_text() == "The solver ended."
    key = page.locator("button[data-run]").first.get_attribute("data-run")
    assert f"run={key}" in page.url


def test_an_address_of_a_run_opens_its_leaf(opened: Any, pages: dict[str, str]) -> None:
    row = TEN[-1]
    page = opened(f"{pages['ten']}#problem=redaction&run={row.key[:8]}").page
    page.wait_for_selector(".run-more")
    assert page.locator(".run-more").inner_text() == row.reason


def test_certificates_say_first_what_differs_and_reasons_are_short(
    opened: Any, pages: dict[str, str]
) -> None:
    page = opened(f"{pages['ten']}#certificates").page
    page.wait_for_selector("#certificates-list table")
    first = page.locator("#certificates-list tbody tr").first.inner_text()
    assert "the claim holds, the record differs" in first
    assert "utility: 1 in the file" in first
    assert "privopt verify problem.json solution.json" in first
    page.locator("#why summary").click()
    page.locator("[data-why='']").click()
    reasons = page.locator("#why-lines tbody td:last-child").all_inner_texts()
    assert reasons
    assert all(0 < len(reason) <= 200 for reason in reasons)
    solvers = set(page.locator("#why-lines tbody td:nth-child(2)").all_inner_texts())
    silent = {s.solver for p in board(judged(TEN)).problems for s in p.solvers if not s.answered}
    assert silent <= solvers
    kinds = page.locator("#why-lines tbody td:nth-child(3)").all_inner_texts()
    assert kinds == sorted(kinds, key=["not private", "out of time", "refused"].index)


def test_utility_lost_by_repair_is_marked(opened: Any, pages: dict[str, str]) -> None:
    rows = [row for row in ROWS if (row.utility_lost or 0.0) > 0]
    assert rows
    page = opened(f"{pages['few']}#certificates").page
    page.wait_for_selector("#certificates-list table")
    assert (
        "1e−6" in page.locator("#certificates-list").inner_text()
        or "0.000001" in page.locator("#certificates-list").inner_text()
    )


# files


def test_saved_files_hold_what_is_drawn(opened: Any, pages: dict[str, str]) -> None:
    watched = opened(pages["ten"])
    watched.see("redaction")
    for figure in ("one-frontier", "fast-and-good", "profile"):
        name, raw = watched.save(figure, "svg")
        assert name == f"redaction-{figure}.svg"
        assert raw.startswith(b"<svg")
        assert watched.save(figure, "png")[1][:8] == b"\x89PNG\r\n\x1a\n"
    lines = list(csv.DictReader(io.StringIO(watched.save("one-frontier", "csv")[1].decode())))
    own = [r for r in TEN if (r.question, r.instance) == ("redaction", "one") and r.objective is not None]
    drawn = {(line["solver"], float(line["budget"])): float(line["objective"]) for line in lines}
    assert drawn == {(r.solver, r.budget): r.objective for r in own}


def copied(watched: Watched, where: str) -> str:
    watched.page.evaluate(
        "navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }"
    )
    box = watched.page.locator(where).first
    box.locator(".save summary").click()
    box.locator("[data-save=tex]").click()
    watched.page.wait_for_function("window.copied")
    text: str = watched.page.evaluate("window.copied")
    return text


def test_figures_and_the_table_are_copied_as_latex(
    opened: Any, pages: dict[str, str], tmp_path: Path
) -> None:
    watched = opened(pages["few"])
    watched.see("redaction")
    figure, table = copied(watched, "#frontiers figure"), ""
    assert figure.count(r"\addplot") == figure.count(r"\addlegendentry") == 5
    watched.page.evaluate("window.copied = ''")
    table = copied(watched, "#table-save")
    assert table.count(r"\\") == 1 + 5
    for text in (figure, table):
        assert text.count(r"\begin{") == text.count(r"\end{")
        assert not re.search(r"(?<!\\)[#_%]", text.split("\n", 1)[1])
    engine = shutil.which("lualatex") or shutil.which("pdflatex")
    if engine is None:
        pytest.skip("no TeX is installed: the text is checked, not compiled")
    compile_latex(engine, figure + table, tmp_path)


def compile_latex(engine: str, body: str, place: Path) -> None:
    import subprocess

    head = r"\documentclass{article}\usepackage{pgfplots,booktabs,amssymb}\begin{document}"
    (place / "a.tex").write_text(head + body + r"\end{document}", encoding="utf-8")
    subprocess.run(
        [engine, "-interaction=nonstopmode", "-halt-on-error", "a.tex"],
        cwd=place,
        check=True,
        capture_output=True,
    )


# colours, keys, paper, no script


def luminance(colour: str) -> float:
    parts = [int(x) / 255 for x in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


TEXTS = """[...document.querySelectorAll('body *')].flatMap((e) => {
  const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  const box = e.getBoundingClientRect();
  if (!own || !box.width || !box.height || e.closest('script, style, noscript, .skip')) return [];
  const style = getComputedStyle(e), svg = e instanceof SVGElement;
  if (style.visibility === 'hidden' || [...function* () { for (let p = e; p; p = p.parentElement) yield p; }()].some((p) => getComputedStyle(p).opacity !== '1')) return [];
  if (svg && (style.stroke !== 'none')) return [];  // the halo behind a name
  let ground = 'rgba(0, 0, 0, 0)';
  for (let p = e; p && /^rgba\\(.*, 0\\)$|transparent/.test(ground); p = p.parentElement) ground = getComputedStyle(p).backgroundColor;
  return [[svg ? style.fill : style.color, ground, e.textContent.trim().slice(0, 30), e.className.baseVal ?? e.className]];
})"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_and_mark_has_contrast(opened: Any, pages: dict[str, str], scheme: str) -> None:
    watched = opened(pages["ten"], color_scheme=scheme)
    watched.see("redaction")
    for part in ("certificates", "why", "runs", "again"):
        watched.page.locator(f"#{part} summary").first.click()
    texts = watched.page.evaluate(TEXTS)
    assert len(texts) > 200
    for ink, ground, text, where in texts:
        high, low = sorted((luminance(ink), luminance(ground)), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= 4.5, (text, where, ink, ground)
    paper = luminance(watched.page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert (paper > 0.9) if scheme == "light" else (paper < 0.05)
    for k in range(1, 6):
        ink = luminance(
            watched.page.evaluate(
                f"(e => {{ e.style.color = 'var(--s{k})'; return getComputedStyle(e).color; }})(document.querySelector('h1'))"
            )
        )
        high, low = sorted((ink, paper), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= 4.5


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_objects_to_no_problem(opened: Any, pages: dict[str, str], scheme: str) -> None:
    watched = opened(pages["ten"], color_scheme=scheme)
    for kind in KINDS:
        watched.see(kind)
        assert violations(watched.page, "#view") == [], kind
    watched.page.locator(".how summary").click()
    for part in ("certificates", "why", "runs", "again", "data-are"):
        watched.page.locator(f"#{part} summary").first.click()
    watched.press("[data-measure=short]")
    watched.page.locator(".save summary").first.click()
    assert violations(watched.page) == []


def test_the_button_changes_colours_and_figures_follow(opened: Any, pages: dict[str, str]) -> None:
    watched = opened(pages["ten"], color_scheme="light")
    watched.see("redaction")
    axis = "getComputedStyle(document.querySelector('#frontiers .role-axis-label text')).fill"
    before = luminance(watched.page.evaluate(axis))
    for _ in range(2):
        watched.press("#theme")
    assert watched.page.locator("html").get_attribute("data-theme") == "dark"
    assert luminance(watched.page.evaluate(axis)) > before + 0.2
    watched.press("#theme")
    watched.page.emulate_media(color_scheme="dark")
    watched.page.wait_for_timeout(100)
    watched.settle()
    assert luminance(watched.page.evaluate(axis)) > before + 0.2


def test_names_roles_and_headings_are_there_for_a_screen_reader(opened: Any, pages: dict[str, str]) -> None:
    watched = opened(pages["ten"])
    for kind in KINDS[:2]:
        watched.see(kind)
        page = watched.page
        unnamed = page.evaluate(
            """[...document.querySelectorAll('button, a, input, [role=img], [role=region], [role=group], [role=tablist], nav')].filter((e) =>
            !(e.getAttribute('aria-label') || e.textContent.trim() || document.getElementById(e.getAttribute('aria-labelledby')))).map((e) => e.outerHTML)"""
        )
        assert unnamed == []
        ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
        assert len(set(ids)) == len(ids)
        for name in ("aria-labelledby", "aria-controls"):
            assert page.evaluate(
                f"[...document.querySelectorAll('[{name}]')].every(e => document.getElementById(e.getAttribute('{name}')))"
            )
        levels = page.evaluate("[...document.querySelectorAll('h1, h2, h3, h4')].map(e => +e.tagName[1])")
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(b <= a + 1 for a, b in pairwise(levels))
        assert page.evaluate(
            "[...document.querySelectorAll('figure svg.marks')].every(e => e.closest('[aria-hidden=true]'))"
        )
        assert page.evaluate(
            "[...document.querySelectorAll('figure .plot')].every(e => e.getAttribute('role') === 'img' && e.getAttribute('aria-label'))"
        )
        small = page.evaluate(
            """[...document.querySelectorAll('button, summary, input')].filter((e) => e.getBoundingClientRect().width && !e.closest('.save div'))
            .filter((e) => Math.min(e.getBoundingClientRect().width, e.getBoundingClientRect().height) < 23.5).map((e) => e.outerHTML)"""
        )
        assert small == []
    assert watched.page.evaluate("document.documentElement.lang") == "en"
    assert watched.page.locator("main, nav").count() == 2


def test_keys_alone_reach_everything(opened: Any, pages: dict[str, str]) -> None:
    watched = opened(f"{pages['few']}#problem=redaction")
    watched.settle()
    page = watched.page
    stops = []
    for _ in range(140):
        page.keyboard.press("Tab")
        one = page.evaluate(
            "(e => e === document.body ? '' : [e.className, e.id, e.getAttribute('role'), getComputedStyle(e).outlineStyle].join('|'))(document.activeElement)"
        )
        if not one or one in stops[:1]:
            break
        stops.append(one)
    assert len(stops) <= 120
    assert stops[0].startswith("skip")
    order = [
        next(i for i, stop in enumerate(stops) if part in stop)
        for part in ("mark|", "|find|", "strip|", "|tab|", "heat-region")
    ]
    assert order == sorted(order)
    assert all(stop.endswith(("auto", "solid")) for stop in stops)
    page.locator("[role=tab][aria-selected=true]").focus()
    page.keyboard.press("ArrowRight")
    watched.settle()
    assert page.locator("[role=tab][aria-selected=true]").get_attribute("data-problem") != "redaction"


def test_paper_is_light_short_and_without_controls(opened: Any, pages: dict[str, str]) -> None:
    watched = opened(pages["ten"], color_scheme="dark")
    watched.see("redaction")
    page = watched.page
    raw = page.pdf(format="A4", print_background=True)
    assert raw[:5] == b"%PDF-"
    assert raw.count(b"/Type /Page\n") + raw.count(b"/Type /Page ") + raw.count(b"/Type /Page/") <= 4
    page.emulate_media(media="print", color_scheme="dark")
    assert luminance(page.evaluate("getComputedStyle(document.body).backgroundColor")) > 0.9
    for where in (".bar", ".tabs", ".switch", ".save", ".eye"):
        assert not page.locator(where).first.is_visible()
    page.set_viewport_size({"width": 703, "height": 1000})  # A4 within its margins
    watched.settle()
    assert page.evaluate("document.documentElement.scrollWidth") <= 703
    assert (
        luminance(
            page.evaluate("getComputedStyle(document.querySelector('#frontiers .role-axis-label text')).fill")
        )
        < 0.2
    )


def test_all_problems_are_printed_and_the_screen_stays_as_it_was(opened: Any, pages: dict[str, str]) -> None:
    watched = opened(pages["few"])
    kinds = list(dict.fromkeys(row.question for row in ROWS))
    watched.see(kinds[1])
    page = watched.page
    watched.press(".heat .eye")
    address = page.url
    page.evaluate("window.print = () => { window.asked = true; }")
    page.locator("#table-save summary").click()
    page.locator("#table-save [data-save=print]").click()
    page.wait_for_function("window.asked", timeout=60_000)
    watched.settle()
    assert page.url == address
    assert page.locator("#printed").is_hidden()
    titles = page.locator(".board tbody th a").all_text_contents()
    assert page.locator("#printed h2").all_text_contents() == titles
    assert page.locator("#printed figure svg.marks").count() == sum(
        len({row.instance for row in ROWS if row.question == kind}) + 3 for kind in kinds
    )
    ids = page.evaluate(
        "[...document.querySelectorAll('[id]')].filter(e => !e.closest('svg')).map(e => e.id)"
    )
    assert len(set(ids)) == len(ids)
    page.emulate_media(media="print")
    assert not page.locator("#view").is_visible()
    assert page.locator("#printed section").last.is_visible()
    page.set_viewport_size({"width": 703, "height": 1000})  # A4 within its margins
    watched.settle()
    assert page.evaluate("document.documentElement.scrollWidth") <= 703
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("#printed").count() == 0
    assert page.locator("#view").is_visible()


@pytest.mark.parametrize("kind", ["report.html", "rows.jsonl"])
def test_another_run_is_compared_in_the_page(browser: Browser, tmp_path: Path, kind: str) -> None:
    rows = named(synthetic())
    answered = [row for row in rows if row.certified and row.objective is not None]
    better, worse, gone = answered[0], answered[1], answered[2]
    moved = {better.key: -0.5, worse.key: 0.25}
    then = [
        replace(row, objective=row.objective + moved[row.key], utility=row.objective + moved[row.key])
        if row.key in moved and row.objective is not None
        else row
        for row in rows
        if row.key != gone.key
    ]
    for name, own in (("then", then), ("now", rows)):
        write_report(write_folder(tmp_path / name, own), tmp_path / name / "report.html")
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto((tmp_path / "now" / "report.html").as_uri() + f"#problem={better.question}")
    page.wait_for_selector(READY)
    page.locator("#other").set_input_files(tmp_path / "then" / kind)
    said = page.locator("#against")
    sync_api.expect(said).to_contain_text("1 better, 1 worse")
    sync_api.expect(said).to_contain_text("1 answered only here")
    sync_api.expect(said).to_contain_text(f"{len(answered) - 3} the same")
    assert page.locator(".turn").count() >= 1
    page.locator("[data-alone]").click()
    sync_api.expect(said).to_be_hidden()
    assert page.locator(".turn").count() == 0
    odd = tmp_path / "odd.jsonl"
    odd.write_text('{"a": 1}\n', encoding="utf-8")
    page.locator("#other").set_input_files(odd)
    sync_api.expect(said).to_contain_text("odd.jsonl holds no rows of a run")
    page.close()


def test_without_scripts_the_first_screen_stands(browser: Browser, pages: dict[str, str]) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(pages["ten"])
    assert page.locator(".board tbody tr").count() == len(KINDS)
    assert "rows.csv" in page.locator("noscript").inner_text()
    assert not page.locator("#view").is_visible()
    assert not page.locator("#theme").is_visible()
    page.locator("#again summary").click()
    assert "privopt bench run" in page.locator("#again pre").inner_text()
    context.close()


# what the page is made of


def test_names_from_outside_are_only_text(opened: Any, pages: dict[str, str]) -> None:
    watched = opened(pages["few"])
    watched.see("redaction")
    for part in ("certificates", "why", "runs"):
        watched.page.locator(f"#{part} summary").first.click()
    assert watched.page.locator("b[onclick]").count() == 0
    assert HOSTILE in watched.page.locator("#heat code").all_inner_texts()


def test_rows_in_the_page_are_the_rows(opened: Any, pages: dict[str, str]) -> None:
    watched = opened(pages["few"])
    text = watched.page.evaluate(
        """(async () => new Response(new Blob([Uint8Array.from(atob(document.getElementById('data').textContent), (c) => c.charCodeAt(0))])
        .stream().pipeThrough(new DecompressionStream('gzip'))).text())()"""
    )
    stored = json.loads(text)["rows"]
    assert stored["objective"] == [row.objective for row in ROWS]
    assert stored["seconds"] == [row.seconds for row in ROWS]
    assert [stored["solver"]["l"][code] for code in stored["solver"]["c"]] == [row.solver for row in ROWS]


def test_the_policy_allows_nothing_from_outside(pages: dict[str, str]) -> None:
    for address in pages.values():
        text = Path(address.removeprefix("file://")).read_text(encoding="utf-8")
        assert "default-src 'none'" in text
        assert "unsafe-eval" not in text
        assert not re.search(r"""<(link|img|iframe|object|embed|base|script[^>]* src)\b""", text)
        assert len(text.encode()) < 600_000


def test_ten_thousand_rows_are_small_and_stand_in_few_elements(browser: Browser, tmp_path: Path) -> None:
    rows = [replace(row, instance=f"{row.instance}-{i}") for i in range(10) for row in TEN]
    assert len(rows) > 10_000
    folder = write_folder(tmp_path / "run", named(rows))
    write_report(folder, folder / "page.html")
    assert (folder / "page.html").stat().st_size < 1_200_000
    watched = Watched(browser, f"{(folder / 'page.html').as_uri()}#problem=redaction")
    watched.settle()
    page = watched.page
    assert page.evaluate("document.querySelectorAll('*').length") < 10_000
    assert page.locator("#frontiers figure").count() == 6
    assert page.locator("#frontiers [data-all]").inner_text() == "Show all 30 instances"
    assert page.locator("#heat thead .b").count() == 30
    page.locator("[data-open]").first.click()
    assert page.locator("#heat thead .b").count() == 33
    watched.press("[data-hide=near]")
    watched.context.close()
    assert watched.faults == []


def test_the_same_rows_are_the_same_page(pages: dict[str, str], tmp_path: Path) -> None:
    folder = Path(pages["few"].removeprefix("file://")).parent
    write_report(folder, tmp_path / "again.html")
    assert (tmp_path / "again.html").read_bytes() == (folder / "page.html").read_bytes()


def test_a_run_without_rows_is_a_page(opened: Any, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "run", [])
    write_report(folder, folder / "page.html")
    watched = opened((folder / "page.html").as_uri())
    watched.settle()
    assert (
        watched.page.locator("h1").inner_text()
        == "0 of 0 cases have a certified answer, 0 are proved optimal"
    )

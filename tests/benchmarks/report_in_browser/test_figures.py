"""The figures of one problem in the report: labels, colours, sizes, axes, tips, cells."""

from __future__ import annotations

import csv
import io
import re
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from instances.report_pages import ROWS, TEN, WIDTHS, Watched, luminance, named
from instances.report_rows import failed, make_row, write_folder

from privopt.benchmarks.report.judged import judged
from privopt.benchmarks.report.write import write_report
from privopt.benchmarks.runner.rows import Row

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.long


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

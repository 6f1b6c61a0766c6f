"""What a reader changes in the report: solvers, time, the address, the search."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from instances.report_pages import READY, ROWS, Watched, named
from instances.report_rows import HOSTILE, make_row, synthetic, write_folder

from privopt.benchmarks.report.judged import judged
from privopt.benchmarks.report.profiles import profile, time_costs
from privopt.benchmarks.report.write import write_report
from privopt.benchmarks.runner.traces import write_traces

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.long


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
    sync_api = pytest.importorskip("playwright.sync_api")
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

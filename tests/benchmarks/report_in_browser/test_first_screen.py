"""The first screen of the report: the finding, four numbers, every problem, what is said of claims."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pytest
from instances.report_pages import KINDS, ROWS

pytestmark = pytest.mark.long


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

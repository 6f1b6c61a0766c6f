"""The folded parts of the report: runs and certificates."""

from __future__ import annotations

from typing import Any

import pytest
from instances.report_pages import ROWS, TEN

from privopt.benchmarks.report.board import board
from privopt.benchmarks.report.judged import judged

pytestmark = pytest.mark.long


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

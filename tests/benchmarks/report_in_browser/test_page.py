"""What the page of a report is made of: rows, policy, size, sameness."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from instances.report_pages import ROWS, TEN, Watched, named
from instances.report_rows import HOSTILE, write_folder

from privopt.benchmarks.report.write import write_report

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.long


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

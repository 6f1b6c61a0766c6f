"""Pages of reports in headless Chromium, which must end without a message, an error or a request."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from instances.report_pages import ROWS, TEN, Watched
from instances.report_rows import write_folder

from privopt.benchmarks.report.write import write_report
from privopt.benchmarks.runner.rows import write_csv

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


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
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: no browser tests"
    )
    if CHROMIUM is None:
        pytest.skip("there is no chromium on this machine")
    with sync_api.sync_playwright() as playwright:
        # the sandbox cannot start for the superuser, which tests in containers often are
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


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

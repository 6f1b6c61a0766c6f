"""The site as its readers have it: built from the checkout, opened from a folder without a network, in a browser."""

from __future__ import annotations

import inspect
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from privopt.core.folders import is_own
from privopt.core.registry import problem_types
from tests.instances.axe import violations

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytest.importorskip("mkdocs")
pytest.importorskip("playwright")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine"),
]
ROOT = Path(__file__).resolve().parents[2]
PAGES = [path.relative_to(ROOT / "docs").as_posix() for path in sorted((ROOT / "docs").rglob("*.md"))]
WIDE = ["index.md", "which_problem.md", "solvers.md", "reference/measures.md"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built strictly: a link that leads nowhere, or a page that is in no menu, ends the build."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "-q", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


def opened(browser: Browser, site: Path, name: str, width: int = 1280) -> tuple[Page, list[str]]:
    """A page, and what went wrong or was asked of the network."""
    page = browser.new_page(viewport={"width": width, "height": 900})
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on(
        "request",
        lambda sent: (
            faults.append(sent.url) if not sent.url.startswith(("file:", "data:", "blob:")) else None
        ),
    )
    page.goto(f"file://{site / name.replace('.md', '.html')}")
    page.wait_for_load_state("load")
    return page, faults


@pytest.mark.parametrize(
    ("name", "width"), [*((name, 390) for name in PAGES), *((name, 1280) for name in WIDE)]
)
def test_a_page_opens_offline_is_no_wider_than_the_screen_and_has_no_fault_of_access(
    browser: Browser, site: Path, name: str, width: int
) -> None:
    page, faults = opened(browser, site, name, width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert not violations(page)
    assert not faults
    page.close()


@pytest.mark.parametrize(("words", "title"), [("watchdog", "Glossary"), ("frontier", "Choosing")])
def test_the_search_finds_pages_without_a_network(
    browser: Browser, site: Path, words: str, title: str
) -> None:
    page, faults = opened(browser, site, "index.md")
    page.keyboard.press("f")
    page.keyboard.type(words)
    page.wait_for_selector(".md-search-result__item", timeout=20_000)
    titles = page.locator(".md-search-result__item h1").all_inner_texts()
    assert any(title in text for text in titles), titles
    assert not faults


def test_the_reference_shows_signatures_and_no_markup(site: Path) -> None:
    """Also of classes that inherit their constructor, and of references from one docstring to another object."""
    pages = sorted((site / "reference").glob("*.html"))
    text = {page.stem: re.sub("<[^>]+>", "", page.read_text(encoding="utf-8")) for page in pages}
    for page, shown in text.items():
        assert not re.search(r":(class|meth|func|data|mod|attr|exc):", shown), page
    for problem in problem_types().values():
        if is_own(problem.__module__):
            continue
        first = next(iter(inspect.signature(problem).parameters))
        assert re.search(rf"\b{problem.__name__}\(\s*{first}\b", text["problems"]), problem

"""The page in headless Chromium, from a table to what is saved; it asks for nothing from elsewhere."""

from __future__ import annotations

import io
import json
import re
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, Literal

import pytest
from instances.axe import violations
from instances.people import EMPTY, ROWS, write_people

from privopt.studio.server import Studio

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: no browser tests")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine"),
]

PATIENCE = 120_000
WIDTHS = (390, 768, 1280)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_api.sync_playwright() as playwright:
        # the sandbox cannot start for the superuser, which tests in containers often are
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


class Opened:
    """A page of a studio whose faults are kept; what it asks of other places is refused."""

    def __init__(self, browser: Browser, studio: Studio) -> None:
        self.context = browser.new_context(viewport={"width": 1280, "height": 900})
        self.page: Page = self.context.new_page()
        self.faults: list[str] = []
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("console", self._heard)
        self.page.route(lambda url: not url.startswith((studio.address, "blob:", "data:")), self._refuse)
        self.page.goto(studio.address)

    def _heard(self, message: Any) -> None:
        if "status of 4" not in message.text:  # refusals of the server, which the page words
            self.faults.append(message.text)

    def _refuse(self, route: Any) -> None:
        self.faults.append(f"asked for {route.request.url}")
        route.abort()

    def use(self, column: str, role: str) -> None:
        roles = self.page.get_by_role("radiogroup", name=column, exact=True)
        roles.get_by_label(role, exact=True).check()

    def read_as(self, column: str, kind: str) -> None:
        self.page.get_by_label(f"{column}: read as").select_option(kind)

    def show_everything(self) -> None:
        """Everything that the page can show at once."""
        self.use("income", "secret")
        self.use("age", "release")
        self.use("school", "release")
        self.read_as("school", "order")
        self.page.locator("#start").click()
        self.told("status", "Done")
        self.page.locator("summary").click()

    def told(self, name: str, text: str | re.Pattern[str]) -> None:
        sync_api.expect(self.page.locator(f"#{name}")).to_contain_text(text, timeout=PATIENCE)

    def saved(self, what: str) -> tuple[str, bytes]:
        with self.page.expect_download(timeout=PATIENCE) as waiting:
            self.page.locator(f"#export-{what}").click()
        return waiting.value.suggested_filename, Path(waiting.value.path()).read_bytes()

    def seen(self, script: str) -> Any:
        return self.page.evaluate(script)


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    yield from serve(write_people(tmp_path / "people.csv"))


def serve(path: Path) -> Iterator[Studio]:
    with Studio(path) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def opened(browser: Browser, studio: Studio) -> Iterator[Opened]:
    one = Opened(browser, studio)
    one.told("file", f"people.csv: {ROWS} rows, 6 columns")
    yield one
    one.context.close()
    assert one.faults == []


def compute(opened: Opened) -> None:
    opened.use("income", "secret")
    opened.use("school", "release")
    opened.use("age", "release")
    opened.page.locator("#start").click()
    opened.told("status", "Done")


def test_from_a_table_to_a_release(opened: Opened, tmp_path: Path) -> None:
    opened.use("school", "release")
    opened.told("missing-label", "Empty cells of school")
    opened.page.locator("#missing").select_option("drop")
    compute(opened)
    page = opened.page
    opened.told("counted", f"{ROWS - EMPTY} rows ({EMPTY} left out")
    opened.told("notes", "age was put into")
    stops = int(page.locator("#slider").get_attribute("max") or 0)
    assert stops >= 4
    for figure in ("useful", "risk"):
        assert page.locator(f"#{figure} circle").count() == stops + 1
        assert "Privacy budget ε" in (page.locator(f"#{figure}").text_content() or "")
    page.locator("#slider").focus()
    page.keyboard.press("Home")
    low = page.locator("#key-useful").text_content()
    opened.told("epsilon", re.compile(r"^ε = 0\.05$"))
    page.keyboard.press("End")
    useful = page.locator("#key-useful").text_content() or ""
    assert useful != low
    assert "times as likely" in (page.locator("#slider").get_attribute("aria-valuetext") or "")
    page.locator("#risk-rows tr").nth(3).wait_for()
    opened.told("risk-words-list", "Somebody who guesses income of a person is right for")
    page.locator("#book tr").first.wait_for()
    opened.told("folder", str(tmp_path / "people-release"))
    name, content = opened.saved("release")
    assert name == "people-release.zip"
    opened.told("saved", f"Drawn into {tmp_path / 'people-release'}")
    opened.told("saved", f"{useful} of the information kept")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.read("released.csv") == (tmp_path / "people-release" / "released.csv").read_bytes()
        lines = archive.read("released.csv").decode().splitlines()
    assert len(lines) == ROWS - EMPTY + 1
    assert opened.saved("release")[1] == content
    opened.told("saved", "nothing was drawn")
    assert opened.saved("script")[0] == "people-release.py"
    assert json.loads(opened.saved("notebook")[1])["nbformat"] == 4
    opened.told("command", "privopt publish")
    page.locator("#slider").focus()
    page.keyboard.press("Home")
    page.locator("#export-release").click()
    opened.told("again-why", "released once only")
    with page.expect_download(timeout=PATIENCE) as waiting:
        page.locator("#again-save").click()
    assert Path(waiting.value.path()).read_bytes() == content
    opened.use("city", "release")
    sync_api.expect(page.locator("#stale")).to_be_visible()
    opened.use("city", "leave out")
    sync_api.expect(page.locator("#stale")).to_be_hidden()


def test_a_release_is_said_when_the_studio_starts_again(browser: Browser, tmp_path: Path) -> None:
    path = write_people(tmp_path / "people.csv")
    contents = []
    for _ in range(2):
        for server in serve(path):
            opened = Opened(browser, server)
            compute(opened)
            contents.append(opened.saved("release")[1])
            opened.context.close()
            assert opened.faults == []
    assert contents[0] == contents[1]
    for server in serve(path):
        opened = Opened(browser, server)
        opened.told(
            "earlier-text", f"A release is in {tmp_path / 'people-release'}: age and school of {ROWS} rows"
        )
        opened.context.close()


def test_a_wish_another_budget_and_a_longer_search(opened: Opened) -> None:
    compute(opened)
    page = opened.page
    useful = float((page.locator("#key-useful").text_content() or "").split()[0])
    page.locator("#wish").fill(str(int(useful) + 1))
    page.locator("#least button").click()
    assert float((page.locator("#key-useful").text_content() or "").split()[0]) >= int(useful) + 1 - 0.05
    page.locator("#budget").fill("0.42")
    page.locator("#exact button").click()
    opened.told("epsilon", "ε = 0.42")
    page.locator("#budget").fill("-1")
    page.locator("#exact button").click()
    opened.told("error", "from 0 to 20")


def test_ordered_values_are_put_in_order_by_keys(opened: Opened) -> None:
    opened.use("income", "secret")
    opened.use("school", "release")
    opened.use("age", "release")
    opened.read_as("school", "order")
    page = opened.page
    assert page.locator("#contiguous").is_checked()
    page.get_by_role("button", name="Move high down", exact=True).focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")  # the button moves along, and keeps the focus
    values = page.get_by_role("list", name="Values of school from first to last").locator("li > span")
    assert values.all_text_contents() == ["low", "middle", "high"]
    opened.read_as("age", "equal")
    page.get_by_label("Number of ranges of age").fill("4")
    page.locator("#start").click()
    opened.told("status", "Done")
    opened.told("command", "--order school=low,middle,high")
    opened.told("command", "--bins age=equal:4")
    page.locator("#slider").focus()
    page.keyboard.press("End")
    opened.told("book", "age")


def test_a_hierarchy_is_read_from_a_file(opened: Opened, tmp_path: Path) -> None:
    opened.use("income", "secret")
    opened.use("school", "release")
    opened.use("age", "release")
    opened.read_as("school", "tree")
    page = opened.page
    page.locator("#start").click()
    opened.told("error", "Choose the file of the hierarchy of school")
    tree = tmp_path / "school.csv"
    tree.write_text("low;basic\nmiddle;basic\n", encoding="utf-8")
    page.get_by_label("File of the hierarchy of school").set_input_files(tree)
    page.locator("#start").click()
    opened.told("error", "has no row for 1 of its 3 values")
    tree.write_text("low;basic\nmiddle;basic\nhigh;more\n", encoding="utf-8")
    page.get_by_label("File of the hierarchy of school").set_input_files([])
    page.get_by_label("File of the hierarchy of school").set_input_files(tree)
    page.locator("#start").click()
    opened.told("status", "Done")


def test_what_is_wrong_is_said_on_the_page(opened: Opened) -> None:
    page = opened.page
    page.locator("#start").click()
    opened.told("error", "Choose a column to be the secret.")
    opened.use("income", "secret")
    opened.use("name", "release")
    page.locator("#start").click()
    opened.told("error", "'name' has 600 different values in 600 rows: leave it out")
    opened.use("name", "leave out")
    opened.use("age", "release")
    opened.read_as("age", "edges")
    page.locator("#start").click()
    opened.told("error", "Give the edges of the ranges of age")
    page.get_by_label("Edges of the ranges of age").fill("30, 60")
    page.locator("#start").click()
    opened.told("error", "go from 30 to 60, its numbers from 18 to 79")


def test_it_can_be_stopped_and_two_tabs_do_not_disturb_each_other(browser: Browser, studio: Studio) -> None:
    one, two = Opened(browser, studio), Opened(browser, studio)
    for tab, columns in ((one, ("age", "school", "city")), (two, ("school",))):
        tab.use("income", "secret")
        for name in columns:
            tab.use(name, "release")
        tab.page.locator("#start").click()
    stop = one.page.locator("#stop")
    one.page.evaluate(
        "button => button.hidden || button.click()", stop.element_handle()
    )  # it may be done already
    two.told("status", "Done")
    one.told("status", re.compile("Stopped|Done"))
    one.told("counted", "of age, school, city")
    two.told("counted", "of school;")
    for tab in (one, two):
        tab.context.close()
        assert tab.faults == []


def test_by_keys_alone(opened: Opened) -> None:
    page = opened.page
    page.keyboard.press("Tab")
    assert page.locator(":focus").text_content() == "To the results"

    def reach(script: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            if opened.seen(f"(e => {script})(document.activeElement)"):
                return
        raise AssertionError(script)

    for name, presses in (("age", 2), ("school", 2), ("income", 1)):
        reach(f"e.type === 'radio' && e.closest('li').querySelector('.name').textContent === '{name}'")
        for _ in range(presses):
            page.keyboard.press("ArrowRight")
    reach("e.id === 'start'")
    page.keyboard.press("Enter")
    opened.told("status", "Done")
    reach("e.id === 'slider'")
    page.keyboard.press("End")
    reach("e.id === 'export-release'")
    with page.expect_download(timeout=PATIENCE):
        page.keyboard.press("Space")
    opened.told("saved", "Drawn into")


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_cut_off_and_everything_can_be_perceived(opened: Opened, width: int) -> None:
    page = opened.page
    page.set_viewport_size({"width": width, "height": 900})
    opened.show_everything()
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        assert opened.seen("document.documentElement.scrollWidth") <= width
        assert opened.seen(CONTRAST) == []
        assert violations(opened.page) == []


def test_everything_has_a_name_and_can_be_reached_by_keys(opened: Opened) -> None:
    compute(opened)
    nameless = opened.seen(
        """[...document.querySelectorAll('button, input, select, [role=region], [role=img]')].filter(e => !(e.textContent.trim()
        && e.tagName === 'BUTTON') && !e.ariaLabel && !e.getAttribute('aria-labelledby') && !(e.labels && e.labels.length)).map(e => e.id || e.outerHTML)"""
    )
    assert nameless == []
    tabbed = opened.seen("[...document.querySelectorAll('[tabindex]')].filter(e => e.tabIndex > 0).length")
    assert tabbed == 0
    aligned = opened.seen(
        "[...document.querySelectorAll('td.number')].every(e => getComputedStyle(e).textAlign === 'right')"
    )
    assert aligned
    headings = opened.seen("[...document.querySelectorAll('h1, h2')].filter(e => e.checkVisibility()).length")
    assert headings == 6


def test_a_missing_file_is_said_and_read_when_it_is_there(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    for server in serve(path):
        opened = Opened(browser, server)
        opened.told("error", f"{path}: cannot be read: No such file")
        write_people(path, 50)
        opened.page.locator("#retry").click()
        opened.told("file", "people.csv: 50 rows")
        assert opened.page.locator("#error").is_hidden()
        opened.context.close()
        assert opened.faults == []


CONTRAST = """
(() => {
  const parse = c => (c.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
  const faint = [];
  for (const e of document.querySelectorAll('body *')) {
    if (!e.checkVisibility() || e.disabled || e.closest(':disabled, label:has(:disabled)') || ![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
    const own = e.namespaceURI.endsWith('svg'), style = getComputedStyle(e);
    if (['SCRIPT', 'STYLE', 'title'].includes(e.tagName) || e.classList.contains('skip')) continue;
    const [a, b] = [light(parse(own ? style.fill : style.color)), light(ground(e))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) faint.push(e.outerHTML.slice(0, 80));
  }
  return faint;
})()
"""

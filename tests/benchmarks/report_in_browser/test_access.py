"""Colours, contrast, keys, print and screen readers: the report for everybody, and without scripts."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from instances.axe import violations
from instances.report_pages import KINDS, ROWS, luminance

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.long


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
    watched = opened(pages["few"])  # a place in the address would be where keys begin, in some browsers
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

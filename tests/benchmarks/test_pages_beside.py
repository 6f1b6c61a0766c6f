"""Pages beside the report of a run: counts that equal their tables, and Chromium at five widths, where no cell overflows."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pytest
from instances.axe import violations
from instances.report_rows import HOSTILE, MANIFEST, failed, make_row, write_folder
from typer.testing import CliRunner

from privopt.benchmarks.papers.item import Exhibit, Finding, Item, Reproduced, chosen, items
from privopt.benchmarks.papers.page import heading, headline, reproduced_page, shares
from privopt.benchmarks.peers.page import headline as peers_headline
from privopt.benchmarks.peers.page import page as peers_page
from privopt.benchmarks.peers.page import standing
from privopt.benchmarks.peers.rows import PeerRow
from privopt.benchmarks.regret.page import page as regret_page
from privopt.benchmarks.regret.regrets import Standing
from privopt.benchmarks.report.compared import best_pairs, compared_page, time_ratios
from privopt.benchmarks.runner.rows import Row
from privopt.benchmarks.timings.measurement import Measurement, Timing
from privopt.benchmarks.timings.page import headline as timings_headline
from privopt.benchmarks.timings.page import page as timings_page
from privopt.benchmarks.timings.run import Measured
from privopt.cli import app

if TYPE_CHECKING:
    from playwright.sync_api import Browser

WIDTHS = (320, 390, 768, 1280, 1920)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
LONG_WORD = "x" * 90


def reproduced() -> list[tuple[Item, Reproduced]]:
    """Every item with a verdict in turn, one with a table and a figure, one with words that do not end."""
    import pandas as pd

    frame = pd.DataFrame({"budget": [0.1, 1.0], "utility of a window": [0.25, 0.5]})
    exhibit = Exhibit(
        "utilities", "Ours and theirs.", frame, lambda: '<svg viewBox="0 0 9 9"><path d="M0 0H9"/></svg>'
    )
    made = []
    for i, item in enumerate(chosen("all")):
        finding = (Finding.MATCHES, Finding.OFF, Finding.HOLDS, Finding.NOT_REPRODUCIBLE, Finding.ROUNDING)[
            i % 5
        ]
        ours = LONG_WORD if i == 7 else f"0.{i}"
        made.append((item, Reproduced(ours, finding, f"Because {HOSTILE}", (exhibit,) if i == 3 else ())))
    return made


def page_of_items() -> str:
    return reproduced_page(reproduced(), "2030-01-01", 1.0, "privopt reproduce all", {"Python": "3"})


def rows_of(shift: float = 0.0, seconds: float = 1.0, seeds: int = 3, noise: int = 1) -> list[Row]:
    """Two solvers on three cases with several seeds; the first case is answered better by ``shift``."""
    rng = np.random.default_rng(noise)
    return [
        make_row(
            instance=f"i{i}", fingerprint=str(i), solver=solver, seed=seed,
            objective=0.5 + (shift if i == 0 else 0.0) - (0.1 if solver == "windows" else 0.0),
            seconds=(seconds if solver == "optimal" else 1.0) * math.exp(0.02 * rng.standard_normal()),
        )
        for i in range(3) for seed in range(seeds) for solver in ("optimal", "windows")
    ]  # fmt: skip


def compared(before: list[Row], after: list[Row]) -> str:
    return compared_page(
        (MANIFEST, before), (MANIFEST, after), ("A", f"B {HOSTILE}"), "privopt bench compare A B"
    )


# what papers print


def test_the_counts_of_the_finding_are_those_of_the_table() -> None:
    text = page_of_items()
    verdicts = re.findall(r'<tr data-verdict="(\w+)"', text)
    assert len(verdicts) == len(items())
    counts = {share.kind: share.count for share in shares(one.finding for _, one in reproduced())}
    assert {kind: verdicts.count(kind) for kind in counts} == counts
    confirmed, off = counts["confirmed"], counts["off"]
    assert f"{len(verdicts)} printed items: {confirmed} confirmed, {off} where the paper is off" in text


def test_where_the_paper_is_off_comes_first_in_every_paper() -> None:
    for section in page_of_items().split("<section data-source=")[1:]:
        verdicts = re.findall(r'<tr data-verdict="(\w+)"', section)
        assert verdicts == sorted(verdicts, key=["off", "failed", "open", "confirmed", "unknown"].index)


def test_what_failed_is_an_alarm() -> None:
    assert (
        headline([Finding.FAILED, Finding.OPEN]) == "2 printed items: 1 that failed, 1 that nothing computes"
    )
    item = chosen("R-T1")[0]
    text = reproduced_page([(item, Reproduced("", Finding.FAILED, "raised"))], "", 0.0, "", {})
    assert 'class="alarm red"' in text


def test_headings_of_figures_are_words() -> None:
    for item in items().values():
        told = heading(item)
        assert not told.startswith(item.name)
        assert not re.search(r"\b(Fig|Sec|Eq|App)\.", told.split(":")[0])
        assert len(told) < 160


def test_words_from_outside_are_escaped() -> None:
    for text in (page_of_items(), compared(rows_of(), rows_of())):
        assert HOSTILE not in text
        assert "&lt;/script&gt;" in text


# two runs


def test_a_run_is_the_same_as_itself() -> None:
    text = compared(rows_of(), rows_of())
    assert "0 better, 0 worse, 3 the same" in text
    assert "No run differs" in text
    assert "No change in times can be told" in text


def test_better_and_worse_are_counted_by_case() -> None:
    assert "1 better, 0 worse, 2 the same" in compared(rows_of(), rows_of(shift=0.01))
    assert "0 better, 1 worse, 2 the same" in compared(rows_of(shift=0.01), rows_of())


def test_a_case_that_lost_its_answer_is_worse() -> None:
    lost = [failed(row, "TIME_OUT", "late") if row.instance == "i1" else row for row in rows_of()]
    assert [pair.change for pair in best_pairs(rows_of(), lost)] == [0, -1, 0]
    assert [pair.change for pair in best_pairs(lost, rows_of())] == [0, 1, 0]


def test_nothing_is_claimed_where_intervals_overlap() -> None:
    spread = [replace(row, objective=(row.objective or 0) + 0.05 * row.seed) for row in rows_of()]
    moved = [replace(row, objective=(row.objective or 0) + 0.02) for row in spread]
    assert [pair.change for pair in best_pairs(spread, moved)] == [0, 0, 0]


def test_solvers_that_one_run_lacks_change_nothing() -> None:
    fewer = [row for row in rows_of() if row.solver != "optimal"]
    assert [pair.change for pair in best_pairs(rows_of(), fewer)] == [0, 0, 0]


def test_time_ratios_are_those_of_scipy() -> None:
    from scipy.stats import sem, t

    before, after = rows_of(), rows_of(seconds=2.0, noise=2)
    logs = {
        seed: np.mean([math.log((b.seconds or 1) / (a.seconds or 1)) for a, b in zip(before, after, strict=True)
                       if a.solver == "optimal" and a.seed == seed])
        for seed in range(3)
    }  # fmt: skip
    low, high = t.interval(0.95, 2, loc=np.mean(list(logs.values())), scale=sem(list(logs.values())))
    optimal, windows = time_ratios(before, after)
    assert (optimal.low, optimal.high) == pytest.approx((math.exp(low), math.exp(high)))
    assert (optimal.clear, windows.clear) == (True, False)
    assert (optimal.pairs, optimal.over) == (9, "seeds")
    text = compared(before, after)
    assert "1 solver changed in time" in text
    assert "<code>windows</code>" not in text.split('id="times"')[1]


def test_the_command_writes_the_page(tmp_path: Path) -> None:
    folders = [write_folder(tmp_path / name, rows) for name, rows in (("a", rows_of()), ("b", rows_of(0.01)))]
    page = tmp_path / "page.html"
    ran = CliRunner().invoke(app, ["bench", "compare", *map(str, folders), "--report", str(page)])
    assert ran.exit_code == 0, ran.output
    assert "1 better, 0 worse, 2 the same" in page.read_text(encoding="utf-8")


# other tools


PEER = PeerRow(
    "boundary_colouring", "highs", "i", 3, 1.0, "answered", "", 0.5, 1.0, 1.0, None, 1.0, "OPTIMAL", "ours", True, 1.0, 0.0, True
)  # fmt: skip


def peer_rows() -> list[PeerRow]:
    """A private one, two that are worse, two that are not proved, one refused."""
    return [
        PEER,
        replace(PEER, instance="worse", objective=0.9, seconds=2.0),
        replace(PEER, peer="scs", proved=False, excess=0.33),
        replace(PEER, peer="scs", instance="two", proved=False, excess=math.inf),
        replace(PEER, peer="qif", question="redaction", status="refused", reason="three states"),
    ]


def test_the_finding_on_other_tools_is_a_count_of_rows() -> None:
    rows = peer_rows()
    assert peers_headline(rows) == (
        "2 of 4 answers of other tools are not proved to keep the budget; 3 of 4 are faster"
    )
    assert peers_headline(rows) in peers_page(rows, "now", 1.0, {})


def test_a_tool_is_private_before_it_is_good_before_it_is_fast() -> None:
    first, worse, over, unbounded, refused = peer_rows()
    assert standing([first]).said == "private, as good"
    assert standing([first, worse]).said == "private, 10 % worse"
    assert standing([first, over]).said == "not private, by up to 0.33, in 1 of 2"
    assert standing([unbounded]).said == "not private, without bound"
    assert standing([refused]).sign == "–"
    assert standing([first]).speed == "2 × faster"
    assert standing([replace(first, seconds=130.0)]).speed == "130 × slower"


# timings


def timed() -> list[Measured]:
    work = Measurement("sorting", "Sorting of lists", lambda quick: ())
    timings = [
        Timing.against("sorting", n, n * 1e-6, ("bubbles", n * 1e-5), 0.0, "difference")
        for n in (10, 100, 1000)
    ]
    checks = Timing("order is kept", 5, 1.0, quality=0.0, note="violations")
    return [Measured(work, (*timings, checks), 1.0)]


def test_the_finding_on_timings_is_a_count_of_rows() -> None:
    assert (
        timings_headline(timed())
        == "3 of 3 timings of references are longer than ours; 0 of 1 invariants violated"
    )
    assert "<b>10</b>" in timings_page(timed(), "now", True, {})


# in a browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    playwright = pytest.importorskip("playwright.sync_api")
    chromium = next(
        (path for path in map(Path, ("/usr/bin/chromium", "/usr/bin/chromium-browser")) if path.exists()),
        None,
    )
    if chromium is None:
        pytest.skip("no Chromium is installed")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=str(chromium), args=["--no-sandbox"])
        yield browser
        browser.close()


PAGES = ("items", "compared", "peers", "timings", "regret")


def stands() -> list[Standing]:
    """One as good as the best, one without an answer and late, under a name that does not end."""
    good = Standing(
        "redaction/one",
        1.0,
        "OPTIMAL",
        "optimal",
        0.5,
        0.5,
        0.5,
        "windows",
        0.1,
        0.0,
        0.2,
        0.0,
        0.1,
        "windows",
    )
    lost = replace(
        good, case=f"privacy_funnel/{LONG_WORD}", objective=None, winner="", regret=math.inf, late=3.0
    )
    return [good, lost, replace(good, limit=5.0, seconds=1.0)]


OVERFLOWING = """() => [...document.querySelectorAll('td, th, h1, h2, h3, p, .stack span')]
  .filter((e) => e.offsetParent && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== 'inline')
  .map((e) => e.textContent.slice(0, 60))"""


def pages() -> dict[str, str]:
    return {
        "items": page_of_items(),
        "compared": compared(rows_of(), rows_of(0.01, 2.0)),
        "peers": peers_page([*peer_rows(), replace(PEER, peer=LONG_WORD)], "now", 1.0, {"Python": "3"}),
        "timings": timings_page(timed(), "now", True, {"Python": "3"}),
        "regret": regret_page(stands(), "now", 1.0, {"Python": "3"}),
    }


@pytest.mark.long
@pytest.mark.parametrize("name", PAGES)
def test_no_cell_overflows_at_any_width(browser: Browser, tmp_path: Path, name: str) -> None:
    path = tmp_path / "page.html"
    path.write_text(pages()[name], encoding="utf-8")
    for width in WIDTHS:
        page = browser.new_page(viewport={"width": width, "height": 900})
        errors: list[str] = []
        page.on("pageerror", lambda error, errors=errors: errors.append(str(error)))  # type: ignore[misc]
        page.goto(path.as_uri() + "#verdict=all")
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert page.evaluate(OVERFLOWING) == [], width
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, width
        assert errors == []
        page.close()


@pytest.mark.long
def test_chips_show_one_verdict_and_the_address_keeps_it(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(page_of_items(), encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())

    def shown() -> list[Any]:
        visible = "rows => rows.filter(r => r.offsetParent).map(r => r.dataset.verdict)"
        verdicts: list[Any] = page.locator(".items tbody tr[data-verdict]").evaluate_all(visible)
        return verdicts

    assert set(shown()) == {"off"}
    page.get_by_role("button", name="confirmed").click()
    assert set(shown()) == {"confirmed"}
    count = len(shown())
    assert f"{count} of {len(items())} items" in page.locator("#shown").inner_text()
    page.reload()
    assert set(shown()) == {"confirmed"}
    page.get_by_role("button", name="All").click()
    assert len(shown()) == len(items())
    page.get_by_label("Find").fill("Theorem 2 vs")
    assert len(shown()) == 1
    page.close()


@pytest.mark.long
@pytest.mark.parametrize("name", PAGES)
def test_axe_objects_to_nothing_in_light_or_dark(browser: Browser, tmp_path: Path, name: str) -> None:
    path = tmp_path / "page.html"
    path.write_text(pages()[name], encoding="utf-8")
    for scheme in SCHEMES:
        page = browser.new_page(color_scheme=scheme)
        page.goto(path.as_uri() + "#verdict=all")
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert violations(page) == [], scheme
        page.close()

"""Several repetitions on the page: medians and quartiles as NumPy and SciPy have them, claims only where these allow them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from instances.axe import violations
from instances.report_rows import failed, make_row, write_folder
from scipy.stats import iqr

from privopt.benchmarks.peers.page import matrix
from privopt.benchmarks.peers.rows import PeerRow, read_peers
from privopt.benchmarks.peers.run import write_peers
from privopt.benchmarks.report.board import board
from privopt.benchmarks.report.entries import Kind, case_lines
from privopt.benchmarks.report.judged import judged
from privopt.benchmarks.report.packed import packed
from privopt.benchmarks.report.write import write_report
from privopt.benchmarks.runner.rows import AUTO, Row
from privopt.benchmarks.runner.vocabulary import Vocabulary
from privopt.errors import FileRefused

if TYPE_CHECKING:
    from playwright.sync_api import Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
READY = "html[data-drawn=yes]"
OVERLAPPING = {
    "search": (0.50, 0.52, 0.54, 0.56, 0.58),
    "other": (0.51, 0.53, 0.55, 0.57, 0.59),
    "simple": (0.2, 0.2, 0.2, 0.2, 0.2),
}
APART = {**OVERLAPPING, "other": (0.71, 0.73, 0.75, 0.77, 0.79)}
NAMED = {0.5: OVERLAPPING, 1.0: APART}


def repeated(seeds: int = 5) -> list[Row]:
    """Two budgets with five repetitions: at the first two solvers overlap, at the second they lie apart; one run is late."""
    rows = []
    for budget, values in NAMED.items():
        for solver, own in values.items():
            for seed, value in enumerate(own[:seeds]):
                row = make_row(
                    solver=solver, budget=budget, seed=seed, objective=value, fingerprint=str(budget), bound=0.9,
                    gap=0.9 - value, seconds=0.1 * (seed + 1), key=f"{len(rows):08x}",
                )  # fmt: skip
                late = (solver, seed) == ("simple", 4)
                rows.append(failed(row, "TIME_OUT", "the limit came first") if late else row)
    solve = [replace(r, solver=AUTO, chosen="search") for r in rows if r.solver == "search"]
    return [*rows, *(replace(r, key=f"a{i:07x}") for i, r in enumerate(solve))]


PEER = PeerRow(
    "redaction", "quilt", "one", 3, 1.0, "answered", "", 2.0, 0.5, 0.4, None, 0.5, "OPTIMAL", "ours", True, 1.0, 0.0, True
)  # fmt: skip
PEERS = (
    PEER,
    replace(PEER, peer="highs", objective=0.5, seconds=0.1, proved=False, excess=float("inf")),
    replace(
        PEER, peer="dit", question="privacy_funnel", status="refused", reason="too large", objective=None
    ),
)


# numbers


def test_medians_and_quartiles_are_those_of_numpy_and_scipy() -> None:
    first, second = case_lines(judged(repeated()))
    for line, values in ((first, OVERLAPPING), (second, APART)):
        for solver, own in values.items():
            entry = line.entries[solver]
            told = np.array(own if solver != "simple" else own[:4])
            assert entry.objective == pytest.approx(np.median(told))
            assert entry.objectives is not None
            assert (entry.objectives.lower, entry.objectives.upper) == pytest.approx(
                np.percentile(told, [25, 75])
            )
            assert (entry.objectives.upper or 0) - (entry.objectives.lower or 0) == pytest.approx(iqr(told))
            assert (entry.objectives.count, entry.seeds) == (len(told), 5)
            assert entry.seconds == pytest.approx(np.median(0.1 * np.arange(1, len(told) + 1)))
    assert first.level == pytest.approx(0.55)
    assert first.entries["simple"].loss == pytest.approx(0.35 / 0.55)


def test_best_is_claimed_only_where_quartiles_lie_apart() -> None:
    first, second = case_lines(judged(repeated()))
    assert {s: e.kind for s, e in first.entries.items()} == {
        "search": Kind.UNDECIDED, "other": Kind.UNDECIDED, "simple": Kind.MORE, AUTO: Kind.UNDECIDED
    }  # fmt: skip
    assert {s: e.kind for s, e in second.entries.items()} == {
        "search": Kind.MORE, "other": Kind.BEST, "simple": Kind.MORE, AUTO: Kind.MORE
    }  # fmt: skip
    assert (first.undecided, first.winners) == (True, ())


def test_the_board_counts_by_the_same_rule() -> None:
    told = board(judged(repeated()))
    (line,) = told.problems
    assert {s.solver: (s.won, s.undecided) for s in line.solvers} == {
        "other": (1, 1), "search": (0, 1), "simple": (0, 0)
    }  # fmt: skip
    assert ([n.solver for n in line.named], line.undecided) == (["other"], 1)
    assert (told.finding.best, told.finding.undecided) == (0, 1)
    assert told.finding.headline.endswith("in 0 of 2 cases; in 1 it cannot be told from the best")
    assert told.finding.worst == pytest.approx(0.21 / 0.75)


def test_two_repetitions_are_too_few_for_a_claim() -> None:
    _, second = case_lines(judged(repeated(2)))
    assert second.entries["other"].kind is Kind.UNDECIDED
    assert second.entries["search"].kind is Kind.MORE


def test_what_every_repetition_proves_optimal_is_best_however_few_there_are() -> None:
    rows = [make_row(seed=seed, bound=0.5, gap=0.0, status="OPTIMAL") for seed in range(2)]
    (line,) = case_lines(judged([*rows, *(replace(r, solver="near", objective=0.4) for r in rows)]))
    assert line.entries["optimal"].kind is Kind.PROVED


def test_a_run_without_repetitions_is_packed_as_before() -> None:
    rows = judged([row for row in repeated() if row.seed == 0])
    made = board(rows)
    data = packed(made, rows, Vocabulary())
    assert data["spreads"] == {}
    assert "timed" not in data["problems"][0]["solvers"][0]
    assert [e.kind for e in case_lines(rows)[0].entries.values()] == [
        Kind.CLOSE,
        Kind.BEST,
        Kind.MORE,
        Kind.CLOSE,
    ]


# rows of other tools


def test_rows_of_other_tools_are_read_as_they_were_written(tmp_path: Path) -> None:
    write_peers(tmp_path / "peers.csv", PEERS)
    assert read_peers(tmp_path / "peers.csv") == PEERS


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [("0.5", "half", "our_seconds is 'half'"), ("True", "yes", "line 2: our_certified is 'yes'"), ("size", "length", "has no size")],
)  # fmt: skip
def test_a_malformed_cell_is_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = tmp_path / "peers.csv"
    write_peers(path, PEERS)
    path.write_text(path.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    with pytest.raises(FileRefused, match=said):
        read_peers(path)
    folder = write_folder(tmp_path / "run", repeated())
    with pytest.raises(FileRefused, match=said):
        write_report(folder, folder / "page.html", path)
    assert not (folder / "page.html").exists()


@pytest.mark.long
def test_the_section_on_other_tools_is_there_only_with_their_rows(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "run", repeated())
    write_report(folder, folder / "page.html")
    assert "Against other tools" not in (folder / "page.html").read_text(encoding="utf-8")
    write_peers(folder / "peers.csv", PEERS)
    write_report(folder, folder / "page.html")
    text = (folder / "page.html").read_text(encoding="utf-8")
    assert "Against other tools" in text
    assert matrix(PEERS).headline in text


# in the browser


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """The page of the run with repetitions and other tools; it must end without a message or an error."""
    pytest.importorskip("vl_convert")
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: no browser tests")
    if CHROMIUM is None:
        pytest.skip("there is no chromium on this machine")
    folder = write_folder(tmp_path_factory.mktemp("repeated") / "run", repeated())
    write_peers(folder / "peers.csv", PEERS)
    write_report(folder, folder / "page.html")
    faults: list[str] = []
    with api.sync_playwright() as playwright:
        # the sandbox cannot start for the superuser, which tests in containers often are
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        opened = browser.new_page(viewport={"width": 1280, "height": 800})
        opened.on("console", lambda message: faults.append(message.text))
        opened.on("pageerror", lambda error: faults.append(str(error)))
        opened.goto((folder / "page.html").as_uri() + "#problem=redaction")
        opened.wait_for_selector(READY, timeout=60_000)
        yield opened
        browser.close()
    assert faults == []


def cell(page: Page, solver: str, place: int) -> str:
    return f'#heat tr[data-solver="{solver}"] td[data-row] >> nth={place}'


@pytest.mark.long
def test_cells_claim_no_more_than_the_repetitions(page: Page) -> None:
    signs = {s: [page.locator(cell(page, s, i)).inner_text()[0] for i in (0, 1)] for s in ("search", "other")}
    assert signs == {"search": ["≈", "2"], "other": ["≈", "○"]}
    assert page.locator("#heat td.cu").count() == 3
    assert "≈not distinguishable from the best" in page.locator("#panel .key").inner_text()
    said = page.locator("#finding").inner_text()
    assert "other is best in 1 of 2 cases" in said
    assert "In 1 case the repetitions do not tell which solver is best." in said
    assert "0 of 2 cases; in 1 it cannot be told from the best" in page.locator("h1").inner_text()
    assert "1 not distinguishable" in page.locator(".board .names").inner_text()


@pytest.mark.long
def test_tips_and_readers_say_median_and_quartiles(page: Page) -> None:
    page.locator(cell(page, "search", 0)).hover()
    tip = page.locator("#tip").inner_text()
    assert re.search(r"not distinguishable from the best: 0\.54 in 300 ms; medians of 5 repetitions", tip)
    assert "quartiles 0.52 to 0.56 and 200 ms to 400 ms" in tip
    page.locator(cell(page, "simple", 0)).hover()
    assert "medians of 4 of 5 repetitions" in page.locator("#tip").inner_text()
    heard = page.locator(cell(page, "search", 0)).locator(".heard").text_content() or ""
    assert heard.strip().startswith(
        "not distinguishable from the best, medians of 5 repetitions, quartiles 0.52"
    )
    time = page.locator('#heat tr[data-solver="search"] td.time')
    assert "quartiles 200 ms to 400 ms" in (time.text_content() or "")
    assert "300 ms" in (time.text_content() or "")
    assert "quartiles" in (page.locator(".board td.n").first.get_attribute("data-tip") or "")


@pytest.mark.long
def test_panels_draw_the_quartiles_of_coloured_solvers(page: Page) -> None:
    drawn = page.evaluate(
        "(() => { const box = document.querySelector('#frontiers .plot'); const out = [];"
        "const walk = (item) => { if (item.mark?.marktype === 'rule' && item.datum?.low !== undefined) out.push([item.datum.solver,"
        " item.datum.budget, item.datum.low, item.datum.high, item.y, item.y2]); (item.items ?? []).forEach(walk); };"
        "walk(box.view.scenegraph().root); return out; })()"
    )
    told = {(s, b): (low, high, y, y2) for s, b, low, high, y, y2 in drawn}
    assert set(told) == {(s, b) for b in NAMED for s in ("search", "other", "simple")}
    for (solver, budget), (low, high, y, y2) in told.items():
        own = NAMED[budget][solver][: 4 if solver == "simple" else 5]
        assert (low, high) == pytest.approx(tuple(np.quantile(own, [0.25, 0.75])))
        assert (y == y2) == (low == high)
    page.locator("#frontiers .plot").first.hover(position={"x": 2, "y": 60})
    tip = page.locator("#tip")
    assert re.search(r"search\s+0\.54 \[0\.52, 0\.56\]\s+≈ best", tip.inner_text())
    assert tip.evaluate("tip => tip.scrollWidth <= tip.clientWidth")
    assert "bars the quartiles" in page.locator("#frontier-note").inner_text()


@pytest.mark.long
def test_figures_as_files_hold_the_quartiles(page: Page) -> None:
    box = page.locator("#frontiers figure").first
    box.locator(".save summary").click()
    with page.expect_download() as waiting:
        box.locator("button[data-save=csv]").click()
    head, *lines = Path(waiting.value.path()).read_text(encoding="utf-8").splitlines()
    assert head.endswith("bound,lower_quartile,upper_quartile")
    assert "other,1,0.75,0.9,0.73,0.77" in lines


@pytest.mark.long
def test_other_tools_stand_in_words(page: Page) -> None:
    section = page.locator("section[aria-labelledby=tools]")
    assert matrix(PEERS).headline == (
        "1 of 2 answers of other tools are not proved to keep the budget; 1 of 2 are faster"
    )
    assert section.locator(".finding").inner_text() == f"{matrix(PEERS).headline}."
    lines = [line.inner_text() for line in section.locator("tbody tr").all()]
    assert len(lines) == len({row.peer for row in PEERS})
    assert any("✕ not private, without bound" in line and "5 × faster" in line for line in lines)
    assert any("◐ private, 20 % worse" in line and "4 × slower" in line for line in lines)
    assert any("– cannot be asked" in line for line in lines)


@pytest.mark.long
def test_axe_objects_to_nothing(page: Page) -> None:
    assert violations(page) == []


@pytest.mark.long
@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_the_page_does_not_scroll_sideways(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.wait_for_timeout(200)
    page.wait_for_selector(READY)
    assert page.evaluate("document.documentElement.scrollWidth") <= width

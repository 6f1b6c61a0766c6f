"""Rows of reports that are opened in a browser, and a page that is watched there."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from instances.report_rows import failed, make_row, synthetic
from privopt.benchmarks.runner.rows import Row

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Download, Page

READY = "html[data-drawn=yes]"
WIDTHS = (390, 768, 1280, 1920)
KINDS = (
    "redaction", "belief_release", "boundary_colouring", "distortion_privacy", "information_bottleneck", "bayesian_privacy",
    "local_information_privacy", "pointwise_maximal_leakage", "privacy_funnel", "sequence_information_privacy",
)  # fmt: skip


def with_auto(rows: list[Row]) -> list[Row]:
    """The rows, and what ``solve()`` did: the second best of each case of the last problem, the best of the others."""
    cases: dict[tuple[str, str, float], list[Row]] = {}
    for row in rows:
        if row.verified and row.objective is not None:
            cases.setdefault((row.question, row.instance, row.budget), []).append(row)
    last = rows[-1].question
    more = []
    for (kind, _, _), own in cases.items():
        order = sorted(own, key=lambda r: -(r.objective or 0.0))
        taken = order[-1] if kind == last else order[0]
        more.append(replace(taken, solver="auto", chosen=taken.solver, seconds=0.5, key=f"{len(more):08d}"))
    return [*more, *rows]


def named(rows: list[Row]) -> list[Row]:
    """Rows with a key and a fingerprint of their own."""
    return [
        replace(row, key=f"{i:08x}" + 56 * "0", fingerprint=f"{row.question}/{row.instance}/{row.budget}")
        for i, row in enumerate(rows)
    ]


def ten_problems() -> list[Row]:
    """Every kind of problem of the package, with an oracle, a baseline, and what differs when it is proved again."""
    rows = [
        make_row(
            question=kind, instance=instance, budget=budget, solver=solver, role=role, objective=-value * (1 + shift), seconds=s,
            utility=-value * (1 + shift), bound=-value if role == "OPTIMAL" else None, gap=value * shift if role == "OPTIMAL" else None,
            status="OPTIMAL" if role == "OPTIMAL" else "FEASIBLE",
        )
        for kind in KINDS
        for instance in ("one", "two", "three")
        for budget, value in ((0.1, 4.0), (0.5, 2.0), (1.0, 1.5), (2.0, 0.7))
        for solver, role, shift, s in (
            ("exact", "OPTIMAL", 0.0, 0.2), ("near", "FEASIBLE", 0.004, 0.01), ("close", "FEASIBLE", 0.05, 0.02),
            ("simple", "BASELINE", 0.5, 0.001), ("oracle", "ORACLE", 0.0, 2.0), ("sixth", "FEASIBLE", 0.2, 0.004),
            ("seventh", "FEASIBLE", 0.21, 0.005), ("eighth", "FEASIBLE", 0.22, 0.006),
        )
    ]  # fmt: skip
    rows[4] = replace(rows[4], claim_holds=True, differs="utility: 1 in the file, 1.0000000000000002 proved")
    rows += [
        failed(make_row(question=kind, instance=i, budget=b, solver=s), status, reason)
        for kind in KINDS
        for i in ("one", "two", "three")
        for b in (0.1, 0.5, 1.0, 2.0)
        for s, status, reason in (
            ("leaky", "NOT_PRIVATE", "leakage 3.14 against a budget of 2"),
            ("small", "REFUSED", "it enumerates: at most 4 records, not 12"),
            ("late", "TIME_OUT", "the limit of 10 s came first"),
        )
    ]
    return named(with_auto(rows))


ROWS = named(with_auto(synthetic(sizes=(4, 8, 16), budgets=(0.5, 1.0, 2.0))))
TEN = ten_problems()


class Watched:
    """A page whose messages, errors and requests are kept; everything but the file itself is refused."""

    def __init__(self, browser: Browser, address: str, width: int = 1280, **how: Any) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 800}, **how)
        self.page: Page = self.context.new_page()
        self.faults: list[str] = []
        self.page.on("console", lambda m: self.faults.append(m.text) if m.type != "log" else None)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("requestfailed", lambda request: self.faults.append(request.url))
        self.page.route(lambda url: not url.startswith(("file:", "blob:", "data:")), self._refuse)
        self.page.goto(address)

    def _refuse(self, route: Any) -> None:
        self.faults.append(f"asked for {route.request.url}")
        route.abort()

    def settle(self) -> None:
        self.page.wait_for_selector(READY, timeout=60_000)

    def see(self, kind: str) -> None:
        """Choose a problem by its tab."""
        self.page.locator(f'[role=tab][data-problem="{kind}"]').click()
        self.settle()

    def press(self, where: str) -> None:
        self.page.locator(where).first.click()
        self.settle()

    def save(self, figure: str, kind: str) -> tuple[str, bytes]:
        box = self.page.locator(f'figure[data-name="{figure}"]')
        box.locator(".save summary").click()
        with self.page.expect_download() as waiting:
            box.locator(f"button[data-save={kind}]").click()
        download: Download = waiting.value
        return download.suggested_filename, Path(download.path()).read_bytes()


def luminance(colour: str) -> float:
    parts = [int(x) / 255 for x in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

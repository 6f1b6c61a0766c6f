"""Files that a reader saves from the report, and what is copied as LaTeX."""

from __future__ import annotations

import csv
import io
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from instances.report_pages import TEN, Watched

pytestmark = pytest.mark.long


def test_saved_files_hold_what_is_drawn(opened: Any, pages: dict[str, str]) -> None:
    watched = opened(pages["ten"])
    watched.see("redaction")
    for figure in ("one-frontier", "fast-and-good", "profile"):
        name, raw = watched.save(figure, "svg")
        assert name == f"redaction-{figure}.svg"
        assert raw.startswith(b"<svg")
        assert watched.save(figure, "png")[1][:8] == b"\x89PNG\r\n\x1a\n"
    lines = list(csv.DictReader(io.StringIO(watched.save("one-frontier", "csv")[1].decode())))
    own = [r for r in TEN if (r.question, r.instance) == ("redaction", "one") and r.objective is not None]
    drawn = {(line["solver"], float(line["budget"])): float(line["objective"]) for line in lines}
    assert drawn == {(r.solver, r.budget): r.objective for r in own}


def copied(watched: Watched, where: str) -> str:
    watched.page.evaluate(
        "navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }"
    )
    box = watched.page.locator(where).first
    box.locator(".save summary").click()
    box.locator("[data-save=tex]").click()
    watched.page.wait_for_function("window.copied")
    text: str = watched.page.evaluate("window.copied")
    return text


def test_figures_and_the_table_are_copied_as_latex(
    opened: Any, pages: dict[str, str], tmp_path: Path
) -> None:
    watched = opened(pages["few"])
    watched.see("redaction")
    figure, table = copied(watched, "#frontiers figure"), ""
    assert figure.count(r"\addplot") == figure.count(r"\addlegendentry") == 5
    watched.page.evaluate("window.copied = ''")
    table = copied(watched, "#table-save")
    assert table.count(r"\\") == 1 + 5
    for text in (figure, table):
        assert text.count(r"\begin{") == text.count(r"\end{")
        assert not re.search(r"(?<!\\)[#_%]", text.split("\n", 1)[1])
    engine = shutil.which("lualatex") or shutil.which("pdflatex")
    if engine is None:
        pytest.skip("no TeX is installed: the text is checked, not compiled")
    compile_latex(engine, figure + table, tmp_path)


def compile_latex(engine: str, body: str, place: Path) -> None:
    import subprocess

    head = r"\documentclass{article}\usepackage{pgfplots,booktabs,amssymb}\begin{document}"
    (place / "a.tex").write_text(head + body + r"\end{document}", encoding="utf-8")
    subprocess.run(
        [engine, "-interaction=nonstopmode", "-halt-on-error", "a.tex"],
        cwd=place,
        check=True,
        capture_output=True,
    )

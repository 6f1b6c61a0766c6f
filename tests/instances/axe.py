"""axe-core in a page of a browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page


def violations(page: Page, where: str = "html") -> list[tuple[str, list[str]]]:
    """Rules that the page breaks within a selector, with the elements that do; skips where axe-core is not installed."""
    package = pytest.importorskip("axe_core_python", reason="axe-core-python is not installed")
    script = Path(package.__file__).with_name("axe.min.js")
    page.evaluate(script.read_text(encoding="utf-8"))
    told = page.evaluate("where => axe.run(where, {resultTypes: ['violations']})", where)
    return [(fault["id"], [node["html"] for node in fault["nodes"]]) for fault in told["violations"]]

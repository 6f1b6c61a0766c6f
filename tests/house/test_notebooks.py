"""The tutorials as notebooks: those that are stored are the pages of today, with outputs, and they run."""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nbclient")
import nbformat

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "tutorials"
NAMES = sorted(path.stem for path in PAGES.glob("*.md"))
MAKER = runpy.run_path(str(ROOT / "docs" / "notebooks.py"))
notebook_of: Callable[[str], Any] = MAKER["notebook_of"]
executed: Callable[[str, Path], Any] = MAKER["executed"]


@pytest.mark.parametrize("name", NAMES)
def test_a_stored_notebook_is_its_page_with_outputs(name: str) -> None:
    place = PAGES / f"{name}.ipynb"
    stored = nbformat.read(place, as_version=4)
    nbformat.validate(stored)
    fresh = notebook_of(name)
    assert [(cell["cell_type"], cell["source"]) for cell in stored["cells"]] == [
        (cell["cell_type"], cell["source"]) for cell in fresh["cells"]
    ], f"docs/tutorials/{name}.md was changed: run 'python docs/notebooks.py {name}'"
    assert any(cell.get("outputs") for cell in stored["cells"])
    assert place.stat().st_size < 60_000


@pytest.mark.parametrize("name", NAMES)
def test_a_stored_notebook_names_nothing_of_who_ran_it(name: str) -> None:
    text = (PAGES / f"{name}.ipynb").read_text(encoding="utf-8")
    assert not re.search(r"/(home|root|tmp|work|Users)/", text)


@pytest.mark.parametrize("name", NAMES)
def test_every_page_links_its_notebook(name: str) -> None:
    assert f"({name}.ipynb)" in (PAGES / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs(name: str, tmp_path: Path) -> None:
    """A cell that fails raises; one that the page says is refused has to print a message."""
    before = MAKER["AFTER"].get(name)
    if before is not None:
        executed(before, tmp_path)
    for cell in executed(name, tmp_path)["cells"]:
        if cell["source"].startswith("%%bash --no-raise-error") and "privopt " in cell["source"]:
            said = "".join(output.get("text", "") for output in cell["outputs"])
            assert re.search(r"privopt: |NOT PROVED|FAILED|released before", said), cell["source"]

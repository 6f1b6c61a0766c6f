"""What is found by scanning: every public file of a scanned folder registers something."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import pytest

from privopt.benchmarks.catalogue import Catalogue, scanned
from privopt.errors import InvalidProblem

import_everything = (
    "privopt.benchmarks.gallery.picture",
    "privopt.benchmarks.papers.item",
    "privopt.benchmarks.peers.peer",
    "privopt.benchmarks.runner.case",
    "privopt.benchmarks.runner.suite",
    "privopt.benchmarks.timings.headline",
    "privopt.benchmarks.timings.measurement",
)


def folders() -> list[Path]:
    from importlib import import_module

    for name in import_everything:
        import_module(name)
    tops = [Path(str(files(package))) for package in scanned()]
    return sorted({path for top in tops for path in (top, *(p for p in top.rglob("*") if p.is_dir()))})


@pytest.mark.parametrize("folder", folders(), ids=lambda p: p.name)
def test_every_public_file_registers_something(folder: Path) -> None:
    for path in folder.glob("[!_]*.py"):
        assert re.search(r"^@?(register_\w+|reproduces)\(", path.read_text(encoding="utf-8"), re.MULTILINE), (
            path
        )


def test_a_name_is_taken_once() -> None:
    shelf = Catalogue[int]("a number")
    shelf.add("one", 1)
    with pytest.raises(
        InvalidProblem, match=r"a number 'one' .* twice, in .*test_catalogue\.py, line .* in .*line"
    ):
        shelf.add("one", 2)

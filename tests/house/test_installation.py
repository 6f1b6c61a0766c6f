"""Extras: the page of the installation, the messages, and what the package declares name the same ones."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
PAGE = (ROOT / "docs" / "installation.md").read_text(encoding="utf-8")
NAMED = re.compile(r"privopt\[([\w,]+)\]|'?\.\[([\w,]+)\]'?")
ROW = re.compile(r"^\| `(\w+)` \| ([^|]+) \|", re.MULTILINE)
SOURCES = [
    path
    for folder in ("privopt", "problems", "solvers", "benchmarks")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if not any(parent.is_symlink() for parent in path.parents)
]


def package(requirement: str) -> str:
    """The name in a requirement, as its wheel has it."""
    return re.split(r"[<>=\[ ;]", requirement)[0].lower()


def test_the_page_has_a_row_for_every_extra_and_no_other() -> None:
    rows = [name for name, _ in ROW.findall(PAGE)]
    assert sorted(rows) == sorted(EXTRAS)


@pytest.mark.parametrize(("name", "brings"), ROW.findall(PAGE), ids=lambda text: text[:12])
def test_a_row_names_the_packages_that_the_extra_asks_for(name: str, brings: str) -> None:
    if name in ("all", "test"):
        pytest.skip("it is told in words: other extras and tools")
    assert {package(entry) for entry in EXTRAS[name]} == set(re.findall(r"[\w-]+", brings))


def test_every_dependency_stands_in_the_table_of_wheels() -> None:
    section = PAGE.split("## Windows and macOS")[1]
    wanted = {package(entry) for entry in PROJECT["dependencies"]}
    wanted |= {package(entry) for name in EXTRAS["all"] for entry in extras_of(name)}
    assert wanted <= set(re.findall(r"[\w-]+", section.lower()))


def extras_of(requirement: str) -> list[str]:
    """The requirements of the extras that ``privopt[a,b]`` names."""
    named = NAMED.search(requirement)
    assert named is not None, requirement
    return [entry for name in named[1].split(",") for entry in EXTRAS[name]]


@pytest.mark.parametrize("folder", ["privopt", "problems", "solvers", "benchmarks"])
def test_extras_that_messages_name_exist(folder: str) -> None:
    for path in SOURCES:
        if path.relative_to(ROOT).parts[0] == folder:
            for named in re.findall(r"privopt\[([a-z,]+)\]", path.read_text(encoding="utf-8")):
                assert set(named.split(",")) <= set(EXTRAS), path


@pytest.mark.parametrize(
    "path", [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))], ids=lambda p: p.name
)
def test_extras_that_pages_name_exist(path: Path) -> None:
    for inside, checkout in NAMED.findall(path.read_text(encoding="utf-8")):
        assert set((inside or checkout).split(",")) <= set(EXTRAS), path


@pytest.mark.parametrize("name", ["noise", "plot", "fit", "cluster", "polars", "fast", "peers"])
def test_an_extra_is_named_where_it_is_missing(name: str) -> None:
    assert any(f"privopt[{name}]" in path.read_text(encoding="utf-8") for path in SOURCES), name

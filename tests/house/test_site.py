"""The site: every page is in its menu, every public name in its reference, every template on its page."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import privopt as po
from privopt.core.folders import is_own
from privopt.core.registry import problem_types
from privopt.files.template import problem_template

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
MENU = re.findall(r": ([\w/]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), flags=re.MULTILINE)
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
MODULES = {"measures", "errors"}
"""Public names that are modules, of which the reference lists all members."""


def test_the_menu_leads_to_every_page_once() -> None:
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert sorted(MENU) == sorted(pages)


def test_the_reference_has_every_public_name_once() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in sorted((DOCS / "reference").glob("*.md")))
    listed = re.findall(r"^::: privopt\.(\w+)$", text, flags=re.MULTILINE)
    source = (ROOT / "privopt" / "__init__.py").read_text(encoding="utf-8")
    public = set(re.findall(r"\b(\w+) as \1\b", source))
    assert len(listed) == len(set(listed))
    assert set(listed) == public
    assert all(getattr(po, name) for name in listed)


@pytest.mark.parametrize(
    "kind", [kind for kind, problem in problem_types().items() if not is_own(problem.__module__)]
)
def test_the_page_of_problem_files_shows_the_template(kind: str) -> None:
    assert f"```json\n{problem_template(kind)}```" in (DOCS / "problem_files.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["CITATION.cff", "docs/cite.md", "privopt/__init__.py"])
def test_the_version_is_the_same_everywhere(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert re.search(rf"""version(__)?\s*[:=]\s*[{{"']?{re.escape(VERSION)}\b""", text)


@pytest.mark.long
def test_the_reference_says_which_parameters_are_required() -> None:
    """Also of constructors that a class inherits, and where a docstring lists choices, of which none is a default."""
    griffe = pytest.importorskip("griffe")
    configured = re.search(r"extensions: \[(.+)\]", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert configured is not None
    loader = griffe.GriffeLoader(
        extensions=griffe.load_extensions(str(ROOT / configured[1])),
        search_paths=[str(ROOT)],
        docstring_parser="numpy",
    )
    package = loader.load("privopt")

    def parameters(name: str) -> dict[str, str | None]:
        found = package.members[name]
        docstring = (found.final_target if found.is_alias else found).docstring
        sections = [part for part in docstring.parsed if part.kind.value == "parameters"]
        return {parameter.name: parameter.value for part in sections for parameter in part.value}

    def required(name: str) -> set[str]:
        return {parameter for parameter, default in parameters(name).items() if default is None}

    assert required("Redaction") == {"chain", "length", "private", "epsilon"}
    assert required("BayesianPrivacy") == {"model", "query", "epsilon"}
    assert required("DistortionPrivacy") == {"joint", "distortion"}
    assert required("publish") == {"frame", "secret", "columns"}
    assert required("GroupModel") == {"size"}
    assert parameters("Redaction")["form"] == "'local'"
    assert parameters("BayesianPrivacy")["scope"] == "'targets_in_interval'"
    assert parameters("Redaction")["weights"] == "None"

"""The glossary and the docstrings use the same words, and words that were given up stay out."""

from __future__ import annotations

import ast
import inspect
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

import privopt as po

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| \*\*(.+?)\*\* \| (?:`([\w.]+)`)? ?\| (.+?) \|$", GLOSSARY, flags=re.MULTILINE)

PARTED = re.compile(r"(?<![A-Za-z])(laws?|questions?|tells|doors?)(?![A-Za-z])", re.IGNORECASE)
"""Given up for: distribution or invariant, problem, influence or reveals, argument validation."""

TERMS = re.compile(
    r"law of large numbers|law of the iterated logarithm|power[ -]laws?|\b(?:bayesian|lip|redaction|sequence)-laws\b",
    re.IGNORECASE,
)
"""Terms of the field, and names of measurements, which people type."""

FORMATS = {"law", "laws", "question", "questions"}
FILED = (
    "benchmarks",
    "privopt/core/certificate.py",
    "problems/distortion_privacy/bound.py",
    "solvers/distortion_privacy/_bound.py",
    "solvers/local_information_privacy/watchdog.py",
)
"""Words that stay where files or options have them: the key ``law`` of certificates of 0.1.0, the key ``laws`` of a dual of
distortion privacy, an option of the solver watchdog-random, and the column ``question`` of stored runs and of reports."""


def test_the_glossary_is_a_table_of_distinct_terms() -> None:
    terms = [term for row, _, _ in ROWS for term in row.split("**, **")]
    assert len(terms) == len(set(terms)) > 60
    assert len(ROWS) == sum(line.startswith("| **") for line in GLOSSARY.splitlines())


@pytest.mark.parametrize(
    ("term", "name"), [(term, name) for term, name, _ in ROWS if name], ids=lambda text: text
)
def test_docstrings_use_the_terms(term: str, name: str) -> None:
    item: object = po
    for part in name.split("."):
        item = getattr(item, part)
    first = (inspect.getdoc(item) or "").partition("\n\n")[0].lower()
    assert any(one.lower() in first for one in re.split(r"\*\*, \*\*", term)), f"{name}: {first}"


def sources() -> list[Path]:
    folders = ("privopt", "problems", "solvers", "benchmarks")
    paths = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    return [path for path in paths if not any(parent.is_symlink() for parent in path.parents)]


def filed(path: Path) -> bool:
    """Whether a file reads or writes the words that stay."""
    return str(path.relative_to(ROOT)).startswith(FILED)


def said(path: Path) -> Iterator[tuple[int, str]]:
    """Lines with words that were given up, in identifiers, strings and comments of a file."""
    text = path.read_text(encoding="utf-8")
    if not PARTED.search(text.replace("_", " ")):
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in (tokenize.NAME, tokenize.STRING, tokenize.COMMENT):
            continue
        words = TERMS.sub("", token.string).replace("_", " ")
        for word in PARTED.findall(words):
            if not (filed(path) and word.lower() in FORMATS and not prose(token)):
                yield token.start[0], token.string[:80]


def prose(token: tokenize.TokenInfo) -> bool:
    """Whether a token is read by people: a comment, or a string of several words that is no f-string of names."""
    if token.type == tokenize.COMMENT:
        return True
    if token.type != tokenize.STRING or token.string[0] in "fF":
        return False
    value = ast.literal_eval(token.string)
    return isinstance(value, str) and " " in value.strip() and "``" not in value and " : str" not in value


@pytest.mark.parametrize("folder", ["privopt", "problems", "solvers", "benchmarks"])
def test_words_that_were_given_up_stay_out_of_the_code(folder: str) -> None:
    paths = [path for path in sources() if path.relative_to(ROOT).parts[0] == folder]
    places = [f"{path.relative_to(ROOT)}:{line}: {text}" for path in paths for line, text in said(path)]
    assert not places, "\n".join(places)


@pytest.mark.parametrize(
    "path", [*sorted((ROOT / "docs").glob("*.md")), *sorted(ROOT.glob("*.md"))], ids=lambda p: p.name
)
def test_words_that_were_given_up_stay_out_of_the_docs(path: Path) -> None:
    text = re.sub(
        r"`[^`]*`|^    .*$", "", TERMS.sub("", path.read_text(encoding="utf-8")), flags=re.MULTILINE
    )
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    assert not PARTED.findall(text)

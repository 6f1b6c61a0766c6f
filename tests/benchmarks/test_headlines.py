"""The table of the README is the report's own numbers, and those are computed again."""

from __future__ import annotations

from pathlib import Path

import pytest

from privopt.benchmarks.timings.headline import compute, headlines, markdown, parsed, written
from privopt.errors import FileRefused, InvalidProblem

TOP = Path(__file__).resolve().parents[2]
REPORT = TOP / "docs" / "headlines.csv"
QUICK = ("bayesian-family", "belief-published", "sequence-composition")


def reported() -> dict[str, tuple[str, str]]:
    return {one.name: (one.privopt, one.beside) for one in parsed(REPORT.read_text(encoding="utf-8"))}


def test_the_readme_shows_the_report() -> None:
    text = (TOP / "README.md").read_text(encoding="utf-8")
    shown = [line for line in text.splitlines() if line.startswith("|") and "bench headlines" in line]
    assert shown == markdown(parsed(REPORT.read_text(encoding="utf-8")))[2:]


def test_the_report_has_every_headline() -> None:
    assert list(reported()) == list(headlines())


@pytest.mark.parametrize("name", QUICK)
def test_a_headline_is_what_its_command_computes(name: str) -> None:
    (one,) = compute(name)
    assert (one.privopt, one.beside) == reported()[name]


@pytest.mark.long
def test_every_headline_that_is_no_time_is_computed_again() -> None:
    by_name = {name: one for name in headlines() for one in compute(name) if not one.timed}
    assert {name: (one.privopt, one.beside) for name, one in by_name.items()} == {
        name: reported()[name] for name in by_name
    }


def test_files_of_other_columns_and_unknown_names_are_refused() -> None:
    assert parsed(written([])) == []
    with pytest.raises(FileRefused, match="columns"):
        parsed("a,b\n1,2\n")
    with pytest.raises(InvalidProblem, match="no headline 'none'"):
        compute("none")

"""Every item that the papers print has code, and what the code says is what it found."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from privopt.benchmarks.papers.item import SOURCES, Finding, Setting, chosen, items, reproduce, reproduces
from privopt.benchmarks.papers.verdicts import compared, invariant, refuted
from privopt.cli import app
from privopt.errors import InvalidProblem


def test_every_item_is_of_a_source_and_says_where_it_stands() -> None:
    for item in items().values():
        assert item.source in SOURCES
        assert item.place
        assert item.kind in {"number", "curve", "algorithm", "inequality", "definition"}


def test_an_unknown_item_is_refused() -> None:
    with pytest.raises(InvalidProblem, match="no printed item 'R-T9'"):
        chosen("R-T9")
    with pytest.raises(InvalidProblem, match="R-T9"):
        reproduces("R-T9")


def test_an_item_whose_code_raises_has_failed_and_ends_nothing() -> None:
    from privopt.benchmarks.papers import item as _reproduction

    def broken(setting: Setting) -> object:
        raise ZeroDivisionError("no such number")

    outcome = _reproduction._computed(broken, Setting())  # type: ignore[arg-type]
    assert outcome.finding is Finding.FAILED
    assert "no such number" in outcome.why
    assert _reproduction._computed(None, Setting()).finding is Finding.OPEN


def test_verdicts_follow_from_the_numbers() -> None:
    assert compared([0.5], [0.5], 0.0, "").finding is Finding.MATCHES
    assert compared([0.33], [1 / 3], 0.005, "").finding is Finding.ROUNDING
    assert compared([0.33], [0.36], 0.005, "").finding is Finding.OFF
    assert invariant(lambda rng: float(rng.random()), Setting(), 3, "").finding is Finding.OFF
    assert invariant(lambda rng: float("nan"), Setting(), 3, "").finding is Finding.OFF
    with pytest.raises(ValueError, match="does not refute"):
        refuted(False, "", "")


def test_instances_are_the_same_in_each_run() -> None:
    drawn = [Setting().rng().random(3) for _ in range(2)]
    assert np.array_equal(drawn[0], drawn[1])


def test_the_command_writes_a_page_and_says_what_it_found(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    ran = CliRunner().invoke(app, ["reproduce", "R-E1b", "--quick", "--json", "--report", str(page)])
    assert ran.exit_code == 0, ran.output
    document = json.loads(ran.stdout)
    assert document["counts"] == {"rounding": 1}
    assert document["items"][0]["ours"].startswith("0.291667")
    text = page.read_text(encoding="utf-8")
    assert "R-E1b" in text
    assert "7/24" in text


@pytest.mark.long
@pytest.mark.parametrize("source", sorted(SOURCES))
def test_no_item_is_open_and_none_fails(source: str) -> None:
    wrong = {Finding.OPEN, Finding.FAILED}
    failures = [
        (item.name, one.why)
        for item, one in reproduce(chosen(source), Setting(quick=True))
        if one.finding in wrong
    ]
    assert failures == []

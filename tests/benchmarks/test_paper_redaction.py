"""The redaction paper computed again: its figures, what it prints, and the page."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from privopt.benchmarks.catalogue import Catalogue
from privopt.benchmarks.papers import item as _papers
from privopt.benchmarks.papers import redaction_figures as frames
from privopt.benchmarks.papers.item import Claim, Finding, PaperReport, find_paper, papers, register_paper
from privopt.benchmarks.papers.page import paper_page
from privopt.benchmarks.papers.paper import sentences
from privopt.benchmarks.papers.verdicts import compare
from privopt.cli import app
from privopt.errors import InvalidProblem, NotSolved

CHAIN = {  # ε: best window, closed form, best constant, optimum
    0.25: (0.6, 0.6144057624, 0.6677952081, 0.6890602868),
    0.5: (0.7, 0.7054242397, 0.7134218932, 0.7383689491),
    1.0: (0.7, 0.7479180746, 0.7894960037, 0.7957304177),
    2.0: (0.8, 0.8448503488, 0.8605307835, 0.8618255147),
}


@pytest.fixture(scope="module")
def report() -> PaperReport:
    return find_paper("redaction")(quick=True)


def claim(report: PaperReport, where: str, what: str = "") -> Claim:
    return next(c for c in report.claims if where in c.where and what in c.what)


# the registry


def test_papers_are_found_and_names_are_taken_once() -> None:
    assert papers()["redaction"] is find_paper("redaction")
    with pytest.raises(InvalidProblem, match=r"no paper 'missing'; there are .*redaction"):
        find_paper("missing")
    with pytest.raises(ValueError, match="paper 'redaction' is registered twice"):
        register_paper(find_paper("redaction"))


# what the paper prints


@pytest.mark.long
def test_table_one_matches(report: PaperReport) -> None:
    table = [c for c in report.claims if c.where == "Table I"]
    assert [c.printed for c in table] == ["3/2", "1/2", "2/3", "2"]
    assert {c.finding for c in table} == {Finding.MATCHES}


@pytest.mark.long
def test_example_one(report: PaperReport) -> None:
    utility = claim(report, "Example 1", "utility with q₂ = 1/8")
    assert utility.printed == "7/24"
    assert utility.finding is Finding.MATCHES
    assert "0.2935891381" in utility.sentence
    assert claim(report, "Example 1", "decimal").finding is Finding.ROUNDING
    assert claim(report, "Example 1", "private").finding is Finding.MATCHES
    frame = report["Example 1"].frame.set_index("mechanism")
    assert frame.loc["the paper's choice", "utility"] == pytest.approx(7 / 24, abs=1e-12)
    assert frame.loc["the paper's choice", "leakage"] == pytest.approx(0.4924765, abs=1e-7)
    assert frame.loc[frames.OPTIMUM, "q₂"] == pytest.approx(0.1192325857, abs=1e-9)
    assert frame.loc[frames.OPTIMUM, "utility"] == pytest.approx(0.2935891381, abs=1e-9)
    assert frame.loc[frames.WINDOW, "utility"] == 0


@pytest.mark.long
def test_theorem_2_has_two_counter_examples(report: PaperReport) -> None:
    off = [c for c in report.claims if c.where == "Theorem 2"]
    assert [(c.printed, c.finding) for c in off] == [
        ("at most 0.375", Finding.OFF),
        ("at most 0.416667", Finding.OFF),
    ]
    assert "0.5, leakage 0.228842" in off[0].ours
    assert claim(report, "Equation (10)").finding is Finding.OFF


@pytest.mark.long
@pytest.mark.parametrize(
    ("where", "what", "finding"),
    [
        ("Proposition 1", "", Finding.OFF),
        ("Section V", "medium region", Finding.OFF),
        ("Section V", "relaxed 3R", Finding.MATCHES),
        ("Section IV-B", "", Finding.MATCHES),
        ("Corollary 1", "", Finding.MATCHES),
        ("Equation (3)", "", Finding.MATCHES),
        ("Appendix C", "", Finding.MATCHES),
    ],
)
def test_statements(report: PaperReport, where: str, what: str, finding: Finding) -> None:
    assert claim(report, where, what).finding is finding


@pytest.mark.long
def test_verdicts_are_counted(report: PaperReport) -> None:
    assert report.counts == {"matches": 14, "rounding": 1, "paper is off": 5}
    assert sentences(report)[0].startswith("20 statements")


def test_comparing_knows_three_verdicts() -> None:
    assert compare(0.5, 0.5) is Finding.MATCHES
    assert compare(0.333, 1 / 3, 5e-4) is Finding.ROUNDING
    assert compare(0.4, 1 / 3, 5e-4) is Finding.OFF


# the figures


@pytest.mark.long
def test_figure_3_has_the_known_values(report: PaperReport) -> None:
    frame = report["Figure 3"].frame.set_index("ε")
    columns = [frames.WINDOW, frames.CLOSED, frames.CONSTANT, frames.OPTIMUM]
    for budget, known in CHAIN.items():
        values = [float(frame[column][budget]) for column in columns]
        assert values == pytest.approx(known, abs=1e-6)


@pytest.mark.long
def test_figure_3_is_ordered(report: PaperReport) -> None:
    frame = report["Figure 3"].frame
    order = (frames.QUILT, frames.WINDOW, frames.CLOSED, frames.CONSTANT, frames.OPTIMUM, frames.SEQUENTIAL)
    for lower, higher in itertools.pairwise(order):
        assert (frame[lower] <= frame[higher] + 1e-9).all(), (lower, higher)
    assert frame[frames.CLOSED].to_numpy() == pytest.approx(frame[frames.RELAXED].to_numpy(), abs=1e-9)
    assert frame[frames.BOUND].to_numpy() == pytest.approx(frame[frames.WINDOW].to_numpy())
    assert (np.diff(frame[frames.OPTIMUM]) >= -1e-9).all()


@pytest.mark.long
def test_figure_4_has_the_known_values(report: PaperReport) -> None:
    frame = report["Figure 4"].frame.set_index("record")
    assert frame[frames.QUILT].tolist() == [1.0] * 4 + [0.0] * 6
    assert frame.loc[2:4, frames.CLOSED].tolist() == pytest.approx([0.7574147472] * 2 + [0.0], abs=1e-6)
    assert frame.loc[2:4, frames.CONSTANT].tolist() == pytest.approx([0.5469264811] * 2 + [0.0], abs=1e-6)
    best = [0.54918518, 0.34650939, 0.12253494, 0.0]
    assert frame.loc[2:5, frames.OPTIMUM].tolist() == pytest.approx(best, abs=1e-6)


def test_ones_are_hidden_wherever_zeros_may_be() -> None:
    problems = [(frames.figure_problem(1.0), solver) for solver in frames.SOLVERS.values()]
    for problem, solver in [*problems, (frames.figure_problem(1.0, "sequential"), "sequential")]:
        table = frames.proved(problem, solver)[1].mechanism.probabilities
        assert (table[table[:, 0] > 0, 1] == 1).all()


@pytest.mark.long
def test_figure_2_shows_three_regions(report: PaperReport) -> None:
    frame = report["Figure 2"].frame
    assert frame["value 0"].tolist()[:3] == pytest.approx([0.405465, 0.095310, 0.023530], abs=1e-6)
    assert frame["value 1"].tolist()[:3] == pytest.approx([0.693147, 0.182322, 0.046520], abs=1e-6)
    assert "".join(frame["region"]) == "LMSSSS"


def test_a_mechanism_that_is_not_proved_is_not_drawn() -> None:
    with pytest.raises(NotSolved, match="REFUSED"):
        frames.proved(frames.figure_problem(1.0), "oracle")


# the page


@pytest.mark.long
def test_the_page_needs_nothing_but_itself(report: PaperReport) -> None:
    pytest.importorskip("matplotlib")
    text = paper_page(report, "now", "privopt bench paper redaction", {"Python": "3"})
    assert "default-src 'none'" in text
    assert not re.search(r'(src|href)="(?!#)|@import|url\((?!#)', text)
    assert text.count("<svg") == 4
    assert text.count("<figcaption") == len(report.exhibits)
    assert text.count("<table") == len(report.exhibits) + 1
    assert text.count("recomputed from its formulas") == 3
    identifiers = re.findall(r'\bid="([^"]*)"', text)
    assert len(set(identifiers)) == len(identifiers)


@pytest.mark.long
def test_the_command_prints_and_writes(
    report: PaperReport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalogue = Catalogue[Callable[[bool], PaperReport]]("a paper")
    catalogue.add("redaction", lambda quick: report)
    monkeypatch.setattr(_papers, "_PAPERS", catalogue)
    target = tmp_path / "page.html"
    result = CliRunner().invoke(app, ["bench", "paper", "redaction", "--quick", "--report", str(target)])
    assert result.exit_code == 0, result.output
    assert "paper is off" in result.stdout
    assert "<h2" in target.read_text(encoding="utf-8")
    told = json.loads(CliRunner().invoke(app, ["bench", "paper", "redaction", "--json"]).stdout)
    assert told["counts"] == report.counts
    assert CliRunner().invoke(app, ["bench", "paper", "no-such-paper"]).exit_code == 2

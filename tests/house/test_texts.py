"""Every word of the contract has a text form and an HTML form."""

from __future__ import annotations

import pytest

import privopt as po
from privopt.core.registry import solvers_of

CHAIN = po.MarkovChain([[0.75, 0.25], [0.5, 0.5]], states=("<a>", "b"))
PROBLEM = po.Redaction(CHAIN, 5, 2, 1.0)


@pytest.fixture(scope="module")
def items() -> list[object]:
    solution = po.solve(PROBLEM)
    return [
        CHAIN,
        PROBLEM,
        solution,
        solution.mechanism,
        solution.certificate,
        PROBLEM.evaluate(solution.mechanism),
        po.Status.GAP,
        po.Guarantee.BOUNDED,
        po.Budget(seed=3),
        po.Proposal(PROBLEM.safe()),
        po.candidates(PROBLEM)[0],
        po.compare(PROBLEM, ["windows", "oracle"]),
        po.frontier(PROBLEM, [0.5, 1.0], "windows"),
        *(cls() for cls in solvers_of(po.Redaction).values()),
    ]


def test_text_and_html(items: list[object]) -> None:
    for item in items:
        assert "object at 0x" not in str(item), type(item)
        page = item._repr_html_()  # type: ignore[attr-defined]
        assert page.startswith("<table>"), type(item)
        assert "<a>" not in page, type(item)


def test_failures_say_why() -> None:
    big = po.Redaction(CHAIN, 40, 2, 1.0)
    assert str(po.solve(big, "oracle")).startswith("REFUSED by oracle: it enumerates")


def test_frames_have_no_numbers_where_nothing_was_solved() -> None:
    frame = po.compare(po.Redaction(CHAIN, 40, 2, 1.0), ["windows", "oracle"]).to_frame().set_index("solver")
    assert frame["utility"].isna()["oracle"]
    assert frame.loc["oracle", "status"] == "REFUSED"
    assert frame.loc["windows", "certified"]

"""Massny, Bitar, Ye, El Rouayheb, "Between Close Enough to Reveal and Far Enough to Protect", computed again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from privopt.benchmarks._papers import Exhibit, PaperReport, register_paper
from privopt.benchmarks.papers import _redaction_drawings as drawings
from privopt.benchmarks.papers import _redaction_frames as frames
from privopt.benchmarks.papers._redaction_numbers import numbers
from privopt.benchmarks.papers._redaction_statements import statements
from privopt.errors import MissingExtra

TITLE = "Between Close Enough to Reveal and Far Enough to Protect: a New Privacy Region for Correlated Data"
_AGAIN = "The paper's text prints none of the plotted values: the curves are recomputed from its formulas."


@register_paper("redaction")
def redaction_paper(quick: bool = False) -> PaperReport:
    """Figures 2 to 4, Table I and Example 1 with our curves beside them, and the printed claims checked.

    Parameters
    ----------
    quick : bool
        A coarse grid of budgets for Figure 3.

    Returns
    -------
    PaperReport
        Figures are empty where matplotlib is not installed.
    """
    begun = time.monotonic()
    exhibits = tuple(_exhibits(quick))
    return PaperReport(
        name="redaction",
        title=TITLE,
        authors="Luis Maßny, Rawad Bitar, Fangwei Ye, Salim El Rouayheb",
        about=_about(),
        claims=(*numbers(), *statements()),
        exhibits=exhibits,
        seconds=time.monotonic() - begun,
    )


def _about() -> tuple[str, ...]:
    setting = (
        "Records follow a two-state Markov chain with Pr(0 → 1) = α and Pr(1 → 0) = β; record p is private. A local mechanism "
        "hides each record with a probability that depends on its own value, and may leak at most ε nats about record p. "
        "Utility is the expected share of records released."
    )
    beside = (
        "The paper compares windows (data-independent) with 3R: hide near records, release far ones, and between them "
        "release zeros with one probability 1 − q. Beside its curves stands the best local mechanism, whose probabilities "
        "fall with distance, and a sequential one, which releases everything beyond its first release. "
        "Every mechanism drawn was proved private in exact arithmetic."
    )
    return setting, beside


def _exhibits(quick: bool) -> Iterator[Exhibit]:
    yield Exhibit(
        "Table I",
        "Likelihood ratios of the second record, α = 0.25, β = 0.5: as printed, and computed from the chain.",
        frames.table_one(),
    )
    yield Exhibit(
        "Example 1",
        "Two records, the first private, ε = 0.5: mechanisms for the second record, which hide a one always and a zero "
        "with probability q₂. The paper's choice of 1/8 is private; the best one is smaller.",
        frames.example_one(),
    )
    influences, mechanisms = frames.influences(), frames.middle()
    yield Exhibit(
        "Figure 2",
        "Influence of each value on the private record against distance, α = 0.25, β = 0.5. The paper prints no ε; "
        f"here ε′ = ε/2 = {frames.LEVEL:g}, which shows all three regions. {_AGAIN}",
        influences,
        _drawn(lambda: drawings.influences(influences, frames.LEVEL, "figure2")),
    )
    yield Exhibit(
        "Figure 2, as mechanisms",
        f"How often each record is hidden, by its value, on nine records of that chain with ε = {2 * frames.LEVEL:g}: the "
        "paper's 3R with ε/2 for each side and its closed form for q, and, ours, the best local mechanism. Not in the paper.",
        mechanisms,
        _drawn(lambda: drawings.bars(mechanisms, "distance from the private record", "figure2-mechanisms")),
    )
    yield from _chain_of_figure_3(quick)


def _chain_of_figure_3(quick: bool) -> Iterator[Exhibit]:
    utilities, probabilities = frames.utilities(quick), frames.probabilities()
    yield Exhibit(
        "Figure 3",
        "Utility against ε, p = 1, n = 10, α = 0.01, β = 0.8. Curves of the paper: the bound of Theorem 2, 3R with the "
        "closed form, and 3R with the best constant in its regions, found by bisection instead of a grid. Beside them "
        "Algorithm 1 (MQ) and, ours, the relaxation with the regions searched, which coincides with the closed form "
        f"here, the best local mechanism, and a sequential one. {_AGAIN}",
        utilities,
        _drawn(lambda: drawings.utilities(utilities, "figure3")),
    )
    yield Exhibit(
        "Figure 4",
        "Probability that a record is hidden when it is 0, ε = 1, same chain; in the sequential mechanism, given that no "
        f"nearer record was released. Ones are hidden wherever the bar is not 0. {_AGAIN}",
        probabilities,
        _drawn(lambda: drawings.bars(probabilities, "record", "figure4")),
    )


def _drawn(draw: Callable[[], str]) -> str:
    try:
        return draw()
    except MissingExtra:
        return ""

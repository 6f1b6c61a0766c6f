"""Lange, Guerra-Balboa, Parra-Arnau, Strufe, "Balancing Privacy and Utility in Correlated Data", computed again."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from privopt.benchmarks._papers import Claim, Exhibit, Finding, PaperReport, register_paper
from privopt.benchmarks._reproduction import SOURCES, Item, Reproduced, Setting, chosen, reproduce
from privopt.benchmarks.papers._bayesian_frames import table_three

if TYPE_CHECKING:
    from pandas import DataFrame

Found = Sequence[tuple[Item, Reproduced]]
_TOLD = {"number", "curve"}
_EXPERIMENTS = ("7.3", "7.4")


@register_paper("bayesian")
def bayesian_paper(quick: bool = False) -> PaperReport:
    """Table 3 and Figures 1 to 5 with ours beside them, every printed number, and what is said of the experiments.

    Records are read from the folder that ``PRIVOPT_DATA`` names; where a file is absent, captions say so and show seeded
    records of the printed parameters.

    Parameters
    ----------
    quick : bool
        Coarse grids and few instances.

    Returns
    -------
    PaperReport
        Figures are empty where matplotlib is not installed.
    """
    begun = time.monotonic()
    authors, title = SOURCES["B"]
    found = tuple(reproduce(filter(_told, chosen("B")), Setting(quick=quick)))
    return PaperReport(
        name="bayesian",
        title=title,
        authors=authors,
        about=_about(),
        claims=tuple(_claim(item, one) for item, one in found),
        exhibits=tuple(_exhibits(found)),
        seconds=time.monotonic() - begun,
    )


def _told(item: Item) -> bool:
    """Numbers, curves, and what is said of the experiments."""
    return item.kind in _TOLD or any(section in item.place for section in _EXPERIMENTS)


def _claim(item: Item, one: Reproduced) -> Claim:
    where = f"{item.place} [{item.name}]"
    return Claim(item.states, where, item.printed or "stated", one.ours, one.finding, one.why)


def _exhibits(found: Found) -> Iterator[Exhibit]:
    yield Exhibit(
        "Table 3",
        "Every number of the table, as printed and from the records; gamma also from the printed matrix.",
        table_three(),
    )
    for _, one in found:
        yield from one.exhibits
    yield Exhibit(
        "Inconsistencies",
        "What is printed and is not so, with the value computed here and the reason.",
        _inconsistencies(found),
    )


def _inconsistencies(found: Found) -> DataFrame:
    import pandas as pd

    rows = [
        (item.name, item.place, item.printed or item.states, one.ours, one.why)
        for item, one in found
        if one.finding is Finding.OFF
    ]
    return pd.DataFrame(rows, columns=["item", "where", "printed", "ours", "why"])


def _about() -> tuple[str, ...]:
    return (
        (
            "Records depend on each other. A mechanism is ε-Bayesian differentially private if no release changes the odds between two values of a "
            "record by more than e^ε, for an adversary who knows any of the other records and how records depend on each other."
        ),
        (
            "The paper turns ε into a level of Laplace noise by three bounds: m times the level for groups of m, a factor for Gaussian records, "
            "and level + 4 ln γ for Markov chains, where γ is the largest ratio of two transition probabilities. Beside them stand the exact factor of the "
            "same Gaussian class, and a recursion that is exact for chains of two states and serves every ε."
        ),
        (
            "The plotted values are lost. Lines follow from formulas with the printed parameters, markers are 95 % quantiles of 1000 runs of ours."
        ),
    )

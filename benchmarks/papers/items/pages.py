"""The pages of the papers: which items each shows, and the sentences that open it."""

from __future__ import annotations

from collections.abc import Iterator

from privopt.benchmarks.papers.item import Exhibit, Finding, Item, Paper, Results, register_paper
from privopt.benchmarks.papers.items._bayesian import table_three

_REDACTION = "T1 E1a E1b E1c F2 F3 F4 TH2 C1 EQ3 O1 O3 O4 MQ2 JE P1b"
"""Numbers, figures, and what is stated without a number and can be seen to hold or to fail on an instance."""
_EXPERIMENTS = ("7.3", "7.4")


def _redaction(item: Item) -> bool:
    return item.name.partition("-")[2] in _REDACTION.split()


def _bayesian(item: Item) -> bool:
    """Numbers, curves, and what is said of the experiments."""
    return item.kind in ("number", "curve") or any(section in item.place for section in _EXPERIMENTS)


def _tables(reproduced: Results) -> Iterator[Exhibit]:
    import pandas as pd

    yield Exhibit(
        "Table 3",
        "Every number of the table, as printed and from the records; gamma also from the printed matrix.",
        table_three(),
    )
    rows = [
        (item.name, item.place, item.printed or item.states, one.ours, one.why)
        for item, one in reproduced
        if one.finding is Finding.OFF
    ]
    yield Exhibit(
        "Inconsistencies",
        "What is printed and is not so, with the value computed here and the reason.",
        pd.DataFrame(rows, columns=["item", "where", "printed", "ours", "why"]),
    )


register_paper(
    Paper(
        "redaction",
        "R",
        (
            (
                "Records follow a two-state Markov chain with Pr(0 → 1) = α and Pr(1 → 0) = β; record p is private. A local mechanism "
                "hides each record with a probability that depends on its own value, and may leak at most ε nats about record p. "
                "Utility is the expected share of records released."
            ),
            (
                "The paper compares windows (data-independent) with 3R: hide near records, release far ones, and between them "
                "release zeros with one probability 1 − q. Beside its curves stands the best local mechanism, whose probabilities "
                "fall with distance, and a sequential one, which releases everything beyond its first release. "
                "Every mechanism drawn was proved private in exact arithmetic."
            ),
        ),
        _redaction,
    )
)

register_paper(
    Paper(
        "bayesian",
        "B",
        (
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
        ),
        _bayesian,
        _tables,
    )
)

register_paper(
    Paper(
        "sequence",
        "S",
        (
            (
                "A stream of letters follows a known Markov chain and is released letter by letter, or in batches. A release may not change the "
                "odds of the letters, given all releases before, by a factor beyond e^ε in either direction; such leakages add up over the stream."
            ),
            (
                "The paper's release is conditional randomised response. It is private, and optimal, only where every possible letter has "
                "belief 1 / (e^ε + 1) or more. Elsewhere it leaks more than ε and its curves lie below what is possible. Beside it stand the "
                "optimum, randomised response at ε and 2ε, and optimal batches."
            ),
            (
                "The paper's panels are lost, its eye-tracking set is not public, of Kosarak a prefix could be had: curves are computed again on "
                "the same synthetic chains and on substitutes that are named."
            ),
        ),
    )
)

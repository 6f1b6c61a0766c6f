"""Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information Privacy", computed again."""

from __future__ import annotations

import time

from privopt.benchmarks._papers import Claim, PaperReport, register_paper
from privopt.benchmarks._reproduction import items
from privopt.benchmarks.papers import (
    _sequence_batches,
    _sequence_clicks,
    _sequence_definitions,
    _sequence_gaze,
    _sequence_noise,
    _sequence_notions,
    _sequence_step,
    _sequence_synthetic,
    _sequence_updates,
)
from privopt.benchmarks.papers._sequence_exhibits import exhibits
from privopt.benchmarks.papers._sequence_items import CHECKS, Check

PARTS = (
    _sequence_definitions,
    _sequence_notions,
    _sequence_updates,
    _sequence_step,
    _sequence_noise,
    _sequence_batches,
    _sequence_synthetic,
    _sequence_clicks,
    _sequence_gaze,
)
"""The modules whose functions compute the items."""


def checks() -> dict[str, Check]:
    """What computes each printed item, by its name, in the order of the paper.

    Examples
    --------
    >>> checks()["S-E1"](True).finding.value
    'matches'
    """
    return {name: CHECKS[name] for name in items() if name in CHECKS}


def claims(quick: bool) -> dict[str, Claim]:
    """Every item that something is computed for, by its name."""
    return {name: claim(name, quick) for name in checks()}


def claim(name: str, quick: bool) -> Claim:
    """One item computed again."""
    item, found = items()[name], checks()[name](quick)
    where = f"{item.place} [{name}]"
    return Claim(item.states, where, item.printed or "stated", found.ours, found.finding, found.why)


@register_paper("sequence")
def sequence_paper(quick: bool = False) -> PaperReport:
    """Figures 3 to 9 as far as they can be had, and every printed formula and statement checked.

    Click streams and gaze are read from the folder that ``PRIVOPT_DATA`` names; where a file is absent, claims and captions
    say so and show a seeded substitute.

    Parameters
    ----------
    quick : bool
        Coarse grids and few instances: under a minute.

    Returns
    -------
    PaperReport
        Figures are empty where matplotlib is not installed.
    """
    begun = time.monotonic()
    found = tuple(claims(quick).values())
    return PaperReport(
        name="sequence",
        title="Online Context-aware Data Release with Sequence Information Privacy",
        authors="Bo Jiang, Ming Li, Ravi Tandon",
        about=_about(),
        claims=found,
        exhibits=tuple(exhibits(quick)),
        seconds=time.monotonic() - begun,
    )


def _about() -> tuple[str, ...]:
    return (
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
    )

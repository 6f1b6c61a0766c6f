"""Frost days: the real records that ship with the package.

The chain is fitted on 1461 days of Seattle weather with the letters "mild" and "frost". Frosts come in
runs (second eigenvalue > 0) and are rare, so a frost says far more about its neighbours than a mild day
does: the region in which only some values may be released is wide, which is where a mechanism that
looks at the data can gain on one that hides a window. With the private day in the middle both sides
share the budget, at the start one side has it all; four days are small enough to enumerate.
"""

from __future__ import annotations

from functools import cache

from privopt.benchmarks._suites import Instance, Records, Showcase
from privopt.benchmarks.loaders import LETTERS, seattle_weather
from privopt.models import MarkovChain
from privopt.problems.redaction import Redaction

MONTH = (2013, 1)
DAYS = 31


@cache
def frost_chain() -> MarkovChain:
    """The chain of frosts, fitted on all days, started from its stationary law.

    Examples
    --------
    >>> frost_chain().counts
    ((1345, 28), (27, 60))
    """
    return MarkovChain.fit([seattle_weather().frost()], states=LETTERS)


def month() -> tuple[Instance, ...]:
    """The private day in the middle of a month, at its start, and among four days."""
    chain = frost_chain()
    return (
        Instance("month-middle", DAYS, Redaction(chain, DAYS, DAYS // 2, 1.0)),
        Instance("month-start", DAYS, Redaction(chain, DAYS, 0, 1.0)),
        Instance("four-days", 4, Redaction(chain, 4, 1, 1.0)),
    )


def years() -> tuple[Instance, ...]:
    """A month, a year and four years of days, one in the middle of them private."""
    return tuple(
        Instance(f"frost-{n}", n, Redaction(frost_chain(), n, n // 2, 1.0), "frost") for n in (31, 365, 1461)
    )


def sentences() -> tuple[str, ...]:
    """What the data and the chain are, with the fitted numbers."""
    (_, alpha), (beta, _) = frost_chain().transition.tolist()
    days = len(seattle_weather().dates)
    data = (
        "Weather stands in for a personal stream: each day of Seattle from 2012 to 2015 (public-domain NOAA data) is a "
        "record that says frost (minimum 0 °C or less) or mild. Read it as a diary in which one day is private, "
        "and whose other days give it away because they depend on it."
    )
    model = (
        f"The law of the records is a two-state Markov chain fitted on {days} days: after a mild day a frost comes with "
        f"probability α = {alpha:.4f}, after a frost a mild day with probability β = {beta:.4f}; the second eigenvalue "
        f"is λ = {1 - alpha - beta:.4f}, so frosts come in runs. One chain for all seasons is a simplification: every "
        "certificate below is a proof for this chain, not for the weather."
    )
    question = (
        "The question is which days to hide, and how often, so that the release shifts the odds of frost on the private "
        "day by a factor of at most e^ε; the utility is the expected share of days released."
    )
    return data, model, question


def records() -> Records:
    """The month that is released."""
    weather = seattle_weather().month(*MONTH)
    days = tuple(day.isoformat() for day in weather.dates)
    return Records("January 2013 in Seattle", "date", days, "frost", weather.frost())


SHOWCASE = Showcase("month-middle", 1.0, "windows", "hides a window whatever the data say", records)
"""The released mechanism of the quick suite."""

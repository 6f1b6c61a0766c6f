"""Cost of the optimum against the number of records.

Source of the setting: Massny, Bitar, Ye, El Rouayheb, "Between Close Enough to Reveal and Far Enough to Protect",
Figure 3 for the fast-mixing chain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from privopt.benchmarks._clock import clock
from privopt.benchmarks._measurements import Timing
from privopt.benchmarks.measurements._redaction_optimum import mechanism, utility
from privopt.models import MarkovChain
from privopt.problems.redaction import Redaction

FAST, MIDDLING, SLOW = (0.01, 0.8), (0.01, 0.05), (0.002, 0.01)
"""Pr(0 -> 1) and Pr(1 -> 0)."""


def chain(rates: tuple[float, float]) -> MarkovChain:
    """The chain with these rates of leaving 0 and 1."""
    alpha, beta = rates
    return MarkovChain([[1 - alpha, alpha], [beta, 1 - beta]])


def one_side(largest: int) -> Iterator[Timing]:
    """The first record is private, 10^2 to 10^largest records follow, and the chain mixes fast."""
    law = chain(FAST)
    for n in (10**e for e in range(2, largest + 1)):
        yield _row("one side, α = 0.01, β = 0.8", Redaction(law, n, 0, 1.0))


def two_sides(lengths: Iterable[int], quick: bool) -> Iterator[Timing]:
    """The middle record is private; the slower the chain mixes, the more records matter."""
    sizes = tuple(lengths)
    for rates in (FAST, MIDDLING) if quick else (FAST, MIDDLING, SLOW):
        law = chain(rates)
        for n in sizes:
            yield _row(f"two sides, α = {rates[0]:g}, β = {rates[1]:g}", Redaction(law, n, n // 2, 1.0))


def _row(case: str, problem: Redaction) -> Timing:
    (_, _, stats), seconds = clock(mechanism(problem))
    note = "utility" if stats.complete else "utility; the search stopped before it had tried every candidate"
    return Timing(case, problem.length, seconds, quality=utility(problem, stats), note=note)

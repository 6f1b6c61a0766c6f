"""Exact leakage: the recursion against enumeration, and alone on long chains.

Source: Massny, Bitar, Ye, El Rouayheb, "Between Close Enough to Reveal and Far Enough to Protect", Definition 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np

from privopt.benchmarks._clock import clock
from privopt.benchmarks._measurements import Timing
from privopt.benchmarks.measurements._redaction_outputs import all_at_once, one_by_one
from privopt.measures import redaction_leakage
from privopt.models import MarkovChain
from privopt.problems._redaction_side import Floats

_RANDOM, _ONE_LABEL = "random table", "one label released, all the way"


def _chain() -> MarkovChain:
    return MarkovChain([[0.9, 0.1], [0.3, 0.7]])


def _random(length: int, private: int) -> Floats:
    table: Floats = np.random.default_rng(length).random((length, 2))
    table[private] = 1.0
    return table


def against(lengths: Iterable[int]) -> Iterator[Timing]:
    """Short chains, where all 3^n outputs can be written out."""
    chain = _chain()
    for n in lengths:
        private, table = n // 2, _random(n, n // 2)
        ours, seconds = clock(partial(redaction_leakage, chain, private, table))
        for name, work in (
            ("enumeration, one by one", partial(one_by_one, chain, private, table)),
            ("enumeration, all at once", partial(all_at_once, chain, private, table)),
        ):
            theirs, their_seconds = clock(work)
            note = "difference of the two leakages"
            yield Timing.against(_RANDOM, n, seconds, (name, their_seconds), abs(ours - theirs), note)


def alone(largest: int) -> Iterator[Timing]:
    """Chains of 10^3 to 10^largest records, the private one in the middle.

    The recursion stops once nothing farther matters; on the last, slowly mixing chain everything does.
    """
    forgets, remembers = _chain(), MarkovChain([[1 - 1e-5, 1e-5], [2e-5, 1 - 2e-5]])
    for n in (10**e for e in range(3, largest + 1)):
        for case, chain, table in (
            (_RANDOM, forgets, _random(n, n // 2)),
            (_ONE_LABEL, forgets, _one_label(n, 0.999)),
            (f"{_ONE_LABEL}, slow chain", remembers, _one_label(n, 1 - 1e-7)),
        ):
            found, seconds = clock(partial(redaction_leakage, chain, n // 2, table))
            yield Timing(case, n, seconds, quality=found, note="leakage in nats")


def _one_label(length: int, hidden: float) -> Floats:
    table = np.ones((length, 2))
    table[:, 0], table[length // 2] = hidden, 1.0
    return table

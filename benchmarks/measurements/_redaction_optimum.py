"""The optimal local mechanism: what it costs and what it gains.

Source of the setting: Massny, Bitar, Ye, El Rouayheb, "Between Close Enough to Reveal and Far Enough to Protect",
whose Section V leaves the best mechanism of the 3R family, and the best split of the budget, for future work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np

from privopt._dispatch import solve
from privopt.benchmarks._clock import clock
from privopt.benchmarks._measurements import Timing
from privopt.benchmarks.measurements._redaction_instances import binary_chain
from privopt.benchmarks.measurements._redaction_slsqp import General
from privopt.problems._redaction_side import Floats
from privopt.problems._redaction_sides import sides
from privopt.problems.redaction import Redaction
from privopt.solvers.redaction._two_sides import Stats, best_mechanism

_PER_SIZE = 3


def forever() -> float:
    """Seconds left where there is no deadline."""
    return float("inf")


def mechanism(problem: Redaction) -> Callable[[], tuple[Floats, Floats, Stats]]:
    """The search for the optimum, without judging it and without a bound."""
    left, right = sides(problem, problem.private[0])
    return partial(best_mechanism, left, right, problem.epsilon, forever)


def utility(problem: Redaction, stats: Stats) -> float:
    """Share of records released by what the search found."""
    return 1 - 1 / problem.length - stats.cost


def against_slsqp(lengths: Iterable[int], starts: int) -> Iterator[Timing]:
    """Random chains, the private record first or in the middle."""
    for n in lengths:
        for case, private in (("private record first", 0), ("private record in the middle", n // 2)):
            rng = np.random.default_rng(n)
            for _ in range(_PER_SIZE):
                problem = Redaction(binary_chain(rng), n, private, float(rng.uniform(0.2, 2.0)))
                yield _slsqp_row(case, problem, starts)


def _slsqp_row(case: str, problem: Redaction, starts: int) -> Timing:
    (_, _, stats), seconds = clock(mechanism(problem))
    theirs, their_seconds = clock(partial(General(problem).best, starts))
    reference = (f"SLSQP from {starts} starts", their_seconds)
    gain = utility(problem, stats) - theirs
    return Timing.against(case, problem.length, seconds, reference, gain, "utility above that of SLSQP")


def against_relaxation(quick: bool) -> Iterator[Timing]:
    """Random chains of each length; seconds are means for one question, with judging and proof of privacy."""
    for n in (10, 30) if quick else (10, 30, 100):
        rng, count = np.random.default_rng(n), 3 if quick else 40
        problems = [
            Redaction(binary_chain(rng), n, int(rng.integers(n)), float(rng.uniform(0.1, 2.0)))
            for _ in range(count)
        ]
        ours, theirs = ([solve(problem, name) for problem in problems] for name in ("optimal", "relaxation"))
        gains = [(a.utility or 0.0) - (b.utility or 0.0) for a, b in zip(ours, theirs, strict=True)]
        seconds, their_seconds = (sum(s.seconds for s in found) / count for found in (ours, theirs))
        note = f"mean utility above the relaxation's over {count} chains; the largest is {max(gains):.4f}"
        reference = ("relaxation", their_seconds)
        yield Timing.against(
            "random chains, with a bound", n, seconds, reference, float(np.mean(gains)), note
        )

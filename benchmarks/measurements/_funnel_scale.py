"""Pairwise merging of large alphabets: against its definition, and what moves and the portfolio add."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from privopt._solver import Budget
from privopt.benchmarks._clock import clock
from privopt.benchmarks._measurements import Timing
from privopt.benchmarks.measurements._funnel_tables import MILLIBITS, floored
from privopt.problems.privacy_funnel import PrivacyFunnel
from privopt.solvers.common.merging_table import merging_table
from privopt.solvers.common.pair_path import merge_path
from privopt.solvers.common.pair_rule import FLOOR_SLACK, PairRule
from privopt.solvers.common.partition_moves import floor_worth, moved
from privopt.solvers.privacy_funnel.plain import plain_path
from privopt.solvers.privacy_funnel.portfolio import Portfolio

SECRETS = 10
FRACTIONS = (0.5, 0.7, 0.9)

PORTFOLIO_LIMIT = 60.0
"""Seconds for the portfolio; it proposes the best that it has by then."""


def against_definition(sizes: Iterable[int]) -> Iterator[Timing]:
    """The same merges by recomputing both informations for every pair."""
    for n in sizes:
        problem = floored(0, SECRETS, n, 0.7)
        rule = PairRule(floor=problem.budget)
        ours, seconds = clock(lambda: merge_path(merging_table(problem), rule, Budget()))  # noqa: B023 - called at once
        theirs, their_seconds = clock(lambda: plain_path(problem, rule, Budget()))  # noqa: B023 - as above
        same = ours.pairs.tolist() == theirs.pairs.tolist()
        yield Timing(
            "pairwise merging",
            n,
            seconds,
            "by its definition",
            their_seconds,
            their_seconds / seconds,
            float(len(ours.pairs)),
            "merges made, the same ones" if same else "merges made, not the same ones",
            holds=same,
        )


def leakages(sizes: Iterable[int]) -> Iterator[Timing]:
    """Pairwise merging alone, with moves, and the portfolio, for three floors."""
    for n in sizes:
        for fraction in FRACTIONS:
            yield from _leakages(floored(0, SECRETS, n, fraction), n, fraction)


def _leakages(problem: PrivacyFunnel, n: int, fraction: float) -> Iterator[Timing]:
    table = merging_table(problem)
    pairs, seconds = clock(lambda: merge_path(table, PairRule(floor=problem.budget), Budget()))
    start = pairs.assignment()
    worth = floor_worth(problem.budget - FLOOR_SLACK)
    moves, more = clock(lambda: moved(table, start, worth, Budget()))
    budget = Budget(time.monotonic() + PORTFOLIO_LIMIT)
    found, their_seconds = clock(lambda: Portfolio().run(problem, budget))
    case, note = f"floor {fraction:g} H(X)", "leakage in millibits"
    leaked = float(pairs.secret[-1]) * MILLIBITS
    yield Timing(f"pairs, {case}", n, seconds, quality=leaked, note=note)
    after = table.merged(moves).informations[0] * MILLIBITS
    yield Timing(
        f"pairs and moves, {case}", n, seconds + more, quality=after, note=note, holds=after <= leaked + 1e-9
    )
    best = (
        -problem.evaluate(problem.check(found.mechanism)).objective * MILLIBITS
        if found.mechanism
        else float("inf")
    )
    note = f"leakage in millibits, {100 * (1 - best / leaked):.0f} % below pairs"
    yield Timing.against(f"portfolio, {case}", n, their_seconds, ("pairs", seconds), best, note)

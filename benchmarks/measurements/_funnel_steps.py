"""At a price of information: how much of the best fall over all partitions each way of merging reaches."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from privopt._solver import Budget
from privopt.benchmarks._clock import clock
from privopt.benchmarks._measurements import Timing
from privopt.benchmarks.measurements._funnel_tables import random_table
from privopt.problems._partition_costs import Ints
from privopt.problems._partitions import best_partition
from privopt.problems.privacy_funnel import PrivacyFunnel
from privopt.solvers.common.merging_table import MergingTable, merging_table
from privopt.solvers.common.pair_path import merge_path
from privopt.solvers.common.pair_rule import PairRule
from privopt.solvers.privacy_funnel._portfolio import Portfolio
from privopt.solvers.privacy_funnel._subset_search import repeated, sub_sup, tabulated
from privopt.solvers.privacy_funnel._subset_steps import SubsetMerge

PRICES = (0.05, 0.15, 0.3, 0.5)
SECRETS = (3, 8)

Method = Callable[[PrivacyFunnel, MergingTable], Ints]


def pairwise(problem: PrivacyFunnel, table: MergingTable) -> Ints:
    """Pairs that pay, the best first."""
    price = problem.budget
    return merge_path(table, PairRule("lagrangian", price, price=price), Budget()).assignment()


def with_moves(problem: PrivacyFunnel, table: MergingTable) -> Ints:
    """Pairs, moves of single symbols, and pairs again."""
    return Portfolio(problem, Budget(), steps=10).settle(pairwise(problem, table), problem.budget)


METHODS: dict[str, Method] = {
    "repeated sub-sup": lambda problem, table: repeated(table, problem.budget, sub_sup, Budget()),
    "repeated best set": lambda problem, table: repeated(table, problem.budget, tabulated, Budget()),
    "pairwise merging": pairwise,
    "pairwise merging and moves": with_moves,
}


def run(size: int, draws: int) -> Iterator[Timing]:
    """A row for the single step, then one for each method; against the best partition by dynamic programming."""
    problems = [
        PrivacyFunnel(random_table(k, secrets, size), trade_off=price)
        for secrets in SECRETS
        for price in PRICES
        for k in range(draws)
    ]
    yield _single_step(problems, size)
    best, their_seconds = clock(lambda: [_optimum(problem) for problem in problems])
    for name, method in METHODS.items():
        found, seconds = clock(lambda method=method: [_fall(p, method) for p in problems])  # type: ignore[misc]
        yield _row(name, size, (found, seconds), ("best partition", best, their_seconds))


def _single_step(problems: list[PrivacyFunnel], size: int) -> Timing:
    questions = [SubsetMerge(merging_table(p), p.budget) for p in problems]
    ours, seconds = clock(lambda: [-q.change(sub_sup(q, Budget())) for q in questions])
    theirs, their_seconds = clock(lambda: [-q.change(tabulated(q, Budget())) for q in questions])
    return _row("one sub-sup step", size, (ours, seconds), ("best of all sets", theirs, their_seconds))


def _row(
    name: str, size: int, ours: tuple[list[float], float], reference: tuple[str, list[float], float]
) -> Timing:
    shares = [f / b for f, b in zip(ours[0], reference[1], strict=True) if b > 1e-12]
    count = len(ours[0])
    note = f"mean share of the best fall over {count} questions; the least is {min(shares, default=math.nan):.3f}"
    return Timing(
        name,
        size,
        ours[1] / count,
        reference[0],
        reference[2] / count,
        reference[2] / ours[1],
        float(np.mean(shares)),
        note,
        holds=max(shares, default=0.0) <= 1 + 1e-9,
    )


def _fall(problem: PrivacyFunnel, method: Method) -> float:
    table = merging_table(problem)
    secret, useful = table.merged(method(problem, table)).informations
    return _start(table, problem.budget) - (secret - problem.budget * useful)


def _optimum(problem: PrivacyFunnel) -> float:
    best = best_partition(problem, math.inf)
    if best is None:
        raise ArithmeticError("the alphabet is too large to go through all partitions")
    return _start(merging_table(problem), problem.budget) + best.objective


def _start(table: MergingTable, price: float) -> float:
    secret, useful = table.informations
    return secret - price * useful

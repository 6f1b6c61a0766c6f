"""Deterministic releases under the privacy funnel: what single steps, whole mergings and large alphabets give.

Source of the setting: the lectures on privacy-utility trade-offs, privacy funnel by pairwise and submodular merging.
Leakage is shown in thousandths of a bit, on tables drawn uniformly (Dirichlet).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from privopt.arrays import Ints
from privopt.benchmarks.timings.measurement import Timing, clock, register_measurement
from privopt.core.dispatch import solve
from privopt.core.solver import Budget, Solver
from privopt.models import JointDistribution
from privopt.problems.privacy_funnel.problem import PrivacyFunnel
from privopt.problems.trade_off.partitions import best_partition
from privopt.solvers.trade_off.exact_merging import ExactMerging
from privopt.solvers.trade_off.mergings import MergingTable, merging_table
from privopt.solvers.trade_off.pairs import FLOOR_SLACK, PairRule, merge_path
from privopt.solvers.trade_off.pairwise import Greedy, plain_path
from privopt.solvers.trade_off.portfolio import Portfolio, Searches, floor_worth, moved
from privopt.solvers.trade_off.subsets import SubsetMerge, repeated, sub_sup, tabulated

MILLIBITS = 1000 / math.log(2)
"""Thousandths of a bit in a nat."""


def random_table(seed: int, secrets: int, symbols: int) -> JointDistribution:
    """A table drawn uniformly from all of them."""
    distribution = np.random.default_rng((seed, secrets, symbols)).dirichlet(np.ones(secrets * symbols))
    return JointDistribution(distribution.reshape(secrets, symbols))


def floored(seed: int, secrets: int, symbols: int, fraction: float) -> PrivacyFunnel:
    """The least leakage of a merging that keeps a share of H(X)."""
    return PrivacyFunnel(random_table(seed, secrets, symbols), theta_fraction=fraction, form="merging")


CELLS = ((4, 8, 0.5), (4, 8, 0.9), (4, 10, 0.7), (8, 10, 0.5), (8, 10, 0.7), (16, 10, 0.7))
"""Secrets, symbols, share of H(X) that is kept."""

WAYS: dict[str, Solver[PrivacyFunnel]] = {
    "pairs, first": Greedy("first"),
    "pairs, skip": Greedy(),
    "pairs, skip, by ratio": Greedy(score="ratio"),
    "portfolio": Portfolio(enumerated=0),
}

LIMIT = 60.0


def above_the_best(draws: int) -> Iterator[Timing]:
    """Seconds are means for one problem, with judging and proof."""
    for secrets, symbols, fraction in CELLS:
        problems = [floored(k, secrets, symbols, fraction) for k in range(draws)]
        best, their_seconds = _leakages(problems, ExactMerging())
        for name, solver in WAYS.items():
            leaks, seconds = _leakages(problems, solver)
            note = (
                f"mean leakage in millibits over {draws} tables; the best merging leaks {np.mean(best):.4g}"
            )
            yield Timing(
                f"{name}: {secrets} secrets, floor {fraction:g} H(X)",
                symbols,
                seconds,
                "exact-merging",
                their_seconds,
                their_seconds / seconds,
                float(np.mean(leaks)),
                note,
                holds=all(f >= b - 1e-9 for f, b in zip(leaks, best, strict=True)),
            )


def _leakages(problems: Sequence[PrivacyFunnel], solver: Solver[Any]) -> tuple[list[float], float]:
    """Leakage in millibits for each problem, and mean seconds."""
    solutions = [solve(problem, solver, time_limit=LIMIT) for problem in problems]
    values = [float("inf") if s.leakage is None else s.leakage * MILLIBITS for s in solutions]
    return values, sum(s.seconds for s in solutions) / len(solutions)


SECRETS_AT_SCALE = 10
FRACTIONS = (0.5, 0.7, 0.9)

PORTFOLIO_LIMIT = 60.0
"""Seconds for the portfolio; it proposes the best that it has by then."""


def against_definition(sizes: Iterable[int]) -> Iterator[Timing]:
    """The same merges by recomputing both informations for every pair."""
    for n in sizes:
        problem = floored(0, SECRETS_AT_SCALE, n, 0.7)
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
            yield from _thousandths(floored(0, SECRETS_AT_SCALE, n, fraction), n, fraction)


def _thousandths(problem: PrivacyFunnel, n: int, fraction: float) -> Iterator[Timing]:
    table = merging_table(problem)
    pairs, seconds = clock(lambda: merge_path(table, PairRule(floor=problem.budget), Budget()))
    start = pairs.assignment()
    worth = floor_worth(problem.budget - FLOOR_SLACK)
    moves, more = clock(lambda: moved(table, start, worth, Budget()))
    budget = Budget(time.monotonic() + PORTFOLIO_LIMIT)
    proposal, their_seconds = clock(lambda: Portfolio().run(problem, budget))
    case, note = f"floor {fraction:g} H(X)", "leakage in millibits"
    leaked = float(pairs.secret[-1]) * MILLIBITS
    yield Timing(f"pairs, {case}", n, seconds, quality=leaked, note=note)
    after = table.merged(moves).informations[0] * MILLIBITS
    yield Timing(
        f"pairs and moves, {case}", n, seconds + more, quality=after, note=note, holds=after <= leaked + 1e-9
    )
    best = (
        -problem.evaluate(problem.check(proposal.mechanism)).objective * MILLIBITS
        if proposal.mechanism
        else float("inf")
    )
    note = f"leakage in millibits, {100 * (1 - best / leaked):.0f} % below pairs"
    yield Timing.against(f"portfolio, {case}", n, their_seconds, ("pairs", seconds), best, note)


PRICES = (0.05, 0.15, 0.3, 0.5)
SECRETS = (3, 8)

Method = Callable[[PrivacyFunnel, MergingTable], Ints]


def pairwise(problem: PrivacyFunnel, table: MergingTable) -> Ints:
    """Pairs that pay, the best first."""
    price = problem.budget
    return merge_path(table, PairRule("lagrangian", price, price=price), Budget()).assignment()


def with_moves(problem: PrivacyFunnel, table: MergingTable) -> Ints:
    """Pairs, moves of single symbols, and pairs again."""
    return Searches(problem, Budget(), steps=10).settle(pairwise(problem, table), problem.budget)


METHODS: dict[str, Method] = {
    "repeated sub-sup": lambda problem, table: repeated(table, problem.budget, sub_sup, Budget()),
    "repeated best set": lambda problem, table: repeated(table, problem.budget, tabulated, Budget()),
    "pairwise merging": pairwise,
    "pairwise merging and moves": with_moves,
}


def share_of_falls(size: int, draws: int) -> Iterator[Timing]:
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
        falls, seconds = clock(lambda method=method: [_fall(p, method) for p in problems])  # type: ignore[misc]
        yield _row(name, size, (falls, seconds), ("best partition", best, their_seconds))


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
    note = (
        f"mean share of the best fall over {count} problems; the least is {min(shares, default=math.nan):.3f}"
    )
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


@register_measurement(
    "funnel-one-step", "Merging subsets or pairs at a price: the share of the best fall over all partitions"
)
def one_step(quick: bool) -> Sequence[Timing]:
    """Twelve symbols, four prices, three and eight secrets."""
    return list(share_of_falls(size=8 if quick else 12, draws=1 if quick else 12))


@register_measurement(
    "funnel-mergings", "Pairwise merging by each rule, and the portfolio, above the best of all mergings"
)
def mergings(quick: bool) -> Sequence[Timing]:
    """Floors that are shares of H(X)."""
    return list(above_the_best(draws=2 if quick else 20))


@register_measurement(
    "funnel-scale", "Pairwise merging against its definition, and how much less moves and the portfolio leak"
)
def scale(quick: bool) -> Sequence[Timing]:
    """Ten secrets, up to 5000 symbols."""
    definition = against_definition((12,) if quick else (10, 20, 40))
    return [*definition, *leakages((30,) if quick else (50, 200, 1000, 5000))]

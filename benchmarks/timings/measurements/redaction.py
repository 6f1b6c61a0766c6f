"""Redaction on a Markov chain: what the exact methods cost and gain, and the invariants they must keep.

Source of the setting: Massny, Bitar, Ye, El Rouayheb, "Between Close Enough to Reveal and Far Enough to Protect".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec

import numpy as np

from privopt.arrays import Floats
from privopt.benchmarks.papers.redactions import General, all_at_once, binary_chain, one_by_one
from privopt.benchmarks.timings.measurement import Timing, clock, register_measurement
from privopt.core.dispatch import solve
from privopt.measures import redaction_leakage
from privopt.models import MarkovChain
from privopt.problems.redaction.problem import Redaction
from privopt.solvers.redaction.conic import Backend, solve_side
from privopt.solvers.redaction.optimal.side import sides
from privopt.solvers.redaction.optimal.solver import Stats, best_mechanism
from privopt.solvers.redaction.relaxation import pooled

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
    """Random chains of each length; seconds are means for one problem, with judging and proof of privacy."""
    for n in (10, 30) if quick else (10, 30, 100):
        rng, count = np.random.default_rng(n), 3 if quick else 40
        problems = [
            Redaction(binary_chain(rng), n, int(rng.integers(n)), float(rng.uniform(0.1, 2.0)))
            for _ in range(count)
        ]
        ours, theirs = ([solve(problem, name) for problem in problems] for name in ("optimal", "relaxation"))
        gains = [(a.utility or 0.0) - (b.utility or 0.0) for a, b in zip(ours, theirs, strict=True)]
        seconds, their_seconds = (sum(s.seconds for s in solutions) / count for solutions in (ours, theirs))
        note = f"mean utility above the relaxation's over {count} chains; the largest is {max(gains):.4f}"
        reference = ("relaxation", their_seconds)
        yield Timing.against(
            "random chains, with a bound", n, seconds, reference, float(np.mean(gains)), note
        )


FAST, MIDDLING, SLOW = (0.01, 0.8), (0.01, 0.05), (0.002, 0.01)
"""Pr(0 -> 1) and Pr(1 -> 0)."""


def chain(rates: tuple[float, float]) -> MarkovChain:
    """The chain with these rates of leaving 0 and 1."""
    alpha, beta = rates
    return MarkovChain([[1 - alpha, alpha], [beta, 1 - beta]])


def one_side(largest: int) -> Iterator[Timing]:
    """The first record is private, 10^2 to 10^largest records follow, and the chain mixes fast."""
    distribution = chain(FAST)
    for n in (10**e for e in range(2, largest + 1)):
        yield _row("one side, α = 0.01, β = 0.8", Redaction(distribution, n, 0, 1.0))


def two_sides(lengths: Iterable[int], quick: bool) -> Iterator[Timing]:
    """The middle record is private; the slower the chain mixes, the more records matter."""
    sizes = tuple(lengths)
    for rates in (FAST, MIDDLING) if quick else (FAST, MIDDLING, SLOW):
        distribution = chain(rates)
        for n in sizes:
            yield _row(
                f"two sides, α = {rates[0]:g}, β = {rates[1]:g}", Redaction(distribution, n, n // 2, 1.0)
            )


def _row(case: str, problem: Redaction) -> Timing:
    (_, _, stats), seconds = clock(mechanism(problem))
    note = "utility" if stats.complete else "utility; the search stopped before it had tried every candidate"
    return Timing(case, problem.length, seconds, quality=utility(problem, stats), note=note)


BACKENDS: tuple[Backend, ...] = ("ecos", "scs", "clarabel")
_CASE = "isotonic regression"
_NOTE = "objective above the isotonic one, relative"


def program(size: int) -> tuple[Floats, Floats]:
    """Bounds on prefix sums, rising on the whole but not from each to the next, and equal weights."""
    rng = np.random.default_rng(size)
    return np.cumsum(rng.random(size)) * 3 / size + 0.2 * rng.random(size), np.ones(size)


def against_conic(sizes: Sequence[int]) -> list[Timing]:
    """Each size with each back end, smallest first."""
    _warm_up()
    return [row for size in sizes for row in _rows(size)]


def _warm_up() -> None:
    bounds, weights = program(5)
    pooled(bounds, weights)
    for backend in BACKENDS:
        if find_spec(backend) is not None:
            solve_side(bounds, weights, backend)


def _rows(size: int) -> Iterator[Timing]:
    bounds, weights = program(size)
    ours, seconds = clock(lambda: pooled(bounds, weights))
    cost = float(np.exp(-ours).sum())
    for backend in BACKENDS:
        if find_spec(backend) is None:
            why = f'{backend} is not installed: pip install "privopt[all]"'
            yield Timing(_CASE, size, seconds, backend, note=why)
            continue
        yield _isotonic_row(size, seconds, cost, backend)


def _isotonic_row(size: int, seconds: float, cost: float, backend: Backend) -> Timing:
    bounds, weights = program(size)
    try:
        theirs, theirs_seconds = clock(lambda: solve_side(bounds, weights, backend))
    except ArithmeticError as cause:
        return Timing(_CASE, size, seconds, backend, note=str(cause))
    worse = float(np.exp(-theirs).sum()) / cost - 1
    return Timing.against(_CASE, size, seconds, (backend, theirs_seconds), worse, _NOTE)


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
            nats, seconds = clock(partial(redaction_leakage, chain, n // 2, table))
            yield Timing(case, n, seconds, quality=nats, note="leakage in nats")


def _one_label(length: int, hidden: float) -> Floats:
    table = np.ones((length, 2))
    table[:, 0], table[length // 2] = hidden, 1.0
    return table


@register_measurement(
    "redaction-isotonic", "The convex relaxation by pooling adjacent violators, against three conic solvers"
)
def isotonic(quick: bool) -> Sequence[Timing]:
    """Appendix A of the paper, solved as an isotonic regression."""
    return against_conic((10, 100, 1000) if quick else (10, 100, 1000, 100_000))


@register_measurement(
    "redaction-leakage",
    "Exact leakage by a recursion, against enumeration of all outputs; alone on long chains",
)
def leakage(quick: bool) -> Sequence[Timing]:
    """Definition 1 of the paper."""
    short = range(4, 7) if quick else range(4, 10)
    return [*against(short), *alone(3 if quick else 6)]


@register_measurement(
    "redaction-optimal",
    "The optimal local mechanism, against SLSQP over all probabilities, and against the relaxation",
)
def optimal(quick: bool) -> Sequence[Timing]:
    """The optimum that the paper leaves for future work."""
    general = against_slsqp((3,) if quick else (3, 4, 5), starts=3 if quick else 10)
    return [*general, *against_relaxation(quick)]


@register_measurement("redaction-growth", "The optimum on long chains: records on one side, and on both")
def growth(quick: bool) -> Sequence[Timing]:
    """Cost against the number of records."""
    one = one_side(4 if quick else 6)
    return [*one, *two_sides((100, 300) if quick else (100, 300, 1000, 3000), quick)]

"""Coverage: how often sets from samples hold the population, and certificates over them its leakage; a planted set must fail."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privopt.benchmarks.data.joints import leaning, present
from privopt.benchmarks.timings.measurement import Timing, register_measurement
from privopt.core.dispatch import solve
from privopt.measures.robust import robust_level
from privopt.models import JointAmbiguity, JointDistribution, RowSet
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy

CONFIDENCE, EPSILON, SECONDS = 0.95, 0.1, 5.0
SAMPLES, FEW = 200, 100
ALARM = 1e-3
"""A share of samples is too small if one as small has at most this probability where the promise is kept just so."""
SOLVED = 10
"""Samples over whose sets a mechanism is computed, of which each takes twice :data:`SECONDS`."""
SIZES = (2000, 8000)
METHODS = ("clopper-pearson", "weissman")


def adult() -> JointDistribution | None:
    """Income as the secret and marital status as what is useful, in all of the Adult set, where it is present."""
    path = present("adult")
    if path is None:
        return None
    import pandas as pd

    return JointDistribution.from_frame(pd.read_csv(path), "income", "marital_status")


def sample(population: JointDistribution, rows: int, seed: int) -> JointDistribution:
    """Rows drawn from a population with replacement, counted.

    Examples
    --------
    >>> sample(leaning(), 100, 0).rows_counted
    100
    """
    chances = np.array(population.exact.weights, dtype=np.float64)
    counts = np.random.default_rng([seed, rows]).multinomial(rows, chances / chances.sum())
    shape = population.table.shape
    return JointDistribution.normalised(counts.reshape(shape), population.sensitive, population.useful)


def halved(near: JointAmbiguity) -> JointAmbiguity:
    """A set planted at half the radius around what was counted: it promises a confidence that it does not have.

    Examples
    --------
    >>> near = JointAmbiguity.from_counts([[30, 10], [20, 40]], method="weissman")
    >>> halved(near).prior.radius == near.prior.radius / 2
    True
    """
    weights = near.nominal.exact.weights
    wide = len(near.useful)
    table = [weights[i : i + wide] for i in range(0, len(weights), wide)]
    rows = [_halved(row, counts) for row, counts in zip(near.rows, table, strict=True)]
    return JointAmbiguity(rows, _halved(near.prior, [sum(row) for row in table]), nominal=near.nominal)


def _halved(row: RowSet, counts: Sequence[int]) -> RowSet:
    if row.kind == "total_variation":
        return RowSet.total_variation(row.center, row.radius / 2)
    if row.kind == "all":
        return row
    middle = [Fraction(count, sum(counts)) for count in counts]
    lower, upper = (
        [(end + c) / 2 for end, c in zip(ends, middle, strict=True)] for ends in (row.lower, row.upper)
    )
    return RowSet.interval(lower, upper)


@dataclass(frozen=True)
class Covered:
    """What came of one sample: whether the set holds the population, and what a mechanism leaks that was computed from it."""

    holds: bool
    planted: bool
    level: float
    leakage: float


def enough(covered: int, samples: int) -> bool:
    """Whether so many of the samples may be covered where each is with probability :data:`CONFIDENCE` at least.

    Examples
    --------
    >>> enough(190, 200), enough(188, 200), enough(160, 200)
    (True, True, False)
    """
    from scipy.stats import binom

    return bool(binom.cdf(covered, samples, CONFIDENCE) > ALARM)


def tried(
    population: JointDistribution, rows: int, method: str, seed: int, mechanism: bool = True
) -> Covered:
    """A set from a sample, the same at half the radius, and the most useful mechanism for the sample at :data:`EPSILON`.

    Parameters
    ----------
    population : JointDistribution
    rows, seed : int
        Of the sample.
    method : str
        Of the set.
    mechanism : bool
        Without one, level and leakage are 0.
    """
    counted = sample(population, rows, seed)
    near = JointAmbiguity.from_joint(counted, CONFIDENCE, method)
    level = leakage = 0.0
    if mechanism:
        problem = LocalInformationPrivacy(counted, EPSILON)
        answer = solve(problem, time_limit=SECONDS).mechanism
        level = robust_level(problem, answer, near)[1]
        leakage = LocalInformationPrivacy(population, EPSILON).evaluate(answer).leakage
    return Covered(near.contains(population), halved(near).contains(population), level, leakage)


@register_measurement(
    "coverage",
    "Sets from samples of a population that is known: how often they hold it, what certificates cover, and a planted set that fails",
)
def coverage(quick: bool) -> Sequence[Timing]:
    """Every population, size and method; one size and the quicker method only in a quick run."""
    populations = {"election survey": leaning(), "Adult": adult()}
    rows: list[Timing] = []
    for name, population in populations.items():
        if population is None:
            rows.append(Timing(f"{name}: set", 0, None, note="the data are not there: see PRIVOPT_DATA"))
            continue
        for size in SIZES[:1] if quick else SIZES:
            for method in METHODS[1:] if quick else METHODS:
                rows += _rows(name, population, size, method, FEW if quick else SAMPLES)
    return rows


def _rows(name: str, population: JointDistribution, size: int, method: str, samples: int) -> Iterator[Timing]:
    begun = time.perf_counter()
    seen = [tried(population, size, method, seed) for seed in range(samples)]
    seconds = (time.perf_counter() - begun) / samples

    def row(what: str, quality: float, note: str, holds: bool = True) -> Timing:
        return Timing(f"{name}, {method}: {what}", size, seconds, quality=quality, note=note, holds=holds)

    held, covered, planted, kept = (
        sum(map(counts, seen))
        for counts in (_holds, _is_covered, _is_planted, lambda one: one.leakage <= EPSILON)
    )
    promised = f"share of {samples} samples; {CONFIDENCE:g} is promised"
    yield row("the set holds the population", held / samples, promised, enough(held, samples))
    yield row(
        "the level over the set covers the leakage",
        covered / samples,
        promised,
        covered >= CONFIDENCE * samples,
    )
    yield row(
        "a set planted at half the radius holds it",
        planted / samples,
        f"share of {samples} samples; {CONFIDENCE:g} would show a blind test",
        not enough(planted, samples),
    )
    alone = f"certified {EPSILON:g} for the table alone"
    yield row(
        f"{alone}, and kept in the population",
        kept / samples,
        f"share of {samples} samples; nothing is promised",
    )
    leaked = [one.leakage for one in seen]
    for what, value in (("median", statistics.median(leaked)), ("largest", max(leaked))):
        yield row(f"{what} leakage of what was {alone}", value, "nats in the population")
    if samples == SAMPLES and method == METHODS[0]:
        yield from _solved(name, population, size, method)


def _holds(one: Covered) -> bool:
    return one.holds


def _is_planted(one: Covered) -> bool:
    return one.planted


def _is_covered(one: Covered) -> bool:
    return one.leakage <= one.level


def _solved(name: str, population: JointDistribution, size: int, method: str) -> Iterator[Timing]:
    """What mechanisms leak and say that are certified over the sets themselves, by those for the tables alone."""
    leaked, kept, begun = [], [], time.perf_counter()
    for seed in range(SOLVED):
        counted = sample(population, size, seed)
        near = JointAmbiguity.from_joint(counted, CONFIDENCE, method)
        robust = solve(LocalInformationPrivacy(near, EPSILON), time_limit=2 * SECONDS)
        nominal = solve(LocalInformationPrivacy(counted, EPSILON), time_limit=SECONDS)
        leaked.append(LocalInformationPrivacy(population, EPSILON).evaluate(robust.mechanism).leakage)
        kept.append((robust.utility or 0.0) / (nominal.utility or math.inf))
    seconds, what = (
        (time.perf_counter() - begun) / SOLVED,
        f"certified {EPSILON:g} for every distribution of the set",
    )
    inside = sum(leakage <= EPSILON for leakage in leaked)
    for case, value, note, holds in (
        (
            f"{what}, and kept in the population",
            inside / SOLVED,
            f"share of {SOLVED} samples",
            enough(inside, SOLVED),
        ),
        (f"largest leakage of what was {what}", max(leaked), "nats in the population", True),
        (
            f"median utility of what was {what}",
            statistics.median(kept),
            "part of that for the table alone",
            True,
        ),
    ):
        yield Timing(f"{name}, {method}: {case}", size, seconds, quality=value, note=note, holds=holds)

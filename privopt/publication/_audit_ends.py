"""Bounds of a leakage that was not read from a model but from rows: over every distribution that the rows allow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privopt.arrays import Ints
from privopt.core.exact import log_enclosure
from privopt.core.problem import Enclosure
from privopt.mechanisms import Channel
from privopt.models import JointAmbiguity, RowSet
from privopt.models.channel_data import Release, release_rows
from privopt.problems.robust import robust_level


@dataclass(frozen=True)
class Side:
    """A bound on ratios that a problem keeps: its notion, which sides of the lift count, and the level."""

    notion: str
    below: bool
    above: bool
    budget: float


@dataclass(frozen=True)
class Pooled:
    """Symbols that a release treats alike, as one: how often each is counted, and what it is released as."""

    counts: Ints
    release: Channel


def pooled(counts: Ints, release: Release) -> Pooled:
    """Count symbols with equal rows together: their frequencies among themselves do not matter.

    Examples
    --------
    >>> from privopt.mechanisms import Merging
    >>> pooled(np.array([[1, 2, 3]]), Merging([[0, 2], [1]], range(3))).counts
    array([[4, 2]])
    """
    rows = release_rows(release, range(len(release.inputs)))
    exact = [tuple(row.fraction(y) for y in range(len(row.weights))) for row in rows]
    kinds = {row: place for place, row in enumerate(dict.fromkeys(exact))}
    table = np.zeros((len(counts), len(kinds)), dtype=np.int64)
    np.add.at(table.T, [kinds[row] for row in exact], counts.T)
    return Pooled(table, Channel(list(kinds), outputs=release.outputs))


def ends(seen: Pooled, side: Side, confidence: float, method: str) -> Enclosure:
    """Floats that hold the leakage in the population, with a confidence, whatever its distribution.

    The set of :meth:`JointAmbiguity.from_counts` holds the population with that confidence, and both ends hold for every member.
    """
    near = JointAmbiguity.from_counts(
        seen.counts, confidence, method, range(len(seen.counts)), seen.release.inputs
    )
    most = robust_level(near, seen.release, side.notion, below=side.below, above=side.above)[1]
    return min(_least(near, seen.release, side), most), most


def _least(near: JointAmbiguity, release: Channel, side: Side) -> float:
    """At most the leakage of every member: for each pair the least ratio over the set, of which the largest."""
    rows = [[row.fraction(y) for row in release.exact()] for y in range(len(release.outputs))]
    return max(0.0, *(_least_of(near, column, side) for column in rows))


def _least_of(near: JointAmbiguity, column: Sequence[Fraction], side: Side) -> float:
    common = math.lcm(*(v.denominator for v in column))
    values = [int(v * common) for v in column]
    if not any(values):
        return 0.0
    low = [max(Fraction(0), _over(row, row.smallest(values)[0])) for row in near.rows]
    high = [_over(row, row.largest(values)[1]) for row in near.rows]
    # a value of the secret that may be impossible need not count
    sure = [s for s in range(len(low)) if near.prior.smallest([int(t == s) for t in range(len(low))])[0] > 0]
    if side.notion == "ldp":
        return max((_log(low[s], high[t]) for s in sure for t in sure if s != t), default=0.0)
    least = [0.0]
    for s in sure:
        if side.above:
            mixed = [low[t] if t == s else high[t] for t in range(len(low))]
            least.append(_log(low[s], _mean(near.prior, mixed, largest=True)))
        if side.below:
            mixed = [high[t] if t == s else low[t] for t in range(len(low))]
            least.append(_log(_mean(near.prior, mixed, largest=False), high[s]))
    return max(least)


def _over(row: RowSet, value: int) -> Fraction:
    return Fraction(value, row.denominator)


def _mean(prior: RowSet, values: Sequence[Fraction], *, largest: bool) -> Fraction:
    """A bound of the mean of values over the priors: from above for the largest, from below for the smallest."""
    common = math.lcm(*(v.denominator for v in values))
    scaled = [int(v * common) for v in values]
    end = prior.largest(scaled)[1] if largest else prior.smallest(scaled)[0]
    return Fraction(end, prior.denominator * common)


def _log(numerator: Fraction, denominator: Fraction) -> float:
    """A float at most the logarithm of a ratio; 0 where nothing is known of it."""
    if numerator <= 0:
        return 0.0
    ratio = numerator / denominator if denominator else None
    return math.inf if ratio is None else max(0.0, log_enclosure(ratio.numerator, ratio.denominator)[0])

"""Levels of a channel that hold for every joint distribution of a set: exact extremes over rows and priors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privopt.arrays import Floats
from privopt.core.exact import IntegerRow, log_enclosure
from privopt.core.problem import Enclosure
from privopt.errors import InvalidProblem
from privopt.files.labels import Labels
from privopt.models import JointDistribution
from privopt.models.ambiguity.joint import Ambiguity, JointAmbiguity
from privopt.models.ambiguity.row_set import RowSet
from privopt.models.channel_data import Observation, Release, release_rows
from privopt.problems.exact_joint import enclose

Ratio = tuple[int, int]
"""A numerator and a denominator; a denominator of 0 is infinity."""
NOTHING: Ratio = (1, 1)


@dataclass(frozen=True)
class _Extremes:
    """Integers around the largest and the smallest P(y | s) over the set, one for each s, over one denominator."""

    low: list[tuple[int, int]]
    high: list[tuple[int, int]]


def set_of_joints(observation: Observation, ambiguity: Ambiguity) -> JointAmbiguity:
    """A set of distributions, if it is one of joints over the symbols of a problem.

    Raises
    ------
    InvalidProblem
        If it is another kind of set, or its labels differ.
    """
    if not isinstance(ambiguity, JointAmbiguity):
        raise InvalidProblem(
            f"the distributions of a table vary in a JointAmbiguity, got {type(ambiguity).__name__}"
        )
    if (ambiguity.sensitive, ambiguity.useful) != (observation.leaking.sensitive, observation.observed):
        raise InvalidProblem(
            "the set of distributions is over other symbols than the problem: make it from the same table, or give it the "
            "labels sensitive= and useful="
        )
    return ambiguity


def rows_within(observation: Observation, radius: Fraction, kind: str) -> JointAmbiguity:
    """The joints of this P(s) whose rows P(x | s) lie within a radius of those observed."""
    near = JointAmbiguity.total_variation(observation.leaking, radius if kind == "total_variation" else 0)
    if kind == "total_variation":
        return near
    rows = [RowSet.chi2(row.center, radius) if row.center else row for row in near.rows]
    return JointAmbiguity(rows, near.prior, nominal=observation.leaking)


def largest_radius(observation: Observation, kind: str) -> Fraction:
    """A radius from which on each row may be any distribution of the values that it has."""
    rows = JointAmbiguity.total_variation(observation.leaking, 0).rows
    return max(farthest_radius(row.center, kind) for row in rows if row.center)


def farthest_radius(center: Sequence[Fraction], kind: str) -> Fraction:
    """How far a distribution may be from a center, at most: 1 in total variation, and the root of 1 / p - 1 of the rarest value.

    Examples
    --------
    >>> farthest_radius((Fraction(1, 4), Fraction(3, 4)), "chi2")
    Fraction(2, 1)
    """
    if kind == "total_variation":
        return Fraction(1)
    rarest = min(c for c in center if c)
    return Fraction(math.isqrt(math.ceil(1 / rarest) - 1) + 1)


def itself_over(beliefs: RowSet, letters: Labels | None = None) -> JointAmbiguity:
    """The joints of a letter with itself whose distribution lies in a set.

    Examples
    --------
    >>> itself_over(RowSet.all(2)).nominal.p_s
    array([0.5, 0.5])
    """
    n, member = beliefs.size, beliefs.nominal
    rows = [RowSet.total_variation([int(j == i) for j in range(n)], 0) for i in range(n)]
    table = [[member[i] * (i == j) for j in range(n)] for i in range(n)]
    return JointAmbiguity(rows, beliefs, nominal=JointDistribution.normalised(table, letters, letters))


@dataclass(frozen=True)
class Shift:
    """How far a release may shift the odds of a value of the secret over a set, as rationals below and above the largest ratio.

    ``other`` is 1 where its probability rises, -1 where it falls, and for "ldp" the value against which it is likeliest.
    """

    s: int
    y: int
    other: int
    low: Ratio
    high: Ratio


def shifts(
    ambiguity: JointAmbiguity, release: Release, notion: str, *, below: bool = True, above: bool = True
) -> Iterator[Shift]:
    """The largest ratios over a set of joints, of each value of the secret and each release that may occur.

    With hi_s(y), lo_s(y) the largest and smallest P(y | s): local differential privacy on S is the largest hi_s / lo_t, and
    the lift from above the largest hi_s / (p_s hi_s + sum_t p_t lo_t) over the priors, because it rises in hi_s, falls in
    each lo_t and the rows vary independently; from below, alike. Rational but for chi-squared sets.

    Parameters
    ----------
    ambiguity : JointAmbiguity
    release : Channel or Merging
        Reads the useful symbols of the set.
    notion : {"lip", "ldp"}
    below, above : bool
        Which sides of the lift count, for "lip".
    """
    possible = possible_secrets(ambiguity)
    for y, column in enumerate(_columns(release)):
        of_y = _extremes(ambiguity.rows, column)
        if not any(of_y.high[s][1] for s in possible):
            continue
        for s, other, low, high in _ratios(ambiguity.prior, of_y, possible, notion, below, above):
            yield Shift(s, y, other, low, high)


def possible_secrets(ambiguity: JointAmbiguity) -> list[int]:
    """Values of the secret that some distribution of the set gives a positive probability."""
    n = range(len(ambiguity.rows))
    return [s for s in n if ambiguity.prior.largest([int(t == s) for t in n])[1] > 0]


def robust_level(
    ambiguity: JointAmbiguity, release: Release, notion: str, *, below: bool = True, above: bool = True
) -> Enclosure:
    """Floats around the largest leakage of a release over a set of joints, in nats; see :func:`shifts`."""
    least = most = NOTHING
    for shift in shifts(ambiguity, release, notion, below=below, above=above):
        least, most = larger(least, shift.low), larger(most, shift.high)
    return log_enclosure(*least)[0], log_enclosure(*most)[1]


def most_expected(ambiguity: JointAmbiguity, values: Sequence[Fraction]) -> Fraction:
    """At least the largest expectation of a function of X over a set of joints; exact but for chi-squared sets.

    Examples
    --------
    >>> near = JointAmbiguity.total_variation(JointDistribution([[0.5, 0.5]]), Fraction(1, 4))
    >>> most_expected(near, [Fraction(0), Fraction(1)])
    Fraction(3, 4)
    """
    below = math.lcm(*(v.denominator for v in values))
    whole = [int(v * below) for v in values]
    least, common = min(whole), _denominator(ambiguity.rows)
    raised = [v - least for v in whole]
    of_s = [row.largest(raised)[1] * (common // row.denominator) for row in ambiguity.rows]
    most = Fraction(ambiguity.prior.largest(of_s)[1], common * ambiguity.prior.denominator)
    return (most + least) / below


def most_likely(ambiguity: JointAmbiguity, release: Release, pairs: Iterable[tuple[int, int]]) -> Fraction:
    """At least the largest probability of some pairs (s, y), by position, over a set of joints; exact but for chi-squared sets.

    Examples
    --------
    >>> from privopt.mechanisms import Channel
    >>> near = JointAmbiguity.total_variation(JointDistribution([[0.25, 0.25], [0, 0.5]]), Fraction(1, 4))
    >>> most_likely(near, Channel([[1, 0], [0, 1]]), [(0, 0), (1, 0)])
    Fraction(1, 2)
    """
    columns, below = _columns(release), _denominator(ambiguity.rows)
    sums = [[0] * len(ambiguity.useful) for _ in ambiguity.rows]
    for s, y in pairs:
        sums[s] = [a + b for a, b in zip(sums[s], columns[y], strict=True)]
    of_s = [
        row.largest(values)[1] * (below // row.denominator)
        for row, values in zip(ambiguity.rows, sums, strict=True)
    ]
    shared = below * math.lcm(*(row.total for row in _rows(release))) * ambiguity.prior.denominator
    return Fraction(ambiguity.prior.largest(of_s)[1], shared)


def never_seen(ambiguity: JointAmbiguity) -> list[int]:
    """Positions of the useful symbols that no distribution of the set gives a positive probability."""
    possible, n = possible_secrets(ambiguity), range(len(ambiguity.useful))
    return [
        w for w in n if all(ambiguity.rows[s].largest([int(x == w) for x in n])[1] == 0 for s in possible)
    ]


def best_guess_over(ambiguity: JointAmbiguity, release: Release) -> Fraction:
    """At least sum_y max_s P(y | s) at every joint of a set, e to its maximal leakage: sum_y max_s hi_s(y)."""
    possible = possible_secrets(ambiguity)
    total, shared = 0, _denominator(ambiguity.rows) * math.lcm(*(row.total for row in _rows(release)))
    for column in _columns(release):
        total += max(_extremes(ambiguity.rows, column).high[s][1] for s in possible)
    return Fraction(total, shared)


def maximal_leakage_over(ambiguity: JointAmbiguity, release: Release) -> float:
    """A float at least the maximal leakage of a release over a set of joints, in nats."""
    return max(0.0, log_enclosure(*best_guess_over(ambiguity, release).as_integer_ratio())[1])


def _rows(release: Release) -> list[IntegerRow]:
    return release_rows(release, range(len(release.inputs)))


def _columns(release: Release) -> list[list[int]]:
    """P(y | x) for each y as integers over one denominator."""
    rows = _rows(release)
    common = math.lcm(*(row.total for row in rows))
    scaled = [[w * (common // row.total) for w in row.weights] for row in rows]
    return [list(column) for column in zip(*scaled, strict=True)]


def _denominator(rows: Sequence[RowSet]) -> int:
    return math.lcm(*(row.denominator for row in rows))


def _extremes(rows: Sequence[RowSet], column: Sequence[int]) -> _Extremes:
    order = sorted(range(len(column)), key=column.__getitem__)
    common = _denominator(rows)
    low, high = [], []
    for row in rows:
        factor = common // row.denominator
        least, most = row.smallest(column, order), row.largest(column, order)
        low.append((max(0, least[0]) * factor, max(0, least[1]) * factor))
        high.append((most[0] * factor, most[1] * factor))
    return _Extremes(low, high)


def row_ends(ambiguity: JointAmbiguity, release: Release) -> tuple[Floats, Floats]:
    """Floats at most the smallest and at least the largest P(y | s) over a set, shape (n_s, n_y) each.

    Examples
    --------
    >>> from privopt.mechanisms import Channel
    >>> near = JointAmbiguity.total_variation(JointDistribution([[0.5, 0.5]]), Fraction(1, 4))
    >>> [ends.tolist() for ends in row_ends(near, Channel([[1, 0], [0, 1]]))]
    [[[0.25, 0.25]], [[0.75, 0.75]]]
    """
    below = _denominator(ambiguity.rows) * math.lcm(*(row.total for row in _rows(release)))
    columns = [_extremes(ambiguity.rows, column) for column in _columns(release)]
    low = [[enclose(Fraction(least, below))[0] for least, _ in ends.low] for ends in columns]
    high = [[enclose(Fraction(most, below))[1] for _, most in ends.high] for ends in columns]
    return np.maximum(np.array(low).T, 0.0), np.array(high).T


def _ratios(
    prior: RowSet, ends: _Extremes, possible: Sequence[int], notion: str, below: bool, above: bool
) -> Iterator[tuple[int, int, Ratio, Ratio]]:
    """For each s, rational bounds of the largest ratio that a release may show of it, from below and from above."""
    n = range(len(ends.low))
    for s in possible:
        others = [t for t in possible if t != s]
        if notion == "ldp":
            if others:
                other = min(others, key=lambda t: ends.low[t][0])
                smallest = min(ends.low[t][1] for t in others), ends.low[other][0]
                yield s, other, (ends.high[s][0], smallest[0]), (ends.high[s][1], smallest[1])
            continue
        if above and ends.high[s][1]:
            columns = [[ends.high[s][k] if t == s else ends.low[t][1 - k] for t in n] for k in (0, 1)]
            yield s, 1, _lift(prior, s, columns[0], 0), _lift(prior, s, columns[1], 1)
        if below:
            columns = [[ends.low[s][1 - k] if t == s else ends.high[t][k] for t in n] for k in (0, 1)]
            yield s, -1, _drop(prior, s, columns[0], 0), _drop(prior, s, columns[1], 1)


def _lift(prior: RowSet, s: int, values: list[int], end: int) -> Ratio:
    """values[s] over the least mean of the values: at most it for end 0, at least it for end 1."""
    return values[s] * prior.denominator, prior.smallest(values)[1 - end]


def _drop(prior: RowSet, s: int, values: list[int], end: int) -> Ratio:
    """The largest mean of the values over values[s]: at most it for end 0, at least it for end 1."""
    return prior.largest(values)[end], values[s] * prior.denominator


def larger(a: Ratio, b: Ratio) -> Ratio:
    """The larger of two ratios; 0 / 0 is no ratio."""
    if not any(b):
        return a
    if a[1] == 0 or b[1] == 0:
        return a if a[1] == 0 else b
    return b if b[0] * a[1] > a[0] * b[1] else a

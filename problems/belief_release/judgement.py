"""A channel judged column by column: only its largest and its least probability of each release matter.

With S = X the log-lift of a letter x and a release y is ln P(y | x) / P(y), so that reading, proof and repair are passes
over the columns in use; no table of pairs is made, and none of letters against letters.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import mul

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.balls import Balls
from privopt.core.exact import MAX_BITS, IntegerRow, exp_at_least, log_enclosure
from privopt.core.problem import FEASIBILITY, Enclosure, Evaluation
from privopt.files.labels import Label
from privopt.mechanisms import Channel
from privopt.problems.belief_release.data import BeliefData
from privopt.problems.exact_joint import enclose

ROUNDING = 2.0**-49
"""Nats kept free of the budget by repair: what rounding the mixed matrix to floats can add to a log-lift."""

EXACT_CELLS = 100_000
"""Channels with more cells in use have their distortion enclosed in balls instead of rationals."""

BREAKS = "breaks the bounds around the distribution of the output"


def evaluate(data: BeliefData, release: Channel) -> Evaluation:
    """Utility, leakage and the worst pair (letter, release) in float64."""
    seen, used, lifts = _lifts(data, release)
    size = np.abs(lifts)
    leakage = float(size.max(initial=0.0))
    kept = data.p[seen, None] * release.matrix[np.ix_(seen, used)]
    parts = (kept * data.costs_of(used)[seen]).ravel()
    utility = (
        -math.fsum(parts.tolist()) if parts.size <= EXACT_CELLS else -float(parts.sum(dtype=np.longdouble))
    )
    violation = 0.0 if leakage <= data.epsilon else leakage - data.epsilon
    feasible = violation <= FEASIBILITY * max(1.0, min(data.epsilon, 1e6))
    if leakage == 0:
        return Evaluation(utility, 0.0, utility, feasible, violation)
    row, column = np.unravel_index(int(np.argmax(size)), size.shape)
    names = data.letters[int(seen[row])], release.outputs[int(used[column])]
    return Evaluation(utility, leakage, utility, feasible, violation, names, _where(names))


def _lifts(data: BeliefData, release: Channel) -> tuple[Ints, Ints, Floats]:
    """The possible letters, the releases in use, and ln P(y | x) / P(y) of each pair, -inf where P(y | x) is 0.

    In extended precision, so that a log-lift near 0 keeps its digits.
    """
    seen = data.support
    used = np.flatnonzero((release.matrix[seen] > 0).any(axis=0))
    rows = release.matrix[np.ix_(seen, used)].astype(np.longdouble)
    output = data.p[seen].astype(np.longdouble) @ rows
    with np.errstate(divide="ignore"):
        return seen, used, np.log(rows / output).astype(np.float64)


def _where(names: tuple[Label, Label]) -> str:
    return f"the release {names[1]!r} shifts the odds of {names[0]!r} most"


@dataclass(frozen=True)
class Column:
    """A release in use, in integers: P(y | x) is weight / scale, P(y) is mean / (scale total)."""

    position: int
    mean: int
    most: tuple[int, int]
    least: tuple[int, int]


@dataclass(frozen=True)
class ExactRelease:
    """A channel in integers, a column at a time; ``most`` and ``least`` of a column hold a weight and the first letter."""

    data: BeliefData
    release: Channel

    @cached_property
    def rows(self) -> tuple[IntegerRow, ...]:
        """The weights of every letter."""
        return self.release.exact()

    @cached_property
    def scale(self) -> int:
        """The common total of the rows of possible letters."""
        return math.lcm(*{self.rows[x].total for x in self.seen})

    @cached_property
    def seen(self) -> list[int]:
        """Positions of the possible letters."""
        return [x for x, w in enumerate(self.data.exact_belief.weights) if w]

    @cached_property
    def by_release(self) -> tuple[tuple[int, ...], ...]:
        """P(y | x) of the possible letters, times the scale, for each release y."""
        rows = (self.rows[x] for x in self.seen)
        scaled = (_times(row.weights, self.scale // row.total) for row in rows)
        return tuple(zip(*scaled, strict=True))

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The releases in use."""
        weights = [self.data.exact_belief.weights[x] for x in self.seen]
        columns = []
        for y in np.flatnonzero((self.release.matrix[self.seen] > 0).any(axis=0)).tolist():
            values = self.by_release[y]
            mean = sum(map(mul, values, weights))
            if mean == 0:
                continue
            most, least = max(values), min(values)
            columns.append(
                Column(
                    y, mean, (most, self.seen[values.index(most)]), (least, self.seen[values.index(least)])
                )
            )
        return tuple(columns)

    def broken(self, column: Column, epsilon: float) -> tuple[int, int, int]:
        """How many pairs of a column break the bounds, how many are undecided, and the weight of both."""
        total, mean, own = self.data.exact_belief.total, column.mean, self.data.exact_belief.weights
        pairs = sorted(
            (value, own[x]) for x, value in zip(self.seen, self.by_release[column.position], strict=True)
        )
        n = len(pairs)

        def above(i: int) -> bool | None:
            return exp_at_least(epsilon, pairs[i][0] * total, mean)

        def below(i: int) -> bool | None:
            return exp_at_least(epsilon, mean, pairs[i][0] * total)

        # Larger weights keep the upper bound less and the lower bound more: a few of them are looked at.
        too_small, small = (
            bisect_left(range(n), True, key=lambda i: below(i) is not False),
            bisect_left(range(n), True, key=lambda i: below(i) is True),
        )
        large, too_large = (
            bisect_left(range(n), True, key=lambda i: above(i) is not True),
            bisect_left(range(n), True, key=lambda i: above(i) is False),
        )
        outside = {*range(small), *range(large, n)}
        broken = {*range(too_small), *range(too_large, n)}
        mass = sum(pairs[i][0] * pairs[i][1] for i in outside)
        return len(broken), len(outside - broken), mass

    @cached_property
    def worst(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The largest lift or its inverse, as numerator and denominator, and the first pair that reaches it."""
        total = self.data.exact_belief.total
        best, pair = (1, 1), (-1, -1)
        for column in self.columns:
            ends = (
                ((column.most[0] * total, column.mean), column.most[1]),
                ((column.mean, column.least[0] * total), column.least[1]),
            )
            for (up, down), x in ends:
                ahead, behind = up * best[1], best[0] * down
                if ahead > behind or (ahead == behind and up != down and (x, column.position) < pair):
                    best, pair = (up, down), (x, column.position)
        return best, pair


def _times(weights: tuple[int, ...], factor: int) -> tuple[int, ...]:
    return weights if factor == 1 else tuple(w * factor for w in weights)


def within(epsilon: float, up: int, down: int) -> bool | None:
    """Whether a ratio is between e^-epsilon and e^epsilon, proved; None where it is not decided."""
    verdicts = exp_at_least(epsilon, up, down), exp_at_least(epsilon, down, up)
    return False if False in verdicts else None if None in verdicts else True


@dataclass(frozen=True)
class Verdict:
    """What integers say of a channel."""

    ok: bool
    reason: str
    leakage: Enclosure
    worst: tuple[Label, ...]
    where: str


def certify(exact: ExactRelease) -> Verdict:
    """Prove or refute that every release keeps the bounds, rows of impossible letters included."""
    data, release = exact.data, exact.release
    count = len(exact.seen) * len(exact.columns)
    total = data.exact_belief.total
    bad = [
        column
        for column in exact.columns
        if within(data.epsilon, column.most[0] * total, column.mean) is not True
        or within(data.epsilon, column.least[0] * total, column.mean) is not True
    ]
    outside = uncovered(exact)
    ok, reason = not bad, f"every one of {count} ratios keeps the bounds"
    if bad:
        counted = [exact.broken(column, data.epsilon) for column in bad]
        broken, undecided, mass = (sum(part) for part in zip(*counted, strict=True))
        reason = f"{broken} of {count} ratios break the bounds, with probability {mass / (total * exact.scale):.17g} in all"
        if not broken:
            reason = f"undecided at {MAX_BITS} bits for {undecided} pairs, which is not a pass"
    elif outside:
        shown = ", ".join(repr(data.letters[x]) for x in outside[:5]) + (
            " and others" if len(outside) > 5 else ""
        )
        reason = f"the symbol{'s' if len(outside) > 1 else ''} {shown} of probability 0 {BREAKS}: repair releases it like the average symbol"
    ratio, (x, y) = exact.worst
    lo, hi = log_enclosure(*ratio)
    names = (data.letters[x], release.outputs[y]) if x >= 0 else ()
    where = _where(names) if len(names) == 2 else ""
    return Verdict(ok and not outside, reason, (max(0.0, lo), max(0.0, hi)), names, where)


def uncovered(exact: ExactRelease) -> list[int]:
    """Impossible letters whose rows are outside the bounds around the distribution of the output."""
    data = exact.data
    if data.epsilon == math.inf or len(exact.seen) == len(data.letters):
        return []
    seen, means = set(exact.seen), {column.position: column.mean for column in exact.columns}
    below = exact.scale * data.exact_belief.total
    verdicts: dict[IntegerRow, bool] = {}
    wrong = []
    for x, row in enumerate(exact.rows):
        if x in seen:
            continue
        if row not in verdicts:
            pairs = ((row.weights[y] * below, means.get(y, 0) * row.total) for y in range(len(row.weights)))
            verdicts[row] = all(within(data.epsilon, up, down) is True for up, down in pairs if up or down)
        if not verdicts[row]:
            wrong.append(x)
    return wrong


def is_worst(data: BeliefData, release: Channel, worst: Sequence[object]) -> bool:
    """Whether a pair of labels reaches the leakage, in integers; no pair only where nothing leaks."""
    exact = ExactRelease(data, release)
    ratio, (x, _) = exact.worst
    if not worst or x < 0:
        return not worst and x < 0
    if len(worst) != 2 or worst[0] not in data.letters or worst[1] not in release.outputs:
        return False
    letter, position = data.letters.index(worst[0]), release.outputs.index(worst[1])
    column = next((c for c in exact.columns if c.position == position), None)
    if column is None or letter not in exact.seen:
        return False
    up = exact.by_release[position][exact.seen.index(letter)] * data.exact_belief.total
    down = column.mean
    up, down = max(up, down), min(up, down)
    return up * ratio[1] == ratio[0] * down


def utility_enclosure(exact: ExactRelease) -> Enclosure:
    """Floats around minus the expected distortion: of its exact value, for large channels a little wider."""
    data = exact.data
    used = np.array([column.position for column in exact.columns], dtype=np.intp)
    if len(exact.seen) * len(used) > EXACT_CELLS:
        return _utility_balls(exact, used)
    mean, weights, total = Fraction(0), data.exact_belief.weights, data.exact_belief.total
    ratios = [[d.as_integer_ratio() for d in row] for row in data.costs_of(used).tolist()]
    halves = max((down for row in ratios for _, down in row), default=1)  # all are powers of 2
    for x in exact.seen:
        row = exact.rows[x]
        spent = sum(
            up * (halves // down) * row.weights[y]
            for (up, down), y in zip(ratios[x], used.tolist(), strict=True)
        )
        mean += Fraction(spent * weights[x], row.total)
    total *= halves
    lo, hi = enclose(mean / total)
    return -hi + 0.0, -lo + 0.0


def _utility_balls(exact: ExactRelease, used: Ints) -> Enclosure:
    data = exact.data
    seen = np.array(exact.seen)
    mid = np.array([[weight / exact.scale for weight in exact.by_release[y]] for y in used.tolist()]).T
    cells = Balls(mid, np.where(mid == 0, 0.0, np.abs(mid) * 2.0**-52 + 2.0**-1074))
    p = data.p[seen]
    spent = (cells * data.costs_of(used)[seen]).sum(axis=1) * Balls(p, p * 2.0**-52 + 2.0**-1074)
    low, high = spent.sum().ends
    return -high + 0.0, -low + 0.0


def repair(data: BeliefData, release: Channel, margin: float) -> Channel:
    """The channel (1 - eta) W + eta P(y) with the least eta that keeps epsilon (1 - margin); impossible letters covered."""
    _, used, lifts = _lifts(data, release)
    keep, level = 1.0, max(0.0, data.epsilon * (1.0 - margin) - ROUNDING)
    if data.epsilon < math.inf and lifts.size:
        top, bottom = math.exp(min(700.0, float(lifts.max()))), math.exp(float(lifts.min()))
        if top > 1:
            keep = min(keep, math.expm1(min(700.0, level)) / (top - 1.0))
        if bottom < 1:
            keep = min(keep, -math.expm1(-level) / (1.0 - bottom))
    if keep < 1.0:
        keep = max(0.0, math.nextafter(keep, 0.0))
        average = np.zeros(release.matrix.shape[1])
        average[used] = data.p @ release.matrix[:, used]
        average /= average.sum()
        matrix = (
            keep * release.matrix + (1.0 - keep) * average
            if keep
            else np.tile(average, (len(release.matrix), 1))
        )
        release = Channel(matrix, release.inputs, release.outputs, simulation_only=release.simulation_only)
    return _covered(data, release)


def _covered(data: BeliefData, release: Channel) -> Channel:
    """The channel itself, or with the exact distribution of the output in the rows of impossible letters that need it."""
    if len(data.support) == len(data.letters) or data.epsilon == math.inf:
        return release
    exact = ExactRelease(data, release)
    if not (wrong := set(uncovered(exact))):
        return release
    below = exact.scale * data.exact_belief.total
    average = [Fraction(0)] * len(release.outputs)
    for column in exact.columns:
        average[column.position] = Fraction(column.mean, below)
    rows = [
        average if x in wrong else [row.fraction(y) for y in range(len(row.weights))]
        for x, row in enumerate(exact.rows)
    ]
    return Channel(rows, release.inputs, release.outputs, simulation_only=release.simulation_only)

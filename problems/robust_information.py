"""How much a release says of a secret on average, I(S;Y), at most over a set of joint distributions.

For any distribution r of the release, I(S;Y) <= sum_s P(s) D(P(y | s) || r), with equality where r is the distribution of the
release (the redundancy-capacity theorem, Gallager; Csiszar and Koerner, "Information Theory"). So over rows q_s of their sets and
priors p of theirs it is at most

    max_p sum_s p_s max_{q_s} sum_y f(q_s . m_y) - (q_s . m_y) ln r(y),   f(t) = t ln t,  m_y(x) = P(y | x).

The least of this over r is the largest I(S, V; Y), where V says which row of its set each value of S has. The convex f lies below
its secant between the smallest and the largest q_s . m_y, which leaves expectations of functions of X: their largest values over
the sets are known. Nothing is lost by the secants where one number moves the row (two values of X, or a set that is a segment).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privopt.arrays import Bools, Floats, Ints
from privopt.core.balls import Balls
from privopt.core.exact import IntegerRow
from privopt.core.problem import Enclosure
from privopt.models.ambiguity.joint import JointAmbiguity
from privopt.models.ambiguity.row_set import RowSet
from privopt.models.channel_data import Release, observation, release_rows
from privopt.problems.exact_joint import ExactJoint, enclose, information_enclosure, leaking_joint
from privopt.problems.robust import row_ends
from privopt.problems.robust_reading import SetReader

STEPS = 30
"""Distributions of the release that are tried."""

ITERATIONS, CENTRED, SHORT = 60, 0.1, 0.95
"""Steps to the best mixture of the joints met, the share of the complementarity that each aims at, and that of the way to the boundary."""

SHARES, NARROW = 20, 1e-12
"""Shares of a mixture that are tried, and how near to the largest one its root is sought."""

CLOSE = 1e-7
"""Relative distance from the least bound at which no better r is sought."""

TINY = 1e-300
"""Keeps logarithms of what never occurs finite."""


@dataclass(frozen=True, eq=False)
class Reading:
    """A bound on I(S;Y) over a set in floats, and what it rests on.

    ``slopes`` are those of the secants, shape (n_s, n_y); ``logs`` the logarithms of r, shape (n_y,).
    """

    bound: float
    slopes: Floats
    logs: Floats


def read(reader: SetReader, matrix: Floats) -> Reading:
    """The bound for a channel, shape (n_x, n_y), with the best r met.

    Each next r is that of the best mixture of the joints at which the bounds so far are reached.

    Examples
    --------
    >>> from privopt.models import JointDistribution
    >>> near = JointAmbiguity.total_variation(JointDistribution([[0.3, 0.2], [0.1, 0.4]]), Fraction(1, 10))
    >>> round(read(SetReader.of(near), np.array([[0.75, 0.25], [0.25, 0.75]])).bound, 6)
    0.046201
    """
    matrix = matrix[:, (matrix > 0).any(axis=0)]
    if (matrix == matrix[0]).all():
        return Reading(0.0, np.zeros((len(reader.rows), matrix.shape[1])), np.log(matrix[0]))
    low, high = (np.maximum(ends, 0.0) for ends in reader.extremes(matrix))
    slopes, feet = secants(low, high)
    r = np.maximum(0.5 * (low + high)[reader.possible].mean(axis=0), TINY)
    r, best = r / r.sum(), Reading(math.inf, slopes, np.zeros(len(r)))
    fixed, drawn = np.zeros(0), np.zeros((0, len(r)))
    for _ in range(STEPS):
        logs = np.log(r)
        values = matrix @ (slopes - logs).T
        most = np.array([row.ends(values[:, [s]])[1][0] for s, row in enumerate(reader.rows)])
        of_s = np.where(reader.possible, most + feet.sum(axis=1), 0.0)
        if (bound := float(reader.prior.ends(of_s[:, None])[1][0])) < best.bound:
            best = Reading(bound, slopes, logs)
        rows = np.array([row.farthest(values[:, s]) for s, row in enumerate(reader.rows)])
        prior = reader.prior.farthest(of_s)
        drawn = np.vstack([drawn, prior @ rows @ matrix])
        fixed = np.append(fixed, prior @ ((rows @ matrix * slopes).sum(axis=1) + feet.sum(axis=1)))
        r, least = _mixed(fixed, drawn)
        if best.bound - least <= max(CLOSE * best.bound, _rounding(fixed, drawn, r)):
            break
    return Reading(max(0.0, best.bound), best.slopes, best.logs)


def _mixed(fixed: Floats, drawn: Floats) -> tuple[Floats, float]:
    """The r of the mixture of joints that says most, and how much that is, by a primal-dual interior-point method.

    A joint says ``fixed - drawn . ln r``; shapes (m,) and (m, n_y). With w the weights of the mixture and r = w . drawn that is the
    gradient of what the mixture says, but for a constant: at the best one all joints with weight say ``most``, and others less.
    """
    weights = np.full(len(fixed), 1.0 / len(fixed))
    r = np.maximum(weights @ drawn, TINY)
    told, below = fixed - drawn @ np.log(r), _rounding(fixed, drawn, r)
    most = float(told.max()) + float(told.max() - weights @ told) / len(fixed)
    less = most - told
    for _ in range(ITERATIONS):
        if told.max() - weights @ told <= max(0.1 * CLOSE * told.max(), below):
            break
        centre = CENTRED * float(weights @ less) / len(fixed)
        missed = told - most + less
        system = (drawn / r) @ drawn.T + np.diag(less / weights)
        right = np.stack([missed + centre / weights - less, np.ones(len(fixed))], axis=1)
        moved, shared = np.linalg.solve(system, right).T
        rise = float(moved.sum() / shared.sum())
        change = moved - rise * shared
        lowered = (centre - less * (weights + change)) / weights
        length = _length(less, lowered)
        weights = weights + _length(weights, change) * change
        less, most = less + length * lowered, most + length * rise
        weights = weights / weights.sum()
        r = np.maximum(weights @ drawn, TINY)
        told = fixed - drawn @ np.log(r)
    return r / r.sum(), float(weights @ told)


def _length(values: Floats, steps: Floats) -> float:
    """How much of a step leaves positive values positive."""
    falls = steps < 0
    return min(1.0, SHORT * float((values[falls] / -steps[falls]).min(initial=math.inf)))


def _rounding(fixed: Floats, drawn: Floats, r: Floats) -> float:
    """What rounding may change of what joints say by the logarithms of r: no bound is told apart below it."""
    return 2.0**-50 * float((np.abs(fixed) + drawn @ np.abs(np.log(r))).max())


def secants(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Slopes and feet of lines above t ln t between two ends each, in floats."""
    bottom, top = _curve(low), _curve(high)
    width = high - low
    apart = width > 1e-14 * high
    slopes = np.where(
        apart, (top - bottom) / np.where(apart, width, 1.0), 1.0 + np.log(np.maximum(high, TINY))
    )
    slopes = np.where(high > 0, slopes, 0.0)
    return slopes, np.maximum(bottom - slopes * low, top - slopes * high)


def _curve(t: Floats) -> Floats:
    return np.where(t > 0, t * np.log(np.maximum(t, TINY)), 0.0)


def kept_share(reader: SetReader, matrix: Floats, constant: Floats, limit: float) -> float:
    """The largest share of a channel, mixed with a constant one, whose bound is at most a limit: divergences are convex.

    Examples
    --------
    >>> from privopt.models import JointDistribution
    >>> near = JointAmbiguity.total_variation(JointDistribution([[0.3, 0.2], [0.1, 0.4]]), Fraction(1, 10))
    >>> kept_share(SetReader.of(near), np.eye(2), np.full((2, 2), 0.5), 1.0)
    1.0
    """

    def told(share: float) -> float:
        return read(reader, share * matrix + (1 - share) * constant).bound

    if limit <= 0:
        return 0.0
    low, high = (0.0, 0.0), (1.0, told(1.0))
    if high[1] <= limit:
        return 1.0
    before = low
    for tried in range(SHARES):
        share = _met(low, high, limit)  # the chord of a convex function is above it: the limit is kept there
        if tried % 2 and low > before and share < (beyond := _met(before, low, limit)) < high[0]:
            share = beyond
        value = told(share)
        if value > limit:
            high = share, value
        elif share > low[0]:
            before, low = low, (share, value)
        if high[0] - low[0] <= NARROW or low[1] >= (1 - CLOSE) * limit or share < low[0]:
            break
    return low[0]


def _met(one: tuple[float, float], other: tuple[float, float], limit: float) -> float:
    """Where the line through two points (share, value) meets a limit."""
    rise = other[1] - one[1]
    return one[0] + (limit - one[1]) / rise * (other[0] - one[0]) if rise > 0 else one[0]


def seconds_over_set(secrets: int, pairs: int) -> float:
    """About how long a certificate over a set takes, by the values of the secret and the pairs of what is observed and released.

    Examples
    --------
    >>> round(seconds_over_set(2, 965 * 965), 1), seconds_over_set(2, 400) < 0.01
    (4.3, True)
    """
    return 3.5e-6 * (1 + secrets / 6) * pairs


def most_information_over(ambiguity: JointAmbiguity, reader: SetReader, release: Release) -> Enclosure:
    """Floats around the largest I(S;Y) of a release over a set of joints, in nats: that at one of them, and a proved bound."""
    rows = release_rows(release, range(len(release.inputs)))
    if all(row.fraction(y) == rows[0].fraction(y) for row in rows for y in range(len(row.weights))):
        return 0.0, 0.0
    used: Bools = np.asarray((release.matrix > 0).any(axis=0))
    told = read(reader, release.matrix)
    exact = _balls(rows, release.matrix[:, used] > 0, np.flatnonzero(used))
    values = (exact @ (Balls.exact(told.slopes) - told.logs).T).upper
    feet, beyond = _proved_feet(ambiguity, release, told.slopes, used), _excess(told.logs)
    members = [_greatest(row, values[:, s].tolist()) for s, row in enumerate(ambiguity.rows)]
    of_s = [value + foot for (value, _), foot in zip(members, feet, strict=True)]
    possible = reader.possible.tolist()
    most, prior = _greatest(
        ambiguity.prior, [v if p else Fraction(0) for v, p in zip(of_s, possible, strict=True)]
    )
    high = enclose(max(Fraction(0), most) + beyond)[1]
    nominal = information_enclosure(leaking_joint(observation(ambiguity.nominal), release))[0]
    worst = _at(prior, [row for _, row in members], release)[0]
    return min(high, max(nominal, worst)), high


def _balls(rows: Sequence[IntegerRow], positive: Bools, outputs: Ints) -> Balls:
    """Balls around the probabilities of some outputs in rows of integers; most may be 0, which are left out."""
    places = np.argwhere(positive)
    known = Balls.fractions([rows[x].fraction(int(outputs[y])) for x, y in places.tolist()])
    mid, rad = np.zeros(positive.shape), np.zeros(positive.shape)
    mid[positive], rad[positive] = known.mid, known.rad
    return Balls(mid, rad)


def _proved_feet(ambiguity: JointAmbiguity, release: Release, slopes: Floats, used: Bools) -> list[Fraction]:
    """For each s the sum of the feet of the lines of given slopes above t ln t, at least."""
    low, high = row_ends(ambiguity, release)

    def foot(end: Floats) -> Balls:
        return Balls.exact(end) * Balls.exact(np.where(end > 0, end, 1.0)).log() - Balls.exact(slopes) * end

    feet = foot(low[:, used]).maximum(foot(high[:, used])).upper
    return [sum(map(Fraction, line), Fraction(0)) for line in feet.tolist()]


def _excess(logs: Floats) -> Fraction:
    """At least ln sum e^logs, or 0: what is missing where r sums to more than 1."""
    total = Balls.exact(logs).exp().sum().upper
    return max(Fraction(0), Fraction(float(Balls.exact(total).log().upper)))


def _greatest(row: RowSet, values: Sequence[float | Fraction]) -> tuple[Fraction, tuple[int, ...]]:
    """At least the largest expectation over a set, and a distribution of it, in proportion, at which it is reached."""
    ratios = [Fraction(v) for v in values]
    below = math.lcm(*(v.denominator for v in ratios))
    least = min(ratios)
    whole = [int((v - least) * below) for v in ratios]
    return Fraction(row.largest(whole)[1], row.denominator * below) + least, row.farthest(whole)


def _at(prior: Sequence[int], rows: Sequence[Sequence[int]], release: Release) -> Enclosure:
    """Floats around I(S;Y) at one joint, given by its P(s) and its rows in proportion."""
    channel = release_rows(release, range(len(release.inputs)))
    common = math.lcm(*(row.total for row in channel))
    weights = [[w * (common // row.total) for w in row.weights] for row in channel]
    totals = [sum(row) for row in rows]
    shared = math.lcm(*totals)
    cells = []
    for p, row, total in zip(prior, rows, totals, strict=True):
        factor = p * (shared // total)
        columns = zip(*weights, strict=True)
        cells.append(
            tuple(factor * sum(q * w for q, w in zip(row, column, strict=True)) for column in columns)
        )
    return information_enclosure(ExactJoint(tuple(cells), sum(map(sum, cells))))

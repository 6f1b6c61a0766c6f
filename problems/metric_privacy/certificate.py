"""A channel judged pair by pair: logarithms in fixed point with directed rounding, exact ratios where these do not decide."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from privopt.arrays import Bools, Floats, Ints
from privopt.core.balls import Balls
from privopt.core.exact import MAX_BITS, IntegerRow, exp_at_least, log_enclosure
from privopt.core.problem import FEASIBILITY, Enclosure, Evaluation
from privopt.core.words import per
from privopt.files.labels import Label
from privopt.files.text import number
from privopt.mechanisms import Channel
from privopt.models.pairs import Pairs
from privopt.problems.exact_joint import enclose
from privopt.problems.metric_privacy.data import MetricData

UNIT = 2**50
"""Parts of a nat in which logarithms are counted."""

NEVER = -(2**62)
"""Stands for the logarithm of 0."""

UNKNOWN = -3 * 2**60, -690 * UNIT
"""Around the logarithm of a share that was perhaps rounded from anything below 1e-300: never decided by these."""

CELLS = 2**20
"""Ratios that are compared at a time."""

EXACT_CELLS = 100_000
"""Channels with more cells have their expected loss enclosed in balls instead of rationals."""

FINALISTS = 16
"""Pairs whose ratio is enclosed exactly for the leakage that is stated."""

NOTHING = -1e300
"""Stands for the logarithm of 0 in floats."""

FARTHEST = 1e290
"""The largest distance that is named."""

PARTS = 160
"""Bits after the point to which e^(epsilon distance) is enclosed once for all releases of a distance."""

LARGEST_EXPONENT = 600.0
"""Beyond it e^x is written as a power, not as a number."""


def evaluate(data: MetricData, channel: Channel) -> Evaluation:
    """Utility, leakage per unit of distance and the worst pair of points, in float64."""
    matrix = channel.matrix
    spent = (data.p[:, None] * matrix * data.losses).ravel()
    utility = (
        -math.fsum(spent.tolist()) if spent.size <= EXACT_CELLS else -float(spent.sum(dtype=np.longdouble))
    )
    with np.errstate(divide="ignore"):
        logs = np.maximum(np.log(matrix), NOTHING)
    leakage, at = 0.0, (-1, -1, -1)
    for part in data.pairs.blocks(max(1, CELLS // matrix.shape[1])):
        apart = np.abs(logs[part.first] - logs[part.second])
        largest = apart.max(axis=1)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            rates = np.where(largest > 0, largest / part.distance, 0.0)
        k = int(np.argmax(rates))
        if rates[k] > leakage:
            leakage = float(rates[k]) if largest[k] < -NOTHING / 2 else math.inf
            at = int(part.first[k]), int(part.second[k]), int(np.argmax(apart[k]))
        if leakage == math.inf:
            break
    violation = 0.0 if leakage <= data.epsilon else leakage - data.epsilon
    if data.epsilon == math.inf and leakage == math.inf:  # points at distance 0 need equal rows at any budget
        violation = 0.0 if _equal_at_zero(data, matrix) else math.inf
    feasible = violation <= FEASIBILITY * max(1.0, min(data.epsilon, 1e6))
    names, where = named(data, at)
    return Evaluation(
        utility, leakage, utility, feasible, violation, names, where, leakage_unit=per(data.metric.unit)
    )


def _equal_at_zero(data: MetricData, matrix: Floats) -> bool:
    same = data.pairs.distance == 0
    return bool((matrix[data.pairs.first[same]] == matrix[data.pairs.second[same]]).all())


def named(data: MetricData, at: tuple[int, int, int]) -> tuple[tuple[Label, ...], str]:
    """The worst pair of points, and the release at which it is so, in words."""
    if at[0] < 0:
        return (), ""
    names = data.metric.labels[at[0]], data.metric.labels[at[1]]
    return names, f"the release {data.released[at[2]]!r} sets them apart most for their distance"


@dataclass(frozen=True)
class Verdict:
    """What integers say of a channel."""

    ok: bool
    reason: str
    leakage: Enclosure
    worst: tuple[Label, ...]
    where: str


@dataclass(frozen=True)
class ExactChannel:
    """A channel in integers, with logarithms of its probabilities between two integers, in 2^-50 nats."""

    data: MetricData
    channel: Channel

    @cached_property
    def rows(self) -> tuple[IntegerRow, ...]:
        """The weights of every point."""
        return self.channel.exact()

    @cached_property
    def logs(self) -> tuple[Ints, Ints]:
        """Integers below and above ln P(y | x), each of shape (n, m)."""
        return fixed_logs(self.rows)

    def ratio(self, x: int, other: int, y: int) -> tuple[int, int]:
        """P(y | x) / P(y | other), as numerator and denominator."""
        a, b = self.rows[x], self.rows[other]
        return a.weights[y] * b.total, b.weights[y] * a.total

    def nats(self, distance: float) -> float | Fraction:
        """What is promised at a distance, exactly."""
        if distance == 0:
            return Fraction(0)
        return math.inf if self.data.epsilon == math.inf else Fraction(self.data.epsilon) * Fraction(distance)

    def keeps(self, x: int, other: int, y: int, distance: float) -> bool | None:
        """Whether a pair keeps the promise at a release, both ways; None where it is not decided."""
        up, down = self.ratio(x, other, y)
        up, down = max(up, down), min(up, down)
        between = self.powers(distance)
        if between is not None and (up << PARTS) <= between[0] * down:
            return True
        if between is not None and (up << PARTS) > between[1] * down:
            return False
        return exp_at_least(self.nats(distance), up, down)

    def powers(self, distance: float) -> tuple[int, int] | None:
        """Integers around e^(epsilon distance), in parts of 2^-160; None where it is too large for that."""
        if distance not in self._powers:
            self._powers[distance] = _power(self.nats(distance))
        return self._powers[distance]

    @cached_property
    def _powers(self) -> dict[float, tuple[int, int] | None]:
        return {}

    def same(self, x: int, other: int) -> bool:
        """Whether two rows are one distribution."""
        a, b = self.rows[x], self.rows[other]
        if a.total == b.total:
            return a.weights == b.weights
        return all(p * b.total == q * a.total for p, q in zip(a.weights, b.weights, strict=True))

    def rate(self, x: int, other: int, y: int, distance: float) -> Enclosure:
        """Floats around |ln P(y | x) / P(y | other)| per unit of distance."""
        up, down = self.ratio(x, other, y)
        up, down = max(up, down), min(up, down)
        if up == down:
            return 0.0, 0.0
        if distance == 0 or down == 0:
            return math.inf, math.inf
        low, high = log_enclosure(up, down)
        return (
            max(0.0, math.nextafter(low / distance, -math.inf)),
            math.nextafter(high / distance, math.inf),
        )


def _power(nats: float | Fraction) -> tuple[int, int] | None:
    """Integers around e^nats, in parts of 2^-160."""
    from flint import arb, ctx, fmpq

    if nats > LARGEST_EXPONENT:
        return None
    with ctx.workprec(2 * PARTS + math.ceil(2 * LARGEST_EXPONENT)):
        parts = arb(fmpq(*Fraction(nats).as_integer_ratio())).exp() * arb(2) ** PARTS
        low, high = parts.lower().floor().unique_fmpz(), parts.upper().ceil().unique_fmpz()
    return None if low is None or high is None else (int(low), int(high))


def fixed_logs(rows: tuple[IntegerRow, ...]) -> tuple[Ints, Ints]:
    """Integers below and above the logarithms of probabilities, in units of 2^-50 nats; -2^62 for 0.

    Examples
    --------
    >>> low, high = fixed_logs((IntegerRow((0, 1, 3), 4),))
    >>> bool(low[0, 0] == high[0, 0] == NEVER), bool(low[0, 1] < math.log(1 / 4) * UNIT < high[0, 1])
    (True, True)
    """
    shares = np.array([[weight / row.total for weight in row.weights] for row in rows])
    there = np.array([[weight > 0 for weight in row.weights] for row in rows])
    distinct, back = np.unique(shares, return_inverse=True)
    ends = np.array(_fixed_logs(distinct.tolist()), dtype=np.int64)[back.reshape(shares.shape)]
    low, high = ends[..., 0], ends[..., 1]
    return np.where(there, low, NEVER), np.where(there, high, NEVER)


def _fixed_logs(shares: list[float]) -> list[tuple[int, int]]:
    """Around the logarithms of shares that were rounded once."""
    from flint import arb, ctx

    ends = []
    with ctx.workprec(96):
        for share in shares:
            if share < 1e-300:
                ends.append(UNKNOWN)
                continue
            below = (arb(share).log() * UNIT).floor().unique_fmpz()
            if below is None:
                near = math.floor(math.log(share) * UNIT)
                ends.append((near - 2**12, near + 2**12))
            else:
                ends.append((int(below) - 1, int(below) + 2))
    return ends


def certify(exact: ExactChannel) -> Verdict:
    """Prove or refute the promise for every pair."""
    data = exact.data
    scan = _Scan(exact)
    outputs = len(data.released)
    for part in data.pairs.blocks(max(1, CELLS // outputs)):
        scan.read(part)
    count = 2 * len(data.pairs) * outputs
    apart = (
        f"; there are {data.component_count} components of points, and nothing is promised across them"
        if data.component_count > 1
        else ""
    )
    if scan.broken:
        reason = (
            f"{scan.pairs} of {len(data.pairs)} promised pairs are broken, at {scan.broken} of {count // 2} comparisons of two "
            f"points at a release{apart}"
        )
    elif scan.undecided:
        reason = f"undecided at {MAX_BITS} bits for {scan.undecided} comparisons, which is not a pass"
    else:
        reason = f"every one of {count} ratios keeps e^(epsilon distance){apart}"
    leakage, at = scan.leakage()
    names, where = named(data, at)
    return Verdict(not scan.broken and not scan.undecided, reason, leakage, names, where)


class _Scan:
    """Pairs read block by block: what breaks the promise, and which pairs leak most."""

    def __init__(self, exact: ExactChannel) -> None:
        self.exact = exact
        self.pairs = 0
        self.broken = 0
        self.undecided = 0
        self.tops: list[tuple[float, int, int, int, float]] = []
        self.infinite: tuple[int, int, int] | None = None
        self.rest = 0.0

    def read(self, part: Pairs) -> None:
        """Compare the pairs of a block at every release."""
        low, high = self.exact.logs
        epsilon = self.exact.data.epsilon
        first, second = part.first, part.second
        apart = np.maximum(high[first] - low[second], high[second] - low[first])
        apart[(high[first] == NEVER) & (high[second] == NEVER)] = 0
        with np.errstate(invalid="ignore", over="ignore"):
            nats = np.where(part.distance == 0, 0.0, epsilon * part.distance * (1 - 2.0**-51))
            room = np.floor(np.minimum(nats * UNIT, 2.0**61)).astype(np.int64)
        if epsilon == math.inf:
            room[part.distance > 0] = np.iinfo(np.int64).max
        widest = apart.max(axis=1)
        for k in np.flatnonzero(widest > room).tolist():
            self._decide(int(first[k]), int(second[k]), float(part.distance[k]), apart[k] > room[k])
        self._rank(part, apart, widest)

    def _decide(self, x: int, other: int, distance: float, unsure: Bools) -> None:
        """Compare exactly where the logarithms do not decide."""
        if self.exact.nats(distance) == 0 and self.exact.same(x, other):
            return
        verdicts = [self.exact.keeps(x, other, y, distance) for y in np.flatnonzero(unsure).tolist()]
        self.pairs += False in verdicts
        self.broken += verdicts.count(False)
        self.undecided += verdicts.count(None)

    def _rank(self, part: Pairs, apart: Ints, widest: Ints) -> None:
        """Keep the pairs that may leak most for their distance."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            rates = np.where(widest <= 3, 0.0, widest / part.distance) * ((1 + 2.0**-50) / UNIT)
        for k in np.flatnonzero(part.distance == 0).tolist():
            x, other = int(part.first[k]), int(part.second[k])
            rates[k] = 0.0
            if not self.exact.same(x, other):
                self.infinite = x, other, int(np.argmax(apart[k]))
        kept = np.argsort(-rates, kind="stable")[: FINALISTS + 1].tolist()
        block = [
            (
                float(rates[k]),
                int(part.first[k]),
                int(part.second[k]),
                int(np.argmax(apart[k])),
                float(part.distance[k]),
            )
            for k in kept
        ]
        both = sorted(self.tops + block, key=lambda top: -top[0])
        self.tops, beyond = both[:FINALISTS], both[FINALISTS:]
        self.rest = max([self.rest, *(top[0] for top in beyond)])

    def leakage(self) -> tuple[Enclosure, tuple[int, int, int]]:
        """Floats around the leakage per unit of distance, and the pair and release that reach it."""
        if self.infinite is not None:
            return (math.inf, math.inf), self.infinite
        ends = (0.0, 0.0)
        at = (-1, -1, -1)
        for _, x, other, y, distance in self.tops:
            low, high = self.exact.rate(x, other, y, distance)
            if low > ends[0]:
                at = x, other, y
            ends = max(ends[0], low), max(ends[1], high)
        return (ends[0], max(ends[1], self.rest if self.rest > ends[0] else 0.0)), at


def leaks_most(exact: ExactChannel, worst: tuple[object, ...]) -> bool:
    """Whether a pair of points is one that leaks most for its distance, as far as enclosures tell."""
    data = exact.data
    verdict = certify(exact)
    if not worst:
        return not verdict.worst
    if len(worst) != 2 or any(name not in data.metric.labels for name in worst):
        return False
    x, other = sorted(data.metric.labels.index(name) for name in worst)
    pairs = data.pairs
    at = np.flatnonzero((pairs.first == x) & (pairs.second == other))
    if not at.size:
        return False
    distance = float(pairs.distance[at[0]])
    rates = [exact.rate(x, other, y, distance)[1] for y in range(len(data.released))]
    return max(rates) >= verdict.leakage[0]


def utility_enclosure(exact: ExactChannel) -> Enclosure:
    """Floats around minus the expected loss: of its exact value, for large channels a little wider."""
    data = exact.data
    losses = data.losses
    if losses.size > EXACT_CELLS:
        shares = np.array([[w / row.total for w in row.weights] for row in exact.rows])
        cells = Balls(shares, np.where(shares == 0, 0.0, shares * 2.0**-52 + 2.0**-1074))
        spent = (cells * losses).sum(axis=1) * Balls(data.p, data.p * 2.0**-52 + 2.0**-1074)
        low, high = spent.sum().ends
        return -high + 0.0, -low + 0.0
    mean = Fraction(0)
    for chance, row, costs in zip(data.exact_prior.weights, exact.rows, losses.tolist(), strict=True):
        ratios = [cost.as_integer_ratio() for cost in costs]
        common = max(below for _, below in ratios)  # denominators of floats are powers of two
        part = sum(
            above * (common // below) * w for (above, below), w in zip(ratios, row.weights, strict=True) if w
        )
        mean += Fraction(part * chance, common * row.total)
    lo, hi = enclose(mean / data.exact_prior.total)
    return -hi + 0.0, -lo + 0.0


def promise(data: MetricData) -> str:
    """The promise in the unit of the distance, at a distance that is easy to picture.

    Examples
    --------
    >>> from privopt.models.metric import Metric
    >>> points = Metric.euclidean([0.0, 0.1, 3.0], unit="km")
    >>> promise(MetricData(points, [0.5, 0.25, 0.25], "distance", 2.0))
    'between two points within 200 m no release is more than 1.492 times as likely from one as from the other'
    """
    epsilon, unit = data.epsilon, data.metric.unit
    if epsilon == math.inf:
        return "a release may show which of any two points is the true one: the budget is infinite"
    if epsilon == 0:
        far = "" if data.radius is None else f" within {length(data.radius, unit)}"
        return f"between two points{far} no release is more likely from one than from the other"
    apart = pictured(data)
    if epsilon * apart > LARGEST_EXPONENT:
        exponent = math.ceil(epsilon * apart * 1000) / 1000
        return (
            f"between two points within {length(apart, unit)} no release is more than e^{exponent:.12g} times as likely from one "
            "as from the other"
        )
    factor = math.ceil(math.exp(epsilon * apart) * 1000 * (1 + 1e-12)) / 1000
    return (
        f"between two points within {length(apart, unit)} no release is more than {number(factor, 6)} times as likely from one as "
        "from the other"
    )


def pictured(data: MetricData) -> float:
    """A distance of 1, 2 or 5 times a power of ten at which the promise is a factor of about 1.2 to 1.5.

    It is longer where no two points are so near, and at most the radius.

    Examples
    --------
    >>> from privopt.models.metric import Metric
    >>> pictured(MetricData(Metric.line(3), [0.5, 0.25, 0.25], "distance", 4.0))
    1.0
    """
    apart = _round_length(min(0.41 / data.epsilon, FARTHEST)) if data.epsilon > 0 else 1.0
    distances = data.pairs.distance
    least = float(distances.min()) if len(distances) else 0.0
    while apart < least:
        apart = _round_length(2.6 * apart)
    return apart if data.radius is None else min(apart, data.radius)


def _round_length(size: float) -> float:
    """The largest of 1, 2 and 5 times a power of ten that is not more."""
    power = 10.0 ** math.floor(math.log10(size)) if 1e-290 < size < 1e290 else size
    return max((step * power for step in (1, 2, 5) if step * power <= size), default=power)


def length(size: float, unit: str) -> str:
    """A length with its unit; parts of a kilometre in metres.

    Examples
    --------
    >>> length(0.2, "km"), length(3.0, "")
    ('200 m', '3')
    """
    if unit == "km" and size < 1:
        return f"{number(size * 1000, 6)} m"
    return f"{number(size, 6)} {unit}".rstrip()

"""The leakage of noise on a count, a sum or a mean of a chain that forgets, of any length: by known records near the target.

Let an adversary know a record at distance d of the target, and none nearer on that side, or none of d records there are at
all. For any m < d, what that side adds to the sum is a mixture over the value u of the unknown record at distance m. The
weights are proportional to P^m(x, u) c(u) on the right and to P^m(u, x) c(u) on the left, where c does not depend on the
target's value x: between those of two values the ratios lie within a factor e^h of each other, where h is the projective
diameter of P^m,

    h = max ln (P^m(x, u) P^m(x', u')) / (P^m(x', u) P^m(x, u')).

For one u the densities of the answer at two values of the target differ by no more than what is leaked to an adversary who
knows that record, and the same of the other side; what lies beyond only blurs. Given the target, the densities at two values
of u differ by a factor of at most e^s, where s is the leakage to the worst adversary of all: one who knows the target and asks for
the record at distance m. Two mixtures of such densities by such weights differ by a factor of at most e^f,
f = 4 artanh(tanh(h / 4) tanh(s / 4)): the densities are best taken at the ends of their range, and then two odds count that
differ by e^h. So the adversary is told at most f more than the worst of those who know the record at distance m.

The diameter falls geometrically in m (Birkhoff), and the worst adversary often knows records next to the target: a box of
distances will do in which the leakage exceeds what its border leaks and f together. Where there is none before f is lost in
the last digits, f is added.

Floats find the pairs of sides that may be the worst, :mod:`privopt.problems.bayesian_privacy.pairs`; those are enclosed in balls.
What leaks less at a larger level than another pair at this one is not looked at: the leakage of noise never falls in its level.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np

from privopt.arrays import Bools, Floats
from privopt.core.exact import ball_ceiling, ball_floor
from privopt.measures.bayesian.tables import EXACT_SMALL
from privopt.measures.bound import Bound
from privopt.models import MarkovChain
from privopt.problems.bayesian_privacy.enumeration import enclosed
from privopt.problems.bayesian_privacy.lattice import Lattice
from privopt.problems.bayesian_privacy.pairs import FREE, UNIT, Clock, Pairs, Sides
from privopt.problems.bayesian_privacy.sides import Side, grown, integer_step

MOST_ENTRIES = 100_000_000
"""Probabilities of all pairs of sides, values of the target and answers in the largest box; a second where all are looked at, which is rare."""

ENTRY_SECONDS, LEAST_SECONDS = 1.2e-8, 2e-3
"""Seconds of one of them, and of a reading at least."""

MOST_STATES = 50
"""States of a chain."""

FIRST, GROWTH = 8, 1.25
"""Records of each side in the first box, at most, and times so many in the next."""

FIRST_ENTRIES = 5_000_000
"""Probabilities in the first box, at most."""

TIGHT = 2.0**-27
"""What may be added to the leakage, relatively."""

VANISHED = 2.0**-36
"""A projective diameter that is not followed further."""

LEAST_BUDGET = 1e-7
"""Nats below which floats tell a leakage too coarsely."""

LOOSE = 1e-2
"""So much may be left of it in the largest box."""

VAGUE = 1e-3
"""Leakages that err by more than this share of themselves tell nothing: the bound of any mechanism does."""

APART = 0.1
"""A box ends a reading by a budget where what is beyond is this share of how far away that is: searches go by it."""

USUAL = 0.02
"""The projective diameter at the border of the box that a reading is taken to need."""

FARTHEST = 8.0
"""Nats beyond which a projective distance, or a leakage, counts as infinite beside the other."""

_ROUNDED = 2.0**-40  # artanh has a relative error of some units, its argument is below 0.95
_ROUNDS = 3  # by which the largest leakage of all is drawn nearer
_FEW = 64  # pairs that are looked at first
_EXACT = 24  # that are enclosed in balls at most, and one where floats do not do
_KEPT = 8  # levels whose readings are kept
_BITS = 128


@dataclass(frozen=True, eq=False)
class _Reading:
    """What a level leaks to pairs of sides in a box, and to others.

    Parameters
    ----------
    leakages : array (left, right)
        At least the leakage to each pair, up to the error; -inf for pairs there are none of.
    largest : float
        The largest of them.
    beyond : float
        An upper bound on the leakage to those beyond the box, up to the error; -inf where there are none, inf where floats do not do.
    error : float
    records : int
        Unknown records of each side in the box are fewer.
    away : float
        What was added for those beyond it.
    last : bool
        Whether no larger box is of use.
    """

    leakages: Floats
    largest: float
    beyond: float
    error: float
    records: int
    away: float
    last: bool

    @property
    def high(self) -> float:
        """An upper bound on the leakage to all."""
        return max(self.largest, self.beyond) + self.error

    def settled(self, budget: float) -> bool:
        """Whether no larger box is needed for the leakage, or for whether it keeps a budget and by about how much."""
        open_still = max(self.beyond - self.largest, 0.0)
        if self.high <= budget or self.largest - self.error > budget:
            return self.last or open_still <= APART * abs(budget - self.largest)
        return self.last


@dataclass(frozen=True, eq=False)
class Forgetting:
    """Noise on a count, a sum or a mean of a chain whose records forget each other.

    Parameters
    ----------
    chain : MarkovChain
        With one step for all times.
    lattice : Lattice
    length : int or None
        Records; None for any number of them.
    most : int
        Unknown records of a side, in the largest box, are fewer.

    Examples
    --------
    >>> swing = MarkovChain([[0.2, 0.8], [0.8, 0.2]])
    >>> noisy = Forgetting(swing, Lattice((0, 1), Fraction(1), Fraction(0)), None, 60)
    >>> noisy.read(1.0).value, noisy.enclose(1.0)[0] <= 1.0
    (1.0..., True)
    """

    chain: MarkovChain
    lattice: Lattice
    length: int | None
    most: int
    _judged: dict[float, _Reading] = field(default_factory=dict, init=False, repr=False)
    _memo: dict[float, _Reading] = field(default_factory=dict, init=False, repr=False)

    method: ClassVar[str] = "known records nearby in balls, those far away by how little the chain remembers"
    """How an enclosure is proved."""

    @property
    def seconds(self) -> float:
        """Predicted seconds of a reading."""
        known = diameters(self.chain, self.most)
        records = next((i + 1 for i, h in enumerate(known) if h <= USUAL), self.most)
        box = min(max(records, self._first), self.most)
        return LEAST_SECONDS + ENTRY_SECONDS * entries(self.chain.k, self.lattice, box)

    def read(self, tau: float, budget: float = math.nan, clock: Clock | None = None) -> Bound:
        """The leakage of noise of a level, in floats, or a bound on it by which it keeps a budget or does not.

        It is not exact where adversaries farther away may leak more.

        Raises
        ------
        TimeoutError
            If no seconds are left by the clock.
        """
        reading = self._reading(tau, budget, clock)
        value = max(reading.largest, reading.beyond) + 2.0 * float(self.lattice.stray) * tau
        exact = reading.beyond <= reading.largest * (1.0 + TIGHT)
        return Bound(value, exact, EXACT_SMALL, "targets_in_interval")

    def enclose(self, tau: float, budget: float = math.nan) -> tuple[float, float]:
        """Floats around that leakage, proved, or on one side of a budget; the upper one is inf where floats do not do."""
        from flint import arb, ctx, fmpq

        reading = self._reading(tau, budget)
        near = np.argwhere(reading.leakages >= reading.largest - 2.0 * reading.error)
        few = _EXACT if reading.beyond < math.inf else 1
        cases = tuple((self._exact(0, i), self._exact(1, j)) for i, j in near[:few].tolist())
        share, stray = (fmpq(x.numerator, x.denominator) for x in (self.lattice.share, self.lattice.stray))
        others = reading.beyond if len(near) <= few else max(reading.beyond, reading.largest)
        with ctx.workprec(_BITS):
            leakage, moved = enclosed(cases, self.lattice.steps, arb(tau) * share), 2 * arb(tau) * stray
            if not leakage.is_finite():
                return 0.0, math.inf
            high = ball_ceiling(leakage + moved)
            if others == math.inf:
                high = math.inf
            elif others > -math.inf:
                high = max(high, ball_ceiling(arb(others) + arb(reading.error) + moved))
            return max(ball_floor(leakage - moved), 0.0) + 0.0, high

    @property
    def share_leaked(self) -> Fraction:
        """A share of its level that noise of every level leaks: to someone who knows all records but one."""
        step, initial, k = self._step, self.chain.exact_initial.weights, self.chain.k
        places = [[w * row[z] for w, row in zip(initial, step, strict=True)] for z in range(k)]
        if self.length is None or self.length > 2:
            places += [[step[a][x] * step[x][b] for x in range(k)] for a in range(k) for b in range(k)]
        widest = 0
        for weights in places:
            values = [s for s, w in zip(self.lattice.steps, weights, strict=True) if w]
            widest = max(widest, max(values) - min(values)) if values else widest
        return max(Fraction(0), widest * self.lattice.share - 2 * self.lattice.stray)

    @property
    def _first(self) -> int:
        """Records of each side in the first box."""
        return min(self.most, FIRST, max(2, _within(FIRST_ENTRIES, self.chain.k, self.lattice)))

    @cached_property
    def _step(self) -> list[list[int]]:
        return integer_step(self.chain, 0)

    @cached_property
    def _pairs(self) -> Pairs:
        p = np.array([row.floats() for row in self.chain.exact_step(0)])
        first = np.array(self.chain.exact_initial.floats())
        steps = self.lattice.steps
        return Pairs(Sides(p.T, first, steps, self.most), Sides(p, np.ones(len(p)), steps, self.most))

    @cached_property
    def _grown(self) -> dict[tuple[int, int], tuple[list[Side], Iterator[Side]]]:
        """Exact sides so far, and further ones, by the side and what is known."""
        back = [list(column) for column in zip(*self._step, strict=True)]
        free = list(self.chain.exact_initial.weights)
        found: dict[tuple[int, int], tuple[list[Side], Iterator[Side]]] = {}
        for side, step, ends in ((0, back, free), (1, self._step, [1] * len(back))):
            for start in range(len(back) + FREE):
                weights = [row[start - FREE] for row in step] if start else ends
                found[side, start] = [], grown(step, weights, start > 0, self.lattice.steps)
        return found

    def _exact(self, side: int, place: int) -> Side:
        """A side with exact weights."""
        records, start = divmod(place, self._pairs.kinds)
        listed, further = self._grown[side, start]
        while len(listed) <= records:
            listed.append(next(further))
        return listed[records]

    def _reading(self, tau: float, budget: float, clock: Clock | None = None) -> _Reading:
        """What a level leaks, by boxes of sides with more and more unknown records, until it is known or on which side of a budget it is.

        Without a budget it does not hang on what was read before.
        """
        fresh = math.isnan(budget)
        known = self._judged if fresh else self._memo
        reading = known.pop(tau) if tau in known else self._begun(tau, fresh, clock)
        while not reading.settled(budget):
            reading = self._further(tau, fresh, reading, clock)
        if len(known) == _KEPT:
            del known[next(iter(known))]
        known[tau] = reading
        return reading

    def _begun(self, tau: float, fresh: bool, clock: Clock | None) -> _Reading:
        """The reading of the first box."""
        records = self._first
        above = [] if fresh else [r.high for level, r in self._memo.items() if level > tau]
        allowed = self._allowed(records)
        return self._boxed(
            tau,
            records,
            allowed if fresh else self._before(tau, allowed),
            min(above, default=math.inf),
            clock,
        )

    def _further(self, tau: float, fresh: bool, reading: _Reading, clock: Clock | None) -> _Reading:
        """The reading of the next box."""
        kinds = self._pairs.kinds
        records = min(self.most, math.ceil(GROWTH * reading.records))
        border = kinds * (reading.records - 1) + FREE
        above = np.minimum(
            self._allowed(records), _widened(reading.leakages, border, reading.away, records * kinds)
        )
        above = above if fresh else self._before(tau, above)
        return self._boxed(tau, records, above, reading.high, clock)

    def _boxed(
        self, tau: float, records: int, above: Floats, all_leak: float, clock: Clock | None
    ) -> _Reading:
        """The reading of a box, by upper bounds on its leakages and on all."""
        rate, kinds = float(self.lattice.share) * tau, self._pairs.kinds
        error = self._pairs.error(rate, records)
        leakages, read = self._looked_at(rate, above, error, clock)
        largest, border = float(leakages.max(initial=0.0)), kinds * (records - 1) + FREE
        error = error_of(error, largest)
        diameter, away, beyond = self._diameter(records), math.inf, math.inf
        for _ in range(_ROUNDS):
            away = blurred(diameter, all_leak)
            beyond = _beyond(leakages, border, away)
            all_leak = min(all_leak, max(largest, beyond) + error)
        blind = read < largest * (1.0 - TIGHT) or largest * VAGUE < error
        met = beyond <= max(largest - 2.0 * error, largest * (1.0 + TIGHT) - error)
        last = blind or met or records == self.most
        return _Reading(leakages, largest, math.inf if blind else beyond, error, records, away, last)

    def _diameter(self, records: int) -> float:
        """The projective diameter of the steps to the border of a box; -inf where nobody is beyond."""
        if self.length is not None and records >= self.length:
            return -math.inf
        known = diameters(self.chain, self.most)
        return known[min(records, len(known)) - 1]

    def _allowed(self, records: int) -> Floats:
        """What is known at first: inf for pairs of sides that some target has, -inf for others."""
        kinds = self._pairs.kinds
        places = np.arange(records * kinds)
        known = places % kinds >= FREE
        reach = places // kinds + known
        if self.length is None:
            return np.full((len(places), len(places)), math.inf)
        both, room = reach[:, None] + reach, self.length - 1
        fits = np.where(known[:, None] | known, both <= room, both == room)
        return np.where(fits, math.inf, -math.inf)

    def _before(self, tau: float, above: Floats) -> Floats:
        """Upper bounds on leakages by those of larger levels."""
        for level, reading in self._memo.items():
            if level > tau:
                known = min(len(above), len(reading.leakages))
                part = above[:known, :known]
                above = above.copy()
                above[:known, :known] = np.minimum(
                    part, reading.leakages[:known, :known] + 2.0 * reading.error
                )
        return above

    def _looked_at(
        self, rate: float, above: Floats, error: float, clock: Clock | None
    ) -> tuple[Floats, float]:
        """Upper bounds on leakages, each read that may be the largest, a few first that are high; and the largest one read."""
        values, unknown = above.copy(), np.ones(above.shape, dtype=np.bool_)
        finite, largest = np.isfinite(above), 0.0
        if finite.sum() > _FEW:
            least = np.partition(above[finite], -_FEW)[-_FEW]
            largest = self._told(rate, values, finite & (above >= least), unknown, clock)
        further = self._told(rate, values, above > largest - 2.0 * error_of(error, largest), unknown, clock)
        return values, max(largest, further)

    def _told(self, rate: float, values: Floats, wanted: Bools, unknown: Bools, clock: Clock | None) -> float:
        """Read the leakage to some pairs that are not known yet; the largest of those that floats tell, of others the bound stays."""
        wanted &= unknown
        unknown &= ~wanted
        found = self._pairs.leakages(rate, wanted, clock)[wanted]
        values[wanted] = np.minimum(values[wanted], found)
        return float(found[found < math.inf].max(initial=0.0))


def error_of(error: float, largest: float) -> float:
    """What leakages up to the largest may err by, with the roundings of logarithms and sums of that size; inf is none."""
    return error + 8.0 * UNIT * (largest if largest < math.inf else 0.0)


def blurred(diameter: float, leakage: float) -> float:
    """By how much the logarithms of two mixtures differ at most, rounded up: of densities within a factor e^leakage, by weights of a projective distance.

    Examples
    --------
    >>> round(blurred(1.0, 1.0), 6), blurred(0.5, math.inf), blurred(-math.inf, 1.0)
    (0.240229, 0.5, -inf)
    """
    if max(diameter, leakage) > FARTHEST or diameter < 0:
        return min(diameter, leakage)
    return 4.0 * math.atanh(math.tanh(diameter / 4.0) * math.tanh(leakage / 4.0)) * (1.0 + _ROUNDED)


def _beyond(leakages: Floats, border: int, away: float) -> float:
    """An upper bound on leakages beyond a box, by those of its border."""
    if math.isinf(away):
        return away
    one = max(leakages[border:].max(), leakages[:, border:].max()) + away
    return float(max(one, leakages[border:, border:].max() + 2.0 * away))


def _widened(leakages: Floats, border: int, away: float, size: int) -> Floats:
    """Upper bounds for a larger box, by the border of a smaller one."""
    known = len(leakages)
    above = np.full((size, size), math.inf)
    above[:known, :known] = leakages
    if away < math.inf:
        above[known:, :known] = leakages[border:].max(axis=0) + away
        above[:known, known:] = leakages[:, border:].max(axis=1)[:, None] + away
        above[known:, known:] = leakages[border:, border:].max() + 2.0 * away
    return above


def entries(k: int, lattice: Lattice, records: int) -> float:
    """About how many probabilities pairs of sides of fewer records have.

    Examples
    --------
    >>> entries(2, Lattice((0, 1), Fraction(1), Fraction(0)), 10)
    19800.0
    """
    return 1.1 * k * (k + FREE) ** 2 * records**3 * max(lattice.steps)


def _within(most: int, k: int, lattice: Lattice) -> int:
    """Records of each side in a box of so many probabilities."""
    return int((most / entries(k, lattice, 1)) ** (1 / 3))


@lru_cache(maxsize=64)
def diameters(chain: MarkovChain, most: int) -> tuple[float, ...]:
    """Projective diameters of the first powers of a step, rounded up, until one vanishes in the last digits.

    An entry of the m-th power is a sum of products of positive numbers, k + 2 roundings a step; a logarithm errs by two units
    of its size beside that. Four of them are added, and what they may err by is, twice.

    Examples
    --------
    >>> [round(h, 3) for h in diameters(MarkovChain([[0.8, 0.2], [0.3, 0.7]]), 3)]
    [2.234, 1.048, 0.519]
    """
    step = np.array([row.floats() for row in chain.exact_step(0)])
    found, power = list[float](), np.eye(len(step))
    while len(found) < most and not (found and found[-1] <= VANISHED):
        power = power @ step
        if not (power > 0).all():
            found.append(math.inf)
            continue
        logs = np.log(power)
        widest = max(float(np.ptp(logs - row, axis=1).max()) for row in logs)
        error = (len(found) + 1) * (len(step) + 2) + 2.0 * float(np.abs(logs).max())
        found.append(widest + 8.0 * UNIT * error)
    return tuple(found)


@lru_cache(maxsize=16)
def forgetting(chain: MarkovChain, lattice: Lattice, length: int | None) -> Forgetting | None:
    """The leakage of noise on a sum of a chain, or None where it forgets too slowly or does not stay the same."""
    if not chain.homogeneous or max(lattice.steps) == 0 or length == 1 or chain.k > MOST_STATES:
        return None
    if length is not None and not all(chain.exact_initial.weights):
        return None
    most = _within(MOST_ENTRIES, chain.k, lattice)
    if most < 2:
        return None
    away = diameters(chain, most)
    if away[-1] <= LOOSE:
        most = len(away)
    elif length is None or length > most or not all(map(any, zip(*integer_step(chain, 0), strict=True))):
        return None
    return Forgetting(chain, lattice, length, most if length is None else min(most, length))

"""A proven lower bound on the cost of local redaction in a binary chain with one private record.

Every mechanism costs at least one of finitely many candidates (which side releases which label early, from which
distances), and each candidate at least what tables of :mod:`privopt.problems.redaction.tables` say. Nothing here
relies on a solver.

A budget c is held as the two numbers e^-c and 1 - e^-c, each with all its digits. With the off-diagonal entries of
the product of the steps up to a distance, over its determinant, ``cross`` and ``back``, the state there is

    rho = (e^-c - (1 - e^-c) cross) / (1 + (1 - e^-c) back),

and the first release of label 0 shows the ratio ``1 + 1 / back``: no logarithm is taken, and of exponentials only that
of epsilon, by Arb. Rounding: inputs are within 4u of their size (u = 2^-53), so the state is off by less than
``32u e^-c / (1 + (1 - e^-c) back)`` and is lowered by that; costs are rounded down. Where numbers are compared to
leave a candidate out they are first moved the safe way, so that rounding can only let more of them in.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.problems.redaction.sequential_tables import Chances, SequentialTable, sequential_table
from privopt.problems.redaction.tables import LowerTable, lower_table
from privopt.problems.redaction.track import BITS, Clock, Far, Track, U, Walker, near

Dual = dict[str, float]
_PARTS = 200_000
_PART = (
    1 / 256
)  # of the share left open that splits are halved to, so that any way to halve them proves nearly the same
_FINEST = 1e-12  # no share of the search is smaller: it would follow roundings
_CELLS = 1 << 22  # of a matrix of costs in memory
_UNLIKELY = (
    8.0  # costs per chance are cut at as many windows: where little is left to happen more may be worth while
)
_HALF = 0.5
_LARGEST = 600.0
_TINY = 2.0**-1000  # more than what products can lose by underflow


@dataclass(frozen=True, eq=False)
class Budgets:
    """Budgets c as arrays of e^-c and 1 - e^-c, each within 4u of its size or moved the safe way."""

    rest: Floats
    gone: Floats

    @classmethod
    def at(cls, rest: Floats, gone: Floats) -> Budgets:
        """Budgets that are exactly the smaller of two numbers that nearly make 1."""
        small = gone < _HALF
        return cls(np.where(small, 1 - gone, rest), np.where(small, gone, 1 - rest))

    def middle(self, other: Budgets) -> Budgets:
        """Some budgets between these and larger ones."""
        gone, rest = (self.gone + other.gone) / 2, np.sqrt(self.rest * other.rest)
        return Budgets.at(np.minimum(rest, _HALF), gone)

    def of(self, mask: NDArray[np.bool_] | slice) -> Budgets:
        """Some of them."""
        return Budgets(self.rest[mask], self.gone[mask])


@dataclass(frozen=True)
class Whole:
    """epsilon, as budgets are held."""

    rest: float
    gone: float

    @classmethod
    def of(cls, epsilon: float) -> Whole:
        """Within two roundings."""
        from flint import arb, ctx

        with ctx.workprec(BITS):
            return cls(near((-arb(epsilon)).exp()), near(-(-arb(epsilon)).expm1()))

    @property
    def budget(self) -> Budgets:
        """Epsilon itself."""
        return Budgets(np.array([self.rest]), np.array([self.gone]))

    def without(self, ratio: Floats) -> Budgets:
        """At least epsilon - log(1 + 1 / ratio); ``gone`` is negative where that is."""
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            spent = self.rest / ratio
            rest = (self.rest + spent) * (1 - 8 * U)
            gone = self.gone - spent
            gone = gone + 8 * U * (self.gone + spent)
        return Budgets(
            np.where(gone < 0, 1.0, np.minimum(rest, 1.0)), np.where(np.isnan(gone), -math.inf, gone)
        )

    def others(self, mine: Budgets) -> Budgets:
        """At least epsilon minus some budgets, of which the part of this that is certain is taken."""
        with np.errstate(divide="ignore", over="ignore"):
            rest = np.minimum(self.rest / mine.rest * (1 - 8 * U), 1.0)
            gone = (self.gone - mine.gone + 8 * U * (self.gone + mine.gone)) / mine.rest * (1 + 8 * U)
        return Budgets(rest, np.clip(gone, 0.0, 1.0))


def start(far: Far, distance: int, budgets: Budgets) -> Floats:
    """At most the state at a distance when nothing nearer is released; see the module."""
    cross, back = float(far.cross[distance - 1]), float(far.back[distance - 1])
    with np.errstate(over="ignore", invalid="ignore"):
        size = 1 + budgets.gone * back
        state = (budgets.rest - budgets.gone * cross) / size
        state = state - 32 * U * (budgets.rest / size) - _TINY
    if cross == 0:  # the other label is ruled out for ever: no budget is enough
        return np.maximum(np.where(np.isnan(state), 0.0, state), 5e-324)
    return np.where(np.isnan(state), 0.0, state)


@dataclass(frozen=True, eq=False)
class _Reach:
    """What first releases of label 0 of one branch spend by distance, in bounds that do not increase.

    The least ``gone`` and the most ``rest`` that a budget has which allows one.
    """

    gone: Floats
    rest: Floats

    @classmethod
    def of(cls, back: Floats) -> _Reach:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            gone = 1 / (1 + back) * (1 - 8 * U)
            rest = np.where(np.isinf(back), 1.0, back / (1 + back)) * (1 + 8 * U) + _TINY
        return cls(np.minimum.accumulate(gone), np.maximum.accumulate(rest))

    def first(self, budgets: Budgets) -> NDArray[np.intp]:
        """Smallest distance at which each budget may allow a release."""
        by_gone = np.searchsorted(-self.gone, -budgets.gone)
        return np.maximum(by_gone, np.searchsorted(self.rest, budgets.rest)) + 1


@dataclass(frozen=True, eq=False)
class Arm:
    """One branch of one side: label 0 is released early. ``table`` is missing while none is needed."""

    track: Track
    far: Far
    reach: _Reach
    table: LowerTable | SequentialTable | None = None

    def cost(self, first: int, budgets: Budgets) -> Floats:
        """At most the side's cost by the budget in the direction that this branch controls."""
        assert self.table is not None
        states = start(self.far, first, budgets)
        return (float(self.far.spent[first - 1]) + self.table.at(self.track, first, states)) * (1 - 2 * U)


Arms = tuple[tuple[Arm, Arm], tuple[Arm, Arm]]


class Setting:
    """Two sides and a budget, with everything that does not depend on the size of tables.

    Parameters
    ----------
    left, right
        The sides, nearest record first.
    epsilon
        At least 0.
    clock
        Seconds left; TimeoutError when there are none before it is done.
    chances
        At most those of both labels of the private record, where what lies beyond a first release is released: the
        sequential form.
    """

    def __init__(
        self,
        left: Track,
        right: Track,
        epsilon: float,
        clock: Clock = lambda: math.inf,
        chances: Chances | None = None,
    ) -> None:
        self.tracks, self.epsilon, self.chances = (left, right), epsilon, chances
        self.trivial: float | None = None
        self.silent = epsilon == 0  # no release of a record that depends on the private one is allowed at all
        if epsilon == math.inf:
            self.trivial = 0.0
        elif epsilon == 0:
            self.trivial = (left.total + right.total) * (1 - 2 * U)
        elif epsilon > _LARGEST:
            self.trivial = 0.0  # e^-epsilon has no digits left, and hardly anything need be redacted
        else:
            self.whole = Whole.of(epsilon)
            self._look_far(clock)

    def _look_far(self, clock: Clock) -> None:
        """Both sides far enough to know the best window, and that a first release beyond costs more than it.

        The window's cost only cuts the search off, so it need not be proved.
        """
        walkers = tuple(Walker(track, clock) for track in self.tracks)
        count = 64
        while True:
            left, right = (walker.far(count) for walker in walkers)
            self.cap = self._window(left, right)
            pairs = zip(self.tracks, (left, right), strict=True)
            if all(far.count == track.length or far.spent[-1] >= self.cap for track, far in pairs):
                break
            count *= 2
        arms = [
            tuple(Arm(t, f, _Reach.of(f.back)) for t, f in ((track, far), (track.flipped(), far.flipped())))
            for track, far in zip(self.tracks, (left, right), strict=True)
        ]
        self.arms: Arms = (arms[0][0], arms[0][1]), (arms[1][0], arms[1][1])
        self.silent = all(
            arm.far.count == arm.track.length and arm.far.count < int(arm.reach.first(self.whole.budget)[0])
            for side in self.arms
            for arm in side
        )

    def _window(self, left: Far, right: Far) -> float:
        """The least cost of a window among the distances known, or of redacting everything."""
        cost = self.tracks[0].total + self.tracks[1].total
        ends = [far.count == track.length for far, track in zip((left, right), self.tracks, strict=True)]
        firsts = np.ones(left.count + 1, dtype=np.intp)
        possible = np.ones(left.count + 1, dtype=bool)
        for mine, theirs in ((left.back, right.back), (left.cross, right.cross)):
            rest = self.whole.without(mine)
            budgets = Budgets(np.append(rest.rest, self.whole.rest), np.append(rest.gone, self.whole.gone))
            possible &= budgets.gone >= 0
            firsts = np.maximum(firsts, _Reach.of(theirs).first(budgets))
        possible[-1] &= ends[0]
        possible &= (firsts <= right.count) | ends[1]
        at = np.flatnonzero(possible)
        return min(cost, float((left.spent[at] + right.spent[firsts[at] - 1]).min(initial=math.inf)))

    def bound(self, dual: Dual, clock: Clock = lambda: math.inf) -> float:
        """The lower bound on the expected weighted redactions that tables of these sizes prove.

        Raises
        ------
        TimeoutError
            When no seconds are left by ``clock`` before it is done.
        """
        if self.trivial is not None:
            return self.trivial
        arms = self.tabulated(dual, clock)
        best = self.cap
        for side in (0, 1):
            other = self.tracks[1 - side].total
            best = min(best, *(other + self._alone(arm) for arm in arms[side]))
        for branch in (0, 1):
            best = min(best, self._different(arms[0][branch], arms[1][1 - branch], best, clock))
        for v in (0, 1):
            for part in self._same(arms[0][v], arms[1][v], best, max(dual["share"] * _PART, _FINEST), clock):
                best = min(best, part)
        return max(0.0, best * (1 - 8 * U))

    def _table(self, arm: Arm, branch: int, dual: Dual, clock: Clock) -> LowerTable | SequentialTable:
        nodes, rows = int(dual["nodes"]), int(dual["rows"])
        if self.chances is None:
            return lower_table(arm.track, nodes, self.cap, rows, clock)
        one, two = self.chances
        start = (two, one) if branch else (one, two)
        sizes = (nodes, int(dual["rays"]), rows)
        return sequential_table(arm.track, start, sizes, _UNLIKELY * self.cap, clock)

    def tabulated(self, dual: Dual, clock: Clock) -> Arms:
        """The arms with tables; sides whose steps and weights repeat alike share those of the longer one."""
        long, short = sorted((0, 1), key=lambda side: -self.tracks[side].length)
        arms: dict[int, list[Arm]] = {}
        for side in (long, short):
            arms[side] = []
            for branch, arm in enumerate(self.arms[side]):
                longer = arms[long][branch].table if side == short else None
                if longer is None or not (longer.by_rest and _alike(arm.track, self.tracks[long], branch)):
                    longer = self._table(arm, branch, dual, clock)
                arms[side].append(Arm(arm.track, arm.far, arm.reach, longer))
        return (arms[0][0], arms[0][1]), (arms[1][0], arms[1][1])

    def _alone(self, arm: Arm) -> float:
        """The other side is redacted for good."""
        first = int(arm.reach.first(self.whole.budget)[0])
        if first > arm.far.count:
            return float(arm.far.spent[-1])  # nothing is released among the distances known
        return float(arm.cost(first, self.whole.budget)[0])

    def reachable(self, arm: Arm, limit: float) -> list[int]:
        """Distances at which an arm may release first at less than a cost."""
        first = int(arm.reach.first(self.whole.budget)[0])
        near_enough = np.flatnonzero(arm.far.spent[:-1] < limit) + 1
        return [d for d in near_enough.tolist() if d >= first]

    def _different(self, left: Arm, right: Arm, limit: float, clock: Clock) -> float:
        """Each side is left what the other's first release does not spend; in blocks, to bound the memory."""
        lefts, rights = self.reachable(left, limit), self.reachable(right, limit)
        if not (lefts and rights):
            return limit
        after_left = self.whole.without(left.far.back[np.array(lefts) - 1])
        after_right = self.whole.without(right.far.back[np.array(rights) - 1])
        for after in (after_left, after_right):
            np.maximum(after.gone, 0.0, out=after.gone)
        rows = max(1, _CELLS // len(rights))
        for begin in range(0, len(lefts), rows):
            first = _stack((left.cost(d, after_right) for d in lefts[begin : begin + rows]), clock)
            part = after_left.of(slice(begin, begin + rows))
            limit = min(limit, float((first + _stack((right.cost(d, part) for d in rights), clock).T).min()))
        return limit

    def _same(self, left: Arm, right: Arm, limit: float, tolerance: float, clock: Clock) -> Iterator[float]:
        """A share of the other direction's budget is split; the pairs that just fit the direction spent suffice."""
        reference, previous = limit, -1
        for dl in self.reachable(left, limit):
            rest = self.whole.without(left.far.back[dl - 1 : dl])
            if rest.gone[0] < 0:
                continue
            dr = int(right.reach.first(rest)[0])
            if dr > right.far.count or dr == previous:
                continue
            previous = dr
            if float(left.far.spent[dl - 1] + right.far.spent[dr - 1]) < reference:
                bound, reference = self._shared((left, right), (dl, dr), reference, tolerance, clock)
                yield bound

    def _shared(
        self,
        arms: tuple[Arm, Arm],
        firsts: tuple[int, int],
        reference: float,
        tolerance: float,
        clock: Clock,
    ) -> tuple[float, float]:
        """Least cost over shares of epsilon, by halving intervals: more budget on either side never costs more.

        Shares that leave either side more than it needs to release everything are no better than one that just does.
        Returns the bound and the reference lowered by values met on the way; an interval above it by no more than the
        tolerance below is left alone.
        """
        low, high = self._span(arms[0].far.cross[firsts[0] - 1], arms[1].far.cross[firsts[1] - 1])
        if low is None or high is None:
            return float(arms[0].far.spent[firsts[0] - 1] + arms[1].far.spent[firsts[1] - 1]), reference
        settled = math.inf
        while True:
            mine = arms[0].cost(firsts[0], high) + arms[1].cost(firsts[1], self.whole.others(low))
            middle = low.middle(high)
            value = arms[0].cost(firsts[0], middle) + arms[1].cost(firsts[1], self.whole.others(middle))
            reference = min(reference, float(value.min()))
            wide = (high.gone - low.gone > 1e-11 * self.whole.gone) | (
                low.rest - high.rest > 1e-11 * low.rest
            )
            again = (mine < reference - tolerance) & wide
            settled = min(settled, float(mine[~again].min(initial=math.inf)))
            if not again.any() or again.sum() > _PARTS:
                return min(settled, float(mine[again].min(initial=math.inf))), reference
            if clock() <= 0:
                raise TimeoutError
            low, middle, high = low.of(again), middle.of(again), high.of(again)
            low, high = _joined(low, middle), _joined(middle, high)

    def _span(self, left: float, right: float) -> tuple[Budgets | None, Budgets | None]:
        """The least and the most that the left side may usefully have; None twice if both can surely release all.

        Its first full release asks for ``log(1 + 1 / left)``, the right one for ``log(1 + 1 / right)``.
        """
        left_gone, left_rest = (1 / (1 + left), left / (1 + left)) if left < math.inf else (0.0, 1.0)
        spent = self.whole.rest / right if right > _TINY else math.inf
        low_gone = max(0.0, (self.whole.gone - spent) - 8 * U * (self.whole.gone + spent))
        low_rest = min(1.0, (self.whole.rest + spent) * (1 + 8 * U))
        high_gone = min(self.whole.gone * (1 + 4 * U), left_gone * (1 + 8 * U))
        high_rest = max(self.whole.rest * (1 - 4 * U), left_rest * (1 - 8 * U))
        if low_gone > high_gone or low_rest < high_rest:
            return None, None
        low = Budgets.at(np.array([low_rest]), np.array([low_gone]))
        return low, Budgets.at(np.array([high_rest]), np.array([high_gone]))


def _alike(one: Track, other: Track, branch: int) -> bool:
    """Whether rows by rest of a branch of one serve the same branch of the other, which is unflipped."""
    if one.period != 1 or other.period != 1 or one.length == 1:
        return False
    other = other.flipped() if branch else other
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("cross", "back", "determinants", "weights")
    )


def _joined(one: Budgets, other: Budgets) -> Budgets:
    return Budgets(np.concatenate((one.rest, other.rest)), np.concatenate((one.gone, other.gone)))


def _stack(rows: Iterator[Floats], clock: Clock) -> Floats:
    stacked = []
    for row in rows:
        stacked.append(row)
        if clock() <= 0:
            raise TimeoutError
    return np.array(stacked)

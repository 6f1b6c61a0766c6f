"""Patterns where the probabilities of the secrets are multiples of one unit: all of them priced at once, by dynamic programming.

The vertices are those of :mod:`privopt.problems.local_information_privacy.patterns`: some values of the secret are high, the
others low, and for LIP one, j, is what is left of the sum 1. How much the high ones take is the same wherever their
probabilities add up to the same number c of units. With l_k and h_k what a value costs at its ends, the least cost of all is

- LIP: the least over j and c of sum_(k != j) l_k + D_j(c) + (what j costs at what is left),
- LDP: the least over c of ln M + (sum l_k + D(c)) / M, with M = 1 + (e^epsilon - 1) c / T for T units in all,

where D_j(c) is the least sum of h_k - l_k over sets of values without j whose probabilities are c units: an addition and a
comparison for each value, c and j. Priors that are near multiples of a unit count as well: masses are off by less than
``PAD`` then, and intervals of the odd value and of M are widened by it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from privopt.arrays import Bools, Floats, Ints
from privopt.core.balls import Balls, U
from privopt.core.problem import Enclosure
from privopt.problems.entropy_boxes import phi_balls
from privopt.problems.local_information_privacy.data import LocalInformationPrivacyData
from privopt.problems.local_information_privacy.patterns import PAD, Groups, classes, groups

MOST_UNITS = 20_000
"""Units that all probabilities together may have."""

MOST_CELLS = 20_000_000
"""Values times odd values times units."""

NEAR = Fraction(1, 2**50)
"""By how much a probability may be off, relatively."""


@dataclass(frozen=True, eq=False)
class Lattice:
    """Units of each value of the secret (k,), and of all."""

    units: Ints
    total: int


def lattice_of(data: LocalInformationPrivacyData) -> Lattice | None:
    """The units of the prior; None where there are none as few, where upper bounds exceed 1, or the secret is no function of the observation.

    Examples
    --------
    >>> from privopt.models import JointDistribution
    >>> from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
    >>> lattice_of(LocalInformationPrivacy(JointDistribution.normalised(np.diag([2, 4, 6])), 0.5)).units.tolist()
    [1, 2, 3]
    """
    polytope = data.polytope
    if data.cost is not None or data.matrix is not None or data.delta > 0 or classes(data) is None:
        return None
    ldp = data.notion == "ldp"
    if not ldp and (polytope.above is None or polytope.above * max(polytope.secrets) > polytope.total):
        return None
    exact = [Fraction(weight, polytope.total) for weight in polytope.secrets]
    near = [p.limit_denominator(MOST_UNITS) for p in exact]
    if any(abs(p - q) > NEAR * p for p, q in zip(exact, near, strict=True)):
        return None
    total = math.lcm(*(q.denominator for q in near))
    units = [int(q * total) for q in near]
    cells = len(units) * total * (1 if ldp else len(units))
    if total > MOST_UNITS or cells > MOST_CELLS or sum(units) != total:
        return None
    return Lattice(np.array(units, dtype=np.int64), total)


@dataclass(frozen=True, eq=False)
class Priced:
    """Every pattern at some prices.

    Parameters
    ----------
    lattice : Lattice
    low, high : array (k,)
        The ends of each value, or their weights for LDP.
    costs : Balls (odd, units)
        The least cost for each odd value, a single row for LDP, and units of the high ones; inf where there is none.
    took : bool array (k, odd, units)
        Whether a value was high in the best set of the values up to it.
    left : array (odd, units)
        What the odd value gets.
    """

    lattice: Lattice
    low: Floats
    high: Floats
    costs: Balls
    took: Bools
    left: Floats

    @cached_property
    def least(self) -> Enclosure:
        """Floats around a number that no pattern costs less than."""
        return float(self.costs.lower.min()), float(self.costs.upper.min())

    def cheapest(self, count: int) -> Floats:
        """The distributions of the secret of so many of the cheapest cells, (m, k)."""
        mids = self.costs.mid.ravel()
        some = np.argsort(mids, kind="stable")[:count]
        cells = [divmod(int(i), self.costs.mid.shape[1]) for i in some if math.isfinite(mids[i])]
        return np.array([self._point(odd, units) for odd, units in cells]).reshape(-1, len(self.low))

    def _point(self, odd: int, units: int) -> Floats:
        ldp = len(self.left) == 0
        point, left = self.low.copy(), units
        for k in range(len(point) - 1, -1, -1):
            if self.took[k, odd, left]:
                point[k] = self.high[k]
                left -= int(self.lattice.units[k])
        if not ldp:
            point[odd] = self.left[odd, units]
        return np.asarray(point / point.sum())


def priced(data: LocalInformationPrivacyData, lattice: Lattice, prices: Floats) -> Priced | None:
    """All patterns at prices of the observations; None where those are too large."""
    grouped = groups(data, prices)
    if grouped is None:
        return None
    place = np.zeros(len(lattice.units), dtype=np.int64)
    for g, members in enumerate(grouped.members):
        place[members] = g
    return _ldp(grouped, lattice, place) if grouped.ldp else _lip(grouped, lattice, place)


def _lip(grouped: Groups, lattice: Lattice, place: Ints) -> Priced:
    low, high, value = grouped.low.mid[place], grouped.high.mid[place], grouped.prices[place]
    ends = [cost[place] for cost in grouped.costs]
    each = float((high - low).sum()) / lattice.total
    most = min(lattice.total, math.ceil((1.0 - low.sum()) / each) + 1)
    sums, took = _sums((ends[1] - ends[0]).mid, lattice.units, most, alone=False)
    left = (1.0 - low.sum() + low)[:, None] - each * np.arange(most + 1)
    first = np.maximum(left - PAD, low[:, None])
    last = np.minimum(left + PAD, high[:, None])
    possible = first <= last
    first, last = np.where(possible, first, 0.0), np.where(possible, last, 0.0)
    odd = [phi_balls(end) - Balls.exact(end) * value[:, None] for end in (first, last)]
    error = float((ends[1] - ends[0]).rad.sum()) + _rounding(ends)
    others = (Balls.exact(1.0 - np.eye(len(low))) @ ends[0])[:, None]
    finite = possible & np.isfinite(sums)
    costs = others + Balls(np.where(finite, sums, 0.0), np.full(sums.shape, error)) + odd[0].minimum(odd[1])
    costs = Balls(np.where(finite, costs.mid, math.inf), np.where(finite, costs.rad, 0.0))
    return Priced(lattice, low, high, costs, took, np.clip(left, low[:, None], high[:, None]))


def _ldp(grouped: Groups, lattice: Lattice, place: Ints) -> Priced:
    ends = [cost[place] for cost in grouped.costs]
    sums, took = _sums((ends[1] - ends[0]).mid, lattice.units, lattice.total, alone=True)
    error = float((ends[1] - ends[0]).rad.sum()) + _rounding(ends)
    finite = np.isfinite(sums)
    whole = ends[0].sum() + Balls(np.where(finite, sums, 0.0), np.full(sums.shape, error))
    ratio = float(grouped.high.mid[0] / grouped.low.mid[0])
    mean = 1.0 + (ratio - 1.0) * np.arange(lattice.total + 1) / lattice.total
    mass = Balls(mean, np.full(mean.shape, PAD * ratio))[None, :]
    costs = mass.log() + whole / mass
    costs = Balls(np.where(finite, costs.mid, math.inf), np.where(finite, costs.rad, 0.0))
    return Priced(lattice, grouped.low.mid[place], grouped.high.mid[place], costs, took, np.zeros((0, 0)))


def _rounding(ends: list[Balls]) -> float:
    """More than what adding up differences of the ends in floats can be off."""
    sizes = np.abs(ends[0].mid) + np.abs(ends[1].mid)
    return float(4.0 * (len(sizes) + 8) * U * sizes.sum())


def _sums(gains: Floats, units: Ints, most: int, *, alone: bool) -> tuple[Floats, Bools]:
    """The least sums of gains over sets of so many units, shape (odd, most + 1), and which values each took; a set without its odd value.

    Examples
    --------
    >>> _sums(np.array([-1.0, 2.0]), np.array([1, 2]), 3, alone=True)[0].tolist()
    [[0.0, -1.0, 2.0, 1.0]]
    """
    rows = 1 if alone else len(gains)
    sums = np.full((rows, most + 1), math.inf)
    sums[:, 0] = 0.0
    took = np.zeros((len(gains), rows, most + 1), dtype=np.bool_)
    for k, (gain, own) in enumerate(zip(gains.tolist(), units.tolist(), strict=True)):
        if own > most:
            continue
        tried = sums[:, : most + 1 - own] + gain
        if not alone:
            tried[k] = math.inf
        took[k, :, own:] = tried < sums[:, own:]
        sums[:, own:] = np.minimum(sums[:, own:], tried)
    return sums, took


def least_lattice_cost(data: LocalInformationPrivacyData, prices: Floats) -> Enclosure | None:
    """Floats around a number that no allowed posterior costs less than; None where there is no lattice."""
    lattice = lattice_of(data)
    found = None if lattice is None else priced(data, lattice, prices)
    return None if found is None else found.least

"""How far the cost of a posterior can be below its price where a probability delta of violations has a price too.

A release whose posterior v breaks the bounds of the secrets T, and of no others, spends sum_{s in T} P(s | v) of delta. With prices
pi of the observations and a price m >= 0 of what is spent, any release satisfies
sum_y P(y) cost(v_y) + m delta >= pi . P(w) + min over T of min_v cost(v) + m sum_{s in T} P(s | v) - pi . v, where v keeps the
bounds of the secrets outside T: a problem without delta, fewer rows and other prices for each T. For a distortion multipliers of
these rows prove the same: each observation takes the release and the T that are cheapest, once rows and violations are paid for.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from privopt.arrays import Floats
from privopt.core.problem import Enclosure
from privopt.problems.costs import Costs
from privopt.problems.exact_joint import enclose
from privopt.problems.local_information_privacy.data import LocalInformationPrivacyData
from privopt.problems.local_information_privacy.polytope import Polytope
from privopt.problems.local_information_privacy.vertices import least_vertex_cost

MOST = 8
"""Secrets whose sets are all tried."""


def bounded(data: LocalInformationPrivacyData) -> list[int]:
    """The secrets, among the possible ones, whose bounds some posterior breaks."""
    polytope = data.polytope
    return sorted({polytope.names[row][0] for row in polytope.kept})


def broken_sets(data: LocalInformationPrivacyData) -> Iterator[tuple[int, ...]]:
    """The sets of secrets whose bounds a posterior may break, the smallest first."""
    secrets = bounded(data)
    return itertools.chain.from_iterable(
        itertools.combinations(secrets, size) for size in range(len(secrets) + 1)
    )


def spent_prices(
    data: LocalInformationPrivacyData, prices: Floats, price: float, broken: tuple[int, ...]
) -> Floats:
    """pi(w) - m sum_{s in T} P(s | w) on the support, rounded up: a bound on the cost less these is one."""
    polytope = data.polytope
    made = []
    for w, pi in zip(polytope.support, prices.tolist(), strict=True):
        share = Fraction(sum(polytope.table[s][w] for s in broken), polytope.symbols[w])
        made.append(enclose(Fraction(pi) - Fraction(price) * share)[1])
    return np.array(made)


def spent_costs(polytope: Polytope, plain: Costs, price: float, broken: tuple[int, ...]) -> Costs:
    """The cost of every observation and release where it breaks the bounds of some secrets, with what that spends paid."""
    each, total = Fraction(price), polytope.total
    masses = [sum(polytope.table[s][w] for s in broken) for w in range(len(plain.cells))]
    scale = total * each.denominator
    cells = tuple(
        tuple(cell * scale + each.numerator * mass * plain.scale for cell in row)
        for row, mass in zip(plain.cells, masses, strict=True)
    )
    return Costs(cells, plain.scale * scale)


def least_spending_cost(
    data: LocalInformationPrivacyData, prices: Floats, price: object, seconds: float
) -> Enclosure | None:
    """Floats around the least cost of a posterior, what it spends paid, less its price; every vertex for every T is tried.

    None where these are too many, the price is no number >= 0, or out of time.
    """
    ends = time.monotonic() + seconds
    if not isinstance(price, float) or not 0 <= price < math.inf or len(bounded(data)) > MOST:
        return None
    low = high = math.inf
    for broken in broken_sets(data):
        found = least_vertex_cost(
            data.without(frozenset(broken)),
            spent_prices(data, prices, price, broken),
            ends - time.monotonic(),
        )
        if found is None:
            return None
        low, high = min(low, found[0]), min(high, found[1])
    return low, high

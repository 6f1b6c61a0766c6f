"""About what every way to release early costs at least, from value tables: what to optimise first, and when to stop."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from privopt.problems.redaction.bound import Arm, Budgets, Dual, Setting
from privopt.problems.redaction.track import Clock

SHARES = 64
_LARGEST = 600.0


@dataclass(frozen=True)
class Estimate:
    """A way to release early on both sides.

    Parameters
    ----------
    cost
        About the least expected weighted redactions.
    branches, firsts
        Which label each side releases early, and from which distance.
    share
        What the left side spends of the direction that both share, in nats; None where labels differ.
    """

    cost: float
    branches: tuple[int, int]
    firsts: tuple[int, int]
    share: float | None


def estimates(setting: Setting, dual: Dual, clock: Clock) -> list[Estimate]:
    """Ways to release early on both sides that may cost less than the best window, cheapest first."""
    if setting.trivial is not None:
        return []
    arms = setting.tabulated(dual, clock)
    found = list[Estimate]()
    for branch in (0, 1):
        found += _different(setting, arms[0][branch], arms[1][1 - branch], branch)
        found += _same(setting, arms[0][branch], arms[1][branch], branch)
    return sorted(found, key=lambda estimate: estimate.cost)


def _different(setting: Setting, left: Arm, right: Arm, branch: int) -> Iterator[Estimate]:
    """Each side is left what the other's first release does not spend."""
    lefts, rights = setting.reachable(left, setting.cap), setting.reachable(right, setting.cap)
    if not (lefts and rights):
        return
    after_left = setting.whole.without(left.far.back[np.array(lefts) - 1])
    after_right = setting.whole.without(right.far.back[np.array(rights) - 1])
    possible = (after_left.gone >= 0)[:, None] & (after_right.gone >= 0)
    for after in (after_left, after_right):
        np.maximum(after.gone, 0.0, out=after.gone)
    cost = np.array([left.cost(d, after_right) for d in lefts])
    cost = cost + np.array([right.cost(d, after_left) for d in rights]).T
    for i, j in np.argwhere(possible & (cost < setting.cap)).tolist():
        yield Estimate(float(cost[i, j]), (branch, 1 - branch), (lefts[i], rights[j]), None)


def _same(setting: Setting, left: Arm, right: Arm, branch: int) -> Iterator[Estimate]:
    """The other direction is shared; the pairs that just fit the direction spent suffice."""
    epsilon = min(setting.epsilon, _LARGEST)
    shares = epsilon * np.linspace(0.0, 1.0, SHARES + 1)
    mine, theirs = (Budgets(np.exp(-c), -np.expm1(-c)) for c in (shares, shares[::-1]))
    previous = -1
    for first in setting.reachable(left, setting.cap):
        rest = setting.whole.without(left.far.back[first - 1 : first])
        second = int(right.reach.first(rest)[0]) if rest.gone[0] >= 0 else math.inf
        if second > right.far.count or second == previous:
            continue
        previous = int(second)
        cost = left.cost(first, mine) + right.cost(previous, theirs)
        at = int(cost.argmin())
        if cost[at] < setting.cap:
            yield Estimate(float(cost[at]), (branch, branch), (first, previous), float(shares[at]))

"""Which rows may be tight together at a vertex of the polytope of allowed posteriors.

A vertex of {v >= 0, sum v = 1, G v <= 0} with k positive entries has k - 1 independent rows of G tight.
Two savings over trying every set of k - 1 rows:

- rows of G whose sum is constant (the two sides of one secret) are never chosen together: with sum v = 1
  their system is singular;
- under LDP every secret is at the top, at the bottom or free: if s is e^epsilon above t and t is e^epsilon
  above u, then s is too far above u unless all lifts are 0, and lifts average to 1. So k secrets that are
  marked as top or bottom determine k - 1 tight rows, whichever of their pairs are written down.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, product
from typing import TYPE_CHECKING

import numpy as np

from privopt.arrays import Floats
from privopt.problems.local_information_privacy.rows import Polytope, posterior_rows

if TYPE_CHECKING:
    from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy


@dataclass(frozen=True, eq=False)
class System:
    """G, rows that may be made tight, and which of them together.

    Parameters
    ----------
    rows : array (r, n)
        G of the inequalities.
    tightened : array (t, n)
        Rows for equations; those of G, or more.
    choices : callable
        For j, the sets of j tightened rows to try, one by one.
    count : callable
        For j, how many these are.
    draw : callable
        For a generator and j, one of them at random.
    exact_rank : int or None
        The largest possible support of a vertex, where it is known from integers.
    """

    rows: Floats
    tightened: Floats
    choices: Callable[[int], Iterator[tuple[int, ...]]]
    count: Callable[[int], int]
    draw: Callable[[np.random.Generator, int], tuple[int, ...]]
    exact_rank: int | None = None

    @cached_property
    def largest(self) -> int:
        """The largest possible support of a vertex."""
        if self.exact_rank is not None:
            return self.exact_rank
        return int(np.linalg.matrix_rank(np.vstack([np.ones(self.rows.shape[1]), self.rows]), tol=1e-13))


def system(problem: LocalInformationPrivacy) -> System:
    """The polytope of a question, on the support of W."""
    observed = problem.observation
    rows = posterior_rows(problem)[:, observed.support]
    if not len(rows):
        return plain(rows)
    if problem.notion == "lip":
        return grouped(rows, secret_groups(problem.polytope))
    seen = observed.p_s > 0
    lifts = (observed.s_given_w[seen] / observed.p_s[seen][:, None])[:, observed.support]
    return _spread(rows, lifts, math.exp(min(problem.budget, 700.0)))


def work(given: System) -> int:
    """Number of systems that the enumeration may solve."""
    n = given.rows.shape[1]
    return sum(math.comb(n, k) * given.count(k - 1) for k in range(1, min(n, given.largest) + 1))


def plain(rows: Floats) -> System:
    """Any rows but two whose sum is constant; each row is paired with one such other at most."""
    left: list[int] = list(range(len(rows)))
    groups: list[tuple[int, ...]] = []
    while left:
        a = left.pop(0)
        mate = next((b for b in left if _opposite(rows[a], rows[b])), None)
        if mate is None or (rows[a] + rows[mate] == 0).all():  # alone, or one hyperplane
            groups.append((a,))
        else:
            groups.append((a, mate))
        if mate is not None:
            left.remove(mate)
    return grouped(rows, groups)


def secret_groups(given: Polytope) -> list[tuple[int, ...]]:
    """The two sides of each secret, by their place among the rows kept; one of them where both are one hyperplane."""
    sides: dict[int, list[int]] = {}
    for place, row in enumerate(given.kept):
        sides.setdefault(given.names[row][0], []).append(place)
    one = given.above == given.below == 1
    return [tuple(found[:1] if one else found) for found in sides.values()]


def grouped(rows: Floats, groups: list[tuple[int, ...]]) -> System:
    """At most one row of each group."""
    pairs = sum(len(group) == 2 for group in groups)

    def choices(j: int) -> Iterator[tuple[int, ...]]:
        return (c for chosen in combinations(groups, j) for c in product(*chosen))

    def count(j: int) -> int:
        singles = len(groups) - pairs
        return sum(math.comb(pairs, i) * 2**i * math.comb(singles, j - i) for i in range(j + 1))

    def draw(rng: np.random.Generator, j: int) -> tuple[int, ...]:
        chosen = rng.choice(len(groups), j, replace=False).tolist()
        return tuple(groups[g][int(rng.integers(len(groups[g])))] for g in chosen)

    return System(rows, rows, choices, count, draw)


def _opposite(a: Floats, b: Floats) -> bool:
    """Whether the sum of two rows is constant up to rounding."""
    return bool(np.ptp(a + b) <= 1e-14 * float((np.abs(a) + np.abs(b)).max()))


def _spread(rows: Floats, lifts: Floats, ratio: float) -> System:
    """LDP: row s n + t of the tightened ones is lift_s - ratio lift_t."""
    n = len(lifts)
    tightened = (lifts[:, None, :] - ratio * lifts[None, :, :]).reshape(n * n, -1)
    return replace(pairs_of_secrets(n), rows=rows, tightened=tightened)


def pairs_of_secrets(n: int) -> System:
    """Which rows s n + t of n secrets may be tight together; the rows themselves are left empty."""

    def choices(j: int) -> Iterator[tuple[int, ...]]:
        if j == 0:
            yield ()
        for marked in combinations(range(n), j + 1) if j else ():
            for sides in product((True, False), repeat=j + 1):
                top = [s for s, up in zip(marked, sides, strict=True) if up]
                low = [s for s, up in zip(marked, sides, strict=True) if not up]
                if top and low:
                    yield _tree(n, top, low)

    def count(j: int) -> int:
        return 1 if j == 0 else math.comb(n, j + 1) * (2 ** (j + 1) - 2)

    def draw(rng: np.random.Generator, j: int) -> tuple[int, ...]:
        marked = rng.choice(n, j + 1, replace=False).tolist()
        split = int(rng.integers(1, j + 1)) if j else 1
        return _tree(n, marked[:split], marked[split:])

    return System(np.zeros((0, 1)), np.zeros((0, 1)), choices, count, draw)


def _tree(n: int, top: list[int], low: list[int]) -> tuple[int, ...]:
    """Rows that put every top secret e^epsilon above every low one: a spanning tree of the pairs."""
    return (*(t * n + low[0] for t in top), *(top[0] * n + b for b in low[1:])) if low else ()

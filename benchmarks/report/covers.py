"""The fewest sets that together hold every element that any of them holds, exactly."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

STEPS = 20_000
"""Nodes of the search; beyond them the best cover so far is given, at first the greedy one."""


@dataclass(frozen=True)
class Candidate:
    """A set under a name, and what decides between covers of as many: the sums of these numbers, the first one first."""

    name: str
    holds: frozenset[int]
    cost: tuple[float, ...] = ()


def smallest_cover(candidates: Iterable[Candidate]) -> tuple[str, ...]:
    """Names of the fewest candidates that together hold all that any holds; of equally many the cheapest.

    Examples
    --------
    >>> sets = {"a": {1, 2, 3, 4}, "b": {1, 2, 5}, "c": {3, 4, 6}}
    >>> smallest_cover(Candidate(name, frozenset(held)) for name, held in sets.items())
    ('b', 'c')
    """
    fit = _without_doubles(c for c in candidates if c.holds)
    everything = frozenset[int]().union(*(c.holds for c in fit))
    search = _Search(fit, _greedy(fit, everything))
    search.go((), everything)
    return tuple(c.name for c in search.best)


def _without_doubles(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Of equal sets the cheapest, in the order of names."""
    kept: dict[frozenset[int], Candidate] = {}
    for c in sorted(candidates, key=lambda c: (c.cost, c.name)):
        kept.setdefault(c.holds, c)
    return sorted(kept.values(), key=lambda c: c.name)


def _greedy(fit: Sequence[Candidate], everything: frozenset[int]) -> tuple[Candidate, ...]:
    chosen: list[Candidate] = []
    left = everything
    while left:
        chosen.append(max(fit, key=lambda c: (len(c.holds & left), tuple(-x for x in c.cost))))
        left -= chosen[-1].holds
    return tuple(chosen)


@dataclass
class _Search:
    """Branch and bound: some set must hold the element that fewest hold."""

    fit: Sequence[Candidate]
    best: tuple[Candidate, ...]
    steps: int = 0

    def go(self, chosen: tuple[Candidate, ...], left: frozenset[int]) -> None:
        """Look at every cover that goes on from what is chosen and is not larger than the best one."""
        self.steps += 1
        if not left:
            if _key(chosen) < _key(self.best):
                self.best = tuple(sorted(chosen, key=lambda c: c.name))
            return
        largest = max(len(c.holds & left) for c in self.fit)
        if self.steps > STEPS or len(chosen) + math.ceil(len(left) / largest) > len(self.best):
            return
        rarest = min(sorted(left), key=lambda i: sum(i in c.holds for c in self.fit))
        for c in sorted(self.fit, key=lambda c: (-len(c.holds & left), c.cost, c.name)):
            if rarest in c.holds:
                self.go((*chosen, c), left - c.holds)


def _key(cover: Sequence[Candidate]) -> tuple[int, tuple[float, ...], tuple[str, ...]]:
    sums = tuple(math.fsum(part) for part in zip(*(c.cost for c in cover), strict=True))
    return len(cover), sums, tuple(sorted(c.name for c in cover))

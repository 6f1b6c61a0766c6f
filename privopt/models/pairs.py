"""Pairs of points with the distance that is promised for each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from privopt.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of points and the distance promised for each; ``first`` and ``second`` are positions.

    Every other promised pair is implied by these.

    Parameters
    ----------
    first, second : int array (p,)
    distance : float array (p,)
        Finite, never more than the true distance.
    """

    first: Ints
    second: Ints
    distance: Floats

    def __len__(self) -> int:
        return len(self.first)

    def within(self, radius: float | None) -> Pairs:
        """Those at most a radius apart; all where there is none."""
        if radius is None:
            return self
        kept = self.distance <= radius
        return Pairs(self.first[kept], self.second[kept], self.distance[kept])

    def blocks(self, size: int) -> Iterator[Pairs]:
        """The same in parts of at most so many."""
        for begin in range(0, len(self), size):
            part = slice(begin, begin + size)
            yield Pairs(self.first[part], self.second[part], self.distance[part])

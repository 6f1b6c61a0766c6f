"""The best pair of distances from which both sides of a private record release everything.

Source: Massny, Bitar, Ye, El Rouayheb, "Between Close Enough to Reveal and Far Enough to Protect", Section III. The two
sides' leakages are added by direction, which is exact, where the paper adds their maxima.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privopt.problems.redaction.side import Reach, Walk, reach


@dataclass(frozen=True)
class Window:
    """Both first released distances, and the cost of redacting what is nearer."""

    cost: float
    left: int
    right: int


def look_far(walks: tuple[Walk, Walk], epsilon: float) -> tuple[tuple[Reach, Reach], Window]:
    """Both sides far enough to know the best window, and that a first release beyond costs more than it."""
    count = 64
    while True:
        known = (reach(walks[0], count), reach(walks[1], count))
        window = best_window(walks, known, epsilon)
        pairs = zip(walks, known, strict=True)
        if all(len(near.cross) == walk.length or near.spent[-1] >= window.cost for walk, near in pairs):
            return known, window
        count *= 2


def best_window(walks: tuple[Walk, Walk], known: tuple[Reach, Reach], epsilon: float) -> Window:
    """The cheapest window among the distances known; a distance one past the end redacts the whole side."""
    left, right = known
    whole = len(left.cross) == walks[0].length
    rest = epsilon - np.concatenate((left.leaks, np.full((2, 1), 0.0 if whole else np.inf)), axis=1)
    firsts = np.maximum(*(np.searchsorted(-right.leaks[v], -rest[v]) for v in (0, 1)))
    cost = left.spent + right.spent[firsts]
    impossible = rest.min(axis=0) < 0
    if len(right.cross) < walks[1].length:
        impossible |= firsts == len(right.cross)
    cost = np.where(impossible, np.inf, cost)
    at = int(np.argmin(cost))
    if np.isfinite(cost[at]):
        return Window(float(cost[at]), at + 1, int(firsts[at]) + 1)
    return Window(walks[0].total + walks[1].total, walks[0].length + 1, walks[1].length + 1)

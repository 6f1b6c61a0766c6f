"""The best data-independent redaction: hide a window around the private record, release the rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.redaction.problem import Redaction
from privopt.solvers.redaction._reach import possible_values, window_sides


@register
@dataclass(frozen=True)
class Windows(Solver[Redaction]):
    """Hide p - l .. p + r; the pair (l, r) of least weight by two pointers, O(n k^3).

    A data-independent mechanism leaks what its nearest releasable record on each side leaks, and the two
    sides add per direction. The smallest r that goes with l does not increase in l, so one walk over the
    pairs finds the best window: optimal among data-independent mechanisms, not among all. Massny et al.,
    Section III, give a bound on its size (Theorem 2) and a quilt (Algorithm 1); this is the exact test.
    Several private records hide the union of their windows, which is private for each of them. What an adversary
    who knows other records learns of a window falls with its width as well.
    """

    solves: ClassVar = Redaction
    name: ClassVar[str] = "windows"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE
    """Feasible: it bounds nothing outside data-independent mechanisms."""

    def cost(self, problem: Redaction) -> float:
        """Linear in the window, which may be the whole sequence."""
        return 1e-3 + 1e-6 * problem.length * problem.chain.k**2 * len(problem.private)

    def run(self, problem: Redaction, budget: Budget) -> Proposal:
        """Propose the union of the best windows."""
        table = np.zeros((problem.length, problem.chain.k))
        tried = 0
        for p in problem.private:
            left, right, pairs = best_window(problem, p, budget)
            table[p - left : p + right + 1] = 1.0
            tried += pairs
        return Proposal(problem.answer(table), stats={"pairs": tried})


def best_window(problem: Redaction, private: int, budget: Budget) -> tuple[int, int, int]:
    """Widths hidden to the left and right of one private record, and how many pairs were tried."""
    possible = possible_values(problem, private)
    if len(possible) < 2:
        return 0, 0, 0
    weights = problem.record_weights
    before = np.concatenate(([0.0], np.cumsum(weights[:private][::-1])))
    after = np.concatenate(([0.0], np.cumsum(weights[private + 1 :])))
    sides = window_sides(problem, private)
    left = _Lazy(sides[0], private, budget)
    right = _Lazy(sides[1], problem.length - 1 - private, budget)
    best = (before[-1] + after[-1], private, problem.length - 1 - private)
    tried, r = 0, _first(right, problem.epsilon)
    least = r
    left_width = _first(left, problem.epsilon)
    r = len(right) if left_width < len(left) else r
    while left_width <= len(left) and budget.remaining > 0:
        while r > least and _fits(left.at(left_width), right.at(r - 1), problem.epsilon):
            r -= 1
        if not _fits(left.at(left_width), right.at(r), problem.epsilon):
            left_width += 1
            continue
        tried += 1
        best = min(best, (float(before[left_width] + after[r]), left_width, r))
        if r == least:
            break
        left_width += 1
    return int(best[1]), int(best[2]), tried


def _fits(left: Floats, right: Floats, epsilon: float) -> bool:
    return bool((left + right).max() <= epsilon)


def _first(side: _Lazy, epsilon: float) -> int:
    """The smallest width of this side's window with nothing released on the other."""
    return next((w for w in range(len(side) + 1) if side.at(w).max() <= epsilon), len(side))


class _Lazy:
    """Leakage matrices by width: releasing from distance width + 1 on; nothing leaks at full width.

    When time is up, what was not seen counts as infinite, so that it stays hidden.
    """

    def __init__(self, source: Iterator[Floats], length: int, budget: Budget) -> None:
        self._source, self._length, self._seen = source, length, list[Floats]()
        self._budget, self._late = budget, False

    def __len__(self) -> int:
        return self._length

    def at(self, width: int) -> Floats:
        if width >= self._length:
            return np.zeros((1, 1))
        while len(self._seen) <= width:
            self._late = self._late or self._budget.remaining <= 0
            if self._late:
                return np.full((1, 1), np.inf)
            self._seen.append(np.maximum(next(self._source), 0.0))
        return self._seen[width]

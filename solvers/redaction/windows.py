"""Data-independent redaction: hide a window around the private record, the best or a published one; release the rest."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Bools, Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.measures.redaction.influence import BinaryChain
from privopt.measures.redaction.informed import informed_windows
from privopt.measures.redaction.leakage import first_releases, steps_away
from privopt.problems.redaction.problem import Redaction
from privopt.solvers.redaction.reach import refusal, walked

SHORT = 100.0
"""Records of which all count in a prediction."""
LEAST = 1e-3
"""Level of influence up to which a window is walked, about: for predictions only."""


@register
@dataclass(frozen=True)
class Windows(Solver[Redaction]):
    """The best data-independent redaction: hide a window around the private record, release the rest.

    Hide p - l .. p + r; the pair (l, r) of least weight by two pointers, O(n k^3).

    A data-independent mechanism leaks what its nearest releasable record on each side leaks, and the two
    sides add per direction. The smallest r that goes with l does not increase in l, so one walk over the
    pairs finds the best window: optimal among data-independent mechanisms, not among all. Massny et al.,
    Section III, give a bound on its size (Theorem 2) and a quilt (Algorithm 1); this is the exact test.
    Several private records hide the union of their windows, which is private for each of them; records next to each
    other also try one window around all of them, which takes two walks only. What an adversary who knows other
    records learns of a window falls with its width as well.
    """

    solves: ClassVar = Redaction
    name: ClassVar[str] = "windows"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE
    """Feasible: it bounds nothing outside data-independent mechanisms."""

    def cost(self, problem: Redaction) -> float:
        """Linear in the records that may tell much, and in the table."""
        k, count = problem.chain.k, len(problem.private)
        each = 2e-5 + 3e-8 * k**3 + (3e-4 * k if problem.side_information is not None else 0.0)
        reach = float(problem.length)
        if reach > SHORT:
            reach = min(2.0 * walked(problem, LEAST), reach)
        return 1e-3 + count * (each * reach + 4e-8 * problem.length) + 1e-8 * problem.length * k

    def run(self, problem: Redaction, budget: Budget) -> Proposal:
        """Propose the union of the best windows."""
        table = np.zeros((problem.length, problem.chain.k))
        tried = 0
        stretches = list(_stretches(problem.private))
        around = [_around(problem, *ends, budget) if ends[0] < ends[1] else None for ends in stretches]
        for ends, one in zip(stretches, around, strict=True):
            each, pairs = _each(problem, *ends, budget)
            chosen = each if one is None or _weighs(problem, each) <= _weighs(problem, one) else one
            table[chosen.first : chosen.last + 1] = 1.0
            tried += pairs
        return Proposal(problem.answer(table), stats={"pairs": tried})


@dataclass(frozen=True)
class _Window:
    """Records from first to last."""

    first: int
    last: int


def _weighs(problem: Redaction, window: _Window) -> float:
    return float(problem.record_weights[window.first : window.last + 1].sum())


def _stretches(private: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The first and last of each run of private records that are next to each other."""
    ends = [i for i, p in enumerate(private) if i + 1 == len(private) or private[i + 1] != p + 1]
    for begin, end in zip([0, *(i + 1 for i in ends)], ends, strict=False):
        yield private[begin], private[end]


def _each(problem: Redaction, first: int, last: int, budget: Budget) -> tuple[_Window, int]:
    """The union of the best windows of private records next to each other, and how many pairs were tried."""
    low, high, tried = first, last, 0
    for p in range(first, last + 1):
        possible = problem.possible_values(p)
        if len(possible) < 2:
            continue
        left, right, pairs = _best(problem, (p, p), _leakages(problem, p, possible), budget)
        low, high, tried = min(low, p - left), max(high, p + right), tried + pairs
        if low == 0 and high == problem.length - 1:
            break
    return _Window(low, high), tried


def _around(problem: Redaction, first: int, last: int, budget: Budget) -> _Window | None:
    """One window around private records next to each other, judged by what its ends leak: two walks instead of one a record.

    Given a record between the ends, what is released to the right of them depends on it through the last one
    alone, so it is a mixture over that one's values, and its largest log-ratio is at most that of the last one;
    the same to the left. Which values are likely differs between the sides, so scalars are added, not directions.
    An adversary who knows other records may know the ends, which ends the argument: None.
    """
    if problem.side_information is not None:
        return None
    ends = [problem.possible_values(end) for end in (first, last)]
    left = _leakages(problem, first, ends[0])[0]
    right = _leakages(problem, last, ends[1])[1]
    sides = _scalar(left), _scalar(right)
    before, after, _ = _best(problem, (first, last), sides, budget)
    return _Window(first - before, last + after)


def _scalar(blocks: Iterator[Floats]) -> Iterator[Floats]:
    return (block.max(axis=(1, 2), keepdims=True, initial=0.0) for block in blocks)


def _best(
    problem: Redaction, ends: tuple[int, int], blocks: tuple[Iterator[Floats], ...], budget: Budget
) -> tuple[int, int, int]:
    """Widths hidden to the left of the first end and to the right of the last, and how many pairs were tried."""
    first, last = ends
    weights = problem.record_weights
    before = np.concatenate(([0.0], np.cumsum(weights[:first][::-1])))
    after = np.concatenate(([0.0], np.cumsum(weights[last + 1 :])))
    sides = zip(blocks, (before, after), strict=True)
    left, right = (_Lazy(side, len(total) - 1, budget) for side, total in sides)
    best = (before[-1] + after[-1], first, problem.length - 1 - last)
    tried, nothing = 0, np.zeros((1, 1))
    width, least = _narrowest(left, nothing, problem.epsilon), _narrowest(right, nothing, problem.epsilon)
    r = _narrowest(right, left.at(width), problem.epsilon)
    while (
        width <= len(left) and before[width] + after[least] < best[0] and time.monotonic() < budget.deadline
    ):
        while r > least and _fits(left.at(width), right.at(r - 1), problem.epsilon):
            r -= 1
        if _fits(left.at(width), right.at(r), problem.epsilon):
            tried += 1
            best = min(best, (float(before[width] + after[r]), width, r))
            if r == least:
                break
        width += 1
    return int(best[1]), int(best[2]), tried


def _leakages(problem: Redaction, private: int, possible: NDArray[np.intp]) -> tuple[Iterator[Floats], ...]:
    """Of each side, largest log-ratios [d, x, x'] among possible values when all from a distance on are released, in blocks."""
    chain, length = problem.chain, problem.length
    if problem.side_information is not None:
        sides = zip(steps_away(chain, private, length), _can(problem, private), strict=True)
        return tuple(_single(informed_windows(steps, can, possible)) for steps, can in sides)
    return tuple(_largest(blocks, possible) for blocks in first_releases(chain, private, length))


def _can(problem: Redaction, private: int) -> tuple[Bools, Bools]:
    """Which values records to the left and to the right may have, nearest first."""
    return problem.supports[:private][::-1], problem.supports[private + 1 :]


def _single(walk: Iterator[Floats]) -> Iterator[Floats]:
    return (ratios[None] for ratios in walk)


def _largest(blocks: Iterator[Floats], possible: NDArray[np.intp]) -> Iterator[Floats]:
    return (ratios.max(axis=1)[:, possible[:, None], possible] for ratios in blocks)


def _fits(left: Floats, right: Floats, epsilon: float) -> bool:
    return bool((left + right).max() <= epsilon)


def _narrowest(side: _Lazy, other: Floats, epsilon: float) -> int:
    """The smallest width of this side's window that fits what the other side leaks: widths are doubled, then halved."""
    low, high = -1, 0
    while high < len(side) and not _fits(side.at(high), other, epsilon):
        low, high = high, min(2 * high + 1, len(side))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _fits(side.at(middle), other, epsilon) else (middle, high)
    return high


class _Lazy:
    """Leakage matrices by width: releasing from distance width + 1 on; nothing leaks at full width.

    When time is up, what was not seen counts as infinite, so that it stays hidden.
    """

    def __init__(self, source: Iterator[Floats], length: int, budget: Budget) -> None:
        self._source, self._length, self._seen = source, length, list[Floats]()
        self._deadline, self._late = budget.deadline, False

    def __len__(self) -> int:
        return self._length

    def at(self, width: int) -> Floats:
        if width >= self._length:
            return np.zeros((1, 1))
        while len(self._seen) <= width:
            self._late = self._late or time.monotonic() >= self._deadline
            if self._late:
                return np.full((1, 1), np.inf)
            self._seen.extend(np.maximum(next(self._source), 0.0))
        return self._seen[width]


@register
@dataclass(frozen=True)
class MarkovQuilt(Solver[Redaction]):
    """Algorithm 1 of Massny et al.: hide a window whose outside reveals little, in the manner of a Markov quilt.

    Hide the shorter side and part of the longer one, or equally many records on both sides.

    Massny, Bitar, Ye, El Rouayheb, "Between Close Enough to Reveal and Far Enough to Protect",
    Algorithm 1, mirrored where the private record is past the middle. The distance at which the
    max-influence falls to the budget is hidden although it could be released; ``corrected`` releases it.
    The ``windows`` solver is never worse.
    """

    solves: ClassVar = Redaction
    name: ClassVar[str] = "markov-quilt"
    interruptible: ClassVar[bool] = False
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BASELINE
    """Published, and kept for comparison."""

    corrected: bool = False

    def cost(self, problem: Redaction) -> float:
        """A closed form; filling in the table is most of it."""
        return 2e-4 + 2e-8 * problem.length

    def refuse(self, problem: Redaction) -> str | None:
        """Refuse several private records, and chains other than those the paper treats."""
        if BinaryChain.of(problem.chain) is None:
            return "its distances are for stationary chains of 2 states with one matrix for every step"
        return refusal(problem, one_private=True)

    def run(self, problem: Redaction, budget: Budget) -> Proposal:
        """Propose the window."""
        (p,) = problem.private
        chain = BinaryChain.of(problem.chain)
        if chain is None:
            return Proposal(problem.safe())
        before, after = p, problem.length - 1 - p
        near, far = self._window(chain, min(before, after), max(before, after), problem.epsilon)
        left, right = (near, far) if before <= after else (far, near)
        table = np.zeros((problem.length, 2))
        table[p - left : p + right + 1] = 1.0
        return Proposal(problem.answer(table))

    def _window(self, chain: BinaryChain, shorter: int, longer: int, epsilon: float) -> tuple[int, int]:
        """Widths hidden on the shorter and the longer side."""
        whole, half = chain.first_within(epsilon), chain.first_within(epsilon / 2)
        spared = int(self.corrected)
        # The printed threshold takes the longer side one record too long.
        one_side = (
            shorter == 0
            or epsilon < chain.influence(longer + 1) + chain.influence(shorter)
            or shorter + 1 + whole - 2 * half < 0
        )
        if one_side:
            return shorter, min(whole - spared, longer)
        return min(half - spared, shorter), min(half - spared, longer)

"""Branch and bound over redaction probabilities, for any states, several private records and the sequential form."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.mechanisms import RedactionMechanism
from privopt.problems.redaction.box_model import LARGEST, Stretch
from privopt.problems.redaction.boxes import KIND, MAX_BOXES, Search, fits
from privopt.problems.redaction.dual import utility_bound
from privopt.problems.redaction.problem import Redaction
from privopt.solvers.redaction._supports import HIDDEN, PARTIAL, WHOLE, Program
from privopt.solvers.redaction.joint_search import MAX_LENGTH, JointSearch, near_records
from privopt.solvers.redaction.optimal.parts import apart, side_by_side
from privopt.solvers.redaction.reach import refusal
from privopt.solvers.redaction.relaxation import Relaxation
from privopt.solvers.redaction.sequential import Sequential
from privopt.solvers.redaction.windows import Windows

WIDEST = 44
"""Most records from the first to the last private one that are searched together; else each record has a part of its own."""
REACH = 24
"""Most records on either side of the private ones."""
MAX_STATES = 12
FOLLOWED = (16.0, 256.0, math.inf)
"""Records that tell less than this part of epsilon of every private one are left out: they are free. More are counted where that leaves a gap."""
CLOSED, NEAR = 1e-6, 2e-7
"""A gap of the utility that is none, and the share of it at which a search ends."""
_FINE = 2.0**-44
_SEARCHED, _SEARCHED_OF_PARTS = 0.32, 0.2
"""Shares of the time for the search: as much is needed to prove its bound again, of all parts together."""
_STARTED = 0.2
"""Share of the time for a local search: the better the cutoff, the fewer the boxes, but these find better points, too."""
_AT_LEAST = 0.5
"""Of that share: few runs end by their number, also where the machine is busy."""
_ATTEMPTS: tuple[tuple[int, int, float], ...] = (
    (0, 100, 0.1),
    (5, 400, 0.15),
    (24, 2000, 0.25),
    (300, MAX_BOXES, 1.0),
)
"""Runs of the local search and boxes of each attempt, and what it may take of both shares of the time.

An easy problem is closed by the first ones, and a longer limit makes no one wait. They are counted in work before seconds, so
that what is closed is the same on a busy machine; the local search of the sequential form knows seconds only.
"""

_SHORT = 8
"""Records near the private one up to which a search is closed within seconds."""
_LONGER = 1.065
"""How much longer each one more takes."""


@register
@dataclass(frozen=True)
class BranchAndBound(Solver[Redaction]):
    """Boxes of redaction probabilities are split until none that is left open can be better.

    The leakage (Massny, Bitar, Ye, El Rouayheb, "Between Close Enough to Reveal and Far Enough to Protect", Section II) falls
    when redaction probabilities rise, so this is a monotonic optimisation in the sense of Tuy, "Monotonic Optimization:
    Problems and Solution Approaches": a box without a private mechanism at its upper corner has none, and one costs at least
    what its lower corner does. Linear cuts of the constraints, which are linear in every single probability, raise that. Splits are
    made where the output that leaks most at the bound's own point may change, near records first. Points of
    the search that are private are polished by the local search of ``joint-search``.
    """

    solves: ClassVar = Redaction
    name: ClassVar[str] = "branch-and-bound"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BOUNDED

    def cost(self, problem: Redaction) -> float:
        """Seconds for some thousand boxes; a hard problem takes all there are, the sooner the more records matter."""
        if not 0 < problem.epsilon < np.inf:
            return 0.1
        begin, end = (0, min(problem.length, 1 + 2 * REACH)) if _wide(problem) else _stretch(problem)
        boxes = 0.5 + 2e-3 * (end - begin) * problem.chain.k**2 * len(problem.private)
        longer = 1.0 if _wide(problem) else _LONGER ** max(0, end - begin - _SHORT)
        return boxes * longer + 1e-7 * problem.length

    def refuse(self, problem: Redaction) -> str | None:
        """Refuse what is too wide, or needs no search."""
        if (reason := refusal(problem)) is not None:
            return reason
        if not 0 < problem.epsilon <= LARGEST:
            return f"it needs a budget above 0 and up to {LARGEST:g} nats, got {problem.epsilon:g}"
        if problem.chain.k > MAX_STATES:
            return f"it compares all pairs of values: at most {MAX_STATES} states, not {problem.chain.k}"
        if any(len(problem.possible_values(p)) < 2 for p in problem.private):
            return "a private record is constant: optimal or windows release everything around it"
        if _wide(problem):
            if problem.chain.k == 2 and problem.form == "local":
                return "records so far apart are searched one by one, and for two states optimal proves more of each"
            return apart(problem)
        return None

    def run(self, problem: Redaction, budget: Budget) -> Proposal:
        """Propose the best mechanism met, and the bound of the search; a good half of the time is left to prove it again."""
        if _wide(problem):
            return side_by_side(
                problem, budget, lambda part, own: self._search(part, own, _SEARCHED_OF_PARTS)
            )
        return self._search(problem, budget, _SEARCHED)

    def _search(self, problem: Redaction, budget: Budget, share: float) -> Proposal:
        """The search for private records that are near to each other, in a share of the time, with more records where few leave a gap."""
        found, ends = self._of_stretch(problem, budget, share, FOLLOWED[0]), _stretch(problem, FOLLOWED[0])
        for followed in FOLLOWED[1:]:
            wider = _stretch(problem, followed)
            if found.bound is None or "stop" in found.stats or budget.remaining == 0:
                break
            assert isinstance(found.mechanism, RedactionMechanism)
            if found.bound - problem.evaluate(found.mechanism).utility <= CLOSED or wider == ends:
                continue
            again = self._of_stretch(problem, replace(budget, incumbent=found.mechanism), share, followed)
            found = (
                again
                if again.bound is not None and again.bound <= found.bound
                else replace(found, mechanism=again.mechanism)
            )
            ends = wider
        return found

    def _of_stretch(self, problem: Redaction, budget: Budget, share: float, followed: float) -> Proposal:
        """The search in the records that tell more than a part of epsilon; short attempts first."""
        begun, (begin, end) = budget.remaining, _stretch(problem, followed)
        stretch = Stretch.of(problem, begin, end) if fits(problem, begin, end) else None
        if stretch is None:
            start = _start(problem, budget, _ATTEMPTS[-1][0], _STARTED * begun)
            return Proposal(start, utility_bound(problem, 0.0)[1], {})
        best, search, cutoff, spent = problem.safe(), Search(stretch, np.inf), np.inf, 0.0
        for runs, boxes, part in _ATTEMPTS:
            seconds = max(part, _AT_LEAST) * _STARTED * begun
            best = _best(problem, _start(problem, budget, runs, seconds), best)
            if (most := max(0.0, _most(problem) - problem.evaluate(best).utility)) < cutoff:
                search, cutoff, spent = Search(stretch, most), most, 0.0
            then = budget.remaining
            _advance(problem, search, budget, boxes, max(0.0, then + spent - part * share * begun))
            spent += then - budget.remaining
            if search.point is not None:
                best = _better(problem, best, search.point, begin)
            if _ended(problem, search):
                break
        stats: dict[str, float | int | str] = {"boxes": search.boxes, "records": end - begin}
        if not _ended(problem, search):
            stats["stop"] = "out of time" if search.boxes < MAX_BOXES else "enough boxes"
        dual = {"kind": KIND, "begin": begin, "end": end, "cutoff": cutoff, "boxes": search.boxes}
        return Proposal(best, utility_bound(problem, search.bound)[1], dual, stats=stats)


def _advance(problem: Redaction, search: Search, budget: Budget, boxes: int, stop: float) -> None:
    """Split boxes until the search has ended, or all but, there are so many, or that many seconds are left."""
    while not _ended(problem, search) and search.boxes < boxes and budget.remaining > stop:
        search.advance(MAX_BOXES)
        bound = utility_bound(problem, search.bound)[1]
        budget.report(_most(problem) - search.cutoff, bound, fraction=min(1.0, search.boxes / 1e5))


def _ended(problem: Redaction, search: Search) -> bool:
    """Whether next to nothing of the utility is open: the last digits can take as long as all before."""
    return search.done or search.cutoff - search.bound <= NEAR * (_most(problem) - search.cutoff)


def _most(problem: Redaction) -> float:
    """The utility of a release that costs nothing."""
    return utility_bound(problem, 0.0)[1]


def _wide(problem: Redaction) -> bool:
    """Whether the private records are too far apart to be searched together."""
    span = max(problem.private) - min(problem.private) + 1
    return len(problem.private) > 1 and not (span <= WIDEST and fits(problem, *_stretch(problem)))


def _stretch(problem: Redaction, followed: float = FOLLOWED[0]) -> tuple[int, int]:
    """Records around the private ones that tell much of one of them, and one more on each side."""
    near = near_records(problem, problem.epsilon / followed)
    first, last = min(problem.private), max(problem.private)
    begin = max(min([first, *near]) - 1, first - REACH, 0)
    end = min(max([last, *near]) + 2, last + REACH + 1, problem.length)
    return begin, end


def _start(problem: Redaction, budget: Budget, runs: int, seconds: float) -> RedactionMechanism:
    """The best of the incumbent, or else of the cheap mechanisms, and a local search of so many runs or seconds."""
    of_two = problem.form == "sequential" and problem.chain.k == 2
    local: Solver[Redaction] = Sequential() if of_two else JointSearch(runs)
    solvers = [local] if runs > 0 else []
    best = problem.safe()
    if isinstance(budget.incumbent, RedactionMechanism):
        best = budget.incumbent
    else:
        solvers = [Windows(), Relaxation(), *solvers]
    brief = Budget(time.monotonic() + seconds, budget.seed)
    for solver in solvers:
        if solver.refuse(problem) is None:
            proposed = solver.run(problem, brief).mechanism
            if isinstance(proposed, RedactionMechanism):
                best = _best(problem, best, proposed)
    return best


def _best(problem: Redaction, best: RedactionMechanism, other: RedactionMechanism) -> RedactionMechanism:
    """The better one, the other being repaired if it leaks too much."""
    read = problem.evaluate(other)
    if not read.feasible:
        other = problem.repair(other, _FINE)
        read = problem.evaluate(other)
    return other if read.feasible and read.utility > problem.evaluate(best).utility else best


def _better(problem: Redaction, best: RedactionMechanism, point: Floats, begin: int) -> RedactionMechanism:
    """A point of the search, with everything released outside of the stretch; polished unless it is a sequential one of two states."""
    table = np.zeros((problem.length, problem.chain.k))
    table[begin : begin + len(point)] = point
    found = problem.answer(table)
    best = _best(problem, best, found)
    if (problem.form != "local" and problem.chain.k == 2) or problem.length > MAX_LENGTH:
        return best
    start = found.probabilities
    support = np.where(start < 1, PARTIAL, HIDDEN).astype(np.int8)
    whole = ((start == 0) | ~problem.supports).all(axis=1)
    support[whole] = WHOLE
    polished = Program(problem).solve(support, np.clip(start, 1e-9, 1.0))
    return best if polished is None else _best(problem, best, problem.answer(polished.table))

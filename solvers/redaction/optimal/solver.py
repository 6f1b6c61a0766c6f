"""The optimal local redaction of a binary chain with one private record, or with several far apart, with a proved bound.

Given the private record, the two sides' outputs are independent, so their leakages add by direction: a left side
with budgets (c0, c1) leaves (epsilon - c0, epsilon - c1) to the right. A side releases one label early, from a
distance that spends a fixed part of one direction. Either one side is redacted for good, or both release the
same label early (share the other direction), or they release different labels (each is left with what the other
does not spend: nothing to search). The published mechanism is 3R: Massny, Bitar, Ye, El Rouayheb, "Between Close
Enough to Reveal and Far Enough to Protect", Section IV; different labels on the two sides are not considered there.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import takewhile
from typing import ClassVar, TypeAlias

import numpy as np

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import OUT_OF_TIME, Budget, Guarantee, Proposal, Solver
from privopt.problems.redaction.bound import Dual, Setting
from privopt.problems.redaction.dual import setting, utility_bound
from privopt.problems.redaction.problem import Redaction
from privopt.problems.redaction.track import Clock
from privopt.solvers.redaction.optimal.arms import Answer, Arm, prepare
from privopt.solvers.redaction.optimal.candidates import Pair, Split, pairs, refine, solve_pair, splits
from privopt.solvers.redaction.optimal.parts import apart, side_by_side
from privopt.solvers.redaction.optimal.plans import Plan, redact_all
from privopt.solvers.redaction.optimal.side import Side, Walk, relabel, sides
from privopt.solvers.redaction.optimal.tables import Table, tabulate
from privopt.solvers.redaction.reach import refusal, walked

Arms: TypeAlias = tuple[tuple[Arm, Arm], tuple[Arm, Arm]]

SMALLEST, FINEST = 128, 32768
"""Nodes of the first tables and of the largest."""
ALIKE = 2000
"""Nodes up to which tables take nearly the same time: with so many, twice as long as with few."""
TARGET = 5e-7
"""Share of the utility that the bound may leave open."""
FAINT = 1e-12
"""Influence, in nats, up to which records are counted that the private one influences."""

SECONDS_A_ROW = 4e-3
"""Of the smallest value tables, four of them."""
FEWEST, FIRST = 20, 48
"""Rows of the coarsest tables, and of those that are tried first."""
LONG = 2000
"""Records that the private one influences from which tables take seconds, and have more of the time."""
CHECKABLE = 0.6
"""Share of the time in which tables must be ready: they are made again where their bound is checked."""
_POLISHED = 40
_STALLED = 6


@register
@dataclass(frozen=True)
class Optimal(Solver[Redaction]):
    """Every stationary point of a scalar control problem on each side, and every way to share the budget.

    The optimum redacts near, releases far, and between them releases one label with a probability that
    grows with distance; with records on both sides it may release different labels on the two. The bound
    comes from piecewise linear value tables, which the problem computes again by itself.
    """

    solves: ClassVar = Redaction
    name: ClassVar[str] = "optimal"

    bound: bool = True

    def guarantee(self, problem: Redaction) -> Guarantee:
        """Bounded: the gap is stated, and closed on small and fast-mixing chains."""
        return Guarantee.BOUNDED if self.bound else Guarantee.FEASIBLE

    def cost(self, problem: Redaction) -> float:
        """Fractions of a second, growing with the records that the private one still influences: many, where a chain forgets slowly."""
        several = min(len(problem.private), problem.period or len(problem.private))  # middle parts are alike
        share = problem.length / len(problem.private)
        each = 3e-3 * min(share, walked(problem, FAINT))
        return several * (0.12 + each) + 4e-7 * problem.length

    def refuse(self, problem: Redaction) -> str | None:
        """Refuse more than two states, or private records between which the stream cannot be cut."""
        several = len(problem.private) > 1
        why = refusal(problem, local="it optimises local mechanisms", binary=True)
        return apart(problem) if several and why is None else why

    def run(self, problem: Redaction, budget: Budget) -> Proposal:
        """Propose the optimum and a bound; half of the time at least is left for the bound."""
        p, *others = problem.private
        if others:
            return side_by_side(problem, budget, self.run)
        if np.count_nonzero(problem.chain.marginal(p)) < 2:
            return Proposal(problem.answer(np.zeros((problem.length, 2))), 1.0, {})
        left, right = sides(problem, p)
        searching = budget.earlier(2 / 3 if walked(problem, FAINT) > LONG else 1 / 2)
        before, after, how = best_mechanism(left, right, problem.epsilon, lambda: searching.remaining)
        mechanism = problem.answer(around(p, before, after))
        stats = {k: v for k, v in asdict(how).items() if k != "cost"}
        budget.progress(0.5, "mechanism found, bounding")
        if not self.bound or math.isinf(problem.epsilon):
            return Proposal(mechanism, stats=stats)
        try:
            known = setting(problem, lambda: 0.8 * budget.remaining)
            utility = problem.evaluate(mechanism).utility
            target = TARGET * max(min(1.0, utility), 1e-6)
            reached = utility_bound(problem, 0.0)[1] - utility
            cost, dual = lower_cost(known, target, lambda: 0.8 * budget.remaining, reached)
        except (ArithmeticError, TimeoutError) as cause:
            stats["no tables"] = str(cause) or OUT_OF_TIME
            if isinstance(cause, TimeoutError):
                stats["stop"] = OUT_OF_TIME
            return Proposal(mechanism, utility_bound(problem, 0.0)[1], {}, stats=stats)
        bound = utility_bound(problem, cost, known)[1]
        if dual["nodes"] < FINEST and bound > utility + 2 * target:
            stats["stop"] = OUT_OF_TIME
        return Proposal(mechanism, bound, dual, stats=stats)


def around(private: int, left: Floats, right: Floats) -> Floats:
    """The table of redaction probabilities with these by distance on both sides of a private record."""
    table = np.ones((len(left) + 1 + len(right), 2))
    table[:private], table[private + 1 :] = left[::-1], right
    return np.clip(table, 0.0, 1.0)


def lower_cost(
    setting: Setting, target_gap: float, clock: Clock, reached: float = math.inf
) -> tuple[float, Dual]:
    """A lower bound on the expected weighted redactions, and what :meth:`Setting.bound` needs to find it again.

    Parameters
    ----------
    setting
        Both sides and the budget.
    target_gap
        Tables are refined until the bound is estimated to be this close to the optimum, or is to what is reached:
        utility that the bound may leave open, a share of the mechanism's.
    clock
        Seconds left; the next refinement is not started when it would not fit.
    reached
        The cost of a mechanism that is known.
    """
    best, dual = 0.0, Dual(nodes=64, rows=1, share=target_gap / 4)
    previous, size, rows = Step(), SMALLEST, int(np.clip(clock() / 2 / SECONDS_A_ROW, FEWEST, 2000))
    rows = min(rows, max(FEWEST, *(track.length for track in setting.tracks)))
    if reached < math.inf and rows > 2 * FIRST:  # few rows will often do, where the first releases are near
        attempt = Dual(nodes=size, rows=FIRST, share=target_gap / 4)
        try:
            bound = setting.bound(attempt, _until(clock, (1 - CHECKABLE) * clock()))
        except TimeoutError:
            return best, dual
        if bound > best:
            best, dual = bound, attempt
        if best >= reached - target_gap / 2:
            return best, dual
    while True:
        begun = time.monotonic()
        attempt = Dual(nodes=size, rows=rows, share=target_gap / 4)
        try:
            bound = setting.bound(attempt, _until(clock, (1 - CHECKABLE) * clock()))
        except TimeoutError:
            if dual["rows"] > 1 or rows <= FEWEST:
                return best, dual
            rows = FEWEST
            continue
        if bound > best:
            best, dual = bound, attempt
        if best >= reached - target_gap / 2:
            return best, dual
        step = Step(size, bound, time.monotonic() - begun)
        enough = step.enough(previous, target_gap / 2)
        size = min(enough, FINEST, step.affordable(CHECKABLE * clock()))
        if size <= step.size:
            return best, dual
        previous = step


@dataclass(frozen=True)
class Step:
    """Tables that were made: their nodes, the bound that they prove, and the seconds that they took."""

    size: int = 0
    bound: float = -math.inf
    seconds: float = 0.0

    def enough(self, before: Step, error: float) -> int:
        """Nodes, a power of two, with which the bound is expected to err by no more: errors fall with the square of the size.

        No more than there are where it does not err by more already, and four times as many after the first tables.
        """
        if math.isinf(before.bound):
            return 4 * self.size
        left = (self.bound - before.bound) / ((self.size / before.size) ** 2 - 1)
        return self.size << math.ceil(math.log2(max(left / error, 1.0)) / 2)

    def affordable(self, seconds: float) -> int:
        """Nodes, a power of two, of the largest tables that some seconds are expected to do for."""
        smallest = max(self.seconds / (1 + self.size / ALIKE), 1e-9)  # only the number of rows counts
        nodes = (min(seconds, smallest * FINEST) / smallest - 1) * ALIKE
        return 1 << math.floor(math.log2(max(1.0, nodes)))


def _until(clock: Clock, rest: float) -> Clock:
    """A clock that stops so many seconds earlier, if it stops at all."""
    return clock if rest == math.inf else lambda: clock() - rest


@dataclass(frozen=True)
class Stats:
    """How an answer came about.

    Parameters
    ----------
    cost
        Expected weighted redactions on both sides.
    form
        See :attr:`Answer.form`.
    candidates, polished
        Candidates ranked by table, and how many of them were solved exactly.
    complete
        Whether every candidate was looked at in time.
    """

    cost: float
    form: str
    candidates: int = 0
    polished: int = 0
    complete: bool = True


def best_mechanism(left: Side, right: Side, epsilon: float, deadline: Clock) -> tuple[Floats, Floats, Stats]:
    """Redaction probabilities by distance and value that cost least while leaking at most ``epsilon``.

    Parameters
    ----------
    left, right
        The two sides of the private record.
    epsilon
        Budget in nats, at least 0.
    deadline
        Seconds left; once it is not positive, the best mechanism so far is returned.
    """
    walks = (relabel(left), relabel(right))
    if epsilon == np.inf:
        answer, stats = Answer(Plan(0.0, 1), Plan(0.0, 1)), Stats(0.0, "window")
    elif epsilon == 0:
        answer = Answer(redact_all(walks[0]), redact_all(walks[1]))
        stats = Stats(answer.cost, "window")
    else:
        answer, stats = _search(walks, epsilon, deadline)
    chosen = [walk.flipped() if branch else walk for walk, branch in zip(walks, answer.branches, strict=True)]
    return spread(chosen[0], answer.left, left.length), spread(chosen[1], answer.right, right.length), stats


def spread(walk: Walk, plan: Plan, length: int) -> Floats:
    """Redaction probabilities ``(length, 2)`` of a plan, in the original labels."""
    redaction = np.zeros((length, 2))
    redaction[: min(plan.last, walk.length)] = 1
    for distance, probability in enumerate(plan.probabilities, plan.first):
        redaction[distance - 1, int(walk.swapped[walk.index(distance)])] = probability
    return redaction


def _search(walks: tuple[Walk, Walk], epsilon: float, deadline: Clock) -> tuple[Answer, Stats]:
    near, best = prepare(walks, epsilon)
    arms = ((near[0], near[0].flipped()), (near[1], near[1].flipped()))
    best = min((best, *_one_sided(arms, epsilon, best.cost)), key=lambda answer: answer.cost)
    if min(walk.length for walk in walks) == 0 or best.cost <= 0:
        return best, Stats(best.cost, best.form)
    candidates, complete = _ranked(arms, epsilon, best.cost, deadline)
    polished, worst, stalled = 0, 1e-9, 0
    for candidate in candidates:
        # Neighbouring first distances lead to one mechanism (starting early is allowed to do nothing), so
        # several that bring nothing are the same answer again.
        if candidate.estimate - 2 * worst >= best.cost or stalled >= _STALLED:
            break
        if polished >= _POLISHED or deadline() <= 0:
            complete = False
            break
        answer = _solve(arms, epsilon, candidate)
        polished, worst = polished + 1, max(worst, candidate.estimate - answer.cost)
        stalled = 0 if answer.cost < best.cost * (1 - 1e-11) else stalled + 1
        best = min(best, answer, key=lambda known: known.cost)
    return best, Stats(best.cost, best.form, len(candidates), polished, complete)


def _one_sided(arms: Arms, epsilon: float, limit: float) -> Iterator[Answer]:
    """One side is redacted for good, the other may spend everything in both directions."""
    for side in (0, 1):
        other = redact_all(arms[1 - side][0].walk)
        for branch, arm in enumerate(arms[side]):
            first = int(arm.first(epsilon))
            if first <= arm.count and other.cost + arm.known.spent[first - 1] < limit:
                plan = arm.plan(first, epsilon, limit - other.cost)
                plans = (plan, other) if side == 0 else (other, plan)
                limit = min(limit, plan.cost + other.cost)
                yield Answer(*plans, (branch, branch))


def _ranked(arms: Arms, epsilon: float, limit: float, deadline: Clock) -> tuple[list[Split | Pair], bool]:
    tables = _tables(arms, limit, deadline)
    candidates: list[Split | Pair] = []
    for branch in (0, 1):
        same = (tables[0][branch], tables[1][branch])
        different = (tables[0][branch], tables[1][1 - branch])
        candidates += _in_time(
            splits(arms[0][branch], arms[1][branch], same, epsilon, limit, branch), deadline
        )
        candidates += _in_time(
            pairs(arms[0][branch], arms[1][1 - branch], different, epsilon, limit, branch, deadline), deadline
        )
    complete = deadline() > 0 and all(table.complete for side in tables for table in side)
    return sorted(candidates, key=lambda candidate: candidate.estimate), complete


def _in_time(candidates: Iterator[Split] | Iterator[Pair], deadline: Clock) -> Iterator[Split | Pair]:
    return takewhile(lambda _: deadline() > 0, candidates)


def _tables(arms: Arms, limit: float, deadline: Clock) -> list[list[Table]]:
    """Tables by side and branch; sides with the same steps and weights share those of the longer one."""
    long, short = sorted((0, 1), key=lambda side: -arms[side][0].walk.length)
    tables = {long: [tabulate(arm.walk, limit, deadline) for arm in arms[long]]}
    if _alike(arms[long][0].walk, arms[short][0].walk) and tables[long][0].by_rest:
        tables[short] = tables[long]
    else:
        tables[short] = [tabulate(arm.walk, limit, deadline) for arm in arms[short]]
    return [tables[0], tables[1]]


def _alike(one: Walk, other: Walk) -> bool:
    """Whether rows by rest of one are rows by rest of the other."""
    if one.period != 1 or other.period != 1:
        return False
    same_steps = bool(one.cross == other.cross) and bool(one.back == other.back)
    return same_steps and np.array_equal(one.weights, other.weights)


def _solve(arms: Arms, epsilon: float, candidate: Split | Pair) -> Answer:
    branch = candidate.branch
    if isinstance(candidate, Split):
        return refine(arms[0][branch], arms[1][branch], epsilon, candidate)
    return solve_pair(arms[0][branch], arms[1][1 - branch], epsilon, candidate, (branch, 1 - branch))

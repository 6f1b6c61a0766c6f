"""Sequential redaction of a binary chain: local searches over controls, the most promising shares of the budget first.

One side of a sequential redaction: release one label early, then everything from the first release on.

While nothing is released the chance of it and both rows of the transfer matrix shrink by the same
controls q, so the expected number of hidden records and the log-ratio that a full release would show are
polynomials in q, with gradients by one sweep back.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias

import numpy as np

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solution import TOLERANCE
from privopt.core.solver import OUT_OF_TIME, Budget, Guarantee, Proposal, Solver
from privopt.measures.redaction.leakage import release_probabilities
from privopt.problems.redaction.bound import Dual, Setting
from privopt.problems.redaction.dual import WORK, setting, utility_bound, work
from privopt.problems.redaction.problem import Redaction
from privopt.solvers.common.slsqp import minimise
from privopt.solvers.redaction._estimates import SHARES, Estimate, estimates
from privopt.solvers.redaction.optimal.arms import Answer, Arm, prepare
from privopt.solvers.redaction.optimal.plans import Plan, redact_all
from privopt.solvers.redaction.optimal.side import relabel, sides
from privopt.solvers.redaction.optimal.solver import TARGET, around, best_mechanism, spread
from privopt.solvers.redaction.reach import refusal

Step: TypeAlias = tuple[float, float, float, float]
"""A matrix of two rows."""
Swept: TypeAlias = tuple[float, Floats, float, Floats]
"""Cost and log-ratio, each with its gradient."""
PATIENCE = 3
"""A search over the number of partial records ends after so many that brought nothing."""


@dataclass(frozen=True, eq=False)
class SequentialArm:
    """One branch of one side, with the distribution of the private record in its labels."""

    arm: Arm
    prior: Floats

    def step(self, distance: int) -> Step:
        """The step into a distance, row by row."""
        walk, i = self.arm.walk, self.arm.walk.index(distance)
        a, b = float(walk.cross[i]), float(walk.back[i])
        return 1 - a, a, b, 1 - b

    def weight(self, distance: int) -> float:
        """Weight of the record at a distance."""
        return float(self.arm.walk.weights[self.arm.walk.index(distance)].sum())

    def best(self, first: int, budget: float, remaining: Callable[[], float]) -> Plan:
        """The cheapest plan met whose first release is at a distance, within a budget of the other direction."""
        length, best, worse = self.arm.walk.length, None, 0
        start = np.empty(0)
        for last in range(first - 1, length + 1):
            problem = _Controls(self, first, last, budget, remaining)
            plan, start = problem.solve(start)
            if plan is not None and (best is None or plan.cost < best.cost - 1e-12):
                best, worse = plan, 0
            elif best is not None:
                worse += 1
            if remaining() <= 0 or (best is not None and (worse >= PATIENCE or not best.probabilities)):
                break
        return best if best is not None else Plan(self.arm.walk.total, length + 1)


class _Controls:
    """Controls q of the distances first .. last; everything is released from last + 1 on."""

    def __init__(
        self, side: SequentialArm, first: int, last: int, budget: float, remaining: Callable[[], float]
    ) -> None:
        self.first, self.last, self.budget, self.remaining = first, last, budget, remaining
        length = side.arm.walk.length
        known = side.arm.known
        i = first - 1
        cross, back = (float(known.cross[i - 1]), float(known.back[i - 1])) if i else (0.0, 0.0)
        one, two = side.prior.tolist()
        self.rows: Step = (1 - cross, cross, back, 1 - back)
        self.alive = one * (1 - cross) + two * back, one * cross + two * (1 - back)
        self.spent = float(known.spent[first - 1])
        self.steps = [side.step(d) for d in range(first, last + 1)]
        self.weights = [side.weight(d) for d in range(first, last + 1)]
        self.end = side.step(last + 1)[1::2] if last < length else (1.0, 1.0)
        self._swept: tuple[bytes, Swept] | None = None

    def sweep(self, q: Floats) -> Swept:
        """Cost and log-ratio of the first full release, with their gradients; the last ones are remembered.

        Raises
        ------
        TimeoutError
            If no time is left.
        """
        key = q.tobytes()
        if self._swept is None or self._swept[0] != key:
            if self.remaining() <= 0:
                raise TimeoutError
            self._swept = key, self._sweep(q.tolist())
        return self._swept[1]

    def _sweep(self, q: list[float]) -> Swept:
        """Two by two matrices, entry by entry: arrays so small take ten times as long."""
        (a0, a1), (r00, r01, r10, r11) = self.alive, self.rows
        cost, before = self.spent, []
        for (s00, s01, s10, s11), weight, x in zip(self.steps, self.weights, q, strict=True):
            b0, b1 = a0 * s00 + a1 * s10, a0 * s01 + a1 * s11
            p00, p01 = r00 * s00 + r01 * s10, r00 * s01 + r01 * s11
            p10, p11 = r10 * s00 + r11 * s10, r10 * s01 + r11 * s11
            before.append((b0, p00, p10))
            a0, a1, r00, r01, r10, r11 = b0 * x, b1, p00 * x, p01, p10 * x, p11
            cost += weight * (a0 + a1)
        u0, u1 = self.end
        low, high = r00 * u0 + r01 * u1, r10 * u0 + r11 * u1
        level = (math.log(high) if high > 0 else -math.inf) - (math.log(low) if low > 0 else -math.inf)
        t0 = t1 = 0.0
        d_cost, d_level = np.empty(len(q)), np.empty(len(q))
        for i in range(len(q) - 1, -1, -1):
            (b0, p00, p10), (s00, s01, s10, s11), x = before[i], self.steps[i], q[i]
            t0, t1 = t0 + self.weights[i], t1 + self.weights[i]
            d_cost[i] = b0 * t0
            d_level[i] = (_over(p10, high) - _over(p00, low)) * u0
            t0, t1 = s00 * x * t0 + s01 * t1, s10 * x * t0 + s11 * t1
            u0, u1 = s00 * x * u0 + s01 * u1, s10 * x * u0 + s11 * u1
        return cost, d_cost, level, d_level

    def solve(self, start: Floats) -> tuple[Plan | None, Floats]:
        """The best controls, from the shorter plan's; None where none fits the budget."""
        count = self.last - self.first + 1
        try:
            if self.sweep(np.ones(count))[2] > self.budget:
                return None, start  # controls of 1 show the least
            if count == 0:
                return Plan(self.spent, self.first), start
            padded = np.full(count, start[-1] if len(start) else 0.5)
            padded[: len(start)] = start
            return self._search(padded)
        except TimeoutError:
            return None, start

    def _search(self, start: Floats) -> tuple[Plan | None, Floats]:
        def cost(q: Floats) -> tuple[float, Floats]:
            return self.sweep(q)[:2]

        def slack(q: Floats) -> tuple[Floats, Floats]:
            _, _, level, slope = self.sweep(q)
            return np.array([self.budget - level]), -slope[None]

        q = minimise(cost, slack, start, 1e-9, 1.0)
        total, _, level, _ = self.sweep(q)
        if level > self.budget + 1e-9:
            return None, start
        return Plan(total, self.first, tuple(q.tolist())), q


def _over(part: float, whole: float) -> float:
    return part / whole if whole else math.inf


Arms = tuple[SequentialArm, SequentialArm]
_SPLITS = 9
_LARGEST = 600.0  # nats that are split where the budget is more: what is above releases all
_FINE = 4e-5  # share of epsilon to which a split is searched
_ALIKE = 1e-7
"""Part of the cost that no further search is worth."""
_SEARCHED = 0.35
"""Part of the time for searches: a bound takes the rest, half of it to be proved again."""
_BRIEF = 1.0
"""Seconds of a first attempt, so that a longer limit makes no one wait."""
_QUICK = 0.5
"""Share of the time that it may take; where it would take more there is one attempt only."""
_CLOSED = 0.9
"""Part of the gap that counts as none with which it ends."""
_COARSE = Dual(nodes=32, rays=5, share=TARGET)
"""Tables that say where to search."""
_SHORT = 64
"""Rows up to which the first tables of a bound are finer: these take a fraction of a second."""
_FEW, _BEYOND = 32, 1.2
"""Records that tables reach at first, and how many more for each that the best window hides on a side: what is farther away hardly counts."""
_GROWTH = 12
"""Tables finer by half take 3.4 times as long, longer ones up to six times, and as long again to be checked."""


@register
@dataclass(frozen=True)
class Sequential(Solver[Redaction]):
    """Release one label early on each side and everything beyond the first release.

    Given what is released first on a side, the records beyond it say nothing more of the private one, so
    they are free. The constraints are those of local redaction (Massny et al., Section II); the cost of a
    record is the chance that nothing up to it was released. The optimal local mechanism is the start.
    """

    solves: ClassVar = Redaction
    name: ClassVar[str] = "sequential"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BOUNDED
    """Bounded: value tables, which the problem computes again by itself, bound what the local searches leave."""

    def cost(self, problem: Redaction) -> float:
        """Seconds, growing with the records that the private one still influences."""
        return 1.0 + 0.05 * min(problem.length, 100)

    def refuse(self, problem: Redaction) -> str | None:
        """Refuse local mechanisms and chains of more than two states."""
        if problem.form != "sequential":
            return f"it makes sequential mechanisms, this problem asks for form {problem.form!r}"
        return refusal(problem, binary=True)

    def run(self, problem: Redaction, budget: Budget) -> Proposal:
        """Propose the best table, the optimal local one at worst, and a bound; most of the time is left for the bound."""
        (p,) = problem.private
        if np.count_nonzero(problem.chain.marginal(p)) < 2:
            return Proposal(problem.answer(np.zeros((problem.length, 2))), 1.0, {})
        known = _setting(problem, budget.earlier(1 - _SEARCHED))
        brief = replace(budget, deadline=min(budget.deadline, time.monotonic() + _BRIEF))
        if known is None or brief.remaining >= _QUICK * budget.remaining:
            return _attempt(problem, known, budget, (0.0, Dual())).proposal
        short = _attempt(problem, known, brief, (0.0, Dual()))
        if short.closed:
            return short.proposal
        longer = _attempt(problem, known, budget, short.proved)
        if longer.utility >= short.utility:
            return longer.proposal
        return replace(longer.proposal, mechanism=short.proposal.mechanism)


@dataclass(frozen=True, eq=False)
class _Attempt:
    """What was reached, its utility, whether that is all, and the cost that is proved with its dual."""

    proposal: Proposal
    utility: float
    closed: bool
    proved: tuple[float, Dual]


def _attempt(
    problem: Redaction, known: Setting | None, budget: Budget, proved: tuple[float, Dual]
) -> _Attempt:
    """A search, and a bound in the rest of the time."""
    search = budget.earlier(1 - _SEARCHED)
    mechanism = problem.answer(_searched(problem, known, lambda: search.remaining))
    utility = problem.evaluate(mechanism).utility
    if known is None or math.isinf(problem.epsilon):
        return _Attempt(Proposal(mechanism, utility_bound(problem, 0.0)[1], {}), utility, True, proved)
    if problem.utility_chain is not problem.chain:
        # the tables count the records by the chain that leaks
        return _Attempt(Proposal(mechanism), utility, False, proved)
    budget.progress(_SEARCHED, "mechanism found, bounding")
    scale = max(min(1.0, utility), 1e-6)
    enough = utility + TARGET * scale
    cost, dual = _lower_cost(problem, known, enough, lambda: 0.8 * budget.remaining, proved)
    bound = utility_bound(problem, cost, known if dual else None)[1]
    finer = not dual or work(_finer(dual, _reach(known)), problem.length) <= WORK
    closed = bound <= utility + _CLOSED * TOLERANCE * scale
    stats: dict[str, float | int | str] = {"stop": OUT_OF_TIME} if finer and not closed else {}
    return _Attempt(Proposal(mechanism, bound, dual, stats=stats), utility, closed, (cost, dual))


def _setting(problem: Redaction, budget: Budget) -> Setting | None:
    try:
        return setting(problem, lambda: budget.remaining)
    except (ArithmeticError, TimeoutError):
        return None


def _lower_cost(
    problem: Redaction, known: Setting, enough: float, clock: Callable[[], float], proved: tuple[float, Dual]
) -> tuple[float, Dual]:
    """A lower bound on the cost, by finer and finer tables until the utility left is small; twice the time is kept.

    It goes on from what is proved.
    """
    best, dual = proved
    reach = _reach(known)
    if dual and utility_bound(problem, best, known)[1] <= enough:
        return best, dual
    attempt = _finer(dual, reach) if dual else _rough(_FEW)
    while True:
        before = clock()
        if work(attempt, problem.length) > WORK:
            return best, dual
        try:
            cost = known.bound(attempt, clock)
        except TimeoutError:
            return best, dual
        if cost > best or not dual:
            best, dual = cost, attempt
        if utility_bound(problem, best, known)[1] <= enough or clock() < _GROWTH * (before - clock()):
            return best, dual
        attempt = _finer(attempt, reach)


def _reach(known: Setting) -> int:
    """How many records tables reach: about as many as the best window hides on a side, and some more."""
    hidden = 0
    if known.trivial is None:
        hidden = max(int(np.count_nonzero(side[0].far.spent < known.cap)) for side in known.arms)
    return _FEW + int(_BEYOND * hidden)


def _rough(rows: int) -> Dual:
    """The first tables of so many records."""
    return {**_COARSE, "rows": rows} if rows > _SHORT else {**_COARSE, "rows": rows, "nodes": 48, "rays": 9}


def _finer(dual: Dual, reach: int) -> Dual:
    """Tables that reach farther, or of half as many nodes and rays more."""
    rows = int(dual["rows"])
    if rows < reach:
        return _rough(min(reach, 3 * rows))
    return {**dual, "nodes": 3 * int(dual["nodes"]) // 2, "rays": 3 * (int(dual["rays"]) - 1) // 2 + 1}


def _searched(problem: Redaction, known: Setting | None, clock: Callable[[], float]) -> Floats:
    """The best table of redaction probabilities met."""
    (p,) = problem.private
    left, right = sides(problem, p)
    walks = (relabel(left), relabel(right))
    half = clock() / 2
    local = best_mechanism(left, right, problem.epsilon, lambda: max(0.0, clock() - half))
    near, _ = prepare(walks, problem.epsilon)
    prior = problem.chain.marginal(p)
    one, two = ((SequentialArm(arm, prior), SequentialArm(arm.flipped(), prior[::-1])) for arm in near)
    best: Answer | None = None
    for answer in _answers((one, two), problem.epsilon, known, clock):
        best = answer if best is None or answer.cost < best.cost else best
        if clock() <= 0:
            break
    tables = [around(p, local[0], local[1])]
    if best is not None:
        chosen = [w.flipped() if b else w for w, b in zip(walks, best.branches, strict=True)]
        plans = zip(chosen, (best.left, best.right), (left.length, right.length), strict=True)
        tables.append(around(p, *(spread(*plan) for plan in plans)))
    return min(tables, key=lambda table: _hidden(problem, table))


def _hidden(problem: Redaction, table: Floats) -> float:
    """Expected weight of hidden records."""
    shown = release_probabilities(problem.utility_chain, table, problem.private[0])
    return float((problem.record_weights * (1 - shown)).sum())


def _answers(
    arms: tuple[Arms, Arms], epsilon: float, known: Setting | None, remaining: Callable[[], float]
) -> Iterator[Answer]:
    """One side only; then different labels on the two sides or the same label with a searched split."""
    everything = [redact_all(side[0].arm.walk) for side in arms]
    least = sum(plan.cost for plan in everything)
    for branch in (0, 1):
        for side in (0, 1):
            mine = arms[side][branch]
            first = int(mine.arm.first(epsilon))
            if first <= mine.arm.count:
                plan = mine.best(first, epsilon, remaining)
                plans = (plan, everything[1]) if side == 0 else (everything[0], plan)
                answer = Answer(*plans, (branch, branch))
                least = min(least, answer.cost)
                yield answer
    try:
        ranked = _ranked(known, remaining)
    except TimeoutError:
        ranked = None
    if ranked is None:
        yield from _in_order(arms, epsilon, remaining)
        return
    for estimate in ranked:
        if remaining() <= 0:
            return
        if estimate.cost < least * (1 - _ALIKE):
            answer = _solved(arms, epsilon, estimate, remaining)
            least = min(least, answer.cost)
            yield answer


def _ranked(known: Setting | None, remaining: Callable[[], float]) -> list[Estimate] | None:
    """Ways to release early by what coarse tables say they cost; sides that release different labels come first.

    These share nothing, and take a tenth of the time. None where there are no tables.
    """
    if known is None:
        return None
    found = estimates(known, {**_COARSE, "rows": _reach(known)}, lambda: remaining() / 2)
    return sorted(found, key=lambda estimate: (estimate.share is not None, estimate.cost))


def _solved(
    arms: tuple[Arms, Arms], epsilon: float, estimate: Estimate, remaining: Callable[[], float]
) -> Answer:
    """The best plans of an estimate's form."""
    left, right = (side[branch] for side, branch in zip(arms, estimate.branches, strict=True))
    if estimate.share is None:
        budgets = [
            max(0.0, epsilon - float(other.arm.leaks[0][first - 1]))
            for other, first in zip((right, left), estimate.firsts[::-1], strict=True)
        ]
        plans = [
            arm.best(first, budget, remaining)
            for arm, first, budget in zip((left, right), estimate.firsts, budgets, strict=True)
        ]
        return Answer(plans[0], plans[1], estimate.branches)
    step = min(epsilon, _LARGEST) / SHARES
    span = max(0.0, estimate.share - step), min(epsilon, estimate.share + step)
    return _split(left, right, estimate.firsts, epsilon, (estimate.branches[0], span), remaining)


def _in_order(arms: tuple[Arms, Arms], epsilon: float, remaining: Callable[[], float]) -> Iterator[Answer]:
    """Every form from near to far, where there are no tables."""
    for branch in (0, 1):
        left, right, other = arms[0][branch], arms[1][branch], arms[1][1 - branch]
        for dl in range(1, left.arm.count + 1):
            rest = epsilon - float(left.arm.leaks[0][dl - 1])  # not a number where both are infinite
            if not rest >= 0 or remaining() <= 0:
                continue
            yield from _different(left, other, dl, rest, epsilon, branch, remaining)
            dr = int(right.arm.first(rest))
            if dr <= right.arm.count:
                yield _same(left, right, (dl, dr), epsilon, branch, remaining)


def _different(
    left: SequentialArm,
    right: SequentialArm,
    dl: int,
    rest: float,
    epsilon: float,
    branch: int,
    remaining: Callable[[], float],
) -> Iterator[Answer]:
    """Each side's first release fixes what the other may spend; only undominated pairs need a look."""
    for dr in range(1, right.arm.count + 1):
        budget = epsilon - float(right.arm.leaks[0][dr - 1])
        if budget < 0 or remaining() <= 0:
            continue
        one, two = left.best(dl, budget, remaining), right.best(dr, rest, remaining)
        yield Answer(one, two, (branch, 1 - branch))
        if one.first == dl and not one.probabilities:
            return  # a farther release on the right cannot lower the left any more


def _same(
    left: SequentialArm,
    right: SequentialArm,
    firsts: tuple[int, int],
    epsilon: float,
    branch: int,
    remaining: Callable[[], float],
) -> Answer:
    """A grid over the split of the shared direction, then a search around its best point."""
    grid = min(epsilon, _LARGEST) * np.linspace(0.0, 1.0, _SPLITS)

    def cost(share: float) -> float:
        if remaining() <= 0:
            return math.inf
        plans = left.best(firsts[0], share, remaining), right.best(firsts[1], epsilon - share, remaining)
        return plans[0].cost + plans[1].cost

    i = int(np.argmin([cost(float(share)) for share in grid]))
    span = float(grid[max(0, i - 1)]), float(grid[min(_SPLITS - 1, i + 1)])
    return _split(left, right, firsts, epsilon, (branch, span), remaining)


def _split(
    left: SequentialArm,
    right: SequentialArm,
    firsts: tuple[int, int],
    epsilon: float,
    where: tuple[int, tuple[float, float]],
    remaining: Callable[[], float],
) -> Answer:
    """The best answer met on a search for the split of the shared direction, of a branch and between two shares."""
    from scipy.optimize import minimize_scalar

    branch, span = where
    tried: list[Answer] = []

    def cost(share: float) -> float:
        if tried and remaining() <= 0:
            return float(left.arm.walk.total + right.arm.walk.total)
        plans = left.best(firsts[0], share, remaining), right.best(firsts[1], epsilon - share, remaining)
        tried.append(Answer(*plans, (branch, branch)))
        return tried[-1].cost

    cost(sum(span) / 2)
    minimize_scalar(cost, bounds=span, method="bounded", options={"xatol": _FINE * min(epsilon, _LARGEST)})
    return min(tried, key=lambda answer: answer.cost)

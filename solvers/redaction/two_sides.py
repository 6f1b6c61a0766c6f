"""The optimal local redaction mechanism of a binary chain with one private record.

Given the private record, the two sides' outputs are independent, so their leakages add by direction: a left side
with budgets (c0, c1) leaves (epsilon - c0, epsilon - c1) to the right. A side releases one label early, from a
distance that spends a fixed part of one direction. Either one side is redacted for good, or both release the
same label early (share the other direction), or they release different labels (each is left with what the other
does not spend: nothing to search). The published mechanism is 3R: Massny, Bitar, Ye, El Rouayheb, "Between Close
Enough to Reveal and Far Enough to Protect", Section IV; different labels on the two sides are not considered there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import takewhile

import numpy as np

from privopt.arrays import Floats
from privopt.problems.redaction.side import Side, Walk, relabel
from privopt.solvers.redaction._arms import Answer, Arm, prepare
from privopt.solvers.redaction._one_side import Plan, redact_all
from privopt.solvers.redaction._opposite import Pair, pairs, solve_pair
from privopt.solvers.redaction._split import Split, refine, splits
from privopt.solvers.redaction._tables import Table, tabulate

Arms = tuple[tuple[Arm, Arm], tuple[Arm, Arm]]
_POLISHED = 40
_STALLED = 6


@dataclass(frozen=True)
class Stats:
    """How the answer was found.

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


def best_mechanism(
    left: Side, right: Side, epsilon: float, deadline: Callable[[], float]
) -> tuple[Floats, Floats, Stats]:
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


def _search(walks: tuple[Walk, Walk], epsilon: float, deadline: Callable[[], float]) -> tuple[Answer, Stats]:
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


def _ranked(
    arms: Arms, epsilon: float, limit: float, deadline: Callable[[], float]
) -> tuple[list[Split | Pair], bool]:
    tables = _tables(arms, limit, deadline)
    found: list[Split | Pair] = []
    for branch in (0, 1):
        same = (tables[0][branch], tables[1][branch])
        different = (tables[0][branch], tables[1][1 - branch])
        found += _in_time(splits(arms[0][branch], arms[1][branch], same, epsilon, limit, branch), deadline)
        found += _in_time(
            pairs(arms[0][branch], arms[1][1 - branch], different, epsilon, limit, branch, deadline), deadline
        )
    complete = deadline() > 0 and all(table.complete for side in tables for table in side)
    return sorted(found, key=lambda candidate: candidate.estimate), complete


def _in_time(
    found: Iterator[Split] | Iterator[Pair], deadline: Callable[[], float]
) -> Iterator[Split | Pair]:
    return takewhile(lambda _: deadline() > 0, found)


def _tables(arms: Arms, limit: float, deadline: Callable[[], float]) -> list[list[Table]]:
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

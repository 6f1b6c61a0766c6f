"""A component solved from the inside: the interior-point method over few pairs, and again with those that its answer breaks."""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits

from privopt.arrays import Bools, Floats, Ints
from privopt.core.solver import Budget
from privopt.measures.compiling import numba_installed
from privopt.solvers.metric_privacy._interior import Interior, Rows
from privopt.solvers.metric_privacy._parts import Answer, Part

LEAST_ROWS, MOST_ROWS = 20_000, 3_000_000
"""Rows of pairs by outputs for which the method is used: simplex steps take no longer for fewer, and memory limits more."""

MOST_POINTS = 2_000
"""Points of a component: a step adds up inverses of this size."""

THIN = 1e-6
"""Pairs that promise a factor nearer to 1 leave next to no inside."""

SPARSE = 8
"""Pairs a point up to which the method begins with all of them but those that chains imply."""

IMPLIED, NEARLY = 1e-12, 0.02
"""A pair is left out at first if a chain of two others is longer by no more than this share, in sparse parts and in others."""

ROUGH, CLOSE = 1e-2, 1e-8
"""Gaps relative to the cost at which broken pairs are looked for, and at which it ends."""

BROKEN = 1e-10
"""Violations above this, relative to the scale of a row, are rows that are added."""

BLOCK = 2**22
"""Lengths of chains that are compared at a time."""

ROUNDS = 20


def solve_inside(part: Part, answer: Answer, budget: Budget) -> bool:
    """Solve a part from the inside and enter what it gives; False where the method does not suit it or does not close in."""
    rows = len(part.first) * part.cost.shape[1]
    if not LEAST_ROWS < rows or len(part.points) > MOST_POINTS or not numba_installed():
        return False
    above = part.cost - part.cost.min(axis=1, keepdims=True)
    unit = float(above.mean())
    if float(part.growth.min()) < 1.0 + THIN or unit == 0.0:
        return False
    import scipy.linalg  # noqa: F401 - only what is loaded is limited

    # several threads wait for each other in loops where the machine is busy, and gain nothing on tables of this size
    with threadpool_limits(1, user_api="blas"):
        return _solved(part, above / unit, unit, answer, budget)


def _solved(part: Part, cost: Floats, unit: float, answer: Answer, budget: Budget) -> bool:
    needed, outputs = _needed(part), cost.shape[1]
    for _ in range(ROUNDS):
        if 2 * int(needed.sum()) * outputs > MOST_ROWS:
            return False
        chosen = np.flatnonzero(np.concatenate([needed, needed]))
        inside, matrix, broken = _round(part, chosen, cost, budget)
        answer.rounds += 1
        answer.iterations += inside.steps
        late = budget.remaining <= 0
        if late or not broken.any():
            scale = part.scaling[chosen, None] * unit
            _enter(part, answer, chosen, matrix, inside.multipliers * scale)
            return not late and inside.closed(CLOSE)
        needed |= broken
    return False


def _round(part: Part, chosen: Ints, cost: Floats, budget: Budget) -> tuple[Interior, Floats, Bools]:
    """Solve over some ordered pairs, roughly if the answer breaks others: the method, the answer, and which pairs it breaks."""
    n, m = cost.shape
    inside = Interior(cost, Rows(part.first[chosen], part.second[chosen], part.growth[chosen], n))
    state = inside.start(np.full((n, m), 1.0 / m))
    broken = np.zeros(len(part.first) // 2, dtype=bool)
    for gap in (ROUGH, CLOSE):
        state = inside.run(state, budget, gap)
        broken = _broken(part, state.x)
        broken[chosen[: len(chosen) // 2]] = False
        if broken.any():
            break
    return inside, state.x, broken


def _broken(part: Part, matrix: Floats) -> Bools:
    """Which pairs some output breaks, one way or the other."""
    half = len(part.first) // 2
    broken = np.zeros(half, dtype=bool)
    for begin in range(0, half, max(1, BLOCK // matrix.shape[1])):
        k = slice(begin, begin + max(1, BLOCK // matrix.shape[1]))
        a, b = matrix[part.first[:half][k]], matrix[part.second[:half][k]]
        growth = part.growth[:half][k, None]
        excess = np.maximum(a - growth * b, b - growth * a).max(axis=1)
        broken[k] = excess * part.scaling[:half][k] > BROKEN
    return broken


def _needed(part: Part) -> Bools:
    """Which pairs no chain of two others nearly implies.

    A chain of pairs that are left out is one of shorter pairs, so that the pairs which stay join what all do.
    """
    n, half = len(part.points), len(part.first) // 2
    first, second, nats = part.first[:half], part.second[:half], np.log(part.growth[:half])
    apart = np.full((n, n), np.inf)
    apart[first, second] = apart[second, first] = nats
    longer = 1.0 + (IMPLIED if half <= SPARSE * n else NEARLY)
    needed = np.ones(half, dtype=bool)
    for begin in range(0, half, max(1, BLOCK // n)):
        k = slice(begin, begin + max(1, BLOCK // n))
        needed[k] = (apart[first[k]] + apart[second[k]]).min(axis=1) > longer * nats[k]
    return needed


def _enter(part: Part, answer: Answer, chosen: Ints, matrix: Floats, multipliers: Floats) -> None:
    pairs, outputs = np.nonzero(multipliers > 0)
    answer.take(part, matrix, chosen[pairs], outputs, multipliers[pairs, outputs])

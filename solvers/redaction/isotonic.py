"""The published convex relaxation of 3R, solved exactly by pooling adjacent violators.

Source: Massny, Bitar, Ye, El Rouayheb, "Between Close Enough to Reveal and Far Enough to Protect", Section IV-B and
Appendix A. On one side with budget e, the medium records are those that release only some of their values. Record i
of them releases with probability ``1 - q_i`` and the relaxation asks ``-sum_{j<=i} log q_j <= B_i = e - delta_i``,
delta_i being what the first release beyond can tell. With ``u = -log q`` it minimises ``sum w_i exp(-u_i)`` under
upper bounds on prefix sums.

For equal weights u is the isotonic regression of the increments of B: prefix sums then form the greatest convex
minorant of B, and ``mu_i = exp(-u_i) - exp(-u_{i+1}) >= 0`` (last: ``exp(-u_m)``) are multipliers, zero off its kinks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats
from privopt.solvers.redaction._golden import golden_minimum


@dataclass(frozen=True, eq=False)
class Relaxed:
    """Redaction probabilities by distance and value, and their expected weight."""

    redaction: Floats
    cost: float
    threshold: float = -1.0
    """The largest influence that may be released; below 0 nothing is."""


Programme = Callable[[Floats, Floats], Floats]
"""From bounds on prefix sums and weights to the ``u`` that minimises ``sum weights exp(-u)``."""


def relaxed_side(influences: Floats, weights: Floats, budget: float) -> Floats:
    """Redaction probabilities ``(m, k)`` by distance and value that the relaxation chooses on one side.

    Parameters
    ----------
    influences
        ``(m, k)``: influence of value v at distance d on the private record.
    weights
        ``(m, k)``: weight times probability of that value.
    budget
        What this side may leak.
    """
    return with_regions(influences, weights, budget, budget, pooled)


def with_regions(
    influences: Floats, weights: Floats, budget: float, threshold: float, solve: Programme
) -> Floats:
    """The same with the regions of a smaller budget."""
    released = influences <= threshold
    redaction = np.where(released, 0.0, 1.0)
    small = _first(np.asarray(released.all(axis=1)))
    redaction[small:] = 0
    begin = min(_first(np.asarray(released.any(axis=1))), small)
    if begin == small:
        return redaction
    # A record beyond that releases something tells at most its largest released influence; none tells nothing.
    telling = np.where(released, influences, 0.0).max(axis=1)
    delta = np.append(telling[begin + 1 : small], telling[small] if small < len(influences) else 0.0)
    u = solve(budget - delta, np.where(released, weights, 0.0).sum(axis=1)[begin:small])
    medium = redaction[begin:small]
    redaction[begin:small] = np.where(released[begin:small], np.exp(-u)[:, None], medium)
    return redaction


def _first(flags: np.ndarray) -> int:
    return int(np.argmax(flags)) if flags.any() else len(flags)


def pooled(bounds: Floats, weights: Floats) -> Floats:
    """Minimise ``sum weights exp(-u)`` over ``u >= 0`` with every prefix sum of u at most its bound."""
    from scipy.optimize import isotonic_regression

    increments = np.diff(bounds, prepend=0.0)
    if np.all(weights == weights[0]):
        return np.maximum(isotonic_regression(increments).x, 0.0)
    with np.errstate(divide="ignore"):
        logs = np.log(weights)
    blocks: list[tuple[int, int, float, float]] = []
    for i, increment in enumerate(increments.tolist()):
        start, end, total = i, i + 1, increment
        level = _level(logs[start:end], total)
        # A block's level falls when a lower one joins from the right: merge until levels do not decrease.
        while blocks and blocks[-1][3] >= level:
            start, _, before, _ = blocks.pop()
            total += before
            level = _level(logs[start:end], total)
        blocks.append((start, end, total, level))
    levels = np.concatenate([np.full(end - start, level) for start, end, _, level in blocks])
    with np.errstate(invalid="ignore"):
        u = np.where(np.isneginf(logs), 0.0, logs + levels)
    return np.maximum(u, 0.0)


def _level(logs: Floats, total: float) -> float:
    """The z with ``sum max(0, logs + z) = total``; weightless records leave their budget to the next ones."""
    ordered = np.sort(logs[np.isfinite(logs)])[::-1]
    if total < 0 or len(ordered) == 0:
        return -np.inf if total < 0 else np.inf
    # With the j largest active z = (total - their sum) / j; each needs logs_j + z >= 0.
    candidates = (total - np.cumsum(ordered)) / np.arange(1, len(ordered) + 1)
    active = int(np.flatnonzero(ordered + candidates >= 0)[-1]) if np.any(ordered + candidates >= 0) else 0
    return float(candidates[active])


def best_side(influences: Floats, weights: Floats, budget: float) -> Relaxed:
    """The relaxation with the regions of the best budget up to the one given.

    Regions jump with the budget, so that a larger one may be worse; those of a smaller one stay private.
    """
    best = Relaxed(np.ones_like(weights), float(weights.sum()))
    thresholds = np.unique(influences[influences <= budget])
    worse = 0
    for threshold in thresholds[::-1].tolist():
        if worse >= _PATIENCE or weights[influences > threshold].sum() >= best.cost:
            break
        worse += 1
        redaction = with_regions(influences, weights, budget, threshold, pooled)
        cost = float((weights * redaction).sum())
        if cost < best.cost:
            best, worse = Relaxed(redaction, cost, threshold), 0
    return best


def best_split(
    left_influences: Floats,
    left_weights: Floats,
    right_influences: Floats,
    right_weights: Floats,
    epsilon: float,
    remaining: Callable[[], float] = lambda: np.inf,
) -> tuple[Floats, Floats]:
    """Redaction probabilities of both sides under the best split of epsilon found while seconds remain."""
    one, other, _ = best_parts(
        left_influences, left_weights, right_influences, right_weights, epsilon, remaining
    )
    return one.redaction, other.redaction


def best_parts(
    left_influences: Floats,
    left_weights: Floats,
    right_influences: Floats,
    right_weights: Floats,
    epsilon: float,
    remaining: Callable[[], float] = lambda: np.inf,
) -> tuple[Relaxed, Relaxed, float]:
    """Both sides under the best split of epsilon found, and the left side's share.

    The cost is piecewise smooth in the left side's share and jumps where a region changes, so the shares at which
    one does are tried next to a grid, and the best cells are refined.
    """

    def answer(share: float) -> tuple[Relaxed, Relaxed]:
        return (
            best_side(left_influences, left_weights, share),
            best_side(right_influences, right_weights, epsilon - share),
        )

    def cost(share: float) -> float:
        if remaining() <= 0:
            return np.inf
        one, other = answer(share)
        return one.cost + other.cost

    share = min(_shares(left_influences, right_influences, epsilon, cost), key=cost)
    return *answer(share), share


_GRID, _JUMPS, _REFINED = 33, 48, 3
_PATIENCE = 12  # thresholds tried in a row that brought nothing


def _shares(left: Floats, right: Floats, epsilon: float, cost: Callable[[float], float]) -> list[float]:
    """Shares worth comparing: grid, places where a region changes, and local minima between them."""
    jumps = (_largest(left, epsilon), epsilon - _largest(right, epsilon))
    shares = np.unique(np.concatenate((np.linspace(0, epsilon, _GRID), *jumps)))
    shares = shares[(shares >= 0) & (shares <= epsilon)]
    costs = np.array([cost(share) for share in shares.tolist()])
    found = [float(shares[i]) for i in np.argsort(costs)[:_REFINED]]
    for i in np.argsort(costs)[:_REFINED].tolist():
        cells = [(float(shares[j]), float(shares[j + 1])) for j in (i - 1, i) if 0 <= j < len(shares) - 1]
        for low, high in cells:
            found.append(golden_minimum(cost, low, high, 1e-7 * epsilon))
    return found


def _largest(influences: Floats, epsilon: float) -> Floats:
    return np.unique(influences[influences <= epsilon])[-_JUMPS:]

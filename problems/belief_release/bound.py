"""Upper bounds on the utility of one step, proved from a price for each letter.

The dual is ``{"kind": "structure", "lam": [...]}``, one number a letter. Write L = e^-epsilon and
theta = 1 / (e^epsilon + 1). A channel keeps the bounds exactly when it is (1 - L) K(y | x) + L Q(y) with a kernel K of
output distribution Q and K(y | x) <= Q(y) / theta. So for any numbers nu,

    E[D] = sum nu(x) P(x) + sum over y of Q(y) (L mean of D(., y) + mean of (1 - L) D(x, y) - nu(x) under y's group)

and the group of y has a distribution g of at most P(x) / theta. With c = (1 - L) D(., y) - nu and any threshold t,

    sum g(x) c(x) >= t - sum g(x) max(t - c(x), 0) >= t - sum P(x) max(t - c(x), 0) / theta.

Hence E[D] is at least nu . P plus the least, over y, of L mean of D(., y) and that. The prices give nu = (1 - L) lam,
rounded to floats, which are as good as any; the multipliers of an optimal program prove the optimum. The threshold
of a column lies just below the price at which its cheapest letters weigh theta, so that dearer letters certainly add
nothing, however small theta is. All of it is computed in balls; where little may leak out of much, e^-epsilon is far
below what floats show, and the balls have 192 bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.core.balls import Balls, U
from privopt.core.exact import ball_ceiling, ball_floor
from privopt.core.problem import Enclosure
from privopt.problems.belief_release.data import BeliefData

CELLS = 2**18
"""Distortions that are priced at a time: the bound is the weakest of the bounds of each part."""
PRECISE = 12.0
"""Nats above which small tables are priced in balls of 192 bits."""
PRECISE_CELLS = 4096
_BITS = 192


@dataclass(frozen=True)
class BallLevels:
    """L = e^-level, 1 - L and theta = L / (1 + L), each a ball; at an infinite level exactly 0, 1 and 0."""

    low: Balls
    room: Balls
    theta: Balls

    @classmethod
    def of(cls, level: Balls | float) -> BallLevels:
        """For a level that is known in a ball, or exactly.

        Examples
        --------
        >>> BallLevels.of(math.inf).room.ends
        (1.0, 1.0)
        """
        if level == math.inf:
            return cls(Balls.exact(0.0), Balls.exact(1.0), Balls.exact(0.0))
        low = (-(level if isinstance(level, Balls) else Balls.exact(level))).exp()
        return cls(low, 1.0 - low, low / (1.0 + low))


def check_dual(problem: BeliefData, dual: object) -> Enclosure | None:
    """The enclosure of the upper bound on utility that a dual proves, or None."""
    if not isinstance(dual, dict) or dual.get("kind") != "structure":
        return None
    lam = price_row(dual.get("lam"), len(problem.letters))
    return None if lam is None else structure_enclosure(problem, lam)


def price_row(prices: object, most: int) -> Floats | None:
    """A row of at most so many finite prices; None if it is anything else."""
    if not isinstance(prices, list) or not 0 < len(prices) <= most:
        return None
    if not all(type(price) in (int, float) for price in prices):
        return None
    try:
        row = np.array([float(price) for price in prices])
    except OverflowError:
        return None
    return row if np.isfinite(row).all() else None


def structure_bound(problem: BeliefData, lam: Floats) -> float:
    """The upper bound on utility of prices lam, shape (n,).

    Examples
    --------
    >>> from privopt.problems.belief_release.problem import BeliefRelease
    >>> problem = BeliefRelease([0.85, 0.15], 1.0)
    >>> round(structure_bound(problem, np.zeros(2)), 12), round(structure_bound(problem, np.array([0, 0.5])), 12)
    (-0.055181916176, -0.102590958088)
    """
    enclosure = structure_enclosure(problem, lam)
    return math.inf if enclosure is None else enclosure[1]


def structure_enclosure(problem: BeliefData, lam: Floats) -> Enclosure | None:
    """Floats around the same."""
    if lam.shape != (len(problem.letters),) or not np.isfinite(lam).all():
        return None
    return _enclosed(problem, lam.astype(np.float64).tobytes())


@lru_cache(maxsize=4)
def _enclosed(problem: BeliefData, prices: bytes) -> Enclosure | None:
    """What prices prove; who proposes them and who judges them ask one after the other."""
    lam = np.frombuffer(prices)
    seen = problem.support
    exact = [problem.exact_belief.fraction(int(x)) for x in seen]
    return priced(Balls.fractions(exact), problem.matrix[seen], problem.epsilon, lam[seen], exact)


def priced(
    p: Balls, cost: Floats, level: Balls | float, lam: Floats, exact: Sequence[Any] | None = None
) -> Enclosure | None:
    """Floats around the upper bound on minus the expected distortion that prices prove; None where it is not finite.

    Parameters
    ----------
    p : balls (k,)
        Probabilities of letters.
    cost : array (k, m)
    level : ball, or float
        Nats.
    lam : array (k,)
    exact : sequence of Fraction, optional
        The probabilities themselves.
    """
    least = cost.min(axis=1)
    free = (-(p @ least)).ends if least.any() else (0.0, 0.0)
    nominal = float(level.mid) if isinstance(level, Balls) else level
    if PRECISE < nominal < math.inf and cost.size <= PRECISE_CELLS:
        enclosure = _precise(p, cost, level, lam, exact)
    else:
        enclosure = _priced(p, cost, BallLevels.of(level), lam)
    return _lesser(free, enclosure)


def _lesser(one: Enclosure, other: Enclosure) -> Enclosure | None:
    """The lesser of two bounds; a bound that is not finite bounds nothing."""
    known = [ends for ends in (one, other) if math.isfinite(ends[0]) and math.isfinite(ends[1])]
    if not known:
        return None
    return min(lo for lo, _ in known), min(hi for _, hi in known)


def _priced(p: Balls, cost: Floats, levels: BallLevels, lam: Floats) -> Enclosure:
    with np.errstate(over="ignore", invalid="ignore"):
        nu = float(levels.room.mid) * lam
        nu = nu - nu[int(np.argmax(p.mid))]
    if not np.isfinite(nu).all():
        return -math.inf, math.inf
    width = max(1, CELLS // len(nu))
    least = np.inf, np.inf
    for begin in range(0, cost.shape[1], width):
        part = cost[:, begin : begin + width]
        group = cheapest(p, levels.room * part - nu[:, None], levels.theta)
        each = levels.low * (p @ part) + group
        least = min(least[0], float(each.lower.min())), min(least[1], float(each.upper.min()))
    least_cost: Balls = (p @ nu) + Balls.between(*least)
    return (-least_cost).ends


def cheapest(p: Balls, costs: Balls, theta: Balls, order: NDArray[np.intp] | None = None) -> Balls:
    """Lower bounds on the mean of each column under any distribution of at most p / theta, shape (m,).

    They are attained, but for rounding, by the cheapest letters of mass theta.

    Parameters
    ----------
    order : int array (n, m), optional
        Of the middles of each column, least first.

    Examples
    --------
    >>> third = Balls.exact(np.full(3, 1 / 3))
    >>> answer = cheapest(third, Balls.exact([[1.0], [0.0], [3.0]]), Balls.exact(0.5))
    >>> bool(answer.lower[0] <= 1 / 3 <= answer.upper[0] + 1e-15)
    True
    """
    if order is None:
        order = np.argsort(costs.mid, axis=0, kind="stable")
    mids = np.take_along_axis(costs.mid, order, axis=0)
    upto = np.cumsum(p.mid[order], axis=0) <= float(theta.mid)
    count = np.minimum(upto.sum(axis=0), len(mids) - 1)  # how many letters are cheaper than the threshold
    edge = np.take_along_axis(mids, count[None, :], axis=0)[0]
    off = costs.rad.max(axis=0)
    threshold = edge - 4 * off * (1 + 8 * U)
    if not count.any():
        return Balls.exact(threshold)
    gap = Balls.exact(threshold) - costs
    head = np.where(costs.mid < edge, gap.upper, 0.0).clip(0.0)
    return Balls.exact(threshold) - (Balls.exact(p.upper) @ Balls.exact(head)) / theta


def _precise(
    p: Balls, cost: Floats, level: Balls | float, lam: Floats, exact: Sequence[Any] | None
) -> Enclosure:
    """The same with balls of 192 bits."""
    from flint import arb, ctx, fmpq

    with ctx.workprec(_BITS):
        chances = (
            [arb(mid, rad) for mid, rad in zip(p.mid.tolist(), p.rad.tolist(), strict=True)]
            if exact is None
            else [arb(fmpq(q.numerator, q.denominator)) for q in exact]
        )
        nats = arb(float(level.mid), float(level.rad)) if isinstance(level, Balls) else arb(level)
        low = (-nats).exp()
        room, theta = 1 - low, low / (1 + low)
        nu = [room * price for price in (lam - lam[int(np.argmax(p.mid))]).tolist()]
        ends: list[tuple[Any, Any]] = []
        for column in cost.T.tolist():
            prices = [room * d - v for d, v in zip(column, nu, strict=True)]
            order = sorted(range(len(prices)), key=lambda x: float(prices[x].mid()))
            mass, head = arb(0), 0
            while head < len(order) - 1 and mass + chances[order[head]] <= theta:
                mass += chances[order[head]]
                head += 1
            threshold = min(prices[x].lower() for x in order[head:])  # ends are exact, and so is their order
            group = sum((chances[x] * (threshold - prices[x]).max(arb(0)) for x in order[:head]), arb(0))
            mean = sum((q * d for q, d in zip(chances, column, strict=True)), arb(0))
            cost_ball = low * mean + threshold - (group / theta if head else arb(0))
            ends.append((cost_ball.lower(), cost_ball.upper()))
        spent = sum((q * v for q, v in zip(chances, nu, strict=True)), arb(0))
        low_end, least = (min(each) for each in zip(*ends, strict=True))
        return _floats(-(spent + least), -(spent + low_end))


def _floats(low: Any, high: Any) -> Enclosure:
    """Floats below one ball and above another."""
    if not (low.is_finite() and high.is_finite()):
        return -math.inf, math.inf
    return ball_floor(low), ball_ceiling(high)

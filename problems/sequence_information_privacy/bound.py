"""Upper bounds on the utility of every sequence of releases, proved from prices of letters or words by arithmetic alone.

Each release has two bounds, and the better one counts: that of its level
(:mod:`privopt.problems.sequence_information_privacy.steps`), which fades on long chains that depend, and one that
does not (with the state before it revealed).

The dual is ``{"kind": "sequence", "lam": [[...], ...]}``, a row of prices for each release. A last row serves all later
releases that read as many words; a release without prices gets zeros. ``"revealed"`` may give a row of prices for each
state before a release, for all releases that read as many words. A dual of the kind "beliefs" is for chains of two letters
(:mod:`privopt.problems.sequence_information_privacy.two_letters`), one of the kind "potential" for chains of a few letters
(:mod:`privopt.problems.sequence_information_privacy.potential`), one of the kind "separable" for chains that stay or begin afresh
(:mod:`privopt.problems.sequence_information_privacy.separable`), one of the kind "quadratics" for chains of several letters
(:mod:`privopt.problems.sequence_information_privacy.quadratics`), and one of the kind "words" for words of a chain of two letters
(:mod:`privopt.problems.sequence_information_privacy.word_potential`).

The bound with the state before a release revealed does not fade with the horizon. Let b be the distribution of what a
release reads given all releases before it, T the distribution of its output and M its kernel. The budget asks that
M(y | x) lies in e^+-w epsilon T(y). The kernels that lie so for some distribution T, whether or not it is their own,
do not depend on b, and the cost of each is linear in b: so the least cost of them, R(b), is concave. Now b is the
mean of the distributions r_i of what is read given the state i before, with weights whose mean over the earlier
releases is the distribution P of that state. So the release costs at least sum P(i) R(r_i).

With L = e^-w epsilon and theta = 1 / (e^w epsilon + 1), such kernels are L T + (1 - L) K with K <= T / theta. So for any
prices nu of the rows of K

    R(r) >= sum nu(x) + min over y of [L r . D(., y) + sum over x of min(0, (1 - L) r(x) D(x, y) - nu(x)) / theta],

and R(r) >= sum r(x) min over y of D(x, y). Both are computed in balls, and the better one counts.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats
from privopt.core.balls import ETA, Balls, U
from privopt.core.problem import Enclosure
from privopt.problems.belief_release.bound import CELLS, BallLevels, price_row
from privopt.problems.sequence_information_privacy.data import SequenceData
from privopt.problems.sequence_information_privacy.potential import potential_enclosure
from privopt.problems.sequence_information_privacy.quadratics import quadratics_enclosure
from privopt.problems.sequence_information_privacy.separable import separable_enclosure
from privopt.problems.sequence_information_privacy.steps import Step, relative, steps
from privopt.problems.sequence_information_privacy.two_letters import beliefs_enclosure
from privopt.problems.sequence_information_privacy.word_potential import words_enclosure

MAX_WORDS = 4096
"""Words of a release whose bound is checked."""
MAX_PRICES = 2**22
"""Prices of a dual that are read."""
MAX_CELLS = 2**24
"""States times words times releases of a table of prices that is read."""
MIN_THETA = 2.0**-60
"""Below, a budget of some 42 nats forbids nothing that rounding would show: each word is charged its least distortion."""


def check_dual(problem: SequenceData, dual: object, seconds: float = math.inf) -> Enclosure | None:
    """Floats around the upper bound on utility that a dual proves, or None."""
    if isinstance(dual, dict) and dual.get("kind") == "beliefs":
        return beliefs_enclosure(problem, dual, seconds)
    if isinstance(dual, dict) and dual.get("kind") == "potential":
        return potential_enclosure(problem, dual, seconds)
    if isinstance(dual, dict) and dual.get("kind") == "separable":
        return separable_enclosure(problem, dual, seconds)
    if isinstance(dual, dict) and dual.get("kind") == "quadratics":
        return quadratics_enclosure(problem, dual, seconds)
    if isinstance(dual, dict) and dual.get("kind") == "words":
        return words_enclosure(problem, dual, seconds)
    if not isinstance(dual, dict) or dual.get("kind") != "sequence":
        return None
    prices, shown = _prices(dual.get("lam")), dual.get("revealed")
    if prices is None:
        return None
    if shown is None:
        return sequence_enclosure(problem, prices, None, seconds)
    revealed = _prices(shown)
    if revealed is None or len({len(row) for row in revealed}) > 1:
        return None
    return sequence_enclosure(problem, prices, np.array(revealed), seconds)


def _prices(table: object) -> list[Floats] | None:
    """Rows of finite prices."""
    if not isinstance(table, list) or not table or not all(isinstance(row, list) for row in table):
        return None
    if sum(map(len, table)) > MAX_PRICES:
        return None
    rows = [price_row(row, MAX_WORDS) for row in table]
    return None if any(row is None for row in rows) else [row for row in rows if row is not None]


def sequence_bound(
    problem: SequenceData,
    prices: list[Floats],
    revealed: Floats | None = None,
    seconds: float = math.inf,
) -> float | None:
    """The upper bound on utility of prices, a row a release, and of those with the state before revealed, a row a state.

    None where words are too many, time runs out, or nothing finite is proved.
    """
    enclosure = sequence_enclosure(problem, prices, revealed, seconds)
    return None if enclosure is None else enclosure[1]


def sequence_enclosure(
    problem: SequenceData,
    prices: list[Floats],
    revealed: Floats | None = None,
    seconds: float = math.inf,
) -> Enclosure | None:
    """Floats around the same."""
    key = tuple(row.tobytes() for row in prices), None if revealed is None else revealed.tobytes()
    known = problem.enclosures
    if key in known:
        return known[key]
    enclosure = _enclosure(problem, prices, revealed, time.monotonic() + seconds)
    if enclosure is not None:
        problem.keep(key, enclosure)
    return enclosure


def _enclosure(
    problem: SequenceData, prices: list[Floats], revealed: Floats | None, deadline: float
) -> Enclosure | None:
    if len(problem.setting(min(problem.batch, problem.span)).inputs) > MAX_WORDS:
        return None
    total: list[Enclosure] = []
    known: tuple[object, Enclosure | None] = (None, None)
    shown = _Revealed(problem, revealed)
    for at, step in enumerate(steps(problem)):
        if time.monotonic() > deadline:
            return None
        lam = prices[min(at, len(prices) - 1)]
        if lam.shape != step.distribution.shape:
            lam = np.zeros(step.distribution.shape)
        key = (step.distribution.tobytes(), step.spread, step.reached.ends, lam.tobytes())
        if key != known[0]:
            known = (key, step.proved(lam))
        ends = [each for each in (known[1], shown.bound(step)) if each is not None]
        if not ends:
            return None
        low, high = (min(each) for each in zip(*ends, strict=True))
        count = step.release.length
        total.append((_times(count, low, -math.inf), _times(count, high, math.inf)))
    letters = 1 if problem.lasting else problem.span
    if not all(math.isfinite(end) for ends in total for end in ends):
        return None
    if all(hi == 0 for _, hi in total):  # nothing costs less than nothing, on any machine
        return 0.0, 0.0
    least, most = (math.fsum(each) for each in zip(*total, strict=True))  # rounded once
    return (
        math.nextafter(math.nextafter(least, -math.inf) / letters, -math.inf),
        math.nextafter(math.nextafter(most, math.inf) / letters, math.inf),
    )


def _times(count: int, value: float, toward: float) -> float:
    """The product, rounded towards one side where it may not be exact."""
    return count * value if count == 1 or value == 0 else math.nextafter(count * value, toward)


@dataclass(eq=False)
class _Revealed:
    """Bounds with the state before revealed; where steps are alike, so are the costs given that state."""

    problem: SequenceData
    prices: Floats | None
    _costs: Balls | None = None
    _length: int = 0
    _last: tuple[object, int, Enclosure | None] | None = None

    def bound(self, step: Step) -> Enclosure | None:
        """Floats around an upper bound on minus the expected distortion of a release, a letter; None where there is none."""
        if self.prices is None or step.before is None:
            return None
        if (
            self._last is None
            or self._last[0] is not step.before
            or self._last[1] != step.release.length
            or not self.problem.chain.homogeneous
        ):
            self._last = step.before, step.release.length, self._bound(step, step.before, self.prices)
        return self._last[2]

    def _bound(self, step: Step, before: tuple[Floats, Floats, float], prices: Floats) -> Enclosure | None:
        release, cost = step.release, step.release.setting.cost
        last, moves, spread = before
        k, n = prices.shape
        if (k, n) != (len(last), len(cost)) or k * cost.size > MAX_CELLS:
            return None
        if self._costs is None or self._length != release.length or not self.problem.chain.homogeneous:
            chances = Balls(
                release.word_given_state,
                release.word_given_state * (3 * release.length * U) + ETA * (release.word_given_state > 0),
            )
            rows = Balls(moves, moves * U + ETA * (moves > 0)) @ chances
            epsilon = self.problem.epsilon
            budget = None if epsilon == math.inf else Balls.exact(epsilon) * release.length
            self._costs = costs_of(rows, cost, budget, prices)
            self._length = release.length
        lo, hi = (-(relative(last, spread) @ self._costs)).ends
        return (lo, hi) if math.isfinite(lo) and math.isfinite(hi) else None


def costs_of(rows: Balls, cost: Floats, budget: Balls | None, prices: Floats) -> Balls:
    """Lower bounds on R of each row (k, n) that prices nu (k, n) prove, shape (k,); no budget is an infinite one.

    Examples
    --------
    >>> rows, nu = Balls.exact([[0.5, 0.5], [1.0, 0.0]]), 0.25 / (1 + np.exp(1)) * (1 - np.exp(-1)) / np.exp(1)
    >>> lower = costs_of(rows, 1 - np.eye(2), Balls.exact(1.0), nu * np.ones((2, 2))).lower
    >>> bool((lower <= [0.5 / np.e, 0]).all())
    True
    """
    free: Balls = rows @ cost.min(axis=1)
    levels = None if budget is None else BallLevels.of(budget)
    if levels is None or not float(levels.theta.mid) >= MIN_THETA:
        return free
    balls = [_cost(rows[i], cost, levels, nu) for i, nu in enumerate(prices)]
    ends = np.array([ball.ends for ball in balls])
    known = Balls.between(np.where(np.isfinite(ends[:, 0]), ends[:, 0], -1e300), ends[:, 1])
    return free.maximum(known)


def _cost(row: Balls, cost: Floats, levels: BallLevels, nu: Floats) -> Balls:
    width = max(1, CELLS // len(nu))
    low = high = np.inf
    heavy = (levels.room * row).reshape(-1, 1)
    for begin in range(0, cost.shape[1], width):
        part = cost[:, begin : begin + width]
        gap = Balls.exact(nu[:, None]) - heavy * part
        over = Balls.exact(gap.upper.clip(0.0)).sum(axis=0) / levels.theta
        each = levels.low * (row @ part) - over
        low, high = min(low, float(each.lower.min())), min(high, float(each.upper.min()))
    cost_ball: Balls = Balls.exact(nu).sum() + Balls.between(low, high)
    return cost_ball

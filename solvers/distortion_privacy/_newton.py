"""Newton's method for the least mutual information, or the least distortion at a level of it: an interior point for both.

The curvature of I(S;Y) does not mix releases: at release y it is A' diag(1 / P(s, y)) A - p p' / P(y) with A = P(s, w), p = P(w).
It is singular along the channel's own column, so the rank-one part is taken out by hand, where nothing cancels. Steps are those
of S. Mehrotra, "On the Implementation of a Primal-Dual Interior Point Method", of one length for both iterates, shortened until
products stay near each other and what is left falls; corrections for curvature are cut.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats
from privopt.core.highs import FINEST, Rows, minimise
from privopt.core.solver import Budget
from privopt.solvers.distortion_privacy._space import Space

MOST_STEPS = 60
CLOSE = (1e-7, 1e-8, 1e-9)
"""What is left, relative to the objective, at which it is worth a look; further on, rounding may take more than steps bring."""
LONGEST = 0.95
"""Share of the way to the border that a step goes."""
CURVED = 2.0
"""Largest correction for curvature, relative to the mean product."""
LEAST_SHARE = 0.01
"""No product falls below this share of the mean, or half of the last one."""
SMALLEST = 1e-4
"""Least share of the mean product that a step aims at."""
SHORTER, TRIES = 0.6, 20
"""How a step is shortened, and how often."""
USED = 1e-3
"""Releases of less than this share of the mean probability hardly occur."""
HALVINGS = 40
"""Halvings of what a start leaks."""
REFINEMENTS = 1
"""Times that what rounding left of the sums and of the limit is solved for again."""
MOST_TURNS = 60
"""Steps of releases that hardly occur towards their best posteriors."""
PROGRAMS = 25
"""Linear programs for each of them after that, at most."""
WIDER, NARROWER = 2.0, 0.3
"""How the radius of their steps changes."""
LONGER = 1.5
"""How much longer the next such step is."""


@dataclass(frozen=True, eq=False)
class Reached:
    """Where the method ended: a channel (n_w, n_y), and a distribution of S for each release, (n_y, n_s)."""

    matrix: Floats
    posteriors: Floats
    steps: int


@dataclass(frozen=True, eq=False)
class _Point:
    """Both iterates: x (n_y, n_w), its prices v, the spare room and its price, the prices pi of the sums."""

    x: Floats
    v: Floats
    spare: float
    price: float
    pi: Floats

    def along(self, d: _Point, length: float) -> _Point:
        """After a step."""
        return _Point(
            self.x + length * d.x,
            self.v + length * d.v,
            self.spare + length * d.spare,
            self.price + length * d.price,
            self.pi + length * d.pi,
        )

    def longest(self, d: _Point) -> float:
        """The largest share of a step, at most 1, that keeps all of it positive."""
        pairs = ((self.x, d.x), (self.v, d.v))
        rates = [float((-move / value).max()) for value, move in pairs]
        rates += [-d.spare / self.spare, -d.price / self.price]
        return 1.0 / max(1.0, *rates)

    @property
    def least_share(self) -> float:
        """The least product, as a share of the mean."""
        least = min(float((self.x * self.v).min()), self.spare * self.price)
        return least / self.left * (self.x.size + 1)

    @property
    def left(self) -> float:
        """The sum of all products."""
        return float((self.x * self.v).sum()) + self.spare * self.price


class _Reading:
    """Values, slopes and residuals at a point."""

    def __init__(self, program: _Program, at: _Point) -> None:
        joint = at.x @ program.table.T
        mass = at.x @ program.weights
        scores = np.log(joint / (program.prior * mass[:, None]))
        information, slopes = float((joint * scores).sum()), scores @ program.table
        distortion = float((program.distances * at.x).sum())
        self.joint, self.mass = joint, mass
        if program.capped:
            self.value, self.used, costs, self.row = distortion, information, program.distances, slopes
        else:
            self.value, self.used, costs, self.row = information, distortion, slopes, program.distances
        self.reduced = costs + at.price * self.row
        self.dual = self.reduced - at.pi - at.v
        self.missed = program.limit - self.used - at.spare
        self.short = 1.0 - at.x.sum(axis=0)
        self.rest = float(np.abs(self.dual * at.x).sum())
        self.left = at.left + self.rest + abs(self.missed) * at.price


class _Program:
    """The arrays of a problem, distances in units of their mean."""

    def __init__(self, space: Space) -> None:
        self.table, self.weights, self.prior = space.table, space.weights, space.prior
        self.excess = space.excess.T
        self.unit = float(self.excess.mean())
        self.distances = self.excess / self.unit
        self.capped = space.problem.max_leakage is not None
        self.limit = space.problem.budget if self.capped else space.room / self.unit

    def start(self) -> _Point:
        """Strictly inside: releases alike, where distortion is bounded with just so much of the best ones."""
        m, n = self.distances.shape
        best = (self.distances <= 0).astype(np.float64)
        best /= best.sum(axis=0)
        even = np.full((m, n), 1.0 / m)
        share = 0.1 if self.capped else max(0.1, 1.0 - 0.5 * self.limit / float(self.distances.sum() / m))
        x = (1.0 - share) * even + share * best
        for _ in range(HALVINGS):
            if not self.capped or self._spare(x) > 0.1 * self.limit:
                break
            x = 0.5 * (x + even)
        empty = _Point(x, np.zeros_like(x), self._spare(x), 1.0, np.zeros(n))
        read = _Reading(self, empty)
        price = read.value / read.used if read.used > 0 and read.value > 0 else 1.0
        reduced = _Reading(self, _Point(x, empty.v, empty.spare, price, empty.pi)).reduced
        pi = reduced.min(axis=0) - 0.1 * float(np.abs(reduced).max())
        return _Point(x, reduced - pi, empty.spare, price, pi)

    def _spare(self, x: Floats) -> float:
        return self.limit - _Reading(self, _Point(x, x, 0.0, 0.0, x[0])).used


def newton(space: Space, budget: Budget) -> Iterator[Reached]:
    """The optimum to some six digits, to seven, to eight; or what there is when the time ends, and no more where precision does."""
    program = _Program(space)
    at = program.start()
    if not at.spare > 0:
        return
    read, close = _Reading(program, at), list(CLOSE)
    for steps in range(MOST_STEPS):
        late = budget.remaining <= 0
        after = None if late else _step(program, at, read)
        if after is None or read.left <= close[0] * read.value:
            yield Reached(at.x.T / at.x.sum(axis=0)[:, None], _posteriors(program, at, read), steps)
            close = [level for level in close if read.left > level * read.value]
        if after is None or not close:
            return
        at, read = after


def _posteriors(program: _Program, at: _Point, read: _Reading) -> Floats:
    """A distribution of S for each release; one that hardly occurs gets that which keeps it dearest, as its own drifts.

    With c(w) its distortion less what an observation pays now, the best r has the largest least value of
    sum_s P(s|w) ln r(s)/P(s) + c(w). It is the average of P(s|w) over the weights on w for which D(r || P) plus the mean of c
    is least, and steps of Blahut and Arimoto lead there.
    """
    own = read.joint / read.joint.sum(axis=1, keepdims=True)
    per_distortion = (1.0 / at.price if program.capped else at.price) / program.unit
    paid = (program.table.T @ np.log(own / program.prior).T + per_distortion * program.excess.T).T
    used = read.mass > USED / len(own)
    worth = np.minimum(paid[used].min(axis=0), at.pi / (at.price if program.capped else 1.0))
    wanting = (paid - worth).min(axis=1)
    faint = ~used & (wanting < 0)
    if not faint.any():
        return np.asarray(own)
    given = (program.table / program.weights).T
    costs = (per_distortion * program.excess[faint] - worth) / program.weights
    shares = np.maximum(at.x[faint] * program.weights, 0.0)
    shares = 0.9 * shares / shares.sum(axis=1, keepdims=True) + 0.1 * program.weights / program.weights.sum()
    dearer = _dearest(program, costs, shares)
    slack = ((np.log(dearer / program.prior) @ given.T + costs) * program.weights).min(axis=1)
    own[faint] = np.where((slack > wanting[faint])[:, None], dearer, own[faint])
    return np.asarray(own)


def _dearest(program: _Program, costs: Floats, shares: Floats) -> Floats:
    """The averages of P(s|w) over shares (releases, n_w) that make D(r || P) plus the mean cost least, where slack is wanting.

    Multiplicative steps along the slack, which is the slope: longer and longer while the sum falls. Where all of it is small,
    so are these steps, and those of linear programs lead there.
    """
    given = (program.table / program.weights).T

    def read(shares: Floats) -> tuple[Floats, Floats, Floats]:
        mixed = shares @ given
        slack = np.log(mixed / program.prior) @ given.T + costs
        return mixed, slack, (shares * slack).sum(axis=1, keepdims=True)

    lengths = np.ones((len(shares), 1))
    mixed, slack, value = read(shares)
    for _ in range(MOST_TURNS):
        if slack.min() >= 0:
            return mixed
        tried = shares * np.exp(lengths * (slack.min(axis=1, keepdims=True) - slack))
        tried /= tried.sum(axis=1, keepdims=True)
        turned = read(tried)
        better = turned[2] <= value
        shares = np.where(better, tried, shares)
        mixed, slack, value = (
            np.where(better, new, old) for new, old in zip(turned, (mixed, slack, value), strict=True)
        )
        lengths = np.where(better, LONGER * lengths, SHORTER * lengths)
    for y in np.flatnonzero(slack.min(axis=1) < 0):
        mixed[y] = _lifted(program.prior, given, costs[y], mixed[y])
    return mixed


def _lifted(prior: Floats, given: Floats, costs: Floats, start: Floats) -> Floats:
    """A distribution r near a start whose least slack is larger: steps of linear programs, as the slack is concave in ln r."""

    def slack_of(r: Floats) -> Floats:
        return np.asarray(given @ np.log(r / prior) + costs)

    r, slack, radius = start, slack_of(start), 1.0
    for _ in range(PROGRAMS):
        if slack.min() >= 0 or (direction := _steepest(given, r, slack, radius)) is None:
            break
        tried = r * np.exp(direction)
        tried /= tried.sum()
        ahead = slack_of(tried)
        if ahead.min() > slack.min():
            r, slack, radius = tried, ahead, min(1.0, WIDER * radius)
        else:
            radius = NARROWER * min(radius, float(np.abs(direction).max()))
    return r


def _steepest(given: Floats, r: Floats, slack: Floats, radius: float) -> Floats | None:
    """The change of ln r, within a radius, whose least slack is largest to first order."""
    unit = float(np.abs(slack).max())
    secrets = len(r)
    found = minimise(
        np.append(np.zeros(secrets), -1.0),
        Rows.dense(np.column_stack([-given, np.ones(len(given))]), slack / unit),
        Rows.dense(np.append(r, 0.0)[None], 0.0),
        lower=np.append(np.full(secrets, -radius / unit), -np.inf),
        upper=np.append(np.full(secrets, radius / unit), np.inf),
        tolerance=FINEST,
    )
    return None if found is None else unit * found.point[:-1]


def _step(program: _Program, at: _Point, read: _Reading) -> tuple[_Point, _Reading] | None:
    """One predictor and corrector; None where the system is singular or no step helps."""
    count = at.x.size + 1
    mean = at.left / count
    try:
        system = _System(program, at, read)
        guess = system.direction(0.0, np.zeros_like(at.x), 0.0)
        ahead = at.along(guess, at.longest(guess)).left / count
        aim = mean * min(1.0, max(SMALLEST, (ahead / mean) ** 3))
        most = CURVED * mean
        curved = np.clip(guess.x * guess.v, -most, most)
        spare = min(most, max(-most, guess.spare * guess.price))
        step = system.direction(aim, curved, spare)
    except np.linalg.LinAlgError:
        return None
    length, share = min(1.0, LONGEST * at.longest(step)), min(LEAST_SHARE, 0.5 * at.least_share)
    for _ in range(TRIES):
        tried = at.along(step, length)
        if tried.least_share >= share:
            reached = _Reading(program, tried)
            if reached.left <= (1.0 - 0.01 * length) * read.left:
                return tried, reached
        length *= SHORTER
    return None


class _System:
    """The factors of one step: the inverse of each release's block without its rank-one part, and that of the sums."""

    def __init__(self, program: _Program, at: _Point, read: _Reading) -> None:
        self.program, self.at, self.read = program, at, read
        n = at.x.shape[1]
        self.weight = at.price if program.capped else 1.0
        prices, root = at.v / self.weight, np.sqrt(at.x)
        blocks = np.matmul(program.table.T[None] / read.joint[:, None, :], program.table)
        blocks *= root[:, :, None] * root[:, None, :]
        i = np.arange(n)
        blocks[:, i, i] += prices
        scale = 1.0 / np.sqrt(blocks[:, i, i])
        blocks *= scale[:, :, None] * scale[:, None, :]
        self.inverse = np.linalg.inv(blocks)
        scale *= root
        self.inverse *= scale[:, :, None] * scale[:, None, :]
        self.column = np.matmul(self.inverse, program.weights)
        paid = np.matmul(self.inverse, prices[:, :, None])[:, :, 0] @ program.weights
        self.spread = 1.0 / np.maximum(paid, 1e-300)
        sums = self.inverse.sum(axis=0) + (self.column.T * self.spread) @ self.column
        size = 1.0 / np.sqrt(np.diag(sums))
        self.sums = np.linalg.inv(sums * size[:, None] * size) * size[:, None] * size * self.weight
        self.along = self._applied(read.row)
        self.across = self.along.sum(axis=0)
        self.by_price = self.sums @ self.across
        self.own = float((read.row * self.along).sum()) - float(self.across @ self.by_price)

    def _applied(self, right: Floats) -> Floats:
        """The inverse of the blocks times a matrix (n_y, n_w)."""
        plain = np.matmul(self.inverse, right[:, :, None])[:, :, 0]
        share = self.spread * (self.column * right).sum(axis=1)
        return np.asarray((plain + self.column * share[:, None]) / self.weight)

    def direction(self, aim: float, curved: Floats, spare_curved: float) -> _Point:
        """Where products become ``aim``, less the corrections, to first order."""
        at, read = self.at, self.read
        wanted = (aim - curved) / at.x - at.v
        wanted_spare = (aim - spare_curved) / at.price - at.spare
        x, pi, price = self._applied(wanted - read.dual), np.zeros(at.x.shape[1]), 0.0
        yielding = at.spare / at.price
        for _ in range(1 + REFINEMENTS):
            prices = self.sums @ (read.short - x.sum(axis=0))
            reached = float((read.row * x).sum()) + float(self.across @ prices) + wanted_spare
            change = (reached - yielding * price - read.missed) / (self.own + yielding)
            prices = prices + change * self.by_price
            x = x + self._applied(np.broadcast_to(prices, x.shape)) - change * self.along
            pi, price = pi + prices, price + change
        v = wanted - at.v / at.x * x
        return _Point(x, v, wanted_spare - yielding * price, price, pi)


def newton_seconds(outputs: int, observations: int, secrets: int) -> float:
    """Predicted seconds: some twenty steps, each an inverse a release.

    Examples
    --------
    >>> newton_seconds(40, 40, 10) < newton_seconds(100, 100, 10)
    True
    """
    return 0.005 + 22 * outputs * (1e-5 + 1.5e-10 * observations**2 * (observations + secrets))


def fits(outputs: int, observations: int) -> bool:
    """Whether the inverses fit in memory and are soon made."""
    return outputs * observations**2 <= MOST_NUMBERS


MOST_NUMBERS = 4e6
"""Numbers in all inverses."""

"""A primal-dual interior-point method for programs that fall apart into one block a release.

Minimise sum over y of c_y . x_y over x_y >= 0 with the rows of each release, sum over y of K(w, y) = 1, and perhaps one
linear limit on all. The rows compare A K(., y), the probabilities of a release under each secret, with a level of its own
that is the distribution of the output (lift bounds) or one more variable of the release (a largest or least probability):

    lower level <= A K(., y) <= upper level.

Newton's steps of all blocks share only the sums, so that each step takes one inverse a release and one factorisation for all,
where a general code sees n_w n_y variables at once: O(n_y n_s n_w^2) operations where secrets are few, O(n_y n_w^2) where each has
one observation, O(n_y (n_s n_w^2 + n_w^3)) at most. Both iterates start feasible and stay so: an answer keeps its rows strictly, and
any multipliers prove a bound.

Steps begin with the quickest inverses and correct their directions by what they leave of their equations, as long as that is next to
nothing; the last ones, where matrices are nearly singular, take whole inverses in double precision if they must.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from privopt.arrays import Floats
from privopt.core.solver import Budget
from privopt.solvers.common.inverses import MOST_NUMBERS, REGULAR, Blocks, Inverse, Single, Size, Thin, Whole

NEAR = "the gap is small"
"""Why a search ends that has reached its aim."""

MOST_STEPS = 150
"""Newton steps after which it ends in any case."""

STALLED, PATIENCE = 0.8, 25
"""It ends too where the gap has not shrunk to this share of itself within so many steps."""

LONGEST = 0.995
"""Share of the way to the boundary that a step may go."""

REFINED = 6
"""How often the directions are corrected by what they leave of their equations."""

FINE = 1e-7
"""What may be left of the equations, relative to multipliers and rows."""

SMALL = 1e-2
"""Least share of the centre that a step aims at."""

ROUGH = 1e-2
"""What corrected directions may leave of their equations before inverses are whole and in double precision, relative to the same."""


@dataclass(frozen=True, eq=False)
class Limit:
    """One linear limit on all variables: the sum of row * x is at most ``most``."""

    row: Floats
    most: float


@dataclass(eq=False)
class State:
    """Both iterates: x (n_y, n), z (n_y, sides, n_s) its rows, v and u their multipliers, pi that of the sums."""

    x: Floats
    v: Floats
    z: Floats
    u: Floats
    pi: Floats
    spare: float = 1.0
    price: float = 0.0

    def complementarity(self, limited: bool) -> float:
        """The mean product of a variable and its multiplier."""
        total = float((self.x * self.v).sum() + (self.z * self.u).sum())
        return (total + self.spare * self.price * limited) / (self.x.size + self.z.size + limited)


@dataclass(frozen=True, eq=False)
class Answer:
    """Where the method ended: the iterates, the value, the best bound with the iterates that prove it, and why."""

    state: State
    proof: State
    value: float
    bound: float
    steps: int
    stop: str

    @property
    def gap(self) -> float:
        """Value above bound."""
        return self.value - self.bound


@dataclass(frozen=True, eq=False)
class Interior:
    """A program: costs (n_y, n) of the variables, the rows of a release, perhaps a limit."""

    cost: Floats
    blocks: Blocks
    limit: Limit | None = None

    @cached_property
    def size(self) -> Size:
        """What the inverses of a step take."""
        return Size.of(self.blocks.conditional, len(self.blocks.sides), len(self.cost))

    @property
    def observations(self) -> int:
        """How many columns of a block are those of the channel."""
        return int(self.blocks.conditional.shape[1])

    def start(self, x: Floats, u: Floats | None = None, margin: float = 0.1) -> State:
        """Both iterates from an x that keeps its rows strictly; from multipliers of the rows if they are known.

        The prices of the sums are below what they could be by ``margin``, relative to the largest.
        """
        z = self.blocks.slack(x)
        mu = float(np.abs(self.cost).max()) / len(x)
        u = mu / z if u is None else u
        price = 0.0 if self.limit is None else 1.0
        reduced = self._reduced(u, price)
        n = self.observations
        pi = reduced[:, :n].min(axis=0)
        pi = pi - max(float(np.abs(reduced[:, :n]).max()) * margin, 1e-3 * mu * len(x))
        v = reduced.copy()
        v[:, :n] -= pi
        if self.blocks.own:
            v[:, -1] = np.maximum(v[:, -1], mu / x[:, -1])
        spare = 1.0
        if self.limit is not None:
            spare = max(self.limit.most - float((self.limit.row * x).sum()), 0.1 * abs(self.limit.most), 1e-6)
        return State(x, v, z, u, pi, spare, price)

    def _reduced(self, u: Floats, price: float) -> Floats:
        paid = self.cost - self.blocks.prices(u)
        return paid if self.limit is None else paid + price * self.limit.row

    def bound(self, state: State) -> float:
        """What the multipliers prove."""
        n = self.observations
        low = float(self._reduced(self.kept(state), state.price)[:, :n].min(axis=0).sum())
        return low if self.limit is None else low - state.price * self.limit.most

    def kept(self, state: State) -> Floats:
        """The multipliers of the rows, those of the upper side less where an own variable would be paid for."""
        if not self.blocks.own or self.blocks.upper is None:
            return state.u
        limit = 0.0 if self.limit is None else state.price * self.limit.row[:, -1]
        there = self.cost[:, -1] + limit
        if self.blocks.lower is not None:
            there = there + self.blocks.lower * state.u[:, 1].sum(axis=1)
        wanted = self.blocks.upper * state.u[:, 0].sum(axis=1)
        u = state.u.copy()
        u[:, 0] *= np.minimum(1.0, there / wanted)[:, None]
        return u

    def value(self, state: State) -> float:
        """The cost of x."""
        return float((self.cost * state.x).sum())

    def solve(self, state: State, budget: Budget, target: Any) -> Answer:
        """Step until ``target(value, bound)`` says why to end, or in time."""
        steps, best, proof = 0, -math.inf, state
        gap, since, quick = math.inf, 0, True
        while True:
            value = self.value(state)
            if (bound := self.bound(state)) > best:
                best, proof = bound, state
            if value - best <= STALLED * gap:
                gap, since = value - best, steps
            stop = target(value, best) if self._closed(state) else ""
            if not stop and budget.remaining <= 0:
                stop = "out of time"
            if not stop and (steps >= MOST_STEPS or steps - since >= PATIENCE):
                stop = "the steps no longer change anything"
            if stop:
                return Answer(state, proof, value, best, steps, stop)
            after = self._step(state, budget, quick=True) if quick else None
            if after is None and self._whole_fits:
                quick = False
                after = self._step(state, budget, quick=False)
            if after is None:
                stop = "out of time" if budget.remaining <= 0 else "the steps fail"
                return Answer(state, proof, value, best, steps, stop)
            state, steps = after, steps + 1

    def _closed(self, state: State) -> bool:
        """Whether x meets the limit."""
        if self.limit is None:
            return True
        missing = float((self.limit.row * state.x).sum()) - self.limit.most
        return missing <= 1e-9 * max(1.0, abs(self.limit.most))

    @property
    def _whole_fits(self) -> bool:
        return bool(len(self.cost) * self.observations**2 <= MOST_NUMBERS)

    def _step(self, s: State, budget: Budget, *, quick: bool) -> State | None:
        """One predictor and corrector; None where the time is up, a factor fails, or the quickest inverse is too rough."""
        limited = self.limit is not None
        newton = _Newton.of(self, s, budget, quick=quick)
        if newton is None:
            return None
        mu = s.complementarity(limited)
        plain = newton.direction(0.0, None)
        along, back = newton.lengths(plain)
        ahead = newton.moved(plain, along, back).complementarity(limited)
        centre = min(1.0, max(SMALL, (ahead / mu) ** 3))
        turned = newton.direction(centre * mu, plain)
        if quick and not turned.left <= ROUGH:
            return None
        along, back = newton.lengths(turned)
        return newton.moved(turned, min(1.0, LONGEST * along), min(1.0, LONGEST * back))


@dataclass(frozen=True, eq=False)
class _Direction:
    x: Floats
    v: Floats
    z: Floats
    u: Floats
    pi: Floats
    spare: float
    price: float
    left: float
    """What it leaves of its equations, relative to the right side."""


@dataclass(eq=False)
class _Right:
    """The right sides of the equations of variables and of rows, what the sums are short of, and what the limit misses."""

    first: Floats
    rows: Floats
    short: Floats
    missing: float


@dataclass(frozen=True, eq=False)
class _Found:
    """Moves of the variables, of the multipliers of rows and of sums, and of the price."""

    x: Floats
    u: Floats
    pi: Floats
    price: float

    def plus(self, more: _Found) -> _Found:
        """Both together."""
        return _Found(self.x + more.x, self.u + more.u, self.pi + more.pi, self.price + more.price)


@dataclass(frozen=True, eq=False)
class _Newton:
    """The factors of one step: the inverse of each block, and that of the sums."""

    program: Interior
    state: State
    inverse: Inverse
    factor: Any
    along_limit: Floats
    sums_of_limit: Floats

    @classmethod
    def of(cls, program: Interior, s: State, budget: Budget, *, quick: bool) -> _Newton | None:
        inverse = _inverse(program, s, budget, quick=quick)
        factor = None if inverse is None else _factor(inverse.sums)
        if inverse is None or factor is None:
            return None
        if program.limit is None:
            return cls(program, s, inverse, factor, np.zeros((0, 0)), np.zeros(program.observations))
        along, _ = inverse.solve(program.limit.row, np.zeros_like(s.z))
        return cls(program, s, inverse, factor, along, along[:, : program.observations].sum(axis=0))

    def direction(self, mu: float, before: _Direction | None) -> _Direction:
        """Towards the centre mu, with the second-order terms of the direction before."""
        p, s, n = self.program, self.state, self.program.observations
        of_x, of_z, of_spare = mu / s.x - s.v, mu / s.z - s.u, 0.0
        if before is not None:
            of_x = of_x - before.x * before.v / s.x
            of_z = of_z - before.z * before.u / s.z
        right = _Right(
            p._reduced(s.u, s.price) - s.v,
            of_z * s.z / s.u - p.blocks.slack(s.x) + s.z,
            1.0 - s.x[:, :n].sum(axis=0),
            0.0,
        )
        right.first[:, :n] -= s.pi
        right.first[:] = of_x - right.first
        if p.limit is not None:
            of_spare = mu / s.price - s.spare
            if before is not None:
                of_spare -= before.spare * before.price / s.price
            right.missing = p.limit.most - float((p.limit.row * s.x).sum()) - s.spare - of_spare
        found, left = self._refined(right)
        if p.limit is not None:
            of_spare -= s.spare / s.price * found.price
        v, z = of_x - s.v / s.x * found.x, s.z / s.u * (of_z - found.u)
        return _Direction(found.x, v, z, found.u, found.pi, of_spare, found.price, left)

    def _refined(self, right: _Right) -> tuple[_Found, float]:
        """The unknowns of a right side, corrected by what they leave of it, and what that is in the end."""
        found, rest, left = self._solved(right), math.inf, math.inf
        for _ in range(REFINED):
            again = self._remaining(right, found)
            left = self._share(again)
            if not FINE < left < 0.3 * rest:
                break
            rest, found = left, found.plus(self._solved(again))
        return found, left

    def _share(self, left: _Right) -> float:
        """What is left of the equations, relative to the multipliers of variables and to the rows."""
        s = self.state
        return max(float((np.abs(left.first) / s.v).max()), float((np.abs(left.rows) / s.z).max()))

    def _remaining(self, right: _Right, found: _Found) -> _Right:
        """What the unknowns leave of the equations."""
        p, s, n = self.program, self.state, self.program.observations
        first = right.first - s.v / s.x * found.x + p.blocks.prices(found.u)
        first[:, :n] += found.pi
        rows = right.rows - p.blocks.slack(found.x) - s.z / s.u * found.u
        short, missing = right.short - found.x[:, :n].sum(axis=0), 0.0
        if p.limit is not None:
            first -= found.price * p.limit.row
            missing = right.missing - float((p.limit.row * found.x).sum()) + s.spare / s.price * found.price
        return _Right(first, rows, short, missing)

    def _solved(self, right: _Right) -> _Found:
        """Blocks first, then the sums and the price, and blocks again."""
        p, n = self.program, self.program.observations
        x, u = self.inverse.solve(right.first, right.rows)
        pi, price = self._sums(right.short - x[:, :n].sum(axis=0)), 0.0
        owed = np.zeros_like(x)
        if p.limit is not None:
            s, across = self.state, self.sums_of_limit
            by_price = self._sums(across)
            own = float((p.limit.row * self.along_limit).sum()) - float(across @ by_price)
            reached = float((p.limit.row * x).sum()) + float(across @ pi)
            price = (reached - right.missing) / (own + s.spare / s.price)
            pi = pi + price * by_price
            owed -= price * p.limit.row
        owed[:, :n] += pi
        more = self.inverse.solve(owed, np.zeros_like(u))
        return _Found(x + more[0], u + more[1], pi, price)

    def _sums(self, right: Floats) -> Floats:
        from scipy.linalg import cho_solve

        return np.asarray(cho_solve(self.factor, right, check_finite=False))

    def lengths(self, d: _Direction) -> tuple[float, float]:
        """How far each iterate can go."""
        s = self.state
        limited = self.program.limit is not None
        first = [_length(s.x, d.x), _length(s.z, d.z)]
        second = [_length(s.v, d.v), _length(s.u, d.u)]
        if limited:
            first.append(_length(np.array([s.spare]), np.array([d.spare])))
            second.append(_length(np.array([s.price]), np.array([d.price])))
        return min(first), min(second)

    def moved(self, d: _Direction, along: float, back: float) -> State:
        """The state after a step."""
        s = self.state
        return State(
            s.x + along * d.x,
            s.v + back * d.v,
            s.z + along * d.z,
            s.u + back * d.u,
            s.pi + back * d.pi,
            s.spare + along * d.spare,
            s.price + back * d.price,
        )


def _inverse(program: Interior, s: State, budget: Budget, *, quick: bool) -> Inverse | None:
    """The inverses of a step: the quickest ones, or whole ones in double precision."""
    weights, diagonal = s.u / s.z, s.v / s.x
    if quick and program.size.single:
        return Single.of(program.blocks, weights, diagonal)
    if quick and program.size.thin:
        return Thin.of(program.blocks, weights, diagonal)
    return Whole.of(program.blocks, weights, diagonal, lambda: budget.remaining <= 0, single=quick)


def _factor(square: Floats) -> Any:
    """Cholesky's factors of the sums; None where there are none."""
    from scipy.linalg import cho_factor

    for more in REGULAR:
        try:
            return cho_factor(square + np.diag(more * np.diag(square)), check_finite=False)
        except np.linalg.LinAlgError:
            continue
    return None


def _length(values: Floats, moves: Floats) -> float:
    """The largest share of a move that keeps values positive, at most 1."""
    falling = moves < 0
    if not falling.any():
        return 1.0
    return min(1.0, float((values[falling] / -moves[falling]).min()))

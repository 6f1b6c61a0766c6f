"""A primal-dual interior-point method for programs that fall apart into one block a release.

Minimise sum over y of c_y . x_y over x_y >= 0 with the rows of each release, sum over y of K(w, y) = 1, and perhaps one
linear limit on all. The rows compare A K(., y), the probabilities of a release under each secret, with a level of its own
that is the distribution of the output (lift bounds) or one more variable of the release (a largest or least probability):

    lower level <= A K(., y) <= upper level.

Newton's steps of all blocks share only the sums, so that each step takes one factorisation a release, of the size of the
observations, and one for all: O(n_y (n_s n_w^2 + n_w^3)) operations where a general code sees n_w n_y variables at once.
Both iterates start feasible and stay so: an answer keeps its rows strictly, and any multipliers prove a bound.

The first steps invert in single precision, which is quicker, and correct their directions in double precision, as long as that leaves
next to nothing; the last ones, whose matrices are nearly singular, do all in double.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.core.solver import Budget

MOST_STEPS = 150
"""Newton steps after which it ends in any case."""

STALLED, PATIENCE = 0.8, 25
"""It ends too where the gap has not shrunk to this share of itself within so many steps."""

LONGEST = 0.995
"""Share of the way to the boundary that a step may go."""

REGULAR = (1e-14, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11)
"""Added to a unit diagonal until Cholesky's factors exist: steps are then a little shorter, and no less feasible."""

REFINED = 6
"""How often the directions are corrected by what they leave of their equations."""

FINE = 1e-10
"""What may be left of the equations, relative to the right side."""

SMALL = 1e-2
"""Least share of the centre that a step aims at."""

ROUGH = 1e-6
"""What corrected directions may leave of their equations where inverses have single precision, relative to the right side."""

Reals: TypeAlias = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class Blocks:
    """The rows that each release keeps.

    Parameters
    ----------
    conditional : array (n_s, n_w)
        A, so that A K(., y) is what the rows bound.
    output : array (n_w,), optional
        The distribution of the observations, where the level of a release is its probability; None where it is a variable.
    upper, lower : float, optional
        The factors of the level; None where that side is free.
    """

    conditional: Floats
    output: Floats | None
    upper: float | None
    lower: float | None

    @property
    def own(self) -> int:
        """How many variables a release has besides its column."""
        return int(self.output is None)

    @cached_property
    def sides(self) -> tuple[tuple[float, float], ...]:
        """(sign, factor) of each bounded side: sign (A K - factor level) >= 0."""
        above = () if self.upper is None else ((-1.0, self.upper),)
        return above if self.lower is None else (*above, (1.0, self.lower))

    def level(self, x: Floats) -> Floats:
        """The level of each release, shape (n_y,)."""
        return np.asarray(x[:, -1] if self.output is None else x @ self.output)

    def slack(self, x: Floats) -> Floats:
        """By how much the rows are kept, shape (n_y, sides, n_s)."""
        width = self.conditional.shape[1]
        kept, level = x[:, :width] @ self.conditional.T, self.level(x)[:, None]
        return np.stack([sign * (kept - factor * level) for sign, factor in self.sides], axis=1)

    def prices(self, u: Floats) -> Floats:
        """What multipliers of the rows, shape (n_y, sides, n_s), pay each variable, shape of x."""
        signs = np.array([sign for sign, _ in self.sides])
        shares = np.einsum("k,yks->ys", signs, u) @ self.conditional
        of_level = -np.einsum("k,yks->y", [sign * factor for sign, factor in self.sides], u)
        if self.output is None:
            return np.column_stack([shares, of_level])
        return np.asarray(shares + of_level[:, None] * self.output)

    @cached_property
    def _singly(self) -> NDArray[np.float32]:
        """A in single precision."""
        return self.conditional.astype(np.float32)

    def hessian(self, weights: Floats, *, single: bool) -> Reals:
        """G' diag(weights) G of one release, weights of shape (sides, n_s), in single or in double precision."""
        a: Reals = self._singly if single else self.conditional
        scaled = a * np.sqrt(weights.sum(axis=0)).astype(a.dtype)[:, None]
        square = np.asarray(scaled.T @ scaled)
        factors = np.array([factor for _, factor in self.sides])
        cross = -((factors @ weights) @ self.conditional)
        both = float(factors**2 @ weights.sum(axis=1))
        if self.output is None:
            whole = np.empty((len(square) + 1, len(square) + 1), dtype=a.dtype)
            whole[:-1, :-1] = square
            whole[-1, :-1] = whole[:-1, -1] = cross
            whole[-1, -1] = both
            return whole
        p = self.output
        mixed = np.outer((cross + 0.5 * both * p).astype(a.dtype), p.astype(a.dtype))
        square += mixed
        square += mixed.T
        return np.asarray(square)


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
        gap, since, single = math.inf, 0, True
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
            after = self._step(state, budget, single=True) if single else None
            if after is None:
                single = False
                after = self._step(state, budget, single=False)
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

    def _step(self, s: State, budget: Budget, *, single: bool) -> State | None:
        """One predictor and corrector; None where the time is up, a factor fails, or single precision is too rough."""
        limited = self.limit is not None
        newton = _Newton.of(self, s, budget, single=single)
        if newton is None:
            return None
        mu = s.complementarity(limited)
        plain = newton.direction(0.0, None)
        along, back = newton.lengths(plain)
        ahead = newton.moved(plain, along, back).complementarity(limited)
        centre = min(1.0, max(SMALL, (ahead / mu) ** 3))
        turned = newton.direction(centre * mu, plain)
        if single and not turned.left <= ROUGH:
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


@dataclass(frozen=True, eq=False)
class _Newton:
    """The factors of one step: the inverse of each block, and that of the sums."""

    program: Interior
    state: State
    inverse: Reals
    factor: Any
    along_limit: Floats
    sums_of_limit: Floats

    @classmethod
    def of(cls, program: Interior, s: State, budget: Budget, *, single: bool) -> _Newton | None:
        blocks, n = program.blocks, program.observations
        count, size = s.x.shape
        shape = (count, size, size)
        inverse: Reals = np.empty(shape, dtype=np.float32) if single else np.empty(shape)
        schur = np.zeros((n, n))
        ratio, diagonal = s.u / s.z, s.v / s.x
        for y in range(count):
            if y % 16 == 0 and budget.remaining <= 0:
                return None
            if not _invert(blocks.hessian(ratio[y], single=single), diagonal[y], inverse[y]):
                return None
            schur += inverse[y, :n, :n]
        along = np.zeros((0, 0))
        sums = np.zeros(n)
        if program.limit is not None:
            along = _times(inverse, program.limit.row)
            sums = along[:, :n].sum(axis=0)
        factor = _factor(schur)
        if factor is None:
            return None
        return cls(program, s, inverse, factor, along, sums)

    def direction(self, mu: float, before: _Direction | None) -> _Direction:
        """Towards the centre mu, with the second-order terms of the direction before."""
        p, s, n = self.program, self.state, self.program.observations
        of_x, of_z, of_spare = mu / s.x - s.v, mu / s.z - s.u, 0.0
        if before is not None:
            of_x = of_x - before.x * before.v / s.x
            of_z = of_z - before.z * before.u / s.z
        ratio = s.u / s.z
        missed = p.blocks.slack(s.x) - s.z
        dual = p._reduced(s.u, s.price) - s.v
        dual[:, :n] -= s.pi
        right = -dual + p.blocks.prices(of_z - ratio * missed) + of_x
        short = 1.0 - s.x[:, :n].sum(axis=0)
        spare = p.limit is not None
        if p.limit is not None:
            of_spare = mu / s.price - s.spare
            if before is not None:
                of_spare -= before.spare * before.price / s.price
        missing = (
            0.0 if p.limit is None else p.limit.most - float((p.limit.row * s.x).sum()) - s.spare - of_spare
        )
        x, pi, price = self._solved(right, short, missing)
        size = np.sqrt(np.abs(np.diagonal(self.inverse, axis1=1, axis2=2)))
        rest, whole = math.inf, float(np.abs(right * size).max())
        left = math.inf
        for _ in range(REFINED):
            again = right - self._applied(x) - (price * p.limit.row if p.limit is not None else 0.0)
            again[:, :n] += pi
            still = 0.0
            if p.limit is not None:
                still = missing - float((p.limit.row * x).sum()) + s.spare / s.price * price
            left = float(np.abs(again * size).max())
            if not FINE * whole < left < 0.3 * rest:
                break
            rest = left
            more = self._solved(again, short - x[:, :n].sum(axis=0), still)
            x, pi, price = x + more[0], pi + more[1], price + more[2]
        if spare:
            of_spare -= s.spare / s.price * price
        z = p.blocks.slack(x) + missed
        return _Direction(
            x, of_x - s.v / s.x * x, z, of_z - ratio * z, pi, of_spare, price, left / max(whole, 1e-300)
        )

    def _applied(self, x: Floats) -> Floats:
        """The blocks times x."""
        s, p = self.state, self.program
        return np.asarray(p.blocks.prices(s.u / s.z * p.blocks.slack(x)) + s.v / s.x * x)

    def _solved(self, right: Floats, short: Floats, missing: float) -> tuple[Floats, Floats, float]:
        """x, pi and the price with H x = right + pi - price row, sums short, and row . x - spare / price' price = missing."""
        p, n = self.program, self.program.observations
        x = _times(self.inverse, right)
        pi, price = self._sums(short - x[:, :n].sum(axis=0)), 0.0
        if p.limit is not None:
            s, across = self.state, self.sums_of_limit
            by_price = self._sums(across)
            own = float((p.limit.row * self.along_limit).sum()) - float(across @ by_price)
            reached = float((p.limit.row * x).sum()) + float(across @ pi)
            price = (reached - missing) / (own + s.spare / s.price)
            pi = pi + price * by_price
            x = x - price * self.along_limit
        return x + _times(self.inverse[:, :, :n], np.broadcast_to(pi, (len(x), n))), pi, price

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


def _times(inverse: Reals, right: Floats) -> Floats:
    """Each block of an inverse times its row of a right side, in the precision of the inverse."""
    scale = float(np.abs(right).max()) or 1.0  # what is tiny must not vanish in single precision
    product = np.matmul(inverse, (right / scale).astype(inverse.dtype)[:, :, None])[:, :, 0]
    return np.asarray(scale * product.astype(np.float64))


def _invert(square: Reals, diagonal: Floats, out: Reals) -> bool:
    """The inverse of square + diag(diagonal), by Cholesky's factors of the matrix scaled to a unit diagonal, in the precision of ``out``."""
    from scipy.linalg.lapack import dpotrf, dpotri, spotrf, spotri

    single = square.dtype == np.float32
    factorised, inverted = (spotrf, spotri) if single else (dpotrf, dpotri)
    on_diagonal = square.reshape(-1)[:: len(square) + 1]
    with np.errstate(over="ignore"):
        on_diagonal += diagonal.astype(square.dtype)
    scale = 1.0 / np.sqrt(on_diagonal)
    if not (np.isfinite(scale).all() and scale.all()):
        return False
    square *= scale
    square *= scale[:, None]
    for more in REGULAR[:1] if single else REGULAR:
        on_diagonal += more
        factor, info = factorised(square, lower=1, clean=1)
        if info == 0:
            break
    else:
        return False
    lower, info = inverted(factor, lower=1, overwrite_c=1)
    if info != 0:
        return False
    lower *= scale
    lower *= scale[:, None]
    np.add(lower, lower.T, out=out)
    out.reshape(-1)[:: len(out) + 1] *= 0.5
    return True


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

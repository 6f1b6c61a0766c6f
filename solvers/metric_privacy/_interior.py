"""A primal-dual interior-point method for the program of one component: one sparse factor for each output, one table for all.

Minimise cost . M over M >= 0 with rows that sum to 1 and A M >= 0, a row of A for each ordered pair of points. The outputs
share nothing but the sums: a step of Newton's method takes a factor of the pattern of the pairs for each output, and one
table of the size of the points, the sum of their inverses. Both iterates stay strictly feasible: every pair is kept with
something to spare, and any multipliers prove a bound.

Source: Mehrotra, "On the implementation of a primal-dual interior point method", for the steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from privopt.arrays import Floats
from privopt.core.solver import Budget
from privopt.solvers.metric_privacy._factors import Factors, Pattern

MOST_STEPS = 200
"""Steps after which it ends in any case."""

STALLED, PATIENCE = 0.8, 12
"""It ends too where the gap has not shrunk to this share of itself within so many steps."""

LONGEST = 0.995
"""Share of the way to the boundary that a step may go."""

SMALL = 1e-3
"""Least share of the centre that a step aims at."""

MARGIN = 0.1
"""By how much the first prices of the sums are below what they could be, relative to the largest price."""

LITTLE = 1e-4
"""Share of the cost of choosing at random that a gap is compared with at least."""

REFINED, FINE = 3, 1e-11
"""How often a direction is corrected by what it leaves of its equations, and what may be left, relative to the right side."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Ordered pairs of points: scale (growth M[second] - M[first]) >= 0 for every output.

    Parameters
    ----------
    first, second : int arrays (p,)
        The second half holds the pairs of the first half, the other way round.
    growth : float array (p,)
    points : int
    """

    first: Any
    second: Any
    growth: Floats
    points: int

    @cached_property
    def scale(self) -> Floats:
        """What makes rows of length 1."""
        return np.asarray(1.0 / np.sqrt(1.0 + self.growth**2))

    @cached_property
    def table(self) -> Any:
        """A, sparse, shape (p, n)."""
        from scipy.sparse import csr_array

        count = len(self.first)
        every = np.arange(count)
        entries = np.concatenate([self.growth * self.scale, -self.scale])
        where = np.concatenate([every, every]), np.concatenate([self.second, self.first])
        return csr_array((entries, where), shape=(count, self.points))

    @cached_property
    def back(self) -> Any:
        """A', sparse, shape (n, p)."""
        return self.table.T.tocsr()

    def off(self, weights: Floats) -> Floats:
        """Minus the entries of A' W A off the diagonal, one for each unordered pair."""
        half = len(self.first) // 2
        mixed = (self.growth * self.scale**2)[:, None] * weights
        return np.asarray(mixed[:half] + mixed[half:])


@dataclass(eq=False)
class State:
    """Both iterates: x (n, m) with its prices v, z = A x (p, m) with its prices u, and pi (n,), the prices of the sums."""

    x: Floats
    v: Floats
    z: Floats
    u: Floats
    pi: Floats

    @property
    def complementarity(self) -> float:
        """The mean product of a number and its price."""
        total = float(np.vdot(self.x, self.v) + np.vdot(self.z, self.u))
        return total / (self.x.size + self.z.size)

    def moved(self, by: State, along: float, back: float) -> State:
        """The state after a step."""
        return State(
            self.x + along * by.x,
            self.v + back * by.v,
            self.z + along * by.z,
            self.u + back * by.u,
            self.pi + back * by.pi,
        )


class Interior:
    """The method on some rows.

    Parameters
    ----------
    cost : float array (n, m)
    rows : Rows
    """

    def __init__(self, cost: Floats, rows: Rows) -> None:
        self.cost, self.rows = cost, rows
        half = len(rows.first) // 2
        self.pattern = Pattern(rows.first[:half], rows.second[:half], rows.points)
        self.steps = 0
        self.value, self.bound = np.inf, -np.inf
        self.multipliers = np.zeros((len(rows.first), cost.shape[1]))

    def start(self, x: Floats) -> State:
        """Both iterates from an x inside all rows."""
        z = self.rows.table @ x
        mu = float(self.cost.max() - self.cost.min()) / x.shape[1]
        u = mu / z
        reduced = self.cost - self.rows.back @ u
        pi = reduced.min(axis=1) - MARGIN * float(np.abs(reduced).max())
        return State(x, reduced - pi[:, None], z, u, pi)

    def run(self, state: State, budget: Budget, tolerance: float) -> State:
        """Step until value and bound differ by a share of the cost, nothing improves, or the time is spent."""
        gap, since = np.inf, 0
        while self.steps < MOST_STEPS:
            self._read(state)
            if self.value - self.bound <= STALLED * gap:
                gap, since = self.value - self.bound, self.steps
            if self.closed(tolerance) or self.steps - since >= PATIENCE or budget.remaining <= 0:
                break
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                after = self._step(state)
            if after is None:
                break
            state, self.steps = after, self.steps + 1
        return state

    def closed(self, tolerance: float) -> bool:
        """Whether value and bound differ by at most a share of the cost, which is that of chance if the value is next to 0."""
        size = max(abs(self.value), LITTLE * float(self.cost.mean(axis=1).sum()))
        return self.value - self.bound <= tolerance * size

    def _read(self, state: State) -> None:
        """The value, and the bound of the multipliers if it is the best."""
        self.value = float(np.vdot(self.cost, state.x))
        bound = float((self.cost - self.rows.back @ state.u).min(axis=1).sum())
        if bound > self.bound:
            self.bound, self.multipliers = bound, state.u

    def _step(self, s: State) -> State | None:
        """One predictor and one corrector; None where the table of the sums has no factor, or it leads nowhere."""
        try:
            newton = _Newton(self, s)
        except np.linalg.LinAlgError:
            return None
        mu = s.complementarity
        plain = newton.direction(0.0, None)
        ahead = s.moved(plain, *_lengths(s, plain)).complementarity
        centre = min(1.0, max(SMALL, (ahead / mu) ** 3))
        turned = newton.direction(centre * mu, plain)
        if not (np.isfinite(turned.x).all() and np.isfinite(turned.u).all()):
            return None
        along, back = _lengths(s, turned)
        return s.moved(turned, min(1.0, LONGEST * along), min(1.0, LONGEST * back))


class _Newton:
    """The factors of one step."""

    def __init__(self, method: Interior, s: State) -> None:
        from scipy.linalg import cho_factor

        self.rows, self.s, self.cost = method.rows, s, method.cost
        self.weights, self.own = s.u / s.z, s.v / s.x
        image = self.rows.back @ s.u + s.v
        self.factors = Factors(method.pattern, self.rows.off(self.weights), s.x, image)
        total = self.factors.summed()
        scale = 1.0 / np.sqrt(np.diag(total))
        self.scale = scale
        self.sums = cho_factor(
            total * scale * scale[:, None] + 1e-15 * np.eye(len(total)), check_finite=False
        )

    def direction(self, mu: float, before: State | None) -> State:
        """Towards the centre mu, with the second-order terms of the direction before."""
        s, rows = self.s, self.rows
        of_x, of_z = mu / s.x - s.v, mu / s.z - s.u
        if before is not None:
            of_x -= before.x * before.v / s.x
            of_z -= before.z * before.u / s.z
        missed = rows.table @ s.x - s.z
        dual = self.cost - rows.back @ s.u - s.v - s.pi[:, None]
        right = rows.back @ (of_z - self.weights * missed) + of_x - dual
        x, pi = self._solved(right, 1.0 - s.x.sum(axis=1))
        z = rows.table @ x + missed
        return State(x, of_x - self.own * x, z, of_z - self.weights * z, pi)

    def _solved(self, right: Floats, short: Floats) -> tuple[Floats, Floats]:
        """Values x and pi with H x = right + pi and the sums short, corrected until little is left."""
        x, pi = self._solved_once(right, short)
        size = float(np.abs(right).max())
        rest = np.inf
        for _ in range(REFINED):
            again = right + pi[:, None] - self._applied(x)
            left = float(np.abs(again).max())
            if not FINE * size < left < 0.5 * rest:
                break
            rest = left
            more = self._solved_once(again, short - x.sum(axis=1))
            x, pi = x + more[0], pi + more[1]
        return x, pi

    def _solved_once(self, right: Floats, short: Floats) -> tuple[Floats, Floats]:
        from scipy.linalg import cho_solve

        x = self.factors.solve(right)
        pi = self.scale * cho_solve(self.sums, self.scale * (short - x.sum(axis=1)), check_finite=False)
        return x + self.factors.solve(np.repeat(pi[:, None], right.shape[1], axis=1)), pi

    def _applied(self, x: Floats) -> Floats:
        return np.asarray(self.rows.back @ (self.weights * (self.rows.table @ x)) + self.own * x)


def _lengths(s: State, d: State) -> tuple[float, float]:
    """How far each iterate can go, at most 1."""
    return min(_length(s.x, d.x), _length(s.z, d.z)), min(_length(s.v, d.v), _length(s.u, d.u))


def _length(values: Floats, moves: Floats) -> float:
    fastest = float((moves / values).min())
    return 1.0 if fastest >= -1.0 else -1.0 / fastest

"""A funnel or a bottleneck as a linear program over posteriors, and back from weighted posteriors to a channel.

A release is a set of posteriors v of the observation with weights w that average to its distribution. Then
I(S;Y) = H(S) - sum w H(A v) and I(X;Y) = H(X) - sum w H(B v), so that both are linear in the weights.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from privopt.arrays import Floats
from privopt.measures.shannon import entropy
from privopt.mechanisms import Channel
from privopt.models.channel_data import Release
from privopt.problems.entropy_boxes import phi
from privopt.problems.trade_off.problem import TradeOff
from privopt.solvers.common.crumbs import without_crumbs

RARE = 1e-9
"""Linear programs in floats do not notice probabilities below this; releases and bounds are for them as they are."""

ATTEMPTS = (
    ("highs-ds", 1e-10, True),
    ("highs-ds", 1e-8, True),
    ("highs-ipm", 1e-8, True),
    ("highs-ds", 1e-8, False),
)
"""Methods of HiGHS with their tolerances on rows and on reduced costs, and whether it presolves; columns that are almost equal can defeat one."""
LAST = 1.0
"""Seconds of the last attempt, which may find no end."""
LEAST = 0.25
"""Seconds that any attempt has, past the deadline, too."""

UNUSED = 1e-13
"""Weights up to this are rounding."""

MARGIN = 2.0**-50

CHANNELS_ONLY = 'it proposes channels, this problem asks for form "merging"'


@dataclass(frozen=True, eq=False)
class Master:
    """An optimal basic solution.

    Parameters
    ----------
    weights : array (m,)
    prices : array (n,)
        Duals of the n equations.
    dual : float
        Of the row, >= 0; 0 if there is none. ``costs - columns @ prices + dual * row >= 0``.
    value : float
    """

    weights: Floats
    prices: Floats
    dual: float
    value: float


def solve_master(
    columns: Floats,
    costs: Floats,
    p_w: Floats,
    row: Floats | None = None,
    limit: float = 0.0,
    deadline: float = math.inf,
) -> Master:
    """Minimise costs . w over w >= 0 with sum w v = p_w and row . w <= limit.

    Parameters
    ----------
    columns : array (m, n)
        A posterior a row.
    costs : array (m,)
    p_w : array (n,)
    row : array (m,), optional
    limit : float
    deadline : float
        On the clock of ``time.monotonic()``; an attempt that has begun ends near it.

    Raises
    ------
    ArithmeticError
        If HiGHS finds no optimum, with its words.

    Examples
    --------
    >>> columns = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    >>> master = solve_master(columns, np.array([1.0, 2.0, 1.0]), np.array([0.5, 0.5]))
    >>> master.weights.tolist(), master.value
    ([0.0, 0.0, 1.0], 1.0)
    """
    from scipy import optimize

    solver: Any = optimize.linprog  # its stubs want one literal method a call
    message = ""
    for method, tolerance, presolve in ATTEMPTS:
        options = {
            "primal_feasibility_tolerance": tolerance,
            "dual_feasibility_tolerance": tolerance,
            "presolve": presolve,
            "time_limit": max(LEAST, min(deadline - time.monotonic(), math.inf if presolve else LAST)),
        }
        rows = {} if row is None else {"A_ub": row[None], "b_ub": [limit]}
        result = solver(costs, A_eq=columns.T, b_eq=p_w, **rows, method=method, options=options)
        if result.status == 0:
            dual = 0.0 if row is None else max(0.0, -float(result.ineqlin.marginals[0]))
            weights = np.maximum(np.asarray(result.x), 0.0)
            return Master(weights, np.asarray(result.eqlin.marginals), dual, float(costs @ weights))
        message = str(result.message)
    raise ArithmeticError(f"the master program ended so: {message}")


@dataclass(frozen=True, eq=False)
class Program:
    """Minimise costs . w over w >= 0 with sum w v = p and, under a bound, row . w <= limit."""

    problem: TradeOff

    @cached_property
    def p_w(self) -> Floats:
        """Probabilities of the observations of positive probability, shape (n,), with rare ones as likely as is still noticed."""
        observed = self.problem.observation
        raised = np.maximum(observed.p_w[observed.support], RARE)
        return np.asarray(raised / raised.sum())

    @cached_property
    def secret(self) -> Floats:
        """P(s | w) on the support, shape (n_s, n)."""
        observed = self.problem.observation
        return np.asarray(observed.s_given_w[:, observed.support])

    @cached_property
    def useful(self) -> Floats | None:
        """P(x | w) on the support, shape (n_x, n); None where X is W."""
        observed = self.problem.observation
        return None if observed.useful is None else np.asarray(observed.x_given_w[:, observed.support])

    @cached_property
    def whole(self) -> tuple[float, float]:
        """H(S) and H(X)."""
        observed = self.problem.observation
        return float(entropy(observed.p_s)), float(entropy(observed.p_x))

    def entropies(self, columns: Floats) -> tuple[Floats, Floats]:
        """H(S | v) and H(X | v) of posteriors (m, n)."""
        seen = columns if self.useful is None else columns @ self.useful.T
        return phi(columns @ self.secret.T).sum(axis=1), phi(seen).sum(axis=1)

    def costs(self, columns: Floats) -> Floats:
        """What is minimised on average, shape (m,)."""
        secret, useful = self.entropies(columns)
        if self.problem.mode == "trade_off":
            weighed = self.problem.budget * useful - secret
            return weighed if self.problem.is_funnel else secret - self.problem.budget * useful
        if not self.problem.is_funnel:
            return secret
        return -secret if self.problem.is_floor else useful

    @property
    def is_bounded(self) -> bool:
        """Whether there is a bound to keep."""
        return self.problem.mode != "trade_off" and self.problem.budget < math.inf

    def row(self, columns: Floats) -> Floats:
        """What is at most :attr:`limit` on average, shape (m,)."""
        secret, useful = self.entropies(columns)
        if not self.problem.is_funnel:
            return -useful
        return useful if self.problem.is_floor else -secret

    @property
    def limit(self) -> float:
        """The bound on the average of the row."""
        of_s, of_x = self.whole
        if not self.problem.is_funnel:
            return self.problem.budget - of_x
        return of_x - self.problem.budget if self.problem.is_floor else self.problem.budget - of_s

    def mixed(self, columns: Floats, deadline: float = math.inf) -> Master:
        """The best mixture of some posteriors; see :func:`solve_master`."""
        row = self.row(columns) if self.is_bounded else None
        limit = self.limit if self.is_bounded else 0.0
        return solve_master(columns, self.costs(columns), self.p_w, row, limit, deadline)

    def objective(self, value: float) -> float:
        """The objective of the problem at a value of the program."""
        of_s, of_x = self.whole
        if self.problem.mode == "trade_off":
            tau = self.problem.budget
            return (tau * of_x - of_s if self.problem.is_funnel else of_s - tau * of_x) - value
        if not self.problem.is_funnel:
            return of_s - value
        return -(of_s + value) if self.problem.is_floor else of_x - value

    def scale(self, weights: Floats, columns: Floats) -> float:
        """What a gap is compared with, at a mixture of columns."""
        used = weights > 0
        (of_s, of_x), (secret, useful) = self.whole, self.entropies(columns[used])
        said = (
            max(0.0, of_s - float(weights[used] @ secret)),
            max(0.0, of_x - float(weights[used] @ useful)),
        )
        return self.problem.magnitude(*self.problem.split(*said))

    def scaled(self, prices: Floats, dual: float) -> tuple[float, Floats] | None:
        """The multiplier and the prices of a ``pricing`` dual, from those of the program; None if there is none."""
        if self.problem.mode == "trade_off":
            return self.problem.budget, prices
        if self.problem.is_funnel and self.problem.is_cap:
            return None if dual < 1e-9 else (1.0 / dual, prices / dual)
        return dual, prices


def channel_of(problem: TradeOff, weights: Floats, columns: Floats) -> Channel:
    """The channel P(y | w) = weight_y v_y(w) / P(w); an observation of probability 0 is released like the average one.

    Parameters
    ----------
    problem : TradeOff
    weights : array (m,)
        Non-negative.
    columns : array (m, n)
        Distributions on the n observations of positive probability, on average that of these.
    """
    observed = problem.observation
    used = weights > UNUSED
    joint = weights[used, None] * without_crumbs(columns[used], observed.p_w[observed.support])
    average = joint.sum(axis=1) / joint.sum()
    matrix = np.tile(average, (len(observed.p_w), 1))
    mass = joint.sum(axis=0)
    met = mass > 0  # a rare symbol may be in none of the posteriors that are used
    matrix[observed.support[met]] = (joint[:, met] / mass[met]).T
    return problem.answer(matrix)


def kept(problem: TradeOff, release: Release) -> Release:
    """The release, moved by rounding errors' worth where it misses the bound by that: along a chord, or towards silence."""
    return release if problem.evaluate(release).violation == 0 else problem.repair(release, MARGIN)

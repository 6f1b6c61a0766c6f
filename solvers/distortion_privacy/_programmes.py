"""The convex programmes of distortion and leakage in CVXPY, for any conic back end."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from privopt.arrays import Floats
from privopt.problems.distortion_privacy.bound import transformed
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.problems.local_information_privacy.rows import posterior_rows
from privopt.solvers.distortion_privacy._linear import Found
from privopt.solvers.distortion_privacy._space import Space

Backend = Literal["ecos", "scs", "clarabel"]

NEAR_ONE = {"clarabel": 2e-5, "ecos": 9.7e-4, "scs": 3e-3}
"""Orders this near to 1 are given to the back end as 1; the bound is for the order asked."""


@dataclass
class Programmes:
    """Solves programmes with one back end and remembers how that went."""

    space: Space
    backend: Backend
    iterations: int = 0
    programmes: int = 0
    status: str = ""

    def information(self) -> tuple[Floats, Floats]:
        """A channel (n_w, n_y) and laws over S (n_y, n_s) from the multipliers of its output laws.

        Where order 1 stands for an order near it, a limit is moved by what the first channel reads.
        """
        budget = self.space.problem.budget
        matrix, laws = self._information(budget)
        if self.space.problem.max_leakage is not None and self._order != self.space.problem.order:
            matrix, laws = self._information(budget * budget / self.space.leakage(matrix))
        return matrix, laws

    def _information(self, limit: float) -> tuple[Floats, Floats]:
        """With power cones, or with their approximation by quadratic ones where those are not known or fail."""
        from cvxpy.error import SolverError

        if self.backend != "ecos":
            try:
                return self._one(limit, exact=True)
            except SolverError:
                self.status = "failed with power cones"
        return self._one(limit, exact=False)

    def _one(self, limit: float, *, exact: bool) -> tuple[Floats, Floats]:
        """One programme.

        The channel of S, P(y|s) = sum_w P(w|s) Q(y|w), is a variable of its own: the multiplier of this equation
        is the slope of the leakage in P(y|s), from which the laws follow.
        """
        cp = _modelling()

        space, order = self.space, self._order
        matrix = cp.Variable(space.excess.shape, nonneg=True)
        given = cp.Variable((len(space.prior), space.excess.shape[1]))
        through = given == cp.Constant(space.table / space.prior[:, None]) @ matrix
        leak = _leak(given, space.prior, order, exact=exact)
        cost = cp.sum(cp.multiply(space.excess, matrix))
        rules = [through, cp.sum(matrix, axis=1) == 1, *self._closed(matrix)]
        price = None
        if space.problem.max_leakage is None:
            objective: Any = leak
            rules += [cost <= space.room] if space.room > 0 else []
        else:
            objective = cost
            price = leak <= _limit(limit, order)
            rules.append(price)
        self._solve(cp.Problem(cp.Minimize(objective), rules))
        scale = 1.0 if price is None else max(float(price.dual_value), 1e-300)
        slopes = -np.asarray(through.dual_value) / space.prior[:, None] / scale
        return self._matrix(matrix), _laws(slopes, space.prior, order)

    def distortion(self, ratios: LocalInformationPrivacy) -> Found:
        """The least distortion above that of the best reproduction, within bounds on ratios."""
        cp = _modelling()

        space = self.space
        rows = posterior_rows(ratios)[:, space.seen] * space.weights
        matrix = cp.Variable(space.excess.shape, nonneg=True)
        rules = [cp.sum(matrix, axis=1) == 1]
        kept = cp.Constant(rows) @ matrix <= 0 if len(rows) else None
        cost = cp.sum(cp.multiply(space.excess, matrix))
        programme = cp.Problem(cp.Minimize(cost), rules if kept is None else [*rules, kept])
        before = self.iterations
        self._solve(programme)
        prices = np.zeros((space.excess.shape[1], len(rows)))
        if kept is not None:
            prices = np.maximum(np.asarray(kept.dual_value).T, 0.0)
        found = self._matrix(matrix)
        return Found(found, prices, float((space.excess * found).sum()), self.iterations - before)

    @property
    def _order(self) -> float:
        order = self.space.problem.order or 1.0
        return 1.0 if abs(order - 1) < NEAR_ONE[self.backend] else order

    def _closed(self, matrix: Any) -> list[Any]:
        cp = _modelling()

        shut = (~self.space.open).astype(np.float64)
        return [cp.multiply(shut, matrix) == 0] if shut.any() else []

    def _matrix(self, variable: Any) -> Floats:
        found = np.clip(np.asarray(variable.value, dtype=np.float64), 0.0, 1.0)
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def _solve(self, programme: Any) -> None:
        """Solve with tight tolerances; an inaccurate answer says so in the statistics and in its gap."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Solution may be inaccurate", UserWarning)
            _call(programme, self.backend)
        self.status, self.programmes = str(programme.status), self.programmes + 1
        statistics = programme.solver_stats
        if statistics is None or any(v.value is None for v in programme.variables()):
            raise ArithmeticError(f"{self.backend} ended with status {self.status!r} and no solution")
        self.iterations += int(statistics.num_iters or 0)


def _modelling() -> Any:
    """CVXPY, whose functions have no types."""
    import cvxpy

    return cvxpy


def _leak(given: Any, prior: Floats, order: float, *, exact: bool) -> Any:
    """A convex function of P(y|s) that grows with the leakage: I(S;Y), or the sum of norms of its columns.

    Below order 1 the sum of means is concave and falls with the leakage: its negative.
    """
    cp = _modelling()

    if order == 1:
        marginal = cp.vstack([prior @ given] * len(prior))
        return cp.sum(prior @ cp.rel_entr(given, marginal))
    if math.isinf(order):
        return cp.sum(cp.max(given, axis=0))
    weighted = cp.multiply((prior ** (1 / order))[:, None], given)
    columns = range(given.shape[1])
    total = sum(cp.pnorm(weighted[:, y], order, approx=not exact) for y in columns)
    return total if order > 1 else -total


def _limit(budget: float, order: float) -> float:
    """What that function may be."""
    if order == 1:
        return budget
    b = 1.0 if math.isinf(order) else order / (order - 1)
    total = 1 + transformed(budget, order) / b
    return total if order > 1 else -total


def _laws(slopes: Floats, prior: Floats, order: float) -> Floats:
    """Laws r[y, s] with P(s) e^slope at order 1, else with P(s) slope^b, b = order / (order - 1)."""
    if order == 1:
        logs = np.clip(slopes, -50.0, 50.0)
    else:
        b = 1.0 if math.isinf(order) else order / (order - 1)
        logs = np.clip(b * np.log(np.maximum(np.abs(slopes), 1e-15)), -60.0, 60.0)
    raised = prior[:, None] * np.exp(logs - logs.max(axis=0))
    return np.asarray((raised / raised.sum(axis=0)).T)


def _call(programme: Any, backend: Backend) -> None:
    """Solve with tight tolerances, by Clarabel with its own where it fails at those."""
    from cvxpy.error import SolverError

    if backend == "ecos":
        programme.solve(solver="ECOS", abstol=1e-10, reltol=1e-10, feastol=1e-10, max_iters=300)
    elif backend == "scs":
        programme.solve(solver="SCS", eps_abs=1e-9, eps_rel=1e-9, max_iters=50_000)
    else:
        try:
            programme.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
        except SolverError:
            programme.solve(solver="CLARABEL")

"""The convex programs of distortion and leakage in CVXPY, by three conic back ends."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.distortion_privacy.bound import transformed
from privopt.problems.distortion_privacy.problem import DistortionPrivacy
from privopt.problems.local_information_privacy.data import posterior_rows
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.distortion_privacy._bound import better_bound
from privopt.solvers.distortion_privacy._programs import Optimum
from privopt.solvers.distortion_privacy._silent import silent_release
from privopt.solvers.distortion_privacy._space import Space, at_once
from privopt.solvers.distortion_privacy.direct_lp import least_level

ORDERED = 24
"""How many times as many cones a short program of an order may have: each is small."""


class Conic(Solver[DistortionPrivacy]):
    """Relative entropies for mutual information, power cones for Sibson's, linear rows for the others.

    What the back end returns is proposed as it is: it may miss the budget by its tolerance. The bound is
    computed from its multipliers, or from its channel if that proves more.
    """

    solves: ClassVar = DistortionPrivacy
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BOUNDED
    """Bounded: how near depends on the tolerance of the back end."""
    interruptible: ClassVar[bool] = False
    least_order: ClassVar[float] = 0.3
    """Below it the back end does not get the means right."""
    most_cones: ClassVar[float] = math.inf
    """Cones beyond which its factorisations break down."""
    short: ClassVar[int] = 150
    """Cones up to which a program of so many steps at most is a matter of some tenths of a second."""
    near_one: ClassVar[float]
    """Orders this near to 1 count as 1; the bound is for the order of the problem."""
    power_cones: ClassVar[bool] = True
    """Whether it knows them; else they are approximated by quadratic ones."""

    @abstractmethod
    def solve(self, program: Any) -> None:
        """Solve with tight tolerances."""

    def cost(self, problem: DistortionPrivacy) -> float:
        """CVXPY, in a process of its own but for short ones, and cones for each pair of a secret and a release.

        Their factorisations grow faster than their number.
        """
        cells = _cones(problem)
        slower = 1 if problem.order is not None else 3 if problem.max_leakage is not None else 20
        return float((0.01 if self.polls(problem) else 0.4) + slower * 3.9e-7 * cells**1.5)

    def polls(self, problem: DistortionPrivacy) -> bool:
        """Where one short program answers it, so that nothing is gained by looking at the clock."""
        most = self.short * (ORDERED if problem.order is not None else 1)
        return problem.max_leakage is not None and _cones(problem) <= most

    def refuse(self, problem: DistortionPrivacy) -> str | None:
        """Refuse exact independence, and orders whose means the back end does not get right."""
        if problem.max_leakage == 0:
            return "exact independence is linear in the channel: direct-lp answers it exactly"
        if problem.order is not None and problem.order < self.least_order:
            return f"its answers are poor below order {self.least_order:g}; conic-clarabel goes further"
        if problem.order is not None and _cones(problem) > self.most_cones:
            return f"it breaks down beyond {self.most_cones:g} cones, this problem has {_cones(problem)}; conic-clarabel goes further"
        return None

    def run(self, problem: DistortionPrivacy, budget: Budget) -> Proposal:
        """Propose the program's channel, and the bound from its multipliers."""
        known = at_once(problem)
        if known is not None:
            return known
        space = Space(problem)
        programs = _Programs(space, self)
        if problem.order is not None:
            if (silent := silent_release(space, budget)) is not None:
                return silent
            matrix, posteriors = programs.information()
            bound, dual = better_bound(space, posteriors, matrix)
            return Proposal(space.release(matrix), bound, dual, stats=programs.stats)
        if problem.max_leakage is None:
            level = least_level(space, programs.distortion, budget)
            stats = {**programs.stats, "stop": level.stats["stop"]}
            return Proposal(level.mechanism, level.bound, level.dual, stats=stats)
        best = programs.distortion(problem.ratios(problem.budget))
        dual = {"kind": "linear", "multipliers": best.multipliers.tolist()}
        bound = problem.check_bound(-math.inf, dual)
        return Proposal(space.release(best.matrix), bound, dual, stats=programs.stats)


def _cones(problem: DistortionPrivacy) -> int:
    """Pairs of a secret, or of what is observed, and a release."""
    return max(len(problem.observation.p_s), len(problem.observation.p_w)) * int(problem.matrix.shape[1])


@dataclass
class _Programs:
    """Solves programs with one back end and remembers how that went."""

    space: Space
    backend: Conic
    iterations: int = 0
    programs: int = 0
    status: str = ""

    @property
    def stats(self) -> dict[str, float | int | str]:
        """What to report of it."""
        return {"iterations": self.iterations, "programs": self.programs, "stop": self.status}

    def information(self) -> tuple[Floats, Floats]:
        """A channel (n_w, n_y) and distributions of S (n_y, n_s) from the multipliers of its output.

        Where order 1 stands for an order near it, a limit is moved by what the first channel reads.
        """
        budget = self.space.problem.budget
        matrix, posteriors = self._information(budget)
        if self.space.problem.max_leakage is not None and self._order != self.space.problem.order:
            matrix, posteriors = self._information(budget * budget / self.space.leakage(matrix))
        return matrix, posteriors

    def _information(self, limit: float) -> tuple[Floats, Floats]:
        """With power cones, or with their approximation by quadratic ones where those are not known or fail."""
        from cvxpy.error import SolverError

        if self.backend.power_cones:
            try:
                return self._one(limit, exact=True)
            except SolverError:
                self.status = "failed with power cones"
        return self._one(limit, exact=False)

    def _one(self, limit: float, *, exact: bool) -> tuple[Floats, Floats]:
        """One program.

        The channel of S, P(y|s) = sum_w P(w|s) Q(y|w), is a variable of its own: the multiplier of this equation
        is the slope of the leakage in P(y|s), from which the distributions follow.
        """
        cp = _modelling()
        space, order = self.space, self._order
        matrix = cp.Variable(space.excess.shape, nonneg=True)
        conditional = cp.Variable((len(space.prior), space.excess.shape[1]))
        through = conditional == cp.Constant(space.table / space.prior[:, None]) @ matrix
        leak = _leak(conditional, space.prior, order, exact=exact)
        cost = cp.sum(cp.multiply(space.excess, matrix))
        rules = [through, cp.sum(matrix, axis=1) == 1]
        if not space.open.all():
            rules.append(cp.multiply((~space.open).astype(np.float64), matrix) == 0)
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
        return _stochastic(matrix), _posteriors(slopes, space.prior, order)

    def distortion(self, ratios: LocalInformationPrivacy) -> Optimum:
        """The least distortion above that of the best reproduction, within bounds on ratios."""
        cp = _modelling()
        space, before = self.space, self.iterations
        rows = posterior_rows(ratios)[:, space.seen] * space.weights
        matrix = cp.Variable(space.excess.shape, nonneg=True)
        rules = [cp.sum(matrix, axis=1) == 1]
        if len(rows):
            rules.append(cp.Constant(rows) @ matrix <= 0)
        self._solve(cp.Problem(cp.Minimize(cp.sum(cp.multiply(space.excess, matrix))), rules))
        prices = np.zeros((space.excess.shape[1], 0))
        if len(rows):
            prices = np.maximum(np.asarray(rules[1].dual_value).T, 0.0)
        best = _stochastic(matrix)
        return Optimum(best, prices, float((space.excess * best).sum()), self.iterations - before)

    @property
    def _order(self) -> float:
        order = self.space.problem.order or 1.0
        return 1.0 if abs(order - 1) < self.backend.near_one else order

    def _solve(self, program: Any) -> None:
        """Solve with tight tolerances; an inaccurate answer says so in the statistics and in its gap."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Solution may be inaccurate", UserWarning)
            self.backend.solve(program)
        self.status, self.programs = str(program.status), self.programs + 1
        statistics = program.solver_stats
        if statistics is None or any(v.value is None for v in program.variables()):
            raise ArithmeticError(f"{self.backend.name} ended with status {self.status!r} and no solution")
        self.iterations += int(statistics.num_iters or 0)


def _modelling() -> Any:
    """CVXPY, whose functions have no types."""
    import cvxpy

    return cvxpy


def _stochastic(variable: Any) -> Floats:
    """The channel that a variable holds."""
    matrix = np.clip(np.asarray(variable.value, dtype=np.float64), 0.0, 1.0)
    return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))


def _leak(conditional: Any, prior: Floats, order: float, *, exact: bool) -> Any:
    """A convex function of P(y|s) that grows with the leakage: I(S;Y), or the sum of norms of its columns.

    Below order 1 the sum of means is concave and falls with the leakage: its negative.
    """
    cp = _modelling()
    if order == 1:
        marginal = cp.vstack([prior @ conditional] * len(prior))
        return cp.sum(prior @ cp.rel_entr(conditional, marginal))
    if math.isinf(order):
        return cp.sum(cp.max(conditional, axis=0))
    weighted = cp.multiply((prior ** (1 / order))[:, None], conditional)
    total = sum(cp.pnorm(weighted[:, y], order, approx=not exact) for y in range(conditional.shape[1]))
    return total if order > 1 else -total


def _limit(budget: float, order: float) -> float:
    """What that function may be."""
    if order == 1:
        return budget
    b = 1.0 if math.isinf(order) else order / (order - 1)
    total = 1 + transformed(budget, order) / b
    return total if order > 1 else -total


def _posteriors(slopes: Floats, prior: Floats, order: float) -> Floats:
    """Distributions r[y, s] with P(s) e^slope at order 1, else with P(s) slope^b, b = order / (order - 1)."""
    if order == 1:
        logs = np.clip(slopes, -50.0, 50.0)
    else:
        b = 1.0 if math.isinf(order) else order / (order - 1)
        logs = np.clip(b * np.log(np.maximum(np.abs(slopes), 1e-15)), -60.0, 60.0)
    raised = prior[:, None] * np.exp(logs - logs.max(axis=0))
    return np.asarray((raised / raised.sum(axis=0)).T)


@register
@dataclass(frozen=True)
class ConicClarabel(Conic):
    """The convex program of distortion and leakage through CVXPY and Clarabel.

    The convex program of distortion and leakage through CVXPY and Clarabel, an interior-point method.
    """

    name: ClassVar[str] = "conic-clarabel"
    requires: ClassVar[tuple[str, ...]] = ("cvxpy", "clarabel")
    least_order: ClassVar[float] = 0.1
    near_one: ClassVar[float] = 2e-5

    def solve(self, program: Any) -> None:
        """Solve with tight tolerances, with its own where it fails at those."""
        from cvxpy.error import SolverError

        try:
            program.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
        except SolverError:
            program.solve(solver="CLARABEL")


@register
@dataclass(frozen=True)
class ConicECOS(Conic):
    """The convex program of distortion and leakage through CVXPY and ECOS.

    The convex program of distortion and leakage through CVXPY and ECOS, an interior-point method.
    """

    name: ClassVar[str] = "conic-ecos"
    most_cones: ClassVar[float] = 15_000
    requires: ClassVar[tuple[str, ...]] = ("cvxpy", "ecos")
    near_one: ClassVar[float] = 9.7e-4
    power_cones: ClassVar[bool] = False

    def solve(self, program: Any) -> None:
        """Solve with tight tolerances."""
        program.solve(solver="ECOS", abstol=1e-10, reltol=1e-10, feastol=1e-10, max_iters=300)


@register
@dataclass(frozen=True)
class ConicSCS(Conic):
    """The convex program of distortion and leakage through CVXPY and SCS.

    The convex program of distortion and leakage through CVXPY and SCS, a first-order method.
    """

    name: ClassVar[str] = "conic-scs"
    requires: ClassVar[tuple[str, ...]] = ("cvxpy", "scs")
    near_one: ClassVar[float] = 3e-3
    short: ClassVar[int] = 0

    def solve(self, program: Any) -> None:
        """Solve with tight tolerances."""
        program.solve(solver="SCS", eps_abs=1e-9, eps_rel=1e-9, max_iters=50_000)

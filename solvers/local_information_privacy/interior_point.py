"""The best release for a distortion by an interior-point method with one small factorisation a release."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.local_information_privacy.bound import analytic_bound
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.common.crossover import crossed
from privopt.solvers.common.interior import NEAR, Interior
from privopt.solvers.common.inverses import MOST_NUMBERS, Blocks, Size
from privopt.solvers.local_information_privacy.answer import (
    ANALYTIC,
    NOT_INDEPENDENT,
    independent,
    matrix_from_joint,
    whole_release,
    width,
)
from privopt.solvers.local_information_privacy.direct_lp import linear_bound, paid

TARGET = 2e-7
"""Gap at which it stops, relative to the distortion."""

STEPS = 30
"""Steps that a program takes, about."""

MOST_PAIRS = 3e6
"""Numbers in a dual for ratios, n_y n_s^2, up to which pairs of secrets have multipliers: rational arithmetic, which a file of proofs has."""

HIGHEST = 30.0
"""Bounds above this are left to others: the ratios leave the precision of floats."""

THINNEST = 1e-6
"""Widths of lifts below this leave no inside in floats."""

SHARE_KEPT = 0.1
"""Of the time, for the bound and for judging."""


@register
@dataclass(frozen=True)
class InteriorPoint(Solver[LocalInformationPrivacy]):
    """For a distortion: our own interior-point method, a block of rows a release, for programs of hundreds of symbols.

    Its answers keep the bounds strictly, and its multipliers prove a bound wherever it is stopped; a general code has
    neither before its end.
    """

    solves: ClassVar = LocalInformationPrivacy
    name: ClassVar[str] = "interior-point"

    def guarantee(self, problem: LocalInformationPrivacy) -> Guarantee:
        """Optimal for delta = 0."""
        return Guarantee.OPTIMAL if problem.delta == 0 else Guarantee.FEASIBLE

    def cost(self, problem: LocalInformationPrivacy) -> float:
        """Some thirty steps."""
        return 0.04 + STEPS * _size(problem).seconds

    def refuse(self, problem: LocalInformationPrivacy) -> str | None:
        """Refuse other utilities, bounds without an inside, and what memory cannot hold."""
        if problem.matrix is None:
            return "it minimises a distortion matrix, this utility is not linear in the channel"
        if whole_release(problem) is not None:
            return None
        if (reason := thin_or_far(problem)) is not None:
            return reason
        if (numbers := _size(problem).numbers) > MOST_NUMBERS:
            return f"its factors have {numbers:.2g} numbers, at most {MOST_NUMBERS:.2g} fit"
        return None

    def run(self, problem: LocalInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the channel where it stopped, with what its multipliers prove."""
        if (whole := whole_release(problem)) is not None:
            return whole
        import scipy.linalg  # noqa: F401 - only what is loaded is limited
        from threadpoolctl import threadpool_limits

        known = _Known.of(problem)
        until = budget.earlier(SHARE_KEPT)
        # iterates that are not finite end the search
        with threadpool_limits(1, user_api="blas"), np.errstate(all="ignore"):
            answer = known.program.solve(known.program.start(known.centre), until, known.near)
        joint = answer.state.x[:, : len(known.marginal)].T * known.marginal[:, None]
        channel = problem.answer(matrix_from_joint(problem, joint, negligible=0.0))
        if answer.stop == NEAR:
            channel = crossed(problem, problem, channel, budget)
        stats: dict[str, float | int | str] = {"iterations": answer.steps, "vertices": 0, "stop": answer.stop}
        if problem.delta > 0:
            return Proposal(channel, analytic_bound(problem), ANALYTIC, stats=stats)
        if problem.notion == "ldp" and len(known.program.cost) * len(known.prior) ** 2 > MOST_PAIRS:
            above, below = known.unit * answer.proof.u.transpose(1, 0, 2)
            bands = {"kind": "bands", "above": above.tolist(), "below": below.tolist()}
            bound = problem.check_bound(-math.inf, bands)
            return Proposal(channel, bound, None if bound is None else bands, stats=stats)
        multipliers = known.multipliers(answer.proof.u)
        if not np.isfinite(multipliers).all():
            return Proposal(channel, stats=stats)
        dual = {"kind": "linear", "multipliers": multipliers.tolist()}
        return Proposal(channel, linear_bound(problem, multipliers), dual, stats=stats)


def thin_or_far(problem: LocalInformationPrivacy) -> str | None:
    """Why bounds have no inside in floats, or are beyond them; None if neither."""
    if independent(problem):
        return NOT_INDEPENDENT
    if width(problem) < THINNEST:
        return f"lifts may differ by {width(problem):.1e} only, which leaves no inside in floats; direct-lp takes it"
    finite = [level for level in (problem.lower, problem.upper) if level < math.inf]
    if max(finite) > HIGHEST:
        return f"bounds above {HIGHEST:g} are beyond its precision; direct-lp takes them"
    return None


def _outputs(problem: LocalInformationPrivacy) -> int:
    return 0 if problem.matrix is None else problem.matrix.shape[1]


def _size(problem: LocalInformationPrivacy) -> Size:
    observed = problem.observation
    table = observed.leaking.table[observed.p_s > 0][:, observed.support]
    return Size.of(table, 1 if math.inf in (problem.lower, problem.upper) else 2, _outputs(problem))


@dataclass(frozen=True, eq=False)
class _Known:
    """The program in channels P(y | w) instead of joint probabilities, its costs between 0 and 1.

    Parameters
    ----------
    problem : LocalInformationPrivacy
    marginal : array (k,)
        Of the observations.
    prior : array (n_s,)
        Of the secrets.
    unit, least : float
        The distortion is ``least + unit`` times the cost.
    program : Interior
    """

    problem: LocalInformationPrivacy
    marginal: Floats
    prior: Floats
    unit: float
    least: float
    program: Interior

    @classmethod
    def of(cls, problem: LocalInformationPrivacy) -> _Known:
        """The program of a problem whose utility is a distortion."""
        observed, costs = problem.observation, paid(problem)
        marginal = observed.p_w[observed.support]
        seen = observed.p_s > 0
        prior, table = observed.p_s[seen], observed.leaking.table[seen][:, observed.support]
        conditional = table / table.sum(axis=1, keepdims=True)
        costs = costs * marginal[:, None]
        least = costs.min(axis=1)
        unit = max(float((costs - least[:, None]).max()), 1e-300)
        cost = ((costs - least[:, None]) / unit).T
        if problem.notion == "ldp":
            blocks = Blocks(conditional, None, math.exp(problem.budget), 1.0)
            cost = np.column_stack([cost, np.zeros(len(cost))])
        else:
            upper = None if problem.upper == math.inf else math.exp(problem.upper)
            lower = None if problem.lower == math.inf else math.exp(-problem.lower)
            blocks = Blocks(conditional, marginal, upper, lower)
        return cls(problem, marginal, prior, unit, float(least.sum()), Interior(cost, blocks))

    @property
    def centre(self) -> Floats:
        """The uniform release of all observations, which is strictly inside."""
        outputs = len(self.program.cost)
        x = np.full((outputs, len(self.marginal)), 1.0 / outputs)
        if not self.program.blocks.own:
            return x
        return np.column_stack([x, np.full(outputs, math.exp(-self.problem.budget / 2) / outputs)])

    def near(self, value: float, bound: float) -> str:
        """Why to stop, if the gap is small."""
        small = (value - bound) * self.unit <= TARGET * abs(self.least + value * self.unit)
        return NEAR if small else ""

    def multipliers(self, u: Floats) -> Floats:
        """Those of the posterior rows, one row a release, from those of the blocks, shape (n_y, sides, n_s)."""
        polytope = self.problem.polytope
        if self.problem.notion == "ldp":
            every = np.stack([_by_pairs(above, below, math.exp(self.problem.budget)) for above, below in u])
            first, second = np.array(polytope.names).T
            return np.asarray(self.unit * every[:, first, second][:, list(polytope.kept)])
        with np.errstate(over="ignore"):  # of a secret too rare for floats nothing is proved
            sides = np.concatenate(list(u.transpose(1, 0, 2) / self.prior), axis=1)
            return np.asarray(self.unit * sides[:, list(polytope.kept)])


def _by_pairs(above: Floats, below: Floats, ratio: float) -> Floats:
    """Multipliers of P(y | s) <= ratio P(y | t) from those of both ends around a level, shape (n_s, n_s).

    What each secret pays above is shared among those that pay below, in their order; where one side pays more it is
    lowered. A secret compared with itself proves nothing and is left out by who reads this.
    """
    supply, demand = above.copy(), below / ratio
    if (whole := float(demand.sum())) > 0:
        supply *= min(1.0, whole / max(float(supply.sum()), 1e-300))
    pairs = np.zeros((len(above), len(below)))
    s = t = 0
    while s < len(supply) and t < len(demand):
        moved = min(supply[s], demand[t])
        pairs[s, t] += moved
        supply[s] -= moved
        demand[t] -= moved
        s, t = (s + 1, t) if supply[s] <= demand[t] else (s, t + 1)
    return pairs

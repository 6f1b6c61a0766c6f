"""The randomised optimum of the privacy funnel, with a proof."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.errors import InvalidProblem
from privopt.mechanisms import Channel
from privopt.problems.privacy_funnel.problem import PrivacyFunnel
from privopt.solvers.common.columns.solver import CHANNELS_ONLY, generate, settled, supports
from privopt.solvers.trade_off._independent import independent_release, posteriors, thinned

SEEDS = (0.1, 0.3, 1.0)
"""Budgets of local information privacy whose optimal posteriors are tried first on large alphabets."""


@register
@dataclass(frozen=True)
class ColumnGeneration(Solver[PrivacyFunnel]):
    """Posteriors are found as they are needed, and branch and bound proves that none is missed.

    A linear programme shares the law of X among the posteriors found so far; its prices, and the smoother ones of a
    stationary release near it, say which others would help. They are sought from many starts, and then
    exactly: an optimal posterior has at most rank P(s | x) symbols, and over boxes of such supports the concave
    part of its cost lies above its secants. At a floor of at most theta0 the answer leaks nothing.

    Parameters
    ----------
    tolerance : float
        Gap at which to stop, relative to the problem's scale.
    supports : int
        Number of supports up to which the proof is expected to end; beyond, more of the time goes to the value.
    """

    solves: ClassVar = PrivacyFunnel
    name: ClassVar[str] = "column-generation"

    tolerance: float = 9e-7
    supports: int = 10_000

    def guarantee(self, problem: PrivacyFunnel) -> Guarantee:
        """Optimal where the proof is expected to end within seconds, else bounded."""
        return Guarantee.OPTIMAL if self._small(problem) else Guarantee.BOUNDED

    def cost(self, problem: PrivacyFunnel) -> float:
        """Seconds until the gap is closed, where it can be: about 2 ms a support, more for posteriors of many symbols."""
        n, rank = len(problem.observation.support), len(problem.observation.p_s)
        return 0.5 + 0.02 * n + 2e-3 * supports(problem) * 1.5 ** max(0, min(rank, n) - 4)

    def refuse(self, problem: PrivacyFunnel) -> str | None:
        """Refuse mergings."""
        return CHANNELS_ONLY if problem.form != "stochastic" else None

    def run(self, problem: PrivacyFunnel, budget: Budget) -> Proposal:
        """Propose the best mixture of posteriors, and the best bound proved."""
        if (simple := settled(problem)) is not None:
            return simple
        free = independent_release(problem, budget.remaining)
        if problem.is_cap and problem.budget == 0:
            return free.proposal(problem)
        found = free.channel
        if found is not None and problem.is_floor and problem.budget <= problem.evaluate(found).utility:
            stats: dict[str, float | int | str] = {"stop": "the floor is met without any leakage"}
            return Proposal(thinned(problem, found, problem.budget), 0.0, {"kind": "analytic"}, stats=stats)
        columns = self._seeds(problem, found, budget)
        return generate(problem, columns, budget, self.tolerance, hopeful=supports(problem) <= self.supports)

    def _small(self, problem: PrivacyFunnel) -> bool:
        if problem.observation.useful is not None:
            return len(problem.observation.p_x) <= 4
        return supports(problem) <= 500

    def _seeds(self, problem: PrivacyFunnel, found: Channel | None, budget: Budget) -> Floats:
        """Posteriors of the best merging found quickly, and of releases with bounded log-lift."""
        none = np.zeros((0, len(problem.observation.support)))
        columns = [none] if found is None else [posteriors(problem, found)]
        if self._small(problem):
            return columns[0]
        from privopt.core.dispatch import solve
        from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy

        merged = solve(problem, "portfolio", time_limit=max(0.1, 0.1 * budget.remaining), certify=False)
        if merged.status.ok:
            columns.append(posteriors(problem, merged.mechanism))
        for epsilon in SEEDS:
            try:
                strict = LocalInformationPrivacy(problem.joint, epsilon=epsilon)
            except InvalidProblem:  # cells that are too small for it
                break
            some = solve(
                strict, "column-generation", time_limit=max(0.1, 0.08 * budget.remaining), certify=False
            )
            if some.status.ok and isinstance(some.mechanism, Channel):
                columns.append(posteriors(problem, some.mechanism))
        return np.vstack(columns)

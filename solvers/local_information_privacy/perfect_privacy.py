"""Releases that are exactly independent of the secret, the most useful one."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.local_information_privacy.bound import analytic_bound
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.local_information_privacy.answer import (
    ANALYTIC,
    independent,
    whole_release,
    width,
)
from privopt.solvers.local_information_privacy.columns.generation import Anytime, Generation
from privopt.solvers.local_information_privacy.columns.master import Master
from privopt.solvers.local_information_privacy.columns.pricing import TOLERANCE
from privopt.solvers.local_information_privacy.vertices.exact import exact_mixture, exact_seconds
from privopt.solvers.local_information_privacy.vertices.mixture import Best, best_mixture, proof
from privopt.solvers.local_information_privacy.vertices.systems import enumeration_seconds, system, vertices

TURN, LATE_TURN, END = 0.65, 0.85, 0.85
"""Shares of the time after which a bound is sought, where it is in sight and where it is not, and after which that ends."""

HOPELESS = 10.0
"""How many times its predicted seconds column generation must be short of for its bound to be out of sight."""


@dataclass(frozen=True, eq=False)
class Columns:
    """The best mixture of the posteriors met, a bound with its dual, and why the search stopped."""

    best: Best
    bound: float
    dual: object
    stop: str


def enumerated(problem: LocalInformationPrivacy, strict: LocalInformationPrivacy, budget: Budget) -> Columns:
    """Every vertex of ``strict``, the problem at a budget of 0, or as many as two fifths of the time allow.

    Raises
    ------
    ArithmeticError
        If there is no time left for the master program.
    """
    until, complete = budget.earlier(0.6), True
    batches = [np.zeros((0, len(problem.observation.support)))]
    for batch in vertices(system(strict)):
        batches.append(batch)
        if until.remaining == 0:
            complete = False
            break
    best = best_mixture(problem, _distinct(np.concatenate(batches)), budget.remaining)
    bound, dual = proof(problem, best.solved.prices, best.least, budget, complete=complete)
    why = "every vertex tried" if complete else "out of time before every vertex was tried"
    return Columns(best, bound, dual, why)


def generated(problem: LocalInformationPrivacy, strict: LocalInformationPrivacy, budget: Budget) -> Columns:
    """Column generation, with the last part of the time left for its bound.

    Raises
    ------
    ArithmeticError
        If the master program has no optimum.
    """
    turn = TURN if _generation_seconds(problem) <= HOPELESS * budget.remaining else LATE_TURN
    run = Anytime(strict, budget, TOLERANCE, turn=turn, end=END)
    stop = run.finish()
    best = _present(run.columns)
    if problem == strict:
        return Columns(best, *run.proved(problem), stop)
    return Columns(best, analytic_bound(problem), ANALYTIC, stop)


def _present(columns: Generation) -> Best:
    """The mixture that column generation ended with; the first of its columns is the distribution of the observations."""
    every, weights = columns.master.columns, np.roll(columns.weights, -1)
    solved = Master(weights, columns.prices, columns.value, np.flatnonzero(weights > 0))
    return Best(np.roll(every, -1, axis=0), solved, 0.0)


def _distinct(points: Floats) -> Floats:
    """Degenerate vertices once: those that agree to 1e-10 in their entries."""
    _, first = np.unique(points.round(10), axis=0, return_index=True)
    return np.asarray(points[np.sort(first)])


def _generation_seconds(problem: LocalInformationPrivacy) -> float:
    """Predicted seconds of column generation with its proof."""
    size = len(problem.observation.support)
    return 1.0 + 2e-5 * (len(problem.observation.p_s) * size) ** 2 + 1e-6 * size**3


THIN = 1e-7
"""Widths of lifts below this are answered as if they were 0, which costs a utility of the same order."""

ENUMERABLE = 4.0
"""Predicted seconds of the enumeration beyond which posteriors are generated as they are needed."""

EXACT = 0.5
"""Share of the time that is kept, at most, to solve the posteriors in use again in fractions."""

LONGEST = 300.0
"""Predicted seconds beyond which the enumeration is hopeless."""


@register
@dataclass(frozen=True)
class PerfectPrivacy(Solver[LocalInformationPrivacy]):
    """The most useful release that is exactly independent of the secret, in fractions.

    Positive utility at no leakage exists exactly where the matrix P(s | w) has a null space. Vertices of
    {v >= 0, P(s | v) = P(s)} come in floats, all of them or by column generation; those used are solved again
    in exact rationals, and so are their weights; the certificate is then an identity between integers.
    Source: the lectures on privacy-utility trade-offs.
    """

    solves: ClassVar = LocalInformationPrivacy
    name: ClassVar[str] = "perfect-privacy"

    def guarantee(self, problem: LocalInformationPrivacy) -> Guarantee:
        """Optimal where all vertices can be tried, else bounded; only feasible for delta > 0."""
        if problem.delta > 0:
            return Guarantee.FEASIBLE
        return Guarantee.OPTIMAL if _enumerates(problem) else Guarantee.BOUNDED

    def cost(self, problem: LocalInformationPrivacy) -> float:
        """The systems, solved once to answer and once to check, or column generation; exact solves of the basis."""
        size = len(problem.observation.support)
        if _enumerates(problem):
            return 0.1 + 2.0 * enumeration_seconds(problem.with_budget(0.0)) + 1e-6 * size**3
        return _generation_seconds(problem)

    def refuse(self, problem: LocalInformationPrivacy) -> str | None:
        """Refuse budgets that allow leakage, and hopeless enumerations."""
        if not independent(problem) and not width(problem) < THIN:
            return f"it answers epsilon = 0 (or lifts within {THIN:g}), this budget is {problem.budget:g}"
        if _enumerates(problem) and (seconds := self.cost(problem)) > LONGEST:
            return f"this utility needs every vertex, which would take about {seconds:.1e} s"
        return None

    def run(self, problem: LocalInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the best mixture in Fractions; the constant where exact weights fail."""
        if (whole := whole_release(problem)) is not None:
            return whole
        strict = problem.with_budget(0.0)
        search = enumerated if _enumerates(problem) else generated
        exact = min(exact_seconds(problem), EXACT * budget.remaining)
        try:
            columns = search(problem, strict, replace(budget, deadline=budget.deadline - exact))
        except ArithmeticError as cause:
            return Proposal(problem.safe(), analytic_bound(problem), ANALYTIC, stats={"stop": str(cause)})
        # where the search ended late its posteriors are worth their time even so: without an exact form they are lost
        until = max(budget.deadline - exact / 4, time.monotonic() + exact / 2)
        channel = exact_mixture(strict, columns.best, deadline=until, lost=Fraction(1))
        stats: dict[str, float | int | str] = {
            "iterations": 1,
            "vertices": len(columns.best.posteriors) - 1,
            "stop": columns.stop,
            "exact": "yes" if channel is not None else "no exact weights: the constant is proposed",
        }
        return Proposal(
            problem.safe() if channel is None else channel, columns.bound, columns.dual, stats=stats
        )


def _enumerates(problem: LocalInformationPrivacy) -> bool:
    """Whether all vertices are tried: where that is quick, or the utility leaves no other way."""
    quick = enumeration_seconds(problem.with_budget(0.0)) <= ENUMERABLE
    return quick or problem.matrix is not None or problem.cost is not None

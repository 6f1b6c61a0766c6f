"""Posteriors of perfect privacy in floats: all vertices of the polytope, or those that column generation wants."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from privopt.arrays import Floats
from privopt.core.solver import Budget
from privopt.problems.local_information_privacy.bound import analytic_bound
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.problems.local_information_privacy.systems import system
from privopt.problems.local_information_privacy.vertices import vertices
from privopt.solvers.local_information_privacy._anytime import Anytime
from privopt.solvers.local_information_privacy._generation import Generation
from privopt.solvers.local_information_privacy._proof import TOLERANCE, written
from privopt.solvers.local_information_privacy._vertex_form import Best, best_mixture, proof
from privopt.solvers.local_information_privacy._whole import ANALYTIC


@dataclass(frozen=True, eq=False)
class Columns:
    """The best mixture of what was found, a bound with its dual, and why the search stopped."""

    best: Best
    bound: float
    dual: object
    stop: str


def enumerated(problem: LocalInformationPrivacy, strict: LocalInformationPrivacy, budget: Budget) -> Columns:
    """Every vertex of ``strict``, the problem at a budget of 0, or as many as two fifths of the time allow.

    Raises
    ------
    ArithmeticError
        If there is no time left for the master programme.
    """
    stop, complete = 0.6 * budget.remaining, True
    found = [np.zeros((0, len(problem.observation.support)))]
    for batch in vertices(system(strict)):
        found.append(batch)
        if budget.remaining < stop:
            complete = False
            break
    best = best_mixture(problem, _distinct(np.concatenate(found)), budget.remaining)
    bound, dual = proof(problem, best.solved.prices, best.least, budget, complete=complete)
    why = "every vertex tried" if complete else "out of time before every vertex was tried"
    return Columns(best, bound, dual, why)


def generated(problem: LocalInformationPrivacy, strict: LocalInformationPrivacy, budget: Budget) -> Columns:
    """Column generation, with the last part of the time left for its bound and for the exact form.

    Raises
    ------
    ArithmeticError
        If the master programme has no optimum.
    """
    now, left = time.monotonic(), budget.remaining
    times = now + 0.65 * left, now + 0.85 * left
    columns = Generation(strict, replace(budget, deadline=times[0]))
    run = Anytime(columns, budget, times, TOLERANCE)
    stop = run.finish()
    best = best_mixture(problem, columns.master.columns, budget.remaining)
    bound, dual = analytic_bound(problem), ANALYTIC
    if problem == strict and problem.delta == 0 and run.best is not None:
        proved = written(problem, run.best)
        if proved[0] < bound:
            return Columns(best, *proved, stop)
    return Columns(best, bound, dual, stop)


def _distinct(points: Floats) -> Floats:
    """Degenerate vertices once: those that agree to 1e-10 in their entries."""
    _, first = np.unique(points.round(10), axis=0, return_index=True)
    return np.asarray(points[np.sort(first)])

"""Prices for every release of a horizon, from the question of one step at the level that was reached by then."""

from __future__ import annotations

import math

import numpy as np

from privopt.core.registry import find_solver
from privopt.core.solver import Budget, Guarantee, Proposal
from privopt.mechanisms.policy.policy import SequencePolicy
from privopt.problems.sequence_information_privacy.bound import MAX_WORDS
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
from privopt.problems.sequence_information_privacy.steps import Step, steps
from privopt.solvers.sequence._step_rule import question
from privopt.solvers.sequence.revealed import proved

MAX_ROWS = 200
"""Later releases are served by the last row of prices."""


def independent(problem: SequenceInformationPrivacy) -> bool:
    """Whether letters tell nothing of one another, so that releases may be treated one by one.

    Examples
    --------
    >>> from privopt.models import MarkovChain
    >>> independent(SequenceInformationPrivacy(MarkovChain([[0.25, 0.75]] * 2), 1.0))
    True
    """
    chain = problem.chain
    records = 1 if chain.homogeneous else problem.horizon - 1
    return all(len({(row.weights, row.total) for row in chain.exact_step(t)}) == 1 for t in range(records))


def step_guarantee(problem: SequenceInformationPrivacy) -> Guarantee:
    """Optimal where a step at a time is the whole question; else with a bound."""
    words = len(problem.setting(min(problem.batch, problem.horizon)).inputs)
    if words > MAX_WORDS:
        return Guarantee.FEASIBLE
    single = problem.horizon <= problem.batch or independent(problem)
    return Guarantee.OPTIMAL if single else Guarantee.BOUNDED


def proposal(
    problem: SequenceInformationPrivacy, policy: SequencePolicy, solver: str, budget: Budget
) -> Proposal:
    """A policy with the bound that the prices of a one-step solver prove."""
    rows = _rows(problem, solver, budget)
    stats: dict[str, float | int | str] = {"priced_releases": len(rows)}
    if not rows:
        return Proposal(policy, stats=stats)
    bound, dual = proved(problem, [np.array(row) for row in rows], budget)
    return Proposal(policy, bound, dual, stats=stats)


def _rows(problem: SequenceInformationPrivacy, solver: str, budget: Budget) -> list[list[float]]:
    """A row of prices for each release, until they repeat, or half the time is gone."""
    if len(problem.setting(min(problem.batch, problem.horizon)).inputs) > MAX_WORDS:
        return []
    rows: list[list[float]] = []
    until = 0.5 * budget.remaining if budget.remaining < math.inf else 0.0
    before: Step | None = None
    for step in steps(problem):
        if len(rows) >= MAX_ROWS or (rows and budget.remaining < until):
            break
        if before is not None and _alike(before, step):
            rows.append(rows[-1])
            continue
        asked = question(step.release.setting, step.law, step.level)
        found = find_solver(asked, solver).run(asked, Budget(budget.deadline, budget.seed)).dual
        if not isinstance(found, dict):
            break
        rows.append([float(price) for price in found["lam"]])
        before = step
    while len(rows) > 1 and rows[-1] == rows[-2]:
        rows.pop()
    return rows


def _alike(one: Step, other: Step) -> bool:
    """Whether prices of one serve the other as well."""
    if one.law.shape != other.law.shape:
        return False
    near = math.isclose(one.level, other.level, rel_tol=1e-12)
    return near and bool(np.abs(one.law - other.law).max() < 1e-13)

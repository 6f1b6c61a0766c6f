"""The level at which a step is solved, proposals with their prices, and channels in rationals for large budgets."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from privopt.arrays import Floats
from privopt.core.exact import ball_ceiling
from privopt.core.solver import Proposal
from privopt.mechanisms import Channel
from privopt.mechanisms.policy.hamming_cases import Levels
from privopt.problems.belief_release.bound import structure_bound
from privopt.problems.belief_release.problem import BeliefRelease

LARGEST = 40.0
"""Beyond, e^-epsilon is less than what floats keep of 1; what is private at a lower level is private, and costs 1e-17 more."""
EXACT = 8.0
"""Nats above which floats show too little of e^-epsilon, and small channels are made of rationals."""
EXACT_CELLS = 4096
MOST = 120.0
"""The level of rational channels for larger budgets: they cost 1e-52 more."""
_BITS = 80
"""Of the entries of K in rationals."""


def level(problem: BeliefRelease) -> float:
    """The budget, or ``LARGEST`` where a finite budget is more."""
    return problem.budget if problem.budget == math.inf else min(problem.budget, LARGEST)


def priced(
    problem: BeliefRelease, matrix: Floats | Channel, lam: Floats, stats: dict[str, float | int | str]
) -> Proposal:
    """A channel with the bound that prices prove."""
    lam = np.where(np.isfinite(lam), lam, 0.0)
    dual = {"kind": "structure", "lam": lam.tolist()}
    channel = matrix if isinstance(matrix, Channel) else problem.answer(matrix)
    return Proposal(channel, structure_bound(problem, lam), dual, stats=stats)


def unbound(problem: BeliefRelease, stats: dict[str, float | int | str]) -> Proposal | None:
    """The constant release where nothing may leak, the best release of each letter where anything may."""
    if problem.budget == 0:
        return priced(problem, problem.constant().matrix, np.zeros(len(problem.letters)), stats)
    if problem.budget == math.inf:
        best = problem.matrix.argmin(axis=1)
        return priced(problem, np.eye(problem.matrix.shape[1])[best], problem.matrix.min(axis=1), stats)
    return grouped(problem, stats)


def grouped(problem: BeliefRelease, stats: dict[str, float | int | str]) -> Proposal | None:
    """The optimum for large budgets, in rationals, if every release is that of a group of mass theta or more.

    Each letter x goes to the release g(x) of least (1 - L) D(x, y) + L mean of D(., y), and that least number, over 1 - L, is its
    price. Then (1 - L) (D(x, y) - price of x) >= -L mean of D(., y), so the bound is the mean of the prices times
    1 - L, which is what K = g costs.
    """
    if not exact_pays(problem):
        return None
    levels = Levels.of(min(problem.budget, MOST))
    worth = levels.room * problem.matrix + levels.low * (problem.p @ problem.matrix)
    best = worth.argmin(axis=1)
    mass = np.bincount(best, weights=problem.p, minlength=problem.matrix.shape[1])
    if (mass[mass > 0] < levels.theta * (1 + 1e-9)).any():
        return None
    kernel = np.eye(problem.matrix.shape[1])[best]
    true = Levels.of(problem.budget)
    lam = (true.room * problem.matrix + true.low * (problem.p @ problem.matrix)).min(axis=1) / true.room
    return priced(problem, in_rationals(problem, kernel), lam, stats)


def exact_pays(problem: BeliefRelease) -> bool:
    """Whether rationals are worth while: a large finite budget, and a small table."""
    return EXACT < problem.budget < math.inf and problem.matrix.size <= EXACT_CELLS


def in_rationals(problem: BeliefRelease, kernel: Floats) -> Channel:
    """(1 - L) K + L Q in rationals, with L the least rational at hand that is at least e^-epsilon."""
    unit = 2**_BITS
    low = _least(min(problem.budget, MOST))
    laws = [problem.exact_belief.fraction(x) for x in range(len(problem.letters))]
    rows = []
    for row in kernel.tolist():
        whole = [int(Fraction(k) * unit) for k in row]
        whole[int(np.argmax(row))] += unit - sum(whole)
        rows.append(whole)
    law = [
        sum((p * row[y] for p, row in zip(laws, rows, strict=True) if p), Fraction(0)) / unit
        for y in range(kernel.shape[1])
    ]
    table = [
        [(1 - low) * Fraction(k, unit) + low * q for k, q in zip(row, law, strict=True)] if p else law
        for p, row in zip(laws, rows, strict=True)
    ]
    return problem.answer(table)


def _least(nats: float) -> Fraction:
    """A rational of 64 bits that is at least e^-nats."""
    from flint import arb, ctx

    saved = ctx.prec
    ctx.prec = 64
    try:
        scaled = (-arb(nats)).exp() * arb(2) ** int(nats / math.log(2))
        return Fraction(ball_ceiling(scaled)) / Fraction(2 ** int(nats / math.log(2)))
    finally:
        ctx.prec = saved

"""Closed forms where the secret is the useful symbol and uniform."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.local_information_privacy.bound import analytic_bound, priced_bound
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.problems.local_information_privacy.rows import posterior_rows
from privopt.solvers.local_information_privacy._answer import channel_from_posteriors
from privopt.solvers.local_information_privacy._uniform import (
    best_lifts,
    extreme_hit,
    hamming_multipliers,
    hamming_scale,
    secrets,
)
from privopt.solvers.local_information_privacy._vertex_form import enumeration_seconds, linear_bound
from privopt.solvers.local_information_privacy._whole import ANALYTIC, whole_release

PROVABLE = 2.0
"""Predicted seconds of the enumeration that checks a bound on mutual information; beyond, the analytic one is claimed."""


@register
@dataclass(frozen=True)
class ClosedForm(Solver[LocalInformationPrivacy]):
    """Formulas for a uniform secret that is the useful symbol: mutual information or Hamming distortion.

    By symmetry the best posterior is any allowed one of least cost and its cyclic shifts: two levels for LDP
    (Kairouz, Oh, Viswanath, "Extremal mechanisms for local differential privacy"), one symbol off the bounds
    for LIP, randomised response for the Hamming distortion.
    """

    solves: ClassVar = LocalInformationPrivacy
    name: ClassVar[str] = "closed-form"
    interruptible: ClassVar[bool] = True

    def guarantee(self, problem: LocalInformationPrivacy) -> Guarantee:
        """Optimal; for mutual information on many symbols the checked bound leaves a gap."""
        if problem.delta > 0:
            return Guarantee.FEASIBLE
        return Guarantee.OPTIMAL if problem.matrix is not None or _provable(problem) else Guarantee.BOUNDED

    def cost(self, problem: LocalInformationPrivacy) -> float:
        """The check of the bound."""
        seconds = enumeration_seconds(problem) if problem.matrix is None and _provable(problem) else 0.0
        return 0.01 + seconds

    def refuse(self, problem: LocalInformationPrivacy) -> str | None:
        """Refuse what has no closed form."""
        if problem.cost is not None:
            return "it knows mutual information and Hamming distortion, this cost is a function"
        if problem.matrix is not None and hamming_scale(problem.matrix) is None:
            return "it knows the Hamming distortion, this matrix is another one"
        if secrets(problem) is None:
            return "it needs a useful symbol that is the secret itself and uniform"
        return None

    def run(self, problem: LocalInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the formula's channel and its bound."""
        if (whole := whole_release(problem)) is not None:
            return whole
        n = len(problem.observation.p_w)
        stats: dict[str, float | int | str] = {"iterations": 0, "vertices": n, "stop": "closed form"}
        if problem.matrix is None:
            first = best_lifts(problem, n) / n
            shifts = np.array([np.roll(first, y) for y in range(n)])
            channel = channel_from_posteriors(problem, np.full(n, 1.0 / n), shifts)
            return Proposal(channel, *_information_bound(problem, first), stats=stats)
        hit = extreme_hit(problem, n)
        rest = (1.0 - hit) / (n - 1)
        channel = problem.answer(rest + (hit - rest) * np.eye(n))
        if problem.delta > 0:
            return Proposal(channel, analytic_bound(problem), ANALYTIC, stats=stats)
        multipliers = hamming_multipliers(problem, len(posterior_rows(problem)))
        dual = {"kind": "linear", "multipliers": multipliers.tolist()}
        return Proposal(channel, linear_bound(problem, multipliers), dual, stats=stats)


def _provable(problem: LocalInformationPrivacy) -> bool:
    """Whether the vertices can be enumerated to check that none has less entropy."""
    return enumeration_seconds(problem) <= PROVABLE


def _information_bound(problem: LocalInformationPrivacy, posterior: np.ndarray) -> tuple[float, object]:
    """Equal prices: no posterior has less entropy than this one."""
    bound = analytic_bound(problem)
    if problem.delta > 0 or not _provable(problem):
        return bound, ANALYTIC
    entropy = -math.fsum(v * math.log(v) for v in posterior.tolist() if v > 0)
    prices = np.full(len(posterior), entropy)
    priced = priced_bound(problem, prices, 0.0)
    return (bound, ANALYTIC) if bound <= priced else (priced, {"kind": "vertices", "pi": prices.tolist()})

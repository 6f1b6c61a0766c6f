"""Symbols with the same posterior of the secret are one in a smaller trade-off: what it releases, and proves, is that of their members.

A funnel's release of classes becomes several, each of which names one symbol of every class: it says H(X | class) more of the symbol and no
more of the secret. A bottleneck's is a release of symbols as it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from privopt.core.solver import Budget, Proposal
from privopt.mechanisms import Channel, Merging
from privopt.problems.trade_off.problem import TradeOff
from privopt.solvers.common.classes import divided, gathered, may_be_alike, raised
from privopt.solvers.trade_off.columns.program import kept

JUDGING, MOST_KEPT = 1.2e-6, 0.3
"""Seconds of judging for each entry of a channel with as many releases as symbols, and the share of the time that is kept for them at most."""

T = TypeVar("T", bound=TradeOff)


def joined(problem: T) -> T | None:
    """The problem about classes, where there are far fewer of them than many symbols; else None."""
    return problem.of_classes if may_be_alike(problem.observation) else None


def through_classes(problem: T, smaller: T, budget: Budget, run: Callable[[T, Budget], Proposal]) -> Proposal:
    """What a run proposes to the problem about classes, as a proposal to the problem."""
    support, classes = problem.observation.support, np.array(problem.alike)
    p = problem.observation.p_w[support]
    more = float(np.mean(problem.beside_classes(smaller)))
    until = replace(budget, progress=raised(budget.progress, more), incumbent=None)
    if math.isfinite(budget.remaining):
        judging = min(JUDGING * len(p) ** 2, MOST_KEPT * budget.remaining)
        until = replace(until, deadline=budget.deadline - judging)
    if isinstance(budget.incumbent, (Channel, Merging)):
        until = replace(
            until, incumbent=smaller.answer(gathered(budget.incumbent.matrix[support], p, classes))
        )
    found = run(smaller, until)
    dual = {"kind": "classes", "proof": found.dual}
    bound = None if found.bound is None else found.bound + more
    stats = {**found.stats, "classes": len(smaller.observation.p_w)}
    if not isinstance(found.mechanism, (Channel, Merging)):
        return Proposal(None, bound, dual, stats=stats)
    matrix = found.mechanism.matrix
    if problem.is_funnel:
        joint = divided(smaller.observation.p_w[:, None] * matrix, p, classes)
    else:
        joint = p[:, None] * matrix[classes]
    every = np.tile(joint.sum(axis=0) / joint.sum(), (len(problem.observation.p_w), 1))
    every[support] = joint / joint.sum(axis=1, keepdims=True)
    return Proposal(kept(problem, problem.answer(every)), bound, dual, stats=stats)

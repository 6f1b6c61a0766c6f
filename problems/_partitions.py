"""The best of all mergings of a small alphabet: every partition is tried, or shown to be no better."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privopt.problems._observation import Floats
from privopt.problems._partition_costs import BlockCosts, Ints, block_costs
from privopt.problems._partition_search import MAX_SYMBOLS, Search
from privopt.problems._partition_weights import OutOfTime, least_weights, lightest_partition

if TYPE_CHECKING:
    from privopt.problems._trade_off import TradeOff

MAX_WEIGHED = 18
"""Observations of positive probability up to which a weighed objective is minimised."""

MAX_BOUNDED = MAX_SYMBOLS
"""The same under a floor or a cap."""

SLACK = 1.01e-12
"""A bound counts as kept when it is missed by at most this: what problems allow, and rounding."""


@dataclass(frozen=True, eq=False)
class Best:
    """A best partition.

    Parameters
    ----------
    assignment : int array (n_w,)
        Block of each observation; those of probability 0 join the most probable block.
    objective : float
        Of the problem, in nats; no partition is better by more than 2e-13.
    branches : int
        Partial partitions that were looked at.
    """

    assignment: Ints
    objective: float
    branches: int = 0


def limit_of(problem: TradeOff) -> int:
    """How many observations of positive probability :func:`best_partition` takes."""
    return MAX_BOUNDED if problem.is_floor or problem.is_cap else MAX_WEIGHED


def best_partition(problem: TradeOff, seconds: float, slack: float = SLACK) -> Best | None:
    """The best merging of all, or None if there are too many symbols, none is feasible, or time runs out.

    A weighed objective is a sum over blocks, and dynamic programming over subsets finds its optimum (3^n / 6 sums).
    Under a floor or a cap partitions are enumerated block by block, cutting branches by Lagrangian bounds.

    Parameters
    ----------
    problem : TradeOff
        At most 18 observations of positive probability with ``trade_off``, else at most 16.
    seconds : float
        Time allowed.
    slack : float
        By how many nats a partition may miss the floor or the cap and still count; negative to be on the safe side.

    Examples
    --------
    >>> from privopt.models import JointDistribution
    >>> from privopt.problems.privacy_funnel import PrivacyFunnel
    >>> joint = JointDistribution.normalised([[5, 2, 1, 3], [1, 3, 4, 2]])
    >>> best = best_partition(PrivacyFunnel(joint, theta_fraction=0.6), 10.0)
    >>> best.assignment.tolist(), round(best.objective, 6)
    ([0, 2, 0, 1], -0.010622)
    """
    deadline = time.monotonic() + seconds
    if len(problem.observation.support) > limit_of(problem):
        return None
    costs = block_costs(problem)
    try:
        if not (problem.is_floor or problem.is_cap):
            return _weighed(problem, costs, deadline)
        return _bounded(problem, costs, deadline, slack)
    except OutOfTime:
        return None


def _weighed(problem: TradeOff, costs: BlockCosts, deadline: float) -> Best:
    tau = problem.budget
    sign = 1.0 if problem.kind == "privacy_funnel" else -1.0
    weights = sign * (costs.secret - tau * costs.useful)
    blocks = lightest_partition(weights, least_weights(weights, deadline))
    numbers = [b for i in range(len(costs.symbols)) for b, block in enumerate(blocks) if block >> i & 1]
    return _best(problem, costs, np.array(numbers), 0)


def _bounded(problem: TradeOff, costs: BlockCosts, deadline: float, slack: float) -> Best | None:
    """Minimise I(S;Y) under a floor on I(X;Y), or maximise what is wanted under a cap on the rest."""
    secret, useful = costs.secret, costs.useful
    budget = min(problem.budget, 1e3)  # more than any information, which may be asked for as infinity
    if problem.is_floor:
        search = Search(secret, useful, budget - slack - costs.useful_offset, deadline)
    elif problem.kind == "privacy_funnel":
        search = Search(-useful, -secret, costs.secret_offset - budget - slack, deadline)
    else:
        search = Search(-secret, -useful, costs.useful_offset - budget - slack, deadline)
    found = search.run()
    return None if found is None else _best(problem, costs, np.array(found), search.branches)


def _best(problem: TradeOff, costs: BlockCosts, numbers: Ints, branches: int) -> Best:
    """Block numbers of the sorted symbols as an assignment, with its objective."""
    masks = np.array([(1 << np.flatnonzero(numbers == b)).sum() for b in range(numbers.max() + 1)])
    secret = costs.secret_offset + math.fsum(costs.secret[masks].tolist())
    useful = costs.useful_offset + math.fsum(costs.useful[masks].tolist())
    law: Floats = problem.observation.p_w
    mass = np.bincount(numbers, weights=law[costs.symbols])
    assignment = np.full(len(law), int(np.argmax(mass)), dtype=np.int64)
    assignment[costs.symbols] = numbers
    return Best(assignment, problem.objective_of(*problem.split(secret, useful)), branches)

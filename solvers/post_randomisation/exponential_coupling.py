"""Releases at any size: original and release are drawn together, nearer pairs more likely, and mixed with a fresh draw until the budget holds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.models.metric import Metric
from privopt.problems.post_randomisation.problem import PostRandomisation

TEMPERATURES = (math.inf, 4.0, 16.0, 1.0)
"""Tried in turn, in units of one over the mean cost of two fresh draws; without end nothing changes but by the mixture."""

ROUNDS = 50
"""Scalings of rows and columns; what is left of the error is removed exactly."""

SHARE = 0.5
"""Of the time, for the search; the rest is for rationals and judging."""

CAUTION = 2.0**-30
"""How far inside the budget a mixture is proposed, relative to it."""


@register
@dataclass(frozen=True)
class ExponentialCoupling(Solver[PostRandomisation]):
    """Couplings of the distribution with itself, in proportion to exp(-t D), mixed with a fresh draw by as little as the budget asks.

    Cuturi, "Sinkhorn distances" (NIPS 2013), for the scaling.
    """

    solves: ClassVar = PostRandomisation
    name: ClassVar[str] = "exponential-coupling"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE
    interruptible: ClassVar[bool] = True

    def cost(self, problem: PostRandomisation) -> float:
        """Scalings of a matrix, and rationals of every cell."""
        n = len(problem.symbols)
        return 1e-3 + 9e-6 * n**2

    def refuse(self, problem: PostRandomisation) -> str | None:
        """Refuse joint tables, which it does not keep."""
        return "it keeps the distribution of the symbols and no joint table" if problem.tables else None

    def run(self, problem: PostRandomisation, budget: Budget) -> Proposal:
        """Propose the best of the mixtures, brought to the distribution exactly."""
        prior = problem.observation.p_w
        until = budget.earlier(1 - SHARE)
        fresh = np.tile(prior, (len(prior), 1))
        expected = prior[:, None] * problem.costs
        best, least, tried = fresh, float((expected * fresh).sum()), 0
        unit = 1.0 / max(least, 1e-300)
        for temperature in TEMPERATURES:
            if tried and until.remaining <= 0:
                break
            matrix = coupling(prior, problem.costs, unit * temperature)
            kept = private_share(problem, matrix)
            mixed = kept * matrix + (1 - kept) * fresh
            value, tried = float((expected * mixed).sum()), tried + 1
            best, least = (mixed, value) if value < least else (best, least)
        mechanism = problem.anchor() if best is fresh else problem.preserving(best)
        return Proposal(mechanism, stats={"iterations": tried, "stop": "all temperatures tried"})


def coupling(prior: Floats, costs: Floats, temperature: float) -> Floats:
    """The channel that keeps a distribution, in proportion to exp(-t D) but for a factor a row and a factor a column.

    Examples
    --------
    >>> prior = np.array([0.75, 0.25])
    >>> matrix = coupling(prior, 1.0 - np.eye(2), 1.0)
    >>> bool(np.allclose(prior @ matrix, prior)), bool(np.allclose(matrix.sum(axis=1), 1.0)), bool(matrix[0, 0] > 0.75)
    (True, True, True)
    """
    if temperature == math.inf:
        return np.eye(len(prior))
    kernel = np.exp(-temperature * (costs - costs.min(axis=1, keepdims=True))) + 1e-12
    columns = prior.copy()
    for _ in range(ROUNDS):
        rows = prior / (kernel @ columns)
        columns = prior / (rows @ kernel)
    matrix = kernel * columns
    return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))


def private_share(problem: PostRandomisation, matrix: Floats) -> float:
    """The largest share of a channel, mixed with a fresh draw, that keeps the budget, in floats."""
    prior, level = problem.observation.p_w, problem.epsilon * (1 - CAUTION)
    if level == math.inf:
        return 1.0
    if isinstance(problem.notion, Metric):
        pairs = problem.notion.pairs()
        first, second = (
            np.concatenate([pairs.first, pairs.second]),
            np.concatenate([pairs.second, pairs.first]),
        )
        with np.errstate(invalid="ignore"):
            nats = np.where(pairs.distance == 0, 0.0, level * pairs.distance)
        most = np.expm1(np.minimum(np.tile(nats, 2), 700.0))[:, None]
        return _least_share(matrix[first] - matrix[second] - most * matrix[second], most * prior)
    seen = problem.observation.p_s > 0
    given = (problem.joint.table[seen] / problem.observation.p_s[seen][:, None]) @ matrix
    top = math.expm1(min(level, 700.0))
    if problem.notion == "ldp":
        return _least_share(given.max(axis=0) - (top + 1) * given.min(axis=0), top * prior)
    above = _least_share(given - (top + 1) * prior, top * prior)
    return min(above, _least_share(math.exp(-level) * prior - given, -math.expm1(-level) * prior))


def _least_share(excess: Floats, room: Floats) -> float:
    """The largest t in [0, 1] with t excess <= (1 - t) room everywhere."""
    over = excess > 0
    room = np.broadcast_to(room, excess.shape)
    return float((room[over] / (excess[over] + room[over])).min(initial=1.0))

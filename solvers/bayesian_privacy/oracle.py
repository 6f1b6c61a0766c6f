"""Brute force for small problems: every adversary written out, and halving of intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product
from typing import ClassVar

import numpy as np

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.models import GaussianModel, GroupModel, MarkovChain
from privopt.problems.bayesian_privacy import levels
from privopt.problems.bayesian_privacy.lattice import lattice_of
from privopt.problems.bayesian_privacy.problem import BayesianPrivacy
from privopt.solvers.bayesian_privacy import _calibrated as calibrated


@register
@dataclass(frozen=True)
class Oracle(Solver[BayesianPrivacy]):
    """The definition: a regression for every set of known Gaussian records, a sum over all sequences for counts."""

    solves: ClassVar = BayesianPrivacy
    name: ClassVar[str] = "oracle"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.ORACLE
    """Brute force."""

    def cost(self, problem: BayesianPrivacy) -> float:
        """Seconds at worst."""
        return 2.0

    def refuse(self, problem: BayesianPrivacy) -> str | None:
        """Refuse more than a few records."""
        model = levels.judged_model(problem)
        if isinstance(model, MarkovChain):
            few = levels.enumerable(problem) and model.k ** (problem.length or 99) <= 64
            return None if few else "it sums over every sequence of a counted chain, at most 64"
        if isinstance(model, GaussianModel) and (model.size > 6 or problem.scope == "all_reals"):
            return "it enumerates the sets of at most 6 Gaussian records, for targets inside the interval"
        return None

    def run(self, problem: BayesianPrivacy, budget: Budget) -> Proposal:
        """Propose noise of the largest level, by halving."""
        model = levels.judged_model(problem)
        if isinstance(model, GroupModel):
            return calibrated.proposal(problem, problem.epsilon / model.size, {})
        if isinstance(model, GaussianModel):
            return calibrated.proposal(problem, problem.epsilon / max(_gaussian(model.covariance)), {})
        assert isinstance(model, MarkovChain)
        lattice = lattice_of(problem)
        assert lattice is not None
        rows, share = list(_sums(problem, model, lattice.steps)), float(lattice.share)
        low, high = 0.0, problem.epsilon * 4
        for _ in range(60):
            middle = (low + high) / 2
            nats = _leakage(rows, middle * share) + 2.0 * float(lattice.stray) * middle
            low, high = (middle, high) if nats <= problem.epsilon else (low, middle)
        return calibrated.proposal(problem, low * (1 - 1e-12), {})


def _gaussian(covariance: np.ndarray) -> Iterator[float]:
    """By how much a sum of clipped records moves with the target, for each adversary: relatives move at most as they are expected to."""
    m = len(covariance)
    for size in range(1, m + 1):
        for seen in combinations(range(m), size):
            unknown = [j for j in range(m) if j not in seen]
            slopes = covariance[np.ix_(unknown, seen)] @ np.linalg.pinv(covariance[np.ix_(seen, seen)])
            up, down = (np.maximum(side, 0.0).sum(axis=0) for side in (slopes, -slopes))
            yield from np.maximum(1.0 + up, down - 1.0)


def _sums(
    problem: BayesianPrivacy, chain: MarkovChain, steps: tuple[int, ...]
) -> Iterator[list[dict[int, float]]]:
    """The distributions of the sum of what records add, in units, for each value of a target, for each adversary."""
    n = problem.length or 0
    words: dict[tuple[int, ...], float] = {
        word: math.prod(
            [chain.marginal(0)[word[0]], *(chain.step(t)[word[t], word[t + 1]] for t in range(n - 1))]
        )
        for word in product(range(chain.k), repeat=n)
    }
    for i in range(n):
        for pattern in product([None, *range(chain.k)], repeat=n):
            if pattern[i] is None:
                yield [_distribution(words, pattern, i, x, steps) for x in range(chain.k)]


def _distribution(
    words: dict[tuple[int, ...], float],
    pattern: tuple[int | None, ...],
    i: int,
    x: int,
    steps: tuple[int, ...],
) -> dict[int, float]:
    """Weights of the sums of sequences that fit what is known and have value x at i."""
    weights: dict[int, float] = {}
    for word, p in words.items():
        if p > 0 and word[i] == x and all(k is None or k == w for k, w in zip(pattern, word, strict=True)):
            total = sum(steps[u] for u in word)
            weights[total] = weights.get(total, 0.0) + p
    return weights


def _leakage(rows: list[list[dict[int, float]]], tau: float) -> float:
    """The largest logarithm of a ratio of two densities of the noisy sum, over all adversaries and outputs, by nats a unit."""
    outputs = range(-1, 1 + max((c for row in rows for weights in row for c in weights), default=0) + 1)
    worst = 0.0
    for row in rows:
        possible = [weights for weights in row if weights]
        for y in outputs:
            values = [_log_density(weights, y, tau) for weights in possible]
            worst = max(worst, max(values) - min(values) if values else 0.0)
    return worst


def _log_density(weights: dict[int, float], y: int, tau: float) -> float:
    """The logarithm of the density of the noisy sum at y, but for what the noise of every sum has."""
    least = min(abs(y - c) for c in weights)
    rest = sum(p * math.exp(-tau * (abs(y - c) - least)) for c, p in weights.items())
    return math.log(rest / sum(weights.values())) - tau * least

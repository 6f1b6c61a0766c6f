"""Mixtures of posteriors that keep the bounds at every joint of a set."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from privopt.arrays import Floats
from privopt.mechanisms import Channel
from privopt.models.ambiguity.joint import JointAmbiguity
from privopt.problems.local_information_privacy.over_set import inside
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.common.separation import Separation
from privopt.solvers.local_information_privacy.answer import channel_from_posteriors
from privopt.solvers.local_information_privacy.columns.master import master
from privopt.solvers.local_information_privacy.columns.programme import entropies, pricing_of

POOL = 3000
"""Posteriors that are kept for mixtures."""


class Mixtures(Separation):
    """The rows so far, and the posteriors met that keep the bounds at every joint of the set.

    Attributes
    ----------
    best : Channel or None
        The best mixture of posteriors that keep the bounds.
    value : float
        Its cost: the entropy of X that is left, or the distortion.
    """

    def __init__(self, problem: LocalInformationPrivacy, ambiguity: JointAmbiguity) -> None:
        super().__init__(problem, ambiguity)
        self.pool = self.p[None]
        self.best: Channel | None = None
        self.value = np.inf
        self.costs = _costs(problem)

    def drawn(self, posteriors: Floats) -> Floats:
        """Posteriors drawn towards the distribution of the observations until they keep the bounds; not those that become it."""
        spread = self.reader.spread(self.columns(posteriors), self.problem.notion)
        shares = spread.shares(np.ones(len(posteriors)), inside(self.problem))[:, None]
        return np.asarray((shares * posteriors + (1.0 - shares) * self.p)[shares[:, 0] > 0])

    def mix(self, posteriors: Floats) -> None:
        """Draw posteriors towards the distribution of the observations until they keep the bounds, and mix the best of all."""
        every = np.concatenate([self.pool, self.drawn(posteriors)])
        self.pool = every[np.sort(np.unique(every.round(12), axis=0, return_index=True)[1])]
        costs = self.costs(self.pool)
        try:
            mixture = master(self.pool, costs, self.p)
        except ArithmeticError:
            return
        if mixture.value < self.value:
            used = mixture.weights > 0
            self.value = mixture.value
            self.best = channel_from_posteriors(self.problem, mixture.weights[used], self.pool[used])
        if len(self.pool) > POOL:
            order = np.argsort(costs - self.pool @ mixture.prices, kind="stable")[:POOL]
            self.pool = np.concatenate([self.p[None], self.pool[order]])


def _costs(problem: LocalInformationPrivacy) -> Callable[[Floats], Floats]:
    """What posteriors cost: the entropy of X, or the distortion of their best column."""
    observed = problem.observation
    if problem.matrix is None:
        pricing = pricing_of(problem.relaxed(()))
        return lambda posteriors: entropies(pricing, posteriors)
    means = (observed.x_given_w.T @ problem.matrix)[observed.support]
    return lambda posteriors: np.asarray((posteriors @ means).min(axis=1))

"""A funnel or a bottleneck as a linear programme over posteriors.

A release is a set of posteriors v of the observation with weights w that average to its law. Then
I(S;Y) = H(S) - sum w H(A v) and I(X;Y) = H(X) - sum w H(B v), so that both are linear in the weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from privopt.arrays import Floats
from privopt.measures.shannon import entropy
from privopt.problems.entropy_boxes import phi
from privopt.problems.trade_off.problem import TradeOff

RARE = 1e-9
"""Linear programmes in floats do not notice probabilities below this; releases and bounds are for the law as it is."""


@dataclass(frozen=True, eq=False)
class Programme:
    """Minimise costs . w over w >= 0 with sum w v = p and, under a bound, row . w <= limit."""

    problem: TradeOff

    @cached_property
    def law(self) -> Floats:
        """Law of the observations of positive probability, shape (n,), with rare ones as likely as is still noticed."""
        observed = self.problem.observation
        law = np.maximum(observed.p_w[observed.support], RARE)
        return np.asarray(law / law.sum())

    @cached_property
    def secret(self) -> Floats:
        """P(s | w) on the support, shape (n_s, n)."""
        observed = self.problem.observation
        return np.asarray(observed.s_given_w[:, observed.support])

    @cached_property
    def useful(self) -> Floats | None:
        """P(x | w) on the support, shape (n_x, n); None where X is W."""
        observed = self.problem.observation
        return None if observed.useful is None else np.asarray(observed.x_given_w[:, observed.support])

    @cached_property
    def whole(self) -> tuple[float, float]:
        """H(S) and H(X)."""
        observed = self.problem.observation
        return float(entropy(observed.p_s)), float(entropy(observed.p_x))

    @property
    def is_funnel(self) -> bool:
        """Whether I(S;Y) is what is to be small."""
        return self.problem.kind == "privacy_funnel"

    def entropies(self, columns: Floats) -> tuple[Floats, Floats]:
        """H(S | v) and H(X | v) of posteriors (m, n)."""
        seen = columns if self.useful is None else columns @ self.useful.T
        return phi(columns @ self.secret.T).sum(axis=1), phi(seen).sum(axis=1)

    def costs(self, columns: Floats) -> Floats:
        """What is minimised on average, shape (m,)."""
        secret, useful = self.entropies(columns)
        if self.problem.mode == "trade_off":
            weighed = self.problem.budget * useful - secret
            return weighed if self.is_funnel else secret - self.problem.budget * useful
        if not self.is_funnel:
            return secret
        return -secret if self.problem.is_floor else useful

    @property
    def is_bounded(self) -> bool:
        """Whether there is a bound to keep."""
        return self.problem.mode != "trade_off" and self.problem.budget < math.inf

    def row(self, columns: Floats) -> Floats:
        """What is at most :attr:`limit` on average, shape (m,)."""
        secret, useful = self.entropies(columns)
        if not self.is_funnel:
            return -useful
        return useful if self.problem.is_floor else -secret

    @property
    def limit(self) -> float:
        """The bound on the average of the row."""
        of_s, of_x = self.whole
        if not self.is_funnel:
            return self.problem.budget - of_x
        return of_x - self.problem.budget if self.problem.is_floor else self.problem.budget - of_s

    def objective(self, value: float) -> float:
        """The objective of the question at a value of the programme."""
        of_s, of_x = self.whole
        if self.problem.mode == "trade_off":
            tau = self.problem.budget
            return (tau * of_x - of_s if self.is_funnel else of_s - tau * of_x) - value
        if not self.is_funnel:
            return of_s - value
        return -(of_s + value) if self.problem.is_floor else of_x - value

    def scale(self, weights: Floats, columns: Floats) -> float:
        """What a gap is compared with, at a mixture of columns."""
        used = weights > 0
        (of_s, of_x), (secret, useful) = self.whole, self.entropies(columns[used])
        told = (
            max(0.0, of_s - float(weights[used] @ secret)),
            max(0.0, of_x - float(weights[used] @ useful)),
        )
        return self.problem.magnitude(*self.problem.split(*told))

    def scaled(self, prices: Floats, dual: float) -> tuple[float, Floats] | None:
        """The multiplier and the prices of a ``pricing`` dual, from those of the programme; None if there is none."""
        if self.problem.mode == "trade_off":
            return self.problem.budget, prices
        if self.is_funnel and self.problem.is_cap:
            return None if dual < 1e-9 else (1.0 / dual, prices / dual)
        return dual, prices

"""One step of the iteration behind maximal alpha-leakage: fast, or as accurate as floats allow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats
from privopt.measures.renyi import divergences, log_sum_exp, mean_of_exponentials

_NEAR_ONE = 1.5
_LARGE = 30.0
_LEAST = 1e-300


@dataclass(frozen=True)
class Step:
    """What a prior gives: D_a of each row from its best output law, and its Sibson information, in nats."""

    divergence: Floats
    value: float


class Rows:
    """A channel without empty columns, with the powers that every step needs."""

    def __init__(self, matrix: Floats, order: float) -> None:
        self.matrix, self.order = matrix, order
        with np.errstate(divide="ignore"):
            self.log = np.log(matrix)
        # Columns are scaled by their largest entry: what underflows then does not count.
        self.top = self.log.max(axis=0)
        self.power = np.exp(order * (self.log - self.top))
        b, log = order - 1, np.where(matrix > 0, self.log, 0.0)
        self.slope = matrix * (np.expm1(b * log) / b if b else log)

    def step(self, log_prior: Floats) -> Step:
        """By a few products of a matrix and a vector; by the accurate formulas where powers would underflow."""
        if self.order <= _NEAR_ONE:
            return self._near_one(log_prior)
        return self._powers(log_prior) if self.order < _LARGE else self.accurate(log_prior)

    def _near_one(self, log_prior: Floats) -> Step:
        """With b = a - 1 divided out of every power: W^a = W + b F, and 1 at the order 1 of Blahut and Arimoto."""
        a, b, prior = self.order, self.order - 1, np.exp(log_prior)
        mean = np.maximum(prior @ self.matrix, _LEAST)
        log_mean, ratio = np.log(mean), (prior @ self.slope) / mean
        # The best output law is proportional to mean * exp(b * tilt).
        tilt = ((np.log1p(b * ratio) / b if b else ratio) - log_mean) / a
        norm = float(np.log1p(mean @ np.expm1(b * tilt)))
        log_law = log_mean + b * tilt - norm
        rest = np.expm1(-b * log_law) / b if b else -log_law
        gain = self.slope @ np.exp(-b * log_law) + self.matrix @ rest
        if not b:
            return Step(gain, float(mean @ tilt))
        return Step(np.log1p(b * gain) / b, a * norm / b)

    def _powers(self, log_prior: Floats) -> Step:
        a = self.order
        outer = np.log(np.maximum(np.exp(log_prior) @ self.power, _LEAST)) / a + self.top
        norm = float(log_sum_exp(outer))
        weight = a * self.top + (1 - a) * (outer - norm)
        most = weight.max()
        sums = np.maximum(self.power @ np.exp(weight - most), _LEAST)
        return Step((np.log(sums) + most) / (a - 1), norm * a / (a - 1))

    def accurate(self, log_prior: Floats) -> Step:
        """By formulas that keep their relative accuracy at every order."""
        a = self.order
        outer = log_sum_exp((log_prior[:, None] + a * self.log).T) / a
        # Any output law bounds from above: one that has not underflowed keeps the bound finite.
        law = np.maximum(np.exp(outer - log_sum_exp(outer)), _LEAST)
        return Step(divergences(self.matrix, law / law.sum(), a), self._information(np.exp(log_prior)))

    def _information(self, prior: Floats) -> float:
        kept = prior > 1e-280
        p = prior[kept] / prior[kept].sum()
        law = p @ self.matrix[kept]
        seen = law > 0
        posterior = (self.matrix[kept][:, seen] * p[:, None] / law[seen]).T
        return mean_of_exponentials(law[seen], divergences(posterior, p, self.order), self.order)

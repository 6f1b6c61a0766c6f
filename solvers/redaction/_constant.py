"""One side of a private record under a constant redaction probability, many constants at a time."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats

MAX_REGIONS = 96
"""Most thresholds followed on one side, the largest first."""


@dataclass(frozen=True, eq=False)
class Arm:
    """Records of one side, nearest first, as far as they tell anything.

    Parameters
    ----------
    steps
        Steps away from the private record, one a row of ``told``.
    told
        ``(m, k)``: influence of each value.
    weights
        ``(m, k)``: weight of the record times the probability of the value.
    tail
        Weight of the records beyond, released unless everything is hidden.
    possible
        Values that the private record can have.
    """

    steps: list[Floats]
    told: Floats
    weights: Floats
    tail: float
    possible: NDArray[np.intp]

    @classmethod
    def of(cls, steps: Iterable[Floats], told: Floats, weights: Floats, possible: NDArray[np.intp]) -> Arm:
        """An arm that ends with the rows of ``told``."""
        kept = list(itertools.islice(steps, len(told)))
        return cls(kept, told, weights[: len(told)], float(weights[len(told) :].sum()), possible)

    def thresholds(self, budget: float) -> list[float]:
        """Budgets at which a region changes, up to the one given, largest first; then -1, hide all."""
        least = float(self.told[-1].max()) if self.tail else 0.0
        values = np.unique(self.told[(self.told <= budget) & (self.told >= least)])
        return [*values[::-1][:MAX_REGIONS].tolist(), -1.0]

    def rows(self, threshold: float, constant: float) -> Floats:
        """Redaction probabilities by distance; a constant of 1 hides what is not released whole."""
        released = self.told <= threshold
        rows = np.where(released, constant, 1.0)
        rows[self._small(released) :] = 0.0
        return rows

    def costs(self, threshold: float, constants: Floats) -> Floats:
        """Expected weight hidden, one a constant."""
        released = self.told <= threshold
        medium = self.weights[: self._small(released)]
        early = float(medium[released[: len(medium)]].sum())
        beyond = self.tail if threshold < 0 else 0.0
        return float(medium.sum()) - early + beyond + early * constants

    def leaks(self, threshold: float, constants: Floats) -> Floats:
        """Largest log-ratio of the side's outputs for each pair of values: [constant, x, x']."""
        released = self.told <= threshold
        small, k = self._small(released), self.told.shape[1]
        table = np.broadcast_to(np.eye(k)[self.possible], (len(constants), len(self.possible), k))
        found = np.zeros((len(constants), len(self.possible), len(self.possible)))
        shown = np.asarray(constants) < 1
        for d, step in enumerate(self.steps):
            table = table @ step
            if d == small:
                return np.maximum(found, _log_ratios(table))
            if released[d].any() and shown.any():
                found[shown] = np.maximum(found[shown], _log_ratios(table[shown][:, :, released[d]]))
            table = table * np.where(released[d], constants[:, None], 1.0)[:, None, :]
            table = table / table.max(axis=(1, 2), keepdims=True)
        return np.maximum(found, _log_ratios(table.sum(axis=2, keepdims=True)))

    def _small(self, released: NDArray[np.bool_]) -> int:
        whole = released.all(axis=1)
        return int(np.argmax(whole)) if whole.any() else len(released)


def _log_ratios(table: Floats) -> Floats:
    """The largest over values v of log table[., x, v] / table[., x', v]; v that no x allows is left out."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(table)
        ratios = logs[:, :, None, :] - logs[:, None, :, :]
    largest: Floats = np.nan_to_num(ratios, nan=-np.inf, posinf=np.inf, neginf=-np.inf).max(axis=3)
    return largest

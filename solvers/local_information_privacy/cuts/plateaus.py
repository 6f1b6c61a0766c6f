"""Releases of two levels: more likely at some observations, less at all others, as the subset mechanism has them.

Over a wide set of joints a release may lean on few observations only a little, and hardly on one alone: what leans as far as the bounds
allow on a set of them says more. Which sets are best depends on the prices of observations: one observation after the other
goes in or out while that lowers the reduced cost.
"""

from __future__ import annotations

import time

import numpy as np

from privopt.arrays import Bools, Floats
from privopt.core.solver import Budget
from privopt.solvers.local_information_privacy.cuts.mixtures import Mixtures

FIRST = 300
"""Random sets to begin with."""
FLIPS = 48
"""Observations that are tried in a step."""
MISSES = 3
"""Steps in a row that find nothing, after which a descent ends; one, where all are tried."""
STARTS = 4
"""Descents before a mixture, at least: as long as a mixture takes."""
PATIENCE = 6
"""Rounds in a row that gain nothing before it ends."""
STALL = 1e-4
"""What a round must gain, as a share of the cost."""


class Plateaus:
    """Rounds of descents over sets at the prices of the best mixture so far, which what they end at then improves.

    Parameters
    ----------
    mixtures : Mixtures
        Draw the posteriors inside, and take them.
    seed : int
    """

    def __init__(self, mixtures: Mixtures, seed: int) -> None:
        self.mixtures, self._rng = mixtures, np.random.default_rng(seed)

    def run(self, until: Budget) -> None:
        """Go on until time is spent or rounds no longer gain."""
        count, rng = len(self.mixtures.p), self._rng
        self._mix(self._posteriors(rng.random((FIRST, count)) < rng.random((FIRST, 1))))
        fruitless, took = 0, 0.0
        while until.remaining > 0 and fruitless < PATIENCE:
            before, begun, found = self.mixtures.value, time.monotonic(), list[Floats]()
            while until.remaining > 0 and (len(found) < STARTS or time.monotonic() < begun + took):
                found.append(self._descend(self._start(), until))
            took = self._mix(np.array(found))
            gained = before - self.mixtures.value > STALL * abs(before)
            fruitless = 0 if gained else fruitless + 1

    def _mix(self, points: Floats) -> float:
        """Offer posteriors; the seconds that took."""
        begun = time.monotonic()
        if len(points):
            self.mixtures.mix(points)
        return time.monotonic() - begun

    def _start(self) -> Bools:
        """A random set, what a release in use leans on, or the observations of the largest prices a unit of probability."""
        rng, mixtures = self._rng, self.mixtures
        count, kind = len(mixtures.p), int(rng.integers(4))
        if kind == 0 and mixtures.best is not None:
            used = mixtures.posteriors(mixtures.best)
            lifts = used[int(rng.integers(len(used)))] / mixtures.p
            return np.asarray(lifts > (lifts.min() + lifts.max()) / 2)
        if kind == 1:
            score = mixtures.prices + np.log(mixtures.p)
            return np.asarray(score >= np.sort(score)[int(rng.integers(count))])
        return np.asarray(rng.random(count) < rng.random())

    def _descend(self, start: Bools, until: Budget) -> Floats:
        """The posterior at which the reduced cost is least around, from a set on; as it is, not drawn inside."""
        count, prices = len(start), self.mixtures.prices
        here = (
            start if start.any() and not start.all() else np.arange(count) == int(self._rng.integers(count))
        )
        least, misses = float(self._reduced(here[None], prices)[0]), 0
        while misses < (MISSES if count > FLIPS else 1) and until.remaining > 0:
            tried = self._rng.permutation(count)[:FLIPS]
            flipped = np.repeat(here[None], len(tried), axis=0)
            flipped[np.arange(len(tried)), tried] ^= True
            flipped = flipped[flipped.any(axis=1)]
            reduced = self._reduced(flipped, prices)
            best = int(np.argmin(reduced))
            misses = 0 if reduced[best] < least - 1e-12 else misses + 1
            if misses == 0:
                here, least = flipped[best], float(reduced[best])
        return np.asarray(self._posteriors(here[None])[0])

    def _posteriors(self, sets: Bools) -> Floats:
        """Those of releases that say that the observation is in a set; empty sets are left out."""
        masses = sets[sets.any(axis=1)] * self.mixtures.p
        return np.asarray(masses / masses.sum(axis=1, keepdims=True))

    def _reduced(self, sets: Bools, prices: Floats) -> Floats:
        """Reduced costs of the releases that lean on sets as far as the bounds allow."""
        points = self._posteriors(sets)
        shares = self.mixtures.shares(points)[:, None]
        drawn = shares * points + (1.0 - shares) * self.mixtures.p
        return np.asarray(self.mixtures.costs(drawn) - drawn @ prices)

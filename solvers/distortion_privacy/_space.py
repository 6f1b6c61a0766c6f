"""A problem on distortion and leakage as arrays over the symbols of positive probability, and back to a channel."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.core.solver import Proposal
from privopt.mechanisms import Channel
from privopt.problems.distortion_privacy.problem import DistortionPrivacy

OF_RATIOS, OF_INFORMATIONS = 1e-12, 1e-9
"""Probabilities up to which a cell is rounding: where ratios are bounded, and where an information is, which it hardly changes."""
NEGLIGIBLE = 1e-9
"""Releases and entries with less probability than this are dropped from what a back end returns."""

ANALYTIC = {"kind": "analytic"}


@dataclass(frozen=True)
class Space:
    """The arrays of a problem; W and S are cut down to what can be seen."""

    problem: DistortionPrivacy

    @cached_property
    def seen(self) -> NDArray[np.int64]:
        """Positions of the observations."""
        return self.problem.observation.support

    @cached_property
    def prior(self) -> Floats:
        """Distribution of S, shape (n_s,)."""
        p_s = self.problem.observation.p_s
        return p_s[p_s > 0]

    @cached_property
    def rank(self) -> int:
        """That of P(s, w), in integers."""
        from flint import fmpz_mat

        return int(fmpz_mat(self.problem.weights).rank())

    @cached_property
    def weights(self) -> Floats:
        """Distribution of W, shape (n_w,)."""
        return self.problem.observation.p_w[self.seen]

    @cached_property
    def table(self) -> Floats:
        """P(s, w), shape (n_s, n_w)."""
        observed = self.problem.observation
        return observed.leaking.table[observed.p_s > 0][:, self.seen]

    @cached_property
    def excess(self) -> Floats:
        """Expected distortion of each cell above the cheapest of its row, P(w) included, shape (n_w, n_y).

        In units of the problem's scale, as is ``room``.
        """
        return self.problem.costs.excess[self.seen] * self.problem.magnitude

    @cached_property
    def room(self) -> float:
        """How far the expected distortion may be above the least; inf where it is not bounded."""
        if self.problem.max_leakage is not None:
            return math.inf
        return max(0.0, float(self.problem.floor - self.problem.costs.least)) * self.problem.magnitude

    @cached_property
    def open(self) -> NDArray[np.bool_]:
        """Cells that a release within the bound on distortion may use; all where there is room."""
        return np.asarray(self.excess <= 0) if self.room == 0 else np.ones(self.excess.shape, dtype=bool)

    def release(self, matrix: Floats) -> Channel:
        """The channel of a matrix on the observations seen, cleaned; unseen ones get the distribution of the output."""
        least = OF_RATIOS if self.problem.order is None else OF_INFORMATIONS
        kept = np.where(self.open & (matrix > least), matrix, 0.0)
        rare = self.weights @ kept < NEGLIGIBLE
        needed = np.where(rare, 0.0, kept).sum(axis=1) < 0.5
        kept[np.ix_(~needed, rare)] = 0.0
        kept[kept.sum(axis=1) == 0] = self.open[kept.sum(axis=1) == 0]
        kept /= kept.sum(axis=1, keepdims=True)
        full = np.tile(self.weights @ kept / self.weights.sum(), (len(self.problem.observation.observed), 1))
        full[self.seen] = kept
        return self.problem.answer(full)

    def leakage(self, matrix: Floats) -> float:
        """The leakage of a matrix on the observations seen, rows summing to 1; nats."""
        joint, p_s = self.table @ matrix, self.problem.observation.p_s
        full = np.zeros((len(p_s), joint.shape[1]))
        full[p_s > 0] = joint / joint.sum()
        return self.problem.leakage_of(full)


def inner_release(space: Space, matrix: Floats) -> Channel:
    """The channel of a matrix that is strictly inside, however small its cells: none is dropped, as each keeps a ratio."""
    kept = matrix / matrix.sum(axis=1, keepdims=True)
    full = np.tile(space.weights @ kept / space.weights.sum(), (len(space.problem.observation.observed), 1))
    full[space.seen] = kept
    return space.problem.answer(full)


def at_once(problem: DistortionPrivacy) -> Proposal | None:
    """The answer where no search is needed: no release is close enough, a constant is, or the best one leaks little."""
    if problem.max_leakage is None:
        if problem.check_infeasible(None) is not None:
            return Proposal(infeasible={"kind": "reproduction"}, stats=_stats("too much distortion in all"))
        constant = problem.constant()
        if problem.budget == math.inf or problem.costs.expected(constant) <= problem.floor:
            return Proposal(constant, 0.0, ANALYTIC, stats=_stats("a constant is close enough"))
        return None
    best = problem.reproduction()
    reading = problem.evaluate(best)
    if reading.leakage <= problem.budget:
        bound = -float(problem.costs.least)
        return Proposal(best, bound, ANALYTIC, stats=_stats("the best reproduction leaks little enough"))
    return None


def _stats(why: str) -> dict[str, float | int | str]:
    return {"iterations": 0, "stop": why}

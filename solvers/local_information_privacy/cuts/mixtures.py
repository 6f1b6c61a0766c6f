"""Mixtures of posteriors that keep the bounds: at every joint of a set, or on a divergence of every release."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats, Ints
from privopt.mechanisms import Channel
from privopt.models.ambiguity.joint import JointAmbiguity
from privopt.models.channel_data import Release
from privopt.problems.local_information_privacy import divergences
from privopt.problems.local_information_privacy.over_set import inside
from privopt.problems.local_information_privacy.polytope import Cut
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.problems.robust_reading import SetReader
from privopt.solvers.common.crumbs import without_crumbs
from privopt.solvers.common.mixing import Basis
from privopt.solvers.common.separation import Separation
from privopt.solvers.local_information_privacy.answer import channel_from_posteriors
from privopt.solvers.local_information_privacy.columns.master import master
from privopt.solvers.local_information_privacy.columns.program import entropies, pricing_of

POOL = 3000
"""Posteriors that are kept for mixtures."""

BREAKS = 1e-10
"""By how much a posterior must exceed a bound on a divergence, relative to it, to ask for a row."""

LARGEST = 700.0
"""Levels above this bound nothing."""

UNUSED = 1e-13
"""Weights of posteriors up to this are rounding of the mixture."""

INSIDE = 1e-12
"""How far inside a bound posteriors are drawn, relative to it."""


@dataclass(frozen=True, eq=False)
class Bound:
    """A bound on a ratio at one prior, as ``above . hi <= below . lo`` over the possible values of the secret."""

    above: Floats
    below: Floats

    @property
    def key(self) -> tuple[float, ...]:
        """What two bounds that are the same have in common."""
        return tuple(np.concatenate([self.above, self.below]).round(9).tolist())


class Mixtures(ABC):
    """The rows so far, and the posteriors met that keep the bounds.

    Attributes
    ----------
    best : Channel or None
        The best mixture of posteriors that keep the bounds.
    value : float
        Its cost: the entropy of X that is left, or the distortion.
    prices : array (n,)
        Those of the observations in the last mixture.
    """

    def __init__(self, problem: LocalInformationPrivacy) -> None:
        self.problem = problem
        observed = problem.observation
        self.support, self.p = observed.support, observed.p_w[observed.support]
        self.pool = self.p[None]
        self.best: Channel | None = None
        self.value = np.inf
        self.prices: Floats = np.zeros(len(self.p))
        self._start: Basis | None = None
        self._pricing = pricing_of(problem.relaxed(())) if problem.matrix is None else None
        self._means = (
            None if problem.matrix is None else (observed.x_given_w.T @ problem.matrix)[self.support]
        )

    @property
    @abstractmethod
    def count(self) -> int:
        """Rows so far."""

    @abstractmethod
    def relaxed(self) -> LocalInformationPrivacy:
        """The problem with the rows so far, and nothing else."""

    @abstractmethod
    def proof(self, dual: object) -> dict[str, object]:
        """A dual of the relaxed problem as one of the problem."""

    @abstractmethod
    def separate(self, posteriors: Floats) -> int:
        """Add rows that posteriors break; how many are new."""

    @abstractmethod
    def prune(self, posteriors: Floats, most: int) -> None:
        """Drop the rows that posteriors in use keep most easily, where there are more than so many."""

    @abstractmethod
    def keep(self, which: Sequence[int]) -> None:
        """Drop all other rows."""

    @abstractmethod
    def shares(self, posteriors: Floats) -> Floats:
        """How much of each posterior may stay in a mixture with the distribution of the observations."""

    def broken(self, posteriors: Floats) -> list[Bound]:
        """For each posterior that breaks a bound on a ratio the one it breaks most, at a prior of a set; none where there is no set."""
        return []

    def posteriors(self, channel: Release) -> Floats:
        """Those of the releases that occur."""
        joint = channel.matrix[self.support] * self.p[:, None]
        mass = joint.sum(axis=0)
        return np.asarray((joint[:, mass > 0] / mass[mass > 0]).T)

    def costs(self, posteriors: Floats) -> Floats:
        """What posteriors cost: the entropy of X, or the distortion of their best column."""
        if self._means is not None:
            return np.asarray((posteriors @ self._means).min(axis=1))
        return entropies(self._pricing or pricing_of(self.problem.relaxed(())), posteriors)

    def begin(self) -> None:
        """Mix the symbols alone, each drawn towards the distribution of the observations.

        Where all can be, the best of these mixtures has each as often as its symbol occurs, over its share: the entropy of a
        mixture is at least the mean of its parts.
        """
        alone, every = np.eye(len(self.p)), np.arange(len(self.p))
        shares = self.shares(alone)
        if not (shares > 0).all():
            self.mix(alone)
            return
        drawn = shares[:, None] * alone + (1.0 - shares[:, None]) * self.p
        weights = self.p / shares / (self.p / shares).sum()
        costs = self.costs(drawn)
        self.pool, self._start = np.concatenate([self.p[None], drawn]), (every + 1, every)
        self.prices = np.asarray(np.linalg.solve(drawn, costs), dtype=np.float64)
        self._take(drawn, weights, float(costs @ weights))

    def mix(self, posteriors: Floats) -> None:
        """Draw posteriors towards the distribution of the observations until they keep the bounds, and mix the best of all.

        Those that become it are left out.
        """
        shares = self.shares(posteriors)[:, None]
        drawn = (shares * posteriors + (1.0 - shares) * self.p)[shares[:, 0] > 0]
        every = np.concatenate([self.pool, drawn])
        kept = np.sort(np.unique(every.round(12), axis=0, return_index=True)[1])
        if len(kept) == len(self.pool) and self.best is not None:
            return
        self.pool = every[kept]  # those of before come first, in their order: their basis stays one
        costs = self.costs(self.pool)
        try:
            mixture = master(self.pool, costs, self.p, start=self._start)
        except ArithmeticError:
            return
        self.prices, self._start = mixture.prices, (mixture.basis, mixture.fixed)
        self._take(self.pool, mixture.weights, mixture.value)
        if len(self.pool) > POOL:
            self._keep(costs - self.pool @ mixture.prices, mixture.basis)

    def _take(self, columns: Floats, weights: Floats, value: float) -> None:
        """Note a mixture that is better than the best."""
        if value < self.value:
            used = weights > UNUSED
            self.value = value
            taken = without_crumbs(columns[used], self.p)
            self.best = channel_from_posteriors(self.problem, weights[used], taken)

    def _keep(self, reduced: Floats, basis: NDArray[np.intp]) -> None:
        """Keep the distribution of the observations, the basis, and those of the least reduced costs."""
        reduced[0] = reduced[basis] = -np.inf
        order = np.sort(np.argsort(reduced, kind="stable")[:POOL])
        self.pool = self.pool[order]
        if self._start is not None:
            self._start = np.searchsorted(order, basis), self._start[1]


class OverSet(Mixtures):
    """The rows are what joints of a set demand.

    Parameters
    ----------
    problem : LocalInformationPrivacy
    ambiguity : JointAmbiguity
        Its set.
    """

    def __init__(self, problem: LocalInformationPrivacy, ambiguity: JointAmbiguity) -> None:
        super().__init__(problem)
        self.rows = Separation(problem, ambiguity)

    @property
    def count(self) -> int:
        """Rows so far."""
        return self.rows.count

    def relaxed(self) -> LocalInformationPrivacy:
        """The problem with the rows so far, and one joint."""
        return self.rows.relaxed()

    def proof(self, dual: object) -> dict[str, object]:
        """A dual of the relaxed problem as one of the problem."""
        return self.rows.proof(dual)

    def separate(self, posteriors: Floats) -> int:
        """Add rows for the joints at which posteriors break their bounds most; how many are new."""
        return self.rows.separate(posteriors)

    def prune(self, posteriors: Floats, most: int) -> None:
        """Drop the rows that posteriors in use keep most easily, where there are more than so many."""
        self.rows.prune(posteriors, most)

    def keep(self, which: Sequence[int]) -> None:
        """Drop all other rows."""
        self.rows.keep(which)

    def shares(self, posteriors: Floats) -> Floats:
        """How much of each posterior keeps the bounds at every joint."""
        spread = self.rows.reader.spread(self.rows.columns(posteriors), self.problem.notion)
        return spread.shares(np.ones(len(posteriors)), inside(self.problem, INSIDE))

    def broken(self, posteriors: Floats) -> list[Bound]:
        """For each posterior that breaks a bound on a lift the one it breaks most, at the prior of the set that is worst for it."""
        if self.problem.notion != "lip":
            return []
        reader, problem = self.rows.reader, self.problem
        low, high = reader.extremes(self.rows.columns(posteriors))
        found = [
            _broken(reader, own, others, side, math.exp(side * level))
            for own, others, level, side in (
                (high, low, problem.upper, 1.0),
                (low, high, problem.lower, -1.0),
            )
            if level <= LARGEST
        ]
        apart = np.array([each for each, _ in found]).reshape(len(found), len(posteriors))
        return [
            found[int(apart[:, k].argmax())][1][k]
            for k in np.flatnonzero((apart > BREAKS).any(axis=0)).tolist()
        ]


def _broken(
    reader: SetReader, own: Floats, others: Floats, side: float, factor: float
) -> tuple[Floats, list[Bound]]:
    """By how much each release breaks the bound on the lift of a value of the secret, and that bound at its worst prior.

    Probabilities of releases given the secret are those of its own value and of the others, shape (n_s, k) each. The side is 1 where
    the factor bounds lifts from above, -1 where from below.
    """
    n, secrets = len(own), np.flatnonzero(reader.possible)
    values = np.repeat(others[:, None, :], len(secrets), axis=1)
    values[secrets, np.arange(len(secrets))] = own[secrets]
    priors = reader.prior.farthest(-side * values.reshape(n, -1)).reshape(values.shape)
    apart = side * (own[secrets] - factor * (priors * values).sum(axis=0))
    worst = apart.argmax(axis=0)
    bounds = []
    for at, s in enumerate(secrets[worst].tolist()):
        prior = priors[:, worst[at], at]
        shares, alone = factor * prior, np.zeros(n)
        shares[s], alone[s] = 0.0, 1.0 - factor * prior[s]
        pair = (alone, shares) if side > 0 else (shares, alone)
        bounds.append(Bound(*(part[reader.possible] for part in pair)))
    return apart.max(axis=0), bounds


class Curved(Mixtures):
    """The rows are half-spaces around the posteriors that keep a bound on a divergence.

    A posterior beyond the bound is drawn to the border; the set ends there in the direction of the gradient.
    """

    def __init__(self, problem: LocalInformationPrivacy) -> None:
        super().__init__(problem)
        seen = problem.observation.p_s > 0
        self.prior = problem.observation.p_s[seen]
        self.of_secret = problem.observation.s_given_w[seen][:, self.support]
        self._cuts: dict[tuple[int, ...], Cut] = {}

    @property
    def count(self) -> int:
        """Rows so far, beside those to begin with."""
        return len(self._cuts)

    def relaxed(self) -> LocalInformationPrivacy:
        """The problem with the half-spaces so far, and nothing else."""
        return self.problem.relaxed(tuple(self._cuts.values()))

    def proof(self, dual: object) -> dict[str, object]:
        """A dual of the relaxed problem as one of the problem."""
        return {"kind": "directions", "directions": [list(c) for c in self._cuts], "proof": dual}

    def separate(self, posteriors: Floats) -> int:
        """Add the half-spaces where posteriors beyond the bound leave the set; how many are new."""
        before, bound = len(self._cuts), self.problem.budget
        beyond = self._moves(posteriors)
        values = divergences.of_moves(self.problem.notion, beyond, self.prior)
        shares = divergences.shares_of(self.problem.notion, beyond, self.prior, bound)
        for k in np.argsort(-values, kind="stable").tolist():
            if values[k] <= bound * (1 + BREAKS):
                break
            border = self.prior + shares[k] * beyond[:, k]
            along = divergences.direction(self.problem.notion, border, self.prior)
            if along not in self._cuts:
                self._cuts[along] = self.problem.cut(along)
        return len(self._cuts) - before

    def prune(self, posteriors: Floats, most: int) -> None:
        """Drop the half-spaces that posteriors in use keep most easily, where there are more than so many."""
        if len(self._cuts) <= most:
            return
        listed = list(self._cuts)
        rows = _floats([self._cuts[c] for c in listed], self.support) / self.p
        used = (rows @ posteriors.T).max(axis=1) / np.abs(rows).max(axis=1)
        self.keep(sorted(np.argsort(-used, kind="stable")[:most].tolist()))

    def keep(self, which: Sequence[int]) -> None:
        """Drop all other half-spaces."""
        listed = list(self._cuts)
        self._cuts = {listed[i]: self._cuts[listed[i]] for i in which}

    def shares(self, posteriors: Floats) -> Floats:
        """How much of each posterior keeps the bound."""
        bound = self.problem.budget * (1.0 - INSIDE)
        return divergences.shares_of(self.problem.notion, self._moves(posteriors), self.prior, bound)

    def _moves(self, posteriors: Floats) -> Floats:
        """Posteriors of the secret less its prior, (n_s, m)."""
        return np.asarray(self.of_secret @ posteriors.T - self.prior[:, None])


def _floats(cuts: Sequence[Cut], support: Ints) -> Floats:
    """Rows in floats, times the probability of each observation."""
    return np.array([[row[w] / below for w in support.tolist()] for row, below in cuts])

"""Look ahead: the release that is best together with all that follow, for chains of two to four letters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations, product
from typing import ClassVar

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.errors import InvalidMechanism
from privopt.mechanisms.policy.ahead import Ahead, Pair
from privopt.mechanisms.policy.corners import Choice, Corners, Simplex, Steps, inverses, merged
from privopt.mechanisms.policy.fixed import total
from privopt.mechanisms.policy.formulas.formula import Cost, Formula
from privopt.mechanisms.policy.setting import Setting

POINTS = 129
"""Posteriors of the grid."""
ROUNDS = 200
"""Rounds of dynamic programming at most."""
SETTLED = 1e-5
"""How little the costs of one more release differ from belief to belief, relative to their size, when enough were looked ahead."""
LARGEST = 8.0
"""Nats: what is private at a lower budget is private."""
TINY = 1e-9
"""Posteriors closer than this are one."""
PARTS = {3: 32, 4: 16}
"""Of a grid of posteriors, by the number of letters."""
DAMPED = 0.5
"""How far a step moves the costs of what follows, so that they settle for chains that are nearly periodic too."""
NEARLY = 1e-3
"""As :data:`SETTLED`, where beliefs of three and four letters are a coarser grid."""
MOST_COLUMNS = 8
LEAST_VOLUME = 1e-6
"""Determinant of the transitions: below it beliefs do not say what was before."""


def grid(points: int) -> Floats:
    """Posteriors from 0 to 1, denser towards the ends.

    Examples
    --------
    >>> grid(5).tolist()
    [0.0, 0.15625, 0.5, 0.84375, 1.0]
    """
    even = np.arange(points) / (points - 1)
    smooth: Floats = even * even * (3.0 - 2.0 * even)
    return smooth


@dataclass(frozen=True, eq=False)
class Plan:
    """Which two releases are best at each of some beliefs (M,), increasing from 0 to 1, and the posteriors that they leave.

    Parameters
    ----------
    ahead : Ahead
    costs : array (m, points)
        Of each release with all that follows, at posteriors of the grid.
    beliefs : array (M,)
    pairs : int array (M, 2)
        The release that leaves a posterior below, and the one above.
    ends : array (M, 2)
        These posteriors.
    """

    ahead: Ahead
    costs: Floats
    beliefs: Floats
    pairs: Ints
    ends: Floats

    @classmethod
    def of(cls, ahead: Ahead, later: Floats) -> Plan:
        """The best releases if what follows costs ``later`` at the images of the grid."""
        f, places = ahead.costs(later), ahead.cuts(0.0, 1.0)
        count = len(places.beliefs)
        least, pairs = np.full(count, np.inf), np.zeros((count, 2), dtype=np.int64)
        ends = np.stack([places.beliefs, places.beliefs], axis=1)
        for pair in permutations(range(len(f)), 2):
            charge, *own = Pair(ahead, f[pair[0]], f[pair[1]], places).best()
            better = charge < least
            least[better], pairs[better] = charge[better], pair
            ends[better] = np.stack(own, axis=1)[better]
        return cls(ahead, f, places.beliefs, pairs, ends)

    def kernels(self, beliefs: Floats) -> Floats:
        """Kernels (M, 2, m) for beliefs (M, 2).

        The pairs of releases of the two beliefs of the plan beside each one are tried, with the posteriors there and with
        those as far from the belief as the budget allows.
        """
        beliefs = beliefs[:, 1]  # the probability of the second letter says all
        here, users = self.ahead.places(beliefs), np.arange(len(beliefs))
        at = (np.searchsorted(self.beliefs, beliefs, side="right") - 1).clip(0, len(self.beliefs) - 2)
        best, pairs = np.full(len(beliefs), np.inf), np.zeros((len(beliefs), 2), dtype=np.int64)
        ends = np.stack([beliefs, beliefs], axis=1)
        for beside in (at, at + 1):
            left, right = self.pairs[beside].T
            below = [here.low, *(self.ends[k, 0].clip(here.low, beliefs) for k in (at, at + 1))]
            above = [here.high, *(self.ends[k, 1].clip(beliefs, here.high) for k in (at, at + 1))]
            under, over = ([self._cost(y, p) for p in ps] for y, ps in ((left, below), (right, above)))
            for i, j in product(range(3), repeat=2):
                share = _share(beliefs, below[i], above[j])
                cost = under[i] + share * (over[j] - under[i])
                better = cost < best
                best[better], pairs[better] = cost[better], self.pairs[beside][better]
                ends[better] = np.stack([below[i], above[j]], axis=1)[better]
        (left, right), (low, high) = pairs.T, ends.T
        share = _share(beliefs, low, high)
        kernels = np.zeros((len(beliefs), 2, len(self.costs)))
        for letter, own, post in ((0, 1.0 - beliefs, 1.0 - high), (1, beliefs, high)):
            ratio = np.where(own > 0, post / np.where(own > 0, own, 1.0), 1.0)
            sent = (share * ratio).clip(0.0, 1.0)
            kernels[users, letter, right] = sent
            kernels[users, letter, left] = 1.0 - sent
        return kernels

    def _cost(self, releases: Ints, posteriors: Floats) -> Floats:
        """The cost of a release for each user, with all that follows, at a posterior."""
        z = self.ahead.posteriors
        k = (np.searchsorted(z, posteriors, side="right") - 1).clip(0, len(z) - 2)
        share = (posteriors - z[k]) / (z[k + 1] - z[k])
        first = self.costs[releases, k]
        between: Floats = first + share * (self.costs[releases, k + 1] - first)
        return between


def _share(beliefs: Floats, low: Floats, high: Floats) -> Floats:
    """How often the release above is drawn, for posteriors whose mean is the belief."""
    apart = high - low
    split = apart > TINY
    share: Floats = np.where(split, (beliefs - low) / np.where(split, apart, 1.0), 0.0)
    return share


@dataclass(frozen=True, eq=False)
class CornerPlan:
    """Which corners are best after the posteriors of a grid, and what follows costs there.

    Parameters
    ----------
    steps : Steps
    later : array (points,)
    choice : Choice
    """

    steps: Steps
    later: Floats
    choice: Choice

    @classmethod
    def of(cls, corners: Corners, simplex: Simplex) -> CornerPlan:
        """The plan for many releases to come."""
        steps = Steps.of(corners, simplex)
        later = np.zeros(len(simplex.points))
        for _ in range(ROUNDS):
            gain = steps.cost(later) - later
            later = later + DAMPED * (gain - gain.min())
            if gain.max() - gain.min() <= NEARLY * np.abs(gain).max():
                break
        return cls(steps, later, steps.choice(later))

    def kernels(self, beliefs: Floats) -> Floats:
        """Kernels (M, k, m) for beliefs (M, k): the best of what is planned at the grid points around what was before each one."""
        corners, simplex = self.steps.corners, self.steps.simplex
        k, users = corners.letters, np.arange(len(beliefs))
        near = simplex.around(corners.before(beliefs))[0]
        patterns, columns = self.choice.patterns[near], self.choice.columns[near]
        here = np.broadcast_to(beliefs[:, None, :], (len(beliefs), k, k))
        posteriors, there = corners.posteriors(
            np.broadcast_to(here[:, :, None, :], (len(beliefs), k, k, k)), patterns.clip(0)
        )
        shares, fine = corners.shares(here, posteriors)
        charged = np.where(
            fine & there.all(axis=-1) & (patterns[..., 0] >= 0),
            total(shares * self._costs(merged(posteriors, shares, columns), columns)),
            np.inf,
        )
        plain = corners.told(beliefs).argmin(axis=1)
        nothing = self._costs(beliefs, plain)
        at = charged.argmin(axis=1)
        telling = charged[users, at] < nothing
        ratios = posteriors[users, at] / np.where(beliefs > 0, beliefs, 1.0)[:, None, :]
        kernels = np.zeros((len(beliefs), k, corners.cost.shape[1]))
        for i in range(k):
            kernels[users, :, columns[users, at, i]] += shares[users, at, i, None] * ratios[:, i, :]
        kernels[~telling] = 0.0
        kernels[users[~telling], :, plain[~telling]] = 1.0
        return kernels / total(kernels)[..., None]

    def _costs(self, posteriors: Floats, columns: Ints) -> Floats:
        """The cost of releasing columns at posteriors, with all that follows."""
        told = total(posteriors * self.steps.corners.cost.T[columns])
        return np.asarray(told + self.steps.simplex.between(self.later, posteriors))


@dataclass(frozen=True)
class LookAheadRule(Formula):
    """The best release for the sum of all costs to come, by dynamic programming over beliefs; of three letters and more on a grid."""

    name: str = "look-ahead"
    cost: ClassVar[Cost] = Cost.PLAIN

    def propose(self, setting: Setting, beliefs: Floats) -> Floats:
        """Kernels for beliefs (M, k), shape (M, k, m).

        Raises
        ------
        InvalidMechanism
            If the chain has not two to four letters, or its steps differ, or a release has more than one letter.

        Examples
        --------
        >>> from privopt.models import MarkovChain
        >>> setting = Setting(MarkovChain([[0.9, 0.1], [0.01, 0.99]]), 1, 1.0, "hamming")
        >>> kernel = LookAheadRule().propose(setting, np.array([[0.15, 0.85]]))[0]
        >>> bool(kernel[0, 0] > kernel[1, 0] > 0)  # the closed form is constant there, and never learns anything
        True
        """
        if setting.epsilon == np.inf or setting.epsilon == 0:
            best = (beliefs @ setting.cost).argmin(axis=1)
            own = setting.cost.argmin(axis=1)
            told = np.eye(setting.cost.shape[1])
            kernels = told[own][None] if setting.epsilon > 0 else told[best][:, None, :]
            return np.broadcast_to(kernels, (len(beliefs), *setting.cost.shape)).copy()
        return planned(setting).kernels(beliefs)


@lru_cache(maxsize=64)
def planned(setting: Setting) -> Plan | CornerPlan:
    """Which releases are best in a setting if many are to come.

    Raises
    ------
    InvalidMechanism
        If it does not fit.
    """
    refusal = refuse_look_ahead(setting)
    if refusal is not None:
        raise InvalidMechanism(f'the rule "look-ahead" cannot be used here: {refusal}')
    moves, k = np.array(setting.chain.step(0)), setting.chain.k
    epsilon = min(setting.epsilon, LARGEST)
    if k > 2:
        return CornerPlan.of(Corners(moves, setting.cost, epsilon), Simplex(k, PARTS[k]))
    ahead = Ahead(moves, setting.cost, epsilon, grid(POINTS))
    return Plan.of(ahead, ahead.settled(ROUNDS, SETTLED))


def refuse_look_ahead(setting: Setting) -> str | None:
    """The sentence for what it does not look ahead in."""
    chain = setting.chain
    if chain.k not in (2, *PARTS) or chain.order != 1 or setting.batch != 1 or len(chain.letters) != chain.k:
        return "it takes single letters of chains with two to four letters"
    if not chain.homogeneous:
        return "it takes chains whose steps are alike"
    if chain.k > 2 and abs(float(inverses(np.array(chain.step(0)))[1])) < LEAST_VOLUME:
        return "letters hardly depend on one another, or only in part"
    if chain.k > 2 and setting.cost.shape[1] > MOST_COLUMNS:
        return f"it takes at most {MOST_COLUMNS} different releases"
    return None

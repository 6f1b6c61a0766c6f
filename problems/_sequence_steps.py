"""What each release reads in law, the level that all releases up to it may have reached together, and its bound.

Write P_l for the law of what release l reads, with nothing known, and post for its law given every release up to and
with l. Let s_l bound |ln post / P_l|. Seen from what it reads, all releases up to l together are one channel that keeps
the level s_l for the law P_l; so release l costs at least the optimum of that one step, and that is at least what any
prices prove (see the bound of one step). Releases add their level to what was known before: s_l = t_l + w epsilon for w
letters. What was known before, t, is about the state at the first letter of the release. The law of the last state of
release l - 1 is post with post / P within e^+-s: among those the probability of the next state is largest for the one
that puts as much as it may where the transition is likeliest, L P + (1 - L) / theta times the likeliest part of mass
theta of P, with L = e^-s and theta = 1 / (e^s + 1); likewise smallest. Where letters are independent t is 0.

Rounding: laws are products of at most as many steps as there are records, so off by (states + 3) 2^-52 a record,
relatively; each logarithm is off by a few units more. Both are allowed for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privopt.mechanisms._hamming_cases import Levels
from privopt.problems._belief_bound import priced_bound
from privopt.problems._observation import Floats
from privopt.problems._sequence_releases import Release, releases

if TYPE_CHECKING:
    from privopt.problems.sequence_information_privacy import SequenceInformationPrivacy

CELLS = 2**18
"""Distortions that are priced at a time: the bound of all releases is the weakest of the bounds of each part."""


@dataclass(frozen=True, eq=False)
class Step:
    """What a release reads in law (words,), and the level that all up to it may have reached together."""

    release: Release
    law: Floats
    level: float
    before: tuple[Floats, Floats] | None = None
    """The law of the state before, and where it moves; None at the first release."""

    @property
    def revealed(self) -> Floats:
        """Law of what is read given the state before, shape (states, words)."""
        if self.before is None:
            return self.law[None]
        found: Floats = self.before[1] @ self.release.given
        return found

    def bound(self, lam: Floats) -> float:
        """Upper bound on minus the expected distortion of this release, a letter, that prices (words,) prove."""
        seen = self.law > 0
        p, cost = self.law[seen], self.release.setting.cost[seen]
        slack = slack_of(self.release) * float(np.abs(cost).max())
        free = -float(p @ cost.min(axis=1))
        width = max(1, CELLS // len(p))
        parts = [cost[:, begin : begin + width] for begin in range(0, cost.shape[1], width)]
        return min(free, max(priced_bound(p, part, self.level, lam[seen]) for part in parts)) + slack


def steps(problem: SequenceInformationPrivacy) -> Iterator[Step]:
    """Each release with its law and its level.

    Examples
    --------
    >>> from privopt.models import MarkovChain
    >>> from privopt.problems.sequence_information_privacy import SequenceInformationPrivacy
    >>> problem = SequenceInformationPrivacy(MarkovChain([[0.9, 0.1], [0.1, 0.9]]), 0.5, horizon=3)
    >>> [round(step.level, 4) for step in steps(problem)]
    [0.5, 0.878, 1.1302]
    """
    chain = problem.chain
    law, before = np.array(chain.initial), 0.0
    moved: tuple[Floats, Floats] | None = None
    for release in releases(problem):
        level = before + release.setting.epsilon
        yield Step(release, law @ release.given, level, moved)
        after = release.begin + release.length
        if after < problem.horizon:
            last, step = release.last(law), chain.step(after - 1)
            before = _told(last, step, level) + 2 * slack_of(release)
            law, moved = last @ step, (last, step)


def slack_of(release: Release) -> float:
    """Relative error of a law computed up to the end of a release."""
    return (release.begin + release.length + 8) * (release.setting.chain.k + 3) * 2.0**-52


def _told(law: Floats, step: Floats, level: float) -> float:
    """The largest |ln (post P)(x) / (law P)(x)| over post / law in [e^-level, e^level]."""
    seen = law > 0
    p, moves = law[seen], step[seen]
    after = p @ moves
    moves, after = moves[:, after > 0], after[after > 0]
    high, low = _extreme(p, moves, level), -_extreme(p, -moves, level)
    least = max(0.0, math.exp(-level))
    margin = (len(p) + 16) * 2.0**-50 * moves.max(axis=0)
    with np.errstate(divide="ignore"):
        up = np.log((high + margin) / after).max()
        down = -np.log(np.maximum(low - margin, least * after) / after).min()
    return float(min(max(up, down, 0.0), level))


def _extreme(p: Floats, moves: Floats, level: float) -> Floats:
    """The largest mean of each column over laws within e^+-level of p."""
    levels = Levels.of(level)
    order = np.argsort(-moves, axis=0, kind="stable")
    best = np.take_along_axis(moves, order, axis=0)
    if levels.theta <= 0:
        return np.asarray(levels.low * (p @ moves) + levels.room * best[0])
    sums = np.minimum(np.cumsum(p[order], axis=0), levels.theta)
    group = (np.diff(sums, axis=0, prepend=0.0) / levels.theta * best).sum(axis=0)
    return np.asarray(levels.low * (p @ moves) + levels.room * group)

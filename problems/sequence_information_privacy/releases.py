"""The releases of a horizon: which records each reads, the law of what it reads, and how the law of the state moves on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from privopt.arrays import Floats
from privopt.mechanisms.policy.fixed import gathered
from privopt.mechanisms.policy.rules import Setting
from privopt.mechanisms.policy.words import Paths, probabilities

if TYPE_CHECKING:
    from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy


@dataclass(frozen=True, eq=False)
class Release:
    """A release that reads the ``length`` letters from record ``begin`` on.

    Examples
    --------
    >>> from privopt.models import MarkovChain
    >>> release = Release(0, Setting(MarkovChain([[0.75, 0.25], [1, 0]]), 2, 1.0, "hamming"))
    >>> release.given.tolist(), release.last(np.array([0.5, 0.5])).tolist()
    ([[0.75, 0.25, 0.0], [0.0, 0.0, 1.0]], [0.875, 0.125])
    """

    begin: int
    setting: Setting

    @property
    def length(self) -> int:
        """Letters in it."""
        return self.setting.batch

    @property
    def paths(self) -> Paths:
        """The ways in which states spell its words."""
        return self.setting.paths

    @cached_property
    def chances(self) -> Floats:
        """Probability of each path given its first state."""
        return probabilities(self.setting.chain, self.paths.states, self.begin)

    @cached_property
    def given(self) -> Floats:
        """Pr(word | state at its first letter), shape (states, words)."""
        found = np.zeros((self.setting.chain.k, len(self.paths.words)))
        np.add.at(found, (self.paths.states[:, 0], self.paths.word), self.chances)
        return found

    def joint(self, before: Floats, columns: Floats) -> Floats:
        """Probabilities (M, k) of the state at the last letter, jointly with an output whose column is (M, words)."""
        ways = self.paths
        if ways.identity:
            return before * columns
        each = before[:, ways.states[:, 0]] * columns[:, ways.word] * self.chances
        return gathered(each, ways.states[:, -1], before.shape[1])

    def last(self, belief: Floats) -> Floats:
        """Law of the state at the last letter from that at the first, shapes (states,)."""
        found = np.zeros(len(belief))
        np.add.at(found, self.paths.states[:, -1], belief[self.paths.states[:, 0]] * self.chances)
        return found


def releases(problem: SequenceInformationPrivacy) -> Iterator[Release]:
    """The releases in turn; the last may be shorter, with a budget in proportion."""
    for begin in range(0, problem.horizon, problem.batch):
        yield Release(begin, problem.setting(min(problem.batch, problem.horizon - begin)))

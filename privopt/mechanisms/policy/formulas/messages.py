"""Messages: releases that mean the same divide what is known after them as far as that costs nothing now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.arrays import Bools, Floats, Ints
from privopt.errors import InvalidMechanism
from privopt.mechanisms.policy.fixed import exp, total
from privopt.mechanisms.policy.formulas.closed import HammingRule, capped
from privopt.mechanisms.policy.formulas.formula import Cost, Formula
from privopt.mechanisms.policy.setting import Setting

MOST_LETTERS = 32
SMALL = 1e-12
"""Product of the ways from a posterior, times its probability, below which it is not divided."""
CELLS = 2**22
"""Numbers of a table that are computed at a time."""


def copies_of_letters(setting: Setting) -> Ints | None:
    """The columns that stand for each letter, shape (n, messages); None where they are no copies of the Hamming distortion.

    Examples
    --------
    >>> from privopt.models import MarkovChain
    >>> twice = tuple(row * 2 for row in ((0.0, 1.0), (1.0, 0.0)))
    >>> copies_of_letters(Setting(MarkovChain([[0.5, 0.5], [0.5, 0.5]]), 1, 1.0, twice)).tolist()
    [[0, 2], [1, 3]]
    """
    cost = setting.cost
    n, m = cost.shape
    if m % n or not np.array_equal(cost, np.tile(1.0 - np.eye(n), m // n)):
        return None
    return np.arange(m).reshape(-1, n).T


@dataclass(eq=False)
class _Parts:
    """Posteriors (M, n) of the messages of one letter, and their probabilities (M,), as they are divided."""

    letter: int
    low: Floats
    high: Floats
    chances: list[Floats]
    posteriors: list[Floats]

    def ways(self, k: int) -> Floats:
        """How far posterior k may move from a second letter to a first one, and the release still be best, shape (M, n, n)."""
        z, y, n = self.posteriors[k], self.letter, self.low.shape[1]
        ahead = (z[:, y, None] - z).clip(0.0)
        ahead[:, y] = np.inf
        others = np.where(np.eye(n, dtype=bool), np.inf, ahead[:, None, :]).min(axis=2)
        best = np.repeat(ahead[:, :, None], n, axis=2)
        best[:, :, y] = np.minimum(ahead / 2.0, others)  # the letter itself loses what another one gains
        up, down = (self.high - z).clip(0.0), (z - self.low).clip(0.0)
        ways = np.minimum(np.minimum(up[:, :, None], down[:, None, :]), best)
        ways[:, np.arange(n), np.arange(n)] = 0.0
        return np.asarray(ways, dtype=np.float64)

    def divide(self) -> None:
        """Divide the posterior, one for each belief, between two letters where they go farthest both ways."""
        many, n = self.low.shape
        users = np.arange(many)
        best, which = np.full(many, SMALL), np.full(many, -1)
        moves = [(self.ways(k), chance) for k, chance in enumerate(self.chances)]
        pair = np.zeros(many, dtype=np.int64)
        for k, (ways, chance) in enumerate(moves):
            gain = (chance[:, None, None] * ways * ways.transpose(0, 2, 1)).reshape(many, -1)
            at = gain.argmax(axis=1)
            better = gain[users, at] > best
            best[better], which[better], pair[better] = gain[users, at][better], k, at[better]
        new_chance, new = np.zeros(many), self.posteriors[0].copy()
        for k, (ways, chance) in enumerate(moves):
            mine = np.flatnonzero(which == k)
            a, c = np.divmod(pair[mine], n)
            there, back = ways[mine, a, c], ways[mine, c, a]
            z, share = self.posteriors[k], back / (there + back)
            new[mine], new_chance[mine] = z[mine], chance[mine] * (1.0 - share)
            for where, far in ((new, -back), (z, there)):
                where[mine, a] += far
                where[mine, c] -= far
                where[mine] = where[mine].clip(self.low[mine], self.high[mine])
            chance[mine] *= share
        self.posteriors.append(new)
        self.chances.append(new_chance)


@dataclass(frozen=True)
class MessagesRule(Formula):
    """The kernels of least Hamming error, with the posterior of each letter divided among its messages, farther and farther apart.

    The closed form leaves one posterior for each letter that is released. Any two posteriors within the budget whose mean it is,
    and after both of which that letter is still the best one to release, cost as much now and say more for later.
    """

    name: str = "messages"
    cost: ClassVar[Cost] = Cost.QUICK

    def propose(self, setting: Setting, beliefs: Floats) -> Floats:
        """Kernels for beliefs (M, n), shape (M, n, m).

        Raises
        ------
        InvalidMechanism
            If columns are no copies of the Hamming distortion of single letters.

        Examples
        --------
        >>> from privopt.models import MarkovChain
        >>> twice = tuple(row * 2 for row in (1 - np.eye(3)).tolist())
        >>> setting = Setting(MarkovChain((np.ones((3, 3)) / 3).tolist()), 1, 1.0, twice)
        >>> kernel = MessagesRule().propose(setting, np.array([[0.1, 0.3, 0.6]]))[0]
        >>> same = (kernel @ np.tile(np.eye(3), 2).T).round(4)  # together, the releases of the closed form
        >>> same.tolist() == HammingRule().propose(
        ...     Setting(setting.chain, 1, 1.0, "hamming"), np.array([[0.1, 0.3, 0.6]])
        ... )[0].round(4).tolist()
        True
        """
        columns = copies_of_letters(setting) if setting.batch == 1 else None
        n = beliefs.shape[1]
        if columns is None or n > MOST_LETTERS:
            raise InvalidMechanism(
                f'the rule "messages" knows messages for each of up to {MOST_LETTERS} letters, with the Hamming distortion'
            )
        plain = Setting(setting.chain, 1, setting.epsilon, "hamming")
        width = max(1, CELLS // (n * n * columns.shape[1]))
        kernels = np.zeros((len(beliefs), *setting.cost.shape))
        for begin in range(0, len(beliefs), width):
            some = slice(begin, begin + width)
            kernels[some] = self._divided(plain, beliefs[some], columns)
        return kernels

    def _divided(self, plain: Setting, beliefs: Floats, columns: Ints) -> Floats:
        base = HammingRule().propose(plain, beliefs)
        n, messages = columns.shape
        kernels = np.zeros((len(beliefs), n, n * messages))
        low = exp(-capped(plain.epsilon)) if plain.epsilon < np.inf else 0.0
        possible: Bools = beliefs > 0
        sides = low * beliefs, np.minimum(beliefs / max(low, 1e-300), 1.0)
        for y in range(n):
            joint = beliefs * base[:, :, y]
            chance = total(joint)
            posterior = joint / np.where(chance > 0, chance, 1.0)[:, None]
            parts = _Parts(y, *sides, [chance], [posterior])
            if plain.epsilon > 0:
                for _ in range(messages - 1):
                    parts.divide()
            for column, w, z in zip(columns[y], parts.chances, parts.posteriors, strict=False):
                told = w[:, None] * z / np.where(possible, beliefs, 1.0)
                kernels[:, :, column] = np.where(possible, told, w[:, None])
        kernels = kernels.clip(0.0)
        return np.asarray(kernels / total(kernels)[..., None])

"""One step of least Hamming error: its kernel in O(n) memory, its samples and its posteriors; one user or many."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from privopt.arrays import Floats, Ints
from privopt.mechanisms.policy.hamming_cases import CASES
from privopt.mechanisms.policy.hamming_rows import Rows, overlap, rows


@dataclass(frozen=True, init=False, eq=False)
class HammingKernel:
    """The release of least Hamming error for one belief, as an implicit kernel.

    Built by one sort; a sample costs a binary search, a posterior O(n). Floats throughout: it simulates, and what
    is certified is the channel made of :meth:`matrix`.

    Parameters
    ----------
    belief : array-like, shape (n,)
        Probabilities that sum to 1.
    epsilon : float
        Nats, >= 0, perhaps inf.

    Examples
    --------
    >>> kernel = HammingKernel([0.3, 0.25, 0.2, 0.15, 0.1], 1.0)
    >>> kernel.case, round(kernel.error, 12)
    ('share', 0.384481388758)
    >>> kernel.posterior(0).round(4).tolist()
    [0.7425, 0.092, 0.0736, 0.0552, 0.0368]
    """

    epsilon: float
    rows: Rows

    def __init__(self, belief: ArrayLike, epsilon: float) -> None:
        object.__setattr__(self, "epsilon", float(epsilon))
        object.__setattr__(self, "rows", rows(np.array(belief, dtype=np.float64)[None, :], float(epsilon)))

    @property
    def case(self) -> str:
        """The case of the closed form: "dump", "tail", "steal" or "share"."""
        return CASES[int(self.rows.found.case[0])]

    @property
    def error(self) -> float:
        """Pr(Y != X)."""
        return 1.0 - float(self.rows.found.value[0])

    @cached_property
    def place(self) -> Ints:
        """Position of each letter among the sorted ones."""
        return np.argsort(self.rows.order[0], kind="stable")

    @cached_property
    def law(self) -> Floats:
        """Output law Q, shape (n,)."""
        return np.asarray(self.rows.law[0][self.place])

    @cached_property
    def _sums(self) -> tuple[Floats, Floats]:
        return np.cumsum(self.rows.law[0]), np.maximum.accumulate(self.rows.end[0])

    def sample(self, letter: int, rng: np.random.Generator) -> int:
        """A release of a letter, simulated: with probability e^-epsilon whatever Q gives, else a walk along its row."""
        mine, x = self.rows, int(self.place[letter])
        sums, ends = self._sums
        if mine.belief[0, x] == 0 or rng.random() < mine.levels.low:
            return int(mine.order[0, _search(sums, rng.random() * sums[-1])])
        u = rng.random() - mine.keep[0, x]
        if u < 0:
            return letter
        u -= mine.side[0, x]
        if u < 0 or mine.width[0, x] == 0:
            return int(mine.order[0, mine.extra[0]]) if mine.side[0, x] > 0 else letter
        rest = 1.0 - mine.keep[0, x] - mine.side[0, x]
        at = mine.start[0, x] + min(u / rest, 1.0) * mine.width[0, x]
        return int(mine.order[0, _search(ends, at)])

    def ratio(self, letter: int) -> Floats:
        """P(y | x) / Q(y) of a release y for every letter x; 1 for a y that is never released."""
        at = int(self.place[letter])
        share = self.rows.law[0, at]
        if share <= 0:
            return np.ones(len(self.place))
        column = self.rows.column(np.array([at]))[0]
        return np.asarray((self.rows.levels.room * (column / share) + self.rows.levels.low)[self.place])

    def posterior(self, letter: int) -> Floats:
        """Belief after the release of a letter, shape (n,), divided by its sum."""
        found = self.rows.belief[0][self.place] * self.ratio(letter)
        return np.asarray(found / found.sum())

    def matrix(self) -> Floats:
        """The channel itself, shape (n, n); impossible letters get the row Q.

        Q is summed from the rows as written, so that rounding does not enter the ratios.
        """
        mine = self.rows
        kernel, law = self._kernel()
        found = mine.levels.room * kernel + mine.levels.low * law
        return np.asarray(found[np.ix_(self.place, self.place)])

    def sent(self) -> Floats:
        """The kernel K alone, without the part that ignores the letter, shape (n, n)."""
        kernel, _ = self._kernel()
        return np.asarray(kernel[np.ix_(self.place, self.place)])

    def _kernel(self) -> tuple[Floats, Floats]:
        """K and its output law, letters by decreasing belief."""
        mine, n = self.rows, len(self.place)
        shares = overlap(mine.start[0][:, None], mine.width[0][:, None], mine.begin, mine.end)
        kernel = (1.0 - mine.keep[0] - mine.side[0]).clip(0.0)[:, None] * shares
        kernel[np.arange(n), np.arange(n)] += mine.keep[0]
        if mine.extra[0] >= 0:
            kernel[:, mine.extra[0]] += mine.side[0]
        law = mine.belief[0] @ kernel
        kernel[mine.belief[0] == 0] = law
        return kernel, np.asarray(law)


def _search(ends: Floats, at: float) -> int:
    return min(int(np.searchsorted(ends, at, side="right")), len(ends) - 1)


def release_many(
    beliefs: Floats, epsilon: float, letters: Ints, rng: np.random.Generator
) -> tuple[Ints, Floats]:
    """One step of many users at once, simulated.

    Parameters
    ----------
    beliefs : array (users, n)
        Each row sums to 1.
    epsilon : float
        Nats, >= 0, perhaps inf.
    letters : int array (users,)
        What each user has.
    rng : numpy.random.Generator

    Returns
    -------
    releases : int array (users,)
    posteriors : array (users, n)
        Belief after the release.

    Examples
    --------
    >>> beliefs = np.array([[0.5, 0.3, 0.2], [1.0, 0.0, 0.0]])
    >>> released, after = release_many(beliefs, 1.0, np.array([1, 0]), np.random.default_rng(0))
    >>> int(released[1]), after.sum(axis=1).round(12).tolist(), after[1].tolist()
    (0, [1.0, 1.0], [1.0, 0.0, 0.0])
    """
    mine = rows(beliefs, epsilon)
    users = np.arange(len(beliefs))
    x = (mine.order == letters[:, None]).argmax(axis=1)
    u, v = rng.random(len(beliefs)), rng.random(len(beliefs))
    keep, side, width = mine.keep[users, x], mine.side[users, x], mine.width[users, x]
    rest = np.maximum(1.0 - keep - side, 0.0)
    share = np.divide(v - keep - side, rest, out=np.zeros_like(v), where=rest > 0).clip(0.0, 1.0)
    walked = _place(mine.end, mine.start[users, x] + share * width)
    walked = np.where((v < keep + side) | (width == 0), np.where(side > 0, mine.extra, x), walked)
    walked = np.where(v < keep, x, walked)
    sums = np.cumsum(mine.law, axis=1)
    blind = _place(sums, v * sums[:, -1])
    y = np.where((u < mine.levels.low) | (mine.belief[users, x] == 0), blind, walked)
    shown = mine.law[users, y]
    ratio = mine.levels.room * (mine.column(y) / shown[:, None]) + mine.levels.low
    sorted_after = mine.belief * ratio
    after = np.empty_like(beliefs)
    np.put_along_axis(after, mine.order, sorted_after / sorted_after.sum(axis=1, keepdims=True), axis=1)
    return mine.order[users, y], after


def _place(ends: Floats, at: Floats) -> Ints:
    """Position of the first end beyond a number, one a user."""
    return np.asarray(np.minimum((ends <= at[:, None]).sum(axis=1), ends.shape[1] - 1))

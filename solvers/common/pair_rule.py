"""Which two blocks a pairwise merging takes next, and when it ends."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.errors import InvalidProblem

SCORES = ("leakage", "ratio", "lagrangian", "closeness")
"""dS, dS / dX, dS - multiplier dX, and -dS, where a merge lowers I(S;Y) by dS and I(X;Y) by dX >= dS."""

NATS = 2.0**44
"""Scores in nats are compared in units of 2^-44, so that rounding decides no tie; ratios in units of 2^-32."""

RATIOS = 2.0**32

FLOOR_SLACK = 9.9e-13
"""By how many nats a floor may be missed: 1e-12, less what sums of thousands of floats are off."""


@dataclass(frozen=True)
class PairRule:
    """The pair of best score merges next; equal scores (to 2^-44 nats, ratios to 2^-32) go to the lowest pair.

    Parameters
    ----------
    score : str
        One of ``SCORES``.
    multiplier : float
        For score "lagrangian".
    floor : float
        I(X;Y) must stay at least this, to 9.9e-13.
    price : float or None
        If given, only merges with dS - price dX > 2^-45 are made.
    stop_secret, stop_useful : float
        Ends as soon as I(S;Y), or I(X;Y), is at most this.
    first : bool
        End when the best pair is not admissible, rather than skip it.
    """

    score: str = "leakage"
    multiplier: float = 0.0
    floor: float = -math.inf
    price: float | None = None
    stop_secret: float = -math.inf
    stop_useful: float = -math.inf
    first: bool = False

    def __post_init__(self) -> None:
        if self.score not in SCORES:
            raise InvalidProblem(f"score must be one of {', '.join(SCORES)}, got {self.score!r}")

    @property
    def code(self) -> int:
        """The score by number."""
        return SCORES.index(self.score)

    def scores(self, d_secret: Floats, d_useful: Floats) -> Floats:
        """Scores of merges, as whole numbers in floats."""
        if self.score == "ratio":
            return np.asarray(np.rint(d_secret / np.maximum(d_useful, 1e-300) * RATIOS))
        if self.score == "closeness":
            return np.asarray(np.rint(-d_secret * NATS))
        weight = self.multiplier if self.score == "lagrangian" else 0.0
        return np.asarray(np.rint((d_secret - weight * d_useful) * NATS))

    def admissible(
        self, d_secret: Floats, d_useful: Floats, useful: float
    ) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Which merges keep the floor, from I(X;Y) = ``useful``, and are worth their price."""
        kept = d_useful <= useful - self.floor + FLOOR_SLACK
        return kept if self.price is None else kept & (d_secret - self.price * d_useful > 0.5 / NATS)

    def ended(self, secret: float, useful: float) -> bool:
        """Whether the path ends here whatever could be merged."""
        return secret <= self.stop_secret or useful <= self.stop_useful


@dataclass(frozen=True, eq=False)
class PairPath:
    """The merges made, in order: the block of first symbol ``pairs[t, 1]`` joins that of ``pairs[t, 0]``.

    Parameters
    ----------
    size : int
        Number n of symbols at the start.
    pairs : int array (m, 2)
        First symbols of the merged blocks, the lower one first.
    secret, useful : float array (m + 1,)
        I(S;Y) and I(X;Y) before the first merge and after each, in nats.
    complete : bool
        False if time ran out.
    """

    size: int
    pairs: Ints
    secret: Floats
    useful: Floats
    complete: bool

    def assignment(self, merges: int | None = None) -> Ints:
        """Block of each symbol after some merges, all by default, numbered by first symbols."""
        head = np.arange(self.size)
        made = self.pairs[slice(None, merges)]
        head[made[:, 1]] = made[:, 0]
        for i in range(self.size):
            head[i] = head[head[i]]  # heads are lower, so they are final by now
        return np.asarray(np.unique(head, return_inverse=True)[1].reshape(-1))

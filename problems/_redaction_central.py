"""An upper bound on utility from mechanisms that see the whole sequence before they hide anything.

Such a mechanism picks, for a sequence x, a set of records to release with probability ``M(set | x)``; local and
sequential redaction are special cases. With y(x, set) the output, epsilon-privacy of record p asks for every y and
every ordered pair (a, b) of its possible values

    exp(-epsilon) P(y | X_p = a) - P(y | X_p = b) <= 0.

For multipliers ``mu >= 0`` of these constraints the utility of a private mechanism is at most its Lagrangian, and each
row ``M(. | x)`` is a probability distribution, so

    utility <= sum over x of Pr(x) max over sets of
        gain(set) - sum over p, b of exp(-epsilon) mu[p, x_p, b, y] / Pr(X_p = x_p)
                  + sum over p, a of mu[p, a, x_p, y] / Pr(X_p = x_p).

This holds for any multipliers, so nothing has to be known of where they come from. A private record with two possible
values is never released: that output would be impossible under the other value.

Rounding: every sum above has terms of one sign and is off by far less than 1e-12 of itself; each is moved by that
much in the safe direction, epsilon is enlarged by as much, and ``ROUNDING`` covers the last sum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from privopt.problems._redaction_side import Floats

if TYPE_CHECKING:
    from privopt.problems.redaction import Redaction

MAX_RECORDS = 15
MAX_CELLS = MAX_MULTIPLIERS = 1 << 15

LARGEST = 1e9
"""No larger multiplier is read, so that sequences too rare for a float cannot matter."""

RAREST = 1e-100
"""Private values rarer than this make the bound trivial, for the same reason."""

ROUNDING = 1e-11
_SLACK = 1e-12


@dataclass(frozen=True, eq=False)
class Pair:
    """One ordered pair of values of a private record: the sequences that have them, and how probable they are."""

    mine: NDArray[np.intp]
    theirs: NDArray[np.intp]
    my_probability: float
    their_probability: float


@dataclass(frozen=True, eq=False)
class Whole:
    """What a mechanism that sees everything can do.

    Parameters
    ----------
    law, gain
        Probability of each possible sequence, and utility of releasing each set of records.
    outputs
        ``(sequences, sets)``: number of the output that shows, below ``count``.
    pairs
        For every private record, the ordered pairs of its possible values; each has ``count`` multipliers.
    shrink
        ``exp(-epsilon)``, rounded down.
    """

    law: Floats
    gain: Floats
    outputs: NDArray[np.intp]
    count: int
    pairs: tuple[Pair, ...]
    shrink: float

    @property
    def trivial(self) -> bool:
        """Whether nothing is to be protected, or only values too rare to compute with."""
        return min((pair.my_probability for pair in self.pairs), default=0.0) < RAREST


def secrets(problem: Redaction) -> tuple[int, ...]:
    """Private records that a finite budget protects: those with at least two possible values."""
    if math.isinf(problem.epsilon):
        return ()
    return tuple(p for p in problem.private if np.count_nonzero(problem.chain.marginal(p)) > 1)


def sizes(problem: Redaction) -> tuple[int, int] | None:
    """Numbers of (sequence, set) cells and of multipliers; None if there are too many of either."""
    n, k = problem.length, problem.chain.k
    if n > MAX_RECORDS:
        return None
    hidden = secrets(problem)
    values = [np.count_nonzero(problem.chain.marginal(p)) for p in hidden]
    free = n - len(hidden)
    cells, multipliers = k**n * 2**free, (k + 1) ** free * sum(v * (v - 1) for v in values)
    return None if cells > MAX_CELLS or multipliers > MAX_MULTIPLIERS else (cells, multipliers)


def whole(problem: Redaction) -> Whole:
    """Every sequence, every set, every output; only for problems that have :func:`sizes`."""
    n, k, hidden = problem.length, problem.chain.k, secrets(problem)
    sequences = np.indices((k,) * n).reshape(n, -1).T
    law = problem.chain.marginal(0)[sequences[:, 0]]
    for t in range(n - 1):
        law = law * problem.chain.step(t)[sequences[:, t], sequences[:, t + 1]]
    sequences, law = sequences[law > 0], law[law > 0]
    free = [t for t in range(n) if t not in hidden]
    sets = np.indices((2,) * len(free)).reshape(len(free), 2 ** len(free)).T
    weights = problem.record_weights / problem.record_weights.sum()
    # In base k + 1 an output has the digit k where a record is redacted.
    place = (k + 1) ** np.arange(len(free))
    outputs = k * place.sum() + ((sequences[:, free] - k) * place) @ sets.T
    pairs = tuple(pair for p in hidden for pair in _pairs(problem.chain.marginal(p), sequences[:, p], law))
    shrink = math.exp(-problem.epsilon - _SLACK * max(1.0, problem.epsilon)) if pairs else 0.0
    return Whole(law, sets @ weights[free], outputs, (k + 1) ** len(free), pairs, shrink)


def _pairs(marginal: Floats, values: NDArray[np.intp], law: Floats) -> list[Pair]:
    places = [np.flatnonzero(values == v) for v in np.flatnonzero(marginal)]
    given = [(where, math.fsum(law[where].tolist())) for where in places]
    return [Pair(a, b, pa, pb) for a, pa in given for b, pb in given if a is not b]


def check(problem: Redaction, multipliers: Floats) -> float:
    """The bound on utility that multipliers prove, by pair and then by output, all in one row."""
    space = whole(problem)
    if space.trivial:
        return 1.0
    spent, earned = np.zeros(space.outputs.shape), np.zeros(space.outputs.shape)
    for pair, prices in zip(space.pairs, multipliers.reshape(len(space.pairs), -1), strict=True):
        spent[pair.mine] += prices[space.outputs[pair.mine]] * (space.shrink / pair.my_probability)
        earned[pair.theirs] += prices[space.outputs[pair.theirs]] / pair.their_probability
    best = ((1 + _SLACK) * (space.gain + earned) - (1 - _SLACK) * spent).max(axis=1)
    return min(1.0, math.fsum((space.law * (best + _SLACK * np.abs(best))).tolist()) + ROUNDING)

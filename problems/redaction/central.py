"""An upper bound on utility from mechanisms that see the whole sequence before they hide anything.

Such a mechanism picks, for a sequence x, a set of records to release with probability ``M(set | x)``; local and
sequential redaction are special cases. With y(x, set) the output, epsilon-privacy of record p asks for every y and
every ordered pair (a, b) of its possible values

    exp(-epsilon) P(y | X_p = a) - P(y | X_p = b) <= 0.

For multipliers ``mu >= 0`` of these constraints the utility of a private mechanism is at most its Lagrangian, and each
row ``M(. | x)`` is a probability distribution, so

    utility <= sum over x of max over sets of
        Pr(x) gain(set) - sum over p, b of exp(-epsilon) mu[p, x_p, b, y] Pr(x | X_p = x_p)
                        + sum over p, a of mu[p, a, x_p, y] Pr(x | X_p = x_p).

This holds for any multipliers, so nothing has to be known of where they come from. A private record with two possible
values is never released: that output would be impossible under the other value. An adversary who knows other records
as well only adds constraints. The sum is taken in balls around the exact probabilities.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.core.balls import Balls
from privopt.measures.redaction.leakage import possible_values

if TYPE_CHECKING:
    from privopt.core.problem import Enclosure
    from privopt.problems.redaction.problem import Redaction

MAX_RECORDS = 15
MAX_CELLS = MAX_MULTIPLIERS = 1 << 15


@dataclass(frozen=True, eq=False)
class Pair:
    """One ordered pair of values of a private record: the sequences that have them, and how probable they are."""

    mine: NDArray[np.intp]
    theirs: NDArray[np.intp]
    my_probability: Fraction
    their_probability: Fraction


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
    epsilon
        The budget.
    """

    law: list[Fraction]
    gain: list[Fraction]
    outputs: NDArray[np.intp]
    count: int
    pairs: tuple[Pair, ...]
    epsilon: float


def secrets(problem: Redaction) -> tuple[int, ...]:
    """Private records that a finite budget protects: those with at least two possible values."""
    if math.isinf(problem.epsilon):
        return ()
    return tuple(p for p in problem.private if len(possible_values(problem.chain, p)) > 1)


def sizes(problem: Redaction) -> tuple[int, int] | None:
    """Numbers of (sequence, set) cells and of multipliers; None if there are too many of either."""
    n, k = problem.length, problem.chain.k
    if n > MAX_RECORDS:
        return None
    hidden = secrets(problem)
    values = [len(possible_values(problem.chain, p)) for p in hidden]
    free = n - len(hidden)
    cells, multipliers = k**n * 2**free, (k + 1) ** free * sum(v * (v - 1) for v in values)
    return None if cells > MAX_CELLS or multipliers > MAX_MULTIPLIERS else (cells, multipliers)


def whole(problem: Redaction) -> Whole:
    """Every sequence, every set, every output; only for problems that have :func:`sizes`."""
    n, k, hidden = problem.length, problem.chain.k, secrets(problem)
    sequences, law = _sequences(problem)
    free = [t for t in range(n) if t not in hidden]
    sets = np.indices((2,) * len(free)).reshape(len(free), 2 ** len(free)).T
    weights = [Fraction(w) for w in problem.record_weights.tolist()]
    total = sum(weights, Fraction(0))
    gain = [
        sum((weights[t] for t, shown in zip(free, row, strict=True) if shown), Fraction(0))
        for row in sets.tolist()
    ]
    # In base k + 1 an output has the digit k where a record is redacted.
    place = (k + 1) ** np.arange(len(free))
    outputs = k * place.sum() + ((sequences[:, free] - k) * place) @ sets.T
    pairs = tuple(
        pair for p in hidden for pair in _pairs(possible_values(problem.chain, p), sequences[:, p], law)
    )
    return Whole(law, [g / total for g in gain], outputs, (k + 1) ** len(free), pairs, problem.epsilon)


def _sequences(problem: Redaction) -> tuple[NDArray[np.intp], list[Fraction]]:
    """The possible sequences, and their exact probabilities."""
    chain = problem.chain
    words: list[tuple[int, ...]] = [(v,) for v, weight in enumerate(chain.exact_initial.weights) if weight]
    weights = [chain.exact_initial.weights[word[0]] for word in words]
    total = chain.exact_initial.total
    for t in range(problem.length - 1):
        rows = chain.exact_step(t)
        scale = math.lcm(*(row.total for row in rows))
        moves = [[(j, w * (scale // row.total)) for j, w in enumerate(row.weights) if w] for row in rows]
        weights = [w * move for word, w in zip(words, weights, strict=True) for _, move in moves[word[-1]]]
        words = [(*word, j) for word in words for j, _ in moves[word[-1]]]
        total *= scale
    found = np.array(words, dtype=np.intp).reshape(len(words), problem.length)
    return found, [Fraction(w, total) for w in weights]


def _pairs(values: NDArray[np.intp], column: NDArray[np.intp], law: list[Fraction]) -> list[Pair]:
    places = [np.flatnonzero(column == v) for v in values]
    given = [(where, sum((law[i] for i in where.tolist()), Fraction(0))) for where in places]
    return [Pair(a, b, pa, pb) for a, pa in given for b, pb in given if a is not b]


def check(problem: Redaction, multipliers: list[float]) -> Enclosure:
    """The bound on utility that multipliers prove, by pair and then by output, all in one row."""
    space = whole(problem)
    if not space.pairs:
        return 1.0, 1.0
    value = Balls.fractions(space.law).reshape(-1, 1) * Balls.fractions(space.gain).reshape(1, -1)
    shrink = Balls.exact(-space.epsilon).exp()
    prices = np.array(multipliers, dtype=np.float64).reshape(len(space.pairs), space.count)
    for pair, price in zip(space.pairs, prices, strict=True):
        for where, probability, sign in (
            (pair.mine, pair.my_probability, -1),
            (pair.theirs, pair.their_probability, 1),
        ):
            given = Balls.fractions(space.law[i] / probability for i in where.tolist()).reshape(-1, 1)
            part = Balls.exact(price[space.outputs[where]]) * given
            moved = value[where] + (part if sign > 0 else -(part * shrink))
            value.mid[where], value.rad[where] = moved.mid, moved.rad
    low, high = value.max(axis=1).sum().ends
    return min(1.0, low), min(1.0, high)


def floats(values: list[Fraction]) -> Floats:
    """The nearest floats, for searches."""
    return np.array([float(value) for value in values])

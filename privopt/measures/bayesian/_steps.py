"""The two sides of a target in a Markov chain, and how their tables combine."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from itertools import repeat
from typing import SupportsIndex

import numpy as np

from privopt.arrays import Floats
from privopt.errors import InvalidProblem
from privopt.measures.bayesian._kernels import Weights
from privopt.measures.bayesian._side import Front, Rule, walk
from privopt.models import MarkovChain

MOST_STEPS = 20_000
"""Records of a side after which a chain is given up if it has not settled."""


def checked_length(chain: MarkovChain, length: SupportsIndex | None) -> int | None:
    """A length that the chain has; None means every length, where the chain has no last record.

    Raises
    ------
    InvalidProblem
        If the length is below 1 or beyond the chain.
    """
    if length is None:
        return chain.max_length
    count = operator.index(length)
    if count < 1 or (chain.max_length is not None and count > chain.max_length):
        raise InvalidProblem(f"length must be in 1 .. {chain.max_length or 'any'}, got {count}")
    return count


def checked_level(tau: float, name: str = "tau") -> float:
    """A privacy level, finite and not negative.

    Raises
    ------
    InvalidProblem
        If it is not.
    """
    if not 0 <= tau < math.inf:
        raise InvalidProblem(f"{name} must be finite and >= 0 nats, got {tau}")
    return float(tau)


def both_sides(chain: MarkovChain, length: int | None, rule: Rule) -> tuple[Front, Front]:
    """The left and the right side, followed until they end or settle."""
    ones = Weights.of(np.ones((1, chain.k)))
    right = walk(right_steps(chain, length), ones, rule, chain.homogeneous)
    first = np.asarray(chain.initial)
    if not (chain.homogeneous and chain.stationary and first.all()) or length == 1:
        return walk(left_steps(chain, length), Weights.of(first[None]), rule, chain.homogeneous), right
    back = chain.reversed(1)
    if np.array_equal(back, chain.transition):
        return right, right
    return walk(repeat(Weights.of(back), _count(length)), ones, rule, True), right


def right_steps(chain: MarkovChain, length: int | None) -> Iterator[Weights]:
    """Steps from each record to the one after it, from the last one back."""
    if chain.homogeneous:
        return repeat(Weights.of(chain.step(0)), _count(length))
    last = (chain.max_length if length is None else length) or 1
    return (Weights.of(chain.step(t)) for t in range(last - 2, -1, -1))


def left_steps(chain: MarkovChain, length: int | None) -> Iterator[Weights]:
    """Entry (x, u): the step from u to x, from the first record on."""
    if chain.homogeneous:
        return repeat(Weights.of(chain.step(0).T), _count(length))
    last = (chain.max_length if length is None else length) or 1
    return (Weights.of(chain.step(t).T) for t in range(last - 1))


def _count(length: int | None) -> int:
    return MOST_STEPS if length is None else min(length - 1, MOST_STEPS)


def largest_product(left: Front, right: Front, length: int | None, own: Floats | None = None) -> float:
    """Largest product of the two sides, and of what the target's own value adds, over targets and pairs.

    It is 0 where no target has two possible values, and inf where a side grows without end or was given up.
    """
    factor = np.ones_like(left.best) if own is None else own
    if length is None:
        if not (left.settled and right.settled):
            return math.inf
        return _largest(np.maximum.reduce(left.tables), np.maximum.reduce(right.tables), factor)
    last, near, far = length - 1, len(left.tables), len(right.tables)
    if (not left.settled and near < length) or (not right.settled and far < length):
        return math.inf
    targets = {*range(min(near + 1, length)), *range(max(last - far, 0), length)}
    return max(_largest(left.after(t), right.after(last - t), factor) for t in targets)


def _largest(left: Floats, right: Floats, own: Floats) -> float:
    possible = (left > 0) & (right > 0) & ~np.eye(len(left), dtype=np.bool_)
    with np.errstate(over="ignore"):  # an infinite product is given up
        return float((left[possible] * right[possible] * own[possible]).max(initial=0.0))

"""The two sides of a target in a Markov chain: what each adds to the leakage, and how their tables combine.

Given the target, the sides of a Markov chain are independent, and what lies beyond the nearest known record of a side
is irrelevant. An adversary of a side therefore either knows nothing of it or the value of one nearest known record.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import repeat
from numbers import Real
from typing import Protocol, Self, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privopt.arrays import Floats
from privopt.errors import InvalidProblem
from privopt.models import MarkovChain

MOST_STEPS = 20_000
"""Records of a side after which a chain is given up if it has not settled."""

SETTLED = 1e-14
"""Relative change of everything in one step or in two below which later steps are taken to change nothing."""
SWAYS = 1e-10
"""Relative change in one step that may remain where two steps change nothing: a chain that nearly alternates."""

_NOTHING = -(2**40)  # binary exponent of a zero
_FARTHEST = -2000  # a term this many binary orders below the largest is nothing


def checked_count(length: SupportsIndex | None) -> int | None:
    """A number of records, at least 1, or None.

    Raises
    ------
    InvalidProblem
        If it is neither.
    """
    if length is None:
        return None
    try:
        count = None if isinstance(length, bool) else operator.index(length)
    except TypeError:
        count = None
    if count is None or count < 1:
        raise InvalidProblem(f"length is {length!r}: give a whole number of records, at least 1")
    return count


def checked_length(chain: MarkovChain, length: SupportsIndex | None) -> int | None:
    """A length that the chain has; None means every length, where the chain has no last record.

    Raises
    ------
    InvalidProblem
        If the length is below 1 or beyond the chain.
    """
    count = checked_count(length)
    if chain.period is not None:
        raise InvalidProblem(
            f"the steps of the chain repeat after {chain.period} records without end: give chain.unrolled(length)"
        )
    if count is None:
        return chain.max_length
    if chain.max_length is not None and count > chain.max_length:
        raise InvalidProblem(f"length is {count}: the chain describes at most {chain.max_length} records")
    return count


def checked_level(tau: float) -> float:
    """A level of differential privacy, finite and not negative.

    Raises
    ------
    InvalidProblem
        If it is not.
    """
    if isinstance(tau, bool) or not isinstance(tau, Real) or not 0 <= tau < math.inf:
        raise InvalidProblem(f"tau is {tau!r}: give a finite number of nats, at least 0")
    return float(tau)


@dataclass(frozen=True, slots=True)
class Weights:
    """Non-negative numbers mantissa * 2**exponent, one row an adversary, which neither over- nor underflow.

    Entry (m, x) is what adversary m's knowledge beyond the present record weighs when that record is x: the
    probability that a known record takes its value, or the distribution of the first record. It is only used up to a factor.
    Sums run from the first state to the last, so that every processor gives the same bits.

    Examples
    --------
    >>> kernel, further = Weights.of([[1.0, 1.0]]).step(Weights.of([[0.75, 0.25], [0.5, 0.5]]))
    >>> kernel
    array([[[0.75, 0.25],
            [0.5 , 0.5 ]]])
    >>> further.supported
    array([[ True,  True]])
    """

    mantissa: Floats
    exponent: NDArray[np.int64]

    @classmethod
    def of(cls, values: ArrayLike) -> Self:
        """The same numbers, split, shape (m, s)."""
        mantissa, exponent = np.frexp(np.asarray(values, dtype=np.float64))
        return cls(mantissa, np.where(mantissa > 0, exponent.astype(np.int64), _NOTHING))

    @classmethod
    def nearest(cls, rows: Sequence[Sequence[Fraction]]) -> Self:
        """Rationals, each rounded once, however small.

        Examples
        --------
        >>> Weights.nearest([[Fraction(3, 2**2000)]])
        Weights(mantissa=array([[0.75]]), exponent=array([[-1998]]))
        """
        parts = [[_split(value) for value in row] for row in rows]
        mantissa = np.array([[m for m, _ in row] for row in parts], dtype=np.float64)
        return cls(mantissa, np.array([[e for _, e in row] for row in parts], dtype=np.int64))

    @property
    def T(self) -> Weights:
        """Rows and columns exchanged."""
        return Weights(self.mantissa.T, self.exponent.T)

    @property
    def supported(self) -> NDArray[np.bool_]:
        """Which entries are positive, shape (m, s)."""
        return self.mantissa > 0

    def step(self, weights: Weights) -> tuple[Floats, Weights]:
        """One record further from what is known.

        Parameters
        ----------
        weights : Weights of shape (s, s)
            Entry (x, u): how likely the next record is u when the new present one is x, up to a factor.

        Returns
        -------
        kernel : array (m, s, s)
            Distribution of the next record u given the present one x; a row of zeros where x is impossible. A term of less
            than 2^-1074 of the largest one of its row is lost.
        further : Weights
            For the new present record.
        """
        possible = weights.supported & self.supported[:, None, :]
        exponent = np.where(possible, weights.exponent + self.exponent[:, None, :], _NOTHING)
        largest = exponent.max(axis=2)
        shift = np.maximum(exponent - largest[:, :, None], _FARTHEST)
        terms = np.ldexp(np.where(possible, weights.mantissa * self.mantissa[:, None, :], 0.0), shift)
        total = added(terms)
        kernel = terms / np.where(total > 0, total, 1.0)[:, :, None]
        mantissa, more = np.frexp(total)
        return kernel, Weights(mantissa, np.where(total > 0, largest + more, _NOTHING))

    def joined(self, other: Weights) -> Weights:
        """The adversaries of both."""
        return Weights(
            np.concatenate([self.mantissa, other.mantissa]), np.concatenate([self.exponent, other.exponent])
        )

    def spread(self) -> float:
        """Largest ratio of two entries of one row; inf where one is zero or they are 1000 binary orders apart."""
        low, high = self.exponent.min(axis=1), self.exponent.max(axis=1)
        if not self.supported.all() or (high - low).max() > 1000:
            return np.inf
        rows = np.ldexp(self.mantissa, self.exponent - high[:, None])
        return float((rows.max(axis=1) / rows.min(axis=1)).max())


def added(terms: Floats) -> Floats:
    """Sums along the last axis, from the first term to the last."""
    total: Floats = terms[..., 0].copy()
    for i in range(1, terms.shape[-1]):
        total += terms[..., i]
    return total


def _split(value: Fraction) -> tuple[float, int]:
    """A rational as mantissa and binary exponent, the mantissa rounded once."""
    if not value:
        return 0.0, _NOTHING
    size = value.numerator.bit_length() - value.denominator.bit_length()
    scaled = Fraction(value.numerator << max(0, -size), value.denominator << max(0, size))
    mantissa, exponent = np.frexp(float(scaled))
    return float(mantissa), int(exponent) + size


Clock: TypeAlias = Callable[[], float]
"""Seconds that are left."""

POLLED = 16
"""Records between two looks at the clock."""


class Rule(Protocol):
    """How the value of an adversary changes when the target moves one record away from what is known."""

    def start(self, count: int, states: int) -> Floats:
        """Values of adversaries with no unknown record between the target and what they know."""
        ...

    def advance(self, kernel: Floats, values: Floats, supported: NDArray[np.bool_], depth: int) -> Floats:
        """Values with one more unknown record; ``supported`` is of the record before."""
        ...

    def ratios(self, values: Floats) -> Floats:
        """Ratio for two values of the target, shape (m, s, s)."""
        ...


@dataclass
class Front:
    """The adversaries of one side: the first knows nothing; ``lasting`` ones stand for those yet to come too."""

    weights: Weights
    values: Floats
    lasting: NDArray[np.bool_]
    tables: list[Floats]
    best: Floats
    settled: bool = False

    def after(self, depth: int) -> Floats:
        """Largest ratios with `depth` records on this side, 0 for a pair that is impossible."""
        return self.tables[min(depth, len(self.tables) - 1)]


@dataclass(frozen=True)
class Side:
    """The records on one side of a target.

    Parameters
    ----------
    steps : sequence of weights (s, s)
        For each record in turn, how likely the one before is u when the new one is x, up to a factor.
    first : weights (1, s)
        Weights of the first record of the side without knowledge: its distribution on the left, ones on the right.
    same : bool
        Whether one step serves all records.
    """

    steps: Sequence[Weights]
    first: Weights
    same: bool

    @classmethod
    def right(cls, chain: MarkovChain, length: int | None, step: Callable[[int], Weights]) -> Self:
        """The records after the target, from the last one back; ``step`` reads a matrix of the chain."""
        ones = Weights.of(np.ones((1, chain.k)))
        if chain.homogeneous:
            return cls((step(0),), ones, True)
        return cls([step(t) for t in range((length or 1) - 2, -1, -1)], ones, False)

    @classmethod
    def left(
        cls, chain: MarkovChain, length: int | None, step: Callable[[int], Weights], first: Weights
    ) -> Self:
        """The records before the target, from the first one on, by the steps themselves."""
        if chain.homogeneous:
            return cls((step(0).T,), first, True)
        return cls([step(t).T for t in range((length or 1) - 1)], first, False)

    def walk(
        self, length: int | None, rule: Rule, tolerance: float = SETTLED, clock: Clock | None = None
    ) -> Front:
        """Follow the adversaries until the records end or nothing changes by more than the tolerance, relatively.

        Raises
        ------
        TimeoutError
            When ``clock`` says that no seconds are left.
        """
        count = MOST_STEPS if length is None else length - 1
        s = self.first.mantissa.shape[1]
        values = rule.start(1, s)
        front = Front(self.first, values, np.zeros(1, dtype=np.bool_), [], np.zeros((s, s)))
        front.tables.append(_table(front, rule))
        newcomers, past = True, [(np.zeros((0, s, s)), values)] * 2
        steps = repeat(self.steps[0], min(count, MOST_STEPS)) if self.same else self.steps[:count]
        for depth, step in enumerate(steps):
            if clock is not None and depth % POLLED == 0 and clock() <= 0:
                raise TimeoutError
            supported = front.weights.supported
            kernel, further = front.weights.step(step)
            values = rule.advance(kernel, front.values, supported, depth)
            front.settled = self.same and not newcomers and _settled((kernel, values), past, tolerance)
            front.weights, front.values, past = further, values, [past[1], (kernel, values)]
            if newcomers:
                lasting = self.same and bool((further.supported[0] == supported[0]).all())
                _admit(front, step, supported[0], rule, lasting)
                newcomers = not lasting
            front.tables.append(_table(front, rule))
            if front.settled or not np.isfinite(front.tables[-1]).all():
                break
        return front


def _admit(front: Front, step: Weights, possible: NDArray[np.bool_], rule: Rule, lasting: bool) -> None:
    """Add the adversaries who know the neighbour of the new record."""
    fresh = Weights(step.mantissa[:, possible], step.exponent[:, possible]).T
    front.weights = front.weights.joined(fresh)
    count = len(fresh.mantissa)
    front.values = np.concatenate([front.values, rule.start(count, len(step.mantissa))])
    front.lasting = np.concatenate([front.lasting, np.full(count, lasting)])


def _table(front: Front, rule: Rule) -> Floats:
    supported = front.weights.supported
    pairs = supported[:, :, None] & supported[:, None, :]
    ratios = np.where(pairs, rule.ratios(front.values), 0.0)
    ratios[np.isnan(ratios)] = np.inf
    if front.lasting.any():
        front.best = np.maximum(front.best, ratios[front.lasting].max(axis=0))
    # The nearer known records count wherever the target can be at all.
    allowed = supported[0][:, None] & supported[0][None, :]
    return np.where(allowed, np.maximum(ratios.max(axis=0), front.best), 0.0)


def _settled(now: tuple[Floats, Floats], past: list[tuple[Floats, Floats]], tolerance: float) -> bool:
    """Whether kernel and values are those of the step before, or nearly so and those of two steps before."""
    before, last = past
    return _close(now, last, tolerance) or (_close(now, last, SWAYS) and _close(now, before, tolerance))


def _close(new: tuple[Floats, Floats], old: tuple[Floats, Floats], tolerance: float) -> bool:
    return all(
        one.shape == other.shape and bool((np.abs(one - other) <= tolerance * np.abs(other)).all())
        for one, other in zip(new, old, strict=True)
    )


def both_sides(
    chain: MarkovChain, length: int | None, rule: Rule, clock: Clock | None = None
) -> tuple[Front, Front]:
    """The left and the right side, followed until they end or settle."""

    def step(t: int) -> Weights:
        return Weights.of(chain.step(t))

    right = Side.right(chain, length, step).walk(length, rule, clock=clock)
    first = np.asarray(chain.initial)
    if not (chain.homogeneous and chain.stationary and first.all()) or length == 1:
        return Side.left(chain, length, step, Weights.of(first[None])).walk(length, rule, clock=clock), right
    back = chain.reversed(1)
    if np.array_equal(back, chain.transition):
        return right, right
    return Side((Weights.of(back),), Weights.of(np.ones((1, chain.k))), True).walk(
        length, rule, clock=clock
    ), right


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

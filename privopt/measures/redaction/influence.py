"""The influence of one record of a Markov chain on another, and the regions that influences make.

In a stationary binary chain with one matrix for every step it has a closed form, which bounds data-independent redaction.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.errors import InvalidProblem
from privopt.measures.redaction.directional import first_release_ratios
from privopt.measures.redaction.leakage import (
    equal_steps,
    left_steps,
    possible_values,
    right_steps,
    steps_away,
    supports,
)
from privopt.models import MarkovChain

Records: TypeAlias = tuple[int, ...]

FARTHEST = 2**62
"""Distance reported when no record is far enough."""


def influence(chain: MarkovChain, private: int, record: int) -> NDArray[np.float64]:
    """Influence of each value of a record on a private record.

    The influence of value v is the largest |log Pr(X_record = v | x) / Pr(X_record = v | x')| over the
    values x, x' that the private record can have (Massny, Bitar, Ye, El Rouayheb, "Between Close Enough
    to Reveal and Far Enough to Protect", Section II). Far records keep their digits.

    Parameters
    ----------
    chain : MarkovChain
    private, record : int
        0-based positions, in either order.

    Returns
    -------
    array (k,)
        In nats; inf where v rules a value out, 0 where v cannot occur. The private record itself has
        inf for each of its values, 0 if it has only one.

    Raises
    ------
    InvalidProblem
        If a position is negative or beyond the chain.

    Examples
    --------
    >>> chain = MarkovChain([[0.75, 0.25], [0.5, 0.5]])
    >>> influence(chain, 0, 1).round(6)
    array([0.405465, 0.693147])
    """
    _check_position(chain, private, "private")
    _check_position(chain, record, "record")
    possible = possible_values(chain, private)
    if record == private:
        own = np.zeros(chain.k)
        own[possible] = np.inf if len(possible) > 1 else 0.0
        return own
    steps = left_steps(chain, private) if record < private else right_steps(chain, private, record + 1)
    walk = influences(steps, possible, equal_steps(chain, record - private))
    return next(itertools.islice(walk, abs(record - private) - 1, None))


def influences(
    steps: Iterable[Floats], possible: NDArray[np.intp], repeated: bool = False
) -> Iterator[Floats]:
    """Influence of each value, shape (k,), by distance along steps away from a private record with possible values."""
    for ratios in first_release_ratios(steps, repeated):
        yield np.maximum(ratios[:, possible[:, None], possible].max(axis=(1, 2)), 0.0)


def regions(
    chain: MarkovChain, length: int, private: int, left: float, right: float
) -> tuple[Records, Records, Records]:
    """Records none, some but not all, or all of whose values have at most an influence of their side's budget.

    The large, medium and small regions of the same paper, Section II. The private record is in none of
    them: its influence on itself, 0 in the paper, would put it among those to release.

    Parameters
    ----------
    chain : MarkovChain
    length : int
        Number of records, >= 1.
    private : int
        0-based position.
    left, right : float
        Budgets for the records before and after the private one, in nats, >= 0.

    Returns
    -------
    tuple of three tuples of int
        Large, medium and small: increasing positions. A value that cannot occur does not count.

    Raises
    ------
    InvalidProblem
        If the private record is outside, the chain is shorter, or a budget is negative.

    Examples
    --------
    >>> chain = MarkovChain([[0.99, 0.01], [0.8, 0.2]])
    >>> regions(chain, 10, 0, left=0.0, right=0.25)
    ((), (1, 2, 3), (4, 5, 6, 7, 8, 9))
    """
    _check_position(chain, length - 1, "length - 1")
    if not 0 <= private < length:
        raise InvalidProblem(f"private record {private} is outside 0 .. {length - 1} (positions are 0-based)")
    if not (left >= 0 and right >= 0):
        raise InvalidProblem(f"budgets must be >= 0 nats, got left={left} and right={right}")
    back, ahead = steps_away(chain, private, length)
    sides = (
        (back, left, range(private - 1, -1, -1)),
        (ahead, right, range(private + 1, length)),
    )
    members: tuple[list[int], list[int], list[int]] = ([], [], [])
    for steps, budget, records in sides:
        for record, region in zip(records, _regions_of(chain, private, steps, budget, records), strict=True):
            members[region].append(record)
    large, medium, small = (tuple(sorted(region)) for region in members)
    return large, medium, small


def _regions_of(
    chain: MarkovChain, private: int, steps: Iterable[Floats], budget: float, records: range
) -> Iterator[int]:
    """Region (0, 1, 2: large, medium, small) of each record of one side, nearest first."""
    toward = -1 if records.step < 0 else 1
    walk, region = influences(steps, possible_values(chain, private), equal_steps(chain, toward)), 0
    can = supports(chain, max(records, default=-1) + 1)
    for record in records:
        if region < 2:  # the max-influence falls with distance, so after a small record all are small
            within = (next(walk) <= budget)[can[record]]
            region = int(within.any()) + int(within.all())
        yield region


def _check_position(chain: MarkovChain, record: int, name: str) -> None:
    if record < 0 or (chain.max_length is not None and record >= chain.max_length):
        last = "" if chain.max_length is None else f" .. {chain.max_length - 1}"
        raise InvalidProblem(f"{name} must be a record of the chain, 0{last}, got {record}")


@dataclass(frozen=True)
class BinaryChain:
    """A stationary binary chain with one matrix for every step: Pr(0 -> 1) and Pr(1 -> 0)."""

    alpha: float
    beta: float

    @classmethod
    def of(cls, chain: MarkovChain) -> Self | None:
        """The two probabilities, or None if the chain is of another kind."""
        if chain.k != 2 or not chain.homogeneous or not chain.stationary:
            return None
        return cls(float(chain.transition[0, 1]), float(chain.transition[1, 0]))

    @property
    def second(self) -> float:
        """Second eigenvalue of the matrix."""
        return 1.0 - self.alpha - self.beta

    def influence(self, distance: int) -> float:
        """Max-influence of a record on another one at this distance >= 1; falls with the distance."""
        power = self.second**distance
        if abs(power) >= 1:
            return math.inf
        # The rarer value has more influence: odds of the common one to it, times the power of the eigenvalue.
        odds = max(self.alpha / self.beta, self.beta / self.alpha)
        logs = [
            math.inf if ratio * power <= -1 else abs(math.log1p(ratio * power) - math.log1p(-power))
            for ratio in (odds, 1 / odds)
        ]
        return max(logs)

    def first_within(self, budget: float) -> int:
        """Smallest distance >= 1 whose max-influence is at most the budget, :data:`FARTHEST` if none is."""
        if self.second != 0 and budget == 0:
            return FARTHEST
        high = 1
        while self.influence(high) > budget:
            high *= 2
            if high >= FARTHEST:
                return FARTHEST
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            if self.influence(middle) > budget:
                low = middle
            else:
                high = middle
        return high


def data_independent_bound(
    chain: MarkovChain, length: int, private: int, epsilon: float, corrected: bool = True
) -> float:
    """Upper bound on the share of records that a data-independent local redaction can release.

    Massny, Bitar, Ye, El Rouayheb, "Between Close Enough to Reveal and Far Enough to Protect", Theorem
    2, for all records of equal weight. As printed it is *not* always an upper bound: it counts one record too many
    when both sides release. Corrected, it holds for chains whose second eigenvalue is >= 0, and is one
    record too large at most. For a negative one the max-influence need not be convex in the distance
    and neither form is a bound; the ``windows`` solver finds the best window of any chain.

    Parameters
    ----------
    chain : MarkovChain
        Two states, stationary, the same matrix at every step.
    length : int
        Number of records, >= 1.
    private : int
        0-based position; positions past the middle are mirrored.
    epsilon : float
        Budget in nats, >= 0.
    corrected : bool
        False gives the printed form.

    Returns
    -------
    float
        A share of records in [0, 1).

    Raises
    ------
    InvalidProblem
        If the chain is of another kind, the private record is outside, epsilon is negative, or the
        corrected form is asked for a negative second eigenvalue.

    Examples
    --------
    >>> chain = MarkovChain([[0.75, 0.25], [0.5, 0.5]])
    >>> [data_independent_bound(chain, 8, 3, 0.3, corrected=c) for c in (False, True)]
    [0.375, 0.5]
    """
    binary = BinaryChain.of(chain)
    if binary is None:
        raise InvalidProblem("the bound is for stationary chains of 2 states with one matrix for every step")
    if not 0 <= private < length:
        raise InvalidProblem(f"private record {private} is outside 0 .. {length - 1} (positions are 0-based)")
    if not epsilon >= 0:
        raise InvalidProblem(f"epsilon must be >= 0 nats, got {epsilon}")
    if corrected and binary.second < 0:
        raise InvalidProblem(
            "the corrected form is no bound for a negative second eigenvalue: use the windows solver"
        )
    near = min(private, length - 1 - private)
    far = length - 1 - near
    ends = [binary.influence(distance) if distance else 0.0 for distance in (near, far)]
    if length == 1 or epsilon < ends[1] or (epsilon == 0 and binary.second != 0):
        return 0.0
    one_side = binary.first_within(epsilon) + near
    both = 2 * binary.first_within(epsilon / 2)
    two_sides = min(one_side, max(1, both - 2) if corrected else both - 1)
    return 1.0 - (two_sides if epsilon >= sum(ends) else one_side) / length

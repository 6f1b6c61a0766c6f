"""What one record of a Markov chain tells of another: influences, and the regions they make."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.errors import InvalidProblem
from privopt.measures.redaction.directional import first_release_ratios
from privopt.measures.redaction.leakage import left_steps, possible_values, right_steps, supports
from privopt.models import MarkovChain

Records = tuple[int, ...]


def influence(chain: MarkovChain, private: int, record: int) -> NDArray[np.float64]:
    """How much each value of a record tells of a private record.

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
        told = np.zeros(chain.k)
        told[possible] = np.inf if len(possible) > 1 else 0.0
        return told
    steps = left_steps(chain, private) if record < private else right_steps(chain, private, record + 1)
    walk = first_release_ratios(steps)
    return _told(next(itertools.islice(walk, abs(record - private) - 1, None)), possible)


def regions(
    chain: MarkovChain, length: int, private: int, left: float, right: float
) -> tuple[Records, Records, Records]:
    """Records none, some but not all, or all of whose values tell at most their side's budget.

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
    sides = (
        (left_steps(chain, private), left, range(private - 1, -1, -1)),
        (right_steps(chain, private, length), right, range(private + 1, length)),
    )
    found: tuple[list[int], list[int], list[int]] = ([], [], [])
    for steps, budget, records in sides:
        for record, region in zip(records, _regions_of(chain, private, steps, budget, records), strict=True):
            found[region].append(record)
    large, medium, small = (tuple(sorted(region)) for region in found)
    return large, medium, small


def _regions_of(
    chain: MarkovChain, private: int, steps: Iterable[Floats], budget: float, records: range
) -> Iterator[int]:
    """Region (0, 1, 2: large, medium, small) of each record of one side, nearest first."""
    possible = possible_values(chain, private)
    walk, region = first_release_ratios(steps), 0
    can = supports(chain, max(records, default=-1) + 1)
    for record in records:
        if region < 2:  # the max-influence falls with distance, so after a small record all are small
            within = (_told(next(walk), possible) <= budget)[can[record]]
            region = int(within.any()) + int(within.all())
        yield region


def _told(ratios: Floats, possible: NDArray[np.intp]) -> Floats:
    """Influence of each value, from log-ratios [v, x, x']."""
    told: Floats = np.maximum(ratios[:, possible][:, :, possible].max(axis=(1, 2)), 0.0)
    return told


def _check_position(chain: MarkovChain, record: int, name: str) -> None:
    if record < 0 or (chain.max_length is not None and record >= chain.max_length):
        last = "" if chain.max_length is None else f" .. {chain.max_length - 1}"
        raise InvalidProblem(f"{name} must be a record of the chain, 0{last}, got {record}")

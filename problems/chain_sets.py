"""The chains around a stationary one, for radii of robustness."""

from __future__ import annotations

from fractions import Fraction

from privopt.errors import InvalidProblem
from privopt.models import ChainAmbiguity, MarkovChain, RowSet
from privopt.problems.robust import farthest_radius


def chains_within(chain: MarkovChain, radius: Fraction, kind: str) -> ChainAmbiguity:
    """The chains whose rows forward and backward lie each within a radius of those of a stationary chain.

    Raises
    ------
    InvalidProblem
        If the chain is not stationary, or has several matrices.
    """
    forward, backward = _stationary_rows(chain)
    make = RowSet.total_variation if kind == "total_variation" else RowSet.chi2
    start = [chain.exact_initial.fraction(i) for i in range(chain.k)]
    after, before = ([make(row, radius) for row in rows] for rows in (forward, backward))
    return ChainAmbiguity(after, before, start, nominal=chain)


def largest_radius(chain: MarkovChain, kind: str) -> Fraction:
    """A radius from which on each row may be any distribution of the values that it has."""
    return max(farthest_radius(row, kind) for rows in _stationary_rows(chain) for row in rows)


def _stationary_rows(chain: MarkovChain) -> tuple[list[list[Fraction]], list[list[Fraction]]]:
    """The rows of a stationary chain, forward and backward."""
    if not (chain.homogeneous and chain.stationary):
        raise InvalidProblem(
            "rows around those of a chain need a stationary chain of one matrix: give a ChainAmbiguity to robust_level"
        )
    rows, start, places = chain.exact_step(0), chain.exact_initial, range(chain.k)
    forward = [[row.fraction(j) for j in places] for row in rows]
    backward = [
        [start.fraction(j) * forward[j][i] / start.fraction(i) for j in places]
        if start.weights[i]
        else forward[i]
        for i in places
    ]
    return forward, backward

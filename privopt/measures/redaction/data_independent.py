"""How much of a stationary binary chain a data-independent redaction can release at most."""

from __future__ import annotations

from privopt.errors import InvalidProblem
from privopt.measures.redaction.binary import BinaryChain
from privopt.models import MarkovChain


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
    binary = _checked(chain, length, private, epsilon)
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


def _checked(chain: MarkovChain, length: int, private: int, epsilon: float) -> BinaryChain:
    binary = BinaryChain.of(chain)
    if binary is None:
        raise InvalidProblem("the bound is for stationary chains of 2 states with one matrix for every step")
    if not 0 <= private < length:
        raise InvalidProblem(f"private record {private} is outside 0 .. {length - 1} (positions are 0-based)")
    if not epsilon >= 0:
        raise InvalidProblem(f"epsilon must be >= 0 nats, got {epsilon}")
    return binary

"""A bound for the privacy funnel over a set of joints: the optimum at one of them that spreads the useful symbol as the nominal one does.

What a release says of X depends on P(x) alone. At a joint of the set with the same P(x) the utility is the same, and the cap holds
there, too. So the optimum at that joint is a bound, whichever it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from privopt.models import JointDistribution
from privopt.models.ambiguity.joint import JointAmbiguity
from privopt.problems.local_information_privacy.members import tables


def as_spread(ambiguity: JointAmbiguity, cells: Sequence[Sequence[Fraction]]) -> JointDistribution | None:
    """The joint of these cells, if it gives every useful symbol the probability that it has at the nominal one, exactly.

    Examples
    --------
    >>> near = JointAmbiguity.total_variation(JointDistribution([[0.25, 0.25], [0.25, 0.25]]), Fraction(1, 4))
    >>> half, eighth = Fraction(3, 8), Fraction(1, 8)
    >>> as_spread(near, [[half, eighth], [eighth, half]]).table.tolist()
    [[0.375, 0.125], [0.125, 0.375]]
    >>> as_spread(near, [[half, half], [eighth, eighth]]).table.tolist()
    [[0.375, 0.375], [0.125, 0.125]]
    >>> as_spread(near, [[half, eighth], [half, eighth]])
    """
    exact, n = ambiguity.nominal.exact, len(ambiguity.useful)
    total = sum(sum(row, Fraction(0)) for row in cells)
    for x, column in enumerate(zip(*cells, strict=True)):
        if sum(column) * exact.total != sum(exact.weights[x::n]) * total:
            return None
    return JointDistribution.normalised([list(row) for row in cells], ambiguity.sensitive, ambiguity.useful)


def member_of(ambiguity: JointAmbiguity, dual: dict[str, object]) -> JointDistribution | None:
    """The joint that a dual names first, if it lies in the set and spreads the useful symbol as the nominal one does.

    Raises
    ------
    ValueError, TypeError, LookupError
        If the dual is malformed.
    """
    members = tables(ambiguity, dual)
    if not members or members[0] is None:
        return None
    cells, below = members[0]
    return as_spread(ambiguity, [[Fraction(v, below) for v in row] for row in cells])

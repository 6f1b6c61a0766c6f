"""The least budget at which a redaction can release anything at all.

To hide all records but one, and all its values but one, is to erase releases afterwards, so no leakage rises. So a
mechanism that ever releases value v of record t leaks at least what that release alone reveals, the influence of v on each
private record. And releasing v alone, seldom enough, leaks no more: with chance s its other output, that nothing is released,
has the ratio (1 - s P(v | x)) / (1 - s P(v | x')), which goes to 1. So the least budget is the smallest over records and
values of the largest influence over private records. Form and weights change nothing: beyond a first release a sequential
mechanism reveals nothing more.
"""

from __future__ import annotations

import math

from privopt.arrays import Floats
from privopt.mechanisms import RedactionMechanism
from privopt.problems.redaction.data import RedactionData
from privopt.problems.redaction.shown import largest_influences

MOST_CELLS = 2**24
"""Records times private records times states beyond which it is left out."""

FLOORS = (1.0, 1e-2, 1e-4)
"""Parts of the budget below which influences are left out at first."""


def least_epsilon(data: RedactionData) -> float | None:
    """The least epsilon at which a record can ever be released, to about 1e-12; inf if none can, None if not known.

    It is not computed against an adversary who knows other records, over a set of chains, nor for very long streams.

    Examples
    --------
    >>> import math
    >>> from privopt.models import MarkovChain
    >>> from privopt.problems.redaction.problem import Redaction
    >>> problem = Redaction(MarkovChain([[0.75, 0.25], [0.5, 0.5]]), length=3, private=0, epsilon=0.01)
    >>> round(least_epsilon(problem), 6) == round(math.log(11 / 10), 6)
    True
    """
    apart = data.side_information is not None or data.ambiguity is not None
    if apart or data.length * len(data.private) * data.chain.k > MOST_CELLS:
        return None
    if math.isfinite(data.epsilon):
        for times in FLOORS:  # of many private records those far from each other need not be looked at
            floor = times * data.epsilon
            least = float(largest_influences(data, floor).min())
            if least > floor:
                return least
    return float(largest_influences(data).min())


def releases_nothing(data: RedactionData, mechanism: RedactionMechanism) -> bool:
    """Whether every value that a record can have is hidden always, so that no release depends on the data."""
    table: Floats = mechanism.probabilities
    return bool((table[data.supports] == 1).all())

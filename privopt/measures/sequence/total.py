"""What all releases of one stream tell together: at most the sum, and much less but for a small chance."""

from __future__ import annotations

import math
from dataclasses import dataclass

from privopt.errors import InvalidProblem
from privopt.files.text import number
from privopt.measures.sequence.composition import composition
from privopt.mechanisms import SequencePolicy

DELTA = 1e-6
"""Chance that is left open unless another is named: one in a million."""


@dataclass(frozen=True)
class StreamTotal:
    """The leakage of all releases of one stream together.

    Parameters
    ----------
    records : int
        Letters that were released.
    releases : int
        Letters, or words for a policy of batches.
    each : float
        Budget of a release in nats.
    always : float
        The sum: no course of the data becomes more than e^always times as likely or unlikely.
    delta : float
    usually : float
        What the log-ratio ln Pr(data | releases) / Pr(data) exceeds with probability at most delta.
    """

    records: int
    releases: int
    each: float
    always: float
    delta: float
    usually: float

    def sentence(self) -> str:
        """The two levels in words."""
        counted = f"{self.releases} releases of at most {number(self.each, 6)} nats"
        if math.isinf(self.always):
            return f"{counted}: no limit"
        always = f"{counted} tell at most {number(self.always, 6)} nats about a course of the data"
        if self.usually >= self.always * (1 - 1e-9):
            return always
        return f"{always}; but for a chance of {self.delta:g} at most {number(self.usually, 6)} nats"


def stream_total(policy: SequencePolicy, records: int, delta: float = DELTA) -> StreamTotal:
    """What a policy's releases of so many records of one stream tell together at most.

    Parameters
    ----------
    policy : SequencePolicy
    records : int
        Letters that were released, >= 0. Gaps tell nothing and are not counted; a last word may be shorter.
    delta : float
        In [0, 1]: the chance left open in :attr:`StreamTotal.usually`.

    Raises
    ------
    InvalidProblem
        If the number of records or delta is out of range.

    Examples
    --------
    >>> from privopt.models import MarkovChain
    >>> policy = SequencePolicy(MarkovChain([[0.8, 0.2], [0.3, 0.7]]), 0.2)
    >>> total = stream_total(policy, 200, delta=1e-5)
    >>> round(total.always, 6), round(total.usually, 6)
    (40.0, 17.204401)
    """
    if isinstance(records, bool) or not isinstance(records, int) or records < 0:
        raise InvalidProblem(f"records must be a whole number of at least 0, got {records!r}")
    whole, rest = divmod(records, policy.batch)
    each = policy.batch * policy.epsilon
    levels = [each] * whole + ([rest * policy.epsilon] if rest else [])
    return StreamTotal(records, len(levels), each, composition(levels), delta, composition(levels, delta))

"""A bound on utility for any chain and any private records: what no private mechanism ever shows.

To hide all records but one, and all its values but one, is to erase releases afterwards, so no leakage rises; what is left shows the
value v of record t or nothing, and leaks the influence of v on each private record. So a mechanism that keeps epsilon never shows a value
whose influence on some private record exceeds epsilon, and its utility is at most the share of records that have another value. The
bound says nothing of what several shown records reveal together, and may be far above what can be reached.

Rounding: influences are logarithms of ratios of sums of products without negative terms, each within (n + 1) (k + 8) roundings, so
they are right to ``MARGIN`` for as many records as are read here; a value counts as one that may be shown unless it exceeds epsilon by
more than that, and the sum is moved up by all roundings that it can have.
"""

from __future__ import annotations

import math

import numpy as np

from privopt.arrays import Floats
from privopt.core.problem import Enclosure
from privopt.measures.redaction.influence import influences
from privopt.measures.redaction.leakage import equal_steps, steps_away
from privopt.problems.redaction.data import RedactionData

KIND = "influence"
MARGIN = 1e-9
MOST_CELLS = 2**24
"""Records times private records times states beyond which it is left out."""

MOST_STATES_AND_RECORDS = 2**20


def largest_influences(data: RedactionData, floor: float = -1.0) -> Floats:
    """The largest influence of each value of each record on a private one, shape (length, k); inf where it cannot be shown at all.

    What is at most ``floor`` may come out smaller than it is: away from a private record the largest influence of any value never rises, as the
    chances of a farther record are mixtures of those of a nearer one, so that a side is left where nothing above it can follow.
    """
    worst = np.where(data.supports, 0.0, np.inf)
    for p in data.private:
        possible = data.possible_values(p)
        if len(possible) < 2:
            continue
        worst[p] = np.inf
        back, ahead = steps_away(data.chain, p, data.length)
        sides = ((worst[:p][::-1], back, -1), (worst[p + 1 :], ahead, 1))
        for rows, steps, sign in sides:
            for row, influence in zip(
                rows, influences(steps, possible, equal_steps(data.chain, sign)), strict=False
            ):
                np.maximum(row, influence, out=row)
                if influence.max() <= floor:
                    break
    return worst


def influence_bound(data: RedactionData) -> Enclosure | None:
    """The share of records with a value that a private local mechanism may show, rounded up; None where there are too many.

    Examples
    --------
    >>> from privopt.models import MarkovChain
    >>> chain = MarkovChain([[0.75, 0.25], [0.5, 0.5]])
    >>> low, high = influence_bound(RedactionData(chain, 3, 0, 0.1))
    >>> round(high, 9)  # of the last record its likelier value alone
    0.222222222
    """
    k, n = data.chain.k, data.length
    if (
        data.form != "local"
        or n * len(data.private) * k > MOST_CELLS
        or n * (k + 8) > MOST_STATES_AND_RECORDS
    ):
        return None
    if math.isinf(data.epsilon):
        return 1.0, 1.0
    limit = data.epsilon + MARGIN * max(1.0, data.epsilon)
    open_values = largest_influences(data, limit) <= limit
    shown = np.where(open_values, data.utility_chain.marginals(n), 0.0).sum(axis=1)
    weights = np.ones(n) if data.weights is None else np.asarray(data.weights, dtype=np.float64)
    share = math.fsum((shown * weights).tolist()) / math.fsum(weights.tolist())
    room = (n + 1) * (k + 8) * 2.0**-50
    high = min(1.0, share * (1.0 + room))
    return share * (1.0 - room), high

"""What is expected of candidates by their predicted seconds, and the order of those that prove."""

from __future__ import annotations

import math
from collections.abc import Sequence

from privopt.core.isolate import PATIENCE, child_is_ready
from privopt.core.solver import Candidate, Guarantee

PROVING = (Guarantee.OPTIMAL, Guarantee.BOUNDED)
FITTING = 1.4
"""How many times its predicted seconds a prover gets at least, where it is predicted to end in what is left."""
HOPE = 10.0
"""A prediction of this many times what is left may be met where nothing is known but the anchor: the table is off by that, at most."""
SLICE = 4.0
"""How many times its predicted seconds a prover may take while others wait."""


def proving(takers: Sequence[Candidate], seconds: float) -> list[Candidate]:
    """Those that bound the optimum: first what is predicted to end in time, the soonest first, then what improves until it is stopped."""
    provers = [c for c in takers if c.guarantee in PROVING]
    safe = last_resorts(provers, seconds)
    fitting = sorted((c for c in provers if _fits(c, seconds) or c in safe), key=_precedence)
    longer = [c for c in provers if c not in fitting and c.polls]
    return fitting + sorted(longer, key=lambda c: (_hopeless(c, longer, seconds), predicted(c) > seconds))


def _fits(c: Candidate, seconds: float) -> bool:
    """Whether a prover is expected to end in some seconds, with room for an error that is smaller where it is sure to close the gap."""
    return predicted(c) <= 0.5 * seconds or ends_surely(c, seconds / FITTING)


def _precedence(c: Candidate) -> float:
    """Predicted seconds; of one that is sure to close the gap a fraction of them.

    A bound that may stay loose goes before it only where it is far sooner.
    """
    sure = c.polls and c.guarantee is Guarantee.OPTIMAL
    return ready_after(c) / (HOPE if sure else 1.0)


def ends_surely(c: Candidate, seconds: float) -> bool:
    """Whether a prover that polls is sure to close the gap, and predicted to end in some seconds."""
    return c.polls and c.guarantee is Guarantee.OPTIMAL and predicted(c) <= seconds


def _hopeless(c: Candidate, others: Sequence[Candidate], seconds: float) -> bool:
    """Whether a prover is predicted to take several times what there is, and another one less than half as long."""
    return predicted(c) > SLICE * seconds and any(2 * predicted(o) < predicted(c) for o in others)


def last_resorts(provers: Sequence[Candidate], seconds: float) -> list[Candidate]:
    """Those that need a process and are expected to end in some seconds, where no other is, nor in twice as many."""
    if any(c.polls and predicted(c) <= 2 * seconds for c in provers):
        return []
    return [c for c in provers if not c.polls and ready_after(c) <= seconds]


def ready_after(c: Candidate) -> float:
    """Predicted seconds with the start of a process, where a solver needs one of its own and none is ready."""
    return predicted(c) + (0.0 if c.polls or child_is_ready() else PATIENCE)


def predicted(c: Candidate) -> float:
    """Predicted seconds of a candidate; inf where there is no number."""
    return math.inf if c.seconds is None or math.isnan(c.seconds) else c.seconds

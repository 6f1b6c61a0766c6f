"""Redaction over all probabilities by SciPy's SLSQP: a row for every output and pair of values of the private record."""

from __future__ import annotations

import time

import numpy as np

from privopt.benchmarks.papers.redactions import General
from privopt.benchmarks.peers.peer import PeerAnswer, register_peer
from privopt.problems.redaction.problem import Redaction

STARTS, MOST = 10, 5
MISSED = 1e-7
"""By how much a row may be missed, as such solvers do."""


def _unfit(problem: Redaction) -> str | None:
    if problem.form != "local" or len(problem.private) != 1 or problem.weights is not None:
        return "it is written for one private record, no weights and the local form"
    return None if problem.length <= MOST else f"the outputs of more than {MOST} records are too many rows"


@register_peer("redaction", "slsqp", ("scipy",), _unfit)
def slsqp(problem: Redaction, seconds: float) -> PeerAnswer:
    """The best of several starts that keeps its rows to 1e-7, with exact slopes."""
    rows, begun = General(problem), time.monotonic()
    best = np.ones(len(rows.gain))
    for part in rows.answers(STARTS):
        if rows.slack(part)[0].min() >= -MISSED and rows.gain @ part < rows.gain @ best:
            best = part
        if time.monotonic() - begun > seconds / 2:
            break
    return PeerAnswer(problem.answer(rows.table(best)), float(rows.gain.sum() - rows.gain @ best))

"""Randomised response of the library OpenDP, which knows nothing of the belief."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from privopt.benchmarks._peers import PeerAnswer, register_peer
from privopt.problems.belief_release import BeliefRelease


def _unfit(problem: BeliefRelease) -> str | None:
    if problem.matrix.shape[0] != problem.matrix.shape[1]:
        return "randomised response releases a letter for a letter"
    return None


@register_peer("belief_release", "opendp", ("opendp",), _unfit)
def opendp(problem: BeliefRelease, seconds: float) -> PeerAnswer:
    """Its measurement with the largest probability of the truth whose privacy map keeps epsilon."""
    import opendp.prelude as dp

    tool: Any = dp
    tool.enable_features("contrib")
    n, up = len(problem.letters), math.exp(problem.budget)
    truth = up / (up + n - 1)
    while tool.m.make_randomized_response(list(range(n)), prob=truth).map(1) > problem.budget:
        truth -= 1e-15 * truth + 2.0**-53
    matrix = np.where(np.eye(n, dtype=bool), truth, (1 - truth) / (n - 1))
    return PeerAnswer(problem.answer(matrix), -float((problem.p[:, None] * problem.matrix * matrix).sum()))

"""The two sides of a private record in a binary chain, as the value tables and the exact solver see them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privopt.arrays import Floats
from privopt.problems.redaction.side import Side

if TYPE_CHECKING:
    from privopt.problems.redaction.problem import Redaction


def sides(problem: Redaction, private: int) -> tuple[Side, Side]:
    """Left and right of a private record, nearest record first, with weights that sum to at most 1.

    Of a stationary chain with one step and equal weights each side is one row repeated without copying it.
    """
    chain, n = problem.chain, problem.length
    lengths = (private, n - 1 - private)
    if chain.homogeneous and chain.stationary and problem.weights is None:
        weights = chain.marginal(0) / n
        steps = (chain.reversed(1) if lengths[0] else np.eye(2), chain.step(0) if lengths[1] else np.eye(2))
        pairs = zip(steps, lengths, strict=True)
        left, right = (
            Side(np.broadcast_to(q, (m, 2, 2)), np.broadcast_to(weights, (m, 2))) for q, m in pairs
        )
        return left, right
    law = chain.marginals(n) * (problem.record_weights / problem.record_weights.sum())[:, None]
    before = [chain.reversed(t) for t in range(private, 0, -1)]
    after = [chain.step(t) for t in range(private, n - 1)]
    return Side(_stack(before), law[:private][::-1]), Side(_stack(after), law[private + 1 :])


def _stack(steps: list[Floats]) -> Floats:
    return np.array(steps).reshape(-1, 2, 2)

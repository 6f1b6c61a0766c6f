"""The information bottleneck by the optimiser of the library dit."""

from __future__ import annotations

from typing import Any

import numpy as np

from privopt.benchmarks._peers import PeerAnswer, register_peer
from privopt.benchmarks.peers._programmes import stochastic
from privopt.problems.information_bottleneck import InformationBottleneck

MOST = 5
"""Symbols; its optimiser over auxiliary variables takes minutes beyond."""
BITS = float(np.log(2))


def _unfit(problem: InformationBottleneck) -> str | None:
    if problem.mode != "trade_off" or problem.form != "stochastic" or problem.budget == 0:
        return "dit minimises I(X;T) - beta I(S;T) over stochastic channels"
    if problem.observation.useful is not None:
        return "it is written for a channel that reads X"
    return None if len(problem.observation.p_x) <= MOST else f"it has more than {MOST} symbols"


@register_peer("information_bottleneck", "dit", ("dit",), _unfit)
def dit(problem: InformationBottleneck, seconds: float) -> PeerAnswer:
    """Its ``InformationBottleneck`` at beta = 1 / trade_off; the channel is read off its joint law."""
    from dit import Distribution
    from dit.rate_distortion.information_bottleneck import InformationBottleneck as Bottleneck

    table: Any = problem.observation.leaking.table
    cells = [(x, s) for x in range(table.shape[1]) for s in range(table.shape[0]) if table[s, x] > 0]
    law = Distribution([f"{x}{s}" for x, s in cells], [float(table[s, x]) for x, s in cells])
    found: Any = Bottleneck(law, beta=1 / problem.budget)
    found.optimize()
    joint = np.asarray(found.construct_joint(found._optima))  # dit offers no other way to the channel
    with_release = joint.sum(axis=(1, 2))
    channel = stochastic(with_release / with_release.sum(axis=1, keepdims=True))
    reached = float(found.objective(found._optima))
    return PeerAnswer(problem.answer(channel), -reached * BITS * problem.budget)

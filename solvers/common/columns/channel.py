"""From weighted posteriors to the channel that has them."""

from __future__ import annotations

import numpy as np

from privopt.arrays import Floats
from privopt.core.solver import Proposal
from privopt.mechanisms import Channel
from privopt.models.channel_data import Release
from privopt.problems.trade_off.bound import analytic_bound
from privopt.problems.trade_off.problem import TradeOff

UNUSED = 1e-13
"""Weights up to this are rounding."""

MARGIN = 2.0**-50


def channel_of(problem: TradeOff, weights: Floats, columns: Floats) -> Channel:
    """The channel P(y | w) = weight_y v_y(w) / P(w); an observation of probability 0 is released like the average one.

    Parameters
    ----------
    problem : TradeOff
    weights : array (m,)
        Non-negative.
    columns : array (m, n)
        Laws on the n observations of positive probability, on average the law of these.
    """
    observed = problem.observation
    used = weights > UNUSED
    joint = weights[used, None] * columns[used]
    average = joint.sum(axis=1) / joint.sum()
    matrix = np.tile(average, (len(observed.p_w), 1))
    mass = joint.sum(axis=0)
    met = mass > 0  # a rare symbol may be in none of the posteriors that are used
    matrix[observed.support[met]] = (joint[:, met] / mass[met]).T
    return problem.answer(matrix)


def unanswered(problem: TradeOff, cause: ArithmeticError) -> Proposal:
    """The anchor, where a linear programme in floats ends without an answer: a bound that is too near 0 for it."""
    return Proposal(
        problem.anchor(), analytic_bound(problem), {"kind": "analytic"}, stats={"stop": str(cause)}
    )


def kept(problem: TradeOff, release: Release) -> Release:
    """The release, moved by rounding errors' worth where it misses the bound by that: along a chord, or towards silence."""
    return release if problem.evaluate(release).violation == 0 else problem.repair(release, MARGIN)

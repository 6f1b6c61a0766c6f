"""A proved upper bound on the Bayesian leakage of every differentially private mechanism on a chain.

The recursion runs with every step enlarged by more than its rounding errors, from e^tau rounded up. Where it settles,
one inequality Step(G) <= G, verified in the same manner, bounds all later depths: the step is monotone in G. A kernel
there has the weights h of what is known; if the largest entry of h is at most kappa times the smallest one (averages
keep that), then with F' = h F a ratio is at most kappa times that of the plain kernel for changes kappa C.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np

from privopt._exact import ball_ceiling
from privopt.errors import InvalidModel
from privopt.measures._bayesian_kernels import Floats
from privopt.measures._bayesian_recursion import Recursion, StepName, changes, chosen_step, rounding
from privopt.measures._bayesian_side import Front, walk
from privopt.measures._bayesian_steps import (
    MOST_STEPS,
    checked_length,
    checked_level,
    largest_product,
    left_steps,
    right_steps,
)
from privopt.models import MarkovChain
from privopt.models._chain_laws import exact_backward, stationary_law

if TYPE_CHECKING:
    from flint import arb

_SETTLED = 1e-13
_BITS = 128


def prove_markov_recursion(
    chain: MarkovChain, tau: float, length: int | None = None, *, step: StepName = "best"
) -> float:
    """A float that is proved to be at least the Bayesian leakage of every tau-private mechanism.

    It encloses :func:`markov_recursion`, rounding included, for the law that the chain's exact numbers give.

    Parameters
    ----------
    chain : MarkovChain
    tau : float
        Level of differential privacy in nats, >= 0; the float's exact value is meant.
    length : int, optional
        Number of records, as in :func:`markov_recursion`.
    step : {"best", "lp", "coarse"}

    Returns
    -------
    float
        In nats; inf where nothing was proved.

    Raises
    ------
    InvalidProblem
        If tau, the length or the step is out of range.

    Examples
    --------
    >>> chain = MarkovChain([[0.8, 0.2], [0.3, 0.7]])
    >>> 0 <= prove_markov_recursion(chain, 0.5) - 1.4791192265967 < 1e-8
    True
    """
    tau, count = checked_level(tau), checked_length(chain, length)
    chosen = chosen_step(step, chain.k)
    if tau == 0 or chain.k == 1:
        return 0.0
    general = math.inf if count is None else _ceiling(1, tau, count)
    growth = _growth(tau)
    if growth == math.inf:
        return general
    rule = Recursion(growth, chosen, proved=True)
    product = largest_product(*_sides(chain, count, rule), count)
    if product == 0:
        return 0.0
    if product == math.inf:
        return general
    # One rounding: the product of the two sides.
    return min(_ceiling(Fraction(product) * (1 + Fraction(1, 2**50)), tau, 1), general)


def _sides(chain: MarkovChain, length: int | None, rule: Recursion) -> tuple[Front, Front]:
    ones = np.ones(chain.k)
    if not chain.homogeneous:
        first = np.asarray(chain.initial)
        return walk(left_steps(chain, length), first, rule, False), walk(
            right_steps(chain, length), ones, rule, False
        )
    right = _proved_side(chain.step(0), ones, length, rule)
    try:
        back, first = _backward(chain)
    except InvalidModel:  # no stationary law that is positive everywhere: nothing bounds all later depths
        return _whole(chain.transition.T, np.asarray(chain.initial), length, rule), right
    return _proved_side(back, first, length, rule), right


def _backward(chain: MarkovChain) -> tuple[Floats, Floats]:
    """The time-reversed stationary chain, and the first law divided by the stationary one."""
    rows = chain.exact_step(0)
    law = stationary_law(rows, chain.states)
    initial = chain.exact_initial
    shares = [float(initial.fraction(i) / law.fraction(i)) for i in range(chain.k)]
    return np.array(exact_backward(law, rows)), np.array(shares)


def _proved_side(step: Floats, first: Floats, length: int | None, rule: Recursion) -> Front:
    """A side whose last table bounds every later depth too, where that can be proved."""
    count = MOST_STEPS if length is None else length - 1
    front = walk(repeat(step, count), first, rule, True, _SETTLED)
    if not front.settled or _bound_later(front, step, rule):
        return front
    front.settled = False
    return front if length is None else _whole(step, first, length, rule)


def _whole(step: Floats, first: Floats, length: int | None, rule: Recursion) -> Front:
    """A side followed to its end, however long."""
    count = MOST_STEPS if length is None else length - 1
    front = walk(repeat(step, count), first, rule, True, -1.0)
    front.settled = False
    return front


def _bound_later(front: Front, step: Floats, rule: Recursion) -> bool:
    """Replace the last table by a bound on it and on all later ones; False where none is proved."""
    depth, s = len(front.tables), len(step)
    spread = front.weights.spread() * (1.0 + rounding(depth, s))
    if not spread < 2.0 or not front.lasting.any():
        return False
    everywhere = np.ones((1, s), dtype=np.bool_)
    settled = front.values.max(axis=0)
    for slack in 10.0 ** np.arange(-11, -5):
        guess = settled * (1.0 + slack)
        np.fill_diagonal(guess, 1.0)
        change = changes(guess[None], everywhere, rule.growth * spread)
        after = rule.step(step[None], change)[0] * (spread * (1.0 + 2.0 * rounding(depth, s)))
        if (after <= guess)[~np.eye(s, dtype=np.bool_)].all():
            front.tables[-1] = np.maximum(front.tables[-1], guess)
            return True
    return False


def _growth(tau: float) -> float:
    """e**tau rounded up, inf where that is beyond the floats."""
    from flint import arb, ctx

    saved = ctx.prec
    try:
        ctx.prec = _BITS
        return ball_ceiling(arb(tau).exp()) if tau < 700 else math.inf
    finally:
        ctx.prec = saved


def _ceiling(ratio: Fraction | int, tau: float, count: int) -> float:
    """The float above ln(ratio) + count tau."""
    from flint import arb, ctx, fmpq

    saved = ctx.prec
    try:
        ctx.prec = _BITS
        value: arb = arb(fmpq(*ratio.as_integer_ratio())).log() + count * arb(tau)
        return ball_ceiling(value)
    finally:
        ctx.prec = saved

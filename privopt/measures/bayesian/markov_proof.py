"""Proved bounds on the Bayesian leakage of every differentially private mechanism on a chain, from above and below.

The recursion runs with every step enlarged by more than its rounding errors, from e^tau rounded up, on the exact
transition probabilities, each rounded once. (Two states with one step for all times have powers instead, see
:mod:`privopt.measures.bayesian.binary`.) All sums have one order and nothing is left to a library for matrices, so
that every processor proves the same float. Where the recursion settles, one inequality Step(G) <= G, verified in the
same manner, bounds all later depths: the step is monotone in G. A kernel there has the weights h of what is known; if
the largest entry of h is at most kappa times the smallest one (averages keep that), then with F' = h F a ratio is at
most kappa times that of the plain kernel for changes kappa C.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from privopt.core.exact import IntegerRow, ball_ceiling, ball_floor
from privopt.errors import InvalidModel, InvalidProblem
from privopt.measures.bayesian._recursion import MOST, Recursion, StepName, changes, chosen_step, rounding
from privopt.measures.bayesian._sides import (
    Front,
    Side,
    Weights,
    checked_length,
    checked_level,
    largest_product,
)
from privopt.measures.bayesian.binary import has_powers, sides_product
from privopt.models import MarkovChain
from privopt.models.markov.parts import stationary_distribution

if TYPE_CHECKING:
    from flint import arb


_SETTLED = 1e-13
_SLACKS = (1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6)
_BITS = 128
_LEAST = 1e-8
"""Below this level the rays of more than two states may be ordered wrongly by rounding: the coarse step serves."""


@lru_cache(maxsize=256)
def prove_markov_recursion(
    chain: MarkovChain, tau: float, length: int | None = None, *, step: StepName = "best"
) -> float:
    """A float that is proved to be at least the Bayesian leakage of every tau-private mechanism.

    It encloses :func:`markov_recursion`, rounding included, for the distribution that the chain's exact numbers give.

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
    chosen = chosen_step("coarse" if step == "best" and chain.k > 2 and tau < _LEAST else step, chain.k)
    if tau == 0 or chain.k == 1:
        return 0.0
    general = math.inf if count is None else _end(1, tau, count, ball_ceiling)
    if step != "coarse" and has_powers(chain, tau):
        return min(_end(Fraction(sides_product(chain, tau, count).most), tau, 1, ball_ceiling), general)
    if tau >= 700:
        return general
    rule = Recursion(_growth(tau, ball_ceiling), chosen, outward=1)
    product = largest_product(*_sides(chain, count, rule), count)
    if product == 0:
        return 0.0
    if product == math.inf:
        return general
    # One rounding: the product of the two sides.
    return min(_end(Fraction(product) * (1 + Fraction(1, 2**50)), tau, 1, ball_ceiling), general)


@lru_cache(maxsize=256)
def prove_markov_leak(chain: MarkovChain, tau: float, length: int | None = None) -> float:
    """A float that is proved to be at most the leakage of some tau-private mechanism on a chain of two states.

    For two states the recursion is exact at every depth: a binary F is largest at an end of its interval, and both
    sides attain it by randomised response. So every product of tables at depths that were computed is attained, and
    each step is made less by its rounding. On the right side, and on the left one of a stationary chain, deeper
    tables are no less: they start from 1 and the step is monotone.

    Returns
    -------
    float
        In nats; 0 where no record has two possible values.

    Raises
    ------
    InvalidProblem
        If the chain does not have two states, or tau or the length is out of range.

    Examples
    --------
    >>> chain = MarkovChain([[0.8, 0.2], [0.3, 0.7]])
    >>> 0 <= 1.4791192265968 - prove_markov_leak(chain, 0.5) < 1e-11
    True
    """
    tau, count = checked_level(tau), checked_length(chain, length)
    if chain.k != 2:
        raise InvalidProblem(f"the recursion is exact for two states only, not for {chain.k}")
    if tau == 0:
        return 0.0
    if has_powers(chain, tau):
        return _end(Fraction(sides_product(chain, tau, count).least), tau, 1, ball_floor)
    if _one_decides(chain):
        # Randomised responses to all records add up, without end where there is no last one.
        return sys.float_info.max if count is None else math.nextafter(count * tau, 0.0)
    growth = _growth(tau, ball_floor) if tau < 576 else MOST
    rule = Recursion(growth, chosen_step("best", 2), outward=-1)
    left, right = (side.walk(count, rule, _SETTLED) for side in (_left(chain, count), _right(chain, count)))
    if count is not None and not (chain.homogeneous and chain.stationary):
        # later tables of the left side are not known to be as large
        targets = range(min(len(left.tables), count))
        product = max(largest_product(_one(left, t), _one(right, count - 1 - t), 1) for t in targets)
    else:
        left.settled = right.settled = True
        product = largest_product(left, right, count)
    if product == 0:
        return 0.0
    return _end(Fraction(min(product, sys.float_info.max)) * (1 - Fraction(1, 2**50)), tau, 1, ball_floor)


def _one_decides(chain: MarkovChain) -> bool:
    """Whether each record decides all others, and may have either value."""
    return (
        chain.homogeneous
        and bool(np.isin(chain.step(0), (0.0, 1.0)).all())
        and bool((chain.step(0).sum(axis=0) == 1).all())
        and bool((np.asarray(chain.initial) > 0).all())
    )


def _one(front: Front, depth: int) -> Front:
    """A side with the table of one depth."""
    return Front(front.weights, front.values, front.lasting, [front.after(depth)], front.best, True)


def _step(chain: MarkovChain, t: int) -> Weights:
    """The exact transition probabilities, each rounded once."""
    return Weights.nearest(_rows(chain, t))


def _right(chain: MarkovChain, length: int | None) -> Side:
    return Side.right(chain, length, partial(_step, chain))


def _left(chain: MarkovChain, length: int | None) -> Side:
    """Towards the first record: a stationary chain is reversed, others go by the steps themselves."""
    initial = chain.exact_initial
    first = Weights.nearest([[initial.fraction(i) for i in range(chain.k)]])
    if chain.homogeneous and chain.stationary and first.supported.all():
        return Side((Weights.nearest(_reversed(chain, initial)),), Weights.of(np.ones((1, chain.k))), True)
    return Side.left(chain, length, partial(_step, chain), first)


def _rows(chain: MarkovChain, t: int) -> list[list[Fraction]]:
    return [[row.fraction(i) for i in range(chain.k)] for row in chain.exact_step(t)]


def _reversed(chain: MarkovChain, stationary: IntegerRow) -> list[list[Fraction]]:
    """The time-reversed chain of a stationary distribution that is positive everywhere, exactly."""
    rows = _rows(chain, 0)
    weights = [stationary.fraction(i) for i in range(chain.k)]
    return [[weights[u] * rows[u][x] / weights[x] for u in range(chain.k)] for x in range(chain.k)]


def _sides(chain: MarkovChain, length: int | None, rule: Recursion) -> tuple[Front, Front]:
    right = _right(chain, length)
    if not chain.homogeneous:
        return _whole(_left(chain, length), length, rule), _whole(right, length, rule)
    front = _proved_side(right, length, rule)
    try:
        back = _backward(chain)
    except (
        InvalidModel
    ):  # no stationary distribution that is positive everywhere: nothing bounds all later depths
        return _whole(_left(chain, length), length, rule), front
    return _proved_side(back, length, rule), front


def _backward(chain: MarkovChain) -> Side:
    """The time-reversed stationary chain, and the first distribution divided by the stationary one."""
    stationary = stationary_distribution(chain.exact_step(0), chain.states)
    shares = [chain.exact_initial.fraction(i) / stationary.fraction(i) for i in range(chain.k)]
    return Side((Weights.nearest(_reversed(chain, stationary)),), Weights.nearest([shares]), True)


def _proved_side(side: Side, length: int | None, rule: Recursion) -> Front:
    """A side whose last table bounds every later depth too, where that can be proved."""
    front = side.walk(length, rule, _SETTLED)
    if not front.settled or _bound_later(front, side.steps[0], rule):
        return front
    front.settled = False
    return front if length is None else _whole(side, length, rule)


def _whole(side: Side, length: int | None, rule: Recursion) -> Front:
    """A side followed to its end; of one without an end nothing is proved, and it is not followed."""
    front = side.walk(1 if length is None else length, rule, -1.0)
    front.settled = False
    return front


def _bound_later(front: Front, step: Weights, rule: Recursion) -> bool:
    """Replace the last table by a bound on it and on all later ones; False where none is proved."""
    depth, s = len(front.tables), len(step.mantissa)
    spread = front.weights.spread() * (1.0 + rounding(depth, s))
    if not spread < 2.0 or not front.lasting.any():
        return False
    everywhere = np.ones((1, s), dtype=np.bool_)
    settled = front.values.max(axis=0)
    kernel, _ = Weights.of(np.ones((1, s))).step(step)
    for slack in _SLACKS:
        guess = settled * (1.0 + slack)
        np.fill_diagonal(guess, 1.0)
        change = changes(guess[None], everywhere, rule.growth * spread)
        if change.max() > MOST:
            return False
        after = rule.step(kernel, change)[0] * (spread * (1.0 + 2.0 * rounding(depth, s)))
        if (after <= guess)[~np.eye(s, dtype=np.bool_)].all():
            front.tables[-1] = np.maximum(front.tables[-1], guess)
            return True
    return False


def _growth(tau: float, end: Callable[[arb], float]) -> float:
    """e**tau rounded to one side."""
    from flint import arb, ctx

    with ctx.workprec(_BITS):
        return end(arb(tau).exp())


def _end(ratio: Fraction | int, tau: float, count: int, end: Callable[[arb], float]) -> float:
    """An end of ln(ratio) + count tau."""
    from flint import arb, ctx, fmpq

    with ctx.workprec(_BITS):
        value: arb = arb(fmpq(*Fraction(ratio).as_integer_ratio())).log() + count * arb(tau)
        return end(value)

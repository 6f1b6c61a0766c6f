"""Formulas of plain arithmetic: the closed form, the constant, randomised responses, and what was published."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from privopt.arrays import Bools, Floats
from privopt.errors import InvalidMechanism
from privopt.mechanisms.policy.beliefs import Walk
from privopt.mechanisms.policy.fixed import exp, means, total
from privopt.mechanisms.policy.formulas.formula import Cost, Formula
from privopt.mechanisms.policy.hamming import overlap, rows
from privopt.mechanisms.policy.setting import Setting
from privopt.models import MarkovChain

MOST = 2**13
"""Of the enumeration of sequences of releases: sequences times states."""
STEP, SWEEPS, ROUNDING = 0.1, 100, 1e-12
"""Of the published descent."""

LARGEST = 40.0
"""Beyond, e^-epsilon is less than what floats keep of 1."""


def capped(epsilon: float) -> float:
    """The level of the closed form: finite budgets up to 40, for rounding."""
    return epsilon if epsilon == math.inf else min(epsilon, LARGEST)


@dataclass(frozen=True)
class HammingRule(Formula):
    """The closed form of least Hamming error, letter by letter."""

    name: str = "closed-form"
    cost: ClassVar[Cost] = Cost.INSTANT

    def propose(self, setting: Setting, beliefs: Floats) -> Floats:
        """Optimal kernels for all beliefs at once, shape (M, n, n).

        Raises
        ------
        InvalidMechanism
            If the distortion is not "hamming", or a release has more than one letter.

        Examples
        --------
        >>> setting = Setting(MarkovChain([[0.5, 0.5], [0.5, 0.5]]), 1, 1.0, "hamming")
        >>> HammingRule().propose(setting, np.array([[0.6, 0.4]])).round(4).tolist()
        [[[0.8528, 0.1472], [0.2207, 0.7793]]]
        """
        if setting.distortion != "hamming" or setting.batch != 1:
            raise InvalidMechanism(
                'the rule "closed-form" knows the Hamming distortion of single letters; name another rule for this one'
            )
        mine = rows(beliefs, capped(setting.epsilon))
        shares = overlap(
            mine.start[:, :, None], mine.width[:, :, None], mine.begin[:, None, :], mine.end[:, None, :]
        )
        kernel = shares
        kernel *= (1.0 - mine.keep - mine.side).clip(0.0)[:, :, None]
        at, users = np.arange(beliefs.shape[1]), np.arange(len(beliefs))
        kernel[:, at, at] += mine.keep
        aside = np.flatnonzero(mine.extra >= 0)
        kernel[aside, :, mine.extra[aside]] += mine.side[aside]
        marginal = means(mine.belief, kernel)
        impossible = mine.belief == 0
        if impossible.any():
            kernel = np.where(impossible[:, :, None], marginal[:, None, :], kernel)
        kernel *= mine.levels.room
        kernel += mine.levels.low * marginal[:, None, :]
        place = np.argsort(mine.order, axis=1, kind="stable")
        return np.asarray(kernel[users[:, None, None], place[:, :, None], place[:, None, :]])


@dataclass(frozen=True)
class ConstantRule(Formula):
    """One release for every input.

    Examples
    --------
    >>> from privopt.models import MarkovChain
    >>> setting = Setting(MarkovChain([[0.5, 0.5], [0.5, 0.5]]), 1, 1.0, "hamming")
    >>> ConstantRule().propose(setting, np.array([[0.6, 0.4]])).tolist()
    [[[1.0, 0.0], [1.0, 0.0]]]
    """

    name: str = "constant"
    cost: ClassVar[Cost] = Cost.PLAIN

    def propose(self, setting: Setting, beliefs: Floats) -> Floats:
        """Kernels (M, n, m) for beliefs (M, n)."""
        best = means(beliefs, setting.cost).argmin(axis=1)
        table = np.eye(setting.cost.shape[1])[best]
        return np.repeat(table[:, None, :], beliefs.shape[1], axis=1)


@dataclass(frozen=True)
class PublishedRule(Formula):
    """P(y | x) = P(y) / e^epsilon for y other than x, and the rest on x."""

    name: str = "published"
    cost: ClassVar[Cost] = Cost.PLAIN

    def propose(self, setting: Setting, beliefs: Floats) -> Floats:
        """Kernels for beliefs (M, n), shape (M, n, n)."""
        low, n = exp(-setting.epsilon), beliefs.shape[1]
        own = 1.0 - (1.0 - beliefs) * low
        return np.where(np.eye(n, dtype=bool), own[:, :, None], low * beliefs[:, None, :])


def descend(beliefs: Floats, cost: Floats, epsilon: float) -> Floats:
    """Kernels found by coordinate descent from the uniform one, shape (M, n, m).

    Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information Privacy", Algorithm 2, which as printed
    compares a posterior with bounds on ratios, and so stops where it starts. The readings chosen here:

    * the test is on the ratio a(r | o) / Q(r), for every possible word o and every release r;
    * a step goes down: the objective is a cost;
    * a step of ``STEP`` times the derivative is cut at 0, and the row divided by its sum;
    * a step that breaks a bound is taken back, and its coordinate stays as it is from then on;
    * coordinates whose derivative is 0, or that are 0, move no more; after ``SWEEPS`` sweeps it ends in any case.

    Frozen coordinates keep it away from the optimum: the order of the coordinates decides where it ends.

    Parameters
    ----------
    beliefs : array (M, n)
    cost : array (n, m)
    epsilon : float
        Nats.

    Examples
    --------
    >>> answer = descend(np.array([[0.5, 0.5]]), 1.0 - np.eye(2), 0.5)[0]
    >>> answer.sum(axis=1).round(12).tolist(), bool((answer / answer.mean(axis=0)).max() <= np.exp(0.5) + 1e-9)
    ([1.0, 1.0], True)
    """
    many, (n, m) = len(beliefs), cost.shape
    kernel = np.full((many, n, m), 1.0 / m)
    marginal = np.full((many, m), 1.0 / m)
    slope = beliefs[:, :, None] * cost
    active = slope > 0
    for _ in range(SWEEPS):
        if not active.any():
            break
        for o in range(n):
            for r in range(m):
                if active[:, o, r].any():
                    _move(kernel, marginal, active, beliefs, slope, (o, r), epsilon)
    return kernel


def _move(
    kernel: Floats,
    marginal: Floats,
    active: Bools,
    beliefs: Floats,
    slope: Floats,
    at: tuple[int, int],
    epsilon: float,
) -> None:
    """One step of one coordinate in every kernel where it may still move, in place."""
    o, r = at
    row = kernel[:, o].copy()
    row[:, r] = np.maximum(row[:, r] - STEP * slope[:, o, r], 0.0)
    row /= row.sum(axis=1, keepdims=True)
    after = marginal + beliefs[:, o, None] * (row - kernel[:, o])
    trial = kernel.copy()
    trial[:, o] = row
    low, high = math.exp(-epsilon) * (1.0 - ROUNDING), math.exp(min(epsilon, 700.0)) * (1.0 + ROUNDING)
    within = (trial >= low * after[:, None, :]) & (trial <= high * after[:, None, :])
    taken = (within | (beliefs <= 0)[:, :, None]).all(axis=(1, 2)) & active[:, o, r]
    kernel[taken], marginal[taken] = trial[taken], after[taken]
    active[:, o, r] = taken & (kernel[:, o, r] > 0)


@dataclass(frozen=True)
class PublishedGradientRule(Formula):
    """Coordinates that descend until a bound stops them."""

    name: str = "published-gradient"
    cost: ClassVar[Cost] = Cost.PROGRAM

    def propose(self, setting: Setting, beliefs: Floats) -> Floats:
        """Kernels for beliefs (M, n), shape (M, n, n)."""
        return descend(beliefs, setting.cost, setting.epsilon)


def response(n: int, epsilon: float) -> tuple[float, float]:
    """Probability of the letter itself, and of each other one.

    Examples
    --------
    >>> response(3, math.log(2))
    (0.5, 0.25)
    """
    low = exp(-epsilon)
    true = 1.0 / (1.0 + (n - 1) * low)
    return true, low * true


def respond(setting: Setting, beliefs: Floats, epsilon: float) -> Floats:
    """Randomised response at epsilon a letter, each letter of a word on its own: the same kernel for every belief.

    Words that cannot occur are not released: their probability is shared by the others.
    """
    true, other = response(len(setting.letters), epsilon)
    words = setting.paths.words
    apart = (words[:, None, :] != words[None, :, :]).sum(axis=2)
    same, changed = (np.cumprod([1.0] + [p] * words.shape[1]) for p in (true, other))
    kernel = same[words.shape[1] - apart] * changed[apart]
    kernel /= total(kernel)[:, None]
    return np.broadcast_to(kernel, (len(beliefs), *kernel.shape))


def sequence_level(chain: MarkovChain, steps: int, epsilon: float) -> float:
    """What sequences of independent responses leak, exactly.

    Examples
    --------
    >>> chain = MarkovChain([[0.8, 0.2], [0.3, 0.7]], initial=[0.5, 0.5])
    >>> round(sequence_level(chain, 6, 0.7), 9)
    3.068908687
    """
    n = len(chain.letters)
    true, other = response(n, epsilon)
    kernel = other + (true - other) * np.eye(n)
    kernel /= [[math.fsum(row)] for row in kernel.tolist()]
    most, least = Walk(chain, 1).extremes(lambda at, *_: np.broadcast_to(kernel, (len(at), n, n)), steps)
    return max(0.0, most, -least)


def steps_within(chain: MarkovChain, horizon: int) -> int:
    """How many letters of a horizon can be enumerated."""
    n = max(2, len(chain.letters))
    return max(1, min(horizon, int(math.log(max(MOST / chain.k, n)) / math.log(n))))


@lru_cache(maxsize=256)
def calibrated(chain: MarkovChain, epsilon: float) -> tuple[float, int]:
    """The epsilon of randomised response whose sequences leak ``epsilon`` a letter, and over how many letters.

    Sequences leak less than the sum of what their letters leak, so it is above the epsilon given. It is found by halving, to
    1e-9, and for as many letters as can be enumerated.

    Examples
    --------
    >>> answer, steps = calibrated(MarkovChain([[0.5, 0.5], [0.5, 0.5]]), 0.5)
    >>> bool(answer > 0.5), steps
    (True, 12)
    """
    steps = steps_within(chain, chain.max_length or 16)
    low, high = epsilon, 2.0 * epsilon + 1e-9
    while sequence_level(chain, steps, high) < steps * epsilon and high < 50.0:
        low, high = high, 2.0 * high
    while high - low > 1e-9 * max(1.0, epsilon):
        middle = 0.5 * (low + high)
        low, high = (
            (low, middle) if sequence_level(chain, steps, middle) > steps * epsilon else (middle, high)
        )
    return low, steps


@dataclass(frozen=True)
class RandomisedResponseRule(Formula):
    """Randomised response at epsilon a letter, or a multiple of it."""

    name: str = "randomised-response"
    times: float = 1.0
    cost: ClassVar[Cost] = Cost.PLAIN

    def propose(self, setting: Setting, beliefs: Floats) -> Floats:
        """Kernels for beliefs (M, n), shape (M, n, n)."""
        return respond(setting, beliefs, self.times * setting.epsilon / setting.batch)


@dataclass(frozen=True)
class RandomisedResponseCalibratedRule(Formula):
    """Randomised response at the level that :func:`._respond.calibrated` finds."""

    name: str = "randomised-response-calibrated"
    cost: ClassVar[Cost] = Cost.QUICK

    def propose(self, setting: Setting, beliefs: Floats) -> Floats:
        """Kernels for beliefs (M, n), shape (M, n, n)."""
        level, _ = calibrated(setting.chain, setting.epsilon / setting.batch)
        return respond(setting, beliefs, level)


@dataclass(frozen=True)
class TemporalRandomisedResponseRule(Formula):
    """Randomised response among the letters of positive belief."""

    name: str = "temporal-randomised-response"
    cost: ClassVar[Cost] = Cost.PLAIN

    def propose(self, setting: Setting, beliefs: Floats) -> Floats:
        """Kernels for beliefs (M, n), shape (M, n, n)."""
        possible, low = beliefs > 0, exp(-setting.epsilon)
        true = 1.0 / (1.0 + (possible.sum(axis=1) - 1) * low)
        own = np.eye(beliefs.shape[1], dtype=bool) & possible[:, :, None]
        kernel = np.where(own, 1.0, low) * possible[:, None, :]
        kernel = kernel * true[:, None, None]
        blind = possible / possible.sum(axis=1, keepdims=True)
        return np.asarray(np.where(possible[:, :, None], kernel, blind[:, None, :]))

"""Kernels on words at one belief, each with its value and what proves it, and the rules that look for them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import TypeAlias

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.highs import SOLVED
from privopt.errors import InvalidMechanism
from privopt.mechanisms.policy.fixed import Levels
from privopt.mechanisms.policy.formulas.formula import Formula
from privopt.mechanisms.policy.formulas.program import (
    NEGLIGIBLE,
    Solved,
    Table,
    cheapest_row,
    solve_program,
    solve_restricted,
)
from privopt.mechanisms.policy.formulas.types import (
    JointTypes,
    joint_types,
    solve_orbits,
    taken_shares,
    uniform_value,
)
from privopt.mechanisms.policy.setting import Setting

LARGEST = 34.0
"""Beyond, e^-epsilon would be lost in rounding; what is private at a lower level is private."""
FAINT = 1e-12
"""Inputs of less probability are left out of the program and then go wherever is cheapest for them."""
MOST = 20.0
"""Larger budgets are solved at this level: 1 / theta is a coefficient of the program."""
KEPT_CELLS = 2**14
"""Kernels of more cells are not kept for the next time that a belief comes up."""


@dataclass(frozen=True, eq=False)
class WordAnswer:
    """A kernel for n inputs and m releases.

    Parameters
    ----------
    kernel : array (n, m)
        a(y | x); within the budget but for rounding.
    value, bound : float
        Its expected distortion, and one that no private kernel goes below.
    lam : array (n,)
        Prices that prove the bound, in the unit of the distortion.
    iterations : int
    stop : str
        Why the search ended.
    """

    kernel: Floats
    value: float
    bound: float
    lam: Floats
    iterations: int
    stop: str

    @property
    def gap(self) -> float:
        """How much the value may be above the optimum, as a share of the value."""
        return (self.value - self.bound) / self.value if self.value > 0 else 0.0


def finish(
    p: Floats, cost: Floats, epsilon: float, step: Floats, lam: Floats, iterations: int, stop: str
) -> WordAnswer:
    """The private kernel that K makes, shape (n, m), and the bound of prices lam; p may hold zeros.

    Examples
    --------
    >>> answer = finish(np.array([0.6, 0.4]), 1 - np.eye(2), 0.5, np.eye(2), np.array([0.0, 0.0]), 0, "given")
    >>> round(answer.value, 12), answer.bound <= answer.value
    (0.291134716662, True)
    """
    levels = Levels.of(min(epsilon, LARGEST))
    marginal = p @ step
    marginal = marginal / marginal.sum()
    step = step + (1.0 - step.sum(axis=1)).clip(0.0)[:, None] * marginal
    step = step / step.sum(axis=1, keepdims=True)
    marginal = p @ step
    kernel = levels.room * step + levels.low * marginal
    return settle(p, cost, epsilon, kernel, lam, iterations, stop)


def settle(
    p: Floats, cost: Floats, epsilon: float, kernel: Floats, lam: Floats, iterations: int, stop: str
) -> WordAnswer:
    """A kernel a(y | x) that is private but for rounding, repaired, with the bound of prices lam.

    Examples
    --------
    >>> settle(np.array([0.5, 0.5]), 1 - np.eye(2), 0.4, np.eye(2), np.zeros(2), 0, "given").value.__round__(6)
    0.33516
    """
    kernel = np.where((p > 0)[:, None], kernel, p @ kernel)
    kernel = repair(p, kernel / kernel.sum(axis=1, keepdims=True), min(epsilon, LARGEST))
    seen, levels = p > 0, Levels.of(epsilon)
    bound = -math.inf
    if np.isfinite(lam).all():
        bound = Table.of(p[seen], cost[seen], levels).bound(levels.room * lam[seen])
    return WordAnswer(kernel, float(p @ (kernel * cost).sum(axis=1)), bound, lam, iterations, stop)


def repair(p: Floats, kernel: Floats, epsilon: float) -> Floats:
    """Mix a kernel with its own output distribution until every ratio a(y | x) / Q(y) lies in [e^-epsilon, e^epsilon].

    Examples
    --------
    >>> mixed = repair(np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.2, 0.8]]), 0.4)
    >>> round(float((mixed[0, 0] - 0.55) / (0.9 - 0.55)), 6)  # what is kept; the rest is the output marginal
    0.423874
    """
    marginal = p @ kernel
    seen = kernel[p > 0]
    ratio = np.divide(seen, marginal, out=np.ones_like(seen), where=marginal > 0)
    low, high = float(ratio.min()), float(ratio.max())
    floor, roof = math.exp(-epsilon), math.exp(epsilon)
    share = 0.0
    if low < floor:
        share = (floor - low) / (1 - low)
    if high > roof:
        share = max(share, (high - roof) / (high - 1))
    if share == 0:
        return kernel
    share = min(1.0, share * (1 + 2.0**-50) + 2.0**-52)
    return np.asarray((1 - share) * kernel + share * marginal)


def release_everything(p: Floats, cost: Floats, epsilon: float) -> WordAnswer | None:
    """The constant release where nothing may leak, the best release of each input where anything may."""
    m = cost.shape[1]
    if epsilon == 0:
        kernel = np.tile(np.eye(m)[np.argmin(p @ cost)], (len(p), 1))
        value = float((p @ cost).min())
        return WordAnswer(kernel, value, value - _rounding(cost), np.zeros(len(p)), 0, "all or nothing")
    if epsilon == math.inf:
        kernel, lam = np.eye(m)[cost.argmin(axis=1)], cost.min(axis=1)
        value = float(p @ lam)
        return WordAnswer(kernel, value, value - _rounding(cost), lam, 0, "all or nothing")
    return None


def _rounding(cost: Floats) -> float:
    return (len(cost) + 16) * 2.0**-51 * float(np.abs(cost).max())


Program = Callable[[Floats, Floats, Levels, float], Solved | None]


def solve_words(
    p: Floats, cost: Floats, epsilon: float, seconds: float, program: Program = solve_restricted
) -> WordAnswer | None:
    """The optimal kernel with its proof, for any distribution and cost; None if there is none in time.

    Parameters
    ----------
    p : array (n,)
        Sums to 1; zeros allowed.
    cost : array (n, m)
    epsilon : float
        Budget of the release in nats, >= 0, perhaps inf.
    seconds : float
    program : function
        ``solve_restricted``, or ``solve_program`` for all releases at once.

    Examples
    --------
    >>> answer = solve_words(np.array([0.45, 0.35, 0.2]), 1 - np.eye(3), 0.4, 10.0)
    >>> round(answer.value, 12), answer.gap < 1e-9
    (0.461512786727, True)
    """
    known = release_everything(p, cost, epsilon)
    if known is not None:
        return known
    levels = Levels.of(min(epsilon, MOST))
    unit = float(np.abs(cost).max()) or 1.0
    heavy = np.flatnonzero(p >= FAINT)
    solved = program(p[heavy], cost[heavy] / unit, levels, seconds)
    if solved is None:
        return None
    kernel, tops = without_rounding(solved, levels)
    step, lam = np.zeros(cost.shape), np.zeros(len(p))
    step[heavy], lam[heavy] = kernel, solved.prices
    for x in np.flatnonzero((p < FAINT) & (p > 0)):
        step[x], lam[x] = cheapest_row(cost[x] / unit, tops)
    return finish(p, cost, epsilon, step, unit * lam, solved.iterations, SOLVED)


def without_rounding(solved: Solved, levels: Levels) -> tuple[Floats, Floats]:
    """K within the limits Q / theta of its columns, and these limits: 0 for releases that only rounding uses."""
    used = solved.marginal > NEGLIGIBLE * levels.theta
    tops = np.where(used, solved.marginal / levels.theta, 0.0)
    return np.minimum(solved.kernel, tops), tops


def orbit_words(p: Floats, words: Ints, letter_cost: Floats, epsilon: float) -> WordAnswer | None:
    """The optimal kernel for all words of independent letters; None if the program fails.

    Parameters
    ----------
    p : array (n,)
        A product distribution of positive letters.
    words : int array (n, w)
        All words, in lexicographic order.
    letter_cost : array (letters, columns)
    epsilon : float
        Budget of the batch in nats, >= 0, perhaps inf.

    Examples
    --------
    >>> words = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> answer = orbit_words(np.array([0.49, 0.21, 0.21, 0.09]), words, 1 - np.eye(2), 1.0)
    >>> answer.gap < 1e-9
    True
    """
    letters, columns = letter_cost.shape
    length = words.shape[1]
    releases = np.array(list(product(range(columns), repeat=length)))
    pairs = [letter_cost[words[:, i]][:, releases[:, i]] for i in range(length)]
    cost = np.asarray(sum(pairs) / length)
    known = release_everything(p, cost, epsilon)
    if known is not None:
        return known
    types = joint_types(letters, columns, length)
    letter = np.array([p[words[:, 0] == a].sum() for a in range(letters)])
    unit = float(np.abs(cost).max()) or 1.0
    answer = solve_orbits(types, types.distribution(letter), types.cost(letter_cost / unit), epsilon)
    if answer is None:
        return None
    which = _which(types, words, releases)
    here = np.bincount(types.source[which[:, 0]], minlength=len(types.inputs))
    ways = np.bincount(which.ravel(), minlength=len(types.source)) / here[types.source]
    kernel = (answer.kernel / np.maximum(ways, 1.0))[which]
    lam = unit * answer.lam[types.source[which[:, 0]]]
    return settle(p, cost, epsilon, kernel, lam, answer.iterations, "optimal")


def _which(types: JointTypes, words: Ints, releases: Ints) -> Ints:
    """Joint type of every pair of words, by a sum of random weights that distinguishes all types."""
    weights = np.random.default_rng(0).integers(2**50, size=types.tables.shape[1:])
    keys = (types.tables * weights).sum(axis=(1, 2))
    order = np.argsort(keys)
    pairs = sum(weights[words[:, i]][:, releases[:, i]] for i in range(words.shape[1]))
    return np.asarray(order[np.searchsorted(keys[order], pairs)])


def uniform_words(p: Floats, cost: Floats, letters: int, length: int, epsilon: float) -> WordAnswer:
    """The optimal kernel for all words of ``length`` letters, alike likely, and the mean Hamming distortion.

    K puts the share ``taken_shares`` of a word at each distance, evenly. By symmetry equal prices prove the optimum.

    Examples
    --------
    >>> cost = np.array([[0, 0.5, 0.5, 1], [0.5, 0, 1, 0.5], [0.5, 1, 0, 0.5], [1, 0.5, 0.5, 0]])
    >>> answer = uniform_words(np.full(4, 0.25), cost, 2, 2, 1.0)
    >>> answer.gap < 1e-9
    True
    """
    known = release_everything(p, cost, epsilon)
    if known is not None:
        return known
    shares = taken_shares(letters, length, epsilon)
    apart = np.rint(cost * length).astype(np.int64)
    around = np.bincount(apart[0], minlength=length + 1)
    step = (np.pad(shares, (0, length + 1 - len(shares))) / around)[apart]
    lam = np.full(len(p), uniform_value(letters, length, epsilon))
    return finish(p, cost, epsilon, step, lam, 0, "closed form")


Method: TypeAlias = Callable[[Setting, Floats, float, float], WordAnswer | None]
"""From a setting, a distribution of words, a level in nats and seconds."""


@dataclass(frozen=True)
class WordFormula(Formula):
    """The kernel that a method finds at each belief over words, without a limit of time, so that everybody finds the same.

    Examples
    --------
    >>> from privopt.models import MarkovChain
    >>> setting = Setting(MarkovChain([[0.5, 0.5], [0.5, 0.5]]), 2, 1.0, "hamming")
    >>> EXACT_LP.propose(setting, np.full((1, 4), 0.25)).sum(axis=2).round(9).tolist()
    [[1.0, 1.0, 1.0, 1.0]]
    """

    name: str
    method: Method

    def propose(self, setting: Setting, beliefs: Floats) -> Floats:
        """Kernels (M, n, m) for beliefs (M, n).

        Raises
        ------
        InvalidMechanism
            If the method finds none.
        """
        kernel = _kept if setting.cost.size <= KEPT_CELLS else _kernel
        return np.array([kernel(self, setting, tuple(row)) for row in beliefs.tolist()])


def _kernel(formula: WordFormula, setting: Setting, belief: tuple[float, ...]) -> Floats:
    answer = formula.method(setting, np.array(belief), setting.epsilon, math.inf)
    if answer is None:
        raise InvalidMechanism(f"the rule {formula.name!r} found no kernel: name another rule")
    return answer.kernel


@lru_cache(maxsize=256)
def _kept(formula: WordFormula, setting: Setting, belief: tuple[float, ...]) -> Floats:
    return _kernel(formula, setting, belief)


def _all_releases(setting: Setting, p: Floats, level: float, seconds: float) -> WordAnswer | None:
    return solve_words(p, setting.cost, level, seconds, solve_program)


def _some_releases(setting: Setting, p: Floats, level: float, seconds: float) -> WordAnswer | None:
    return solve_words(p, setting.cost, level, seconds)


def _by_types(setting: Setting, p: Floats, level: float, seconds: float) -> WordAnswer | None:
    return orbit_words(p, setting.paths.words, setting.letter_cost, level)


def _uniform(setting: Setting, p: Floats, level: float, seconds: float) -> WordAnswer | None:
    return uniform_words(p, setting.cost, len(setting.letters), setting.batch, level)


EXACT_LP = WordFormula("exact-lp", _all_releases)
RESTRICTED_OUTPUTS = WordFormula("restricted-outputs", _some_releases)
ORBIT_LP = WordFormula("orbit-lp", _by_types)
IID_CLOSED_FORM = WordFormula("iid-closed-form", _uniform)

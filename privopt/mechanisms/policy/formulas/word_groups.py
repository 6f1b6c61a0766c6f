"""Thousands of words, or little time: words gathered into groups, each with one row of the program.

Words of a group share a row, so the bounds hold for all as soon as they hold for the groups, each with its mass and its mean
costs. The output distribution Q that they find can be kept while each word gets a row of its own, K(y | x) <= Q(y) / theta:
that is a transport of the words to the releases in use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.highs import FINEST, SOLVED, Rows, minimise
from privopt.mechanisms.policy.fixed import Levels
from privopt.mechanisms.policy.formulas.program import Solved, solve_restricted, solve_soon
from privopt.mechanisms.policy.formulas.words import (
    FAINT,
    MOST,
    WordAnswer,
    WordFormula,
    finish,
    release_everything,
    without_rounding,
)
from privopt.mechanisms.policy.setting import Setting

QUICK, FEW = 192, 48
"""Groups of the two rules; of the second up to as many as the first, where a budget calls for more releases."""
PER_RELEASE = 2.5
"""Groups for each release that a large budget needs at least, 1 / theta."""
LIGHT = 0.02
"""What words of less than theta may cost at the releases of others, as a share of a constant release, to be left at that."""
TRANSPORTED = 2**14
"""Cells, words times releases in use, up to which each word gets a row of its own; of more releases than groups it gains little."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Words gathered around kept ones.

    Parameters
    ----------
    leader : int array (n,)
        The group of each word.
    p : array (groups,)
    cost : array (groups, m)
        Mean over the words of a group.
    """

    leader: Ints
    p: Floats
    cost: Floats


def gather(p: Floats, cost: Floats, count: int) -> Groups:
    """Groups around the ``count`` heaviest words: each other one follows the one whose costs are most like its own.

    For a square cost that is the kept word of least distortion; otherwise the one with the same best release, or
    the heaviest.

    Examples
    --------
    >>> gather(np.array([0.5, 0.3, 0.2]), np.array([[0, 2, 1], [2, 0, 1], [1.0, 0.5, 0]]), 2).leader.tolist()
    [0, 1, 1]
    """
    kept = np.argsort(-p, kind="stable")[:count]
    centres = kept if cost.shape[0] == cost.shape[1] else cost[kept].argmin(axis=1)
    leader = cost[:, centres].argmin(axis=1)
    leader[kept] = np.arange(len(kept))
    order = np.argsort(leader, kind="stable")
    begins = np.searchsorted(leader[order], np.arange(len(kept)))
    mass = np.asarray(np.bincount(leader, weights=p, minlength=len(kept)), dtype=np.float64)
    sums = np.add.reduceat(p[order, None] * cost[order], begins, axis=0)
    return Groups(leader, mass, sums / mass[:, None])


def solve_quickly(p: Floats, cost: Floats, epsilon: float) -> WordAnswer | None:
    """The best kernel for words in groups, without raising the prices: no clock enters, so equal distributions give equal kernels.

    Examples
    --------
    >>> round(solve_quickly(np.array([0.45, 0.35, 0.2]), 1 - np.eye(3), 0.4).value, 12)
    0.461512786727
    """
    return _by_groups(p, cost, epsilon, _one_program)


def solve_in_few_groups(p: Floats, cost: Floats, epsilon: float) -> WordAnswer | None:
    """A kernel from fewer groups and few releases, and then each word with a row of its own for the same output distribution.

    Examples
    --------
    >>> round(solve_in_few_groups(np.array([0.45, 0.35, 0.2]), 1 - np.eye(3), 0.4).value, 12)
    0.461512786727
    """
    return _by_groups(p, cost, epsilon, _few)


@dataclass(frozen=True, eq=False)
class _Found:
    """Rows of K (n, m), prices (n,) and the iterations of programs."""

    rows: Floats
    prices: Floats
    iterations: int


_Search: TypeAlias = Callable[[Floats, Floats, Levels], _Found | None]


def _by_groups(p: Floats, cost: Floats, epsilon: float, search: _Search) -> WordAnswer | None:
    """The answer that a search finds for the words that are not faint, with costs of the size of 1."""
    known = release_everything(p, cost, epsilon)
    if known is not None:
        return known
    seen = np.flatnonzero(p >= FAINT)
    unit = float(np.abs(cost).max()) or 1.0
    found = search(p[seen], cost[seen] / unit, Levels.of(min(epsilon, MOST)))
    if found is None:
        return None
    return extended(p, cost, epsilon, found.rows, unit * found.prices, found.iterations, SOLVED)


def _one_program(p: Floats, cost: Floats, levels: Levels) -> _Found | None:
    groups = gather(p, cost, QUICK)
    return _shared(groups, solve_restricted(groups.p, groups.cost, levels, np.inf), levels)


def _few(p: Floats, cost: Floats, levels: Levels) -> _Found | None:
    heavy = _heavy_alone(p, cost, levels)
    if heavy is not None:
        return _Found(heavy, (heavy * cost).sum(axis=1), 0)
    groups = gather(p, cost, int(min(max(FEW, PER_RELEASE / levels.theta), QUICK)))
    found = _shared(groups, solve_soon(groups.p, groups.cost, levels), levels)
    return found and replace(found, rows=transported(p / p.sum(), cost, found.rows, levels))


def _shared(groups: Groups, solved: Solved | None, levels: Levels) -> _Found | None:
    """What a program found for groups, for each of their words."""
    if solved is None:
        return None
    rows = without_rounding(solved, levels)[0][groups.leader]
    return _Found(rows, solved.prices[groups.leader], solved.iterations)


def extended(
    p: Floats, cost: Floats, epsilon: float, rows: Floats, lam: Floats, steps: int, stop: str
) -> WordAnswer:
    """Rows and prices of the words that are not faint, extended to all: the faint ones draw from the output distribution."""
    seen = p >= FAINT
    step, prices = np.zeros(cost.shape), np.full(len(p), lam.max())
    step[seen], prices[seen] = rows, lam
    step[~seen] = (p[seen] @ rows) / p[seen].sum()
    return finish(p, cost, epsilon, step, prices, steps, stop)


def _heavy_alone(p: Floats, cost: Floats, levels: Levels) -> Floats | None:
    """Rows of K where each word of mass theta has its best release, and all others follow to these; None where that costs much."""
    best, heavy = cost.argmin(axis=1), p >= levels.theta * (1 + 2.0**-40)
    if not heavy.any():
        return None
    releases = np.unique(best[heavy])
    following = releases[cost[:, releases].argmin(axis=1)]
    chosen = np.where(heavy, best, following)
    charged = float(p @ (cost[np.arange(len(p)), chosen] - cost.min(axis=1)))
    if charged > LIGHT * float((p @ cost).min()):
        return None
    return np.asarray(np.eye(cost.shape[1])[chosen])


def transported(p: Floats, cost: Floats, rows: Floats, levels: Levels) -> Floats:
    """The cheapest K (n, m) of the output distribution Q that rows have, with K(y | x) <= Q(y) / theta; the rows where there are many.

    Examples
    --------
    >>> rows = np.array([[0.5, 0.5], [0.5, 0.5]])
    >>> transported(np.array([0.5, 0.5]), 1 - np.eye(2), rows, Levels.of(0.0)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    rows = rows / rows.sum(axis=1, keepdims=True)
    output = p @ rows
    used = np.flatnonzero(output)
    n, m = len(p), len(used)
    if m > FEW or n * m > TRANSPORTED:
        return rows
    tops = np.maximum(np.minimum(output[used] / levels.theta, 1.0), rows[:, used].max(axis=0))
    cells = np.arange(n * m)
    equal = Rows(
        np.concatenate([np.ones(n * m), np.tile(p, m)]),
        np.concatenate([cells, cells.reshape(n, m).T.ravel()]),
        np.concatenate([m * np.arange(n), n * m + n * np.arange(m + 1)]),
        np.concatenate([np.ones(n), output[used]]),
    )
    best = minimise(
        (p[:, None] * cost[:, used]).ravel(),
        Rows.none(),
        equal,
        upper=np.tile(tops, n),
        tolerance=FINEST,
    )
    if best is None:
        return rows
    own = np.zeros(rows.shape)
    own[:, used] = best.point.reshape(n, m).clip(0.0)
    return own


def _gathered(setting: Setting, p: Floats, level: float, seconds: float) -> WordAnswer | None:
    return solve_quickly(p, setting.cost, level)


def _in_few_groups(setting: Setting, p: Floats, level: float, seconds: float) -> WordAnswer | None:
    return solve_in_few_groups(p, setting.cost, level)


AGGREGATION = WordFormula("aggregation", _gathered)
WORD_GROUPS = WordFormula("word-groups", _in_few_groups)

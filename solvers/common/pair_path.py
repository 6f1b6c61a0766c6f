"""Pairwise merging of symbols: on arrays, or compiled where they are too many for arrays; the same merges either way."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from privopt.core.solver import Budget
from privopt.solvers.common import pair_dense, pair_lists, pair_steps
from privopt.solvers.common.merging_table import MergingTable
from privopt.solvers.common.pair_rule import FLOOR_SLACK, NATS, PairPath, PairRule

MAX_COMPILED = 50_000
"""Symbols that compiled merging takes; memory is 700 bytes a symbol."""

WORTH_COMPILING = pair_dense.MAX_SYMBOLS + 1
"""Fewer symbols are merged on arrays, which are as quick and need no compiling."""

SLICE = 4e6
"""Pairs looked at between two looks at the clock."""


def max_symbols() -> int:
    """How many symbols can be merged here."""
    return MAX_COMPILED if find_spec("numba") else pair_dense.MAX_SYMBOLS


def predicted_seconds(size: int, width: int) -> float:
    """What a path of merges from n symbols takes, for joint laws of so many rows."""
    if size >= WORTH_COMPILING:
        return 20.0 + 1.2e-8 * size**2 * (width + 2)
    return 1e-3 + 2e-5 * size + 1e-8 * size**2 * (width + 10)


def merge_path(table: MergingTable, rule: PairRule, budget: Budget, compiled: bool | None = None) -> PairPath:
    """Merge pairs by a rule from every symbol on its own.

    Parameters
    ----------
    compiled : bool, optional
        Whether to use compiled loops; by default where there are too many symbols for arrays.

    Examples
    --------
    >>> import privopt as po
    >>> from privopt.problems.privacy_funnel.problem import PrivacyFunnel
    >>> from privopt.solvers.common.merging_table import merging_table
    >>> joint = po.JointDistribution.normalised([[5, 2, 1, 3], [1, 3, 4, 2]])
    >>> path = merge_path(merging_table(PrivacyFunnel(joint, trade_off=0.1)), PairRule(), Budget())
    >>> path.pairs.tolist(), path.assignment(1).tolist()
    ([[0, 2], [1, 3], [0, 1]], [0, 1, 0, 2])
    """
    if compiled is None:
        compiled = table.size >= WORTH_COMPILING
    return (
        _compiled_path(table, rule, budget) if compiled else pair_dense.DensePairs(table, rule, budget).run()
    )


def lists_of(table: MergingTable, rule: PairRule) -> pair_lists.Lists:
    """The state at the start."""
    n, length = table.size, pair_lists.LENGTH
    limits = [
        rule.multiplier,
        rule.floor - FLOOR_SLACK,
        0.0 if rule.price is None else rule.price,
        -np.inf if rule.price is None else 0.5 / NATS,
        rule.stop_secret,
        rule.stop_useful,
    ]
    path = np.empty((n + 1, 2))
    path[0] = table.informations
    return pair_lists.Lists(
        rows=np.hstack([table.secret, table.useful]),
        mass=table.mass.copy(),
        costs=np.column_stack(table.costs),
        version=np.zeros(n, dtype=np.int64),
        partner=np.zeros((n, length), dtype=np.int64),
        age=np.zeros((n, length), dtype=np.int64),
        score=np.zeros((n, length)),
        front=np.zeros(n, dtype=np.int64),
        filled=np.zeros(n, dtype=np.int64),
        left_score=np.full(n, -np.inf),
        left_partner=np.zeros(n, dtype=np.int64),
        pairs=np.zeros((n, 2), dtype=np.int64),
        path=path,
        levels=np.array([*table.informations, 0.0, 0.0, 0.0]),
        limits=np.array(limits),
        kinds=np.array([table.secret.shape[1], rule.code, 0 if rule.first else 1]),
    )


def _compiled_path(table: MergingTable, rule: PairRule, budget: Budget) -> PairPath:
    n, width = table.size, table.secret.shape[1] + table.useful.shape[1]
    build, advance = compiled_loops(budget)
    state = lists_of(table, rule)
    step = max(1, int(SLICE / (n * (width + 1))))
    begin, going = 0, True
    while begin < n and budget.remaining > 0:
        build(state, begin, min(n, begin + step))
        begin += step
        budget.progress(0.4 * min(1.0, begin / n), "scoring pairs")
    while begin >= n and going and budget.remaining > 0:
        going = advance(state, step)
        budget.progress(0.4 + 0.6 * state.levels[4] / n, "merging pairs")
    m = int(state.levels[4])
    return PairPath(n, state.pairs[:m], state.path[: m + 1, 0], state.path[: m + 1, 1], not going)


def compiled_loops(budget: Budget) -> tuple[Any, Any]:
    """The loops ``build`` and ``advance``, compiled on the first call; the progress says so."""
    budget.progress(0.0, "compiling loops, once, in some seconds")
    return _loops()


@cache
def _loops() -> tuple[Any, Any]:
    from privopt.solvers.common.compiling import compiled

    lists, steps = pair_lists, pair_steps
    helpers = (lists.lose, lists.rate, lists.allowed, lists.insert, lists.scan)
    helpers += (steps.drop_gone, steps.best_row, steps.lower, steps.merge)  # type: ignore[assignment]
    return compiled(lists.build, helpers), compiled(steps.advance, helpers)

"""Pairwise merging of symbols: on arrays, or compiled where they are too many for arrays; the same merges either way."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.solver import Budget
from privopt.errors import InvalidProblem
from privopt.measures.compiling import numba_installed
from privopt.solvers.trade_off.mergings import MergingTable
from privopt.solvers.trade_off.pair_lists import LENGTH, Lists, compiled_loops

MAX_SYMBOLS = 6000
"""Symbols whose table of scores fits 300 MB; they are merged on arrays, as quickly and without compiling."""

MAX_COMPILED = 50_000
"""Symbols that compiled merging takes; memory is 700 bytes a symbol."""

SLICE = 4e6
"""Pairs looked at between two looks at the clock."""

SCORES = ("leakage", "ratio", "lagrangian", "closeness")
"""dS, dS / dX, dS - multiplier dX, and the negative of that, where a merge lowers I(S;Y) by dS and I(X;Y) by dX >= dS."""

NATS = 2.0**44
"""Scores in nats are compared in units of 2^-44, so that rounding decides no tie; ratios in units of 2^-32."""

RATIOS = 2.0**32

FLOOR_SLACK = 9.9e-13
"""By how many nats a floor may be missed: 1e-12, less what sums of thousands of floats are off."""


@dataclass(frozen=True)
class PairRule:
    """The pair of best score merges next; equal scores (to 2^-44 nats, ratios to 2^-32) go to the lowest pair.

    Parameters
    ----------
    score : str
        One of ``SCORES``.
    multiplier : float
        For the scores "lagrangian" and "closeness".
    floor : float
        I(X;Y) must stay at least this, to 9.9e-13.
    price : float or None
        Unless None, only merges with dS - price dX > 2^-45 are made.
    stop_secret, stop_useful : float
        Ends as soon as I(S;Y), or I(X;Y), is at most this.
    first : bool
        End when the best pair is not admissible, rather than skip it.
    """

    score: str = "leakage"
    multiplier: float = 0.0
    floor: float = -math.inf
    price: float | None = None
    stop_secret: float = -math.inf
    stop_useful: float = -math.inf
    first: bool = False

    def __post_init__(self) -> None:
        if self.score not in SCORES:
            raise InvalidProblem(f"score must be one of {', '.join(SCORES)}, got {self.score!r}")

    @property
    def code(self) -> int:
        """The score by number."""
        return SCORES.index(self.score)

    def scores(self, d_secret: Floats, d_useful: Floats) -> Floats:
        """Scores of merges, as whole numbers in floats."""
        if self.score == "ratio":
            return np.asarray(np.rint(d_secret / np.maximum(d_useful, 1e-300) * RATIOS))
        weight = 0.0 if self.score == "leakage" else self.multiplier
        worth = d_secret - weight * d_useful
        return np.asarray(np.rint((-worth if self.score == "closeness" else worth) * NATS))

    def admissible(
        self, d_secret: Floats, d_useful: Floats, useful: float
    ) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Which merges keep the floor, from I(X;Y) = ``useful``, and are worth their price."""
        kept = d_useful <= useful - self.floor + FLOOR_SLACK
        return kept if self.price is None else kept & (d_secret - self.price * d_useful > 0.5 / NATS)

    def ended(self, secret: float, useful: float) -> bool:
        """Whether the path ends here whatever could be merged."""
        return secret <= self.stop_secret or useful <= self.stop_useful


@dataclass(frozen=True, eq=False)
class PairPath:
    """The merges made, in order: the block of first symbol ``pairs[t, 1]`` joins that of ``pairs[t, 0]``.

    Parameters
    ----------
    size : int
        Number n of symbols at the start.
    pairs : int array (m, 2)
        First symbols of the merged blocks, the lower one first.
    secret, useful : float array (m + 1,)
        I(S;Y) and I(X;Y) before the first merge and after each, in nats.
    complete : bool
        False if time ran out.
    """

    size: int
    pairs: Ints
    secret: Floats
    useful: Floats
    complete: bool

    def assignment(self, merges: int | None = None) -> Ints:
        """Block of each symbol after some merges, all by default, numbered by first symbols."""
        head = np.arange(self.size)
        made = self.pairs[slice(None, merges)]
        head[made[:, 1]] = made[:, 0]
        for i in range(self.size):
            head[i] = head[head[i]]  # heads are lower, so they are final by now
        return np.asarray(np.unique(head, return_inverse=True)[1].reshape(-1))


def pair_path(
    size: int, pairs: Sequence[tuple[int, int]], levels: Sequence[tuple[float, float]], *, complete: bool
) -> PairPath:
    """The path of some merges, with both informations before the first and after each."""
    both = np.array(levels)
    return PairPath(size, np.array(pairs, dtype=np.int64).reshape(-1, 2), both[:, 0], both[:, 1], complete)


class DensePairs:
    """Scores of all pairs i < j, -inf where a pair is gone or not admissible."""

    def __init__(self, table: MergingTable, rule: PairRule, budget: Budget) -> None:
        self.rule, self.table, self.budget = rule, table, budget
        self.secret, self.useful, self.mass = table.secret.copy(), table.useful.copy(), table.mass.copy()
        self.costs = [cost.copy() for cost in table.costs]
        self.levels, self.carry = list(table.informations), [0.0, 0.0]
        self.alive = np.ones(table.size, dtype=bool)
        self.scores = np.full((table.size, table.size), -np.inf)
        self.best = np.full(table.size, -np.inf)
        self.partner = np.zeros(table.size, dtype=np.int64)

    def losses(self, i: int, others: Ints) -> tuple[Floats, Floats]:
        """What merging i with each of the others takes from I(S;Y) and from I(X;Y)."""
        rows = (v[others] + v[i] for v in (self.secret, self.useful, self.mass))
        together = self.table.costs_of(*rows)
        first, second = (c[others] + c[i] - t for c, t in zip(self.costs, together, strict=True))
        return first, second

    def rescore(self, i: int, others: Ints) -> Floats:
        """Scores of i with the others; not admissible ones are -inf."""
        d_secret, d_useful = self.losses(i, others)
        scores = self.rule.scores(d_secret, d_useful)
        if not self.rule.first:
            scores[~self.rule.admissible(d_secret, d_useful, self.levels[1])] = -np.inf
        return scores

    def find_best(self, i: int) -> None:
        """Look through row i."""
        row = self.scores[i, i + 1 :]
        if len(row):
            k = int(np.argmax(row))
            self.partner[i], self.best[i] = i + 1 + k, row[k]

    def run(self) -> PairPath:
        """Merge until the rule ends it or time runs out."""
        pairs: list[tuple[int, int]] = []
        levels, n = [self._now()], self.table.size
        complete = self._fill()
        while complete and not self.rule.ended(*self.levels):
            if self.budget.remaining <= 0:
                complete = False
                break
            a = int(np.argmax(self.best))
            c = int(self.partner[a])
            if self.best[a] == -np.inf:
                break
            lost = self.losses(a, np.array([c]))
            if not self.rule.admissible(*lost, self.levels[1])[0]:
                if self.rule.first:
                    break
                self._refresh(a)
                continue
            self._lower(float(lost[0][0]), float(lost[1][0]))
            pairs.append((a, c))
            levels.append(self._now())
            self._merge(a, c)
            self.budget.progress(0.2 + 0.8 * len(pairs) / n, "merging pairs")
        return pair_path(n, pairs, levels, complete=complete)

    def _now(self) -> tuple[float, float]:
        return self.levels[0], self.levels[1]

    def _fill(self) -> bool:
        n = self.table.size
        for i in range(n - 1):
            if i % 64 == 0:
                if self.budget.remaining <= 0:
                    return False
                self.budget.progress(0.2 * i / n, "scoring pairs")
            self.scores[i, i + 1 :] = self.rescore(i, np.arange(i + 1, n))
            self.find_best(i)
        return True

    def _lower(self, *lost: float) -> None:
        """Take losses from both informations, by Kahan's compensated sums: a floor is met to 1e-12 after thousands."""
        for k, loss in enumerate(lost):
            step = -loss - self.carry[k]
            level = self.levels[k] + step
            self.carry[k] = (level - self.levels[k]) - step
            self.levels[k] = level

    def _refresh(self, i: int) -> None:
        """Drop what is no longer admissible from row i."""
        others = i + 1 + np.flatnonzero(self.scores[i, i + 1 :] > -np.inf)
        self.scores[i, others] = self.rescore(i, others)
        self.find_best(i)

    def _merge(self, a: int, c: int) -> None:
        for values in (self.secret, self.useful, self.mass):
            values[a] += values[c]
        together = self.table.costs_of(self.secret[a], self.useful[a], self.mass[a])
        self.costs[0][a], self.costs[1][a] = together
        self.alive[c] = False
        self.scores[c], self.scores[:, c], self.best[c] = -np.inf, -np.inf, -np.inf
        below, above = np.flatnonzero(self.alive[:a]), a + 1 + np.flatnonzero(self.alive[a + 1 :])
        self.scores[below, a] = self.rescore(a, below)
        self.scores[a, above] = self.rescore(a, above)
        self.find_best(a)
        mine, kept = self.scores[below, a], self.best[below]
        better = (mine > kept) | ((mine == kept) & (a < self.partner[below]))
        stale = np.isin(self.partner[below], (a, c)) & ~(mine > kept)
        self.best[below[better]], self.partner[below[better]] = mine[better], a
        for i in below[stale].tolist():
            self.find_best(i)
        for i in range(a + 1, c):
            if self.alive[i] and self.partner[i] == c:
                self.find_best(i)


def max_symbols() -> int:
    """How many symbols can be merged here."""
    return MAX_COMPILED if numba_installed() else MAX_SYMBOLS


def predicted_seconds(size: int, width: int) -> float:
    """What a path of merges from n symbols takes, for joint distributions of so many rows."""
    if size > MAX_SYMBOLS:
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
    >>> from privopt.solvers.trade_off.mergings import merging_table
    >>> joint = po.JointDistribution.normalised([[5, 2, 1, 3], [1, 3, 4, 2]])
    >>> path = merge_path(merging_table(PrivacyFunnel(joint, trade_off=0.1)), PairRule(), Budget())
    >>> path.pairs.tolist(), path.assignment(1).tolist()
    ([[0, 2], [1, 3], [0, 1]], [0, 1, 0, 2])
    """
    if compiled is None:
        compiled = table.size > MAX_SYMBOLS
    return _compiled_path(table, rule, budget) if compiled else DensePairs(table, rule, budget).run()


def lists_of(table: MergingTable, rule: PairRule) -> Lists:
    """The state at the start."""
    n, length = table.size, LENGTH
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
    return Lists(
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
    budget.progress(0.0, "compiling loops, once, in some seconds")
    build, advance = compiled_loops()
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

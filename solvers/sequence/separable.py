"""Chains that stay or begin afresh: a potential that is a sum over letters bounds all releases together, by one linear program."""

from __future__ import annotations

import math
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.registry import register
from privopt.core.solver import OUT_OF_TIME, Budget, Guarantee, Proposal, Solver
from privopt.mechanisms.policy.formulas.look_ahead import grid
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
from privopt.problems.sequence_information_privacy.separable import (
    SumBounds,
    bounds_of,
    refuse_separable,
)
from privopt.solvers.sequence.potential import plain_policy

POINTS = (9, 17, 33, 65)
"""Points of the grids, one after another."""
TABLES = 6
"""Releases from the last one on that have tables of their own."""
MOST_ROWS = 60_000
"""Of a linear program."""
STEEP = 30.0
"""Prices and values are at most so many times the largest distortion."""
LONGER = 4.0
"""How many times as long the next program may take."""


@register
@dataclass(frozen=True)
class Separable(Solver[SequenceInformationPrivacy]):
    """Chains that stay or begin afresh: a potential that is a sum over letters bounds all releases together, by one linear program.

    From each state one goes to a letter of its own, or to any letter whatever the state: all chains of two letters, chains that stay
    with one probability, and noisy cycles. A potential that adds up functions of the posteriors of single letters, with
    prices of the same kind, is a linear program whose size grows with letters times releases; letters that are alike count once. It
    proposes one release at a time.

    Releases are those of Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information Privacy". Potentials as bounds:
    D. P. de Farias, B. Van Roy, "The Linear Programming Approach to Approximate Dynamic Programming".
    """

    solves: ClassVar = SequenceInformationPrivacy
    name: ClassVar[str] = "separable"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BOUNDED
    """With a bound that is checked."""

    def cost(self, problem: SequenceInformationPrivacy) -> float:
        """The program of the first grid, which grows with the kinds of letters and releases."""
        bounds = bounds_of(problem, grid(2))
        kinds = 1 if bounds is None else len(Alike.of(bounds, np.array(problem.chain.initial)).types)
        return 0.4 + 0.05 * kinds

    def refuse(self, problem: SequenceInformationPrivacy) -> str | None:
        """Refuse other chains, words, and budgets of nothing, of everything, or nearly."""
        if problem.robust:
            return "it takes a chain, not a set of chains"
        if problem.chain.k == 2:
            return "chains of two letters have a bound that is nearer, that of look-ahead"
        return refuse_separable(problem)

    def run(self, problem: SequenceInformationPrivacy, budget: Budget) -> Proposal:
        """Propose one release at a time, with the potential as proof."""
        policy = plain_policy(problem, budget)
        bound, dual, stats = -math.inf, None, dict[str, float | int | str]()
        for points in POINTS:
            begun = time.monotonic()
            found = _dual(problem, points, budget)
            if found is None:
                break
            proved = problem.prove_bound(found, budget.remaining)
            if proved is not None and -proved[1] > bound:
                bound, dual = -proved[1], found
                stats = {"points": points}
                budget.report(None, -bound)
            if points < POINTS[-1] and LONGER * (time.monotonic() - begun) > budget.remaining:
                stats = {**stats, "stop": OUT_OF_TIME}
                break
        if dual is None:
            return Proposal(policy, stats={"points": 0, "stop": OUT_OF_TIME})
        return Proposal(policy, -bound, dual, stats=stats)


def _dual(problem: SequenceInformationPrivacy, points: int, budget: Budget) -> dict[str, Any] | None:
    """The best potential on a grid of so many points; None where it is too large or out of time."""
    bounds = bounds_of(problem, grid(points))
    if bounds is None:
        return None
    initial = None if problem.lasting else np.array(problem.chain.initial)
    alike = Alike.of(bounds, initial)
    program = Program(bounds, alike)
    rows = len(alike.types) * program.points
    if rows > MOST_ROWS:
        return None
    count = 1 if problem.lasting else min(TABLES, problem.span - 1, max(1, MOST_ROWS // (4 * rows)))
    if problem.lasting:
        program.releases(1, 0, 1.0, lasting=True)
    else:
        program.releases(count, problem.span - 1 - count, 1.0, lasting=False)
        program.first(np.array(problem.chain.initial), count)
    return program.solved(budget.remaining)


@dataclass(frozen=True, eq=False)
class Alike:
    """Which letters and which releases are alike, as classes (n,) and (m,), and the kinds of pairs of a state and a release."""

    letters: Ints
    outputs: Ints
    types: dict[tuple[int, int, float], int]
    """By the class of the state, that of the release, and the distortion of the letter of the state."""
    sums: list[tuple[int, Counter[int]]]
    """For each kind of release, its class, and how many states of each type it has."""

    @classmethod
    def of(cls, bounds: SumBounds, initial: Floats | None) -> Alike:
        """By refinement until classes tell apart no more."""
        cost, own = bounds.cost.round(12), bounds.stays.own
        n, m = cost.shape
        start = np.zeros(n) if initial is None else initial
        letters = _classes(
            [(round(float(bounds.stays.fresh[x]), 12), round(float(start[x]), 12)) for x in range(n)]
        )
        outputs, before = np.zeros(m, dtype=np.int64), 0
        while before < letters.max() + outputs.max() + 2:
            before = int(letters.max() + outputs.max() + 2)
            outputs = _classes(
                [
                    (outputs[y], *sorted(zip(cost[:, y].tolist(), letters.tolist(), strict=True)))
                    for y in range(m)
                ]
            )
            letters = _classes(
                [
                    (
                        letters[x],
                        letters[own[x]],
                        *sorted(zip(cost[x].tolist(), outputs.tolist(), strict=True)),
                    )
                    for x in range(n)
                ]
            )
        types: dict[tuple[int, int, float], int] = {}
        sums: list[tuple[int, Counter[int]]] = []
        for y in range(m):
            keys = [(int(letters[i]), int(outputs[y]), float(cost[own[i], y])) for i in range(n)]
            counted = int(outputs[y]), Counter(types.setdefault(key, len(types)) for key in keys)
            if counted not in sums:
                sums.append(counted)
        return cls(letters, outputs, types, sums)


def _classes(keys: list[Any]) -> Ints:
    """Equal keys have equal numbers, from 0."""
    seen: dict[Any, int] = {}
    return np.array([seen.setdefault(key, len(seen)) for key in keys])


@dataclass(eq=False)
class _Block:
    """Where the variables of a release are: prices (classes, K), s and nu (kinds), mu (types) and the gain."""

    prices: Ints
    level: Ints
    mean: Ints


@dataclass(eq=False)
class Program:
    """The linear program of a potential on a grid; values and prices are variables, as is what each release costs."""

    bounds: SumBounds
    alike: Alike
    _count: int = 0
    _rows: list[tuple[Ints, Ints, Floats, Floats]] = field(default_factory=list)
    _gain: dict[int, float] = field(default_factory=dict)
    _tables: list[Ints] = field(default_factory=list)
    _blocks: list[_Block] = field(default_factory=list)
    _first: _Block | None = None

    def __post_init__(self) -> None:
        own = self.bounds.stays.own
        self._places = []
        for c in range(int(self.alike.letters.max()) + 1):
            i = int(np.flatnonzero(self.alike.letters == c)[0])
            begin = float(self.bounds.stays.fresh[own[i]])
            r = self.bounds.cuts(begin)
            b = begin + self.bounds.stays.stay * r
            self._places.append((r, b, *self._posteriors(b)))

    @property
    def _unit(self) -> float:
        return float(np.abs(self.bounds.cost).max()) or 1.0

    @property
    def points(self) -> int:
        """Posteriors of a state and a release that it may hold, at most."""
        return max(len(at) for _, _, at, _ in self._places)

    def _posteriors(self, b: Floats) -> tuple[Ints, Floats]:
        """Pairs of a belief and a posterior that it may lead to: those of the grid, and the ends."""
        low, high = self.bounds.box(b)
        at, j = np.nonzero((self.bounds.grid > low[:, None]) & (self.bounds.grid < high[:, None]))
        every = np.arange(len(b))
        return np.concatenate([at, every, every]), np.concatenate([self.bounds.grid[j], low, high])

    def _new(self, *shape: int) -> Ints:
        size = math.prod(shape)
        self._count += size
        return np.arange(self._count - size, self._count).reshape(shape)

    def _row(self, terms: list[tuple[Ints, Any]], sides: Floats) -> None:
        """Rows sum of terms <= sides; each term has a variable and a coefficient for each row."""
        count = len(sides)
        at = np.tile(np.arange(count), len(terms))
        variables = np.concatenate([np.broadcast_to(v, count) for v, _ in terms])
        factors = np.concatenate([np.broadcast_to(np.asarray(f, dtype=np.float64), count) for _, f in terms])
        self._rows.append((at, variables, factors, sides))

    def _after(self, table: Ints | None, p: Floats, sign: Floats | float) -> list[tuple[Ints, Any]]:
        """The terms of a table at posteriors."""
        if table is None:
            return []
        z = self.bounds.grid
        after = np.searchsorted(z, p, side="right").clip(1, len(z) - 1)
        share = (p - z[after - 1]) / (z[after] - z[after - 1])
        return [(table[after - 1], sign * (1 - share)), (table[after], sign * share)]

    def releases(self, count: int, left: int, weight: float, *, lasting: bool) -> None:
        """The last so many releases with tables of their own, and those before with the last table."""
        classes, width = int(self.alike.letters.max()) + 1, len(self.bounds.grid)
        self._tables = [self._new(classes, width) for _ in range(count)]
        if lasting:
            self._release(self._tables[0], self._tables[0], weight)
            return
        for k, table in enumerate(self._tables):
            self._release(self._tables[k - 1] if k else None, table, weight)
        if left:
            self._release(self._tables[-1], self._tables[-1], weight * left)

    def _release(self, later: Ints | None, aim: Ints, weight: float) -> None:
        classes, width = int(self.alike.letters.max()) + 1, len(self.bounds.grid)
        kinds = int(self.alike.outputs.max()) + 1
        block = _Block(self._new(classes, width), self._new(kinds), self._new(kinds))
        least, gain = self._new(len(self.alike.types)), self._new(1)
        bends = [self._bends(c, row) for c, row in enumerate(block.prices)]
        for (c, o, cost), t in self.alike.types.items():
            r, b, at, p = self._places[c]
            cheapest, letter, count = self._new(len(r)), self._letter(c), len(r)
            bend = np.concatenate([bends[c][0][at[: -2 * count]], *bends[c][1:]])
            if later is None:  # what is linear is least at an end
                at, p, bend = at[-2 * count :], p[-2 * count :], bend[-2 * count :]
            own = None if later is None else later[letter]
            terms = [(cheapest[at], 1.0), (bend, 1.0), (block.level[o : o + 1], p)]
            terms += self._after(block.prices[c], r[at], p)
            self._row([*terms, *self._after(own, p, -1.0)], cost * p)
            terms = [(least[t : t + 1], 1.0), *self._after(block.prices[c], r, -b), (cheapest, -1.0)]
            self._row([*terms, *self._after(aim[c], r, 1.0), (block.mean[o : o + 1], r)], np.zeros(count))
        self._total(block, least, gain)
        self._gain[int(gain[0])] = weight
        self._blocks.append(block)

    def _bends(self, c: int, prices: Ints) -> Ints:
        """What quadratic functions between cuts are below their ends at most: for points of the grid, and for both ends; (3, cuts)."""
        r, b, *_ = self._places[c]
        low, high = self.bounds.box(b)
        bends = self._new(3, len(r))
        for bend, still in zip(bends, (np.zeros(len(r)), low, high), strict=True):
            self._row([(bend, -1.0)], np.zeros(len(r)))
            wide = (np.diff(b) - np.diff(still)) / 4
            terms = [*self._after(prices, r[1:], wide), *self._after(prices, r[:-1], -wide)]
            for side in (bend[1:], bend[:-1]):
                self._row([(side, -1.0), *terms], np.zeros(len(wide)))
        return bends

    def _letter(self, c: int) -> int:
        """The class of the letter that states of a class go to."""
        i = int(np.flatnonzero(self.alike.letters == c)[0])
        return int(self.alike.letters[self.bounds.stays.own[i]])

    def _total(self, block: _Block, least: Ints, gain: Ints) -> None:
        for o, counted in self.alike.sums:
            terms: list[tuple[Ints, Any]] = [
                (gain, 1.0),
                (block.level[o : o + 1], -1.0),
                (block.mean[o : o + 1], -1.0),
            ]
            terms += [(least[t : t + 1], -float(times)) for t, times in counted.items()]
            self._row(terms, np.zeros(1))

    def first(self, belief: Floats, count: int) -> None:
        """The first release, at a belief, before the last table."""
        classes, kinds = int(self.alike.letters.max()) + 1, int(self.alike.outputs.max()) + 1
        block = _Block(self._new(classes, 1), self._new(kinds), self._new(kinds))
        least, gain, later = self._new(len(self.alike.types)), self._new(1), self._tables[count - 1]
        for (c, o, cost), t in self.alike.types.items():
            i = int(np.flatnonzero(self.alike.letters == c)[0])
            x = int(self.bounds.stays.own[i])
            letter, b = int(self.alike.letters[x]), belief[x : x + 1]
            _, p = self._posteriors(b)
            cheapest = self._new(1)
            terms = [(cheapest, 1.0), (block.level[o : o + 1], p), (block.prices[c], p)]
            self._row([*terms, *self._after(later[letter], p, -1.0)], cost * p)
            self._row([(least[t : t + 1], 1.0), (block.prices[c], -b), (cheapest, -1.0)], np.zeros(1))
        self._total(block, least, gain)
        self._row([(block.mean, 1.0)], np.zeros(kinds))
        self._row([(block.mean, -1.0)], np.zeros(kinds))
        self._gain[int(gain[0])] = 1.0
        self._first = block

    def solved(self, seconds: float) -> dict[str, Any] | None:
        """The dual that the best point of the program is."""
        from scipy.optimize import linprog
        from scipy.sparse import coo_matrix

        begins = np.cumsum([0, *(len(sides) for *_, sides in self._rows)])
        rows = np.concatenate([at + begin for (at, *_), begin in zip(self._rows, begins, strict=False)])
        columns, factors = (np.concatenate([each[k] for each in self._rows]) for k in (1, 2))
        made: Any = coo_matrix  # whose stubs know no pair of rows and columns
        table = made((factors, (rows, columns)), shape=(int(begins[-1]), self._count)).tocsr()
        objective = np.zeros(self._count)
        for at, weight in self._gain.items():
            objective[at] = -weight
        most = STEEP * self._unit
        asked: Any = linprog  # stubs leave out sparse matrices
        solved = asked(
            objective,
            A_ub=table,
            b_ub=np.concatenate([sides for *_, sides in self._rows]),
            bounds=(-most, most),
            method="highs-ipm",
            options={"time_limit": max(0.1, min(seconds, 1e6))},
        )
        if solved.status != 0 or solved.x is None:
            return None
        return self._written(np.asarray(solved.x, dtype=np.float64))

    def _written(self, x: Floats) -> dict[str, Any]:
        letters, outputs, own = self.alike.letters, self.alike.outputs, self.bounds.stays.own
        dual: dict[str, Any] = {
            "kind": "separable",
            "grid": self.bounds.grid.tolist(),
            "values": [x[table][letters].tolist() for table in self._tables],
            "releases": [
                {
                    "prices": x[block.prices][letters].tolist(),
                    "level": x[block.level][outputs].tolist(),
                    "mean": x[block.mean][outputs].tolist(),
                }
                for block in self._blocks
            ],
        }
        if self._first is not None:
            prices = np.empty((len(letters), 1))
            prices[own] = x[self._first.prices][letters]
            dual["first"] = {"prices": prices.tolist(), "level": x[self._first.level][outputs].tolist()}
        return dual

"""Chains of several letters: a potential that is quadratic on cells bounds all releases together, by one linear program of many blocks."""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.balls import Balls
from privopt.core.highs import Rows, minimise
from privopt.core.registry import register
from privopt.core.solver import OUT_OF_TIME, Budget, Guarantee, Proposal, Solver
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
from privopt.problems.sequence_information_privacy.quadratics import (
    MAX_CELLS,
    Partition,
    Release,
    end_signs,
    mean_posterior,
    padded,
    refuse_quadratics,
    squares,
    steps_of,
)
from privopt.solvers.sequence._block_program import Blocks, Found, maximise
from privopt.solvers.sequence.potential import plain_policy

LEAST_INFLUENCE = 1e-6
"""How far the rows of a chain must be apart."""
GROWTH = 1.5
"""How many times as many cells the next program has."""
RATE = 1.2e10
"""Multiplications of blocks in a second, for the first prediction."""
STEPS = 30
"""Of a program, for the same."""
BEYOND = 1.4
"""Of the time that is left, what a program may be expected to take: one that is stopped proves something, too."""
MOST_NUMBERS = 2**25
"""Of the blocks of a program: three quarters of a gigabyte with what they are multiplied by."""
RARE = 1e-5
"""Share of the time below which a cell is not halved."""
NARROW = 1e-8
"""Mean square of a spread below which it is not, either."""
MOST_SQUARES = 24
"""Of a pair of cells."""
EACH_TIME = 2
"""New ones of a pair after a program, at most."""
BELOW = 1e-7
"""How negative a mean square must be for another one."""
IDLE = 1e-9
"""Weight of a square below which it is left out of the next program."""
ROUNDS = 3
"""Programs with more and more squares on the first cells."""
ENOUGH = 2e-3
"""How much better more squares on the same cells must make the bound for another program, relatively."""
DIGITS = 10
"""Of weights in a dual."""
LARGEST = 1e4
"""Weight of an inequality in a proof that a pair of cells is empty."""

POINT = Balls.exact(np.zeros((0, 1)))
"""No inequality of what is known before the first release."""
FIRST = -1
"""Stands for it among cells."""
Pair = tuple[int, int]


@register
@dataclass(frozen=True)
class Quadratics(Solver[SequenceInformationPrivacy]):
    """Chains of several letters: a potential that is quadratic on cells bounds all releases together, by one linear program of many blocks.

    Posteriors are cut into cells, first by the release that is best there. The potential, its slopes, and weights of products of
    inequalities that prove what a release costs at least from each cell to each other one are the variables of a linear program, which
    an interior-point method of its own solves block by block. Its prices say where posteriors are and how far apart: the cells in
    which they spread most are halved, while there is time. It proposes one release at a time.

    Releases are those of Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information Privacy". Potentials as bounds:
    D. P. de Farias, B. Van Roy, "The Linear Programming Approach to Approximate Dynamic Programming". Products of inequalities: H. D.
    Sherali, C. H. Tuncbilek, "A Global Optimization Algorithm for Polynomial Programming Problems Using a Reformulation-Linearization
    Technique".
    """

    solves: ClassVar = SequenceInformationPrivacy
    name: ClassVar[str] = "quadratics"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BOUNDED
    """With a bound that is checked."""
    cells: int = 27
    """Cells at most; a program grows with their square, and the bound by less and less."""

    def cost(self, problem: SequenceInformationPrivacy) -> float:
        """The first program with a quadratic for each cell; that of one for all, where letters are too many."""
        n = problem.chain.k
        return 0.5 + 3.0 * (min(n, 8) / 8) ** 2 + 0.3 * (n / 8) ** 6

    def refuse(self, problem: SequenceInformationPrivacy) -> str | None:
        """Refuse words, sets of chains, long alphabets, and budgets of nothing, of everything, or nearly."""
        if problem.robust:
            return "it takes a chain, not a set of chains"
        if problem.chain.k == 2:
            return "chains of two letters have a bound that is nearer, that of look-ahead"
        refusal = refuse_quadratics(problem)
        if refusal is None and float(np.ptp(np.array(problem.chain.step(0)), axis=0).max()) < LEAST_INFLUENCE:
            return "letters hardly depend on one another"
        return refusal

    def run(self, problem: SequenceInformationPrivacy, budget: Budget) -> Proposal:
        """Propose one release at a time, with the potential as proof."""
        policy = plain_policy(problem, budget)
        search = _Search(problem, budget, min(self.cells, MAX_CELLS))
        bound, dual, stats = -math.inf, None, dict[str, float | int | str](cells=0)
        for single in (True, False) if search.divides else (True,):
            for programs in itertools.count(1):
                began = time.monotonic()
                found = search.program(single=single)
                if found is None:
                    break
                proved = problem.prove_bound(found, budget.remaining)
                gain = -math.inf if proved is None else -proved[1] - bound
                if proved is not None and gain > 0:
                    bound, dual, stats = -proved[1], found, {"cells": len(search.cells.rows)}
                    budget.report(None, -bound)
                search.took(time.monotonic() - began)
                better = gain >= ENOUGH * abs(bound)
                if single:
                    goes_on = better and (programs < ROUNDS or not search.divides)
                else:
                    goes_on = programs < ROUNDS or search.halved() or better
                if not goes_on:
                    break
        if search.hurried:
            stats = {**stats, "stop": OUT_OF_TIME}
        return Proposal(policy, None if dual is None else -bound, dual, stats=stats)


@dataclass(eq=False)
class _Search:
    """Cells of posteriors, and the program of the potential on them."""

    problem: SequenceInformationPrivacy
    budget: Budget
    most_cells: int
    rate: float = RATE
    hurried: bool = False
    """Whether a program was left out, or stopped, or fewer cells were halved, for want of time."""
    _trees: list[Any] = field(default_factory=list)
    _asked: float = 0.0
    _spreads: list[tuple[float, Floats]] = field(default_factory=list)
    _empty: dict[Pair, _Nothing] = field(default_factory=dict)
    _roots: dict[Pair, Floats] = field(default_factory=dict)
    _single: bool = True

    def __post_init__(self) -> None:
        self.begin, self.step = steps_of(self.problem)
        self._trees = [None] * self.step.cost.shape[1]
        self.cells = self._partition()

    def _partition(self) -> Partition:
        cells = Partition.of(self._trees, self.step.cost)
        if cells is None:
            raise AssertionError("halved cells are a partition")
        return cells

    def took(self, seconds: float) -> None:
        """Remember how fast the last program was."""
        self.rate = self._asked / max(seconds, 1e-3)

    def program(self, *, single: bool) -> dict[str, Any] | None:
        """The dual of the best potential, one quadratic for all cells or one for each; None where it is too large or out of time."""
        before = [Balls.exact(np.zeros((0, self.problem.chain.k)))] if single else self.cells.rows
        if self._single and not single:
            self._roots = {
                (i, j): roots for (_, j), roots in self._roots.items() for i in range(len(self.cells.rows))
            }
        self._single = single
        self._emptied(single=single)
        layout = _Layout(self.problem, self.cells, before, self._empty, self._roots)
        n = self.problem.chain.k
        numbers = self._numbers(len(layout.pairs), [] if single else self.cells.rows)
        self._asked = STEPS * numbers * n * (2 * n - 1)
        if numbers > MOST_NUMBERS:
            return None
        if self._asked / self.rate > BEYOND * self.budget.remaining:
            self.hurried = True
            return None
        groups = [layout.steps(self.step)]
        if not self.problem.lasting:
            groups += [layout.first(self.begin), layout.end()]
        until = time.monotonic() + 0.8 * self.budget.remaining
        found = maximise(groups, layout.objective(), until)
        self.hurried |= time.monotonic() > until
        if found is None:
            return None
        moments = _moments(found.prices[0], 2 * n - 1)
        if not single:
            self._spreads = _spreads(moments, layout.pairs, n, len(self.cells.rows))
        dual = layout.dual(found, self._trees)
        self._roots = {
            pair: with_roots(roots, moment)
            for pair, roots, moment in zip(layout.pairs, layout.used(found), moments, strict=True)
        }
        return dual

    def _numbers(self, pairs: int, before: list[Balls]) -> float:
        """How many there are in the blocks of so many pairs of cells."""
        n = self.problem.chain.k
        forms = (
            1 + 3 * n + sum(max((len(each.mid) for each in s), default=0) for s in (before, self.cells.rows))
        )
        return pairs * n * (2 * n - 1) * forms * (forms + 1) / 2

    @property
    def divides(self) -> bool:
        """Whether there is room for a quadratic for each of the first cells."""
        return self._numbers(len(self.cells.rows) ** 2, self.cells.rows) <= MOST_NUMBERS

    def halved(self) -> bool:
        """Halve the cells in which posteriors spread most; whether there are any, and room and time."""
        count = len(self.cells.rows)
        ratio = self.rate * self.budget.remaining / max(self._asked, 1.0)
        most = min(max(count + 1, math.floor(count * GROWTH)), self.most_cells)
        fits = min(math.floor(count * min(math.sqrt(ratio), GROWTH)), most)
        self.hurried |= fits < most
        wanted = max(0, fits - count)
        order = sorted(range(count), key=lambda c: -self._spreads[c][0])[:wanted]
        chosen = {c for c in order if self._spreads[c][0] > 0}
        if not chosen:
            return False
        at = iter(range(count))
        self._trees = [self._grown(tree, at, chosen) for tree in self._trees]
        self.cells = self._partition()
        parts = np.cumsum([0, *(2 if c in chosen else 1 for c in range(count))])
        self._empty = {
            (i, j): known.longer(a in chosen, b in chosen)
            for (a, b), known in self._empty.items()
            for i in ([FIRST] if a == FIRST else range(parts[a], parts[a + 1]))
            for j in range(parts[b], parts[b + 1])
        }
        self._roots = {
            (i, j): roots
            for (a, b), roots in self._roots.items()
            for i in range(parts[a], parts[a + 1])
            for j in range(parts[b], parts[b + 1])
        }
        return True

    def _emptied(self, *, single: bool) -> None:
        """Look which pairs of cells no release leads through, and where the first one does not lead."""
        rows = self.cells.rows
        every: list[tuple[int, int, Release, Balls]] = []
        if not single:
            every = [(i, j, self.step, before) for i, before in enumerate(rows) for j in range(len(rows))]
        if not self.problem.lasting:
            every += [(FIRST, j, self.begin, POINT) for j in range(len(rows))]
        for i, j, release, before in every:
            if (i, j) not in self._empty:
                signs = release.signs(before, rows[j]).mid
                found = _Nothing.of(signs, len(before.mid), len(rows[j].mid))
                if found is not None:
                    self._empty[i, j] = found

    def _grown(self, tree: Any, at: Any, chosen: set[int]) -> Any:
        if tree is not None:
            return {**tree, "parts": [self._grown(part, at, chosen) for part in tree["parts"]]}
        c = next(at)
        return {"by": self._spreads[c][1].tolist(), "parts": [None, None]} if c in chosen else None


@dataclass(frozen=True, eq=False)
class _Nothing:
    """Weights of inequalities whose sum says that -1 >= 0: of those of all pairs, of the cell before, and of the cell after."""

    common: Floats
    before: Floats
    after: Floats

    @classmethod
    def of(cls, signs: Floats, before: int, after: int) -> _Nothing | None:
        """From forms (C, N), the last of which bound cells; None where they can all be satisfied, or nearly."""
        begin, end = len(signs) - before - after, len(signs) - after
        falsehood = -np.eye(1, signs.shape[1])[0]
        found = minimise(np.ones(len(signs)), Rows.none(), Rows.dense(signs.T, falsehood), upper=LARGEST)
        if found is None:
            return None
        weights = found.point.clip(0.0)
        return cls(weights[:begin], weights[begin:end], weights[end:])

    def longer(self, before: bool, after: bool) -> _Nothing:
        """The same where a cell has one more inequality."""
        return _Nothing(
            self.common, np.append(self.before, [0.0] * before), np.append(self.after, [0.0] * after)
        )

    def weights(self, enough: float) -> list[float]:
        """Those of products that leave so much."""
        row = np.concatenate([self.common, self.before, self.after])
        table = np.zeros((len(row), len(row)))
        table[0] = enough * row
        return [float(w) for w in table[np.triu_indices(len(row))]]


def _moments(prices: Floats, width: int) -> Floats:
    """Those of the posteriors before and after a release, for pairs of cells: prices are minus them, shape (B, N, N)."""
    table = np.zeros((len(prices), width, width))
    one, other = np.triu_indices(width)
    table[:, one, other] = table[:, other, one] = -prices
    return table


def with_roots(roots: Floats, moment: Floats) -> Floats:
    """Forms (S, N), and those whose mean square by moments (N, N) is most negative.

    Examples
    --------
    >>> np.abs(with_roots(np.zeros((0, 2)), np.array([[1.0, 0.5], [0.5, 0.0]]))).round(3).tolist()
    [[0.383, 0.924]]
    """
    values, vectors = np.linalg.eigh(moment)
    new = vectors[:, :EACH_TIME][:, values[:EACH_TIME] < -BELOW].T
    return np.concatenate([roots, new])[-MOST_SQUARES:]


def _spreads(moments: Floats, pairs: list[Pair], n: int, cells: int) -> list[tuple[float, Floats]]:
    """How much posteriors of each cell spread along the direction in which they do most, and the form that halves it there."""
    width = 2 * n - 1
    table = np.zeros((cells, cells, width, width))
    for pair, moment in zip(pairs, moments, strict=True):
        table[pair] = moment
    before: Floats = np.asarray(table.sum(axis=1))[:, :n, :n]
    kept: Ints = np.concatenate([[0], np.arange(n, width)])
    after: Floats = np.asarray(table.sum(axis=0))[:, kept[:, None], kept]
    whole = np.vstack([np.eye(n - 1), -np.ones(n - 1)])
    spreads = []
    for both in zip(before, after, strict=True):
        best: tuple[float, Floats] = (0.0, np.zeros(n))
        for each in both:
            if each[0, 0] < RARE:
                continue
            mean = each[1:, 0] / each[0, 0]
            far = each[1:, 1:] - each[0, 0] * np.outer(mean, mean)
            values, vectors = np.linalg.eigh(whole @ far @ whole.T)
            most = int(np.abs(values).argmax())
            if abs(values[most]) > max(best[0], NARROW):
                centre, along = np.append(mean, 1 - mean.sum()), vectors[:, most]
                best = (float(abs(values[most])), along - along @ centre)
        spreads.append(best)
    return spreads


@dataclass(eq=False)
class _Layout:
    """Where the variables of the program are: the gain, that of the first release, its slopes, the line of the end, quadratics, slopes."""

    problem: SequenceInformationPrivacy
    cells: Partition
    before: list[Balls]
    empty: dict[Pair, _Nothing]
    roots: dict[Pair, Floats]

    def __post_init__(self) -> None:
        n = self.problem.chain.k
        every = [(i, j) for i in range(len(self.before)) for j in range(len(self.cells.rows))]
        self.pairs = [pair for pair in every if pair not in self.empty]
        self.reached = [j for j in range(len(self.cells.rows)) if (FIRST, j) not in self.empty]
        self._pieces, self._coefficients = len(self.before), n * (n + 1) // 2
        self._line = 2 + n
        self._quadratics = 2 + 2 * n
        self._slopes = self._quadratics + self._pieces * self._coefficients
        self.count = self._slopes + self._pieces * n * n
        self._tables: list[_Signs] = []

    def objective(self) -> Floats:
        """What the mean release costs at least."""
        goal, n = np.zeros(self.count), self.problem.chain.k
        if self.problem.lasting:
            goal[0] = 1.0
            return goal
        goal[0], goal[1] = self.problem.span - 1, 1.0
        goal[self._line : self._line + n] = -mean_posterior(self.problem).mid[0]
        return np.asarray(goal / self.problem.span)

    def _piece(self, at: Ints) -> Ints:
        """The places of quadratics (B, n (n + 1) / 2)."""
        at = np.zeros_like(at) if self._pieces == 1 else at
        return self._quadratics + at[:, None] * self._coefficients + np.arange(self._coefficients)

    def steps(self, release: Release) -> Blocks:
        """The blocks of a release from each cell to each other one."""
        n = self.problem.chain.k
        i, j = np.array(self.pairs).T
        signs = _Signs.of(
            [release.signs(self.before[a], self.cells.rows[b]) for a, b in self.pairs],
            [self.roots.get(pair, np.zeros((0, 2 * n - 1))) for pair in self.pairs],
        )
        later = -coefficients(release.squares(np.eye(self._coefficients), after=True).mid)
        earlier = coefficients(release.squares(np.eye(self._coefficients), after=False).mid)
        slopes = coefficients(release.slopes(np.eye(n * n).reshape(-1, n, n)).mid)
        gain = np.eye(1, later.shape[1])
        same = self._piece(i)[:, 0] == self._piece(j)[:, 0]
        shared = np.empty((len(i), 1 + 2 * self._coefficients + n * n, later.shape[1]))
        shared[:] = np.concatenate([gain, later, earlier, slopes])
        shared[same, 1 : 1 + self._coefficients] += earlier
        shared[same, 1 + self._coefficients : 1 + 2 * self._coefficients] = 0.0
        own_slopes = self._slopes + i[:, None] * n * n + np.arange(n * n)
        earlier_places = np.where(same[:, None], self.count, self._piece(i))
        places = np.concatenate(
            [np.zeros((len(i), 1), dtype=np.int64), self._piece(j), earlier_places, own_slopes], axis=1
        )
        sides = coefficients(release.costs(self.cells.outputs).mid)[j]
        return self._blocks(signs, shared, places, sides)

    def first(self, release: Release) -> Blocks:
        """Those of the first release, to each cell."""
        n, count = self.problem.chain.k, len(self.reached)
        j = np.array(self.reached)
        signs = _Signs.of([release.signs(POINT, self.cells.rows[k]) for k in self.reached])
        later = -coefficients(release.squares(np.eye(self._coefficients), after=True).mid)
        slopes = coefficients(release.slopes(np.eye(n).reshape(n, 1, n)).mid)
        shared = np.empty((count, 1 + len(later) + n, later.shape[1]))
        shared[:] = np.concatenate([np.eye(1, later.shape[1]), later, slopes])
        fixed = np.broadcast_to(np.r_[1, 2 : 2 + n], (count, 1 + n))
        places = np.concatenate([fixed[:, :1], self._piece(j), fixed[:, 1:]], axis=1)
        return self._blocks(signs, shared, places, coefficients(release.costs(self.cells.outputs).mid)[j])

    def end(self) -> Blocks:
        """Those of the line above the potential, for each cell."""
        n, count = self.problem.chain.k, self._pieces
        signs = _Signs.of([end_signs(rows) for rows in self.before])
        forms = end_signs(Balls.exact(np.zeros((0, n)))).mid[1:]
        lines = np.zeros((n, n, n))
        lines[:, 0, :] = forms
        squared = coefficients(squares(np.eye(self._coefficients), forms).mid)
        shared = np.empty((count, n + self._coefficients, squared.shape[1]))
        shared[:] = np.concatenate([-coefficients(lines), squared])
        at = np.arange(count)
        line = np.broadcast_to(self._line + np.arange(n), (count, n))
        places = np.concatenate([line, self._piece(at)], axis=1)
        return self._blocks(signs, shared, places, np.zeros((count, squared.shape[1])))

    def used(self, found: Found) -> list[Floats]:
        """The forms of each pair whose squares have weight."""
        return self._tables[0].used(found.own[0])

    def _blocks(self, signs: _Signs, shared: Floats, places: Ints, sides: Floats) -> Blocks:
        self._tables.append(signs)
        own = signs.products()
        return Blocks(own, np.ascontiguousarray(shared.transpose(0, 2, 1)), places, sides)

    def dual(self, found: Found, trees: list[Any]) -> dict[str, Any]:
        """What proves the bound."""
        n, x = self.problem.chain.k, found.x
        weights = [table.weights(own) for table, own in zip(self._tables, found.own, strict=True)]
        known = dict(zip(self.pairs, weights[0], strict=True))
        enough = 1.0 + 4 * n * n * float(np.abs(x).max(initial=1.0))
        every = [(i, j) for i in range(self._pieces) for j in range(len(self.cells.rows))]
        steps = [known[pair] if pair in known else self.empty[pair].weights(enough) for pair in every]
        roots = dict(zip(self.pairs, self._tables[0].squares(found.own[0]), strict=True))
        dual: dict[str, Any] = {
            "kind": "quadratics",
            "cells": trees,
            "quadratics": x[self._quadratics : self._slopes].reshape(self._pieces, -1).tolist(),
            "slopes": x[self._slopes :].reshape(self._pieces, -1).tolist(),
            "steps": steps,
            "squares": [roots.get(pair, []) for pair in every],
        }
        if not self.problem.lasting:
            begun = dict(zip(self.reached, weights[1], strict=True))
            first = [
                begun[j] if j in begun else self.empty[FIRST, j].weights(enough)
                for j in range(len(self.cells.rows))
            ]
            dual["first"] = {"slopes": x[2 : 2 + n].tolist(), "weights": first}
            dual["end"] = {"line": x[self._line : self._line + n].tolist(), "weights": weights[2]}
        return dual


@dataclass(frozen=True, eq=False)
class _Signs:
    """Forms that are not negative in some regions, each scaled to at most 1 and as many as in the largest: ``table`` (B, C, N).

    The squares of ``roots`` (B, S, N) are not negative anywhere; where a region has fewer, they are the square of 1.
    """

    table: Floats
    scales: Floats
    sizes: list[int]
    roots: Floats
    counts: list[int]

    @classmethod
    def of(cls, signs: list[Balls], roots: list[Floats] | None = None) -> _Signs:
        sizes = [len(each.mid) for each in signs]
        table = padded(signs).mid
        for row, size in zip(table, sizes, strict=True):
            row[size:] = row[0]
        scales = np.abs(table).max(axis=2)
        scales[scales == 0] = 1.0
        counts = [0] * len(signs) if roots is None else list(map(len, roots))
        forms = np.zeros((len(signs), max(counts), table.shape[2]))
        forms[:, :, 0] = 1.0
        for k, each in enumerate(roots or []):
            forms[k, : len(each)] = each
        return cls(table / scales[:, :, None], scales, sizes, forms, counts)

    def products(self) -> Floats:
        """The coefficients of all products of two forms, and of all squares, shape (B, N (N + 1) / 2, C (C + 1) / 2 + S)."""
        one, other = np.triu_indices(self.table.shape[1])
        turned, roots = self.table.transpose(0, 2, 1), self.roots.transpose(0, 2, 1)
        left = np.concatenate([turned[:, :, one], roots], axis=2)
        right = np.concatenate([turned[:, :, other], roots], axis=2)
        a, b = np.triu_indices(self.table.shape[2])
        products = left[:, a] * right[:, b]
        products[:, a != b] += left[:, b[a != b]] * right[:, a[a != b]]
        return np.ascontiguousarray(products)

    @property
    def _count(self) -> int:
        """Of products of two different forms or the same."""
        most = len(self.table[0])
        return most * (most + 1) // 2

    def weights(self, own: Floats) -> list[list[float]]:
        """The weights of the forms as they are, without those that were added."""
        most = self.table.shape[1]
        one, other = np.triu_indices(most)
        values = own[:, : self._count] / (self.scales[:, one] * self.scales[:, other])
        spare = own[:, self._count :]
        rows = []
        for k, size in enumerate(self.sizes):
            full = np.zeros((most, most))
            full[one, other] = values[k]
            full[0, :size] += full[:size, size:].sum(axis=1) / self.scales[k, 0]
            full[0, 0] += full[size:, size:].sum() + spare[k, self.counts[k] :].sum()
            kept = full[:size, :size][np.triu_indices(size)]
            rows.append([float(f"{w:.{DIGITS}g}") for w in kept.tolist()])
        return rows

    def squares(self, own: Floats) -> list[list[list[float]]]:
        """The forms whose squares are taken off, with their weights in them."""
        weights = np.sqrt(own[:, self._count :])
        return [
            (self.roots[k, :count] * weights[k, :count, None]).tolist() for k, count in enumerate(self.counts)
        ]

    def used(self, own: Floats) -> list[Floats]:
        """The forms whose squares have weight."""
        weights = own[:, self._count :]
        return [self.roots[k, :count][weights[k, :count] > IDLE] for k, count in enumerate(self.counts)]


def coefficients(matrices: Floats) -> Floats:
    """Those of the monomials of quadratic polynomials (..., N, N), shape (..., N (N + 1) / 2).

    Examples
    --------
    >>> coefficients(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [1.0, 5.0, 4.0]
    """
    a, b = np.triu_indices(matrices.shape[-1])
    both = matrices + np.swapaxes(matrices, -1, -2)
    both[..., np.arange(both.shape[-1]), np.arange(both.shape[-1])] /= 2
    return np.asarray(both[..., a, b])

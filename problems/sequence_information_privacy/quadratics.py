"""Upper bounds on the utility of all releases of a chain of several letters, by a potential that is quadratic on each of some cells.

Write r for the posterior of a letter given the releases up to it, b = r P for the belief about the next one, and p for the posterior of
that one after its release: each b(x) / p(x) is within e^+-epsilon, and the mean of p over the releases is b. With f(p) the least
mean distortion of a release that leaves p, a potential h and slopes Lambda(r), any function of r,

    mean of f(p) + h(p) >= h(r) + min over p of [f(p) + h(p) - h(r) - r Lambda(r) (p - b)].

Posteriors are cut into cells: one for each release, where it distorts least, and these by hyperplanes through the origin. On cell i
h(r) = r'M_i r and Lambda(r) = Lambda_i. For r in cell i and p in cell j the bracket is then a quadratic polynomial of (r, p), and
what is asked is a lower bound of it on a polytope.

**A pair of cells.** Let c_1, c_2, ... be linear forms that are not negative there: 1, r(x), p(x) - e^-epsilon b(x), e^epsilon b(x) - p(x),
and those that bound the cells. For weights w >= 0 the bracket is at least what remains of it without sum w_ab c_a c_b and without squares of
linear forms, and with weights from a linear program hardly more than a constant remains. With the last letter of r and that of p written as 1 minus
the others, all monomials are between 0 and 1, so a polynomial is at least its constant plus its negative coefficients. This is the
reformulation-linearization technique of Sherali and Tuncbilek for nonconvex quadratic programs, with squares as in Sherali and
Fraticelli, "Enhancing RLT Relaxations via a New Class of Semidefinite Cuts".

**All releases.** If the least remainder of all pairs is g, T releases cost at least d + (T - 1) g - E h(r_T), where d is the same for the
first release, after which r is a point, and h(r) <= line . r on all cells, so that E h(r_T) <= line . (mean of r_T), which is known.

**Rounding.** Potentials, slopes and weights are whatever floats are found. Everything else is in balls whose sums are taken in
order, with the chain as the exact rational value of its floats; sums over releases are exact.

The dual is ``{"kind": "quadratics", "cells": [tree, ...], "quadratics": [[...], ...], "slopes": [[...], ...], "steps": [[...], ...],
"squares": [[[...], ...], ...], "first": {"slopes": [...], "weights": [[...], ...]}, "end": {"line": [...], "weights": [[...], ...]}}``. There is a tree for each
distinct column of distortions, in the order of numpy.unique; it is None, or ``{"by": [...], "parts": [tree, tree]}``, first the part
where by . r >= 0. Quadratics are the coefficients of r(a) r(b) for a <= b, row by row; a
single one serves all cells, whose posteriors before a release are then one cell. Weights are those of c_a c_b for a <= b, for pairs
of cells row by row, as are the forms of (1, r without its last, p without its last) whose squares are taken off. In the long run a release costs at least g, which ``steps`` alone prove.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from privopt.arrays import Floats
from privopt.core.balls import ETA, Balls, U, below
from privopt.core.problem import Enclosure
from privopt.problems.belief_release.bound import price_row
from privopt.problems.sequence_information_privacy.data import SequenceData, refuse_words
from privopt.problems.sequence_information_privacy.lines import factors_of

MAX_LETTERS = 16
MAX_OUTPUTS = 16
MAX_EPSILON = 8.0
MAX_CELLS = 64
MAX_DEPTH = 32
"""Hyperplanes around a cell."""
MAX_WEIGHTS = 2**22
"""Of a dual."""
MAX_SQUARES = 64
"""Of a pair of cells."""
LARGEST = 2.0**20
"""Of potentials, slopes and bounds."""
HEAVIEST = 2.0**40
"""Of weights; those that prove that no release leads from one cell to another may be large."""
WIDTH = 2**21
"""Numbers of a table that are computed at a time."""


def refuse_quadratics(problem: SequenceData) -> str | None:
    """Why no potential of quadratics bounds this problem, or None."""
    chain = problem.chain
    if chain.order != 1 or chain.k != len(chain.letters) or not 2 <= chain.k <= MAX_LETTERS:
        return f"it takes chains of two to {MAX_LETTERS} letters"
    if not chain.homogeneous or chain.max_length == 1 or problem.horizon < 2:
        return "it takes two releases or more, of chains whose steps are alike"
    if min(problem.batch, problem.span) > 1:
        return refuse_words(problem, MAX_EPSILON, MAX_OUTPUTS)
    different = np.unique(problem.setting(1).cost, axis=1).shape[1]
    if different > MAX_OUTPUTS:
        return f"it takes at most {MAX_OUTPUTS} releases of different distortions"
    return refuse_words(problem, MAX_EPSILON, problem.setting(1).cost.shape[1])


@dataclass(frozen=True, eq=False)
class Partition:
    """Cells of posteriors of n letters: linear forms that are not negative there, (c, n) each, and the release that is best."""

    rows: list[Balls]
    outputs: list[int]

    @classmethod
    def of(cls, trees: list[Any], cost: Floats) -> Partition | None:
        """The cells of trees, one for each column of distortions (n, m); None where a tree is none.

        Examples
        --------
        >>> halved = {"by": [1.0, -3.0], "parts": [None, None]}
        >>> cells = Partition.of([halved, None], 1 - np.eye(2))
        >>> cells.outputs, cells.rows[0].mid.tolist()
        ([0, 0, 1], [[1.0, -1.0], [1.0, -3.0]])
        """
        n, m = cost.shape
        columns = Balls.exact(cost.T)
        rows, outputs = list[Balls](), list[int]()
        waiting = [(tree, columns[np.arange(m) != y] - columns[y], y) for y, tree in enumerate(trees)][::-1]
        while waiting:
            tree, around, y = waiting.pop()
            if tree is None:
                rows.append(around)
                outputs.append(y)
                continue
            split = _split(tree, n)
            if split is None or len(around.mid) >= MAX_DEPTH + m or len(rows) + len(waiting) >= MAX_CELLS:
                return None
            by, parts = split
            for part, side in zip(parts[::-1], (-by, by), strict=True):
                waiting.append((part, joined([around, Balls.exact(side[None])]), y))
        return cls(rows, outputs) if len(trees) == m and len(rows) <= MAX_CELLS else None


def _split(tree: object, width: int) -> tuple[Floats, list[Any]] | None:
    """By which form a tree is split, and its parts."""
    if not isinstance(tree, dict) or not isinstance(tree.get("parts"), list) or len(tree["parts"]) != 2:
        return None
    by = price_row(tree.get("by"), width)
    return None if by is None or len(by) != width else (by, tree["parts"])


@dataclass(frozen=True, eq=False)
class Release:
    """A release of one of n letters after posteriors of k: forms of (1, r without its last, p without its last).

    Parameters
    ----------
    moves : Balls (k, n)
        Transition probabilities.
    cost : array (n, m)
        Distortions, with distinct columns.
    factors : pair of float
        Not above e^-epsilon, and not below e^epsilon.

    Examples
    --------
    >>> release = Release(Balls.exact(np.eye(2)), 1 - np.eye(2), (0.5, 2.0))
    >>> release.before.tolist(), release.after.tolist()
    ([[0.0, 1.0, 0.0], [1.0, -1.0, 0.0]], [[0.0, 0.0, 1.0], [1.0, 0.0, -1.0]])
    >>> release.belief.mid.tolist()
    [[0.0, 1.0, 0.0], [1.0, -1.0, 0.0]]
    """

    moves: Balls
    cost: Floats
    factors: tuple[float, float]

    @cached_property
    def before(self) -> Floats:
        """The posterior before the release, shape (k, N)."""
        k, n = self.moves.shape
        return _simplex(k, 1, k + n - 1)

    @cached_property
    def after(self) -> Floats:
        """The posterior after it, shape (n, N)."""
        k, n = self.moves.shape
        return _simplex(n, k, k + n - 1)

    @cached_property
    def belief(self) -> Balls:
        """What is known of the letter before the release, shape (n, N)."""
        return product(self.moves.T, Balls.exact(self.before))

    def signs(self, before: Balls, after: Balls) -> Balls:
        """Forms (C, N) that are not negative for posteriors with these forms (c, k) and (c, n) that a release leads to."""
        low, up = self.factors
        own, p, b = Balls.exact(self.before), Balls.exact(self.after), self.belief
        one = Balls.exact(np.eye(1, self.after.shape[1]))
        return joined([one, own, p - low * b, up * b - p, product(before, own), product(after, p)])

    def squares(self, table: Floats, *, after: bool) -> Balls:
        """Quadratic functions by their coefficients (..., n (n + 1) / 2), as matrices (..., N, N)."""
        return squares(table, self.after if after else self.before)

    def slopes(self, table: Floats) -> Balls:
        """What r Lambda (p - b) is, by slopes (..., k, n), as matrices (..., N, N)."""
        off = Balls.exact(self.after) - self.belief
        return product(Balls.exact(self.before.T), product(Balls.exact(table), off))

    def costs(self, outputs: list[int]) -> Balls:
        """The distortion of releases, as matrices (B, N, N)."""
        width = self.after.shape[1]
        mean = product(Balls.exact(self.cost.T[outputs]), Balls.exact(self.after))
        first = Balls.exact(np.eye(1, width).T)
        return first * mean.reshape(len(outputs), 1, width)


def _simplex(letters: int, begin: int, width: int) -> Floats:
    """The chances of letters as forms: the last is 1 minus the others, which begin at a place."""
    forms = np.zeros((letters, width))
    forms[-1, 0] = 1.0
    for x in range(letters - 1):
        forms[x, begin + x], forms[-1, begin + x] = 1.0, -1.0
    return forms


def squares(table: Floats, forms: Floats) -> Balls:
    """Quadratic functions of chances (n, N) by their coefficients (..., n (n + 1) / 2), as matrices (..., N, N).

    Examples
    --------
    >>> squares(np.array([1.0, 2.0, 0.0]), np.eye(2)).mid.tolist()
    [[1.0, 2.0], [0.0, 0.0]]
    """
    n = len(forms)
    full = np.zeros((*table.shape[:-1], n, n))
    full[(..., *np.triu_indices(n))] = table
    return product(Balls.exact(forms.T), product(Balls.exact(full), Balls.exact(forms)))


def product(one: Balls, other: Balls) -> Balls:
    """Products of matrices (..., a, b) and (..., b, c) whose sums are taken in order, the same on all machines."""
    total = one[..., :, :1] * other[..., :1, :]
    for x in range(1, one.shape[-1]):
        total = total + one[..., :, x : x + 1] * other[..., x : x + 1, :]
    return total


def joined(parts: list[Balls]) -> Balls:
    """Rows below one another."""
    return Balls(np.concatenate([part.mid for part in parts]), np.concatenate([part.rad for part in parts]))


def least_remainders(
    polynomials: Balls, signs: Balls, weights: Floats, roots: Floats | None = None
) -> Floats:
    """At most the polynomials (B, N, N) where forms (B, C, N) are not negative, by weights (B, C, C), shape (B,).

    The squares of other forms, ``roots`` (B, S, N), are taken off as well.

    Examples
    --------
    >>> square = Balls.exact([[[0.0, 0.0], [0.0, 1.0]]])  # u^2, where u - 1/2 >= 0
    >>> forms = Balls.exact([[[1.0, 0.0], [-0.5, 1.0]]])
    >>> least_remainders(square, forms, np.array([[[0.0, 1.0], [0.0, 1.0]]])).round(6).tolist()
    [0.25]
    """
    turned = Balls(signs.mid.transpose(0, 2, 1), signs.rad.transpose(0, 2, 1))
    rest = polynomials - product(turned, product(Balls.exact(weights), signs))
    if roots is not None and roots.shape[1]:
        rest = rest - product(Balls.exact(roots.transpose(0, 2, 1)), Balls.exact(roots))
    total = rest[:, 0, 0].lower
    for a in range(rest.shape[1]):
        for b in range(max(a, 1), rest.shape[1]):
            each = rest[:, a, a] if a == b else rest[:, a, b] + rest[:, b, a]
            total = below(total + np.minimum(each.lower, 0.0))
    return total


def padded(signs: list[Balls]) -> Balls:
    """Forms (C, N) of several regions in one table, with forms of nothing where a region has fewer."""
    most = max(len(each.mid) for each in signs)
    table = np.zeros((2, len(signs), most, signs[0].shape[1]))
    for k, each in enumerate(signs):
        table[0, k, : len(each.mid)], table[1, k, : len(each.mid)] = each.mid, each.rad
    return Balls(table[0], table[1])


def weight_table(rows: list[Floats], sizes: list[int]) -> Floats | None:
    """Weights (B, C, C), above the diagonal, from rows of those of as many forms as said; None where they do not fit."""
    most = max(sizes)
    table = np.zeros((len(rows), most, most))
    if len(rows) != len(sizes):
        return None
    for k, (row, size) in enumerate(zip(rows, sizes, strict=True)):
        if len(row) != size * (size + 1) // 2 or not (row >= 0).all():
            return None
        table[(k, *np.triu_indices(size))] = row
    return table


def steps_of(problem: SequenceData) -> tuple[Release, Release]:
    """The first release of a problem, and every other one."""
    moves = np.array(problem.chain.step(0))
    cost = np.unique(problem.setting(1).cost, axis=1)
    exact, factors = problem.chain.exact_initial, factors_of(problem.epsilon)
    begin = Balls.fractions(map(exact.fraction, range(problem.chain.k))).reshape(1, -1)
    return Release(begin, cost, factors), Release(Balls(moves, moves * U + ETA * (moves > 0)), cost, factors)


def mean_posterior(problem: SequenceData) -> Balls:
    """The mean of the last posterior: the distribution of the last letter, shape (1, n)."""
    first, step = steps_of(problem)
    at, power, left = first.moves, step.moves, problem.span - 1
    while left:
        if left % 2:
            at = product(at, power)
        left //= 2
        if left:
            power = product(power, power)
    return at


def quadratics_enclosure(
    problem: SequenceData, dual: dict[str, object], seconds: float = math.inf
) -> Enclosure | None:
    """Floats around the upper bound on utility that a potential of quadratics proves, or None."""
    if refuse_quadratics(problem) is not None:
        return None
    read = _Read.of(problem, dual)
    if read is None:
        return None
    if read.key not in problem.enclosures:
        releases = 1 if problem.lasting else problem.span
        least = _least(problem, read, time.monotonic() + seconds)
        if least is None or not abs(least) < LARGEST * releases:
            return None
        mean = float(least / releases)
        problem.keep(read.key, (math.nextafter(-mean, -math.inf), math.nextafter(-mean, math.inf)))
    return problem.enclosures[read.key]


def _least(problem: SequenceData, read: _Read, until: float) -> Fraction | None:
    """What all releases cost at least, or one of them in the long run; None where time runs out."""
    first, step = steps_of(problem)
    gain = read.step(step, until)
    if gain is None or not math.isfinite(gain):
        return None
    if read.ends is None:
        return Fraction(gain)
    begin, spare = read.first(first, read.ends), read.end(read.ends)
    owed = product(mean_posterior(problem), Balls.exact(read.ends.line[:, None])).upper[0, 0]
    if not (math.isfinite(begin) and math.isfinite(spare) and math.isfinite(owed)):
        return None
    return Fraction(begin) + (problem.span - 1) * Fraction(gain) - Fraction(float(owed)) + Fraction(spare)


@dataclass(frozen=True, eq=False)
class _Ends:
    """What a dual says of the first release, and of the potential in the end."""

    slopes: Floats
    first: list[Floats]
    line: Floats
    end: list[Floats]


@dataclass(frozen=True, eq=False)
class _Read:
    """A dual whose numbers are of moderate size and fit the problem."""

    cells: Partition
    quadratics: Floats
    slopes: Floats
    weights: list[Floats]
    roots: list[Floats]
    ends: _Ends | None
    key: tuple[object, ...]

    @classmethod
    def of(cls, problem: SequenceData, dual: dict[str, object]) -> _Read | None:
        cost, n = np.unique(problem.setting(1).cost, axis=1), problem.chain.k
        trees = dual.get("cells")
        cells = Partition.of(trees, cost) if isinstance(trees, list) else None
        quadratics, slopes = _rows(dual.get("quadratics"), n * (n + 1) // 2), _rows(dual.get("slopes"), n * n)
        weights, roots = _rows(dual.get("steps"), None), _tables(dual.get("squares"), 2 * n - 1)
        if cells is None or quadratics is None or slopes is None or weights is None:
            return None
        if roots is None or len(roots) != len(weights):
            return None
        if len(quadratics) not in (1, len(cells.rows)) or len(slopes) != len(quadratics):
            return None
        ends = None
        if not problem.lasting:
            ends = _ends(dual, n)
            if ends is None:
                return None
        arrays = [*quadratics, *slopes, *weights, *roots]
        arrays += [] if ends is None else [ends.slopes, ends.line, *ends.first, *ends.end]
        arrays += [np.array(cells.outputs, dtype=float), *(each.mid for each in cells.rows)]
        if sum(map(len, weights)) > MAX_WEIGHTS:
            return None
        key = ("quadratics", *(each.tobytes() for each in arrays))
        return cls(cells, np.array(quadratics), np.array(slopes).reshape(-1, n, n), weights, roots, ends, key)

    @property
    def _before(self) -> list[Balls]:
        """The forms of the cells before a release."""
        whole = Balls.exact(np.zeros((0, self.slopes.shape[-1])))
        return self.cells.rows if len(self.quadratics) == len(self.cells.rows) else [whole]

    def step(self, release: Release, until: float) -> float | None:
        """How much a release and the potential after it cost at least above the potential before it."""
        width = max(1, WIDTH // (4 * len(release.after[0]) ** 3))
        before, least, count = self._before, math.inf, len(self.cells.rows)
        earlier, slopes = release.squares(self.quadratics, after=False), release.slopes(self.slopes)
        later = release.costs(self.cells.outputs) + release.squares(self.quadratics, after=True)
        pairs = [(i, j) for i in range(len(before)) for j in range(count)]
        if len(self.weights) != len(pairs):
            return None
        for begin in range(0, len(pairs), width):
            if time.monotonic() > until:
                return None
            some = pairs[begin : begin + width]
            i, j = np.array(some).T
            signs = [release.signs(before[a], self.cells.rows[b]) for a, b in some]
            table = weight_table(self.weights[begin : begin + width], [len(each.mid) for each in signs])
            if table is None:
                return None
            polynomials = later[j] - earlier[i] - slopes[i]
            roots = padded([Balls.exact(each) for each in self.roots[begin : begin + width]]).mid
            least = min(least, float(least_remainders(polynomials, padded(signs), table, roots).min()))
        return least

    def first(self, release: Release, ends: _Ends) -> float:
        """The same for the first release, with nothing before it."""
        nothing = Balls.exact(np.zeros((0, 1)))
        signs = [release.signs(nothing, each) for each in self.cells.rows]
        table = weight_table(ends.first, [len(each.mid) for each in signs])
        if table is None:
            return math.nan
        later = release.costs(self.cells.outputs) + release.squares(self.quadratics, after=True)
        polynomials = later - release.slopes(ends.slopes[None])
        return float(least_remainders(polynomials, padded(signs), table).min())

    def end(self, ends: _Ends) -> float:
        """How much the line is above the potential at least."""
        n = len(ends.line)
        signs = [end_signs(rows) for rows in self._before]
        table = weight_table(ends.end, [len(each.mid) for each in signs])
        if table is None:
            return math.nan
        forms = _simplex(n, 1, n)
        line = Balls.exact(np.eye(1, n).T) * product(Balls.exact(ends.line[None]), Balls.exact(forms))
        polynomials = line - squares(self.quadratics, forms)
        return float(least_remainders(polynomials, padded(signs), table).min())


def end_signs(rows: Balls) -> Balls:
    """Forms (C, n) of (1, r without its last) that are not negative on a cell with these forms (c, n) of r."""
    n = rows.shape[1]
    forms = Balls.exact(_simplex(n, 1, n))
    return joined([Balls.exact(np.eye(1, n)), forms, product(rows, forms)])


def _ends(dual: dict[str, object], letters: int) -> _Ends | None:
    first, end = dual.get("first"), dual.get("end")
    if not isinstance(first, dict) or not isinstance(end, dict):
        return None
    slopes, line = _rows([first.get("slopes")], letters), _rows([end.get("line")], letters)
    begins, lasts = _rows(first.get("weights"), None), _rows(end.get("weights"), None)
    if slopes is None or line is None or begins is None or lasts is None:
        return None
    return _Ends(slopes[0][None], begins, line[0], lasts)


def _tables(tables: object, width: int) -> list[Floats] | None:
    """Tables of a few rows each."""
    if not isinstance(tables, list) or not 1 <= len(tables) <= MAX_CELLS**2:
        return None
    read: list[Floats] = []
    for table in tables:
        if not isinstance(table, list) or len(table) > MAX_SQUARES:
            return None
        rows = [price_row(row, width) for row in table]
        known = [row for row in rows if row is not None and len(row) == width]
        if len(known) < len(rows) or any((np.abs(row) > LARGEST).any() for row in known):
            return None
        read.append(np.array(known).reshape(-1, width))
    return read


def _rows(rows: object, width: int | None) -> list[Floats] | None:
    """Rows of finite numbers of moderate size, as wide as said; weights where nothing is."""
    if not isinstance(rows, list) or not 1 <= len(rows) <= MAX_CELLS**2:
        return None
    read = [price_row(row, MAX_WEIGHTS if width is None else width) for row in rows]
    known = [row for row in read if row is not None and width in (None, len(row))]
    most = HEAVIEST if width is None else LARGEST
    if len(known) < len(rows) or any((np.abs(row) > most).any() for row in known):
        return None
    return known

"""Channels that keep tables exactly: an integral flow where only the distribution stays, rationals where joint tables do.

With integer weights c of the symbols, a channel that keeps their distribution is a flow: integers N[x][y] whose row x and
column x both sum to W c[x], for one W. Any matrix of floats is brought to one without search. Its cells are rounded down,
and columns and rows that sum to too much are scaled down; what the rows then miss and what the columns miss have one sum, and
each row gives what it misses to the first columns that still miss some: fewer than 2 n cells change.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from privopt.arrays import Floats
from privopt.mechanisms import Channel
from privopt.problems.distortion_privacy.repair import largest_share
from privopt.problems.post_randomisation.data import PostRandomisationData

BITS = 62
"""Bits of the smallest positive probability that a flow keeps, at least."""

MOST_BITS = 1200
"""Beyond it, small probabilities count as 0."""

NEGLIGIBLE = 1e-9
"""Cells up to this count as 0 where tables are kept in rationals."""

MOST_CELLS = 900
"""Channels with more positive cells are not solved in rationals."""

ROUNDING = 2.0**-49
"""Nats kept free of the budget: what a reading in floats can be off."""


def repair(data: PostRandomisationData, channel: Channel, margin: float) -> Channel:
    """The channel brought to the tables exactly, and mixed with the one that reveals least until it keeps the budget.

    The other end of the mixture releases a symbol at random among those that all tables treat alike: among all, where only the
    distribution stays. It keeps every table, so all mixtures do. Where it does not keep the budget, nothing is mixed in.
    """
    kept = preserving(data, channel.matrix)
    if kept is None:
        return channel
    if data.epsilon == math.inf:
        return kept
    exact = kept.matrix
    quiet = np.array([[float(v) for v in row] for row in data.shuffled])
    limit = data.epsilon * (1.0 - margin) - ROUNDING

    def excess(share: float) -> float:
        mixed = data.answer(share * exact + (1.0 - share) * quiet)
        return data.target.evaluate(mixed).leakage - limit

    hopeless = excess(0.0) + limit > data.epsilon + ROUNDING
    share = 1.0 if hopeless or excess(1.0) <= 0 else largest_share(excess)
    return kept if share == 1.0 else _mixed(data, kept, Fraction(share))


def _mixed(data: PostRandomisationData, channel: Channel, share: Fraction) -> Channel:
    """The exact mixture with the channel that redraws symbols that all tables treat alike."""
    rows, up, down = [], share.numerator, share.denominator
    for row, quiet in zip(channel.exact(), data.shuffled, strict=True):
        whole = math.lcm(*{v.denominator for v in quiet})
        ours, theirs, total = up * whole, (down - up) * row.total, down * row.total * whole
        parts = [v.numerator * (whole // v.denominator) for v in quiet]
        rows.append([Fraction(ours * w + theirs * v, total) for w, v in zip(row.weights, parts, strict=True)])
    return data.answer(rows)


def preserving(data: PostRandomisationData, matrix: Floats) -> Channel | None:
    """A channel near a matrix that keeps every table exactly; None where no rational one is found.

    Examples
    --------
    >>> data = PostRandomisationData([1, 2], "hamming", 1.0)
    >>> near = preserving(data, np.array([[0.6, 0.4], [0.2 + 1e-9, 0.8 - 1e-9]]))
    >>> rows = near.exact()
    >>> sum(c * row.fraction(0) for c, row in zip(data.counts, rows)), bool(abs(near.matrix[0, 0] - 0.6) < 1e-8)
    (Fraction(1, 1), True)
    """
    if data.tables:
        return _in_rationals(data, matrix)
    rows = []
    for row in flow(data.counts, matrix):
        total = sum(row)
        rows.append([Fraction(v, total) if v else 0.0 for v in row])
    return data.answer(rows)


def flow(counts: Sequence[int], matrix: Floats) -> list[list[int]]:
    """Integers near counts[x] matrix[x, y] times a constant W; row x and column x both sum to W counts[x].

    Examples
    --------
    >>> table = flow((1, 3), np.array([[0.5, 0.5], [0.2, 0.8]]))
    >>> sum(table[1]) == 3 * sum(table[0]) == sum(row[1] for row in table)
    True
    """
    least = float(matrix[matrix > 0].min())
    scale = 1 << min(MOST_BITS, BITS + max(0, -math.frexp(least)[1]))
    table = []
    for count, row in zip(counts, matrix.tolist(), strict=True):
        parts = [v.as_integer_ratio() for v in row]
        table.append([scale * count * up // down for up, down in parts])
    columns = [sum(line) for line in zip(*table, strict=True)]
    for y, (count, total) in enumerate(zip(counts, columns, strict=True)):
        if total > scale * count:
            for line in table:
                line[y] = line[y] * scale * count // total
    for x, line in enumerate(table):
        total = sum(line)
        if total > scale * counts[x]:
            table[x] = [v * scale * counts[x] // total for v in line]
    short = [scale * count - sum(line) for count, line in zip(counts, table, strict=True)]
    open_ = [scale * count - sum(line) for count, line in zip(counts, zip(*table, strict=True), strict=True)]
    x = y = 0
    while x < len(short) and y < len(open_):
        moved = min(short[x], open_[y])
        table[x][y] += moved
        short[x] -= moved
        open_[y] -= moved
        x, y = (x, y + 1) if short[x] else (x + 1, y)
    return table


def _in_rationals(data: PostRandomisationData, matrix: Floats) -> Channel | None:
    """The exact solution of rows that sum to 1 and of the tables, on the cells in use, free cells at their floats."""
    from flint import fmpq, fmpq_mat

    cells = np.argwhere(matrix > NEGLIGIBLE).tolist()
    if len(cells) > MOST_CELLS:
        return None
    equations = _equations(data, cells)
    reduced, rank = fmpq_mat(
        len(equations), len(cells) + 1, [fmpq(v.numerator, v.denominator) for row in equations for v in row]
    ).rref()
    guesses = [Fraction(float(matrix[x, y])) for x, y in cells]
    values = [fmpq(g.numerator, g.denominator) for g in guesses]
    for i in range(rank):
        row = [reduced[i, j] for j in range(len(cells) + 1)]
        pivot = next(j for j, v in enumerate(row) if v != 0)
        if pivot == len(cells):
            return None
        rest = sum((row[j] * values[j] for j in range(pivot + 1, len(cells)) if row[j] != 0), fmpq(0))
        values[pivot] = row[-1] - rest
    if min(values) < 0:
        return None
    n = len(data.symbols)
    rows = [[Fraction(0)] * n for _ in range(n)]
    for (x, y), value in zip(cells, values, strict=True):
        rows[x][y] = Fraction(int(value.p), int(value.q))
    return data.answer(rows)


def _equations(data: PostRandomisationData, cells: list[list[int]]) -> list[list[Fraction]]:
    """Coefficients of the cells and the right side: rows that sum to 1, then each row of a table at each release."""
    one, none = Fraction(1), Fraction(0)
    equations = [[one if at == x else none for at, _ in cells] + [one] for x in range(len(data.symbols))]
    for row in data.kept_rows:
        for y, mass in enumerate(row):
            equations.append([row[x] if at == y else none for x, at in cells] + [mass])
    return equations

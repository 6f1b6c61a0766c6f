"""Exact directional ratios of a redaction mechanism on one side of a private record.

Everything is kept up to a factor that all values of the private record share, so integer matrices do:
such factors cancel in every ratio. The left side avoids the time reversal: with W[i, x] the weight of
going from X_t = i to X_p = x with all records between redacted, Pr(first release on the left is v at
t | X_p = x) is proportional to Pr(X_t = v) W[v, x] / Pr(X_p = x), and Pr(X_t = v) cancels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from privopt._exact import IntegerRow

if TYPE_CHECKING:
    from flint import arb, arb_mat, fmpz, fmpz_mat

    Matrix: TypeAlias = fmpz_mat | arb_mat
    Scalar: TypeAlias = fmpz | arb

PREFILTER_BITS = 128
Event: TypeAlias = tuple[int, int]


@dataclass
class Ratio:
    """The largest ratio seen so far in one direction: numerator / denominator, and where."""

    numerator: Scalar
    denominator: Scalar
    event: Event

    def offer(self, numerator: Scalar, denominator: Scalar, event: Event) -> None:
        """Take another ratio if it is larger: exactly for integers, as an enclosure for balls."""
        from flint import arb

        if isinstance(numerator, arb) or isinstance(self.numerator, arb):
            new, old = _quotient(numerator, denominator), _quotient(self.numerator, self.denominator)
            if new.mid() > old.mid():
                self.event = event
            self.numerator, self.denominator = old.max(new), arb(1)
            return
        new, old = _quotient(numerator, denominator), _quotient(self.numerator, self.denominator)
        if new < old or (not new > old and numerator * self.denominator <= self.numerator * denominator):
            return
        self.numerator, self.denominator, self.event = numerator, denominator, event


def _quotient(numerator: Scalar, denominator: Scalar) -> arb:
    from flint import arb

    return arb("inf") if denominator == 0 else arb(numerator) / arb(denominator)


Ratios: TypeAlias = dict[tuple[int, int], Ratio]


def integer_step(rows: Sequence[IntegerRow]) -> fmpz_mat:
    """A transition matrix times the least common multiple of its row totals."""
    from flint import fmpz_mat

    scale = math.lcm(*(row.total for row in rows))
    return fmpz_mat([[w * (scale // row.total) for w in row.weights] for row in rows])


def side_ratios(
    steps: Callable[[int], Matrix],
    weights: Sequence[Sequence[int]],
    total: int,
    *,
    scales: Sequence[Scalar],
    possible: Sequence[int],
    reachable: Callable[[int, int], bool],
    ends: Sequence[Scalar] | None,
    power: bool,
) -> Ratios:
    """Largest ratio of every ordered pair of possible private values over the outputs of one side.

    Parameters
    ----------
    steps : distance -> (k, k) matrix
        Rows are the values nearer to the private record; the left side gives transposed steps.
    weights : rows of k integers out of ``total``
        Redaction weights by distance.
    scales : k scalars
        What the weight of private value x is multiplied by (left: the reciprocal of its probability, over
        a common denominator; right: ones).
    possible : positions of the private values of positive probability
    reachable : (distance, value) -> whether the record can have that value
    ends : k scalars or None
        Left: probabilities of the first record, up to a common factor; right: None, all ones.
    power : bool
        Whether all steps are equal, so that runs without a release are one matrix power.
    """
    k = len(scales)
    found: Ratios = {
        (x, y): Ratio(scales[0] * 0 + 1, scales[0] * 0 + 1, (0, -1))
        for x in possible
        for y in possible
        if x != y
    }
    table, d = _identity(steps(1)) if weights else None, 0
    while table is not None and d < len(weights):
        run = _plain_run(weights, d, total) if power else 0
        if run > 1:
            table, d = table * steps(d + 1) ** run, d + run
            continue
        d += 1
        table, row = table * steps(d), weights[d - 1]
        for v in (v for v in range(k) if row[v] < total and reachable(d, v)):
            _offer(found, [table[x, v] * scales[x] for x in range(k)], (d, v))
        if not any(row):
            return found
        if any(w < total for w in row):
            table = _scaled(table, row, total)
    if table is not None:
        last = [
            sum((table[x, v] * (1 if ends is None else ends[v]) for v in range(k)), table[x, 0] * 0)
            for x in range(k)
        ]
        _offer(found, [last[x] * scales[x] for x in range(k)], (d, -1))
    return found


def _plain_run(weights: Sequence[Sequence[int]], start: int, total: int) -> int:
    """How many records from here on are always redacted."""
    end = start
    while end < len(weights) and all(w == total for w in weights[end]):
        end += 1
    return end - start


def _identity(like: Matrix) -> Matrix:
    k = like.nrows()
    return type(like)([[int(i == j) for j in range(k)] for i in range(k)])


def _scaled(table: Matrix, row: Sequence[int], total: int) -> Matrix:
    """Columns times their redaction weights, over the power of two they share."""
    shared = math.gcd(total, *row)
    factors = [w // shared for w in row]
    cells: list[list[Any]] = [
        [table[x, v] * factors[v] for v in range(table.ncols())] for x in range(table.nrows())
    ]
    return type(table)(cells)


def _offer(found: Ratios, column: Sequence[Scalar], event: Event) -> None:
    if all(column[x] == 0 for pair in found for x in pair):
        return
    for (x, y), ratio in found.items():
        if column[x] != 0:
            ratio.offer(column[x], column[y], event)

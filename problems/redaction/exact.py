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

from privopt.core.exact import IntegerRow

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
    known: Event = (0, -1)

    def offer(self, numerator: Scalar, denominator: Scalar, event: Event, known: Event = (0, -1)) -> None:
        """Take another ratio if it is larger: exactly for integers, as an enclosure for balls."""
        from flint import arb

        if isinstance(numerator, arb) or isinstance(self.numerator, arb):
            new, old = _quotient(numerator, denominator), _quotient(self.numerator, self.denominator)
            if new.mid() > old.mid():
                self.event, self.known = event, known
            self.numerator, self.denominator = old.max(new), arb(1)
            return
        new, old = _quotient(numerator, denominator), _quotient(self.numerator, self.denominator)
        if new < old or (not new > old and numerator * self.denominator <= self.numerator * denominator):
            return
        self.numerator, self.denominator = numerator, denominator
        self.event, self.known = event, known


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
    informed: bool = False,
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
    informed : bool
        Whether the adversary may know other records, see :mod:`privopt.measures.redaction.informed`.
    """
    k = len(scales)
    ratios: Ratios = {
        (x, y): Ratio(scales[0] * 0 + 1, scales[0] * 0 + 1, (0, -1))
        for x in possible
        for y in possible
        if x != y
    }
    if not weights:
        return ratios
    table, d = _identity(steps(1)), 0
    known = _Known(ratios, table, reachable) if informed else None
    while d < len(weights):
        # Nothing is told of a run without a release that its end does not tell, whatever else is known.
        run = _plain_run(weights, d, total) if power and not (known and known.waiting) else 0
        if run > 1:
            step = steps(d + 1) ** run
            table, d = table * step, d + run
            if known:
                known.plain = known.plain * step
            continue
        d += 1
        step, row = steps(d), weights[d - 1]
        table = table * step
        shown = [v for v in range(k) if row[v] < total and reachable(d, v)]
        if known:
            known.walk(table, step, d)
        for v in shown:
            _offer(ratios, [table[x, v] * scales[x] for x in range(k)], (d, v))
            if known:
                known.wait([table[x, v] for x in range(k)], (d, v))
        if any(w < total for w in row):
            table = _scaled(table, row, total)
        if not any(row) or all(table[x, v] == 0 for x in possible for v in range(k)):
            while known and known.waiting and d < len(weights):
                d += 1
                known.walk(None, steps(d), d)
            return ratios
    last = [
        sum((table[x, v] * (1 if ends is None else ends[v]) for v in range(k)), table[x, 0] * 0)
        for x in range(k)
    ]
    _offer(ratios, [last[x] * scales[x] for x in range(k)], (d, -1))
    return ratios


class _Known:
    """What the nearest record known on a side adds; first releases wait until farther records tell no more."""

    def __init__(self, ratios: Ratios, identity: Matrix, reachable: Callable[[int, int], bool]) -> None:
        self.ratios, self.plain, self.reachable = ratios, identity, reachable
        self.values = sorted({x for pair in ratios for x in pair})
        self.waiting: list[tuple[list[Scalar], Event, set[int]]] = []

    def wait(self, column: list[Scalar], event: Event) -> None:
        """A first release of a value, with its weight by private value."""
        if any(column[x] != 0 for x in self.values):
            self.waiting.append((column, event, {event[1]}))

    def walk(self, table: Matrix | None, step: Matrix, distance: int) -> None:
        """The next record, were it known; ``table`` is None where nothing is left to be released first."""
        k = step.ncols()
        self.plain = self.plain * step
        can = [i for i in range(k) if self.reachable(distance, i)]
        for i in can if table is not None else ():
            assert table is not None
            self._offer([table[x, i] for x in range(k)], (distance, -1), i, distance)
        waiting = []
        for column, event, reach in self.waiting:
            then = {i for i in can if any(step[j, i] != 0 for j in reach)}
            for i in then:
                self._offer(column, event, i, distance)
            if len(then) < len(can) or any(self.plain[x, i] == 0 for x in self.values for i in can):
                waiting.append((column, event, then))
        self.waiting = waiting

    def _offer(self, column: list[Scalar], event: Event, value: int, distance: int) -> None:
        for (x, y), ratio in self.ratios.items():
            mine, other = self.plain[x, value], self.plain[y, value]
            if mine != 0 and other != 0 and column[x] != 0:
                ratio.offer(column[x] * other, column[y] * mine, event, (distance, value))


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


def _offer(ratios: Ratios, column: Sequence[Scalar], event: Event) -> None:
    if all(column[x] == 0 for pair in ratios for x in pair):
        return
    for (x, y), ratio in ratios.items():
        if column[x] != 0:
            ratio.offer(column[x], column[y], event)

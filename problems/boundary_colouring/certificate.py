"""The certificate of a colouring: every distinct pair of rows proved private, in floats first, then exactly."""

from __future__ import annotations

import math
from collections.abc import Hashable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.balls import Balls
from privopt.core.certificate import Terms
from privopt.core.exact import ball_floor, exp_at_least, log_enclosure
from privopt.core.problem import Enclosure
from privopt.files.text import number
from privopt.measures.colouring.reading import UNIT, exact_row, largest_ratio
from privopt.measures.colouring.steps import LARGEST, TINY
from privopt.mechanisms import Colouring
from privopt.problems.boundary_colouring.bound import mean
from privopt.problems.boundary_colouring.boundary import MET
from privopt.problems.boundary_colouring.data import Adjacency, ColouringData, cell_of, likelier_at

FIRST = 64
"""Pairs with the largest readings, whose leakage is enclosed first."""
TIES = 1024
"""Pairs that nearly tie with the worst and are compared exactly."""
READING = Fraction(1, 10**12)
"""By how much, relatively, a pair that was taken for the worst may leak less: what a float reading is good for."""
WIDER = (2.0**-48, 2.0**-44, 2.0**-40, 2.0**-36, 2.0**-30)
"""By how much, times the number of colours, a leakage may exceed what is proved of the worst pairs, until few are left."""


class Proof(NamedTuple):
    """Whether every edge is proved private and why, the exact leakage and utility enclosed, and who leaks most to whom."""

    ok: bool
    reason: str
    leakage: Enclosure
    utility: Enclosure
    worst: tuple[Hashable, ...]
    where: str


def prove_privacy(data: ColouringData, mechanism: Colouring) -> Proof:
    """Prove sum_c max(0, P_u(c) - e^epsilon P_v(c)) <= delta on every edge, in both directions."""
    rows = _Rows(mechanism)
    ok, reason = _settle(data, mechanism, rows)
    miss = data.miss(mechanism)
    if ok and miss > 0:
        ok, reason = False, f"a prescribed value is missed by {number(miss)}, more than {MET:g} of it"
    leaks = _Leaks(data, mechanism, rows)
    low, high = (min(x, data.epsilon) if ok else x for x in leaks.enclosure)
    return Proof(ok, reason, (low, high), utility(data, mechanism), *leaks.named())


def terms(data: ColouringData) -> Terms:
    """What a certificate of a colouring is about."""
    apart = "k times epsilon" if data.delta == 0 else "k times epsilon, and delta k-fold or more"
    uncovered = [
        "datasets that are not in the graph",
        f"datasets that are not neighbours: k edges apart the budget is {apart}, and without a path nothing is promised",
        "what is published beside the answer",
    ]
    if data.boundary is not None and data.k > 1:
        uncovered.append(f"the values prescribed on the boundary, which are met to {MET:g} and not certified")
    return Terms(
        kind="privacy",
        statement=_statement(data),
        assumption=f"neighbouring datasets are the edges of {data.graph!r}; delta = {data.delta!r}",
        adversary="anyone who sees the answer, even one who knows everything but which of two neighbouring datasets was used",
        unit="release: one answer about one dataset",
        uncovered=tuple(uncovered),
    )


def _statement(data: ColouringData) -> str:
    """The claim with its numbers, rounded up."""
    times = "likelier from one dataset than"
    if data.epsilon > 0:
        times = f"more than {factor(data.epsilon)} times as likely from one dataset as"
    claim = f"no answer is {times} from a neighbouring one"
    if data.delta == 0:
        return claim
    return f"{claim}, but for a probability of at most {data.delta!r} (delta)"


def factor(epsilon: float) -> str:
    """e^epsilon in four digits, never less than it is.

    Examples
    --------
    >>> factor(0.5), factor(0.6931471805599453), factor(1000.0)
    ('1.649', '2', 'e^1000')
    """
    if epsilon > 20:
        return f"e^{epsilon!r}".removesuffix(".0")
    shown = number(math.exp(epsilon), 4)
    exact = Fraction(shown)
    # Unless it is proved to be at most e^epsilon, which no rational equals.
    if exp_at_least(epsilon, exact.numerator, exact.denominator) is False:
        return shown
    return number(float(shown) + 10.0 ** (math.floor(math.log10(float(shown))) - 3), 4)


def utility(data: ColouringData, mechanism: Colouring) -> Enclosure:
    """The exact utility, enclosed: the largest entry of a row is 1 minus the others, the rest are floats."""
    levels, k = mechanism.levels, mechanism.levels.shape[1]
    is_top = np.arange(k) == np.argmax(levels, axis=1)[:, None]
    largest = 1.0 - Balls.exact(np.where(is_top, 0.0, levels)).sum(axis=1)
    cells = largest[np.repeat(np.arange(len(levels)), k)].where(is_top.ravel(), levels.ravel())
    low, high = mean(data, cells, cell_of(mechanism, data.graph.codes))
    return max(low, 0.0), min(high, 1.0)


def ambiguous(levels: Floats, first: Ints, second: Ints, epsilon: float, delta: float) -> Ints:
    """The pairs that floats with directed rounding do not prove private.

    The exact distribution of a row gives to its largest entry what the floats miss of 1, a few units of rounding of that entry,
    so every entry is a float times 1 +- (k + 2) u.
    """
    k = levels.shape[1]
    above, below = 1.0 + (2 * k + 6) * UNIT, 1.0 - (2 * k + 8) * UNIT
    growth = _exp_floor(epsilon)
    block, doubtful = max(1, (1 << 22) // k), []
    for i in range(0, len(first), block):
        total, subnormal = np.zeros(len(first[i : i + block])), np.zeros(1, dtype=bool)
        for column in levels.T:  # a column at a time: tables of millions of short rows are slow
            column = np.ascontiguousarray(column)
            faint = (column < TINY) & (column > 0)
            u, v = column[first[i : i + block]], column[second[i : i + block]]
            total += np.maximum(u * above - growth * v * below, 0.0)
            if faint.any():
                subnormal = subnormal | faint[first[i : i + block]] | faint[second[i : i + block]]
        doubtful.append(i + np.flatnonzero((total * above > delta) | subnormal))
    return np.concatenate(doubtful) if doubtful else np.zeros(0, dtype=np.int64)


def _exp_floor(epsilon: float) -> float:
    """A float at most e^epsilon, proved; 1 at 0."""
    if epsilon == 0:
        return 1.0
    from flint import arb, fmpq

    exponent = fmpq(*Fraction(min(epsilon, LARGEST)).as_integer_ratio())
    return ball_floor(arb(exponent).exp())


def _settle(data: ColouringData, mechanism: Colouring, rows: _Rows) -> tuple[bool, str]:
    """Whether all pairs hold, those that floats leave in doubt exactly, the worst reading first; and why."""
    pairs, delta = data.adjacent(mechanism), Fraction(data.delta)
    doubtful = ambiguous(mechanism.levels, pairs.first, pairs.second, data.epsilon, data.delta)
    order = doubtful[np.argsort(-pairs.reading.epsilon[doubtful], kind="stable")]
    for i in order.tolist():
        ratio = largest_ratio(rows[int(pairs.first[i])], rows[int(pairs.second[i])], delta)
        fine = ratio is not None and (
            ratio <= 1 or exp_at_least(data.epsilon, ratio.numerator, ratio.denominator)
        )
        if not fine:
            return False, "the edge that leaks most is not proved private"
    count = f"{len(pairs.first)} ordered pairs of rows stand next to each other"
    return True, f"all hold: {count}, {len(order)} of them settled exactly"


class _Rows:
    """Exact rows of levels, each made at its first use."""

    def __init__(self, mechanism: Colouring) -> None:
        self._levels = mechanism.levels
        self._made: dict[int, list[Fraction]] = {}

    def __getitem__(self, level: int) -> list[Fraction]:
        if level not in self._made:
            self._made[level] = exact_row(self._levels[level].tolist())
        return self._made[level]


class _Leaks:
    """The exact leakage of a colouring, and the pairs that have it or nearly so."""

    def __init__(self, data: ColouringData, mechanism: Colouring, rows: _Rows) -> None:
        self.data, self.mechanism, self.rows = data, mechanism, rows
        self.pairs: Adjacency = data.adjacent(mechanism)
        self.delta = Fraction(data.delta)
        self._ratios: dict[int, Fraction | None] = {}
        readings = self.pairs.reading.epsilon
        count = min(FIRST, len(readings))
        first = np.argpartition(-readings, count - 1)[:count] if count else np.zeros(0, dtype=np.int64)
        self.low, self.high = self._largest(first)
        self.near = self._not_below(self.low)
        self.high = self._upper()

    @property
    def enclosure(self) -> Enclosure:
        """Floats around the leakage."""
        return self.low, self.high

    def ratio(self, i: int) -> Fraction | None:
        """The smallest e^epsilon of a pair, None for infinity."""
        if i not in self._ratios:
            u, v = (self.rows[int(side[i])] for side in (self.pairs.first, self.pairs.second))
            self._ratios[i] = largest_ratio(u, v, self.delta)
        return self._ratios[i]

    def _largest(self, pairs: Ints) -> Enclosure:
        ratios = [self.ratio(i) for i in pairs.tolist()]
        if any(x is None for x in ratios):
            return math.inf, math.inf
        largest = max((x for x in ratios if x is not None), default=Fraction(1))
        return log_enclosure(largest.numerator, largest.denominator) if largest > 1 else (0.0, 0.0)

    def _not_below(self, epsilon: float) -> Ints:
        """Pairs that floats do not prove to leak at most epsilon."""
        if epsilon == math.inf:
            return np.flatnonzero(self.pairs.reading.epsilon == math.inf)
        return ambiguous(self.mechanism.levels, self.pairs.first, self.pairs.second, epsilon, self.data.delta)

    def _upper(self) -> float:
        """A bound on the leakage of all pairs: floats prove most, and what they leave is settled exactly."""
        if self.low == math.inf:
            return math.inf
        k, most, left = self.mechanism.levels.shape[1], self.high, self.near
        for wider in WIDER:
            if len(left) <= TIES:
                break
            most = self.low + (k + 2) * wider * max(1.0, self.low)
            left = self._not_below(most)
        return max(self.high, most, self._largest(left)[1])

    def worst(self) -> int | None:
        """The first of the pairs that leak most, exactly unless very many nearly tie; None where nothing leaks."""
        if self.high == 0 or not len(self.near):
            return None
        if self.low == math.inf or len(self.near) > TIES:
            return int(np.argmax(self.pairs.reading.epsilon))
        i = max(self.near.tolist(), key=lambda i: (*self.order(i), -i))
        return i if self.order(i) > (False, Fraction(1)) else None

    def order(self, i: int) -> tuple[bool, Fraction]:
        """What pairs are compared by: whether a pair leaks without limit, and its ratio."""
        ratio = self.ratio(i)
        return ratio is None, ratio or Fraction(0)

    def named(self) -> tuple[tuple[Hashable, ...], str]:
        """Labels of the ends of the edge that leaks most, and direction and colour in words."""
        i = self.worst()
        if i is None:
            return (), ""
        colour = min(self.likelier(int(self.pairs.first[i]), int(self.pairs.second[i])))
        return self.data.edge_in_words(self.mechanism, i, colour)

    def likelier(self, first: int, second: int) -> list[int]:
        """The colours whose ratio between two rows is largest."""
        cells = list(zip(self.rows[first], self.rows[second], strict=True))
        never = [c for c, (a, b) in enumerate(cells) if a > 0 and b == 0]
        if never:
            return never
        ratios = {c: a / b for c, (a, b) in enumerate(cells) if b > 0}
        most = max(ratios.values())
        return [c for c, ratio in ratios.items() if ratio == most]


def is_worst(
    data: ColouringData, mechanism: Colouring, worst: tuple[Hashable, ...], where: str
) -> bool | None:
    """Whether a named edge leaks as much as any; None where it does but for the last digits.

    Ties count, and no edge is named where nothing leaks.
    """
    pairs, leaks = data.adjacent(mechanism), _Leaks(data, mechanism, _Rows(mechanism))
    if not worst:
        return None if leaks.worst() is not None and leaks.low == 0 else leaks.worst() is None
    graph, level = data.graph, mechanism.level
    if len(worst) != 2:
        return False
    try:
        u, v = (graph.position(label) for label in worst)
    except ValueError:
        return False
    if v not in graph.indices[graph.indptr[u] : graph.indptr[u + 1]]:
        return False
    first, second = int(level[u]), int(level[v])
    if first == second or where not in [
        likelier_at(mechanism.colours[c], *worst) for c in leaks.likelier(first, second)
    ]:
        return False
    place = np.flatnonzero((pairs.first == first) & (pairs.second == second))
    order = leaks.order(int(place[0]))
    if leaks.low == math.inf or order[0]:
        return order[0]
    if len(leaks.near) <= TIES and all(order >= leaks.order(i) for i in leaks.near.tolist()):
        return True
    least = Fraction(leaks.low) * (1 - READING)
    reached = log_enclosure(order[1].numerator, order[1].denominator)[1] if order[1] > 1 else 0.0
    return None if reached >= least else False

"""The exact leakage and utility of a redaction mechanism: ratios against e^epsilon, never a float reading.

Given the private record its two sides are independent, so their largest ratios multiply. Everything on a side is kept up
to a factor that all values of the private record share, so integer matrices do: such factors cancel in every ratio. The
left side avoids the time reversal: with W[i, x] the weight of going from X_t = i to X_p = x with all records between
redacted, Pr(first release on the left is v at t | X_p = x) is proportional to Pr(X_t = v) W[v, x] / Pr(X_p = x), and
Pr(X_t = v) cancels.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from privopt.arrays import Ints
from privopt.core.exact import MAX_BITS, IntegerRow, ball_enclosure, exp_at_least, log_enclosure
from privopt.core.problem import Enclosure
from privopt.mechanisms.redaction import TOTAL
from privopt.problems.redaction.data import RedactionData
from privopt.problems.redaction.screen import LEAST, Screen, Side, U, screen

if TYPE_CHECKING:
    from flint import arb, arb_mat, fmpz, fmpz_mat

    Matrix: TypeAlias = fmpz_mat | arb_mat
    Scalar: TypeAlias = fmpz | arb

Event: TypeAlias = tuple[int, int]
"""A first release on a side: its distance from the private record and its value, -1 for none."""
Rows: TypeAlias = tuple[IntegerRow, ...]
Pair: TypeAlias = tuple[int, int]

BITS_IN_MEMORY = 1 << 23
"""Numbers of the recursion longer than this are replaced by balls."""

EXACT_WORK = 1e7
"""Products of machine words beyond which pairs are screened in floats before anything is proved."""


@dataclass
class Finding:
    """The largest ratio over pairs and outputs for one private record, compared with e^epsilon."""

    passes: bool | None
    enclosure: Enclosure
    pair: tuple[int, int] | None
    left: Event
    right: Event
    method: str
    known: tuple[Event, Event] = ((0, -1), (0, -1))
    by_pair: dict[tuple[int, int], Enclosure] = field(default_factory=dict)


def findings_of(data: RedactionData, weights: Ints) -> dict[int, Finding]:
    """What is proved of each private record, from integer redaction weights."""
    return {p: _one_record(data, weights, p) for p in data.private}


def is_worst(data: RedactionData, findings: Mapping[int, Finding], worst: tuple[Hashable, ...]) -> bool:
    """Whether the named pair leaks as much as any, about some private record; ties count, the output named is not read."""
    most = max(f.enclosure for f in findings.values())
    if not worst:
        return most[1] <= 0 or all(f.pair is None for f in findings.values())
    states = list(data.chain.states)
    if len(worst) != 2 or any(label not in states for label in worst):
        return False
    pair = states.index(worst[0]), states.index(worst[1])
    tied = [f.by_pair[pair] for f in findings.values() if pair in f.by_pair]
    return any(enclosure[1] >= most[0] for enclosure in tied)


def _one_record(data: RedactionData, weights: Ints, p: int) -> Finding:
    possible = data.possible_values(p).tolist()
    if len(possible) == 1:
        return Finding(True, (0.0, 0.0), None, (0, -1), (0, -1), "the private record is constant")
    shown = [x for x in possible if weights[p][x] < TOTAL]
    if shown:
        other = next(x for x in possible if x != shown[0])
        place = (0, shown[0])
        return Finding(
            data.epsilon == math.inf,
            (math.inf, math.inf),
            (shown[0], other),
            place,
            place,
            "the private record is shown",
            by_pair={(v, x): (math.inf, math.inf) for v in shown for x in possible if x != v},
        )
    informed = data.side_information is not None
    can, views = data.supports, ((slice(0, p), -1), (slice(p + 1, None), 1))
    sides = [(weights[view][::sign], can[view][::sign]) for view, sign in views]
    left, right = Side.both(sides)
    if informed:  # records farther than what is released may be known
        left, right = (
            Side(*s, len(s[0]), True) if len(cut.weights) else cut
            for s, cut in zip(sides, (left, right), strict=True)
        )
    equal = data.chain.exact_step(0) if data.chain.homogeneous else None
    record = _Record(data, p, possible, left, right, equal, informed)
    slow = data.epsilon > 0 and record.work() > EXACT_WORK
    if slow or record.bits() > BITS_IN_MEMORY:
        return record.with_balls() if informed else record.screened()
    return record.exactly()


@dataclass(frozen=True)
class _Record:
    """A private record that is always hidden: its possible values, and its two sides."""

    data: RedactionData
    place: int
    possible: list[int]
    left: Side
    right: Side
    equal: Rows | None
    """The step of the chain, where all of them are equal."""
    informed: bool
    """Whether the adversary may know other records."""

    def steps(self, places: Iterable[int]) -> Iterator[Rows]:
        """Exact steps from some records to those after them."""
        return (
            itertools.repeat(self.equal)
            if self.equal is not None
            else map(self.data.chain.exact_step, places)
        )

    @property
    def pairs(self) -> list[Pair]:
        """Ordered pairs of possible values."""
        return list(itertools.permutations(self.possible, 2))

    def exactly(self) -> Finding:
        """By integers alone."""
        return _decide(self.data.epsilon, *self.ratios(0, self.pairs), "exact rationals")

    def with_balls(self, pairs: list[Pair] | None = None) -> Finding:
        """By balls, of ever more bits until they decide; of some pairs only, if they are named."""
        from flint import ctx

        bits = 256 if self.informed else 128
        while True:
            with ctx.workprec(bits):
                ratios = self.ratios(bits, self.pairs if pairs is None else pairs)
                finding = _decide(self.data.epsilon, *ratios, "balls, as the rationals would be too long")
            if finding.passes is not None or bits >= MAX_BITS:
                return finding
            bits *= 2

    def screened(self) -> Finding:
        """By balls for the pairs that floats with their roundings do not rule out."""
        sides = self._screens()
        if sides is None:
            return self.with_balls()
        (left, right), rows = sides, self.possible
        high, low = left.high * right.high * (1 + 4 * U), left.low * right.low * (1 - 4 * U)
        np.fill_diagonal(high, 0.0)
        np.fill_diagonal(low, 0.0)
        leading = [(rows[i], rows[j]) for i, j in np.argwhere(high >= low.max()).tolist()]
        nearer = replace(self, left=self.left.cut(left.records), right=self.right.cut(right.records))
        finding = nearer.with_balls(leading)
        cells = {pair: (rows.index(pair[0]), rows.index(pair[1])) for pair in self.pairs}
        others = {
            pair: float_logs(low[cell], high[cell]) for pair, cell in cells.items() if pair not in leading
        }
        return replace(finding, by_pair={**others, **finding.by_pair})

    def _screens(self) -> tuple[Screen, Screen] | None:
        """Both sides in floats."""
        chain, p, rows = self.data.chain, self.place, np.array(self.possible)
        prior = _shares(self.data, p, 128)
        whole = sum(prior[1:], prior[0])
        priors = np.array([float((prior[x] / whole).mid()) for x in self.possible])
        if priors.min() < LEAST:
            return None
        scales = 1.0 / priors
        left = screen(self.left, (chain.step(t).T for t in range(p - 1, -1, -1)), rows, scales)
        right = screen(
            self.right, (chain.step(t) for t in range(p, self.data.length - 1)), rows, np.ones(len(rows))
        )
        return None if left is None or right is None else (left, right)

    def bits(self) -> int:
        """Length of the longest number that the exact recursion would hold."""
        longest = max(self._side_bits(self.left, -1), self._side_bits(self.right, 1))
        return (2 * longest if self.informed else longest) + self.data.chain.k * self._prior_bits()

    def _prior_bits(self) -> int:
        """Length of the exact probabilities of the private record's values."""
        if self.data.chain.stationary or not self.place:
            return 0
        if self.data.chain.period is not None and self.data.chain.returns:
            return self.data.chain.exact_marginal(self.place).total.bit_length()
        return self.place * max(row.total.bit_length() for row in next(self.steps([0])))

    def _side_bits(self, side: Side, sign: int) -> int:
        p, reach = self.place, len(side.weights)
        if not reach:
            return 0
        partial = int((side.weights < TOTAL).any(axis=1).sum())
        if self.equal is not None:
            return reach * _scale(self.equal).bit_length() + 52 * partial
        places = range(p - 1, p - 1 - reach, -1) if sign < 0 else range(p, p + reach)
        return sum(_scale(rows).bit_length() for rows in self.steps(places)) + 52 * partial

    def work(self) -> float:
        """About how many products of machine words the exact recursion takes."""
        k = self.data.chain.k
        products = self.place.bit_length() * k if self.data.chain.homogeneous else self.place
        total: float = products * k**2 * (self._prior_bits() / 64) ** 1.3
        for side, sign in ((self.left, -1), (self.right, 1)):
            words = 4 + self._side_bits(side, sign) / 64
            partial = int((side.weights < TOTAL).any(axis=1).sum())
            plain = len(side.weights) - partial
            each = partial + (2 * math.log2(1 + plain) if self.equal is not None else plain)
            offers = 16 * k * len(self.possible) ** 2 * partial
            total += (each * k**3 + offers) * math.pow(words, 1.3)
        return total

    def ratios(self, bits: int, pairs: list[Pair]) -> tuple[Ratios, Ratios]:
        """Largest ratios of both sides, as integers (bits = 0) or as balls."""
        from flint import arb, fmpz

        data, p = self.data, self.place
        kind: Callable[[int], Any] = arb if bits else fmpz
        rows = sorted({x for pair in pairs for x in pair})

        def matrices(places: range, transposed: bool) -> Iterator[Any]:
            made = (_matrix(each, transposed, bits) for each in self.steps(places))
            return made if self.equal is None else itertools.repeat(next(made))

        prior = _shares(data, p, bits)
        product = math.prod(prior[x] for x in rows)
        scales = [product / prior[x] if bits else product // prior[x] for x in rows]
        ends = _shares(data, p - len(self.left.weights), bits) if self.left.open else None
        power = self.equal is not None
        return (
            side_ratios(
                matrices(range(p - 1, -1, -1), True), self.left, TOTAL, rows=rows, pairs=pairs, scales=scales,
                ends=ends, power=power, informed=self.informed,
            ),
            side_ratios(
                matrices(range(p, data.length - 1), False), self.right, TOTAL, rows=rows, pairs=pairs,
                scales=[kind(1)] * len(rows), ends=None, power=power, informed=self.informed,
            ),
        )  # fmt: skip


def float_logs(low: float, high: float) -> Enclosure:
    """Logarithms of a ratio's bounds, rounded outward."""
    from flint import arb

    least = ball_enclosure(arb(low).log())[0] if low > 0 else -math.inf
    return least, math.inf if math.isinf(high) else ball_enclosure(arb(high).log())[1]


def _shares(data: RedactionData, t: int, bits: int) -> list[Any]:
    """The distribution of a record up to a common factor, as integers (bits = 0) or as balls."""
    from flint import arb, arb_mat, ctx, fmpz

    chain = data.chain
    if not bits:
        return [fmpz(w) for w in chain.exact_marginal(t).weights]
    if chain.stationary or t == 0:
        return [arb(w) for w in chain.exact_initial.weights]
    if chain.period is not None and chain.returns:
        return [arb(w) for w in chain.exact_marginal(t).weights]
    with ctx.workprec(bits + 64):
        now = arb_mat([list(chain.exact_initial.weights)])
        if chain.homogeneous:
            now = now * _matrix(chain.exact_step(0), False, bits) ** t
        else:
            for place in range(t):
                now = now * _matrix(chain.exact_step(place), False, bits)
        return [now[0, v] if can else arb(0) for v, can in enumerate(data.supports[t])]


def _scale(rows: Rows) -> int:
    """The least common multiple of the totals of rows."""
    return math.lcm(*(row.total for row in rows))


def _matrix(rows: Rows, transposed: bool, bits: int) -> Matrix:
    """A transition matrix times its scale, as integers (bits = 0) or as balls."""
    from flint import arb_mat, fmpz_mat

    scale = _scale(rows)
    step = fmpz_mat([[w * (scale // row.total) for w in row.weights] for row in rows])
    step = step.transpose() if transposed else step
    return arb_mat(step) if bits else step


def _decide(epsilon: float, left: Ratios, right: Ratios, method: str) -> Finding:
    """Compare the product of the two sides' largest ratios with e^epsilon, for every ordered pair."""
    compared = {pair: _compare(epsilon, left[pair], right[pair]) for pair in left}
    verdicts = {verdict for verdict, _ in compared.values()}
    by_pair = {pair: enclosure for pair, (_, enclosure) in compared.items()}
    pair = max(by_pair, key=lambda p: by_pair[p])
    return Finding(
        passes=False if False in verdicts else None if None in verdicts else True,
        enclosure=by_pair[pair],
        pair=pair,
        left=left[pair].event,
        right=right[pair].event,
        method=method,
        known=(left[pair].known, right[pair].known),
        by_pair=by_pair,
    )


def _compare(epsilon: float, a: Ratio, b: Ratio) -> tuple[bool | None, Enclosure]:
    from flint import fmpz

    numerator, denominator = a.numerator * b.numerator, a.denominator * b.denominator
    if not isinstance(numerator, fmpz) or not isinstance(denominator, fmpz):
        return _compare_balls(epsilon, a, b)
    ratio = int(numerator), int(denominator)
    lo, hi = log_enclosure(*ratio)
    if hi <= epsilon or lo > epsilon:  # the enclosure is proved, and most often decides
        return hi <= epsilon, (lo, hi)
    return exp_at_least(epsilon, *ratio), (lo, hi)


def _compare_balls(epsilon: float, a: Ratio, b: Ratio) -> tuple[bool | None, Enclosure]:
    from flint import arb, fmpq

    ratio = (arb(a.numerator) / arb(a.denominator)) * (arb(b.numerator) / arb(b.denominator))
    level = ratio.log()
    enclosure = ball_enclosure(level)
    if epsilon == math.inf:
        return True, enclosure
    limit = arb(fmpq(*epsilon.as_integer_ratio()))
    return (True if level <= limit else False if level > limit else None), enclosure


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


def side_ratios(
    steps: Iterator[Matrix],
    side: Side,
    total: int,
    *,
    rows: Sequence[int],
    pairs: Sequence[Pair],
    scales: Sequence[Scalar],
    ends: Sequence[Scalar] | None,
    power: bool,
    informed: bool = False,
) -> Ratios:
    """Largest ratio of some ordered pairs of possible private values over the outputs of one side.

    Parameters
    ----------
    steps : (k, k) matrices by distance
        Rows are the values nearer to the private record; the left side gives transposed steps.
    side : Side
        Redaction weights out of ``total`` by distance, and which values the records can have.
    rows : positions of the private values in the pairs
    scales : a scalar for each row
        What the weight of a private value is multiplied by (left: the reciprocal of its probability, over
        a common denominator; right: ones).
    ends : k scalars or None
        Left: probabilities of the last record, up to a common factor; right: None, all ones.
    power : bool
        Whether all steps are equal, so that runs without a release are one matrix power.
    informed : bool
        Whether the adversary may know other records, see :mod:`privopt.measures.redaction.informed`.
    """
    one = scales[0] * 0 + 1
    ratios: Ratios = {pair: Ratio(one, one, (0, -1)) for pair in pairs}
    if not len(side.weights):
        return ratios
    k, weights, reachable = side.weights.shape[1], side.weights.tolist(), side.reachable.tolist()
    runs = _plain_runs(side.weights, total) if power else [0] * len(weights)
    first = next(steps)
    table, steps, d = _unit_rows(first, rows), itertools.chain([first], steps), 0
    known = _Known(ratios, rows, table, reachable) if informed else None
    while d < len(weights):
        # Nothing is told of a run without a release that its end does not tell, whatever else is known.
        run = runs[d] if not (known and known.waiting) else 0
        if run > 1:
            table = _repeated(table, first, run)
            d += run
            if known:
                known.plain = _repeated(known.plain, first, run)
            continue
        step, row = next(steps), weights[d]
        d += 1
        table = table * step
        shown = [v for v in range(k) if row[v] < total and reachable[d - 1][v]]
        if known:
            known.walk(table, step, d)
        for v in shown:
            column = [table[i, v] for i in range(len(rows))]
            _offer(ratios, rows, [x * scale for x, scale in zip(column, scales, strict=True)], (d, v))
            if known:
                known.wait(column, (d, v))
        if any(w < total for w in row):
            table = _scaled(table, row, total)
        if not any(row) or all(table[i, v] == 0 for i in range(len(rows)) for v in range(k)):
            while known and known.waiting and d < len(weights):
                d += 1
                known.walk(None, next(steps), d)
            return ratios
    if side.open:
        last = [
            sum((table[i, v] * (1 if ends is None else ends[v]) for v in range(k)), table[i, 0] * 0)
            for i in range(len(rows))
        ]
        column = [x * scale for x, scale in zip(last, scales, strict=True)]
        _offer(ratios, rows, column, (side.length, -1))
    return ratios


def _repeated(table: Matrix, step: Matrix, count: int) -> Matrix:
    """The table after some equal steps: by a power of the step, or one by one where that is less work."""
    k, rows = step.nrows(), table.nrows()
    if count * rows > 2 * k * count.bit_length():
        return table * step**count
    for _ in range(count):
        table = table * step
    return table


class _Known:
    """What the nearest record known on a side adds; first releases wait until farther records tell no more."""

    def __init__(
        self, ratios: Ratios, rows: Sequence[int], start: Matrix, reachable: list[list[bool]]
    ) -> None:
        self.ratios, self.plain, self.reachable = ratios, start, reachable
        self.places = {x: i for i, x in enumerate(rows)}
        self.waiting: list[tuple[list[Scalar], Event, set[int]]] = []

    def wait(self, column: list[Scalar], event: Event) -> None:
        """A first release of a value, with its weight by private value."""
        if any(x != 0 for x in column):
            self.waiting.append((column, event, {event[1]}))

    def walk(self, table: Matrix | None, step: Matrix, distance: int) -> None:
        """The next record, were it known; ``table`` is None where nothing is left to be released first."""
        k = step.ncols()
        self.plain = self.plain * step
        can = [i for i in range(k) if self.reachable[distance - 1][i]]
        for i in can if table is not None else ():
            assert table is not None
            self._offer([table[x, i] for x in self.places.values()], (distance, -1), i, distance)
        waiting = []
        for column, event, reach in self.waiting:
            then = {i for i in can if any(step[j, i] != 0 for j in reach)}
            for i in then:
                self._offer(column, event, i, distance)
            if len(then) < len(can) or any(self.plain[x, i] == 0 for x in self.places.values() for i in can):
                waiting.append((column, event, then))
        self.waiting = waiting

    def _offer(self, column: list[Scalar], event: Event, value: int, distance: int) -> None:
        for pair, ratio in self.ratios.items():
            x, y = self.places[pair[0]], self.places[pair[1]]
            mine, other = self.plain[x, value], self.plain[y, value]
            if mine != 0 and other != 0 and column[x] != 0:
                ratio.offer(column[x] * other, column[y] * mine, event, (distance, value))


def _plain_runs(weights: Ints, total: int) -> list[int]:
    """For each record, how many from it on are always redacted."""
    places = np.append(np.flatnonzero((weights < total).any(axis=1)), len(weights))
    index = np.arange(len(weights))
    return list((places[np.searchsorted(places, index)] - index).tolist())


def _unit_rows(like: Matrix, rows: Sequence[int]) -> Matrix:
    """Rows of the identity."""
    return type(like)([[int(x == v) for v in range(like.ncols())] for x in rows])


def _scaled(table: Matrix, row: Sequence[int], total: int) -> Matrix:
    """Columns times their redaction weights, over the power of two they share."""
    shared = math.gcd(total, *row)
    factors = [w // shared for w in row]
    cells: list[list[Any]] = [
        [table[x, v] * factors[v] for v in range(table.ncols())] for x in range(table.nrows())
    ]
    return type(table)(cells)


def _offer(ratios: Ratios, rows: Sequence[int], column: Sequence[Scalar], event: Event) -> None:
    """An output by its weight for each row."""
    if all(x == 0 for x in column):
        return
    by_value = dict(zip(rows, column, strict=True))
    for (x, y), ratio in ratios.items():
        if by_value[x] != 0:
            ratio.offer(by_value[x], by_value[y], event)

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
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from privopt.arrays import Ints
from privopt.core.exact import MAX_BITS, IntegerRow, ball_enclosure, exp_at_least, log_enclosure
from privopt.core.problem import Enclosure
from privopt.mechanisms import RedactionMechanism
from privopt.mechanisms.redaction import TOTAL
from privopt.problems.redaction.data import RedactionData

if TYPE_CHECKING:
    from flint import arb, arb_mat, fmpz, fmpz_mat

    Matrix: TypeAlias = fmpz_mat | arb_mat
    Scalar: TypeAlias = fmpz | arb

Event: TypeAlias = tuple[int, int]
"""A first release on a side: its distance from the private record and its value, -1 for none."""
Rows: TypeAlias = tuple[IntegerRow, ...]

BITS_IN_MEMORY = 1 << 23
"""Numbers of the recursion longer than this are replaced by balls."""

UTILITY_BITS = 192


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
    rows = weights.tolist()
    return {p: _one_record(data, rows, p) for p in data.private}


def is_worst(data: RedactionData, mechanism: RedactionMechanism, worst: tuple[Hashable, ...]) -> bool:
    """Whether the named pair leaks as much as any, about some private record; ties count, the output named is not read."""
    findings = findings_of(data, mechanism.exact())
    most = max(f.enclosure for f in findings.values())
    if not worst:
        return most[1] <= 0 or all(f.pair is None for f in findings.values())
    states = list(data.chain.states)
    if len(worst) != 2 or any(label not in states for label in worst):
        return False
    pair = states.index(worst[0]), states.index(worst[1])
    tied = [f.by_pair[pair] for f in findings.values() if pair in f.by_pair]
    return any(enclosure[1] >= most[0] for enclosure in tied)


def _one_record(data: RedactionData, weights: list[list[int]], p: int) -> Finding:
    prior = data.chain.exact_marginal(p).weights
    possible = [x for x, weight in enumerate(prior) if weight > 0]
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
    equal = data.chain.exact_step(0) if data.chain.homogeneous else None
    informed = data.side_information is not None
    record = _Record(data, p, prior, possible, weights[:p][::-1], weights[p + 1 :], equal, informed)
    return record.exactly() if record.bits() <= BITS_IN_MEMORY else record.with_balls()


@dataclass(frozen=True)
class _Record:
    """A private record that is always hidden: its distribution, and the redaction weights of each side by distance."""

    data: RedactionData
    place: int
    prior: Sequence[int]
    possible: list[int]
    left: list[list[int]]
    right: list[list[int]]
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

    def exactly(self) -> Finding:
        """By integers alone."""
        return _decide(self.data.epsilon, *self.ratios(0), "exact rationals")

    def with_balls(self) -> Finding:
        """By balls, of ever more bits until they decide."""
        from flint import ctx

        bits = 256
        while True:
            with ctx.workprec(bits):
                ratios = self.ratios(bits)
                finding = _decide(self.data.epsilon, *ratios, "balls, as the rationals would be too long")
            if finding.passes is not None or bits >= MAX_BITS:
                return finding
            bits *= 2

    def bits(self) -> int:
        """Length of the longest number that the exact recursion would hold."""
        p, longest = self.place, 0
        for side, sign in ((self.left, -1), (self.right, 1)):
            reach = next((d for d, row in enumerate(side, 1) if not any(row)), len(side))
            places = range(p - 1, p - 1 - reach, -1) if sign < 0 else range(p, p + reach)
            count = reach if self.equal is None else min(reach, 1)
            steps = [_scale(rows).bit_length() for rows in itertools.islice(self.steps(places), count)]
            total = reach * steps[0] if self.equal is not None and steps else sum(steps)
            longest = max(longest, total + reach * 52)
        stationary = self.data.chain.stationary or not p
        prior = 0 if stationary else p * max(row.total.bit_length() for row in next(self.steps([0])))
        return (2 * longest if self.informed else longest) + len(self.prior) * prior

    def ratios(self, bits: int) -> tuple[Ratios, Ratios]:
        """Largest ratios of both sides, as integers (bits = 0) or as balls."""
        from flint import arb, fmpz

        data, p, k = self.data, self.place, len(self.prior)
        kind: Callable[[int], Any] = arb if bits else fmpz

        def matrices(places: range, transposed: bool) -> Iterator[Any]:
            made = (_matrix(rows, transposed, bits) for rows in self.steps(places))
            return made if self.equal is None else itertools.repeat(next(made))

        product = math.prod(self.prior[x] for x in self.possible)
        inverse = [kind(product // weight) if weight else kind(0) for weight in self.prior]
        first = [kind(w) for w in data.chain.exact_initial.weights]
        power = self.equal is not None
        return (
            side_ratios(
                matrices(range(p - 1, -1, -1), True), self.left, TOTAL, scales=inverse, possible=self.possible,
                reachable=data.supports[:p][::-1].tolist(), ends=first, power=power, informed=self.informed,
            ),
            side_ratios(
                matrices(range(p, data.length - 1), False), self.right, TOTAL, scales=[kind(1)] * k,
                possible=self.possible, reachable=data.supports[p + 1 :].tolist(), ends=None, power=power,
                informed=self.informed,
            ),
        )  # fmt: skip


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
    weights: Sequence[Sequence[int]],
    total: int,
    *,
    scales: Sequence[Scalar],
    possible: Sequence[int],
    reachable: list[list[bool]],
    ends: Sequence[Scalar] | None,
    power: bool,
    informed: bool = False,
) -> Ratios:
    """Largest ratio of every ordered pair of possible private values over the outputs of one side.

    Parameters
    ----------
    steps : (k, k) matrices by distance
        Rows are the values nearer to the private record; the left side gives transposed steps.
    weights : rows of k integers out of ``total``
        Redaction weights by distance.
    scales : k scalars
        What the weight of private value x is multiplied by (left: the reciprocal of its probability, over
        a common denominator; right: ones).
    possible : positions of the private values of positive probability
    reachable : by distance and value, whether the record can have that value
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
    first = next(steps)
    table, steps, d = _identity(first), itertools.chain([first], steps), 0
    known = _Known(ratios, table, reachable) if informed else None
    while d < len(weights):
        # Nothing is told of a run without a release that its end does not tell, whatever else is known.
        run = _plain_run(weights, d, total) if power and not (known and known.waiting) else 0
        if run > 1:
            together = first**run
            table, d = table * together, d + run
            if known:
                known.plain = known.plain * together
            continue
        step, row = next(steps), weights[d]
        d += 1
        table = table * step
        shown = [v for v in range(k) if row[v] < total and reachable[d - 1][v]]
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
                known.walk(None, next(steps), d)
            return ratios
    last = [
        sum((table[x, v] * (1 if ends is None else ends[v]) for v in range(k)), table[x, 0] * 0)
        for x in range(k)
    ]
    _offer(ratios, [last[x] * scales[x] for x in range(k)], (d, -1))
    return ratios


class _Known:
    """What the nearest record known on a side adds; first releases wait until farther records tell no more."""

    def __init__(self, ratios: Ratios, identity: Matrix, reachable: list[list[bool]]) -> None:
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
        can = [i for i in range(k) if self.reachable[distance - 1][i]]
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


def utility_enclosure(data: RedactionData, weights: Ints, sequential: int | None) -> Enclosure:
    """Floats below and above sum_t w_t Pr(t released) / sum_t w_t."""
    from flint import ctx

    with ctx.workprec(UTILITY_BITS):
        kept = _released(data, weights) if sequential is None else _sequential(data, weights, sequential)
        return ball_enclosure(kept)


def _released(data: RedactionData, redacted: Ints) -> arb:
    """Utility of a local mechanism."""
    from flint import arb

    shown, chain = TOTAL - redacted, data.chain
    if data.weights is None and chain.stationary:
        # Two halves of 26 bits: sums of up to 2**37 of them fit 64-bit integers.
        high, low = (shown >> 26).sum(axis=0), (shown & (2**26 - 1)).sum(axis=0)
        sums = [(int(h) << 26) + int(part) for h, part in zip(high, low, strict=True)]
        initial = chain.exact_initial
        kept = sum((arb(w) * arb(s) for w, s in zip(initial.weights, sums, strict=True)), arb(0))
        return kept / (arb(initial.total) * arb(TOTAL) * arb(data.length))
    kept, weights = arb(0), [arb(w) for w in data.record_weights.tolist()]
    for weight, row, now in zip(weights, shown.tolist(), _distributions(data), strict=True):
        kept += weight * sum((now[v] * arb(row[v]) for v in np.flatnonzero(row)), arb(0))
    return kept / (sum(weights, arb(0)) * arb(TOTAL))


def _sequential(data: RedactionData, redacted: Ints, p: int) -> arb:
    """Utility of a sequential mechanism: a record stays hidden while nothing nearer was released.

    Chances of release are summed, not one minus the chance of hiding: what is never released is exactly 0. On
    the right, Pr(something released up to t) grows by what each step of the transfer recursion lets out. On
    the left, with r[i] the chance that one of the records between t and the private one is released given
    X_t = i, it is sum_i Pr(X_t = i) (1 - h_t[i] + h_t[i] r[i]).
    """
    from flint import arb

    n, k, hidden = data.length, data.chain.k, redacted.tolist()
    hide = [[arb(w) / arb(TOTAL) for w in row] for row in hidden]
    show = [[arb(TOTAL - w) / arb(TOTAL) for w in row] for row in hidden]
    distributions = list(_distributions(data))
    weights = [arb(w) for w in data.record_weights.tolist()]
    kept = weights[p] * _dot(distributions[p], show[p])
    ahead, out = distributions[p], arb(0)
    for t in range(p + 1, n):
        reached = _next(ahead, data.chain.exact_step(t - 1))
        out += _dot(reached, show[t])
        ahead = [x * h for x, h in zip(reached, hide[t], strict=True)]
        kept += weights[t] * out
    back = [arb(0)] * k
    for t in range(p - 1, -1, -1):
        nearer = [
            _dot([arb(w) for w in row.weights], back) / arb(row.total) for row in data.chain.exact_step(t)
        ]
        back = [s + h * r for s, h, r in zip(show[t], hide[t], nearer, strict=True)]
        kept += weights[t] * _dot(distributions[t], back)
    return kept / sum(weights, arb(0))


def _dot(left: list[arb], right: list[arb]) -> arb:
    from flint import arb

    return sum((x * y for x, y in zip(left, right, strict=True)), arb(0))


def _distributions(data: RedactionData) -> Iterator[list[arb]]:
    """The distribution of every record, as balls."""
    from flint import arb

    initial = data.chain.exact_initial
    now = [arb(w) / arb(initial.total) for w in initial.weights]
    for t in range(data.length):
        yield now
        if t + 1 < data.length and not data.chain.stationary:
            now = _next(now, data.chain.exact_step(t))


def _next(now: list[arb], rows: Rows) -> list[arb]:
    """The distribution one step later."""
    from flint import arb

    return [
        sum((now[i] * arb(row.weights[j]) / arb(row.total) for i, row in enumerate(rows)), arb(0))
        for j in range(len(now))
    ]

"""The certificate of a redaction mechanism: exact ratios against e^epsilon, never a float reading."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from privopt.core.exact import MAX_BITS, IntegerRow, ball_ceiling, ball_floor, exp_at_least, log_enclosure
from privopt.core.problem import Enclosure
from privopt.mechanisms import RedactionMechanism
from privopt.mechanisms.redaction import TOTAL
from privopt.problems.redaction.data import RedactionData
from privopt.problems.redaction.exact import Event, Ratio, Ratios, integer_step, side_ratios
from privopt.problems.redaction.terms import output_in_words, shown_impossible

if TYPE_CHECKING:
    from flint import arb

BITS_IN_MEMORY = 1 << 23
"""Numbers of the recursion longer than this are replaced by balls."""

UTILITY_BITS = 192


@dataclass(frozen=True)
class Proof:
    """What was proved or refuted of a mechanism, as the fields of a certificate."""

    ok: bool
    reason: str
    method: str
    leakage: Enclosure
    utility: Enclosure
    worst: tuple[Hashable, ...]
    where: str


@dataclass
class _Finding:
    """The largest ratio over pairs and outputs for one private record, compared with e^epsilon."""

    passes: bool | None
    enclosure: Enclosure
    pair: tuple[int, int] | None
    left: Event
    right: Event
    method: str
    known: tuple[Event, Event] = ((0, -1), (0, -1))
    by_pair: dict[tuple[int, int], Enclosure] = field(default_factory=dict)

    def where(self, data: RedactionData, record: int) -> str:
        return output_in_words(data.chain.states, record, self.left, self.right, self.known)


def prove(data: RedactionData, mechanism: RedactionMechanism) -> Proof:
    """Prove or refute leakage <= epsilon for every private record, and that no impossible value is ever shown."""
    findings, states = _findings(data, mechanism), data.chain.states
    worst = max(findings, key=lambda p: findings[p].enclosure)
    finding, ok = findings[worst], all(f.passes is True for f in findings.values())
    reason, (partial, _) = _reason(data, findings, ok), shown_impossible(data, mechanism)
    if partial:
        record, value = partial[0]
        ok = False
        reason = (
            f"record {record} can never be {states[value]!r}, yet that value would be shown: hide it always, "
            "as problem.repair does"
        )
    lo, hi = finding.enclosure
    pair = finding.pair if hi > 0 else None
    return Proof(
        ok=ok,
        reason=reason,
        method=finding.method,
        leakage=(max(0.0, lo), max(0.0, hi)),
        utility=utility_enclosure(data, mechanism),
        worst=() if pair is None else (states[pair[0]], states[pair[1]]),
        where="" if pair is None else finding.where(data, worst),
    )


def is_worst(data: RedactionData, mechanism: RedactionMechanism, worst: tuple[Hashable, ...]) -> bool:
    """Whether the named pair leaks as much as any, about some private record; ties count, the output named is not read."""
    findings = _findings(data, mechanism)
    most = max(f.enclosure for f in findings.values())
    if not worst:
        return most[1] <= 0 or all(f.pair is None for f in findings.values())
    states = list(data.chain.states)
    if len(worst) != 2 or any(label not in states for label in worst):
        return False
    pair = states.index(worst[0]), states.index(worst[1])
    tied = [f.by_pair[pair] for f in findings.values() if pair in f.by_pair]
    return any(enclosure[1] >= most[0] for enclosure in tied)


def _findings(data: RedactionData, mechanism: RedactionMechanism) -> dict[int, _Finding]:
    weights = mechanism.exact().tolist()
    return {p: _one_record(data, weights, p) for p in data.private}


def _reason(data: RedactionData, findings: dict[int, _Finding], ok: bool) -> str:
    if ok:
        return (
            f"every ratio of output probabilities is at most e^epsilon, for {len(findings)} private record(s)"
        )
    undecided = [p for p, f in findings.items() if f.passes is None]
    broken = [p for p, f in findings.items() if f.passes is False]
    if broken:
        f = findings[broken[0]]
        states = data.chain.states
        pair = "" if f.pair is None else f" for {states[f.pair[0]]!r} against {states[f.pair[1]]!r}"
        return f"leakage is at least {f.enclosure[0]:.17g} > epsilon = {data.epsilon:.17g}{pair}, " + f.where(
            data, broken[0]
        )
    return f"undecided at {MAX_BITS} bits for private record {undecided[0]}, which is not a pass"


def _one_record(data: RedactionData, weights: list[list[int]], p: int) -> _Finding:
    prior = data.chain.exact_marginal(p)
    possible = [x for x in range(data.chain.k) if prior.weights[x] > 0]
    if len(possible) == 1:
        return _Finding(True, (0.0, 0.0), None, (0, -1), (0, -1), "the private record is constant")
    shown = [x for x in possible if weights[p][x] < TOTAL]
    if shown:
        other = next(x for x in possible if x != shown[0])
        place = (0, shown[0])
        passes = data.epsilon == math.inf
        return _Finding(
            passes,
            (math.inf, math.inf),
            (shown[0], other),
            place,
            place,
            "the private record is shown",
            by_pair={(v, x): (math.inf, math.inf) for v in shown for x in possible if x != v},
        )
    left, right = weights[:p][::-1], weights[p + 1 :]
    if _bits(data, left, right, p) <= BITS_IN_MEMORY:
        return _decide(data.epsilon, *_ratios(data, left, right, p, possible, 0), "exact rationals")
    return _with_balls(data, left, right, p, possible)


def _with_balls(
    data: RedactionData, left: list[list[int]], right: list[list[int]], p: int, possible: list[int]
) -> _Finding:
    from flint import ctx

    bits = 256
    while True:
        with ctx.workprec(bits):
            ratios = _ratios(data, left, right, p, possible, bits)
            finding = _decide(data.epsilon, *ratios, "balls, as the rationals would be too long")
        if finding.passes is not None or bits >= MAX_BITS:
            return finding
        bits *= 2


def _bits(data: RedactionData, left: list[list[int]], right: list[list[int]], p: int) -> int:
    """Length of the longest number that the exact recursion would hold."""
    chain, longest = data.chain, 0
    for side, sign in ((left, -1), (right, 1)):
        reach = next((d for d, row in enumerate(side, 1) if not any(row)), len(side))
        places = [p - d if sign < 0 else p + d - 1 for d in range(1, reach + 1)]
        rows = [chain.exact_step(t) for t in (places[:1] if chain.homogeneous else places)]
        steps = [math.lcm(*(row.total for row in step)).bit_length() for step in rows]
        total = reach * steps[0] if chain.homogeneous and steps else sum(steps)
        longest = max(longest, total + reach * 52)
    prior = (
        0 if chain.stationary else p * max(row.total.bit_length() for row in chain.exact_step(0)) if p else 0
    )
    return (2 * longest if data.informed else longest) + chain.k * prior


def _ratios(
    data: RedactionData, left: list[list[int]], right: list[list[int]], p: int, possible: list[int], bits: int
) -> tuple[Ratios, Ratios]:
    """Largest ratios of both sides, as integers (bits = 0) or as balls."""
    from flint import arb, arb_mat, fmpz

    chain, n = data.chain, data.length
    kind: Callable[[int], Any] = arb if bits else fmpz

    def matrix(t: int, transposed: bool) -> Any:
        step = integer_step(chain.exact_step(t))
        step = step.transpose() if transposed else step
        return arb_mat(step) if bits else step

    repeated = cache(matrix)

    def steps(t: int, transposed: bool) -> Any:
        return repeated(0, transposed) if chain.homogeneous else matrix(t, transposed)

    prior, ones = chain.exact_marginal(p).weights, [kind(1)] * chain.k
    product = math.prod(prior[x] for x in possible)
    inverse = [kind(product // prior[x]) if prior[x] else kind(0) for x in range(chain.k)]
    first = [kind(w) for w in chain.exact_initial.weights]
    support = data.supports
    return (
        side_ratios(
            lambda d: steps(p - d, True), left, TOTAL, scales=inverse, possible=possible,
            reachable=lambda d, v: bool(support[p - d, v]), ends=first, power=chain.homogeneous,
            informed=data.informed,
        ),
        side_ratios(
            lambda d: steps(min(p + d - 1, max(0, n - 2)), False), right, TOTAL, scales=ones, possible=possible,
            reachable=lambda d, v: bool(support[p + d, v]), ends=None, power=chain.homogeneous,
            informed=data.informed,
        ),
    )  # fmt: skip


def _decide(epsilon: float, left: Ratios, right: Ratios, method: str) -> _Finding:
    """Compare the product of the two sides' largest ratios with e^epsilon, for every ordered pair."""
    compared = {pair: _compare(epsilon, left[pair], right[pair]) for pair in left}
    verdicts = {verdict for verdict, _ in compared.values()}
    by_pair = {pair: enclosure for pair, (_, enclosure) in compared.items()}
    pair = max(by_pair, key=lambda p: by_pair[p])
    return _Finding(
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
    return exp_at_least(epsilon, *ratio), log_enclosure(*ratio)


def _compare_balls(epsilon: float, a: Ratio, b: Ratio) -> tuple[bool | None, Enclosure]:
    from flint import arb, fmpq

    ratio = (arb(a.numerator) / arb(a.denominator)) * (arb(b.numerator) / arb(b.denominator))
    level = ratio.log()
    enclosure = (ball_floor(level), ball_ceiling(level))
    if epsilon == math.inf:
        return True, enclosure
    limit = arb(fmpq(*epsilon.as_integer_ratio()))
    return (True if level <= limit else False if level > limit else None), enclosure


def utility_enclosure(data: RedactionData, mechanism: RedactionMechanism) -> tuple[float, float]:
    """Floats below and above sum_t w_t Pr(t released) / sum_t w_t."""
    from flint import ctx

    with ctx.workprec(UTILITY_BITS):
        value = _released(data, mechanism)
        return ball_floor(value), ball_ceiling(value)


def _released(data: RedactionData, mechanism: RedactionMechanism) -> arb:
    from flint import arb

    if mechanism.sequential is not None:
        return _sequential(data, mechanism)
    shown = TOTAL - mechanism.exact()
    chain = data.chain
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


def _sequential(data: RedactionData, mechanism: RedactionMechanism) -> arb:
    """Utility of a sequential mechanism: a record stays hidden while nothing nearer was released.

    Chances of release are summed, not one minus the chance of hiding: what is never released is exactly 0. On
    the right, Pr(something released up to t) grows by what each step of the transfer recursion lets out. On
    the left, with r[i] the chance that one of the records between t and the private one is released given
    X_t = i, it is sum_i Pr(X_t = i) (1 - h_t[i] + h_t[i] r[i]).
    """
    from flint import arb

    p, n, k = mechanism.sequential, data.length, data.chain.k
    assert p is not None
    hidden = mechanism.exact().tolist()
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


def _next(now: list[arb], rows: Sequence[IntegerRow]) -> list[arb]:
    """The distribution one step later."""
    from flint import arb

    return [
        sum((now[i] * arb(row.weights[j]) / arb(row.total) for i, row in enumerate(rows)), arb(0))
        for j in range(len(now))
    ]

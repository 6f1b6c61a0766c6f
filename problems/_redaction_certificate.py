"""The certificate of a redaction mechanism: exact ratios against e^epsilon, never a float reading."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from privopt._certificate import Certificate
from privopt._exact import MAX_BITS, ball_ceiling, ball_floor, exp_at_least, log_enclosure
from privopt.mechanisms import RedactionMechanism
from privopt.mechanisms.redaction import TOTAL
from privopt.problems._redaction_checks import output_in_words
from privopt.problems._redaction_exact import Ratio, Ratios, integer_step, side_ratios
from privopt.problems._redaction_utility import utility_enclosure

if TYPE_CHECKING:
    from privopt.problems.redaction import Redaction

BITS_IN_MEMORY = 1 << 23
"""Numbers of the recursion longer than this are replaced by balls."""

CLAIM = "leakage <= budget"


@dataclass
class _Finding:
    """The largest ratio over pairs and outputs for one private record, compared with e^epsilon."""

    passes: bool | None
    enclosure: tuple[float, float]
    pair: tuple[int, int] | None
    left: tuple[int, int]
    right: tuple[int, int]
    method: str


def certify(problem: Redaction, mechanism: RedactionMechanism) -> Certificate:
    """Prove or refute leakage <= epsilon for every private record."""
    weights = mechanism.exact().tolist()
    findings = {p: _one_record(problem, weights, p) for p in problem.private}
    worst = max(findings, key=lambda p: findings[p].enclosure)
    finding, ok = findings[worst], all(f.passes is True for f in findings.values())
    lo, hi = finding.enclosure
    states = problem.chain.states
    named = finding.pair is not None and hi > 0
    return Certificate(
        ok=ok,
        claim=CLAIM,
        reason=_reason(problem, findings, ok),
        budget=problem.epsilon,
        leakage=(max(0.0, lo), max(0.0, hi)),
        utility=utility_enclosure(problem, mechanism),
        worst=tuple(states[i] for i in finding.pair) if named and finding.pair is not None else (),
        where=output_in_words(states, worst, finding.left, finding.right) if named else "",
        problem=problem.fingerprint,
        mechanism=mechanism.fingerprint,
        method=finding.method,
        assumption=f"the records follow {problem.chain!r} exactly as written (each row divided by its exact sum)",
    )


def _reason(problem: Redaction, findings: dict[int, _Finding], ok: bool) -> str:
    if ok:
        return (
            f"every ratio of output probabilities is at most e^epsilon, for {len(findings)} private record(s)"
        )
    undecided = [p for p, f in findings.items() if f.passes is None]
    broken = [p for p, f in findings.items() if f.passes is False]
    if broken:
        f = findings[broken[0]]
        states = problem.chain.states
        pair = "" if f.pair is None else f" for {states[f.pair[0]]!r} against {states[f.pair[1]]!r}"
        return (
            f"leakage is at least {f.enclosure[0]:.17g} > epsilon = {problem.epsilon:.17g}{pair}, "
            + output_in_words(states, broken[0], f.left, f.right)
        )
    return f"undecided at {MAX_BITS} bits for private record {undecided[0]}, which is not a pass"


def _one_record(problem: Redaction, weights: list[list[int]], p: int) -> _Finding:
    prior = problem.chain.exact_marginal(p)
    possible = [x for x in range(problem.chain.k) if prior.weights[x] > 0]
    if len(possible) == 1:
        return _Finding(True, (0.0, 0.0), None, (0, -1), (0, -1), "the private record is constant")
    shown = [x for x in possible if weights[p][x] < TOTAL]
    if shown:
        other = next(x for x in possible if x != shown[0])
        place = (0, shown[0])
        passes = problem.epsilon == math.inf
        return _Finding(
            passes, (math.inf, math.inf), (shown[0], other), place, place, "the private record is shown"
        )
    left, right = weights[:p][::-1], weights[p + 1 :]
    if _bits(problem, left, right, p) <= BITS_IN_MEMORY:
        return _decide(problem, possible, *_ratios(problem, left, right, p, possible, 0), "exact rationals")
    return _with_balls(problem, left, right, p, possible)


def _with_balls(
    problem: Redaction, left: list[list[int]], right: list[list[int]], p: int, possible: list[int]
) -> _Finding:
    from flint import ctx

    saved, bits = ctx.prec, 256
    try:
        while True:
            ctx.prec = bits
            ratios = _ratios(problem, left, right, p, possible, bits)
            finding = _decide(problem, possible, *ratios, "balls, as the rationals would be too long")
            if finding.passes is not None or bits >= MAX_BITS:
                return finding
            bits *= 2
    finally:
        ctx.prec = saved


def _bits(problem: Redaction, left: list[list[int]], right: list[list[int]], p: int) -> int:
    """Length of the longest number that the exact recursion would hold."""
    chain, longest = problem.chain, 0
    for side, first in ((left, max(0, p - 1)), (right, min(p, problem.length - 2))):
        reach = next((d for d, row in enumerate(side, 1) if not any(row)), len(side))
        step = max((row.total.bit_length() for row in chain.exact_step(first)), default=1) if side else 1
        longest = max(longest, reach * (chain.k * step + 52))
    return longest + p * (0 if chain.stationary else 64 * chain.k)


def _ratios(
    problem: Redaction, left: list[list[int]], right: list[list[int]], p: int, possible: list[int], bits: int
) -> tuple[Ratios, Ratios]:
    """Largest ratios of both sides, as integers (bits = 0) or as balls."""
    from flint import arb, arb_mat, fmpz

    chain, n = problem.chain, problem.length
    kind: Callable[[int], Any] = arb if bits else fmpz

    def matrix(t: int, transposed: bool) -> Any:
        step = integer_step(chain.exact_step(t))
        step = step.transpose() if transposed else step
        return arb_mat(step) if bits else step

    cache: dict[bool, Any] = {}

    def steps(t: int, transposed: bool) -> Any:
        if not chain.homogeneous:
            return matrix(t, transposed)
        if transposed not in cache:
            cache[transposed] = matrix(0, transposed)
        return cache[transposed]

    prior, ones = chain.exact_marginal(p).weights, [kind(1)] * chain.k
    product = math.prod(prior[x] for x in possible)
    inverse = [kind(product // prior[x]) if prior[x] else kind(0) for x in range(chain.k)]
    first = [kind(w) for w in chain.exact_initial.weights]
    support = _supports(problem)
    return (
        side_ratios(
            lambda d: steps(p - d, True), left, TOTAL, scales=inverse, possible=possible,
            reachable=lambda d, v: support(p - d, v), ends=first, power=chain.homogeneous,
        ),
        side_ratios(
            lambda d: steps(min(p + d - 1, max(0, n - 2)), False), right, TOTAL, scales=ones, possible=possible,
            reachable=lambda d, v: support(p + d, v), ends=None, power=chain.homogeneous,
        ),
    )  # fmt: skip


def _supports(problem: Redaction) -> Callable[[int, int], bool]:
    """Whether a record can have a value at all."""
    chain = problem.chain
    if chain.stationary and all(chain.exact_initial.weights):
        return lambda t, v: True
    table = [[w > 0 for w in chain.exact_initial.weights]]
    for t in range(problem.length - 1):
        rows = chain.exact_step(t)
        table.append(
            [any(table[-1][i] and rows[i].weights[j] > 0 for i in range(chain.k)) for j in range(chain.k)]
        )
    return lambda t, v: table[t][v]


def _decide(
    problem: Redaction, possible: Sequence[int], left: Ratios, right: Ratios, method: str
) -> _Finding:
    """Compare the product of the two sides' largest ratios with e^epsilon, for every ordered pair."""
    passes: bool | None = True
    best: tuple[tuple[float, float], tuple[int, int]] | None = None
    for pair in left:
        a, b = left[pair], right[pair]
        verdict, enclosure = _compare(problem.epsilon, a, b)
        passes = False if False in (passes, verdict) else None if None in (passes, verdict) else True
        if best is None or enclosure > best[0]:
            best = (enclosure, pair)
    assert best is not None  # at least two possible values
    enclosure, pair = best
    return _Finding(passes, enclosure, pair, left[pair].event, right[pair].event, method)


def _compare(epsilon: float, a: Ratio, b: Ratio) -> tuple[bool | None, tuple[float, float]]:
    from flint import fmpz

    numerator, denominator = a.numerator * b.numerator, a.denominator * b.denominator
    if not isinstance(numerator, fmpz) or not isinstance(denominator, fmpz):
        return _compare_balls(epsilon, a, b)
    ratio = int(numerator), int(denominator)
    return exp_at_least(epsilon, *ratio), log_enclosure(*ratio)


def _compare_balls(epsilon: float, a: Ratio, b: Ratio) -> tuple[bool | None, tuple[float, float]]:
    from flint import arb, fmpq

    ratio = (arb(a.numerator) / arb(a.denominator)) * (arb(b.numerator) / arb(b.denominator))
    level = ratio.log()
    enclosure = (ball_floor(level), ball_ceiling(level))
    if epsilon == math.inf:
        return True, enclosure
    limit = arb(fmpq(*epsilon.as_integer_ratio()))
    return (True if level <= limit else False if level > limit else None), enclosure

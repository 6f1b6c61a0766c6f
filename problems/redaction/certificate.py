"""The certificate of a redaction mechanism: exact ratios against e^epsilon, never a float reading."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from privopt.core.certificate import Certificate, Terms
from privopt.core.exact import MAX_BITS, ball_ceiling, ball_floor, exp_at_least, log_enclosure
from privopt.files.text import number
from privopt.mechanisms import RedactionMechanism
from privopt.mechanisms.redaction import TOTAL
from privopt.problems.redaction.exact import Ratio, Ratios, integer_step, side_ratios
from privopt.problems.redaction.utility import utility_enclosure
from privopt.problems.redaction.validation import output_in_words

if TYPE_CHECKING:
    from privopt.problems.redaction.problem import Redaction

BITS_IN_MEMORY = 1 << 23
"""Numbers of the recursion longer than this are replaced by balls."""

CLAIM = "leakage <= budget"

Cell: TypeAlias = tuple[int, int]


@dataclass
class _Finding:
    """The largest ratio over pairs and outputs for one private record, compared with e^epsilon."""

    passes: bool | None
    enclosure: tuple[float, float]
    pair: tuple[int, int] | None
    left: tuple[int, int]
    right: tuple[int, int]
    method: str
    known: tuple[tuple[int, int], tuple[int, int]] = ((0, -1), (0, -1))
    by_pair: dict[tuple[int, int], tuple[float, float]] = field(default_factory=dict)


def certify(problem: Redaction, mechanism: RedactionMechanism) -> Certificate:
    """Prove or refute leakage <= epsilon for every private record, and that no impossible value is ever shown."""
    findings = _findings(problem, mechanism)
    worst = max(findings, key=lambda p: findings[p].enclosure)
    finding, ok = findings[worst], all(f.passes is True for f in findings.values())
    lo, hi = finding.enclosure
    named = finding.pair is not None and hi > 0
    reason, (partial, _) = _reason(problem, findings, ok), shown_impossible(problem, mechanism)
    if partial:
        record, value = partial[0]
        ok = False
        reason = (
            f"record {record} can never be {problem.chain.states[value]!r}, yet that value would be shown: hide it always, "
            "as problem.repair does"
        )
    return problem.certificate(
        mechanism,
        mechanism.fingerprint,
        ok=ok,
        claim=CLAIM,
        reason=reason,
        method=finding.method,
        leakage=(max(0.0, lo), max(0.0, hi)),
        utility=utility_enclosure(problem, mechanism),
        worst=tuple(problem.chain.states[i] for i in finding.pair)
        if named and finding.pair is not None
        else (),
        where=_where(problem, worst, finding) if named else "",
    )


def _findings(problem: Redaction, mechanism: RedactionMechanism) -> dict[int, _Finding]:
    weights = mechanism.exact().tolist()
    return {p: _one_record(problem, weights, p) for p in problem.private}


def shown_impossible(problem: Redaction, mechanism: RedactionMechanism) -> tuple[list[Cell], list[Cell]]:
    """Cells (record, state) that the chain rules out and the mechanism might show: among partial releases, and others.

    Such a value has no probability under the model, so no leakage counts it. Where every possible value of the record
    is released always, it is in the clear by design of the mechanism (files of version 0.1.0 have such), which is said.
    """
    weights, can = mechanism.exact(), problem.supports
    shown = (weights < TOTAL) & ~can
    by_design = ((weights == 0) | ~can).all(axis=1)
    partial = shown & ~by_design[:, None]
    if mechanism.sequential is not None:
        beyond = ~can
        beyond[[t for t, _ in mechanism.never], [v for _, v in mechanism.never]] = False
        beyond[mechanism.sequential] = False
        shown = shown | beyond
    return _cells(partial), _cells(shown & ~partial)


def _cells(mask: NDArray[np.bool_]) -> list[Cell]:
    return [(int(t), int(v)) for t, v in np.argwhere(mask)]


def is_worst(
    problem: Redaction, mechanism: RedactionMechanism, worst: tuple[Hashable, ...], where: str
) -> bool | None:
    """Whether the named pair leaks as much as any, about some private record; ties count, the output named is not read."""
    findings = _findings(problem, mechanism)
    most = max(f.enclosure for f in findings.values())
    if not worst:
        return most[1] <= 0 or all(f.pair is None for f in findings.values())
    states = list(problem.chain.states)
    if len(worst) != 2 or any(label not in states for label in worst):
        return False
    pair = states.index(worst[0]), states.index(worst[1])
    tied = [f.by_pair[pair] for f in findings.values() if pair in f.by_pair]
    return any(found[1] >= most[0] for found in tied)


def _where(problem: Redaction, record: int, finding: _Finding) -> str:
    return output_in_words(problem.chain.states, record, finding.left, finding.right, finding.known)


def terms(problem: Redaction, mechanism: RedactionMechanism) -> Terms:
    """What a certificate of a redaction mechanism is about."""
    named = [f"record {p}" for p in problem.private]
    which = named[0] if len(named) == 1 else f"{', '.join(named[:-1])} or {named[-1]}, each by itself,"
    if math.isinf(problem.epsilon):
        claim = f"the budget is without limit: nothing is promised of {which}".rstrip(",")
    elif problem.epsilon == 0:
        claim = f"no release says anything of {which}".rstrip(",")
    else:
        claim = (
            f"no release shifts the odds between two values of {which} by more than a factor of "
            f"{factor(problem.epsilon)}"
        )
    informed = problem.side_information is not None
    uncovered = [
        "other sequences that depend on this one, and what is kept beside the release",
        "data that the chain rules out: an impossible value is hidden always, yet that one occurred may show",
    ]
    _, clear = shown_impossible(problem, mechanism)
    if clear:
        record, value = clear[0]
        uncovered[-1] = (
            f"data that the chain rules out: this mechanism shows {len(clear)} impossible value(s) in the clear, such as "
            f"{problem.chain.states[value]!r} at record {record}"
        )
    if not informed:
        uncovered.append(
            "an adversary who knows other records of the sequence may learn more than the budget; "
            'side_information="any" covers that'
        )
    if len(named) > 1:
        uncovered.append(
            "several private records at once: what is said of two together may exceed the budget of one"
        )
    adversary = "anyone who sees the release and knows the chain and the mechanism"
    beside = (
        ", and the values of any other records besides: the factor is then on top of what these already say"
        if informed
        else ", but no record of the sequence"
    )
    walk = (
        " (sequential: what lies beyond a first release follows from it)"
        if problem.form == "sequential"
        else ""
    )
    return Terms(
        kind="privacy",
        statement=claim,
        assumption=f"the records follow {problem.chain!r} exactly as written (each row divided by its exact sum)",
        adversary=adversary + beside,
        unit=f"private record, of one release of a sequence of {problem.length} records{walk}",
        uncovered=tuple(uncovered),
    )


def factor(epsilon: float) -> str:
    """e^epsilon in a few digits, never less than it is; "1" followed by the excess where that is small."""
    if epsilon > 20:
        return f"e^{number(epsilon, 17)}"
    excess = math.expm1(epsilon) * (1 + 2.0**-48)
    if excess < 1e-3:
        return f"1 + {_upward(excess, 4)}"
    return _upward((1 + excess) * (1 + 2.0**-50), 4 + max(0, math.floor(-math.log10(excess))))


def _upward(value: float, digits: int) -> str:
    """A positive number in some digits or more, never less than it is."""
    text = number(value, digits)
    if float(text) >= value:
        return text
    text = number(float(text) + 10.0 ** (math.floor(math.log10(value)) - digits + 1), digits)
    return text if float(text) >= value else _upward(value, digits + 4)


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
            + _where(problem, broken[0], f)
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
            passes,
            (math.inf, math.inf),
            (shown[0], other),
            place,
            place,
            "the private record is shown",
            by_pair={(v, x): (math.inf, math.inf) for v in shown for x in possible if x != v},
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
    return (2 * longest if problem.side_information else longest) + chain.k * prior


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
    support = problem.supports
    return (
        side_ratios(
            lambda d: steps(p - d, True), left, TOTAL, scales=inverse, possible=possible,
            reachable=lambda d, v: bool(support[p - d, v]), ends=first, power=chain.homogeneous,
            informed=problem.side_information is not None,
        ),
        side_ratios(
            lambda d: steps(min(p + d - 1, max(0, n - 2)), False), right, TOTAL, scales=ones, possible=possible,
            reachable=lambda d, v: bool(support[p + d, v]), ends=None, power=chain.homogeneous,
            informed=problem.side_information is not None,
        ),
    )  # fmt: skip


def _decide(
    problem: Redaction, possible: Sequence[int], left: Ratios, right: Ratios, method: str
) -> _Finding:
    """Compare the product of the two sides' largest ratios with e^epsilon, for every ordered pair."""
    passes: bool | None = True
    best: tuple[tuple[float, float], tuple[int, int]] | None = None
    found: dict[tuple[int, int], tuple[float, float]] = {}
    for pair in left:
        a, b = left[pair], right[pair]
        verdict, enclosure = _compare(problem.epsilon, a, b)
        found[pair] = enclosure
        passes = False if False in (passes, verdict) else None if None in (passes, verdict) else True
        if best is None or enclosure > best[0]:
            best = (enclosure, pair)
    assert best is not None  # at least two possible values
    enclosure, pair = best
    known = (left[pair].known, right[pair].known)
    return _Finding(passes, enclosure, pair, left[pair].event, right[pair].event, method, known, found)


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

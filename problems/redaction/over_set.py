"""A redaction over a set of chains: its leakage, exact for two states and bounded for more, and bounds on its utility.

Every mechanism that keeps the budget over the set keeps it for each of its chains. So a bound on the utility for one of them, with the
utility of the nominal chain, holds for the set:

``{"kind": "member", "chain": {...}, "dual": {...}}``

The chain is written out; it is proved to lie in the set, and the dual is one for the problem with this chain in its place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations

from privopt.arrays import Ints
from privopt.core.exact import exp_at_least, log_enclosure
from privopt.core.problem import Enclosure
from privopt.errors import InvalidProblem
from privopt.measures.redaction.binary_sets import Leaving
from privopt.measures.redaction.over_sets import SetRatio, side_ratios
from privopt.mechanisms.redaction import TOTAL
from privopt.models import ChainAmbiguity, MarkovChain
from privopt.models.ambiguity.joint import Ambiguity
from privopt.problems.redaction.certificate import Finding, findings_of
from privopt.problems.redaction.data import RedactionData

KIND = "member"

LONG = 1 << 18
"""Bits of the numbers of the exact walk beyond which they are rounded outward."""
BITS = 1 << 12
"""What they are then rounded to."""

Check = Callable[[RedactionData, object, float], Enclosure | None]


def findings_over(data: RedactionData, ambiguity: ChainAmbiguity, weights: Ints) -> dict[int, Finding]:
    """What is proved of each private record over a set, from integer redaction weights."""
    if data.chain.k == 2:
        return {p: _exact(data, ambiguity, weights, p) for p in data.private}
    nominal = findings_of(replace(data, ambiguity=None), weights)
    return {p: _bounded(data, ambiguity, weights, p, nominal[p]) for p in data.private}


def _constant(data: RedactionData, weights: Ints, p: int) -> Finding | None:
    """What is known of a private record of one value, or one that is shown."""
    possible = data.possible_values(p).tolist()
    if len(possible) == 1:
        return Finding(True, (0.0, 0.0), None, (0, -1), (0, -1), "the private record is constant")
    shown = [x for x in possible if weights[p][x] < TOTAL]
    if not shown:
        return None
    pairs = {(v, x): (float("inf"), float("inf")) for v in shown for x in possible if x != v}
    place, level = (0, shown[0]), (float("inf"), float("inf"))
    passes = data.epsilon == float("inf")
    return Finding(
        passes, level, next(iter(pairs)), place, place, "the private record is shown", by_pair=pairs
    )


Sides = tuple[dict[tuple[int, int], SetRatio], dict[tuple[int, int], SetRatio]]


def _sides(ambiguity: ChainAmbiguity, weights: Ints, p: int, bits: int, inner: bool = False) -> Sides:
    left = side_ratios(ambiguity.backward, weights[:p][::-1], TOTAL, bits, inner)
    return left, side_ratios(ambiguity.forward, weights[p + 1 :], TOTAL, bits, inner)


def _exact(data: RedactionData, ambiguity: ChainAmbiguity, weights: Ints, p: int) -> Finding:
    """Two states: the largest ratios themselves, or both ends of them where the numbers are long or irrational."""
    known = _constant(data, weights, p)
    if known is not None:
        return known
    rows = (*ambiguity.backward, *ambiguity.forward)
    size = max(Leaving.of(each).whole.bit_length() for each in (ambiguity.backward, ambiguity.forward)) + 53
    bits = BITS if size * len(weights) > LONG else 0
    outer = _sides(ambiguity, weights, p, bits)
    rounded = bits > 0 or any(row.kind == "chi2" for row in rows)
    inner = _sides(ambiguity, weights, p, bits, True) if rounded else outer
    method = "rationals rounded outward, over the set" if rounded else "exact rationals, over the set"
    return _decided(data, p, outer, {pair: _product(inner, pair) for pair in outer[0]}, method)


def _bounded(
    data: RedactionData, ambiguity: ChainAmbiguity, weights: Ints, p: int, nominal: Finding
) -> Finding:
    """More states: an upper bound over the set, and the leakage at the nominal chain below it."""
    known = _constant(data, weights, p)
    if known is not None:
        return known
    outer = _sides(ambiguity, weights, p, 0)
    method = "an upper bound over the set, every step rounded up; the lower end is the leakage at the nominal chain"
    above = _decided(data, p, outer, {}, method)
    low = max(0.0, nominal.enclosure[0])
    passes = False if nominal.passes is False else above.passes
    return replace(above, passes=passes, enclosure=(min(low, above.enclosure[1]), above.enclosure[1]))


def _product(sides: Sides, pair: tuple[int, int]) -> tuple[int, int]:
    """Numerator and denominator of the largest ratio of a pair."""
    one, other = sides[0][pair], sides[1][pair]
    return one.numerator * other.numerator, one.denominator * other.denominator


def _decided(
    data: RedactionData, p: int, outer: Sides, inner: dict[tuple[int, int], tuple[int, int]], method: str
) -> Finding:
    """Compare the product of the sides' largest ratios with e^epsilon, for every ordered pair of possible values."""
    passes: bool | None = True
    by_pair: dict[tuple[int, int], Enclosure] = {}
    for pair in permutations(data.possible_values(p).tolist(), 2):
        high = _product(outer, pair)
        by_pair[pair] = log_enclosure(*inner.get(pair, (1, 1)))[0], log_enclosure(*high)[1]
        if by_pair[pair][1] <= data.epsilon or exp_at_least(data.epsilon, *high) is True:
            continue
        broken = pair in inner and (
            by_pair[pair][0] > data.epsilon or exp_at_least(data.epsilon, *inner[pair]) is False
        )
        passes = False if broken or passes is False else None
    pair = max(by_pair, key=lambda each: by_pair[each][::-1])
    left, right = outer[0][pair].event, outer[1][pair].event
    return Finding(passes, by_pair[pair], pair, left, right, method, by_pair=by_pair)


def level_over(data: RedactionData, ambiguity: Ambiguity, weights: Ints) -> Enclosure:
    """Floats around the largest leakage over a set of chains, in nats.

    Raises
    ------
    InvalidProblem
        If it is another kind of set, or over other states.
    """
    if not isinstance(ambiguity, ChainAmbiguity):
        raise InvalidProblem(f"chains vary in a ChainAmbiguity, got {type(ambiguity).__name__}")
    if ambiguity.states != data.chain.states:
        raise InvalidProblem(
            f"the set is of chains of the states {ambiguity.states!r}, the problem of {data.chain.states!r}"
        )
    over = replace(data, chain=ambiguity.nominal, ambiguity=ambiguity)
    ends = [finding.enclosure for finding in findings_over(over, ambiguity, weights).values()]
    return max(0.0, *(low for low, _ in ends)), max(0.0, *(high for _, high in ends))


def check_member(
    data: RedactionData, ambiguity: ChainAmbiguity, dual: dict[object, object], seconds: float, check: Check
) -> Enclosure | None:
    """The bound that a chain of the set proves within some seconds, see the module, or None."""
    written = dual.get("chain")
    if dual.get("kind") != KIND or len(dual) != 3 or not isinstance(written, dict):
        return None
    chain = MarkovChain.from_dict(written)
    return (
        check(data.relaxed(chain), dual.get("dual"), seconds) if is_member(data, ambiguity, chain) else None
    )


def is_member(data: RedactionData, ambiguity: ChainAmbiguity, chain: MarkovChain) -> bool:
    """Whether a chain lies in the set as far as the sides of the private records go."""
    if chain == ambiguity.nominal:
        return True
    if not (chain.homogeneous and chain.stationary):
        return False
    return ambiguity.contains_steps(chain, backward=max(data.private) > 0)

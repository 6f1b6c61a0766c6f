"""A bound for several private records far apart: the stream is cut between them, and each part bounded by itself.

Take a mechanism that is private for every private record of a stream, and a part of the stream that holds one of them.
Hiding every record outside of the part is to erase releases afterwards, so what is left is private for that record. It
reads the part alone, whose records follow the chain from the part's first record on. So what it releases there is at most the
bound of the part's own problem, and the utility of the whole is at most the sum of these, by weight. An adversary who
knows more only makes the bound looser.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from privopt.core.problem import Enclosure
from privopt.problems.redaction.boxes import KIND as BOXES
from privopt.problems.redaction.data import RedactionData

KIND = "parts"

Check = Callable[[RedactionData, object, float], Enclosure | None]


@dataclass(frozen=True)
class Part:
    """Records ``begin`` to ``end - 1`` of a stream, among them one that is private.

    ``key`` is equal for parts whose problems are equal.
    """

    begin: int
    end: int
    private: int
    share: Fraction
    key: tuple[object, ...]

    def data(self, whole: RedactionData) -> RedactionData:
        """The part's own problem, without what is known of other records."""
        weights = None if whole.weights is None else whole.weights[self.begin : self.end]
        valued, chain = (
            each.window(self.begin, self.end - self.begin) for each in (whole.utility_chain, whole.chain)
        )
        own = RedactionData(
            valued, self.end - self.begin, self.private - self.begin, whole.epsilon, weights=weights
        )
        return own if whole.utility_chain is whole.chain else own.relaxed(chain)


def cuts(data: RedactionData) -> list[int]:
    """Where a stream is cut: half way between successive private records, and at both ends."""
    middles = [(one + other) // 2 + 1 for one, other in zip(data.private[:-1], data.private[1:], strict=True)]
    return [0, *middles, data.length]


def parts(data: RedactionData, places: list[int]) -> list[Part] | None:
    """The parts between places, or None if one of them has not exactly one private record, or no weight or room."""
    if places[:1] != [0] or places[-1:] != [data.length] or len(places) != len(data.private) + 1:
        return None
    return list(_parts(data, places)) if all(_fits(data, places)) else None


def _fits(data: RedactionData, places: list[int]) -> Iterator[bool]:
    for begin, end, private in zip(places[:-1], places[1:], data.private, strict=True):
        yield begin <= private < end and end - begin >= 2
        yield data.weights is None or sum(data.weights[begin:end]) > 0


def _parts(data: RedactionData, places: list[int]) -> Iterator[Part]:
    weights = None if data.weights is None else [Fraction(w) for w in data.weights]
    total = Fraction(data.length) if weights is None else sum(weights, Fraction(0))
    chain = data.chain
    alike = chain.stationary or (chain.period is not None and chain.returns)
    alike = alike and (data.utility_chain is chain or data.utility_chain.stationary)
    for begin, end, private in zip(places[:-1], places[1:], data.private, strict=True):
        own = Fraction(end - begin) if weights is None else sum(weights[begin:end], Fraction(0))
        when = chain.phase(begin) if alike else begin
        key = (when, end - begin, private - begin, None if data.weights is None else data.weights[begin:end])
        yield Part(begin, end, private, own / total, key)


def check_parts(
    data: RedactionData, dual: dict[object, object], seconds: float, check: Check
) -> Enclosure | None:
    """The bound that ``{"kind": "parts", "cuts": [...], "duals": [...]}`` proves within some seconds, or None.

    ``check`` proves what a dual says of a problem with one private record.
    """
    stop = time.monotonic() + seconds
    places, duals = dual.get("cuts"), dual.get("duals")
    if len(dual) != 3 or not isinstance(places, list) or not isinstance(duals, list):
        return None
    if not all(type(place) is int for place in places) or len(duals) != len(places) - 1:
        return None
    pieces = parts(data, places)
    if pieces is None:
        return None
    low, high = Fraction(0), Fraction(0)
    known: dict[str, Enclosure | None] = {}
    for piece, own in zip(pieces, duals, strict=True):
        if not isinstance(own, dict) or own.get("kind", BOXES) != BOXES:
            return None
        key = json.dumps([repr(piece.key), own], sort_keys=True)
        if key not in known:
            known[key] = check(piece.data(data), own, stop - time.monotonic())
        proved = known[key]
        if proved is None:
            return None
        low, high = low + Fraction(proved[0]) * piece.share, high + Fraction(proved[1]) * piece.share
    return _down(low), -_down(-high)


def _down(value: Fraction) -> float:
    """A float that is at most a number, and next to it."""
    near = float(value)
    return near if Fraction(near) <= value else math.nextafter(near, -math.inf)

"""Small redaction problems, with optima that independent searches over all local mechanisms confirm."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from privopt.core.problem import Example, Problem
from privopt.mechanisms import RedactionMechanism
from privopt.models import ChainAmbiguity, MarkovChain


class _Row(NamedTuple):
    alpha: float
    beta: float
    length: int
    private: int
    epsilon: float
    optimum: float


_KNOWN = (
    _Row(0.25, 0.5, 1, 0, 1.0, 0.0),
    _Row(0.25, 0.5, 2, 0, 0.5, 0.2935891381),
    _Row(0.25, 0.5, 4, 0, 0.5, 0.6269224714),
    _Row(0.25, 0.5, 5, 2, 1.0, 0.6510699824),
    _Row(0.25, 0.5, 8, 3, 0.3, 0.5569618883),
    _Row(0.01, 0.8, 10, 0, 1.0, 0.7957304177),
    _Row(0.01, 0.8, 20, 4, 1.0, 0.8108003358),
    _Row(0.6, 0.99, 12, 5, 1.2, 0.6022510886),
    _Row(0.05, 0.3, 30, 11, 0.25, 0.4150547439),
)


class _Turn(NamedTuple):
    """Flip rates in turn, around one distribution (share, 1 - share) of all records."""

    rates: tuple[float, ...]
    share: float
    length: int
    private: int
    epsilon: float
    optimum: float


_TURNS = (
    _Turn((0.1, 0.45), 0.5, 4, 1, 1.0, 0.5),
    _Turn((0.1, 0.45), 0.5, 4, 2, 0.5, 0.5),
    _Turn((0.2, 0.9, 0.4), 0.25, 4, 1, 1.0, 0.4238895782),
    _Turn((0.3, 0.7), 0.375, 4, 0, 0.6, 0.5),
    _Turn((0.1, 0.45), 0.5, 9, 4, 1.0, 7 / 9),
)


def examples(make: Callable[..., Problem[RedactionMechanism]]) -> tuple[Example[RedactionMechanism], ...]:
    """Binary chains with known optima, then problems of other kinds; ``make`` is the class of the problems."""
    independent = MarkovChain([[0.3, 0.7], [0.3, 0.7]])
    three = MarkovChain([[0.5, 0.3, 0.2], [0.1, 0.7, 0.2], [0.3, 0.3, 0.4]], states=("walk", "sit", "lie"))
    few = MarkovChain([[0.9, 0.1], [0.4, 0.6]])
    return (
        *(
            Example(f"binary-{i}", make(_chain(r), r.length, r.private, r.epsilon), r.optimum)
            for i, r in enumerate(_KNOWN)
        ),
        *(
            Example(f"steps-{i}", make(_turning(r), r.length, r.private, r.epsilon), r.optimum)
            for i, r in enumerate(_TURNS)
        ),
        Example("independent", make(independent, 4, 1, 0.0), 0.75),
        Example("nothing-allowed", make(few, 4, 1, 0.0), 0.0),
        Example("three-states", make(three, 6, 2, 1.0)),
        Example("two-private", make(few, 7, (1, 5), 1.5)),
        Example("sequential", make(few, 6, 1, 0.8, form="sequential")),
        Example("weighted", make(few, 6, 2, 1.0, weights=[1, 0, 1, 2, 1, 3])),
        Example("informed-adversary", make(_chain(_KNOWN[5]), 10, 0, 1.0, side_information="any")),
        Example("impossible-values", make(MarkovChain(few.transition, initial=[1, 0]), 5, 2, 1.0)),
        Example("interval", make(_near(_KNOWN[5]), 10, 0, 1.0), 0.7244351679),
        Example("interval-two-sides", make(_near(_KNOWN[3]), 5, 2, 1.0), 0.5043266979),
        Example("interval-three-states", make(ChainAmbiguity.interval(three, 0.1), 3, 0, 1.0)),
        Example("interval-sequential", make(ChainAmbiguity.interval(few, 0.1), 5, 1, 0.8, form="sequential")),
    )


def _chain(row: _Row) -> MarkovChain:
    return MarkovChain([[1 - row.alpha, row.alpha], [row.beta, 1 - row.beta]])


def _near(row: _Row) -> ChainAmbiguity:
    """Transitions within 10 % of those of a row."""
    return ChainAmbiguity.interval(_chain(row), 0.1)


def _turning(row: _Turn) -> MarkovChain:
    """Steps that differ and leave one distribution as it is, exactly."""
    zero, one = Fraction(row.share), 1 - Fraction(row.share)
    steps = []
    for t in range(row.length - 1):
        flow = Fraction(row.rates[t % len(row.rates)]) * min(zero, one)
        steps.append([[1 - flow / zero, flow / zero], [flow / one, 1 - flow / one]])
    return MarkovChain(steps, initial=[zero, one])

"""Small redaction questions. The optima were found by independent searches over all local mechanisms."""

from __future__ import annotations

from typing import NamedTuple

from privopt._problem import Example
from privopt.mechanisms import RedactionMechanism
from privopt.models import MarkovChain
from privopt.problems.redaction import Redaction


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


def examples() -> tuple[Example[RedactionMechanism], ...]:
    """Binary chains with known optima, then questions of other kinds."""
    known = [
        Example(f"binary-{i}", Redaction(_chain(r), r.length, r.private, r.epsilon), r.optimum)
        for i, r in enumerate(_KNOWN)
    ]
    independent = MarkovChain([[0.3, 0.7], [0.3, 0.7]])
    three = MarkovChain([[0.5, 0.3, 0.2], [0.1, 0.7, 0.2], [0.3, 0.3, 0.4]], states=("walk", "sit", "lie"))
    few = MarkovChain([[0.9, 0.1], [0.4, 0.6]])
    return (
        *known,
        Example("independent", Redaction(independent, 4, 1, 0.0), 0.75),
        Example("nothing-allowed", Redaction(few, 4, 1, 0.0), 0.0),
        Example("three-states", Redaction(three, 6, 2, 1.0)),
        Example("two-private", Redaction(few, 7, (1, 5), 1.5)),
        Example("sequential", Redaction(few, 6, 1, 0.8, form="sequential")),
        Example("weighted", Redaction(few, 6, 2, 1.0, weights=[1, 0, 1, 2, 1, 3])),
    )


def _chain(row: _Row) -> MarkovChain:
    return MarkovChain([[1 - row.alpha, row.alpha], [row.beta, 1 - row.beta]])

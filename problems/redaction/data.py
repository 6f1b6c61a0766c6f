"""What a redaction problem declares, with every argument checked, and what follows from it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privopt.arrays import Floats
from privopt.errors import InvalidProblem
from privopt.measures.redaction.leakage import supports
from privopt.measures.redaction.state_sets import MOST_STATES
from privopt.mechanisms import RedactionMechanism
from privopt.models import ChainAmbiguity, MarkovChain
from privopt.problems.validation import level

MAX_CELLS = 2**27
"""Cells of the largest mechanism: one gigabyte of floats."""


@dataclass(frozen=True, init=False)
class RedactionData:
    """The declared fields of :class:`~privopt.problems.redaction.problem.Redaction`, and what follows from them."""

    chain: MarkovChain
    length: int
    private: tuple[int, ...]
    epsilon: float
    weights: tuple[float, ...] | None
    form: str
    side_information: str | None
    period: int | None
    ambiguity: ChainAmbiguity | None
    utility_chain: MarkovChain = field(init=False, repr=False, compare=False)
    """The chain by which the utility is read: the chain itself, but for what :meth:`relaxed` makes."""

    def __init__(
        self,
        chain: MarkovChain | ChainAmbiguity,
        length: int,
        private: int | Sequence[int],
        epsilon: float,
        *,
        weights: ArrayLike | None = None,
        form: str = "local",
        side_information: str | None = None,
        period: int | None = None,
        ambiguity: ChainAmbiguity | None = None,
    ) -> None:
        if isinstance(chain, ChainAmbiguity):
            ambiguity = chain
            chain = ambiguity.nominal
        if ambiguity is not None:
            _check_set(chain, ambiguity, side_information)
        size = _length(chain, length)
        positions = _positions(private, size)
        if period is not None:
            positions = _repeated(positions, period, size)
        if side_information is not None and side_information != "any":
            raise InvalidProblem(f'side_information must be None or "any", got {side_information!r}')
        values: dict[str, object] = {
            "chain": chain,
            "length": size,
            "private": positions,
            "epsilon": level(epsilon, "epsilon"),
            "weights": None if weights is None else _weights(weights, size),
            "form": _form(form, positions),
            "side_information": side_information,
            "period": None if period is None else int(period),
            "ambiguity": ambiguity,
            "utility_chain": chain,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def robust(self) -> bool:
        """Whether the budget must hold for every distribution of a set."""
        return self.ambiguity is not None

    def relaxed(self, chain: MarkovChain) -> Self:
        """The same problem with one chain of the set in its place; the utility is still that of the nominal one.

        Every mechanism that keeps the budget over the set keeps it for one of its chains, so that a bound for this problem
        holds for the set too.
        """
        made = replace(self, chain=chain, ambiguity=None)
        object.__setattr__(made, "utility_chain", self.utility_chain)
        return made

    @property
    def named_private(self) -> tuple[int, ...]:
        """The private records as declared: those of the first period, where there is one."""
        return self.private if self.period is None else tuple(p for p in self.private if p < self.period)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Records, states and private records."""
        return self.length, self.chain.k, len(self.private)

    @property
    def record_weights(self) -> NDArray[np.float64]:
        """Weight of each record, shape (length,), as declared (1 by default)."""
        return np.ones(self.length) if self.weights is None else np.array(self.weights)

    @property
    def weighted_marginals(self) -> Floats:
        """Weight of each record times the probability of each of its values, shape (length, k)."""
        return self.utility_chain.marginals(self.length) * self.record_weights[:, None]

    @cached_property
    def supports(self) -> NDArray[np.bool_]:
        """Whether record t can have value v at all, exactly, shape (length, k); over a set all but the first can have any."""
        if self.ambiguity is None:
            return supports(self.chain, self.length)
        table = np.ones((self.length, self.chain.k), dtype=np.bool_)
        table[0] = [self.ambiguity.may_start(v) for v in range(self.chain.k)]
        return table

    def possible_values(self, record: int) -> NDArray[np.intp]:
        """States that a record can have, in increasing order."""
        return np.flatnonzero(self.supports[record])

    @property
    def never(self) -> tuple[tuple[int, int], ...]:
        """For the sequential form: (record, state) pairs that stay hidden even beyond a first release."""
        if self.form != "sequential":
            return ()
        return tuple((int(t), int(v)) for t, v in np.argwhere(~self.supports) if t != self.private[0])

    def answer(self, probabilities: ArrayLike) -> RedactionMechanism:
        """The mechanism of this problem's form and states with some redaction probabilities.

        Private records are hidden, whatever the table says, unless they are constant: a private record
        that is ever shown leaks without bound. So are values that the chain rules out: they have no probability
        under the model, so hiding them costs nothing and showing them is not covered by any leakage.
        """
        place = self.private[0] if self.form == "sequential" else None
        table = np.array(probabilities, dtype=np.float64)
        hidden = [p for p in self.private if np.count_nonzero(self.supports[p]) > 1]
        table[hidden] = 1.0
        table[~self.supports] = 1.0
        return RedactionMechanism(
            table, self.chain.states, sequential=place, never=self.never, stream=self.chain.columns
        )

    def safe(self) -> RedactionMechanism:
        """Everything redacted: leaks nothing."""
        return self.answer(np.ones((self.length, self.chain.k)))


def _check_set(chain: MarkovChain, ambiguity: ChainAmbiguity, side_information: str | None) -> None:
    """Refuse what is not known over a set of chains."""
    if not isinstance(ambiguity, ChainAmbiguity) or ambiguity.nominal != chain:
        raise InvalidProblem("the set of chains has another nominal chain: give the set itself as the chain")
    if side_information is not None:
        raise InvalidProblem(
            "what an adversary learns who knows other records is not known over a set of chains: leave side_information out"
        )
    if chain.k > MOST_STATES:
        raise InvalidProblem(
            f"over a set of chains at most {MOST_STATES} states are bounded, this one has {chain.k}: merge states"
        )


def _length(chain: MarkovChain, value: object) -> int:
    """A number of records that the chain can have."""
    if not isinstance(chain, MarkovChain):
        raise InvalidProblem(f"chain must be a MarkovChain or a ChainAmbiguity, got {type(chain).__name__}")
    size = _integer(value, "length")
    if size < 1:
        raise InvalidProblem(f"length must be >= 1 record, got {size}")
    if size * chain.k > MAX_CELLS:
        raise InvalidProblem(
            f"length {size} x {chain.k} states exceeds the {MAX_CELLS} cells that fit a mechanism"
        )
    if chain.max_length is not None and size > chain.max_length:
        raise InvalidProblem(
            f"length {size} exceeds the {chain.max_length} records that the chain's steps give"
        )
    return size


def _positions(value: object, size: int) -> tuple[int, ...]:
    """Distinct 0-based positions, sorted."""
    items = value if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, str) else [value]
    positions = [_integer(p, "private") for p in items]
    if not positions:
        raise InvalidProblem("private must name at least one record")
    outside = [p for p in positions if not 0 <= p < size]
    if outside:
        raise InvalidProblem(
            f"private record {outside[0]} is outside 0 .. {size - 1} (positions are 0-based)"
        )
    if len(set(positions)) < len(positions):
        raise InvalidProblem(f"private records {positions} repeat; name each once")
    return tuple(sorted(positions))


def _repeated(positions: tuple[int, ...], period: object, size: int) -> tuple[int, ...]:
    """The same records of every period, to the end; the positions of a problem made anew may hold them already."""
    every = _integer(period, "period")
    if every < 1:
        raise InvalidProblem(f"period must be >= 1 record, got {every}")
    beyond = [p for p in positions if p >= every and p - every not in positions]
    if beyond:
        raise InvalidProblem(
            f"private record {beyond[0]} is beyond the first period of {every} records: give its place in the period"
        )
    return tuple(p for p in range(size) if p % every in positions)


def _weights(value: ArrayLike, size: int) -> tuple[float, ...]:
    """Finite non-negative weights, one a record, not all zero."""
    try:
        table = np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as cause:
        raise InvalidProblem(f"weights must be {size} numbers: {cause}") from cause
    if table.shape != (size,):
        raise InvalidProblem(f"weights must be {size} numbers, one a record, got shape {table.shape}")
    bad = np.flatnonzero(~((table >= 0) & (table < math.inf)))
    if bad.size:
        raise InvalidProblem(f"weights[{bad[0]}] = {table[bad[0]]} is not a finite number >= 0")
    with np.errstate(over="ignore"):
        total = float(table.sum())
    if total == 0 or not math.isfinite(total):
        raise InvalidProblem("weights must have a positive finite sum; give at least one record a weight")
    return tuple(table.tolist())


def _form(value: object, positions: tuple[int, ...]) -> str:
    """The form of the mechanism; a sequential one walks away from one private record."""
    if value not in ("local", "sequential"):
        raise InvalidProblem(f'form must be "local" or "sequential", got {value!r}')
    if value == "sequential" and len(positions) > 1:
        raise InvalidProblem(
            f'form "sequential" walks away from one private record, got {len(positions)}; use form="local"'
        )
    return str(value)


def _integer(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise InvalidProblem(f"{name} must be an integer, got {value!r}")
    return int(value)

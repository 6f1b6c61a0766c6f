"""Redaction: which records of a Markov chain to hide, and how often, so that a private one stays private."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privopt.core.certificate import Certificate, Terms
from privopt.core.problem import FEASIBILITY, Enclosure, Evaluation, Example, Problem
from privopt.errors import InvalidMechanism
from privopt.files.numbers import encode_float
from privopt.measures.redaction.leakage import (
    RedactionReading,
    read_redaction,
    release_probabilities,
    supports,
)
from privopt.mechanisms import Mechanism, RedactionMechanism
from privopt.models import MarkovChain
from privopt.problems.redaction import validation as checks


@dataclass(frozen=True, init=False)
class Redaction(Problem[RedactionMechanism]):
    """The share of a chain that can be released while the private records leak at most epsilon.

    A local redaction mechanism hides record t with a probability that depends on its value. The
    utility is the (weighted) share of records released, sum_t w_t Pr(t released) / sum_t w_t; the
    leakage is the largest log-ratio of the probabilities of an output under two values of a private
    record, over all private records. The budget is epsilon, and the objective is the utility.

    Source: Massny, Bitar, Ye, El Rouayheb, "Between Close Enough to Reveal and Far Enough to Protect".

    Parameters
    ----------
    chain : MarkovChain
        The law of the records, k states.
    length : int
        Number of records, >= 1.
    private : int or tuple of int
        0-based positions of the private records.
    epsilon : float
        Budget in nats, >= 0, may be inf.
    weights : array (length,), optional
        Non-negative value of each record, not all zero; default 1.
    form : {"local", "sequential"}
        "local": each record is hidden independently of the others. "sequential", for one private record:
        after the first release on a side, seen from the private record, everything beyond is released.
    side_information : None or "any"
        What the adversary knows beside the release: None, no record at all; "any", the values of any other records,
        whichever they are. The leakage is then the largest log-ratio of Pr(output | X_p = a, known) and
        Pr(output | X_p = b, known) over all sets of known records and their values.

    Raises
    ------
    InvalidProblem
        If an argument is out of its range, with its name.

    Examples
    --------
    >>> chain = MarkovChain([[0.75, 0.25], [0.5, 0.5]])
    >>> problem = Redaction(chain, length=5, private=2, epsilon=1.0)
    >>> problem.evaluate(problem.anchor()).utility
    0.0
    """

    kind: ClassVar[str] = "redaction"
    mechanism_type: ClassVar[type[Mechanism]] = RedactionMechanism

    chain: MarkovChain
    length: int
    private: tuple[int, ...]
    epsilon: float
    weights: tuple[float, ...] | None
    form: str
    side_information: str | None

    def __init__(
        self,
        chain: MarkovChain,
        length: int,
        private: int | Sequence[int],
        epsilon: float,
        *,
        weights: ArrayLike | None = None,
        form: str = "local",
        side_information: str | None = None,
    ) -> None:
        size = checks.length(chain, length)
        positions = checks.private(private, size)
        values: dict[str, object] = {
            "chain": chain,
            "length": size,
            "private": positions,
            "epsilon": checks.epsilon(epsilon),
            "weights": None if weights is None else checks.weights(weights, size),
            "form": checks.form(form, positions),
            "side_information": checks.side_information(side_information),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def budget(self) -> float:
        """The largest leakage allowed, epsilon, in nats."""
        return self.epsilon

    def with_budget(self, budget: float) -> Self:
        """The same question with another epsilon."""
        return type(self)(
            self.chain,
            self.length,
            self.private,
            budget,
            weights=self.weights,
            form=self.form,
            side_information=self.side_information,
        )

    @property
    def record_weights(self) -> NDArray[np.float64]:
        """Weight of each record, shape (length,), as given (1 by default)."""
        return np.ones(self.length) if self.weights is None else np.array(self.weights)

    @cached_property
    def supports(self) -> NDArray[np.bool_]:
        """Whether record t can have value v at all, exactly, shape (length, k)."""
        return supports(self.chain, self.length)

    def read(self, private: int, table: NDArray[np.float64]) -> RedactionReading:
        """The leakage about one private record in floats, against the adversary of this problem."""
        return read_redaction(self.chain, private, table, self.side_information is not None)

    def check(self, mechanism: Mechanism) -> RedactionMechanism:
        """The mechanism, if it has this problem's records and states; else InvalidMechanism."""
        if type(mechanism) is not RedactionMechanism:
            raise InvalidMechanism(
                f"Redaction is answered by a RedactionMechanism, got {type(mechanism).__name__}"
            )
        if mechanism.probabilities.shape != (self.length, self.chain.k):
            raise InvalidMechanism(
                f"probabilities must have shape {(self.length, self.chain.k)}, got {mechanism.probabilities.shape}"
            )
        if mechanism.states != self.chain.states:
            raise InvalidMechanism(
                f"the mechanism is for states {mechanism.states!r}, the chain has {self.chain.states!r}"
            )
        expected = self.private[0] if self.form == "sequential" else None
        if mechanism.sequential != expected:
            raise InvalidMechanism(
                f"form {self.form!r} needs a mechanism with sequential={expected}, got {mechanism.sequential}"
            )
        return mechanism

    def answer(self, probabilities: ArrayLike) -> RedactionMechanism:
        """The mechanism of this problem's form and states with given redaction probabilities.

        Private records are hidden, whatever the table says, unless they are constant: a private record
        that is ever shown leaks without bound. So are values that the chain rules out: they have no probability
        under the model, so hiding them costs nothing and showing them is not covered by any leakage.
        """
        place = self.private[0] if self.form == "sequential" else None
        table = np.array(probabilities, dtype=np.float64)
        hidden = [p for p in self.private if np.count_nonzero(self.supports[p]) > 1]
        table[hidden] = 1.0
        table[~self.supports] = 1.0
        return RedactionMechanism(table, self.chain.states, sequential=place, never=self.never)

    @property
    def never(self) -> tuple[tuple[int, int], ...]:
        """For the sequential form: (record, state) pairs that stay hidden even beyond a first release."""
        if self.form != "sequential":
            return ()
        return tuple((int(t), int(v)) for t, v in np.argwhere(~self.supports) if t != self.private[0])

    def evaluate(self, mechanism: RedactionMechanism) -> Evaluation:
        """Utility and leakage in float64, O(n k^3) a private record.

        Raises
        ------
        InvalidMechanism
            If the mechanism does not fit the problem.
        """
        table = self.check(mechanism).probabilities
        weights = self.record_weights
        released = release_probabilities(self.chain, table, mechanism.sequential)
        utility = math.fsum((weights * released).tolist()) / math.fsum(weights.tolist())
        readings = {p: self.read(p, table) for p in self.private}
        p = max(readings, key=lambda q: readings[q].leakage)
        leakage = readings[p].leakage
        violation = max(0.0, leakage - self.epsilon) if leakage > self.epsilon else 0.0
        feasible = violation <= FEASIBILITY * max(1.0, self.epsilon)
        worst, where = self._names(p, readings[p])
        return Evaluation(utility, leakage, utility, feasible, violation, worst, where)

    def _names(self, p: int, reading: RedactionReading) -> tuple[tuple[Any, ...], str]:
        """Labels of the worst pair, and the output in words."""
        if reading.pair is None or reading.leakage == 0:
            return (), ""
        states = self.chain.states
        return (states[reading.pair[0]], states[reading.pair[1]]), checks.output_in_words(
            states, p, reading.left, reading.right, reading.known
        )

    def certify(self, mechanism: RedactionMechanism) -> Certificate:
        """Prove leakage <= epsilon from the integer weights, in exact rationals (balls for very long runs).

        Raises
        ------
        InvalidMechanism
            If the mechanism does not fit the problem.
        """
        from privopt.problems.redaction.certificate import certify

        return certify(self, self.check(mechanism))  # pyright: ignore[reportArgumentType] - the link and the folder are two files to it

    def terms(self, mechanism: RedactionMechanism) -> Terms:
        """What a certificate of a redaction is about: whose values, against whom, and what it leaves out."""
        from privopt.problems.redaction.certificate import terms

        return terms(self, mechanism)  # pyright: ignore[reportArgumentType] - the link and the folder are two files to it

    def is_worst(self, mechanism: RedactionMechanism, worst: tuple[Hashable, ...], where: str) -> bool | None:
        """Whether the named pair of values leaks as much as any, about some private record."""
        from privopt.problems.redaction.certificate import is_worst

        return is_worst(self, mechanism, worst, where)  # pyright: ignore[reportArgumentType] - the link and the folder are two files to it

    def safe(self) -> RedactionMechanism:
        """Everything redacted: leaks nothing."""
        return self.answer(np.ones((self.length, self.chain.k)))

    def anchor(self) -> RedactionMechanism:
        """A mechanism strictly inside the constraint: everything redacted."""
        return self.safe()

    def repair(self, mechanism: RedactionMechanism, margin: float) -> RedactionMechanism:
        """The mechanism moved towards redaction until its reading is below epsilon (1 - margin).

        Raising a redaction probability equals erasing released values afterwards, so leakage never
        rises on the way. Mixing with "redact all" would not help: any release probability, however
        small, shows the same ratio.
        """
        from privopt.problems.redaction.repair import repair

        return repair(self, self.check(mechanism), margin)  # pyright: ignore[reportArgumentType] - the link and the folder are two files to it

    def prove_bound(self, dual: object, seconds: float = math.inf) -> Enclosure | None:
        """The upper bound on utility that value tables of the sizes in ``dual`` prove, or None.

        The tables are computed afresh; None also when that takes longer than ``seconds``.
        """
        from privopt.problems.redaction.dual import check_dual

        return check_dual(self, dual, seconds)  # pyright: ignore[reportArgumentType] - the link and the folder are two files to it

    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe dictionary; ``from_dict`` gives an equal problem back."""
        fields: dict[str, Any] = {
            "type": self.kind,
            "version": 1,
            "chain": self.chain.to_dict(),
            "length": self.length,
            "private": list(self.private),
            "epsilon": encode_float(self.epsilon),
            "weights": None if self.weights is None else list(self.weights),
            "form": self.form,
        }
        if self.side_information is not None:  # left out otherwise, so that fingerprints of older files hold
            fields.update(version=2, side_information=self.side_information)
        return fields

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The problem that :meth:`to_dict` wrote, or one written by hand.

        Raises
        ------
        FileRefused
            If the dictionary does not fit the published schema.
        InvalidModel, InvalidProblem
            If the numbers do not make a chain or a question.
        """
        given = checks.fields(fields)
        return cls(
            MarkovChain.from_dict(given["chain"]),
            given["length"],
            given["private"],
            given["epsilon"],
            weights=given["weights"],
            form=given["form"],
            side_information=given["side_information"],
        )

    @classmethod
    def examples(cls) -> tuple[Example[RedactionMechanism], ...]:
        """Small instances; the optima are those of the best local redaction mechanism."""
        from privopt.problems.redaction.examples import examples

        return examples()

    def __repr__(self) -> str:
        return (
            f"Redaction({self.chain!r}, length={self.length}, private={self.private}, epsilon={self.epsilon:g}"
            + ("" if self.weights is None else ", weights=...")
            + f", form={self.form!r}"
            + ("" if self.side_information is None else f", side_information={self.side_information!r}")
            + ")"
        )

"""Redaction: which records of a Markov chain to hide, and how often, so that a private one stays private."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privopt._certificate import Certificate
from privopt._numbers import encode_float
from privopt._problem import FEASIBILITY, Enclosure, Evaluation, Example, Problem
from privopt.errors import InvalidMechanism
from privopt.measures.redaction import RedactionReading, read_redaction, release_probabilities
from privopt.mechanisms import Mechanism, RedactionMechanism
from privopt.models import MarkovChain
from privopt.problems import _redaction_checks as checks


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

    def __init__(
        self,
        chain: MarkovChain,
        length: int,
        private: int | Sequence[int],
        epsilon: float,
        *,
        weights: ArrayLike | None = None,
        form: str = "local",
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
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def budget(self) -> float:
        """The largest leakage allowed, epsilon, in nats."""
        return self.epsilon

    def with_budget(self, budget: float) -> Self:
        """The same question with another epsilon."""
        return type(self)(self.chain, self.length, self.private, budget, weights=self.weights, form=self.form)

    @property
    def record_weights(self) -> NDArray[np.float64]:
        """Weight of each record, shape (length,), as given (1 by default)."""
        return np.ones(self.length) if self.weights is None else np.array(self.weights)

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
        that is ever shown leaks without bound.
        """
        place = self.private[0] if self.form == "sequential" else None
        table = np.array(probabilities, dtype=np.float64)
        hidden = [p for p in self.private if np.count_nonzero(self.chain.marginal(p)) > 1]
        table[hidden] = 1.0
        return RedactionMechanism(table, self.chain.states, sequential=place)

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
        readings = {p: read_redaction(self.chain, p, table) for p in self.private}
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
            states, p, reading.left, reading.right
        )

    def certify(self, mechanism: RedactionMechanism) -> Certificate:
        """Prove leakage <= epsilon from the integer weights, in exact rationals (balls for very long runs).

        Raises
        ------
        InvalidMechanism
            If the mechanism does not fit the problem.
        """
        from privopt.problems._redaction_certificate import certify

        return certify(self, self.check(mechanism))  # pyright: ignore[reportArgumentType] - the link and the folder are two files to it

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
        from privopt.problems._redaction_repair import repair

        return repair(self, self.check(mechanism), margin)  # pyright: ignore[reportArgumentType] - the link and the folder are two files to it

    def prove_bound(self, dual: object, seconds: float = math.inf) -> Enclosure | None:
        """The upper bound on utility that value tables of the sizes in ``dual`` prove, or None.

        The tables are computed afresh; None also when that takes longer than ``seconds``.
        """
        from privopt.problems._redaction_dual import check_dual

        proved = check_dual(self, dual, seconds)  # pyright: ignore[reportArgumentType] - the link and the folder are two files to it
        return None if proved is None else (proved, proved)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe dictionary; ``from_dict`` gives an equal problem back."""
        return {
            "type": self.kind,
            "version": 1,
            "chain": self.chain.to_dict(),
            "length": self.length,
            "private": list(self.private),
            "epsilon": encode_float(self.epsilon),
            "weights": None if self.weights is None else list(self.weights),
            "form": self.form,
        }

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
        )

    @classmethod
    def examples(cls) -> tuple[Example[RedactionMechanism], ...]:
        """Small instances; the optima are those of the best local redaction mechanism."""
        from privopt.problems._redaction_examples import examples

        return examples()

    def __repr__(self) -> str:
        return (
            f"Redaction({self.chain!r}, length={self.length}, private={self.private}, epsilon={self.epsilon:g}"
            + ("" if self.weights is None else ", weights=...")
            + f", form={self.form!r})"
        )

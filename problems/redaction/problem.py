"""Redaction: which records of a Markov chain to hide, and how often, so that a private one stays private."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from privopt.core.certificate import Certificate, Terms
from privopt.core.problem import FEASIBILITY, Enclosure, Evaluation, Example, Problem
from privopt.errors import InvalidMechanism
from privopt.files.json import check_schema
from privopt.files.numbers import encode_float
from privopt.measures.redaction.leakage import released_share, worst_reading
from privopt.mechanisms import Mechanism, RedactionMechanism
from privopt.models import MarkovChain
from privopt.problems.redaction.certificate import is_worst, prove
from privopt.problems.redaction.data import RedactionData
from privopt.problems.redaction.dual import check_dual
from privopt.problems.redaction.examples import examples
from privopt.problems.redaction.repair import repair
from privopt.problems.redaction.terms import output_in_words, terms


@dataclass(frozen=True, init=False, repr=False)
class Redaction(RedactionData, Problem[RedactionMechanism]):
    """The share of a chain that can be released while the private records leak at most epsilon.

    A local redaction mechanism hides record t with a probability that depends on its value. The
    utility is the (weighted) share of records released, sum_t w_t Pr(t released) / sum_t w_t; the
    leakage is the largest log-ratio of the probabilities of an output under two values of a private
    record, over all private records. The budget is epsilon, and the objective is the utility.

    Source: Massny, Bitar, Ye, El Rouayheb, "Between Close Enough to Reveal and Far Enough to Protect".

    Parameters
    ----------
    chain : MarkovChain
        The distribution of the records, k states.
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

    @property
    def budget(self) -> float:
        """The largest leakage allowed, epsilon, in nats."""
        return self.epsilon

    def with_budget(self, budget: float) -> Self:
        """The same problem with another epsilon."""
        return replace(self, epsilon=budget)

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

    def evaluate(self, mechanism: RedactionMechanism) -> Evaluation:
        """Utility and leakage in float64, O(n k^3) a private record.

        Raises
        ------
        InvalidMechanism
            If the mechanism does not fit the problem.
        """
        table = self.check(mechanism).probabilities
        utility = released_share(self.chain, table, self.weights, mechanism.sequential)
        p, worst = worst_reading(self.chain, self.private, table, self.supports, self.informed)
        violation = max(0.0, worst.leakage - self.epsilon) if worst.leakage > self.epsilon else 0.0
        feasible = violation <= FEASIBILITY * max(1.0, self.epsilon)
        if worst.pair is None or worst.leakage == 0:
            return Evaluation(utility, worst.leakage, utility, feasible, violation)
        states = self.chain.states
        pair = states[worst.pair[0]], states[worst.pair[1]]
        where = output_in_words(states, p, worst.left, worst.right, worst.known)
        return Evaluation(utility, worst.leakage, utility, feasible, violation, pair, where)

    def certify(self, mechanism: RedactionMechanism) -> Certificate:
        """Prove leakage <= epsilon from the integer weights, in exact rationals (balls for very long runs).

        Raises
        ------
        InvalidMechanism
            If the mechanism does not fit the problem.
        """
        proof = prove(self, self.check(mechanism))
        return self.certificate(
            mechanism,
            mechanism.fingerprint,
            ok=proof.ok,
            claim="leakage <= budget",
            reason=proof.reason,
            method=proof.method,
            leakage=proof.leakage,
            utility=proof.utility,
            worst=proof.worst,
            where=proof.where,
        )

    def terms(self, mechanism: RedactionMechanism) -> Terms:
        """What a certificate of a redaction is about: whose values, against whom, and what it leaves out."""
        return terms(self, mechanism)

    def is_worst(self, mechanism: RedactionMechanism, worst: tuple[Hashable, ...], where: str) -> bool | None:
        """Whether the named pair of values leaks as much as any, about some private record."""
        return is_worst(self, mechanism, worst)

    def anchor(self) -> RedactionMechanism:
        """A mechanism strictly inside the constraint: everything redacted."""
        return self.safe()

    def repair(self, mechanism: RedactionMechanism, margin: float) -> RedactionMechanism:
        """The mechanism moved towards redaction until its reading is below epsilon (1 - margin).

        Raising a redaction probability equals erasing released values afterwards, so leakage never
        rises on the way. Mixing with "redact all" would not help: any release probability, however
        small, shows the same ratio.
        """
        return repair(self, self.check(mechanism), margin)

    def prove_bound(self, dual: object, seconds: float = math.inf) -> Enclosure | None:
        """The upper bound on utility that value tables of the sizes in ``dual`` prove, or None.

        The tables are computed afresh; None also when that takes longer than ``seconds``.
        """
        return check_dual(self, dual, seconds)

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
            If the numbers do not make a chain or a problem.
        """
        check_schema(fields, "problem-redaction")
        return cls(
            MarkovChain.from_dict({"type": "markov_chain", **fields["chain"]}),
            fields["length"],
            fields["private"],
            fields["epsilon"],
            weights=fields.get("weights"),
            form=fields.get("form", "local"),
            side_information=fields.get("side_information"),
        )

    @classmethod
    def examples(cls) -> tuple[Example[RedactionMechanism], ...]:
        """Small instances; the optima are those of the best local redaction mechanism."""
        return examples(cls)

    def __repr__(self) -> str:
        return (
            f"Redaction({self.chain!r}, length={self.length}, private={self.private}, epsilon={self.epsilon:g}"
            + ("" if self.weights is None else ", weights=...")
            + f", form={self.form!r}"
            + ("" if self.side_information is None else f", side_information={self.side_information!r}")
            + ")"
        )

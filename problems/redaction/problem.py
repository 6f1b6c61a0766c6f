"""Redaction: which records of a Markov chain to hide, and how often, so that a private one stays private."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self
from weakref import ref

import numpy as np

from privopt.arrays import Ints
from privopt.core.certificate import Certificate, Terms, over_set
from privopt.core.exact import MAX_BITS
from privopt.core.problem import FEASIBILITY, Enclosure, Evaluation, Example, Problem
from privopt.core.words import SHARE, Quantity, Words
from privopt.errors import InvalidMechanism, InvalidProblem
from privopt.files.json import check_schema
from privopt.files.numbers import encode_float
from privopt.measures.redaction.leakage import released_share, worst_reading
from privopt.measures.redaction.over_sets import worst_over_set
from privopt.mechanisms import Mechanism, RedactionMechanism
from privopt.mechanisms.redaction import TOTAL
from privopt.models import ChainAmbiguity, MarkovChain
from privopt.models.ambiguity.joint import Ambiguity
from privopt.problems.chain_sets import chains_within, largest_radius
from privopt.problems.redaction import over_set as chains
from privopt.problems.redaction.certificate import Event, Finding, findings_of, is_worst
from privopt.problems.redaction.data import RedactionData
from privopt.problems.redaction.dual import check_dual
from privopt.problems.redaction.examples import examples
from privopt.problems.redaction.repair import repair
from privopt.problems.redaction.utility import utility_enclosure
from privopt.problems.repeated import check_times


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
    chain : MarkovChain or ChainAmbiguity
        The distribution of the records, k states, or a set of distributions: the budget then holds for every one of them,
        and the utility is that of the nominal chain. The leakage over a set is exact for two states, and an upper bound for
        3 to 6.
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
    period : int, optional
        The records are one stream and the private ones come back after so many: private, private + period, ..., such as
        a private hour of every day. The leakage about each of them counts the releases of the whole stream.
    ambiguity : ChainAmbiguity, optional
        The set whose nominal chain is ``chain``; set where a set is given as the chain.

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
    >>> Redaction(chain, length=72, private=3, epsilon=1.0, period=24).private
    (3, 27, 51)
    """

    kind: ClassVar[str] = "redaction"
    mechanism_type: ClassVar[type[Mechanism]] = RedactionMechanism
    wording: ClassVar[Words] = Words(
        "Hide records of a stream",
        "Hide records",
        "Which records of a Markov chain to hide, and how often, so that the private ones stay private.",
    )

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
        if _read and _read[-1].is_of(self, mechanism):
            return _read[-1].evaluation
        evaluation = self._evaluated(self.check(mechanism))
        _read[:] = [_Read(ref(self), ref(mechanism), evaluation)]
        return evaluation

    def repeated_leakage(self, mechanism: RedactionMechanism, times: float) -> float:
        """What several releases of the same records leak together, in nats.

        A record that is released once is known; it is hidden in all of them with the power of its probability.
        """
        if self.form == "sequential":
            raise InvalidProblem(
                "repeated releases of the sequential form are no mechanism of that form: not known"
            )
        hidden = mechanism.probabilities ** check_times(times)
        return self.evaluate(mechanism.with_probabilities(hidden)).leakage

    def _evaluated(self, mechanism: RedactionMechanism) -> Evaluation:
        table = mechanism.probabilities
        utility = released_share(self.utility_chain, table, self.weights, mechanism.sequential)
        if self.ambiguity is None:
            p, worst = worst_reading(self.chain, self.private, table, self.supports, self.side_information)
        else:
            p, worst = worst_over_set(self.ambiguity, self.private, table, self.supports)
        violation = max(0.0, worst.leakage - self.epsilon) if worst.leakage > self.epsilon else 0.0
        feasible = violation <= FEASIBILITY * max(1.0, self.epsilon)
        if worst.pair is None or worst.leakage == 0:
            return Evaluation(utility, worst.leakage, utility, feasible, violation)
        states = self.chain.states
        pair = states[worst.pair[0]], states[worst.pair[1]]
        where = _output_in_words(states, p, worst.left, worst.right, worst.known)
        return Evaluation(utility, worst.leakage, utility, feasible, violation, pair, where)

    def certify(self, mechanism: RedactionMechanism) -> Certificate:
        """Prove leakage <= epsilon from the integer weights, in exact rationals (balls for very long runs).

        Raises
        ------
        InvalidMechanism
            If the mechanism does not fit the problem.
        """
        weights, states = self.check(mechanism).exact(), self.chain.states
        findings, (partial, _) = self._findings(weights), _shown_impossible(self, mechanism, weights)
        p = max(findings, key=lambda q: findings[q].enclosure)
        finding, ok = findings[p], all(f.passes is True for f in findings.values())
        reason = _reason(self, findings, ok)
        if partial:
            record, value = partial[0]
            ok = False
            reason = (
                f"record {record} can never be {states[value]!r}, yet that value would be shown: hide it always, "
                "as problem.repair does"
            )
        lo, hi = finding.enclosure
        pair = finding.pair if hi > 0 else None
        where = _output_in_words(states, p, finding.left, finding.right, finding.known)
        return self.certificate(
            mechanism,
            mechanism.fingerprint,
            ok=ok,
            claim=_CLAIM if self.ambiguity is None else over_set(_CLAIM),
            reason=reason,
            method=finding.method,
            leakage=(max(0.0, lo), max(0.0, hi)),
            utility=utility_enclosure(self, weights, mechanism.sequential),
            worst=() if pair is None else (states[pair[0]], states[pair[1]]),
            where="" if pair is None else where,
        )

    def _findings(self, weights: Ints) -> dict[int, Finding]:
        if self.ambiguity is None:
            return findings_of(self, weights)
        return chains.findings_over(self, self.ambiguity, weights)

    def robust_level(self, mechanism: RedactionMechanism, ambiguity: Ambiguity) -> Enclosure:
        """Floats around the largest leakage over a set of chains, in nats; see :func:`privopt.measures.robust_level`.

        Exact for two states; for more an upper bound, with the leakage at the nominal chain below it.
        """
        return chains.level_over(self, ambiguity, self.check(mechanism).exact())

    def neighbourhood(self, radius: Fraction, kind: str) -> Ambiguity:
        """The chains whose rows, forward and backward in time, lie within a radius of those of this stationary one."""
        return chains_within(self.chain, radius, kind)

    def largest_radius(self, kind: str) -> Fraction:
        """A radius from which on each row may be any distribution of the values that it has."""
        return largest_radius(self.chain, kind)

    def terms(self, mechanism: RedactionMechanism) -> Terms:
        """What a certificate of a redaction is about: whose values, against whom, and what it leaves out."""
        return _terms(self, mechanism)

    def is_worst(self, mechanism: RedactionMechanism, worst: tuple[Hashable, ...], where: str) -> bool | None:
        """Whether the named pair of values leaks as much as any, about some private record."""
        return is_worst(self, self._findings(mechanism.exact()), worst)

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
            "chain": (self.ambiguity or self.chain).to_dict(),
            "length": self.length,
            "private": list(self.private if self.period is None else self.named_private),
            "epsilon": encode_float(self.epsilon),
            "weights": None if self.weights is None else list(self.weights),
            "form": self.form,
        }
        if self.side_information is not None:  # left out otherwise, so that fingerprints of older files hold
            fields.update(version=2, side_information=self.side_information)
        if self.period is not None:
            fields.update(version=2, period=self.period)
        if self.ambiguity is not None:
            fields.update(version=3)
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
        chain = {"type": "markov_chain", **fields["chain"]}
        over = chain["type"] == "chain_ambiguity"
        return cls(
            ChainAmbiguity.from_dict(chain) if over else MarkovChain.from_dict(chain),
            fields["length"],
            fields["private"],
            fields["epsilon"],
            weights=fields.get("weights"),
            form=fields.get("form", "local"),
            side_information=fields.get("side_information"),
            period=fields.get("period"),
        )

    def quantity(self) -> Quantity:
        """What the objective measures, as a person says it."""
        return Quantity("records released", SHARE, budget="ε")

    @classmethod
    def examples(cls) -> tuple[Example[RedactionMechanism], ...]:
        """Small instances; the optima are those of the best local redaction mechanism."""
        return examples(cls)

    def __repr__(self) -> str:
        return (
            f"Redaction({self.ambiguity or self.chain!r}, length={self.length}, private={self.private if self.period is None else self.named_private}, epsilon={self.epsilon:g}"
            + ("" if self.weights is None else ", weights=...")
            + f", form={self.form!r}"
            + ("" if self.side_information is None else f", side_information={self.side_information!r}")
            + ("" if self.period is None else f", period={self.period}")
            + ")"
        )


@dataclass(frozen=True)
class _Read:
    """A reading: what is judged is read twice, and long ones take long."""

    problem: ref[Redaction]
    mechanism: ref[RedactionMechanism]
    evaluation: Evaluation

    def is_of(self, problem: Redaction, mechanism: RedactionMechanism) -> bool:
        """Whether it is of this very mechanism, for this very problem."""
        return self.problem() is problem and self.mechanism() is mechanism


_read: list[_Read] = []
"""The last reading."""

_CLAIM = "leakage <= budget"


def _reason(data: RedactionData, findings: Mapping[int, Finding], ok: bool) -> str:
    """Why the claim holds, or fails."""
    if ok:
        return (
            f"every ratio of output probabilities is at most e^epsilon, for {len(findings)} private record(s)"
        )
    broken = next((p for p, f in findings.items() if f.passes is False), None)
    if broken is None:
        undecided = next(p for p, f in findings.items() if f.passes is None)
        if data.ambiguity is not None:
            return (
                f"the bound on the leakage over the set is {findings[undecided].enclosure[1]:.17g} > epsilon = "
                f"{data.epsilon:.17g} for private record {undecided}, which is not a pass"
            )
        return f"undecided at {MAX_BITS} bits for private record {undecided}, which is not a pass"
    f, states = findings[broken], data.chain.states
    pair = "" if f.pair is None else f" for {states[f.pair[0]]!r} against {states[f.pair[1]]!r}"
    where = _output_in_words(states, broken, f.left, f.right, f.known)
    return f"leakage is at least {f.enclosure[0]:.17g} > epsilon = {data.epsilon:.17g}{pair}, {where}"


def _shown_impossible(
    data: RedactionData, mechanism: RedactionMechanism, weights: Ints
) -> tuple[list[Event], list[Event]]:
    """Events (record, state) that the chain rules out and the mechanism might show: among partial releases, and others.

    Such a value has no probability under the model, so no leakage counts it. Where every possible value of the record
    is released always, it is in the clear by design of the mechanism (files of version 0.1.0 have such), which is said.
    """
    can = data.supports
    if can.all():
        return [], []
    shown = (weights < TOTAL) & ~can
    by_design = ((weights == 0) | ~can).all(axis=1)
    partial = shown & ~by_design[:, None]
    if mechanism.sequential is not None:
        beyond = ~can
        beyond[[t for t, _ in mechanism.never], [v for _, v in mechanism.never]] = False
        beyond[mechanism.sequential] = False
        shown = shown | beyond
    one, other = ([(int(t), int(v)) for t, v in np.argwhere(mask)] for mask in (partial, shown & ~partial))
    return one, other


def _runs(private: Sequence[int]) -> list[str]:
    """Private records in words, three or more that follow each other as one."""
    runs: list[list[int]] = []
    for p in private:
        if runs and runs[-1][-1] + 1 == p:
            runs[-1].append(p)
        else:
            runs.append([p])
    return [
        text
        for run in runs
        for text in ([f"record {p}" for p in run] if len(run) < 3 else [f"records {run[0]} to {run[-1]}"])
    ]


def _terms(data: RedactionData, mechanism: RedactionMechanism) -> Terms:
    """What a certificate of a redaction mechanism is about."""
    every = "" if data.period is None else f" of every {data.period}"
    private = data.private if data.period is None else data.named_private
    named = [f"{run}{every}" for run in _runs(private)]
    which = f"{', '.join(named[:-1])} or {named[-1]}".removeprefix(" or ")
    if len(private) > 1:
        which += ", each by itself,"
    if math.isinf(data.epsilon):
        claim = f"the budget is without limit: nothing is promised of {which}".rstrip(",")
    elif data.epsilon == 0:
        claim = f"no release says anything of {which}".rstrip(",")
    else:
        claim = (
            f"no release shifts the odds between two values of {which} by more than a factor of "
            f"{factor(data.epsilon)}"
        )
    uncovered = [
        "other sequences that depend on this one, and what is kept beside the release",
        "data that the chain rules out: an impossible value is hidden always, yet that one occurred may show",
    ]
    _, clear = _shown_impossible(data, mechanism, mechanism.exact())
    if clear:
        record, value = clear[0]
        uncovered[-1] = (
            f"data that the chain rules out: this mechanism shows {len(clear)} impossible value(s) in the clear, such as "
            f"{data.chain.states[value]!r} at record {record}"
        )
    if data.side_information is None:
        uncovered.append(
            "an adversary who knows other records of the sequence may learn more than the budget"
            + ("" if data.robust else '; side_information="any" covers that')
        )
    if len(data.private) > 1:
        uncovered.append(
            "several private records at once: what is said of two together may exceed the budget of one"
        )
    beside = (
        ", and the values of any other records besides: the factor is then on top of what these already say"
        if data.side_information is not None
        else ", but no record of the sequence"
    )
    walk = (
        " (sequential: what lies beyond a first release follows from it)" if data.form == "sequential" else ""
    )
    whole = "exactly as written (each row divided by its exact sum)"
    over = data.ambiguity
    return Terms(
        kind="privacy",
        statement=claim,
        assumption=f"the records follow {data.chain!r} {whole}"
        if over is None
        else f"the records follow any one distribution of {over!r}",
        distributions="" if over is None else over.described,
        confidence=None if over is None else over.confidence,
        adversary="anyone who sees the release and knows the chain and the mechanism" + beside,
        unit=f"private record, of one release of a sequence of {data.length} records{walk}",
        uncovered=tuple(uncovered),
    )


def factor(epsilon: float) -> str:
    """e^epsilon in a few digits, never less than it is; "1" followed by the excess where that is small."""
    if epsilon > 20:
        return f"e^{epsilon:.17g}"
    excess = math.expm1(epsilon) * (1 + 2.0**-48)
    if excess < 1e-3:
        return f"1 + {_upward(excess, 4)}"
    return _upward((1 + excess) * (1 + 2.0**-50), 4 + max(0, math.floor(-math.log10(excess))))


def _upward(value: float, digits: int) -> str:
    """A positive number in some digits or more, never less than it is."""
    text = f"{value:.{digits}g}"
    if float(text) >= value:
        return text
    text = f"{float(text) + 10.0 ** (math.floor(math.log10(value)) - digits + 1):.{digits}g}"
    return text if float(text) >= value else _upward(value, digits + 4)


def _output_in_words(
    states: Sequence[Hashable],
    record: int,
    left: Event,
    right: Event,
    known: tuple[Event, Event] = ((0, -1), (0, -1)),
) -> str:
    """The output at which a private record leaks most, from (distance, value) on each side, and what is known of others."""
    if left[0] == 0 and left[1] >= 0:
        return f"private record {record} itself is released as {states[left[1]]!r}"
    sides = []
    for name, sign, (distance, value), (far, other) in (
        ("left", -1, left, known[0]),
        ("right", 1, right, known[1]),
    ):
        if distance == 0:
            sides.append(f"nothing released on the {name}")
        elif value < 0 and other >= 0:
            sides.append(f"all redacted on the {name} up to record {record + sign * far}")
        elif value < 0:
            sides.append(f"all redacted on the {name}")
        else:
            at = record + sign * distance
            sides.append(f"first release on the {name} {states[value]!r} at record {at}")
        if other >= 0:
            sides.append(f"record {record + sign * far} known to be {states[other]!r}")
    return f"about private record {record}: {', '.join(sides)}"

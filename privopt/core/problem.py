"""The contract of a problem: it holds the model, the budget and the utility, and it judges answers."""

from __future__ import annotations

import hashlib
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Generic, Protocol, Self, TypeAlias, TypeVar

from privopt.core.certificate import FRESH_RECORD, ONE_RELEASE, Certificate, Terms
from privopt.core.exact import ensure_nearest
from privopt.core.words import NATS, Quantity, Words, measured
from privopt.errors import InvalidProblem
from privopt.files.labels import Labels
from privopt.files.text import html_table, number
from privopt.mechanisms import Mechanism
from privopt.models import JointDistribution, ObservedJoint
from privopt.models.ambiguity.joint import Ambiguity, JointAmbiguity
from privopt.models.columns import TableColumns

M = TypeVar("M", bound=Mechanism)

Enclosure: TypeAlias = tuple[float, float]
"""Floats (lo, hi) around an exact number."""

SHOWN = 120
"""Characters of a list that a notebook shows; of a longer one it shows the size."""

FEASIBILITY = 1e-12
"""A float reading counts as feasible up to this violation, relative to max(1, budget)."""


class Numbers(Protocol):
    """What has a utility, a leakage and an objective: an evaluation, a solution."""

    @property
    def utility(self) -> float | None:
        """The utility, if there is one."""

    @property
    def leakage(self) -> float | None:
        """The leakage, if there is one."""

    @property
    def objective(self) -> float | None:
        """What is maximised, if there is one."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The evaluation of a mechanism by its problem, in float64: a reading, not a proof.

    Parameters
    ----------
    utility, leakage, objective : float
        The objective is maximised; leakage is in its problem's :attr:`Problem.leakage_unit` and may be inf.
    feasible : bool
        Whether the violation is at most 1e-12 max(1, budget).
    violation : float
        By how much the budget is missed, never negative.
    worst : tuple of labels
        Names of the pair that leaks most; empty when nothing leaks.
    where : str
        The output at which it does, in words.
    exact : bool
        False where simulated; ``standard_error`` is then that of the utility.
    leakage_unit : str
        Empty where the leakage is a plain number.
    """

    utility: float
    leakage: float
    objective: float
    feasible: bool
    violation: float
    worst: tuple[Hashable, ...] = ()
    where: str = ""
    exact: bool = True
    standard_error: float = 0.0
    leakage_unit: str = NATS

    def __str__(self) -> str:
        verdict = "feasible" if self.feasible else f"violates the budget by {number(self.violation)}"
        where = f"; worst pair {self.worst!r}, {self.where}" if self.worst else ""
        leakage = measured(number(self.leakage), self.leakage_unit)
        return f"utility {number(self.utility)}, leakage {leakage}, {verdict}{where}"

    def _repr_html_(self) -> str:
        rows = [
            ("utility", number(self.utility)),
            (f"leakage ({self.leakage_unit})" if self.leakage_unit else "leakage", number(self.leakage)),
            ("objective", number(self.objective)),
            ("feasible", self.feasible),
            ("worst pair", self.worst),
            ("where", self.where),
        ]
        return html_table(rows)


@dataclass(frozen=True)
class Example(Generic[M]):
    """A small instance of a problem, with the optimal objective where it is known."""

    name: str
    problem: Problem[M]
    optimum: float | None = None
    tolerance: float = 1e-9


MALFORMED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What reading a malformed dual may raise: it is then no proof."""


class Problem(ABC, Generic[M]):
    """A problem, declared: frozen data that judges mechanisms and never searches for one.

    Subclasses are frozen dataclasses; they live one a file in the ``problems`` folder.
    """

    kind: ClassVar[str]
    mechanism_type: ClassVar[type[Mechanism]]
    wording: ClassVar[Words] = Words()
    """What reports call the problem."""

    contiguous: bool = False
    """Whether blocks must be intervals of ordered columns, and nodes of hierarchies; only few solvers make such."""

    beyond: frozenset[str] = frozenset()
    """What is asked beyond the plain form of this kind of problem, in words; only solvers that handle it are offered."""

    @property
    def robust(self) -> bool:
        """Whether the model is a set of distributions, for every one of which the promise must hold; few solvers keep to it."""
        return False

    @property
    def judging_seconds(self) -> float:
        """Predicted seconds of judging one mechanism (evaluate, quantise, certify); 0 where it never matters.

        ``solve`` refuses at once an instance whose judgement alone would be late.
        """
        return 0.0

    @property
    def sizes(self) -> tuple[int, ...]:
        """How large the instance is, in numbers from which the time of a solver can be predicted; none by default.

        Two instances are compared when they have equally many: forms of a problem that cost differently may differ in that.
        """
        return ()

    @property
    @abstractmethod
    def budget(self) -> float:
        """The number that bounds the answer; see the class for what it bounds."""

    @abstractmethod
    def with_budget(self, budget: float) -> Self:
        """The same problem with another budget."""

    @abstractmethod
    def check(self, mechanism: Mechanism) -> M:
        """The mechanism, if it is one for this problem; raises InvalidMechanism and says why if not."""

    @abstractmethod
    def evaluate(self, mechanism: M) -> Evaluation:
        """Utility and leakage in float64, to a relative error of 1e-12."""

    @abstractmethod
    def certify(self, mechanism: M) -> Certificate:
        """Prove, from the integer weights alone, that the budget holds; never calls ``evaluate``."""

    def certify_record(self, mechanism: M, *, old: bool) -> Certificate:
        """Prove the claim of a stored record; one of version 0.1.0 (``old``) may have claimed less, and its certificate says so."""
        return self.certify(mechanism)

    @abstractmethod
    def anchor(self) -> M:
        """A mechanism strictly inside the constraint."""

    @abstractmethod
    def repair(self, mechanism: M, margin: float) -> M:
        """A mechanism near the given one that keeps the budget with a relative margin."""

    @abstractmethod
    def terms(self, mechanism: M) -> Terms:
        """What a certificate of this mechanism is about, in plain sentences."""

    @abstractmethod
    def prove_bound(self, dual: object, seconds: float = math.inf) -> Enclosure | None:
        """What ``dual`` proves: (lo, hi), where hi is a proved upper bound on the objective of every mechanism.

        The number that the dual defines lies in between; another machine may compute another hi, by no more than
        the width. None if the dual is no proof, or checking it does not end within ``seconds``; a malformed dual
        may also raise any of the usual errors of bad values.
        """

    def check_bound(self, bound: float, dual: object, seconds: float = math.inf) -> float | None:
        """The upper bound on the objective that ``dual`` proves, at most as good as claimed, or None.

        It is proved in rationals or balls and rounded outward, so far that every machine proves it again.
        """
        proved = None if math.isnan(bound) else self.proved_bound(dual, seconds)
        if proved is None:
            return None
        lo, hi = proved
        return max(bound, hi if lo == hi else math.nextafter(hi + 4 * (hi - lo), math.inf))

    def proved_bound(self, dual: object, seconds: float = math.inf) -> Enclosure | None:
        """What :meth:`prove_bound` returns, if it is finite and the dual is well formed."""
        ensure_nearest()
        try:
            proved = self.prove_bound(dual, seconds)
        except MALFORMED:
            return None
        return proved if proved is not None and all(map(math.isfinite, proved)) else None

    def proved_bound_0_1_0(self, dual: object) -> Enclosure | None:
        """What a dual proves by the claim that version 0.1.0 made with it; the default is today's claim.

        A problem whose leakage has since been read more exactly bounds fewer mechanisms than it did: such a record is
        not refuted by that.
        """
        return self.proved_bound(dual)

    def objective_of(self, utility: float, leakage: float) -> float:
        """The objective that utility and leakage give; monotone in each. The default is the utility."""
        return utility

    def objective_enclosure(self, certificate: Certificate) -> Enclosure:
        """Floats around the exact objective of a certified mechanism."""
        corners = [self.objective_of(u, x) for u in certificate.utility for x in certificate.leakage]
        known = [value for value in corners if not math.isnan(value)]
        return (min(known), max(known)) if len(known) == len(corners) else (-math.inf, math.inf)

    @property
    def leakage_unit(self) -> str:
        """Of the leakage: nats, but where the problem says otherwise; empty for a plain number."""
        return NATS

    def quantity(self) -> Quantity:
        """What the objective measures, in words and with its unit."""
        return Quantity()

    def scale(self, solution: Numbers) -> float:
        """What a gap is compared with: a gap of at most 1e-6 of it counts as optimal.

        The default suits utilities that are shares or information: min(1, |objective|).
        """
        return min(1.0, abs(solution.objective or 0.0))

    def is_worst(self, mechanism: M, worst: tuple[Hashable, ...], where: str) -> bool | None:
        """Whether the named pair leaks as much as any; None where that is not checked."""
        return None

    def robust_level(self, mechanism: M, ambiguity: Ambiguity) -> Enclosure:
        """Floats around the largest leakage of a mechanism over a set of distributions, in nats.

        Raises
        ------
        InvalidProblem
            If the problem has no leakage over such sets; the default.
        """
        raise InvalidProblem(f"{type(self).__name__} has no leakage over {type(ambiguity).__name__}")

    def neighbourhood(self, radius: Fraction, kind: str) -> Ambiguity:
        """The set of distributions whose rows lie within a radius of this problem's own."""
        raise InvalidProblem(f"{type(self).__name__} has no leakage over sets of distributions")

    def largest_radius(self, kind: str) -> Fraction:
        """A radius at which :meth:`neighbourhood` holds whatever it may hold."""
        raise InvalidProblem(f"{type(self).__name__} has no leakage over sets of distributions")

    def repeated_leakage(self, mechanism: M, times: float) -> float:
        """What several releases of the same records leak together, in nats.

        Raises
        ------
        InvalidProblem
            If the problem has no such measure; the default.
        """
        raise InvalidProblem(f"{type(self).__name__} has no measure of repeated releases")

    def certificate(
        self,
        mechanism: M,
        fingerprint: str,
        *,
        ok: bool,
        claim: str,
        reason: str,
        method: str,
        leakage: Enclosure,
        utility: Enclosure,
        worst: tuple[Hashable, ...] = (),
        where: str = "",
    ) -> Certificate:
        """The certificate of a mechanism, with everything that follows from the problem filled in."""
        terms = self.terms(mechanism)
        return Certificate(
            ok=ok,
            claim=claim,
            reason=reason,
            budget=self.budget,
            leakage=leakage,
            utility=utility,
            worst=worst,
            where=where,
            problem=self.fingerprint,
            mechanism=fingerprint,
            method=method,
            assumption=terms.assumption,
            kind=terms.kind,
            statement=terms.statement,
            adversary=terms.adversary,
            unit=terms.unit,
            uncovered=_not_covered(terms),
            distributions=terms.distributions,
            confidence=terms.confidence,
            leakage_unit=self.leakage_unit,
        )

    def restated(self, proved: Certificate, mechanism: M, *, claim: str, where: str) -> Certificate:
        """What another problem proved of a mechanism, stated for this one and in its words."""
        terms = self.terms(mechanism)
        return replace(
            proved,
            claim=claim,
            budget=self.budget,
            where=where,
            problem=self.fingerprint,
            mechanism=mechanism.fingerprint,
            assumption=terms.assumption,
            kind=terms.kind,
            statement=terms.statement,
            adversary=terms.adversary,
            unit=terms.unit,
            uncovered=_not_covered(terms),
            distributions=terms.distributions,
            confidence=terms.confidence,
        )

    @classmethod
    @abstractmethod
    def examples(cls) -> tuple[Example[M], ...]:
        """Small instances, easiest first, with known optima where there are any."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe dictionary; ``from_dict`` gives an equal problem back."""

    @classmethod
    @abstractmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The problem that :meth:`to_dict` wrote."""

    @property
    def columns(self) -> TableColumns | None:
        """What the model remembers of the table that it was counted from, if it was."""
        models = (getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]  # problems are dataclasses
        return next(
            (m.columns for m in models if isinstance(m, (JointDistribution, ObservedJoint, JointAmbiguity))),
            None,
        )

    @property
    def release_labels(self) -> Labels | None:
        """The values that are released, in the order of the outputs; None where outputs are messages or name themselves."""
        return None

    def named(self, mechanism: M) -> M:
        """The mechanism with the columns that it is for, and with the values that it releases."""
        columns, labels = self.columns, self.release_labels
        return mechanism if columns is None and labels is None else mechanism.described(columns, labels)

    def check_infeasible(self, witness: object) -> str | None:
        """Why no mechanism exists, if ``witness`` proves it; the default is that one always exists."""
        return None

    def _repr_html_(self) -> str:
        own = vars(self)
        rows = [
            (key, repr(own[key]) if isinstance(value, Mapping) and key in own else _summary(value))
            for key, value in self.to_dict().items()
            if key not in ("type", "version") and value is not None
        ]
        return html_table(rows, (type(self).__name__, ""))

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical JSON form: equal for equal problems."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        return fingerprint_of(self.to_dict())


def _not_covered(terms: Terms) -> tuple[str, ...]:
    return (ONE_RELEASE, *terms.uncovered, *((FRESH_RECORD,) if terms.distributions else ()))


def fingerprint_of(fields: Mapping[str, Any]) -> str:
    """SHA-256 of the canonical JSON form of a dictionary, without what its models remember of their columns.

    Certificates are about numbers and labels, so the columns of a table change no fingerprint.

    Examples
    --------
    >>> joint = {"type": "joint_distribution", "table": [[1]]}
    >>> fingerprint_of({"joint": joint}) == fingerprint_of({"joint": {**joint, "columns": {}}})
    True
    """
    plain = {name: _without_columns(value) for name, value in fields.items()}
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _without_columns(value: Any) -> Any:
    """A model without what it remembers of a table; anything else as it is."""
    if not isinstance(value, Mapping) or "type" not in value:
        return value
    return {name: _without_columns(part) for name, part in value.items() if name != "columns"}


def _summary(value: object) -> object:
    """What a notebook shows of a field: the size of a long list, a model by its kind."""
    if isinstance(value, Mapping):
        kind = str(value.get("type", "document")).replace("_", " ")
        sizes = [
            f"{name}: {_summary(part)}"
            for name, part in value.items()
            if name not in ("type", "version", "columns")
        ]
        return f"{kind} ({'; '.join(sizes)})" if sizes else kind
    if isinstance(value, list) and len(str(value)) > SHOWN:
        rows = {len(row) for row in value if isinstance(row, list)}
        return f"{len(value)} x {max(rows)} table" if rows else f"{len(value)} entries"
    return value

"""Noise on a query of dependent records, as little as Bayesian differential privacy allows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

from privopt.core.certificate import Certificate, Terms
from privopt.core.problem import FEASIBILITY, Enclosure, Evaluation, Example, Numbers, Problem, fingerprint_of
from privopt.errors import InvalidMechanism, InvalidProblem
from privopt.files.labels import Labels
from privopt.files.numbers import decode_float
from privopt.mechanisms import Mechanism, NoisyQuery
from privopt.mechanisms.noise import validation as noisy
from privopt.mechanisms.noise.accuracy import expected_error
from privopt.mechanisms.noise.level import level, scale_for
from privopt.mechanisms.noise.statistics import Asked, Clip, sensitivity
from privopt.models import MarkovChain, model_from_dict
from privopt.problems.bayesian_privacy import levels
from privopt.problems.bayesian_privacy import validation as checks

FIELDS = ("query", "noise", "clip", "length", "states", "scope")
SMALL = 0.01
"""Relative excess of a proved leakage that is taken to be the rounding of the proof."""

ROOM = 2.0**-40
"""Share of epsilon that is left free, so that what another processor reads or proves changes nothing."""

STATED = 1e-9
"""A mechanism may state less than the leakage that is read by this much, relatively: the rounding of bounds."""


@dataclass(frozen=True, init=False)
class BayesianPrivacy(Problem[NoisyQuery]):
    """The least noise on a query, if no release changes the odds between two values of a record by more than epsilon.

    The adversary knows any set of other records, and how records depend on each other. Leakage is the Bayesian
    differential privacy level of the worst mechanism of the same level tau of differential privacy, or the best bound on it; for the
    count of a short chain (at most 256 sequences), it is that of the noisy count itself, by enumeration. The objective is
    the utility, -E|error| of the noise, the same for all data (of one cell of a histogram); values outside ``clip`` count
    as clipped. Of randomised response on more than 512 records it is the standard deviation, a bound on that.

    The family that is searched is one noise of any scale. A larger scale never leaks more. An answer that does not
    read the data counts as noise of infinite scale. States that no record can have are refused at release.

    Source: Lange, Guerra-Balboa, Parra-Arnau, Strufe, "Balancing Privacy and Utility in Correlated Data: A Study of
    Bayesian Differential Privacy".

    Parameters
    ----------
    model : GaussianModel, GroupModel or MarkovChain
        How records depend on each other. Groups and Gaussian groups are independent copies.
    query : {"sum", "mean", "count", "histogram"}, ("count", state) or Query
        See :class:`privopt.NoisyQuery`.
    epsilon : float
        Bound on the leakage in nats, finite and > 0.
    length : int, optional
        Number of records. A chain without it may be of any length.
    clip : (lower, upper), optional
        Records are clipped to it; needed by sums and means, except of a chain whose states are numbers.
    scope : {"targets_in_interval", "all_reals"}
        Which values of a target are compared: inside ``clip``, or any. For Gaussian records and all reals only the
        size of the group counts: far outside, relatives are forced to the ends of the interval.
    mechanism : {"laplace", "discrete_laplace", "randomised_response"}
        The noise.

    Raises
    ------
    InvalidProblem
        If an argument is out of its range, with its name.

    Examples
    --------
    >>> from privopt.models import GaussianModel
    >>> family = GaussianModel([[1, 0.5, 0.25], [0.5, 1, 0.5], [0.25, 0.5, 1]])
    >>> problem = BayesianPrivacy(family, "sum", 1.0, clip=(40, 160))
    >>> reading = problem.evaluate(problem.answer(0.5))
    >>> reading.utility, round(reading.leakage, 9), reading.feasible
    (-240.0, 1.0, True)
    """

    kind: ClassVar[str] = "bayesian_privacy"
    mechanism_type: ClassVar[type[Mechanism]] = NoisyQuery

    model: checks.Records
    query: Asked
    epsilon: float
    length: int | None
    clip: Clip | None
    scope: str
    mechanism: str

    def __init__(
        self,
        model: checks.Records,
        query: object,
        epsilon: float,
        *,
        length: int | None = None,
        clip: object = None,
        scope: str = "targets_in_interval",
        mechanism: str = "laplace",
    ) -> None:
        records = checks.model(model)
        asked = checks.query(query, records)
        noise = checks.noise(mechanism, asked)
        values: dict[str, object] = {
            "model": records,
            "query": asked,
            "epsilon": checks.epsilon(epsilon),
            "length": checks.length(length, asked, records, noise),
            "clip": checks.clip(clip, asked, records),
            "scope": checks.scope(scope),
            "mechanism": noise,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        checks.as_problem(lambda: self.sensitivity)
        if isinstance(records, MarkovChain):
            object.__setattr__(self, "query", checks.possible(asked, records, self._impossible))

    @property
    def budget(self) -> float:
        """Epsilon, in nats."""
        return self.epsilon

    def with_budget(self, budget: float) -> Self:
        """The same question with another epsilon."""
        return type(self)(
            self.model, self.query, budget,
            length=self.length, clip=self.clip, scope=self.scope, mechanism=self.mechanism,
        )  # fmt: skip

    @property
    def states(self) -> Labels | None:
        """The states that records can have, where the query counts them or others are to be refused."""
        if not isinstance(self.model, MarkovChain) or checks.is_function(self.query):
            return None
        counts = self.query in ("count", "histogram") or isinstance(self.query, tuple)
        found = tuple(state for state in self.model.states if state not in self._impossible)
        return found if counts or self._impossible else None

    @cached_property
    def _impossible(self) -> Labels:
        """The states of a chain that no record can have."""
        from privopt.problems.bayesian_privacy.certificate import impossible

        return impossible(self.model, self.length) if isinstance(self.model, MarkovChain) else ()

    @property
    def sensitivity(self) -> float:
        """The most by which one record changes the answer (histogram: in L1)."""
        return sensitivity(self.query, self.clip, self.length)

    def answer(self, tau: float) -> NoisyQuery:
        """The noisy query of the least scale whose level is at most tau, with the leakage that is read for it."""
        return self._noisy(scale_for(self.mechanism, tau, self.sensitivity))

    def _noisy(self, scale: float) -> NoisyQuery:
        tau = level(self.mechanism, scale, self.sensitivity)
        return NoisyQuery(
            self.query, self.mechanism, scale, tau, self._read(tau), self.scope,
            clip=self.clip, length=self.length, states=self.states,
        )  # fmt: skip

    def _read(self, tau: float) -> float:
        """The leakage that is read for a level."""
        return levels.reading(self, tau).value  # pyright: ignore[reportArgumentType] - the link and the folder are two files to it

    def check(self, mechanism: Mechanism) -> NoisyQuery:
        """The mechanism, if it answers this query and states no less than the leakage that is read for its tau."""
        if not isinstance(mechanism, NoisyQuery):
            raise InvalidMechanism(
                f"BayesianPrivacy is answered by a NoisyQuery, got {type(mechanism).__name__}"
            )
        asked = (self.query, self.mechanism, self.clip, self.length, self.states, self.scope)
        given = (
            mechanism.query, mechanism.noise, mechanism.clip, mechanism.length, mechanism.states, mechanism.scope
        )  # fmt: skip
        for name, ours, theirs in zip(FIELDS, asked, given, strict=True):
            if ours != theirs:
                raise InvalidMechanism(f"the question has {name} {ours!r}, the mechanism {theirs!r}")
        found = self._read(mechanism.tau)
        if mechanism.leakage < found * (1 - STATED):
            raise InvalidMechanism(
                f"the mechanism states a leakage of {mechanism.leakage} nats, {found} is read for its tau"
            )
        return mechanism

    def evaluate(self, mechanism: NoisyQuery) -> Evaluation:
        """Utility and leakage in float64; the best bound for the scope is read."""
        stated = self.check(mechanism)
        utility = self.utility_of(stated.scale)
        leakage = self._read(stated.tau)
        violation = max(0.0, leakage - self.epsilon)
        return Evaluation(
            utility, leakage, utility, violation <= FEASIBILITY * max(1.0, self.epsilon), violation
        )

    def utility_of(self, scale: float) -> float:
        """-E|error| of noise of a scale; -inf where the data are not read."""
        return 0.0 - expected_error(self.mechanism, scale, self.length)

    def certify(self, mechanism: NoisyQuery) -> Certificate:
        """Prove the bound on the leakage in rationals and balls, and the level of the noise."""
        from privopt.problems.bayesian_privacy.certificate import certify

        return certify(self, self.check(mechanism))  # pyright: ignore[reportArgumentType] - the link and the folder are two files to it

    def terms(self, mechanism: NoisyQuery) -> Terms:
        """What a certificate of this mechanism is about, in plain sentences."""
        from privopt.problems.bayesian_privacy.certificate import terms

        return terms(self, mechanism)  # pyright: ignore[reportArgumentType] - the link and the folder are two files to it

    def safe(self) -> NoisyQuery:
        """An answer that does not read the data: leaks nothing."""
        return self._noisy(math.inf)

    def anchor(self) -> NoisyQuery:
        """A mechanism strictly inside the constraint: an answer that does not read the data."""
        return self.safe()

    def repair(self, mechanism: NoisyQuery, margin: float) -> NoisyQuery:
        """The same query with a scale larger by a few margins, at least 2^-40; the leakage is read again.

        Where the proof of a small leakage misses epsilon by more, by its own roundings, the scale grows by that.
        """
        scale = self.check(mechanism).scale
        if scale == math.inf:
            return mechanism
        larger = scale * (1.0 + max(4.0 * max(margin, 2.0**-40), self._excess(mechanism)))
        if self.mechanism == "randomised_response" and larger >= 0.5:
            return self.safe()
        return self._noisy(larger)

    def _excess(self, mechanism: NoisyQuery) -> float:
        """Four times the relative excess of the proved leakage over epsilon; 0 where it is not small."""
        excess = self._proved(mechanism.tau) / self.epsilon - 1.0
        return 4.0 * excess if 0 < excess < SMALL else 0.0

    def _proved(self, tau: float) -> float:
        """A proved upper bound on the leakage of a level."""
        from privopt.problems.bayesian_privacy.certificate import proved_leakage

        return proved_leakage(self, tau)[1]  # pyright: ignore[reportArgumentType] - the link and the folder are two files to it

    def within(self, tau: float) -> float:
        """A level at most the given one whose proved leakage leaves room below epsilon.

        Where the proof misses that by more than its own roundings, the level is given back a little smaller only.
        """
        limit = self.epsilon * (1.0 - ROOM)
        for _ in range(4):
            excess = self._proved(tau) / limit - 1.0
            if not 0 < excess < SMALL:
                break
            tau *= 1.0 - 2.0 * excess
        return tau

    def scale(self, solution: Numbers) -> float:
        """The size of the expected error: gaps are relative to it."""
        return abs(solution.objective or 0.0)

    def prove_bound(self, dual: object, seconds: float = math.inf) -> Enclosure | None:
        """What a level that leaks too much proves of the utility, or None.

        See :mod:`privopt.problems.bayesian_privacy.bound`.
        """
        from privopt.problems.bayesian_privacy.bound import prove_dual

        return prove_dual(self, dual)  # pyright: ignore[reportArgumentType] - the link and the folder are two files to it

    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe dictionary; ``from_dict`` gives an equal problem back.

        Raises
        ------
        InvalidProblem
            If the query is a function, which cannot be written.
        """
        return self._fields(checks.as_problem(lambda: noisy.encode_query(self.query)))

    def _fields(self, query: object) -> dict[str, Any]:
        return {
            "type": self.kind,
            "version": 1,
            "model": self.model.to_dict(),
            "query": query,
            "epsilon": self.epsilon,
            "length": self.length,
            "clip": None if self.clip is None else list(self.clip),
            "scope": self.scope,
            "mechanism": self.mechanism,
        }

    @cached_property
    def fingerprint(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        """SHA-256 of the canonical JSON form; a function counts as itself, in this process only."""
        if not checks.is_function(self.query):
            return super().fingerprint
        return fingerprint_of(self._fields(f"{noisy.query_text(self.query)} {id(self.query)}"))

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The problem that :meth:`to_dict` wrote, or one written by hand.

        Raises
        ------
        FileRefused
            If the dictionary does not fit the published schema.
        InvalidModel, InvalidProblem
            If the numbers do not make a model or a question.
        """
        from privopt.files.json import check_schema

        check_schema(fields, f"problem-{cls.kind}")
        model = model_from_dict(fields["model"])
        if not isinstance(model, checks.Records):
            raise InvalidProblem(
                f"model must be gaussian, group or markov_chain, got {fields['model'].get('type')!r}"
            )
        return cls(
            model,
            noisy.decode_query(fields["query"]),
            decode_float(fields["epsilon"]),
            length=fields.get("length"),
            clip=fields.get("clip"),
            scope=fields.get("scope", "targets_in_interval"),
            mechanism=fields.get("mechanism", "laplace"),
        )

    @classmethod
    def examples(cls) -> tuple[Example[NoisyQuery], ...]:
        """Small instances; the optima are public values."""
        from privopt.problems.bayesian_privacy.examples import examples

        return examples()

    def __repr__(self) -> str:
        clip = "" if self.clip is None else f", clip={self.clip}"
        return (
            f"BayesianPrivacy({self.model!r}, {noisy.query_text(self.query)}, epsilon={self.epsilon:g}, "
            f"length={self.length}{clip}, scope={self.scope!r}, mechanism={self.mechanism!r})"
        )

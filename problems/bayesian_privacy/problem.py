"""Noise on a query of dependent records, as little as Bayesian differential privacy allows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

from privopt.core.certificate import Certificate, Terms, over_set
from privopt.core.problem import FEASIBILITY, Enclosure, Evaluation, Example, Numbers, Problem, fingerprint_of
from privopt.core.words import Quantity, Words
from privopt.errors import InvalidMechanism, InvalidProblem
from privopt.files.numbers import decode_float
from privopt.mechanisms import Mechanism, NoisyQuery, Query
from privopt.mechanisms.noise.noisy_query import decode_query, encode_query, query_text
from privopt.mechanisms.noise.shapes import SHAPES, enclosed_error
from privopt.models import (
    ChainAmbiguity,
    CovarianceAmbiguity,
    GaussianModel,
    GroupModel,
    MarkovChain,
    model_from_dict,
)
from privopt.models.ambiguity.joint import Ambiguity
from privopt.problems.bayesian_privacy import levels
from privopt.problems.bayesian_privacy.certificate import terms
from privopt.problems.bayesian_privacy.data import BayesianPrivacyData
from privopt.problems.bayesian_privacy.fingerprints import MANY, large_fingerprint
from privopt.problems.bayesian_privacy.validation import as_problem
from privopt.problems.chain_sets import chains_within, largest_radius

FIELDS = ("query", "noise", "clip", "length", "states", "scope")
SMALL = 0.01
"""Relative excess of a proved leakage that is taken to be the rounding of the proof."""

NEAR = 1e-5
"""Relative excess of a bound on a leakage that is worth a little noise rather than a better bound."""

ROOM = 2.0**-40
"""Share of epsilon that is left free, so that what another processor reads or proves changes nothing."""

STATED = 1e-9
"""A mechanism may state less than the leakage that is read by this much, relatively: the rounding of bounds."""


@dataclass(frozen=True, init=False, repr=False)
class BayesianPrivacy(BayesianPrivacyData, Problem[NoisyQuery]):
    """The least noise on a query, if no release changes the odds between two values of a record by more than epsilon.

    The adversary knows any set of other records, and how records depend on each other. Leakage is the Bayesian
    differential privacy level of the worst mechanism of the same level tau of differential privacy, or the best bound
    on it. For a count, sum or mean of a chain that is short or forgets it is that of the noisy answer itself; for a sum or
    mean of Gaussian records that of the worst noisy sum of clipped records. The objective is the utility, -E|error| of the noise, the same for all data (of one cell of a
    histogram); values outside ``clip`` count as clipped. Of randomised response on more than 512 records it is the
    standard deviation, a bound on that.

    The family that is searched is one noise of any scale. A larger scale never leaks more. An answer that does not
    read the data counts as noise of infinite scale. States that no record can have are refused at release.

    Source: Lange, Guerra-Balboa, Parra-Arnau, Strufe, "Balancing Privacy and Utility in Correlated Data: A Study of
    Bayesian Differential Privacy".

    Parameters
    ----------
    model : GaussianModel, GroupModel, MarkovChain, ChainAmbiguity or CovarianceAmbiguity
        How records depend on each other. Groups and Gaussian groups are independent copies. Of a set, of chains of two
        states or of covariances, the budget holds for every distribution.
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
    ambiguity : ChainAmbiguity or CovarianceAmbiguity, optional
        The set whose nominal model is ``model``; set where a set is given as the model.

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
    wording: ClassVar[Words] = Words(
        "Add noise to dependent records",
        "Dependent records",
        "How little noise a query needs when records depend on each other.",
    )

    @property
    def judging_seconds(self) -> float:
        """Predicted seconds of judging one mechanism: the leakage of its level is read and proved, the model written."""
        model = self.model
        written = 1.5e-7 * model.size**2 if isinstance(model, GaussianModel) else 0.0
        return written + 3.0 * levels.reading_seconds(self)

    @property
    def budget(self) -> float:
        """Epsilon, in nats."""
        return self.epsilon

    def with_budget(self, budget: float) -> Self:
        """The same problem with another epsilon."""
        return replace(self, epsilon=budget)

    def answer(self, tau: float) -> NoisyQuery:
        """The noisy query of the least scale whose level is at most tau, with the leakage that is read for it."""
        return self._noisy(SHAPES[self.mechanism].scale_for(tau, self.sensitivity))

    def _noisy(self, scale: float) -> NoisyQuery:
        tau = SHAPES[self.mechanism].level(scale, self.sensitivity)
        return NoisyQuery(
            self.query, self.mechanism, scale, tau, self._read(tau), self.scope,
            clip=self.clip, length=self.length, states=self.states, read_columns=self.read_columns,
        )  # fmt: skip

    def _read(self, tau: float) -> float:
        """The leakage that is read for a level."""
        return 0.0 if tau == 0 else levels.reading(self, tau).value

    def check(self, mechanism: Mechanism) -> NoisyQuery:
        """The mechanism, if it answers this query and states no less than the leakage that is read for its tau."""
        if not isinstance(mechanism, NoisyQuery):
            raise InvalidMechanism(
                f"BayesianPrivacy is answered by a NoisyQuery, got {type(mechanism).__name__}"
            )
        ours = (self.query, self.mechanism, self.clip, self.length, self.states, self.scope)
        theirs = (
            mechanism.query, mechanism.noise, mechanism.clip, mechanism.length, mechanism.states, mechanism.scope
        )  # fmt: skip
        for name, own, other in zip(FIELDS, ours, theirs, strict=True):
            if own != other:
                raise InvalidMechanism(f"the problem has {name} {own!r}, the mechanism {other!r}")
        if (
            mechanism.read_columns
            and self.read_columns
            and set(mechanism.read_columns) != set(self.read_columns)
        ):
            raise InvalidMechanism(
                f"the model of the problem was fitted to {self.read_columns}, the mechanism reads {mechanism.read_columns}"
            )
        leakage = self._read(mechanism.tau)
        if mechanism.leakage < leakage * (1 - STATED):
            raise InvalidMechanism(
                f"the mechanism states a leakage of {mechanism.leakage} nats, {leakage} is read for its tau"
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
        return 0.0 - SHAPES[self.mechanism].expected_error(scale, self.length)

    def certify(self, mechanism: NoisyQuery) -> Certificate:
        """Prove the bound on the leakage in rationals and balls, and the level of the noise."""
        stated = self.check(mechanism)
        low, high, method = levels.proved_leakage(self, stated.tau)
        ok = high <= self.epsilon
        least, most = enclosed_error(stated.noise, stated.scale, stated.length)
        who = f"the noisy {stated.name}" if levels.enumerable(self) else "every mechanism"
        reason = (
            f"{who} of level {stated.tau!r} leaks at most {high:.9g}"
            if ok
            else f"the proved bound on the leakage is {high!r} > epsilon = {self.epsilon!r}"
        )
        return self.certificate(
            stated,
            stated.fingerprint,
            ok=ok,
            claim=_CLAIM if self.ambiguity is None else over_set(_CLAIM),
            reason=reason,
            method=f"{method}; noise of scale {stated.scale!r} has at most the level {stated.tau!r}",
            leakage=(low, high),
            utility=(0.0 - most, 0.0 - least),
        )

    def robust_level(self, mechanism: NoisyQuery, ambiguity: Ambiguity) -> Enclosure:
        """Floats around the largest leakage of this one over a set, in nats; at most that of every mechanism of its level.

        See :func:`privopt.measures.robust_level`.
        """
        if not isinstance(ambiguity, (ChainAmbiguity, CovarianceAmbiguity)) or type(
            ambiguity.nominal
        ) is not type(self.model):
            raise InvalidProblem(
                "the distributions of records vary in a ChainAmbiguity or a CovarianceAmbiguity of the kind of the model, "
                f"got {ambiguity!r}"
            )
        over = replace(self, model=ambiguity.nominal, ambiguity=ambiguity)
        return levels.level_enclosure(over, mechanism.tau)

    def neighbourhood(self, radius: Fraction, kind: str) -> Ambiguity:
        """The chains whose rows, forward and backward in time, lie within a radius of those of this stationary one."""
        return chains_within(self._chain(), radius, kind)

    def largest_radius(self, kind: str) -> Fraction:
        """A radius from which on each row may be any distribution of the values that it has."""
        return largest_radius(self._chain(), kind)

    def _chain(self) -> MarkovChain:
        if not isinstance(self.model, MarkovChain):
            raise InvalidProblem(
                "only the rows of a chain have a radius: give a CovarianceAmbiguity to robust_level"
            )
        return self.model

    def terms(self, mechanism: NoisyQuery) -> Terms:
        """What a certificate of this mechanism is about, in plain sentences."""
        return terms(self, mechanism)

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
        excess = self._proved(mechanism.tau) / self.epsilon - 1.0
        larger = scale * (1.0 + 4.0 * max(margin, ROOM, excess if excess < SMALL else 0.0))
        if self.mechanism == "randomised_response" and larger >= 0.5:
            return self.safe()
        return self._noisy(larger)

    def _proved(self, tau: float) -> float:
        """A proved upper bound on the leakage of a level."""
        return levels.proved_leakage(self, tau, NEAR)[1]

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

        See :mod:`privopt.problems.bayesian_privacy.levels`.
        """
        return levels.prove_dual(self, dual)

    def proved_bound_0_1_0(self, dual: object) -> Enclosure | None:
        """What a level proves of noise on any function of the records: version 0.1.0 did not look at the sum."""
        return levels.prove_dual(self, dual, any_query=True)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe dictionary; ``from_dict`` gives an equal problem back.

        Raises
        ------
        InvalidProblem
            If the query is a function, which cannot be written.
        """
        with as_problem():
            return self._fields(encode_query(self.query))

    def _fields(self, query: object) -> dict[str, Any]:
        return {
            "type": self.kind,
            "version": 1 if self.ambiguity is None else 2,
            "model": (self.ambiguity or self.model).to_dict(),
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
        if not isinstance(self.query, Query):
            many = isinstance(self.model, GaussianModel) and self.model.size >= MANY and not self.robust
            return large_fingerprint(self.to_dict()) if many else super().fingerprint
        return fingerprint_of(self._fields(f"{query_text(self.query)} {id(self.query)}"))

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The problem that :meth:`to_dict` wrote, or one written by hand.

        Raises
        ------
        FileRefused
            If the dictionary does not fit the published schema.
        InvalidModel, InvalidProblem
            If the numbers do not make a model or a problem.
        """
        from privopt.files.json import check_schema

        check_schema(fields, f"problem-{cls.kind}")
        model = model_from_dict(fields["model"])
        if not isinstance(
            model, (GaussianModel, GroupModel, MarkovChain, ChainAmbiguity, CovarianceAmbiguity)
        ):
            raise InvalidProblem(
                "model must be gaussian, group, markov_chain, chain_ambiguity or covariance_ambiguity, got "
                f"{fields['model'].get('type')!r}"
            )
        return cls(
            model,
            decode_query(fields["query"]),
            decode_float(fields["epsilon"]),
            length=fields.get("length"),
            clip=fields.get("clip"),
            scope=fields.get("scope", "targets_in_interval"),
            mechanism=fields.get("mechanism", "laplace"),
        )

    def quantity(self) -> Quantity:
        """What the objective measures, as a person says it."""
        return Quantity("mean error", sign=-1, budget="ε")

    @classmethod
    def examples(cls) -> tuple[Example[NoisyQuery], ...]:
        """Small instances, easiest first; the optima are public values."""
        row = GaussianModel([[1, 0.5, 0.25], [0.5, 1, 0.5], [0.25, 0.5, 1]])
        signs = GaussianModel([[1, 0.3, -0.2], [0.3, 1, 0.1], [-0.2, 0.1, 1]])
        pair = GaussianModel([[225, 100.8675], [100.8675, 225]])
        chain = MarkovChain([[0.8, 0.2], [0.3, 0.7]])
        three = MarkovChain([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.2, 0.2, 0.6]])
        swing = MarkovChain([[0.2, 0.8], [0.8, 0.2]])
        return (
            Example("group", cls(GroupModel(3), "sum", 1.5, clip=(0, 1)), -2.0),
            Example("family", cls(row, "sum", 1.0, clip=(40, 160)), -240.0),
            Example("signs", cls(signs, "mean", 1.0, clip=(0, 10), length=10), -1.4, 1e-9),
            Example("pair", cls(pair, "sum", 1.0, clip=(40, 160)), -120 * 1.4483),
            Example("all-reals", cls(row, "sum", 1.5, clip=(0, 1), scope="all_reals"), -2.0),
            Example("any-heights", cls(pair, "sum", 1.0, clip=(40, 160), scope="all_reals"), -240.0),
            Example("long-chain", cls(chain, "count", 1.0), -1 / 0.3306979598, 1e-7),
            Example("short-chain", cls(chain, "count", 1.2544221173, length=5), -2.0, 1e-7),
            Example("discrete", cls(chain, "count", 1.0, mechanism="discrete_laplace")),
            Example("reports", cls(chain, "count", 1.0, length=6, mechanism="randomised_response")),
            Example("swing", cls(swing, "count", 1.0, length=6), -1.0, 1e-7),
            Example("three-states", cls(three, "histogram", 1.3, mechanism="discrete_laplace")),
            Example("chain-interval", cls(ChainAmbiguity.interval(chain, 0.1), "count", 1.0)),
            Example(
                "signs-interval", cls(_near(signs), "mean", 1.0, clip=(0, 10), length=10), -1.6111111111, 1e-9
            ),
        )

    def __repr__(self) -> str:
        clip = "" if self.clip is None else f", clip={self.clip}"
        return (
            f"BayesianPrivacy({self.ambiguity or self.model!r}, {query_text(self.query)}, epsilon={self.epsilon:g}, "
            f"length={self.length}{clip}, scope={self.scope!r}, mechanism={self.mechanism!r})"
        )


_CLAIM = "leakage <= budget"


def _near(model: GaussianModel) -> CovarianceAmbiguity:
    """Covariances within 10 % of those of a model."""
    wide = 0.1 * abs(model.covariance)
    return CovarianceAmbiguity(model.covariance - wide, model.covariance + wide, nominal=model)

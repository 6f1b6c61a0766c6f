"""Pointwise maximal leakage: the most useful release that makes no value of a secret much more likely than before."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike

from privopt.core.certificate import Terms, over_set
from privopt.core.problem import Enclosure, Example, Problem, fingerprint_of
from privopt.core.reformulation import Reformulation
from privopt.core.words import Quantity, Words
from privopt.errors import InvalidProblem
from privopt.files.numbers import encode_float
from privopt.mechanisms import Channel, Mechanism
from privopt.models import JointDistribution, model_from_dict
from privopt.models.ambiguity.joint import Ambiguity, JointAmbiguity
from privopt.models.channel_data import JointOrSet, Release, nominal_of, observation
from privopt.problems import validation as checks
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy


@dataclass(frozen=True)
class PointwiseMaximalLeakage(Reformulation[Release]):
    """How useful a release of X can be while no release makes a value of S more than e^epsilon times as likely as before.

    The leakage of a release y is the largest ln P(s | y) / P(s) over the values s of positive probability: what y lets
    anyone gain who guesses a function of S, at most. That of a mechanism is the largest over its releases. Values may
    become as unlikely as they like; bounding that as well is :class:`LocalInformationPrivacy`, of which this is the
    upper side alone, and whose solvers answer it.

    Source: Saeidian, Cervia, Oechtering, Skoglund, "Pointwise Maximal Leakage" (IEEE Trans. Inf. Theory 2023), for the
    measure; Grosse, Saeidian, Oechtering, "Extremal mechanisms for pointwise maximal leakage" (arXiv 2310.07381), for
    the best release of the secret itself.

    Parameters
    ----------
    joint : JointDistribution, ObservedJoint or JointAmbiguity
        Of the secret S and the useful X; a diagonal table says that X is the secret itself.
    epsilon : float
        In nats, >= 0, may be inf. At ln 1/p or more, for the least probability p of a value of S, all is allowed.
    utility : "mutual_information", matrix or callable
        As for :class:`LocalInformationPrivacy`.

    Raises
    ------
    InvalidProblem
        If an argument is out of its range, with its name.

    Examples
    --------
    >>> problem = PointwiseMaximalLeakage(JointDistribution([[0.3, 0.2], [0.1, 0.4]]), epsilon=0.5)
    >>> reading = problem.evaluate(Channel([[1, 0], [0, 1]]))
    >>> round(reading.leakage, 6), reading.feasible, reading.worst
    (0.405465, True, (0, 0))
    """

    kind: ClassVar[str] = "pointwise_maximal_leakage"
    mechanism_type: ClassVar[type[Mechanism]] = Channel
    target_type: ClassVar[type[Problem[Any]]] = LocalInformationPrivacy
    wording: ClassVar[Words] = Words(
        "Release a column, cap every guess",
        "Cap guesses",
        "How useful a release of X can be when none may make a secret value more than e^ε times as likely.",
    )

    joint: JointOrSet
    epsilon: float
    utility: str | ArrayLike | checks.Cost = field(default=checks.MUTUAL_INFORMATION, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", checks.level(self.epsilon, "epsilon"))
        object.__setattr__(self, "utility", self.target.utility)

    @property
    def target(self) -> LocalInformationPrivacy:
        """The same with ``upper`` at epsilon; where that is inf, at a level that no release reaches."""
        return self._one_sided

    @cached_property
    def _one_sided(self) -> LocalInformationPrivacy:
        level = self.epsilon
        if level == math.inf:
            self._refuse_unbounded()
            leaking = observation(nominal_of(self.joint)).leaking
            n, weights = len(leaking.useful), leaking.exact.weights
            secrets = [sum(weights[i : i + n]) for i in range(0, len(weights), n)]
            level = 1.0 + math.log(leaking.exact.total) - math.log(min(filter(None, secrets)))
        return LocalInformationPrivacy(self.joint, upper=level, utility=self.utility)

    def _refuse_unbounded(self) -> None:
        if isinstance(self.joint, JointAmbiguity):
            raise InvalidProblem(
                "over a set of distributions epsilon must be finite: give a number of nats, such as 5"
            )

    @property
    def budget(self) -> float:
        """Epsilon, in nats."""
        return self.epsilon

    def with_budget(self, budget: float) -> Self:
        """The same problem with another epsilon."""
        return replace(self, epsilon=budget)

    @property
    def claim(self) -> str:
        """A bound on the log-lift from above."""
        bound = f"log-lift <= {self.epsilon:g}"
        if self.robust:
            return over_set(bound)
        return bound if self.epsilon < math.inf else "leakage enclosed, not bounded"

    def where(self, worst: tuple[Hashable, ...], where: str) -> str:
        """Which release raises the probability of which value most."""
        return f"the release {worst[1]!r} raises the probability of {worst[0]!r} most" if worst else ""

    def terms(self, mechanism: Release) -> Terms:
        """What a certificate says beside its numbers."""
        terms = super().terms(mechanism)
        if self.epsilon < math.inf:
            return terms
        return replace(
            terms, kind="utility", statement="nothing is promised about the secret: no bound was asked for"
        )

    def robust_level(self, mechanism: Release, ambiguity: Ambiguity) -> Enclosure:
        """Floats around the largest leakage over a set of joints, in nats."""
        return self.target.robust_level(mechanism, ambiguity)

    def neighbourhood(self, radius: Fraction, kind: str) -> Ambiguity:
        """Joints whose rows P(x | s) lie within a radius of this problem's."""
        return self.target.neighbourhood(radius, kind)

    def largest_radius(self, kind: str) -> Fraction:
        """A radius that allows any rows."""
        return self.target.largest_radius(kind)

    def repeated_leakage(self, mechanism: Release, times: float) -> float:
        """What several releases of the same record leak together, in nats."""
        return self.target.repeated_leakage(mechanism, times)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe dictionary; ``from_dict`` gives an equal problem back.

        Raises
        ------
        InvalidProblem
            If the utility is a function, which cannot be written.
        """
        written = self.target.to_dict()
        return {
            "type": self.kind,
            "version": 1,
            "joint": written["joint"],
            "epsilon": encode_float(self.epsilon),
            "utility": written["utility"],
        }

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical JSON form; a cost that is a function counts as itself, in this process only."""
        if callable(self.utility):
            return fingerprint_of({"type": self.kind, "target": self.target.fingerprint})
        return super().fingerprint

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The problem that :meth:`to_dict` wrote, or one written by hand.

        Raises
        ------
        FileRefused
            If the dictionary does not fit the published schema.
        InvalidModel, InvalidProblem
            If the numbers do not make a joint or a problem.
        """
        read = checks.fields(fields, f"problem-{cls.kind}")
        known = {name: read[name] for name in ("epsilon", "utility") if name in read}
        return cls(model_from_dict(read["joint"]), **known)  # type: ignore[arg-type]  # any other model is refused

    def quantity(self) -> Quantity:
        """What the objective measures, as a person says it."""
        return self.target.quantity()

    @classmethod
    def examples(cls) -> tuple[Example[Release], ...]:
        """Small instances; the optima of releases of the secret itself are closed forms."""

        def itself(*weights: int) -> JointDistribution:
            n = len(weights)
            return JointDistribution.normalised(
                [[weight * (i == j) for j in range(n)] for i, weight in enumerate(weights)]
            )

        small = JointDistribution.normalised([[5, 2, 1], [1, 3, 4]])
        hamming = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
        return (
            Example("binary", cls(itself(3, 1), 0.2), high_privacy((0.75, 0.25), 0.2)),
            Example("uniform", cls(itself(1, 1, 1), 0.3), equally_likely(3, 0.3)),
            Example("identity", cls(itself(1, 1), 0.75), math.log(2)),
            Example("three", cls(itself(5, 3, 2), 0.15), high_privacy((0.5, 0.3, 0.2), 0.15)),
            Example("uniform-hamming", cls(itself(1, 1, 1), 0.3, utility=hamming), math.exp(0.3) / 3 - 1),
            Example("small", cls(small, 0.2)),
            Example("small-hamming", cls(small, 0.2, utility=hamming)),
            Example("nothing", cls(small, 0.0)),
        )

    def __repr__(self) -> str:
        known = (
            self.utility
            if isinstance(self.utility, str)
            else "cost"
            if callable(self.utility)
            else "distortion"
        )
        return f"PointwiseMaximalLeakage({self.joint!r}, epsilon={self.epsilon:g}, utility={known})"


def high_privacy(prior: tuple[float, ...], epsilon: float) -> float:
    """The most information about S itself, of probabilities ``prior``, while e^epsilon (1 - p) <= 1 for each of them.

    Each release y then names a value: its posterior is e^epsilon P on all other values, and what is left on y. These are
    the vertices of what is allowed, a simplex, so that only one mixture of them is P: y has probability P(y).

    Examples
    --------
    >>> round(high_privacy((0.5, 0.5), 0.5), 6), high_privacy((0.5, 0.5), 0.0)
    (0.228431, 0.0)
    """
    r = math.exp(epsilon)
    kept = [(p, 1 - r * (1 - p)) for p in prior]
    return sum(p * (epsilon * r * (1 - p) + (k * math.log(k / p) if k > 0 else 0.0)) for p, k in kept)


def equally_likely(n: int, epsilon: float) -> float:
    """The most information about S itself, uniform on n values: every posterior is full on as many values as fit.

    Examples
    --------
    >>> round(equally_likely(2, 0.5), 6), round(equally_likely(4, math.log(2)), 6), equally_likely(3, 0.0)
    (0.228431, 0.693147, 0.0)
    """
    share = math.exp(epsilon) / n
    full = math.floor(1 / share + 1e-12)
    rest = max(0.0, 1 - full * share)
    return full * share * epsilon + (rest * math.log(n * rest) if rest > 0 else 0.0)

"""Distortion privacy: the least leakage at a bound on distortion, or the least distortion at a bound on leakage."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from privopt.arrays import Floats
from privopt.core.certificate import Certificate, Terms
from privopt.core.problem import Enclosure, Evaluation, Example, Numbers, Problem
from privopt.errors import InvalidMechanism
from privopt.files.labels import Label
from privopt.files.numbers import encode_float
from privopt.mechanisms import Channel, Mechanism
from privopt.models import model_from_dict
from privopt.models.channel_data import Joint, Observation, Release, observation
from privopt.problems.distortion_privacy import validation as checks
from privopt.problems.distortion_privacy.costs import Costs, costs
from privopt.problems.distortion_privacy.leakage import evaluate
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.problems.validation import distortion as read_distortion
from privopt.problems.validation import fields as read_fields
from privopt.problems.validation import joint as read_joint


@dataclass(frozen=True, init=False)
class DistortionPrivacy(Problem[Release]):
    """What a release of X must leak about S to be within an expected distortion of X, or the other way round.

    A channel reads the observation W (X itself for a :class:`JointDistribution`) and releases Y, a column of
    the distortion. With ``max_distortion`` the leakage of S into Y is minimised over E[D(X, Y)] <= max_distortion:
    the objective is minus the leakage. With ``max_leakage`` the expected distortion is minimised over the
    releases that leak at most that: the objective is the utility, -E[D]. Distortion has the unit it is
    given in, leakage is in nats.

    Source: Sadeghi, "Fundamental trade-offs between privacy and utility in data sharing" (CSCIT 2021), the general
    trade-off epsilon*(rho) = inf J(S; Y) subject to D(P_XY) <= rho, and its privacy-centric form rho*(epsilon).

    Parameters
    ----------
    joint : JointDistribution or ObservedJoint
    distortion : matrix, shape (n_x, n_y)
        D[x, y], finite; a row a useful symbol, a column a release.
    max_distortion, max_leakage : float
        Exactly one, which is the budget. ``max_leakage`` in nats, >= 0; both may be inf.
    leakage : {"mutual_information", "sibson", "maximal_leakage", "lip", "ldp"}
        I(S;Y); Sibson's information of order alpha; ln sum_y max_s P(y | s); the largest |log-lift|; the largest
        ln P(y | s) / P(y | t).
    alpha : float
        In (0, inf], for "sibson" only; 1 is mutual information and inf maximal leakage.

    Raises
    ------
    InvalidProblem
        If an argument is out of its range, with its name.

    Examples
    --------
    >>> from privopt.models import JointDistribution
    >>> joint = JointDistribution([[0.4, 0.1], [0.1, 0.4]])
    >>> problem = DistortionPrivacy(joint, [[0, 1], [1, 0]], max_distortion=0.25)
    >>> reading = problem.evaluate(Channel([[0.75, 0.25], [0.25, 0.75]]))
    >>> reading.utility, round(reading.leakage, 6), round(reading.objective, 6), reading.feasible
    (-0.25, 0.045701, -0.045701, True)
    """

    kind: ClassVar[str] = "distortion_privacy"
    mechanism_type: ClassVar[type[Mechanism]] = Channel

    joint: Joint
    distortion: checks.Matrix
    max_distortion: float | None
    max_leakage: float | None
    leakage: str
    alpha: float | None

    def __init__(
        self,
        joint: Joint,
        distortion: ArrayLike,
        *,
        max_distortion: float | None = None,
        max_leakage: float | None = None,
        leakage: str = "mutual_information",
        alpha: float | None = None,
    ) -> None:
        observed = observation(joint)
        read_joint(observed)
        symbols = len(observed.p_x)
        floor, ceiling = checks.bounds(max_distortion, max_leakage)
        measure = checks.leakage(leakage)
        values: dict[str, object] = {
            "joint": joint,
            "distortion": read_distortion(distortion, symbols),
            "max_distortion": floor,
            "max_leakage": ceiling,
            "leakage": measure,
            "alpha": checks.alpha(alpha, measure),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @cached_property
    def observation(self) -> Observation:
        """The laws of (S, W) and of (X, W)."""
        return observation(self.joint)

    @cached_property
    def matrix(self) -> Floats:
        """The distortion D[x, y], shape (n_x, n_y)."""
        return np.array(self.distortion)

    @cached_property
    def costs(self) -> Costs:
        """What each release costs at each observation, in integers."""
        return costs(self.observation, self.distortion)

    @property
    def order(self) -> float | None:
        """The order of Sibson's information that the leakage is, in (0, inf]; None for "lip" and "ldp"."""
        return checks.order(self.leakage, self.alpha)

    @property
    def floor(self) -> Fraction:
        """The bound on the expected distortion as the rational it is; only where it is bounded and finite."""
        return Fraction(self.budget)

    @cached_property
    def magnitude(self) -> float:
        """A power of 2 that brings the largest |D[x, y]| into [1, 2): a unit that suits any distortion."""
        return 2.0 ** (1 - math.frexp(float(np.abs(self.matrix).max()))[1]) if self.matrix.any() else 1.0

    def ratios(self, level: float) -> LocalInformationPrivacy:
        """The question that bounds ratios by a level, "ldp" where that is the leakage, else "lip"; D times scale."""
        notion = "ldp" if self.leakage == "ldp" else "lip"
        return LocalInformationPrivacy(self.joint, level, notion=notion, utility=self.matrix * self.magnitude)

    @property
    def budget(self) -> float:
        """The bound that was given: on the expected distortion, or on the leakage in nats."""
        return float(self.max_distortion if self.max_leakage is None else self.max_leakage)  # type: ignore[arg-type]  # one is given

    def with_budget(self, budget: float) -> Self:
        """The same question with another bound of the same kind."""
        bounds_distortion = self.max_leakage is None
        return type(self)(
            self.joint,
            self.matrix,
            max_distortion=budget if bounds_distortion else None,
            max_leakage=None if bounds_distortion else budget,
            leakage=self.leakage,
            alpha=self.alpha,
        )

    def check(self, mechanism: Mechanism) -> Release:
        """The mechanism, if it reads this problem's symbols and has a release for each column of the distortion."""
        release = self.observation.check(mechanism, type(self).__name__)
        if len(release.outputs) != self.matrix.shape[1]:
            raise InvalidMechanism(
                f"the distortion has {self.matrix.shape[1]} columns, the mechanism {len(release.outputs)} outputs"
            )
        return release

    def answer(self, matrix: object) -> Channel:
        """The channel of this problem's symbols with a given matrix, shape (n_w, n_y); rows may hold Fractions."""
        return Channel(matrix, self.observation.observed)

    def constant(self) -> Channel:
        """The one release for all that costs least: leaks nothing."""
        return self._map((self.costs.constant,) * len(self.observation.observed))

    def reproduction(self) -> Channel:
        """For each observation the release that costs least, the first of equals: no release has less distortion."""
        return self._map(self.costs.reproduction)

    def _map(self, chosen: tuple[int, ...]) -> Channel:
        return self.answer(np.eye(self.matrix.shape[1])[list(chosen)])

    def evaluate(self, mechanism: Release) -> Evaluation:
        """Utility (rounded once from its exact value) and leakage in float64."""
        return evaluate(self, self.check(mechanism))  # pyright: ignore[reportArgumentType] - the link and the folder are two files to it

    def certify(self, mechanism: Release) -> Certificate:
        """Prove the bound from the integer weights, and enclose distortion and leakage."""
        from privopt.problems.distortion_privacy.certificate import certify

        return certify(self, self.check(mechanism))  # pyright: ignore[reportArgumentType] - as above

    def certify_record(self, mechanism: Release, *, old: bool) -> Certificate:
        """As :meth:`certify`; of records of version 0.1.0, symbols of probability 0 are named as not covered."""
        from privopt.problems.distortion_privacy.certificate import certify

        return certify(self, self.check(mechanism), cover=not old)  # pyright: ignore[reportArgumentType] - as above

    def uncovered_symbols(self, mechanism: Release) -> tuple[Label, ...]:
        """Symbols of probability 0 whose rows leak more than the bound, or than all others; they must not be released.

        For averages, which do not see such symbols: those whose rows are further from the distribution of the output
        than that of any value of the secret.
        """
        from privopt.problems.distortion_privacy.certificate import level_of

        release = self.check(mechanism)
        return self.ratios(level_of(self, release)).uncovered_symbols(release)  # pyright: ignore[reportArgumentType] - as above

    def terms(self, mechanism: Release) -> Terms:
        """What a certificate says beside its numbers; of an average, also what a single release may tell."""
        from privopt.problems.distortion_privacy.certificate import terms

        return terms(self, self.check(mechanism))  # pyright: ignore[reportArgumentType] - as above

    def is_worst(self, mechanism: Release, worst: tuple[Hashable, ...], where: str) -> bool | None:
        """Whether the named value of the secret and release leak as much as any pair, in integers; averages name none."""
        from privopt.problems.distortion_privacy.certificate import is_worst

        return is_worst(self, self.check(mechanism), worst)  # pyright: ignore[reportArgumentType] - as above

    def anchor(self) -> Release:
        """The best constant, moved towards the best reproduction where its distortion is too large."""
        constant = self.constant()
        return constant if self.max_leakage is not None else self.repair(constant, 0.0)

    def repair(self, mechanism: Release, margin: float) -> Release:
        """The least mixture that meets the bound: with its own output law, or with the best reproduction."""
        from privopt.problems.distortion_privacy.repair import repair

        return repair(self, self.check(mechanism), margin)  # pyright: ignore[reportArgumentType] - as above

    def objective_of(self, utility: float, leakage: float) -> float:
        """Minus the leakage, or the utility where leakage is bounded."""
        return -leakage if self.max_leakage is None else utility

    def scale(self, solution: Numbers) -> float:
        """The size of the distortion or the leakage: gaps are relative to it."""
        return abs(solution.objective or 0.0)

    def prove_bound(self, dual: object, seconds: float = math.inf) -> Enclosure | None:
        """Floats around the upper bound on the objective that ``dual`` proves, or None.

        See :mod:`privopt.problems.distortion_privacy.bound` for the kinds of proof.
        """
        from privopt.problems.distortion_privacy.bound import prove

        return prove(self, dual)  # pyright: ignore[reportArgumentType] - as above

    def check_infeasible(self, witness: object) -> str | None:
        """That even the best reproduction has too much distortion, in exact arithmetic; the witness only asks."""
        if self.max_leakage is not None or self.budget == math.inf or self.costs.least <= self.floor:
            return None
        return (
            f"even the best reproduction has expected distortion {float(self.costs.least)!r}, "
            f"above max_distortion {self.budget!r}"
        )

    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe dictionary; ``from_dict`` gives an equal problem back."""
        bound = "max_distortion" if self.max_leakage is None else "max_leakage"
        found = {
            "type": self.kind,
            "version": 1,
            "joint": self.joint.to_dict(),
            "distortion": [list(row) for row in self.distortion],
            bound: encode_float(self.budget),
            "leakage": self.leakage,
        }
        return found if self.alpha is None else {**found, "alpha": encode_float(self.alpha)}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The problem that :meth:`to_dict` wrote, or one written by hand.

        Raises
        ------
        FileRefused
            If the dictionary does not fit the published schema.
        InvalidModel, InvalidProblem
            If the numbers do not make a joint or a question.
        """
        given = read_fields(fields, f"problem-{cls.kind}")
        names = ("max_distortion", "max_leakage", "leakage", "alpha")
        known = {name: given[name] for name in names if name in given}
        return cls(model_from_dict(given["joint"]), given["distortion"], **known)  # type: ignore[arg-type]  # any other model is refused at the door

    @classmethod
    def examples(cls) -> tuple[Example[Release], ...]:
        """Small instances; the optima are closed forms."""
        from privopt.problems.distortion_privacy.examples import examples

        return examples()

    def __repr__(self) -> str:
        bound = "max_distortion" if self.max_leakage is None else "max_leakage"
        order = "" if self.alpha is None else f", alpha={self.alpha:g}"
        return f"DistortionPrivacy({self.joint!r}, {bound}={self.budget:g}, leakage={self.leakage!r}{order})"

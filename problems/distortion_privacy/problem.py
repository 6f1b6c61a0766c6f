"""Distortion privacy: the least leakage at a bound on distortion, or the least distortion at a bound on leakage."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from privopt.arrays import Floats
from privopt.core.certificate import Certificate, Terms
from privopt.core.problem import FEASIBILITY, Enclosure, Evaluation, Example, Numbers, Problem
from privopt.core.words import Quantity, Words
from privopt.errors import InvalidMechanism, InvalidProblem
from privopt.files.labels import Label, decode_labels, encode_labels
from privopt.files.numbers import encode_float
from privopt.mechanisms import Channel, Mechanism
from privopt.models import JointDistribution, ObservedJoint, model_from_dict
from privopt.models.ambiguity.joint import Ambiguity, JointAmbiguity
from privopt.models.channel_data import Release
from privopt.problems import validation as checks
from privopt.problems.distortion_privacy import certificate, over_set
from privopt.problems.distortion_privacy.bound import prove
from privopt.problems.distortion_privacy.data import DistortionData
from privopt.problems.distortion_privacy.repair import repair
from privopt.problems.exact_joint import enclose
from privopt.problems.local_information_privacy.certificate import not_covered
from privopt.problems.local_information_privacy.leakage import excesses, log_lifts
from privopt.problems.repeated import check_times, repeated_channel
from privopt.problems.robust import (
    largest_radius,
    robust_level,
    rows_within,
    set_of_joints,
)
from privopt.problems.robust_information import seconds_over_set
from privopt.problems.robust_reading import SetReader
from privopt.problems.validation import fields as read_fields


@dataclass(frozen=True, init=False)
class DistortionPrivacy(DistortionData, Problem[Release]):
    """What a release of X must leak about S to be within an expected distortion of X, or the other way round.

    A channel reads the observation W (X itself for a :class:`JointDistribution`) and releases Y, a column of
    the distortion. With ``max_distortion`` the leakage of S into Y is minimised over E[D(X, Y)] <= max_distortion:
    the objective is minus the leakage. With ``max_leakage`` the expected distortion is minimised over the
    releases that leak at most that: the objective is the utility, -E[D]. Distortion has the unit of its
    matrix, leakage is in nats.

    Source: Sadeghi, "Fundamental trade-offs between privacy and utility in data sharing" (CSCIT 2021), the general
    trade-off epsilon*(rho) = inf J(S; Y) subject to D(P_XY) <= rho, and its privacy-centric form rho*(epsilon).

    Parameters
    ----------
    joint : JointDistribution, ObservedJoint or JointAmbiguity
        With a set of joints the bound holds for every one of them, for every leakage but "sibson".
    distortion : matrix, shape (n_x, n_y), or Distance
        D[x, y], finite; a row a useful symbol, a column a release. A :func:`privopt.distance` is put into the order of
        the useful symbols.
    max_distortion, max_leakage : float
        Exactly one, which is the budget. ``max_leakage`` in nats, >= 0; both may be inf.
    leakage : {"mutual_information", "sibson", "maximal_leakage", "lip", "ldp"}
        I(S;Y); Sibson's information of order alpha; ln sum_y max_s P(y | s); the largest |log-lift|; the largest
        ln P(y | s) / P(y | t).
    alpha : float
        In (0, inf], for "sibson" only; 1 is mutual information and inf maximal leakage.
    outputs : iterable of labels, optional
        Names of the releases, a column of the distortion each. By default the useful symbols where the distortion is
        square, else 0, 1, ...
    unit : str, optional
        What a distortion counts, such as "years"; by default that of the distance.

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
    wording: ClassVar[Words] = Words(
        "Distort least for a leakage",
        "Distortion",
        "How little to distort X for a bounded leakage about S, or how little to leak for a bounded distortion.",
    )

    @property
    def judging_seconds(self) -> float:
        """A product of integer tables, a look at each pair of a secret and a release, and exact costs of all pairs; over a set more of these."""
        outputs, cells = int(self.matrix.shape[1]), int((self.observation.leaking.table > 0).sum())
        pairs = len(self.observation.p_s) * outputs
        secrets = len(self.observation.p_s)
        over = 0.0 if self.ambiguity is None else seconds_over_set(secrets, self.matrix.size)
        return 2e-2 + 1e-5 * pairs + 4e-9 * cells * outputs + 1.5e-6 * self.matrix.size + over

    def with_budget(self, budget: float) -> Self:
        """The same problem with another bound of the same kind."""
        bounds_distortion = self.max_leakage is None
        return type(self)(
            self.joint,
            self.matrix,
            max_distortion=budget if bounds_distortion else None,
            max_leakage=None if bounds_distortion else budget,
            leakage=self.leakage,
            alpha=self.alpha,
            outputs=self.outputs,
            unit=self.unit,
        )

    def check(self, mechanism: Mechanism) -> Release:
        """The mechanism, if it reads this problem's symbols and has a release for each column of the distortion."""
        release = self.observation.check(mechanism, type(self).__name__)
        if len(release.outputs) != self.matrix.shape[1]:
            raise InvalidMechanism(
                f"the distortion has {self.matrix.shape[1]} columns, the mechanism {len(release.outputs)} outputs"
            )
        checks.check_outputs(release, self.outputs)
        return release

    def evaluate(self, mechanism: Release) -> Evaluation:
        """Utility (rounded once from its exact value), leakage and the pair that leaks most in float64."""
        release = self.check(mechanism)
        if self.ambiguity is not None and self.reader is not None:
            return over_set.evaluate(self, self.ambiguity, self.reader, release)
        joint, _ = self.observation.with_release(release)
        leakage, utility = self.leakage_of(joint), -float(self.costs.expected(release)) + 0.0
        if self.max_leakage is None:
            violation, objective = max(0.0, -utility - self.budget), -leakage + 0.0
        else:
            violation, objective = 0.0 if leakage <= self.budget else leakage - self.budget, utility
        feasible = violation <= FEASIBILITY * max(1.0, min(abs(self.budget), 1e6))
        reading = Evaluation(utility, leakage, objective, feasible, violation)
        if leakage == 0:
            return reading
        s, y = np.unravel_index(int(np.argmax(self._shares(joint))), joint.shape)
        worst = (self.observation.leaking.sensitive[s], release.outputs[y])
        return replace(reading, worst=worst, where=f"the release {worst[1]!r} says most about {worst[0]!r}")

    def _shares(self, joint: Floats) -> Floats:
        """How much each pair (s, y) leaks: its ratio, or its share of an average."""
        if self.order is None:
            return excesses(self.ratios(1.0), joint)
        lifts = log_lifts(joint)
        if self.order == math.inf:
            return np.where(joint > 0, lifts, -math.inf)
        shares: Floats = joint * np.where(np.isfinite(lifts), lifts, 0.0)
        return shares

    def certify(self, mechanism: Release) -> Certificate:
        """Prove the bound from the integer weights, and enclose distortion and leakage."""
        return self.certify_record(mechanism, old=False)

    def certify_record(self, mechanism: Release, *, old: bool) -> Certificate:
        """As :meth:`certify`; of records of version 0.1.0, symbols of probability 0 are named as not covered."""
        release = self.check(mechanism)
        distortion, outside = self.costs.expected(release), self.uncovered_symbols(release)
        leak = certificate.leak_of(self, release)
        bounded = distortion
        if self.ambiguity is not None and self.max_leakage is None:
            bounded = over_set.worst_distortion(self, self.ambiguity, release)
        ok, claim, reason = certificate.verdict(self, release, leak, bounded, () if old else outside)
        lo, hi = enclose(distortion)
        proved = self.certificate(
            release,
            release.fingerprint,
            ok=ok,
            claim=claim,
            reason=reason,
            method="exact rationals for the distortion, balls for the leakage",
            leakage=leak.ends,
            utility=(-hi + 0.0, -lo + 0.0),
            worst=leak.worst,
            where=leak.where,
        )
        if not outside or not old:
            return proved
        return replace(proved, uncovered=(*proved.uncovered, not_covered(outside)))

    @cached_property
    def reader(self) -> SetReader | None:
        """The extremes over the set of joints, in floats; None where there is one joint."""
        return None if self.ambiguity is None else SetReader.of(self.ambiguity)

    def uncovered_symbols(self, mechanism: Release) -> tuple[Label, ...]:
        """Symbols of probability 0 whose rows leak more than the bound, or than all others; they must not be released.

        For averages, which do not see such symbols: those whose rows are further from the distribution of the output
        than that of any value of the secret.
        """
        release = self.check(mechanism)
        if (
            not self.observation.unseen or self.ambiguity is not None
        ):  # over a set the ratios themselves cover them
            return ()
        return self.ratios(certificate.level_of(self, release)).uncovered_symbols(release)

    def terms(self, mechanism: Release) -> Terms:
        """What a certificate says beside its numbers; of an average, also what a single release may tell."""
        return certificate.terms(self, self.check(mechanism))

    def is_worst(self, mechanism: Release, worst: tuple[Hashable, ...], where: str) -> bool | None:
        """Whether the named value of the secret and release leak as much as any pair, in integers; averages name none."""
        return certificate.is_worst(self, self.check(mechanism), worst, where)

    def anchor(self) -> Release:
        """The best constant, moved towards the best reproduction where its distortion is too large."""
        constant = self.constant()
        return constant if self.max_leakage is not None else self.repair(constant, 0.0)

    def repair(self, mechanism: Release, margin: float) -> Release:
        """The least mixture that meets the bound: with its own output distribution, or with the best reproduction."""
        return repair(self, self.check(mechanism), margin)

    def objective_of(self, utility: float, leakage: float) -> float:
        """Minus the leakage, or the utility where leakage is bounded."""
        return -leakage if self.max_leakage is None else utility

    def robust_level(self, mechanism: Release, ambiguity: Ambiguity) -> Enclosure:
        """Floats around the largest leakage over a set of joints, in nats; see :func:`privopt.measures.robust_level`."""
        joints = set_of_joints(self.observation, ambiguity)
        if self.leakage in ("lip", "ldp"):
            return robust_level(joints, mechanism, self.leakage)
        if self.leakage not in over_set.AVERAGES:
            raise InvalidProblem(
                f"{self.leakage} over a set of distributions is not known: choose a bound on ratios"
            )
        return over_set.average_over(self, joints, mechanism)

    def neighbourhood(self, radius: Fraction, kind: str) -> Ambiguity:
        """Joints whose rows P(x | s) lie within a radius of this problem's."""
        return rows_within(self.observation, radius, kind)

    def largest_radius(self, kind: str) -> Fraction:
        """A radius that allows any rows."""
        return largest_radius(self.observation, kind)

    def repeated_leakage(self, mechanism: Release, times: float) -> float:
        """What several releases of the same record leak together, in nats."""
        counted = repeated_channel(mechanism, check_times(times))
        return self.leakage_of(self.observation.leaking_distribution(counted))

    def scale(self, solution: Numbers) -> float:
        """The size of the distortion or the leakage: gaps are relative to it."""
        return abs(solution.objective or 0.0)

    def prove_bound(self, dual: object, seconds: float = math.inf) -> Enclosure | None:
        """Floats around the upper bound on the objective that ``dual`` proves, or None.

        See :mod:`privopt.problems.distortion_privacy.bound` for the kinds of proof.
        """
        return prove(self, dual)

    def check_infeasible(self, witness: object) -> str | None:
        """That even the best reproduction has too much distortion, in exact arithmetic; the witness says nothing more."""
        if self.max_leakage is not None or self.budget == math.inf:
            return None
        ambiguity = self.ambiguity
        least = self.costs.least if ambiguity is None else over_set.least_worst(self, ambiguity)
        if least <= self.floor or (ambiguity is not None and not ambiguity.is_rational):
            return None
        where = "" if ambiguity is None else " at some distribution of the set"
        return (
            f"even the best reproduction has expected distortion {float(least)!r}{where}, "
            f"above max_distortion {self.budget!r}{self.in_unit}"
        )

    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe dictionary; ``from_dict`` gives an equal problem back."""
        bound = "max_distortion" if self.max_leakage is None else "max_leakage"
        written = {
            "type": self.kind,
            "version": 1,
            "joint": self.joint.to_dict(),
            "distortion": [list(row) for row in self.distortion],
            bound: encode_float(self.budget),
            "leakage": self.leakage,
        }
        options = {
            "alpha": None if self.alpha is None else encode_float(self.alpha),
            "outputs": None if self.outputs is None else encode_labels(self.outputs),
            "unit": self.unit,
        }
        return {**written, **{name: value for name, value in options.items() if value is not None}}

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
        read = read_fields(fields, f"problem-{cls.kind}")
        names = ("max_distortion", "max_leakage", "leakage", "alpha", "unit")
        known = {name: read[name] for name in names if name in read}
        if "outputs" in read:
            known["outputs"] = decode_labels(read["outputs"], "outputs")
        return cls(model_from_dict(read["joint"]), read["distortion"], **known)  # type: ignore[arg-type]  # any other model is refused

    def quantity(self) -> Quantity:
        """What the objective measures, as a person says it."""
        if self.max_leakage is None:
            return Quantity("leakage", "nats", -1, "cap on the distortion")
        return Quantity("distortion", self.unit or "", -1, "cap on the leakage")

    @classmethod
    def examples(cls) -> tuple[Example[Release], ...]:
        """Small instances; the optima are closed forms."""
        equal = JointDistribution.normalised([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
        small = JointDistribution.normalised([[5, 2, 1], [1, 3, 4]])
        steps = JointDistribution.normalised([[2, 2, 0], [0, 2, 2]])
        hamming = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
        squared = [[0, 1, 4], [1, 0, 1], [4, 1, 0]]
        full = ObservedJoint.full_data(JointDistribution.normalised([[3, 1], [1, 2]]))
        near = JointAmbiguity.total_variation(JointDistribution.normalised([[4, 1], [1, 4]]), Fraction(1, 10))
        return (
            Example("rate", cls(equal, hamming, max_distortion=0.2), -_rate(3, 0.2)),
            Example("distortion-at-rate", cls(equal, hamming, max_leakage=_rate(3, 0.25)), -0.25),
            Example(
                "maximal",
                cls(equal, hamming, max_distortion=0.25, leakage="maximal_leakage"),
                -math.log(2.25),
            ),
            Example(
                "order-two",
                cls(equal, hamming, max_distortion=0.2, leakage="sibson", alpha=2.0),
                -_symmetric(3, 0.2, 2.0),
            ),
            Example("ldp", cls(equal, hamming, max_distortion=0.5, leakage="ldp"), -math.log(2)),
            Example(
                "lip", cls(equal, hamming, max_leakage=0.5, leakage="lip"), -_lip_error(3, math.exp(0.5))
            ),
            Example(
                "set", cls(near, [[0, 1], [1, 0]], max_leakage=0.5, leakage="ldp"), -_near_hamming(0.1, 0.5)
            ),
            Example("set-level", cls(near, [[0, 1], [1, 0]], max_distortion=0.4, leakage="lip")),
            Example("set-average", cls(near, [[0, 1], [1, 0]], max_leakage=0.1)),
            Example("set-maximal", cls(near, [[0, 1], [1, 0]], max_leakage=0.2, leakage="maximal_leakage")),
            Example("nothing-leaks", cls(steps, hamming, max_leakage=0.0), -0.25),
            Example("constant", cls(small, hamming, max_distortion=1.0), 0.0),
            Example("small", cls(small, squared, max_distortion=0.25)),
            Example("full-data", cls(full, [[0, 1], [1, 0]], max_leakage=0.01)),
        )

    def __repr__(self) -> str:
        bound = "max_distortion" if self.max_leakage is None else "max_leakage"
        order = "" if self.alpha is None else f", alpha={self.alpha:g}"
        unit = "" if self.unit is None else f", unit={self.unit!r}"
        return f"DistortionPrivacy({self.joint!r}, {bound}={self.budget:g}, leakage={self.leakage!r}{order}{unit})"


def _rate(n: int, error: float) -> float:
    """Rate of a uniform source at a Hamming error: ln n - h(error) - error ln(n - 1) (Shannon)."""
    h = -error * math.log(error) - (1 - error) * math.log(1 - error)
    return math.log(n) - h - error * math.log(n - 1)


def _symmetric(n: int, error: float, order: float) -> float:
    """Sibson's information of the symmetric channel with that error at a uniform input."""
    inner = ((1 - error) ** order + (n - 1) * (error / (n - 1)) ** order) / n
    return order / (order - 1) * math.log(n * inner ** (1 / order))


def _near_hamming(d: float, epsilon: float) -> float:
    """Least Hamming error for X uniform on 2 where S flips it with a probability of d or more."""
    return (1 / (1 + math.exp(epsilon)) - d) / (1 - 2 * d)


def _lip_error(n: int, r: float) -> float:
    """Least Hamming error for S = X uniform on n and lifts in [1/r, r]."""
    return 1 - min(r, n - (n - 1) / r) / n

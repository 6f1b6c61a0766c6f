"""What the privacy funnel and the information bottleneck share: two informations, one of them bounded or both weighed."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from privopt.core.certificate import Certificate, Terms
from privopt.core.problem import FEASIBILITY, Enclosure, Evaluation, Numbers, Problem, fingerprint_of
from privopt.errors import InvalidMechanism, InvalidProblem
from privopt.files.numbers import encode_float
from privopt.measures.shannon import mutual_information
from privopt.mechanisms import Channel, Mechanism, Merging
from privopt.models import JointDistribution, model_from_dict
from privopt.models.ambiguity.joint import Ambiguity
from privopt.models.channel_data import Release
from privopt.problems import validation as checks
from privopt.problems.repeated import check_times, repeated_channel
from privopt.problems.robust import largest_radius, rows_within, set_of_joints
from privopt.problems.robust_information import most_information_over, seconds_over_set
from privopt.problems.robust_reading import SetReader
from privopt.problems.trade_off import bound, certificate
from privopt.problems.trade_off.data import TradeOffData
from privopt.problems.trade_off.over_set import member_of
from privopt.problems.trade_off.repair import repair


@dataclass(frozen=True, init=False, repr=False)
class TradeOff(TradeOffData, Problem[Release]):
    """A problem about I(S;Y) and I(X;Y) of a release Y of X; see its two kinds."""

    mechanism_type: ClassVar[type[Mechanism]] = Channel

    @property
    def judging_seconds(self) -> float:
        """Balls for each value of S and release, with a release for every other symbol, and for all pairs over a set; 0 below half a second."""
        observed = self.observation
        seen = 1 if observed.useful is None else len(observed.p_x)
        seconds = 4e-6 * len(observed.p_w) * (len(observed.p_s) + seen)
        if self.ambiguity is not None:
            seconds += seconds_over_set(len(observed.p_s), len(observed.p_w) ** 2)
        return seconds if seconds >= 0.5 else 0.0

    def with_budget(self, budget: float) -> Self:
        """The same problem with another bound or weight."""
        options = {"contiguous": True} if self.contiguous else {}
        return type(self)(self.joint, form=self.form, **{self.mode: budget}, **options)  # type: ignore[call-arg]

    def check(self, mechanism: Mechanism) -> Release:
        """The mechanism, if it reads this problem's symbols and is of its form."""
        release = self.observation.check(mechanism, type(self).__name__)
        if self.form == "merging" and not isinstance(release, Merging):
            raise InvalidMechanism(
                'form "merging" is answered by a Merging, got a Channel; ask form="stochastic"'
            )
        return (
            checks.check_contiguous(release, self.shape, type(self).__name__) if self.contiguous else release
        )

    def evaluate(self, mechanism: Release) -> Evaluation:
        """Utility, leakage and objective in float64."""
        utility, leakage = self.readings(self.check(mechanism))
        short = self.budget - utility if self.is_floor else leakage - self.budget if self.is_cap else 0.0
        violation = max(0.0, short if math.isfinite(short) else 0.0)
        feasible = violation <= FEASIBILITY * max(1.0, min(self.budget, 1e6))
        return Evaluation(utility, leakage, self.objective_of(utility, leakage), feasible, violation)

    def certify(self, mechanism: Release) -> Certificate:
        """Prove the bound, and enclose both informations, from the integer weights; the worst release is named."""
        release = self.check(mechanism)
        utility, leakage = certificate.enclosures(self, release)
        ok, claim, reason = certificate.verdict(self, utility, leakage)
        worst, where = certificate.worst_release(self, release)
        return self.certificate(
            release,
            release.fingerprint,
            ok=ok,
            claim=claim,
            reason=reason,
            method="balls from integer weights",
            leakage=leakage,
            utility=utility,
            worst=worst,
            where=where,
        )

    def terms(self, mechanism: Release) -> Terms:
        """What a certificate says and what it does not: averages, with the worst single release beside them."""
        return certificate.terms(self, self.check(mechanism))

    def is_worst(self, mechanism: Release, worst: tuple[Hashable, ...], where: str) -> bool | None:
        """Whether the named value of S and release have the largest |log-lift|, exactly; ties count."""
        return certificate.is_worst(self, self.check(mechanism), worst)

    def anchor(self) -> Release:
        """A mechanism strictly inside the constraint: everything under a floor on utility, else nothing."""
        return self.everything() if self.is_floor else self.nothing()

    def repair(self, mechanism: Release, margin: float) -> Release:
        """The nearest release of the same form that keeps the bound, with a relative margin; of contiguous blocks, the anchor."""
        release = self.check(mechanism)
        if not self.contiguous:
            return repair(self, release, margin)
        inner = self.with_budget(self.budget * (1 + margin if self.is_floor else 1 - margin))
        return release if inner.evaluate(release).feasible else self.anchor()

    def repeated_leakage(self, mechanism: Release, times: float) -> float:
        """The information that several releases of the same record give about the secret together, in nats."""
        counted = repeated_channel(mechanism, check_times(times))
        return mutual_information(self.observation.leaking_distribution(counted))

    def scale(self, solution: Numbers) -> float:
        """What gaps are relative to: a leakage, min(1, utility), or the sizes of both terms that are weighed."""
        return self.magnitude(abs(solution.utility or 0.0), abs(solution.leakage or 0.0))

    def prove_bound(self, dual: object, seconds: float = math.inf) -> Enclosure | None:
        """Floats around the upper bound on the objective that ``dual`` proves, or None.

        Over a set the bounds at its nominal joint hold, and ``{"kind": "member", "pool": ..., "members": ..., "proof": {...}}``: one at
        another joint of it, see :mod:`privopt.problems.trade_off.over_set`.
        """
        if self.ambiguity is None:
            return bound.prove_bound(self, dual, seconds)
        if not isinstance(dual, dict) or dual.get("kind") != "member":
            return bound.prove_bound(self.at_nominal(self.budget), dual, seconds)
        try:
            member = member_of(self.ambiguity, dual)
            return None if member is None else bound.prove_bound(self.at(member), dual.get("proof"), seconds)
        except (ValueError, TypeError, LookupError):
            return None

    def by_channels(self) -> Self:
        """The same bound or weight for any channel: what is proved of its optimum holds for mergings, which are channels."""
        return type(self)(self.joint, **{self.mode: self.budget})  # type: ignore[call-arg]

    def at_nominal(self, budget: float) -> Self:
        """The problem at the nominal joint of its set, under a budget; what keeps a cap over the set keeps it there."""
        return type(self)(self.nominal, form=self.form, **{self.mode: budget})  # type: ignore[call-arg]

    def at(self, joint: JointDistribution) -> Self:
        """The problem at one joint of its set."""
        return type(self)(joint, form=self.form, **{self.mode: self.budget})  # type: ignore[call-arg]

    def robust_level(self, mechanism: Release, ambiguity: Ambiguity) -> Enclosure:
        """Floats around the largest I(S;Y) over a set of joints, in nats; see :func:`privopt.measures.robust_level`."""
        if not self.is_funnel:
            raise InvalidProblem(
                "a rate I(X;Y) over a set of distributions is not known: use PrivacyFunnel, which bounds I(S;Y)"
            )
        joints = set_of_joints(self.observation, ambiguity)
        return most_information_over(joints, SetReader.of(joints), mechanism)

    def neighbourhood(self, radius: Fraction, kind: str) -> Ambiguity:
        """Joints whose rows P(x | s) lie within a radius of this problem's."""
        return rows_within(self.observation, radius, kind)

    def largest_radius(self, kind: str) -> Fraction:
        """A radius that allows any rows."""
        return largest_radius(self.observation, kind)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe dictionary; ``from_dict`` gives an equal problem back."""
        written = {
            "type": self.kind,
            "version": 1,
            "joint": self.joint.to_dict(),
            self.mode: encode_float(self.budget),
            "form": self.form,
        }
        return {**written, "contiguous": True} if self.contiguous else written

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical JSON form; orders and hierarchies count where blocks must be contiguous."""
        if self.contiguous:
            return fingerprint_of({**self.to_dict(), "shape": self.shape.to_dict()})
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
        options = {
            name: read[name] for name in (*cls.modes, "form", "theta_fraction", "contiguous") if name in read
        }
        return cls(model_from_dict(read["joint"]), **options)  # type: ignore[call-arg]

    def __repr__(self) -> str:
        extra = ", contiguous=True" if self.contiguous else ""
        return (
            f"{type(self).__name__}({self.joint!r}, {self.mode}={self.budget:g}, form={self.form!r}{extra})"
        )

"""Local information privacy: the most useful release whose posteriors of a secret stay near its prior."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from privopt.core.certificate import Certificate, Terms
from privopt.core.certificate import over_set as claim_over_set
from privopt.core.problem import Enclosure, Evaluation, Example, Numbers, Problem, fingerprint_of
from privopt.core.words import Quantity, Words
from privopt.errors import InvalidMechanism, InvalidProblem
from privopt.files.labels import Label, decode_labels, encode_labels
from privopt.files.numbers import encode_float
from privopt.mechanisms import Channel, Mechanism, Merging
from privopt.models import model_from_dict
from privopt.models.ambiguity.joint import Ambiguity
from privopt.models.channel_data import Release
from privopt.problems import validation as checks
from privopt.problems.exact_joint import leaking_joint
from privopt.problems.local_information_privacy import by_value, divergences, over_set, per_release
from privopt.problems.local_information_privacy import certificate as proofs
from privopt.problems.local_information_privacy.bound import prove
from privopt.problems.local_information_privacy.data import LocalInformationPrivacyData
from privopt.problems.local_information_privacy.examples import examples
from privopt.problems.local_information_privacy.leakage import evaluate, leakage_of
from privopt.problems.local_information_privacy.repair import repair
from privopt.problems.repeated import check_times, repeated_channel
from privopt.problems.robust import largest_radius, robust_level, rows_within, set_of_joints
from privopt.problems.robust_reading import SetReader

EXACT_DIVERGENCE = "integers against the rational bound; balls of logarithms for an average"
"""How a bound on a divergence is proved."""

WITHHELD = "withheld"
"""The only symbol of a release that says nothing."""


@dataclass(frozen=True, init=False)
class LocalInformationPrivacy(LocalInformationPrivacyData, Problem[Release]):
    """How useful a release of X can be while no release shifts the odds of a value of S by more than the budget.

    A channel reads the observation W (X itself for a :class:`JointDistribution`) and releases Y. The
    bounds are -lower <= ln P(s, y) / (P(s) P(y)) <= upper for every s and y ("lip"), or
    P(y | s) <= e^epsilon P(y | t) for all s, t ("ldp"). With delta > 0 the pairs (s, y) that break the
    bounds may have probability delta in all, counted over every release. Leakage is the least level
    t such that pairs beyond t on the bounded sides have probability at most delta.

    Source: Sadeghi, "Fundamental trade-offs between privacy and utility in data sharing" (CSCIT 2021): local information privacy, optimal release from the
    vertices of the posterior polytope, the watchdog and its delta-relaxation.

    Parameters
    ----------
    joint : JointDistribution, ObservedJoint or JointAmbiguity
        With a set of joints the bounds hold for every one of them, and utilities are read at its nominal one. With delta > 0 a
        pair counts at every joint if it breaks its bound at some.
    epsilon : float, optional
        Sets both bounds, in nats, >= 0, may be inf. With a notion that names a divergence, the bound on it: nats for
        "average", plain numbers for "l1" and "chi2".
    lower, upper : float, sequence or mapping, optional
        One bound each, in nats, >= 0; the one left out is inf. A sequence has one for each value of S, in their order; a
        mapping names values of S, and the others are not bounded.
    delta : float
        In [0, 1]; for "lip" only.
    notion : {"lip", "ldp", "l1", "chi2", "average"}
        The last three bound one number of every release y, how far it moves the distribution of S:
        sum_s |P(s|y) - P(s)|, sum_s (P(s|y) - P(s))^2 / P(s), or sum_s P(s|y) ln P(s|y) / P(s).
    utility : "mutual_information", matrix or callable
        I(X;Y) in nats; or a distortion D[x, y] with a row a useful symbol and a column a release,
        which makes the utility -E[D(X, Y)]; or a concave cost of the posterior P(x | y), an array
        (n_x,), which makes it -E[cost].
    outputs : iterable of labels, optional
        Names of the releases, a column of the distortion each. By default the useful symbols where the distortion is
        square, else 0, 1, ...
    contiguous : bool
        Answer by a merging whose blocks hold what lies between their symbols: intervals of ordered columns, nodes of
        hierarchies, boxes of several; see :mod:`privopt.models.generalisation`.

    Raises
    ------
    InvalidProblem
        If an argument is out of its range, with its name.

    Examples
    --------
    >>> from privopt.models import JointDistribution
    >>> joint = JointDistribution([[0.3, 0.2], [0.1, 0.4]])
    >>> problem = LocalInformationPrivacy(joint, epsilon=0.5)
    >>> reading = problem.evaluate(Channel([[1, 0], [0, 1]]))
    >>> round(reading.leakage, 6), reading.feasible, reading.worst
    (0.693147, False, (1, 0))
    """

    kind: ClassVar[str] = "local_information_privacy"
    mechanism_type: ClassVar[type[Mechanism]] = Channel
    wording: ClassVar[Words] = Words(
        "Release a column, guard a secret",
        "Guard a secret",
        "How useful a release of X can be when none may shift the odds of a secret S by more than e^ε.",
    )

    @property
    def epsilon(self) -> float:
        """The larger of the finite bounds, the budget."""
        return self.budget

    @property
    def judging_seconds(self) -> float:
        """Every value of the secret against every release of a merging, of which there may be as many as symbols; 0 if few.

        For a distortion the exact costs of every symbol and release, too; over a set of joints the extremes of each release.
        """
        secrets, symbols = len(self.observation.p_s), len(self.observation.observed)
        releases = len(self.utility[0]) if isinstance(self.utility, tuple) else 0
        seconds = symbols * (1e-5 + 6e-6 * secrets + 1e-6 * releases)
        if self.robust:
            seconds += 1.3e-6 * secrets * symbols * (secrets + symbols) + 2e-6 * symbols**2
        return seconds if seconds > 0.05 else 0.0

    def with_budget(self, budget: float) -> Self:
        """The same problem with the larger finite bound at ``budget``, and a smaller one in proportion."""
        new = checks.level(budget, "budget")
        old = self.budget
        if self.measured:
            return self._with(epsilon=new)
        if self.per_value is not None:
            return self._with_largest(self.per_value, new)

        def moved(side: float) -> float | None:
            if side == math.inf and old < math.inf:
                return None
            return new if side == old or old == 0 else side * (new / old)

        return self._with(lower=moved(self.lower), upper=moved(self.upper))

    def _with_largest(self, each: by_value.Levels, largest: float) -> Self:
        """Bounds by value in proportion; at 0 or inf all that were finite are so."""
        old = self.budget
        factor = largest / old if 0 < old and 0 < largest < math.inf else None
        lower, upper = (
            [b if b == math.inf else b * factor if factor is not None else largest for b in side]
            for side in zip(*each, strict=True)
        )
        return self._with(lower=lower, upper=upper)

    def _with(
        self,
        *,
        epsilon: by_value.Bounds | None = None,
        lower: by_value.Bounds | None = None,
        upper: by_value.Bounds | None = None,
    ) -> Self:
        """The same problem with other bounds."""
        return type(self)(
            self.joint,
            epsilon,
            lower=lower,
            upper=upper,
            delta=self.delta,
            notion=self.notion,
            utility=self.utility,
            outputs=self.outputs,
            contiguous=self.contiguous,
        )

    @property
    def measured(self) -> bool:
        """Whether the bound is on a divergence of every release."""
        return self.notion in divergences.NOTIONS

    @property
    def leakage_unit(self) -> str:
        """Nats, but nothing for the l1-norm and chi-squared, which are plain numbers."""
        return divergences.unit(self.notion)

    def check(self, mechanism: Mechanism) -> Release:
        """The mechanism, if it reads this problem's symbols and releases what the utility expects."""
        release = self.observation.check(mechanism, type(self).__name__)
        if self.matrix is not None and len(release.outputs) != self.matrix.shape[1]:
            raise InvalidMechanism(
                f"the distortion has {self.matrix.shape[1]} columns, the mechanism {len(release.outputs)} outputs"
            )
        checks.check_outputs(release, self.outputs)
        return (
            checks.check_contiguous(release, self.shape, type(self).__name__) if self.contiguous else release
        )

    def evaluate(self, mechanism: Release) -> Evaluation:
        """Utility, leakage and the worst pair (s, y) in float64."""
        release, reader = self.check(mechanism), self.reader
        if self.measured:
            return per_release.evaluate(self, release)
        return evaluate(self, release) if reader is None else over_set.evaluate(self, reader, release)

    def certify(self, mechanism: Release) -> Certificate:
        """Prove the bounds from the integer weights: exact lifts against balls of e^budget.

        Rows of symbols of probability 0 must keep them as well: their ratios to the distribution of the output (for
        "ldp" to every row of the secret's) lie within the bounds.
        """
        return self.certify_record(mechanism, old=False)

    def certify_record(self, mechanism: Release, *, old: bool) -> Certificate:
        """As :meth:`certify`; of records of version 0.1.0, symbols of probability 0 are named as not covered.

        Where no side is bounded those records count no side, a leakage of 0: their certificate says so, and what it is.
        """
        release = self.check(mechanism)
        verdict = self.verdict(release, cover=not old)
        certificate = self.certificate(
            release,
            release.fingerprint,
            ok=verdict.ok,
            claim=self._claim(),
            reason=verdict.reason,
            method=EXACT_DIVERGENCE if self.measured else "integer lifts against balls of e^budget",
            leakage=verdict.leakage,
            utility=proofs.utility_enclosure(self, release),
            worst=verdict.worst,
            where=verdict.where,
        )
        uncovered = (*certificate.uncovered, *verdict.uncovered)
        if old and self.unbounded and self.notion == "lip":
            note = (
                "the leakage of both sides: version 0.1.0 counted bounded ones only, of which there are none; the largest "
                f"|log-lift| is in [{verdict.leakage[0]!r}, {verdict.leakage[1]!r}]"
            )
            return replace(certificate, leakage=(0.0, 0.0), worst=(), where="", uncovered=(*uncovered, note))
        return replace(certificate, uncovered=uncovered)

    def verdict(self, mechanism: Release, *, cover: bool = True) -> proofs.Verdict:
        """What integers say of a release, without its utility; with ``cover`` rows of symbols of probability 0 must keep the bounds."""
        release, ambiguity = self.check(mechanism), self.ambiguity
        if self.measured:
            return per_release.certify(self, release)
        if ambiguity is None:
            return proofs.certify(self, release, cover=cover)
        return over_set.certify(self, ambiguity, release)

    def _claim(self) -> str:
        """What a certificate claims, in a formula."""
        if self.measured:
            return per_release.claim(self)
        return proofs.claim(self) if self.ambiguity is None else claim_over_set(proofs.claim(self))

    @cached_property
    def reader(self) -> SetReader | None:
        """The extremes over the set of joints, in floats; None where there is one joint."""
        return None if self.ambiguity is None else SetReader.of(self.ambiguity)

    def uncovered_symbols(self, mechanism: Release) -> tuple[Label, ...]:
        """Symbols of probability 0 whose rows break the bounds; they must not be released."""
        release = self.check(mechanism)
        joint = leaking_joint(self.observation, release)
        if self.measured:
            return per_release.unlike_average(self, release, joint)
        return proofs.uncovered_symbols(self, release, joint)

    def terms(self, mechanism: Release) -> Terms:
        """What a certificate says beside its numbers."""
        plain = proofs.terms(self)
        if self.measured:
            return per_release.terms(self, plain)
        return plain if self.ambiguity is None else over_set.terms(plain, self.ambiguity)

    def is_worst(self, mechanism: Release, worst: tuple[Hashable, ...], where: str) -> bool | None:
        """Whether the named value of the secret and release leak as much as any pair, in integers."""
        release = self.check(mechanism)
        if self.measured:
            return per_release.is_worst(self, release, worst)
        if self.ambiguity is not None:
            return over_set.is_worst(self, self.ambiguity, release, worst)
        return proofs.is_worst(self, release, worst)

    def safe(self) -> Release:
        """One release for all: says nothing. With a distortion, the best constant column."""
        if self.contiguous:
            return Merging([self.observation.observed], self.observation.observed)
        n = len(self.observation.observed)
        if self.matrix is None:
            return Channel(np.ones((n, 1)), self.observation.observed, [WITHHELD])
        best = int(np.argmin(self.observation.p_x @ self.matrix))
        return self.answer(np.tile(np.eye(self.matrix.shape[1])[best], (n, 1)))

    def answer(self, matrix: object) -> Channel:
        """The channel of this problem's symbols with a given matrix, shape (n_w, n_y); rows may hold Fractions."""
        return Channel(matrix, self.observation.observed, self.outputs)

    def anchor(self) -> Release:
        """A mechanism strictly inside the constraint: the one that says nothing."""
        return self.safe()

    def repair(self, mechanism: Release, margin: float) -> Release:
        """The mechanism mixed with its own output distribution by the least weight that keeps the bounds times (1 - margin).

        Of contiguous blocks there are no mixtures: one block of everything where the bounds are not kept.
        """
        release = self.check(mechanism)
        if self.measured and not self.contiguous:
            return per_release.repair(self, release, margin)
        if self.ambiguity is not None and self.reader is not None:
            return over_set.repair(self, self.ambiguity, self.reader, release, margin)
        if not self.contiguous:
            return repair(self, release, margin)
        return (
            release
            if self.with_budget(self.budget * (1 - margin)).evaluate(release).feasible
            else self.safe()
        )

    def robust_level(self, mechanism: Release, ambiguity: Ambiguity) -> Enclosure:
        """Floats around the largest leakage over a set of joints, in nats; see :func:`privopt.measures.robust_level`."""
        if self.measured or self.per_value is not None:
            raise InvalidProblem(
                "over a set of distributions the leakage is known for one bound on all lifts: give a number, and "
                'notion="lip" or "ldp"'
            )
        below, above = over_set.sides(self)
        joints = set_of_joints(self.observation, ambiguity)
        if self.delta:
            return over_set.level_beyond(self, joints, mechanism)
        return robust_level(joints, mechanism, self.notion, below=below, above=above)

    def neighbourhood(self, radius: Fraction, kind: str) -> Ambiguity:
        """Joints whose rows P(x | s) lie within a radius of this problem's."""
        return rows_within(self.observation, radius, kind)

    def largest_radius(self, kind: str) -> Fraction:
        """A radius that allows any rows."""
        return largest_radius(self.observation, kind)

    def repeated_leakage(self, mechanism: Release, times: float) -> float:
        """What several releases of the same record leak together, in nats."""
        read = per_release.leakage_of if self.measured else leakage_of
        return read(self, repeated_channel(mechanism, check_times(times)))

    def scale(self, solution: Numbers) -> float:
        """Gaps are relative to an expected distortion or cost; to min(1, utility) for mutual information."""
        size = abs(solution.objective or 0.0)
        return min(1.0, size) if self.utility == "mutual_information" else size

    def prove_bound(self, dual: object, seconds: float = math.inf) -> Enclosure | None:
        """Floats around the upper bound on utility that ``dual`` proves, or None.

        See :mod:`privopt.problems.local_information_privacy.bound` for the kinds of proof.
        """
        return prove(self, dual, seconds)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe dictionary; ``from_dict`` gives an equal problem back.

        Raises
        ------
        InvalidProblem
            If the utility is a function, which cannot be written.
        """
        if callable(self.utility):
            raise InvalidProblem(
                "a cost that is a function cannot be written to a file; solve and certify it in this process"
            )
        utility = self.utility if isinstance(self.utility, str) else [list(row) for row in self.utility]
        return {**self._fields(), "utility": utility}

    def _fields(self) -> dict[str, Any]:
        written = {
            "type": self.kind,
            "version": 1,
            "joint": self.joint.to_dict(),
            **self._bounds(),
            "delta": self.delta,
            "notion": self.notion,
        }
        if self.contiguous:
            written["contiguous"] = True
        return written if self.outputs is None else {**written, "outputs": encode_labels(self.outputs)}

    def _bounds(self) -> dict[str, Any]:
        """The bounds as they stand in a file."""
        if self.measured:
            return {"epsilon": encode_float(self.divergence)}
        if self.per_value is not None:
            return by_value.written(self.per_value)
        return {"lower": encode_float(self.lower), "upper": encode_float(self.upper)}

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical JSON form; a cost that is a function counts as itself, in this process only.

        Orders and hierarchies count where blocks must be contiguous.
        """
        if self.contiguous:
            return fingerprint_of({**self.to_dict(), "shape": self.shape.to_dict()})
        if self.cost is None:
            return super().fingerprint
        return fingerprint_of({**self._fields(), "utility": f"function {id(self.cost)}"})

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The problem that :meth:`to_dict` wrote, or one written by hand ("epsilon" may stand for both bounds).

        Raises
        ------
        FileRefused
            If the dictionary does not fit the published schema.
        InvalidModel, InvalidProblem
            If the numbers do not make a joint or a problem.
        """
        checked = checks.fields(fields, f"problem-{cls.kind}")
        joint = model_from_dict(checked["joint"])
        names = ("epsilon", "lower", "upper", "delta", "notion", "utility", "contiguous")
        known = {name: checked[name] for name in names if name in checked}
        if "outputs" in checked:
            known["outputs"] = decode_labels(checked["outputs"], "outputs")
        return cls(joint, **known)  # type: ignore[arg-type]  # argument validation refuses any other model

    def quantity(self) -> Quantity:
        """What the objective measures, as a person says it."""
        if isinstance(self.utility, str):
            return Quantity("information released", "nats", budget="ε")
        return Quantity("expected cost" if callable(self.utility) else "distortion", sign=-1, budget="ε")

    @classmethod
    def examples(cls) -> tuple[Example[Release], ...]:
        """Small instances; the optima are public values or exact."""
        return examples(cls)

    def __repr__(self) -> str:
        sides = f"epsilon={self.budget:g}"
        if self.per_value is not None:
            lower, upper = ([f"{b:g}" for b in side] for side in zip(*self.per_value, strict=True))
            sides = f"lower=({', '.join(lower)}), upper=({', '.join(upper)})"
        elif self.lower != self.upper:
            sides = f"lower={self.lower:g}, upper={self.upper:g}"
        shown = (
            self.utility
            if isinstance(self.utility, str)
            else "cost"
            if callable(self.utility)
            else "distortion"
        )
        extra = "" if self.delta == 0 else f", delta={self.delta:g}"
        extra += ", contiguous=True" if self.contiguous else ""
        return f"LocalInformationPrivacy({self.joint!r}, {sides}{extra}, notion={self.notion!r}, utility={shown})"

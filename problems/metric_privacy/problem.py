"""Metric privacy: the nearer two points, the less may a release set them apart."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from privopt.core.certificate import Certificate, Terms
from privopt.core.problem import Enclosure, Evaluation, Example, Numbers, Problem
from privopt.core.words import Quantity, Words, per
from privopt.errors import InvalidMechanism, InvalidModel, InvalidProblem
from privopt.files.json import check_schema
from privopt.files.labels import Labels, decode_labels, encode_labels
from privopt.files.numbers import decode_float, encode_float
from privopt.files.text import number
from privopt.mechanisms import Channel, Mechanism
from privopt.models.codec import decode_numbers, encode_number
from privopt.models.metric import Metric
from privopt.problems.metric_privacy import certificate as judgement
from privopt.problems.metric_privacy.bound import check_dual
from privopt.problems.metric_privacy.data import MetricData
from privopt.problems.metric_privacy.examples import examples
from privopt.problems.metric_privacy.repair import repair
from privopt.problems.validation import check_outputs


@dataclass(frozen=True, init=False, eq=False)
class MetricPrivacy(MetricData, Problem[Channel]):
    """The least expected loss of a released point, if no release sets two points apart by more than epsilon times their distance.

    A channel M reads a point x and releases an output y. It keeps the promise if
    M[x, y] <= e^(epsilon d(x, x')) M[x', y] for all outputs y and all points x, x' at most ``radius`` apart. Where a
    chain of such pairs joins two points, the promise adds up along it; across components nothing is promised. Leakage
    is the largest |ln M[x, y] / M[x', y]| / d(x, x'), in nats per unit of distance. The objective is the utility,
    -E[loss].

    Source: Chatzikokolakis, Andrés, Bordenabe, Palamidessi, "Broadening the scope of differential privacy using
    metrics", and Bordenabe, Chatzikokolakis, Palamidessi, "Optimal geo-indistinguishable mechanisms for location
    privacy".

    Parameters
    ----------
    metric : Metric, or symmetric matrix, shape (n, n)
        Distances between the points; see :class:`Metric`.
    prior : n floats or Fractions, or a mapping from points to them, in which those that are left out have 0
        How likely each point is; a sum of 1 within 1e-9. It counts in the utility only: the promise needs no prior.
    loss : "distance", "squared", array (n, m), or function
        Of a point and a release: their distance or its square, or a table. A function takes points (n, 1, k) and outputs
        (1, m, k), as coordinates where there are any and else as positions, and returns (n, m).
    epsilon : float
        Nats per unit of distance, >= 0, may be inf.
    outputs : labels of points, or Metric, optional
        What may be released: all points by default. A metric of the same kind gives places elsewhere, such as a finer grid.
    radius : float, optional
        Only points at most so far apart are promised anything; None for all.

    Raises
    ------
    InvalidProblem
        If an argument is out of its range, with its name.

    Examples
    --------
    >>> import math
    >>> problem = MetricPrivacy(Metric.line(2), [0.5, 0.5], "distance", math.log(3))
    >>> reading = problem.evaluate(Channel([[0.75, 0.25], [0.25, 0.75]]))
    >>> round(reading.utility, 6), round(reading.leakage, 6), reading.worst
    (-0.25, 1.098612, (0, 1))
    """

    kind: ClassVar[str] = "metric_privacy"
    mechanism_type: ClassVar[type[Mechanism]] = Channel
    wording: ClassVar[Words] = Words(
        "Release places near the true ones",
        "Places",
        "What to release of a place so that near places stay alike, at the least loss.",
    )

    @property
    def budget(self) -> float:
        """Epsilon, in nats per unit of distance."""
        return self.epsilon

    def with_budget(self, budget: float) -> Self:
        """The same problem with another epsilon."""
        outputs = self.outputs if self.places is None else self._output_metric()
        return type(self)(self.metric, self.prior, self.loss, budget, outputs=outputs, radius=self.radius)

    @property
    def judging_seconds(self) -> float:
        """Passes over pairs and releases, and one logarithm for each probability."""
        cells = len(self.metric) * len(self.released)
        return 2e-5 * cells + 2e-8 * len(self.pairs) * len(self.released)

    @property
    def leakage_unit(self) -> str:
        """Nats per unit of distance."""
        return per(self.metric.unit)

    def check(self, mechanism: Mechanism) -> Channel:
        """The mechanism, if it is a channel from these points to these outputs."""
        if not isinstance(mechanism, Channel):
            raise InvalidMechanism(f"MetricPrivacy is answered by a Channel, got {type(mechanism).__name__}")
        if mechanism.inputs != self.metric.labels:
            raise InvalidMechanism("the inputs of the channel must be the points, in their order")
        if len(mechanism.outputs) != len(self.released):
            raise InvalidMechanism(
                f"there are {len(self.released)} outputs, the mechanism has {len(mechanism.outputs)}"
            )
        check_outputs(mechanism, self.released)
        return mechanism

    def answer(self, matrix: object) -> Channel:
        """The channel of these points and outputs with a given matrix, shape (n, m)."""
        return Channel(matrix, self.metric.labels, self.released)

    @property
    def release_labels(self) -> Labels | None:
        """The outputs."""
        return self.released

    def evaluate(self, mechanism: Channel) -> Evaluation:
        """Utility, leakage and the worst pair of points in float64."""
        return judgement.evaluate(self, self.check(mechanism))

    def certify(self, mechanism: Channel) -> Certificate:
        """Prove the promise for every pair, from the integer weights."""
        channel = self.check(mechanism)
        exact = judgement.ExactChannel(self, channel)
        verdict = judgement.certify(exact)
        return self.certificate(
            channel,
            channel.fingerprint,
            ok=verdict.ok,
            claim="leakage per unit of distance <= budget",
            reason=verdict.reason,
            method="logarithms in fixed point, rounded outward, and exact ratios where these do not decide",
            leakage=verdict.leakage,
            utility=judgement.utility_enclosure(exact),
            worst=verdict.worst,
            where=verdict.where,
        )

    def terms(self, mechanism: Channel) -> Terms:
        """What a certificate of this channel is about, in plain sentences."""
        across: tuple[str, ...] = ()
        if self.component_count > 1:
            across = (
                f"points of different components: there are {self.component_count}, and nothing is promised across them",
            )
        far = (
            ()
            if self.radius is None
            else (
                f"points more than {number(self.radius)} {self.metric.unit}".rstrip()
                + " apart, but through chains of nearer points, along which the promise adds up",
            )
        )
        return Terms(
            kind="privacy",
            statement=judgement.promise(self),
            assumption="the point may follow any distribution: the prior of the problem counts in the expected loss only",
            adversary="anyone who sees the release and knows the channel, whatever they know of the point besides",
            unit=f"release of one point, {number(self.epsilon)} {self.leakage_unit}",
            uncovered=(
                *across,
                *far,
                "several releases of the same point, or of points of one journey: their budgets add up",
            ),
        )

    def is_worst(self, mechanism: Channel, worst: tuple[Hashable, ...], where: str) -> bool | None:
        """Whether the named pair of points leaks as much as any for its distance."""
        return judgement.leaks_most(judgement.ExactChannel(self, self.check(mechanism)), worst)

    def constant(self) -> Channel:
        """The one release for all points that costs least: leaks nothing."""
        matrix = np.zeros(self.losses.shape)
        matrix[:, self.cheapest] = 1.0
        return self.answer(matrix)

    def anchor(self) -> Channel:
        """The best constant release."""
        return self.constant()

    def repair(self, mechanism: Channel, margin: float) -> Channel:
        """The channel with every pair kept at epsilon (1 - margin).

        See :mod:`privopt.problems.metric_privacy.repair`.
        """
        channel = self.check(mechanism)
        if self.epsilon == math.inf and not (self.pairs.distance == 0).any():
            return channel
        mended = repair(self, channel, margin)
        return self.constant() if mended is None else mended

    def repeated_leakage(self, mechanism: Channel, times: float) -> float:
        """What several releases of the same point leak together, in nats per unit of distance."""
        return times * self.evaluate(mechanism).leakage

    def scale(self, solution: Numbers) -> float:
        """The size of the expected loss: gaps are relative to it."""
        return abs(solution.objective or 0.0)

    def prove_bound(self, dual: object, seconds: float = math.inf) -> Enclosure | None:
        """The upper bound on utility that ``dual`` proves, or None.

        See :mod:`privopt.problems.metric_privacy.bound` for the proof.
        """
        return check_dual(self, dual)

    def _output_metric(self) -> Metric:
        """The places of the outputs, if they are elsewhere."""
        assert self.places is not None
        build = {
            "euclidean": Metric.euclidean,
            "manhattan": Metric.manhattan,
            "great_circle": Metric.great_circle,
        }[self.metric.kind]
        return build(self.places, self.outputs, unit=self.metric.unit)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe dictionary; ``from_dict`` gives an equal problem back."""
        outputs: object = None
        if self.places is not None:
            outputs = self._output_metric().to_dict()
        elif self.outputs is not None:
            outputs = encode_labels(self.outputs)
        return {
            "type": self.kind,
            "version": 1,
            "metric": self.metric.to_dict(),
            "prior": [encode_number(p) for p in self.prior],
            "loss": self.loss if isinstance(self.loss, str) else self.loss.tolist(),
            "epsilon": encode_float(self.epsilon),
            "outputs": outputs,
            "radius": self.radius,
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The problem that :meth:`to_dict` wrote, or one written by hand.

        Raises
        ------
        FileRefused
            If the dictionary does not fit the published schema.
        InvalidModel, InvalidProblem
            If the numbers do not make a metric or a problem.
        """
        check_schema(fields, f"problem-{cls.kind}")
        outputs = fields.get("outputs")
        named = Metric.from_dict(outputs) if isinstance(outputs, Mapping) else outputs
        try:
            metric = Metric.from_dict(fields["metric"])
        except InvalidModel as cause:
            raise InvalidProblem(str(cause)) from cause
        return cls(
            metric,
            decode_numbers(fields["prior"], "prior", 1),  # type: ignore[arg-type]  # numbers, as it checked
            fields["loss"],
            decode_float(fields["epsilon"]),
            outputs=decode_labels(named, "outputs") if isinstance(named, list) else named,
            radius=fields.get("radius"),
        )

    def quantity(self) -> Quantity:
        """What the objective measures, as a person says it."""
        unit = self.metric.unit if isinstance(self.loss, str) and self.loss == "distance" else ""
        return Quantity("loss", unit=unit, sign=-1, budget="ε")

    @classmethod
    def examples(cls) -> tuple[Example[Channel], ...]:
        """Small instances; some optima are closed forms."""
        return examples(cls)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MetricPrivacy) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        loss = self.loss if isinstance(self.loss, str) else "table"
        radius = "" if self.radius is None else f", radius={self.radius:g}"
        return (
            f"MetricPrivacy({len(self.metric)} points, {len(self.released)} outputs, epsilon={self.epsilon:g}, "
            f"loss={loss!r}{radius})"
        )

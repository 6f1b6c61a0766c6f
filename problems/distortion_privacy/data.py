"""Distortion and leakage as data: the declared fields, each argument checked, and what follows from them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from privopt.arrays import Floats
from privopt.errors import InvalidProblem
from privopt.files.labels import Label, Labels
from privopt.files.numbers import decode_float
from privopt.measures.shannon import mutual_information
from privopt.measures.sibson import sibson_mutual_information
from privopt.mechanisms import Channel
from privopt.models.ambiguity.joint import JointAmbiguity
from privopt.models.channel_data import JointOrSet, Observation, Release, nominal_of, observation
from privopt.models.distance import Distance
from privopt.problems import validation as checks
from privopt.problems.costs import Costs, costs
from privopt.problems.exact_joint import ExactJoint, Pair, leaking_joint, worst_log_lift
from privopt.problems.local_information_privacy.leakage import excesses
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy

ORDERS = {"mutual_information": 1.0, "maximal_leakage": math.inf}
"""Sibson's information of these orders has a name of its own."""

LONGEST = 60
"""Characters of the name of a unit."""

LEAKAGES = ("mutual_information", "sibson", "maximal_leakage", "lip", "ldp")

OVER_SETS = ("mutual_information", "lip", "ldp", "maximal_leakage")
"""Of these the largest over a set of joints is known, or at least a bound on it."""


@dataclass(frozen=True)
class Exact:
    """The exact distribution of the secret and a release."""

    release: Release
    joint: ExactJoint

    @cached_property
    def worst(self) -> tuple[tuple[float, float], Pair]:
        """Floats around the largest |log-lift|, and the pair that reaches it."""
        return worst_log_lift(self.joint)


@dataclass(frozen=True, init=False)
class DistortionData:
    """The fields of a problem on distortion and leakage: what bounds, certificates, repairs and solvers are made from."""

    joint: JointOrSet
    distortion: checks.Matrix
    max_distortion: float | None
    max_leakage: float | None
    leakage: str
    alpha: float | None
    outputs: Labels | None
    unit: str | None

    def __init__(
        self,
        joint: JointOrSet,
        distortion: ArrayLike | Distance,
        *,
        max_distortion: float | None = None,
        max_leakage: float | None = None,
        leakage: str = "mutual_information",
        alpha: float | None = None,
        outputs: Iterable[Label] | None = None,
        unit: str | None = None,
    ) -> None:
        observed = observation(nominal_of(joint))
        checks.joint(observed)
        if leakage not in LEAKAGES:
            raise InvalidProblem(f"leakage must be one of {', '.join(LEAKAGES)}, got {leakage!r}")
        if (max_distortion is None) == (max_leakage is None):
            raise InvalidProblem("give exactly one of max_distortion and max_leakage: the other is optimised")
        table = checks.placed(distortion, observed.values, joint.columns)
        if unit is None and isinstance(table, Distance):
            unit = table.unit
        matrix = checks.distortion(table, len(observed.p_x))
        values: dict[str, object] = {
            "joint": joint,
            "distortion": matrix,
            "max_distortion": None if max_distortion is None else _largest_distortion(max_distortion),
            "max_leakage": None if max_leakage is None else checks.level(max_leakage, "max_leakage"),
            "leakage": leakage,
            "alpha": _alpha(alpha, leakage),
            "outputs": checks.outputs(outputs, len(matrix[0])),
            "unit": _unit(unit),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        if self.ambiguity is not None and leakage not in OVER_SETS:
            raise InvalidProblem(
                f"the leakage {leakage!r} is not known over a set of distributions: choose {', '.join(map(repr, OVER_SETS))}, or "
                "give .nominal"
            )

    @property
    def ambiguity(self) -> JointAmbiguity | None:
        """The set of joints for which the bound must hold, if there is one."""
        return self.joint if isinstance(self.joint, JointAmbiguity) else None

    @property
    def robust(self) -> bool:
        """Whether the bound must hold for every joint of a set."""
        return self.ambiguity is not None

    @cached_property
    def observation(self) -> Observation:
        """The distributions of (S, W) and of (X, W)."""
        return observation(nominal_of(self.joint))

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
        return ORDERS.get(self.leakage, self.alpha)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Values of S, values that are observed, and releases."""
        return len(self.observation.p_s), len(self.observation.p_w), len(self.distortion[0])

    @property
    def release_labels(self) -> Labels | None:
        """The names given to the columns of the distortion, or the useful symbols where it is square; None otherwise."""
        return self.outputs or self.observation.release_labels(self.matrix)

    @property
    def budget(self) -> float:
        """The bound: on the expected distortion, or on the leakage in nats."""
        return float(self.max_distortion if self.max_leakage is None else self.max_leakage)  # type: ignore[arg-type]  # one is a number

    @property
    def cap(self) -> float:
        """The most leakage on average that counts as within the budget: read outward by its last digit, and claims say so.

        An average is no float, so one that is given as a cap is rounded. Nothing and 0 are exact, and so are bounds on ratios.
        """
        exact = self.order is None or self.ambiguity is not None or self.budget in (0.0, math.inf)
        return self.budget if exact else math.nextafter(self.budget, math.inf)

    @property
    def floor(self) -> Fraction:
        """The bound on the expected distortion as the rational it is; only where it is bounded and finite."""
        return Fraction(self.budget)

    @cached_property
    def magnitude(self) -> float:
        """A power of 2 that brings the largest |D[x, y]| into [1, 2): a unit that suits any distortion."""
        return 2.0 ** (1 - math.frexp(float(np.abs(self.matrix).max()))[1]) if self.matrix.any() else 1.0

    @property
    def weights(self) -> list[list[int]]:
        """Integer weights of (S, W), a row a value of S."""
        leaking = self.observation.leaking
        n, weights = len(leaking.useful), leaking.exact.weights
        return [list(weights[i : i + n]) for i in range(0, len(weights), n)]

    def ratios(self, level: float) -> LocalInformationPrivacy:
        """The problem that bounds ratios by a level, "ldp" where that is the leakage, else "lip"; D times magnitude."""
        if level not in self._ratios:
            notion, scaled = "ldp" if self.leakage == "ldp" else "lip", self.matrix * self.magnitude
            self._ratios.clear()  # one is used many times, and each holds the matrix
            self._ratios[level] = LocalInformationPrivacy(self.joint, level, notion=notion, utility=scaled)
        return self._ratios[level]

    @cached_property
    def _ratios(self) -> dict[float, LocalInformationPrivacy]:
        return {}

    def leakage_of(self, joint: Floats) -> float:
        """The leakage of a release with this distribution of (S, Y), in nats; may be inf."""
        if self.order is None:
            return float(excesses(self.ratios(1.0), joint).max(initial=0.0))
        return float(
            mutual_information(joint) if self.order == 1 else sibson_mutual_information(joint, self.order)
        )

    @cached_property
    def _last(self) -> list[Exact]:
        return []

    def exact(self, release: Release) -> Exact:
        """What integers say of a release; that of the last one is kept, as a certificate looks at it several times."""
        if not (self._last and self._last[0].release is release):
            self._last[:] = [Exact(release, leaking_joint(self.observation, release))]
        return self._last[0]

    def answer(self, matrix: object) -> Channel:
        """The channel of this problem's symbols with a matrix of shape (n_w, n_y); rows may hold Fractions."""
        return Channel(matrix, self.observation.observed, self.outputs)

    @property
    def in_unit(self) -> str:
        """The unit of the distortion, as it is written after a number."""
        return "" if self.unit is None else f" {self.unit}"

    def constant(self) -> Channel:
        """The one release for all that costs least: leaks nothing."""
        return self._map((self.costs.constant,) * len(self.observation.observed))

    def reproduction(self) -> Channel:
        """For each observation the release that costs least, the first of equals: no release has less distortion."""
        return self._map(self.costs.reproduction)

    def _map(self, chosen: tuple[int, ...]) -> Channel:
        return self.answer(np.eye(self.matrix.shape[1])[list(chosen)])


def _alpha(alpha: object, measure: str) -> float | None:
    """The order of Sibson's information, in (0, inf]; None for the other measures."""
    if measure != "sibson":
        if alpha is not None:
            raise InvalidProblem(f'alpha is the order of leakage="sibson"; leave it out for {measure!r}')
        return None
    if alpha is None:
        raise InvalidProblem('leakage="sibson" needs its order: give alpha > 0, perhaps inf')
    value = _number(alpha, "alpha", "a number > 0, perhaps inf")
    if not value > 0:
        raise InvalidProblem(f"alpha must be > 0, got {value}")
    return value


def _unit(unit: object) -> str | None:
    """The name of what a distortion counts."""
    if unit is not None and (not isinstance(unit, str) or not unit.strip() or len(unit) > LONGEST):
        raise InvalidProblem(f"unit must be a short name such as 'years', got {unit!r}")
    return unit


def _largest_distortion(bound: object) -> float:
    value = _number(bound, "max_distortion", "a number in the unit of the distortion, perhaps inf")
    if value == -math.inf:
        raise InvalidProblem("max_distortion must not be -inf: no release reaches it")
    return value + 0.0


def _number(value: object, name: str, what: str) -> float:
    try:
        return decode_float(value.item() if isinstance(value, np.generic) else value)
    except ValueError as cause:
        raise InvalidProblem(f"{name} must be {what}: {cause}") from cause

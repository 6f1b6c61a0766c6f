"""What a problem of local information privacy declares, with what follows from it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from privopt.arrays import Floats
from privopt.errors import InvalidProblem
from privopt.files.labels import Label, Labels
from privopt.models.ambiguity.joint import JointAmbiguity
from privopt.models.channel_data import Joint, JointOrSet, Observation, nominal_of, observation
from privopt.models.distance import Distance
from privopt.models.generalisation import Generalisation
from privopt.problems import validation as checks
from privopt.problems.classes import classes_of, joint_of_classes
from privopt.problems.costs import Costs, costs
from privopt.problems.local_information_privacy import by_value, divergences
from privopt.problems.local_information_privacy.polytope import ULPS, Cut, Polytope, polytope, rounded_exp

LARGEST = 1e300
"""Products that may be larger are not made."""


@dataclass(frozen=True, init=False)
class LocalInformationPrivacyData:
    """The declared fields of :class:`LocalInformationPrivacy`, which judges by them, and what follows from them."""

    joint: JointOrSet
    lower: float
    upper: float
    delta: float
    notion: str
    utility: checks.Utility
    outputs: Labels | None
    contiguous: bool
    per_value: by_value.Levels | None
    """(lower, upper) of each value of the secret, where they differ; ``lower`` and ``upper`` are then the largest."""
    divergence: float
    """The bound on the divergence of a release where the notion names one, else inf."""
    beyond: frozenset[str]
    """What is asked beyond two bounds on all lifts, in words."""
    _cuts: ClassVar[tuple[Cut, ...]] = ()
    """Further rows of the posteriors; only of what :meth:`relaxed` makes."""
    _free: ClassVar[frozenset[int]] = frozenset()
    """Secrets whose bounds need not be kept; only of what :meth:`without` makes."""

    def __init__(
        self,
        joint: JointOrSet,
        epsilon: by_value.Bounds | None = None,
        *,
        lower: by_value.Bounds | None = None,
        upper: by_value.Bounds | None = None,
        delta: float = 0.0,
        notion: str = "lip",
        utility: str | ArrayLike | checks.Cost | Distance = checks.MUTUAL_INFORMATION,
        outputs: Iterable[Label] | None = None,
        contiguous: bool = False,
    ) -> None:
        nominal = nominal_of(joint)
        observed = observation(nominal)
        secrets = observed.leaking.sensitive
        low, high, each = by_value.levels(epsilon, lower, upper, secrets, divergences.unit(notion))
        name = checks.notion(notion, low, high, (*checks.NOTIONS, *divergences.NOTIONS))
        bound = math.inf
        if name in divergences.NOTIONS:  # at 0 the release is independent of the secret, whatever is measured
            bound, low, high = high, *((0.0, 0.0) if high == 0 else (math.inf, math.inf))
        value = checks.utility(checks.placed(utility, observed.values, joint.columns), len(observed.p_x))
        columns = len(value[0]) if isinstance(value, tuple) else None
        if not isinstance(value, tuple):  # informations divide by probabilities
            checks.joint(observed)
        fields: dict[str, object] = {
            "joint": joint,
            "lower": low,
            "upper": high,
            "delta": checks.delta(delta, name),
            "notion": name,
            "utility": value,
            "outputs": checks.outputs(outputs, columns),
            "contiguous": contiguous,
            "per_value": each,
            "divergence": bound,
            "beyond": _beyond(name, each, bound, int((observed.p_s > 0).sum())),
        }
        _check_beyond(fields)
        for field, entry in fields.items():
            object.__setattr__(self, field, entry)
        if isinstance(joint, JointAmbiguity):
            _check_set(fields)
        if contiguous and not isinstance(value, str):
            raise InvalidProblem(
                'contiguous blocks say as much as they can: leave utility at "mutual_information"'
            )
        checks.contiguous(contiguous, nominal)

    @property
    def nominal(self) -> Joint:
        """The joint by which utilities are read."""
        return nominal_of(self.joint)

    @property
    def ambiguity(self) -> JointAmbiguity | None:
        """The set of joints for which the bounds must hold, if there is one."""
        return self.joint if isinstance(self.joint, JointAmbiguity) else None

    @property
    def robust(self) -> bool:
        """Whether the bounds must hold for every joint of a set."""
        return self.ambiguity is not None

    @cached_property
    def shape(self) -> Generalisation:
        """The orders and hierarchies that contiguous blocks keep to."""
        return checks.shape_of(self.nominal)

    @cached_property
    def observation(self) -> Observation:
        """The distributions of (S, W) and of (X, W)."""
        return observation(self.nominal)

    @cached_property
    def polytope(self) -> Polytope:
        """The posteriors that a release may have, in integers."""
        sides = ("lip", math.inf, math.inf) if self.beyond else (self.notion, self.lower, self.upper)
        return polytope(self.observation, sides, (*self.further_rows, *self._cuts), self._free)

    @cached_property
    def costs(self) -> Costs | None:
        """What each release costs at each observation, in integers, where the utility is a distortion."""
        return costs(self.observation, self.utility) if isinstance(self.utility, tuple) else None

    @cached_property
    def table(self) -> tuple[tuple[int, ...], ...]:
        """Weights of (S, W), a row a value of S."""
        n, weights = len(self.observation.observed), self.observation.leaking.exact.weights
        return tuple(tuple(weights[i : i + n]) for i in range(0, len(weights), n))

    @cached_property
    def further_rows(self) -> tuple[Cut, ...]:
        """Rows of the posteriors where not two bounds on all lifts make them; of a curved set those around it."""
        if self.per_value is not None:
            return by_value.rows(self.table, self.per_value)
        if not self.beyond:
            return ()
        values = len([row for row in self.table if any(row)])
        return tuple(map(self.cut, divergences.first_directions(self.notion, values)))

    def cut(self, along: Sequence[int]) -> Cut:
        """The row of the posteriors that a direction makes, an entry for each possible value of the secret, under a divergence."""
        return divergences.cut(self.notion, along, self._possible, self.divergence)

    @cached_property
    def _possible(self) -> Polytope:
        """The weights alone: the rows are what is made of them."""
        return polytope(self.observation, ("lip", math.inf, math.inf))

    def levels(self, s: int) -> tuple[float, float]:
        """(lower, upper) of a value of the secret."""
        return (self.lower, self.upper) if self.per_value is None else self.per_value[s]

    @cached_property
    def sides(self) -> tuple[Floats, Floats]:
        """Lower and upper bounds of the values of the secret, two columns; of one row where they are the same for all."""
        both = np.array([(self.lower, self.upper)] if self.per_value is None else self.per_value)
        return both[:, :1], both[:, 1:]

    def relaxed(self, cuts: tuple[Cut, ...]) -> Self:
        """The problem at the nominal joint, whose posteriors keep further rows that other joints of the set demand.

        Whatever keeps the bounds for every joint of the set is allowed by it, so that its bounds are bounds of this one.
        """
        free = bool(self.beyond)
        made = type(self)(
            self.nominal,
            lower=math.inf if free else self._side(self.lower),
            upper=math.inf if free else self._side(self.upper),
            notion="ldp" if self.notion == "ldp" else "lip",
            utility=self.utility,
            outputs=self.outputs,
        )
        object.__setattr__(made, "_cuts", (*self.further_rows, *cuts))
        return made

    def alone(self, joint: Joint | None = None) -> Self:
        """The problem at one joint, the nominal one if none is given, with its delta; at another one without its utility."""
        return type(self)(
            self.nominal if joint is None else joint,
            lower=self._side(self.lower),
            upper=self._side(self.upper),
            delta=self.delta,
            notion=self.notion,
            utility=np.zeros((len(observation(joint).p_x), 1)) if joint is not None else self.utility,
            outputs=self.outputs if joint is None else None,
        )

    def without(self, free: frozenset[int]) -> Self:
        """The problem of one distribution with delta = 0 that keeps no bounds of some secrets, by their row of the polytope's table."""
        made = self.relaxed(())
        object.__setattr__(made, "_free", free)
        return made

    @cached_property
    def alike(self) -> tuple[int, ...]:
        """For each observation of positive probability the number of its class: those with the same posterior of the secret."""
        return classes_of(self.observation)

    @cached_property
    def of_classes(self) -> Self | None:
        """The same problem about the classes of :attr:`alike`; None where the utility is not what is said about W, or other bounds are asked.

        A release says of the class as much as it may in this problem, and within the class at most all, H(W | class): that is
        what its utility is at most beyond that of this problem. It is reached if every release names a symbol of each class.
        """
        plain = self.utility == checks.MUTUAL_INFORMATION and self.observation.useful is None
        plain = plain and not (self.contiguous or self.robust or self.beyond or self._cuts or self._free)
        if not plain or self.per_value is not None:
            return None
        return type(self)(
            joint_of_classes(self.observation, self.alike),
            lower=self._side(self.lower),
            upper=self._side(self.upper),
            delta=self.delta,
            notion=self.notion,
        )

    def _side(self, level: float) -> float | None:
        return None if level == math.inf and self.budget < math.inf else level

    @property
    def cost(self) -> checks.Cost | None:
        """The user's cost of a posterior, if that is the utility."""
        return self.utility if callable(self.utility) else None

    @cached_property
    def matrix(self) -> Floats | None:
        """The distortion D[x, y], if that is the utility."""
        return np.array(self.utility) if isinstance(self.utility, tuple) else None

    @property
    def sizes(self) -> tuple[int, ...]:
        """Values of S, values that are observed, and releases where a distortion names them."""
        columns = (len(self.utility[0]),) if isinstance(self.utility, tuple) else ()
        return len(self.observation.p_s), len(self.observation.p_w), *columns

    @property
    def release_labels(self) -> Labels | None:
        """The names given to the columns of a distortion, or the useful symbols where it is square; None otherwise."""
        return self.outputs or self.observation.release_labels(self.matrix)

    @property
    def budget(self) -> float:
        """The largest of the finite bounds, in nats, or that on the divergence; inf if there is none."""
        if self.notion in divergences.NOTIONS:
            return self.divergence
        every = ((self.lower, self.upper),) if self.per_value is None else self.per_value
        return max((b for both in every for b in both if b < math.inf), default=math.inf)

    @property
    def unbounded(self) -> bool:
        """Whether no side has a bound."""
        return self.budget == math.inf


FURTHER_ROWS = "bounds on lifts other than one from below and one from above"
CURVED = "a bound on a divergence of every release"


def _beyond(notion: str, each: by_value.Levels | None, bound: float, values: int) -> frozenset[str]:
    """What the bounds ask beyond two on all lifts, of a secret with so many possible values."""
    if each is not None:
        return frozenset({FURTHER_ROWS})
    if not 0 < bound < math.inf:
        return frozenset()
    return frozenset({FURTHER_ROWS if divergences.complete(notion, values) else CURVED})


def _check_beyond(fields: Mapping[str, object]) -> None:
    """Refuse what has no form beside bounds by value, or on a divergence."""
    named = fields["notion"] in divergences.NOTIONS
    if fields["per_value"] is not None and fields["notion"] != "lip":
        raise InvalidProblem(
            f'bounds by value are for notion="lip", not {fields["notion"]!r}: give one epsilon'
        )
    if fields["per_value"] is None and not named:
        return
    asked, goes, are = ("bounds by value", "do", "are")
    if named:
        asked, goes, are = (f"notion={fields['notion']!r}", "does", "is")
    if fields["delta"]:
        raise InvalidProblem(f"{asked} {goes} not go with delta > 0: leave one of them out")
    if isinstance(fields["joint"], JointAmbiguity):
        raise InvalidProblem(f"{asked} {are} for one distribution: give .nominal, or one bound on all lifts")


def _check_set(fields: Mapping[str, object]) -> None:
    """Refuse what has no form that holds for every joint of a set."""
    if callable(fields["utility"]):
        raise InvalidProblem(
            "a cost of the posterior is not minimised over a set of distributions: use mutual information or a distortion matrix"
        )
    if fields["contiguous"]:
        raise InvalidProblem(
            "contiguous blocks are not sought over a set of distributions: leave contiguous out, or give .nominal and judge the "
            "answer by measures.robust_level"
        )


def posterior_rows(data: LocalInformationPrivacyData) -> Floats:
    """G in floats, shape (rows, n_w), without rows that no posterior can break; columns of probability 0 are kept.

    Rounded outwards: the polytope holds every allowed posterior up to errors of the last places in G.
    """
    return _rows(data)[list(data.polytope.kept)]


def alignments(data: LocalInformationPrivacyData) -> list[tuple[int, ...]]:
    """Which rows the numbers in a dual may stand for: those kept, and those that the floats of version 0.1.0 kept.

    They differ where a row is idle by rounding only. Whichever is meant, multipliers >= 0 prove something true.
    """
    kept, rows = data.polytope.kept, _rows(data)[:, data.observation.support]
    once = tuple(np.flatnonzero((rows > 0).any(axis=1)).tolist())
    return [kept] if once == kept else [kept, once]


def _rows(data: LocalInformationPrivacyData) -> Floats:
    """All rows of G, in the order of their names in the polytope."""
    observed = data.observation
    seen = observed.p_s > 0
    posteriors, prior = observed.s_given_w[seen], observed.p_s[seen][:, None]
    _, lower, upper = data.polytope.sides
    if not data.polytope.names:
        return np.zeros((0, posteriors.shape[1]))
    further = data.polytope.further(observed.p_w)
    if data.notion == "ldp":
        lifts = lifts_of(posteriors, prior)
        pairs = data.polytope.names[: len(data.polytope.names) - len(further)]
        first, second = [s for s, _ in pairs], [t for _, t in pairs]
        return np.concatenate([above(lifts[first], lifts[second], rounded_exp(data.budget)), further])
    parts = []
    if upper < math.inf:
        parts.append(posteriors - rounded_exp(upper) * prior)
    if lower < math.inf:
        least = math.exp(-lower) * (1.0 - ULPS * 2.0**-53 * (lower > 0))
        parts.append(least * prior - posteriors)
    return np.concatenate([*parts, further])


def above(first: Floats, second: Floats, ratio: float) -> Floats:
    """By how much the first exceed the second times a ratio, shapes that broadcast; divided by it where that is infinite.

    Examples
    --------
    >>> above(np.array([3.0]), np.array([1.0]), 2.0), above(np.array([0.0]), np.array([1e300]), 1e300)
    (array([1.]), array([-1.e+300]))
    """
    if float(second.max(initial=0.0)) > LARGEST / ratio:
        return first / ratio - second
    return first - ratio * second


def lifts_of(posteriors: Floats, prior: Floats) -> Floats:
    """P(s | w) / P(s), all times one number where a prior is so small that they would be infinite.

    Examples
    --------
    >>> lifts_of(np.array([[0.5], [0.5]]), np.array([[0.25], [0.75]])).round(3)
    array([[2.   ],
           [0.667]])
    """
    with np.errstate(over="ignore"):
        lifts = posteriors / prior
    return lifts if np.isfinite(lifts).all() else posteriors * (prior.min() / prior)

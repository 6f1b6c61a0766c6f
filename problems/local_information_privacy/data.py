"""What a problem of local information privacy declares, with what follows from it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from privopt.arrays import Floats
from privopt.errors import InvalidProblem
from privopt.files.labels import Label, Labels
from privopt.models.channel_data import Joint, Observation, observation
from privopt.models.distance import Distance
from privopt.models.generalisation import Generalisation
from privopt.problems import validation as checks
from privopt.problems.local_information_privacy.polytope import ULPS, Polytope, polytope, rounded_exp


@dataclass(frozen=True, init=False)
class LocalInformationPrivacyData:
    """The declared fields of :class:`LocalInformationPrivacy`, which judges by them, and what follows from them."""

    joint: Joint
    lower: float
    upper: float
    delta: float
    notion: str
    utility: checks.Utility
    outputs: Labels | None
    contiguous: bool

    def __init__(
        self,
        joint: Joint,
        epsilon: float | None = None,
        *,
        lower: float | None = None,
        upper: float | None = None,
        delta: float = 0.0,
        notion: str = "lip",
        utility: str | ArrayLike | checks.Cost | Distance = checks.MUTUAL_INFORMATION,
        outputs: Iterable[Label] | None = None,
        contiguous: bool = False,
    ) -> None:
        observed = observation(joint)
        low, high = checks.levels(epsilon, lower, upper)
        name = checks.notion(notion, low, high)
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
        }
        for field, entry in fields.items():
            object.__setattr__(self, field, entry)
        if contiguous and not isinstance(value, str):
            raise InvalidProblem(
                'contiguous blocks say as much as they can: leave utility at "mutual_information"'
            )
        checks.contiguous(contiguous, joint)

    @cached_property
    def shape(self) -> Generalisation:
        """The orders and hierarchies that contiguous blocks keep to."""
        return checks.shape_of(self.joint)

    @cached_property
    def observation(self) -> Observation:
        """The distributions of (S, W) and of (X, W)."""
        return observation(self.joint)

    @cached_property
    def polytope(self) -> Polytope:
        """The posteriors that a release may have, in integers."""
        return polytope(self.observation, (self.notion, self.lower, self.upper))

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
        """The larger of the finite bounds, in nats; inf if there is none."""
        return max((b for b in (self.lower, self.upper) if b < math.inf), default=math.inf)

    @property
    def unbounded(self) -> bool:
        """Whether no side has a bound."""
        return self.lower == self.upper == math.inf


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
    if not data.polytope.names:
        return np.zeros((0, posteriors.shape[1]))
    if data.notion == "ldp":
        lifts, (first, second) = posteriors / prior, np.array(data.polytope.names).T
        return np.asarray(lifts[first] - rounded_exp(data.budget) * lifts[second])
    parts = []
    if data.upper < math.inf:
        parts.append(posteriors - rounded_exp(data.upper) * prior)
    if data.lower < math.inf:
        least = math.exp(-data.lower) * (1.0 - ULPS * 2.0**-53 * (data.lower > 0))
        parts.append(least * prior - posteriors)
    return np.concatenate(parts)

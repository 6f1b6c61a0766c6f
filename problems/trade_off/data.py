"""A trade-off between two informations as data: the declared fields, what follows from them, and the releases made of them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from privopt.core.problem import Enclosure
from privopt.errors import InvalidProblem
from privopt.mechanisms import Channel, Merging
from privopt.models.ambiguity.joint import JointAmbiguity
from privopt.models.channel_data import Joint, JointOrSet, Observation, Release, nominal_of, observation
from privopt.models.generalisation import Generalisation
from privopt.problems import validation as checks
from privopt.problems.classes import classes_of, joint_of_classes, within_classes
from privopt.problems.exact_joint import enclose
from privopt.problems.robust_information import read
from privopt.problems.robust_reading import SetReader
from privopt.problems.trade_off.information import (
    entropies,
    informations,
    most_information,
    secret_information,
)

FORMS = ("stochastic", "merging")
FLOOR_SLACK = 1e-12
"""A floor on utility counts as met when it is missed by at most this many nats."""

SQUARE = 300
"""Symbols beyond which the observation is released as a merging into blocks of one: a square matrix takes long to judge."""

WITHHELD = "withheld"
"""The only symbol of a release that says nothing."""

FAINT = 1e-3
"""Nats: two terms that are weighed against each other count as no less, where both of them vanish at the optimum."""
LEAST = 1e-300
"""Symbols that are rarer than this, but not impossible, are refused: floats cannot tell them apart from impossible ones."""


@dataclass(frozen=True, init=False)
class TradeOffData(ABC):
    """The fields of a trade-off between I(S;Y) and I(X;Y): what bounds, certificates and repairs are made from.

    ``mode`` is the name of the budget's parameter, and ``level`` its value.
    """

    kind: ClassVar[str]
    modes: ClassVar[tuple[str, ...]]
    over_sets: ClassVar[bool] = False
    """Whether a set of joints may stand where a joint does."""

    joint: JointOrSet
    mode: str
    level: float
    form: str
    contiguous: bool

    def _fill(
        self, joint: JointOrSet, budgets: Mapping[str, float | None], form: str, contiguous: bool = False
    ) -> None:
        observation(nominal_of(joint) if self.over_sets else joint)  # type: ignore[arg-type]  # which refuses a set in words
        named = [name for name, value in budgets.items() if value is not None]
        if len(named) != 1:
            raise InvalidProblem(
                f"give exactly one of {', '.join(self.modes)}, got {', '.join(named) or 'none'}"
            )
        if form not in FORMS:
            raise InvalidProblem(f'form must be "stochastic" or "merging", got {form!r}')
        mode, level = named[0], checks.level(budgets[named[0]], named[0])
        for name, value in {"joint": joint, "mode": mode, "level": level, "form": form}.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "contiguous", contiguous)
        if contiguous and form != "merging":
            raise InvalidProblem(
                'contiguous blocks are those of a merging: give form="merging" with contiguous=True'
            )
        if self.ambiguity is not None and (mode != "max_leakage" or form != "stochastic"):
            raise InvalidProblem(
                'over a set of distributions a cap on the leakage is kept by channels: give max_leakage and form="stochastic", '
                "or .nominal"
            )
        checks.contiguous(contiguous, self.nominal)
        refuse_rare(self.observation)
        if level == math.inf and mode not in ("max_leakage", "max_rate"):
            raise InvalidProblem(f"{mode} must be finite")

    @cached_property
    def shape(self) -> Generalisation:
        """The orders and hierarchies that contiguous blocks keep to."""
        return checks.shape_of(self.nominal)

    @property
    def nominal(self) -> Joint:
        """The joint by which utilities are read."""
        return nominal_of(self.joint)

    @property
    def ambiguity(self) -> JointAmbiguity | None:
        """The set of joints for which the cap must be kept, if there is one."""
        return self.joint if isinstance(self.joint, JointAmbiguity) else None

    @property
    def robust(self) -> bool:
        """Whether the cap must be kept for every joint of a set."""
        return self.ambiguity is not None

    @cached_property
    def reader(self) -> SetReader | None:
        """The extremes over the set of joints, in floats; None where there is one joint."""
        return None if self.ambiguity is None else SetReader.of(self.ambiguity)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Values of S, and values that are observed."""
        return len(self.observation.p_s), len(self.observation.p_w)

    @property
    def budget(self) -> float:
        """The level: a bound in nats, or a weight."""
        return self.level

    @cached_property
    def observation(self) -> Observation:
        """The distributions of (S, W) and of (X, W)."""
        return observation(self.nominal)

    @cached_property
    def alike(self) -> tuple[int, ...]:
        """For each observation of positive probability the number of its class: those with the same posterior of the secret."""
        return classes_of(self.observation)

    @cached_property
    def of_classes(self) -> Self | None:
        """The problem about the classes of :attr:`alike`; None for mergings, sets, and where W is not X.

        A release of X says of the class no more than of X, of X at most H(X | class) more, and the same of the secret. A funnel's releases
        reach that where each names a symbol of every class, so that a floor is one less that much, rounded down here; a
        bottleneck's say nothing of symbols beside their class.
        """
        plain = self.form == "stochastic" and not self.robust and self.observation.useful is None
        if not plain:
            return None
        joint, budget = joint_of_classes(self.observation, self.alike), self.budget
        if self.is_floor:
            most = within_classes(self.observation, observation(joint))[1]
            budget = max(0.0, math.nextafter(budget - most, -math.inf))
        return type(self)(joint, **{self.mode: budget})  # type: ignore[call-arg]  # kinds of problems take it by name

    def beside_classes(self, smaller: TradeOffData) -> Enclosure:
        """Floats around what an objective is larger by than for the problem about classes."""
        low, high = within_classes(self.observation, smaller.observation)
        if not self.is_funnel or self.is_floor:
            return 0.0, 0.0
        if self.is_cap:
            return low, high
        weight = Fraction(self.budget)
        return enclose(weight * Fraction(low))[0], enclose(weight * Fraction(high))[1]

    @cached_property
    def most(self) -> float:
        """I(X;W), the most that a release can say of X, in nats; H(X) where W is X."""
        return most_information(self.observation)[1]

    @cached_property
    def entropies(self) -> tuple[Enclosure, Enclosure]:
        """Floats around H(S) and H(X)."""
        return entropies(self.observation)

    @cached_property
    def informations(self) -> tuple[Enclosure, Enclosure]:
        """Floats around I(S;X) and I(S;W), the same where X itself is read."""
        through = secret_information(self.observation.leaking)
        return (through if self.observation.useful is None else secret_information(self.nominal)), through

    @cached_property
    def searched(self) -> list[Any]:
        """What the last search through all partitions has found, until its bound is asked for."""
        return []

    @property
    def floor(self) -> float:
        """The least utility that is accepted: a floor may be missed by 1e-12 nats, and claims say so."""
        return self.budget - FLOOR_SLACK

    @property
    def cap(self) -> float:
        """The most that counts as within the budget: a cap is read outward by its last digit, and claims say so where it matters.

        An information is no float, so one that is given as a cap is rounded. Nothing and 0 are exact.
        """
        return self.budget if self.budget in (0.0, math.inf) else math.nextafter(self.budget, math.inf)

    @property
    def is_floor(self) -> bool:
        """Whether the budget is a floor on utility."""
        return self.mode == "min_utility"

    @property
    def is_cap(self) -> bool:
        """Whether the budget bounds the leakage."""
        return self.mode in ("max_leakage", "max_rate")

    @property
    def is_funnel(self) -> bool:
        """Whether I(S;Y) is what is to be small."""
        return self.kind == "privacy_funnel"

    @abstractmethod
    def split(self, secret: float, useful: float) -> tuple[float, float]:
        """(utility, leakage) from I(S;Y) and I(X;Y)."""

    @abstractmethod
    def objective_of(self, utility: float, leakage: float) -> float:
        """The objective that utility and leakage give."""

    def readings(self, release: Release) -> tuple[float, float]:
        """Utility and leakage of a release in float64; over a set the bound on the leakage there."""
        utility, leakage = self.split(*informations(self.observation, release))
        return utility, leakage if self.reader is None else read(self.reader, release.matrix).bound

    def magnitude(self, utility: float, leakage: float) -> float:
        """What gaps are relative to, at a utility and a leakage; never less than ``FAINT`` where terms are weighed: they cancel."""
        if self.mode == "trade_off":
            return max(FAINT, abs(self.objective_of(utility, 0.0)) + abs(self.objective_of(0.0, leakage)))
        return leakage if self.is_floor else min(1.0, utility)

    def everything(self) -> Release:
        """The observation itself; symbols of probability 0 are released as the average, or the likeliest, symbol is."""
        labels, support = self.observation.observed, self.observation.support
        if self.form == "merging" or len(labels) > SQUARE:
            alone = np.full(len(labels), int(self.observation.p_w.argmax()))
            alone[support] = support
            return self.merging(alone)
        matrix = np.tile(self.observation.p_w, (len(labels), 1))
        matrix[support] = np.eye(len(labels))[support]
        return Channel(matrix[:, support], labels, [labels[i] for i in support.tolist()])

    def nothing(self) -> Release:
        """One release for all."""
        labels = self.observation.observed
        if self.form == "merging":
            return Merging([list(labels)], labels)
        return Channel(np.ones((len(labels), 1)), labels, [WITHHELD])

    def answer(self, matrix: object) -> Channel:
        """The channel of this problem's symbols with a matrix of shape (n_w, n_y)."""
        return Channel(matrix, self.observation.observed)

    def merging(self, assignment: object) -> Merging:
        """The merging that puts symbol i into block ``assignment[i]``; blocks in order of their first symbols."""
        blocks: dict[int, list[Any]] = {}
        for label, block in zip(self.observation.observed, np.asarray(assignment).tolist(), strict=True):
            blocks.setdefault(block, []).append(label)
        return Merging(list(blocks.values()), self.observation.observed)


def refuse_rare(observed: Observation) -> None:
    """Refuse symbols whose probability is positive and no normal float."""
    total = sum(observed.weights)
    for label, weight in zip(observed.observed, observed.weights, strict=True):
        if weight and weight / total < LEAST:
            raise InvalidProblem(
                f"the symbol {label!r} has probability {weight / total:.3g}, below {LEAST:g} but not 0: drop it, or give it "
                "probability 0"
            )

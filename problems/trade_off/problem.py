"""What the privacy funnel and the information bottleneck share: two informations, one of them bounded or both weighed."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from privopt.core.certificate import Certificate, Terms
from privopt.core.problem import FEASIBILITY, Enclosure, Evaluation, Numbers, Problem
from privopt.errors import InvalidMechanism, InvalidProblem
from privopt.files.numbers import encode_float
from privopt.mechanisms import Channel, Mechanism, Merging
from privopt.models import model_from_dict
from privopt.models.channel_data import Joint, Observation, Release, observation
from privopt.problems import validation as checks
from privopt.problems.trade_off.information import entropies, informations, most_information

FORMS = ("stochastic", "merging")
FLOOR_SLACK = 1e-12
"""A floor on utility counts as met when it is missed by at most this many nats."""

WITHHELD = "withheld"
"""The only symbol of a release that says nothing."""


LEAST = 1e-300
"""Symbols that are rarer than this, but not impossible, are refused: floats cannot tell them apart from impossible ones."""


def refuse_rare(observed: Observation) -> None:
    """Refuse symbols whose probability is positive and no normal float."""
    total = sum(observed.weights)
    for label, weight in zip(observed.observed, observed.weights, strict=True):
        if weight and weight / total < LEAST:
            raise InvalidProblem(
                f"the symbol {label!r} has probability {weight / total:.3g}, below {LEAST:g} but not 0: drop it, or give it "
                "probability 0"
            )


@dataclass(frozen=True, init=False)
class TradeOff(Problem[Release]):
    """A question about I(S;Y) and I(X;Y) of a release Y of X; see its two kinds.

    ``mode`` is the name of the parameter that was given, and ``budget`` its value.
    """

    mechanism_type: ClassVar[type[Mechanism]] = Channel
    modes: ClassVar[tuple[str, ...]]

    joint: Joint
    mode: str
    level: float
    form: str

    def _fill(self, joint: Joint, given: Mapping[str, float | None], form: str) -> None:
        observation(joint)
        named = [name for name, value in given.items() if value is not None]
        if len(named) != 1:
            raise InvalidProblem(
                f"give exactly one of {', '.join(self.modes)}, got {', '.join(named) or 'none'}"
            )
        if form not in FORMS:
            raise InvalidProblem(f'form must be "stochastic" or "merging", got {form!r}')
        values = {
            "joint": joint,
            "mode": named[0],
            "level": checks.level(given[named[0]], named[0]),
            "form": form,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        refuse_rare(self.observation)
        if self.budget == math.inf and named[0] not in ("max_leakage", "max_rate"):
            raise InvalidProblem(f"{named[0]} must be finite")

    @property
    def budget(self) -> float:
        """The value of the parameter that was given: a bound in nats, or a weight."""
        return self.level

    @cached_property
    def observation(self) -> Observation:
        """The laws of (S, W) and of (X, W)."""
        return observation(self.joint)

    @cached_property
    def most(self) -> float:
        """I(X;W), the most that a release can say of X, in nats; H(X) where W is X."""
        return most_information(self.observation)[1]

    @cached_property
    def entropies(self) -> tuple[Enclosure, Enclosure]:
        """Floats around H(S) and H(X)."""
        return entropies(self.observation)

    @property
    def floor(self) -> float:
        """The least utility that is accepted: a floor may be missed by 1e-12 nats, and claims say so."""
        return self.budget - FLOOR_SLACK

    @abstractmethod
    def split(self, secret: float, useful: float) -> tuple[float, float]:
        """(utility, leakage) from I(S;Y) and I(X;Y)."""

    @abstractmethod
    def objective_of(self, utility: float, leakage: float) -> float:
        """The objective that utility and leakage give."""

    @property
    def is_floor(self) -> bool:
        """Whether the budget is a floor on utility."""
        return self.mode == "min_utility"

    @property
    def is_cap(self) -> bool:
        """Whether the budget bounds the leakage."""
        return self.mode in ("max_leakage", "max_rate")

    def with_budget(self, budget: float) -> Self:
        """The same question with another bound or weight."""
        return type(self)(self.joint, form=self.form, **{self.mode: budget})  # type: ignore[call-arg]

    def check(self, mechanism: Mechanism) -> Release:
        """The mechanism, if it reads this problem's symbols and is of its form."""
        release = self.observation.check(mechanism, type(self).__name__)
        if self.form == "merging" and not isinstance(release, Merging):
            raise InvalidMechanism(
                'form "merging" is answered by a Merging, got a Channel; ask form="stochastic"'
            )
        return release

    def evaluate(self, mechanism: Release) -> Evaluation:
        """Utility, leakage and objective in float64."""
        release = self.check(mechanism)
        utility, leakage = self.split(*informations(self.observation, release))
        short = self.budget - utility if self.is_floor else leakage - self.budget if self.is_cap else 0.0
        violation = max(0.0, short if math.isfinite(short) else 0.0)
        feasible = violation <= FEASIBILITY * max(1.0, min(self.budget, 1e6))
        return Evaluation(utility, leakage, self.objective_of(utility, leakage), feasible, violation)

    def certify(self, mechanism: Release) -> Certificate:
        """Prove the bound, and enclose both informations, from the integer weights."""
        from privopt.problems.trade_off.certificate import certify

        return certify(self, self.check(mechanism))  # pyright: ignore[reportArgumentType] - the link and the folder are two files to it

    def terms(self, mechanism: Release) -> Terms:
        """What a certificate says and what it does not: averages, with the worst single release beside them."""
        from privopt.problems.trade_off.certificate import terms

        return terms(self, self.check(mechanism))  # pyright: ignore[reportArgumentType] - as above

    def is_worst(self, mechanism: Release, worst: tuple[Hashable, ...], where: str) -> bool | None:
        """Whether the named value of S and release have the largest |log-lift|, exactly; ties count."""
        from privopt.problems.trade_off.certificate import is_worst

        return is_worst(self, self.check(mechanism), worst)  # pyright: ignore[reportArgumentType] - as above

    def anchor(self) -> Release:
        """A mechanism strictly inside the constraint: everything under a floor on utility, else nothing."""
        return self.everything() if self.is_floor else self.nothing()

    def everything(self) -> Release:
        """The observation itself; symbols of probability 0 are released as the average, or the likeliest, symbol is."""
        labels, support = self.observation.observed, self.observation.support
        if self.form == "merging":
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
        """The channel of this problem's symbols with a given matrix, shape (n_w, n_y)."""
        return Channel(matrix, self.observation.observed)

    def merging(self, assignment: object) -> Merging:
        """The merging that puts symbol i into block ``assignment[i]``; blocks in order of their first symbols."""
        blocks: dict[int, list[Any]] = {}
        for label, block in zip(self.observation.observed, np.asarray(assignment).tolist(), strict=True):
            blocks.setdefault(block, []).append(label)
        return Merging(list(blocks.values()), self.observation.observed)

    def repair(self, mechanism: Release, margin: float) -> Release:
        """The nearest release of the same form that keeps the bound, with a relative margin."""
        from privopt.problems.trade_off.repair import repair

        return repair(self, self.check(mechanism), margin)  # pyright: ignore[reportArgumentType] - as above

    def scale(self, solution: Numbers) -> float:
        """What gaps are relative to: a leakage, min(1, utility), or the sizes of both terms that are weighed."""
        return self.magnitude(abs(solution.utility or 0.0), abs(solution.leakage or 0.0))

    def magnitude(self, utility: float, leakage: float) -> float:
        """The scale at a utility and a leakage."""
        if self.mode == "trade_off":
            return abs(self.objective_of(utility, 0.0)) + abs(self.objective_of(0.0, leakage))
        return leakage if self.is_floor else min(1.0, utility)

    def prove_bound(self, dual: object, seconds: float = math.inf) -> Enclosure | None:
        """Floats around the upper bound on the objective that ``dual`` proves, or None."""
        from privopt.problems.trade_off.bound import prove_bound

        return prove_bound(self, dual, seconds)  # pyright: ignore[reportArgumentType] - as above

    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe dictionary; ``from_dict`` gives an equal problem back."""
        return {
            "type": self.kind,
            "version": 1,
            "joint": self.joint.to_dict(),
            self.mode: encode_float(self.budget),
            "form": self.form,
        }

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
        given = checks.fields(fields, f"problem-{cls.kind}")
        names = (*cls.modes, "form", "theta_fraction")
        known = {name: given[name] for name in names if name in given}
        return cls(model_from_dict(given["joint"]), **known)  # type: ignore[call-arg]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.joint!r}, {self.mode}={self.budget:g}, form={self.form!r})"

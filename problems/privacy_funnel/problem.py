"""The privacy funnel: say as much as needed about X and as little as possible about S."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from privopt.core.problem import Enclosure, Example
from privopt.core.words import Quantity, Words
from privopt.errors import InvalidProblem
from privopt.models.channel_data import Joint, JointOrSet, Release, nominal_of, observation
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.problems.trade_off.examples import funnel_examples
from privopt.problems.trade_off.information import most_information
from privopt.problems.trade_off.problem import TradeOff
from privopt.problems.validation import level


@dataclass(frozen=True, init=False, repr=False)
class PrivacyFunnel(TradeOff):
    """How little a release Y of X can say about S, I(S;Y), while it says much about X, I(X;Y).

    Utility is I(X;Y) and leakage I(S;Y), in nats. With ``min_utility`` the objective is -leakage
    subject to utility >= min_utility (to 1e-12); with ``max_leakage`` it is the utility subject to leakage
    <= max_leakage; with ``trade_off`` it is trade_off * utility - leakage, and every release is feasible.

    Source: Sadeghi, "Fundamental trade-offs between privacy and utility in data sharing" (CSCIT 2021), privacy funnel by pairwise and submodular merging.

    Parameters
    ----------
    joint : JointDistribution, ObservedJoint or JointAmbiguity
        Over a set of joints ``max_leakage`` is kept at every one of them, by a bound on I(S;Y) there; utilities are read at the
        nominal one.
    min_utility, max_leakage, trade_off : float
        Exactly one, >= 0; the first two in nats.
    theta_fraction : float, optional
        In [0, 1]: min_utility as a share of the most that can be said about X, H(X) where X itself is read.
    form : {"stochastic", "merging"}
        "merging": deterministic, a partition of the symbols into blocks.
    contiguous : bool
        Of form "merging": blocks hold what lies between their symbols, as intervals of ordered columns, nodes of
        hierarchies, boxes of several; see :mod:`privopt.models.generalisation`.

    Raises
    ------
    InvalidProblem
        If an argument is out of its range, with its name.

    Examples
    --------
    >>> from privopt.models import JointDistribution
    >>> problem = PrivacyFunnel(JointDistribution([[0.3, 0.2], [0.1, 0.4]]), theta_fraction=0.5)
    >>> reading = problem.evaluate(problem.everything())
    >>> round(reading.utility, 6), round(reading.leakage, 6), reading.feasible
    (0.673012, 0.086305, True)
    """

    kind: ClassVar[str] = "privacy_funnel"
    over_sets: ClassVar[bool] = True
    modes: ClassVar[tuple[str, ...]] = ("min_utility", "max_leakage", "trade_off")
    wording: ClassVar[Words] = Words(
        "Say much about X, little about S",
        "Funnel",
        "How little a release of X can say about the secret S while it says much about X.",
    )

    def __init__(
        self,
        joint: JointOrSet,
        *,
        min_utility: float | None = None,
        max_leakage: float | None = None,
        trade_off: float | None = None,
        form: str = "stochastic",
        theta_fraction: float | None = None,
        contiguous: bool = False,
    ) -> None:
        if theta_fraction is not None:
            if min_utility is not None:
                raise InvalidProblem(
                    "give min_utility or theta_fraction, not both: the latter sets the former"
                )
            min_utility = _share(nominal_of(joint), theta_fraction)
        budgets = {"min_utility": min_utility, "max_leakage": max_leakage, "trade_off": trade_off}
        self._fill(joint, budgets, form, contiguous)

    def split(self, secret: float, useful: float) -> tuple[float, float]:
        """Utility I(X;Y) and leakage I(S;Y)."""
        return useful, secret

    def objective_of(self, utility: float, leakage: float) -> float:
        """-leakage, utility, or trade_off * utility - leakage."""
        if self.mode == "trade_off":
            return self.budget * utility - leakage
        return 0.0 - leakage if self.is_floor else utility

    def check_infeasible(self, witness: object) -> str | None:
        """Why no release exists: the floor is above what X itself says of X."""
        low, high = most_information(self.observation)
        if not self.is_floor or self.budget <= high + 1e-12:
            return None
        return f"no release says more about X than {low:.12g} nats, below the floor of {self.budget:.12g}"

    def prove_bound(self, dual: object, seconds: float = math.inf) -> Enclosure | None:
        """Floats around the upper bound on the objective that ``dual`` proves, or None.

        Besides the kinds that every trade-off has, ``{"kind": "independent", "dual": {...}}`` holds where nothing may be
        leaked: a dual of local information privacy at epsilon = 0, which is the same problem.
        """
        if not isinstance(dual, dict) or dual.get("kind") != "independent":
            return super().prove_bound(dual, seconds)
        if not self.is_cap or self.budget != 0:
            return None
        return LocalInformationPrivacy(self.nominal, epsilon=0.0).prove_bound(dual.get("dual"), seconds)

    def quantity(self) -> Quantity:
        """What the objective measures, as a person says it."""
        return {
            "min_utility": Quantity("leakage about S", "nats", -1, "floor on I(X;Y)"),
            "max_leakage": Quantity("information about X", "nats", 1, "cap on I(S;Y)"),
            "trade_off": Quantity("weighted information less leakage", "nats", 1, "weight of I(X;Y)"),
        }[self.mode]

    @classmethod
    def examples(cls) -> tuple[Example[Release], ...]:
        """Small instances, with public or exact optima."""
        return funnel_examples(cls)


def _share(joint: Joint, fraction: float) -> float:
    """A share of the most that can be said about X."""
    value = level(fraction, "theta_fraction")
    if value > 1:
        raise InvalidProblem(f"theta_fraction must be in [0, 1], got {value}")
    return value * most_information(observation(joint))[0]

"""The information bottleneck: compress X and keep what it says about S."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.core.problem import Example
from privopt.core.words import Quantity, Words
from privopt.models.channel_data import Joint, Release
from privopt.problems.trade_off.examples import bottleneck_examples
from privopt.problems.trade_off.problem import TradeOff


@dataclass(frozen=True, init=False, repr=False)
class InformationBottleneck(TradeOff):
    """How much a release Y of X can say about S, I(S;Y), at a rate I(X;Y) that is bounded or weighed.

    The funnel with the sign changed: S is what is wanted, and the rate is what is spent. Utility is I(S;Y), leakage
    is the rate I(X;Y), in nats. With ``max_rate`` the objective is the utility subject to rate <= max_rate; with
    ``trade_off`` it is utility - trade_off * rate, and every release is feasible.

    Source: Tishby, Pereira, Bialek, "The information bottleneck method"; Sadeghi, "Fundamental trade-offs between privacy and utility in data sharing" (CSCIT 2021).

    Parameters
    ----------
    joint : JointDistribution or ObservedJoint
    max_rate, trade_off : float
        Exactly one, >= 0; the first in nats.
    form : {"stochastic", "merging"}
        "merging": deterministic, a partition of the symbols into blocks.

    Raises
    ------
    InvalidProblem
        If an argument is out of its range, with its name.

    Examples
    --------
    >>> from privopt.models import JointDistribution
    >>> problem = InformationBottleneck(JointDistribution([[0.3, 0.2], [0.1, 0.4]]), trade_off=0.1)
    >>> round(problem.evaluate(problem.everything()).objective, 6)
    0.019003
    """

    kind: ClassVar[str] = "information_bottleneck"
    modes: ClassVar[tuple[str, ...]] = ("max_rate", "trade_off")
    wording: ClassVar[Words] = Words(
        "Compress X, keep what reveals S",
        "Bottleneck",
        "How to compress X and keep what it says about S.",
    )

    def __init__(
        self,
        joint: Joint,
        *,
        max_rate: float | None = None,
        trade_off: float | None = None,
        form: str = "stochastic",
    ) -> None:
        self._fill(joint, {"max_rate": max_rate, "trade_off": trade_off}, form)

    def split(self, secret: float, useful: float) -> tuple[float, float]:
        """Utility I(S;Y) and rate I(X;Y)."""
        return secret, useful

    def objective_of(self, utility: float, leakage: float) -> float:
        """Utility, or utility - trade_off * rate."""
        return utility - self.budget * leakage if self.mode == "trade_off" else utility

    def quantity(self) -> Quantity:
        """What the objective measures, as a person says it."""
        if self.mode == "trade_off":
            return Quantity("information about S less its price", "nats", 1, "price of I(X;Y)")
        return Quantity("information about S", "nats", 1, "cap on I(X;Y)")

    @classmethod
    def examples(cls) -> tuple[Example[Release], ...]:
        """Small instances, with exact optima."""
        return bottleneck_examples(cls)

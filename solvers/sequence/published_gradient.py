"""Baseline: the descent of the paper on sequence information privacy, which stops short of the optimum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.mechanisms.policy.rules import Setting, register_rule
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
from privopt.solvers.sequence._descent import SWEEPS, descend
from privopt.solvers.sequence._unenforced import (
    NOT_SQUARE,
    releases_letters,
    setting_of,
    unenforced,
)

MOST = 16


@dataclass(frozen=True)
class PublishedGradientRule:
    """Coordinates that descend until a bound stops them."""

    name: str = "published-gradient"

    def propose(self, setting: Setting, beliefs: Floats) -> Floats:
        """Kernels for beliefs (M, n), shape (M, n, n)."""
        return descend(beliefs, setting.cost, setting.epsilon)


RULE = register_rule(PublishedGradientRule())


@register
@dataclass(frozen=True)
class PublishedGradient(Solver[SequenceInformationPrivacy]):
    """Coordinate descent from the uniform kernel at every belief; :mod:`._descent` states each reading of what is printed.

    Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information Privacy", Algorithm 2. It is said to find the
    global optimum; a coordinate that a bound has stopped never moves again, and so it does not.
    """

    solves: ClassVar = SequenceInformationPrivacy
    name: ClassVar[str] = "published-gradient"
    interruptible: ClassVar[bool] = True
    repairable: ClassVar[bool] = False

    def guarantee(self, problem: SequenceInformationPrivacy) -> Guarantee:
        """Published, and kept for comparison."""
        return Guarantee.BASELINE

    def cost(self, problem: SequenceInformationPrivacy) -> float:
        """Every coordinate, every sweep, many beliefs at once."""
        return 1e-2 + 3e-5 * SWEEPS * len(setting_of(problem).inputs) ** 2

    def refuse(self, problem: SequenceInformationPrivacy) -> str | None:
        """Refuse releases that are not the letters, and more than 16 words."""
        if not releases_letters(problem):
            return NOT_SQUARE
        count = len(setting_of(problem).inputs)
        if count > MOST:
            return f"it moves one coordinate at a time, {MOST} inputs at most; this question has {count}"
        return None

    def run(self, problem: SequenceInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the policy of the descent."""
        return unenforced(problem, RULE, {"sweeps_at_most": SWEEPS})

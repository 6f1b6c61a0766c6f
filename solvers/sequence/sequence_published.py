"""Baseline: conditional randomised response as printed, at every belief, private only where every input is heavy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.mechanisms.policy.fixed import exp
from privopt.mechanisms.policy.rules import Setting, register_rule
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
from privopt.problems.sequence_information_privacy.releases import Release
from privopt.solvers.sequence._unenforced import (
    NOT_SQUARE,
    releases_letters,
    setting_of,
    unenforced,
)


@dataclass(frozen=True)
class PublishedRule:
    """P(y | x) = P(y) / e^epsilon for y other than x, and the rest on x."""

    name: str = "published"

    def propose(self, setting: Setting, beliefs: Floats) -> Floats:
        """Kernels for beliefs (M, n), shape (M, n, n)."""
        low, n = exp(-setting.epsilon), beliefs.shape[1]
        own = 1.0 - (1.0 - beliefs) * low
        return np.where(np.eye(n, dtype=bool), own[:, :, None], low * beliefs[:, None, :])


RULE = register_rule(PublishedRule())


@register
@dataclass(frozen=True)
class Published(Solver[SequenceInformationPrivacy]):
    """The formula for one step at the belief that releases so far give, taken as printed; words are treated as letters.

    Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information Privacy", Theorem 4. A release keeps its
    budget exactly when every possible input has belief 1 / (e^epsilon + 1) or more. A chain leaves that domain as soon as a
    release makes some letter unlikely; then the policy leaks more than it says, and the judge shows by how much.
    """

    solves: ClassVar = SequenceInformationPrivacy
    name: ClassVar[str] = "published"
    repairable: ClassVar[bool] = False
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BASELINE
    """Published, and kept for comparison."""

    def cost(self, problem: SequenceInformationPrivacy) -> float:
        """A formula a belief."""
        return 1e-2

    def refuse(self, problem: SequenceInformationPrivacy) -> str | None:
        """Refuse releases that are not the letters."""
        if not releases_letters(problem):
            return NOT_SQUARE
        return None

    def run(self, problem: SequenceInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the printed formula."""
        setting = setting_of(problem)
        law = problem.chain.initial @ Release(0, setting).given
        heavy = bool((law[law > 0] * (1.0 + math.exp(min(setting.epsilon, 700.0))) >= 1.0).all())
        domain = "at every step every possible input has belief 1 / (e^epsilon + 1) or more"
        return unenforced(
            problem, RULE, {"domain": domain, "inside_domain_at_the_start": "yes" if heavy else "no"}
        )

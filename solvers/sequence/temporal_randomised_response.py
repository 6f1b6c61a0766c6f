"""Baseline: randomised response among the letters that are possible after what was released."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.mechanisms.policy.fixed import exp
from privopt.mechanisms.policy.rules import Setting, register_rule
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
from privopt.solvers.sequence._unenforced import NOT_SQUARE, releases_letters, unenforced


@dataclass(frozen=True)
class TemporalRandomisedResponseRule:
    """Randomised response among the letters of positive belief."""

    name: str = "temporal-randomised-response"

    def propose(self, setting: Setting, beliefs: Floats) -> Floats:
        """Kernels for beliefs (M, n), shape (M, n, n)."""
        possible, low = beliefs > 0, exp(-setting.epsilon)
        true = 1.0 / (1.0 + (possible.sum(axis=1) - 1) * low)
        own = np.eye(beliefs.shape[1], dtype=bool) & possible[:, :, None]
        kernel = np.where(own, 1.0, low) * possible[:, None, :]
        kernel = kernel * true[:, None, None]
        blind = possible / possible.sum(axis=1, keepdims=True)
        return np.asarray(np.where(possible[:, :, None], kernel, blind[:, None, :]))


RULE = register_rule(TemporalRandomisedResponseRule())


@register
@dataclass(frozen=True)
class TemporalRandomisedResponse(Solver[SequenceInformationPrivacy]):
    """A letter is itself, or alike any other letter of positive belief given the releases so far.

    Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information Privacy", Section VI, describe in words, for
    gaze, a support chosen by the conditional law "given the previous values". Read as the values released, this is a rule on
    the belief and keeps epsilon. Since every release is possible for every possible letter, the support is what the chain can
    reach at all, and the rule differs from plain randomised response only where the chain starts in, or is confined to, fewer letters.
    """

    solves: ClassVar = SequenceInformationPrivacy
    name: ClassVar[str] = "temporal-randomised-response"
    repairable: ClassVar[bool] = False
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BASELINE
    """Published, and kept for comparison."""

    def cost(self, problem: SequenceInformationPrivacy) -> float:
        """A formula a belief."""
        return 1e-2

    def refuse(self, problem: SequenceInformationPrivacy) -> str | None:
        """Refuse releases that are not single letters."""
        if not releases_letters(problem):
            return NOT_SQUARE
        if problem.batch > 1:
            return "it releases single letters: ask with batch=1"
        return None

    def run(self, problem: SequenceInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the policy."""
        return unenforced(problem, RULE, {"support": "letters of positive belief given the releases"})

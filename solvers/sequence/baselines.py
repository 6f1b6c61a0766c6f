"""Baselines: randomised response at several levels, and what was published, as printed and not repaired."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.mechanisms.policy.formulas.closed import (
    SWEEPS,
    calibrated,
    response,
    sequence_level,
    steps_within,
)
from privopt.problems.belief_release.problem import BeliefRelease
from privopt.problems.sequence_information_privacy.data import Release
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
from privopt.solvers.sequence.closed_form import every_letter_is_heavy

NOT_SQUARE = "it releases a letter for a letter, this distortion has other columns"
MANY_WORDS = 600
"""Words above which no program gives the kernels of a release in a second or two."""
MAX_INPUTS = 16
"""Of the descent, which moves one coordinate at a time."""


class _BeliefBaseline(Solver[BeliefRelease]):
    """A formula of one step, for letters that are released as letters."""

    solves: ClassVar = BeliefRelease
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BASELINE
    """For comparison."""

    def cost(self, problem: BeliefRelease) -> float:
        """A formula."""
        return 1e-3 + 1e-7 * len(problem.letters) ** 2

    def refuse(self, problem: BeliefRelease) -> str | None:
        """Refuse releases that are not the letters."""
        return NOT_SQUARE if problem.matrix.shape[0] != problem.matrix.shape[1] else None


@register
@dataclass(frozen=True)
class BeliefRandomisedResponse(_BeliefBaseline):
    """Baseline: randomised response, which knows nothing of the belief.

    The letter itself with probability e^epsilon / (e^epsilon + n - 1), any other letter alike.

    It is epsilon-LDP (Warner's randomised response on n letters), and so keeps epsilon for any belief.
    """

    name: ClassVar[str] = "randomised-response"

    def run(self, problem: BeliefRelease, budget: Budget) -> Proposal:
        """Propose the formula."""
        n, low = len(problem.letters), math.exp(-problem.budget)
        other = low / (1 + (n - 1) * low)
        matrix = other + (1 / (1 + (n - 1) * low) - other) * np.eye(n)
        return Proposal(problem.answer(matrix), stats={"truth": float(matrix[0, 0])})


@register
@dataclass(frozen=True)
class BeliefPublished(_BeliefBaseline):
    """Baseline: conditional randomised response as printed, private only where every possible letter is heavy.

    P(y | x) = P(y) / e^epsilon for y other than x, and the rest on x.

    Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information Privacy", Theorem 4. It keeps
    the bounds exactly when every possible letter has belief 1 / (e^epsilon + 1) or more. Elsewhere the formula is taken
    as printed and shown as not private; what it leaks is in the statistics (``raw_leakage``).
    """

    name: ClassVar[str] = "published"
    repairable: ClassVar[bool] = False

    def run(self, problem: BeliefRelease, budget: Budget) -> Proposal:
        """Propose the printed formula."""
        low, n, p = math.exp(-problem.budget), len(problem.letters), problem.p
        matrix = np.where(np.eye(n, dtype=bool), (1.0 - (1.0 - p) * low)[:, None], low * p[None, :])
        heavy = every_letter_is_heavy(problem)
        domain = "every possible letter has belief 1 / (e^epsilon + 1) or more"
        return Proposal(
            problem.answer(matrix), stats={"domain": domain, "inside_domain": "yes" if heavy else "no"}
        )


class _PolicyBaseline(Solver[SequenceInformationPrivacy]):
    """The policy whose kernels are those of the rule of its name, not repaired."""

    solves: ClassVar = SequenceInformationPrivacy
    repairable: ClassVar[bool] = False
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BASELINE
    """Published, and kept for comparison."""

    def cost(self, problem: SequenceInformationPrivacy) -> float:
        """A formula a belief."""
        return 1e-2

    def refuse(self, problem: SequenceInformationPrivacy) -> str | None:
        """Refuse releases that are not the letters."""
        if problem.lasting:
            return "it is compared over a number of letters, and this horizon has no end"
        rows, columns = problem.setting(problem.batch).letter_cost.shape
        return NOT_SQUARE if rows != columns else None

    def unenforced(
        self, problem: SequenceInformationPrivacy, stats: Mapping[str, float | int | str]
    ) -> Proposal:
        """The proposal of the rule."""
        return Proposal(problem.answer(self.name, enforced=False), stats=stats)


def sequence_stats(problem: SequenceInformationPrivacy, level: float) -> dict[str, float | int | str]:
    """The leakage of sequences of independent responses at a level: of as many letters as can be listed, and composed.

    ``sequence_leakage`` is exact for ``sequence_letters`` letters; ``composed_leakage`` is their number times the level.
    """
    steps = steps_within(problem.chain, problem.span)
    true, _ = response(len(problem.chain.letters), level)
    return {
        "truth": true,
        "sequence_letters": steps,
        "sequence_leakage": sequence_level(problem.chain, steps, level),
        "composed_leakage": steps * level,
    }


@register
@dataclass(frozen=True)
class RandomisedResponse(_PolicyBaseline):
    """Baseline: randomised response on each letter, which knows nothing of the chain.

    A letter is itself with probability e^epsilon / (e^epsilon + n - 1), any other alike; each letter on its own.

    It is epsilon-LDP a letter (Warner's randomised response on n letters), and so keeps epsilon for any belief. Of whole
    sequences it leaks less than T epsilon; the statistics say how much.
    """

    name: ClassVar[str] = "randomised-response"

    def guarantee(self, problem: SequenceInformationPrivacy) -> Guarantee:
        """Where words are too many for programs, a private answer that hardly anything betters at once."""
        many = len(problem.setting(min(problem.batch, problem.span)).inputs) > MANY_WORDS
        return Guarantee.FEASIBLE if many else Guarantee.BASELINE

    def run(self, problem: SequenceInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the formula, with what its sequences leak."""
        return self.unenforced(problem, sequence_stats(problem, problem.epsilon))


@register
@dataclass(frozen=True)
class RandomisedResponseDouble(_PolicyBaseline):
    """Baseline: randomised response at twice the budget, which the definition does not allow.

    Randomised response that is 2 epsilon-LDP a letter.

    A release that leaks at most epsilon is 2 epsilon-LDP among the letters that are possible, so Jiang, Li, Tandon, "Online
    Context-aware Data Release with Sequence Information Privacy", compare with it (Section VI). The converse fails: it may
    leak more than epsilon, and the judge shows how much.
    """

    name: ClassVar[str] = "randomised-response-double"

    def run(self, problem: SequenceInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the formula, with what its sequences leak."""
        return self.unenforced(problem, sequence_stats(problem, 2.0 * problem.epsilon))


@register
@dataclass(frozen=True)
class RandomisedResponseCalibrated(_PolicyBaseline):
    """Baseline: the randomised response whose sequences leak as much as those of a policy may.

    Randomised response at the largest level whose sequences of T letters leak at most T epsilon in all.

    Independent responses leak less in all than the sum of what they leak one by one. This is the fair opponent of policies
    that keep T epsilon over a sequence; its single steps may leak more than epsilon, which the judge shows. T is the number
    of letters whose releases can all be listed, 12 for two letters; nothing is claimed of longer sequences.
    """

    name: ClassVar[str] = "randomised-response-calibrated"

    def cost(self, problem: SequenceInformationPrivacy) -> float:
        """Some tens of enumerations of all releases."""
        return 1.0

    def run(self, problem: SequenceInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the formula, with what its sequences leak."""
        level, steps = calibrated(problem.chain, problem.epsilon)
        stats = {"level": level, "calibrated_over": steps}
        return self.unenforced(problem, {**stats, **sequence_stats(problem, level)})


@register
@dataclass(frozen=True)
class TemporalRandomisedResponse(_PolicyBaseline):
    """Baseline: randomised response among the letters that are possible after what was released.

    A letter is itself, or alike any other letter of positive belief given the releases so far.

    Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information Privacy", Section VI, describe in words, for
    gaze, a support chosen by the conditional distribution "given the previous values". Read as the values released, this is a
    rule on the belief and keeps epsilon. Since every release is possible for every possible letter, the support is what the
    chain can reach at all, and the rule differs from plain randomised response only where the chain starts in, or is confined
    to, fewer letters.
    """

    name: ClassVar[str] = "temporal-randomised-response"

    def refuse(self, problem: SequenceInformationPrivacy) -> str | None:
        """Refuse releases that are not single letters."""
        other = super().refuse(problem)
        return (
            "it releases single letters: ask with batch=1" if other is None and problem.batch > 1 else other
        )

    def run(self, problem: SequenceInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the policy."""
        return self.unenforced(problem, {"support": "letters of positive belief given the releases"})


@register
@dataclass(frozen=True)
class Published(_PolicyBaseline):
    """Baseline: conditional randomised response as printed, at every belief, private only where every input is heavy.

    The formula for one step at the belief that releases so far give, taken as printed; words are treated as letters.

    Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information Privacy", Theorem 4. A release keeps its
    budget exactly when every possible input has belief 1 / (e^epsilon + 1) or more. A chain leaves that domain as soon as a
    release makes some letter unlikely; then the policy leaks more than it says, and the judge shows by how much.
    """

    name: ClassVar[str] = "published"

    def run(self, problem: SequenceInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the printed formula."""
        setting = problem.setting(problem.batch)
        read = problem.chain.initial @ Release(0, setting).word_given_state
        heavy = bool((read[read > 0] * (1.0 + math.exp(min(setting.epsilon, 700.0))) >= 1.0).all())
        domain = "at every step every possible input has belief 1 / (e^epsilon + 1) or more"
        return self.unenforced(
            problem, {"domain": domain, "inside_domain_at_the_start": "yes" if heavy else "no"}
        )


@register
@dataclass(frozen=True)
class PublishedGradient(_PolicyBaseline):
    """Baseline: the descent of the paper on sequence information privacy, which stops short of the optimum.

    Coordinate descent from the uniform kernel at every belief; the formula states each reading of what is printed.

    Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information Privacy", Algorithm 2. It is said to find the
    global optimum; a coordinate that a bound has stopped never moves again, and so it does not.
    """

    name: ClassVar[str] = "published-gradient"

    def cost(self, problem: SequenceInformationPrivacy) -> float:
        """Every coordinate, every sweep, many beliefs at once."""
        return 1e-2 + 3e-5 * SWEEPS * len(problem.setting(problem.batch).inputs) ** 2

    def refuse(self, problem: SequenceInformationPrivacy) -> str | None:
        """Refuse releases that are not the letters, and more than 16 words."""
        other = super().refuse(problem)
        if other is None and (count := len(problem.setting(problem.batch).inputs)) > MAX_INPUTS:
            return f"it moves one coordinate at a time, {MAX_INPUTS} inputs at most; this problem has {count}"
        return other

    def run(self, problem: SequenceInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the policy of the descent."""
        return self.unenforced(problem, {"sweeps_at_most": SWEEPS})

"""One release at a time: groups of neighbours, a sparse linear program, and the definition written out, for any distortion.

Each formula serves one step, with its prices as proof, and every belief of a policy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.mechanisms import Channel
from privopt.mechanisms.policy.formulas.steps import (
    DEFINITION,
    INTERVAL_STEP,
    INTERVALS,
    MOST,
    NEGLIGIBLE,
    STRUCTURE,
    Step,
    StepFormula,
    all_or_nothing,
    interval_steps,
)
from privopt.mechanisms.policy.policy import SequencePolicy
from privopt.mechanisms.policy.rules import seconds_of
from privopt.problems.belief_release.problem import BeliefRelease
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
from privopt.problems.sequence_information_privacy.simulated import asked
from privopt.problems.sequence_information_privacy.two_letters import refuse_beliefs
from privopt.solvers.sequence._fine_line import refined
from privopt.solvers.sequence._merged_line import merged
from privopt.solvers.sequence._near_cells import SECONDS, near_cells, suits
from privopt.solvers.sequence.prices import priced, priced_policy, step_guarantee, step_of

LONG_LINE = 10_000
"""Letters times releases from which on a line is solved with few releases, found by finer and finer grids."""

FOR_GRIDS, MOST_FOR_GRIDS = 0.6, 0.9
"""Shares of the time that is left for the grids, at least and at most."""

GRID_SECONDS = 3e-6
"""Seconds for each letter and release that the grids take, and the judgement of what they find, at most."""

CLOSED = 5e-7
"""Share of the distortion that a bound may leave open."""

MAX_LETTERS = 2000
MAX_CELLS = 20_000
MAX_HORIZON = 6
MAX_INPUTS = 8

JUDGED_LETTERS = 64
"""Letters from which on fewer beliefs are asked about, the more there are."""

ASKED = 0.25
"""Share of the predicted seconds of a program that it takes where it starts from a neighbouring belief, about."""


class _BeliefStep(Solver[BeliefRelease]):
    """The kernel of a formula, with the bound of its prices."""

    solves: ClassVar = BeliefRelease
    formula: ClassVar[StepFormula]

    def refuse(self, problem: BeliefRelease) -> str | None:
        """Refuse what the formula refuses."""
        return self.formula.refuse(step_of(problem))

    def run(self, problem: BeliefRelease, budget: Budget) -> Proposal:
        """Propose the channel of the formula."""
        answer = self.formula.solve(step_of(problem), 0.9 * budget.remaining)
        if answer is None:
            return Proposal(problem.constant(), stats={"iterations": 0, "stop": "out of time"})
        return priced(problem, answer)


@register
@dataclass(frozen=True)
class BeliefInterval(_BeliefStep):
    """Neighbouring letters share a release: the best split of a line into intervals, by dynamic programming.

    Groups of neighbouring letters of mass at least theta, each with the release that is best for it.

    Sending groups of mass theta or more to one release each keeps the bounds. On a line the groups are intervals, and
    the best split is a shortest path over prefixes. A restriction: the prices of the groups bound what it loses.
    """

    name: ClassVar[str] = "interval"
    formula: ClassVar[StepFormula] = INTERVALS
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BOUNDED
    """Private, with a bound from its own prices."""

    def cost(self, problem: BeliefRelease) -> float:
        """A pass over pairs of prefixes and releases."""
        return 1e-3 + INTERVAL_STEP * interval_steps(step_of(problem))


@register
@dataclass(frozen=True)
class BeliefStructureLp(_BeliefStep):
    """The best step for any distortion, by a sparse linear program over groups of letters, with prices as its proof.

    One linear program in K and Q, where a channel is (1 - L) K(y | x) + L Q(y) and K(y | x) <= Q(y) / theta.

    The constraints are those of Jiang, Li, Tandon ("Online Context-aware Data Release with Sequence Information
    Privacy"), in other variables: far better scaled than the program in P(y | x). On a long line the releases of the
    program are found on finer and finer grids; on one that is too long for it, neighbouring letters are merged first, and
    prices are read between those of the classes. Where the budget is so large that groups have few letters, the program begins
    with the letters nearest to each release, and prices call for others.
    """

    name: ClassVar[str] = "structure-lp"
    formula: ClassVar[StepFormula] = STRUCTURE

    def guarantee(self, problem: BeliefRelease) -> Guarantee:
        """Optimal to the tolerance of HiGHS; bounded where letters are merged."""
        near = suits(step_of(problem))
        return Guarantee.BOUNDED if _is_long_line(problem) and not near else Guarantee.OPTIMAL

    def refuse(self, problem: BeliefRelease) -> str | None:
        """Refuse programs that are too large, but on a line, or where few of their cells take part."""
        return None if _is_long_line(problem) or suits(step_of(problem)) else super().refuse(problem)

    def cost(self, problem: BeliefRelease) -> float:
        """Grows faster than the cells."""
        cells = len(problem.support) * problem.matrix.shape[1]
        if suits(step_of(problem)):
            return float(5e-3 + 1.5e-6 * cells)
        if _is_long_line(problem):
            return float(2.0 + 5e-7 * cells)
        if _is_line(problem):
            return float(0.3 + 1e-5 * cells)
        return float(0.02 + 4e-5 * cells + 8e-9 * cells**2)

    def run(self, problem: BeliefRelease, budget: Budget) -> Proposal:
        """Propose the channel of the program, with the releases that a long line needs; the better one where neighbours are merged first."""
        step = step_of(problem)
        if all_or_nothing(step, {}) is not None:
            return super().run(problem, budget)
        first = _near(problem, step, budget)
        if first is not None and (_closed(problem, first) or not _is_line(problem)):
            return first
        start = None
        if _is_long_line(problem):
            classes = merged(step, 0.9 * budget.remaining)
            if classes is not None:
                start = np.flatnonzero(step.p @ np.asarray(classes.kernel, dtype=np.float64) > NEGLIGIBLE)
                first = _better(problem, priced(problem, classes), first)
        if (
            _is_line(problem)
            and step.budget <= MOST
            and budget.remaining > GRID_SECONDS * problem.matrix.size
        ):
            after = budget.remaining - GRID_SECONDS * problem.matrix.size
            seconds = max(FOR_GRIDS * budget.remaining, min(MOST_FOR_GRIDS * budget.remaining, after))
            answer = refined(step, seconds, start)
            if answer is not None:
                return _better(problem, priced(problem, answer), first)
        if first is None and STRUCTURE.refuse(step) is not None:
            return Proposal(problem.constant(), stats={"iterations": 0, "stop": "out of time"})
        return super().run(problem, budget) if first is None else first


def _near(problem: BeliefRelease, step: Step, budget: Budget) -> Proposal | None:
    """The release of a program of few pairs, where it is one and there is time."""
    if not suits(step) or budget.remaining < SECONDS * problem.matrix.size:
        return None
    answer = near_cells(step, FOR_GRIDS * budget.remaining)
    return None if answer is None else priced(problem, answer)


def _closed(problem: BeliefRelease, proposal: Proposal) -> bool:
    """Whether its bound leaves nothing open."""
    if proposal.bound is None or not isinstance(proposal.mechanism, Channel):
        return False
    utility = problem.evaluate(proposal.mechanism).utility
    return proposal.bound - utility <= CLOSED * abs(utility)


def _better(problem: BeliefRelease, one: Proposal, other: Proposal | None) -> Proposal:
    """The better release of two, with the better bound."""
    if other is None or not isinstance(one.mechanism, Channel) or not isinstance(other.mechanism, Channel):
        return one
    if problem.evaluate(one.mechanism).utility < problem.evaluate(other.mechanism).utility:
        one = replace(one, mechanism=other.mechanism)
    bounds = [math.inf if proposal.bound is None else proposal.bound for proposal in (one, other)]
    return one if bounds[0] <= bounds[1] else replace(one, bound=other.bound, dual=other.dual)


def _is_line(problem: BeliefRelease) -> bool:
    """Whether letters are on a line, and many."""
    step = step_of(problem)
    return bool(step.line) and len(step.support) * step.cost.shape[1] > LONG_LINE


def _is_long_line(problem: BeliefRelease) -> bool:
    """Whether the program is too large, and letters are on a line, so that neighbours can be merged."""
    step = step_of(problem)
    return bool(step.line) and STRUCTURE.refuse(step) is not None


@register
@dataclass(frozen=True)
class BeliefOracle(_BeliefStep):
    """The reference optimum of a step: the definition, written out pair by pair as a linear program.

    min E[D] over P(y | x) with e^-epsilon P(y) <= P(y | x) <= e^epsilon P(y) for every possible x, by HiGHS.
    """

    name: ClassVar[str] = "oracle"
    formula: ClassVar[StepFormula] = DEFINITION
    guaranteed: ClassVar[Guarantee | None] = Guarantee.ORACLE
    """Brute force."""

    def cost(self, problem: BeliefRelease) -> float:
        """Cubic in the cells, nearly."""
        return 0.02 + 1e-7 * problem.matrix.size**3


@register
@dataclass(frozen=True)
class Interval(Solver[SequenceInformationPrivacy]):
    """Neighbouring letters share a release at every belief: the best split of a line, by dynamic programming.

    Groups of neighbours at every belief: milliseconds a letter where the program takes seconds.
    """

    solves: ClassVar = SequenceInformationPrivacy
    name: ClassVar[str] = "interval"
    robust: ClassVar[bool] = True
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BOUNDED
    """Private, with a bound from its own prices."""

    def cost(self, problem: SequenceInformationPrivacy) -> float:
        """The groups and their prices for each letter, and the beliefs that the judge asks about."""
        letters = min(len(problem.chain.letters), JUDGED_LETTERS)
        judging = 2e-7 * letters**3
        return (0.01 + max(_once(problem, self.name), judging)) * (1 + min(100, problem.span))

    def refuse(self, problem: SequenceInformationPrivacy) -> str | None:
        """Refuse what is not a line of single letters."""
        if problem.distortion not in ("l1", "squared"):
            return 'it needs letters on a line: distortion "l1" or "squared"'
        if min(problem.batch, problem.span) > 1:
            return "it releases single letters; structure-lp takes words"
        if len(problem.chain.letters) > MAX_LETTERS:
            return f"it takes at most {MAX_LETTERS} letters"
        return None

    def run(self, problem: SequenceInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the policy with the prices of its groups."""
        return priced_policy(problem, self.name, budget)


@register
@dataclass(frozen=True)
class StructureLp(Solver[SequenceInformationPrivacy]):
    """The best kernel at every belief for any distortion, of letters or short words, by a sparse linear program.

    The optimal program of one release, solved again at every belief that comes up.

    The step is the program of Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information
    Privacy", in better scaled variables. It looks at one release at a time; the bound says what looking ahead could gain.
    """

    solves: ClassVar = SequenceInformationPrivacy
    name: ClassVar[str] = "structure-lp"
    robust: ClassVar[bool] = True

    def guarantee(self, problem: SequenceInformationPrivacy) -> Guarantee:
        """Optimal for a single release or independent letters; else with a bound.

        For comparison only where look-ahead takes the problem and proves a bound of its own.
        """
        guarantee = step_guarantee(problem)
        ahead = not problem.robust and refuse_beliefs(problem) is None
        return Guarantee.BASELINE if ahead and guarantee is not Guarantee.OPTIMAL else guarantee

    def cost(self, problem: SequenceInformationPrivacy) -> float:
        """A program for each release, with the beliefs that the judge asks about."""
        once = _once(problem, self.name)
        plain = SequencePolicy(problem.chain, problem.epsilon, problem.batch, problem.distortion, self.name)
        asking = ASKED * once * sum(asked(problem, plain))
        return float((5e-3 + once) * (1 + min(100, problem.span / problem.batch)) + asking)

    def refuse(self, problem: SequenceInformationPrivacy) -> str | None:
        """Refuse what does not fit."""
        setting = problem.setting(min(problem.batch, problem.span))
        n, m = setting.letter_cost.shape
        cells = len(setting.inputs) * (len(setting.inputs) if n == m else m**setting.batch)
        if cells > MAX_CELLS:
            return f"its program has {cells} cells for each belief, more than {MAX_CELLS}"
        return None

    def run(self, problem: SequenceInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the policy with multipliers as prices."""
        return priced_policy(problem, self.name, budget, ASKED * _once(problem, self.name))


def _once(problem: SequenceInformationPrivacy, rule: str) -> float:
    """About how many seconds a rule takes at one belief."""
    setting = problem.setting(min(problem.batch, problem.span))
    return seconds_of(rule, setting.cost.size, setting.epsilon)


@register
@dataclass(frozen=True)
class Oracle(Solver[SequenceInformationPrivacy]):
    """The reference policy: the definition of each step as a linear program, pair by pair, for tiny horizons.

    Every release by the program that the definition gives, written out pair by pair.

    It looks at one release at a time, so it is the optimum of the whole where there is one release or letters
    are independent, and what the other solvers should reach elsewhere.
    """

    solves: ClassVar = SequenceInformationPrivacy
    name: ClassVar[str] = "oracle"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.ORACLE
    """Brute force."""

    def cost(self, problem: SequenceInformationPrivacy) -> float:
        """A dense program for every belief in reach."""
        return 0.02 * math.exp2(min(problem.span / problem.batch, 10.0))

    def refuse(self, problem: SequenceInformationPrivacy) -> str | None:
        """Refuse everything that is not tiny."""
        setting = problem.setting(min(problem.batch, problem.span))
        if problem.horizon > MAX_HORIZON:
            return f"it takes at most {MAX_HORIZON} letters, this horizon has {problem.horizon}"
        if (count := len(setting.inputs)) > MAX_INPUTS:
            return f"it takes at most {MAX_INPUTS} inputs of a release, this one has {count}"
        return None

    def run(self, problem: SequenceInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the policy."""
        return Proposal(problem.answer(self.name), stats={"horizon": problem.span})

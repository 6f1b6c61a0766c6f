"""The closed form of one step and of policies: Hamming error for any belief, any metric where every letter is heavy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.mechanisms.policy.fixed import Levels
from privopt.mechanisms.policy.formulas.steps import MOST_EXACT, Answer, Step, all_or_nothing
from privopt.mechanisms.policy.hamming import SHARE, STEAL, TAIL, Cases, HammingKernel, pick
from privopt.problems.belief_release.problem import BeliefRelease
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
from privopt.solvers.sequence.prices import priced, priced_policy, step_guarantee, step_of

MARGIN = 2.0**-36
ROOM = 2.0**-44
"""Share of the budget that is left to the rounding of a channel: to judge a large one twice takes long."""
MOST_LETTERS = 300
"""Whether a matrix is a metric takes cubic time: above this it is not asked."""

ROUNDING = 1e-12
"""Of the triangle inequality, relative to the largest distortion; the bound is proved afresh in any case."""
SPECTRUM = 64
"""States up to which it is computed how fast a chain forgets."""
FORGOTTEN = 30.0
"""Nats by which the influence of a record has fallen when steps are alike."""


@register
@dataclass(frozen=True)
class BeliefClosedForm(Solver[BeliefRelease]):
    """The closed form of one step: Hamming error for any belief, any metric where every letter is heavy.

    One sort: letters of belief at least theta are released for themselves, the others share groups of mass theta.

    For another metric it takes beliefs of at least theta each, where conditional randomised response, as printed by
    Jiang, Li, Tandon ("Online Context-aware Data Release with Sequence Information Privacy", Theorem 4), is private
    and optimal: the prices L / (1 - L) sum_y P(y) D(x, y) change by no more than D between letters.
    """

    solves: ClassVar = BeliefRelease
    name: ClassVar[str] = "closed-form"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.OPTIMAL
    """Optimal."""

    def cost(self, problem: BeliefRelease) -> float:
        """Writing the channel down is most of it."""
        return 1e-3 + 1e-7 * len(problem.letters) ** 2

    def refuse(self, problem: BeliefRelease) -> str | None:
        """Refuse what has no closed form."""
        if problem.distortion == "hamming":
            return None
        if problem.releases != len(problem.letters) or not every_letter_is_heavy(problem):
            return "it knows the Hamming error, and metrics where every letter has belief 1 / (e^epsilon + 1) or more"
        if problem.distortion == "l1":
            return None
        if len(problem.letters) > MOST_LETTERS:
            return f"whether a distortion is a metric is checked up to {MOST_LETTERS} letters, not for {len(problem.letters)}"
        if not _is_metric_of_possible_letters(problem):
            return "it knows the Hamming error and metrics, this distortion is no metric"
        return None

    def run(self, problem: BeliefRelease, budget: Budget) -> Proposal:
        """Propose the channel with its prices."""
        step = step_of(problem)
        known = all_or_nothing(step, {"iterations": 0, "case": "all or nothing"})
        if known is not None:
            return priced(problem, known)
        return priced(problem, _metric(step) if problem.distortion != "hamming" else _hamming(step))


def _hamming(step: Step) -> Answer:
    lam = prices(HammingKernel(step.p, step.budget))
    if step.exact_pays:  # groups of a little more than theta stay so when e^-epsilon is rounded up
        kernel = HammingKernel(step.p, min(step.budget, MOST_EXACT) * (1 - MARGIN))
        return Answer(step.in_rationals(kernel.sent()), lam, {"iterations": 0, "case": kernel.case})
    kernel = HammingKernel(step.p, step.level * (1 - ROOM))
    return Answer(kernel.matrix(), lam, {"iterations": 0, "case": kernel.case})


def _metric(step: Step) -> Answer:
    levels = Levels.of(step.level)
    n, p = len(step.p), step.p
    kernel = np.where((p > 0)[:, None], np.eye(n), p)
    matrix = levels.room * kernel + levels.low * p
    lam = levels.low / levels.room * (step.cost @ p)
    return Answer(matrix, lam, {"iterations": 0, "case": "conditional randomised response"})


def is_metric(cost: Floats) -> bool:
    """Whether a square matrix is symmetric, non-negative, 0 on the diagonal, and keeps the triangle inequality.

    Examples
    --------
    >>> is_metric(np.array([[0.0, 1, 2], [1, 0, 1], [2, 1, 0]])), is_metric(np.array([[0.0, 1, 4], [1, 0, 1], [4, 1, 0]]))
    (True, False)
    """
    if cost.shape[0] != cost.shape[1] or (cost < 0).any() or np.diag(cost).any() or (cost != cost.T).any():
        return False
    slack = ROUNDING * float(cost.max(initial=0.0))
    return all(bool((cost <= via[:, None] + via[None, :] + slack).all()) for via in cost)


def _is_metric_of_possible_letters(problem: BeliefRelease) -> bool:
    """Whether the possible letters are a metric space, and no release, of an impossible letter either, is a short cut."""
    seen = problem.support
    to_any = problem.matrix[seen]
    if not is_metric(to_any[:, seen]) or (to_any < 0).any():
        return False
    slack = ROUNDING * float(to_any.max(initial=0.0))
    return all(
        bool((to_any[:, [x]] <= row + to_any + slack).all()) for x, row in zip(seen, to_any, strict=True)
    )


def every_letter_is_heavy(problem: BeliefRelease) -> bool:
    """Whether each possible letter has probability at least theta: then it may be a group of its own."""
    return bool((problem.p[problem.support] >= Levels.of(problem.budget).theta).all())


def prices(kernel: HammingKernel) -> Floats:
    """The prices lam of one belief, up to a constant, which proves the same; shape (n,), epsilon > 0.

    With c the common price of a column, a big letter x has price -(1 - (c - L P(x)) / (1 - L)), a small letter with a
    group of its own -(P(x) - L c) / ((1 - L^2) P(x)), any other letter 0.

    Examples
    --------
    >>> prices(HammingKernel([0.6, 0.4], 0.5)).round(6).tolist()
    [-1.0, -0.69170...]
    """
    f = kernel.rows.cases
    low, room = f.levels.low, f.levels.room
    c = _column_price(f)
    case, rank = int(f.case[0]), f.rank[0]
    own = {STEAL: 0, TAIL: int(f.groups[0]), SHARE: int(f.groups[0])}.get(case, int(f.dumped[0]))
    b = f.belief[0]
    over = np.where(b > 0, b, 1.0)
    with np.errstate(all="ignore"):  # prices that are not finite prove nothing, and are refused as a dual
        small = (1.0 - low * (c / over)) / (room * (1.0 + low))
        mu = np.where(f.big[0], 1.0 - (c - low * b) / room, 0.0)
    mu = np.where(f.small[0] & (rank < own), small, mu)
    return np.asarray(-mu[kernel.place])


def _column_price(f: Cases) -> float:
    """What every column in use costs, in the case that was chosen."""
    low, room, theta = f.levels.low, f.levels.room, f.levels.theta
    case = int(f.case[0])
    last, after = (float(pick(f.belief, f.bigs + f.groups - d)[0]) for d in (1, 0))
    rest, tail = float(f.rest[0]), float(f.tail[0])
    if case == TAIL:
        return after / low
    if case == SHARE:
        return last / low * (after + tail - theta) / (last + tail - theta)
    if case == STEAL:
        missing, robbed = theta - float(f.mass[0]), float(pick(f.belief, f.bigs - 1)[0])
        return (after - missing * (1 + low) * (room + low * robbed)) / (rest * (1 + low))
    return low * float(f.belief[0, 0])


@register
@dataclass(frozen=True)
class ClosedForm(Solver[SequenceInformationPrivacy]):
    """The closed form of least Hamming error at every belief, letter by letter.

    Each letter is released by the optimal kernel for the belief about it: one sort a letter.

    The step is that of Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information Privacy", with the
    formula that holds for every belief. It looks at one letter at a time; the bound says what looking ahead could gain.
    """

    solves: ClassVar = SequenceInformationPrivacy
    name: ClassVar[str] = "closed-form"
    robust: ClassVar[bool] = True

    def guarantee(self, problem: SequenceInformationPrivacy) -> Guarantee:
        """Optimal for independent letters or a single one; else with a bound."""
        return step_guarantee(problem)

    def cost(self, problem: SequenceInformationPrivacy) -> float:
        """Prices of each release are most of it, until what may be known before one no longer grows."""
        return 0.01 + 3e-3 * _differing(problem) + 1e-7 * len(problem.chain.letters) ** 2

    def refuse(self, problem: SequenceInformationPrivacy) -> str | None:
        """Refuse other distortions, and words."""
        if problem.distortion != "hamming":
            return "it knows the Hamming error only; structure-lp takes any distortion"
        if min(problem.batch, problem.span) > 1:
            return "it releases single letters; structure-lp takes words"
        return None

    def run(self, problem: SequenceInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the policy with prices."""
        return priced_policy(problem, self.name, budget)


def _differing(problem: SequenceInformationPrivacy) -> float:
    """About how many releases have prices of their own, at most 200: as many as it takes the chain to forget."""
    most = float(min(problem.span, 200))
    if not problem.chain.homogeneous or problem.chain.k > SPECTRUM:
        return most
    second = problem.chain.second_eigenvalue
    return most if second >= 1.0 else min(most, 2.0 + FORGOTTEN / -math.log(max(second, 1e-300)))

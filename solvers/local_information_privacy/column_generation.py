"""Column generation: the posteriors worth releasing come in one after the other, with a proof that none is missed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.mechanisms import Channel
from privopt.problems.local_information_privacy.data import FURTHER_ROWS, posterior_rows
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.common.crumbs import without_crumbs
from privopt.solvers.local_information_privacy.answer import (
    NOT_INDEPENDENT,
    channel_from_posteriors,
    independent,
    too_many_rows,
    whole_release,
)
from privopt.solvers.local_information_privacy.columns.classes import joined, through_classes
from privopt.solvers.local_information_privacy.columns.generation import Anytime, Generation
from privopt.solvers.local_information_privacy.columns.lifts import between, through_lifts
from privopt.solvers.local_information_privacy.columns.master import master
from privopt.solvers.local_information_privacy.columns.pricing import TOLERANCE

MOST = 2000
"""Classes of observations up to which a master program of as many rows takes seconds."""

MOST_OBSERVED = 3000
"""Observations up to which a channel of as many releases does, and fits in memory several times over (200 MB each time)."""

JUDGING, MOST_KEPT = 8e-7, 0.3
"""Seconds of judging for each entry of a channel, and the share of the time that is kept for them at most."""

SURE = 5.0
"""Predicted seconds up to which the gap is expected to close."""


@register
@dataclass(frozen=True)
class ColumnGeneration(Solver[LocalInformationPrivacy]):
    """Posteriors come in as they are needed, with a proof that none is missed; stops any time with an honest gap.

    A linear program shares the distribution of W among the posteriors so far. Its prices say which other
    ones would help: walks along the edges of the polytope find most, branch and bound on the entropy the
    rest, or proves that there are none. The vertex form is that of the lectures on privacy-utility trade-offs.
    Of many observations those with the same posterior of the secret are first joined. Where ratios compare too many
    pairs of secrets, lifts whose levels add up to the budget do, which may lose some utility.

    Parameters
    ----------
    tolerance : float
        What the bound may leave open, as a share of the utility, or of 1 nat if that is less.
    """

    solves: ClassVar = LocalInformationPrivacy
    name: ClassVar[str] = "column-generation"
    handles: ClassVar[frozenset[str]] = frozenset({FURTHER_ROWS})

    tolerance: float = TOLERANCE

    def guarantee(self, problem: LocalInformationPrivacy) -> Guarantee:
        """Optimal where the gap is expected to close in seconds, otherwise bounded; only feasible for delta > 0."""
        if problem.delta > 0:
            return Guarantee.FEASIBLE
        sure = self.cost(problem) <= SURE and not _pairs_are_too_many(problem)
        return Guarantee.OPTIMAL if sure else Guarantee.BOUNDED

    def cost(self, problem: LocalInformationPrivacy) -> float:
        """Grows with the square of the largest support of a vertex times that of the observations, and with the rows."""
        if _pairs_are_too_many(problem):
            return self.cost(between(problem))  # other levels share the time
        problem = joined(problem) or problem
        n, secrets = len(problem.observation.support), len(problem.observation.p_s)
        rows = len(posterior_rows(problem))
        return 0.1 + 2e-5 * (min(secrets, n) * n) ** 2 * (rows > 0) * (1 + rows / (2 * secrets))

    def refuse(self, problem: LocalInformationPrivacy) -> str | None:
        """Refuse other utilities, and perfect privacy, which floats cannot keep."""
        if problem.matrix is not None or problem.cost is not None:
            return "it prices posteriors by their entropy: the utility must be mutual information"
        if independent(problem) and whole_release(problem) is None:
            return NOT_INDEPENDENT
        smaller = between(problem) if _pairs_are_too_many(problem) else problem
        if (reason := too_many_rows(smaller)) is not None:
            return reason
        if (n := len(problem.observation.support)) > MOST_OBSERVED:
            return f"its channel would have about {n * n:.1e} entries, more than {MOST_OBSERVED}^2; subset-merging takes any number"
        if (n := len((joined(problem) or problem).observation.support)) > MOST:
            return (
                f"its master program would have {n} rows, more than {MOST}; subset-merging takes any number"
            )
        return None

    def run(self, problem: LocalInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the best mixture, and the best bound proved."""
        if (whole := whole_release(problem)) is not None:
            return whole
        if _pairs_are_too_many(problem):
            return through_lifts(problem, budget, self.run)
        until = budget
        if math.isfinite(budget.remaining):
            judging = min(JUDGING * len(problem.observation.support) ** 2, MOST_KEPT * budget.remaining)
            until = replace(budget, deadline=budget.deadline - judging)
        smaller = joined(problem)
        return (
            self._run(problem, until)
            if smaller is None
            else through_classes(problem, smaller, until, self._run)
        )

    def _run(self, problem: LocalInformationPrivacy, budget: Budget) -> Proposal:
        """The same without joining observations."""
        if (whole := whole_release(problem)) is not None:
            return whole
        run = Anytime(problem, budget, self.tolerance, turn=0.75, end=0.95)
        stop = run.finish()
        return Proposal(_mixture(problem, run.columns), *run.proved(problem), stats=run.stats(stop))


def _mixture(problem: LocalInformationPrivacy, columns: Generation) -> Channel:
    """The channel of the last master program, with its basis solved once more and without what kept posteriors inside by rounding."""
    last = columns.master
    near = last.costs - last.columns @ columns.prices < 1e-6
    used = (columns.weights > 0) | near
    posteriors = without_crumbs(last.columns[used], columns.p)
    posteriors /= posteriors.sum(axis=1, keepdims=True)
    try:
        weights = master(posteriors, last.costs[used], columns.p).weights
    except ArithmeticError:
        weights = columns.weights[used]
    return channel_from_posteriors(problem, weights, posteriors)


def _pairs_are_too_many(problem: LocalInformationPrivacy) -> bool:
    """Whether ratios are bounded, and two bounds on each lift have to do."""
    return problem.notion == "ldp" and problem.budget < math.inf and too_many_rows(problem) is not None

"""A linear program over blocks of observations instead of observations: what is private of blocks is private of their members."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.models import JointDistribution
from privopt.models.channel_data import Release
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.local_information_privacy.answer import whole_release
from privopt.solvers.local_information_privacy.direct_lp import paid
from privopt.solvers.local_information_privacy.interior_point import InteriorPoint, thin_or_far

BLOCKS = (2, 15, 30, 60, 100, 150)
"""Of observations, one program after the other."""

FEWEST = 3
"""Observations below which there is nothing to join."""

MOST = 3000
"""Observations whose distances from each other fit in memory."""

SHARE = 0.6
"""Of the time that is left, for a program that is begun."""


@register
@dataclass(frozen=True)
class Coarse(Solver[LocalInformationPrivacy]):
    """For a distortion: the linear program over blocks of observations with nearly equal costs, finer and finer.

    A channel that reads blocks is a channel of their members, and each secret sees the same releases: the bounds hold as
    they do for blocks. Only utility is lost, by as much as costs differ within a block.
    """

    solves: ClassVar = LocalInformationPrivacy
    name: ClassVar[str] = "coarse"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE
    interruptible: ClassVar[bool] = True

    def cost(self, problem: LocalInformationPrivacy) -> float:
        """Seconds of the first programs, and of the clusters."""
        n = len(problem.observation.support)
        return 0.05 + 2e-7 * n * n * (1 + n / 500)

    def refuse(self, problem: LocalInformationPrivacy) -> str | None:
        """Refuse other utilities, delta, observations apart from the useful symbol, and sizes for which blocks are no help."""
        n = len(problem.observation.support)
        if problem.matrix is None:
            return "it minimises a distortion matrix, this utility is not linear in the channel"
        if problem.delta > 0:
            return "it spends no delta"
        if not FEWEST <= n <= MOST:
            return f"it is for {FEWEST} to {MOST} observations, this problem has {n}"
        return None if whole_release(problem) is not None else thin_or_far(problem)

    def run(self, problem: LocalInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the channel of the finest blocks that the time allowed, or of the best."""
        if (whole := whole_release(problem)) is not None:
            return whole
        best: tuple[float, Release] | None = None
        done = 0
        for count in BLOCKS:
            if count >= len(problem.observation.support):
                break
            blocks = _blocks(problem, count)
            coarse, columns = _coarsened(problem, blocks)
            if best is not None and InteriorPoint().cost(coarse) > SHARE * budget.remaining:
                break
            mechanism = InteriorPoint().run(coarse, replace(budget, incumbent=None)).mechanism
            if not isinstance(mechanism, Release):
                break
            release = _refined(problem, blocks, columns, mechanism.matrix)
            objective = problem.evaluate(release).objective
            if best is None or objective > best[0]:
                best, done = (objective, release), count
        return Proposal(None if best is None else best[1], stats={"blocks": done})


def _blocks(problem: LocalInformationPrivacy, count: int) -> NDArray[np.intp]:
    """The block of each observation of positive probability: Ward's clusters of their costs."""
    from scipy.cluster.hierarchy import fcluster, ward
    from scipy.spatial.distance import pdist

    labels = fcluster(ward(pdist(paid(problem))), count, criterion="maxclust")
    return np.unique(labels, return_inverse=True)[1]


def _coarsened(
    problem: LocalInformationPrivacy, blocks: NDArray[np.intp]
) -> tuple[LocalInformationPrivacy, NDArray[np.intp]]:
    """The problem of blocks, in which secrets that say the same of blocks are one, and the releases that it keeps."""
    observed = problem.observation
    marginal, member = observed.p_w[observed.support], np.eye(int(blocks.max()) + 1)[blocks]
    mass = marginal @ member
    cost = (member.T @ (marginal[:, None] * paid(problem))) / mass[:, None]
    columns = np.unique(cost.argmin(axis=1))
    table = observed.leaking.table[:, observed.support] @ member
    table = table[table.sum(axis=1) > 0]
    kept = np.unique((table / table.sum(axis=1, keepdims=True)).round(12), axis=0, return_inverse=True)[
        1
    ].ravel()
    merged = np.zeros((int(kept.max()) + 1, table.shape[1]))
    np.add.at(merged, kept, table)
    joint = JointDistribution.normalised([[Fraction(float(x)) for x in row] for row in merged])
    if problem.notion == "ldp":
        return LocalInformationPrivacy(joint, problem.budget, notion="ldp", utility=cost[:, columns]), columns
    coarse = LocalInformationPrivacy(
        joint, lower=problem.lower, upper=problem.upper, utility=cost[:, columns]
    )
    return coarse, columns


def _refined(
    problem: LocalInformationPrivacy, blocks: NDArray[np.intp], columns: NDArray[np.intp], matrix: Floats
) -> Release:
    """The channel of all observations; those of probability 0 are released like the average one."""
    observed = problem.observation
    rows = np.zeros((len(observed.p_w), 0 if problem.matrix is None else problem.matrix.shape[1]))
    rows[:, columns] = observed.p_w[observed.support] @ matrix[blocks]
    rows[np.ix_(observed.support, columns)] = matrix[blocks]
    return problem.answer(rows / rows.sum(axis=1, keepdims=True))
